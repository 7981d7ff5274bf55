"""The numbers and pictures of pages: averages and distributions of runs, a run's own figures, runs side by side."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite.outcome import kind_of
from evalsuite.reports.clean import clean
from evalsuite.reports.document import Picture, text_of
from evalsuite.reports.page_list import closed_row
from evalsuite.reports.pictures import IntervalRow, Strip, draw_histogram, draw_intervals, draw_strips
from evalsuite.reports.run_columns import ReportRow, scorer_columns
from evalsuite.reports.run_page import outcome_tiles, receipt_pairs, run_figures, score_headline, score_picture, score_sentences
from evalsuite.reports.words import faults_by_hint
from evalsuite.web import views
from evalsuite.web.across import told_apart
from evalsuite.web.query import Page, Query, in_order, paginate
from evalsuite.web.shelf import ShownCase, ShownRun, ShownSuite, handed_in_texts, value_of

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.board import Comparison
    from evalsuite.reports.record import Record
    from evalsuite.types import Result

MOST_DRAWN = 6


def averages_picture(runs: Sequence[ShownRun]) -> "Markup":
    """The averages of the first runs of a list with their 95 % intervals; of unbounded metrics over the span of their values."""
    drawn = runs[:MOST_DRAWN]
    names = told_apart(drawn)
    values = [run.average() for run in drawn]
    known = [value for value, run in zip(values, drawn, strict=True) if value is not None and not run.is_bounded]
    span = (min([0.0, *known]), max([1.0, *known]))
    rows = []
    for run, value in zip(drawn, values, strict=True):
        low, high = (run.summary.get("interval_95") or (None, None)) if run.is_bounded else (None, None)
        words = "" if run.is_bounded or value is None else f"{value:.4g}"
        bound = run.summary.get("score_high") if run.is_bounded else None
        rows.append(IntervalRow(names[run.id], value, low, high, words=words, bound=bound))
    return _drawn(draw_intervals(rows, title="Average scores", span=span))


def distribution_picture(runs: Sequence[ShownRun]) -> "Markup":
    """The distribution of the first runs of a list: bins, or categories where the scorer names some."""
    drawn = runs[:MOST_DRAWN]
    names = told_apart(drawn)
    items = [views.summary_item(run) for run in drawn]
    categories = sorted({bar["category"]["name"] for item in items for bar in item["histogram"] if "category" in bar})
    shown = []
    for item in items:
        bars = item["histogram"]
        if categories:
            counts = {bar["category"]["name"]: bar["count"] for bar in bars if "category" in bar}
            found = tuple((name, counts.get(name, 0)) for name in categories)
        else:
            found = tuple((f"{bar['low']:.3g} to {bar['high']:.3g}", bar["count"]) for bar in bars)
        shown.append(Strip(names[item["id"]], found, sum(count for _, count in found) + item["n_unjudged"]))
    ends = (categories[0], categories[-1]) if categories else _scale_ends(items)
    return _drawn(draw_strips(shown, title="Distribution of scores", ends=ends))


def _scale_ends(items: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    bars = [bar for item in items for bar in item["histogram"]]
    return (f"{min(bar['low'] for bar in bars):.3g}", f"{max(bar['high'] for bar in bars):.3g}") if bars else ("0", "1")


def run_values(run: ShownRun, record: "Record") -> dict[str, Any]:
    """What the page of a run shows above its instances: the same numbers, words and pictures as its report."""
    average = run.average()
    if run.is_bounded:
        headline, sentences, overview = score_headline(record), score_sentences(record), score_picture(record)
        pictures = list(run_figures(record))
    else:
        headline, overview = "not judged" if average is None else f"{average:.4g}", _drawn("")
        sentences = ["The mean of the raw values: the metric has no fixed range, so there is no score"]
        values = [value for value in map(value_of, record.results) if value is not None]
        bins = [(bar["low"], bar["high"], bar["count"]) for bar in views.bars(values, 10)]
        pictures = [Picture("Distribution of raw values", _drawn(draw_histogram(bins, title="Distribution of raw values")))]
    return {
        "headline": headline,
        "sentences": sentences,
        "overview": overview,
        "tiles": outcome_tiles(record),
        "pictures": pictures,
        "faults": list(faults_by_hint(record.results)),
        "warnings": [str(line) for line in record.run.get("warnings", ())],
        "receipt": [(name, text) for name, text in receipt_pairs(record) if text],
    }


def result_row(record: "Record", result: "Result") -> dict[str, Any]:
    """A result as a row of the list, with the number that stands in it, and that of each scorer of a suite of several."""
    found = closed_row(result, groups=record.groups.get(result.instance_id, ()))
    row = ReportRow(result, record.name)
    return {
        **found,
        "value": value_of(result),
        "columns": [(column.head, clean(text_of(column.cell(row)))) for column in scorer_columns(record.summary.scorers)],
    }


def texts_of(suite: ShownSuite, record: "Record", results: Sequence["Result"]) -> dict[str, list[tuple[str, str]]]:
    """Instance id -> what was asked, what is right (unless gold is hidden) and what was answered, with labels; of gold with a question."""
    cases, answers = views.case_by_id(suite), handed_in_texts(record)
    found = {}
    for result in results:
        case = cases.get(result.instance_id)
        if case is not None and case.input:
            reference = None if suite.hidden else case.reference_output
            texts = (("asked", case.input), ("gold", reference), ("answer", answers.get(result.instance_id)))
            found[result.instance_id] = [(label, text) for label, text in texts if text]
    return found


def comparison_values(runs: Sequence[ShownRun], comparison: "Comparison") -> dict[str, Any]:
    """What the page of a comparison shows above the cases: the sections of its report, and what is drawn of it."""
    from evalsuite.reports.comparison_document import differences_picture, flips_picture
    from evalsuite.reports.comparison_sections import candidates_in_words, comparison_sections

    names = [told_apart(runs)[run.id] for run in runs]
    pictures = [
        ("Averages", averages_picture(runs), "with 95 % intervals"),
        ("Distribution of scores", distribution_picture(runs), "share of the cases"),
    ]
    if deltas := [one.total for one in comparison.candidates if one.total.difference is not None]:
        title = f"Difference to {comparison.baseline}"
        pictures.append((title, differences_picture(deltas, comparison, title=title), "in points; right of the dashed line is better"))
    for one in comparison.candidates:
        title = f"{comparison.baseline} and {one.label}"
        pictures.append((title, flips_picture(one, comparison.baseline), "cases that both were judged on"))
    warnings = [line.removesuffix(" (compared under --force)") for line in comparison.warnings]
    return {
        "names": names,
        "pictures": pictures,
        "sections": list(comparison_sections(comparison)),
        "said": candidates_in_words(comparison),
        "warnings": warnings,
    }


def side_by_side(runs: Sequence[ShownRun], suites: Mapping[str, ShownSuite], query: Query) -> Page[dict[str, Any]]:
    """A page of the cases that any of the runs has, with each run's result; `differing` keeps those whose scores are not all the same."""
    found: dict[str, list[Result | None]] = {}
    for at, run in enumerate(runs):
        for result in run.record().results:
            found.setdefault(result.instance_id, [None] * len(runs))[at] = result
    cases: dict[str, tuple[ShownCase, bool]] = {}
    for suite in suites.values():
        for case in suite.cases():
            cases.setdefault(case.id, (case, suite.hidden))
    text = query.last("q").casefold()
    texts = [handed_in_texts(run.record()) for run in runs]
    rows = [
        _case_row(runs, texts, id_, results, *cases.get(id_, (None, False)))
        for id_, results in found.items()
        if not query.last("differing") or len({None if result is None else value_of(result) for result in results}) > 1
    ]
    rows = [row for row in rows if text in row["text"].casefold()]
    return paginate(in_order(rows, query.sort, lambda row, _: row["id"]), page=query.page, page_size=query.page_size)


def _case_row(
    runs: Sequence[ShownRun],
    texts: Sequence[Mapping[str, str]],
    id_: str,
    results: "Sequence[Result | None]",
    case: ShownCase | None,
    hidden: bool,
) -> dict[str, Any]:
    cells: list[dict[str, Any] | None] = [
        None
        if result is None
        else {"run_id": run.id, "kind": kind_of(result).name, "value": value_of(result), "text": own.get(id_) or result.reason}
        for run, own, result in zip(runs, texts, results, strict=True)
    ]
    reference = case.reference_output if case is not None and not hidden else None
    question = case.input if case is not None else ""
    said = " ".join(cell["text"] for cell in cells if cell is not None)
    return {"id": id_, "input": question, "reference": reference, "cells": cells, "text": f"{id_}\n{question}\n{reference or ''}\n{said}"}


def _drawn(svg: str) -> "Markup":
    from markupsafe import Markup

    return Markup(svg)
