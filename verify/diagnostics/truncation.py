"""Are the questions that are missing, or were cut short, the long and hard ones? (SMRL 5.5 and A.4)

A cell's gaps are compared with a complete cell of the same setting, where length and difficulty of every question are
known. What survives of a cell whose hard questions are missing is an easier set than any other method was given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from verify.cells import CellData, IntArray
from verify.outcome import decide, our_answers
from verify.partial import NONE, Finish, Grade

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

LEVEL = 0.01
"""Of the alarm, after Bonferroni."""
PERMUTATIONS = 9_999
BLOCK, ENOUGH = 500, 25
"""Permutations drawn at a time, and how many in the smaller tail are enough to stop."""
FEWEST_MISSING = 3
"""Two gaps cannot tell a pattern from an accident."""


@dataclass(frozen=True)
class Reference:
    """What a complete cell of the setting, or two, say of every question; arrays of shape (n,)."""

    length: Floats
    """Mean completion tokens of a question's samples."""
    difficulty: Floats | None
    """Share of wrong samples of the pool."""
    correct: Bools | None
    """Outcomes of a reference method."""
    pool: str | None
    method: str | None
    """Ids of the cells that these come from."""


@dataclass(frozen=True)
class Survivorship:
    """Gaps against the rest. `p_values` by test, one entry a test that could be made, unadjusted."""

    gaps: int
    n: int
    p_values: dict[str, float]
    auc: float
    """Chance that a gap is longer than another question, ties half."""
    reference_all: float | None
    reference_survivors: float | None

    @property
    def p_value(self) -> float:
        """Bonferroni over the tests made."""
        return min(1.0, len(self.p_values) * min(self.p_values.values(), default=1.0))

    @property
    def alarm(self) -> bool:
        """Whether the gaps are no random sample of the questions, at `LEVEL`."""
        return self.gaps >= FEWEST_MISSING and self.p_value <= LEVEL


def gaps_of(data: CellData, *, capped: bool = False) -> Bools:
    """(n,) questions without a usable record; with `capped`, also those with a call that ended by its length."""
    gaps = ~data.present | data.failed
    return gaps | (data.capped > 0) if capped else gaps


def reference_of(data: CellData, setting: Sequence[CellData]) -> Reference | None:
    """Complete cells of the same setting that give every question of `data` a length, and a difficulty if they can."""
    complete = [other for other in setting if other is not data and _complete(other)]
    lengths = {other.cell.id: _lengths(other) for other in complete}
    counted = [other for other in complete if not np.isnan(lengths[other.cell.id]).any()]
    if not counted:
        return None
    pool = next((other for other in counted if other.cell.pool), None)
    methods = [other for other in complete if not other.cell.pool and decide_correct(other) is not None]
    single = next((other for other in methods if other.cell.decision_rule == "only"), None)
    method = single or next(iter(methods), None)
    lengthy = pool or next((other for other in counted if other.cell.decision_rule == "only"), counted[0])
    place = {name: i for i, name in enumerate(lengthy.question_ids)}
    if any(name not in place for name in data.question_ids):
        return None
    rows = np.array([place[name] for name in data.question_ids], dtype=np.int64)
    correct = None
    if method is not None:
        at = {name: i for i, name in enumerate(method.question_ids)}
        outcome = decide_correct(method)
        if outcome is not None and all(name in at for name in data.question_ids):
            correct = outcome[np.array([at[name] for name in data.question_ids], dtype=np.int64)]
    difficulty = None if pool is None else 1.0 - _right_share(pool)[rows]
    return Reference(
        lengths[lengthy.cell.id][rows],
        difficulty,
        correct,
        lengthy.cell.id,
        None if correct is None or method is None else method.cell.id,
    )


