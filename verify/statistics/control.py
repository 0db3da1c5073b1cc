"""The temperature control: one greedy answer against one sampled answer, which cost about the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verify.statistics.bootstrap import Replicates, bootstrap_means

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def greedy_against_one_sample(
    greedy_correct: ArrayLike,
    pool_correct: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
) -> Replicates:
    """Paired bootstrap of greedy (Q,) minus SC@1, the share of right answers in each pool (Q, K).

    One sampled answer needs no vote, so no tie rule or unparsed policy enters: an unparsed answer is wrong.
    Costs are not matched: this is SMRL's section 5.4, not its Table 2.

    Raises ValueError for unequal question sets or fewer than 2 questions.
    """
    greedy = np.asarray(greedy_correct, dtype=np.float64)
    pool = np.asarray(pool_correct, dtype=np.float64)
    if pool.ndim != 2 or greedy.shape != pool.shape[:1]:
        raise ValueError(f"greedy answers {greedy.shape} and pools {pool.shape} are not over the same questions")
    return bootstrap_means(greedy - pool.mean(axis=1), rng=rng, resamples=resamples)
