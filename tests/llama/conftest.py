"""A small real model file, written once a run."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("llama_cpp") is None and "GENERATION_AUDIT_REQUIRE_LLAMA" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama-architecture GGUF file of random weights."""
    from gguf_model import write_model

    return write_model(tmp_path_factory.mktemp("model") / "random.gguf")
