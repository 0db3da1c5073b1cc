"""Statistics of one cell by name: what a claim can be about, and the table that is printed anyway.

Every value is an exact ratio of integers. `low` and `high` are what the questions that the release does not hold
(no record, withheld text, damaged gold) and undecided ties still allow; they equal `value` where all is known.
"""

from fractions import Fraction
from math import comb
from typing import cast, get_args

import numpy as np

from schemas.claims import Parameter
from schemas.manifest import TieRule, UnparsedPolicy
from verify.cells import CellData, IntArray
from verify.diagnostics import compute, engagement, redundancy, refinement
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
from verify.value import EstimateUnit as EstimateUnit
from verify.value import Parameters as Parameters
from verify.value import Statistic as Statistic
from verify.value import Unavailable as Unavailable
from verify.value import Value as Value
from verify.value import rate, share


def estimate(data: CellData, statistic: str, parameters: Parameters) -> Value | Unavailable:
    """One statistic of one cell; `statistic` is a key of `STATISTICS`."""
    if data.n == 0:
        return Unavailable("the cell expects no question.")
    return STATISTICS[statistic].compute(data, parameters)


def wrong_parameter(statistic: str, allowed: tuple[str, ...], parameters: Parameters) -> str | None:
    """What is wrong with the parameters of a claim on a statistic that takes `allowed`, as a clause, or None."""
    for name, value in parameters.items():
        if name not in allowed:
            takes = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            return f"{statistic} has no parameter {name!r}; {takes}"
        if name in _WORDS and isinstance(value, str):
            continue
        choices = _CHOICES.get(name)
        if choices is not None and value not in choices:
            return f"{name} is {value!r}, and must be one of {', '.join(choices)}"
        if choices is None and (isinstance(value, bool) or not isinstance(value, int) or value < _LEAST[name]):
            return f"{name} is {value!r}, and must be a whole number of at least {_LEAST[name]}"
    return None


def outcomes_of(data: CellData, parameters: Parameters) -> Outcomes | Unavailable:
    """The outcomes by the declared decision rule, by our grades or by the runner's flags (`grades = "claimed"`)."""
    if parameters.get("grades", "ours") == "ours":
        return decide(data, our_answers(data))
    flagged = data.claimed_correct != NONE
    if flagged.any():
        grade = np.where(flagged, data.claimed_correct, Grade.UNKNOWN).astype(np.int8)
        ones = np.ones(data.n, dtype=np.int64)
        # A flag needs no gold, and a failed record that carries one was graded: only absence leaves it open.
        return Outcomes(grade, (grade == Grade.CORRECT).astype(np.int64), ones, np.full(data.n, NONE))
    if not (data.answers.claimed_correct != NONE).any():
        return Unavailable("no record carries a flag of the runner's own (`claimed.correct`).")
    if data.cell.decision_rule == "plurality" and not (data.answers.claimed_vote != NONE).any():
        return Unavailable(
            "no generation carries the runner's own answer (`claimed.answer`), so nothing can be voted on."
        )
    return decide(data, claimed_answers(data))


def _accuracy(data: CellData, parameters: Parameters) -> Value | Unavailable:
    outcomes = outcomes_of(data, parameters)
    return outcomes if isinstance(outcomes, Unavailable) else rate(outcomes, data.n)


def _claimed_accuracy(data: CellData, parameters: Parameters) -> Value | Unavailable:
    return _accuracy(data, {**parameters, "grades": "claimed"})


def _correct_count(data: CellData, parameters: Parameters) -> Value | Unavailable:
    outcomes = outcomes_of(data, parameters)
    if isinstance(outcomes, Unavailable):
        return outcomes
    low, high = outcomes.bounds()
    return Value(outcomes.credit(), Fraction(low), Fraction(high), data.n - outcomes.unknown, data.n)


def _question_count(data: CellData, parameters: Parameters) -> Value | Unavailable:
    del parameters
    count = Fraction(int(data.present.sum()))
    return Value(count, count, count, data.n, data.n)


