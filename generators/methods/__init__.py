"""The methods of both papers, a file each."""

from generators.methods import (
    beam_search,
    best_of_n,
    breadth_depth,
    chain_of_thought,
    debate,
    greedy,
    lookahead,
    majority_vote,
    plan_and_solve,
    reflexion,
    reflexion_forced,
    reward_model,
    self_consistency,
    self_refine,
)
from generators.methods.method import Method
from schemas.errors import UsageError

METHODS: dict[str, Method] = {
    module.METHOD.name: module.METHOD
    for module in (
        chain_of_thought,
        plan_and_solve,
        self_refine,
        reflexion,
        reflexion_forced,
        best_of_n,
        debate,
        self_consistency,
        greedy,
        majority_vote,
        reward_model,
        beam_search,
        lookahead,
        breadth_depth,
    )
}
"""By name: first those of *Sample More, Reflect Less*, then those of *Refining Over Resampling*."""


def method_called(name: str) -> Method:
    """The method of this name. Raises UsageError where there is none."""
    if name not in METHODS:
        raise UsageError(f"There is no method {name!r}; choose from {', '.join(METHODS)}.")
    return METHODS[name]
