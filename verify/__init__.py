"""The independent second count: release → integrity → grades → outcomes → estimates → findings.

May import `schemas`, never `generators`. Nothing here prints or exits.
"""
