"""The outcomes of every cell under any counting: computed once, shared by all claims and by the sensitivity table."""

import numpy as np

from verify.diagnostics.alternatives.shares import CellCounts
from verify.release import dataset_of, setting_of
from verify.settings import Study

MOST_SIZES = 12
"""A manifest may name any number of datasets; dividing by the size of each would explain everything."""


class Recounts:
    """Those of all cells of a study."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._cells: dict[str, CellCounts] = {}
        self._complete: dict[str, frozenset[str] | None] = {}

    def of(self, cell: str) -> CellCounts:
        """One cell's."""
        if cell not in self._cells:
            data = self.study.cells[cell]
            kept = self._complete_of(setting_of(cell))
            complete = None if kept is None else np.array([name in kept for name in data.question_ids], dtype=np.bool_)
            self._cells[cell] = CellCounts(data, complete, self._sizes(cell))
        return self._cells[cell]

    def _complete_of(self, setting: str) -> frozenset[str] | None:
        if setting not in self._complete:
            kept = self.study.questions_in(setting, "complete")
            self._complete[setting] = None if isinstance(kept, str) else kept
        return self._complete[setting]

    def _sizes(self, cell: str) -> dict[str, int]:
        """Other numbers of questions that stand in the manifest, the first of equal ones."""
        own = self.study.cells[cell].n
        sizes: dict[int, str] = {}
        for dataset in self.study.manifest.datasets:
            if dataset.subsample is not None and dataset.subsample.size:
                sizes.setdefault(dataset.subsample.size, f"the declared size of {dataset.id}")
        for name, data in self.study.cells.items():
            sizes.setdefault(data.n, f"the questions of {dataset_of(name)}")
        return {what: n for n, what in list(sizes.items())[:MOST_SIZES] if n not in (own, 0)}
