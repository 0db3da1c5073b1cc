"""Equal cost through the whole pipeline, by hand: a pool of four, methods around it, and everything that can be odd."""

from pathlib import Path

import pytest
from support import record, run_audit, sample, write_release

from schemas.manifest import Cell
from schemas.record import Generation, Record
from schemas.report import EqualCost, Report
from verify import verify_release
from verify.spending import Prices, Spending

POOL = Cell(id="m/d/pool", decision_rule="plurality", tie_rule="random", pool=True)
METHOD = Cell(id="m/d/method", decision_rule="only")


def answer(index: int, right: bool, tokens: int = 10, **fields: object) -> Generation:
    text = "\\boxed{5}" if right else "\\boxed{6}"
    return sample(index, text, completion_tokens=tokens, prompt_tokens=100, **fields)


def pool(question: str, right: int, size: int = 4) -> Record:
    """A pool of which the first `right` answers are 5 and the others are all 6."""
    return record(POOL.id, question, [answer(i, i < right, agent=i) for i in range(size)])


def one(question: str, right: bool, tokens: int) -> Record:
    return record(METHOD.id, question, [answer(0, right, tokens)])


def audit(
    tmp_path: Path, records: list[Record], n: int, cells: tuple[Cell, ...] = (POOL, METHOD), **options: object
) -> Report:
    root = write_release(tmp_path / "r", list(cells), ["5"] * n, records)
    return verify_release(root, **options).report  # type: ignore[arg-type]


def test_the_curve_is_read_between_its_points(tmp_path: Path) -> None:
    # Pools 3 of 4, 2 of 4 and 0 of 4 right. By hand, ties at chance: N=1: 3/4, 1/2, 0; N=2: the same; N=3: three of
    # the four triples of the first hold two 5s at least and so does the fourth: 1; the second: 1/2; N=4: 1, 1/2, 0.
    pools = [pool("q0", 3), pool("q1", 2), pool("q2", 0)]
    methods = [one("q0", True, 25), one("q1", True, 25), one("q2", False, 25)]
    (row,) = audit(tmp_path, pools + methods, 3).equal_cost
    assert (row.questions, row.cost, row.unit) == (3, 25.0, "completion")
    at_two, at_three = (3 / 4 + 1 / 2) / 3, (1 + 1 / 2) / 3
    assert row.baseline == pytest.approx((at_two + at_three) / 2, abs=1e-12)
    assert row.accuracy == pytest.approx(2 / 3)
    assert row.difference == pytest.approx(2 / 3 - (at_two + at_three) / 2, abs=1e-12)
    assert row.few_differences


def test_below_one_sample_the_curve_is_clamped(tmp_path: Path) -> None:
    records = [pool("q0", 3), pool("q1", 1), one("q0", True, 5), one("q1", False, 5)]
    (row,) = audit(tmp_path, records, 2).equal_cost
    assert row.clamped
    assert row.baseline == pytest.approx((3 / 4 + 1 / 4) / 2)


def the_note(report: Report) -> str:
    assert report.equal_cost == []
    (finding,) = [f for f in report.findings if f.check == "equal-cost"]
    assert finding.severity == "note"
    return finding.message


def test_beyond_the_curve_nothing_is_said(tmp_path: Path) -> None:
    records = [pool("q0", 3), pool("q1", 1), one("q0", True, 50), one("q1", False, 50)]
    assert "lies beyond the curve, which ends at 40 with N=4" in the_note(audit(tmp_path, records, 2))


def test_one_question_has_no_interval(tmp_path: Path) -> None:
    assert "fewer than two questions" in the_note(audit(tmp_path, [pool("q0", 3), one("q0", True, 20)], 1))


def test_a_pool_without_token_counts_has_no_cost(tmp_path: Path) -> None:
    bare = record(POOL.id, "q0", [sample(0, "\\boxed{5}")])
    assert "no question of the pool has all its samples" in the_note(audit(tmp_path, [bare, one("q0", True, 20)], 2))


def test_where_all_differences_are_zero_there_is_no_interval_that_pretends(tmp_path: Path) -> None:
    records = [pool("q0", 4), pool("q1", 0), one("q0", True, 20), one("q1", False, 20)]
    (row,) = audit(tmp_path, records, 2).equal_cost
    assert (row.difference, row.ci_low, row.ci_high, row.t_low, row.p_value) == (0.0, None, None, None, 1.0)
    assert row.verdict.startswith("no interval: no question has a difference")


