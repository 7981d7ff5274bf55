"""Summary of results: every number of every report is computed here, once."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import OutputError
from evalsuite.core.status import STATUSES, UNGRADED, UNJUDGED, is_ungraded, own_scale_ids, raw_value, results_by, scorers_of
from evalsuite.core.types import Result, Rule
from evalsuite.stats.intervals import few_clusters_note, reported_interval
from evalsuite.stats.samples import Mean, mean, mean_under
from evalsuite.stats.units import n_units, pair_numbers, pooled_fields, units_of

N_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The numbers of a run. Shares are in [0, 1] and None if there is nothing to divide by.

    `n_gold` counts the scored instances, `n_instances` all of gold: more if a part of gold was requested.

    `interval` is the 95 % interval of the score over its instances, or over the units of the only one: Wilson's for 0/1 scores,
    `stats.bounded_interval` for graded ones (`interval_method`); `se` is its standard error. `clusters` is None, or the CR2 standard error
    and interval if the suite names clusters: {n_clusters, se, interval_95, note on what few clusters cannot show}; then the intervals of
    rows by scorer and group and of `raw` are over clusters too, where there are several. `n_units` counts records if an instance has many;
    `by_field` pools their fields. `histogram` counts the scores in ten equal bins over [0, 1], the last one closed; None if all scores are
    0 or 1. `over_budget` counts the instances that the run's budget did not reach, by limit (run_seconds, run_bytes). `pairs` is the output
    of `stats.units.pair_numbers` for answers that are queries, by group too; empty if there are none.

    `scorers` are those of a suite of several, the one that makes the score first, else empty; `by_scorer` has a row for each of them.

    A metric without a fixed range is in no score. `raw` replaces the score if nothing else was requested: {scorer, n, n_measured, mean, se,
    interval_95} on the metric's own scale, over what was measured; else None.
    """

    rules: Rule
    n_gold: int
    n_instances: int
    n_submitted: int
    counts: Mapping[str, int]
    n_right: int
    n_wrong: int
    chosen: Mean
    official: Mean
    strict: Mean | None
    se: float | None
    interval: tuple[float, float] | None
    interval_method: str
    n_units: int
    clusters: Mapping[str, Any] | None
    histogram: tuple[int, ...] | None
    reference_ratio: float | None
    n_reference: int
    flips: tuple[Mapping[str, Any], ...]
    by_scorer: Mapping[str, Mapping[str, Any]]
    by_group: Mapping[str, Mapping[str, Any]]
    by_field: Mapping[str, Mapping[str, Any]]
    over_budget: Mapping[str, int]
    pairs: Mapping[str, Any]
    raw: Mapping[str, Any] | None = None
    scorers: tuple[str, ...] = ()

    @property
    def is_part(self) -> bool:
        """Whether less than all of gold was requested."""
        return self.n_gold < self.n_instances

    @property
    def n_measured(self) -> int:
        """The number of values on a scale of their own, without a score."""
        return sum(row.get("n_measured", 0) for name, row in self.by_scorer.items() if name not in self.scorers[1:])

    @property
    def n_partial(self) -> int:
        """The number of scored instances that are neither right nor wrong."""
        return self.counts["scored"] - self.n_right - self.n_wrong - self.n_measured

    @property
    def score(self) -> float | None:
        """The score under the run's rules over the scored instances, None if there are none."""
        return self.chosen.value

    @property
    def other_rules(self) -> Rule:
        """The rules that do not make the score."""
        return "strict" if self.rules == "official" else "official"

    @property
    def other(self) -> Mean | None:
        """The mean under the other rules, None if they scored nothing."""
        return self.strict if self.rules == "official" else self.official

    def to_json(self) -> dict[str, Any]:
        """Return the `summary` object of `run.json`."""
        low = high = None
        if self.n_gold:
            low, high = self.chosen.low, self.chosen.high
        return {
            "counts": dict(self.counts),
            "score": self.score,
            "n_judged": self.chosen.n_judged if self.score is not None else 0,
            "score_low": low,
            "score_high": high,
            "official": self.official.value,
            "strict": self.strict.value if self.strict is not None else None,
            "se": self.se,
            "interval_95": list(self.interval) if self.interval else None,
            "interval_method": self.interval_method,
            "n_units": self.n_units,
            "clusters": dict(self.clusters) if self.clusters else None,
            "histogram": list(self.histogram) if self.histogram else None,
            "reference_ratio": self.reference_ratio,
            "n_gold": self.n_gold,
            "n_submitted": self.n_submitted,
            **({"raw": dict(self.raw)} if self.raw else {}),
            **({"scorers": list(self.scorers)} if self.scorers else {}),
            **({"pairs": dict(self.pairs)} if self.pairs else {}),
            **({"over_budget": dict(self.over_budget)} if self.over_budget else {}),
            "flips": [dict(flip) for flip in self.flips],
            "by_scorer": {name: dict(row) for name, row in self.by_scorer.items()},
            "by_group": {name: dict(row) for name, row in self.by_group.items()},
            "by_field": {path: dict(row) for path, row in self.by_field.items()},
        }


