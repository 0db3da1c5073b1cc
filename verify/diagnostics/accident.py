"""How likely it is that a value of another origin prints as an alternative by luck.

A match proves little where few values are plausible and many alternatives were tried. The printed value is therefore
set against a value that has nothing to do with any alternative: with one half of the weight another run of the same
cell, with the other half any value of the statistic's range (a slip of the pen, another row). For alternative a, over
independent cells c and among m distinct alternatives,

    accident(a) = min(1, m · Π_c P_c(prints as a | does not print as ours))

which is Boole's inequality (Bonferroni): an upper bound on the chance that any of the m fits every cell by luck, if
each is as likely as the one that did. It is no probability that the alternative is wrong.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

Mass = Callable[[float, float], float]
"""Chance that a value of another origin lies between two values, ends included."""

OTHER_RUN = 0.5
"""Weight of another run of the same cell; the rest is spread evenly over the range."""


@dataclass(frozen=True)
class Printing:
    """The printed values from `low` to `high`, in units of the last place (`step`)."""

    low: int
    high: int
    step: Fraction


def share_mass(hits: float, n: int) -> Mass:
    """For a share of n questions of which we count `hits`.

    Another run: beta-binomial with Jeffreys' prior Beta(1/2, 1/2) updated by ours (Gelman et al., Bayesian Data
    Analysis, 3rd ed., 2.4). Printed digits may be finer or coarser than 1/n; the larger of the chance on the lattice
    k/n and of the chance on the line is taken, so that a value no k/n prints is not held to be impossible.
    """
    a, b = hits + 0.5, n - hits + 0.5
    k = np.arange(n)
    # log of pmf(k + 1) / pmf(k); no gamma functions, so that SciPy need not be loaded
    steps = np.log((n - k) * (k + a)) - np.log((k + 1) * (n - k - 1 + b))
    log_pmf = np.concatenate([[0.0], np.cumsum(steps)])
    pmf = np.exp(log_pmf - log_pmf.max())
    pmf = OTHER_RUN * pmf / pmf.sum() + (1 - OTHER_RUN) / (n + 1)
    below = np.concatenate([[0.0], np.cumsum(pmf)])
    edges = (np.arange(n + 2) - 0.5) / n

    def mass(low: float, high: float) -> float:
        first, last = math.ceil(low * n - 1e-9), math.floor(high * n + 1e-9)
        lattice = below[min(max(last + 1, 0), n + 1)] - below[min(max(first, 0), n + 1)] if last >= first else 0.0
        line = float(np.interp(high, edges, below) - np.interp(low, edges, below))
        return max(float(lattice), line, (1 - OTHER_RUN) * (high - low))

    return mass


def normal_mass(value: float, error: float, low: float, high: float) -> Mass:
    """For a mean whose standard error is `error`, over a range from `low` to `high`.

    Another run: normal about ours with twice its variance, since both runs have one.
    """
    spread = math.sqrt(2.0) * error

    def below(x: float) -> float:
        if spread == 0:
            return float(x >= value)
        return 0.5 * math.erfc((value - x) / (spread * math.sqrt(2.0)))

    def mass(start: float, end: float) -> float:
        even = max(min(end, high) - max(start, low), 0.0) / (high - low) if high > low else 0.0
        return OTHER_RUN * (below(end) - below(start)) + (1 - OTHER_RUN) * max(even, (end - start) / (high - low or 1))

    return mass


def chance(mass: Mass, printed: Printing, ours: Printing) -> float:
    """Chance that a value of another origin prints in `printed`, given that it does not print as ours."""
    inside = _mass(mass, printed)
    outside = 1.0 - _mass(mass, ours)
    return min(1.0, inside / outside) if outside > 0 else 1.0


def accident(tried: int, chances: list[float]) -> float:
    """The bound above: `tried` distinct alternatives, one chance a cell."""
    return min(1.0, tried * math.prod(chances))


def _mass(mass: Mass, printed: Printing) -> float:
    step = float(printed.step)
    return mass((printed.low - 0.5) * step, (printed.high + 0.5) * step)
