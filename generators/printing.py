"""Numbers as papers print them, rounded once from the exact value (half to even)."""

from decimal import Decimal
from fractions import Fraction

Number = Fraction | float


def decimals(value: Number, places: int) -> str:
    """`value` with a fixed number of decimals: 0.0384 with 3 → "0.038"."""
    # Fraction.__round__ is exact and rounds half to even; a float stands for the ratio that it is.
    scaled = round(Fraction(value) * 10**places)
    return f"{Decimal(scaled).scaleb(-places):f}"


def percent(value: Number, places: int = 1) -> str:
    """A share in percent, without the sign: 18/25 → "72.0"."""
    return decimals(Fraction(value) * 100, places)


def signed_points(value: Number, places: int = 1) -> str:
    """A difference of shares in points, with its sign: "+1.9", "-6.3"; "0.0" has none."""
    text = decimals(Fraction(value) * 100, places)
    return text if text.startswith("-") or not Decimal(text) else f"+{text}"


def thousands(value: Number) -> str:
    """A count to the nearest whole, with thousands separated: 1783.6 → "1,784"."""
    return f"{round(Fraction(value)):,}"
