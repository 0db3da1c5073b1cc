"""JSONL rows → a release, by a mapping. What is not mapped is absent; what is mapped must be there."""

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Lookup
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from generators.card import dataset_card
from generators.importers.mapping import CellFields, GenerationPaths, Mapping, QuestionPaths, RecordPaths
from schemas.errors import UsageError
from schemas.manifest import FORMAT_VERSION, Cell, Dataset, Manifest, Model
from schemas.reading import Limits, Problem, convert, read_lines
from schemas.record import Question, Record
from schemas.writing import new_release, write_json, write_lines, write_text

Row = dict[str, Any]


@dataclass(frozen=True)
class Imported:
    """What an import wrote."""

    target: Path
    questions: int
    records: Lookup[str, int]
    """Records by cell id."""
    skipped: int
    """Rows that the mapping's `skip` left out, over all sources."""


def import_jsonl(
    sources: Sequence[Path], *, mapping: Mapping, questions: Path, target: Path, suffix: str = ".jsonl.gz"
) -> Imported:
    """Write the release `target` from JSONL files (plain, .gz, .zst).

    `questions`: JSONL of the benchmark, read by `mapping.questions`. Raises UsageError with file, line and field
    for the first row that does not fit the mapping; nothing is written then.
    """
    limits = Limits()
    items = list(_questions(questions, mapping.questions, limits))
    finder = _Finder(items, mapping.match.by)
    cells = [_Cell(mapping, fields) for fields in mapping.cells]
    skipped = sum(sum(1 for kept, _, _ in _rows(source, mapping, limits) if not kept) for source in sources)
    counts: dict[str, int] = {}
    with new_release(target) as root:
        write_lines(root / "questions" / f"{mapping.dataset.id}.jsonl", items)
        for cell in cells:
            mine = [source for source in sources if fnmatchcase(source.name, cell.fields.source)]
            if not mine:
                raise UsageError(f"Cell {cell.id}: no source file matches {cell.fields.source!r}.")
            records = _Counted(record for source in mine for record in cell.records(source, finder, limits))
            write_lines(root / "generations" / cell.id / f"part-0{suffix}", records)
            counts[cell.id] = records.count
        manifest = _manifest(mapping, cells)
        write_json(root / "release.json", manifest)
        write_text(root / "README.md", dataset_card(manifest, root))
    return Imported(target, len(items), counts, skipped)


class _Counted:
    def __init__(self, records: Iterator[Record]) -> None:
        self.records, self.count = records, 0

    def __iter__(self) -> Iterator[Record]:
        for record in self.records:
            self.count += 1
            yield record


class _Paths:
    """The compiled paths of one struct of paths; `what` names it in messages."""

    def __init__(self, struct: GenerationPaths | QuestionPaths | Any, what: str, names: Sequence[str]) -> None:
        self.what = what
        self.compiled = {}
        for name in names:
            path = getattr(struct, name)
            if path is not None:
                self.compiled[name] = _compile(path, f"{what}.{name}")

    def look_up(self, row: Row) -> dict[str, Any]:
        """The value at each path; None where there is nothing."""
        return {name: _search(path, row) for name, path in self.compiled.items()}


class _Finder:
    def __init__(self, items: Sequence[Question], by: str) -> None:
        self.by = by
        self.found: dict[object, Question] = {}
        for position, item in enumerate(items):
            key = {"id": item.id, "text": item.text, "index": position}[by]
            if key is None:
                raise UsageError("Rows are matched by text, but the mapping gives the questions no `text`.")
            if key in self.found:
                raise UsageError(
                    f"Questions {self.found[key].id!r} and {item.id!r} have the same {by}; match by another."
                )
            self.found[key] = item

    def find(self, value: object, where: str) -> Question:
        key: object = str(value) if self.by == "id" and isinstance(value, int | str) else value
        if isinstance(key, bool) or not isinstance(key, int | str) or key not in self.found:
            raise UsageError(f"{where}: no question has the {self.by} {str(value)[:80]!r}.")
        return self.found[key]


class _Cell:
    def __init__(self, mapping: Mapping, fields: CellFields) -> None:
        self.mapping, self.fields = mapping, fields
        self.id = f"{fields.model}/{mapping.dataset.id}/{fields.method}"
        self.match = _compile(mapping.match.path, "match.path")
        self.record_paths = _Paths(fields.record, f"cell {self.id}: record", RecordPaths.__struct_fields__)
        self.generation_paths = [
            (_Paths(paths, f"cell {self.id}: generations[{i}]", GENERATION_PATHS), paths)
            for i, paths in enumerate(fields.generations)
        ]

    def records(self, source: Path, finder: _Finder, limits: Limits) -> Iterator[Record]:
        for kept, number, row in _rows(source, self.mapping, limits):
            if kept:
                yield self.record(row, f"{source}, line {number}", finder)

    def record(self, row: Row, where: str, finder: _Finder) -> Record:
        question = finder.find(_search(self.match, row), where)
        generations: list[dict[str, Any]] = []
        absent = None
        for paths, fields in self.generation_paths:
            for values in self.split(paths, fields, row, where):
                if values.get("text") is None:
                    absent = f"the source has no text at {fields.text!r}"
                    continue
                generations.append({"role": fields.role, "index": len(generations), **_generation(values)})
        if absent is not None and self.fields.when_absent == "refuse":
            raise UsageError(f'{where}: cell {self.id}: {absent}; set when_absent = "failed" to record it as failed.')
        raw: dict[str, Any] = {
            "cell": self.id,
            "question_id": question.id,
            "question_index": question.index,
            "status": "ok" if absent is None else "failed",
            "error": absent,
            "generations": generations,
            "claimed": _claimed(self.record_paths.look_up(row)),
        }
        try:
            return convert(raw, Record)
        except ValueError as error:
            raise UsageError(f"{where}: cell {self.id}: {error}.") from None

    def split(self, paths: _Paths, fields: GenerationPaths, row: Row, where: str) -> Iterator[dict[str, Any]]:
        """The values of each generation: the row's own, or with `many` one entry of each list."""
        values = paths.look_up(row)
        if not fields.many:
            yield values
            return
        if values["text"] is None or values["text"] == []:
            yield {"text": None}
            return
        for name, value in values.items():
            if not isinstance(value, list) or len(value) != len(values["text"]):
                shape = f"{len(value)} entries" if isinstance(value, list) else "no list"
                raise UsageError(
                    f"{where}: {paths.what}.{name} gives {shape}, and text gives {len(values['text'])}; "
                    "use map(&…, …) where a projection drops nulls."
                )
        for entry in zip(*values.values(), strict=True):
            yield dict(zip(values, entry, strict=True))


