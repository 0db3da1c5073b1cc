"""`audit verify`."""

from pathlib import Path

import click

from audit.cli import Terminal
from audit.outcome import Outcome
from audit.reports import RENDERERS
from audit.reports.style import Style
from audit.reports.text import headline
from schemas.errors import UsageError
from schemas.report import Verdict
from schemas.writing import write_text
from verify import verify_release
from verify.grades import load_grader
from verify.similarity import SIMILARITIES, Similarity
from verify.spending import COST_UNITS, CostUnit, Prices, Spending

EXIT_CODES: dict[Verdict, int] = {"confirmed": 0, "refuted": 1, "unverifiable": 4}


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--claims", type=click.Path(path_type=Path), help="Claims file, in place of the release's own.")
@click.option(
    "--questions",
    type=click.Path(path_type=Path),
    help="Your own copy of the benchmark (JSONL), to compare golds with.",
)
@click.option("--policy", help="Grade a second time by this policy (gsm8k, math, ror) and show what changes.")
@click.option("--grader", metavar="PKG.MOD:FN", help="Grade a second time by your function (text, gold).")
@click.option(
    "--cost",
    type=click.Choice(COST_UNITS),
    default="completion",
    show_default=True,
    help="Methods are compared with sampling at equal amounts of this: tokens generated, tokens read and generated, "
    "tokens on the longest chain of calls, money (with --prices), or FLOPs.",
)
@click.option("--prices", metavar="READ,WRITTEN", help="Money for a million tokens read and a million generated.")
@click.option(
    "--similar",
    type=click.Choice(SIMILARITIES),
    help="Read the samples a second time and count those that are alike: near-duplicates by their words, or clusters "
    "of sentence embeddings (extra `embeddings`).",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the audit's own resamples.")
@click.option("--format", "format_", type=click.Choice(list(RENDERERS)), default="text", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), help="Write the report to this file.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
@click.option("--verbose", "-v", is_flag=True, help="List also the claims that were confirmed.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes to read with.")
@click.pass_obj
def verify(
    terminal: Terminal,
    *,
    release: Path,
    claims: Path | None,
    questions: Path | None,
    policy: str | None,
    grader: str | None,
    cost: CostUnit,
    prices: str | None,
    similar: Similarity | None,
    seed: int,
    format_: str,
    output: Path | None,
    exit_zero: bool,
    verbose: bool,
    jobs: int,
) -> Outcome:
    """Check RELEASE, and the numbers published about it, from its raw generations.

    Exit codes: 0 all confirmed; 1 something refuted; 2 wrong call; 3 the audit could not run; 4 nothing refuted,
    but something unverifiable.
    """
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"{output} cannot be written: the folder {output.parent} does not exist.")
    with terminal.progress("Reading generations") as progress:
        audit = verify_release(
            release,
            claims=claims,
            questions=questions,
            policy=policy,
            grader=None if grader is None else load_grader(grader),
            spending=Spending(cost, _prices(prices)),
            similarity=similar,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )
    report = audit.report
    style = Style(colour=terminal.colour and output is None, verbose=verbose)
    text = RENDERERS[format_](report, style)
    if output is not None:
        try:
            write_text(output, text)
        except OSError as error:
            raise UsageError(f"{output} cannot be written: {error.strerror}.") from error
        text = f"{headline(report)} Report: {output}"
    return Outcome(text, 0 if exit_zero else EXIT_CODES[report.verdict])


def _prices(text: str | None) -> Prices | None:
    if text is None:
        return None
    try:
        read, written = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--prices {text!r} is not two numbers such as 0.15,0.60.") from None
    return Prices(read, written)
