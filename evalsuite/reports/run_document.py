"""Document of a run: the columns of its results, its numbers in words, and its parts for each form.

A column in `COLUMNS` appears in every format.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import FAULTS, count_words
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.runtime import program
from evalsuite.core.status import FAULTY, KINDS, NO_GOLD, UNJUDGED, kind_of, raw_value, results_by, sign_of, sign_under
from evalsuite.core.version import __version__
from evalsuite.gold.spec import NOTHING, Exchange
from evalsuite.reports.document import (
    EVERYWHERE,
    MACHINES,
    Case,
    Code,
    Column,
    Document,
    Form,
    Own,
    Section,
    Strong,
    Suite,
    Table,
    Words,
    grade,
    id_list,
    interval_words,
    percent,
    text_of,
)
from evalsuite.reports.record import (
    Record,
    bounds_words,
    ceiling_words,
    confidence_words,
    counts_line,
    coverage,
    faults_by_hint,
    flip_of,
    flips_by_kind,
    further_lines,
    judge_words,
    pair_lines,
    raw_words,
    reason_of,
    row_words,
    score_line,
    share,
    verdict_line,
)
from evalsuite.runs.run_files import SCHEMA_VERSION
from evalsuite.runs.run_options import clock_in, requested_rules, signature_parts
from evalsuite.stats.units import pooled_confusions

if TYPE_CHECKING:
    from pathlib import Path

    from evalsuite.analysis.explain.instance_evidence import FindEvidence
    from evalsuite.core.types import Result


MOST_FIELDS = 20
_WITH_DIGIT = lazy_pattern(r"\[[\d\[\], ]+\]|\S*\d\S*")


def field_sections(record: "Record", form: Form) -> Iterator[Section]:
    """Yield the pooled fields, the worst F1 first, and the most common confusions if gold may be shown; nothing for runs without fields."""
    rows = [{"path": path, **row} for path, row in record.summary.by_field.items()]
    if rows:
        from evalsuite.reports.score_text import confusions_section, fields_section

        rows_shown = rows if form == "html" else rows[:MOST_FIELDS]
        yield fields_section("fields over all instances, worst first", rows_shown, len(rows), "-o FILE.json lists all")
        if confusions := pooled_confusions(record.results):
            yield confusions_section(confusions)


_LISTS: frozenset[Form] = MACHINES | {"markdown"}
_STYLES = {"right": "green", "wrong": "red", "partial": "cyan", "missing": "dim"}


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A result with report data: the run's name, its groups, question and answer."""

    result: "Result"
    run: str
    groups: tuple[str, ...] = ()
    exchange: Exchange = NOTHING

    @property
    def reason(self) -> str:
        """The reason, with the missing gold text if it may be shown."""
        return self.exchange.full_reason(self.result.reason)

    corrected: float | None = None


def _int_if_whole(value: float | None) -> float | None:
    """Return the number as in results.jsonl: 1, not 1.0."""
    return int(value) if value is not None and value == int(value) else value


def _result_column(name: str, words: "Callable[[Result], Words]", **how: Any) -> Column[ReportRow]:
    """Return the column of a field of the results; numbers are written as in results.jsonl."""

    def value(row: ReportRow) -> Any:
        value = getattr(row.result, name)
        return _int_if_whole(value) if isinstance(value, float) else value

    return Column(name=name, value=value, words=lambda row: words(row.result), **how)


def _verdict_column(name: str, short: str) -> Column[ReportRow]:
    """Return the column of one rule's verdict."""

    def look(row: ReportRow) -> str:
        sign = sign_under(row.result, getattr(row.result, name))
        return next((style for kind, style in _STYLES.items() if KINDS[kind].sign == sign), "cyan" if "." in sign else "yellow")

    how = {"short": short, "role": "mark", "type": "DOUBLE", "style": look, "forms": MACHINES | {"text", "html"}}
    return _result_column(name, lambda row: sign_under(row, getattr(row, name)), **how)


def _exchange_column(name: str) -> Column[ReportRow]:
    """Return a column of texts of a text answer; on a terminal they are shown below the row."""

    def text(row: ReportRow) -> str | None:
        return getattr(row.exchange, name) or None

    return Column(name=name, value=text, words=lambda row: Code(text(row) or ""), forms=frozenset({"csv", "markdown", "html"}))


