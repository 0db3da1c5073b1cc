"""Every diagnostic of every cell, as the report holds them: numbers, tests and a few sentences.

An alarm is a warning besides; it says what the data are consistent with, never what happened.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from schemas.claims import Parameter
from schemas.report import Diagnostic, DiagnosticKind, DiagnosticTest, Finding, Measure
from verify.cells import CellData, Grid
from verify.claims import BoundClaim
from verify.diagnostics import compute, engagement, judge, redundancy, refinement, truncation
from verify.estimates import STATISTICS
from verify.findings import counted, warning
from verify.outcome import decide, our_answers
from verify.partial import NONE, Grade
from verify.printed import parse_printed
from verify.release import method_of, setting_of
from verify.settings import Study
from verify.value import Unavailable, Value

LEVEL = truncation.LEVEL
"""At which a test becomes an alarm, after Bonferroni where an alarm rests on several."""
PAIRED_BY_UNIT = 2_000
"""Resamples of a comparison in another unit of cost; `audit verify --cost` makes all of them."""


@dataclass
class _Notes:
    """What one diagnostic of one cell gathers."""

    kind: DiagnosticKind
    cell: str
    statements: list[str] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    tests: list[DiagnosticTest] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)

    def measure(self, name: str, value: float | Fraction, n: int | None = None, **parameters: Parameter) -> None:
        self.measures.append(
            Measure(name=name, value=float(value), n=None if n is None else int(n), parameters=parameters)
        )

    def test(self, name: str, p_value: float, *, adjusted: float | None = None, statistic: float | None = None) -> None:
        # NumPy's own floats are floats to a type checker, but not to JSON.
        self.tests.append(
            DiagnosticTest(
                name=name,
                p_value=float(p_value),
                p_adjusted=None if adjusted is None else float(adjusted),
                statistic=None if statistic is None else float(statistic),
            )
        )

    def diagnostic(self) -> Diagnostic | None:
        if not (self.statements or self.measures or self.tests or self.alarms):
            return None
        return Diagnostic(
            diagnostic=self.kind,
            subject=self.cell,
            alarm=bool(self.alarms),
            statements=self.statements,
            measures=self.measures,
            tests=self.tests,
        )


def examine(
    study: Study,
    grid: Grid,
    claims: Sequence[BoundClaim] = (),
    similar: Mapping[str, redundancy.Redundancy] | None = None,
) -> tuple[list[Diagnostic], list[Finding]]:
    """All diagnostics, in the order of the manifest, and the warnings of those that raise one.

    `claims`: published numbers, tried on survivors and on repeated records where there are any; `similar`: by cell,
    clusters of like texts, where the reader asked for them.
    """
    prices = compute.PoolPrices(study)
    settings: dict[str, list[CellData]] = {}
    for data in grid.cells:
        settings.setdefault(setting_of(data.cell.id), []).append(data)
    lines = {data.cell.id: every for data, every in zip(grid.cells, grid.lines, strict=True)}
    gathered: list[_Notes] = []
    for cells in settings.values():
        gathered += _truncation(study, cells, claims)
        gathered += _engagement(cells)
        for data in cells:
            gathered.append(_judge(study, data))
            gathered.append(_refinement(data))
            gathered.append(_redundancy(data, lines[data.cell.id], claims, (similar or {}).get(data.cell.id)))
            gathered.append(_compute(study, data, prices))
        gathered += _ablations(cells)
    found = [item for notes in gathered if (item := notes.diagnostic()) is not None]
    alarms = [warning(notes.kind, notes.cell, " ".join(notes.alarms)) for notes in gathered if notes.alarms]
    return found, alarms


# Truncation and survivorship


def _truncation(study: Study, cells: list[CellData], claims: Sequence[BoundClaim]) -> Iterator[_Notes]:
    caps = {data.cell.id: truncation.caps_of(data) for data in cells}
    shorter = dict(truncation.shorter_arm(caps))
    for data in cells:
        notes = _Notes("truncation", data.cell.id)
        if data.n:
            _caps(notes, data, caps, shorter.get(data.cell.id))
            _survivorship(notes, study, data, cells, claims)
        yield notes


def _caps(notes: _Notes, data: CellData, caps: Mapping[str, truncation.Caps], longer: str | None) -> None:
    own = caps[data.cell.id]
    if own.calls:
        notes.measure("cap_hit_rate", own.rate, own.calls, recorded=own.recorded)
    if own.longest != NONE:
        notes.measure("longest_answer_tokens", own.longest)
    low, high = truncation.bounds(data)
    if low != high:
        notes.measure("accuracy_low", low, data.n)
        notes.measure("accuracy_high", high, data.n)
    if own.capped:
        by = "by their recorded reason" if own.recorded else "by their tokens alone: no reason of ending is recorded"
        at = "" if own.cap is None else f" at {own.cap:,} tokens"
        notes.statements.append(
            f"{own.capped:,} of {counted(own.calls, 'call')} ({_percent(own.rate)}) ended by their length{at}, {by}; "
            f"what was not graded leaves the accuracy between {_percent(low)} and {_percent(high)}."
        )
    if longer is not None:
        notes.alarms.append(
            f"Its answers end at {own.cap:,} tokens ({counted(own.capped, 'call')} cut short), and answers of {longer} "
            f"go to {caps[longer].longest:,}: consistent with a lower cap on this arm than on the other."
        )


def _survivorship(
    notes: _Notes, study: Study, data: CellData, cells: list[CellData], claims: Sequence[BoundClaim]
) -> None:
    missing = truncation.gaps_of(data)
    passes = [("missing", missing)]
    if not data.cell.pool:
        passes.append(("missing or cut short", truncation.gaps_of(data, capped=True)))
    for name, gaps in passes:
        if not gaps.any() or (name != "missing" and np.array_equal(gaps, missing)):
            continue
        reference = truncation.reference_of(data, cells)
        if reference is None:
            continue
        found = truncation.survivorship(gaps, reference, rng=study.rng())
        if found is None:
            continue
        for test, p in found.p_values.items():
            notes.test(f"{name}: {test}", p, adjusted=min(1.0, len(found.p_values) * p))
        notes.measure("length_auc", found.auc, found.n, gaps=name)
        if found.reference_all is not None and found.reference_survivors is not None and reference.method:
            notes.measure("reference_accuracy", found.reference_all, found.n, cell=reference.method)
            left = found.n - found.gaps
            notes.measure("reference_accuracy_on_survivors", found.reference_survivors, left, cell=reference.method)
        if name == "missing":
            if found.alarm:
                notes.alarms.append(_selective(found, reference))
            _on_survivors(notes, study, data, cells, gaps, claims)
        elif found.alarm:
            notes.statements.append(
                f"The {found.gaps:,} questions missing or cut short are no random ones ({_tests(found)}): long answers "
                "run into a cap first, and a comparison with methods that finish is partly one of caps."
            )


def _selective(found: truncation.Survivorship, reference: truncation.Reference) -> str:
    words = [f"{found.gaps:,} of {found.n:,} questions are missing, and not at random ({_tests(found)})"]
    if found.reference_all is not None and found.reference_survivors is not None and reference.method:
        words.append(
            f"{method_of(reference.method)} scores {_percent(found.reference_survivors)} on those that survive, "
            f"{_percent(found.reference_all)} on all"
        )
    longer = "the long ones" if found.auc > 0.5 else "the short ones"
    return "; ".join(words) + f": consistent with losing {longer}."


def _tests(found: truncation.Survivorship) -> str:
    tests = ", ".join(f"{name} p {_p(p)}" for name, p in found.p_values.items())
    return f"{tests}; after Bonferroni p {_p(found.p_value)}; length AUC {found.auc:.2f}"


def _on_survivors(
    notes: _Notes,
    study: Study,
    data: CellData,
    cells: list[CellData],
    gaps: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]",
    claims: Sequence[BoundClaim],
) -> None:
    """Accuracies and comparisons of the setting on the questions that this cell still has, and claims that print so."""
    kept = frozenset(name for name, gap in zip(data.question_ids, gaps, strict=True) if not gap)
    printed_so = []
    for other in cells:
        inside = np.array([name in kept for name in other.question_ids], dtype=np.bool_)
        ours, all_ = _accuracy_over(other, inside), _accuracy_over(other, np.ones(other.n, dtype=np.bool_))
        if ours is None or all_ is None:
            continue
        notes.measure("accuracy_on_survivors", ours, int(inside.sum()), cell=other.cell.id)
        # Of the cell with the gaps nothing but its survivors is known.
        printed_so += [
            claim.id for claim in _printing(claims, other.cell.id, ours) if other is data or not _prints(claim, all_)
        ]
    on_survivors = study.compare(data.cell.id, None, "survivors")
    if not isinstance(on_survivors, str) and not data.cell.pool:
        notes.measure("difference_at_cost", on_survivors.result.estimate, on_survivors.n, subset="survivors")
    if printed_so:
        notes.statements.append(
            f"{counted(len(printed_so), 'published accuracy', 'published accuracies')} ({', '.join(printed_so[:4])}"
            f"{', …' if len(printed_so) > 4 else ''}) print{'s' * (len(printed_so) == 1)} as on the survivors alone."
        )
    if notes.alarms and (under := truncation.just_under_power_of_two(data)) is not None:
        notes.statements.append(
            f"The largest total that survives, {under[0]:,} tokens, is just under {under[1]:,}: consistent with a "
            "limit of that size."
        )


def _accuracy_over(data: CellData, mask: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]") -> Fraction | None:
    """Share of right outcomes among the known ones of `mask`; None where none is known or a tie is drawn."""
    outcomes = decide(data, our_answers(data))
    known = mask & (outcomes.grade != Grade.UNKNOWN)
    if not known.any() or (outcomes.tied[known] > 1).any():
        return None
    return Fraction(int(np.sum(outcomes.grade[known] == Grade.CORRECT)), int(known.sum()))


def _printing(
    claims: Sequence[BoundClaim], cell: str, value: Fraction, statistic: str = "accuracy"
) -> Iterator[BoundClaim]:
    """Claims about a cell's `statistic` that print as `value`."""
    for claim in claims:
        if claim.cell == cell and claim.statistic == statistic and not claim.parameters and _prints(claim, value):
            yield claim


