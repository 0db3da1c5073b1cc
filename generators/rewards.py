"""Scores of a reward model, from a file or from a command that the user names; for method `reward_model`."""

import shlex
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from generators.backends.call import BackendError, CallError
from schemas.errors import UsageError
from schemas.reading import Limits, Problem, read_lines
from schemas.record import QuestionId

PATIENCE = 600.0
"""Seconds that a command may take for one score."""


class Rewards(Protocol):
    """Scores texts; the higher, the better."""

    def score(self, question_id: str, question: str, index: int, text: str) -> float:
        """Score of generation `index`. Raises CallError where there is none."""

    def close(self) -> None:
        """Release whatever runs."""


class Score(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a file of scores."""

    cell: str
    question_id: QuestionId
    index: int
    score: float


class FileRewards:
    """Scores that a reward model gave before: JSONL of `{cell, question_id, index, score}`."""

    def __init__(self, path: Path, cell: str) -> None:
        if not path.is_file():
            raise UsageError(f"{path} is not a file; --reward-file names a file of scores.")
        self.path = path
        self.scores: dict[tuple[str, int], float] = {}
        for line in read_lines(path, Score, limits=Limits()):
            if isinstance(line, Problem):
                raise UsageError(f"{path}{f', line {line.number}' if line.number else ''}: {line.message}")
            if line.value.cell == cell:
                self.scores[line.value.question_id, line.value.index] = line.value.score

    def score(self, question_id: str, question: str, index: int, text: str) -> float:
        """The score in the file."""
        del question, text
        try:
            return self.scores[question_id, index]
        except KeyError:
            raise CallError(f"{self.path.name} has no score for generation {index}") from None

    def close(self) -> None:
        """Nothing runs."""


class CommandRewards:
    """A command that reads `{question, text}` as a line of JSON and answers with a line that holds one number.

    `null` says that there is no score. Any other line stops the run: answers would go to the wrong texts after it.
    """

    def __init__(self, command: str) -> None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--reward-command {command!r} cannot be split into words: {error}.") from None
        if not words:
            raise UsageError("--reward-command is empty.")
        self.command = command
        self._turn = threading.Lock()
        try:
            self.process = subprocess.Popen(  # noqa: S603 - the user's own command line, never a release's
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                bufsize=1,
            )
        except OSError as error:
            raise UsageError(f"--reward-command: {words[0]!r} cannot be started: {error.strerror}.") from error

    def score(self, question_id: str, question: str, index: int, text: str) -> float:
        """What the command answers."""
        del question_id
        # Records of one server are worked on at once, and an answer belongs to the text that was sent before it.
        with self._turn:
            answer = self._ask(question, text)
        if not answer:
            raise BackendError(f"--reward-command ended without an answer: {self.command}")
        try:
            score = msgspec.json.decode(answer, type=float | None)
        except msgspec.MsgspecError:
            raise BackendError(
                f"--reward-command answered {answer.strip()[:60]!r}, which is no number; it has to print one line a "
                f"text, and nothing else: {self.command}"
            ) from None
        if score is None:
            raise CallError(f"the reward command has no score for generation {index}")
        return score

    def _ask(self, question: str, text: str) -> str:
        """The line that comes back; empty where the command ended."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101, PT018 - both are pipes
        watchdog = threading.Timer(PATIENCE, self.process.kill)
        watchdog.start()
        try:
            stdin.write(msgspec.json.encode({"question": question, "text": text}).decode() + "\n")
            stdin.flush()
            return stdout.readline()
        except OSError:
            return ""
        finally:
            watchdog.cancel()

    def close(self) -> None:
        """End the command."""
        if self.process.stdin is not None:
            with suppress(OSError):  # it may be gone, with a line unread
                self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
