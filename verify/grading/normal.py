r"""Normal forms: what an answer says, as one flat key that equal answers share.

Structure is read at most `_MAX_LEVELS` deep (a list of tuples of numbers is three levels); whatever lies deeper is
compared as the canonical string of its tokens. Keys are strings, so that no depth of nesting can exhaust a stack.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from verify.grading import symbols
from verify.grading.arithmetic import Arithmetic, numeral
from verify.grading.extract import closing_braces
from verify.grading.policy import Policy
from verify.grading.tokens import Tokenizer

_MAX_LEVELS = 5
#: An answer of more tokens is compared as one string: reading its members would cost more than the tokens did.
_MAX_STRUCTURED = 10_000
_OPENING = {"(", "[", "\\{", "\\langle", "{", "{["}
_CLOSING = {")", "]", "\\}", "\\rangle", "}", "]}"}
_SEPARATORS = {",", ";", '"and', '"or'}
_RELATIONS = {"<", ">", "\\le", "\\ge"}
_UNARY_PLUS_AFTER = {"", "(", "[", "\\{", "{", ",", ";", "=", "&", "\\\\", "\\in", "\\cup", *_RELATIONS}
_NAME_PARTS = {
    "(",
    ")",
    ",",
    "'",
    "\\angle",
    "\\triangle",
    "{",
    "}",
    "_",
    "\\max",
    "\\min",
    "\\vec",
    "\\overline",
}
_GREEK = frozenset(
    "\\" + name
    for name in "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell".split()
)


@dataclass(frozen=True, slots=True)
class Form:
    """The normal form of one answer.

    `key` alone decides a vote class. `value` is its exact number, where it is one (`exact` False: a 40-digit
    approximation by an option of the policy). `left` and `unit` were taken off, and are kept to refuse `x=5` against
    `y=5` and `5 cm` against `5 m`. `parts` are the members of a structure whose brackets are `kind`.
    """

    key: str
    value: Fraction | None = None
    exact: bool = True
    left: str = ""
    unit: str = ""
    kind: str = ""
    parts: tuple["Form", ...] = field(default=())


def depths(tokens: Sequence[str]) -> list[int] | None:
    """Nesting depth before each token, or None where the brackets do not nest (types may differ: `[2,5)`)."""
    depth, found = 0, []
    for token in tokens:
        if token in _CLOSING or token.startswith("\\end{"):
            depth -= 1
            if depth < 0:
                return None
        found.append(depth)
        if token in _OPENING or token.startswith("\\begin{"):
            depth += 1
    return found if depth == 0 else None


def split(tokens: Sequence[str], at: Callable[[str], bool]) -> list[list[str]]:
    """Pieces between the separators that stand outside all brackets."""
    nesting = depths(tokens)
    if nesting is None:
        return [list(tokens)]
    pieces: list[list[str]] = [[]]
    for token, depth in zip(tokens, nesting, strict=True):
        if depth == 0 and at(token):
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def spelled(tokens: Sequence[str]) -> str:
    """The key of tokens that are compared as written; numerals in their shortest spelling, words by their unit's name."""
    written, previous = [], False
    for token in tokens:
        is_number = token[0] in "0123456789."
        if is_number:
            written.append((" " if previous else "") + (numeral(token) or token))
        elif token[0] == '"':
            written.append(symbols.UNITS.get(token[1:], token[1:]))
        elif token != "\\degree":
            written.append(token)
        previous = is_number
    return "".join(written)


def _wraps(tokens: Sequence[str], opening: set[str], closing: set[str]) -> bool:
    """Whether the first token's bracket closes at the very end."""
    if len(tokens) < 2 or tokens[0] not in opening or tokens[-1] not in closing:
        return False
    nesting = depths(tokens)
    return nesting is not None and 0 not in nesting[1:-1]


