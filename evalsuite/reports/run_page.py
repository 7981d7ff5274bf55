"""Build the HTML page of a run: the score, counts, pictures, and the filterable list of instances."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from evalsuite.compare.characters import clean
from evalsuite.core.errors import FAULTS
from evalsuite.core.registry import SHARE, are_rows
from evalsuite.core.status import KINDS, RANKS, failing_rule, further_results, kind_of, raw_value, sign_under
from evalsuite.core.version import __version__
from evalsuite.reports.document import Code, Picture, Section, Table, Tile, and_more, cut_text, percent, text_of
from evalsuite.reports.html import difference_html, environment, json_block
from evalsuite.reports.pictures import FlipCounts, IntervalRow, draw_bars, draw_flips, draw_histogram, draw_intervals
from evalsuite.reports.record import (
    Record,
    counts_line,
    coverage,
    faults_by_hint,
    flip_of,
    flip_words,
    flips_by_kind,
    further_lines,
    mean_of,
    score_line,
    share,
)
from evalsuite.reports.score_text import is_tree
from evalsuite.runs.run_options import clock_in

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.analysis.explain.instance_evidence import FindEvidence
    from evalsuite.core.types import Result


N_FIRST = 50
PER_BLOCK = 100
# Most characters of opened rows in a page, because larger pages load slowly; the page notes what is left out.
MOST_BODIES = 16_000_000
# Most rows of a page; of a larger run the worst are listed, and the page notes what is left out.
MOST_LISTED = 20_000

LONGEST_WHY = 240
LONGEST_DETAILS = 6_000
# Shown elsewhere on the page, so raw details leave them out.
_SHOWN_APART = frozenset({"reasons", "flip", "fault", "hint", "judge", "units", "beside"})
# Types of the fields of a judge's details.
_VERDICT = {"model": str, "value": SHARE, "label": str}
_MESSAGE = {"role": str, "content": str}
_SAID = ("unreadable", "why", "reply")


def instance_list(record: "Record", table: "Table[Any]", order: Sequence[int], evidence: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of the list template; `table` contains all results in gold order, `order` their indexes, the worst first.

    The first rows are in the document; all listed rows are JSON lists for `script.js`.
    """
    place_of = {at: place for place, at in enumerate(sorted(order[:MOST_LISTED]))}
    rows_shown, order = [row for at, row in enumerate(table.rows) if at in place_of], [place_of[at] for at in order[:MOST_LISTED]]
    more = [column for column in table.columns_of("html") if column.role == "more" and any(text_of(column.cell(row)) for row in rows_shown)]
    rows = [
        {
            **closed_row(row.result, groups=row.groups, reason=row.reason),
            "more": [(column.head, clean(text_of(column.cell(row)))) for column in more],
        }
        for row in rows_shown
    ]
    bodies = _opened_rows([row.result for row in rows_shown], record.groups, order, evidence)
    blank = {"id": "", "kind": "right", "signs": ("–", "–"), "scorer": "", "flip": "", "why": "", "more": ()}
    return {
        "rows": [(rows[at], bodies[at]) for at in order[:N_FIRST]],
        "rest": len(rows) > N_FIRST,
        "n_listed": len(rows),
        "n_gold": record.summary.n_gold,
        "kinds": KINDS,
        "blank": blank,
        "index": json_block(_script_index(rows, [column.head for column in more])),
        # Made lazily by the template.
        "chunks": (json_block(bodies[at : at + PER_BLOCK]) for at in range(0, len(bodies), PER_BLOCK)),
        "choices": _filter_choices(record, rows),
    }


def _opened_rows(
    results: Sequence["Result"], groups: Mapping[str, Sequence[str]], order: Sequence[int], evidence: Mapping[str, Mapping[str, Any]]
) -> list[Any]:
    """Return the opened row of each result; the least important ones stay empty if the file would be too large."""
    from markupsafe import Markup

    bodies: list[Any] = [""] * len(order)
    size = 0
    for at in order:
        if size < MOST_BODIES:
            result = results[at]
            name = result.instance_id
            bodies[at] = opened_row(result, evidence.get(name), groups=groups.get(name, ()))
            size += len(bodies[at])
        else:
            bodies[at] = Markup('<p class="note">Left out to keep this file small: see <code>evalsuite explain</code>.</p>')
    return bodies


