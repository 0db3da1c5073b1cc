"""Reports: pure functions from a report to a string, one module a format."""

from collections.abc import Callable

from audit.reports.json import render_json
from audit.reports.text import render_text
from schemas.report import Report

RENDERERS: dict[str, Callable[[Report, bool], str]] = {"text": render_text, "json": render_json}
"""Format → (report, whether colour is wanted) → text."""
