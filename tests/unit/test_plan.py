"""Plans: every wrong one gets its sentence, and a release goes on only with the plan that it was begun with."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from filelock import FileLock
from support import Ran, run_audit

from generators import runner
from generators.plan import read_plan
from schemas.plan import LlamaCpp, OpenAI, Plan, PlanDataset, PlanMethod, PlanModel, PlanSampling
from schemas.reading import Limits, Line, read_lines
from schemas.record import Record
from verify.grading.policy import POLICIES
from verify.run import verify_release

PLAN = """
format_version = "1.0"
title = "Sums"
storage = "jsonl"
token_cap = 64

[[models]]
id = "m"
[models.scripted]
replies = "replies.jsonl"

[[datasets]]
id = "d"
questions = "questions.jsonl"
policy = "gsm8k"

[[methods]]
method = "chain_of_thought"

[[methods]]
method = "self_consistency"
parameters = { samples = 3 }
"""
SCRIPTED = '[models.scripted]\nreplies = "replies.jsonl"'
COT = 'method = "chain_of_thought"'
QUESTIONS = [(f"q{n}", f"What is {n} plus {n + 3}?", str(2 * n + 3)) for n in range(5)]


def lines(values: Sequence[object]) -> str:
    """JSONL."""
    return "".join(json.dumps(value) + "\n" for value in values)


def write(folder: Path, plan: str = PLAN) -> Path:
    """A plan with its questions and replies."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.toml").write_text(plan)
    (folder / "questions.jsonl").write_text(
        lines([{"id": i, "text": text, "gold": gold} for i, text, gold in QUESTIONS])
    )
    (folder / "replies.jsonl").write_text(
        lines(
            [
                {
                    "when": text,
                    "texts": [f"So \\boxed{{{gold}}}.", f"Or \\boxed{{1{gold}}}?", f"I say \\boxed{{{gold}}}."],
                }
                for _, text, gold in QUESTIONS
            ]
        )
    )
    return folder / "plan.toml"


def generate(plan: Path, *more: str | Path) -> Ran:
    """`audit generate` beside the plan."""
    return run_audit("generate", plan, "--out", plan.parent / "release", *more)


