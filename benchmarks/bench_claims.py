"""False accusations and power of `audit claims` on random papers; `make bench-claims` or run it by hand.

Right papers must yield nothing impossible or contradictory; each kind of planted error must be found at the rate
that its power predicts (within four standard errors).
"""

import math
import sys
import time
from collections import Counter

import numpy as np

from generators.paper_errors import ERRORS, plant
from generators.paper_numbers import MODES
from generators.papers import claims_of, random_paper
from schemas.claims import Rounding
from verify.consistency import check_claims


def accusations(count: int, seed: int) -> tuple[int, Counter[str], Counter[str]]:
    """Papers with anything against them, the findings by standing, and papers by way of rounding."""
    rng = np.random.default_rng(seed)
    accused, standings, modes = 0, Counter[str](), Counter[str]()
    for index in range(count):
        mode = MODES[index % len(MODES)]
        paper = random_paper(rng, mode=mode)
        # As declared, undeclared where digits are cut, or "any".
        known: Rounding = "down" if mode == "down" else "up" if mode == "up" else "nearest"
        choices: list[Rounding] = [known, "any", "nearest" if mode == "down" else known]
        rounding = choices[index // len(MODES) % 3]
        report = check_claims(claims_of(paper, rounding=rounding))
        # Where digits are cut and the file does not say so, a failure may be conditional on rounding to nearest.
        undeclared = mode == "down" and rounding == "nearest"
        wrong = ("impossible", "contradiction") + (() if undeclared else ("conditional", "undecided"))
        refuted = [finding for finding in report.findings if finding.standing in wrong]
        accused += bool(refuted)
        modes[mode] += 1
        standings.update(finding.standing for finding in report.findings)
        for finding in refuted[:3]:
            print(f"  seed {seed}, paper {index} ({mode}): {finding.id}: {finding.message}")
    return accused, standings, modes


def power(kind: str, count: int, seed: int) -> tuple[int, float, float]:
    """How often an error of this kind was found, how often it should be, and the standard error of that."""
    rng = np.random.default_rng([seed, sorted(ERRORS).index(kind)])
    found, expected, variance = 0, 0.0, 0.0
    for _ in range(count):
        planted = plant(kind, rng)
        report = check_claims(planted.claims)
        (finding,) = [one for one in report.findings if one.id == planted.finding]
        found += finding.standing != "consistent"
        expected += planted.chance
        variance += planted.chance * (1 - planted.chance)
    return found, expected, math.sqrt(variance)


def main(papers: int = 2000, each: int = 100, seed: int = 20261130) -> int:
    start = time.perf_counter()
    accused, standings, modes = accusations(papers, seed)
    print(f"{papers} right papers ({dict(modes)}): {accused} accused; findings {dict(standings)}")
    print(f"{(time.perf_counter() - start) / papers * 1000:.1f} ms a paper")
    failed = accused > 0
    for kind in ERRORS:
        found, expected, error = power(kind, each, seed)
        off = abs(found - expected) > 4 * error + 1e-9
        failed = failed or off
        mark = "  <-- off" if off else ""
        print(f"{kind:36} found {found:4} of {each}, predicted {expected:6.1f} ± {error:.1f}{mark}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
