"""Survivorship tests against full enumeration and a library; caps that are recorded, declared, or only seen."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from support import load, record, sample, write_release

from schemas.manifest import Cell
from verify.diagnostics.truncation import (
    Caps,
    bounds,
    caps_of,
    fisher_p,
    gaps_of,
    just_under_power_of_two,
    length_auc,
    permutation_p,
    pile_up_p,
    shorter_arm,
)


def test_permutation_p_is_that_of_all_subsets() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 9, 9).astype(float)
    marked = np.isin(np.arange(9), [1, 4, 8])
    sums = [sum(values[list(chosen)]) for chosen in combinations(range(9), 3)]
    observed = values[marked].sum()
    exact = 2 * min(np.mean([s >= observed for s in sums]), np.mean([s <= observed for s in sums]))
    for mask in (marked, ~marked):
        found = np.mean([permutation_p(values, mask, rng=np.random.default_rng(seed)) for seed in range(40)])
        assert found == pytest.approx(min(exact, 1.0), abs=0.05)


def test_permutation_p_of_the_extreme_subset() -> None:
    values = np.arange(40.0)
    marked = values >= 35
    # 1 of C(40, 5) = 658,008 subsets is as extreme: the estimate is bounded by the number of permutations.
    assert permutation_p(values, marked, rng=np.random.default_rng(1)) == 2 / 10_000
    assert permutation_p(np.ones(40), marked, rng=np.random.default_rng(1)) == 1.0


def test_fisher_by_hand() -> None:
    # The lady tasting tea: 4 of 4 right among 8 with 4 right: 2 tables of probability 1/70 each.
    assert fisher_p(4, 4, 4, 8) == pytest.approx(2 / 70)
    # 3 of 4: the tables (4, 0), (0, 4), (3, 1), (1, 3): (1 + 1 + 16 + 16) / 70.
    assert fisher_p(3, 4, 4, 8) == pytest.approx(34 / 70)


def test_auc_is_that_of_mann_whitney() -> None:
    rng = np.random.default_rng(0)
    length, gaps = rng.integers(0, 10, 30).astype(float), rng.random(30) < 0.4
    expected = mannwhitneyu(length[gaps], length[~gaps]).statistic / (gaps.sum() * (~gaps).sum())
    assert length_auc(length, gaps) == pytest.approx(expected)


def capped_cell(root: Path, lengths: list[int], reason: str, cap: int | None) -> Caps:
    cell = Cell(id="m/d/only", decision_rule="only", token_cap=cap)
    records = [
        record(cell.id, f"q{i}", [sample(0, "So \\boxed{1}.", completion_tokens=n, finish_reason=reason)])
        for i, n in enumerate(lengths)
    ]
    return caps_of(load(write_release(root, [cell], ["1"] * len(lengths), records)))


def test_cap_hits_by_reason_then_by_declaration_then_by_sight(tmp_path: Path) -> None:
    lengths = [*range(100, 1000, 20), 1024, 1024, 1024, 1024]
    recorded = capped_cell(tmp_path / "a", lengths, "stop", 1024)
    assert (recorded.capped, recorded.cap, recorded.recorded) == (0, None, True)
    declared = capped_cell(tmp_path / "b", lengths, "unknown", 1024)
    assert (declared.capped, declared.cap, declared.recorded) == (4, 1024, False)
    seen = capped_cell(tmp_path / "c", lengths, "unknown", None)
    assert (seen.capped, seen.cap) == (4, 1024)
    odd = capped_cell(tmp_path / "d", [*lengths[:-4], 1023, 1023, 1023, 1023], "unknown", None)
    assert (odd.capped, odd.cap) == (0, None)


def test_a_pile_needs_a_round_length_and_more_than_its_share() -> None:
    rng = np.random.default_rng(2)
    assert pile_up_p(np.append(rng.integers(200, 1000, 100), [1024] * 4)) < 1e-3
    assert pile_up_p(np.append(rng.integers(200, 1000, 100), [1023] * 4)) == 1.0
    assert pile_up_p(np.array([1024] * 30)) == 1.0
    assert pile_up_p(np.append(rng.integers(200, 1000, 100), [1024])) == 1.0


def test_the_shorter_arm_is_the_one_that_was_cut() -> None:
    caps = {
        "a": Caps(150, 9, True, 1024, 1024),
        "b": Caps(150, 0, True, 1800, None),
        "c": Caps(150, 0, True, 900, None),
    }
    assert shorter_arm(caps) == [("a", "b")]
    assert shorter_arm({"a": caps["a"], "c": caps["c"]}) == []


def test_gaps_bounds_and_the_power_of_two(tmp_path: Path) -> None:
    cell = Cell(id="m/d/only", decision_rule="only")
    records = [
        record(cell.id, "q0", [sample(0, "So \\boxed{1}.", completion_tokens=4000)]),
        record(cell.id, "q1", [sample(0, "So \\boxed{2}.", completion_tokens=300)]),
        record(cell.id, "q2", [sample(0, "It cannot be settled.", completion_tokens=9, finish_reason="length")]),
        record(cell.id, "q3", [], status="failed", error="HTTP 400"),
    ]
    data = load(write_release(tmp_path / "r", [cell], ["1"] * 5, records))
    assert gaps_of(data).tolist() == [False, False, False, True, True]
    assert gaps_of(data, capped=True).tolist() == [False, False, True, True, True]
    assert [float(end) for end in bounds(data)] == [0.2, 0.8]
    assert just_under_power_of_two(data) == (4000, 4096)
