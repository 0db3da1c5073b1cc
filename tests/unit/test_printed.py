"""Printed numbers as intervals; every expectation worked out by hand."""

from fractions import Fraction

import pytest

from verify.printed import parse_printed


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("72.0", "71.95", "72.05"),
        ("72", "71.5", "72.5"),
        ("+1.9", "1.85", "1.95"),
        ("-6.3", "-6.35", "-6.25"),
        ("−6.3", "-6.35", "-6.25"),
        (".097", "0.0965", "0.0975"),
        ("1,784", "1783.5", "1784.5"),
        ("84.3%", "84.25", "84.35"),
        ("0.0", "-0.05", "0.05"),
    ],
)
def test_nearest_takes_half_a_unit_on_either_side(text: str, low: str, high: str) -> None:
    printed = parse_printed(text, "nearest")
    assert (printed.low, printed.high) == (Fraction(low), Fraction(high))
    assert printed.admits(Fraction(low))
    assert printed.admits(Fraction(high))
    assert not printed.admits(Fraction(high) + Fraction(1, 10**12))
    assert not printed.admits(Fraction(low) - Fraction(1, 10**12))


def test_down_and_up_are_half_open() -> None:
    down, up = parse_printed("84.3", "down"), parse_printed("84.3", "up")
    assert down.admits(Fraction("84.3"))
    assert down.admits(Fraction("84.3999"))
    assert not down.admits(Fraction("84.4"))
    assert not down.admits(Fraction("84.2999"))
    assert up.admits(Fraction("84.3"))
    assert up.admits(Fraction("84.2001"))
    assert not up.admits(Fraction("84.2"))


def test_cutting_digits_of_a_negative_number_goes_either_way() -> None:
    printed = parse_printed("-6.3", "down")
    assert printed.admits(Fraction("-6.39"))
    assert printed.admits(Fraction("-6.21"))
    assert not printed.admits(Fraction("-6.4"))


def test_a_negative_number_that_is_cut_to_zero_prints_as_zero() -> None:
    printed = parse_printed("0.0", "down")
    assert printed.admits(Fraction("-0.09"))
    assert printed.admits(Fraction("0.09"))
    assert not printed.admits(Fraction("-0.1"))


def test_any_takes_a_whole_unit_on_both_sides() -> None:
    printed = parse_printed("5", "any")
    assert printed.admits(Fraction("4.001"))
    assert printed.admits(Fraction("5.999"))
    assert not printed.admits(Fraction(4))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("<0.001", "0.0009", "0.001"), ("≤ 0.001", "0.001", "0.0011"), (">5", "5.1", "5"), ("≥5", "5", "4.9")],
)
def test_bounds(text: str, inside: str, outside: str) -> None:
    printed = parse_printed(text, "nearest")
    assert printed.admits(Fraction(inside))
    assert not printed.admits(Fraction(outside))


@pytest.mark.parametrize(
    "text", ["", "x", "72.O", "1,78", "1.2.3", "--1", "NaN", "inf", "1e5", "٧", "9" * 31, "72.0 pts"]
)
def test_what_is_not_a_printed_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a printed number"):
        parse_printed(text, "nearest")
