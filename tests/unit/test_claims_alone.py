"""`audit claims` on small files written by hand: what is found, on what condition, and what bad files are told."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import REAL, run_audit

from audit.reports.consistency import render_explanation, render_text
from audit.reports.style import Style
from generators.skeleton import skeleton
from schemas.consistency import Consistency, ConsistencyReport
from schemas.errors import ClaimsError, UsageError
from schemas.reading import decode
from verify.consistency import check_file
from verify.consistency.evaluate import Budget

HEAD = 'format_version = "1.0"\n'


def _check(tmp_path: Path, text: str) -> ConsistencyReport:
    path = tmp_path / "paper.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    return check_file(path)


def _one(report: ConsistencyReport, id_: str) -> Consistency:
    (finding,) = [finding for finding in report.findings if finding.id == id_]
    return finding


SHARE = """
sets = [{{ id = "s", {set} }}]
statements = [{{ id = "x", says = "{says}", kind = "proportion", unit = "{unit}", set = "s" }}]
"""


@pytest.mark.parametrize(
    ("n", "says", "unit"),
    [(1319, "93.80", "percent"), (253, ".582", "fraction")],  # Re2 on GSM8K; program of thoughts on AQuA
)
def test_three_lines_are_enough(n: int, says: str, unit: str, tmp_path: Path) -> None:
    report = _check(tmp_path, SHARE.format(set=f"n = {n}", says=says, unit=unit))
    assert _one(report, "granularity:x").standing == "impossible"
    assert report.verdict == "refuted"


def test_an_assumed_n_only_gives_a_condition(tmp_path: Path) -> None:
    report = _check(tmp_path, SHARE.format(set='n = 40, basis = "assumed"', says="20.5", unit="percent"))
    finding = _one(report, "granularity:x")
    assert finding.standing == "conditional"
    assert "n = 40" in (finding.condition or "")
    assert report.verdict == "open"


def test_what_cutting_digits_explains_is_conditional_on_rounding(tmp_path: Path) -> None:
    # 2/3 = 66.67: cut to one decimal it prints 66.6, rounded 66.7.
    text = SHARE.format(set="n = 3", says="66.6", unit="percent")
    assert _one(_check(tmp_path, text), "granularity:x").standing == "conditional"
    # Two shares that only rounding to nearest prints show that this source does not cut: 2/3 and 5/7 = 71.43 → 71.4
    # is both ways, 6/7 = 85.714 → 85.7 both ways, but 1/6 = 16.67 → 16.7 and 5/6 = 83.33, 4/6 = 66.67 → 66.7.
    more = """
sets = [{ id = "s", n = 3 }, { id = "six", n = 6 }]
statements = [
  { id = "x", says = "66.6", kind = "proportion", unit = "percent", set = "s" },
  { id = "y", says = "16.7", kind = "proportion", unit = "percent", set = "six" },
  { id = "z", says = "66.7", kind = "proportion", unit = "percent", set = "six" },
]
"""
    assert _one(_check(tmp_path, more), "granularity:x").standing == "impossible"


def test_a_difference_of_rounded_shares_is_a_difference(tmp_path: Path) -> None:
    # 2/3 and 1/3 print 66.7 and 33.3; subtracted as printed that is 33.4, and no multiple of 1/3 prints 33.4.
    text = SHARE.format(set="n = 3", says="33.4", unit="points").replace("proportion", "difference")
    assert _one(_check(tmp_path, text), "granularity:x").standing == "consistent"
    assert _one(_check(tmp_path, text.replace("33.4", "33.6")), "granularity:x").standing == "impossible"


def test_best_case_significance_of_a_gap(tmp_path: Path) -> None:
    # −2.0 points of 150 are three questions; with none against it an exact test gives 2/2³ = .25.
    text = SHARE.format(set="n = 150", says="-2.0", unit="points").replace("proportion", "difference")
    (note,) = _one(_check(tmp_path, text), "granularity:x").notes
    assert note == "a gap of 3 questions has an exact two-sided p of 0.25 at the least"


def test_what_a_mean_of_runs_could_print_is_noted(tmp_path: Path) -> None:
    # 78.3% of 500 is 391.5: twice that is whole.
    text = SHARE.format(set="n = 500", says="78.3", unit="percent")
    assert "a mean of 2 runs could print so" in " ".join(_one(_check(tmp_path, text), "granularity:x").notes)


def test_draws_and_interpolated_values_get_no_granularity_check(tmp_path: Path) -> None:
    text = SHARE.format(set="n = 150", says="70.1", unit="percent").replace("proportion", "mean-of-draws")
    (only,) = _check(tmp_path, text).findings
    assert (only.check, only.standing) == ("file", "undecided")


@pytest.mark.parametrize("path", sorted(REAL.glob("*.claims.toml")), ids=lambda path: path.name)
def test_claims_bound_to_a_release_stay_valid(path: Path) -> None:
    # One format: these are for `audit verify`; alone they give nothing to check, and no error.
    assert [finding.check for finding in check_file(path).findings] == ["file"]


def test_sizes_pinned_by_the_cells(tmp_path: Path) -> None:
    # Multiples of 1/7: 14.29, 28.57, 42.86 leave n = 7, 14, … up to 20; 50.0 alone allows 14 and not 7.
    text = """
