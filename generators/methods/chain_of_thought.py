"""Chain of thought: one answer, reasoned step by step, at temperature 0 (SMRL, Table 1)."""

from generators.methods.method import Method, Parameters
from generators.recorder import Recorder


def run(record: Recorder, parameters: Parameters) -> None:
    """One call."""
    del parameters
    record.ask("sample", record.opening())


METHOD = Method(
    name="chain_of_thought",
    summary="one answer at temperature 0",
    run=run,
    decision_rule="only",
    calls=lambda _: {"sample": (1, 1)},
    prompts=("system", "solve"),
    diverse=False,
)
