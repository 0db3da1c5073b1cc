"""The command line. This is the only module that prints or exits."""

import importlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from audit.outcome import Outcome
from schemas.errors import AuditError, UsageError

COMMANDS = {
    "claims": ("audit.commands.claims", "claims", "Check a paper's numbers against each other; no release needed."),
    "generate": ("audit.commands.generate", "generate", "Run a plan on real models and write a release."),
    "grader": ("audit.commands.grader", "grader", "Try a grader, ours or anybody's, before trusting what it graded."),
    "import": ("audit.commands.importing", "import_", "Turn other people's logs into a release."),
    "plan": ("audit.commands.planning", "plan", "Plans for `audit generate`: a commented one to start from."),
    "regenerate": ("audit.commands.regenerate", "regenerate", "Make records of a release again, and compare."),
    "schema": ("audit.commands.schema", "schema", "Print a JSON Schema of the release format."),
    "summarize": ("audit.commands.summarize", "summarize", "Print a release's numbers as its author would count them."),
    "verify": ("audit.commands.verify", "verify", "Check a release and the numbers published about it."),
}
"""Name → module, attribute, help line. Modules load when they are called, so that `--help` is instant."""

EXIT_USAGE = 2
EXIT_NOT_RUN = 3


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in self.list_commands(ctx)])


class Terminal:
    """What commands may know of where they run."""

    @property
    def colour(self) -> bool:
        """Whether standard output is a terminal that wants colour."""
        return sys.stdout.isatty() and "NO_COLOR" not in os.environ

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """A callback (done, total) that draws a bar on standard error, or None where that is no terminal."""
        if not sys.stderr.isatty():
            yield None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    @contextmanager
    def steps(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """As `progress`, for what takes long: with the rate, and as a line now and then where there is no terminal."""
        if sys.stderr.isatty():
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                _Rate(),
                TimeRemainingColumn(elapsed_when_finished=True),
            )
            with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
                task = bar.add_task(what, total=None)
                yield lambda done, total: bar.update(task, completed=done, total=total)
            return
        yield _Lines(what)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.1f}/s" if task.speed else "")


class _Lines:
    """One line of progress every half minute, for logs."""

    EVERY = 30.0

    def __init__(self, what: str) -> None:
        self.what = what
        self.began = self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last >= self.EVERY:
            self.last = now
            rate = done / (now - self.began)
            click.echo(
                f"{done:,} of {total:,} {self.what}, {rate:,.1f}/s, {(total - done) / rate:,.0f} s left", err=True
            )


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="generation-audit", prog_name="audit")
@click.pass_context
def audit(ctx: click.Context) -> None:
    """Do a paper's published numbers follow from the generations released with them?"""
    ctx.obj = Terminal()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0, 1 and 4 are verdicts, 2 is a wrong call, 3 means that nothing was audited."""
    for stream in (sys.stdout, sys.stderr):
        # A release may hold any text; a terminal that cannot show a character gets its escape, never a crash.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        result = audit.main(args=arguments, prog_name="audit", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("Stopped.", err=True)
        sys.exit(EXIT_NOT_RUN)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except AuditError as error:
        click.echo(f"Error: {printable(str(error))}", err=True)
        sys.exit(EXIT_USAGE if isinstance(error, UsageError) else EXIT_NOT_RUN)
    except Exception as error:  # noqa: BLE001 - a stranger's release must never end in a traceback
        if "GENERATION_AUDIT_TRACEBACK" in os.environ:
            traceback.print_exc()
        message = printable(f"{type(error).__name__}: {error}")
        click.echo(
            f"Error: this is a fault of the audit, not of the release ({message[:500]}). "
            "Please report it; GENERATION_AUDIT_TRACEBACK=1 shows where it happened.",
            err=True,
        )
        sys.exit(EXIT_NOT_RUN)
    if isinstance(result, Outcome):
        if result.text:
            click.echo(result.text.rstrip("\n"))
        sys.exit(result.exit_code)
    sys.exit(result if isinstance(result, int) else 0)


def printable(text: str) -> str:
    """The text with everything that could steer a terminal escaped; see `audit.reports.text`."""
    from audit.reports.text import printable as escape

    return escape(text)
