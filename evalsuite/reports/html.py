"""The report as one HTML file: everything in it, nothing fetched, readable without JavaScript and by keyboard alone.

The summary and the first page of instances stand in the document. All instances wait as JSON that `script.js` pages through, so that
10,000 of them open as fast as fifty. What a submission said is escaped by the templates, and the policy of the page runs no script but
its own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite import __version__
from evalsuite.outcome import KINDS, RANKS, Kind, kind_of, sign_of
from evalsuite.reports.evidence import Evidence, evidence_of
from evalsuite.reports.page import json_block
from evalsuite.reports.page import render as render_page
from evalsuite.reports.page_rows import body, row
from evalsuite.reports.record import revealed
from evalsuite.reports.words import caused_by, corrected_words, counts_line, faults_by_hint, flips_by_kind, percent, share
from evalsuite.trust.evidence import failing_rule

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.reports.record import Record

N_FIRST = 50
PER_BLOCK = 100
# A page of more than this many characters of opened rows would be slow to load; what is left out is said.
MOST_BODIES = 16_000_000
MOST_ROWS_DRAWN = 24
MOST_WARNINGS = 20


def render(record: "Record", reveal: str | None = None) -> str:
    """The report of a run as an HTML document of at most about 25 MB; `reveal` limits what of gold it shows (default: what the
    record holds).
    """
    if reveal is not None:
        record = revealed(record, reveal)
    order = sorted(range(len(record.results)), key=lambda at: (RANKS[kind_of(record.results[at]).name], at))
    worth = [record.results[at] for at in order if failing_rule(record.results[at], record.rules) is not None]
    evidence = evidence_of(record, [result.instance_id for result in worth if result.status == "scored"])
    groups = record.groups
    bodies = _bodies(record, order, evidence)
    rows = [row(result, rules=record.rules, groups=groups.get(result.instance_id, ())) for result in record.results]
    return render_page(
        "report.html",
        record=record,
        summary=record.summary,
        headline=headline(record),
        sentences=sentences(record),
        overview=overview(record),
        counts=counts(record),
        figures=list(figures(record)),
        flips=[(way, said) for way, down in (("lost", True), ("gained", False)) if (said := flips_by_kind(record.summary, down=down))],
        faults=list(faults_by_hint(record.results)),
        warnings=_warnings(record),
        notes=list(_notes(record, evidence)),
        rows=[(rows[at], bodies[at]) for at in order[:N_FIRST]],
        rest=len(rows) > N_FIRST,
        kinds=KINDS,
        verdict=sign_of,
        blank={"id": "", "kind": "right", "official": None, "strict": None, "scorer": "", "flip": "", "why": ""},
        index=json_block(_index(rows)),
        chunks=[json_block(bodies[at : at + PER_BLOCK]) for at in range(0, len(bodies), PER_BLOCK)],
        receipt=list(receipt(record)),
        choices=_choices(record, rows),
    )


def headline(record: "Record") -> str:
    if not record.summary.n_gold:
        return "no instance"
    return "not judged" if record.summary.score is None else percent(record.summary.score)


def sentences(record: "Record") -> list[str]:
    s = record.summary
    if not s.n_gold:
        return ["There was nothing to score."]
    if s.score is None:
        return [f"None of {s.n_gold} judged: {caused_by(s)}"]
    points, _, n = share(s.chosen).partition(" = ")[0].partition("/")
    parts = [f"{points} of {n} points under {record.rules} rules" if s.histogram else f"{points} of {n} right under {record.rules} rules"]
    if s.interval:
        parts.append(f"95 % interval {percent(s.interval[0], '')} to {percent(s.interval[1])}")
    if s.clusters and s.clusters["interval_95"]:
        low, high = s.clusters["interval_95"]
        parts.append(f"Over {s.clusters['n_clusters']} clusters {percent(low, '')} to {percent(high)}")
    if s.chosen.n_unjudged:
        parts.append(f"Up to {percent(s.chosen.high)} were everything judged: {caused_by(s)}")
    if corrected := corrected_words(record):
        parts.append(f"Corrected by gold.errata.yaml: {corrected}")
    return parts


def overview(record: "Record") -> "Markup":
    """The score with its interval, and the other rules' beside it."""
    from evalsuite.reports.pictures.intervals import IntervalRow, draw

    s = record.summary
    if not s.n_gold:
        return _markup("")
    low, high = s.interval or (None, None)
    rows = [IntervalRow(record.rules, s.score, low, high, bound=s.chosen.high)]
    other = s.strict if record.rules == "official" else s.official
    if other is not None:
        rows.append(IntervalRow("strict" if record.rules == "official" else "official", other.value, bound=other.high))
    if s.reference_ratio is not None:
        rows.append(IntervalRow("reference ratio, over what was handed in", s.reference_ratio))
    return _markup(draw(rows, title=f"Score: {counts_line(s)}"))


