"""If gold's query and its database are available, the audit edits the query and runs it, for tables and pairs of queries."""

import json
import sqlite3
from pathlib import Path

import pytest

from evalsuite.analysis.gold_checks.mutation import audit_gold

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def test_gold_queries_are_edited_and_run(tmp_path: Path) -> None:
    """Where a database is at hand gold's query is changed and run: a tolerance that takes one source row less in a sum is a hole."""
    import duckdb

    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE sale AS SELECT i AS id, 10 + i % 7 AS amount FROM range(400) t(i)")
        query = "SELECT sum(amount) AS total FROM sale WHERE id < 390"
        ((total,),) = connection.execute(query).fetchall()
    lines = []
    for name, tolerance in (("lenient", {"rel_tol": 0.01}), ("plain", {}), ("stale", {})):
        folder = tmp_path / "gold" / name
        folder.mkdir(parents=True)
        (folder / "gold.sql").write_text(query if name != "stale" else query.replace("390", "300"))
        (folder / "g.csv").write_text(f"total\n{total}\n")
        check = {"func": "table_match", "parameters": {"gold": "g.csv", **tolerance}}
        lines.append(json.dumps({"instance_id": name, "connection": "shop", "evaluation": check}))
    (tmp_path / "gold" / "s_eval.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "gold" / "suite.yaml").write_text("connections:\n  shop: {engine: duckdb, database: shop.duckdb}\n")
    found = audit_gold(tmp_path / "gold", databases=tmp_path, isolation="none", jobs=1).under("strict").to_json()
    by_id = {one["instance_id"]: one["strict"]["holes"] for one in found["checks"]}
    hole = next(one for one in by_id["lenient"] if one["kind"] == "gold's query: source row dropped")
    assert (hole["right"], hole["line"]) == (False, "rel_tol: null, abs_tol: null")
    assert 0 < hole["size"] < 0.01
    assert [one for one in by_id["plain"] if one["kind"].startswith("gold's query")] == []
    made = {one["kind"]: one["strict"]["n"] for one in found["kinds"] if one["kind"].startswith("gold's query: ")}
    # Of the two whose query gives gold; that of the third gives something else and is not edited.
    assert made["gold's query: filter removed"] == 2
    assert {"gold's query: source row dropped", "gold's query: aggregate", "gold's query: bound"} <= set(made)


def test_pairs_of_queries_are_audited_by_edits_of_golds(tmp_path: Path) -> None:
    """An evaluator that compares sets takes DISTINCT too many and another order; without the databases the reason is told."""
    (tmp_path / "dbs" / "shop").mkdir(parents=True)
    with sqlite3.connect(tmp_path / "dbs" / "shop" / "shop.sqlite") as database:
        database.execute("CREATE TABLE sale (id INTEGER, region TEXT, amount REAL)")
        database.executemany("INSERT INTO sale VALUES (?, ?, ?)", [(i, "NESW"[i * i % 4], 3.37 * i) for i in range(30)])
    gold = tmp_path / "gold.sql"
    gold.write_text(
        "SELECT region FROM sale WHERE id > 4\tshop\nSELECT id, amount FROM sale ORDER BY amount DESC\tshop\nSELECT (FROM\tshop\n"
    )
    found = audit_gold(gold, databases=tmp_path / "dbs", isolation="none", jobs=1).to_json()
    holes = {(check["instance_id"], hole["kind"]): hole for check in found["checks"] for hole in check["official"]["holes"]}
    assert {("0", "gold's query: distinct added"), ("1", "gold's query: order")} <= set(holes)
    assert {(hole["right"], hole["rule"], hole["line"]) for hole in holes.values()} == {(False, "official", "--rules strict")}
    assert not any(check["strict"]["holes"] for check in found["checks"])
    made = {one["kind"]: one["official"] for one in found["kinds"]}
    assert made["gold's query: other spaces"] == {"n": 2, "n_failed": 0}
    assert made["gold's query: filter removed"]["n"] == 1
    assert [one["check"] for one in found["untried"]] == ["2 sql_match"]
    untried = audit_gold(gold, isolation="none").to_json()["untried"]
    assert len(untried) == 3
    assert "--databases DIR" in untried[0]["reason"]
    late = audit_gold(gold, databases=tmp_path / "dbs", isolation="none", seconds=1e-6)
    assert (late.checks, late.untried, late.n_left) == ((), (), 3)
