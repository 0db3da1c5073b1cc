"""What a procedure may answer: an interval, the reason why there is none, or that the data cannot say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval at confidence `level`, e.g. 0.95."""

    low: float
    high: float
    level: float
    method: Literal["percentile", "bootstrap-t"]


@dataclass(frozen=True, slots=True)
class NoInterval:
    """The data give no honest interval; `reason` is one sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unverifiable:
    """The released data cannot decide this comparison; `reason` is one sentence."""

    reason: str


def check_level(level: float) -> None:
    """ValueError unless `level` is a confidence level strictly between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"a confidence level lies strictly between 0 and 1, got {level}")
