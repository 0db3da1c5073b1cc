"""Numbers as papers print them, rounded once from the exact value (half to even)."""

from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction


def fixed(value: Fraction, decimals: int) -> str:
    """`value` with a fixed number of decimals."""
    scaled = round(value * 10**decimals)  # Fraction.__round__ is exact and rounds half to even
    return str(Decimal(scaled).scaleb(-decimals).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_EVEN))


def percent(value: Fraction, decimals: int = 1) -> str:
    """A share in percent, without the sign: 18/25 → "72.0"."""
    return fixed(value * 100, decimals)


def signed_points(value: Fraction, decimals: int = 1) -> str:
    """A difference of shares in points, with its sign: "+1.9", "-6.3", "0.0"."""
    text = fixed(value * 100, decimals)
    return f"+{text}" if value > 0 and not text.startswith("-") else text


def thousands(value: Fraction) -> str:
    """A count to the nearest whole, with thousands separated: 1783.6 → "1,784"."""
    return f"{round(value):,}"
