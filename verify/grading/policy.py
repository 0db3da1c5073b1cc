"""Grading policies: what counts as an answer and as a match, as named options with documented defaults.

A policy is data. A release names one, a reader can pass another, and `msgspec.structs.replace(policy, …)`
gives a
variant: that is how a diagnosis asks "would ×100 explain the published number?".

Sources: SMRL 4.4 (`gsm8k`, `math`, and its alias `smrl`), ROR A.5 (`ror`).
"""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

import msgspec

from schemas.errors import UsageError


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How answers are found and compared. Each option's default is what SMRL 4.4 says, or the mildest
    reading of it.

    Extraction:
        phrases: introduce an answer where there is no box; ASCII case and the width of spaces do not matter.
            The paper
            says "the answer is"; "the final answer is" is the same sentence. The last occurrence wins.
        unterminated_box: a last `\\boxed{` that never closes: `ignore` it (an earlier box, the phrase or the
            last number
            answers), read `to-end` of the text, or call the response `unparsed`.
        empty_box: a last box without content: `skip` it (prompts are echoed with one), or let it `answer`
            nothing.
        several_boxes: `last`, or `list`: final boxes divided only by commas, "and", "or" and math delimiters
            are one list.
        fbox: `\\fbox`: `never`, as a `fallback` where no `\\boxed` is, or `equal` to `\\boxed`.
        hash_marker: GSM8K's `####`: `off` (the paper's rule has none), the `first` or the `last` one, ahead
            of the box.

    Normal form:
        form: `numeric` (GSM8K: the answer is one number), `latex` (MATH), `eta` (ROR's map and nothing else).
        text_case: fold the case of words (`Even` = `even`); single letters and symbols keep theirs.
        units: a unit or noun after a number is dropped; two *different known* units never match.
        assignment: `x = 5` is 5 and `x \\in S` is S; two different left sides never match.
        choice_parentheses: `(B)` is `B`, for one capital letter.
        plain_words: `pi`, `sqrt(2)`, `infinity` typed without a backslash are the symbols.
        slash_fractions: `\\pi/2` is `\\frac{\\pi}{2}` where the whole answer or element is that one quotient.
        raised_digits: a lone `²` is 2. Off: it is an exponent without a base.
        unit_coefficient: `1\\sqrt{19}` is `\\sqrt{19}`.

    Comparison:
        numeric: a numeric match is accepted beside equal normal forms; False leaves strings.
        evaluate: powers, products, sums, factorials and perfect roots of numbers are computed (exactly,
            under a cap);
            False accepts numerals and single fractions only.
        unreduced_fractions: `\\frac{10}{4}` is `\\frac{5}{2}`.
        structures: `tuples`, sets, matrices, unions and bare lists are compared element by element; False
            leaves strings.
        commuted_sums: `9a + 11` is `11 + 9a`: the terms of a sum are put in order, nothing is computed.
        bare_list_order: whether `2, 1` differs from `1, 2` (a set in braces is never ordered).
        matrix_delimiters: whether `pmatrix` differs from `bmatrix` (a determinant always differs).
        base_suffix: `keep` (`4210` is not `4210_{5}`) or `optional`.
        relation_as_interval: `x < 3` is `(-\\infty, 3)`.
        plus_minus_as_list: `1 \\pm x` is the list `1 + x, 1 - x`.
        approximate_irrationals: `\\pi` and roots are computed to 40 digits and compared within the tolerance.
        percent_as_ratio: x, x/100 and 100x match. Wrong as mathematics; some published numbers need it.
        abs_tol: largest difference of two numbers that match, as a decimal string. Vote classes are always
            exact.
        scale_small: below magnitude 1 the tolerance shrinks with the gold, so that 1e-7 is not 2e-7.
        rel_tol: tolerance relative to the gold, as a decimal string.
    """

    name: str
    phrases: tuple[str, ...] = ("the answer is", "the final answer is")
    unterminated_box: Literal["ignore", "to-end", "unparsed"] = "ignore"
    empty_box: Literal["skip", "answer"] = "skip"
    several_boxes: Literal["last", "list"] = "last"
    fbox: Literal["never", "fallback", "equal"] = "fallback"
    hash_marker: Literal["off", "first", "last"] = "off"

    form: Literal["numeric", "latex", "eta"] = "latex"
    text_case: bool = True
    units: bool = True
    assignment: bool = True
    choice_parentheses: bool = True
    plain_words: bool = True
    slash_fractions: bool = True
    unit_coefficient: bool = True
    raised_digits: bool = False

    numeric: bool = True
    evaluate: bool = True
    unreduced_fractions: bool = True
    structures: bool = True
    commuted_sums: bool = False
    bare_list_order: bool = True
    matrix_delimiters: bool = False
    base_suffix: Literal["keep", "optional"] = "keep"
    relation_as_interval: bool = False
    plus_minus_as_list: bool = False
    approximate_irrationals: bool = False
    percent_as_ratio: bool = False
    abs_tol: str | float = "1e-6"
    scale_small: bool = True
    rel_tol: str | float = "0"


def tolerance(value: str | float) -> Fraction:
    """A tolerance of a policy as an exact number. Raises `UsageError` for one that is negative or no
    number.
    """
    try:
        exact = Fraction(str(value))
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(f"tolerance {value!r} is not a decimal number, e.g. '1e-6'") from error
    if exact < 0:
        raise UsageError(f"tolerance {value!r} is negative; 0 asks for exact comparison")
    return exact


_MATH = Policy(name="math")

POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "gsm8k": Policy(name="gsm8k", form="numeric", scale_small=False),
        "math": _MATH,
        "smrl": _MATH,
        "ror": Policy(name="ror", form="eta", numeric=False, structures=False),
    }
)


def resolve_policy(policy: str | Policy) -> Policy:
    """The policy itself, or the one of that name. Raises `UsageError` naming the known ones."""
    if isinstance(policy, Policy):
        return policy
    try:
        return POLICIES[policy]
    except KeyError:
        raise UsageError(f"no grading policy {policy!r}; there are {', '.join(sorted(POLICIES))}") from None
