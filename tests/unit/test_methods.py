"""Every method, message by message, against conversations written out by hand."""

from collections.abc import Iterable

import pytest

from generators.backends.call import Call, CallError, Completion, Facts, Token
from generators.methods import METHODS
from generators.methods.reflexion import says_incorrect
from generators.prompts import load_prompts
from generators.recorder import Recorder, Settings
from schemas.manifest import Backend
from schemas.plan import PlanSampling
from schemas.record import Record

QUESTION = "What is 2 + 3?"
S = r"system: Solve the problem step by step. Put the final answer in \boxed{}."
Q = f"user: {QUESTION}"


class Replies:
    """Answers with the texts given, in turn, and remembers what it was asked."""

    concurrency = 1

    def __init__(self, texts: Iterable[str | None]) -> None:
        self.texts = list(texts)
        self.calls: list[Call] = []

    def facts(self) -> Facts:
        return Facts(backend=Backend(name="replies"))

    def begin(self) -> None: ...

    def close(self) -> None: ...

    def complete(self, call: Call) -> Completion:
        self.calls.append(call)
        text = self.texts.pop(0)
        if text is None:
            raise CallError("the prompt does not fit")
        words = text.split(" ")
        pieces = [word if i == 0 else f" {word}" for i, word in enumerate(words)]
        # "sure" is certain, everything else is not.
        tokens = tuple(Token(piece, 0.0 if "sure" in piece else -1.0) for piece in pieces)
        return Completion(
            text=text, prompt_tokens=10, completion_tokens=len(words), finish_reason="stop", tokens=tokens
        )

    def beam_search(self, call: Call, width: int) -> list[Completion]:
        return [self.complete(call) for _ in range(width)]


def play(name: str, texts: Iterable[str | None], **given: int | bool) -> tuple[Recorder, list[list[str]]]:
    """Run a method on replies; the recorder, and each call's conversation as `role: content` lines."""
    method = METHODS[name]
    backend = Replies(texts)
    recorder = Recorder(
        backend=backend,
        prompts=load_prompts(),
        settings=Settings(temperature=0.7 if method.diverse else 0.0, token_cap=64, sampling=PlanSampling()),
        question=QUESTION,
        seed=100,
    )
    method.run(recorder, method.with_defaults(given))
    assert backend.texts == []
    return recorder, [[f"{m.role}: {m.content}" for m in call.messages] for call in backend.calls]


def shape(recorder: Recorder) -> list[tuple[str, int, int]]:
    return [(g.role, g.round, g.agent) for g in recorder.generations]


@pytest.mark.parametrize("name", ["chain_of_thought", "greedy"])
def test_chain_of_thought(name: str) -> None:
    recorder, asked = play(name, ["five"])
    assert asked == [[S, Q]]
    assert shape(recorder) == [("sample", 0, 0)]
    assert recorder.generations[0].text == "five"


def test_plan_and_solve() -> None:
    _, asked = play("plan_and_solve", ["five"])
    assert asked == [[S, f"user: {QUESTION}\nFirst make a short plan, then carry it out step by step."]]


def test_self_refine_sees_the_latest_solution_alone() -> None:
    recorder, asked = play("self_refine", ["four\n", "too low", "five", "fine", "5"], rounds=2)
    critique = "user: Check your solution. Name any mistake briefly."
    assert asked == [
        [S, Q],
        [S, Q, "assistant: four", critique],
        [S, Q, "assistant: four", "user: Feedback: too low\nWrite an improved solution."],
        [S, Q, "assistant: five", critique],
        [S, Q, "assistant: five", "user: Feedback: fine\nWrite an improved solution."],
    ]
    assert shape(recorder) == [
        ("sample", 0, 0),
        ("critique", 1, 0),
        ("revise", 1, 0),
        ("critique", 2, 0),
        ("revise", 2, 0),
    ]


JUDGE = "user: Is your final answer correct? Reply CORRECT or INCORRECT, then give a reason."
REFLECT = "user: Your answer may be wrong. Say briefly what may have gone wrong."


def retry(*notes: str) -> str:
    lines = "\n".join(notes)
    return f"user: {QUESTION}\nNotes on earlier attempts:\n{lines}\nSolve the problem again with these notes in mind."


def test_reflexion_stops_at_once_where_the_answer_is_judged_correct() -> None:
    recorder, asked = play("reflexion", ["five", "CORRECT. It adds up."])
    assert asked == [[S, Q], [S, Q, "assistant: five", JUDGE]]
    assert shape(recorder) == [("sample", 0, 0), ("judge", 1, 0)]


