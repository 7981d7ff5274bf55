"""One tested difference: of the mean scores on the same n instances, put between its limits, and of how two runs' scores are distributed.

A mean may stay where the scores have moved.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evalsuite.stats.clustered import ONE_CLUSTER, clustered_interval, said_of_few
from evalsuite.stats.intervals import Interval
from evalsuite.stats.paired import PairedTest, sign_flip
from evalsuite.stats.power import Units, detectable, needed, units_of
from evalsuite.stats.samples import N_RESAMPLES, SEED, differences, is_binary, mean
from evalsuite.stats.significance import Significance, compare_paired, difference_interval, holm, interval_note

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """The difference b - a over n pairs; all is None where there is no pair.

    `a` and `b` are means in [0, 1]. `low` and `high` are the limits of the difference at confidence 1 - alpha (Bonett and Price for 0/1
    scores, else t, which covers graded differences at least as well as BCa at n = 15 to 100; with clusters t by CR2) and are not
    adjusted. `p` is two-sided: exact McNemar for 0/1, else sign flips (of whole clusters with clusters); `p_adjusted` is Holm's over the
    part of the comparison it stands in. `effect` is Cohen's d_z. `wins` counts the instances on which b is better, which of a stored score
    that is `lower_is_better` is where it is less. `is_raw` says that all numbers are on the own scale of a metric without bounds.
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
        return self.is_significant(alpha) and (self.difference or 0.0) * (-1 if self.lower_is_better else 1) < 0


def paired_difference(
    name: str, a: Sequence[float], b: Sequence[float], *, alpha: float = 0.05, clusters: Sequence[str] | None = None
) -> PairedDifference:
    """The row of n pairs in the same order; `clusters` names each pair's cluster."""
    if not a:
        return PairedDifference(name=name, n=0, note="no instance in common that both were judged on")
    found = compare_paired(b, a, alpha=alpha)
    tested = PairedDifference(
        name=name,
        n=found.n,
        a=mean(a),
        b=mean(b),
        difference=found.difference,
        low=found.interval.low,
        high=found.interval.high,
        interval_method=found.interval.method,
        se=found.interval.se,
        p=found.p,
        method=found.method,
        effect=found.effect,
        wins=found.wins,
        ties=found.ties,
        losses=found.losses,
        seed=found.seed,
        n_resamples=found.n_resamples,
        note=_few_flips(found, alpha),
    )
    return tested if clusters is None else _over_clusters(tested, a, b, clusters, alpha)


def _few_flips(significance: Significance, alpha: float) -> str:
    """What so few differences cannot show, whatever their direction; empty where they are enough."""
    changed = significance.wins + significance.losses
    if not changed:
        return "" if "McNemar" in significance.method else "no differences"
    if significance.method.startswith("exact") and 2.0 ** (1 - changed) > alpha:
        return f"{changed} difference{'s' * (changed != 1)}: no p below {2.0 ** (1 - changed):g} is possible"
    return ""


def _over_clusters(
    tested: PairedDifference, a: Sequence[float], b: Sequence[float], clusters: Sequence[str], alpha: float
) -> PairedDifference:
    """The row with limits and p-value that take whole clusters as independent instead of instances."""
    apart = differences(b, a)
    totals = dict.fromkeys(clusters, 0.0)
    for cluster, value in zip(clusters, apart, strict=True):
        totals[cluster] += value
    flipped: PairedTest = sign_flip(list(totals.values()), [0.0] * len(totals))
    interval: Interval = clustered_interval(apart, clusters, confidence=1 - alpha)
    if not interval.se and max(map(abs, apart)) <= 1:
        # Clusters that all agree say nothing of their spread, nor does one alone: each counts once.
        interval = difference_interval(b, a, confidence=1 - alpha, effective=len(totals))
    return replace(
        tested,
        low=interval.low,
        high=interval.high,
        interval_method=interval.method,
        se=interval.se,
        p=flipped.p,
        method=f"{flipped.method} of clusters",
        n_clusters=len(totals),
        seed=flipped.seed,
        n_resamples=flipped.n_resamples,
        note=(ONE_CLUSTER if len(totals) == 1 else said_of_few(len(totals), alpha)) or interval.note or flipped.note,
    )


def adjusted_differences(rows: Sequence[PairedDifference], alpha: float) -> list[PairedDifference]:
    """The rows with Holm's p-values over all of them that have one: they are one family. A note says where an interval disagrees."""
    at = [i for i, one in enumerate(rows) if one.p is not None]
    found = dict(zip(at, holm([p for one in rows if (p := one.p) is not None]), strict=True))
    return [_with_adjusted(one, found[i], alpha) if i in found else one for i, one in enumerate(rows)]


def _with_adjusted(row: PairedDifference, adjusted: float, alpha: float) -> PairedDifference:
    disagrees = interval_note(row.low, row.high, p=row.p or 0.0, adjusted=adjusted, alpha=alpha)
    return replace(row, p_adjusted=adjusted, note="; ".join(filter(None, (row.note, disagrees))))


