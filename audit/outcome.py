"""What a command hands back to `audit.cli`, which alone prints and exits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """Text for standard output, and the exit code of the process."""

    text: str
    exit_code: int = 0
