"""Settings: every method against the sampling curve at the method's own cost, with inference paired by question."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
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
from verify.statistics.multiplicity import holm, romano_wolf
from verify.statistics.outcome import Unverifiable
from verify.statistics.pool import Pool
from verify.statistics.pool import TieRule as CurveTies
from verify.statistics.pool import UnparsedPolicy as CurveUnparsed
from verify.statistics.tolerance import curve_error_at_cost, normal_tolerance

GRID = (1, 2, 3, 4, 6, 8, 12, 16)
"""Sizes that SMRL's curve is known at (2.4); between them it is interpolated."""

# Votes of a drawn subset come in pool order, so the declared `first` is the lowest index drawn.
_TIES: dict[TieRule, CurveTies] = {
    "first": CurveTies.INDEX,
    "random": CurveTies.RANDOM,
    "wrong": CurveTies.WRONG,
    "right": CurveTies.RIGHT,
}
ALL = "all"
FINEST = 32
"""Largest pool whose curve is computed at every size."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Inference:
    """How comparisons are made: resamples of the bootstrap, its seed, and the unit of cost."""

    resamples: int = 10_000
    seed: int = 0
    spending: Spending = field(default_factory=Spending)


@dataclass(frozen=True)
class MethodComparison:
    """One method against the curve of its setting, over the `questions` that both know of the `expected` ones."""

    cell: CellData
    questions: tuple[str, ...]
    expected: int
    accuracy: float
    cost: float
    point: CurvePoint
    curve: Curve
    grid_gap: float
    """How far the baseline moves if the curve is interpolated between all its sizes: authors may have done so."""
    result: Comparison
    replicates: Floats
    """(resamples,) of the difference."""

    @property
    def n(self) -> int:
        """Number of questions compared."""
        return len(self.questions)

    def curve_reach(self, draws: int) -> float:
        """How far an author's baseline may be from ours: drawn `draws` times a question and not computed (0), and
        read between other sizes than ours."""
        if draws == 0:
            return self.grid_gap
        return self.grid_gap + normal_tolerance(0.0, curve_error_at_cost(self.curve, self.point, draws)).high


@dataclass(frozen=True)
class GreedyComparison:
    """One greedy answer a question against the share of right answers in the pool, over `n` questions."""

    cell: CellData
    n: int
    result: Comparison
    replicates: Floats

    @property
    def expected(self) -> int:
        """Questions that should be there."""
        return self.cell.n


@dataclass(frozen=True)
class JudgeComparison:
    """Selected answers against the plurality of the same candidates, over `n` questions."""

    cell: CellData
    n: int
    result: Comparison
    replicates: Floats
    mcnemar: McNemar

    @property
    def expected(self) -> int:
        """Questions that should be there."""
        return self.cell.n


class Study:
    """All cells of a release, with the comparisons between them; each is computed once, when first asked for."""

    def __init__(self, manifest: Manifest, cells: Sequence[CellData], inference: Inference) -> None:
        self.manifest = manifest
        self.cells: Mapping[str, CellData] = {data.cell.id: data for data in cells}
        self.inference = inference
        self._pools = {setting_of(name): data for name, data in self.cells.items() if data.cell.pool}
        self._parameters = {model.id: model.parameters for model in manifest.models}
        self._curves: dict[tuple[str, CurveTies], _PoolCurve | str] = {}
        self._adjusted: dict[tuple[str, ...], dict[str, tuple[float | None, float | None]]] = {}
        self._compared: dict[tuple[str, CurveTies, str], dict[str, MethodComparison | str]] = {}

    def methods(self) -> list[str]:
        """Ids of the cells that are compared with a pool, in the order of the manifest."""
        return [name for name, data in self.cells.items() if not data.cell.pool and setting_of(name) in self._pools]

    def with_resamples(self, resamples: int) -> "Study":
        """The same cells and curves, with comparisons from another number of resamples."""
        other = copy(self)
        other.inference = replace(self.inference, resamples=resamples)
        other._compared, other._adjusted = {}, {}
        return other

    def curve(self, setting: str, ties: TieRule | None = None) -> "_PoolCurve | str":
        """The exact curve of a setting's pool, or why there is none."""
        pool = self._pools.get(setting)
        if pool is None:
            return f"setting {setting} declares no `pool` cell to compare with"
        rule = _TIES[ties or pool.cell.tie_rule]
        if (setting, rule) not in self._curves:
            self._curves[setting, rule] = _pool_curve(pool, rule, self.inference.spending, self.size_of(pool))
        return self._curves[setting, rule]

    def compare(self, cell: str, ties: TieRule | None = None, subset: str = ALL) -> MethodComparison | str:
        """A method against the curve at the method's own mean cost, or why that cannot be said.

        `subset`: `all` questions, the `complete` cases of the setting, its `survivors` (a record in every cell, which
        did not fail), or `levels:1,2` for those of some levels; cost and curve are then those of the subset.
        """
        curve = self.curve(setting_of(cell), ties)
        if isinstance(curve, str):
            return curve
        if self.cells[cell].cell.pool:
            return "the pool is the baseline and is not compared with itself"
        key = (setting_of(cell), curve.curve.ties, subset)
        if key not in self._compared:
            kept = self.questions_in(setting_of(cell), subset)
            if isinstance(kept, str):
                return kept
            self._compared[key] = self._compare_setting(setting_of(cell), curve, kept)
        return self._compared[key][cell]

    def questions_in(self, setting: str, subset: str) -> frozenset[str] | str | None:
        """Ids of the questions of a subset; None = all; a string says why there is no such subset."""
        if subset == ALL:
            return None
        cells = [data for name, data in self.cells.items() if setting_of(name) == setting]
        if subset in ("complete", "survivors"):
            ids = [frozenset(_answered(data) if subset == "complete" else _survived(data)) for data in cells]
            return frozenset.intersection(*ids)
        kind, _, names = subset.partition(":")
        if kind != "levels":
            return (
                f"there is no subset {subset!r}; use all, complete, survivors, or levels: and a list such as levels:1,2"
            )
        levels = {name.strip() for name in names.split(",")}
        known = {level for data in cells for level in data.levels}
        if unknown := sorted(levels - {level for level in known if level is not None}):
            return f"no question of the setting has level {unknown[0]!r}"
        return frozenset(
            name
            for data in cells
            for name, level in zip(data.question_ids, data.levels, strict=True)
            if level in levels
        )

    def greedy(self, cell: str) -> GreedyComparison | str:
        """One greedy answer against one sampled answer of the setting's pool (SMRL 5.4), or why that cannot be said."""
        pool = self._pools.get(setting_of(cell))
        data = self.cells[cell]
        if pool is None:
            return f"setting {setting_of(cell)} declares no `pool` cell to compare with"
        if data.cell.decision_rule != "only":
            return (
                f"the cell's decision rule is `{data.cell.decision_rule}`, and one answer a question is compared here"
            )
        outcomes = decide(data, our_answers(data))
        share = dict(zip(pool.question_ids, _right_share(pool), strict=True))
        sampled = np.array([share.get(name, np.nan) for name in data.question_ids])
        known = (outcomes.grade != Grade.UNKNOWN) & ~np.isnan(sampled)
        if known.sum() < 2:
            return "fewer than two questions are known in both the cell and the pool"
        right = (outcomes.grade[known] == Grade.CORRECT).astype(np.float64)
        replicates = bootstrap_means(right - sampled[known], rng=self.rng(), resamples=self.inference.resamples)
        return GreedyComparison(data, int(known.sum()), comparison(replicates, 0), replicates.values[:, 0])

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

    def adjusted(self, cell: str) -> tuple[float | None, float | None]:
        """Holm's and Romano-Wolf's p of a cell within its family; None where a member has no p-value, and for
        Romano-Wolf also where the members are not over the same questions, so that resamples are not joint."""
        members = self.family_of(cell, None)
        if isinstance(members, str) or cell not in members:
            return None, None
        key = tuple(members)
        if key not in self._adjusted:
            self._adjusted[key] = self._adjust(members)
        return self._adjusted[key].get(cell, (None, None))

    def _adjust(self, members: list[str]) -> dict[str, tuple[float | None, float | None]]:
        found = [self.compare(name) for name in members]
        known = [item for item in found if not isinstance(item, str)]
        if len(known) < len(found):
            return {}
        by_holm = holm([item.result.p_value for item in known]).adjusted
        if len({item.questions for item in known}) > 1:
            return {name: (float(p), None) for name, p in zip(members, by_holm, strict=True)}
        stepped = romano_wolf(
            [item.result.estimate for item in known], np.stack([item.replicates for item in known], axis=1)
        ).adjusted
        return {name: (float(p), float(q)) for name, p, q in zip(members, by_holm, stepped, strict=True)}

    def judge(self, cell: str) -> JudgeComparison | str:
        """Selected minus plurality on identical candidates, or why that cannot be said."""
        data = self.cells[cell]
        if data.cell.decision_rule not in ("selected", "highest-score"):
            return f"the cell's decision rule is `{data.cell.decision_rule}`: nothing selects among candidates"
        answers = our_answers(data)
        judge, majority = decide(data, answers), decide(data, answers, rule="plurality")
        if drawn := int(np.sum(majority.tied > 1)):
            return f"{drawn} votes are tied and their winners drawn at random, so no one outcome is the author's"
        known = (judge.grade != Grade.UNKNOWN) & (majority.grade != Grade.UNKNOWN)
        if known.sum() < 2:
            return "fewer than two questions are known, and one has no spread to resample"
        right, counted = (outcome.grade[known] == Grade.CORRECT for outcome in (judge, majority))
        replicates = bootstrap_means(
            right.astype(np.float64) - counted, rng=self.rng(), resamples=self.inference.resamples
        )
        return JudgeComparison(
            data, int(known.sum()), comparison(replicates, 0), replicates.values[:, 0], mcnemar_of(right, counted)
        )

    def cost_of(self, data: CellData, spending: Spending) -> Floats | str:
        """(n,) cost of each question's record, its declared reward model included; or why it cannot be told."""
        return by_question(data, spending, self.size_of(data), self.reward_size_of(data))

    def pool_of(self, setting: str) -> CellData | None:
        """The declared pool of a setting."""
        return self._pools.get(setting)

    def reward_size_of(self, data: CellData) -> float | None:
        """Parameters of the reward model that the cell declares (`parameters.reward_model`, the id of a model)."""
        name = (data.cell.parameters or {}).get("reward_model")
        return self._parameters.get(str(name)) if name is not None else None

    def size_of(self, data: CellData) -> float | None:
        """Parameters of the model of a cell, where the manifest gives them."""
        return self._parameters[model_of(data.cell.id)]

    def rng(self) -> np.random.Generator:
        """A generator in the state that the reader's seed gives."""
        # A fresh generator each time: a result must not depend on what was asked before it.
        return np.random.default_rng(self.inference.seed)

    def _compare_setting(
        self, setting: str, curve: "_PoolCurve", kept: frozenset[str] | None
    ) -> dict[str, MethodComparison | str]:
        """Every method of a setting; those over the same questions are resampled together, which is also quickest."""
        found: dict[str, MethodComparison | str] = {}
        groups: dict[bytes, list[_Paired]] = {}
        for name in self.methods():
            if setting_of(name) == setting:
                item = self._paired(self.cells[name], curve, kept)
                if isinstance(item, str):
                    found[name] = item
                else:
                    groups.setdefault(item.rows.tobytes(), []).append(item)
        for group in groups.values():
            rows = group[0].rows
            try:
                equal = bootstrap_at_equal_cost(
                    curve.curve.sizes,
                    curve.costs[rows],
                    curve.curve.accuracy[rows],
                    np.stack([item.spent for item in group], axis=1),
                    np.stack([item.credit for item in group], axis=1),
                    rng=self.rng(),
                    resamples=self.inference.resamples,
                )
            except ValueError as error:
                found |= {item.data.cell.id: str(error) for item in group}
                continue
            results = equal.comparisons()
            found |= {
                item.data.cell.id: _one(equal, results[column], column, item, curve)
                for column, item in enumerate(group)
            }
        return found

    def _paired(self, data: CellData, curve: "_PoolCurve", kept: frozenset[str] | None) -> "_Paired | str":
        """Credits and costs of a method over the questions that the pool knows too, or why there are too few."""
        outcomes = decide(data, our_answers(data))
        spent = self.cost_of(data, self.inference.spending)
        if isinstance(spent, str):
            return spent
        places = curve.place_of(data.question_ids)
        known = (outcomes.grade != Grade.UNKNOWN) & ~np.isnan(spent) & (places >= 0)
        expected = data.n
        if kept is not None:
            inside = np.array([name in kept for name in data.question_ids])
            known, expected = known & inside, int(inside.sum())
        if known.sum() < 2:
            return "fewer than two questions are known in both the cell and the pool, with their costs"
        credit = np.where(
            outcomes.tied[known] > 1,
            outcomes.right[known] / outcomes.tied[known],
            outcomes.grade[known] == Grade.CORRECT,
        )
        return _Paired(data, places[known], credit, spent[known], expected)


