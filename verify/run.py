"""The whole audit on one screen: release → integrity → grades → outcomes → estimates → findings."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from schemas.claims import Claims
from schemas.manifest import FORMAT_VERSION
from schemas.reading import Limits
from schemas.report import (
    Cause,
    Counts,
    Diagnostic,
    EqualCost,
    Estimate,
    Finding,
    OtherRules,
    Report,
    Sensitivity,
    Verdict,
)
from verify.cells import CellData, Grid, reduce
from verify.checksums import check_checksums
from verify.claims import bind as bind_claims
from verify.claims import find_claims, read_claims
from verify.compare import compare, explain
from verify.diagnostics.alternatives.recounts import Recounts
from verify.diagnostics.run import examine
from verify.diagnostics.sensitivity import compare_gradings, other_rules
from verify.estimates import STATISTICS, standard_table
from verify.findings import note, warning
from verify.golds import check_golds, compare_golds, read_benchmark
from verify.grades import DatasetGrading, Judge
from verify.grades import bind as bind_grading
from verify.inferences import judged_interval
from verify.integrity import check_integrity
from verify.partial import Partial, Tally, merge
from verify.release import Release, Shard, dataset_of, open_release, setting_of
from verify.settings import Inference, Study
from verify.shard import read_shard
from verify.similarity import Similarity, similar_texts
from verify.spending import Spending
from verify.statistics.outcome import NoInterval

Progress = Callable[[int, int], None]
"""Called with (shards done, shards in all) after each shard."""


@dataclass(frozen=True)
class Audit:
    """The result: the report, and the claims file that it answers (None where there is none)."""

    report: Report
    claims: Path | None


def verify_release(
    path: str | Path,
    *,
    claims: str | Path | None = None,
    questions: str | Path | None = None,
    policy: str | None = None,
    grader: Judge | None = None,
    spending: Spending | None = None,
    similarity: Similarity | None = None,
    seed: int = 0,
    jobs: int = 1,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Audit a release.

    `claims`: a claims file in place of the release's own; `questions`: the reader's copy of the benchmark, JSONL;
    `policy`, `grader`: another policy, or a function (text, gold) → bool or verdict, to grade by a second time; what
    that would change stands in the report's `sensitivity`, and the verdict stays that of the declared policies.
    `spending`: the unit of cost that methods are compared at equal amounts of; `similarity`: read the samples a second
    time and say how many of them are alike as texts; `seed`: of our own resamples.
    `jobs`: processes; with more than one, `grader` must be importable by name. Neither prints nor exits.
    Raises ReleaseError where there is nothing to audit, UsageError where an argument cannot be used.
    """
    limits = limits or Limits()
    release = open_release(Path(path), limits=limits)
    claims_path = find_claims(release.root) if claims is None else Path(claims)
    published = None if claims_path is None else read_claims(claims_path, limits=limits)
    bound = [] if published is None or claims_path is None else bind_claims(published, name=claims_path.name)
    benchmark = None if questions is None else read_benchmark(Path(questions), limits=limits)
    grading = bind_grading(release)

    grid, tallies = _count(release, grading, jobs, progress)

    findings = [*check_checksums(release.root, limits=limits), *release.findings]
    for name, dataset in release.questions.items():
        findings.append(check_golds(dataset, grading[name]))
        if benchmark is not None:
            findings += compare_golds(dataset, grading[name], benchmark)
    findings += check_integrity(release, grid, tallies, foreign_grading=_foreign(published))
    if claims_path is not None and not bound:
        findings.append(
            warning(
                "claims",
                claims_path.name,
                "The claims file binds no number to a cell and a statistic, so none was checked against the release; "
                "`audit claims` checks numbers against each other.",
            )
        )
    inference = Inference(seed=seed, spending=spending or Spending())
    study = Study(release.manifest, grid.cells, inference)
    compared = compare(study, bound)
    recounts = Recounts(study)
    checked, causes = explain(release, study, recounts, compared)
    rules = other_rules(study, recounts, [item.checked for item in compared if item.checked])
    similar = None if similarity is None else similar_texts(release, similarity)
    diagnostics, alarms = examine(study, grid, bound, similar)

    sensitivity = None
    if policy is not None or grader is not None:
        other, _ = _count(release, bind_grading(release, policy=policy, judge=grader), jobs, progress)
        label = policy if grader is None else f"{grader.__module__}:{getattr(grader, '__qualname__', 'grader')}"
        sensitivity = compare_gradings(
            release,
            grid.cells,
            other.cells,
            checked,
            [item.finding for item in compare(Study(release.manifest, other.cells, inference), bound)],
            name=label or "",
        )
    estimates = [row for data in grid.cells for row in _estimates(data)]
    findings += alarms + _uncompared(study) + checked
    compared_at_cost = list(_equal_cost(study))
    report = _report(release, findings, causes, estimates, compared_at_cost, rules, diagnostics, sensitivity)
    return Audit(report, claims_path)


