"""What a command hands to the command line: a text to print and an exit code."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """`text` goes to standard output as it is; exit codes are those of docs/adr/0003-exit-codes.md."""

    text: str
    exit_code: int = 0
