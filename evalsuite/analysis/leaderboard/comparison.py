"""Compare a baseline with candidates: `compare(sides)` computes every number; reports only render them.

A tested difference has the mean scores on the same n instances, their difference with limits, and a p-value; a score shift compares the
distributions of scores, which may move while the mean stays. Sides are paired unit by unit: instances, or the records of instances with
many.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import compress, islice, zip_longest
from pathlib import Path
from shlex import quote
from typing import Any

from evalsuite.analysis.leaderboard.pairing import (
    FieldNumbers,
    Pair,
    Paired,
    PairingOptions,
    RunSide,
    add_texts,
    choose_scale,
    cluster_of_each,
    cluster_tags,
    difference_bounds,
    differing_cases,
    fields_by_path,
    fields_of,
    flipped_instances,
    is_lower_better,
    paired_instances,
    pairs_by_further_scorer,
    pairs_by_group,
    pairs_by_scorer,
    pairs_with_range,
    signature_differences,
)
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import UsageError, count_words
from evalsuite.core.files import is_dir
from evalsuite.core.import_ref import NDArray, np
from evalsuite.core.status import ZERO, check_level, default_level, has_open_verdict, lacks_setup, own_scale_ids, raw_value, shows
from evalsuite.core.types import Result, Rule
from evalsuite.runs.corrected_scores import HumanEstimate, human_difference
from evalsuite.runs.run_options import changed_versions, versions_warning
from evalsuite.stats.intervals import CELLS_AT_ONCE, ONE_CLUSTER, Interval, cluster_totals, clustered_difference_interval, few_clusters_note
from evalsuite.stats.power import Units, detectable, n_needed, power_units
from evalsuite.stats.samples import N_RESAMPLES, SEED, differences, is_binary, mean
from evalsuite.stats.significance import PairedTest, Significance, adjust, compare_paired, difference_interval, interval_note, sign_flip
from evalsuite.stats.units import at_one_length, fields_of_units, units_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """The difference b - a over n pairs; all is None if there is no pair.

    `a` and `b` are means in [0, 1]. `low` and `high` are the limits of the difference at confidence 1 - alpha (Bonett and Price for 0/1
    scores, else the wider of t and t with one more difference of each sign; with clusters t by CR2, or with one more cluster of
    each sign) and are not adjusted.
    `p` is two-sided: exact McNemar for 0/1, else sign flips (of whole clusters with clusters); `p_adjusted` is Holm's over its part of the
    comparison. `effect` is Cohen's d_z. `wins` counts the instances on which b is better (smaller, if the stored score is
    `lower_is_better`). `is_raw`: all numbers are on the own scale of a metric without bounds.
    """

    name: str
    n: int
    a: float | None = None
    b: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    interval_method: str = ""
    se: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    method: str = ""
    effect: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    n_clusters: int | None = None
    seed: int | None = None
    n_resamples: int | None = None
    note: str = ""
    lower_is_better: bool = False
    is_raw: bool = False

    def is_significant(self, alpha: float) -> bool:
        """Whether the adjusted p-value is at most alpha."""
        return self.p_adjusted is not None and self.p_adjusted <= alpha

    def is_regression(self, alpha: float) -> bool:
        """Whether b is worse than a at alpha."""
        change = self.difference or 0.0
        return self.is_significant(alpha) and (change > 0 if self.lower_is_better else change < 0)


def paired_difference(
    name: str,
    a: Sequence[float],
    b: Sequence[float],
    *,
    alpha: float = 0.05,
    clusters: Sequence[str] | None = None,
    is_raw: bool = False,
) -> PairedDifference:
    """Test the difference of n pairs in the same order; `clusters` names each pair's cluster.

    Unless the scores are `is_raw`, the limits of a difference of shares are cut to [-1, 1]: t of two pairs can be wider than the scale.
    Equal differences on a metric's own scale have no limits: their spread is not known, and the scale has no widest one.
    """
    if not a:
        return PairedDifference(name=name, n=0, note="no instance in common that both were judged on")
    test = compare_paired(b, a, alpha=alpha)
    names = ("n", "difference", "p", "method", "effect", "wins", "ties", "losses", "seed", "n_resamples")
    same: dict[str, Any] = {name: getattr(test, name) for name in names} | _limits(test.interval)
    tested = PairedDifference(name=name, a=mean(a), b=mean(b), note=_few_flips(test, alpha), **same)
    row = tested if clusters is None else _over_clusters(tested, a, b, clusters, alpha)
    if is_raw and _is_constant(differences(b, a) if clusters is None else _cluster_means(differences(b, a), clusters)):
        row = replace(row, low=None, high=None, interval_method="", note=row.note or "all differences are equal: their spread is not known")
    if is_raw or row.low is None or row.high is None or not all(0 <= score <= 1 for score in (*a, *b)):
        return replace(row, is_raw=is_raw)
    return replace(row, low=max(-1.0, row.low), high=min(1.0, row.high))


def _is_constant(values: Sequence[float]) -> bool:
    return max(values) - min(values) < 1e-9


def _cluster_means(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    return [total / size for total, size in cluster_totals(values, clusters)]


def _limits(interval: Interval) -> dict[str, Any]:
    return {"low": interval.low, "high": interval.high, "interval_method": interval.method, "se": interval.se}


def _few_flips(significance: Significance, alpha: float) -> str:
    """Return what so few differences cannot show, whatever their direction; empty if they are enough."""
    changed = significance.wins + significance.losses
    if not changed:
        return "" if "McNemar" in significance.method else "no differences"
    if significance.method.startswith("exact") and 2.0 ** (1 - changed) > alpha:
        return f"{count_words(changed, 'difference')}: no p below {2.0 ** (1 - changed):g} is possible"
    return ""


def _over_clusters(
    tested: PairedDifference, a: Sequence[float], b: Sequence[float], clusters: Sequence[str], alpha: float
) -> PairedDifference:
    """Return the row with limits and p-value that treat whole clusters as independent instead of instances."""
    deltas = differences(b, a)
    totals = [total for total, _ in cluster_totals(deltas, clusters)]
    flipped: PairedTest = sign_flip(totals, [0.0] * len(totals))
    interval: Interval = clustered_difference_interval(deltas, clusters, confidence=1 - alpha)
    if not interval.se and max(map(abs, deltas)) <= 1:
        # Clusters that all agree show no spread, nor does a single one: each counts once.
        interval = difference_interval(b, a, confidence=1 - alpha, effective=len(totals))
    return replace(
        tested,
        p=flipped.p,
        method=f"{flipped.method} of clusters",
        n_clusters=len(totals),
        seed=flipped.seed,
        n_resamples=flipped.n_resamples,
        **_limits(interval),
        note=(ONE_CLUSTER if len(totals) == 1 else few_clusters_note(len(totals), alpha)) or interval.note or flipped.note,
    )


def adjust_differences(rows: Sequence[PairedDifference], alpha: float) -> list[PairedDifference]:
    """Return the rows with Holm's p-values over all of them that have one: they are one family. A note says if an interval disagrees."""
    at = [i for i, row_ in enumerate(rows) if row_.p is not None]
    adjusted = dict(zip(at, adjust([p for row_ in rows if (p := row_.p) is not None]), strict=True))
    adjusted_rows = list(rows)
    for i, p in adjusted.items():
        row = rows[i]
        disagrees = interval_note(row.low, row.high, p=row.p or 0.0, adjusted=p, alpha=alpha)
        adjusted_rows[i] = replace(row, p_adjusted=p, note="; ".join(filter(None, (row.note, disagrees))))
    return adjusted_rows


