"""Papers whose truth is known: random tables and sentences that are right, for claims without generations.

The counterpart of `generators.planted`; `generators.paper_errors` plants errors in them. All arithmetic here is its
own: nothing is shared with `verify`, which is what these papers test. Every number is computed from whole counts and
printed by one way of rounding, sometimes from the exact value and sometimes from digits already printed, as papers do.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from generators.paper_numbers import ALPHA, MODES, Mode, holm, printed, rejected, sign_chance
from schemas.claims import Claims, Column, Paired, Part, QuestionSet, Rounding, Scope, Statement, Table


@dataclass
class Row:
    """One row of the main table, exact."""

    model: str
    dataset: str
    method: str
    n: int
    right: int
    base: int
    tokens: Fraction
    half_width: Fraction
    p: Fraction
    p_holm: Fraction = Fraction(1)
    text: dict[str, str] = field(default_factory=dict)

    @property
    def acc(self) -> Fraction:
        """In percent."""
        return Fraction(100 * self.right, self.n)

    @property
    def base_acc(self) -> Fraction:
        """In percent."""
        return Fraction(100 * self.base, self.n)

    @property
    def delta(self) -> Fraction:
        """In points."""
        return self.acc - self.base_acc


@dataclass
class Paper:
    """A random paper: rows, how it prints, and what it states of itself."""

    rng: np.random.Generator
    mode: Mode
    decimals: int
    from_printed: bool
    rows: list[Row]
    paired: tuple[int, int, int, int, int]
    """b, c, both right, neither right, disagreements where both are wrong."""
    n_paired: int
    quotes_printed: bool = True
    """Whether means and sentences are computed from printed digits, whatever the columns were computed from."""

    def show(self, value: Fraction, decimals: int | None = None) -> str:
        """A number as this paper prints it."""
        return printed(value, self.decimals if decimals is None else decimals, self.mode)


def random_paper(rng: np.random.Generator, *, mode: Mode | None = None) -> Paper:
    """A paper of 1–4 models, 1–3 datasets and 2–6 methods, over 10 to 3,000 questions."""
    decimals = int(rng.integers(0, 4))
    paper = Paper(
        rng,
        MODES[int(rng.integers(len(MODES)))] if mode is None else mode,
        decimals,
        bool(rng.integers(2)),
        [],
        (0, 0, 0, 0, 0),
        0,
    )
    sizes = [round(10 ** rng.uniform(1, 3.5)) for _ in range(int(rng.integers(1, 4)))]
    for model in range(int(rng.integers(1, 5))):
        for dataset, n in enumerate(sizes):
            base = int(rng.integers(1, n + 1))
            family = []
            for method in range(int(rng.integers(2, 7))):
                right = int(np.clip(base + rng.integers(-n // 4, n // 4 + 1), 0, n))
                family.append(
                    Row(
                        f"m{model}",
                        f"d{dataset}",
                        f"k{method}",
                        n,
                        right,
                        base,
                        Fraction(int(rng.integers(50 * n, 5000 * n)), n),
                        Fraction(0),
                        Fraction(int(rng.integers(1, 10_000)), 10_000) ** int(rng.integers(1, 4)),
                    )
                )
            paper.rows += family
    for row in paper.rows:
        # The interval excludes zero just where p is below .05, as with one test for both.
        if row.delta == 0:
            row.p = Fraction(1)
        share = int(rng.integers(20, 90)) if row.p < ALPHA else int(rng.integers(120, 300))
        row.half_width = abs(row.delta) * share / 100 if row.delta else Fraction(int(rng.integers(1, 900)), 100)
    for setting in {(row.model, row.dataset) for row in paper.rows}:
        family = [row for row in paper.rows if (row.model, row.dataset) == setting]
        for row, adjusted in zip(family, holm([row.p for row in family]), strict=True):
            row.p_holm = adjusted
    for row in paper.rows:
        _print_row(paper, row)
    paper.quotes_printed = bool(rng.integers(2))
    n = int(rng.integers(10, 400))
    b, c, both, neither = (int(count) for count in rng.multinomial(n, rng.dirichlet([1, 1, 2, 1])))
    paper.n_paired = n
    paper.paired = (b, c, both, neither, int(rng.integers(0, neither + 1)))
    return paper


def _print_row(paper: Paper, row: Row) -> None:
    show = paper.show
    row.text = {"acc": show(row.acc), "base": show(row.base_acc), "tokens": show(row.tokens, 1)}
    delta = Fraction(row.text["acc"]) - Fraction(row.text["base"]) if paper.from_printed else row.delta
    row.text["delta"] = show(delta)
    ratio = None
    if Fraction(row.text["base"]) > 0:
        ratio = Fraction(row.text["acc"]) / Fraction(row.text["base"]) if paper.from_printed else row.acc / row.base_acc
    row.text["ratio"] = "" if ratio is None else show(ratio, 2)
    row.text["low"] = show(row.delta - row.half_width)
    row.text["high"] = show(row.delta + row.half_width)
    row.text["p"] = show(row.p, 4)
    row.text["p_holm"] = show(row.p_holm, 4)


MAIN = [
    Column(name="Model", kind="label"),
    Column(name="Dataset", kind="label"),
    Column(name="Method", kind="label"),
    Column(name="acc", kind="proportion", unit="percent", set_by="Dataset"),
    Column(name="base", kind="proportion", unit="percent", set_by="Dataset"),
    Column(name="tokens", kind="mean", set_by="Dataset"),
    Column(name="delta", kind="difference", unit="points", set_by="Dataset", formula="acc - base"),
    Column(name="ratio", kind="number", formula="acc / base"),
    Column(name="low", kind="interval-low", of="delta"),
    Column(name="high", kind="interval-high", of="delta"),
    Column(name="p", kind="p", of="delta"),
    Column(name="p_holm", kind="p-holm", of="delta", family=["Model", "Dataset"]),
]
_WHERE = "Model = ^Model and Dataset = ^Dataset"


def _seen(paper: Paper, row: Row, name: str, exact: Fraction) -> Fraction:
    return Fraction(row.text[name]) if paper.quotes_printed else exact


def claims_of(paper: Paper, *, rounding: Rounding) -> Claims:
    """The paper as a claims file, each table and sentence right."""
    settings = list(dict.fromkeys((row.model, row.dataset, row.n) for row in paper.rows))
    summary = []
    for model, dataset, _ in settings:
        family = [row for row in paper.rows if (row.model, row.dataset) == (model, dataset)]
        average = sum((_seen(paper, row, "acc", row.acc) for row in family), Fraction(0)) / len(family)
        signs = [_seen(paper, row, "acc", row.acc) - _seen(paper, row, "base", row.base_acc) for row in family]
        wins, losses = sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)
        record = ", ".join(f"at(main, acc - base, {_WHERE} and Method = '{row.method}')" for row in family)
        summary.append(
            (model, dataset, paper.show(average, 2), f"{wins}/{len(signs) - wins - losses}/{losses}", record)
        )
    sets = [QuestionSet(id=dataset, n=n) for dataset, n in {(dataset, n) for _, dataset, n in settings}]
    tables = [
        Table(
            id="main",
            columns=MAIN,
            rows=[[row.model, row.dataset, row.method, *(row.text[c.name] for c in MAIN[3:])] for row in paper.rows],
        ),
        Table(
            id="means",
            columns=[
                Column(name="Model", kind="label"),
                Column(name="Dataset", kind="label"),
                Column(name="mean", kind="number", formula=f"avg(main, acc, {_WHERE})"),
            ],
            rows=[[model, dataset, mean] for model, dataset, mean, _, _ in summary],
        ),
        *(
            Table(
                id=f"record-{index}",
                columns=[
                    Column(name="Model", kind="label"),
                    Column(name="Dataset", kind="label"),
                    Column(name="wtl", kind="wins-ties-losses", formula=f"record({record})"),
                ],
                rows=[[model, dataset, wtl]],
            )
            for index, (model, dataset, _, wtl, record) in enumerate(summary)
        ),
        _shares(paper),
        _ladder(paper),
    ]
    b, c, both, _, wrong = paper.paired
    n = paper.n_paired
    return Claims(
        format_version="1.0",
        rounding=rounding,
        sets=[
            *sets,
            QuestionSet(id="pairs", n=n),
            QuestionSet(id="untold", at_most=min(20_000, 2 * paper.rows[0].n)),
        ],
        scopes=[Scope(id="one-model", where="Model = 'm0'"), Scope(id="one-method", where="Method = 'k0'")],
        tables=tables,
        statements=_sentences(paper),
        paired=[
            Paired(
                id="duel",
                set="pairs",
                unit="percent",
                first=paper.show(Fraction(100 * (both + b), n)),
                second=paper.show(Fraction(100 * (both + c), n)),
                gap=paper.show(_gap(paper)),
                disagreements=str(b + c + wrong),
                override=paper.show(Fraction(100 * b, b + c), 1) if b + c else None,
            )
        ],
    )


def _gap(paper: Paper) -> Fraction:
    b, c, both, _, _ = paper.paired
    first, second = (Fraction(100 * (both + right), paper.n_paired) for right in (b, c))
    if paper.from_printed:
        return Fraction(paper.show(first)) - Fraction(paper.show(second))
    return first - second


def _shares(paper: Paper) -> Table:
    """Shares of the first dataset again, as fractions, over a set whose size is not told but bounded."""
    rows = [row for row in paper.rows if row.dataset == "d0"]
    return Table(
        id="shares",
        columns=[Column(name="acc", kind="proportion", unit="fraction", set="untold")],
        rows=[[paper.show(row.acc / 100, paper.decimals + 2)] for row in rows],
    )


def _ladder(paper: Paper) -> Table:
    values = sorted(row.tokens for row in paper.rows)
    return Table(
        id="ladder",
        columns=[Column(name="step", kind="label"), Column(name="cost", kind="number")],
        rows=[[str(index), paper.show(value, 1)] for index, value in enumerate(values)],
    )


def _sentences(paper: Paper) -> list[Statement]:
    rows = paper.rows
    deltas = [_seen(paper, row, "delta", row.delta) for row in rows]
    negative = sum(delta < 0 for delta in deltas)
    seen_p = [_seen(paper, row, "p", row.p) for row in rows]
    significant = rejected(seen_p)
    chance = sign_chance(negative, len(rows))
    total = sum(row.n for row in rows)
    first = rows[0]
    sizes = sorted({(row.dataset, row.n) for row in rows})
    here = f"Model = '{first.model}' and Dataset = '{first.dataset}' and Method = '{first.method}'"
    return [
        Statement(
            id="negative",
            parts=[
                Part(says=str(negative), kind="count", value="count(main, delta < 0)"),
                Part(says=str(len(rows)), kind="count", value="count(main)"),
            ],
        ),
        Statement(
            id="sign-test",
            says="<0.001" if chance < Fraction(1, 1000) else paper.show(chance, 3),
            value="sign_test(count(main, delta < 0), count(main))",
        ),
        Statement(
            id="range",
            parts=[
                Part(says=paper.show(min(deltas)), value="min(main, delta)"),
                Part(says=paper.show(max(deltas)), value="max(main, delta)"),
            ],
        ),
        Statement(id="holm", kind="count", says=str(significant), value="holm_raw(main, p, 0.05)"),
        Statement(
            id="answers",
            says=str(total),
            kind="count",
            value=" + ".join(f"{n} * count(main, Dataset = '{dataset}')" for dataset, n in sizes),
        ),
        Statement(id="rest", kind="count", says=str(len(rows) - negative), value="count(main) - said('negative', 1)"),
        Statement(
            id="twice",
            says=paper.show(_seen(paper, first, "acc", first.acc), max(0, paper.decimals - 1)),
            value=f"at(main, acc, {here})",
        ),
        Statement(
            id="holm-adjusted",
            kind="count",
            says=str(rejected([row.p for row in rows])),
            value="holm(main, p_holm, Model, Dataset, 0.05)",
        ),
        Statement(
            id="all-negative",
            kind="count",
            says=str(
                sum(
                    all(delta < 0 for row, delta in zip(rows, deltas, strict=True) if row.model == model)
                    for model in {row.model for row in rows}
                )
            ),
            value="groups(main, Model, delta < 0)",
        ),
        Statement(
            id="average",
            says=paper.show(sum(deltas, Fraction(0)) / len(rows), 1),
            value="avg(main, delta)",
        ),
        Statement(id="rising", holds=["increasing(ladder, cost)"]),
        Statement(id="subset", holds=["count(main, delta < 0 and p < 0.05) <= count(main, p < 0.05)"]),
        Statement(
            id="total-tokens",
            says=paper.show(sum((row.tokens for row in rows), Fraction(0)), 0),
            value="sum(main, tokens)",
        ),
    ]
