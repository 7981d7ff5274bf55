"""A run as a page: its score in large, what came of the instances, pictures, and the list of all instances."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from evalsuite import __version__
from evalsuite.outcome import KINDS, RANKS, failing_rule, kind_of
from evalsuite.reports.document import Code, Picture, Section, Tile
from evalsuite.reports.field_sections import field_sections
from evalsuite.reports.page_list import instance_list
from evalsuite.reports.words import (
    caused_by,
    corrected_words,
    counted,
    counts_line,
    coverage,
    faults_by_hint,
    flips_by_kind,
    interval_words,
    people_words,
    percent,
    raw_words,
    share,
)
from evalsuite.store.signature import clock_in

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.explain.run_evidence import FindEvidence
    from evalsuite.reports.document import Table
    from evalsuite.reports.record import Record

MOST_ROWS_DRAWN = 24
MOST_WARNINGS = 20


def run_page_sections(record: "Record", table: "Table[Any]", find_evidence: "FindEvidence | None" = None) -> Iterator[Section]:
    """The parts of the page; `table` holds all results in gold order, and `find_evidence` works out what is shown beside a wrong one."""
    order = sorted(range(len(record.results)), key=lambda at: (RANKS[kind_of(record.results[at]).name], at))
    worth = [record.results[at] for at in order if failing_rule(record.results[at], record.rules) is not None]
    asked = [result.instance_id for result in worth if result.status == "scored"]
    evidence = find_evidence(record, asked) if find_evidence is not None else None
    s, headline = record.summary, score_headline(record)
    part = f" · {coverage(s)}" if s.is_part else ""
    clock = clock_in(str(record.run.get("signature", "")))
    yield Section(
        look="hero",
        title=record.suite,
        prose=[
            f"{record.submission} · rules {record.rules}{clock and f' · clock at {clock}'} · {s.n_submitted} of {s.n_gold} handed in",
            *score_sentences(record),
        ],
        pictures=[Picture("", score_picture(record))],
        values={
            "about": record.name,
            "headline": headline,
            "tab": f"{headline} · {record.suite} · {record.submission}{part}",
        },
    )
    yield Section(tiles=outcome_tiles(record))
    flips = [(way, text) for way, down in (("lost", True), ("gained", False)) if (text := flips_by_kind(s, down=down))]
    about_flips = {"title": "Flips", "note": "Where the reference's verdict and a careful judge's part."} if flips else {}
    yield Section(look="cards", pictures=list(run_figures(record)), pairs=flips, values=about_flips)
    yield from field_sections(record, "html")
    yield Section(look="card", title="Faults", pairs=[(Code(code), words) for code, words in faults_by_hint(record.results)])
    yield Section(look="card", title="Warnings", lines=_first_warnings(record))
    yield Section(below=list(_what_is_not_shown(record, evidence.note if evidence is not None else "")))
    yield Section(look="instances", values=instance_list(record, table, order, evidence.found if evidence is not None else {}))
    yield Section(look="foot", pairs=list(receipt_pairs(record)))


def score_headline(record: "Record") -> str:
    """The score; where some are unjudged, of how many it is the mean, and what it may be over all."""
    mean, raw = record.summary.chosen, record.summary.raw
    if raw:
        return f"{raw['mean']:.4g}"
    if not mean.n:
        return "no score" if record.summary.n_gold else "no instance"
    if mean.value is not None and mean.n_ungraded:
        return f"{share(mean)} {interval_words((mean.low, mean.high))}"
    return "not judged" if mean.value is None else percent(mean.value)


def score_sentences(record: "Record") -> list[str]:
    """What the score is made of, and of how much of gold."""
    s = record.summary
    if not s.n_gold:
        return ["There was nothing to score."]
    part = [f"A part of gold: {coverage(s)}"] * s.is_part
    if not s.chosen.n:
        return [*part, raw_words(s.raw) if s.raw else "Measured on scales without a fixed range, of which no score is made"]
    if s.score is None:
        return [*part, f"None of {s.n_gold} judged: {caused_by(s)}"]
    mean = s.chosen
    points, _, n = share(mean).partition(" = ")[0].partition("/")
    made = f"{points} of {n} points under {record.rules} rules" if s.histogram else f"{points} of {n} right under {record.rules} rules"
    if mean.n_ungraded:
        made = f"The mean of what was judged, {mean.n_judged} of {mean.n} instances, under {record.rules} rules"
    parts = [*part, made]
    if s.interval:
        parts.append(f"95 % interval {percent(s.interval[0], '')} to {percent(s.interval[1])}")
    if s.clusters and s.clusters["interval_95"]:
        low, high = s.clusters["interval_95"]
        parts.append(f"Over {counted(s.clusters['n_clusters'], 'cluster')} {percent(low, '')} to {percent(high)}")
    if mean.n_unjudged:
        least = f"From {percent(mean.low)} up" if mean.n_ungraded else "Up"
        parts.append(f"{least} to {percent(mean.high)} were everything judged: {caused_by(s)}")
    if corrected := corrected_words(record):
        parts.append(f"Corrected by gold.errata.yaml: {corrected}")
    if people := people_words(record):
        parts.append(f"As people would score it: {people}")
    return parts


def score_picture(record: "Record") -> "Markup":
    """The score with its interval, and the other rules' beside it."""
    from evalsuite.reports.pictures import IntervalRow, draw_intervals

    s = record.summary
    if not s.n_gold:
        return _markup("")
    low, high = s.interval or (None, None)
    rows = [IntervalRow(record.rules, s.score, low, high, bound=s.chosen.high)]
    if s.other is not None:
        rows.append(IntervalRow(s.other_rules, s.other.value, bound=s.other.high))
    if s.reference_ratio is not None:
        rows.append(IntervalRow("reference ratio, over what was handed in", s.reference_ratio))
    return _markup(draw_intervals(rows, title=f"Score: {counts_line(s)}"))


