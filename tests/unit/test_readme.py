"""The README shows what the commands really print."""

import re
import tomllib

from support import FIXTURES, ROOT, run_audit

from generators.importers.mapping import Mapping
from schemas.reading import convert

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_reports_are_real() -> None:
    blocks = re.findall(r"```\n(.*?)```", TEXT, re.DOTALL)
    printed = run_audit("verify", FIXTURES / "tiny-reasoner").stdout
    (shown,) = [block for block in blocks if block.startswith("CONFIRMED")]
    place = 0
    for part in shown.split("...\n"):
        assert part in printed[place:]
        place = printed.index(part, place) + len(part)
    flawed = run_audit("verify", FIXTURES / "judge-scored-as-majority").stdout
    (shown,) = [block for block in blocks if block.startswith("$ audit verify")]
    assert flawed.startswith(shown.split("\n", 1)[1])


def test_the_mapping_is_one() -> None:
    (mapping,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert convert(tomllib.loads(mapping), Mapping).cells[0].method == "greedy"
