"""What a column must satisfy: formulas, interval ends, p-values against intervals and against Holm's correction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from schemas.consistency import Consistency
from schemas.errors import ClaimsError
from verify.consistency import exact
from verify.consistency import values as iv
from verify.consistency.evaluate import LEVELS, NARROWEST, CannotDecideError, Context, ExpressionError, Level, evaluate
from verify.consistency.grammar import GrammarError, Node, parse
from verify.consistency.grid import Cell, Grid
from verify.consistency.paper import Paper, because, place, result
from verify.consistency.values import Interval

P_LOW, P_HIGH = Fraction(4, 100), Fraction(6, 100)
"""Between these a resampled p-value and a 95% interval may differ by Monte-Carlo error alone."""


def formulas(grid: Grid, paper: Paper) -> Iterator[Consistency]:
    """One finding a cell of every column with a formula."""
    for column in grid.columns:
        if column.formula is None:
            continue
        where = f"{paper.name}, table {grid.id!r}, column {column.name!r}"
        try:
            tree = parse(column.formula)
        except GrammarError as error:
            raise ClaimsError(f"{where}: the formula {column.formula[:80]!r} {error}.") from None
        for row in grid.rows:
            cell = row[column.name]
            if cell.blank:
                continue
            try:
                yield _formula(cell, tree, column.formula, row, paper)
            except ExpressionError as error:
                raise ClaimsError(f"{where}: the formula {column.formula[:80]!r} {error}.") from None
            except CannotDecideError as error:
                yield result("formula", cell, "undecided", f"{cell.text} cannot be checked: {error}.")


@dataclass(frozen=True)
class _Tried:
    """A formula at one level: whether the printed entry can be what it gives."""

    good: bool
    gives: str
    context: Context


def _try(cell: Cell, tree: Node, row: Mapping[str, Cell], level: Level, paper: Paper) -> _Tried:
    context = paper.context(level)
    value = evaluate(tree, context, row)
    if cell.record is not None:
        if not isinstance(value, frozenset):
            raise ExpressionError("gives no wins/ties/losses; write record(first difference, second, …)")
        records = " or ".join(f"{wins}/{ties}/{losses}" for wins, ties, losses in sorted(value)[:6])
        return _Tried(cell.record in value, records, context)
    # The entry itself was printed from what its formula gave, rounded shares or not; only others read it loosely.
    target = cell.printed if cell.kind == "difference" else cell.at(level)
    if not isinstance(value, Interval) or target is None:
        raise ExpressionError("gives no number")
    return _Tried(value.meets(target), str(value), context)


def _formula(cell: Cell, tree: Node, source: str, row: Mapping[str, Cell], paper: Paper) -> Consistency:
    # What holds for the narrowest intervals holds for all; only a failure asks how little it takes to see it.
    level = NARROWEST
    tried = _try(cell, tree, row, level, paper)
    if not tried.good:
        for level in LEVELS:
            tried = _try(cell, tree, row, level, paper)
            if not tried.good:
                break
    others = [place(other) for other in list(tried.context.cells.values())[:20] if other.id != cell.id]
    places = [place(cell), *others]
    target = f"printed: {cell.text}, that is {cell.at(level) or cell.text}"
    if not tried.good:
        standing, condition = because(level, {**tried.context.cells, cell.id: cell})
        return result(
            "formula",
            cell,
            standing,
            f"{cell.text} does not follow: {source} gives {tried.gives}{_with_n(level)}.",
            condition=condition,
            places=places,
            steps=[*tried.context.trace, target],
        )
    notes = []
    if cell.record is None and cell.point is not None and cell.printed is not None:
        naive = evaluate(tree, paper.context("point"), row)
        if isinstance(naive, Interval) and not naive.meets(cell.printed):
            notes = [f"the printed digits alone give {naive}; rounding explains the difference"]
    steps = [*tried.context.trace, f"{target}; they meet"]
    return result("formula", cell, "consistent", f"{cell.text} follows.", places=places, steps=steps, notes=notes)


def _with_n(level: Level) -> str:
    return "" if level == "printed" else ", counting whole questions"


def ends_and_p(grid: Grid) -> Iterator[Consistency]:
    """Intervals around their estimates, p-values against intervals, Holm's correction against the raw p-values."""
    kinds = {
        kind: {column.of or "": column.name for column in grid.columns if grid.kinds[column.name] == kind}
        for kind in ("interval-low", "interval-high", "p", "p-holm")
    }
    families = {column.name: column.family for column in grid.columns}
    for of, low_name in kinds["interval-low"].items():
        high_name = kinds["interval-high"].get(of)
        for row in grid.rows:
            if high_name is not None:
                yield from _ends(row[low_name], row[high_name], row.get(of))
                for kind in ("p", "p-holm"):
                    if of in kinds[kind]:
                        yield from _against(row[low_name], row[high_name], row[kinds[kind][of]])
    for of, name in kinds["p-holm"].items():
        if of in kinds["p"]:
            yield from _holm(grid, kinds["p"][of], name, families[name])


