"""A comparison in words: its first and last line, and its parts for people in reading order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite import __version__
from evalsuite.reports.clean import clean
from evalsuite.reports.document import Column, Section, Table
from evalsuite.reports.drawn_lines import DrawnInterval, interval_lines
from evalsuite.reports.words import counted, p_value, percent, points, some
from evalsuite.stats.power import can_show
from evalsuite.store.signature import shown_rules

if TYPE_CHECKING:
    from evalsuite.board import Candidate, Comparison
    from evalsuite.board.paired_units import FieldDifference
    from evalsuite.board.pairing import Paired
    from evalsuite.board.tested_differences import PairedDifference, ScoreShift

MOST_FLIPS = 10
MOST_FIELDS = 20


def comparison_heading(comparison: "Comparison") -> str:
    """The first line: what was compared, and under which rules."""
    parts = (f"evalsuite {__version__}", comparison.suite, *comparison_facts(comparison))
    return " · ".join(clean(part) for part in parts if part)


def comparison_facts(comparison: "Comparison") -> tuple[str, ...]:
    """What all candidates were held to, under which rules, on how many instances."""
    rules = shown_rules(comparison.rules, [comparison.signature])
    return f"baseline {comparison.baseline}", f"rules {rules}", f"{pairs_in_words(comparison)} paired"


def pairs_in_words(comparison: "Comparison") -> str:
    """How many pairs the candidate with the most has: `40 instances`, `27 of 40 instances` of a part of gold, `1 instance, 200 records`."""
    n, n_units = max((sum(one.right), one.total.n) for one in comparison.candidates)
    text = counted(n, "instance") if comparison.part_of is None else f"{n} of {comparison.part_of} instances"
    return f"{text}, {n_units} records" if n_units > n else text


def comparison_verdict(comparison: "Comparison", *, gate: bool = False) -> str:
    """The last line: each candidate in a few words, or, with a gate, whether it was met, with the exit code where it was not."""
    lost = comparison.regressions
    part = "" if comparison.part_of is None else f" on {pairs_in_words(comparison)}"
    if gate and lost:
        return f"done: worse than {clean(comparison.baseline)}{part}: {clean(', '.join(lost))} (exit 1)"
    if gate and (undecided := comparison.undecided):
        return f"done: undecided, no instance was judged on both sides: {clean(', '.join(undecided))} (exit 1)"
    if gate:
        return f"done: no regression shown at alpha {comparison.alpha:g}{part}"
    return f"done: {candidates_in_words(comparison)}{part} (no gate set)"


def candidates_in_words(comparison: "Comparison") -> str:
    """Each candidate in a few words: `v2: worse (-25.0 points, p 0.0063)`."""
    return " · ".join(map(_candidate_in_words, comparison.candidates))


def _candidate_in_words(candidate: "Candidate") -> str:
    judged = (
        f" ({own_points(candidate.total)}{'' if candidate.total.is_raw else ' points'}, p {p_value(candidate.total.p_adjusted)})"
        if candidate.verdict in ("better", "worse")
        else ""
    )
    return f"{clean(candidate.label)}: {candidate.verdict}{judged}"


def comparison_sections(comparison: "Comparison", *, everything: bool = False, drawn: bool = False) -> Iterator[Section]:
    """The parts of the report in reading order; parts without content are left out. `drawn` puts intervals in characters beside numbers."""
    if comparison.warnings:
        yield Section(title="warning", lines=tuple(map(clean, comparison.warnings)))
    yield _totals_section(comparison)
    if drawn:
        yield Section(title="", lines=_drawn(one.total for one in comparison.candidates))
    for one in comparison.candidates:
        yield from _flip_sections(comparison, one, everything)
        yield from _part_sections(comparison, one, everything, drawn=drawn)
    yield Section(title="", lines=tuple(f"{label:<12} {text}" for label, text in how_it_was_made(comparison)))


def _totals_section(comparison: "Comparison") -> Section:
    has_errata = comparison.corrected is not None or any(one.corrected is not None for one in comparison.candidates)
    columns: list[Column[Candidate]] = [
        *_difference_columns(comparison, "candidate", comparison.candidates, lambda one: one.total, family=len(comparison.candidates)),
        Column(name="d_z", words=lambda one: _signed(one.total.effect), is_number=True),
        Column(name="won / tied / lost", words=lambda one: f"{one.total.wins} / {one.total.ties} / {one.total.losses}", is_number=True),
        *([Column(name="corrected", words=lambda one: _corrected_words(comparison, one), is_number=True)] if has_errata else []),
        Column(name="verdict", words=lambda one: one.verdict),
    ]
    lines = [line for one in comparison.candidates for line in _beside_totals(comparison, one)]
    table = Table(columns=columns, rows=comparison.candidates)
    return Section(kind="candidate", table=table, lines=("", *lines) if lines else ())


def _corrected_words(comparison: "Comparison", candidate: "Candidate") -> str:
    """`66.7 % -> 75.0 %`: both whole runs after gold's errata."""
    return " -> ".join("-" if value is None else percent(value) for value in (comparison.corrected, candidate.corrected))


