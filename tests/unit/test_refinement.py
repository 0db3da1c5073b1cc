"""Refinement metrics (ROR Appendix A) against an example that was worked by hand.

Four questions, three rollouts, two refinements; the gold is 1 throughout, `-` has no readable answer, ties go to the
rollout that comes first (the cell's default).

    question   depth 0   depth 1   depth 2     vote at 0, 1, 2
    q0         2 2 1     1 2 1     1 1 1       2 wrong   1 right        1 right
    q1         1 1 3     1 4 3     3 4 3       1 right   1 right (tie)  3 wrong
    q2         1 1 1     1 1 1     1 1 2       1 right   1 right        1 right
    q3         5 - -     5 1 1     5 1 5       5 wrong   1 right        5 wrong

    accuracy 2/4, 4/4, 2/4; recoveries q0 q3 at 1, none at 2; regressions none at 1, q1 q3 at 2.

    single rollouts that change     wrong to right              right to wrong
    depth 1: 4 of 12                q0 r0, q3 r1, q3 r2         q1 r1
    depth 2: 4 of 12                q0 r1                       q1 r0, q2 r2, q3 r2

    different readable answers      q0  q1  q2  q3
    depth 0                         2   2   1   1       more than one: 2/4, exactly one: 2/4 (all rollouts: q2)
    depth 1                         2   3   1   2       more than one: 3/4, exactly one: 1/4
    depth 2                         1   2   2   2       more than one: 3/4, exactly one: 1/4
"""

from fractions import Fraction
from pathlib import Path

import pytest
from support import load, record, sample, write_release

from schemas.manifest import Cell
from schemas.record import Generation, Record
from verify.cells import CellData
from verify.diagnostics.refinement import ablation, breadth_depth_grid, rollouts
from verify.estimates import STATISTICS, Unavailable, Value, estimate
from verify.outcome import decide, our_answers

CELL = "m/d/breadth_depth"
EXAMPLE = (
    ("221", "121", "111"),
    ("113", "143", "343"),
    ("111", "111", "112"),
    ("5--", "511", "515"),
)


def text_of(answer: str) -> str:
    return "It cannot be settled." if answer == "-" else f"So \\boxed{{{answer}}}."


def refined(question: str, depths: tuple[str, ...], cell: str = CELL) -> Record:
    generations: list[Generation] = []
    for depth, answers in enumerate(depths):
        for agent, answer in enumerate(answers):
            if depth:
                critique = "A step is off."
                generations.append(sample(len(generations), critique, role="critique", round=depth, agent=agent))
            role = "revise" if depth else "sample"
            generations.append(sample(len(generations), text_of(answer), role=role, round=depth, agent=agent))
    return record(cell, question, generations)


def refined_cell(root: Path, example: tuple[tuple[str, ...], ...] = EXAMPLE, **fields: object) -> CellData:
    records = [refined(f"q{i}", depths) for i, depths in enumerate(example)]
    cell = Cell(id=CELL, decision_rule="plurality", **fields)  # type: ignore[arg-type]
    return load(write_release(root, [cell], ["1"] * len(example), records))


HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
WORKED = {
    "depth_accuracy": (HALF, Fraction(1), HALF),
    "depth_improvement": (None, HALF, -HALF),
    "recovery_rate": (None, HALF, Fraction(0)),
    "regression_rate": (None, Fraction(0), HALF),
    "answer_change_rate": (None, Fraction(4, 12), Fraction(4, 12)),
    "wrong_to_correct_rate": (None, Fraction(3, 12), Fraction(1, 12)),
    "correct_to_wrong_rate": (None, Fraction(1, 12), Fraction(3, 12)),
    "net_correction": (None, Fraction(2, 12), Fraction(-2, 12)),
    "diversity_rate": (HALF, 3 * QUARTER, 3 * QUARTER),
    "answer_agreement_rate": (HALF, QUARTER, QUARTER),
    "unanimity_rate": (QUARTER, QUARTER, QUARTER),
}


@pytest.mark.parametrize("statistic", WORKED)
def test_the_hand_worked_example(tmp_path: Path, statistic: str) -> None:
    data = refined_cell(tmp_path / "r")
    for depth, expected in enumerate(WORKED[statistic]):
        value = estimate(data, statistic, {"depth": depth})
        if expected is None:
            assert isinstance(value, Unavailable)
            assert "depth 0 is not between 1 and 2" in value.reason
        else:
            assert isinstance(value, Value)
            assert (value.value, value.low, value.high) == (expected, expected, expected)
    last = estimate(data, statistic, {})
    assert isinstance(last, Value)
    assert last.value == WORKED[statistic][-1]


def test_the_last_depth_is_what_the_declared_rule_decides(tmp_path: Path) -> None:
    data = refined_cell(tmp_path / "r")
    accuracy = estimate(data, "accuracy", {})
    assert isinstance(accuracy, Value)
    assert accuracy.value == HALF