def _ends(low: Cell, high: Cell, estimate: Cell | None) -> Iterator[Consistency]:
    if low.printed is None or high.printed is None:
        return
    places = [place(low), place(high)]
    if low.printed.low is not None and high.printed.high is not None and low.printed.low > high.printed.high:
        yield result("interval", low, "impossible", f"[{low.text}, {high.text}] ends before it begins.", places=places)
        return
    if estimate is None or estimate.printed is None:
        return
    places = [place(estimate), *places]
    # An estimate may have been computed from printed digits, which moves it by up to a unit in the last place.
    unit = iv.exactly(Fraction(1, 10**estimate.decimals))
    span = Interval(iv.subtract(low.printed, unit).low, iv.add(high.printed, unit).high)
    if span.meets(estimate.printed):
        yield result("interval", low, "consistent", f"[{low.text}, {high.text}] holds {estimate.text}.", places=places)
    else:
        yield result(
            "interval",
            low,
            "conditional",
            f"[{low.text}, {high.text}] does not hold its estimate {estimate.text}.",
            condition="the interval being of a kind that contains its estimate, as nearly all are",
            places=places,
        )


def _against(low: Cell, high: Cell, p: Cell) -> Iterator[Consistency]:
    if low.printed is None or high.printed is None or p.printed is None:
        return
    a, b = low.printed, high.printed
    excludes = (a.low is not None and a.low > 0) or (b.high is not None and b.high < 0)
    holds = a.high is not None and a.high < 0 and b.low is not None and b.low > 0
    small = p.printed.high is not None and p.printed.high < P_LOW
    large = p.printed.low is not None and p.printed.low > P_HIGH
    places = [place(p), place(low), place(high)]
    corrected = p.kind == "p-holm"
    if (holds and small) or (excludes and large and not corrected):
        word = "excludes" if excludes else "holds"
        yield result(
            "p-against-interval",
            p,
            "conditional",
            f"p = {p.text} beside an interval [{low.text}, {high.text}] that {word} zero.",
            condition="the interval being at 95% and from the same test as the p-value",
            places=places,
        )
    else:
        yield result("p-against-interval", p, "consistent", f"{p.text} fits [{low.text}, {high.text}].", places=places)


def holm_adjusted(p_values: Sequence[Fraction]) -> list[Fraction]:
    """Holm-adjusted p-values in the order given: the largest of (m − j)·p_j so far, at most 1."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [Fraction(0)] * len(p_values)
    so_far = Fraction(0)
    for rank, index in enumerate(order):
        so_far = max(so_far, min(Fraction(1), (len(p_values) - rank) * p_values[index]))
        adjusted[index] = so_far
    return adjusted


def _holm(grid: Grid, raw_name: str, holm_name: str, family: Sequence[str] | None) -> Iterator[Consistency]:
    groups: dict[tuple[str, ...], list[Mapping[str, Cell]]] = {}
    for row in grid.rows:
        groups.setdefault(tuple(row[name].text for name in family or ()), []).append(row)
    for rows in groups.values():
        raw = [row[raw_name].printed for row in rows]
        if len(rows) > exact.MAX_N or any(p is None or p.low is None or p.high is None for p in raw):
            continue
        # Holm's adjustment only rises when a p-value rises, so the ends of the intervals give its ends.
        lows = holm_adjusted([p.low for p in raw if p is not None and p.low is not None])
        highs = holm_adjusted([p.high for p in raw if p is not None and p.high is not None])
        for row, low, high in zip(rows, lows, highs, strict=True):
            cell, before = row[holm_name], row[raw_name]
            if cell.printed is None:
                continue
            gives = Interval(low, high)
            good = gives.meets(cell.printed)
            yield result(
                "holm",
                cell,
                "consistent" if good else "contradiction",
                f"{cell.text} {'follows' if good else 'does not follow'}: Holm over {len(rows)} gives {gives}.",
                places=[place(cell), place(before)],
                steps=[f"uncorrected: {before.text}", f"corrected over {len(rows)} p-values: {gives}"],
            )