def _unparsed_rate(data: CellData, parameters: Parameters) -> Value | Unavailable:
    if parameters.get("over", "questions") == "generations":
        grade = data.answers.grade
        return share(int(np.sum(grade == Grade.UNPARSED)), int(np.sum(grade == Grade.UNKNOWN)), len(grade), data)
    outcomes = decide(data, our_answers(data))
    return share(int(np.sum(outcomes.grade == Grade.UNPARSED)), outcomes.unknown, data.n, None)


def _mean_tokens(data: CellData, columns: tuple[str, ...]) -> Value | Unavailable:
    counts = np.stack([cast(IntArray, getattr(data, column)) for column in columns])
    known = (counts != NONE).all(axis=0)
    n = int(known.sum())
    if n == 0:
        return Unavailable(f"no record counts its {' and '.join(columns).replace('_', ' ')}.")
    mean = Fraction(int(counts[:, known].sum()), n)
    return Value(mean, mean, mean, n, data.n)


def _majority(data: CellData, parameters: Parameters) -> Value | Unavailable:
    answers = _pool(data, parameters)
    if isinstance(answers, Unavailable):
        return answers
    outcomes = plurality(
        answers,
        tie_rule=cast(TieRule, parameters.get("tie_rule", data.cell.tie_rule)),
        unparsed_policy=cast(UnparsedPolicy, parameters.get("unparsed_policy", data.cell.unparsed_policy)),
    )
    return rate(mask_unknown(data, outcomes), data.n)


def _highest_score_at_k(data: CellData, parameters: Parameters) -> Value | Unavailable:
    answers = _pool(data, parameters)
    if isinstance(answers, Unavailable):
        return answers
    if np.isnan(answers.score).all():
        return Unavailable("no generation of this cell has a score.")
    return rate(_mark(data, answers, highest_score(answers)), data.n)


def _sample_accuracy(data: CellData, parameters: Parameters) -> Value | Unavailable:
    answers = _pool(data, parameters)
    if isinstance(answers, Unavailable):
        return answers
    wanted = int(parameters.get("index", 0))
    chosen = np.full(data.n, NONE, dtype=np.int64)
    at = np.flatnonzero(answers.position() == wanted)
    if not len(at):
        return Unavailable(f"no record has a sample {wanted}, counted from 0.")
    chosen[answers.owner[at]] = at
    return rate(_mark(data, answers, chosen), data.n)


def _mark(data: CellData, answers: Answers, chosen: IntArray) -> Outcomes:
    grade = np.full(data.n, Grade.UNKNOWN, dtype=np.int8)
    grade[answers.count() == 0] = Grade.MISSING
    grade[chosen >= 0] = answers.grade[chosen[chosen >= 0]]
    right = (grade == Grade.CORRECT).astype(np.int64)
    return mask_unknown(data, Outcomes(grade, right, np.ones_like(right), np.full_like(right, NONE)))


def _mean_over_samples(data: CellData, parameters: Parameters) -> Value | Unavailable:
    answers = _pool(data, parameters)
    if isinstance(answers, Unavailable):
        return answers
    total = len(answers.grade)
    unknown = int(np.sum(answers.grade == Grade.UNKNOWN))
    return share(int(np.sum(answers.grade == Grade.CORRECT)), unknown, total, data)


def _pass_at_k(data: CellData, parameters: Parameters) -> Value | Unavailable:
    """Unbiased estimate 1 - C(n-c, k) / C(n, k) a question (Chen et al. 2021, arXiv:2107.03374, equation 1)."""
    answers = _pool(data, {name: value for name, value in parameters.items() if name != "k"})
    if isinstance(answers, Unavailable):
        return answers
    sizes = answers.count()
    k = int(parameters.get("k", int(sizes.max(initial=0))))
    correct = np.bincount(answers.owner[answers.grade == Grade.CORRECT], minlength=data.n)
    hidden = np.bincount(answers.owner[answers.grade == Grade.UNKNOWN], minlength=data.n) > 0
    unknown = hidden | ~data.present | ~data.gold_usable
    short = int(np.sum(~unknown & ~data.failed & (sizes < k)))
    if short:
        return Unavailable(f"{short} of {data.n} records hold fewer than {k} samples.")
    known = np.flatnonzero(~unknown)
    if not len(known):
        return Unavailable("no outcome of this cell is known.")
    passed = sum(
        (
            1 - Fraction(comb(int(sizes[i] - correct[i]), k), comb(int(sizes[i]), k))
            for i in known
            if not data.failed[i]
        ),
        Fraction(0),
    )
    missing = data.n - len(known)
    return Value(passed / len(known), passed / data.n, (passed + missing) / data.n, len(known), data.n)


