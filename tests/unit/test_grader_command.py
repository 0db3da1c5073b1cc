"""`audit grader test`, on graders whose faults are known."""

import json
import re
import sys

import pytest

from audit.commands.grader import grader, read_golds
from audit.outcome import Outcome
from schemas.errors import UsageError
from verify.grading.trial import run_trial

LAZY_PATTERN = re.compile(r"\\boxed\{(.+?)\}")


def lazy(text: str, gold: str) -> bool:
    """Cuts a box at its first closing brace: the fault that SMRL 4.4 warns of."""
    found = LAZY_PATTERN.findall(text)
    return bool(found) and found[-1] == gold


def hangs(text: str, gold: str) -> bool:
    while gold == "5":
        pass
    return True


def dies(text: str, gold: str) -> bool:
    if gold == "5":
        sys.exit(3)
    return text == f"So the result is $\\boxed{{{gold}}}$."


def _run(*arguments: str) -> Outcome:
    outcome = grader.main(["test", *arguments], standalone_mode=False)
    assert isinstance(outcome, Outcome)
    return outcome


@pytest.fixture(autouse=True)
def _this_folder(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setenv("PYTHONPATH", str(request.path.parent))


def test_our_grader_passes(tmp_path) -> None:
    golds = tmp_path / "golds.jsonl"
    golds.write_text('{"answer": "work #### 1,250"}\n\n{"gold": ["-7", "8"]}\n')
    outcome = _run("verify.grading:grade", "--golds", str(golds), "--max-examples", "10")
    assert outcome.exit_code == 0, outcome.text
    assert "every property holds" in outcome.text


def test_a_lazy_pattern_is_found_with_a_short_response() -> None:
    outcome = _run("test_grader_command:lazy", "--max-examples", "30", "--format", "json")
    report = json.loads(outcome.text)
    assert outcome.exit_code == 1
    failed = {result["property"]: result["counterexample"] for result in report["results"] if result["failed"]}
    assert "}" in failed["round trip"]["gold"]
    assert len(failed["round trip"]["response"]) < 60
    assert "golds: extra braces" in failed


def test_a_seed_fixes_the_trial() -> None:
    one, other, third = (
        [
            result.counterexample
            for result in run_trial("test_grader_command:lazy", start=start, size=5, max_examples=20).results
        ]
        for start in (4, 4, 5)
    )
    assert one == other
    assert one != third


@pytest.mark.parametrize(("name", "reason"), [("hangs", "no answer within 0.2 s"), ("dies", "SystemExit: 3")])
def test_a_call_that_hangs_or_dies_is_a_finding(name: str, reason: str) -> None:
    report = run_trial(f"test_grader_command:{name}", golds=["5", "6"], max_examples=3, call_s=0.2, size=20)
    got = [result.counterexample.got for result in report.failures if result.counterexample]
    assert reason in got


def test_a_target_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"package\.module:function.*nowhere"):
        _run("nowhere:grade")


def test_a_gold_file_without_golds(tmp_path) -> None:
    path = tmp_path / "golds.jsonl"
    path.write_text('{"gold": "1"}\n{"question": "?"}\n')
    with pytest.raises(UsageError, match="line 2"):
        read_golds(path)
