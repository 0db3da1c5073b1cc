"""`audit regenerate`."""

from pathlib import Path

import click

from audit.commands.options import by_model
from audit.outcome import Outcome
from audit.reports.text import printable
from generators.regenerate import Regenerated, Request
from generators.regenerate import regenerate as run

MAX_LINES = 20


@click.command()
@click.argument("release", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--cell", "cells", multiple=True, metavar="PATTERN", help="Make these cells again whole (`*` and `?`).")
@click.option("--spot-check", type=click.IntRange(min=1), metavar="N", help="Make N existing records again instead.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which ones are drawn.")
@click.option("--model", "models", multiple=True, metavar="[ID=]FILE", help="The GGUF file; repeat for several models.")
@click.option("--base-url", "urls", multiple=True, metavar="[ID=]URL", help="The server; repeat for several models.")
@click.option("--key-variable", metavar="NAME", help="Environment variable that holds the servers' key.")
@click.option("--anyway", is_flag=True, help="Go on although the model file or the software is another.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes, each with a model.")
@click.option("--reward-command", help="Reads lines of {question, text}, answers each with a number.")
@click.option("--reward-file", type=click.Path(path_type=Path), help="Scores given before (JSONL).")
@click.pass_obj
def regenerate(
    terminal: object,
    *,
    release: Path,
    cells: tuple[str, ...],
    spot_check: int | None,
    seed: int,
    models: tuple[str, ...],
    urls: tuple[str, ...],
    key_variable: str | None,
    anyway: bool,
    jobs: int,
    reward_command: str | None,
    reward_file: Path | None,
) -> Outcome:
    """Make records of RELEASE again: the missing ones, whole cells, or some drawn at random.

    What exists is compared and never changed; what is missing is written. Exit code 0 says that every record came out
    identical, 1 that one did not.
    """
    request = Request(
        cells=cells,
        spot_check=spot_check,
        seed=seed,
        files=by_model("--model", models),
        base_urls=by_model("--base-url", urls),
        key_variable=key_variable,
        anyway=anyway,
        jobs=jobs,
        reward_file=reward_file,
        reward_command=reward_command,
    )
    with terminal.steps("records") as progress:  # type: ignore[attr-defined]
        result = run(release, request, progress=progress)
    return Outcome(_text(result), 0 if result.good else 1)


def _text(result: Regenerated) -> str:
    lines = [f"Note: {printable(difference)}." for changed in result.changed.values() for difference in changed]
    if result.compared:
        count = {
            verdict: sum(item.verdict == verdict for item in result.compared)
            for verdict in ("identical", "same answer", "different", "failed")
        }
        parts = ", ".join(f"{number:,} {verdict}" for verdict, number in count.items() if number)
        lines.append(f"Made again: {len(result.compared):,} records, {parts}.")
        others = [item for item in result.compared if item.verdict != "identical"]
        lines += [
            f"  {item.verdict}: {item.cell}, {printable(item.question_id)}: {printable(item.note)}"
            for item in others[:MAX_LINES]
        ]
        if len(others) > MAX_LINES:
            lines.append(f"  … and {len(others) - MAX_LINES:,} more")
    lines += [f"Filled in: {cell}, {count:,} records." for cell, count in result.filled.items() if count]
    lines += [f"Failed: {cell}, {count:,} records; run it again to try." for cell, count in result.failed.items()]
    for file, same in result.files.items():
        if same is not None:
            lines.append(f"{file}: {'identical to' if same else 'NOT'} what SHA256SUMS lists.")
    return "\n".join(lines or ["Nothing is missing. Name --cell or --spot-check to make existing records again."])
