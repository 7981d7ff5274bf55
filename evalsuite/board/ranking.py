"""Entries -> Leaderboard: every number of a ranking is computed here, once."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any, Literal

from evalsuite.errors import UsageError
from evalsuite.memo import Memo
from evalsuite.outcome import FAULTY, STATUSES, UNJUDGED, ZERO
from evalsuite.registry import UnknownScorerError
from evalsuite.run.anonymous import without_names
from evalsuite.run.entries import Entry
from evalsuite.scorers import SCORERS
from evalsuite.store.run_scores import RunScores

SCHEMA_VERSION = 1
CONFIDENCE = 0.95
By = Literal["scorer", "group"]
Direction = Literal["higher", "lower"]
# What the submissions are to blame for before what they are not.
_FAULTS = sorted((status for status in STATUSES if status in FAULTY), key=lambda status: status in UNJUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRow:
    """One submission's line. Shares lie in [0, 1]; all numbers are None where `fault` says why it could not be read.

    `rank` counts from 1, equal scores share one. `shared_ranks` are the places the paired tests leave open, `rank_interval` holds the
    rank in 95 % of the resamples, `p_first` is the share of them with rank 1. `interval` is that of the score, `score_high` the score
    with the unjudged counted right. `coverage` is the share of instances handed in, `faults` counts instances by status.
    """

    name: str
    rank: int | None = None
    shared_ranks: tuple[int, int] | None = None
    rank_interval: tuple[int, int] | None = None
    p_first: float | None = None
    score: float | None = None
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
    run: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Ranked rows, best first, those that could not be read last, over the same n instances; and what is needed to repeat it.

    `forced` lists what differed between the runs where --force ranked them all the same. `test` with `correction` over `family` pairs
    made the shared ranks, `n_resamples` draws with `seed` the rank intervals. `by_direction` says for each column which way is better.
    `part_of` is the number of gold's instances where these are fewer, None where all of gold is ranked.
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

    @property
    def score_title(self) -> str:
        """The title of the score's column, with its polarity."""
        return f"score ({self.direction} is better)"

    def to_json(self) -> dict[str, Any]:
        """The board as one JSON object."""
        return {"schema_version": SCHEMA_VERSION, "polarity": self.score_title, **asdict(self)}


def make_leaderboard(
    entries: Sequence[Entry], memo: Memo, *, by: By | None = None, force: bool = False, anonymous: bool = False, notes: Sequence[str] = ()
) -> Leaderboard:
    """The leaderboard of entries over the instances that all of them have.

    Raises `UsageError` where none could be read, and where runs differ in signature or instances unless `force`.
    """
    if anonymous:
        entries, notes = without_names(entries), ()
    runs = [(entry, entry.scores) for entry in entries if entry.scores is not None]
    if not runs:
        why = f": {entries[0].name}: {entries[0].fault}" if entries and not anonymous else ""
        raise UsageError(f"none of {len(entries)} submissions could be read{why}", hint="`evalsuite validate FOLDER` says what is wrong")
    forced = _what_forbids_ranking([scores for _, scores in runs])
    if forced and not force:
        hint = "score them alike (`evalsuite rescore RUN --rules ...`), or --force a ranking over what they share"
        raise UsageError(f"these runs cannot be ranked together: they differ in {'; '.join(forced)}", hint=hint)
    table = _SharedInstances([scores for _, scores in runs])
    numbers = _ranking_numbers(table, memo)
    parts = table.places(by) if by else {}
    rows = [_ranked_row(entry, table, numbers, i, parts) for i, (entry, _) in enumerate(runs)]
    ranked = sorted(rows, key=lambda row: (row.rank or 0, row.name))
    broken = [RankedRow(name=entry.name, fault=entry.fault, metadata=entry.metadata) for entry in entries if entry.scores is None]
    first, n_gold = table.runs[0], max(run.n_instances for run in table.runs)
    return Leaderboard(
        suite=first.suite,
        rules=" and ".join(sorted({run.rules for run in table.runs})),
        n_instances=len(table.ids),
        direction=table.direction,
        rows=(*ranked, *sorted(broken, key=lambda row: row.name)),
        signatures=tuple(sorted({run.signature for run in table.runs})),
        by=by,
        by_direction={name: direction_of([name]) if by == "scorer" else table.direction for name in parts},
        forced=tuple(forced),
        notes=(*notes, *table.notes),
        confidence=CONFIDENCE,
        **{key: numbers[key] for key in ("test", "correction", "family", "seed", "n_resamples", "tau")},
        n_new=sum(entry.is_new for entry in entries),
        n_reused=sum(not entry.is_new and not entry.is_run for entry, _ in runs),
        n_runs=sum(entry.is_run for entry, _ in runs),
        anonymous=anonymous,
        part_of=n_gold if len(table.ids) < n_gold else None,
    )


