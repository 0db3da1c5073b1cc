"""Selecting against counting on identical candidates; picks by position."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare
from support import load, record, sample, write_release

from schemas.manifest import Cell, Selection
from verify.cells import CellData
from verify.diagnostics.judge import bias_of, examine_selection, position_bias


def judged(root: Path, picks: list[str], answers: list[str], **fields: object) -> CellData:
    """Three candidates a question, the gold is 1; a pick is the text of the verdict."""
    cell = Cell(id="m/d/judged", decision_rule="selected", **fields)  # type: ignore[arg-type]
    records = []
    for i, (pick, three) in enumerate(zip(picks, answers, strict=True)):
        candidates = [sample(j, f"So \\boxed{{{a}}}.", score=0.1 * j) for j, a in enumerate(three)]
        records.append(record(cell.id, f"q{i}", [*candidates, sample(3, pick, role="select", round=1)]))
    return load(write_release(root, [cell], ["1"] * len(picks), records))


def test_a_table_worked_by_hand(tmp_path: Path) -> None:
    # Majority: right, wrong, right, right. Judge: right (agrees), right (overrides), wrong (overrides), unread = wrong.
    data = judged(tmp_path / "r", ["BEST=<1>", "BEST=<3>", "BEST=<2>", "none"], ["112", "221", "121", "111"])
    found = examine_selection(data, rng=np.random.default_rng(0), resamples=200)
    assert not isinstance(found, str)
    assert (found.n, found.selected, found.majority) == (4, 0.5, 0.75)
    assert (found.mcnemar.first_only, found.mcnemar.second_only) == (1, 2)
    assert found.override_accuracy == pytest.approx(1 / 3)
    assert (found.agreement, found.disagreements) == (0.25, 3)
    assert (found.unread, found.verdicts) == (1, 4)
    assert found.mcnemar.p_exact == 1.0
    assert found.mcnemar.p_mid == pytest.approx(1.0 - 3 / 8)


def test_a_fallback_is_no_pick(tmp_path: Path) -> None:
    fallback = Selection(fallback="first")
    data = judged(tmp_path / "r", ["none"] * 3 + ["BEST=<2>"], ["112"] * 4, selection=fallback)
    found = position_bias(data)
    assert found is not None
    assert found.picks == (0, 1, 0)


def test_scores_are_compared_where_no_judge_is(tmp_path: Path) -> None:
    pool = Cell(id="m/d/pool", decision_rule="plurality")
    records = [
        record(pool.id, f"q{i}", [sample(j, f"So \\boxed{{{a}}}.", score=0.1 * j) for j, a in enumerate(three)])
        for i, three in enumerate(("112", "221"))
    ]
    data = load(write_release(tmp_path / "r", [pool], ["1", "1"], records))
    found = examine_selection(data, rng=np.random.default_rng(0), resamples=200)
    assert not isinstance(found, str)
    # The last candidate has the highest score: wrong, then right; the votes are right, then wrong.
    assert (found.rule, found.selected, found.majority) == ("highest-score", 0.5, 0.5)
    assert (found.mcnemar.first_only, found.mcnemar.second_only) == (1, 1)


def test_position_test_is_that_of_scipy() -> None:
    picks = np.repeat(np.arange(4), [40, 22, 19, 19])
    found = bias_of(picks, np.full(100, 4))
    expected = chisquare([40, 22, 19, 19])
    assert (found.statistic, found.p_value) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    assert found.first == 0.4


def test_small_expectations_are_pooled() -> None:
    found = bias_of(np.zeros(8, dtype=np.int64), np.full(8, 8))
    assert found.degrees == 0
    assert found.p_value == 1.0
