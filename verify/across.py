"""Statistics over many comparisons at once: counts of signs and of verdicts, and sign tests.

A difference whose curve was drawn may lie on either side of zero, and a p-value near .05 on either side of it: a count
is then a range, and a claim inside it is confirmed.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import cast

import numpy as np

from schemas.manifest import TieRule
from verify.estimates import Parameters, Unavailable, Value
from verify.release import method_of, setting_of
from verify.settings import ALL, MethodComparison, Study
from verify.statistics.multiplicity import holm
from verify.statistics.sign import Alternative, cluster_sign_test, sign_test
from verify.statistics.tolerance import p_value_tolerance

MEMBERS = ("family", "methods")
"""Which comparisons are meant: a family (`all`, `setting` or a declared one), and of these only some methods."""
ALPHA = 0.05
DRAWS, RESAMPLES = 200, 10_000
"""What a claim is taken to rest on where it does not say: the numbers of SMRL."""


def draws_of(parameters: Parameters) -> int:
    """Draws a point of the curve; 0 = computed exactly."""
    return int(parameters.get("draws", DRAWS))


def resamples_of(parameters: Parameters) -> int:
    """Resamples of the bootstrap."""
    return int(parameters.get("resamples", RESAMPLES))


def comparison_count(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    """How many comparisons there are."""
    members = _members(study, cell, parameters)
    return members if isinstance(members, Unavailable) else _count(len(members), len(members), len(members))


def negative_count(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    """How many differences at equal cost are negative."""
    found = _compared(study, cell, parameters)
    if isinstance(found, Unavailable):
        return found
    low, value, high = _negatives(list(found.values()), parameters)
    return _count(value, low, high)


def better_count(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    """How many methods are better, p below .05 after the correction: Holm within each setting by default."""
    return _significant(study, cell, parameters, 1)


def worse_count(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    """How many methods are worse, as in `better_count`."""
    return _significant(study, cell, parameters, -1)


def sign_test_p(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    """Sign test of the differences; two-sided unless `alternative` says otherwise."""
    found = _compared(study, cell, parameters)
    if isinstance(found, Unavailable):
        return found
    return _sign_range(found, parameters, lambda signs: sign_test(signs, alternative=_side(parameters)).p_value)


def cluster_sign_test_p(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    """Sign test with settings as the units: comparisons of one setting share its pool and are not independent."""
    found = _compared(study, cell, parameters)
    if isinstance(found, Unavailable):
        return found
    clusters = [setting_of(name) for name in found]
    return _sign_range(
        found, parameters, lambda signs: cluster_sign_test(signs, clusters, alternative=_side(parameters)).p_value
    )


def _members(study: Study, cell: str, parameters: Parameters) -> list[str] | Unavailable:
    members = study.family_of(cell, str(parameters.get("family", ALL)))
    if isinstance(members, str):
        return Unavailable(f"{members}.")
    if "methods" in parameters:
        wanted = {name.strip() for name in str(parameters["methods"]).split(",")}
        if unknown := sorted(wanted - {method_of(name) for name in members}):
            return Unavailable(f"no comparison is of a method {unknown[0]!r}.")
        members = [name for name in members if method_of(name) in wanted]
    return members or Unavailable("the release declares no comparison with a `pool`.")


def _compared(study: Study, cell: str, parameters: Parameters) -> dict[str, MethodComparison] | Unavailable:
    members = _members(study, cell, parameters)
    if isinstance(members, Unavailable):
        return members
    ties = cast(TieRule | None, parameters.get("tie_rule"))
    found = {name: study.compare(name, ties, str(parameters.get("subset", ALL))) for name in members}
    known = {name: item for name, item in found.items() if not isinstance(item, str)}
    if reasons := [f"{name}: {why}" for name, why in found.items() if isinstance(why, str)]:
        return Unavailable(f"{len(reasons)} of {len(found)} comparisons cannot be made ({reasons[0]}).")
    if short := [name for name, item in known.items() if item.n != item.expected]:
        return Unavailable(f"{short[0]} is known on {known[short[0]].n} of {known[short[0]].expected} questions only.")
    return known


def _negatives(found: list[MethodComparison], parameters: Parameters) -> tuple[int, int, int]:
    """Least, ours and greatest number of negative differences."""
    differences = [item.result.estimate for item in found]
    reaches = [item.curve_reach(draws_of(parameters)) for item in found]
    surely = sum(d < -reach for d, reach in zip(differences, reaches, strict=True))
    perhaps = sum(d < reach for d, reach in zip(differences, reaches, strict=True))
    return surely, sum(d < 0 for d in differences), perhaps


def _sign_range(
    found: dict[str, MethodComparison], parameters: Parameters, test: Callable[[list[float]], float]
) -> Value:
    """The p-value of our signs, and the range over the signs that draws could have turned, all of them together."""
    differences = np.array([item.result.estimate for item in found.values()])
    reaches = np.array([item.curve_reach(draws_of(parameters)) for item in found.values()])
    open_ = np.abs(differences) < reaches
    values = [test(list(differences))]
    turned = differences.copy()
    for place in [*np.flatnonzero(open_ & (differences > 0))]:
        turned[place] = -1.0
        values.append(test(list(turned)))
    turned = differences.copy()
    for place in [*np.flatnonzero(open_ & (differences < 0))]:
        turned[place] = 1.0
        values.append(test(list(turned)))
    value, low, high = values[0], min(values), max(values)
    n = len(found)
    return Value(Fraction(value), Fraction(low), Fraction(high), n, n, exact=value)


def _significant(study: Study, cell: str, parameters: Parameters, sign: int) -> Value | Unavailable:
    found = _compared(study, cell, parameters)
    if isinstance(found, Unavailable):
        return found
    correction = str(parameters.get("correction", "setting"))
    resamples = resamples_of(parameters)
    names = list(found)
    families = {
        "setting": [setting_of(name) for name in names],
        "all": [ALL] * len(names),
        "none": names,
    }[correction]
    ranges = [
        p_value_tolerance(item.replicates, claimed_resamples=resamples, shift=item.curve_reach(draws_of(parameters)))
        for item in found.values()
    ]
    pointing = np.array([np.sign(item.result.estimate) == sign for item in found.values()])
    low, value, high = (
        int(np.sum(pointing & (holm(raw, families=families).adjusted < ALPHA)))
        for raw in (
            [reach.high for reach in ranges],
            [item.result.p_value for item in found.values()],
            [reach.low for reach in ranges],
        )
    )
    return _count(value, low, high)


def _side(parameters: Parameters) -> Alternative:
    return cast(Alternative, parameters.get("alternative", "two-sided"))


def _count(value: int, low: int, high: int) -> Value:
    chance = "" if low == high else "draws and resamples"
    return Value(Fraction(value), Fraction(low), Fraction(high), 1, 1, chance=chance)
