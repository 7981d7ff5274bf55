"""The HTML pages of the viewer. Each is a GET with its state in the query, so every filter, order and instance has an address."""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from evalsuite.analysis.explain.instance_evidence import RunEvidence, evidence_of_run
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import replace
from evalsuite.core.status import KINDS, kind_of, sign_of
from evalsuite.reports import encode
from evalsuite.reports.comparison_documents import comparison_page_sections
from evalsuite.reports.document import Column, Document, Picture, Section, cut_text, percent, text_of
from evalsuite.reports.html import TEMPLATES, asset, environment
from evalsuite.reports.leaderboard_documents import leaderboard_document
from evalsuite.reports.pictures import IntervalRow, Strip, draw_intervals, draw_strips
from evalsuite.reports.run_document import ReportRow, run_document, scorer_columns
from evalsuite.reports.run_page import closed_row, opened_row, overview_sections, receipt_pairs
from evalsuite.reports.viewer import views
from evalsuite.reports.viewer.library import (
    CaseView,
    DamagedRunError,
    NotThereError,
    RunView,
    StampedCache,
    SuiteView,
    stamp_of,
    submission_of,
    submitted_contexts,
    submitted_texts,
    value_of,
)
from evalsuite.reports.viewer.views import (
    LABELS,
    RESULT_SORTS,
    RUN_SORTS,
    SUITE_SORTS,
    OwnLabel,
    Page,
    Query,
    keep_label,
    label_of_request,
    labels_file,
    paginate,
    read_own_labels,
    read_query,
    sort_items,
    unique_labels,
)
from evalsuite.runs.summary import judged_words

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from evalsuite.analysis.leaderboard import Comparison
    from evalsuite.analysis.leaderboard.ranking import RankedRow
    from evalsuite.core.types import Result
    from evalsuite.reports.record import Record
    from evalsuite.reports.viewer.app import State


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
HERE = Path(__file__).parent
STATIC = {"style.css": "text/css", "viewer.css": "text/css", "viewer.js": "text/javascript"}


def page_response(template: str, request: Request | None, status: int = 200, *, own_address: str = "", **values: Any) -> Response:
    """The page of a template as a response; `address` makes its own address, or `own_address`, with some parameters changed."""

    def address(**changes: Any) -> str:
        pairs = [] if request is None else request.query_params.multi_items()
        return own_address + _address(pairs, changes)

    text = templates().get_template(template).render(here=address, kept=query_suffix(request), **values)
    # Surrogates cannot be encoded; texts were made printable before, so none are expected.
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status_code=status)


def query_suffix(request: Request | None) -> str:
    """Return the query of a request as the end of an address."""
    return "" if request is None or not request.url.query else "?" + request.url.query


def part_of_address(text: str) -> str:
    """Quote a text as a part of an address; ids may contain slashes."""
    return quote(text, safe="/", errors="backslashreplace")


