r"""What the trials of graders are made of: answers, responses around them, spellings of them, hostile shapes.

Strategies of `hypothesis`, and nothing that knows our grader.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from hypothesis import strategies as st

# -- answers: pieces of text, some of which may be changed

#: (text, kind): `digit`, `letter`, `sign` and `bracket` are the pieces whose change changes the answer.
Pieces = tuple[tuple[str, str], ...]

_OTHER_BRACKET = {"(": "[", "[": "(", ")": "]", "]": ")"}
_LETTERS = "abckmnprtwxyz"
_GREEK = (r"\pi", r"\theta", r"\alpha")
_WORDS = ("even", "odd", "east", "ellipse", "Evelyn", "blue")


def _fixed(text: str) -> Pieces:
    return ((text, ""),)


def text_of(pieces: Pieces) -> str:
    """The answer that pieces spell."""
    return "".join(text for text, _ in pieces)


def _digits(number: str) -> Pieces:
    return tuple((sign, "digit" if sign.isdecimal() else "") for sign in number)


# Digits 2 to 9: no leading or trailing zero can vanish, and no factor or exponent of 0 or 1 can hide a
# change.
_NATURAL = st.text("23456789", min_size=1, max_size=4).map(_digits)
_DECIMAL = st.tuples(_NATURAL, st.text("23456789", min_size=1, max_size=3)).map(
    lambda p: (*p[0], (".", ""), *_digits(p[1]))
)
_SIGN = st.sampled_from(("", "-")).map(lambda sign: ((sign, "sign"),))
_LETTER = st.sampled_from(_LETTERS).map(lambda letter: ((letter, "letter"),))
_DEGREES = st.tuples(_NATURAL, st.sampled_from((r"^\circ", r"^{\circ}"))).map(lambda p: (*p[0], *_fixed(p[1])))
_SYMBOL = st.sampled_from(_GREEK).map(lambda name: _fixed(name + " "))


def _grown(inner: st.SearchStrategy[Pieces]) -> st.SearchStrategy[Pieces]:
    def around(*parts: str) -> Callable[[Sequence[Pieces]], Pieces]:
        def build(children: Sequence[Pieces]) -> Pieces:
            pieces: list[tuple[str, str]] = [(parts[0], "")]
            for child, after in zip(children, parts[1:], strict=True):
                pieces += [*child, (after, "")]
            return tuple(pieces)

        return build

    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(around(r"\frac{", "}{", "}")),
        st.tuples(inner).map(around(r"\sqrt{", "}")),
        st.tuples(inner).map(around(r"\sqrt[3]{", "}")),
        st.tuples(_LETTER, inner).map(around("", "^{", "}")),
        st.tuples(_LETTER, _NATURAL).map(around("", "_{", "}")),
        two.map(around("", " + ", "")),
        two.map(around(r"\left(", " + ", r"\right)")),
        # A difference of two free parts may be 0, which equals its negative; this one cannot be.
        st.tuples(_LETTER, _NATURAL).map(around(r"\left(", " - ", r"\right)")),
    )


#: A number, symbol or formula: what stands alone or inside a structure.
scalars: st.SearchStrategy[Pieces] = st.recursive(
    st.one_of(_NATURAL, _DECIMAL, _LETTER, _SYMBOL, _DEGREES), _grown, max_leaves=8
)
_ELEMENT = st.tuples(_SIGN, scalars).map(lambda p: (*p[0], *p[1]))


def _bracketed(opening: str, closing: str, *, changes: bool, least: int, most: int) -> st.SearchStrategy[Pieces]:
    kind = "bracket" if changes else ""

    def build(members: list[Pieces]) -> Pieces:
        pieces: list[tuple[str, str]] = [(opening, kind)]
        for at, member in enumerate(members):
            pieces += [*([(", ", "")] if at else []), *member]
        return (*pieces, (closing, kind))

    return st.lists(_ELEMENT, min_size=least, max_size=most).map(build)


def _matrix(rows: list[list[Pieces]]) -> Pieces:
    pieces: list[tuple[str, str]] = [(r"\begin{pmatrix} ", "")]
    for at, row in enumerate(rows):
        pieces += [(r" \\ ", "")] if at else []
        for column, cell in enumerate(row):
            pieces += [*([(" & ", "")] if column else []), *cell]
    return (*pieces, (r" \end{pmatrix}", ""))


_STRUCTURE = st.one_of(
    _bracketed("(", ")", changes=True, least=2, most=4),
    _bracketed("[", ")", changes=True, least=2, most=2),
    _bracketed("(", "]", changes=True, least=2, most=2),
    _bracketed(r"\{", r"\}", changes=False, least=1, most=4),
    _bracketed("", "", changes=False, least=2, most=4),
    st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(_ELEMENT, min_size=width, max_size=width), min_size=1, max_size=3).map(_matrix)
    ),
    st.sampled_from(_WORDS).map(lambda word: _fixed(rf"\text{{{word}}}")),
)
#: Any answer of a mathematics benchmark, as pieces; `answers` as text.
answer_pieces: st.SearchStrategy[Pieces] = st.one_of(_ELEMENT, _STRUCTURE)
answers: st.SearchStrategy[str] = answer_pieces.map(text_of)
#: Any answer of a word problem: one number.
numeric_pieces: st.SearchStrategy[Pieces] = st.tuples(_SIGN, st.one_of(_NATURAL, _DECIMAL)).map(
    lambda p: (*p[0], *p[1])
)


@st.composite
def changed(draw: st.DrawFn, source: st.SearchStrategy[Pieces]) -> tuple[str, str]:
    """An answer, and the same with one digit, sign, letter or bracket changed: never equal."""
    pieces = draw(source.filter(lambda found: any(kind for _, kind in found)))
    at = draw(st.sampled_from([index for index, (_, kind) in enumerate(pieces) if kind]))
    text, kind = pieces[at]
    if kind == "digit":
        other = draw(st.sampled_from([digit for digit in "23456789" if digit != text]))
    elif kind == "letter":
        other = draw(st.sampled_from([letter for letter in _LETTERS if (letter, "letter") not in pieces]))
    elif kind == "sign":
        other = "" if text else "-"
    else:
        other = _OTHER_BRACKET[text]
    return text_of(pieces), text_of((*pieces[:at], (other, kind), *pieces[at + 1 :]))


# -- responses around an answer

_PROSE = st.lists(
    st.sampled_from(
        [
            "We add the two parts.",
            "First, 3 + 4 = 7.",
            r"So $x = \frac{1}{2}$ here.",
            "The answer is 12.",
            "Wait, no.",
            r"I put it in \boxed as asked.",
            r"A first try gives \boxed{8}.",
            r"Maybe \boxed{\frac{3}{4}}?",
            "{",
            "}",
            r"\{",
            r"\boxed{}",
            "It costs $5.",
            r"\[ y^2 \]",
            "**Step 2**",
            "12,000 of them",
            "\n\n",
            "Ответ",
            "…",
            r"\\",
        ]
    ),
    max_size=6,
).map(" ".join)  # fmt: skip
_AFTER = st.sampled_from(["", ".", "$.", " That is all.", "\n\nDone.", r" (I used \boxed.)", "\nIt took 3 steps."])


def boxed(answer: str) -> str:
    """A short response around an answer."""
    return rf"So the result is $\boxed{{{answer}}}$."


@st.composite
def responses(draw: st.DrawFn, answer: str) -> str:
    """A response whose last box holds `answer`: prose, decoys and stray braces before it, prose after it."""
    # A stray opening box or brace before the last box is text like any other; it cannot reach into the box.
    return f"{draw(_PROSE)} \\boxed{{{answer}}}{draw(_AFTER)}"


# -- variations: the same answer spelled otherwise

_CONTROL_WORD = re.compile(r"(?<!\\)\\(?=[A-Za-z])")
_OPENING = re.compile(r"(?<!\\left)(?<![A-Za-z\\])(\\\{|[(\[])")
_SIZES = re.compile(r"\\(?:left|right)(?![A-Za-z])")


def _left_right(answer: str) -> str:
    """Every bracket that has a partner gets `\\left` and `\\right`; `]` that ends a root's index does not."""
    bare = _SIZES.sub("", answer)
    stack: list[tuple[int, int]] = []
    marks: dict[int, str] = {}
    at = 0
    while at < len(bare):
        width = 2 if bare[at] == "\\" else 1
        token = bare[at : at + width]
        if token in ("(", "[", r"\{"):
            stack.append((at, not bare[:at].endswith(r"\sqrt")))
        elif token in (")", "]", r"\}") and stack:
            start, is_bracket = stack.pop()
            if is_bracket:
                marks[start], marks[at] = r"\left", r"\right"
        at += width
    return "".join(marks.get(at, "") + sign for at, sign in enumerate(bare))


