"""Parse requests, and return the plain objects of the API: suites, runs, results, leaderboards, and comparisons of 2 to 4 runs.

An unknown key, a bad page or an unknown sort key is an error. Human labels are stored as a CSV next to the run's folder, which `evalsuite
agree RUN FILE.csv` reads as a rater.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from evalsuite.analysis.leaderboard import compare
from evalsuite.analysis.leaderboard.pairing import fields_of, side_of
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import EvalsuiteError, UsageError, did_you_mean
from evalsuite.core.files import is_file
from evalsuite.core.status import kind_of, own_value
from evalsuite.core.types import Result
from evalsuite.reports.record import Record
from evalsuite.reports.run_page import bars
from evalsuite.reports.viewer.library import (
    BadQueryError,
    CaseView,
    DamagedRunError,
    Library,
    NotThereError,
    RunView,
    StampedCache,
    SuiteView,
    stamp_of,
    submitted_texts,
    value_of,
)
from evalsuite.runs.corrected_scores import read_label_texts, write_labels
from evalsuite.runs.history import RunEntry, selected_part
from evalsuite.runs.history_index import RunScores, columns_of
from evalsuite.runs.run_folder import labels_path
from evalsuite.stats.samples import mean

if TYPE_CHECKING:
    from starlette.requests import Request

    from evalsuite.analysis.leaderboard import Comparison
    from evalsuite.analysis.leaderboard.ranking import Leaderboard


Item = TypeVar("Item")

# Common sort keys of all lists; each list accepts those of its rows. A leading minus reverses the order.
SUITE_SORTS = ("name", "created_at", "score", "last_run_time")
RUN_SORTS = ("name", "created_at", "score", "last_run_time")
RESULT_SORTS = ("name", "score")
MOST_PER_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The parsed query of a list. `chosen` maps filters to their values; `sort` is a sort key, with a minus for reverse order."""

    page: int
    page_size: int
    sort: str
    chosen: Mapping[str, tuple[str, ...]]

    def last(self, key: str) -> str:
        """Return the last value of a filter, empty if it is not set."""
        return self.chosen.get(key, ("",))[-1]

    def many(self, key: str) -> tuple[str, ...]:
        """Return all non-empty values of a filter."""
        return tuple(value for value in self.chosen.get(key, ()) if value)


def read_query(
    pairs: Sequence[tuple[str, str]],
    *,
    sorts: Sequence[str] = (),
    default: str = "",
    filters: Sequence[str] = (),
    page_size: int = 10,
    is_paged: bool = True,
) -> Query:
    """Parse the query of (key, value) pairs. Raises `BadQueryError` for an unknown key, a bad number, or an unknown sort key."""
    values: dict[str, list[str]] = {}
    allowed = (*filters, *(("page", "page_size") if is_paged else ()), *(("sort",) if sorts else ()))
    for key, value in pairs:
        if key not in allowed:
            raise BadQueryError(f"no parameter {key!r}", hint=did_you_mean(key, allowed))
        values.setdefault(key, []).append(value)
    word = values.get("sort", [""])[-1] or default
    minus, bare = ("-", word[1:]) if word.startswith("-") else ("", word)
    # Arthur Bench's name of the score, for its clients.
    bare = "score" if bare == "avg_score" else bare
    if word and bare not in sorts:
        raise BadQueryError(f"cannot sort by {word!r}", hint="known: " + ", ".join(f"{name}, -{name}" for name in sorts))
    page, size = (_number_in_query(values, *what) for what in (("page", 1, 10**9), ("page_size", page_size, MOST_PER_PAGE)))
    return Query(page=page, page_size=size, sort=minus + bare, chosen={key: tuple(values[key]) for key in values if key in filters})


def _number_in_query(query: Mapping[str, Sequence[str]], key: str, default: int, most: int) -> int:
    text = query.get(key, [""])[-1]
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and 1 <= int(text) <= most):
        raise BadQueryError(f"{key} cannot be {text!r}", hint=f"a whole number from 1 to {most}")
    return int(text)


