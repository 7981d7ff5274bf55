"""Documents of the comparison of runs with a baseline (`analysis.leaderboard.comparison`)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import count_words
from evalsuite.core.version import __version__
from evalsuite.reports.document import (
    Case,
    Column,
    Document,
    Form,
    Picture,
    Section,
    Strong,
    Suite,
    Table,
    Tile,
    and_more,
    cut_text,
    grade,
    id_list,
    p_value,
    percent,
    points,
    rounded,
)
from evalsuite.reports.pictures import FlipCounts, IntervalRow, draw_flips, draw_intervals, interval_lines
from evalsuite.runs.run_options import rules_label
from evalsuite.stats.power import can_show

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.analysis.leaderboard import Candidate, Comparison
    from evalsuite.analysis.leaderboard.comparison import FieldDifference, PairedDifference, ScoreShift
    from evalsuite.analysis.leaderboard.pairing import Paired


MOST_FLIPS = 10
# Most flips of a brief report that take two lines each.
MOST_ANSWERS = 4
MOST_FIELDS = 20
MOST_GROUPS = 40
MOST_CLUSTER_TEXT = 200


def comparison_facts(comparison: "Comparison") -> tuple[str, ...]:
    """Return what all candidates have in common: the baseline, the rules, the number of instances."""
    rules = rules_label(comparison.rules, [comparison.signature])
    return f"baseline {comparison.baseline}", f"rules {rules}", f"{pairs_in_words(comparison)} paired"


def pairs_in_words(comparison: "Comparison") -> str:
    """Format the largest number of pairs of a candidate: `40 instances`, `27 of 40 instances`, or `1 instance, 200 records`."""
    n, n_units = max((sum(candidate.right), candidate.total.n) for candidate in comparison.candidates)
    return instances_in_words(n, comparison.part_of, n_units)


def instances_in_words(n: int, part_of: int | None, n_units: int) -> str:
    """Format a number of instances, of how many, and of how many records: `27 of 40 instances, 200 records`."""
    text = count_words(n, "instance") if part_of is None else f"{n} of {part_of} instances"
    return f"{text}, {n_units} records" if n_units > n else text


def comparison_verdict(comparison: "Comparison", *, gate: bool = False) -> str:
    """Return the last line: each candidate in a few words, or whether the gate was met, with the exit code if not."""
    lost = comparison.regressions
    part = "" if comparison.part_of is None else f" on {pairs_in_words(comparison)}"
    if gate and lost:
        return f"done: worse than {clean(comparison.baseline)}{part}: {clean(', '.join(lost))} (exit 1)"
    if gate and (undecided := comparison.undecided_names):
        return f"done: undecided, no instance was judged on both sides: {clean(', '.join(undecided))} (exit 1)"
    if gate:
        return f"done: no regression shown at alpha {comparison.alpha:g}{part}"
    return f"done: {candidates_in_words(comparison)}{part} (no gate set)"


def candidates_in_words(comparison: "Comparison") -> str:
    """Describe each candidate in a few words: `v2: worse (-25.0 points, p 0.0063)`."""

    def words(candidate: "Candidate") -> str:
        total, verdict = candidate.total, f"{clean(candidate.label)}: {candidate.verdict}"
        if candidate.verdict not in ("better", "worse"):
            return verdict
        return f"{verdict} ({own_points(total)}{'' if total.is_raw else ' points'}, p {p_value(total.p_adjusted)})"

    return " · ".join(map(words, comparison.candidates))


def comparison_sections(
    comparison: "Comparison", *, everything: bool = False, drawn: bool = False, brief: bool = False
) -> Iterator[Section]:
    """Yield the parts of the report in reading order; empty parts are left out. `drawn` adds intervals drawn in characters.

    A `brief` report has one or two lines for each flip, and ends with the totals.
    """
    if comparison.warnings:
        yield Section(title="warning", lines=tuple(map(clean, comparison.warnings)))
    if brief:
        for candidate in comparison.candidates:
            yield from _part_sections(comparison, candidate, everything, drawn=False)
            yield from _brief_flips(comparison, candidate, everything)
        yield _totals_section(comparison, brief=True)
        limits = ("errata", "clusters", "reveal")
        yield Section(lines=[f"{label:<12} {text}" for label, text in method_facts(comparison) if label in limits])
        return
    yield _totals_section(comparison)
    if drawn:
        yield Section(title="", lines=_draw_differences(candidate.total for candidate in comparison.candidates))
    for candidate in comparison.candidates:
        yield from _flip_sections(comparison, candidate, everything)
        yield from _part_sections(comparison, candidate, everything, drawn=drawn)
    yield Section(title="", lines=tuple(f"{label:<12} {text}" for label, text in method_facts(comparison)))


def _totals_section(comparison: "Comparison", *, brief: bool = False) -> Section:
    """Build the table of totals; a brief one lacks what the title and the last line contain, and the effect size."""
    has_errata = comparison.corrected is not None or any(candidate.corrected is not None for candidate in comparison.candidates)

    def corrected_words(candidate: "Candidate") -> str:
        return " -> ".join("-" if value is None else percent(value) for value in (comparison.corrected, candidate.corrected))

    columns: list[Column[Candidate]] = [
        *_difference_columns(comparison, "candidate", comparison.candidates, lambda row: row.total, family=len(comparison.candidates)),
        Column(name="d_z", words=lambda row: _signed_words(row.total.effect), is_number=True),
        Column(name="won / tied / lost", words=lambda row: f"{row.total.wins} / {row.total.ties} / {row.total.losses}", is_number=True),
        *([Column(name="corrected", words=corrected_words, is_number=True)] if has_errata else []),
        Column(name="verdict", words=lambda row: row.verdict),
    ]
    lines = [line for candidate in comparison.candidates for line in _notes_on_totals(comparison, candidate)]
    if brief:
        left_out = {"d_z", "verdict"} | ({"n"} if len({candidate.total.n for candidate in comparison.candidates}) == 1 else set())
        columns = [column for column in columns if column.name not in left_out]
    table = Table(columns=columns, rows=comparison.candidates)
    return Section(kind="candidate", table=table, lines=lines if brief or not lines else ("", *lines))


def _draw_differences(rows: "Iterable[PairedDifference]") -> tuple[str, ...]:
    """Draw the differences in characters; right of the bar is better."""
    return tuple(interval_lines([IntervalRow(clean(row.name) or "(root)", row.difference, row.low, row.high) for row in rows]))


def _notes_on_totals(comparison: "Comparison", candidate: "Candidate") -> Iterator[str]:
    label, base, people = clean(candidate.label), clean(comparison.baseline), candidate.people
    if people is not None:
        by = f"by {count_words(people.n, 'instance')} labelled on both sides and {people.n_others} without"
        yield f"{label}: as people would score it {points(people.estimate)} {_interval_in_words(people.low, people.high)} points, {by}"
    yield from (f"{label}: {text}" for text in _power(comparison, candidate))
    if candidate.unjudged:
        span = f": the difference over all instances is in {_interval_in_words(*candidate.bounds)}" if candidate.bounds else ""
        unjudged = count_words(len(candidate.unjudged), "instance")
        yield f"{label}: {unjudged} not judged on both sides, left out ({_some_ids(candidate.unjudged)}){span}"
    for ids, owner in ((candidate.only_baseline, base), (candidate.only_candidate, label)):
        if ids:
            yield f"{label}: {count_words(len(ids), 'instance')} only in {owner}, left out ({_some_ids(ids)})"
    yield from (f"{label}: {note}" for note in (candidate.total.note,) if note)


def _power(comparison: "Comparison", candidate: "Candidate") -> Iterator[str]:
    total, n_tests, least = candidate.total, len(comparison.candidates), candidate.detectable
    unit = "instance" if total.n == sum(candidate.right) else "record"
    of_tests = f" of {n_tests} comparisons" if n_tests > 1 else ""
    n_units, flipped = (total.n, unit) if total.n_clusters is None else (total.n_clusters, "cluster")
    if n_units and not can_show(n_units, comparison.alpha / n_tests):
        yield f"with {count_words(n_units, flipped)} this test{of_tests} cannot show any difference"
    elif least is not None:
        difference = f"{least:.4g}" if total.is_raw else f"{percent(least, '')} points"
        more = f"; {own_points(total)} would take about {count_words(candidate.n_needed, unit)}" if candidate.n_needed else ""
        if total.wins or total.losses:
            shown_by = f"{count_words(total.n, unit)} that differ as these do show"
        else:
            shown_by = f"{count_words(total.n, unit)}, of which only as many differ as it requires, show"
        yield f"{shown_by} a difference of {difference} with 80 % power{of_tests}{more}"


def _flip_sections(comparison: "Comparison", candidate: "Candidate", everything: bool) -> Iterator[Section]:
    base, label = clean(comparison.baseline), clean(candidate.label)
    for word, sign in (("lost", -1), ("won", 1)):
        flips = [flip for flip in candidate.flips if (flip.gain or 0) * sign > 0]
        flips_shown = flips if everything else flips[:MOST_FLIPS]
        if flips_shown:
            columns = _flip_columns(base, label, flips_shown)
            yield Section(
                title=f"{label} against {base}: {count_words(len(flips), 'instance')} {word}",
                kind=word,
                of=candidate.label,
                table=Table(columns=columns, rows=flips_shown, anchor=lambda flip: f"{label}/{clean(flip.instance_id)}"),
                below=and_more(len(flips) - len(flips_shown), word, "--all lists them"),
                is_folded=True,
            )


def _brief_flips(comparison: "Comparison", candidate: "Candidate", everything: bool) -> Iterator[Section]:
    """Yield the lost, then the won instances: why the wrong side is wrong, and both answers on a second line."""
    base, label = clean(comparison.baseline), clean(candidate.label)
    flips = sorted(candidate.flips, key=lambda flip: (flip.gain or 0) > 0)
    if not flips:
        return
    has_answers = any(flip.answer_a or flip.answer_b for flip in flips)
    n_won = sum((flip.gain or 0) > 0 for flip in flips)
    # Half of the lines are for the won instances, if there are as many.
    most, n_lost = MOST_ANSWERS if has_answers else MOST_FLIPS, len(flips) - n_won
    n_lost_shown = min(n_lost, max(most // 2, most - n_won))
    flips_shown = flips if everything else [*flips[:n_lost_shown], *flips[n_lost : n_lost + most - n_lost_shown]]
    counts = [count_words(n, "instance") + f" {word}" for n, word in ((n_lost, "lost"), (n_won, "won")) if n]

    def reason(flip: "Paired") -> str:
        reasons = (flip.reason_b, flip.reason_a) if (flip.gain or 0) < 0 else (flip.reason_a, flip.reason_b)
        return flip.visible_reason(next(filter(None, reasons), ""))

    def answers(flip: "Paired") -> Sequence[tuple[str, str, str]]:
        return [(base, flip.answer_a or "-", ""), (label, flip.answer_b or "-", "")] if flip.answer_a or flip.answer_b else ()

    scorers = [Column[Any](name="scorer", words=lambda flip: flip.scorer, role="name")] if len({flip.scorer for flip in flips}) > 1 else []
    columns: list[Column[Paired]] = [
        Column(name="instance", words=lambda flip: flip.instance_id, role="name"),
        *scorers,
        Column(name="scores", words=lambda flip: f"{grade(flip.a)} -> {grade(flip.b)}", role="mark"),
        Column(name="reason", title="why", words=reason, role="why"),
    ]
    yield Section(
        title=f"{label} against {base}: {', '.join(counts)}",
        of=candidate.label,
        table=Table(columns=columns, rows=flips_shown, is_listed=True, below=answers),
        below=and_more(len(flips) - len(flips_shown), how="--all lists them"),
    )


def _flip_columns(base: str, label: str, flips: "Sequence[Paired]") -> "list[Column[Paired]]":
    texts: list[Column[Paired]] = [
        Column(name="question", words=lambda flip: flip.question, wraps=True),
        Column(name="reference", words=lambda flip: flip.reference, wraps=True),
        Column(name="baseline_answer", title=base, words=lambda flip: flip.answer_a, wraps=True),
        Column(name="answer", title=label, words=lambda flip: flip.answer_b, wraps=True),
    ]
    return [
        Column(name="instance", words=lambda flip: flip.instance_id, role="name"),
        Column(name="scorer", words=lambda flip: flip.scorer),
        Column(name="scores", words=lambda flip: f"{grade(flip.a)} -> {grade(flip.b)}"),
        *(texts if any(flip.answer_a or flip.answer_b for flip in flips) else ()),
        Column(name="baseline_reason", title=f"why {base}", words=lambda flip: flip.visible_reason(flip.reason_a), role="why", wraps=True),
        Column(name="reason", title=f"why {label}", words=lambda flip: flip.visible_reason(flip.reason_b), role="why", wraps=True),
    ]


def _part_sections(comparison: "Comparison", candidate: "Candidate", everything: bool, *, drawn: bool) -> Iterator[Section]:
    """Yield the tables by scorer, group and field, and the shifts; a part with one row that equals the total is left out."""
    label = clean(candidate.label)
    for name, attribute in (("scorer", "by_scorer"), ("group", "by_group")):
        rows: Sequence[PairedDifference] = getattr(candidate, attribute)
        if len({row.name for row in rows}) > 1 or any(row.n < candidate.total.n for row in rows):
            family = sum(len(getattr(c, attribute)) for c in comparison.candidates)
            parts_shown = rows[:MOST_GROUPS] if drawn and not everything else rows
            columns = _difference_columns(comparison, name, parts_shown, lambda row: row, family=family)
            table = Table(columns=columns, rows=parts_shown)
            below = and_more(len(rows) - len(parts_shown), f"{name}s", "--all lists them")
            yield Section(title=f"{label} by {name}", kind=name, of=candidate.label, table=table, below=below, is_folded=True)
    if candidate.fields:
        ordered = sorted(candidate.fields, key=lambda field: -abs(field.f1.difference or 0))
        fields_shown = ordered if everything else ordered[:MOST_FIELDS]
        family = sum(len(c.fields) for c in comparison.candidates)
        by_field: list[Column[FieldDifference]] = [
            *_difference_columns(comparison, "field (F1)", fields_shown, lambda field: field.f1, family=family),
            Column(name="precision", words=lambda f: _signed_words(f.precision[1] - f.precision[0]), is_number=True),
            Column(name="recall", words=lambda f: _signed_words(f.recall[1] - f.recall[0]), is_number=True),
        ]
        yield Section(
            title=f"{label} by field, the largest difference first",
            kind="field",
            of=candidate.label,
            table=Table(columns=by_field, rows=fields_shown),
            lines=("", *_draw_differences(field.f1 for field in fields_shown)) if drawn else (),
            below=and_more(len(ordered) - len(fields_shown), "fields", "--all lists them"),
            is_folded=True,
        )
    if candidate.shift:
        yield _shift_section(comparison, candidate, everything)


def _shift_section(comparison: "Comparison", candidate: "Candidate", everything: bool) -> Section:
    shifts_shown = candidate.shift if everything else candidate.shift[:MOST_FIELDS]
    family = sum(len(c.shift) for c in comparison.candidates)
    columns: list[Column[ScoreShift]] = [
        Column(name="scores of", words=lambda s: s.name or "(root)", role="name"),
        Column(name="n", words=lambda s: str(s.n_a) if s.n_a == s.n_b else f"{s.n_a}, {s.n_b}", is_number=True),
        Column(name="baseline", title=clean(comparison.baseline), words=lambda s: _own_mean(s, s.mean_a), is_number=True),
        Column(name="score", title=clean(candidate.label), words=lambda s: _own_mean(s, s.mean_b), is_number=True),
        Column(name="distance", words=lambda s: f"{s.distance:.3f}", is_number=True),
        Column(name="p", words=lambda s: p_value(s.p), is_number=True),
        Column(name="p_adjusted", title=f"p (Holm, {family})", words=lambda s: p_value(s.p_adjusted), is_number=True),
    ]
    return Section(
        title=f"{clean(candidate.label)}: have the scores changed?",
        kind="shift",
        of=candidate.label,
        table=Table(columns=columns, rows=shifts_shown),
        below=and_more(len(candidate.shift) - len(shifts_shown), "rows", "--all lists them"),
        is_folded=True,
    )


def method_facts(comparison: "Comparison") -> Iterator[tuple[str, str]]:
    """Yield (label, text) pairs: everything needed to repeat the numbers."""
    totals = [candidate.total for candidate in comparison.candidates]
    tests = ", ".join(sorted({row.method for row in totals if row.method}))
    intervals = ", ".join(sorted({row.interval_method for row in totals if row.interval_method}))
    if tests:
        yield "tests", f"two-sided, {tests}; intervals {intervals}, not adjusted; Holm over the rows of a part"
    drawn = any(shift.seed is not None for candidate in comparison.candidates for shift in candidate.shift)
    how = f"{comparison.n_resamples} resamples" if drawn else "no random numbers used"
    yield "seed", f"{comparison.seed}, {how}"
    if comparison.n_unapplied:
        yield "errata", f"{comparison.n_unapplied} stale or expired, not applied to the corrected scores"
    if comparison.clusters:
        yield "clusters", cut_text(clean(comparison.clusters), MOST_CLUSTER_TEXT)
    if comparison.signature:
        yield "signature", clean(comparison.signature)
    if comparison.level != "cells":
        yield "reveal", f"gold's values are hidden (reveal level: {comparison.level})"
    sources = ((comparison.baseline, comparison.source), *((candidate.label, candidate.source) for candidate in comparison.candidates))
    yield from ((clean(label), clean(source)) for label, source in sources if source and source != label)


def _difference_columns(
    comparison: "Comparison", name: str, rows: Sequence[Any], row_of: "Callable[[Any], PairedDifference]", *, family: int
) -> list[Column[Any]]:
    """The columns of paired differences; Holm's p-values only if the family has more than one row."""
    difference = "difference" if any(row_of(row).is_raw for row in rows) else "points"
    second = "score" if name == "candidate" or len(comparison.candidates) > 1 else clean(comparison.candidates[0].label)

    def number(key: str, title: str, words: "Callable[[PairedDifference], str]") -> Column[Any]:
        return Column(name=key, title=title, words=lambda row: words(row_of(row)), is_number=True)

    return [
        Column(name=name, words=lambda row: row_of(row).name or "(root)", role="name"),
        number("n", "n", lambda row: str(row.n)),
        number("baseline", clean(comparison.baseline), lambda row: _own_mean(row, row.a)),
        number("score", second, lambda row: _own_mean(row, row.b)),
        number("difference", difference, lambda row: own_points(row)),
        number("interval", f"{(1 - comparison.alpha) * 100:g} % CI", lambda row: _interval_in_words(row.low, row.high, row)),
        number("p", "p", lambda row: p_value(row.p)),
        *([number("p_adjusted", f"p (Holm, {family})", lambda row: p_value(row.p_adjusted))] if family > 1 else []),
    ]