@dataclass(frozen=True)
class _Paired:
    """One method over the questions that both sides know: `rows` of the curve, and per question credit and cost."""

    data: CellData
    rows: NDArray[np.int64]
    credit: Floats
    spent: Floats
    expected: int


@dataclass(frozen=True)
class _PoolCurve:
    """The exact curve of a pool over the questions whose samples are all known, and where each of these stands."""

    cell: CellData
    curve: Curve
    costs: Floats
    """(questions, sizes), in the unit of comparison."""
    questions: tuple[str, ...]
    fine_accuracy: Floats
    fine_costs: Floats
    """(questions, N = 1, 2, 3, ...): the same between the sizes of `GRID`, for pools of at most `FINEST` samples."""

    def grid_gap(self, rows: NDArray[np.int64], point: CurvePoint) -> float:
        """How far the baseline moves if it is interpolated between all sizes and not between those of `GRID`."""
        costs, heights = self.fine_costs[rows].mean(axis=0), self.fine_accuracy[rows].mean(axis=0)
        return abs(float(np.interp(point.cost, costs, heights)) - point.accuracy)

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
    grid = tuple(n for n in GRID if n <= largest)
    every = tuple(range(1, largest + 1)) if largest <= FINEST else grid
    whole = exact_curve(pools, every, ties=ties, unparsed=CurveUnparsed(unparsed))
    costs_of_all = curve_costs(spent, every, spending)
    at = [every.index(n) for n in grid]
    columns_of = ("accuracy", "cost", "cost_variance", "cost_correct")
    coarse = replace(whole, sizes=grid, **{name: getattr(whole, name)[:, at] for name in columns_of})
    return _PoolCurve(data, coarse, costs_of_all[:, at], tuple(names), whole.accuracy, costs_of_all)


