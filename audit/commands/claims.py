"""`audit claims`: check, explain, init."""

from pathlib import Path
from typing import Literal

import click

from audit.cli import Terminal
from audit.outcome import Outcome
from audit.reports.consistency import RENDERERS, headline, render_explanation
from audit.reports.style import Style
from generators.skeleton import skeleton
from schemas.errors import UsageError
from schemas.writing import write_text
from verify.consistency import check_file

EXIT_CODES: dict[Literal["refuted", "open", "consistent"], int] = {"consistent": 0, "refuted": 1, "open": 4}


class _CheckByDefault(click.Group):
    """A group in which `audit claims FILE` stands for `audit claims check FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group("claims", cls=_CheckByDefault)
def claims() -> None:
    """Check a paper's numbers against each other; no generations needed.

    `audit claims FILE` is short for `audit claims check FILE`.
    """


@claims.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(list(RENDERERS)), default="text", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), help="Write the report to this file.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
@click.option("--verbose", "-v", is_flag=True, help="List also what is consistent, and every step.")
@click.pass_obj
def check(
    terminal: Terminal, *, file: Path, format_: str, output: Path | None, exit_zero: bool, verbose: bool
) -> Outcome:
    """Check the numbers of a claims FILE against each other.

    Exit codes: 0 all consistent; 1 something impossible or contradictory; 2 wrong call or file; 4 nothing refuted,
    but something failed on a condition or could not be decided.
    """
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"{output} cannot be written: the folder {output.parent} does not exist.")
    report = check_file(file)
    text = RENDERERS[format_](report, Style(colour=terminal.colour and output is None, verbose=verbose))
    if output is not None:
        try:
            write_text(output, text)
        except OSError as error:
            raise UsageError(f"{output} cannot be written: {error.strerror}.") from error
        text = f"{headline(report)} Report: {output}"
    return Outcome(text, 0 if exit_zero else EXIT_CODES[report.verdict])


@claims.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("id_", metavar="ID")
def explain(*, file: Path, id_: str) -> Outcome:
    """Show every check of one number or sentence of FILE step by step.

    ID is that of a statement, a paired comparison, a question set, a table or one of its cells: table2/r3c6.
    """
    return Outcome(render_explanation(check_file(file), id_))


@claims.command()
@click.option("--from", "csv", type=click.Path(path_type=Path), help="A table as CSV (or TSV, by its suffix).")
@click.option("--from-latex", "latex", type=click.Path(path_type=Path), help="LaTeX with tabular environments.")
@click.option("--output", type=click.Path(path_type=Path), help="Write to this file, which must not exist.")
def init(*, csv: Path | None, latex: Path | None, output: Path | None) -> Outcome:
    """Write a skeleton of a claims file from a table: values as printed, kinds left to you.

    Only tables are read, and nothing about them is guessed beyond which columns hold numbers.
    """
    source = csv or latex
    if source is None or (csv is not None and latex is not None):
        raise UsageError("Name one table: --from table.csv or --from-latex paper.tex.")
    text = skeleton(source, latex=latex is not None)
    if output is None:
        return Outcome(text)
    if output.exists():
        raise UsageError(f"{output} exists already; choose another name.")
    if not output.parent.is_dir():
        raise UsageError(f"{output} cannot be written: the folder {output.parent} does not exist.")
    try:
        write_text(output, text)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}.") from error
    return Outcome(f"{output}: fill in the kinds and question sets, then: audit claims {output}")
