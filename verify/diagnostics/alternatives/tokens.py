"""Mean tokens counted otherwise: other calls, other rows, another mean."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from verify.cells import IntArray
from verify.claims import BoundClaim
from verify.diagnostics.accident import normal_mass
from verify.diagnostics.alternatives.reading import Reading, Step
from verify.diagnostics.alternatives.shares import CellCounts, Counting, declared_counting
from verify.partial import NONE

STATISTICS = {
    "mean_completion_tokens": "completion",
    "mean_prompt_tokens": "prompt",
    "mean_total_tokens": "total",
}
COUNTS = {
    "completion": "tokens generated",
    "total": "tokens read and generated",
    "prompt": "tokens read",
    "answers": "tokens of the calls that state an answer, without critiques, judgements and selections",
    "last-call": "tokens of the last call of each record (a counter that was reset)",
    "first": "tokens of the first answer of each record",
    "last-round": "tokens of the answers of the last round",
    "latency": "tokens on the longest chain of calls",
    "claimed": "the runner's own totals",
}


class TokenReader:
    """A mean of tokens over questions."""

    def __init__(self, counts: CellCounts, claim: BoundClaim) -> None:
        self.counts = counts
        self.declared = STATISTICS[claim.statistic]
        self._counting: Counting = declared_counting(counts.data, "accuracy", {})
        spent = self._column(self.declared)
        known = spent[spent != NONE]
        mean = float(known.mean()) if len(known) else 0.0
        error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else mean
        self.mass = normal_mass(mean, error, 0.0, 2 * mean or 1.0)

    def steps(self) -> list[Step]:
        """Every other count, row scope and mean."""
        found = [
            Step("row scope", "rows", "recorded", "only questions with a record"),
            Step("row scope", "rows", "complete", "only questions that every method of the setting answered"),
            Step("row scope", "rows", "right", "only questions answered right"),
            Step("denominator", "rows", "readable", "only questions with a readable answer"),
        ]
        if self.counts.data.capped.any():
            found.insert(2, Step("row scope", "rows", "uncut", "only questions whose answers ended before the cap"))
        found += [
            Step("denominator", "over", size, f"the sum over {size:,}, {what}, in place of {self.counts.data.n:,}")
            for what, size in self.counts.sizes.items()
        ]
        found += [
            Step("cost unit", "what", what, f"{label} in place of {COUNTS[self.declared]}")
            for what, label in COUNTS.items()
            if what != self.declared
        ]
        found.append(Step("statistic", "mean", "per call", "the mean per call in place of per question"))
        found.append(Step("statistic", "mean", "median", "the median in place of the mean"))
        return found

    def read(self, steps: Sequence[Step]) -> Reading | None:
        """As declared, with each step taken; over the questions whose tokens are counted."""
        taken = {step.field: step.value for step in steps}
        column = self._column(str(taken.get("what", self.declared)))
        rows = self._rows(str(taken.get("rows", "all")))
        if rows is None:
            return None
        rows = rows & (column != NONE)
        n, total = int(rows.sum()), int(column[rows].sum())
        kind, over = taken.get("mean"), taken.get("over", n)
        if n == 0 or not over:
            return None
        if kind == "per call":
            over = int(self.counts.data.calls[rows].sum())
        value = Fraction(float(np.median(column[rows]))) if kind == "median" else Fraction(total, int(over) or 1)
        every = int((self._column(self.declared) != NONE).sum())
        scope = "" if n in (every, self.counts.data.n) else f"over {n:,} of {self.counts.data.n:,} questions"
        same = (np.where(rows, column, NONE).tobytes(), kind, None if kind == "median" else over)
        return Reading(value, value, same, scope)

    def _rows(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
        counts = self.counts
        if name == "recorded":
            return counts.recorded
        if name == "complete":
            return counts.complete
        if name == "uncut":
            return counts.uncut
        if name == "all":
            return np.ones(counts.data.n, dtype=np.bool_)
        credit = counts.credit(self._counting)
        if credit is None:
            return None
        return credit.low > 0 if name == "right" else credit.readable

    def _column(self, what: str) -> IntArray:
        data = self.counts.data
        if what == "total":
            both = (data.completion_tokens != NONE) & (data.prompt_tokens != NONE)
            return np.where(both, data.completion_tokens + data.prompt_tokens, NONE)
        columns = {
            "completion": data.completion_tokens,
            "prompt": data.prompt_tokens,
            "latency": data.latency,
            "last-call": data.last_call,
            "claimed": data.claimed_tokens,
        }
        if what in columns:
            return columns[what]
        owner, tokens = data.owner, data.answers.tokens.astype(np.int64)
        kept = np.ones(len(owner), dtype=np.bool_)
        if what == "first":
            kept = np.arange(len(owner)) == data.offsets[:-1][owner]
        elif what == "last-round":
            last = np.full(data.n, -1, dtype=np.int64)
            np.maximum.at(last, owner, data.answers.round)
            kept = data.answers.round == last[owner]
        total = np.bincount(owner[kept], weights=tokens[kept], minlength=data.n).astype(np.int64)
        absent = np.bincount(owner[kept & (tokens == NONE)], minlength=data.n) > 0
        return np.where(absent | (np.diff(data.offsets) == 0), NONE, total)