def test_only_questions_known_on_both_sides_are_compared_and_claims_say_so(tmp_path: Path) -> None:
    records = [pool(f"q{i}", i % 5) for i in range(4)] + [one(f"q{i}", True, 20) for i in range(1, 5)]
    root = write_release(tmp_path / "r", [POOL, METHOD], ["5"] * 5, records)
    claims = tmp_path / "claims.toml"
    claims.write_text(
        'format_version = "1.0"\nclaims = [{id="a", cell="m/d/method", statistic="difference_at_cost", value="50%"}]'
    )
    report = verify_release(root, claims=claims).report
    assert report.equal_cost[0].questions == 3
    finding = next(f for f in report.findings if f.id == "claim:a")
    assert finding.verdict == "unverifiable"
    assert "over the 3 of 5 questions" in finding.message


def costs(tmp_path: Path, spending: Spending) -> EqualCost:
    """A method of two rounds: 10 and 30 tokens side by side, then 5; 100 tokens are read each time."""
    generations = [answer(0, True, 10), answer(1, True, 30), answer(2, True, 5, role="revise", round=1)]
    cell = Cell(id="m/d/method", decision_rule="last")
    records = [record(cell.id, f"q{i}", generations) for i in range(2)]
    pools = [pool(f"q{i}", 3, size=16) for i in range(2)]
    # The pool's samples have to last as long as the method does for latency to be comparable at all.
    longer = [record(POOL.id, p.question_id, [answer(i, i < 3, 40, agent=i) for i in range(16)]) for p in pools]
    root = write_release(tmp_path / "r", [POOL, cell], ["5"] * 2, records + longer)
    path = root / "release.json"
    path.write_text(path.read_text().replace('"id": "m"', '"id": "m", "parameters": 1e9', 1))
    (row,) = verify_release(root, spending=spending).report.equal_cost
    return row


@pytest.mark.parametrize(
    ("spending", "cost"),
    [
        (Spending("completion"), 45),
        (Spending("total"), 345),
        (Spending("money", Prices(prompt=1.0, completion=10.0)), (300 * 1 + 45 * 10) / 1e6),
        (Spending("flops"), 2e9 * 345),
    ],
)
def test_cost_in_every_additive_unit(tmp_path: Path, spending: Spending, cost: float) -> None:
    row = costs(tmp_path, spending)
    assert (row.unit, row.cost) == (spending.unit, pytest.approx(cost))


def test_latency_counts_the_longest_call_of_each_round(tmp_path: Path) -> None:
    generations = [answer(0, True, 10), answer(1, True, 30), answer(2, True, 5, role="revise", round=1)]
    cell = Cell(id="m/d/method", decision_rule="last")
    records = [record(cell.id, f"q{i}", generations) for i in range(2)]
    # Samples of 20 and 60 tokens: one takes 40 on average, the longer of both 60; the chain of 35 lies below one.
    pools = [record(POOL.id, f"q{i}", [answer(0, True, 20), answer(1, False, 60)]) for i in range(2)]
    root = write_release(tmp_path / "r", [POOL, cell], ["5"] * 2, records + pools)
    (row,) = verify_release(root, spending=Spending("latency")).report.equal_cost
    assert (row.cost, row.clamped, row.baseline) == (35.0, True, 0.5)


def test_flops_need_the_number_of_parameters(tmp_path: Path) -> None:
    records = [pool("q0", 3), pool("q1", 1), one("q0", True, 20), one("q1", False, 20)]
    assert "does not give the model's number of parameters" in the_note(
        audit(tmp_path, records, 2, spending=Spending("flops"))
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cost", "money"], "needs prices"),
        (["--cost", "money", "--prices", "1"], "is not two numbers"),
        (["--cost", "joules"], "joules"),
    ],
)
def test_wrong_cost_options_get_one_sentence(tmp_path: Path, arguments: list[str], words: str) -> None:
    root = write_release(tmp_path / "r", [METHOD], ["5"], [one("q0", True, 5)])
    result = run_audit("verify", root, *arguments)
    assert result.returncode == 2
    assert words in result.stderr


def test_two_pools_in_a_setting_are_refused(tmp_path: Path) -> None:
    second = Cell(id="m/d/other", decision_rule="plurality", pool=True)
    root = write_release(tmp_path / "r", [POOL, second], ["5"], [pool("q0", 2)])
    result = run_audit("verify", root)
    assert result.returncode == 3
    assert "two cells of 'm/d' are its `pool`" in result.stderr


