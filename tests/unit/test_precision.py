import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import normal_power

from verify.statistics.precision import clustered_error, detectable_effect, paired_error, power_of


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=30))
def test_paired_error_is_the_standard_error_of_the_mean(differences):
    result = paired_error(differences)
    assert result.error == pytest.approx(stats.sem(differences), abs=1e-12)
    assert result.mean == pytest.approx(np.mean(differences))
    alone = clustered_error(differences, range(len(differences)))
    assert alone.error == pytest.approx(result.error, abs=1e-12)


def test_clusters_add_their_inner_products():
    # differences 1, 1, -1, -1 in two clusters of equals; mean 0.
    # squares 4 / (4 * 3), inner products (1 + 1 + 1 + 1) / 16
    result = clustered_error([1, 1, -1, -1], ["a", "a", "b", "b"])
    assert result.error == pytest.approx(math.sqrt(1 / 3 + 1 / 4))
    assert (result.clusters, result.questions) == (2, 4)
    # the same differences in clusters that cancel
    assert clustered_error([1, 1, -1, -1], ["a", "b", "a", "b"]).error == pytest.approx(math.sqrt(1 / 3 - 1 / 4))


def test_copies_of_questions_are_no_new_questions():
    rng = np.random.default_rng(0)
    once = rng.normal(size=400)
    copied = clustered_error(np.repeat(once, 5), np.repeat(np.arange(400), 5).tolist())
    assert copied.error == pytest.approx(paired_error(once).error, rel=0.01)


def test_detectable_effect_and_power_are_inverse():
    assert power_of(detectable_effect(2.6), 2.6) == pytest.approx(0.8, abs=1e-4)
    assert power_of(0.0, 2.6) == pytest.approx(0.05)
    assert power_of(5.0, 2.6) == pytest.approx(normal_power(5.0 / 2.6, 1, 0.05), abs=1e-9)


def test_smrl_could_detect_seven_points_not_five():
    # median standard error 2.6 points at n = 150 (SMRL section 4.6)
    assert detectable_effect(2.6) == pytest.approx(7.3, abs=0.05)
    assert 0.48 < power_of(5.0, 2.6) < power_of(5.5, 2.6) < 0.57


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: paired_error([1.0]), "at least 2 questions, got 1"),
        (lambda: paired_error([1.0, math.nan]), "finite"),
        (lambda: clustered_error([1.0, 2.0], ["a", "a"]), "at least 2 clusters"),
        (lambda: clustered_error([1.0, 2.0], ["a"]), "as many cluster labels"),
        (lambda: detectable_effect(0.0), "positive"),
        (lambda: detectable_effect(1.0, alpha=0.0), "alpha"),
        (lambda: detectable_effect(1.0, power=1.0), "power"),
        (lambda: power_of(1.0, math.nan), "positive"),
    ],
)
def test_what_has_no_precision_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