sets = [{ id = "s", at_most = 20 }]
[[tables]]
id = "t"
columns = [{ name = "acc", kind = "proportion", unit = "percent", set = "s" }]
rows = [["14.29"], ["28.57"], ["42.86"]]
"""
    assert "n = 7, 14" in _one(_check(tmp_path, text), "question-set:s").message
    finding = _one(_check(tmp_path, text.replace('["42.86"]', '["42.86"], ["45.00"]')), "question-set:s")
    assert finding.standing == "impossible"
    assert "without 45.00 n would be 7, 14" in finding.message
    assert [place.text for place in finding.places] == ["45.00"]


TABLE = """
[[tables]]
id = "t"
columns = [
  { name = "M", kind = "label" },
  { name = "a", kind = "number" },
  { name = "b", kind = "number" },
  { name = "d", kind = "number", formula = "a - b" },
]
rows = [["x", "71.3", "79.1", "-7.7"], ["y", "50.0", "40.0", "10.0"], ["z", "50.0", "40.0", "10.3"]]
"""


def test_a_difference_fails_only_where_no_point_of_the_intervals_gives_it(tmp_path: Path) -> None:
    report = _check(tmp_path, TABLE)
    # 71.3 − 79.1 = −7.8 naively; the prints allow −7.9 to −7.7. 10.3 is beyond 9.9 to 10.1.
    assert _one(report, "formula:t/r1c4").standing == "consistent"
    assert _one(report, "formula:t/r1c4").notes != []
    assert _one(report, "formula:t/r2c4").notes == []
    assert _one(report, "formula:t/r3c4").standing == "contradiction"


@pytest.mark.parametrize(
    ("value", "says", "standing"),
    [
        ("count(t)", "3", "consistent"),
        ("count(t, d > 0)", "3", "contradiction"),
        ("count(t, a >= 50)", "2", "consistent"),  # 50.0 may be 49.95
        ("count(t, a >= 50)", "0", "contradiction"),
        ("max(t, d)", "10.3", "consistent"),
        ("min(t, d)", "-6", "contradiction"),
        ("sum(t, a)", "171.2", "consistent"),
        ("sum(t, a)", "171.7", "contradiction"),
        ("avg(t, b)", "53.0", "consistent"),
        ("avg(t, b)", "53.2", "contradiction"),
        ("distinct(t, M)", "3", "consistent"),
        ("groups(t, M, d > 0)", "2", "consistent"),
        ("at(t, a, M = 'x') * 2", "142.6", "consistent"),
        ("abs(at(t, d, M = 'x'))", "7.7", "consistent"),
        ("sign_test(2, 3)", "1.000", "consistent"),
        ("sign_test(6, 6, 1)", "0.0156", "consistent"),
        ("mcnemar(3, 11)", "0.038", "contradiction"),
        ("best_p(5)", "0.0625", "consistent"),
        ("at(t, a, M = 'nobody')", "1", "undecided"),
        ("1 / 0", "1", "undecided"),
        ("max(t, d, M = 'nobody')", "1", "undecided"),
    ],
)
def test_sentences_over_a_table(value: str, says: str, standing: str, tmp_path: Path) -> None:
    text = f'{TABLE}\n[[statements]]\nid = "s"\nkind = "{"count" if says.isdigit() else "number"}"\nsays = "{says}"\n'
    report = _check(tmp_path, f'{text}value = "{value}"\n')
    assert _one(report, "statement:s").standing == standing


@pytest.mark.parametrize(
    ("holds", "standing"),
    [
        ("increasing(t, a)", "contradiction"),
        ("decreasing(t, a)", "consistent"),
        ("increasing(t, a, M != 'x')", "consistent"),
        ("decreasing(t, b)", "consistent"),
        ("at(t, a, M = 'y') = at(t, a, M = 'z')", "consistent"),
        ("at(t, a, M = 'x') <= at(t, b, M = 'x')", "consistent"),
        ("count(t, a < b) > count(t, a > b)", "contradiction"),
        ("not (count(t) = 3)", "contradiction"),
    ],
)
def test_conditions(holds: str, standing: str, tmp_path: Path) -> None:
    report = _check(tmp_path, f'{TABLE}\n[[statements]]\nid = "s"\nholds = ["{holds}"]\n')
    assert _one(report, "statement:s").standing == standing


def test_rescue_by_rows_and_its_limits(tmp_path: Path) -> None:
    scopes = """
