"""The releases in fixtures that a real model made: they verify, number by number."""

import json

import pytest
from support import FIXTURES, run_audit

MADE_BY_MODELS = sorted(
    path.name for path in FIXTURES.iterdir() if path.is_dir() and not (FIXTURES / f"{path.name}.expected.json").exists()
)


def test_there_is_one() -> None:
    assert "smollm2-easy" in MADE_BY_MODELS


@pytest.mark.parametrize("name", MADE_BY_MODELS)
def test_every_published_number_follows(name: str) -> None:
    result = run_audit("verify", FIXTURES / name, "--format", "json")
    assert result.returncode == 0, result.stdout
    report = json.loads(result.stdout)
    claims = [finding for finding in report["findings"] if finding["check"] == "claim"]
    assert claims
    assert {finding["verdict"] for finding in claims} == {"confirmed"}
    assert report["counts"]["warnings"] == 0
