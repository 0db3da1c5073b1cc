"""Making one record: whatever a process needs for it, and nothing else. No gold answer is loaded here."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from generators.backends.call import Backend, CallError
from generators.backends.opening import open_backend
from generators.methods import method_called
from generators.prompts import Prompts
from generators.recorder import Recorder, Settings
from generators.rewards import CommandRewards, FileRewards, Rewards
from generators.seeds import record_seed
from schemas import layout
from schemas.errors import UsageError
from schemas.manifest import Cell
from schemas.plan import PlanModel, PlanSampling
from schemas.reading import Limits, Problem, read_lines
from schemas.record import QuestionId, Record, RecordClaim


class Asked(msgspec.Struct, frozen=True):
    """A question as the runner sees it. There is no field for the gold answer, so none can reach a method."""

    id: QuestionId
    text: str | None = None
    index: int | None = None


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """What records are made from; can be sent to another process."""

    root: Path
    cells: Mapping[str, Cell]
    models: Mapping[str, PlanModel]
    prompts: Prompts
    reward_file: Path | None = None
    reward_command: str | None = None


class Worker:
    """Makes records. One model is open at a time."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self._questions: dict[str, dict[str, Asked]] = {}
        self._opened: str | None = None
        self._backend: Backend | None = None
        self._rewards: dict[str, Rewards] = {}
        self._rewards_lock = threading.Lock()

    def backend(self, model: str) -> Backend:
        """The model's backend, opened if it is not."""
        if self._backend is None or self._opened != model:
            if self._backend is not None:
                self._backend.close()
            self._backend, self._opened = open_backend(self.workshop.models[model]), model
        return self._backend

    def make(self, cell_id: str, question_id: str) -> Record:
        """The record of one question in one cell; one whose call failed has status `failed` and says why.

        Raises UsageError or BackendError where no further record can be made either.
        """
        cell = self.workshop.cells[cell_id]
        model, dataset, last = cell_id.split("/")
        name, _, replicate = last.partition("@")
        method = method_called(cell.method or name)
        parameters = {key: value for key, value in (cell.parameters or {}).items() if isinstance(value, int)}
        question = self.question(dataset, question_id)
        seed_name = f"{method.name}@{replicate}" if replicate else method.name
        backend = self.backend(model)
        backend.begin()
        recorder = Recorder(
            backend=backend,
            prompts=self.workshop.prompts,
            settings=cell_settings(cell),
            question=question.text or "",
            seed=record_seed(model, dataset, seed_name, parameters, question.index or 0),
        )
        error = None
        try:
            method.run(recorder, method.with_defaults(parameters))
            if method.scored:
                self._score(recorder, cell_id, question)
        except CallError as failure:
            error = str(failure)
        return _record(cell_id, question, int(replicate or 0), recorder, error)

    def question(self, dataset: str, question_id: str) -> Asked:
        """A question of the release."""
        if dataset not in self._questions:
            self._questions[dataset] = {
                line.value.id: line.value
                for line in read_lines(layout.questions_path(self.workshop.root, dataset), Asked, limits=Limits())
                if not isinstance(line, Problem)
            }
        question = self._questions[dataset].get(question_id)
        if question is None or question.text is None:
            raise UsageError(f"{layout.QUESTIONS}/{dataset}.jsonl: question {question_id!r} is missing or has no text.")
        return question

    def close(self) -> None:
        """Release the model and the reward command."""
        if self._backend is not None:
            self._backend.close()
        for rewards in self._rewards.values():
            rewards.close()

    def _score(self, recorder: Recorder, cell_id: str, question: Asked) -> None:
        with self._rewards_lock:
            rewards = self._reward_source(cell_id)
        for position, generation in enumerate(recorder.generations):
            score = rewards.score(question.id, question.text or "", generation.index, generation.text or "")
            recorder.generations[position] = msgspec.structs.replace(generation, score=score)

    def _reward_source(self, cell_id: str) -> Rewards:
        shop = self.workshop
        key = "" if shop.reward_command is not None else cell_id
        if key not in self._rewards:
            if shop.reward_command is not None:
                self._rewards[key] = CommandRewards(shop.reward_command)
            elif shop.reward_file is not None:
                self._rewards[key] = FileRewards(shop.reward_file, cell_id)
            else:
                raise UsageError(f"cell {cell_id} needs scores; name --reward-command or --reward-file.")
        return self._rewards[key]


def cell_settings(cell: Cell) -> Settings:
    """What the manifest says of a cell's calls. Raises UsageError where it leaves something out."""
    sampling = cell.sampling
    if sampling is None or sampling.temperature is None or cell.token_cap is None:
        raise UsageError(
            f"cell {cell.id}: the manifest gives no sampling temperature or no token_cap, so nobody can make its "
            "records again."
        )
    neutral = PlanSampling()
    given = {name: getattr(sampling, name) for name in ("top_p", "top_k", "min_p", "repeat_penalty")}
    return Settings(
        temperature=sampling.temperature,
        token_cap=cell.token_cap,
        sampling=msgspec.structs.replace(
            neutral, **{name: value for name, value in given.items() if value is not None}
        ),
    )


def _record(cell_id: str, question: Asked, replicate: int, recorder: Recorder, error: str | None) -> Record:
    generations = recorder.generations
    completion = [generation.completion_tokens for generation in generations]
    prompt = [generation.prompt_tokens for generation in generations]
    return Record(
        cell=cell_id,
        question_id=question.id,
        question_index=question.index,
        replicate=replicate,
        seed=recorder.seed,
        status="ok" if error is None else "failed",
        error=error,
        generations=generations,
        claimed=None
        if error is not None
        else RecordClaim(
            selected=recorder.selected,
            completion_tokens=None if None in completion else sum(count or 0 for count in completion),
            prompt_tokens=None if None in prompt else sum(count or 0 for count in prompt),
        ),
        extra={"cut_by_context": recorder.cut} if recorder.cut else None,
    )


_worker: Worker | None = None
"""The worker of this process, where it is one of several."""


def start(workshop: Workshop) -> None:
    """Make this process a worker; it ends as soon as the one that started it does."""
    global _worker
    # Ctrl-C reaches every process of a terminal: the first one decides, and the others follow it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = Worker(workshop)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


def make(cell_id: str, question_id: str) -> bytes:
    """One encoded record, by this process's worker."""
    assert _worker is not None  # noqa: S101 - `start` ran before any task
    return encode(_worker.make(cell_id, question_id))


def encode(value: msgspec.Struct) -> bytes:
    """A record or a question as one line of JSON."""
    return msgspec.json.encode(value)