def _own_mean(row: "PairedDifference | ScoreShift", value: float | None) -> str:
    """Format a mean as percent, or on the metric's own scale; a dash for none."""
    return "-" if value is None else f"{value:.4g}" if row.is_raw else percent(value)


def own_points(row: "PairedDifference") -> str:
    """Format a difference in points, or on the metric's own scale; a dash for none."""
    return _points_of(row.difference, is_raw=row.is_raw)


def _points_of(value: float | None, *, is_raw: bool) -> str:
    return f"{value:+.4g}" if is_raw and value else points(value)


def _interval_in_words(low: float | None, high: float | None, row: "PairedDifference | None" = None) -> str:
    is_raw = row is not None and row.is_raw
    return "-" if low is None or high is None else f"[{_points_of(low, is_raw=is_raw)}, {_points_of(high, is_raw=is_raw)}]"


def _signed_words(value: float | None) -> str:
    return "-" if value is None else rounded(value, 2, 0, sign="+") if round(value, 6) else "0"


def _some_ids(ids: Sequence[str]) -> str:
    return id_list([clean(name) for name in ids])


_DIFFERENCE_NUMBERS = {
    "n": "n", "baseline": "a", "score": "b", "difference": "difference", "low": "low", "high": "high", "p": "p",
    "p_adjusted": "p_adjusted", "effect": "effect", "wins": "wins", "ties": "ties", "losses": "losses", "method": "method",
}  # fmt: skip