def test_reflexion_retries_with_all_notes_until_judged_correct() -> None:
    _, asked = play(
        "reflexion", ["four", "INCORRECT", "low", "six", "Incorrect, high", "high", "five", "I say CORRECT"]
    )
    assert asked == [
        [S, Q],
        [S, Q, "assistant: four", JUDGE],
        [S, Q, "assistant: four", REFLECT],
        [S, retry("1. low")],
        [S, retry("1. low"), "assistant: six", JUDGE],
        [S, retry("1. low"), "assistant: six", REFLECT],
        [S, retry("1. low", "2. high")],
        [S, retry("1. low", "2. high"), "assistant: five", JUDGE],
    ]


def test_reflexion_takes_two_five_eight_or_ten_calls() -> None:
    wrong = ["INCORRECT", "note", "again"]
    counts = []
    for failures in range(4):
        ending = [] if failures == 3 else ["CORRECT"]
        recorder, _ = play("reflexion", ["first", *wrong * failures, *ending])
        counts.append(len(recorder.generations))
    assert counts == [2, 5, 8, 10]


@pytest.mark.parametrize(
    ("verdict", "again"),
    [("INCORRECT", True), ("It is incorrect, not CORRECT", True), ("CORRECT, not INCORRECT", False), ("Hm.", False)],
)
def test_the_first_word_of_a_verdict_counts_and_silence_stops(verdict: str, again: bool) -> None:
    assert says_incorrect(verdict) is again


def test_forced_reflexion_never_asks_for_a_verdict() -> None:
    recorder, asked = play("reflexion_forced", ["four", "low", "six", "high", "five"], rounds=2)
    assert asked == [
        [S, Q],
        [S, Q, "assistant: four", REFLECT],
        [S, retry("1. low")],
        [S, retry("1. low"), "assistant: six", REFLECT],
        [S, retry("1. low", "2. high")],
    ]
    assert shape(recorder)[-1] == ("retry", 2, 0)


def test_best_of_n_lists_every_sample_and_takes_the_model_at_its_word() -> None:
    recorder, asked = play("best_of_n", ["a ", "b", "c", "Surely BEST=<2>"], samples=3)
    assert asked == [
        [S, Q],
        [S, Q],
        [S, Q],
        [
            "system: Compare the solutions and choose one.",
            f"user: {QUESTION}\nSolution 1:\na\n\nSolution 2:\nb\n\nSolution 3:\nc\n"
            "Which solution is most likely correct? Reply only with BEST=<number>.",
        ],
    ]
    assert recorder.selected == 1
    assert shape(recorder) == [("sample", 0, 0), ("sample", 0, 1), ("sample", 0, 2), ("select", 1, 0)]


@pytest.mark.parametrize(
    ("choice", "selected"), [("BEST=3", 2), ("BEST=<4>", None), ("BEST=0", None), ("b", None), ("BEST=-1>", None)]
)
def test_a_choice_outside_the_candidates_is_no_choice(choice: str, selected: int | None) -> None:
    recorder, _ = play("best_of_n", ["a", "b", "c", choice], samples=3)
    assert recorder.selected == selected


def test_debate_shows_each_agent_the_others_latest() -> None:
    recorder, asked = play("debate", ["a0", "b0", "c0", "a1", "b1", "c1"], rounds=1)

    def others(first: str, second: str) -> str:
        return (
            f"user: Other agents answered:\nSolution 1:\n{first}\n\nSolution 2:\n{second}\n"
            "Use their answers as advice and give your own updated solution."
        )

    assert asked == [
        [S, Q],
        [S, Q],
        [S, Q],
        [S, Q, "assistant: a0", others("b0", "c0")],
        [S, Q, "assistant: b0", others("a0", "c0")],
        [S, Q, "assistant: c0", others("a0", "b0")],
    ]
    assert shape(recorder)[3:] == [("debate", 1, 0), ("debate", 1, 1), ("debate", 1, 2)]


def test_a_pool_asks_the_same_with_other_seeds() -> None:
    recorder, asked = play("self_consistency", ["a", "b", "c"], samples=3)
    assert asked == [[S, Q]] * 3
    assert [g.seed for g in recorder.generations] == [100, 101, 102]
    assert [g.temperature for g in recorder.generations] == [0.7] * 3


def test_beam_search_scores_each_hypothesis_by_its_mean_logprob() -> None:
    recorder, _ = play("beam_search", ["so sure", "not so"], width=2)
    assert [(g.text, g.score, g.logprob) for g in recorder.generations] == [
        ("so sure", -0.5, -1.0),
        ("not so", -1.0, -2.0),
    ]


