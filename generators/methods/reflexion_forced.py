"""Reflexion without the judge: every round reflects and retries (SMRL 4.3, its own variant)."""

from generators.methods.method import Method, Parameters
from generators.methods.reflexion import retry_opening
from generators.recorder import Recorder, assistant


def run(record: Recorder, parameters: Parameters) -> None:
    """1 + 2 × rounds calls."""
    opening = record.opening()
    solution = record.ask("sample", opening)
    reflections: list[str] = []
    for round_ in range(1, parameters["rounds"] + 1):
        so_far = [*opening, assistant(solution)]
        reflections.append(record.ask("reflect", [*so_far, record.user("reflect")], round_=round_))
        opening = retry_opening(record, reflections)
        solution = record.ask("retry", opening, round_=round_)


METHOD = Method(
    name="reflexion_forced",
    summary="rounds of reflection and retry without a judge, at temperature 0",
    run=run,
    decision_rule="last",
    calls=lambda p: {"sample": (1, 1), "reflect": (p["rounds"], p["rounds"]), "retry": (p["rounds"], p["rounds"])},
    prompts=("system", "solve", "reflect", "retry", "noted"),
    diverse=False,
    parameters={"rounds": 3},
)
