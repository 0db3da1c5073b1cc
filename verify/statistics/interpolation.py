"""The sampling curve read at a cost: linear between sizes, clamped at N=1, never past the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.statistics.outcome import Unverifiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The curve at `cost`: accuracy (1 - weight) * accuracy[lower] + weight * accuracy[upper].

    `lower`, `upper` are columns of the curve and `sizes` the N of each; `slope` is accuracy per unit of cost
    there. `clamped` says that the cost lay below one sample's, so that the curve at N=1 stands in (slope 0).
    """

    cost: float
    accuracy: float
    lower: int
    upper: int
    sizes: tuple[int, int]
    weight: float
    slope: float
    clamped: bool


def curve_at_cost(
    sizes: Sequence[int], costs: ArrayLike, accuracies: ArrayLike, cost: float
) -> CurvePoint | Unverifiable:
    """Interpolate mean accuracy in (cost, accuracy) between the two sizes whose mean costs bracket `cost`.

    `costs`, `accuracies` (S,): means over questions, in the unit of `cost`. Beyond the last cost, or below
    the first one of a curve that does not start at N=1, the answer is `Unverifiable`: nothing is
    extrapolated.

    Raises ValueError for arrays of another length, for costs that do not increase, for values that are not
    finite.

    >>> point = curve_at_cost([1, 2, 4], [100, 200, 400], [0.5, 0.5, 0.75], 300)
    >>> point.accuracy, point.sizes, point.weight
    (0.625, (2, 4), 0.5)
    """
    x, y = np.asarray(costs, dtype=np.float64), np.asarray(accuracies, dtype=np.float64)
    if x.shape != (len(sizes),) or y.shape != (len(sizes),) or not sizes:
        raise ValueError(f"a curve of {len(sizes)} sizes needs as many costs and accuracies")
    if not (np.isfinite(x).all() and np.isfinite(y).all() and np.isfinite(cost)):
        raise ValueError("costs and accuracies must be finite numbers")
    if np.any(np.diff(x) <= 0):
        raise ValueError("the mean cost of the curve must increase with the number of samples")
    if cost > x[-1]:
        return Unverifiable(f"a cost of {cost:.6g} lies beyond the curve, which ends at {x[-1]:.6g} with N={sizes[-1]}")
    if cost < x[0]:
        if sizes[0] != 1:
            return Unverifiable(
                f"a cost of {cost:.6g} lies below the curve, which starts at {x[0]:.6g} with N={sizes[0]}"
            )
        return CurvePoint(float(cost), float(y[0]), 0, 0, (1, 1), 0.0, 0.0, clamped=True)
    lower = min(int(np.searchsorted(x, cost, side="right")) - 1, max(len(sizes) - 2, 0))
    upper = min(lower + 1, len(sizes) - 1)
    span = float(x[upper] - x[lower])
    weight = float(cost - x[lower]) / span if span else 0.0
    slope = float(y[upper] - y[lower]) / span if span else 0.0
    return CurvePoint(
        cost=float(cost),
        accuracy=float((1.0 - weight) * y[lower] + weight * y[upper]),
        lower=lower,
        upper=upper,
        sizes=(sizes[lower], sizes[upper]),
        weight=weight,
        slope=slope,
        clamped=False,
    )


@dataclass(frozen=True, slots=True, eq=False)
class CurveReadings:
    """One curve a resample, read at C costs a resample.

    `accuracy` (B, C); `unmatched` (C,) resamples whose cost lies past their curve (or whose curve
    has no increasing cost there), where the last accuracy reached stands in.
    """

    accuracy: NDArray[np.float64]
    unmatched: NDArray[np.int64]


def curves_at_costs(
    costs: NDArray[np.float64], accuracies: NDArray[np.float64], cost: NDArray[np.float64]
) -> CurveReadings:
    """The same for many curves: `costs`, `accuracies` (B, S) read at `cost` (B, C), ends clamped."""
    last = costs.shape[1] - 1
    lower = np.zeros(cost.shape, dtype=np.int64)
    for size in range(1, last):
        lower += costs[:, size, None] <= cost
    upper = np.minimum(lower + 1, last)
    start = np.take_along_axis(costs, lower, axis=1)
    span = np.take_along_axis(costs, upper, axis=1) - start
    flat = span <= 0
    span[flat] = 1.0
    weight = np.minimum(np.maximum((cost - start) / span, 0.0), 1.0)
    low = np.take_along_axis(accuracies, lower, axis=1)
    reading = low + weight * (np.take_along_axis(accuracies, upper, axis=1) - low)
    lost = (cost > costs[:, -1:]) | (flat & (upper > lower))
    return CurveReadings(reading, np.count_nonzero(lost, axis=0))
