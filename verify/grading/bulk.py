"""Grading at the speed of reading: record batches of (text, gold) in, verdicts out.

The text column's UTF-8 buffer is searched as bytes; only the answer is ever made into a string, and one (answer, gold)
pair is compared once. Whatever the short cut does not understand goes through `Grader.grade`, so the two agree on every
row: a property test holds them to it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike

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
_MEMO_ENTRIES = 100_000
_MEMO_BYTES = 256
_BOX = b"\\boxed"


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

    `text` and `gold` name string columns. A null text is unparsed; a null gold is an empty gold. Bytes that are no UTF-8
    are read as U+FFFD. Raises `UsageError` for a column that is absent or not of strings.
    """
    grader = compile_policy(policy)
    memo: dict[tuple[bytes, str], int] = {}
    for batch in batches:
        texts, golds = _strings(batch, text), _strings(batch, gold)
        yield GradedBatch(_grade_column(grader, texts, [each or "" for each in golds.to_pylist()], memo))


def grade_parquet(
    path: str | PathLike[str], *, policy: str | Policy = "math", text: str = "text", gold: str = "gold"
) -> Iterator[GradedBatch]:
    """Stream a Parquet file through `grade_batches`, reading the two columns and nothing else."""
    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(batch_size=BATCH_ROWS, columns=[text, gold])
        yield from grade_batches(batches, policy=policy, text=text, gold=gold)


def _strings(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name not in batch.schema.names:
        raise UsageError(f"no column {name!r} among {', '.join(batch.schema.names)}")
    column = batch.column(name)
    if pa.types.is_dictionary(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise UsageError(f"column {name!r} holds {column.type}, not strings")
    return column


def _offsets(column: pa.Array) -> list[int]:
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    buffer = column.buffers()[1]
    if buffer is None:
        return [0] * (len(column) + 1)
    stops = np.frombuffer(buffer, dtype=width)
    found: list[int] = stops[column.offset : column.offset + len(column) + 1].tolist()
    return found


def _grade_column(
    grader: Grader, texts: pa.Array, golds: list[str], memo: dict[tuple[bytes, str], int]
) -> npt.NDArray[np.int8]:
    stops = _offsets(texts)
    buffer = texts.buffers()[2]
    first, last = stops[0], stops[-1]
    # One copy of this batch's bytes; `bytes` has the searches that a buffer lacks.
    data = buffer.slice(first, last - first).to_pybytes() if buffer is not None and last > first else b""
    short_cut = grader.policy.hash_marker == "off" and grader.policy.several_boxes == "last" and grader.policy.fbox != "equal"
    codes: list[int] = []
    append = codes.append
    rfind, find = data.rfind, data.find
    start = 0
    for stop, gold in zip(stops[1:], golds, strict=True):
        end = stop - first
        at = rfind(_BOX, start, end) + 7 if short_cut else 0
        start = end
        if at > 6 and data[at - 1 : at] == b"{" and at <= end:
            close = find(b"}", at, end)
            if close > 0 and (data[close - 1 : close] == b"\\" or find(b"{", at, close) >= 0):
                close = _close(data, at, end)
            if close > at:
                answer = data[at:close]
                code = memo.get((answer, gold))
                if code is None:
                    code = _remember(grader, answer, gold, memo)
                append(code)
                continue
        append(-1)
    found = np.array(codes, dtype=np.int8)
    for row in np.flatnonzero(found < 0).tolist():
        response = data[stops[row] - first : stops[row + 1] - first].decode("utf-8", "replace")
        found[row] = _CODE[grader.grade(response, golds[row]).verdict]
    if texts.null_count:
        found[texts.is_null().to_numpy(zero_copy_only=False)] = _CODE["unparsed"]
    return found


def _remember(grader: Grader, answer: bytes, gold: str, memo: dict[tuple[bytes, str], int]) -> int:
    """The verdict on the content of a box, or -1 where only the full rule can tell what the box holds."""
    content = answer.decode("utf-8", "replace")
    # The cut is what the full rule extracts if and only if its own brace matching ends where the cut does.
    if not content.strip() or closing_braces(f"{{{content}}}", [0]).get(0) != len(content) + 1:
        return -1
    code = _CODE["correct" if grader.matches(content, gold) else "incorrect"]
    if len(memo) >= _MEMO_ENTRIES:
        memo.clear()
    if len(answer) <= _MEMO_BYTES:
        memo[answer, gold] = code
    return code


def _close(data: bytes, at: int, end: int) -> int:
    """A guess at the brace that closes the one before `at`, or -1: right unless a backslash is escaped before a brace."""
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
