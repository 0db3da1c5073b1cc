"""Many comparisons at once: Holm within declared families, Romano-Wolf over replicates that share resamples.

[1] S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6, 1979.
[2] J. P. Romano and M. Wolf, Exact and approximate stepdown methods for multiple hypothesis testing,
    JASA 100, 2005.
[3] J. P. Romano and M. Wolf, Efficient computation of adjusted p-values for resampling-based stepdown
    multiple testing, Statistics & Probability Letters 113, 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.statistics.bootstrap import ZERO

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Holm:
    """Raw and adjusted p (C,) with the family of each."""

    raw: Floats
    families: tuple[Hashable, ...]
    adjusted: Floats


def holm(p_values: ArrayLike, *, families: Sequence[Hashable] | None = None) -> Holm:
    """Holm's adjusted p within each declared family [1]: running maximum of (m - i + 1) p_(i), at most 1.

    Without `families` all comparisons are one. Adjusted p is non-decreasing in every raw p, so a tolerance on
    the raw values becomes one on the adjusted values by adjusting its two ends.

    Raises ValueError for a p outside [0, 1] or not a number, or for another number of families.
    """
    raw = np.asarray(p_values, dtype=np.float64)
    if raw.ndim != 1 or not np.all((raw >= 0) & (raw <= 1)):
        raise ValueError("p-values are a list of numbers between 0 and 1: leave out comparisons that have none")
    names = tuple(families) if families is not None else ("all",) * raw.size
    if len(names) != raw.size:
        raise ValueError(f"{raw.size} p-values need as many families, got {len(names)}")
    adjusted = np.empty_like(raw)
    for family in dict.fromkeys(names):
        members = np.flatnonzero([name == family for name in names])
        order = members[np.argsort(raw[members], kind="stable")]
        scaled = raw[order] * np.arange(order.size, 0, -1)
        adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return Holm(raw, names, adjusted)


@dataclass(frozen=True, slots=True, eq=False)
class RomanoWolf:
    """Step-down adjusted p (C,) from B joint replicates.

    `statistic` (C,) |estimate| / replicate standard deviation. `no_spread` names the columns whose replicates
    are all alike: they have no sampling distribution, get p = 1 and take no part in the maximum.
    """

    statistic: Floats
    adjusted: Floats
    no_spread: tuple[int, ...]
    resamples: int


def romano_wolf(estimates: ArrayLike, replicates: ArrayLike) -> RomanoWolf:
    """Step-down max-t over all columns [2], p as in [3]:

        p_(j) = max(p_(j-1), (#{b: max over columns j, j+1, .. of |t*_b| >= |t_(j)|} + 1) / (B + 1))

    with columns in decreasing |t|, t = estimate / s, t* = (replicate - estimate) / s, s the standard
    deviation of the replicates. `estimates` (C,), `replicates` (B, C): rows must be joint, one set of weights
    a question set. The adjusted p uses the dependence that Holm ignores, and is two-sided. Ties count against
    significance.

    Raises ValueError for shapes that do not match, values that are not finite, or fewer than 2 resamples.
    """
    centre, values = np.asarray(estimates, dtype=np.float64), np.asarray(replicates, dtype=np.float64)
    if values.ndim != 2 or centre.shape != values.shape[1:] or values.shape[0] < 2:
        raise ValueError("replicates are (resamples, comparisons), at least 2 resamples, one estimate a column")
    if not (np.isfinite(centre).all() and np.isfinite(values).all()):
        raise ValueError("estimates and replicates must be finite numbers")
    spread = values.std(axis=0, ddof=1)
    flat = spread <= ZERO
    scale = np.where(flat, 1.0, spread)
    statistic = np.where(flat, 0.0, np.abs(centre) / scale)
    moved = np.where(flat, 0.0, np.abs(values - centre) / scale)
    order = np.argsort(-statistic, kind="stable")
    adjusted = np.empty(centre.shape)
    # From the least column up: the maximum over those still in play grows by one column a step.
    largest = np.zeros(values.shape[0])
    reached = np.empty(order.size)
    for place in range(order.size - 1, -1, -1):
        np.maximum(largest, moved[:, order[place]], out=largest)
        reached[place] = np.count_nonzero(largest >= statistic[order[place]] - ZERO)
    adjusted[order] = np.maximum.accumulate((reached + 1.0) / (values.shape[0] + 1.0))
    return RomanoWolf(statistic, adjusted, tuple(int(i) for i in np.flatnonzero(flat)), values.shape[0])
