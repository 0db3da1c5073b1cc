"""Planted releases: what is found is what was planted, and intact ones are never accused."""

import random
from fractions import Fraction
from pathlib import Path

import pytest

from generators.planted import Plan, PlantedModel, plant
from verify import verify_release

LARGER = Plan(
    models=(
        PlantedModel(id="small", ability=0.4, judgement=0.3),
        PlantedModel(id="large", ability=0.7, judgement=0.7),
    ),
    questions=40,
)


def test_estimates_equal_the_planted_truth(tmp_path: Path) -> None:
    truth = plant(tmp_path / "r", LARGER, rng=random.Random(11))
    report = verify_release(tmp_path / "r").report
    assert report.verdict == "confirmed"
    values = {(e.cell, e.statistic): e.value for e in report.estimates}
    assert len(truth.cells) == 2 * 2 * 8
    for cell, planted in truth.cells.items():
        n = len(planted.correct)
        assert values[cell, "accuracy"] == float(planted.accuracy)
        assert values[cell, "claimed_accuracy"] == float(planted.accuracy)
        assert values[cell, "mean_completion_tokens"] == sum(planted.tokens) / n
        if cell.endswith("best_of_n"):
            assert values[cell, "majority_at_k"] == float(Fraction(sum(planted.majority), n))
            assert values[cell, "mean_over_samples"] == float(Fraction(sum(planted.samples_correct), 8 * n))
        if cell.endswith("self_consistency"):
            assert values[cell, "pass_at_k"] == float(Fraction(sum(c > 0 for c in planted.samples_correct), n))
    # The two judges must differ from their votes somewhere: else a mix-up of the two could not be seen.
    assert any(p.correct != p.majority for c, p in truth.cells.items() if c.endswith("best_of_n"))


@pytest.mark.parametrize("seed", range(25))
def test_intact_releases_are_never_accused(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    plan = Plan(
        models=(PlantedModel(id="m", ability=rng.uniform(0.05, 0.95), judgement=rng.random()),),
        questions=rng.randint(1, 15),
        pool=rng.randint(1, 20),
        candidates=rng.randint(1, 8),
    )
    plant(tmp_path / "r", plan, rng=rng)
    report = verify_release(tmp_path / "r").report
    assert [f.id for f in report.findings if f.verdict == "refuted"] == []
    assert report.verdict == "confirmed"


def test_the_same_seed_plants_the_same_release(tmp_path: Path) -> None:
    for name in ("a", "b"):
        plant(tmp_path / name, Plan(questions=5), rng=random.Random(3))
    sums = [(tmp_path / name / "SHA256SUMS").read_text() for name in ("a", "b")]
    assert sums[0] == sums[1]
