"""Maj@N: samples and a vote, as a method of its own beside the pool (ROR 4.2)."""

from dataclasses import replace

from generators.methods import self_consistency

METHOD = replace(
    self_consistency.METHOD,
    name="majority_vote",
    summary="Maj@N: samples and a vote",
    parameters={"samples": 8},
    pool=False,
)
