"""`audit plan`."""

from importlib.resources import files
from pathlib import Path

import click

from audit.outcome import Outcome
from generators.methods import METHODS
from schemas.errors import UsageError
from schemas.writing import write_text


@click.group()
def plan() -> None:
    """Plans for `audit generate`."""


@plan.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("plan.toml"))
def init(*, path: Path) -> Outcome:
    """Write a commented plan to PATH, with a file of three questions beside it."""
    questions = path.with_name("questions.jsonl")
    for file in (path, questions):
        if file.exists():
            raise UsageError(f"{file} exists already; name another path.")
    templates = files("generators").joinpath("templates")
    write_text(questions, templates.joinpath("questions.jsonl").read_text(encoding="utf-8"))
    write_text(path, templates.joinpath("plan.toml").read_text(encoding="utf-8"))
    return Outcome(f"{path} and {questions} written. Next: audit generate {path} --model FILE.gguf --out release")


@plan.command()
def methods() -> Outcome:
    """List the methods, their parameters and the calls that each makes for a question."""
    lines = []
    for method in METHODS.values():
        settings = ", ".join(f"{name} = {str(value).lower()}" for name, value in method.parameters.items())
        calls = ", ".join(
            f"{low if low == high else f'{low} to {high}'} {role}"
            for role, (low, high) in method.calls(method.parameters).items()
        )
        lines += [f"{method.name}: {method.summary}", f"    {f'{settings}; ' if settings else ''}{calls}"]
    return Outcome("\n".join(lines))
