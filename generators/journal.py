"""The records of one cell while a run goes on: appended line by line, and safe against being killed at any byte."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from schemas import layout
from schemas.errors import ReleaseError
from schemas.reading import Limits, Problem, decode, read_lines
from schemas.record import Record
from schemas.writing import write_lines

FOLDER = ".generate"
"""Below the release while a run is unfinished: journals, and the lock."""


class Journal:
    """Appends records to a file of the run; `finish` makes them the cell's part of the release.

    A process that is killed leaves whole lines and at most one torn one, which the next run cuts off.
    """

    def __init__(self, root: Path, cell: str, storage: str) -> None:
        self.root, self.cell = root, cell
        self.path = root / FOLDER / f"{cell}.jsonl"
        self.part = part_file(root, cell, storage)
        self._file: BinaryIO | None = None

    def done(self) -> set[str]:
        """Ids of the questions whose record is there and ok."""
        self._cut_torn_line()
        return {record.question_id for record in self._records() if record.status == "ok"}

    def append(self, line: bytes) -> None:
        """Add one encoded record. It is on the disk's side of a crash once this returns."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._cut_torn_line()
            self._file = self.path.open("ab", buffering=0)
        data = memoryview(line + b"\n")
        while data:
            # A disk that is nearly full takes a part first, and says why only when it is asked again.
            data = data[self._file.write(data) :]

    def finish(self, order: list[str]) -> int:
        """Write the cell's file with its records in this order of question ids, and drop the journal.

        Of several records of one question the last ok one counts, else the last. Returns the number that failed.
        """
        if self._file is not None:
            self._file.close()
            self._file = None
        if not self.path.exists():
            return sum(record.status == "failed" for record in self._stored())
        self._cut_torn_line()
        kept: dict[str, Record] = {}
        for record in self._records():
            if record.status == "ok" or kept.get(record.question_id, record).status == "failed":
                kept[record.question_id] = record
        position = {name: place for place, name in enumerate(order)}
        records = sorted(kept.values(), key=lambda record: position.get(record.question_id, len(order)))
        write_lines(self.part, records)
        self.path.unlink()
        return sum(record.status == "failed" for record in records)

    def drop_cut(self) -> None:
        """Drop the records that the context cut short, so that they are made again in a larger one."""
        self._cut_torn_line()
        records = list(self._records())
        kept = [record for record in records if "cut_by_context" not in (record.extra or {})]
        if len(kept) < len(records):
            write_lines(self.part, kept)
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; what was appended stays."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _records(self) -> Iterator[Record]:
        yield from self._stored()
        if self.path.exists():
            yield from read_records(self.path)

    def _stored(self) -> Iterator[Record]:
        if self.part.exists():
            yield from read_records(self.part)

    def _cut_torn_line(self) -> None:
        """Drop what follows the last newline, and lines before it that the disk lost (zeros after a power cut)."""
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            good = 0
            for line in file:
                if not line.endswith(b"\n") or not _is_record(line):
                    break
                good += len(line)
            if good != os.fstat(file.fileno()).st_size:
                file.truncate(good)


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file that this project wrote. Raises ReleaseError for one that is damaged."""
    for line in read_lines(path, Record, limits=Limits()):
        if isinstance(line, Problem):
            where = f"{path}{f', line {line.number}' if line.number else ''}"
            raise ReleaseError(f"{where}: {line.message} Remove the file to have its records made again.")
        yield line.value


def part_file(root: Path, cell: str, storage: str) -> Path:
    """The file that a cell's records are written to."""
    return layout.inside(root, f"{layout.GENERATIONS}/{cell}/part-0.{storage}")


def _is_record(line: bytes) -> bool:
    try:
        decode(line, Record)
    except ValueError:
        return False
    return True
