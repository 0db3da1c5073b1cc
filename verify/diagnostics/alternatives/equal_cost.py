"""Comparisons with the sampling curve made otherwise: other unit of cost, other reading of the curve, other ties."""

from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from schemas.manifest import TieRule
from verify.across import draws_of
from verify.claims import BoundClaim
from verify.diagnostics.accident import normal_mass, share_mass
from verify.diagnostics.alternatives.reading import Reading, Step
from verify.diagnostics.alternatives.shares import CellCounts, ShareReader, declared_counting
from verify.partial import NONE
from verify.release import setting_of
from verify.settings import ALL, MethodComparison, Study
from verify.spending import CostUnit, Spending, by_answer, by_question, curve_costs
from verify.statistics.interpolation import curve_at_cost
from verify.statistics.outcome import Unverifiable
from verify.statistics.tolerance import curve_error, normal_tolerance

STATISTICS = ("difference_at_cost", "sc_accuracy_at_cost")
CURVE_STATISTICS = ("sc_accuracy",)
UNITS: dict[CostUnit, str] = {
    "completion": "tokens generated",
    "total": "tokens read and generated",
    "latency": "tokens on the longest chain of calls",
}
READINGS = {
    "below": "the number of samples that costs just less, without interpolation",
    "above": "the number of samples that costs just more, without interpolation",
    "nearest": "the number of samples that costs most nearly the same, without interpolation",
}
Floats = NDArray[np.float64]


class CostReader:
    """A method's difference from the sampling curve at equal cost, or the curve's own height there."""

    def __init__(self, study: Study, counts: CellCounts, claim: BoundClaim, found: MethodComparison) -> None:
        self.study, self.counts, self.claim, self.found = study, counts, claim, found
        self.shares = ShareReader(counts, claim)
        self.reach = found.curve_reach(draws_of(claim.parameters))
        if claim.statistic == "difference_at_cost":
            middle = found.result.estimate
            self.mass = normal_mass(middle, found.result.error, middle - 0.25, middle + 0.25)
        else:
            self.mass = share_mass(found.point.accuracy * found.n, found.n)

    def steps(self) -> list[Step]:
        """Rows, the method's rule and grader, the curve's ties, the unit, and how the curve is read."""
        spending = self.study.inference.spending
        pool = self.study.pool_of(setting_of(self.claim.cell))
        found = [Step("row scope", "rows", "complete", "only questions that every method of the setting answered")]
        if self.claim.statistic == "difference_at_cost":
            found += [step for step in self.shares.steps() if step.axis in ("decision rule", "grader")]
        ties = self._ties() or (pool.cell.tie_rule if pool is not None else None)
        found += [
            Step("tie rule", "ties", rule, f"tie rule `{rule}` in the sampling curve")
            for rule in ("first", "random", "right", "wrong")
            if rule != ties
        ]
        found += [
            Step("cost unit", "unit", unit, f"equal {label} in place of {UNITS.get(spending.unit, spending.unit)}")
            for unit, label in UNITS.items()
            if unit != spending.unit
        ]
        found += [Step("statistic", "reading", how, label) for how, label in READINGS.items()]
        found += [
            Step("statistic", "reading", size, f"{size} samples whatever they cost") for size in self.found.curve.sizes
        ]
        if self.claim.statistic == "difference_at_cost":
            found.append(Step("statistic", "sign", "reverse", "sampling minus the method"))
        return found

    def read(self, steps: Sequence[Step]) -> Reading | None:
        """As declared, with each step taken; the range is what drawing the curve allows."""
        taken = {step.field: step.value for step in steps}
        setting, data = setting_of(self.claim.cell), self.counts.data
        ties = cast(TieRule | None, taken.get("ties", self._ties()))
        curve = self.study.curve(setting, ties)
        spending = Spending(cast(CostUnit, taken["unit"])) if "unit" in taken else self.study.inference.spending
        spent = by_question(data, spending, self.study.size_of(data))
        kept = self.study.questions_in(
            setting, "complete" if "rows" in taken else str(self.claim.parameters.get("subset", ALL))
        )
        own = [step for step in steps if step.axis in ("decision rule", "grader")]
        credit = self.shares.credit_of(own)
        if isinstance(curve, str) or isinstance(spent, str) or isinstance(kept, str) or credit is None:
            return None
        places = curve.place_of(data.question_ids)
        known = ~np.isnan(spent) & (places >= 0) & (credit.low == credit.high)
        if kept is not None:
            known &= np.array([name in kept for name in data.question_ids])
        if known.sum() < 2:
            return None
        costs = curve.costs if "unit" not in taken else self._costs(curve.questions, spending)
        if costs is None:
            return None
        rows = places[known]
        height = _read(
            curve.curve.sizes,
            costs[rows].mean(axis=0),
            curve.curve.accuracy[rows].mean(axis=0),
            float(spent[known].mean()),
            taken.get("reading"),
        )
        if height is None:
            return None
        value = height
        if self.claim.statistic == "difference_at_cost":
            value = float(credit.low[known].mean()) - height
            value = -value if "sign" in taken else value
        same = (credit.low[known].tobytes(), rows.tobytes(), round(value, 12), round(height, 12))
        low, high = Fraction(value - self.reach), Fraction(value + self.reach)
        n = int(known.sum())
        return Reading(low, high, same, "" if n == self.found.n else f"over {n:,} of {data.n:,} questions")

    def _ties(self) -> TieRule | None:
        return cast(TieRule | None, self.claim.parameters.get("tie_rule"))

    def _costs(self, questions: Sequence[str], spending: Spending) -> Floats | None:
        pool = self.study.pool_of(setting_of(self.claim.cell))
        costs = "" if pool is None else by_answer(pool, spending, None)
        if pool is None or isinstance(costs, str):
            return None
        at = {name: row for row, name in enumerate(pool.question_ids)}
        own = [costs[pool.offsets[at[name]] : pool.offsets[at[name] + 1]] for name in questions]
        if any(np.isnan(one).any() for one in own):
            return None
        return curve_costs(own, self.found.curve.sizes, spending)


