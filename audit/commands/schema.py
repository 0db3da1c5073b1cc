"""`audit schema`."""

import click

from audit.outcome import Outcome
from schemas.catalog import TYPES, schema_text


@click.command()
@click.argument("name", type=click.Choice(list(TYPES)))
def schema(name: str) -> Outcome:
    """Print the JSON Schema NAME (draft 2020-12)."""
    return Outcome(schema_text(name))
