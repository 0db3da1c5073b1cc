"""How fast the statistics core is: CPU seconds, one thread, and the ratio to SciPy measured in the same run.

    make bench-stats

Wall time on a shared machine says little; the ratios and the growth rates are what to compare.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from verify.statistics.bootstrap import (
    bootstrap_means,
    bootstrap_p_value,
    comparison,
    percentile_interval,
    resample_weights,
    weight_chunks,
)
from verify.statistics.curve import Curve, exact_curve
from verify.statistics.equalcost import Design, bootstrap_at_equal_cost
from verify.statistics.interpolation import curves_at_costs
from verify.statistics.pool import Pool, TieRule

QUESTIONS, RESAMPLES, METHODS, SETTINGS = 150, 10_000, 7, 6


def cpu(call: Callable[[], object], repeats: int = 5) -> float:
    """Median CPU seconds of a call."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return statistics.median(spent)


def random_pool(size: int, rng: np.random.Generator, classes: int = 6) -> Pool:
    """A question of random difficulty, one tenth of its answers unparsed."""
    answers = rng.choice(classes, size, p=rng.dirichlet(np.full(classes, 0.5)))
    parsed = rng.random(size) > 0.1
    return Pool(answers, (answers == 0) & parsed, parsed=parsed, costs=rng.integers(100, 900, size))


def scattered_pool(size: int, rng: np.random.Generator) -> Pool:
    """A hard question: two in five answers right, the others over dozens of classes."""
    answers = np.where(rng.random(size) < 0.4, 0, rng.zipf(1.5, size) % 60)
    return Pool(answers, answers == 0, costs=rng.integers(100, 900, size))


def line(name: str, seconds: float, bar: float | None = None) -> None:
    verdict = "" if bar is None else f"   bar {bar:g} s: {'met' if seconds <= bar else 'MISSED'}"
    print(f"{name:<62} {seconds:8.3f} s{verdict}")


def bench_bootstrap(rng: np.random.Generator) -> None:
    everything = METHODS * SETTINGS
    differences = rng.integers(-1, 2, (QUESTIONS, everything)).astype(float)
    line("resampling weights, 10,000 x 150", cpu(lambda: resample_weights(QUESTIONS, RESAMPLES, rng=rng)))
    ours = cpu(lambda: bootstrap_means(differences, rng=rng))
    line("fixed design, 42 x 10,000 x 150, one question set", ours, 0.2)

    def report_all() -> None:
        replicates = bootstrap_means(differences, rng=rng)
        for column in range(everything):
            comparison(replicates, column)

    reported = cpu(report_all)
    line("  the same with intervals and p of every comparison", reported)

    sizes = [1, 2, 3, 4, 6, 8, 12, 16]
    curve = exact_curve([random_pool(16, rng) for _ in range(QUESTIONS)], sizes)
    cost = rng.uniform(1, 15, METHODS) * curve.cost[:, :1] * rng.uniform(0.8, 1.2, (QUESTIONS, METHODS))
    correct = (rng.random((QUESTIONS, METHODS)) < 0.6).astype(float)

    def one_question_set() -> None:
        many_cost, many_correct = np.tile(cost, SETTINGS), np.tile(correct, SETTINGS)
        bootstrap_at_equal_cost(sizes, curve.cost, curve.accuracy, many_cost, many_correct, rng=rng)

    def six_settings() -> None:
        for _ in range(SETTINGS):
            bootstrap_at_equal_cost(sizes, curve.cost, curve.accuracy, cost, correct, rng=rng)

    def six_fixed() -> None:
        for _ in range(SETTINGS):
            bootstrap_at_equal_cost(sizes, curve.cost, curve.accuracy, cost, correct, rng=rng, design=Design.FIXED)

    line("re-estimated, 42 methods of one question set", cpu(one_question_set), 0.2)
    line("re-estimated, 6 question sets x 7 methods", cpu(six_settings))
    line("fixed,        6 question sets x 7 methods", cpu(six_fixed))

    def report_equal_cost() -> None:
        bootstrap_at_equal_cost(sizes, curve.cost, curve.accuracy, cost, correct, rng=rng).comparisons()

    def scipy_each(batch: int | None) -> None:
        for column in differences.T:
            stats.bootstrap((column,), np.mean, n_resamples=RESAMPLES, method="percentile", batch=batch, rng=rng)

    def scipy_together(batch: int) -> None:
        stats.bootstrap(
            (differences,), np.mean, n_resamples=RESAMPLES, method="percentile", batch=batch, axis=0, rng=rng
        )

    def scipy_equal_cost(batch: int) -> None:
        stats.bootstrap(
            (np.arange(QUESTIONS),),
            lambda picks, **_: equal_cost_of(picks, curve, cost, correct),
            n_resamples=RESAMPLES,
            method="percentile",
            batch=batch,
            rng=rng,
        )

    means = {f"fixed, one call each, batch {b}": cpu(lambda b=b: scipy_each(b), 3) for b in (None, 500)}
    means |= {f"fixed, one call for 42, batch {b}": cpu(lambda b=b: scipy_together(b), 3) for b in (100, 1000)}
    matched = {f"re-estimated, one call for 7, batch {b}": cpu(lambda b=b: scipy_equal_cost(b), 3) for b in (100, 1000)}
    for name, seconds in (means | matched).items():
        line(f"scipy.stats.bootstrap, {name}", seconds)
    lean = cpu(lambda: percentiles_only(differences, rng))
    line("ours, fixed, percentile interval and p of 42, nothing else", lean)
    ratio("fixed, like for like (percentile and p)", min(means.values()), lean)
    ratio("fixed, ours with bootstrap-t as well", min(means.values()), reported)
    ratio("re-estimated, ours with bootstrap-t as well", min(matched.values()), cpu(report_equal_cost))


