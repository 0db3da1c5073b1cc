"""The published JSON Schemas (draft 2020-12), one file each beside this module.

`build` derives a schema from the msgspec types; the committed file is the contract, and a test holds the two
equal. After changing a type on purpose, `make schemas` rewrites the files.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from schemas.claims import Claims
from schemas.consistency import ConsistencyReport
from schemas.errors import UsageError
from schemas.manifest import FORMAT_VERSION, Manifest
from schemas.plan import Plan
from schemas.record import Question, Record
from schemas.report import Report

TYPES: dict[str, type[msgspec.Struct]] = {
    "manifest": Manifest,
    "question": Question,
    "record": Record,
    "claims": Claims,
    "report": Report,
    "consistency": ConsistencyReport,
    "plan": Plan,
}


def schema_text(name: str) -> str:
    """The committed JSON Schema called `name`, as text.

    Raises UsageError for a name that is not in `TYPES`.
    """
    if name not in TYPES:
        raise UsageError(f"There is no schema {name!r}; choose one of {', '.join(TYPES)}.")
    return files("schemas").joinpath(f"{name}.schema.json").read_text(encoding="utf-8")


def build(name: str) -> dict[str, Any]:
    """The JSON Schema that the msgspec type of `name` stands for."""
    (reference,), components = msgspec.json.schema_components([TYPES[name]], ref_template="#/$defs/{name}")
    root = components.pop(reference["$ref"].rsplit("/", 1)[-1])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:generation-audit:{name}:{FORMAT_VERSION}",
        **root,
        "$defs": components,
    }


def write_all() -> None:
    """Rewrite every committed schema from its type."""
    for name in TYPES:
        text = json.dumps(build(name), indent=2, ensure_ascii=False) + "\n"
        Path(__file__).with_name(f"{name}.schema.json").write_text(text, encoding="utf-8")
