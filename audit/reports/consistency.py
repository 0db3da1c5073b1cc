"""The report of `audit claims`: text (worst first, what is consistent counted) and JSON."""

import io
import json
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from audit.reports.style import PLAIN, Style
from audit.reports.text import printable
from schemas.consistency import Consistency, ConsistencyReport, Standing
from schemas.errors import UsageError

TITLES: dict[Standing, tuple[str, str]] = {
    "impossible": ("Impossible: no data can print so", "bold red"),
    "contradiction": ("Contradiction: two places cannot both be right", "bold red"),
    "conditional": ("Conditional: fails if what is named holds", "bold yellow"),
    "undecided": ("Could not be decided", "bold yellow"),
}
_VERDICTS = {"refuted": "bold red", "open": "bold yellow", "consistent": "bold green"}
LONGEST = 600
FIRST_STEPS = 8
FIRST_NOTES = 12
FIRST_RESCUES = 3


def headline(report: ConsistencyReport) -> str:
    """The verdict in one line."""
    counts = report.counts
    return (
        f"{report.verdict.upper()}: {counts.impossible} impossible, {counts.contradiction} contradictory, "
        f"{counts.conditional} conditional, {counts.undecided} undecided, {counts.consistent} consistent."
    )


def render_text(report: ConsistencyReport, style: Style = PLAIN) -> str:
    """The report as lines of text."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        force_terminal=style.colour,
        no_color=not style.colour,
        width=132,
        highlight=False,
        emoji=False,
        markup=False,
    )

    def line(text: str, look: str = "", indent: int = 0) -> None:
        console.print(Text(" " * indent + printable(text, LONGEST), style=look), soft_wrap=True)

    line(headline(report), _VERDICTS[report.verdict])
    line(f"Source: {report.source}")
    for standing, (title, look) in TITLES.items():
        findings = [finding for finding in report.findings if finding.standing == standing]
        if findings:
            line("")
            line(title, look)
        for finding in findings:
            line(f"{finding.check} {finding.subject}: {finding.message}", indent=2)
            for text in _details(finding, every=style.verbose):
                line(text, "dim", indent=6)
    consistent = [finding for finding in report.findings if finding.standing == "consistent"]
    if consistent:
        line("")
        line("Consistent", "bold green")
        if style.verbose:
            for finding in consistent:
                line(f"{finding.check} {finding.subject}: {finding.message}", indent=2)
                for note in finding.notes:
                    line(note, "dim", indent=6)
        else:
            for text in _summary(consistent):
                line(text, indent=2)
    return stream.getvalue()


def _details(finding: Consistency, *, every: bool) -> list[str]:
    lines = []
    if finding.condition:
        lines.append(f"on the condition: {finding.condition}")
    sources = list(dict.fromkeys(place.source for place in finding.places if place.source))
    if sources:
        lines.append(f"printed in: {' | '.join(sources[:6])}{' and more' if len(sources) > 6 else ''}")
    for rescue in finding.rescues[: None if every else FIRST_RESCUES]:
        how = "would be right within" if rescue.kind == "within" else "would be right for these rows instead"
        values = f" ({' / '.join(rescue.values)})" if rescue.values else ""
        lines.append(f"{how}: {rescue.label}{values}")
    if len(finding.rescues) > FIRST_RESCUES and not every:
        lines.append(f"and for {len(finding.rescues) - FIRST_RESCUES} more choices of rows (--verbose lists them)")
    if finding.tried and not finding.rescues:
        lines.append(f"no choice of rows makes it right ({finding.tried} tried)")
    if finding.power is not None and finding.standing != "consistent":
        lines.append(f"an arbitrary value of this precision would pass with chance {100 * finding.power:.0f}%")
    lines += finding.notes[: None if every else FIRST_NOTES]
    if every:
        lines += [f"step {number}: {step}" for number, step in enumerate(finding.steps, start=1)]
    return lines


def _summary(findings: Sequence[Consistency]) -> list[str]:
    """What is consistent, counted by check and table; sentences and 2×2 tables by name."""
    by_check: Counter[str] = Counter()
    rounded: Counter[str] = Counter()
    powers: dict[str, list[float]] = {}
    lines = []
    for finding in findings:
        table = finding.subject.split("/r", 1)[0] if "/r" in finding.subject else ""
        key = f"{finding.check}{f' in {table}' if table else ''}"
        by_check[key] += 1
        rounded[key] += finding.check == "formula" and bool(finding.notes)
        if finding.check in ("paired", "question-set"):
            lines.append(f"{finding.check} {finding.subject}: {finding.message}")
            lines += [f"    {note}" for note in finding.notes[:FIRST_NOTES]]
        if finding.power is not None:
            powers.setdefault(key, []).append(finding.power)
    head = []
    for key, count in by_check.items():
        if key.split()[0] not in ("paired", "question-set"):
            head.append(f"{key}: {count}")
            if chances := powers.get(key):
                mean = 100 * sum(chances) / len(chances)
                head.append(f"    an arbitrary value in place of these would pass with chance {mean:.0f}% on average")
            if rounded[key]:
                head.append(
                    f"    {rounded[key]} of these would not follow from the printed digits alone; rounding explains it"
                )
    return head + lines


def render_json(report: ConsistencyReport, style: Style = PLAIN) -> str:
    """The report as indented JSON; `schemas/consistency.schema.json` describes it."""
    del style
    # ASCII alone, as in the report of `audit verify`.
    return json.dumps(msgspec.to_builtins(report), indent=2, ensure_ascii=True) + "\n"


def render_explanation(report: ConsistencyReport, id_: str) -> str:
    """Every check of one subject, step by step. Raises UsageError where the file has no such subject."""
    found = [
        finding
        for finding in report.findings
        if id_ in (finding.id, finding.subject, finding.subject.split("#")[0], finding.subject.split("/r")[0])
    ]
    if not found:
        known = list(dict.fromkeys(finding.subject for finding in report.findings))
        near = [subject for subject in known if id_.lower() in subject.lower()][:5] or known[:5]
        raise UsageError(f"Nothing is called {id_!r}; there are {', '.join(near) or 'no checks'} …")
    lines = []
    for finding in found:
        lines += [f"{finding.check} {finding.subject}: {finding.standing}", f"  {finding.message}"]
        lines += [f"  {number}. {step}" for number, step in enumerate(finding.steps, start=1)]
        lines += [f"  {text}" for text in _details(finding, every=False)]
        lines.append("")
    return "\n".join(printable(line, LONGEST) for line in lines)


RENDERERS: dict[str, Callable[[ConsistencyReport, Style], str]] = {"text": render_text, "json": render_json}
