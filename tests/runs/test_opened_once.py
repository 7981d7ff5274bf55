"""How often a run opens each file of either side: the kernel counts, for every process of the run and every library in it."""

import ctypes
import os
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite.readers.limits import BIG_BYTES
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.runs.made import write_sides

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux which files were opened")

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


def write(place: Path, content: str) -> None:
    """A file, or the database that statements make."""
    place.parent.mkdir(parents=True)
    if place.suffix == ".duckdb":
        with duckdb.connect(str(place)) as connection:
            connection.execute(content)
    else:
        place.write_text(content)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Gold and a submission with an answer of each kind, of which one is wrong."""
    gold, submission = tmp_path_factory.mktemp("gold"), tmp_path_factory.mktemp("submission")
    cases: dict[str, Any] = {}
    for name, (scorer, file, content) in CASES.items():
        parameters: dict[str, Any] = {"gold": content if scorer == "string_match" else file}
        if scorer != "string_match":
            write(gold / name / file, content)
        write(submission / name / file, content.replace("1,x", "2,x") if name == "wrong" else content)
        cases[name] = (scorer, parameters, Path(file))
    write_sides(submission, gold, cases)
    return gold, submission


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
