"""Rounds of refinement: accuracy by depth, recoveries and regressions, changed answers (ROR Appendix A.1 to A.4).

A rollout is an `agent`; depth 0 is the first round that holds answers, depth d the d-th round of answers after it. A
rollout that has stopped keeps its last answer at every later depth, so that a method which stops by itself has depths
as well. An answer before a correction is the rollout's answer one depth earlier: a `continue` is a draft
(ADR 0011) and states none.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from verify.cells import CellData, IntArray
from verify.outcome import Answers, Outcomes, mask_unknown, our_answers, plurality
from verify.partial import NONE, Grade
from verify.statistics.curve import exact_curve
from verify.statistics.mcnemar import McNemar, mcnemar_of
from verify.statistics.pool import Pool
from verify.statistics.pool import TieRule as CurveTies
from verify.statistics.pool import UnparsedPolicy as CurveUnparsed
from verify.value import Parameters, Statistic, Unavailable, Value, rate, share

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Rollouts:
    """The answers of a cell by question, rollout and depth."""

    data: CellData
    at: IntArray
    """(n, N, D + 1): place of the answer in the cell's answer arrays; NONE where the rollout has none so far."""
    _outcomes: dict[tuple[int, int | None], Outcomes] = field(default_factory=dict, compare=False)

    @property
    def breadth(self) -> int:
        """N, the largest number of rollouts of a question."""
        return int(self.at.shape[1])

    @property
    def depth(self) -> int:
        """D, the number of refinements."""
        return int(self.at.shape[2]) - 1

    def answers(self, depth: int, breadth: int | None = None) -> Answers:
        """The answers that stand after `depth` refinements, of the first `breadth` rollouts."""
        places = self.at[:, :breadth, depth]
        kept = np.sort(places[places != NONE])
        return our_answers(self.data).where(kept)

    def outcomes(self, depth: int, breadth: int | None = None) -> Outcomes:
        """The plurality after `depth` refinements, by the cell's own rules for ties and unread answers."""
        key = depth, breadth
        if key not in self._outcomes:
            cell = self.data.cell
            answers = self.answers(depth, breadth)
            vote = plurality(answers, tie_rule=cell.tie_rule, unparsed_policy=cell.unparsed_policy)
            self._outcomes[key] = mask_unknown(self.data, vote)
        return self._outcomes[key]

    def pairs(self, depth: int) -> "Corrections":
        """Every rollout before and after refinement number `depth`."""
        before, after = self.at[:, :, depth - 1], self.at[:, :, depth]
        both = (before != NONE) & (after != NONE)
        columns = self.data.answers
        first, second = before[both], after[both]
        known = (columns.grade[first] != Grade.UNKNOWN) & (columns.grade[second] != Grade.UNKNOWN)
        return Corrections(
            known,
            columns.vote[first] != columns.vote[second],
            columns.grade[first] == Grade.CORRECT,
            columns.grade[second] == Grade.CORRECT,
        )

    def distinct(self, depth: int) -> tuple[IntArray, IntArray, Bools]:
        """By question at `depth`: different readable answers, rollouts, and whether all of this is known."""
        answers = self.answers(depth)
        voted = answers.vote != NONE
        width = int(answers.vote.max(initial=0)) + 1
        classes = np.unique(answers.owner[voted] * width + answers.vote[voted]) // width
        hidden = np.bincount(answers.owner[answers.grade == Grade.UNKNOWN], minlength=answers.n) > 0
        return (
            np.bincount(classes, minlength=answers.n),
            answers.count(),
            self.data.present & ~hidden,
        )


@dataclass(frozen=True)
class Corrections:
    """Rollouts before and after one refinement; arrays of one entry a pair of answers."""

    known: Bools
    changed: Bools
    right_before: Bools
    right_after: Bools

    def count(self, which: Bools) -> int:
        """Known pairs for which `which` holds."""
        return int(np.sum(which & self.known))

    @property
    def repaired(self) -> Bools:
        """Changed from a wrong answer to a right one."""
        return self.changed & ~self.right_before & self.right_after

    @property
    def broken(self) -> Bools:
        """Changed from a right answer to a wrong one."""
        return self.changed & self.right_before & ~self.right_after


