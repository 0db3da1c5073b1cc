"""The author-side count: from a release's records to the numbers that a paper would print.

Written apart from `verify` on purpose, with other tools: Polars aggregates, Math-Verify grades (extra `[summarize]`),
and the sampling curve is drawn, not computed, as SMRL draws it (2.4: 200 draws, the sizes of `SIZES`). Where the two
counts differ, one of them is wrong.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from generators.printing import decimals, percent, signed_points, thousands
from schemas import layout
from schemas.claims import Claims, Column, Parameter, Table
from schemas.errors import ReleaseError, UsageError
from schemas.manifest import Cell, Manifest
from schemas.reading import Limits, Line, decode, read_lines
from schemas.record import ANSWER_ROLES, Question, Record

SIZES = (1, 2, 3, 4, 6, 8, 12, 16)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Effort:
    """How many random draws stand behind the numbers, and the seed of them all."""

    draws: int = 200
    resamples: int = 10_000
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """One cell as its author counts it: by question, in the order of the question file."""

    cell: Cell
    correct: Floats
    tokens: Floats
    majority: Floats
    """Whether the plurality of the candidates is right; equals `correct` for a plain vote."""


def summarize(root: Path, *, effort: Effort | None = None) -> Claims:
    """The claims file of a complete release: accuracies, tokens, judge against count, curves, equal-cost comparisons.

    Raises ReleaseError for a record that cannot be read or is missing: an author publishes numbers of complete cells.
    """
    effort = effort or Effort()
    rng = np.random.default_rng(effort.seed)
    manifest = decode((root / layout.MANIFEST).read_bytes(), Manifest)
    grade = math_verify_grade()
    golds = {dataset.id: _golds(root, dataset.id) for dataset in manifest.datasets}
    frames = {
        cell.id: _graded(_generations(root, cell.id), golds[cell.id.split("/")[1]], grade) for cell in manifest.cells
    }
    outcomes = {cell.id: _outcome(cell, frames[cell.id], golds[cell.id.split("/")[1]], root) for cell in manifest.cells}
    return _claims(manifest, outcomes, frames, golds, effort, rng)


def _golds(root: Path, dataset: str) -> pl.DataFrame:
    items = [
        line.value
        for line in read_lines(layout.questions_path(root, dataset), Question, limits=Limits())
        if isinstance(line, Line)
    ]
    return pl.DataFrame(
        {"question": [item.id for item in items], "gold": [item.gold or "" for item in items]}
    ).with_row_index("order")


def _records(root: Path, cell: str) -> Iterator[Record]:
    for path in sorted((root / layout.GENERATIONS / cell).glob("part-*")):
        for line in read_lines(path, Record, limits=Limits()):
            if not isinstance(line, Line):
                raise ReleaseError(f"{path}, line {line.number}: {line.message}")
            yield line.value


def _generations(root: Path, cell: str) -> pl.DataFrame:
    rows = [
        {
            "question": record.question_id,
            "index": generation.index,
            "round": generation.round,
            "role": generation.role,
            "tokens": generation.completion_tokens,
            "score": generation.score,
            "text": None if generation.error else generation.text,
        }
        for record in _records(root, cell)
        for generation in record.generations
    ]
    kinds = {"question": pl.String, "index": pl.Int64, "round": pl.Int64, "role": pl.String, "tokens": pl.Int64}
    return pl.DataFrame(rows, schema={**kinds, "score": pl.Float64, "text": pl.String}).sort("question", "index")


def _math_verify() -> Any:
    """The library. Raises UsageError where it is not installed."""
    try:
        import math_verify
    except ImportError as error:
        raise UsageError(
            "`audit summarize` grades with Math-Verify; install the extra: pip install 'generation-audit[summarize]'."
        ) from error
    return math_verify


def math_verify_grade() -> Any:
    """A function (text, gold) → (spelling of the answer or None, whether it is right)."""
    library = _math_verify()
    # Told to run without timeouts (they need signals, and a clock may not change a result), it warns at every call.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    known: dict[str, Any] = {}

    def parsed(text: str) -> Any:
        if text not in known:
            known[text] = library.parse(text, parsing_timeout=None)
        return known[text]

    def grade(text: str, gold: str) -> tuple[str | None, bool]:
        answer = parsed(text)
        if not answer:
            return None, False
        return str(answer[0]), bool(library.verify(parsed(f"${gold}$"), answer, timeout_seconds=None))

    return grade


def reads_same(text: str, other: str) -> bool:
    """Whether Math-Verify reads the same answer from two texts; false where it reads none, or not within seconds.

    Limited in time, unlike an author's own count: these texts may be anybody's, made to keep a grader busy.
    """
    library = _math_verify()
    answers = [library.parse(each, parsing_timeout=5) for each in (text, other)]
    return all(answers) and str(answers[0][0]) == str(answers[1][0])


def _graded(frame: pl.DataFrame, golds: pl.DataFrame, grade: Any) -> pl.DataFrame:
    """The answer-bearing generations with `answer` (null where there is none) and `right`, plus all others."""
    joined = frame.join(golds, on="question", how="inner")
    answers, rights = [], []
    for role, text, gold in joined.select("role", "text", "gold").iter_rows():
        answer, right = grade(text, gold) if role in ANSWER_ROLES and text is not None else (None, False)
        answers.append(answer)
        rights.append(right)
    return joined.with_columns(
        pl.Series("answer", answers, dtype=pl.String),
        pl.Series("right", rights, dtype=pl.Boolean),
        pl.col("role").is_in(list(ANSWER_ROLES)).alias("answers"),
    ).sort("order", "index")


def _outcome(cell: Cell, frame: pl.DataFrame, golds: pl.DataFrame, root: Path) -> Outcome:
    missing = golds.height - frame["question"].n_unique()
    if missing:
        raise ReleaseError(f"{root}: cell {cell.id} lacks {missing} of {golds.height} questions; complete it first.")
    answers = frame.filter("answers")
    tokens = frame.group_by("order").agg(pl.col("tokens").sum()).sort("order")["tokens"]
    votes = _plurality(answers)
    if cell.decision_rule == "plurality":
        right = votes
    elif cell.decision_rule == "selected":
        right = _selected(cell, frame, answers)
    elif cell.decision_rule == "highest-score":
        if answers["score"].null_count():
            raise ReleaseError(f"{root}: cell {cell.id} decides by scores, and some of its answers have none.")
        ranked = answers.sort(["order", "score", "index"], descending=[False, True, False])
        right = ranked.group_by("order", maintain_order=True).agg(pl.col("right").first())["right"]
    else:
        right = answers.group_by("order", maintain_order=True).agg(pl.col("right").last()).sort("order")["right"]
    return Outcome(cell, _floats(right), _floats(tokens), _floats(votes))


def _plurality(answers: pl.DataFrame) -> pl.Series:
    """By question: whether the most common answer of the last round is right; of equals the first one seen."""
    last = answers.filter(pl.col("round") == pl.col("round").max().over("order"))
    ranked = (
        last.filter(pl.col("answer").is_not_null())
        .group_by("order", "answer")
        .agg(pl.len().alias("votes"), pl.col("index").min().alias("first"), pl.col("right").first())
        .sort(["order", "votes", "first"], descending=[False, True, False])
        .group_by("order", maintain_order=True)
        .agg(pl.col("right").first())
    )
    everyone = answers.select("order").unique().sort("order")
    return everyone.join(ranked, on="order", how="left").sort("order")["right"].fill_null(value=False)


def _selected(cell: Cell, frame: pl.DataFrame, answers: pl.DataFrame) -> pl.Series:
    """By question: whether the candidate that the select text names is right."""
    selection = cell.selection
    marker, base = ("BEST=", 1) if selection is None else (selection.marker, selection.base)
    fallback = None if selection is None or selection.fallback == "unparsed" else base
    choice = (
        frame.filter(pl.col("role") == "select")
        .group_by("order", maintain_order=True)
        .agg(pl.col("text").last())
        .with_columns(
            pl.col("text")
            .str.extract_all(rf"(?i){_escaped(marker)}\s*[<\[(*]*\s*(\d+)")
            .list.last()
            .str.extract(r"(\d+)\D*$")
            .cast(pl.Int64)
            .fill_null(pl.lit(fallback, dtype=pl.Int64))
            .alias("choice")
        )
    )
    candidates = answers.with_columns((pl.int_range(pl.len()).over("order") + base).alias("number"))
    picked = choice.join(candidates, left_on=["order", "choice"], right_on=["order", "number"], how="left")
    return picked.sort("order")["right"].fill_null(value=False)


def _escaped(marker: str) -> str:
    return "".join(f"\\{character}" if not character.isalnum() else character for character in marker)


def _floats(series: pl.Series) -> Floats:
    return series.cast(pl.Float64).to_numpy()


@dataclass(frozen=True)
class DrawnCurve:
    """By question and size: mean over the draws of right answers and of cost."""

    sizes: tuple[int, ...]
    right: Floats
    cost: Floats


def draw_curve(frame: pl.DataFrame, questions: int, draws: int, rng: np.random.Generator) -> DrawnCurve:
    """Draw samples without replacement and vote, the first answer seen winning ties (SMRL 2.4)."""
    pools = [
        pool.select("answer", "right", "tokens").rows()
        for _, pool in frame.filter("answers").group_by("order", maintain_order=True)
    ]
    sizes = tuple(size for size in SIZES if size <= min(len(pool) for pool in pools))
    right = np.zeros((questions, len(sizes)))
    cost = np.zeros((questions, len(sizes)))
    for row, pool in enumerate(pools):
        for column, size in enumerate(sizes):
            for _ in range(draws):
                votes: dict[str, int] = {}
                truth: dict[str, bool] = {}
                for position in rng.permutation(len(pool))[:size]:
                    answer, good, tokens = pool[position]
                    cost[row, column] += tokens
                    if answer is not None:
                        votes[answer] = votes.get(answer, 0) + 1
                        truth[answer] = good
                if votes:
                    right[row, column] += truth[max(votes, key=lambda answer: votes[answer])]
    return DrawnCurve(sizes, right / draws, cost / draws)


@dataclass(frozen=True)
class Compared:
    """A method beside the curve at its own cost."""

    baseline: float
    difference: float
    low: float
    high: float
    p: float


def compare(outcome: Outcome, curve: DrawnCurve, resamples: int, rng: np.random.Generator) -> Compared | None:
    """Interpolate at the method's mean cost and resample questions; None beyond the curve."""
    n = len(outcome.correct)
    if outcome.tokens.mean() > curve.cost.mean(axis=0)[-1]:
        return None
    baseline = _at(curve.cost.mean(axis=0), curve.right.mean(axis=0), float(outcome.tokens.mean()))
    differences = np.empty(resamples)
    for i in range(resamples):
        rows = rng.integers(0, n, n)
        there = _at(curve.cost[rows].mean(axis=0), curve.right[rows].mean(axis=0), float(outcome.tokens[rows].mean()))
        differences[i] = outcome.correct[rows].mean() - there
    return Compared(baseline, float(outcome.correct.mean() - baseline), *_interval(differences))


