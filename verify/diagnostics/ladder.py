"""Which other computation would print exactly the claimed values?

Declared alternatives are tried on every claim that does not follow, one at a time and then two at once, the simplest
first, in the order row scope, decision rule, denominator, grader, tie rule, draws, cost unit, rounding, statistic. A
match at one cell is listed with the chance that it is an accident; a *cause* is stated only where one alternative
explains every such claim of a column (or of one method, dataset, setting or model in it), over two independent cells
at least, contradicts no number of them that follows as declared, and is no accident. Even then the report says
"consistent with": it does not know what happened.

All work on the arrays that the audit has graded already; nothing is read again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from schemas.report import Cause, Diagnosis, RecordRef, Verdict
from verify.cells import refs_of
from verify.claims import BoundClaim
from verify.diagnostics.accident import Printing, accident, chance
from verify.diagnostics.alternatives import equal_cost, parameters, questions, shares, tokens
from verify.diagnostics.alternatives.reading import AXES, Reader, Reading, Step
from verify.diagnostics.alternatives.recounts import Recounts
from verify.diagnostics.rounding import LABELS, Convention, printed_values
from verify.estimates import STATISTICS
from verify.inferences import INFERENCES
from verify.printed import Printed
from verify.release import Release, dataset_of, method_of, model_of, setting_of
from verify.settings import ALL, MethodComparison, Study

MAX_ROWS = 50
RARE = 0.01
"""A cause is stated where the chance of an accident is at most this; at one cell, five times this is no accident."""
UNLIKELY = 0.05
CELLS_NEEDED = 2
PAIRED_TARGETS = 8
"""Two departures at once are looked for on this many claims that nothing simpler explains, of a column or a method."""
CONVENTIONS: tuple[Convention, ...] = ("down", "up", "twice", "padded")

Key = tuple[tuple[str, str, str | int | None], ...]
Scope = Literal["column", "method", "dataset", "setting", "model"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PAIRED_SCOPES: tuple[Scope, ...] = ("column", "method")


@dataclass(frozen=True)
class Checked:
    """A claim that was compared with ours, and how that ended."""

    id: str
    claim: BoundClaim
    printed: Printed
    verdict: Verdict
    open: bool
    """Unverifiable because the release lacks records: the printed value may be that of the rest."""


@dataclass
class Laddered:
    """What the ladder says of one claim."""

    diagnoses: list[Diagnosis]
    tried: int


def reader_of(study: Study, recounts: Recounts, claim: BoundClaim) -> Reader | None:
    """What computes a claim's statistic otherwise; None where there is nothing to try."""
    name = claim.statistic
    if name in shares.STATISTICS:
        return shares.ShareReader(recounts.of(claim.cell), claim)
    if name in tokens.STATISTICS:
        return tokens.TokenReader(recounts.of(claim.cell), claim)
    if name in questions.STATISTICS:
        return questions.QuestionReader(recounts.of(claim.cell))
    if name in equal_cost.STATISTICS:
        ties = claim.parameters.get("tie_rule")
        found = study.compare(claim.cell, ties, str(claim.parameters.get("subset", ALL)))  # type: ignore[arg-type]
        if isinstance(found, MethodComparison):
            return equal_cost.CostReader(study, recounts.of(claim.cell), claim, found)
        return None
    if name in equal_cost.CURVE_STATISTICS:
        return equal_cost.CurveReader(study, recounts.of(claim.cell), claim)
    if name in STATISTICS or name in INFERENCES:
        return parameters.ParameterReader(study, study.cells[claim.cell], claim)
    return None


def diagnose(
    release: Release, study: Study, recounts: Recounts, checked: Sequence[Checked]
) -> tuple[dict[str, Laddered], list[Cause]]:
    """By claim id what would print it, and the causes that explain several claims at once."""
    columns: dict[tuple[object, ...], list[_Rung]] = defaultdict(list)
    for item in checked:
        if item.printed.step is not None:
            claim = item.claim
            columns[claim.table, claim.statistic, tuple(sorted(claim.parameters.items(), key=str))].append(
                _Rung(item, study, recounts)
            )
    found: dict[str, Laddered] = {}
    causes: list[Cause] = []
    for rungs in columns.values():
        targets = [rung for rung in rungs if rung.is_target and rung.reader is not None]
        if targets:
            column = _Column(targets, [rung for rung in rungs if not rung.is_target and rung.confirmed])
            stated = column.causes()
            causes += [cause for cause, _ in stated]
            for rung in targets:
                found[rung.item.id] = column.explain(release, rung, stated)
    return found, causes


