"""A small real model file, written once a run."""

from pathlib import Path

import pytest

pytest.importorskip("llama_cpp", reason="needs the extra [llama]")

from gguf_model import write_model


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama-architecture GGUF file of random weights."""
    return write_model(tmp_path_factory.mktemp("model") / "random.gguf")
