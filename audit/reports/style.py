"""How a report is to look; every renderer takes one and uses what concerns it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """`colour`: terminal colours; `verbose`: list also what was confirmed."""

    colour: bool = False
    verbose: bool = False


PLAIN = Style()
