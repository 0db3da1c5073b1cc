import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_statistics import mcnemar_by_counting
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from verify.statistics.mcnemar import mcnemar, mcnemar_of


@given(st.integers(0, 60), st.integers(0, 60))
def test_against_counting_scipy_and_statsmodels(b, c):
    ours = mcnemar(b, c)
    exact, mid = mcnemar_by_counting(b, c)
    assert ours.p_exact == pytest.approx(float(exact), rel=1e-11)
    assert ours.p_mid == pytest.approx(float(mid) if b + c else 1.0, rel=1e-11)
    if b + c:
        assert ours.p_exact == pytest.approx(binomtest(b, b + c).pvalue, rel=1e-9)
        assert ours.p_exact == pytest.approx(statsmodels_mcnemar([[9, b], [c, 9]], exact=True).pvalue, rel=1e-9)
    assert ours.p_mid <= ours.p_exact
    assert mcnemar(c, b).p_exact == ours.p_exact


@pytest.mark.parametrize("b", [0, 1, 7])
def test_an_even_split_is_no_evidence(b):
    assert (mcnemar(b, b).p_exact, mcnemar(b, b).p_mid) == (1.0, pytest.approx(1.0))


def test_counts_are_read_off_paired_answers():
    result = mcnemar_of([1, 1, 0, 0, 1], [1, 0, 1, 0, 0])
    assert (result.first_only, result.second_only, result.discordant) == (2, 1, 3)


def test_unpaired_answers_and_negative_counts_are_refused():
    with pytest.raises(ValueError, match="3 and 2 answers"):
        mcnemar_of([1, 0, 1], [1, 0])
    with pytest.raises(ValueError, match="not negative"):
        mcnemar(-1, 3)
