"""How random papers round and test: the generator's own arithmetic, of which `verify` uses nothing."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

Mode = Literal["half-even", "half-up", "half-down", "down", "up"]
MODES: tuple[Mode, ...] = ("half-even", "half-up", "half-down", "down", "up")
ALPHA = Fraction(1, 20)


def printed(value: Fraction, decimals: int, mode: Mode) -> str:
    """`value` with so many decimals; `down` cuts digits (towards zero), `up` goes away from zero."""
    scaled = abs(value) * 10**decimals
    below, rest = scaled.numerator // scaled.denominator, scaled - scaled.numerator // scaled.denominator
    half = Fraction(1, 2)
    more = {
        "half-even": rest > half or (rest == half and below % 2 == 1),
        "half-up": rest >= half,
        "half-down": rest > half,
        "down": False,
        "up": rest > 0,
    }[mode]
    digits = str(below + more).rjust(decimals + 1, "0")
    sign = "-" if value < 0 and below + more else ""
    return sign + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def holm(p_values: Sequence[Fraction]) -> list[Fraction]:
    """Holm-adjusted p-values."""
    result = [Fraction(0)] * len(p_values)
    largest = Fraction(0)
    for rank, (p, index) in enumerate(sorted((p, i) for i, p in enumerate(p_values))):
        largest = max(largest, min(Fraction(1), (len(p_values) - rank) * p))
        result[index] = largest
    return result


def sign_chance(k: int, n: int) -> Fraction:
    """Two-sided sign test."""
    tails = [sum(math.comb(n, i) for i in range(k + 1)), sum(math.comb(n, i) for i in range(k, n + 1))]
    return min(Fraction(1), Fraction(2 * min(tails), 2**n))


def rejected(p_values: Sequence[Fraction]) -> int:
    """How many Holm's procedure rejects at .05."""
    return sum(adjusted <= ALPHA for adjusted in holm(p_values))