def _pool(data: CellData, parameters: Parameters) -> Answers | Unavailable:
    """The samples of each question, the first k of them where k is given; by our grades or the runner's."""
    if parameters.get("grades", "ours") == "claimed":
        if not (data.answers.claimed_correct != NONE).any():
            return Unavailable("no generation carries a flag of the runner's own (`claimed.correct`).")
        answers = claimed_answers(data)
    else:
        answers = our_answers(data)
    answers = answers.last_round()
    if "k" in parameters:
        k = int(parameters["k"])
        there = data.present & ~data.failed
        short = int(np.sum(answers.count()[there] < k))
        if short:
            return Unavailable(f"{short} of {data.n} records hold fewer than {k} samples.")
        answers = answers.first(k)
    if not len(answers.grade):
        return Unavailable("the cell holds no answer-bearing generation.")
    return answers


def _judged(data: CellData, parameters: Parameters) -> tuple[Outcomes, Outcomes] | Unavailable:
    """The outcomes by the selected answer and by the plurality of the same candidates."""
    if data.cell.decision_rule not in ("selected", "highest-score"):
        return Unavailable(
            f"the cell's decision rule is `{data.cell.decision_rule}`: nothing selects among candidates."
        )
    answers = our_answers(data)
    tie_rule = cast(TieRule, parameters.get("tie_rule", data.cell.tie_rule))
    return decide(data, answers), decide(data, answers, rule="plurality", tie_rule=tie_rule)


def _judge_minus_majority(data: CellData, parameters: Parameters) -> Value | Unavailable:
    pair = _judged(data, parameters)
    if isinstance(pair, Unavailable):
        return pair
    judge, majority = (rate(outcomes, data.n) for outcomes in pair)
    if isinstance(judge, Unavailable) or isinstance(majority, Unavailable):
        return Unavailable("no outcome of this cell is known.")
    difference = judge.value - majority.value
    unknown = Fraction(data.n - judge.n, data.n)
    ties = majority.high - majority.low - unknown
    scale = Fraction(judge.n, data.n)
    centre = difference * scale
    return Value(difference, centre - unknown - ties, centre + unknown + ties, judge.n, data.n)


def _judged_surely(data: CellData, parameters: Parameters) -> tuple[Outcomes, Outcomes] | Unavailable:
    """As `_judged`, where no tie is drawn at random: which answer a draw took, the release does not say."""
    pair = _judged(data, parameters)
    if not isinstance(pair, Unavailable) and (drawn := int(np.sum(pair[1].tied > 1))):
        return Unavailable(f"{drawn} votes are tied and their winners drawn at random.")
    return pair


def _agreement_rate(data: CellData, parameters: Parameters) -> Value | Unavailable:
    pair = _judged_surely(data, parameters)
    if isinstance(pair, Unavailable):
        return pair
    judge, majority = pair
    hits = int(np.sum((judge.winner == majority.winner) & (judge.winner != NONE) & (judge.grade != Grade.UNKNOWN)))
    return share(hits, judge.unknown, data.n, None)


def _override_accuracy(data: CellData, parameters: Parameters) -> Value | Unavailable:
    """Share that the judge gets right, of the questions where judge and plurality differ and exactly one is right."""
    pair = _judged_surely(data, parameters)
    if isinstance(pair, Unavailable):
        return pair
    judge, majority = (outcomes.grade == Grade.CORRECT for outcomes in pair)
    won, lost = int(np.sum(judge & ~majority)), int(np.sum(majority & ~judge))
    if won + lost == 0:
        return Unavailable("judge and plurality never differ with exactly one of them right.")
    unknown = pair[0].unknown
    return share(won, unknown, won + lost + unknown, None)


