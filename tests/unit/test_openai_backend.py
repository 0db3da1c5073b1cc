"""The `openai` backend against a server of this test's own: what is sent, what is understood, and every way to fail."""

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from support import Ran, run_audit

from generators import rewards
from generators.backends import openai
from generators.backends.call import BackendError, Call, CallError, Message, UnsupportedError
from generators.backends.openai import OpenAIBackend
from schemas.errors import UsageError
from schemas.plan import OpenAI, PlanSampling
from schemas.reading import Limits, Line, read_lines
from schemas.record import Record
from verify.run import verify_release

KEY = "sk-never-written-down"
SAMPLING = PlanSampling(temperature=0.1, top_p=0.9, top_k=40, min_p=0.05, repeat_penalty=1.1)
CALL = Call(
    messages=(
        Message("system", "Be brief."),
        Message("user", "6 × 7?"),
        Message("assistant", "41"),
        Message("user", "?"),
    ),
    temperature=0.7,
    seed=4294967294,
    token_cap=77,
    sampling=SAMPLING,
)


@dataclass(frozen=True)
class Asked:
    """A request as the server got it."""

    path: str
    headers: dict[str, str]
    raw: str

    @property
    def body(self) -> dict[str, Any]:
        """What its JSON says."""
        value: dict[str, Any] = json.loads(self.raw)
        return value


@dataclass(frozen=True)
class Reply:
    """What the server sends."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    missing: int = 0
    """Bytes that Content-Length promises beyond the body."""
    wait: float = 0.0


def said(text: str | None, finish: str | None = "stop", **fields: object) -> Reply:
    """An answer as the protocol has it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 11, "completion_tokens": len((text or "").split())}
    return Reply(json.dumps({"id": "x", "choices": [choice], "usage": usage, **fields}).encode())


