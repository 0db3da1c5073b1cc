"""The functions of the grammar that are statistical procedures; see `functions` for what each takes."""

from fractions import Fraction

from verify.consistency import exact
from verify.consistency.arguments import arity, label, optional, whole_range
from verify.consistency.evaluate import (
    CannotDecideError,
    Context,
    ExpressionError,
    Function,
    Member,
    Row,
    Value,
    members,
    number,
)
from verify.consistency.grammar import Call, Node, unparse
from verify.consistency.values import Interval


def _sign_test(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    arity(call, 2, 3)
    sides = 2
    if (third := optional(call, 2)) is not None:
        sides = whole_range(call, third, context, row, outer)[0]
        if sides not in (1, 2):
            raise ExpressionError(f"asks for a sign test on {sides} sides; there are tests on 1 and 2")
    ns = whole_range(call, call.arguments[1], context, row, outer)
    ks = whole_range(call, call.arguments[0], context, row, outer)
    context.budget.spend(_cost(ns, ks))
    found = [exact.sign_test(k, n, sides=sides) for n in ns for k in ks if k <= n <= exact.MAX_N]
    if not found:
        raise CannotDecideError(f"{unparse(call)} has more successes than trials, or more than {exact.MAX_N} trials")
    return Interval(min(found), max(found))


def _mcnemar(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    arity(call, 2, 2)
    bs, cs = (whole_range(call, node, context, row, outer) for node in call.arguments)
    context.budget.spend(_cost(bs, cs))
    found = [exact.mcnemar(b, c) for b in bs for c in cs if b + c <= exact.MAX_N]
    if not found:
        raise CannotDecideError(f"{unparse(call)} is over more than {exact.MAX_N} questions")
    return Interval(min(found), max(found))


def _best_p(call: Call, context: Context, row: Row | None, outer: Row | None) -> Value:
    arity(call, 1, 1)
    ks = whole_range(call, call.arguments[0], context, row, outer)
    context.budget.spend(_cost(ks, ks))
    found = [exact.mcnemar(k, 0) for k in ks if k <= exact.MAX_N]
    if not found:
        raise CannotDecideError(f"{unparse(call)} is over more than {exact.MAX_N} questions")
    return Interval(min(found), max(found))


def _cost(first: range, second: range) -> int:
    """Steps that enumerating a test over two ranges is worth: a quarter of a step a term."""
    return len(first) * len(second) * min(first[-1] + second[-1], exact.MAX_N) // 4


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
    arity(call, 4, 8)
    alpha = _alpha(call, call.arguments[-1], context, row, outer)
    context.quiet += 1
    try:
        adjusted = _p_values(call, context, row)
        groups: dict[tuple[str, ...], list[Member]] = {}
        for member, _, _ in adjusted:
            labels = [label(call, node, context, member, row) for node in call.arguments[2:-1]]
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
    arity(call, 3, 3)
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


PROCEDURES: dict[str, Function] = {
    "best_p": _best_p,
    "holm": _holm,
    "holm_raw": _holm_raw,
    "mcnemar": _mcnemar,
    "sign_test": _sign_test,
}
