"""A claims file: published numbers as printed strings, each bound to a cell and a statistic.

Values are strings because "72.0" and "72" claim different precision, which a TOML or JSON number forgets.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from schemas.record import CellId

Unit = Literal["fraction", "percent", "points", "tokens", "count"]
Rounding = Literal["nearest", "down", "up", "any"]
KeyPart = Literal["cell", "model", "dataset", "method"]
Parameter = str | int | float | bool
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
