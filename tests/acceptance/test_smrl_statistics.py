"""Numbers printed in "Sample More, Reflect Less" (arXiv 2607.28576v1), from the counts that they pin.

Section 5.3 compares a judge with a vote over the same eight samples of 150 questions. Its differences and
intervals fit exactly one pair of discordant counts a setting (judge alone right, vote alone right).
"""

import numpy as np
import pytest
from oracles_statistics import bootstrap_law, law_quantile

from verify.statistics.bootstrap import bootstrap_means, comparison
from verify.statistics.mcnemar import mcnemar
from verify.statistics.multiplicity import holm
from verify.statistics.outcome import Interval
from verify.statistics.sign import cluster_sign_test, sign_test
from verify.statistics.tolerance import p_value_tolerance, percentile_tolerance

QUESTIONS, RESAMPLES = 150, 10_000

# setting: judge alone right, vote alone right, printed difference, low, high (points), rounding interval of p
JUDGE_AGAINST_VOTE = {
    "1.5B/GSM8K": (2, 14, "-8.0", "-13.3", "-3.3", (0.0005, 0.0015)),
    "1.5B/MATH-500": (2, 19, "-11.3", "-17.3", "-6.0", (0.0, 0.001)),
    "3B/GSM8K": (3, 11, "-5.3", "-10.7", "-0.7", (0.0375, 0.0385)),
    "3B/MATH-500": (1, 27, "-17.3", "-24.0", "-11.3", (0.0, 0.001)),
    "7B/GSM8K": (1, 4, "-2.0", "-5.3", "+0.7", (0.2405, 0.2415)),
    "7B/MATH-500": (2, 4, "-1.3", "-4.7", "+2.0", (0.5375, 0.5385)),
}


def replicates_of(judge, vote, seed=0):
    differences = np.repeat([1.0, -1.0, 0.0], [judge, vote, QUESTIONS - judge - vote])
    return bootstrap_means(differences, rng=np.random.default_rng(seed), resamples=RESAMPLES)


@pytest.mark.parametrize("setting", JUDGE_AGAINST_VOTE)
def test_the_pinned_counts_give_the_printed_difference_interval_and_p(setting):
    judge, vote, difference, low, high, p = JUDGE_AGAINST_VOTE[setting]
    replicates = replicates_of(judge, vote)
    assert f"{100 * replicates.estimate[0]:+.1f}" == difference
    values = replicates.values[:, 0]
    for printed, probability in ((low, 0.025), (high, 0.975)):
        tolerance = percentile_tolerance(values, probability, claimed_resamples=RESAMPLES)
        assert tolerance.admits((float(printed) - 0.05) / 100, (float(printed) + 0.05) / 100)
        assert tolerance.high - tolerance.low < 0.014  # at most two steps of 1/150
    for plus_one in (True, False):
        assert p_value_tolerance(values, claimed_resamples=RESAMPLES, plus_one=plus_one).admits(*p)


@pytest.mark.parametrize("setting", JUDGE_AGAINST_VOTE)
def test_the_printed_ends_are_quantiles_of_the_exact_bootstrap_law(setting):
    judge, vote, _, low, high, _ = JUDGE_AGAINST_VOTE[setting]
    law = bootstrap_law(judge, vote, QUESTIONS)
    interval = comparison(replicates_of(judge, vote), 0).percentile
    assert isinstance(interval, Interval)
    for ours, printed, probability in ((interval.low, low, 0.025), (interval.high, high, 0.975)):
        exact = law_quantile(law, probability)
        assert abs(150 * ours - exact) <= 1 + 1e-9
        assert abs(100 * exact / QUESTIONS - float(printed)) < 0.7  # the printed end is at most one step away


def test_3b_gsm8k_is_significant_by_bootstrap_and_not_by_mcnemar():
    judge, vote, *_ = JUDGE_AGAINST_VOTE["3B/GSM8K"]
    bootstrap = comparison(replicates_of(judge, vote), 0)
    exact = mcnemar(judge, vote)
    assert bootstrap.p_value == pytest.approx(0.038, abs=0.006)
    assert exact.p_exact == pytest.approx(0.057, abs=0.0005)
    assert bootstrap.p_value < 0.05 < exact.p_exact
    assert exact.p_mid == pytest.approx(2 * (1 + 14 + 91 + 364 / 2) / 2**14)


def test_swapping_the_counts_is_noticed():
    values = replicates_of(4, 10).values[:, 0]  # one question moved: -4.0 points, no longer the printed p
    assert not p_value_tolerance(values, claimed_resamples=RESAMPLES).admits(0.0375, 0.0385)


def test_few_discordant_questions_are_flagged_at_7b():
    few = [s for s, (b, c, *_) in JUDGE_AGAINST_VOTE.items() if comparison(replicates_of(b, c), 0).few_differences]
    assert few == ["7B/GSM8K", "7B/MATH-500"]


def test_plain_sign_tests_fit_two_sided_and_the_cluster_test_only_one_sided():
    # section 5.1: 14 of 20, p = 0.12; 30 of 36, p < 0.001; 16 of 16, p = 0.0000; 6 of 6 settings, p = 0.0156
    def p_of(negative, total, alternative):
        return sign_test([-1] * negative + [1] * (total - negative), alternative=alternative).p_value

    assert f"{p_of(14, 20, 'two-sided'):.2f}" == "0.12"
    assert f"{p_of(14, 20, 'less'):.2f}" == "0.06"
    assert p_of(30, 36, "two-sided") < 0.001
    assert f"{p_of(16, 16, 'two-sided'):.4f}" == "0.0000"
    clusters = [s for s in range(6) for _ in range(3)]
    assert f"{cluster_sign_test([-1] * 18, clusters, alternative='less').p_value:.4f}" == "0.0156"
    assert f"{cluster_sign_test([-1] * 18, clusters, alternative='two-sided').p_value:.4f}" == "0.0312"


def test_printed_adjusted_p_can_come_from_raw_p_of_ten_thousand_resamples():
    # 7B/GSM8K, a family of four: .026 = 4 * .0065, .032 = 3 * .0107 or so, .190 = 2 * .095, .254
    adjusted = holm([0.254, 0.0065, 0.0107, 0.095]).adjusted
    assert [f"{p:.3f}" for p in adjusted] == ["0.254", "0.026", "0.032", "0.190"]
