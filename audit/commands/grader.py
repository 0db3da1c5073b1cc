"""`audit grader`: try a grader, ours or anybody's, before trusting numbers that it produced."""

import json
from pathlib import Path

import click
import msgspec

from audit.outcome import Outcome
from schemas.errors import UsageError
from verify.grading import POLICIES
from verify.grading.trial import Counterexample, PropertyResult, TrialReport, run_trial

_SHOWN = 200
_GOLD_FIELDS = ("gold", "answer", "final_answer", "target")


@click.group()
def grader() -> None:
    """Graders: ours, and trials of anybody's."""


@grader.command("test")
@click.argument("target")
@click.option("--policy", type=click.Choice(sorted(POLICIES)), default="math", show_default=True)
@click.option("--golds", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="JSONL or one gold a line.")
@click.option("--max-examples", type=click.IntRange(1), default=30, show_default=True, help="Probes per property.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything that is random.")
@click.option("--call-seconds", type=click.FloatRange(0.01), default=1.0, show_default=True, help="Limit of one call.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def test_command(
    target: str, policy: str, golds: Path | None, max_examples: int, seed: int, call_seconds: float, form: str
) -> Outcome:
    """Try the grader TARGET, written package.module:function.

    The function takes (text, gold) and returns a bool, "correct", or an object with a verdict. It runs in a
    process of its own. Exit code 1 where a property fails; each failure shows the shortest response that was
    found.
    """
    report = run_trial(
        target,
        policy=policy,
        golds=None if golds is None else read_golds(golds),
        max_examples=max_examples,
        start=seed,
        call_s=call_seconds,
    )
    text = _as_json(report) if form == "json" else _as_text(report)
    return Outcome(text, 1 if report.failures else 0)


def read_golds(path: Path) -> list[str]:
    """Golds of a file: JSONL objects with a `gold`, `answer`, `final_answer` or `target`, or plain lines.

    Raises `UsageError` with the line that has none. Where GSM8K's `####` is in an answer, the gold is what
    follows it.
    """
    golds: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        gold = _gold_of(line) if line.lstrip().startswith("{") and path.suffix != ".txt" else line
        if gold is None:
            raise UsageError(f"{path}, line {number}: expected a JSON object with one of {', '.join(_GOLD_FIELDS)}")
        golds.append(gold.rpartition("####")[2].strip())
    if not golds:
        raise UsageError(f"{path} has no golds")
    return golds


def _gold_of(line: str) -> str | None:
    try:
        fields = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.MsgspecError:
        return None
    value = next((fields[name] for name in _GOLD_FIELDS if name in fields), None)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return None if value is None else str(value)


def _as_json(report: TrialReport) -> str:
    return json.dumps(msgspec.to_builtins(report), indent=2, ensure_ascii=True) + "\n"


def _as_text(report: TrialReport) -> str:
    width = max(len(result.property) for result in report.results)
    lines = [f"{report.target} under the policy {report.policy}, seed {report.seed}", ""]
    lines += [_line(result, width) for result in report.results]
    count = len(report.failures)
    lines += [
        "",
        "every property holds" if not count else f"{count} of {len(report.results)} properties fail",
        "",
    ]
    return "\n".join(lines)


def _line(result: PropertyResult, width: int) -> str:
    mark = "FAIL" if result.failed else "ok"
    slowest = f"slowest {result.slowest_s * 1000:7.1f} ms"
    line = f"{mark:4}  {result.property:{width}}  {result.passed:5d} passed  {slowest}"
    return line if result.counterexample is None else "\n".join([line, *_shown(result.counterexample)])


def _shown(found: Counterexample) -> list[str]:
    return [
        f"        response  {_clipped(found.response)}",
        f"        gold      {_clipped(found.gold)}",
        f"        expected  {found.expected}: {found.why}",
        f"        got       {_clipped(found.got)}",
    ]


def _clipped(text: str) -> str:
    """A string on one line of ASCII, so that no escape sequence of a response reaches a terminal."""
    shown = ascii(text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}… ({len(text):,} characters)"