def _drawn(rows: "Iterable[PairedDifference]") -> tuple[str, ...]:
    """The differences in characters: better stands to the right of the bar."""
    return tuple(interval_lines([DrawnInterval(clean(row.name) or "(root)", row.difference, row.low, row.high) for row in rows]))


def _beside_totals(comparison: "Comparison", candidate: "Candidate") -> Iterator[str]:
    label, base, said = clean(candidate.label), clean(comparison.baseline), candidate.people
    if said is not None:
        by = f"by {counted(said.n, 'instance')} labelled on both sides and {said.n_others} without"
        yield f"{label}: as people would score it {points(said.estimate)} {_interval_in_words(said.low, said.high)} points, {by}"
    yield from (f"{label}: {text}" for text in _power(comparison, candidate))
    if candidate.unjudged:
        span = f": the difference over all lies in {_interval_in_words(*candidate.bounds)}" if candidate.bounds else ""
        unjudged = counted(len(candidate.unjudged), "instance")
        yield f"{label}: {unjudged} not judged on both sides, left out ({_some_ids(candidate.unjudged)}){span}"
    for ids, owner in ((candidate.only_baseline, base), (candidate.only_candidate, label)):
        if ids:
            yield f"{label}: {counted(len(ids), 'instance')} only in {owner}, left out ({_some_ids(ids)})"
    yield from (f"{label}: {note}" for note in (candidate.total.note,) if note)


def _power(comparison: "Comparison", candidate: "Candidate") -> Iterator[str]:
    total, n_tests, least = candidate.total, len(comparison.candidates), candidate.detectable
    unit = "instance" if total.n == sum(candidate.right) else "record"
    among = f" of {n_tests} comparisons" if n_tests > 1 else ""
    n_units, flipped = (total.n, unit) if total.n_clusters is None else (total.n_clusters, "cluster")
    if n_units and not can_show(n_units, comparison.alpha / n_tests):
        yield f"with {counted(n_units, flipped)} this test{among} can show nothing"
    elif least is not None:
        shown = f"{least:.4g}" if total.is_raw else f"{least * 100:.1f} points"
        more = f"; {own_points(total)} would take about {counted(candidate.n_needed, unit)}" if candidate.n_needed else ""
        yield f"{counted(total.n, unit)} that differ as these do show a difference of {shown} with 80 % power{among}{more}"


