r"""Where the answer stands in a response: the last box, else an answer phrase, else the last number (SMRL
4.4).

Braces are matched, never counted by a pattern of fixed depth; `\{`, `\}` and `\\` are not braces. One pass
over the text at most, whatever the number of boxes or their depth.
"""

import re
from dataclasses import dataclass
from typing import Literal

from verify.grading.numerals import first_number, last_number, plain
from verify.grading.policy import Policy

Rule = Literal["boxed", "phrase", "last-number"]

_BOX = re.compile(r"\\boxed(?![A-Za-z])\s*\{")
_FBOX = re.compile(r"\\fbox(?![A-Za-z])\s*\{")
_EITHER = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*\{")
BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
# A stop ends a sentence where a blank, the end or closing decoration follows; "3.5" has neither.
_SENTENCE_END = re.compile(r"\n|[.!?](?=[\s*\"')]|$)|</")
_LEAD = " \t\r\n:*_`>-–—" + "\u00a0"
_BETWEEN_BOXES = re.compile(r"(?:[\s,;$&]|and|or|\\[()\[\]]|\\quad|\\text\s*\{\s*(?:and|or)\s*\})*")


@dataclass(frozen=True, slots=True)
class Extraction:
    """An answer as it stands in the response: `text[span[0]:span[1]]`, and the rule that found it."""

    answer: str
    rule: Rule
    span: tuple[int, int]


def closing_braces(text: str, opens: list[int]) -> dict[int, int]:
    """Position of the brace that closes each opening one in `opens` (ascending); one that never closes is
    absent.
    """
    if not opens:
        return {}
    wanted, stack, closed = set(opens), [], {}
    for found in BRACE.finditer(text, opens[0]):
        at = found.start()
        sign = text[at]
        if sign == "{":
            stack.append(at)
        elif sign == "}" and stack:
            start = stack.pop()
            if start in wanted:
                closed[start] = at
    return closed


def _boxes(text: str, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    """(start of the command, position of its opening brace) of every box, in order."""
    return [(found.start(), found.end() - 1) for found in pattern.finditer(text)]


def _boxed(text: str, policy: Policy, pattern: re.Pattern[str]) -> tuple[Extraction | None, bool]:
    """The box that answers, and whether the search must end here (`unparsed` by an option)."""
    boxes = _boxes(text, pattern)
    if not boxes:
        return None, False
    # Most responses end in one closed box: match that alone before matching all of them.
    closed = closing_braces(text, [boxes[-1][1]])
    if boxes[-1][1] not in closed or policy.several_boxes == "list":
        if policy.unterminated_box == "to-end" and boxes[-1][1] not in closed:
            start = boxes[-1][1] + 1
            content = text[start:].rstrip()
            if content:
                return Extraction(content, "boxed", (start, start + len(content))), False
        if policy.unterminated_box == "unparsed" and boxes[-1][1] not in closed:
            return None, True
        closed = closing_braces(text, [brace for _, brace in boxes])
    elif not text[boxes[-1][1] + 1 : closed[boxes[-1][1]]].strip() and len(boxes) > 1:
        closed = closing_braces(text, [brace for _, brace in boxes])
    found: list[tuple[int, int, int]] = []
    for command, brace in reversed(boxes):
        if brace not in closed:
            continue
        if not text[brace + 1 : closed[brace]].strip():
            if policy.empty_box == "answer" and not found:
                return None, True
            continue
        if found and not _BETWEEN_BOXES.fullmatch(text, closed[brace] + 1, found[-1][0]):
            break
        found.append((command, brace + 1, closed[brace]))
        if policy.several_boxes == "last":
            break
    if not found:
        return None, False
    found.reverse()
    answer = ", ".join(text[start:end] for _, start, end in found)
    return Extraction(answer, "boxed", (found[0][1], found[-1][2])), False


@dataclass(frozen=True, slots=True)
class Phrases:
    """Answer phrases in lower case, whatever the width of their spaces.

    Each has its own pattern, so that each starts with fixed characters; `needles` are words without which
    none matches.
    """

    patterns: tuple[re.Pattern[bytes], ...]
    needles: tuple[bytes, ...]

    @classmethod
    def of(cls, phrases: tuple[str, ...]) -> "Phrases":
        """Compile the phrases of a policy."""
        words = [[word.lower().encode() for word in phrase.split()] for phrase in phrases if phrase.strip()]
        patterns = tuple(re.compile(rb"\s+".join(map(re.escape, each))) for each in words)
        return cls(patterns, tuple({max(each, key=len) for each in words}))

    def last_end(self, text: str) -> int:
        """Where the last phrase ends, or -1.

        Searched in lower-cased UTF-8: `bytes.lower` folds ASCII and nothing else, so offsets survive, and a
        search without case folding is an order of magnitude faster than one with it.
        """
        folded = text.encode("utf-8", "surrogatepass").lower()
        if not any(needle in folded for needle in self.needles):
            return -1
        end = max((found.end() for pattern in self.patterns for found in pattern.finditer(folded)), default=-1)
        ascii_only = end < 0 or len(folded) == len(text)
        return end if ascii_only else len(folded[:end].decode("utf-8", "surrogatepass"))


def _math_segment(text: str, start: int, end: int) -> tuple[int, int] | None:
    """A formula between math delimiters that begins at `start`, if what follows it does not go on with the
    list.
    """
    for left, right in (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]")):
        if text.startswith(left, start):
            close = text.find(right, start + len(left))
            if close < 0:
                return None
            rest = text[close + len(right) : end].lstrip(" *")
            if rest.startswith((",", "and ", "or ")) and left in rest:
                return None
            return start + len(left), close
    return None


def _after_phrase(text: str, start: int, policy: Policy) -> tuple[int, int] | None:
    """Span of the answer in the sentence that follows an answer phrase."""
    flat = plain(text) if policy.form == "numeric" else text
    body = text[start:]
    start += len(body) - len(body.lstrip(_LEAD if policy.form != "numeric" else _LEAD.replace("-", "")))
    if policy.form != "numeric" and start > 0 and text[start - 1] in "-–—" and text[start : start + 1].strip():
        start -= 1  # a minus sign, not a dash
    stop = _SENTENCE_END.search(text, start)
    end = stop.start() if stop else len(text)
    if policy.form == "numeric":
        equals = flat.rfind("=", start, end)
        return (first_number(flat, equals + 1, end) if equals >= 0 else None) or first_number(flat, start, end)
    formula = _math_segment(text, start, end)
    if formula is not None:
        start, end = formula
    body = text[start:end]
    start += len(body) - len(body.lstrip())
    end -= len(body) - len(body.rstrip(" \t\r\n*_`"))
    return (start, end) if start < end else None


def _marked(text: str, policy: Policy) -> Extraction | None:
    at = text.find("####") if policy.hash_marker == "first" else text.rfind("####")
    if at < 0:
        return None
    line_end = text.find("\n", at)
    span = first_number(plain(text), at + 4, line_end if line_end >= 0 else len(text))
    return Extraction(text[slice(*span)], "phrase", span) if span else None


def extract(text: str, policy: Policy, phrases: Phrases) -> Extraction | None:
    """The answer of a response, or None where nothing in it can be one. Never raises; time linear in the
    text.
    """
    if policy.hash_marker != "off":
        marked = _marked(text, policy)
        if marked is not None:
            return marked
    patterns = {"never": (_BOX,), "fallback": (_BOX, _FBOX), "equal": (_EITHER,)}[policy.fbox]
    for pattern in patterns:
        box, stop = _boxed(text, policy, pattern)
        if box is not None or stop:
            return box
    end = phrases.last_end(text)
    if end >= 0:
        span = _after_phrase(text, end, policy)
        if span is not None:
            return Extraction(text[slice(*span)], "phrase", span)
    span = last_number(plain(text))
    return Extraction(text[slice(*span)], "last-number", span) if span else None
