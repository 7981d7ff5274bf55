"""Rank submissions: every number of a leaderboard, and the rules of a public board (time, number per team and day).

The optional `board.yaml` -> `BoardRules`; mistakes are named by file and line.

    title: Text to SQL, autumn
    phases:
      - {name: practice, opens: 2026-11-01, closes: 2026-11-15}
      - {name: final, opens: 2026-11-20, closes: 2026-11-30T18:00+01:00}
    per_day: 3            # new submissions of a team a day (UTC)
    hidden: half          # a half of the instances is scored at the last close only
    reveal: none          # how much of gold the public pages show
    feedback: class       # and the private ones
    url: https://example.org/board/

A board with one phase has `opens` and `closes` at the top. A day without a time counts whole, in UTC.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath
from typing import Any, Final

from evalsuite.analysis.leaderboard.pairing import (
    By,
    Direction,
    SharedInstances,
    differences_that_forbid_ranking,
    direction_of,
    further_directions,
)
from evalsuite.analysis.leaderboard.reliability import ModelSamples, models_of, newest_samples
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import EvalsuiteError, GoldError, MachineError, UsageError, count_words, did_you_mean, join_names, write_error
from evalsuite.core.status import FAULTY, LEVELS, STATUSES, UNJUDGED
from evalsuite.gold.suite_yaml import yaml_nodes
from evalsuite.readers.gold_files import find_spec, gold_hash
from evalsuite.runs.history_index import RunScores
from evalsuite.runs.leaderboard_entries import Entry, Place, without_names
from evalsuite.runs.run_files import read_json, write_atomically
from evalsuite.runs.run_folder import read_public_key, why_not_signed
from evalsuite.runs.run_options import changed_versions, versions_warning
from evalsuite.runs.summary import has_verdicts
from evalsuite.stats.intervals import reported_interval
from evalsuite.stats.samples import SEED, mean

SCHEMA_VERSION = 1
CONFIDENCE = 0.95
# The submission's faults before those of the grader's side.
_FAULTS = sorted((status for status in STATUSES if status in FAULTY), key=lambda status: status in UNJUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRow:
    """One submission's row. Shares are in [0, 1]; all numbers are None if `fault` says why it could not be read.

    `rank` counts from 1, equal scores share one; None if the grader's side left instances unjudged: then `score` is the mean of the
    `n_judged` others, None if there is none. Over all instances it is between `score_low` and `score_high`, the unjudged counted
    wrong and right. `shared_ranks` are the places that the paired tests of all pairs leave open, `rank_interval` those that the tests of
    this one against all others leave: its true rank with 95 % confidence. `p_first` is the share of resamples with rank 1. `interval` is
    that of the score. `coverage` is the share of instances submitted, `faults` counts instances by status. `corrected` is the score after
    gold's errata, over all that the run was scored on.
    """

    name: str
    rank: int | None = None
    shared_ranks: tuple[int, int] | None = None
    rank_interval: tuple[int, int] | None = None
    p_first: float | None = None
    score: float | None = None
    n_judged: int | None = None
    score_low: float | None = None
    score_high: float | None = None
    interval: tuple[float, float] | None = None
    interval_method: str = ""
    official: float | None = None
    strict: float | None = None
    n_handed_in: int | None = None
    coverage: float | None = None
    faults: Mapping[str, int] = field(default_factory=dict)
    by: Mapping[str, float | None] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    corrected: float | None = None
    run: str = ""
    fault: str = ""
    samples: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Ranked rows, best first, unreadable ones last, over the same n instances; and the settings that reproduce the ranking.

    `forced` lists the differences between runs that --force ranked anyway. `test` with `correction` over `family` pairs made the shared
    ranks, over those of one submission its rank interval, `n_resamples` draws with `seed` the chances to be first. `by_direction` says for
    each column of `by` which way is better: the parts that scores are shown by, and the further scorers, each over all that a run was
    scored on; those of `raw_columns` are means on a scale of their own. `part_of` is the number of gold's instances if these are fewer,
    None if all of gold is ranked. `is_raw`: scores are means on the metric's own scale, which has no fixed range. `n_units` counts records
    if instances have many.
    """

    suite: str
    rules: str
    n_instances: int
    direction: Direction
    rows: tuple[RankedRow, ...]
    signatures: tuple[str, ...]
    by: By | None
    by_direction: Mapping[str, Direction]
    forced: tuple[str, ...]
    notes: tuple[str, ...]
    confidence: float
    test: str
    correction: str
    family: int
    seed: int
    n_resamples: int
    tau: float | None
    n_new: int
    n_reused: int
    n_runs: int
    anonymous: bool
    part_of: int | None
    raw_columns: tuple[str, ...]
    is_raw: bool
    n_units: int

    @property
    def score_title(self) -> str:
        """The title of the score's column, with its polarity."""
        return f"{'mean' if self.is_raw else 'score'} ({self.direction} is better)"

    def to_json(self) -> dict[str, Any]:
        """Return the board as one JSON object."""
        return {"schema_version": SCHEMA_VERSION, "polarity": self.score_title, **asdict(self)}


