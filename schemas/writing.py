"""Writing a release: every file appears whole or not at all, and a new release appears as a whole."""

import gzip
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from schemas import layout
from schemas.errors import ReleaseError, UsageError
from schemas.record import Record


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A binary file that takes its name only once all of it is on disk (temporary file, fsync, rename)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """A UTF-8 text file, atomically."""
    with atomic_file(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path: Path, value: msgspec.Struct) -> None:
    """One struct as indented JSON, atomically."""
    with atomic_file(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def write_lines(path: Path, values: Iterable[msgspec.Struct]) -> None:
    """Structs as JSONL, plain, .gz or .zst by the name, or records as .parquet; atomically, one at a time.

    The bytes depend on the values and the versions of the compressors alone: no clock, no file name inside.
    """
    with atomic_file(path) as file:
        if path.name.endswith(".parquet"):
            _write_parquet(file, cast(Iterable[Record], values))
        elif path.name.endswith(".gz"):
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                _write_jsonl(packed, values)
        elif path.name.endswith(".zst"):
            import pyarrow as pa

            # Arrow closes what it writes to, and the file still has to be synced: it gets a descriptor of its own.
            with (
                os.fdopen(os.dup(file.fileno()), "wb") as copy,
                pa.CompressedOutputStream(copy, "zstd") as packed,
            ):
                _write_jsonl(packed, values)
        elif path.name.endswith(".jsonl"):
            _write_jsonl(file, values)
        else:
            raise UsageError(f"{path.name}: records are written as {', '.join(layout.RECORD_SUFFIXES)}.")


def write_sums(root: Path, *, without: str | None = None) -> None:
    """`SHA256SUMS` over every other file below `root`, in the format of sha256sum; a folder can be left out."""
    lines = [
        f"{sha256(path)}  {name}\n"
        for name, path in layout.walk(root)
        if name != layout.SUMS and not path.is_symlink() and name.split("/")[0] != without
    ]
    write_text(root / layout.SUMS, "".join(lines))


def sha256(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def new_release(target: Path) -> Iterator[Path]:
    """A folder to write a release into; it becomes `target`, with SHA256SUMS, when the block ends without error.

    Raises UsageError if `target` exists and is not an empty folder.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists already; name a folder that does not, or empty it.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.") from error
    try:
        temporary.chmod(0o755)
        yield temporary
        write_sums(temporary)
        if target.exists():
            target.rmdir()
        temporary.replace(target)
    except OSError as error:
        raise ReleaseError(f"{target} could not be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _sync_folder(target.parent)


def _write_jsonl(file: Any, values: Iterable[msgspec.Struct]) -> None:
    encoder = msgspec.json.Encoder()
    for value in values:
        try:
            line = encoder.encode(value)
        except UnicodeEncodeError:  # lone surrogates: only an escape can write them
            line = json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode("ascii")
        file.write(line + b"\n")


def _write_parquet(file: BinaryIO, records: Iterable[Record]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _record_schema()
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        batch: list[dict[str, Any]] = []
        for record in records:
            row = {name: getattr(record, name) for name in schema.names}
            row["generations"] = [msgspec.structs.asdict(generation) for generation in record.generations]
            for generation in row["generations"]:
                generation["claimed"] = _plain(generation["claimed"])
            row["claimed"] = _plain(record.claimed)
            row["extra"] = None if record.extra is None else msgspec.json.encode(record.extra).decode()
            batch.append(row)
            if len(batch) == 512:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch = []
        writer.write_table(pa.Table.from_pylist(batch, schema))


def _plain(struct: msgspec.Struct | None) -> dict[str, Any] | None:
    return None if struct is None else msgspec.structs.asdict(struct)


def _record_schema() -> Any:
    """The Arrow schema of a records file; `extra` is JSON text, all else as in record.schema.json."""
    import pyarrow as pa

    # Arrow's stubs want one type a mapping where the library takes any mix.
    text, flag, whole, long, real = pa.string(), pa.bool_(), pa.int32(), pa.int64(), pa.float64()
    struct: Any = pa.struct
    generation = struct(
        {
            "role": text,
            "index": whole,
            "round": whole,
            "agent": whole,
            "seed": long,
            "temperature": real,
            "prompt_tokens": whole,
            "completion_tokens": whole,
            "finish_reason": text,
            "error": text,
            "text": text,
            "text_sha256": text,
            "score": real,
            "logprob": real,
            "claimed": struct({"answer": text, "correct": flag}),
        }
    )
    claimed = struct(
        {"answer": text, "selected": whole, "correct": flag, "completion_tokens": long, "prompt_tokens": long}
    )
    schema: Any = pa.schema
    return schema(
        {
            "cell": text,
            "question_id": text,
            "status": text,
            "question_index": whole,
            "replicate": whole,
            "seed": long,
            "error": text,
            "generations": pa.list_(generation),
            "claimed": claimed,
            "extra": text,
        }
    )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
