"""Google's real client against the loopback stub, and Snowflake's connector answered by fakesnow (see docs/connections.md)."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.sql import open_session
from evalsuite.sql.execution import execute, run_answer
from evalsuite.sql.session import Connection, QueryLimits
from tests.sql.bigquery_stub import Stub
from tests.sql.conftest import made_lite


def described_stub(stub: Stub, **options: Any) -> Connection:
    """A connection to the stub."""
    return Connection(name="bq", engine="bigquery", options={"project": "p", "endpoint": stub.url, **options})


def test_a_dry_run_stands_before_the_real_one(stub: Stub) -> None:
    """It comes first, both with the caps on bill and time; a list is JSON text, and many rows come page by page."""
    executed = execute("SELECT id FROM items", described_stub(stub), QueryLimits(seconds=20, billed_bytes=5000))
    jobs = [body["configuration"] for method, path, body in stub.requests if method == "POST" and path.endswith("/jobs")]
    assert [bool(job.get("dryRun")) for job in jobs] == [True, False]
    for job in jobs:
        assert job["query"]["maximumBytesBilled"] == "5000"
        assert job["query"]["useLegacySql"] is False
        assert job["jobTimeoutMs"] == "20000"
    assert executed.cost.billed_bytes == 1000
    assert run_answer("SELECT [1, 2] AS x", described_stub(stub), QueryLimits()).columns[0][0] == "[1, 2]"
    table = run_answer("SELECT i AS x FROM range(5000) AS t(i) ORDER BY i", described_stub(stub), QueryLimits(seconds=30))
    assert list(table.columns[0]) == list(range(5000))
    assert len([path for method, path, _ in stub.requests if method == "GET" and "/queries/" in path]) >= 3


def test_what_is_refused_before_it_bills(stub: Stub) -> None:
    """A dry run above the cap is a LIMIT; what BigQuery calls no SELECT, or may not be read, is named and never runs."""
    stub.bytes_processed = 6000
    with pytest.raises(FaultError, match="would read 6000 bytes") as caught:
        run_answer("SELECT id FROM items", described_stub(stub), QueryLimits(billed_bytes=5000))
    assert caught.value.fault.code == "LIMIT"
    assert [body["configuration"].get("dryRun") for method, _, body in stub.requests if method == "POST"] == [True]
    session = open_session(described_stub(stub), QueryLimits())
    for text in ("DELETE FROM items", "SELECT 1; SELECT 2"):
        with pytest.raises(FaultError) as caught:
            session.stream(text)
        assert caught.value.fault.code == "SQL_NOT_ALLOWED"
    assert all(body["configuration"]["dryRun"] for method, _, body in stub.requests if method == "POST")
    session.close()
    with contextlib.closing(open_session(described_stub(stub), QueryLimits())) as session:
        for sql, part in (("DELETE FROM items", "this is DELETE"), ("SELECT * FROM sales.hidden", "p:sales.hidden")):
            with pytest.raises(FaultError) as caught:
                session.stream(sql)
            assert (caught.value.fault.code, caught.value.fault.detail.endswith(f": {part}")) == ("SQL_NOT_ALLOWED", True)


def test_a_run_tells_its_bill_before(stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The dry runs of all queries come before the first that bills; a statement above --max-bytes-billed is never run, and is a LIMIT."""
    words = made_lite(tmp_path, f"bq: {{engine: bigquery, project: p, endpoint: '{stub.url}', prefix: q}}\n")
    assert main([*words, "--max-bytes-billed", "5000", "-q"]) == 0
    assert "note: 2 queries will read 2,000 bytes by their dry runs; none may bill more than 5,000" in capsys.readouterr().err
    dry = [bool(body["configuration"].get("dryRun")) for method, path, body in stub.requests if method == "POST" and path.endswith("/jobs")]
    assert dry[:2] == [True, True]
    assert dry.count(False) == 2
    rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
    assert [row["score"] for row in rows] == [1, 0]
    assert json.loads((tmp_path / "out/run.json").read_text())["sql"]["billed_bytes"] == 2000
    stub.requests.clear()
    assert main([*words[:-2], str(tmp_path / "dear"), "--no-cache", "--max-bytes-billed", "999", "-q"]) == 0
    assert {json.loads(line)["fault"] for line in (tmp_path / "dear/results.jsonl").read_text().splitlines()} == {"LIMIT"}
    assert all(body["configuration"].get("dryRun") for method, path, body in stub.requests if path.endswith("/jobs") and method == "POST")


