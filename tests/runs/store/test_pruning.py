"""A history that is pruned by a policy, and one in which damaged and half-written runs lie: each a clear line, the others go on."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import UsageError
from evalsuite.runs.history import find_runs, remove_run
from evalsuite.runs.run_folder import RunFolder
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.cli.test_run import said, text_gold, text_submission
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")

PLAN = {"signature": "rules:official|gold:1", "submission": "1", "options": {"only": []}}


def make(folder: Path) -> None:
    """Five runs of model m and two of model n, of two days; the second of m is the best."""
    gold, submission = text_gold(folder / "gold", a="Paris", b="Rome"), text_submission(folder / "s", a="Paris", b="Oslo")
    root = folder / "runs"
    made = run(submission, gold, RunOptions(out=root / "20261101-000000-m", isolation="none", jobs=1))
    assert made.folder is not None
    for number, model in enumerate("mmmnmn", 1):
        copy = shutil.copytree(made.folder, root / f"202611{1 + number // 4:02}-00000{number}-{model}")
        change(copy, lambda said, model=model: said["metadata"].update(model_name=model))
    change(made.folder, lambda said: said["metadata"].update(model_name="m"))
    change(root / "20261101-000001-m", lambda said: said["summary"].update(score=1.0))


place = copy_of(make)


@pytest.fixture
def runs(place: Path) -> Path:
    """A copy of these runs."""
    return place / "runs"


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit the run.json of a run."""
    said = json.loads((folder / "run.json").read_text())
    edit(said)
    (folder / "run.json").write_text(json.dumps(said))


def left(root: Path) -> list[str]:
    """The runs that are there, by number and model."""
    return [folder.name[14:] for folder in sorted(root.iterdir()) if folder.name[0] == "2"]


def test_a_policy_is_shown_and_then_carried_out(runs: Path) -> None:
    """The newest of each suite and model stay, the best and what has a tag too; nothing goes without --yes, and a day bounds what goes."""
    assert main(["runs", "tag", "20261101-000002-m", "--add", "paper", "--runs", str(runs)]) == 0
    words = ["runs", "prune", "--runs", str(runs), "--keep", "1"]
    shown = [line.split()[0] for line in said(*words, "--before", "2026-11-02").splitlines()]
    assert shown == ["20261101-000000-m", "20261101-000003-m", "2"]
    assert len(left(runs)) == 7
    assert said(*words, "--yes").splitlines()[-1] == "deleted 3 runs"
    assert left(runs) == ["1-m", "2-m", "5-m", "6-n"]
    assert main(["runs", "prune", "--runs", str(runs), "--keep", "0", "--drop-best", "--yes"]) == 0
    assert left(runs) == ["2-m"]


def test_a_folder_that_holds_more_is_kept(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a run wrote itself goes with it, somebody's own file keeps its folder, and exit 1 says so."""
    (runs / "20261101-000000-m/executed").mkdir()
    change(runs / "20261101-000000-m", lambda said: said.update(sql={}))
    (runs / "20261101-000002-m/notes.txt").write_text("mine")
    assert main(["runs", "prune", "--runs", str(runs), "--keep", "2", "--yes"]) == 1
    assert "kept: " in capsys.readouterr().err
    assert left(runs) == ["1-m", "2-m", "3-m", "4-n", "5-m", "6-n"]


def test_what_a_killed_run_left_goes_unless_somebody_writes_it(runs: Path) -> None:
    """Unfinished runs go where that is asked for; one that a process holds stays."""
    for name in ("20261103-000000-dead", "20261103-000001-alive"):
        folder = RunFolder(runs / name).open(PLAN)
        if name.endswith("dead"):
            folder.close()
    words = ["runs", "prune", "--runs", str(runs), "--keep", "9", "--yes"]
    assert main(words) == 0
    assert left(runs)[-2:] == ["0-dead", "1-alive"]
    assert main([*words, "--unfinished"]) == 0
    assert left(runs)[-2:] == ["6-n", "1-alive"]
    folder.close()


def test_a_run_that_is_replaced_meanwhile_is_not_deleted(runs: Path) -> None:
    """Whoever has read the run to delete leaves the one that another process writes there by now."""
    entry = find_runs(runs)[0]
    folder = RunFolder(entry.folder).open(PLAN)
    with pytest.raises(UsageError, match="is being written by another run"):
        remove_run(entry)
    assert folder.is_unfinished
    folder.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut": lambda folder: os.truncate(folder / "run.json", 200),
    "a list": lambda folder: (folder / "run.json").write_text("[1]"),
    "no results": lambda folder: (folder / "results.jsonl").unlink(),
    "no numbers": lambda folder: change(folder, lambda said: said["summary"].update(score="high")),
    "other forms": lambda folder: change(folder, lambda said: said.update(gold=3, summary="none")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_is_one_line_and_the_others_go_on(damage: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`runs list` names it, `sql`, a board and `runs show` leave it out or name it, and no command ends in an internal error."""
    broken = runs / "20261101-000002-m"
    DAMAGE[damage](broken)
    (runs / "20261101-000003-m/tags.json").write_text('{"a": 1}')
    assert main(["runs", "list", "--runs", str(runs)]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 6
    assert "note: 20261101-000002-m: no run that can be read" in told.err
    assert said("sql", "SELECT count(*) FROM runs", "--runs", str(runs)).splitlines()[-1] == "6"
    assert f"{broken.name} is a damaged run: " in said("runs", "show", broken.name, "--runs", str(runs), code=2)
    main(["leaderboard", str(runs / "20261101-000001-m"), str(broken), "--runs", str(runs)])
    assert "internal error" not in capsys.readouterr().err


def test_a_run_from_after_now_is_told_of(place: Path, runs: Path) -> None:
    """Where the clock was set back, runs are listed in another order than they were made; a folder without a run says nothing."""

    def warnings() -> list[str]:
        return list(run(place / "s", place / "gold", RunOptions(runs_folder=runs, isolation="none", jobs=1)).warnings)

    (runs / "29990101-000000-empty").mkdir()
    before = warnings()
    shutil.copytree(runs / "20261101-000001-m", runs / "29980101-000000-later")
    assert warnings() == [
        *before,
        "the clock of this machine is before the run 29980101-000000-later: lists, `runs prune` and commands without a run's name "
        "take that one for the last",
    ]
