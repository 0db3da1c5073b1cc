"""The examples of RELEASE.md are what it says they are, and its tables name every field and statistic."""

import json
import re
import tomllib

from support import ROOT

from schemas.catalog import TYPES, build
from schemas.claims import Claims
from schemas.manifest import Cell, Manifest
from schemas.reading import convert, decode
from schemas.record import Generation, Question, Record
from verify.estimates import STATISTICS
from verify.inferences import INFERENCES

TEXT = (ROOT / "RELEASE.md").read_text(encoding="utf-8")
JSON = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
TOML = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


def test_every_example_is_valid() -> None:
    manifest, question, record, failed = JSON
    assert decode(manifest.encode(), Manifest).cells[1].decision_rule == "selected"
    assert decode(question.encode(), Question).gold == "18"
    assert decode(record.encode(), Record).generations[3].text == "BEST=<1>"
    assert decode(failed.encode(), Record).status == "failed"
    (claims,) = TOML
    assert len(convert(tomllib.loads(claims), Claims).tables[0].rows) == 2


def test_the_examples_fit_together() -> None:
    manifest = json.loads(JSON[0])
    cells = {cell["id"] for cell in manifest["cells"]}
    assert {json.loads(text)["cell"] for text in JSON[2:]} <= cells


def test_every_field_and_statistic_is_described() -> None:
    for kind in (Manifest, Cell, Question, Record, Generation):
        for field in kind.__struct_fields__:
            assert f"`{field}`" in TEXT or f"[].{field}`" in TEXT or f'"{field}"' in TEXT, f"{kind.__name__}.{field}"
    for statistic in (*STATISTICS, *INFERENCES):
        assert f"`{statistic}`" in TEXT, statistic
    for name in TYPES:
        assert build(name)["$id"].endswith(":1.0")
