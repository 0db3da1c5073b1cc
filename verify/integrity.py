"""What a release's records say of themselves and of each other, before any published number is looked at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schemas.report import Finding, RecordRef
from verify.cells import CellData, Grid, refs_of
from verify.findings import confirmed, counted, note, refuted, warning
from verify.outcome import decide, our_answers
from verify.partial import NONE, Grade, Tally
from verify.release import Release, dataset_of

Make = Callable[..., Finding]


@dataclass(frozen=True)
class Check:
    """How a check's tallies become findings. `{n}` = failures, `{of}` = how often it was made."""

    failed: str
    passed: str | None
    """None: passing is not worth a line."""
    make: Make = refuted


CHECKS: dict[str, Check] = {
    "records": Check("{n} of {of} lines or rows unusable.", "{of} records keep to the format."),
    "failed-records": Check("{n} of {of} records failed, and count as not correct.", None, warning),
    "call-counts": Check(
        "{n} of {of} records without exactly the declared calls.",
        "{of} records hold the declared number of calls.",
    ),
    "decision-rule": Check(
        "{n} of {of} records that the declared decision rule does not fit.", "{of} records fit their decision rule."
    ),
    "positions": Check(
        "{n} of {of} records give another position in the benchmark than the question file: consistent with a counter "
        "that began again, or with another numbering.",
        None,
        warning,
    ),
    "token-totals": Check(
        "{n} of {of} token totals differ from the sum of their generations.",
        "{of} token totals are the sum of their generations.",
    ),
    "token-cap": Check(
        "{n} of {of} records above the declared token cap.",
        "{of} records stay within the declared token cap.",
    ),
    "failed-calls": Check("{n} failed model calls; they have no answer.", None, warning),
    "texts": Check(
        "{n} of {of} generations without a text, or with the hash of another.", "{of} generations have a text."
    ),
    "withheld-texts": Check("{n} texts withheld; what rests on them cannot be verified.", None, note),
    "error-texts": Check("{n} of {of} texts like a server's error, not like an answer.", None, warning),
    "repeated-samples": Check(
        "{n} of {of} samples word for word like an earlier one of the same question.", None, note
    ),
    "claimed-grades": Check(
        "{n} of {of} grades of the runner's own unlike ours.",
        "{of} grades of the runner's own equal ours.",
    ),
    "claimed-selection": Check(
        "{n} of {of} selections unlike what the select text says.",
        "{of} selections are what the select text says.",
    ),
    "claimed-answers": Check(
        "{n} of {of} answers of the runner's own unlike ours.",
        "{of} answers of the runner's own equal ours.",
        warning,
    ),
}


def check_integrity(
    release: Release, grid: Grid, tallies: Mapping[tuple[str, int], Tally], *, foreign_grading: str | None
) -> list[Finding]:
    """Findings about the records, a confirmed check in one line for all cells, a failed one in one for each cell.

    `foreign_grading`: the rule of the runner's own flags where it is not the release's policy; flags are then
    listed where they differ, and refute nothing.
    """
    combined = dict(tallies)
    for number, data in enumerate(grid.cells):
        for check, tally in _claims_of_records(release, data).items():
            key = (check, number)
            merged = Tally()
            merged.add(combined.get(key, Tally()))
            merged.add(tally)
            combined[key] = merged
    findings = [finding for check in CHECKS for finding in _from_tallies(release, check, combined, foreign_grading)]
    return findings + _from_grid(grid)


def _from_tallies(
    release: Release, check: str, tallies: Mapping[tuple[str, int], Tally], foreign_grading: str | None
) -> list[Finding]:
    how = CHECKS[check]
    findings = []
    passed = 0
    for number, cell in enumerate(release.manifest.cells):
        tally = tallies.get((check, number), Tally())
        if tally.failed == 0:
            passed += tally.checked
            continue
        make = how.make
        message = how.failed.format(n=f"{tally.failed:,}", of=f"{tally.checked:,}")
        if check == "claimed-grades":
            rule = foreign_grading or release.questions[dataset_of(cell.id)].dataset.runner_grading
            if rule is not None:
                make = warning
                message += f" The runner's rule is another than the policy: {rule}"
        findings.append(make(check, cell.id, message, records=tally.refs, total=tally.failed))
    if passed and how.passed is not None:
        findings.insert(
            0,
            confirmed(check, "release" if not findings else "other cells", how.passed.format(of=f"{passed:,}")),
        )
    return findings


def _from_grid(grid: Grid) -> list[Finding]:
    findings = []
    complete = 0
    for data, duplicates, missing, unexpected in zip(
        grid.cells, grid.duplicates, grid.missing, grid.unexpected, strict=True
    ):
        cell = data.cell.id
        if duplicates:
            ids = len({ref.question_id for ref in duplicates})
            message = (
                f"{counted(len(duplicates), 'record')} too many, of {counted(ids, 'question')} that already had one; "
                "the first of each is used."
            )
            findings.append(refuted("duplicates", cell, message, records=duplicates))
        if missing:
            message = f"{len(missing):,} of {data.n:,} expected questions have no record."
            findings.append(refuted("missing", cell, message, records=missing))
        if unexpected:
            message = f"{counted(len(unexpected), 'record')} of questions that the manifest does not expect; not used."
            findings.append(refuted("unexpected-questions", cell, message, records=unexpected))
        complete += not (duplicates or missing or unexpected)
    if complete:
        total = len(grid.cells)
        which = f"All {total} cells hold" if complete == total else f"{complete} of {total} cells hold"
        findings.insert(0, confirmed("grid", "release", f"{which} each expected question exactly once."))
    return findings


def _claims_of_records(release: Release, data: CellData) -> dict[str, Tally]:
    """The runner's final grade and answer of each record against ours."""
    outcomes = decide(data, our_answers(data))
    known = (outcomes.grade != Grade.UNKNOWN) & (outcomes.tied == 1) & data.present
    graded = known & (data.claimed_correct != NONE)
    ours = outcomes.grade == Grade.CORRECT
    wrong = graded & (data.claimed_correct.astype(np.bool_) != ours)
    answered = known & (data.claimed_answer != NONE) & ~data.failed
    other = answered & (data.claimed_answer != outcomes.winner)
    return {
        "claimed-grades": _tally(
            release,
            data,
            graded,
            wrong,
            lambda row: (
                f"the runner says {'correct' if data.claimed_correct[row] else 'incorrect'}, "
                f"we say {Grade(outcomes.grade[row]).name.lower()}."
            ),
        ),
        "claimed-answers": _tally(
            release, data, answered, other, lambda _: "the runner's final answer is not the one that we read."
        ),
    }


def _tally(
    release: Release,
    data: CellData,
    checked: NDArray[np.bool_],
    failed: NDArray[np.bool_],
    say: Callable[[int], str],
) -> Tally:
    rows: Sequence[int] = [int(row) for row in np.flatnonzero(failed)]
    refs: list[RecordRef] = refs_of(release, data, rows, [say(row) for row in rows])
    return Tally(checked=int(checked.sum()), failed=len(rows), refs=refs)
