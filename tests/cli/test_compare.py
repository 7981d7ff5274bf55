"""`evalsuite compare` as a user calls it: runs and folders, gates, refusals, files."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.status import LEVELS
from evalsuite.reports import FORMATS
from tests.cli.test_report import marks_in, text_of
from tests.cli.test_run import as_json, lacks, said, text_gold, text_submission
from tests.conftest import copy_of
from tests.reports.suites import hidden_suite

pytestmark = pytest.mark.usefixtures("shared_fork_server")

N = 12
GOOD = {i: f"town {i}" for i in range(N)}
BAD = dict.fromkeys(range(8), "nowhere") | {i: f"town {i}" for i in range(8, N)}


def write_gold(folder: Path, *, n: int = N) -> None:
    """A gold of n towns."""
    text_gold(folder, **{f"q{i:02}": f"town {i}" for i in range(n)})


def write_submission(folder: Path, answers: Mapping[int, str]) -> None:
    """A submission with these answers."""
    text_submission(folder, **{f"q{i:02}": text for i, text in answers.items()})


def make_place(folder: Path) -> None:
    """Gold, two submissions, `good` and `bad` (eight of twelve lost), and a run of each."""
    write_gold(folder / "gold")
    (folder / "gold/suite.yaml").write_text("groups: {early: [q00, q01, q02, q03], late: [q08, q09]}\n")
    for name, answers in (("good", GOOD), ("bad", BAD)):
        write_submission(folder / name, answers)
        said(f"run {name} --out r_{name} -q --isolation none")


place = copy_of(make_place)


def test_two_folders_are_scored_and_compared(place: Path) -> None:
    """Two submission folders need nothing else; no run is added to the history."""
    shown = said("compare good bad")
    assert not lacks(shown, "-66.7", "0.0078", "bad against good: 8 instances lost")
    assert shown.rstrip().splitlines()[-1] == "done: bad: worse (-66.7 points, p 0.0078) (no gate set)"
    assert not (place / ".evalsuite/runs").exists()


def test_a_regression_ends_with_one_and_says_so(place: Path) -> None:
    """The gate holds for the worse candidate, not the other way round, and not below alpha."""
    assert said("compare good bad --isolation none --fail-on-regression -q", code=1) == "done: worse than good: bad (exit 1)\n"
    assert said("compare bad good --isolation none --fail-on-regression -q") == "done: no regression shown at alpha 0.05\n"
    assert main(["compare", "good", "bad", "--isolation", "none", "--fail-on-regression", "--alpha", "0.001", "-q"]) == 0


def test_runs_are_known_by_name_folder_and_given_name(place: Path) -> None:
    """A run by its folder, by its name in the history, and a folder beside it: all give the same comparison."""
    said("run bad -q")
    (name,) = [folder.name for folder in (place / ".evalsuite/runs").iterdir()]
    found = []
    for names in (["r_good", name], ["r_good", "bad"], ["good", f".evalsuite/runs/{name}"]):
        (candidate,) = as_json("compare", *names)["candidates"]
        found.append((candidate["total"]["p"], candidate["flips"], [row["name"] for row in candidate["by_group"]]))
    assert found[0] == found[1] == found[2]
    assert found[0][2] == ["early", "late"]


def test_runs_of_other_gold_are_refused_unless_forced(place: Path) -> None:
    """Different gold: exit 2 with what differs; with --force the warning stands in the report and in the JSON."""
    write_gold(place / "gold2", n=N - 2)
    said("run bad --gold gold2 --out b -q")
    assert not lacks(said("compare r_good b", code=2), "r_good and b are not comparable: gold ", "--force")
    shown = said("compare r_good b --force -o c.json")
    assert not lacks(shown, "r_good and b are not comparable: gold ", "2 instances only in r_good, left out (q10, q11)")
    assert "compared under --force" in json.loads((place / "c.json").read_text())["warnings"][0]


def test_a_set_of_instances_that_differs_is_a_note(place: Path) -> None:
    """A run of some instances is compared on those, and the report says which are left out."""
    said("run bad --only q00,q09 --out b -q")
    assert not lacks(said("compare r_good b"), "2 instances paired", "10 instances only in r_good, left out (q01, q02, q03")


def test_long_lists_are_cut_with_a_count(place: Path) -> None:
    """Ten flips are shown and the rest counted, with -v with both reasons; --all lists them."""
    write_gold(place / "gold", n=25)
    (place / "gold/suite.yaml").unlink()
    write_submission(place / "a", {i: f"town {i}" for i in range(25)})
    write_submission(place / "b", dict.fromkeys(range(24), "nowhere"))
    shown = said("compare a b")
    assert not lacks(shown, "b against a: 25 instances lost", "... 15 more (--all lists them)")
    assert "missing" not in shown
    assert len(shown.splitlines()) <= 25
    assert not lacks(said("compare a b -v"), "... 15 more lost (--all lists them)", "no random numbers used")
    shown = said("compare a b --all")
    assert all(f"q{i:02}" in shown for i in range(25))
    assert "missing" in shown
    assert "more (--all" not in shown


def test_two_folders_of_one_name_are_told_apart(place: Path) -> None:
    """Equal labels get the number in which they were given."""
    write_submission(place / "v2/good", GOOD)
    assert said("compare good v2/good -q") == "done: good #2: the same on every compared instance (no gate set)\n"


def test_runs_of_a_suite_are_known_by_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a CSV of questions and two CSVs of answers to a p-value: the run's own name is enough."""
    monkeypatch.chdir(tmp_path)
    towns = [f"town {i}" for i in range(8)]
    (tmp_path / "q.csv").write_text("input,reference_output\n" + "".join(f"where {town}?,{town}\n" for town in towns))
    (tmp_path / "v1.csv").write_text("candidate_output\n" + "nowhere\n" * 8)
    (tmp_path / "v2.csv").write_text("candidate_output\n" + "".join(f"{town}\n" for town in towns))
    assert main(["suite", "create", "towns", "--from", "q.csv", "--scorer", "string_match"]) == 0
    for name in ("v1", "v2"):
        assert main(["suite", "run", "towns", name, "--from", f"{name}.csv"]) == 0
    assert said("compare v1 v2 -q") == "done: v2: better (+100.0 points, p 0.0078) (no gate set)\n"


