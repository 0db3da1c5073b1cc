"""Binding a grading policy to a dataset: which golds are usable, and which grade an answer gets."""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from schemas.errors import ReleaseError
from verify.grading import POLICIES, Grader, Policy, compile_policy
from verify.grading.policy import resolve_policy
from verify.partial import Grade
from verify.release import Questions, Release

LENIENCIES = ("percent and ratio accepted as equal", "relative tolerance 1e-4")
"""Rules that other graders have and ours do not; they can explain a claimed value, never confirm it."""


@dataclass(frozen=True)
class DatasetGrading:
    """The grader of one dataset, its lenient variants in the order of `LENIENCIES`, and its golds by question row."""

    grader: Grader
    lenient: tuple[Grader, ...]
    golds: tuple[str | None, ...]
    """None where the gold is damaged: nothing can be graded against it."""
    damaged: Mapping[int, str]
    """Question row → what is wrong with its gold."""


def bind(release: Release, policy: str | None) -> dict[str, DatasetGrading]:
    """The grading of every dataset of the release, by its declared policy or by `policy` for all.

    Raises ReleaseError where a declared policy does not exist, UsageError where `policy` does not.
    """
    theirs = None if policy is None else resolve_policy(policy)
    return {
        name: _bind(questions, theirs or _declared(questions.dataset.policy, name))
        for name, questions in release.questions.items()
    }


def grade_answer(grading: DatasetGrading, answer: str, gold: str | None) -> tuple[Grade, int]:
    """Grade and leniency bits of an answer that has been extracted."""
    if gold is None:
        return Grade.UNKNOWN, 0
    if grading.grader.matches(answer, gold):
        return Grade.CORRECT, 0
    bits = 0
    for position, grader in enumerate(grading.lenient):
        if grader.matches(answer, gold):
            bits |= 1 << position
    return Grade.INCORRECT, bits


def _declared(name: str, dataset: str) -> Policy:
    if name not in POLICIES:
        raise ReleaseError(
            f"Dataset {dataset!r} declares policy {name!r}, which does not exist; choose one of {', '.join(POLICIES)}."
        )
    return POLICIES[name]


def _bind(questions: Questions, policy: Policy) -> DatasetGrading:
    grader = compile_policy(policy)
    lenient = (replace(policy, percent_as_ratio=True), replace(policy, rel_tol="1e-4"))
    damaged = {}
    golds: list[str | None] = []
    for row, question in enumerate(questions.items):
        reason = "is null" if question.gold is None else grader.usable_gold(question.gold)
        if reason is not None:
            damaged[row] = reason
        golds.append(None if reason is not None else question.gold)
    return DatasetGrading(grader, tuple(compile_policy(p) for p in lenient), tuple(golds), damaged)
