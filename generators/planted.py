"""Planted releases: no model, one seed, and the truth known by construction.

Shaped like SMRL's study at any scale: settings × seven methods and a pool of samples. Every text states an answer
that was chosen first, so accuracy, tokens and votes are known without grading anything.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from generators.card import dataset_card
from generators.printing import percent, signed_points, thousands
from generators.toml import claims_toml
from schemas.claims import Claims, Column, Table
from schemas.manifest import (
    FORMAT_VERSION,
    CallRange,
    Cell,
    Dataset,
    Family,
    Manifest,
    Model,
    Sampling,
    Selection,
    Subsample,
)
from schemas.record import ANSWER_ROLES, Generation, GenerationClaim, Question, Record, RecordClaim, Role
from schemas.writing import new_release, write_json, write_lines, write_text

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


@dataclass(frozen=True, kw_only=True)
class PlantedModel:
    """A model that does not exist: how often it is right, and how good a judge it is."""

    id: str
    ability: float
    """Probability that one sample is right, averaged over questions of middling difficulty."""
    judgement: float
    """Probability that a judge or a selection favours a right answer where both kinds are at hand."""
    parameters: float = 1e9


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The size and kind of a planted release."""

    models: tuple[PlantedModel, ...] = (PlantedModel(id="planted-small", ability=0.55, judgement=0.45),)
    datasets: tuple[str, ...] = ("sums", "fractions")
    """`sums` has whole golds (policy gsm8k), `fractions` has \\frac golds (policy math)."""
    questions: int = 12
    pool: int = 16
    candidates: int = 8
    token_cap: int = 1024
    length: float = 1.0
    """Factor on the number of tokens of every call."""
    title: str = "Planted release: truth known by construction, no model behind it"
    suffixes: tuple[str, ...] = SUFFIXES
    """File formats, taken in turn from cell to cell."""


@dataclass(frozen=True)
class CellTruth:
    """What was planted in one cell, by question in the order of the question file."""

    correct: tuple[bool, ...]
    tokens: tuple[int, ...]
    majority: tuple[bool, ...]
    """Whether the first-seen plurality of the last round's answers is right."""
    samples_correct: tuple[int, ...]
    """Answer-bearing generations of the last round that are right."""

    @property
    def accuracy(self) -> Fraction:
        """Share of questions whose outcome is right."""
        return Fraction(sum(self.correct), len(self.correct))


@dataclass(frozen=True)
class Truth:
    """What was planted, by cell id."""

    cells: dict[str, CellTruth] = field(default_factory=dict)


def plant(target: Path, plan: Plan, *, rng: random.Random) -> Truth:
    """Write a planted release to `target`, which must not exist, and return its truth.

    The same plan and the same state of `rng` give the same records on every machine. Raises UsageError if
    `target` is taken.
    """
    truth = Truth()
    with new_release(target) as root:
        questions = {name: [_question(name, i, rng) for i in range(plan.questions)] for name in plan.datasets}
        for name, items in questions.items():
            write_lines(root / "questions" / f"{name}.jsonl", [item.question for item in items])
        cells: list[Cell] = []
        for model in plan.models:
            for name in plan.datasets:
                for method in METHODS:
                    cell = _cell(plan, f"{model.id}/{name}/{method.id}", method)
                    made = [_record(plan, model, cell, method, item, rng) for item in questions[name]]
                    truth.cells[cell.id] = _cell_truth(made)
                    suffix = plan.suffixes[len(cells) % len(plan.suffixes)]
                    write_lines(root / "generations" / cell.id / f"part-0{suffix}", [record for record, _ in made])
                    cells.append(cell)
        manifest = _manifest(plan, cells)
        write_json(root / "release.json", manifest)
        write_text(root / "claims.toml", claims_toml(planted_claims(plan, truth)))
        write_text(root / "README.md", dataset_card(manifest, root))
    return truth


