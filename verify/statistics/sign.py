"""Sign tests: how many differences point one way, over comparisons and over clusters of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.stats import binomtest

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike

Alternative = Literal["two-sided", "less", "greater"]
"""`less`: differences tend to be negative. SMRL's plain tests fit two-sided, its cluster test one-sided."""


@dataclass(frozen=True, slots=True)
class SignTest:
    """`negative`, `positive` and `zero` differences; p of a fair coin on the `trials` that count."""

    negative: int
    positive: int
    zero: int
    trials: int
    alternative: Alternative
    p_value: float


def sign_test(differences: ArrayLike, *, alternative: Alternative) -> SignTest:
    """Binomial test of the signs of `differences` (C,); zeros are reported and left out.

    It treats the differences as independent, which comparisons that share a pool are not: see
    `cluster_sign_test`. Without any difference p is 1.

    Raises ValueError for values that are not finite.
    """
    values = _finite(differences)
    negative, positive = int(np.count_nonzero(values < 0)), int(np.count_nonzero(values > 0))
    trials = negative + positive
    p = _coin(negative, positive, trials, alternative)
    return SignTest(negative, positive, values.size - trials, trials, alternative, p)


@dataclass(frozen=True, slots=True)
class ClusterSignTest:
    """Clusters whose differences are all negative, all positive, or neither (`mixed`: counts against)."""

    negative: int
    positive: int
    mixed: int
    alternative: Alternative
    p_value: float

    @property
    def clusters(self) -> int:
        """The number of independent units."""
        return self.negative + self.positive + self.mixed


def cluster_sign_test(
    differences: ArrayLike, clusters: Sequence[Hashable], *, alternative: Alternative
) -> ClusterSignTest:
    """Count clusters in which every difference has the same sign, out of all clusters.

    Under the null a cluster is unanimous in one direction with chance at most 1/2 whatever its inner
    dependence, so Binomial(clusters, 1/2) bounds the p from above. A zero makes its cluster mixed.

    Raises ValueError for values that are not finite or for another number of cluster labels.
    """
    values = _finite(differences)
    if len(clusters) != values.size:
        raise ValueError(f"{values.size} differences need as many cluster labels, got {len(clusters)}")
    negative = positive = mixed = 0
    for cluster in dict.fromkeys(clusters):
        signs = values[[name == cluster for name in clusters]]
        if np.all(signs < 0):
            negative += 1
        elif np.all(signs > 0):
            positive += 1
        else:
            mixed += 1
    p = _coin(negative, positive, negative + positive + mixed, alternative)
    return ClusterSignTest(negative, positive, mixed, alternative, p)


def _coin(negative: int, positive: int, trials: int, alternative: Alternative) -> float:
    if trials == 0:
        return 1.0
    most = {"less": negative, "greater": positive, "two-sided": max(negative, positive)}[alternative]
    tail = float(binomtest(most, trials, 0.5, alternative="greater").pvalue)
    return min(1.0, 2.0 * tail) if alternative == "two-sided" else tail


def _finite(differences: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("differences are a list of finite numbers")
    return values