def _prints(claim: BoundClaim, value: Fraction) -> bool:
    try:
        printed = parse_printed(claim.text, claim.rounding)
    except ValueError:
        return False
    return printed.admits(value * 100 if claim.unit in ("percent", "points") or printed.percent else value)


# Judge and reward model


def _judge(study: Study, data: CellData) -> _Notes:
    notes = _Notes("judge", data.cell.id)
    found = judge.examine_selection(data, rng=study.rng(), resamples=study.inference.resamples)
    if isinstance(found, str):
        return notes
    result, pair = found.result, found.mcnemar
    notes.measure("judge_minus_majority", result.estimate, found.n, rule=found.rule)
    notes.measure("agreement_rate", found.agreement, found.n, rule=found.rule)
    notes.measure("selection_right_only", pair.first_only, found.n)
    notes.measure("majority_right_only", pair.second_only, found.n)
    notes.test("judge_minus_majority: bootstrap", result.p_value, statistic=result.estimate)
    notes.test("judge_minus_majority: exact McNemar", pair.p_exact)
    notes.test("judge_minus_majority: mid-p McNemar", pair.p_mid)
    chooser = "The judge" if found.rule == "selected" else "The highest score"
    override = ""
    if found.override_accuracy is not None:
        notes.measure("override_accuracy", found.override_accuracy, pair.discordant)
        override = f" and is right on {pair.first_only} of the {pair.discordant} where one of the two is"
    notes.statements.append(
        f"{chooser} scores {_percent(found.selected)}, the plurality of the same candidates {_percent(found.majority)} "
        f"({_points(result.estimate)} points; bootstrap p {_p(result.p_value)}, exact McNemar {_p(pair.p_exact)}, "
        f"mid-p {_p(pair.p_mid)}); it departs on {found.disagreements} of {found.n}{override}."
    )
    if found.unread:
        notes.measure("unread_verdict_rate", found.unread / max(found.verdicts, 1), found.verdicts)
        notes.statements.append(f"{found.unread} of {counted(found.verdicts, 'verdict')} name no candidate.")
    if found.position is not None:
        bias = found.position
        notes.measure("first_pick_rate", bias.first, sum(bias.picks))
        for place, count in enumerate(bias.picks):
            notes.measure("picks", count, position=place)
        notes.test("position: chi-squared against uniform", bias.p_value, statistic=bias.statistic)
        if bias.p_value <= LEVEL:
            notes.statements.append(
                f"Picks depend on the position: the first candidate takes {_percent(bias.first)}, where uniform picks "
                f"give {_percent(bias.expected[0] / max(sum(bias.picks), 1))} (chi-squared p {_p(bias.p_value)})."
            )
    return notes


