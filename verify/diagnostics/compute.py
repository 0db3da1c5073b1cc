"""What did it cost, in every unit? (SMRL 4.7 and 6.4, ROR 3.5 and A.7)

FLOPs are 2 P (read + generated) over all calls, and 2 P_rm read for a reward model. A method that wins at equal
generated tokens may lose at equal tokens read and generated, and the verdict of ROR's breadth-depth refinement against
its own cost's worth of samples, which its paper left open, is read here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from verify.cells import CellData
from verify.outcome import decide, our_answers
from verify.partial import NONE, Grade
from verify.release import method_of, model_of, setting_of
from verify.settings import Study
from verify.spending import CostUnit, Floats, Spending, by_answer, curve_costs
from verify.statistics.equalcost import bootstrap_at_equal_cost
from verify.statistics.interpolation import curve_at_cost
from verify.statistics.outcome import NoInterval, Unverifiable
from verify.value import Parameters, Statistic, Unavailable, Value, rate

UNITS: tuple[CostUnit, ...] = ("completion", "total", "flops", "latency")
"""Units that need no prices."""
TERA = 1e12


@dataclass(frozen=True)
class AtUnit:
    """A method against the sampling curve at its own cost in one unit; interval and p where they were asked for."""

    unit: CostUnit
    difference: float
    clamped: bool
    low: float | None = None
    high: float | None = None
    p_value: float | None = None

    @property
    def sign(self) -> int:
        """-1 worse, 1 better, 0 where the interval holds zero or there is none."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return 0
        return 1 if self.low > 0 else -1


