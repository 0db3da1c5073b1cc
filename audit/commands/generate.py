"""`audit generate`."""

import time
from pathlib import Path

import click

from audit.commands.options import by_model
from audit.outcome import Outcome
from audit.reports.text import printable
from generators.plan import read_plan
from generators.runner import Made, Options
from generators.runner import generate as run


@click.command()
@click.argument("plan", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The release to make, or to go on with.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[ID=]FILE",
    help="GGUF file in place of the plan's, or `smollm2`; repeat for several models.",
)
@click.option("--base-url", "urls", multiple=True, metavar="[ID=]URL", help="Server in place of the plan's.")
@click.option("--cells", multiple=True, metavar="PATTERN", help="Only these cells (`*` and `?`); repeat for several.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first questions of each dataset.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes, each with a model.")
@click.option("--reward-command", help="Reads lines of {question, text}, answers each with a number.")
@click.option("--reward-file", type=click.Path(path_type=Path), help="Scores given before (JSONL).")
@click.pass_obj
def generate(
    terminal: object,
    *,
    plan: Path,
    out: Path,
    models: tuple[str, ...],
    urls: tuple[str, ...],
    cells: tuple[str, ...],
    limit: int | None,
    jobs: int,
    reward_command: str | None,
    reward_file: Path | None,
) -> Outcome:
    """Run PLAN on real models and write a release that `audit verify` accepts.

    Stop it at any time, by any means: the same command goes on where it stopped, and the release comes out the same
    to the byte. A run that has nothing left to do changes nothing. `audit plan init` writes a plan to start from.
    """
    study = read_plan(plan, files=by_model("--model", models), base_urls=by_model("--base-url", urls))
    options = Options(cells=cells, limit=limit, jobs=jobs, reward_file=reward_file, reward_command=reward_command)
    began = time.monotonic()
    with terminal.steps("records") as progress:  # type: ignore[attr-defined]
        made = run(study, out, options, progress=progress)
    return Outcome(_text(made, out, time.monotonic() - began), 1 if made.failed else 0)


def _text(made: Made, out: Path, seconds: float) -> str:
    if not made.records:
        lines = [f"{out}: all {made.skipped:,} records are there; nothing to do."]
    else:
        rate = f"{made.tokens:,} tokens in {seconds:,.0f} s, {made.tokens / max(seconds, 1e-9):,.0f} a second"
        lines = [f"{out}: {made.records:,} records made ({rate}), {made.skipped:,} were there."]
    if made.cut:
        lines.append(
            f"{made.cut:,} generations ended at the end of the context before the token cap; their records say so in "
            "`extra.cut_by_context`. A larger context_size, or a smaller token_cap, treats all methods alike."
        )
    if made.failed:
        lines += [
            f"{cell}: {count:,} records failed, the last with: {printable(made.causes.get(cell, 'see the records'))}"
            for cell, count in made.failed.items()
        ]
        lines.append("Failed records stay on record until the same command makes them good; run it again to try.")
    else:
        lines.append(f"Next: audit verify {out}")
    return "\n".join(lines)