# Engagement


def _engagement(cells: list[CellData]) -> Iterator[_Notes]:
    reported: set[frozenset[str]] = set()
    for data in sorted(cells, key=lambda item: not engagement.self_triggered(item)):
        notes = _Notes("engagement", data.cell.id)
        never = False
        if engagement.self_triggered(data):
            never = _self_triggered(notes, data)
        twin = engagement.base_of(data, [other for other in cells if other is not data])
        if twin is not None and (pair := frozenset((data.cell.id, twin[0].cell.id))) not in reported:
            reported.add(pair)
            base, same = twin
            notes.measure("equal_texts", same.equal, same.compared, cell=base.cell.id)
            name = method_of(base.cell.id)
            notes.alarms.append(
                f"{same.equal:,} of {same.compared:,} texts are word for word those of {name}: consistent with {name} "
                "under another name."
            )
        elif never:
            notes.alarms.append("It never does what it is named for.")
        shares = engagement.unanimity_by_round(data)
        if shares is not None:
            for depth, value in enumerate(shares):
                notes.measure("unanimity_rate", value, data.n, depth=depth)
            rounds = " → ".join(_percent(value) for value in shares)
            notes.statements.append(f"All agents give the same answer on {rounds} of questions, round by round.")
        yield notes


def _self_triggered(notes: _Notes, data: CellData) -> bool:
    """Engagement of a method that may stop at once; whether it never went on where it could have."""
    used = engagement.rounds_used(data)
    known = used[used != NONE]
    if not len(known):
        return False
    engaged, n, p = engagement.never_fires_p(data)
    notes.measure("stopped_at_once_rate", 1 - engaged / n, n)
    notes.measure("mean_rounds", float(known.mean()), n)
    notes.test(f"goes on in fewer than {_percent(engagement.LEAST_ENGAGED)} of questions", p)
    notes.statements.append(
        f"Stops at once on {n - engaged:,} of {n:,} questions ({_percent(1 - engaged / n)}); {known.mean():.2f} "
        "further rounds on average."
    )
    never = engaged == 0 and p <= LEVEL
    if never:
        notes.alarms.append(
            f"It stopped after its first answer on all {n:,} questions (p {_p(p)} if it went on in "
            f"{_percent(engagement.LEAST_ENGAGED)})."
        )
    stopped = engagement.stopping(data)
    if stopped is not None and stopped.right and stopped.wrong:
        notes.measure("continued_after_right", stopped.right_continued, stopped.right)
        notes.measure("stopped_after_wrong", stopped.wrong_stopped, stopped.wrong)
        notes.test("stops as one who knows the answer", stopped.p_value)
        if stopped.p_value <= LEVEL:
            notes.alarms.append(
                f"It went on after {stopped.right_continued} of {stopped.right:,} right answers and stopped after "
                f"{stopped.wrong_stopped} of {stopped.wrong:,} wrong ones; a judge who errs on "
                f"{_percent(engagement.LEAST_ERRORS)} of either would do so with p {_p(stopped.p_value)}: consistent "
                "with stopping by the gold answer."
            )
    return never


