r"""The exact value of an answer that is a number: `\frac{14}{3}`, `137 \frac{1}{2}`, `1.5 \times 10^{3}`.

`fractions.Fraction` throughout: 2^53 + 1 is not 2^53, and 1/2^99 is not 0. Everything that could grow is
capped before it is computed, so `10^{10^{10}}` and `(10^9)!` cost nothing and have no value here; they are
compared as written.
"""

from fractions import Fraction
from math import factorial, isqrt

#: Numerals longer than this are compared digit by digit instead of as integers.
MAX_DIGITS = 400
#: No value computed here has a numerator or denominator of more bits.
MAX_BITS = 4096
_MAX_DEPTH = 40
_MAX_INDEX = 20
_PRODUCT = {"*", "\\times", "\\cdot"}
_QUOTIENT = {"/", "\\div"}
# 40 digits, for the option that computes irrational values.
_SCALE = 10**40
_PI = Fraction("3.1415926535897932384626433832795028841972")


class _NotANumberError(Exception):
    """The tokens are not arithmetic on numbers, or their value is over a cap."""


def numeral(token: str) -> str | None:
    """A numeral in its shortest spelling (`007.50` is `7.5`), or None for any other token and for
    exponents.
    """
    whole, point, decimals = token.partition(".")
    if not (whole + decimals).isdecimal() or not token.isascii():
        return None
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    return f"{whole}.{decimals}" if point and decimals else whole