@dataclass(frozen=True)
class _Try:
    """One alternative at one claim."""

    steps: tuple[Step, ...]
    reading: Reading
    printing: Printing
    matches: bool

    @property
    def key(self) -> Key:
        return _key(self.steps)

    @property
    def same(self) -> tuple[object, ...]:
        """Equal where the computation is, and its printing: an alias cannot be told apart here."""
        how = tuple(step.value for step in self.steps if step.axis == "rounding")
        return (*self.reading.same, how)

    @property
    def label(self) -> str:
        words = " and ".join(step.label for step in self.steps)
        return f"{words}, {self.reading.scope}" if self.reading.scope else words


class _Rung:
    """One claim on the ladder."""

    def __init__(self, item: Checked, study: Study, recounts: Recounts) -> None:
        self.item = item
        self.cell = item.claim.cell
        self.is_target = item.verdict == "refuted" or item.open
        self.confirmed = item.verdict == "confirmed"
        self._make: Callable[[], Reader | None] = lambda: reader_of(study, recounts, item.claim)
        self._reader: Reader | None = None
        self._made = False
        self._tries: dict[Key, _Try | None] = {}
        self._steps: list[Step] | None = None

    @property
    def reader(self) -> Reader | None:
        """Made when first needed: most claims are confirmed and never asked."""
        if not self._made:
            self._reader, self._made = self._make(), True
        return self._reader

    @property
    def steps(self) -> list[Step]:
        if self._steps is None:
            own = [] if self.reader is None else list(self.reader.steps())
            if self.item.claim.rounding == "nearest":
                own += [Step("rounding", "rounding", how, LABELS[how]) for how in CONVENTIONS]
            self._steps = sorted(own, key=lambda step: AXES.index(step.axis))
        return self._steps

    def singles(self) -> Iterator[_Try]:
        """Every alternative that changes something here, one departure each."""
        yield from self._run((step,) for step in self.steps)

    def pairs(self) -> Iterator[_Try]:
        """Two departures at once, on different axes and of different fields."""
        yield from self._run(
            pair
            for pair in combinations(self.steps, 2)
            if pair[0].axis != pair[1].axis and pair[0].field != pair[1].field
        )

    def at(self, steps: tuple[Step, ...]) -> _Try | None:
        """One alternative; None where it cannot be computed or changes nothing here."""
        key = tuple(step.key for step in steps)
        if key not in self._tries:
            self._tries[key] = self._at(steps)
        return self._tries[key]

    def applies(self, steps: tuple[Step, ...]) -> bool:
        """Whether the alternative means anything for this cell."""
        known = {step.key for step in self.steps}
        return all(step.key in known for step in steps)

    @property
    def declared(self) -> _Try | None:
        """The computation as declared; None where records are missing, so that it is not known."""
        if () not in self._tries:
            self._tries[()] = None if self.reader is None else self._read(())
        return None if self.item.open else self._tries[()]

    def chance(self, item: _Try) -> float:
        """Chance that a value of another origin prints so."""
        if self.reader is None:
            return 1.0
        nothing = Printing(1, 0, item.printing.step)
        ours = nothing if self.declared is None else self.declared.printing
        return chance(self.reader.mass, item.printing, ours)

    def _run(self, all_steps: Iterable[tuple[Step, ...]]) -> Iterator[_Try]:
        for steps in all_steps:
            found = self.at(steps)
            if found is not None:
                yield found

    def _at(self, steps: tuple[Step, ...]) -> _Try | None:
        found = self._read(steps)
        if found is None or (self.item.open and found.reading.low != found.reading.high):
            return None
        ours = self.declared
        if ours is not None and ours.same == found.same:
            return None
        if ours is not None and ours.reading.same == found.reading.same and ours.printing == found.printing:
            return None  # a way of rounding that prints the same
        if len(steps) > 1 and any((one := self._alone(step)) is not None and one == found.same for step in steps):
            return None  # one of the two changes nothing
        return found

    def _alone(self, step: Step) -> tuple[object, ...] | None:
        single = self.at((step,))
        return None if single is None else single.same

    def _read(self, steps: tuple[Step, ...]) -> _Try | None:
        step = self.item.printed.step
        if self.reader is None or step is None:
            return None
        how: Convention = self.item.claim.rounding
        own = []
        for one in steps:
            if one.axis == "rounding":
                how = one.value  # type: ignore[assignment]
            else:
                own.append(one)
        reading = self.reader.read(own)
        if reading is None:
            return None
        low, high = printed_values(reading.low, reading.high, step, how)
        printed = round(self.item.printed.value / step)
        return _Try(steps, reading, Printing(low, high, step), low <= printed <= high)