def tree(root: Path) -> dict[str, bytes]:
    """Every file and what it holds."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def sums(plan: Path) -> str:
    """The checksums of the release beside a plan."""
    return (plan.parent / "release" / "SHA256SUMS").read_text()


def records(plan: Path, cell: str) -> list[Record]:
    """The records of a cell of the release beside a plan."""
    path = plan.parent / "release" / "generations" / cell / "part-0.jsonl"
    return [line.value for line in read_lines(path, Record, limits=Limits()) if isinstance(line, Line)]


# Wrong plans

BACKENDS = "write exactly one of [models.llama_cpp], [models.openai] and [models.scripted] below it."
POOL = "self_consistency is the pool that others are compared with, and a setting has one; use majority_vote for more."
WRONG: dict[str, tuple[str, str, str]] = {
    "no plan": (PLAN, "title = Sums", "PLAN: not TOML: Invalid value (at line 1, column 9)."),
    "unknown key": (
        'title = "Sums"',
        'title = "Sums"\ntemperature = 1',
        "PLAN: the object: Additional properties are not allowed ('temperature' was unexpected).",
    ),
    "unknown key below": (
        'policy = "gsm8k"',
        'policy = "gsm8k"\nsize = 5',
        "PLAN: datasets[0]: Additional properties are not allowed ('size' was unexpected).",
    ),
    "another version": ('"1.0"', '"2.0"', "PLAN: format_version: '2.0' is not one of ['1.0']."),
    "two backends": (
        SCRIPTED,
        SCRIPTED + '\n[models.openai]\nmodel = "x"',
        f"PLAN: model 'm' has 2 backends; {BACKENDS}",
    ),
    "no backend": (SCRIPTED, "", f"PLAN: model 'm' has no backend; {BACKENDS}"),
    "no replies": ('"replies.jsonl"', '"other.jsonl"', "FOLDER/other.jsonl is not a file; `replies` names the file of"),
    "no model file": (
        SCRIPTED,
        "[models.llama_cpp]",
        "PLAN: model 'm' names no file; write `file`, or --model FILE.gguf.",
    ),
    "no server": (
        SCRIPTED,
        '[models.openai]\nmodel = "x"',
        "PLAN: model 'm' names no server; write `base_url`, or --base-url URL.",
    ),
    "batch": (
        SCRIPTED,
        "[models.llama_cpp]\nbatch_size = 8",
        "PLAN: models[0].llama_cpp.batch_size: 8 is less than the minimum of 16.",
    ),
    "unknown method": (
        COT,
        'method = "cot"',
        "PLAN: methods[0]: There is no method 'cot'; choose from chain_of_thought, ",
    ),
    "unknown parameter": (
        "{ samples = 3 }",
        "{ sample = 3 }",
        "PLAN: methods[1]: method self_consistency has no parameter 'sample'; it has samples.",
    ),
    "parameter of a method without": (
        COT,
        COT + "\nparameters = { samples = 3 }",
        "PLAN: methods[0]: method chain_of_thought has no parameter 'samples'; it has none.",
    ),
    "text for a number": (
        "samples = 3",
        'samples = "3"',
        "PLAN: methods[1].parameters.samples: '3' is not of type integer or boolean.",
    ),
    "fraction for a number": (
        "samples = 3",
        "samples = 3.5",
        "PLAN: methods[1].parameters.samples: 3.5 is not of type integer or boolean.",
    ),
    "flag for a number": (
        "samples = 3",
        "samples = true",
        "PLAN: methods[1]: method self_consistency: samples is a whole number.",
    ),
    "number for a flag": (
        COT,
        'method = "breadth_depth"\nparameters = { critic = 0 }',
        "PLAN: methods[0]: method breadth_depth: critic is true or false.",
    ),
    "none": (
        "samples = 3",
        "samples = 0",
        "PLAN: methods[1]: method self_consistency: samples is 0; it has to be from 1 to 10000.",
    ),
    "too many": (
        "samples = 3",
        "samples = 10001",
        "PLAN: methods[1]: method self_consistency: samples is 10001; it has to be from 1 to 10000.",
    ),
    "temperature": (
        COT,
        COT + "\ntemperature = -0.1",
        "PLAN: methods[0].temperature: -0.1 is less than the minimum of 0.",
    ),
    "doubled model": (
        "[[datasets]]",
        f'[[models]]\nid = "m"\n{SCRIPTED}\n[[datasets]]',
        "PLAN: models: 'm' stands there twice; give one of them another `id`.",
    ),
    "doubled dataset": (
        COT,
        COT + '\n[[datasets]]\nid = "d"\nquestions = "questions.jsonl"\npolicy = "math"',
        "PLAN: datasets: 'd' stands there twice; give one of them another `id`.",
    ),
    "doubled method": (
        COT,
        COT + f"\n[[methods]]\n{COT}\ntemperature = 1",
        "PLAN: methods: 'chain_of_thought' stands there twice; give one of them another `id`.",
    ),
    "pool with replicates": ("{ samples = 3 }", "{ samples = 3 }\nreplicates = 2", f"PLAN: methods[1]: {POOL}"),
    "two pools": (COT, 'method = "self_consistency"\nid = "other"', f"PLAN: methods[0]: {POOL}"),
    "unknown model": (COT, COT + '\nmodels = ["m", "n"]', "PLAN: methods[0]: models: the plan has no 'n'; it has m."),
    "unknown dataset": (COT, COT + '\ndatasets = ["e"]', "PLAN: methods[0]: datasets: the plan has no 'e'; it has d."),
    "no model named": (COT, COT + "\nmodels = []", "PLAN: methods[0].models: [] should be non-empty."),
    "unknown policy": (
        '"gsm8k"',
        '"mine"',
        "PLAN: datasets[0].policy: 'mine' is not one of ['gsm8k', 'math', 'ror', 'smrl'].",
    ),
    "no questions": (
        '"questions.jsonl"',
        '"other.jsonl"',
        "FOLDER/other.jsonl is not a file; dataset 'd' of the plan names it as its questions.",
    ),
    "a sample too large": (
        'policy = "gsm8k"',
        'policy = "gsm8k"\nsample = 6',
        "FOLDER/questions.jsonl holds 5 questions, and the plan draws 6 of them.",
    ),
    "no prompts": (
        'storage = "jsonl"',
        'prompts = "mine.toml"',
        "FOLDER/mine.toml cannot be read: No such file or directory.",
    ),
}


def refused(result: Ran, plan: Path, message: str) -> None:
    """One sentence on standard error, exit code 2, and no release."""
    assert (result.returncode, result.stdout) == (2, "")
    expected = message.replace("PLAN", str(plan)).replace("FOLDER", str(plan.parent))
    assert result.stderr.startswith(f"Error: {expected}")
    assert len(result.stderr.splitlines()) == 1
    assert not (plan.parent / "release").exists()


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_plan_gets_its_sentence(case: str, tmp_path: Path) -> None:
    old, new, message = WRONG[case]
    assert PLAN.count(old) == 1
    plan = write(tmp_path, PLAN.replace(old, new))
    refused(generate(plan), plan, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FOLDER/questions.jsonl holds no question."),
        ('{"id": "a", "gold": "1"}', "FOLDER/questions.jsonl, line 1: question 'a' has no text, so no model"),
        ('{"id": "a", "gold": "1", "text": " "}', "FOLDER/questions.jsonl, line 1: question 'a' has no text, so no"),
        ('{"id": "a", "text": "?"}\n', "FOLDER/questions.jsonl, line 1: the object: 'gold' is a required property."),
        ('{"id": "a"', "FOLDER/questions.jsonl, line 1: not JSON: "),
        (
            '\n{"id": "a", "gold": "1", "text": "x"}\n{"id": "a", "gold": "2", "text": "y"}',
            "FOLDER/questions.jsonl, line 3: the id 'a' came before; ids must be unique.",
        ),
        (
            '{"id": "a", "gold": "1", "text": "x", "index": 1}\n{"id": "b", "gold": "2", "text": "y"}',
            "FOLDER/questions.jsonl, line 2: the position 1 came before; give every question its `index`, or none.",
        ),
        (
            '{"id": "a", "gold": "1", "text": "\\ud83d"}',
            "FOLDER/questions.jsonl, line 1: question 'a' holds half a character (a lone surrogate).",
        ),
    ],
)
def test_wrong_questions_get_their_sentence(text: str, message: str, tmp_path: Path) -> None:
    plan = write(tmp_path)
    (tmp_path / "questions.jsonl").write_text(text)
    refused(generate(plan), plan, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('sovle = "$question"', "there is no prompt 'sovle'; choose from system, solve, "),
        ('solve = "Go on."', "solve: $question does not occur; the model would never see it."),
        ('retry = "$question"', "retry: $reflections does not occur; the model would never see it."),
        ('solve = "$question $hint"', "solve: there is no field $hint here; it has $question."),
        ('judge = "$question"', "judge: there is no field $question here; it has none."),
        ('solve = "$question for 5 $"', "solve: a lone `$`; write `$$` for a dollar sign."),
        ("solve = 5", "solve: a prompt is a text in quotes."),
    ],
)
def test_wrong_prompts_get_their_sentence(text: str, message: str, tmp_path: Path) -> None:
    plan = write(tmp_path, PLAN.replace('storage = "jsonl"', 'prompts = "mine.toml"'))
    (tmp_path / "mine.toml").write_text(text)
    refused(generate(plan), plan, f"FOLDER/mine.toml: {message}")


def test_a_dollar_sign_in_a_question_is_no_field(tmp_path: Path) -> None:
    plan = write(tmp_path, PLAN.replace('storage = "jsonl"', 'storage = "jsonl"\nprompts = "mine.toml"'))
    (tmp_path / "mine.toml").write_text('solve = "For $$1: $question"')
    (tmp_path / "questions.jsonl").write_text(lines([{"id": "a", "text": "$solution costs $5?", "gold": "5"}]))
    (tmp_path / "replies.jsonl").write_text(lines([{"when": "For $1: $solution costs $5?", "texts": ["5", "6", "7"]}]))
    assert generate(plan).returncode == 0


TWO = '[models.llama_cpp]\n[[models]]\nid = "n"\n[models.llama_cpp]'


@pytest.mark.parametrize(
    ("plan", "arguments", "message"),
    [
        (
            TWO,
            ["--model", "x.gguf"],
            "PLAN has 2 models with [models.llama_cpp]; write --model ID=x.gguf, ID naming one.",
        ),
        (TWO, ["--model", "o=x.gguf"], "PLAN has no model 'o' with [models.llama_cpp]; --model names one."),
        (TWO, ["--model", "n=x.gguf"], "PLAN: model 'm' names no file; write `file`, or --model FILE.gguf."),
        (TWO, ["--model", "n=x", "--model", "n=y"], "--model names two values for n; write --model ID=VALUE for each."),
        (SCRIPTED, ["--model", "x"], "PLAN has no model with [models.llama_cpp], and --model is for these alone."),
        (SCRIPTED, ["--base-url", "http://x"], "PLAN has no model with [models.openai], and --base-url is for these"),
        (SCRIPTED, ["--cells", "m/e/*"], "No cell is called like m/e/*; there are m/d/chain_of_thought, m/d/self_c"),
    ],
)
def test_options_that_name_nothing_get_their_sentence(
    plan: str, arguments: list[str], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, PLAN.replace(SCRIPTED, plan))
    refused(generate(path, *arguments), path, message)


def test_every_policy_of_a_plan_is_one_that_grades() -> None:
    assert set(get_args(PlanDataset.__annotations__["policy"].__origin__)) == set(POLICIES)


# `audit plan`


def test_init_writes_a_plan_that_loads_and_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    result = run_audit("plan", "init", path)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"audit generate {path}" in result.stdout
    study = read_plan(path, files={None: "model.gguf"})
    assert len(study.questions["my-questions"]) == 3
    fields = {
        field
        for kind in (Plan, PlanModel, PlanDataset, PlanMethod, PlanSampling, LlamaCpp, OpenAI)
        for field in kind.__struct_fields__
    }
    # What is commented out is right as well.
    assert set(re.findall(r"^# (\w+) =", path.read_text(), re.MULTILINE)) <= fields
    for kept in (path, tmp_path / "questions.jsonl"):
        before = tree(tmp_path)
        result = run_audit("plan", "init", path)
        assert result.returncode == 2
        assert f"{kept} exists already; name another path." in result.stderr
        assert tree(tmp_path) == before
        kept.unlink()


def test_methods_are_listed_with_their_calls() -> None:
    text = run_audit("plan", "methods").stdout
    found = re.findall(r"^(\w+): .*\n    (.*)$", text, re.MULTILINE)
    counts = {}
    for name, rest in found:
        ranges = re.findall(r"(\d+)(?: to (\d+))? [a-z]+(?:,|$)", rest.rsplit("; ", 1)[-1])
        counts[name] = (sum(int(low) for low, _ in ranges), sum(int(high or low) for low, high in ranges))
    # Sample More, Reflect Less, Table 1; Refining Over Resampling, 4.2, of whose Algorithm 1 follow 8 × (1 + 3 × 4).
    assert counts == {
        "chain_of_thought": (1, 1),
        "plan_and_solve": (1, 1),
        "self_refine": (7, 7),
        "reflexion": (2, 10),
        "reflexion_forced": (7, 7),
        "best_of_n": (9, 9),
        "debate": (9, 9),
        "self_consistency": (16, 16),
        "greedy": (1, 1),
        "majority_vote": (8, 8),
        "reward_model": (8, 8),
        "beam_search": (1, 8),
        "lookahead": (24, 24),
        "breadth_depth": (104, 104),
    }


# Going on

LARGER = (
    PLAN.replace(COT, COT + "\nreplicates = 2")
    + """
