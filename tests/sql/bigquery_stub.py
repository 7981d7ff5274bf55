"""A loopback server that speaks the REST calls Google's client makes for a query; the statements themselves run on DuckDB.

Calls: jobs.insert (dry and real), jobs.get, jobs.getQueryResults with pages, jobs.cancel. `Stub.requests` keeps what was asked.
"""

import base64
import contextlib
import json
import re
import threading
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb

TYPES = {
    "BOOLEAN": "BOOLEAN",
    "INTEGER": "INTEGER",
    "BIGINT": "INTEGER",
    "HUGEINT": "INTEGER",
    "DOUBLE": "FLOAT",
    "VARCHAR": "STRING",
    "BLOB": "BYTES",
    "DATE": "DATE",
    "TIME": "TIME",
    "TIMESTAMP": "DATETIME",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
}


class Stub(ThreadingHTTPServer):
    """The service: `setup` statements make its tables; `bytes_processed` is what each dry run says.

    `failures` are the HTTP codes that the next real runs end in; what reads `hidden` is denied.
    """

    daemon_threads = True

    def __init__(self, setup: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.database = duckdb.connect(config={"threads": "1"})
        self.database.execute("SET TimeZone = 'UTC'")
        for statement in setup:
            self.database.execute(statement)
        self.requests: list[tuple[str, str, dict[str, Any]]] = []
        self.jobs: dict[str, dict[str, Any]] = {}
        self.bytes_processed = 1000
        self.failures: list[int] = []
        self.cancelled = threading.Event()
        self.is_closed = False

    def server_close(self) -> None:
        """Close the port, and answer no request of a connection that is kept open."""
        self.is_closed = True
        super().server_close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextlib.contextmanager
def serving(setup: list[str]) -> Iterator[Stub]:
    """A running stub."""
    stub = Stub(setup)
    thread = threading.Thread(target=stub.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.shutdown()
        stub.server_close()
        stub.database.close()


class _Handler(BaseHTTPRequestHandler):
    server: Stub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the tests read `requests`."""

    def do_POST(self) -> None:
        """jobs.insert and jobs.cancel."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if self.server.is_closed:
            self.close_connection = True
            return
        path = urlsplit(self.path).path
        self.server.requests.append(("POST", path, body))
        if path.endswith("/cancel"):
            self.server.cancelled.set()
            self._send({"kind": "bigquery#jobCancelResponse", "job": self.server.jobs[path.split("/")[-2]]["resource"]})
        else:
            self._insert(body)

    def do_GET(self) -> None:
        """jobs.get and jobs.getQueryResults."""
        url = urlsplit(self.path)
        self.server.requests.append(("GET", url.path, {}))
        job = self.server.jobs[url.path.split("/")[-1]]
        self._send(self._page(job, parse_qs(url.query)) if "/queries/" in url.path else job["resource"])

    def _insert(self, body: dict[str, Any]) -> None:
        configuration = body["configuration"]
        sql, dry = configuration["query"]["query"], bool(configuration.get("dryRun"))
        if self.server.failures and not dry:
            code = self.server.failures.pop(0)
            # The client itself tries a backend's error again.
            reason = {500: "backendError", 403: "quotaExceeded", 401: "authError"}.get(code, "notImplemented")
            self._send({"error": {"code": code, "message": "ill", "errors": [{"reason": reason, "message": "ill"}]}}, code=code)
            return
        if "hidden" in sql:
            text = "Access Denied: Table p:sales.hidden: User does not have permission to query table p:sales.hidden."
            self._send({"error": {"code": 403, "message": text, "errors": [{"reason": "accessDenied", "message": text}]}}, code=403)
            return
        identity = body.get("jobReference", {}).get("jobId") or f"dry{len(self.server.jobs)}"
        query = {"statementType": self._kind(sql), "totalBytesProcessed": str(self.server.bytes_processed)}
        query["totalBytesBilled"] = "0" if dry else str(self.server.bytes_processed)
        resource = {
            "kind": "bigquery#job",
            "id": f"p:{identity}",
            "jobReference": {"projectId": "p", "jobId": identity, "location": "US"},
            "configuration": configuration,
            "status": {"state": "DONE"},
            "statistics": {"query": query, "totalBytesProcessed": str(self.server.bytes_processed)},
        }
        job: dict[str, Any] = {"resource": resource, "endless": "endless" in sql}
        try:
            with self.server.database.cursor() as cursor:
                cursor.execute(f"EXPLAIN {sql}" if dry else sql)
                job["schema"] = [_field(str(column[0]), str(column[1])) for column in cursor.description]
                job["rows"] = cursor.fetchall()
        except duckdb.Error as error:
            reason = "notFound" if isinstance(error, duckdb.CatalogException) else "invalidQuery"
            text = "Syntax error: here" if isinstance(error, duckdb.ParserException) else "Division or conversion"
            self._send({"error": {"code": 400, "message": text, "errors": [{"reason": reason, "message": text}]}}, code=400)
            return
        if int(configuration["query"].get("maximumBytesBilled", 1 << 60)) < self.server.bytes_processed and not dry:
            self._send({"error": {"code": 400, "errors": [{"reason": "bytesBilledLimitExceeded"}], "message": "limit"}}, code=400)
            return
        if job["endless"]:
            resource["status"] = {"state": "RUNNING"}
        self.server.jobs[identity] = job
        self._send(resource)

    def _kind(self, sql: str) -> str:
        """What BigQuery calls the statement: SELECT, DELETE, ..., and SCRIPT for several."""
        try:
            found = self.server.database.extract_statements(sql)
        except duckdb.Error:
            return "SELECT"
        return "SCRIPT" if len(found) > 1 else found[0].type.name

    def _page(self, job: dict[str, Any], query: dict[str, list[str]]) -> dict[str, Any]:
        if job["endless"]:
            self.server.cancelled.wait(0.2)
            return {"jobReference": job["resource"]["jobReference"], "jobComplete": False}
        start, most = int(query.get("pageToken", ["0"])[0]), int(query.get("maxResults", ["100000"])[0])
        rows = job["rows"][start : start + most]
        page = {
            "kind": "bigquery#queryResults",
            "jobReference": job["resource"]["jobReference"],
            "jobComplete": True,
            "schema": {"fields": job["schema"]},
            "totalRows": str(len(job["rows"])),
            "rows": [{"f": [{"v": _value(cell)} for cell in row]} for row in rows],
        }
        if most and start + most < len(job["rows"]):
            page["pageToken"] = str(start + most)
        return page

    def _send(self, body: dict[str, Any], code: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _field(name: str, type_: str) -> dict[str, Any]:
    decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_)
    if decimal:
        return {"name": name, "type": "NUMERIC", "mode": "NULLABLE", "precision": decimal[1], "scale": decimal[2]}
    if type_.endswith("[]"):
        return {"name": name, "type": TYPES[type_[:-2]], "mode": "REPEATED"}
    return {"name": name, "type": TYPES.get(type_, "STRING"), "mode": "NULLABLE"}


def _value(cell: Any) -> Any:
    """A cell as the REST interface writes it: nearly everything is text, an instant microseconds since 1970."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, bytes):
        return base64.b64encode(cell).decode()
    if isinstance(cell, list):
        return [{"v": _value(item)} for item in cell]
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        return str(round(cell.timestamp() * 1_000_000))
    if isinstance(cell, date | time):
        return cell.isoformat()
    return format(cell, "f") if isinstance(cell, Decimal) else str(cell)
