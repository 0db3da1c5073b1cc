"""Slow and obvious versions of what the audit computes, written without looking at how it does."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

Vote = tuple[str | None, bool]
"""An answer (None where unreadable) and whether it is right."""


def plurality_credit(votes: Sequence[Vote], tie_rule: str, unparsed: str) -> Fraction | None:
    """Expected credit of a plurality vote; None where nobody voted."""
    ballots: list[tuple[str, bool]] = []
    for number, (answer, right) in enumerate(votes):
        if answer is not None:
            ballots.append((answer, right))
        elif unparsed == "class":
            ballots.append(("\0unreadable", False))
        elif unparsed == "singletons":
            ballots.append((f"\0unreadable {number}", False))
    if not ballots:
        return None
    names = [name for name, _ in ballots]
    most = max(names.count(name) for name in names)
    winners: list[str] = []
    for name in names:
        if names.count(name) == most and name not in winners:
            winners.append(name)
    right = [any(good for name, good in ballots if name == winner) for winner in winners]
    if tie_rule == "first":
        return Fraction(right[0])
    if tie_rule == "random":
        return Fraction(sum(right), len(right))
    if len(winners) == 1:
        return Fraction(right[0])
    return Fraction(any(right)) if tie_rule == "right" else Fraction(0)


def pass_at_k(right: Sequence[bool], k: int) -> Fraction:
    """Share of the k-subsets of samples that hold a right one, by listing them all."""
    subsets = list(combinations(right, k))
    return Fraction(sum(any(subset) for subset in subsets), len(subsets))
