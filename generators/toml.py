"""Claims as TOML, laid out for people: one row of a table a line."""

import msgspec
import tomli_w

from schemas.claims import Claims


def claims_toml(claims: Claims) -> str:
    """A claims file in TOML."""
    return tomli_w.dumps(msgspec.to_builtins(claims), multiline_strings=False)
