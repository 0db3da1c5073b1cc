"""Evaluating an expression over tables of intervals: every result contains each value that the prints allow.

Conditions have three values: true, false, and None where the prints allow both. A count is then the interval from
the rows that surely hold to the rows that may.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from verify.consistency import values as iv
from verify.consistency.grammar import Call, Name, Node, Number, Text, columns, unparse
from verify.consistency.grid import Cell, Grid
from verify.consistency.values import Interval, exactly

Level = Literal["printed", "stated", "assumed", "point"]
LEVELS: tuple[Level, ...] = ("printed", "stated", "assumed")
NARROWEST: Level = "assumed"
"""How far intervals are narrowed; see `grid.Cell`. A failure at the first level needs no n at all. (`point` takes
the digits as they stand, which is what naive arithmetic does.)"""

Records = frozenset[tuple[int, int, int]]
"""Every (wins, ties, losses) that the prints allow."""
Value = Interval | str | bool | Records | None

MAX_STEPS = 600_000
"""Nodes evaluated for one file; a file that needs more is told so."""
LISTED = 40


class ExpressionError(ValueError):
    """An expression that means nothing here: an unknown name, a label where a number belongs."""


class CannotDecideError(Exception):
    """An expression without a value: an empty cell, a row that is not there, a division by zero."""


@dataclass
class Budget:
    """What is left of MAX_STEPS."""

    left: int = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        """So many steps. Raises CannotDecideError where none is left."""
        self.left -= steps
        if self.left < 0:
            raise CannotDecideError(f"the file needs more than {MAX_STEPS:,} steps of evaluation; split it")


@dataclass(frozen=True)
class Restriction:
    """A condition that rows must meet, for every table that has its columns."""

    condition: Node
    names: frozenset[str]


def restriction(condition: Node) -> Restriction:
    """The restriction that a condition is."""
    return Restriction(condition, frozenset(columns(condition)))


@dataclass
class Context:
    """What an expression can see, and what it looked at."""

    functions: "Mapping[str, Function]"
    grids: Mapping[str, Grid]
    said: Mapping[str, Sequence[Cell]]
    level: Level
    budget: Budget
    scope: Sequence[Restriction] = ()
    trace: list[str] = field(default_factory=list)
    cells: dict[str, Cell] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)
    statements: set[str] = field(default_factory=set)
    quiet: int = 0
    """Above zero inside aggregates, whose rows are not traced one by one."""

    def note(self, line: str) -> None:
        """One step of the derivation."""
        if not self.quiet and len(self.trace) < LISTED and line not in self.trace:
            self.trace.append(line)


Row = Mapping[str, Cell]
Function = Callable[[Call, Context, "Row | None", "Row | None"], Value]


def evaluate(node: Node, context: Context, row: Row | None = None, outer: Row | None = None) -> Value:
    """The value of `node` for `row`. Raises ExpressionError or CannotDecideError."""
    context.budget.spend()
    match node:
        case Number(value):
            return Interval(value, value)
        case Text(text):
            return text
        case Name():
            return _name(node, context, row, outer)
    if node.name in _OPERATORS:
        result = _operate(node, context, row, outer)
    else:
        function = context.functions.get(node.name)
        if function is None:
            raise ExpressionError(f"calls {node.name!r}; the functions are {', '.join(sorted(context.functions))}")
        result = function(node, context, row, outer)
    if isinstance(result, Interval) and not context.quiet:
        context.note(f"{unparse(node)} = {result}")
    return result


def number(node: Node, context: Context, row: Row | None, outer: Row | None) -> Interval:
    """The value of `node`, which must be a number."""
    value = evaluate(node, context, row, outer)
    if isinstance(value, str):
        point = iv.printed_point(value)
        if point is None:
            raise ExpressionError(f"takes {value[:60]!r} for a number")
        return exactly(point)
    if not isinstance(value, Interval):
        raise ExpressionError(f"uses {unparse(node)!r} where a number should be")
    return value


def condition(node: Node, context: Context, row: Row | None, outer: Row | None) -> bool | None:
    """The value of `node`, which must be a condition."""
    value = evaluate(node, context, row, outer)
    if value is not None and not isinstance(value, bool):
        raise ExpressionError(f"uses {unparse(node)!r} where a condition should be")
    return value


def _name(node: Name, context: Context, row: Row | None, outer: Row | None) -> Value:
    where = outer if node.outer else row
    if where is None:
        what = "outside an aggregate" if node.outer else "outside a table"
        raise ExpressionError(f"names the column {node.value!r} {what}, where there is no row to take it from")
    cell = where.get(node.value)
    if cell is None:
        raise ExpressionError(f"names a column {node.value!r}; there are {', '.join(map(repr, where))}")
    if not context.quiet:
        context.cells[cell.id] = cell
    if cell.kind == "label":
        return cell.text
    if cell.record is not None:
        return frozenset([cell.record])
    value = cell.at(context.level)
    if value is None:
        raise CannotDecideError(f"{cell.place} prints nothing")
    if not context.quiet:
        context.note(f"{unparse(node)} is printed {cell.text}: {value}")
    return value


_OPERATORS = ("+", "-", "*", "/", "neg", "and", "or", "not", "=", "!=", "<", "<=", ">", ">=")


def _operate(node: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    if node.name in ("and", "or"):
        decides = node.name == "or"
        left = condition(node.arguments[0], context, row, outer)
        if left is decides:
            return decides
        right = condition(node.arguments[1], context, row, outer)
        if right is decides:
            return decides
        return None if None in (left, right) else not decides
    if node.name == "not":
        inner = condition(node.arguments[0], context, row, outer)
        return None if inner is None else not inner
    if node.name == "neg":
        return iv.negate(number(node.arguments[0], context, row, outer))
    if node.name in ("+", "-", "*", "/"):
        left_value = number(node.arguments[0], context, row, outer)
        right_value = number(node.arguments[1], context, row, outer)
        match node.name:
            case "+":
                return iv.add(left_value, right_value)
            case "-":
                return iv.subtract(left_value, right_value)
            case "*":
                return iv.multiply(left_value, right_value)
        quotient = iv.divide(left_value, right_value)
        if quotient is None:
            raise CannotDecideError(f"{unparse(node)} divides by zero")
        return quotient
    return _compare(node, context, row, outer)


def _compare(node: Call, context: Context, row: Row | None, outer: Row | None) -> bool | None:
    left, right = (evaluate(part, context, row, outer) for part in node.arguments)
    if isinstance(left, str) and isinstance(right, str):
        if node.name not in ("=", "!="):
            raise ExpressionError(f"orders labels in {unparse(node)!r}; labels are only equal or not")
        return (left == right) == (node.name == "=")
    a, b = (_as_number(value, node) for value in (left, right))
    match node.name:
        case "=" | "!=":
            same = None if a.meets(b) else False
            if same is None and a.low is not None and a.low == a.high and a == b:
                same = True
            return same if node.name == "=" or same is None else not same
        case "<":
            return _less(a, b, strict=True)
        case "<=":
            return _less(a, b, strict=False)
        case ">":
            return _less(b, a, strict=True)
    return _less(b, a, strict=False)


def _as_number(value: Value, node: Node) -> Interval:
    if isinstance(value, str) and (point := iv.printed_point(value)) is not None:
        return exactly(point)
    if not isinstance(value, Interval):
        raise ExpressionError(f"compares what are no numbers in {unparse(node)!r}")
    return value


def _less(a: Interval, b: Interval, *, strict: bool) -> bool | None:
    if a.high is not None and b.low is not None and (a.high < b.low or (a.high == b.low and not strict)):
        return True
    if a.low is not None and b.high is not None and (a.low > b.high or (a.low == b.high and strict)):
        return False
    return None


@dataclass(frozen=True)
class Member:
    """A row that an aggregate takes in: surely, or maybe."""

    number: int
    row: Row
    sure: bool


def members(
    table: Node, filter_: Node | None, context: Context, row: Row | None, *, scoped: bool = True
) -> list[Member]:
    """The rows of a table within the scope, and where the filter holds or may hold; `row` becomes the outer row."""
    if not isinstance(table, Name) or table.outer or table.value not in context.grids:
        raise ExpressionError(
            f"names the table {unparse(table)!r}; there are {', '.join(map(repr, context.grids)) or 'none'}"
        )
    grid = context.grids[table.value]
    context.tables.add(grid.id)
    names = {column.name for column in grid.columns}
    conditions = [part.condition for part in context.scope if scoped and part.names <= names]
    found = []
    context.quiet += 1
    try:
        for index, inner in enumerate(grid.rows, start=1):
            try:
                if any(condition(part, context, inner, None) is not True for part in conditions):
                    continue
                holds = True if filter_ is None else condition(filter_, context, inner, row)
            except CannotDecideError:
                # A cell that prints nothing takes no part; a spent budget raises again at the next node.
                context.budget.spend()
                continue
            if holds is not False:
                found.append(Member(index, inner, holds is True))
    finally:
        context.quiet -= 1
    return found