def _flip_sections(comparison: "Comparison", candidate: "Candidate", everything: bool) -> Iterator[Section]:
    base, label = clean(comparison.baseline), clean(candidate.label)
    for word, flips in (
        ("lost", [flip for flip in candidate.flips if (flip.gain or 0) < 0]),
        ("won", [flip for flip in candidate.flips if (flip.gain or 0) > 0]),
    ):
        shown = flips if everything else flips[:MOST_FLIPS]
        if shown:
            yield Section(
                title=f"{label} against {base}: {counted(len(flips), 'instance')} {word}",
                kind=word,
                of=candidate.label,
                table=Table(
                    columns=_flip_columns(base, label, shown), rows=shown, anchor=lambda flip: f"{label}/{clean(flip.instance_id)}"
                ),
                below=_and_more(len(flips) - len(shown), word),
                is_folded=True,
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
        Column(name="scores", words=lambda flip: f"{flip.a:.4g} -> {flip.b:.4g}"),
        *(texts if any(flip.answer_a or flip.answer_b for flip in flips) else ()),
        Column(name="baseline_reason", title=f"why {base}", words=lambda flip: flip.told(flip.reason_a), role="why", wraps=True),
        Column(name="reason", title=f"why {label}", words=lambda flip: flip.told(flip.reason_b), role="why", wraps=True),
    ]


def _part_sections(comparison: "Comparison", candidate: "Candidate", everything: bool, *, drawn: bool) -> Iterator[Section]:
    """By scorer, by group, by field, and the shifts; a part whose one row is the total says nothing new."""
    label = clean(candidate.label)
    for name, attribute in (("scorer", "by_scorer"), ("group", "by_group")):
        rows: Sequence[PairedDifference] = getattr(candidate, attribute)
        if len({row.name for row in rows}) > 1 or any(row.n < candidate.total.n for row in rows):
            family = sum(len(getattr(c, attribute)) for c in comparison.candidates)
            columns = _difference_columns(comparison, name, rows, lambda row: row, family=family)
            yield Section(
                title=f"{label} by {name}", kind=name, of=candidate.label, table=Table(columns=columns, rows=rows), is_folded=True
            )
    if candidate.fields:
        ordered = sorted(candidate.fields, key=lambda field: -abs(field.f1.difference or 0))
        shown = ordered if everything else ordered[:MOST_FIELDS]
        family = sum(len(c.fields) for c in comparison.candidates)
        by_field: list[Column[FieldDifference]] = [
            *_difference_columns(comparison, "field (F1)", shown, lambda field: field.f1, family=family),
            Column(name="precision", words=lambda f: _signed(f.precision[1] - f.precision[0]), is_number=True),
            Column(name="recall", words=lambda f: _signed(f.recall[1] - f.recall[0]), is_number=True),
        ]
        yield Section(
            title=f"{label} by field, the largest difference first",
            kind="field",
            of=candidate.label,
            table=Table(columns=by_field, rows=shown),
            lines=("", *_drawn(field.f1 for field in shown)) if drawn else (),
            below=_and_more(len(ordered) - len(shown), "fields"),
            is_folded=True,
        )
    if candidate.shift:
        yield _shift_section(comparison, candidate, everything)


def _shift_section(comparison: "Comparison", candidate: "Candidate", everything: bool) -> Section:
    shown = candidate.shift if everything else candidate.shift[:MOST_FIELDS]
    family = sum(len(c.shift) for c in comparison.candidates)
    columns: list[Column[ScoreShift]] = [
        Column(name="scores of", words=lambda s: s.name or "(root)", role="name"),
        Column(name="n", words=lambda s: str(s.n_a) if s.n_a == s.n_b else f"{s.n_a}, {s.n_b}", is_number=True),
        Column(name="baseline", title=clean(comparison.baseline), words=lambda s: percent(s.mean_a), is_number=True),
        Column(name="score", title=clean(candidate.label), words=lambda s: percent(s.mean_b), is_number=True),
        Column(name="distance", words=lambda s: f"{s.distance:.3f}", is_number=True),
        Column(name="p", words=lambda s: p_value(s.p), is_number=True),
        Column(name="p_adjusted", title=f"p (Holm, {family})", words=lambda s: p_value(s.p_adjusted), is_number=True),
    ]
    return Section(
        title=f"{clean(candidate.label)}: have the scores moved?",
        kind="shift",
        of=candidate.label,
        table=Table(columns=columns, rows=shown),
        below=_and_more(len(candidate.shift) - len(shown), "rows"),
        is_folded=True,
    )


