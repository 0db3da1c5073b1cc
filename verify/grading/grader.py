"""The grader: one policy compiled to functions from text to verdict.

    text ──extract──▶ answer ──normal form──▶ key, value ──compare with the gold's──▶ verdict

A `Grader` holds no state but its policy, compiled patterns and a bounded memo of normal forms: threads may
share it, and it pickles as its policy.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from verify.grading.compare import Comparison
from verify.grading.eta import eta
from verify.grading.extract import BRACE, Extraction, Phrases, Rule, extract
from verify.grading.normal import Form, Normaliser
from verify.grading.numeric import numeric_form
from verify.grading.policy import Policy, resolve_policy

Verdict = Literal["correct", "incorrect", "unparsed"]

_NO_GOLD = frozenset(["none", "nan", "null", "n/a", "na", "undefined", "[]", "{}", "no answer", "unknown", "<na>"])
_MEMO = 8192
_MEMO_LENGTH = 256


@dataclass(frozen=True, slots=True)
class Grade:
    """One response graded.

    `answer` is the extracted answer as it stands in the text, `rule` what found it, `span` where
    (`text[span[0]:span[1]]`); all three are None where the verdict is `unparsed`: nothing in the text can be
    an answer.
    """

    verdict: Verdict
    answer: str | None = None
    rule: Rule | None = None
    span: tuple[int, int] | None = None


class Grader:
    """A compiled policy. Every method is pure, takes any `str`, never raises, and is linear in its input."""

    def __init__(self, policy: str | Policy) -> None:
        self.policy = resolve_policy(policy)
        self._phrases = Phrases.of(self.policy.phrases)
        self._comparison = Comparison.of(self.policy)
        self._normaliser = Normaliser(self.policy)
        self._remembered = lru_cache(maxsize=_MEMO)(self._form)

    def __reduce__(self) -> tuple[type["Grader"], tuple[Policy]]:
        return type(self), (self.policy,)

    def extract(self, text: str) -> Extraction | None:
        """The answer of a response and how it was found; None where there is none."""
        return extract(text, self.policy, self._phrases)

    def form(self, answer: str) -> Form:
        """The normal form of an answer: its key, value and members."""
        return self._remembered(answer) if len(answer) <= _MEMO_LENGTH else self._form(answer)

    def _form(self, answer: str) -> Form:
        if self.policy.form == "eta":
            return Form(eta(answer))
        if self.policy.form == "numeric":
            return numeric_form(answer, self._normaliser)
        return self._normaliser.form(answer)

    def normal_form(self, answer: str) -> str:
        """The vote class of an answer: answers with equal keys are one class, exactly and without any
        tolerance.
        """
        return self.form(answer).key

    def matches(self, answer: str, gold: str) -> bool:
        """Whether an extracted answer is right. Symmetric; within the policy's tolerance for numbers."""
        return self._comparison.match(self.form(answer), self.form(self.bare_gold(gold)))

    def bare_gold(self, gold: str) -> str:
        """The answer of a gold: GSM8K's own files put it behind `####`."""
        return gold.rpartition("####")[2] if "####" in gold else gold

    def grade(self, text: str, gold: str) -> Grade:
        """Extract, normalise and compare."""
        found = self.extract(text)
        if found is None:
            return Grade("unparsed")
        verdict: Verdict = "correct" if self.matches(found.answer, gold) else "incorrect"
        return Grade(verdict, found.answer, found.rule, found.span)

    def usable_gold(self, gold: str) -> str | None:
        """None for a gold that answers can be compared with, else one clause that says what is wrong with
        it.
        """
        bare = self.bare_gold(gold).strip()
        if not bare:
            return "is empty"
        if bare.lower() in _NO_GOLD:
            return f"is {bare!r}, a missing value written as text"
        if not _balanced(bare):
            return "has unbalanced braces"
        if self.policy.form == "numeric" and self.form(bare).value is None:
            return "is not a number"
        if not self.form(bare).key:
            return "says nothing once its spelling is removed"
        return None


def _balanced(text: str) -> bool:
    depth = 0
    for found in BRACE.finditer(text):
        sign = found.group()
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return depth == 0


@lru_cache(maxsize=64)
def compile_policy(policy: str | Policy = "math") -> Grader:
    """The grader of a policy, by name or as data. Raises `UsageError` for an unknown name or a bad
    tolerance.
    """
    return Grader(policy)


def grade(text: str, gold: str, *, policy: str | Policy = "math") -> Grade:
    """Grade one response against one gold answer.

    `policy` is `gsm8k`, `math` (SMRL 4.4; also called `smrl`), `ror` (ROR A.5), or a `Policy` of your own.
    Raises nothing but `UsageError` for an unknown policy.

    >>> grade(r"Thus it is $\\boxed{\\dfrac{1}{2}}$.", "0.5").verdict
    'correct'
    """
    return compile_policy(policy).grade(text, gold)
