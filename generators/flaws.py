"""Known flaws, each planted alone into a copy of an intact release; the copies are named after them.

Every flaw is something that a real release has had or could have: SMRL's own two failures (A.4, A.5) among them.
Checksums are rewritten afterwards, as an author who did not notice would have done, except by `tampered-byte`.
"""

import random
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from generators.planted import Plan, plant
from generators.printing import percent, signed_points, thousands
from generators.toml import claims_toml
from schemas import layout
from schemas.claims import Claims
from schemas.manifest import Cell, Manifest
from schemas.reading import Limits, Line, convert, decode, read_lines
from schemas.record import Generation, GenerationClaim, Question, Record, RecordClaim
from schemas.writing import write_json, write_lines, write_sums, write_text

SETTING = "planted-small/sums"
FIXTURE_SEED = 7
Records = list[Record]
T = TypeVar("T")


@dataclass(frozen=True)
class Draft:
    """A release that is being edited."""

    root: Path

    def shard(self, cell: str) -> Path:
        """The only shard of a cell."""
        (path,) = (self.root / layout.GENERATIONS / cell).iterdir()
        return path

    def records(self, cell: str) -> Records:
        """All records of a cell."""
        return _values(self.shard(cell), Record)

    def edit_records(self, cell: str, edit: Callable[[Records], Records]) -> None:
        """Replace the records of a cell."""
        write_lines(self.shard(cell), edit(self.records(cell)))

    def edit_one(self, cell: str, row: int, edit: Callable[[Record], Record]) -> None:
        """Replace one record of a cell."""
        self.edit_records(
            cell, lambda records: [edit(record) if i == row else record for i, record in enumerate(records)]
        )

    def edit_claims(self, edit: Callable[[str, str, str], str], table: str = "results") -> None:
        """Replace printed values: `edit(cell id, statistic, value)` gives the new one."""
        path = self.root / "claims.toml"
        claims = convert(tomllib.loads(path.read_text(encoding="utf-8")), Claims)
        tables = []
        for old in claims.tables:
            method = (old.where or {}).get("method")
            rows = [
                [
                    value
                    if column.statistic is None or old.id != table
                    else edit("/".join(row[:3] if method is None else [*row[:2], method]), column.statistic, value)
                    for column, value in zip(old.columns, row, strict=True)
                ]
                for row in old.rows
            ]
            tables.append(replace(old, rows=rows))
        write_text(path, claims_toml(replace(claims, tables=tables)))

    def edit_cell(self, cell: str, edit: Callable[[Cell], Cell]) -> None:
        """Replace what the manifest says of a cell."""
        path = self.root / layout.MANIFEST
        manifest = decode(path.read_bytes(), Manifest)
        cells = [edit(old) if old.id == cell else old for old in manifest.cells]
        write_json(path, replace(manifest, cells=cells))

    def edit_gold(self, dataset: str, row: int, gold: str) -> None:
        """Replace one gold answer."""
        path = layout.questions_path(self.root, dataset)
        items = _values(path, Question)
        write_lines(path, [replace(item, gold=gold) if i == row else item for i, item in enumerate(items)])


def duplicate_record(draft: Draft) -> None:
    """One record stands twice."""
    draft.edit_records(f"{SETTING}/debate", lambda records: [*records, records[3]])


def missing_question(draft: Draft) -> None:
    """One record is gone."""
    draft.edit_records(f"{SETTING}/debate", lambda records: records[:5] + records[6:])


def tokens_do_not_sum(draft: Draft) -> None:
    """The record's total is seven more than its calls."""

    def edit(record: Record) -> Record:
        claimed = _claim(record)
        return replace(record, claimed=replace(claimed, completion_tokens=(claimed.completion_tokens or 0) + 7))

    draft.edit_one(f"{SETTING}/self_refine", 2, edit)


def flipped_grade(draft: Draft) -> None:
    """The runner's flag of one record says the contrary."""

    def edit(record: Record) -> Record:
        claimed = _claim(record)
        return replace(record, claimed=replace(claimed, correct=not claimed.correct))

    draft.edit_one(f"{SETTING}/chain_of_thought", 4, edit)


def judge_scored_as_majority(draft: Draft) -> None:
    """SMRL A.5: best-of-N's accuracy is printed from the majority of its candidates, in every setting."""
    for dataset in ("sums", "fractions"):
        cell = f"planted-small/{dataset}/best_of_n"
        right = sum(_majority_right(record) for record in draft.records(cell))
        _print(draft, cell, "accuracy", percent(Fraction(right, len(draft.records(cell)))))


def survivors_only(draft: Draft) -> None:
    """SMRL A.4: the longest best-of-N records are lost, and the numbers are those of the rest."""
    cell = f"{SETTING}/best_of_n"
    longest = sorted(draft.records(cell), key=_tokens)[-5:]
    draft.edit_records(cell, lambda records: [record for record in records if record not in longest])
    _reprint(draft, cell)