#: The six spellings under which a gold must still be credited.
VARIATIONS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "verbatim": lambda answer: answer,
        "spaces before control words": lambda answer: _CONTROL_WORD.sub(r" \\", answer),
        "dfrac": lambda answer: answer.replace(r"\frac", r"\dfrac"),
        "left and right": _left_right,
        "trailing period": lambda answer: answer + ".",
        "extra braces": lambda answer: "{" + answer + "}",
    }
)

# -- numbers: one value in many spellings, which is the oracle


def spellings(value: Fraction) -> list[str]:
    """Ways to write a rational number; the reader of a grader's report can check each by hand."""
    top, bottom = value.numerator, value.denominator
    sign, size = ("-" if value < 0 else ""), abs(value)
    written = [rf"\frac{{{top}}}{{{bottom}}}", rf"{sign}\dfrac{{{abs(top)}}}{{{bottom}}}", f"{top}/{bottom}"]
    if bottom == 1:
        written += [str(top), f"{top}.0", f"{top:,}", f"{top:,}".replace(",", "{,}")]
    if not 10**4 % bottom:
        places = next(n for n in range(5) if not 10**n % bottom)
        scaled = abs(top) * 10**places // bottom
        digits = str(scaled).rjust(places + 1, "0")
        whole, decimals = (digits[:-places], digits[-places:]) if places else (digits, "0")
        written += [f"{sign}{whole}.{decimals}", f"{sign}{whole}.{decimals}0"]
    if bottom > 1 and size > 1:
        written.append(rf"{sign}{int(size)}\frac{{{(size - int(size)).numerator}}}{{{bottom}}}")
    return written


