"""The map: one shard of generations becomes one `Partial`. Records are read in a stream and forgotten."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from schemas.manifest import Cell
from schemas.reading import Problem, read_lines, unreadable_number
from schemas.record import ANSWER_ROLES, Generation, Record
from schemas.report import RecordRef
from verify.grades import DatasetGrading, grade_answer, judged
from verify.partial import (
    NONE,
    AnswerColumns,
    Finish,
    Grade,
    Partial,
    RecordColumns,
    Tally,
    columns_from_rows,
    merge,
)
from verify.release import Release, Shard, dataset_of, replicate_of

Votes = dict[tuple[str, bool], int]
"""(normal form of an answer, whether it is right) → its vote class in the record."""

MEMO_ENTRIES, MEMO_LENGTH = 100_000, 200
"""Bounds of what a shard remembers of answers that it has graded."""

FLUSH_ROWS = 4096
"""Rows held as Python objects before they become arrays: bounds memory, and is long enough to be fast."""

FINISH: dict[str, Finish] = {
    "unknown": Finish.UNKNOWN,
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "error": Finish.ERROR,
}

ERROR_TEXT = re.compile(
    r"\s{0,8}(?:HTTP(?:/[\d.]{1,4})? [45]\d\d\b|Error code: [45]\d\d\b|Traceback \(most recent call last\)|"
    r"\{\"error\":|(?:Internal Server Error|Bad Gateway|Service Unavailable|Too Many Requests)\s*$)"
)


def read_shard(release: Release, shard: Shard, grading: DatasetGrading) -> Partial:
    """Read, check and grade every record of a shard."""
    cell = release.manifest.cells[shard.cell]
    questions = release.questions[dataset_of(cell.id)]
    reader = _ShardReader(shard, cell, questions.row, [item.index for item in questions.items], grading)
    for line in read_lines(shard.path, Record, limits=release.limits):
        if isinstance(line, Problem):
            reader.fail("records", line.number, None, line.message)
        else:
            reader.read(line.number, line.value)
    return reader.finish()


@dataclass
class _ShardReader:
    shard: Shard
    cell: Cell
    rows: Mapping[str, int]
    positions: Sequence[int | None]
    """By row: position of the question in the benchmark."""
    grading: DatasetGrading
    tallies: dict[tuple[str, int], Tally] = field(default_factory=dict)
    parts: list[Partial] = field(default_factory=list)
    record_rows: list[tuple[object, ...]] = field(default_factory=list)
    answer_rows: list[tuple[object, ...]] = field(default_factory=list)
    memo: dict[tuple[str, str | None], tuple[Grade, int, str]] = field(default_factory=dict)

    claim_memo: dict[str, list[str]] = field(default_factory=dict)

    def tally(self, check: str) -> Tally:
        key = (check, self.shard.cell)
        if key not in self.tallies:
            self.tallies[key] = Tally()
        return self.tallies[key]

    def fail(self, check: str, line: int | None, question: str | None, what: str) -> None:
        self.tally(check).fail(
            RecordRef(cell=self.cell.id, question_id=question, file=self.shard.file, line=line, note=what)
        )

    def check(self, check: str, record: Record, line: int, problem: str | None) -> None:
        if problem is None:
            self.tally(check).ok()
        else:
            self.fail(check, line, record.question_id, problem)

    def finish(self) -> Partial:
        self.flush()
        parts = merge(self.parts)
        return Partial(parts.records, parts.answers, self.tallies)

    def flush(self) -> None:
        records = RecordColumns(**columns_from_rows(RecordColumns, self.record_rows))
        answers = AnswerColumns(**columns_from_rows(AnswerColumns, self.answer_rows))
        self.parts.append(Partial(records, answers, {}))
        self.record_rows, self.answer_rows = [], []

    def read(self, line: int, record: Record) -> None:
        problem = _misplaced(record, self.cell)
        if problem is None and record.question_id not in self.rows:
            problem = "no question of the dataset has this id."
        if problem is None and (bad := unreadable_number(record)):
            problem = f"{bad} is not a finite number; leave it out where there is none."
        if problem is None and len({generation.index for generation in record.generations}) != len(record.generations):
            problem = "two generations have the same index."
        self.check("records", record, line, problem)
        if problem is not None:
            return
        question = self.rows[record.question_id]
        generations = sorted(record.generations, key=lambda generation: generation.index)
        self.check_calls(record, line, generations)
        self.check_tokens(record, line, generations)
        self.check_texts(record, line, generations)
        self.check_position(record, line, self.positions[question])
        answers = [] if record.status == "failed" else [g for g in generations if g.role in ANSWER_ROLES]
        votes = self.grade_answers(record, line, answers, self.grading.golds[question])
        pick, unread = self.pick(record, line, generations, answers)
        claimed = record.claimed
        self.record_rows.append(
            (
                self.shard.cell,
                question,
                self.shard.order,
                line,
                record.status == "failed",
                len(answers),
                _total(g.completion_tokens for g in generations),
                _total(g.prompt_tokens for g in generations),
                _latency(generations),
                pick,
                NONE if claimed is None or claimed.correct is None else claimed.correct,
                NONE if claimed is None or claimed.answer is None else self.vote_of_claim(claimed.answer, votes),
                NONE if claimed is None or claimed.completion_tokens is None else claimed.completion_tokens,
                _total(g.completion_tokens for g in generations[-1:]),
                len(generations),
                sum(self.capped(g) for g in generations),
                unread,
            )
        )
        if len(self.record_rows) >= FLUSH_ROWS:
            self.flush()

    def check_calls(self, record: Record, line: int, generations: list[Generation]) -> None:
        if record.status == "failed":
            self.check("failed-records", record, line, f"failed: {record.error or 'no error is given'}")
            return
        self.tally("failed-records").ok()
        if self.cell.calls is not None:
            made = {role: sum(g.role == role for g in generations) for role in {g.role for g in generations}}
            wrong = [
                f"{made.get(role, 0)} {role}, declared {_range(allowed.min, allowed.max)}"
                for role, allowed in self.cell.calls.items()
                if not allowed.min <= made.get(role, 0) <= allowed.max
            ] + [f"{made[role]} {role}, declared none" for role in sorted(made) if role not in self.cell.calls]
            self.check("call-counts", record, line, "; ".join(wrong) + "." if wrong else None)
        if self.cell.decision_rule == "only":
            count = sum(g.role in ANSWER_ROLES for g in generations)
            problem = f"{count} answer-bearing generations, and decision rule `only` needs one." if count != 1 else None
            self.check("decision-rule", record, line, problem)

    def check_tokens(self, record: Record, line: int, generations: list[Generation]) -> None:
        for kind in ("completion_tokens", "prompt_tokens"):
            claimed = None if record.claimed is None else getattr(record.claimed, kind)
            total = _total(getattr(g, kind) for g in generations)
            if claimed is not None and total != NONE:
                problem = f"{kind}: the generations sum to {total:,}, the record says {claimed:,}."
                self.check("token-totals", record, line, problem if total != claimed else None)
        if self.cell.token_cap is not None:
            over = [
                g for g in generations if g.completion_tokens is not None and g.completion_tokens > self.cell.token_cap
            ]
            counted = any(g.completion_tokens is not None for g in generations)
            if over:
                problem = (
                    f"generation {over[0].index} has {over[0].completion_tokens:,} completion tokens, "
                    f"the declared cap is {self.cell.token_cap:,}."
                )
                self.fail("token-cap", line, record.question_id, problem)
            elif counted:
                self.tally("token-cap").ok()

    def capped(self, generation: Generation) -> bool:
        """Whether a call was cut short by its length."""
        if generation.finish_reason != "unknown" or self.cell.token_cap is None:
            return generation.finish_reason == "length"
        return generation.completion_tokens is not None and generation.completion_tokens >= self.cell.token_cap

    def check_position(self, record: Record, line: int, position: int | None) -> None:
        """A record's own position against the question file's: a counter that restarts gives two questions one."""
        if record.question_index is not None and position is not None:
            what = f"the record says position {record.question_index}, the question file {position}."
            self.check("positions", record, line, None if record.question_index == position else what)

    def check_texts(self, record: Record, line: int, generations: list[Generation]) -> None:
        seen: set[str] = set()
        for generation in generations:
            text = generation.text
            if generation.error is not None:
                problem = f"generation {generation.index} failed: {generation.error[:200]}"
                self.check("failed-calls", record, line, problem)
                continue
            if text is None:
                missing = None if generation.text_sha256 else f"generation {generation.index} has no text and no error."
                self.check("texts", record, line, missing)
                if missing is None:
                    self.fail(
                        "withheld-texts",
                        line,
                        record.question_id,
                        f"generation {generation.index} is withheld.",
                    )
                continue
            digest = generation.text_sha256
            if digest is not None and hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != digest:
                problem = f"generation {generation.index}: text_sha256 is another text's."
                self.fail("texts", line, record.question_id, problem)
            else:
                self.tally("texts").ok()
            if ERROR_TEXT.match(text):
                what = f"generation {generation.index} reads like a server's error."
                self.fail("error-texts", line, record.question_id, what)
            else:
                self.tally("error-texts").ok()
            if generation.role == "sample":
                # Repeats are looked for among samples only: revisions and debate turns may rightly repeat.
                if text in seen:
                    what = f"sample {generation.index} repeats an earlier one."
                    self.fail("repeated-samples", line, record.question_id, what)
                else:
                    self.tally("repeated-samples").ok()
                seen.add(text)

    def grade_answers(self, record: Record, line: int, answers: list[Generation], gold: str | None) -> Votes:
        """Append a row an answer; returns the vote classes seen."""
        grader = self.grading.grader
        votes: Votes = {}
        claimed_votes: dict[str, int] = {}
        for generation in answers:
            grade, vote, leniency, form = Grade.MISSING, NONE, 0, ""
            if generation.error is None and generation.text is None and generation.text_sha256 is not None:
                grade = Grade.UNKNOWN
            elif generation.error is None and generation.text is not None:
                extraction = grader.extract(generation.text)
                if extraction is None:
                    grade = Grade.UNPARSED if gold is not None else Grade.UNKNOWN
                else:
                    grade, leniency, form = self.graded(extraction.answer, gold)
                if self.grading.judge is not None:
                    where = f"{self.shard.file}, line {line}, generation {generation.index}"
                    grade, leniency = judged(self.grading.judge, generation.text, gold, where), 0
                if extraction is not None:
                    # A grader may tell apart what votes together (5 cm and 5 m against a gold of 5 m): a class of
                    # votes is right or wrong as a whole.
                    vote = votes.setdefault((form, grade == Grade.CORRECT), len(votes))
            claim = generation.claimed
            if claim is not None and claim.answer is not None and vote != NONE:
                if form in self.forms_of_claim(claim.answer):
                    self.tally("claimed-answers").ok()
                else:
                    read = claim.answer[:60]
                    what = f"generation {generation.index}: the runner read {read!r}, we read another answer."
                    self.fail("claimed-answers", line, record.question_id, what)
            flag = NONE if claim is None or claim.correct is None else int(claim.correct)
            claimed_vote = (
                NONE
                if claim is None or claim.answer is None
                else claimed_votes.setdefault(claim.answer, len(claimed_votes))
            )
            self.answer_rows.append(
                (
                    grade,
                    vote,
                    generation.round,
                    NONE if generation.completion_tokens is None else generation.completion_tokens,
                    NONE if generation.prompt_tokens is None else generation.prompt_tokens,
                    float("nan") if generation.score is None else generation.score,
                    leniency,
                    flag,
                    claimed_vote,
                    generation.agent,
                    FINISH[generation.finish_reason],
                    _fingerprint(generation),
                )
            )
            if flag != NONE and grade in (Grade.CORRECT, Grade.INCORRECT, Grade.UNPARSED):
                if flag == (grade == Grade.CORRECT):
                    self.tally("claimed-grades").ok()
                else:
                    ours = grade.name.lower()
                    what = f"generation {generation.index}: the runner says {_word(bool(flag))}, we say {ours}."
                    self.fail("claimed-grades", line, record.question_id, what)
        return votes

    def graded(self, answer: str, gold: str | None) -> tuple[Grade, int, str]:
        """Grade, leniency bits and vote key of an answer; samples repeat each other's answers, so they are kept."""
        found = self.memo.get((answer, gold))
        if found is None:
            found = (*grade_answer(self.grading, answer, gold), self.grading.grader.normal_form(answer))
            if len(self.memo) < MEMO_ENTRIES and len(answer) <= MEMO_LENGTH:
                self.memo[answer, gold] = found
        return found

    def forms_of_claim(self, answer: str) -> list[str]:
        """Normal forms of the runner's answer: as the bare value, and as the sentence that states it."""
        forms = self.claim_memo.get(answer)
        if forms is None:
            grader = self.grading.grader
            extraction = grader.extract(answer)
            forms = [grader.normal_form(answer)]
            if extraction is not None:
                forms.append(grader.normal_form(extraction.answer))
            if len(self.claim_memo) < MEMO_ENTRIES and len(answer) <= MEMO_LENGTH:
                self.claim_memo[answer] = forms
        return forms

    def vote_of_claim(self, answer: str, votes: Votes) -> int:
        """Vote class of the runner's answer: one of ours, or a new one."""
        keys = [(form, right) for form in self.forms_of_claim(answer) for right in (True, False)]
        return next((votes[key] for key in keys if key in votes), len(votes))

    def pick(
        self, record: Record, line: int, generations: list[Generation], answers: list[Generation]
    ) -> tuple[int, bool]:
        """Position among `answers` of the selected one, by the declared source, NONE where it cannot be read; and
        whether there is a select text that names no candidate."""
        if self.cell.decision_rule != "selected" or not answers:
            return NONE, False
        selection = self.cell.selection
        source = "text" if selection is None else selection.source
        claimed = None if record.claimed is None else record.claimed.selected
        claimed_pick = next((i for i, g in enumerate(answers) if g.index == claimed), NONE)
        if source == "claimed":
            return claimed_pick, False
        texts = [g.text for g in generations if g.role == "select" and g.text is not None and g.error is None]
        pick = read_choice(
            texts[-1] if texts else "",
            marker="BEST=" if selection is None else selection.marker,
            base=1 if selection is None else selection.base,
            candidates=len(answers),
        )
        unread = pick == NONE and bool(texts)
        if pick == NONE and selection is not None and selection.fallback == "first":
            pick = 0
        if claimed is not None and texts:
            problem = None
            if pick != claimed_pick:
                ours = "names no candidate" if pick == NONE else f"names generation {answers[pick].index}"
                problem = f"the runner selected generation {claimed}, the select text {ours}."
            self.check("claimed-selection", record, line, problem)
        return pick, unread


