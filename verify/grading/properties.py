r"""What any grader of mathematical answers should satisfy, as Hypothesis strategies of probes.

A `Probe` is one question put to a grader: a response, a gold answer, and the verdict that is right whatever
the grader's inside looks like. `PROPERTIES` maps a name to a strategy of probes, for graders under a LaTeX
policy, and `NUMERIC_PROPERTIES` the same for graders of plain numbers. In pytest:

    @pytest.mark.parametrize("name", PROPERTIES)
    def test_my_grader(name):
        check_property(name, my_grader)

`my_grader(text, gold)` returns a bool, a verdict, or an object with a `verdict`. The right verdicts come
from how a probe is built (an answer and itself, an answer with one digit changed, two spellings of one
`Fraction`), never from our grader.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from verify.grading.adapters import credited
from verify.grading.strategies import (
    SAMPLE_GOLDS,
    VARIATIONS,
    Pieces,
    adversarial_shapes,
    answer_pieces,
    answers,
    boxed,
    changed,
    fused,
    number_pairs,
    numeric_pieces,
    responses,
    text_of,
)

__all__ = [
    "NUMERIC_PROPERTIES",
    "PROPERTIES",
    "SAMPLE_GOLDS",
    "VARIATIONS",
    "Probe",
    "adversarial_shapes",
    "answers",
    "boxed",
    "check_property",
    "failure",
    "responses",
]


@dataclass(frozen=True, slots=True)
class Probe:
    """A response, a gold, and whether a right grader credits the response; `why` says it for people.

    `twin` is a second (response, gold) that must get the same verdict, whatever it is; `expected` is then
    None.
    """

    response: str
    gold: str
    expected: bool | None
    why: str
    twin: tuple[str, str] | None = None


# -- the properties


@st.composite
def _last_box_wins(draw: st.DrawFn, source: st.SearchStrategy[Pieces]) -> Probe:
    right, wrong = draw(changed(source))
    if draw(st.booleans()):
        return Probe(f"{boxed(wrong)} {draw(responses(right))}", right, True, "the last box holds the gold")
    return Probe(f"{boxed(right)} {draw(responses(wrong))}", right, False, "only an earlier box holds the gold")


@st.composite
def _varied(draw: st.DrawFn, source: st.SearchStrategy[Pieces]) -> Probe:
    gold = text_of(draw(source))
    names = draw(st.lists(st.sampled_from(sorted(VARIATIONS)), min_size=1, max_size=4, unique=True))
    answer = gold
    for name in sorted(names, key=list(VARIATIONS).index):
        answer = VARIATIONS[name](answer)
    return Probe(boxed(answer), gold, True, f"the gold spelled with: {', '.join(names)}")


@st.composite
def _symmetric(draw: st.DrawFn, source: st.SearchStrategy[Pieces]) -> Probe:
    one, other = draw(
        st.one_of(changed(source), st.tuples(source, source).map(lambda p: (text_of(p[0]), text_of(p[1]))))
    )
    return Probe(boxed(one), other, None, "answer and gold change places", twin=(boxed(other), one))


@st.composite
def _with_degrees(draw: st.DrawFn, source: st.SearchStrategy[Pieces]) -> str:
    """An answer with degrees at its end, or deep inside a fraction beside something that a stray brace would
    free.
    """
    inner = text_of(draw(source))
    around = draw(
        st.sampled_from(("{}^{{\\circ}}", r"\frac{{3}}{{45^{{\circ}} + {}}}", r"\sqrt{{{} + 30^{{\circ}} + x}}"))
    )
    return around.format(inner) if not inner.startswith(("(", "[", "\\{", "\\t", "\\b")) else r"60^{\circ}"


def _properties(source: st.SearchStrategy[Pieces]) -> Mapping[str, st.SearchStrategy[Probe]]:
    texts = source.map(text_of)
    return MappingProxyType(
        {
            "round trip": texts.map(lambda a: Probe(boxed(a), a, True, "the gold itself in a box")),
            "last box wins": _last_box_wins(source),
            "text around the box": texts.flatmap(
                lambda a: responses(a).map(lambda text: Probe(text, a, True, "the last box holds the gold"))
            ),
            "variations": _varied(source),
            "symmetry": _symmetric(source),
            "changed digit, sign, letter or bracket": changed(source).map(
                lambda pair: Probe(boxed(pair[1]), pair[0], False, "one sign of the gold was changed")
            ),
            "degree signs": _with_degrees(source).map(
                lambda gold: Probe(
                    boxed(gold.replace(r"^{\circ}", r"^\circ ")), gold, True, "the degree sign without braces"
                )
            ),
            "a list is not a number": fused().map(
                lambda pair: Probe(boxed(pair[1]), pair[0], False, "the commas of the gold were dropped")
            ),
            "numbers by value": number_pairs().map(
                lambda pair: Probe(
                    boxed(pair[0]),
                    pair[1],
                    pair[2],
                    "the two numbers " + ("are equal" if pair[2] else "differ"),
                )
            ),
        }
    )


PROPERTIES: Mapping[str, st.SearchStrategy[Probe]] = _properties(answer_pieces)
NUMERIC_PROPERTIES: Mapping[str, st.SearchStrategy[Probe]] = _properties(numeric_pieces)

# -- running them


def failure(probe: Probe, grader: Callable[[str, str], Any]) -> str | None:
    """What a grader got wrong on a probe, in words; None where it is right."""
    got = credited(grader(probe.response, probe.gold))
    wanted = probe.expected
    if probe.twin is not None:
        wanted = credited(grader(*probe.twin))
    if got == wanted:
        return None
    name = {True: "correct", False: "incorrect"}
    texts = f"\n  response: {probe.response!r}\n  gold: {probe.gold!r}"
    return f"{name[got]}, expected {name[bool(wanted)]}: {probe.why}{texts}"


def check_property(
    name: str,
    grader: Callable[[str, str], Any],
    *,
    max_examples: int = 100,
    start: int = 0,
    numeric: bool = False,
) -> None:
    """Raise `AssertionError` with the shortest counterexample found, in at most `max_examples` probes from
    seed `start`.
    """
    strategy = (NUMERIC_PROPERTIES if numeric else PROPERTIES)[name]

    @seed(start)
    @settings(
        max_examples=max_examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,
    )
    @given(strategy)
    def run(probe: Probe) -> None:
        wrong = failure(probe, grader)
        if wrong is not None:
            raise AssertionError(f"{name}: {wrong}")

    run()