def _read(sizes: tuple[int, ...], costs: Floats, heights: Floats, cost: float, how: object) -> float | None:
    """Accuracy of the curve for a method of this cost; None past its end, or for a curve without increasing cost."""
    if isinstance(how, int):
        return float(heights[sizes.index(how)])
    try:
        point = curve_at_cost(sizes, costs, heights, cost)
    except ValueError:
        return None
    if isinstance(point, Unverifiable):
        return None
    if how is None:
        return point.accuracy
    nearest = point.lower if point.weight < 0.5 else point.upper
    return float(heights[{"below": point.lower, "above": point.upper, "nearest": nearest}[str(how)]])


class CurveReader:
    """Accuracy of voting over k samples of a pool, expected over all choices of k."""

    def __init__(self, study: Study, counts: CellCounts, claim: BoundClaim) -> None:
        self.study, self.counts, self.claim = study, counts, claim
        ours = self.read(())
        middle = 0.0 if ours is None else float((ours.low + ours.high) / 2)
        self.mass = share_mass(min(max(middle, 0.0), 1.0) * counts.data.n, counts.data.n)

    def steps(self) -> list[Step]:
        """Ties, the first k samples in place of all choices of k, and other k."""
        data = self.counts.data
        ties = self.claim.parameters.get("tie_rule", data.cell.tie_rule)
        curve = self.study.curve(setting_of(self.claim.cell))
        sizes = () if isinstance(curve, str) else curve.curve.sizes
        k = self._k(sizes)
        return [
            *(
                Step("tie rule", "ties", rule, f"tie rule `{rule}`")
                for rule in ("first", "random", "right", "wrong")
                if rule != ties
            ),
            Step("draws", "first", None, f"the first {k} samples of each pool alone"),
            *(Step("statistic", "k", size, f"{size} samples in place of {k}") for size in sizes if size != k),
            Step("statistic", "any", None, f"any of {k} samples correct (pass@k)"),
        ]

    def read(self, steps: Sequence[Step]) -> Reading | None:
        """As declared, with each step taken; the range is what drawing allows."""
        taken = {step.field: step.value for step in steps}
        ties = cast(TieRule | None, taken.get("ties", self.claim.parameters.get("tie_rule")))
        curve = self.study.curve(setting_of(self.claim.cell), ties)
        if isinstance(curve, str):
            return None
        k = int(taken.get("k") or self._k(curve.curve.sizes))
        if k not in curve.curve.sizes:
            return None
        if "first" in taken or "any" in taken:
            shares = ShareReader(self.counts, self.claim)
            how = declared_counting(
                self.counts.data,
                "majority_at_k" if "first" in taken else "pass_at_k",
                {"k": k} | ({} if ties is None else {"tie_rule": ties}),
            )
            return shares.count(how)
        at = curve.curve.sizes.index(k)
        value = float(curve.curve.mean_accuracy[at])
        draws = draws_of(self.claim.parameters)
        reach = 0.0
        if draws:
            reach = normal_tolerance(0.0, float(curve_error(curve.curve, draws)[at])).high
        same = (curve.curve.accuracy[:, at].tobytes(),)
        return Reading(Fraction(value - reach), Fraction(value + reach), same)

    def _k(self, sizes: tuple[int, ...]) -> int:
        return int(self.claim.parameters.get("k", sizes[-1] if sizes else NONE))
