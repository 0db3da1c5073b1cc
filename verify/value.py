"""What a statistic gives: an exact value with the range that unknown questions leave, or why there is none.

Every value is an exact ratio of integers. `low` and `high` are what the questions that the release does not hold
(no record, withheld text, damaged gold) and undecided ties still allow; they equal `value` where all is known.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from schemas.claims import Parameter
from verify.cells import CellData
from verify.outcome import Outcomes

EstimateUnit = Literal["fraction", "tokens", "count", "number"]
"""`number`: anything that is none of the others, such as bits or TFLOPs."""


@dataclass(frozen=True)
class Value:
    """A statistic: `value` over the `n` questions (or generations) that are known, `low` and `high` over all."""

    value: Fraction
    low: Fraction
    high: Fraction
    n: int
    total: int
    """Questions (or generations) that should be there."""
    tied: int = 0
    """Questions whose vote was tied."""
    chance: str = ""
    """Where `low` and `high` are what random draws allow: which draws, in words; "" otherwise."""
    exact: float | None = None
    """The value without Monte-Carlo error, where `value` has some and an exact one exists."""
    exactly: str = "exact"
    """What `exact` is called."""


@dataclass(frozen=True)
class Unavailable:
    """A statistic that this cell cannot give, and why, as a sentence."""

    reason: str


Parameters = Mapping[str, Parameter]


@dataclass(frozen=True)
class Statistic:
    """A name, what it takes and how it is computed."""

    compute: Callable[[CellData, Parameters], Value | Unavailable]
    unit: EstimateUnit
    parameters: tuple[str, ...] = ()
    bounded: bool = True
    """Whether a question that is not there can move the value by a known amount at most."""


def share(hits: int, unknown: int, total: int, data: CellData | None) -> Value | Unavailable:
    """`hits` of the known; over generations, a missing record leaves even the total open."""
    if total == unknown:
        return Unavailable("nothing of this cell is known.")
    if data is not None and not data.present.all():
        return Value(Fraction(hits, total - unknown), Fraction(0), Fraction(1), total - unknown, total)
    return Value(
        Fraction(hits, total - unknown),
        Fraction(hits, total),
        Fraction(hits + unknown, total),
        total - unknown,
        total,
    )


def rate(outcomes: Outcomes, n: int) -> Value | Unavailable:
    """Share of `n` questions whose outcome is correct."""
    known = n - outcomes.unknown
    if known == 0:
        return Unavailable("no outcome of this cell is known.")
    low, high = outcomes.bounds()
    return Value(outcomes.credit() / known, Fraction(low, n), Fraction(high, n), known, n, outcomes.ties)