def static_file(request: Request) -> Response:
    """Serve one of the static files. Raises a 404 for any other name."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    text = asset(name) if name == "style.css" else (HERE / "static" / name).read_text(encoding="utf-8")
    return Response(text, media_type=STATIC[name])


@cache
def templates() -> "Environment":
    """Return the reports' template environment (printable, then escaped) with the viewer's own templates."""
    from jinja2 import FileSystemLoader

    overlay = environment().overlay(loader=FileSystemLoader([HERE / "templates", TEMPLATES]))
    overlay.globals.update(kinds=KINDS, verdict=sign_of)
    overlay.filters.update(
        percent=lambda value: "–" if value is None else percent(value),
        judged=judged_words,
        number=lambda value: "–" if value is None else f"{value:.4g}",
        when=lambda time: time[:16].replace("T", " ") if time else "never",  # 2026-11-21 14:03
        cut=lambda text, most=160: cut_text(text or "", most),
        brief=lambda id_: id_[:8] + "…" if _UUID.fullmatch(id_) else cut_text(id_, 60),
        part=part_of_address,
        pairs=_choice_pairs,
    )
    return overlay


def _address(pairs: list[tuple[str, str]], changes: dict[str, Any]) -> str:
    """Return a query with changed keys (None removes one); any change except of the page returns to the first page."""
    dropped = set(changes) | (set() if "page" in changes else {"page"})
    parameters = [(key, value) for key, value in pairs if key not in dropped and value]
    parameters += [(key, str(value)) for key, value in changes.items() if value is not None]
    return "?" + urlencode(parameters, errors="backslashreplace")


def _choice_pairs(items: Iterable[Any], *names: str) -> list[tuple[str, str]]:
    """Return (value, words) of choices: two attributes of each item, or the item itself twice."""
    return [(getattr(item, names[0]), getattr(item, names[1])) if names else (item, item) for item in items]


MOST_DRAWN = 6


def averages_picture(runs: Sequence[RunView]) -> "Markup":
    """Draw the averages of the first runs of a list with 95 % intervals; unbounded metrics over the span of their values."""
    drawn = runs[:MOST_DRAWN]
    names = unique_labels(drawn)
    values = [run.average() for run in drawn]
    bounded = [value for value, run in zip(values, drawn, strict=True) if value is not None and not run.is_bounded]
    span = (min([0.0, *bounded]), max([1.0, *bounded]))
    rows = []
    for run, value in zip(drawn, values, strict=True):
        low, high = (run.summary.get("interval_95") or (None, None)) if run.is_bounded else (None, None)
        bound = run.summary.get("score_high") if run.is_bounded else None
        rows.append(IntervalRow(names[run.id], value, low, high, bound=bound, is_raw=not run.is_bounded))
    return draw_intervals(rows, title="Average scores", span=span)


def distribution_picture(runs: Sequence[RunView]) -> "Markup":
    """Draw the distribution of the first runs of a list: bins, or categories if the scorer has some."""
    drawn = runs[:MOST_DRAWN]
    names = unique_labels(drawn)
    items = [views.summary_item(run) for run in drawn]
    categories = sorted({bar["category"]["name"] for item in items for bar in item["histogram"] if "category" in bar})
    figures = []
    for item in items:
        bars = item["histogram"]
        if categories:
            counts = {bar["category"]["name"]: bar["count"] for bar in bars if "category" in bar}
            bars_of_runs = tuple((name, counts.get(name, 0)) for name in categories)
        else:
            bars_of_runs = tuple((f"{bar['low']:.3g} to {bar['high']:.3g}", bar["count"]) for bar in bars)
        figures.append(Strip(names[item["id"]], bars_of_runs, sum(count for _, count in bars_of_runs) + item["n_unjudged"]))
    all_bars = [bar for item in items for bar in item["histogram"]]
    ends = ("0", "1") if not all_bars else (f"{min(bar['low'] for bar in all_bars):.3g}", f"{max(bar['high'] for bar in all_bars):.3g}")
    return draw_strips(figures, title="Distribution of scores", ends=(categories[0], categories[-1]) if categories else ends)


def _run_parts(record: "Record", label: str, about: str) -> Iterator[Section]:
    yield from overview_sections(record, title=label, about=about)
    yield Section(look="foot", pairs=list(receipt_pairs(record)))


def result_row(record: "Record", result: "Result") -> dict[str, Any]:
    """Return a result as a row of the list, with its number and that of each further scorer."""
    closed = closed_row(result, groups=record.groups.get(result.instance_id, ()))
    row = ReportRow(result, record.name)
    return {
        **closed,
        "value": value_of(result),
        "columns": [(column.head, clean(text_of(column.cell(row)))) for column in scorer_columns(record.summary.scorers)],
    }


def exchange_texts(suite: SuiteView, record: "Record", results: Sequence["Result"]) -> dict[str, list[tuple[str, str]]]:
    """Map instance ids to labelled question, reference (unless gold is hidden) and answer; for gold with questions."""
    cases, answers, exchanges = views.case_by_id(suite), submitted_texts(record), {}
    for id_ in (result.instance_id for result in results):
        if (case := cases.get(id_)) is not None and case.input:
            reference = None if suite.hidden else case.reference_output
            texts = (("question", case.input), ("gold", reference), ("answer", answers.get(id_)))
            exchanges[id_] = [(label, text) for label, text in texts if text]
    return exchanges


def comparison_parts(runs: Sequence[RunView], comparison: "Comparison") -> Iterator[Section]:
    """Yield the parts of a comparison's report, with the averages and distributions of the runs."""
    names = [unique_labels(runs)[run.id] for run in runs]
    title = " against ".join(names) if len(runs) == 2 else f"{len(runs)} runs side by side"
    start, *rest = comparison_page_sections(comparison, title=title)
    averages = Picture("Averages", averages_picture(runs), "with 95 % intervals")
    yield start
    yield Section(look="cards", pictures=[averages, Picture("Distribution of scores", distribution_picture(runs), "share of the cases")])
    yield from rest