[[datasets]]
id = "e"
questions = "questions.jsonl"
policy = "math"
sample = 3
"""
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan of a release that one run made."""
    plan = write(tmp_path_factory.mktemp("whole"), LARGER)
    assert generate(plan).returncode == 0
    return plan


def test_one_run_makes_what_the_plan_says(whole: Path) -> None:
    report = verify_release(whole.parent / "release").report
    assert report.counts.refuted == 0
    assert [record.question_id for record in records(whole, "m/d/self_consistency")] == [q for q, _, _ in QUESTIONS]
    # Python's own random.Random(1234).shuffle puts 0, 1, 2, 3, 4 into the order 1, 2, 4, 0, 3.
    assert [record.question_index for record in records(whole, "m/e/self_consistency")] == [1, 2, 4]
    assert {record.replicate for record in records(whole, "m/d/chain_of_thought@1")} == {1}


@pytest.mark.parametrize(
    "runs",
    [
        [["--limit", "2"], []],
        [["--cells", "*/self_consistency"], []],
        [["--cells", "m/e/*"], []],
        [["--limit", "1", "--cells", "m/e/chain*", "--cells", "m/d/self*"], ["--limit", "3"], []],
        [[], ["--cells", "m/e/*", "--limit", "1"]],
    ],
)
def test_a_part_first_and_the_rest_later_is_the_same_release(
    runs: list[list[str]], whole: Path, tmp_path: Path
) -> None:
    plan = write(tmp_path, LARGER)
    for options in runs:
        result = generate(plan, *options)
        assert (result.returncode, result.stderr) == (0, "")
        assert verify_release(tmp_path / "release").report.counts.refuted == 0
    assert sums(plan) == sums(whole)
    assert tree(tmp_path / "release") == tree(whole.parent / "release")