def planted_claims(plan: Plan, truth: Truth) -> Claims:
    """The numbers that a paper about this release would print, from the truth alone."""
    methods = [method.id for method in METHODS]
    results, judged = [], []
    for model in plan.models:
        for name in plan.datasets:
            for method in methods:
                cell = truth.cells[f"{model.id}/{name}/{method}"]
                mean = Fraction(sum(cell.tokens), len(cell.tokens))
                results.append([model.id, name, method, percent(cell.accuracy), thousands(mean)])
            cell = truth.cells[f"{model.id}/{name}/best_of_n"]
            majority = Fraction(sum(cell.majority), len(cell.majority))
            judged.append(
                [
                    model.id,
                    name,
                    percent(cell.accuracy),
                    percent(majority),
                    signed_points(cell.accuracy - majority),
                ]
            )
    keys = [Column(name="Model", key="model"), Column(name="Dataset", key="dataset")]
    return Claims(
        format_version="1.0",
        source="Planted with the release: printed from the truth, not from its files",
        tables=[
            Table(
                id="results",
                columns=[
                    *keys,
                    Column(name="Method", key="method"),
                    Column(name="Accuracy", statistic="accuracy", unit="percent"),
                    Column(name="Tokens", statistic="mean_completion_tokens"),
                ],
                rows=results,
            ),
            Table(
                id="judge",
                where={"method": "best_of_n"},
                columns=[
                    *keys,
                    Column(name="Judge", statistic="accuracy", unit="percent"),
                    Column(name="Count", statistic="majority_at_k", unit="percent"),
                    Column(name="Difference", statistic="judge_minus_majority", unit="points"),
                ],
                rows=judged,
            ),
        ],
    )


@dataclass(frozen=True)
class _Item:
    question: Question
    wrong: tuple[str, ...]
    ease: float
    """Added to the model's ability: negative for hard questions, which also get longer texts."""


@dataclass(frozen=True)
class _Method:
    id: str
    rule: str
    temperature: float
    calls: Callable[[Plan], dict[Role, tuple[int, int]]]
    turns: "Callable[[_Writer], None]"


class _Writer:
    """Appends the generations of one record; remembers the answer that each states and whether it is right."""

    def __init__(self, plan: Plan, model: PlantedModel, item: _Item, temperature: float, rng: random.Random) -> None:
        self.plan, self.model, self.item, self.rng = plan, model, item, rng
        self.temperature = temperature
        self.generations: list[Generation] = []
        self.answers: list[str | None] = []
        self.picked: int | None = None

    def correct(self, position: int) -> bool:
        return self.answers[position] == self.item.question.gold

    def solve(self, role: Role, *, shift: float = 0.0, round_: int = 0, agent: int = 0) -> bool:
        """One attempt; `shift` moves its chance of being right. Returns whether it is."""
        chance = min(max(self.model.ability + self.item.ease + shift, 0.02), 0.98)
        answer: str | None
        if self.rng.random() < 0.02:
            answer = None
        elif self.rng.random() < chance:
            answer = self.item.question.gold
        else:
            # The first wrong answer is the tempting one: without it, votes would nearly always be right.
            answer = self.item.wrong[0] if self.rng.random() < 0.5 else self.rng.choice(self.item.wrong)
        right = answer == self.item.question.gold
        self.answers.append(answer)
        claimed = GenerationClaim(answer=answer, correct=right)
        self._add(role, _solution(answer, self.rng), base=90, round_=round_, agent=agent, claimed=claimed)
        return right

    def say(self, role: Role, text: str, *, base: int = 30, round_: int = 0) -> None:
        """A call that states no answer."""
        self._add(role, text, base=base, round_=round_)

    def _add(
        self,
        role: Role,
        text: str,
        *,
        base: int,
        round_: int = 0,
        agent: int = 0,
        claimed: GenerationClaim | None = None,
    ) -> None:
        length = self.plan.length * base * (1.5 - self.item.ease) * self.rng.uniform(0.7, 1.4)
        tokens = min(int(length), self.plan.token_cap)
        self.generations.append(
            Generation(
                role=role,
                index=len(self.generations),
                round=round_,
                agent=agent,
                seed=self.rng.randrange(2**32 - 1),
                temperature=self.temperature,
                prompt_tokens=60 + 20 * len(self.generations),
                completion_tokens=tokens,
                finish_reason="length" if tokens == self.plan.token_cap else "stop",
                text=text,
                claimed=claimed,
            )
        )


def _one_answer(writer: _Writer) -> None:
    writer.solve("sample")


def _planned_answer(writer: _Writer) -> None:
    writer.solve("sample", shift=-0.02)


def _self_refine(writer: _Writer) -> None:
    writer.solve("sample")
    for round_ in range(1, 4):
        writer.say("critique", "The steps were checked one by one; the second deserves another look.", round_=round_)
        writer.solve("revise", shift=-0.05, round_=round_)


