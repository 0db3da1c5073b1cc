"""The report of `audit claims`: what published numbers say of each other, for programs and for people."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Standing = Literal["impossible", "contradiction", "conditional", "undecided", "consistent"]
"""Worst first. `impossible`: no data can print so. `contradiction`: two places cannot both be right.
`conditional`: it fails only on the condition that is named. `undecided`: it could not be checked."""


class Place(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A printed number and where it stands in the claims file."""

    id: Annotated[str, Meta(description="`table/r3c6` or the id of a statement.")]
    text: Annotated[str, Meta(description="As printed.")]
    source: str | None = None


class Rescue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A choice of rows under which a contradicted sentence would be right; consistent with it, never proof of it."""

    scope: str
    label: str
    kind: Annotated[
        Literal["within", "instead"],
        Meta(description="The sentence's own rows within this scope, or the rows of this scope instead of its own."),
    ]
    values: Annotated[list[str], Meta(description="What each printed number would then have to be.")]


class Consistency(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check of one printed number, sentence or set of questions."""

    id: Annotated[str, Meta(description="`<check>:<subject>`, unique in the report.")]
    check: str
    subject: str
    standing: Standing
    message: str
    condition: Annotated[str | None, Meta(description="What a conditional failure depends on.")] = None
    places: Annotated[list[Place], Meta(description="The printed numbers that meet here.")] = []
    rescues: list[Rescue] = []
    tried: Annotated[int, Meta(description="How many choices of rows were tried as a rescue.")] = 0
    power: Annotated[
        float | None,
        Meta(description="Chance that an arbitrary value of this precision would have passed the check."),
    ] = None
    steps: Annotated[list[str], Meta(description="The derivation, a line a step.")] = []
    notes: Annotated[list[str], Meta(description="What else follows.")] = []


class ConsistencyCounts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many checks there are of each standing."""

    impossible: int
    contradiction: int
    conditional: int
    undecided: int
    consistent: int


class ConsistencyReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`audit claims --format json`."""

    format_version: Literal["1.0"]
    tool_version: str
    source: Annotated[str, Meta(description="The paper, or else the name of the file.")]
    verdict: Annotated[
        Literal["refuted", "open", "consistent"],
        Meta(description="refuted: something impossible or contradictory; open: something conditional or undecided."),
    ]
    counts: ConsistencyCounts
    findings: list[Consistency]
