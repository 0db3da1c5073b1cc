"""What an alternative is, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from verify.diagnostics.accident import Mass

AXES = (
    "row scope",
    "decision rule",
    "denominator",
    "grader",
    "tie rule",
    "draws",
    "cost unit",
    "rounding",
    "statistic",
)
"""The order in which alternatives are tried; two at once are of different axes."""


@dataclass(frozen=True)
class Step:
    """One declared departure from the declared computation: on an axis, `field` set to `value`.

    Two steps are the same alternative, whatever the cell, where axis, field and value are.
    """

    axis: str
    field: str
    value: str | int | None
    label: str

    @property
    def key(self) -> tuple[str, str, str | int | None]:
        """What makes it the same alternative in another cell."""
        return self.axis, self.field, self.value


@dataclass(frozen=True)
class Reading:
    """A value in natural units (low < high where ties or unknown records leave it open).

    `same` identifies the computation: two readings with equal `same` agree on every question, not just in the sum.
    """

    low: Fraction
    high: Fraction
    same: tuple[object, ...]
    scope: str = ""
    """Which questions, where not all: "over 145 of 150 questions"."""
    right: NDArray[np.bool_] | None = None
    """By question, where questions are right or wrong: which are surely right."""


class Reader(Protocol):
    """One claim's statistic, computed as declared or otherwise."""

    mass: Mass
    """Chance that a value of another origin lies in an interval."""

    def steps(self) -> Sequence[Step]:
        """The alternatives that make sense here, in the order of `AXES`."""
        ...

    def read(self, steps: Sequence[Step]) -> Reading | None:
        """The value with these steps taken; no step = as declared. None where the cell cannot give it."""
        ...