def test_a_model_that_is_not_asked_need_not_be_there(tmp_path: Path) -> None:
    two = PLAN + '[[models]]\nid = "n"\nscripted = { replies = "n.jsonl" }\n'
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole, parts = write(tmp_path / "whole", two), write(tmp_path / "parts", two)
    replies = (tmp_path / "parts/replies.jsonl").read_text()
    for folder in ("whole", "parts"):
        (tmp_path / folder / "replies.jsonl").rename(tmp_path / folder / "n.jsonl")
    assert generate(parts, "--cells", "n/*").returncode == 0
    for folder in ("whole", "parts"):
        (tmp_path / folder / "replies.jsonl").write_text(replies)
    assert generate(whole).returncode == generate(parts).returncode == 0
    assert tree(tmp_path / "whole/release") == tree(tmp_path / "parts/release")


def test_a_limited_run_holds_the_first_questions_and_says_so(tmp_path: Path) -> None:
    plan = write(tmp_path)
    assert "4 records made" in generate(plan, "--limit", "2").stdout
    assert [record.question_id for record in records(plan, "m/d/chain_of_thought")] == ["q0", "q1"]
    report = verify_release(tmp_path / "release").report
    (grid,) = [finding for finding in report.findings if finding.check == "grid"]
    assert grid.verdict == "confirmed"


