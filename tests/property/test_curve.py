import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_statistics import binary_vote, enumerated_curve, enumerated_first_in_draw_order

from verify.statistics.curve import exact_curve
from verify.statistics.montecarlo import monte_carlo_curve
from verify.statistics.pool import Pool, TieRule, UnparsedPolicy

RULES = list(itertools.product(TieRule, UnparsedPolicy))


@st.composite
def raw_pools(draw, most=10):
    """Answers, correctness by class, parsed flags, costs; sometimes two correct classes, sometimes none."""
    size = draw(st.integers(1, most))
    answers = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    right = draw(st.sampled_from([{0}, {0}, {0}, {0, 1}, set()]))
    parsed = draw(st.lists(st.sampled_from([True, True, True, False]), min_size=size, max_size=size))
    costs = draw(st.lists(st.integers(0, 900), min_size=size, max_size=size))
    correct = [a in right and p for a, p in zip(answers, parsed, strict=True)]
    return answers, correct, parsed, costs


def pool_of(raw):
    answers, correct, parsed, costs = raw
    return Pool(answers, correct, parsed=parsed, costs=costs)


def assert_matches_enumeration(raw):
    pool = pool_of(raw)
    sizes = range(1, pool.size + 1)
    truths = {unparsed: enumerated_curve(*raw, unparsed.value, sizes) for unparsed in UnparsedPolicy}
    for ties, unparsed in RULES:
        curve = exact_curve([pool], sizes, ties=ties, unparsed=unparsed)
        # Over unordered subsets `first` is `random`; the enumeration of all orders has its own test below.
        truth = truths[unparsed]["random" if ties is TieRule.FIRST else ties.value]
        for column, size in enumerate(sizes):
            accuracy, cost, joint, variance = (float(x) for x in truth[size])
            assert abs(curve.accuracy[0, column] - accuracy) <= 1e-12, (ties, unparsed, size)
            assert abs(curve.cost[0, column] - cost) <= 1e-12 * max(cost, 1)
            assert abs(curve.cost_correct[0, column] - joint) <= 1e-12 * max(joint, 1), (ties, unparsed, size)
            assert abs(curve.cost_variance[0, column] - variance) <= 1e-10 * max(variance, 1)


@settings(max_examples=200)
@given(raw_pools(most=10))
def test_exact_curve_is_the_enumeration_of_all_subsets(raw):
    assert_matches_enumeration(raw)


@pytest.mark.parametrize("seed", range(6))
def test_exact_curve_is_the_enumeration_of_pools_of_ten(seed):
    rng = np.random.default_rng(seed)
    answers = rng.integers(0, 2 + seed, 10).tolist()
    parsed = (rng.random(10) > 0.2).tolist()
    correct = [a == 0 and p for a, p in zip(answers, parsed, strict=True)]
    assert_matches_enumeration((answers, correct, parsed, rng.integers(1, 900, 10).tolist()))


@settings(max_examples=60)
@given(raw_pools(most=5))
def test_first_in_draw_order_is_the_enumeration_of_all_orders(raw):
    answers, correct, parsed, _ = raw
    for unparsed in UnparsedPolicy:
        curve = exact_curve([pool_of(raw)], range(1, len(answers) + 1), ties=TieRule.FIRST, unparsed=unparsed)
        for size in range(1, len(answers) + 1):
            truth = enumerated_first_in_draw_order(answers, correct, parsed, unparsed.value, size)
            assert abs(curve.accuracy[0, size - 1] - float(truth)) <= 1e-12


@settings(max_examples=60)
@given(st.lists(raw_pools(most=9), min_size=2, max_size=5), st.sampled_from(RULES))
def test_a_batch_is_its_questions_one_by_one(raws, rule):
    ties, unparsed = rule
    pools = [pool_of(raw) for raw in raws]
    sizes = range(1, min(p.size for p in pools) + 1)
    together = exact_curve(pools, sizes, ties=ties, unparsed=unparsed)
    for i, pool in enumerate(pools):
        alone = exact_curve([pool], sizes, ties=ties, unparsed=unparsed)
        np.testing.assert_allclose(together.accuracy[i], alone.accuracy[0], atol=1e-13)
        np.testing.assert_allclose(together.cost_correct[i], alone.cost_correct[0], rtol=1e-12, atol=1e-12)


@settings(max_examples=60)
@given(raw_pools())
def test_wrong_and_right_bracket_every_rule_and_one_answer_needs_no_rule(raw):
    pool = pool_of(raw)
    curves = {t: exact_curve([pool], range(1, pool.size + 1), ties=t).accuracy[0] for t in TieRule}
    for curve in curves.values():
        assert (curves[TieRule.WRONG] <= curve + 1e-12).all()
        assert (curve <= curves[TieRule.RIGHT] + 1e-12).all()
        assert curve[0] == pytest.approx(pool.correct.mean())


@pytest.mark.parametrize("size", [2, 4, 16])
def test_two_answers_under_random_ties_are_as_good_as_one(size):
    pool = Pool([0] * 5 + [1] * 11 + [2] * 2, [True] * 5 + [False] * 13)
    curve = exact_curve([pool], [1, 2, size + 1])
    assert curve.accuracy[0, 1] == pytest.approx(curve.accuracy[0, 0], abs=1e-14)