def side_by_side(runs: Sequence[RunView], suites: Mapping[str, SuiteView], query: Query) -> Page[dict[str, Any]]:
    """Return a page of the cases of any of the runs with each run's result; `differing` keeps those with different scores."""
    by_case: dict[str, list[Result | None]] = {}
    for at, run in enumerate(runs):
        for result in run.record().results:
            by_case.setdefault(result.instance_id, [None] * len(runs))[at] = result
    cases: dict[str, tuple[CaseView, bool]] = {}
    for suite in suites.values():
        for case in suite.cases():
            cases.setdefault(case.id, (case, suite.hidden))
    text = query.last("q").casefold()
    texts = [submitted_texts(run.record()) for run in runs]
    rows = [
        _case_row(runs, texts, id_, results, *cases.get(id_, (None, False)))
        for id_, results in by_case.items()
        if not query.last("differing") or len({None if result is None else value_of(result) for result in results}) > 1
    ]
    rows = [row for row in rows if text in row["text"].casefold()]
    return paginate(sort_items(rows, query.sort, lambda row, _: row["id"]), page=query.page, page_size=query.page_size)


def _case_row(
    runs: Sequence[RunView],
    texts: Sequence[Mapping[str, str]],
    id_: str,
    results: "Sequence[Result | None]",
    case: CaseView | None,
    hidden: bool,
) -> dict[str, Any]:
    cells: list[dict[str, Any] | None] = [
        None
        if result is None
        else {"run_id": run.id, "kind": kind_of(result).name, "value": value_of(result), "text": texts_of_run.get(id_) or result.reason}
        for run, texts_of_run, result in zip(runs, texts, results, strict=True)
    ]
    reference = case.reference_output if case is not None and not hidden else None
    question = case.input if case is not None else ""
    texts_of_cells = " ".join(cell["text"] for cell in cells if cell is not None)
    return {
        "id": id_,
        "input": question,
        "reference": reference,
        "cells": cells,
        "text": f"{id_}\n{question}\n{reference or ''}\n{texts_of_cells}",
    }


_evidence = StampedCache(256)
# Workers compute evidence; one instance at a time is enough for a local viewer.
_one_at_a_time = Lock()


def instance_values(suite: SuiteView, record: "Record", result: "Result") -> dict[str, Any]:
    """Return the values of an instance page."""
    case = views.case_by_id(suite).get(result.instance_id)
    fields = views.case_object(case, hidden=suite.hidden) if case is not None else None
    evidence = _compute_evidence(suite, record, result)
    groups = record.groups.get(result.instance_id, ())
    checks = [
        {
            "scorer": check["scorer"],
            "parameters": [(key, value if isinstance(value, str) else views.as_json(value)) for key, value in check["parameters"].items()],
        }
        for check in (fields["checks"] if fields else ())
    ]
    return {
        "row": result_row(record, result),
        "input": fields["input"] if fields else "",
        "reference": fields["reference_output"] if fields else None,
        "output": submitted_texts(record).get(result.instance_id),
        "context": submitted_contexts(record).get(result.instance_id),
        "body": opened_row(result, evidence.found.get(result.instance_id), groups=groups, is_alone=True),
        "note": evidence.note[:1].upper() + evidence.note[1:] + "." if evidence.note else "",
        "checks": checks,
    }


