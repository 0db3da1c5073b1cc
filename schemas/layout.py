"""Where things lie in a release, and which paths are allowed."""

import os
from collections.abc import Iterator
from pathlib import Path

from schemas.errors import ReleaseError

MANIFEST = "release.json"
SUMS = "SHA256SUMS"
CLAIMS = ("claims.toml", "claims.json")
QUESTIONS = "questions"
GENERATIONS = "generations"
RECORD_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


def is_record_file(name: str) -> bool:
    """Whether a file name is one that records are read from: `part-*` with a known suffix."""
    return name.startswith("part-") and name.endswith(RECORD_SUFFIXES)


def questions_path(root: Path, dataset: str) -> Path:
    """The question file of a dataset."""
    return inside(root, f"{QUESTIONS}/{dataset}.jsonl")


def inside(root: Path, relative: str) -> Path:
    """`root/relative`, refused unless it stays inside the release and passes through no symbolic link.

    Raises ReleaseError.
    """
    parts = relative.split("/")
    if relative.startswith("/") or "\\" in relative or "\0" in relative or any(p in ("", ".", "..") for p in parts):
        raise ReleaseError(f"{relative!r} is not a path inside the release; use plain relative names.")
    path = root
    for part in parts:
        path = path / part
        if path.is_symlink():
            raise ReleaseError(f"{relative!r} passes through a symbolic link; a release may hold plain files only.")
    return path


def walk(root: Path) -> Iterator[tuple[str, Path]]:
    """Every file below `root` as (relative name with `/`, path), in sorted order; links are yielded, not followed."""
    for folder, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        linked = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in sorted([*names, *linked]):
            path = Path(folder) / name
            yield path.relative_to(root).as_posix(), path
