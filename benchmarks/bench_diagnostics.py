"""How often the alarms of the diagnostics go off: on intact settings (they should not), and on flawed ones.

Settings are simulated as the arrays that statistics see, not as files, so that 1,000 of them take minutes. The shape is
SMRL's: 150 questions, a pool of 16, eight candidates and a judge, three rounds; hard questions get longer answers.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from schemas.manifest import CallRange, Cell
from verify.cells import CellData
from verify.diagnostics import engagement, judge, truncation
from verify.partial import NONE, AnswerColumns, Finish, Grade

N, POOL, CANDIDATES, ROUNDS = 150, 16, 8, 3
LEVEL = truncation.LEVEL
Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    seeds = parser.parse_args().seeds
    start = time.perf_counter()
    print(f"{seeds:,} seeds a row, alarms at the {LEVEL} level; intact settings should alarm in at most 1% of them")
    for title, rows in (("intact", INTACT), ("flawed", FLAWED)):
        print(f"\n{title:64} alarms")
        for name, simulate in rows.items():
            print(f"  {name:62} {rate(simulate, seeds):6.1%}", flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s")


def rate(simulate: Callable[[np.random.Generator], bool], seeds: int) -> float:
    """Share of seeds on which the alarm goes off."""
    return sum(simulate(np.random.default_rng([7, seed])) for seed in range(seeds)) / seeds


# Settings


def questions(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Chance of a right answer and mean length of each question; the two go against each other."""
    hardness = rng.normal(size=N)
    return 1 / (1 + np.exp(1.2 * hardness - 0.4)), 350 * np.exp(0.35 * hardness + 0.2 * rng.normal(size=N))


def build(
    cell: Cell,
    counts: NDArray[np.int64],
    right: NDArray[np.bool_],
    tokens: NDArray[np.int64],
    round_: NDArray[np.int64],
    *,
    pick: NDArray[np.int64] | None = None,
    text: NDArray[np.int64] | None = None,
    finish: Finish = Finish.STOP,
) -> CellData:
    """A cell from its answers one after another, `counts` of them a question."""
    n, total = len(counts), int(counts.sum())
    offsets = np.concatenate([[0], np.cumsum(counts)])
    none = np.full(n, NONE, dtype=np.int64)
    vote = np.where(right, 0, 1 + np.arange(total) % 3)
    answers = AnswerColumns(
        grade=np.where(right, Grade.CORRECT, Grade.INCORRECT).astype(np.int8),
        vote=vote.astype(np.int32),
        round=round_.astype(np.int32),
        tokens=tokens.astype(np.int32),
        prompt=np.full(total, 100, dtype=np.int32),
        score=np.full(total, np.nan),
        leniency=np.zeros(total, dtype=np.uint8),
        claimed_correct=np.full(total, NONE, dtype=np.int8),
        claimed_vote=np.full(total, NONE, dtype=np.int32),
        agent=(np.arange(total) - np.repeat(offsets[:-1], counts)).astype(np.int32),
        finish=np.full(total, finish, dtype=np.int8),
        text=np.arange(1, total + 1, dtype=np.int64) + hash_of(cell.id) if text is None else text,
    )
    return CellData(
        cell=cell,
        question_ids=tuple(f"q{i}" for i in range(n)),
        levels=(None,) * n,
        present=np.ones(n, dtype=np.bool_),
        failed=np.zeros(n, dtype=np.bool_),
        gold_usable=np.ones(n, dtype=np.bool_),
        completion_tokens=np.add.reduceat(tokens, offsets[:-1]),
        prompt_tokens=counts * 100,
        latency=none,
        pick=none if pick is None else pick,
        claimed_correct=none,
        claimed_answer=none,
        claimed_tokens=none,
        last_call=none,
        calls=counts,
        capped=np.zeros(n, dtype=np.int64),
        unread_choice=np.zeros(n, dtype=np.bool_),
        shard=none,
        line=none,
        offsets=offsets,
        answers=answers,
    )


def hash_of(name: str) -> int:
    """A number for a cell that no other cell has: texts of different cells then differ."""
    return int.from_bytes(name.encode()[-6:], "little") << 12


def sampled(
    rng: np.random.Generator, cell: Cell, samples: int, ease: Floats, length: Floats, finish: Finish = Finish.STOP
) -> CellData:
    """A cell of independent samples."""
    right = rng.random((N, samples)) < ease[:, None]
    tokens = drawn_lengths(rng, length, samples)
    counts, rounds = np.full(N, samples), np.zeros(N * samples, dtype=np.int64)
    pick = rng.integers(0, samples, N) if cell.decision_rule == "selected" else None
    return build(cell, counts, right.ravel(), tokens.ravel(), rounds, pick=pick, finish=finish)


