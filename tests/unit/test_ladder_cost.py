"""Comparisons at equal cost, made otherwise: a pool of four and one method, all figures by hand.

Of 40 questions the pool has 4, 3, 3 and 2 of 4 samples right, ten each, and all wrong samples agree. Ties at chance:
12/16 = 75% at one and two samples, (1 + 1 + 1 + 1/2)/4 = 87.5% at three and four. A sample writes 10 tokens and reads
100. The method is right in 24 of 40 (60%), writes 25 tokens and reads 100: between two and three samples, at 81.25%.
"""

from pathlib import Path

import pytest
from support import FIXTURES, record, sample, write_release

from schemas.manifest import Cell
from schemas.record import Record
from verify import verify_release

POOL = Cell(id="m/d/pool", decision_rule="plurality", tie_rule="random", pool=True)
METHOD = Cell(id="m/d/method", decision_rule="last")
RIGHT = (4, 3, 3, 2)


def answers(flags: list[bool], cell: Cell, i: int, tokens: int) -> Record:
    calls = [
        sample(k, "\\boxed{5}" if right else "\\boxed{6}", completion_tokens=tokens, prompt_tokens=100, agent=k)
        for k, right in enumerate(flags)
    ]
    return record(cell.id, f"q{i}", calls)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = [answers([k < RIGHT[i % 4] for k in range(4)], POOL, i, 10) for i in range(40)]
    records += [answers([i < 24], METHOD, i, 25) for i in range(40)]
    return write_release(tmp_path_factory.mktemp("cost") / "r", [POOL, METHOD], ["5"] * 40, records)


def matched(release: Path, tmp_path: Path, cell: Cell, statistic: str, value: str, parameters: str = "") -> list[str]:
    path = tmp_path / "claims.toml"
    path.write_text(
        f'format_version = "1.0"\nclaims = [{{ id = "a", cell = "{cell.id}", statistic = "{statistic}", '
        f'value = "{value}", unit = "percent", parameters = {{ draws = 0{parameters} }} }}]'
    )
    (finding,) = [f for f in verify_release(release, claims=path).report.findings if f.check == "claim"]
    assert (finding.verdict == "confirmed") == (not finding.tried)
    return [match.alternative for match in finding.diagnosis]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("-21.2", None),  # as declared, and so is −21.3: the value is −21.25
        ("-15.0", "costs just less, without interpolation"),
        ("-15.0", "equal tokens read and generated"),  # 125 of 110 and 220 for one and two samples: both 75%
        ("-27.5", "costs just more, without interpolation"),
        ("-27.5", "4 samples whatever they cost"),
        # Ties right: at two samples (1 + 1 + 1 + 5/6)/4 = 95.8%, at three no ties: half-way 91.7%.
        ("-31.7", "tie rule `right` in the sampling curve"),
        ("+21.2", "sampling minus the method"),
    ],
)
def test_what_prints_a_difference(release: Path, tmp_path: Path, value: str, words: str | None) -> None:
    found = matched(release, tmp_path, METHOD, "difference_at_cost", value)
    assert any(words in label for label in found) if words else not found, found


def test_what_prints_the_baseline(release: Path, tmp_path: Path) -> None:
    found = matched(release, tmp_path, METHOD, "sc_accuracy_at_cost", "87.5")
    assert any("costs just more" in label for label in found)
    assert not any("sampling minus" in label for label in found)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("75.0", "2 samples in place of 3"),
        ("100.0", "any of 3 samples correct"),
    ],
)
def test_what_prints_a_point_of_the_curve(release: Path, tmp_path: Path, value: str, words: str) -> None:
    found = matched(release, tmp_path, POOL, "sc_accuracy", value, ", k = 3")
    assert any(words in label for label in found), found


def test_a_range_of_draws_is_no_match_of_everything(release: Path, tmp_path: Path) -> None:
    # 50 points off, nothing but chance could print it; 200 draws allow a point or two.
    path = tmp_path / "claims.toml"
    path.write_text(
        f'format_version = "1.0"\nclaims = [{{ id = "a", cell = "{METHOD.id}", statistic = "difference_at_cost", '
        'value = "-71.3", unit = "points" }]'
    )
    (finding,) = [f for f in verify_release(release, claims=path).report.findings if f.check == "claim"]
    assert finding.verdict == "refuted"
    assert finding.diagnosis == []
    assert finding.tried > 10


def test_a_raw_p_printed_as_holms(tmp_path: Path) -> None:
    root = FIXTURES / "intact"
    rows = verify_release(root).report.equal_cost
    row = max(rows, key=lambda row: (row.p_holm or 0.0) - row.p_value)
    path = tmp_path / "claims.toml"
    path.write_text(
        f'format_version = "1.0"\nclaims = [{{ id = "a", cell = "{row.cell}", statistic = "p_holm", '
        f'value = "{row.p_value:.3f}", parameters = {{ draws = 0 }} }}]'
    )
    (finding,) = [f for f in verify_release(root, claims=path).report.findings if f.check == "claim"]
    assert finding.verdict == "refuted"
    assert "the raw p in place of Holm's" in [match.alternative for match in finding.diagnosis]