def test_breadth_and_depth_of_the_example(tmp_path: Path) -> None:
    data = refined_cell(tmp_path / "r")
    # One rollout: 1/3, 2/3, 1, 0 right at depth 0. Two, the first of which wins a tie: never, always, always, never.
    found = rollouts(data)
    assert not isinstance(found, str)
    grid = breadth_depth_grid(found)
    assert not isinstance(grid, str)
    assert grid[:, 0] == pytest.approx([0.5, 0.5, 0.5], abs=1e-12)
    assert grid[2] == pytest.approx([0.5, 1.0, 0.5], abs=1e-12)
    # Pairs at depth 1: q0 (1 2)(1 1)(2 1) 2 of 3; q1 (1 4)(1 3)(4 3) 2 of 3; q2 all; q3 (5 1)(5 1)(1 1) 1 of 3.
    assert grid[1, 1] == pytest.approx((2 / 3 + 2 / 3 + 1 + 1 / 3) / 4, abs=1e-12)
    # The first rollout alone, as it stands: q0 and q2 right at depth 2; q0, q1 and q2 at depth 1.
    for depth, expected in ((1, 3 * QUARTER), (2, HALF)):
        first = estimate(data, "depth_accuracy", {"depth": depth, "k": 1})
        assert isinstance(first, Value)
        assert first.value == expected


def test_improvement_is_recovery_minus_regression(tmp_path: Path) -> None:
    data = refined_cell(tmp_path / "r")
    for depth in (1, 2):
        parts = [
            estimate(data, name, {"depth": depth}) for name in ("recovery_rate", "regression_rate", "depth_improvement")
        ]
        values = [part.value for part in parts if isinstance(part, Value)]
        assert values[0] - values[1] == values[2]


def test_a_rollout_that_stops_keeps_its_answer(tmp_path: Path) -> None:
    # Reflexion: q0 stops right, q1 goes on once and is put right, q2 goes on twice and stays wrong.
    cell = Cell(id="m/d/reflexion", decision_rule="last")
    records = [
        record(
            cell.id,
            f"q{i}",
            [sample(d, text_of(a), role="retry" if d else "sample", round=d) for d, a in enumerate(answers)],
        )
        for i, answers in enumerate(("1", "21", "234"))
    ]
    data = load(write_release(tmp_path / "r", [cell], ["1", "1", "1"], records))
    shares = [estimate(data, "depth_accuracy", {"depth": depth}) for depth in range(3)]
    assert [share.value for share in shares if isinstance(share, Value)] == [
        Fraction(1, 3),
        Fraction(2, 3),
        Fraction(2, 3),
    ]
    changed = estimate(data, "answer_change_rate", {"depth": 1})
    assert isinstance(changed, Value)
    assert changed.value == Fraction(2, 3)


def test_what_is_no_grid_says_so(tmp_path: Path) -> None:
    pool = Cell(id="m/d/pool", decision_rule="plurality")
    one = load(write_release(tmp_path / "a", [pool], ["1"], [record(pool.id, "q0", [sample(0, "1"), sample(1, "1")])]))
    clash = record(pool.id, "q0", [sample(0, "1"), sample(1, "1"), sample(2, "1", role="revise", round=1)])
    two = load(write_release(tmp_path / "b", [pool], ["1"], [clash]))
    for data, words in ((one, "beyond its first round"), (two, "share their agent and their round")):
        value = estimate(data, "recovery_rate", {})
        assert isinstance(value, Unavailable)
        assert words in value.reason


def test_a_missing_record_widens_every_range(tmp_path: Path) -> None:
    cell = Cell(id=CELL, decision_rule="plurality")
    records = [refined(f"q{i}", depths) for i, depths in enumerate(EXAMPLE[:3])]
    data = load(write_release(tmp_path / "r", [cell], ["1"] * 4, records))
    recovered = estimate(data, "recovery_rate", {"depth": 1})
    assert isinstance(recovered, Value)
    # Of the three that are there q0 recovers; the fourth may have or not.
    assert (recovered.value, recovered.low, recovered.high) == (Fraction(1, 3), QUARTER, HALF)
    for name in WORKED:
        value = estimate(data, name, {"depth": 1})
        assert isinstance(value, Value)
        assert value.low < value.high, name


def test_ablation_pairs_by_question(tmp_path: Path) -> None:
    with_critic = refined_cell(tmp_path / "a")
    # Without: the depth-1 votes, which are all right.
    without = refined_cell(tmp_path / "b", tuple(depths[:2] for depths in EXAMPLE))
    found = ablation(
        *((data, decide(data, our_answers(data))) for data in (with_critic, without)),  # type: ignore[arg-type]
    )
    assert not isinstance(found, str)
    assert (found.n, found.with_critic, found.without) == (4, 0.5, 1.0)
    assert (found.mcnemar.first_only, found.mcnemar.second_only) == (0, 2)


def test_every_statistic_of_the_appendix_has_its_name() -> None:
    assert set(WORKED) <= set(STATISTICS)