def _first_pick_rate(data: CellData, parameters: Parameters) -> Value | Unavailable:
    del parameters
    if data.cell.decision_rule != "selected":
        return Unavailable(f"the cell's decision rule is `{data.cell.decision_rule}`: nothing is picked.")
    unknown = int(np.sum(~data.present))
    return share(int(np.sum(data.pick == 0)), unknown, data.n, None)


_CHOICES: dict[str, tuple[str, ...]] = {
    "grades": ("ours", "claimed"),
    "tie_rule": get_args(TieRule),
    "unparsed_policy": get_args(UnparsedPolicy),
    "over": ("questions", "generations"),
    "of": ("difference_at_cost", "judge_minus_majority", "greedy_minus_sample"),
    "alternative": ("two-sided", "less", "greater"),
    "correction": ("setting", "all", "none"),
    "per": ("cell", "question"),
    "scope": ("model", "setting"),
    "outcome": ("wins", "ties", "losses"),
}
_WORDS = ("family", "methods", "subset", "base")
"""Parameters that any string can be; what it names is looked up later."""
_LEAST = {"k": 1, "index": 0, "depth": 0, "draws": 0, "resamples": 100}

STATISTICS: dict[str, Statistic] = {
    "accuracy": Statistic(_accuracy, "fraction", ("grades",)),
    "claimed_accuracy": Statistic(_claimed_accuracy, "fraction"),
    "correct_count": Statistic(_correct_count, "count", ("grades",)),
    "question_count": Statistic(_question_count, "count"),
    "unparsed_rate": Statistic(_unparsed_rate, "fraction", ("over",)),
    "mean_completion_tokens": Statistic(
        lambda data, _: _mean_tokens(data, ("completion_tokens",)), "tokens", bounded=False
    ),
    "mean_prompt_tokens": Statistic(lambda data, _: _mean_tokens(data, ("prompt_tokens",)), "tokens", bounded=False),
    "mean_total_tokens": Statistic(
        lambda data, _: _mean_tokens(data, ("completion_tokens", "prompt_tokens")), "tokens", bounded=False
    ),
    "majority_at_k": Statistic(_majority, "fraction", ("k", "tie_rule", "unparsed_policy", "grades")),
    "pass_at_k": Statistic(_pass_at_k, "fraction", ("k", "grades")),
    "mean_over_samples": Statistic(_mean_over_samples, "fraction", ("k", "grades")),
    "sample_accuracy": Statistic(_sample_accuracy, "fraction", ("index", "grades")),
    "highest_score_at_k": Statistic(_highest_score_at_k, "fraction", ("k", "grades")),
    "judge_minus_majority": Statistic(_judge_minus_majority, "fraction", ("tie_rule",)),
    "agreement_rate": Statistic(_agreement_rate, "fraction"),
    "override_accuracy": Statistic(_override_accuracy, "fraction"),
    "first_pick_rate": Statistic(_first_pick_rate, "fraction"),
    **refinement.STATISTICS,
    **engagement.STATISTICS,
    **redundancy.STATISTICS,
    **compute.STATISTICS,
}


def standard_table(data: CellData) -> list[tuple[str, dict[str, Parameter], Value]]:
    """The statistics that are reported of every cell, claimed or not; those that it cannot give are left out."""
    names: list[tuple[str, dict[str, Parameter]]] = [
        ("accuracy", {}),
        ("claimed_accuracy", {}),
        ("unparsed_rate", {}),
        ("mean_completion_tokens", {}),
        ("mean_prompt_tokens", {}),
    ]
    if data.cell.decision_rule in ("selected", "highest-score"):
        names += [("majority_at_k", {}), ("judge_minus_majority", {}), ("agreement_rate", {})]
    if data.cell.decision_rule in ("selected", "highest-score", "plurality"):
        names += [("mean_over_samples", {}), ("pass_at_k", {})]
    found = []
    for name, parameters in names:
        value = estimate(data, name, parameters)
        if isinstance(value, Value):
            found.append((name, parameters, value))
    return found
