"""Every release in fixtures/releases yields exactly the findings written beside it."""

import json

import pytest
from support import FIXTURES, run_audit

from generators.flaws import FLAWS

NAMES = sorted(path.name.removesuffix(".expected.json") for path in FIXTURES.glob("*.expected.json"))


def test_there_is_a_fixture_for_every_flaw_and_an_intact_one() -> None:
    assert set(NAMES) == {"intact", *FLAWS}


@pytest.mark.parametrize("name", NAMES)
def test_fixture_yields_exactly_its_findings(name: str) -> None:
    expected = json.loads((FIXTURES / f"{name}.expected.json").read_text())
    questions = ["--questions", FIXTURES / expected["questions"]] if "questions" in expected else []

    result = run_audit("verify", FIXTURES / name, *questions, "--format", "json")

    assert result.stderr == ""
    report = json.loads(result.stdout)
    found = [[f["id"], f["verdict"]] for f in report["findings"] if f["verdict"] != "confirmed"]
    assert found == expected["findings"]
    assert result.returncode == expected["exit_code"]
    assert (result.returncode == 0) == (name == "intact")
    by_id = {f["id"]: f for f in report["findings"]}
    for finding, words in expected.get("diagnosis", {}).items():
        assert words in by_id[finding]["diagnosis"][0]["alternative"]
