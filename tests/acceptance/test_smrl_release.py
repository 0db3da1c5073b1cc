"""SMRL's judge-vs-count table from a release whose questions are discordant as its printed numbers pin them.

The pinned pairs (judge right alone, count right alone) of 150 questions, and the six printed rows of the paper.
"""

from pathlib import Path

from support import record, sample

from generators.toml import claims_toml
from schemas.claims import Claims, Column, Table
from schemas.manifest import Cell, Dataset, Manifest, Model
from schemas.record import Question, Record
from schemas.writing import write_json, write_lines, write_sums
from verify import verify_release

N = 150
# setting: (judge right, judge alone, count alone), then judge, count, difference, interval and p as printed.
ROWS = {
    "1.5b/gsm8k": ((107, 2, 14), ["71.3", "79.3", "-8.0", "-13.3", "-3.3", "0.001"]),
    "1.5b/math500": ((70, 2, 19), ["46.7", "58.0", "-11.3", "-17.3", "-6.0", "<0.001"]),
    "3b/gsm8k": ((126, 3, 11), ["84.0", "89.3", "-5.3", "-10.7", "-0.7", "0.038"]),
    "3b/math500": ((78, 1, 27), ["52.0", "69.3", "-17.3", "-24.0", "-11.3", "<0.001"]),
    "7b/gsm8k": ((136, 1, 4), ["90.7", "92.7", "-2.0", "-5.3", "+0.7", "0.241"]),
    "7b/math500": ((107, 2, 4), ["71.3", "72.7", "-1.3", "-4.7", "+2.0", "0.538"]),
}


def _record(cell: str, question: str, judge: bool, count: bool) -> Record:
    """Eight candidates: the first is picked, the second wins the vote where the two differ."""
    right = [judge, *[count] * 7]
    texts = [f"\\boxed{{{5 if good else 6}}}" for good in right]
    pick = sample(8, "BEST=<1>", role="select", round=1)
    return record(cell, question, [*(sample(i, text) for i, text in enumerate(texts)), pick])


def _write(root: Path) -> Path:
    questions = [Question(id=f"q{i}", gold="5") for i in range(N)]
    cells = []
    for setting, ((judge_right, alone, other), _) in ROWS.items():
        cell = Cell(id=f"{setting}/best_of_n", decision_rule="selected")
        cells.append(cell)
        both = judge_right - alone
        kinds = [(True, True)] * both + [(True, False)] * alone + [(False, True)] * other
        kinds += [(False, False)] * (N - len(kinds))
        records = [_record(cell.id, f"q{i}", *kind) for i, kind in enumerate(kinds)]
        write_lines(root / "generations" / cell.id / "part-0.jsonl", records)
    datasets = ["gsm8k", "math500"]
    for name in datasets:
        write_lines(root / "questions" / f"{name}.jsonl", questions)
    manifest = Manifest(
        format_version="1.0",
        title="SMRL's discordant questions",
        models=[Model(id=size) for size in ("1.5b", "3b", "7b")],
        datasets=[Dataset(id=name, policy="gsm8k") for name in datasets],
        cells=cells,
    )
    write_json(root / "release.json", manifest)
    of = {"of": "judge_minus_majority", "resamples": 10_000}
    columns = [
        Column(name="Setting", key="cell"),
        Column(name="Judge", statistic="accuracy", unit="percent"),
        Column(name="Count", statistic="majority_at_k", unit="percent"),
        Column(name="Difference", statistic="judge_minus_majority", unit="points"),
        Column(name="Low", statistic="ci_low", unit="points", parameters=dict(of)),
        Column(name="High", statistic="ci_high", unit="points", parameters=dict(of)),
        Column(name="p", statistic="p_value", parameters=dict(of)),
    ]
    rows = [[f"{setting}/best_of_n", *printed] for setting, (_, printed) in ROWS.items()]
    claims = Claims(format_version="1.0", tables=[Table(id="judge", columns=columns, rows=rows)])
    (root / "claims.toml").write_text(claims_toml(claims), encoding="utf-8")
    write_sums(root)
    return root


def test_every_printed_value_of_the_judge_table_follows(tmp_path: Path) -> None:
    report = verify_release(_write(tmp_path / "r")).report
    claims = [f for f in report.findings if f.check == "claim"]
    assert len(claims) == 36
    assert [f.message for f in claims if f.verdict != "confirmed"] == []


def test_bootstrap_and_exact_p_stand_side_by_side(tmp_path: Path) -> None:
    report = verify_release(_write(tmp_path / "r")).report
    finding = next(f for f in report.findings if f.id == "claim:judge/r3c7")
    assert finding.estimate is not None
    assert abs(finding.estimate - 0.038) < 0.006
    # Exact McNemar of 3 and 11: 2 (1 + 14 + 91 + 364) / 2^14 = .0574.
    assert finding.exact is not None
    assert abs(float(finding.exact) - 940 / 2**14) < 1e-12
    assert "exact McNemar .057" in finding.message


def test_a_wrong_digit_is_still_refuted(tmp_path: Path) -> None:
    root = _write(tmp_path / "r")
    path = root / "claims.toml"
    text = path.read_text().replace('"-10.7"', '"-8.7"').replace('"0.241"', '"0.141"').replace('"-2.0"', '"-2.7"')
    path.write_text(text)
    report = verify_release(root).report
    found = {f.id for f in report.findings if f.check == "claim" and f.verdict == "refuted"}
    assert found == {"claim:judge/r3c5", "claim:judge/r5c7", "claim:judge/r5c4"}
