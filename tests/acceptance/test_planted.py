"""Planted releases: what is found is what was planted, and intact ones are never accused."""

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from audit.reports.text import render_text
from generators.flaws import Draft
from generators.planted import Plan, PlantedModel, plant
from generators.printing import percent
from schemas.report import Report
from schemas.writing import write_sums
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
    assert report.causes == []
    assert all(f.diagnosis == [] and f.tried == 0 for f in report.findings)


def reprinted(root: Path, edit: Callable[[str, str, str], str]) -> Report:
    """The report once the printed values of the table of results are edited: (cell, statistic, value) → value."""
    Draft(root).edit_claims(edit)
    write_sums(root)
    return verify_release(root).report


def test_a_judge_scored_as_majority_is_named_over_four_settings(tmp_path: Path) -> None:
    truth = plant(tmp_path / "r", LARGER, rng=random.Random(12))

    def as_majority(cell: str, statistic: str, value: str) -> str:
        planted = truth.cells[cell]
        right = Fraction(sum(planted.majority), len(planted.majority))
        return percent(right) if cell.endswith("best_of_n") and statistic == "accuracy" else value

    report = reprinted(tmp_path / "r", as_majority)
    (cause,) = report.causes
    assert cause.alternative == "decision rule `plurality` in place of `selected`"
    changed = [
        cell for cell, t in truth.cells.items() if cell.endswith("best_of_n") and sum(t.correct) != sum(t.majority)
    ]
    assert len(cause.claims) == cause.cells == len(changed) >= 2
    assert cause.accident <= 0.01
    assert cause.rivals == []
    text = render_text(report)
    assert "Diagnosis: what several of these are together consistent with" in text
    assert "accuracy of the column: consistent with decision rule `plurality` in place of `selected`" in text


def test_rows_that_changed_places_have_no_cause(tmp_path: Path) -> None:
    truth = plant(tmp_path / "r", LARGER, rng=random.Random(13))
    other = {"small/sums": "large/sums", "large/sums": "small/sums"}

    def swapped(cell: str, statistic: str, value: str) -> str:
        setting, _, method = cell.rpartition("/")
        if method != "debate" or statistic != "accuracy" or setting not in other:
            return value
        return percent(truth.cells[f"{other[setting]}/debate"].accuracy)

    report = reprinted(tmp_path / "r", swapped)
    assert report.counts.refuted == 2
    assert report.causes == []


def test_the_same_seed_plants_the_same_release(tmp_path: Path) -> None:
    for name in ("a", "b"):
        plant(tmp_path / name, Plan(questions=5), rng=random.Random(3))
    sums = [(tmp_path / name / "SHA256SUMS").read_text() for name in ("a", "b")]
    assert sums[0] == sums[1]