CHANGED: dict[str, tuple[str, str, str]] = {
    "temperature": (
        COT,
        COT + "\n[sampling]\ntemperature = 0.9",
        "cell 'm/d/self_consistency' differs in `sampling`",
    ),
    "cap": ("token_cap = 64", "token_cap = 65", "cell 'm/d/chain_of_thought' differs in `token_cap`"),
    "parameters": ("samples = 3", "samples = 4", "cell 'm/d/self_consistency' differs in `parameters.samples`"),
    "storage": ('storage = "jsonl"', 'storage = "jsonl.gz"', "the plan has another `storage`"),
    "prompts": ('storage = "jsonl"', 'storage = "jsonl"\nprompts = "mine.toml"', "the prompts are others"),
    "questions": ('"questions.jsonl"', '"others.jsonl"', "the questions of 'd' are others"),
    "policy": ('"gsm8k"', '"math"', "dataset 'd' differs in `policy`"),
    "model": ('"replies.jsonl"', '"others.jsonl"', "model 'm' differs in `file_sha256`"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_another_plan_is_refused_and_nothing_is_lost(case: str, tmp_path: Path) -> None:
    old, new, message = CHANGED[case]
    plan = write(tmp_path)
    root = tmp_path / "release"
    assert generate(plan, "--limit", "2").returncode == 0
    (tmp_path / "mine.toml").write_text('judge = "Right?"')
    name = "replies.jsonl" if case == "model" else "questions.jsonl"
    (tmp_path / "others.jsonl").write_text((tmp_path / name).read_text().replace("What is", "How much is", 1))
    before = tree(root)
    assert PLAN.count(old) == 1
    plan.write_text(PLAN.replace(old, new))
    result = generate(plan)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        f"Error: {root} was begun otherwise: {message}. Name another --out, or remove the folder to begin anew.\n"
    )
    assert tree(root) == before
    plan.write_text(PLAN)
    assert generate(plan).returncode == 0
    assert len(records(plan, "m/d/self_consistency")) == 5


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    plan = write(tmp_path)
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "thesis.tex").write_text("mine")
    result = generate(plan)
    assert result.returncode == 2
    assert "holds thesis.tex but no release.json; name an empty or a new folder." in result.stderr
    assert tree(tmp_path / "release") == {"thesis.tex": b"mine"}