def test_two_answers_beat_one_where_unparsed_answers_abstain():
    # One right, one unparsed: the pair is decided by the right one alone; a class or a singleton would tie
    # with it.
    pool = Pool([0, 0], [True, False], parsed=[True, False])
    pairs = {u: exact_curve([pool], [1, 2], unparsed=u).accuracy[0].tolist() for u in UnparsedPolicy}
    assert pairs == {
        UnparsedPolicy.ABSTAIN: [0.5, 1.0],
        UnparsedPolicy.CLASS: [0.5, 0.5],
        UnparsedPolicy.SINGLETONS: [0.5, 0.5],
    }


def test_at_two_answers_the_tie_rule_alone_spans_a_wide_range():
    # 7 right of 16, all wrong answers different: pairs of right 21/120; at least one right 84/120 (a single
    # right answer ties with the other).
    pool = Pool([0] * 7 + list(range(1, 10)), [True] * 7 + [False] * 9)
    low = exact_curve([pool], [2], ties=TieRule.WRONG).accuracy[0, 0]
    high = exact_curve([pool], [2], ties=TieRule.RIGHT).accuracy[0, 0]
    assert (low, high) == (pytest.approx(21 / 120), pytest.approx(84 / 120))


@pytest.mark.parametrize(("right", "wrong"), [(400, 500), (500, 500), (700, 800), (530, 500)])
def test_pools_beyond_the_range_of_factorials_agree_with_integer_arithmetic(right, wrong):
    pool = Pool([0] * right + [1] * wrong, [True] * right + [False] * wrong, costs=[3.0] * (right + wrong))
    sizes = [1, 2, 3, 10, 64]
    curve = exact_curve([pool], sizes)
    for column, size in enumerate(sizes):
        truth = float(binary_vote(right, wrong, size))
        assert curve.accuracy[0, column] == pytest.approx(truth, rel=1e-11)
        assert curve.cost_correct[0, column] == pytest.approx(3.0 * size * truth, rel=1e-11)


def test_a_whole_large_pool_is_one_vote():
    pool = Pool([0] * 501 + [1] * 500, [True] * 501 + [False] * 500)
    assert exact_curve([pool], [1, 1000, 1001]).accuracy[0, 1:] == pytest.approx(
        [float(binary_vote(501, 500, 1000)), 1.0], rel=1e-11
    )


@pytest.mark.parametrize(("ties", "unparsed"), RULES)
def test_monte_carlo_lies_within_four_of_its_own_errors(ties, unparsed):
    rng = np.random.default_rng([11, RULES.index((ties, unparsed))])
    pools = []
    for _ in range(40):
        answers = rng.integers(0, 4, 12)
        parsed = rng.random(12) > 0.15
        pools.append(Pool(answers, (answers == 0) & parsed, parsed=parsed, costs=rng.integers(100, 900, 12)))
    sizes = [1, 2, 3, 6, 12]
    exact = exact_curve(pools, sizes, ties=ties, unparsed=unparsed)
    drawn = monte_carlo_curve(pools, sizes, rng=rng, draws=200, ties=ties, unparsed=unparsed)
    gap = np.abs(drawn.mean_accuracy - exact.mean_accuracy)
    assert (gap[:-1] <= 4 * drawn.mean_error[:-1]).all()
    assert (drawn.mean_error[:-1] > 0).all()
    cost_error = np.sqrt(exact.cost_variance.sum(axis=0) / 200) / 40
    assert (np.abs(drawn.mean_cost - exact.mean_cost)[:-1] <= 4 * cost_error[:-1]).all()
    if ties in (TieRule.INDEX, TieRule.WRONG, TieRule.RIGHT):  # the whole pool leaves nothing to chance
        np.testing.assert_allclose(drawn.accuracy[:, -1], exact.accuracy[:, -1], atol=1e-12)


def test_an_all_unparsed_pool_is_wrong_at_every_size():
    pool = Pool([0, 0, 0], [False] * 3, parsed=[False] * 3)
    rng = np.random.default_rng(0)
    for ties, unparsed in RULES:
        assert not exact_curve([pool], [1, 2, 3], ties=ties, unparsed=unparsed).accuracy.any()
        drawn = monte_carlo_curve([pool], [1, 2], rng=rng, draws=5, ties=ties, unparsed=unparsed)
        assert not drawn.accuracy.any()


def test_a_pool_smaller_than_the_vote_is_refused_with_its_number():
    with pytest.raises(ValueError, match="pool 1 holds 2 answers, so no sample of 3"):
        exact_curve([Pool([0] * 3, [True] * 3), Pool([0] * 2, [True] * 2)], [1, 3])


@pytest.mark.parametrize("sizes", [[], [0, 1], [2, 2], [3, 1]])
def test_sizes_must_increase_from_one(sizes):
    with pytest.raises(ValueError, match="increasing whole numbers"):
        exact_curve([Pool([0], [True])], sizes)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"answers": [], "correct": []}, "class ids must be integers"),
        ({"answers": np.zeros(0, int), "correct": []}, "non-empty"),
        ({"answers": [0, 1], "correct": [True]}, "2 entries in 'correct'"),
        ({"answers": [0, 1], "correct": [True, False], "costs": [1.0, np.nan]}, "finite"),
        ({"answers": [0, 1], "correct": [True, False], "costs": [1.0, -2.0]}, "not negative"),
        ({"answers": [0, 1], "correct": [True, False], "parsed": [False, True]}, "unparsed answer cannot"),
        ({"answers": [0, 0], "correct": [True, False]}, "correct throughout"),
    ],
)
def test_a_pool_that_contradicts_itself_is_refused(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        Pool(**fields)