def read_choice(text: str, *, marker: str, base: int, candidates: int) -> int:
    """Position (from 0) of the candidate that a select text names after its last readable `marker`.

    The number may stand in <>, [], () or **; a number that no candidate has is no choice. NONE where there is none.
    """
    # Every repetition is bounded: an unbounded one would make a hostile text quadratic.
    pattern = re.compile(re.escape(marker) + r"\s{0,8}[<\[(*]{0,4}\s{0,8}(\d{1,6})(?!\d)", re.IGNORECASE | re.ASCII)
    found = pattern.findall(text)
    position = int(found[-1]) - base if found else NONE
    return position if 0 <= position < candidates else NONE


def _fingerprint(generation: Generation) -> int:
    """Eight bytes of the SHA-256 of the text, also of a withheld one; 0 where there is neither."""
    if generation.error is not None:
        return 0
    if generation.text is not None:
        digest = hashlib.sha256(generation.text.encode("utf-8", "surrogatepass")).digest()
    elif generation.text_sha256 is not None:
        digest = bytes.fromhex(generation.text_sha256)
    else:
        return 0
    return int.from_bytes(digest[:8], "little", signed=True)


def _misplaced(record: Record, cell: Cell) -> str | None:
    if record.cell != cell.id:
        return f"the record is of cell {record.cell!r}, the folder of {cell.id!r}."
    if record.replicate != replicate_of(cell.id):
        return f"replicate is {record.replicate}, the cell's is {replicate_of(cell.id)}."
    return None


def _total(counts: Iterable[int | None]) -> int:
    """The sum, or NONE where a count is missing or there is none: a partial sum would pass for a total."""
    total = NONE
    for count in counts:
        if count is None:
            return NONE
        total = count if total == NONE else total + count
    return total


def _latency(generations: list[Generation]) -> int:
    """Completion tokens of the longest call of each round, summed: calls of one round run side by side."""
    longest: dict[int, int] = {}
    for generation in generations:
        if generation.completion_tokens is None:
            return NONE
        longest[generation.round] = max(longest.get(generation.round, 0), generation.completion_tokens)
    return sum(longest.values()) if longest else NONE


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _word(correct: bool) -> str:
    return "correct" if correct else "incorrect"
