"""Opening a release: the manifest, the questions and the list of shards; generations are not read here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from schemas import layout
from schemas.errors import ReleaseError
from schemas.manifest import FORMAT_VERSION, Cell, Dataset, Manifest
from schemas.reading import Limits, Problem, decode, read_lines
from schemas.record import Question
from schemas.report import Finding, RecordRef
from verify.findings import counted, refuted, warning

_POINTER = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class Questions:
    """The questions of one dataset, and where each id stands among them."""

    dataset: Dataset
    items: tuple[Question, ...]
    row: Mapping[str, int]


@dataclass(frozen=True)
class Shard:
    """One file of generations. `order` is its place among all shards of the release."""

    order: int
    file: str
    path: Path
    cell: int


@dataclass(frozen=True)
class Release:
    """What a release says of itself, before any generation is read."""

    root: Path
    manifest: Manifest
    questions: Mapping[str, Questions]
    shards: tuple[Shard, ...]
    limits: Limits
    findings: tuple[Finding, ...] = field(default=(), compare=False)

    def questions_of(self, cell: Cell) -> Questions:
        """The questions of the cell's dataset."""
        return self.questions[dataset_of(cell.id)]


def model_of(cell_id: str) -> str:
    """First part of a cell id."""
    return cell_id.split("/")[0]


def dataset_of(cell_id: str) -> str:
    """Second part of a cell id."""
    return cell_id.split("/")[1]


def method_of(cell_id: str) -> str:
    """Third part of a cell id, without the replicate."""
    return cell_id.split("/")[2].split("@")[0]


def replicate_of(cell_id: str) -> int:
    """The replicate of a cell id; 0 where it has none."""
    _, _, replicate = cell_id.partition("@")
    return int(replicate or 0)


def setting_of(cell_id: str) -> str:
    """Model × dataset of a cell id."""
    return cell_id.rsplit("/", 1)[0]


def open_release(root: Path, *, limits: Limits) -> Release:
    """Read the manifest and the questions, and list the shards.

    Raises ReleaseError where there is nothing to audit; everything smaller becomes a finding of the result.
    """
    manifest = _read_manifest(root, limits)
    findings: list[Finding] = []
    questions = {}
    for dataset in manifest.datasets:
        questions[dataset.id], problems = _read_questions(root, dataset, limits)
        findings += problems
    shards, odd = _list_shards(root, manifest)
    return Release(root, manifest, questions, shards, limits, tuple(findings + odd))


def _read_manifest(root: Path, limits: Limits) -> Manifest:
    if not root.exists():
        raise ReleaseError(f"{root} does not exist; name the folder that holds {layout.MANIFEST}.")
    if not root.is_dir():
        raise ReleaseError(f"{root} is a file; name the folder that holds {layout.MANIFEST}.")
    path = layout.inside(root, layout.MANIFEST)
    try:
        if path.stat().st_size > limits.small_file_bytes:
            raise ReleaseError(f"{layout.MANIFEST} is larger than {limits.small_file_bytes:,} bytes.")
        data = path.read_bytes()
    except FileNotFoundError:
        raise ReleaseError(
            f"{root} holds no {layout.MANIFEST}; it is no release, or `audit import` has to make one first."
        ) from None
    except OSError as error:
        raise ReleaseError(f"{layout.MANIFEST} cannot be read: {error.strerror}.") from error
    try:
        version = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get("format_version", msgspec.Raw(b"null"))
        if bytes(version) != f'"{FORMAT_VERSION}"'.encode():
            raise ReleaseError(
                f"{layout.MANIFEST}: format_version is {bytes(version)[:40].decode(errors='replace')}, and this tool "
                f'reads "{FORMAT_VERSION}"; write the release in that version, or use the tool that reads its own.'
            )
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # the decoder below says better what is wrong
    try:
        manifest = decode(data, Manifest)
    except ValueError as error:
        raise ReleaseError(f"{layout.MANIFEST}: {error}.") from None
    _check_manifest(manifest)
    return manifest


