"""Exact intervals of rationals: what a printed number may have been, and arithmetic that never loses a point.

Every operation returns an interval that contains each value which some choice of points gives. Where a number
occurs twice in an expression the result may be wider than need be, never narrower: what lies outside is impossible.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from schemas.claims import Rounding
from verify.printed import parse_printed

MAX_BITS = 4096
"""Longer denominators are rounded outward, and longer numerators taken as unbounded, so that no file costs much."""
_KEPT_BITS = 1024
_RANGE = re.compile(r"(?P<low>.{1,60}?)(?:\.\.|…)(?P<high>.{1,60})", re.ASCII | re.DOTALL)
_NUMBER = re.compile(r"[+\-−–]?(?:\d{1,3}(?:,\d{3}){1,9}|\d{1,30})?(?:\.\d{1,30})?%?", re.ASCII)


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both ends included; None = without bound."""

    low: Fraction | None
    high: Fraction | None

    def __str__(self) -> str:
        if self.low is not None and self.low == self.high:
            return shown(self.low)
        low = "(−∞" if self.low is None else f"[{shown(self.low)}"
        high = "∞)" if self.high is None else f"{shown(self.high)}]"
        return f"{low}, {high}"

    def meets(self, other: "Interval") -> bool:
        """Whether the two share a point."""
        above = self.low is None or other.high is None or self.low <= other.high
        below = self.high is None or other.low is None or other.low <= self.high
        return above and below

    def within(self, low: Fraction | None, high: Fraction | None) -> "Interval":
        """What of it lies between two bounds; the interval itself where nothing does."""
        lows = [end for end in (self.low, low) if end is not None]
        highs = [end for end in (self.high, high) if end is not None]
        cut = Interval(max(lows, default=None), min(highs, default=None))
        if cut.low is not None and cut.high is not None and cut.low > cut.high:
            return self
        return cut


def exactly(value: Fraction | int) -> Interval:
    """One value."""
    return Interval(Fraction(value), Fraction(value))


UNKNOWN = Interval(None, None)


def shown(value: Fraction) -> str:
    """A rational for a reader: its decimals where it has few, else rounded to six figures."""
    if value.denominator == 1:
        return _trim(str(value.numerator))
    for digits in range(1, 7):
        if (scaled := value * 10**digits).denominator == 1:
            whole, rest = divmod(abs(scaled.numerator), 10**digits)
            return f"{'-' if value < 0 else ''}{_trim(str(whole))}.{rest:0{digits}d}"
    return f"{'≈'}{float(value):.6g}" if abs(value.numerator).bit_length() < 1000 else "a long ratio"


def _trim(digits: str) -> str:
    return digits if len(digits) <= 40 else digits[:20] + "…"


def parse_value(text: str, rounding: Rounding) -> Interval:
    """The interval of a printed string: all that `parse_printed` reads, "~300" and "1..10".

    "~300" is 300 give or take a fifth, or one in its last digit that is not zero where that is more (200 to 400);
    "1..10" is anything from the least value that prints "1" to the greatest that prints "10". Raises ValueError with
    what is wrong.
    """
    text = text.strip()
    if match := _RANGE.fullmatch(text):
        low, high = parse_value(match["low"], rounding), parse_value(match["high"], rounding)
        if low.low is not None and high.high is not None and low.low > high.high:
            raise ValueError(f"{text[:60]!r} is a range whose first end is above its second")
        return Interval(low.low, high.high)
    if approximate(text):
        printed = parse_printed(text[1:], rounding)
        unit = step(text[1:])
        value, digits = abs(printed.value) / unit, 0
        while value and value % 10 == 0 and digits < 30:
            value, digits = value / 10, digits + 1
        give = max(unit * 10**digits, abs(printed.value) / 5)
        return Interval(printed.value - give, printed.value + give)
    printed = parse_printed(text, rounding)
    if printed.value == 0 and rounding in ("down", "up"):
        # A negative number cut towards zero prints as zero too.
        printed = parse_printed(text, "any")
    # An open end is moved in by what no ratio of published sizes can fall into, so that all intervals are closed:
    # cut to whole numbers, "14" is 14 and not 15.
    inward = step(text) / 10**12
    return Interval(
        printed.low + inward if printed.low is not None and printed.low_open else printed.low,
        printed.high - inward if printed.high is not None and printed.high_open else printed.high,
    )


