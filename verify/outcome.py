"""Decision rules: how the answers of a record become one outcome.

The rule is an argument, taken from the manifest by the caller and never inferred from what a record holds: that
inference is how one published table came to score a judge as a majority vote.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from schemas.manifest import DecisionRule, TieRule, UnparsedPolicy
from verify.cells import CellData, IntArray
from verify.partial import NONE, Grade


@dataclass(frozen=True)
class Answers:
    """The answers of one cell as a decision rule sees them, by our grade or by the runner's flags.

    Arrays by answer, shape (number of answers,); `owner` is the question of each.
    """

    n: int
    owner: IntArray
    grade: NDArray[np.int8]
    vote: IntArray
    round: IntArray
    score: NDArray[np.float64]

    def where(self, mask: NDArray[np.bool_] | IntArray) -> "Answers":
        """The answers for which `mask` holds, or those at its places."""
        return Answers(self.n, self.owner[mask], self.grade[mask], self.vote[mask], self.round[mask], self.score[mask])

    def position(self) -> IntArray:
        """By answer: its place among the answers of its question, from 0."""
        first = np.searchsorted(self.owner, np.arange(self.n))
        return np.arange(len(self.owner)) - first[self.owner]

    def count(self) -> IntArray:
        """By question: number of answers."""
        return np.bincount(self.owner, minlength=self.n)

    def first(self, k: int) -> "Answers":
        """The first k answers of each question."""
        return self.where(self.position() < k)

    def last_round(self) -> "Answers":
        """The answers of each question's last round: those that a vote is over."""
        last = np.full(self.n, -1, dtype=np.int64)
        np.maximum.at(last, self.owner, self.round)
        return self.where(self.round == last[self.owner])


@dataclass(frozen=True)
class Outcomes:
    """One outcome a question; arrays of shape (n,).

    `grade` is a `Grade`; where a vote was tied and the winner is drawn at random, `grade` is that of the expected
    credit `right / tied`, strictly between 0 and 1, and it is INCORRECT with `right[i]` > 0.
    """

    grade: NDArray[np.int8]
    right: IntArray
    """Correct classes among the winners of question i: 0 or 1."""
    tied: IntArray
    """Number of classes that could win; 1 where the vote is decided."""
    winner: IntArray
    """Vote class that won (first of the tied ones); NONE where there is none."""
    ties: int = 0
    """Questions whose vote was tied, whatever the tie rule made of it."""

    def credit(self) -> Fraction:
        """Sum of expected credits over the questions whose outcome is known."""
        decided = int(np.sum(self.grade[self.tied == 1] == Grade.CORRECT))
        drawn = self.tied > 1
        sizes, counts = np.unique(self.tied[drawn & (self.right == 1)], return_counts=True)
        return decided + sum((Fraction(int(c), int(t)) for t, c in zip(sizes, counts, strict=True)), Fraction(0))

    def bounds(self) -> tuple[int, int]:
        """Least and greatest number of correct questions that ties and unknown outcomes allow."""
        decided = int(np.sum((self.tied == 1) & (self.grade == Grade.CORRECT)))
        open_ = int(np.sum((self.tied > 1) & (self.right == 1))) + int(np.sum(self.grade == Grade.UNKNOWN))
        return decided, decided + open_

    @property
    def unknown(self) -> int:
        """Questions whose outcome the release does not hold."""
        return int(np.sum(self.grade == Grade.UNKNOWN))


def our_answers(data: CellData) -> Answers:
    """The answers by our own grades and vote classes."""
    columns = data.answers
    return Answers(
        data.n,
        data.owner,
        columns.grade,
        columns.vote.astype(np.int64),
        columns.round.astype(np.int64),
        columns.score,
    )


def claimed_answers(data: CellData) -> Answers:
    """The answers by the runner's flags and extracted strings; UNKNOWN where it recorded no flag."""
    columns = data.answers
    grade = np.where(columns.claimed_correct == NONE, Grade.UNKNOWN, columns.claimed_correct).astype(np.int8)
    return Answers(
        data.n,
        data.owner,
        grade,
        columns.claimed_vote.astype(np.int64),
        columns.round.astype(np.int64),
        columns.score,
    )


def decide(
    data: CellData,
    answers: Answers,
    *,
    rule: DecisionRule | None = None,
    tie_rule: TieRule | None = None,
    unparsed_policy: UnparsedPolicy | None = None,
) -> Outcomes:
    """One outcome a question by `rule`, or by the cell's declared one.

    A question without a record, or whose gold is damaged, is UNKNOWN; one whose record failed is MISSING.
    """
    rule = rule or data.cell.decision_rule
    if rule == "plurality":
        outcomes = plurality(
            answers.last_round(),
            tie_rule=tie_rule or data.cell.tie_rule,
            unparsed_policy=unparsed_policy or data.cell.unparsed_policy,
        )
    else:
        chosen = {"only": _only, "last": _last, "selected": _selected, "highest-score": _highest_score}[rule]
        outcomes = _single(answers, chosen(data, answers))
    return mask_unknown(data, outcomes)


