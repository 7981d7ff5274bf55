"""Entries -> Leaderboard: every number of a ranking is computed here, once."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from typing import Any

from evalsuite.analysis.leaderboard.pairing import By, Direction, SharedInstances, direction_of, further_directions, what_forbids_ranking
from evalsuite.analysis.leaderboard.repeated_runs import ModelSamples, models_of, newest_samples
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import UsageError
from evalsuite.core.status import FAULTY, STATUSES, UNJUDGED
from evalsuite.runs.leaderboard_entries import Entry, without_names
from evalsuite.runs.run_scores import RunScores
from evalsuite.stats.samples import SEED

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
    ranks,
    over those of one submission its rank interval, `n_resamples` draws with `seed` the chances to be first. `by_direction` says for each
    column
    of `by` which way is better: the parts that scores are shown by, and the further scorers, each over all that a run was scored on; those
    of
    `raw_columns` are means on a scale of their own. `part_of` is the number of gold's instances if these are fewer, None if all of gold is
    ranked. `is_raw`: scores are means on the metric's own scale, which has no fixed range. `n_units` counts records if instances have many.
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
    anonymous: bool = False
    part_of: int | None = None
    raw_columns: tuple[str, ...] = ()
    is_raw: bool = False
    n_units: int = 0

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
    all
    are ranked over the instances on which each of them was judged; one without any has no rank either way. With `samples` the submissions
    of one `model_name` are samples of it, and rows are models, which are ranked by the means of their samples.

    Raises:
        UsageError: no entry could be read, or runs differ in signature or instances without `force`.
    """
    of_model: Mapping[str, ModelSamples] = {}
    if samples:
        entries, left_out = newest_samples(entries)
        notes = (*notes, *left_out)
        if alike := [entry.scores for entry in entries if entry.scores is not None]:
            _refuse_unlike(alike, force=force)
        entries, of_model = models_of(entries)
    if anonymous:
        entries, notes, of_model = without_names(entries), (), {}
    runs = [(entry, entry.scores) for entry in entries if entry.scores is not None]
    if not runs:
        why = f": {entries[0].name}: {entries[0].fault}" if entries and not anonymous else ""
        raise UsageError(f"none of {len(entries)} submissions could be read{why}", hint="`evalsuite validate FOLDER` says what is wrong")
    forced = _refuse_unlike([scores for _, scores in runs], force=force)
    table = SharedInstances([scores for _, scores in runs])
    ungraded = [table.ungraded(i) for i in range(len(runs))]
    judged = [any(value is not None for value in table.column(i, "score")) for i in range(len(runs))]
    ranked = [i for i, left in enumerate(ungraded) if judged[i] and (allow_unscored or table.is_raw or not left)]
    over = table.without(set().union(*(ungraded[i] for i in ranked)))
    numbers = _ranking_numbers(over, ranked, memo)
    places = dict(zip(ranked, numbers["submissions"], strict=True))
    parts = table.places(by) if by else {}
    rows = [
        replace(
            _ranked_row(entry, table, over, i, places.get(i), parts),
            samples=of_model[entry.name].to_json() if entry.name in of_model else None,
        )
        for i, (entry, _) in enumerate(runs)
    ]
    rows.sort(key=lambda row: (row.rank is None, row.rank or 0, row.name))
    broken = [RankedRow(name=entry.name, fault=entry.fault, metadata=entry.metadata) for entry in entries if entry.scores is None]
    first, n_gold = table.runs[0], max(run.n_instances for run in table.runs)
    return Leaderboard(
        suite=first.suite,
        rules=" and ".join(sorted({run.rules for run in table.runs})),
        n_instances=len(table.ids),
        direction=table.direction,
        rows=(*rows, *sorted(broken, key=lambda row: row.name)),
        signatures=tuple(sorted({run.signature for run in table.runs})),
        by=by,
        by_direction={name: direction_of([name]) if by == "scorer" else table.direction for name in parts} | further_directions(table.runs),
        raw_columns=tuple(sorted({name for run in table.runs for name in run.further_raw})),
        forced=tuple(forced),
        notes=(*notes, *_notes_on(table, over, len(ranked)), *table.notes),
        confidence=CONFIDENCE,
        **{key: numbers[key] for key in ("test", "correction", "family", "seed", "n_resamples", "tau")},
        n_new=sum(entry.is_new for entry in entries),
        n_reused=sum(not entry.is_new and not entry.is_run for entry, _ in runs),
        n_runs=sum(entry.is_run for entry, _ in runs),
        anonymous=anonymous,
        part_of=n_gold if len(table.ids) < n_gold else None,
        is_raw=table.is_raw,
        n_units=table.n_units(),
    )


def _notes_on(table: SharedInstances, over: SharedInstances, n_ranked: int) -> Iterator[str]:
    """Yield what a reader has to know of a ranking `over` some of a table's instances."""
    if len(over.ids) < len(table.ids):
        yield f"ranked over the {len(over.ids)} of {len(table.ids)} instances on which each of them was judged"
    if few := over.cluster_note(n_ranked, 1 - CONFIDENCE):
        yield few
    for state in ("stale", "expired"):
        if n := max(run.n_unapplied.get(state, 0) for run in table.runs):
            yield f"{n} {state} {'entry' if n == 1 else 'entries'} of gold.errata.yaml not applied"


