"""A claims file: published numbers as printed strings, each bound to a cell and a statistic.

Values are strings because "72.0" and "72" claim different precision, which a TOML or JSON number forgets.

One format serves two commands. `audit verify` recomputes what is bound to a release (columns with a `statistic`,
`claims`); `audit claims` needs no release and reasons about what the numbers say of each other (`sets`, `scopes`,
`statements`, `paired`, and the columns' `kind`, `set` and `formula`). Each ignores what only the other needs.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from schemas.record import CellId

Unit = Literal["fraction", "percent", "points", "tokens", "count"]
Rounding = Literal["nearest", "down", "up", "any"]
KeyPart = Literal["cell", "model", "dataset", "method"]
Parameter = str | int | float | bool
Kind = Literal[
    "label",
    "proportion",
    "difference",
    "mean",
    "mean-of-draws",
    "count",
    "interval-low",
    "interval-high",
    "p",
    "p-holm",
    "wins-ties-losses",
    "number",
]
Basis = Literal["stated", "assumed"]
Expression = Annotated[str, Meta(min_length=1, max_length=2000)]
ClaimId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+/-]*$", max_length=200)]


class Column(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One column of a printed table: a key (part of the cell id), a statistic, or neither (not checked)."""

    name: Annotated[str, Meta(min_length=1, description="The printed heading.")]
    key: Annotated[
        KeyPart | None,
        Meta(description="Which part of the cell id this column names."),
    ] = None
    values: Annotated[
        dict[str, str] | None,
        Meta(description="Printed label → id in the release; other labels name themselves."),
    ] = None
    statistic: Annotated[str | None, Meta(description="Name of the statistic that the column prints.")] = None
    parameters: Annotated[dict[str, Parameter] | None, Meta(description="Parameters of the statistic.")] = None
    unit: Annotated[Unit | None, Meta(description="Unit in print; default: fraction for rates, else as counted.")] = (
        None
    )
    where: Annotated[
        dict[KeyPart, str] | None,
        Meta(description="Parts of the cell id that this column itself fixes (one column a benchmark)."),
    ] = None
    kind: Annotated[
        Kind | None,
        Meta(
            description="What the column prints, for `audit claims`: a share of questions, a difference of two such "
            "shares, a mean of whole numbers over questions, a mean of draws or an interpolated value (never a whole "
            "number over n), a count, an end of an interval, a p-value, and so on."
        ),
    ] = None
    set: Annotated[str | None, Meta(description="Id of the question set that a share or a mean is over.")] = None
    set_by: Annotated[
        str | None, Meta(description="Name of the column whose label is the id of the question set, row by row.")
    ] = None
    of: Annotated[
        str | None,
        Meta(description="For an end of an interval, or a p-value: the column that it belongs to."),
    ] = None
    family: Annotated[
        list[str] | None,
        Meta(description="For p-holm: rows that agree in these columns were corrected together; default: all rows."),
    ] = None
    formula: Annotated[
        Expression | None,
        Meta(description="How this column follows from other cells, in the units that are printed: `acc - sc_acc`."),
    ] = None


class Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A printed table; an empty string, "-" or "–" is a cell that prints nothing."""

    id: ClaimId
    columns: Annotated[list[Column], Meta(min_length=1)]
    rows: list[list[str]]
    source: Annotated[str | None, Meta(description="Where it is printed.")] = None
    where: Annotated[
        dict[KeyPart, str] | None,
        Meta(description="Parts of the cell id that the whole table fixes."),
    ] = None


class Claim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One printed number."""

    id: ClaimId
    cell: CellId
    statistic: str
    value: Annotated[str, Meta(min_length=1, description="As printed.")]
    parameters: dict[str, Parameter] | None = None
    unit: Unit | None = None
    source: Annotated[str | None, Meta(description="Where it is printed.")] = None


class QuestionSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The questions that shares are over: how many, and how that is known."""

    id: ClaimId
    n: Annotated[
        Annotated[int, Meta(ge=1, le=10_000_000)] | None, Meta(description="How many questions there are.")
    ] = None
    at_most: Annotated[
        Annotated[int, Meta(ge=1, le=20_000)] | None,
        Meta(description="Where n is not known: no more than this; the cells then narrow it down."),
    ] = None
    basis: Annotated[
        Basis, Meta(description="Whether the source states n (or at_most), or whoever transcribed it assumes so.")
    ] = "stated"
    source: Annotated[str | None, Meta(description="Where it is stated, or why it is assumed.")] = None


class Scope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A named choice of rows: those of every table with the columns that `where` names."""

    id: ClaimId
    where: Annotated[Expression, Meta(description="A condition on a row: `Model != '7B'`.")]
    label: Annotated[str | None, Meta(description="In words: the settings without 7B.")] = None


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One printed number of a sentence."""

    says: Annotated[str, Meta(min_length=1, max_length=200, description="As printed.")]
    value: Annotated[Expression | None, Meta(description="What it must equal; none: a fact for others to use.")] = None
    kind: Kind | None = None
    set: str | None = None
    unit: Unit | None = None


class Statement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A sentence that claims something: printed numbers (`says`, `parts`), conditions (`holds`), or both."""

    id: ClaimId
    source: Annotated[str | None, Meta(description="Where it is printed.")] = None
    says: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(description="The number, where there is one only."),
    ] = None
    value: Annotated[Expression | None, Meta(description="What `says` must equal.")] = None
    kind: Kind | None = None
    set: str | None = None
    unit: Unit | None = None
    parts: Annotated[list[Part], Meta(description="Several numbers that must hold together: 30 of 36.")] = []
    holds: Annotated[list[Expression], Meta(description="Conditions that must be possible.")] = []
    rows: Annotated[str | None, Meta(description="Id of the scope that the sentence is about; default: all.")] = None
    reading: Annotated[
        str | None,
        Meta(description="Where the sentence can be read in more than one way: how it was read here."),
    ] = None


class Paired(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Two methods on the same questions: what is printed about their 2×2 table, which is rebuilt in whole numbers.

    b: only the first is right; c: only the second is.
    """

    id: ClaimId
    set: str
    unit: Annotated[Literal["percent", "points", "fraction"], Meta(description="Of accuracies, gap, interval.")]
    first: Annotated[str | None, Meta(description="Accuracy of the first method.")] = None
    second: Annotated[str | None, Meta(description="Accuracy of the second method.")] = None
    gap: Annotated[str | None, Meta(description="First minus second.")] = None
    disagreements: Annotated[str | None, Meta(description="Questions where their answers differ; b + c at most.")] = (
        None
    )
    override: Annotated[
        str | None, Meta(description="100·b/(b+c) as printed: of questions with exactly one right, the first's share.")
    ] = None
    low: Annotated[str | None, Meta(description="Lower end of a 95% interval of the gap.")] = None
    high: Annotated[str | None, Meta(description="Upper end.")] = None
    p: Annotated[str | None, Meta(description="Two-sided p-value of the gap, not corrected.")] = None
    resamples: Annotated[int, Meta(ge=100, le=10_000_000, description="Of the bootstrap that gave interval and p.")] = (
        10_000
    )
    source: str | None = None


class Claims(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A claims file."""

    format_version: Literal["1.0"]
    source: Annotated[str | None, Meta(description="The paper or page that prints these numbers.")] = None
    rounding: Annotated[
        Rounding,
        Meta(description="How the source rounds: to nearest (ties either way), down, up, or unknown."),
    ] = "nearest"
    runner_grading: Annotated[
        str | None,
        Meta(description="Where the source grades by a rule that is not the release's policy: that rule, in words."),
    ] = None
    tables: list[Table] = []
    claims: list[Claim] = []
    sets: list[QuestionSet] = []
    scopes: list[Scope] = []
    statements: list[Statement] = []
    paired: list[Paired] = []
