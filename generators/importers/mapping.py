"""A mapping file: where in a row of somebody's JSONL each field of a record stands.

Paths are JMESPath (https://jmespath.org), a declarative language that can look values up and nothing else. A
projection such as `pred_score[*][0]` drops nulls and so shifts what follows; `map(&[0], pred_score)` keeps them.
"""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from schemas.manifest import DecisionRule, Name, Selection, TieRule, UnparsedPolicy
from schemas.reading import read_toml
from schemas.record import Count, Role


class ReleaseFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the manifest says of the release as a whole."""

    title: Annotated[str, Meta(min_length=1)]
    license: str | None = None
    source: str | None = None
    known_limits: list[str] | None = None


class DatasetFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The benchmark, as in the manifest."""

    id: Name
    policy: Name
    source: str | None = None
    runner_grading: str | None = None


class QuestionPaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where in a row of the question file each field stands. Without `id`, a question's id is its position."""

    gold: str
    id: str | None = None
    text: str | None = None
    level: str | None = None
    subject: str | None = None
    gold_after: Annotated[
        str | None, Meta(description="The gold is what follows the last of these marks, such as `####`.")
    ] = None


class Match(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a row finds its question: by its id, by its text word for word, or by its position from 0."""

    by: Literal["id", "text", "index"]
    path: str


class Skip(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows that are no records: the first `rows` ones, and those where the path `unless` finds nothing."""

    rows: Count = 0
    unless: str | None = None


class GenerationPaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the generations of one role stand; with `many`, every path gives a list, one entry a generation."""

    text: str
    role: Role = "sample"
    many: bool = False
    score: str | None = None
    prompt_tokens: str | None = None
    completion_tokens: str | None = None
    finish_reason: str | None = None
    claimed_answer: str | None = None
    claimed_correct: str | None = None


class RecordPaths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the runner's own results about the record stand."""

    claimed_answer: str | None = None
    claimed_correct: str | None = None
    claimed_completion_tokens: str | None = None
    claimed_prompt_tokens: str | None = None


class CellFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One cell: what the manifest declares of it, and where its records stand in a row."""

    model: Name
    method: Name
    decision_rule: DecisionRule
    generations: Annotated[list[GenerationPaths], Meta(min_length=1)]
    record: RecordPaths = RecordPaths()
    source: Annotated[str, Meta(description="Only source files whose name matches this pattern (* and ?).")] = "*"
    tie_rule: TieRule = "first"
    unparsed_policy: UnparsedPolicy = "abstain"
    selection: Selection | None = None
    token_cap: Count | None = None
    pool: bool = False
    when_absent: Annotated[
        Literal["refuse", "failed"],
        Meta(description="A row without a text: refuse to import, or write a record that failed and says so."),
    ] = "refuse"


class Mapping(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping file."""

    release: ReleaseFields
    dataset: DatasetFields
    questions: QuestionPaths
    match: Match
    cells: Annotated[list[CellFields], Meta(min_length=1)]
    skip: Skip = Skip()


def read_mapping(path: Path) -> Mapping:
    """A mapping file. Raises UsageError with the first thing that is wrong in it."""
    return read_toml(path, Mapping)
