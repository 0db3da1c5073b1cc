"""Every run of the suite sees the same examples."""

from hypothesis import settings

settings.register_profile("project", derandomize=True, deadline=None)
settings.load_profile("project")
