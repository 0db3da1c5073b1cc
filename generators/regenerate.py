"""Making records of a release again: those that are missing, or some that are there, to see whether they come out."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec

from generators.backends.call import Facts
from generators.backends.opening import open_backend
from generators.journal import read_records
from generators.runner import (
    Progress,
    fill,
    finish,
    locked,
    pending,
    prompts_of,
    read_manifest,
    records,
    storage_of,
    sweep,
)
from generators.summary import reads_same
from generators.worker import Workshop
from schemas import layout
from schemas.errors import ReleaseError, UsageError
from schemas.manifest import Cell, Manifest, Model
from schemas.plan import LlamaCpp, OpenAI, PlanModel, Scripted
from schemas.reading import Limits, Problem, read_lines
from schemas.record import ANSWER_ROLES, Generation, Question, Record
from schemas.writing import sha256, write_sums

Verdict = Literal["identical", "same answer", "different", "failed"]


@dataclass(frozen=True)
class Compared:
    """One record, made again."""

    cell: str
    question_id: str
    verdict: Verdict
    note: str = ""
    """Where the first difference is, in words."""


@dataclass
class Regenerated:
    """What came of it."""

    compared: list[Compared] = field(default_factory=list)
    filled: dict[str, int] = field(default_factory=dict)
    """Records that were missing and are there now, by cell."""
    failed: dict[str, int] = field(default_factory=dict)
    """Records that were missing and failed again, by cell."""
    files: dict[str, bool | None] = field(default_factory=dict)
    """Files written: whether they have the SHA-256 that SHA256SUMS lists; None where it listed none to compare."""
    changed: dict[str, list[str]] = field(default_factory=dict)
    """By model: what differs from the manifest, where the caller went on all the same."""

    @property
    def good(self) -> bool:
        """Whether everything came out as it was."""
        return (
            all(item.verdict == "identical" for item in self.compared)
            and not self.failed
            and all(same is not False for same in self.files.values())
        )


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be made again, and with what."""

    cells: tuple[str, ...] = ()
    """Patterns of cell ids; cells named here are made again whole. None = only what is missing, in every cell."""
    spot_check: int | None = None
    """Only so many existing records, drawn at random."""
    seed: int = 0
    """Of that draw."""
    files: Mapping[str | None, str] = field(default_factory=dict)
    """GGUF file (or file of replies) by model id; None = the release's only model."""
    base_urls: Mapping[str | None, str] = field(default_factory=dict)
    key_variable: str | None = None
    """Environment variable with the servers' key: the caller's word, never the release's."""
    anyway: bool = False
    """Go on although the model or its software is not the one of the manifest."""
    jobs: int = 1
    reward_file: Path | None = None
    reward_command: str | None = None


def regenerate(root: Path, request: Request, *, progress: Progress | None = None) -> Regenerated:
    """Make records of the release at `root` again, by its own manifest and prompts.

    Nothing that a release says is run or opened: models, servers and reward commands are the caller's. Existing
    records are compared and left as they are; missing ones are written. Raises UsageError where the model is another
    one, unless `anyway`, and ReleaseError where the release does not say how its records were made.
    """
    manifest = _with_questions(root, read_manifest(root))
    chosen = [
        cell
        for cell in manifest.cells
        if not request.cells or any(fnmatchcase(cell.id, pattern) for pattern in request.cells)
    ]
    if not chosen:
        raise UsageError(f"{root} has no cell called like {', '.join(request.cells)}.")
    prompts = prompts_of(root)
    for cell in chosen:
        _check_prompts(cell, {name: prompts.sha256(name) for name in prompts.texts})
    existing = _chosen_records(root, chosen, request)
    todo = {} if request.spot_check is not None else pending(root, msgspec.structs.replace(manifest, cells=chosen))
    wanted = {
        cell.split("/")[0] for cell in [*(item.cell for item in existing), *(c for c, ids in todo.items() if ids)]
    }
    result = Regenerated()
    models = {}
    for model in manifest.models:
        if model.id in wanted:
            models[model.id] = _plan_model(model, manifest, request)
            result.changed |= _check_facts(model, models[model.id], request)
    workshop = Workshop(
        root=root,
        cells={cell.id: cell for cell in chosen},
        models=models,
        prompts=prompts,
        reward_file=request.reward_file,
        reward_command=request.reward_command,
    )
    total = len(existing) + sum(map(len, todo.values()))
    for item in _compare(workshop, existing, request.jobs):
        result.compared.append(item)
        if progress is not None:
            progress(len(result.compared), total)
    if any(todo.values()):
        _fill(root, workshop, msgspec.structs.replace(manifest, cells=chosen), todo, request, result, progress, total)
    return result


