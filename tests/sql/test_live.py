"""Opt-in: the warehouses themselves, as `EVALSUITE_LIVE=snow,bq pytest tests/sql/test_live.py`: names of ./connections.yaml."""

import os

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.gold.connection_files import read_connections
from evalsuite.sql.execution import execute, run_answer
from evalsuite.sql.session import QueryLimits

NAMES = [name for name in os.environ.get("EVALSUITE_LIVE", "").split(",") if name]
SLOW = {
    "snowflake": "SELECT COUNT(*) FROM TABLE(GENERATOR(ROWCOUNT => 1000000000)) a, TABLE(GENERATOR(ROWCOUNT => 100000)) b",
    "bigquery": "SELECT COUNT(*) FROM UNNEST(GENERATE_ARRAY(1, 1000000)) a, UNNEST(GENERATE_ARRAY(1, 1000000)) b",
    "postgres": "SELECT pg_sleep(600)",
}


@pytest.mark.skipif(not NAMES, reason="opt-in: EVALSUITE_LIVE names connections of ./connections.yaml to test")
@pytest.mark.parametrize("name", NAMES or ["none"])
def test_live(name: str) -> None:
    """A SELECT answers, a DELETE is refused, a slow statement is cut off, and the connection still answers."""
    connection = read_connections().get(name)
    assert list(execute("SELECT 1 AS one", connection, QueryLimits(seconds=60)).table.columns[0]) == [1]
    for text, code, seconds in (("DELETE FROM items", "SQL_NOT_ALLOWED", 60.0), (SLOW[connection.engine], "TIMEOUT", 5.0)):
        with pytest.raises(FaultError) as caught:
            run_answer(text, connection, QueryLimits(seconds=seconds))
        assert caught.value.fault.code == code
    assert execute("SELECT 'a' AS x, CAST(NULL AS DATE) AS d", connection, QueryLimits(seconds=60)).cost.rows == 1
