"""SQL answers through the whole command line: refused unless mapped, run behind walls, judged by their table, kept and cached."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from evalsuite.cli import main
from evalsuite.sandbox.fork_server import Worker
from tests.processes import side_by_side
from tests.runs.made import KilledClient
from tests.sql import postgres_server

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD = "region,total\nnorth,40\nsouth,2.5\n"
RIGHT = "SELECT region, sum(amount) AS total FROM sales GROUP BY region"


class Place:
    """A gold folder with a database, and a submission, both made line by line."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.gold, self.submission = folder, folder / "gold", folder / "handed_in"
        for made in (self.gold, self.submission, folder / "databases"):
            made.mkdir()
        self.specs: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        with sqlite3.connect(folder / "databases" / "shop.sqlite") as made_database:
            made_database.execute("CREATE TABLE sales (region, amount)")
            made_database.executemany("INSERT INTO sales VALUES (?, ?)", [("north", 30), ("north", 10), ("south", 2.5)])

    def ask(self, name: str, sql: str, *, gold: str = GOLD, **parameters: Any) -> None:
        """An instance whose answer is a query."""
        for side, file, text in ((self.gold, "gold.csv", gold), (self.submission, "q.sql", sql)):
            (side / name).mkdir()
            (side / name / file).write_text(text)
        check = {"func": "table_match", "parameters": {"gold": "gold.csv", "ignore_order": True, **parameters}}
        self.specs.append({"instance_id": name, "evaluation": check})
        self.answers.append({"instance_id": name, "answer_type": "file", "answer_or_path": "q.sql"})

    def connect(self, text: str) -> None:
        """Write `connections.yaml` beside the suite."""
        (self.gold / "connections.yaml").write_text(text)

    def run(self, *options: str, code: int = 0) -> dict[str, dict[str, Any]]:
        """The results of a run by instance."""
        for file, rows in ((self.gold / "shop_eval.jsonl", self.specs), (self.submission / "results_metadata.jsonl", self.answers)):
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        out = self.folder / "run"
        arguments = ["run", str(self.submission), "--gold", str(self.gold), "--out", str(out), "--jobs", "1", "-q", *options]
        assert main([*arguments, "--databases", str(self.folder / "databases")]) == code
        return {row["instance_id"]: row for row in map(json.loads, (out / "results.jsonl").read_text().splitlines())}

    def run_json(self) -> dict[str, Any]:
        """The `run.json` object of the last run."""
        found: dict[str, Any] = json.loads((self.folder / "run" / "run.json").read_text())
        return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """An empty place, and the working folder."""
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


def test_a_mapping_by_prefix_id_or_parameters_runs_the_query(place: Place) -> None:
    """Each way to name a connection reaches the database; a right query scores 1 under both rules, a wrong one 0; a fence is taken off.
    What the suite does not map is not run, whatever lies around.
    """
    place.ask("unmapped", RIGHT)
    place.ask("local_1", f"Here it is:\n```sql\n{RIGHT};\n```\n")
    place.ask("q2", RIGHT + " LIMIT 1")
    place.ask("named", RIGHT, connection="shop")
    place.ask("file", RIGHT, engine="sqlite", database="shop.sqlite")
    place.connect("shop: {engine: sqlite, database: shop.sqlite, prefix: local_, instances: [q2]}\n")
    rows = place.run("--no-cache")
    refused = rows.pop("unmapped")
    assert (refused["score"], refused["fault"]) == (0, "SQL_NOT_ALLOWED")
    assert not (place.folder / "run" / "executed" / "unmapped.csv").exists()
    assert {name: (row["official"], row["strict"]) for name, row in rows.items()} == {
        "local_1": (1, 1), "q2": (0, 0), "named": (1, 1), "file": (1, 1)
    }  # fmt: skip
    assert rows["local_1"]["details"]["sql"] == {"connection": "shop", "engine": "sqlite", "rows": 2, "columns": 2}
    assert (place.folder / "run" / "executed" / "local_1.csv").read_text() == "region,total\nnorth,40\nsouth,2.5\n"
    assert place.run_json()["sql"] == {"statements": 4, "failed": 0, "known": 0}
    assert not any("unknown parameter" in warning for warning in place.run_json()["warnings"])


def test_a_connection_that_cannot_be_had_is_not_the_answers_fault(place: Place) -> None:
    """A mapped instance whose database is not there is unscored, and the others are scored; nothing stops the run."""
    place.ask("lost", RIGHT, engine="sqlite", database="gone.sqlite")
    place.ask("good", RIGHT, engine="sqlite", database="shop.sqlite")
    rows = place.run("--no-cache", code=4)
    assert (rows["lost"]["score"], rows["lost"]["fault"], rows["lost"]["status"]) == (None, "NEEDS_CONNECTION", "unscored")
    assert rows["good"]["score"] == 1


