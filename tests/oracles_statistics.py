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
