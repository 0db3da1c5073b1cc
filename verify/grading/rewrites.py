r"""Rewritings of canonical tokens, each linear: names, units, signs, fractions and intervals in one spelling.

Everything here takes tokens and gives tokens; what they mean as a whole is the business of `normal`.
"""

from collections.abc import Callable, Sequence

from verify.grading import symbols
from verify.grading.arithmetic import numeral

_OPENING = {"(", "[", "\\{", "\\langle", "{", "{["}
_CLOSING = {")", "]", "\\}", "\\rangle", "}", "]}"}
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
    for name in "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau phi "
    "chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell".split()
)


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
    """The key of tokens that are compared as written; numerals in their shortest spelling, words by their
    unit's name.
    """
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


def wraps(tokens: Sequence[str], opening: set[str], closing: set[str]) -> bool:
    """Whether the first token's bracket closes at the very end."""
    if len(tokens) < 2 or tokens[0] not in opening or tokens[-1] not in closing:
        return False
    nesting = depths(tokens)
    return nesting is not None and 0 not in nesting[1:-1]


def without_final_stop(tokens: list[str]) -> list[str]:
    """The answer without the punctuation of the sentence that it ends."""
    end = len(tokens)
    while end and tokens[end - 1] in (".", ",", ";", ":"):
        end -= 1
    return tokens[:end] if end < len(tokens) else tokens


def without_label(tokens: list[str]) -> list[str]:
    """The value without `The answer is` or `Answer:` in front of it."""
    at = 0
    while at < len(tokens) and (
        tokens[at] in (":", "=") or (tokens[at][0] == '"' and tokens[at][1:] in symbols.LABELS)
    ):
        at += 1
    return tokens[at:] if at < len(tokens) else tokens


def without_unary_plus(tokens: list[str]) -> list[str]:
    """`+5` as `5`, wherever a plus sign adds nothing to anything."""
    if "+" not in tokens:
        return tokens
    previous = ["", *tokens]
    return [t for before, t in zip(previous, tokens, strict=False) if t != "+" or before not in _UNARY_PLUS_AFTER]


def without_unit_coefficient(tokens: list[str]) -> list[str]:
    """`1x` as `x`; the 1 of `1\\frac{1}{2}` is a number of its own."""
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
    """Whether tokens name something: `x`, `m_{\\max}`, `f(x)`, `(x, y)`, `\\angle ABC`, `AB`, a word; not
    `xy` or `2x`.
    """
    letters = [token for token in tokens if len(token) == 1 and token.isalpha()]
    words = any(token[0] == '"' for token in tokens)
    for token in tokens:
        known = token in _NAME_PARTS or token in _GREEK or token[0] == '"' or (len(token) == 1 and token.isalpha())
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


def sorted_sum(tokens: list[str]) -> list[str]:
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


def is_product(tokens: Sequence[str]) -> bool:
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
            depth == 0 and (token in loose or token[0] == '"') for token, depth in zip(tokens, nesting, strict=True)
        )
    )


def frac_of_slash(tokens: list[str]) -> list[str]:
    """`A/B` as `\\frac{A}{B}` where A is a product and B one factor, so that nobody can read it otherwise."""
    if "/" not in tokens:
        return tokens
    sides = split(tokens, "/".__eq__)
    if len(sides) != 2 or not is_product(sides[0]) or not is_product(sides[1]):
        return tokens
    top, bottom = (side[1:-1] if wraps(side, {"("}, {")"}) else side for side in sides)
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


def without_unit(tokens: list[str]) -> tuple[list[str], str]:
    """A value without the currency, degree, percent or words around it, and the unit's canonical name if it
    is known.
    """
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


def interval_of_relation(tokens: list[str]) -> list[str]:
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
