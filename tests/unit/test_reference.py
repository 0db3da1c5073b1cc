"""docs/cli.md is what the commands say of themselves."""

import subprocess
import sys

from support import ROOT


def test_the_reference_is_up_to_date() -> None:
    # In a process of its own: click remembers the help option of a command from wherever it was first called.
    code = "from audit.reference import reference; print(reference(), end='')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == done.stdout, "run `make docs`"
