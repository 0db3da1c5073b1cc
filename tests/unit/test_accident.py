"""The chance of an accident, and how values print: against hand-worked figures and brute force."""

from fractions import Fraction
from math import comb, exp, lgamma

import pytest

from verify.diagnostics.accident import Printing, accident, chance, normal_mass, share_mass
from verify.diagnostics.rounding import printed_values

TENTH = Fraction(1, 1000)
"""One decimal of a percentage, as a fraction."""


def log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


@pytest.mark.parametrize(("hits", "n"), [(6, 12), (0, 12), (30, 30), (113, 150)])
def test_a_share_of_another_run_is_beta_binomial_mixed_with_any_count(hits: int, n: int) -> None:
    mass = share_mass(hits, n)
    a, b = hits + 0.5, n - hits + 0.5
    for k in (0, hits, min(hits + 2, n), n):
        run = comb(n, k) * exp(log_beta(k + a, n - k + b) - log_beta(a, b))
        point = mass(k / n - 1e-6, k / n + 1e-6)
        assert point == pytest.approx(run / 2 + 1 / (2 * (n + 1)), rel=1e-9)
    assert mass(0, 1) == pytest.approx(1)


def test_a_value_that_no_count_gives_is_not_held_to_be_impossible() -> None:
    mass = share_mass(8, 12)
    between = mass(0.70, 0.71)
    assert 0 < between < mass(0.66, 0.67)


def test_the_chance_is_given_that_it_does_not_print_as_ours() -> None:
    def even(low: float, high: float) -> float:
        return high - low

    ours, printed = Printing(500, 500, TENTH), Printing(917, 917, TENTH)
    assert chance(even, printed, ours) == pytest.approx(0.001 / 0.999)
    assert accident(7, [0.05, 0.1]) == pytest.approx(0.035)
    assert accident(50, [0.5]) == 1.0


def test_a_mean_of_another_run_has_twice_the_variance() -> None:
    mass = normal_mass(100.0, 1.0, 0.0, 200.0)
    # Half of the weight: erf(1/2) = .5205 within one sqrt(2) standard error; the other half: 2 sqrt(2) of 200.
    reach = 2**0.5
    assert mass(100 - reach, 100 + reach) == pytest.approx(0.5 * 0.682689 + 0.5 * 2 * reach / 200, rel=1e-5)


@pytest.mark.parametrize(
    ("value", "how", "printed"),
    [
        ("0.7155", "nearest", (715, 716)),  # a tie may go either way
        ("0.71548", "nearest", (715, 715)),
        ("0.71548", "twice", (715, 716)),  # .7155, and that is a tie
        ("0.71471", "twice", (715, 715)),
        ("0.7079", "down", (707, 707)),
        ("-0.7079", "down", (-707, -707)),
        ("0.7071", "up", (708, 708)),
        ("-0.7071", "up", (-708, -708)),
        ("0.6667", "padded", (670, 670)),
        ("0.7071", "any", (707, 708)),
    ],
)
def test_ways_of_printing(value: str, how: str, printed: tuple[int, int]) -> None:
    exact = Fraction(value)
    assert printed_values(exact, exact, TENTH, how) == printed  # type: ignore[arg-type]


def test_a_range_prints_as_every_value_in_it() -> None:
    assert printed_values(Fraction("0.41"), Fraction("0.43"), Fraction(1, 100), "nearest") == (41, 43)
