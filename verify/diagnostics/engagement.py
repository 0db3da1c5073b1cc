"""Did the method do the thing that it is named for? (SMRL 6.2)

A method that decides for itself when to stop may never start: what was measured is then its first answer alone, under
another name. And one that stops exactly when it is right may have been told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from schemas.record import ANSWER_ROLES
from verify.cells import CellData, IntArray
from verify.diagnostics.refinement import rollouts
from verify.partial import NONE, Grade
from verify.release import method_of
from verify.value import Parameters, Statistic, Unavailable, Value, share

LEAST_ENGAGED = 0.1
"""A method that goes on in fewer questions than this hardly ever does what it is named for."""
LEAST_ERRORS = 0.1
"""What an honest judge is granted: that it errs in at least this share of right answers, or of wrong ones."""
SAME_TEXTS = 0.95
"""Share of equal texts at which two cells are one under two names."""
FEWEST = 10
"""Below this many questions with both texts, equal ones say nothing."""


def rounds_used(data: CellData) -> IntArray:
    """(n,) rounds of answers beyond the first; NONE where the record is missing, failed or without an answer."""
    columns = data.answers
    if not len(columns.round):
        return np.full(data.n, NONE, dtype=np.int64)
    width = int(columns.round.max()) + 1
    distinct = np.unique(data.owner * width + columns.round) // width
    used = np.bincount(distinct, minlength=data.n) - 1
    return np.where(data.present & ~data.failed, used, NONE)


def self_triggered(data: CellData) -> bool:
    """Whether the method may stop after its first answer: its declared calls say so, or some records did."""
    for role, allowed in (data.cell.calls or {}).items():
        if role in ANSWER_ROLES and allowed.min == 0 < allowed.max:
            return True
    used = rounds_used(data)
    return bool((used == 0).any() and (used > 0).any())


def never_fires_p(data: CellData) -> tuple[int, int, float]:
    """Questions that go on, questions, and the chance of so few if `LEAST_ENGAGED` of them did: a binomial tail."""
    used = rounds_used(data)
    n, engaged = int(np.sum(used != NONE)), int(np.sum(used > 0))
    return engaged, n, binomial_tail(engaged, n, LEAST_ENGAGED)


@dataclass(frozen=True)
class Twins:
    """Questions with one answer in both cells, and how many of the two texts are word for word the same."""

    compared: int
    equal: int

    @property
    def same(self) -> bool:
        """Whether one cell is the other under another name, as far as texts can say."""
        return self.compared >= FEWEST and self.equal >= SAME_TEXTS * self.compared


def twins(data: CellData, base: CellData) -> Twins:
    """The texts of two cells whose records hold a single answer, question by question."""
    first, second = _single_texts(data), _single_texts(base)
    shared = [name for name in first if name in second]
    return Twins(len(shared), sum(first[name] == second[name] for name in shared))


def single_answers(data: CellData) -> bool:
    """Whether every record that holds answers holds one."""
    counts = np.diff(data.offsets)
    return bool(len(counts)) and int(counts.max(initial=0)) == 1


def base_of(data: CellData, others: Sequence[CellData]) -> tuple[CellData, Twins] | None:
    """The first other method of the setting with the same single answers, text by text."""
    if not single_answers(data):
        return None
    for base in others:
        # Replicates of a deterministic method are equal by design.
        if method_of(base.cell.id) == method_of(data.cell.id) or not single_answers(base):
            continue
        found = twins(data, base)
        if found.same:
            return base, found
    return None


@dataclass(frozen=True)
class Stopping:
    """Decisions to stop or to go on after an answer, while going on was still possible."""

    right: int
    right_continued: int
    wrong: int
    wrong_stopped: int

    @property
    def p_value(self) -> float:
        """The chance of so few errors from a judge that errs on `LEAST_ERRORS` of the right or of the wrong ones.

        An intersection-union test: the larger of the two binomial tails, so that a judge which always stops, or
        never does, is not taken for one who knows.
        """
        return max(
            binomial_tail(self.right_continued, self.right, LEAST_ERRORS),
            binomial_tail(self.wrong_stopped, self.wrong, LEAST_ERRORS),
        )


def stopping(data: CellData) -> Stopping | None:
    """How the end of a record follows from the answers before it; None where that is not the record's own choice.

    Only for one answer a round and records that differ in their number. The last round that any record reaches is
    the budget: no decision is made there.
    """
    if data.cell.decision_rule != "last":
        return None
    columns, owner = data.answers, data.owner
    counts = np.diff(data.offsets)
    budget = int(counts.max(initial=0))
    used = rounds_used(data)
    if budget < 2 or ((used != NONE) & (used != counts - 1)).any():
        return None
    place = np.arange(len(owner)) - data.offsets[:-1][owner]
    continued = place < counts[owner] - 1
    open_ = (place < budget - 1) & (columns.grade != Grade.UNKNOWN) & data.gold_usable[owner]
    right = open_ & (columns.grade == Grade.CORRECT)
    wrong = open_ & (columns.grade != Grade.CORRECT)
    return Stopping(
        int(right.sum()),
        int((right & continued).sum()),
        int(wrong.sum()),
        int((wrong & ~continued).sum()),
    )


def unanimity_by_round(data: CellData) -> list[Fraction] | None:
    """Share of questions whose agents all give the same readable answer, after each round; None without rounds."""
    found = rollouts(data)
    if isinstance(found, str) or found.breadth < 2:
        return None
    shares = []
    for depth in range(found.depth + 1):
        hits, unknown, total = _unanimous(data, depth)
        if total == unknown:
            return None
        shares.append(Fraction(hits, total - unknown))
    return shares


def binomial_tail(hits: int, n: int, share_: float) -> float:
    """P(X <= hits), X ~ Binomial(n, share_): 1 where there was no trial."""
    if n == 0 or hits >= n:
        return 1.0
    from scipy.special import bdtr

    return float(bdtr(hits, n, share_))


def _single_texts(data: CellData) -> dict[str, int]:
    """Fingerprint of the text of each question's only answer, where there is one."""
    counts = np.diff(data.offsets)
    rows = np.flatnonzero(counts == 1)
    prints: NDArray[np.int64] = data.answers.text[data.offsets[rows]]
    return {data.question_ids[row]: int(value) for row, value in zip(rows, prints, strict=True) if value != 0}


