r"""Characters to canonical tokens: the spelling of LaTeX is undone here, in one pass and without recursion.

A token is a string: a numeral, one letter, a control sequence (`\pi`), a bracket, an operator, or a word,
which starts with `"` so that words and products of letters stay apart until the key is written. The braces
that remain (`{`, `}`) delimit arguments and nothing else, are always balanced, and every argument has them:
`\frac12` and `\frac{1}{2}` leave here alike, and so do `x^2` and `x^{2}`.
"""

import re
import unicodedata

from verify.grading import symbols
from verify.grading.numerals import is_grouped, plain
from verify.grading.policy import Policy

#: A longer answer is compared by its characters: no answer of a benchmark comes near, and the time stays
#: bounded.
MAX_TOKENS = 50_000
_MAX_CHARACTERS = 300_000

_TOKEN = re.compile(
    r"\\(?:begin|end)\s*\{\s*(?P<environment>[A-Za-z]+\*?)\s*\}"
    r"|(?P<blank>\s+)"
    r"|\\(?P<command>[A-Za-z]+|.|$)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9}(?![A-Za-z0-9]))?)"
    r"|(?P<letters>[A-Za-z]+)"
    rf"|(?P<raised>[{''.join(symbols.RAISED)}]+)|(?P<lowered>[{''.join(symbols.LOWERED)}]+)"
    r"|(?P<foreign>\d+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_GROUP_COMMA = re.compile(r"\{\s*,\s*\}(?=\s*[0-9])")
_THIN_COMMA = re.compile(r"(?<=[0-9]),\s*(?:\\!\s*)+(?=[0-9])")
_THIN_SPACE = re.compile(r"(?<=[0-9])(?:\\,|\u2009|\u202f)(?=[0-9]{3}(?![0-9]))")
_THOUSANDS = re.compile(r"[0-9]+(?:[,\x1f][0-9]+)+")
_RAISED = str.maketrans(symbols.RAISED)
_LOWERED = str.maketrans(symbols.LOWERED)
_JOIN = "\x1f"  # a comma that its author marked as part of a number; not a character of any answer


def _join_thousands(text: str) -> str:
    """Take the commas out of grouped numbers. Within brackets a bare comma divides members: `(1,234)` is a
    pair.
    """
    if not any(sign in text for sign in (",", "\\,", "\u2009", "\u202f")):
        return text
    text = _GROUP_COMMA.sub(_JOIN, text) if "{" in text else text
    text = _THIN_COMMA.sub(_JOIN, text) if "\\!" in text else text
    text = _THIN_SPACE.sub(_JOIN, text)
    pieces, at, depth, scanned = [], 0, 0, 0
    for found in _THOUSANDS.finditer(text):
        between = text[scanned : found.start()]
        depth += sum(map(between.count, ("(", "[", "\\{", "\\)", "\\]")))
        depth -= sum(map(between.count, (")", "]", "\\}", "\\(", "\\[")))
        scanned = found.start()
        run = found.group()
        marked = _JOIN in run
        if marked and is_grouped(run.replace(_JOIN, ",")):
            joined = run.replace(_JOIN, "").replace(",", "") if depth <= 0 or "," not in run else run.replace(_JOIN, "")
        elif marked:
            joined = ",".join(
                part.replace(_JOIN, "") if is_grouped(part.replace(_JOIN, ",")) else part.replace(_JOIN, ",")
                for part in run.split(",")
            )
        elif depth <= 0 and is_grouped(run) and text[found.start() - 1 : found.start()] != ".":
            joined = run.replace(",", "")
        else:
            continue
        pieces += [text[at : found.start()], joined]
        at = found.end()
    pieces.append(text[at:])
    return "".join(pieces).replace(_JOIN, "")


class _Frame:
    """One open group: where its output starts, what closes it, and the arguments that are still owed inside
    it.
    """

    __slots__ = ("closer", "emit", "mode", "owed", "start")

    def __init__(self, closer: str, mode: str, *, emit: bool, start: int) -> None:
        self.closer, self.mode, self.emit, self.start = closer, mode, emit, start
        self.owed: list[list[int]] = []  # [arguments left, 1 if this command is itself wrapped in braces]


class Tokenizer:
    """One answer being read. `tokens()` is the whole interface; a `Tokenizer` is used once."""

    def __init__(self, text: str, policy: Policy) -> None:
        self._source = _join_thousands(text) if len(text) <= _MAX_CHARACTERS else text
        self._policy = policy
        self._out: list[str] = []
        self._frames = [_Frame("", "math", emit=False, start=0)]
        self._mode = self._pending_mode = ""  # how the next group is read: set by the command in front of it
        self.work = 0

    def tokens(self) -> list[str] | None:
        """Canonical tokens, or None where there are more than `MAX_TOKENS`."""
        if len(self._source) > _MAX_CHARACTERS:
            return None
        skip_dot = False
        for found in _TOKEN.finditer(self._source):
            self.work += 1
            if self.work > MAX_TOKENS:
                return None
            kind = found.lastgroup
            value = found.group(kind) if kind else found.group()
            if kind == "blank":
                continue
            if skip_dot:
                skip_dot = False
                if value == ".":
                    continue
                if kind == "number" and value[0] == ".":
                    value = value[1:]
            self._mode, self._pending_mode = self._pending_mode, ""
            if kind == "command":
                skip_dot = self._command(value)
            elif kind == "number":
                self._number(value)
            elif kind == "letters":
                self._letters(value)
            elif kind == "foreign":
                self._number(plain(value))
            elif kind == "raised":
                self._raised("^", value.translate(_RAISED))
            elif kind == "lowered":
                self._raised("_", value.translate(_LOWERED))
            elif kind == "environment":
                self._environment(value, begins=found.group().startswith("\\begin"))
            else:
                self._other(value)
        while len(self._frames) > 1:
            self._close_frame()
        self._settle(self._frames[0])
        return self._out

    # -- arguments

    def _begin_atom(self) -> None:
        """An argument without braces gets them."""
        owed = self._frames[-1].owed
        if owed:
            self._out.append("{")

    def _end_atom(self) -> None:
        owed = self._frames[-1].owed
        while owed:
            self._out.append("}")
            owed[-1][0] -= 1
            if owed[-1][0]:
                return
            wrapped = owed.pop()[1]
            if not wrapped:
                return

    def _atom(self, *tokens: str) -> None:
        self._begin_atom()
        self._out.extend(tokens)
        self._end_atom()

    def _owe(self, command: str, count: int) -> None:
        """A command that takes `count` arguments; where it is an argument itself its braces close after its
        last.
        """
        frame = self._frames[-1]
        wrapped = bool(frame.owed)
        if wrapped:
            self._out.append("{")
        self._out.append(command)
        frame.owed.append([count, int(wrapped)])

    def _settle(self, frame: _Frame) -> None:
        """Arguments that never came are empty ones: `\\sqrt` at the end is `\\sqrt{}`."""
        while frame.owed:
            count, wrapped = frame.owed.pop()
            self._out.extend(["{", "}"] * count)
            if wrapped:
                self._out.append("}")
                if frame.owed:
                    frame.owed[-1][0] -= 1
                    if not frame.owed[-1][0] and frame.owed[-1][1] == 0:
                        frame.owed.pop()

    def _open_frame(self, closer: str, mode: str) -> None:
        frame = self._frames[-1]
        emit = bool(frame.owed) and mode != "discard"
        if emit:
            self._out.append("{")
        self._frames.append(_Frame(closer, mode, emit=emit, start=len(self._out)))

    def _close_frame(self) -> None:
        frame = self._frames.pop()
        self._settle(frame)
        if frame.mode == "discard":
            del self._out[frame.start :]
        elif frame.mode == "option":
            self._out.append("]}")
        elif frame.emit:
            self._drop_degree_or_end(frame)

    def _drop_degree_or_end(self, frame: _Frame) -> None:
        """Close an argument; `^{\\circ}` is a degree sign, not an exponent."""
        out, owed = self._out, self._frames[-1].owed
        if len(out) == frame.start + 1 and out[-1] == "\\circ" and out[-3:-1] == ["^", "{"] and not owed[-1][1]:
            del out[-3:]
            owed.pop()
            self._atom("\\degree")
            return
        self._end_atom()

    # -- one kind of token each

    def _command(self, name: str) -> bool:
        """A control sequence. True where a full stop right behind it belongs to it (`\\left.`)."""
        name = symbols.SAME.get(name, name)
        if name in symbols.SIZED:
            return True
        if name in symbols.CHARACTERS:
            character = symbols.CHARACTERS[name]
            if character == "and":
                self._words("and")
            elif character:
                self._atom(character)
        elif name in symbols.TEXT:
            self._pending_mode = "text"
        elif name in symbols.DISCARDED:
            self._pending_mode = "discard"
        elif name in symbols.INVISIBLE or name in symbols.FONTS or not name:
            pass
        elif name == "\\":
            self._out.append("\\\\")
        elif name == "circ" and self._out[-1:] == ["^"] and self._frames[-1].owed and not self._frames[-1].owed[-1][1]:
            self._out.pop()
            self._frames[-1].owed.pop()
            self._atom("\\degree")
        elif name.startswith("mathbb{"):
            self._atom("\\mathbb", "{", name[7:-1], "}")
        elif name in symbols.ARGUMENTS:
            self._owe("\\" + name, symbols.ARGUMENTS[name])
        else:
            self._atom("\\" + name)
        return False

    def _number(self, value: str) -> None:
        frame = self._frames[-1]
        if frame.owed and self._out[-1] not in ("^", "_"):
            # TeX reads one digit as an argument; after ^ and _ people mean the whole numeral.
            at = 0
            while frame.owed and at < len(value):
                self._atom(value[at])
                at += 1
            value = value[at:]
        if value:
            self._atom(value)

    def _words(self, word: str) -> None:
        """A word of prose: folded unless it is one letter or a short name in capitals."""
        if self._policy.text_case and len(word) > 1 and not (word.isupper() and len(word) < 4):
            word = word.lower()
        self._atom('"' + word)

    def _letters(self, value: str) -> None:
        plain_words = self._policy.plain_words
        if plain_words and (value in symbols.FUNCTIONS or value.lower() == "infinity"):
            self._atom("\\infty" if value.lower() == "infinity" else "\\" + value)
        elif self._frames[-1].mode == "text" or value in symbols.BARE_WORDS:
            self._words(value)
        elif plain_words and value in symbols.PLAIN_WORDS:
            self._command(symbols.PLAIN_WORDS[value][1:])
        elif value in ("and", "or"):
            self._words(value)
        else:
            # `Evelyn` can only be a word: its case is folded as in `\text{Evelyn}`.
            folded = value.lower() if self._policy.text_case and len(value) > 2 and value.istitle() else value
            for letter in folded:
                self._atom(letter)

    def _environment(self, name: str, *, begins: bool) -> None:
        self._out.append(("\\begin{" if begins else "\\end{") + name + "}")
        if begins and name == "array":
            self._pending_mode = "discard"

    def _other(self, sign: str) -> None:
        frame = self._frames[-1]
        if sign == "{":
            inherited = frame.mode if frame.mode in ("text", "discard") else "math"
            self._open_frame("}", self._mode or inherited)
        elif sign == "}":
            # A brace that closes nothing is no part of the answer.
            while len(self._frames) > 1 and self._frames[-1].closer != "}":
                self._close_frame()
            if len(self._frames) > 1:
                self._close_frame()
        elif sign == "]" and frame.mode == "option":
            self._close_frame()
        elif sign == "[" and frame.owed and self._out[-1] == "\\sqrt":
            self._out.append("{[")
            self._frames.append(_Frame("]", "option", emit=False, start=len(self._out)))
        elif sign == "(" and frame.owed and self._out[-1] in ("\\sqrt", "]}"):
            self._open_frame(")", "root")
        elif frame.mode == "root" and sign in "()":
            self._parenthesis(sign, frame)
        elif sign in "^_":
            self._script(sign)
        else:
            self._character(sign)

    def _parenthesis(self, sign: str, frame: _Frame) -> None:
        if sign == "(":
            self._frames.append(_Frame(")", "root", emit=False, start=-1))
            self._out.append("(")
        elif frame.start < 0:
            self._close_frame()
            self._out.append(")")
        else:
            self._close_frame()

    def _script(self, sign: str) -> None:
        if self._frames[-1].mode == "text" and sign == "_":
            return
        if sign == "^" and self._out[-1:] == ["^"]:
            return
        self._owe(sign, 1)

    def _character(self, sign: str) -> None:
        if sign == "=" and self._out[-1:] in (["<"], [">"]) and not self._frames[-1].owed:
            self._out[-1] = "\\le" if self._out[-1] == "<" else "\\ge"
        elif sign.isascii():
            if sign.isprintable() and sign not in '$~`"':
                self._atom(sign)
        elif sign in symbols.UNICODE:
            token = symbols.UNICODE[sign]
            if len(token) > 1 and token != "\\$":
                self._command("R" if token == "\\mathbb{R}" else token[1:])
            else:
                self._atom(token)
        elif sign in symbols.VULGAR:
            top, bottom = symbols.VULGAR[sign]
            self._atom("\\frac", "{", top, "}", "{", bottom, "}")
        elif unicodedata.category(sign)[0] not in "CZ":
            self._words(sign)

    def _raised(self, script: str, value: str) -> None:
        """Raised or lowered characters: neighbours are one exponent, a sign in it a token of its own."""
        self._owe(script, 1)
        sign = [value[0]] if value[0] in "+-" else []
        self._atom(*sign, *([value[len(sign) :]] if len(value) > len(sign) else []))
