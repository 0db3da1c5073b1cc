"""The built wheel ships exactly the four packages, with their schemas."""

import subprocess
import sys
import zipfile
from pathlib import Path

from support import ROOT


def test_the_wheel_ships_exactly_four_packages(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("generation_audit-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert top == {"audit", "generators", "schemas", "verify"}
    for name in ("manifest", "question", "record", "claims", "report", "plan"):
        assert f"schemas/{name}.schema.json" in names
    assert "generators/prompts.toml" in names
    # No data but the three questions that `audit plan init` writes.
    data = [name for name in names if name.endswith((".jsonl", ".parquet"))]
    assert data == ["generators/templates/questions.jsonl"]