def rollouts(data: CellData) -> Rollouts | str:
    """The cell as a grid of rollouts and depths, or why it is none."""
    columns = data.answers
    if not len(columns.grade):
        return "the cell holds no answer-bearing generation"
    rounds, depth = np.unique(columns.round, return_inverse=True)
    if len(rounds) < 2:
        return "no record of the cell goes beyond its first round"
    agents, column = np.unique(columns.agent, return_inverse=True)
    # A hostile record could number its agents and rounds so that the grid fills the memory.
    if data.n * len(agents) * len(rounds) > 50 * len(columns.grade) + 10_000:
        return "agents and rounds are too sparse to be rollouts"
    key = (data.owner * len(agents) + column) * len(rounds) + depth
    if len(np.unique(key)) < len(key):
        return "two answers of a record share their agent and their round, so rollouts cannot be told apart"
    at = np.full((data.n, len(agents), len(rounds)), NONE, dtype=np.int64)
    at.reshape(-1)[key] = np.arange(len(key))
    for step in range(1, len(rounds)):
        stopped = at[:, :, step] == NONE
        at[:, :, step][stopped] = at[:, :, step - 1][stopped]
    return Rollouts(data, at)


def breadth_depth_grid(found: Rollouts) -> NDArray[np.float64] | str:
    """(N, D + 1) expected accuracy of a vote over n of the N rollouts after d refinements, drawn without
    replacement and computed exactly; or why it cannot be said. Only over questions that are known throughout."""
    data, columns = found.data, found.data.answers
    full = (found.at != NONE).all(axis=(1, 2)) & data.present & ~data.failed & data.gold_usable
    hidden = np.zeros(data.n, dtype=np.bool_)
    hidden[data.owner[columns.grade == Grade.UNKNOWN]] = True
    rows = np.flatnonzero(full & ~hidden)
    if not len(rows):
        return "no question has every rollout at every depth"
    ties = {"first": CurveTies.INDEX, "random": CurveTies.RANDOM, "wrong": CurveTies.WRONG, "right": CurveTies.RIGHT}
    votes = columns.vote[found.at[rows]].astype(np.int64)
    right = columns.grade[found.at[rows]] == Grade.CORRECT
    # A vote depends on which rollouts agree and on who is right: questions with one pattern are computed once.
    agree = votes[:, :, None, :] == votes[:, None, :, :]
    pattern = np.where(votes == NONE, NONE, agree.argmax(axis=2))
    grid = np.empty((found.breadth, found.depth + 1))
    for depth in range(found.depth + 1):
        both = np.concatenate([pattern[:, :, depth], right[:, :, depth]], axis=1)
        kinds, times = np.unique(both, axis=0, return_counts=True)
        split = [(kind[: found.breadth], kind[found.breadth :] == 1) for kind in kinds]
        curve = exact_curve(
            [Pool(np.maximum(vote, 0), correct, parsed=vote != NONE) for vote, correct in split],
            range(1, found.breadth + 1),
            ties=ties[data.cell.tie_rule],
            unparsed=CurveUnparsed(data.cell.unparsed_policy),
        )
        grid[:, depth] = times @ curve.accuracy / len(rows)
    return grid


@dataclass(frozen=True)
class Ablation:
    """A cell with its critic against its twin without: `n` questions known in both, and the discordant ones."""

    n: int
    with_critic: float
    without: float
    mcnemar: McNemar


def ablation(with_critic: tuple[CellData, Outcomes], without: tuple[CellData, Outcomes]) -> Ablation | str:
    """What the critic adds, paired by question, from two cells and their outcomes; or why it cannot be said."""
    right: list[dict[str, bool]] = []
    for data, outcomes in (with_critic, without):
        if (outcomes.tied > 1).any():
            return "votes are tied and their winners drawn at random"
        known = outcomes.grade != Grade.UNKNOWN
        right.append(
            {
                name: bool(grade == Grade.CORRECT)
                for name, grade, there in zip(data.question_ids, outcomes.grade, known, strict=True)
                if there
            }
        )
    shared = [name for name in right[0] if name in right[1]]
    if not shared:
        return "no question is known in both cells"
    a, b = (np.array([side[name] for name in shared]) for side in right)
    return Ablation(len(shared), float(a.mean()), float(b.mean()), mcnemar_of(a, b))


Compute = Callable[[Rollouts, int], "Value | Unavailable"]


def _at_depth(compute: Compute, *, least: int) -> Callable[[CellData, Parameters], Value | Unavailable]:
    """A statistic of one depth, by default the last."""

    def of_cell(data: CellData, parameters: Parameters) -> Value | Unavailable:
        found = rollouts(data)
        if isinstance(found, str):
            return Unavailable(f"{found}.")
        depth = int(parameters.get("depth", found.depth))
        if not least <= depth <= found.depth:
            return Unavailable(f"depth {depth} is not between {least} and {found.depth}.")
        return compute(found, depth)

    return of_cell


