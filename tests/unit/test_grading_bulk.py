"""The bulk path where its short cut could go wrong."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.errors import UsageError
from verify.grading.bulk import VERDICTS, grade_batches, grade_parquet

LONG = " and so on" * 60  # pushes the box out of the bytes that are looked at first

ROWS = [
    ("\\boxed{x}", "x", "correct"),
    ("\\boxed{xy", "x", "unparsed"),  # no closing brace: what a cut one short would take for x
    ("\\boxed{x" + LONG, "x", "unparsed"),
    ("\\boxed{x}" + LONG, "x", "correct"),
    ("\\boxed{x}" + LONG + "\\boxed {y}", "x", "incorrect"),  # the last box has a blank before its brace
    ("\\boxed{x} \\boxed", "x", "correct"),
    ("\\boxed{x} or {x}", "x", "correct"),
    ("\\boxed{\\{1,2\\}}", "\\{2,1\\}", "correct"),
    ("\\boxed{\\{1,2\\}} }", "\\{2,1\\}", "correct"),
    ("\\boxed{a\\\\}}", "a\\\\", "correct"),
    ("\\boxed{}", "x", "unparsed"),
    ("\\boxed{x}é{}", "x", "correct"),
    ("", "x", "unparsed"),
    (None, "x", "unparsed"),
    ("\\boxed{x}", None, "incorrect"),
]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_rows_in_any_string_type_twice(kind: pa.DataType) -> None:
    # Twice, so that the second time every answer is known already.
    texts = pa.array([row[0] for row in ROWS * 2], pa.string()).cast(kind)
    golds = pa.array([row[1] for row in ROWS * 2], pa.string()).cast(kind)
    batch = pa.record_batch({"text": texts, "gold": golds})
    found = [VERDICTS[code] for graded in grade_batches([batch, batch.slice(7, 9)]) for code in graded.verdicts]
    expected = [row[2] for row in ROWS * 2]
    assert found == expected + expected[7:16]


def test_parquet(tmp_path) -> None:
    path = tmp_path / "responses.parquet"
    pq.write_table(pa.table({"id": [1, 2], "reply": ["\\boxed{1/2}", "none"], "answer": ["0.5", "0.5"]}), path)
    (graded,) = grade_parquet(path, text="reply", gold="answer")
    assert [VERDICTS[code] for code in graded.verdicts] == ["correct", "unparsed"]
    assert graded.correct == 1


@pytest.mark.parametrize(
    ("column", "message"), [("missing", "no column 'missing' among"), ("id", "holds int64, not strings")]
)
def test_wrong_column(column: str, message: str) -> None:
    batch = pa.record_batch({"id": [1], "gold": ["1"]})
    with pytest.raises(UsageError, match=message):
        list(grade_batches([batch], text=column))
