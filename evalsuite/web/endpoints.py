"""The JSON API: a table of endpoints, from which come the routes and the OpenAPI document alike.

Names and shapes follow Arthur Bench's API where it has them, under its prefix too, so that its clients go on working; what is not there is
a 404 and what cannot be meant a 422.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evalsuite.reports.record import Record
from evalsuite.types import Result
from evalsuite.web import views
from evalsuite.web.across import Across
from evalsuite.web.library import Library
from evalsuite.web.live import Journals, progress_events
from evalsuite.web.query import RESULT_SORTS, RUN_SORTS, SUITE_SORTS, Query, paginate, read_query
from evalsuite.web.shelf import ShownSuite, handed_in_texts

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

PREFIXES = ("/api/v1", "/api/v3/bench")


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What every request is answered from."""

    library: Library
    journals: Journals
    across: Across


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One GET of the API. `answer` names a schema of the OpenAPI document; `sorts` and `filters` are its query beside the page."""

    path: str
    answer: str
    summary: str
    handle: Callable[[State, "Request"], Any]
    sorts: Sequence[str] = ()
    default_sort: str = ""
    filters: Sequence[str] = ()
    repeatable: Sequence[str] = ()
    is_paged: bool = False
    page_size: int = 5

    def query(self, request: "Request") -> Query:
        """The request's query, read strictly."""
        return read_query(
            request.query_params.multi_items(),
            sorts=self.sorts,
            default=self.default_sort,
            filters=self.filters,
            page_size=self.page_size,
            is_paged=self.is_paged,
        )


def _list_suites(state: State, request: "Request") -> Any:
    page = views.find_suites(state.library, BY_PATH["/test_suites"].query(request))
    return {"test_suites": list(map(views.suite_object, page.items)), **views.page_object(page)}


def _show_suite(state: State, request: "Request") -> Any:
    query = BY_PATH["/test_suites/{suite_id}"].query(request)
    suite = state.library.suite(request.path_params["suite_id"])
    page = paginate(suite.cases(), page=query.page, page_size=query.page_size)
    cases = [views.case_object(case, hidden=suite.hidden) for case in page.items]
    return {**views.suite_object(suite), "test_cases": cases, **views.page_object(page)}


def _list_runs(state: State, request: "Request") -> Any:
    query = BY_PATH["/test_suites/{suite_id}/runs"].query(request)
    page = views.find_runs(state.library.suite(request.path_params["suite_id"]), query)
    return {"test_runs": list(map(views.run_object, page.items)), **views.page_object(page)}


def _summarise_runs(state: State, request: "Request") -> Any:
    query = BY_PATH["/test_suites/{suite_id}/runs/summary"].query(request)
    suite = state.library.suite(request.path_params["suite_id"])
    ids = query.many("run_ids")
    runs = [state.library.run(id_, suite.id) for id_ in dict.fromkeys(ids)] if ids else list(suite.runs)
    page = paginate(runs, page=query.page, page_size=query.page_size)
    items = [views.summary_item(run) for run in page.items]
    categorical = any("category" in bar for item in items for bar in item["histogram"])
    return {"summary": items, "num_test_cases": len(suite.cases()), "categorical": categorical, **views.page_object(page)}


def _show_run(state: State, request: "Request") -> Any:
    query = BY_PATH["/test_suites/{suite_id}/runs/{run_id}"].query(request)
    suite = state.library.suite(request.path_params["suite_id"])
    run = state.library.run(request.path_params["run_id"], suite.id)
    record = run.record()
    page = views.find_results(suite, record, query)
    row = _row_of(suite, record)
    rows = [row(result) for result in page.items]
    return {**views.record_object(run, record), "test_case_runs": rows, **views.page_object(page)}


def _show_case(state: State, request: "Request") -> Any:
    BY_PATH["/test_suites/{suite_id}/runs/{run_id}/cases/{case_id}"].query(request)
    suite = state.library.suite(request.path_params["suite_id"])
    record = state.library.run(request.path_params["run_id"], suite.id).record()
    result = views.one_result(record, request.path_params["case_id"])
    case = views.case_by_id(suite).get(result.instance_id)
    row = _row_of(suite, record)(result)
    checks = views.case_object(case, hidden=suite.hidden)["checks"] if case is not None else []
    return {**row, "checks": checks, "details": dict(result.details)}


def _row_of(suite: ShownSuite, record: Record) -> Callable[[Result], dict[str, Any]]:
    """What makes a row of a result: its case, groups and the text that was handed in are looked up once for all."""
    cases, tags, texts = views.case_by_id(suite), record.groups, handed_in_texts(record)

    def row(result: Result) -> dict[str, Any]:
        id_ = result.instance_id
        return views.result_object(result, cases.get(id_), tags.get(id_, ()), hidden=suite.hidden, output=texts.get(id_))

    return row