class Stub:
    """A server on 127.0.0.1 that answers as `answer` says, and keeps what it was asked."""

    def __init__(self, answer: Callable[[Asked], Reply], port: int = 0) -> None:
        self.asked: list[Asked] = []
        self.hurry = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"])).decode()
                asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, raw)
                stub.asked.append(asked)
                reply = answer(asked)
                if reply.wait:
                    stub.hurry.wait(reply.wait)
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply.body) + reply.missing))
                    self.end_headers()
                    self.wfile.write(reply.body)
                except OSError:
                    pass  # the client went away, as a test of time-outs wants it

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        """The base URL of a plan."""
        return f"http://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        """Stop listening."""
        self.hurry.set()
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def serving(answer: Callable[[Asked], Reply], port: int = 0) -> Iterator[Stub]:
    """A stub for the length of a block."""
    stub = Stub(answer, port)
    try:
        yield stub
    finally:
        stub.close()


@contextmanager
def opened(url: str, **options: Any) -> Iterator[OpenAIBackend]:
    """A backend for the length of a block."""
    backend = OpenAIBackend(OpenAI(base_url=url, **{"model": "served", "attempts": 3, "timeout": 60.0, **options}))
    try:
        yield backend
    finally:
        backend.close()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "FIRST_WAIT", 0.001)


def unused_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# What is sent


def test_every_sampling_value_is_sent_and_the_key_in_the_header_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_KEY", KEY)
    with serving(lambda _: said("42")) as stub, opened(stub.url + "/", key_variable="SERVER_KEY") as backend:
        backend.complete(CALL)
        facts = backend.facts()
    (asked,) = stub.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in asked.raw
    assert KEY not in repr(facts)
    assert asked.body == {
        "model": "served",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "6 × 7?"},
            {"role": "assistant", "content": "41"},
            {"role": "user", "content": "?"},
        ],
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "repeat_penalty": 1.1,
        "repetition_penalty": 1.1,
        "seed": 4294967294,
        "max_tokens": 77,
        "stream": False,
    }


def test_a_server_that_knows_the_protocol_alone_is_sent_nothing_else() -> None:
    with serving(lambda _: said("42")) as stub, opened(stub.url, standard_only=True) as backend:
        backend.complete(CALL)
    (asked,) = stub.asked
    assert set(asked.body) == {"model", "messages", "temperature", "top_p", "seed", "max_tokens", "stream"}
    assert "authorization" not in asked.headers


def test_environment_proxies_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{unused_port()}")
    with serving(lambda _: said("42")) as stub, opened(stub.url) as backend:
        assert backend.complete(CALL).text == "42"


@pytest.mark.parametrize("value", [None, "", "two\nlines", "clé"])
def test_a_key_that_cannot_be_sent_is_a_sentence_without_the_key(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERVER_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SERVER_KEY", value)
    with (
        pytest.raises(UsageError, match="environment variable SERVER_KEY") as failure,
        opened("http://127.0.0.1:1/v1", key_variable="SERVER_KEY"),
    ):
        pass
    assert not value or value not in str(failure.value)


@pytest.mark.parametrize("url", ["127.0.0.1:8080/v1", "http://[::1", "http://127.0.0.1:99999/v1", "ftp://host/v1"])
def test_an_address_that_is_none_is_a_sentence(url: str) -> None:
    with pytest.raises(UsageError, match="base_url"), opened(url):
        pass


def test_what_the_protocol_cannot_ask_for_is_a_sentence() -> None:
    with opened("http://127.0.0.1:1/v1") as backend:
        with pytest.raises(UnsupportedError, match="continues a given beginning"):
            backend.complete(
                Call(messages=CALL.messages, temperature=0, seed=1, token_cap=9, sampling=SAMPLING, prefix="4")
            )
        with pytest.raises(UnsupportedError, match="no beam search"):
            backend.beam_search(CALL, 8)


# What is understood


@pytest.mark.parametrize(
    ("server", "ours"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "unknown"),
        ("tool_calls", "unknown"),
        (None, "unknown"),
    ],
)
def test_the_finish_reason(server: str | None, ours: str) -> None:
    with serving(lambda _: said("4 2", server)) as stub, opened(stub.url) as backend:
        completion = backend.complete(CALL)
    assert (completion.text, completion.finish_reason) == ("4 2", ours)
    assert (completion.prompt_tokens, completion.completion_tokens) == (11, 2)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": None}])
def test_tokens_that_are_not_counted_are_unknown(usage: object) -> None:
    with serving(lambda _: said("42", usage=usage)) as stub, opened(stub.url) as backend:
        completion = backend.complete(CALL)
    assert (completion.prompt_tokens, completion.completion_tokens) == (None, None)


def test_text_comes_back_byte_for_byte() -> None:
    text = ' \n"\\boxed{½}"\u2028 \U0001d7d9\x00\t\n'
    with serving(lambda _: said(text)) as stub, opened(stub.url) as backend:
        assert backend.complete(CALL).text == text
    with serving(lambda _: said("")) as stub, opened(stub.url) as backend:
        assert backend.complete(CALL).text == ""


# What goes wrong


def test_a_refused_call_fails_at_once_in_the_servers_words() -> None:
    refusal = Reply(b'{"error": {"message": "prompt is too long"}}', status=400)
    with serving(lambda _: refusal) as stub, opened(stub.url) as backend, pytest.raises(CallError) as failure:
        backend.complete(CALL)
    assert "HTTP 400" in str(failure.value)
    assert "prompt is too long" in str(failure.value)
    assert len(stub.asked) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_refusal_that_may_pass_is_tried_again(status: int) -> None:
    replies = iter([Reply(b"later", status=status), Reply(b"later", status=status), said("42")])
    with serving(lambda _: next(replies)) as stub, opened(stub.url) as backend:
        assert backend.complete(CALL).text == "42"
    assert len({asked.raw for asked in stub.asked}) == 1
    assert len(stub.asked) == 3


ENDLESS: dict[str, tuple[Reply, str]] = {
    "500": (Reply(b"<h1>oops</h1>", status=500), "HTTP 500 (<h1>oops</h1>)"),
    "garbage": (Reply(b"\x00\xff\xfe not JSON"), "cannot be read"),
    "another shape": (Reply(b"[1, 2]"), "cannot be read"),
    "no choices": (Reply(b'{"id": "x"}'), "cannot be read"),
    "empty choices": (Reply(b'{"choices": []}'), "cannot be read"),
    "content null": (said(None), "holds no text"),
    "negative usage": (said("42", usage={"completion_tokens": -1}), "cannot be read"),
    "empty body": (Reply(b""), "cannot be read"),
    "cut off": (Reply(said("42").body[:20], missing=1000), "the connection broke"),
    "broken compression": (Reply(b"no gzip", headers={"Content-Encoding": "gzip"}), "the connection broke"),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_what_never_passes_fails_the_call_after_all_attempts(case: str) -> None:
    reply, words = ENDLESS[case]
    with serving(lambda _: reply) as stub, opened(stub.url) as backend, pytest.raises(CallError) as failure:
        backend.complete(CALL)
    assert words in str(failure.value)
    assert str(failure.value).endswith(", 3 times")
    assert len(stub.asked) == 3


def test_an_answer_that_takes_too_long_is_not_waited_for() -> None:
    slow = Reply(said("42").body, wait=60.0)
    with (
        serving(lambda _: slow) as stub,
        opened(stub.url, timeout=0.3, attempts=2) as backend,
        pytest.raises(CallError, match=r"no answer within 0\.3 s, 2 times"),
    ):
        backend.complete(CALL)
    assert len(stub.asked) == 2


@pytest.mark.parametrize("status", [401, 403, 404, 307])
def test_what_holds_for_every_call_stops_the_run(status: int) -> None:
    reply = Reply(b"no", status=status, headers={"Location": "http://127.0.0.1:1/"} if status == 307 else {})
    with serving(lambda _: reply) as stub, opened(stub.url) as backend, pytest.raises(BackendError) as failure:
        backend.complete(CALL)
    assert f"HTTP {status} (no); check base_url, model and key." in str(failure.value)
    assert len(stub.asked) == 1


@pytest.mark.parametrize("kind", [httpx.ConnectError, httpx.ConnectTimeout])
def test_a_host_that_cannot_be_reached_stops_the_run(
    kind: type[httpx.TransportError], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened("http://127.0.0.1:1/v1") as backend:
        tries = []

        def post(*_: object, **__: object) -> None:
            tries.append(1)
            raise kind("timed out or refused")

        monkeypatch.setattr(backend.client, "post", post)
        with pytest.raises(BackendError, match="does not answer"):
            backend.complete(CALL)
    assert len(tries) == 3


# Whole runs

QUESTIONS = [(f"q{n}", f"What is {n} plus {n + 3}?", str(2 * n + 3)) for n in range(5)]
METHODS = ("chain_of_thought", "self_consistency", "reflexion", "debate")
PLAN = """
format_version = "1.0"
title = "A server"
models = [{ id = "m", openai = { base_url = "URL", model = "served", attempts = 2, concurrency = 4, timeout = 60.0 } }]
datasets = [{ id = "d", questions = "questions.jsonl", policy = "gsm8k" }]
[[methods]]
method = "chain_of_thought"
[[methods]]
method = "self_consistency"
parameters = { samples = 8 }
[[methods]]
method = "reflexion"
parameters = { rounds = 1 }
[[methods]]
method = "debate"
parameters = { agents = 2, rounds = 1 }
"""


def model(asked: Asked) -> Reply:
    """A text that follows from the conversation and the seed, as a real model's would, later the longer it is."""
    digest = sha256(json.dumps([asked.body["messages"], asked.body["seed"]]).encode()).hexdigest()
    verdict = "INCORRECT" if digest < "8" else "CORRECT"
    text = f"{verdict} in view of {digest}, so \\boxed{{{int(digest[:2], 16) % 12}}}."
    return Reply(said(text).body, wait=int(digest[2], 16) / 2000)


