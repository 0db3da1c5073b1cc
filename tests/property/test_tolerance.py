import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_statistics import bootstrap_law

from verify.statistics.bootstrap import bootstrap_means, bootstrap_p_value, percentile_interval
from verify.statistics.curve import exact_curve
from verify.statistics.interpolation import curve_at_cost
from verify.statistics.montecarlo import monte_carlo_curve
from verify.statistics.outcome import Unverifiable
from verify.statistics.pool import Pool, TieRule
from verify.statistics.tolerance import (
    Tolerance,
    curve_error,
    curve_error_at_cost,
    normal_tolerance,
    p_value_tolerance,
    percentile_tolerance,
)

DIFFERENCES = np.repeat([1.0, -1.0, 0.0], [4, 12, 84])
SMOOTH = np.random.default_rng(2).normal(0.2, 1, 100)


@pytest.mark.parametrize("differences", [DIFFERENCES, SMOOTH], ids=["lattice", "smooth"])
def test_honest_claims_are_admitted_and_shifted_ones_are_not(differences):
    rng = np.random.default_rng(1)
    ours = bootstrap_means(differences, rng=rng, resamples=5000).values[:, 0]
    low = percentile_tolerance(ours, 0.025, claimed_resamples=2000, confidence=0.99)
    high = percentile_tolerance(ours, 0.975, claimed_resamples=2000, confidence=0.99)
    p = p_value_tolerance(ours, claimed_resamples=2000, confidence=0.99)
    plain = p_value_tolerance(ours, claimed_resamples=2000, plus_one=False, confidence=0.99)
    refused = 0
    for _ in range(200):
        theirs = bootstrap_means(differences, rng=rng, resamples=2000).values[:, 0]
        interval = percentile_interval(theirs)
        refused += not low.admits(interval.low, interval.low)
        refused += not high.admits(interval.high, interval.high)
        refused += not p.admits(*[bootstrap_p_value(theirs)] * 2)
        refused += not plain.admits(*[bootstrap_p_value(theirs, plus_one=False)] * 2)
    assert refused <= 4 * 200 * 0.01
    spread = differences.std() / math.sqrt(differences.size)
    assert low.high - low.low < spread  # and it is not so wide that it admits anything
    assert not low.admits(low.low - spread, low.low - spread / 2)
    assert not p.admits(p.high + 0.01, 1.0)


def test_the_range_of_p_holds_the_exact_one():
    law = bootstrap_law(4, 12, 100)
    upper = sum(chance for value, chance in law.items() if value >= 0)
    ours = bootstrap_means(DIFFERENCES, rng=np.random.default_rng(4), resamples=10_000).values[:, 0]
    tolerance = p_value_tolerance(ours, claimed_resamples=10_000)
    assert tolerance.low < 2 * upper < tolerance.high
    assert tolerance.high - tolerance.low < 0.05


def test_shift_widens_both_ranges():
    ours = bootstrap_means(SMOOTH, rng=np.random.default_rng(4), resamples=4000).values[:, 0]
    tight = percentile_tolerance(ours, 0.025, claimed_resamples=4000)
    wide = percentile_tolerance(ours, 0.025, claimed_resamples=4000, shift=0.01)
    assert (wide.low, wide.high) == (pytest.approx(tight.low - 0.01), pytest.approx(tight.high + 0.01))
    p, moved = (p_value_tolerance(ours, claimed_resamples=4000, shift=s) for s in (0.0, 0.05))
    assert moved.low < p.low < p.high < moved.high


def test_without_a_difference_the_claimed_p_is_one():
    assert p_value_tolerance(np.zeros(100), claimed_resamples=100).admits(1.0, 1.0)
    assert not p_value_tolerance(np.zeros(100), claimed_resamples=100).admits(0.5, 0.9)


@pytest.mark.parametrize(("ours", "theirs"), [(20, 10_000), (10_000, 20), (100, 100)])
def test_too_few_resamples_bound_no_extreme_quantile(ours, theirs):
    values = np.random.default_rng(0).normal(size=ours)
    outcome = percentile_tolerance(values, 0.025, claimed_resamples=theirs)
    assert isinstance(outcome, Unverifiable)
    assert "too few" in outcome.reason


