"""What a record costs, in each unit that a comparison may be made at equal amounts of.

Every function takes one entry a generation (G,), flat over all records, with `record` (G,) saying which
question 0 .. Q-1 each belongs to, and returns one cost a question (Q,). A question without generations costs
0. A failed call is passed with the tokens that it did spend.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens read and a million tokens written, in one currency."""

    per_million_prompt: float
    per_million_completion: float
    currency: str

    def __post_init__(self) -> None:
        for price in (self.per_million_prompt, self.per_million_completion):
            if not (np.isfinite(price) and price >= 0):
                raise ValueError(f"a price is a finite number that is not negative, got {price}")


def completion_tokens(record: ArrayLike, completion: ArrayLike, questions: int) -> Floats:
    """Generated tokens of each record, summed over all its calls (SMRL's unit)."""
    owner, (written,) = _checked(record, questions, completion=completion)
    return _summed(owner, written, questions)


def total_tokens(record: ArrayLike, prompt: ArrayLike, completion: ArrayLike, questions: int) -> Floats:
    """Tokens read and written by each record. A prompt that is sent again is counted again."""
    owner, (read, written) = _checked(record, questions, prompt=prompt, completion=completion)
    return _summed(owner, read + written, questions)


def sequential_latency(record: ArrayLike, rounds: ArrayLike, completion: ArrayLike, questions: int) -> Floats:
    """Generated tokens on the longest dependent chain: calls of one round run at once, rounds do not.

    Sum over the record's rounds of the longest completion in that round. `rounds` (G,) are integers.
    """
    owner, (written,) = _checked(record, questions, completion=completion)
    turn = np.asarray(rounds)
    if turn.shape != owner.shape or turn.dtype.kind not in "iu":
        raise ValueError("every generation needs the whole number of its round")
    order = np.lexsort((written, turn, owner))
    owner, turn, written = owner[order], turn[order], written[order]
    last = np.ones(owner.shape, dtype=np.bool_)
    last[:-1] = (owner[1:] != owner[:-1]) | (turn[1:] != turn[:-1])
    return _summed(owner[last], written[last], questions)


def money(record: ArrayLike, prompt: ArrayLike, completion: ArrayLike, questions: int, *, price: Price) -> Floats:
    """Cost of each record by a price table, in `price.currency`."""
    owner, (read, written) = _checked(record, questions, prompt=prompt, completion=completion)
    spent = (read * price.per_million_prompt + written * price.per_million_completion) / 1e6
    return _summed(owner, spent, questions)


def flops(record: ArrayLike, prompt: ArrayLike, completion: ArrayLike, questions: int, *, parameters: float) -> Floats:
    """Floating-point operations of each record, sum of 2 P (T_in + T_out) (ROR, section 3.5; [1]).

    `parameters` P is a count (7.6e9, not 7.6). Attention's share is left out, as the source leaves it out.

    [1] J. Kaplan et al., Scaling laws for neural language models, arXiv:2001.08361, 2020.
    """
    _check_parameters(parameters)
    owner, (read, written) = _checked(record, questions, prompt=prompt, completion=completion)
    return _summed(owner, 2.0 * parameters * (read + written), questions)


def reward_flops(record: ArrayLike, scored: ArrayLike, questions: int, *, parameters: float) -> Floats:
    """Operations of a reward model that reads `scored` (G,) tokens a call and writes none: 2 P_rm T_in.

    To be added to `flops` of the record.
    """
    _check_parameters(parameters)
    owner, (read,) = _checked(record, questions, scored=scored)
    return _summed(owner, 2.0 * parameters * read, questions)


def expected_longest(costs: ArrayLike, sizes: Sequence[int]) -> Floats:
    """(S,) E[max of N] over all subsets of one question's K costs: the latency of N parallel samples.

    Latency is no sum, so a curve in this unit takes these costs in place of N times the mean:

        E[max | N] = sum_i t_(i) C(i - 1, N - 1) / C(K, N),   t_(1) <= .. <= t_(K)
    """
    ordered = np.sort(np.asarray(costs, dtype=np.float64))
    pool = ordered.size
    if ordered.ndim != 1 or pool == 0 or not np.isfinite(ordered).all() or ordered[0] < 0:
        raise ValueError("costs are a non-empty list of finite numbers that are not negative")
    if any(n < 1 or n > pool for n in sizes):
        raise ValueError(f"sample sizes lie between 1 and the pool's {pool}")
    return np.asarray(_longest_weights(pool, tuple(sizes)) @ ordered)


@lru_cache(maxsize=64)
def _longest_weights(pool: int, sizes: tuple[int, ...]) -> Floats:
    """(S, K) chance that the longest of N is the i-th shortest of K: the same for every question of a pool."""
    rank = np.arange(pool)
    weights = np.zeros((len(sizes), pool))
    for i, n in enumerate(sizes):
        reach = rank >= n - 1
        # In logarithms: the binomials themselves overflow near K = 1000, their ratio never does.
        weights[i, reach] = np.exp(log_choose(rank[reach], n - 1) - log_choose(np.array([pool]), n))
    return weights


def log_choose(n: NDArray[np.int64], k: int) -> Floats:
    """Natural logarithm of C(n, k)."""
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def _summed(owner: NDArray[np.int64], values: Floats, questions: int) -> Floats:
    return np.bincount(owner, values, minlength=questions).astype(np.float64)


def _check_parameters(parameters: float) -> None:
    if not (np.isfinite(parameters) and parameters > 0):
        raise ValueError(f"a parameter count is a positive number, got {parameters}")


def _checked(record: ArrayLike, questions: int, **tokens: ArrayLike) -> tuple[NDArray[np.int64], list[Floats]]:
    owner = np.asarray(record)
    if owner.ndim != 1 or (owner.size and owner.dtype.kind not in "iu"):
        raise ValueError("every generation needs the whole number of its record")
    if owner.size and (owner.min() < 0 or owner.max() >= questions):
        raise ValueError(f"record numbers lie between 0 and {questions - 1}")
    columns = []
    for name, values in tokens.items():
        column = np.asarray(values, dtype=np.float64)
        if column.shape != owner.shape:
            raise ValueError(f"{owner.size} generations need as many {name} token counts, got {column.size}")
        if not np.isfinite(column).all() or np.any(column < 0):
            raise ValueError(f"{name} token counts must be known and not negative")
        columns.append(column)
    return owner.astype(np.int64), columns
