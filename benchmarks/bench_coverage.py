"""Do 95% intervals at equal cost cover the truth 95% of the time?

    python benchmarks/bench_coverage.py [data sets, default 2500]

Two populations of questions, harder ones longer: one where errors repeat, so that the curve is flat, and one
where every error is different, so that it is steep. Each data set is 150 questions, each with a pool of 16
answers, a method whose cost is proportional to the question's length and one that spends much more where it
fails (adaptive). The truth is the same estimate on all questions of all data sets together. Takes about ten
minutes; not part of the test suite.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verify.statistics.curve import exact_curve
from verify.statistics.equalcost import Design, bootstrap_at_equal_cost
from verify.statistics.interpolation import curve_at_cost
from verify.statistics.outcome import Interval, Unverifiable
from verify.statistics.pool import Pool

SIZES, POOL, QUESTIONS, RESAMPLES = (1, 2, 3, 4, 6, 8, 12, 16), 16, 150, 2000
METHODS = ("proportional", "adaptive")


@dataclass(frozen=True)
class Population:
    curve_cost: NDArray[np.float64]
    curve_accuracy: NDArray[np.float64]
    method_cost: NDArray[np.float64]
    method_accuracy: NDArray[np.float64]


def population(count: int, steep: bool, rng: np.random.Generator) -> Population:
    skill = rng.beta(6, 7, count) if steep else rng.beta(1.2, 0.8, count)
    length = np.exp(rng.normal(5.5, 0.35, count) + 0.8 * (1 - skill))
    pools = []
    for q in range(count):
        wrong = np.full(40, 1 / 40) if steep else rng.dirichlet(np.full(4, 0.6))
        answers = rng.choice(wrong.size + 1, POOL, p=np.concatenate([[skill[q]], wrong * (1 - skill[q])]))
        pools.append(Pool(answers, answers == 0, costs=length[q] * rng.lognormal(0, 0.3, POOL)))
    curve = exact_curve(pools, SIZES)
    right = (rng.random((count, 2)) < np.column_stack([skill**0.9, skill**0.5])).astype(float)
    # A heavy tail of retries where the adaptive method fails; few and cheap ones where it does not.
    retries = rng.geometric(np.where(right[:, 1] == 1, 0.8, 0.2), count) - 1
    cost = np.column_stack(
        [4.4 * length * rng.lognormal(0, 0.15, count), length * (1 + retries) * rng.lognormal(0, 0.2, count)]
    )
    return Population(curve.cost, curve.accuracy, cost, right)


def truth(everything: Population) -> list[float]:
    found = []
    for column in range(len(METHODS)):
        point = curve_at_cost(
            SIZES,
            everything.curve_cost.mean(axis=0),
            everything.curve_accuracy.mean(axis=0),
            float(everything.method_cost[:, column].mean()),
        )
        if isinstance(point, Unverifiable):
            raise SystemExit(point.reason)
        found.append(float(everything.method_accuracy[:, column].mean()) - point.accuracy)
    return found


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 2500
    spread = 100 * (0.95 * 0.05 / sets) ** 0.5
    print(f"{sets} data sets of {QUESTIONS}, {RESAMPLES} resamples, simulation error {spread:.1f} points")
    for steep in (False, True):
        coverage(sets, steep, np.random.default_rng([2024, steep]))


def coverage(sets: int, steep: bool, rng: np.random.Generator) -> None:
    everything = population(sets * QUESTIONS, steep, rng)
    true = truth(everything)
    curve = ", ".join(f"{a:.2f}" for a in everything.curve_accuracy.mean(axis=0))
    print(f"{'steep' if steep else 'flat'} curve {curve}; true differences {np.round(true, 3).tolist()}")
    hits: Counter[tuple[str, str, str]] = Counter()
    lost: Counter[str] = Counter()
    for number in range(sets):
        rows = slice(number * QUESTIONS, (number + 1) * QUESTIONS)
        for design in Design:
            result = bootstrap_at_equal_cost(
                SIZES,
                everything.curve_cost[rows],
                everything.curve_accuracy[rows],
                everything.method_cost[rows],
                everything.method_accuracy[rows],
                rng=rng,
                resamples=RESAMPLES,
                design=design,
            )
            for method, value, outcome in zip(METHODS, true, result.comparisons(), strict=True):
                if isinstance(outcome, Unverifiable):
                    lost[method] += 1
                    continue
                for interval in (outcome.percentile, outcome.studentised):
                    if isinstance(interval, Interval):
                        covered = interval.low <= value <= interval.high
                        hits[method, design.value, interval.method] += covered
    for (method, design, interval), count in sorted(hits.items()):
        print(f"  {method:<14} {design:<12} {interval:<12} {100 * count / sets:5.1f}%")
    if lost:
        print(f"  unverifiable: {dict(lost)}")


if __name__ == "__main__":
    main()
