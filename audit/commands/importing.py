"""`audit import`."""

from pathlib import Path

import click

from audit.outcome import Outcome
from generators.importers.jsonl import import_jsonl
from generators.importers.mapping import read_mapping
from schemas.layout import RECORD_SUFFIXES


@click.group("import")
def import_() -> None:
    """Turn other people's logs into a release that `audit verify` can check."""


@import_.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SOURCE...")
@click.option("--mapping", required=True, type=click.Path(path_type=Path), help="Where each field stands (TOML).")
@click.option("--questions", required=True, type=click.Path(path_type=Path), help="The benchmark (JSONL).")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The release to write; must not exist.")
@click.option(
    "--storage",
    type=click.Choice([suffix.removeprefix(".") for suffix in RECORD_SUFFIXES]),
    default="jsonl.gz",
    show_default=True,
    help="How generations are stored.",
)
def jsonl(*, sources: tuple[Path, ...], mapping: Path, questions: Path, out: Path, storage: str) -> Outcome:
    """Import JSONL files (plain, .gz or .zst), each row a question, by a mapping file.

    Nothing is guessed: a field that the mapping does not name is absent, and a row that does not fit it stops the
    import with its line.
    """
    imported = import_jsonl(
        sources, mapping=read_mapping(mapping), questions=questions, target=out, suffix=f".{storage}"
    )
    lines = [f"{imported.target}: {imported.questions:,} questions, {imported.skipped:,} rows skipped"]
    lines += [f"  {cell}: {count:,} records" for cell, count in imported.records.items()]
    return Outcome("\n".join([*lines, f"Next: audit verify {imported.target}"]))
