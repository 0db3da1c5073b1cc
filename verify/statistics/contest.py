"""One correct class of a pool against all the others: who votes, who is silent, who wins a tie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.statistics.pool import Pool, TieRule, UnparsedPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """One correct class of one pool against all the others.

    `gold` members' pool positions (n_g,); `rivals` positions of each rival, largest first; `tie_won` per
    rival, the factor on a tie with it under the rules `wrong` and `right`; `silent` positions that cast no
    vote.
    """

    question: int
    costs: Floats
    gold: Ints
    rivals: tuple[Ints, ...]
    tie_won: tuple[float, ...]
    silent: Ints


def contests(question: int, pool: Pool, ties: TieRule, unparsed: UnparsedPolicy) -> list[Contest]:
    """One contest for each correct class of the pool; the events that they win are disjoint."""
    classes: list[tuple[Ints, bool]] = []
    for label in np.unique(pool.answers[pool.parsed]):
        members = np.flatnonzero(pool.parsed & (pool.answers == label))
        classes.append((members, bool(pool.correct[members[0]])))
    blank = np.flatnonzero(~pool.parsed)
    silent = blank if unparsed is UnparsedPolicy.ABSTAIN else blank[:0]
    if unparsed is UnparsedPolicy.CLASS and blank.size:
        classes.append((blank, False))
    if unparsed is UnparsedPolicy.SINGLETONS:
        classes.extend((blank[i : i + 1], False) for i in range(blank.size))
    against_wrong = 1.0 if ties is TieRule.RIGHT else 0.0
    found = []
    for here, (gold, is_correct) in enumerate(classes):
        if not is_correct:
            continue
        # Under `wrong` and `right` a tie between two correct classes is right: it is credited to the first.
        others = [
            (members, float(there > here) if right else against_wrong)
            for there, (members, right) in enumerate(classes)
            if there != here
        ]
        others.sort(key=lambda other: -other[0].size)
        found.append(
            Contest(
                question=question,
                costs=pool.costs,
                gold=gold,
                rivals=tuple(members for members, _ in others),
                tie_won=tuple(factor for _, factor in others),
                silent=silent,
            )
        )
    return found