def drawn_lengths(rng: np.random.Generator, length: Floats, samples: int) -> NDArray[np.int64]:
    return np.maximum(1, length[:, None] * np.exp(0.3 * rng.normal(size=(N, samples)))).astype(np.int64)


def setting(rng: np.random.Generator, finish: Finish = Finish.STOP) -> dict[str, CellData]:
    """A pool, a single greedy answer, and eight candidates with a judge."""
    ease, length = questions(rng)
    return {
        "pool": sampled(rng, Cell(id="m/d/pool", decision_rule="plurality", pool=True), POOL, ease, length, finish),
        "single": sampled(rng, Cell(id="m/d/single", decision_rule="only"), 1, ease, length, finish),
        "judged": sampled(rng, Cell(id="m/d/judged", decision_rule="selected"), CANDIDATES, ease, length, finish),
    }


def reflexion(rng: np.random.Generator, *, after_right: float, after_wrong: float) -> CellData:
    """A method that goes on with one chance after a right answer and with another after a wrong one."""
    ease, length = questions(rng)
    right = rng.random((N, 1 + ROUNDS)) < ease[:, None]
    goes_on = rng.random((N, ROUNDS)) < np.where(right[:, :ROUNDS], after_right, after_wrong)
    counts = 1 + np.cumprod(goes_on, axis=1).sum(axis=1)
    kept = np.arange(1 + ROUNDS) < counts[:, None]
    rounds = np.broadcast_to(np.arange(1 + ROUNDS), kept.shape)
    tokens = drawn_lengths(rng, length, 1 + ROUNDS)
    cell = Cell(id="m/d/reflexion", decision_rule="last", calls={"retry": CallRange(min=0, max=ROUNDS)})
    return build(cell, counts, right[kept], tokens[kept], rounds[kept])


# Alarms


def survivorship_alarm(cells: dict[str, CellData], gone: NDArray[np.bool_], rng: np.random.Generator) -> bool:
    """Whether losing the records `gone` of the judged cell is noticed."""
    target = replace(cells["judged"], present=~gone)
    reference = truncation.reference_of(target, [target, cells["pool"], cells["single"]])
    found = None if reference is None else truncation.survivorship(truncation.gaps_of(target), reference, rng=rng)
    return found is not None and found.alarm


def unequal_caps_alarm(cells: dict[str, CellData]) -> bool:
    return bool(truncation.shorter_arm({name: truncation.caps_of(data) for name, data in cells.items()}))


def never_fires_alarm(data: CellData) -> bool:
    engaged, _, p = engagement.never_fires_p(data)
    return engaged == 0 and p <= LEVEL


def oracle_alarm(data: CellData) -> bool:
    found = engagement.stopping(data)
    return found is not None and found.p_value <= LEVEL


def position_alarm(data: CellData) -> bool:
    found = judge.position_bias(data)
    return found is not None and found.p_value <= LEVEL


# Flaws


def missing_at_random(count: int) -> Callable[[np.random.Generator], bool]:
    def simulate(rng: np.random.Generator) -> bool:
        gone = np.zeros(N, dtype=np.bool_)
        gone[rng.choice(N, count, replace=False)] = True
        return survivorship_alarm(setting(rng), gone, rng)

    return simulate


def too_long_for_the_context(rng: np.random.Generator) -> bool:
    """SMRL A.4: a request fails where the eight candidates together exceed a fixed number of tokens."""
    cells = setting(rng)
    total = cells["judged"].completion_tokens
    return survivorship_alarm(cells, total > np.quantile(total, 78 / 150), rng)


def a_few_long_ones_gone(count: int) -> Callable[[np.random.Generator], bool]:
    def simulate(rng: np.random.Generator) -> bool:
        cells = setting(rng)
        gone = np.zeros(N, dtype=np.bool_)
        gone[np.argsort(cells["judged"].completion_tokens)[-count:]] = True
        return survivorship_alarm(cells, gone, rng)

    return simulate


def capped(data: CellData, cap: int, *, recorded: bool) -> CellData:
    """A cell whose answers end at `cap` tokens, with the reason recorded or not."""
    cut = data.answers.tokens > cap
    finish = np.where(cut, Finish.LENGTH, Finish.STOP) if recorded else np.full(len(cut), Finish.UNKNOWN)
    columns = replace(data.answers, tokens=np.minimum(data.answers.tokens, cap), finish=finish.astype(np.int8))
    return replace(data, answers=columns, capped=np.bincount(data.owner[cut], minlength=data.n) * recorded)


