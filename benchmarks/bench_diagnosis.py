"""Planted mistakes and what the ladder makes of them: how often it names the right one, none, or a wrong one.

Each seed plants a release of two settings, counts it once, and then prints its table anew for every flaw: the flawed
numbers come from the planter's own flags and counters, never from `verify`. A flaw is in one method of both settings;
where it changes fewer than two numbers, it is counted apart, as no cause may then be named. The last rows are numbers
of another origin, where any cause is a wrong one. Arguments: number of seeds, of processes.
"""

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from generators.planted import Plan, PlantedModel, plant
from generators.printing import percent, thousands
from schemas.layout import questions_path
from schemas.reading import Limits, Line, read_lines
from schemas.record import Question, Record
from schemas.report import Cause, Finding
from schemas.writing import write_lines
from verify.cells import Grid, reduce
from verify.claims import BoundClaim
from verify.compare import compare, explain
from verify.diagnostics.alternatives.recounts import Recounts
from verify.grades import bind
from verify.partial import Partial, merge
from verify.release import Release, open_release
from verify.settings import Inference, Study
from verify.shard import read_shard

PLAN = Plan(
    models=(PlantedModel(id="small", ability=0.5, judgement=0.4),),
    questions=100,
    suffixes=(".jsonl",),
)
FEWER = 80
"""Questions that are left of each dataset: the manifest still declares the others, so there is another n to divide by.

There are two settings, so two cells of each method: the fewest that a cause may rest on.
"""
CAP = 130
"""Tokens at which the capped arm is cut."""
T = TypeVar("T")
Records = list[Record]
Printed = dict[tuple[str, str], str]
"""What the paper prints, by cell and statistic."""


@dataclass(frozen=True)
class Flaw:
    """`prints`: new values from one cell's records; `expects`: how the ladder's name for it begins."""

    method: str
    statistic: str
    prints: Callable[[Records, random.Random], str]
    expects: str | None
    edits: Callable[[Records], Records] | None = None


def share(flags: Sequence[bool], over: int | None = None) -> str:
    return percent(Fraction(sum(flags), over or len(flags)))


def answers(record: Record) -> list[tuple[str | None, bool, int]]:
    """(answer, right, round) of every call that states one, by the planter's own notes."""
    return [(g.claimed.answer, bool(g.claimed.correct), g.round) for g in record.generations if g.claimed is not None]


def right(record: Record) -> bool:
    return record.claimed is not None and record.claimed.correct is True


def vote(given: list[tuple[str | None, bool, int]], *, ties: str = "first") -> bool:
    counts = Counter(answer for answer, _, _ in given if answer is not None)
    if not counts:
        return False
    best = max(counts.values())
    winners = [answer for answer, count in counts.items() if count == best]
    if ties == "wrong" and len(winners) > 1:
        return False
    return next(flag for answer, flag, _ in given if answer == winners[0])


def longest_lost(records: Records) -> Records:
    """SMRL A.4 lost half of the records of one setting, the longest; here four in ten."""
    length = sorted(sum(g.completion_tokens or 0 for g in record.generations) for record in records)
    limit = length[int(0.6 * len(length))]
    return [record for record in records if sum(g.completion_tokens or 0 for g in record.generations) < limit]


def capped(records: Records) -> Records:
    """Answers longer than the cap are cut, and state nothing."""
    return [
        msgspec.structs.replace(
            record,
            claimed=None,
            generations=[
                msgspec.structs.replace(
                    g, completion_tokens=CAP, finish_reason="length", text="First collect what is", claimed=None
                )
                if (g.completion_tokens or 0) >= CAP
                else g
                for g in record.generations
            ],
        )
        for record in records
    ]


def mistyped(records: Records, rng: random.Random) -> str:
    text = share([right(record) for record in records])
    places = [i for i, letter in enumerate(text) if letter.isdigit()]
    place = rng.choice(places)
    return text[:place] + rng.choice([d for d in "0123456789" if d != text[place]]) + text[place + 1 :]


def another_run(records: Records, rng: random.Random) -> str:
    p = (sum(map(right, records)) + 0.5) / (len(records) + 1)
    return share([rng.random() < p for _ in records])