def sort_items(items: Sequence[Item], sort: str, key: Callable[[Item, str], Any]) -> list[Item]:
    """Sort the items; items without a value come last in both directions, equal items keep their order."""
    if not sort:
        return list(items)
    word = sort.removeprefix("-")
    items_with_key = [item for item in items if key(item, word) is not None]
    items_with_key.sort(key=lambda item: key(item, word), reverse=sort.startswith("-"))
    return items_with_key + [item for item in items if key(item, word) is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """The items of one page; `total_pages` is at least 1, also for an empty list."""

    items: tuple[Item, ...]
    page: int
    page_size: int
    total_pages: int
    total_count: int


def paginate(items: Sequence[Item], *, page: int = 1, page_size: int = 5) -> Page[Item]:
    """Return page `page` (from 1) of the items; a page past the end is empty, one below 1 is an error."""
    if page < 1 or page_size < 1:
        raise UsageError(f"page {page} of {page_size} items", hint="both count from 1")
    start = (page - 1) * page_size
    return Page(
        items=tuple(items[start : start + page_size]),
        page=page,
        page_size=page_size,
        total_pages=max(1, -(-len(items) // page_size)),
        total_count=len(items),
    )


# Labels of an answer; the empty label removes one and keeps its note.
LABELS = {"": "no label", "1": "right", "0.5": "partly right", "0": "wrong"}
_MOST_BYTES = 64 * 1024
_LOOPBACK = ("127.0.0.1", "::1")
_one_at_a_time = Lock()


class NotAllowedError(EvalsuiteError):
    """A write request that is not allowed: HTTP 403."""


class OwnLabel(NamedTuple):
    """A label of `LABELS`, and a note."""

    label: str = ""
    note: str = ""


def labels_file(record: "Record") -> Path | None:
    """Return the path of a run's labels; None for a run without its own folder."""
    return None if record.folder is None else labels_path(record.folder)


def read_own_labels(record: "Record") -> dict[str, OwnLabel]:
    """Map instance ids to labels. A damaged file counts as empty; the run's warnings report it."""
    path = labels_file(record)
    try:
        return _label_lines(path) if path is not None else {}
    except EvalsuiteError:
        return {}


def keep_label(record: "Record", instance_id: str, label: OwnLabel) -> None:
    """Write the label of one instance atomically.

    Raises `BadQueryError`, `OutputError`, and `UsageError` for a damaged file, because it may be repairable.
    """
    path = labels_file(record)
    if path is None or label.label not in LABELS:
        raise BadQueryError(f"no label {label.label[:80]!r}", hint=f"known: {', '.join(LABELS)}")
    with _one_at_a_time:
        write_labels(path, {**_label_lines(path), instance_id: label})


def _label_lines(path: Path) -> dict[str, OwnLabel]:
    return {name: OwnLabel(*label) for name, label in read_label_texts(path).items()} if is_file(path) else {}


async def label_of_request(request: "Request") -> OwnLabel:
    """Parse a label form. Raises `NotAllowedError` unless a page of this viewer sent it from this machine."""
    origin, site = request.headers.get("origin", ""), request.headers.get("sec-fetch-site", "same-origin")
    is_own = origin.partition("://")[2] == request.headers.get("host") and site == "same-origin"
    if not is_own or request.client is None or request.client.host not in _LOOPBACK:
        raise NotAllowedError("labels are given on the viewer's own pages, on its own machine", hint="open the page and choose there")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BYTES:
            raise BadQueryError("a note of more than 64 kB", hint="shorten it")
    fields = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    return OwnLabel(fields.get("label", ""), fields.get("note", "").replace("\r\n", "\n").strip())


MOST_RANKED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A leaderboard with the runs of its rows (`run_ids` in row order), and the other signatures that could be ranked."""

    signature: str
    board: "Leaderboard"
    run_ids: tuple[str, ...]
    others: tuple[tuple[str, int], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the board as JSON values, each row with the id of its run."""
        board = self.board.to_json()
        rows = [{**row, "run_id": run_id} for row, run_id in zip(board["rows"], self.run_ids, strict=True)]
        others = [{"signature": signature, "num_runs": count} for signature, count in self.others]
        return {**board, "rows": rows, "signature": self.signature, "other_signatures": others}


class Across:
    """Cache of rankings and comparisons, valid while their runs do not change."""

    def __init__(self) -> None:
        self._boards = StampedCache(32)
        self._comparisons = StampedCache(32)

    def board(self, suite: SuiteView, signature: str = "") -> Board | None:
        """Return the leaderboard of the suite's runs of one signature (default: the newest run's), None without runs.

        Runs of another signature or of a part of gold are never mixed in. Raises `BadQueryError` for a signature without runs.
        """
        by_signature: dict[str, list[RunView]] = {}
        for run in suite.runs:
            # The signature, with a mark for a part of gold, because such runs are not ranked with whole ones.
            part = [f"{key}={value}" for key, value in selected_part(run.run["options"]).items()]
            by_signature.setdefault("|".join([str(run.run.get("signature", "")), *part]), []).append(run)
        if not by_signature:
            return None
        if signature and signature not in by_signature:
            raise BadQueryError("no run of this suite has that signature", hint="other_signatures lists them")
        chosen = signature or next(iter(by_signature))
        runs = by_signature[chosen][:MOST_RANKED]
        others = tuple((name, len(own_runs)) for name, own_runs in by_signature.items() if name != chosen)
        key = (suite.id, chosen, tuple(run.id for run in runs))
        return self._boards.get(key, _stamp_of_runs(runs), lambda: _ranked_board(chosen, runs, others))

    def comparison(self, runs: Sequence[RunView]) -> "Comparison":
        """Compare the first run as baseline with the others; incomparable runs are compared with a warning."""
        key = tuple(run.id for run in runs)
        return self._comparisons.get(key, _stamp_of_runs(runs), lambda: _compare_pair(runs))


def _stamp_of_runs(runs: Sequence[RunView]) -> tuple[int, ...]:
    return stamp_of(*(run.folder / "run.json" for run in runs))


def _ranked_board(signature: str, runs: Sequence[RunView], others: tuple[tuple[str, int], ...]) -> Board:
    from evalsuite.analysis.leaderboard.ranking import make_leaderboard
    from evalsuite.runs.leaderboard_entries import Entry

    names = unique_labels(runs)
    whole, damaged = whole_runs(runs)
    if not whole:
        raise damaged[0]
    entries = [Entry(name=names[run.id], scores=_run_scores(run), is_run=True) for run in whole]
    board = make_leaderboard(entries, DiskCache(None))
    board = replace(board, notes=(*board.notes, *(f"left out: {error.message}" for error in damaged)))
    by_name = {name: id_ for id_, name in names.items()}
    return Board(signature=signature, board=board, run_ids=tuple(by_name[row.name] for row in board.rows), others=others)


def whole_runs(runs: Sequence[RunView]) -> tuple[list[RunView], list[DamagedRunError]]:
    """The runs whose results can be read, and what is wrong with the others."""
    whole, damaged = [], []
    for run in runs:
        try:
            run.record()
        except DamagedRunError as error:
            damaged.append(error)
        else:
            whole.append(run)
    return whole, damaged


def _run_scores(run: RunView) -> RunScores:
    """Return a run in columns. Bench's mark for no verdict is no raw value."""
    results = run.record().results
    columns = columns_of(RunEntry(folder=run.folder, run=run.run, tags=run.tags), results)
    raw = [None if value_of(result) is None else own_value(result) for result in results]
    return replace(columns, submission_hash="", is_whole=True, raw=raw)


def _compare_pair(runs: Sequence[RunView]) -> "Comparison":
    names = unique_labels(runs)
    comparison = compare([side_of(names[run.id], run.run, run.record().results) for run in runs], force=True)
    # The viewer has no option that a warning could name.
    return replace(comparison, warnings=tuple(line.removesuffix(" (compared under --force)") for line in comparison.warnings))


def unique_labels(runs: Sequence[RunView]) -> Mapping[str, str]:
    """Map run ids to unique labels: the whole name, then the id too, if several share one."""
    labels, names = ([getattr(run, what) for run in runs] for what in ("label", "name"))

    def label_of(run: RunView) -> str:
        if labels.count(run.label) == 1:
            return run.label
        return run.name if names.count(run.name) == 1 else f"{run.name} ({run.id})"

    return {run.id: label_of(run) for run in runs}


N_BINS = 20
MODEL_KEYS = ("model_name", "model_version", "foundation_model", "prompt_template", "description")


def find_suites(library: Library, query: Query) -> Page[SuiteView]:
    """Return the page of suites: of one exact `name`, of any scorer in `scoring_method`, with `q` in name or description."""
    name, text, scorers = query.last("name"), query.last("q").casefold(), set(query.many("scoring_method"))
    suites = [
        suite
        for suite in library.suites()
        if (not name or suite.name == name)
        and (not scorers or scorers & set(suite.scorers))
        and text in f"{suite.name}\n{suite.description}".casefold()
    ]
    return paginate(sort_items(suites, query.sort, suite_key), page=query.page, page_size=query.page_size)


def suite_key(suite: SuiteView, word: str) -> Any:
    """Return the sort value of a suite; one without runs is sorted by its creation."""
    if word == "last_run_time":
        return suite.last_run_time or suite.created_at
    if word == "score":
        return suite.runs[0].average() if suite.runs else None
    return (suite.name.casefold(), suite.name) if word == "name" else suite.created_at


def find_runs(suite: SuiteView, query: Query) -> Page[RunView]:
    """Return the page of a suite's runs with `q` in name or model."""
    text = query.last("q").casefold()
    runs = [run for run in suite.runs if text in f"{run.name}\n{run.metadata.get('model_name', '')}".casefold()]
    return paginate(sort_items(runs, query.sort, run_key), page=query.page, page_size=query.page_size)


def run_key(run: RunView, word: str) -> Any:
    """Return the sort value of a run."""
    if word == "score":
        return run.average()
    return (run.name.casefold(), run.name) if word == "name" else run.time_key


def find_results(suite: SuiteView, record: Record, query: Query) -> Page[Result]:
    """Return the page of a run's results, filtered by status, scorer, group, flip cause and incomplete field, in gold order or sorted.

    `q` is searched in id, reason, question, reference (unless gold is hidden) and answer.
    """
    statuses, scorers, groups, flips, fields = (set(query.many(key)) for key in ("status", "scorer", "group", "flip", "field"))
    text, tags = query.last("q").casefold(), record.groups
    cases, answers = (case_by_id(suite), submitted_texts(record)) if text else ({}, {})

    def contains_text(result: Result) -> bool:
        id_, case = result.instance_id, cases.get(result.instance_id, CaseView(id=""))
        texts = (id_, result.reason, case.input, answers.get(id_), None if suite.hidden else case.reference_output)
        return any(text in value.casefold() for value in texts if value)

    results = [
        result
        for result in record.results
        if (not statuses or kind_of(result).name in statuses or result.status in statuses)
        and (not scorers or result.scorer in scorers)
        and (not groups or groups & set(tags.get(result.instance_id, ())))
        and (not flips or result.details.get("flip") in flips)
        and (not fields or any(path in fields and f1 < 1 for path, (_, _, f1) in fields_of(result).items()))
        and (not text or contains_text(result))
    ]
    return paginate(sort_items(results, query.sort, result_key), page=query.page, page_size=query.page_size)


def result_key(result: Result, word: str) -> Any:
    """Return the sort value of a result."""
    return value_of(result) if word == "score" else (result.instance_id.casefold(), result.instance_id)


def page_object(page: Page[Any]) -> dict[str, int]:
    """Return the numbers of a page."""
    return {key: getattr(page, key) for key in ("page", "page_size", "total_pages", "total_count")}


def suite_object(suite: SuiteView) -> dict[str, Any]:
    """Return a suite in a list."""
    fields = {key: getattr(suite, key) for key in ("id", "name", "kind", "description", "created_at", "updated_at", "last_run_time")}
    return {**fields, "scoring_method": method_object(suite), "scorers": list(suite.scorers), "num_runs": len(suite.runs)}


def method_object(suite: SuiteView) -> dict[str, Any]:
    """Return {name, type, config, output_type, categories} of a suite; gold's parameters are shown per case."""
    method = suite.scoring_method
    categories = method.get("categories")
    return {
        "name": str(method.get("name", "")),
        "type": str(method.get("type") or "built_in"),
        "config": dict(method.get("config") or {}),
        "output_type": str(method.get("output_type") or ("categorical" if categories else "continuous")),
        "categories": categories if isinstance(categories, list) else None,
    }


def case_object(case: CaseView, *, hidden: bool) -> dict[str, Any]:
    """Return a case of a suite; without reference and parameters if gold is hidden."""
    checks = [{"scorer": check["scorer"], "parameters": {} if hidden else dict(check["parameters"])} for check in case.checks]
    return {"id": case.id, "input": case.input, "reference_output": None if hidden else case.reference_output, "checks": checks}


def run_object(run: RunView) -> dict[str, Any]:
    """Return a run in a list."""
    return {
        **{key: getattr(run, key) for key in ("id", "name", "created_at")},
        "test_suite_id": run.suite_id,
        "updated_at": run.created_at,
        "avg_score": run.average(),
        **{key: run.summary.get(key) if run.is_bounded else None for key in ("interval_95", "score_high")},
        "n_cases": run.summary.get("n_gold"),
        **{key: run.summary.get(key) for key in ("n_judged", "n_submitted")},
        "rules": run.run["options"].get("rules"),
        "tags": list(run.tags),
        **{key: run.metadata.get(key) for key in MODEL_KEYS},
    }


def record_object(run: RunView, record: Record) -> dict[str, Any]:
    """Return a run with its summary, signature and warnings."""
    return {
        **run_object(run),
        "signature": str(record.run.get("signature", "")),
        "submission": record.submission,
        "summary": record.summary.to_json(),
        "warnings": [str(line) for line in record.run.get("warnings", ())],
    }


def result_object(
    result: Result, case: CaseView | None, groups: Sequence[str], *, hidden: bool, output: str | None = None
) -> dict[str, Any]:
    """Return a result with its known input, reference and output; `score_result` is {score, category} as in Bench."""
    category, score = result.details.get("category"), value_of(result)
    return {
        "id": result.instance_id,
        "outcome": kind_of(result).name,
        "input": case.input if case is not None else None,
        "reference_output": case.reference_output if case is not None and not hidden else None,
        "output": output,
        "score": score,
        "score_result": {"score": score, "category": None if category is None else {"name": str(category)}},
        "groups": list(groups),
        **{key: getattr(result, key) for key in ("status", "official", "strict", "scorer", "reason", "fault", "seconds")},
    }


def case_by_id(suite: SuiteView) -> dict[str, CaseView]:
    """Map the cases of a suite by id."""
    return {case.id: case for case in suite.cases()}


def find_result(record: Record, instance_id: str) -> Result:
    """Return the result of an instance. Raises `NotThereError`."""
    for result in record.results:
        if result.instance_id == instance_id:
            return result
    raise NotThereError(f"no instance {instance_id[:80]!r} in this run")


def summary_item(run: RunView) -> dict[str, Any]:
    """Return average and distribution of a run: `N_BINS` bars from 0 (or the lowest score) to the largest, or counts by category.

    Every score is in a bar; `n_unjudged` counts the results without one.
    """
    results = run.record().results
    values = [value for value in map(value_of, results) if value is not None]
    names = [str(result.details["category"]) for result in results if result.details.get("category")]
    counts = sorted(Counter(names).items())
    return {
        "id": run.id,
        "name": run.name,
        "avg_score": run.average(),
        "mean_judged": mean(values) if values else None,
        "n_unjudged": len(results) - len(values),
        "histogram": [{"count": n, "category": {"name": name}} for name, n in counts] if names else bars(values, N_BINS),
    }


def chosen_runs(library: Library, ids: Sequence[str], *, least: int = 1, most: int = 4) -> list[RunView]:
    """Return the runs of these ids, each once. Raises `BadQueryError` for too few or too many, `NotThereError` for an unknown one."""
    ids = list(dict.fromkeys(ids))
    if not least <= len(ids) <= most:
        raise BadQueryError(f"{len(ids)} runs were chosen", hint=f"choose {least} to {most} runs")
    return [library.run(id_) for id_ in ids]


def metadata_rows(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the model's metadata as label and text."""
    return [(key.replace("_", " "), str(metadata[key])) for key in MODEL_KEYS if metadata.get(key)]


def as_json(value: Any) -> str:
    """Format a value as one line of JSON for people."""
    return json.dumps(value, ensure_ascii=False, default=str)
