"""Printed strings as intervals, the grammar, and exact tests: by hand and by brute force."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.claims import Rounding
from verify.consistency import exact
from verify.consistency.grammar import GrammarError, parse, unparse
from verify.consistency.lattice import counts, fitting, pass_chance
from verify.consistency.pairs import replay, resampled_gap
from verify.consistency.values import Interval, add, divide, multiply, parse_value, subtract

F = Fraction


@pytest.mark.parametrize(
    ("text", "rounding", "low", "high"),
    [
        ("72.0", "nearest", F(7195, 100), F(7205, 100)),
        ("+1.9", "nearest", F(185, 100), F(195, 100)),
        ("~300", "nearest", F(200), F(400)),
        ("~25", "nearest", F(20), F(30)),
        ("1..10", "nearest", F(1, 2), F(21, 2)),
        ("<0.001", "nearest", None, F(1, 1000)),
        ("≥10", "nearest", F(10), None),
    ],
)
def test_printed_strings(text: str, rounding: Rounding, low: F | None, high: F | None) -> None:
    value = parse_value(text, rounding)
    if low is None or high is None:
        assert (value.low, value.high) == (low, pytest.approx(high))
    else:
        assert (value.low, value.high) == (low, high)


def test_cut_whole_numbers_are_exact_and_zero_may_be_a_cut_negative() -> None:
    assert not parse_value("14", "down").meets(Interval(F(15), F(15)))
    assert parse_value("14", "down").meets(Interval(F(1499, 100), F(1499, 100)))
    assert parse_value("0.0", "down").meets(Interval(F(-9, 100), F(-9, 100)))


@pytest.mark.parametrize("text", ["", "abc", "5..2", "~", "1/0", "9" * 31, "nan"])
def test_what_is_no_number_says_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"number|range"):
        parse_value(text, "nearest")


RATIONAL = st.fractions(min_value=-50, max_value=50, max_denominator=20)


@st.composite
def intervals(draw: st.DrawFn) -> tuple[Interval, F]:
    """An interval (an end may be missing) and a point of it."""
    low, high = sorted((draw(RATIONAL), draw(RATIONAL)))
    share = draw(st.fractions(min_value=0, max_value=1, max_denominator=7))
    ends = draw(st.sampled_from(["both", "both", "low", "high"]))
    return Interval(low if ends != "high" else None, high if ends != "low" else None), low + (high - low) * share


@given(intervals(), intervals())
def test_arithmetic_never_loses_a_point(a: tuple[Interval, F], b: tuple[Interval, F]) -> None:
    (left, x), (right, y) = a, b
    for result, value in ((add(left, right), x + y), (subtract(left, right), x - y), (multiply(left, right), x * y)):
        assert result.meets(Interval(value, value))
    quotient = divide(left, right)
    if y != 0:
        assert quotient is not None
        assert quotient.meets(Interval(x / y, x / y))


def test_arithmetic_of_ends() -> None:
    assert multiply(Interval(F(-2), F(3)), Interval(F(-5), F(7))) == Interval(F(-15), F(21))
    assert divide(Interval(F(1), F(2)), Interval(F(-4), F(-2))) == Interval(F(-1), F(-1, 4))
    assert divide(Interval(F(1), F(2)), Interval(F(0), F(0))) is None
    assert divide(Interval(F(1), F(2)), Interval(F(-1), F(1))) == Interval(None, None)


@pytest.mark.parametrize(
    ("source", "canonical"),
    [
        ("1+2*3", "1 + (2 * 3)"),
        ("-a - -b", "(-a) - (-b)"),
        ("count(t, not x < 0.5 and [odd name] = 'a b')", "count(t, (not (x < 0.5)) and ([odd name] = 'a b'))"),
        ("a or b and c", "a or (b and c)"),
        ("at(t, x, A = ^A)", "at(t, x, A = ^A)"),
    ],
)
def test_grammar(source: str, canonical: str) -> None:
    assert unparse(parse(source)) == canonical
    assert parse(canonical) == parse(source)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "1 +",
        "(1",
        "f(1",
        "1 2",
        "a ** b",
        "__import__('os').system('x')",
        "a; b",
        "x = 1 = 2",
        "^",
        "(" * 200 + "1" + ")" * 200,
        "+".join(["1"] * 400),
        "a" * 3000,
        "lambda: 0",
        "[x for x in y]" + "[",
    ],
)
def test_what_is_no_expression_says_where(source: str) -> None:
    with pytest.raises(GrammarError):
        parse(source)


def test_a_share_is_a_whole_number_of_questions() -> None:
    # 1237/1319 = 93.783 and 1238/1319 = 93.859, so no count prints 93.80.
    assert len(counts(parse_value("93.80", "nearest"), 1319, 100)) == 0
    # 147/253 = .58103 and 148/253 = .58498.
    assert len(counts(parse_value(".582", "nearest"), 253, 1)) == 0
    assert list(counts(parse_value("72.0", "nearest"), 150, 100)) == [108]


@pytest.mark.parametrize(("n", "percent"), [(30, 3), (150, 15), (500, 50)])
def test_chance_of_an_arbitrary_decimal(n: int, percent: int) -> None:
    assert round(100 * pass_chance(n, 1, 100)) == percent


def test_sizes_that_fit_by_enumeration() -> None:
    value = parse_value("33.3", "nearest")
    fits = fitting(value, 40, 100)
    for n in range(1, 41):
        assert fits[n] == any(abs(F(100 * k, n) - F(333, 10)) <= F(1, 20) for k in range(n + 1))


def test_sign_test_by_enumeration() -> None:
    flips = [sum(flip) for flip in product((0, 1), repeat=6)]
    assert exact.sign_test(6, 6, sides=1) == F(1, 64) == F(sum(f >= 6 for f in flips), 64)
    assert exact.sign_test(5, 6) == F(2 * sum(f >= 5 for f in flips), 64)
    assert float(exact.sign_test(14, 20)) == pytest.approx(0.1153, abs=5e-5)  # tables of the binomial
    assert float(exact.mcnemar(3, 11)) == pytest.approx(2 * sum(comb(14, i) for i in range(4)) / 2**14)
    assert exact.mid_p(4, 4) == 1
    assert exact.mid_p(3, 11) == exact.mcnemar(3, 11) - F(comb(14, 3), 2**14)


def _holm(p_values: list[F]) -> list[F]:
    """Holm by its definition: adjusted p is the greatest of (m − rank)·p over all that are no larger."""
    m = len(p_values)
    order = sorted(range(m), key=lambda i: p_values[i])
    return [max(min(F(1), (m - r) * p_values[j]) for r, j in enumerate(order) if r <= order.index(i)) for i in range(m)]


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=7), st.sampled_from([0, 1, 5]))
def test_inverting_holm_keeps_the_raw_values(thousandths: list[int], width: int) -> None:
    raw = [F(p, 1000) for p in thousandths]
    adjusted = _holm(raw)
    low = [max(F(0), a - F(width, 1000)) for a in adjusted]
    high = [min(F(1), a + F(width, 1000)) for a in adjusted]
    for p, (least, most) in zip(raw, exact.invert_holm(low, high, adjusted), strict=True):
        assert least <= p <= most


def test_inverting_holm_is_sharp_where_values_differ() -> None:
    adjusted = [F(3, 100), F(8, 100), F(50, 100)]
    bounds = exact.invert_holm(adjusted, adjusted, adjusted)
    assert bounds == [(F(1, 100), F(1, 100)), (F(4, 100), F(4, 100)), (F(1, 2), F(1, 2))]


def test_resampled_gap_by_enumeration() -> None:
    # Three questions: one only the first gets right, one only the second, one neither: all 27 resamples.
    outcomes = [sum(draw) for draw in product((1, -1, 0), repeat=3)]
    expected = [outcomes.count(gap) / 27 for gap in range(-3, 4)]
    assert resampled_gap(1, 1, 3) == pytest.approx(np.array(expected))


def test_replay_agrees_with_resampling() -> None:
    rng = np.random.default_rng(1)
    outcome = np.array([1] * 3 + [-1] * 11 + [0] * 136)
    gaps = outcome[rng.integers(0, 150, size=(10_000, 150))].mean(axis=1)
    one = replay(3, 11, 150, 10_000)
    low, high = np.percentile(gaps, [2.5, 97.5])
    p = 2 * min((gaps <= 0).mean(), (gaps >= 0).mean())
    assert one.low[0] - 1e-9 <= low <= one.low[1] + 1e-9
    assert one.high[0] - 1e-9 <= high <= one.high[1] + 1e-9
    assert one.p_bootstrap[0] <= p <= one.p_bootstrap[1]