class Normaliser:
    """Answers to normal forms under one policy. Holds nothing but the policy, so threads may share it."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def form(self, answer: str) -> Form:
        """The normal form of an extracted answer. Never raises; an answer over the token cap is compared as written."""
        text = answer.strip()
        if text[:1] in "*`" or text[-1:] in "*`":
            text = text.strip("*` ")
        if text.startswith("{{"):
            text = _peeled(text)
        tokens = Tokenizer(text, self._policy).tokens()
        if tokens is None:
            return Form("".join(answer.split()))
        tokens = _without_unary_plus(_without_label(_without_final_stop(tokens)))
        return self._whole(tokens, _MAX_LEVELS if len(tokens) <= _MAX_STRUCTURED else 0)

    def _whole(self, tokens: list[str], level: int) -> Form:
        """A bare list, or one element."""
        if self._policy.structures and level:
            members = [part for part in split(tokens, _SEPARATORS.__contains__) if part]
            if len(members) > 1:
                return self._members(members, "", level, ordered=self._policy.bare_list_order)
        return self._element(tokens, level)

    def _members(
        self, members: list[list[str]], kind: str, level: int, *, ordered: bool, once: bool = False
    ) -> Form:
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
            tokens, unit = _without_unit(tokens)
        else:
            unit = ""
        if left and level and len(split(tokens, _SEPARATORS.__contains__)) > 1:
            form = self._whole(tokens, level - 1)
        else:
            form = self._bare(tokens, level)
        return replace(form, left=left, unit=unit or form.unit) if left or unit else form

    def _bare(self, tokens: list[str], level: int) -> Form:
        """An element without a left side or unit: a structure, or a scalar."""
        policy = self._policy
        if not policy.structures or not level:
            return self._scalar(tokens)
        union = [part for part in split(tokens, "\\cup".__eq__) if part]
        if len(union) > 1:
            return self._members(union, "cup", level, ordered=False, once=True)
        if policy.relation_as_interval:
            tokens = _interval_of_relation(tokens)
        if policy.plus_minus_as_list and "\\pm" in tokens and "\\mp" not in tokens:
            signs = [[sign if token == "\\pm" else token for token in tokens] for sign in ("+", "-")]
            return self._members(
                [_without_unary_plus(one) for one in signs], "", level, ordered=policy.bare_list_order
            )
        if _wraps(tokens, {"\\{"}, {"\\}"}):
            members = [part for part in split(tokens[1:-1], _SEPARATORS.__contains__) if part]
            return self._members(members, "set", level, ordered=False, once=True)
        if _wraps(tokens, {"(", "[", "\\langle"}, {")", "]", "\\rangle"}):
            members = [part for part in split(tokens[1:-1], _SEPARATORS.__contains__) if part]
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
        nesting = depths(tokens)
        if name not in symbols.MATRICES or nesting is None or 0 in nesting[1:-1]:
            return None
        rows = [row for row in split(tokens[1:-1], "\\\\".__eq__) if row]
        cells = [split(row, "&".__eq__) for row in rows]
        bracket = symbols.MATRICES[name]
        kind = "matrix" + (bracket if self._policy.matrix_delimiters or bracket in "|‖" and bracket else "")
        lines = tuple(self._members(row, "row", level, ordered=True) for row in cells)
        return Form(f"{kind}⟨{'⟩⟨'.join(line.key for line in lines)}⟩", kind=kind, parts=lines)

    def _assignment(self, tokens: list[str]) -> tuple[str, list[str]]:
        """`x = 5` and `x \\in S`: the name on the left, and what it equals. An equation has no name on the left."""
        if not self._policy.assignment:
            return "", tokens
        sides = split(tokens, lambda token: token in ("=", "\\in"))
        if len(sides) < 2 or not all(sides):
            return "", tokens
        if len(sides) == 2 and is_name(sides[1]) and not is_name(sides[0]) and "=" in tokens:
            sides = [sides[1], sides[0]]
            if Arithmetic(sides[1]).value is None:
                return "", tokens
        if not all(map(is_name, sides[:-1])):
            return "", tokens
        return spelled(sides[0]), sides[-1]

    def _scalar(self, tokens: list[str]) -> Form:
        policy, unit = self._policy, ""
        if len(tokens) > 3 and tokens[-4:-2] == ["_", "{"] and tokens[0].isdecimal() and len(tokens) == 5:
            if policy.base_suffix == "optional":
                unit, tokens = f"base {tokens[3]}", tokens[:1]
        if policy.raised_digits and tokens[:2] == ["^", "{"] and len(tokens) == 4:
            tokens = tokens[2:3]
        if policy.unit_coefficient:
            tokens = _without_unit_coefficient(tokens)
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
            tokens = _sorted_sum(tokens)
        return Form(spelled(tokens), value, exact, unit=unit)

    def _quotient(self, tokens: list[str]) -> list[str]:
        """One spelling for a scalar that is one fraction: the sign in front, `\\frac` for the slash."""
        sign, body = (["-"], tokens[1:]) if tokens[:1] == ["-"] else ([], tokens)
        if self._policy.slash_fractions:
            body = _frac_of_slash(body)
        if body[:2] == ["\\frac", "{"] and body[-1] == "}":
            nesting = depths(body)
            if nesting is not None and nesting.count(0) == 5:
                cut = nesting.index(0, 2)
                top, bottom = body[2:cut], body[cut + 2 : -1]
                for side in (top, bottom):
                    if side[:1] == ["-"] and _is_product(side[1:]):
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


def _without_final_stop(tokens: list[str]) -> list[str]:
    end = len(tokens)
    while end and tokens[end - 1] in (".", ",", ";", ":"):
        end -= 1
    return tokens[:end] if end < len(tokens) else tokens


def _without_label(tokens: list[str]) -> list[str]:
    """The value without `The answer is` or `Answer:` in front of it."""
    at = 0
    while at < len(tokens) and (tokens[at] in (":", "=") or (tokens[at][0] == '"' and tokens[at][1:] in symbols.LABELS)):
        at += 1
    return tokens[at:] if at < len(tokens) else tokens


def _without_unary_plus(tokens: list[str]) -> list[str]:
    if "+" not in tokens:
        return tokens
    previous = ["", *tokens]
    return [
        t for before, t in zip(previous, tokens, strict=False) if t != "+" or before not in _UNARY_PLUS_AFTER
    ]


def _without_unit_coefficient(tokens: list[str]) -> list[str]:
    if "1" not in tokens:
        return tokens
    kept = []
    for at, token in enumerate(tokens):
        if token == "1" and at + 1 < len(tokens):
            before, after = tokens[at - 1] if at else "", tokens[at + 1]
            opens = before in _UNARY_PLUS_AFTER or before in ("+", "-", "\\pm", "\\mp")
            if opens and (after in ("\\sqrt", "\\pi", "(") or (len(after) == 1 and after.isalpha())):
                continue
        kept.append(token)
    return kept


def is_name(tokens: Sequence[str]) -> bool:
    """Whether tokens name something: `x`, `m_{\\max}`, `f(x)`, `(x, y)`, `\\angle ABC`, `AB`, a word; not `xy` or `2x`."""
    letters = [token for token in tokens if len(token) == 1 and token.isalpha()]
    words = any(token[0] == '"' for token in tokens)
    for token in tokens:
        known = (
            token in _NAME_PARTS
            or token in _GREEK
            or token[0] == '"'
            or (len(token) == 1 and token.isalpha())
        )
        if not known and not (token.isdecimal() and "_" in tokens) and not (words and token in (":", ".")):
            return False
    if not (letters or words or any(token in _GREEK for token in tokens)):
        return False
    if len(tokens) > 24:
        return False
    outside, depth = 0, 0
    for token in tokens:
        depth += (token in ("(", "{")) - (token in (")", "}"))
        outside += depth == 0 and ((len(token) == 1 and token.isalpha()) or token in _GREEK)
    return outside <= 1 or words or tokens[0] in ("\\angle", "\\triangle") or all(map(str.isupper, letters))


def _sorted_sum(tokens: list[str]) -> list[str]:
    """The terms of a sum in one order, each with its sign; anything else as it is."""
    nesting = depths(tokens)
    if nesting is None or not {"+", "-"} & set(tokens):
        return tokens
    terms: list[list[str]] = [[]]
    for token, depth in zip(tokens, nesting, strict=True):
        if depth == 0 and token in ("=", ",", "\\pm", "\\mp", ":", "\\cdot", "\\times", "/", *_RELATIONS):
            return tokens
        if depth == 0 and token in ("+", "-"):
            terms.append([token])
        else:
            terms[-1].append(token)
    signed = [term if term[0] in ("+", "-") else ["+", *term] for term in terms if term]
    ordered = [token for term in sorted(signed) for token in term]
    return ordered[1:] if ordered[0] == "+" else ordered


def _is_product(tokens: Sequence[str]) -> bool:
    """Factors side by side: no sum, relation or separator outside brackets."""
    nesting = depths(tokens)
    loose = {
        "+",
        "-",
        "/",
        "=",
        ",",
        "\\pm",
        "\\mp",
        ":",
        "<",
        ">",
        "\\le",
        "\\ge",
        "\\times",
        "\\cdot",
        "*",
        "\\div",
        "!",
        "|",
    }
    return (
        bool(tokens)
        and nesting is not None
        and not any(
            depth == 0 and (token in loose or token[0] == '"')
            for token, depth in zip(tokens, nesting, strict=True)
        )
    )


def _frac_of_slash(tokens: list[str]) -> list[str]:
    """`A/B` as `\\frac{A}{B}` where A is a product and B one factor, so that nobody can read it otherwise."""
    if "/" not in tokens:
        return tokens
    sides = split(tokens, "/".__eq__)
    if len(sides) != 2 or not _is_product(sides[0]) or not _is_product(sides[1]):
        return tokens
    top, bottom = (side[1:-1] if _wraps(side, {"("}, {")"}) else side for side in sides)
    if bottom is sides[1]:
        # `1/2x` is read both ways; `1/2`, `x/y`, `1/\sqrt{2}`, `x/y^{2}` are not.
        nesting = depths(bottom) or []
        heads = [
            t
            for t, depth in zip(bottom, nesting, strict=True)
            if depth == 0 and t not in ("{", "}", "^", "_", "{[", "]}")
        ]
        if len(heads) != 1:
            return tokens
    return ["\\frac", "{", *top, "}", "{", *bottom, "}"]


def _without_unit(tokens: list[str]) -> tuple[list[str], str]:
    """A value without the currency, degree, percent or words around it, and the unit's canonical name if it is known."""
    unit = ""
    sign, rest = (tokens[:1], tokens[1:]) if tokens[:1] == ["-"] else ([], tokens)
    if rest[:1] == ["\\$"] and len(rest) > 1:
        after = rest[1:]
        tokens, unit = [*sign, *after] if not (sign and after[:1] == ["-"]) else tokens, "dollar"
    elif len(tokens) > 1 and tokens[-1] == "\\$":
        tokens, unit = tokens[:-1], "dollar"
    if len(tokens) > 2 and tokens[-2] == "\\degree" and tokens[-1].strip('"') in ("C", "F"):
        return tokens[:-2], {"C": "celsius", "F": "fahrenheit"}[tokens[-1].strip('"')]
    for mark, name in (("%", "percent"), ("\\degree", "degree")):
        if len(tokens) > 1 and tokens[-1] == mark:
            return tokens[:-1], unit or name
    head, words = _trailing_words(tokens)
    if not words or not head:
        return tokens, unit
    if words[0] in symbols.SCALES:
        power = ["\\cdot", "10", "^", "{", str(symbols.SCALES[words[0]]), "}"]
        head, words = [*head, *power], words[1:]
    known = {symbols.UNITS[word] for word in words if word in symbols.UNITS}
    is_unit = all(word in symbols.UNITS or word in ("square", "sq", "cubic", "per") for word in words)
    if any(word in symbols.MEANINGFUL for word in words) and not is_unit:
        return tokens, unit
    if any(token[0] == '"' for token in head) or not (is_unit or any(t[0] in "0123456789." for t in head)):
        return tokens, unit
    if head[-1] in ("+", "-", "=", "/", "^", "_", "*", "\\times", "\\cdot", ","):
        return tokens, unit
    return head, unit or (known.pop() if len(known) == 1 else "")


