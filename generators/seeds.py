"""Seeds and subsamples: pure functions of names, so that anybody can compute them again (RELEASE.md, Seeds).

Source: *Sample More, Reflect Less*, A.3, which fixes SHA-256, its first 32 bits, offsets for sub-calls and
`random.Random(1234)`; how the tuple becomes bytes is this project's choice.
"""

import hashlib
import random
from collections.abc import Mapping

MODULUS = 2**32 - 1
"""Seeds are 0 to 2**32 - 2: llama.cpp takes 2**32 - 1 (and -1) for "random"."""


def record_seed(
    model: str, dataset: str, method: str, parameters: Mapping[str, int | float | bool | str], question: int
) -> int:
    """Base seed of one record, 0 to 2**32 - 2.

    The first four bytes, most significant first, of the SHA-256 of `model|dataset|method|configuration|question` in
    UTF-8, modulo 2**32 - 1. `method` is the method's name, with `@` and the replicate where the cell id has one;
    `configuration` the parameters as `name=value`, sorted by name and joined by commas (booleans `true` and `false`);
    `question` the position in the benchmark from 0.
    """
    text = "|".join((model, dataset, method, configuration(parameters), str(question)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:4], "big") % MODULUS


def call_seed(base: int, call: int) -> int:
    """Seed of call number `call` (from 0, in the order of the record) of a record with base seed `base`."""
    return (base + call) % MODULUS


def configuration(parameters: Mapping[str, int | float | bool | str]) -> str:
    """A method's parameters as text, the same for the same parameters in any order."""
    return ",".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in sorted(parameters.items())
    )


def subsample(total: int, size: int, seed: int) -> list[int]:
    """`size` of the positions 0 … total - 1: shuffled by `random.Random(seed)`, the first ones in shuffled order."""
    positions = list(range(total))
    random.Random(seed).shuffle(positions)  # noqa: S311 - drawn to be repeated, not to be secret
    return positions[:size]
