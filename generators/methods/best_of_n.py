"""Best of N with self-verification: N samples, and the model names the best one (SMRL, Table 1)."""

import re

from generators.methods.method import Method, Parameters
from generators.recorder import Recorder
from schemas.manifest import Selection

# As RELEASE.md defines the marker: the number, perhaps in brackets. `BEST=-7` names nobody.
_CHOICE = re.compile(r"BEST=\s*[<\[(*]*\s*(\d+)", re.IGNORECASE)


def run(record: Recorder, parameters: Parameters) -> None:
    """Samples + 1 calls. A choice that cannot be read stays open: the manifest says that it counts as no answer."""
    count = parameters["samples"]
    solutions = [record.ask("sample", record.opening(), agent=agent) for agent in range(count)]
    choice = record.ask(
        "select",
        [
            record.system("select_system"),
            record.user("select", question=record.question, solutions=record.listed(solutions)),
        ],
        round_=1,
    )
    found = _CHOICE.findall(choice)
    if found and 1 <= int(found[-1]) <= count:
        record.selected = int(found[-1]) - 1


METHOD = Method(
    name="best_of_n",
    summary="samples, and the model picks one",
    run=run,
    decision_rule="selected",
    calls=lambda p: {"sample": (p["samples"], p["samples"]), "select": (1, 1)},
    prompts=("system", "solve", "select_system", "select", "listed"),
    diverse=True,
    parameters={"samples": 8},
    selection=Selection(),
)