def counts(record: "Record") -> list[tuple[Kind, int]]:
    """(kind, how many) for the kinds that occur, the best first; the totals of the whole run, whatever may be shown of it."""
    s = record.summary
    found = {**s.counts, "right": s.n_right, "wrong": s.n_wrong, "partial": s.counts["scored"] - s.n_right - s.n_wrong}
    order = ["right", "partial", "wrong", "missing", *(name for name in KINDS if name not in ("right", "partial", "wrong", "missing"))]
    return [(KINDS[name], found[name]) for name in order if found.get(name)]


def _notes(record: "Record", evidence: Evidence) -> Iterator[str]:
    """What this report does not show, and why."""
    if record.level != "cells":
        yield f"Gold's values are not shown here (reveal level: {record.level})."
    if evidence.note:
        yield evidence.note[:1].upper() + evidence.note[1:] + "."


def figures(record: "Record") -> Iterator[tuple[str, "Markup", str]]:
    """(title, picture, note) of each figure."""
    from evalsuite.reports.pictures import flips, histogram

    s = record.summary
    for title, table in (("By scorer", s.by_scorer), ("By group", s.by_group)):
        if table:
            yield title, _rows_picture(title, table), _more(len(table) - MOST_ROWS_DRAWN)
    if s.histogram:
        bins = [(at / len(s.histogram), (at + 1) / len(s.histogram), n) for at, n in enumerate(s.histogram)]
        yield "Distribution of scores", _markup(histogram.draw(bins, title="Distribution of scores")), ""
    pairs = [(r.official == 1, r.strict == 1) for r in record.results if r.official is not None and r.strict is not None]
    if s.flips:
        both, first, second, neither = (pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False)))
        matrix = flips.Flips(both=both, first_only=first, second_only=second, neither=neither)
        yield "Official and strict", _markup(flips.draw(matrix, title="Official and strict verdicts")), ""


def _rows_picture(title: str, table: Mapping[str, Mapping[str, Any]]) -> "Markup":
    from evalsuite.reports.pictures.intervals import IntervalRow, draw
    from evalsuite.summary import Mean

    rows = []
    for name, found in list(table.items())[:MOST_ROWS_DRAWN]:
        low, high = found["interval_95"] or (None, None)
        mean = Mean(n=found["n"], low=found["score_low"], high=found["score_high"], n_unjudged=0)
        words = "not judged" if found["score"] is None else share(mean)
        rows.append(IntervalRow(name, found["score"], low, high, words=words, bound=found["score_high"]))
    return _markup(draw(rows, title=title))


def _more(n: int) -> str:
    return f"{n} more not drawn; run.json holds all" if n > 0 else ""


def _bodies(record: "Record", order: Sequence[int], evidence: Evidence) -> list[Any]:
    """The opened row of each instance in gold order; the least telling ones stay empty where they are too many for one file."""
    bodies: list[Any] = [""] * len(order)
    size, groups = 0, record.groups
    for at in order:
        if size < MOST_BODIES:
            result = record.results[at]
            name = result.instance_id
            bodies[at] = body(result, evidence.found.get(name), groups=groups.get(name, ()))
            size += len(bodies[at])
        else:
            bodies[at] = _markup('<p class="note">Left out to keep this file small: see <code>evalsuite explain</code>.</p>')
    return bodies


def _index(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows as short lists, as `script.js` reads them."""
    kinds = list(KINDS)
    scorers = list(dict.fromkeys(one["scorer"] for one in rows))
    groups = list(dict.fromkeys(tag for one in rows for tag in one["groups"]))
    scorer_at, group_at, kind_at = ({name: at for at, name in enumerate(names)} for names in (scorers, groups, kinds))
    return {
        "kinds": [{"name": kind.name, "sign": kind.sign, "words": kind.words} for kind in KINDS.values()],
        "scorers": scorers,
        "groups": groups,
        "per_block": PER_BLOCK,
        "rows": [
            [
                one["id"],
                kind_at[one["kind"]],
                one["official"],
                one["strict"],
                scorer_at[one["scorer"]],
                [group_at[tag] for tag in one["groups"]],
                one["flip"],
                one["why"],
                at,
            ]
            for at, one in enumerate(rows)
        ],
    }


def _choices(record: "Record", rows: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """The options of the three filters: what occurs, with its count."""
    seen = Counter(one["kind"] for one in rows)
    kinds = [(name, f"{KINDS[name].words} ({seen[name]})") for name in sorted(seen, key=lambda name: RANKS[name])]
    if record.summary.flips:
        kinds.append(("flips", f"flips ({len(record.summary.flips)})"))
    s = record.summary
    return {
        "kind": kinds,
        "scorer": [(name, f"{name} ({found['n']})") for name, found in s.by_scorer.items()],
        "group": [(name, f"{name} ({found['n']})") for name, found in s.by_group.items()],
    }


def _warnings(record: "Record") -> list[str]:
    found = [str(line) for line in record.run.get("warnings", ())]
    return found[:MOST_WARNINGS] + ([f"{len(found) - MOST_WARNINGS} more in run.json"] if len(found) > MOST_WARNINGS else [])


def receipt(record: "Record") -> Iterator[tuple[str, str]]:
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
