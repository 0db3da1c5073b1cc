import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_statistics import bootstrap_law, curve_by_hand, law_quantile
from scipy import stats

from verify.statistics.bootstrap import (
    bootstrap_means,
    bootstrap_p_value,
    comparison,
    percentile_interval,
    resample_weights,
    studentised_interval,
    weight_chunks,
)
from verify.statistics.equalcost import Design, bootstrap_at_equal_cost
from verify.statistics.interpolation import CurvePoint
from verify.statistics.outcome import Interval, NoInterval, Unverifiable


class Replay(np.random.Generator):
    """Hands out recorded picks, so that SciPy and we resample the same questions."""

    def __init__(self, picks):
        super().__init__(np.random.PCG64(0))
        self.picks, self.place = picks, 0

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        rows = self.picks[self.place : self.place + size[0]]
        assert rows.shape == tuple(size)
        self.place += size[0]
        return rows.astype(dtype)


def test_weights_count_the_picks():
    picks = np.array([[0, 0, 2], [1, 2, 1]])
    np.testing.assert_array_equal(resample_weights(3, 2, rng=Replay(picks)), [[2, 0, 1], [0, 2, 1]])


def test_chunks_cover_every_resample_once():
    rows = [(r.start, r.stop, w.shape) for r, w in weight_chunks(5000, 40, rng=np.random.default_rng(0))]
    assert [r[0] for r in rows[1:]] == [r[1] for r in rows[:-1]]
    assert (rows[0][0], rows[-1][1]) == (0, 40)
    assert all(shape == (stop - start, 5000) for start, stop, shape in rows)
    assert len(rows) > 1


@pytest.mark.parametrize("questions", [70_000, 65_536, 2])
def test_every_question_can_be_drawn_and_a_resample_is_complete(questions):
    weights = resample_weights(questions, 6, rng=np.random.default_rng(1))
    assert (weights.sum(axis=1) == questions).all()
    assert weights[:, -1000:].any()
    # A question is left out of one resample with chance about 1/e.
    if questions > 2:
        assert (weights == 0).mean() == pytest.approx(math.exp(-1), abs=0.01)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_intervals_agree_with_scipy_on_the_same_resamples(level):
    rng = np.random.default_rng(5)
    differences = np.column_stack([rng.integers(-1, 2, 150), rng.normal(0.3, 1, 150)]).astype(float)
    picks = rng.integers(0, 150, (4000, 150))
    ours = bootstrap_means(differences, rng=Replay(picks), resamples=4000)
    for column in range(2):
        theirs = stats.bootstrap(
            (differences[:, column],),
            np.mean,
            n_resamples=4000,
            confidence_level=level,
            method="percentile",
            rng=Replay(picks),
        )
        np.testing.assert_allclose(ours.values[:, column], theirs.bootstrap_distribution, atol=1e-14)
        interval = percentile_interval(ours.values[:, column], level)
        assert interval.low == pytest.approx(theirs.confidence_interval.low, abs=1e-14)
        assert interval.high == pytest.approx(theirs.confidence_interval.high, abs=1e-14)
        mean = differences[:, column].mean()
        assert ours.error[column] == pytest.approx(stats.sem(differences[:, column]))
        distribution = theirs.bootstrap_distribution.round(12)
        sides = min((distribution <= 0).sum(), (distribution >= 0).sum())
        assert bootstrap_p_value(ours.values[:, column]) == min(1, 2 * (sides + 1) / 4001)
        t = [
            (d.mean() - mean) / stats.sem(d) for d in differences[picks[:200], column]
        ]  # each resample studentised from its own numbers
        np.testing.assert_allclose(ours.studentised[:200, column], t, rtol=1e-9, atol=1e-12)


def test_studentised_interval_reverses_the_quantiles():
    # t = -3 .. 3 in steps: the 0.25 and 0.75 order statistics of five are -1 and 2; 10 - 2*2, 10 - (-1)*2.
    assert studentised_interval(10.0, 2.0, [3.0, -3.0, 2.0, -1.0, 0.5], level=0.5) == Interval(
        6.0, 12.0, 0.5, "bootstrap-t"
    )


@pytest.mark.parametrize(
    ("values", "with_one", "without"),
    [
        # 1 of 9 at or below zero: 2 (1 + 1) / 10, 2 (1) / 9
        ([-1, 1, 1, 1, 1, 1, 1, 1, 1], 0.4, 2 / 9),
        # exact zeros, off by rounding, count on both sides: 3 of 9 at or below
        ([-1, 1e-17, -1e-17, 1, 1, 1, 1, 1, 1], 0.8, 6 / 9),
        ([1] * 9, 0.2, 0.0),
        ([0] * 9, 1.0, 1.0),
    ],
)
def test_p_counts_both_tails_with_ties(values, with_one, without):
    assert bootstrap_p_value(values) == pytest.approx(with_one)
    assert bootstrap_p_value(values, plus_one=False) == pytest.approx(without)
    assert bootstrap_p_value(-np.array(values)) == pytest.approx(with_one)