def _whole_root(value: int, index: int) -> int | None:
    """The whole number whose power `index` is `value`, or None. `value` has at most `MAX_BITS` bits."""
    low, high = 0, 1 << (value.bit_length() // index + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**index < value:
            low = middle + 1
        else:
            high = middle
    return low if low**index == value else None


def _exact(token: str) -> Fraction:
    if len(token) > MAX_DIGITS or token[0] not in "0123456789.":
        raise _NotANumberError
    mantissa, _, exponent = token.lower().partition("e")
    if numeral(mantissa) is None or len(exponent) > 4:
        raise _NotANumberError
    return _capped(Fraction(mantissa) * Fraction(10) ** int(exponent or 0))


def _capped(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise _NotANumberError
    return value


class Arithmetic:
    """One pass over canonical tokens; `value` is None where they are not a number. `exact` is False after a
    rounding.
    """

    def __init__(self, tokens: list[str], *, evaluate: bool = True, approximate: bool = False) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0
        self._evaluate, self._approximate = evaluate, approximate
        self.exact = True
        self.reduced = True
        self.value: Fraction | None = None
        if not tokens:
            return
        try:
            value = self._sum()
        except _NotANumberError:
            return
        if self._at == len(tokens):
            self.value = value

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, token: str) -> None:
        if self._peek() != token:
            raise _NotANumberError
        self._at += 1

    def _computes(self) -> None:
        if not self._evaluate:
            raise _NotANumberError

    def _sum(self) -> Fraction:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _NotANumberError
        total = self._product()
        while self._peek() in ("+", "-"):
            self._computes()
            sign = 1 if self._peek() == "+" else -1
            self._at += 1
            total = _capped(total + sign * self._product())
        self._depth -= 1
        return total

    def _product(self) -> Fraction:
        value, quotients = self._signed(), 0
        while True:
            operator = self._peek()
            if operator in _PRODUCT:
                self._computes()
                self._at += 1
                value = _capped(value * self._signed())
            elif operator in _QUOTIENT:
                quotients += 1
                if quotients > 1:
                    self._computes()
                self._at += 1
                value = self._divide(value, self._signed())
            elif (operator in ("(", "\\sqrt", "\\pi") and self._evaluate) or (
                operator == "\\frac" and self._tokens[self._at - 1] in (")", "\\pi")
            ):
                value = _capped(value * self._power())
            else:
                return value

    def _divide(self, top: Fraction, bottom: Fraction) -> Fraction:
        if not bottom:
            raise _NotANumberError
        value = _capped(top / bottom)
        if value.denominator != abs(bottom) and top.denominator == bottom.denominator == 1:
            self.reduced = False
        return value

    def _signed(self) -> Fraction:
        sign = 1
        while self._peek() in ("+", "-"):
            sign = -sign if self._peek() == "-" else sign
            self._at += 1
        return sign * self._power()

    def _power(self) -> Fraction:
        value = self._atom()
        while self._peek() == "!":
            self._computes()
            self._at += 1
            if value.denominator != 1 or not 0 <= value <= 400:
                raise _NotANumberError
            value = _capped(Fraction(factorial(int(value))))
        if self._peek() != "^":
            return value
        self._computes()
        self._at += 1
        exponent = self._braced()
        if exponent.denominator != 1:
            return self._root_power(value, exponent)
        bits = max(value.numerator.bit_length(), value.denominator.bit_length())
        if bits * abs(exponent) > MAX_BITS or (not value and exponent <= 0):
            raise _NotANumberError
        return Fraction(value ** int(exponent))

    def _root_power(self, value: Fraction, exponent: Fraction) -> Fraction:
        if exponent.numerator != 1:
            raise _NotANumberError
        return self._root(value, exponent.denominator)

    def _braced(self) -> Fraction:
        self._take("{")
        value = self._sum()
        self._take("}")
        return value

    def _atom(self) -> Fraction:
        token = self._peek()
        if token == "(":
            self._computes()
            self._at += 1
            value = self._sum()
            self._take(")")
            return value
        if token == "\\frac":
            self._at += 1
            return self._divide(self._braced(), self._braced())
        if token == "\\sqrt":
            self._computes()
            self._at += 1
            index = self._root_index()
            return self._root(self._braced(), index)
        if token == "\\pi" and self._approximate:
            self._at += 1
            self.exact = False
            return _PI
        if token == "" or token[0] not in "0123456789.":
            raise _NotANumberError
        value = _exact(token)
        self._at += 1
        return value + self._mixed_part(value)

    def _mixed_part(self, whole: Fraction) -> Fraction:
        """The fraction of a mixed number: `2\\frac{1}{3}` is 7/3, and so is `2 1/3`; both must be proper."""
        rest = self._tokens[self._at : self._at + 7]
        if len(rest) == 7 and rest[0] == "\\frac" and rest[1] == rest[4] == "{" and rest[3] == rest[6] == "}":
            top, bottom, length = rest[2], rest[5], 7
        elif len(rest) > 2 and rest[1] == "/" and rest[3:4] != ["/"]:
            top, bottom, length = rest[0], rest[2], 3
        else:
            if rest[:1] == ["\\frac"]:
                raise _NotANumberError
            return Fraction(0)
        if not (top.isdecimal() and bottom.isdecimal()) or whole.denominator != 1:
            if length == 7:
                raise _NotANumberError
            return Fraction(0)
        numerator, denominator = _exact(top), _exact(bottom)
        if not numerator < denominator:
            raise _NotANumberError
        self._at += length
        return numerator / denominator

    def _root_index(self) -> int:
        """The index of `\\sqrt[3]{8}`, which the tokenizer puts between `{[` and `]}`; 2 where there is none."""
        group = self._tokens[self._at : self._at + 3]
        if group[:1] != ["{["]:
            return 2
        if len(group) < 3 or group[2] != "]}" or not group[1].isdecimal() or len(group[1]) > 2:
            raise _NotANumberError
        self._at += 3
        return int(group[1])

    def _root(self, value: Fraction, index: int) -> Fraction:
        if index == 2:
            return self._square_root(value)
        if not 3 <= index <= _MAX_INDEX or (value < 0 and index % 2 == 0):
            raise _NotANumberError
        top, bottom = (_whole_root(part, index) for part in (abs(value.numerator), value.denominator))
        if top is None or bottom is None:
            raise _NotANumberError
        return Fraction(top if value >= 0 else -top, bottom)

    def _square_root(self, value: Fraction) -> Fraction:
        if value < 0:
            raise _NotANumberError
        top, bottom = isqrt(value.numerator), isqrt(value.denominator)
        if top * top == value.numerator and bottom * bottom == value.denominator:
            return Fraction(top, bottom)
        if not self._approximate:
            raise _NotANumberError
        self.exact = False
        return Fraction(isqrt(value.numerator * _SCALE * _SCALE // value.denominator), _SCALE)
