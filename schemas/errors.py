"""The exceptions of this project.

    AuditError                 every error that a caller may want to catch
    ├── UsageError             the caller asked for something that cannot be (exit 2)
    │   └── ClaimsError        a claims file that cannot be read or names what does not exist
    └── ReleaseError           a release that cannot be audited at all (exit 3)

A message is one sentence that names the file, the line and field where known, and what to do.
"""


class AuditError(Exception):
    """Root of every error raised on purpose by this project."""


class UsageError(AuditError):
    """The caller asked for something that cannot be: a missing file, a wrong option, an unknown name."""


class ClaimsError(UsageError):
    """A claims file that cannot be read, or that names a cell or statistic that does not exist."""


class ReleaseError(AuditError):
    """A release that cannot be audited at all: no manifest, a wrong version, a limit exceeded."""
