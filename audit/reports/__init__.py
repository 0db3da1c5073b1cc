"""Reports: pure functions from a report to a string, one module a format."""

from collections.abc import Callable

from audit.reports.json import render_json
from audit.reports.style import Style
from audit.reports.text import render_text
from schemas.report import Report

RENDERERS: dict[str, Callable[[Report, Style], str]] = {"text": render_text, "json": render_json}
