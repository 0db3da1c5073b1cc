"""Exact tests on whole numbers: sign test, McNemar, Holm and its inverse."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

MAX_N = 5000
"""Larger samples are not enumerated."""


def sign_test(k: int, n: int, *, sides: int = 2) -> Fraction:
    """P(X ≥ k) for X ~ Binomial(n, 1/2); two-sided: twice the smaller tail, at most 1.

    Example: 6 of 6 gives 1/64 on one side; 14 of 20 gives .115 on two.
    """
    if not 0 <= k <= n <= MAX_N:
        raise ValueError(f"{k} of {n} is no count for a sign test of at most {MAX_N}")
    upper = Fraction(_at_most(n - k, n), 2**n)
    if sides == 1:
        return upper
    lower = Fraction(_at_most(k, n), 2**n)
    return min(Fraction(1), 2 * min(upper, lower))


def _at_most(k: int, n: int) -> int:
    """Σ C(n, i) for i from 0 to k, term by term: a fresh binomial each would be quadratic."""
    term, total = 1, 1
    for i in range(k):
        term = term * (n - i) // (i + 1)
        total += term
    return total


def mcnemar(b: int, c: int) -> Fraction:
    """Exact two-sided McNemar test: a sign test of b among the b + c discordant questions."""
    return sign_test(max(b, c), b + c) if b + c else Fraction(1)


def mid_p(b: int, c: int) -> Fraction:
    """McNemar with half the probability of what was observed (Fagerland, Lydersen & Laake 2013)."""
    lower = Fraction(_at_most(min(b, c), b + c), 2 ** (b + c))
    return min(Fraction(1), 2 * lower - Fraction(comb(b + c, b), 2 ** (b + c)))


def holm_rejections(p_values: Sequence[Fraction], alpha: Fraction) -> int:
    """How many hypotheses Holm's step-down procedure rejects at `alpha` (Holm 1979)."""
    rejected = 0
    for rank, p in enumerate(sorted(p_values)):
        if (len(p_values) - rank) * p > alpha:
            break
        rejected += 1
    return rejected


def invert_holm(
    low: Sequence[Fraction], high: Sequence[Fraction], shown: Sequence[Fraction]
) -> list[tuple[Fraction, Fraction]]:
    """Bounds on the raw p-values of one family from intervals of its Holm-adjusted ones, in the order given.

    The adjusted value at rank i (from 0, of m) is the largest of (m − j)·p_j for j ≤ i, at most 1. Hence
    p_i ≤ adjusted_i/(m − i) always, and equality where adjusted_i exceeds its predecessor and is below 1; where it
    does not, p_i is only known to be no less than the raw value before it. Printed ties leave the order open: each
    of a tied run gets the bounds of the run as a whole.
    """
    m = len(shown)
    order = sorted(range(m), key=lambda i: shown[i])
    bounds: list[tuple[Fraction, Fraction]] = [(Fraction(0), Fraction(1))] * m
    start, floor = 0, Fraction(0)
    while start < m:
        end = start
        while end + 1 < m and low[order[end + 1]] <= max(high[order[i]] for i in range(start, end + 1)):
            end += 1
        run = order[start : end + 1]
        capped = any(high[i] >= 1 for i in run)
        # The first of a run sets the run's value, as it exceeds every value before it.
        first_low = min(low[i] for i in run) / (m - start)
        top = Fraction(1) if capped else max(high[i] for i in run) / (m - end)
        for i in run:
            bounds[i] = (max(floor, min(first_low, top)), min(top, Fraction(1)))
        floor = bounds[run[0]][0]
        start = end + 1
    return bounds
