"""Big database tables through a real worker pair: verdicts and faults are those of a single process."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Result
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.runs.made import write_sides

GOLD = "SELECT i AS id, 'n' || (i % 31) AS text FROM range(30_000) r(i)"
ANSWERS = {
    "equal": f"{GOLD} ORDER BY i",
    "shuffled": f"{GOLD} ORDER BY i DESC",
    "changed": f"SELECT id, CASE WHEN id = 7 THEN 'x' ELSE text END AS text FROM ({GOLD})",
    "wider": f"SELECT 1 AS more, * FROM ({GOLD})",
    "small": "SELECT 1 AS id",
    "damaged": GOLD,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One gold table and an answer of each kind."""
    place = tmp_path_factory.mktemp("databases")
    cases: dict[str, Any] = {}
    with duckdb.connect(str(place / "gold.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS {GOLD}")
    for name, statement in ANSWERS.items():
        for side in ("gold", "submission"):
            (place / side / name).mkdir(parents=True)
        shutil.copy(place / "gold.duckdb", place / "gold" / name / "t.duckdb")
        with duckdb.connect(str(place / "submission" / name / "t.duckdb")) as connection:
            connection.execute(f"CREATE TABLE t AS {statement}")
        parameters = {"gold": "t.duckdb", "condition_tabs": ["t"], "ignore_orders": [name == "shuffled"]}
        cases[name] = ("duckdb_match", parameters, Path("t.duckdb"))
    damaged = place / "submission" / "damaged" / "t.duckdb"
    data = bytearray(damaged.read_bytes())
    # The blocks of the columns begin behind the three headers; their checksums no longer fit.
    data[20_000:24_000] = b"\xff" * 4_000
    damaged.write_bytes(data)
    write_sides(place / "submission", place / "gold", cases)
    return place


def scored(folder: Path, isolation: Any) -> dict[str, Result]:
    """What a run says of each answer, but for the time it took."""
    limits = resolve_limits({"seconds": 120})
    found = run(folder / "submission", folder / "gold", options=RunOptions(isolation=isolation, jobs=1, limits=limits))
    return {result.instance_id: replace(result, seconds=0) for result in found.results}


def test_a_lane_says_what_the_rows_say(folder: Path) -> None:
    """No table disturbs the next."""
    found = scored(folder, "process")
    assert found == scored(folder, "none")
    ones = [name for name, told in found.items() if told.official == told.strict == 1]
    assert ones == ["equal", "shuffled", "wider"]
    assert found["damaged"].fault == "BAD_DUCKDB"
