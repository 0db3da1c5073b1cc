"""A plan, the file that `audit generate` runs: models, datasets, sampling values and methods.

Every model runs every method on every dataset unless a method names its own. Paths are relative to the plan.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from schemas.manifest import Name

Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Storage = Literal["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]


class LlamaCpp(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A GGUF file, run in this process by llama.cpp (extra `[llama]`)."""

    file: Annotated[
        str | None, Meta(description="The GGUF file, or `smollm2`; `--model` on the command line wins.")
    ] = None
    context_size: Annotated[Positive, Meta(description="Context in tokens.")] = 4096
    threads: Annotated[Positive, Meta(description="Threads of one process; 1 is fastest, with `--jobs` processes.")] = 1
    batch_size: Annotated[
        int, Meta(ge=16, le=65536, description="Tokens read at once; below 16 the texts depend on it.")
    ] = 512


class OpenAI(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A server that speaks the OpenAI protocol: llama-server, vLLM, Ollama, a paid one (extra `[openai]`)."""

    base_url: Annotated[
        Annotated[str, Meta(pattern="^https?://")] | None,
        Meta(description="Up to and including `/v1`; `--base-url` wins."),
    ] = None
    model: Annotated[str, Meta(min_length=1, description="The name by which the server knows the model.")]
    key_variable: Annotated[
        str | None, Meta(description="Environment variable that holds the key; keys stand in no file.")
    ] = None
    concurrency: Annotated[int, Meta(ge=1, le=256, description="Records that are worked on at once.")] = 4
    timeout: Annotated[float, Meta(gt=0, description="Seconds to wait for one answer.")] = 600.0
    attempts: Annotated[int, Meta(ge=1, le=20, description="Tries of one call before it counts as failed.")] = 5
    standard_only: Annotated[
        bool,
        Meta(description="Send temperature, top_p, seed and max_tokens alone: for servers that refuse the others."),
    ] = False


class Scripted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """No model: written replies, for trying a plan and for tests."""

    replies: Annotated[
        str,
        Meta(description="JSONL of `{when, texts}`: the first line whose `when` occurs in the last message answers."),
    ]


class PlanModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One model, and the one backend that runs it."""

    id: Annotated[Name, Meta(description="First part of the cell ids.")]
    name: Annotated[str | None, Meta(description="The name in print.")] = None
    parameters: Annotated[
        Annotated[float, Meta(gt=0)] | None, Meta(description="Number of parameters, where the file does not say.")
    ] = None
    llama_cpp: LlamaCpp | None = None
    openai: OpenAI | None = None
    scripted: Scripted | None = None


class PlanDataset(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One benchmark, and which of its questions are run."""

    id: Annotated[Name, Meta(description="Second part of the cell ids.")]
    questions: Annotated[str, Meta(description="JSONL of questions as a release holds them: id, gold, text.")]
    policy: Annotated[Literal["gsm8k", "math", "smrl", "ror"], Meta(description="How answers are graded.")]
    source: Annotated[str | None, Meta(description="Where questions and golds come from.")] = None
    sample: Annotated[
        Positive | None, Meta(description="Questions to draw: shuffled by `random.Random(seed)`, the first ones taken.")
    ] = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="Seed of that draw.")] = 1234


class PlanSampling(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Sampling values of every call. The defaults change nothing about the model's own distribution."""

    temperature: Annotated[float, Meta(ge=0, le=10, description="Of the methods that live on diversity.")] = 0.7
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Meta(ge=0, description="0 = every token.")] = 0
    min_p: Annotated[float, Meta(ge=0, le=1)] = 0.0
    repeat_penalty: Annotated[float, Meta(gt=0)] = 1.0


class PlanMethod(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One method with its parameters; a cell for each model and dataset."""

    method: Annotated[Name, Meta(description="`audit plan methods` lists them.")]
    id: Annotated[Name | None, Meta(description="Third part of the cell ids; default: the method's name.")] = None
    parameters: Annotated[
        dict[str, int | bool] | None, Meta(description="Only what differs from the method's defaults.")
    ] = None
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=10)] | None, Meta(description="In place of the method's own.")
    ] = None
    token_cap: Annotated[Positive | None, Meta(description="In place of the plan's.")] = None
    replicates: Annotated[int, Meta(ge=1, le=1000, description="Cells `@0`, `@1`, … where more than 1.")] = 1
    models: Annotated[Annotated[list[Name], Meta(min_length=1)] | None, Meta(description="Only these models.")] = None
    datasets: Annotated[Annotated[list[Name], Meta(min_length=1)] | None, Meta(description="Only these datasets.")] = (
        None
    )


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A plan file, TOML."""

    format_version: Annotated[Literal["1.0"], Meta(description="Version of this format.")]
    title: Annotated[str, Meta(min_length=1, description="What is run, in one line.")]
    models: Annotated[list[PlanModel], Meta(min_length=1)]
    datasets: Annotated[list[PlanDataset], Meta(min_length=1)]
    methods: Annotated[list[PlanMethod], Meta(min_length=1)]
    sampling: PlanSampling = PlanSampling()
    token_cap: Annotated[Positive, Meta(description="Most completion tokens of one call, for every method alike.")] = (
        1024
    )
    prompts: Annotated[str | None, Meta(description="A prompt file of your own (TOML); the rest stays ours.")] = None
    license: Annotated[str | None, Meta(description="SPDX identifier of the release's licence.")] = None
    source: Annotated[str | None, Meta(description="Paper, repository and commit.")] = None
    known_limits: Annotated[list[str] | None, Meta(description="What you know to be missing or odd.")] = None
    storage: Annotated[Storage, Meta(description="How generations are stored.")] = "jsonl.gz"
