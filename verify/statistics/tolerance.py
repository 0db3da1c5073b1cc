"""How far an honest stochastic claim may lie from our value, by Monte-Carlo error alone.

The claimant drew other random numbers. Each function returns the range in which the claimed value falls with
probability of at least `confidence` if it was computed as stated: our own Monte-Carlo error and the
claimant's are each given half of the risk, so the range errs to the wide side. The rounding of a printed
value comes on top.

`scipy.stats` takes a second to load, so only the functions that need it import it: an audit without stochastic claims
does not wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from verify.statistics.bootstrap import ZERO
from verify.statistics.outcome import Unverifiable, check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from verify.statistics.curve import Curve
    from verify.statistics.interpolation import CurvePoint

CONFIDENCE = 0.9999
"""One honest claim in ten thousand is flagged; a paper prints a few hundred."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The closed range of claims that Monte-Carlo error explains."""

    low: float
    high: float
    confidence: float

    def admits(self, low: float, high: float) -> bool:
        """Whether any value of the printed value's rounding interval [low, high] lies in the range."""
        return low <= self.high + ZERO and high >= self.low - ZERO


def percentile_tolerance(
    values: ArrayLike,
    probability: float,
    *,
    claimed_resamples: int,
    shift: float = 0.0,
    confidence: float = CONFIDENCE,
) -> Tolerance | Unverifiable:
    """Range of a claimed bootstrap quantile (e.g. probability 0.025) given our replicates `values` (B,).

    The claimant's order statistic has rank k of B', so its level in the true bootstrap law is Beta(k, B' + 1
    - k); our order statistics bound that law's quantiles by binomial ranks. Distribution-free, lattices
    included. `shift` widens both ends, by e.g. the tolerance of a Monte-Carlo curve under the difference.

    Unverifiable where either side has too few resamples to bound so extreme a quantile.
    """
    from scipy.stats import beta, binom

    check_level(confidence)
    check_level(probability)
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    risk = (1.0 - confidence) / 4.0
    position = (claimed_resamples - 1) * probability
    rank_low = int(np.floor(position)) + 1
    rank_high = min(rank_low + 1, claimed_resamples)
    level_low = float(beta.ppf(risk, rank_low, claimed_resamples + 1 - rank_low))
    level_high = float(beta.isf(risk, rank_high, claimed_resamples + 1 - rank_high))
    below = int(binom.ppf(risk, ordered.size, level_low))
    above = int(binom.isf(risk, ordered.size, level_high)) + 1
    if below < 1 or above > ordered.size:
        fewest = min(ordered.size, claimed_resamples)
        return Unverifiable(f"{fewest} resamples are too few to bound a quantile at {probability:g}")
    return Tolerance(float(ordered[below - 1]) - shift, float(ordered[above - 1]) + shift, confidence)


def p_value_tolerance(
    values: ArrayLike,
    *,
    claimed_resamples: int,
    plus_one: bool = True,
    shift: float = 0.0,
    confidence: float = CONFIDENCE,
) -> Tolerance:
    """Range of a claimed bootstrap p given our replicates `values` (B,) of the difference.

    Each tail's true probability lies in its Clopper-Pearson interval; the claimant's count is binomial at its
    two ends; p follows `bootstrap_p_value`. `shift` moves all replicates by anything up to it, both ways: p is least at
    one of the ends, and greatest where the median comes closest to zero, which may lie between them.
    """
    check_level(confidence)
    replicates = np.asarray(values, dtype=np.float64)
    risk = (1.0 - confidence) / 8.0
    lows, highs = [], []
    reach = abs(shift)
    for moved in sorted({-reach, reach, float(np.clip(-np.median(replicates), -reach, reach))}):
        counts = (np.count_nonzero(replicates + moved <= ZERO), np.count_nonzero(replicates + moved >= -ZERO))
        ranges = [_claimed_count(int(c), replicates.size, claimed_resamples, risk) for c in counts]
        lows.append(min(low for low, _ in ranges))
        highs.append(min(high for _, high in ranges))
    one = 1 if plus_one else 0
    low, high = (min(1.0, 2.0 * (n + one) / (claimed_resamples + one)) for n in (min(lows), max(highs)))
    return Tolerance(low, high, confidence)


def curve_error(curve: Curve, draws: int) -> NDArray[np.float64]:
    """(S,) standard error of mean accuracy when each question's point is a mean over `draws` random subsets.

    sqrt(sum over questions of p (1 - p) / draws) / Q, with p the exact accuracy: nothing is estimated.
    """
    _check_draws(draws)
    variance = (curve.accuracy * (1.0 - curve.accuracy)).sum(axis=0) / draws
    return np.asarray(np.sqrt(variance) / curve.accuracy.shape[0])


def curve_error_at_cost(curve: Curve, point: CurvePoint, draws: int) -> float:
    """Standard error of the curve read at a cost, accuracies and costs coming from the same `draws` subsets.

    To first order reading = (1-w)(A_lo - s C_lo) + w (A_hi - s C_hi) with weight w and slope s, and for one
    draw Var(A - s C) = p(1-p) + s^2 Var(C) - 2 s (E[C A] - E[C] p). The two sizes' errors are added, not
    squared and added: whether they share draws is not stated, and the sum bounds both.
    """
    _check_draws(draws)
    joint = curve.cost_correct - curve.cost * curve.accuracy
    variance = curve.accuracy * (1.0 - curve.accuracy)
    variance = variance + point.slope**2 * curve.cost_variance - 2.0 * point.slope * joint
    error = np.sqrt(np.maximum(variance, 0.0).sum(axis=0) / draws) / curve.accuracy.shape[0]
    return float((1.0 - point.weight) * error[point.lower] + point.weight * error[point.upper])


def normal_tolerance(value: float, error: float, *, confidence: float = CONFIDENCE) -> Tolerance:
    """value -+ z error: for means over many draws, such as a point of a Monte-Carlo curve."""
    from scipy.stats import norm

    check_level(confidence)
    reach = float(norm.isf((1.0 - confidence) / 2.0)) * error
    return Tolerance(value - reach, value + reach, confidence)


@lru_cache(maxsize=4096)  # Holm's p of each member of a family asks for the ranges of all
def _claimed_count(count: int, total: int, claimed: int, risk: float) -> tuple[int, int]:
    from scipy.stats import beta, binom

    low = float(beta.ppf(risk, count, total - count + 1)) if count else 0.0
    high = float(beta.isf(risk, count + 1, total - count)) if count < total else 1.0
    return int(binom.ppf(risk, claimed, low)) if low > 0.0 else 0, int(binom.isf(risk, claimed, high))


def _check_draws(draws: int) -> None:
    if draws < 1:
        raise ValueError(f"a Monte-Carlo curve takes at least 1 draw, got {draws}")
