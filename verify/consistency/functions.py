"""The functions of the expression grammar. `t` is a table, `c` a condition on its rows, `x` an expression.

count(t [, c])           rows that hold            at(t, x, c)         x of the one row where c holds
sum, avg, min, max(t, x [, c])                     distinct(t, x [, c])  different labels
groups(t, label, c [, c2])  labels of which every row (of those where c2 holds) satisfies c
increasing, decreasing(t, x [, c])  rows in order, ties allowed
abs(x)                   sign_test(k, n [, sides])  mcnemar(b, c)       best_p(k): least exact p of k differences
holm(t, p, label, …, alpha) rows significant under Holm over all, p being Holm-adjusted where labels agree
holm_raw(t, p, alpha)    the same from uncorrected p-values
record(x, …)             wins/ties/losses by the signs of x; wins, ties, losses of one
said('id' [, part])      what another statement prints
"""

from fractions import Fraction

from verify.consistency import values as iv
from verify.consistency.arguments import arity, label, optional, whole_range
from verify.consistency.evaluate import (
    CannotDecideError,
    Context,
    ExpressionError,
    Function,
    Member,
    Row,
    Value,
    condition,
    evaluate,
    members,
    number,
)
from verify.consistency.grammar import Call, Node, Text, unparse
from verify.consistency.procedures import PROCEDURES
from verify.consistency.values import Interval, exactly

MAX_RECORD = 60


def _rows(found: list[Member], *, sure: bool) -> str:
    numbers = [str(member.number) for member in found if member.sure == sure]
    return ", ".join(numbers[:60]) + (f" and {len(numbers) - 60} more" if len(numbers) > 60 else "")


