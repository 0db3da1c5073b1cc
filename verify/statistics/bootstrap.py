"""Resampling questions: weights, replicates of means, intervals and p-values from replicates.

[1] B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap, Chapman & Hall, 1993, chapters 12
    (bootstrap-t) and 13 (percentile).
[2] A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application, Cambridge, 1997, chapter 4
    (why one is added to both counts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.statistics.outcome import Interval, NoInterval, check_level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

ZERO = 1e-12
"""A replicate closer to zero than this is zero: sums of fractions leave 1e-17 where arithmetic has none."""
FEW_DIFFERENCES = 10
"""Below this many questions with a difference, a 95% interval covers less than it says."""
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Bootstrap replicates of C mean differences over the same `questions`, resampled jointly.

    `estimate`, `error` (C,): the difference and its standard error on the sample; `values` (B, C): the
    replicates; `studentised` (B, C): (value - estimate) / standard error in that resample, +-inf where a
    resample has moved but has no spread; `nonzero` (C,): questions on which the difference is not zero.
    """

    questions: int
    estimate: Floats
    error: Floats
    values: Floats
    studentised: Floats
    nonzero: NDArray[np.int64]

    @property
    def resamples(self) -> int:
        """B."""
        return int(self.values.shape[0])


@dataclass(frozen=True, slots=True)
class Comparison:
    """One mean difference with its paired bootstrap, all in the unit of the differences.

    `p_value` follows the rule of `bootstrap_p_value` with the two + 1, `p_value_plain` without.
    """

    estimate: float
    error: float
    percentile: Interval | NoInterval
    studentised: Interval | NoInterval
    p_value: float
    p_value_plain: float
    questions: int
    nonzero: int
    resamples: int

    @property
    def few_differences(self) -> bool:
        """Whether too few questions differ for the interval to cover what it says."""
        return self.nonzero < FEW_DIFFERENCES


def resample_weights(questions: int, resamples: int, *, rng: np.random.Generator) -> Floats:
    """(B, Q) how often each question occurs in each resample of Q questions with replacement."""
    # Two-byte picks cost a third of eight-byte ones; the generator rejects, so they are as uniform.
    dtype = np.uint16 if questions <= 1 << 16 else np.int64
    picks = rng.integers(0, questions, (resamples, questions), dtype=dtype)
    cells = picks + np.arange(0, resamples * questions, questions)[:, None]
    counts = np.bincount(cells.ravel(), minlength=resamples * questions)
    return counts.reshape(resamples, questions).astype(np.float64)


