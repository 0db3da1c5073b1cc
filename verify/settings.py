"""Settings: every method against the sampling curve at the method's own cost, with inference paired by question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from schemas.manifest import Manifest, TieRule, UnparsedPolicy
from verify.cells import CellData
from verify.outcome import decide, our_answers
from verify.partial import NONE, Grade
from verify.release import model_of, setting_of
from verify.spending import Spending, by_answer, by_question, curve_costs
from verify.statistics.bootstrap import Comparison, bootstrap_means, comparison
from verify.statistics.curve import Curve, exact_curve
from verify.statistics.equalcost import EqualCost, bootstrap_at_equal_cost
from verify.statistics.interpolation import CurvePoint
from verify.statistics.mcnemar import McNemar, mcnemar_of
from verify.statistics.multiplicity import holm
from verify.statistics.outcome import Unverifiable
from verify.statistics.pool import Pool
from verify.statistics.pool import TieRule as CurveTies
from verify.statistics.pool import UnparsedPolicy as CurveUnparsed

GRID = (1, 2, 3, 4, 6, 8, 12, 16)
"""Sizes that SMRL's curve is known at (2.4); between them it is interpolated."""

# Votes of a drawn subset come in pool order, so the declared `first` is the lowest index drawn.
_TIES: dict[TieRule, CurveTies] = {
    "first": CurveTies.INDEX,
    "random": CurveTies.RANDOM,
    "wrong": CurveTies.WRONG,
    "right": CurveTies.RIGHT,
}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Inference:
    """How comparisons are made: resamples of the bootstrap, its seed, and the unit of cost."""

    resamples: int = 10_000
    seed: int = 0
    spending: Spending = field(default_factory=Spending)


@dataclass(frozen=True)
class MethodComparison:
    """One method against the curve of its setting, over the `n` questions that both know."""

    cell: CellData
    n: int
    accuracy: float
    cost: float
    point: CurvePoint
    curve: Curve
    result: Comparison
    replicates: Floats
    """(resamples,) of the difference."""
    clamped: bool


@dataclass(frozen=True)
class JudgeComparison:
    """Selected answers against the plurality of the same candidates, over `n` questions."""

    cell: CellData
    n: int
    result: Comparison
    replicates: Floats
    mcnemar: McNemar


class Study:
    """All cells of a release, with the comparisons between them; each is computed once, when first asked for."""

    def __init__(self, manifest: Manifest, cells: Sequence[CellData], inference: Inference) -> None:
        self.manifest = manifest
        self.cells: Mapping[str, CellData] = {data.cell.id: data for data in cells}
        self.inference = inference
        self._pools = {setting_of(name): data for name, data in self.cells.items() if data.cell.pool}
        self._parameters = {model.id: model.parameters for model in manifest.models}
        self._curves: dict[tuple[str, CurveTies], _PoolCurve | str] = {}
        self._methods: dict[tuple[str, CurveTies], MethodComparison | str] = {}

    def methods(self) -> list[str]:
        """Ids of the cells that are compared with a pool, in the order of the manifest."""
        return [name for name, data in self.cells.items() if not data.cell.pool and setting_of(name) in self._pools]

    def curve(self, setting: str, ties: TieRule | None = None) -> "_PoolCurve | str":
        """The exact curve of a setting's pool, or why there is none."""
        pool = self._pools.get(setting)
        if pool is None:
            return f"setting {setting} declares no `pool` cell to compare with"
        rule = _TIES[ties or pool.cell.tie_rule]
        if (setting, rule) not in self._curves:
            self._curves[setting, rule] = _pool_curve(pool, rule, self.inference.spending, self._size_of(pool))
        return self._curves[setting, rule]

    def compare(self, cell: str, ties: TieRule | None = None) -> MethodComparison | str:
        """A method against the curve at the method's own mean cost, or why that cannot be said."""
        curve = self.curve(setting_of(cell), ties)
        if isinstance(curve, str):
            return curve
        if self.cells[cell].cell.pool:
            return "the pool is the baseline and is not compared with itself"
        key = (cell, curve.curve.ties)
        if key not in self._methods:
            self._methods[key] = self._compare(self.cells[cell], curve)
        return self._methods[key]

    def family_of(self, cell: str, family: str | None) -> list[str] | str:
        """The cells that one correction covers: a declared family, `setting`, or `all`; by default the declared one."""
        members = self.methods()
        if family == "all":
            return members
        declared = {f.id: [name for name in f.cells if name in members] for f in self.manifest.families or []}
        if family is None:
            holding = [names for names in declared.values() if cell in names]
            if len(holding) == 1:
                return holding[0]
            if len(holding) > 1:
                return "several declared families hold this cell; name one in the parameter `family`"
        elif family != "setting":
            return declared.get(family, f"the manifest declares no family {family!r}")
        return [name for name in members if setting_of(name) == setting_of(cell)]

    def holm(self, cell: str, family: str | None = None, ties: TieRule | None = None) -> float | str:
        """Holm-adjusted p of a cell within its family (Holm 1979), or why it cannot be said."""
        members = self.family_of(cell, family)
        if isinstance(members, str):
            return members
        found = {name: self.compare(name, ties) for name in members}
        if reasons := [f"{name}: {why}" for name, why in found.items() if isinstance(why, str)]:
            return f"a member of the family has no p-value ({reasons[0]})"
        raw = [item.result.p_value for item in found.values() if not isinstance(item, str)]
        return float(holm(raw).adjusted[members.index(cell)])

    def judge(self, cell: str) -> JudgeComparison | str:
        """Selected minus plurality on identical candidates, or why that cannot be said."""
        data = self.cells[cell]
        if data.cell.decision_rule not in ("selected", "highest-score"):
            return f"the cell's decision rule is `{data.cell.decision_rule}`: nothing selects among candidates"
        answers = our_answers(data)
        judge, majority = decide(data, answers), decide(data, answers, rule="plurality", tie_rule="first")
        known = (judge.grade != Grade.UNKNOWN) & (majority.grade != Grade.UNKNOWN)
        if known.sum() < 2:
            return "fewer than two questions are known, and one has no spread to resample"
        right, counted = (outcome.grade[known] == Grade.CORRECT for outcome in (judge, majority))
        replicates = bootstrap_means(
            right.astype(np.float64) - counted, rng=self._rng(), resamples=self.inference.resamples
        )
        return JudgeComparison(
            data, int(known.sum()), comparison(replicates, 0), replicates.values[:, 0], mcnemar_of(right, counted)
        )

    def _size_of(self, data: CellData) -> float | None:
        return self._parameters[model_of(data.cell.id)]

    def _rng(self) -> np.random.Generator:
        # A fresh generator each time: a result must not depend on what was asked before it.
        return np.random.default_rng(self.inference.seed)

    def _compare(self, data: CellData, curve: "_PoolCurve") -> MethodComparison | str:
        outcomes = decide(data, our_answers(data))
        spent = by_question(data, self.inference.spending, self._size_of(data))
        if isinstance(spent, str):
            return spent
        places = curve.place_of(data.question_ids)
        known = (outcomes.grade != Grade.UNKNOWN) & ~np.isnan(spent) & (places >= 0)
        if known.sum() < 2:
            return "fewer than two questions are known in both the cell and the pool, with their costs"
        rows = places[known]
        credit = np.where(
            outcomes.tied[known] > 1,
            outcomes.right[known] / outcomes.tied[known],
            outcomes.grade[known] == Grade.CORRECT,
        )
        try:
            equal = bootstrap_at_equal_cost(
                curve.curve.sizes,
                curve.costs[rows],
                curve.curve.accuracy[rows],
                spent[known],
                credit,
                rng=self._rng(),
                resamples=self.inference.resamples,
            )
        except ValueError as error:
            return str(error)
        return _one(equal, data, curve, int(known.sum()), float(credit.mean()), float(spent[known].mean()))


