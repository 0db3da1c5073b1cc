"""Statistics that compare cells and rest on random draws, by name, each with the range that honest draws allow.

The authors drew other random numbers than we do. `low` and `high` are the values that a computation as stated prints
with all but negligible probability (see `verify.statistics.tolerance`); a claim outside is refuted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from schemas.manifest import TieRule
from verify import across
from verify.across import draws_of, resamples_of
from verify.diagnostics import compute
from verify.estimates import EstimateUnit, Parameters, Unavailable, Value
from verify.settings import ALL, GreedyComparison, JudgeComparison, MethodComparison, Study
from verify.statistics.bootstrap import Comparison
from verify.statistics.multiplicity import holm
from verify.statistics.outcome import NoInterval, Unverifiable
from verify.statistics.tolerance import (
    CONFIDENCE,
    Tolerance,
    curve_error,
    normal_tolerance,
    p_value_tolerance,
    percentile_tolerance,
)

Comparable = MethodComparison | JudgeComparison | GreedyComparison
Infer = Callable[[Study, str, Parameters], "Value | Unavailable"]


def _value(value: float, low: float, high: float, n: int, total: int, chance: str, exact: float | None = None) -> Value:
    return Value(
        Fraction(value).limit_denominator(10**12),
        Fraction(low),
        Fraction(high),
        n,
        total,
        chance=chance,
        exact=exact,
    )


def _ties(parameters: Parameters) -> TieRule | None:
    return cast(TieRule | None, parameters.get("tie_rule"))


def _sc_accuracy(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    data = study.cells[cell]
    if not data.cell.pool:
        return Unavailable("the cell is not declared as a `pool`.")
    curve = study.curve(cell.rsplit("/", 1)[0], _ties(parameters))
    if isinstance(curve, str):
        return Unavailable(f"{curve}.")
    k = int(parameters.get("k", curve.curve.sizes[-1]))
    if k not in curve.curve.sizes:
        return Unavailable(f"the curve is known at {', '.join(map(str, curve.curve.sizes))} samples, not at {k}.")
    at = curve.curve.sizes.index(k)
    value = float(curve.curve.mean_accuracy[at])
    n = len(curve.questions)
    draws = draws_of(parameters)
    if draws == 0:
        return _value(value, value, value, n, data.n, "", value)
    reach = normal_tolerance(value, float(curve_error(curve.curve, draws)[at]))
    return _value(value, reach.low, reach.high, n, data.n, f"{draws} draws a question", value)


def _method(study: Study, cell: str, parameters: Parameters) -> MethodComparison | Unavailable:
    found = study.compare(cell, _ties(parameters), str(parameters.get("subset", ALL)))
    return Unavailable(f"{found}.") if isinstance(found, str) else found


def _sc_accuracy_at_cost(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    found = _method(study, cell, parameters)
    if isinstance(found, Unavailable):
        return found
    value, reach = found.point.accuracy, found.curve_reach(draws_of(parameters))
    return _value(value, value - reach, value + reach, found.n, found.expected, _chance(parameters, curve=True), value)


def _difference_at_cost(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    found = _method(study, cell, parameters)
    if isinstance(found, Unavailable):
        return found
    value, reach = found.result.estimate, found.curve_reach(draws_of(parameters))
    return _value(value, value - reach, value + reach, found.n, found.expected, _chance(parameters, curve=True), value)


def _compared(study: Study, cell: str, parameters: Parameters) -> tuple[Comparable, float] | Unavailable:
    """The comparison that an interval or p-value is of, and how far its centre may be off."""
    of = parameters.get("of", "difference_at_cost")
    if of != "difference_at_cost":
        other = study.judge(cell) if of == "judge_minus_majority" else study.greedy(cell)
        return Unavailable(f"{other}.") if isinstance(other, str) else (other, 0.0)
    found = _method(study, cell, parameters)
    return found if isinstance(found, Unavailable) else (found, found.curve_reach(draws_of(parameters)))


def _end(level: float, side: str) -> Infer:
    def compute(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
        pair = _compared(study, cell, parameters)
        if isinstance(pair, Unavailable):
            return pair
        found, shift = pair
        interval = found.result.percentile
        if isinstance(interval, NoInterval):
            return Unavailable(f"{interval.reason}.")
        reach = percentile_tolerance(found.replicates, level, claimed_resamples=resamples_of(parameters), shift=shift)
        if isinstance(reach, Unverifiable):
            return Unavailable(f"{reach.reason}.")
        value = getattr(interval, side)
        curve = isinstance(found, MethodComparison)
        return _value(value, reach.low, reach.high, found.n, found.expected, _chance(parameters, curve=curve))

    return compute


def _p_reach(found: Comparable, shift: float, parameters: Parameters) -> Tolerance:
    """Either rule, with the two + 1 or without: printed p-values seldom say which (STATISTICS 2)."""
    ranges = [
        p_value_tolerance(found.replicates, claimed_resamples=resamples_of(parameters), plus_one=one, shift=shift)
        for one in (True, False)
    ]
    return Tolerance(min(r.low for r in ranges), max(r.high for r in ranges), CONFIDENCE)


def _p_value(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    pair = _compared(study, cell, parameters)
    if isinstance(pair, Unavailable):
        return pair
    found, shift = pair
    reach = _p_reach(found, shift, parameters)
    exact = found.mcnemar.p_exact if isinstance(found, JudgeComparison) else None
    chance = _chance(parameters, curve=isinstance(found, MethodComparison))
    value = _value(found.result.p_value, reach.low, reach.high, found.n, found.expected, chance, exact)
    return value if exact is None else replace(value, exactly="exact McNemar")


def _p_mcnemar(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    del parameters
    found = study.judge(cell)
    if isinstance(found, str):
        return Unavailable(f"{found}.")
    p = found.mcnemar.p_exact
    return _value(p, p, p, found.n, found.expected, "", p)


def _p_holm(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    family = parameters.get("family")
    members = study.family_of(cell, None if family is None else str(family))
    if isinstance(members, str):
        return Unavailable(f"{members}.")
    if cell not in members:
        return Unavailable(f"the cell is not in family {family!r}.")
    subset = str(parameters.get("subset", ALL))
    found = [(name, study.compare(name, _ties(parameters), subset)) for name in members]
    if reasons := [f"{name}: {why}" for name, why in found if isinstance(why, str)]:
        return Unavailable(f"a member of the family has no p-value ({reasons[0]}).")
    comparisons = [item for _, item in found if not isinstance(item, str)]
    # Holm's p grows with every raw p, so the ends of the raw ranges give the ends of the adjusted one.
    ranges = [_p_reach(item, item.curve_reach(draws_of(parameters)), parameters) for item in comparisons]
    at = members.index(cell)
    value, low, high = (
        float(holm(np.array(raw)).adjusted[at])
        for raw in (
            [item.result.p_value for item in comparisons],
            [reach.low for reach in ranges],
            [reach.high for reach in ranges],
        )
    )
    own = comparisons[at]
    return _value(value, low, high, own.n, own.expected, _chance(parameters, curve=True))


def _greedy_minus_sample(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    del parameters
    found = study.greedy(cell)
    if isinstance(found, str):
        return Unavailable(f"{found}.")
    value = found.result.estimate
    return _value(value, value, value, found.n, found.expected, "", value)


def _sc_tokens(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    data = study.cells[cell]
    curve = study.curve(cell.rsplit("/", 1)[0])
    if isinstance(curve, str):
        return Unavailable(f"{curve}.")
    if not data.cell.pool:
        return Unavailable("the cell is not declared as a `pool`.")
    sizes = curve.curve.sizes
    k = int(parameters.get("k", sizes[-1]))
    if k not in sizes:
        return Unavailable(f"the curve is known at {', '.join(map(str, sizes))} samples, not at {k}.")
    value = float(curve.costs[:, sizes.index(k)].mean())
    draws = draws_of(parameters)
    variance = curve.curve.cost_variance[:, sizes.index(k)].sum() / max(draws, 1)
    reach = normal_tolerance(value, float(np.sqrt(variance)) / len(curve.questions)) if draws else None
    low, high = (value, value) if reach is None else (reach.low, reach.high)
    return _value(value, low, high, len(curve.questions), data.n, f"{draws} draws a question" if draws else "", value)


def _complete_case_n(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    del parameters
    kept = study.questions_in(cell.rsplit("/", 1)[0], "complete")
    n = study.cells[cell].n
    if kept is None or isinstance(kept, str):
        return Unavailable("the setting has no complete cases to count.")
    return _value(len(kept), len(kept), len(kept), n, n, "", len(kept))


def _chance(parameters: Parameters, *, curve: bool) -> str:
    resamples = f"{resamples_of(parameters):,} resamples"
    return f"{draws_of(parameters)} draws a question, {resamples}" if curve and draws_of(parameters) else resamples


def judged_interval(result: Comparison, p_holm: float | None) -> str:
    """The verdict of a comparison in words, with what its interval still permits, in points.

    "Better" and "worse" need an interval off zero and, where the comparison is one of a family, Holm's p below .05.
    """
    interval = result.percentile
    if isinstance(interval, NoInterval):
        return f"no interval: {interval.reason}"
    low, high = (f"{100 * end:+.1f}".replace("-", "−") for end in (interval.low, interval.high))
    if interval.low <= 0 <= interval.high:
        return f"no reliable difference; up to {high} or {low} points possible"
    if p_holm is not None and p_holm >= 0.05:
        return f"not reliable once the family is corrected for; {low} to {high} points possible"
    return f"{'better' if interval.low > 0 else 'worse'}; {low} to {high} points"


@dataclass(frozen=True)
class Inference:
    """How a statistic over cells is computed, its unit and what it takes."""

    compute: Infer
    unit: EstimateUnit
    parameters: tuple[str, ...]


_DRAWN = ("draws", "tie_rule", "subset")
_AT_COST = ("draws", "resamples", "tie_rule", "subset")
INFERENCES: dict[str, Inference] = {
    "sc_accuracy": Inference(_sc_accuracy, "fraction", ("k", "draws", "tie_rule")),
    "sc_tokens": Inference(_sc_tokens, "tokens", ("k", "draws")),
    "sc_accuracy_at_cost": Inference(_sc_accuracy_at_cost, "fraction", _DRAWN),
    "difference_at_cost": Inference(_difference_at_cost, "fraction", _DRAWN),
    "greedy_minus_sample": Inference(_greedy_minus_sample, "fraction", ()),
    "complete_case_n": Inference(_complete_case_n, "count", ()),
    "ci_low": Inference(_end(0.025, "low"), "fraction", ("of", *_AT_COST)),
    "ci_high": Inference(_end(0.975, "high"), "fraction", ("of", *_AT_COST)),
    "p_value": Inference(_p_value, "fraction", ("of", *_AT_COST)),
    "p_holm": Inference(_p_holm, "fraction", ("family", *_AT_COST)),
    "p_mcnemar": Inference(_p_mcnemar, "fraction", ()),
    "tflops": Inference(compute.tflops, "number", ("per",)),
    "eta_gain": Inference(compute.eta_gain, "number", ("base", "scope")),
    "wins_ties_losses": Inference(compute.wins_ties_losses, "count", ("base", "scope", "outcome")),
    "comparison_count": Inference(across.comparison_count, "count", across.MEMBERS),
    "negative_count": Inference(across.negative_count, "count", (*across.MEMBERS, *_DRAWN)),
    "better_count": Inference(across.better_count, "count", (*across.MEMBERS, "correction", *_AT_COST)),
    "worse_count": Inference(across.worse_count, "count", (*across.MEMBERS, "correction", *_AT_COST)),
    "sign_test_p": Inference(across.sign_test_p, "fraction", (*across.MEMBERS, "alternative", *_DRAWN)),
    "cluster_sign_test_p": Inference(across.cluster_sign_test_p, "fraction", (*across.MEMBERS, "alternative", *_DRAWN)),
}
