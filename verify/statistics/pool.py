"""One question's pool: K independent answers sorted into classes, with what each of them cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class TieRule(StrEnum):
    """Which of several equally frequent classes a plurality vote returns."""

    RANDOM = "random"
    """Uniform among the tied classes."""
    FIRST = "first"
    """The class met first in a random draw order: as the order is exchangeable, the same law as `RANDOM`."""
    INDEX = "index"
    """The class whose drawn member has the lowest index in the pool."""
    WRONG = "wrong"
    """Any tie that involves a wrong class is lost: a lower bound on every rule."""
    RIGHT = "right"
    """Any tie that involves a correct class is won: an upper bound on every rule."""


class UnparsedPolicy(StrEnum):
    """What an answer that could not be parsed does in a vote. It is never correct."""

    ABSTAIN = "abstain"
    """It casts no vote; a draw of unparsed answers only is wrong."""
    CLASS = "class"
    """All unparsed answers form one wrong class that can win."""
    SINGLETONS = "singletons"
    """Each unparsed answer is a wrong class of its own."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Pool:
    """The K answers of one question in pool order.

    `answers` (K,) integer class ids, equal where two answers are the same answer (ignored where unparsed);
    `correct` (K,) bool, constant within a class; `parsed` (K,) bool; `costs` (K,) in any additive unit.
    More than one class may be correct (a grader may accept two spellings that the vote keeps apart).

    Raises ValueError if the arrays differ in length, are empty, hold a negative or non-finite cost, if an
    unparsed answer is marked correct, or if a class is correct in one place and wrong in another.
    """

    answers: NDArray[np.int64]
    correct: NDArray[np.bool_]
    parsed: NDArray[np.bool_]
    costs: NDArray[np.float64]

    def __init__(
        self,
        answers: ArrayLike,
        correct: ArrayLike,
        *,
        parsed: ArrayLike | None = None,
        costs: ArrayLike | None = None,
    ) -> None:
        classes = np.asarray(answers)
        if classes.dtype.kind not in "iu":
            raise ValueError(f"class ids must be integers, got {classes.dtype}")
        arrays = {
            "answers": classes.astype(np.int64),
            "correct": np.asarray(correct, dtype=np.bool_),
            "parsed": np.ones(classes.shape, np.bool_) if parsed is None else np.asarray(parsed, dtype=np.bool_),
            "costs": np.ones(classes.shape) if costs is None else np.asarray(costs, dtype=np.float64),
        }
        for name, array in arrays.items():
            object.__setattr__(self, name, array)
        _check_pool(self)

    @property
    def size(self) -> int:
        """K, the number of answers."""
        return int(self.answers.size)


def _check_pool(pool: Pool) -> None:
    if pool.answers.ndim != 1 or pool.answers.size == 0:
        raise ValueError("a pool is a one-dimensional, non-empty list of answers")
    for name in ("correct", "parsed", "costs"):
        if getattr(pool, name).shape != pool.answers.shape:
            raise ValueError(f"a pool of {pool.size} answers needs {pool.size} entries in {name!r}")
    if not np.all(np.isfinite(pool.costs)) or np.any(pool.costs < 0):
        raise ValueError("the cost of an answer must be a finite number that is not negative")
    if np.any(pool.correct & ~pool.parsed):
        raise ValueError("an unparsed answer cannot be correct")
    right = np.unique(pool.answers[pool.correct])
    if right.size and np.any(np.isin(pool.answers, right) & pool.parsed & ~pool.correct):
        raise ValueError("a class of equal answers must be correct throughout or wrong throughout")