def comparison_document(comparison: "Comparison", *, everything: bool = False, brief: bool = False) -> Document:
    """Build the report of a comparison; `everything` lists all flips and fields, as the HTML page always does.

    `brief` shortens the text of a terminal.
    """

    def parts(form: Form) -> Iterator[Section]:
        if form == "html":
            yield from comparison_page_sections(comparison)
            return
        if form == "markdown":
            yield Section(prose=(Strong(candidates_in_words(comparison)),))
        yield from comparison_sections(comparison, everything=everything, drawn=form == "text", brief=brief)

    return Document(
        name=comparison.suite,
        title=" · ".join(filter(None, (f"evalsuite {__version__}", clean(comparison.suite), *map(clean, comparison_facts(comparison))))),
        sections=parts,
        last_line=comparison_verdict(comparison),
        tables={"csv": difference_table(comparison), "parquet": instance_table(comparison)},
        whole=comparison.to_json(),
        suites=lambda: [_candidate_suite(comparison, candidate) for candidate in comparison.candidates],
    )


# A candidate, the part of the comparison, and a difference of it.
PartDifference = tuple[str, str, "PairedDifference"]


def difference_table(comparison: "Comparison") -> Table[PartDifference]:
    """Build the table of differences: totals, by scorer, by group and by field (F1); shares in [0, 1], None for absent values."""

    def number(name: str, attribute: str) -> Column[PartDifference]:
        return Column(name=name, value=lambda row: getattr(row[2], attribute))

    columns: list[Column[PartDifference]] = [
        Column(name="candidate", value=lambda row: row[0]),
        Column(name="part", value=lambda row: row[1]),
        number("name", "name"),
        *(number(name, attribute) for name, attribute in _DIFFERENCE_NUMBERS.items()),
    ]
    if comparison.corrected is not None:
        of = {candidate.label: candidate.corrected for candidate in comparison.candidates}
        columns += [
            Column(name="baseline_corrected", value=lambda row: comparison.corrected if row[1] == "total" else None),
            Column(name="corrected", value=lambda row: of.get(row[0]) if row[1] == "total" else None),
        ]
    rows = []
    for candidate in comparison.candidates:
        parts = (
            ("total", [candidate.total]),
            ("scorer", candidate.by_scorer),
            ("group", candidate.by_group),
            ("field", [field.f1 for field in candidate.fields]),
        )
        rows += [(candidate.label, part, row) for part, differences in parts for row in differences]
    return Table(columns=columns, rows=rows)