def test_rounded_sums_do_not_move_a_p():
    # +-0.1 and 0.3 on 4 questions: many resamples sum to an exact zero that floats miss.
    differences = np.array([0.1, 0.2, -0.3, 0.1, -0.1, 0.1, -0.2, 0.3, -0.1, 0.2])
    replicates = bootstrap_means(differences, rng=np.random.default_rng(3), resamples=3000)
    tenths = [round(10 * differences @ w) for w in resample_weights(10, 3000, rng=np.random.default_rng(3))]
    sides = min(sum(t <= 0 for t in tenths), sum(t >= 0 for t in tenths))
    assert bootstrap_p_value(replicates.values[:, 0]) == 2 * (sides + 1) / 3001


def test_bootstrap_of_signs_follows_the_exact_law():
    differences = np.repeat([1.0, -1.0, 0.0], [3, 11, 136])
    law = bootstrap_law(3, 11, 150)
    result = comparison(bootstrap_means(differences, rng=np.random.default_rng(8), resamples=40_000), 0)
    upper = sum(p for value, p in law.items() if value >= 0)
    assert result.p_value == pytest.approx(2 * upper, abs=4 * 2 * math.sqrt(upper / 40_000))
    assert round(150 * result.percentile.low) == law_quantile(law, 0.025)
    assert round(150 * result.percentile.high) == law_quantile(law, 0.975)
    assert (result.nonzero, result.few_differences, result.questions) == (14, False, 150)


def test_without_a_difference_there_is_no_interval_and_p_is_one():
    result = comparison(bootstrap_means(np.zeros(20), rng=np.random.default_rng(0), resamples=50), 0)
    assert isinstance(result.percentile, NoInterval)
    assert isinstance(result.studentised, NoInterval)
    assert (result.p_value, result.p_value_plain, result.error, result.nonzero) == (1.0, 1.0, 0.0, 0)
    assert result.few_differences


@pytest.mark.parametrize("constant", [0.1, 1.0, -0.3])
def test_the_same_difference_everywhere_has_no_spread(constant):
    result = comparison(bootstrap_means([constant] * 7, rng=np.random.default_rng(0), resamples=50), 0)
    assert isinstance(result.percentile, NoInterval)
    assert isinstance(result.studentised, NoInterval)
    assert result.estimate == pytest.approx(constant)


def test_one_difference_in_many_questions_cannot_be_studentised():
    # A third of the resamples miss the one question, and then hold no spread at all.
    result = comparison(bootstrap_means([1.0] + [0.0] * 99, rng=np.random.default_rng(0), resamples=400), 0)
    assert isinstance(result.studentised, NoInterval)
    assert isinstance(result.percentile, Interval)
    assert result.few_differences


@pytest.mark.parametrize(
    ("differences", "resamples", "sentence"),
    [
        ([1.0], 10, "at least 2 of them, got 1"),
        ([], 10, "at least 2 of them, got 0"),
        ([1.0, math.nan], 10, "finite"),
        ([1.0, 0.0], 0, "at least 1 resample"),
        (np.zeros((2, 2, 2)), 10, "shape"),
    ],
)
def test_what_cannot_be_resampled_is_refused(differences, resamples, sentence):
    with pytest.raises(ValueError, match=sentence):
        bootstrap_means(differences, rng=np.random.default_rng(0), resamples=resamples)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_a_level_is_a_fraction(level):
    with pytest.raises(ValueError, match="confidence level"):
        percentile_interval([1.0, 2.0], level)


def equal_cost_data(seed, questions=40):
    rng = np.random.default_rng(seed)
    sizes = (1, 2, 4, 8)
    per_sample = rng.uniform(100, 500, questions)
    curve_cost = per_sample[:, None] * np.array(sizes)
    difficulty = rng.uniform(0.2, 1, questions)
    curve_accuracy = difficulty[:, None] ** (1 / np.array(sizes))
    method_cost = per_sample[:, None] * rng.uniform([0.5, 1, 3], [0.9, 3, 9], (questions, 3))
    method_accuracy = (rng.random((questions, 3)) < difficulty[:, None]).astype(float)
    return sizes, curve_cost, curve_accuracy, method_cost, method_accuracy


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_reestimated_replicates_match_a_loop_over_resamples(seed):
    sizes, x, y, c, a = equal_cost_data(seed)
    result = bootstrap_at_equal_cost(sizes, x, y, c, a, rng=np.random.default_rng(seed), resamples=30)
    for b, w in enumerate(resample_weights(40, 30, rng=np.random.default_rng(seed))):
        for place, column in enumerate(result.columns):
            expected = w @ a[:, column] / 40 - curve_by_hand(w @ x / 40, w @ y / 40, w @ c[:, column] / 40)
            assert result.replicates.values[b, place] == pytest.approx(expected, abs=1e-12)
            past = w @ c[:, column] > w @ x[:, -1]
            assert past <= result.unmatched[place]