def make_leaderboard(
    entries: Sequence[Entry],
    memo: DiskCache,
    *,
    by: By | None = None,
    force: bool = False,
    anonymous: bool = False,
    notes: Sequence[str] = (),
    allow_unscored: bool = False,
    samples: bool = False,
) -> Leaderboard:
    """Rank entries over the instances that all of them have.

    Instances that the grader's side left unjudged count for no submission: one with such instances has no rank, or, with `allow_unscored`,
    all are ranked over the instances on which each of them was judged; one without any has no rank either way. With `samples` the
    submissions of one `model_name` are samples of it, and rows are models, which are ranked by the means of their samples.

    Raises:
        UsageError: no entry could be read, or runs differ in signature or instances without `force`.
    """
    entries, notes, of_model = _entries_of_rows(entries, notes, samples=samples, anonymous=anonymous, force=force)
    runs = [(entry, entry.scores) for entry in entries if entry.scores is not None]
    if not runs:
        why = f": {entries[0].name}: {entries[0].fault}" if entries and not anonymous else ""
        raise UsageError(
            f"none of {count_words(len(entries), 'submission')} could be read{why}", hint="`evalsuite validate FOLDER` says what is wrong"
        )
    all_scores = [scores for _, scores in runs]
    forced, table = _refuse_unlike(all_scores, force=force), SharedInstances(all_scores)
    ranked, over = _rankable(table, allow_unscored=allow_unscored)
    numbers = _ranking_numbers(over, ranked, memo)
    places = dict(zip(ranked, numbers["submissions"], strict=True))
    parts = table.places(by) if by else {}
    samples_of = {name: model.to_json() for name, model in of_model.items()}
    rows = [
        replace(_ranked_row(entry, table, over, i, places.get(i), parts), samples=samples_of.get(entry.name))
        for i, (entry, _) in enumerate(runs)
    ]
    rows.sort(key=lambda row: (row.rank is None, row.rank or 0, row.name))
    broken = [RankedRow(name=entry.name, fault=entry.fault, metadata=entry.metadata) for entry in entries if entry.scores is None]
    return Leaderboard(
        rows=(*rows, *sorted(broken, key=lambda row: row.name)),
        by=by,
        by_direction={name: direction_of([name]) if by == "scorer" else table.direction for name in parts} | further_directions(table.runs),
        forced=tuple(forced),
        notes=(*notes, *_equal_submissions(runs), *_versions_notes(runs), *_notes_on(table, over, len(ranked), rows), *table.notes),
        confidence=CONFIDENCE,
        n_new=sum(entry.is_new for entry in entries),
        n_reused=sum(not entry.is_new and not entry.is_run for entry, _ in runs),
        n_runs=sum(entry.is_run for entry, _ in runs),
        anonymous=anonymous,
        **{key: numbers[key] for key in ("test", "correction", "family", "seed", "n_resamples", "tau")},
        **_description(table),
    )


def empty_board(suite: str, rules: str, n_instances: int, notes: Sequence[str]) -> Leaderboard:
    """Return the board of a suite that has accepted no submission, because it is not open yet or was closed before one came."""
    nothing: dict[str, Any] = {"signatures": (), "by": None, "by_direction": {}, "forced": (), "raw_columns": (), "part_of": None}
    counts: dict[str, Any] = {"n_new": 0, "n_reused": 0, "n_runs": 0, "n_units": n_instances, "n_instances": n_instances}
    ranking: dict[str, Any] = {
        "test": "",
        "correction": "",
        "family": 0,
        "seed": SEED,
        "n_resamples": 0,
        "tau": None,
        "confidence": CONFIDENCE,
    }
    how: dict[str, Any] = {"direction": "higher", "is_raw": False, "anonymous": False}
    return Leaderboard(suite=suite, rules=rules, rows=(), notes=tuple(notes), **nothing, **counts, **ranking, **how)


