"""A trial of anybody's grader: properties, golds under six spellings, neighbours' golds, adversarial shapes.

The grader runs in a process of its own, with a limit on the time of a call and on its memory, so that one
which hangs or eats the machine is a finding and not the end of the trial. Everything random is drawn from
one seed.
"""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO, cast

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import FlakyFailure

from schemas.errors import UsageError
from verify.grading import properties
from verify.grading.grader import compile_policy
from verify.grading.properties import Probe
from verify.grading.worker import write_frame

_STARTING_S = 60.0
#: Calls spent on shortening one counterexample; slow graders must not turn a trial into an afternoon.
_SHRINKING_CALLS = 80
#: Calls of one property that may hang or kill the grader before the rest of the property is left out.
_DEAD_CALLS = 2


@dataclass(frozen=True, slots=True)
class Counterexample:
    """One call that a grader got wrong, as short as the trial could make it."""

    response: str
    gold: str
    expected: str
    got: str
    why: str


@dataclass(frozen=True, slots=True)
class PropertyResult:
    """One line of a trial: calls passed and failed, seconds of the slowest call, the shortest failure.

    A property whose calls hang or die is left after a few of them, so passed + failed may fall short of what
    was asked.
    """

    property: str
    passed: int
    failed: int
    slowest_s: float
    counterexample: Counterexample | None = None


@dataclass(frozen=True, slots=True)
class TrialReport:
    """Everything a trial found about `target`."""

    target: str
    policy: str
    seed: int
    results: tuple[PropertyResult, ...]

    @property
    def failures(self) -> tuple[PropertyResult, ...]:
        """The properties that did not hold."""
        return tuple(result for result in self.results if result.failed)


@dataclass(frozen=True, slots=True)
class _Answered:
    credited: bool | None
    error: str
    seconds: float
    died: bool = False


class _Stop(BaseException):
    """Ends the shortening of a counterexample. No `Exception`, so that Hypothesis lets it through."""


