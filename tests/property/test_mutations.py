"""Whatever is changed in an intact release, something is found."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from generators.flaws import Draft
from generators.planted import Plan, plant
from schemas.record import ANSWER_ROLES, Record
from schemas.writing import write_sums
from verify import verify_release

PLAN = Plan(datasets=("sums",), questions=4, suffixes=(".jsonl",))
CELLS = [f"planted-small/sums/{method}" for method in ("chain_of_thought", "self_refine", "best_of_n", "debate")]


def _answer_another_number(record: Record, rng: random.Random) -> Record:
    number = rng.choice([i for i, g in enumerate(record.generations) if g.role in ANSWER_ROLES])
    generations = list(record.generations)
    generations[number] = replace(generations[number], text="So it is \\boxed{123456789}.")
    return replace(record, generations=generations)


def _drop_a_call(record: Record, rng: random.Random) -> Record:
    gone = rng.randrange(len(record.generations))
    return replace(record, generations=[g for i, g in enumerate(record.generations) if i != gone])


def _add_tokens(record: Record, rng: random.Random) -> Record:
    number = rng.randrange(len(record.generations))
    generations = list(record.generations)
    generations[number] = replace(generations[number], completion_tokens=2000)
    return replace(record, generations=generations)


def _flip_flag(record: Record, rng: random.Random) -> Record:
    assert record.claimed is not None
    return replace(record, claimed=replace(record.claimed, correct=not record.claimed.correct))


def _rename_question(record: Record, rng: random.Random) -> Record:
    return replace(record, question_id="sums-999")


def _move_to_another_cell(record: Record, rng: random.Random) -> Record:
    return replace(record, cell="planted-small/sums/plan_and_solve")


def _take_another_question(record: Record, rng: random.Random) -> Record:
    number = int(record.question_id.split("-")[1])
    return replace(record, question_id=f"sums-{(number + 1) % 4}")


def _fail(record: Record, rng: random.Random) -> Record:
    return replace(record, status="failed", error="HTTP 400")


MUTATIONS: list[Callable[[Record, random.Random], Record]] = [
    _answer_another_number,
    _drop_a_call,
    _add_tokens,
    _flip_flag,
    _rename_question,
    _move_to_another_cell,
    _take_another_question,
    _fail,
]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(mutation=st.sampled_from(MUTATIONS), cell=st.sampled_from(CELLS), row=st.integers(0, 3), seed=st.integers(0, 99))
def test_every_mutation_is_found(
    mutation: Callable[[Record, random.Random], Record], cell: str, row: int, seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "r"
        plant(root, PLAN, rng=random.Random(7))
        Draft(root).edit_one(cell, row, lambda record: mutation(record, random.Random(seed)))
        write_sums(root)
        report = verify_release(root).report
    found = [finding for finding in report.findings if finding.verdict != "confirmed"]
    assert found
    assert any(finding.subject == cell or finding.check == "claim" for finding in found)
