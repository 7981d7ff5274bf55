"""Damaged files: whatever bytes are handed in, the run ends, honest answers keep their score, and nothing wrong is called right."""

import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import SubmissionError
from evalsuite.core.types import Result
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.attacks.mutate import checksum, mutate, mutate_duckdb, repair_checksums
from tests.conftest import ROOT
from tests.processes import finished
from tests.properties import is_full
from tests.runs.made import write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")

# Mutations of the test line; with `-m slow` as many as EVALSUITE_FUZZ says, in rounds of this many.
ROUND = 200
# Of the first round the line does as many.
LINE = 60
SHARES = {"duckdb": 0.3, "csv": 0.3, "json": 0.2, "metadata": 0.2}
N_ROWS = 40
ROWS = [(1000 + 7 * n, f"customer {chr(97 + n % 26)}{n}", 12.5 + 31 * n) for n in range(N_ROWS)]
GOOD_CSV = ("id,name,v\n" + "".join(f"{id_},{name},{v}\n" for id_, name, v in ROWS)).encode()
TREE = {"order": 4711, "customer": {"name": "Ada", "tags": ["new", "north"]}, "lines": [{"sku": f"A{n}", "n": n + 1} for n in range(8)]}
ANSWERS = {f"text{n}": (f"The town is Quito{n}.", "string_match", f"Quito{n}") for n in range(6)} | {
    f"number{n}": (f"It was {4200 + n} in all", "number_match", 4200 + n) for n in range(6)
}


def good_duckdb(folder: Path) -> bytes:
    """The table as a DuckDB file."""
    import duckdb

    path = folder / "good.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t(id INTEGER, name VARCHAR, v DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    return path.read_bytes()


def files_of(kind: str, folder: Path) -> tuple[bytes, Callable[[bytes, random.Random], bytes], dict[str, Any]]:
    """A good file of a kind, its mutation, and the check of gold that asks for all of it."""
    if kind == "duckdb":
        return good_duckdb(folder), mutate_duckdb, {"func": "duckdb_match", "parameters": {"gold": "f.duckdb", "condition_tabs": ["t"]}}
    if kind == "csv":
        return GOOD_CSV, mutate, {"func": "table_match", "parameters": {"gold": "f.csv"}}
    return json.dumps(TREE).encode(), mutate, {"func": "tree_match", "parameters": {"gold": "f.json"}}


def play(folder: Path, kind: str, seed: int, n: int) -> tuple[list[Result], dict[str, Path]]:
    """The results of n damaged files and one good one, handed in together; and the damaged files by instance."""
    rng = random.Random(f"{kind} {seed}")
    good, damage, check = files_of(kind, folder)
    gold, submission = folder / "gold", folder / "submission"
    damaged = {}
    for name in ["good", *(f"bad{at:04d}" for at in range(n))]:
        for side in (gold, submission):
            (side / name).mkdir(parents=True)
        (gold / name / f"f.{kind}").write_bytes(good)
        handed_in = submission / name / f"f.{kind}"
        handed_in.write_bytes(good if name == "good" else damage(good, rng))
        damaged[name] = handed_in
    write_sides(submission, gold, {name: (check["func"], check["parameters"], Path(f"f.{kind}")) for name in damaged})
    finished = run(submission, gold, RunOptions(save=False, jobs=2))
    return list(finished.results), damaged


def check_files(folder: Path, kind: str, seed: int, n: int) -> None:
    """Play one round and hold its results to what stands in the files."""
    results, damaged = play(folder, kind, seed, n)
    assert [result.instance_id for result in results] == list(damaged)
    assert results[0].official == results[0].strict == 1
    # A fault of gold or of a scorer would be a defect that a submission can set off.
    assert {result.status for result in results} <= {"scored", "submission_fault", "crashed", "timeout"}
    called_right = [result for result in results if 1 in (result.official, result.strict)]
    contents = read_plainly([damaged[result.instance_id] for result in called_right])
    for result, content in zip(called_right, contents, strict=True):
        for rules, value, tolerance in (("official", result.official, 0.011), ("strict", result.strict, 1e-3)):
            assert value != 1 or is_right(kind, content, tolerance), (result.instance_id, rules, content)


