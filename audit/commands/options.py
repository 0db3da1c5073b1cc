"""Options that several commands share."""

from collections.abc import Sequence

from schemas.errors import UsageError


def by_model(option: str, values: Sequence[str]) -> dict[str | None, str]:
    """`VALUE` or `ID=VALUE`, any number of them, by model id; None where no id is given."""
    found: dict[str | None, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        key = name if equals and "/" not in name and ":" not in name else None
        if key in found:
            raise UsageError(f"{option} names two values for {key or 'one model'}; write {option} ID=VALUE for each.")
        found[key] = rest if key is not None else value
    return found
