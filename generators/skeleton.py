"""Skeletons of claims files from a table: `audit claims init`.

Values stay as they are printed. Nothing is guessed but which columns hold numbers alone; kinds, question sets and
formulas are for the reader to fill in.
"""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import tomli_w

from schemas.errors import UsageError

MAX_BYTES = 4 * 2**20
MAX_TABLES = 100
MAX_ROWS = 2000
MAX_COLUMNS = 100
MAX_CELL = 500
"""Characters of a LaTeX cell that are looked at; longer ones are prose."""
_BEGIN = re.compile(r"\\begin\{(tabular[x*]?|longtable|array)\}")
_NUMBER = re.compile(r"[<>~≈]?\s?[+\-−–]?\d[\d,]{0,20}(?:\.\d{0,20})?%?", re.ASCII)
_RULE = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|addlinespace|cline\{[^}]{0,50}\}|cmidrule(?:\([^)]{0,50}\))?\{[^}]{0,50}\})"
)
_SPAN = re.compile(r"\\multicolumn\{(\d{1,2})\}\{[^{}]{0,100}\}\{((?:[^{}]|\{[^{}]{0,300}\}){0,300})\}")
_WRAP = re.compile(
    r"\\(?:textbf|textit|emph|underline|mathbf|text|textrm|textsc|mathrm|multirow\{[^}]{0,50}\}\{[^}]{0,50}\})\{([^{}]{0,300})\}"
)
_COMMAND = re.compile(r"\\[A-Za-z]+\*?")
_BLANK = ("", "-", "–", "—", "n/a")


def skeleton(path: Path, *, latex: bool) -> str:
    """A claims file with the tables of `path`. Raises UsageError where there are none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes; cut the tables out of it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start + 1} is not UTF-8.") from None
    if latex:
        tables = [_latex_rows(body) for body in _tabulars(text)]
    else:
        try:
            read = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ","))
        except csv.Error as error:
            raise UsageError(f"{path} is no CSV table: {error}.") from None
        tables = [[[cell.strip() for cell in row] for row in read if any(cell.strip() for cell in row)]]
    tables = [table for table in tables if len(table) > 1]
    if any(len(table) > MAX_ROWS or max(map(len, table)) > MAX_COLUMNS for table in tables):
        raise UsageError(f"{path} holds a table of more than {MAX_ROWS:,} rows or {MAX_COLUMNS} columns; cut it down.")
    if not tables:
        what = "tabular environment" if latex else "table with a heading and a row"
        raise UsageError(f"{path} holds no {what}.")
    parts = [_ADVICE, 'format_version = "1.0"', f"source = {_quoted(path.name)}"]
    for index, rows in enumerate(tables, start=1):
        parts += ["", *_table(f"table{index}", rows)]
    return "\n".join(parts) + "\n"


_ADVICE = """\
# For every column of numbers say what it prints: kind = "proportion" (with unit and set), "difference", "mean",
# "mean-of-draws", "count", "interval-low", "interval-high" (with of), "p", "p-holm", "wins-ties-losses" or "number";
# where it follows from other cells, give it a formula. Question sets and sentences look so:
#
#   [[sets]]
#   id = "gsm8k"
#   n = 1319
#
#   [[statements]]
#   id = "abstract-best"
#   says = "84.3"
#   value = "max(table1, [Acc.])"

"""


def _table(id_: str, rows: list[list[str]]) -> list[str]:
    width = max(len(row) for row in rows)
    padded = [row + [""] * (width - len(row)) for row in rows]
    names: list[str] = []
    for index, heading in enumerate(padded[0], start=1):
        name = re.sub(r"[\[\]]", "", heading)[:100].strip() or f"column {index}"
        names.append(name if name not in names else f"{name} ({index})")
    filled = _fill(padded[1:])
    lines = ["[[tables]]", f"id = {_quoted(id_)}", "columns = ["]
    for index, name in enumerate(names):
        cells = [row[index] for row in filled if row[index] not in _BLANK]
        numbers = bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)
        lines.append(f'  {{ name = {_quoted(name)}, kind = "{"number" if numbers else "label"}" }},')
    lines += ["]", "rows = ["]
    lines += [f"  [{', '.join(_quoted(cell) for cell in row)}]," for row in filled]
    return [*lines, "]"]


def _quoted(text: str) -> str:
    return tomli_w.dumps({"k": text}).removeprefix("k = ").rstrip("\n")


def _fill(rows: list[list[str]]) -> list[list[str]]:
    """Rows whose first entry is empty belong to the label above them, as in grouped tables."""
    filled, label = [], ""
    for row in rows:
        label = row[0] or label
        filled.append([label, *row[1:]])
    return filled


def _tabulars(text: str) -> Iterator[str]:
    """The bodies of tabular environments, by two searches each: a pattern for both ends could cost the square."""
    at = 0
    for _ in range(MAX_TABLES):
        begin = _BEGIN.search(text, at)
        if begin is None:
            return
        end = text.find(f"\\end{{{begin[1]}}}", begin.end())
        if end < 0:
            return
        yield text[begin.end() : end]
        at = end


def _latex_rows(body: str) -> list[list[str]]:
    body = re.sub(r"(?<!\\)%[^\n]*", "", body)
    body = body[_preamble(body) :]
    rows = []
    for line in re.split(r"\\\\(?:\[[^\]]*\])?|\\tabularnewline", body):
        cells: list[str] = []
        for cell in re.split(r"(?<!\\)&", _RULE.sub("", line), maxsplit=MAX_COLUMNS):
            cell = cell[:MAX_CELL]
            span = _SPAN.search(cell)
            cells.append(_plain(span[2] if span else cell))
            cells += [""] * (int(span[1]) - 1 if span else 0)
        if any(cells):
            rows.append(cells)
    return rows


def _preamble(body: str) -> int:
    """Where the column specification of a tabular ends: after one or two bracketed groups."""
    at = 0
    while match := re.compile(r"\s*(?:\[[^\]]*\])?\s*\{").match(body, at):
        depth, end = 1, match.end()
        while end < len(body) and depth:
            depth += {"{": 1, "}": -1}.get(body[end], 0)
            end += 1
        if "&" in body[match.end() : end] or "\\\\" in body[match.end() : end]:
            break
        at = end
    return at


def _plain(cell: str) -> str:
    for _ in range(5):
        cell, count = _WRAP.subn(r"\1", cell)
        if not count:
            break
    cell = cell.replace(r"\%", "%").replace(r"\_", "_").replace(r"\&", "&").replace("$", "").replace("~", " ")
    cell = re.sub(r"\\pm", "±", cell)
    return re.sub(r"\s+", " ", re.sub(r"[{}]", "", _COMMAND.sub(" ", cell))).strip()
