"""Breadth-depth refinement: rollouts, each continued, criticised and corrected, and a vote (ROR, Algorithm 1).

`round` is the depth and `agent` the rollout. A continuation is a draft: the depth's answer is that of its correction.
Without the critic (ROR, Table 2) the corrector sees the draft alone.
"""

from generators.methods.method import Method, Parameters, Ranges
from generators.recorder import Recorder, assistant


def run(record: Recorder, parameters: Parameters) -> None:
    """Rollouts × (1 + 3 × depth) calls, or rollouts × (1 + 2 × depth) without the critic."""
    rollouts = range(parameters["rollouts"])
    traces = [record.ask("sample", record.opening(), agent=agent) for agent in rollouts]
    for depth in range(1, parameters["depth"] + 1):
        traces = [refine(record, traces[agent], depth, agent, critic=bool(parameters["critic"])) for agent in rollouts]


def refine(record: Recorder, trace: str, depth: int, agent: int, *, critic: bool) -> str:
    """One cycle of one rollout: from the trace of depth - 1 to that of depth."""
    draft = record.ask(
        "continue", [*record.opening(), assistant(trace), record.user("continue")], round_=depth, agent=agent
    )
    if critic:
        critique = record.ask(
            "critique",
            [record.system("critic_system"), record.user("critic", question=record.question, solution=draft)],
            round_=depth,
            agent=agent,
        )
        request = record.user("correct", critique=critique)
    else:
        request = record.user("correct_alone")
    return record.ask("correct", [*record.opening(), assistant(draft), request], round_=depth, agent=agent)


def calls(parameters: Parameters) -> Ranges:
    """Calls by role."""
    rollouts, cycles = parameters["rollouts"], parameters["rollouts"] * parameters["depth"]
    critiques: Ranges = {"critique": (cycles, cycles)} if parameters["critic"] else {}
    return {"sample": (rollouts, rollouts), "continue": (cycles, cycles), **critiques, "correct": (cycles, cycles)}


METHOD = Method(
    name="breadth_depth",
    summary="rollouts, each continued, criticised and corrected in turn; the last depth votes",
    run=run,
    decision_rule="plurality",
    calls=calls,
    prompts=("system", "solve", "continue", "critic_system", "critic", "correct", "correct_alone"),
    diverse=True,
    parameters={"rollouts": 8, "depth": 4, "critic": True},
)
