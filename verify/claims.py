"""Reading a claims file and binding each printed number to a cell and a statistic."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schemas import layout
from schemas.claims import Claims, Column, KeyPart, Parameter, Rounding, Table, Unit
from schemas.errors import ClaimsError
from schemas.reading import Limits, convert, decode

BLANK = ("", "-", "–", "—", "n/a")


@dataclass(frozen=True)
class BoundClaim:
    """One printed number with everything that checking it needs; nothing has been looked up yet."""

    id: str
    place: str
    """Where it stands in the claims file, for messages."""
    cell: str
    statistic: str
    parameters: dict[str, Parameter]
    unit: Unit | None
    text: str
    source: str | None
    rounding: Rounding
    table: str | None = None
    """Id of the printed table; None for a number of its own. One table's numbers were computed together."""


def find_claims(root: Path) -> Path | None:
    """The claims file that a release brings along, or None.

    Raises ClaimsError where there are two.
    """
    found = [path for name in layout.CLAIMS if (path := layout.inside(root, name)).is_file()]
    if len(found) > 1:
        raise ClaimsError(f"{root} holds {' and '.join(layout.CLAIMS)}; keep one, or name one with --claims.")
    return found[0] if found else None


def read_claims(path: Path, *, limits: Limits) -> Claims:
    """A claims file, TOML by its suffix and JSON otherwise.

    Raises ClaimsError with the place of the first thing that is wrong.
    """
    try:
        if path.stat().st_size > limits.small_file_bytes:
            raise ClaimsError(f"{path} is larger than {limits.small_file_bytes:,} bytes, too large for a claims file.")
        data = path.read_bytes()
    except OSError as error:
        raise ClaimsError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        if path.suffix == ".toml":
            return convert(tomllib.loads(data.decode("utf-8")), Claims)
        return decode(data, Claims)
    except UnicodeDecodeError as error:
        raise ClaimsError(f"{path}: byte {error.start + 1} is not UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ClaimsError(f"{path}: not TOML: {error}.") from None
    except RecursionError:
        raise ClaimsError(f"{path}: nested too deeply.") from None
    except ValueError as error:
        hint = (
            " Write printed numbers as strings: 72.0 and 72 claim different precision."
            if "is not of type 'string'" in str(error)
            else ""
        )
        raise ClaimsError(f"{path}: {error}.{hint}") from None


def bind(claims: Claims, *, name: str) -> list[BoundClaim]:
    """Every printed number of a claims file; `name` is what messages call the file.

    Raises ClaimsError where a table is not one: rows of the wrong length, no key for the cell, repeated ids.
    """
    bound = [claim for table in claims.tables for claim in _bind_table(table, claims, name)]
    for single in claims.claims:
        place = f"{name}, claim {single.id!r}"
        bound.append(
            BoundClaim(
                single.id,
                place,
                single.cell,
                single.statistic,
                dict(single.parameters or {}),
                single.unit,
                single.value,
                single.source or claims.source,
                claims.rounding,
            )
        )
    seen: set[str] = set()
    for claim in bound:
        if claim.id in seen:
            raise ClaimsError(f"{claim.place}: the id {claim.id!r} came before; ids must be unique.")
        seen.add(claim.id)
    return bound


def _bind_table(table: Table, claims: Claims, name: str) -> Iterator[BoundClaim]:
    for number, row in enumerate(table.rows, start=1):
        place = f"{name}, table {table.id!r}, row {number}"
        if len(row) != len(table.columns):
            raise ClaimsError(f"{place} has {len(row)} entries, and the table has {len(table.columns)} columns.")
        keys: dict[KeyPart, str] = dict(table.where or {})
        for column, text in zip(table.columns, row, strict=True):
            if column.key is not None:
                keys[column.key] = (column.values or {}).get(text, text)
        for index, (column, text) in enumerate(zip(table.columns, row, strict=True), start=1):
            if column.statistic is not None and text.strip() not in BLANK:
                yield BoundClaim(
                    f"{table.id}/r{number}c{index}",
                    f"{place}, column {column.name!r}",
                    _cell_id(keys | (column.where or {}), column, place),
                    column.statistic,
                    dict(column.parameters or {}),
                    column.unit,
                    text.strip(),
                    table.source or claims.source,
                    claims.rounding,
                    table.id,
                )


def _cell_id(keys: dict[KeyPart, str], column: Column, place: str) -> str:
    if "cell" in keys:
        return keys["cell"]
    parts: tuple[KeyPart, ...] = ("model", "dataset", "method")
    missing = [part for part in parts if part not in keys]
    if missing:
        raise ClaimsError(
            f"{place}, column {column.name!r}: nothing says which {' and '.join(missing)} this is; "
            "give a key column or `where`."
        )
    return "/".join(keys[part] for part in parts)
