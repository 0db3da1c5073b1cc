"""Random right papers are never accused; planted errors are found at the rate that their power predicts.

A slice of benchmarks/bench_claims.py, which runs 2,000 papers and 100 errors of each kind.
"""

from fractions import Fraction

import numpy as np
import pytest

from generators.paper_errors import ERRORS, plant
from generators.paper_numbers import MODES, Mode, printed
from generators.papers import claims_of, random_paper
from schemas.claims import Rounding
from verify.consistency import check_claims

RATES = ("difference off by one", "difference off by two", "arbitrary share")
"""Kinds that no check can always find; the benchmark compares their rates."""


def test_printing_by_hand() -> None:
    # The generator's own rounding, at a tie, below zero, and where digits are cut.
    tie = Fraction(25, 1000)
    assert [printed(tie, 2, mode) for mode in MODES] == ["0.02", "0.03", "0.02", "0.02", "0.03"]
    assert [printed(-Fraction(1, 3), 1, mode) for mode in MODES] == ["-0.3", "-0.3", "-0.3", "-0.3", "-0.4"]
    assert printed(-Fraction(1, 30), 1, "down") == "0.0"


@pytest.mark.parametrize("mode", MODES)
def test_a_right_paper_is_never_accused(mode: Mode) -> None:
    rng = np.random.default_rng([20261130, MODES.index(mode)])
    declared: Rounding = "down" if mode == "down" else "up" if mode == "up" else "nearest"
    for index in range(12):
        rounding: Rounding = "any" if index % 4 == 3 else declared
        report = check_claims(claims_of(random_paper(rng, mode=mode), rounding=rounding))
        assert [f"{f.id}: {f.message}" for f in report.findings if f.standing != "consistent"] == []


def test_a_paper_that_cuts_digits_unsaid_is_not_refuted() -> None:
    rng = np.random.default_rng(4)
    conditional = 0
    for _ in range(10):
        report = check_claims(claims_of(random_paper(rng, mode="down"), rounding="nearest"))
        assert (report.counts.impossible, report.counts.contradiction) == (0, 0)
        conditional += report.counts.conditional
    assert conditional > 0


@pytest.mark.parametrize("kind", [kind for kind in ERRORS if kind not in RATES])
def test_a_planted_error_is_found(kind: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(2):
        planted = plant(kind, rng)
        assert planted.chance == 1
        (finding,) = [one for one in check_claims(planted.claims).findings if one.id == planted.finding]
        assert finding.standing != "consistent", finding.message