def claimed(root: Path, folder: Path, *claims: str) -> list[tuple[str, str]]:
    path = folder / "claims.toml"
    body = ",".join(f'{{id="c{i}", {claim}}}' for i, claim in enumerate(claims))
    path.write_text(f'format_version = "1.0"\nclaims = [{body}]')
    report = verify_release(root, claims=path).report
    return [(f.verdict, f.message) for f in report.findings if f.check == "claim"]


def test_greedy_against_one_sample(tmp_path: Path) -> None:
    # Greedy right, right, wrong; one sample is right 3/4, 1/4 and 0 of the time: (1/4 + 3/4 + 0) / 3.
    pools = [pool("q0", 3), pool("q1", 1), pool("q2", 0)]
    methods = [one("q0", True, 25), one("q1", True, 25), one("q2", False, 25)]
    root = write_release(tmp_path / "r", [POOL, METHOD], ["5"] * 3, pools + methods)
    cell = 'cell="m/d/method"'
    found = claimed(
        root,
        tmp_path,
        f'{cell}, statistic="greedy_minus_sample", value="+33.3", unit="points"',
        f'{cell}, statistic="greedy_minus_sample", value="+33.4", unit="points"',
        f'{cell}, statistic="ci_low", value="0.0", unit="points", parameters={{of="greedy_minus_sample"}}',
    )
    assert [verdict for verdict, _ in found] == ["confirmed", "refuted", "confirmed"]


def test_complete_cases_leave_out_whoever_left_something_unanswered(tmp_path: Path) -> None:
    silent = record(POOL.id, "q1", [*pool("q1", 3).generations[:3], sample(3, "no idea", completion_tokens=10)])
    mute = record(METHOD.id, "q2", [sample(0, "no idea", completion_tokens=20)])
    pools = [pool("q0", 3), silent, pool("q2", 3), pool("q3", 1)]
    methods = [one("q0", False, 20), one("q1", True, 20), mute, one("q3", False, 20)]
    root = write_release(tmp_path / "r", [POOL, METHOD], ["5"] * 4, pools + methods)
    # q0 and q3 are left: the method has none right, two samples of the pools 3/4 and 1/4 by chance.
    found = claimed(
        root,
        tmp_path,
        'cell="m/d/method", statistic="complete_case_n", value="2"',
        'cell="m/d/method", statistic="difference_at_cost", value="-50.0%", parameters={subset="complete", draws=0}',
        'cell="m/d/method", statistic="difference_at_cost", value="-50.0%", parameters={draws=0}',
        'cell="m/d/method", statistic="difference_at_cost", value="1", parameters={subset="levels:9"}',
    )
    assert [verdict for verdict, _ in found] == ["confirmed", "confirmed", "refuted", "unverifiable"]
    assert "no question of the setting has level '9'" in found[3][1]


def test_counts_over_comparisons_are_those_of_the_table(tmp_path: Path) -> None:
    import random

    from generators.planted import Plan, plant

    root = tmp_path / "r"
    plant(root, Plan(questions=30), rng=random.Random(4))
    rows = verify_release(root).report.equal_cost
    negative = sum(row.difference < 0 for row in rows)
    worse = sum(row.difference < 0 and (row.p_holm or 1) < 0.05 for row in rows)
    assert 0 < worse < negative < len(rows) == 14
    exact = "parameters={draws=0}"
    cell = 'cell="planted-small/sums/debate"'
    found = claimed(
        root,
        tmp_path,
        f'{cell}, statistic="comparison_count", value="14"',
        f'{cell}, statistic="negative_count", value="{negative}", {exact}',
        f'{cell}, statistic="negative_count", value="{negative + 1}", {exact}',
        f'{cell}, statistic="worse_count", value="{worse}", {exact}',
        f'{cell}, statistic="worse_count", value="0", {exact}',
        f'{cell}, statistic="comparison_count", value="4", parameters={{methods="debate,best_of_n"}}',
        f'{cell}, statistic="comparison_count", value="7", parameters={{family="setting"}}',
        f'{cell}, statistic="comparison_count", value="7", parameters={{methods="debat"}}',
    )
    assert [verdict for verdict, _ in found] == [
        "confirmed", "confirmed", "refuted", "confirmed", "refuted", "confirmed", "confirmed", "unverifiable",
    ]  # fmt: skip


