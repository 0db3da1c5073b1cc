"""Where a number stands in plain text: the last one, the first one. Linear, and spans are those of the
text.
"""

import re
import unicodedata
from functools import cache

# One run of digits and commas; whether the commas group thousands is decided once for the whole run, because
# a pattern that decides it by backtracking is quadratic in "1,111,111,…,1".
_RUN = re.compile(r"(?P<digits>\d[\d,]*)(?P<decimals>\.\d+)?|(?P<bare>\.\d+)", re.ASCII)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})++", re.ASCII)
_EXPONENT = re.compile(r"[eE][+-]?\d{1,9}(?!\w)", re.ASCII)
_OVER = re.compile(r"/\d++(?:\.\d+)?(?!/)", re.ASCII)
_MIXED = re.compile(r"(?<![\w.,/-])\d{1,9} (?=\d{1,9}/\d{1,9}(?![\d/.]))", re.ASCII)
_FRAC = re.compile(r"[-+]?\\[dtc]?frac ?\{ ?-?\d[\d,.]* ?\} ?\{ ?\d[\d,.]* ?\}", re.ASCII)
_DIGITS = "0123456789"
_MONEY = "$€£¥"


@cache
def _plain_characters() -> dict[int, str]:
    """One character for one, so that spans survive: every decimal digit, the minus signs, the spaces inside
    numbers.
    """
    table = {code: str(unicodedata.decimal(chr(code))) for code in range(128, 0x1FBFF) if chr(code).isdecimal()}
    table |= dict.fromkeys(map(ord, "−﹣－–‒"), "-")
    table |= dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " ")
    table |= {ord("，"): ",", ord("．"): ".", ord("／"): "/", ord("＝"): "="}
    return table


def plain(text: str) -> str:
    """The text with foreign digits, minus signs and spaces made ASCII, character for character."""
    return text if text.isascii() else text.translate(_plain_characters())


def is_grouped(digits: str) -> bool:
    """Whether commas in a run of digits group thousands: `1,234` and `12,345,678`, but neither `12,34` nor
    `0,123`.
    """
    return not digits.startswith("0") and _GROUPED.fullmatch(digits) is not None


def _with_sign(text: str, start: int, floor: int) -> int:
    """Where the number that begins at `start` really begins: a sign counts unless it subtracts, joins or is
    a bullet.
    """
    at = start
    while at > floor and (text[at - 1] in _MONEY or (text[at - 1] == "\\" and at < start)):
        at -= 1
    if at > floor and text[at - 1] in "+-":
        before = text[at - 2] if at - 1 > floor else " "
        return start if before.isalnum() or before in ")]}+-*/^_%!" else at - 1
    # "x = - 5": a blank after the sign is a bullet or a subtraction unless an equals sign stands before it.
    sign = len(text[max(floor, at - 4) : at].rstrip(" ")) + max(floor, at - 4)
    if floor < sign < at and text[sign - 1] == "-" and text[max(floor, sign - 5) : sign - 1].rstrip(" ").endswith("="):
        return sign - 1
    return start


def _whole(text: str, found: re.Match[str], *, last: bool) -> tuple[int, int]:
    """Span of one number within a run: the run itself, or its first or last member where the commas are a
    list.
    """
    start, end = found.span()
    if found["bare"] is not None:
        # ". . .5" and "...5": an ellipsis is not a decimal point.
        if start > 0 and text[start - 1] in ".…":
            start += 1
    else:
        digits = found["digits"]
        if "," in digits:
            bare = digits.rstrip(",")
            if bare != digits and found["decimals"] is None:
                digits, end = bare, start + len(bare)
            if "," in digits and not is_grouped(digits):
                if last:
                    start += digits.rindex(",") + 1
                else:
                    return start, start + digits.index(",")
    exponent = _EXPONENT.match(text, end)
    if exponent is not None:
        return start, exponent.end()
    over = _OVER.match(text, end)
    return start, over.end() if over is not None else end


def first_number(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Span of the first number of `plain` text within [start, end)."""
    found = _RUN.search(text, start, end)
    if found is None:
        return None
    before = found.start()
    mixed = _MIXED.match(text, before)
    if mixed is not None:
        # The lookahead of the pattern saw a run of digits here.
        found = _RUN.match(text, mixed.end()) or found
    return _with_sign(text, before, start), min(end, _whole(text, found, last=False)[1])


def last_number(text: str) -> tuple[int, int] | None:
    """Span of the last number of `plain` text: thousands, decimals, fractions and exponents are one
    number.
    """
    last = max(map(text.rfind, _DIGITS))
    if last < 0:
        return None
    fraction = _fraction_command(text, last + 1)
    if fraction is not None:
        return fraction
    # The longest run of characters that a number may have, found at C speed, then cut forwards into numbers.
    begin = len(text[: last + 1].rstrip(_DIGITS + ".,/eE+-"))
    start = end = last
    for found in _RUN.finditer(text, begin, last + 1):
        # A denominator or an exponent belongs to the number before it.
        if found.start() >= end or end == last:
            start, end = _whole(text, found, last=True)
    mixed = _MIXED.search(text, max(0, start - 11), end)
    if mixed is not None and mixed.end() == start:
        start = mixed.start()
    return _with_sign(text, start, 0), end


def _fraction_command(text: str, end: int) -> tuple[int, int] | None:
    r"""The span of `\frac{7}{12}` where the last digit of the text is in its denominator: it is one
    number.
    """
    at = text.rfind("frac", max(0, end - 80), end)
    backslash = text.rfind("\\", max(0, at - 2), at) if at > 0 else -1
    if backslash < 0:
        return None
    start = backslash - 1 if backslash > 0 and text[backslash - 1] in "+-" else backslash
    found = _FRAC.match(text, start)
    return found.span() if found is not None and found.end() >= end else None