def test_fixed_weights_are_those_of_the_sample():
    sizes, x, y, c, a = equal_cost_data(4)
    result = bootstrap_at_equal_cost(sizes, x, y, c, a, rng=np.random.default_rng(2), resamples=50, design=Design.FIXED)
    weights = resample_weights(40, 50, rng=np.random.default_rng(2))
    mean_x = x.mean(axis=0)
    for column in range(3):
        cost = c[:, column].mean()
        baseline = np.array([curve_by_hand(mean_x, row, cost) for row in y])
        np.testing.assert_allclose(
            result.replicates.values[:, column], weights @ (a[:, column] - baseline) / 40, atol=1e-12
        )


def test_standard_error_of_the_match_agrees_with_the_jackknife():
    rng = np.random.default_rng(9)
    sizes, n = (1, 4, 8), 150
    length = rng.uniform(100, 300, n)
    x = length[:, None] * np.array(sizes)
    y = np.clip(rng.uniform(-0.2, 0.2, (n, 1)) + np.array([0.3, 0.6, 0.9]), 0, 1)  # steep: 0.1 a sample
    right = rng.random(n) < 0.5
    retries = rng.geometric(np.where(right, 0.8, 0.15))  # costly where it fails
    c, a = np.minimum(length * retries, 5000), right.astype(float)
    result = bootstrap_at_equal_cost(sizes, x, y, c, a, rng=np.random.default_rng(0), resamples=2)
    left_out = []
    for q in range(n):
        keep = np.arange(n) != q
        reading = curve_by_hand(x[keep].mean(axis=0), y[keep].mean(axis=0), c[keep].mean())
        left_out.append(a[keep].mean() - reading)
    spread = np.array(left_out) - np.mean(left_out)
    jackknife = math.sqrt((n - 1) / n * (spread @ spread))
    assert result.replicates.error[0] == pytest.approx(jackknife, rel=0.02)
    fixed = bootstrap_at_equal_cost(sizes, x, y, c, a, rng=np.random.default_rng(0), resamples=2, design=Design.FIXED)
    assert fixed.replicates.error[0] < 0.8 * jackknife


def test_a_method_beyond_the_curve_is_unverifiable_and_the_others_stand():
    sizes, x, y, c, a = equal_cost_data(1)
    c[:, 1] = 100 * c[:, 1]
    result = bootstrap_at_equal_cost(sizes, x, y, c, a, rng=np.random.default_rng(0), resamples=200)
    outcomes = result.comparisons()
    assert isinstance(outcomes[1], Unverifiable)
    assert "beyond the curve" in outcomes[1].reason
    assert result.columns == (0, 2)
    assert outcomes[0].estimate == pytest.approx(a[:, 0].mean() - y[:, 0].mean())  # clamped at N=1
    assert isinstance(result.points[0], CurvePoint)
    assert result.points[0].clamped
    alone = bootstrap_at_equal_cost(sizes, x, y, c[:, 1], a[:, 1], rng=np.random.default_rng(0), resamples=200)
    assert isinstance(alone.comparisons()[0], Unverifiable)


def test_a_method_at_the_end_of_the_curve_leaves_it_in_too_many_resamples():
    sizes, x, y, _, a = equal_cost_data(1)
    swapped = np.roll(x[:, -1], 1)  # the same mean cost as N = 8, on other questions
    result = bootstrap_at_equal_cost(sizes, x, y, swapped, a[:, 0], rng=np.random.default_rng(0), resamples=200)
    assert isinstance(result.points[0], CurvePoint)
    assert 50 < result.unmatched[0] < 150
    outcome = result.comparisons()[0]
    assert isinstance(outcome, Unverifiable)
    assert "resamples" in outcome.reason


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda x, y, c, a: (x[:-1], y[:-1], c, a), "39 questions and the methods 40"),
        (lambda x, y, c, a: (x, y[:, 1:], c, a), "one shape each"),
        (lambda x, y, c, a: (x, y, c * math.nan, a), "finite"),
        (lambda x, y, c, a: (x[:, ::-1], y, c, a), "must increase"),
        (lambda x, y, c, a: (x[:1], y[:1], c[:1], a[:1]), "at least 2"),
    ],
)
def test_data_that_cannot_be_paired_is_refused(change, sentence):
    sizes, *arrays = equal_cost_data(0)
    with pytest.raises(ValueError, match=sentence):
        bootstrap_at_equal_cost(sizes, *change(*arrays), rng=np.random.default_rng(0), resamples=5)


def test_same_generator_state_same_resamples_across_settings():
    sizes, x, y, c, a = equal_cost_data(3)
    whole = bootstrap_at_equal_cost(sizes, x, y, c, a, rng=np.random.default_rng(6), resamples=20)
    part = bootstrap_at_equal_cost(sizes, x, y, c[:, 1], a[:, 1], rng=np.random.default_rng(6), resamples=20)
    np.testing.assert_allclose(whole.replicates.values[:, 1], part.replicates.values[:, 0], atol=1e-12)
