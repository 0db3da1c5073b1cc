"""The command line: exit codes, one sentence for everything that is wrong, nothing written half."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support import FIXTURES, record, run_audit, sample, start_audit, write_release

from schemas.catalog import build
from schemas.manifest import Cell

INTACT = FIXTURES / "intact"


def test_help_names_every_command() -> None:
    text = run_audit("--help").stdout
    assert all(name in text for name in ("verify", "import", "schema"))


def test_verdict_comes_first_and_no_colour_where_there_is_no_terminal() -> None:
    result = start_audit("verify", INTACT)
    assert result.returncode == 0
    assert result.stdout.startswith("CONFIRMED: ")
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_refuted_names_claim_ours_and_the_difference_in_questions() -> None:
    result = run_audit("verify", FIXTURES / "claim-off-by-one")
    assert result.returncode == 1
    assert result.stdout.startswith("REFUTED: ")
    assert "printed 75.0, ours 8 of 12 = 66.6667%; the printed value needs 9, 1 more than ours." in result.stdout


def test_exit_zero_is_for_reporting_only() -> None:
    assert run_audit("verify", FIXTURES / "claim-off-by-one", "--exit-zero").returncode == 0


def test_unverifiable_alone_exits_with_four(tmp_path: Path) -> None:
    claims = tmp_path / "claims.toml"
    claims.write_text(
        'format_version = "1.0"\nclaims = [{id="a", cell="no/such/cell", statistic="accuracy", value="1"}]'
    )
    result = run_audit("verify", INTACT, "--claims", claims)
    assert result.returncode == 4
    assert result.stdout.startswith("UNVERIFIABLE: ")


def test_json_keeps_to_its_schema_and_is_the_same_for_any_number_of_jobs() -> None:
    one = run_audit("verify", INTACT, "--format", "json").stdout
    two = run_audit("verify", INTACT, "--format", "json", "--jobs", "2").stdout
    assert one == two
    Draft202012Validator(build("report")).validate(json.loads(one))


def test_output_goes_to_the_file_and_the_verdict_to_the_screen(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    result = run_audit("verify", INTACT, "--format", "json", "--output", target)
    assert result.stdout.startswith("CONFIRMED: ")
    assert len(result.stdout.splitlines()) == 1
    assert json.loads(target.read_text())["verdict"] == "confirmed"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["verify", "/no/such/folder"], 3, "does not exist"),
        (["verify", str(INTACT / "release.json")], 3, "is a file"),
        (["verify", str(INTACT / "questions")], 3, "holds no release.json"),
        (["verify", str(INTACT), "--claims", "/no/such/file"], 2, "cannot be read"),
        (["verify", str(INTACT), "--questions", "/no/such/file"], 2, "is not a file"),
        (["verify", str(INTACT), "--policy", "mine"], 2, "there are gsm8k, math"),
        (["verify", str(INTACT), "--output", "/no/such/folder/x"], 2, "cannot be written"),
        (["verify", str(INTACT), "--jobs", "0"], 2, "jobs"),
        (["verify"], 2, "Missing argument"),
        (["verfy"], 2, "No such command"),
        (["schema", "records"], 2, "'records' is not one of"),
    ],
)
def test_wrong_calls_get_one_sentence_and_no_traceback(arguments: list[str], code: int, words: str) -> None:
    result = run_audit(*arguments)
    assert result.returncode == code
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (b"", "release.json: not JSON"),
        (b"[]", "release.json: the object: [] is not of type 'object'"),
        (b"\xff", "release.json: byte 1 is not UTF-8"),
        (b'{"format_version": "9.0"}', 'format_version is "9.0", and this tool reads "1.0"'),
        (b'{"format_version": "1.0"}', "is a required property"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_exit_three(tmp_path: Path, manifest: bytes, words: str) -> None:
    (tmp_path / "release.json").write_bytes(manifest)
    result = run_audit("verify", tmp_path)
    assert (result.returncode, result.stdout) == (3, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("m/d/x", "n/d/x"), "names model 'n', which `models` does not list"),
        (("m/d/x", "m/e/x"), "names dataset 'e', which `datasets` does not list"),
        (('"policy": "gsm8k"', '"policy": "mine"'), "declares policy 'mine', which does not exist"),
    ],
)
def test_a_manifest_at_odds_with_itself_is_exit_three(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    root = write_release(tmp_path / "r", [cell], ["5"], [record(cell.id, "q0", [sample(0, "5")])])
    path = root / "release.json"
    path.write_text(path.read_text().replace(*change))
    result = run_audit("verify", root)
    assert result.returncode == 3
    assert words in result.stderr


def test_nothing_from_a_release_steers_the_terminal(tmp_path: Path) -> None:
    cell = Cell(id="m/d/x", decision_rule="only")
    evil = "\x1b[2J\x1b]0;owned\x07\u202e[bold red]x[/bold red]"
    root = write_release(tmp_path / "r", [cell], ["5"], [record(cell.id, f"q{evil}", [sample(0, evil)])])
    path = root / "release.json"
    path.write_text(path.read_text().replace("by hand", "\\u001b[31mred\\u202e"))
    claims = tmp_path / "claims.toml"
    claims.write_text(
        'format_version = "1.0"\nsource="\\u001b[2J"\n'
        'claims = [{id="a", cell="m/d/x", statistic="\\u001b[2J", value="\\u001b[2J"}]'
    )
    for form in ("text", "json"):
        result = run_audit("verify", root, "--claims", claims, "--format", form)
        assert result.returncode == 1
        assert not any(c in result.stdout for c in "\x1b\x07\u202e")
    assert "[bold red]x" in run_audit("verify", root, "--claims", claims).stdout


def test_verify_loads_neither_generators_nor_backends(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from audit.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('generators', 'llama_cpp', 'polars', 'hypothesis')]\n"
        "assert not bad, bad\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, "verify", str(INTACT)], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
