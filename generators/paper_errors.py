"""One error planted in a random paper that is otherwise right, and the chance that any check can find it."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from generators.paper_numbers import printed, rejected
from generators.papers import Paper, claims_of, random_paper
from schemas.claims import Claims, Column, Paired, Part, Statement, Table


@dataclass(frozen=True)
class Planted:
    """A paper with one error: the check that should find it, and the chance that it can."""

    claims: Claims
    finding: str
    chance: float


def plant(kind: str, rng: np.random.Generator) -> Planted:
    """A paper, right but for one error of a kind in `ERRORS`, rounded to nearest."""
    while True:
        paper = random_paper(rng, mode="half-even")
        planted = ERRORS[kind](paper, claims_of(paper, rounding="nearest"), rng)
        if planted is not None:
            return planted


def _replace(claims: Claims, table: str, row: int, column: str, text: str) -> tuple[Claims, str]:
    """The claims with one entry changed, and the id of that entry."""
    tables = []
    id_ = ""
    for item in claims.tables:
        rows = [list(line) for line in item.rows]
        if item.id == table:
            index = [one.name for one in item.columns].index(column)
            rows[row][index] = text
            id_ = f"{table}/r{row + 1}c{index + 1}"
        tables.append(Table(id=item.id, columns=item.columns, rows=rows))
    return _with(claims, tables=tables), id_


def _with(claims: Claims, **changes: object) -> Claims:
    fields = {name: getattr(claims, name) for name in claims.__struct_fields__}
    return Claims(**{**fields, **changes})


def _say(claims: Claims, id_: str, text: str, part: int = 0) -> Claims:
    statements = []
    for one in claims.statements:
        fields = {name: getattr(one, name) for name in one.__struct_fields__}
        if one.id == id_:
            if one.parts:
                parts = list(one.parts)
                parts[part] = Part(says=text, value=parts[part].value, kind=parts[part].kind)
                fields["parts"] = parts
            else:
                fields["says"] = text
        statements.append(Statement(**fields))
    return _with(claims, statements=statements)


def _shift(text: str, units: int) -> str:
    decimals = len(text.split(".")[1]) if "." in text else 0
    return printed(Fraction(text) + Fraction(units, 10**decimals), decimals, "half-even")


def _share(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    index = int(rng.integers(len(paper.rows)))
    row = paper.rows[index]
    grid = 100 * 10**paper.decimals
    if grid > 10_000 or row.n >= grid:
        return None
    possible = {
        printed(Fraction(100 * k, row.n), paper.decimals, mode)
        for k in range(row.n + 1)
        for mode in ("half-up", "half-down")
    }
    value = printed(Fraction(int(rng.integers(grid + 1)), 10**paper.decimals), paper.decimals, "half-even")
    changed, id_ = _replace(claims, "main", index, "acc", value)
    return Planted(changed, f"granularity:{id_}", 1 - len(possible) / (grid + 1))


def _entry(column: str, units: int, check: str) -> "Callable[[Paper, Claims, np.random.Generator], Planted | None]":
    def error(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
        index = int(rng.integers(len(paper.rows)))
        if not paper.rows[index].text[column]:
            return None
        text = _shift(paper.rows[index].text[column], units)
        changed, id_ = _replace(claims, "main", index, column, text)
        return Planted(changed, f"{check}:{id_}", 1.0)

    return error


def _ratio(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    index = int(rng.integers(len(paper.rows)))
    row = paper.rows[index]
    if row.base_acc < 20 or row.acc < 20:
        return None
    # At 20% and whole percentages the printed ratio is good to ±.5/20·2 of itself, far less than a fifth.
    text = printed(Fraction(row.text["ratio"]) * Fraction(6, 5), 2, "half-even")
    changed, id_ = _replace(claims, "main", index, "ratio", text)
    return Planted(changed, f"formula:{id_}", 1.0)


def _by(units: int, chance: float) -> "Callable[[Paper, Claims, np.random.Generator], Planted | None]":
    """A difference off by `units` where no n narrows anything: minuend, subtrahend and difference are each rounded
    from a uniform position. The rounded difference is that of the rounded ends in 3 of 4 cases, one more or less in 1
    of 8 each; one unit more is allowed either way."""

    def error(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
        del paper
        a, b = Fraction(int(rng.integers(10**9)), 10**7), Fraction(int(rng.integers(10**9)), 10**7)
        texts = [printed(value, 1, "half-even") for value in (a, b, a - b)]
        table = Table(
            id="loose",
            columns=[
                Column(name="a", kind="mean-of-draws", unit="percent"),
                Column(name="b", kind="mean-of-draws", unit="percent"),
                Column(name="d", kind="number", formula="a - b"),
            ],
            rows=[[texts[0], texts[1], _shift(texts[2], units)]],
        )
        return Planted(_with(claims, tables=[*claims.tables, table]), "formula:loose/r1c3", chance)

    return error


def _mean(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    del paper, rng
    text = claims.tables[1].rows[0][2]
    # Whole percentages leave ±.5 and the mean's own ±.005.
    changed, id_ = _replace(claims, "means", 0, "mean", _shift(text, 110))
    return Planted(changed, f"formula:{id_}", 1.0)


def _record(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    del rng
    first = paper.rows[0]
    family = [row for row in paper.rows if (row.model, row.dataset) == (first.model, first.dataset)]
    unit = Fraction(1, 10**paper.decimals)
    if any(abs(Fraction(row.text["acc"]) - Fraction(row.text["base"])) <= unit for row in family):
        return None
    wins, ties, losses = (int(part) for part in claims.tables[2].rows[0][2].split("/"))
    text = f"{wins - 1}/{ties}/{losses + 1}" if wins else f"{wins + 1}/{ties}/{losses - 1}"
    changed, id_ = _replace(claims, "record-0", 0, "wtl", text)
    return Planted(changed, f"formula:{id_}", 1.0)


def _said(id_: str, part: int, units: int) -> "Callable[[Paper, Claims, np.random.Generator], Planted | None]":
    def error(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
        del rng
        if id_ in ("negative", "rest") and any(
            abs(Fraction(row.text["delta"])) <= Fraction(1, 10**paper.decimals) for row in paper.rows
        ):
            return None  # a printed zero may be of either sign, and the count is then open
        one = next(one for one in claims.statements if one.id == id_)
        text = one.parts[part].says if one.parts else one.says
        if text is None or text.startswith("<"):
            return None
        return Planted(_say(claims, id_, _shift(text, units), part), f"statement:{id_}", 1.0)

    return error


def _one_sided(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    del rng
    if any(abs(Fraction(row.text["delta"])) <= Fraction(1, 10**paper.decimals) for row in paper.rows):
        return None
    text = next(one.says for one in claims.statements if one.id == "sign-test")
    if text is None or text.startswith("<") or Fraction(text) < Fraction(1, 100) or Fraction(text) >= 1:
        return None
    return Planted(_say(claims, "sign-test", printed(Fraction(text) / 2, 3, "half-even")), "statement:sign-test", 1.0)


def _holm_count(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    del rng
    half = Fraction(1, 20_000)
    shown = [Fraction(row.text["p"]) for row in paper.rows]
    low, high = rejected([p + half for p in shown]), rejected([max(Fraction(0), p - half) for p in shown])
    if low != high:
        return None
    return Planted(_say(claims, "holm", str(high + 1)), "statement:holm", 1.0)


def _swapped(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    index = int(rng.integers(len(paper.rows)))
    row = paper.rows[index]
    if Fraction(row.text["high"]) - Fraction(row.text["low"]) <= Fraction(1, 10**paper.decimals):
        return None
    changed, id_ = _replace(claims, "main", index, "low", row.text["high"])
    changed, _ = _replace(changed, "main", index, "high", row.text["low"])
    return Planted(changed, f"interval:{id_}", 1.0)


def _below_raw(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    index = int(rng.integers(len(paper.rows)))
    row = paper.rows[index]
    if Fraction(row.text["p"]) < Fraction(1, 100):
        return None
    changed, id_ = _replace(claims, "main", index, "p_holm", printed(Fraction(row.text["p"]) / 2, 4, "half-even"))
    return Planted(changed, f"holm:{id_}", 1.0)


def _ladder_swapped(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    del paper
    rows = claims.tables[-1].rows
    index = int(rng.integers(len(rows) - 1))
    if Fraction(rows[index + 1][1]) - Fraction(rows[index][1]) <= Fraction(1, 5):
        return None
    changed, _ = _replace(claims, "ladder", index, "cost", rows[index + 1][1])
    changed, _ = _replace(changed, "ladder", index + 1, "cost", rows[index][1])
    return Planted(changed, "statement:rising", 1.0)


def _too_few(paper: Paper, claims: Claims, rng: np.random.Generator) -> Planted | None:
    del rng
    b, c, *_ = paper.paired
    # The gap is printed to within one question's share only where n is below the printable grid.
    if abs(b - c) < 2 or paper.n_paired >= 10**paper.decimals * 100 // 2:
        return None
    (duel,) = claims.paired
    fields = {name: getattr(duel, name) for name in duel.__struct_fields__}
    wrong = Paired(**{**fields, "disagreements": str(abs(b - c) - 1)})
    return Planted(_with(claims, paired=[wrong]), "paired:duel", 1.0)


ERRORS: dict[str, Callable[[Paper, Claims, np.random.Generator], Planted | None]] = {
    "arbitrary share": _share,
    "difference off by one": _by(1, 1 / 8),
    "difference off by two": _by(2, 7 / 8),
    "difference off by three": _entry("delta", 3, "formula"),
    "ratio a fifth too high": _ratio,
    "mean off by 1.1": _mean,
    "a win for a loss": _record,
    "one too many negative": _said("negative", 0, 1),
    "one row too many": _said("negative", 1, 1),
    "least value off by three": _said("range", 0, 3),
    "greatest value off by three": _said("range", 1, 3),
    "one-sided for two-sided": _one_sided,
    "one too many under Holm": _holm_count,
    "product off by one": _said("answers", 0, 1),
    "complement off by one": _said("rest", 0, 1),
    "printed twice, off by three": _said("twice", 0, 3),
    "interval ends swapped": _swapped,
    "corrected below raw": _below_raw,
    "ladder out of order": _ladder_swapped,
    "fewer disagreements than the gap": _too_few,
}
"""Kind of error → how it is planted; None where this paper does not lend itself to it."""
