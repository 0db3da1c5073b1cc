"""The audit's own grader: text → extraction → normal form → grade. Pure, linear, and it never raises on a text.

    policy    what counts, as data          extract   where the answer stands     numerals  numbers in prose
    tokens    LaTeX spelling undone         normal    structure and keys          arithmetic exact values
    compare   whether two forms match       grader    all of it behind one type

Imports the standard library, msgspec and `schemas.errors`; never `generators`, whose grader is another program.
"""

from verify.grading.extract import Extraction, Rule
from verify.grading.grader import Grade, Grader, Verdict, compile_policy, grade
from verify.grading.policy import POLICIES, Policy

__all__ = [
    "POLICIES",
    "Extraction",
    "Grade",
    "Grader",
    "Policy",
    "Rule",
    "Verdict",
    "compile_policy",
    "grade",
]
