"""Answers with the bytes of gold, and big tables and databases, through a real pair of workers: it says what a single process says."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Result
from evalsuite.readers.limits import BIG_BYTES, resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.runs.made import write_file, write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")

BIG = "n,t\n" + "".join(f"{i},text {i}\n" for i in range(16_000))
VIEW = "CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT a FROM t"
# name -> scorer, further parameters, files: the same on both sides.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "small": ("table_match", {}, {"r.csv": "a,b\n1,x\n2,\n"}),
    "packed": ("table_match", {"ignore_order": True}, {"r.csv": BIG[:40_000]}),
    "big": ("table_match", {"condition_cols": [1]}, {"r.csv": BIG}),
    "odd": ("table_match", {}, {"r.csv": 'a,b\n1,"x"y\n'}),
    "ragged": ("table_match", {}, {"r.csv": "a,b\n1,2,3\n4,5,6\n"}),
    "broken": ("table_match", {}, {"r.csv": 'a,b\n1,"x\n'}),
    "empty": ("table_match", {}, {"r.csv": ""}),
    "plain text": ("table_match", {}, {"r.txt": "a\n1\n"}),
    "semicolons": ("table_match", {"delimiter": ";"}, {"r.csv": "a;b\n1;2\n"}),
    "latin": ("table_match", {}, {"r.csv": "a\n\udce9\n"}),
    "several": ("tables_match", {"condition_cols": [[], [0]]}, {"r.csv": "a\n1\n", "s.csv": "b,c\n2,3\n"}),
    "database": ("duckdb_match", {}, {"r.duckdb": "CREATE TABLE t AS SELECT range AS a, 'x' AS b FROM range(9)"}),
    "packed rows": ("duckdb_match", {}, {"r.duckdb": "CREATE TABLE t AS SELECT range AS a FROM range(5000)"}),
    "no name": ("table_match", {"gold": [1]}, {"r.csv": "a\n1\n"}),
    "no list": ("table_match", {"gold": 5}, {"r.csv": "a\n1\n"}),
    "warned": ("table_match", {"ignore_order": [True]}, {"r.csv": "a\n1\n"}),
    "view": ("duckdb_match", {"condition_tabs": ["v"], "reference": "dbt"}, {"r.duckdb": VIEW}),
}


def of_both(sides: tuple[Path, Path]) -> dict[str, Result]:
    """The results of a worker pair, but for their seconds: they are those of a single process."""
    both = []
    for isolation in ("process", "none"):
        done = run(*sides, RunOptions(isolation=isolation, jobs=1, limits=resolve_limits({"seconds": 120}), save=False))  # type: ignore[arg-type]
        both.append({result.instance_id: replace(result, seconds=0) for result in done.results})
    assert both[0] == both[1]
    return both[0]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """A submission that is a copy of gold, and its gold; one answer of each kind differs in a cell."""
    gold, submission = tmp_path / "gold", tmp_path / "submission"
    cases: dict[str, Any] = {}
    for name, (scorer, more, files) in CASES.items():
        for file, content in files.items():
            write_file(gold / name / file, content)
        shutil.copytree(gold / name, submission / name)
        value: Any = list(files) if scorer == "tables_match" else next(iter(files))
        cases[name] = (scorer, {"gold": value, **more}, value if isinstance(value, list) and len(value) > 1 else Path(next(iter(files))))
    for name, content in {"small": "a,b\n1,x\n3,\n", "big": BIG.replace("text 7\n", "text 8\n")}.items():
        write_file(gold / f"{name} differs" / "r.csv", CASES[name][2]["r.csv"])
        write_file(submission / f"{name} differs" / "r.csv", content)
        cases[f"{name} differs"] = ("table_match", {"gold": "r.csv"}, Path("r.csv"))
    return write_sides(submission, gold, cases)


def test_a_copy_of_gold_gets_the_same_result(sides: tuple[Path, Path]) -> None:
    """With workers gold is taken for an equal answer, without isolation each file is read: results are equal but for the seconds."""
    told = of_both(sides)
    assert {name for name, result in told.items() if result.official == 1} >= {"small", "packed", "big", "several", "database"}
    assert {name for name, result in told.items() if result.official == 0} >= {"small differs", "big differs"}


LINES = [f"{row},name {row % 977:045d},{row * 0.37:.3f}" for row in range(4_500)]
TABLE = "\n".join(["id,name,value", *LINES, ""])
FILES = {
    "equal": TABLE.replace("\n", "\r\n").encode(),
    "unlike": TABLE.replace(LINES[-1], "4499,name x,1.0").encode(),
    "odd": TABLE.replace(LINES[-1], LINES[-1].replace("name", '"na""me"', 1)).encode(),
    "latin": TABLE.encode() + b"1,\xff\xff,2\n",
    "shuffled": "\n".join(["id,name,value", *reversed(LINES), ""]).encode(),
    "small": b"id,name,value\n1,a,2\n",
}
ROWS = "SELECT i AS id, 'n' || (i % 31) AS text FROM range(4_500) r(i)"
DATABASES = {
    "equal rows": f"{ROWS} ORDER BY i",
    "shuffled rows": f"{ROWS} ORDER BY i DESC",
    "changed rows": f"SELECT id, CASE WHEN id = 7 THEN 'x' ELSE text END AS text FROM ({ROWS})",
    "wider rows": f"SELECT 1 AS more, * FROM ({ROWS})",
    "small rows": "SELECT 1 AS id",
    "damaged rows": ROWS,
}


def make(place: Path) -> tuple[Path, Path]:
    """(submission, gold): one gold table and one gold database, and an answer of each kind."""
    cases: dict[str, Any] = {}
    gold, submission = place / "gold", place / "submission"
    for name, data in FILES.items():
        write_file(gold / name / "t.csv", TABLE)
        write_file(submission / name / "t.csv", data.decode(errors="surrogateescape"))
        cases[name] = ("table_match", {"gold": "t.csv", "ignore_order": name == "shuffled"}, Path("t.csv"))
    for name, statement in DATABASES.items():
        write_file(gold / name / "t.duckdb", f"CREATE TABLE t AS {ROWS}")
        write_file(submission / name / "t.duckdb", f"CREATE TABLE t AS {statement}")
        parameters = {"gold": "t.duckdb", "condition_tabs": ["t"], "ignore_orders": [name == "shuffled rows"]}
        cases[name] = ("duckdb_match", parameters, Path("t.duckdb"))
    damaged = submission / "damaged rows" / "t.duckdb"
    data = bytearray(damaged.read_bytes())
    # The blocks of the columns begin behind the three headers; their checksums no longer fit.
    data[20_000:24_000] = b"\xff" * 4_000
    damaged.write_bytes(data)
    return write_sides(submission, gold, cases)


def test_a_worker_pair_says_what_a_single_process_says(tmp_path: Path) -> None:
    """Each answer gets its own verdict or fault, and none disturbs the next."""
    assert len(TABLE) > BIG_BYTES
    told = of_both(make(tmp_path))
    right = {"equal", "shuffled", "equal rows", "shuffled rows", "wider rows"}
    assert {name: (one.official, one.strict) for name, one in told.items()} == {name: (float(name in right),) * 2 for name in told}
    faults = {name: (one.status, one.fault) for name, one in told.items() if one.status != "scored"}
    assert faults == {"latin": ("submission_fault", "BAD_ENCODING"), "damaged rows": ("submission_fault", "BAD_DUCKDB")}
    assert told["equal"].details["n_columns"] == 3