def survivorship(gaps: Bools, reference: Reference, *, rng: np.random.Generator) -> Survivorship | None:
    """The tests of `gaps` (n,) against a reference; None where nothing, or everything, is a gap.

    Permutation tests of the difference in mean length and in mean difficulty, and Fisher's exact test of the reference
    method's correctness, each two-sided: a cell that lost its easy questions is no fair sample either.
    """
    missing, n = int(gaps.sum()), len(gaps)
    if missing in (0, n):
        return None
    p_values = {"length": permutation_p(reference.length, gaps, rng=rng)}
    if reference.difficulty is not None:
        p_values["difficulty"] = permutation_p(reference.difficulty, gaps, rng=rng)
    on_all = on_survivors = None
    if reference.correct is not None:
        right = reference.correct
        p_values["correctness"] = fisher_p(int((right & gaps).sum()), missing, int(right.sum()), n)
        on_all, on_survivors = float(right.mean()), float(right[~gaps].mean())
    return Survivorship(missing, n, p_values, length_auc(reference.length, gaps), on_all, on_survivors)


def permutation_p(values: Floats, marked: Bools, *, rng: np.random.Generator, most: int = PERMUTATIONS) -> float:
    """Two-sided p of the mean of `values` over the `marked` questions, under exchangeable marks.

    Twice the smaller tail, (count + 1) / (permutations + 1) each; ties count on both sides. Permutations are drawn in
    blocks until that tail holds `ENOUGH` of them or `most` are drawn [1]: a p near 1 needs no more of them.

    [1] J. Besag and P. Clifford, Sequential Monte Carlo p-values, Biometrika 78, 1991.
    """
    size, n = int(marked.sum()), len(values)
    fewer = min(size, n - size)
    sign = 1.0 if fewer == size else -1.0
    centred = values - values.mean()
    observed = sign * float(centred[marked if fewer == size else ~marked].sum())
    slack = 1e-9 * max(float(np.abs(centred).sum()), 1.0)
    above = below = drawn = 0
    step = max(1, min(BLOCK, (1 << 20) // n))
    while drawn < most and min(above, below) < ENOUGH:
        block = min(step, most - drawn)
        # The `fewer` smallest of n random keys are a random subset.
        picked = np.argpartition(rng.random((block, n)), fewer - 1, axis=1)[:, :fewer]
        sums = sign * centred[picked].sum(axis=1)
        above += int(np.sum(sums >= observed - slack))
        below += int(np.sum(sums <= observed + slack))
        drawn += block
    return min(1.0, 2.0 * (min(above, below) + 1) / (drawn + 1))


def fisher_p(hits: int, drawn: int, right: int, n: int) -> float:
    """Fisher's exact two-sided p of `hits` right ones among `drawn` of n questions with `right` right ones in all."""
    from scipy.stats import fisher_exact  # a second to load: only whoever has gaps waits

    table = np.array([[hits, drawn - hits], [right - hits, n - drawn - right + hits]])
    return float(fisher_exact(table).pvalue)


def length_auc(length: Floats, gaps: Bools) -> float:
    """Chance that a gap is longer than a question that is none; ties count half (Mann-Whitney)."""
    inside, outside = length[gaps], np.sort(length[~gaps])
    below = np.searchsorted(outside, inside, side="left")
    upto = np.searchsorted(outside, inside, side="right")
    return float((below + upto).mean() / (2 * len(outside)))


def bounds(data: CellData) -> tuple[Fraction, Fraction]:
    """Accuracy if everything that was not graded (missing, failed, unread) were wrong, and if it were right."""
    grade = decide(data, our_answers(data)).grade
    right = int(np.sum(grade == Grade.CORRECT))
    open_ = int(np.sum((grade != Grade.CORRECT) & (grade != Grade.INCORRECT)))
    return Fraction(right, max(data.n, 1)), Fraction(right + open_, max(data.n, 1))


def just_under_power_of_two(data: CellData) -> tuple[int, int] | None:
    """The largest total of a record and the power of two that it is within 5% of, from below.

    True of about one complete cell in five: it may name the cause of a pattern that was found otherwise, and is never
    an alarm by itself.
    """
    totals = data.completion_tokens[data.present & ~data.failed & (data.completion_tokens != NONE)]
    if not len(totals) or int(totals.max()) < 128:
        return None
    largest = int(totals.max())
    power = 1 << (largest - 1).bit_length()
    return (largest, power) if largest >= 0.95 * power else None


@dataclass(frozen=True)
class Caps:
    """Calls of a cell that ran into a cap, and the longest answer that it left."""

    calls: int
    capped: int
    recorded: bool
    """Whether reasons of ending are recorded; else tokens at the declared or apparent cap stand in."""
    longest: int
    """Most completion tokens of an answer-bearing call; NONE where none is counted."""
    cap: int | None
    """The cap that answers ran into, where they did."""

    @property
    def rate(self) -> float:
        """Share of calls that ran into a cap."""
        return self.capped / max(self.calls, 1)


def caps_of(data: CellData) -> Caps:
    """The cap of a cell's answers: by reasons of ending, else the declared one, else a pile at one length."""
    columns = data.answers
    tokens, finish = columns.tokens, columns.finish
    counted = tokens != NONE
    longest = int(tokens[counted].max()) if counted.any() else NONE
    recorded = bool((finish != Finish.UNKNOWN).any())
    calls, capped = int(data.calls.sum()), int(data.capped.sum())
    cap: int | None = None
    if recorded:
        cut = counted & (finish == Finish.LENGTH)
        # A call that ended by its length though others went further met another limit than a cap on answers.
        if cut.any() and int(tokens[cut].max()) == longest:
            cap = longest
    elif data.cell.token_cap is not None:
        if longest >= data.cell.token_cap:
            cap = data.cell.token_cap
    elif pile_up_p(tokens[counted]) <= LEVEL:
        cap = longest
        capped, calls = int(np.sum(tokens == longest)), len(tokens)
    return Caps(calls, capped, recorded, longest, cap)


def pile_up_p(tokens: NDArray[np.integer]) -> float:
    """The chance of so many answers of exactly the largest length, if lengths near it were as likely as that one.

    Given the largest, the others within a window below it fall on it with chance 1 / (window + 1) at most where the
    tail does not rise. 1 where the length is not a round number (a multiple of 50 or 64), or most answers have it.
    """
    if not len(tokens):
        return 1.0
    largest = int(tokens.max())
    at = int(np.sum(tokens == largest))
    if largest < 100 or (largest % 50 and largest % 64) or at < 3 or 2 * at > len(tokens):
        return 1.0
    window = max(10, largest // 20)
    near = int(np.sum(tokens >= largest - window))
    from scipy.special import bdtrc

    return float(bdtrc(at - 2, near - 1, 1.0 / (window + 1)))


def shorter_arm(caps: dict[str, Caps]) -> list[tuple[str, str]]:
    """Cells of one setting whose answers were cut at a length that another cell's went beyond: (cut, longer)."""
    pairs = []
    for name, own in caps.items():
        if own.cap is None:
            continue
        longer = max((other for other in caps if other != name), key=lambda other: caps[other].longest, default=None)
        if longer is not None and caps[longer].longest > own.cap:
            pairs.append((name, longer))
    return pairs


def decide_correct(data: CellData) -> Bools | None:
    """(n,) outcomes that are all known and not drawn at random, or None."""
    outcomes = decide(data, our_answers(data))
    if outcomes.unknown or (outcomes.tied > 1).any():
        return None
    return np.asarray(outcomes.grade == Grade.CORRECT)


def _complete(data: CellData) -> bool:
    return data.n > 0 and bool(data.present.all() and not data.failed.any() and data.gold_usable.all())


def _lengths(data: CellData) -> Floats:
    """(n,) mean tokens of the answers of each question, NaN where they are not counted."""
    tokens = data.answers.tokens
    counts: IntArray = np.diff(data.offsets)
    lengths = np.bincount(data.owner, weights=np.maximum(tokens, 0), minlength=data.n) / np.maximum(counts, 1)
    lengths[counts == 0] = np.nan
    lengths[data.owner[tokens == NONE]] = np.nan
    return lengths


def _right_share(data: CellData) -> Floats:
    right = np.bincount(data.owner[data.answers.grade == Grade.CORRECT], minlength=data.n)
    return np.asarray(right / np.maximum(np.diff(data.offsets), 1))
