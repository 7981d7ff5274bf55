"""The pages: each is a plain GET whose query is its state, so that every filter, order and instance has an address."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evalsuite.outcome import KINDS, kind_of
from evalsuite.reports.leaderboard_document import ranking_picture
from evalsuite.web import figures, views
from evalsuite.web.instance_values import instance_values
from evalsuite.web.labels import LABELS, OwnLabel, keep_label, label_of_request, labels_file, read_own_labels
from evalsuite.web.page_templates import kept_query, page_response, part_of_address, static_file
from evalsuite.web.query import RESULT_SORTS, RUN_SORTS, SUITE_SORTS, NotThereError, Query, paginate, read_query

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from evalsuite.web.endpoints import State

SUITES, RUNS, INSTANCES, CASES = 20, 50, 50, 50
REPORTS = {".csv": "text/csv", ".html": "text/html", ".json": "application/json", ".md": "text/markdown", ".xml": "application/xml"}
RESULT_FILTERS = ("status", "scorer", "group", "flip", "field", "q")


def routes(state: "State") -> list[Any]:
    """The routes of the pages and of the files they load."""
    from starlette.routing import Route

    def showing(handle: Callable[["State", "Request"], "Response"]) -> Callable[["Request"], "Response"]:
        return lambda request: handle(state, request)

    found = (
        ("/", show_suites),
        ("/suites/{suite_id}", show_suite_runs),
        ("/suites/{suite_id}/cases", show_suite_cases),
        ("/suites/{suite_id}/leaderboard", show_leaderboard),
        ("/runs/{run_id}", show_run),
        ("/runs/{run_id}/report.{ending}", give_report),
        ("/runs/{run_id}/instances/{instance_id:path}", show_instance),
        ("/compare", show_comparison),
    )

    async def label(request: "Request") -> "Response":
        given = await label_of_request(request)
        return await asyncio.to_thread(give_label, state, request, given)

    pages = (Route(path, showing(handle)) for path, handle in found)
    return [*pages, Route("/runs/{run_id}/labels/{instance_id:path}", label, methods=["POST"]), Route("/static/{name}", static_file)]


def show_suites(state: "State", request: "Request") -> "Response":
    """The list of suites, with the runs that are in progress."""
    query = _query_of(request, sorts=SUITE_SORTS, default="-last_run_time", filters=("q", "scoring_method", "name"), page_size=SUITES)
    every = state.library.suites()
    return page_response(
        "suites.html",
        request,
        query=query,
        found=views.find_suites(state.library, query),
        n_all=len(every),
        scorers=sorted({name for suite in every for name in suite.scorers}),
        progress=state.journals.all(),
        sorts=SUITE_SORTS,
    )


def show_suite_runs(state: "State", request: "Request") -> "Response":
    """A suite's runs: how their scores lie, their averages, and the list to choose from."""
    query = _query_of(request, sorts=RUN_SORTS, default="-created_at", filters=("q",), page_size=RUNS)
    suite = state.library.suite(request.path_params["suite_id"])
    found = views.find_runs(suite, query)
    return page_response(
        "suite_runs.html",
        request,
        suite=suite,
        tab="runs",
        query=query,
        found=found,
        rows=[views.run_object(run) for run in found.items],
        averages=figures.averages_picture(found.items),
        distribution=figures.distribution_picture(found.items),
        n_drawn=min(len(found.items), figures.MOST_DRAWN),
        progress=[one for one in state.journals.all() if one.suite_name == suite.name],
        **_suite_facts(suite),
    )


def show_suite_cases(state: "State", request: "Request") -> "Response":
    """A suite's inputs and reference outputs."""
    query = _query_of(request, filters=("q",), page_size=CASES)
    suite = state.library.suite(request.path_params["suite_id"])
    text = query.last("q").casefold()
    cases = [case for case in suite.cases() if text in f"{case.id}\n{case.input}\n{case.reference_output or ''}".casefold()]
    found = paginate(cases, page=query.page, page_size=query.page_size)
    rows = [views.case_object(case, hidden=suite.hidden) for case in found.items]
    return page_response("suite_cases.html", request, suite=suite, tab="cases", query=query, found=found, rows=rows, **_suite_facts(suite))


def show_leaderboard(state: "State", request: "Request") -> "Response":
    """A suite's runs of one signature, ranked."""
    query = _query_of(request, filters=("signature",), is_paged=False)
    suite = state.library.suite(request.path_params["suite_id"])
    board = state.across.board(suite, query.last("signature"))
    return page_response(
        "suite_leaderboard.html",
        request,
        suite=suite,
        tab="leaderboard",
        query=query,
        ranked=board,
        picture=ranking_picture(board.board) if board is not None else None,
        **_suite_facts(suite),
    )


