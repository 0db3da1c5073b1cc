"""The author-side count and the audit agree on what was planted, and a bug in either one is caught by the other."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import generators.summary as author
import verify.settings as auditor
from generators.planted import Plan, PlantedModel, plant
from generators.toml import claims_toml
from schemas.report import Report
from verify import verify_release
from verify.outcome import decide
from verify.statistics.curve import exact_curve
from verify.statistics.equalcost import Design, bootstrap_at_equal_cost

EFFORT = author.Effort(draws=50, resamples=1000, seed=5)
PLAN = Plan(
    models=(PlantedModel(id="m", ability=0.55, judgement=0.35),), questions=40, datasets=("sums",), suffixes=(".jsonl",)
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("two-counts") / "r"
    plant(root, PLAN, rng=random.Random(21))
    return root


def audited(release: Path, folder: Path, effort: author.Effort = EFFORT) -> Report:
    """The audit of a release with the claims that its author would make."""
    text = claims_toml(author.summarize(release, effort=effort))
    path = folder / "claims.toml"
    path.write_text(text, encoding="utf-8")
    return verify_release(release, claims=path).report


def refuted(report: Report) -> list[str]:
    return [f.message for f in report.findings if f.check == "claim" and f.verdict == "refuted"]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_both_counts_agree_whatever_the_draws(release: Path, tmp_path: Path, seed: int) -> None:
    report = audited(release, tmp_path, author.Effort(draws=50, resamples=1000, seed=seed))
    claims = [f for f in report.findings if f.check == "claim"]
    # 8 cells × 2, the judge's 6, the curve's 8 sizes, 7 comparisons × 6.
    assert len(claims) == 16 + 6 + 8 + 42
    assert [f.message for f in claims if f.verdict != "confirmed"] == []


def _votes_for_the_judge(cell: Any, frame: pl.DataFrame, answers: pl.DataFrame) -> pl.Series:
    return author._plurality(answers)


def _with_replacement(frame: pl.DataFrame, questions: int, draws: int, rng: np.random.Generator) -> author.DrawnCurve:
    class Replacing:
        def permutation(self, n: int) -> Any:
            return rng.integers(0, n, n)

    return DRAW(frame, questions, draws, Replacing())  # type: ignore[arg-type]


def _unpaired(outcome: author.Outcome, curve: author.DrawnCurve, resamples: int, rng: np.random.Generator) -> Any:
    found = COMPARE(outcome, curve, resamples, rng)
    n = len(outcome.correct)
    differences = np.empty(resamples)
    for i in range(resamples):
        own, other = rng.integers(0, n, n), rng.integers(0, n, n)
        there = author._at(curve.cost[other].mean(axis=0), curve.right[other].mean(axis=0), outcome.tokens[own].mean())
        differences[i] = outcome.correct[own].mean() - there
    return author.Compared(found.baseline, found.difference, *author._interval(differences)) if found else None


def _uncorrected(p_values: list[float]) -> list[float]:
    return p_values


def _answers_only(frame: pl.DataFrame, golds: pl.DataFrame, grade: Any) -> pl.DataFrame:
    return GRADED(frame, golds, grade).filter(pl.col("role").is_in(["sample", "revise", "retry", "debate", "select"]))


def _step_down_to_a_point(costs: Any, heights: Any, cost: float) -> float:
    return float(heights[np.clip(np.searchsorted(costs, cost, side="right") - 1, 0, None)])


COMPARE, DRAW, GRADED = author.compare, author.draw_curve, author._graded


@pytest.mark.parametrize(
    ("name", "bug", "words"),
    [
        ("_selected", _votes_for_the_judge, "best_of_n accuracy"),
        ("_graded", _answers_only, "mean_completion_tokens"),
        ("draw_curve", _with_replacement, "sc_accuracy"),
        ("_at", _step_down_to_a_point, "sc_accuracy_at_cost"),
        ("compare", _unpaired, "ci_"),
        ("holm", _uncorrected, "p_holm"),
    ],
    ids=["judge-as-majority", "unpaid-critiques", "with-replacement", "no-interpolation", "unpaired", "no-correction"],
)
def test_a_bug_of_the_author_is_caught(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, bug: Callable[..., Any], words: str
) -> None:
    monkeypatch.setattr(author, name, bug)
    # With few draws the curve alone could explain an uncorrected p or a step for a slope; with these it cannot.
    effort = author.Effort(draws=400, resamples=1000) if name in ("holm", "_at") else EFFORT
    found = refuted(audited(release, tmp_path, effort))
    assert any(words in message for message in found), found


def _judge_by_vote(data: Any, answers: Any, **options: Any) -> Any:
    return decide(data, answers, **{**options, "rule": "plurality"})


def _fixed_weights(*arguments: Any, **options: Any) -> Any:
    return bootstrap_at_equal_cost(*arguments, **{**options, "design": Design.FIXED})


def _ties_lost(pools: Any, sizes: Any, **options: Any) -> Any:
    from verify.statistics.pool import TieRule

    return exact_curve(pools, sizes, **{**options, "ties": TieRule.WRONG})


@pytest.mark.parametrize(
    ("name", "bug", "words"),
    [
        ("decide", _judge_by_vote, "best_of_n"),
        ("exact_curve", _ties_lost, "sc_accuracy"),
        ("by_question", lambda data, *_: data.latency.astype(float), "_at_cost"),
    ],
    ids=["judge-as-majority", "ties-lost", "longest-for-all"],
)
def test_a_bug_of_the_audit_shows_as_a_difference(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, bug: Callable[..., Any], words: str
) -> None:
    monkeypatch.setattr(auditor, name, bug)
    report = audited(release, tmp_path)
    odd = [f.message for f in report.findings if f.check == "claim" and f.verdict != "confirmed"]
    assert any(words in message for message in odd), odd


def test_two_counts_share_no_module_but_the_format() -> None:
    import subprocess
    import sys

    code = "import sys, generators.summary; print([m for m in sys.modules if m.split('.')[0] in ('verify', 'audit')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