FLAWS: dict[str, Flaw] = {
    "judge scored as majority": Flaw(
        "best_of_n",
        "accuracy",
        lambda rs, _: share([vote(answers(r)) for r in rs]),
        "decision rule `plurality`",
    ),
    "survivors only": Flaw(
        "best_of_n",
        "accuracy",
        lambda rs, _: share([right(r) for r in rs]),
        "only questions with a record",
        longest_lost,
    ),
    "unparsed dropped from the denominator": Flaw(
        "plan_and_solve",
        "accuracy",
        lambda rs, _: share([right(r) for r in rs if answers(r)[0][0] is not None]),
        "only questions with a readable answer",
    ),
    "first sample for majority": Flaw(
        "self_consistency",
        "accuracy",
        lambda rs, _: share([answers(r)[0][1] for r in rs]),
        "the first answer of each record",
    ),
    "last round for first": Flaw(
        "debate",
        "accuracy",
        lambda rs, _: share([vote([a for a in answers(r) if a[2] == 0]) for r in rs]),
        "the first round in place of the last",
    ),
    "other tie rule": Flaw(
        "debate",
        "accuracy",
        lambda rs, _: share([vote([a for a in answers(r) if a[2] == 2], ties="wrong") for r in rs]),
        "tie rule `wrong`",
    ),
    "pass@k printed as accuracy": Flaw(
        "self_consistency",
        "accuracy",
        lambda rs, _: share([any(flag for _, flag, _ in answers(r)) for r in rs]),
        "any answer of the record correct",
    ),
    "wrong N": Flaw(
        "self_consistency",
        "accuracy",
        lambda rs, _: share([vote(answers(r)[:4]) for r in rs]),
        "4 samples in place of 16",
    ),
    "percent of another n": Flaw(
        "chain_of_thought",
        "accuracy",
        lambda rs, _: share([right(r) for r in rs], PLAN.questions),
        f"right answers over {PLAN.questions}",
    ),
    "cap on one arm, cut answers dropped": Flaw(
        "chain_of_thought",
        "accuracy",
        lambda rs, _: share([right(r) for r in rs if (r.generations[0].completion_tokens or 0) < CAP]),
        "only questions whose answers ended before",
        capped,
    ),
    "oracle stopping": Flaw(
        "self_refine",
        "accuracy",
        lambda rs, _: share([any(flag for _, flag, _ in answers(r)) for r in rs]),
        "any answer of the record correct",
    ),
    "counter reset": Flaw(
        "self_refine",
        "mean_completion_tokens",
        lambda rs, _: thousands(Fraction(sum(r.generations[-1].completion_tokens or 0 for r in rs), len(rs))),
        "tokens of the last call of each record",
    ),
    "(control) digits mistyped": Flaw("self_consistency", "accuracy", mistyped, None),
    "(control) another run": Flaw("self_consistency", "accuracy", another_run, None),
    "(control) another run, judge": Flaw("best_of_n", "accuracy", another_run, None),
    "(control) another run, debate": Flaw("debate", "accuracy", another_run, None),
}