def show_run(state: "State", request: "Request") -> "Response":
    """One run: its numbers, and its instances filtered, sorted and in pages. A run in progress has a page of its own."""
    run_id = request.path_params["run_id"]
    moving = next((one for one in state.journals.all() if one.id == run_id), None)
    if moving is not None:
        return page_response("progress.html", request, one=moving)
    query = _result_query(request)
    shown = state.library.run(run_id)
    suite = state.library.suite_of(shown)
    record = shown.record()
    found = views.find_results(suite, record, query)
    return page_response(
        "run.html",
        request,
        suite=suite,
        run=shown,
        record=record,
        query=query,
        found=found,
        rows=[figures.result_row(record, result) for result in found.items],
        texts=figures.texts_of(suite, record, found.items),
        about=views.metadata_rows(shown.metadata),
        reports=list(REPORTS),
        n_labels=sum(bool(one.label) for one in read_own_labels(record).values()),
        labels_file=labels_file(record),
        kind_choices=[kind for kind in KINDS.values() if any(kind_of(result) is kind for result in record.results)],
        scorer_choices=sorted({result.scorer for result in record.results if result.scorer}),
        flip_choices=sorted({str(cause) for result in record.results if (cause := result.details.get("flip"))}),
        group_choices=sorted(record.run.get("groups") or {}),
        field_choices=sorted(record.summary.by_field),
        **figures.run_values(shown, record),
    )


def show_instance(state: "State", request: "Request") -> "Response":
    """One instance of a run with its difference, and its neighbours in the list it was opened from."""
    query = _result_query(request)
    shown = state.library.run(request.path_params["run_id"])
    suite = state.library.suite_of(shown)
    record = shown.record()
    result = views.one_result(record, request.path_params["instance_id"])
    every = views.find_results(
        suite, record, Query(page=1, page_size=max(1, len(record.results)), sort=query.sort, chosen=query.chosen)
    ).items
    at = next((i for i, one in enumerate(every) if one.instance_id == result.instance_id), None)
    return page_response(
        "instance.html",
        request,
        suite=suite,
        run=shown,
        query=query,
        before=every[at - 1].instance_id if at else None,
        after=every[at + 1].instance_id if at is not None and at + 1 < len(every) else None,
        place=None if at is None else (at + 1, len(every)),
        others=[other for other in suite.runs if other.id != shown.id][:3],
        own=read_own_labels(record).get(result.instance_id, OwnLabel()) if labels_file(record) is not None else None,
        labels=LABELS,
        **instance_values(suite, record, result),
    )


def give_label(state: "State", request: "Request", given: OwnLabel) -> "Response":
    """Keep what a person said of an instance, and go back to its page."""
    from starlette.responses import RedirectResponse

    shown = state.library.run(request.path_params["run_id"])
    record = shown.record()
    result = views.one_result(record, request.path_params["instance_id"])
    keep_label(record, result.instance_id, given)
    return RedirectResponse(f"/runs/{shown.id}/instances/{part_of_address(result.instance_id)}{kept_query(request)}#label", status_code=303)


def give_report(state: "State", request: "Request") -> "Response":
    """The run's report as a file to save, in one of the forms of `evalsuite report`."""
    from starlette.responses import Response

    from evalsuite.reports import encoded
    from evalsuite.reports.run_document import run_document

    shown, ending = state.library.run(request.path_params["run_id"]), f".{request.path_params['ending']}"
    if ending not in REPORTS:
        raise NotThereError(f"no report {ending[:20]!r}", hint=f"known: {', '.join(REPORTS)}")
    headers = {"content-disposition": f'attachment; filename="{shown.id}{ending}"'}
    return Response(b"".join(encoded(run_document(shown.record()), ending)), media_type=REPORTS[ending], headers=headers)


def show_comparison(state: "State", request: "Request") -> "Response":
    """2 to 4 runs side by side, the first as baseline."""
    query = _query_of(request, sorts=("name",), filters=("run_ids", "q", "differing"), page_size=INSTANCES)
    runs = views.chosen_runs(state.library, query.many("run_ids"), least=2)
    suites = {one.id: one for one in map(state.library.suite_of, runs)}
    comparison = state.across.comparison(runs)
    found = figures.side_by_side(runs, suites, query)
    return page_response(
        "compare.html",
        request,
        suite=next(iter(suites.values())),
        runs=runs,
        n_suites=len(suites),
        query=query,
        comparison=comparison,
        found=found,
        has_reference=any(row["reference"] is not None for row in found.items),
        **figures.comparison_values(runs, comparison),
    )


def error_page(status: int, message: str, hint: str) -> "Response":
    """The page of an error, with a way back."""
    return page_response("error.html", None, status, message=message, hint=hint, number=status)


def _query_of(request: "Request", **how: Any) -> Query:
    return read_query(request.query_params.multi_items(), **how)


def _result_query(request: "Request") -> Query:
    return _query_of(request, sorts=RESULT_SORTS, filters=RESULT_FILTERS, page_size=INSTANCES)


def _suite_facts(suite: Any) -> dict[str, Any]:
    """What the heading and the details of a suite show."""
    method = views.method_object(suite)
    facts = [("id", suite.id), ("kind", _KIND_WORDS[suite.kind]), ("description", suite.description), ("created", suite.created_at)]
    facts += [("last run", suite.last_run_time or "never"), ("runs", str(len(suite.runs)))]
    facts += [("scorer", method["name"]), ("scorer type", method["type"]), ("output", method["output_type"])]
    config = [(key, value if isinstance(value, str) else views.as_json(value)) for key, value in method["config"].items()]
    return {"facts": [(label, text) for label, text in facts if text], "config": config}


_KIND_WORDS = {"suite": "suite made by name", "gold": "gold folder", "bench": "Bench suite, read in place"}