def direction_of(scorers: Sequence[str]) -> Direction:
    """Which way is better: "lower" only where all of the scorers say so. A plugin's scorer that is not loaded counts as "higher"."""
    return "lower" if scorers and all(_direction_of_scorer(name) == "lower" for name in scorers) else "higher"


def _direction_of_scorer(name: str) -> Direction:
    try:
        return SCORERS.load(name).marker.direction
    except UnknownScorerError:
        return "higher"


class _SharedInstances:
    """m runs over the n instances that all of them have, in the first one's order."""

    def __init__(self, runs: Sequence[RunScores]) -> None:
        self.runs = runs
        first = runs[0]
        same = all(list(run.ids) == list(first.ids) for run in runs)
        shared = set(first.ids).intersection(*(run.ids for run in runs))
        self.ids = [name for name in first.ids if name in shared]
        if not self.ids:
            raise UsageError("these runs have no instance in common", hint="rank runs of one suite together")
        self._at = [None if same else {name: i for i, name in enumerate(run.ids)} for run in runs]
        self.scorers = self.column(0, "scorer")
        known = sorted({name for name in self.scorers if name})
        self.direction = direction_of(known)
        self.notes = []
        if len({_direction_of_scorer(name) for name in known}) > 1:
            lower = ", ".join(name for name in known if _direction_of_scorer(name) == "lower")
            self.notes.append(f"scores of both polarities are averaged: less is better for {lower}")

    def column(self, i: int, name: str) -> list[Any]:
        """A column of run i over the shared instances."""
        values, at = getattr(self.runs[i], name), self._at[i]
        return list(values) if at is None else [values[at[own]] for own in self.ids]

    def values(self, i: int, name: str, unjudged: Literal["worst", "best"] = "worst") -> list[float]:
        """Numbers of run i for the mean: what was not handed in or is at fault counts as the worst value, the unjudged as `unjudged`."""
        worst, best = (0.0, 1.0) if self.direction == "higher" else (1.0, 0.0)
        instead = worst if unjudged == "worst" else best
        pairs = zip(self.column(i, name), self.column(i, "status"), strict=True)
        return [worst if status in ZERO else instead if value is None else value for value, status in pairs]

    def places(self, by: By) -> dict[str, list[int]]:
        """Scorer or group -> the positions of its instances."""
        found: dict[str, list[int]] = {}
        if by == "scorer":
            for i, name in enumerate(self.scorers):
                found.setdefault(name or "none", []).append(i)
            return found
        at = {name: i for i, name in enumerate(self.ids)}
        return {tag: here for tag, ids in self.runs[0].groups.items() if (here := [at[name] for name in ids if name in at])}

    def clusters(self) -> list[str] | None:
        """The cluster of each instance, None where the suite names none or they do not part the instances."""
        tags = self.runs[0].clusters
        found = {name: tag for tag in tags for name in self.runs[0].groups.get(tag, ())}
        return [found[name] for name in self.ids] if tags and all(name in found for name in self.ids) else None