class Planted:
    """One planted release, read once; flaws that change records have those cells read again."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.truth = plant(root, PLAN, rng=rng)
        self._shorten(root)
        self.release = open_release(root, limits=Limits())
        self.grading = bind(self.release)
        self.partials = [self._read(self.release, number) for number in range(len(self.release.shards))]
        self.records = {shard.path.parent: _values(shard.path, Record) for shard in self.release.shards}
        self.study = self._study(self.release, self.partials)
        self.printed: Printed = {}
        for shard in self.release.shards:
            records = self.records[shard.path.parent]
            cell = records[0].cell
            self.printed[cell, "accuracy"] = share([right(record) for record in records])
            self.printed[cell, "mean_completion_tokens"] = thousands(_mean_tokens(records))

    def plant(self, flaw: Flaw, rng: random.Random) -> tuple[list[Finding], list[Cause], int]:
        """Print the table with the flaw; the findings, the causes, and how many printed numbers it changed."""
        release, partials, study = self.release, list(self.partials), self.study
        printed = dict(self.printed)
        changed = 0
        for number, shard in enumerate(self.release.shards):
            cell = self.release.manifest.cells[shard.cell].id
            if not cell.endswith(f"/{flaw.method}"):
                continue
            records = self.records[shard.path.parent]
            kept = records if flaw.edits is None else flaw.edits(records)
            if flaw.edits is not None:
                write_lines(shard.path, kept)
                if flaw.edits is capped:
                    release = _with_cap(release, cell)
                partials[number] = self._read(release, number)
                write_lines(shard.path, records)
            notes = {record.question_id: record for record in records}
            # The capped records carry no notes: what they were before the cut says whether they are right.
            basis = [notes[record.question_id] for record in kept]
            printed[cell, flaw.statistic] = flaw.prints(basis, rng)
            if flaw.edits is not None:
                printed[cell, "mean_completion_tokens"] = thousands(_mean_tokens(kept))
            changed += flaw.edits is not None or printed[cell, flaw.statistic] != self.printed[cell, flaw.statistic]
        if flaw.edits is not None:
            study = self._study(release, partials)
        claims = [
            BoundClaim(
                f"results/{cell}/{statistic}",
                "claims.toml",
                cell,
                statistic,
                {},
                "percent" if statistic == "accuracy" else None,
                text,
                None,
                "nearest",
                "results",
            )
            for (cell, statistic), text in printed.items()
        ]
        findings, causes = explain(release, study, Recounts(study), compare(study, claims))
        return findings, causes, changed

    def _read(self, release: Release, number: int) -> Partial:
        shard = release.shards[number]
        dataset = release.manifest.cells[shard.cell].id.split("/")[1]
        return read_shard(release, shard, self.grading[dataset])

    def _study(self, release: Release, partials: list[Partial]) -> Study:
        usable = {name: np.array([gold is not None for gold in g.golds]) for name, g in self.grading.items()}
        grid: Grid = reduce(release, merge(partials), usable)
        return Study(release.manifest, grid.cells, Inference())

    def _shorten(self, root: Path) -> None:
        ids = set()
        for name in PLAN.datasets:
            path = questions_path(root, name)
            kept = _values(path, Question)[:FEWER]
            write_lines(path, kept)
            ids |= {question.id for question in kept}
        for shard in sorted((root / "generations").glob("*/*/*/part-*")):
            write_lines(shard, [record for record in _values(shard, Record) if record.question_id in ids])


def _mean_tokens(records: Records) -> Fraction:
    return Fraction(sum(g.completion_tokens or 0 for record in records for g in record.generations), len(records))


def _with_cap(release: Release, cell: str) -> Release:
    cells = [msgspec.structs.replace(one, token_cap=CAP) if one.id == cell else one for one in release.manifest.cells]
    manifest = msgspec.structs.replace(release.manifest, cells=cells)
    return Release(release.root, manifest, release.questions, release.shards, release.limits, release.findings)


def _values(path: Path, kind: type[T]) -> list[T]:
    return [line.value for line in read_lines(path, kind, limits=Limits()) if isinstance(line, Line)]


def judge(flaw: Flaw, findings: list[Finding], causes: list[Cause], changed: int) -> Counter[str]:
    """What one planted flaw came to, in the words of the table."""
    odd = [f for f in findings if f.verdict != "confirmed"]
    tally = Counter(seeds=1, changed=changed, odd=len(odd))
    planted = [f for f in odd if any(m.alternative.startswith(flaw.expects or "?") for m in f.diagnosis)]
    tally["matched"] = len(planted)
    tally["wrongly accused"] = sum(f"/{flaw.method}/" not in f"{f.id}/" for f in odd if f.verdict == "refuted")
    if len({f.id for f in odd}) < 2:
        tally["fewer than two"] = 1
        tally["wrong"] = bool(causes)
        return tally
    tally["cases"] = 1
    if not causes:
        tally["unnamed"] = 1
    for cause in causes[:1]:
        own = [cause.alternative, *cause.aliases]
        if flaw.expects is not None and any(label.startswith(flaw.expects) for label in own):
            tally["ambiguous" if cause.rivals else "right"] = 1
        elif flaw.expects is not None and any(label.startswith(flaw.expects) for label in cause.rivals):
            tally["ambiguous"] = 1
        else:
            tally["wrong"] = 1
    return tally


def try_seed(seed: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Every flaw on one release: what came of each, and the wrong names in words."""
    tallies, wrong = {}, []
    with tempfile.TemporaryDirectory() as folder:
        planted = Planted(Path(folder) / "r", random.Random(seed))
        for number, (name, flaw) in enumerate(FLAWS.items()):
            findings, causes, changed = planted.plant(flaw, random.Random(1000 * seed + number))
            tallies[name] = judge(flaw, findings, causes, changed)
            if tallies[name]["wrong"]:
                wrong.append(f"seed {seed}, {name}: {[(c.alternative, c.rivals, c.accident) for c in causes]}")
    return tallies, wrong


def main(seeds: int, processes: int) -> None:
    start = time.perf_counter()
    totals: dict[str, Counter[str]] = {name: Counter() for name in FLAWS}
    with ProcessPoolExecutor(processes) as pool:
        for tallies, wrong in pool.map(try_seed, range(seeds)):
            for name, tally in tallies.items():
                totals[name] += tally
            for line in wrong:
                print(line, flush=True)
    print(f"{seeds} seeds, {time.perf_counter() - start:.0f} s, two cells of {FEWER} questions")
    head = ("changed", "not held", "matched", "< 2", "cases", "right", "ambig.", "unnamed", "wrong")
    print(f"{'flaw':40}" + "".join(f"{word:>9}" for word in head))
    worst = 0.0
    for name, tally in totals.items():
        cases = tally["cases"]
        rates = [tally[word] / max(cases, 1) for word in ("right", "ambiguous", "unnamed", "wrong")]
        worst = max(worst, rates[-1])
        counts = [tally[word] for word in ("changed", "odd", "matched", "fewer than two", "cases")]
        print(f"{name:40}" + "".join(f"{n:9}" for n in counts) + "".join(f"{100 * rate:8.1f}%" for rate in rates))
    print(f"greatest rate of wrong names: {100 * worst:.1f}%")
    print(f"right numbers refuted: {sum(tally['wrongly accused'] for tally in totals.values())}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