def _trailing_words(tokens: list[str]) -> tuple[list[str], list[str]]:
    """What stands before the words at the end, and those words; `^{2}` after a word belongs to it."""
    at, words, seen = len(tokens), [], len(tokens)
    while at > 0:
        token = tokens[at - 1]
        if token[0] == '"':
            words.append(token[1:])
            at = seen = at - 1
        elif token == "}" and at > 4 and tokens[at - 4 : at - 2] == ["^", "{"] and tokens[at - 5][0] == '"':
            at -= 4
        elif token in ("/", ".", "-", ",") and at > 1 and tokens[at - 2][0] == '"':
            at -= 1
        else:
            break
    if seen < len(tokens) or at < len(tokens):
        return tokens[:at], words[::-1]
    return tokens, []


def _interval_of_relation(tokens: list[str]) -> list[str]:
    """`x < 3` and `0 < x \\le 5` as the intervals that they describe, under the option that reads them so."""
    signs = [token for token in tokens if token in _RELATIONS]
    sides = split(tokens, _RELATIONS.__contains__)
    if len(sides) not in (2, 3) or len(sides) != len(signs) + 1 or not all(sides):
        return tokens
    if len(sides) == 2:
        (low, high), sign = sides, signs[0]
        if is_name(high) and not is_name(low):
            low, high, sign = high, low, {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le"}[sign]
        if not is_name(low):
            return tokens
        if sign in ("<", "\\le"):
            return ["(", "-", "\\infty", ",", *high, ")" if sign == "<" else "]"]
        return ["(" if sign == ">" else "[", *high, ",", "\\infty", ")"]
    if not is_name(sides[1]) or len({sign in ("<", "\\le") for sign in signs}) != 1:
        return tokens
    low, _, high = sides
    if signs[0] in (">", "\\ge"):
        low, high, signs = high, low, [{">": "<", "\\ge": "\\le"}[sign] for sign in reversed(signs)]
    return ["(" if signs[0] == "<" else "[", *low, ",", *high, ")" if signs[1] == "<" else "]"]