def instance_table(comparison: "Comparison") -> "Table[tuple[Candidate, Paired]]":
    """Build a table with one row per instance and candidate, in gold order; scores in [0, 1]."""

    def column(name: str, value: Any, type_: str = "VARCHAR") -> "Column[tuple[Candidate, Paired]]":
        return Column(name=name, value=lambda row: value(*row), type=type_)

    unjudged = {candidate.label: frozenset(candidate.unjudged) for candidate in comparison.candidates}
    columns = [
        column("suite", lambda *_: comparison.suite),
        column("baseline", lambda *_: comparison.baseline),
        column("candidate", lambda row, _: row.label),
        column("instance_id", lambda _, pair: pair.instance_id),
        column("scorer", lambda _, pair: pair.scorer),
        column("groups", lambda _, pair: pair.groups, "VARCHAR[]"),
        column("outcome", lambda row, pair: paired_outcome(comparison, unjudged[row.label], pair)),
        column("baseline_score", lambda _, pair: pair.a, "DOUBLE"),
        column("score", lambda _, pair: pair.b, "DOUBLE"),
        column("difference", lambda _, pair: pair.change, "DOUBLE"),
        column("baseline_reason", lambda _, pair: pair.reason_a),
        column("reason", lambda _, pair: pair.reason_b),
    ]
    if comparison.corrected is not None:
        columns += [
            column("baseline_corrected", lambda *_: comparison.corrected, "DOUBLE"),
            column("corrected", lambda row, _: row.corrected, "DOUBLE"),
        ]
    return Table(columns=columns, rows=[(candidate, pair) for candidate in comparison.candidates for pair in candidate.instances])


