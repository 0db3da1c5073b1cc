"""The exact self-consistency curve: accuracy and cost of a plurality vote over N answers of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from verify.statistics.contest import Contest, contests
from verify.statistics.generating import binomial_weights, winning_weights
from verify.statistics.pool import Pool, TieRule, UnparsedPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_BLOCK = 1 << 19
_LARGEST_HALVED = 1000  # 2^-1000 is still a normal float, with room for costs on top


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Expectations over all C(K, N) subsets of each question's pool, one row a question, one column a size.

    `accuracy` (Q, S) chance that the vote is correct; `cost` (Q, S) E[summed cost] = N * mean;
    `cost_variance` (Q, S) N (1 - N/K) S^2 with S^2 the pool's variance (K - 1 in the denominator);
    `cost_correct` (Q, S) E[summed cost * correct]. The declared rules are echoed.
    """

    sizes: tuple[int, ...]
    ties: TieRule
    unparsed: UnparsedPolicy
    accuracy: NDArray[np.float64]
    cost: NDArray[np.float64]
    cost_variance: NDArray[np.float64]
    cost_correct: NDArray[np.float64]

    @property
    def mean_accuracy(self) -> NDArray[np.float64]:
        """(S,) mean over questions."""
        return np.asarray(self.accuracy.mean(axis=0))

    @property
    def mean_cost(self) -> NDArray[np.float64]:
        """(S,) mean over questions."""
        return np.asarray(self.cost.mean(axis=0))


def exact_curve(
    pools: Sequence[Pool],
    sizes: Sequence[int],
    *,
    ties: TieRule = TieRule.RANDOM,
    unparsed: UnparsedPolicy = UnparsedPolicy.ABSTAIN,
) -> Curve:
    """The whole curve without sampling error, for every question and every N in `sizes`.

    Agrees with the enumeration of all subsets to rounding, for any K. Time grows about as K^2 to K^3 a
    question (worst for the rule `index`).

    Raises ValueError if there is no pool, if `sizes` is empty, not increasing or below 1, or if a pool is
    smaller than the largest size asked for: a vote over more answers than were released cannot be computed.

    Method: hypergeometric counting by generating functions, [1] ch. 2 and 3; see
    `verify.statistics.generating`.

    [1] H. S. Wilf, generatingfunctionology, 2nd ed., Academic Press, 1994.

    >>> pool = Pool([7, 7, 9], [True, True, False], costs=[10, 20, 30])
    >>> curve = exact_curve([pool], [1, 2, 3])
    >>> [round(float(a), 6) for a in curve.accuracy[0]]  # two of three pairs tie: 1/3 + 2/3 * 1/2
    [0.666667, 0.666667, 1.0]
    """
    check_sizes(pools, sizes)
    largest = np.array([pool.size for pool in pools], dtype=np.int64)
    wins = np.zeros((len(pools), len(sizes)))
    paid = np.zeros((len(pools), len(sizes)))
    field = [contest for i, pool in enumerate(pools) for contest in contests(i, pool, ties, unparsed)]
    small = [c for c in field if c.costs.size <= _LARGEST_HALVED]
    if small:
        for block in _blocks(small):
            weight, cost = winning_weights(block, len(pools), sizes, ties, 0.5)
            wins += weight
            paid += cost
        common = int(largest[largest <= _LARGEST_HALVED].max())
        rows = np.minimum(largest, common)[:, None]
        total = binomial_weights(common, max(sizes), 0.5)[rows, np.asarray(sizes)]
        wins, paid = wins / total, paid / total
    for size in sorted({c.costs.size for c in field if c.costs.size > _LARGEST_HALVED}):
        for column, n in enumerate(sizes):
            group = [c for c in field if c.costs.size == size]
            weight, cost = winning_weights(group, len(pools), [n], ties, n / size)
            whole = float(binomial_weights(size, n, n / size)[size, n])
            wins[:, column] += weight[:, 0] / whole
            paid[:, column] += cost[:, 0] / whole
    n_drawn = np.asarray(sizes, dtype=np.float64)
    mean = np.array([pool.costs.mean() for pool in pools])
    spread = np.array([pool.costs.var(ddof=1) if pool.size > 1 else 0.0 for pool in pools])
    return Curve(
        sizes=tuple(sizes),
        ties=ties,
        unparsed=unparsed,
        accuracy=np.minimum(wins, 1.0),
        cost=mean[:, None] * n_drawn,
        cost_variance=spread[:, None] * n_drawn * (1.0 - n_drawn / largest[:, None]),
        cost_correct=paid,
    )


def _blocks(field: list[Contest]) -> Iterator[list[Contest]]:
    """Contests in batches of bounded memory: a contest takes up to K^2 rows under the rule `index`."""
    step = max(1, _BLOCK // max(c.costs.size for c in field) ** 2)
    for start in range(0, len(field), step):
        yield field[start : start + step]


def check_sizes(pools: Sequence[Pool], sizes: Sequence[int]) -> None:
    """ValueError unless `sizes` are increasing whole numbers from 1 to the smallest pool's K."""
    if not pools:
        raise ValueError("a curve needs at least one pool")
    if not sizes or sizes[0] < 1 or any(b <= a for a, b in pairwise(sizes)):
        raise ValueError("sample sizes must be increasing whole numbers from 1")
    for i, pool in enumerate(pools):
        if pool.size < sizes[-1]:
            raise ValueError(f"pool {i} holds {pool.size} answers, so no sample of {sizes[-1]} can be drawn from it")