GENERATION_PATHS = [name for name in GenerationPaths.__struct_fields__ if name not in ("role", "many")]


def _generation(values: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in values.items() if value is not None and not name.startswith("claimed_")}
    claimed = {
        name: value
        for name, value in (
            ("answer", _as_text(values.get("claimed_answer"))),
            ("correct", _as_flag(values.get("claimed_correct"))),
        )
        if value is not None
    }
    return {**kept, "claimed": claimed} if claimed else kept


def _claimed(values: dict[str, Any]) -> dict[str, Any] | None:
    found = {name.removeprefix("claimed_"): value for name, value in values.items() if value is not None}
    if "answer" in found:
        found["answer"] = _as_text(found["answer"])
    if "correct" in found:
        found["correct"] = _as_flag(found["correct"])
    return found or None


def _as_text(value: object) -> object:
    """Numbers as JSON writes them; anything else as it is, for the schema to judge."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _as_flag(value: object) -> object:
    """0 and 1 as booleans; anything else as it is, for the schema to judge."""
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else value


def _questions(path: Path, paths: QuestionPaths, limits: Limits) -> Iterator[Question]:
    fields = [name for name in QuestionPaths.__struct_fields__ if name != "gold_after"]
    compiled = _Paths(paths, "questions", fields)
    seen: set[str] = set()
    for number, row in _lines(path, limits):
        where = f"{path}, line {number}"
        values = compiled.look_up(row)
        gold = _as_text(values["gold"])
        if isinstance(gold, str) and paths.gold_after is not None:
            if paths.gold_after not in gold:
                raise UsageError(f"{where}: questions.gold: {paths.gold_after!r} does not occur in the gold.")
            gold = gold.rpartition(paths.gold_after)[2].strip()
        identity = values.get("id")
        if "id" in compiled.compiled and not isinstance(identity, int | str):
            raise UsageError(f"{where}: questions.id finds no id in this row.")
        name = str(len(seen)) if identity is None else str(identity)
        if name in seen:
            raise UsageError(f"{where}: the question id {name!r} came before; ids must be unique.")
        raw = {
            "id": name,
            "gold": gold,
            "text": values.get("text"),
            "index": len(seen),
            "level": _as_text(values.get("level")),
            "subject": values.get("subject"),
        }
        seen.add(name)
        try:
            yield convert(raw, Question)
        except ValueError as error:
            raise UsageError(f"{where}: {error}.") from None


def _rows(path: Path, mapping: Mapping, limits: Limits) -> Iterator[tuple[bool, int, Row]]:
    """Every row as (whether it is a record, line number, row)."""
    unless = None if mapping.skip.unless is None else _compile(mapping.skip.unless, "skip.unless")
    for position, (number, row) in enumerate(_lines(path, limits)):
        yield (
            position >= mapping.skip.rows and (unless is None or _search(unless, row) is not None),
            number,
            row,
        )


def _lines(path: Path, limits: Limits) -> Iterator[tuple[int, Row]]:
    if not path.is_file():
        raise UsageError(f"{path} is not a file.")
    for line in read_lines(path, dict, limits=limits):
        if isinstance(line, Problem):
            raise UsageError(f"{path}{f', line {line.number}' if line.number else ''}: {line.message}")
        yield line.number, line.value


def _compile(path: str, what: str) -> Any:
    try:
        return jmespath.compile(path)
    except JMESPathError as error:
        first = str(error).splitlines()[0]
        raise UsageError(f"mapping: {what}: {path!r} is no JMESPath: {first}") from None


def _search(path: Any, row: Row) -> Any:
    try:
        return path.search(row)
    except JMESPathError:
        # A function met a value of another type: the path finds nothing in this row.
        return None


def _manifest(mapping: Mapping, cells: Sequence[_Cell]) -> Manifest:
    release = mapping.release
    return Manifest(
        format_version=FORMAT_VERSION,
        title=release.title,
        license=release.license,
        source=release.source,
        known_limits=release.known_limits,
        models=[Model(id=name) for name in dict.fromkeys(cell.fields.model for cell in cells)],
        datasets=[
            Dataset(
                id=mapping.dataset.id,
                policy=mapping.dataset.policy,
                source=mapping.dataset.source,
                runner_grading=mapping.dataset.runner_grading,
            )
        ],
        cells=[
            Cell(
                id=cell.id,
                decision_rule=cell.fields.decision_rule,
                tie_rule=cell.fields.tie_rule,
                unparsed_policy=cell.fields.unparsed_policy,
                selection=cell.fields.selection,
                token_cap=cell.fields.token_cap,
                pool=cell.fields.pool,
            )
            for cell in cells
        ],
    )
