"""One call of a model, and what a backend makes of it."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from schemas.errors import ReleaseError, UsageError
from schemas.manifest import Backend as BackendName
from schemas.plan import PlanSampling
from schemas.record import FinishReason


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """What a model is asked. The same call gives the same text, whatever was asked before its record."""

    messages: tuple[Message, ...]
    temperature: float
    seed: int
    token_cap: int
    """Most tokens to generate."""
    sampling: PlanSampling
    """All other sampling values (its temperature is not read)."""
    prefix: str = ""
    """Beginning of the answer, given: the model goes on from there."""
    tokens: bool = False
    """Whether the tokens with their log-probabilities are wanted."""


class Token(NamedTuple):
    """One token of an answer."""

    text: str
    logprob: float
    """Natural log of its probability at temperature 1, all tokens allowed."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What came back."""

    text: str
    """Without the call's prefix."""
    prompt_tokens: int | None
    completion_tokens: int | None
    """Tokens generated, end-of-text mark not counted."""
    finish_reason: FinishReason
    tokens: tuple[Token, ...] = ()
    """The tokens of `text`, where they were wanted."""
    room: int | None = None
    """Tokens that fitted behind the prompt, where they were fewer than the cap and all of them were used."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What has to be known of a model to run it again, for the manifest."""

    backend: BackendName
    parameters: float | None = None
    file_sha256: str | None = None
    quantisation: str | None = None
    chat_template_sha256: str | None = None
    context_size: int | None = None
    threads: int | None = None
    batch_size: int | None = None
    extra: dict[str, str | int | bool] | None = None


class CallError(Exception):
    """This call gave no answer, for the reason given; others may. It becomes a failed generation."""


class BackendError(ReleaseError):
    """The model cannot be asked at all. The run stops; what is there stays, and the next run goes on."""


class UnsupportedError(UsageError):
    """A method needs what this backend cannot do."""


class Backend(Protocol):
    """Runs one model."""

    concurrency: int
    """Records that may be worked on at once, by threads, through one backend."""

    def facts(self) -> Facts:
        """What the manifest says of the model."""

    def begin(self) -> None:
        """A new record begins: forget what was asked before."""

    def complete(self, call: Call) -> Completion:
        """One answer. Raises CallError, BackendError or UnsupportedError."""

    def beam_search(self, call: Call, width: int) -> list[Completion]:
        """The `width` most probable answers that beam search finds, best first. Raises as `complete` does."""

    def close(self) -> None:
        """Release the model."""