def test_tree_runs_are_compared_by_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extracted records are compared path by path, and --shift tests each path's scores."""
    monkeypatch.chdir(tmp_path)
    records = [{"title": f"t{i}", "year": 2000 + i} for i in range(10)]
    (tmp_path / "gold").mkdir()
    rows = [{"instance_id": f"q{i:02}", "evaluation": {"func": "tree_match", "parameters": {"gold": r}}} for i, r in enumerate(records)]
    (tmp_path / "gold/records_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_submission(tmp_path / "a", {i: json.dumps(record) for i, record in enumerate(records)})
    write_submission(tmp_path / "b", {i: json.dumps({**record, "year": 1}) for i, record in enumerate(records)})
    (candidate,) = as_json("compare a b --shift")["candidates"]
    fields = {field["f1"]["name"]: field for field in candidate["fields"]}
    assert {name: (field["f1"]["a"], field["f1"]["b"]) for name, field in fields.items()} == {"year": (1, 0), "title": (1, 1)}
    assert fields["year"]["f1"]["p_adjusted"] == pytest.approx(2 * 2 / 2**10)
    assert {one["name"]: one["p_adjusted"] < 0.05 for one in candidate["shift"]} == {"year": True, "title": False}


def make_hidden(folder: Path) -> None:
    """Runs of two submissions to a suite whose gold is hidden: one is wrong throughout, one hands gold itself in."""
    sub, gold = hidden_suite(folder)
    shutil.copytree(sub, folder / "right")
    for name in ("table", "near", "tree"):
        source = next((gold / name).iterdir())
        shutil.copy(source, folder / "right" / name / f"a{source.suffix}")
    for name in ("submission", "right"):
        said(f"run {name} --out runs/{name} --no-cache -q")


hidden = copy_of(make_hidden)


@pytest.mark.parametrize("level", [None, *LEVELS])
def test_no_format_shows_hidden_gold(level: str | None, hidden: Path) -> None:
    """Below `cells`, and by default where the suite says hidden, neither a file nor the terminal holds a text or number of gold."""
    words = "" if level is None else f"--reveal {level}"
    shown = said(f"compare submission right --runs runs --all {words}", *(f"--output=c{ending}" for ending in FORMATS))
    found = {ending: marks_in(text_of(hidden / f"c{ending}")) for ending in FORMATS} | {"terminal": marks_in(shown)}
    assert (found["terminal"] and found[".json"]) if level == "cells" else not any(found.values()), found
