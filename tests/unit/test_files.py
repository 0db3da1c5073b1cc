"""Reading and writing: all formats, and everything that can be wrong with a file."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from support import record, sample

from schemas import layout
from schemas.errors import ReleaseError, UsageError
from schemas.reading import Limits, Line, Problem, read_lines, unreadable_number
from schemas.record import Generation, GenerationClaim, Record, RecordClaim
from schemas.writing import atomic_file, new_release, write_lines, write_sums, write_text

RECORDS = [
    Record(
        cell="m/d/a",
        question_id=f"q{i}",
        status="ok",
        seed=2**32 - 2,
        generations=[
            Generation(
                role="sample",
                index=0,
                text="tab\t, newline\n, NUL \0, ٧ and \\boxed{\\frac{1}{2}}",
                completion_tokens=31,
                score=0.25,
                claimed=GenerationClaim(answer="1/2", correct=True),
            ),
            Generation(role="select", index=1, round=1, error="HTTP 400"),
        ],
        claimed=RecordClaim(answer="1/2", completion_tokens=31),
        extra={"anything": [1, {"at": "all"}]},
    )
    for i in range(3)
]


def read(path: Path, limits: Limits | None = None) -> list[Line[Record] | Problem]:
    return list(read_lines(path, Record, limits=limits or Limits()))


@pytest.mark.parametrize("suffix", layout.RECORD_SUFFIXES)
def test_records_come_back_as_they_were_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"part-0{suffix}"
    write_lines(path, RECORDS)
    assert read(path) == [Line(i + 1, item) for i, item in enumerate(RECORDS)]


@pytest.mark.parametrize("suffix", layout.RECORD_SUFFIXES)
def test_no_records_is_a_readable_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"part-0{suffix}"
    write_lines(path, [])
    assert read(path) == []


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_the_same_records_give_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"part-0{suffix}", tmp_path / f"part-1{suffix}"
    write_lines(first, RECORDS)
    write_lines(second, RECORDS)
    assert first.read_bytes() == second.read_bytes()


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    path = tmp_path / "part-0.jsonl"
    odd = record("m/d/a", "q0", [sample(0, "half an emoji \ud83d and \\boxed{5}")])
    write_lines(path, [odd])
    assert read(path) == [Line(1, odd)]


def test_one_bad_line_costs_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "part-0.jsonl"
    write_lines(path, RECORDS)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"cell": \n' + b"\n" + b"\xff\xfe\n" + lines[2])
    values = read(path)
    assert [(v.number, isinstance(v, Problem)) for v in values] == [(1, False), (2, True), (4, True), (5, False)]
    assert "not JSON" in values[1].message
    assert "UTF-8" in values[2].message


def test_nan_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "part-0.jsonl"
    path.write_text(
        '{"cell":"m/d/a","question_id":"q","status":"ok","generations":[{"role":"sample","index":0,"score":NaN}]}\n'
    )
    (problem,) = read(path)
    assert "NaN is not a JSON number" in problem.message
    infinite = record("m/d/a", "q0", [sample(3, "x", score=float("inf"))])
    assert unreadable_number(infinite) == "generations[3].score"


def test_a_line_beyond_the_limit_is_skipped_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "part-0.jsonl"
    write_lines(path, [record("m/d/a", "q0", [sample(0, "x" * 5000)]), RECORDS[1]])
    first, second = read(path, Limits(line_bytes=1000))
    assert isinstance(first, Problem)
    assert "longer than 1,000 bytes" in first.message
    assert second == Line(2, RECORDS[1])


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.zst", ".parquet"])
def test_a_file_that_is_cut_off_is_a_problem(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"part-0{suffix}"
    many = [record("m/d/a", f"q{i}", [sample(0, f"text {i * 7919 % 1000}" * 20)]) for i in range(2000)]
    write_lines(path, many)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    problems = [value for value in read(path) if isinstance(value, Problem)]
    assert problems


def test_a_plain_file_that_is_cut_off_says_so(tmp_path: Path) -> None:
    path = tmp_path / "part-0.jsonl"
    write_lines(path, RECORDS)
    path.write_bytes(path.read_bytes()[:-30])
    assert "may be cut off" in read(path)[-1].message


@pytest.mark.parametrize("suffix", layout.RECORD_SUFFIXES)
@pytest.mark.parametrize("content", [b"garbage that is no such file", b"PAR1", b"\x1f\x8b"])
def test_garbage_is_a_problem_never_an_exception(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"part-0{suffix}"
    path.write_bytes(content)
    assert any(isinstance(value, Problem) for value in read(path))


def test_a_decompression_bomb_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "part-0.jsonl.gz"
    line = b'{"x": "' + b"a" * 2**20 + b'"}\n'
    with gzip.open(path, "wb") as file:
        for _ in range(80):
            file.write(line)
    assert path.stat().st_size < 200_000
    problems = read(path, Limits(ratio=100))
    assert "beyond the limit" in problems[-1].message
    assert len(problems) < 80


def test_deep_nesting_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "part-0.jsonl"
    path.write_bytes(b'{"extra": ' + b"[" * 200_000 + b"\n")
    (problem,) = read(path)
    assert isinstance(problem, Problem)


def test_nothing_appears_where_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "claims.toml"
    write_text(target, "old")
    with pytest.raises(RuntimeError), atomic_file(target) as file:
        file.write(b"half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_release_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), new_release(tmp_path / "r") as root:
        write_text(root / "release.json", "{}")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    with pytest.raises(UsageError, match="exists already"), new_release(tmp_path):
        pass
    assert (tmp_path / "precious").read_text() == "x"


def test_sha256sum_accepts_the_sums(tmp_path: Path) -> None:
    write_text(tmp_path / "a" / "with space.txt", "x")
    write_text(tmp_path / "release.json", json.dumps({}))
    write_sums(tmp_path)
    result = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count(": OK") == 2


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "a//b", "./a", "a\\b", ""])
def test_paths_outside_the_release_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ReleaseError, match="not a path inside"):
        layout.inside(tmp_path, name)


def test_symbolic_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(ReleaseError, match="symbolic link"):
        layout.inside(tmp_path, "link/passwd")
