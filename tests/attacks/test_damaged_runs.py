"""A damaged run costs one line: whatever reads runs names it or leaves it out, and goes on with the others."""

import contextlib
import io
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.attacks.damage import command_lines, damaged, make_runs, of_one_run, sealed_again
from tests.conftest import made_once

pytestmark = pytest.mark.usefixtures("shared_fork_server")

N_SLOW = int(os.environ.get("EVALSUITE_FUZZ", "10000"))
BATCH = 50
INTERNAL = ("internal error", "Traceback")


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds two whole runs and what they scored."""

    def make(folder: Path) -> None:
        with monkeypatch.context() as there:
            there.chdir(folder)
            make_runs(folder)

    whole = made_once(tmp_path_factory, "whole_runs", make)
    for name in ("gold", "answers"):
        (tmp_path / name).symlink_to(whole / name)
    (tmp_path / "whole").symlink_to(whole / "runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(line: Sequence[str]) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(line))
    assert "\x1b" not in out.getvalue() + err.getvalue(), (line, "what a run says reached the terminal as it stands")
    return code, out.getvalue(), err.getvalue()


def look_at(place: Path, seed: int, n: int, n_more: int) -> None:
    """Damage n copies of a run, and call what reads many runs on all of them, `report` on each, and some other commands on some."""
    rng, runs = random.Random(seed), place / f"runs{seed}"
    runs.mkdir()
    names = {f"2026{at:04}-000000-bad": "" for at in range(n)}
    for name in names:
        names[name] = damaged(runs / name, place / "whole" / "first", rng)
    folders = [f"runs{seed}/{name}" for name in names]
    every = [["runs", "list", "--runs", runs.name], ["sql", "select * from runs left join results using (run)", "--runs", runs.name]]
    every.append(["leaderboard", "whole/first", *folders, "--gold", "gold", "--force"])
    for line in every:
        code, out, err = called(line)
        # Ids that are others leave a board of many runs nothing in common, which is no damage that could be told.
        assert code in (0, 1, 4) or "no instance in common" in err, (line[:1], seed, err)
        # A board that was forced says of each difference that it was: a signature that is another differs in many.
        told = [text for text in err.splitlines() if not text.startswith("note: forced: ranked although they differ in ")]
        assert len(told) <= 2, (line[:1], seed, err)
        assert out or code == 2
    for name, folder in zip(names, folders, strict=True):
        code, _, err = called(["report", folder])
        assert code in (0, 2), (seed, names[name], err)
        assert not any(word in err for word in INTERNAL), (seed, names[name], err)
        assert len(err.splitlines()) <= 2, (seed, names[name], err)
    for _ in range(n_more):
        name = rng.choice(list(names))
        line = rng.choice(list(command_lines(f"runs{seed}/{name}")))
        code, _, err = called(line)
        assert code in (0, 1, 2, 4, 5), (seed, names[name], line, err)
        assert not any(word in err for word in INTERNAL), (seed, names[name], line, err)


def test_a_damaged_run_is_one_line(place: Path) -> None:
    """12 damaged runs: no command ends in an internal error, and those of many runs show the others."""
    look_at(place, 1, 12, 4)


@pytest.mark.slow
def test_ten_thousand_damaged_runs(place: Path) -> None:
    """10,000 of them (EVALSUITE_FUZZ)."""
    for seed in range(100, 100 + N_SLOW // BATCH):
        look_at(place, seed, BATCH, 10)


def look_at_sealed(place: Path, seed: int, n: int, n_commands: int) -> None:
    """Write n runs with other details and a seal that fits, call what reads many runs on all of them, and some of the others on each."""
    rng, runs = random.Random(seed), place / f"sealed{seed}"
    runs.mkdir()
    told = {f"2026{at:04}-000000-bad": "" for at in range(n)}
    for name in told:
        told[name] = sealed_again(runs / name, place / "whole" / "first", rng)
    folders = [f"{runs.name}/{name}" for name in told]
    calls = [(line, "many") for line in (["runs", "list", "--runs", runs.name], ["leaderboard", "whole/first", *folders, "--force"])]
    calls += [(["sql", "select * from runs left join results using (run)", "--runs", runs.name], "many")]
    for folder, what in zip(folders, told.values(), strict=True):
        lines = list(of_one_run(folder))
        calls += [(line, what) for line in rng.sample(lines, min(n_commands, len(lines)))]
    ended_badly = []
    for line, what in calls:
        code, _, err = called(line)
        if code not in (0, 1, 2, 4, 5) or any(word in err for word in INTERNAL):
            ended_badly.append((line, what, err))
    assert not ended_badly, (seed, len(ended_badly), ended_badly)


def test_a_sealed_run_with_other_details(place: Path) -> None:
    """Details that no scorer of ours writes, in 4 runs that are whole otherwise: no command ends in an internal error."""
    look_at_sealed(place, 1, 4, 2)


@pytest.mark.slow
def test_three_hundred_sealed_runs(place: Path) -> None:
    """300 of them, each with every command that shows runs."""
    for seed in range(2, 14):
        look_at_sealed(place, seed, 25, 100)
