"""How precise a design is: standard error of a mean paired difference, power, smallest detectable effect.

[1] E. Miller, Adding error bars to evals: a statistical approach to language model evaluations,
    arXiv:2411.00640, 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class PairedMean:
    """A mean difference and its standard error, over `questions` in `clusters` independent groups."""

    mean: float
    error: float
    questions: int
    clusters: int


def paired_error(differences: ArrayLike) -> PairedMean:
    """Mean of `differences` (Q,) with sqrt(sum (d - mean)^2 / (n (n - 1))) [1].

    Raises ValueError for fewer than 2 questions or for values that are not finite.
    """
    values = _paired(differences)
    off = values - values.mean()
    error = float(np.sqrt(off @ off / (values.size * (values.size - 1))))
    return PairedMean(float(values.mean()), error, values.size, values.size)


def clustered_error(differences: ArrayLike, clusters: Sequence[Hashable]) -> PairedMean:
    """The same where questions of a cluster share a source [1]: products d_i d_j within clusters add.

        SE^2 = sum d_i^2 / (n (n - 1)) + sum over clusters of sum_{i != j} d_i d_j / n^2      (d centred)

    With one question a cluster it is `paired_error`. It is too small where clusters are few; `clusters` is
    reported so that a reader sees how few.

    Raises ValueError for fewer than 2 clusters: one cluster says nothing about another.
    """
    values = _paired(differences)
    if len(clusters) != values.size:
        raise ValueError(f"{values.size} differences need as many cluster labels, got {len(clusters)}")
    numbers = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    if len(numbers) < 2:
        raise ValueError("a clustered standard error needs at least 2 clusters")
    n = values.size
    off = values - values.mean()
    sums = np.bincount([numbers[name] for name in clusters], off)
    square = off @ off
    variance = square / (n * (n - 1)) + (sums @ sums - square) / n**2
    return PairedMean(float(values.mean()), float(np.sqrt(max(variance, 0.0))), n, len(numbers))


def detectable_effect(error: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided test finds with this power.

    (z[1 - alpha/2] + z[power]) * error, in the unit of `error`.

    >>> round(detectable_effect(2.6), 1)  # SMRL's median standard error, in points
    7.3
    """
    _check(error, alpha)
    if not 0.0 < power < 1.0:
        raise ValueError(f"power lies strictly between 0 and 1, got {power}")
    return float((norm.ppf(1.0 - alpha / 2.0) + norm.ppf(power)) * error)


def power_of(effect: float, error: float, *, alpha: float = 0.05) -> float:
    """Chance that a two-sided normal test finds a true difference `effect`, either tail counted."""
    _check(error, alpha)
    z = norm.ppf(1.0 - alpha / 2.0)
    return float(norm.sf(z - effect / error) + norm.cdf(-z - effect / error))


def _check(error: float, alpha: float) -> None:
    if not (np.isfinite(error) and error > 0):
        raise ValueError(f"a standard error is a positive number here, got {error}")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha lies strictly between 0 and 1, got {alpha}")


def _paired(differences: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("differences are a list of finite numbers, one a question")
    if values.size < 2:
        raise ValueError(f"a standard error needs at least 2 questions, got {values.size}")
    return values
