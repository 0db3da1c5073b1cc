"""The manifest, `release.json`: what should be there, and how records become answers."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from schemas.record import CellId, Count, QuestionId, Role, Seed, Sha256

FORMAT_VERSION: Literal["1.0"] = "1.0"

DecisionRule = Literal["only", "last", "plurality", "selected", "highest-score"]
TieRule = Literal["first", "random", "wrong", "right"]
UnparsedPolicy = Literal["abstain", "class", "singletons"]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=120)]


class Backend(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The software that ran a model."""

    name: Annotated[str, Meta(description="For example `llama.cpp` or `vllm`.")]
    version: Annotated[str | None, Meta(description="Version or commit.")] = None


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One model, and everything that exact regeneration needs to know of it."""

    id: Annotated[Name, Meta(description="First part of every cell id of this model.")]
    name: Annotated[str | None, Meta(description="The name in print.")] = None
    parameters: Annotated[Annotated[float, Meta(gt=0)] | None, Meta(description="Number of parameters, for FLOPs.")] = (
        None
    )
    file_sha256: Annotated[Sha256 | None, Meta(description="SHA-256 of the weights file.")] = None
    quantisation: Annotated[str | None, Meta(description="For example `Q8_0`.")] = None
    chat_template_sha256: Annotated[Sha256 | None, Meta(description="SHA-256 of the chat template.")] = None
    backend: Annotated[Backend | None, Meta(description="What ran the model.")] = None
    context_size: Annotated[Count | None, Meta(description="Context in tokens.")] = None
    threads: Annotated[Count | None, Meta(description="Threads of the backend.")] = None
    batch_size: Annotated[Count | None, Meta(description="Batch size of the backend.")] = None
    extra: Annotated[dict[str, Any] | None, Meta(description="Anything else.")] = None


class Subsample(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the questions were drawn from the benchmark."""

    rule: Annotated[str, Meta(description="In words precise enough to repeat it.")]
    seed: Annotated[Seed | None, Meta(description="Seed of the draw.")] = None
    size: Annotated[Count | None, Meta(description="Questions drawn.")] = None


class Dataset(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One benchmark; its questions lie in `questions/<id>.jsonl`."""

    id: Annotated[Name, Meta(description="Second part of every cell id of this dataset.")]
    policy: Annotated[Name, Meta(description="Grading policy: `gsm8k`, `math` or `ror`.")]
    source: Annotated[str | None, Meta(description="Where the questions and golds come from.")] = None
    gold_sha256: Annotated[Sha256 | None, Meta(description="SHA-256 of the source's own gold file.")] = None
    subsample: Annotated[Subsample | None, Meta(description="How the questions were drawn.")] = None
    runner_grading: Annotated[
        str | None,
        Meta(
            description="Where the runner's own flags follow a rule that is not `policy`: that rule, in words. "
            "Flags that differ from our grade are then listed, not refuted."
        ),
    ] = None


class Sampling(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Sampling parameters shared by the calls of a cell."""

    temperature: Annotated[float, Meta(ge=0)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: int | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    repeat_penalty: float | None = None
    extra: Annotated[dict[str, Any] | None, Meta(description="Any other sampling value.")] = None


class Selection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a `select` call's text names its choice; used by decision rule `selected`."""

    marker: Annotated[
        str, Meta(min_length=1, max_length=40, description="Text before the number of the chosen candidate.")
    ] = "BEST="
    base: Annotated[Literal[0, 1], Meta(description="Number of the first candidate.")] = 1
    fallback: Annotated[
        Literal["unparsed", "first"],
        Meta(description="What a choice that cannot be read counts as: no answer, or the first candidate."),
    ] = "unparsed"
    source: Annotated[
        Literal["text", "claimed"],
        Meta(description="`claimed` where the select texts were not released: the runner's choice is believed."),
    ] = "text"


class CallRange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number of calls that the method may make, ends included."""

    min: Count
    max: Count


class Cell(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One setting and method, with the rule by which its records become answers."""

    id: Annotated[CellId, Meta(description="`<model>/<dataset>/<method>[@replicate]`.")]
    method: Annotated[
        Name | None, Meta(description="The method's name, where the id's last part names a variant of it.")
    ] = None
    decision_rule: Annotated[
        DecisionRule,
        Meta(description="How a record becomes one answer. Declared, never inferred from what a record holds."),
    ]
    tie_rule: Annotated[TieRule, Meta(description="Who wins a tied vote; `first` = the class voted for first.")] = (
        "first"
    )
    unparsed_policy: Annotated[UnparsedPolicy, Meta(description="What votes without a readable answer count as.")] = (
        "abstain"
    )
    selection: Annotated[Selection | None, Meta(description="For decision rule `selected`.")] = None
    pool: Annotated[
        bool,
        Meta(
            description="Whether these are the independent samples that the setting's other methods are compared "
            "with at equal cost. At most one cell of a setting."
        ),
    ] = False
    parameters: Annotated[
        dict[str, str | int | float | bool] | None,
        Meta(description="The method's own parameters, such as N or R."),
    ] = None
    sampling: Annotated[Sampling | None, Meta(description="Sampling parameters.")] = None
    token_cap: Annotated[Count | None, Meta(description="Most completion tokens a call may make.")] = None
    prompts: Annotated[dict[str, Sha256] | None, Meta(description="SHA-256 of each prompt template, by name.")] = None
    calls: Annotated[
        dict[Role, CallRange] | None,
        Meta(description="Calls a record must hold, by role; null = not declared."),
    ] = None
    expected_questions: Annotated[
        list[QuestionId] | None,
        Meta(description="Ids of the questions run; null = every question of the dataset."),
    ] = None


class Family(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Comparisons that one multiplicity correction covers."""

    id: Name
    cells: list[CellId]


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`release.json`."""

    format_version: Annotated[Literal["1.0"], Meta(description="Version of this format.")]
    title: Annotated[str, Meta(min_length=1, description="What was run, in one line.")]
    models: Annotated[list[Model], Meta(min_length=1)]
    datasets: Annotated[list[Dataset], Meta(min_length=1)]
    cells: Annotated[list[Cell], Meta(min_length=1)]
    license: Annotated[str | None, Meta(description="SPDX identifier of the release's licence.")] = None
    source: Annotated[str | None, Meta(description="Paper, repository and commit that this release belongs to.")] = None
    families: Annotated[list[Family] | None, Meta(description="Families for multiplicity correction.")] = None
    known_limits: Annotated[list[str] | None, Meta(description="What the authors know to be missing or odd.")] = None
    extra: Annotated[dict[str, Any] | None, Meta(description="Anything else.")] = None
