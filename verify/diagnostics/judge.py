"""What does selecting add to counting, on identical samples? (SMRL 5.3 and 6.3)

The same for a judge's choice and for the highest score of a reward model.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verify.cells import CellData
from verify.outcome import decide, our_answers
from verify.partial import NONE, Grade
from verify.statistics.bootstrap import Comparison, bootstrap_means, comparison
from verify.statistics.mcnemar import McNemar, mcnemar_of


@dataclass(frozen=True)
class PositionBias:
    """How often each candidate position was picked, against positions that do not matter."""

    picks: tuple[int, ...]
    expected: tuple[float, ...]
    statistic: float
    degrees: int
    p_value: float

    @property
    def first(self) -> float:
        """Share of picks of the first candidate."""
        return self.picks[0] / max(sum(self.picks), 1)


@dataclass(frozen=True)
class Selection:
    """Selected answers against the plurality of the same candidates, over `n` questions known in both."""

    rule: str
    n: int
    selected: float
    majority: float
    result: Comparison
    mcnemar: McNemar
    """`first_only`: questions that only the selection gets right."""
    agreement: float
    disagreements: int
    unread: int
    """Verdicts that name no candidate."""
    verdicts: int
    position: PositionBias | None

    @property
    def override_accuracy(self) -> float | None:
        """Of the questions where exactly one of the two is right, the share that the selection gets right."""
        return self.mcnemar.first_only / self.mcnemar.discordant if self.mcnemar.discordant else None


def examine_selection(data: CellData, *, rng: np.random.Generator, resamples: int = 10_000) -> Selection | str:
    """The selection of a cell, or why there is nothing to compare.

    A cell with decision rule `selected` is read as declared; any other cell whose candidates all have scores by the
    highest score. Unlike `Study.judge` this also looks at scores that the cell's own rule does not use.
    """
    rule = data.cell.decision_rule
    answers = our_answers(data)
    if rule not in ("selected", "highest-score"):
        if not len(answers.score) or np.isnan(answers.score).any() or int(answers.count().max()) < 2:
            return "nothing selects among candidates"
        if (answers.round != answers.round[0]).any():
            return "scores of several rounds are not those of one set of candidates"
        rule = "highest-score"
    chosen, majority = decide(data, answers, rule=rule), decide(data, answers, rule="plurality")
    if drawn := int(np.sum(majority.tied > 1)):
        return f"{drawn} votes are tied and their winners drawn at random, so no one outcome is the author's"
    known = (chosen.grade != Grade.UNKNOWN) & (majority.grade != Grade.UNKNOWN) & ~data.failed
    n = int(known.sum())
    if n < 2:
        return "fewer than two questions are known, and one has no spread to resample"
    right, counted = (item.grade[known] == Grade.CORRECT for item in (chosen, majority))
    agree = (chosen.winner == majority.winner) & (chosen.winner != NONE) & known
    replicates = bootstrap_means(right.astype(np.float64) - counted, rng=rng, resamples=resamples)
    judged = rule == "selected"
    return Selection(
        rule,
        n,
        float(right.mean()),
        float(counted.mean()),
        comparison(replicates, 0),
        mcnemar_of(right, counted),
        float(agree.sum()) / n,
        n - int(agree.sum()),
        int(data.unread_choice.sum()) if judged else 0,
        int(np.sum(data.present & ~data.failed)) if judged else 0,
        position_bias(data) if judged else None,
    )


def position_bias(data: CellData) -> PositionBias | None:
    """Picks by position against uniform picks; choices that were fallbacks are left out. None without picks."""
    counts = np.diff(data.offsets)
    read = (data.pick >= 0) & ~data.unread_choice & (counts > 1)
    if not read.any():
        return None
    return bias_of(data.pick[read], counts[read])


def bias_of(picks: NDArray[np.integer], candidates: NDArray[np.integer]) -> PositionBias:
    """Pearson's test of `picks` (Q,) among `candidates` (Q,) against the uniform pick, positions from 0.

    Positions with an expected count below 5 are pooled with those before them, as the approximation asks.
    """
    width = int(candidates.max())
    observed = np.bincount(picks, minlength=width).astype(np.float64)
    expected = np.array([np.sum((candidates > place) / candidates) for place in range(width)])
    pooled_observed, pooled_expected = list(observed), list(expected)
    while len(pooled_expected) > 1 and min(pooled_expected) < 5:
        place = max(int(np.argmin(pooled_expected)), 1)
        for column in (pooled_observed, pooled_expected):
            column[place - 1] += column.pop(place)
    statistic = float(sum((o - e) ** 2 / e for o, e in zip(pooled_observed, pooled_expected, strict=True)))
    degrees = len(pooled_expected) - 1
    p = 1.0
    if degrees > 0:
        from scipy.special import chdtrc

        p = float(chdtrc(degrees, statistic))
    return PositionBias(
        tuple(int(count) for count in observed), tuple(float(e) for e in expected), statistic, degrees, p
    )
