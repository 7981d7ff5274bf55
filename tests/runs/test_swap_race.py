"""An attacker who exchanges files while they are read: verdicts are kept under the bytes that they were made of, in both directions.

3 tries in the test line; 1,000 with `EVALSUITE_SWAPS=1000 pytest -m slow tests/runs/test_swap_race.py`.
"""

import os
import pkgutil
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from evalsuite.analysis.gold_checks.mutation import audit_gold
from evalsuite.analysis.gold_checks.readiness import check_gold
from evalsuite.analysis.receipts.verification import read_claims, verify
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import GoldError, UsageError
from evalsuite.runs.history import one_run
from evalsuite.runs.leaderboard_entries import Place, score_places
from evalsuite.runs.rescoring import Shard, merge
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.runs.made import write_sides

HONEST, WRONG = "n\n1\n", "n\n2\n"


def made(folder: Path) -> tuple[Path, Path]:
    """(gold, an honest submission) of one table."""
    gold, honest = folder / "gold", folder / "honest"
    for place in (gold, honest):
        (place / "t").mkdir(parents=True)
        (place / "t" / "r.csv").write_text(HONEST)
    write_sides(honest, gold, {"t": ("table_match", {"gold": "r.csv"}, Path("r.csv"))})
    return gold, honest


def test_nothing_is_said_of_gold_that_changes_meanwhile(tmp_path: Path) -> None:
    """Neither of gold itself, as its own answer and by an audit, nor of a run that is scored again, nor by ranks."""
    gold, honest = made(tmp_path)
    how: dict[str, Any] = {"isolation": "none", "jobs": 1}
    run(honest, gold, RunOptions(out=tmp_path / "run", **how))
    settings = RunOptions(runs_folder=tmp_path / "runs", **how)
    commands: list[Callable[..., object]] = [
        partial(check_gold, gold, **how),
        partial(audit_gold, gold, **how),
        partial(verify, tmp_path / "run", **how),
        partial(score_places, [Place(name="honest", folder=honest)], gold, settings, DiskCache(None)),
    ]
    for command in commands:
        command()
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)
        with pytest.raises(GoldError, match="gold changed while it was read: t/r"):
            command(progress=lambda *_: (gold / "t" / "r.csv").write_text(WRONG) and None)
        (gold / "t" / "r.csv").write_text(HONEST)


@pytest.mark.usefixtures("shared_fork_server")
def test_a_run_that_is_replaced_meanwhile_is_not_mixed(tmp_path: Path) -> None:
    """Whoever has read `run.json` takes no results of the run that replaces it, and calls nothing damaged."""
    gold, honest = made(tmp_path)
    old, new, saved = (tmp_path / name for name in ("run", "new", "saved"))
    how: dict[str, Any] = {"isolation": "none", "jobs": 1, "shard": Shard(1, 1)}
    run(honest, gold, RunOptions(out=new, rules="strict", **how))
    run(honest, gold, RunOptions(out=saved, **how))
    readers: dict[str, Callable[[], object]] = {
        "evalsuite.runs.history.read_results": lambda: one_run(str(old)).results(),
        "evalsuite.runs.rescoring.read_results": lambda: merge([old], tmp_path / "merged"),
        "evalsuite.runs.history.json_value": lambda: read_claims(old, isolation="none"),
    }
    states = {"replaced": "changed while it was read$", "begun": "is an unfinished run$", "removed": "changed while it was read$"}
    for (place, read), (state, says) in product(readers.items(), states.items()):
        shutil.copytree(saved, old)
        asked = pkgutil.resolve_name(place)

        def read_late(*words: object, state: str = state, asked: Callable[..., object] = asked) -> object:
            shutil.rmtree(old)
            if state != "removed":
                shutil.copytree(new, old)
            if state == "begun":
                (old / "run.json").rename(old / ".started.json")
            return asked(*words)

        with mock.patch(place, read_late), pytest.raises(UsageError, match=says):
            read()
        shutil.rmtree(old, ignore_errors=True)
    assert not (tmp_path / "merged").exists()


@contextmanager
def exchanging(file: Path) -> Iterator[None]:
    """Inside, the file holds now the honest bytes and now wrong ones, mostly exchanged whole."""
    stopped = threading.Event()

    def exchange() -> None:
        beside, at = file.with_name("beside"), 0
        while not stopped.is_set():
            # Now and then with other bytes in the same file.
            (beside if at % 3 else file).write_text((HONEST, WRONG)[at % 2])
            if at % 3:
                beside.replace(file)
            at += 1

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def swap(folder: Path, tries: int) -> None:
    """Each try leaves what it kept, in the score cache and in saved runs; then honest and wrong bytes get what they are worth."""
    gold, honest = made(folder)
    options = {"cache": folder / "cache", "runs_folder": folder / "runs", "isolation": "none", "jobs": 1}
    mallory = folder / "mallory"
    shutil.copytree(honest, mallory)
    for _ in range(tries):
        with exchanging(mallory / "t" / "r.csv"):
            run(mallory, gold, RunOptions(**options))  # type: ignore[arg-type]
        for name, text, worth in (("right", HONEST, 1), ("wrong", WRONG, 0)):
            place = folder / name
            shutil.copytree(honest, place, dirs_exist_ok=True)
            (place / "t" / "r.csv").write_text(text)
            assert [result.score for result in run(place, gold, RunOptions(**options)).results] == [worth]  # type: ignore[arg-type]
            settings = RunOptions(runs_folder=folder / "runs", isolation="none", jobs=1)
            (entry,) = score_places([Place(name=name, folder=place)], gold, settings, DiskCache(None))
            assert entry.scores is not None
            assert list(entry.scores.score) == [worth]
        shutil.rmtree(folder / "runs")


@pytest.mark.parametrize("tries", [3, pytest.param(int(os.environ.get("EVALSUITE_SWAPS", "1000")), marks=pytest.mark.slow)])
def test_a_swapped_file_moves_nobody_elses_verdict(tries: int, tmp_path: Path) -> None:
    """Some tries, what is kept of all of them together."""
    swap(tmp_path, tries)
