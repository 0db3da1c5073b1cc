"""A run that is stopped anywhere, by any means, goes on to the same bytes."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import ROOT, run_audit, start_audit

from verify import verify_release

METHODS = ("chain_of_thought", "self_refine", "reflexion", "best_of_n", "debate", "self_consistency", "breadth_depth")

KILLED = """
import os, random, signal, sys
from pathlib import Path
from generators import journal, runner
from generators.plan import read_plan

plan, out = Path(sys.argv[1]), Path(sys.argv[2])
append, replace = journal.Journal.append, Path.replace

def run(point):
    # A run that ends itself with SIGKILL at its write number `point`: in the middle of a line, or around a rename.
    rng = random.Random(point)
    left = [point]

    def due():
        left[0] -= 1
        return left[0] < 0

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def torn(self, line):
        if due():
            if rng.random() < 0.7:
                append(self, line)
                os.truncate(self.path, self.path.stat().st_size - rng.randrange(len(line) + 1))
            die()
        append(self, line)

    def renamed(self, target):
        if due():
            if rng.random() < 0.5:
                replace(self, target)
            die()
        return replace(self, target)

    journal.Journal.append, Path.replace = torn, renamed
    runner.generate(read_plan(plan), out, runner.Options())

for point in map(int, sys.argv[3:]):
    child = os.fork()
    if child == 0:
        run(point)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print("killed" if os.WIFSIGNALED(status) else f"ended with {os.WEXITSTATUS(status)}")
"""


def write_plan(
    folder: Path, *, questions: int = 6, methods: tuple[str, ...] = METHODS, storage: str = "jsonl.gz"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "replies.jsonl").write_text(
        '{"when": "Is your final answer correct", "texts": ["INCORRECT, a slip.", "CORRECT."]}\n'
        '{"when": "Which solution is most likely", "texts": ["BEST=<2>", "BEST=3", "the first"]}\n'
        '{"when": "", "texts": ["So \\\\boxed{4}.", "So \\\\boxed{5}.", "It is 4", "Nothing."]}\n'
    )
    (folder / "questions.jsonl").write_text(
        "".join(f'{{"id": "q{i}", "text": "What is {i} + 4?", "gold": "{i + 4}"}}\n' for i in range(questions))
    )
    text = (
        f'format_version = "1.0"\ntitle = "scripted"\ntoken_cap = 50\nstorage = "{storage}"\n'
        '[[models]]\nid = "m"\nscripted = { replies = "replies.jsonl" }\n'
        '[[datasets]]\nid = "d"\nquestions = "questions.jsonl"\npolicy = "gsm8k"\n'
    )
    plan = folder / "plan.toml"
    plan.write_text(text + "".join(f'[[methods]]\nmethod = "{name}"\n' for name in methods))
    return plan


def sums(release: Path) -> str:
    return (release / "SHA256SUMS").read_text()


def test_a_release_is_made_verifies_and_is_left_alone_by_a_second_run(tmp_path: Path) -> None:
    plan, out = write_plan(tmp_path), tmp_path / "out"
    made = run_audit("generate", plan, "--out", out)
    assert made.returncode == 0, made.stderr
    assert "42 records made" in made.stdout
    report = verify_release(out).report
    assert report.verdict == "confirmed"
    assert {finding.verdict for finding in report.findings if finding.severity == "error"} == {"confirmed"}
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    again = run_audit("generate", plan, "--out", out)
    assert again.returncode == 0
    assert "all 42 records are there; nothing to do" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_killed_at_fifty_points_it_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    """Deaths in the middle of journal lines, before and after renames, one after the other in one folder."""
    plan = write_plan(tmp_path, questions=20)
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert run_audit("generate", plan, "--out", whole).returncode == 0
    # Every death comes early in its run, so that fifty of them do not see the end of 140 records.
    rng = random.Random(0)
    points = [str(rng.randrange(5)) for _ in range(50)]
    done = subprocess.run([sys.executable, "-c", KILLED, plan, out, *points], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == ["killed"] * 50
    assert run_audit("generate", plan, "--out", out).returncode == 0
    assert sums(out) == sums(whole)
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in whole.iterdir())


def test_any_number_of_processes_gives_the_same_bytes(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, questions=4)
    assert run_audit("generate", plan, "--out", tmp_path / "one").returncode == 0
    two = start_audit("generate", plan, "--out", tmp_path / "two", "--jobs", "2")
    assert two.returncode == 0, two.stderr
    assert sums(tmp_path / "one") == sums(tmp_path / "two")


def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, questions=3000, storage="jsonl")
    command = [sys.executable, "-m", "audit", "generate", str(plan), "--out", str(tmp_path / "out"), "--jobs", "2"]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        journal = tmp_path / "out" / ".generate"
        deadline = time.monotonic() + 60
        while not list(journal.rglob("*.jsonl")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(journal.rglob("*.jsonl"))
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        assert len(children) >= 2
    finally:
        run.kill()
        run.wait()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    """The kernel refuses the journal's bytes in the middle of a line, as a full disk does."""
    plan, out = write_plan(tmp_path), tmp_path / "out"
    assert run_audit("generate", plan, "--out", tmp_path / "whole").returncode == 0
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)); "
        "from audit.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", limited, "generate", str(plan), "--out", str(out)]
    stopped = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert stopped.returncode == 3
    assert "cannot be written: File too large. What was made" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    on = run_audit("generate", plan, "--out", out)
    assert on.returncode == 0
    assert "were there" in on.stdout
    assert ", 0 were there" not in on.stdout
    assert sums(out) == sums(tmp_path / "whole")