def _unanimous(data: CellData, depth: int) -> tuple[int, int, int]:
    """Unanimous questions, unknown ones and all, after `depth` rounds beyond the first."""
    found = rollouts(data)
    if isinstance(found, str):
        raise ValueError(found)
    answers = found.answers(depth)
    distinct, count, known = found.distinct(depth)
    voted = np.bincount(answers.owner[answers.vote != NONE], minlength=data.n)
    same = (distinct == 1) & (voted == count) & known
    return int(same.sum()), int(np.sum(~known)), data.n


def _unanimity_rate(data: CellData, parameters: Parameters) -> Value | Unavailable:
    found = rollouts(data)
    if isinstance(found, str):
        return Unavailable(f"{found}.")
    depth = int(parameters.get("depth", found.depth))
    if depth > found.depth:
        return Unavailable(f"depth {depth} is not between 0 and {found.depth}.")
    return share(*_unanimous(data, depth), None)


def _stopped_at_once(data: CellData, parameters: Parameters) -> Value | Unavailable:
    del parameters
    used = rounds_used(data)
    known = used != NONE
    return share(int(np.sum(used == 0)), int(np.sum(~known)), data.n, None)


def _mean_rounds(data: CellData, parameters: Parameters) -> Value | Unavailable:
    del parameters
    used = rounds_used(data)
    known = used[used != NONE]
    if not len(known):
        return Unavailable("no record of this cell holds an answer.")
    mean = Fraction(int(known.sum()), len(known))
    return Value(mean, mean, mean, len(known), data.n)


STATISTICS: dict[str, Statistic] = {
    "stopped_at_once_rate": Statistic(_stopped_at_once, "fraction"),
    "mean_rounds": Statistic(_mean_rounds, "number", bounded=False),
    "unanimity_rate": Statistic(_unanimity_rate, "fraction", ("depth",)),
}
