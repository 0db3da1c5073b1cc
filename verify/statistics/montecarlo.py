"""The self-consistency curve by random draws, as papers compute it, with its own Monte-Carlo error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.statistics.curve import check_sizes
from verify.statistics.pool import Pool, TieRule, UnparsedPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class MonteCarloCurve:
    """Means over `draws` independent random subsets of each question's pool at each size.

    `accuracy`, `cost` (Q, S); `accuracy_error` (Q, S) estimated standard error sqrt(p (1 - p) / (draws - 1))
    of each question's accuracy, which is 0 where every draw agreed; `mean_error` is the one to compare with.
    """

    sizes: tuple[int, ...]
    draws: int
    ties: TieRule
    unparsed: UnparsedPolicy
    accuracy: NDArray[np.float64]
    accuracy_error: NDArray[np.float64]
    cost: NDArray[np.float64]

    @property
    def mean_accuracy(self) -> NDArray[np.float64]:
        """(S,) mean over questions."""
        return np.asarray(self.accuracy.mean(axis=0))

    @property
    def mean_error(self) -> NDArray[np.float64]:
        """(S,) standard error of `mean_accuracy` from the draws alone: questions are drawn independently."""
        return np.asarray(np.sqrt((self.accuracy_error**2).sum(axis=0)) / self.accuracy.shape[0])

    @property
    def mean_cost(self) -> NDArray[np.float64]:
        """(S,) mean over questions."""
        return np.asarray(self.cost.mean(axis=0))


def monte_carlo_curve(
    pools: Sequence[Pool],
    sizes: Sequence[int],
    *,
    rng: np.random.Generator,
    draws: int = 200,
    ties: TieRule = TieRule.RANDOM,
    unparsed: UnparsedPolicy = UnparsedPolicy.ABSTAIN,
) -> MonteCarloCurve:
    """Draw `draws` subsets a question and size, without replacement, and vote in each.

    Outcome and cost are read off the same draw. Every size gets fresh draws. Raises ValueError as
    `exact_curve` does, and for fewer than 2 draws, from which no error can be estimated.
    """
    check_sizes(pools, sizes)
    if draws < 2:
        raise ValueError(f"a Monte-Carlo error needs at least 2 draws, got {draws}")
    accuracy = np.zeros((len(pools), len(sizes)))
    cost = np.zeros((len(pools), len(sizes)))
    for i, pool in enumerate(pools):
        labels, right = vote_classes(pool, unparsed)
        for column, size in enumerate(sizes):
            keys = rng.random((draws, pool.size))
            chosen = np.argpartition(keys, size - 1, axis=1)[:, :size]
            drawn = np.zeros((draws, pool.size), dtype=np.bool_)
            np.put_along_axis(drawn, chosen, values=True, axis=1)
            accuracy[i, column] = _votes(drawn, keys, labels, right, ties, rng).mean()
            cost[i, column] = (drawn @ pool.costs).mean()
    return MonteCarloCurve(
        sizes=tuple(sizes),
        draws=draws,
        ties=ties,
        unparsed=unparsed,
        accuracy=accuracy,
        accuracy_error=np.sqrt(accuracy * (1.0 - accuracy) / (draws - 1)),
        cost=cost,
    )


def vote_classes(pool: Pool, unparsed: UnparsedPolicy) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Membership (K, classes) of the answers in the classes that can win, and which classes are right."""
    members = [pool.parsed & (pool.answers == label) for label in np.unique(pool.answers[pool.parsed])]
    if unparsed is UnparsedPolicy.CLASS and not pool.parsed.all():
        members.append(~pool.parsed)
    if unparsed is UnparsedPolicy.SINGLETONS:
        members.extend(np.arange(pool.size) == i for i in np.flatnonzero(~pool.parsed))
    table = np.array(members, dtype=np.bool_).reshape(len(members), pool.size).T
    return table, np.asarray((table & pool.correct[:, None]).any(axis=0))


def _votes(
    drawn: NDArray[np.bool_],
    keys: NDArray[np.float64],
    labels: NDArray[np.bool_],
    right: NDArray[np.bool_],
    ties: TieRule,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """(draws,) whether each drawn subset's plurality class is right."""
    if labels.shape[1] == 0:
        return np.zeros(drawn.shape[0], dtype=np.bool_)
    counts = drawn.astype(np.float64) @ labels
    most = counts.max(axis=1, keepdims=True)
    tied = (counts == most) & (most > 0)
    if ties is TieRule.WRONG:
        return np.asarray((tied & right).any(axis=1) & ~(tied & ~right).any(axis=1))
    if ties is TieRule.RIGHT:
        return np.asarray((tied & right).any(axis=1))
    if ties is TieRule.RANDOM:
        rank = rng.random(tied.shape)
    else:  # the class of the earliest drawn member: in draw order (the keys) or in pool order
        order = keys if ties is TieRule.FIRST else np.broadcast_to(np.arange(keys.shape[1], dtype=float), keys.shape)
        position = np.where(drawn, order, np.inf)
        rank = np.stack([position[:, column].min(axis=1) for column in labels.T], axis=1)
    winner = np.where(tied, rank, np.inf).argmin(axis=1)
    return np.asarray(right[winner] & tied.any(axis=1))