# Refinement


def _refinement(data: CellData) -> _Notes:
    notes = _Notes("refinement", data.cell.id)
    found = refinement.rollouts(data)
    if isinstance(found, str):
        return notes
    accuracy: list[str] = []
    for depth in range(found.depth + 1):
        for name, (compute_at, least) in refinement.BY_DEPTH.items():
            value = compute_at(found, depth) if depth >= least else None
            if isinstance(value, Value):
                notes.measure(name, value.value, value.n, depth=depth)
                if name == "depth_accuracy":
                    accuracy.append(_percent(value.value))
    if found.breadth > 1:
        grid = refinement.breadth_depth_grid(found)
        if not isinstance(grid, str):
            for breadth, row in enumerate(grid, start=1):
                for depth, share_ in enumerate(row):
                    notes.measure("breadth_depth_accuracy", float(share_), data.n, k=breadth, depth=depth)
    turned = [_sum(notes, name) for name in ("recovery_rate", "regression_rate")]
    flips = [_sum(notes, name) for name in ("wrong_to_correct_rate", "correct_to_wrong_rate")]
    if accuracy and None not in turned and None not in flips:
        single = f"; of single rollouts {flips[0]} and {flips[1]}" if found.breadth > 1 else ""
        notes.statements.append(
            f"Accuracy by depth {' → '.join(accuracy)}; over all depths {turned[0]} turned right and {turned[1]} wrong"
            f"{single}."
        )
    return notes


