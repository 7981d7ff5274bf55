"""The real connector's interface, answered by fakesnow; what fakesnow does not have is listed in docs/connections.md."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.sql.execution import run_answer
from evalsuite.sql.session import Connection, QueryLimits
from tests.sql.conftest import made_lite


@pytest.mark.parametrize(
    "text", ["SELECT SYSTEM$CANCEL_ALL_QUERIES(1)", "SELECT system$abort_session(1)", "SELECT * FROM TABLE(CALL change_it())"]
)
def test_calls_of_the_system_are_refused(snowflake: Connection, text: str) -> None:
    """Functions that act on the account are no questions to data."""
    with pytest.raises(FaultError) as caught:
        run_answer(text, snowflake, QueryLimits())
    assert caught.value.fault.code == "SQL_NOT_ALLOWED"


@pytest.mark.parametrize("absent", ["account", "user"])
def test_account_and_user_are_needed(snowflake: Connection, absent: str) -> None:
    """Without them nothing is tried."""
    options = {key: value for key, value in snowflake.options.items() if key != absent}
    with pytest.raises(UsageError, match="needs account and user"):
        run_answer("SELECT 1", replace(snowflake, options=options), QueryLimits())


def test_a_run_through_the_connector(snowflake: Connection, tmp_path: Path) -> None:
    """Answers that are queries run on the account and are judged by gold's tables, nothing written by hand but the connection."""
    options = json.dumps({"engine": "snowflake", "prefix": "q", "database": snowflake.database, **snowflake.options})
    assert main([*made_lite(tmp_path, f"snow: {options}\n"), "-q"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
    assert [(row["score"], row["details"]["sql"]["engine"]) for row in rows] == [(1, "snowflake"), (0, "snowflake")]