def _at(costs: Floats, heights: Floats, cost: float) -> float:
    return float(np.interp(cost, costs, heights))


def _interval(differences: Floats) -> tuple[float, float, float]:
    """Percentile interval and two-sided p; differences that are zero but for rounding count on both sides."""
    low, high = np.percentile(differences, [2.5, 97.5])
    tails = (np.sum(differences < 1e-12), np.sum(differences > -1e-12))
    return float(low), float(high), min(1.0, 2 * float(min(tails)) / len(differences))


def holm(p_values: list[float]) -> list[float]:
    """Holm's adjusted p-values (Holm 1979), in the order given."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def _claims(
    manifest: Manifest,
    outcomes: dict[str, Outcome],
    frames: dict[str, pl.DataFrame],
    golds: dict[str, pl.DataFrame],
    effort: Effort,
    rng: np.random.Generator,
) -> Claims:
    cell = Column(name="Cell", key="cell")
    drawn: dict[str, Parameter] = {"draws": effort.draws, "tie_rule": "random"}
    both: dict[str, Parameter] = {**drawn, "resamples": effort.resamples}
    tables = [
        Table(
            id="results",
            columns=[
                cell,
                Column(name="Accuracy", statistic="accuracy", unit="percent"),
                Column(name="Tokens", statistic="mean_completion_tokens"),
            ],
            rows=[[name, percent(_mean(o.correct)), thousands(_mean(o.tokens))] for name, o in outcomes.items()],
        )
    ]
    judged = [(name, o) for name, o in outcomes.items() if o.cell.decision_rule == "selected"]
    if judged:
        rows = []
        for name, outcome in judged:
            gap = outcome.correct - outcome.majority
            picks = rng.integers(0, len(gap), (effort.resamples, len(gap)))
            low, high, p = _interval(gap[picks].mean(axis=1))
            values = [percent(_mean(outcome.correct)), percent(_mean(outcome.majority)), signed_points(_mean(gap))]
            rows.append([name, *values, signed_points(low), signed_points(high), decimals(p, 3)])
        of: dict[str, Parameter] = {"of": "judge_minus_majority", "resamples": effort.resamples}
        columns = [
            cell,
            Column(name="Judge", statistic="accuracy", unit="percent"),
            Column(name="Count", statistic="majority_at_k", unit="percent", parameters={"tie_rule": "first"}),
            Column(name="Difference", statistic="judge_minus_majority", unit="points"),
            Column(name="Low", statistic="ci_low", unit="points", parameters=of),
            Column(name="High", statistic="ci_high", unit="points", parameters=of),
            Column(name="p", statistic="p_value", parameters=of),
        ]
        tables.append(Table(id="judge", columns=columns, rows=rows))
    curves = {
        name.rsplit("/", 1)[0]: draw_curve(frames[name], golds[name.split("/")[1]].height, effort.draws, rng)
        for name, outcome in outcomes.items()
        if outcome.cell.pool
    }
    for name, outcome in outcomes.items():
        if outcome.cell.pool:
            curve = curves[name.rsplit("/", 1)[0]]
            tables.append(
                Table(
                    id=f"curve.{name.rsplit('/', 1)[0].replace('/', '.')}",
                    where={"cell": name},
                    columns=[
                        Column(
                            name=f"N={size}", statistic="sc_accuracy", unit="percent", parameters={**drawn, "k": size}
                        )
                        for size in curve.sizes
                    ],
                    rows=[[percent(_mean(column)) for column in curve.right.T]],
                )
            )
    compared = {
        name: found
        for name, outcome in outcomes.items()
        if not outcome.cell.pool
        and name.rsplit("/", 1)[0] in curves
        and (found := compare(outcome, curves[name.rsplit("/", 1)[0]], effort.resamples, rng)) is not None
    }
    adjusted: dict[str, float] = {}
    for family in manifest.families or []:
        members = [name for name in family.cells if name in compared]
        values_holm = holm([compared[name].p for name in members])
        adjusted |= dict(zip(members, values_holm, strict=True))
    if compared:
        columns = [
            cell,
            Column(name="Sampling", statistic="sc_accuracy_at_cost", unit="percent", parameters=dict(drawn)),
            Column(name="Difference", statistic="difference_at_cost", unit="points", parameters=dict(drawn)),
            Column(name="Low", statistic="ci_low", unit="points", parameters=dict(both)),
            Column(name="High", statistic="ci_high", unit="points", parameters=dict(both)),
            Column(name="p", statistic="p_value", parameters=dict(both)),
            Column(name="Holm", statistic="p_holm", parameters=dict(both)),
        ]
        rows = [
            [
                name,
                percent(c.baseline),
                signed_points(c.difference),
                signed_points(c.low),
                signed_points(c.high),
                decimals(c.p, 3),
                decimals(adjusted[name], 3) if name in adjusted else "-",
            ]
            for name, c in compared.items()
        ]
        tables.append(Table(id="equal-cost", columns=columns, rows=rows))
    return Claims(
        format_version="1.0",
        source=f"audit summarize: {effort.draws} draws, {effort.resamples:,} resamples, seed {effort.seed}",
        tables=tables,
    )


def _mean(values: Floats) -> float:
    return float(values.mean())