def _ranked_row(entry: Entry, table: _SharedInstances, numbers: Mapping[str, Any], i: int, parts: Mapping[str, Sequence[int]]) -> RankedRow:
    run, status, scores = table.runs[i], table.column(i, "status"), table.values(i, "score")
    counts, n = Counter(status), len(status)
    judged = {name: any(value is not None for value in table.column(i, name)) for name in ("official", "strict")}
    place = numbers["submissions"][i]
    handed_in = n - counts["missing"]
    return RankedRow(
        name=entry.name,
        rank=place["rank"],
        shared_ranks=(place["shared_from"], place["shared_to"]),
        rank_interval=(place["low_rank"], place["high_rank"]),
        p_first=place["p_first"],
        score=place["mean"],
        score_high=sum(table.values(i, "score", "best")) / n,
        interval=tuple(place["interval"]) if place["interval"] else None,
        interval_method=place["method"],
        official=sum(table.values(i, "official")) / n if judged["official"] else None,
        strict=sum(table.values(i, "strict")) / n if judged["strict"] else None,
        n_handed_in=handed_in,
        coverage=handed_in / n,
        faults={name: counts[name] for name in _FAULTS if counts[name]},
        by={name: sum(scores[at] for at in here) / len(here) for name, here in parts.items()},
        metadata={**{key: str(value) for key, value in run.metadata.items()}, **entry.metadata},
        run=PurePath(run.folder).name,
    )


def _ranking_numbers(table: _SharedInstances, memo: Memo) -> dict[str, Any]:
    """The ranking and each row's interval as JSON values; worked out once for the same scores."""
    vectors = [table.values(i, "score") for i in range(len(table.runs))]
    clusters = table.clusters()
    asked = json.dumps([vectors, table.direction, clusters, CONFIDENCE]).encode()
    key = hashlib.sha256(asked).hexdigest()
    known: dict[str, Any] | None = memo.get("ranking", key)
    if known is not None:
        return known
    from evalsuite.stats.leaderboards import rank_submissions

    ranking = rank_submissions(vectors, higher_is_better=table.direction == "higher", confidence=CONFIDENCE)
    of = _interval_of_mean(clusters)
    kept = {name: getattr(ranking, name) for name in ("test", "correction", "family", "seed", "n_resamples", "tau")}
    kept["submissions"] = [{**asdict(place), **of(vector)} for place, vector in zip(ranking.submissions, vectors, strict=True)]
    memo.put("ranking", key, kept)
    return kept


def _interval_of_mean(clusters: Sequence[str] | None) -> Callable[[Sequence[float]], dict[str, Any]]:
    """The 95 % interval of a mean of scores: over clusters where the suite names some, else the one every report shows."""
    from evalsuite.stats.intervals import clustered_interval, score_interval

    def of(scores: Sequence[float]) -> dict[str, Any]:
        found = clustered_interval(scores, clusters) if clusters else score_interval(scores)
        if found.low is None or found.high is None:
            return {"interval": None, "method": found.method}
        low, high = (max(0.0, found.low), min(1.0, found.high)) if clusters else (found.low, found.high)
        return {"interval": [low, high], "method": found.method}

    return of


def _what_forbids_ranking(runs: Sequence[RunScores]) -> list[str]:
    """What keeps runs from being compared, each as `rules: official (3), strict (1)`; empty where they are alike."""
    parts = [dict(part.partition(":")[::2] for part in run.signature.split("|")) for run in runs]
    found = []
    for name in dict.fromkeys(name for part in parts for name in part):
        counts = Counter(part.get(name, "none") for part in parts)
        if len(counts) > 1:
            found.append(f"{name}: {', '.join(f'{value} ({count})' for value, count in counts.most_common())}")
    sizes = Counter(len(run.ids) for run in runs)
    if len({tuple(run.ids) for run in runs}) > 1:
        found.append(f"instances: {', '.join(f'{n} ({count})' for n, count in sizes.most_common())}")
    return found
