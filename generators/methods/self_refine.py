"""Self-refine: the model criticises its answer and revises it, for a fixed number of rounds (SMRL, Table 1).

A round sees the latest solution alone, so that the conversation does not grow with the rounds.
"""

from generators.methods.method import Method, Parameters
from generators.recorder import Recorder, assistant


def run(record: Recorder, parameters: Parameters) -> None:
    """1 + 2 × rounds calls."""
    solution = record.ask("sample", record.opening())
    for round_ in range(1, parameters["rounds"] + 1):
        so_far = [*record.opening(), assistant(solution)]
        feedback = record.ask("critique", [*so_far, record.user("critique")], round_=round_)
        solution = record.ask("revise", [*so_far, record.user("revise", feedback=feedback)], round_=round_)


METHOD = Method(
    name="self_refine",
    summary="rounds of critique and revision, at temperature 0",
    run=run,
    decision_rule="last",
    calls=lambda p: {"sample": (1, 1), "critique": (p["rounds"], p["rounds"]), "revise": (p["rounds"], p["rounds"])},
    prompts=("system", "solve", "critique", "revise"),
    diverse=False,
    parameters={"rounds": 3},
)
