"""The grammar of expressions in claims files: parsed into a tree, never run as code.

    condition  := conjunct {"or" conjunct}
    conjunct   := negated {"and" negated}
    negated    := "not" negated | comparison
    comparison := sum [("=" | "!=" | "<" | "<=" | ">" | ">=") sum]
    sum        := term {("+" | "-") term}
    term       := factor {("*" | "/") factor}
    factor     := "-" factor | number | 'text' | column | ^column | name "(" [condition {"," condition}] ")"
                | "(" condition ")"
    column     := identifier | "[" any name "]"

`^column` is a column of the row outside an aggregate: `at(table1, acc, Model = ^Model)`.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_LENGTH = 2000
MAX_DEPTH = 40
MAX_TOKENS = 300
"""A tree is never deeper than half of this, which evaluation by recursion can bear."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,30}(?:\.\d{1,30})?)|(?P<name>[A-Za-z_][A-Za-z0-9_]{0,99})|\[(?P<column>[^\[\]]{1,100})\]"
    r"|'(?P<text>[^']{0,200})'|(?P<sign>!=|<=|>=|[=<>+\-*/(),^]))",
    re.ASCII,
)
_COMPARE = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Number:
    """A number, exact as written."""

    value: Fraction


@dataclass(frozen=True)
class Text:
    """A label."""

    value: str


@dataclass(frozen=True)
class Name:
    """A column of the row at hand, or of the row outside (`outer`); or the name of a table or statement."""

    value: str
    outer: bool = False


@dataclass(frozen=True)
class Call:
    """A function; the operators are calls of "+", "<", "and" and so on."""

    name: str
    arguments: tuple["Node", ...]


Node = Number | Text | Name | Call


class GrammarError(ValueError):
    """An expression that does not parse; its text is a clause that says what and where."""


def parse(source: str) -> Node:
    """The tree of an expression. Raises GrammarError."""
    if len(source) > MAX_LENGTH:
        raise GrammarError(f"is longer than {MAX_LENGTH:,} characters")
    return _Parser(source).whole()


def columns(node: Node) -> set[str]:
    """The names that a condition on one row mentions."""
    if isinstance(node, Name):
        return {node.value}
    return set().union(*(columns(part) for part in node.arguments)) if isinstance(node, Call) else set()


def unparse(node: Node) -> str:
    """The expression as text again, in one canonical spelling."""
    match node:
        case Number(value):
            return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"
        case Text(value):
            return f"'{value}'"
        case Name(value, outer):
            name = value if re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII) else f"[{value}]"
            return f"^{name}" if outer else name
        case Call("neg", (inner,)):
            return f"-{_inner(inner)}"
        case Call("not", (inner,)):
            return f"not {_inner(inner)}"
        case Call(("+" | "-" | "*" | "/" | "and" | "or") as sign, (left, right)):
            chained = isinstance(left, Call) and left.name == sign and sign != "/"
            return f"{unparse(left) if chained else _inner(left)} {sign} {_inner(right)}"
        case Call(sign, (left, right)) if sign in _COMPARE:
            return f"{unparse(left)} {sign} {unparse(right)}"
    return f"{node.name}({', '.join(unparse(part) for part in node.arguments)})"


def _inner(node: Node) -> str:
    plain = not isinstance(node, Call) or (node.name[:1].isalpha() and node.name not in ("and", "or", "not", "neg"))
    return unparse(node) if plain else f"({unparse(node)})"


class _Parser:
    def __init__(self, source: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        at, end = 0, len(source.rstrip())
        while at < end:
            match = _TOKEN.match(source, at)
            if match is None or match.lastgroup is None:
                raise GrammarError(
                    f"has {source[at : at + 20].strip()!r} at character {at + 1}, which is no part of it"
                )
            self.tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1))
            at = match.end()
        if len(self.tokens) > MAX_TOKENS:
            raise GrammarError(f"has more than {MAX_TOKENS} words and signs")
        self.next = 0
        self.depth = 0

    def whole(self) -> Node:
        node = self.condition()
        if self.next < len(self.tokens):
            _, text, at = self.tokens[self.next]
            raise GrammarError(f"goes on with {text!r} at character {at} where it should have ended")
        return node

    def take(self, *texts: str, kind: str = "sign") -> str | None:
        if self.next < len(self.tokens):
            group, text, _ = self.tokens[self.next]
            if group == kind and (not texts or text in texts):
                self.next += 1
                return text
        return None

    def condition(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise GrammarError(f"is nested more than {MAX_DEPTH} deep")
        node = self.conjunct()
        while self.take("or", kind="name"):
            node = Call("or", (node, self.conjunct()))
        self.depth -= 1
        return node

    def conjunct(self) -> Node:
        node = self.negated()
        while self.take("and", kind="name"):
            node = Call("and", (node, self.negated()))
        return node

    def negated(self) -> Node:
        negations = 0
        while self.take("not", kind="name"):
            negations += 1
        node = self.comparison()
        return Call("not", (node,)) if negations % 2 else node

    def comparison(self) -> Node:
        left = self.sum()
        if sign := self.take(*_COMPARE):
            return Call(sign, (left, self.sum()))
        return left

    def sum(self) -> Node:
        node = self.term()
        while sign := self.take("+", "-"):
            node = Call(sign, (node, self.term()))
        return node

    def term(self) -> Node:
        node = self.factor()
        while sign := self.take("*", "/"):
            node = Call(sign, (node, self.factor()))
        return node

    def factor(self) -> Node:
        negative = False
        while self.take("-"):
            negative = not negative
        node = self.atom()
        return Call("neg", (node,)) if negative else node

    def atom(self) -> Node:
        if (number := self.take(kind="number")) is not None:
            return Number(Fraction(number))
        if (text := self.take(kind="text")) is not None:
            return Text(text)
        if (column := self.take(kind="column")) is not None:
            return Name(column.strip())
        if self.take("^"):
            outer = self.take(kind="name") or self.take(kind="column")
            if outer is None:
                raise GrammarError("has a ^ that no column follows")
            return Name(outer.strip(), outer=True)
        if (name := self.take(kind="name")) is not None:
            return Call(name, self.arguments()) if self.take("(") else Name(name)
        if self.take("("):
            node = self.condition()
            if not self.take(")"):
                raise GrammarError("has an opening bracket that is never closed")
            return node
        if self.next < len(self.tokens):
            _, found, at = self.tokens[self.next]
            raise GrammarError(f"has {found!r} at character {at} where a number, a name or a bracket should be")
        raise GrammarError("ends where a number, a name or a bracket should follow")

    def arguments(self) -> tuple[Node, ...]:
        if self.take(")"):
            return ()
        parts = [self.condition()]
        while self.take(","):
            parts.append(self.condition())
        if not self.take(")"):
            raise GrammarError("has an opening bracket that is never closed")
        return tuple(parts)