class Subject:
    """The grader under trial, behind a pipe. Restarts its process after a call that hung or killed it."""

    def __init__(self, target: str, policy: str | None, *, call_s: float, memory_bytes: int) -> None:
        self._command = [
            sys.executable,
            "-m",
            "verify.grading.worker",
            target,
            policy or "",
            str(memory_bytes),
        ]
        self._target, self._call_s = target, call_s
        self._process: subprocess.Popen[bytes] | None = None
        self.deaths = 0

    def call(self, response: str, gold: str) -> _Answered:
        """One verdict, or why there is none: an exception, a crash, or a call over the limit."""
        process = self._process or self._start()
        pair = tuple(text.encode("utf-8", "surrogatepass") for text in (response, gold))
        began = time.monotonic()
        try:
            write_frame(cast("BinaryIO", process.stdin), msgspec.msgpack.encode(pair))
            frame = self._receive(process, self._call_s)
        except BrokenPipeError:
            frame = b""
        seconds = time.monotonic() - began
        if frame:
            credited, error = msgspec.msgpack.decode(frame, type=tuple[bool | None, str])
            return _Answered(credited, error, seconds)
        self.close()
        self.deaths += 1
        reason = "the process died" if frame == b"" else f"no answer within {self._call_s:g} s"
        return _Answered(None, reason, seconds, died=True)

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = process = subprocess.Popen(  # noqa: S603 - the user named the grader to be run
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        if self._receive(process, _STARTING_S) != b"ready":
            process.kill()
            _, errors = process.communicate()
            self._process = None
            last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise UsageError(
                f"cannot load the grader {self._target!r}, which should read package.module:function: {last}"
            )
        # Nobody reads what a grader prints; a full pipe would make it hang.
        assert process.stderr is not None  # noqa: S101 - it was asked for above
        os.set_blocking(process.stderr.fileno(), False)
        # The first call imports what a grader imports late; that is no fault of the response.
        pair = tuple(text.encode() for text in (properties.boxed("1"), "1"))
        write_frame(cast("BinaryIO", process.stdin), msgspec.msgpack.encode(pair))
        if not self._receive(process, _STARTING_S):
            self.close()
            raise UsageError(f"the grader {self._target!r} gives no verdict on a box that holds 1")
        return process

    @staticmethod
    def _receive(process: subprocess.Popen[bytes], limit_s: float) -> bytes | None:
        """One frame: empty where the process ended, None where the limit passed."""
        assert process.stdout is not None  # noqa: S101 - it was asked for above
        received, wanted, deadline = b"", 4, time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while len(received) < wanted:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return None
                part = os.read(process.stdout.fileno(), 1 << 16)
                if not part:
                    return b""
                received += part
                if len(received) >= 4:
                    wanted = 4 + int.from_bytes(received[:4], "big")
                if process.stderr is not None and not os.get_blocking(process.stderr.fileno()):
                    _drain(process.stderr)
        return received[4:]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _drain(stream: object) -> None:
    try:
        while os.read(stream.fileno(), 1 << 16):  # type: ignore[attr-defined]
            pass
    except BlockingIOError:
        pass


@contextmanager
def _subject(target: str, policy: str | None, call_s: float, memory_bytes: int) -> Iterator[Subject]:
    subject = Subject(target, policy, call_s=call_s, memory_bytes=memory_bytes)
    try:
        yield subject
    finally:
        subject.close()


class _Tally:
    """Counts of one property, and the shortest failure seen."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.passed = self.failed = self.calls_after_failure = self.dead = 0
        self.slowest_s = 0.0
        self.shortest: Counterexample | None = None

    def holds(self, probe: Probe) -> bool:
        """Put one probe to the grader."""
        wanted = probe.expected
        if probe.twin is not None:
            twin = self._ask(*probe.twin)
            wanted = twin.credited
        answered = self._ask(probe.response, probe.gold)
        right = answered.credited is not None and (answered.credited == wanted or _anything(probe))
        if right:
            self.passed += 1
        else:
            self.failed += 1
            self._keep(probe, wanted, answered)
        if self.failed:
            self.calls_after_failure += 1
        return right

    def _ask(self, response: str, gold: str) -> _Answered:
        answered = self._subject.call(response, gold)
        if answered.died and self._subject.deaths <= _DEAD_CALLS:
            # Once may be the machine; twice is the grader.
            answered = self._subject.call(response, gold)
        self.slowest_s = max(self.slowest_s, answered.seconds)
        self.dead += answered.died
        return answered

    @property
    def is_over(self) -> bool:
        """Whether more calls would only cost time."""
        return self.calls_after_failure > _SHRINKING_CALLS or self.dead >= _DEAD_CALLS

    def _keep(self, probe: Probe, wanted: bool | None, answered: _Answered) -> None:
        got = answered.error or _name(answered.credited)
        expected = "any verdict" if _anything(probe) else _name(wanted)
        found = Counterexample(probe.response, probe.gold, expected, got, probe.why)
        length = len(found.response) + len(found.gold)
        if self.shortest is None or length <= len(self.shortest.response) + len(self.shortest.gold):
            self.shortest = found

    def result(self, name: str) -> PropertyResult:
        return PropertyResult(name, self.passed, self.failed, self.slowest_s, self.shortest)


def _anything(probe: Probe) -> bool:
    return probe.expected is None and probe.twin is None


def _name(credited: bool | None) -> str:
    return {True: "correct", False: "incorrect", None: "no verdict"}[credited]


def _try_property(name: str, subject: Subject, *, numeric: bool, max_examples: int, start: int) -> PropertyResult:
    strategies = properties.NUMERIC_PROPERTIES if numeric else properties.PROPERTIES
    tally = _Tally(subject)

    @seed(start)
    @settings(
        max_examples=max_examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(strategies[name])
    def run(probe: Probe) -> None:
        held = tally.holds(probe)
        if tally.is_over:
            raise _Stop
        if not held:
            raise AssertionError(name)

    try:
        run()
    except (AssertionError, FlakyFailure, _Stop):
        # Shortening repeats one failure many times: it is one failure.
        return replace(tally.result(name), failed=1)
    return tally.result(name)


def _try_all(name: str, subject: Subject, probes: Iterable[Probe]) -> PropertyResult:
    tally = _Tally(subject)
    for probe in probes:
        tally.holds(probe)
        if tally.dead >= _DEAD_CALLS:
            break
    return tally.result(name)


def _neighbours(golds: Sequence[str], equal: Callable[[str, str], bool]) -> Iterator[Probe]:
    """Every gold answered with the next one, without the pairs that are equal as mathematics (`5` and `x =
    5`).
    """
    for gold, other in zip(golds, [*golds[1:], *golds[:1]], strict=True):
        if not equal(gold, other):
            yield Probe(properties.boxed(other), gold, False, "the next question's gold")


def run_trial(
    target: str,
    *,
    policy: str = "math",
    golds: Sequence[str] | None = None,
    max_examples: int = 100,
    start: int = 0,
    call_s: float = 1.0,
    memory_bytes: int = 4 << 30,
    size: int = 100_000,
) -> TrialReport:
    """Try the grader `pkg.mod:fn`, a callable `(text, gold) -> bool | str | object with a verdict`.

    `golds` replaces the samples of `properties`; `start` is the seed; `call_s` seconds and `memory_bytes`
    bound each call; `size` is the length of the adversarial shapes. Raises `UsageError` for a target that
    cannot be loaded.
    """
    grader = compile_policy(policy)
    numeric = grader.policy.form == "numeric"
    if golds is None:
        golds = [gold for gold in properties.SAMPLE_GOLDS if grader.usable_gold(gold) is None]
    results: list[PropertyResult] = []
    with _subject(target, policy, call_s, memory_bytes) as subject:
        for name in properties.NUMERIC_PROPERTIES if numeric else properties.PROPERTIES:
            found = _try_property(name, subject, numeric=numeric, max_examples=max_examples, start=start)
            results.append(found)
        for name, vary in properties.VARIATIONS.items():
            probes = (Probe(properties.boxed(vary(gold)), gold, True, f"the gold, {name}") for gold in golds)
            results.append(_try_all(f"golds: {name}", subject, probes))
        results.append(_try_all("golds: next question's", subject, _neighbours(golds, grader.matches)))
        shapes = properties.adversarial_shapes(size).items()
        hostile = (Probe(text, "5", None, f"{name}: a verdict within {call_s:g} s") for name, text in shapes)
        results.append(_try_all("adversarial shapes", subject, hostile))
    return TrialReport(target, grader.policy.name, start, tuple(results))
