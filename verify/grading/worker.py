"""A grader under trial, in a process of its own: `python -m verify.grading.worker pkg.mod:fn [policy]
[bytes]`.

Speaks MessagePack frames, each behind its length in 4 bytes: in come [response, gold] pairs, out go
[verdict or null, error]. The parent kills it when a call takes too long; the limit on memory is the kernel's.
"""

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec

from verify.grading.adapters import credited

try:
    import resource
except ImportError:  # Windows has no limits to set; the time limit still holds there.
    resource = None  # type: ignore[assignment]


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None at the end of the stream."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    return stream.read(int.from_bytes(head, "big"))


def write_frame(stream: BinaryIO, body: bytes) -> None:
    """Write one frame and flush it."""
    stream.write(len(body).to_bytes(4, "big") + body)
    stream.flush()


def load(target: str, policy: str | None) -> Callable[[str, str], Any]:
    """The callable that `pkg.mod:fn` names; one that takes `policy` gets it. Raises what importing raises."""
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in (name or "grade").split("."):
        found = getattr(found, part)
    if policy is not None and "policy" in inspect.signature(found).parameters:
        return lambda text, gold: found(text, gold, policy=policy)
    return found  # type: ignore[no-any-return]


def main(arguments: list[str]) -> None:
    """Serve until the input ends."""
    target, policy, limit = arguments[0], arguments[1] or None, int(arguments[2])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the grader prints must not be read as a frame
    sys.path.insert(0, str(os.curdir))
    grader = load(target, policy)
    if resource is not None and limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    write_frame(answers, b"ready")
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        response, gold = msgspec.msgpack.decode(frame, type=tuple[bytes, bytes])
        try:
            texts = (part.decode("utf-8", "surrogatepass") for part in (response, gold))
            reply: tuple[bool | None, str] = (credited(grader(*texts)), "")
        except BaseException as error:  # noqa: BLE001 - whatever a grader raises is a finding, exits included
            message = f"{type(error).__name__}: {error}"[:200].encode("utf-8", "replace").decode()
            reply = (None, message)
        write_frame(answers, msgspec.msgpack.encode(reply))


if __name__ == "__main__":
    main(sys.argv[1:])
