"""The report as JSON, for programs; `schemas/report.schema.json` describes it."""

import json

import msgspec

from audit.reports.style import PLAIN, Style
from schemas.report import Report


def render_json(report: Report, style: Style = PLAIN) -> str:
    """The report as indented JSON, all of it whatever the style."""
    del style
    # ASCII alone: a terminal that shows the report must not meet a control or bidirectional character in it.
    return json.dumps(msgspec.to_builtins(report), indent=2, ensure_ascii=True) + "\n"
