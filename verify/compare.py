"""Claims against estimates, at the printed precision."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from msgspec import structs

from schemas.report import Cause, Finding, PrintedClaim, Verdict
from verify.claims import BoundClaim
from verify.diagnostics.alternatives.recounts import Recounts
from verify.diagnostics.ladder import Checked, diagnose
from verify.estimates import STATISTICS, EstimateUnit, Unavailable, Value, estimate, wrong_parameter
from verify.findings import finding
from verify.inferences import INFERENCES, Inference
from verify.printed import Printed, parse_printed
from verify.release import Release
from verify.settings import Study

PERCENT = Fraction(1, 100)


@dataclass(frozen=True)
class Compared:
    """A claim's finding, and what explains it further needs; nothing where the claim could not be computed."""

    finding: Finding
    checked: Checked | None = None
    ours: Value | None = None


def compare(study: Study, claims: Sequence[BoundClaim]) -> list[Compared]:
    """One finding a claim, in the order of the claims file."""
    return [_check(study, claim) for claim in claims]


def explain(
    release: Release, study: Study, recounts: Recounts, compared: Sequence[Compared]
) -> tuple[list[Finding], list[Cause]]:
    """The findings with what would print the claims that do not follow, and the causes that several share."""
    laddered, causes = diagnose(release, study, recounts, [item.checked for item in compared if item.checked])
    findings = []
    for item in compared:
        found = laddered.get(item.finding.id)
        if found is None:
            findings.append(item.finding)
            continue
        records = next((match.records for match in found.diagnoses if match.records), [])
        findings.append(
            structs.replace(
                item.finding,
                diagnosis=found.diagnoses,
                tried=found.tried,
                records=records,
                records_total=len(records),
            )
        )
    return findings, causes


def _check(study: Study, claim: BoundClaim) -> Compared:
    if claim.cell not in study.cells:
        return _open(claim, f"the release declares no cell {claim.cell!r}{_meant(claim.cell, study.cells)}")
    described = STATISTICS.get(claim.statistic) or INFERENCES.get(claim.statistic)
    if described is None:
        known = {**STATISTICS, **INFERENCES}
        return _open(claim, f"there is no statistic {claim.statistic!r}{_meant(claim.statistic, known)}")
    if problem := wrong_parameter(claim.statistic, described.parameters, claim.parameters):
        return _open(claim, problem)
    unit = described.unit
    try:
        printed = _in_natural_units(parse_printed(claim.text, claim.rounding), claim, unit)
    except ValueError as error:
        return _open(claim, str(error))
    data = study.cells[claim.cell]
    if isinstance(described, Inference):
        ours: Value | Unavailable = described.compute(study, claim.cell, claim.parameters)
    else:
        ours = estimate(data, claim.statistic, claim.parameters)
    if isinstance(ours, Unavailable):
        return _open(claim, ours.reason.rstrip("."))
    verdict, message = _judge(claim, printed, ours, unit)
    found = finding(
        "claim",
        claim.id,
        verdict,
        "error",
        message,
        claim=PrintedClaim(text=claim.text, source=claim.source),
        estimate=float(ours.value),
        exact=f"{ours.value.numerator}/{ours.value.denominator}" if ours.exact is None else repr(ours.exact),
        tolerance=(
            None if printed.low is None else float(printed.low),
            None if printed.high is None else float(printed.high),
        ),
    )
    lacking = verdict == "unverifiable" and ours.n != ours.total
    return Compared(found, Checked(found.id, claim, printed, verdict, lacking), ours)


def _judge(claim: BoundClaim, printed: Printed, ours: Value, unit: EstimateUnit) -> tuple[Verdict, str]:
    name = f"{claim.cell} {claim.statistic}{_listed(claim.parameters)}"
    shown = show(ours, unit)
    if ours.tied:
        shown += f" ({ours.tied} tied vote{'s' * (ours.tied > 1)})"
    lead = f"{name}: printed {claim.text}, ours {shown}"
    unknown = ours.total - ours.n
    if claim.statistic in INFERENCES:
        return _judge_draws(printed, ours, unit, lead)
    if unknown and not STATISTICS[claim.statistic].bounded:
        return (
            "unverifiable",
            f"{lead} over the {ours.n:,} questions that are counted; {unknown:,} of {ours.total:,} are not.",
        )
    if printed.meets(ours.low, ours.high):
        if ours.low == ours.high or not unknown:
            ties = (
                "" if ours.low == ours.high else f" (ties allow {_plain(ours.low, unit)} to {_plain(ours.high, unit)})"
            )
            return "confirmed", f"{lead}{ties}."
        alone = " The printed value is that of the known ones alone." if printed.admits(ours.value) else ""
        return "unverifiable", (
            f"{lead} over the {ours.n:,} that are known; the {unknown:,} of {ours.total:,} that are not known allow "
            f"{_plain(ours.low, unit)} to {_plain(ours.high, unit)}.{alone}"
        )
    return "refuted", f"{lead}{_distance(printed, ours, unit)}."