def _compute_evidence(suite: SuiteView, record: "Record", result: "Result") -> RunEvidence:
    """Compute the evidence of an instance that is not right under both rules; none for recorded scores and missing answers."""
    is_right = result.official == 1 and result.strict in (1, None)
    if is_right or result.status == "missing" or suite.kind == "bench" or record.folder is None:
        return RunEvidence()
    with_folders = _add_folders(suite, record)
    gold, submission = Path(with_folders.run["gold"]["folder"]), Path(with_folders.run["submission"]["folder"])
    stamp = stamp_of(record.folder / "run.json", gold, gold / result.instance_id, submission, submission / result.instance_id)
    with _one_at_a_time:
        return _evidence.get((record.folder, result.instance_id), stamp, lambda: evidence_of_run(with_folders, [result.instance_id]))


def _add_folders(suite: SuiteView, record: "Record") -> "Record":
    """Return the record with its folders resolved from the working directory."""
    gold = suite.folder if suite.folder is not None else Path(str(record.run["gold"]["folder"]))
    submission = submission_of(record)
    sides: Mapping[str, Any] = {
        "gold": {**record.run["gold"], "folder": str(gold)},
        "submission": {**record.run["submission"], "folder": str(submission)},
    }
    return replace(record, run={**record.run, **sides})


SUITES, RUNS, INSTANCES, CASES = 20, 50, 50, 50
REPORTS = {".csv": "text/csv", ".html": "text/html", ".json": "application/json", ".md": "text/markdown", ".xml": "application/xml"}
RESULT_FILTERS = ("status", "scorer", "group", "flip", "field", "q")


def routes(state: "State") -> list[Any]:
    """Return the routes of the pages and static files."""

    def make_endpoint(handle: Callable[["State", Request], Response]) -> Callable[[Request], Response]:
        def respond(request: Request) -> Response:
            try:
                return handle(state, request)
            except DamagedRunError as error:
                if not error.suite_id:
                    raise
                # Show the other runs, and why this one is not shown.
                suite = state.library.suite(error.suite_id)
                return _runs_page(state, None, suite, read_query((), **_RUN_LIST), status=404, message=_damage_message(error))

        return respond

    pages = (
        ("/", show_suites),
        ("/suites/{suite_id}", show_suite_runs),
        ("/suites/{suite_id}/cases", show_suite_cases),
        ("/suites/{suite_id}/leaderboard", show_leaderboard),
        ("/runs/{run_id}", show_run),
        ("/runs/{run_id}/report.{ending}", give_report),
        ("/runs/{run_id}/instances/{instance_id:path}", show_instance),
        ("/compare", show_comparison),
    )

    async def label(request: Request) -> Response:
        return await asyncio.to_thread(give_label, state, request, await label_of_request(request))

    routed = (Route(path, make_endpoint(page)) for path, page in pages)
    return [*routed, Route("/runs/{run_id}/labels/{instance_id:path}", label, methods=["POST"]), Route("/static/{name}", static_file)]


def show_suites(state: "State", request: Request) -> Response:
    """List the suites, with the unfinished runs."""
    query = _query_of(request, sorts=SUITE_SORTS, default="-last_run_time", filters=("q", "scoring_method", "name"), page_size=SUITES)
    suites = state.library.suites()
    return page_response(
        "suites.html",
        request,
        query=query,
        found=views.find_suites(state.library, query),
        n_all=len(suites),
        scorers=sorted({name for suite in suites for name in suite.scorers}),
        progress=state.journals.all(),
        damaged=[_damage_message(error) for error in state.library.damaged_runs()],
        sorts=SUITE_SORTS,
    )


def show_suite_runs(state: "State", request: Request) -> Response:
    """Show a suite's runs: their distributions, averages, and the list to choose from."""
    return _runs_page(state, request, state.library.suite(request.path_params["suite_id"]), _query_of(request, **_RUN_LIST))


def _damage_message(error: DamagedRunError) -> str:
    return f"{error.message}; {error.hint}"


_RUN_LIST: dict[str, Any] = {"sorts": RUN_SORTS, "default": "-created_at", "filters": ("q",), "page_size": RUNS}