_VALUES = st.one_of(
    st.fractions(min_value=-50, max_value=50, max_denominator=8),
    st.integers(-(10**6), 10**6).map(Fraction),
    st.sampled_from([2**53, 2**53 + 1, 10**30, 10**30 + 1]).map(Fraction),
)


@st.composite
def number_pairs(draw: st.DrawFn) -> tuple[str, str, bool]:
    """Two spelled numbers that are equal or easily confused, and whether they are equal."""
    one = draw(_VALUES)
    near = [one, one + 1, -one, one * 100, one / 100, one + Fraction(1, 100)]
    other = draw(st.sampled_from(near))
    return draw(st.sampled_from(spellings(one))), draw(st.sampled_from(spellings(other))), one == other


@st.composite
def fused(draw: st.DrawFn) -> tuple[str, str]:
    """A list, pair or set of numbers, and the one number that its digits make: never equal.

    Three digits behind a comma outside brackets would be a thousand; there the list has a blank, or other
    lengths.
    """
    members = draw(st.lists(st.text("23456789", min_size=1, max_size=4), min_size=2, max_size=4))
    opening, closing = draw(st.sampled_from((("", ""), ("(", ")"), (r"\{", r"\}"), ("[", "]"))))
    grouped = len(members[0]) < 4 and all(len(member) == 3 for member in members[1:])
    comma = ", " if grouped and not opening else draw(st.sampled_from((",", ", ")))
    return f"{opening}{comma.join(members)}{closing}", f"{opening}{''.join(members)}{closing}"


