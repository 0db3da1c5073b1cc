"""What several tests need: where the public releases are, small releases built by hand, running the command line."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from audit.cli import main
from schemas.manifest import Cell, Dataset, Manifest, Model
from schemas.reading import Limits
from schemas.record import Generation, Question, Record
from schemas.writing import write_json, write_lines, write_sums
from verify.cells import CellData, reduce
from verify.grades import bind
from verify.partial import merge
from verify.release import open_release
from verify.shard import read_shard

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures" / "releases"
REAL = ROOT / "tests" / "acceptance" / "real"


def public_data() -> Path:
    """The folder of public releases; skips the test where it is absent, unless it is required to be there."""
    folder = Path(os.environ.get("GENERATION_AUDIT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        message = f"no public releases at {folder}; set GENERATION_AUDIT_DATA"
        if "GENERATION_AUDIT_REQUIRE_DATA" in os.environ:
            pytest.fail(message)
        pytest.skip(message)
    return folder


@dataclass(frozen=True)
class Ran:
    """What a call of the command line left."""

    stdout: str
    stderr: str
    returncode: int


def run_audit(*arguments: str | Path) -> Ran:
    """The command line in this process: quick, and with the same streams and exit codes as a process of its own."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
    return Ran(out.getvalue(), err.getvalue(), code if isinstance(code, int) else 1)


def start_audit(*arguments: str | Path, cwd: Path | None = None) -> Ran:
    """The command line in a process of its own: for what depends on one."""
    done = subprocess.run(
        [sys.executable, "-m", "audit", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        cwd=cwd,
    )
    return Ran(done.stdout, done.stderr, done.returncode)


def sample(index: int, text: str | None, **fields: object) -> Generation:
    """A generation of role `sample` unless said otherwise."""
    return Generation(**{"role": "sample", "index": index, "text": text, **fields})  # type: ignore[arg-type]


def record(cell: str, question: str, generations: Sequence[Generation], **fields: object) -> Record:
    """A record that is ok unless said otherwise."""
    base: dict[str, object] = {"cell": cell, "question_id": question, "status": "ok"}
    return Record(**{**base, "generations": list(generations), **fields})  # type: ignore[arg-type]


def write_release(
    root: Path,
    cells: Sequence[Cell],
    golds: Sequence[str | None],
    records: Sequence[Record],
    *,
    policy: str = "gsm8k",
    suffix: str = ".jsonl",
) -> Path:
    """A release with one model `m` and one dataset `d`, whose questions are q0, q1, …"""
    write_lines(root / "questions" / "d.jsonl", [Question(id=f"q{i}", gold=gold) for i, gold in enumerate(golds)])
    for cell in cells:
        mine = [item for item in records if item.cell == cell.id]
        write_lines(root / "generations" / cell.id / f"part-0{suffix}", mine)
    manifest = Manifest(
        format_version="1.0",
        title="by hand",
        models=[Model(id="m")],
        datasets=[Dataset(id="d", policy=policy)],
        cells=list(cells),
    )
    write_json(root / "release.json", manifest)
    write_sums(root)
    return root


def load(root: Path) -> CellData:
    """The first cell of a release that `write_release` wrote, as statistics see it."""
    release = open_release(root, limits=Limits())
    grading = bind(release)
    merged = merge(read_shard(release, shard, grading["d"]) for shard in release.shards)
    usable = {"d": np.array([gold is not None for gold in grading["d"].golds])}
    return reduce(release, merged, usable).cells[0]