def _one(
    equal: EqualCost, result: Comparison | Unverifiable, column: int, item: _Paired, curve: _PoolCurve
) -> MethodComparison | str:
    point = equal.points[column]
    if isinstance(result, Unverifiable):
        return result.reason
    if isinstance(point, Unverifiable):
        return point.reason
    return MethodComparison(
        item.data,
        tuple(curve.questions[row] for row in item.rows),
        item.expected,
        float(item.credit.mean()),
        float(item.spent.mean()),
        point,
        curve.curve,
        curve.grid_gap(item.rows, point),
        result,
        equal.replicates.values[:, equal.columns.index(column)],
    )


def _answered(data: CellData) -> list[str]:
    """Questions of a cell with a readable answer: for a pool in every sample, else in the outcome (SMRL 5.5)."""
    if data.cell.pool:
        readable = np.ones(data.n, dtype=np.bool_)
        readable[data.owner[data.answers.vote == NONE]] = False
        readable &= np.diff(data.offsets) > 0
    else:
        grade = decide(data, our_answers(data)).grade
        readable = (grade == Grade.CORRECT) | (grade == Grade.INCORRECT)
    return [name for name, there in zip(data.question_ids, readable, strict=True) if there]


def _survived(data: CellData) -> list[str]:
    """Questions of a cell that have a record which did not fail."""
    there = data.present & ~data.failed
    return [name for name, kept in zip(data.question_ids, there, strict=True) if kept]


def _right_share(pool: CellData) -> Floats:
    """(n,) share of right samples of each question, NaN where a sample is not known."""
    sizes = np.diff(pool.offsets)
    right = np.bincount(pool.owner[pool.answers.grade == Grade.CORRECT], minlength=pool.n)
    hidden = np.bincount(pool.owner[pool.answers.grade == Grade.UNKNOWN], minlength=pool.n) > 0
    share = right / np.maximum(sizes, 1)
    share[hidden | (sizes == 0) | ~pool.gold_usable] = np.nan
    return share