def _sum(notes: _Notes, name: str) -> int | None:
    values = [measure for measure in notes.measures if measure.name == name]
    return round(sum(measure.value * (measure.n or 0) for measure in values)) if values else None


def _ablations(cells: list[CellData]) -> Iterator[_Notes]:
    """Pairs of cells that the manifest declares as equal but for `parameters.critic`."""
    for data in cells:
        own = data.cell.parameters or {}
        if own.get("critic") is not True:
            continue
        for other in cells:
            theirs = other.cell.parameters or {}
            if theirs.get("critic") is not False or {**own, "critic": 0} != {**theirs, "critic": 0}:
                continue
            found = refinement.ablation(*((item, decide(item, our_answers(item))) for item in (data, other)))
            if isinstance(found, str):
                continue
            notes = _Notes("refinement", data.cell.id)
            notes.measure("accuracy", found.with_critic, found.n, critic=True)
            notes.measure("accuracy", found.without, found.n, critic=False, cell=other.cell.id)
            notes.test("critic: exact McNemar", found.mcnemar.p_exact)
            notes.test("critic: mid-p McNemar", found.mcnemar.p_mid)
            notes.statements.append(
                f"With its critic {_percent(found.with_critic)}, without ({method_of(other.cell.id)}) "
                f"{_percent(found.without)}: {found.mcnemar.first_only} questions only with, "
                f"{found.mcnemar.second_only} only without, exact McNemar p {_p(found.mcnemar.p_exact)}."
            )
            yield notes


# Redundancy


def _redundancy(
    data: CellData,
    lines: CellData | None,
    claims: Sequence[BoundClaim],
    similar: redundancy.Redundancy | None,
) -> _Notes:
    notes = _Notes("redundancy", data.cell.id)
    found = redundancy.of_answers(data)
    for kind, item in (("answers", found), ("texts", similar)):
        if item is None:
            continue
        for n, clusters in zip(item.sizes, item.clusters, strict=True):
            notes.measure("distinct_answers", float(clusters), item.questions, k=n, by=kind)
        notes.measure("diversity_yield", float(item.clusters[-1]) / item.samples, item.questions, by=kind)
        notes.measure("dominant_share", item.largest, item.questions, by=kind)
        notes.measure("cluster_entropy", item.entropy, item.questions, by=kind)
        what = "different answers" if kind == "answers" else "clusters of like texts"
        notes.statements.append(
            f"{item.samples} samples hold {item.clusters[-1]:.2f} {what} a question; the most common takes "
            f"{_percent(item.largest)}, entropy {item.entropy:.2f} bits."
        )
    repeated = redundancy.repeats(data)
    if repeated.repeats and found is not None:
        notes.measure("repeated_samples", repeated.repeats, repeated.samples)
        notes.measure("distinct_samples", repeated.distinct, repeated.of_questions)
        notes.statements.append(
            f"{repeated.repeats:,} of {repeated.samples:,} samples are word for word an earlier one, in "
            f"{counted(repeated.questions, 'question')}: nominally {repeated.samples / repeated.of_questions:.0f} "
            f"samples, {repeated.distinct:.2f} different ones on average."
        )
    if lines is not None:
        _repeated_records(notes, data, lines, claims)
    return notes


