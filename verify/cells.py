"""The reduce: merged partials become one `CellData` a cell, aligned to the questions that should be there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schemas.manifest import Cell
from schemas.report import RecordRef
from verify.partial import NONE, AnswerColumns, Partial
from verify.release import Release

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class CellData:
    """Everything that statistics need of one cell: n expected questions, and their answers one after another.

    Arrays "by question" have shape (n,) and follow the order of the question file; arrays "by answer" have shape
    (offsets[-1],), and the answers of question i are offsets[i]:offsets[i + 1], by `index` in the record.
    """

    cell: Cell
    question_ids: tuple[str, ...]
    levels: tuple[str | None, ...]
    present: NDArray[np.bool_]
    """By question: whether the release holds a record."""
    failed: NDArray[np.bool_]
    gold_usable: NDArray[np.bool_]
    completion_tokens: IntArray
    """By question; NONE where a count is missing."""
    prompt_tokens: IntArray
    latency: IntArray
    pick: IntArray
    claimed_correct: IntArray
    claimed_answer: IntArray
    claimed_tokens: IntArray
    last_call: IntArray
    calls: IntArray
    capped: IntArray
    unread_choice: NDArray[np.bool_]
    shard: IntArray
    line: IntArray
    offsets: IntArray
    answers: AnswerColumns

    @property
    def n(self) -> int:
        """Number of expected questions."""
        return len(self.question_ids)

    @property
    def owner(self) -> IntArray:
        """By answer: the question (0 to n - 1) that it belongs to."""
        return np.repeat(np.arange(self.n), np.diff(self.offsets))


@dataclass(frozen=True)
class Grid:
    """What `reduce` found while aligning records to the questions that should be there."""

    cells: tuple[CellData, ...]
    duplicates: tuple[tuple[RecordRef, ...], ...]
    """By cell: records of a question that already had one; the first is kept."""
    missing: tuple[tuple[RecordRef, ...], ...]
    """By cell: expected questions without a record."""
    unexpected: tuple[tuple[RecordRef, ...], ...]
    """By cell: records of questions that the manifest does not expect."""
    lines: tuple[CellData | None, ...]
    """By cell with duplicates: every expected question's record as often as it stands there; None elsewhere."""


def reduce(release: Release, merged: Partial, gold_usable: dict[str, NDArray[np.bool_]]) -> Grid:
    """Align merged partials to the declared grid.

    `gold_usable`: by dataset, shape (number of its questions,).
    """
    found = [_cell(release, number, merged, gold_usable) for number in range(len(release.manifest.cells))]
    return Grid(*(tuple(column) for column in zip(*found, strict=True)))


def _cell(
    release: Release, number: int, merged: Partial, gold_usable: dict[str, NDArray[np.bool_]]
) -> tuple[CellData, tuple[RecordRef, ...], tuple[RecordRef, ...], tuple[RecordRef, ...], CellData | None]:
    cell = release.manifest.cells[number]
    questions = release.questions_of(cell)
    records, answers = merged.records, merged.answers
    ids = [question.id for question in questions.items]

    expected = np.arange(len(ids))
    undeclared: list[RecordRef] = []
    if cell.expected_questions is not None:
        known = {questions.row[name] for name in cell.expected_questions if name in questions.row}
        expected = np.array(sorted(known), dtype=np.int64)
        undeclared = [
            RecordRef(cell=cell.id, question_id=name, note="expected, but no question of the dataset has this id.")
            for name in cell.expected_questions
            if name not in questions.row
        ]
    place = np.full(len(ids), NONE, dtype=np.int64)
    place[expected] = np.arange(len(expected))

    mine = np.flatnonzero(records.cell == number)
    slot = place[records.question[mine]]
    stray, mine, slot = mine[slot == NONE], mine[slot != NONE], slot[slot != NONE]
    # Partials come in shard order and lines in reading order, so the first occurrence is the first record.
    filled, first = np.unique(slot, return_index=True)
    kept = mine[first]
    repeated = np.delete(mine, first)

    starts = np.concatenate([[0], np.cumsum(records.answers, dtype=np.int64)])

    def aligned(rows: IntArray, filled: IntArray, kept: IntArray) -> CellData:
        """Questions `rows` of the dataset, of which those at `filled` have the records `kept`."""
        counts = np.zeros(len(rows), dtype=np.int64)
        counts[filled] = records.answers[kept]
        spans = [np.arange(starts[i], starts[i + 1]) for i in kept]
        take = np.concatenate(spans) if spans else np.empty(0, np.int64)

        def by_question(column: NDArray[np.generic], absent: int) -> IntArray:
            values = np.full(len(rows), absent, dtype=np.int64)
            values[filled] = column[kept]
            return values

        present = np.zeros(len(rows), dtype=np.bool_)
        present[filled] = True
        return CellData(
            cell=cell,
            question_ids=tuple(ids[row] for row in rows),
            levels=tuple(questions.items[row].level for row in rows),
            present=present,
            failed=by_question(records.failed, 0).astype(np.bool_),
            gold_usable=gold_usable[questions.dataset.id][rows],
            completion_tokens=by_question(records.completion_tokens, NONE),
            prompt_tokens=by_question(records.prompt_tokens, NONE),
            latency=by_question(records.latency, NONE),
            pick=by_question(records.pick, NONE),
            claimed_correct=by_question(records.claimed_correct, NONE),
            claimed_answer=by_question(records.claimed_answer, NONE),
            claimed_tokens=by_question(records.claimed_tokens, NONE),
            last_call=by_question(records.last_call, NONE),
            calls=by_question(records.calls, 0),
            capped=by_question(records.capped, 0),
            unread_choice=by_question(records.unread_choice, 0).astype(np.bool_),
            shard=by_question(records.shard, NONE),
            line=by_question(records.line, NONE),
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            answers=AnswerColumns(
                **{name: getattr(answers, name)[take] for name in AnswerColumns.__dataclass_fields__}
            ),
        )

    data = aligned(expected, filled, kept)

    def refs(rows: Sequence[int] | IntArray, what: str) -> tuple[RecordRef, ...]:
        return tuple(
            RecordRef(
                cell=cell.id,
                question_id=ids[records.question[row]],
                file=release.shards[records.shard[row]].file,
                line=int(records.line[row]),
                note=what,
            )
            for row in rows
        )

    missing = tuple(
        RecordRef(cell=cell.id, question_id=data.question_ids[i], note="no record.")
        for i in np.flatnonzero(~data.present)
    )
    return (
        data,
        refs(repeated, "this question already has a record, which is kept."),
        (*undeclared, *missing),
        refs(stray, "the manifest does not expect this question."),
        aligned(expected[slot], np.arange(len(mine)), mine) if len(repeated) else None,
    )


def refs_of(release: Release, data: CellData, rows: Sequence[int] | IntArray, notes: Sequence[str]) -> list[RecordRef]:
    """Where the records of some questions (0 to n - 1) of a cell lie."""
    return [
        RecordRef(
            cell=data.cell.id,
            question_id=data.question_ids[row],
            file=release.shards[data.shard[row]].file if data.present[row] else None,
            line=int(data.line[row]) if data.present[row] else None,
            note=what,
        )
        for row, what in zip(rows, notes, strict=True)
    ]
