"""Part of the questions: those that every method answered, those of one level of difficulty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from verify.statistics.bootstrap import as_columns
from verify.statistics.interpolation import CurvePoint, curve_at_cost
from verify.statistics.outcome import Unverifiable

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """The questions `keep` (Q,) bool, under a name. They are no random sample of all questions."""

    name: str
    keep: NDArray[np.bool_]

    @property
    def questions(self) -> int:
        """How many are kept."""
        return int(np.count_nonzero(self.keep))


def complete_cases(*answered: ArrayLike) -> Subset:
    """Questions with a parsed answer everywhere: each argument is (Q,) or (Q, anything), True where there is
    one.

    Pass one array a method and the (Q, K) array of the pool: SMRL asks for every method and every sample.

    Raises ValueError for no array or for arrays over different numbers of questions.
    """
    arrays = [np.asarray(a, dtype=np.bool_) for a in answered]
    if not arrays or any(a.ndim == 0 or a.shape[0] != arrays[0].shape[0] for a in arrays):
        raise ValueError("complete cases need one or more arrays over the same questions")
    keep = np.ones(arrays[0].shape[0], dtype=np.bool_)
    for array in arrays:
        keep &= array.reshape(array.shape[0], -1).all(axis=1)
    return Subset("complete", keep)


def split_by_level(levels: Sequence[Hashable], bins: Mapping[str, Collection[Hashable]]) -> tuple[Subset, ...]:
    """One subset a bin, in the order of `bins`, e.g. {"easy": (1, 2), "medium": (3,), "hard": (4, 5)}.

    Raises ValueError for a level in no bin or in two: every question is counted once.
    """
    for level in dict.fromkeys(levels):
        homes = [name for name, members in bins.items() if level in members]
        if len(homes) != 1:
            raise ValueError(f"level {level!r} belongs to {len(homes)} bins, not to one")
    return tuple(
        Subset(name, np.array([level in members for level in levels], dtype=np.bool_)) for name, members in bins.items()
    )


@dataclass(frozen=True, slots=True)
class SubsetDifference:
    """A method's accuracy minus the curve at equal cost, over the `questions` of a subset."""

    subset: str
    questions: int
    difference: float
    point: CurvePoint


def difference_within(
    subset: Subset,
    sizes: Sequence[int],
    curve_cost: ArrayLike,
    curve_accuracy: ArrayLike,
    method_cost: ArrayLike,
    method_accuracy: ArrayLike,
    *,
    matched: Literal["within", "overall"] = "within",
) -> SubsetDifference | Unverifiable:
    """The equal-cost difference of one method on a subset.

    `matched="within"` reads the subset's own curve at the method's mean cost on the subset. `"overall"` keeps
    the weights of all questions, so that the subsets' differences average to the whole. SMRL does not say
    which its difficulty table is: two of its rows miss the average by .2 points, more than rounding allows,
    but no more than a curve drawn anew would move.

    `curve_*` (Q, S), `method_*` (Q,) over all questions. Unverifiable for an empty subset and beyond the
    curve. Raises ValueError for unequal question sets or values that are not finite.
    """
    x, y = as_columns(curve_cost, "curve costs"), as_columns(curve_accuracy, "curve accuracies")
    c, a = (
        as_columns(method_cost, "method costs")[:, 0],
        as_columns(method_accuracy, "method accuracies")[:, 0],
    )
    if not x.shape[0] == y.shape[0] == c.size == a.size == subset.keep.size:
        raise ValueError("the curve, the method and the subset must be over the same questions")
    if subset.questions == 0:
        return Unverifiable(f"the subset {subset.name!r} holds no question")
    base = subset.keep if matched == "within" else np.ones_like(subset.keep)
    point = curve_at_cost(sizes, x[base].mean(axis=0), y[base].mean(axis=0), float(c[base].mean()))
    if isinstance(point, Unverifiable):
        return point
    kept = y[subset.keep]
    reading = (1.0 - point.weight) * kept[:, point.lower] + point.weight * kept[:, point.upper]
    difference = float(a[subset.keep].mean() - reading.mean())
    return SubsetDifference(subset.name, subset.questions, difference, point)
