"""The published schemas and the types are one contract."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from schemas.catalog import TYPES, build, schema_text
from schemas.errors import UsageError
from schemas.reading import decode

RECORD = {
    "cell": "m/d/best_of_n",
    "question_id": "q0",
    "status": "ok",
    "replicate": 0,
    "seed": 12,
    "generations": [
        {
            "role": "sample",
            "index": 0,
            "round": 0,
            "agent": 0,
            "temperature": 0.7,
            "prompt_tokens": 20,
            "completion_tokens": 31,
            "finish_reason": "stop",
            "text": "It is \\boxed{4}.",
            "score": -1.5,
            "claimed": {"answer": "4", "correct": True},
        }
    ],
    "claimed": {"answer": "4", "selected": 0, "correct": True, "completion_tokens": 31},
}
MANIFEST = {
    "format_version": "1.0",
    "title": "t",
    "models": [{"id": "m", "parameters": 1e9, "backend": {"name": "llama.cpp"}}],
    "datasets": [{"id": "d", "policy": "math", "subsample": {"rule": "first ten", "size": 10}}],
    "cells": [
        {
            "id": "m/d/best_of_n",
            "decision_rule": "selected",
            "selection": {"marker": "BEST="},
            "calls": {"sample": {"min": 8, "max": 8}},
            "sampling": {"temperature": 0.7, "top_p": 1},
        }
    ],
    "families": [{"id": "f", "cells": ["m/d/best_of_n"]}],
}
CLAIMS = {
    "format_version": "1.0",
    "tables": [
        {
            "id": "t",
            "where": {"model": "m"},
            "columns": [
                {"name": "Method", "key": "method"},
                {"name": "Acc", "statistic": "accuracy", "unit": "percent"},
            ],
            "rows": [["best_of_n", "72.0"]],
        }
    ],
    "claims": [{"id": "c", "cell": "m/d/best_of_n", "statistic": "accuracy", "value": "72.0"}],
}
QUESTION = {"id": "q0", "gold": "4", "text": "2+2?", "level": "1"}
VALID: dict[str, Any] = {"record": RECORD, "manifest": MANIFEST, "claims": CLAIMS, "question": QUESTION}


@pytest.mark.parametrize("name", TYPES)
def test_committed_schema_is_that_of_the_type(name: str) -> None:
    assert json.loads(schema_text(name)) == build(name)
    Draft202012Validator.check_schema(build(name))


def test_unknown_schema_is_a_sentence_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="choose one of manifest"):
        schema_text("manifesto")


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += _paths(item, (*path, key))
    if isinstance(value, list):
        for key, item in enumerate(value):
            found += _paths(item, (*path, key))
    return found


def _mutate(document: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = json.loads(json.dumps(document))
    target = copy
    for key in path[:-1]:
        target = target[key]
    if new is _REMOVE:
        del target[path[-1]]
    elif new is _ADD and isinstance(target, dict):
        target["misspelt_field"] = 1
    else:
        target[path[-1]] = None if new is _ADD else new
    return copy


_REMOVE, _ADD = object(), object()
_VALUES = st.sampled_from([_REMOVE, _ADD, None, True, -1, 0, 3, 2**40, 1.5, "", "x", "m/d/e", "../x", [], {}, ["a"]])


@pytest.mark.parametrize("name", VALID)
@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_types_accept_exactly_what_the_schemas_accept(name: str, data: st.DataObject) -> None:
    document = VALID[name]
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(_paths(document)[1:]))
        document = _mutate(document, path, data.draw(_VALUES))
        if not isinstance(document, dict) or len(_paths(document)) < 2:
            break
    by_schema = Draft202012Validator(build(name)).is_valid(document)
    try:
        msgspec.convert(document, TYPES[name])
        by_type = True
    except msgspec.ValidationError:
        by_type = False
    assert by_type == by_schema, document


def test_messages_name_the_field_and_what_was_expected() -> None:
    with pytest.raises(ValueError, match=r"generations\[0\]\.role: 'sampel' is not one of"):
        decode(json.dumps(_mutate(RECORD, ("generations", 0, "role"), "sampel")).encode(), TYPES["record"])
    with pytest.raises(ValueError, match="question_id"):
        decode(json.dumps(_mutate(RECORD, ("question_id",), _REMOVE)).encode(), TYPES["record"])