def _with_questions(root: Path, manifest: Manifest) -> Manifest:
    """The manifest with the expected questions of every cell written out."""
    ids = {
        dataset.id: [
            line.value.id
            for line in read_lines(layout.questions_path(root, dataset.id), Question, limits=Limits())
            if not isinstance(line, Problem)
        ]
        for dataset in manifest.datasets
    }
    return msgspec.structs.replace(
        manifest,
        cells=[
            msgspec.structs.replace(
                cell,
                expected_questions=ids.get(cell.id.split("/")[1], [])
                if cell.expected_questions is None
                else cell.expected_questions,
            )
            for cell in manifest.cells
        ],
    )


def _check_prompts(cell: Cell, known: Mapping[str, str]) -> None:
    for name, digest in (cell.prompts or {}).items():
        if known.get(name) != digest:
            raise ReleaseError(
                f"cell {cell.id}: prompt {name!r} of prompts.toml is not the one whose SHA-256 the manifest gives; "
                "its records cannot be made again."
            )


def _chosen_records(root: Path, cells: Sequence[Cell], request: Request) -> list[Record]:
    """The existing records that are to be made again."""
    if request.spot_check is None and not request.cells:
        return []
    present = [(cell, record) for cell in cells for record in _stored(root, cell) if record.status == "ok"]
    if request.spot_check is None:
        return [record for _, record in present]
    if not present:
        raise UsageError(f"{root} holds no record to check; generate it first.")
    drawn = random.Random(request.seed).sample(range(len(present)), min(request.spot_check, len(present)))  # noqa: S311
    return [present[position][1] for position in sorted(drawn)]


def _stored(root: Path, cell: Cell) -> Iterator[Record]:
    folder = layout.inside(root, f"{layout.GENERATIONS}/{cell.id}")
    for path in sorted(folder.glob("part-*")):
        if layout.is_record_file(path.name) and not path.is_symlink():
            yield from read_records(path)


def _plan_model(model: Model, manifest: Manifest, request: Request) -> PlanModel:
    """How to open a model: options by the manifest, files and servers by the caller alone."""
    backend = None if model.backend is None else model.backend.name
    alone = len(manifest.models) == 1
    file = request.files.get(model.id, request.files.get(None) if alone else None)
    url = request.base_urls.get(model.id, request.base_urls.get(None) if alone else None)
    option = "" if alone else f"{model.id}="
    if backend == "llama.cpp":
        if file is None:
            raise UsageError(f"Name the file of model {model.id!r}: --model {option}FILE.gguf")
        options = LlamaCpp(
            file=file,
            context_size=model.context_size or 4096,
            threads=model.threads or 1,
            batch_size=model.batch_size or 512,
        )
        return PlanModel(id=model.id, llama_cpp=options)
    if backend == "scripted":
        if file is None:
            raise UsageError(f"Name the replies of model {model.id!r}: --model {option}FILE.jsonl")
        return PlanModel(id=model.id, scripted=Scripted(replies=file))
    extra = model.extra or {}
    if backend == "openai" and isinstance(extra.get("served_as"), str):
        if url is None:
            raise UsageError(f"Name the server of model {model.id!r}: --base-url {option}URL")
        server = OpenAI(
            base_url=url,
            model=str(extra["served_as"]),
            key_variable=request.key_variable,
            standard_only=extra.get("standard_only") is True,
        )
        return PlanModel(id=model.id, openai=server)
    raise ReleaseError(
        f"model {model.id!r} was run by {backend or 'software that the manifest does not name'}; only releases made by "
        "`audit generate` can be made again here."
    )


def _check_facts(model: Model, plan_model: PlanModel, request: Request) -> dict[str, list[str]]:
    backend = open_backend(plan_model)
    try:
        facts = backend.facts()
    finally:
        backend.close()
    differences = list(_differences(model, facts))
    if differences and not request.anyway:
        raise UsageError(
            f"model {model.id!r} is not run as it was: {'; '.join(differences)}. Texts may differ for that reason "
            "alone; --anyway goes on all the same."
        )
    return {model.id: differences} if differences else {}


def _differences(model: Model, facts: Facts) -> Iterator[str]:
    for name, before, now in (
        ("the file's SHA-256", model.file_sha256, facts.file_sha256),
        ("the chat template's SHA-256", model.chat_template_sha256, facts.chat_template_sha256),
        ("backend version", model.backend and model.backend.version, facts.backend.version),
        ("quantisation", model.quantisation, facts.quantisation),
        *(
            (name, (model.extra or {}).get(name), value)
            for name, value in (facts.extra or {}).items()
            if name not in ("served_as", "standard_only")
        ),
    ):
        if before is not None and before != now:
            yield f"{name} is {_short(now)}, and was {_short(before)}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _compare(workshop: Workshop, existing: Sequence[Record], jobs: int) -> Iterator[Compared]:
    by_key = {(record.cell, record.question_id): record for record in existing}
    for model in workshop.models:
        tasks = [key for key in by_key if key[0].split("/")[0] == model]
        for cell, line in records(workshop, model, tasks, jobs) if tasks else ():
            made = msgspec.json.decode(line, type=Record)
            yield compare(by_key[cell, made.question_id], made)