def _entries_of_rows(
    entries: Sequence[Entry], notes: Sequence[str], *, samples: bool, anonymous: bool, force: bool
) -> tuple[Sequence[Entry], Sequence[str], Mapping[str, ModelSamples]]:
    """Return (an entry for each row, notes, samples by model): with `samples` a row is a model, with `anonymous` it has no name."""
    of_model: Mapping[str, ModelSamples] = {}
    if samples:
        entries, left_out = newest_samples(entries)
        notes = (*notes, *left_out)
        if with_scores := [entry.scores for entry in entries if entry.scores is not None]:
            _refuse_unlike(with_scores, force=force)
        entries, of_model = models_of(entries)
    return (without_names(entries), (), {}) if anonymous else (entries, notes, of_model)


def _rankable(table: SharedInstances, *, allow_unscored: bool) -> tuple[list[int], SharedInstances]:
    """Return (the runs that get a rank, the table over the instances on which each of them was judged)."""
    ungraded = [table.find_ungraded(i) for i in range(len(table.runs))]
    judged_runs = [i for i in range(len(table.runs)) if any(value is not None for value in table.column(i, "score"))]
    ranked = [i for i in judged_runs if allow_unscored or table.is_raw or not ungraded[i]]
    return ranked, table.drop_instances(set().union(*(ungraded[i] for i in ranked)))


def _description(table: SharedInstances) -> dict[str, Any]:
    """Return the fields of a `Leaderboard` that describe its runs."""
    n_gold = max(run.n_instances for run in table.runs)
    return {
        "suite": table.runs[0].suite,
        "rules": " and ".join(sorted({run.rules for run in table.runs})),
        "n_instances": len(table.ids),
        "direction": table.direction,
        "signatures": tuple(sorted({run.signature for run in table.runs})),
        "raw_columns": tuple(sorted({name for run in table.runs for name in run.further_raw})),
        "part_of": n_gold if len(table.ids) < n_gold else None,
        "is_raw": table.is_raw,
        "n_units": table.n_units(),
    }


def _equal_submissions(runs: Sequence[tuple[Entry, RunScores]]) -> Iterator[str]:
    """Yield the names that share a submission, each content once: a copy under another name has a rank of its own."""
    names: dict[str, list[str]] = {}
    for entry, scores in runs:
        if scores.submission_hash:
            names.setdefault(scores.submission_hash, []).append(entry.name)
    yield from (f"the same answers under several names: {join_names(group)}" for group in names.values() if len(group) > 1)


def _versions_notes(runs: Sequence[tuple[Entry, RunScores]]) -> Iterator[str]:
    """Yield which runs were scored with other versions than the first."""
    names_by_versions: dict[tuple[str, ...], list[str]] = {}
    for entry, scores in runs:
        names_by_versions.setdefault(tuple(changed_versions(runs[0][1].versions, scores.versions)), []).append(entry.name)
    yield from (
        versions_warning(versions, who=f"{runs[0][0].name} and {join_names(names)}")
        for versions, names in names_by_versions.items()
        if versions
    )


def _notes_on(table: SharedInstances, over: SharedInstances, n_ranked: int, rows: Sequence[RankedRow]) -> Iterator[str]:
    """Yield what a reader has to know of a ranking `over` some of a table's instances."""
    if empty := [row.name for row in rows if row.n_handed_in == 0]:
        is_part = len(table.ids) < max(len(run.ids) for run in table.runs)
        what = "any of these instances" if is_part else "any instance (`evalsuite validate FOLDER` says why)"
        yield f"without an answer to {what}: {join_names(empty)}"
    if len(over.ids) < len(table.ids):
        yield f"ranked over the {len(over.ids)} of {len(table.ids)} instances on which each of them was judged"
    if few := over.cluster_note(n_ranked, 1 - CONFIDENCE):
        yield few
    for state in ("stale", "expired"):
        if n := max(run.n_unapplied.get(state, 0) for run in table.runs):
            yield f"{n} {state} {'entry' if n == 1 else 'entries'} of gold.errata.yaml not applied"