def _check_manifest(manifest: Manifest) -> None:
    for what, ids in (
        ("models", [model.id for model in manifest.models]),
        ("datasets", [dataset.id for dataset in manifest.datasets]),
        ("cells", [cell.id for cell in manifest.cells]),
    ):
        if doubled := sorted({name for name in ids if ids.count(name) > 1}):
            raise ReleaseError(f"{layout.MANIFEST}: {what} names {doubled[0]!r} twice; ids must be unique.")
    models = {model.id for model in manifest.models}
    datasets = {dataset.id for dataset in manifest.datasets}
    cells = {cell.id for cell in manifest.cells}
    for number, cell in enumerate(manifest.cells):
        for what, name, known in (
            ("model", model_of(cell.id), models),
            ("dataset", dataset_of(cell.id), datasets),
        ):
            if name not in known:
                raise ReleaseError(
                    f"{layout.MANIFEST}: cells[{number}].id {cell.id!r} names {what} {name!r}, "
                    f"which `{what}s` does not list; add it there or correct the id."
                )
    pools = [setting_of(cell.id) for cell in manifest.cells if cell.pool]
    if doubled := sorted({setting for setting in pools if pools.count(setting) > 1}):
        raise ReleaseError(f"{layout.MANIFEST}: two cells of {doubled[0]!r} are its `pool`; only one can be.")
    for family in manifest.families or []:
        for cell_id in family.cells:
            if cell_id not in cells:
                raise ReleaseError(
                    f"{layout.MANIFEST}: family {family.id!r} names cell {cell_id!r}, which `cells` does not list."
                )


def _read_questions(root: Path, dataset: Dataset, limits: Limits) -> tuple[Questions, list[Finding]]:
    path = layout.questions_path(root, dataset.id)
    file = f"{layout.QUESTIONS}/{dataset.id}.jsonl"
    if not path.is_file():
        raise ReleaseError(f"{file} is missing; dataset {dataset.id!r} of {layout.MANIFEST} needs it.")
    items: list[Question] = []
    row: dict[str, int] = {}
    bad: list[RecordRef] = []
    for line in read_lines(path, Question, limits=limits):
        if isinstance(line, Problem):
            bad.append(RecordRef(file=file, line=line.number, note=line.message))
        elif line.value.id in row:
            bad.append(RecordRef(file=file, line=line.number, question_id=line.value.id, note="this id came before."))
        else:
            row[line.value.id] = len(items)
            items.append(line.value)
    findings = []
    if bad:
        findings.append(
            refuted(
                "question-lines",
                dataset.id,
                f"{counted(len(bad), 'unusable line')} in {file}; correct or remove.",
                records=bad,
            )
        )
    return Questions(dataset, tuple(items), row), findings


def _is_pointer(path: Path) -> bool:
    """Whether a clone without Git LFS left its note in the place of the file: the reader's gap, not the author's."""
    try:
        with path.open("rb") as file:
            return file.read(len(_POINTER)) == _POINTER
    except OSError:
        return False


def _list_shards(root: Path, manifest: Manifest) -> tuple[tuple[Shard, ...], list[Finding]]:
    number = {cell.id: index for index, cell in enumerate(manifest.cells)}
    shards: list[Shard] = []
    findings: list[Finding] = []
    unexpected: dict[str, list[RecordRef]] = {}
    unread: list[RecordRef] = []
    folder = root / layout.GENERATIONS
    if folder.is_symlink():
        raise ReleaseError(f"{layout.GENERATIONS} is a symbolic link; a release may hold plain files only.")
    for name, path in layout.walk(folder):
        file = f"{layout.GENERATIONS}/{name}"
        cell_id, _, base = name.rpartition("/")
        if path.is_symlink():
            unread.append(RecordRef(file=file, note="a symbolic link; links are never followed."))
        elif not layout.is_record_file(base):
            unread.append(RecordRef(file=file, note="not named part-*.jsonl, .jsonl.gz, .jsonl.zst or .parquet."))
        elif cell_id not in number:
            unexpected.setdefault(cell_id, []).append(RecordRef(file=file))
        elif _is_pointer(path):
            raise ReleaseError(f"{file} is a Git LFS pointer, not the file itself; run `git lfs pull` in the release.")
        else:
            shards.append(Shard(len(shards), file, path, number[cell_id]))
    for cell_id, files in unexpected.items():
        findings.append(
            refuted(
                "unexpected-cell",
                cell_id,
                f"{layout.GENERATIONS}/{cell_id} holds records, but {layout.MANIFEST} declares no such cell; "
                "declare it or remove the folder.",
                records=files,
            )
        )
    if unread:
        findings.append(
            warning(
                "unread-files",
                layout.GENERATIONS,
                f"{counted(len(unread), 'unread file')} below {layout.GENERATIONS}/.",
                records=unread,
            )
        )
    return tuple(shards), findings
