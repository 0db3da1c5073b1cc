"""What each question cost, in the unit that methods are compared at: cells in, arrays out."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from schemas.errors import UsageError
from verify.cells import CellData
from verify.partial import NONE
from verify.statistics.cost import expected_longest

CostUnit = Literal["completion", "total", "latency", "money", "flops"]
COST_UNITS: tuple[CostUnit, ...] = get_args(CostUnit)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prices:
    """Money for a million tokens read and a million written."""

    prompt: float
    completion: float


@dataclass(frozen=True)
class Spending:
    """How costs are counted. `completion`: tokens generated; `total`: read and generated; `latency`: tokens on the
    longest chain of calls that wait for each other; `money`: by `prices`; `flops`: 2 P (read + generated), P being
    the model's `parameters` (Kaplan et al. 2020, arXiv:2001.08361), and 2 P_rm read for a reward model (ROR 3.5)."""

    unit: CostUnit = "completion"
    prices: Prices | None = None

    def __post_init__(self) -> None:
        if self.unit not in COST_UNITS:
            raise UsageError(f"Cost unit {self.unit!r} does not exist; choose one of {', '.join(COST_UNITS)}.")
        if self.unit == "money" and self.prices is None:
            raise UsageError("Cost unit `money` needs prices for a million tokens read and generated.")


def by_question(
    data: CellData, spending: Spending, parameters: float | None, reward: float | None = None
) -> Floats | str:
    """(n,) cost of each question's record, NaN where a count is missing; or why it cannot be told at all.

    `reward`: parameters of the reward model that scored the answers, whose reading counts in FLOPs.
    """
    if spending.unit == "latency":
        return _known(data.latency)
    written = _known(data.completion_tokens)
    if spending.unit == "completion":
        return written
    cost = _priced(_known(data.prompt_tokens), written, spending, parameters)
    if spending.unit == "flops" and reward is not None and not isinstance(cost, str):
        cost = cost + 2.0 * reward * _scored(data)
    return cost


def by_answer(data: CellData, spending: Spending, parameters: float | None) -> Floats | str:
    """(answers,) cost of each sample of a pool, NaN where a count is missing; or why it cannot be told at all."""
    written = _known(data.answers.tokens)
    if spending.unit in ("completion", "latency"):
        return written
    return _priced(_known(data.answers.prompt), written, spending, parameters)


def curve_costs(pools: list[Floats], sizes: tuple[int, ...], spending: Spending) -> Floats:
    """(questions, sizes) expected cost of N samples: N times the mean, or for latency the mean of the longest."""
    if spending.unit == "latency":
        return np.stack([expected_longest(costs, sizes) for costs in pools])
    return np.outer([costs.mean() for costs in pools], sizes)


def _scored(data: CellData) -> Floats:
    """(n,) tokens that a reward model read: prompt and answer of every scored generation, NaN where not counted."""
    columns = data.answers
    scored = ~np.isnan(columns.score)
    read = (_known(columns.prompt) + _known(columns.tokens))[scored]
    return np.bincount(data.owner[scored], weights=read, minlength=data.n).astype(np.float64)


def _known(counts: NDArray[np.integer]) -> Floats:
    return np.where(counts == NONE, np.nan, counts).astype(np.float64)


def _priced(read: Floats, written: Floats, spending: Spending, parameters: float | None) -> Floats | str:
    if spending.unit == "total":
        return read + written
    if spending.unit == "money" and spending.prices is not None:
        return (read * spending.prices.prompt + written * spending.prices.completion) / 1e6
    if parameters is None:
        return "the manifest does not give the model's number of parameters"
    return 2.0 * parameters * (read + written)
