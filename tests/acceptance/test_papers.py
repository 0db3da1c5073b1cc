"""Both papers from their claims files alone: each verdict that must be found, and nothing beside them."""

import json
import tomllib
from pathlib import Path

import pytest
from support import ROOT, run_audit

from schemas.consistency import Consistency, ConsistencyReport
from schemas.reading import decode
from verify.consistency import check_file

CLAIMS = ROOT / "fixtures" / "claims"
PAPERS = ("sample_more", "refining")


@pytest.fixture(scope="module")
def reports() -> dict[str, ConsistencyReport]:
    return {name: check_file(CLAIMS / f"{name}.toml") for name in PAPERS}


def _expected(name: str) -> dict[str, dict[str, list[object]]]:
    return json.loads((CLAIMS / f"{name}.expected.json").read_text(encoding="utf-8"))


def _by_id(report: ConsistencyReport) -> dict[str, Consistency]:
    return {finding.id: finding for finding in report.findings}


@pytest.mark.parametrize("name", PAPERS)
def test_what_must_be_found_and_nothing_else(name: str, reports: dict[str, ConsistencyReport]) -> None:
    expected = _expected(name)["standing"]
    found = {f.id: f.standing for f in reports[name].findings if f.standing != "consistent"}
    assert found == {id_: standing for id_, (standing, _) in expected.items()}


@pytest.mark.parametrize("name", PAPERS)
def test_rescues_and_figures(name: str, reports: dict[str, ConsistencyReport]) -> None:
    expected, findings = _expected(name), _by_id(reports[name])
    for id_, (_, scopes) in expected["standing"].items():
        assert isinstance(scopes, list)
        assert set(scopes) <= {rescue.scope for rescue in findings[id_].rescues}, id_
        if not scopes:
            assert findings[id_].rescues == [], id_
    for id_, figure in expected["gives"].items():
        assert str(figure) in findings[id_].message, id_


def test_the_stale_scopes_are_the_four_settings_without_7b(reports: dict[str, ConsistencyReport]) -> None:
    findings = _by_id(reports["sample_more"])
    values = {
        id_: [rescue.values for rescue in findings[f"statement:{id_}"].rescues if rescue.scope == "without-7b"]
        for id_ in ("comparisons-28", "worse-6", "self-inspection-12", "clustered-p-06", "generations-19200")
    }
    assert values == {
        "comparisons-28": [["28"]],
        "worse-6": [["6"]],
        "self-inspection-12": [["12", "12"]],
        "clustered-p-06": [["0.0625"]],
        "generations-19200": [["19200"]],
    }


def test_all_36_differences_are_feasible_where_naive_subtraction_flags_nine(
    reports: dict[str, ConsistencyReport],
) -> None:
    deltas = [f for f in reports["sample_more"].findings if f.check == "formula" and f.subject.startswith("table2/")]
    assert len(deltas) == 36
    assert all(finding.standing == "consistent" for finding in deltas)
    assert sum(bool(finding.notes) for finding in deltas) == 9


def test_judging_against_counting_in_whole_questions(reports: dict[str, ConsistencyReport]) -> None:
    findings = _by_id(reports["sample_more"])
    for id_, pair in _expected("sample_more")["discordant"].items():
        assert findings[f"paired:{id_}"].message.endswith(f": {pair}."), id_
    (note,) = findings["paired:judge-3b-gsm8k"].notes
    assert "0.0574" in note
    assert "not significant" in note


def test_the_majority_figure_is_the_one_that_a4_prints(reports: dict[str, ConsistencyReport]) -> None:
    findings = _by_id(reports["sample_more"])
    assert findings["statement:a4-best-of-n"].standing == "contradiction"
    assert findings["statement:a4-best-of-n-is-majority"].standing == "consistent"


