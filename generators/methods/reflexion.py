"""Reflexion: judge the answer; where it is judged wrong, reflect and try again (SMRL 4.3).

It stops as soon as the verdict is anything but INCORRECT, so a verdict that cannot be read stops it as well. The last
retry is not judged: nothing would follow from it. With 3 rounds a question takes 2, 5, 8 or 10 calls.
"""

import re

from generators.backends.call import Message
from generators.methods.method import Method, Parameters
from generators.recorder import Recorder, assistant

_VERDICT = re.compile(r"\b(IN)?CORRECT\b", re.IGNORECASE)


def says_incorrect(verdict: str) -> bool:
    """Whether the first CORRECT or INCORRECT of a judge's text is INCORRECT; false where there is neither."""
    found = _VERDICT.search(verdict)
    return found is not None and found.group(1) is not None


def run(record: Recorder, parameters: Parameters) -> None:
    """2 to 1 + 3 × rounds calls."""
    opening = record.opening()
    solution = record.ask("sample", opening)
    reflections: list[str] = []
    for round_ in range(1, parameters["rounds"] + 1):
        so_far = [*opening, assistant(solution)]
        if not says_incorrect(record.ask("judge", [*so_far, record.user("judge")], round_=round_)):
            return
        reflections.append(record.ask("reflect", [*so_far, record.user("reflect")], round_=round_))
        opening = retry_opening(record, reflections)
        solution = record.ask("retry", opening, round_=round_)


def retry_opening(record: Recorder, reflections: list[str]) -> list[Message]:
    """The conversation before a retry: the question again, with all reflections so far."""
    return [
        record.system(),
        record.user("retry", question=record.question, reflections=record.noted(reflections)),
    ]


METHOD = Method(
    name="reflexion",
    summary="judge, and where it says INCORRECT reflect and retry, at temperature 0",
    run=run,
    decision_rule="last",
    calls=lambda p: {
        "sample": (1, 1),
        "judge": (1, p["rounds"]),
        "reflect": (0, p["rounds"]),
        "retry": (0, p["rounds"]),
    },
    prompts=("system", "solve", "judge", "reflect", "retry", "noted"),
    diverse=False,
    parameters={"rounds": 3},
)