def write_plan(folder: Path, url: str) -> Path:
    """The plan and its questions."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"id": id_, "text": text, "gold": gold}) + "\n" for id_, text, gold in QUESTIONS]
    (folder / "questions.jsonl").write_text("".join(lines))
    (folder / "plan.toml").write_text(PLAN.replace("URL", url))
    return folder / "plan.toml"


def generate(plan: Path, *more: str) -> Ran:
    """`audit generate` beside the plan."""
    return run_audit("generate", plan, "--out", plan.parent / "release", *more)


def records(root: Path, method: str) -> list[Record]:
    """The records of one cell."""
    lines = list(read_lines(root / "generations/m/d" / method / "part-0.jsonl.gz", Record, limits=Limits()))
    assert all(isinstance(line, Line) for line in lines)
    return [line.value for line in lines if isinstance(line, Line)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of a run in which nothing went wrong."""
    with serving(model) as stub:
        plan = write_plan(tmp_path_factory.mktemp("undisturbed"), stub.url)
        result = generate(plan)
    assert (result.returncode, result.stderr) == (0, "")
    return plan.parent / "release"


def sums(root: Path) -> str:
    """The checksums of a release."""
    return (root / "SHA256SUMS").read_text()


def test_the_release_of_a_run_verifies(undisturbed: Path) -> None:
    report = verify_release(undisturbed).report
    assert [finding.message for finding in report.findings if finding.verdict != "confirmed"] == []
    assert {estimate.cell.rsplit("/", 1)[1] for estimate in report.estimates} == set(METHODS)
    # Each answer stands with the question that was asked, whatever the order in which they came.
    for method in METHODS:
        found = records(undisturbed, method)
        assert [record.question_id for record in found] == [id_ for id_, _, _ in QUESTIONS]
    for record, (_, text, _) in zip(records(undisturbed, "chain_of_thought"), QUESTIONS, strict=True):
        (generation,) = record.generations
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        digest = sha256(json.dumps([messages, generation.seed]).encode()).hexdigest()
        assert digest in (generation.text or "")