def test_table_4_of_refining(reports: dict[str, ConsistencyReport]) -> None:
    derived = [f for f in reports["refining"].findings if f.check == "formula" and f.subject.startswith("table4/")]
    assert len(derived) == 100
    assert all(finding.standing == "consistent" for finding in derived)
    assert _by_id(reports["refining"])["statement:wins-ties-losses"].standing == "consistent"


def _table(name: str, id_: str) -> list[dict[str, str]]:
    document = tomllib.loads((CLAIMS / f"{name}.toml").read_text(encoding="utf-8"))
    (table,) = [table for table in document["tables"] if table["id"] == id_]
    return [dict(zip([column["name"] for column in table["columns"]], row, strict=True)) for row in table["rows"]]


def test_a_second_derivation_of_sample_more_without_this_code() -> None:
    rows = _table("sample_more", "table2")
    small = [row for row in rows if row["Model"] != "7B"]
    inspecting = ("Self-Refine", "Reflexion (forced)", "Best-of-N")
    iterative = ("Self-Refine", "Reflexion (forced)", "Debate")

    def negative(some: list[dict[str, str]]) -> tuple[int, int]:
        return sum(row["delta"].startswith("-") for row in some), len(some)

    def worse(some: list[dict[str, str]]) -> int:
        return sum(row["p_holm"] < "0.05" or row["p_holm"].startswith("<") for row in some)

    assert negative(rows) == (30, 36)
    assert negative([row for row in rows if row["Method"] not in inspecting]) == (12, 18)  # printed: 14 of 20
    assert negative([row for row in rows if row["Method"] not in iterative]) == (14, 20)
    assert negative([row for row in rows if row["Method"] in inspecting]) == (18, 18)
    assert negative([row for row in small if row["Method"] in inspecting]) == (12, 12)
    assert (len(small), worse(rows), worse(small)) == (28, 10, 6)
    answers = {"Best-of-N": 8, "Debate": 3}
    stored = [sum(answers.get(row["Method"], 1) for row in some) for some in (rows, small)]
    assert [150 * (count + 16 * settings) for count, settings in zip(stored, (6, 4), strict=True)] == [27_300, 19_200]
    naive = [round(float(row["acc"]) - float(row["sc_acc"]), 1) != float(row["delta"]) for row in rows]
    assert sum(naive) == 9
    gaps = sorted(-float(row["diff"]) for row in _table("sample_more", "judging"))
    assert (gaps[0], gaps[-1]) == (1.3, 17.3)
    below = sorted(-float(row["diff"]) for row in _table("sample_more", "judging") if row["Model"] != "7B")
    assert (below[0], below[-1]) == (5.3, 17.3)  # printed: 8 to 17


def test_a_second_derivation_of_refining_without_this_code() -> None:
    records = [[int(part) for part in row["wtl"].split("/")] for row in _table("refining", "table4")]
    assert [sum(column) for column in zip(*records, strict=True)] == [81, 12, 7]
    for printed, n in (("20.5", 40), ("21.05", 40), ("78.3", 500), ("65.78", 500)):
        decimals = len(printed.split(".")[1])
        assert printed not in {f"{100 * k / n:.{decimals}f}" for k in range(n + 1)}
    shares = {row["OlyBench"] for id_ in ("table1", "table2") for row in _table("refining", id_)}
    # Python rounds half to even; a tie is accepted either way by looking a hair to both sides.
    fits = [
        n
        for n in range(1, 675)
        if shares <= {f"{100 * k / n + side:.1f}" for k in range(n + 1) for side in (-1e-9, 1e-9)}
    ]
    assert fits == []


@pytest.mark.parametrize(("name", "code"), [("sample_more", 1), ("refining", 4)])
def test_exit_codes_and_formats(name: str, code: int, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    result = run_audit("claims", CLAIMS / f"{name}.toml", "--format", "json", "--output", out)
    assert result.returncode == code
    assert result.stderr == ""
    report = decode(out.read_bytes(), ConsistencyReport)
    assert len(report.findings) == sum(getattr(report.counts, part) for part in report.counts.__struct_fields__)
