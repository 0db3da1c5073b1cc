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

from verify.consistency import exact
from verify.consistency import values as iv
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
from verify.consistency.values import Interval, exactly

MAX_RECORD = 60
MAX_TESTED = 60
"""Widest range of counts over which a test is enumerated."""


def _arity(call: Call, least: int, most: int) -> None:
    if not least <= len(call.arguments) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise ExpressionError(f"gives {call.name}() {len(call.arguments)} arguments, and it takes {wanted}")


def _optional(call: Call, index: int) -> Node | None:
    return call.arguments[index] if index < len(call.arguments) else None


def _rows(found: list[Member], *, sure: bool) -> str:
    numbers = [str(member.number) for member in found if member.sure == sure]
    return ", ".join(numbers[:60]) + (f" and {len(numbers) - 60} more" if len(numbers) > 60 else "")


def _count(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    _arity(call, 1, 2)
    found = members(call.arguments[0], _optional(call, 1), context, row)
    sure = sum(member.sure for member in found)
    if found:
        maybe = f"; open: {_rows(found, sure=False)}" if sure < len(found) else ""
        context.note(f"{unparse(call)}: rows {_rows(found, sure=True) or 'none'}{maybe}")
    return Interval(Fraction(sure), Fraction(len(found)))


def _values(call: Call, context: Context, row: Row | None) -> list[tuple[Member, Interval]]:
    found = members(call.arguments[0], _optional(call, 2), context, row)
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
    _arity(call, 2, 3)
    total = exactly(0)
    for member, value in _values(call, context, row):
        total = iv.add(total, value if member.sure else iv.hull(value, exactly(0)))
    return total


def _average(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    _arity(call, 2, 3)
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
    _arity(call, 2, 3)
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
    _arity(call, 2, 3)
    found = _values(call, context, row)
    if not found:
        raise CannotDecideError(f"{unparse(call)} is over no rows")
    sure = [value for member, value in found if member.sure]
    high = iv.greatest([value for _, value in found]).high
    result = Interval(iv.greatest(sure).low if sure else iv.least([value for _, value in found]).low, high)
    _point_out(call, context, [member for member, value in found if value.meets(result)])
    return result


def _point_out(call: Call, context: Context, where: list[Member]) -> None:
    numbers = ", ".join(str(member.number) for member in where[:10])
    context.note(f"{unparse(call)}: reached in row {numbers}")


def _at(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    _arity(call, 3, 3)
    found = members(call.arguments[0], call.arguments[2], context, row, scoped=False)
    if len(found) != 1 or not found[0].sure:
        raise CannotDecideError(f"{unparse(call)} finds {len(found)} rows, and must find one")
    return evaluate(call.arguments[1], context, found[0].row, row)


def _labels(call: Call, node: Node, context: Context, found: list[Member], row: Row | None) -> dict[str, list[Member]]:
    groups: dict[str, list[Member]] = {}
    for member in found:
        groups.setdefault(_label(call, node, context, member, row), []).append(member)
    return groups


def _label(call: Call, node: Node, context: Context, member: Member, row: Row | None) -> str:
    label = evaluate(node, context, member.row, row)
    if not isinstance(label, str):
        raise ExpressionError(f"groups by {unparse(node)!r} in {unparse(call)!r}, which is no label column")
    return label


def _distinct(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    _arity(call, 2, 3)
    found = members(call.arguments[0], _optional(call, 2), context, row)
    context.quiet += 1
    try:
        groups = _labels(call, call.arguments[1], context, found, row)
    finally:
        context.quiet -= 1
    sure = sum(any(member.sure for member in group) for group in groups.values())
    context.note(f"{unparse(call)}: {', '.join(list(groups)[:20])}")
    return Interval(Fraction(sure), Fraction(len(groups)))


def _groups(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    del outer
    _arity(call, 3, 4)
    found = members(call.arguments[0], _optional(call, 3), context, row)
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
    _arity(call, 2, 3)
    found = [(member, value) for member, value in _values(call, context, row) if member.sure]
    if call.name == "decreasing":
        found = [(member, iv.negate(value)) for member, value in found]
    # Possible just where each value can be at least the greatest lower end before it.
    reached: Fraction | None = None
    certain = True
    for index, (member, value) in enumerate(found):
        if reached is not None and value.high is not None and value.high < reached:
            context.note(f"{unparse(call)}: row {member.number} goes the other way")
            return False
        if index:
            before = found[index - 1][1].high
            certain = certain and before is not None and value.low is not None and before <= value.low
        if value.low is not None:
            reached = value.low if reached is None else max(reached, value.low)
    return True if certain else None


def _absolute(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    _arity(call, 1, 1)
    return iv.absolute(number(call.arguments[0], context, row, outer))


def _whole_range(call: Call, node: Node, context: Context, row: Row | None, outer: Row | None) -> range:
    value = number(node, context, row, outer)
    if value.low is None or value.high is None:
        raise CannotDecideError(f"{unparse(node)} in {unparse(call)} has no bound")
    low, high = -(-value.low.numerator // value.low.denominator), value.high.numerator // value.high.denominator
    if low > high or high - low > MAX_TESTED or low < 0:
        raise CannotDecideError(f"{unparse(node)} = {value} in {unparse(call)} is no count that can be tested")
    return range(low, high + 1)


def _sign_test(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    _arity(call, 2, 3)
    sides = 2
    if (third := _optional(call, 2)) is not None:
        sides = _whole_range(call, third, context, row, outer)[0]
        if sides not in (1, 2):
            raise ExpressionError(f"asks for a sign test on {sides} sides; there are tests on 1 and 2")
    ns = _whole_range(call, call.arguments[1], context, row, outer)
    ks = _whole_range(call, call.arguments[0], context, row, outer)
    found = [exact.sign_test(k, n, sides=sides) for n in ns for k in ks if k <= n <= exact.MAX_N]
    if not found:
        raise CannotDecideError(f"{unparse(call)} has more successes than trials, or more than {exact.MAX_N} trials")
    return Interval(min(found), max(found))


def _mcnemar(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    _arity(call, 2, 2)
    bs, cs = (_whole_range(call, node, context, row, outer) for node in call.arguments)
    found = [exact.mcnemar(b, c) for b in bs for c in cs if b + c <= exact.MAX_N]
    if not found:
        raise CannotDecideError(f"{unparse(call)} is over more than {exact.MAX_N} questions")
    return Interval(min(found), max(found))


def _best_p(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    _arity(call, 1, 1)
    ks = _whole_range(call, call.arguments[0], context, row, outer)
    found = [exact.mcnemar(k, 0) for k in ks if k <= exact.MAX_N]
    if not found:
        raise CannotDecideError(f"{unparse(call)} is over more than {exact.MAX_N} questions")
    return Interval(min(found), max(found))


def _alpha(call: Call, node: Node, context: Context, row: Row | None, outer: Row | None) -> Fraction:
    alpha = number(node, context, row, outer)
    if alpha.low is None or alpha.low != alpha.high or not 0 < alpha.low < 1:
        raise ExpressionError(f"gives {call.name}() a level that is no number between 0 and 1")
    return alpha.low


def _p_values(call: Call, context: Context, row: Row | None) -> list[tuple[Member, Fraction, Fraction]]:
    found = members(call.arguments[0], None, context, row)
    result: list[tuple[Member, Fraction, Fraction]] = []
    for member in found:
        value = number(call.arguments[1], context, member.row, row)
        bounded = value.within(Fraction(0), Fraction(1))
        if bounded.low is None or bounded.high is None or len(result) > exact.MAX_N:
            raise CannotDecideError(f"{unparse(call)} has p-values without a bound, or too many of them")
        result.append((member, bounded.low, bounded.high))
    return result


def _holm(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    _arity(call, 4, 8)
    alpha = _alpha(call, call.arguments[-1], context, row, outer)
    context.quiet += 1
    try:
        adjusted = _p_values(call, context, row)
        groups: dict[tuple[str, ...], list[Member]] = {}
        for member, _, _ in adjusted:
            labels = [_label(call, node, context, member, row) for node in call.arguments[2:-1]]
            groups.setdefault(tuple(labels), []).append(member)
    finally:
        context.quiet -= 1
    by_row = {member.number: (low, high) for member, low, high in adjusted}
    raw: list[tuple[Fraction, Fraction]] = []
    for group in groups.values():
        lows = [by_row[member.number][0] for member in group]
        highs = [by_row[member.number][1] for member in group]
        middles = [(low + high) / 2 for low, high in zip(lows, highs, strict=True)]
        raw += exact.invert_holm(lows, highs, middles)
    context.note(f"{unparse(call)}: {len(raw)} p-values, uncorrected by inverting Holm within each of {len(groups)}")
    for low, high in sorted(raw)[:6]:
        context.note(f"uncorrected p in {Interval(low, high)}")
    return Interval(
        Fraction(exact.holm_rejections([high for _, high in raw], alpha)),
        Fraction(exact.holm_rejections([low for low, _ in raw], alpha)),
    )


def _holm_raw(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    _arity(call, 3, 3)
    alpha = _alpha(call, call.arguments[2], context, row, outer)
    context.quiet += 1
    try:
        raw = _p_values(call, context, row)
    finally:
        context.quiet -= 1
    return Interval(
        Fraction(exact.holm_rejections([high for _, _, high in raw], alpha)),
        Fraction(exact.holm_rejections([low for _, low, _ in raw], alpha)),
    )


def _record(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    _arity(call, 1, MAX_RECORD)
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
    _arity(call, 1, 1)
    value = evaluate(call.arguments[0], context, row, outer)
    if not isinstance(value, frozenset):
        raise ExpressionError(f"takes {call.name} of {unparse(call.arguments[0])!r}, which is no wins/ties/losses")
    index = ("wins", "ties", "losses").index(call.name)
    parts = [record[index] for record in value]
    return Interval(Fraction(min(parts)), Fraction(max(parts)))


def _said(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    _arity(call, 1, 2)
    name = call.arguments[0]
    if not isinstance(name, Text) or name.value not in context.said:
        raise ExpressionError(f"refers to {unparse(name)}, and no statement has that id; write said('its-id')")
    cells = context.said[name.value]
    part = 1
    if (second := _optional(call, 1)) is not None:
        part = _whole_range(call, second, context, row, outer)[0]
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
    "abs": _absolute,
    "at": _at,
    "avg": _average,
    "best_p": _best_p,
    "count": _count,
    "decreasing": _monotone,
    "distinct": _distinct,
    "groups": _groups,
    "holm": _holm,
    "holm_raw": _holm_raw,
    "increasing": _monotone,
    "losses": _part_of_record,
    "max": _greatest,
    "mcnemar": _mcnemar,
    "min": _least,
    "record": _record,
    "said": _said,
    "sign_test": _sign_test,
    "sum": _sum,
    "ties": _part_of_record,
    "wins": _part_of_record,
}
