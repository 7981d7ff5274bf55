"""`evalsuite check SCORER`: one prediction judged at the command line, options read by the scorer's own signature."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.cli.prediction import join_words, parse_options
from evalsuite.core.errors import UsageError
from evalsuite.scorers import SCORERS
from tests.cli.test_run import as_json, called, lacks, said
from tests.conftest import copy_example, copy_of
from tests.meta.test_packages import HEAVY
from tests.processes import finished

pytestmark = pytest.mark.usefixtures("shared_fork_server")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run of the person who starts the tests is the last one."""
    monkeypatch.chdir(tmp_path)


def shown(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `evalsuite check` in this process."""
    code = main(["check", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def score(capsys: Capture, *arguments: object) -> dict[str, Any]:
    """The JSON object that `evalsuite check --json` prints."""
    code, out, err = shown(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """(prediction, gold): the same two rows in another order."""
    mine, gold = tmp_path / "mine.csv", tmp_path / "gold.csv"
    mine.write_text("city,n\nRome,2\nOslo,1\n")
    gold.write_text("city,n\nOslo,1\nRome,2\n")
    return mine, gold


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("number_match", ["--percentage"], {"percentage": True}),
        ("number_match", ["--no-percentage"], {"percentage": False}),
        ("number_match", ["--percentage", "false"], {"percentage": False}),
        ("number_match", ["--percentage=true", "--precision", "2"], {"percentage": True, "precision": 2}),
        ("number_match", ["--abs-tol", "1e-3", "--rel_tol", "1", "--precision", "-1"], {"abs_tol": 0.001, "rel_tol": 1, "precision": -1}),
        ("number_match", ["--gold", "17.5"], {"gold": 17.5}),
        ("number_match", ["--gold", '"17.5"'], {"gold": "17.5"}),
        ("number_match", ["--gold", "17", "--gold", "1,234"], {"gold": [17, "1,234"]}),
        ("string_match", ["--gold", "17.5"], {"gold": "17.5"}),
        ("string_match", ["--gold", '"quoted"'], {"gold": '"quoted"'}),
        ("string_match", ["--gold", '["a", "b"]'], {"gold": ["a", "b"]}),
        ("string_match", ["--exclude", "a"], {"exclude": ["a"]}),
        ("string_match", ["--exclude", "a", "--exclude", "null"], {"exclude": ["a", "null"]}),
        ("string_match", ["--exclude=--dashed", "--conj", "and"], {"exclude": ["--dashed"], "conj": "and"}),
        ("table_match", ["--ignore_order", "--condition-cols", "[0,1]"], {"ignore_order": True, "condition_cols": [0, 1]}),
        (
            "table_match",
            ["--ignore-order", "[true, false]", "--condition_cols", "2"],
            {"ignore_order": [True, False], "condition_cols": [2]},
        ),
        ("table_match", ["--condition-cols", "[0]", "--condition-cols", "[1, 2]"], {"condition_cols": [[0], [1, 2]]}),
        ("table_match", ["--condition-cols", "null", "--abs-tol", '{"n": 0.5}'], {"condition_cols": None, "abs_tol": {"n": 0.5}}),
        ("tables_match", ["--gold", "a.csv", "--ignore-orders", "true"], {"gold": ["a.csv"], "ignore_orders": [True]}),
        (
            "duckdb_match",
            ["--condition-tabs", "orders", "--condition-cols", "[[0]]"],
            {"condition_tabs": ["orders"], "condition_cols": [[0]]},
        ),
    ],
)
def test_options_are_read_by_the_signature(name: str, words: list[str], expected: dict[str, object]) -> None:
    """Flags, numbers, texts and lists become values of the parameter's own type, in both spellings."""
    found = parse_options(SCORERS.load(name), words)
    assert found == expected
    assert {key: type(value) for key, value in found.items()} == {key: type(value) for key, value in expected.items()}
    assert parse_options(SCORERS.load(name), join_words(SCORERS.load(name), found)) == found


@pytest.mark.parametrize(
    ("name", "words", "message", "hint"),
    [
        ("table_match", ["--ignor-order"], "table_match has no option '--ignor-order'", "did you mean '--ignore-order'?"),
        ("string_match", ["--zzz", "1"], "string_match has no option '--zzz'", "known: --gold, --conj, --exclude"),
        ("number_match", ["--no-precision"], "number_match has no option '--no-precision'", "did you mean '--precision'?"),
        ("number_match", ["--precision", "2.5"], "--precision of number_match must be integer from -308 to 308, found '2.5'", ""),
        ("number_match", ["--precision", "1", "--precision", "2"], "--precision is given 2 times", "takes one: integer"),
        ("number_match", ["--percentage", "maybe"], "--percentage of number_match must be true or false, found 'maybe'", ""),
        ("number_match", ["--abs-tol", "NaN"], "--abs-tol of number_match must be number of at least 0 or null, found 'NaN'", ""),
        ("string_match", ["--conj", "xor"], "--conj of string_match must be 'and' or 'or', found 'xor'", ""),
        ("string_match", ["--conj", "--exclude"], "--conj needs a value", ""),
        ("table_match", ["--condition-cols", "0,1"], "--condition-cols of table_match must be list of", "as JSON: '[0, 1]'"),
        ("number_match", ["--no-percentage=1"], "'--no-percentage' takes no value", "write --percentage 1"),
        ("string_match", ["stray"], "'stray' belongs to no option", ""),
        ("string_match", ["--gold", "[" * 100_000, "--conj", "["], "--conj of string_match must be", ""),
    ],
)
def test_bad_options_say_what_was_expected(name: str, words: list[str], message: str, hint: str) -> None:
    """An unknown option names the near one, a value of another type names the type, both as usage errors."""
    with pytest.raises(UsageError) as caught:
        parse_options(SCORERS.load(name), words)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


def test_json_holds_the_score(capsys: Capture) -> None:
    """--json prints one object with both verdicts; `score` follows --rules."""
    found = score(capsys, "string_match", "--prediction", "room 17", "--gold", "7", "--rules", "strict")
    assert (found["scorer"], found["official"], found["strict"], found["score"]) == ("string_match", 1, 0, 0)
    assert found["flip"].startswith("part of a word")


def test_a_negative_text_is_a_value(capsys: Capture) -> None:
    """A prediction or gold that begins with a dash is taken as it is."""
    assert score(capsys, "number_match", "--prediction", "-3.2", "--gold", "-3.2")["strict"] == 1


def test_text_of_a_file(capsys: Capture, tmp_path: Path) -> None:
    """@FILE is the text of a file, @@ begins a text with one @; a file that is absent or not UTF-8 is named."""
    answer = tmp_path / "answer.txt"
    answer.write_text("It is Paris", encoding="utf-8")
    assert score(capsys, "string_match", "--prediction", f"@{answer}", "--gold", "Paris")["official"] == 1
    assert score(capsys, "string_match", "--prediction", "@@home", "--gold", "@home")["official"] == 1
    answer.write_bytes(b"\xff\xfe")
    code, _, err = shown(capsys, "string_match", "--prediction", f"@{answer}", "--gold", "Paris")
    assert (code, f"BAD_ENCODING: {answer}" in err) == (2, True)
    code, _, err = shown(capsys, "string_match", "--prediction", f"@{answer}x", "--gold", "Paris")
    assert (code, f"MISSING_FILE: {answer}x" in err) == (2, True)


def test_tables_from_paths(capsys: Capture, tables: tuple[Path, Path]) -> None:
    """Table scorers read the paths of --prediction and --gold; both repeat for tables_match."""
    mine, gold = tables
    assert score(capsys, "table_match", "--prediction", mine, "--gold", gold, "--ignore-order")["strict"] == 1
    assert score(capsys, "table_match", "--prediction", mine, "--gold", gold)["strict"] == 0
    both = ["--prediction", mine, "--prediction", gold, "--gold", gold, "--gold", gold]
    assert score(capsys, "tables_match", *both, "--ignore-orders", "[true,false]")["strict"] == 1
    assert score(capsys, "tables_match", *both)["strict"] == 0


def test_an_unreadable_file_is_named(capsys: Capture, tables: tuple[Path, Path]) -> None:
    """A broken prediction or gold file ends with exit 2, the fault's code and the path."""
    mine, gold = tables
    mine.write_bytes(b"\xff\xfe\x00")
    code, _, err = shown(capsys, "table_match", "--prediction", mine, "--gold", gold)
    assert (code, f"error: BAD_ENCODING: {mine}" in err) == (2, True)
    code, _, err = shown(capsys, "table_match", "--prediction", gold, "--gold", gold.parent / "nope.csv")
    assert (code, "nope.csv: the file is not there" in err) == (2, True)


def test_gate(capsys: Capture) -> None:
    """--fail-under turns a mismatch into exit 1, under the rules that were asked for."""
    flip = ["string_match", "--prediction", "room 17", "--gold", "7", "--fail-under", "1"]
    assert shown(capsys, *flip)[0] == 0
    code, out, _ = shown(capsys, *flip, "--rules", "strict")
    assert (code, out.splitlines()[-1]) == (1, "below the gate of 1 (exit 1)")


def test_hostile_text_is_made_visible(capsys: Capture) -> None:
    """Escape sequences of a prediction never reach the terminal."""
    _, out, _ = shown(capsys, "tree_match", "--prediction", json.dumps({"a": "\x1b[2J"}), "--gold", '{"a": "x"}')
    assert "\x1b" not in out
    assert "x1b[2J" in out


def test_a_string_check_at_the_command_line_loads_nothing_heavy() -> None:
    """A whole `check string_match` process, its text from stdin, imports neither pandas nor duckdb nor rich."""
    code = (
        "import sys\nfrom evalsuite.cli import main\n"
        "assert main(['check', 'string_match', '--prediction', '-', '--gold', 'Paris', '--exclude', 'Rome', '--fail-under', '1']) == 0\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}))"
    )
    done = finished([sys.executable, "-c", code], text="It is Paris\n", check=True)
    assert done.stdout.splitlines()[-1] == "[]"


place = copy_of(lambda folder: copy_example(folder, {"sales_001", "sales_004"}))


@pytest.mark.parametrize("words", ["sales_004 --explain", "number_match --prediction 17 --gold 17.5"])
def test_reports_of_one_instance_and_of_one_prediction(words: str, place: Path) -> None:
    """-o writes what is shown in every format; an id alone is one of the last run, which a note names; of an unknown name
    the nearest instance is proposed."""
    said("run example_submission_folder -q --isolation none")
    files = [f"c.{ending}" for ending in ("html", "md", "csv", "json", "xml", "svg", "parquet")]
    noted = called("check", *words.split(), *(f"--output={file}" for file in files), cwd=place).stderr
    assert noted.startswith("note: the last run, ") is words.startswith("sales_004")
    whole = as_json(f"check {words}")
    assert json.loads(Path("c.json").read_text()).keys() == whole.keys()
    assert all(whole["reason"].split()[0] in Path(file).read_text() for file in files[:5])
    assert all(Path(file).stat().st_size for file in files)
    errors = said("check sales_4", code=2)
    assert not lacks(errors, "'sales_4' is no scorer, and no instance of the last run", "check sales_004\n")
    assert "unknown scorer 'nope'" in said("check nope", code=2)
