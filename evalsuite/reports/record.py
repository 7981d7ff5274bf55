"""Record of a run, the input of every report, and the sentences that all reports share.

A record is the `run.json` object of a run with its results and summary, of a run that has just ended or one read from disk. A number has
the same wording in every report.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import FAULTS, UsageError, count_words
from evalsuite.core.files import is_file
from evalsuite.core.scores import RULES
from evalsuite.core.status import FAULTY, KINDS, UNJUDGED, check_level, default_level, redact, redact_corrections, shows
from evalsuite.core.types import METADATA_ARRAY, Result, Rule
from evalsuite.gold.spec import NOTHING, Exchange, Exchanges, exchanges_of
from evalsuite.reports.document import id_list, percent, range_words, rounded
from evalsuite.runs.run_folder import MAY_BE_WRONG, RUN, labels_path
from evalsuite.runs.run_options import requested_rules, rules_label
from evalsuite.runs.summary import Summary, clusters_by_id, summarise

if TYPE_CHECKING:
    from evalsuite.runs.history import RunEntry
    from evalsuite.runs.scoring import Run
    from evalsuite.stats.samples import Mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A finished run for reports: n results in gold order. `name` is the run folder's name, or the submission's if the run was not saved.

    `level` is how much of gold it contains, one of `status.LEVELS`.
    """

    name: str
    run: Mapping[str, Any]
    results: tuple[Result, ...]
    summary: Summary
    folder: Path | None
    tags: tuple[str, ...] = ()
    level: str = "cells"
    exchanges: Exchanges | None = None

    def exchange(self, instance_id: str) -> Exchange:
        """Return question, reference and answer; empty if gold's values are hidden."""
        return NOTHING if self.exchanges is None or self.level != "cells" else self.exchanges.texts_of(instance_id)

    @property
    def suite(self) -> str:
        """The suite's name."""
        return str(self.run["gold"]["name"])

    @property
    def submission(self) -> str:
        """The name of the submission's folder or archive."""
        place = submission_place(self.run)
        return Path(place).name or place

    @property
    def rules(self) -> Rule:
        """The rules of the score."""
        rules: Rule = self.run["options"]["rules"]
        return rules

    @property
    def rules_label(self) -> str:
        """The rules of the score as reports name them, by the run's signature: `official-lite`, `official, trees strict`."""
        return rules_label(self.rules, [str(self.run.get("signature", ""))])

    @property
    def layout(self) -> str:
        """The layout of gold: a key of `gold.layouts.LAYOUTS`."""
        return str(self.run["gold"].get("layout", "original"))

    @property
    def hides_gold(self) -> bool:
        """Whether the suite keeps its gold secret."""
        return bool(self.run["gold"].get("hidden"))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Instance id -> its tags, for instances with tags."""
        groups: dict[str, list[str]] = {}
        for tag, names in self.run.get("groups", {}).items():
            for name in names:
                groups.setdefault(name, []).append(tag)
        return {name: tuple(tags) for name, tags in groups.items()}


def submission_place(run: Mapping[str, Any]) -> str:
    """Return the submission's folder or archive as the content of a `run.json` names it."""
    submission = run["submission"]
    return str(submission.get("archive") or submission["folder"])


def record_of_run(run: "Run", labels: Path | None = None) -> Record:
    """Return the record of a run that has just ended; `labels` is a CSV of human labels of its answers."""
    data, exchanges = run.to_json(), exchanges_of(run.gold, run.submission)
    place = run.folder or Path(run.options.archive or run.submission.folder)
    bare = Record(name=place.name or str(place), run=data, results=run.results, summary=run.summary, folder=run.folder, exchanges=exchanges)
    return _add_people(bare, labels)


def record_of_entry(entry: "RunEntry", labels: Path | None = None, *, exchanges: Exchanges | None = None) -> Record:
    """Return the record of a saved run; its summary is computed again from the n results by the same code.

    `labels` is a CSV of human labels, by default the file next to the run; `exchanges` are questions and answers, None if they must not be
    shown. A run that is not what was written has a warning.
    """
    from evalsuite.runs.history import damage_of, note_reading

    results, run, damage = tuple(entry.results()), entry.run, damage_of(entry.folder)
    note_reading(entry.folder, damage)
    if damage:
        run = {**run, "warnings": [*run.get("warnings", ()), damage + MAY_BE_WRONG]}
    bare = Record(name=entry.name, run=run, results=results, summary=summarise((), rules="official"), folder=entry.folder)
    gold = entry.run["gold"]
    part = {"clusters": gold.get("clusters", ()), "n_instances": gold.get("n_instances")}
    summary = summarise(results, rules=bare.rules, groups=bare.groups, where=str(entry.folder / RUN), **part)
    return _add_people(replace(bare, summary=summary, tags=entry.tags, exchanges=exchanges), labels)


