"""The viewer's application: routes, host checks and security headers, the JSON API with its OpenAPI document, and the server.

Routes and OpenAPI document come from one table of endpoints. Names and shapes follow Arthur Bench's API, also under its prefix, so that its
clients keep working. An unknown object is a 404, an invalid request a 422.
"""

import ipaddress
import json
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import EvalsuiteError, MissingExtraError, UsageError

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
except ModuleNotFoundError as error:
    raise MissingExtraError("the viewer needs packages that are not installed", extra="view") from error

from evalsuite.core.types import Result
from evalsuite.core.version import __version__
from evalsuite.reports.record import Record
from evalsuite.reports.viewer import pages, views
from evalsuite.reports.viewer.library import (
    BadQueryError,
    Journals,
    Library,
    NotThereError,
    SuiteView,
    open_library,
    progress_events,
    submitted_texts,
)
from evalsuite.reports.viewer.views import (
    MOST_PER_PAGE,
    RESULT_SORTS,
    RUN_SORTS,
    SUITE_SORTS,
    Across,
    NotAllowedError,
    Query,
    paginate,
    read_query,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


PREFIXES = ("/api/v1", "/api/v3/bench")
PAGE_SIZE = 5
# Filters that a query may contain several times.
REPEATABLE = frozenset({"scoring_method", "run_ids", "status", "scorer", "group", "flip", "field"})


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Shared state of all requests."""

    library: Library
    journals: Journals
    across: Across


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One GET of the API. `answer` names a schema of the OpenAPI document; `sorts` and `filters` are further query parameters."""

    path: str
    answer: str
    summary: str
    handle: Callable[[State, Request, Query], Any]
    is_paged: bool = False
    filters: Sequence[str] = ()
    sorts: Sequence[str] = ()
    default_sort: str = ""

    def response(self, state: State, request: Request) -> Response:
        """Answer a request; its query is parsed strictly."""
        query = read_query(
            request.query_params.multi_items(),
            sorts=self.sorts,
            default=self.default_sort,
            filters=self.filters,
            page_size=PAGE_SIZE,
            is_paged=self.is_paged,
        )
        return json_response(self.handle(state, request, query))


def _list_suites(state: State, _: Request, query: Query) -> Any:
    page = views.find_suites(state.library, query)
    return {"test_suites": list(map(views.suite_object, page.items)), **views.page_object(page)}


def _show_suite(state: State, request: Request, query: Query) -> Any:
    suite = state.library.suite(request.path_params["suite_id"])
    page = paginate(suite.cases(), page=query.page, page_size=query.page_size)
    cases = [views.case_object(case, hidden=suite.hidden) for case in page.items]
    return {**views.suite_object(suite), "test_cases": cases, **views.page_object(page)}


def _list_runs(state: State, request: Request, query: Query) -> Any:
    page = views.find_runs(state.library.suite(request.path_params["suite_id"]), query)
    return {"test_runs": list(map(views.run_object, page.items)), **views.page_object(page)}


def _summarise_runs(state: State, request: Request, query: Query) -> Any:
    suite = state.library.suite(request.path_params["suite_id"])
    ids = query.many("run_ids")
    runs = [state.library.run(id_, suite.id) for id_ in dict.fromkeys(ids)] if ids else list(suite.runs)
    page = paginate(runs, page=query.page, page_size=query.page_size)
    items = [views.summary_item(run) for run in views.whole_runs(page.items)[0]]
    categorical = any("category" in bar for item in items for bar in item["histogram"])
    return {"summary": items, "num_test_cases": len(suite.cases()), "categorical": categorical, **views.page_object(page)}


def _show_run(state: State, request: Request, query: Query) -> Any:
    suite = state.library.suite(request.path_params["suite_id"])
    run = state.library.run(request.path_params["run_id"], suite.id)
    record = run.record()
    page = views.find_results(suite, record, query)
    rows = list(map(_row_of(suite, record), page.items))
    return {**views.record_object(run, record), "test_case_runs": rows, **views.page_object(page)}


def _show_case(state: State, request: Request, _: Query) -> Any:
    suite = state.library.suite(request.path_params["suite_id"])
    record = state.library.run(request.path_params["run_id"], suite.id).record()
    result = views.find_result(record, request.path_params["case_id"])
    case = views.case_by_id(suite).get(result.instance_id)
    checks = views.case_object(case, hidden=suite.hidden)["checks"] if case is not None else []
    return {**_row_of(suite, record)(result), "checks": checks, "details": dict(result.details)}


def _row_of(suite: SuiteView, record: Record) -> Callable[[Result], dict[str, Any]]:
    """Return a function that makes the row of a result; cases, groups and submitted texts are read once."""
    cases, tags, texts = views.case_by_id(suite), record.groups, submitted_texts(record)

    def row(result: Result) -> dict[str, Any]:
        id_ = result.instance_id
        return views.result_object(result, cases.get(id_), tags.get(id_, ()), hidden=suite.hidden, output=texts.get(id_))

    return row


def _rank_runs(state: State, request: Request, query: Query) -> Any:
    board = state.across.board(state.library.suite(request.path_params["suite_id"]), query.last("signature"))
    return board.to_json() if board is not None else {"rows": [], "signature": "", "other_signatures": []}


def _compare_runs(state: State, _: Request, query: Query) -> Any:
    runs = views.chosen_runs(state.library, query.many("run_ids"), least=2)
    return {**state.across.comparison(runs).to_json(), "run_ids": [run.id for run in runs]}


def _show_progress(state: State, *_: Any) -> Any:
    return {"runs": [asdict(progress) for progress in state.journals.all()]}


# fmt: off
ENDPOINTS = (
    Endpoint("/test_suites", "TestSuites", "The suites: made by name, gold folders that runs name, and those of a Bench folder",
             _list_suites, True, ("name", "scoring_method", "q"), SUITE_SORTS, "-last_run_time"),
    Endpoint("/test_suites/{suite_id}", "TestSuite", "One suite with a page of its cases", _show_suite, True),
    Endpoint("/test_suites/{suite_id}/runs", "TestRuns", "The finished runs of a suite", _list_runs, True, ("q",), RUN_SORTS,
             "-created_at"),
    Endpoint("/test_suites/{suite_id}/runs/summary", "TestSuiteSummary",
             "Average and distribution of the scores of a suite's runs, or of those that run_ids names",
             _summarise_runs, True, ("run_ids",)),
    Endpoint("/test_suites/{suite_id}/runs/{run_id}", "TestRun", "One run: its summary, and a page of its results in gold order or sorted",
             _show_run, True, pages.RESULT_FILTERS, RESULT_SORTS),
    Endpoint("/test_suites/{suite_id}/runs/{run_id}/cases/{case_id}", "TestCaseDetails",
             "One result with its checks and everything the scorer noted", _show_case),
    Endpoint("/test_suites/{suite_id}/leaderboard", "Leaderboard",
             "The suite's runs of one signature ranked, with intervals of their ranks", _rank_runs, filters=("signature",)),
    Endpoint("/compare", "Comparison", "2 to 4 runs, the first as baseline: differences, intervals, p-values and flips", _compare_runs,
             filters=("run_ids",)),
    Endpoint("/progress", "Progress", "The unfinished runs", _show_progress),
)
# fmt: on


def routes(state: State) -> list[Any]:
    """Return the routes of the API under each of its prefixes, and the event stream."""

    def events(_: Request) -> Response:
        return StreamingResponse(progress_events(state.journals), media_type="text/event-stream")

    def make_endpoint(endpoint: Endpoint) -> Callable[[Request], Response]:
        return lambda request: endpoint.response(state, request)

    # A case id may contain slashes; "summary" cannot be a run id, because the fixed path comes first.
    paths = [(prefix + endpoint.path.replace("{case_id}", "{case_id:path}"), endpoint) for prefix in PREFIXES for endpoint in ENDPOINTS]
    return [*(Route(path, make_endpoint(endpoint)) for path, endpoint in paths), Route("/events", events)]


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON response: ASCII only, so that texts of a submission cannot be misread, and null for non-finite numbers."""
    text = json.dumps(_replace_infinities(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False, default=str)
    return Response(text, status_code=status, media_type="application/json")


def _replace_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _replace_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinities(item) for item in value]
    return None if isinstance(value, float) and (value != value or abs(value) == float("inf")) else value


Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
OBJECT: Schema = {"type": "object"}
NUMBER: Schema = {"type": ["number", "null"]}
MAYBE: Schema = {"type": ["string", "null"]}
SHARE: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
SPAN: Schema = {"type": ["array", "null"], "items": {"type": "number"}, "minItems": 2, "maxItems": 2}


def obj(**fields: Schema) -> Schema:
    """Return the schema of an object with all of these keys; others are allowed."""
    return {"type": "object", "required": list(fields), "properties": fields}


def list_of(items: Schema | str) -> Schema:
    """Return the schema of a list of items, or of a named schema."""
    return {"type": "array", "items": _ref(items) if isinstance(items, str) else items}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_PAGE = {"page": {"type": "integer", "minimum": 1}, "page_size": {"type": "integer", "minimum": 1}}
PAGED = {**_PAGE, "total_pages": {"type": "integer", "minimum": 1}, "total_count": WHOLE}
_SUITE = {
    "id": TEXT, "name": TEXT, "kind": {"enum": ["suite", "gold", "bench"]}, "description": TEXT, "scoring_method": _ref("ScoringMethod"),
    "scorers": list_of(TEXT), "created_at": TEXT, "updated_at": TEXT, "last_run_time": MAYBE, "num_runs": WHOLE,
}  # fmt: skip
_RUN = {
    "id": TEXT, "name": TEXT, "test_suite_id": TEXT, "created_at": TEXT, "updated_at": TEXT, "avg_score": NUMBER, "interval_95": SPAN,
    "score_high": SHARE, "n_cases": {"type": ["integer", "null"]}, "n_submitted": {"type": ["integer", "null"]}, "rules": MAYBE,
    "tags": list_of(TEXT), "model_name": MAYBE, "model_version": MAYBE, "foundation_model": MAYBE, "prompt_template": MAYBE,
    "description": MAYBE,
}  # fmt: skip
_CASE_RUN = {
    "id": TEXT, "status": TEXT, "outcome": TEXT, "input": MAYBE, "reference_output": MAYBE, "output": MAYBE, "score": NUMBER,
    "score_result": obj(score=NUMBER, category={"type": ["object", "null"]}), "official": SHARE, "strict": SHARE, "scorer": MAYBE,
    "groups": list_of(TEXT), "reason": TEXT, "fault": MAYBE, "seconds": {"type": "number"},
}  # fmt: skip
SCHEMAS: dict[str, Schema] = {
    "Error": obj(error=obj(status={"type": "integer"}, message=TEXT, hint=TEXT)),
    "ScoringMethod": obj(name=TEXT, type=TEXT, config=OBJECT, output_type=TEXT, categories={"type": ["array", "null"]}),
    "Check": obj(scorer=TEXT, parameters=OBJECT),
    "TestCase": obj(id=TEXT, input=TEXT, reference_output=MAYBE, checks=list_of("Check")),
    "TestSuiteMetadata": obj(**_SUITE),
    "TestSuites": obj(test_suites=list_of("TestSuiteMetadata"), **PAGED),
    "TestSuite": obj(**_SUITE, test_cases=list_of("TestCase"), **PAGED),
    "TestRunMetadata": obj(**_RUN),
    "TestRuns": obj(test_runs=list_of("TestRunMetadata"), **PAGED),
    "HistogramItem": {
        "oneOf": [obj(count=WHOLE, low={"type": "number"}, high={"type": "number"}), obj(count=WHOLE, category=obj(name=TEXT))]
    },
    "SummaryItem": obj(id=TEXT, name=TEXT, avg_score=NUMBER, mean_judged=NUMBER, n_unjudged=WHOLE, histogram=list_of("HistogramItem")),
    "TestSuiteSummary": obj(summary=list_of("SummaryItem"), num_test_cases=WHOLE, categorical={"type": "boolean"}, **PAGED),
    "TestCaseRun": obj(**_CASE_RUN),
    "TestRun": obj(
        **_RUN, signature=TEXT, submission=TEXT, summary=OBJECT, warnings=list_of(TEXT), test_case_runs=list_of("TestCaseRun"), **PAGED
    ),
    "TestCaseDetails": obj(**_CASE_RUN, checks=list_of("Check"), details=OBJECT),
    "LeaderboardRow": obj(name=TEXT, run_id=TEXT, rank={"type": ["integer", "null"]}, score=NUMBER, interval=SPAN, coverage=SHARE),
    "Leaderboard": obj(rows=list_of("LeaderboardRow"), signature=TEXT, other_signatures=list_of(obj(signature=TEXT, num_runs=WHOLE))),
    "Comparison": obj(
        run_ids=list_of(TEXT),
        baseline=TEXT,
        rules=TEXT,
        warnings=list_of(TEXT),
        candidates=list_of(obj(label=TEXT, verdict=TEXT, total=OBJECT, flips=list_of(OBJECT))),
    ),
    "RunInProgress": obj(
        id=TEXT, name=TEXT, suite_name=TEXT, state={"enum": ["running", "interrupted"]}, started_at=TEXT, last_result_at=MAYBE,
        n_done=WHOLE, n_total={"type": ["integer", "null"]}, n_right=WHOLE, score=SHARE,
    ),
    "Progress": obj(runs=list_of("RunInProgress")),
}  # fmt: skip
_MEANINGS = {
    "name": "the exact name of a suite",
    "q": "a part of a name, an id or a reason, in any case",
    "scoring_method": "the name of a scorer",
    "status": "an outcome (right, wrong, partial, missing, submission_fault, ...) or a status",
    "flip": "why the rules differ, as in the report",
    "field": "only results in which the field with this path is not completely right",
    "scorer": "the name of a scorer",
    "group": "a group of instances",
    "run_ids": "the id of a run",
    "signature": "rank the runs of this signature instead of the newest run's",
    "suite_id": "the id of a suite",
    "run_id": "the id of a run",
    "case_id": "the id of an instance; it may contain slashes",
}


@cache
def openapi_document() -> Schema:
    """Return the OpenAPI 3.1 document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "evalsuite view",
            "version": __version__,
            "description": "Suites, runs and results on this machine, read only; the routes of Arthur Bench under its own prefix too",
        },
        "servers": [{"url": prefix} for prefix in PREFIXES],
        "paths": {endpoint.path: {"get": _operation(endpoint)} for endpoint in ENDPOINTS},
        "components": {"schemas": SCHEMAS},
    }