def test_lookahead_goes_on_from_the_most_confident_path() -> None:
    recorder, asked = play("lookahead", ["a b c d", "e sure f g", "h i", "sure sure"], continuations=2, checkpoints=2)
    assert asked == [[S, Q]] * 4
    # The second path is the more confident (-0.75 against -1); its first half is kept at the second checkpoint.
    assert [g.text for g in recorder.generations] == ["a b c d", "e sure f g", "e sureh i", "e suresure sure"]
    assert [g.score for g in recorder.generations] == [-1.0, -0.75, -0.75, -0.25]
    assert [g.completion_tokens for g in recorder.generations] == [4, 4, 2, 2]
    assert shape(recorder) == [("step", 0, 0), ("step", 0, 1), ("step", 1, 0), ("step", 1, 1)]


CONTINUE = "user: Continue or rewrite your solution, as far as it needs it."


def critic(solution: str) -> list[str]:
    return [
        "system: Check the solution of another. Say whether it holds, or name the mistake.",
        f"user: {QUESTION}\nSolution:\n{solution}\nIs there a mistake in the logic, the arithmetic or the structure?",
    ]


def correct(critique: str) -> str:
    return f"user: Critique: {critique}\nGive the corrected solution; keep what is right."


def test_breadth_depth_refines_every_rollout_before_going_deeper() -> None:
    texts = ["a0", "b0", "ga1", "ca1", "a1", "gb1", "cb1", "b1", "ga2", "ca2", "a2", "gb2", "cb2", "b2"]
    recorder, asked = play("breadth_depth", texts, rollouts=2, depth=2)
    assert asked == [
        [S, Q],
        [S, Q],
        [S, Q, "assistant: a0", CONTINUE],
        critic("ga1"),
        [S, Q, "assistant: ga1", correct("ca1")],
        [S, Q, "assistant: b0", CONTINUE],
        critic("gb1"),
        [S, Q, "assistant: gb1", correct("cb1")],
        [S, Q, "assistant: a1", CONTINUE],
        critic("ga2"),
        [S, Q, "assistant: ga2", correct("ca2")],
        [S, Q, "assistant: b1", CONTINUE],
        critic("gb2"),
        [S, Q, "assistant: gb2", correct("cb2")],
    ]
    assert shape(recorder)[2:8] == [
        ("continue", 1, 0),
        ("critique", 1, 0),
        ("correct", 1, 0),
        ("continue", 1, 1),
        ("critique", 1, 1),
        ("correct", 1, 1),
    ]


def test_breadth_depth_without_a_critic() -> None:
    _, asked = play("breadth_depth", ["a0", "g", "a1"], rollouts=1, depth=1, critic=False)
    assert asked[2] == [
        S,
        Q,
        "assistant: g",
        "user: Check your solution and give the corrected one; keep what is right.",
    ]


COUNTS = {
    "chain_of_thought": (1, 1),
    "plan_and_solve": (1, 1),
    "self_refine": (7, 7),
    "reflexion": (2, 10),
    "reflexion_forced": (7, 7),
    "best_of_n": (9, 9),
    "debate": (9, 9),
    "self_consistency": (16, 16),
    "greedy": (1, 1),
    "majority_vote": (8, 8),
    "reward_model": (8, 8),
    "beam_search": (8, 8),
    "lookahead": (24, 24),
    "breadth_depth": (104, 104),
}
"""Calls a question by default; the first eight are SMRL's Table 1, whose Reflexion says "1 to 10"."""


@pytest.mark.parametrize("name", METHODS)
def test_calls_made_are_calls_declared(name: str) -> None:
    least, most = COUNTS[name]
    for verdict in ("CORRECT", "INCORRECT"):
        recorder, _ = play(name, [verdict] * (least if verdict == "CORRECT" else most))
        made = {role: sum(g.role == role for g in recorder.generations) for role, _, _ in shape(recorder)}
        declared = METHODS[name].ranges(METHODS[name].with_defaults({}))
        assert all(declared[role].min <= count <= declared[role].max for role, count in made.items())  # type: ignore[index]
        assert sum(made.values()) == (least if verdict == "CORRECT" else most)


def test_a_call_that_fails_is_on_record_and_ends_the_question() -> None:
    recorder = Recorder(
        backend=Replies(["a", "b", None]),
        prompts=load_prompts(),
        settings=Settings(temperature=0.7, token_cap=64, sampling=PlanSampling()),
        question=QUESTION,
        seed=7,
    )
    with pytest.raises(CallError):
        METHODS["best_of_n"].run(recorder, {"samples": 2})
    assert [(g.role, g.text, g.error) for g in recorder.generations] == [
        ("sample", "a", None),
        ("sample", "b", None),
        ("select", None, "the prompt does not fit"),
    ]
    assert Record(cell="m/d/x", question_id="q", status="failed", generations=recorder.generations)


def test_what_is_filled_in_is_not_read_as_a_template() -> None:
    prompts = load_prompts()
    assert "costs $question" in prompts.fill("critic", question="It costs $question", solution="$solution $5")
