"""Making records again: what is missing comes back to the byte, what exists is compared and left alone."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from support import FIXTURES, Ran, run_audit

from audit.commands import generate, regenerate
from generators.regenerate import Compared, Regenerated
from generators.runner import Made
from schemas.errors import UsageError
from schemas.reading import Limits, Line, read_lines
from schemas.record import Record
from schemas.writing import write_lines, write_sums

PLAN = """
format_version = "1.0"
title = "Again"
storage = "jsonl"
models = [{ id = "m", scripted = { replies = "replies.jsonl" } }]
datasets = [{ id = "d", questions = "questions.jsonl", policy = "gsm8k" }]
[[methods]]
method = "chain_of_thought"
[[methods]]
method = "majority_vote"
parameters = { samples = 3 }
[[methods]]
method = "self_refine"
parameters = { rounds = 1 }
"""
COT, VOTE = "generations/m/d/chain_of_thought/part-0.jsonl", "generations/m/d/majority_vote/part-0.jsonl"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A release of written replies, which lie beside it."""
    (tmp_path / "plan.toml").write_text(PLAN)
    questions = [{"id": f"q{n}", "text": f"What is {n} plus 1?", "gold": str(n + 1)} for n in range(4)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    replies = [
        {
            "when": f"{n} plus 1",
            "texts": [f"I get \\boxed{{{n + 1}}}.", f"Is it \\boxed{{{n}}}?", f"\\boxed{{{n + 1}}}"],
        }
        for n in range(4)
    ]
    (tmp_path / "replies.jsonl").write_text(
        "".join(json.dumps(reply) + "\n" for reply in [*replies, {"when": "", "texts": ["It is fine: \\boxed{1}."]}])
    )
    assert run_audit("generate", tmp_path / "plan.toml", "--out", tmp_path / "release").returncode == 0
    return tmp_path / "release"


def again(release: Path, *more: str) -> Ran:
    """`audit regenerate` with the replies."""
    return run_audit("regenerate", release, "--model", release.parent / "replies.jsonl", *more)


def tree(root: Path) -> dict[str, bytes]:
    """Every file and what it holds."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def change(path: Path, number: int, **fields: object) -> None:
    """Change the first generation of a record of a file."""
    records = [line.value for line in read_lines(path, Record, limits=Limits()) if isinstance(line, Line)]
    first, *rest = records[number].generations
    records[number] = msgspec.structs.replace(
        records[number], generations=[msgspec.structs.replace(first, **fields), *rest]
    )
    write_lines(path, records)


def test_what_is_there_is_identical_and_left_alone(release: Path) -> None:
    before = tree(release)
    assert again(release).stdout.startswith("Nothing is missing.")
    assert again(release, "--spot-check", "5").stdout == "Made again: 5 records, 5 identical.\n"
    assert again(release, "--spot-check", "99").stdout == "Made again: 12 records, 12 identical.\n"
    assert again(release, "--cell", "m/d/m*").stdout == "Made again: 4 records, 4 identical.\n"
    assert tree(release) == before


def test_missing_records_files_and_checksums_come_back(release: Path) -> None:
    before = tree(release)
    (release / VOTE).unlink()
    lines = (release / COT).read_bytes().splitlines(keepends=True)
    (release / COT).write_bytes(b"".join(lines[:1] + lines[2:]))
    result = again(release)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "Filled in: m/d/chain_of_thought, 1 records.",
        "Filled in: m/d/majority_vote, 4 records.",
        f"{VOTE}: identical to what SHA256SUMS lists.",
    ]
    assert tree(release) == before


def test_other_texts_are_told_apart_and_the_first_difference_shown(release: Path) -> None:
    change(release / COT, 0, text="I get \\boxed{9}.")
    change(release / COT, 1, text="I got \\boxed{2}.")
    change(release / COT, 2, completion_tokens=7)
    write_sums(release)
    before = tree(release)
    result = again(release, "--cell", "*/chain_of_thought")
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "Made again: 4 records, 1 identical, 2 same answer, 1 different.",
        "  different: m/d/chain_of_thought, q0: generation 0, character 13: '9}.' was released, '1}.' comes now",
        "  same answer: m/d/chain_of_thought, q1: generation 0, character 3: "
        "'ot \\\\boxed{2}.' was released, 'et \\\\boxed{2}.' comes now",
        "  same answer: m/d/chain_of_thought, q2: generation 0: completion_tokens 7 was released, 3 comes now",
    ]
    assert tree(release) == before


def test_a_file_that_comes_out_otherwise_is_said_and_keeps_its_old_line(release: Path) -> None:
    listed = (release / "SHA256SUMS").read_text()
    at = re.search(f"^([0-9a-f]{{64}})  {VOTE}$", listed, re.MULTILINE)
    assert at is not None
    (release / "SHA256SUMS").write_text(listed.replace(at[1], "0" * 64))
    (release / VOTE).unlink()
    result = again(release)
    assert result.returncode == 1
    assert f"{VOTE}: NOT what SHA256SUMS lists." in result.stdout
    assert "0" * 64 in (release / "SHA256SUMS").read_text()


def test_another_model_is_refused_unless_anyway(release: Path) -> None:
    replies = release.parent / "replies.jsonl"
    replies.write_text(replies.read_text().replace("I get", "I see"))
    before = tree(release)
    refused = again(release, "--spot-check", "2")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "model 'm' is not run as it was: the file's SHA-256 is " in refused.stderr
    assert "--anyway goes on all the same." in refused.stderr
    result = again(release, "--cell", "*/chain_of_thought", "--anyway")
    assert result.returncode == 1
    note, count, *differences = result.stdout.splitlines()
    assert note.startswith("Note: the file's SHA-256 is ")
    assert count == "Made again: 4 records, 4 same answer."
    assert len(differences) == 4
    assert tree(release) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name the replies of model 'm': --model FILE.jsonl"),
        (["--cell", "x/*"], "has no cell called like x/*."),
        (["--model", "no-such-file", "--spot-check", "1"], "no-such-file is not a file"),
    ],
)
def test_a_wrong_call_gets_its_sentence(release: Path, arguments: list[str], message: str) -> None:
    (release / VOTE).unlink()
    result = run_audit("regenerate", release, *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_other_prompts_than_those_of_the_manifest_make_nothing(release: Path) -> None:
    text = (release / "prompts.toml").read_text()
    (release / "prompts.toml").write_text(text.replace("step by step", "at once"))
    result = again(release, "--spot-check", "1")
    assert (result.returncode, result.stdout) == (3, "")
    assert "prompt 'system' of prompts.toml is not the one whose SHA-256 the manifest gives" in result.stderr


def test_a_release_of_other_software_is_no_case_for_this() -> None:
    result = run_audit("regenerate", FIXTURES / "intact")
    assert (result.returncode, result.stdout) == (3, "")
    assert "holds no prompts.toml, so its records cannot be made again." in result.stderr


def test_records_in_other_files_than_ours_are_not_made_twice(release: Path) -> None:
    (release / COT).rename((release / COT).with_name("part-1.jsonl"))
    before = tree(release)
    result = again(release)
    assert (result.returncode, result.stdout) == (3, "")
    assert "generations/m/d/chain_of_thought/part-1.jsonl is not as `audit generate` writes it" in result.stderr
    assert tree(release) == before


def test_without_math_verify_a_difference_is_told_all_the_same(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(text: str, other: str) -> bool:
        raise UsageError("install the extra")

    monkeypatch.setattr("generators.regenerate.reads_same", absent)
    change(release / COT, 0, text="I get \\boxed{9}.")
    result = again(release, "--cell", "*/chain_of_thought")
    assert result.returncode == 1
    assert "Made again: 4 records, 3 identical, 1 different." in result.stdout
    assert "(whether the answers agree needs the extra [summarize])" in result.stdout


def test_no_text_of_a_release_or_a_server_steers_the_terminal() -> None:
    # Of the commands' text before it is printed: whoever reads no terminal would not see the difference.
    evil = "\x1b[2J\u202e"
    compared = Compared("m/d/x", f"q{evil}", "different", f"note {evil}")
    texts = [
        regenerate._text(Regenerated(compared=[compared], changed={"m": [f"version is {evil}"]})),
        generate._text(Made(records=1, failed={"m/d/x": 1}, causes={"m/d/x": f"HTTP 400 ({evil})"}), Path("out"), 1.0),
    ]
    for text in texts:
        assert "[2J" in text
        assert not set(evil[0] + evil[-1]) & set(text)