def _refuse_unlike(runs: Sequence[RunScores], *, force: bool) -> list[str]:
    """Return the differences between runs that are ranked anyway. Raises `UsageError` if there are any, without `force`."""
    forced = differences_that_forbid_ranking(runs)
    if forced and not force:
        hint = "score them alike (`evalsuite runs rescore RUN --rules ...`), or --force a ranking over what they share"
        raise UsageError(f"these runs cannot be ranked together: they differ in {'; '.join(forced)}", hint=hint)
    return forced


def _count_statuses(entry: Entry, ids: Sequence[str]) -> Counter[str]:
    """Return status -> number of instances, as the run has them: a table of raw values calls a missing answer unscored."""
    status_of = dict(zip(entry.scores.ids, entry.scores.status, strict=True)) if entry.scores is not None else {}
    return Counter(status_of[name] for name in ids)


def _mean_of_run(instances: SharedInstances | None, i: int, which: str) -> float | None:
    """Return the mean over the judged instances of run i; None of nothing."""
    values = [] if instances is None else instances.column(i, which)
    if instances is None or all(value is None for value in values):
        return None
    return mean(instances.values(i, which)) if has_verdicts(zip(instances.column(i, "status"), values, strict=True)) else None


def _ranked_row(
    entry: Entry, table: SharedInstances, over: SharedInstances, i: int, place: Mapping[str, Any] | None, parts: Mapping[str, Sequence[int]]
) -> RankedRow:
    """Return the row of run i: with its `place` in the ranking `over` some instances, or without one. Counts are of all in `table`."""
    run, absent, n = table.runs[i], table.find_ungraded(i), len(table.ids)
    counts = _count_statuses(entry, table.ids)
    instances = over if place is not None else table.drop_instances(absent) if len(absent) < n else None
    scores = dict(zip(instances.ids, instances.values(i, "score"), strict=True)) if instances is not None else {}

    own_mean = _mean_of_run(instances, i, "score")

    def mean_of_part(places: Sequence[int]) -> float | None:
        values = [scores[name] for at in places if (name := table.ids[at]) in scores]
        return mean(values) if values else None

    n_submitted = n - counts["missing"]
    return RankedRow(
        name=entry.name,
        rank=place["rank"] if place else None,
        shared_ranks=(place["shared_from"], place["shared_to"]) if place else None,
        rank_interval=(place["low_rank"], place["high_rank"]) if place else None,
        p_first=place["p_first"] if place else None,
        score=place["mean"] if place else own_mean,
        n_judged=n - len(absent) if place or own_mean is not None else 0,
        score_low=None if table.is_raw else mean(table.values(i, "score")),
        score_high=None if table.is_raw else mean(table.values(i, "score", "best")),
        interval=tuple(place["interval"]) if place and place["interval"] else None,
        interval_method=place["method"] if place else "",
        official=_mean_of_run(instances, i, "official"),
        strict=_mean_of_run(instances, i, "strict"),
        n_handed_in=n_submitted,
        coverage=n_submitted / n,
        faults={name: counts[name] for name in _FAULTS if counts[name]},
        by={**{name: mean_of_part(places) for name, places in parts.items()}, **run.further},
        metadata={**{key: str(value) for key, value in run.metadata.items()}, **entry.metadata},
        corrected=run.corrected,
        run=PurePath(run.folder).name,
    )


