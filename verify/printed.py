"""Printed numbers as exact intervals: what a value must be to print as this string."""

import re
from dataclasses import dataclass
from fractions import Fraction

from schemas.claims import Rounding

# One to 30 digits: no published statistic has more, and longer ones would cost quadratic time.
_NUMBER = re.compile(
    r"(?P<bound>[<>≤≥]?)\s{0,3}(?P<sign>[+\-−–]?)\s{0,3}"
    r"(?P<whole>\d{1,3}(?:,\d{3}){1,9}|\d{1,30})?(?:\.(?P<decimals>\d{1,30})?)?\s{0,3}(?P<percent>%?)",
    re.ASCII,
)


@dataclass(frozen=True)
class Printed:
    """The values that print as `text`: from `low` to `high`, None = without bound; ends belong to it unless open."""

    text: str
    value: Fraction
    low: Fraction | None
    high: Fraction | None
    low_open: bool = False
    high_open: bool = False
    percent: bool = False
    """Whether a percent sign is printed."""
    step: Fraction | None = None
    """One unit in the last place; None for a bound such as "<0.001"."""

    def admits(self, value: Fraction) -> bool:
        """Whether `value` could have been printed so."""
        return self.meets(value, value)

    def meets(self, low: Fraction, high: Fraction) -> bool:
        """Whether any value from `low` to `high`, ends included, could have been printed so."""
        above = self.low is None or high > self.low or (high == self.low and not self.low_open)
        below = self.high is None or low < self.high or (low == self.high and not self.high_open)
        return above and below

    def scaled(self, factor: Fraction) -> "Printed":
        """The same in another unit, `factor` > 0 times as large."""
        return Printed(
            self.text,
            self.value * factor,
            None if self.low is None else self.low * factor,
            None if self.high is None else self.high * factor,
            self.low_open,
            self.high_open,
            self.percent,
            None if self.step is None else self.step * factor,
        )


def parse_printed(text: str, rounding: Rounding) -> Printed:
    """The interval of a printed number, for example "72.0", "+1.9", "1,784", ".097", "84.3%" or "<0.001".

    `nearest` takes half a unit in the last place on either side, ends included, since a tie may have gone either
    way; `down` and `up` take one unit on one side (for zero and negative numbers on both, as cutting digits
    rounds those towards zero); `any` takes one unit on both sides. Raises ValueError with a clause that says what is
    wrong.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None or not (match["whole"] or match["decimals"]):
        raise ValueError(f"{text[:60]!r} is not a printed number such as 72.0, +1.9, 1,784, .097, 84.3% or <0.001")
    decimals = match["decimals"] or ""
    digits = (match["whole"] or "").replace(",", "") + decimals
    unit = Fraction(1, 10 ** len(decimals))
    value = int(digits) * unit
    if match["sign"] in ("-", "−", "–"):
        value = -value
    percent = bool(match["percent"])
    if bound := match["bound"]:
        upper = bound in "<≤"
        is_open = bound in "<>"
        return Printed(
            text,
            value,
            None if upper else value,
            value if upper else None,
            is_open and not upper,
            is_open and upper,
            percent,
        )
    if rounding == "nearest":
        return Printed(text, value, value - unit / 2, value + unit / 2, percent=percent, step=unit)
    both = rounding == "any" or value <= 0  # a small negative that is cut off prints as 0.0 too
    low = value if rounding == "down" and not both else value - unit
    high = value if rounding == "up" and not both else value + unit
    return Printed(text, value, low, high, low_open=low < value, high_open=high > value, percent=percent, step=unit)
