"""Prompt files: TOML, one text a name, `$name` where a method fills something in."""

import hashlib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

import tomli_w

from schemas.errors import UsageError
from schemas.reading import read_toml

FIELDS: dict[str, frozenset[str]] = {
    "system": frozenset(),
    "solve": frozenset({"question"}),
    "plan_and_solve": frozenset({"question"}),
    "critique": frozenset(),
    "revise": frozenset({"feedback"}),
    "judge": frozenset(),
    "reflect": frozenset(),
    "retry": frozenset({"question", "reflections"}),
    "debate": frozenset({"solutions"}),
    "select_system": frozenset(),
    "select": frozenset({"question", "solutions"}),
    "continue": frozenset(),
    "critic_system": frozenset(),
    "critic": frozenset({"question", "solution"}),
    "correct": frozenset({"critique"}),
    "correct_alone": frozenset(),
    "listed": frozenset({"number", "solution"}),
    "noted": frozenset({"number", "reflection"}),
}
"""Every prompt, and the fields that it has to name: a prompt that loses its question would go unnoticed."""


@dataclass(frozen=True)
class Prompts:
    """The texts of all prompts, by name."""

    texts: dict[str, str]

    def fill(self, name: str, **values: str) -> str:
        """The prompt with its fields filled in. What is filled in is never read as a template itself."""
        return Template(self.texts[name]).substitute(values)

    def sha256(self, name: str) -> str:
        """SHA-256 of a prompt's text, unfilled, in UTF-8."""
        return hashlib.sha256(self.texts[name].encode("utf-8")).hexdigest()


def load_prompts(path: Path | None = None) -> Prompts:
    """This project's prompts, those of the file at `path` in their place where it has any.

    Raises UsageError for a file that cannot be read, an unknown name, or a prompt that names a field it does not
    have or leaves one out.
    """
    texts = tomllib.loads(files("generators").joinpath("prompts.toml").read_text(encoding="utf-8"))
    if path is not None:
        for name, text in read_toml(path, dict[str, object]).items():
            texts[name] = _checked(path, name, text)
    return Prompts(texts)


def prompts_toml(prompts: Prompts) -> str:
    """The prompts as a prompt file, which gives them back when it is read."""
    return tomli_w.dumps(prompts.texts, multiline_strings=False)


def _checked(path: Path, name: str, text: object) -> str:
    if name not in FIELDS:
        raise UsageError(f"{path}: there is no prompt {name!r}; choose from {', '.join(FIELDS)}.")
    if not isinstance(text, str):
        raise UsageError(f"{path}: {name}: a prompt is a text in quotes.")
    template = Template(text)
    if not template.is_valid():
        raise UsageError(f"{path}: {name}: a lone `$`; write `$$` for a dollar sign.")
    named = set(template.get_identifiers())
    if unknown := sorted(named - FIELDS[name]):
        has = ", ".join(f"${field}" for field in sorted(FIELDS[name])) or "none"
        raise UsageError(f"{path}: {name}: there is no field ${unknown[0]} here; it has {has}.")
    if missing := sorted(FIELDS[name] - named):
        raise UsageError(f"{path}: {name}: ${missing[0]} does not occur; the model would never see it.")
    return text
