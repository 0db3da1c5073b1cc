"""Claims files: what binds, and one clear sentence for everything that does not."""

from pathlib import Path

import pytest
from support import record, sample, write_release

from schemas.errors import ClaimsError
from schemas.manifest import Cell
from schemas.reading import Limits
from verify import verify_release
from verify.claims import bind, find_claims, read_claims

HEAD = 'format_version = "1.0"\n'


def read(tmp_path: Path, text: str, name: str = "claims.toml") -> list[str]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [f"{claim.id} {claim.cell} {claim.text}" for claim in bind(read_claims(path, limits=Limits()), name=name)]


def test_labels_keys_and_where_make_the_cell(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
[[tables]]
id = "t"
where = { model = "m1" }
columns = [
  { name = "Method", key = "method", values = { "CoT" = "cot" } },
  { name = "A", statistic = "accuracy", where = { dataset = "a" } },
  { name = "B", statistic = "accuracy", where = { dataset = "b" } },
  { name = "remarks" },
]
rows = [["CoT", "72.0", "-", "good"], ["pas", "1", "2", ""]]
"""
    )
    assert read(tmp_path, text) == ["t/r1c2 m1/a/cot 72.0", "t/r2c2 m1/a/pas 1", "t/r2c3 m1/b/pas 2"]


def test_json_says_the_same(tmp_path: Path) -> None:
    text = '{"format_version": "1.0", "claims": [{"id": "a", "cell": "m/d/x", "statistic": "accuracy", "value": "1"}]}'
    assert read(tmp_path, text, "claims.json") == ["a m/d/x 1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("format_version = 1", r"format_version: 1 is not one of \['1.0'\]"),
        ("format_version = ", "not TOML: Invalid value"),
        ('format_version = "1.0"\nx = = 1', "not TOML: .*line 2"),
        (
            HEAD + 'claims = [{id="a", cell="m/d/x", statistic="accuracy", value=72.0}]',
            "Write printed numbers as strings",
        ),
        (HEAD + 'claims = [{id="a", cell="../x", statistic="accuracy", value="1"}]', "does not match"),
        (HEAD + "clams = []", "'clams' was unexpected"),
        (
            HEAD + 'tables=[{id="t", columns=[{name="a", statistic="accuracy"}], rows=[["1","2"]]}]',
            "row 1 has 2 entries",
        ),
        (
            HEAD + 'tables=[{id="t", columns=[{name="a", statistic="accuracy"}], rows=[["1"]]}]',
            "which model and dataset and",
        ),
        (
            HEAD + "claims = [" + '{id="a", cell="m/d/x", statistic="s", value="1"},' * 2 + "]",
            "'a' came before",
        ),
    ],
)
def test_what_is_no_claims_file_gets_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ClaimsError, match=words):
        read(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClaimsError, match=r"nowhere\.toml cannot be read: No such file"):
        read_claims(tmp_path / "nowhere.toml", limits=Limits())


def test_a_claims_file_without_a_bound_number_is_said_to_check_nothing(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    root = write_release(tmp_path / "r", [cell], ["5"], [record(cell.id, "q0", [sample(0, "\\boxed{5}")])])
    path = tmp_path / "paper.toml"
    path.write_text(HEAD + 'tables = [{id="t", columns=[{name="Acc"}], rows=[["72.0"]]}]')
    report = verify_release(root, claims=path).report
    (finding,) = [f for f in report.findings if f.check == "claims"]
    assert finding.severity == "warning"
    assert "none was checked" in finding.message


def test_two_claims_files_in_a_release_are_one_too_many(tmp_path: Path) -> None:
    for name in ("claims.toml", "claims.json"):
        (tmp_path / name).write_text("")
    with pytest.raises(ClaimsError, match="keep one"):
        find_claims(tmp_path)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ('cell="m/d/y", statistic="accuracy", value="1"', "declares no cell 'm/d/y'; did you mean m/d/x?"),
        ('cell="m/d/x", statistic="acuracy", value="1"', "no statistic 'acuracy'; did you mean accuracy"),
        ('cell="m/d/x", statistic="accuracy", value="many"', "is not a printed number"),
        ('cell="m/d/x", statistic="accuracy", value="1", parameters={k=3}', "no parameter 'k'; it takes grades"),
        ('cell="m/d/x", statistic="majority_at_k", value="1", parameters={k=0}', "whole number of at least 1"),
        ('cell="m/d/x", statistic="majority_at_k", value="1", parameters={tie_rule="last"}', "must be one of first"),
        ('cell="m/d/x", statistic="majority_at_k", value="1", parameters={k=3}', "hold fewer than 3 samples"),
        ('cell="m/d/x", statistic="highest_score_at_k", value="1"', "no generation of this cell has a score"),
        ('cell="m/d/x", statistic="judge_minus_majority", value="1"', "nothing selects among candidates"),
        ('cell="m/d/x", statistic="claimed_accuracy", value="1"', "no record carries a flag"),
        ('cell="m/d/x", statistic="mean_completion_tokens", value="1"', "no record counts its completion tokens"),
        ('cell="m/d/x", statistic="mean_completion_tokens", value="1", unit="percent"', "cannot be claimed in percent"),
    ],
)
def test_what_cannot_be_checked_is_unverifiable_and_says_why(tmp_path: Path, claim: str, words: str) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    root = write_release(tmp_path / "r", [cell], ["5"], [record(cell.id, "q0", [sample(0, "\\boxed{5}")])])
    path = tmp_path / "claims.toml"
    path.write_text(f'{HEAD}claims = [{{id="a", {claim}}}]')
    report = verify_release(root, claims=path).report
    finding = report.findings[-1]
    assert (finding.verdict, report.verdict) == ("unverifiable", "unverifiable")
    assert words in finding.message


@pytest.mark.parametrize(
    ("value", "unit", "verdict"),
    [
        ("66.7", "percent", "confirmed"),
        ("66.6", "percent", "refuted"),
        ("66.67%", None, "confirmed"),
        ("0.667", "fraction", "confirmed"),
        (".6667", None, "confirmed"),
        ("67", "percent", "confirmed"),
        ("66", "percent", "refuted"),
    ],
)
def test_two_of_three_at_every_precision(tmp_path: Path, value: str, unit: str | None, verdict: str) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    records = [record(cell.id, f"q{i}", [sample(0, f"\\boxed{{{a}}}")]) for i, a in enumerate("556")]
    root = write_release(tmp_path / "r", [cell], ["5"] * 3, records)
    path = tmp_path / "claims.toml"
    stated = f', unit="{unit}"' if unit else ""
    path.write_text(f'{HEAD}claims = [{{id="a", cell="m/d/x", statistic="accuracy", value="{value}"{stated}}}]')
    assert verify_release(root, claims=path).report.findings[-1].verdict == verdict


@pytest.mark.parametrize(("rounding", "verdict"), [("nearest", "refuted"), ("down", "confirmed"), ("any", "confirmed")])
def test_declared_rounding_decides(tmp_path: Path, rounding: str, verdict: str) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    records = [record(cell.id, f"q{i}", [sample(0, f"\\boxed{{{a}}}")]) for i, a in enumerate("556")]
    root = write_release(tmp_path / "r", [cell], ["5"] * 3, records)
    path = tmp_path / "claims.toml"
    path.write_text(
        f'{HEAD}rounding = "{rounding}"\nclaims = [{{id="a", cell="m/d/x", statistic="accuracy", value="66.6%"}}]'
    )
    assert verify_release(root, claims=path).report.findings[-1].verdict == verdict
