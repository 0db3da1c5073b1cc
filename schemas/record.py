"""Records, generations and questions: what one line of a release may say.

The msgspec types here and `record.schema.json` / `question.schema.json` are one contract; a test pins them to
each other field by field. Unknown fields are refused, so that a misspelt optional field is never silently lost;
`extra` takes whatever an author wants to add.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Role = Literal[
    "sample",
    "critique",
    "revise",
    "judge",
    "reflect",
    "retry",
    "debate",
    "select",
    "continue",
    "correct",
    "step",
]
FinishReason = Literal["stop", "length", "error", "unknown"]
Status = Literal["ok", "failed"]

# Generations of these roles state an answer to the question; the others talk about answers, or are drafts (ADR 0011).
ANSWER_ROLES: frozenset[str] = frozenset({"sample", "revise", "retry", "debate", "correct", "step"})

# A plain integer, at most 2**31 - 1: larger counts are typing errors, and 32 bits hold them in bulk.
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
CELL_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._+-]*/[A-Za-z0-9][A-Za-z0-9._+-]*/[A-Za-z0-9][A-Za-z0-9._+-]*(@[0-9]+)?$"
CellId = Annotated[str, Meta(pattern=CELL_ID_PATTERN, max_length=400)]
QuestionId = Annotated[str, Meta(min_length=1, max_length=400)]


class GenerationClaim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What the author's runner believed about one generation at the time; checked like any other claim."""

    answer: Annotated[str | None, Meta(description="The answer that the runner extracted.")] = None
    correct: Annotated[bool | None, Meta(description="Whether the runner graded it correct.")] = None


class Generation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One model call."""

    role: Annotated[Role, Meta(description="What the call was for.")]
    index: Annotated[Count, Meta(description="Position of the call in its record, from 0; unique in the record.")]
    round: Annotated[Count, Meta(description="Round (debate, refinement depth) that the call belongs to.")] = 0
    agent: Annotated[Count, Meta(description="Agent or rollout that made the call, from 0.")] = 0
    seed: Annotated[Seed | None, Meta(description="Seed of this call.")] = None
    temperature: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="Sampling temperature of this call.")
    ] = None
    prompt_tokens: Annotated[Count | None, Meta(description="Tokens read, as the server counted them.")] = None
    completion_tokens: Annotated[Count | None, Meta(description="Tokens generated, as the server counted them.")] = None
    finish_reason: Annotated[FinishReason, Meta(description="Why generation ended.")] = "unknown"
    error: Annotated[str | None, Meta(description="The error, where the call failed. Such a call has no answer.")] = (
        None
    )
    text: Annotated[str | None, Meta(description="The raw text, byte for byte as the model returned it.")] = None
    text_sha256: Annotated[
        Sha256 | None, Meta(description="SHA-256 of the UTF-8 text, where the text is withheld.")
    ] = None
    score: Annotated[float | None, Meta(description="Score that a reward model gave this text.")] = None
    logprob: Annotated[float | None, Meta(description="Sum of the token log-probabilities, natural log.")] = None
    claimed: Annotated[
        GenerationClaim | None, Meta(description="The runner's own extraction and grade of this text.")
    ] = None


class RecordClaim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What the author's runner believed about one record at the time; checked like any other claim."""

    answer: Annotated[str | None, Meta(description="The final answer.")] = None
    selected: Annotated[Count | None, Meta(description="`index` of the generation that was selected.")] = None
    correct: Annotated[bool | None, Meta(description="Whether the final answer was graded correct.")] = None
    completion_tokens: Annotated[
        Annotated[int, Meta(ge=0, le=2**53)] | None,
        Meta(description="Total tokens generated in this record."),
    ] = None
    prompt_tokens: Annotated[
        Annotated[int, Meta(ge=0, le=2**53)] | None, Meta(description="Total tokens read in this record.")
    ] = None


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All generations of one question in one cell: one line of a generations file."""

    cell: Annotated[CellId, Meta(description="`<model>/<dataset>/<method>[@replicate]`, as in the manifest.")]
    question_id: Annotated[QuestionId, Meta(description="`id` of the question in questions/<dataset>.jsonl.")]
    status: Annotated[Status, Meta(description="`failed` where the question could not be run: say why in `error`.")]
    question_index: Annotated[Count | None, Meta(description="Position of the question in the benchmark, from 0.")] = (
        None
    )
    replicate: Annotated[Count, Meta(description="Which repetition of the whole cell this is, from 0.")] = 0
    seed: Annotated[Seed | None, Meta(description="Base seed of the record.")] = None
    error: Annotated[str | None, Meta(description="Why the record failed.")] = None
    generations: Annotated[list[Generation], Meta(description="Every model call made for this question.")] = []
    claimed: Annotated[RecordClaim | None, Meta(description="What the runner believed at the time.")] = None
    extra: Annotated[dict[str, Any] | None, Meta(description="Anything else; never read by the audit.")] = None


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One dataset item: one line of questions/<dataset>.jsonl."""

    id: Annotated[QuestionId, Meta(description="Unique in its dataset.")]
    gold: Annotated[str | None, Meta(description="The gold answer alone, as text; never the worked solution.")]
    text: Annotated[str | None, Meta(description="The question as the model saw it.")] = None
    index: Annotated[Count | None, Meta(description="Position in the benchmark, from 0.")] = None
    level: Annotated[str | None, Meta(description="Difficulty level, where the benchmark has one.")] = None
    subject: Annotated[str | None, Meta(description="Subject, where the benchmark has one.")] = None
    cluster: Annotated[
        str | None,
        Meta(description="Questions with the same value are not independent (same passage, same seed)."),
    ] = None
    extra: Annotated[dict[str, Any] | None, Meta(description="Anything else; never read by the audit.")] = None
