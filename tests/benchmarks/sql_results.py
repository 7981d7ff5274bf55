"""Big results of gold's query and an answer's, whole process with isolation on, in units of the CPU of a process that fetches both."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.big_tables import scoring
from tests.benchmarks.measure import python, side_by_side
from tests.sql import postgres_server

_QUERY = "SELECT id, city, amount FROM {}"
_DUCKDB = (
    "CREATE TABLE sale AS SELECT i AS id, 'city ' || hash(i) % 1000 || ' north' AS city, "
    "round((hash(i * 7) % 100000000)::DOUBLE / 1000, 3) AS amount FROM range({}) AS r(i)",
    "CREATE TABLE moved AS FROM sale ORDER BY hash(id)",
)
_POSTGRES = (
    "CREATE TABLE sale AS SELECT i AS id, 'city ' || i * 7919 % 1000 || ' north' AS city, "
    "round((i * 104729 % 100000000)::numeric / 1000, 3)::float8 AS amount FROM generate_series(1, {}::int8) AS r(i)",
    "CREATE TABLE moved AS SELECT * FROM sale ORDER BY md5(id::text)",
)


def run(scratch: Path, *, n: int = 3, rows: int = 1_000_000) -> dict[str, Any]:
    """By engine and order the ratio; without PostgreSQL where no server can be started."""
    import duckdb

    place = scratch / "shop.duckdb"
    with duckdb.connect(str(place)) as connection:
        for statement in _DUCKDB:
            connection.execute(statement.format(rows))
    opening = f"import duckdb\nopened = duckdb.connect({str(place)!r}, read_only=True)"
    found = {"DuckDB": _ratios(scratch / "duckdb", opening, {"engine": "duckdb", "database": str(place)}, n)}
    try:
        with postgres_server.server() as port:
            found["PostgreSQL"] = _on_postgres(scratch / "postgres", port, n, rows)
    except pytest.skip.Exception:
        pass
    return found


def _on_postgres(scratch: Path, port: int, n: int, rows: int) -> dict[str, float]:
    import psycopg

    login = {"host": "127.0.0.1", "port": port, "password": postgres_server.PASSWORD}
    with psycopg.connect(**login, user=postgres_server.OWNER, dbname="postgres", autocommit=True) as owner:  # type: ignore[arg-type]
        for statement in (
            *(statement.format(rows) for statement in _POSTGRES),
            f"CREATE ROLE {postgres_server.READER} LOGIN PASSWORD '{postgres_server.PASSWORD}'",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {postgres_server.READER}",
        ):
            owner.execute(statement)  # type: ignore[arg-type]
    options = {**login, "user": postgres_server.READER}
    opening = f"import psycopg\nopened = psycopg.connect(dbname='postgres', **{options!r})"
    return _ratios(scratch, opening, {"engine": "postgres", "database": "postgres", **options}, n)


def _ratios(folder: Path, opening: str, connection: dict[str, Any], n: int) -> dict[str, float]:
    found = {}
    for order, table in (("ordered", "sale"), ("any order", "moved")):
        place = folder / table
        for side, name, query in (("gold", "gold.sql", _QUERY.format("sale")), ("submission", "answer.sql", _QUERY.format(table))):
            (place / side / "big").mkdir(parents=True)
            (place / side / "big" / name).write_text(query)
        check = {"func": "table_match", "parameters": {"gold": "gold.sql", "ignore_order": order == "any order"}}
        (place / "gold" / "big_eval.jsonl").write_text(json.dumps({"instance_id": "big", "evaluation": check}) + "\n")
        (place / "gold" / "connections.yaml").write_text(json.dumps({"shop": {**connection, "instances": ["big"]}}))
        answer = {"instance_id": "big", "answer_type": "file", "answer_or_path": "answer.sql"}
        (place / "submission" / "results_metadata.jsonl").write_text(json.dumps(answer) + "\n")
        queries = [_QUERY.format("sale"), _QUERY.format(table)]
        bare = python(f"{opening}\nfor query in {queries!r}: rows = opened.execute(query).fetchall()")
        costs = side_by_side({"bare": bare, "own": scoring(place, "--quiet")}, n=n)
        found[order] = round(costs["own"].cpu_seconds / costs["bare"].cpu_seconds, 2)
    return found