def unparsed_dropped(draft: Draft) -> None:
    """Answers that nobody could read are left out of the denominator."""
    cell = f"{SETTING}/plan_and_solve"
    records = draft.records(cell)
    readable = [record for record in records if _claim(record).answer is not None]
    _print(draft, cell, "accuracy", percent(Fraction(sum(map(_right, records)), len(readable))))


def wrong_gold(draft: Draft) -> None:
    """One gold answer is another number than the one that was graded against."""
    draft.edit_gold("sums", 1, "1000003")


def damaged_gold(draft: Draft) -> None:
    """One gold answer is a missing value written as text."""
    draft.edit_gold("sums", 1, "None")


def cap_contradicted(draft: Draft) -> None:
    """The manifest declares a token cap that the records exceed."""
    draft.edit_cell(f"{SETTING}/chain_of_thought", lambda cell: replace(cell, token_cap=100))


def truncated_file(draft: Draft) -> None:
    """A compressed file ends in its middle."""
    path = draft.shard(f"{SETTING}/plan_and_solve")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def tampered_byte(draft: Draft) -> None:
    """One letter of one generation is another; SHA256SUMS is the old one."""
    path = draft.shard(f"{SETTING}/chain_of_thought")
    path.write_bytes(path.read_bytes().replace(b"The parts", b"The pans ", 1))


def claim_off_by_one(draft: Draft) -> None:
    """A printed accuracy is one question higher."""
    cell = f"{SETTING}/chain_of_thought"
    records = draft.records(cell)
    _print(draft, cell, "accuracy", percent(Fraction(sum(map(_right, records)) + 1, len(records))))


def claim_at_wrong_precision(draft: Draft) -> None:
    """A printed accuracy has a digit more than was computed: 66.7 became 66.70."""
    cell = f"{SETTING}/chain_of_thought"
    draft.edit_claims(lambda at, what, value: f"{value}0" if (at, what) == (cell, "accuracy") else value)


def unexpected_cell(draft: Draft) -> None:
    """A folder of generations belongs to no declared cell."""
    source = draft.root / layout.GENERATIONS / SETTING
    shutil.copytree(source / "chain_of_thought", source / "tree_of_thoughts")


def wrong_selection(draft: Draft) -> None:
    """The runner recorded another choice than the one that the select text names."""

    def edit(record: Record) -> Record:
        claimed = _claim(record)
        return replace(record, claimed=replace(claimed, selected=((claimed.selected or 0) + 1) % 8))

    draft.edit_one(f"{SETTING}/best_of_n", 0, edit)


def bad_line(draft: Draft) -> None:
    """One line is not JSON."""
    path = draft.shard(f"{SETTING}/chain_of_thought")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:40] + b"\n"
    path.write_bytes(b"".join(lines))


def missing_call(draft: Draft) -> None:
    """One debate turn is gone, and its tokens with it."""
    draft.edit_one(
        f"{SETTING}/debate",
        1,
        lambda record: replace(record, generations=[g for g in record.generations if g.index != 4]),
    )


