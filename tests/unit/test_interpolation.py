import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_statistics import curve_by_hand

from verify.statistics.interpolation import CurvePoint, curve_at_cost, curves_at_costs
from verify.statistics.outcome import Unverifiable

SIZES, COSTS, ACCURACIES = (1, 2, 4), (100.0, 200.0, 400.0), (0.5, 0.5, 0.75)


def test_between_two_sizes_the_curve_is_a_line():
    point = curve_at_cost(SIZES, COSTS, ACCURACIES, 250)
    assert (point.accuracy, point.sizes, point.weight, point.clamped) == (0.5625, (2, 4), 0.25, False)
    assert point.slope == pytest.approx(0.25 / 200)


@pytest.mark.parametrize(("cost", "accuracy"), [(100, 0.5), (200, 0.5), (400, 0.75)])
def test_at_a_size_the_curve_is_itself(cost, accuracy):
    assert curve_at_cost(SIZES, COSTS, ACCURACIES, cost).accuracy == accuracy


def test_below_one_sample_the_curve_is_one_sample():
    point = curve_at_cost(SIZES, COSTS, ACCURACIES, 99)
    assert (point.accuracy, point.clamped, point.slope, point.sizes) == (0.5, True, 0.0, (1, 1))


def test_past_the_pool_nothing_is_extrapolated():
    assert curve_at_cost(SIZES, COSTS, ACCURACIES, 400.1) == Unverifiable(
        "a cost of 400.1 lies beyond the curve, which ends at 400 with N=4"
    )


def test_a_curve_that_starts_at_two_is_not_clamped_below():
    outcome = curve_at_cost((2, 4), COSTS[1:], ACCURACIES[1:], 150)
    assert isinstance(outcome, Unverifiable)
    assert "below the curve" in outcome.reason


def test_a_curve_of_one_size_is_a_point():
    assert curve_at_cost((1,), [100], [0.5], 100).accuracy == 0.5
    assert isinstance(curve_at_cost((1,), [100], [0.5], 101), Unverifiable)


@given(
    st.lists(st.tuples(st.floats(0.1, 9), st.floats(0, 1)), min_size=1, max_size=6),
    st.floats(0, 60),
)
def test_one_curve_and_many_curves_agree_with_a_walk_along_the_segments(steps, cost):
    costs = np.cumsum([s for s, _ in steps])
    accuracies = np.array([a for _, a in steps])
    walk = curve_by_hand(costs, accuracies, cost)
    many = curves_at_costs(costs[None], accuracies[None], np.array([[cost]]))
    assert many.accuracy[0, 0] == pytest.approx(walk, abs=1e-12)
    assert many.unmatched[0] == (cost > costs[-1])
    point = curve_at_cost(range(1, len(steps) + 1), costs, accuracies, cost)
    if isinstance(point, CurvePoint):
        assert point.accuracy == pytest.approx(walk, abs=1e-12)
        assert point.cost == cost
    else:
        assert cost > costs[-1]


@pytest.mark.parametrize("cost", [0.0, 5.0])
def test_a_resample_without_increasing_cost_counts_as_unmatched(cost):
    reading = curves_at_costs(np.zeros((1, 3)), np.array([[0.1, 0.2, 0.3]]), np.array([[cost]]))
    assert reading.unmatched.tolist() == [1]
    assert np.isfinite(reading.accuracy).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (((1, 2), [100], [0.5, 0.6], 100), "2 sizes needs as many"),
        (((), [], [], 100), "0 sizes"),
        (((1, 2), [100, 100], [0.5, 0.6], 100), "must increase"),
        (((1, 2), [100, 200], [0.5, math.nan], 100), "finite"),
        (((1, 2), [100, 200], [0.5, 0.6], math.inf), "finite"),
    ],
)
def test_a_curve_that_is_none_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        curve_at_cost(*arguments)
