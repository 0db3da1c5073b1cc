"""Binding a grading policy to a dataset: which golds are usable, and which grade an answer gets."""

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from msgspec.structs import replace

from schemas.errors import ReleaseError, UsageError
from verify.grading import POLICIES, Grader, Policy, compile_policy
from verify.grading.policy import resolve_policy
from verify.partial import Grade
from verify.release import Questions, Release

Judge = Callable[[str, str], bool | str]
"""Somebody else's grader: (text, gold) → True, or "correct", "incorrect" or "unparsed"."""

LENIENCIES = (
    "percent and ratio accepted as equal",
    "relative tolerance 1e-4",
    "numbers rounded to the shorter of both decimals",
)
"""Rules that other graders have and ours do not; they can explain a claimed value, never confirm it."""


@dataclass(frozen=True)
class DatasetGrading:
    """The grader of one dataset, its lenient variants in the order of `LENIENCIES`, and its golds by question row."""

    grader: Grader
    lenient: tuple[Grader, ...]
    """For the first of them; the last needs no policy."""
    golds: tuple[str | None, ...]
    """None where the gold is damaged: nothing can be graded against it."""
    damaged: Mapping[int, str]
    """Question row → what is wrong with its gold."""
    judge: Judge | None = None
    """Decides in place of `grader` whether a text is correct; which answers vote together stays `grader`'s."""


def bind(release: Release, *, policy: str | None = None, judge: Judge | None = None) -> dict[str, DatasetGrading]:
    """The grading of every dataset of the release, by its declared policy or by `policy` for all.

    Raises ReleaseError where a declared policy does not exist, UsageError where `policy` does not.
    """
    theirs = None if policy is None else resolve_policy(policy)
    return {
        name: _bind(questions, theirs or _declared(questions.dataset.policy, name), judge)
        for name, questions in release.questions.items()
    }


def judged(judge: Judge, text: str, gold: str | None, where: str) -> Grade:
    """The grade that somebody else's grader gives. Raises UsageError, naming the record, where it raises."""
    if gold is None:
        return Grade.UNKNOWN
    try:
        verdict = judge(text, gold)
    except Exception as error:
        raise UsageError(f"{where}: the grader raised {type(error).__name__}: {str(error)[:200]}") from error
    if verdict == "unparsed":
        return Grade.UNPARSED
    return Grade.CORRECT if verdict is True or verdict == "correct" else Grade.INCORRECT


def grade_answer(grading: DatasetGrading, answer: str, gold: str | None) -> tuple[Grade, int]:
    """Grade and leniency bits of an answer that has been extracted."""
    if gold is None:
        return Grade.UNKNOWN, 0
    if grading.grader.matches(answer, gold):
        return Grade.CORRECT, 0
    ours, theirs = grading.grader.form(answer).value, grading.grader.form(grading.grader.bare_gold(gold)).value
    bits = 0
    if _near(ours, theirs):
        for position, grader in enumerate(grading.lenient):
            if grader.matches(answer, gold):
                bits |= 1 << position
    if _rounds_together(ours, theirs):
        bits |= 1 << len(grading.lenient)
    return Grade.INCORRECT, bits


def _rounds_together(ours: Fraction | None, gold: Fraction | None) -> bool:
    """Whether both are the same once the longer decimal is rounded to the shorter; a whole number has one, as a float
    prints it (1.98 is then 2.0, and 1.6 is not)."""
    if ours is None or gold is None or abs(ours - gold) > Fraction(1, 10):
        return False
    mine, their = _decimals(ours), _decimals(gold)
    if mine is None or their is None:
        return False
    return round(ours, min(mine, their)) == round(gold, min(mine, their))


def _decimals(value: Fraction) -> int | None:
    """Decimals of a terminating decimal, one at least; None for another number, or for more than a float prints."""
    return next((k for k in range(1, 18) if 10**k % value.denominator == 0), None)


def _near(ours: Fraction | None, gold: Fraction | None) -> bool:
    """Whether a lenient grader could accept what ours did not: numbers that nearly agree, at once or times 100."""
    if ours is None or gold is None:
        return False
    return any(1000 * abs(a - b) <= abs(b) for a, b in ((ours, gold), (100 * ours, gold), (ours, 100 * gold)))


def _declared(name: str, dataset: str) -> Policy:
    if name not in POLICIES:
        raise ReleaseError(
            f"Dataset {dataset!r} declares policy {name!r}, which does not exist; choose one of {', '.join(POLICIES)}."
        )
    return POLICIES[name]


def _bind(questions: Questions, policy: Policy, judge: Judge | None) -> DatasetGrading:
    grader = compile_policy(policy)
    lenient = (replace(policy, percent_as_ratio=True), replace(policy, rel_tol="1e-4"))
    damaged = {}
    golds: list[str | None] = []
    for row, question in enumerate(questions.items):
        reason = "is null" if question.gold is None else grader.usable_gold(question.gold)
        if reason is not None:
            damaged[row] = reason
        golds.append(None if reason is not None else question.gold)
    return DatasetGrading(grader, tuple(compile_policy(p) for p in lenient), tuple(golds), damaged, judge)


def load_grader(target: str) -> Judge:
    """The function that `pkg.mod:fn` names, looked for in the current folder too. Raises UsageError.

    Only a reader's own argument ever comes here; nothing that a release names is imported.
    """
    module, _, name = target.partition(":")
    if not module or not name:
        raise UsageError(f"{target!r} names no function; write it as package.module:function.")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise UsageError(f"{target}: {module!r} cannot be imported: {error}.") from error
    except AttributeError:
        raise UsageError(f"{target}: {module!r} has no {name!r}.") from None
    if not callable(found):
        raise UsageError(f"{target} is not a function.")
    return cast(Judge, found)