class PoolPrices:
    """What N samples of each setting's pool cost in each unit; each is counted once, when first asked for."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._known: dict[tuple[str, CostUnit], Floats | str] = {}

    def of(self, setting: str, unit: CostUnit) -> Floats | str:
        """(questions, sizes) of the setting's curve, NaN where a sample's tokens are not counted; or why not."""
        key = setting, unit
        if key not in self._known:
            self._known[key] = self._count(setting, unit)
        return self._known[key]

    def _count(self, setting: str, unit: CostUnit) -> Floats | str:
        pool, curve = self.study.pool_of(setting), self.study.curve(setting)
        if pool is None or isinstance(curve, str):
            return "the setting has no curve"
        spending = Spending(unit)
        costs = by_answer(pool, spending, self.study.size_of(pool))
        if isinstance(costs, str):
            return costs
        row_of = {name: i for i, name in enumerate(pool.question_ids)}
        rows = [row_of[name] for name in curve.questions]
        return curve_costs(
            [costs[pool.offsets[row] : pool.offsets[row + 1]] for row in rows], curve.curve.sizes, spending
        )


def in_every_unit(study: Study, cell: str, prices: PoolPrices, *, resamples: int = 0) -> dict[CostUnit, AtUnit | str]:
    """One method at equal cost in each of `UNITS`, with intervals from `resamples` where that is not 0.

    The curve's accuracies do not depend on the unit and are computed once; only costs are counted anew.
    """
    data, setting = study.cells[cell], setting_of(cell)
    curve = study.curve(setting)
    if isinstance(curve, str):
        return {}
    outcomes = decide(data, our_answers(data))
    places = curve.place_of(data.question_ids)
    credit = np.where(outcomes.tied > 1, outcomes.right / np.maximum(outcomes.tied, 1), outcomes.grade == Grade.CORRECT)
    found: dict[CostUnit, AtUnit | str] = {}
    for unit in UNITS:
        spending = Spending(unit)
        # FLOPs are tokens read and generated times a constant: unless a reward model reads too, one comparison is both.
        if unit == "flops" and "total" in found and study.reward_size_of(data) is None:
            same = found["total"]
            known_size = not isinstance(study.cost_of(data, spending), str)
            found[unit] = (
                AtUnit(unit, same.difference, same.clamped, same.low, same.high, same.p_value)
                if isinstance(same, AtUnit) and known_size
                else str(study.cost_of(data, spending) if not known_size else same)
            )
            continue
        spent, sampled = study.cost_of(data, spending), prices.of(setting, unit)
        if isinstance(spent, str) or isinstance(sampled, str):
            found[unit] = str(spent if isinstance(spent, str) else sampled)
            continue
        known = (outcomes.grade != Grade.UNKNOWN) & ~np.isnan(spent) & (places >= 0)
        known[known] = ~np.isnan(sampled[places[known]]).any(axis=1)
        if known.sum() < 2:
            found[unit] = "fewer than two questions are known in both the cell and the pool, with their costs"
            continue
        rows = places[known]
        curve_of = (curve.curve.sizes, sampled[rows], curve.curve.accuracy[rows])
        found[unit] = _compare(study, unit, *curve_of, spent[known], credit[known], resamples)
    return found


def _compare(
    study: Study,
    unit: CostUnit,
    sizes: tuple[int, ...],
    costs: Floats,
    accuracy: Floats,
    spent: Floats,
    credit: Floats,
    resamples: int,
) -> AtUnit | str:
    try:
        point = curve_at_cost(sizes, costs.mean(axis=0), accuracy.mean(axis=0), float(spent.mean()))
        if isinstance(point, Unverifiable):
            return point.reason
        difference = float(credit.mean()) - point.accuracy
        if not resamples:
            return AtUnit(unit, difference, point.clamped)
        rng = np.random.default_rng(study.inference.seed)
        equal = bootstrap_at_equal_cost(
            sizes, costs, accuracy, spent[:, None], credit[:, None].astype(np.float64), rng=rng, resamples=resamples
        )
        (result,) = equal.comparisons()
    except ValueError as error:
        return str(error)
    if isinstance(result, Unverifiable):
        return result.reason
    interval = result.percentile
    if isinstance(interval, NoInterval):
        return AtUnit(unit, result.estimate, point.clamped, p_value=result.p_value)
    return AtUnit(unit, result.estimate, point.clamped, interval.low, interval.high, result.p_value)


def tflops_of(study: Study, cell: str) -> float | str:
    """TFLOPs of all calls of a cell, or why they cannot be told."""
    spent = study.cost_of(study.cells[cell], Spending("flops"))
    if isinstance(spent, str):
        return spent
    if missing := int(np.isnan(spent).sum()):
        return f"{missing} of {len(spent)} records do not count all of their tokens"
    return float(spent.sum()) / TERA


def read_per_written(data: CellData) -> float | None:
    """Tokens read for each token generated, over the records that count both."""
    known = (data.prompt_tokens != NONE) & (data.completion_tokens != NONE)
    written = int(data.completion_tokens[known].sum())
    return int(data.prompt_tokens[known].sum()) / written if written else None


def _ratio(data: CellData, parameters: Parameters) -> Value | Unavailable:
    del parameters
    known = (data.prompt_tokens != NONE) & (data.completion_tokens != NONE)
    written = int(data.completion_tokens[known].sum())
    if not written:
        return Unavailable("no record counts both its prompt tokens and its completion tokens.")
    ratio = Fraction(int(data.prompt_tokens[known].sum()), written)
    return Value(ratio, ratio, ratio, int(known.sum()), data.n)


STATISTICS: dict[str, Statistic] = {"input_output_ratio": Statistic(_ratio, "number", bounded=False)}


def tflops(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    """Of all questions together, or the mean of one (`per = "question"`)."""
    total = tflops_of(study, cell)
    if isinstance(total, str):
        return Unavailable(f"{total}.")
    n = study.cells[cell].n
    return _number(total / n if parameters.get("per", "cell") == "question" else total, n)


def eta_gain(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    """Accuracy points gained over method `base` for each 1,000 TFLOPs more: means over the datasets of the model."""
    pairs = _paired(study, cell, parameters)
    if isinstance(pairs, Unavailable):
        return pairs
    points, compute = [], []
    for own, base in pairs:
        gained = [_accuracy(study.cells[name]) for name in (own, base)]
        cost = [tflops_of(study, name) for name in (own, base)]
        for item in (*gained, *cost):
            if isinstance(item, str):
                return Unavailable(f"{item}.")
        points.append(100 * float(gained[0]) - 100 * float(gained[1]))
        compute.append(float(cost[0]) - float(cost[1]))
    extra = float(np.mean(compute))
    if extra == 0:
        return Unavailable("both methods cost the same, so nothing was gained by spending more.")
    return _number(1e3 * float(np.mean(points)) / extra, len(pairs))


def wins_ties_losses(study: Study, cell: str, parameters: Parameters) -> Value | Unavailable:
    """On how many datasets of the model the method is more accurate than `base` (`outcome`: wins, ties, losses)."""
    pairs = _paired(study, cell, parameters)
    if isinstance(pairs, Unavailable):
        return pairs
    wanted = {"wins": 1, "ties": 0, "losses": -1}[str(parameters.get("outcome", "wins"))]
    count = 0
    for own, base in pairs:
        ours, theirs = _accuracy(study.cells[own]), _accuracy(study.cells[base])
        if isinstance(ours, str) or isinstance(theirs, str):
            return Unavailable(f"{ours if isinstance(ours, str) else theirs}.")
        count += ((ours > theirs) - (ours < theirs)) == wanted
    return Value(Fraction(count), Fraction(count), Fraction(count), len(pairs), len(pairs))


Infer = Callable[[Study, str, Parameters], "Value | Unavailable"]


def _accuracy(data: CellData) -> Fraction | str:
    outcomes = decide(data, our_answers(data))
    if outcomes.unknown or (outcomes.tied > 1).any():
        return f"{data.cell.id}: not every outcome is known and decided"
    found = rate(outcomes, data.n)
    return found.reason if isinstance(found, Unavailable) else found.value


def _paired(study: Study, cell: str, parameters: Parameters) -> list[tuple[str, str]] | Unavailable:
    """The cell and that of method `base` on every dataset of the model that has both, or on the cell's own alone."""
    if "base" not in parameters:
        return Unavailable("parameter `base` must name the method that this one is compared with.")
    base, own = str(parameters["base"]), method_of(cell)
    settings = [
        setting_of(name)
        for name in study.cells
        if method_of(name) == own
        and model_of(name) == model_of(cell)
        and (parameters.get("scope", "model") == "model" or setting_of(name) == setting_of(cell))
    ]
    pairs = [(f"{setting}/{own}", f"{setting}/{base}") for setting in dict.fromkeys(settings)]
    known = [pair for pair in pairs if all(name in study.cells for name in pair)]
    return known or Unavailable(f"no dataset of the model has a cell of method {base!r}.")


def _number(value: float, n: int) -> Value:
    exact = Fraction(value).limit_denominator(10**12)
    return Value(exact, exact, exact, n, n, exact=value)