[[scopes]]
id = "without-x"
label = "all but x"
where = "M != 'x'"

[[statements]]
id = "stale"
kind = "count"
says = "2"
value = "count(t)"

[[statements]]
id = "wrong"
kind = "count"
says = "7"
value = "count(t)"
"""
    report = _check(tmp_path, TABLE + scopes)
    (rescue,) = _one(report, "statement:stale").rescues
    assert (rescue.scope, rescue.kind, rescue.values) == ("without-x", "within", ["2"])
    assert _one(report, "statement:wrong").rescues == []
    assert "no choice of rows makes it right (1 tried)" in render_text(report)
    assert "would be right within: all but x (2)" in render_text(report)


def test_intervals_p_values_and_holm(tmp_path: Path) -> None:
    text = """
[[tables]]
id = "t"
columns = [
  { name = "d", kind = "number" },
  { name = "lo", kind = "interval-low", of = "d" },
  { name = "hi", kind = "interval-high", of = "d" },
  { name = "p", kind = "p", of = "d" },
  { name = "ph", kind = "p-holm", of = "d" },
]
rows = [
  ["1.0", "0.5", "1.5", "0.010", "0.020"],
  ["9.0", "0.5", "1.5", "0.300", "0.300"],
]
"""
    report = _check(tmp_path, text)
    assert _one(report, "interval:t/r1c2").standing == "consistent"
    assert _one(report, "interval:t/r2c2").standing == "conditional"
    assert _one(report, "p-against-interval:t/r1c4").standing == "consistent"
    assert _one(report, "p-against-interval:t/r2c4").standing == "conditional"  # excludes zero beside p = .3
    assert _one(report, "holm:t/r1c5").standing == "consistent"
    assert _one(_check(tmp_path, text.replace('"0.020"', '"0.010"')), "holm:t/r1c5").standing == "contradiction"
    swapped = text.replace('"1.0", "0.5", "1.5"', '"1.0", "1.5", "0.5"')
    assert _one(_check(tmp_path, swapped), "interval:t/r1c2").standing == "impossible"
    above_one = text.replace('"0.300", "0.300"', '"1.200", "1.000"')
    assert _one(_check(tmp_path, above_one), "granularity:t/r2c4").standing == "impossible"


def test_wins_ties_losses_are_a_joint_claim(tmp_path: Path) -> None:
    text = """
