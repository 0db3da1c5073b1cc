"""Which other computation would print exactly the claimed value?

A match is consistent with a mistake, never proof of one: chance alone prints a given count about once in as many
tries as there are plausible counts, so the report says how each alternative was found and lets the reader judge.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from schemas.report import Diagnosis
from verify.cells import CellData, refs_of
from verify.claims import BoundClaim
from verify.estimates import Unavailable, outcomes_of
from verify.grades import LENIENCIES
from verify.outcome import Answers, Outcomes, decide, mask_unknown, our_answers
from verify.partial import NONE, Grade
from verify.printed import Printed
from verify.release import Release

MAX_ROWS = 50


@dataclass(frozen=True)
class _Alternative:
    label: str
    correct: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    """The questions in the denominator."""


def diagnose(release: Release, data: CellData, claim: BoundClaim, printed: Printed) -> list[Diagnosis]:
    """The alternatives that print as claimed, in the order tried; only for shares and counts of right answers."""
    if claim.statistic not in ("accuracy", "claimed_accuracy", "correct_count"):
        return []
    declared = outcomes_of(data, {"grades": "claimed"} if claim.statistic == "claimed_accuracy" else claim.parameters)
    if isinstance(declared, Unavailable):
        return []
    base = declared.grade == Grade.CORRECT
    matches: list[Diagnosis] = []
    seen: list[NDArray[np.bool_]] = []
    for alternative in _alternatives(data, claim):
        n = int(alternative.counted.sum())
        hits = int((alternative.correct & alternative.counted).sum())
        value = Fraction(hits) if claim.statistic == "correct_count" else Fraction(hits, n) if n else None
        if value is None or not printed.admits(value):
            continue
        changed = np.flatnonzero((alternative.correct != base) & alternative.counted)
        alias = any(np.array_equal(alternative.correct, other) for other in seen)
        seen.append(alternative.correct)
        share = "" if n == data.n else f", over {n:,} of {data.n:,} questions"
        matches.append(
            Diagnosis(
                alternative=f"{alternative.label}{share}",
                value=float(value),
                kind="alias" if alias else "matching",
                records=refs_of(
                    release,
                    data,
                    changed[:MAX_ROWS],
                    [
                        "now correct." if alternative.correct[row] else "no longer correct."
                        for row in changed[:MAX_ROWS]
                    ],
                ),
            )
        )
    return matches


def _alternatives(data: CellData, claim: BoundClaim) -> Iterator[_Alternative]:
    answers = our_answers(data)
    every = np.ones(data.n, dtype=np.bool_)
    declared = decide(data, answers)

    for rule in ("selected", "plurality", "highest-score", "last"):
        if rule != data.cell.decision_rule and not (rule == "selected" and (data.pick == NONE).all()):
            yield _of(
                f"decision rule `{rule}` in place of `{data.cell.decision_rule}`",
                decide(data, answers, rule=rule),
                every,
            )
    yield _of("the first answer of each record alone", _first(data, answers), every)
    any_right = np.zeros(data.n, dtype=np.bool_)
    any_right[answers.owner[answers.grade == Grade.CORRECT]] = True
    yield _Alternative("any answer of the record correct (pass@k)", any_right, every)

    correct = declared.grade == Grade.CORRECT
    yield _Alternative("only questions with a record", correct, data.present & ~data.failed)
    parsed = ~np.isin(declared.grade, (Grade.UNPARSED, Grade.MISSING, Grade.UNKNOWN))
    yield _Alternative("only questions with a readable answer", correct, parsed)

    for position, label in enumerate(LENIENCIES):
        lenient = (data.answers.leniency & (1 << position)) != 0
        grade = np.where(lenient, Grade.CORRECT, answers.grade).astype(np.int8)
        graded = Answers(answers.n, answers.owner, grade, answers.vote, answers.round, answers.score)
        yield _of(f"grader: {label}", decide(data, graded), every)

    if claim.statistic != "claimed_accuracy":
        flags = outcomes_of(data, {"grades": "claimed"})
        if not isinstance(flags, Unavailable):
            yield _of("the runner's own flags", flags, every)
    if data.cell.decision_rule == "plurality":
        for tie_rule in ("first", "right", "wrong"):
            if tie_rule != data.cell.tie_rule:
                yield _of(f"tie rule `{tie_rule}`", decide(data, answers, tie_rule=tie_rule), every)


def _of(label: str, outcomes: Outcomes, counted: NDArray[np.bool_]) -> _Alternative:
    return _Alternative(label, outcomes.grade == Grade.CORRECT, counted)


def _first(data: CellData, answers: Answers) -> Outcomes:
    first = answers.first(1)
    grade = np.full(data.n, Grade.MISSING, dtype=np.int8)
    grade[first.owner] = first.grade
    ones = np.ones(data.n, dtype=np.int64)
    return mask_unknown(data, Outcomes(grade, (grade == Grade.CORRECT).astype(np.int64), ones, ones * NONE))
