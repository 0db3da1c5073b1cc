import math

import pytest

from verify.statistics.sign import cluster_sign_test, sign_test


@pytest.mark.parametrize(
    ("negative", "positive", "alternative", "p"),
    [
        (3, 0, "less", 1 / 8),
        (3, 0, "greater", 1.0),
        (3, 0, "two-sided", 1 / 4),
        (2, 1, "less", 4 / 8),
        (0, 3, "two-sided", 1 / 4),
        (1, 1, "two-sided", 1.0),
        (5, 15, "greater", sum(math.comb(20, k) for k in range(15, 21)) / 2**20),
    ],
)
def test_signs_by_hand(negative, positive, alternative, p):
    result = sign_test([-0.5] * negative + [2.0] * positive, alternative=alternative)
    assert result.p_value == pytest.approx(p)
    assert (result.negative, result.positive, result.zero) == (negative, positive, 0)
    assert result.alternative == alternative


def test_zeros_are_counted_apart_and_do_not_vote():
    result = sign_test([0.0, -1.0, -1.0, 0.0], alternative="less")
    assert (result.zero, result.trials, result.p_value) == (2, 2, 0.25)
    assert sign_test([0.0], alternative="two-sided").p_value == 1.0


def test_clusters_count_when_unanimous():
    differences = [-1, -2, -3, -1, 1, -1, 2, 2]
    clusters = ["a", "a", "b", "b", "c", "c", "d", "d"]
    result = cluster_sign_test(differences, clusters, alternative="less")
    assert (result.negative, result.positive, result.mixed, result.clusters) == (2, 1, 1, 4)
    assert result.p_value == pytest.approx((6 + 4 + 1) / 16)


def test_a_zero_makes_a_cluster_mixed():
    assert cluster_sign_test([-1, 0], ["a", "a"], alternative="less").mixed == 1
    assert cluster_sign_test([-1, 0], ["a", "a"], alternative="less").p_value == 1.0


def test_two_sided_clusters_double_the_larger_side():
    assert cluster_sign_test([-1] * 6, range(6), alternative="two-sided").p_value == pytest.approx(2 / 64)


def test_what_has_no_sign_is_refused():
    with pytest.raises(ValueError, match="finite"):
        sign_test([1.0, math.nan], alternative="less")
    with pytest.raises(ValueError, match="2 differences need as many cluster labels, got 1"):
        cluster_sign_test([1.0, 2.0], ["a"], alternative="less")