def scorer_columns(scorers: Sequence[str]) -> Iterator[Column[ReportRow]]:
    """Return a column per scorer of a suite with several: its score, or its value on its own scale."""
    column_names = {column.name for column in COLUMNS}

    def column(scorer: str) -> Column[ReportRow]:
        def has_values(row: ReportRow) -> "Result | None":
            return results_by(row.result, scorers).get(scorer)

        def value(row: ReportRow) -> float | None:
            result = has_values(row)
            return None if result is None else _int_if_whole(result.score if result.score is not None else raw_value(result))

        def words(row: ReportRow) -> Own:
            result = has_values(row)
            raw = None if result is None else raw_value(result)
            return Own("" if result is None else sign_under(result, result.score) if raw is None else f"{raw:.4g}")

        name = f"{scorer}_score" if scorer in column_names else scorer
        return Column(name=name, short=scorer[:6], type="DOUBLE", value=value, words=words, is_number=True)

    return map(column, scorers)


EXCHANGE_COLUMNS: tuple[Column[ReportRow], ...] = tuple(map(_exchange_column, Exchange._fields))

# Order for programs; people see names first, then verdicts, then the rest, and the reason last.
COLUMNS: tuple[Column[ReportRow], ...] = (
    Column(name="run", value=lambda row: row.run, forms=frozenset({"parquet"})),
    _result_column("instance_id", lambda row: Code(row.instance_id, 80), title="instance", role="name", forms=EVERYWHERE - {"junit"}),
    _result_column("status", lambda row: Own(row.status if row.status in FAULTY else ""), role="name", forms=_LISTS),
    _result_column(
        "score",
        lambda row: Own(sign_of(row.score) if kind_of(row).name == "partial" else ""),
        type="DOUBLE",
        role="mark",
        forms=_LISTS,
    ),
    _verdict_column("official", "off"),
    _verdict_column("strict", "str"),
    _result_column("scorer", lambda row: Code(row.scorer or "", 40), role="name", forms=EVERYWHERE - {"junit"}),
    Column(name="reason", title="why", role="why", value=lambda row: row.result.reason, words=lambda row: Code(row.reason), forms=_LISTS),
    Column(name="why", role="why", words=lambda row: row.exchange.full_reason(reason_of(row.result)), forms=frozenset({"text", "html"})),
    Column(name="fault", value=lambda row: row.result.fault, forms=MACHINES),
    Column(name="flip", value=lambda row: row.result.details.get("flip") or None, forms=frozenset({"csv"})),
    Column(name="groups", type="VARCHAR[]", value=lambda row: list(row.groups), forms=frozenset({"csv", "parquet"})),
    Column(name="details", type="JSON", value=lambda row: row.result.details, forms=frozenset({"json", "parquet"})),
    Column(name="seconds", type="DOUBLE", value=lambda row: round(row.result.seconds, 6), spelled="{:.6f}".format, forms=MACHINES),
    *EXCHANGE_COLUMNS,
)


