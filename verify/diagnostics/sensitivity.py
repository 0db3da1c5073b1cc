"""What would change under another grader: generations, outcomes and verdicts, the release and its rules being equal."""

from collections.abc import Sequence

import numpy as np

from schemas.report import ClaimChange, Finding, RecordRef, Sensitivity
from verify.cells import CellData, refs_of
from verify.findings import MAX_RECORDS
from verify.outcome import decide, our_answers
from verify.partial import Grade
from verify.release import Release


def compare_gradings(
    release: Release,
    declared: Sequence[CellData],
    other: Sequence[CellData],
    claims: Sequence[Finding],
    other_claims: Sequence[Finding],
    *,
    name: str,
) -> Sensitivity:
    """The differences between two gradings of one release, cell by cell and claim by claim, in the same order."""
    records: list[RecordRef] = []
    total = generations = 0
    for ours, theirs in zip(declared, other, strict=True):
        generations += int(np.sum(ours.answers.grade != theirs.answers.grade))
        before, after = decide(ours, our_answers(ours)), decide(theirs, our_answers(theirs))
        # Under tie rule `random` a grade does not say what a tie is worth; `right` does.
        changed = np.flatnonzero((before.grade != after.grade) | (before.right != after.right))
        total += len(changed)
        notes = [f"{_word(before.grade[row])} → {_word(after.grade[row])}." for row in changed]
        records += refs_of(release, ours, changed, notes)
    return Sensitivity(
        grader=name,
        generations_total=generations,
        records_total=total,
        records=records[:MAX_RECORDS],
        claims=[
            ClaimChange(claim=mine.id, declared=mine.verdict, other=theirs_.verdict, message=theirs_.message)
            for mine, theirs_ in zip(claims, other_claims, strict=True)
            if mine.verdict != theirs_.verdict
        ],
    )


def _word(grade: int) -> str:
    return Grade(grade).name.lower()
