"""Multi-agent debate: agents answer, then answer again having read the others (SMRL, Table 1).

An agent's conversation holds its own latest solution and the others' latest, so that it does not grow with the rounds.
"""

from generators.methods.method import Method, Parameters
from generators.recorder import Recorder, assistant


def run(record: Recorder, parameters: Parameters) -> None:
    """Agents × (1 + rounds) calls."""
    agents = range(parameters["agents"])
    latest = [record.ask("sample", record.opening(), agent=agent) for agent in agents]
    for round_ in range(1, parameters["rounds"] + 1):
        latest = [
            record.ask(
                "debate",
                [
                    *record.opening(),
                    assistant(latest[agent]),
                    record.user("debate", solutions=record.listed(latest[:agent] + latest[agent + 1 :])),
                ],
                round_=round_,
                agent=agent,
            )
            for agent in agents
        ]


METHOD = Method(
    name="debate",
    summary="agents read each other's answers and answer again; the last round votes",
    run=run,
    decision_rule="plurality",
    calls=lambda p: {
        "sample": (p["agents"], p["agents"]),
        "debate": (p["agents"] * p["rounds"], p["agents"] * p["rounds"]),
    },
    prompts=("system", "solve", "debate", "listed"),
    diverse=True,
    parameters={"agents": 3, "rounds": 2},
)