def _runs_page(state: "State", request: Request | None, suite: Any, query: Query, *, status: int = 200, message: str = "") -> Response:
    """The runs of a suite; without a request its links lead to the suite's own page."""
    runs = views.find_runs(suite, query)
    whole, damaged = views.whole_runs(runs.items[:MOST_DRAWN])
    return page_response(
        "suite_runs.html",
        request,
        status,
        own_address=f"/suites/{suite.id}",
        messages=dict.fromkeys([*filter(None, [message]), *map(_damage_message, damaged)]),
        suite=suite,
        tab="runs",
        query=query,
        found=runs,
        rows=[views.run_object(run) for run in runs.items],
        averages=averages_picture(runs.items),
        distribution=distribution_picture(whole),
        n_drawn=min(len(runs.items), MOST_DRAWN),
        progress=[progress for progress in state.journals.all() if progress.suite_name == suite.name],
        **_suite_facts(suite),
    )


def show_suite_cases(state: "State", request: Request) -> Response:
    """Show a suite's inputs and references."""
    query = _query_of(request, filters=("q",), page_size=CASES)
    suite = state.library.suite(request.path_params["suite_id"])
    text = query.last("q").casefold()
    cases = [case for case in suite.cases() if text in f"{case.id}\n{case.input}\n{case.reference_output or ''}".casefold()]
    page = paginate(cases, page=query.page, page_size=query.page_size)
    rows = [views.case_object(case, hidden=suite.hidden) for case in page.items]
    return page_response("suite_cases.html", request, suite=suite, tab="cases", query=query, found=page, rows=rows, **_suite_facts(suite))


def show_leaderboard(state: "State", request: Request) -> Response:
    """Rank a suite's runs of one signature."""
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
        sections=list(_board_parts(board)) if board is not None else (),
        **_suite_facts(suite),
    )


def _board_parts(ranked: views.Board) -> Iterator[Section]:
    """Yield the parts of a board's page below its head, each run with a link."""
    run_of = {row.name: id_ for row, id_ in zip(ranked.board.rows, ranked.run_ids, strict=True)}
    first: Column[RankedRow] = Column(
        name="chance of first", words=lambda row: "-" if row.p_first is None else percent(row.p_first), is_number=True
    )
    document = leaderboard_document(ranked.board, more=[first], link=lambda row: f"/runs/{run_of[row.name]}")
    return (section for section in document.parts("html") if section.look != "head")


def show_run(state: "State", request: Request) -> Response:
    """Show a run: its numbers, and its instances filtered, sorted and in pages. An unfinished run has its own page."""
    run_id = request.path_params["run_id"]
    moving = next((progress for progress in state.journals.all() if progress.id == run_id), None)
    if moving is not None:
        return page_response("progress.html", request, one=moving)
    query = _result_query(request)
    run = state.library.run(run_id)
    suite = state.library.suite_of(run)
    record = run.record()
    results = views.find_results(suite, record, query)
    about = f"{record.submission} · rules {record.rules_label} · {run.created_at[:16].replace('T', ' ')} UTC"
    return page_response(
        "run.html",
        request,
        suite=suite,
        run=run,
        record=record,
        query=query,
        found=results,
        rows=[result_row(record, result) for result in results.items],
        texts=exchange_texts(suite, record, results.items),
        about=views.metadata_rows(run.metadata),
        reports=list(REPORTS),
        n_labels=sum(bool(label.label) for label in read_own_labels(record).values()),
        labels_file=labels_file(record),
        kind_choices=[kind for kind in KINDS.values() if any(kind_of(result) is kind for result in record.results)],
        scorer_choices=sorted({result.scorer for result in record.results if result.scorer}),
        flip_choices=sorted({str(cause) for result in record.results if (cause := result.details.get("flip"))}),
        group_choices=sorted(record.run.get("groups") or {}),
        field_choices=sorted(record.summary.by_field),
        sections=list(Document(name=run.label, sections=lambda _: _run_parts(record, run.label, about)).parts("html")),
    )