def counter_reset(draft: Draft) -> None:
    """The run stopped in the middle and was resumed: positions in the benchmark begin again at 0."""
    draft.edit_records(
        f"{SETTING}/debate",
        lambda records: [replace(record, question_index=i % (len(records) // 2)) for i, record in enumerate(records)],
    )


def context_exceeded(draft: Draft) -> None:
    """SMRL A.4: of 300 best-of-N requests the 151 with the longest candidates failed and were left out (here so many
    of each 300)."""
    cells = [f"planted-small/{dataset}/best_of_n" for dataset in ("sums", "fractions")]
    totals = sorted(_tokens(record) for cell in cells for record in draft.records(cell))
    limit = totals[-(len(totals) * 151 // 300)]
    for cell in cells:
        draft.edit_records(cell, lambda records: [record for record in records if _tokens(record) < limit])
        _reprint(draft, cell)


def capped_arm(draft: Draft) -> None:
    """One method ran with a cap of 1,024 tokens that the others did not have: its longer answers break off."""
    cell = f"{SETTING}/chain_of_thought"

    def edit(record: Record) -> Record:
        (answer,) = record.generations
        if (answer.completion_tokens or 0) <= ARM_CAP:
            return record
        cut = replace(
            answer,
            completion_tokens=ARM_CAP,
            finish_reason="length",
            text="Take it step by step. First collect what is",
            claimed=GenerationClaim(correct=False),
        )
        prompt = None if record.claimed is None else record.claimed.prompt_tokens
        claimed = RecordClaim(correct=False, completion_tokens=ARM_CAP, prompt_tokens=prompt)
        return replace(record, generations=[cut], claimed=claimed)

    draft.edit_records(cell, lambda records: [edit(record) for record in records])
    draft.edit_cell(cell, lambda old: replace(old, token_cap=ARM_CAP))
    _reprint(draft, cell)


def oracle_stopping(draft: Draft) -> None:
    """Reflexion goes on until its answer is right, as only somebody with the gold can."""

    def edit(record: Record) -> Record:
        turns: list[Generation] = []
        for generation in record.generations:
            if generation.role == "reflect":
                if turns[-1].claimed is not None and turns[-1].claimed.correct:
                    break
                wrong = replace(generation, role="judge", text="INCORRECT. A step is off.")
                turns.append(wrong)
            turns.append(generation)
        turns = [replace(generation, index=i) for i, generation in enumerate(turns)]
        return replace(record, cell=cell, generations=turns, claimed=_final(turns))

    cell = f"{SETTING}/reflexion"
    forced = draft.records(f"{SETTING}/reflexion_forced")
    draft.edit_records(cell, lambda _: [edit(record) for record in forced])
    draft.edit_cell(cell, lambda old: replace(old, calls=None))
    _reprint(draft, cell)


def never_fires(draft: Draft) -> None:
    """SMRL 6.2: Reflexion's judge is content with every first answer, which is that of chain of thought."""

    def edit(record: Record) -> Record:
        (answer,) = record.generations
        content = Generation(
            role="judge", index=1, round=1, completion_tokens=5, prompt_tokens=90, text="CORRECT. It adds up."
        )
        turns = [answer, content]
        return replace(record, cell=cell, generations=turns, claimed=_final(turns))

    cell = f"{SETTING}/reflexion"
    greedy = draft.records(f"{SETTING}/chain_of_thought")
    draft.edit_records(cell, lambda _: [edit(record) for record in greedy])
    _reprint(draft, cell)


ARM_CAP = 1024

FLAWS: dict[str, Callable[[Draft], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        duplicate_record,
        missing_question,
        tokens_do_not_sum,
        flipped_grade,
        judge_scored_as_majority,
        survivors_only,
        unparsed_dropped,
        wrong_gold,
        damaged_gold,
        cap_contradicted,
        truncated_file,
        tampered_byte,
        claim_off_by_one,
        claim_at_wrong_precision,
        unexpected_cell,
        wrong_selection,
        bad_line,
        missing_call,
        counter_reset,
    )
}
LARGE_FLAWS: dict[str, Callable[[Draft], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (context_exceeded, capped_arm, oracle_stopping, never_fires)
}
"""Flaws that only a release of real size can show: they have no fixture, and are planted where they are needed."""


def make_flawed(intact: Path, target: Path, flaw: str) -> None:
    """Copy a planted release to `target` and plant one flaw of `FLAWS` or `LARGE_FLAWS` in the copy."""
    shutil.copytree(intact, target)
    (FLAWS | LARGE_FLAWS)[flaw](Draft(target))
    if flaw != "tampered-byte":
        write_sums(target)


def write_fixtures(folder: Path) -> None:
    """`intact` and every flawed sibling below `folder`, replacing what is there."""
    for name in ("intact", *FLAWS):
        shutil.rmtree(folder / name, ignore_errors=True)
    plant(folder / "intact", Plan(), rng=random.Random(FIXTURE_SEED))  # noqa: S311 - not for secrets
    for flaw in FLAWS:
        make_flawed(folder / "intact", folder / flaw, flaw)


def _print(draft: Draft, cell: str, statistic: str, text: str) -> None:
    draft.edit_claims(lambda at, what, value: text if (at, what) == (cell, statistic) else value)


def _reprint(draft: Draft, cell: str) -> None:
    """Print the numbers of a cell as its author would from the records that are there, by the runner's own flags."""
    records = draft.records(cell)
    n = len(records)
    outcome, majority = (Fraction(sum(map(right, records)), n) for right in (_right, _majority_right))
    printed = {
        "accuracy": percent(outcome),
        "mean_completion_tokens": thousands(Fraction(sum(map(_tokens, records)), n)),
        "majority_at_k": percent(majority),
        "judge_minus_majority": signed_points(outcome - majority),
    }
    for table in ("results", "judge"):
        draft.edit_claims(lambda at, statistic, value: printed[statistic] if at == cell else value, table)


def _final(turns: list[Generation]) -> RecordClaim:
    """What a runner writes of a record that ends with its last answer."""
    answer = [g.claimed for g in turns if g.claimed is not None][-1]
    return RecordClaim(
        answer=answer.answer,
        correct=answer.correct,
        completion_tokens=sum(g.completion_tokens or 0 for g in turns),
        prompt_tokens=sum(g.prompt_tokens or 0 for g in turns),
    )


def _right(record: Record) -> bool:
    return _claim(record).correct is True


def _tokens(record: Record) -> int:
    return sum(generation.completion_tokens or 0 for generation in record.generations)


def _majority_right(record: Record) -> bool:
    """Whether the first-seen plurality of the planted answers is right, by the planter's own flags."""
    flags: dict[str, bool] = {}
    votes: dict[str, int] = {}
    for generation in record.generations:
        claimed = generation.claimed
        if claimed is not None and claimed.answer is not None:
            votes[claimed.answer] = votes.get(claimed.answer, 0) + 1
            flags[claimed.answer] = claimed.correct is True
    return bool(votes) and flags[max(votes, key=lambda answer: votes[answer])]


def _values(path: Path, kind: type[T]) -> list[T]:
    return [line.value for line in read_lines(path, kind, limits=Limits()) if isinstance(line, Line)]


def _claim(record: Record) -> RecordClaim:
    return record.claimed or RecordClaim()
