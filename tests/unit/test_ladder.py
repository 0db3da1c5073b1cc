"""The ladder on releases built by hand: every alternative has a figure that is worked out in the test."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from support import FIXTURES, record, sample, write_release

from schemas.manifest import Cell
from schemas.record import Generation
from schemas.report import Diagnosis, Report
from verify import verify_release

POOL = Cell(id="m/d/pool", decision_rule="plurality", tie_rule="first", token_cap=100)
# Of ten questions, by samples: r = right, w and v = two wrong answers, u = nothing that can be read.
DRAWN = ["rrr", "rrr", "rrw", "wrr", "wwr", "wrv", "rwv", "uwr", "vvw", "uuu"]


def text(letter: str) -> str:
    return {"r": "\\boxed{5}", "w": "\\boxed{6}", "v": "\\boxed{7}", "u": "no idea"}[letter]


def claimed(tmp_path: Path, root: Path, rows: Sequence[tuple[str, str, str]], unit: str = "percent") -> Report:
    """The report on claims (cell, statistic, value), all of one table a statistic."""
    lines = ['format_version = "1.0"']
    for number, statistic in enumerate(dict.fromkeys(statistic for _, statistic, _ in rows)):
        own = ", ".join(f'["{cell}", "{value}"]' for cell, what, value in rows if what == statistic)
        how = f', unit = "{unit}"' if "tokens" not in statistic and "count" not in statistic else ""
        lines.append(
            f'[[tables]]\nid = "t{number}"\ncolumns = [{{ name = "c", key = "cell" }}, '
            f'{{ name = "v", statistic = "{statistic}"{how} }}]\nrows = [{own}]'
        )
    path = tmp_path / "claims.toml"
    path.write_text("\n".join(lines))
    return verify_release(root, claims=path).report


def matches(report: Report) -> list[Diagnosis]:
    (finding,) = [f for f in report.findings if f.check == "claim"]
    return finding.diagnosis


def pool(tmp_path: Path, cell: Cell = POOL, drawn: Sequence[str] = DRAWN) -> Path:
    records = [
        record(
            cell.id,
            f"q{i}",
            [
                sample(k, text(letter), completion_tokens=100 if letter == "u" else 10 + k, prompt_tokens=7)
                for k, letter in enumerate(letters)
            ],
        )
        for i, letters in enumerate(drawn)
    ]
    return write_release(tmp_path / "r", [cell], ["5"] * len(drawn), records)


# First votes: rr, r(2 of 3), r, w, w (tie, first), r (tie, first), w (tie, first), v, none: 5 of 10 right.
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("60.0", None),  # nothing gives it alone: see below
        ("80.0", "any answer of the record correct"),  # all but vvw and uuu
        ("40.0", "the first answer of each record alone"),  # rrr rrr rrw rwv
        ("70.0", "tie rule `right`"),  # wrv and uwr too
        ("46.7", "the mean over a record's answers"),  # 14 of 30
        ("55.6", "only questions with a readable answer"),  # 5 of 9
        ("62.5", "only questions whose answers ended before the token cap"),  # uwr and uuu reach it
    ],
)
def test_what_prints_a_share(tmp_path: Path, value: str, words: str | None) -> None:
    report = claimed(tmp_path, pool(tmp_path), [(POOL.id, "accuracy", value)])
    found = [match.alternative for match in matches(report)]
    if words is None:
        assert all("tie rule `random`" in label or " and " in label for label in found)
    else:
        assert any(words in label for label in found), found


def test_a_right_number_is_not_diagnosed(tmp_path: Path) -> None:
    report = claimed(tmp_path, pool(tmp_path), [(POOL.id, "accuracy", "50.0")])
    assert report.verdict == "confirmed"
    assert matches(report) == []
    assert report.causes == []


def test_what_no_alternative_prints_says_so(tmp_path: Path) -> None:
    report = claimed(tmp_path, pool(tmp_path), [(POOL.id, "accuracy", "12.3")])
    (finding,) = [f for f in report.findings if f.check == "claim"]
    assert finding.diagnosis == []
    assert finding.tried > 20


def test_one_cell_of_ten_questions_proves_nothing(tmp_path: Path) -> None:
    report = claimed(tmp_path, pool(tmp_path), [(POOL.id, "accuracy", "70.0")])
    found = matches(report)
    assert {match.kind for match in found} <= {"coincidence", "alias"}
    assert all(match.accident > 0.05 for match in found)
    assert report.causes == []


def test_two_at_once_where_none_alone_prints_it(tmp_path: Path) -> None:
    # pass@k over the nine questions that are readable: 8 of 9.
    report = claimed(tmp_path, pool(tmp_path), [(POOL.id, "accuracy", "88.9")])
    labels = [match.alternative for match in matches(report)]
    assert any("pass@k" in label and "readable" in label for label in labels), labels


def test_aliases_are_told_from_matches(tmp_path: Path) -> None:
    # Without unreadable answers "the first answer" and "1 sample in place of 3" are the same on every question.
    report = claimed(tmp_path, pool(tmp_path, drawn=["rrr", "wrr", "wwr", "wrr", "wrr"]), [(POOL.id, "accuracy", "20")])
    kinds = {match.alternative: match.kind for match in matches(report)}
    assert kinds["the first answer of each record alone"] in ("matching", "coincidence")
    assert kinds["1 samples in place of 3"] == "alias"


def best_of(tmp_path: Path, cells: int, questions: int = 40) -> tuple[Path, list[Cell]]:
    """Cells whose judge picks the last of three candidates, which is wrong in half of the questions."""
    made, records = [], []
    for c in range(cells):
        cell = Cell(id=f"m/d/judge@{c}", decision_rule="selected")
        made.append(cell)
        for i in range(questions):
            letters = "rrw" if (i + c) % 2 else ("rrr" if i % 3 else "wwr")
            calls = [sample(k, text(letter)) for k, letter in enumerate(letters)]
            calls.append(Generation(role="select", index=3, text="BEST=<3>"))
            records.append(record(cell.id, f"q{i}", calls, replicate=c))
    return write_release(tmp_path / "r", made, ["5"] * questions, records), made


def vote_share(c: int, questions: int = 40) -> str:
    right = sum(bool((i + c) % 2) or bool(i % 3) for i in range(questions))
    return f"{100 * right / questions:.1f}"


def test_cells_with_the_same_answers_are_one(tmp_path: Path) -> None:
    # Cell 2 repeats cell 0 question by question: its number is no second piece of evidence.
    root, cells = best_of(tmp_path, 3)
    report = claimed(tmp_path, root, [(cells[c].id, "accuracy", vote_share(c)) for c in (0, 2)])
    assert [f.verdict for f in report.findings if f.check == "claim"] == ["refuted", "refuted"]
    assert report.causes == []


def test_a_cause_needs_two_cells(tmp_path: Path) -> None:
    root, cells = best_of(tmp_path, 1)
    report = claimed(tmp_path, root, [(cells[0].id, "accuracy", vote_share(0))])
    assert any("plurality" in match.alternative for match in matches(report))
    assert report.causes == []


def test_one_cell_is_never_a_cause_however_unlikely_an_accident_is() -> None:
    report = verify_release(FIXTURES / "unparsed-dropped").report
    (finding,) = [f for f in report.findings if f.verdict == "refuted"]
    assert finding.diagnosis[0].kind == "matching"
    assert finding.diagnosis[0].accident < 0.01
    assert report.causes == []


def test_the_same_alternative_in_two_cells_is_a_cause(tmp_path: Path) -> None:
    root, cells = best_of(tmp_path, 2)
    rows = [(cell.id, "accuracy", vote_share(c)) for c, cell in enumerate(cells)]
    report = claimed(tmp_path, root, rows)
    (cause,) = report.causes
    assert cause.alternative == "decision rule `plurality` in place of `selected`"
    assert cause.cells == 2
    assert cause.rivals == []
    assert cause.accident <= 0.01
    assert cause.claims == ["claim:t0/r1c2", "claim:t0/r2c2"]


def test_the_same_cell_printed_twice_is_one_cell(tmp_path: Path) -> None:
    root, cells = best_of(tmp_path, 1)
    report = claimed(tmp_path, root, [(cells[0].id, "accuracy", vote_share(0))] * 2)
    assert report.causes == []


def test_a_number_that_holds_speaks_against_a_cause(tmp_path: Path) -> None:
    root, cells = best_of(tmp_path, 3)
    rows = [(cell.id, "accuracy", vote_share(c)) for c, cell in enumerate(cells[:2])]
    # The third cell's judge is printed as it is: its pick is right in every other question.
    held = (cells[2].id, "accuracy", "50.0")
    report = claimed(tmp_path, root, [*rows, held])
    assert [f.verdict for f in report.findings if f.check == "claim"] == ["refuted", "refuted", "confirmed"]
    assert report.causes == []


REFINED = Cell(id="m/d/refine", decision_rule="last")


def refined(tmp_path: Path) -> Path:
    """Answer 10 + i tokens, critique 30, revision 20; prompts 5 each; the first six answers right, then five."""
    records = [
        record(
            REFINED.id,
            f"q{i}",
            [
                sample(0, text("r" if i < 6 else "w"), completion_tokens=10 + i, prompt_tokens=5),
                Generation(role="critique", index=1, round=1, text="hm", completion_tokens=30, prompt_tokens=5),
                Generation(
                    role="revise",
                    index=2,
                    round=1,
                    text=text("w" if i in (0, 1, 2) else "r" if i < 8 else "w"),
                    completion_tokens=20,
                    prompt_tokens=5,
                ),
            ],
        )
        for i in range(10)
    ]
    return write_release(tmp_path / "r", [REFINED], ["5"] * 10, records)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("20", "last call of each record (a counter that was reset)"),
        ("79.5", "tokens read and generated"),
        ("15", "tokens read in place"),
        ("34.5", "calls that state an answer"),
        ("14.5", "first answer of each record"),
        ("21.5", "per call"),  # 645 over 30 calls
        ("65.5", None),
    ],
)
def test_what_prints_mean_tokens(tmp_path: Path, value: str, words: str | None) -> None:
    # As declared: 14.5 + 30 + 20 = 64.5.
    report = claimed(tmp_path, refined(tmp_path), [(REFINED.id, "mean_completion_tokens", value)])
    found = [match.alternative for match in matches(report)]
    assert any(words in label for label in found) if words else report.verdict == "refuted", found


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("60.0", "the first answer of each record alone"),
        ("80.0", "any answer of the record correct"),  # stopping at the first right one: 0 to 7
        ("70.0", None),
    ],
)
def test_rounds_mixed_up(tmp_path: Path, value: str, words: str | None) -> None:
    # The last answers are right for 3 to 7: 5 of 10.
    report = claimed(tmp_path, refined(tmp_path), [(REFINED.id, "accuracy", value)])
    found = [match.alternative for match in matches(report)]
    assert any(words in label for label in found) if words else not found, found


def test_survivors_are_a_match_and_the_verdict_stays_open(tmp_path: Path) -> None:
    root = pool(tmp_path)
    shard = root / "generations" / POOL.id / "part-0.jsonl"
    lines = shard.read_text().splitlines(keepends=True)
    shard.write_text("".join(lines[:4] + lines[5:9]))  # uuu is lost, and the first question that is voted wrong
    report = claimed(tmp_path, root, [(POOL.id, "accuracy", "62.5")])
    (finding,) = [f for f in report.findings if f.check == "claim"]
    assert finding.verdict == "unverifiable"
    assert finding.diagnosis[0].alternative.startswith("only questions with a record, over 8 of 10")


def test_questions_that_should_be_there(tmp_path: Path) -> None:
    root = pool(tmp_path)
    shard = root / "generations" / POOL.id / "part-0.jsonl"
    shard.write_text("".join(shard.read_text().splitlines(keepends=True)[:9]))
    report = claimed(tmp_path, root, [(POOL.id, "question_count", "10")])
    assert "should be there" in matches(report)[0].alternative


@pytest.mark.parametrize(
    ("value", "how"),
    [
        ("66.6", "digits cut off, not rounded"),
        ("66.70", "rounded to one digit less, and a zero added"),
    ],
)
def test_rounding(tmp_path: Path, value: str, how: str) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    records = [record(cell.id, f"q{i}", [sample(0, text("r" if i < 2 else "w"))]) for i in range(3)]
    root = write_release(tmp_path / "r", [cell], ["5"] * 3, records)
    report = claimed(tmp_path, root, [(cell.id, "accuracy", value)])
    assert how in [match.alternative for match in matches(report)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("4.98", "rounded to the shorter of both decimals"),  # as floats: 5.0 and 4.98, and one decimal decides
        ("500", "percent and ratio"),
        ("5.0001", "relative tolerance"),
    ],
)
def test_lenient_graders(tmp_path: Path, answer: str, words: str) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    answers = ["5", "6", answer, "8"]
    records = [record(cell.id, f"q{i}", [sample(0, f"\\boxed{{{a}}}")]) for i, a in enumerate(answers)]
    root = write_release(tmp_path / "r", [cell], ["5"] * 4, records)
    report = claimed(tmp_path, root, [(cell.id, "accuracy", "50.0")])
    (match, *_) = [m for m in matches(report) if words in m.alternative]
    assert [(ref.question_id, ref.note) for ref in match.records] == [("q2", "now correct.")]


@pytest.mark.parametrize("answer", ["4.9", "5.06", "4"])
def test_what_no_lenient_grader_takes(tmp_path: Path, answer: str) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    records = [record(cell.id, f"q{i}", [sample(0, f"\\boxed{{{a}}}")]) for i, a in enumerate(["5", answer])]
    root = write_release(tmp_path / "r", [cell], ["5"] * 2, records)
    report = claimed(tmp_path, root, [(cell.id, "accuracy", "100.0")])
    assert not any("grader" in m.alternative for m in matches(report))
