"""Drift: runs of another day scored again, and what of the signature their moved verdicts are laid to."""

import json
from pathlib import Path

import pytest

from evalsuite.core.errors import UsageError
from evalsuite.runs.history import RunEntry
from evalsuite.runs.rescoring import UNNAMED, Drift, by_component, questions_of
from tests.cli.test_run import called, text_gold, text_submission
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")
DRIFT = ("drift", "--isolation", "none")


def make(tmp_path: Path) -> None:
    """Three saved runs of two instances: one as it is now, two that say another pandas; in one of these a verdict was another."""
    text_gold(tmp_path / "gold", a="Paris", b="Rome")
    for name in ("same", "equal", "moved"):
        text_submission(tmp_path / name, a="Paris", b="Oslo")
        assert called("run", name, "--isolation", "none", "--out", f".evalsuite/runs/{name}", "--quiet", cwd=tmp_path).returncode == 0
    for name in ("equal", "moved"):
        folder = tmp_path / ".evalsuite/runs" / name
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        parts = ["pandas:1.5.3" if part.startswith("pandas:") else part for part in run["signature"].split("|")]
        run["signature"] = "|".join(parts)
        del run["digests"]
        if name == "moved":
            # A run of an earlier evalsuite recorded no scipy.
            run["receipt"] = {key: "0.1" if key == "regex" else value for key, value in run["receipt"].items() if key != "scipy"}
        (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    results = tmp_path / ".evalsuite/runs/moved/results.jsonl"
    first, second = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    first |= dict.fromkeys(("score", "official", "strict"), 0.0)
    results.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n", encoding="utf-8")


workplace = copy_of(make)


def test_a_moved_verdict_is_laid_to_what_changed(workplace: Path) -> None:
    """The run whose verdict moved is told, with the component; the others drifted in nothing; the exit code is the gate's."""
    shown = called(*DRIFT, "--json", cwd=workplace)
    assert (shown.returncode, shown.stderr) == (0, "")
    told = json.loads(shown.stdout)
    runs = {run["run"]: run for run in told["runs"]}
    assert {name: run["n_moved"] for name, run in runs.items()} == {"same": 0, "equal": 0, "moved": 1}
    assert runs["moved"]["moved"] == [{"instance_id": "a", "then": 0.0, "now": 1.0}]
    assert runs["same"]["components"] == []
    assert [one.partition(" -> ")[0] for one in runs["moved"]["components"]] == ["pandas 1.5.3", "regex 0.1"]
    assert [(one["n_runs"], one["n"], one["n_moved"]) for one in told["components"]] == [(2, 4, 1), (1, 2, 1)]
    assert called(*DRIFT, "--fail-on-drift", "--json", cwd=workplace).returncode == 1
    assert called(*DRIFT, "same", "equal", "--fail-on-drift", "--json", cwd=workplace).returncode == 0


def test_as_a_person_reads_it(workplace: Path) -> None:
    """The terminal names run, verdict and component; nothing was saved, and a report can be written."""
    shown = called(*DRIFT, "moved", "-o", "drift.md", "-o", "drift.html", "-o", "drift.csv", cwd=workplace)
    assert shown.returncode == 0, shown.stderr
    assert " moved  1 of 2 verdicts moved: pandas 1.5.3 -> " in shown.stdout
    assert "   a: 0 -> 1\n" in shown.stdout
    assert shown.stdout.endswith("done: 1 verdict moved in 1 run\n")
    assert sorted(place.name for place in (workplace / ".evalsuite/runs").iterdir()) == ["equal", "moved", "same"]
    assert "pandas 1.5.3" in (workplace / "drift.md").read_text(encoding="utf-8")


def test_changed_gold_is_a_component(workplace: Path) -> None:
    """Where gold changed since, or other gold is named, the verdicts that moved are laid to gold; a new instance has moved in nothing."""
    text_gold(workplace / "new", a="Berlin", b="Rome", c="Oslo")
    for place in ("new", "gold"):
        told = json.loads(called(*DRIFT, "same", "--gold", place, "--json", cwd=workplace).stdout)
        assert [one.partition(" ")[0] for one in told["runs"][0]["components"]] == (["gold"] if place == "new" else [])
        assert told["runs"][0]["n_moved"] == (place == "new")
    text_gold(workplace / "gold", a="Berlin", b="Rome")
    told = json.loads(called(*DRIFT, "same", "--json", cwd=workplace).stdout)
    assert told["runs"][0]["n_moved"] == 1


def test_the_counts_of_a_component() -> None:
    """Each change of the signature has the runs with it, most moved first; what moved without a change has its own row."""
    verdict = ("a", 0.0, 1.0)
    drifts = [
        Drift(name="same", n=4),
        Drift(name="lost", problem="gone"),
        Drift(name="new", n=3, moved=(verdict,), components=("x 1 -> 2", "y 1 -> 2"), unscored=("b",)),
        Drift(name="equal", n=2, components=("w 1 -> 2", "y 1 -> 2")),
        Drift(name="odd", n=5, moved=(verdict, verdict)),
    ]
    assert by_component(drifts) == [(UNNAMED, 1, 5, 2, 0), ("x 1 -> 2", 1, 3, 1, 1), ("y 1 -> 2", 2, 5, 1, 1), ("w 1 -> 2", 1, 2, 0, 0)]
    assert [drift.suspected_causes for drift in drifts] == ["", "", "x 1 -> 2, y 1 -> 2", "", UNNAMED]


@pytest.mark.parametrize(
    ("recorded", "named", "found"),
    [
        (None, None, None),
        (None, "mine.jsonl", "mine.jsonl"),
        ("asked.jsonl", None, "asked.jsonl"),
        ("asked.jsonl", "mine.jsonl", "mine.jsonl"),
        ("gone.jsonl", None, "the questions of run is no longer in gone.jsonl"),
        ("asked.jsonl", "gone.jsonl", "gone.jsonl: no such questions folder"),
    ],
)
def test_the_questions_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: str | None, named: str | None, found: str | None
) -> None:
    """They are those that are named, else those that the run used; a file that is gone is an error."""
    monkeypatch.chdir(tmp_path)
    for name in ("asked.jsonl", "mine.jsonl"):
        (tmp_path / name).touch()
    entry = RunEntry(folder=tmp_path / "run", run={"options": {"questions": recorded}}, tags=())
    if found is not None and " " in found:
        with pytest.raises(UsageError, match=found):
            questions_of(entry, Path(named) if named else None)
    else:
        assert questions_of(entry, Path(named) if named else None) == (Path(found) if found else None)


def test_one_that_cannot_be_scored_again_says_so(workplace: Path) -> None:
    """A submission that changed or is gone is named, and the other runs go on."""
    text_submission(workplace / "equal", a="Bern", b="Bern")
    shown = called(*DRIFT, cwd=workplace)
    assert shown.returncode == 0
    assert " equal  not scored again: the submission equal does not contain what equal scored" in shown.stdout
    assert shown.stdout.endswith("done: 1 verdict moved in 3 runs, 1 not scored again\n")
    assert called(*DRIFT, "same", "--databases", "none", cwd=workplace).stderr.startswith("error: --databases none: no such folder")
    gate = called(*DRIFT, "same", "equal", "--fail-on-drift", cwd=workplace)
    assert (gate.returncode, gate.stdout.splitlines()[-1]) == (4, "done: 0 verdicts moved in 2 runs, 1 not scored again (exit 4)")
    assert called(*DRIFT, "--runs", "none", "--fail-on-drift", cwd=workplace).returncode == 5
