"""`evalsuite rescore`: the same submission under other rules, and a clear refusal where it is no longer the same."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evalsuite import __version__
from evalsuite.cli import main
from tests.cli.test_run import text_submission, write_lines

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved run of two numbers with metadata; official does not see the sign of the second. Commands run here."""
    monkeypatch.chdir(tmp_path)
    rows = [{"instance_id": key, "evaluation": {"func": "number_match", "parameters": {"gold": 3.2}}} for key in ("a", "b")]
    write_lines(tmp_path / "gold" / "n_eval.jsonl", *rows)
    text_submission(tmp_path / "sub", a="It is 3.2", b="It is -3.2")
    from evalsuite.runs.run_options import RunOptions
    from evalsuite.runs.scoring import run

    run(Path("sub"), Path("gold"), RunOptions(isolation="none", metadata={"model_name": "m1"}, label="mine", limits={"seconds": 7}))
    return tmp_path


def runs(place: Path) -> list[dict[str, Any]]:
    """The run.json objects, oldest first, each with its folder's name."""
    found = sorted((place / ".evalsuite" / "runs").glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    return [{**json.loads(path.read_text()), "name": path.parent.name} for path in found]


def again(*arguments: object) -> int:
    """The exit code of a rescoring of the first run."""
    first = runs(Path())[0]["name"]
    return main(["rescore", first, "--isolation", "none", "--jobs", "1", *map(str, arguments)])


def test_other_rules_make_a_new_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdicts of the other rules, in a new run with metadata, label and limits of the old, which stays and is named."""
    assert again("--rules", "strict") == 0
    old, new = runs(place)
    assert (old["summary"]["score"], new["summary"]["score"]) == (old["summary"]["official"], old["summary"]["strict"])
    assert old["summary"]["score"] != new["summary"]["score"]
    assert new["metadata"] == {"model_name": "m1", "rescored_from": old["name"]}
    assert new["name"].partition("-mine")[1]
    assert new["options"]["limits"] == {"seconds": 7}
    shown = capsys.readouterr().out
    assert "rules official -> strict" in shown
    assert shown.endswith("1 of 2 verdicts changed\n")


def test_default_rules_stay_default(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where trees and others default to different rules, a run whose verdicts all agree is scored by these defaults again."""
    tree = {"func": "tree_match", "parameters": {"gold": {"x": 1}, "schema": {"x": "integer"}}}
    number = {"func": "number_match", "parameters": {"gold": 3.2}}
    write_lines(place / "gold/n_eval.jsonl", {"instance_id": "a", "evaluation": tree}, {"instance_id": "b", "evaluation": number})
    text_submission(place / "sub", a='{"x": 1}', b="3.2")
    assert main(["run", "sub", "--isolation", "none", "-q", "--out", "mixed"]) == 0
    assert main(["rescore", "mixed", "--isolation", "none"]) == 0
    assert "rules default ->" not in capsys.readouterr().out
    assert "|rules:default|" in runs(place)[1]["signature"]


def test_trees_keep_their_own_rules(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside other scorers the score of a tree is strict in a run, and so for every command that shows the run; reports say so."""
    tree = {"func": "tree_match", "parameters": {"gold": [{"x": 1}, {"x": 2}]}}
    number = {"func": "number_match", "parameters": {"gold": 3.2}}
    write_lines(place / "gold/n_eval.jsonl", {"instance_id": "a", "evaluation": tree}, {"instance_id": "b", "evaluation": number})
    text_submission(place / "sub", a='[{"x": 1}]', b="3.2")
    assert main(["run", "sub", "--isolation", "none", "--out", "mixed"]) == 0
    out = capsys.readouterr().out
    assert "rules official, trees strict" in out
    assert main(["runs", "margins", "mixed"]) == 0
    margins = capsys.readouterr().out
    assert "rules official, trees strict" in margins
    assert re.search(r"^ +0 +75.0 %", margins, re.MULTILINE)
    assert main(["report", "mixed", "-o", "junit.xml"]) == 0
    assert 'name="rules" value="official, trees strict"' in (place / "junit.xml").read_text()
    for rule, share in (("score", "75.0 %"), ("official", "50.0 %"), ("strict", "75.0 %")):
        assert re.search(rf"^ {rule} .* = {share}", out, re.MULTILINE)
    for words, rule, score in (([], "strict", 0.5), (["--rules", "official"], "official", 0)):
        main(["explain", "a", "--run", "mixed", *words])
        assert f"not right under {rule} rules" in capsys.readouterr().out
        main(["check", "a", "--run", "mixed", "--json", *words])
        assert json.loads(capsys.readouterr().out)["score"] == score


def test_a_part_stays_a_part(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the instances of the old run are scored, under its rules."""
    assert main(["run", "sub", "--only", "b", "--rules", "strict", "-q", "--isolation", "none"]) == 0
    name = runs(place)[1]["name"]
    assert main(["rescore", name, "-q", "--isolation", "none"]) == 0
    assert runs(place)[2]["options"] == runs(place)[1]["options"]
    assert runs(place)[2]["summary"]["n_gold"] == 1
    assert capsys.readouterr().out.endswith("0 of 1 verdicts changed\n")


@pytest.mark.parametrize("side", ["submission", "gold"])
def test_a_folder_that_moved(place: Path, capsys: pytest.CaptureFixture[str], side: str) -> None:
    """It is said which one and how to say where it is; then it is scored."""
    folder, option = {"submission": ("sub", "--result-dir"), "gold": ("gold", "--gold")}[side]
    (place / folder).rename(place / "moved")
    assert again() == 2
    assert f"hint: say where it is: {option} DIR" in capsys.readouterr().err
    assert again(f"--{side}", "moved", "-q") == 0


def test_a_scorer_version_is_a_demand(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The installed version and the run's own pass, any other is refused with both ways out."""
    assert again("--scorer-version", __version__, "-q") == 0
    assert again("--scorer-version", "same", "-q") == 0
    assert again("--scorer-version", "99.0") == 2
    assert "hint: install evalsuite 99.0, or leave --scorer-version out" in capsys.readouterr().err


def test_a_run_of_the_first_versions(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that records neither its submission's hash nor gold's layout is shown, checked, and scored with a note."""
    path = next((place / ".evalsuite" / "runs").glob("*/run.json"))
    run = json.loads(path.read_text())
    del run["submission"]["hash"], run["gold"]["layout"]
    path.write_text(json.dumps(run))
    assert main(["runs", "show", path.parent.name]) == 0
    assert "sub (no digest)" in capsys.readouterr().out
    assert main(["check", "a", "--run", path.parent.name]) == 0
    capsys.readouterr()
    assert again("-q") == 0
    assert "note: the run does not record the content of its submission" in capsys.readouterr().err
