"""Commands that look at single files: no crafted database, table or tree ends one with a signal, an internal error, or never."""

import base64
import json
import os
import random
import re
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.corpus import MAKER, duckdb_survives
from tests.attacks.mutate import craft_duckdb, mutate, mutate_duckdb
from tests.command_server import command_server
from tests.conftest import ROOT
from tests.runs.made import write_sides

# What a command may end with, whatever a file holds.
ENDS = (0, 1, 2, 4, 5)
CHECKS: dict[str, tuple[str, dict[str, Any]]] = {
    "duckdb": ("duckdb_match", {"gold": "f.duckdb", "condition_tabs": ["t", "u"]}),
    "csv": ("table_match", {"gold": "f.csv"}),
    "json": ("tree_match", {"gold": "f.json"}),
}


def good_duckdb(folder: Path) -> bytes:
    """A database with most of what a file can hold: compressed and nested columns, keys, an index, a view, a macro, an enum."""
    import duckdb

    with duckdb.connect(str(folder / "good.duckdb")) as connection:
        connection.execute(
            "create table t as select i, 'name '||(i%50) as name, i*1.5 as v, case when i%3=0 then null else i end n, [i,i+1] l, "
            "{'a':i,'b':'x'||i} s, date '2020-01-01'+(i%100)::int d, (i%7)::decimal(10,2) c, i%2=0 b, repeat('z',(i%300)::int) z "
            "from range(3000) r(i)"
        )
        connection.execute("create table u(a integer primary key, b varchar unique, e enum('x','y'))")
        connection.execute("insert into u select i, 'k'||i, case when i%2=0 then 'x' else 'y' end from range(500) r(i)")
        connection.execute("create view w as select * from t")
        connection.execute("create macro m(a) as a+1")
        connection.execute("create sequence q")
        connection.execute("create index idx on t(i)")
    return (folder / "good.duckdb").read_bytes()


def good_sqlite(folder: Path) -> bytes:
    """A database of another kind, handed in under the name of this one."""
    with sqlite3.connect(folder / "good.sqlite") as connection:
        connection.execute("create table t (i integer, name text)")
        connection.executemany("insert into t values (?, ?)", [(n, f"name {n}") for n in range(500)])
    connection.close()
    return (folder / "good.sqlite").read_bytes()


def handed_in(folder: Path, seed: int, n: int) -> tuple[Path, Path]:
    """(submission, gold) with n crafted files of each kind."""
    rng = random.Random(seed)
    tree = {"a": [{"b": n} for n in range(50)]}
    good = {"duckdb": good_duckdb(folder), "csv": b"a,b\n" + b"1,x\n" * 300, "json": json.dumps(tree).encode()}
    sqlite = good_sqlite(folder)
    kinds: dict[str, Sequence[Callable[[bytes, random.Random], bytes]]] = {
        "duckdb": (craft_duckdb, mutate_duckdb, mutate, lambda _, rng: mutate(sqlite, rng), lambda data, rng: data[: rng.randrange(9999)]),
        "csv": (mutate, lambda _, rng: rng.randbytes(9999), lambda data, rng: data * rng.choice((0, 2, 500))),
        "json": (mutate, lambda _, __: b"[" * 90_000, lambda _, rng: rng.randbytes(9999)),
    }
    gold, submission = folder / "gold", folder / "submission"
    cases: dict[str, Any] = {}
    for kind, ways in kinds.items():
        for at in range(n):
            name = f"{kind}{at}"
            for side in (gold, submission):
                (side / name).mkdir(parents=True)
            (gold / name / f"f.{kind}").write_bytes(good[kind])
            (submission / name / f"f.{kind}").write_bytes(ways[at % len(ways)](good[kind], rng))
            cases[name] = (*CHECKS[kind], Path(f"f.{kind}"))
    return write_sides(submission, gold, cases)


