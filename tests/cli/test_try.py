"""`evalsuite suite try`: from one file to both percentages and an exact p, with nothing to set up and nothing left behind."""

import json
import random
from pathlib import Path

import pytest
import scipy

from evalsuite.cli import main
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, EXIT_USAGE

pytestmark = pytest.mark.usefixtures("shared_fork_server")

ARGUMENTS = ["suite", "try", "qa.csv", "--input", "question", "--reference", "answer", "--candidate", "a", "--candidate", "b"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """30 questions; a is right in 27 of them, b in 15."""
    monkeypatch.chdir(tmp_path)
    rows = [f"Question {i}?,w{i}x,{f'w{i}x' if i >= 3 else 'none'},{f'it is w{i}x' if i % 2 else 'no idea'}" for i in range(30)]
    (tmp_path / "qa.csv").write_text("question,answer,a,b\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_one_command_gives_both_percentages_and_the_exact_p(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """27 and 15 of 30, and McNemar's exact p of the 14 to 1 that differ; nothing stays behind, and a second call says the same."""
    assert main(ARGUMENTS) == EXIT_OK
    out = capsys.readouterr().out
    lost = sum(i >= 3 and i % 2 == 0 for i in range(30))
    won = sum(i < 3 and i % 2 == 1 for i in range(30))
    p = scipy.stats.binomtest(won, won + lost).pvalue
    assert "90.0 %" in out
    assert "50.0 %" in out
    assert f"{p:.2g}" in out
    assert "scored by string_match" in out
    assert "the answer lacks 'w" in " ".join(out.split())
    assert [item.name for item in place.iterdir()] == ["qa.csv"]
    assert main(ARGUMENTS) == EXIT_OK
    assert capsys.readouterr().out == out


def test_numbers_are_compared_as_numbers(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where every reference is a number the default scorer is the one of numbers; one candidate alone has the report of a run."""
    (place / "n.tsv").write_text("input\treference\tm\nHalf of 7?\t3.5\tabout 3.50\n2 x 2?\t4\tfive\n")
    assert main(["suite", "try", "n.tsv", "--candidate", "m"]) == EXIT_OK
    out = capsys.readouterr().out
    assert "scored by number_match" in out
    assert "1/2 = 50.0 %" in out


def test_keep_saves_the_suite_and_its_runs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is kept can be compared again by name, and shuffled rows make no difference."""
    header, *rows = (place / "qa.csv").read_text().splitlines()
    random.Random(1).shuffle(rows)
    assert main([*ARGUMENTS, "--keep", "mine", "--json"]) == EXIT_OK
    first = json.loads(capsys.readouterr().out)
    (place / "qa.csv").write_text("\n".join([header, *rows]) + "\n")
    run = ["suite", "run", "mine", "--from", "qa.csv", "--candidate"]
    assert main([*run, "b", "again"]) == EXIT_OK
    assert main(["compare", "again", "b"]) == EXIT_OK
    assert "the same on every compared instance" in capsys.readouterr().out
    assert first["candidates"][0]["total"]["losses"] == 13


@pytest.mark.parametrize(
    ("gates", "code", "says"),
    [
        ([], EXIT_OK, "done: b: worse (-40.0 points, p 0.0018) (no gate set)"),
        (["--fail-under", "0.4"], EXIT_OK, "done: b: worse (-40.0 points, p 0.0018), b 50.0 % (gate 40.0 % met)"),
        (["--fail-under", "0.6"], EXIT_GATE, "done: b: worse (-40.0 points, p 0.0018), b 50.0 %, below the gate of 60.0 % (exit 1)"),
        (["--fail-on-regression"], EXIT_GATE, "done: worse than a: b (exit 1)"),
        (["--fail-on-regression", "--alpha", "0.0001"], EXIT_OK, "done: no regression shown at alpha 0.0001"),
        (
            ["--fail-on-regression", "--alpha", "0.0001", "--fail-under", "0.6"],
            EXIT_GATE,
            "done: no regression shown at alpha 0.0001, b 50.0 %, below the gate of 60.0 % (exit 1)",
        ),
    ],
)
def test_gates_are_the_same_in_each_command(capsys: pytest.CaptureFixture[str], gates: list[str], code: int, says: str) -> None:
    """`suite try`, `suite run` and `compare` end with the same exit code and, under -q, print the same last line only."""
    assert main(["suite", "create", "s", "--from", "qa.csv", "--scorer", "string_match", *ARGUMENTS[3:7]]) == EXIT_OK
    capsys.readouterr()
    run = ["suite", "run", "s", "--from", "qa.csv", "--input", "question", *ARGUMENTS[7:]]
    for command in (ARGUMENTS, run, ["compare", "s/a", "s/b"]):
        assert main([*command, *gates, "-q"]) == code, command
        assert capsys.readouterr().out == f"{says}\n", command


def test_runs_of_a_suite_are_written_and_printed_as_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`suite run --json` prints the comparison alone, of one run its report; -o writes it; a gate needs something to compare with."""
    assert main(["suite", "create", "s", "--from", "qa.csv", "--scorer", "string_match", *ARGUMENTS[3:7]]) == EXIT_OK
    capsys.readouterr()
    run = ["suite", "run", "s", "--from", "qa.csv"]
    assert main([*run, *ARGUMENTS[7:], "--json", "-o", "both.md"]) == EXIT_OK
    shown = capsys.readouterr()
    assert json.loads(shown.out)["candidates"][0]["total"]["losses"] == 13
    assert "a: done: 90.0 %" in shown.err
    assert "-40.0" in (place / "both.md").read_text()
    assert main([*run, "alone", "--candidate", "b", "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out)["summary"]["score"] == 0.5
    assert main([*run, "gated", "--candidate", "b", "--fail-under", "0.6", "-o", "one.md"]) == EXIT_GATE
    assert capsys.readouterr().out.splitlines()[-1] == "done: 50.0 %, below the gate of 60.0 % (exit 1)"
    assert main([*run, "single", "--candidate", "b", "--fail-on-regression"]) == EXIT_USAGE
    assert "needs two candidates" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (["--candidate", "c"], "no candidate column 'c'"),
        (["--candidate", "a"], "--candidate names a column twice"),
        (["--scorer", "string_mtch"], "did you mean 'string_match'"),
        (["--fail-under", "50"], "--fail-under"),
    ],
)
def test_what_cannot_be_meant_is_said(capsys: pytest.CaptureFixture[str], change: list[str], says: str) -> None:
    """A wrong column or scorer exits 2 and is named."""
    assert main([*ARGUMENTS, *change]) == EXIT_USAGE
    assert says in capsys.readouterr().err
