"""What every check may look at, and findings about one cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.consistency import Consistency, Place, Standing
from verify.consistency.evaluate import Budget, Context, Level, Restriction
from verify.consistency.functions import FUNCTIONS
from verify.consistency.grid import Cell, Grid


@dataclass(frozen=True)
class Paper:
    """What every check may look at."""

    name: str
    grids: Mapping[str, Grid]
    said: Mapping[str, Sequence[Cell]]
    budget: Budget

    def context(self, level: Level, scope: Sequence[Restriction] = ()) -> Context:
        """A fresh context at one level, over the rows of a scope."""
        return Context(FUNCTIONS, self.grids, self.said, level, self.budget, scope)


def place(cell: Cell) -> Place:
    """The place of a cell."""
    return Place(id=cell.id, text=cell.text, source=cell.source)


def result(check: str, cell: Cell, standing: Standing, message: str, **fields: object) -> Consistency:
    """A finding about one cell."""
    return Consistency(
        id=f"{check}:{cell.id}",
        check=check,
        subject=cell.id,
        standing=standing,
        message=message,
        **{"places": [place(cell)], **fields},  # type: ignore[arg-type]
    )


def because(level: Level, cells: Mapping[str, Cell]) -> tuple[Standing, str | None]:
    """The standing of a failure at a level, and the condition that it rests on."""
    if level != "assumed":
        return "contradiction", None
    sets = {cell.set.id: cell.set for cell in cells.values() if cell.set is not None and cell.set.basis == "assumed"}
    words = [f"n = {item.n} for {name}, which is assumed" for name, item in sets.items() if item.n is not None]
    return "conditional", "; ".join(words) or "an assumed number of questions"
