"""A method against the sampling curve at the method's own mean cost, paired by question."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from verify.statistics.bootstrap import (
    ZERO,
    Comparison,
    Replicates,
    as_columns,
    bootstrap_means,
    check_resampling,
    comparison,
    empty_columns,
    studentise,
    weight_chunks,
)
from verify.statistics.interpolation import CurvePoint, curve_at_cost, curves_at_costs
from verify.statistics.outcome import Unverifiable, check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Design(StrEnum):
    """What is estimated again in each resample."""

    REESTIMATED = "reestimated"
    """The method's mean cost and the curve's costs and accuracies, hence the weights: the default."""
    FIXED = "fixed"
    """Only the mean difference; the weights are those of the sample. Too narrow where cost adapts."""


@dataclass(frozen=True, slots=True, eq=False)
class EqualCost:
    """C methods of one setting against one curve.

    `points` (C) where the curve was read, or why it cannot be; `replicates` of the methods in `columns` only
    (those that can be read); `unmatched` resamples of each of these whose own cost lay past their own curve,
    where the last point stands in.
    """

    design: Design
    points: tuple[CurvePoint | Unverifiable, ...]
    columns: tuple[int, ...]
    replicates: Replicates
    unmatched: tuple[int, ...]

    def comparisons(self, *, level: float = 0.95) -> tuple[Comparison | Unverifiable, ...]:
        """One outcome a method, in the order given.

        Unverifiable beyond the curve, and where more than 1 - level of the resamples leave it: the interval
        would then rest on the stand-in for a curve that was not released.
        """
        check_level(level)
        outcomes: list[Comparison | Unverifiable] = []
        for column, point in enumerate(self.points):
            if isinstance(point, Unverifiable):
                outcomes.append(point)
                continue
            place = self.columns.index(column)
            lost, total = self.unmatched[place], self.replicates.resamples
            if lost > (1.0 - level) * total:
                outcomes.append(Unverifiable(f"in {lost} of {total} resamples the cost lies beyond the curve"))
            else:
                outcomes.append(comparison(self.replicates, place, level=level))
        return tuple(outcomes)


def bootstrap_at_equal_cost(
    sizes: Sequence[int],
    curve_cost: ArrayLike,
    curve_accuracy: ArrayLike,
    method_cost: ArrayLike,
    method_accuracy: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    design: Design = Design.REESTIMATED,
) -> EqualCost:
    """Accuracy of each method minus the curve at the method's mean cost, with joint bootstrap replicates.

    `curve_cost`, `curve_accuracy` (Q, S) per question; `method_cost`, `method_accuracy` (Q, C) per question,
    the same questions in the same order. All costs in one unit. Correctness as 0 and 1, or any mean per
    question. Two calls with generators in the same state and as many questions draw the same resamples: that
    is how settings over the same questions are made joint for `romano_wolf`.

    The standard error is that of the linearised difference, per question

        l = a - [(1-w) A_lo + w A_hi] - s (c - [(1-w) C_lo + w C_hi])

    with weight w and slope s of the sample (s = 0 where fixed or clamped): the last term is what
    re-estimating the match adds. Replicates are studentised with l held at the sample's w and s.

    Raises ValueError for unequal question sets, fewer than 2 questions, values that are not finite, or a mean
    cost of the curve that does not increase.
    """
    x, y = as_columns(curve_cost, "curve costs"), as_columns(curve_accuracy, "curve accuracies")
    c, a = as_columns(method_cost, "method costs"), as_columns(method_accuracy, "method accuracies")
    if x.shape != y.shape or c.shape != a.shape or x.shape[1] != len(sizes):
        raise ValueError("costs and accuracies must have one shape each for the curve and for the methods")
    if x.shape[0] != c.shape[0]:
        raise ValueError(f"the curve has {x.shape[0]} questions and the methods {c.shape[0]}: pair them first")
    check_resampling(x.shape[0], resamples)
    mean_cost, mean_accuracy = x.mean(axis=0), y.mean(axis=0)
    points = tuple(curve_at_cost(sizes, mean_cost, mean_accuracy, float(cost)) for cost in c.mean(axis=0))
    readable = tuple(i for i, point in enumerate(points) if isinstance(point, CurvePoint))
    if not readable:
        nothing = bootstrap_means(np.empty((x.shape[0], 0)), rng=rng, resamples=resamples)
        return EqualCost(design, points, (), nothing, ())
    matched = [_at_point(point, x, y) for point in points if isinstance(point, CurvePoint)]
    cost, accuracy = c[:, readable], a[:, readable]
    paired = accuracy - np.stack([reading for reading, _, _ in matched], axis=1)
    if design is Design.FIXED:
        fixed = bootstrap_means(paired, rng=rng, resamples=resamples)
        return EqualCost(design, points, readable, fixed, (0,) * len(readable))
    drift = cost - np.stack([spent for _, spent, _ in matched], axis=1)
    linear = paired - drift * np.array([slope for _, _, slope in matched])
    replicates, unmatched = _reestimate(x, y, cost, accuracy, paired, linear, rng, resamples)
    return EqualCost(design, points, readable, replicates, unmatched)


def _at_point(point: CurvePoint, x: Floats, y: Floats) -> tuple[Floats, Floats, float]:
    """Per question: the curve's accuracy and cost at a fixed weight, and the slope there."""
    low, high = 1.0 - point.weight, point.weight
    reading = low * y[:, point.lower] + high * y[:, point.upper]
    return reading, low * x[:, point.lower] + high * x[:, point.upper], point.slope


def _reestimate(
    x: Floats,
    y: Floats,
    cost: Floats,
    accuracy: Floats,
    paired: Floats,
    linear: Floats,
    rng: np.random.Generator,
    resamples: int,
) -> tuple[Replicates, tuple[int, ...]]:
    n, count, sizes = cost.shape[0], cost.shape[1], x.shape[1]
    off = linear - linear.mean(axis=0)
    stacked = np.concatenate([accuracy, cost, y, x, off, off**2], axis=1)
    ends = np.cumsum([count, count, sizes, sizes, count, count])[:-1]
    values, t = empty_columns(resamples, count), empty_columns(resamples, count)
    unmatched = np.zeros(count, dtype=np.int64)
    for rows, weights in weight_chunks(n, resamples, rng=rng):
        right, spent, height, price, shift, square = np.split(weights @ stacked / n, ends, axis=1)
        reading = curves_at_costs(price, height, spent)
        values[rows] = right - reading.accuracy
        unmatched += reading.unmatched
        t[rows] = studentise(shift, square, off, n)
    replicates = Replicates(
        questions=n,
        estimate=paired.mean(axis=0),
        error=np.sqrt((off**2).sum(axis=0) / (n * (n - 1))),
        values=values,
        studentised=t,
        nonzero=np.count_nonzero(np.abs(paired) > ZERO, axis=0),
    )
    return replicates, tuple(int(u) for u in unmatched)
