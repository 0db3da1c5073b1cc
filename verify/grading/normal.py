r"""Normal forms: what an answer says, as one flat key that equal answers share.

Structure is read at most `_MAX_LEVELS` deep (a list of tuples of numbers is three levels); whatever lies
deeper is compared as the canonical string of its tokens. Keys are strings, so that no depth of nesting can
exhaust a stack.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from verify.grading import rewrites, symbols
from verify.grading.arithmetic import Arithmetic, numeral
from verify.grading.extract import closing_braces
from verify.grading.policy import Policy
from verify.grading.tokens import Tokenizer

_MAX_LEVELS = 5
#: An answer of more tokens is compared as one string: reading its members would cost more than the tokens
#: did.
_MAX_STRUCTURED = 10_000
_SEPARATORS = {",", ";", '"and', '"or'}


@dataclass(frozen=True, slots=True)
class Form:
    """The normal form of one answer.

    `key` alone decides a vote class. `value` is its exact number, where it is one (`exact` False: a 40-digit
    approximation by an option of the policy). `left` and `unit` were taken off, and are kept to refuse `x=5`
    against `y=5` and `5 cm` against `5 m`. `parts` are the members of a structure whose brackets are `kind`.
    """

    key: str
    value: Fraction | None = None
    exact: bool = True
    left: str = ""
    unit: str = ""
    kind: str = ""
    parts: tuple["Form", ...] = field(default=())


class Normaliser:
    """Answers to normal forms under one policy. Holds nothing but the policy, so threads may share it."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def form(self, answer: str) -> Form:
        """The normal form of an extracted answer. Never raises; an answer over the token cap is compared as
        written.
        """
        text = answer.strip()
        if text[:1] in "*`" or text[-1:] in "*`":
            text = text.strip("*` ")
        if text.startswith("{{"):
            text = _peeled(text)
        tokens = Tokenizer(text, self._policy).tokens()
        if tokens is None:
            return Form("".join(answer.split()))
        tokens = rewrites.without_unary_plus(rewrites.without_label(rewrites.without_final_stop(tokens)))
        return self._whole(tokens, _MAX_LEVELS if len(tokens) <= _MAX_STRUCTURED else 0)

    def _whole(self, tokens: list[str], level: int) -> Form:
        """A bare list, or one element."""
        if self._policy.structures and level:
            members = [part for part in rewrites.split(tokens, _SEPARATORS.__contains__) if part]
            if len(members) > 1:
                return self._members(members, "", level, ordered=self._policy.bare_list_order)
        return self._element(tokens, level)

    def _members(self, members: list[list[str]], kind: str, level: int, *, ordered: bool, once: bool = False) -> Form:
        forms = [self._element(member, level - 1) for member in members]
        if not ordered:
            forms.sort(key=lambda form: form.key)
        if once:
            forms = [form for at, form in enumerate(forms) if not at or form.key != forms[at - 1].key]
        key = f"{kind or 'list'}⟨{'⟩⟨'.join(form.key for form in forms)}⟩"
        return Form(key, kind=kind or "list", parts=tuple(forms))

    def _element(self, tokens: list[str], level: int) -> Form:
        if len(tokens) == 1:
            return self._scalar(tokens)
        left, tokens = self._assignment(tokens)
        if self._policy.units:
            tokens, unit = rewrites.without_unit(tokens)
        else:
            unit = ""
        if left and level and len(rewrites.split(tokens, _SEPARATORS.__contains__)) > 1:
            form = self._whole(tokens, level - 1)
        else:
            form = self._bare(tokens, level)
        return replace(form, left=left, unit=unit or form.unit) if left or unit else form

    def _bare(self, tokens: list[str], level: int) -> Form:
        """An element without a left side or unit: a structure, or a scalar."""
        policy = self._policy
        if not policy.structures or not level:
            return self._scalar(tokens)
        union = [part for part in rewrites.split(tokens, "\\cup".__eq__) if part]
        if len(union) > 1:
            return self._members(union, "cup", level, ordered=False, once=True)
        if policy.relation_as_interval:
            tokens = rewrites.interval_of_relation(tokens)
        if policy.plus_minus_as_list and "\\pm" in tokens and "\\mp" not in tokens:
            signs = [[sign if token == "\\pm" else token for token in tokens] for sign in ("+", "-")]
            return self._members(
                [rewrites.without_unary_plus(one) for one in signs], "", level, ordered=policy.bare_list_order
            )
        if rewrites.wraps(tokens, {"\\{"}, {"\\}"}):
            members = [part for part in rewrites.split(tokens[1:-1], _SEPARATORS.__contains__) if part]
            return self._members(members, "set", level, ordered=False, once=True)
        if rewrites.wraps(tokens, {"(", "[", "\\langle"}, {")", "]", "\\rangle"}):
            members = [part for part in rewrites.split(tokens[1:-1], _SEPARATORS.__contains__) if part]
            if len(members) > 1 or tokens[0] != "(" or tokens[-1] != ")":
                return self._members(members, tokens[0] + tokens[-1], level, ordered=True)
            if members and not self._keeps_parentheses(members[0]):
                inner = self._element(members[0], level - 1)
                return inner if inner.kind != "list" else self._scalar(tokens)
        matrix = self._matrix(tokens, level)
        return matrix or self._scalar(tokens)

    def _keeps_parentheses(self, inside: list[str]) -> bool:
        letter = len(inside) == 1 and inside[0].strip('"').isalpha()
        return letter and not self._policy.choice_parentheses

    def _matrix(self, tokens: list[str], level: int) -> Form | None:
        if not tokens or not tokens[0].startswith("\\begin{") or not tokens[-1].startswith("\\end{"):
            return None
        name = tokens[0][7:-1]
        nesting = rewrites.depths(tokens)
        if name not in symbols.MATRICES or nesting is None or 0 in nesting[1:-1]:
            return None
        rows = [row for row in rewrites.split(tokens[1:-1], "\\\\".__eq__) if row]
        cells = [rewrites.split(row, "&".__eq__) for row in rows]
        bracket = symbols.MATRICES[name]
        kind = "matrix" + (bracket if self._policy.matrix_delimiters or (bracket in "|‖" and bracket) else "")
        lines = tuple(self._members(row, "row", level, ordered=True) for row in cells)
        return Form(f"{kind}⟨{'⟩⟨'.join(line.key for line in lines)}⟩", kind=kind, parts=lines)

    def _assignment(self, tokens: list[str]) -> tuple[str, list[str]]:
        """`x = 5` and `x \\in S`: the name on the left, and what it equals. An equation has no name on the
        left.
        """
        if not self._policy.assignment:
            return "", tokens
        sides = rewrites.split(tokens, lambda token: token in ("=", "\\in"))
        if len(sides) < 2 or not all(sides):
            return "", tokens
        if len(sides) == 2 and rewrites.is_name(sides[1]) and not rewrites.is_name(sides[0]) and "=" in tokens:
            sides = [sides[1], sides[0]]
            if Arithmetic(sides[1]).value is None:
                return "", tokens
        if not all(map(rewrites.is_name, sides[:-1])):
            return "", tokens
        return rewrites.spelled(sides[0]), sides[-1]

    def _scalar(self, tokens: list[str]) -> Form:
        policy, unit = self._policy, ""
        has_base = len(tokens) == 5 and tokens[1:3] == ["_", "{"] and tokens[0].isdecimal()
        if has_base and policy.base_suffix == "optional":
            unit, tokens = f"base {tokens[3]}", tokens[:1]
        if policy.raised_digits and tokens[:2] == ["^", "{"] and len(tokens) == 4:
            tokens = tokens[2:3]
        if policy.unit_coefficient:
            tokens = rewrites.without_unit_coefficient(tokens)
        value, exact = None, True
        if policy.numeric:
            sum_ = Arithmetic(tokens, evaluate=policy.evaluate, approximate=policy.approximate_irrationals)
            if sum_.value is not None and (policy.unreduced_fractions or sum_.reduced):
                value, exact = sum_.value, sum_.exact
        if value is not None and exact:
            return Form(_number_key(value), value, unit=unit)
        if policy.numeric and tokens[:1] == ["-"] and len(tokens) == 2 and numeral(tokens[1]) is not None:
            return Form(f"-{numeral(tokens[1])}", unit=unit)
        tokens = self._quotient(tokens)
        if policy.commuted_sums:
            tokens = rewrites.sorted_sum(tokens)
        return Form(rewrites.spelled(tokens), value, exact, unit=unit)

    def _quotient(self, tokens: list[str]) -> list[str]:
        """One spelling for a scalar that is one fraction: the sign in front, `\\frac` for the slash."""
        sign, body = (["-"], tokens[1:]) if tokens[:1] == ["-"] else ([], tokens)
        if self._policy.slash_fractions:
            body = rewrites.frac_of_slash(body)
        if body[:2] == ["\\frac", "{"] and body[-1] == "}":
            nesting = rewrites.depths(body)
            if nesting is not None and nesting.count(0) == 5:
                cut = nesting.index(0, 2)
                top, bottom = body[2:cut], body[cut + 2 : -1]
                for side in (top, bottom):
                    if side[:1] == ["-"] and rewrites.is_product(side[1:]):
                        sign = [] if sign else ["-"]
                        del side[0]
                return [*sign, "\\frac", "{", *top, "}", "{", *bottom, "}"]
        return [*sign, *body]


def _peeled(text: str) -> str:
    """The text without the braces around all of it, any number of them in one pass."""
    leading = len(text) - len(text.lstrip("{"))
    closed = closing_braces(text, list(range(leading)))
    at = 0
    while at < leading and closed.get(at) == len(text) - 1 - at:
        at += 1
    return text[at : len(text) - at].strip()


def _number_key(value: Fraction) -> str:
    # The cap of `arithmetic` keeps these short enough for Python's own limit on digits.
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