def paired_outcome(comparison: "Comparison", unjudged: Collection[str], pair: "Paired") -> str:
    """Return `lost`, `won` or `tied`; without both scores `unjudged`, `measured` on the metric's own scale, or `not_shown` if hidden."""
    if pair.gain is None:
        return "not_shown" if comparison.level == "none" else "unjudged" if pair.instance_id in unjudged else "measured"
    return "lost" if pair.gain < 0 else "won" if pair.gain > 0 else "tied"


def _candidate_suite(comparison: "Comparison", candidate: "Candidate") -> Suite:
    """Build a test suite with one case per common instance; a lost instance is a failure."""
    total = candidate.total
    p = "" if total.p_adjusted is None else f"{total.p_adjusted:.6g}"
    properties = [
        ("baseline", comparison.baseline),
        ("rules", rules_label(comparison.rules, [comparison.signature])),
        ("verdict", candidate.verdict),
    ]
    properties += [("difference" if total.is_raw else "points", own_points(total)), ("p", p)]
    properties += [("won / tied / lost", f"{total.wins} / {total.ties} / {total.losses}"), ("signature", candidate.signature)]
    unjudged = frozenset(candidate.unjudged)
    cases = [_instance_case(comparison, unjudged, instance) for instance in candidate.instances]
    return Suite(name=candidate.label, cases=cases, properties=properties)


