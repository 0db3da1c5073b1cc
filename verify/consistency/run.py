"""The whole flow of `audit claims` on one screen."""

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec

from schemas.claims import Claims
from schemas.consistency import Consistency, ConsistencyCounts, ConsistencyReport, Standing
from schemas.errors import ClaimsError
from schemas.reading import Limits
from verify.claims import read_claims
from verify.consistency.columns import ends_and_p, formulas
from verify.consistency.evaluate import Budget
from verify.consistency.granularity import granularity
from verify.consistency.grid import Cell, Grid, read_grids
from verify.consistency.pairs import paired
from verify.consistency.paper import Paper
from verify.consistency.question_sets import Work, pinned
from verify.consistency.sentences import Sentence, read_scopes, read_sentences, sentences_of

SMALL_FILE_BYTES = 8 * 2**20
"""Largest claims file that is reasoned about."""
MAX_PAIRED = 200
REFUTED: tuple[Standing, ...] = ("impossible", "contradiction")
SHOWS_NEAREST = 2
ORDER: tuple[Standing, ...] = ("impossible", "contradiction", "conditional", "undecided", "consistent")


def check_file(path: Path) -> ConsistencyReport:
    """Everything that a claims file's numbers say of each other.

    Raises ClaimsError where the file cannot be read, naming file, table or statement, and what to do.
    """
    return check_claims(read_claims(path, limits=Limits(small_file_bytes=SMALL_FILE_BYTES)), name=path.name)


def check_claims(claims: Claims, *, name: str = "claims") -> ConsistencyReport:
    """The same of claims already read; `name` is what messages call the file."""
    findings = _findings(claims, name)
    if claims.rounding == "nearest" and any(finding.standing in REFUTED for finding in findings):
        # A claims file seldom knows how its source rounds. What cutting digits off would explain is refuted only
        # where other values of the same source show that it does not cut.
        cut = _findings(msgspec.structs.replace(claims, rounding="down"), name)
        findings = weigh_rounding(findings, cut)
    findings = findings or [_nothing(name)]
    findings.sort(key=lambda finding: ORDER.index(finding.standing))
    counts = {standing: sum(finding.standing == standing for finding in findings) for standing in ORDER}
    return ConsistencyReport(
        format_version="1.0",
        tool_version=version("generation-audit"),
        source=claims.source or name,
        verdict=_verdict(counts),
        counts=ConsistencyCounts(**counts),
        findings=findings,
    )


def _nothing(name: str) -> Consistency:
    return Consistency(
        id=f"file:{name}",
        check="file",
        subject=name,
        standing="undecided",
        message=(
            "nothing here can be checked without generations; give columns a kind, sets and formulas, "
            "or add statements."
        ),
    )


def weigh_rounding(nearest: Sequence[Consistency], cut: Sequence[Consistency]) -> list[Consistency]:
    """Findings under rounding to nearest, made conditional on it where cutting digits explains them as well.

    They stay as they are where at least `SHOWS_NEAREST` checks hold to nearest and not under cutting: then the
    source is seen to round to nearest. For an entry of a table only checks of the same table count, as tables may come
    from different programs.
    """
    others = {finding.id: finding for finding in cut}
    shows: Counter[str] = Counter()
    for finding in nearest:
        if finding.standing == "consistent" and others.get(finding.id, finding).standing in REFUTED:
            shows[_table_of(finding)] += 1
    return [
        msgspec.structs.replace(
            finding,
            standing="conditional",
            condition="the source rounding to nearest; if it cuts digits off, this is right",
        )
        if finding.standing in REFUTED
        and others.get(finding.id, finding).standing == "consistent"
        and (shows[table] if (table := _table_of(finding)) else shows.total()) < SHOWS_NEAREST
        else finding
        for finding in nearest
    ]


def _table_of(finding: Consistency) -> str:
    """The table whose entry a finding is about; "" for sentences, which come from all over the source."""
    return finding.subject.rsplit("/r", 1)[0] if "/r" in finding.subject else ""


def _findings(claims: Claims, name: str) -> list[Consistency]:
    grids = read_grids(claims, name)
    if len(claims.paired) > MAX_PAIRED:
        raise ClaimsError(f"{name}: more than {MAX_PAIRED} paired comparisons; split the file.")
    sentences = read_sentences(claims, name)
    rules = read_scopes(claims, list(grids.values()), name)
    paper = Paper(name, grids, {item.statement.id: item.cells for item in sentences}, Budget())
    findings = [
        *_tables(grids, paper),
        *_sets(claims, grids, sentences),
        *sentences_of(sentences, claims, rules, paper),
        *[paired(item, {one.id: one for one in claims.sets}, claims.rounding, name) for item in claims.paired],
    ]
    if repeated := _repeated(findings):
        raise ClaimsError(f"{name}: the id {repeated!r} is used twice; ids must be unique in the file.")
    return findings


def _verdict(counts: dict[Standing, int]) -> Literal["refuted", "open", "consistent"]:
    if counts["impossible"] or counts["contradiction"]:
        return "refuted"
    return "open" if counts["conditional"] or counts["undecided"] else "consistent"


def _tables(grids: dict[str, Grid], paper: Paper) -> Iterator[Consistency]:
    for grid in grids.values():
        for row in grid.rows:
            for cell in row.values():
                if (found := granularity(cell)) is not None:
                    yield found
        yield from formulas(grid, paper)
        yield from ends_and_p(grid)


def _sets(claims: Claims, grids: dict[str, Grid], sentences: Sequence[Sentence]) -> Iterator[Consistency]:
    cells: list[Cell] = [cell for grid in grids.values() for row in grid.rows for cell in row.values()]
    cells += [cell for sentence in sentences for cell in sentence.cells]
    by_set: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.set is not None:
            by_set.setdefault(cell.set.id, []).append(cell)
    work = Work()
    for question_set in claims.sets:
        yield from pinned(question_set, by_set.get(question_set.id, []), work)


def _repeated(findings: Sequence[Consistency]) -> str | None:
    seen: set[str] = set()
    for finding in findings:
        if finding.id in seen:
            return finding.subject
        seen.add(finding.id)
    return None