def until_full(plan: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """`audit generate` on a disk that has room for so many records and some bytes."""
    append, room = runner.Journal.append, iter(range(count))

    def full(journal: runner.Journal, line: bytes) -> None:
        if next(room, None) is None:
            with journal.path.open("ab") as file:
                file.write(line[:20])
            raise OSError(28, "No space left on device")
        append(journal, line)

    with monkeypatch.context() as patch:
        patch.setattr(runner.Journal, "append", full)
        return generate(plan)


def test_a_full_disk_stops_the_run_and_the_same_command_ends_it(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = write(tmp_path, LARGER)
    result = until_full(plan, 7, monkeypatch)
    assert (result.returncode, result.stdout) == (3, "")
    assert "cannot be written: No space left on device. What was made before is kept; make room and run the same" in (
        result.stderr
    )
    result = generate(plan)
    assert (result.returncode, result.stderr) == (0, "")
    assert "17 records made" in result.stdout
    assert "7 were there" in result.stdout
    assert tree(tmp_path / "release") == tree(whole.parent / "release")


def test_cells_that_are_not_named_are_left_as_they_are(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = write(tmp_path, LARGER)
    until_full(plan, 7, monkeypatch)  # all of m/d/chain_of_thought@0, two of @1
    result = generate(plan, "--cells", "m/e/self*", "--cells", "m/d/chain*@0")
    assert (result.returncode, result.stderr) == (0, "")
    assert "3 records made" in result.stdout
    assert "5 were there" in result.stdout
    assert "nothing to do" in generate(plan, "--cells", "m/d/chain*@0").stdout
    assert len(records(plan, "m/d/chain_of_thought@1")) == 2
    assert "14 records made" in generate(plan).stdout
    assert tree(tmp_path / "release") == tree(whole.parent / "release")


def test_another_plan_adds_its_model_to_a_release(tmp_path: Path) -> None:
    plan = write(tmp_path)
    replies = (tmp_path / "replies.jsonl").read_text()
    (tmp_path / "replies.jsonl").write_text('{"when": "2 plus", "texts": [null]}\n' + replies)
    assert generate(plan).returncode == 1
    (tmp_path / "others.jsonl").write_text(replies)
    plan.write_text(PLAN.replace('id = "m"', 'id = "n"').replace("replies.jsonl", "others.jsonl"))
    result = generate(plan)
    # The other plan's question is still without an answer, and this plan has no model for it.
    assert (result.returncode, result.stderr) == (1, "")
    assert "10 records made" in result.stdout
    assert "m/d/chain_of_thought: 1 records failed" in result.stdout
    assert [record.status for record in records(plan, "n/d/self_consistency")] == ["ok"] * 5
    assert verify_release(tmp_path / "release").report.counts.refuted == 0


def test_one_run_at_a_time(tmp_path: Path) -> None:
    plan = write(tmp_path)
    folder = tmp_path / "release" / runner.FOLDER
    folder.mkdir(parents=True)
    with FileLock(folder / "lock"):
        result = generate(plan)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == (
            f"Error: Another run is at work on {tmp_path / 'release'}; wait for it, or name another --out.\n"
        )
    assert generate(plan).returncode == 0
    assert not folder.exists()


# Rewards

RM = PLAN.split("[[methods]]")[0] + '[[methods]]\nmethod = "reward_model"\nparameters = { samples = 3 }\n'
SCORE = """
import json, sys
for number, line in enumerate(sys.stdin):
    asked = json.loads(line)
    assert asked["question"].startswith("What is ")
    {act}
    print(len(asked["text"]), flush=True)
"""


def command(folder: Path, act: str = "pass") -> list[str | Path]:
    """Options that name a reward model, which is a script: the longest text is the best."""
    script = folder / "rewards.py"
    script.write_text(SCORE.format(act=act))
    return ["--reward-command", f"{sys.executable} {script}"]


def test_scores_of_a_command_and_of_a_file_decide_alike(tmp_path: Path) -> None:
    plan = write(tmp_path / "a", RM)
    assert generate(plan, *command(tmp_path)).returncode == 0
    made = records(plan, "m/d/reward_model")
    assert [g.score for record in made for g in record.generations] == [
        len(g.text or "") for record in made for g in record.generations
    ]
    report = verify_release(plan.parent / "release").report
    assert report.counts.refuted == 0
    # The longest text is the second or the third of each script, by the seed: what decides is no text's place.
    right = sum(
        max(record.generations, key=lambda g: g.score or 0).text
        in (f"So \\boxed{{{gold}}}.", f"I say \\boxed{{{gold}}}.")
        for record, (_, _, gold) in zip(made, QUESTIONS, strict=True)
    )
    (accuracy,) = [estimate for estimate in report.estimates if estimate.statistic == "accuracy"]
    assert accuracy.value == right / 5
    given = [
        {"cell": record.cell, "question_id": record.question_id, "index": g.index, "score": g.score}
        for record in made
        for g in record.generations
    ]
    scores = tmp_path / "scores.jsonl"
    scores.write_text(lines(given))
    again = write(tmp_path / "b", RM)
    assert generate(again, "--reward-file", scores).returncode == 0
    assert sums(again) == sums(plan)
    # Without some scores their questions fail, and the scores make them good.
    scores.write_text(lines([score for score in given if score["question_id"] != "q2"]))
    again = write(tmp_path / "c", RM)
    result = generate(again, "--reward-file", scores)
    assert result.returncode == 1
    assert (
        "m/d/reward_model: 1 records failed, the last with: scores.jsonl has no score for generation 0" in result.stdout
    )
    assert [record.question_id for record in records(again, "m/d/reward_model") if record.status == "failed"] == ["q2"]
    scores.write_text(lines(given))
    assert generate(again, "--reward-file", scores).returncode == 0
    assert sums(again) == sums(plan)
    # What is whole needs no reward model.
    assert "nothing to do" in generate(again).stdout


@pytest.mark.parametrize(
    ("act", "code", "message"),
    [
        ("sys.exit(3) if number == 4 else None", 3, "--reward-command ended without an answer: "),
        (
            "print('loaded', flush=True)",
            3,
            "--reward-command answered 'loaded', which is no number; it has to print one",
        ),
        ("print('NaN', flush=True)", 3, "--reward-command answered 'NaN', which is no number; it has to print one"),
    ],
)
def test_a_reward_command_that_fails_stops_the_run(act: str, code: int, message: str, tmp_path: Path) -> None:
    plan = write(tmp_path, RM)
    result = generate(plan, *command(tmp_path, act))
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_text_that_the_reward_command_has_no_score_for_is_a_failed_record(tmp_path: Path) -> None:
    plan = write(tmp_path, RM)
    result = generate(plan, *command(tmp_path, "print('null', flush=True); continue"))
    assert result.returncode == 1
    assert "5 records failed, the last with: the reward command has no score for generation 0" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "cell m/d/reward_model needs a reward model's scores; name --reward-command or --reward-file."),
        (["--reward-command", ""], "--reward-command is empty."),
        (
            ["--reward-command", "no-such-command-here -x"],
            "--reward-command: 'no-such-command-here' cannot be started: ",
        ),
        (["--reward-command", "score 'x"], "cannot be split into words: No closing quotation."),
        (["--reward-file", "no-such-file"], "no-such-file is not a file; --reward-file names a file of scores."),
    ],
)
def test_a_reward_model_that_is_none_gets_its_sentence(options: list[str], message: str, tmp_path: Path) -> None:
    result = generate(write(tmp_path, RM), *options)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_wrong_line_of_scores_gets_its_sentence(tmp_path: Path) -> None:
    plan = write(tmp_path, RM)
    (tmp_path / "scores.jsonl").write_text('{"cell": "m/d/reward_model", "question_id": "q0", "index": 0}\n')
    result = generate(plan, "--reward-file", tmp_path / "scores.jsonl")
    assert result.returncode == 2
    assert "scores.jsonl, line 1: " in result.stderr
    assert "score" in result.stderr