def _operation(endpoint: Endpoint) -> Schema:
    in_path = [part.strip("{}") for part in endpoint.path.split("/") if part.startswith("{")]
    parameters = [{"name": name, "in": "path", "required": True, "schema": TEXT, "description": _MEANINGS[name]} for name in in_path]
    parameters += [
        {"name": name, "in": "query", "schema": list_of(TEXT), "description": _MEANINGS[name], "explode": True}
        if name in REPEATABLE
        else {"name": name, "in": "query", "schema": TEXT, "description": _MEANINGS[name]}
        for name in endpoint.filters
    ]
    if endpoint.sorts:
        sort: Schema = {"type": "string", "enum": [sign + word for word in endpoint.sorts for sign in ("", "-")]}
        sort |= {"default": endpoint.default_sort} if endpoint.default_sort else {}
        parameters.append({"name": "sort", "in": "query", "schema": sort, "description": "a minus reverses the order"})
    if endpoint.is_paged:
        size = {"type": "integer", "minimum": 1, "maximum": MOST_PER_PAGE, "default": PAGE_SIZE}
        parameters.append({"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1, "default": 1}})
        parameters.append({"name": "page_size", "in": "query", "schema": size})
    answers = {"200": ("the answer", endpoint.answer), "422": ("an invalid parameter", "Error")}
    answers |= {"404": ("no object has this id", "Error")} if in_path or "run_ids" in endpoint.filters else {}
    return {
        "operationId": endpoint.answer[0].lower() + endpoint.answer[1:],
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": {
            code: {"description": words, "content": {"application/json": {"schema": _ref(name)}}} for code, (words, name) in answers.items()
        },
    }


LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Without a referrer, a label form could not be distinguished from another site's.
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def make_app(folder: Path | None = None, *, host: str = LOOPBACK[0]) -> Starlette:
    """Return the application over a folder (see `open_library`), for loopback names, addresses and `host`."""
    library = open_library(folder, os.environ)
    state = State(library=library, journals=Journals(library), across=Across())
    faults: Any = {EvalsuiteError: _refusal_of_error, 404: _http_fault, 405: _http_fault, 500: _http_fault}
    described = Route("/openapi.json", lambda _: json_response(openapi_document()))
    app = Starlette(routes=[*routes(state), described, *pages.routes(state)], exception_handlers=faults)
    app.add_middleware(HostCheck, hosts=frozenset({*LOOPBACK, host.lower(), socket.gethostname().lower()} - {"0.0.0.0", "::"}))
    return app


def serve(folder: Path | None, *, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until interrupted; `announce` gets the address once requests are answered. Port 0 is any free port.

    Raises `UsageError` for an unusable folder or address.
    """
    app = make_app(folder, host=host)
    listener = _bind(host, port)
    address = f"[{host}]" if ":" in host else host

    class AnnouncedServer(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            # From here on the server handles Ctrl-C: it cannot break an import or the start of the event loop any more.
            await super().startup(sockets=sockets)
            announce(f"http://{address}:{listener.getsockname()[1]}/")

    # An event stream stays open as long as its page; shutdown must not wait for it.
    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1, lifespan="off")
    with listener:
        AnnouncedServer(config).run(sockets=[listener])


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        why = error.strerror or "it cannot be used"
        raise UsageError(f"cannot listen on {host}:{port}: {why}", hint="leave --port out to take a free one") from error
    return listener


class HostCheck:
    """Refuses a Host header that names another machine (DNS rebinding), and adds the security headers."""

    def __init__(self, app: "ASGIApp", hosts: frozenset[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer 421 for an unknown host; else call the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *((k.encode(), v.encode()) for k, v in HEADERS.items())]
            await send(message)

        hosts = [value.decode("latin-1") for key, value in scope["headers"] if key == b"host"]
        app = self._app
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            error = _error(421, "this viewer does not answer to that host name", "open the address that `evalsuite view` printed")
            app = json_response(error, 421)
        await app(scope, receive, with_headers)

    def _is_ours(self, header: str) -> bool:
        """Return whether it is an own name or a plain address: a page of another site can only use a name."""
        name = header.rpartition(":")[0] if header.rpartition(":")[2].isdecimal() and not header.endswith("]") else header
        name = name.strip("[]").lower()
        with suppress(ValueError):
            return name in self._hosts or bool(ipaddress.ip_address(name))
        return False


def _refusal_of_error(request: Request, error: Exception) -> Response:
    """Map an error to a response: 422 for a bad request, 404 for an unknown object, 403 for a forbidden one, 500 for a failure."""
    assert isinstance(error, EvalsuiteError)
    by_kind = ((NotThereError, 404), (NotAllowedError, 403), (BadQueryError, 422), (UsageError, 422))
    status = next((number for kind, number in by_kind if isinstance(error, kind)), 500)
    return _refusal(request, status, error.message, error.hint)


def _http_fault(request: Request, error: Exception) -> Response:
    status = int(getattr(error, "status_code", 500))
    words = {404: "there is no such page", 405: "this page is read only: GET and HEAD"}.get(status, "the viewer failed on this page")
    response = _refusal(request, status, words, "the terminal that runs the viewer shows more" if status >= 500 else "")
    if status >= 500:
        # It passes no `HostCheck`.
        response.headers.update(HEADERS)
    return response


def _refusal(request: Request, status: int, message: str, hint: str) -> Response:
    if request.url.path.startswith(("/api/", "/openapi.json", "/events")):
        return json_response(_error(status, message, hint), status)
    return pages.page_response("error.html", None, status, message=message, hint=hint, number=status)


def _error(status: int, message: str, hint: str) -> dict[str, Any]:
    return {"error": {"status": status, "message": clean(message), "hint": clean(hint)}}