def _script_index(rows: Sequence[Mapping[str, Any]], more: Sequence[str]) -> dict[str, Any]:
    """Return the rows as lists for `script.js`; `more` are the titles of the extra columns."""
    scorers = list(dict.fromkeys(row["scorer"] for row in rows))
    groups = list(dict.fromkeys(tag for row in rows for tag in row["groups"]))
    scorer_at, group_at, kind_at = ({name: at for at, name in enumerate(names)} for names in (scorers, groups, KINDS))
    return {
        "kinds": [{"name": kind.name, "sign": kind.sign, "words": kind.words} for kind in KINDS.values()],
        "scorers": scorers,
        "groups": groups,
        "per_block": PER_BLOCK,
        "more": list(more),
        "rows": [
            [
                entry["id"],
                kind_at[entry["kind"]],
                entry["official"],
                entry["strict"],
                scorer_at[entry["scorer"]],
                [group_at[tag] for tag in entry["groups"]],
                entry["flip"],
                entry["why"],
                at,
                entry["signs"],
                [text for _, text in entry["more"]],
            ]
            for at, entry in enumerate(rows)
        ],
    }


def _filter_choices(record: "Record", rows: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """Return the options of the three filters with their counts."""
    seen = Counter(row["kind"] for row in rows)
    kinds = [(name, f"{KINDS[name].words} ({seen[name]})") for name in sorted(seen, key=lambda name: RANKS[name])]
    if record.summary.flips:
        kinds.append(("flips", f"flips ({len(record.summary.flips)})"))
    s = record.summary
    # Not the numbers of the means: an instance on a scale of its own is in no mean.
    n_of = Counter(name for row in rows for name in (("scorer", row["scorer"]), *(("group", tag) for tag in row["groups"])))
    return {
        "kind": kinds,
        "scorer": [(name, f"{name} ({n_of['scorer', clean(name)]})") for name in s.by_scorer if name not in s.scorers[1:]],
        "group": [(name, f"{name} ({n_of['group', clean(name)]})") for name in s.by_group],
    }


def closed_row(result: "Result", *, groups: Sequence[str] = (), reason: str = "") -> dict[str, Any]:
    """Return the closed row of a result: id, kind, both values with signs, scorer, groups, flip, reason; all made printable.

    `reason` replaces the scorer's reason if more may be shown.
    """
    why = clean(flip_words(result) or reason or result.reason)
    return {
        "id": clean(result.instance_id),
        "kind": kind_of(result).name,
        "official": result.official,
        "strict": result.strict,
        "signs": (sign_under(result, result.official), sign_under(result, result.strict)),
        "scorer": clean(result.scorer or ""),
        "groups": [clean(tag) for tag in groups],
        "flip": clean(flip_of(result).partition(":")[0]),
        "why": cut_text(why, LONGEST_WHY),
    }


def opened_facts(result: "Result") -> list[tuple[str, str]]:
    """Yield (label, text) of an opened row: both rules' reasons, the flip, the fault and its hint, further scorers."""
    reasons: Mapping[str, Any] = result.details.get("reasons", {})
    rows = [(f"{rule} why", str(text)) for rule, text in reasons.items()] or [("why", result.reason)]
    flip, fault = str(result.details.get("flip", "")), str(result.details.get("fault", ""))
    if flip:
        is_reason = any(str(text) and str(text) in flip for text in reasons.values())
        rows.append(("flip", flip.partition(":")[0] if is_reason else flip))
    rows += [(name, f"{sign_under(further, further.score)}  {further.reason}") for name, further in further_results(result).items()]
    if fault and fault != result.reason:
        rows.append(("fault", fault))
    if result.fault in FAULTS:
        rows.append(("hint", str(result.details.get("hint") or FAULTS[result.fault].hint)))
    return rows + [(name, further.reason) for name, further in further_results(result).items() if further.reason]


def opened_row(
    result: "Result", evidence: Mapping[str, Any] | None = None, *, groups: Sequence[str] = (), is_alone: bool = False
) -> "Markup":
    """Return the opened row as HTML: facts, proved cause and difference if known, fields, raw details.

    `evidence` is one item of `explain.instance_evidence.explain_results`, already redacted. A row that `is_alone` on its page needs no
    link to itself.
    """
    from markupsafe import Markup

    proof_of = evidence or {}
    values = {
        "facts": [*opened_facts(result), *proofs(proof_of), *([("groups", ", ".join(groups))] if groups else [])],
        "difference": difference_html(proof_of.get("difference") or {}),
        "fields": fields_picture(result.details),
        "sql": str(proof_of.get("sql", "")).splitlines(),
        "asked": judge_exchanges(result.details),
        "raw": raw_details(result.details),
        "link": "" if is_alone else "#" + quote(clean(result.instance_id)),
    }
    return Markup(environment().get_template("instance_body.html").render(values))


def judge_exchanges(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the prompts, replies and readings of judges as lines, of the score, its parts and further scorers."""
    exchanges: list[dict[str, Any]] = []
    messages: Sequence[Mapping[str, str]] = ()
    verdicts, transcript = details.get("verdicts"), details.get("transcript")
    if not are_rows(verdicts, _VERDICT) or not are_rows(transcript, {}) or not all(map(_is_exchange, transcript)):
        verdicts, transcript = [], []
    for verdict, exchange in zip(verdicts, transcript, strict=False):
        messages = exchange.get("asked", messages)
        texts = [*((message["role"], message["content"]) for message in messages)]
        texts += [(name, exchange[name]) for name in _SAID if name in exchange]
        read = "no verdict" if verdict["value"] is None else f"{verdict['value']:.4g}"
        exchanges.append({
            "texts": [(name, text[:LONGEST_DETAILS].splitlines()) for name, text in texts],
            "read": f"{verdict['model']}: {read}" + (f" ({verdict['label']})" if verdict["label"] not in ("", read) else ""),
        })  # fmt: skip
    for value in details.values():
        exchanges += judge_exchanges(value) if isinstance(value, Mapping) else []
    return exchanges


def _is_exchange(exchange: Mapping[str, Any]) -> bool:
    return are_rows(exchange.get("asked", []), _MESSAGE) and all(isinstance(exchange.get(name, ""), str) for name in _SAID)


def proofs(evidence: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Yield (standing, cause) of an explanation that the scorer confirmed: `proved`, or `fits`."""
    explanation = evidence.get("explanation") or {}
    return [(str(cause["standing"]), str(cause.get("says") or cause["general"])) for cause in explanation.get("causes", ())]


def fields_picture(details: Mapping[str, Any]) -> "Markup | None":
    """Draw precision, recall and F1 of the worst twelve fields of a tree score; None for other scores."""
    if not is_tree(details) or not details["fields"]:
        return None
    fields = details["fields"][:12]
    rows = [(str(field["path"] or "(root)"), {name: field[name] for name in ("precision", "recall", "f1")}) for field in fields]
    rest = int(details["n_fields"]) - len(fields)
    return draw_bars(rows, title="Fields, worst first" + (f" ({rest} more not drawn)" if rest > 0 else ""))


def raw_details(details: Mapping[str, Any]) -> list[str]:
    """Return the remaining details as JSON lines, cut with a count; empty if none remain."""
    rest = {key: value for key, value in details.items() if key not in _SHOWN_APART}
    if not rest:
        return []
    text = json.dumps(rest, ensure_ascii=False, indent=1, default=str)
    if len(text) > LONGEST_DETAILS:
        text = text[:LONGEST_DETAILS] + f"\n… {len(text) - LONGEST_DETAILS} more characters in results.jsonl"
    return text.splitlines()


MOST_ROWS_DRAWN = 24
MOST_WARNINGS = 20


def run_page_sections(
    record: "Record", table: "Table[Any]", fields: Iterable[Section], find_evidence: "FindEvidence | None" = None
) -> Iterator[Section]:
    """Yield the parts of the page: `table` contains all results in gold order, `fields` are their pooled fields.

    `find_evidence` explains wrong results.
    """
    order = sorted(range(len(record.results)), key=lambda at: (RANKS[kind_of(record.results[at]).name], at))
    worth = [record.results[at] for at in order if failing_rule(record.results[at], record.rules) is not None]
    ids = [result.instance_id for result in worth if result.status == "scored"]
    evidence = find_evidence(record, ids) if find_evidence is not None else None
    clock = clock_in(str(record.run.get("signature", "")))
    s = record.summary
    about = f"{record.submission} · rules {record.rules_label}{clock and f' · clock at {clock}'} · {s.n_submitted} of {s.n_gold} submitted"
    yield from overview_sections(record, title=record.suite, about=about, fields=fields)
    notes = [f"Gold's values are not shown here (reveal level: {record.level})."] if record.level != "cells" else []
    if evidence is not None and evidence.note:
        notes.append(evidence.note[:1].upper() + evidence.note[1:] + ".")
    yield Section(below=notes)
    yield Section(look="instances", values=instance_list(record, table, order, evidence.found if evidence is not None else {}))
    yield Section(look="foot", pairs=list(receipt_pairs(record)))


def overview_sections(record: "Record", *, title: str, about: str, fields: Iterable[Section] = ()) -> Iterator[Section]:
    """Yield what a page shows of a run above its instances: the score, counts, pictures, fields, faults and warnings."""
    s, headline = record.summary, score_headline(record)
    part = f" · {coverage(s)}" if s.is_part else ""
    yield Section(
        look="hero",
        title=title,
        prose=[about, *score_sentences(record)],
        pictures=[Picture("", drawn)] if (drawn := score_picture(record)) is not None else (),
        values={"about": record.name, "headline": headline, "tab": f"{headline} · {record.suite} · {record.submission}{part}"},
    )
    yield Section(tiles=outcome_tiles(record))
    flips = [(way, text) for way, down in (("lost", True), ("gained", False)) if (text := flips_by_kind(s, down=down))]
    about_flips = {"title": "Flips", "note": "Instances with different verdicts under official and strict rules."} if flips else {}
    yield Section(look="cards", pictures=list(run_figures(record)), pairs=flips, values=about_flips)
    yield from fields
    yield Section(look="card", title="Faults", pairs=[(Code(code), words) for code, words in faults_by_hint(record.results)])
    warnings = [str(line) for line in record.run.get("warnings", ())]
    more = and_more(len(warnings) - MOST_WARNINGS, "in run.json")
    yield Section(look="card", title="Warnings", lines=[*warnings[:MOST_WARNINGS], *more])


def score_headline(record: "Record") -> str:
    """Return the score in percent or on the metric's own scale, or why there is none."""
    s = record.summary
    if s.raw:
        return f"{s.raw['mean']:.4g}"
    if s.chosen.value is None:
        return "not judged" if s.chosen.n else "no score" if s.n_gold else "no instance"
    return percent(s.chosen.value)


def score_sentences(record: "Record") -> list[str]:
    """Return how the score is made and how much of gold it covers, in the words of every report."""
    s = record.summary
    if not s.n_gold:
        return ["There was nothing to score."]
    part = [f"A part of gold: {coverage(s)}"] if s.is_part else []
    further = (f"{label} {' · '.join(text.split('    '))}" for label, text in further_lines(record))
    return [*part, f"Under {record.rules_label} rules {score_line(record)}", *further]


def score_picture(record: "Record") -> "Markup | None":
    """Draw the score with its interval, and the other rules' score; None without an instance."""
    s = record.summary
    if not s.n_gold:
        return None
    low, high = s.interval or (None, None)
    rows = [IntervalRow(record.rules, s.score, low, high, bound=s.chosen.high)]
    if s.other is not None:
        rows.append(IntervalRow(s.other_rules, s.other.value, bound=s.other.high))
    if s.reference_ratio is not None:
        rows.append(IntervalRow("reference ratio, over submitted instances", s.reference_ratio))
    return draw_intervals(rows, title=f"Score: {counts_line(s)}")


def outcome_tiles(record: "Record") -> list[Tile]:
    """Return the count of each kind, the best first; totals of the whole run at every reveal level."""
    s = record.summary
    numbers = {**s.counts, "right": s.n_right, "wrong": s.n_wrong, "partial": s.n_partial, "measured": s.n_measured}
    best = ("right", "partial", "wrong", "missing")
    order = [*best, *(name for name in KINDS if name not in best)]
    tiles = [Tile(numbers[name], KINDS[name].words, name) for name in order if numbers.get(name)]
    return [*tiles, Tile(len(s.flips), "flip")] if s.flips else tiles


def run_figures(record: "Record") -> Iterator[Picture]:
    """Yield the pictures: scores of the parts, distribution of scores, and flips."""
    s = record.summary
    for title, table in (("By scorer", s.by_scorer), ("By group", s.by_group)):
        if table:
            rest = len(table) - MOST_ROWS_DRAWN
            note = f"{rest} more not drawn; run.json contains all" if rest > 0 else ""
            yield Picture(title, _rows_picture(title, table), note)
    if s.by_field:
        fields = [(path or "(root)", {name: row[name] for name in ("precision", "recall", "f1")}) for path, row in s.by_field.items()]
        rest = len(fields) - MOST_ROWS_DRAWN
        note = f"worst first; {rest} more in the table" if rest > 0 else "worst first"
        yield Picture("By field", draw_bars(fields[:MOST_ROWS_DRAWN], title="Precision, recall and F1 by field"), note)
    if s.histogram:
        bins = [(at / len(s.histogram), (at + 1) / len(s.histogram), n) for at, n in enumerate(s.histogram)]
        yield Picture("Distribution of scores", draw_histogram(bins, title="Distribution of scores"))
    elif s.raw:
        values = [value for result in record.results if (value := raw_value(result)) is not None]
        bins = [(bar["low"], bar["high"], bar["count"]) for bar in bars(values, 10)]
        yield Picture("Distribution of raw values", draw_histogram(bins, title="Distribution of raw values"))
    pairs = [(r.official == 1, r.strict == 1) for r in record.results if r.official is not None and r.strict is not None]
    if s.flips:
        both, first, second, neither = (pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False)))
        matrix = FlipCounts(both=both, first_only=first, second_only=second, neither=neither)
        yield Picture("Official and strict", draw_flips(matrix, title="Official and strict verdicts"))


