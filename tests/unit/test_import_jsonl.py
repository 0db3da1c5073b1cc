"""`audit import jsonl`: nothing guessed, nothing lost, nothing written half."""

import gzip
import json
from pathlib import Path

import pytest
from support import run_audit

from schemas.reading import Limits, Line, read_lines
from schemas.record import Question, Record

MAPPING = """
[release]
title = "t"
[dataset]
id = "d"
policy = "gsm8k"
[questions]
text = "q"
gold = "a"
gold_after = "####"
[match]
by = "text"
path = "input"
[skip]
unless = "input"
[[cells]]
model = "m"
method = "one"
decision_rule = "only"
record = { claimed_correct = "ok", claimed_answer = "answer" }
generations = [{ text = "out" }]
[[cells]]
model = "m"
method = "pool"
decision_rule = "plurality"
generations = [{ many = true, text = "outs", score = "map(&[0], scores)", claimed_answer = "preds" }]
"""
QUESTIONS = [{"q": "1+1?", "a": "easy\n#### 2"}, {"q": "1+2?", "a": "#### 3"}]
ROWS = [
    {"prompt": "header"},
    {
        "input": "1+2?",
        "out": "it is 3",
        "ok": 1,
        "answer": 3.0,
        "outs": ["3", "4"],
        "scores": [[0.5], []],
        "preds": ["3", None],
    },
    {
        "input": "1+1?",
        "out": "it is 3",
        "ok": False,
        "answer": "3",
        "outs": ["2", "2"],
        "scores": [[1], [2]],
        "preds": ["2", "2"],
    },
]


def run(
    tmp_path: Path, rows: list[object] = ROWS, mapping: str = MAPPING, questions: list[object] = QUESTIONS, *extra: str
):  # type: ignore[no-untyped-def]
    with gzip.open(tmp_path / "rows.jsonl.gz", "wt") as file:
        file.writelines(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions))
    (tmp_path / "m.toml").write_text(mapping)
    arguments = [tmp_path / "rows.jsonl.gz", "--mapping", tmp_path / "m.toml", "--questions", tmp_path / "q.jsonl"]
    return run_audit("import", "jsonl", *arguments, "--out", tmp_path / "r", *extra)


def values(path: Path, kind: type) -> list:  # type: ignore[type-arg]
    return [line.value for line in read_lines(path, kind, limits=Limits()) if isinstance(line, Line)]


def test_rows_become_records(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "2 questions, 1 rows skipped" in result.stdout
    questions = values(tmp_path / "r/questions/d.jsonl", Question)
    assert [(q.id, q.gold, q.text) for q in questions] == [("0", "2", "1+1?"), ("1", "3", "1+2?")]
    first, second = values(tmp_path / "r/generations/m/d/one/part-0.jsonl.gz", Record)
    assert (first.question_id, first.claimed.correct, first.claimed.answer) == ("1", True, "3.0")
    assert (second.question_id, second.claimed.correct) == ("0", False)
    assert first.generations[0].completion_tokens is None
    pool = values(tmp_path / "r/generations/m/d/pool/part-0.jsonl.gz", Record)
    assert [g.score for g in pool[0].generations] == [0.5, None]
    assert [g.claimed and g.claimed.answer for g in pool[0].generations] == ["3", None]
    assert run_audit("verify", tmp_path / "r").returncode == 0


@pytest.mark.parametrize("storage", ["jsonl", "jsonl.zst", "parquet"])
def test_any_storage_holds_the_same(tmp_path: Path, storage: str) -> None:
    assert run(tmp_path, ROWS, MAPPING, QUESTIONS, "--storage", storage).returncode == 0
    assert run_audit("verify", tmp_path / "r").returncode == 0
    assert len(values(tmp_path / f"r/generations/m/d/pool/part-0.{storage}", Record)) == 2


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*ROWS, "{oops\n"], "line 4: not JSON"),
        ([{"input": "9+9?", "out": "x"}], "line 1: no question has the text '9+9?'"),
        ([{"input": ["1+1?"], "out": "x"}], "line 1: no question has the text"),
        ([{**ROWS[1], "out": None}], "line 1: cell m/d/one: the source has no text at 'out'; set when_absent"),
        ([{**ROWS[1], "out": 7}], "line 1: cell m/d/one: generations[0].text: 7 is not"),
        ([{**ROWS[1], "ok": "yes"}], "line 1: cell m/d/one: claimed.correct: 'yes' is not"),
        ([{**ROWS[1], "preds": ["3"]}], "claimed_answer gives 1 entries, and text gives 2"),
        ([{**ROWS[1], "scores": 5}], "score gives no list, and text gives 2"),
    ],
)  # fmt: skip
def test_a_row_that_does_not_fit_stops_the_import(tmp_path: Path, rows: list[object], words: str) -> None:
    result = run(tmp_path, rows)
    assert result.returncode == 2
    assert words in result.stderr
    assert not (tmp_path / "r").exists()
    assert not list(tmp_path.glob(".r*"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('title = "t"', 'titel = "t"', "m.toml: Object contains unknown field `titel`"),
        ('by = "text"', 'by = "guess"', "Invalid enum value 'guess'"),
        ('path = "input"', 'path = "input["', "match.path: 'input[' is no JMESPath"),
        ('model = "m"', 'model = "../m"', "m.toml: Expected `str` matching regex"),
        ('gold_after = "####"', 'gold_after = "@@"', "'@@' does not occur in the gold"),
        ("[release]", "[release", "m.toml: not TOML"),
    ],
)
def test_a_mapping_that_is_wrong_gets_one_sentence(tmp_path: Path, old: str, new: str, words: str) -> None:
    result = run(tmp_path, ROWS, MAPPING.replace(old, new))
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "r").exists()


def test_rows_without_text_are_failed_records_where_the_mapping_says_so(tmp_path: Path) -> None:
    mapping = MAPPING.replace('method = "one"', 'method = "one"\nwhen_absent = "failed"')
    assert run(tmp_path, [ROWS[1], {**ROWS[2], "out": None}], mapping).returncode == 0
    _, failed = values(tmp_path / "r/generations/m/d/one/part-0.jsonl.gz", Record)
    assert (failed.status, failed.error) == ("failed", "the source has no text at 'out'")


def test_questions_with_the_same_text_cannot_be_matched_by_it(tmp_path: Path) -> None:
    result = run(tmp_path, ROWS, MAPPING, [*QUESTIONS, QUESTIONS[0]])
    assert result.returncode == 2
    assert "have the same text; match by another" in result.stderr
