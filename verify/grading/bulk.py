"""Grading at the speed of reading: record batches of (text, gold) in, verdicts out.

The text column's UTF-8 buffer is searched as bytes; only the answer is ever made into a string, and one
(answer, gold) pair is compared once. Whatever the short cut does not understand goes through `Grader.grade`,
so the two agree on every
row: a property test holds them to it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.errors import UsageError
from verify.grading.extract import closing_braces
from verify.grading.grader import Grader, Verdict, compile_policy
from verify.grading.policy import Policy

#: What the codes of `GradedBatch.verdicts` stand for.
VERDICTS: tuple[Verdict, ...] = ("unparsed", "incorrect", "correct")
_CODE = {verdict: code for code, verdict in enumerate(VERDICTS)}
#: Rows per batch: 1,200-character responses make 5 MB of text, far below the bound on memory.
BATCH_ROWS = 4096
_MEMO_GOLDS = 20_000
_MEMO_ANSWERS = 256
_MEMO_BYTES = 128
_TAIL = 160
# One call finds the last command, and what stands between its brace, if it has one, and the last brace of
# the row.
_LAST_BOX = re.compile(rb".*\\boxed(?:\{(.*)\})?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GradedBatch:
    """Verdicts of one record batch: int8 codes into `VERDICTS`, one per row, in the order of the rows."""

    verdicts: npt.NDArray[np.int8]

    @property
    def correct(self) -> int:
        """Number of correct rows."""
        return int(np.count_nonzero(self.verdicts == _CODE["correct"]))


def grade_batches(
    batches: Iterable[pa.RecordBatch],
    *,
    policy: str | Policy = "math",
    text: str = "text",
    gold: str = "gold",
) -> Iterator[GradedBatch]:
    """Grade every row of every batch; lazily, one batch in memory at a time.

    `text` and `gold` name string columns. A null text is unparsed; a null gold is an empty gold. Bytes that
    are no UTF-8 are read as U+FFFD. Raises `UsageError` for a column that is absent or not of strings.
    """
    grader = compile_policy(policy)
    memo = _Memo()
    for batch in batches:
        # A dictionary holds each gold once, so that a row costs one index instead of one string.
        golds = _dictionary(batch, gold)
        per_gold = [memo.of(each or "") for each in golds.dictionary.to_pylist()]
        per_gold.append(memo.of(""))
        indices = golds.indices.fill_null(len(per_gold) - 1).to_numpy().tolist()
        yield GradedBatch(_grade_column(grader, _strings(batch, text), [per_gold[at] for at in indices]))


def grade_parquet(
    path: str | PathLike[str], *, policy: str | Policy = "math", text: str = "text", gold: str = "gold"
) -> Iterator[GradedBatch]:
    """Stream a Parquet file through `grade_batches`, reading the two columns and nothing else."""
    with pq.ParquetFile(Path(path), read_dictionary=[gold]) as file:
        batches = file.iter_batches(batch_size=BATCH_ROWS, columns=[text, gold])
        yield from grade_batches(batches, policy=policy, text=text, gold=gold)


def _strings(batch: pa.RecordBatch, name: str) -> "pa.Array[Any]":
    if name not in batch.schema.names:
        raise UsageError(f"no column {name!r} among {', '.join(batch.schema.names)}")
    column = batch.column(name)
    if pa.types.is_dictionary(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise UsageError(f"column {name!r} holds {column.type}, not strings")
    return column


def _dictionary(batch: pa.RecordBatch, name: str) -> "pa.DictionaryArray[Any, Any]":
    """The column with each string once: as it is, where it is so already and its dictionary is no longer."""
    column = batch.column(name) if name in batch.schema.names else None
    if isinstance(column, pa.DictionaryArray):
        strings = column.dictionary
        if len(strings) <= len(column) and pa.types.is_string(strings.type):
            return column
    return _strings(batch, name).dictionary_encode()


def _offsets(column: "pa.Array[Any]") -> list[int]:
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    buffer = column.buffers()[1]
    if buffer is None:
        return [0] * (len(column) + 1)
    stops = np.frombuffer(memoryview(buffer), dtype=width)
    found: list[int] = stops[column.offset : column.offset + len(column) + 1].tolist()
    return found


class _Answers(dict[bytes, int]):
    """Verdicts of the boxed answers seen so far against one gold. A key is a whole box content, never a
    guess.
    """

    def __init__(self, gold: str) -> None:
        super().__init__()
        self.gold = gold


class _Memo:
    """The answers of every gold, bounded: when full it starts again."""

    def __init__(self) -> None:
        self._golds: dict[str, _Answers] = {}

    def of(self, gold: str) -> _Answers:
        found = self._golds.get(gold)
        if found is None:
            if len(self._golds) >= _MEMO_GOLDS:
                self._golds.clear()
            found = self._golds[gold] = _Answers(gold)
        return found


def _grade_column(grader: Grader, texts: "pa.Array[Any]", golds: list[_Answers]) -> npt.NDArray[np.int8]:
    stops = _offsets(texts)
    buffer = texts.buffers()[2]
    data = memoryview(buffer if buffer is not None else b"")
    policy = grader.policy
    if policy.hash_marker == "off" and policy.several_boxes == "last" and policy.fbox != "equal":
        found = np.array(_boxed_codes(grader, data, stops, golds), dtype=np.int8)
    else:
        found = np.full(len(golds), -1, dtype=np.int8)
    for row in np.flatnonzero(found < 0).tolist():
        response = data[stops[row] : stops[row + 1]].tobytes().decode("utf-8", "replace")
        found[row] = _CODE[grader.grade(response, golds[row].gold).verdict]
    if texts.null_count:
        found[texts.is_null().to_numpy(zero_copy_only=False)] = _CODE["unparsed"]
    return found


def _boxed_codes(grader: Grader, data: memoryview, stops: list[int], golds: list[_Answers]) -> list[int]:
    """Verdicts of the rows whose last box the memo knows or a simple cut finds; -1 for every other row.

    A response mostly ends soon after its box, so its last bytes are looked at before all of them are.
    Cutting the answer at the row's last brace is a guess. It is safe because a memo holds nothing but
    contents that the full rule extracts, balanced as the full rule balances: such a content with a brace
    behind it is extracted again.
    """
    codes: list[int] = []
    append, match = codes.append, _LAST_BOX.match
    start = stops[0]
    for stop, known in zip(stops[1:], golds, strict=True):
        low = stop - _TAIL
        found = match(data, low if low > start else start, stop)
        code = known.get(found[1]) if found is not None else None
        append(_code_of_row(grader, data[start:stop].tobytes(), known) if code is None else code)
        start = stop
    return codes


def _code_of_row(grader: Grader, text: bytes, known: _Answers) -> int:
    at = text.rfind(b"\\boxed") + 7
    if at < 7 or text[at - 1 : at] != b"{":
        return -1
    close = _close(text, at, len(text))
    if close <= at:
        return -1
    answer = text[at:close]
    code = known.get(answer)
    if code is not None:
        return code
    content = answer.decode("utf-8", "replace")
    # The cut is what the full rule extracts if and only if its own brace matching ends where the cut does.
    if not content.strip() or closing_braces(f"{{{content}}}", [0]).get(0) != len(content) + 1:
        return -1
    code = _CODE["correct" if grader.matches(content, known.gold) else "incorrect"]
    if len(answer) <= _MEMO_BYTES and len(known) < _MEMO_ANSWERS:
        known[answer] = code
    return code


def _close(data: bytes, at: int, end: int) -> int:
    """A guess at the brace that closes the one before `at`, or -1: right unless a backslash is escaped
    before a brace.
    """
    depth, cursor = 1, at
    while True:
        close = data.find(b"}", cursor, end)
        if close < 0:
            return -1
        depth += data.count(b"{", cursor, close) - data.count(b"\\{", cursor, close)
        depth -= data[close - 1 : close] != b"\\"
        if not depth:
            return close
        cursor = close + 1