def printed_point(text: str) -> Fraction | None:
    """The number as its digits stand, where there is one ("<0.001" and "1..10" have none)."""
    text = text.strip()
    if not text or not _NUMBER.fullmatch(text):
        return None
    try:
        return parse_printed(text, "nearest").value
    except ValueError:
        return None


def approximate(text: str) -> bool:
    """Whether a printed string only says about how much: "~300"."""
    return text.strip()[:1] in ("~", "≈")


def step(text: str) -> Fraction:
    """One unit in the last printed place: 1/10 for "72.0"."""
    digits = text.strip().rstrip("% ")
    return Fraction(1, 10 ** (len(digits) - digits.rindex(".") - 1)) if "." in digits else Fraction(1)


def add(a: Interval, b: Interval) -> Interval:
    """a + b."""
    return _bounded(
        None if a.low is None or b.low is None else a.low + b.low,
        None if a.high is None or b.high is None else a.high + b.high,
    )


def negate(a: Interval) -> Interval:
    """−a."""
    return Interval(None if a.high is None else -a.high, None if a.low is None else -a.low)


def subtract(a: Interval, b: Interval) -> Interval:
    """a − b."""
    return add(a, negate(b))


def multiply(a: Interval, b: Interval) -> Interval:
    """a · b."""
    zero = exactly(0)
    if zero in (a, b):
        return zero
    if None in (a.low, a.high, b.low, b.high):
        return _multiply_unbounded(a, b)
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[operator]
    return _bounded(min(ends), max(ends))


def _multiply_unbounded(a: Interval, b: Interval) -> Interval:
    # Only what a sign decides is kept; anything finer would need infinities in the arithmetic.
    if a.low is not None and a.low >= 0 and b.low is not None and b.low >= 0:
        return _bounded(a.low * b.low, None if a.high is None or b.high is None else a.high * b.high)
    return UNKNOWN


def divide(a: Interval, b: Interval) -> Interval | None:
    """a / b; None where b is zero; without bound where b may be."""
    if b == exactly(0):
        return None
    positive = b.low is not None and b.low > 0
    negative = b.high is not None and b.high < 0
    if not (positive or negative):
        return UNKNOWN
    if negative:
        return divide(negate(a), negate(b))
    inverse = Interval(Fraction(0) if b.high is None else 1 / b.high, None if b.low is None else 1 / b.low)
    return multiply(a, inverse)


def absolute(a: Interval) -> Interval:
    """|a|."""
    if a.low is not None and a.low >= 0:
        return a
    if a.high is not None and a.high <= 0:
        return negate(a)
    return Interval(Fraction(0), None if a.low is None or a.high is None else max(-a.low, a.high))


def least(values: list[Interval]) -> Interval:
    """The smallest of several."""
    highs = [value.high for value in values if value.high is not None]
    lows = [value.low for value in values]
    return Interval(None if None in lows else min(low for low in lows if low is not None), min(highs, default=None))


def hull(a: Interval, b: Interval) -> Interval:
    """The interval from the lower of the two to the higher."""
    return Interval(
        None if a.low is None or b.low is None else min(a.low, b.low),
        None if a.high is None or b.high is None else max(a.high, b.high),
    )


def greatest(values: list[Interval]) -> Interval:
    """The largest of several."""
    return negate(least([negate(value) for value in values]))


def _bounded(low: Fraction | None, high: Fraction | None) -> Interval:
    return Interval(
        None if low is None else _outward(low, down=True), None if high is None else _outward(high, down=False)
    )


def _outward(value: Fraction, *, down: bool) -> Fraction | None:
    if value.denominator.bit_length() > MAX_BITS:
        scale = 2**_KEPT_BITS
        whole = (value.numerator * scale) // value.denominator
        value = Fraction(whole if down else whole + 1, scale)
    return None if value.numerator.bit_length() > 2 * MAX_BITS else value
