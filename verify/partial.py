"""What survives of a shard: compact arrays that merge by concatenation, and tallies that merge by addition.

A shard of any size becomes one `Partial`; `merge` is associative and `reduce` (in `verify.cells`) does not care
how many shards there were, so the map may run anywhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas.report import RecordRef
from verify.findings import MAX_RECORDS


class Grade(IntEnum):
    """A grade in one byte. UNKNOWN is not a grade: the text or the gold that it needs is not in the release."""

    INCORRECT = 0
    CORRECT = 1
    UNPARSED = 2
    MISSING = 3
    UNKNOWN = 4


class Finish(IntEnum):
    """Why a call ended, in one byte."""

    UNKNOWN = 0
    STOP = 1
    LENGTH = 2
    ERROR = 3


NONE = -1
"""Stands for "not recorded" in integer arrays; no count, class or position is negative."""


@dataclass
class Tally:
    """How often a check was made, how often it failed, and where, first failures first."""

    checked: int = 0
    failed: int = 0
    refs: list[RecordRef] = field(default_factory=list)

    def ok(self, count: int = 1) -> None:
        """The check was made and passed."""
        self.checked += count

    def fail(self, ref: RecordRef) -> None:
        """The check was made and failed."""
        self.checked += 1
        self.failed += 1
        if len(self.refs) < MAX_RECORDS:
            self.refs.append(ref)

    def add(self, other: "Tally") -> None:
        """Count `other`, which comes later in the release, into this tally."""
        self.checked += other.checked
        self.failed += other.failed
        self.refs = (self.refs + other.refs)[:MAX_RECORDS]


@dataclass(frozen=True)
class RecordColumns:
    """One entry a record, in the order read."""

    cell: NDArray[np.int32]
    question: NDArray[np.int32]
    shard: NDArray[np.int32]
    line: NDArray[np.int64]
    failed: NDArray[np.bool_]
    answers: NDArray[np.int32]
    """Number of answer-bearing generations of the record, which follow one another in `AnswerColumns`."""
    completion_tokens: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    latency: NDArray[np.int64]
    """Completion tokens on the longest dependent chain: over the rounds, the longest call of each."""
    pick: NDArray[np.int32]
    """Position among the record's answers of the one that was selected; NONE where no choice could be read."""
    claimed_correct: NDArray[np.int8]
    claimed_answer: NDArray[np.int32]
    """Vote class of the answer that the runner claimed."""
    claimed_tokens: NDArray[np.int64]
    """Completion tokens by the runner's own total."""
    last_call: NDArray[np.int64]
    """Completion tokens of the last call."""
    calls: NDArray[np.int32]
    """Model calls of the record, whatever their role."""
    capped: NDArray[np.int32]
    """Calls that ended by their length; by tokens at the declared cap where no reason is recorded."""
    unread_choice: NDArray[np.bool_]
    """Whether there is a select text that names no candidate."""


@dataclass(frozen=True)
class AnswerColumns:
    """One entry an answer-bearing generation, by `index` within its record."""

    grade: NDArray[np.int8]
    vote: NDArray[np.int32]
    """Vote class: equal answers of one record have equal numbers; NONE where there is no answer."""
    round: NDArray[np.int32]
    tokens: NDArray[np.int32]
    prompt: NDArray[np.int32]
    """Tokens written and read; NONE where they were not counted."""
    score: NDArray[np.float64]
    leniency: NDArray[np.uint8]
    """Bit i: not correct by the policy, but correct by the i-th of `verify.grades.LENIENCIES`."""
    claimed_correct: NDArray[np.int8]
    claimed_vote: NDArray[np.int32]
    agent: NDArray[np.int32]
    finish: NDArray[np.int8]
    """A `Finish`."""
    text: NDArray[np.int64]
    """First eight bytes of the text's SHA-256, so that equal texts are found without keeping any; 0 without a text."""


@dataclass(frozen=True)
class Partial:
    """A shard, or several merged."""

    records: RecordColumns
    answers: AnswerColumns
    tallies: dict[tuple[str, int], Tally]
    """By (check, number of the cell in the manifest)."""


def merge(partials: Iterable[Partial]) -> Partial:
    """Several partials as one, in the order given."""
    parts = list(partials)
    tallies: dict[tuple[str, int], Tally] = {}
    for part in parts:
        for key, tally in part.tallies.items():
            tallies.setdefault(key, Tally()).add(tally)
    return Partial(
        records=RecordColumns(**_concatenate([part.records for part in parts], RecordColumns)),
        answers=AnswerColumns(**_concatenate([part.answers for part in parts], AnswerColumns)),
        tallies=tallies,
    )


def columns_from_rows(
    kind: type[RecordColumns] | type[AnswerColumns], rows: list[tuple[object, ...]]
) -> dict[str, NDArray[Any]]:
    """Keyword arguments of `kind` from one tuple a row, in the order of its fields."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields(kind))
    return {f.name: np.array(column, dtype=DTYPES[f.name]) for f, column in zip(fields(kind), columns, strict=True)}


DTYPES: dict[str, type[np.generic]] = {
    "cell": np.int32,
    "question": np.int32,
    "shard": np.int32,
    "line": np.int64,
    "failed": np.bool_,
    "answers": np.int32,
    "completion_tokens": np.int64,
    "prompt_tokens": np.int64,
    "latency": np.int64,
    "pick": np.int32,
    "claimed_correct": np.int8,
    "claimed_answer": np.int32,
    "claimed_tokens": np.int64,
    "calls": np.int32,
    "last_call": np.int64,
    "grade": np.int8,
    "vote": np.int32,
    "round": np.int32,
    "tokens": np.int32,
    "prompt": np.int32,
    "score": np.float64,
    "leniency": np.uint8,
    "claimed_vote": np.int32,
    "capped": np.int32,
    "unread_choice": np.bool_,
    "agent": np.int32,
    "finish": np.int8,
    "text": np.int64,
}


def _concatenate(parts: list[RecordColumns] | list[AnswerColumns], kind: type) -> dict[str, NDArray[Any]]:
    return {
        f.name: np.concatenate([getattr(part, f.name) for part in parts])
        if parts
        else np.empty(0, dtype=DTYPES[f.name])
        for f in fields(kind)
    }
