"""What the functions of the grammar ask of their arguments."""

from verify.consistency.evaluate import CannotDecideError, Context, ExpressionError, Member, Row, evaluate, number
from verify.consistency.grammar import Call, Node, unparse

MAX_TESTED = 60
"""Widest range of counts over which a test is enumerated."""


def arity(call: Call, least: int, most: int) -> None:
    """Raises ExpressionError where a call has too few or too many arguments."""
    if not least <= len(call.arguments) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise ExpressionError(f"gives {call.name}() {len(call.arguments)} arguments, and it takes {wanted}")


def optional(call: Call, index: int) -> Node | None:
    """An argument that may be left out."""
    return call.arguments[index] if index < len(call.arguments) else None


def label(call: Call, node: Node, context: Context, member: Member, row: Row | None) -> str:
    """The label of a row. Raises ExpressionError where the expression is no label."""
    label = evaluate(node, context, member.row, row)
    if not isinstance(label, str):
        raise ExpressionError(f"groups by {unparse(node)!r} in {unparse(call)!r}, which is no label column")
    return label


def whole_range(call: Call, node: Node, context: Context, row: Row | None, outer: Row | None) -> range:
    """The whole numbers that an argument may be. Raises CannotDecideError where they are too many to enumerate."""
    value = number(node, context, row, outer)
    if value.low is None or value.high is None:
        raise CannotDecideError(f"{unparse(node)} in {unparse(call)} has no bound")
    low, high = -(-value.low.numerator // value.low.denominator), value.high.numerator // value.high.denominator
    if low > high or high - low > MAX_TESTED or low < 0:
        raise CannotDecideError(f"{unparse(node)} = {value} in {unparse(call)} is no count that can be tested")
    return range(low, high + 1)
