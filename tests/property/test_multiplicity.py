import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_statistics import holm_by_closed_testing, romano_wolf_by_steps
from statsmodels.stats.multitest import multipletests

from verify.statistics.bootstrap import bootstrap_means
from verify.statistics.multiplicity import holm, romano_wolf

P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.5, 1.0])), min_size=1, max_size=12)


@settings(max_examples=20)  # statsmodels collects garbage on every call
@given(P_VALUES)
def test_holm_agrees_with_statsmodels(p_values):
    truth = multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(holm(p_values).adjusted, truth, atol=1e-15)


@given(P_VALUES, st.data())
def test_families_are_adjusted_apart(p_values, data):
    families = data.draw(st.lists(st.sampled_from("abc"), min_size=len(p_values), max_size=len(p_values)))
    result = holm(p_values, families=families)
    for name in set(families):
        members = [i for i, f in enumerate(families) if f == name]
        truth = holm_by_closed_testing([p_values[i] for i in members])
        np.testing.assert_allclose(result.adjusted[members], truth, atol=1e-15)
    assert result.families == tuple(families)


@given(P_VALUES, st.data())
def test_adjusted_p_never_falls_when_a_raw_p_rises(p_values, data):
    place = data.draw(st.integers(0, len(p_values) - 1))
    raised = list(p_values)
    raised[place] = data.draw(st.floats(p_values[place], 1))
    assert (holm(raised).adjusted >= holm(p_values).adjusted - 1e-15).all()


def test_holm_by_hand():
    # sorted .01 .02 .04 .3: 4 * .01, 3 * .02, 2 * .04, 1 * .3
    assert holm([0.04, 0.01, 0.3, 0.02]).adjusted == pytest.approx([0.08, 0.04, 0.3, 0.06])
    # the running maximum: 3 * .02 = .06 holds .025 up to it (2 * .025 = .05)
    assert holm([0.02, 0.025, 0.9]).adjusted == pytest.approx([0.06, 0.06, 0.9])


def test_the_holm_floor_of_ten_thousand_resamples_and_36_tests():
    assert holm([2 / 10_001] * 36).adjusted == pytest.approx([0.0072] * 36, abs=5e-5)


@pytest.mark.parametrize("bad", [[0.1, math.nan], [1.2], [-0.1], [[0.1]]])
def test_what_is_no_p_is_refused(bad):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm(bad)


def test_families_must_be_declared_for_every_p():
    with pytest.raises(ValueError, match="2 p-values need as many families, got 1"):
        holm([0.1, 0.2], families=["a"])


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_romano_wolf_agrees_with_a_slow_step_down(seed, columns):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(60, 1))
    replicates = shared + rng.normal(size=(60, columns)) * rng.uniform(0.2, 2, columns)
    estimates = rng.normal(0, 2, columns)
    ours = romano_wolf(estimates, estimates + replicates)
    truth = romano_wolf_by_steps(estimates.tolist(), (estimates + replicates).tolist())
    np.testing.assert_allclose(ours.adjusted, truth, atol=1e-12)


def test_perfectly_dependent_tests_need_no_correction_and_holm_cannot_know():
    differences = np.random.default_rng(1).normal(0.25, 1, 100)
    replicates = bootstrap_means(np.tile(differences[:, None], 5), rng=np.random.default_rng(2), resamples=2000)
    ours = romano_wolf(replicates.estimate, replicates.values).adjusted
    alone = romano_wolf(replicates.estimate[:1], replicates.values[:, :1]).adjusted
    np.testing.assert_allclose(ours, np.repeat(alone, 5), atol=1e-12)
    assert holm(alone.repeat(5)).adjusted[0] == pytest.approx(5 * alone[0])


def test_romano_wolf_keeps_the_family_wise_error():
    rng = np.random.default_rng(3)
    false = 0
    for _ in range(300):
        noise = rng.normal(size=(40, 6)) + rng.normal(size=(40, 1))
        replicates = bootstrap_means(noise, rng=rng, resamples=199)
        false += romano_wolf(replicates.estimate, replicates.values).adjusted.min() <= 0.05
    assert false / 300 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300) + 0.02  # a bootstrap of 40 is slightly liberal


def test_a_column_without_spread_is_never_evidence():
    rng = np.random.default_rng(0)
    replicates = np.column_stack([rng.normal(3, 1, 100), np.ones(100), np.zeros(100)])
    ours = romano_wolf([3.0, 1.0, 0.0], replicates)
    assert ours.no_spread == (1, 2)
    assert ours.adjusted[1:].tolist() == [1.0, 1.0]
    assert ours.adjusted[0] == romano_wolf([3.0], replicates[:, :1]).adjusted[0]


@pytest.mark.parametrize(
    ("estimates", "replicates", "sentence"),
    [
        ([1.0], np.zeros((5, 2)), "one estimate a column"),
        ([1.0], np.zeros((1, 1)), "at least 2 resamples"),
        ([math.nan], np.zeros((5, 1)), "finite"),
    ],
)
def test_replicates_that_do_not_fit_are_refused(estimates, replicates, sentence):
    with pytest.raises(ValueError, match=sentence):
        romano_wolf(estimates, replicates)