def capped_arm(name: str, *, recorded: bool) -> Callable[[np.random.Generator], bool]:
    def simulate(rng: np.random.Generator) -> bool:
        cells = setting(rng, Finish.STOP if recorded else Finish.UNKNOWN)
        return unequal_caps_alarm(cells | {name: capped(cells[name], 1024, recorded=recorded)})

    return simulate


def same_cap_everywhere(rng: np.random.Generator) -> bool:
    cells = setting(rng, Finish.UNKNOWN)
    return unequal_caps_alarm({name: capped(data, 1024, recorded=False) for name, data in cells.items()})


def copied_answers(rng: np.random.Generator) -> bool:
    cells = setting(rng)
    copy = replace(cells["single"], cell=Cell(id="m/d/reflexion", decision_rule="last"))
    return engagement.base_of(copy, list(cells.values())) is not None


def own_answers(rng: np.random.Generator) -> bool:
    """Two greedy methods whose prompts hardly differ: four texts in five come out the same."""
    cells = setting(rng)
    ease, length = questions(rng)
    other = sampled(rng, Cell(id="m/d/plan", decision_rule="only"), 1, ease, length)
    same = rng.random(N) < 0.8
    text = np.where(same, cells["single"].answers.text, other.answers.text)
    return engagement.base_of(replace(other, answers=replace(other.answers, text=text)), [*cells.values()]) is not None


def biased_picks(rng: np.random.Generator) -> bool:
    """SMRL 4.7: the first of eight candidates is picked three times in four."""
    data = setting(rng)["judged"]
    first = rng.random(N) < 0.75
    return position_alarm(replace(data, pick=np.where(first, 0, data.pick)))


def of_reflexion(
    alarm: Callable[[CellData], bool], *, after_right: float, after_wrong: float
) -> Callable[[np.random.Generator], bool]:
    return lambda rng: alarm(reflexion(rng, after_right=after_right, after_wrong=after_wrong))


INTACT: dict[str, Callable[[np.random.Generator], bool]] = {
    "missing at random: 5 of 150": missing_at_random(5),
    "missing at random: 20 of 150": missing_at_random(20),
    "missing at random: 72 of 150": missing_at_random(72),
    "caps: none, reasons recorded": lambda rng: unequal_caps_alarm(setting(rng)),
    "caps: none, reasons not recorded": lambda rng: unequal_caps_alarm(setting(rng, Finish.UNKNOWN)),
    "caps: 1,024 on every arm, reasons not recorded": same_cap_everywhere,
    "never fires: goes on in 10% of questions": of_reflexion(never_fires_alarm, after_right=0.1, after_wrong=0.1),
    "same texts: two methods with four texts in five in common": own_answers,
    "oracle: a judge wrong in 10% of right and of wrong ones": of_reflexion(
        oracle_alarm, after_right=0.1, after_wrong=0.9
    ),
    "oracle: a judge wrong in 10% of right ones, 50% of wrong ones": of_reflexion(
        oracle_alarm, after_right=0.1, after_wrong=0.5
    ),
    "oracle: always goes on": of_reflexion(oracle_alarm, after_right=1.0, after_wrong=1.0),
    "position: uniform picks": lambda rng: position_alarm(setting(rng)["judged"]),
}
FLAWED: dict[str, Callable[[np.random.Generator], bool]] = {
    "survivors only: all eight too long for the context (72 of 150)": too_long_for_the_context,
    "survivors only: the 10 longest gone": a_few_long_ones_gone(10),
    "survivors only: the 5 longest gone": a_few_long_ones_gone(5),
    "cap of 1,024 on the judged arm alone, reasons recorded": capped_arm("judged", recorded=True),
    "cap of 1,024 on the judged arm alone, reasons not recorded": capped_arm("judged", recorded=False),
    "cap of 1,024 on the single arm alone, reasons not recorded": capped_arm("single", recorded=False),
    "never fires": of_reflexion(never_fires_alarm, after_right=0.0, after_wrong=0.0),
    "same texts: the greedy answers under another name": copied_answers,
    "oracle stopping": of_reflexion(oracle_alarm, after_right=0.0, after_wrong=1.0),
    "position: three picks in four are the first": biased_picks,
}


if __name__ == "__main__":
    main()