# With errata: the score after the entry of the instance, None for a waived instance.
_IN_TABLES: frozenset[Form] = frozenset({"csv", "parquet"})
CORRECTED: Column[ReportRow] = Column(name="corrected", type="DOUBLE", value=lambda row: _int_if_whole(row.corrected), forms=_IN_TABLES)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of n results, made while they are read, so that 100,000 rows are never in memory."""

    results: "Sequence[Result]"
    record: "Record"

    def __iter__(self) -> Iterator[ReportRow]:
        name, groups, exchange = self.record.name, self.record.groups, self.record.exchange
        applied = {row["instance_id"]: row["corrected"] for row in (self.record.run.get("corrections") or {}).get("applied", ())}

        def corrected_score(result: "Result") -> float | None:
            if result.instance_id not in applied or kind_of(result).name == "handed_in":
                return result.score
            return (applied[result.instance_id] or {}).get("score")

        return (
            ReportRow(result, name, groups.get(result.instance_id, ()), exchange(result.instance_id), corrected_score(result))
            for result in self.results
        )


def results_table(record: "Record", results: "Sequence[Result] | None" = None, *, has_texts: bool = True) -> Table[ReportRow]:
    """Return the table of the results, by default all in gold order; `has_texts` puts question, gold and answer below each row."""
    rows = _Rows(record.results if results is None else results, record)
    return Table(columns=_columns_of(record), rows=rows, is_listed=True, is_long=True, below=_add_texts if has_texts else None)


def _columns_of(record: "Record") -> list[Column[ReportRow]]:
    after = next(at for at, column in enumerate(COLUMNS) if column.name == "strict") + 1
    corrected = [CORRECTED] if record.run.get("corrections") else []
    return [*COLUMNS[:after], *scorer_columns(record.summary.scorers), *COLUMNS[after:], *corrected]


def _add_texts(row: ReportRow) -> list[tuple[str, str, str]]:
    _, reference, answer = row.exchange
    # No word of a right answer is marked: it may contain more than gold.
    other = ("", "", "") if row.result.score == 1 else ("", answer, reference)
    texts = zip(("question", "gold", "answer"), row.exchange, other, strict=True)
    return [(label, text, against) for label, text, against in texts if text]


def ci_outcome(result: "Result") -> tuple[str, str]:
    """Return (`passed`, `failure`, `error` or `skipped`; its type: wrong, partly_right, missing, or the fault code).

    Wrong, partly right and missing answers are failures; unreadable or unjudgeable ones are errors with their fault code; instances without
    a verdict are skipped.
    """
    if result.status == "scored" and result.score is not None:
        return ("passed", "") if result.score == 1 else ("failure", "partly_right" if result.score else "wrong")
    if result.status == "missing":
        return "failure", "missing"
    if result.status == "scored":
        # A value on the metric's own scale is no failure; else the verdict is hidden (`--reveal none`).
        return ("passed", "") if raw_value(result) is not None else ("skipped", "not_shown")
    if result.status == "unscored":
        return "skipped", result.fault or result.status
    return "error", result.fault or result.status


def results_suite(record: "Record", places: Mapping[str, str]) -> Suite:
    """Return the test cases of all results in gold order, classed by suite and scorer; `places` maps ids to lines of the submission."""
    score = [("score", percent(record.summary.score))] if record.summary.score is not None else []
    numbers = [*score, ("coverage", coverage(record.summary))]
    properties = [("submission", record.submission), ("rules", record.rules_label), *numbers, ("signature", str(record.run["signature"]))]
    columns = [column for column in _columns_of(record) if "junit" in column.forms]
    cases = [_result_case(record.suite, row, columns, places) for row in results_table(record).rows]
    return Suite(name=record.suite, cases=cases, properties=properties)


def _result_case(suite: str, row: ReportRow, columns: Sequence[Column[ReportRow]], places: Mapping[str, str]) -> Case:
    result = row.result
    kind, type_ = ci_outcome(result)
    # The submitter can fix an error; right and hidden verdicts have no annotation.
    level = "warning" if result.status in UNJUDGED else "error"
    return Case(
        name=result.instance_id,
        classname=f"{suite}.{result.scorer or result.status}",
        kind=kind,
        type=type_,
        message=result.reason or (FAULTS[result.fault].message if result.fault in FAULTS else result.status),
        body="\n".join(f"{label}: {text}" for label, text in zip(Exchange._fields, row.exchange, strict=True) if text),
        points=sign_of(result.score) if type_ == "partly_right" else "",
        place=places.get(result.instance_id, ""),
        level="" if kind == "passed" or type_ == "not_shown" else level,
        seconds=result.seconds,
        properties=[(column.head, text_of(column.cell(row))) for column in columns],
    )


# With more instances than this, right ones are counted on one line, and with more rows question, gold and answer are left out.
ROWS_IN_FULL = 10
# Most lines of instances that are not right; --failures shows all.
MOST_LINES = 25
# Laying out 10,000 rows would take longer than scoring them.
MOST_ROWS = 2000
# More missing instances than this are counted on one line instead of listed.
ABSENT_IN_FULL = 10
MOST_WARNINGS = 8
# Kind of a note -> its words, if its instances need not belong together: each has the answer of four others, not of all that are listed.
_NOTES = {"same answer": "each with the answer of 4 or more others"}
WORST_GROUPS = 10
# Groups that a line of the terminal names.
MOST_GROUPS = 40


def run_document(
    record: "Record",
    *,
    failures: bool = False,
    verbose: bool = False,
    durations: int = 0,
    find_evidence: "FindEvidence | None" = None,
    places: Mapping[str, str] | None = None,
    databases: "Path | None" = None,
) -> Document:
    """Build the report of a run; `record` is already redacted.

    On a terminal, `failures` leaves out instances that are right under every rule, `verbose` adds every detail of the shown ones,
    `durations` the slowest n, and `databases`, the folder of the run, is part of the suggested command. `find_evidence` computes what a
    page shows next to wrong answers; `places` maps ids to `file:line` for annotations.
    """

    def sections(form: Form) -> Iterator[Section]:
        if form == "text":
            yield from _terminal_sections(record, failures=failures, verbose=verbose, durations=durations, databases=databases)
        elif form == "markdown":
            yield from _comment_sections(record)
        elif form == "html":
            from evalsuite.reports.run_page import run_page_sections

            yield from run_page_sections(record, results_table(record), field_sections(record, "html"), find_evidence)

    s = record.summary
    parts = (
        f"evalsuite {__version__}",
        f"{record.suite} ({coverage(s)}{'' if record.layout == 'original' else f', layout {record.layout}'})",
        f"{record.submission} ({s.n_submitted} submitted)",
        f"rules {record.rules_label}",
        *([f"clock at {clock}"] if (clock := clock_in(str(record.run.get("signature", "")))) else []),
    )
    forms: tuple[Form, ...] = ("csv", "json", "parquet")
    return Document(
        name=record.suite,
        title=" · ".join(parts),
        heading=(Code(record.suite, 80), " · ", Code(record.submission, 80), *([Own(f" · {coverage(s)}")] if s.is_part else ())),
        sections=sections,
        last_line=verdict_line(s),
        tables={form: results_table(record) for form in forms},
        whole={"schema_version": SCHEMA_VERSION, **record.run, "name": record.name, "tags": list(record.tags)},
        rows_key="results",
        suites=lambda: [results_suite(record, places or {})],
        width=120,
        last_stands_apart=False,
        has_script=True,
    )


def _terminal_sections(record: "Record", *, failures: bool, verbose: bool, durations: int, databases: "Path | None") -> Iterator[Section]:
    results_shown, left_out = _rows_in_order(record, failures=failures, folded=not verbose)
    has_texts = failures or verbose or len(results_shown) <= ROWS_IN_FULL
    yield Section(table=results_table(record, results_shown, has_texts=has_texts), below=left_out)
    if verbose:
        from evalsuite.reports.score_text import instance_text

        for result in results_shown:
            yield Section(look="block", lines=instance_text(result).rstrip("\n").split("\n"))
    if durations:
        slowest = sorted(record.results, key=lambda result: -result.seconds)[:durations]
        lines = [f"{result.seconds:9.3f} s  {result.instance_id}  {result.scorer or result.status}" for result in slowest]
        yield Section(title=f"slowest {len(slowest)}", look="quiet", lines=lines)
    yield from field_sections(record, "text")
    yield Section(pairs=list(faults_by_hint(record.results)))
    yield Section(pairs=list(number_lines(record)))
    notes = [f"  {_NOTES.get(kind, kind)}  {id_list(ids)}" for kind, ids in list(record.run.get("notes", {}).items())[:MOST_WARNINGS]]
    if notes:
        yield Section(title="notes: facts without effect on the score", look="quiet", lines=notes)
    if record.folder is not None:
        # On one line at any width, so that it can be copied.
        yield Section(look="lines", lines=["", f" next: {program()} {_next_step(record, databases)}"])
    if warnings := record.run.get("warnings"):
        by_pattern: dict[str, list[str]] = {}
        for line in warnings:
            # The same sentence about other lines, ids and columns.
            by_pattern.setdefault(_WITH_DIGIT.sub("#", line), []).append(line)
        lines = [f"  {first}" + f" (and {len(more)} more like it)" * bool(more) for first, *more in by_pattern.values()]
        rest = (f"  ... {len(lines) - MOST_WARNINGS} more in run.json", "") if lines[MOST_WARNINGS:] else ("",)
        yield Section(title=count_words(len(warnings), "warning"), look="warning", lines=lines[:MOST_WARNINGS], below=rest)


def _next_step(record: "Record", databases: "Path | None") -> str:
    """Return the most likely next command: explain the first wrong answer, or write a page.

    A saved run does not store its databases folder, so the command names it again.
    """
    import shlex

    assert record.folder is not None
    is_default_folder = record.folder.parent.parts[-2:] == (".evalsuite", "runs") and not record.folder.is_absolute()
    from evalsuite.runs.history import short_name

    name = shlex.quote(short_name(record.folder) if is_default_folder else str(record.folder))
    wrong = next((result for result in record.results if result.status == "scored" and result.score not in (1, None)), None)
    plugins = _plugin_options(record)
    if wrong is None or record.level == "none" or plugins is None:
        return f"report {name} -o report.html"
    more = "".join(f" --{option} {shlex.quote(str(place))}" for option, place in (("databases", databases), *plugins) if place)
    return f"explain {shlex.quote(wrong.instance_id)} --run {name}{more}"


def _plugin_options(record: "Record") -> "list[tuple[str, Path]] | None":
    """Return the options by which a command finds the plugins that scored the run: gold, which is executed only if the user names it, and
    files of this call; None if a saved run was scored by a file that it does not name.
    """
    if "plugins" not in signature_parts(str(record.run.get("signature", ""))):
        return []
    from pathlib import Path

    from evalsuite.core.errors import EvalsuiteError
    from evalsuite.gold.suite_yaml import read_suite
    from evalsuite.scorers import SCORERS

    gold = Path(record.run["gold"]["folder"])
    files = dict.fromkeys(Path(file) for _, file, *_ in SCORERS.registered_plugins())
    known = set(SCORERS.names())
    if not files:
        try:
            known |= read_suite(gold, plugins=False).extra.get("unexecuted", frozenset())
        except EvalsuiteError:
            return None
    if not known.issuperset(record.summary.by_scorer):
        return None
    return [("gold", gold), *(("plugin", file) for file in files if not file.is_relative_to(gold.resolve()))]


def _rows_in_order(record: "Record", *, failures: bool, folded: bool) -> tuple[list["Result"], list[str]]:
    """Return the results to show, wrong ones first, then flips, faults, missing and right ones, each by cause, and lines that count
    those left out.

    Of `folded` faults with equal text only the first is shown.
    """
    # Within a place by the flip's cause, the fault, the scorer.
    ordered = sorted(record.results, key=lambda row: (_place_in_report(row), flip_of(row) or row.fault or row.scorer or ""))
    left_out: list[str] = []
    n_absent = sum(result.status == "missing" for result in ordered)
    if folded:
        ordered, left_out = _first_fault_of_each_kind(ordered)
    if n_absent > ABSENT_IN_FULL:
        ordered = [result for result in ordered if result.status != "missing"]
        left_out += [f"...  {n_absent} missing; -o FILE.csv lists them"]
    if failures or (folded and len(record.results) > ROWS_IN_FULL):
        n_right = sum(_place_in_report(result) == 4 for result in ordered)
        ordered = [result for result in ordered if _place_in_report(result) < 4]
        left_out += [f"...  {n_right} more, right under every rule that judged them"] * bool(n_right)
    if folded and not failures:
        if n_more := len(ordered[MOST_LINES:]):
            left_out = [f"...  {n_more} more that are not right; --failures shows all", *left_out]
        ordered = ordered[:MOST_LINES]
    if n_cut := max(0, len(ordered) - MOST_ROWS):
        left_out = [f"...  {n_cut} more not shown; -o FILE.csv lists all", *left_out]
    return ordered[:MOST_ROWS], left_out


def _place_in_report(result: "Result") -> int:
    """Return 0 for wrong and measured answers, 1 for flips, 2 for faults, 3 for missing and 4 for right ones."""
    if result.status in FAULTY or result.status == "missing":
        return 2 if result.status in FAULTY else 3
    if kind_of(result).name == "measured":
        return 0
    if result.official is not None and result.strict is not None and result.official != result.strict:
        return 1
    return 4 if result.score == 1 else 0


def _first_fault_of_each_kind(ordered: Sequence["Result"]) -> tuple[list["Result"], list[str]]:
    """Return the results with one of each set of faults with equal text, and a line for the others of each set."""
    ids_of_fault: dict[tuple[str, str | None, str], list[str]] = {}
    for result in ordered:
        if result.status in FAULTY:
            ids_of_fault.setdefault((result.status, result.fault, result.reason), []).append(result.instance_id)
    first = {ids[0] for ids in ids_of_fault.values()}
    lines = [f"...  {len(ids) - 1} more with {key[1]} as {ids[0]}: {id_list(ids[1:])}" for key, ids in ids_of_fault.items() if ids[1:]]
    return [result for result in ordered if result.status not in FAULTY or result.instance_id in first], lines


def number_lines(record: "Record") -> Iterator[tuple[str, str]]:
    """Yield the numbers of a run, each as (label, text)."""
    s = record.summary
    units = f", {count_words(s.n_units, 'record')}" if s.n_units > s.n_gold else ""
    yield count_words(s.n_gold, "instance") + units, counts_line(s)
    if s.n_gold:
        yield "score", score_line(record)
    yield from further_lines(record)
    yield from ((f"flips {way}", text) for way in ("down", "up") if (text := flips_by_kind(s, down=way == "down")))
    if ratios := leaderboard_ratios(record):
        text = " · ".join(f"{right}/{n} = {percent(right / n)} {over}" for right, n, over in ratios)
        yield ("leaderboard", text) if len(ratios) > 1 else ("reference ratio", f"{text}; for comparison only")
    for label, rows in (("by scorer", s.by_scorer), ("by group", s.by_group)):
        if rows:
            the_score = dict.fromkeys(s.scorers[:1] if rows is s.by_scorer else (), " (the score)")
            rules, shown = requested_rules(record.run), islice(rows.items(), MOST_GROUPS)
            words = [row_words(name, row, rules) + the_score.get(name, "") for name, row in shown]
            rest = [f"{len(rows) - MOST_GROUPS} more, -o FILE.json lists all"] if len(rows) > MOST_GROUPS else []
            yield label, " · ".join([*words, *rest])
    yield from pair_lines(s)
    if reached := ceiling_words(record):
        yield "gold reaches", reached
    if judge := record.run.get("judge"):
        yield "judge", judge_words(judge)
    yield "signature", str(record.run["signature"])
    if isolation := str((record.run.get("receipt") or {}).get("isolation", "")):
        yield "isolation", f"{isolation}: no sandbox, for submissions you trust" if isolation == "none" else isolation
    yield "saved", str(record.folder) if record.folder is not None else "no"


def leaderboard_ratios(record: "Record") -> list[tuple[int, int, str]]:
    """Return (right, of how many, which) under the official rules: over submitted instances, as the reference's own ratio is.

    In a checkout of a benchmark also over all, and over those that can be scored here, as its leaderboard counts. Empty if hidden.
    """
    s = record.summary
    is_hidden = all(result.official is None for result in record.results)
    submitted = round((s.reference_ratio or 0) * s.n_reference), 0 if s.reference_ratio is None else s.n_reference, "over submitted"
    folder = str(record.run.get("gold", {}).get("folder", ""))
    if (record.layout == "original" and "evaluation_suite/gold" not in folder) or s.is_part or is_hidden:
        return [submitted] if submitted[1] else []
    right = sum(result.official == 1 for result in record.results)
    n_open = sum(result.status in UNJUDGED for result in record.results)
    n_open += sum(len(record.run.get("notes", {}).get(kind, ())) for kind in NO_GOLD)
    rows = [(right, s.n_gold, "over all"), submitted, (right, s.n_gold - n_open, "over what can be scored here")]
    return [row for row in rows if row[1]]


def _comment_sections(record: "Record") -> Iterator[Section]:
    """Yield the parts of a Markdown comment: the numbers, the worst groups, and everything else folded."""
    s = record.summary
    if s.n_gold:
        more = [*further_lines(record), *([("gold reaches", reached)] if (reached := ceiling_words(record)) else [])]
        part = f" on {coverage(s)}" if s.is_part else ""
        score, bounds = Strong(raw_words(s.raw) if s.raw else share(s.chosen)), bounds_words(s) + confidence_words(s)
        first = (score, Own(f"{part} under {record.rules_label} rules{bounds}"))
        yield Section(prose=(first, *(Own(f"{label} {' · '.join(text.split('    '))}") for label, text in more)))
        yield Section(prose=(Own(counts_line(s)),))
    else:
        yield Section(prose=("no instance to score",))
    # The scorers only if there are several, or no groups.
    if len(s.by_scorer) > 1 and (s.scorers or not s.by_group):
        yield _sort_by_score("scorer", s.by_scorer)
    if len(s.by_group) > 1:
        yield _sort_by_score("group", s.by_group)
    yield from field_sections(record, "markdown")
    yield from _folded_sections(record)
    yield Section(look="foot", lines=((Own(f"evalsuite {__version__} · "), Code(str(record.run["signature"]))),))


def _sort_by_score(name: str, rows: Mapping[str, Mapping[str, Any]]) -> Section:
    worst = sorted(rows.items(), key=lambda item: (item[1]["score"] is None, item[1]["score"] or 0.0, -item[1]["n"]))

    def right(item: tuple[str, Any]) -> Own:
        row = item[1]
        return Own(f"{row['n_right']}/{row['n_judged']}" if row["score"] is not None else "not judged" if row["raw"] is None else "")

    def score(item: tuple[str, Any]) -> Own:
        score, raw = item[1]["score"], item[1].get("raw")
        return Own(percent(score) if score is not None else "" if raw is None else f"mean {raw:.4g}")

    columns: list[Column[tuple[str, Any]]] = [
        Column(name=name, words=lambda item: Code(item[0], 60)),
        Column(name="right", words=right, is_number=True),
        Column(name="score", words=score, is_number=True),
        Column(name="95 % CI", words=lambda item: Own(interval_words(item[1].get("interval_95")))),
    ]
    rest = [f"... {len(worst) - WORST_GROUPS} more"] if len(worst) > WORST_GROUPS else ()
    table = Table(columns=columns, rows=worst[:WORST_GROUPS])
    return Section(prose=(Strong(f"{name.capitalize()}s, worst first"),), table=table, below=rest)


def _folded_sections(record: "Record") -> Iterator[Section]:
    by_kind: dict[str, list[Result]] = {}
    for result in record.results:
        kind = kind_of(result).name
        by_kind.setdefault("fault" if kind in FAULTY else kind, []).append(result)
    faults, wrong, partly = (by_kind.get(name, []) for name in ("fault", "wrong", "partial"))
    hints = [(Own("hint: "), Code(code), " ", Code(text)) for code, text in faults_by_hint(record.results)]
    yield Section(title=count_words(len(faults), "fault"), table=results_table(record, faults), lines=hints, is_folded=True)
    yield Section(title=f"{len(wrong)} wrong", table=results_table(record, wrong), is_folded=True)
    worst_first = sorted(partly, key=lambda result: result.score or 0.0)
    yield Section(title=f"{len(partly)} partly right, worst first", table=results_table(record, worst_first), is_folded=True)
    flips = []
    for flip in record.summary.flips:
        way = "down" if flip["strict"] < flip["official"] else "up"
        change = Own(f" {way} ({grade(flip['official'])} to {grade(flip['strict'])}) ")
        flips.append((Code(flip["instance_id"], 80), change, Code(flip["cause"])))
    yield Section(title=count_words(len(flips), "flip") + " between the rules", lines=flips, is_folded=True)
    missing = [Code(result.instance_id) for result in by_kind.get("missing", [])]
    yield Section(title=f"{len(missing)} missing", lines=missing, is_folded=True)
    warnings = [Code(warning) for warning in record.run.get("warnings", ())]
    yield Section(title=count_words(len(warnings), "warning"), lines=warnings, is_folded=True)