def bars(values: Sequence[float], n_bins: int) -> list[dict[str, Any]]:
    """Return `n_bins` equal bars over [min(0, least), max(1, largest)], the last one closed."""
    low, high = min([0.0, *values]), max([1.0, *values])
    counts = [0] * n_bins
    for value in values:
        counts[min(n_bins - 1, int((value - low) / (high - low) * n_bins))] += 1
    edges = [low + (high - low) * i / n_bins for i in range(n_bins + 1)]
    return [{"count": count, "low": edges[i], "high": edges[i + 1]} for i, count in enumerate(counts)]


def _rows_picture(title: str, table: Mapping[str, Mapping[str, Any]]) -> "Markup":
    rows = []
    for name, part in list(table.items())[:MOST_ROWS_DRAWN]:
        low, high = part["interval_95"] or (None, None)
        words = (
            share(mean_of(part, part["n"]))
            if part["score"] is not None
            else "not judged"
            if part["raw"] is None
            else f"mean {part['raw']:.4g}"
        )
        rows.append(IntervalRow(name, part["score"], low, high, words=words, bound=part["score_high"]))
    return draw_intervals(rows, title=title)


def receipt_pairs(record: "Record") -> Iterator[tuple[str, str]]:
    """Yield (label, text) of the last lines of the page: versions and settings of the run."""
    yield "signature", str(record.run["signature"])
    for name, value in record.run.get("metadata", {}).items():
        yield str(name).replace("_", " "), str(value)
    receipt = record.run.get("receipt", {})
    yield "made with", " · ".join([f"evalsuite {__version__}", *(f"{name} {value}" for name, value in receipt.items())])
    if record.tags:
        yield "tags", ", ".join(record.tags)
