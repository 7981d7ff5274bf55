"""How files are read: each once, and an attacker who exchanges them meanwhile moves nobody's verdict, in neither direction.

The kernel counts, for every process of a run and every library in it. Verdicts are kept under the bytes that they were made of: 3 tries in
the test line; 1,000 with `EVALSUITE_SWAPS=1000 pytest -m slow tests/runs/test_swap_race.py`.
"""

import ctypes
import os
import pkgutil
import shutil
import struct
import sys
import threading
from collections import Counter
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
from evalsuite.readers.limits import BIG_BYTES
from evalsuite.runs.history import one_run
from evalsuite.runs.leaderboard_entries import Place, score_places
from evalsuite.runs.rescoring import Shard, merge
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.runs.made import write_file, write_sides

HONEST, WRONG = "n\n1\n", "n\n2\n"


def made(folder: Path) -> tuple[Path, Path]:
    """(gold, an honest submission) of one table."""
    case = ("table_match", {"gold": "r.csv"}, Path("r.csv"))
    honest, gold = write_sides(folder / "honest", folder / "gold", {"t": case}, {"t/r.csv": HONEST})
    return gold, honest


def test_nothing_is_said_of_gold_that_changes_meanwhile(tmp_path: Path) -> None:
    """Neither of gold itself, as its own answer and by an audit, nor of a run that is scored again, nor by ranks."""
    gold, honest = made(tmp_path)
    how: dict[str, Any] = {"isolation": "none", "jobs": 1}
    run(honest, gold, RunOptions(out=tmp_path / "run", **how))
    settings = RunOptions(runs_folder=tmp_path / "runs", **how)
    commands: list[Callable[..., object]] = [
        *(partial(check_gold, gold, **how), partial(audit_gold, gold, **how), partial(verify, tmp_path / "run", **how)),
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


_OPEN, _READ, _CLOSED, _OVERFLOW, _FOLDER = 0x20, 0x01, 0x10, 0x4000, 0x40000000
_EVENT = struct.Struct("iIII")
BIG = "n,t\n" + "".join(f"{i},text {i}\n" for i in range(BIG_BYTES // 8))
# Which only the exact reader can take: two readings of it, and one opening.
ODD = BIG + '7,"a ""quoted"" word"\n'
CASES: dict[str, tuple[str, str, str]] = {
    "small": ("table_match", "r.csv", "a,b\n1,x\n"),
    "big": ("table_match", "r.csv", BIG),
    "odd": ("table_match", "r.csv", ODD),
    "wrong": ("table_match", "r.csv", "a,b\n1,x\n"),
    "tree": ("tree_match", "r.json", '{"a": 1}'),
    "tables": ("duckdb_match", "r.duckdb", "CREATE TABLE t AS SELECT 1 AS a"),
    "text": ("string_match", "r.txt", "Paris"),
}
# A file of gold is opened for its digest before anything is scored, and by who judges; duckdb opens a database itself, by its name.
GOLD = {"r.csv": 2, "r.json": 2, "r.duckdb": 3, "made_eval.jsonl": 3}


@contextmanager
def opened(*folders: Path) -> Iterator[Counter[Path]]:
    """How often each file below the folders was opened inside the block, known after it."""
    libc, found = ctypes.CDLL(None, use_errno=True), Counter[Path]()
    told = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        places: dict[int, Path] = {}
        for place in (place for folder in folders for place in (folder, *folder.rglob("*")) if place.is_dir()):
            # What else happens to a file keeps two openings of it from being told as one.
            places[libc.inotify_add_watch(told, os.fsencode(place), _OPEN | _READ | _CLOSED)] = place
        assert min(places) > 0
        yield found
        data, at = os.read(told, 1 << 24), 0
        while at < len(data):
            watch, what, _, length = _EVENT.unpack_from(data, at)
            name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
            at += _EVENT.size + length
            assert not what & _OVERFLOW
            if what & _OPEN and not what & _FOLDER:
                found[places[watch] / os.fsdecode(name)] += 1
    finally:
        os.close(told)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Gold and a submission with an answer of each kind, of which one is wrong."""
    gold, submission = tmp_path_factory.mktemp("gold"), tmp_path_factory.mktemp("submission")
    cases: dict[str, Any] = {}
    for name, (scorer, file, content) in CASES.items():
        parameters: dict[str, Any] = {"gold": content if scorer == "string_match" else file}
        if scorer != "string_match":
            write_file(gold / name / file, content)
        write_file(submission / name / file, content.replace("1,x", "2,x") if name == "wrong" else content)
        cases[name] = (scorer, parameters, Path(file))
    write_sides(submission, gold, cases)
    return gold, submission


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux which files were opened")
@pytest.mark.parametrize("isolation", ["none", "process"])
def test_each_file_of_a_submission_is_opened_once(sides: tuple[Path, Path], tmp_path: Path, isolation: str) -> None:
    """However it is read: twice for its kind, for its digest, and where no score is known yet to a cache. Gold's as often as is said."""
    gold, submission = sides
    for _ in ("nothing is known", "all is known"):
        with opened(gold, submission) as found:
            done = run(submission, gold, RunOptions(isolation=isolation, jobs=2, cache=tmp_path / "cache", out=None, save=False))
        assert {result.instance_id for result in done.results if result.official != 1} == {"wrong"}
        assert {place: n for place, n in found.items() if place.is_relative_to(submission) and n != 1} == {}
        assert {place: n for place, n in found.items() if place.is_relative_to(gold) and n > GOLD[place.name]} == {}
        assert len(found) == 2 * len(CASES) + 1
