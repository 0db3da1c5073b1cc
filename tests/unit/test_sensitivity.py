"""A second opinion: another policy or a function of the reader's own; and other rules on the same grades."""

from pathlib import Path

import pytest
from support import FIXTURES, record, sample, start_audit, write_release

from audit.reports.text import render_text
from schemas.errors import UsageError
from schemas.manifest import Cell
from schemas.report import Report
from verify import verify_release
from verify.grades import load_grader

CELL = Cell(id="m/d/x", decision_rule="only")


def nothing_is_right(text: str, gold: str) -> bool:
    return False


def by_words(text: str, gold: str) -> str:
    return "unparsed" if "no idea" in text else "correct"


def raises(text: str, gold: str) -> bool:
    raise RuntimeError("boom")


def release(tmp_path: Path) -> Path:
    records = [
        record(CELL.id, f"q{i}", [sample(0, text)]) for i, text in enumerate(["\\boxed{5}", "\\boxed{6}", "no idea"])
    ]
    root = write_release(tmp_path / "r", [CELL], ["5"] * 3, records)
    (tmp_path / "claims.toml").write_text(
        'format_version = "1.0"\nclaims = [{id="a", cell="m/d/x", statistic="accuracy", value="33.3%"}]'
    )
    return root


def test_changes_are_listed_and_the_verdict_stays(tmp_path: Path) -> None:
    report = verify_release(release(tmp_path), claims=tmp_path / "claims.toml", grader=nothing_is_right).report
    assert report.verdict == "confirmed"
    found = report.sensitivity
    assert found is not None
    assert (found.generations_total, found.records_total) == (2, 2)
    assert [(r.question_id, r.note) for r in found.records] == [
        ("q0", "correct → incorrect."),
        ("q2", "unparsed → incorrect."),
    ]
    assert [(c.claim, c.declared, c.other) for c in found.claims] == [("claim:a", "confirmed", "refuted")]
    assert found.grader.endswith(":nothing_is_right")


def test_a_grader_may_answer_in_words(tmp_path: Path) -> None:
    found = verify_release(release(tmp_path), grader=by_words).report.sensitivity
    assert found is not None
    assert [(r.question_id, r.note) for r in found.records] == [("q1", "incorrect → correct.")]


def test_a_grader_that_raises_is_named_with_the_record(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"part-0\.jsonl, line 1, generation 0: the grader raised RuntimeError: boom"):
        verify_release(release(tmp_path), grader=raises)


def test_the_same_policy_changes_nothing() -> None:
    found = verify_release(FIXTURES / "intact", policy="math").report.sensitivity
    assert found is not None
    assert (found.generations_total, found.records_total, found.claims) == (0, 0, [])


def test_without_a_second_grader_there_is_no_section() -> None:
    assert verify_release(FIXTURES / "intact").report.sensitivity is None


def test_the_command_line_finds_a_function_in_the_current_folder(tmp_path: Path) -> None:
    root = release(tmp_path)
    (tmp_path / "mine.py").write_text("def strict(text, gold):\n    return text == gold\n")
    for jobs in ("1", "2"):
        result = start_audit("verify", root, "--grader", "mine:strict", "--jobs", jobs, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "Under grader mine:strict" in result.stdout
        assert "question q0, generations/m/d/x/part-0.jsonl:1: correct → incorrect." in result.stdout


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("mine", "names no function"),
        ("no.such:fn", "cannot be imported"),
        ("json:nope", "has no 'nope'"),
        ("sys:path", "is not a function"),
    ],
)
def test_a_target_that_is_none_gets_one_sentence(target: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_grader(target)


def test_nothing_that_a_release_names_is_imported(tmp_path: Path) -> None:
    root = release(tmp_path)
    (tmp_path / "evil.py").write_text("open('loaded', 'w').close()\ndef fn(text, gold):\n    return True\n")
    path = root / "release.json"
    path.write_text(path.read_text().replace('"policy": "gsm8k"', '"policy": "evil.fn"'))
    result = start_audit("verify", root, cwd=tmp_path)
    assert result.returncode == 3
    assert not (tmp_path / "loaded").exists()


VOTE = Cell(id="m/d/vote", decision_rule="plurality", tie_rule="first")


def voted(tmp_path: Path, value: str, statistic: str = "accuracy") -> Report:
    """Votes rr, rw and wr over three questions, with ties to the first: two of three right."""
    texts = {"r": "\\boxed{5}", "w": "\\boxed{6}", "u": "no idea"}
    records = [
        record(VOTE.id, f"q{i}", [sample(k, texts[letter]) for k, letter in enumerate(letters)])
        for i, letters in enumerate(["rr", "rw", "wr", "ruu"])
    ]
    root = write_release(tmp_path / "r", [VOTE], ["5"] * 4, records)
    (tmp_path / "claims.toml").write_text(
        f'format_version = "1.0"\nclaims = [{{id="a", cell="m/d/vote", statistic="{statistic}", value="{value}"}}]'
    )
    return verify_release(root, claims=tmp_path / "claims.toml").report


def test_only_the_rules_that_change_a_verdict_are_listed(tmp_path: Path) -> None:
    # rr r(w) w(r) r = 3 of 4 as declared. Ties right: 4; wrong: 2; at random: 2 to 4, which 75% is inside of.
    # Unreadable answers as one class: "uu" beats r, 2 of 4; as singletons r ties with two of them and came first: 3.
    found = voted(tmp_path, "75%").other_rules
    assert found is not None
    assert {(c.rule, c.declared, c.other, c.low) for c in found.changes} == {
        ("tie rule `right`", "confirmed", "refuted", 1.0),
        ("tie rule `wrong`", "confirmed", "refuted", 0.5),
        ("answers that cannot be read count as `class`", "confirmed", "refuted", 0.5),
    }
    assert found.numbers == 1


def test_a_refuted_number_that_another_rule_prints_is_listed_too(tmp_path: Path) -> None:
    found = voted(tmp_path, "100%").other_rules
    assert found is not None
    assert {(c.rule, c.other) for c in found.changes} == {
        ("tie rule `right`", "confirmed"),
        ("tie rule `random`", "confirmed"),
    }


def test_numbers_that_no_rule_touches_leave_no_section(tmp_path: Path) -> None:
    report = verify_release(release(tmp_path), claims=tmp_path / "claims.toml").report
    assert report.other_rules is None
    assert "other rules" not in render_text(report)


def test_comparisons_at_equal_cost_are_tried_too() -> None:
    report = verify_release(FIXTURES / "intact").report
    found = report.other_rules
    assert found is not None
    assert found.comparisons == 14
    changes = [c for c in found.changes if c.subject.startswith("equal-cost:")]
    by_cell = {row.cell: row for row in report.equal_cost}
    for change in changes:
        row = by_cell[change.subject.removeprefix("equal-cost:")]
        reliable = abs(row.difference) > 1.959964 * row.error
        side = ("better" if row.difference > 0 else "worse") if reliable else "no reliable difference"
        assert change.declared == side
    assert "What other rules would change" in render_text(report)
