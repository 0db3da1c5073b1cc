"""Two ways of answering the same questions: the discordant counts and what they say.

[1] Q. McNemar, Note on the sampling error of the difference between correlated proportions, Psychometrika 12,
    1947.
[2] M. W. Fagerland, S. Lydersen and P. Laake, The McNemar test for binary matched-pairs data: mid-p and
    asymptotic are better than exact conditional, BMC Medical Research Methodology 13:91, 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr  # not scipy.stats, which takes a second to load

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class McNemar:
    """`first_only` questions that only the first way answers right, `second_only` that only the second does.

    `p_exact` two-sided conditional binomial [1], `p_mid` its mid-p [2]. Without discordant questions both are
    1.
    """

    first_only: int
    second_only: int
    p_exact: float
    p_mid: float

    @property
    def discordant(self) -> int:
        """Questions that exactly one way answers right."""
        return self.first_only + self.second_only


def mcnemar(first_only: int, second_only: int) -> McNemar:
    """Exact and mid-p McNemar of two discordant counts b and c.

    p_exact = min(1, 2 P(X <= min(b, c))), p_mid = 2 P(X <= min) - P(X = min), X ~ Binomial(b + c, 1/2).

    Raises ValueError for a negative count.

    >>> round(mcnemar(3, 11).p_exact, 4)  # 2 (1 + 14 + 91 + 364) / 2^14
    0.0574
    """
    if first_only < 0 or second_only < 0:
        raise ValueError(f"discordant counts are not negative, got {first_only} and {second_only}")
    fewer, total = min(first_only, second_only), first_only + second_only
    if total == 0:
        return McNemar(first_only, second_only, 1.0, 1.0)
    tail = float(bdtr(fewer, total, 0.5))
    point = comb(total, fewer) / 2**total
    return McNemar(first_only, second_only, min(1.0, 2.0 * tail), min(1.0, 2.0 * tail - point))


def mcnemar_of(first: ArrayLike, second: ArrayLike) -> McNemar:
    """The same from two lists of correctness (Q,), question by question; ValueError for unequal lengths."""
    a, b = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"{a.size} and {b.size} answers cannot be paired by question")
    return mcnemar(int(np.count_nonzero(a & ~b)), int(np.count_nonzero(b & ~a)))
