"""Engagement: what was used of the rounds, whose texts they are, and whether the end follows from the gold."""

from fractions import Fraction
from pathlib import Path

import pytest
from support import load, record, sample, write_release

from schemas.manifest import CallRange, Cell
from verify.cells import CellData
from verify.diagnostics.engagement import (
    Stopping,
    base_of,
    binomial_tail,
    never_fires_p,
    self_triggered,
    stopping,
    twins,
    unanimity_by_round,
)
from verify.estimates import Value, estimate

REFLEXION = Cell(id="m/d/reflexion", decision_rule="last", calls={"retry": CallRange(min=0, max=3)})


def turns(root: Path, answers: list[str], cell: Cell = REFLEXION) -> CellData:
    """One answer a round; the gold is 1."""
    records = [
        record(
            cell.id,
            f"q{i}",
            [sample(d, f"So \\boxed{{{a}}}.", role="retry" if d else "sample", round=d) for d, a in enumerate(text)],
        )
        for i, text in enumerate(answers)
    ]
    return load(write_release(root, [cell], ["1"] * len(answers), records))


def test_rounds_and_stops(tmp_path: Path) -> None:
    data = turns(tmp_path / "r", ["1", "1", "21", "2234"])
    assert self_triggered(data)
    stopped, rounds = estimate(data, "stopped_at_once_rate", {}), estimate(data, "mean_rounds", {})
    assert isinstance(stopped, Value)
    assert isinstance(rounds, Value)
    assert (stopped.value, rounds.value) == (Fraction(1, 2), Fraction(4, 4))


def test_never_going_on_is_an_alarm_only_with_enough_questions(tmp_path: Path) -> None:
    assert never_fires_p(turns(tmp_path / "a", ["1"] * 10))[2] == pytest.approx(0.9**10)
    engaged, n, p = never_fires_p(turns(tmp_path / "b", ["1"] * 50))
    assert (engaged, n) == (0, 50)
    assert p == pytest.approx(0.9**50)


def test_oracle_decisions_by_hand(tmp_path: Path) -> None:
    # Budget: 4 answers. q0 stops right; q1 goes on after a wrong one and stops right; q2 goes on three times, each time
    # wrong, and its last answer is no decision; q3 goes on after a right one and stops wrong.
    found = stopping(turns(tmp_path / "r", ["1", "21", "2342", "12"]))
    assert found == Stopping(right=3, right_continued=1, wrong=5, wrong_stopped=1)


def test_oracle_p_needs_both_sides() -> None:
    assert Stopping(60, 0, 60, 0).p_value == pytest.approx(0.9**60)
    assert Stopping(60, 0, 60, 60).p_value == 1.0  # always stops
    assert Stopping(60, 60, 60, 0).p_value == 1.0  # never stops
    assert Stopping(60, 0, 0, 0).p_value == 1.0  # nothing wrong to go on after
    assert Stopping(200, 1, 60, 0).p_value == pytest.approx(0.9**60)


def test_no_stopping_where_nothing_is_decided(tmp_path: Path) -> None:
    assert stopping(turns(tmp_path / "a", ["1", "2"])) is None
    voted = Cell(id="m/d/voted", decision_rule="plurality")
    assert stopping(turns(tmp_path / "b", ["1", "21"], voted)) is None


def test_equal_texts_are_found_not_assumed(tmp_path: Path) -> None:
    greedy = Cell(id="m/d/greedy", decision_rule="only")
    answers = [str(i % 3) for i in range(12)]
    base = turns(tmp_path / "a", answers, greedy)
    same = turns(tmp_path / "b", answers)
    assert (twins(same, base).compared, twins(same, base).equal) == (12, 12)
    found = base_of(same, [base])
    assert found is not None
    assert found[0] is base
    other = turns(tmp_path / "c", [str((i + 1) % 3) for i in range(12)])
    assert base_of(other, [base]) is None
    assert base_of(turns(tmp_path / "d", answers[:5]), [base]) is None  # too few to say
    same_method = Cell(id="m/d/greedy", decision_rule="only")
    replicate = turns(tmp_path / "e", answers, same_method)  # equal by design
    assert base_of(replicate, [base]) is None


def test_unanimity_needs_every_agent(tmp_path: Path) -> None:
    debate = Cell(id="m/d/debate", decision_rule="plurality")
    rounds = [("112", "111"), ("11-", "112"), ("222", "222")]
    records = []
    for i, item in enumerate(rounds):
        generations = []
        for depth, answers in enumerate(item):
            for agent, answer in enumerate(answers):
                text = "It cannot be settled." if answer == "-" else f"So \\boxed{{{answer}}}."
                role = "debate" if depth else "sample"
                generations.append(sample(len(generations), text, role=role, round=depth, agent=agent))
        records.append(record(debate.id, f"q{i}", generations))
    data = load(write_release(tmp_path / "r", [debate], ["1"] * 3, records))
    assert unanimity_by_round(data) == [Fraction(1, 3), Fraction(2, 3)]


def test_binomial_tail_by_hand() -> None:
    assert binomial_tail(0, 0, 0.1) == 1.0
    assert binomial_tail(1, 3, 0.5) == pytest.approx(0.5)
