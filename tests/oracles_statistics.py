"""Slow, independent second implementations: enumeration and plain Python arithmetic."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from math import comb


def vote_labels(answers, correct, parsed, unparsed):
    """The label that each answer votes for (None: no vote), and the set of correct labels."""
    labels = []
    for i, (answer, ok) in enumerate(zip(answers, parsed, strict=True)):
        if ok:
            labels.append(("answer", answer))
        else:
            labels.append({"abstain": None, "class": ("unparsed",), "singletons": ("unparsed", i)}[unparsed])
    return labels, {label for label, right in zip(labels, correct, strict=True) if right}


WHOLE = 2520  # divisible by 1 .. 10: a split vote among up to ten classes stays an integer


def votes_in_order(order, labels, right):
    """By tie rule, the chance (in units of 1/WHOLE) that the vote over the answers in `order` is correct."""
    tally = Counter(labels[i] for i in order if labels[i] is not None)
    if not tally:
        return dict.fromkeys(("random", "wrong", "right", "earliest"), 0)
    most = max(tally.values())
    tied = [label for label, count in tally.items() if count == most]  # insertion order = first met
    hits = sum(label in right for label in tied)
    return {
        "random": WHOLE * hits // len(tied),
        "wrong": WHOLE * (hits == len(tied)),
        "right": WHOLE * (hits > 0),
        "earliest": WHOLE * (tied[0] in right),  # `index` on a sorted order, `first` on a draw order
    }


def enumerated_curve(answers, correct, parsed, costs, unparsed, sizes):
    """{tie rule: {size: (P(correct), E[cost], E[cost * correct], Var[cost])}} over all subsets, exactly."""
    labels, right = vote_labels(answers, correct, parsed, unparsed)
    table = {"random": {}, "wrong": {}, "right": {}, "index": {}}
    for size in sizes:
        subsets = list(combinations(range(len(answers)), size))
        votes = [votes_in_order(s, labels, right) for s in subsets]
        paid = [sum(costs[i] for i in s) for s in subsets]
        n = len(subsets)
        mean = Fraction(sum(paid), n)
        variance = Fraction(sum(c * c for c in paid), n) - mean**2
        for ties, by_size in table.items():
            won = [v["earliest" if ties == "index" else ties] for v in votes]
            joint = sum(w * c for w, c in zip(won, paid, strict=True))
            by_size[size] = (Fraction(sum(won), n * WHOLE), mean, Fraction(joint, n * WHOLE), variance)
    return table


def enumerated_first_in_draw_order(answers, correct, parsed, unparsed, size):
    """P(correct) when ties go to the class met first, over all ordered draws."""
    labels, right = vote_labels(answers, correct, parsed, unparsed)
    orders = list(permutations(range(len(answers)), size))
    return Fraction(sum(votes_in_order(o, labels, right)["earliest"] for o in orders), len(orders) * WHOLE)


def binary_vote(right, wrong, size):
    """Majority of two classes by the hypergeometric law, ties split: for pools too large to enumerate."""
    total = Fraction(0)
    for hits in range(max(0, size - wrong), min(right, size) + 1):
        ways = comb(right, hits) * comb(wrong, size - hits)
        if 2 * hits > size:
            total += ways
        elif 2 * hits == size:
            total += Fraction(ways, 2)
    return total / comb(right + wrong, size)


def mcnemar_by_counting(first_only, second_only):
    """Exact and mid-p as fractions, from the binomial coefficients of b + c fair coins."""
    total, fewer = first_only + second_only, min(first_only, second_only)
    tail = Fraction(sum(comb(total, k) for k in range(fewer + 1)), 2**total)
    point = Fraction(comb(total, fewer), 2**total)
    return min(Fraction(1), 2 * tail), min(Fraction(1), 2 * tail - point)


def bootstrap_law(wins, losses, questions):
    """{sum: probability} of the resampled sum of `wins` differences +1, `losses` -1, the rest 0."""
    step = {1: wins / questions, -1: losses / questions, 0: 1 - (wins + losses) / questions}
    law = {0: 1.0}
    for _ in range(questions):
        grown = {}
        for value, chance in law.items():
            for move, weight in step.items():
                grown[value + move] = grown.get(value + move, 0.0) + chance * weight
        law = grown
    return law


def law_quantile(law, probability):
    """The least sum whose cumulative probability reaches `probability`."""
    total = 0.0
    for value in sorted(law):
        total += law[value]
        if total >= probability:
            return value
    return max(law)


def holm_by_closed_testing(p_values):
    """By the closure of Bonferroni tests: the largest |I| min p over the sets I that hold each one."""
    indices = range(len(p_values))
    sets = [s for size in indices for s in combinations(indices, size + 1)]
    return [min(1.0, max(len(s) * min(p_values[j] for j in s) for s in sets if i in s)) for i in indices]


def romano_wolf_by_steps(estimates, replicates):
    """Step-down adjusted p, one hypothesis removed a step, the maximum taken anew over those that remain."""
    resamples, columns = len(replicates), len(estimates)
    scales = []
    for j in range(columns):
        column = [row[j] for row in replicates]
        mean = sum(column) / resamples
        scales.append((sum((v - mean) ** 2 for v in column) / (resamples - 1)) ** 0.5)
    observed = [abs(e) / s for e, s in zip(estimates, scales, strict=True)]
    remaining, adjusted, floor = set(range(columns)), [None] * columns, 0.0
    while remaining:
        top = max(remaining, key=lambda j: observed[j])
        exceed = 0
        for row in replicates:
            largest = max(abs(row[j] - estimates[j]) / scales[j] for j in remaining)
            exceed += largest >= observed[top] - 1e-12
        floor = max(floor, (exceed + 1) / (resamples + 1))
        adjusted[top] = floor
        remaining.remove(top)
    return adjusted


def curve_by_hand(costs, accuracies, cost):
    """Piecewise linear reading, clamped at both ends, written as a walk along the segments."""
    if cost <= costs[0]:
        return accuracies[0]
    for i in range(1, len(costs)):
        if cost <= costs[i]:
            share = (cost - costs[i - 1]) / (costs[i] - costs[i - 1])
            return accuracies[i - 1] + share * (accuracies[i] - accuracies[i - 1])
    return accuracies[-1]
