"""The number of questions counted otherwise."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from verify.diagnostics.accident import normal_mass
from verify.diagnostics.alternatives.reading import Reading, Step
from verify.diagnostics.alternatives.shares import CellCounts, declared_counting

STATISTICS = ("question_count",)


class QuestionReader:
    """How many questions a cell answers."""

    def __init__(self, counts: CellCounts) -> None:
        self.counts = counts
        here = int(counts.data.present.sum())
        # Nothing is drawn: another run would have lost a few questions more or fewer.
        self.mass = normal_mass(here, max(5.0, 0.005 * here), 0.0, 2.0 * here or 1.0)

    def steps(self) -> list[Step]:
        """Questions that should be there, or have an answer; other sizes that the manifest knows."""
        return [
            Step("row scope", "rows", "recorded", "only records that did not fail"),
            Step("row scope", "rows", "complete", "only questions that every method of the setting answered"),
            Step("denominator", "rows", "expected", "the questions that should be there, with a record or without"),
            Step("denominator", "rows", "readable", "only questions with a readable answer"),
            *(Step("denominator", "over", size, what) for what, size in self.counts.sizes.items()),
        ]

    def read(self, steps: Sequence[Step]) -> Reading | None:
        """As declared, with each step taken."""
        taken = {step.field: step.value for step in steps}
        data = self.counts.data
        if "over" in taken:
            size = Fraction(int(taken["over"] or 0))
            return Reading(size, size, ("size", size))
        rows = data.present
        name = taken.get("rows")
        if name == "recorded":
            rows = self.counts.recorded
        elif name == "expected":
            rows = np.ones(data.n, dtype=np.bool_)
        elif name == "complete":
            if self.counts.complete is None:
                return None
            rows = self.counts.complete
        elif name == "readable":
            credit = self.counts.credit(declared_counting(data, "accuracy", {}))
            if credit is None:
                return None
            rows = credit.readable
        count = Fraction(int(rows.sum()))
        return Reading(count, count, (rows.tobytes(),))