def _reflexion(writer: _Writer) -> None:
    right = writer.solve("sample")
    for round_ in range(1, 4):
        content = writer.rng.random() < (0.9 if right else 1 - writer.model.judgement)
        writer.say("judge", "CORRECT. It adds up." if content else "INCORRECT. A step is off.", base=8, round_=round_)
        if content:
            return
        writer.say("reflect", "Perhaps a carry was forgotten.", round_=round_)
        right = writer.solve("retry", shift=-0.03, round_=round_)


def _reflexion_forced(writer: _Writer) -> None:
    writer.solve("sample")
    for round_ in range(1, 4):
        writer.say("reflect", "Perhaps a carry was forgotten.", round_=round_)
        writer.solve("retry", shift=-0.08, round_=round_)


def _best_of_n(writer: _Writer) -> None:
    right = [writer.solve("sample", agent=agent) for agent in range(writer.plan.candidates)]
    favoured = [i for i, good in enumerate(right) if good == (writer.rng.random() < writer.model.judgement)]
    writer.picked = writer.rng.choice(favoured) if favoured else 0
    writer.say("select", f"BEST=<{writer.picked + 1}>", base=6, round_=1)


def _debate(writer: _Writer) -> None:
    for round_ in range(3):
        for agent in range(3):
            writer.solve("debate" if round_ else "sample", shift=0.03 * round_, round_=round_, agent=agent)


def _pool(writer: _Writer) -> None:
    for agent in range(writer.plan.pool):
        writer.solve("sample", agent=agent)


METHODS: tuple[_Method, ...] = (
    _Method("chain_of_thought", "only", 0.0, lambda _: {"sample": (1, 1)}, _one_answer),
    _Method("plan_and_solve", "only", 0.0, lambda _: {"sample": (1, 1)}, _planned_answer),
    _Method(
        "self_refine",
        "last",
        0.0,
        lambda _: {"sample": (1, 1), "critique": (3, 3), "revise": (3, 3)},
        _self_refine,
    ),
    _Method(
        "reflexion",
        "last",
        0.0,
        lambda _: {"sample": (1, 1), "judge": (1, 3), "reflect": (0, 3), "retry": (0, 3)},
        _reflexion,
    ),
    _Method(
        "reflexion_forced",
        "last",
        0.0,
        lambda _: {"sample": (1, 1), "reflect": (3, 3), "retry": (3, 3)},
        _reflexion_forced,
    ),
    _Method(
        "best_of_n",
        "selected",
        0.7,
        lambda plan: {"sample": (plan.candidates, plan.candidates), "select": (1, 1)},
        _best_of_n,
    ),
    _Method("debate", "plurality", 0.7, lambda _: {"sample": (3, 3), "debate": (6, 6)}, _debate),
    _Method("self_consistency", "plurality", 0.7, lambda plan: {"sample": (plan.pool, plan.pool)}, _pool),
)
"""SMRL's seven methods and its sampling baseline, with its numbers of rounds, agents and samples."""


def _question(dataset: str, index: int, rng: random.Random) -> _Item:
    if dataset == "sums":
        rows, each, loose = rng.randint(3, 60), rng.randint(3, 40), rng.randint(1, 99)
        gold = rows * each + loose
        wrong = [gold + 10, gold - loose, gold + rng.randint(1, 9), rows + each + loose]
        text = f"A crate holds {rows} rows of {each} jars, and {loose} jars stand beside it. How many jars are there?"
        answers = [str(value) for value in (gold, *wrong)]
    else:
        a, b = rng.randint(1, 9), rng.randint(2, 9)
        c, d = rng.randint(1, 9), rng.randint(2, 9)
        value = Fraction(a, b) + Fraction(c, d)
        text = f"What is {a}/{b} + {c}/{d}, as a fraction in lowest terms or a whole number?"
        wrongs = [value + 1, Fraction(a + c, b + d), value + Fraction(1, b * d), value * 2]
        answers = [_latex(number) for number in (value, *wrongs)]
    wrong_answers = tuple(dict.fromkeys(answer for answer in answers[1:] if answer != answers[0]))
    # Three easy questions for one that is hard: the curve of accuracy against samples then rises and flattens.
    ease = rng.uniform(0.0, 0.35) if rng.random() < 0.75 else rng.uniform(-0.45, -0.1)
    level = str(1 + min(int((0.35 - ease) / 0.16), 4))
    question = Question(id=f"{dataset}-{index}", gold=answers[0], text=text, index=index, level=level)
    return _Item(question, wrong_answers, ease)