def is_right(kind: str, content: Any, tolerance: float) -> bool:
    """Whether what stands in a file is what gold asks for: each gold column is there, equal cell by cell."""
    if kind == "json":
        return bool(content == TREE)
    columns = content or []
    return all(
        any(len(found) == len(wanted) and all(equal(a, b, tolerance) for a, b in zip(found, wanted, strict=True)) for found in columns)
        for wanted in zip(*ROWS, strict=True)
    )


def equal(found: str | None, wanted: Any, tolerance: float) -> bool:
    """Whether a cell's text is the text, or says the number."""
    if found is None or isinstance(wanted, str):
        return found == wanted
    try:
        return "_" not in found and abs(float(found) - wanted) <= tolerance
    except ValueError:
        return False


def read_plainly(paths: Sequence[Path]) -> list[Any]:
    """The files' contents by the plain reader; None for one that kills it."""
    contents: list[Any] = []
    while len(contents) < len(paths):
        names = [str(path) for path in paths[len(contents) :]]
        done = finished([sys.executable, "-m", "tests.attacks.plain_reader", *names], seconds=900, cwd=ROOT)
        contents += [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode != 0:
            contents.append(None)
    return contents


def check_metadata(folder: Path, seed: int, n: int) -> None:
    """Damage the metadata file n times: each time the run ends or refuses, and what scores 1 still stands in a line of its id."""
    rng = random.Random(f"metadata {seed}")
    gold, submission = folder / "gold", folder / "submission"
    write_sides(submission, gold, {id_: (func, {"gold": wanted}, text) for id_, (text, func, wanted) in ANSWERS.items()})
    good = (submission / "results_metadata.jsonl").read_bytes()
    ended = 0
    for _ in range(n):
        damaged = mutate(good, rng)
        (submission / "results_metadata.jsonl").write_bytes(damaged)
        try:
            results = run(submission, gold, RunOptions(save=False)).results
        except SubmissionError:
            continue
        ended += 1
        assert [result.instance_id for result in results] == list(ANSWERS)
        assert {result.status for result in results} <= {"scored", "missing", "submission_fault"}
        # Few bytes are damaged, in few lines: most answers must stand.
        assert sum(result.official == 1 for result in results) >= len(ANSWERS) - 8
        for result in results:
            if 1 in (result.official, result.strict):
                said = str(ANSWERS[result.instance_id][2]).casefold().encode()
                lines = damaged.lower().split(b"\n{")
                assert any(said in line and f'"{result.instance_id}"'.encode() in line for line in lines), (result, damaged)
    assert ended > n / 2


# EVALSUITE_FUZZ mutations of other seeds, 2,000 unless it says otherwise.
MANY = range(1, max(1, int(os.environ.get("EVALSUITE_FUZZ", "2000")) // ROUND) + 1)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MANY)])
@pytest.mark.parametrize("kind", SHARES)
def test_damaged_files(kind: str, seed: int, tmp_path: Path) -> None:
    """60 mutations in all (200 in full): no death reaches the run, and no damaged answer that differs in a needed cell is called right."""
    n = int((ROUND if is_full() else LINE) * SHARES[kind])
    if kind == "metadata":
        check_metadata(tmp_path, seed, n)
    else:
        check_files(tmp_path, kind, seed, n)


def test_repaired_checksums_are_duckdbs(tmp_path: Path) -> None:
    """Repairing a good file changes nothing, and duckdb reads a file whose damage was repaired instead of refusing its checksum."""
    import duckdb

    good = good_duckdb(tmp_path)
    assert repair_checksums(good) == good
    assert checksum(b"") == 5381
    path = tmp_path / "other.duckdb"
    path.write_bytes(repair_checksums(good.replace(b"customer a0", b"Customer a0")))
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("SELECT name FROM t WHERE id = 1000").fetchall() == [("Customer a0",)]


def test_the_plain_reader_sees_a_difference(tmp_path: Path) -> None:
    """What a verdict is held to can say no: one changed cell in a needed column is a difference."""
    path = tmp_path / "f.csv"
    path.write_bytes(GOOD_CSV)
    assert is_right("csv", read_plainly([path])[0], 1e-3)
    path.write_bytes(GOOD_CSV.replace(b"1007,", b"1008,"))
    assert not is_right("csv", read_plainly([path])[0], 0.011)