@pytest.mark.parametrize("storage", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_a_deleted_cell_comes_back_as_sha256sums_lists_it(tmp_path: Path, storage: str) -> None:
    plan, out = write_plan(tmp_path, questions=3, storage=storage), tmp_path / "out"
    assert run_audit("generate", plan, "--out", out).returncode == 0
    before = sums(out)
    for cell in ("debate", "reflexion"):
        (out / "generations/m/d" / cell / f"part-0.{storage}").unlink()
    made = run_audit("regenerate", out, "--model", tmp_path / "replies.jsonl")
    assert made.returncode == 0, made.stderr
    assert f"generations/m/d/debate/part-0.{storage}: identical to what SHA256SUMS lists." in made.stdout
    assert sums(out) == before
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out, capture_output=True)
    assert checked.returncode == 0, checked.stdout
    assert not (out / ".generate").exists()


def test_regenerating_says_what_differs_and_changes_nothing(tmp_path: Path) -> None:
    plan, out = write_plan(tmp_path), tmp_path / "out"
    assert run_audit("generate", plan, "--out", out).returncode == 0
    replies = tmp_path / "replies.jsonl"
    same = run_audit("regenerate", out, "--model", replies, "--spot-check", "20")
    assert same.returncode == 0
    assert "Made again: 20 records, 20 identical." in same.stdout
    other = tmp_path / "other.jsonl"
    other.write_text(replies.read_text().replace("It is 4", "It was 4").replace("a slip", "a trip"))
    refused = run_audit("regenerate", out, "--model", other, "--cell", "*/self_consistency")
    assert refused.returncode == 2
    assert "the file's SHA-256" in refused.stderr
    assert "--anyway" in refused.stderr
    before = sums(out)
    told = run_audit("regenerate", out, "--model", other, "--cell", "*/self_consistency", "--anyway")
    assert told.returncode == 1
    assert "6 same answer" in told.stdout
    assert "character 3: 'is 4' was released, 'was 4' comes now" in told.stdout
    assert sums(out) == before


def test_a_damaged_record_is_found_by_making_it_again(tmp_path: Path) -> None:
    plan, out = write_plan(tmp_path, storage="jsonl"), tmp_path / "out"
    assert run_audit("generate", plan, "--out", out).returncode == 0
    part = out / "generations/m/d/chain_of_thought/part-0.jsonl"
    part.write_text(part.read_text().replace("boxed{4}", "boxed{9}", 1))
    told = run_audit("regenerate", out, "--model", tmp_path / "replies.jsonl", "--cell", "*/chain_of_thought")
    assert told.returncode == 1
    assert "5 identical, 1 different" in told.stdout
    assert "generation 0, character 10: '9}.' was released, '4}.' comes now" in told.stdout


def test_no_gold_reaches_whatever_makes_records(tmp_path: Path) -> None:
    """The golds are taken out of the release between two runs: the records are the same, to the byte."""
    plan, out = write_plan(tmp_path, storage="jsonl"), tmp_path / "out"
    assert run_audit("generate", plan, "--out", out).returncode == 0
    questions = out / "questions" / "d.jsonl"
    marked = questions.read_text()
    for i in range(6):
        marked = marked.replace(f'"gold":"{i + 4}"', f'"gold":"SECRET{i}"')
    assert marked.count("SECRET") == 6
    questions.write_text(marked)
    told = run_audit("regenerate", out, "--model", tmp_path / "replies.jsonl", "--cell", "*")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "42 identical" in told.stdout


def test_another_run_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    plan, out = write_plan(tmp_path, questions=2), tmp_path / "out"
    hold = (
        "import sys, time; from pathlib import Path; from generators.runner import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", hold, str(out)], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        refused = run_audit("generate", plan, "--out", out)
        assert refused.returncode == 2
        assert "Another run is at work" in refused.stderr
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()
    assert run_audit("generate", plan, "--out", out).returncode == 0
