"""Claims without generations: what a paper's printed numbers say of each other.

    values        printed strings as exact intervals, and their arithmetic
    grammar       expressions in claims files: parsed, never run
    lattice       which shares whole numbers of questions can give
    exact         sign test, McNemar, Holm and its inverse
    grid          tables as cells with intervals
    evaluate      expressions over tables, in three-valued logic
    functions, procedures, arguments   what expressions can call
    paper         what every check may look at
    granularity   whether whole numbers can print so
    columns       formulas, interval ends, p-values
    question_sets sizes that the cells pin down
    sentences     statements over tables, and the rows that would rescue them
    pairs         the paired 2×2 rebuilt, its tests replayed
    run           the whole flow

A check fails only where no point of the intervals satisfies it. Nothing here reads a release; `schemas` and
`verify.printed`, `verify.claims` are all that it imports.
"""

from verify.consistency.run import check_claims, check_file

__all__ = ["check_claims", "check_file"]