@dataclass(frozen=True, slots=True)
class Plan:
    """What n paired instances with these differences can show by the test that judges them; computed when it is read.

    `units` are what the test flips, instances or clusters; None if graded scores do not differ at all, because then the distribution of
    their differences is unknown. `size` is the number of instances in a unit.
    """

    units: Units | None = None
    difference: float = 0.0
    alpha: float = 0.05
    size: float = 1.0

    @property
    def detectable(self) -> float | None:
        """Return the smallest difference shown with 80 % power; None if none can be shown."""
        return None if self.units is None else detectable(self.units, self.alpha)

    @property
    def n_needed(self) -> int | None:
        """Return how many instances would show the observed difference, if it is the true one; None if so few can show nothing."""
        n = None if self.units is None else n_needed(self.units, self.difference, self.alpha)
        return None if n is None else math.ceil(n * self.size)


def plan_of(a: Sequence[float], b: Sequence[float], *, alpha: float, clusters: Sequence[str] | None = None) -> Plan:
    """Return the plan of n pairs in the same order; of whole clusters if those are flipped."""
    if not a:
        return Plan()
    deltas, n = differences(b, a), len(a)
    # Asked for only where both are the same.
    binary = is_binary(a)
    if clusters is not None:
        totals = cluster_totals(deltas, clusters)
        deltas, binary = [round(total * len(totals) / n, 9) for total, _ in totals], False
    return Plan(power_units(deltas, binary=binary), mean(deltas), alpha, n / len(deltas))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreShift:
    """How far the scores of one field (or scorer) moved from a to b.

    `distance` in [0, 1] is the area between both cumulative distributions (Wasserstein's first distance): 0.1 means that scores moved by
    ten points on average. Means and distances of values `is_raw` are on a metric's own scale. `p` comes from exchanging a and b within
    instances (with clusters: within whole clusters), or, if no instance is in both, between all of them: exact up to 13 instances or
    clusters that differ, else drawn.
    """

    name: str
    n_a: int
    n_b: int
    mean_a: float
    mean_b: float
    distance: float
    p: float
    p_adjusted: float | None = None
    paired: bool = True
    seed: int | None = None
    n_resamples: int | None = None
    is_raw: bool = False


