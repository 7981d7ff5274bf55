"""Commands about saved runs: `runs`, `rescore`, `merge`, `agree`, `sql` and `samples`, each as a person uses it."""

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from evalsuite import __version__
from evalsuite.cli import main
from evalsuite.core.errors import EXIT_USAGE
from evalsuite.sandbox.temp_dirs import lock
from tests.cli.test_run import as_json, check, lacks, said, text_submission, write_answers, write_gold
from tests.conftest import ROOT, copy_example, copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")


METADATA = {
    "model_name": "model m", "model_version": "2", "foundation_model": "base", "prompt_template": "Say {input}", "description": "a try",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a suite's run with all metadata, whose contexts hold an escape and a line end."""
    monkeypatch.chdir(tmp_path)
    for name, head, rows in (
        ("q.csv", ("input", "reference_output"), [("where?", "here"), ("when?", "now")]),
        ("m.csv", ("candidate_output", "page"), [("here", "page one"), ("then", "page\n\x1b[31mtwo")]),
    ):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([head, *rows])
    assert main(["suite", "create", "s", "--from", "q.csv", "--scorer", "string_match"]) == 0
    options = ["--model-name", "model m", "--model-version", "2", "--foundation-model", "base"]
    options += ["--prompt-template", "Say {input}", "--description", "a try"]
    assert main(["suite", "run", "s", "first", "--from", "m.csv", "--context-column", "page", *options]) == 0
    (folder,) = (tmp_path / ".evalsuite" / "runs").iterdir()
    return folder


def test_runs_are_shown_told_apart_and_locked(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All metadata and contexts by either name; a name of two runs is an error; what another process writes is no stopped run."""
    assert main(["runs", "tag", "first", "--add", "best"]) == 0
    shown = said("runs show first")
    rows = [(line[1:19].strip(), line[20:]) for line in shown.splitlines()]
    metadata = {key.replace(" ", "_"): value for key, value in rows}
    assert {key: metadata[key] for key in METADATA} == METADATA
    assert {("run", run.name), ("run name", "first"), ("tags", "#best"), ("score", "1/2 = 50.0 %, 95 % CI 9.5-90.5")} <= set(rows)
    ids = [json.loads(line)["instance_id"] for line in (run / "results.jsonl").read_text().splitlines()]
    assert [value for key, value in rows if key == "context"] == [f"{ids[0]}: page one", f"{ids[1]}: page\\n\\x1b[31mtwo"]
    assert said("runs show", run.name) == shown
    other = run.with_name("zz-copy")
    other.mkdir()
    for file in run.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    error = said("runs show first", code=2)
    assert not lacks(error, "2 runs are named 'first'", "zz-copy")
    place = run.with_name("zz-now")
    place.mkdir()
    (place / ".started.json").write_text("{}")
    descriptor = os.open(place, os.O_RDONLY)
    lock(descriptor)
    for words, code, text in (
        (["runs"], 0, "note: zz-now: being written by another run"),
        (["runs", "rm", "zz-now"], 2, "is being written"),
    ):
        assert main(words) == code
        assert text in (error := capsys.readouterr().err)
        assert "resume" not in error
    assert "no run in .evalsuite/runs would be deleted" in said("runs prune --unfinished")
    os.close(descriptor)
    assert main(["runs", "rm", "zz-now"]) == 2
    assert main(["runs"]) == 0
    assert "zz-now is an unfinished run" in (error := capsys.readouterr().err)
    assert "note: zz-now: not finished" in error


@pytest.fixture
def two_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved run of two numbers with metadata; official does not see the sign of the second. Commands run here."""
    monkeypatch.chdir(tmp_path)
    write_gold(tmp_path / "gold", a=check("number_match", gold=3.2), b=check("number_match", gold=3.2))
    text_submission(tmp_path / "sub", a="It is 3.2", b="It is -3.2")
    from evalsuite.runs.run_options import RunOptions
    from evalsuite.runs.scoring import run

    run(Path("sub"), Path("gold"), RunOptions(isolation="none", metadata={"model_name": "m1"}, label="mine", limits={"seconds": 7}))
    return tmp_path


def saved_runs(two_numbers: Path) -> list[dict[str, Any]]:
    """The run.json objects, oldest first, each with its folder's name."""
    found = sorted((two_numbers / ".evalsuite" / "runs").glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    return [{**json.loads(path.read_text()), "name": path.parent.name} for path in found]


def again(*arguments: object) -> int:
    """The exit code of a rescoring of the first run."""
    first = saved_runs(Path())[0]["name"]
    return main(["rescore", first, "--isolation", "none", "--jobs", "1", *map(str, arguments)])


def test_other_rules_make_a_new_run(two_numbers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With metadata, label and limits of the old, which stays and is named; another scorer version is refused with both ways out."""
    assert again("--rules", "strict") == 0
    old, new = saved_runs(two_numbers)
    assert (old["summary"]["score"], new["summary"]["score"]) == (old["summary"]["official"], old["summary"]["strict"])
    assert old["summary"]["score"] != new["summary"]["score"]
    assert new["metadata"] == {"model_name": "m1", "rescored_from": old["name"]}
    assert new["name"].partition("-mine")[1]
    assert new["options"]["limits"] == {"seconds": 7}
    shown = capsys.readouterr().out
    assert "rules official -> strict" in shown
    assert shown.endswith("1 of 2 verdicts changed\n")
    assert again("--scorer-version", __version__, "-q") == 0
    assert again("--scorer-version", "same", "-q") == 0
    assert again("--scorer-version", "99.0") == 2
    assert "hint: install evalsuite 99.0, or leave --scorer-version out" in capsys.readouterr().err


def test_default_rules_stay_default_and_trees_keep_theirs(two_numbers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run by default rules is scored by them again; beside other scorers trees are strict in every command, and reports say so."""
    tree, number = check("tree_match", gold={"x": 1}, schema={"x": "integer"}), check("number_match", gold=3.2)
    write_gold(two_numbers / "gold", a=tree, b=number)
    text_submission(two_numbers / "sub", a='{"x": 1}', b="3.2")
    assert main(["run", "sub", "--isolation", "none", "-q", "--out", "mixed"]) == 0
    assert main(["rescore", "mixed", "--isolation", "none"]) == 0
    assert "rules default ->" not in capsys.readouterr().out
    assert "|rules:default|" in saved_runs(two_numbers)[1]["signature"]
    write_gold(two_numbers / "gold", a=check("tree_match", gold=[{"x": 1}, {"x": 2}]), b=number)
    text_submission(two_numbers / "sub", a='[{"x": 1}]', b="3.2")
    assert main(["run", "sub", "--isolation", "none", "--out", "mixed"]) == 0
    out = capsys.readouterr().out
    assert "rules official, trees strict" in out
    assert main(["runs", "margins", "mixed"]) == 0
    margins = capsys.readouterr().out
    assert "rules official, trees strict" in margins
    assert re.search(r"^ +0 +75.0 %", margins, re.MULTILINE)
    assert main(["report", "mixed", "-o", "junit.xml"]) == 0
    assert 'name="rules" value="official, trees strict"' in (two_numbers / "junit.xml").read_text()
    for rule, share in (("score", "75.0 %"), ("official", "50.0 %"), ("strict", "75.0 %")):
        assert re.search(rf"^ {rule} .* = {share}", out, re.MULTILINE)
    for words, rule, score in (([], "strict", 0.5), (["--rules", "official"], "official", 0)):
        main(["explain", "a", "--run", "mixed", *words])
        assert f"not right under {rule} rules" in capsys.readouterr().out
        main(["check", "a", "--run", "mixed", "--json", *words])
        assert json.loads(capsys.readouterr().out)["score"] == score


def test_a_part_stays_a_part(two_numbers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the instances of the old run are scored, under its rules."""
    assert main(["run", "sub", "--only", "b", "--rules", "strict", "-q", "--isolation", "none"]) == 0
    name = saved_runs(two_numbers)[1]["name"]
    assert main(["rescore", name, "-q", "--isolation", "none"]) == 0
    assert saved_runs(two_numbers)[2]["options"] == saved_runs(two_numbers)[1]["options"]
    assert saved_runs(two_numbers)[2]["summary"]["n_gold"] == 1
    assert capsys.readouterr().out.endswith("0 of 1 verdicts changed\n")


@pytest.mark.parametrize("side", ["submission", "gold"])
def test_a_folder_that_moved(two_numbers: Path, capsys: pytest.CaptureFixture[str], side: str) -> None:
    """It is said which one and how to say where it is; then it is scored."""
    folder, option = {"submission": ("sub", "--result-dir"), "gold": ("gold", "--gold")}[side]
    (two_numbers / folder).rename(two_numbers / "moved")
    assert again() == 2
    assert f"hint: say where it is: {option} DIR" in capsys.readouterr().err
    assert again(f"--{side}", "moved", "-q") == 0


def test_a_run_of_the_first_versions(two_numbers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that records neither its submission's hash nor gold's layout is shown, checked, and scored with a note."""
    path = next((two_numbers / ".evalsuite" / "runs").glob("*/run.json"))
    run = json.loads(path.read_text())
    del run["submission"]["hash"], run["gold"]["layout"]
    path.write_text(json.dumps(run))
    assert main(["runs", "show", path.parent.name]) == 0
    assert "sub (no digest)" in capsys.readouterr().out
    assert main(["check", "a", "--run", path.parent.name]) == 0
    capsys.readouterr()
    assert again("-q") == 0
    assert "note: the run does not record the content of its submission" in capsys.readouterr().err


example_of_four = copy_of(lambda folder: copy_example(folder, {"sales_001", "sales_004", "hr_001", "hr_004"}))


def test_merge(example_of_four: Path) -> None:
    """The report is the whole's, -o writes it, a gate gives exit 1, and a missing shard exit 2 with its name."""
    for i in (1, 2):
        said(f"run example_submission_folder --isolation none --quiet --shard {i}/2 --out shard-{i}")
    shown = said("merge shard-1 shard-2 --out whole -o report.json")
    assert "from 2 shards" in shown.splitlines()[-1]
    assert json.loads((example_of_four / "whole/run.json").read_text())["summary"]["n_gold"] == 4
    assert "(4 instances)" in shown
    assert len(json.loads((example_of_four / "report.json").read_text())["results"]) == 4
    assert len((example_of_four / "whole/results.jsonl").read_text().splitlines()) == 4
    assert "below the gate of 99.0 % (exit 1)" in said("merge shard-1 shard-2 --out whole --quiet --fail-under 0.99", code=1)
    assert said("merge shard-1 --out never", code=2).splitlines()[0] == "error: missing shards: 2/2"


@copy_of
def agreeing(folder: Path) -> None:
    """Two runs of the example, one under each of the rules."""
    for rules in ("official", "strict"):
        said(f"run -q --isolation none --rules {rules} --out", folder / rules, ROOT / "example_submission_folder", "--gold", ROOT / "gold")


def test_agreement(agreeing: Path) -> None:
    """Interval, coefficients, confusion and disagreements of two runs, or of a run and people; what has nothing in common is refused."""
    out = " ".join(said("agree official strict --runs .").split())
    for words in ("raw agreement", "95 % CI [49.9, 78.8]", "Cohen's kappa", "13 disagreements", "sign: the answer contains -5, gold is 5"):
        assert words in out
    labels = "instance_id,label,reason\nsales_001,wrong,\x1b[31mred\nsales_002,wrong,no\nhr_003,right,yes\n"
    Path("people.csv").write_text(labels, encoding="utf-8")
    out = said("agree ./official people.csv --most 1")
    for words in ("\\x1b[31mred", "... 1 more (--most 2 shows all)", "mean, corrected by people.csv"):
        assert words in out
    shown = as_json("agree ./official people.csv")
    assert (shown["n"], shown["n_equal"]) == (3, 1)
    assert shown["confusion"] == {"labels": [0.0, 1.0], "counts": [[0, 0], [2, 1]]}
    found = shown["corrected"]
    assert (found["cheap"], found["dear"], found["n"]) == ("official", "people.csv", 3)
    assert found["n_others"] > 20
    assert found["low"] < found["estimate"] < found["plain"]
    Path("other.csv").write_text("instance_id,label\nz,1\n")
    refused = {"nowhere": "no finished run", "nowhere.csv": "cannot be read as CSV", "other.csv": "no labelled instance in common"}
    for second, message in refused.items():
        assert message in said(f"agree ./official {second}", code=2)


SECRET = 987654.25


@copy_of
def hidden(folder: Path) -> None:
    """A run of one wrong number against hidden gold."""
    write_gold(folder / "gold", n1=check("number_match", gold=SECRET))
    (folder / "gold/suite.yaml").write_text("hidden: true\n")
    text_submission(folder / "sub", n1="17")
    said("run sub --quiet --isolation none")


@pytest.fixture
def run_name(hidden: Path) -> str:
    """The name of a copy of it, in the working folder."""
    return next((hidden / ".evalsuite" / "runs").iterdir()).name


QUERY = "select score, reason, details from results"


@pytest.mark.parametrize("level", [[], ["--reveal", "none"], ["--reveal", "status"], ["--reveal", "class"], ["--reveal", "shape"]])
def test_sql_quotes_no_hidden_gold(run_name: str, level: list[str]) -> None:
    """Below `cells` no cell of gold is in any column, and the row is still there."""
    out = said("sql --json", QUERY, *level)
    assert str(SECRET) not in out
    assert json.loads(out)["score"] == (None if "none" in level else 0)


def test_sql_shows_what_is_asked_for(run_name: str) -> None:
    """`--reveal cells` is the owner's word; an unknown level is an error."""
    assert str(SECRET) in said("sql", QUERY, "--reveal", "cells")
    assert main(["sql", QUERY, "--reveal", "all"]) == EXIT_USAGE


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_agree_quotes_no_hidden_gold(run_name: str, tmp_path: Path, form: list[str]) -> None:
    """A disagreement says that the answer is not gold's, and not what gold's is."""
    (tmp_path / "people.csv").write_text("instance_id,label\nn1,1\n")
    out = said("agree", run_name, "people.csv", *form)
    assert not lacks(out, "n1", "not gold's answer")
    assert str(SECRET) not in out


ANSWERS = {"a0": "yynn", "a1": "yyyn", "b0": "nnnn", "b1": "nynn"}


@copy_of
def sampled(folder: Path) -> None:
    """Gold of four questions, a submission for each of `ANSWERS`, and their runs."""
    write_gold(folder / "gold", **{f"q{i}": check("string_match", gold=["y"]) for i in range(4)})
    for name, answers in ANSWERS.items():
        text_submission(folder / name, **{f"q{i}": letter for i, letter in enumerate(answers)})
        assert main(["run", name, "--gold", "gold", "--out", f"runs/{name}", "--quiet", "--isolation", "none"]) == 0


def test_samples_are_runs_of_one_model(sampled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`a0+a1` is one side, n the number of questions; runs of a model name are its samples, under one rule; unequal ones are named."""
    found = as_json("compare", "runs/a0+runs/a1", "runs/b0+runs/b1")
    total = found["candidates"][0]["total"]
    assert (total["n"], total["a"], total["b"], total["difference"]) == (4, 0.625, 0.125, -0.5)
    assert found["baseline"] == "a0+a1"
    for name in ANSWERS:
        path = sampled / "runs" / name / "run.json"
        run = json.loads(path.read_text())
        path.write_text(json.dumps({**run, "metadata": {**run.get("metadata", {}), "model_name": name[0]}}))
    found = as_json("samples", *(f"runs/{name}" for name in ANSWERS))
    assert [(one["model"], one["mean"]) for one in found["models"]] == [("a", 0.625), ("b", 0.125)]
    assert main(["run", "a1", "--gold", "gold", "--rules", "strict", "--out", "runs/strict", "--quiet", "--isolation", "none"]) == 0
    assert "are not samples of one model" in said("compare runs/a0+runs/strict runs/b0", code=2)
    path = sampled / "runs" / "a1" / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1] |= {"status": "unscored", "score": None, "official": None, "strict": None}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "fewer than 2 samples were judged of q1 (1)" in said("samples", "runs/a0", "runs/a1")
    assert main(["compare", "runs/a0+runs/a1", "runs/b0"]) == 0
    assert "fewer than 2 samples were judged of q1 (1)" in capsys.readouterr().err
    # One run is no samples.
    assert main(["compare", "runs/a1", "runs/b0"]) == 0
    assert "samples were judged" not in capsys.readouterr().err


@pytest.fixture
def several(sampled: Path) -> Path:
    """A submission of three lines an id but for q2, which has two, and q3, which has four."""
    letters = {"q0": "yyy", "q1": "nyn", "q2": "yn", "q3": "yyyy"}
    rows = [(name, "answer", own[at]) for at in range(4) for name, own in letters.items() if at < len(own)]
    return write_answers(sampled / "several", *rows)


def test_several_answers_a_question_in_one_submission(several: Path) -> None:
    """The i-th line is the i-th sample, too few or many are wrong; boards rank means with pass@k, and gates hold for the mean."""
    shown = said("run", "several", "--gold", "gold", "--samples", "3", "--out", "runs/s", "--isolation", "none")
    assert not lacks(shown, "results_metadata.jsonl:7: 'q2' has 2 of 3 samples", "results_metadata.jsonl:12: 'q3' has more than 3 samples")
    assert shown.splitlines()[-1] == "done: 41.7 %, the mean of 3 samples (no gate set)"
    rows = [[json.loads(line)["score"] for line in Path(f"runs/s/sample_{at}/results.jsonl").read_text().splitlines()] for at in (1, 2, 3)]
    assert rows == [[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]
    assert main(["verify", "runs/s/sample_2", "--isolation", "none"]) == 0
    assert "0 of 4 verdicts changed" in said("rescore", "runs/s/sample_2", "--isolation", "none")
    Path("models.csv").write_text("submission,model_name\na0,A\na1,A\nb0,B\nb1,B\n")
    asked = ["leaderboard", "a0", "a1", "b0", "b1", "--gold", "gold", "--metadata", "models.csv", "--samples", "--isolation", "none"]
    rows = as_json(*asked)["rows"]
    assert [(row["name"], row["rank"], row["score"]) for row in rows] == [("A", 1, 0.625), ("B", 2, 0.125)]
    assert [(one["k"], one["any"], one["all"]) for one in rows[0]["samples"]["passes"]] == [(1, 0.625, 0.625), (2, 0.75, 0.5)]
    assert rows[0]["samples"]["runs"] == ["a0", "a1"]
    shown = said(*asked)
    assert not lacks(shown, "pass@2", "75.0 % [30.1, 95.4]")
    plain = as_json(*asked[:-3], "--isolation", "none")["rows"]
    assert {(row["name"], row["samples"]) for row in plain} == {(name, None) for name in ANSWERS}
    asked = ["run", "several", "--gold", "gold", "--samples", "3", "--no-save", "--isolation", "none"]
    assert said(*asked, "--fail-under", "0.4", "--quiet").endswith("(gate 40.0 % met)\n")
    assert "below the gate of 45.0 % (exit 1)" in said(*asked, "--fail-under", "0.45", "--quiet", code=1)
    assert as_json(*asked)["models"][0]["n_samples"] == [3, 3]
    Path("gold/suite.yaml").write_text("fail_under: 0.9\n")
    assert "below the gate of 90.0 % (exit 1)" in said(*asked, "--quiet", code=1)
    assert said(*asked, "--fail-under", "0", "--quiet").endswith("(gate 0.0 % met)\n")
    for refused in (["--watch"], ["-x"], ["--lf"], ["--mode", "sql"]):
        assert main([*asked, *refused]) == 2