def outcome_tiles(record: "Record") -> list[Tile]:
    """How many of each kind there are, the best first; the totals of the whole run, whatever may be shown of it."""
    s = record.summary
    found = {**s.counts, "right": s.n_right, "wrong": s.n_wrong, "partial": s.counts["scored"] - s.n_right - s.n_wrong}
    best = ("right", "partial", "wrong", "missing")
    order = [*best, *(name for name in KINDS if name not in best)]
    shown = [Tile(found[name], KINDS[name].words, name) for name in order if found.get(name)]
    return [*shown, Tile(len(s.flips), "flip")] if s.flips else shown


def _what_is_not_shown(record: "Record", note: str) -> Iterator[str]:
    """What this report does not show, and why."""
    if record.level != "cells":
        yield f"Gold's values are not shown here (reveal level: {record.level})."
    if note:
        yield note[:1].upper() + note[1:] + "."


def run_figures(record: "Record") -> Iterator[Picture]:
    """The scores of the parts, how scores are distributed, and where the rules part."""
    from evalsuite.reports.pictures import FlipCounts, draw_bars, draw_flips, draw_histogram

    s = record.summary
    for title, table in (("By scorer", s.by_scorer), ("By group", s.by_group)):
        if table:
            rest = len(table) - MOST_ROWS_DRAWN
            note = f"{rest} more not drawn; run.json holds all" if rest > 0 else ""
            yield Picture(title, _rows_picture(title, table), note)
    if s.by_field:
        fields = [(path or "(root)", {name: row[name] for name in ("precision", "recall", "f1")}) for path, row in s.by_field.items()]
        rest = len(fields) - MOST_ROWS_DRAWN
        note = f"worst first; {rest} more in the table" if rest > 0 else "worst first"
        yield Picture("By field", _markup(draw_bars(fields[:MOST_ROWS_DRAWN], title="Precision, recall and F1 by field")), note)
    if s.histogram:
        bins = [(at / len(s.histogram), (at + 1) / len(s.histogram), n) for at, n in enumerate(s.histogram)]
        yield Picture("Distribution of scores", _markup(draw_histogram(bins, title="Distribution of scores")))
    pairs = [(r.official == 1, r.strict == 1) for r in record.results if r.official is not None and r.strict is not None]
    if s.flips:
        both, first, second, neither = (pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False)))
        matrix = FlipCounts(both=both, first_only=first, second_only=second, neither=neither)
        yield Picture("Official and strict", _markup(draw_flips(matrix, title="Official and strict verdicts")))


def _rows_picture(title: str, table: Mapping[str, Mapping[str, Any]]) -> "Markup":
    from evalsuite.reports.pictures import IntervalRow, draw_intervals
    from evalsuite.stats.means import Mean

    rows = []
    for name, found in list(table.items())[:MOST_ROWS_DRAWN]:
        low, high = found["interval_95"] or (None, None)
        ungraded = found["n"] - found["n_judged"]
        mean = Mean(n=found["n"], low=found["score_low"], high=found["score_high"], n_unjudged=ungraded, n_ungraded=ungraded)
        words = "not judged" if found["score"] is None else share(mean)
        rows.append(IntervalRow(name, found["score"], low, high, words=words, bound=found["score_high"]))
    return _markup(draw_intervals(rows, title=title))


def _first_warnings(record: "Record") -> list[str]:
    found = [str(line) for line in record.run.get("warnings", ())]
    return found[:MOST_WARNINGS] + ([f"{len(found) - MOST_WARNINGS} more in run.json"] if len(found) > MOST_WARNINGS else [])


def receipt_pairs(record: "Record") -> Iterator[tuple[str, str]]:
    """What the run was made with: the last lines of the page."""
    yield "signature", str(record.run["signature"])
    for name, value in record.run.get("metadata", {}).items():
        yield str(name).replace("_", " "), str(value)
    receipt = record.run.get("receipt", {})
    yield "made with", " · ".join([f"evalsuite {__version__}", *(f"{name} {value}" for name, value in receipt.items())])
    if record.tags:
        yield "tags", ", ".join(record.tags)


def _markup(svg: str) -> "Markup":
    from markupsafe import Markup

    return Markup(svg)
