"""Decision rules, worked out by hand: three candidates a question, whatever the rule makes of them."""

from fractions import Fraction
from pathlib import Path

import pytest
from support import load, record, run_audit, sample, write_release

from schemas.manifest import Cell, Selection
from schemas.record import Record
from verify.estimates import Unavailable, Value, estimate
from verify.shard import read_choice

BOX = "\\boxed{%s}"


def accuracy(tmp_path: Path, cell: Cell, records: list[Record], golds: list[str | None] | None = None) -> Value:
    data = load(write_release(tmp_path / "r", [cell], golds or ["5"] * len(records), records))
    value = estimate(data, "accuracy", {})
    assert isinstance(value, Value)
    return value


def three(cell: str, question: str, **fields: object) -> Record:
    """Candidates 6, 5, 6 with scores .1, .9, .5; the gold is 5."""
    scores = (0.1, 0.9, 0.5)
    generations = [sample(i, BOX % a, score=s, agent=i) for i, (a, s) in enumerate(zip("656", scores, strict=True))]
    return record(cell, question, [*generations, *fields.pop("more", [])], **fields)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("rule", "right"),
    [("plurality", 0), ("highest-score", 1), ("last", 0)],
)
def test_each_rule_picks_its_own_answer(tmp_path: Path, rule: str, right: int) -> None:
    cell = Cell(id="m/d/x", decision_rule=rule)  # type: ignore[arg-type]
    assert accuracy(tmp_path, cell, [three(cell.id, "q0")]).value == right


@pytest.mark.parametrize(("text", "right"), [("BEST=<2>", 1), ("BEST=<1>", 0), ("none of them", 0), ("best= 2", 1)])
def test_selected_follows_the_select_text_and_never_the_votes(tmp_path: Path, text: str, right: int) -> None:
    cell = Cell(id="m/d/x", decision_rule="selected")
    choice = sample(3, text, role="select", round=1)
    assert accuracy(tmp_path, cell, [three(cell.id, "q0", more=[choice])]).value == right


def test_selected_may_fall_back_to_the_first_where_declared(tmp_path: Path) -> None:
    choice = sample(3, "hm", role="select", round=1)
    cell = Cell(id="m/d/x", decision_rule="selected", selection=Selection(fallback="first"))
    item = record(cell.id, "q0", [sample(0, BOX % 5), sample(1, BOX % 6), choice])
    assert accuracy(tmp_path, cell, [item]).value == 1


def test_a_continuation_is_a_draft_and_has_no_vote(tmp_path: Path) -> None:
    # Two rollouts of three were corrected from 6 to 5. With the drafts 6 would win the round by 4 votes to 2.
    cell = Cell(id="m/d/x", decision_rule="plurality")
    depth = [
        sample(index, BOX % answer, role=role, round=1, agent=agent)
        for index, (role, answer, agent) in enumerate(
            [
                ("continue", 6, 0),
                ("correct", 5, 0),
                ("continue", 6, 1),
                ("correct", 5, 1),
                ("continue", 6, 2),
                ("correct", 6, 2),
            ],
            start=3,
        )
    ]
    item = record(cell.id, "q0", [*(sample(i, BOX % 6, agent=i) for i in range(3)), *depth])
    assert accuracy(tmp_path, cell, [item]).value == 1
    counted = run_audit("summarize", tmp_path / "r")
    assert (counted.returncode, counted.stderr) == (0, "")
    assert "100.0" in counted.stdout


def test_critiques_state_no_answer(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="last")
    item = record(
        cell.id, "q0", [sample(0, BOX % 5), sample(1, "I think 6 is better: " + BOX % 6, role="critique", round=1)]
    )
    assert accuracy(tmp_path, cell, [item]).value == 1


def test_a_vote_is_over_the_last_round_alone(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="plurality")
    first = [sample(i, BOX % 6, agent=i) for i in range(3)]
    last = [sample(3 + i, BOX % a, role="debate", round=1, agent=i) for i, a in enumerate("556")]
    assert accuracy(tmp_path, cell, [record(cell.id, "q0", first + last)]).value == 1


def test_generations_are_ordered_by_index_not_by_place(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="last")
    assert accuracy(tmp_path, cell, [record(cell.id, "q0", [sample(1, BOX % 5), sample(0, BOX % 6)])]).value == 1


def test_a_failed_call_has_no_answer_even_where_it_left_text(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    item = record(cell.id, "q0", [sample(0, BOX % 5, error="connection reset")])
    assert accuracy(tmp_path, cell, [item]).value == 0


def test_a_failed_record_counts_as_not_correct(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    bad = record(cell.id, "q1", [], status="failed", error="HTTP 400")
    value = accuracy(tmp_path, cell, [record(cell.id, "q0", [sample(0, BOX % 5)]), bad])
    assert (value.value, value.n) == (Fraction(1, 2), 2)


def test_a_withheld_text_leaves_the_outcome_open(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    hidden = record(cell.id, "q1", [sample(0, None, text_sha256="0" * 64)])
    value = accuracy(tmp_path, cell, [record(cell.id, "q0", [sample(0, BOX % 5)]), hidden])
    assert (value.value, value.low, value.high, value.n) == (1, Fraction(1, 2), 1, 1)


def test_two_answers_under_rule_only_decide_nothing(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    value = estimate(
        load(
            write_release(
                tmp_path / "r", [cell], ["5"], [record(cell.id, "q0", [sample(0, BOX % 5), sample(1, BOX % 5)])]
            )
        ),
        "accuracy",
        {},
    )
    assert isinstance(value, Unavailable)


def test_equal_numbers_in_other_spelling_vote_together(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="plurality")
    texts = ["\\boxed{7}", "\\boxed{0.5}", "\\boxed{\\frac12}", "\\boxed{7}", "\\boxed{1/2}"]
    item = record(cell.id, "q0", [sample(i, text) for i, text in enumerate(texts)])
    root = write_release(tmp_path / "r", [cell], ["\\frac{1}{2}"], [item], policy="math")
    value = estimate(load(root), "accuracy", {})
    assert isinstance(value, Value)
    assert value.value == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BEST=<3>", 2),
        ("BEST=3", 2),
        ("Best = no. BEST=[1], no: BEST= **2**", 1),
        ("BEST=<9>", -1),
        ("BEST=<0>", -1),
        ("BEST=", -1),
        ("", -1),
        ("BEST=" + " " * 100_000 + "1", -1),
        ("BEST=" * 50_000 + "4", 3),
        ("BEST=12345678", -1),
    ],
)
def test_reading_a_choice(text: str, expected: int) -> None:
    assert read_choice(text, marker="BEST=", base=1, candidates=8) == expected
