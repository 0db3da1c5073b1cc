r"""ROR's normalisation map η (appendix A.5), literally: nothing but η decides equality under the `ror`
policy.

"It strips surrounding whitespace, removes common LaTeX spacing tokens such as \,, \!, and \;, unwraps one
layer of enclosing curly braces, removes trailing decimal zeros where applicable, and lowercases the
resulting string."
"""

import re

from verify.grading.extract import closing_braces

# "Such as": the three that the paper names and their siblings of other widths.
_SPACING = re.compile(r"\\(?:[,!;:]|q?quad(?![A-Za-z]))")
_DECIMAL = re.compile(r"[+-]?[0-9]*\.[0-9]+")


def eta(answer: str) -> str:
    """η(answer). Never raises; linear."""
    text = _SPACING.sub("", answer.strip())
    if text.startswith("{") and text.endswith("}") and closing_braces(text, [0]).get(0) == len(text) - 1:
        text = text[1:-1].strip()
    if _DECIMAL.fullmatch(text):
        text = text.rstrip("0").rstrip(".")
    return text.lower()
