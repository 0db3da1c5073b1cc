"""The paired 2×2 table of two methods, rebuilt in whole numbers from what is printed, and its tests replayed.

b questions only the first gets right, c only the second. n, both accuracies, the gap, the disagreements and the
override accuracy b/(b + c) leave few (b, c), often one. For each, the exact McNemar test, and the percentile
bootstrap over questions without its Monte-Carlo error: a resampled gap is a sum of n draws of +1 (chance b/n),
−1 (c/n) and 0, whose distribution is known.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from schemas.claims import Paired, QuestionSet, Rounding
from schemas.consistency import Consistency, Place, Standing
from schemas.errors import ClaimsError
from verify.consistency import exact
from verify.consistency.grid import Cell, read_cell
from verify.consistency.lattice import counts, differences, totals
from verify.consistency.values import Interval, exactly

MAX_N = 2000
MAX_TABLES = 50_000
LISTED = 12
SIGMAS = 5.0
"""Monte-Carlo tolerance of the replay, in standard errors."""


@dataclass(frozen=True)
class Replay:
    """What one 2×2 table gives."""

    b: int
    c: int
    p_exact: Fraction
    p_mid: Fraction
    p_bootstrap: tuple[float, float]
    low: tuple[float, float]
    high: tuple[float, float]
    """p and interval ends of the percentile bootstrap, from least to greatest within Monte-Carlo error."""


def paired(item: Paired, sets: Mapping[str, QuestionSet], rounding: Rounding, name: str) -> Consistency:
    """One paired comparison. Raises ClaimsError where it cannot be read."""
    where = f"{name}, paired {item.id!r}"
    if item.set not in sets:
        raise ClaimsError(f"{where}: there is no question set {item.set!r}; declare it under [[sets]].")
    question_set = sets[item.set]
    cells = _read(item, question_set, rounding, where)
    n = question_set.n
    if n is None or n > MAX_N:
        return _finding(item, "undecided", f"needs an n of at most {MAX_N:,} for {item.set}.", cells)
    tables = _tables(cells, n)
    if tables is None:
        return _finding(item, "undecided", "leaves more 2×2 tables than can be listed; print more about it.", cells)
    stated = question_set.basis == "stated"
    condition = None if stated else f"n = {n} for {item.set}, which is assumed"
    printed = [f"{field} is printed {cell.text}, that is {cell.printed}" for field, cell in cells.items()]
    if not tables:
        standing: Standing = "contradiction" if stated else "conditional"
        return _finding(
            item,
            standing,
            f"no whole numbers give all of it over {n} questions.",
            cells,
            condition=condition,
            steps=printed,
        )
    if len(tables) > LISTED:
        gap = sorted({b - c for b, c in tables})
        best = exact.mcnemar(min(abs(g) for g in gap), 0)
        return _finding(
            item,
            "consistent",
            f"{len(tables):,} tables fit, with a gap of {gap[0]} to {gap[-1]} questions.",
            cells,
            steps=printed,
            notes=[f"the least exact p that such a gap can have is {_p(best)}"],
        )
    replays = [replay(b, c, n, item.resamples) for b, c in tables]
    fitting = [one for one in replays if _fits(one, cells)]
    steps = [*printed, *[_line(one, n) for one in replays]]
    asked = [field for field in ("low", "high", "p") if field in cells]
    if asked and not fitting:
        return _finding(
            item,
            "conditional",
            f"{', '.join(asked)} printed as {', '.join(cells[field].text for field in asked)} fit no 2×2 table.",
            cells,
            condition=f"a percentile bootstrap over questions with {item.resamples:,} resamples",
            steps=steps,
        )
    shown = fitting or replays
    return _finding(
        item,
        "consistent",
        f"only the first right / only the second right: {' or '.join(f'{one.b}/{one.c}' for one in shown)}.",
        cells,
        steps=steps,
        notes=[note for one in shown[:3] for note in _notes(one, cells)],
    )


def _read(item: Paired, question_set: QuestionSet, rounding: Rounding, where: str) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for field in ("first", "second", "gap", "disagreements", "override", "low", "high", "p"):
        text: str | None = getattr(item, field)
        if text is None:
            continue
        shares = field in ("first", "second")
        cells[field] = read_cell(
            text,
            kind="proportion" if shares else "p" if field == "p" else "number",
            unit=item.unit if field not in ("disagreements", "p") else None,
            rounding=rounding,
            question_set=question_set if shares else None,
            id_=f"{item.id}#{field}",
            place=f"{where}, {field}",
            source=item.source,
        )
    return cells


def _tables(cells: Mapping[str, Cell], n: int) -> list[tuple[int, int]] | None:
    """Every (b, c) that all printed whole-number facts allow; None where there are too many."""
    firsts = _counts(cells.get("first"), n)
    seconds = _counts(cells.get("second"), n)
    gaps = range(-n, n + 1)
    if (gap := cells.get("gap")) is not None and gap.printed is not None:
        gaps = differences(gap.printed, gap.point, n, gap.scale, Fraction(1, 10**gap.decimals)) or range(0)
    most = n
    if (disagreements := cells.get("disagreements")) is not None and disagreements.printed is not None:
        found = totals(disagreements.printed, 1)
        most = min(n, found[-1]) if found else -1
    override = cells.get("override")
    if len(gaps) * (most + 1) > MAX_TABLES:
        return None
    tables = []
    for gap_count in gaps:
        for b in range(max(0, gap_count), most + 1):
            c = b - gap_count
            if b + c > most:
                break
            # The first is right on k questions: at least on b, at most on all but c; the second on k less the gap.
            least = max(firsts.start, seconds.start + gap_count, b)
            greatest = min(firsts.stop - 1, seconds.stop - 1 + gap_count, n - c)
            if least <= greatest and (override is None or _overrides(override, b, c)):
                tables.append((b, c))
    return tables


def _counts(cell: Cell | None, n: int) -> range:
    return range(n + 1) if cell is None or cell.printed is None else counts(cell.printed, n, cell.scale)


def _overrides(cell: Cell, b: int, c: int) -> bool:
    return cell.printed is None or (b + c > 0 and cell.printed.meets(exactly(Fraction(b * cell.scale, b + c))))


def replay(b: int, c: int, n: int, resamples: int) -> Replay:
    """Exact McNemar and the percentile bootstrap of one table, the latter within its Monte-Carlo error.

    The share of resamples below a point has standard error √(q(1 − q)/B). p = 2·min(P(D ≤ 0), P(D ≥ 0)), at most 1.
    """
    chances = resampled_gap(b, c, n)
    below = np.cumsum(chances)
    at_most_zero = float(below[n])
    at_least_zero = float(1 - (below[n - 1] if n else 0.0))
    tail = min(at_most_zero, at_least_zero)
    error = SIGMAS * math.sqrt(max(tail * (1 - tail), 1 / resamples) / resamples)
    slack = SIGMAS * math.sqrt(0.025 * 0.975 / resamples)

    def quantile(q: float) -> float:
        return (int(np.searchsorted(below, q)) - n) / n

    return Replay(
        b,
        c,
        exact.mcnemar(b, c),
        exact.mid_p(b, c),
        (max(0.0, 2 * (tail - error)), min(1.0, 2 * (tail + error))),
        (quantile(0.025 - min(slack, 0.025)), quantile(0.025 + slack)),
        (quantile(0.975 - slack), quantile(min(0.975 + slack, 1 - 1e-12))),
    )


def resampled_gap(b: int, c: int, n: int) -> npt.NDArray[np.float64]:
    """Chances of a resampled gap of −n, …, n questions: the n-fold convolution of (c/n, 1 − (b + c)/n, b/n)."""
    one = np.array([c / n, 1 - (b + c) / n, b / n])
    result = np.ones(1)
    power, left = one, n
    while left:
        if left & 1:
            result = np.convolve(result, power)
        power, left = (np.convolve(power, power), left >> 1) if left > 1 else (power, 0)
    return result


def _fits(one: Replay, cells: Mapping[str, Cell]) -> bool:
    for field, (low, high) in (("low", one.low), ("high", one.high), ("p", one.p_bootstrap)):
        cell = cells.get(field)
        if cell is None or cell.printed is None:
            continue
        scale = cell.scale if field != "p" else 1
        span = Interval(Fraction(low * scale) - Fraction(1, 10**9), Fraction(high * scale) + Fraction(1, 10**9))
        if not cell.printed.meets(span):
            return False
    return True


def _p(value: Fraction) -> str:
    return f"{float(value):.3g}"


def _line(one: Replay, n: int) -> str:
    return (
        f"b = {one.b}, c = {one.c}: exact McNemar p = {_p(one.p_exact)} (mid-p {_p(one.p_mid)}); percentile bootstrap "
        f"p = {one.p_bootstrap[0]:.3f} to {one.p_bootstrap[1]:.3f}, lower end {100 * one.low[0]:.2f} to "
        f"{100 * one.low[1]:.2f}, upper end {100 * one.high[0]:.2f} to {100 * one.high[1]:.2f} points, n = {n}"
    )


def _notes(one: Replay, cells: Mapping[str, Cell]) -> list[str]:
    note = f"exact McNemar p = {_p(one.p_exact)} for {one.b} against {one.c}"
    if (p := cells.get("p")) is None or p.printed is None:
        return [note]
    significant = p.printed.high is not None and p.printed.high < Fraction(1, 20)
    if significant and one.p_exact > Fraction(1, 20):
        return [f"{note}, which is not significant at .05 where the printed {p.text} is"]
    return [f"{note}, beside the printed {p.text}"]


def _finding(
    item: Paired,
    standing: Standing,
    message: str,
    cells: Mapping[str, Cell],
    *,
    condition: str | None = None,
    steps: list[str] | None = None,
    notes: list[str] | None = None,
) -> Consistency:
    return Consistency(
        id=f"paired:{item.id}",
        check="paired",
        subject=item.id,
        standing=standing,
        message=message,
        condition=condition,
        places=[Place(id=cell.id, text=cell.text, source=cell.source) for cell in cells.values()],
        steps=steps or [],
        notes=notes or [],
    )
