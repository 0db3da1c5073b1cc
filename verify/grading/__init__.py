"""The audit's own grader: text → extraction → normal form → grade.

Pure, deterministic, linear in its input; it never raises on a text, and says how it came to its verdict.

    policy      what counts, as data          extract    where the answer stands
    numerals    numbers in prose              tokens     LaTeX spelling undone, by the tables of `symbols`
    rewrites    one spelling for one thing    normal     structure, and the key of a vote class
    arithmetic  exact values                  compare    whether two forms match
    numeric     GSM8K's one number            eta        ROR's map
    grader      all of it behind one type     bulk       the same at the speed of reading Parquet

For graders of other people: `strategies` and `properties` (also for pytest), `trial` with its `worker`,
`adapters`. The grader itself imports the standard library, msgspec and `schemas.errors`; nothing here
imports `generators`, whose grader is another program.
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