def mask_unknown(data: CellData, outcomes: Outcomes) -> Outcomes:
    """The outcomes with questions that cannot be known, or that failed, marked as such."""
    grade = outcomes.grade.copy()
    grade[data.failed] = Grade.MISSING
    grade[~data.present | ~data.gold_usable] = Grade.UNKNOWN
    settled = data.failed | (grade == Grade.UNKNOWN)
    return Outcomes(
        grade,
        np.where(settled, 0, outcomes.right),
        np.where(settled, 1, outcomes.tied),
        np.where(settled, NONE, outcomes.winner),
        outcomes.ties,
    )


def plurality(answers: Answers, *, tie_rule: TieRule, unparsed_policy: UnparsedPolicy) -> Outcomes:
    """The most common answer of each question, by vote class.

    A question with no vote at all is UNPARSED. `first` takes the tied class whose first vote came first; `random`
    gives each tied class the same chance; `wrong` and `right` bracket every rule.
    """
    vote = answers.vote.copy()
    if unparsed_policy != "abstain":
        blank = vote == NONE
        top = int(vote.max(initial=0)) + 1
        vote[blank] = top if unparsed_policy == "class" else top + answers.position()[blank]
    voted = np.flatnonzero(vote != NONE)
    width = int(vote.max(initial=0)) + 1
    key = answers.owner[voted] * width + vote[voted]
    classes, first, votes = np.unique(key, return_index=True, return_counts=True)
    question = classes // width
    first = voted[first]
    most = np.zeros(answers.n, dtype=np.int64)
    np.maximum.at(most, question, votes)
    leading = np.flatnonzero(votes == most[question])
    question, first = question[leading], first[leading]
    correct = answers.grade[first] == Grade.CORRECT

    tied = np.maximum(np.bincount(question, minlength=answers.n), 1)
    right = np.bincount(question[correct], minlength=answers.n)
    earliest = np.full(answers.n, len(answers.owner), dtype=np.int64)
    np.minimum.at(earliest, question, first)
    voters = most > 0
    winner = np.full(answers.n, NONE, dtype=np.int64)
    winner[voters] = answers.vote[earliest[voters]]
    grade = np.full(answers.n, Grade.UNPARSED, dtype=np.int8)
    grade[voters] = answers.grade[earliest[voters]]
    if tie_rule != "first":
        several = tied > 1
        grade[several] = Grade.INCORRECT
        if tie_rule == "right":
            grade[several & (right > 0)] = Grade.CORRECT
    ties = int(np.sum(tied > 1))
    if tie_rule != "random":
        tied = np.ones_like(tied)
    # A vote among answers of which some could not be read or graded at all is not known.
    hidden = np.bincount(answers.owner[answers.grade == Grade.UNKNOWN], minlength=answers.n) > 0
    grade[hidden] = Grade.UNKNOWN
    tied[hidden] = 1
    grade[answers.count() == 0] = Grade.MISSING
    return Outcomes(grade, np.minimum(right, 1), tied, winner, ties)


def _single(answers: Answers, chosen: IntArray) -> Outcomes:
    """The outcomes where answer `chosen[i]` (an index into `answers`; NONE, or -2 for unknown) decides question i."""
    grade = np.full(answers.n, Grade.UNPARSED, dtype=np.int8)
    grade[answers.count() == 0] = Grade.MISSING
    grade[chosen == UNDECIDED] = Grade.UNKNOWN
    winner = np.full(answers.n, NONE, dtype=np.int64)
    there = chosen >= 0
    grade[there] = answers.grade[chosen[there]]
    winner[there] = answers.vote[chosen[there]]
    return Outcomes(grade, (grade == Grade.CORRECT).astype(np.int64), np.ones(answers.n, dtype=np.int64), winner)


UNDECIDED = -2
"""The release does not hold what the rule needs (two answers for `only`, no score for `highest-score`)."""


def _only(data: CellData, answers: Answers) -> IntArray:
    count = answers.count()
    return np.where(count == 1, data.offsets[:-1], np.where(count > 1, UNDECIDED, NONE))


def _last(data: CellData, answers: Answers) -> IntArray:
    return np.where(answers.count() > 0, data.offsets[1:] - 1, NONE)


def _selected(data: CellData, answers: Answers) -> IntArray:
    return np.where((data.pick >= 0) & (answers.count() > 0), data.offsets[:-1] + data.pick, NONE)


def _highest_score(data: CellData, answers: Answers) -> IntArray:
    del data
    return highest_score(answers)


def highest_score(answers: Answers) -> IntArray:
    """By question: the index of the answer with the highest score, the first of equals; UNDECIDED without scores."""
    chosen = np.where(answers.count() > 0, UNDECIDED, NONE).astype(np.int64)
    if not len(answers.owner):
        return chosen
    scored = np.flatnonzero(~np.isnan(answers.score))
    order = scored[np.lexsort((scored, -answers.score[scored], answers.owner[scored]))]
    question, first = np.unique(answers.owner[order], return_index=True)
    chosen[question] = order[first]
    return chosen