def _count(
    release: Release, grading: dict[str, DatasetGrading], jobs: int, progress: Progress | None
) -> tuple[Grid, Mapping[tuple[str, int], Tally]]:
    """Map every shard, merge, and align to the grid."""
    merged = merge(_map(release, grading, jobs, progress))
    usable = {name: np.array([gold is not None for gold in g.golds], dtype=np.bool_) for name, g in grading.items()}
    return reduce(release, merged, usable), merged.tallies


def _map(
    release: Release, grading: dict[str, DatasetGrading], jobs: int, progress: Progress | None
) -> Iterator[Partial]:
    """Every shard's partial, in shard order whatever the number of processes."""
    read = partial(_read_one, release, grading)
    if jobs <= 1 or len(release.shards) <= 1:
        yield from _counted(map(read, release.shards), len(release.shards), progress)
        return
    # Spawned, not forked: Arrow and Polars keep threads that a fork would leave in an unknown state.
    with ProcessPoolExecutor(min(jobs, len(release.shards)), mp_context=get_context("spawn")) as pool:
        yield from _counted(pool.map(read, release.shards), len(release.shards), progress)


def _read_one(release: Release, grading: dict[str, DatasetGrading], shard: Shard) -> Partial:
    return read_shard(release, shard, grading[dataset_of(release.manifest.cells[shard.cell].id)])


def _counted(partials: Iterator[Partial], total: int, progress: Progress | None) -> Iterator[Partial]:
    for done, part in enumerate(partials, start=1):
        if progress is not None:
            progress(done, total)
        yield part


def _foreign(claims: Claims | None) -> str | None:
    return None if claims is None else claims.runner_grading


def _estimates(data: CellData) -> Iterator[Estimate]:
    for name, parameters, value in standard_table(data):
        sure = value.low == value.high
        yield Estimate(
            cell=data.cell.id,
            setting=setting_of(data.cell.id),
            statistic=name,
            parameters=parameters,
            value=float(value.value),
            n=value.n,
            unit=STATISTICS[name].unit,
            low=None if sure else float(value.low),
            high=None if sure else float(value.high),
        )


def _equal_cost(study: Study) -> Iterator[EqualCost]:
    """The standard comparison of every method with its setting's pool; the curve is exact."""
    for cell in study.methods():
        found = study.compare(cell)
        if isinstance(found, str):
            continue
        result = found.result
        adjusted, stepped = study.adjusted(cell)
        intervals = [None if isinstance(i, NoInterval) else i for i in (result.percentile, result.studentised)]
        ends = [end for interval in intervals for end in ((interval.low, interval.high) if interval else (None, None))]
        yield EqualCost(
            cell=cell,
            setting=setting_of(cell),
            questions=found.n,
            accuracy=found.accuracy,
            cost=found.cost,
            unit=study.inference.spending.unit,
            baseline=found.point.accuracy,
            clamped=found.point.clamped,
            difference=result.estimate,
            error=result.error,
            ci_low=ends[0],
            ci_high=ends[1],
            t_low=ends[2],
            t_high=ends[3],
            p_value=float(result.p_value),
            p_holm=adjusted,
            p_romano_wolf=stepped,
            few_differences=result.few_differences,
            verdict=judged_interval(result, adjusted),
        )


def _uncompared(study: Study) -> list[Finding]:
    """Methods that cannot be compared with their pool, and why: a stated gap, never a number that pretends."""
    reasons = [(cell, study.compare(cell)) for cell in study.methods()]
    return [
        note("equal-cost", cell, f"Not compared at equal cost: {why}.") for cell, why in reasons if isinstance(why, str)
    ]


def _report(
    release: Release,
    findings: list[Finding],
    causes: list[Cause],
    estimates: list[Estimate],
    equal_cost: list[EqualCost],
    rules: OtherRules,
    diagnostics: list[Diagnostic],
    sensitivity: Sensitivity | None,
) -> Report:
    errors = [finding.verdict for finding in findings if finding.severity == "error"]
    verdict: Verdict = "confirmed"
    if "unverifiable" in errors:
        verdict = "unverifiable"
    if "refuted" in errors:
        verdict = "refuted"
    return Report(
        format_version=FORMAT_VERSION,
        tool_version=version("generation-audit"),
        release=release.manifest.title,
        verdict=verdict,
        counts=Counts(
            confirmed=errors.count("confirmed"),
            refuted=errors.count("refuted"),
            unverifiable=errors.count("unverifiable"),
            warnings=sum(finding.severity == "warning" for finding in findings),
            notes=sum(finding.severity == "note" for finding in findings),
        ),
        findings=findings,
        causes=causes,
        estimates=estimates,
        equal_cost=equal_cost,
        other_rules=rules if rules.rules else None,
        diagnostics=diagnostics,
        sensitivity=sensitivity,
    )
