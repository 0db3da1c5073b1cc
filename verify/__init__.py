"""The independent second count: release → integrity → grades → outcomes → estimates → findings.

May import `schemas`, never `generators`. Nothing here prints or exits.
"""

from verify.run import Audit, verify_release

__all__ = ["Audit", "verify_release"]