def _add_people(record: Record, labels: Path | None) -> Record:
    """Add the score estimated from human labels (`people` of its `run`), if there are labels.

    Raises `UsageError` for labels that do not match the run.
    """
    if labels is None and (record.folder is None or not is_file(labels_path(record.folder))):
        return record
    from evalsuite.runs.corrected_scores import human_score, known_labels, labels_of

    verdicts, warning = (labels_of(labels), "") if labels is not None else known_labels(record.folder)
    if warning:
        return replace(record, run={**record.run, "warnings": [*record.run.get("warnings", ()), warning]})
    clusters = clusters_by_id(record.run["gold"].get("clusters") or (), record.run.get("groups") or {})
    score = human_score(record.results, verdicts, clusters) if verdicts or labels is not None else None
    if score is None and labels is not None:
        raise UsageError(f"{labels} labels less than two answers that were scored", hint="a row for each: instance_id,label")
    if score is None:
        return record
    from dataclasses import asdict

    return replace(record, run={**record.run, "people": asdict(score)})


def redact_record(record: Record, level: str | None = None) -> Record:
    """Return the record cut to a reveal level, None for its default. Every report is rendered from such a record.

    The totals remain those of the full results. Raises `UsageError` for an unknown level.
    """
    check_level(level)
    level = level or default_level(hidden=record.hides_gold)
    if level == "cells":
        return record
    results = tuple(redact(result, level) for result in record.results)
    causes = {result.instance_id: str(result.detail("flip") or "") for result in results}
    flips = tuple({**flip, "kind": (cause := causes[flip["instance_id"]]), "cause": cause} for flip in record.summary.flips)
    summary = replace(record.summary, flips=() if level == "none" else flips)
    if not shows(level, "shape"):
        # The paths of a schema show the structure of gold.
        summary = replace(summary, by_field={})
    public = {"flips": list(summary.flips), "by_field": dict(summary.by_field)}
    run = {**record.run, "summary": {**record.run["summary"], **public}, "warnings": _own_warnings(record, level)}
    if run.get("corrections"):
        run["corrections"] = redact_corrections(run["corrections"])
    if level == "none":
        # A note on the answer can reveal that it equals gold's.
        run["notes"] = {}
    return replace(record, run=run, results=results, summary=summary, level=level)


def _own_warnings(record: Record, level: str) -> list[str]:
    """Return the warnings about the submission and the run, and count the others, because warnings about gold quote it."""
    warnings = [text for text in record.run.get("warnings", ()) if text.startswith(METADATA_ARRAY) or text.endswith(MAY_BE_WRONG)]
    n_more = len(record.run.get("warnings", ())) - len(warnings)
    return [*warnings, f"{n_more} about gold, not shown at --reveal {level}"] if n_more else warnings


def share(mean: "Mean") -> str:
    """`17/24 = 70.8 %`; points of graded means have two decimals; `nothing judged (0 of 24)` if no instance was judged.

    If the grader's side left some unjudged, the mean of the others with their number: `judged 11/20: 80.0 %`, or, with instances that
    gold prevented, `judged 10/20, 1 gold fault counted 0: 72.7 %`.
    """
    if not mean.n:
        return "no score"
    if mean.value is None:
        return f"nothing judged (0 of {mean.n})"
    if mean.n_ungraded:
        n_zero = mean.n_unjudged - mean.n_ungraded
        zeros = f", {KINDS['gold_fault'].label_count(n_zero)} counted 0" if n_zero else ""
        return f"judged {mean.n - mean.n_unjudged}/{mean.n}{zeros}: {percent(mean.value)}"
    return f"{_points_of(mean.points)}/{mean.n} = {percent(mean.low)}"


def mean_of(row: Mapping[str, Any], n: int) -> "Mean":
    """Return the mean of a row of run.json over n instances, with its bounds and how many instances were not judged."""
    from evalsuite.stats.samples import Mean

    low, high = row["score_low"], row["score_high"]
    return Mean(n=n, low=low, high=high, n_unjudged=round((high - low) * n), n_ungraded=n - row["n_judged"])


def reason_of(result: "Result") -> str:
    """Return the reason of a result in one line: the flip if the rules differ, else the scorer's reason."""
    return f"flip: {words}" if (words := flip_words(result)) else result.reason