def _ranking_numbers(table: SharedInstances, ranked: Sequence[int], memo: DiskCache) -> dict[str, Any]:
    """Return the ranking of the runs that have a rank, and each one's interval, as JSON values; computed once for the same scores."""
    if not ranked:
        return {"test": "", "correction": "", "family": 0, "seed": SEED, "n_resamples": 0, "tau": None, "submissions": []}
    means = [mean(table.values(i, "score")) for i in ranked]
    units = table.unit_values(ranked)
    vectors = units or [table.values(i, "score") for i in ranked]
    clusters = None if units else table.clusters()
    cache_key = json.dumps([vectors, means, table.direction, clusters, CONFIDENCE, *(["raw"] if table.is_raw else [])]).encode()
    key = hashlib.sha256(cache_key).hexdigest()
    cached: dict[str, Any] | None = memo.get("ranking", key)
    if cached is not None:
        return cached
    from evalsuite.stats.ranking import rank_submissions

    def of(score: float, values: Sequence[float]) -> dict[str, Any]:
        interval = reported_interval(values, score=score if units else None, clusters=clusters, is_raw=table.is_raw)
        return {"interval": None if interval.low is None else [interval.low, interval.high], "method": interval.method}

    ranking = rank_submissions(vectors, means=means, higher_is_better=table.direction == "higher", confidence=CONFIDENCE, clusters=clusters)
    numbers = {name: getattr(ranking, name) for name in ("test", "correction", "family", "seed", "n_resamples", "tau")}
    numbers["submissions"] = [
        {**asdict(place), **of(place.mean, vector)} for place, vector in zip(ranking.submissions, vectors, strict=True)
    ]
    memo.put("ranking", key, numbers)
    return numbers


BOARD_FILE: Final = "board.yaml"
_PHASE_KEYS: Final = ("name", "opens", "closes")
_KEYS: Final = ("title", "opens", "closes", "phases", "per_day", "hidden", "seed", "reveal", "feedback", "url")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A period in which submissions are accepted: from `opens` to before `closes` (UTC), each None if there is no limit on that side."""

    name: str = ""
    opens: datetime | None = None
    closes: datetime | None = None

    def contains(self, moment: datetime) -> bool:
        """Whether a moment is in the phase."""
        return (self.opens is None or self.opens <= moment) and (self.closes is None or moment < self.closes)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRules:
    """The host's rules of a board; without a `board.yaml` everything is accepted and all of gold is scored.

    `per_day` limits the new submissions of a team a day (UTC). With `hides_half` a half of the instances, chosen by `seed`, is scored only
    after the last phase has closed. `reveal` and `feedback` are levels of `status.LEVELS`, `url` is the address of the site.
    """

    title: str = ""
    phases: tuple[Phase, ...] = ()
    per_day: int | None = None
    hides_half: bool = False
    seed: int = SEED
    reveal: str = "none"
    feedback: str = "class"
    url: str = ""

    def phase(self, moment: datetime) -> Phase | None:
        """Return the phase that contains a moment."""
        return next((phase for phase in self.phases if phase.contains(moment)), None)

    def reason_closed(self, moment: datetime) -> str:
        """Return why nothing is accepted at a moment, empty if submissions are accepted."""
        if not self.phases or self.phase(moment) is not None:
            return ""
        if coming := [phase for phase in self.phases if phase.opens is not None and phase.opens > moment]:
            return f"{coming[0].name or 'the board'} opens at {format_moment(coming[0].opens)}"
        return f"{self.phases[-1].name or 'the board'} closed at {format_moment(self.phases[-1].closes)}"

    def ids_to_score(self, ids: Sequence[str], moment: datetime) -> tuple[str, ...]:
        """Return the instances that are scored at a moment, in gold's order; empty for all of them.

        The half depends on the seed and on each instance's own id, so that it stays the same when gold grows.
        """
        closes = self.phases[-1].closes if self.phases else None
        if not self.hides_half or (closes is not None and moment >= closes):
            return ()
        drawn = sorted(ids, key=lambda name: hashlib.sha256(f"{self.seed}|{name}".encode("utf-8", "surrogatepass")).digest())
        shown_ids = set(drawn[: math.ceil(len(ids) / 2)])
        return tuple(name for name in ids if name in shown_ids)


def format_moment(moment: datetime | None) -> str:
    """Format a moment: `2026-11-30 18:00 UTC`."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def read_board_rules(file: Path) -> BoardRules:
    """Read the rules in a file. Raises `GoldError` with file and line for invalid values."""
    where, fields, lines = file.name, dict[str, Any](), dict[str, str]()
    with yaml_nodes(file, where) as (loader, node):
        for key, value, place in _entries(node, where, _KEYS):
            lines[key] = place
            if key in ("opens", "closes"):
                fields[key] = _moment(value, key, place)
            elif key == "phases":
                fields[key] = tuple(_phases(value, where))
            else:
                fields[key] = loader.construct_object(value, deep=True)
    for key, value in fields.items():
        _check(key, value, lines[key])
    if "phases" in fields and (twice := [key for key in ("opens", "closes") if key in fields]):
        raise GoldError(f"{lines[twice[0]]}: {twice[0]} next to phases", hint="move it into the phases")
    if alone := {key: fields.pop(key) for key in ("opens", "closes") if key in fields}:
        fields["phases"] = (_check_order(Phase(**alone), lines.get("closes", lines.get("opens", where))),)
    hides = fields.pop("hidden", "none") == "half"
    if hides and not (fields.get("phases") and fields["phases"][-1].closes):
        raise GoldError(f"{lines['hidden']}: hidden: half needs a close, at which the other half is scored", hint="closes: 2026-11-30")
    return replace(BoardRules(), hides_half=hides, **fields)


