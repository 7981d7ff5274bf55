"""The real connector's interface, answered by fakesnow; what fakesnow does not have is listed in docs/connections.md."""

from dataclasses import replace

import pytest

from evalsuite.errors import FaultError, UsageError
from evalsuite.sql.execute import run_answer
from evalsuite.sql.session import Connection, QueryLimits


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
