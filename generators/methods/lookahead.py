"""Lookahead: continuations at checkpoints along the path, the most confident one kept (ROR 4.2).

The paper gives 8 continuations at each of 3 checkpoints and no more. Here checkpoint k of K keeps the first (k - 1)/K
of the best path's tokens and continues from there to the end; confidence is the mean log-probability of the whole
path's tokens, and the most confident of all paths is the answer. A generation's text is the whole path; its completion
tokens are those that its call generated.
"""

from generators.backends.call import Token
from generators.methods.method import Method, Parameters, Ranges
from generators.recorder import Recorder, mean_logprob


def run(record: Recorder, parameters: Parameters) -> None:
    """Continuations × checkpoints calls."""
    checkpoints = parameters["checkpoints"]
    confidence = float("-inf")
    best: tuple[Token, ...] = ()
    for checkpoint in range(checkpoints):
        kept = best[: len(best) * checkpoint // checkpoints]
        for agent in range(parameters["continuations"]):
            path = record.step(kept, round_=checkpoint, agent=agent)
            if mean_logprob(path) > confidence:
                confidence, best = mean_logprob(path), path


def calls(parameters: Parameters) -> Ranges:
    """Calls by role."""
    count = parameters["continuations"] * parameters["checkpoints"]
    return {"step": (count, count)}


METHOD = Method(
    name="lookahead",
    summary="continuations at checkpoints; the most confident path decides",
    run=run,
    decision_rule="highest-score",
    calls=calls,
    prompts=("system", "solve"),
    diverse=True,
    parameters={"continuations": 8, "checkpoints": 3},
    in_process=True,
)
