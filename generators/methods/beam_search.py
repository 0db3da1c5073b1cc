"""Beam search over tokens: the most probable answer that a beam of width B finds (ROR 4.2).

Every hypothesis of the last beam is a generation with its own tokens, because each was computed; the score is the mean
log-probability of its tokens, so that long answers are not punished for being long.
"""

from generators.methods.method import Method, Parameters
from generators.recorder import Recorder


def run(record: Recorder, parameters: Parameters) -> None:
    """One search, which gives `width` generations."""
    record.beam_search(record.opening(), parameters["width"])


METHOD = Method(
    name="beam_search",
    summary="token-level beam search; the most probable answer decides",
    run=run,
    decision_rule="highest-score",
    calls=lambda p: {"sample": (1, p["width"])},
    prompts=("system", "solve"),
    diverse=False,
    parameters={"width": 8},
    in_process=True,
)
