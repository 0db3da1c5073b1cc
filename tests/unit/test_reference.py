"""docs/cli.md is what the commands say of themselves."""

from support import ROOT

from audit.reference import reference


def test_the_reference_is_up_to_date() -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == reference(), "run `make docs`"
