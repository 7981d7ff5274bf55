"""`evalsuite compare` as a user calls it: runs and folders, gates, refusals, files."""

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.status import LEVELS
from evalsuite.reports import FORMATS
from tests.cli.test_report import marks_in, text_of
from tests.reports.made import hidden_suite

pytestmark = pytest.mark.usefixtures("shared_fork_server")

N = 12
GOOD = {i: f"town {i}" for i in range(N)}
BAD = dict.fromkeys(range(8), "nowhere") | {i: f"town {i}" for i in range(8, N)}


def write_gold(folder: Path, *, n: int = N, suite: str = "") -> None:
    """A gold of n towns."""
    folder.mkdir(parents=True)
    rows = [{"instance_id": f"q{i:02}", "evaluation": {"func": "string_match", "parameters": {"gold": f"town {i}"}}} for i in range(n)]
    (folder / "towns_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if suite:
        (folder / "suite.yaml").write_text(suite)


def write_submission(folder: Path, answers: Mapping[int, str]) -> None:
    """A submission with these answers."""
    folder.mkdir(parents=True)
    rows = [{"instance_id": f"q{i:02}", "answer_type": "answer", "answer_or_path": text} for i, text in answers.items()]
    (folder / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with gold and two submissions, `good` and `bad` (eight of twelve lost)."""
    monkeypatch.chdir(tmp_path)
    write_gold(tmp_path / "gold", suite="groups: {early: [q00, q01, q02, q03], late: [q08, q09]}\n")
    write_submission(tmp_path / "good", GOOD)
    write_submission(tmp_path / "bad", BAD)
    return tmp_path


def test_two_folders_are_scored_and_compared(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two submission folders need nothing else; no run is added to the history."""
    assert main(["compare", "good", "bad"]) == 0
    shown = capsys.readouterr().out
    assert "-66.7" in shown
    assert "0.0078" in shown
    assert "bad against good: 8 instances lost" in shown
    assert shown.rstrip().splitlines()[-1] == "done: bad: worse (-66.7 points, p 0.0078) (no gate set)"
    assert not (place / ".evalsuite/runs").exists()


def test_a_regression_ends_with_one_and_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The gate holds for the worse candidate, not the other way round, and not below alpha."""
    assert main(["compare", "good", "bad", "--fail-on-regression", "-q"]) == 1
    assert capsys.readouterr().out == "done: worse than good: bad (exit 1)\n"
    assert main(["compare", "bad", "good", "--fail-on-regression", "-q"]) == 0
    assert capsys.readouterr().out == "done: no regression shown at alpha 0.05\n"
    assert main(["compare", "good", "bad", "--fail-on-regression", "--alpha", "0.001", "-q"]) == 0


def test_runs_are_known_by_name_folder_and_given_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run by its folder, by its name in the history, and a folder beside it: all give the same comparison."""
    assert main(["run", "good", "--out", "r_good", "-q"]) == 0
    assert main(["run", "bad", "-q"]) == 0
    (name,) = [folder.name for folder in (place / ".evalsuite/runs").iterdir()]
    found = []
    for names in (["r_good", name], ["r_good", "bad"], ["good", f".evalsuite/runs/{name}"]):
        capsys.readouterr()
        assert main(["compare", *names, "--json"]) == 0
        (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
        found.append((candidate["total"]["p"], candidate["flips"], [row["name"] for row in candidate["by_group"]]))
    assert found[0] == found[1] == found[2]
    assert found[0][2] == ["early", "late"]


def test_a_folder_is_scored_against_the_gold_of_the_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside a run, its gold is the default, not a folder `gold` that happens to stand here."""
    assert main(["run", "good", "--out", "r", "-q"]) == 0
    (place / "gold").rename(place / "elsewhere")
    write_gold(place / "gold", n=3)
    capsys.readouterr()
    assert main(["compare", "good", "bad", "-q"]) == 0
    assert main(["run", "good", "--gold", "elsewhere", "--out", "r2", "-q"]) == 0
    capsys.readouterr()
    assert main(["compare", "r2", "bad", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"][0]["total"]["n"] == N


def test_runs_of_other_gold_are_refused_unless_forced(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Different gold: exit 2 with what differs; with --force the warning stands in the report and in the JSON."""
    write_gold(place / "gold2", n=N - 2)
    assert main(["run", "good", "--out", "a", "-q"]) == 0
    assert main(["run", "bad", "--gold", "gold2", "--out", "b", "-q"]) == 0
    capsys.readouterr()
    assert main(["compare", "a", "b"]) == 2
    error = capsys.readouterr().err
    assert "a and b are not comparable: gold " in error
    assert "--force" in error
    assert main(["compare", "a", "b", "--force", "-o", "c.json"]) == 0
    shown = capsys.readouterr().out
    assert "a and b are not comparable: gold " in shown
    assert "2 instances only in a, left out (q10, q11)" in shown
    assert "compared under --force" in json.loads((place / "c.json").read_text())["warnings"][0]


def test_a_set_of_instances_that_differs_is_a_note(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of some instances is compared on those, and the report says which are left out."""
    assert main(["run", "good", "--out", "a", "-q"]) == 0
    assert main(["run", "bad", "--only", "q00,q09", "--out", "b", "-q"]) == 0
    capsys.readouterr()
    assert main(["compare", "a", "b"]) == 0
    shown = capsys.readouterr().out
    assert "2 instances paired" in shown
    assert "10 instances only in a, left out (q01, q02, q03" in shown


def test_long_lists_are_cut_with_a_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten flips are shown and the rest counted, with -v with both reasons; --all lists them."""
    monkeypatch.chdir(tmp_path)
    write_gold(tmp_path / "gold", n=25)
    write_submission(tmp_path / "a", {i: f"town {i}" for i in range(25)})
    write_submission(tmp_path / "b", dict.fromkeys(range(24), "nowhere"))
    assert main(["compare", "a", "b"]) == 0
    shown = capsys.readouterr().out
    assert "b against a: 25 instances lost" in shown
    assert "... 15 more (--all lists them)" in shown
    assert "missing" not in shown
    assert len(shown.splitlines()) <= 25
    assert main(["compare", "a", "b", "-v"]) == 0
    shown = capsys.readouterr().out
    assert "... 15 more lost (--all lists them)" in shown
    assert "no random numbers used" in shown
    assert main(["compare", "a", "b", "--all"]) == 0
    shown = capsys.readouterr().out
    assert all(f"q{i:02}" in shown for i in range(25))
    assert "missing" in shown
    assert "more (--all" not in shown


def test_files_of_every_format_hold_the_numbers(place: Path) -> None:
    """CSV rows, the JSON object, Markdown tables and plain text, written side by side."""
    files = [f"out/c{ending}" for ending in (".csv", ".json", ".md", ".txt")]
    assert main(["compare", "good", "bad", "-q", *[part for file in files for part in ("-o", file)]]) == 0
    table, whole, markdown, text = ((place / file).read_text() for file in files)
    rows = list(csv.DictReader(table.splitlines()))
    assert [(row["part"], row["name"]) for row in rows] == [
        ("total", "bad"),
        ("scorer", "string_match"),
        ("group", "early"),
        ("group", "late"),
    ]
    total = json.loads(whole)["candidates"][0]["total"]
    assert float(rows[0]["difference"]) == total["difference"] == pytest.approx(-2 / 3)
    assert "| bad | 12 | 100.0 % | 33.3 % | -66.7 |" in markdown
    assert text.rstrip().endswith("done: bad: worse (-66.7 points, p 0.0078) (no gate set)")


def test_what_a_submission_says_stays_text(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No control character of a run reaches the terminal or Markdown, no formula a spreadsheet."""
    assert main(["run", "good", "--out", "a", "-q"]) == 0
    assert main(["run", "bad", "--out", "b", "-q"]) == 0
    run = json.loads((place / "b/run.json").read_text())
    run["metadata"] = {"run_name": "=1+1\x1b[31m|<b>"}
    run["groups"] = {}
    (place / "b/run.json").write_text(json.dumps(run))
    lines = (place / "b/results.jsonl").read_text().splitlines()
    first = {**json.loads(lines[0]), "reason": "\x1b]0;x\x07 <script> | [a](http://x) @all \u202e"}
    (place / "b/results.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    capsys.readouterr()
    assert main(["compare", "a", "b", "-o", "c.md", "-o", "c.csv"]) == 0
    for shown in (capsys.readouterr().out, (place / "c.md").read_text(), (place / "c.csv").read_text()):
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    markdown = (place / "c.md").read_text()
    assert "<script>" not in markdown
    assert "@all" not in markdown
    assert "\\[a\\](http" in markdown
    assert all(line.startswith(("candidate,", "'=1+1")) for line in (place / "c.csv").read_text().splitlines())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good"], "a comparison needs two runs"),
        (["good", "nobody"], "no finished run 'nobody'"),
        (["good", "bad", "--alpha", "5"], "alpha must be between 0 and 1"),
        (["good", "bad", "-o", "c.xlsx"], "no report format for 'c.xlsx'"),
        (["good", "bad", "--rules", "lax"], "no rules 'lax'"),
        (["good", "bad", "--cluster", "m:"], "no group begins with 'm:'"),
        (["good", "stranger"], "answers none of the 12 instances"),
        (["good", "unfinished"], "is an unfinished run"),
    ],
)
def test_what_cannot_be_compared_is_named(place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    """Each mistake ends with exit code 2 and one sentence."""
    write_submission(place / "stranger", {99: "town"})
    (place / "unfinished").mkdir()
    (place / "unfinished/.started.json").write_text("{}")
    assert main(["compare", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_two_folders_of_one_name_are_told_apart(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Equal labels get the number in which they were given."""
    write_submission(place / "v2/good", GOOD)
    assert main(["compare", "good", "v2/good", "-q"]) == 0
    assert capsys.readouterr().out == "done: good #2: the same on every compared instance (no gate set)\n"


def test_runs_of_a_suite_are_known_by_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a CSV of questions and two CSVs of answers to a p-value: the run's own name is enough."""
    monkeypatch.chdir(tmp_path)
    towns = [f"town {i}" for i in range(8)]
    (tmp_path / "q.csv").write_text("input,reference_output\n" + "".join(f"where {town}?,{town}\n" for town in towns))
    (tmp_path / "v1.csv").write_text("candidate_output\n" + "nowhere\n" * 8)
    (tmp_path / "v2.csv").write_text("candidate_output\n" + "".join(f"{town}\n" for town in towns))
    assert main(["suite", "create", "towns", "--from", "q.csv", "--scorer", "string_match"]) == 0
    for name in ("v1", "v2"):
        assert main(["suite", "run", "towns", name, "--from", f"{name}.csv"]) == 0
    capsys.readouterr()
    assert main(["compare", "v1", "v2", "-q"]) == 0
    assert capsys.readouterr().out == "done: v2: better (+100.0 points, p 0.0078) (no gate set)\n"


def test_tree_runs_are_compared_by_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Extracted records are compared path by path, and --shift tests each path's scores."""
    monkeypatch.chdir(tmp_path)
    records = [{"title": f"t{i}", "year": 2000 + i} for i in range(10)]
    (tmp_path / "gold").mkdir()
    rows = [{"instance_id": f"q{i:02}", "evaluation": {"func": "tree_match", "parameters": {"gold": r}}} for i, r in enumerate(records)]
    (tmp_path / "gold/records_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_submission(tmp_path / "a", {i: json.dumps(record) for i, record in enumerate(records)})
    write_submission(tmp_path / "b", {i: json.dumps({**record, "year": 1}) for i, record in enumerate(records)})
    assert main(["compare", "a", "b", "--shift", "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    fields = {field["f1"]["name"]: field for field in candidate["fields"]}
    assert {name: (field["f1"]["a"], field["f1"]["b"]) for name, field in fields.items()} == {"year": (1, 0), "title": (1, 1)}
    assert fields["year"]["f1"]["p_adjusted"] == pytest.approx(2 * 2 / 2**10)
    assert {one["name"]: one["p_adjusted"] < 0.05 for one in candidate["shift"]} == {"year": True, "title": False}


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("level", [None, *LEVELS])
def test_no_format_shows_hidden_gold(
    ending: str, level: str | None, hidden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below `cells`, and by default where the suite says hidden, neither the file nor the terminal holds a text or number of gold."""
    path = tmp_path / f"c{ending}"
    words = [] if level is None else ["--reveal", level]
    capsys.readouterr()
    assert main(["compare", "sub", "right", "--runs", str(hidden / "runs"), "--all", "-o", str(path), *words]) == 0
    found = marks_in(text_of(path) + capsys.readouterr().out)
    assert bool(found) == (level == "cells"), found


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs of two submissions to a suite whose gold is hidden: one is wrong throughout, one hands gold itself in."""
    folder = tmp_path_factory.mktemp("hidden")
    sub, gold = hidden_suite(folder)
    shutil.copytree(sub, folder / "right")
    for name in ("table", "near", "tree"):
        source = next((gold / name).iterdir())
        shutil.copy(source, folder / "right" / name / f"a{source.suffix}")
    for name in ("sub", "right"):
        run = ["run", str(folder / name), "--gold", str(gold), "--out", str(folder / f"runs/{name}"), "--no-cache", "-q"]
        assert main(run) == 0
    return folder
