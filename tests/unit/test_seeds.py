"""Seeds: what RELEASE.md says of them, computed again by other means."""

import hashlib
import json
import random
import re
import struct
from pathlib import Path

import pytest
from support import ROOT, run_audit

from generators import seeds
from generators.seeds import MODULUS, call_seed, configuration, record_seed, subsample
from schemas.manifest import Manifest
from schemas.reading import Limits, Line, decode, read_lines
from schemas.record import Record

TEXT = (ROOT / "RELEASE.md").read_text(encoding="utf-8")
SECTION = TEXT.split("## Seeds\n")[1].split("\n## ")[0]
ROW = re.compile(r"^\| `?(.+?)`? \| ([0-9a-f]{8}) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
VECTORS = [
    (text.replace("\\|", "|"), first, int(base), int(index), int(seed))
    for text, first, base, index, seed in ROW.findall(SECTION)
]


def by_hand(text: str) -> int:
    """The base seed of a text."""
    (word,) = struct.unpack(">I", hashlib.sha256(text.encode("ascii")).digest()[:4])
    return int(word) % 4294967295


def parsed(text: str) -> dict[str, int | bool]:
    """A configuration read back."""
    pairs = [pair.split("=") for pair in text.split(",") if pair]
    return {name: value == "true" if value in ("true", "false") else int(value) for name, value in pairs}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector[1])
def test_the_vectors_of_the_page(vector: tuple[str, str, int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    text, first, base, index, seed = vector
    assert int(first, 16) % (2**32 - 1) == base
    assert (base + index) % (2**32 - 1) == seed
    assert call_seed(base, index) == seed
    if "|" in text:
        assert hashlib.sha256(text.encode()).hexdigest().startswith(first)
        assert by_hand(text) == base
        model, dataset, method, parameters, question = text.split("|")
        # In any order, as a plan may have them.
        backwards = dict(reversed(parsed(parameters).items()))
        assert record_seed(model, dataset, method, backwards, int(question)) == base
    else:

        class Digest:
            def __init__(self, data: bytes) -> None: ...

            def digest(self) -> bytes:
                return bytes.fromhex(first) + b"\xff" * 28

        monkeypatch.setattr(seeds.hashlib, "sha256", Digest)
        assert record_seed("m", "d", "x", {}, 0) == base


def test_the_page_has_vectors_of_every_kind() -> None:
    texts = [text for text, *_ in VECTORS]
    assert len(VECTORS) == 5
    assert any("@" in text for text in texts)
    assert any("=true" in text or "=false" in text for text in texts)
    assert any("||" in text for text in texts)
    assert any(base + index >= 2**32 - 1 for _, _, base, index, _ in VECTORS)


def test_the_draw_of_the_page() -> None:
    (total, seed, size, drawn) = re.findall(
        r"of (\d+) questions with seed (\d+) and size (\d+) these are ([\d, ]+)\.", SECTION.replace("\n", " ")
    )[0]
    positions = list(range(int(total)))
    random.Random(int(seed)).shuffle(positions)
    assert [int(number) for number in drawn.split(", ")] == positions[: int(size)]
    assert subsample(int(total), int(size), int(seed)) == positions[: int(size)]
    assert subsample(5, 5, 0) != list(range(5))


def test_seeds_are_never_what_llama_cpp_takes_for_random() -> None:
    assert MODULUS == 2**32 - 1
    assert call_seed(2**32 - 2, 1) == 0
    assert max(call_seed(base, call) for base in (0, 2**32 - 2) for call in range(5)) == 2**32 - 2


def test_a_configuration_tells_one_from_true() -> None:
    assert configuration({"b": True, "a": 1}) == "a=1,b=true"
    assert configuration({}) == ""


PLAN = """
format_version = "1.0"
title = "Seeds"
models = [{ id = "m-1", scripted = { replies = "replies.jsonl" } }]
datasets = [{ id = "d.x", questions = "questions.jsonl", policy = "math", sample = 3, seed = 7 }]
[[methods]]
method = "chain_of_thought"
[[methods]]
method = "majority_vote"
id = "Maj_4"
parameters = { samples = 4 }
replicates = 2
[[methods]]
method = "breadth_depth"
parameters = { critic = false, rollouts = 2, depth = 1 }
"""


def test_the_seeds_of_a_release_follow_from_its_manifest(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    questions = [{"id": f"q{n}", "text": f"Question {n}?", "gold": "1"} for n in range(6)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    (tmp_path / "replies.jsonl").write_text('{"when": "", "texts": ["a 1", "b 2", "c 1"]}\n')
    root = tmp_path / "release"
    assert run_audit("generate", tmp_path / "plan.toml", "--out", root).returncode == 0
    manifest = decode((root / "release.json").read_bytes(), Manifest)
    assert [cell.id for cell in manifest.cells] == [
        "m-1/d.x/chain_of_thought",
        "m-1/d.x/Maj_4@0",
        "m-1/d.x/Maj_4@1",
        "m-1/d.x/breadth_depth",
    ]
    used = set()
    for cell in manifest.cells:
        at = "@" + cell.id.split("@")[1] if "@" in cell.id else ""
        settings = {
            name: ("true" if value else "false") if isinstance(value, bool) else f"{value:d}"
            for name, value in (cell.parameters or {}).items()
            if isinstance(value, int)
        }
        configured = ",".join(f"{name}={settings[name]}" for name in sorted(settings))
        found = [
            line.value
            for line in read_lines(root / f"generations/{cell.id}/part-0.jsonl.gz", Record, limits=Limits())
            if isinstance(line, Line)
        ]
        assert len(found) == 3
        for record in found:
            base = by_hand(f"m-1|d.x|{cell.method}{at}|{configured}|{record.question_id[1:]}")
            assert record.seed == base
            assert [generation.seed for generation in record.generations] == [
                (base + generation.index) % 4294967295 for generation in record.generations
            ]
            used.add(base)
    assert len(used) == 12
