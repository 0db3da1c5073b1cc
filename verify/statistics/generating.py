"""How often one class wins the vote of a random subset of a pool: generating functions.

Drawing N of K without replacement, class g with n_g members wins with m votes when every other class has
fewer, or as many and loses the tie. Subsets with that property are counted by a product of polynomials in z
(z marks a drawn answer):

    #subsets(N) = sum_m C(n_g, m) [z^(N-m)] prod_c ( sum_{x<m} C(n_c, x) z^x + tie_c z^m )

Three devices keep it fast and exact to rounding; every term is positive, so nothing cancels.

- A uniform tie among t others is won with chance 1/(1+t) = integral over u in [0, 1] of u^t. The tie term is
  u C(n_c, m) and Gauss-Legendre nodes integrate the polynomial in u exactly.
- Classes with fewer than m members, and answers that cast no vote, are one free factor (1+z)^f.
- C(n, x) is replaced by the binomial weight C(n, x) rho^x (1-rho)^(n-x) and C(K, N) by the same for the pool:
  the ratio is unchanged and nothing overflows. rho = 1/2 serves every N while 2^-K is a normal float; a
  larger pool takes rho = N/K, one N at a time.

A second channel carries the derivative with respect to a mark on each answer's cost, for E[cost; g wins].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import roots_legendre

from verify.statistics.pool import TieRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from verify.statistics.contest import Contest

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_CHUNK = 1 << 16  # numbers in one working block: three of them stay in a second-level cache


@dataclass(frozen=True, slots=True, eq=False)
class _Field:
    """The rivals of every contest, padded to the largest number of them: (contests, rivals)."""

    sizes: Ints
    mean_costs: Floats
    tie_won: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """One polynomial product a row: a contest, a winning count m, a tie node u or first gold position."""

    contest: Ints
    m: Ints
    lead: Floats  # weight of the gold class's part of the draw, quadrature weight included
    lead_cost: Floats  # mean cost of that part
    node: Floats  # u, for ties decided at random
    free: Ints  # answers that cannot reach m votes
    free_cost: Floats  # their mean cost
    later: Ints  # (rows, rivals) members after the first gold drawn; only for the rule `index`
    later_cost: Floats


def binomial_weights(size: int, degree: int, rho: float) -> Floats:
    """Table (size+1, degree+1) of C(n, x) rho^x (1-rho)^(n-x), by Pascal's rule (sums of positive terms)."""
    table = np.zeros((size + 1, degree + 1))
    table[0, 0] = 1.0
    for n in range(1, size + 1):
        np.multiply(table[n - 1], 1.0 - rho, out=table[n])
        table[n, 1:] += rho * table[n - 1, :-1]
    return table


