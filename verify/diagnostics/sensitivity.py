"""What would change under another grader or another rule: outcomes and verdicts, the generations being equal.

`other_rules` tries, on the arrays that are graded already, the other tie rules, what unreadable answers count as, the
lenient graders and the runner's own flags, and for comparisons complete cases; only what changes a verdict is listed.
`compare_gradings` sets a second grading, named by the reader, beside the declared one.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from schemas.manifest import TieRule
from schemas.report import ClaimChange, Finding, OtherRules, RecordRef, RuleChange, Sensitivity
from verify.cells import CellData, refs_of
from verify.diagnostics.alternatives import equal_cost, shares
from verify.diagnostics.alternatives.reading import Reading, Step
from verify.diagnostics.alternatives.recounts import Recounts
from verify.diagnostics.ladder import Checked, reader_of
from verify.diagnostics.rounding import printed_values
from verify.findings import MAX_RECORDS
from verify.outcome import decide, our_answers
from verify.partial import Grade
from verify.release import Release, setting_of
from verify.settings import MethodComparison, Study

STATISTICS = (*shares.STATISTICS, *equal_cost.STATISTICS, *equal_cost.CURVE_STATISTICS)
FIELDS = ("ties", "unparsed", "grades", "rows")
BRACKETS: tuple[TieRule, ...] = ("right", "wrong")
"""Of a curve only these two tie rules are tried: they bracket every other."""
RESAMPLES = 200
"""Enough for a standard error, which is computed and not drawn; no interval is read off these."""
NORMAL = 1.959964
"""Quantile of the normal distribution for a 95% interval."""


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


def other_rules(study: Study, recounts: Recounts, checked: Sequence[Checked]) -> OtherRules:
    """The published numbers and the comparisons at equal cost whose verdict another rule would change."""
    tried: dict[str, None] = {}
    changes: list[RuleChange] = []
    numbers = 0
    comparisons = list(_comparisons(study))
    for cell, rule, before, after, difference in comparisons:
        tried[rule] = None
        if before != after:
            subject = f"equal-cost:{cell}"
            changes.append(
                RuleChange(subject=subject, rule=rule, declared=before, other=after, low=difference, high=difference)
            )
    for item in checked:
        if item.claim.statistic not in STATISTICS or item.verdict == "unverifiable" or item.printed.step is None:
            continue
        numbers += 1
        for step, reading in _readings(study, recounts, item):
            tried[step.label] = None
            low, high = printed_values(reading.low, reading.high, item.printed.step, item.claim.rounding)
            holds = low <= round(item.printed.value / item.printed.step) <= high
            if holds != (item.verdict == "confirmed"):
                changes.append(
                    RuleChange(
                        subject=item.id,
                        rule=step.label,
                        declared=item.verdict,
                        other="confirmed" if holds else "refuted",
                        low=float(reading.low),
                        high=float(reading.high),
                    )
                )
    return OtherRules(
        rules=list(tried), numbers=numbers, comparisons=len({cell for cell, *_ in comparisons}), changes=changes
    )


def _readings(study: Study, recounts: Recounts, item: Checked) -> Iterator[tuple[Step, Reading]]:
    reader = reader_of(study, recounts, item.claim)
    if reader is None:
        return
    on_curve = item.claim.statistic not in shares.STATISTICS
    declared = reader.read(())
    for step in reader.steps():
        # A share of other questions is another number: complete cases are asked of comparisons alone.
        if step.field not in FIELDS or (step.field == "rows" and (step.value != "complete" or not on_curve)):
            continue
        if on_curve and step.field == "ties" and step.value not in BRACKETS:
            continue
        reading = reader.read((step,))
        if reading is not None and (declared is None or reading.same != declared.same):
            yield step, reading


def _comparisons(study: Study) -> Iterator[tuple[str, str, str, str, float]]:
    """(cell, rule, verdict as declared, verdict under the rule, difference), by the normal interval of each.

    The report's own verdicts rest on 10,000 resamples; here both sides use the standard error alone, so that a change
    is the rule's and not the interval's.
    """
    quick = study.with_resamples(RESAMPLES)
    for cell in quick.methods():
        declared = quick.compare(cell)
        if isinstance(declared, str):
            continue
        pool = quick.pool_of(setting_of(cell))
        for ties in BRACKETS:
            if pool is not None and ties != pool.cell.tie_rule:
                rule = f"tie rule `{ties}` in the sampling curve"
                yield from _compared(cell, rule, declared, quick.compare(cell, ties))
        complete = quick.compare(cell, None, "complete")
        yield from _compared(cell, "only questions that every method of the setting answered", declared, complete)


def _compared(
    cell: str, rule: str, declared: MethodComparison, other: MethodComparison | str
) -> Iterator[tuple[str, str, str, str, float]]:
    if isinstance(other, MethodComparison):
        yield cell, rule, _reliably(declared), _reliably(other), other.result.estimate


def _reliably(found: MethodComparison) -> str:
    reach = NORMAL * found.result.error
    if abs(found.result.estimate) <= reach:
        return "no reliable difference"
    return "better" if found.result.estimate > 0 else "worse"


def _word(grade: int) -> str:
    return Grade(grade).name.lower()