def test_a_printed_value_is_an_interval():
    assert Tolerance(0.1, 0.2, 0.99).admits(0.2, 0.3)
    assert Tolerance(0.1, 0.2, 0.99).admits(0.0, 0.1)
    assert not Tolerance(0.1, 0.2, 0.99).admits(0.21, 0.3)
    assert not Tolerance(0.1, 0.2, 0.99).admits(0.0, 0.09)


def pools(rng, count=12):
    found = []
    for _ in range(count):
        answers = rng.integers(0, 4, 12)
        found.append(Pool(answers, answers == 0, costs=rng.integers(50, 900, 12)))
    return found


def test_the_error_of_a_claimed_curve_is_that_of_repeated_runs():
    rng = np.random.default_rng(6)
    data, sizes = pools(rng), [1, 3, 6]
    exact = exact_curve(data, sizes)
    cost = float(exact.mean_cost[0] * 0.4 + exact.mean_cost[1] * 0.6)
    point = curve_at_cost(sizes, exact.mean_cost, exact.mean_accuracy, cost)
    runs, readings = [], []
    for _ in range(250):
        drawn = monte_carlo_curve(data, sizes, rng=rng, draws=20)
        runs.append(drawn.mean_accuracy)
        readings.append(curve_at_cost(sizes, drawn.mean_cost, drawn.mean_accuracy, cost).accuracy)
    # A standard deviation from 250 runs is known to 4.5%.
    np.testing.assert_allclose(np.std(runs, axis=0), curve_error(exact, 20), rtol=0.18)
    fresh = np.std(readings)
    bound = curve_error_at_cost(exact, point, 20)
    assert fresh < bound < 1.6 * fresh  # fresh draws at each size add in squares, the bound adds
    assert point.accuracy == pytest.approx(np.mean(readings), abs=4 * fresh / math.sqrt(250) + 2e-3)


def test_at_a_size_the_error_is_that_of_a_draw_with_its_cost():
    # Two answers, right costs 10 and wrong 30; N = 1: A - s C is 1 - 10 s or -30 s, of variance
    # (1 + 20 s)^2 / 4, with s = (1/2 - 1/2) / 20 under random ties and (1 - 1/2) / 20 when ties are right.
    pool = Pool([0, 1], [True, False], costs=[10.0, 30.0])
    for ties, slope in ((TieRule.RANDOM, 0.0), (TieRule.RIGHT, 0.5 / 20)):
        curve = exact_curve([pool], [1, 2], ties=ties)
        point = curve_at_cost([1, 2], curve.mean_cost, curve.mean_accuracy, 20.0)
        assert point.slope == pytest.approx(slope)
        truth = (1 + 20 * slope) / 2 / math.sqrt(50)
        assert curve_error_at_cost(curve, point, 50) == pytest.approx(truth)


def test_normal_tolerance_and_its_limits():
    tolerance = normal_tolerance(0.5, 0.01, confidence=0.95)
    assert (tolerance.low, tolerance.high) == pytest.approx((0.4804, 0.5196), abs=1e-4)
    with pytest.raises(ValueError, match="at least 1 draw"):
        curve_error(exact_curve([Pool([0], [True])], [1]), 0)


@given(centre=st.floats(-1.0, 1.0), spread=st.floats(0.2, 2.0), shift=st.floats(0.0, 3.0), part=st.floats(-1.0, 1.0))
def test_a_p_value_shifted_by_less_than_the_shift_is_allowed(
    centre: float, spread: float, shift: float, part: float
) -> None:
    """Also where the shift carries the median across zero: p is greatest between the two ends, not at one of them."""
    replicates = np.random.default_rng(0).normal(centre, spread, 2000)
    moved = replicates + part * shift
    tails = (np.count_nonzero(moved <= 0), np.count_nonzero(moved >= 0))
    honest = min(1.0, 2 * (min(tails) + 1) / 2001)
    assert p_value_tolerance(replicates, claimed_resamples=2000, shift=shift).admits(honest, honest)
