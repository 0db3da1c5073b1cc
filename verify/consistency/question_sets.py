"""Question sets whose size is not stated: which n makes every printed share possible, and which cells stand alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas.claims import QuestionSet
from schemas.consistency import Consistency
from verify.consistency.grid import Cell
from verify.consistency.lattice import fitting
from verify.consistency.paper import place

MAX_WORK = 5_000_000
"""Values times sizes that are tried for one file."""
SHOWN = 8


@dataclass
class Work:
    """What is left of MAX_WORK, over all sets of a file."""

    left: int = MAX_WORK


def pinned(question_set: QuestionSet, cells: Sequence[Cell], work: Work) -> Iterator[Consistency]:
    """Whether some n up to `at_most` makes all shares of a set possible; else which fail at the n that fit most.

    This needs no n: with a true n within the bound, every printed share is possible at it.
    """
    at_most = question_set.at_most
    shares = [cell for cell in cells if cell.kind == "proportion" and cell.printed is not None]
    if at_most is None or not shares:
        return
    values = {(cell.text, cell.scale): cell for cell in shares}
    subject = question_set.id
    work.left -= len(values) * at_most
    if work.left < 0:
        yield Consistency(
            id=f"question-set:{subject}",
            check="question-set",
            subject=subject,
            standing="undecided",
            message=f"{len(values)} different shares and n up to {at_most:,} are too many to try; lower at_most.",
        )
        return
    fits = {key: fitting(cell.printed, at_most, cell.scale) for key, cell in values.items() if cell.printed is not None}
    scores = [sum(fit[n] for fit in fits.values()) for n in range(at_most + 1)]
    best = max(scores[1:])
    sizes = [n for n in range(1, at_most + 1) if scores[n] == best]
    listed = ", ".join(map(str, sizes[:SHOWN])) + (f" and {len(sizes) - SHOWN} more" if len(sizes) > SHOWN else "")
    steps = [f"{len(shares)} shares are printed, {len(values)} of them different", f"n from 1 to {at_most:,} is tried"]
    if best == len(values):
        yield Consistency(
            id=f"question-set:{subject}",
            check="question-set",
            subject=subject,
            standing="consistent",
            message=f"all {len(shares)} shares are possible at n = {listed}.",
            steps=steps,
        )
        return
    steps.append(f"at best {best} of {len(values)} different shares are possible, at n = {listed}")
    odd: dict[int, list[str]] = {n: [text for (text, _), fit in fits.items() if not fit[n]] for n in sizes[:SHOWN]}
    steps += [f"at n = {n} these are impossible: {', '.join(texts)}" for n, texts in odd.items()]
    stated = question_set.basis == "stated"
    # Left out in turn: a value that alone stands against an n that all others allow is the only suspect there.
    alone = {texts[0] for texts in odd.values() if len(texts) == 1}
    first = odd[sizes[0]]
    suspects = [cell for cell in shares if cell.text in (alone or set(first))]
    which = (
        f"without {next(iter(alone))} n would be {listed}"
        if len(alone) == 1
        else f"n = {sizes[0]} fits all but {', '.join(first)}"
    )
    yield Consistency(
        id=f"question-set:{subject}",
        check="question-set",
        subject=subject,
        standing="impossible" if stated else "conditional",
        message=f"no n up to {at_most:,} makes all {len(shares)} printed shares possible; {which}.",
        condition=None if stated else f"n being at most {at_most:,} for {subject}, which is assumed, and one run",
        places=[place(cell) for cell in suspects[:20]],
        steps=steps,
        notes=["means over several runs are no such shares; where these are means, their kind is mean-of-draws"],
    )
