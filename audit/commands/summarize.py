"""`audit summarize`."""

from pathlib import Path

import click

from audit.outcome import Outcome
from generators.summary import Effort
from generators.summary import summarize as count
from generators.toml import claims_toml
from schemas import layout
from schemas.errors import UsageError
from schemas.writing import write_sums, write_text


@click.command()
@click.argument("release", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path), help="Write the claims file here; without it, to the screen.")
@click.option("--draws", type=click.IntRange(min=1), default=200, show_default=True, help="Draws a point of a curve.")
@click.option("--resamples", type=click.IntRange(min=100), default=10_000, show_default=True, help="Of the bootstrap.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def summarize(*, release: Path, out: Path | None, draws: int, resamples: int, seed: int) -> Outcome:
    """Count RELEASE as its author would, and write the numbers as a claims file.

    This count shares nothing with `audit verify` but the format: another grader (Math-Verify, extra `[summarize]`),
    another aggregation, drawn curves. `audit verify RELEASE --claims FILE` then says whether the two agree.
    """
    text = claims_toml(count(release, effort=Effort(draws, resamples, seed)))
    if out is None:
        return Outcome(text)
    if not out.absolute().parent.is_dir():
        raise UsageError(f"{out} cannot be written: its folder does not exist.")
    write_text(out, text)
    if out.absolute().parent == release.absolute() and (release / layout.SUMS).is_file():
        # The file is part of the release now; without its line the audit would call it unlisted.
        write_sums(release)
        return Outcome(f"{out}: written, and {layout.SUMS} with it. Next: audit verify {release}")
    return Outcome(f"{out}: written. Next: audit verify {release} --claims {out}")
