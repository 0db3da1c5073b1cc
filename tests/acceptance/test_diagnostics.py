"""Planted flaws that no claim reveals are noticed, each by its own alarm; intact releases raise none."""

import importlib.util
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from jsonschema import Draft202012Validator
from support import ROOT

from audit.reports.json import render_json
from audit.reports.text import render_text
from generators.flaws import LARGE_FLAWS, make_flawed
from generators.planted import Plan, plant
from schemas.catalog import build
from schemas.report import Report
from verify import verify_release

# Longer answers than a cap of 1,024 lets through, and enough questions for tests at the .01 level.
PLAN = Plan(questions=80, pool=4, candidates=4, length=8.0, token_cap=4096, suffixes=(".jsonl",))
Reports = Callable[[str | None], Report]
ALARMS = ("truncation", "engagement", "judge", "refinement", "redundancy", "compute")
SUMS, FRACTIONS = "planted-small/sums", "planted-small/fractions"


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("diagnostics") / "intact"
    plant(target, PLAN, rng=random.Random(5))
    return target


@pytest.fixture(scope="module")
def reports(intact: Path) -> Callable[[str | None], Report]:
    """The report of the intact release (None) or of a copy with one flaw; each is made once."""

    @cache
    def report(flaw: str | None) -> Report:
        if flaw is not None:
            make_flawed(intact, intact.parent / flaw, flaw)
        return verify_release(intact.parent / (flaw or "intact")).report

    return report


def alarms(report: Report) -> dict[str, str]:
    return {f.id: f.message for f in report.findings if f.check in ALARMS}


def test_an_intact_release_raises_no_alarm(reports: Reports) -> None:
    report = reports(None)
    assert alarms(report) == {}
    assert report.verdict == "confirmed"
    assert not any(item.alarm for item in report.diagnostics)


@pytest.mark.parametrize(
    ("flaw", "subjects", "words"),
    [
        ("context-exceeded", [f"truncation:{SUMS}/best_of_n", f"truncation:{FRACTIONS}/best_of_n"], "the long ones"),
        ("capped-arm", [f"truncation:{SUMS}/chain_of_thought"], "consistent with a lower cap on this arm"),
        ("oracle-stopping", [f"engagement:{SUMS}/reflexion"], "consistent with stopping by the gold answer"),
        ("never-fires", [f"engagement:{SUMS}/reflexion"], "consistent with chain_of_thought under another name"),
    ],
)
def test_a_planted_flaw_is_noticed(reports: Reports, flaw: str, subjects: list[str], words: str) -> None:
    report = reports(flaw)

    found = alarms(report)

    assert list(found) == subjects
    assert all(words in message for message in found.values())
    for finding in report.findings:
        if finding.id in found:
            assert (finding.verdict, finding.severity) == ("unverifiable", "warning")
    # The flawed release prints what follows from its files: but for missing records nothing is refuted.
    assert report.verdict == ("refuted" if flaw == "context-exceeded" else "confirmed")
    assert all(len(text) < 400 for item in report.diagnostics for text in item.statements)
    assert all(len(message) < 400 for message in found.values())


def test_every_flaw_has_its_case() -> None:
    assert set(LARGE_FLAWS) == {"context-exceeded", "capped-arm", "oracle-stopping", "never-fires"}


def test_survivors_are_easier_and_published(reports: Reports) -> None:
    report = reports("context-exceeded")
    (item,) = [d for d in report.diagnostics if d.diagnostic == "truncation" and d.subject == f"{SUMS}/best_of_n"]
    values = {(m.name, m.parameters.get("cell")): m.value for m in item.measures}
    method = f"{SUMS}/chain_of_thought"
    assert values["reference_accuracy_on_survivors", method] > values["reference_accuracy", method] + 0.05
    assert values["length_auc", None] > 0.7
    assert {test.name for test in item.tests} >= {"missing: length", "missing: difficulty", "missing: correctness"}
    for test in item.tests:
        assert test.p_adjusted == pytest.approx(min(1.0, 3 * test.p_value))
    assert any("results/r6c4" in text and "as on the survivors alone" in text for text in item.statements)


def test_the_text_report_has_a_paragraph_each(reports: Reports) -> None:
    text = render_text(reports(None))
    for title in ("Selecting against counting", "Does the method engage?", "Round by round", "In every unit of cost"):
        assert title in text
    assert "Cut short or missing" not in text


def test_the_json_report_holds_them(reports: Reports) -> None:
    text = render_json(reports(None))
    Draft202012Validator(build("report")).validate(json.loads(text))
    report = msgspec.json.decode(text.encode(), type=Report)
    assert {item.diagnostic for item in report.diagnostics} == set(ALARMS)
    assert len({(d.diagnostic, d.subject) for d in report.diagnostics}) == len(report.diagnostics)


def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_diagnostics", ROOT / "benchmarks" / "bench_diagnostics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_alarms_keep_their_level_on_a_few_seeds() -> None:
    # `make bench-diagnostics` does 1,000; here: more than 2 of 12 at a 1% level has probability .0002.
    bench = benchmark()
    for name, simulate in bench.INTACT.items():
        assert bench.rate(simulate, 12) <= 0.17, name
    for name, simulate in bench.FLAWED.items():
        if "single arm" not in name:
            assert bench.rate(simulate, 2) == 1.0, name