def summarise(
    results: Sequence[Result],
    *,
    rules: Rule,
    groups: Mapping[str, Sequence[str]] | None = None,
    submitted: Iterable[str] | None = None,
    clusters: Sequence[str] = (),
    n_instances: int | None = None,
    where: str = "run.json",
) -> Summary:
    """Return the summary of n results in gold order; `groups` maps instance ids to their tags; gold has `n_instances` (None: these).

    `submitted` are the gold instances with an answer (default: all that are not missing). `clusters` are the tags that divide the instances
    into clusters: every instance has exactly one of them. Raises `OutputError` for one that has not, which names `where`.
    """
    answered = {r.instance_id for r in results if r.status != "missing"} if submitted is None else set(submitted)
    own_scale = own_scale_ids(results)
    all_results, results = results, _with_range(results, own_scale)
    scorers = scorers_of(all_results)
    chosen = mean_under(results, "score")
    known = frozenset(clusters)
    cluster_of = {r.instance_id: _cluster(r.instance_id, groups or {}, known, where) for r in all_results} if known else {}
    se, interval, method = _spread(results)
    return Summary(
        rules=rules,
        n_gold=len(all_results),
        n_instances=len(all_results) if n_instances is None else n_instances,
        n_submitted=len(answered),
        counts=_counts(all_results),
        n_right=_n_scored(results, 1),
        n_wrong=_n_scored(results, 0),
        chosen=chosen,
        official=mean_under(results, "official"),
        strict=mean_under(results, "strict") if has_verdicts((r.status, r.strict) for r in results) else None,
        se=se,
        interval=interval,
        interval_method=method,
        n_units=n_units(results),
        clusters=_cluster_interval(results, cluster_of),
        histogram=_histogram([r.score for r in results if r.score is not None]),
        **_reference(results, answered),
        flips=tuple(_flips(results)),
        by_scorer=_summarise_by(all_results, lambda r: (r.scorer,) if r.scorer else (), cluster_of, own_scale)
        | _by_further(all_results, scorers, cluster_of),
        by_group=_summarise_by(all_results, lambda r: (groups or {}).get(r.instance_id, ()), cluster_of, own_scale),
        by_field=pooled_fields(all_results),
        over_budget=Counter(str(r.detail("budget")) for r in all_results if r.status == "timeout" and "budget" in r.details),
        pairs=pair_numbers(all_results),
        raw=_raw(all_results, cluster_of) if not results else None,
        scorers=scorers,
    )


def has_verdicts(rows: Iterable[tuple[str, float | None]]) -> bool:
    """Return whether a rule has a mean over (status, its value) rows: it judged one of those that were scored, or none was scored."""
    values = [value for status, value in rows if status == "scored"]
    return not values or any(value is not None for value in values)


def _n_scored(results: Sequence[Result], score: int) -> int:
    return sum(r.status == "scored" and r.score == score for r in results)


def _reference(results: Sequence[Result], answered: Collection[str]) -> dict[str, Any]:
    """Return the ratio of the reference, over submitted answers only, and their number."""
    graded = [r for r in results if r.instance_id in answered and not is_ungraded(r)]
    is_known = any(r.official is not None for r in graded)
    return {"reference_ratio": sum(r.official == 1 for r in graded) / len(graded) if is_known else None, "n_reference": len(graded)}


