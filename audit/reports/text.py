"""The report as text: the verdict first, then what was refuted and why, then the rest ever more briefly."""

import io
import unicodedata
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from audit.reports.style import PLAIN, Style
from schemas.report import (
    Cause,
    Diagnosis,
    Diagnostic,
    EqualCost,
    Estimate,
    Finding,
    OtherRules,
    RecordRef,
    Report,
    Sensitivity,
)

MANY_CLAIMS = 12
FIRST_RECORDS = 5
FIRST_DIAGNOSES = 4
FIRST_CHANGES = 20
LONGEST = 400
_VERDICT_STYLE = {"confirmed": "bold green", "refuted": "bold red", "unverifiable": "bold yellow"}


def render_text(report: Report, style: Style = PLAIN) -> str:
    """The report as lines of text; claims that were confirmed are listed in full only where `style` is verbose."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        force_terminal=style.colour,
        no_color=not style.colour,
        width=200,
        highlight=False,
        emoji=False,
        markup=False,
    )

    def line(text: str, look: str = "", indent: int = 0) -> None:
        console.print(Text(" " * indent + printable(text), style=look), soft_wrap=True)

    line(headline(report), _VERDICT_STYLE[report.verdict])
    line(f"Release: {report.release}")
    errors = [finding for finding in report.findings if finding.severity == "error"]
    refuted = [finding for finding in errors if finding.verdict == "refuted"]
    unverifiable = [finding for finding in errors if finding.verdict == "unverifiable"]
    others = [finding for finding in report.findings if finding.severity != "error"]
    confirmed = [finding for finding in errors if finding.verdict == "confirmed"]
    for title, look, findings in (("Refuted", "red", refuted), ("Unverifiable", "yellow", unverifiable)):
        if findings:
            line("")
            line(title, f"bold {look}")
            for finding in findings:
                line(_lead(finding), indent=2)
                for text in _details(finding):
                    line(text, "dim", indent=6)
    if report.causes:
        line("")
        line("Diagnosis: what several of these are together consistent with", "bold")
        for cause in report.causes:
            for place, text in enumerate(_cause(cause)):
                line(text, "dim" if place else "", indent=6 if place else 2)
    if others:
        line("")
        line("Worth knowing", "bold")
        for finding in others:
            line(f"{finding.severity}: {_lead(finding)}", indent=2)
            for text in _details(finding):
                line(text, "dim", indent=6)
    if confirmed:
        line("")
        line("Confirmed", "bold green")
        for finding in confirmed:
            if finding.check != "claim":
                line(f"{finding.check}: {finding.message}", indent=2)
        claims = [finding for finding in confirmed if finding.check == "claim"]
        if len(claims) <= MANY_CLAIMS or style.verbose:
            for finding in claims:
                line(f"claim {finding.subject}: {finding.message}", indent=2)
        else:
            line(
                f"claims: {len(claims)} published numbers follow at their printed precision (--verbose lists them).",
                indent=2,
            )
    if report.sensitivity is not None:
        line("")
        for text, indent in _sensitivity(report.sensitivity):
            line(text, "" if indent else "bold", indent)
    if report.estimates:
        line("")
        console.print(_estimates(report.estimates))
    if report.equal_cost:
        line("")
        line(
            f"Against sampling at equal cost ({_UNITS[report.equal_cost[0].unit]}; paired by question, in points)",
            "bold",
        )
        console.print(_equal_cost(report.equal_cost))
    if any(item.statements for item in report.diagnostics):
        line("")
        for text, indent in _diagnostics(report.diagnostics, style):
            line(text, "" if indent else "bold", indent)
    if report.other_rules is not None:
        line("")
        for text, indent in _other_rules(report.other_rules):
            line(text, "" if indent else "bold", indent)
    return "\n".join(text.rstrip() for text in stream.getvalue().splitlines()) + "\n"


def headline(report: Report) -> str:
    """The verdict in one line."""
    counts = report.counts
    claims = [finding for finding in report.findings if finding.check == "claim"]
    held = sum(finding.verdict == "confirmed" for finding in claims)
    published = f"{held} of {len(claims)} published numbers follow" if claims else "no published numbers to check"
    checks = f"{counts.refuted} refuted, {counts.unverifiable} unverifiable, {counts.confirmed} confirmed"
    return f"{report.verdict.upper()}: {published}; checks: {checks}."


def printable(text: str, longest: int = LONGEST) -> str:
    """`text` on one line, with control, format and surrogate characters escaped and its length bounded.

    Texts from a release may hold terminal escapes or characters that reorder a line; none reaches a screen.
    """
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(
        character
        if unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        else _escape(character)
        for character in cut
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _lead(finding: Finding) -> str:
    if finding.check == "claim":
        return f"claim {finding.subject}: {finding.message}"
    return f"{finding.check}, {finding.subject}: {finding.message}"


def _details(finding: Finding) -> list[str]:
    lines = []
    if finding.claim is not None and finding.claim.source:
        lines.append(f"printed in: {finding.claim.source}")
    lines += [_match(match, finding.tried) for match in finding.diagnosis[:FIRST_DIAGNOSES]]
    if (rest := len(finding.diagnosis) - FIRST_DIAGNOSES) > 0:
        lines.append(f"and with {rest} more (all in --format json)")
    if finding.tried and not finding.diagnosis:
        lines.append(f"consistent with none of {finding.tried} alternatives")
    # A note describes; one example is enough for it.
    shown = finding.records[: 1 if finding.severity == "note" else FIRST_RECORDS]
    lines += [_where(ref) for ref in shown]
    rest = finding.records_total - len(shown)
    if rest > 0:
        lines.append(f"and {rest:,} more (all in --format json)" if rest < 1000 else f"and {rest:,} more")
    return lines


def _match(match: Diagnosis, tried: int) -> str:
    if match.kind == "alias":
        return f"or, which is the same on every question, with {match.alternative}"
    luck = f"chance of an accident {_percent(match.accident)}, {tried} alternatives tried"
    if match.kind == "coincidence":
        return f"perhaps by coincidence with {match.alternative} ({luck})"
    return f"consistent with {match.alternative} ({luck})"


def _cause(cause: Cause) -> list[str]:
    """A cause in a paragraph, its aliases and rivals below it."""
    scope = f"{cause.statistic} of {cause.scope}"
    held = f" and contradicts none of the {cause.held} that follow" if cause.held else ""
    first = (
        f"{scope}: consistent with {cause.alternative}. It explains all {len(cause.claims)} claims that do not follow, "
        f"over {cause.cells} cells{held}; chance of an accident {_percent(cause.accident)}, {cause.tried} alternatives "
        "tried."
    )
    lines = [first]
    lines += [f"the same on every question of these cells: {label}" for label in cause.aliases[:FIRST_DIAGNOSES]]
    lines += [f"cannot be told apart by these values: {label}" for label in cause.rivals[:FIRST_DIAGNOSES]]
    return lines


def _percent(chance: float) -> str:
    return f"{100 * chance:.2g}%" if chance >= 0.0001 else "under .01%"


def _sensitivity(found: Sensitivity) -> list[tuple[str, int]]:
    """What another grader would change, as (text, indent)."""
    lines = [(f"Under grader {found.grader} (the verdict above is by the declared policies)", 0)]
    changed = f"{found.generations_total:,} generations and {found.records_total:,} outcomes change"
    lines.append((f"{changed}; {len(found.claims)} published numbers change verdict.", 2))
    lines += [(f"{change.claim}: {change.declared} → {change.other}: {change.message}", 2) for change in found.claims]
    lines += [(f"{ref.cell}, {_where(ref)}", 6) for ref in found.records[:FIRST_RECORDS]]
    if (rest := found.records_total - FIRST_RECORDS) > 0:
        lines.append((f"and {rest:,} more (all in --format json)" if rest < 1000 else f"and {rest:,} more", 6))
    return lines


def _other_rules(found: OtherRules) -> list[tuple[str, int]]:
    """The verdicts that another rule would change, as (text, indent)."""
    over = f"{found.numbers} published numbers and {found.comparisons} comparisons at equal cost"
    rules = f"{len(found.rules)} other rules for ties, unreadable answers, grading and incomplete cases"
    if not found.changes:
        return [(f"No verdict depends on the rules: {rules} were tried on {over}.", 0)]
    lines = [(f"What other rules would change ({rules}, tried on {over})", 0)]
    for change in found.changes[:FIRST_CHANGES]:
        given = f"{change.low:.4g}" if change.low == change.high else f"{change.low:.4g} to {change.high:.4g}"
        lines.append((f"{change.subject}: {change.declared} → {change.other} under {change.rule} ({given})", 2))
    if (rest := len(found.changes) - FIRST_CHANGES) > 0:
        lines.append((f"and {rest:,} more (all in --format json)", 2))
    return lines


_DIAGNOSTICS = {
    "truncation": "Cut short or missing",
    "judge": "Selecting against counting, on the same candidates",
    "engagement": "Does the method engage?",
    "refinement": "Round by round",
    "redundancy": "How different the samples are",
    "compute": "In every unit of cost",
}
FIRST_SUBJECTS = 6


def _diagnostics(found: Sequence[Diagnostic], style: Style) -> list[tuple[str, int]]:
    """A paragraph a question, of the cells where there is something to say, as (text, indent)."""
    lines: list[tuple[str, int]] = []
    for kind, title in _DIAGNOSTICS.items():
        speaking = [item for item in found if item.diagnostic == kind and item.statements]
        if not speaking:
            continue
        lines.append((title, 0))
        # Alarms first: what they rest on must not be the part that is cut.
        ordered = sorted(speaking, key=lambda item: not item.alarm)
        shown = ordered if style.verbose else ordered[:FIRST_SUBJECTS]
        lines += [(f"{item.subject}: {text}", 2) for item in shown for text in item.statements]
        if rest := len(ordered) - len(shown):
            lines.append((f"and {rest:,} more cells (--verbose lists them; all numbers in --format json)", 2))
    return lines


def _where(ref: RecordRef) -> str:
    parts = [
        ref.question_id and f"question {ref.question_id}",
        ref.file and ref.file + (f":{ref.line}" if ref.line else ""),
    ]
    place = ", ".join(part for part in parts if part) or ref.cell or ""
    return f"{place}: {ref.note}" if ref.note else place


_UNITS = {
    "completion": "tokens generated",
    "total": "tokens read and generated",
    "latency": "tokens on the longest chain of calls",
    "money": "money",
    "flops": "FLOPs",
}


def _equal_cost(rows: Sequence[EqualCost]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("cell", no_wrap=True)
    for heading in ("cost", "method", "sampling", "diff.", "95% interval", "p", "Holm"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict")
    for row in rows:
        interval = "none" if row.ci_low is None or row.ci_high is None else f"{_pp(row.ci_low)} to {_pp(row.ci_high)}"
        few = " (few differences)" if row.few_differences else ""
        table.add_row(
            Text(printable(row.cell)),
            _amount(row.cost),
            f"{100 * row.accuracy:.1f}",
            f"{100 * row.baseline:.1f}{'*' if row.clamped else ''}",
            _pp(row.difference),
            interval,
            _p(row.p_value),
            "" if row.p_holm is None else _p(row.p_holm),
            printable(row.verdict) + few,
        )
    if any(row.clamped for row in rows):
        table.caption = "* costs less than one sample, which stands in"
        table.caption_justify = "left"
    return table


def _pp(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", "−")


def _p(value: float) -> str:
    return "<.001" if value < 0.0005 else f"{value:.3f}".removeprefix("0")


def _amount(cost: float) -> str:
    return f"{cost:,.1f}" if 0.1 <= cost < 1e7 else f"{cost:.3g}"


_COLUMNS = (
    ("accuracy", "accuracy", 100.0),
    ("claimed_accuracy", "by runner", 100.0),
    ("majority_at_k", "majority", 100.0),
    ("judge_minus_majority", "judge-maj.", 100.0),
    ("mean_over_samples", "sample", 100.0),
    ("pass_at_k", "pass@k", 100.0),
    ("unparsed_rate", "unparsed", 100.0),
    ("mean_completion_tokens", "tokens", 1.0),
)
"""Statistic, heading, factor: shares are shown in percent."""


def _estimates(estimates: Sequence[Estimate]) -> Table:
    by_cell: dict[str, dict[str, Estimate]] = {}
    for estimate in estimates:
        by_cell.setdefault(estimate.cell, {})[estimate.statistic] = estimate
    shown = [column for column in _COLUMNS if any(column[0] in row for row in by_cell.values())]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("cell", no_wrap=True)
    table.add_column("n", justify="right")
    for _, heading, _ in shown:
        table.add_column(heading, justify="right")
    for cell, row in by_cell.items():
        # Of the statistics over questions, not over samples: how many questions are known.
        n = next((row[name].n for name in ("accuracy", "mean_completion_tokens") if name in row), 0)
        values = [f"{row[name].value * scale:,.1f}" if name in row else "" for name, _, scale in shown]
        table.add_row(Text(printable(cell)), f"{n:,}", *values)
    return table
