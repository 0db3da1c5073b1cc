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
from verify.estimates import EstimateUnit, Parameters, Unavailable, Value
from verify.settings import JudgeComparison, MethodComparison, Study
from verify.statistics.bootstrap import Comparison
from verify.statistics.multiplicity import holm
from verify.statistics.outcome import NoInterval, Unverifiable
from verify.statistics.tolerance import (
    CONFIDENCE,
    Tolerance,
    curve_error,
    curve_error_at_cost,
    normal_tolerance,
    p_value_tolerance,
    percentile_tolerance,
)

DRAWS, RESAMPLES = 200, 10_000
"""What a claim is taken to have used where it does not say: the numbers of SMRL."""
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


def _draws(parameters: Parameters) -> int:
    return int(parameters.get("draws", DRAWS))


def _resamples(parameters: Parameters) -> int:
    return int(parameters.get("resamples", RESAMPLES))


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
    draws = _draws(parameters)
    if draws == 0:
        return _value(value, value, value, n, data.n, "", value)
    reach = normal_tolerance(value, float(curve_error(curve.curve, draws)[at]))
    return _value(value, reach.low, reach.high, n, data.n, f"{draws} draws a question", value)


def _method(study: Study, cell: str, parameters: Parameters) -> MethodComparison | Unavailable:
    found = study.compare(cell, _ties(parameters))
    return Unavailable(f"{found}.") if isinstance(found, str) else found


def _curve_reach(found: MethodComparison, parameters: Parameters) -> float:
    """How far the curve read at the method's cost may be off when it was drawn, not computed."""
    draws = _draws(parameters)
    if draws == 0:
        return 0.0
    return normal_tolerance(0.0, curve_error_at_cost(found.curve, found.point, draws)).high


def _sc_accuracy_at_cost(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    found = _method(study, cell, parameters)
    if isinstance(found, Unavailable):
        return found
    value, reach = found.point.accuracy, _curve_reach(found, parameters)
    return _value(value, value - reach, value + reach, found.n, found.cell.n, _chance(parameters, curve=True), value)


def _difference_at_cost(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    found = _method(study, cell, parameters)
    if isinstance(found, Unavailable):
        return found
    value, reach = found.result.estimate, _curve_reach(found, parameters)
    return _value(value, value - reach, value + reach, found.n, found.cell.n, _chance(parameters, curve=True), value)


def _compared(
    study: Study, cell: str, parameters: Parameters
) -> tuple[MethodComparison | JudgeComparison, float] | Unavailable:
    """The comparison that an interval or p-value is of, and how far its centre may be off."""
    if parameters.get("of", "difference_at_cost") == "judge_minus_majority":
        judge = study.judge(cell)
        return Unavailable(f"{judge}.") if isinstance(judge, str) else (judge, 0.0)
    found = _method(study, cell, parameters)
    return found if isinstance(found, Unavailable) else (found, _curve_reach(found, parameters))


def _end(level: float, side: str) -> Infer:
    def compute(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
        pair = _compared(study, cell, parameters)
        if isinstance(pair, Unavailable):
            return pair
        found, shift = pair
        interval = found.result.percentile
        if isinstance(interval, NoInterval):
            return Unavailable(f"{interval.reason}.")
        reach = percentile_tolerance(found.replicates, level, claimed_resamples=_resamples(parameters), shift=shift)
        if isinstance(reach, Unverifiable):
            return Unavailable(f"{reach.reason}.")
        value = getattr(interval, side)
        curve = isinstance(found, MethodComparison)
        return _value(value, reach.low, reach.high, found.n, found.cell.n, _chance(parameters, curve=curve))

    return compute


def _p_reach(found: MethodComparison | JudgeComparison, shift: float, parameters: Parameters) -> Tolerance:
    """Either rule, with the two + 1 or without: printed p-values seldom say which (STATISTICS 2)."""
    ranges = [
        p_value_tolerance(found.replicates, claimed_resamples=_resamples(parameters), plus_one=one, shift=shift)
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
    value = _value(found.result.p_value, reach.low, reach.high, found.n, found.cell.n, chance, exact)
    return value if exact is None else replace(value, exactly="exact McNemar")


def _p_mcnemar(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    del parameters
    found = study.judge(cell)
    if isinstance(found, str):
        return Unavailable(f"{found}.")
    p = found.mcnemar.p_exact
    return _value(p, p, p, found.n, found.cell.n, "", p)


def _p_holm(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    family = parameters.get("family")
    members = study.family_of(cell, None if family is None else str(family))
    if isinstance(members, str):
        return Unavailable(f"{members}.")
    if cell not in members:
        return Unavailable(f"the cell is not in family {family!r}.")
    found = [(name, study.compare(name, _ties(parameters))) for name in members]
    if reasons := [f"{name}: {why}" for name, why in found if isinstance(why, str)]:
        return Unavailable(f"a member of the family has no p-value ({reasons[0]}).")
    comparisons = [item for _, item in found if not isinstance(item, str)]
    # Holm's p grows with every raw p, so the ends of the raw ranges give the ends of the adjusted one.
    ranges = [_p_reach(item, _curve_reach(item, parameters), parameters) for item in comparisons]
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
    return _value(value, low, high, own.n, own.cell.n, _chance(parameters, curve=True))


def _chance(parameters: Parameters, *, curve: bool) -> str:
    resamples = f"{_resamples(parameters):,} resamples"
    return f"{_draws(parameters)} draws a question, {resamples}" if curve and _draws(parameters) else resamples


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


_AT_COST = ("draws", "resamples", "tie_rule")
INFERENCES: dict[str, Inference] = {
    "sc_accuracy": Inference(_sc_accuracy, "fraction", ("k", "draws", "tie_rule")),
    "sc_accuracy_at_cost": Inference(_sc_accuracy_at_cost, "fraction", ("draws", "tie_rule")),
    "difference_at_cost": Inference(_difference_at_cost, "fraction", ("draws", "tie_rule")),
    "ci_low": Inference(_end(0.025, "low"), "fraction", ("of", *_AT_COST)),
    "ci_high": Inference(_end(0.975, "high"), "fraction", ("of", *_AT_COST)),
    "p_value": Inference(_p_value, "fraction", ("of", *_AT_COST)),
    "p_holm": Inference(_p_holm, "fraction", ("family", *_AT_COST)),
    "p_mcnemar": Inference(_p_mcnemar, "fraction", ()),
}