def compare(before: Record, made: Record) -> Compared:
    """Whether a record that was made again is the one that was released."""
    if made.status == "failed":
        return Compared(made.cell, made.question_id, "failed", made.error or "")
    note = _first_difference(before.generations, made.generations)
    verdict: Verdict = "identical"
    if note:
        try:
            same = _same_answers(before.generations, made.generations)
        except UsageError:  # whoever has no Math-Verify is told the difference, and not what it comes to
            same, note = False, f"{note} (whether the answers agree needs the extra [summarize])"
        verdict = "same answer" if same else "different"
    return Compared(made.cell, made.question_id, verdict, note)


def _first_difference(before: Sequence[Generation], made: Sequence[Generation]) -> str:
    for old, new in zip(before, made, strict=False):
        if old.text != new.text:
            if old.text is None or new.text is None:
                return f"generation {old.index}: a text on one side alone"
            position = next(
                (i for i, (a, b) in enumerate(zip(old.text, new.text, strict=False)) if a != b),
                min(len(old.text), len(new.text)),
            )
            was, now = old.text[position : position + 20], new.text[position : position + 20]
            return f"generation {old.index}, character {position}: {was!r} was released, {now!r} comes now"
        for name in ("role", "round", "agent", "seed", "prompt_tokens", "completion_tokens", "finish_reason"):
            was, now = getattr(old, name), getattr(new, name)
            if was != now:
                return f"generation {old.index}: {name} {was} was released, {now} comes now"
    if len(before) != len(made):
        return f"{len(before)} generations were released, {len(made)} come now"
    return ""


def _same_answers(before: Sequence[Generation], made: Sequence[Generation]) -> bool:
    def texts(generations: Sequence[Generation]) -> list[str]:
        return [generation.text or "" for generation in generations if generation.role in ANSWER_ROLES]

    old, new = texts(before), texts(made)
    return len(old) == len(new) and all(a == b or reads_same(a, b) for a, b in zip(old, new, strict=True))


def _fill(
    root: Path,
    workshop: Workshop,
    manifest: Manifest,
    todo: Mapping[str, Sequence[str]],
    request: Request,
    result: Regenerated,
    progress: Progress | None,
    total: int,
) -> None:
    """Write the missing records. Files that SHA256SUMS lists and that were gone have to come out as listed."""
    compared = len(result.compared)
    _check_parts(root, [cell for cell in manifest.cells if todo.get(cell.id)], storage_of(manifest))
    with locked(root):
        sweep(root)
        listed = _listed(root)
        cells = [cell for cell in manifest.cells if todo.get(cell.id)]
        names = {cell.id: f"{layout.GENERATIONS}/{cell.id}/part-0.{storage_of(manifest)}" for cell in cells}
        gone = {cell for cell, name in names.items() if not (root / name).exists()}
        made = fill(
            workshop,
            msgspec.structs.replace(manifest, cells=cells),
            todo,
            jobs=request.jobs,
            progress=None if progress is None else lambda done, _: progress(compared + done, total),
        )
        result.failed = made.failed
        for cell in cells:
            result.filled[cell.id] = len(todo[cell.id]) - made.failed.get(cell.id, 0)
            name = names[cell.id]
            expected = listed.get(name) if cell.id in gone else None
            result.files[name] = None if expected is None else sha256(root / name) == expected
        # A file that should have come out otherwise keeps its old line: the audit has to see it.
        if any(same is False for same in result.files.values()):
            return
        if any(same is None for same in result.files.values()) or not listed:
            finish(root, read_manifest(root)) if not listed else write_sums(root, without=".generate")


def _check_parts(root: Path, cells: Sequence[Cell], storage: str) -> None:
    """Raises ReleaseError where records may lie in a file that is not looked into: they would be there twice."""
    for cell in cells:
        for name, _ in layout.walk(layout.inside(root, f"{layout.GENERATIONS}/{cell.id}")):
            if layout.is_record_file(name) and name != f"part-0.{storage}":
                raise ReleaseError(
                    f"{layout.GENERATIONS}/{cell.id}/{name} is not as `audit generate` writes it (part-0.{storage}), "
                    "so nothing can be added to this cell; --spot-check compares what is there."
                )


def _listed(root: Path) -> dict[str, str]:
    path = root / layout.SUMS
    if not path.is_file() or path.is_symlink():
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return {line[66:]: line[:64] for line in lines if len(line) > 66}
