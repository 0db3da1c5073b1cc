"""The dataset card, README.md of a release: what it is, and how Hugging Face `datasets` finds each cell."""

from pathlib import Path

from schemas import layout
from schemas.manifest import Manifest


def dataset_card(manifest: Manifest, root: Path) -> str:
    """Card text with one configuration a cell, listing the files that lie below `root`."""
    lines = ["---"]
    if manifest.license:
        lines.append(f"license: {manifest.license.lower()}")
    lines.append("configs:")
    for cell in manifest.cells:
        files = [
            f"{layout.GENERATIONS}/{cell.id}/{name}"
            for name, _ in layout.walk(root / layout.GENERATIONS / cell.id)
            if layout.is_record_file(name)
        ]
        if files:
            lines += [f"- config_name: {cell.id.replace('/', '.').replace('@', '.')}", "  data_files:"]
            lines += [f"  - {file}" for file in files]
    lines += ["---", "", f"# {manifest.title}", ""]
    if manifest.source:
        lines += [f"Source: {manifest.source}", ""]
    lines += ["One configuration a cell (model, dataset, method); `release.json` says what each is.", ""]
    lines += [f"- {limit}" for limit in manifest.known_limits or []]
    lines += ["", "Check it with `audit verify` on this folder.", ""]
    return "\n".join(lines)
