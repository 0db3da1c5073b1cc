"""Shares of questions counted otherwise: other rows, rule, denominator, grader, ties, number of samples.

All work on the graded arrays of one cell; nothing is read again. Outcomes are kept, since alternatives, cells' other
claims and the sensitivity table share most of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from schemas.manifest import DecisionRule, TieRule, UnparsedPolicy
from verify.cells import CellData, IntArray
from verify.claims import BoundClaim
from verify.diagnostics.accident import normal_mass, share_mass
from verify.diagnostics.alternatives.reading import Reading, Step
from verify.estimates import Parameters, Unavailable, outcomes_of
from verify.grades import LENIENCIES
from verify.outcome import (
    Answers,
    Outcomes,
    claimed_answers,
    decide,
    highest_score,
    mask_unknown,
    our_answers,
    plurality,
)
from verify.partial import NONE, Grade

Rule = Literal["declared", "only", "last", "plurality", "selected", "highest-score", "at", "any", "mean"]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

STATISTICS = (
    "accuracy",
    "claimed_accuracy",
    "correct_count",
    "majority_at_k",
    "pass_at_k",
    "mean_over_samples",
    "sample_accuracy",
    "highest_score_at_k",
    "judge_minus_majority",
)
DECIDING: tuple[DecisionRule, ...] = ("selected", "plurality", "highest-score", "last")
SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 64, 128)
"""Numbers of samples that are tried in place of the claimed one, where the records hold as many."""


@dataclass(frozen=True)
class Counting:
    """How a share is counted. Each field is one thing that can be done otherwise."""

    rule: Rule
    ties: TieRule
    unparsed: UnparsedPolicy
    grades: str = "ours"
    """`ours`, `flags` (the runner's), or one of `LENIENCIES`."""
    turns: Literal["declared", "first", "all"] = "declared"
    """Which answers of a record: those the rule is over, those of its first round, or all."""
    at: int = 0
    """For rule `at`: place among the answers, negative from the end."""
    k: int | None = None
    """Only the first k samples of each record."""
    rows: Literal["all", "recorded", "complete", "uncut"] = "all"
    over: int | Literal["rows", "readable"] = "rows"
    shown: Literal["share", "count", "difference", "reverse"] = "share"

    @property
    def crediting(self) -> tuple[object, ...]:
        """The fields that decide what each question counts."""
        return self.rule, self.ties, self.unparsed, self.grades, self.turns, self.at, self.k


@dataclass(frozen=True)
class Credit:
    """By question: the least and the most that it may count, out of `weight`; and whether an answer could be read."""

    low: Floats
    high: Floats
    weight: Floats
    readable: Flags


@dataclass
class CellCounts:
    """One cell's outcomes under any counting, each computed once."""

    data: CellData
    complete: Flags | None
    """By question: a complete case of the setting; None where there is none to speak of."""
    sizes: Mapping[str, int]
    """Numbers of questions that a share might wrongly be over, by what they are the number of."""
    _credits: dict[tuple[object, ...], Credit | None] = field(default_factory=dict)
    _answers: dict[str, Answers] = field(default_factory=dict)
    _outcomes: dict[str, Outcomes | Unavailable] = field(default_factory=dict)

    def credit(self, counting: Counting) -> Credit | None:
        """What each question counts, rows and denominator aside."""
        key = counting.crediting
        if key not in self._credits:
            self._credits[key] = self._credit(counting)
        return self._credits[key]

    def answers(self, grades: str) -> Answers:
        """The answers under one way of grading."""
        if grades not in self._answers:
            self._answers[grades] = _graded(self.data, grades)
        return self._answers[grades]

    @cached_property
    def every(self) -> Flags:
        """All questions."""
        return np.ones(self.data.n, dtype=np.bool_)

    @cached_property
    def recorded(self) -> Flags:
        """Questions with a record that did not fail."""
        return self.data.present & ~self.data.failed

    @cached_property
    def uncut(self) -> Flags:
        """Questions of whose record no call was cut by its length."""
        kept: Flags = self.recorded & (self.data.capped == 0)
        return kept

    @cached_property
    def flagged(self) -> bool:
        """Whether the runner's flags say as much as our grades: with a few of them missing, they allow anything."""
        flags, ours = self._declared("claimed"), self._declared("ours")
        return isinstance(flags, Outcomes) and isinstance(ours, Outcomes) and flags.unknown <= ours.unknown

    def _credit(self, how: Counting) -> Credit | None:
        data = self.data
        declared = self._declared("claimed" if how.grades == "flags" else "ours")
        if isinstance(declared, Unavailable):
            return None
        rule = data.cell.decision_rule if how.rule == "declared" else how.rule
        as_declared = how.rule == "declared" and how.turns == "declared" and how.k is None
        if as_declared and (how.grades == "flags" or (how.grades == "ours" and _as_declared(data, how))):
            return _of(declared)
        answers = self.answers(how.grades)
        if how.turns == "first":
            answers = answers.where(answers.round == 0)
        elif how.turns == "declared" and rule in ("plurality", "any", "mean", "at"):
            answers = answers.last_round()
        if how.k is not None and rule != "any":
            if rule not in ("plurality", "highest-score", "mean") or (answers.count()[self.recorded] < how.k).any():
                return None
            answers = answers.first(how.k)
        if rule == "mean":
            return self._mean(answers)
        if rule == "any":
            return self._passed(answers, how.k)
        if rule == "at":
            outcomes = _mark(data, answers, _at(answers, how.at))
        elif rule == "plurality":
            outcomes = mask_unknown(data, plurality(answers, tie_rule=how.ties, unparsed_policy=how.unparsed))
        elif rule == "highest-score" and not np.isnan(answers.score).all():
            outcomes = _mark(data, answers, highest_score(answers))
        elif how.turns == "first" or rule == "highest-score":
            return None  # positions of other rules are places in the whole record
        else:
            outcomes = decide(data, answers, rule=rule)
        # A rule that the records do not fit leaves nearly everything open, and would then print anything.
        return None if outcomes.unknown > declared.unknown else _of(outcomes)

    def _declared(self, grades: str) -> Outcomes | Unavailable:
        if grades not in self._outcomes:
            self._outcomes[grades] = outcomes_of(self.data, {"grades": grades})
        return self._outcomes[grades]

    def _mean(self, answers: Answers) -> Credit | None:
        if not self.data.present.all() or (answers.grade == Grade.UNKNOWN).any():
            return None
        right = np.bincount(answers.owner[answers.grade == Grade.CORRECT], minlength=answers.n).astype(np.float64)
        return Credit(right, right, answers.count().astype(np.float64), _read(answers))

    def _passed(self, answers: Answers, k: int | None) -> Credit:
        """Any of k answers right, expected over all choices of k (Chen et al. 2021, equation 1); None = of all."""
        right = np.bincount(answers.owner[answers.grade == Grade.CORRECT], minlength=answers.n)
        unread = np.bincount(answers.owner[answers.grade == Grade.UNKNOWN], minlength=answers.n) > 0
        if k is None:
            passed = (right > 0).astype(np.float64)
        else:
            pairs = zip(answers.count().tolist(), right.tolist(), strict=True)
            passed = np.array([1 - comb(n - c, k) / comb(n, k) if n >= k else 0.0 for n, c in pairs])
        open_ = (unread & (passed < 1)) | ~self.data.present | ~self.data.gold_usable
        low = np.where(open_, 0.0, passed)
        return Credit(low, np.where(open_, 1.0, passed), np.ones_like(low), _read(answers))


def _read(answers: Answers) -> Flags:
    """Questions with any answer that could be read."""
    read = np.isin(answers.grade, (Grade.CORRECT, Grade.INCORRECT))
    return np.bincount(answers.owner[read], minlength=answers.n) > 0


def _as_declared(data: CellData, how: Counting) -> bool:
    return how.ties == data.cell.tie_rule and how.unparsed == data.cell.unparsed_policy


def _graded(data: CellData, grades: str) -> Answers:
    if grades == "flags":
        return claimed_answers(data)
    answers = our_answers(data)
    if grades in LENIENCIES:
        lenient = (data.answers.leniency & (1 << LENIENCIES.index(grades))) != 0
        answers = replace(answers, grade=np.where(lenient, Grade.CORRECT, answers.grade).astype(np.int8))
    return answers


def _of(outcomes: Outcomes) -> Credit:
    low = (outcomes.tied == 1) & (outcomes.grade == Grade.CORRECT)
    high = low | ((outcomes.tied > 1) & (outcomes.right == 1)) | (outcomes.grade == Grade.UNKNOWN)
    readable = ~np.isin(outcomes.grade, (Grade.UNPARSED, Grade.MISSING, Grade.UNKNOWN))
    return Credit(low.astype(np.float64), high.astype(np.float64), np.ones(len(low)), readable)


def _at(answers: Answers, place: int) -> IntArray:
    """By question: index of the answer at a place, negative from the end; NONE where there is none."""
    count = answers.count()
    first = np.searchsorted(answers.owner, np.arange(answers.n))
    wanted = first + (place if place >= 0 else np.maximum(count + place, 0))
    return np.where(count > max(place, 0), wanted, NONE)


def _mark(data: CellData, answers: Answers, chosen: IntArray) -> Outcomes:
    grade = np.full(data.n, Grade.UNPARSED, dtype=np.int8)
    grade[answers.count() == 0] = Grade.MISSING
    there = chosen >= 0
    grade[there] = answers.grade[chosen[there]]
    right = (grade == Grade.CORRECT).astype(np.int64)
    return mask_unknown(data, Outcomes(grade, right, np.ones_like(right), np.full_like(right, NONE)))


class ShareReader:
    """A share of right answers, a count of them, or the difference of judge and majority."""

    def __init__(self, counts: CellCounts, claim: BoundClaim) -> None:
        self.counts = counts
        self.declared = declared_counting(counts.data, claim.statistic, claim.parameters)
        self._ours = self.read(())
        n = counts.data.n
        middle = 0.0 if self._ours is None else float((self._ours.low + self._ours.high) / 2)
        if self.declared.shown == "difference":
            # Another run: each of the two shares could move; half of the questions at most decide anything.
            self.mass = normal_mass(middle, float(np.sqrt(max(abs(middle), 1 / n) / n)), middle - 0.25, middle + 0.25)
        elif self.declared.shown == "count":
            whole = share_mass(min(middle, n), n)
            self.mass = lambda low, high: whole(low / n, high / n)
        else:
            self.mass = share_mass(min(max(middle, 0.0), 1.0) * n, n)

    def steps(self) -> list[Step]:
        """Those of the cell that its data can tell apart from what is declared."""
        data, declared = self.counts.data, self.declared
        found = [
            Step("row scope", "rows", "recorded", "only questions with a record"),
            Step("row scope", "rows", "complete", "only questions that every method of the setting answered"),
        ]
        if data.capped.any():
            found.append(Step("row scope", "rows", "uncut", "only questions whose answers ended before the token cap"))
        own = data.cell.decision_rule if declared.rule == "declared" else declared.rule
        found += [
            Step("decision rule", "rule", rule, f"decision rule `{rule}` in place of `{own}`")
            for rule in DECIDING
            if rule != own and not (rule == "selected" and (data.pick == NONE).all())
        ]
        if not (own == "at" and declared.at == 0):
            found.append(Step("decision rule", "first", None, "the first answer of each record alone"))
        found.append(Step("decision rule", "before-last", None, "the answer before the last of each record"))
        if len(data.answers.round) and int(data.answers.round.max()) > 0:
            found.append(Step("decision rule", "turns", "first", "the first round in place of the last"))
            found.append(Step("decision rule", "turns", "all", "the answers of all rounds together"))
        found.append(Step("decision rule", "any", None, "any answer of the record correct (pass@k)"))
        if own != "mean":
            found.append(Step("decision rule", "mean", None, "the mean over a record's answers"))
        found.append(Step("denominator", "over", "readable", "only questions with a readable answer"))
        found += [
            Step("denominator", "over", size, f"right answers over {size:,}, {what}, in place of {data.n:,}")
            for what, size in self.counts.sizes.items()
        ]
        found += [Step("grader", "grades", name, f"grader: {name}") for name in LENIENCIES]
        if declared.grades != "flags" and self.counts.flagged:
            found.append(Step("grader", "grades", "flags", "the runner's own flags"))
        else:
            found.append(Step("grader", "grades", "ours", "our grades in place of the runner's"))
        found += [
            Step("tie rule", "ties", rule, f"tie rule `{rule}`")
            for rule in ("first", "random", "right", "wrong")
            if rule != declared.ties
        ]
        found += [
            Step("tie rule", "unparsed", policy, f"answers that cannot be read count as `{policy}`")
            for policy in ("abstain", "class", "singletons")
            if policy != declared.unparsed
        ]
        if own in ("plurality", "highest-score", "any", "mean"):
            longest = int(np.diff(data.offsets).max(initial=0))
            found += [
                Step("statistic", "k", k, f"{k} samples in place of {declared.k or longest}")
                for k in SIZES
                if k < longest and k != declared.k
            ]
            if declared.k is not None and declared.k != longest:
                found.append(Step("statistic", "k", None, f"all {longest} samples in place of {declared.k}"))
        if declared.shown == "difference":
            found.append(Step("statistic", "shown", "reverse", "majority minus judge in place of judge minus majority"))
        return found

    def read(self, steps: Sequence[Step]) -> Reading | None:
        """As declared, with each step taken."""
        how = self.declared
        for step in steps:
            how = _take(how, step)
        return self.count(how)

    def credit_of(self, steps: Sequence[Step]) -> Credit | None:
        """What each question counts with these steps taken."""
        how = self.declared
        for step in steps:
            how = _take(how, step)
        return self.counts.credit(how)

    def count(self, how: Counting) -> Reading | None:
        """The value of one counting; None where the cell cannot give it."""
        if how.shown in ("difference", "reverse"):
            judge = self._sum(replace(how, shown="share"))
            majority = self._sum(replace(how, shown="share", rule="plurality"))
            if judge is None or majority is None or judge[4] != majority[4]:
                return None
            sign = 1 if how.shown == "difference" else -1
            ends = sorted((sign * (judge[0] - majority[1]), sign * (judge[1] - majority[0])))
            return Reading(ends[0], ends[1], (judge[2], majority[2], sign), judge[3])
        found = self._sum(how)
        if found is None:
            return None
        low, high, same, scope, over = found
        credit = self.counts.credit(how)
        right = None if credit is None else credit.low > 0
        scale = over if how.shown == "count" else 1
        return Reading(low * scale, high * scale, same, scope, right)

    def _sum(self, how: Counting) -> tuple[Fraction, Fraction, tuple[object, ...], str, Fraction] | None:
        counts = self.counts
        credit = counts.credit(how)
        if credit is None:
            return None
        n = counts.data.n
        rows = counts.every
        if how.rows == "recorded":
            rows = counts.recorded
        elif how.rows == "complete":
            if counts.complete is None:
                return None
            rows = counts.complete
        elif how.rows == "uncut":
            rows = counts.uncut
        if how.over == "readable":
            rows = rows & credit.readable
        over = Fraction(how.over) if isinstance(how.over, int) else _fraction(credit.weight[rows].sum())
        low, high = _fraction(credit.low[rows].sum()), _fraction(credit.high[rows].sum())
        if over <= 0 or low > over:
            return None
        kept = int(rows.sum())
        scope = "" if kept == n else f"over {kept:,} of {n:,} questions"
        same = (credit.low.tobytes(), credit.high.tobytes(), rows.tobytes(), over)
        return low / over, high / over, same, scope, over


def declared_counting(data: CellData, statistic: str, parameters: Parameters) -> Counting:
    """The counting that a statistic is defined by."""
    how = Counting(
        "declared",
        cast(TieRule, parameters.get("tie_rule", data.cell.tie_rule)),
        cast(UnparsedPolicy, parameters.get("unparsed_policy", data.cell.unparsed_policy)),
        grades="flags" if parameters.get("grades") == "claimed" or statistic == "claimed_accuracy" else "ours",
        k=int(parameters["k"]) if "k" in parameters else None,
    )
    if statistic == "correct_count":
        return replace(how, shown="count")
    if statistic == "judge_minus_majority":
        return replace(how, shown="difference")
    if statistic == "sample_accuracy":
        return replace(how, rule="at", at=int(parameters.get("index", 0)))
    rules: dict[str, Rule] = {
        "majority_at_k": "plurality",
        "pass_at_k": "any",
        "mean_over_samples": "mean",
        "highest_score_at_k": "highest-score",
    }
    return replace(how, rule=rules.get(statistic, "declared"))


def _take(how: Counting, step: Step) -> Counting:
    if step.field == "first":
        return replace(how, rule="at", at=0, turns="all", k=None)
    if step.field == "before-last":
        return replace(how, rule="at", at=-2, turns="all", k=None)
    if step.field in ("any", "mean"):
        return replace(how, rule=cast(Rule, step.field), turns="all" if how.rule == "declared" else how.turns)
    return replace(how, **{step.field: step.value})  # type: ignore[arg-type]


def _fraction(value: float) -> Fraction:
    """Sums of whole numbers exactly, sums of shares of small numbers of samples as near as it matters."""
    whole = round(value)
    return Fraction(whole) if whole == value else Fraction(float(value)).limit_denominator(10**9)
