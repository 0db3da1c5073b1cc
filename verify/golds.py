"""Gold answers are data too: damaged ones, and ones that differ from the reader's own copy of the benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from schemas.errors import UsageError
from schemas.reading import Limits, Problem, read_lines
from schemas.report import Finding, RecordRef
from verify.findings import confirmed, counted, refuted, warning
from verify.grades import DatasetGrading
from verify.release import Questions


class BenchmarkItem(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the reader's copy: our own question format, or the public files of GSM8K and MATH."""

    id: str | int | None = None
    question: str | None = None
    problem: str | None = None
    text: str | None = None
    gold: str | None = None
    answer: str | None = None

    @property
    def asked(self) -> str | None:
        """The question's text."""
        return self.text or self.question or self.problem

    @property
    def final(self) -> str | None:
        """The gold alone: GSM8K writes it after `####`, behind the worked solution."""
        if self.gold is not None:
            return self.gold
        return None if self.answer is None else self.answer.rpartition("####")[2].strip()


@dataclass(frozen=True)
class Benchmark:
    """The reader's copy, by question text with spacing levelled, else by id."""

    by_text: Mapping[str, str | None]
    by_id: Mapping[str, str | None]


def read_benchmark(path: Path, *, limits: Limits) -> Benchmark:
    """The reader's own copy of a benchmark, as JSONL.

    Raises UsageError where it cannot be read: the reader gave it, so it is not the release's fault.
    """
    by_text: dict[str, str | None] = {}
    by_id: dict[str, str | None] = {}
    if not path.is_file():
        raise UsageError(f"{path} is not a file; --questions takes the JSONL file of a benchmark.")
    for line in read_lines(path, BenchmarkItem, limits=limits):
        if isinstance(line, Problem):
            where = f"{path}, line {line.number}" if line.number else str(path)
            raise UsageError(f"{where}: {line.message}")
        item = line.value
        if item.final is None or (item.asked is None and item.id is None):
            raise UsageError(
                f"{path}, line {line.number}: a question needs `text`, `question`, `problem` or `id`, "
                "and `gold` or `answer`."
            )
        if item.asked is not None:
            by_text[_level(item.asked)] = item.final
        if item.id is not None:
            by_id[str(item.id)] = item.final
    return Benchmark(by_text, by_id)


def check_golds(questions: Questions, grading: DatasetGrading) -> Finding:
    """Golds that nothing can be graded against."""
    dataset = questions.dataset.id
    if not grading.damaged:
        return confirmed("golds", dataset, f"All {len(questions.items):,} golds of {dataset} can be graded against.")
    refs = [
        RecordRef(question_id=questions.items[row].id, file=f"questions/{dataset}.jsonl", note=f"the gold {reason}.")
        for row, reason in grading.damaged.items()
    ]
    message = f"{counted(len(refs), 'damaged gold')} in {dataset}; answers to them cannot be graded."
    return refuted("golds", dataset, message, records=refs)


def compare_golds(questions: Questions, grading: DatasetGrading, benchmark: Benchmark) -> list[Finding]:
    """The release's golds against the reader's copy; questions are matched by text, without text by id."""
    dataset = questions.dataset.id
    file = f"questions/{dataset}.jsonl"
    differing: list[RecordRef] = []
    absent: list[RecordRef] = []
    same = 0
    for question in questions.items:
        key = None if question.text is None else _level(question.text)
        if key is not None and key in benchmark.by_text:
            theirs = benchmark.by_text[key]
        elif key is None and question.id in benchmark.by_id:
            theirs = benchmark.by_id[question.id]
        else:
            absent.append(RecordRef(question_id=question.id, file=file, note="not in your copy."))
            continue
        if theirs is not None and question.gold is not None and grading.grader.matches(question.gold, theirs):
            same += 1
        else:
            differing.append(
                RecordRef(
                    question_id=question.id,
                    file=file,
                    note=f"gold {question.gold!r}, your copy has {theirs!r}.",
                )
            )
    findings = []
    if differing:
        message = f"{counted(len(differing), 'gold')} of {dataset} unlike your copy."
        findings.append(refuted("golds-compared", dataset, message, records=differing))
    elif same:
        findings.append(confirmed("golds-compared", dataset, f"{same:,} golds of {dataset} equal those of your copy."))
    if absent:
        message = f"{len(absent):,} of {len(questions.items):,} questions of {dataset} are not in your copy."
        findings.append(warning("questions-compared", dataset, message, records=absent))
    return findings


def _level(text: str) -> str:
    return " ".join(text.split())