def how_it_was_made(comparison: "Comparison") -> Iterator[tuple[str, str]]:
    """(label, text) of how the numbers were made: what a reader needs to repeat them."""
    totals = [one.total for one in comparison.candidates]
    tests = ", ".join(sorted({row.method for row in totals if row.method}))
    intervals = ", ".join(sorted({row.interval_method for row in totals if row.interval_method}))
    if tests:
        yield "tests", f"two-sided, {tests}; intervals {intervals}, not adjusted; Holm over the rows of a part"
    drawn = any(shift.seed is not None for one in comparison.candidates for shift in one.shift)
    how = f"{comparison.n_resamples} resamples" if drawn else "nothing was drawn"
    yield "seed", f"{comparison.seed}, {how}"
    if comparison.n_unapplied:
        yield "errata", f"{comparison.n_unapplied} stale or expired, not applied to the corrected scores"
    if comparison.clusters:
        yield "clusters", clean(comparison.clusters)
    if comparison.signature:
        yield "signature", clean(comparison.signature)
    if comparison.level != "cells":
        yield "reveal", f"gold's values are not shown here (level: {comparison.level})"
    for label, source in ((comparison.baseline, comparison.source), *((one.label, one.source) for one in comparison.candidates)):
        if source and source != label:
            yield clean(label), clean(source)


def _difference_columns(
    comparison: "Comparison", name: str, rows: Sequence[Any], row_of: "Callable[[Any], PairedDifference]", *, family: int
) -> list[Column[Any]]:
    """The columns of paired differences; Holm's stands only where there is more than one row in the family."""
    difference = "difference" if any(row_of(one).is_raw for one in rows) else "points"
    second = "score" if name == "candidate" or len(comparison.candidates) > 1 else clean(comparison.candidates[0].label)

    def number(key: str, title: str, words: "Callable[[PairedDifference], str]") -> Column[Any]:
        return Column(name=key, title=title, words=lambda one: words(row_of(one)), is_number=True)

    return [
        Column(name=name, words=lambda one: row_of(one).name or "(root)", role="name"),
        number("n", "n", lambda row: str(row.n)),
        number("baseline", clean(comparison.baseline), lambda row: _own_mean(row, row.a)),
        number("score", second, lambda row: _own_mean(row, row.b)),
        number("difference", difference, lambda row: own_points(row)),
        number("interval", f"{(1 - comparison.alpha) * 100:g} % CI", lambda row: _interval_in_words(row.low, row.high, row)),
        number("p", "p", lambda row: p_value(row.p)),
        *([number("p_adjusted", f"p (Holm, {family})", lambda row: p_value(row.p_adjusted))] if family > 1 else []),
    ]


def _own_mean(row: "PairedDifference", value: float | None) -> str:
    """A mean as percent, or on the metric's own scale; a dash for none."""
    return "-" if value is None else f"{value:.4g}" if row.is_raw else percent(value)


def own_points(row: "PairedDifference") -> str:
    """The difference in points, or on the metric's own scale; a dash for none."""
    return _own_points(row, row.difference)


def _own_points(row: "PairedDifference | None", value: float | None) -> str:
    return f"{value:+.4g}" if row is not None and row.is_raw and value else points(value)


def _interval_in_words(low: float | None, high: float | None, row: "PairedDifference | None" = None) -> str:
    return "-" if low is None or high is None else f"[{_own_points(row, low)}, {_own_points(row, high)}]"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value + 0.0:+.2f}" if round(value, 6) else "0"


def _and_more(n: int, what: str) -> tuple[str, ...]:
    return (f"... {n} more {what} (--all lists them)",) if n > 0 else ()


def _some_ids(ids: Sequence[str]) -> str:
    return some([clean(name) for name in ids])
