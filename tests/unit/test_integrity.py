"""Checks of records that no fixture holds, one small release each."""

import hashlib
from pathlib import Path

import pytest
from support import record, sample, write_release

from schemas.errors import ReleaseError
from schemas.manifest import Cell
from schemas.record import Record, RecordClaim
from schemas.report import Finding
from schemas.writing import write_lines, write_sums
from verify import verify_release

CELL = Cell(id="m/d/x", decision_rule="only")
GOOD = record(CELL.id, "q0", [sample(0, "\\boxed{5}")])


def findings(
    tmp_path: Path, records: list[Record], cell: Cell = CELL, golds: tuple[str, ...] = ("5",)
) -> dict[str, Finding]:
    root = write_release(tmp_path / "r", [cell], list(golds), records)
    return {f.check: f for f in verify_release(root).report.findings if f.verdict != "confirmed"}


def test_nothing_is_found_in_a_good_record(tmp_path: Path) -> None:
    assert findings(tmp_path, [GOOD]) == {}


@pytest.mark.parametrize(
    ("bad", "check", "words"),
    [
        (record("m/d/y", "q0", [sample(0, "5")]), "records", "the record is of cell 'm/d/y'"),
        (record(CELL.id, "q7", [sample(0, "5")]), "records", "no question of the dataset has this id"),
        (record(CELL.id, "q0", [sample(0, "5")], replicate=2), "records", "replicate is 2"),
        (record(CELL.id, "q0", [sample(0, "5"), sample(0, "5")]), "records", "same index"),
        (record(CELL.id, "q0", [sample(0, "5"), sample(1, "5")]), "decision-rule", "2 answer-bearing"),
        (record(CELL.id, "q0", [sample(0, None)]), "texts", "no text and no error"),
        (record(CELL.id, "q0", [sample(0, "\\boxed{5}", text_sha256="0" * 64)]), "texts", "another text's"),
        (record(CELL.id, "q0", [sample(0, "Error code: 429 slow down")]), "error-texts", "server's error"),
        (record(CELL.id, "q0", [sample(0, None, error="HTTP 500")]), "failed-calls", "HTTP 500"),
        (record(CELL.id, "q0", [], status="failed", error="HTTP 400"), "failed-records", "HTTP 400"),
        (
            record(CELL.id, "q0", [sample(0, "\\boxed{5}")], claimed=RecordClaim(answer="6")),
            "claimed-answers",
            "not the one that we read",
        ),
    ],
)
def test_each_fault_is_found_and_located(tmp_path: Path, bad: Record, check: str, words: str) -> None:
    if bad.cell != CELL.id:
        root = write_release(tmp_path / "r", [CELL], ["5"], [])
        write_lines(root / "generations" / CELL.id / "part-0.jsonl", [bad])
        write_sums(root)
        found = {f.check: f for f in verify_release(root).report.findings if f.verdict != "confirmed"}
    else:
        found = findings(tmp_path, [bad])
    ref = found[check].records[0]
    assert words in (ref.note or "")
    assert (ref.file, ref.line) == ("generations/m/d/x/part-0.jsonl", 1)


def test_the_right_hash_of_a_text_is_fine(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"\\boxed{5}").hexdigest()
    assert findings(tmp_path, [record(CELL.id, "q0", [sample(0, "\\boxed{5}", text_sha256=digest)])]) == {}


def test_a_total_is_not_checked_where_a_call_has_no_count(tmp_path: Path) -> None:
    claimed = RecordClaim(completion_tokens=10)
    assert findings(tmp_path, [record(CELL.id, "q0", [sample(0, "\\boxed{5}")], claimed=claimed)]) == {}


def test_every_failure_is_counted_and_the_first_are_listed(tmp_path: Path) -> None:
    many = [record(CELL.id, f"unknown-{i}", [sample(0, "5")]) for i in range(1500)]
    found = findings(tmp_path, [GOOD, *many])["records"]
    assert found.records_total == 1500
    assert len(found.records) == 1000
    assert found.records[0].question_id == "unknown-0"


