from itertools import combinations
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.statistics.cost import (
    Price,
    completion_tokens,
    expected_longest,
    flops,
    money,
    reward_flops,
    sequential_latency,
    total_tokens,
)

# Question 0: a debate of three agents over two rounds, question 1: one call, question 2: no call at all.
# The rows are out of order on purpose.
RECORD = [0, 1, 0, 0, 0, 0, 0]
ROUND = [1, 0, 0, 0, 1, 0, 1]
PROMPT = [50, 7, 10, 10, 50, 10, 50]
COMPLETION = [5, 100, 20, 40, 30, 30, 25]


def test_tokens_are_summed_by_record():
    assert completion_tokens(RECORD, COMPLETION, 3).tolist() == [150, 100, 0]
    assert total_tokens(RECORD, PROMPT, COMPLETION, 3).tolist() == [330, 107, 0]


def test_latency_takes_the_longest_call_of_each_round():
    # question 0: max(20, 40, 30) + max(5, 30, 25)
    assert sequential_latency(RECORD, ROUND, COMPLETION, 3).tolist() == [70, 100, 0]


def test_rounds_need_not_be_numbered_from_zero_and_chains_add_up():
    assert sequential_latency([0, 0, 0], [9, -2, 4], [1, 10, 100], 1).tolist() == [111]


def test_equal_rounds_of_neighbouring_records_stay_apart():
    assert sequential_latency([0, 1], [0, 0], [3, 5], 2).tolist() == [3, 5]


def test_money_prices_reading_and_writing_apart():
    price = Price(per_million_prompt=2.0, per_million_completion=10.0, currency="USD")
    # question 0: 180 read and 150 written
    assert money(RECORD, PROMPT, COMPLETION, 3, price=price)[0] == pytest.approx((180 * 2 + 150 * 10) / 1e6)


def test_flops_are_two_a_parameter_and_token():
    assert flops(RECORD, PROMPT, COMPLETION, 3, parameters=1.5e9).tolist() == [
        2 * 1.5e9 * 330,
        2 * 1.5e9 * 107,
        0,
    ]
    assert reward_flops([0, 0], [100, 50], 2, parameters=7e9).tolist() == [2 * 7e9 * 150, 0]


def test_flops_of_a_long_run_of_a_large_model_do_not_overflow():
    assert flops([0], [10**7], [10**7], 1, parameters=1e12)[0] == pytest.approx(4e19)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=7))
def test_longest_of_n_is_the_mean_over_all_subsets(costs):
    sizes = range(1, len(costs) + 1)
    truth = [mean(max(s) for s in combinations(costs, n)) for n in sizes]
    np.testing.assert_allclose(expected_longest(costs, sizes), truth, rtol=1e-10, atol=1e-10)


def test_longest_of_n_in_a_large_pool():
    # costs 1 .. K: E[max of N] = N (K + 1) / (N + 1)
    assert expected_longest(np.arange(1, 3001), [1, 500, 3000]) == pytest.approx([1500.5, 500 * 3001 / 501, 3000])


def test_no_generation_costs_nothing():
    assert completion_tokens([], [], 2).tolist() == [0, 0]
    assert sequential_latency(np.array([], int), np.array([], int), [], 1).tolist() == [0]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: completion_tokens([0], [np.nan], 1), "known"),
        (lambda: completion_tokens([0], [-1], 1), "not negative"),
        (lambda: completion_tokens([0, 1], [3], 2), "2 generations need as many completion"),
        (lambda: completion_tokens([2], [3], 2), "between 0 and 1"),
        (lambda: completion_tokens([-1], [3], 2), "between 0 and 1"),
        (lambda: completion_tokens([0.5], [3], 2), "whole number of its record"),
        (lambda: sequential_latency([0], [0.5], [3], 2), "whole number of its round"),
        (lambda: flops([0], [1], [1], 1, parameters=0), "positive"),
        (lambda: reward_flops([0], [1], 1, parameters=float("nan")), "positive"),
        (lambda: Price(-1, 0, "USD"), "price"),
        (lambda: expected_longest([], [1]), "non-empty"),
        (lambda: expected_longest([1, 2], [3]), "between 1 and the pool's 2"),
    ],
)
def test_costs_that_are_not_known_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