def score_shift(
    name: str,
    a: Mapping[Any, float],
    b: Mapping[Any, float],
    *,
    clusters: Mapping[Any, str] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> ScoreShift | None:
    """Compute the shift between scores by instance id; None if a side has none. Instances of one side count only if none is in both.

    `clusters` names the cluster of each instance that is in both.
    """
    shared = [key for key in a if key in b]
    left, right = ([a[key] for key in shared], [b[key] for key in shared]) if shared else (list(a.values()), list(b.values()))
    if not left or not right:
        return None
    names = [clusters[key] if clusters else key for key in shared]
    distance, p, drawn = _permutation_distance(left, right, names, n_resamples, seed)
    means: dict[str, Any] = {"mean_a": mean(left), "mean_b": mean(right)}
    draws: dict[str, Any] = {"seed": seed, "n_resamples": n_resamples} if drawn else {}
    return ScoreShift(name=name, n_a=len(left), n_b=len(right), **means, distance=distance, p=p, paired=bool(shared), **draws)


def _permutation_distance(
    a: Sequence[float], b: Sequence[float], names: Sequence[Any], n_resamples: int, seed: int
) -> tuple[float, float, bool]:
    """Return (distance, p, whether p was drawn) under exchanges of all pairs of one name (without equal pairs), or between all scores."""
    paired = bool(names)
    pairs = [pair for pair in zip(a, b, names, strict=True) if pair[0] != pair[1]] if paired else []
    if paired and not pairs:
        return 0.0, 1.0, False
    values = np.asarray([pair[:2] for pair in pairs] if paired else [*a, *b], dtype=np.float64).ravel()
    at = {name: i for i, name in enumerate(dict.fromkeys(name for *_, name in pairs))}
    of_pair, m = np.asarray([at[name] for *_, name in pairs], dtype=np.intp), len(at)
    order = np.argsort(values, kind="stable")
    is_a = order % 2 == 0 if paired else order < len(a)
    gaps, weights = np.diff(values[order]), np.where(is_a, 1 / len(a), -1 / len(b))
    observed = float(_areas(weights[None, :], gaps)[0])
    exact = paired and 2**m <= n_resamples
    rng, n_draws, far = np.random.default_rng(seed), 2**m if exact else n_resamples, 0
    # Blocks of rows that stay within about 32 MB each.
    block = max(1, CELLS_AT_ONCE // len(values))
    for start in range(0, n_draws, block):
        size = min(block, n_draws - start)
        if paired:
            bits = (np.arange(start, start + size)[:, None] >> np.arange(m)) & 1 if exact else rng.integers(2, size=(size, m))
            drawn = (bits * 2.0 - 1.0)[:, of_pair[order // 2]] * weights
        else:
            drawn = rng.permuted(np.tile(weights, (size, 1)), axis=1)
        far += int((_areas(drawn, gaps) >= observed - 1e-12).sum())
    return observed, far / n_draws if exact else (far + 1) / (n_draws + 1), not exact


def adjust_shifts(shifts: Sequence[ScoreShift]) -> list[ScoreShift]:
    """Return the shifts with Holm's p-values over all of them."""
    return [replace(shift, p_adjusted=p) for shift, p in zip(shifts, adjust([shift.p for shift in shifts]), strict=True)]


def _areas(weights: "NDArray[Any]", gaps: "NDArray[Any]") -> "NDArray[Any]":
    """Return R areas between two cumulative distributions, from R rows of weights over N sorted values and the N - 1 gaps between them."""
    areas: NDArray[Any] = np.abs(np.cumsum(weights, axis=1))[:, :-1] @ gaps
    return areas


@dataclass(frozen=True, slots=True)
class UnitPairs:
    """n units in the order of gold: the scores of both sides, and each unit's instance."""

    a: list[float]
    b: list[float]
    instances: list[str]

    def clusters(self, cluster_of: Mapping[str, str] | None) -> list[str] | None:
        """Return the cluster of each unit: that of its instance, or the instance itself if one of several has many units; else None."""
        if cluster_of is not None:
            return [cluster_of[name] for name in self.instances]
        n_instances = len(set(self.instances))
        return self.instances if 1 < n_instances < len(self.instances) else None


def paired_units(pairs: Sequence[Pair], how: PairingOptions) -> UnitPairs:
    """Return the units of the pairs. A unit that was not judged on one side is left out.

    A side without units of its own, such as a missing answer, has its score in each. For extra records that only one side has, the other
    side, which invented nothing, is right.
    """
    units = UnitPairs([], [], [])
    for a, b in pairs:
        left, right = at_one_length([units_of(side, how.rules) or [how.value(side)] for side in (a, b)])
        for x, y in zip(left, right, strict=True):
            if x is not None and y is not None:
                units.a.append(x)
                units.b.append(y)
                units.instances.append(a.instance_id)
    return units


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDifference:
    """One schema path over the n units that have it: the tested difference of F1, and (a, b) means over instances of the other two."""

    f1: PairedDifference
    precision: tuple[float, float]
    recall: tuple[float, float]

    @property
    def path(self) -> str:
        """The schema path, indexes folded (`steps[].n`)."""
        return self.f1.name


def fields_by_unit(pairs: Sequence[Pair]) -> dict[str, UnitPairs]:
    """Return schema path -> the F1 of both sides in each unit that has the field on a side.

    If only one side has a field in a unit, the other is right: nothing was expected, and nothing invented. Results without units are one
    unit each, by their F1 over all.
    """
    by_path: dict[str, UnitPairs] = {}
    alone = [(a, b) for a, b in pairs if not _has_unit_fields(a, b)]
    for path, rows in fields_by_path(alone).items():
        sides = list(rows.values())
        by_path[path] = UnitPairs([a[2] for a, _ in sides], [b[2] for _, b in sides], list(rows))
    for a, b in pairs:
        if not _has_unit_fields(a, b):
            continue
        left, right = fields_of_units(a), fields_of_units(b)
        n = max(len(column) for column in [*left.values(), *right.values()])
        for path in {**left, **right}:
            whole = by_path.setdefault(path, UnitPairs([], [], []))
            columns = ([0.0] * n if result.status in ZERO else fields.get(path, []) for fields, result in ((left, a), (right, b)))
            for x, y in zip_longest(*columns):
                if x is not None or y is not None:
                    whole.a.append(1.0 if x is None else x)
                    whole.b.append(1.0 if y is None else y)
                    whole.instances.append(a.instance_id)
    return by_path


def _has_unit_fields(a: Result, b: Result) -> bool:
    """Whether both sides have fields per unit, or one has them and the other has nothing at all."""
    has_fields = [bool(fields_of_units(result)) for result in (a, b)]
    return all(has_fields) or (any(has_fields) and (b if has_fields[0] else a).status in ZERO)


def field_differences(pairs: Sequence[Pair], *, alpha: float, clusters: Mapping[str, str] | None = None) -> list[FieldDifference]:
    """Return a row for each schema path, the largest loss of F1 first."""
    by_instance = fields_by_path(pairs)
    rows = []
    for path, units in fields_by_unit(pairs).items():
        f1 = paired_difference(path, units.a, units.b, alpha=alpha, clusters=units.clusters(clusters))
        sides = list(by_instance.get(path, {}).values())
        rows.append(FieldDifference(f1=f1, precision=_two_means(sides, 0), recall=_two_means(sides, 1)))
    return sorted(rows, key=lambda row: row.f1.difference or 0.0)


def _two_means(sides: Sequence[tuple[FieldNumbers, FieldNumbers]], at: int) -> tuple[float, float]:
    n = max(1, len(sides))
    return math.fsum(a[at] for a, _ in sides) / n, math.fsum(b[at] for _, b in sides) / n


def score_shifts(base: RunSide, other: RunSide, how: PairingOptions, cluster_of: Mapping[str, str] | None = None) -> tuple[ScoreShift, ...]:
    """Return the shift of each field's F1, or of each scorer's scores if no tree scorer judged."""
    pairs = [(a, other.results[name]) for name, a in base.results.items() if name in other.results]
    judged_pairs = [(a, b) for a, b in pairs if how.value(a) is not None and how.value(b) is not None]
    by_fields = shows(how.level, "shape")
    fields = fields_by_unit(judged_pairs) if by_fields else {}
    if fields:
        shifts = []
        for path, units in fields.items():
            clusters = dict(enumerate(units.clusters(cluster_of) or ()))
            shifts.append(score_shift(path, dict(enumerate(units.a)), dict(enumerate(units.b)), clusters=clusters))
    else:
        left, right = (_scores_by_column(side, how, with_fields=by_fields and not pairs) for side in (base, other))
        shifts = [score_shift(name, left[name], right[name], clusters=cluster_of) for name in left if name in right]
    found = [replace(shift, is_raw=how.raw) for shift in shifts if shift is not None]
    return tuple(sorted(found, key=lambda shift: shift.p))


def _scores_by_column(side: RunSide, how: PairingOptions, *, with_fields: bool) -> dict[str, dict[str, float]]:
    """Return scorer (or path) -> instance id -> score of one side alone."""
    by_column: dict[str, dict[str, float]] = {}
    own_scale = set() if how.raw else own_scale_ids(side.results.values())
    for name, result in side.results.items():
        value = how.value(result)
        if value is None or name in own_scale:
            continue
        fields = fields_of(result) if with_fields else {}
        for key, score in {path: numbers[2] for path, numbers in fields.items()}.items() if fields else [(result.scorer or "", value)]:
            by_column.setdefault(key, {})[name] = float(score)
    return by_column


SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One candidate against the baseline, paired on instance ids.

    `instances` are all that both sides have, in gold order; `flips` are those whose scores differ, the largest loss first. `right` counts
    (both, baseline only, candidate only, neither) over the instances that were judged on both sides. `unjudged` names the shared instances
    that were not judged on one side: they are left out of `total`, and `bounds` are the limits of the difference over all shared instances
    (None if all were judged). `corrected` is the whole run's score after gold's errata, None if gold has none. `people` is the difference
    that human raters would find, if they labelled answers of both sides. `worst_case` is `total` with each of the candidate's answers that
    has no value (`status.has_open_verdict`) as a wrong one, and each of the baseline's that could not be judged as a right one, for gates;
    `worst_score` is the candidate's score over what the baseline was judged on or the candidate left open. Both are None if there is no
    such answer, or no worst value (`open_sides` names the sides that have one).
    """

    label: str
    source: str
    signature: str
    metadata: Mapping[str, str]
    total: PairedDifference
    verdict: str = ""
    is_regression: bool = False
    plan: Plan
    instances: tuple[Paired, ...]
    flips: tuple[Paired, ...]
    right: tuple[int, int, int, int]
    by_scorer: tuple[PairedDifference, ...]
    by_group: tuple[PairedDifference, ...]
    fields: tuple[FieldDifference, ...]
    shift: tuple[ScoreShift, ...]
    unjudged: tuple[str, ...]
    bounds: tuple[float, float] | None
    only_baseline: tuple[str, ...]
    only_candidate: tuple[str, ...]
    corrected: float | None = None
    people: HumanEstimate | None = None
    open_sides: tuple[str, ...] = ()
    worst_case: PairedDifference | None = None
    worst_score: float | None = None

    @property
    def detectable(self) -> float | None:
        """Return the smallest difference that so many instances show with 80 % power; None if they can show nothing."""
        return self.plan.detectable

    @property
    def n_needed(self) -> int | None:
        """Return how many instances would show this difference; None if it is shown, and if so few can show nothing."""
        return None if self.verdict in ("better", "worse") else self.plan.n_needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A baseline and n candidates. `warnings` are the differences that --force ignored, and unused labels.

    `seed` seeds everything that draws; `level` is how much of gold it contains, a word of `status.LEVELS`. `part_of` is the number of
    gold's instances if a side was scored on fewer, None if all sides are whole.
    """

    suite: str
    rules: str
    alpha: float
    baseline: str
    source: str
    signature: str
    metadata: Mapping[str, str]
    candidates: tuple[Candidate, ...]
    clusters: str
    warnings: tuple[str, ...]
    level: str = "cells"
    part_of: int | None = None
    corrected: float | None = None
    n_unapplied: int = 0
    seed: int = SEED
    n_resamples: int = N_RESAMPLES

    @property
    def regressions(self) -> tuple[str, ...]:
        """The candidates that are worse than the baseline, at alpha and adjusted for their number."""
        return tuple(candidate.label for candidate in self.candidates if candidate.is_regression)

    @property
    def undecided_names(self) -> tuple[str, ...]:
        """The candidates without a verdict: no instance was judged on both sides."""
        return tuple(candidate.label for candidate in self.candidates if not candidate.total.n)

    @property
    def possible_regressions(self) -> tuple[Candidate, ...]:
        """The candidates that could be worse than the baseline: answers without a value, counted at their worst, would show it."""
        return tuple(c for c in self.candidates if c.open_sides and (c.worst_case is None or c.worst_case.is_regression(self.alpha)))

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain JSON values: every number and every flip, but not the unchanged instances."""
        candidates = (replace(data, instances=(), plan=Plan(), worst_case=None) for data in self.candidates)
        whole = asdict(replace(self, candidates=tuple(candidates)))
        for data, candidate in zip(whole["candidates"], self.candidates, strict=True):
            del data["instances"], data["plan"], data["open_sides"], data["worst_case"], data["worst_score"]
            data |= {"detectable": candidate.detectable, "n_needed": candidate.n_needed}
        return {"schema_version": SCHEMA_VERSION, **whole, "regressions": list(self.regressions)}


def compare(
    sides: Sequence[RunSide],
    *,
    rules: Rule | None = None,
    alpha: float = 0.05,
    force: bool = False,
    cluster: str | None = None,
    shift: bool = False,
    reveal: str | None = None,
) -> Comparison:
    """Compare the first side as baseline with each of the others; p-values are adjusted by Holm over all candidates of a part.

    `rules` None compares the scores as each run has them. `cluster` is the prefix of the groups that divide the instances into clusters; by
    default those that the suite names. `reveal` is how much of gold may be shown, by default what the suite says.

    Raises:
        UsageError: fewer than two sides, runs that are not comparable (without `force`), or no instance in common.
    """
    if len(sides) < 2:
        raise UsageError("a comparison needs two runs", hint="evalsuite compare BASELINE CANDIDATE [CANDIDATE ...]")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must be between 0 and 1, found {alpha:g}", hint="0.05 is usual")
    base, *others = sides
    warnings = [*_signature_warnings(base, others, rules, force=force), *_version_warnings(base, others)]
    check_level(reveal)
    how = PairingOptions(rules, alpha, cluster, shift, reveal or default_level(hidden=any(side.hidden for side in sides)))
    candidates = [_candidate(base, other, how, n_tests=len(others)) for other in others]
    # The reasons why labels cannot be read quote them.
    warnings += [f"{side.label}: {side.unread if how.level == 'cells' else side.unread.partition(':')[0]}" for side in sides if side.unread]
    return Comparison(
        suite=base.suite,
        rules=rules or base.rules,
        alpha=alpha,
        baseline=base.label,
        source=base.source,
        signature=base.signature,
        metadata=base.metadata,
        candidates=tuple(_add_verdict(candidate, alpha) for candidate in _adjust_by_holm(candidates, alpha)),
        clusters=", ".join(cluster_tags(base, cluster)),
        warnings=tuple(warnings),
        level=how.level,
        corrected=base.corrected,
        n_unapplied=max(side.n_unapplied for side in sides),
        part_of=max((side.n_instances for side in sides if side.is_part), default=None),
    )


def _signature_warnings(base: RunSide, others: Sequence[RunSide], rules: Rule | None, *, force: bool) -> list[str]:
    unlike = [(other, differing) for other in others if (differing := signature_differences(base, other, rules=rules))]
    texts = [
        f"{base.label} and {other.label} are not comparable: {', '.join(differing)}"
        + (f": {cases}" if any(part.startswith("gold ") for part in differing) and (cases := differing_cases(base, other)) else "")
        for other, differing in unlike
    ]
    if texts and not force:
        only_rules = all(len(differing) == 1 and differing[0].startswith("rules ") for _, differing in unlike)
        way_out = "--rules official or --rules strict compares both under one" if only_rules else "score them again under one signature"
        other, differing = unlike[0]
        folders = [base.submission_folder, other.submission_folder, other.gold_folder]
        if len(differing) == 1 and differing[0].startswith("gold ") and all(folder and is_dir(Path(folder)) for folder in folders):
            first, second, gold = map(quote, folders)
            way_out = f"`evalsuite compare {first} {second} --gold {gold}` scores both on one gold"
        raise UsageError(texts[0], hint=f"{way_out}, or compare them as they are with --force")
    return [f"{text} (compared under --force)" for text in texts]


def _version_warnings(base: RunSide, others: Sequence[RunSide]) -> Iterator[str]:
    for other in others:
        if names := changed_versions(base.receipt, other.receipt):
            yield versions_warning(names, who=f"{base.label} and {other.label}")


def _candidate(base: RunSide, other: RunSide, how: PairingOptions, *, n_tests: int) -> Candidate:
    shared = [(result, other.results[name]) for name, result in base.results.items() if name in other.results]
    if not shared and not how.shift:
        raise UsageError(f"{base.label} and {other.label} have no instance in common", hint="compare runs of one suite")
    pairs, how = choose_scale(shared, how)
    raw_pairs = [pair for pair in shared if not how.raw and all(raw_value(result) is not None for result in pair)]
    clustered = dict.fromkeys(a.instance_id for a, _ in (*pairs, *raw_pairs))
    cluster_of = cluster_of_each(base, how.cluster, list(clustered)) if pairs else None
    total, whole = _paired_row(other.label, pairs, how, cluster_of), paired_units(pairs, how)
    groups = base.groups or other.groups
    full = Counter((how.value(a) == 1, how.value(b) == 1) for a, b in pairs)
    return Candidate(
        label=other.label,
        source=other.source,
        signature=other.signature,
        metadata=other.metadata,
        total=total,
        # A difference must pass Holm's first step to be shown, whatever the others show.
        plan=plan_of(whole.a, whole.b, alpha=how.alpha / n_tests, clusters=whole.clusters(cluster_of)),
        right=(full[True, True], full[True, False], full[False, True], full[False, False]),
        **_parts(total, pairs, raw_pairs, shared, groups, how, cluster_of),
        shift=score_shifts(base, other, how, cluster_of) if how.shift else (),
        bounds=None if how.raw else difference_bounds(shared, how),
        **_worst_case(other.label, base, shared, how),
        corrected=other.corrected,
        people=None if how.raw else human_difference(pairs, how.value, (base.labels, other.labels), cluster_of),
        **_instances_to_show(base, other, shared, groups, how),
        # The paths of a schema reveal places in gold.
        fields=tuple(field_differences(pairs, alpha=how.alpha, clusters=cluster_of)) if shows(how.level, "shape") else (),
    )


def _open_answers(pairs: Sequence[Pair], how: PairingOptions) -> tuple[list[bool], list[bool]]:
    """Return of each pair whether the candidate's answer has no value, and whether the baseline's could not be judged."""
    is_open = [how.value(b) is None and has_open_verdict(b) for _, b in pairs]
    return is_open, [how.value(a) is None and lacks_setup(a) for a, _ in pairs]


def _worst_case(name: str, base: RunSide, shared: Sequence[Pair], how: PairingOptions) -> dict[str, Any]:
    """Return the fields of a `Candidate` about answers without a value: the sides that have them, and what they would show at worst."""
    ranged = shared if how.raw else pairs_with_range(shared)
    is_judged = [None not in map(how.value, pair) for pair in ranged]
    is_open, is_unset = _open_answers(ranged, how)
    is_base_open = any(left or how.value(b) is not None for left, (_, b) in compress(zip(is_open, ranged, strict=True), is_unset))
    sides = tuple(compress((base.label, name), (is_base_open, any(is_open))))
    if how.raw or not sides:
        return {"open_sides": sides}
    judged = list(compress(ranged, is_judged))
    wrong, details = (1.0, {"better": "lower"}) if is_lower_better(judged) else (0.0, {})

    def filled(result: Result, value: float) -> Result:
        lacks_value = how.value(result) is None
        return replace(result, status="scored", score=value, official=value, strict=value, details=details) if lacks_value else result

    at_worst = [(filled(a, 1 - wrong if lacks_setup(a) else wrong), filled(b, wrong)) for a, b in ranged]
    is_unknown = [unset and how.value(b) is not None for unset, (_, b) in zip(is_unset, ranged, strict=True)]
    pairs = list(compress(at_worst, map(any, zip(is_judged, is_open, is_unknown, strict=True))))
    try:
        cluster_of = cluster_of_each(base, how.cluster, [a.instance_id for a, _ in pairs])
    except UsageError:
        # Only judged instances must be in a cluster: each of the others is its own.
        cluster_of = cluster_of_each(base, how.cluster, [a.instance_id for a, _ in judged]) or {}
        cluster_of = {a.instance_id: f"instance {a.instance_id}" for a, _ in pairs} | cluster_of
    scores = paired_units(list(compress(at_worst, map(any, zip(is_judged, is_open, strict=True)))), how).b
    worst = _paired_row(name, pairs, how, cluster_of)
    return {"open_sides": sides, "worst_case": worst, "worst_score": mean(scores) if scores else None}


def _instances_to_show(
    base: RunSide, other: RunSide, shared: Sequence[Pair], groups: Mapping[str, Sequence[str]], how: PairingOptions
) -> dict[str, Any]:
    """Return the fields of a `Candidate` that name instances, as far as the reveal level allows."""
    instances = paired_instances(shared, groups, how)
    flips = flipped_instances(instances)
    scored = [pair for pair in shared if not all(raw_value(result) is not None for result in pair)]
    unjudged = [a.instance_id for a, b in scored if how.value(a) is None or how.value(b) is None]
    return {
        "instances": instances,
        "flips": tuple(add_texts(flip, base, other) for flip in flips) if how.level == "cells" else flips,
        "unjudged": tuple(unjudged) if shows(how.level, "status") else (),
        "only_baseline": tuple(name for name in base.results if name not in other.results),
        "only_candidate": tuple(name for name in other.results if name not in base.results),
    }


def _parts(
    total: PairedDifference,
    pairs: Sequence[Pair],
    raw_pairs: Sequence[Pair],
    shared: Sequence[Pair],
    groups: Mapping[str, Sequence[str]],
    how: PairingOptions,
    cluster_of: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Return the rows by scorer, raw values and further scorers included, and by group."""

    def part(name: str, chosen: Sequence[Pair]) -> PairedDifference:
        return replace(total, name=name) if len(chosen) == len(pairs) else _paired_row(name, chosen, how, cluster_of)

    raw = replace(how, raw=True)
    scorers = [part(name, chosen) for name, chosen in pairs_by_scorer(pairs).items()]
    scorers += [_paired_row(name, chosen, raw, cluster_of) for name, chosen in pairs_by_scorer(raw_pairs).items()]
    scorers += [_paired_row(name, *choose_scale(chosen, how), cluster_of) for name, chosen in pairs_by_further_scorer(shared).items()]
    return {"by_scorer": tuple(scorers), "by_group": tuple(part(tag, chosen) for tag, chosen in pairs_by_group(pairs, groups).items())}


def _paired_row(name: str, pairs: Sequence[Pair], how: PairingOptions, cluster_of: Mapping[str, str] | None) -> PairedDifference:
    """Return the tested difference of the pairs' units; wins and losses follow the direction of the scores."""
    units = paired_units(pairs, how)
    row = paired_difference(name, units.a, units.b, alpha=how.alpha, clusters=units.clusters(cluster_of), is_raw=how.raw)
    lower = is_lower_better(pairs, raw=how.raw)
    wins, losses = (row.losses, row.wins) if lower else (row.wins, row.losses)
    return replace(row, wins=wins, losses=losses, lower_is_better=lower)


def _adjust_by_holm(candidates: Sequence[Candidate], alpha: float) -> list[Candidate]:
    """Return the candidates with Holm's p-values: the totals are one family, and so is each part over all candidates."""
    totals = adjust_differences([candidate.total for candidate in candidates], alpha)
    worst = adjust_differences([candidate.worst_case or candidate.total for candidate in candidates], alpha)
    changed: list[dict[str, Any]] = [
        {"total": total, "worst_case": candidate.worst_case and worst_case}
        for candidate, total, worst_case in zip(candidates, totals, worst, strict=True)
    ]
    for part in ("by_scorer", "by_group", "fields", "shift"):
        rows = [row for candidate in candidates for row in getattr(candidate, part)]
        if part == "shift":
            adjusted: list[Any] = adjust_shifts(rows)
        elif part == "fields":
            adjusted = [replace(row, f1=f1) for row, f1 in zip(rows, adjust_differences([row.f1 for row in rows], alpha), strict=True)]
        else:
            adjusted = adjust_differences(rows, alpha)
        waiting = iter(adjusted)
        for candidate, shifts in zip(candidates, changed, strict=True):
            shifts[part] = tuple(islice(waiting, len(getattr(candidate, part))))
    return [replace(candidate, **shifts) for candidate, shifts in zip(candidates, changed, strict=True)]


def _add_verdict(candidate: Candidate, alpha: float) -> Candidate:
    total = candidate.total
    words = "no difference shown"
    if total.is_significant(alpha):
        words = "worse" if total.is_regression(alpha) else "better"
    elif total.n and not total.wins + total.losses:
        words = "the same on every compared instance"
    elif not total.n:
        words = "nothing to pair"
    return replace(candidate, verdict=words, is_regression=total.is_regression(alpha))
