"""Written replies in the place of a model: for trying a plan, and for tests of everything but the model.

A reply depends on the call alone, as a model's would: the first line whose `when` occurs in the last message answers,
with the text that the seed picks; at temperature 0 with its first text.
"""

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from generators.backends.call import Call, CallError, Completion, Facts, Token
from schemas.errors import UsageError
from schemas.manifest import Backend
from schemas.reading import Limits, Problem, read_lines
from schemas.writing import sha256


class Reply(Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a replies file. A reply of null is a call that fails."""

    when: str
    texts: Annotated[list[str | None], Meta(min_length=1)]


class ScriptedBackend:
    """Replays texts. A token is a word with the space before it; longer words count as more probable."""

    concurrency = 1

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise UsageError(f"{path} is not a file; `replies` names the file of written replies.")
        self.path = path
        self.replies: list[Reply] = []
        for line in read_lines(path, Reply, limits=Limits()):
            if isinstance(line, Problem):
                raise UsageError(f"{path}{f', line {line.number}' if line.number else ''}: {line.message}")
            self.replies.append(line.value)

    def facts(self) -> Facts:
        """The backend's name, and the SHA-256 of the replies as that of the model."""
        return Facts(backend=Backend(name="scripted"), file_sha256=sha256(self.path))

    def begin(self) -> None:
        """Nothing to forget."""

    def complete(self, call: Call) -> Completion:
        """The reply to the last message."""
        asked = call.messages[-1].content
        for reply in self.replies:
            if reply.when in asked:
                text = reply.texts[0 if call.temperature == 0 else call.seed % len(reply.texts)]
                if text is None:
                    raise CallError(f"the script has no answer where {reply.when!r} is asked")
                return _completion(call, text)
        raise CallError(f"no line of {self.path.name} has a `when` that occurs in {asked[:80]!r}")

    def beam_search(self, call: Call, width: int) -> list[Completion]:
        """The first texts of the reply to the last message."""
        asked = call.messages[-1].content
        texts = [text for reply in self.replies if reply.when in asked for text in reply.texts if text is not None]
        if not texts:
            raise CallError(f"no line of {self.path.name} has a `when` that occurs in {asked[:80]!r}")
        return [_completion(call, text) for text in texts[:width]]

    def close(self) -> None:
        """Nothing to release."""


def _completion(call: Call, text: str) -> Completion:
    words = text.split(" ")
    pieces = [word if position == 0 else f" {word}" for position, word in enumerate(words)]
    kept = pieces[: call.token_cap]
    return Completion(
        text="".join(kept),
        prompt_tokens=sum(len(message.content.split()) for message in call.messages) + len(call.prefix.split()),
        completion_tokens=len(kept),
        finish_reason="stop" if len(kept) == len(pieces) else "length",
        tokens=tuple(Token(piece, -1.0 / (1 + len(piece))) for piece in kept),
    )