def test_results_are_known_the_second_time_until_the_data_change(place: Place) -> None:
    """The cache is keyed on the database's bytes: the same query is taken from it, and run anew when the data have changed; so is one whose
    result has no end, as after a power cut.
    """
    place.ask("q1", RIGHT, engine="sqlite", database="shop.sqlite")
    assert [place.run()["q1"]["score"], place.run_json()["sql"]["known"]] == [1, 0]
    assert [place.run()["q1"]["score"], place.run_json()["sql"]["known"]] == [1, 1]
    (result,) = (place.folder / ".evalsuite").rglob("result.csv")
    for size in (0, 13, result.stat().st_size - 1):
        os.truncate(result, size)
        assert [place.run()["q1"]["score"], place.run_json()["sql"]["known"]] == [1, 0]
    with sqlite3.connect(place.folder / "databases" / "shop.sqlite") as changed:
        changed.execute("DELETE FROM sales WHERE region = 'south'")
    assert [place.run()["q1"]["score"], place.run_json()["sql"]["known"]] == [0, 0]


def test_merged_shards_have_the_queries_and_databases_of_all(place: Place) -> None:
    """Their counts are added up, and databases that only one shard used are named."""
    for name in ("q1", "q2", "q3"):
        place.ask(name, RIGHT, engine="sqlite", database="shop.sqlite")
    place.ask("q4", "SELECT nothing", engine="sqlite", database="shop.sqlite")
    place.run("--no-cache")
    whole = place.run_json()
    parts = []
    for i in ("1", "2"):
        place.run("--no-cache", "--shard", f"{i}/2")
        parts.append(shutil.move(place.folder / "run", place.folder / f"shard-{i}"))
    assert main(["runs", "merge", *map(str, parts), "--out", "merged", "-q"]) == 0
    merged = json.loads(Path("merged/run.json").read_text())
    assert merged["sql"] == whole["sql"] == {"statements": 4, "failed": 1, "known": 0}
    assert merged.get("databases") == whole.get("databases")


def test_a_result_above_the_cap_is_judged(place: Place) -> None:
    """A result of more than `table_bytes` or `file_bytes` is a file as any other, and judged whole; one above `result_bytes` is a LIMIT."""
    numbers = "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 6000) SELECT i, 'row ' || i AS label FROM s"
    gold = "i,label\n" + "".join(f"{i},row {i}\n" for i in range(1, 6001))
    place.ask("big", numbers, gold=gold, engine="sqlite", database="shop.sqlite")
    place.ask(
        "bigger", numbers.replace("i, 'row '", "i, 'row number ' || 'row '"), gold="i,label\n1,x\n", engine="sqlite", database="shop.sqlite"
    )
    found = place.run("--no-cache", "--limit", "table_bytes=20000", "--limit", "file_bytes=110000")
    assert (found["big"]["strict"], found["bigger"]["strict"], found["bigger"]["fault"]) == (1, 0, None)
    assert (place.folder / "run" / "executed" / "big.csv").read_text() == gold
    assert (place.folder / "run" / "executed" / "bigger.csv").stat().st_size > 110_000
    assert place.run("--no-cache", "--limit", "result_bytes=20000")["big"]["fault"] == "LIMIT"


def test_a_query_sees_neither_gold_nor_the_submission(place: Place) -> None:
    """A database that lies in the gold folder can be read, and no file beside it. A path that leaves the instance, text that is no UTF-8
    and a text that is too long are refused by their codes.
    """
    (place.gold / "tables").mkdir()
    (place.gold / "tables" / "sales.csv").write_text("region,amount\nnorth,40\nsouth,2.5\n")
    place.connect("lake: {engine: duckdb, database: tables, prefix: q}\nshop: {engine: sqlite, database: shop.sqlite}\n")
    place.ask("q1", RIGHT)
    place.ask("q2", f"SELECT * FROM read_csv('{place.gold}/q1/gold.csv')")
    place.ask("q3", f"SELECT * FROM read_text('{place.submission}/q1/q.sql')")
    for name in ("out", "bytes", "long", "missing"):
        place.ask(name, RIGHT, connection="shop")
    place.answers[3]["answer_or_path"] = "../bytes/q.sql"
    (place.submission / "bytes" / "q.sql").write_bytes(b"SELECT '\xff'")
    (place.submission / "long" / "q.sql").write_text("SELECT 1 --" + "x" * 200_000)
    (place.submission / "missing" / "q.sql").unlink()
    found = {name: (row["score"], row["fault"]) for name, row in place.run("--no-cache").items()}
    refused = {"q2": "SQL_NOT_ALLOWED", "q3": "SQL_NOT_ALLOWED", "out": "BAD_PATH", "bytes": "BAD_ENCODING", "long": "TOO_LARGE"}
    assert found == {"q1": (1, None), **{name: (0, code) for name, code in {**refused, "missing": "MISSING_FILE"}.items()}}


