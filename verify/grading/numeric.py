"""GSM8K answers: one number, whatever stands around it (`\\$18 per day`, `A: 18`, `5 \\times 4 = 20`, `18
eggs`).
"""

import re

from verify.grading import symbols
from verify.grading.normal import Form, Normaliser
from verify.grading.numerals import first_number, plain

_WRAPPERS = re.compile(r"\\(?:text|mbox|textbf|mathrm|mathbf|textit|boxed)(?![A-Za-z])|\\[,;:! ]|\\quad|[{}*~]")
_WORD = re.compile(r"[A-Za-z]+")
_SINGLE_LETTERS = frozenset("aAI")
_CHANGES_VALUE = frozenset("hundred dozen half quarter third minus negative no not of".split()) | frozenset(
    symbols.SCALES
)


def numeric_form(answer: str, normaliser: Normaliser) -> Form:
    """The number that an answer states, or its spelling where it states none or several. Never raises."""
    form = normaliser.form(answer)
    if form.value is not None:
        return form
    _, equals, right = answer.rpartition("=")
    if equals:
        stated = normaliser.form(right)
        if stated.value is not None:
            return stated
        answer = right
    alone = _only_number(answer)
    if alone is not None:
        stated = normaliser.form(alone)
        if stated.value is not None:
            return stated
    return form


def _only_number(answer: str) -> str | None:
    """The one number among words; None where other mathematics stands beside it, or a word that changes its
    value.
    """
    flat = _WRAPPERS.sub(" ", plain(answer)).replace("\\$", "$").replace("\\%", "%")
    if any(sign in flat for sign in "\\^_+*=<>|"):
        return None
    span = first_number(flat, 0, len(flat))
    if span is None:
        return None
    around = flat[: span[0]] + " " + flat[span[1] :]
    if any(map(str.isdigit, around)):
        return None
    for word in _WORD.findall(around):
        if (len(word) == 1 and word not in _SINGLE_LETTERS) or word.lower() in _CHANGES_VALUE:
            return None
    return flat[slice(*span)].replace("$", "")
