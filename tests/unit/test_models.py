"""The tiny reasoner: its problems are right and split for good, its files are what they say, and training repeats."""

import hashlib
import json
import os
import random
import re
import struct
import subprocess
import sys
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

from verify.grading import grade

MODELS = ROOT / "fixtures" / "models"
sys.path.insert(0, str(MODELS))  # scripts, not a package: they import each other by name

import dialogues  # noqa: E402
import problems  # noqa: E402
import questions  # noqa: E402

FAMILIES = [(dataset, family) for dataset in problems.DATASETS for family in problems.FAMILIES[dataset]]
FILES = sorted(MODELS.glob("*.gguf"))
STRING = 8


def metadata(path: Path) -> dict[str, Any]:
    """The key-value pairs of a GGUF file (version 3), read with nothing but the format's description."""
    data = path.read_bytes()
    kinds = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    at = 0

    def take(code: str) -> Any:
        nonlocal at
        [value] = struct.unpack_from(f"<{code}", data, at)
        at += struct.calcsize(f"<{code}")
        return value

    def read(kind: int) -> Any:
        nonlocal at
        if kind == STRING:
            length = take("Q")
            at += length
            return data[at - length : at].decode()
        if kind == 9:
            inner, count = take("I"), take("Q")
            return [read(inner) for _ in range(count)]
        return take(kinds[kind])

    assert (data[:4], struct.unpack_from("<I", data, 4)) == (b"GGUF", (3,))
    at = 8
    take("Q")
    return {read(STRING): read(take("I")) for _ in range(take("Q"))}


def holds(step: str) -> bool:
    """Whether a step is true, by arithmetic that shares nothing with the generator's."""
    if m := re.fullmatch(r"lcm\((\d+),(\d+)\)=(\d+)", step):
        return lcm(int(m[1]), int(m[2])) == int(m[3])
    values = []
    for side in step.split("="):
        m = re.fullmatch(r"(-?\d+)(?:([-+*/])(\d+))?", side)
        assert m, step
        a, b = int(m[1]), int(m[3] or 1)
        values.append(Fraction(a, b) if m[2] == "/" else {"+": a + b, "-": a - b, "*": a * b, None: a}[m[2]])
    return len(set(values)) == 1


@pytest.mark.parametrize(("dataset", "family"), FAMILIES)
def test_each_step_of_a_solution_holds_and_leads_to_the_gold_answer(dataset: str, family: str) -> None:
    rng = random.Random(f"{dataset}/{family}")
    for _ in range(60):
        problem = problems.make(rng, dataset, held_out=False, family=family)
        assert all(map(holds, problem.steps)), problem
        last = Fraction(problem.steps[-1].rpartition("=")[2])
        assert problem.gold == problems.latex(last)
        text = problems.solution(rng, problem.steps, problem.gold)
        assert grade(text, problem.gold, policy="math").verdict == "correct"
        numbers = set(re.findall(r"\d+", problem.text))
        used = set(re.findall(r"\d+", " ".join(problem.steps)))
        assert numbers & used, "a solution that uses no number of its question"


@pytest.mark.parametrize("dataset", problems.DATASETS)
def test_a_damaged_solution_names_its_slip_and_misses_the_gold_answer(dataset: str) -> None:
    rng = random.Random(5)
    for _ in range(200):
        problem = problems.make(rng, dataset, held_out=False)
        attempt = dialogues.damaged(rng, problem)
        assert grade(attempt.text, problem.gold, policy="math").verdict == "incorrect", attempt
        said, true = attempt.slip
        assert said in attempt.text
        assert said != true
        assert not (re.fullmatch(r"[^/(]*=[^/]*", said) and holds(said)), attempt


def test_no_question_shares_its_family_and_numbers_with_any_that_is_trained_on() -> None:
    """`train.py` draws with `held_out=False` alone; the two sides are told apart by the hash of family and numbers."""
    drawn = random.Random(7)
    author = dialogues.Author(dialogues.Prompts(ROOT / "generators" / "prompts.toml"))
    trained = [problems.make(drawn, dataset, held_out=False) for dataset in problems.DATASETS for _ in range(5_000)]
    asked = {problem.key: problem for dataset in problems.DATASETS for problem in questions.questions(dataset)}
    assert len(asked) == 2 * questions.COUNT
    assert all(problem.held_out for problem in asked.values())
    assert not any(problem.held_out for problem in trained)
    assert not {problem.key for problem in trained} & asked.keys()
    texts = {problem.text for problem in asked.values()}
    assert not {problem.text for problem in trained} & texts
    for role in dialogues.ROLES:
        for _ in range(20):
            said = "\n".join(text for _, text in author(drawn, role))
            assert not any(text in said for text in texts), role


def test_the_committed_questions_are_the_generators(tmp_path: Path) -> None:
    questions.write(tmp_path)
    for dataset in problems.DATASETS:
        committed = MODELS / "questions" / f"{dataset}.jsonl"
        assert committed.read_bytes() == (tmp_path / f"{dataset}.jsonl").read_bytes()
        rows = [json.loads(line) for line in committed.read_text(encoding="utf-8").splitlines()]
        assert [row["id"] for row in rows] == [f"{dataset}-{i:04}" for i in range(questions.COUNT)]


def test_files_have_the_sums_that_are_listed() -> None:
    listed = dict(reversed(line.split("  ")) for line in (MODELS / "SHA256SUMS").read_text().splitlines())
    assert {path.name for path in FILES} <= listed.keys()
    assert len(FILES) == 2
    for name, digest in listed.items():
        assert hashlib.sha256((MODELS / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_model_file_holds_its_template_context_and_licence(path: Path) -> None:
    assert path.stat().st_size <= 5_000_000
    held = metadata(path)
    assert held["general.architecture"] == "llama"
    assert held["general.license"] == "MIT"
    assert held["general.name"] == path.stem
    assert held["llama.context_length"] >= 2048
    assert held["tokenizer.ggml.add_bos_token"] is False
    tokens = held["tokenizer.ggml.tokens"]
    assert (tokens[held["tokenizer.ggml.bos_token_id"]], tokens[held["tokenizer.ggml.eos_token_id"]]) == (
        "<|bos|>",
        "<|end|>",
    )
    assert "<|{{ message['role'] }}|>" in held["tokenizer.chat_template"]
    assert {"<|system|>", "<|user|>", "<|assistant|>"} <= set(tokens)
    assert not any(re.search(r"\d", merge) for merge in held["tokenizer.ggml.merges"]), "digits are never merged"


def test_training_again_gives_the_same_weights(tmp_path: Path) -> None:
    """Three steps of a tiny network, in two processes with different hash seeds; another seed gives other weights."""
    pytest.importorskip("torch")
    pytest.importorskip("tokenizers")
    running = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        command = [sys.executable, MODELS / "train.py", "train", "--size", "test", "--steps", "3"]
        command += ["--seed", str(seed), "--out", tmp_path / f"{name}.pt", "--step-tokens", "512"]
        environment = {**os.environ, "PYTHONHASHSEED": str(ord(name))}
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
    ends = []
    for process in running:
        printed, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        ends.append(re.search(r"weights ([0-9a-f]{64})", printed)[1])
    assert ends[0] == ends[1]
    assert ends[0] != ends[2]