@dataclass(frozen=True, slots=True)
class Plan:
    """What n paired instances, differing as these do, can show by the test that judges them; worked out when it is read.

    `units` are what the test flips, instances or clusters of them; None where graded scores do not differ at all, because what their
    differences look like is not known. `size` is the number of instances in a unit.
    """

    units: Units | None = None
    difference: float = 0.0
    alpha: float = 0.05
    size: float = 1.0

    @property
    def detectable(self) -> float | None:
        """The smallest difference shown with 80 % power; None where none can be shown."""
        return None if self.units is None else detectable(self.units, self.alpha)

    @property
    def n_needed(self) -> int | None:
        """How many instances would show the difference found, if it is the true one; None where so few can show nothing."""
        n = None if self.units is None else needed(self.units, self.difference, self.alpha)
        return None if n is None else math.ceil(n * self.size)


def planned(a: Sequence[float], b: Sequence[float], *, alpha: float, clusters: Sequence[str] | None = None) -> Plan:
    """The plan of n pairs in the same order; of whole clusters where those are flipped."""
    if not a:
        return Plan()
    apart, n = differences(b, a), len(a)
    binary = is_binary(a) and is_binary(b)
    if clusters is not None:
        totals = dict.fromkeys(clusters, 0.0)
        for cluster, value in zip(clusters, apart, strict=True):
            totals[cluster] += value
        apart, binary = [round(total * len(totals) / n, 9) for total in totals.values()], False
    return Plan(units_of(apart, binary=binary), mean(apart), alpha, n / len(apart))


CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreShift:
    """How far the scores of one field (or scorer) have moved from a to b.

    `distance` in [0, 1] is the area between both cumulative distributions (Wasserstein's first distance): 0.1 says that scores moved by
    ten points on average. `p` comes from exchanging a and b within instances, or, where no instance is in both, between all of
    them: exact up to 13 instances that differ, else drawn.
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


def score_shift(
    name: str, a: Mapping[str, float], b: Mapping[str, float], *, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> ScoreShift | None:
    """The shift between scores by instance id; None where a side has none. Instances in one side only count where none is in both."""
    shared = [key for key in a if key in b]
    left, right = ([a[key] for key in shared], [b[key] for key in shared]) if shared else (list(a.values()), list(b.values()))
    if not left or not right:
        return None
    distance, p, drawn = (
        _exchanged_in_pairs(left, right, n_resamples, seed) if shared else _exchanged_in_all(left, right, n_resamples, seed)
    )
    return ScoreShift(
        name=name,
        n_a=len(left),
        n_b=len(right),
        mean_a=sum(left) / len(left),
        mean_b=sum(right) / len(right),
        distance=distance,
        p=p,
        paired=bool(shared),
        seed=seed if drawn else None,
        n_resamples=n_resamples if drawn else None,
    )


def adjusted_shifts(shifts: Sequence[ScoreShift]) -> list[ScoreShift]:
    """The shifts with Holm's p-values over all of them."""
    return [replace(one, p_adjusted=p) for one, p in zip(shifts, holm([one.p for one in shifts]), strict=True)]


def _exchanged_in_pairs(a: Sequence[float], b: Sequence[float], n_resamples: int, seed: int) -> tuple[float, float, bool]:
    """(distance, p, whether p was drawn) under exchanges within pairs; equal pairs move nothing and are left out."""
    import numpy as np

    values = np.asarray([pair for pair in zip(a, b, strict=True) if pair[0] != pair[1]], dtype=np.float64).ravel()
    m = len(values) // 2
    if not m:
        return 0.0, 1.0, False
    order = np.argsort(values, kind="stable")
    gaps, pair, side = np.diff(values[order]), order // 2, np.where(order % 2 == 0, 1.0, -1.0) / len(a)
    observed = float(_areas(side[None, :], gaps)[0])
    exact = 2**m <= n_resamples
    rng = np.random.default_rng(seed)
    far = 0
    for size, start in _blocks(2**m if exact else n_resamples, len(values)):
        bits = (np.arange(start, start + size)[:, None] >> np.arange(m)) & 1 if exact else rng.integers(2, size=(size, m))
        signs = bits * 2.0 - 1.0
        far += int((_areas(signs[:, pair] * side, gaps) >= observed - 1e-12).sum())
    return observed, far / 2**m if exact else (far + 1) / (n_resamples + 1), not exact


def _exchanged_in_all(a: Sequence[float], b: Sequence[float], n_resamples: int, seed: int) -> tuple[float, float, bool]:
    """(distance, p, True) under exchanges between all instances of both sides."""
    import numpy as np

    values = np.asarray([*a, *b], dtype=np.float64)
    order = np.argsort(values, kind="stable")
    gaps, weights = np.diff(values[order]), np.where(order < len(a), 1 / len(a), -1 / len(b))
    observed = float(_areas(weights[None, :], gaps)[0])
    rng = np.random.default_rng(seed)
    far = 0
    for size, _ in _blocks(n_resamples, len(values)):
        drawn = rng.permuted(np.tile(weights, (size, 1)), axis=1)
        far += int((_areas(drawn, gaps) >= observed - 1e-12).sum())
    return observed, (far + 1) / (n_resamples + 1), True


def _areas(weights: "NDArray[Any]", gaps: "NDArray[Any]") -> "NDArray[Any]":
    """R areas between two cumulative distributions, from R rows of weights over N sorted values and the N - 1 gaps between them."""
    import numpy as np

    areas: NDArray[Any] = np.abs(np.cumsum(weights, axis=1))[:, :-1] @ gaps
    return areas


def _blocks(total: int, width: int) -> Iterator[tuple[int, int]]:
    """(size, start) of blocks of rows that stay within about 32 MB each."""
    block = max(1, CELLS_AT_ONCE // width)
    for start in range(0, total, block):
        yield min(block, total - start), start