def _instance_case(comparison: "Comparison", unjudged: Collection[str], pair: "Paired") -> Case:
    outcome = paired_outcome(comparison, unjudged, pair)
    kind = {"lost": "failure", "unjudged": "skipped", "not_shown": "skipped"}.get(outcome, "passed")
    scores = outcome if outcome == "measured" else f"{grade(pair.a)} -> {grade(pair.b)}"
    why = f"{comparison.baseline}: {pair.reason_a or 'no reason'}; now: {pair.reason_b or 'no reason'}"
    message = scores if not (pair.reason_a or pair.reason_b) else f"{scores}; {why}"
    return Case(name=pair.instance_id, classname=f"{comparison.suite}.{pair.scorer or 'none'}", kind=kind, type=outcome, message=message)


MOST_ROWS = 1000
MOST_DRAWN = 24


def comparison_page_sections(comparison: "Comparison", *, title: str = "") -> Iterator[Section]:
    """Yield the parts of the HTML page: the parts of every form for people, and pictures."""
    sections = list(comparison_sections(comparison, everything=True))
    only = comparison.candidates[0] if len(comparison.candidates) == 1 else None
    large = own_points(only.total) if only else f"{len(comparison.candidates)} candidates"
    is_raw = any(row.total.is_raw for row in comparison.candidates)
    better = "right of the dashed line is better"
    scale = f"on the metric's own scale against {comparison.baseline}" if is_raw else f"in points against {comparison.baseline}; {better}"
    overview = differences_picture(
        [candidate.total for candidate in comparison.candidates], comparison, title=f"Difference to {comparison.baseline}"
    )
    yield Section(
        look="hero",
        title=title or comparison.suite or "Comparison",
        prose=[" · ".join(comparison_facts(comparison)), candidates_in_words(comparison)],
        pictures=[Picture("", overview, scale)],
        values={
            "about": "comparison",
            "headline": large,
            "unit": "points" if only and large != "-" and not only.total.is_raw else "",
            "tab": f"{candidates_in_words(comparison)} · {comparison.suite}",
        },
    )
    yield Section(look="card", title="Warnings", lines=comparison.warnings)
    if only:
        counts = (only.total.losses, "lost", "wrong"), (only.total.wins, "won", "right"), (only.total.ties, "tied", "")
        tiles = [Tile(*count) for count in (*counts, (len(only.unjudged), "not judged", "unscored"))]
        yield Section(tiles=[tile for tile in tiles if tile.n])
    yield next(section for section in sections if section.kind == "candidate")
    yield Section(look="cards", pictures=comparison_figures(comparison))
    for section in sections:
        if section.of:
            yield _cut_to_a_thousand(replace(section, is_folded=section.kind not in ("lost", "won")))
    yield Section(look="foot", pairs=[*method_facts(comparison), ("made with", f"evalsuite {__version__}")])