def _with_range(results: Sequence[Result], own_scale: Collection[str]) -> Sequence[Result]:
    """Return the results that make a score: all except those of instances on a scale of their own, submitted or not."""
    return [r for r in results if r.instance_id not in own_scale] if own_scale else results


def score_or_mean(summary: Mapping[str, Any]) -> float | None:
    """Return the score in the `summary` of a run.json, or the mean of a metric without bounds; None if nothing was judged."""
    score = summary.get("score")
    mean: float | None = score if score is not None else (summary.get("raw") or {}).get("mean")
    return mean


def judged_words(summary: Mapping[str, Any]) -> str:
    """Return `judged 11/20` for the `summary` of a run.json whose score leaves out what the grader's side left unjudged; else nothing."""
    counts, raw = summary.get("counts") or {}, summary.get("raw")
    n, n_judged = sum(counts.values()), sum(count for status, count in counts.items() if status not in UNJUDGED)
    if raw:
        return f"judged {raw['n_measured']}/{n}" if raw["n_measured"] < n else ""
    return f"judged {n_judged}/{n}" if any(counts.get(status) for status in UNGRADED) else ""


def _raw(results: Sequence[Result], cluster_of: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the mean on a metric's own scale with Student's interval; None if nothing was measured, or by more than one scorer."""
    measured = [(r, value) for r in results if (value := raw_value(r)) is not None]
    values = [value for _, value in measured]
    names = {r.scorer for r in results if r.scorer}
    if not values or len(names) > 1:
        return None
    interval = reported_interval(values, clusters=_several_clusters([r for r, _ in measured], cluster_of), is_raw=True)
    ends = None if interval.low is None or interval.high is None else [interval.low, interval.high]
    numbers = {"n": len(results), "n_measured": len(values), "mean": mean(values), "se": interval.se, "interval_95": ends}
    return {"scorer": names.pop(), **numbers}


def _several_clusters(results: Sequence[Result], cluster_of: Mapping[str, str]) -> list[str] | None:
    """Return the cluster of each result; None without clusters, and for results of a single cluster, whose mean is that cluster's."""
    names = [cluster_of[result.instance_id] for result in results] if cluster_of else []
    return names if len(set(names)) > 1 else None


def _spread(results: Sequence[Result], cluster_of: Mapping[str, str] | None = None) -> tuple[float | None, tuple[float, float] | None, str]:
    """Return standard error, 95 % interval and its method for the mean of the scores; nothing without scores."""
    if all(result.score is None for result in results):
        return None, None, ""
    graded_results = [result for result in results if not is_ungraded(result)]
    units = units_of(graded_results[0]) if len(graded_results) == 1 else None
    unit_scores = [score for score in units or () if score is not None]
    scores = [result.score or 0.0 for result in graded_results]
    clusters = _several_clusters(graded_results, cluster_of or {})
    reported = reported_interval(unit_scores, score=scores[0]) if unit_scores else reported_interval(scores, clusters=clusters)
    interval = None if reported.low is None or reported.high is None else (reported.low, reported.high)
    return reported.se, interval, reported.method


def _cluster_interval(results: Sequence[Result], cluster_of: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the clustered standard error (CR2) and interval, None without named clusters."""
    if not cluster_of or not results:
        return None
    tags = [cluster_of[r.instance_id] for r in results]
    if all(r.score is None for r in results):
        return {"n_clusters": len(set(tags)), "se": None, "interval_95": None, "note": ""}
    pairs = [(r.score or 0.0, tag) for r, tag in zip(results, tags, strict=True) if not is_ungraded(r)]
    interval = reported_interval([score for score, _ in pairs], clusters=[tag for _, tag in pairs])
    ends = None if interval.low is None or interval.high is None else [interval.low, interval.high]
    n_clusters = len({tag for _, tag in pairs})
    return {"n_clusters": n_clusters, "se": interval.se, "interval_95": ends, "note": interval.note or few_clusters_note(n_clusters)}


def _cluster(instance_id: str, groups: Mapping[str, Sequence[str]], clusters: Collection[str], where: str) -> str:
    """Return the cluster of an instance. Raises `OutputError` unless it has exactly one: gold's own are checked when it is read."""
    tags = [tag for tag in groups.get(instance_id, ()) if tag in clusters]
    if len(tags) != 1:
        which = " and ".join(tags) or "none"
        hint = "each must be in exactly one: copy the file again, or score the submission again"
        raise OutputError(f"{where}: instance {instance_id!r} is in {which} of the clusters", hint=hint)
    return tags[0]


def _histogram(scores: Sequence[float]) -> tuple[int, ...] | None:
    if all(score in (0, 1) for score in scores):
        return None
    bins = [0] * N_BINS
    for score in scores:
        bins[min(N_BINS - 1, max(0, int(score * N_BINS)))] += 1
    return tuple(bins)


def _counts(results: Sequence[Result]) -> dict[str, int]:
    seen = Counter(r.status for r in results)
    return {status: seen.get(status, 0) for status in STATUSES}


def _flips(results: Sequence[Result]) -> Iterable[dict[str, Any]]:
    for r in results:
        if r.official is not None and r.strict is not None and r.official != r.strict:
            cause = str(r.detail("flip") or "")
            yield {
                "instance_id": r.instance_id,
                "official": r.official,
                "strict": r.strict,
                "kind": cause.partition(":")[0],
                "cause": cause,
            }


def tags_by_instance(groups: Iterable[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """Return instance id -> its tags, from (tag, ids) of each group."""
    tags: dict[str, list[str]] = {}
    for tag, ids in groups:
        for name in ids:
            tags.setdefault(name, []).append(tag)
    return tags


def clusters_by_id(tags: Iterable[str], groups: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return instance id -> its cluster, of the tags that are clusters; `groups` maps tags to ids."""
    return {name: tag for tag in tags for name in groups.get(tag, ())}


def _summarise_by(
    results: Sequence[Result], keys: Callable[[Result], Iterable[str]], cluster_of: Mapping[str, str], own_scale: Collection[str]
) -> dict[str, dict[str, Any]]:
    buckets: dict[str, list[Result]] = {}
    for r in results:
        for key in keys(r):
            buckets.setdefault(key, []).append(r)
    return {key: _row_of_bucket(bucket, cluster_of, own_scale) for key, bucket in buckets.items()}


def _by_further(results: Sequence[Result], scorers: Sequence[str], cluster_of: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    buckets: dict[str, list[Result]] = {name: [] for name in scorers[1:]}
    for r in results if buckets else ():
        by = results_by(r, scorers)
        for name in buckets.keys() & by.keys():
            buckets[name].append(by[name])
    return {name: _row_of_bucket(bucket, cluster_of, own_scale_ids(bucket)) for name, bucket in buckets.items()}


def _row_of_bucket(bucket: Sequence[Result], cluster_of: Mapping[str, str], own_scale: Collection[str]) -> dict[str, Any]:
    raw, bucket = _raw(bucket, cluster_of), _with_range(bucket, own_scale)
    chosen, official = mean_under(bucket, "score"), mean_under(bucket, "official")
    strict = mean_under(bucket, "strict").value if has_verdicts((r.status, r.strict) for r in bucket) else None
    se, interval, _ = _spread(bucket, cluster_of)
    pairs = pair_numbers(bucket)
    return {
        "n": raw["n"] if raw else chosen.n,
        "n_units": raw["n"] if raw else n_units(bucket),
        "n_judged": chosen.n_judged if chosen.value is not None else 0,
        "n_right": sum(r.score == 1 for r in bucket),
        "n_right_official": None if official.value is None else sum(r.official == 1 for r in bucket),
        "n_right_strict": None if strict is None else sum(r.strict == 1 for r in bucket),
        "score": chosen.value,
        "score_low": chosen.low,
        "score_high": chosen.high,
        "se": se,
        "interval_95": list(interval) if interval else None,
        "official": official.value,
        "strict": strict,
        "raw": raw["mean"] if raw else _raw_mean(bucket),
        **({"n_measured": raw["n_measured"], "raw_interval_95": raw["interval_95"]} if raw else {}),
        **({"pairs": pairs} if pairs else {}),
    }


def _raw_mean(bucket: Sequence[Result]) -> float | None:
    """Return the mean of the values on the metric's own scale; None if no result has one."""
    values = [raw for r in bucket if isinstance(raw := r.detail("raw"), int | float)]
    return mean(values) if values else None
