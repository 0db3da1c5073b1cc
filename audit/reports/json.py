"""The report as JSON, for programs; `schemas/report.schema.json` describes it."""

import msgspec

from audit.reports.style import PLAIN, Style
from schemas.report import Report


def render_json(report: Report, style: Style = PLAIN) -> str:
    """The report as indented JSON, all of it whatever the style."""
    del style
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