def _rank_runs(state: State, request: "Request") -> Any:
    query = BY_PATH["/test_suites/{suite_id}/leaderboard"].query(request)
    board = state.across.board(state.library.suite(request.path_params["suite_id"]), query.last("signature"))
    return board.to_json() if board is not None else {"rows": [], "signature": "", "other_signatures": []}


def _compare_runs(state: State, request: "Request") -> Any:
    query = BY_PATH["/compare"].query(request)
    runs = views.chosen_runs(state.library, query.many("run_ids"), least=2)
    return {**state.across.comparison(runs).to_json(), "run_ids": [run.id for run in runs]}


def _show_progress(state: State, request: "Request") -> Any:
    BY_PATH["/progress"].query(request)
    return {"runs": [asdict(progress) for progress in state.journals.all()]}


ENDPOINTS = (
    Endpoint(
        path="/test_suites",
        answer="TestSuites",
        summary="The suites: made by name, gold folders that runs name, and those of a Bench folder",
        handle=_list_suites,
        sorts=SUITE_SORTS,
        default_sort="-last_run_time",
        filters=("name", "scoring_method", "q"),
        repeatable=("scoring_method",),
        is_paged=True,
    ),
    Endpoint(
        path="/test_suites/{suite_id}", answer="TestSuite", summary="One suite with a page of its cases", handle=_show_suite, is_paged=True
    ),
    Endpoint(
        path="/test_suites/{suite_id}/runs",
        answer="TestRuns",
        summary="The finished runs of a suite",
        handle=_list_runs,
        sorts=RUN_SORTS,
        default_sort="-created_at",
        filters=("q",),
        is_paged=True,
    ),
    Endpoint(
        path="/test_suites/{suite_id}/runs/summary",
        answer="TestSuiteSummary",
        summary="Average and distribution of the scores of a suite's runs, or of those that run_ids names",
        handle=_summarise_runs,
        filters=("run_ids",),
        repeatable=("run_ids",),
        is_paged=True,
    ),
    Endpoint(
        path="/test_suites/{suite_id}/runs/{run_id}",
        answer="TestRun",
        summary="One run: its summary, and a page of its results in gold order or sorted",
        handle=_show_run,
        sorts=RESULT_SORTS,
        filters=("status", "scorer", "group", "flip", "field", "q"),
        repeatable=("status", "scorer", "group", "flip", "field"),
        is_paged=True,
    ),
    Endpoint(
        path="/test_suites/{suite_id}/runs/{run_id}/cases/{case_id}",
        answer="TestCaseDetails",
        summary="One result with its checks and everything the scorer noted",
        handle=_show_case,
    ),
    Endpoint(
        path="/test_suites/{suite_id}/leaderboard",
        answer="Leaderboard",
        summary="The suite's runs of one signature ranked, with intervals of their ranks",
        handle=_rank_runs,
        filters=("signature",),
    ),
    Endpoint(
        path="/compare",
        answer="Comparison",
        summary="2 to 4 runs, the first as baseline: differences, intervals, p-values and flips",
        handle=_compare_runs,
        filters=("run_ids",),
        repeatable=("run_ids",),
    ),
    Endpoint(path="/progress", answer="Progress", summary="The runs that were begun and have not ended", handle=_show_progress),
)
BY_PATH = {endpoint.path: endpoint for endpoint in ENDPOINTS}


def routes(state: State) -> list[Any]:
    """The routes of the API under each of its prefixes, and the stream of events."""
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    def answering(endpoint: Endpoint) -> Callable[["Request"], "Response"]:
        def answer(request: "Request") -> "Response":
            return answered(endpoint.handle(state, request))

        return answer

    def events(_: "Request") -> "Response":
        return StreamingResponse(progress_events(state.journals), media_type="text/event-stream")

    # A case's id may hold slashes; "summary" is no run's id, since the fixed path comes first.
    found = [
        Route(prefix + endpoint.path.replace("{case_id}", "{case_id:path}"), answering(endpoint))
        for prefix in PREFIXES
        for endpoint in ENDPOINTS
    ]
    return [*found, Route("/events", events)]


def answered(value: Any, status: int = 200) -> "Response":
    """A JSON response: ASCII only, so that no text of a submission can be misread, and null where a number is not finite."""
    from starlette.responses import Response

    text = json.dumps(_without_infinities(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False, default=str)
    return Response(text, status_code=status, media_type="application/json")


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    return None if isinstance(value, float) and (value != value or abs(value) == float("inf")) else value