# -- shapes that must cost no more than their length


def adversarial_shapes(size: int = 100_000) -> Mapping[str, str]:
    """Responses that hang or crash graders which count braces by backtracking, evaluate powers, or trust a
    library.

    `size` is the number of repetitions; the time of a grade must grow no faster than it.
    """
    few = max(1, size // 10)
    return MappingProxyType(
        {
            "long prose": "We consider the next case, since 3 + 4 = 7. " * (size // 4),
            "nested braces": r"\boxed{" + "{" * size + "5" + "}" * size + "}",
            "braces that never close": r"\boxed{" + "{" * size,
            "boxes that never close": r"\boxed{" * size,
            "boxes in boxes": r"\boxed{" * size + "5" + "}" * size,
            "dollars": "$" * size,
            "display math that never closes": r"\[" * size,
            "answer phrases": "the answer is " * few,
            "a very long integer": r"\boxed{" + "7" * (10 * size) + "}",
            "commas": r"\boxed{" + "1," * size + "1}",
            "nested fractions": r"\boxed{" + r"\frac{" * few + "1" + "}{2}" * few + "}",
            "bare fractions": r"\boxed{" + r"\frac" * few + "1" * few + "}",
            "nested roots": r"\boxed{" + r"\sqrt{" * few + "2" + "}" * few + "}",
            "nested parentheses": r"\boxed{" + "(" * size + "5" + ")" * size + "}",
            "nested exponents": r"\boxed{" + "2^{" * few + "2" + "}" * few + "}",
            "signs": r"\boxed{" + "-" * size + "5}",
            "backslashes": r"\boxed{" + "\\" * size + "}",
            "digits everywhere": "1/" * size + "1",
            "raised digits": r"\boxed{x" + "²" * size + "}",
            "power tower": r"\boxed{10^{10^{10}}}",
            "python power": r"\boxed{10**10**10}",
            "factorial": r"\boxed{(10^9)!}",
            "division by zero": r"\boxed{1/0}",
            "NUL": "\\boxed{5\0}\0",
            "lone surrogate": "\\boxed{\ud800}",
            "digits of other scripts": r"\boxed{٧ ² ７}",
        }
    )


#: Golds in the styles of the public benchmarks, for a trial without a gold file. Ours; none is taken from a
#: benchmark.
SAMPLE_GOLDS: tuple[str, ...] = (
    "42",
    "-7",
    "1,250",
    "0.125",
    ".75",
    r"\frac{5}{8}",
    r"-\frac{11}{4}",
    r"\dfrac{9}{16}",
    r"\frac 57",
    r"\frac38",
    r"\frac{270}7",
    r"3\frac{2}{5}",
    r"6\sqrt{7}",
    r"\sqrt{83}",
    r"5\sqrt3",
    r"\frac{4\sqrt{5}}{9}",
    r"14\pi",
    r"\frac{\pi}{5}",
    r"75^\circ",
    r"\$23.40",
    r"45\%",
    r"28\mbox{ cm}^2",
    r"7.5 \text{ cents}",
    "(3,-8)",
    r"\left(\frac{5}{2},-9\right)",
    r"[-4,11)",
    r"(-\infty,6]\cup[9,\infty)",
    r"\{-3,5,8\}",
    "2, 9, 14",
    r"5 \pm 2\sqrt{6}",
    r"8 - 15i",
    "4x^2 - 9x + 2",
    r"(m+7)(n-2)",
    "y = 3x - 11",
    r"x \in [-5,1]",
    "x=13",
    r"\begin{pmatrix} 4 \\ -9 \end{pmatrix}",
    r"312_6",
    r"\text{(D)}",
    r"\text{Marcus}",
    r"\text{odd}",
    r"\tan x",
    r"\sqrt[3]{17}",
    r"2^{50}",
    r"\binom{9}{4}",
    r"12,\!500",
)  # fmt: skip