def comparison_figures(comparison: "Comparison") -> list[Picture]:
    """Yield the pictures: verdicts of both sides, and the differences of each part."""
    pictures = []
    for candidate in comparison.candidates:
        label = "" if len(comparison.candidates) == 1 else f"{candidate.label}: "
        matrix = flips_picture(candidate, comparison.baseline)
        pictures.append(Picture(f"{label}Who is right", matrix, "of the instances that both were judged on"))
        for name, rows in (
            ("scorer", candidate.by_scorer),
            ("group", candidate.by_group),
            ("field", [field.f1 for field in candidate.fields]),
        ):
            rows = [row for row in rows if row.is_raw == candidate.total.is_raw]
            if len(rows) > 1 or any(row.n < candidate.total.n for row in rows) or (name == "field" and rows):
                title = f"{label}Difference by {name}"
                more = f"; {len(rows) - MOST_DRAWN} more in the table" if len(rows) > MOST_DRAWN else ""
                unit = "on the metric's own scale" if candidate.total.is_raw else "in points"
                pictures.append(Picture(title, differences_picture(rows, comparison, title=title), f"{unit}, with Holm's p{more}"))
    return pictures


def differences_picture(rows: "Sequence[PairedDifference]", comparison: "Comparison", *, title: str) -> "Markup":
    """Draw differences to the baseline with their intervals in their own unit; right of the dashed line at 0 is better."""

    def words(row: "PairedDifference") -> str:
        return f"{own_points(row)} (p {p_value(row.p if row.p_adjusted is None else row.p_adjusted)})"

    drawn = [
        IntervalRow(row.name or "(root)", row.difference, row.low, row.high, words=words(row), is_raw=row.is_raw)
        for row in rows[:MOST_DRAWN]
    ]
    widest = max((abs(end) for row in drawn for end in (row.value, row.low, row.high) if end is not None), default=0.0)
    reach = max(0.05, widest) * 1.05
    return draw_intervals(drawn, title=title, span=(-reach, reach), mark=0.0, confidence=1 - comparison.alpha)


def flips_picture(candidate: "Candidate", baseline: str) -> "Markup":
    """Draw how often both sides, one side, or neither is right, over the instances judged on both sides."""
    both, first_only, second_only, neither = candidate.right
    matrix = FlipCounts(both=both, first_only=first_only, second_only=second_only, neither=neither)
    return draw_flips(matrix, title=f"{baseline} and {candidate.label}", first="baseline", second="candidate")


def _cut_to_a_thousand(section: Section) -> Section:
    """Cut the section to a thousand rows and note how many are left out."""
    rows = list(section.table.rows) if section.table is not None else []
    rest = len(rows) - MOST_ROWS
    if section.table is None or rest <= 0:
        return section
    more = f"... {rest} more, not shown to keep this file small; a .parquet or .csv file contains all"
    return replace(section, table=replace(section.table, rows=rows[:MOST_ROWS]), below=(*section.below, more))
