"""Granularity: which printed shares whole numbers of questions can give, and how often chance would pass.

A share of n questions is k/n for a whole k, so a printed share is possible only where its interval holds one
(Brown & Heathers 2017, "The GRIM test", Social Psychological and Personality Science 8(4)).
"""

import math
from fractions import Fraction
from functools import lru_cache

from verify.consistency.values import Interval


def counts(printed: Interval, n: int, scale: int) -> range:
    """The whole k from which scale·k/n prints so."""
    low = 0 if printed.low is None else max(0, math.ceil(printed.low * n / scale))
    high = n if printed.high is None else min(n, math.floor(printed.high * n / scale))
    return range(low, high + 1)


def totals(printed: Interval, n: int) -> range | None:
    """The whole totals T whose mean T/n prints so; None where the print has no bound."""
    if printed.low is None or printed.high is None:
        return None
    return range(math.ceil(printed.low * n), math.floor(printed.high * n) + 1)


def nearest_counts(value: Fraction, n: int, scale: int) -> tuple[int, int]:
    """The whole numbers on either side of n·value/scale, within 0 and n."""
    exact = value * n / scale
    return max(0, min(n, math.floor(exact))), max(0, min(n, math.ceil(exact)))


def differences(printed: Interval, point: Fraction | None, n: int, scale: int, unit: Fraction) -> range | None:
    """The whole k from which scale·k/n, a difference of two shares of n, prints so.

    Papers subtract rounded shares as often as exact ones, which moves the difference by up to one unit in the last
    place; 66.7 − 33.3 = 33.4 is printed where the shares are 2/3 and 1/3.
    """
    span = printed if point is None else Interval(point - unit, point + unit)
    if span.low is None or span.high is None:
        return None
    found = totals(Interval(span.low / scale, span.high / scale), n) or range(0)
    return range(max(found.start, -n), min(found.stop, n + 1))


MAX_ENUMERATED = 5000


@lru_cache(maxsize=4096)
def pass_chance(n: int, decimals: int, scale: int) -> float:
    """Chance that a share printed at random with so many decimals is possible at n (rounded to nearest).

    Of the scale·10^decimals + 1 printable values between 0 and `scale`, those that some k/n rounds to, ties either
    way. At one decimal of a percentage that is 3% at n = 30, 15% at 150, 50% at 500.
    """
    grid: int = scale * 10**decimals
    if n >= grid:
        return 1.0
    if n > MAX_ENUMERATED:
        return (n + 1) / (grid + 1)  # but for ties
    reachable: set[int] = set()
    for k in range(n + 1):
        below, rest = divmod(2 * k * grid + n, 2 * n)
        reachable.add(below)
        if rest == 0:
            reachable.add(below - 1)
    return len(reachable) / (grid + 1)


def fitting(printed: Interval, at_most: int, scale: int) -> list[bool]:
    """For every n from 0 (never) to `at_most`, whether a share of n questions can print so."""
    # In whole numbers: this runs for every n and every value of a paper.
    low = printed.low if printed.low is not None else Fraction(0)
    high = printed.high if printed.high is not None else Fraction(scale)
    low_up, low_down = low.numerator, low.denominator * scale
    high_up, high_down = high.numerator, high.denominator * scale
    fits = [False]
    for n in range(1, at_most + 1):
        least = max(0, -(-(low_up * n) // low_down))
        fits.append(least <= min(n, (high_up * n) // high_down))
    return fits
