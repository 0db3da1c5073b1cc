"""Streaming readers: one line or row at a time, and one bad line costs one `Problem`, never the file."""

import gzip
import io
import json
import math
import tomllib
import zlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar, cast

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from schemas.catalog import TYPES, build
from schemas.errors import UsageError
from schemas.record import Record

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a reader accepts before it stops; a release is untrusted and may be a decompression bomb."""

    line_bytes: int = 64 * 2**20
    """Longest line, in bytes after decompression."""
    unpacked_bytes: int = 64 * 2**30
    """Most bytes that one file may hold after decompression."""
    ratio: int = 1000
    """Highest ratio of unpacked to packed size, looked at once a file has unpacked to more than 64 MiB."""
    small_file_bytes: int = 64 * 2**20
    """Largest file that is read whole (manifest, claims)."""


@dataclass(frozen=True)
class Line(Generic[T]):
    """A line (or Parquet row) that holds what it should. `number` counts from 1."""

    number: int
    value: T


@dataclass(frozen=True)
class Problem:
    """A line that does not, or a file that stops being readable; `number` counts from 1, None = the whole file."""

    number: int | None
    message: str


def read_lines(path: Path, kind: type[T], *, limits: Limits) -> Iterator[Line[T] | Problem]:
    """The values of a JSONL (plain, .gz, .zst) or Parquet file, in order, each as a `kind` (a struct, or dict).

    Blank lines are skipped. Anything wrong is yielded as a Problem; only programming errors raise.
    """
    try:
        if path.name.endswith(".parquet"):
            yield from _read_parquet(path, kind, limits)
        else:
            yield from _read_jsonl(path, kind, limits)
    except (OSError, EOFError, zlib.error) as error:
        yield Problem(None, f"the file cannot be read to its end ({_clean(error)}); fetch it again.")


def decode(data: bytes, kind: type[T]) -> T:
    """One JSON text as a `kind`.

    Raises ValueError with one clause that names the field and what was expected.
    """
    try:
        return cast(T, _decoder(cast(Hashable, kind)).decode(data))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    # The strict decoder refuses lone surrogates, which generations do contain, and its messages are terse: the
    # slow path accepts the former and asks jsonschema, the reference, about everything else.
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {_clean(error)}") from None
    return convert(value, kind)


def convert(value: object, kind: type[T]) -> T:
    """A parsed JSON value as a `kind`; raises ValueError as `decode` does."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(_explain(value, kind) or _clean(error)) from None


def read_toml(path: Path, kind: type[T]) -> T:
    """A TOML file that the user wrote, as a `kind`. Raises UsageError with the first thing that is wrong in it."""
    try:
        return convert(tomllib.loads(path.read_text(encoding="utf-8")), kind)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start + 1} is not UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}.") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}.") from None


def unreadable_number(record: Record) -> str | None:
    """The first field of a record that holds NaN or infinity (JSON cannot, Parquet can), or None."""
    for generation in record.generations:
        for field in ("score", "logprob", "temperature"):
            number = getattr(generation, field)
            if number is not None and not math.isfinite(number):
                return f"generations[{generation.index}].{field}"
    return None


@cache
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@cache
def _validator(kind: Hashable) -> Draft202012Validator | None:
    for name, known in TYPES.items():
        if known is kind:
            return Draft202012Validator(build(name))
    return None


def _explain(value: object, kind: type[object]) -> str | None:
    validator = _validator(cast(Hashable, kind))
    if validator is None:
        return None
    error = best_match(validator.iter_errors(cast(Any, value)))
    if error is None:
        return None
    where = error.json_path.removeprefix("$").removeprefix(".") or "the object"
    # Of several types that a value might have, jsonschema says only that it has none of them.
    types = [option.get("type") for option in error.validator_value] if error.validator == "anyOf" else [None]
    if all(types):
        return f"{where}: {_clean(repr(error.instance))} is not of type {' or '.join(map(str, types))}"
    return f"{where}: {_clean(error.message)}"


def _clean(error: object) -> str:
    text = str(error).strip().rstrip(".") or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number; leave the field out")


def _read_jsonl(path: Path, kind: type[T], limits: Limits) -> Iterator[Line[T] | Problem]:
    packed = path.stat().st_size
    compressed = path.name.endswith((".gz", ".zst"))
    unpacked = 0
    number = 0
    with _open(path) as stream:
        while raw := stream.readline(limits.line_bytes + 1):
            number += 1
            unpacked += len(raw)
            too_long = len(raw) > limits.line_bytes
            while too_long and not raw.endswith(b"\n") and unpacked <= limits.unpacked_bytes:
                raw = stream.readline(limits.line_bytes + 1)
                unpacked += len(raw)
                if not raw:
                    break
            if unpacked > limits.unpacked_bytes or (
                compressed and unpacked > 64 * 2**20 and unpacked > limits.ratio * max(packed, 1)
            ):
                yield Problem(
                    number,
                    f"the file unpacks to more than {unpacked:,} bytes from {packed:,}, beyond the limit; "
                    "the rest was not read.",
                )
                return
            if too_long:
                yield Problem(number, f"the line is longer than {limits.line_bytes:,} bytes; it was skipped.")
            elif raw.strip():
                try:
                    yield Line(number, decode(raw, kind))
                except ValueError as error:
                    cut = "" if raw.endswith(b"\n") else " (the file ends in this line: it may be cut off)"
                    yield Problem(number, f"{error}{cut}.")


def _open(path: Path) -> BinaryIO:
    if path.name.endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    if path.name.endswith(".zst"):
        # Arrow's reader, because it raises where a frame is cut short; others end there without a word.
        import pyarrow as pa

        return io.BufferedReader(
            cast(io.RawIOBase, pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")), 2**17
        )
    return path.open("rb")


def _converted_row(row: object, kind: type[T]) -> T:
    """A row as a `kind`; where that fails, with whole floats as integers: a column with gaps is float in pandas."""
    try:
        return convert(row, kind)
    except ValueError as error:
        try:
            return convert(_whole_numbers(row), kind)
        except ValueError:
            raise error from None


def _whole_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read_parquet(path: Path, kind: type[T], limits: Limits) -> Iterator[Line[T] | Problem]:
    # Arrow takes a third of a second to import: whoever reads JSONL only does not wait for it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            metadata = file.metadata
            declared = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            if declared > limits.unpacked_bytes:
                yield Problem(None, f"the file declares {declared:,} unpacked bytes, beyond the limit; not read.")
                return
            for batch in file.iter_batches(batch_size=512):
                for row in batch.to_pylist():
                    number += 1
                    if isinstance(row.get("extra"), str):
                        row["extra"] = json.loads(row["extra"])
                    try:
                        yield Line(number, _converted_row(row, kind))
                    except ValueError as error:
                        yield Problem(number, f"{error}.")
    except (pa.ArrowException, ValueError) as error:
        yield Problem(number + 1 if number else None, f"not readable as Parquet: {_clean(error)}.")