def weight_chunks(questions: int, resamples: int, *, rng: np.random.Generator) -> Iterator[tuple[slice, Floats]]:
    """The rows of `resample_weights` in blocks that fit a cache, each with its place in the whole."""
    step = max(1, _CHUNK // questions)
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        yield slice(start, stop), resample_weights(questions, stop - start, rng=rng)


def bootstrap_means(differences: ArrayLike, *, rng: np.random.Generator, resamples: int = 10_000) -> Replicates:
    """Resample the means of the columns of `differences` (Q, C) or (Q,), all columns with the same questions.

    This is the whole bootstrap of a paired difference whose per-question values are fixed: judge minus count,
    greedy minus one sample, a method minus a curve at weights held fixed.

    Raises ValueError for fewer than 2 questions (one question has no spread to resample), for no resamples,
    or for values that are not finite.
    """
    table = as_columns(differences, "differences")
    check_resampling(table.shape[0], resamples)
    n, columns = table.shape
    centre = table.mean(axis=0)
    off = table - centre
    stacked = np.concatenate([off, off**2], axis=1)
    values, t = empty_columns(resamples, columns), empty_columns(resamples, columns)
    for rows, weights in weight_chunks(n, resamples, rng=rng):
        sums = weights @ stacked / n
        values[rows] = sums[:, :columns] + centre
        t[rows] = studentise(sums[:, :columns], sums[:, columns:], off, n)
    return Replicates(
        questions=n,
        estimate=centre,
        error=np.sqrt((off**2).sum(axis=0) / (n * (n - 1))),
        values=values,
        studentised=t,
        nonzero=np.count_nonzero(np.abs(table) > ZERO, axis=0),
    )


def empty_columns(resamples: int, columns: int) -> Floats:
    """(B, C) with each column contiguous: replicates are written by rows and read, sorted, by columns."""
    return np.empty((columns, resamples)).T


def studentise(shift: Floats, square: Floats, off: Floats, questions: int) -> Floats:
    """(B, C) shift / its standard error in each resample, from two resampled moments about the estimate."""
    variance = square - shift**2
    # Cancellation leaves about 1e-16 of the square where a resample has no spread at all.
    none = variance <= 1e-13 * (off**2).mean(axis=0)
    if not none.any():
        return np.asarray(shift / np.sqrt(variance / (questions - 1)))
    error = np.sqrt(np.where(none, 1.0, variance) / (questions - 1))
    still = np.abs(shift) <= ZERO
    return np.where(none, np.where(still, 0.0, np.copysign(np.inf, shift)), shift / error)


def percentile_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """The alpha/2 and 1 - alpha/2 quantiles of the replicates (B,), interpolated linearly between order
    statistics.

    A pure reading of the replicates [1, ch. 13]: where all are equal it returns that value twice, which is
    what a paper would print. `comparison` decides whether an interval is honest.
    """
    check_level(level)
    tail = (1.0 - level) / 2.0
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    low, high = (_between(ordered, p * (ordered.size - 1)) for p in (tail, 1.0 - tail))
    return Interval(low, high, level, "percentile")


def studentised_interval(
    estimate: float, error: float, studentised: ArrayLike, level: float = 0.95
) -> Interval | NoInterval:
    """estimate - t[1 - alpha/2] * error, estimate - t[alpha/2] * error [1, ch. 12].

    No interval where the sample has no spread, or where so many resamples have none that an end is infinite.
    """
    check_level(level)
    if error <= 0.0:
        return NoInterval("every question has the same difference, so nothing can be studentised")
    tail = (1.0 - level) / 2.0
    ordered = np.sort(np.asarray(studentised, dtype=np.float64))
    # Order statistics, not interpolated: inf - inf between two infinite ones would be undefined.
    last = ordered.size - 1
    low, high = float(ordered[round(tail * last)]), float(ordered[round((1.0 - tail) * last)])
    if not (np.isfinite(low) and np.isfinite(high)):
        return NoInterval("too many resamples hold no spread at all to studentise them")
    return Interval(estimate - high * error, estimate - low * error, level, "bootstrap-t")


def _between(ordered: Floats, position: float) -> float:
    """The order statistic at a fractional position from 0, on the line between its neighbours."""
    below = int(position)
    above = min(below + 1, ordered.size - 1)
    return float(ordered[below] + (position - below) * (ordered[above] - ordered[below]))


def bootstrap_p_value(values: ArrayLike, *, plus_one: bool = True) -> float:
    """Two-sided p of a zero difference: min(1, 2 (min(#{d* <= 0}, #{d* >= 0}) + 1) / (B + 1)) [2].

    Zeros count on both sides. Without `plus_one` both + 1 are left out and a p of exactly 0 is possible: that
    is the rule which SMRL's printed values fit.
    """
    replicates = np.asarray(values, dtype=np.float64)
    fewer = min(np.count_nonzero(replicates <= ZERO), np.count_nonzero(replicates >= -ZERO))
    one = 1 if plus_one else 0
    return min(1.0, 2.0 * (fewer + one) / (replicates.size + one))


def comparison(replicates: Replicates, column: int, *, level: float = 0.95) -> Comparison:
    """Everything that is reported of one column. A sample without a difference has p = 1 and no interval."""
    values = replicates.values[:, column]
    error = float(replicates.error[column])
    estimate = float(replicates.estimate[column])
    percentile: Interval | NoInterval = percentile_interval(values, level)
    if replicates.nonzero[column] == 0:
        percentile = NoInterval("no question has a difference, so there is no spread to resample")
    elif error <= ZERO * max(1.0, abs(estimate)):
        percentile = NoInterval("every question has the same difference, so there is no spread to resample")
        error = 0.0
    return Comparison(
        estimate=estimate,
        error=error,
        percentile=percentile,
        studentised=studentised_interval(estimate, error, replicates.studentised[:, column], level),
        p_value=bootstrap_p_value(values),
        p_value_plain=bootstrap_p_value(values, plus_one=False),
        questions=replicates.questions,
        nonzero=int(replicates.nonzero[column]),
        resamples=replicates.resamples,
    )


def as_columns(values: ArrayLike, name: str) -> Floats:
    """`values` as a finite float table (Q, C); ValueError otherwise."""
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        raise ValueError(f"{name} must be (questions,) or (questions, columns), got shape {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError(f"{name} must be finite numbers: leave out or grade the questions that have none")
    return table


def check_resampling(questions: int, resamples: int) -> None:
    """ValueError unless there are questions to resample and a number of resamples."""
    if questions < 2:
        raise ValueError(f"a bootstrap over questions needs at least 2 of them, got {questions}")
    if resamples < 1:
        raise ValueError(f"a bootstrap needs at least 1 resample, got {resamples}")
