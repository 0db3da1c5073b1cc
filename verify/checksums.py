"""SHA256SUMS: whether the files are the ones that were released."""

import re
from pathlib import Path

from schemas import layout
from schemas.reading import Limits
from schemas.report import Finding, RecordRef
from schemas.writing import sha256
from verify.findings import confirmed, counted, note, refuted, warning

# The text format of sha256sum: digest, space, space or `*` (binary), name.
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def check_checksums(root: Path, *, limits: Limits) -> list[Finding]:
    """Compare every file with SHA256SUMS: altered, gone, or there but not listed."""
    path = root / layout.SUMS
    if path.is_symlink() or not path.is_file():
        return [
            note(
                "checksums",
                layout.SUMS,
                f"The release has no {layout.SUMS}; its files cannot be told from altered ones.",
            )
        ]
    if path.stat().st_size > limits.small_file_bytes:
        return [
            refuted(
                "checksums",
                layout.SUMS,
                f"{layout.SUMS} is larger than {limits.small_file_bytes:,} bytes; it was not read.",
            )
        ]
    bad: list[RecordRef] = []
    listed: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            bad.append(RecordRef(file=layout.SUMS, line=number, note="not a line that sha256sum writes."))
        elif match[2].removeprefix("./") != layout.SUMS:
            # `sha256sum * > SHA256SUMS` lists the file that it is still writing: that line can never hold.
            listed[match[2].removeprefix("./")] = match[1]
    present = dict(layout.walk(root))
    for name, digest in listed.items():
        if name not in present:
            bad.append(RecordRef(file=name, note="listed, but not in the release."))
        elif present[name].is_symlink():
            bad.append(RecordRef(file=name, note="a symbolic link, which is never followed."))
        else:
            try:
                if sha256(present[name]) != digest:
                    bad.append(RecordRef(file=name, note="altered: its SHA-256 is another."))
            except OSError as error:
                bad.append(RecordRef(file=name, note=f"cannot be read: {error.strerror}."))
    findings = []
    if bad:
        count = counted(len(bad), "entry", "entries")
        findings.append(
            refuted(
                "checksums",
                layout.SUMS,
                f"{count} of {layout.SUMS} not as released; fetch the release again.",
                records=bad,
            )
        )
    else:
        findings.append(confirmed("checksums", layout.SUMS, f"All {len(listed):,} listed files have their SHA-256."))
    unlisted = sorted(set(present) - set(listed) - {layout.SUMS})
    if unlisted:
        findings.append(
            warning(
                "unlisted-files",
                layout.SUMS,
                f"{counted(len(unlisted), 'file')} of the release not in {layout.SUMS}.",
                records=[RecordRef(file=name) for name in unlisted],
            )
        )
    return findings
