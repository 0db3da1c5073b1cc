"""docs/claims.md shows what the commands really print, and describes every field, kind and function."""

import re
import tomllib
from pathlib import Path
from typing import get_args

from support import ROOT, start_audit

from schemas.claims import Claims, Column, Kind, Paired, QuestionSet, Scope, Statement
from schemas.reading import convert
from verify.consistency.functions import FUNCTIONS

TEXT = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")


def test_from_a_table_to_a_verdict(tmp_path: Path) -> None:
    (table,) = re.findall(r"```csv\n(.*?)```", TEXT, re.DOTALL)
    paper, three = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    verdict, explained = re.findall(r"```\n\$ [^\n]*\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "table.csv").write_text(table, encoding="utf-8")
    written = start_audit("claims", "init", "--from", "table.csv", "--output", "paper.toml", cwd=tmp_path)
    assert written.returncode == 0
    skeleton = tomllib.loads((tmp_path / "paper.toml").read_text(encoding="utf-8"))
    assert skeleton["tables"][0]["rows"] == tomllib.loads(paper)["tables"][0]["rows"]
    (tmp_path / "paper.toml").write_text(paper, encoding="utf-8")
    result = start_audit("claims", "paper.toml", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (1, verdict)
    assert start_audit("claims", "explain", "paper.toml", "table1/r3c3", cwd=tmp_path).stdout == explained
    assert convert(tomllib.loads(three), Claims).sets[0].n == 1319


def test_every_field_kind_and_function_is_described() -> None:
    new = {"kind", "set", "set_by", "of", "family", "formula"}
    assert new <= set(Column.__struct_fields__)
    fields = new.union(*(one.__struct_fields__ for one in (QuestionSet, Scope, Statement, Paired)))
    for field in fields | set(get_args(Kind)):
        assert f"`{field}`" in TEXT, field
    for name in FUNCTIONS:
        assert re.search(rf"`{name}[(`]", TEXT), name