def show_instance(state: "State", request: Request) -> Response:
    """Show an instance with its difference, and links to its neighbours in the list."""
    query = _result_query(request)
    run = state.library.run(request.path_params["run_id"])
    suite = state.library.suite_of(run)
    record = run.record()
    result = views.find_result(record, request.path_params["instance_id"])
    results = views.find_results(
        suite, record, Query(page=1, page_size=max(1, len(record.results)), sort=query.sort, chosen=query.chosen)
    ).items
    at = next((i for i, other_result in enumerate(results) if other_result.instance_id == result.instance_id), None)
    return page_response(
        "instance.html",
        request,
        suite=suite,
        run=run,
        query=query,
        before=results[at - 1].instance_id if at else None,
        after=results[at + 1].instance_id if at is not None and at + 1 < len(results) else None,
        place=None if at is None else (at + 1, len(results)),
        others=[other for other in suite.runs if other.id != run.id][:3],
        own=read_own_labels(record).get(result.instance_id, OwnLabel()) if labels_file(record) is not None else None,
        labels=LABELS,
        **instance_values(suite, record, result),
    )


def give_label(state: "State", request: Request, label: OwnLabel) -> Response:
    """Save a human label of an instance, and return to its page."""
    run = state.library.run(request.path_params["run_id"])
    record = run.record()
    result = views.find_result(record, request.path_params["instance_id"])
    keep_label(record, result.instance_id, label)
    return RedirectResponse(f"/runs/{run.id}/instances/{part_of_address(result.instance_id)}{query_suffix(request)}#label", status_code=303)


def give_report(state: "State", request: Request) -> Response:
    """Download the run's report in a format of `evalsuite report`."""
    run, ending = state.library.run(request.path_params["run_id"]), f".{request.path_params['ending']}"
    if ending not in REPORTS:
        raise NotThereError(f"no report {ending[:20]!r}", hint=f"known: {', '.join(REPORTS)}")
    headers = {"content-disposition": f'attachment; filename="{run.id}{ending}"'}
    return Response(b"".join(encode(run_document(run.record()), ending)), media_type=REPORTS[ending], headers=headers)


def show_comparison(state: "State", request: Request) -> Response:
    """Show 2 to 4 runs side by side, the first as baseline."""
    query = _query_of(request, sorts=("name",), filters=("run_ids", "q", "differing"), page_size=INSTANCES)
    runs = views.chosen_runs(state.library, query.many("run_ids"), least=2)
    suites = {suite.id: suite for suite in map(state.library.suite_of, runs)}
    comparison = state.across.comparison(runs)
    table = side_by_side(runs, suites, query)
    return page_response(
        "compare.html",
        request,
        suite=next(iter(suites.values())),
        runs=runs,
        n_suites=len(suites),
        query=query,
        found=table,
        names=[unique_labels(runs)[run.id] for run in runs],
        has_reference=any(row["reference"] is not None for row in table.items),
        sections=list(Document(name="", sections=lambda _: comparison_parts(runs, comparison)).parts("html")),
    )


def _query_of(request: Request, **how: Any) -> Query:
    return read_query(request.query_params.multi_items(), **how)


def _result_query(request: Request) -> Query:
    return _query_of(request, sorts=RESULT_SORTS, filters=RESULT_FILTERS, page_size=INSTANCES)


def _suite_facts(suite: Any) -> dict[str, Any]:
    """Return the facts of a suite for its heading and details."""
    method = views.method_object(suite)
    facts = [("id", suite.id), ("kind", _KIND_WORDS[suite.kind]), ("description", suite.description), ("created", suite.created_at)]
    facts += [("last run", suite.last_run_time or "never"), ("runs", str(len(suite.runs)))]
    facts += [("scorer", method["name"]), ("scorer type", method["type"]), ("output", method["output_type"])]
    config = [(key, value if isinstance(value, str) else views.as_json(value)) for key, value in method["config"].items()]
    return {"facts": [(label, text) for label, text in facts if text], "config": config}


_KIND_WORDS = {"suite": "suite made by name", "gold": "gold folder", "bench": "Bench suite, read in place"}