def percentiles_only(differences: NDArray[np.float64], rng: np.random.Generator) -> None:
    values = np.concatenate([weights @ differences for _, weights in weight_chunks(QUESTIONS, RESAMPLES, rng=rng)])
    for column in np.ascontiguousarray(values.T / QUESTIONS):
        percentile_interval(column)
        bootstrap_p_value(column)


def equal_cost_of(
    picks: NDArray[np.int64],
    curve: Curve,
    cost: NDArray[np.float64],
    correct: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(methods, resamples) re-estimated differences, as a statistic that SciPy can call on many resamples."""
    axis = picks.ndim - 1
    price, height = curve.cost[picks].mean(axis=axis), curve.accuracy[picks].mean(axis=axis)
    spent, right = cost[picks].mean(axis=axis), correct[picks].mean(axis=axis)
    if picks.ndim == 1:
        return right - [np.interp(c, price, height) for c in spent]
    return (right - curves_at_costs(price, height, spent).accuracy).T


def ratio(name: str, theirs: float, ours: float) -> None:
    times = theirs / ours
    print(f"best SciPy / ours, {name:<45} {times:6.1f} x   bar 5 x: {'met' if times >= 5 else 'MISSED'}")


def bench_curves(rng: np.random.Generator) -> None:
    pools = [random_pool(16, rng) for _ in range(900)]
    for ties in (TieRule.RANDOM, TieRule.INDEX):
        seconds = cpu(lambda ties=ties: exact_curve(pools, range(1, 17), ties=ties), repeats=3)
        line(f"exact curve, 900 questions, K=16, every N, ties {ties}", seconds, 0.5)
    large = [scattered_pool(256, rng) for _ in range(3)]
    for ties in (TieRule.RANDOM, TieRule.INDEX):
        seconds = cpu(lambda ties=ties: exact_curve(large, range(1, 129), ties=ties), repeats=3) / len(large)
        line(f"exact curve, one question, K=256, N up to 128, ties {ties}", seconds, 0.1)


def bench_growth(rng: np.random.Generator) -> None:
    print("growth, one question, every N up to K/2, ties random (exponent: log2 of the ratio to half the size)")
    before = None
    for size in (64, 128, 256, 512):
        pools = [scattered_pool(size, rng) for _ in range(2)]
        seconds = cpu(lambda p=pools, s=size: exact_curve(p, range(1, s // 2 + 1)), repeats=3) / len(pools)
        exponent = "" if before is None else f"   exponent {np.log2(seconds / before):.1f}"
        print(f"  K={size:<5} {seconds:8.4f} s{exponent}")
        before = seconds
    print("growth, questions at K=16")
    before = None
    for count in (150, 300, 600, 1200):
        pools = [random_pool(16, rng) for _ in range(count)]
        seconds = cpu(lambda p=pools: exact_curve(p, range(1, 17)), repeats=3)
        exponent = "" if before is None else f"   exponent {np.log2(seconds / before):.1f}"
        print(f"  Q={count:<5} {seconds:8.4f} s{exponent}")
        before = seconds


def main() -> None:
    rng = np.random.default_rng(7)
    bench_bootstrap(rng)
    bench_curves(rng)
    bench_growth(rng)


if __name__ == "__main__":
    main()
