"""The tables of a claims file as cells with intervals: as printed, and narrowed to what n questions can give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from schemas.claims import Claims, Column, Kind, QuestionSet, Rounding, Table, Unit
from schemas.errors import ClaimsError
from verify.claims import BLANK
from verify.consistency.lattice import counts, differences, totals
from verify.consistency.values import Interval, hull, parse_value, printed_point, step

MAX_CELLS = 20_000
SHARES = ("proportion", "difference")


@dataclass(frozen=True)
class Cell:
    """One printed entry. `printed` is None for labels and blanks."""

    id: str
    place: str
    text: str
    kind: Kind
    printed: Interval | None = None
    stated: Interval | None = None
    """`printed` narrowed by an n that the source states; it also holds the digits as they stand, since derived
    columns may have been computed from rounded numbers."""
    assumed: Interval | None = None
    """The same, with every n that is stated or assumed."""
    loose: Interval | None = None
    """For a difference: what it may be to those who compute from it. Printed from rounded shares, it is up to one
    unit off the exact difference."""
    point: Fraction | None = None
    scale: int = 1
    decimals: int = 0
    set: QuestionSet | None = None
    record: tuple[int, int, int] | None = None
    """Wins, ties and losses."""
    source: str | None = None

    @property
    def blank(self) -> bool:
        """Whether nothing is printed here."""
        return self.kind != "label" and self.printed is None and self.record is None

    def at(self, level: str) -> Interval | None:
        """The interval as `printed`, narrowed by `stated` or `assumed` numbers of questions, or the `point`."""
        if level == "point":
            return self.printed if self.point is None else Interval(self.point, self.point)
        if level == "printed":
            return self.printed if self.loose is None else self.loose
        return {"stated": self.stated, "assumed": self.assumed}[level]


@dataclass(frozen=True)
class Grid:
    """A table. `rows[i][name]` is the cell of a column in row i."""

    id: str
    source: str | None
    columns: Sequence[Column]
    kinds: Mapping[str, Kind]
    rows: Sequence[Mapping[str, Cell]]


def read_grids(claims: Claims, name: str) -> dict[str, Grid]:
    """Every table by its id; `name` is what messages call the file. Raises ClaimsError for the first thing wrong."""
    sets: dict[str, QuestionSet] = {}
    for question_set in claims.sets:
        if question_set.id in sets:
            raise ClaimsError(f"{name}: the question set {question_set.id!r} is declared twice; ids must be unique.")
        sets[question_set.id] = question_set
    if sum(len(table.rows) * len(table.columns) for table in claims.tables) > MAX_CELLS:
        raise ClaimsError(f"{name}: the tables hold more than {MAX_CELLS:,} entries; split the file.")
    grids: dict[str, Grid] = {}
    for table in claims.tables:
        if table.id in grids:
            raise ClaimsError(f"{name}: the table {table.id!r} is declared twice; ids must be unique.")
        grids[table.id] = _grid(table, claims, sets, name)
    return grids


def read_cell(
    text: str,
    *,
    kind: Kind,
    unit: Unit | None,
    rounding: Rounding,
    question_set: QuestionSet | None,
    id_: str,
    place: str,
    source: str | None,
) -> Cell:
    """One printed entry. Raises ClaimsError where it does not read as its kind."""
    text = text.strip()
    if kind == "label":
        return Cell(id_, place, text, kind, source=source)
    if text in BLANK:
        return Cell(id_, place, text, kind, source=source)
    if kind == "wins-ties-losses":
        parts = [part.strip() for part in text.split("/")]
        if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 7 for part in parts):
            raise ClaimsError(f"{place}: {text[:60]!r} is not wins/ties/losses such as 4/1/0.")
        wins, ties, losses = map(int, parts)
        return Cell(id_, place, text, kind, record=(wins, ties, losses), source=source)
    try:
        printed = parse_value(text, rounding)
    except ValueError as error:
        raise ClaimsError(f'{place}: {error}; if the column holds no numbers, give it kind = "label".') from None
    scale = _scale(kind, unit, text, place)
    if kind in ("p", "p-holm"):
        printed = printed.within(Fraction(0), Fraction(1))
    if kind == "count" and (whole := totals(printed, 1)):
        printed = Interval(Fraction(whole[0]), Fraction(whole[-1]))
    point = printed_point(text)
    decimals = len(str(step(text).denominator)) - 1 if point is not None else 0
    by_n = question_set is not None and question_set.n is not None
    loose = printed
    if kind == "difference" and point is not None:
        loose = hull(printed, Interval(point - step(text), point + step(text)))
    narrowed = _narrow(printed, kind, question_set, scale, point, text) if by_n else loose
    return Cell(
        id_,
        place,
        text,
        kind,
        printed,
        narrowed if question_set is not None and question_set.basis == "stated" else loose,
        narrowed,
        point=point,
        scale=scale,
        decimals=decimals,
        set=question_set,
        source=source,
        loose=loose,
    )


def _scale(kind: Kind, unit: Unit | None, text: str, place: str) -> int:
    if unit in ("percent", "points") or (unit is None and text.endswith("%")):
        return 100
    if kind in SHARES and unit is None:
        raise ClaimsError(f'{place}: say whether {text[:60]!r} is a percentage: unit = "percent" or "fraction".')
    return 1


def _narrow(
    printed: Interval, kind: Kind, question_set: QuestionSet | None, scale: int, point: Fraction | None, text: str
) -> Interval:
    if question_set is None or question_set.n is None:
        return printed
    n = question_set.n
    if kind == "proportion":
        possible: range | None = counts(printed, n, scale)
    elif kind == "mean":
        possible, scale = totals(printed, n), 1
    elif kind == "difference":
        possible = differences(printed, point, n, scale, step(text))
    else:
        possible = None
    if not possible:
        return printed
    ends = [Fraction(possible[0] * scale, n), Fraction(possible[-1] * scale, n)]
    if point is not None:
        ends.append(point)
    return Interval(min(ends), max(ends))


def _grid(table: Table, claims: Claims, sets: Mapping[str, QuestionSet], name: str) -> Grid:
    where = f"{name}, table {table.id!r}"
    names = [column.name for column in table.columns]
    if repeated := next((column for column in names if names.count(column) > 1), None):
        raise ClaimsError(f"{where}: two columns are called {repeated!r}; give each its own name.")
    for column in table.columns:
        for other in [column.of, column.set_by, *(column.family or [])]:
            if other is not None and other not in names:
                raise ClaimsError(f"{where}, column {column.name!r}: there is no column {other!r} in this table.")
        if column.set is not None and column.set not in sets:
            raise ClaimsError(f"{where}, column {column.name!r}: there is no question set {column.set!r}; declare it.")
    for number, row in enumerate(table.rows, start=1):
        if len(row) != len(names):
            raise ClaimsError(f"{where}, row {number} has {len(row)} entries, and the table has {len(names)} columns.")
    kinds = {column.name: _kind(column, [row[i] for row in table.rows]) for i, column in enumerate(table.columns)}
    rows: list[dict[str, Cell]] = []
    for number, row in enumerate(table.rows, start=1):
        labels = dict(zip(names, row, strict=True))
        cells = {}
        for index, (column, text) in enumerate(zip(table.columns, row, strict=True), start=1):
            place = f"{where}, row {number}, column {column.name!r}"
            cells[column.name] = read_cell(
                text,
                kind=kinds[column.name],
                unit=column.unit,
                rounding=claims.rounding,
                question_set=_set_of(column, labels, sets, place),
                id_=f"{table.id}/r{number}c{index}",
                place=place,
                source=table.source or claims.source,
            )
        rows.append(cells)
    return Grid(table.id, table.source, table.columns, kinds, rows)


def _kind(column: Column, texts: Sequence[str]) -> Kind:
    if column.kind is not None:
        return column.kind
    if column.key is not None:
        return "label"
    if column.statistic is not None or column.formula is not None:
        return "number"
    filled = [text.strip() for text in texts if text.strip() not in BLANK]
    return "number" if filled and all(printed_point(text) is not None for text in filled) else "label"


def _set_of(
    column: Column, labels: Mapping[str, str], sets: Mapping[str, QuestionSet], place: str
) -> QuestionSet | None:
    if column.set is not None:
        return sets[column.set]
    if column.set_by is None:
        return None
    label = labels[column.set_by].strip()
    if label not in sets:
        raise ClaimsError(f"{place}: column {column.set_by!r} says {label[:60]!r}, and no question set has that id.")
    return sets[label]