def _judge_draws(printed: Printed, ours: Value, unit: EstimateUnit, lead: str) -> tuple[Verdict, str]:
    """The verdict on a statistic that rests on random draws: within what honest draws would print, or not."""
    if ours.n != ours.total:
        return "unverifiable", f"{lead} over the {ours.n:,} of {ours.total:,} questions that are known in both."
    allowed = f"{_plain(ours.low, unit)} to {_plain(ours.high, unit)}"
    scope = f"; {ours.chance} allow {allowed}" if ours.chance else ""
    if ours.exact is not None and ours.exact != float(ours.value):
        scope += f"; {ours.exactly} {_decimal(ours.exact)}"
    if printed.meets(ours.low, ours.high):
        return "confirmed", f"{lead}{scope}."
    return "refuted", f"{lead}{scope}."


def _distance(printed: Printed, ours: Value, unit: EstimateUnit) -> str:
    """How far off a refuted claim is, in questions where the statistic is a share of them."""
    if unit == "tokens":
        return ""
    if ours.n != ours.total or ours.low != ours.high:
        return f"; what is not known allows {_plain(ours.low, unit)} to {_plain(ours.high, unit)}"
    scale = 1 if unit == "count" else ours.total
    hits = ours.value * scale
    if hits.denominator != 1 or printed.low is None or printed.high is None:
        return ""
    low = math.floor(printed.low * scale) + 1 if printed.low_open else math.ceil(printed.low * scale)
    high = math.ceil(printed.high * scale) - 1 if printed.high_open else math.floor(printed.high * scale)
    if low > high:
        below, above = high, low
        return (
            f"; no number of {scale:,} prints so: {below:,} gives {_plain(Fraction(below, scale), unit)} and "
            f"{above:,} gives {_plain(Fraction(above, scale), unit)}"
        )
    needed = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    off = low - hits if hits < low else hits - high
    direction = "more" if hits < low else "fewer"
    return f"; the printed value needs {needed}, {off} {direction} than ours"


def show(ours: Value, unit: EstimateUnit) -> str:
    """A value as people read it, with its exact ratio where that is over the questions."""
    plain = _plain(ours.value, unit)
    hits = ours.value * ours.n
    if unit == "fraction" and hits.denominator == 1 and not ours.chance and ours.exact is None:
        return f"{hits.numerator:,} of {ours.n:,} = {plain}"
    return plain


def _decimal(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if value >= 0.0005 else "<.001"


def _plain(value: Fraction, unit: EstimateUnit) -> str:
    if unit == "fraction":
        return f"{float(value * 100):.4f}".rstrip("0").rstrip(".") + "%"
    if value.denominator == 1:
        return f"{value.numerator:,}"
    return f"{float(value):,.3f}"


def _in_natural_units(printed: Printed, claim: BoundClaim, unit: EstimateUnit) -> Printed:
    """The interval in the estimate's unit. Raises ValueError where the claim's unit does not fit the statistic."""
    stated = claim.unit or ("percent" if printed.percent else unit)
    if unit == "fraction" and stated in ("percent", "points"):
        return printed.scaled(PERCENT)
    if stated != unit:
        raise ValueError(f"{claim.statistic} is a {unit}, and cannot be claimed in {stated}")
    if printed.percent:
        raise ValueError(f"{claim.text!r} has a percent sign, but its unit is given as {stated}")
    return printed


def _open(claim: BoundClaim, reason: str) -> Compared:
    found = finding(
        "claim",
        claim.id,
        "unverifiable",
        "error",
        f"{claim.place}: {reason}.",
        claim=PrintedClaim(text=claim.text, source=claim.source),
    )
    return Compared(found)


def _meant(name: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _listed(parameters: Mapping[str, object]) -> str:
    return f" ({', '.join(f'{key} = {value}' for key, value in parameters.items())})" if parameters else ""