@pytest.mark.extras
def test_a_server_is_asked_from_this_process(place: Place) -> None:
    """A PostgreSQL connection is used with its limits, refuses to write, and its password stands in no file of the run."""
    psycopg = pytest.importorskip("psycopg")
    with postgres_server.server() as port:
        login = f"host: 127.0.0.1, port: {port}, password: {postgres_server.PASSWORD}, database: postgres"
        with psycopg.connect(
            host="127.0.0.1", port=port, user=postgres_server.OWNER, password=postgres_server.PASSWORD, dbname="postgres", autocommit=True
        ) as owner:
            owner.execute("CREATE TABLE sales AS SELECT * FROM (VALUES ('north', 40.0), ('south', 2.5)) AS t(region, amount)")
            owner.execute(f"CREATE ROLE {postgres_server.READER} LOGIN PASSWORD '{postgres_server.PASSWORD}'")
            owner.execute(f"GRANT SELECT ON sales TO {postgres_server.READER}")
        place.connect(f"house: {{engine: postgres, {login}, user: {postgres_server.READER}, prefix: q}}\n")
        place.ask("q1", RIGHT)
        place.ask("q2", "DELETE FROM sales")
        place.ask("q3", "SELECT pg_sleep(60)")
        rows = place.run("--no-cache", "--limit", "seconds=2")
    assert [(rows[name]["score"], rows[name]["fault"]) for name in ("q1", "q2", "q3")] == [
        (1, None), (0, "SQL_NOT_ALLOWED"), (0, "TIMEOUT")
    ]  # fmt: skip
    written = [path for path in (place.folder / "run").rglob("*") if path.is_file()]
    assert not any(postgres_server.PASSWORD in path.read_text() for path in written)


def test_the_parent_of_queries_imports_no_engine(place: Place) -> None:
    """Statements run in workers: the run's own process has neither duckdb nor pandas nor numpy, whose readers hostile files could meet."""
    place.ask("local_1", RIGHT)
    place.connect("shop: {engine: sqlite, database: shop.sqlite, instances: [local_1]}\n")
    assert place.run("--no-cache")["local_1"]["score"] == 1
    code = (
        "import sys; from evalsuite.cli import main\n"
        "assert main(['run', 'handed_in', '--gold', 'gold', '--no-save', '--no-cache', '-q', '--databases', 'databases']) == 0\n"
        "assert not {'duckdb', 'pandas', 'numpy'} & set(sys.modules)"
    )
    (done,) = side_by_side([[sys.executable, "-c", code]], cwd=place.folder)
    assert done.returncode == 0, done


class DoomedClient(KilledClient):
    """A client whose worker is killed in a phase of its query."""

    def _start(self) -> Worker:
        """When the worker stands ready."""
        super()._start()
        self._meet("starting")
        assert self._worker is not None
        return self._worker

    def _request(self, order: bytes, copy: IO[bytes] | None, seconds: float) -> Iterator[Any]:
        """Before the request to read the statement and the one to run it; after the header of the result, and amid its rows."""
        self._worker = self._worker or self._start()
        runs = b"stream_result" in order
        self._meet("run" if runs else "read")
        for item in super()._request(order, copy, seconds):
            self._meet("part" if isinstance(item, bytes) else "header" if runs else "")
            yield item


KILLED_PHASES = ["starting", "read", "run", "header", "part"]


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked")
def test_a_killed_query_worker_is_no_zero(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker killed from outside in any phase of a query costs a second try; killed again, the answer is unscored, not wrong."""
    monkeypatch.setattr("evalsuite.sql.execution.RpcClient", DoomedClient)
    monkeypatch.setattr(DoomedClient, "phases", list(KILLED_PHASES))
    many = "WITH RECURSIVE n(i) AS (SELECT 100000 UNION ALL SELECT i + 1 FROM n WHERE i < 140000) SELECT i FROM n"
    for phase in KILLED_PHASES:
        gold = "i\n" + "".join(f"{i}\n" for i in range(100_000, 140_001))
        place.ask(f"q_{phase}", many, gold=gold, engine="sqlite", database="shop.sqlite")
    assert [(row["official"], row["strict"]) for row in place.run("--no-cache").values()] == [(1, 1)] * len(KILLED_PHASES)
    assert DoomedClient.phases == []
    monkeypatch.setattr(DoomedClient, "again", True)
    for phase in KILLED_PHASES:
        DoomedClient.phases = [phase]
        rows = place.run("--no-cache", "--only", f"q_{phase}", code=4)
        assert [(row["status"], row["score"], row["strict"]) for row in rows.values()] == [("unscored", None, None)], phase
