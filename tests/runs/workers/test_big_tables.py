"""Big tables of files and databases through a real worker pair: verdicts and faults are those of a single process."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Result
from evalsuite.readers.limits import BIG_BYTES, resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.runs.made import write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")

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
GOLD = "SELECT i AS id, 'n' || (i % 31) AS text FROM range(4_500) r(i)"
DATABASES = {
    "equal rows": f"{GOLD} ORDER BY i",
    "shuffled rows": f"{GOLD} ORDER BY i DESC",
    "changed rows": f"SELECT id, CASE WHEN id = 7 THEN 'x' ELSE text END AS text FROM ({GOLD})",
    "wider rows": f"SELECT 1 AS more, * FROM ({GOLD})",
    "small rows": "SELECT 1 AS id",
    "damaged rows": GOLD,
}


def make(place: Path) -> tuple[Path, Path]:
    """(submission, gold): one gold table and one gold database, and an answer of each kind."""
    cases: dict[str, Any] = {}
    gold, submission = place / "gold", place / "submission"
    for name in (*FILES, *DATABASES):
        for side in (gold, submission):
            (side / name).mkdir(parents=True)
    for name, data in FILES.items():
        (gold / name / "t.csv").write_text(TABLE)
        (submission / name / "t.csv").write_bytes(data)
        cases[name] = ("table_match", {"gold": "t.csv", "ignore_order": name == "shuffled"}, Path("t.csv"))
    with duckdb.connect(str(place / "gold.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS {GOLD}")
    for name, statement in DATABASES.items():
        shutil.copy(place / "gold.duckdb", gold / name / "t.duckdb")
        with duckdb.connect(str(submission / name / "t.duckdb")) as connection:
            connection.execute(f"CREATE TABLE t AS {statement}")
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
    sides = make(tmp_path)
    assert len(TABLE) > BIG_BYTES
    found: list[dict[str, Result]] = []
    for isolation in ("process", "none"):
        options = RunOptions(isolation=isolation, jobs=1, limits=resolve_limits({"seconds": 120}), save=False)  # type: ignore[arg-type]
        found.append({result.instance_id: replace(result, seconds=0) for result in run(*sides, options=options).results})
    told = found[0]
    assert told == found[1]
    right = {"equal", "shuffled", "equal rows", "shuffled rows", "wider rows"}
    assert {name: (one.official, one.strict) for name, one in told.items()} == {name: (float(name in right),) * 2 for name in told}
    faults = {name: (one.status, one.fault) for name, one in told.items() if one.status != "scored"}
    assert faults == {"latin": ("submission_fault", "BAD_ENCODING"), "damaged rows": ("submission_fault", "BAD_DUCKDB")}
    assert told["equal"].details["n_columns"] == 3
