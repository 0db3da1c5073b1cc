"""Plan-and-solve: one answer that begins with a plan (SMRL, Table 1)."""

from generators.methods.method import Method, Parameters
from generators.recorder import Recorder


def run(record: Recorder, parameters: Parameters) -> None:
    """One call."""
    del parameters
    record.ask("sample", [record.system(), record.user("plan_and_solve", question=record.question)])


METHOD = Method(
    name="plan_and_solve",
    summary="one answer that begins with a plan, at temperature 0",
    run=run,
    decision_rule="only",
    calls=lambda _: {"sample": (1, 1)},
    prompts=("system", "plan_and_solve"),
    diverse=False,
)
