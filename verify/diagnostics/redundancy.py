"""Do more samples bring new answers, or the old ones again? (ROR A.6), and are they as many as they are said to be?

Clusters are classes of equal answers by default; samples without a readable answer are one class more. R(N) is the
number of clusters among N samples, f_max the share of the largest, H the entropy in bits.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from verify.cells import CellData, IntArray
from verify.partial import Grade
from verify.statistics.cost import log_choose
from verify.value import Parameters, Statistic, Unavailable, Value

THRESHOLD = 0.15
"""Cosine distance at which ROR cuts its clusters of sentence embeddings (similarity .85)."""
NEAR = 0.8
"""Share of word triples in common from which two texts are near-duplicates."""


@dataclass(frozen=True)
class Redundancy:
    """Means over the questions whose K samples are known; arrays run over `sizes`."""

    questions: int
    samples: int
    """K, the smallest number of samples of a question."""
    sizes: tuple[int, ...]
    clusters: NDArray[np.float64]
    """R(N), the expected number of clusters among N of the K samples."""
    largest: float
    """f_max at K."""
    entropy: float
    """H at K, in bits."""


SIZES = (1, 2, 4, 8, 16, 32, 64)


def redundancy(owner: IntArray, label: IntArray, sizes: Sequence[int] = SIZES) -> Redundancy | None:
    """From the question (S,) and the cluster (S,) of each sample; None where no question has two samples.

    Expected clusters among N samples drawn without replacement: sum over clusters of 1 - C(K - n_c, N) / C(K, N).
    """
    _, question = np.unique(owner, return_inverse=True)
    total = np.bincount(question)
    several = total > 1
    if not several.any():
        return None
    key = question * (int(label.max()) - int(label.min()) + 1) + (label - int(label.min()))
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    of = question[first]
    of, counts = of[several[of]], counts[several[of]]
    n, smallest = int(several.sum()), int(total[several].min())
    kept = tuple(sorted({size for size in sizes if size < smallest} | {smallest}))
    clusters = np.empty(len(kept))
    for place, size in enumerate(kept):
        possible = total[of] - counts >= size
        left, whole = (total[of] - counts)[possible], total[of][possible]
        absent = np.exp(log_choose(left, size) - log_choose(whole, size))
        clusters[place] = (len(counts) - float(absent.sum())) / n
    share_ = counts / total[of]
    largest = np.zeros(len(total))
    np.maximum.at(largest, of, share_)
    return Redundancy(n, smallest, kept, clusters, float(largest.sum()) / n, -float(share_ @ np.log2(share_)) / n)


def of_answers(data: CellData) -> Redundancy | None:
    """By answer classes, over the questions whose samples are all known."""
    kept = _sampled(data)
    return redundancy(data.owner[kept], data.answers.vote[kept].astype(np.int64)) if kept.any() else None


def answer_clusters(data: CellData) -> list[IntArray]:
    """By question with samples that are all known: the answer class of each, the unreadable ones one class (-1)."""
    kept = _sampled(data)
    owner, vote = data.owner[kept], data.answers.vote[kept].astype(np.int64)
    return np.split(vote, np.flatnonzero(np.diff(owner)) + 1) if len(owner) else []


@dataclass(frozen=True)
class Repeats:
    """Samples that are word for word an earlier one of the same question."""

    repeats: int
    questions: int
    """Questions with at least one."""
    samples: int
    of_questions: int

    @property
    def distinct(self) -> float:
        """Distinct samples a question, on average."""
        return (self.samples - self.repeats) / max(self.of_questions, 1)


def repeats(data: CellData) -> Repeats:
    """Equal texts among the samples (answers of the first round) of each question."""
    columns = data.answers
    first = (columns.round == 0) & (columns.text != 0)
    owner, text = data.owner[first], columns.text[first]
    pairs = np.stack([owner, text], axis=1)
    if not len(pairs):
        return Repeats(0, 0, 0, 0)
    distinct = np.unique(pairs, axis=0)[:, 0]
    surplus = np.bincount(owner, minlength=data.n) - np.bincount(distinct, minlength=data.n)
    return Repeats(int(surplus.sum()), int(np.sum(surplus > 0)), len(owner), len(np.unique(owner)))


def near_duplicates(texts: Sequence[str]) -> IntArray:
    """(K,) cluster of each text of one question: single linkage of texts that share `NEAR` of their word triples.

    Numbers are words, case and punctuation count for nothing. Jaccard similarity of the sets of triples.
    """
    sets = [_triples(text) for text in texts]
    cluster = np.arange(len(texts), dtype=np.int64)
    for i, mine in enumerate(sets):
        for j in range(i):
            theirs = sets[j]
            # The smaller cannot share enough with a larger one; this spares most of the intersections.
            if min(len(mine), len(theirs)) < NEAR * max(len(mine), len(theirs)):
                continue
            common = len(mine & theirs)
            if common >= NEAR * (len(mine) + len(theirs) - common) and cluster[i] != cluster[j]:
                cluster[cluster == cluster[i]] = cluster[j]
    return cluster


def embedding_clusters(vectors: NDArray[np.floating], threshold: float = THRESHOLD) -> IntArray:
    """(K,) cluster of each sample from its embedding (K, d): average linkage, cosine distance, cut at `threshold`."""
    if len(vectors) < 2:
        return np.zeros(len(vectors), dtype=np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage

    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    distance = np.clip(1.0 - unit @ unit.T, 0.0, 2.0)
    condensed = distance[np.triu_indices(len(vectors), k=1)]
    return np.asarray(fcluster(linkage(condensed, method="average"), threshold, criterion="distance"), dtype=np.int64)


_WORDS = re.compile(r"[a-z]+|\d+")


def _triples(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORDS.findall(text.lower())
    return frozenset(zip(words, words[1:], words[2:], strict=False)) or frozenset({tuple(words)})


def _sampled(data: CellData) -> NDArray[np.bool_]:
    """(answers,) the samples of questions with several of them, all known; none where the cell has several rounds."""
    columns, owner = data.answers, data.owner
    if not len(columns.round) or (columns.round != columns.round[0]).any():
        return np.zeros(len(owner), dtype=np.bool_)
    hidden = np.bincount(owner[columns.grade == Grade.UNKNOWN], minlength=data.n) > 0
    return np.asarray(((np.diff(data.offsets) > 1) & ~hidden)[owner])


def _of_first(
    measure: Callable[[IntArray], float | Fraction],
) -> Callable[[CellData, Parameters], Value | Unavailable]:
    """A mean over questions of a measure of the classes of the first k samples (default: all)."""

    def compute(data: CellData, parameters: Parameters) -> Value | Unavailable:
        labels = answer_clusters(data)
        if not labels:
            return Unavailable("no question of the cell has several samples of one round that are all known.")
        k = int(parameters.get("k", max(len(own) for own in labels)))
        if "k" in parameters and (short := sum(len(own) < k for own in labels)):
            return Unavailable(f"{short} of {data.n} questions hold fewer than {k} samples.")
        values = [measure(np.unique(own[:k], return_counts=True)[1]) for own in labels]
        if any(isinstance(value, float) for value in values):
            rounded = float(np.mean([float(value) for value in values]))
            mean = Fraction(rounded).limit_denominator(10**12)
            return Value(mean, mean, mean, len(labels), data.n, exact=rounded)
        mean = sum((Fraction(value) for value in values), Fraction(0)) / len(labels)
        return Value(mean, mean, mean, len(labels), data.n)

    return compute


def _entropy(counts: IntArray) -> float:
    share_ = counts / counts.sum()
    return -float(share_ @ np.log2(share_))


STATISTICS: dict[str, Statistic] = {
    "distinct_answers": Statistic(_of_first(lambda counts: Fraction(len(counts))), "number", ("k",), bounded=False),
    "diversity_yield": Statistic(
        _of_first(lambda counts: Fraction(len(counts), int(counts.sum()))), "fraction", ("k",), bounded=False
    ),
    "dominant_share": Statistic(
        _of_first(lambda counts: Fraction(int(counts.max()), int(counts.sum()))), "fraction", ("k",), bounded=False
    ),
    "cluster_entropy": Statistic(_of_first(_entropy), "number", ("k",), bounded=False),
}