def flip_words(result: "Result") -> str:
    """Return the cause of a flip with its reason, the scorer's if the cause has none of its own; empty if both rules agree."""
    flip = flip_of(result)
    return f"{flip}: {result.reason}" if flip and ": " not in flip and result.reason not in ("", flip) else flip


def flip_of(result: "Result") -> str:
    """Return the cause of a flip; empty if both rules agree."""
    parts = result.official is not None and result.strict is not None and result.official != result.strict
    return str(result.detail("flip") or "") if parts else ""


def counts_line(summary: "Summary") -> str:
    """`17 right · 4 wrong · 1 missing ...`: every instance once; statuses without instances are left out."""
    parts = [f"{summary.n_right} right", f"{summary.n_wrong} wrong"] if summary.chosen.n else []
    if summary.n_measured:
        parts.append(f"{summary.n_measured} measured")
    if summary.n_partial:
        parts.append(f"{summary.n_partial} partly right")
    parts += [KINDS[status].label_count(n) for status, n in summary.counts.items() if n and status != "scored"]
    parts += [f"{n} of them out of the run's budget ({limit})" for limit, n in summary.over_budget.items()]
    return " · ".join(parts)


def unjudged_words(summary: "Summary") -> str:
    """The instances without a verdict, by status: `1 gold fault, 2 unscored`; empty if there are none."""
    return ", ".join(KINDS[status].label_count(n) for status, n in summary.counts.items() if n and status in UNJUDGED)


def bounds_words(summary: "Summary") -> str:
    """How far the unjudged instances can move the score: ` (up to 70.0 % if 1 gold fault is resolved)`; empty if there are none.

    If the score is the mean of the judged instances only, both ends: ` (44.4-88.9 % over all 9: 4 unscored)`.
    """
    mean, unjudged = summary.chosen, unjudged_words(summary)
    if not unjudged:
        return ""
    if not mean.n:
        return f" ({unjudged})"
    if mean.n_ungraded:
        return f" ({range_words((mean.low, mean.high))} % over all {mean.n}: {unjudged})"
    return f" (up to {percent(mean.high)} if {unjudged} {'is' if mean.n_unjudged == 1 else 'are'} resolved)"


def confidence_words(summary: "Summary") -> str:
    """`, 95 % CI 52.0-79.9`, and the same over clusters if there are any; empty without an interval."""
    text = f", 95 % CI {range_words(summary.interval)}" if summary.interval else ""
    if summary.clusters and summary.clusters["interval_95"]:
        n, ends = summary.clusters["n_clusters"], summary.clusters["interval_95"]
        text += f", over {count_words(n, 'cluster')} {range_words(ends)}"
    return text


def score_line(record: "Record") -> str:
    """`27/40 = 67.5 % (up to 70.0 % if 1 gold fault is resolved), 95 % CI 52.0-79.9`: the score of a run with instances."""
    s = record.summary
    note = f" ({s.clusters['note']})" if s.clusters and s.clusters["note"] else ""
    return (raw_words(s.raw) if s.raw else share(s.chosen)) + bounds_words(s) + confidence_words(s) + note


def further_lines(record: "Record") -> Iterator[tuple[str, str]]:
    """Yield (label, text) of the scores next to the run's own: after errata, by the other rules, as people would score it."""
    s = record.summary
    other = f"{share(s.other)}    {flips_line(s)}".rstrip() if s.other is not None and s.chosen.n else ""
    # Of a suite with trees neither rule makes the whole score.
    official = share(s.official) if s.rules == "official" and requested_rules(record.run) is None and s.chosen.n else ""
    rows = ("corrected", corrected_words(record)), ("by people", people_words(record)), ("official", official), (s.other_rules, other)
    yield from ((label, text) for label, text in rows if text)


def flips_line(summary: "Summary") -> str:
    """`3 flips: 2 down, 1 up`: from official to strict."""
    if not summary.flips:
        return "no flips" if summary.strict is not None else ""
    down = sum(flip["strict"] < flip["official"] for flip in summary.flips)
    parts = [f"{n} {way}" for n, way in ((down, "down"), (len(summary.flips) - down, "up")) if n]
    return f"{count_words(len(summary.flips), 'flip')}: {', '.join(parts)}"