def _entries(node: Any, where: str, keys: Sequence[str]) -> Iterator[tuple[str, Any, str]]:
    """Yield (key, node of the value, "file:line") of a mapping of known keys; nothing of an empty file."""
    if node is None:
        return
    if node.id != "mapping":
        raise GoldError(f"{where}:{node.start_mark.line + 1}: not a mapping", hint="write `key: value` lines")
    for key_node, value_node in node.value:
        key, place = str(key_node.value), f"{where}:{key_node.start_mark.line + 1}"
        if key not in keys:
            raise GoldError(f"{place}: unknown key {key!r}", hint=did_you_mean(key, keys))
        yield key, value_node, place


def _phases(node: Any, where: str) -> Iterator[Phase]:
    if node.id != "sequence" or not node.value:
        raise GoldError(
            f"{where}:{node.start_mark.line + 1}: phases must be a list", hint="- {name: final, opens: 2026-11-20, closes: 2026-11-30}"
        )
    last: Phase | None = None
    for item in node.value:
        fields: dict[str, Any] = {}
        place = f"{where}:{item.start_mark.line + 1}"
        for key, value, at in _entries(item, where, _PHASE_KEYS):
            fields[key], place = str(value.value) if key == "name" else _moment(value, key, at), at
        phase = _check_order(Phase(**fields), place)
        if last is not None and (last.closes is None or phase.opens is None or phase.opens < last.closes):
            raise GoldError(f"{place}: a phase begins before the one above it has closed", hint="give both `closes` and `opens`, in order")
        last = phase
        yield phase


def _check_order(phase: Phase, place: str) -> Phase:
    if phase.opens is not None and phase.closes is not None and phase.closes <= phase.opens:
        raise GoldError(
            f"{place}: closes at {format_moment(phase.closes)}, before it opens at {format_moment(phase.opens)}", hint="exchange the two"
        )
    return phase


def _moment(node: Any, key: str, place: str) -> datetime:
    """Parse a moment; a day without a time is its beginning, or its end for `closes`."""
    text = str(node.value).strip() if node.id == "scalar" else ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        hint = "write 2026-11-30, or with a time 2026-11-30T18:00+01:00"
        raise GoldError(f"{place}: {key} must be a day or a moment, found {text or 'something else'!r}", hint=hint) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC) + timedelta(days=key == "closes" and len(text) <= len("2026-11-30"))


