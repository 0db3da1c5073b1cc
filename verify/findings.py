"""Making findings: the verdict and the severity that go together, and how many records are listed."""

from collections.abc import Sequence

from schemas.report import Diagnosis, Finding, PrintedClaim, RecordRef, Severity, Verdict

MAX_RECORDS = 1000
"""A finding lists this many records; `records_total` always counts them all."""


def counted(n: int, what: str, plural: str | None = None) -> str:
    """`n` and its noun: "1 record", "1,349 records"."""
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


def finding(
    check: str,
    subject: str,
    verdict: Verdict,
    severity: Severity,
    message: str,
    *,
    claim: PrintedClaim | None = None,
    estimate: float | None = None,
    exact: str | None = None,
    tolerance: tuple[float | None, float | None] | None = None,
    records: Sequence[RecordRef] = (),
    records_total: int | None = None,
    diagnosis: Sequence[Diagnosis] = (),
) -> Finding:
    """A finding whose id is `<check>:<subject>`."""
    return Finding(
        id=f"{check}:{subject}",
        check=check,
        verdict=verdict,
        severity=severity,
        subject=subject,
        message=message,
        claim=claim,
        estimate=estimate,
        exact=exact,
        tolerance=tolerance,
        records=list(records[:MAX_RECORDS]),
        records_total=len(records) if records_total is None else records_total,
        diagnosis=list(diagnosis),
    )


def confirmed(check: str, subject: str, message: str) -> Finding:
    """A check that the release passed."""
    return finding(check, subject, "confirmed", "error", message)


def refuted(
    check: str, subject: str, message: str, *, records: Sequence[RecordRef] = (), total: int | None = None
) -> Finding:
    """Something that the release says of itself and that its own files contradict."""
    return finding(check, subject, "refuted", "error", message, records=records, records_total=total)


def unverifiable(
    check: str, subject: str, message: str, *, records: Sequence[RecordRef] = (), total: int | None = None
) -> Finding:
    """Something that the release says and that its files can neither support nor contradict."""
    return finding(check, subject, "unverifiable", "error", message, records=records, records_total=total)


def warning(
    check: str, subject: str, message: str, *, records: Sequence[RecordRef] = (), total: int | None = None
) -> Finding:
    """Something that a reader should look at; it contradicts nothing and never decides the exit code."""
    return finding(check, subject, "unverifiable", "warning", message, records=records, records_total=total)


def note(
    check: str, subject: str, message: str, *, records: Sequence[RecordRef] = (), total: int | None = None
) -> Finding:
    """Something worth knowing; it never decides the exit code."""
    return finding(check, subject, "unverifiable", "note", message, records=records, records_total=total)
