"""Statistics against slow oracles, over random cells that go through files, shards and the grid."""

import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Vote, pass_at_k, plurality_credit
from support import load, record, sample, write_release

from schemas.manifest import Cell
from verify.cells import CellData
from verify.estimates import Unavailable, Value, estimate

GOLD = "5"
ANSWERS = st.one_of(st.none(), st.sampled_from(["5", "6", "7", "8"]))
POOLS = st.lists(st.lists(ANSWERS, min_size=3, max_size=6), min_size=1, max_size=5)


def pool_cell(pools: list[list[str | None]], root: Path, tie_rule: str = "first") -> CellData:
    cell = Cell(id="m/d/pool", decision_rule="plurality", tie_rule=tie_rule)  # type: ignore[arg-type]
    records = [
        record(cell.id, f"q{i}", [sample(j, "no idea" if a is None else f"\\boxed{{{a}}}") for j, a in enumerate(pool)])
        for i, pool in enumerate(pools)
    ]
    return load(write_release(root, [cell], [GOLD] * len(pools), records))


def votes(pool: list[str | None]) -> list[Vote]:
    return [(answer, answer == GOLD) for answer in pool]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(pools=POOLS)
def test_votes_and_passes_equal_the_oracles(pools: list[list[str | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = pool_cell(pools, Path(folder))
    n = len(pools)
    for tie_rule in ("first", "random", "wrong", "right"):
        for unparsed in ("abstain", "class", "singletons"):
            for k in (1, 2, 3):
                shares = [plurality_credit(votes(pool[:k]), tie_rule, unparsed) or Fraction(0) for pool in pools]
                value = estimate(data, "majority_at_k", {"k": k, "tie_rule": tie_rule, "unparsed_policy": unparsed})
                assert isinstance(value, Value)
                assert value.value == sum(shares, Fraction(0)) / n
                bracket = [
                    sum(
                        (plurality_credit(votes(pool[:k]), rule, unparsed) or Fraction(0) for pool in pools),
                        Fraction(0),
                    )
                    for rule in ("wrong", "right")
                ]
                if tie_rule == "random":
                    assert [value.low * n, value.high * n] == bracket
                else:
                    assert value.low == value.value == value.high
    for k in (1, 2, 3):
        value = estimate(data, "pass_at_k", {"k": k})
        assert isinstance(value, Value)
        assert value.value == sum((pass_at_k([a == GOLD for a in pool], k) for pool in pools), Fraction(0)) / n
    everything = [answer for pool in pools for answer in pool]
    value = estimate(data, "mean_over_samples", {})
    assert isinstance(value, Value)
    assert value.value == Fraction(everything.count(GOLD), len(everything))
    assert isinstance(estimate(data, "majority_at_k", {"k": 7}), Unavailable)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(pools=POOLS, data=st.data())
def test_bounds_hold_whatever_a_missing_record_was(pools: list[list[str | None]], data: st.DataObject) -> None:
    """Drop records: the true value must lie within the bounds that are reported without them."""
    gone = data.draw(st.sets(st.integers(0, len(pools) - 1), max_size=len(pools) - 1))
    cell = Cell(id="m/d/pool", decision_rule="plurality")
    with tempfile.TemporaryDirectory() as folder:
        whole = pool_cell(pools, Path(folder) / "whole")
        records = [
            record(
                cell.id, f"q{i}", [sample(j, "no idea" if a is None else f"\\boxed{{{a}}}") for j, a in enumerate(pool)]
            )
            for i, pool in enumerate(pools)
            if i not in gone
        ]
        part = load(write_release(Path(folder) / "part", [cell], [GOLD] * len(pools), records))
    for statistic in ("accuracy", "majority_at_k", "pass_at_k", "unparsed_rate", "correct_count"):
        parameters = {"k": 3} if statistic in ("majority_at_k", "pass_at_k") else {}
        true, seen = estimate(whole, statistic, parameters), estimate(part, statistic, parameters)
        assert isinstance(true, Value)
        assert isinstance(seen, Value)
        assert seen.low <= true.value <= seen.high
        assert seen.total - seen.n == len(gone)