def _check(key: str, value: Any, place: str) -> None:
    """Raise for an invalid value of a key at the top."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    levels = "one of " + ", ".join(LEVELS)
    wrong: Mapping[str, tuple[bool, str, str]] = {
        "title": (not isinstance(value, str), "text", '"Autumn board"'),
        "url": (
            not isinstance(value, str) or not value.startswith(("https://", "http://")),
            "an address, https://...",
            "https://example.org/board/",
        ),
        "per_day": (not is_number or value < 1, "a whole number from 1", "3"),
        "seed": (not is_number, "a whole number", "12345"),
        "hidden": (value not in ("half", "none"), "half or none", "half"),
        "reveal": (value not in LEVELS, levels, "none"),
        "feedback": (value not in LEVELS, levels, "class"),
    }
    is_wrong, expected, example = wrong.get(key, (False, "", ""))
    if is_wrong:
        raise GoldError(f"{place}: {key} must be {expected}, found {value!r}", hint=f"for example {key}: {example}")


# The team of `alpha--second try` is `alpha`.
TEAM_ENDS = "--"


class Admission:
    """Accepts or rejects submissions. A file of the host records when each content was first accepted.

    What was accepted once stays accepted, whatever its files' times and its current name; the same content is not counted twice.
    """

    def __init__(self, rules: BoardRules, file: Path, now: datetime, *, teams: Mapping[str, str] | None = None) -> None:
        self._rules, self._file, self._now, self._teams = rules, file, now.astimezone(UTC), teams or {}
        saved = read_json(file)
        accepted = saved if isinstance(saved, dict) else {}
        # Submission hash -> (when it was accepted, its team).
        self._taken = {str(key): (str(row[0]), str(row[1])) for key, row in accepted.items() if isinstance(row, list) and len(row) == 2}
        self.notes: list[str] = []

    def __call__(self, hashes: Mapping[str, str]) -> Collection[str]:
        """Return the names of the rejected submissions; `notes` then say why. Raises `OutputError`."""
        refused, n_before = [], len(self._taken)
        for name in sorted(hashes):
            if why := self._reason_for_refusal(name, hashes[name]):
                refused.append(name)
                self.notes.append(f"{name} is not accepted: {why}")
        if len(self._taken) > n_before:
            # Saved at once: a content accepted before a close stays accepted, even if scoring fails.
            text = json.dumps({key: list(row) for key, row in self._taken.items()}, indent=1) + "\n"
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self._file, text)
            except OSError as error:
                raise write_error(self._file, error) from error
        return refused

    def time_received(self, submission_hash: str) -> str:
        """Return when a content was first accepted, as `2026-11-22T14:30:00Z`; empty if unknown."""
        return self._taken.get(submission_hash, ("", ""))[0]

    def _reason_for_refusal(self, name: str, content: str) -> str:
        if content in self._taken:
            return ""
        if why := self._rules.reason_closed(self._now):
            return why
        team, today = self._teams.get(name) or name.partition(TEAM_ENDS)[0], self._now.strftime("%Y-%m-%d")
        n_today = sum(moment.startswith(today) and team_of_row == team for moment, team_of_row in self._taken.values())
        if self._rules.per_day is not None and n_today >= self._rules.per_day:
            tomorrow = (self._now + timedelta(days=1)).strftime("%Y-%m-%d")
            limit = f"the limit is {self._rules.per_day} a day"
            return f"{n_today} of {team!r} were accepted today, {limit}; it is checked again from {tomorrow} on"
        self._taken[content] = (self._now.strftime("%Y-%m-%dT%H:%M:%SZ"), team)
        return ""


def check_trust(places: Sequence[Place], gold: Path, *, key: Path | None, isolation: str) -> list[Place]:
    """Return the places with the fault of each untrusted run; submissions are unchanged, because they are scored here.

    With a public key, a run is trusted if its owner signed it over this gold and it was not changed since: nothing is scored again. Without
    one, every row of gold must be verified, so the submission must be where the run says. Raises `UsageError` for an invalid key.
    """
    if key is not None:
        read_public_key(key)
    trusted = []
    for place in places:
        why = _reason_for_distrust(place.folder, gold, key, isolation) if place.is_run and not place.fault else ""
        foreign = replace(place, is_foreign=place.is_run and isolation != "none")
        trusted.append(replace(foreign, fault=f"not verified: {why}") if why else foreign)
    return trusted


def _reason_for_distrust(folder: Path, gold: Path, key: Path | None, isolation: str) -> str:
    """Return why a run is not trusted, empty if it is."""
    from evalsuite.analysis.receipts.verification import read_claims, verify

    try:
        if key is None:
            verified = verify(folder, gold=gold, isolation=isolation)
            wrong = [finding.name for finding in verified.findings if not finding.good]
            omission = f"{count_words(len(verified.left_out), 'row')} could not be scored again" if verified.left_out else ""
            return ", ".join(wrong) or omission
        findings, claims = read_claims(folder, isolation)
        if claims is None:
            return ", ".join(f"{finding.name} {finding.says}" for finding in findings if not finding.good)
        if why := why_not_signed(folder, read_public_key(key)):
            return why
        spec = find_spec(gold)
        gold_now = gold_hash(spec.parent, spec)
    except MachineError:
        raise
    except EvalsuiteError as error:
        return error.message
    recorded = claims.run["gold"]["hash"]
    return "" if recorded == gold_now else f"made with another gold ({recorded}, not {gold_now})"