def _latex(value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    value = abs(value)
    return (
        f"{sign}{value.numerator}"
        if value.denominator == 1
        else (f"{sign}\\frac{{{value.numerator}}}{{{value.denominator}}}")
    )


def _solution(answer: str | None, rng: random.Random) -> str:
    opening = rng.choice(
        (
            "Take it step by step.",
            "First collect what is given.",
            "Work through the parts in turn.",
            "Write the quantities down, then combine them.",
        )
    )
    steps = f"{opening} The parts combine as {rng.randint(2, 99)} and {rng.randint(2, 99)} and {rng.randint(2, 99)}."
    if answer is None:
        # No digit and no phrase: nothing that any rule could take for an answer.
        return f"{opening} It cannot be settled from what is given."
    form = rng.random()
    if form < 0.8:
        return f"{steps}\n\nSo the result is $\\boxed{{{answer}}}$."
    if form < 0.9 or "\\" in answer:
        return f"{steps} The answer is {answer}."
    return f"{steps} Together that makes {answer}"


def _record(
    plan: Plan, model: PlantedModel, cell: Cell, method: _Method, item: _Item, rng: random.Random
) -> tuple[Record, tuple[bool, int, bool, int]]:
    writer = _Writer(plan, model, item, method.temperature, rng)
    method.turns(writer)
    answering = [g for g in writer.generations if g.role in ANSWER_ROLES]
    last = max(g.round for g in answering)
    final_round = [answer for g, answer in zip(answering, writer.answers, strict=True) if g.round == last]
    vote = _first_seen_plurality(final_round)
    answer = vote
    if method.rule in ("only", "last"):
        answer = writer.answers[-1]
    elif method.rule == "selected":
        answer = writer.answers[writer.picked or 0]
    gold = item.question.gold
    tokens = sum(g.completion_tokens or 0 for g in writer.generations)
    record = Record(
        cell=cell.id,
        question_id=item.question.id,
        question_index=item.question.index,
        status="ok",
        seed=writer.generations[0].seed,
        generations=writer.generations,
        claimed=RecordClaim(
            answer=answer,
            selected=None if writer.picked is None else answering[writer.picked].index,
            correct=answer == gold,
            completion_tokens=tokens,
            prompt_tokens=sum(g.prompt_tokens or 0 for g in writer.generations),
        ),
    )
    return record, (answer == gold, tokens, vote == gold, sum(a == gold for a in final_round))


def _first_seen_plurality(answers: Sequence[str | None]) -> str | None:
    counts = Counter(answer for answer in answers if answer is not None)
    # Counter keeps first-seen order and max takes the first of equals.
    return max(counts, key=lambda answer: counts[answer]) if counts else None


def _cell_truth(made: list[tuple[Record, tuple[bool, int, bool, int]]]) -> CellTruth:
    def column(position: int) -> Iterator[int]:
        return (row[position] for _, row in made)

    return CellTruth(
        tuple(bool(value) for value in column(0)),
        tuple(column(1)),
        tuple(bool(value) for value in column(2)),
        tuple(column(3)),
    )


def _cell(plan: Plan, cell_id: str, method: _Method) -> Cell:
    return Cell(
        id=cell_id,
        decision_rule=method.rule,  # type: ignore[arg-type]
        tie_rule="first",
        selection=Selection() if method.rule == "selected" else None,
        sampling=Sampling(temperature=method.temperature),
        token_cap=plan.token_cap,
        pool=method.turns is _pool,
        calls={role: CallRange(min=low, max=high) for role, (low, high) in method.calls(plan).items()},
    )


def _manifest(plan: Plan, cells: list[Cell]) -> Manifest:
    settings = dict.fromkeys(cell.id.rsplit("/", 1)[0] for cell in cells)
    return Manifest(
        format_version=FORMAT_VERSION,
        title=plan.title,
        license="MIT",
        models=[Model(id=model.id, parameters=model.parameters) for model in plan.models],
        datasets=[
            Dataset(
                id=name,
                policy="gsm8k" if name == "sums" else "math",
                source="Generated with the release",
                subsample=Subsample(rule="all questions that were generated", size=plan.questions),
            )
            for name in plan.datasets
        ],
        cells=cells,
        families=[
            Family(
                id=setting.replace("/", "."),
                cells=[cell.id for cell in cells if cell.id.startswith(f"{setting}/") and "consistency" not in cell.id],
            )
            for setting in settings
        ],
        known_limits=["No language model was run: texts, tokens and seeds are drawn from a seeded generator."],
    )
