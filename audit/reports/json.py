"""The report as JSON, for programs; `schemas/report.schema.json` describes it."""

import msgspec

from schemas.report import Report


def render_json(report: Report, colour: bool = False) -> str:
    """The report as indented JSON. `colour` is accepted for symmetry and has no effect."""
    del colour
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