def flips_by_kind(summary: "Summary", *, down: bool) -> str:
    """`sign (geo_005) · rows scrambled (sales_007)`: flips that lose (`down`) or gain under strict, the most common cause first."""
    kinds: dict[str, list[str]] = {}
    for flip in summary.flips:
        if (flip["strict"] < flip["official"]) == down:
            kinds.setdefault(flip["kind"] or "other", []).append(clean(flip["instance_id"]))
    return " · ".join(f"{clean(kind)} ({id_list(ids)})" for kind, ids in sorted(kinds.items(), key=lambda item: -len(item[1])))


def ceiling_words(record: "Record") -> str:
    """`22/24 (strict 23/24)`: the score of gold's own answers; empty if unknown, or for a part of gold.

    If each scorer has its own rules: `official 22/24, strict 23/24`.
    """
    from evalsuite.runs.history import load_self_score

    ceiling = load_self_score(str(record.run["gold"]["hash"]))
    if ceiling is None or record.summary.n_gold != record.run["gold"]["n_instances"]:
        return ""
    row: dict[str, Any] = {"n": ceiling.n, "n_right_official": ceiling.official, "n_right_strict": ceiling.strict}
    rules = requested_rules(record.run)
    row["n_right"] = row[f"n_right_{rules}"] if rules else None
    return right_words(row, rules) + (f", {ceiling.n_untried} more not tried" if ceiling.n_untried else "")


def corrected_words(record: "Record") -> str:
    """`22/23 = 95.7 %  (1 waived, 1 patched; 1 stale, not applied)`: the score after gold's errata; empty without errata."""
    corrections = record.run.get("corrections")
    if not corrections:
        return ""
    changes = ", ".join(f"{corrections[f'n_{word}']} {word}" for word in ("waived", "patched") if corrections[f"n_{word}"])
    unused = ", ".join(f"{len(corrections[state])} {state}" for state in ("stale", "expired") if corrections[state])
    notes = "; ".join(filter(None, (changes or "nothing applied", f"{unused}, not applied" if unused and changes else unused)))
    n, score = corrections["n_gold"], corrections["score"]
    if not n:
        return f"no instance left  ({notes})"
    if score is None:
        return f"nothing judged (0 of {n})  ({notes})"
    if corrections.get("n_judged", n) < n:
        return f"{share(mean_of(corrections, n))}  ({notes})"
    return f"{_points_of(score * n)}/{n} = {percent(score)}  ({notes})"


def _points_of(points: float) -> str:
    """Format points: whole ones without decimals, others with two, or more where two would make them whole."""
    return f"{points:.0f}" if abs(points - round(points)) < 1e-7 else rounded(points, 2, round(points))


def people_words(record: "Record") -> str:
    """The score estimated from human labels: `71.2 %, 95 % CI 62.0-80.4, by 100 labels and 300 without; uncorrected 78.0 %`, or empty."""
    people = record.run.get("people")
    if not people:
        return ""
    by = f"by {count_words(people['n'], 'label')} and {people['n_others']} without; uncorrected {percent(people['plain'])}"
    return f"{percent(people['estimate'])}, 95 % CI {range_words((people['low'], people['high']))}, {by}"


def faults_by_hint(results: Iterable["Result"]) -> Iterator[tuple[str, str]]:
    """Yield (code, `ids: hint`) of each fault, in order of appearance."""
    by_hint: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.fault is not None and result.status in FAULTY:
            # A limit of the machine needs another hint than a limit of the run.
            hint_of_result = str(result.detail("hint") or "") if result.status == "unscored" else ""
            by_hint.setdefault((result.fault, hint_of_result or FAULTS[result.fault].hint), []).append(clean(result.instance_id))
    for (code, hint), ids in by_hint.items():
        yield code, f"{id_list(ids)}: {hint}"


def row_words(name: str, row: Mapping[str, Any], rules: "Rule | None") -> str:
    """`table_match 10/15 (strict 9/15)`: the right answers, and those of the other rules in brackets.

    Graded scores as their mean, `bleu 45.2 %`; a metric without a fixed range as the mean on its own scale; `not judged` without verdicts.
    `rules` is None if each scorer has its own: the brackets then hold every rule with another score.
    """
    if row["score"] is None and row.get("raw") is not None:
        return raw_words({"scorer": name, "mean": row["raw"], "interval_95": row.get("raw_interval_95")})
    if row["score"] is None:
        return f"{name} not judged"
    if row["n_judged"] < row["n"]:
        return f"{name} {share(mean_of(row, row['n']))}"
    if abs(row["score"] * row["n"] - row["n_right"]) > 1e-9:
        differing = [rule for rule in _others(rules) if row[rule] is not None and abs(row[rule] - row["score"]) >= 1e-9]
        more = ", ".join(f"{rule} {percent(row[rule])}" for rule in differing)
        return f"{name} {percent(row['score'])}" + (f" ({more})" if more else "")
    return f"{name} {right_words(row, rules)}"


