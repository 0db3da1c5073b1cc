"""Self-consistency: independent samples and a vote; the pool that every method is compared with (SMRL, Table 1)."""

from generators.methods.method import Method, Parameters
from generators.recorder import Recorder


def run(record: Recorder, parameters: Parameters) -> None:
    """As many calls as samples."""
    for agent in range(parameters["samples"]):
        record.ask("sample", record.opening(), agent=agent)


METHOD = Method(
    name="self_consistency",
    summary="a pool of independent samples: the baseline at every cost",
    run=run,
    decision_rule="plurality",
    calls=lambda p: {"sample": (p["samples"], p["samples"])},
    prompts=("system", "solve"),
    diverse=True,
    parameters={"samples": 16},
    pool=True,
)