@dataclass(frozen=True)
class _PoolCurve:
    """The exact curve of a pool over the questions whose samples are all known, and where each of these stands."""

    cell: CellData
    curve: Curve
    costs: Floats
    """(questions, sizes), in the unit of comparison."""
    questions: tuple[str, ...]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.questions)}

    def place_of(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Row of each question in the curve; -1 where the curve does not know it."""
        return np.array([self._places.get(name, -1) for name in ids], dtype=np.int64)


def _pool_curve(data: CellData, ties: CurveTies, spending: Spending, parameters: float | None) -> "_PoolCurve | str":
    costs = by_answer(data, spending, parameters)
    if isinstance(costs, str):
        return costs
    columns = data.answers
    pools, names, spent = [], [], []
    unparsed: UnparsedPolicy = data.cell.unparsed_policy
    for i, name in enumerate(data.question_ids):
        own = slice(data.offsets[i], data.offsets[i + 1])
        grade = columns.grade[own]
        if not data.present[i] or data.failed[i] or not data.gold_usable[i] or not len(grade):
            continue
        if (grade == Grade.UNKNOWN).any() or np.isnan(costs[own]).any():
            continue
        try:
            pool = Pool(
                np.maximum(columns.vote[own].astype(np.int64), 0),
                grade == Grade.CORRECT,
                parsed=columns.vote[own] != NONE,
                costs=costs[own],
            )
        except ValueError as error:
            return f"question {name}: {error}"
        pools.append(pool)
        names.append(name)
        spent.append(costs[own])
    if not pools:
        return "no question of the pool has all its samples with their grades and costs"
    largest = min(pool.size for pool in pools)
    sizes = tuple(n for n in GRID if n <= largest)
    curve = exact_curve(pools, sizes, ties=ties, unparsed=CurveUnparsed(unparsed))
    return _PoolCurve(data, curve, curve_costs(spent, sizes, spending), tuple(names))


def _one(
    equal: EqualCost, data: CellData, curve: _PoolCurve, n: int, accuracy: float, cost: float
) -> MethodComparison | str:
    (result,), (point,) = equal.comparisons(), equal.points
    if isinstance(result, Unverifiable):
        return result.reason
    if isinstance(point, Unverifiable):
        return point.reason
    if equal.replicates is None:
        return "nothing could be resampled"
    replicates = equal.replicates.values[:, 0]
    return MethodComparison(data, n, accuracy, cost, point, curve.curve, result, replicates, point.clamped)
