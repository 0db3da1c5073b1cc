"""How a value becomes printed digits: to nearest, and the ways that are mistakes or other conventions."""

import math
from fractions import Fraction
from typing import Literal

from schemas.claims import Rounding

Convention = Literal["nearest", "down", "up", "any", "twice", "padded"]
LABELS: dict[Convention, str] = {
    "nearest": "rounded to nearest",
    "down": "digits cut off, not rounded",
    "up": "rounded away from zero",
    "twice": "rounded twice, first to one digit more",
    "padded": "rounded to one digit less, and a zero added",
}


def printed_values(low: Fraction, high: Fraction, step: Fraction, how: Convention | Rounding) -> tuple[int, int]:
    """Least and greatest multiple of `step` that a value from `low` to `high` prints as; a tie may go either way."""
    if how == "nearest":
        return math.ceil(low / step - Fraction(1, 2)), math.floor(high / step + Fraction(1, 2))
    if how == "any":
        return math.floor(low / step), math.ceil(high / step)
    if how == "down":
        return math.trunc(low / step), math.trunc(high / step)
    if how == "up":
        return _away(low / step), _away(high / step)
    if how == "padded":
        first, last = printed_values(low, high, 10 * step, "nearest")
        return 10 * first, 10 * last
    first, last = printed_values(low, high, step / 10, "nearest")
    return printed_values(first * step / 10, last * step / 10, step, "nearest")


def _away(value: Fraction) -> int:
    return math.ceil(value) if value >= 0 else math.floor(value)