def _others(rules: "Rule | None") -> list["Rule"]:
    return [rule for rule in RULES if rule != rules]


def pair_lines(summary: "Summary") -> Iterator[tuple[str, str]]:
    """`soft F1  51.2    simple 60.1 · moderate 40.2` of query answers, and R-VES if right ones were timed."""
    if not summary.pairs:
        return
    groups = {name: row["pairs"] for name, row in summary.by_group.items() if "pairs" in row}
    for label, key, times in (("soft F1", "soft_f1", 1), ("R-VES", "r_ves", 0.01)):
        if key in summary.pairs:
            shares = " · ".join(f"{name} {percent(times * row[key], '')}" for name, row in groups.items() if key in row)
            timed = f" (VES {summary.pairs['ves']:.1f}; right answers timed: {summary.pairs['n_timed']})" if key == "r_ves" else ""
            yield label, f"{percent(times * summary.pairs[key], '')}{timed}{'    ' if shares else ''}{shares}"


def raw_words(raw: Mapping[str, Any]) -> str:
    """`readability mean 97.31 (95 % CI -4.6 to 199.2) on its own scale`: what a report shows if there is no score in [0, 1]."""
    ends = "(95 % CI {:.4g} to {:.4g}) ".format(*raw["interval_95"]) if raw.get("interval_95") else ""
    few = f"of {raw['n_measured']}/{raw['n']} " if raw.get("n_measured", 0) < raw.get("n", 0) else ""
    return f"{raw['scorer']} mean {raw['mean']:.4g} {ends}{few}on its own scale"


def right_words(row: Mapping[str, Any], rules: "Rule | None") -> str:
    """`10/15 (strict 9/15)`: the right answers, and those of the other rules in brackets; `n_right` None: those of each rule."""
    others = [rule for rule in _others(rules) if (n := row[f"n_right_{rule}"]) is not None and (rules or n != row["n_right"])]
    more = ", ".join(f"{rule} {row[f'n_right_{rule}']}/{row['n']}" for rule in others)
    if row["n_right"] is None:
        return more
    return f"{row['n_right']}/{row['n']}" + (f" ({more})" if more else "")


def verdict_line(summary: "Summary") -> str:
    """Return the last line of a run without a gate."""
    return f"done: {score_words(summary)} (no gate set)"


def score_words(summary: "Summary") -> str:
    """`70.8 %`, or why there is no score; `70.8 % on 27 of 40 instances` for a part of gold.

    If some are unjudged, with the bounds over all: `judged 11/20: 80.0 % (44.0-89.0 % over all 20)`.
    """
    if not summary.n_gold:
        return "no instance to score"
    mean = summary.chosen
    if summary.raw:
        score = raw_words(summary.raw)
    else:
        score = share(mean) if mean.value is None or mean.n_ungraded else percent(mean.value)
    if mean.value is not None and mean.n_ungraded:
        score += f" ({range_words((mean.low, mean.high))} % over all {mean.n})"
    for limit, n in summary.over_budget.items():
        score += f", {count_words(n, 'instance')} out of the run's budget ({limit})"
    return f"{score} on {coverage(summary)}" if summary.is_part else score


def coverage(summary: "Summary") -> str:
    """`40 instances`, or `27 of 40 instances` for a part of gold."""
    part = f"{summary.n_gold} of " if summary.is_part else ""
    return part + count_words(summary.n_instances if summary.is_part else summary.n_gold, "instance")


def judge_words(judge: Mapping[str, Any]) -> str:
    """`m: 12 calls, 3 replies known, 3400 + 210 tokens, cost 0.0123`: what the judge of a run used."""
    calls = f"{judge['calls']} call{'' if judge['calls'] == 1 else 's'}"
    text = f"{', '.join(map(str, judge['models']))}: {calls}, {judge['known_replies']} replies known"
    text += f", {judge['prompt_tokens']} + {judge['completion_tokens']} tokens"
    text += f", cost {judge['cost']:.4g}" if judge["cost"] is not None else ""
    text += f", {n} without token counts" if (n := judge.get("uncounted_replies")) else ""
    for model, leans in judge.get("probe", {}).items():
        text += f"; {model} probed: " + ", ".join(f"{name.replace('_', ' ')} {points:+g}" for name, points in leans.items())
    return text