def _depth_accuracy(data: CellData, parameters: Parameters) -> Value | Unavailable:
    breadth = int(parameters["k"]) if "k" in parameters else None

    def compute(found: Rollouts, depth: int) -> Value | Unavailable:
        if breadth is not None and breadth > found.breadth:
            return Unavailable(f"a question has at most {found.breadth} rollouts, not {breadth}.")
        return rate(found.outcomes(depth, breadth), found.data.n)

    return _at_depth(compute, least=0)(data, parameters)


def _decided(found: Rollouts, depth: int) -> tuple[Bools, Bools, Bools] | Unavailable:
    """By question: right one depth earlier, right at `depth`, and known at both."""
    outcomes = found.outcomes(depth - 1), found.outcomes(depth)
    if any((item.tied > 1).any() for item in outcomes):
        return Unavailable("votes are tied and their winners drawn at random, so no one outcome is the author's.")
    before, after = (item.grade == Grade.CORRECT for item in outcomes)
    known = (outcomes[0].grade != Grade.UNKNOWN) & (outcomes[1].grade != Grade.UNKNOWN)
    return before, after, known


def _turned(towards_right: bool) -> Compute:
    def compute(found: Rollouts, depth: int) -> Value | Unavailable:
        pair = _decided(found, depth)
        if isinstance(pair, Unavailable):
            return pair
        before, after, known = pair
        turned = (~before & after) if towards_right else (before & ~after)
        return share(int(np.sum(turned & known)), int(np.sum(~known)), found.data.n, None)

    return compute


def _improvement(found: Rollouts, depth: int) -> Value | Unavailable:
    pair = _decided(found, depth)
    if isinstance(pair, Unavailable):
        return pair
    before, after, known = pair
    gained = int(np.sum(~before & after & known)) - int(np.sum(before & ~after & known))
    return _signed(gained, int(np.sum(~known)), found.data.n)


def _signed(net: int, unknown: int, total: int) -> Value | Unavailable:
    """A difference of two shares, which each unknown item can move by one either way."""
    if total == unknown:
        return Unavailable("nothing of this cell is known.")
    return Value(
        Fraction(net, total - unknown),
        Fraction(net - unknown, total),
        Fraction(net + unknown, total),
        total - unknown,
        total,
    )


def _corrected(which: Callable[[Corrections], Bools]) -> Compute:
    def compute(found: Rollouts, depth: int) -> Value | Unavailable:
        pairs = found.pairs(depth)
        return share(pairs.count(which(pairs)), int(np.sum(~pairs.known)), len(pairs.known), found.data)

    return compute


def _net_correction(found: Rollouts, depth: int) -> Value | Unavailable:
    pairs = found.pairs(depth)
    total, unknown = len(pairs.known), int(np.sum(~pairs.known))
    net = _signed(pairs.count(pairs.repaired) - pairs.count(pairs.broken), unknown, total)
    if isinstance(net, Unavailable) or found.data.present.all():
        return net
    return Value(net.value, Fraction(-1), Fraction(1), net.n, net.total)


def _diversity(found: Rollouts, depth: int) -> Value | Unavailable:
    distinct, _, known = found.distinct(depth)
    return share(int(np.sum((distinct > 1) & known)), int(np.sum(~known)), found.data.n, None)


def _agreement(found: Rollouts, depth: int) -> Value | Unavailable:
    distinct, _, known = found.distinct(depth)
    return share(int(np.sum((distinct == 1) & known)), int(np.sum(~known)), found.data.n, None)


BY_DEPTH: dict[str, tuple[Compute, int]] = {
    "depth_accuracy": (lambda found, depth: rate(found.outcomes(depth), found.data.n), 0),
    "depth_improvement": (_improvement, 1),
    "recovery_rate": (_turned(True), 1),
    "regression_rate": (_turned(False), 1),
    "answer_change_rate": (_corrected(lambda pairs: pairs.changed), 1),
    "wrong_to_correct_rate": (_corrected(lambda pairs: pairs.repaired), 1),
    "correct_to_wrong_rate": (_corrected(lambda pairs: pairs.broken), 1),
    "net_correction": (_net_correction, 1),
    "diversity_rate": (_diversity, 0),
    "answer_agreement_rate": (_agreement, 0),
}
"""By name: how it is computed at a depth, and the first depth that has it."""

STATISTICS: dict[str, Statistic] = {
    name: Statistic(_at_depth(compute, least=least), "fraction", ("depth",))
    for name, (compute, least) in BY_DEPTH.items()
} | {"depth_accuracy": Statistic(_depth_accuracy, "fraction", ("depth", "k"))}
