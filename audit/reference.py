"""The command-line reference, docs/cli.md, from the commands themselves."""

from collections.abc import Iterator

import click

from audit.cli import audit


def reference() -> str:
    """Every command with its help, as Markdown."""
    parts = ["# Command line", "", "Written by `make docs` from the commands themselves.", ""]
    for path, command in _walk(audit, "audit", None):
        context = click.Context(
            command, info_name=path, max_content_width=100, terminal_width=100, help_option_names=["-h", "--help"]
        )
        parts += [f"## `{path}`", "", "```", command.get_help(context), "```", ""]
    return "\n".join(parts)


def _walk(command: click.Command, path: str, parent: click.Context | None) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, parent=parent, info_name=path)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _walk(child, f"{path} {name}", context)