@dataclass
class _Column:
    """All claims of one table on one statistic with the same parameters: `targets` do not follow, `held` do."""

    targets: list[_Rung]
    held: list[_Rung]
    _joint: dict[str, dict[Key, float]] = field(default_factory=dict)
    """By claim and alternative that explains a whole scope: the least chance that it does so by luck."""
    _printed: dict[tuple[object, ...], tuple[int, list[tuple[Step, ...]]]] = field(default_factory=dict)

    def causes(self) -> list[tuple[Cause, set[Key]]]:
        """Alternatives that explain all targets of a scope: one departure before two, then the widest scope first.

        Each target has one cause.
        """
        stated: list[tuple[Cause, set[Key]]] = []
        settled: set[str] = set()
        for depth in (1, 2):
            for rank, scope in enumerate(SCOPES if depth == 1 else PAIRED_SCOPES, start=1):
                for name, group in _grouped(self.targets, scope).items():
                    left = [rung for rung in group if rung.item.id not in settled]
                    if _independent(left) < CELLS_NEEDED or (depth == 2 and not self._may_be_paired(left)):
                        continue
                    held = _grouped(self.held, scope).get(name, [])
                    cause = self._cause(depth, scope, name, left, held, rank)
                    if cause is not None:
                        stated.append(cause)
                        settled |= {rung.item.id for rung in left}
        return stated

    def _may_be_paired(self, group: list[_Rung]) -> bool:
        """Something simple that prints them all, if only by luck, is not set aside for something less simple."""
        return len(group) <= PAIRED_TARGETS and not self._printing(group, 1)[1]

    def _cause(
        self, depth: int, scope: Scope, name: str, group: list[_Rung], held: list[_Rung], rank: int
    ) -> tuple[Cause, set[Key]] | None:
        tried, printing = self._printing(group, depth)
        fitting = [steps for steps in printing if all(_bears(rung, steps) for rung in held)]
        lucks = [(steps, accident(tried * rank, _chances(group, steps))) for steps in fitting]
        for rung in group:
            known = self._joint.setdefault(rung.item.id, {})
            for steps, luck in lucks:
                known[_key(steps)] = min(luck, known.get(_key(steps), 1.0))
        # Those that fit but may do so by luck are no causes; beside one that is, they remain its rivals.
        lucks.sort(key=lambda item: item[1] > RARE)
        return _stated(scope, name, group, held, lucks, tried) if lucks and lucks[0][1] <= RARE else None

    def _printing(self, group: list[_Rung], depth: int) -> tuple[int, list[tuple[Step, ...]]]:
        """How many distinct alternatives there are at this depth, and those that print every claim of the group."""
        key = (depth, *(rung.item.id for rung in group))
        if key not in self._printed:
            first, *others = group
            tries = list(first.singles() if depth == 1 else first.pairs())
            tried = {item.same for item in tries}
            if depth == 2:
                tried |= {item.same for item in first.singles()}
            self._printed[key] = (
                len(tried),
                [
                    item.steps
                    for item in tries
                    if item.matches
                    and all((other := rung.at(item.steps)) is not None and other.matches for rung in others)
                ],
            )
        return self._printed[key]

    def explain(self, release: Release, rung: _Rung, stated: list[tuple[Cause, set[Key]]]) -> Laddered:
        """The alternatives that print one claim, named ones first."""
        own = {key for cause, keys in stated if rung.item.id in cause.claims for key in keys}
        joint = self._joint.get(rung.item.id, {})
        tries = list(rung.singles())
        unexplained = not any(item.matches for item in tries)
        if any(len(key) > 1 for key in own) or (unexplained and self.targets.index(rung) < PAIRED_TARGETS):
            tries += rung.pairs()
        tried = len({item.same for item in tries})
        matches = sorted((item for item in tries if item.matches), key=lambda item: item.key not in own)
        diagnoses: list[Diagnosis] = []
        seen: dict[tuple[object, ...], _Try] = {}
        for item in matches:
            luck = min(accident(tried, [rung.chance(item)]), joint.get(item.key, 1.0))
            kind: Literal["matching", "alias", "coincidence"] = "matching"
            if item.same in seen:
                kind = "alias"
            elif item.key not in own and (luck > UNLIKELY or own):
                # Likely by luck, or contradicted by the column's other cells, which another alternative explains.
                kind = "coincidence"
            seen.setdefault(item.same, item)
            diagnoses.append(
                Diagnosis(
                    alternative=item.label,
                    value=float((item.reading.low + item.reading.high) / 2),
                    kind=kind,
                    accident=luck,
                    records=_changed(release, rung, item),
                )
            )
        return Laddered(diagnoses, tried)