def _refuse_unlike(runs: Sequence[RunScores], *, force: bool) -> list[str]:
    """Return the differences between runs that are ranked anyway. Raises `UsageError` if there are any, without `force`."""
    forced = what_forbids_ranking(runs)
    if forced and not force:
        hint = "score them alike (`evalsuite rescore RUN --rules ...`), or --force a ranking over what they share"
        raise UsageError(f"these runs cannot be ranked together: they differ in {'; '.join(forced)}", hint=hint)
    return forced


def _ranked_row(
    entry: Entry, table: SharedInstances, over: SharedInstances, i: int, place: Mapping[str, Any] | None, parts: Mapping[str, Sequence[int]]
) -> RankedRow:
    """Return the row of run i: with its `place` in the ranking `over` some instances, or without one. Counts are those of all in
    `table`.
    """
    run, status, left = table.runs[i], table.column(i, "status"), table.ungraded(i)
    counts, n = Counter(status), len(status)
    own = over if place is not None else table.without(left) if len(left) < n else None
    scores = dict(zip(own.ids, own.values(i, "score"), strict=True)) if own is not None else {}

    def mean(which: str) -> float | None:
        """Return the mean over the judged instances of this run; None of nothing."""
        if own is None or all(value is None for value in own.column(i, which)):
            return None
        values = own.values(i, which)
        return sum(values) / len(values)

    def mean_of_part(here: Sequence[int]) -> float | None:
        values = [scores[name] for at in here if (name := table.ids[at]) in scores]
        return sum(values) / len(values) if values else None

    handed_in = n - counts["missing"]
    return RankedRow(
        name=entry.name,
        rank=place["rank"] if place else None,
        shared_ranks=(place["shared_from"], place["shared_to"]) if place else None,
        rank_interval=(place["low_rank"], place["high_rank"]) if place else None,
        p_first=place["p_first"] if place else None,
        score=place["mean"] if place else mean("score"),
        n_judged=n - len(left) if place or mean("score") is not None else 0,
        score_low=None if table.is_raw else sum(table.values(i, "score")) / n,
        score_high=None if table.is_raw else sum(table.values(i, "score", "best")) / n,
        interval=tuple(place["interval"]) if place and place["interval"] else None,
        interval_method=place["method"] if place else "",
        official=mean("official"),
        strict=mean("strict"),
        n_handed_in=handed_in,
        coverage=handed_in / n,
        faults={name: counts[name] for name in _FAULTS if counts[name]},
        by={**{name: mean_of_part(here) for name, here in parts.items()}, **run.further},
        metadata={**{key: str(value) for key, value in run.metadata.items()}, **entry.metadata},
        corrected=run.corrected,
        run=PurePath(run.folder).name,
    )


def _ranking_numbers(table: SharedInstances, ranked: Sequence[int], memo: DiskCache) -> dict[str, Any]:
    """Return the ranking of the runs that have a rank, and each one's interval, as JSON values; computed once for the same scores."""
    if not ranked:
        return {"test": "", "correction": "", "family": 0, "seed": SEED, "n_resamples": 0, "tau": None, "submissions": []}
    means = [sum(values) / len(values) for values in (table.values(i, "score") for i in ranked)]
    units = table.unit_values(ranked)
    vectors = units or [table.values(i, "score") for i in ranked]
    clusters = None if units else table.clusters()
    asked = json.dumps([vectors, means, table.direction, clusters, CONFIDENCE, *(["raw"] if table.is_raw else [])]).encode()
    key = hashlib.sha256(asked).hexdigest()
    known: dict[str, Any] | None = memo.get("ranking", key)
    if known is not None:
        return known
    from evalsuite.stats.ranking import rank_submissions

    ranking = rank_submissions(vectors, means=means, higher_is_better=table.direction == "higher", confidence=CONFIDENCE, clusters=clusters)
    of = _interval_of_mean(clusters, is_raw=table.is_raw)
    kept = {name: getattr(ranking, name) for name in ("test", "correction", "family", "seed", "n_resamples", "tau")}
    kept["submissions"] = [{**asdict(place), **of(place.mean, vector)} for place, vector in zip(ranking.submissions, vectors, strict=True)]
    memo.put("ranking", key, kept)
    return kept


def _interval_of_mean(clusters: Sequence[str] | None, *, is_raw: bool) -> Callable[[float, Sequence[float]], dict[str, Any]]:
    """Return the 95 % interval of a score from its units: over clusters if the suite names some, else the one of every report.

    Raw values are unbounded.
    """
    from evalsuite.stats.intervals import clustered_interval, clustered_score_interval, interval_of_units, score_interval, t_interval

    def of(score: float, units: Sequence[float]) -> dict[str, Any]:
        if is_raw:
            found = clustered_interval(units, clusters) if clusters else t_interval(units)
        elif clusters:
            found = clustered_score_interval(units, clusters)
        else:
            found = interval_of_units(score, units) if len(units) > 1 and 0 <= score <= 1 else score_interval(units)
        return {"interval": None if found.low is None else [found.low, found.high], "method": found.method}

    return of