SYSTEM = "Solve the problem step by step. Put the final answer in \\boxed{}."


def test_a_second_run_asks_nothing_and_changes_nothing(undisturbed: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in undisturbed.rglob("*")}
    # The server is gone by now: whatever asked it would stop.
    result = generate(undisturbed.parent / "plan.toml")
    assert (result.returncode, result.stderr) == (0, "")
    assert "all 20 records are there; nothing to do" in result.stdout
    assert {path: path.stat().st_mtime_ns for path in undisturbed.rglob("*")} == before
    # Under another name the server may run another model.
    plan = write_plan(undisturbed.parent / "renamed", "http://127.0.0.1:1")
    plan.write_text(plan.read_text().replace('"served"', '"another"'))
    result = run_audit("generate", plan, "--out", undisturbed)
    assert result.returncode == 2
    assert "model 'm' differs in `extra.served_as`" in result.stderr
    assert {
        path: path.stat().st_mtime_ns for path in undisturbed.rglob("*") if path.is_file()
    }.items() <= before.items()


def test_records_are_made_again_with_the_callers_server_and_key(
    undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_KEY", KEY)
    with serving(model) as stub:
        options = ("--spot-check", "6", "--base-url", stub.url, "--key-variable", "SERVER_KEY")
        result = run_audit("regenerate", undisturbed, *options)
    assert (result.returncode, result.stdout) == (0, "Made again: 6 records, 6 identical.\n")
    assert {asked.headers["authorization"] for asked in stub.asked} == {f"Bearer {KEY}"}
    assert (
        "Name the server of model 'm': --base-url URL"
        in run_audit("regenerate", undisturbed, "--spot-check", "1").stderr
    )


def test_failed_records_are_said_and_made_good_to_the_same_bytes(undisturbed: Path, tmp_path: Path) -> None:
    broken = True

    def moody(asked: Asked) -> Reply:
        # 400 for one question, and an endless 500 for whatever is asked beyond the first turn of another.
        if broken and QUESTIONS[1][1] in asked.raw:
            return Reply(b'{"error": "question of ill omen"}', status=400)
        if broken and QUESTIONS[3][1] in asked.raw and len(asked.body["messages"]) > 2:
            return Reply(b"out of order", status=500)
        return model(asked)

    with serving(moody) as stub:
        plan = write_plan(tmp_path / "a", stub.url)
        root = plan.parent / "release"
        result = generate(plan)
        assert result.returncode == 1
        assert "m/d/self_consistency: 1 records failed, the last with: the server refused the call" in result.stdout
        assert "m/d/debate: 2 records failed" in result.stdout
        assert "run it again" in result.stdout
        failed = [record for record in records(root, "debate") if record.status == "failed"]
        assert [record.question_id for record in failed] == ["q1", "q3"]
        assert "question of ill omen" in (failed[0].error or "")
        assert [generation.finish_reason for generation in failed[0].generations] == ["error"]
        assert [generation.finish_reason for generation in failed[1].generations] == ["stop", "stop", "error"]
        # An incomplete release is a release all the same: what failed is no finding against the numbers.
        assert (root / "SHA256SUMS").exists()
        assert verify_release(root).report.verdict != "refuted"
        broken = False
        result = generate(plan)
    assert (result.returncode, result.stderr) == (0, "")
    assert sums(root) == sums(undisturbed)


def test_a_server_that_goes_away_stops_the_run_and_the_same_command_ends_it(undisturbed: Path, tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "a", f"http://127.0.0.1:{unused_port()}/v1")
    root = plan.parent / "release"
    result = generate(plan)
    assert (result.returncode, result.stdout) == (3, "")
    assert "does not answer" in result.stderr
    assert "run the same command again" in result.stderr

    def dying(asked: Asked) -> Reply:
        if len(stub.asked) > 20:
            stub.server.shutdown()
            stub.server.server_close()
        return model(asked)

    stub = Stub(dying)
    port = stub.port
    write_plan(tmp_path / "a", stub.url)
    result = generate(plan)
    assert (result.returncode, result.stdout) == (3, "")
    assert not (root / "SHA256SUMS").exists()
    kept = sum(len(path.read_bytes().splitlines()) for path in root.rglob("*.jsonl") if ".generate" in path.parts)
    assert 0 < kept < 20
    with serving(model, port):
        result = generate(plan)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"{20 - kept} records made" in result.stdout
    assert f"{kept} were there" in result.stdout
    assert sums(root) == sums(undisturbed)


def test_a_wrong_address_stops_the_run_before_it_fails_every_record(tmp_path: Path) -> None:
    with serving(lambda _: Reply(b"no such page", status=404)) as stub:
        plan = write_plan(tmp_path / "a", stub.url)
        result = generate(plan)
        assert (result.returncode, result.stdout) == (3, "")
        assert "HTTP 404 (no such page); check base_url, model and key." in result.stderr
        assert len(stub.asked) <= 8  # those under way when the first came back
        assert generate(plan, "--base-url", "127.0.0.1:8080/v1").returncode == 2


def test_answers_under_way_when_a_run_stops_are_kept(tmp_path: Path) -> None:
    everyone = threading.Barrier(4)

    def half_closed(asked: Asked) -> Reply:
        everyone.wait(60)
        if QUESTIONS[0][1] in asked.raw:
            return Reply(b"no more credit", status=403)
        return Reply(model(asked).body, wait=0.1)

    with serving(half_closed) as stub:
        plan = write_plan(tmp_path, stub.url)
        (tmp_path / "questions.jsonl").write_text(
            "".join((tmp_path / "questions.jsonl").read_text().splitlines(keepends=True)[:4])
        )
        result = generate(plan, "--cells", "*/chain_of_thought")
    assert (result.returncode, result.stdout) == (3, "")
    assert "no more credit" in result.stderr
    (journal,) = (tmp_path / "release" / ".generate").rglob("*.jsonl")
    assert len(journal.read_bytes().splitlines()) == 3


REWARDS = """
import json, sys, time
for line in sys.stdin:
    text = json.loads(line)["text"]
    time.sleep(len(text) % 7 / 1000)
    print(sum(map(ord, text)), flush=True)
"""


def test_each_score_goes_to_the_text_that_it_was_given_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewards, "PATIENCE", 30.0)
    (tmp_path / "rewards.py").write_text(REWARDS)
    with serving(model) as stub:
        plan = write_plan(tmp_path, stub.url)
        plan.write_text(
            PLAN.split("[[methods]]")[0].replace("URL", stub.url) + '[[methods]]\nmethod = "reward_model"\n'
        )
        result = generate(plan, "--reward-command", f"{sys.executable} {tmp_path / 'rewards.py'}")
    assert (result.returncode, result.stderr) == (0, "")
    found = [
        generation for record in records(tmp_path / "release", "reward_model") for generation in record.generations
    ]
    assert [generation.score for generation in found] == [sum(map(ord, generation.text or "")) for generation in found]
    assert len({generation.score for generation in found}) > 20


def test_a_method_that_no_server_can_run_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    with serving(model) as stub:
        plan = write_plan(tmp_path, stub.url)
        for method in ("beam_search", "lookahead"):
            plan.write_text(PLAN.replace("URL", stub.url) + f'[[methods]]\nmethod = "{method}"\n')
            result = generate(plan)
            assert (result.returncode, result.stdout) == (2, "")
            assert f"{method} cannot be asked of a server" in result.stderr
            assert len(result.stderr.splitlines()) == 1
    assert stub.asked == []
