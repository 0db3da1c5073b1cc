"""docs/generate.md: its commands run, its files load, and its table is that of the methods."""

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from support import ROOT, Ran, run_audit

from generators.methods import METHODS
from generators.prompts import FIELDS, load_prompts
from generators.rewards import Score
from schemas.plan import OpenAI, PlanMethod, PlanModel
from schemas.reading import convert

TEXT = (ROOT / "docs" / "generate.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[str]:
    """The page's blocks of one language."""
    return [text for name, text in BLOCKS if name == language]


FIRST, AGAIN, FILLED, REWARDED = blocks("")
VARIANT, SERVER, PROMPTS = map(tomllib.loads, blocks("toml"))
(SCRIPT,) = blocks("python")
(SCORES,) = blocks("json")


def run(line: str) -> Ran:
    """A command of the page, where replies.jsonl stands for the model."""
    program, *words = shlex.split(line.replace("python rewards.py", f"{sys.executable} rewards.py"))
    assert program == "audit"
    at = words.index("--model") if "--model" in words else None
    if words[0] == "generate" and at is not None:
        del words[at : at + 2]
    elif at is not None:
        words[at + 1] = "replies.jsonl"
    return run_audit(*words)


def without_model(plan: Path) -> None:
    """Written replies in the place of the plan's model."""
    text = re.sub(
        r"\[models.llama_cpp\]\n.*?\n# \[",
        '[models.scripted]\nreplies = "replies.jsonl"\n# [',
        plan.read_text(),
        flags=re.S,
    )
    plan.write_text(text)
    numbers = [f"Let me see: it is {number}.\nSo \\boxed{{{number}}}." for number in (29, 60, 22, 7)]
    plan.with_name("replies.jsonl").write_text(json.dumps({"when": "", "texts": numbers}) + "\n")


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    init, limited, whole, verify = FIRST.splitlines()
    assert run(init).returncode == 0
    without_model(tmp_path / "plan.toml")
    # Three methods, two questions of three.
    assert "6 records made" in run(limited).stdout
    result = run(whole)
    assert (result.returncode, result.stderr) == (0, "")
    assert "3 records made" in result.stdout
    assert "6 were there" in result.stdout
    assert run(verify).returncode in (0, 4)  # three questions are too few to compare methods at equal cost

    sums = (tmp_path / "release" / "SHA256SUMS").read_text()
    (tmp_path / "release/generations/my-model/my-questions/chain_of_thought/part-0.jsonl.gz").unlink()
    missing, spot_check, cell = (run(line) for line in AGAIN.splitlines())
    assert (missing.returncode, missing.stdout) == (0, FILLED)
    assert (spot_check.returncode, spot_check.stdout) == (0, "Made again: 5 records, 5 identical.\n")
    assert (cell.returncode, cell.stdout) == (0, "Made again: 3 records, 3 identical.\n")
    assert (tmp_path / "release" / "SHA256SUMS").read_text() == sums

    with (tmp_path / "plan.toml").open("a") as file:
        file.write('[[methods]]\nmethod = "reward_model"\n')
    (tmp_path / "rewards.py").write_text(SCRIPT)
    result = run(REWARDED)
    assert (result.returncode, result.stderr) == (0, "")
    assert "3 records made" in result.stdout


def test_the_files_load(tmp_path: Path) -> None:
    (model,) = SERVER["models"]
    options = convert(model, PlanModel).openai
    assert options is not None
    assert set(model["openai"]) | {"standard_only"} == set(OpenAI.__struct_fields__)
    (variant,) = VARIANT["methods"]
    planned = convert(variant, PlanMethod)
    METHODS[planned.method].with_defaults(planned.parameters or {})
    path = tmp_path / "prompts.toml"
    path.write_text("\n".join(f"{name} = {json.dumps(text)}" for name, text in PROMPTS.items()))
    assert load_prompts(path).texts["judge"] == PROMPTS["judge"]
    assert set(PROMPTS) < set(FIELDS)
    score = msgspec.json.decode(SCORES, type=Score)
    assert score.cell.rsplit("/", 1)[1] in METHODS


def test_the_table_is_that_of_the_methods() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\w-]+) \| (0|plan's) \| (\d+)(?: to (\d+))? \|(.*)\|$", TEXT, re.MULTILINE)
    assert [name for name, *_ in rows] == list(METHODS)
    for name, rule, temperature, low, high, note in rows:
        method = METHODS[name]
        ranges = method.calls(method.parameters).values()
        assert (int(low), int(high or low)) == (sum(least for least, _ in ranges), sum(most for _, most in ranges)), (
            name
        )
        assert rule == method.decision_rule, name
        assert (temperature == "0") is not method.diverse, name
        # Where a formula gives a parameter's default, it is that one.
        for parameter, default in re.findall(r"`(\w+)` \((\d+)\)", note):
            assert method.parameters[parameter] == int(default), name