def hold(submission: Path, gold: Path, names: Sequence[str]) -> list[dict[str, Any]]:
    """Run every command that looks at single files, those of one instance for each of the names, and hold its end to what may be.

    Returns the problems that `validate` names.
    """
    sides = ["--result_dir", str(submission), "--gold_dir", str(gold)]
    commands = [["validate", str(submission), "--gold", str(gold), "--json"]]
    for name in names:
        kind = name.rstrip("0123456789")
        files = [str(side / name / f"f.{kind}") for side in (submission, gold)]
        commands.append(["check", CHECKS[kind][0], "--prediction", files[0], "--gold", files[1]])
        commands += [["explain", name, *sides], ["check", name, *sides]]
        commands += [["bundle", name, *sides, "-o", str(submission.parent / f"{name}.md")]]
    said = []
    for words in commands:
        done = command_server().run(words)
        said.append(done.stdout)
        assert done.returncode in ENDS, (words, done.returncode, done.stderr)
        assert "internal error" not in done.stderr, (words, done.stderr)
        assert "Traceback" not in done.stdout + done.stderr, (words, done.stderr)
    return list(json.loads(said[0])["problems"])


def killing_database() -> bytes | None:
    """A database of the corpus of attacks, with right checksums, on which duckdb 2.0.0 dies."""
    text = MAKER.read_text(encoding="utf-8") if MAKER.is_file() else ""
    found = re.search(r'^SEGV_B85 = "([^"]+)"', text, re.MULTILINE)
    return zlib.decompress(base64.b85decode(found[1])) if found else None


# Rounds of 40 files with other seeds.
MANY = range(1, max(1, int(os.environ.get("EVALSUITE_FUZZ", "400")) // 40) + 1)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MANY)])
def test_crafted_files_end_no_command(seed: int, tmp_path: Path) -> None:
    """A few files of each kind through validate, and one through the commands of an instance; of other seeds EVALSUITE_FUZZ in all."""
    names = [f"{kind}{at}" for kind in CHECKS for at in range(1, 4)] if seed else ["duckdb0"]
    hold(*handed_in(tmp_path, seed, n=14 if seed else 5), names=names)


def test_a_database_that_kills_its_reader_ends_no_command(tmp_path: Path) -> None:
    """It is a finding for validate, and no end of any other command."""
    found = killing_database()
    if found is None:
        pytest.skip(f"no corpus maker at {MAKER} (set EVALSUITE_ATTACKS to its folder)")
    submission, gold = handed_in(tmp_path, seed=0, n=1)
    crafted = submission / "duckdb0" / "f.duckdb"
    crafted.write_bytes(found)
    codes = {problem["code"] for problem in hold(submission, gold, names=("duckdb0",)) if problem["instance_id"] == "duckdb0"}
    assert codes == {"BAD_DUCKDB" if duckdb_survives(crafted) else "WORKER_DIED"}


def test_crafted_files_do_not_end_the_viewer(tmp_path: Path) -> None:
    """Each page of an instance works out its difference from the crafted file; the viewer answers all of them, and ends when it is told."""
    pytest.importorskip("starlette", reason="the viewer's packages are not installed (extra: view)")
    from tests.reports.viewer.served import ask, viewer

    submission, gold = handed_in(tmp_path, seed=3, n=2)
    found = killing_database()
    if found is not None:
        (submission / "duckdb0" / "f.duckdb").write_bytes(found)
    words = ["run", str(submission), "--gold", str(gold), "--out", ".evalsuite/runs/crafted", "-q", "--no-cache"]
    assert command_server().run(words, cwd=tmp_path).returncode in ENDS
    with viewer(tmp_path, environ={"PYTHONPATH": str(ROOT)}) as address:
        for kind in CHECKS:
            for at in range(2):
                page = ask(address, f"/runs/crafted/instances/{kind}{at}")
                assert (page.status, "Traceback" in page.body) == (200, False), (kind, at, page.body)
