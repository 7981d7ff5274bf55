"""What several runs have in common: the instances that all of them have, which way is better, and what forbids ranking them together."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Literal

from evalsuite.errors import UsageError
from evalsuite.outcome import UNGRADED, ZERO
from evalsuite.registry import UnknownScorerError
from evalsuite.scorers import SCORERS
from evalsuite.stats.units import at_one_length
from evalsuite.store.run_scores import RunScores

By = Literal["scorer", "group"]
Direction = Literal["higher", "lower"]


def direction_of(scorers: Sequence[str]) -> Direction:
    """Which way is better: "lower" only where all of the scorers say so. A plugin's scorer that is not loaded counts as "higher"."""
    return "lower" if scorers and all(_direction_of_scorer(name) == "lower" for name in scorers) else "higher"


def raw_direction_of(scorers: Iterable[str]) -> Direction:
    """Which way is better on these scorers' own scale: "lower" only where all of them say so."""

    def of(name: str) -> Direction:
        try:
            return SCORERS.load(name).marker.raw_direction
        except UnknownScorerError:
            return "higher"

    return "lower" if {of(name) for name in scorers} == {"lower"} else "higher"


def further_directions(runs: Sequence[RunScores]) -> dict[str, Direction]:
    """Which way is better for each scorer beside the score: up, but for what is measured on a scale of its own."""
    return {name: raw_direction_of([name]) if name in run.further_raw else "higher" for run in runs for name in run.further}


def _direction_of_scorer(name: str) -> Direction:
    try:
        return SCORERS.load(name).marker.direction
    except UnknownScorerError:
        return "higher"


class SharedInstances:
    """m runs over the n instances that all of them have, in the first one's order.

    `is_raw`: there are no scores, and in their columns stand the values on the metric's own scale, which has no end that a missing one
    could count as.
    """

    def __init__(self, runs: Sequence[RunScores]) -> None:
        self.is_raw = _are_raw(runs)
        if self.is_raw:
            runs = [_with_raw_values(run) for run in runs]
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
        self.direction = raw_direction_of(known) if self.is_raw else direction_of(known)
        self.notes = []
        if len({_direction_of_scorer(name) for name in known}) > 1:
            lower = ", ".join(name for name in known if _direction_of_scorer(name) == "lower")
            self.notes.append(f"scores of both polarities are averaged: less is better for {lower}")

    def ungraded(self, i: int) -> set[str]:
        """The instances that the grader's side left unjudged in run i."""
        judged = zip(self.ids, self.column(i, "score"), self.column(i, "status"), strict=True)
        return {name for name, value, status in judged if value is None and status in UNGRADED}

    def without(self, ids: Collection[str]) -> "SharedInstances":
        """The same runs over the other instances. Raises `UsageError` where none is left."""
        if not ids:
            return self
        kept = [name for name in self.ids if name not in ids]
        if not kept:
            raise UsageError("no instance was judged in all of these runs", hint="set up what is missing and score them again")
        other = copy(self)
        other.scorers = [scorer for name, scorer in zip(self.ids, self.scorers, strict=True) if name not in ids]
        other.ids, other._at = kept, [{name: i for i, name in enumerate(run.ids)} for run in self.runs]
        return other

    def column(self, i: int, name: str) -> list[Any]:
        """A column of run i over the shared instances."""
        values, at = getattr(self.runs[i], name), self._at[i]
        return list(values) if at is None else [values[at[own]] for own in self.ids]

    def values(self, i: int, name: str, unjudged: Literal["worst", "best"] = "worst") -> list[float]:
        """Numbers of run i for the mean: what was not handed in or is at fault counts as the worst value, the unjudged as `unjudged`.

        The status is that of the rules that count: where only the other rules could read an answer, their number stays.
        """
        worst, best = (0.0, 1.0) if self.direction == "higher" else (1.0, 0.0)
        instead = worst if unjudged == "worst" else best
        pairs = zip(self.column(i, name), self.column(i, "status"), strict=True)
        return [worst if status in ZERO and not value else instead if value is None else value for value, status in pairs]

    def unit_values(self, ranked: Sequence[int]) -> list[list[float]] | None:
        """The units of the one instance that is shared, for each run of `ranked`; None where there are more, or none has units of its own.

        Of several instances each counts once, whatever it holds: its records hang together. A unit that somebody was not judged on is
        left out.
        """
        if len(self.ids) > 1 or self.direction == "lower" or not any(self.runs[i].units.get(self.ids[0]) for i in ranked):
            return None
        sides = at_one_length([self.runs[i].units.get(self.ids[0]) or self.values(i, "score") for i in ranked])
        judged = [at for at, column in enumerate(zip(*sides, strict=True)) if None not in column]
        return [[score for at in judged if (score := side[at]) is not None] for side in sides] if judged else None

    def n_units(self) -> int:
        """How many units the shared instances hold: the records of one that holds many, in the run that has most."""
        return sum(max(len(run.units.get(name, (0,))) for run in self.runs) for name in self.ids)

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

    def cluster_note(self, n_ranked: int, alpha: float) -> str:
        """What the clusters of the suite keep the board from saying, empty where nothing."""
        tags, clusters = self.runs[0].clusters, self.clusters()
        if tags and clusters is None:
            at = next(name for name in self.ids if not any(name in self.runs[0].groups.get(tag, ()) for tag in tags))
            return f"instance {at!r} is in none of the clusters of the suite: instances are taken as independent"
        from evalsuite.stats.clustered import ONE_CLUSTER, said_of_few

        n_pairs = n_ranked * (n_ranked - 1) // 2
        if clusters is None:
            holds_many = any(run.units for run in self.runs) and len(self.ids) > 1
            return said_of_few(len(self.ids), alpha, n_pairs, what="instances") if holds_many else ""
        n_clusters = len(set(clusters))
        return ONE_CLUSTER if n_clusters == 1 else said_of_few(n_clusters, alpha, n_pairs)


def _are_raw(runs: Sequence[RunScores]) -> bool:
    """Whether some values have no score, and all that was judged has a value on the scorer's own scale."""
    rows = [
        (score, raw)
        for run in runs
        for score, raw, status in zip(run.score, run.raw or [None] * len(run.ids), run.status, strict=True)
        if status == "scored"
    ]
    return any(score is None for score, _ in rows) and all(raw is not None for _, raw in rows)


def _with_raw_values(run: RunScores) -> RunScores:
    values = run.raw or [None] * len(run.ids)
    status = ["unscored" if value is None else name for value, name in zip(values, run.status, strict=True)]
    return replace(run, score=values, official=values, strict=values, status=status)


def what_forbids_ranking(runs: Sequence[RunScores]) -> list[str]:
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
