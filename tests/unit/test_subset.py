import numpy as np
import pytest

from verify.statistics.control import greedy_against_one_sample
from verify.statistics.outcome import Unverifiable
from verify.statistics.subset import SubsetDifference, complete_cases, difference_within, split_by_level

SIZES = (1, 2)
CURVE_COST = np.array([[100, 200], [100, 200], [300, 600], [300, 600]], float)
CURVE_ACCURACY = np.array([[1, 1], [0.5, 1], [0, 0.5], [0, 0]], float)
METHOD_COST = np.array([150, 150, 450, 300], float)
METHOD_ACCURACY = np.array([1, 1, 0, 1], float)


def within(subset, **options):
    return difference_within(subset, SIZES, CURVE_COST, CURVE_ACCURACY, METHOD_COST, METHOD_ACCURACY, **options)


def test_complete_cases_need_every_method_and_every_sample():
    pool = [[True, True], [True, False], [True, True], [True, True]]
    subset = complete_cases([True, True, False, True], pool)
    assert subset.keep.tolist() == [True, False, False, True]
    assert subset.questions == 2


def test_levels_are_read_in_their_own_bins():
    easy, hard = split_by_level([1, 3, 2, 5], {"easy": (1, 2), "hard": (3, 4, 5)})
    assert (easy.name, easy.keep.tolist()) == ("easy", [True, False, True, False])
    assert (hard.name, hard.questions) == ("hard", 2)


@pytest.mark.parametrize("bins", [{"easy": (1,)}, {"easy": (1, 2), "hard": (2, 3)}])
def test_a_level_in_no_bin_or_in_two_is_refused(bins):
    with pytest.raises(ValueError, match="level 2 belongs to"):
        split_by_level([1, 2], bins)


def test_a_subset_is_matched_at_its_own_cost_or_at_the_whole_weight():
    easy, hard = split_by_level([1, 1, 2, 2], {"easy": (1,), "hard": (2,)})
    # easy: cost 150 on a curve 100 .. 200 from .75 to 1; weight .5, reading .875, method 1
    assert within(easy).difference == pytest.approx(0.125)
    # hard: cost 375 on a curve 300 .. 600 from 0 to .25; weight .25, reading .0625, method .5
    assert within(hard).difference == pytest.approx(0.4375)
    # overall: cost 262.5 on 200 .. 400; weight .3125
    assert within(easy, matched="overall").difference == pytest.approx(1 - (0.75 + 0.25 * 0.3125))
    assert within(hard, matched="overall").difference == pytest.approx(0.5 - 0.25 * 0.3125)


def test_differences_at_the_whole_weight_average_to_the_whole():
    easy, hard = split_by_level([1, 2, 2, 2], {"easy": (1,), "hard": (2,)})
    whole = complete_cases([True] * 4)
    parts = [within(s, matched="overall") for s in (easy, hard)]
    mean = sum(p.questions * p.difference for p in parts) / 4
    assert mean == pytest.approx(within(whole).difference)
    assert isinstance(parts[0], SubsetDifference)


def test_an_empty_subset_and_a_cost_beyond_its_curve_are_unverifiable():
    empty = complete_cases([False] * 4)
    assert within(empty) == Unverifiable("the subset 'complete' holds no question")
    only = complete_cases([True, False, False, False])
    outcome = difference_within(only, SIZES, CURVE_COST, CURVE_ACCURACY, METHOD_COST * 2, METHOD_ACCURACY)
    assert isinstance(outcome, Unverifiable)


def test_unequal_question_sets_are_refused():
    with pytest.raises(ValueError, match="the same questions"):
        within(complete_cases([True] * 3))
    with pytest.raises(ValueError, match="same questions"):
        complete_cases([True], [True, False])
    with pytest.raises(ValueError, match="not over the same questions"):
        greedy_against_one_sample([1, 0], [[1, 0]] * 3, rng=np.random.default_rng(0))


def test_greedy_is_compared_with_the_share_of_right_samples():
    replicates = greedy_against_one_sample(
        [1, 0, 1], [[1, 0], [0, 0], [1, 1]], rng=np.random.default_rng(0), resamples=10
    )
    assert replicates.estimate[0] == pytest.approx(0.5 / 3)
    assert replicates.nonzero[0] == 1
