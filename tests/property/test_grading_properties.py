"""The exported properties hold for our grader, and its parts agree with slow counterparts."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial

import msgspec
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles_grading import last_box, spelled, value

from verify.grading import POLICIES, Grader, Policy, compile_policy, grade
from verify.grading.bulk import VERDICTS, grade_batches
from verify.grading.properties import (
    NUMERIC_PROPERTIES,
    PROPERTIES,
    adversarial_shapes,
    answers,
    boxed,
    check_property,
    responses,
)

calm = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow],
)

# Pieces from which hostile responses are made: everything that extraction or the tokenizer treats specially.
FRAGMENTS = st.lists(
    st.sampled_from(
        ["\\boxed{", "\\boxed {", "\\boxed", "\\fbox{", "{", "}", "\\{", "\\}", "\\\\", "\\", " ", "5",
         "-3/4", "12,345", ".",
         "x", "\\frac", "12", "\\text{", "cm", "the answer is ", "The Answer  is", "$", "=", ",", "\n",
         "\\sqrt[", "]", "(",
         "[", ")", "^", "_", "%", "\\begin{pmatrix}", "&", "\\end{pmatrix}", "é", "²", "\ud800", "\0",
         "٧", "\\left", "\\in",
         "or", "\\pm", "\\cup", "1e5", "!", "/"]
    ),
    max_size=24,
).map("".join)  # fmt: skip


@pytest.mark.parametrize("name", PROPERTIES)
def test_math_policy(name: str) -> None:
    check_property(name, partial(grade, policy="math"), max_examples=120)


@pytest.mark.parametrize("name", NUMERIC_PROPERTIES)
def test_numeric_policy(name: str) -> None:
    check_property(name, partial(grade, policy="gsm8k"), max_examples=60, numeric=True)


@calm
@given(FRAGMENTS, FRAGMENTS)
def test_never_raises_and_spans_are_the_answer(text: str, gold: str) -> None:
    for policy in POLICIES:
        grader = compile_policy(policy)
        result = grader.grade(text, gold)
        if result.span is None:
            assert result.verdict == "unparsed"
        else:
            assert text[slice(*result.span)] == result.answer
        grader.usable_gold(gold)


#: Every option at a value that is not its default: the code behind options must be as safe as the code in
#: front.
OTHER_OPTIONS = {
    "unterminated_box": "to-end",
    "empty_box": "answer",
    "several_boxes": "list",
    "fbox": "equal",
    "hash_marker": "last",
    "text_case": False,
    "units": False,
    "assignment": False,
    "choice_parentheses": False,
    "plain_words": False,
    "slash_fractions": False,
    "unit_coefficient": False,
    "raised_digits": True,
    "numeric": False,
    "evaluate": False,
    "unreduced_fractions": False,
    "structures": False,
    "commuted_sums": True,
    "bare_list_order": False,
    "matrix_delimiters": True,
    "base_suffix": "optional",
    "relation_as_interval": True,
    "plus_minus_as_list": True,
    "approximate_irrationals": True,
    "percent_as_ratio": True,
    "rel_tol": "1e-4",
    "phrases": (),
}


def test_every_option_has_another_value_here() -> None:
    fixed = {"name", "form", "abs_tol", "scale_small"}
    assert set(OTHER_OPTIONS) | fixed == set(Policy.__struct_fields__)


@calm
@given(
    FRAGMENTS,
    answers,
    st.sets(st.sampled_from(sorted(OTHER_OPTIONS)), max_size=6),
    st.sampled_from(sorted(POLICIES)),
)
def test_no_combination_of_options_raises(text: str, gold: str, names: set[str], policy: str) -> None:
    grader = Grader(msgspec.structs.replace(POLICIES[policy], **{name: OTHER_OPTIONS[name] for name in names}))
    grader.grade(text, gold)
    assert grader.matches(gold, gold)
    assert grader.matches(text, gold) == grader.matches(gold, text)


@calm
@given(FRAGMENTS)
def test_last_box_by_walking_every_brace(text: str) -> None:
    found = compile_policy("math").extract(text)
    boxed_answer = last_box(text)
    if boxed_answer is not None:
        assert found is not None
        assert (found.rule, found.answer) == ("boxed", boxed_answer)
    elif found is not None and found.rule == "boxed":
        assert "\\fbox" in text


@calm
@given(FRAGMENTS, FRAGMENTS)
def test_matching_is_symmetric_and_reflexive_on_anything(one: str, other: str) -> None:
    for policy in POLICIES:
        grader = compile_policy(policy)
        assert grader.matches(one, one)
        assert grader.matches(one, other) == grader.matches(other, one)


@calm
@given(FRAGMENTS)
def test_wrapping_braces_of_a_balanced_answer_say_nothing(answer: str) -> None:
    if last_box(f"\\boxed{{{answer}}}") != answer or "\\begin" in answer or "\\end" in answer:
        return
    grader = compile_policy("math")
    assert grader.normal_form("{" + answer + "}") == grader.normal_form(answer)


NUMBERS = st.integers(0, 99).map(lambda n: ("n", n))
TREES = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "frac"]), inner, inner),
        st.tuples(st.just("neg"), inner),
    ),
    max_leaves=8,
)


@calm
@given(TREES, TREES)
def test_arithmetic_agrees_with_evaluating_the_tree(one: tuple, other: tuple) -> None:
    grader = compile_policy("math")
    try:
        first = value(one)
    except ZeroDivisionError:
        assert grader.form(spelled(one)).value is None
        return
    assert grader.form(spelled(one)).value == first
    assert grader.matches(spelled(one), str(first))
    try:
        second = value(other)
    except ZeroDivisionError:
        return
    if abs(first - second) > Fraction(1, 10**6):
        assert not grader.matches(spelled(one), spelled(other))
    assert (grader.normal_form(spelled(one)) == grader.normal_form(spelled(other))) == (first == second)


@settings(calm, max_examples=40)
@given(st.lists(st.tuples(st.one_of(FRAGMENTS, answers.flatmap(responses), st.none()), st.one_of(answers, st.none()))))
@pytest.mark.parametrize("policy", ["math", "gsm8k", "ror"])
def test_bulk_agrees_with_one_by_one(policy: str, rows: list[tuple[str | None, str | None]]) -> None:
    # Arrow holds UTF-8, which has no lone surrogates.
    rows = [(None if text is None else text.replace("\ud800", "?"), gold) for text, gold in rows]
    rows = [row for row in rows for _ in range(2)]  # the second time the memo answers
    table = pa.table(
        {
            "text": pa.array([r[0] for r in rows], pa.string()),
            "gold": pa.array([r[1] for r in rows], pa.string()),
        }
    )
    found: list[str] = []
    # Slices have offsets of their own, which a reader of raw buffers can get wrong.
    batches = [table.slice(at, 3).combine_chunks().to_batches()[0] for at in range(0, len(rows), 3)]
    if rows:
        batches[-1] = table.to_batches()[0].slice(3 * (len(batches) - 1))
    for batch in grade_batches(batches, policy=policy):
        found += [VERDICTS[code] for code in batch.verdicts]
    expected = ["unparsed" if text is None else grade(text, gold or "", policy=policy).verdict for text, gold in rows]
    assert found == expected


def _work(grader: Grader, text: str) -> int:
    """Calls made, by Python and by C, while one response is graded: a clock that noise cannot move."""
    count = 0

    def tick(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tick)
    try:
        grader.grade(text, "5")
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", adversarial_shapes(10))
@pytest.mark.parametrize("policy", ["math", "gsm8k", "ror"])
def test_twice_the_text_is_at_most_twice_the_work(policy: str, name: str) -> None:
    grader = Grader(policy)
    single, double = (_work(grader, adversarial_shapes(size)[name]) for size in (1500, 3000))
    assert double <= 2.3 * single + 200


@pytest.mark.parametrize("name", adversarial_shapes(10))
def test_every_shape_gets_a_verdict_at_full_size(name: str) -> None:
    text = adversarial_shapes(100_000)[name]
    assert compile_policy("math").grade(text, "5").verdict in VERDICTS
    assert compile_policy("gsm8k").grade(boxed("5"), text).verdict in VERDICTS


def test_threads_and_pickles_agree() -> None:
    grader = compile_policy("math")
    texts = [boxed(rf"\frac{{{n}}}{{7}}") for n in range(200)]
    expected = [grader.grade(text, r"\frac{3}{7}").verdict for text in texts]
    again = pickle.loads(pickle.dumps(grader))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: again.grade(text, r"\frac{3}{7}").verdict, texts)) == expected
    assert expected.count("correct") == 1