def _bears(rung: _Rung, steps: tuple[Step, ...]) -> bool:
    """Whether a number that follows as declared would follow under the alternative too, or is not touched by it."""
    if rung.reader is None or not rung.applies(steps):
        return True
    found = rung.at(steps)
    return found is None or found.matches


def _chances(group: list[_Rung], steps: tuple[Step, ...]) -> list[float]:
    """One chance an independent cell: of several claims on one cell the least likely."""
    cells: dict[object, float] = {}
    for rung in group:
        item = rung.at(steps)
        if item is not None:
            cell = _identity(rung)
            cells[cell] = min(cells.get(cell, 1.0), rung.chance(item))
    return list(cells.values())


def _stated(
    scope: Scope,
    name: str,
    group: list[_Rung],
    held: list[_Rung],
    fitting: list[tuple[tuple[Step, ...], float]],
    tried: int,
) -> tuple[Cause, set[Key]]:
    """The cause: the first alternative, its aliases (the same on every question of every cell) and its rivals."""
    first, luck = fitting[0]
    sames = {steps: tuple(item.same for rung in group if (item := rung.at(steps)) is not None) for steps, _ in fitting}
    labels = {steps: " and ".join(step.label for step in steps) for steps, _ in fitting}
    cause = Cause(
        alternative=labels[first],
        aliases=[labels[steps] for steps, _ in fitting[1:] if sames[steps] == sames[first]],
        rivals=[labels[steps] for steps, _ in fitting[1:] if sames[steps] != sames[first]],
        statistic=group[0].item.claim.statistic,
        scope="the column" if scope == "column" else f"{scope} {name}",
        claims=[rung.item.id for rung in group],
        cells=_independent(group),
        held=len(held),
        accident=luck,
        tried=tried,
    )
    return cause, {_key(steps) for steps, _ in fitting}


def _key(steps: tuple[Step, ...]) -> Key:
    return tuple(step.key for step in steps)


def _grouped(rungs: list[_Rung], scope: Scope) -> Mapping[str, list[_Rung]]:
    part: dict[Scope, Callable[[str], str]] = {
        "column": lambda _: "",
        "method": method_of,
        "dataset": dataset_of,
        "setting": setting_of,
        "model": model_of,
    }
    groups: dict[str, list[_Rung]] = defaultdict(list)
    for rung in rungs:
        groups[part[scope](rung.cell)].append(rung)
    return groups


def _independent(rungs: list[_Rung]) -> int:
    """Number of cells, those with the same answers to the same questions counted once."""
    return len({_identity(rung) for rung in rungs})


def _identity(rung: _Rung) -> object:
    base = rung._tries.get(()) if rung.declared is None else rung.declared
    return rung.cell if base is None else base.reading.same


def _changed(release: Release, rung: _Rung, item: _Try) -> list[RecordRef]:
    """The records that the alternative counts otherwise, where it is over right and wrong questions."""
    ours, theirs = rung._tries.get(()), item.reading.right
    if ours is None or ours.reading.right is None or theirs is None or rung.reader is None:
        return []
    rows = np.flatnonzero(ours.reading.right != theirs)[:MAX_ROWS]
    notes = ["now correct." if theirs[row] else "no longer correct." for row in rows]
    reader = rung.reader
    data = reader.counts.data if isinstance(reader, shares.ShareReader) else None
    return [] if data is None else refs_of(release, data, rows, notes)