def test_a_service_that_goes_away_is_nobodys_answer(stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody answers at the address: unscored, exit 4, no 0, and no estimate of 0 bytes."""
    words = made_lite(tmp_path, f"bq: {{engine: bigquery, project: p, endpoint: '{stub.url}', prefix: q}}\n")
    stub.shutdown()
    stub.server_close()
    assert main([*words, "--limit", "seconds=2", "-q"]) == 4
    assert "note: what the queries will read is not known: no dry run succeeded; none may bill more than" in capsys.readouterr().err
    rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
    assert {(row["status"], row["fault"], row["score"]) for row in rows} == {("unscored", "NEEDS_CONNECTION", None)}


def test_a_service_that_is_ill(stub: Stub, tmp_path: Path) -> None:
    """What ends in an error of the service or the account is asked once more; if it ends so again, it is unscored, as at HTTP 500."""
    words = made_lite(tmp_path, f"bq: {{engine: bigquery, project: p, endpoint: '{stub.url}', prefix: q}}\n")
    for failures, code, expected in (
        ([501], 0, {("scored", None, 1), ("scored", None, 0)}),
        ([501] * 4, 4, {("unscored", "NEEDS_CONNECTION", None)}),
        ([403] * 4, 4, {("unscored", "NEEDS_CONNECTION", None)}),
        ([401] * 4, 4, {("unscored", "NEEDS_CONNECTION", None)}),
        ([500] * 1000, 4, {("unscored", "NEEDS_CONNECTION", None)}),
    ):
        stub.requests.clear()
        stub.failures = list(failures)
        assert main([*words, "--limit", "seconds=2", "-q"]) == code
        rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
        assert {(row["status"], row["fault"], row["score"]) for row in rows} == expected
        real = [body for method, path, body in stub.requests if path.endswith("/jobs") and not body["configuration"].get("dryRun")]
        assert len(failures) > 4 or len(real) == {1: 3, 4: 4}[len(failures)]


def test_datasets_and_cancelled_jobs(stub: Stub) -> None:
    """`database` names the dataset of tables without one; a job that does not end is asked to stop."""
    described = Connection(name="bq", engine="bigquery", database="other.sales", options=described_stub(stub).options)
    run_answer("SELECT 1 AS x", described, QueryLimits())
    assert stub.requests[0][2]["configuration"]["query"]["defaultDataset"] == {"projectId": "other", "datasetId": "sales"}
    with pytest.raises(FaultError) as caught:
        run_answer("SELECT 'endless' AS x", described_stub(stub), QueryLimits(seconds=1))
    assert caught.value.fault.code == "TIMEOUT"
    assert stub.cancelled.wait(5)


def test_a_cancel_that_stops_nothing_says_so(stub: Stub) -> None:
    """Without a job, or with a service that fails, the time that passed is not the statement's."""
    with contextlib.closing(open_session(described_stub(stub), QueryLimits())) as session:
        with pytest.raises(FaultError, match="BigQuery disconnected"):
            session.cancel()
        session.stream("SELECT 1 AS x")
        stub.shutdown()
        stub.server_close()
        with pytest.raises(OSError):
            session.cancel()


@pytest.mark.extras
@pytest.mark.parametrize("options", [{"project": "p"}, {"project": "p", "endpoint": "http://example.org"}, {"credentials": "no-such.json"}])
def test_credentials_are_named_or_nothing(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine's own login is not used unless it is asked for by name."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "own.json"))
    with pytest.raises(UsageError, match="credentials"):
        run_answer("SELECT 1", Connection(name="bq", engine="bigquery", options=options), QueryLimits())


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