def test_the_first_of_two_records_is_the_one_that_counts(tmp_path: Path) -> None:
    second = record(CELL.id, "q0", [sample(0, "\\boxed{6}")])
    root = write_release(tmp_path / "r", [CELL], ["5"], [GOOD, second])
    report = verify_release(root).report
    assert report.estimates[0].value == 1.0
    assert next(f for f in report.findings if f.check == "duplicates").records[0].line == 2


def test_flags_by_another_declared_rule_are_listed_and_refute_nothing(tmp_path: Path) -> None:
    flagged = record(CELL.id, "q0", [sample(0, "\\boxed{5}")], claimed=RecordClaim(correct=False))
    root = write_release(tmp_path / "r", [CELL], ["5"], [flagged])
    assert verify_release(root).report.verdict == "refuted"
    claims = tmp_path / "claims.toml"
    claims.write_text('format_version = "1.0"\nrunner_grading = "string equality"\n')
    report = verify_release(root, claims=claims).report
    assert report.verdict == "confirmed"
    (finding,) = [f for f in report.findings if f.check == "claimed-grades"]
    assert (finding.severity, finding.records_total) == ("warning", 1)
    assert "string equality" in finding.message


def test_links_out_of_the_release_are_never_followed(tmp_path: Path) -> None:
    root = write_release(tmp_path / "r", [CELL], ["5"], [GOOD])
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "part-9.jsonl").write_text("not for you")
    (root / "generations" / "m" / "d" / "linked").symlink_to(secret)
    (root / "generations" / CELL.id / "part-1.jsonl").symlink_to(secret / "part-9.jsonl")
    report = verify_release(root).report
    unread = next(f for f in report.findings if f.check == "unread-files")
    assert unread.records_total == 2
    assert all("link" in (ref.note or "") for ref in unread.records)
    assert "not for you" not in str(report)


def test_a_pointer_in_the_place_of_a_file_is_not_blamed_on_the_author(tmp_path: Path) -> None:
    root = write_release(tmp_path / "r", [CELL], ["5"], [GOOD])
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n"
    (root / "generations" / CELL.id / "part-0.jsonl").write_text(pointer)
    with pytest.raises(ReleaseError, match="Git LFS pointer"):
        verify_release(root)


def test_sums_that_list_themselves_are_not_held_against_the_release(tmp_path: Path) -> None:
    root = write_release(tmp_path / "r", [CELL], ["5"], [GOOD])
    path = root / "SHA256SUMS"
    path.write_text("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  SHA256SUMS\n" + path.read_text())
    assert verify_release(root).report.verdict == "confirmed"


def test_a_release_without_sums_is_confirmed_with_a_note(tmp_path: Path) -> None:
    root = write_release(tmp_path / "r", [CELL], ["5"], [GOOD])
    (root / "SHA256SUMS").unlink()
    report = verify_release(root).report
    assert report.verdict == "confirmed"
    assert [f.severity for f in report.findings if f.check == "checksums"] == ["note"]


def test_parquet_as_pandas_writes_it_is_read(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    root = write_release(tmp_path / "r", [CELL], ["5"], [])
    folder = root / "generations" / CELL.id
    (folder / "part-0.jsonl").unlink()
    # Whole numbers in a float column and missing ones as null: what a column with gaps becomes in pandas.
    generation = {
        "role": "sample",
        "index": 0.0,
        "completion_tokens": 31.0,
        "prompt_tokens": None,
        "text": "\\boxed{5}",
    }
    row = {"cell": CELL.id, "question_id": "q0", "status": "ok", "replicate": 0.0, "generations": [generation]}
    pq.write_table(pa.Table.from_pylist([row]), folder / "part-0.parquet")
    write_sums(root)
    report = verify_release(root).report
    assert report.verdict == "confirmed"
    assert [e.value for e in report.estimates if e.statistic == "mean_completion_tokens"] == [31.0]