def _count(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    arity(call, 1, 2)
    found = members(call.arguments[0], optional(call, 1), context, row)
    sure = sum(member.sure for member in found)
    if found and not context.quiet:
        maybe = f"; open: {_rows(found, sure=False)}" if sure < len(found) else ""
        context.note(f"{unparse(call)}: rows {_rows(found, sure=True) or 'none'}{maybe}")
    return Interval(Fraction(sure), Fraction(len(found)))


def _values(call: Call, context: Context, row: Row | None) -> list[tuple[Member, Interval]]:
    found = members(call.arguments[0], optional(call, 2), context, row)
    result = []
    context.quiet += 1
    try:
        for member in found:
            try:
                result.append((member, number(call.arguments[1], context, member.row, row)))
            except CannotDecideError:
                context.budget.spend()
    finally:
        context.quiet -= 1
    return result


def _sum(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    arity(call, 2, 3)
    total = exactly(0)
    for member, value in _values(call, context, row):
        total = iv.add(total, value if member.sure else iv.hull(value, exactly(0)))
    return total


def _average(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    arity(call, 2, 3)
    found = _values(call, context, row)
    if not found:
        raise CannotDecideError(f"{unparse(call)} is over no rows")
    if all(member.sure for member, _ in found):
        total = exactly(0)
        for _, value in found:
            total = iv.add(total, value)
        return iv.multiply(total, exactly(Fraction(1, len(found))))
    every = [value for _, value in found]
    return Interval(iv.least(every).low, iv.greatest(every).high)


def _least(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    arity(call, 2, 3)
    found = _values(call, context, row)
    if not found:
        raise CannotDecideError(f"{unparse(call)} is over no rows")
    sure = [value for member, value in found if member.sure]
    low = iv.least([value for _, value in found]).low
    result = Interval(low, iv.least(sure).high if sure else iv.greatest([value for _, value in found]).high)
    _point_out(call, context, [member for member, value in found if value.meets(result)])
    return result


def _greatest(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    arity(call, 2, 3)
    found = _values(call, context, row)
    if not found:
        raise CannotDecideError(f"{unparse(call)} is over no rows")
    sure = [value for member, value in found if member.sure]
    high = iv.greatest([value for _, value in found]).high
    result = Interval(iv.greatest(sure).low if sure else iv.least([value for _, value in found]).low, high)
    _point_out(call, context, [member for member, value in found if value.meets(result)])
    return result


def _point_out(call: Call, context: Context, where: list[Member]) -> None:
    if not context.quiet:
        numbers = ", ".join(str(member.number) for member in where[:10])
        context.note(f"{unparse(call)}: reached in row {numbers}")


def _at(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    arity(call, 3, 3)
    found = members(call.arguments[0], call.arguments[2], context, row, scoped=False)
    if len(found) != 1 or not found[0].sure:
        raise CannotDecideError(f"{unparse(call)} finds {len(found)} rows, and must find one")
    return evaluate(call.arguments[1], context, found[0].row, row)


def _labels(call: Call, node: Node, context: Context, found: list[Member], row: Row | None) -> dict[str, list[Member]]:
    groups: dict[str, list[Member]] = {}
    for member in found:
        groups.setdefault(label(call, node, context, member, row), []).append(member)
    return groups


def _distinct(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    arity(call, 2, 3)
    found = members(call.arguments[0], optional(call, 2), context, row)
    context.quiet += 1
    try:
        groups = _labels(call, call.arguments[1], context, found, row)
    finally:
        context.quiet -= 1
    sure = sum(any(member.sure for member in group) for group in groups.values())
    if not context.quiet:
        context.note(f"{unparse(call)}: {', '.join(list(groups)[:20])}")
    return Interval(Fraction(sure), Fraction(len(groups)))


def _groups(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    arity(call, 3, 4)
    found = members(call.arguments[0], optional(call, 3), context, row)
    low = high = 0
    context.quiet += 1
    try:
        for group in _labels(call, call.arguments[1], context, found, row).values():
            held = [(member, condition(call.arguments[2], context, member.row, row)) for member in group]
            certain = [value for member, value in held if member.sure]
            low += all(value is True for _, value in held) and bool(certain)
            high += all(value is not False for value in certain)
    finally:
        context.quiet -= 1
    return Interval(Fraction(low), Fraction(high))


def _monotone(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    arity(call, 2, 3)
    found = [(member, value) for member, value in _values(call, context, row) if member.sure]
    if call.name == "decreasing":
        found = [(member, iv.negate(value)) for member, value in found]
    # Possible just where each value can be at least the greatest lower end before it.
    reached: Fraction | None = None
    certain = True
    for index, (member, value) in enumerate(found):
        if reached is not None and value.high is not None and value.high < reached:
            if not context.quiet:
                context.note(f"{unparse(call)}: row {member.number} goes the other way")
            return False
        if index:
            before = found[index - 1][1].high
            certain = certain and before is not None and value.low is not None and before <= value.low
        if value.low is not None:
            reached = value.low if reached is None else max(reached, value.low)
    return True if certain else None


def _absolute(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    arity(call, 1, 1)
    return iv.absolute(number(call.arguments[0], context, row, outer))


def _record(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    arity(call, 1, MAX_RECORD)
    reached: set[tuple[int, int, int]] = {(0, 0, 0)}
    for node in call.arguments:
        value = number(node, context, row, outer)
        outcomes = []
        if value.high is None or value.high > 0:
            outcomes.append((1, 0, 0))
        if value.meets(exactly(0)):
            outcomes.append((0, 1, 0))
        if value.low is None or value.low < 0:
            outcomes.append((0, 0, 1))
        reached = {(x + a, y + b, z + c) for x, y, z in reached for a, b, c in outcomes}
    return frozenset(reached)


def _part_of_record(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    arity(call, 1, 1)
    value = evaluate(call.arguments[0], context, row, outer)
    if not isinstance(value, frozenset):
        raise ExpressionError(f"takes {call.name} of {unparse(call.arguments[0])!r}, which is no wins/ties/losses")
    index = ("wins", "ties", "losses").index(call.name)
    parts = [record[index] for record in value]
    return Interval(Fraction(min(parts)), Fraction(max(parts)))


def _said(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    arity(call, 1, 2)
    name = call.arguments[0]
    if not isinstance(name, Text) or name.value not in context.said:
        raise ExpressionError(f"refers to {unparse(name)}, and no statement has that id; write said('its-id')")
    cells = context.said[name.value]
    part = 1
    if (second := optional(call, 1)) is not None:
        part = whole_range(call, second, context, row, outer)[0]
    if not 1 <= part <= len(cells):
        raise ExpressionError(f"asks for number {part} of {unparse(name)}, which prints {len(cells)}")
    cell = cells[part - 1]
    context.statements.add(name.value)
    context.cells[cell.id] = cell
    if cell.record is not None:
        return frozenset([cell.record])
    value = cell.at(context.level)
    if value is None:
        raise CannotDecideError(f"{cell.place} prints nothing")
    context.note(f"{unparse(call)} is printed {cell.text}: {value}")
    return value


FUNCTIONS: dict[str, Function] = {
    **PROCEDURES,
    "abs": _absolute,
    "at": _at,
    "avg": _average,
    "count": _count,
    "decreasing": _monotone,
    "distinct": _distinct,
    "groups": _groups,
    "increasing": _monotone,
    "losses": _part_of_record,
    "max": _greatest,
    "min": _least,
    "record": _record,
    "said": _said,
    "sum": _sum,
    "ties": _part_of_record,
    "wins": _part_of_record,
}