def winning_weights(
    field: Sequence[Contest], questions: int, sizes: Sequence[int], ties: TieRule, rho: float
) -> tuple[Floats, Floats]:
    """For each question and N: the weight of subsets that a correct class wins, and that times their cost.

    Both (questions, S), to be divided by the pool's own binomial weight at N.
    """
    wins = np.zeros((questions, len(sizes)))
    cost = np.zeros((questions, len(sizes)))
    if not field:
        return wins, cost
    top = max(sizes)
    table = binomial_weights(max(c.costs.size for c in field), top, rho)
    rivals = _pad(field)
    rows = _rows(field, rivals, top, ties, table, rho)
    step = max(1, _CHUNK // top)
    owner = np.array([c.question for c in field], dtype=np.int64)[rows.contest]
    for start in range(0, rows.m.size, step):
        block = _take(rows, np.s_[start : start + step])
        plain, marked = _products(block, rivals, table, top, ties, rho)
        lead, lead_cost, who = block.lead, block.lead_cost, owner[start : start + step]
        for column, size in enumerate(sizes):
            last = int(np.searchsorted(block.m, size, side="right"))
            if last == 0:
                continue
            at = np.arange(last), size - block.m[:last]
            won = lead[:last] * plain[at]
            paid = lead[:last] * marked[at] + won * lead_cost[:last]
            wins[:, column] += np.bincount(who[:last], won, minlength=questions)
            cost[:, column] += np.bincount(who[:last], paid, minlength=questions)
    return wins, cost


def _pad(field: Sequence[Contest]) -> _Field:
    width = max(len(c.rivals) for c in field)
    sizes = np.zeros((len(field), width), dtype=np.int64)
    mean_costs = np.zeros((len(field), width))
    tie_won = np.zeros((len(field), width))
    for i, contest in enumerate(field):
        count = len(contest.rivals)
        sizes[i, :count] = [r.size for r in contest.rivals]
        mean_costs[i, :count] = [contest.costs[r].mean() for r in contest.rivals]
        tie_won[i, :count] = contest.tie_won
    return _Field(sizes, mean_costs, tie_won)


def _rows(field: Sequence[Contest], rivals: _Field, top: int, ties: TieRule, table: Floats, rho: float) -> _Rows:
    head: list[tuple[int, int, float, float, float, int, float]] = []
    later: list[Ints] = []
    later_cost: list[Floats] = []
    nodes: dict[int, tuple[Floats, Floats]] = {}
    by_index = ties is TieRule.INDEX
    for i, contest in enumerate(field):
        sizes = rivals.sizes[i]
        n_gold = contest.gold.size
        gold_costs = contest.costs[contest.gold]
        gold_mean = float(gold_costs.mean())
        silent_cost = float(contest.costs[contest.silent].sum())
        if by_index:
            after, after_cost = _later_members(contest, sizes.size)
            tail = np.append(np.cumsum(gold_costs[::-1])[::-1], 0.0)
            chances = np.asarray(rho * (1.0 - rho) ** np.arange(n_gold), dtype=np.float64)
        for m in range(1, min(n_gold, top) + 1):
            able = int(np.count_nonzero(sizes >= m))
            free = contest.silent.size + int(sizes[able:].sum())
            unable_cost = silent_cost + float(sizes[able:] @ rivals.mean_costs[i, able:])
            free_cost = unable_cost / free if free else 0.0
            if by_index and able:
                starts = _starts(gold_costs, tail, after[:, :able], m, table, chances)
                head.extend(
                    (i, m, lead, cost, 0.0, free, free_cost)
                    for lead, cost in zip(starts.lead.tolist(), starts.cost.tolist(), strict=True)
                )
                later.append(after[starts.position])
                later_cost.append(after_cost[starts.position])
                continue
            tied = min(able, top // m - 1)
            points = 1 if ties in (TieRule.WRONG, TieRule.RIGHT) else tied // 2 + 1
            if points not in nodes:
                x, w = roots_legendre(points)
                nodes[points] = (0.5 * (x + 1.0), 0.5 * w)
            for u, weight in zip(*nodes[points], strict=True):
                head.append((i, m, weight * table[n_gold, m], m * gold_mean, u, free, free_cost))
            if by_index:  # no rival can tie: where gold's first member lies does not matter
                later.append(after[:1])
                later_cost.append(after_cost[:1])
    order = np.argsort([h[1] for h in head], kind="stable")
    columns = [np.array(c)[order] for c in zip(*head, strict=True)]
    empty = np.zeros((order.size, 0))
    return _Rows(
        contest=columns[0],
        m=columns[1],
        lead=columns[2],
        lead_cost=columns[3],
        node=columns[4],
        free=columns[5],
        free_cost=columns[6],
        later=np.concatenate(later)[order] if by_index else empty.astype(np.int64),
        later_cost=np.concatenate(later_cost)[order] if by_index else empty,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Starts:
    """For the rule `index`, where gold's part of a draw begins: one representative `position` a run."""

    position: Ints
    lead: Floats
    cost: Floats


def _starts(gold_costs: Floats, tail: Floats, after: Ints, m: int, table: Floats, chances: Floats) -> _Starts:
    """Gold's m members by the first of them; neighbours that every able rival ties with alike are summed.

    `after` (n_g, able rivals): a rival with fewer than m later members cannot tie and lose, whatever their
    number. `tail` (n_g + 1,) summed cost from each gold member on; `chances` (n_g,) of skipping all before.
    """
    count = gold_costs.size - m + 1
    behind = np.arange(gold_costs.size - 1, m - 2, -1)
    lead = table[behind, m - 1] * chances[:count]
    cost = gold_costs[:count] + (m - 1) * tail[1 : count + 1] / np.maximum(behind, 1)
    tying = after[:count] * (after[:count] >= m)
    new = np.ones(count, dtype=np.bool_)
    np.any(tying[1:] != tying[:-1], axis=1, out=new[1:])
    runs = np.flatnonzero(new)
    total, paid = np.add.reduceat(lead, runs), np.add.reduceat(lead * cost, runs)
    kept = total > 0  # with rho = 1 every answer is drawn, so only the first run is possible
    return _Starts(runs[kept], total[kept], paid[kept] / total[kept])


def _later_members(contest: Contest, width: int) -> tuple[Ints, Floats]:
    """For each gold position and rival: its members later in the pool, counted, and their mean cost."""
    after = np.zeros((contest.gold.size, width), dtype=np.int64)
    mean = np.zeros((contest.gold.size, width))
    for j, members in enumerate(contest.rivals):
        first = np.searchsorted(members, contest.gold)
        after[:, j] = members.size - first
        tail = np.concatenate([np.cumsum(contest.costs[members][::-1])[::-1], [0.0]])
        mean[:, j] = tail[first] / np.maximum(after[:, j], 1)
    return after, mean


def _take(rows: _Rows, part: slice) -> _Rows:
    return _Rows(*(getattr(rows, name)[part] for name in _Rows.__slots__))


def _products(rows: _Rows, rivals: _Field, table: Floats, top: int, ties: TieRule, rho: float) -> tuple[Floats, Floats]:
    """Coefficients (rows, top) of z^0 .. z^(top-1) of each row's product, and of its cost derivative."""
    plain = table[rows.free, :top]
    marked = plain * np.arange(top) * rows.free_cost[:, None]
    for j in range(rivals.sizes.shape[1]):
        size = rivals.sizes[rows.contest, j]
        active = np.flatnonzero(size >= rows.m)
        if active.size == 0:
            break
        m, n, contest = rows.m[active], size[active], rows.contest[active]
        mean = rivals.mean_costs[contest, j]
        here = np.arange(active.size)
        tie_cost = mean
        if ties is TieRule.INDEX:
            behind = rows.later[active, j]
            tie = table[behind, m] * (1.0 - rho) ** (n - behind)
            tie_cost = rows.later_cost[active, j]
        elif ties in (TieRule.WRONG, TieRule.RIGHT):
            tie = rivals.tie_won[contest, j] * table[n, m]
        else:
            tie = rows.node[active] * table[n, m]
        most = int(m[-1])
        counts = np.arange(most + 1)
        factor = np.where(counts < m[:, None], table[n, : most + 1], 0.0)
        slope = factor * counts * mean[:, None]
        factor[here, m] = tie
        slope[here, m] = tie * m * tie_cost
        plain[active], marked[active] = _convolve(plain[active], marked[active], factor, slope, m)
    return plain, marked


def _convolve(plain: Floats, marked: Floats, factor: Floats, slope: Floats, m: Ints) -> tuple[Floats, Floats]:
    """Each row's truncated series times its factor of degree m; the marks follow Leibniz' rule."""
    top = plain.shape[1]
    out, out_marked = factor[:, :1] * plain, factor[:, :1] * marked
    for x in range(1, min(factor.shape[1], top)):
        s = int(np.searchsorted(m, x))
        a, b = factor[s:, x, None], slope[s:, x, None]
        out[s:, x:] += a * plain[s:, : top - x]
        out_marked[s:, x:] += a * marked[s:, : top - x] + b * plain[s:, : top - x]
    return out, out_marked