def _repeated_records(notes: _Notes, data: CellData, lines: CellData, claims: Sequence[BoundClaim]) -> None:
    """What counting every record of a repeated question makes of the accuracy, by our grades and by the runner's."""
    many = counted(lines.n - int(data.present.sum()), "record")
    for statistic, by in (("accuracy", "by our grades"), ("claimed_accuracy", "by the runner's own flags")):
        once, each = (STATISTICS[statistic].compute(item, {}) for item in (data, lines))
        if isinstance(once, Unavailable) or isinstance(each, Unavailable):
            continue
        notes.measure(statistic, once.value, once.n, records="first of each question")
        notes.measure(statistic, each.value, each.n, records="every record")
        printing = [
            claim.id
            for claim in _printing(claims, data.cell.id, each.value, statistic)
            if not _prints(claim, once.value)
        ]
        so = f" Published so: {', '.join(printing[:4])}." if printing else ""
        notes.statements.append(
            f"{many} of questions that already had one; {by} {_percent(once.value, 2)} of {once.n:,} if counted once, "
            f"{_percent(each.value, 2)} of {each.n:,} if every record counts.{so}"
        )


# Compute


def _compute(study: Study, data: CellData, prices: compute.PoolPrices) -> _Notes:
    cell = data.cell.id
    notes = _Notes("compute", cell)
    if (spent := compute.tflops_of(study, cell)) and not isinstance(spent, str):
        notes.measure("tflops", spent, data.n)
    if (ratio := compute.read_per_written(data)) is not None:
        notes.measure("input_output_ratio", ratio)
    if data.cell.pool or study.pool_of(setting_of(cell)) is None:
        return notes
    found = refinement.rollouts(data)
    deep = not isinstance(found, str) and found.breadth > 1
    by_unit = compute.in_every_unit(study, cell, prices, resamples=PAIRED_BY_UNIT if deep else 0)
    known = {unit: item for unit, item in by_unit.items() if not isinstance(item, str)}
    for unit, item in known.items():
        notes.measure("difference_at_cost", item.difference, unit=unit)
        if item.low is not None and item.high is not None:
            notes.measure("ci_low", item.low, unit=unit)
            notes.measure("ci_high", item.high, unit=unit)
        if item.p_value is not None:
            notes.test(f"difference at equal {unit}", item.p_value, statistic=item.difference)
    signs = {np.sign(item.difference) for item in known.values() if abs(item.difference) > 1e-12}
    if deep and known:
        parts = [
            f"{unit} {_points(item.difference)}"
            + ("" if item.low is None or item.high is None else f" ({_points(item.low)} to {_points(item.high)})")
            for unit, item in known.items()
        ]
        beyond = [unit for unit, item in by_unit.items() if isinstance(item, str) and "beyond the curve" in item]
        more = f"; {', '.join(beyond)}: costs more than the whole pool" if beyond else ""
        notes.statements.append(f"Against sampling at equal cost, in points: {', '.join(parts)}{more}.")
    elif deep and by_unit:
        reason = next(item for item in by_unit.values() if isinstance(item, str))
        notes.statements.append(f"Not compared with sampling at equal cost in any unit: {reason}.")
    elif len(signs) > 1:
        parts = [f"{unit} {_points(item.difference)}" for unit, item in known.items()]
        notes.statements.append(
            f"The unit of cost decides which side of sampling it is on, in points: {', '.join(parts)} "
            "(--cost gives intervals)."
        )
    return notes


def _percent(share_: float | Fraction, digits: int = 1) -> str:
    return f"{100 * float(share_):.{digits}f}%"


def _points(share_: float) -> str:
    return f"{100 * share_:+.1f}".replace("-", "−")


def _p(value: float) -> str:
    return "<.001" if value < 0.0005 else f"= {value:.3f}".replace("= 0.", "= .")
