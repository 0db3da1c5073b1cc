"""From a plan's model to the backend that runs it."""

from pathlib import Path

from generators.backends.call import Backend
from schemas.errors import UsageError
from schemas.plan import PlanModel


def open_backend(model: PlanModel) -> Backend:
    """The backend of a model, loaded and ready. Paths are taken as they are.

    Raises UsageError where the model cannot be opened, BackendError where its server does not answer.
    """
    # Loaded when called: an extra that is not installed stands in nobody's way.
    if model.llama_cpp is not None:
        from generators.backends.llama_cpp import LlamaCppBackend

        return LlamaCppBackend(model.llama_cpp)
    if model.openai is not None:
        from generators.backends.openai import OpenAIBackend

        return OpenAIBackend(model.openai)
    if model.scripted is not None:
        from generators.backends.scripted import ScriptedBackend

        return ScriptedBackend(Path(model.scripted.replies))
    raise UsageError(f"model {model.id!r} names no backend.")