def test_sign_tests_state_their_side(tmp_path: Path) -> None:
    # Six methods, all worse than sampling: 2 (1/2)^6 two-sided, (1/2)^6 one-sided; one setting cannot be unanimous
    # in more than one cluster: 1/2 one-sided.
    cells = [Cell(id=f"m/d/m{i}", decision_rule="only") for i in range(6)]
    records = [pool(f"q{j}", 4) for j in range(3)]
    records += [record(c.id, f"q{j}", [answer(0, False, 20)]) for c in cells for j in range(3)]
    root = write_release(tmp_path / "r", [POOL, *cells], ["5"] * 3, records)
    cell = 'cell="m/d/m0"'
    found = claimed(
        root,
        tmp_path,
        f'{cell}, statistic="sign_test_p", value="0.031"',
        f'{cell}, statistic="sign_test_p", value="0.0156", parameters={{alternative="less"}}',
        f'{cell}, statistic="sign_test_p", value="0.0156"',
        f'{cell}, statistic="cluster_sign_test_p", value="0.5", parameters={{alternative="less"}}',
    )
    assert [verdict for verdict, _ in found] == ["confirmed", "confirmed", "refuted", "confirmed"]


def test_answers_that_only_the_gold_tells_apart_do_not_stop_the_comparison(tmp_path: Path) -> None:
    # "5 cm" and "5 m" are one normal form, and only one of them is right against "5 m".
    texts = ["\\boxed{5 \\text{ cm}}", "\\boxed{5 \\text{ m}}", "\\boxed{5 \\text{ m}}", "\\boxed{7 \\text{ m}}"]
    pools = [
        record(POOL.id, f"q{i}", [sample(j, text, completion_tokens=10) for j, text in enumerate(texts)])
        for i in range(2)
    ]
    methods = [record(METHOD.id, f"q{i}", [sample(0, texts[1], completion_tokens=20)]) for i in range(2)]
    root = write_release(tmp_path / "r", [POOL, METHOD], ["5 \\text{ m}"] * 2, pools + methods, policy="math")
    (row,) = verify_release(root).report.equal_cost
    assert row.accuracy == 1.0
    # Two samples: both 5 m (1 of 6 pairs) wins, every pair with one 5 m ties (4 of 6), else lost.
    assert row.baseline == pytest.approx(1 / 6 + 4 / 6 / 2)


def test_an_author_who_interpolates_between_all_sizes_is_not_refuted(tmp_path: Path) -> None:
    # At the cost of five samples the curve of six is known exactly; between four and six it is only interpolated.
    pools = [pool(f"q{i}", right, size=6) for i, right in enumerate((5, 4, 3, 3))]
    methods = [one(f"q{i}", True, 50) for i in range(4)]
    root = write_release(tmp_path / "r", [POOL, METHOD], ["5"] * 4, pools + methods)
    # By hand, five of six: 5 right of 6 and 4 of 6 win always; 3 of 6 leave 3 to 2 either way, 1/2.
    exact = (1 + 1 + 1 / 2 + 1 / 2) / 4
    # Four of six, ties at chance: 5 right win always; 4 right: 9 of 15 win and 6 tie, 12/15; 3 right: 1/2. Six of
    # six: 1, 1, 1/2, 1/2.
    between = ((1 + 12 / 15 + 1) / 4 + (1 + 1 + 1) / 4) / 2
    assert exact - between == pytest.approx(0.025)
    statistic = 'cell="m/d/method", statistic="sc_accuracy_at_cost"'
    found = claimed(
        root,
        tmp_path,
        f'{statistic}, value="{100 * exact:.2f}%", parameters={{draws=0}}',
        f'{statistic}, value="{100 * between:.2f}%", parameters={{draws=0}}',
        f'{statistic}, value="80.00%", parameters={{draws=0}}',
    )
    assert [verdict for verdict, _ in found] == ["confirmed", "confirmed", "refuted"]


def test_ties_drawn_at_random_leave_the_judge_s_agreement_open(tmp_path: Path) -> None:
    cell = Cell(id="m/d/best", decision_rule="selected", tie_rule="random")
    tied = [answer(0, True), answer(1, False), sample(2, "BEST=<1>", role="select", round=1)]
    root = write_release(tmp_path / "r", [cell], ["5"] * 2, [record(cell.id, f"q{i}", tied) for i in range(2)])
    names = ("agreement_rate", "override_accuracy", "p_mcnemar")
    found = claimed(root, tmp_path, *(f'cell="m/d/best", statistic="{name}", value="1"' for name in names))
    assert [verdict for verdict, _ in found] == ["unverifiable"] * 3
    assert all("2 votes are tied" in message for _, message in found)
