"""Whether whole numbers can print so: shares, differences of shares, means of whole numbers, counts, p-values."""

from fractions import Fraction

from schemas.consistency import Consistency, Standing
from verify.consistency import exact, lattice
from verify.consistency import values as iv
from verify.consistency.grid import Cell
from verify.consistency.paper import result
from verify.consistency.values import Interval

MOST_RUNS = 10
"""A share that is none is also tried as the mean of up to so many runs."""


def granularity(cell: Cell) -> Consistency | None:
    """Whether whole numbers can print so; None where nothing is to be checked."""
    if cell.blank or cell.printed is None:
        return None
    n = cell.set.n if cell.set is not None else None
    bounds = {
        "proportion": (Fraction(0), Fraction(cell.scale)),
        "difference": (Fraction(-cell.scale), Fraction(cell.scale)),
        "count": (Fraction(0), None),
    }.get(cell.kind)
    if cell.kind in ("p", "p-holm"):
        bounds = (Fraction(0), Fraction(1))
    if bounds is not None and not cell.printed.meets(Interval(*bounds)):
        allowed = Interval(*bounds)
        return result("granularity", cell, "impossible", f"{cell.text} is outside {allowed}, where a {cell.kind} lies.")
    if cell.kind == "count":
        whole = lattice.totals(cell.printed, 1)
        if whole is None or len(whole):
            return result("granularity", cell, "consistent", f"{cell.text} can be a whole number.")
        return result("granularity", cell, "impossible", f"{cell.text} is no whole number.")
    if cell.kind not in ("proportion", "difference", "mean") or n is None or cell.set is None:
        return None
    possible = _possible(cell, cell.printed, n)
    if possible is None:
        return None
    power = lattice.pass_chance(n, cell.decimals, cell.scale) if cell.kind == "proportion" and n <= 10**6 else None
    over = f" over {cell.scale}" if cell.kind != "mean" and cell.scale != 1 else ""
    steps = [
        f"{cell.text} is printed, so the value lies in {cell.printed}",
        f"times n = {n}{over}: {_times(cell, cell.printed, n)}",
    ]
    if len(possible):
        found = f"{possible[0]}" if len(possible) == 1 else f"{possible[0]} to {possible[-1]}"
        steps.append(f"whole numbers in there: {found}")
        message = f"{cell.text} is {found} of {n}."
        notes = _best_case(possible) if cell.kind == "difference" else []
        return result("granularity", cell, "consistent", message, power=power, steps=steps, notes=notes)
    steps.append("no whole number lies in there")
    standing: Standing = "impossible" if cell.set.basis == "stated" else "conditional"
    return result(
        "granularity",
        cell,
        standing,
        f"{cell.text} is no {_what(cell)} over {n} questions: {_neighbours(cell, n)}.",
        condition=None if standing == "impossible" else f"n = {n} for {cell.set.id}, which is assumed, and one run",
        power=power,
        steps=steps,
        notes=_otherwise(cell, n) + _runs(cell, n),
    )


def _best_case(gaps: range) -> list[str]:
    """The least p-value that an exact test could give such a gap: when nothing speaks against it."""
    widest = max(abs(gaps[0]), abs(gaps[-1]))
    if not 0 < widest <= exact.MAX_N:
        return []
    return [
        f"a gap of {widest} questions has an exact two-sided p of {float(exact.mcnemar(widest, 0)):.2g} at the least"
    ]


def _possible(cell: Cell, printed: Interval, n: int) -> range | None:
    if cell.kind == "proportion":
        return lattice.counts(printed, n, cell.scale)
    if cell.kind == "difference":
        return lattice.differences(printed, cell.point, n, cell.scale, Fraction(1, 10**cell.decimals))
    return lattice.totals(printed, n)


def _times(cell: Cell, printed: Interval, n: int) -> Interval:
    return iv.multiply(printed, iv.exactly(Fraction(n, 1 if cell.kind == "mean" else cell.scale)))


def _what(cell: Cell) -> str:
    return {"proportion": "share", "difference": "difference of shares", "mean": "mean of whole numbers"}[cell.kind]


def _neighbours(cell: Cell, n: int) -> str:
    value = cell.point
    if value is None:
        return f"{cell.printed} holds no multiple of 1/{n}"
    scale = 1 if cell.kind == "mean" else cell.scale
    exact_count = value * n / scale
    below = exact_count.numerator // exact_count.denominator
    digits = cell.decimals + 2
    around = [k for k in (below, below + 1) if cell.kind != "proportion" or 0 <= k <= n]
    return " and ".join(f"{k}/{n} = {float(Fraction(k * scale, n)):.{digits}f}" for k in around)


def _otherwise(cell: Cell, n: int) -> list[str]:
    """What other ways of rounding would permit; the file's `rounding` says which one was assumed."""
    if cell.point is None:
        return []
    unit = Fraction(1, 10**cell.decimals)
    scale = 1 if cell.kind == "mean" else cell.scale
    if cell.kind == "difference":
        return ["nor as the difference of two rounded shares"]
    notes = []
    for rounding, other in (("rounding up", cell.point - unit), ("cutting digits off", cell.point + unit)):
        span = Interval(min(cell.point, other), max(cell.point, other))
        allowed = [k for k in _possible(cell, span, n) or () if Fraction(k * scale, n) != other]
        if allowed:
            notes.append(f"{rounding} instead of rounding as declared would make it {allowed[0]} of {n}")
    return notes or ["no way of rounding makes it possible"]


def _runs(cell: Cell, n: int) -> list[str]:
    """How many runs the share could be a mean of, which is not what a proportion declares."""
    if cell.kind != "proportion" or cell.printed is None:
        return []
    runs = next((m for m in range(2, MOST_RUNS + 1) if len(lattice.counts(cell.printed, m * n, cell.scale))), None)
    if runs is None:
        return [f"nor is it a mean of 2 to {MOST_RUNS} runs"]
    return [f"a mean of {runs} runs could print so; then its kind is mean-of-draws"]