[[tables]]
id = "t"
columns = [
  { name = "a", kind = "number" }, { name = "b", kind = "number" },
  { name = "c", kind = "number" }, { name = "r", kind = "wins-ties-losses", formula = "record(a - c, b - c)" },
]
rows = [["2", "1", "1", "R"]]
"""
    # a beats c surely (1.5 to 2.5 against .5 to 1.5 may tie at 1.5); b and c print the same: anything.
    for record, standing in {"1/1/0": "consistent", "1/0/1": "consistent", "0/0/2": "contradiction"}.items():
        assert _one(_check(tmp_path, text.replace("R", record)), "formula:t/r1c4").standing == standing


PAIRED = """
sets = [{ id = "s", n = 150 }]
[[paired]]
id = "duel"
set = "s"
unit = "percent"
first = "84.0"
second = "89.3"
gap = "-5.3"
disagreements = "17"
override = "21.4"
"""


def test_paired_tables_in_whole_numbers(tmp_path: Path) -> None:
    # 126 and 134 of 150: c − b = 8; b/(b + c) = 3/14 = 21.4% with b + c ≤ 17 leaves 3 and 11 alone.
    assert _one(_check(tmp_path, PAIRED), "paired:duel").message.endswith(": 3/11.")
    broken = PAIRED.replace('override = "21.4"', 'override = "50.0"')
    assert _one(_check(tmp_path, broken), "paired:duel").standing == "contradiction"
    far = PAIRED + 'low = "-40.0"\nhigh = "-30.0"\n'
    assert _one(_check(tmp_path, far), "paired:duel").standing == "conditional"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('statements = [{ id = "a", says = "x" }]', "is not a printed number"),
        ('statements = [{ id = "a", says = "1", value = "2 +" }]', "ends where a number"),
        ('statements = [{ id = "a", says = "1", value = "count(nowhere)" }]', "names the table 'nowhere'"),
        ('statements = [{ id = "a", says = "1", value = "eval(1)" }]', "calls 'eval'; the functions are"),
        ('statements = [{ id = "a", says = "1", value = "x" }]', "no row to take it from"),
        ('statements = [{ id = "a", says = "1", set = "q" }]', "no question set 'q'"),
        ('statements = [{ id = "a", says = "1", rows = "q" }]', "no scope 'q'"),
        ('statements = [{ id = "a" }]', "says nothing"),
        ('statements = [{ id = "a", says = "1" }, { id = "a", says = "1" }]', "ids must be unique"),
        ('statements = [{ id = "a", says = "50", kind = "proportion" }]', "whether '50' is a percentage"),
        ('statements = [{ id = "a", says = "1", value = "said(\'b\')" }]', "no statement has that id"),
        ('sets = [{ id = "a", n = 0 }]', "0 is less than"),
        ('scopes = [{ id = "a", where = "No = 1" }]', "no table has the column"),
        ('[[tables]]\nid = "t"\ncolumns = [{ name = "a" }]\nrows = [["1", "2"]]', "row 1 has 2 entries"),
        ('[[tables]]\nid = "t"\ncolumns = [{ name = "a", kind = "number" }]\nrows = [["x"]]', "row 1, column 'a'"),
        (
            '[[tables]]\nid = "t"\ncolumns = [{ name = "a", kind = "number", formula = "b" }]\nrows = [["1"]]',
            "column 'a': the formula 'b' names a column 'b'",
        ),
        ('paired = [{ id = "a", set = "q", unit = "percent" }]', "no question set 'q'"),
    ],
)
def test_a_bad_file_is_told_where_and_what(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ClaimsError) as caught:
        _check(tmp_path, text)
    assert said in str(caught.value)
    assert "paper.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_asks_for_too_much_is_undecided_not_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.consistency.run.Budget", lambda: Budget(left=20_000))
    rows = ", ".join(f'["{i}"]' for i in range(300))
    inner = "count(t, " * 4 + "a > 0" + " and a > 1) > 0" * 4
    text = f'[[tables]]\nid = "t"\ncolumns = [{{ name = "a", kind = "number" }}]\nrows = [{rows}]\n'
    report = _check(tmp_path, f'{text}[[statements]]\nid = "s"\nholds = ["{inner}"]\n')
    finding = _one(report, "statement:s")
    assert finding.standing == "undecided"
    assert "steps of evaluation" in finding.message


def test_long_fractions_stay_bounded(tmp_path: Path) -> None:
    digits = "0." + "1234567890" * 3
    rows = ", ".join(f'["{digits[:-2]}{i:02d}"]' for i in range(100))
    product = " * ".join(["sum(t, 1 / a)"] * 20)
    text = f'[[tables]]\nid = "t"\ncolumns = [{{ name = "a", kind = "number" }}]\nrows = [{rows}]\n'
    report = _check(tmp_path, f'{text}[[statements]]\nid = "s"\nsays = "1"\nvalue = "{product}"\n')
    assert _one(report, "statement:s").standing == "contradiction"


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="()[]'^<>=+-*/,. aAdt01nomcuhld", max_size=60))
def test_no_expression_gives_a_traceback(tmp_path_factory: pytest.TempPathFactory, expression: str) -> None:
    path = tmp_path_factory.mktemp("any") / "paper.toml"
    quoted = json.dumps(expression)
    path.write_text(f'{HEAD}{TABLE}\n[[statements]]\nid = "s"\nsays = "1"\nvalue = {quoted}\n', encoding="utf-8")
    with contextlib.suppress(ClaimsError):
        assert check_file(path).findings


def test_explain_shows_the_steps(tmp_path: Path) -> None:
    report = _check(tmp_path, TABLE)
    text = render_explanation(report, "t/r3c4")
    assert "a is printed 50.0: [49.95, 50.05]" in text
    assert "a - b = [9.9, 10.1]" in text
    with pytest.raises(UsageError, match="Nothing is called"):
        render_explanation(report, "nobody")


def test_text_from_a_file_never_steers_a_terminal(tmp_path: Path) -> None:
    text = (
        'source = "a\\u001b[31mb\\u202ec"\nstatements = [{ id = "s", says = "1", value = "2", source = "\\u001b[2J" }]'
    )
    shown = render_text(_check(tmp_path, text), Style(verbose=True))
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_command_line(tmp_path: Path) -> None:
    path = tmp_path / "paper.toml"
    path.write_text(HEAD + SHARE.format(set="n = 1319", says="93.80", unit="percent"), encoding="utf-8")
    short, long = run_audit("claims", path), run_audit("claims", "check", path, "--exit-zero")
    assert (short.returncode, long.returncode) == (1, 0)
    assert short.stdout == long.stdout
    assert short.stdout.startswith("REFUTED: 1 impossible")
    assert "93.80 is no share over 1319 questions: 1237/1319 = 93.7832 and 1238/1319 = 93.8590" in short.stdout
    assert run_audit("claims", "explain", path, "x").returncode == 0
    report = decode(run_audit("claims", path, "--format", "json").stdout.encode(), ConsistencyReport)
    assert report.counts.impossible == 1
    path.write_text(HEAD + SHARE.format(set="n = 1319", says="93.78", unit="percent"), encoding="utf-8")
    assert run_audit("claims", path).returncode == 0
    for arguments in (["claims", tmp_path / "nothing.toml"], ["claims"], ["claims", "explain", path, "nobody"]):
        result = run_audit(*arguments)
        assert result.returncode == 2
        assert "Traceback" not in result.stderr


def test_skeleton_of_a_csv_is_a_claims_file(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text('Model,"Acc. (%)",Acc. (%),Note\nA,72.0,"1,784",x\n,71.3,<0.001,-\n', encoding="utf-8")
    text = skeleton(table, latex=False)
    path = tmp_path / "paper.toml"
    path.write_text(text, encoding="utf-8")
    check_file(path)
    assert '"A",' in text.split("rows")[1]
    assert text.count('kind = "number"') == 2
    assert "1,784" in text
    assert '"Acc. (%) (3)"' in text


def test_skeleton_of_latex_takes_tables_only(tmp_path: Path) -> None:
    source = tmp_path / "paper.tex"
    source.write_text(
        r"""We show 99.9\% gains. % \begin{tabular}
\begin{tabular}{@{}l|rr@{}}
\toprule
Method & \multicolumn{2}{c}{\textbf{Acc.} $\uparrow$} \\ \midrule
CoT & 72.0 & $-1.2$ \\
Best-of-$N$ & \textbf{71.3} & 84.3\% \\ \bottomrule
\end{tabular}
""",
        encoding="utf-8",
    )
    text = skeleton(source, latex=True)
    assert "99.9" not in text
    path = tmp_path / "paper.toml"
    path.write_text(text, encoding="utf-8")
    check_file(path)
    for printed in ("72.0", "-1.2", "71.3", "84.3%", "Best-of-N"):
        assert f'"{printed}"' in text


@pytest.mark.parametrize(
    ("name", "data", "latex"),
    [
        ("a.tex", b"no table", True),
        ("a.csv", b"", False),
        ("a.csv", b"\xff\xfe", False),
        ("a.tex", b"\\begin{tabular}" * 2000, True),
        ("a.csv", b"only,a,heading\n", False),
    ],
)
def test_skeleton_of_what_is_no_table(name: str, data: bytes, latex: bool, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError, match=name):
        skeleton(path, latex=latex)
