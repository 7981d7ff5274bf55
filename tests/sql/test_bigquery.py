"""Google's real client classes against the loopback stub: what is sent, and what becomes of the answers."""

import contextlib
import json
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


def connection(stub: Stub, **options: Any) -> Connection:
    """A connection to the stub."""
    return Connection(name="bq", engine="bigquery", options={"project": "p", "endpoint": stub.url, **options})


def test_a_dry_run_stands_before_the_real_one(stub: Stub) -> None:
    """First a dry run, then the job with the cap on its bill, the time limit and standard SQL."""
    executed = execute("SELECT id FROM items", connection(stub), QueryLimits(seconds=20, billed_bytes=5000))
    jobs = [body["configuration"] for method, path, body in stub.requests if method == "POST" and path.endswith("/jobs")]
    assert [bool(job.get("dryRun")) for job in jobs] == [True, False]
    for job in jobs:
        assert job["query"]["maximumBytesBilled"] == "5000"
        assert job["query"]["useLegacySql"] is False
        assert job["jobTimeoutMs"] == "20000"
    assert executed.cost.billed_bytes == 1000


def test_too_dear_is_never_run(stub: Stub) -> None:
    """A dry run above the cap is a LIMIT, and no job is started."""
    stub.bytes_processed = 6000
    with pytest.raises(FaultError, match="would read 6000 bytes") as caught:
        run_answer("SELECT id FROM items", connection(stub), QueryLimits(billed_bytes=5000))
    assert caught.value.fault.code == "LIMIT"
    assert [body["configuration"].get("dryRun") for method, _, body in stub.requests if method == "POST"] == [True]


def test_a_script_is_refused_by_the_dry_run(stub: Stub) -> None:
    """What BigQuery's own parser does not call a SELECT never runs."""
    from evalsuite.sql import open_session

    session = open_session(connection(stub), QueryLimits())
    for text in ("DELETE FROM items", "SELECT 1; SELECT 2"):
        with pytest.raises(FaultError) as caught:
            session.stream(text)
        assert caught.value.fault.code == "SQL_NOT_ALLOWED"
    assert all(body["configuration"]["dryRun"] for method, _, body in stub.requests if method == "POST")
    session.close()


def test_the_job_is_cancelled_at_the_time_limit(stub: Stub) -> None:
    """A job that does not end is asked to stop."""
    with pytest.raises(FaultError) as caught:
        run_answer("SELECT 'endless' AS x", connection(stub), QueryLimits(seconds=1))
    assert caught.value.fault.code == "TIMEOUT"
    assert stub.cancelled.wait(5)


def test_a_cancel_that_stops_nothing_says_so(stub: Stub) -> None:
    """Without a job, or with a service that fails, the time that passed is not the statement's."""
    with contextlib.closing(open_session(connection(stub), QueryLimits())) as session:
        with pytest.raises(FaultError, match="BigQuery disconnected"):
            session.cancel()
        session.stream("SELECT 1 AS x")
        stub.shutdown()
        stub.server_close()
        with pytest.raises(ConnectionError):
            session.cancel()


def test_repeated_fields_and_pages(stub: Stub) -> None:
    """A list is JSON text; many rows come page by page."""
    assert run_answer("SELECT [1, 2] AS x", connection(stub), QueryLimits()).columns[0][0] == "[1, 2]"
    table = run_answer("SELECT i AS x FROM range(5000) AS t(i) ORDER BY i", connection(stub), QueryLimits(seconds=30))
    assert list(table.columns[0]) == list(range(5000))
    assert len([path for method, path, _ in stub.requests if method == "GET" and "/queries/" in path]) >= 3


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


def test_a_refusal_names_the_part(stub: Stub) -> None:
    """What is no SELECT is called by its kind, what may not be read by its table."""
    with contextlib.closing(open_session(connection(stub), QueryLimits())) as session:
        for sql, part in (("DELETE FROM items", "this is DELETE"), ("SELECT * FROM sales.hidden", "p:sales.hidden")):
            with pytest.raises(FaultError) as caught:
                session.stream(sql)
            assert (caught.value.fault.code, caught.value.fault.detail.endswith(f": {part}")) == ("SQL_NOT_ALLOWED", True)


def test_default_dataset(stub: Stub) -> None:
    """`database` names the dataset of tables without one."""
    described = Connection(name="bq", engine="bigquery", database="other.sales", options=connection(stub).options)
    run_answer("SELECT 1 AS x", described, QueryLimits())
    assert stub.requests[0][2]["configuration"]["query"]["defaultDataset"] == {"projectId": "other", "datasetId": "sales"}


@pytest.mark.extras
@pytest.mark.parametrize("options", [{"project": "p"}, {"project": "p", "endpoint": "http://example.org"}, {"credentials": "no-such.json"}])
def test_credentials_are_named_or_nothing(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine's own login is not used unless it is asked for by name."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "own.json"))
    with pytest.raises(UsageError, match="credentials"):
        run_answer("SELECT 1", Connection(name="bq", engine="bigquery", options=options), QueryLimits())
