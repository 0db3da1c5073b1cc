"""The record of one question while a method makes it: every call is seeded, counted and written down.

A method sees the question's text, the prompts and this recorder. It never sees a gold answer: none is passed on.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from generators.backends.call import Backend, Call, CallError, Completion, Message, Token
from generators.prompts import Prompts
from generators.seeds import call_seed
from schemas.plan import PlanSampling
from schemas.record import Generation, Role


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is equal for all calls of a cell."""

    temperature: float
    token_cap: int
    sampling: PlanSampling


@dataclass
class Recorder:
    """Asks the model on behalf of a method, and keeps what came back."""

    backend: Backend
    prompts: Prompts
    settings: Settings
    question: str
    seed: int
    """Base seed of the record."""
    generations: list[Generation] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    """Indices of generations that the context cut off before the token cap."""
    selected: int | None = None
    """Index of the generation that the method chose, where it chooses one."""

    def ask(self, role: Role, messages: Sequence[Message], *, round_: int = 0, agent: int = 0) -> str:
        """One call; its text. Raises CallError, with the call on record."""
        call = self._call(messages)
        completion = self._complete(role, call, round_, agent)
        self._add(role, call, completion, round_, agent)
        return completion.text

    def step(self, kept: tuple[Token, ...], *, round_: int, agent: int) -> tuple[Token, ...]:
        """An answer that goes on from `kept`; the tokens of the whole. Its text on record is the whole as well."""
        prefix = "".join(token.text for token in kept)
        call = replace(
            self._call(self.opening()),
            prefix=prefix,
            token_cap=max(self.settings.token_cap - len(kept), 1),
            tokens=True,
        )
        completion = self._complete("step", call, round_, agent)
        path = kept + completion.tokens
        self._add("step", call, completion, round_, agent, scored=path)
        return path

    def beam_search(self, messages: Sequence[Message], width: int) -> None:
        """One beam search; every hypothesis is a generation of its own, scored by its mean log-probability."""
        call = self._call(messages)
        try:
            found = self.backend.beam_search(call, width)
        except CallError as error:
            self._failed("sample", call, str(error), 0, 0)
            raise
        for agent, completion in enumerate(found):
            self._add("sample", call, completion, 0, agent, scored=completion.tokens)

    def opening(self) -> list[Message]:
        """The conversation before a first attempt: the system prompt and the question."""
        return [self.system(), self.user("solve", question=self.question)]

    def system(self, name: str = "system") -> Message:
        """A system prompt."""
        return Message("system", self.prompts.fill(name))

    def user(self, name: str, **values: str) -> Message:
        """A prompt, filled in, as the user's turn. Surrounding space of values is dropped."""
        return Message("user", self.prompts.fill(name, **{key: value.strip() for key, value in values.items()}))

    def listed(self, solutions: Sequence[str]) -> str:
        """Solutions one after the other, numbered from 1."""
        return "\n\n".join(
            self.prompts.fill("listed", number=str(number), solution=solution.strip())
            for number, solution in enumerate(solutions, start=1)
        )

    def noted(self, reflections: Sequence[str]) -> str:
        """Reflections one a line, numbered from 1."""
        return "\n".join(
            self.prompts.fill("noted", number=str(number), reflection=reflection.strip())
            for number, reflection in enumerate(reflections, start=1)
        )

    def _call(self, messages: Sequence[Message]) -> Call:
        return Call(
            messages=tuple(messages),
            temperature=self.settings.temperature,
            seed=call_seed(self.seed, len(self.generations)),
            token_cap=self.settings.token_cap,
            sampling=self.settings.sampling,
        )

    def _complete(self, role: Role, call: Call, round_: int, agent: int) -> Completion:
        try:
            return self.backend.complete(call)
        except CallError as error:
            self._failed(role, call, str(error), round_, agent)
            raise

    def _add(
        self, role: Role, call: Call, completion: Completion, round_: int, agent: int, scored: tuple[Token, ...] = ()
    ) -> None:
        index = len(self.generations)
        if completion.room is not None:
            self.cut.append(index)
        self.generations.append(
            Generation(
                role=role,
                index=index,
                round=round_,
                agent=agent,
                seed=call.seed,
                temperature=call.temperature,
                prompt_tokens=completion.prompt_tokens,
                completion_tokens=completion.completion_tokens,
                finish_reason=completion.finish_reason,
                text=call.prefix + completion.text,
                score=mean_logprob(scored) if scored else None,
                logprob=math.fsum(token.logprob for token in scored) if scored else None,
            )
        )

    def _failed(self, role: Role, call: Call, error: str, round_: int, agent: int) -> None:
        self.generations.append(
            Generation(
                role=role,
                index=len(self.generations),
                round=round_,
                agent=agent,
                seed=call.seed,
                temperature=call.temperature,
                finish_reason="error",
                error=error,
            )
        )


def assistant(text: str) -> Message:
    """The model's own turn, as later calls of a conversation see it."""
    return Message("assistant", text.strip())


def mean_logprob(tokens: Sequence[Token]) -> float:
    """Mean log-probability of a text's tokens, its confidence; minus infinity for no token at all."""
    return math.fsum(token.logprob for token in tokens) / len(tokens) if tokens else float("-inf")
