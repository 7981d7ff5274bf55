"""`evalsuite explain` and `check --explain`, as a user runs them."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.runs.history import find_runs
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD, ANSWERS = str(ROOT / "gold"), str(ROOT / "example_submission_folder")


def hidden_suite(folder: Path) -> tuple[Path, Path]:
    """A suite whose gold is hidden, and a hostile answer that is 100 times gold."""
    gold, answers = folder / "gold", folder / "answers"
    for side, rows in (
        (gold, "region,share\nNorth\x1b[31m,0.1275\nSouth,0.4411\n"),
        (answers, "region,share\nNorth\x1b[31m,12.75\nSouth,44.11\n"),
    ):
        (side / "q1").mkdir(parents=True)
        (side / "q1" / "result.csv").write_text(rows)
    (gold / "suite.yaml").write_text("hidden: true\n")
    (gold / "a_eval.jsonl").write_text(
        json.dumps({"instance_id": "q1", "evaluation": {"func": "table_match", "parameters": {"gold": "result.csv"}}}) + "\n"
    )
    line = {"instance_id": "q1", "answer_type": "file", "answer_or_path": "result.csv"}
    (answers / "results_metadata.jsonl").write_text(json.dumps(line) + "\n")
    return gold, answers


def test_a_saved_run_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run's folder is enough: cause, rows and SQL are shown."""
    assert main(["run", ANSWERS, "--gold", GOLD, "--out", str(tmp_path / "run"), "--no-cache", "-q", "--only", "sales_007"]) == 0
    capsys.readouterr()
    assert main(["explain", "sales_007", "--run", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert "proved      rows scrambled" in shown
    assert "EXCEPT ALL" in shown


def test_the_last_run_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain`, `report`, `margins` and `bundle` take the newest run, which a note on stderr names; without any they exit 2."""
    monkeypatch.chdir(tmp_path)
    commands = (["explain", "sales_007"], ["report"], ["margins"], ["bundle", "sales_007", "-o", "case.md"])
    for words in commands:
        assert main(words) == 2, words
        assert "no run is named, and there is none in .evalsuite/runs" in capsys.readouterr().err
    for only in ("sales_008", "sales_007"):
        main(["run", ANSWERS, "--gold", GOLD, "--only", only, "--no-cache", "-q"])
    name = find_runs()[-1].name
    for words in commands:
        named = [*words, *([name] if len(words) == 1 else ["--run", name])]
        capsys.readouterr()
        code = main(words)
        shown = capsys.readouterr()
        assert f"note: the last run, {name}\n" in shown.err, words
        Path("case.md").unlink(missing_ok=True)
        assert (main(named), capsys.readouterr().out) == (code, shown.out), words
        Path("case.md").unlink(missing_ok=True)


def test_hidden_gold_stays_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default the cause is named and no cell; a chosen level shows more, with nothing that a terminal would obey."""
    gold, answers = hidden_suite(tmp_path)
    assert main(["explain", "q1", "--result_dir", str(answers), "--gold", str(gold)]) == 0
    shown = capsys.readouterr().out
    assert "times 100" in shown
    assert not [word for word in ("0.1275", "0.4411", "North", "share", "12.75") if word in shown]
    assert main(["explain", "q1", "--result_dir", str(answers), "--gold", str(gold), "--reveal", "cells"]) == 0
    shown = capsys.readouterr().out
    assert "0.1275" in shown
    assert "\x1b" not in shown


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` prints the evidence and the level it was cut to."""
    gold, answers = hidden_suite(tmp_path)
    assert main(["explain", "q1", "--result_dir", str(answers), "--gold", str(gold), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["reveal"], data["explanation"]["cause"]) == ("class", "times 100")


def test_check_explains_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check ID --explain` adds the explanation; without a submission it is a mistake."""
    assert main(["check", "sales_008", "--result_dir", ANSWERS, "--gold", GOLD, "--explain"]) == 0
    assert "proved      rounding" in capsys.readouterr().out
    assert main(["check", "string_match", "--explain", "--prediction", "a", "--gold", "b"]) == 2


def test_check_explains_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check --explain --json` is one object: the result, the level, and the explanation."""
    gold, answers = hidden_suite(tmp_path)
    words = ["check", "q1", "--result_dir", str(answers), "--gold", str(gold), "--json"]
    assert main([*words, "--explain"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["score"], data["reveal"], data["explanation"]["cause"]) == (0, "class", "times 100")
    assert main(words) == 0
    assert "explanation" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("more", [[], ["--json"], ["--explain"], ["--explain", "--json"]])
def test_check_keeps_hidden_gold_hidden(more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Plain `check` shows no cell of hidden gold and not its spec, unless a level is chosen."""
    gold, answers = hidden_suite(tmp_path)
    words = ["check", "q1", "--result_dir", str(answers), "--gold", str(gold), *more]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert not [word for word in ("0.1275", "0.4411", "North", "share", "table_match(") if word in shown]
    assert main([*words, "--reveal", "cells"]) == 0
    assert "0.1275" in capsys.readouterr().out
    assert main([*words, "--reveal", "everything"]) == 2


IN_EXAMPLE = ["--result_dir", ANSWERS, "--gold", GOLD]


@pytest.mark.parametrize(
    "words", [["explain", "q1"], ["explain", "nobody", *IN_EXAMPLE], ["explain", "sales_008", *IN_EXAMPLE, "--reveal", "all"]]
)
def test_mistakes(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """No submission, an unknown id and an unknown level end with a hint and exit code 2."""
    assert main(words) == 2
    assert "hint:" in capsys.readouterr().err
