"""Confidence intervals of means: closed forms, bootstrap, clustered and repeated scores, and prediction-powered inference.

Random draws are seeded and vectorised. Clustered intervals treat clusters, not scores, as independent. `corrected_mean` combines a cheap
rater's scores of all cases with an expensive rater's scores of some. `count_repeats` handles several samples per question: the mean, the
chance that one of k or all k are right, and the sources of variance.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, get_args

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import count_words
from evalsuite.core.import_ref import ArrayLike, Floats, NDArray, np, special
from evalsuite.stats.samples import (
    N_RESAMPLES,
    SEED,
    StatsError,
    check_scores,
    generator,
    is_binary,
    mean,
    pass_at_k,
    sample_sd,
    share,
    t_value,
    z_value,
)

SMALLEST_SPREAD = 1e-9
# Rounding noise of a standard error, as a share of the mean.
_NOISE = 1e-12
Method = Literal["percentile", "basic", "bca"]
ProportionMethod = Literal["wilson", "clopper_pearson", "agresti_coull", "jeffreys", "normal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate over n values with its interval. If it is undefined, `low` and `high` are None and `note` explains it.

    `seed` and `n_resamples` are None for closed forms.
    """

    estimate: float
    low: float | None
    high: float | None
    confidence: float
    method: str
    n: int
    se: float | None = None
    seed: int | None = None
    n_resamples: int | None = None
    note: str = ""


def wilson_interval(successes: float, n: float, *, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return the Wilson score interval (low, high) in [0, 1] of a proportion, by default at 95 %.

    Source: Wilson (1927), Journal of the American Statistical Association 22. `n` is the number of instances, at least 1. Its exact
    coverage at n = 30 is 95.2 % on average over true shares 0.1 to 0.9 and within 93..97 % for 96 % of them (93.0 at 0.3, 97.4 at 0.1);
    from n = 100 on for all. Clopper-Pearson reaches 97 % only by being wide; Jeffreys and mid-p leave the band as often.
    """
    if n < 1:
        raise ValueError("n must be at least 1")
    part = min(1.0, max(0.0, successes / n))
    centre = part + z * z / (2 * n)
    spread = z * math.sqrt(part * (1 - part) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At 0 and at 1 the formula ends there exactly; rounding would give 1e-17.
    low = 0.0 if part == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if part == 1 else min(1.0, (centre + spread) / scale)
    return low, high


def proportion_interval(successes: int, n: int, *, confidence: float = 0.95, method: ProportionMethod = "wilson") -> Interval:
    """Return the interval of a share `successes / n`; all methods but Wilson are for comparison with other tools.

    The coverage of `clopper_pearson` is never below the nominal one; `normal` is the textbook formula, which is [1, 1] at 1 of 1.
    """
    if not 0 <= successes <= n or n < 1:
        raise StatsError(f"{successes} successes of {n}")
    z, part = z_value(confidence), successes / n
    if method == "wilson":
        low, high = wilson_interval(successes, n, z=z)
    elif method in ("clopper_pearson", "jeffreys"):
        low, high = _beta_interval(successes, n, (1 - confidence) / 2, jeffreys=method == "jeffreys")
    else:
        # Agresti and Coull add z^2 / 2 successes and as many failures to the textbook interval.
        extra = z * z if method == "agresti_coull" else 0.0
        centre = (successes + extra / 2) / (n + extra)
        spread = z * math.sqrt(centre * (1 - centre) / (n + extra))
        low, high = max(0.0, centre - spread), min(1.0, centre + spread)
    se = math.sqrt(part * (1 - part) / n)
    return Interval(estimate=part, low=low, high=high, confidence=confidence, method=method, n=n, se=se)


def _beta_interval(successes: int, n: int, tail: float, *, jeffreys: bool) -> tuple[float, float]:
    failures = n - successes
    if jeffreys:
        a, b = successes + 0.5, failures + 0.5
        return float(special.betaincinv(a, b, tail)), float(special.betaincinv(a, b, 1 - tail))
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(special.betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return low, high


def t_interval(scores: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Return the mean with Student's interval, n - 1 degrees of freedom; undefined for one score and for scores without variation.

    For unbounded scores. On bounded ones it is too narrow near the ends: 90 % instead of 95 if four scores of five are 1 and n = 30.
    """
    return _symmetric(scores, confidence, "t")


def normal_interval(scores: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """The mean with z standard errors to each side, as many tools print it; too narrow for n below about 50."""
    return _symmetric(scores, confidence, "normal")


def _symmetric(scores: Sequence[float], confidence: float, method: Literal["t", "normal"]) -> Interval:
    values = check_scores(scores)
    n, centre, sd = len(values), mean(values), sample_sd(values)
    share(confidence, "confidence")
    if not sd:
        note = "one score has no standard error" if sd is None else "all scores are equal: their spread is not known"
        se = None if sd is None else 0.0
        return Interval(estimate=centre, low=None, high=None, confidence=confidence, method=method, n=n, se=se, note=note)
    se = sd / math.sqrt(n)
    spread = se * (t_value(confidence, n - 1) if method == "t" else z_value(confidence))
    return Interval(estimate=centre, low=centre - spread, high=centre + spread, confidence=confidence, method=method, n=n, se=se)


UNSEEN = 0.7
"""How many further scores at the end of the scale may have been missed by a sample."""


def bounded_interval(scores: Sequence[float], *, confidence: float = 0.95, low: float = 0.0, high: float = 1.0) -> Interval:
    """Return the mean of scores within low..high with an interval that allows for scores which n of them may have missed.

    The upper limit is a quantile of the mean of the scores and 0.7 of a further one at `high`, under random weights (exponential ones,
    divided by their sum); the lower limit that with 0.7 at `low`. Source: the bound of Gaffke (2005), which has a whole further score, and
    of which no failure is known (Learned-Miller and Thomas 2019, arXiv 1905.06208); of 0/1 scores that is Clopper and Pearson's limit, and
    half a score gives Jeffreys'. With 0.7, n scores of 0 give about 3 / n, the rule of three. The weighted mean is taken for a beta of its
    mean and variance, from the lowest score to the end.

    In simulations (2 to 200 scores, 26 shapes, such as one of ten at 0 and the others above 0.9, or a beta of mean 0.03) it covers in
    94.5 % or more, and counted exactly (17,856 settings of two values, with and without noise) in 93 % or more of all but one (92.1).
    Wilson's interval at the effective sample size covers those in 21 % at worst. Where that one covers too, this one is at n = 50 up to 8 %
    wider for right, wrong and partly right or evenly spread scores, up to a quarter if they are skewed, and twice if all are within 0.2.

    Scores that are all equal do not show their spread: they count as 0/1 scores of that mean, the widest possible.
    """
    values = check_scores(scores)
    _check_ends(low, high)
    if min(values) < low or max(values) > high:
        raise StatsError(f"scores from {min(values)} to {max(values)} are not in {low}..{high}")
    n, centre, sd = len(values), mean(values), sample_sd(values)
    # Variation from rounding alone counts as none.
    if sd and sd > SMALLEST_SPREAD * (high - low):
        (start, end), note = _with_unseen((np.asarray(values) - low) / (high - low), np.ones(n), confidence), ""
    else:
        start, end = wilson_interval((centre - low) / (high - low) * n, n, z=z_value(confidence))
        note = "all scores are equal: taken as 0/1 scores of that mean"
    return Interval(
        estimate=centre,
        # The estimate itself limits rounding errors at the ends.
        low=min(centre, low + start * (high - low)),
        high=max(centre, low + end * (high - low)),
        confidence=confidence,
        method="bounded",
        n=n,
        se=None if sd is None else sd / math.sqrt(n),
        note=note,
    )


def _with_unseen(values: "Floats", weights: "Floats", confidence: float) -> tuple[float, float]:
    """Return the interval of the mean of n values in [0, 1], not all equal, with weights of mean 1: `bounded_interval` says how."""
    tail = (1 - share(confidence, "confidence")) / 2

    def highest(values: "Floats") -> float:
        least, total = values.min(), len(values) + UNSEEN
        middle = (weights @ values + UNSEEN) / total
        spread = ((weights * (values - middle)) ** 2).sum() + UNSEEN * (1 - middle) ** 2
        part = (middle - least) / (1 - least)
        worth = (middle - least) * (1 - middle) * total * (total + 1) / spread - 1
        return float(least + (1 - least) * special.betaincinv(part * worth, (1 - part) * worth, 1 - tail))

    return 1 - highest(1 - values), highest(values)


def _check_ends(low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise StatsError(f"low and high must be two numbers, the low one first, not {low} and {high}")


def score_interval(scores: Sequence[float], *, confidence: float = 0.95, low: float = 0.0, high: float = 1.0) -> Interval:
    """Return the default interval of this package for a mean.

    Wilson for 0/1 scores, `bounded_interval` for scores within low..high, Student's t for all others.
    """
    values = check_scores(scores)
    _check_ends(low, high)
    if is_binary(values) and (low, high) == (0.0, 1.0):
        return proportion_interval(round(sum(values)), len(values), confidence=confidence)
    if low <= min(values) and max(values) <= high:
        return bounded_interval(values, confidence=confidence, low=low, high=high)
    return t_interval(values, confidence=confidence)


def interval_of_units(score: float, units: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Return the interval of one instance's score in [0, 1] from the scores of its n units.

    If the score is the mean of the units, it is the interval of that mean; otherwise the score gets the same effective sample size.
    """
    interval = score_interval(units, confidence=confidence)
    if abs(interval.estimate - score) <= SMALLEST_SPREAD or not interval.se or not 0 < score < 1:
        return replace(interval, estimate=score, low=min(score, interval.low or 0.0), high=max(score, interval.high or 1.0))
    effective = max(1.0, score * (1 - score) / interval.se**2)
    low, high = wilson_interval(score * effective, effective, z=t_value(confidence, len(units) - 1))
    return replace(interval, estimate=score, low=min(score, low), high=max(score, high), method="effective size of units")


def named_interval(scores: Sequence[float], method: str, *, confidence: float = 0.95) -> Interval:
    """The interval of that name: auto, wilson (0/1 scores only), bounded, t or normal; percentile, basic or bca bootstrap."""
    methods: dict[str, Callable[..., Interval]] = {
        "auto": score_interval,
        "bounded": bounded_interval,
        "t": t_interval,
        "normal": normal_interval,
    }
    methods |= {name: partial(bootstrap_interval, method=name) for name in get_args(Method)}
    if method == "wilson":
        if not is_binary(check_scores(scores)):
            raise StatsError("Wilson's interval needs scores of 0 and 1", hint="use bounded for other scores in [0, 1]")
        return score_interval(scores, confidence=confidence)
    if method not in methods:
        raise StatsError(f"unknown interval {method!r}", hint=f"one of wilson, {', '.join(methods)}")
    return methods[method](scores, confidence=confidence)


CorpusScore = Callable[[Any], Any]
"""m rows of summed statistics (an array m x k) -> m scores."""
CELLS_AT_ONCE = 4_000_000


def draw_indices(n: int, n_resamples: int, seed: int) -> "Iterator[NDArray[np.int64]]":
    """Yield `n_resamples` rows of n positions drawn with replacement, in blocks of about 32 MB.

    The stream is that of sacrebleu's `rng.choice(n, size=(n_resamples, n))`, whatever the size of a block.
    """
    rng = generator(n_resamples, seed)
    block = max(1, CELLS_AT_ONCE // n)
    for start in range(0, n_resamples, block):
        yield rng.choice(n, size=(min(block, n_resamples - start), n), replace=True)


def draw_counts(n: int, n_resamples: int, seed: int) -> "Iterator[NDArray[np.int64]]":
    """Yield the draws of `draw_indices` as the number of times that each of n positions is drawn (rows x n)."""
    for rows in draw_indices(n, n_resamples, seed):
        places = rows + n * np.arange(len(rows))[:, None]
        yield np.bincount(places.ravel(), minlength=n * len(rows)).reshape(len(rows), n)


def resampled_means(scores: Sequence[float], *, n_resamples: int = N_RESAMPLES, seed: int = SEED) -> "Floats":
    """The means of `n_resamples` samples of n scores drawn with replacement."""
    values = np.asarray(check_scores(scores))
    return np.concatenate([values[rows].mean(axis=1) for rows in draw_indices(len(values), n_resamples, seed)])


def resampled_totals(statistics: "ArrayLike", *, n_resamples: int = N_RESAMPLES, seed: int = SEED) -> "Floats":
    """The column sums (n_resamples x k) of resampled segments, from n segments x k statistics. One product, no loop over resamples."""
    table = segment_table(statistics)
    return np.concatenate([counts @ table for counts in draw_counts(len(table), n_resamples, seed)])


def segment_table(statistics: "ArrayLike") -> "Floats":
    """The statistics as n x k floats; raises `StatsError` for none, rows of different lengths, and numbers that are not finite."""
    try:
        table = np.asarray(statistics, dtype=np.float64)
    except ValueError as error:
        raise StatsError("the segments do not all have the same number of statistics") from error
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not len(table):
        raise StatsError("no segments")
    if not np.isfinite(table).all():
        raise StatsError(f"segment {np.flatnonzero(~np.isfinite(table).all(axis=1))[0] + 1} has a number that is not finite")
    return table


def bootstrap_interval(
    scores: Sequence[float], *, confidence: float = 0.95, method: Method = "bca", n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> Interval:
    """The mean with its bootstrap interval; pass differences for a paired one.

    `se` is the bootstrap's own standard error in closed form, sqrt(sum of squared deviations) / n. Equal scores give an interval without
    width and a note.
    """
    tail = _tail_of(method, confidence)
    values = check_scores(scores)
    n, centre = len(values), mean(values)
    table = np.asarray(values)
    # Their rounding must not leave the scores: a mean of equal scores is that score.
    drawn = np.clip(resampled_means(values, n_resamples=n_resamples, seed=seed), min(values), max(values))
    without_one = (table.sum() - table) / (n - 1) if n > 1 else table
    note = "all scores are equal: no resample differs" if min(values) == max(values) else ""
    se = math.sqrt(math.fsum((value - centre) ** 2 for value in values)) / n
    fields = {"n": n, "confidence": confidence, "se": se, "seed": seed, "note": note}
    return _bootstrap_interval(drawn, centre, without_one, method, tail, title=method, **fields)


def segment_bootstrap(
    statistics: "ArrayLike",
    score: CorpusScore,
    *,
    confidence: float = 0.95,
    method: Method = "percentile",
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Return the interval of a corpus metric (BLEU, chrF, TER, micro F1): segments are resampled, the metric is computed from their sums.

    Args:
        statistics: n segments x k numbers that are summed, such as matches and lengths.
        score: The function from m rows of sums to m scores; no text is scored again.
        confidence: The level, in (0, 1).
        method: "percentile", "basic" or "bca".
        n_resamples: How many resamples are drawn.
        seed: Of the draws.

    Returns:
        The metric of all segments with `low` and `high`.

    Raises:
        StatsError: No segments, values that are not finite numbers, or an invalid option.
    """
    tail = _tail_of(method, confidence)
    table = segment_table(statistics)
    total = table.sum(axis=0, keepdims=True)
    centre = float(np.asarray(score(total))[0])
    drawn = np.asarray(score(resampled_totals(table, n_resamples=n_resamples, seed=seed)), dtype=np.float64)
    without_one = np.asarray(score(total - table) if method == "bca" and len(table) > 1 else centre, dtype=np.float64)
    title, se = f"segment {method}", float(drawn.std())
    return _bootstrap_interval(drawn, centre, without_one, method, tail, title=title, n=len(table), confidence=confidence, se=se, seed=seed)


def _tail_of(method: Method, confidence: float) -> float:
    """Return the share of resamples on each side of an interval, before anything is drawn for an unknown method or level."""
    if method not in get_args(Method):
        raise StatsError(f"unknown method {method!r}", hint=f"known: {', '.join(get_args(Method))}")
    return (1 - share(confidence, "confidence")) / 2


def _bootstrap_interval(
    drawn: "Floats", centre: float, without_one: "Floats", method: Method, tail: float, *, title: str, **fields: Any
) -> Interval:
    """Return the interval of the drawn estimates; `without_one` are the estimates without each of the n values."""
    levels = (tail, 1 - tail) if method != "bca" else _bca_levels(drawn, centre, without_one, tail)
    low, high = (float(value) for value in np.quantile(drawn, levels))
    low, high = (2 * centre - high, 2 * centre - low) if method == "basic" else (low, high)
    fields |= {"method": f"{title} bootstrap", "n_resamples": len(drawn)}
    return Interval(estimate=centre, low=low, high=high, **fields)


def _bca_levels(drawn: "Floats", centre: float, without_one: "Floats", tail: float) -> tuple[float, float]:
    """Return Efron's corrected levels; a resample that ties with the estimate (within 1e-12) counts half below."""
    rounded, middle = np.round(drawn, 12), round(centre, 12)
    below = ((rounded < middle).mean() + (rounded <= middle).mean()) / 2
    deviations = without_one.mean() - without_one
    spread = float((deviations**2).sum())
    # Nothing to correct: no variation, or all resamples are on one side.
    if spread < 1e-24 or not 0 < below < 1:
        return tail, 1 - tail
    acceleration = float((deviations**3).sum()) / (6 * spread**1.5)
    bias = float(special.ndtri(below))
    shifted = [bias + float(special.ndtri(level)) for level in (tail, 1 - tail)]
    low, high = (float(special.ndtr(bias + z / (1 - acceleration * z))) for z in shifted)
    return low, high


ONE_CLUSTER = "one cluster: it counts as one score, because the spread between clusters is not known"


def few_clusters_note(n_clusters: int, alpha: float = 0.05, n_tests: int = 1, what: str = "clusters") -> str:
    """Return what so few clusters cannot show, empty if there are enough: flipping the signs of G clusters gives no p below 2 / 2^G."""
    if n_clusters < 2 or not n_tests or n_tests * 2.0 ** (1 - n_clusters) <= alpha + 1e-12:
        return ""
    return f"{n_clusters} {what}: no test can reach {round(alpha, 12):g}" + (f" over {n_tests} pairs" if n_tests > 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredError:
    """Standard errors of the mean of n scores in G clusters; None if one score or one cluster leaves them undefined.

    `naive` treats scores as independent; `cr0` sums deviations by cluster; `cr1` corrects that by sqrt(G / (G - 1)); `cr2` corrects each
    cluster for its leverage and is the one to report, with `df` degrees of freedom (Satterthwaite's): G - 1 for clusters of one size, fewer
    if some are large. `miller` is the naive variance plus the cross products within clusters (Miller 2024, arXiv 2411.00640).
    """

    mean: float
    n: int
    n_clusters: int
    naive: float | None
    cr0: float | None = None
    cr1: float | None = None
    cr2: float | None = None
    df: float | None = None
    miller: float | None = None
    note: str = ""


def clustered_se(scores: Sequence[float], clusters: Sequence[Hashable]) -> ClusteredError:
    """Return the standard errors of the mean; `clusters` names each score's cluster, and None in it is an error.

    One cluster gives None, never 0, because the variation between clusters is unknown.
    """
    values = check_scores(scores)
    totals = cluster_totals(values, clusters)
    n, centre, sd = len(values), mean(values), sample_sd(values)
    naive = None if sd is None else sd / math.sqrt(n)
    size = len(totals)
    if size < 2 or naive is None:
        return ClusteredError(mean=centre, n=n, n_clusters=size, naive=naive, note=ONE_CLUSTER)
    sums, sizes = zip(*totals, strict=True)
    square = math.fsum((total - count * centre) ** 2 for total, count in totals) if sd else 0.0
    within = math.fsum((value - centre) ** 2 for value in values)
    cr0 = math.sqrt(square) / n
    _, cr2, df = cr2_of(sums, sizes)
    return ClusteredError(
        mean=centre,
        n=n,
        n_clusters=size,
        naive=naive,
        cr0=cr0,
        cr1=cr0 * math.sqrt(size / (size - 1)),
        cr2=cr2 if sd else 0.0,
        df=df,
        miller=math.sqrt(max(0.0, naive * naive + (square - within) / (n * n))),
    )


def cr2_of(totals: Sequence[float], sizes: Sequence[float]) -> tuple[float, float, float]:
    """Return (mean, its CR2 standard error, Satterthwaite's degrees of freedom) from the sums and sizes of at least two clusters.

    Source: Bell and McCaffrey (2002), in closed form for a mean, where the leverage of a cluster is its share of the values.
    """
    n = sum(sizes)
    centre, pulls = math.fsum(totals) / n, [size / n for size in sizes]
    rests = [total - size * centre for total, size in zip(totals, sizes, strict=True)]
    cr2 = math.sqrt(math.fsum(rest * rest / (1 - pull) for rest, pull in zip(rests, pulls, strict=True))) / n
    crossed = [pull * pull / (1 - pull) for pull in pulls]
    spread = math.fsum(pull * pull for pull in pulls) + math.fsum(crossed) ** 2 - math.fsum(value * value for value in crossed)
    return centre, cr2, 1 / spread


def cluster_totals(values: Sequence[float], clusters: Sequence[Hashable]) -> list[tuple[float, int]]:
    """Return (sum, number) of the scores of each of G clusters, in order of first appearance."""
    if len(clusters) != len(values):
        raise StatsError(f"{count_words(len(values), 'score')} but {count_words(len(clusters), 'cluster name')}")
    if any(name is None for name in clusters):
        raise StatsError(f"score {list(clusters).index(None)} has no cluster", hint="every instance needs its group")
    members: dict[Hashable, list[float]] = {}
    for value, name in zip(values, clusters, strict=True):
        members.setdefault(name, []).append(value)
    return [(math.fsum(members_scores), len(members_scores)) for members_scores in members.values()]


def clustered_interval(scores: Sequence[float], clusters: Sequence[Hashable], *, confidence: float = 0.95) -> Interval:
    """The mean with `cr2` times Student's quantile at `df` degrees of freedom to each side.

    Undefined for one cluster and for clusters without variation. Fit for unbounded values such as differences; for scores in [0, 1] see
    `clustered_score_interval`.
    """
    error = clustered_se(scores, clusters)
    low, high, note = None, None, error.note
    if error.cr2 is not None and error.cr2 <= _NOISE * abs(error.mean):
        note = note or "all clusters are equal: their spread is not known"
    elif error.cr2 is not None and error.df is not None:
        spread = error.cr2 * t_value(confidence, error.df)
        low, high = error.mean - spread, error.mean + spread
    return Interval(
        estimate=error.mean, low=low, high=high, confidence=confidence, method="clustered t", n=error.n, se=error.cr2, note=note
    )


def clustered_difference_interval(differences: Sequence[float], clusters: Sequence[Hashable], *, confidence: float = 0.95) -> Interval:
    """Return `clustered_interval` of paired differences, wider if one more cluster of each sign makes it wider.

    These have the mean size and a sum as large as the root mean square of the sums that are not 0, so that few clusters with differences
    on one side are not all there is. In simulations (5 to 100 clusters of 1 to 8, four kinds) it covers in 93 % or more, without these
    clusters in 90; it is wider by up to 2 % where most clusters differ. It does not know of differences that no cluster shows.
    """
    interval = clustered_interval(differences, clusters, confidence=confidence)
    if interval.low is None or interval.high is None:
        return interval
    sums, sizes = zip(*cluster_totals(differences, clusters), strict=True)
    more, size = math.sqrt(mean([total * total for total in sums if total])), len(differences) / len(sums)
    centre, error, df = cr2_of([*sums, more, -more], [*sizes, size, size])
    reach = error * t_value(confidence, df)
    return replace(interval, low=min(interval.low, centre - reach), high=max(interval.high, centre + reach))


def clustered_score_interval(scores: Sequence[float], clusters: Sequence[Hashable], *, confidence: float = 0.95) -> Interval:
    """Return the mean of scores in [0, 1] over G clusters, with an interval of positive width. One cluster counts as one score, with a
    note.

    The wider of two. The first is Wilson's interval at the effective sample size m * (1 - m) / cr2^2 with Student's quantile: accurate in
    the middle and too narrow near the ends, where few clusters do not show their spread (81 % instead of 95 for ten clusters of 50 at 0.9
    with a correlation of 0.5). The second is for 0/1 scores the likelihood of a beta-binomial averaged over the correlation within
    clusters, accurate there and too narrow for few clusters in the middle: together they cover 92 to 99.7 % from ten clusters on. For
    others it is `bounded_interval` over the clusters' means, weighted by their sizes, with 0.7 of a further cluster of the mean size at
    either end; in simulations (3 to 50 clusters of 1 to 12 scores, or one of ten beside single ones, seven kinds) both cover in 94.5 % or
    more, where the interval before covered in 26 % if one cluster of 20 is far from the others, which are alike.

    For clusters of one score each the interval is `score_interval`'s.
    """
    values = check_scores(scores)
    share(confidence, "confidence")
    if min(values) < 0 or max(values) > 1:
        return clustered_interval(values, clusters, confidence=confidence)
    error, totals = clustered_se(values, clusters), cluster_totals(values, clusters)
    if len(totals) == len(values):
        return score_interval(values, confidence=confidence)
    if len(totals) == 1 or is_binary(values) or (error.naive or 0.0) < SMALLEST_SPREAD:
        other = _likely_means(error.mean, totals, confidence)
    else:
        sums, sizes = np.asarray(totals).T
        other = _with_unseen(np.minimum(1, sums / sizes), sizes / sizes.mean(), confidence)
    lows, highs = zip(_at_effective_size(error, len(totals), confidence), other, strict=True)
    low, high = min(*lows, error.mean), max(*highs, error.mean)
    return Interval(
        estimate=error.mean, low=low, high=high, confidence=confidence, method="clustered", n=error.n, se=error.cr2, note=error.note
    )


def _at_effective_size(error: ClusteredError, n_clusters: int, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval for the number of 0/1 scores that the clustered error is worth, at least as wide as for independent scores.

    Scores that are all equal, and those of one cluster, do not show the correlation within clusters: each cluster counts once.
    """
    centre, naive, cr2 = error.mean, error.naive or 0.0, error.cr2 or 0.0
    if naive < SMALLEST_SPREAD or n_clusters == 1:
        return wilson_interval(centre * n_clusters, n_clusters, z=z_value(confidence))
    low, high = _wilson_of(centre, naive, z_value(confidence))
    if cr2 < SMALLEST_SPREAD:
        return low, high
    start, end = _wilson_of(centre, cr2, t_value(confidence, error.df or 1.0))
    # If a cluster's scores vary more than independent ones, that is by chance.
    return min(low, start), max(high, end)


def _wilson_of(centre: float, error: float, z: float) -> tuple[float, float]:
    effective = centre * (1 - centre) / error**2
    return wilson_interval(centre * effective, effective, z=z) if effective >= 1 else (0.0, 1.0)


N_MEANS = 160
N_CORRELATIONS = 24


def _likely_means(centre: float, totals: Sequence[tuple[float, int]], confidence: float) -> tuple[float, float]:
    """Return the range of true means with `confidence` of the beta-binomial likelihood of the clusters' totals.

    Means have equal weights, and correlations within a cluster 1 / sqrt(correlation), on a grid that is denser near 0 for both. At 0 and
    at 1 the whole tail is on one side.
    """
    edges = np.sin(np.linspace(0, np.pi / 2, N_MEANS + 1)) ** 2
    middles = np.sin((np.arange(N_MEANS) + 0.5) / N_MEANS * np.pi / 2) ** 2
    correlations = ((np.arange(N_CORRELATIONS) + 0.5) / N_CORRELATIONS) ** 2
    scale = 1 / correlations - 1
    right, wrong = middles[:, None] * scale, (1 - middles)[:, None] * scale
    pairs, times = np.unique(np.round([(total, count - total) for total, count in totals], 6), axis=0, return_counts=True)
    gammaln = special.gammaln
    logs = np.log(np.diff(edges))[:, None] - len(totals) * (gammaln(right) + gammaln(wrong) - gammaln(scale))
    for (total, rest), count in zip(pairs, times, strict=True):
        logs = logs + count * (gammaln(right + total) + gammaln(wrong + max(0.0, rest)) - gammaln(scale + total + rest))
    weights = np.exp(logs - logs.max()).sum(axis=1)
    below = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
    tail = (1 - confidence) / 2
    if centre in (0.0, 1.0):
        end = float(np.interp(2 * tail if centre else 1 - 2 * tail, below, edges))
        return (end, 1.0) if centre else (0.0, end)
    low, high = np.interp((tail, 1 - tail), below, edges)
    return float(low), float(high)


# The interval of a reported mean -> its function: of scores, over clusters, of one score from its units, and of values without bounds.
INTERVALS: Final[Mapping[str, Callable[..., Interval]]] = {
    "scores": score_interval,
    "clusters": clustered_score_interval,
    "units": interval_of_units,
    "raw": t_interval,
    "raw clusters": clustered_interval,
}


def reported_interval(
    scores: Sequence[float], *, score: float | None = None, clusters: Sequence[Hashable] | None = None, is_raw: bool = False
) -> Interval:
    """Return the 95 % interval that every report, board and file shows for n scores.

    Args:
        scores: n scores, of instances or of the units of one instance.
        score: the reported score if it may differ from the mean of its units.
        clusters: one name per score, for scores that are not independent.
        is_raw: whether the values are on a metric's own scale, without bounds.
    """
    if clusters:
        return INTERVALS["raw clusters" if is_raw else "clusters"](scores, clusters)
    if score is not None and 0 <= score <= 1 and not is_raw:
        return INTERVALS["units"](score, scores)
    return INTERVALS["raw" if is_raw else "scores"](scores)


def corrected_mean(
    both: Sequence[tuple[float, float]],
    cheap_alone: Sequence[float] = (),
    *,
    clusters: Sequence[Hashable] = (),
    confidence: float = 0.95,
) -> Interval:
    """Return the mean that the expensive rater would give over all, from n cases rated by both and N others rated by the cheap one.

    It is the cheap rater's mean over the others plus its mean error on the n, weighted so that the interval is shortest: an uninformative
    rater has weight 0. The n must be a random sample. Scores are in [0, 1] or wider. With 100 labels and a judge that
    is wrong in 15 % it covers a true share of 0.5 to 0.9 in 95.2 to 96.1 % of 2,000 simulations.

    `clusters` names the cluster of each case, those of `both` first: then clusters are independent, and not cases. In simulations (10 to
    100 clusters of 5 to 20, 50 to 100 labels, correlation 0 to 1 of truth and of errors) it covers in 93 to 100 % from 20 clusters on, and
    in 90 to 100 % with 10.

    Source: Angelopoulos, Duchi, Zrnic (2023), PPI++, for a mean; the quantile is Student's with n - 1 degrees of freedom, or one less than
    there are clusters with labels.

    Raises:
        StatsError: fewer than two cases of both, or a value that is not a finite number.
    """
    if len(both) < 2:
        raise StatsError(f"a correction needs at least 2 labels of both raters, found {len(both)}")
    cheap, dear, others = (check_scores(values, at_least=0) for values in ([c for c, _ in both], [d for _, d in both], cheap_alone))
    n, n_others = len(both), len(others)
    weight = 0.0
    pooled = [*cheap, *others]
    if n_others and (spread := _covariance(pooled, pooled)) > 0:
        weight = min(1.0, max(0.0, _covariance(cheap, dear) / (spread * (1 + n / n_others))))
    left = [d - weight * c for c, d in zip(cheap, dear, strict=True)]
    middle = math.fsum(left) / n
    other_middle = math.fsum(others) / n_others if n_others else 0.0
    # One more case at either end, because n cases may have missed rare errors; as for shares by Agresti and Coull.
    reach = max(*dear, 1.0) - min(*dear, 0.0)
    with_ends = [*left, middle - reach, middle + reach]
    of_others = weight**2 * _covariance(others, others) / n_others if n_others > 1 else 0.0
    variance, n_labelled = _covariance(with_ends, with_ends) / n + of_others, n
    if len(set(clusters)) < len(clusters):
        n_labelled, independent = len(set(clusters[:n])), _covariance(left, left) / n + of_others
        parts = [*((value - middle) / n for value in left), *(weight * (value - other_middle) / n_others for value in others)]
        variance = max(variance, _variance_over_clusters(parts, clusters, independent, n_labelled, n, reach))
    estimate, se = middle + weight * other_middle, math.sqrt(variance)
    half = t_value(confidence, max(1, n_labelled - 1)) * se
    low, high, note = estimate - half, estimate + half, f"{n_others} others, weight {weight:.2f}"
    return Interval(estimate=estimate, low=low, high=high, confidence=confidence, method="prediction-powered", n=n, se=se, note=note)


def _variance_over_clusters(
    parts: Sequence[float], clusters: Sequence[Hashable], independent: float, n_labelled: int, n: int, reach: float
) -> float:
    """Return the variance of the sum of the cases' parts, whose clusters are independent.

    `independent` is the variance of independent cases. The n labels, in `n_labelled` clusters, are worth as many independent ones as the
    two variances say, at least one for each cluster; one more of those lies at either end, `reach` away.
    """
    totals = [total for total, _ in cluster_totals(parts, clusters)]
    between = len(totals) * (sample_sd(totals) or 0.0) ** 2
    effective = min(n, max(n_labelled, n * independent / between)) if between > 0 and independent > 0 else n_labelled
    return between + 2 * (reach / effective) ** 2


def cut_to_scale(interval: Interval, values: Iterable[float], *, least: float = 0.0) -> Interval:
    """Return the interval cut to [least, 1], where the mean of values lies that are all in there; uncut if one is not.

    An approximate interval of few values may be wider than the scale: no score is below 0 % or above 100 %.
    """
    if not all(least <= value <= 1 for value in values):
        return interval
    low, high = (None if end is None else min(1.0, max(least, end)) for end in (interval.low, interval.high))
    return replace(interval, estimate=min(1.0, max(least, interval.estimate)), low=low, high=high)


def _covariance(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the covariance of two or more pairs, with n - 1 in the denominator. Of values with themselves it is their variance."""
    n = len(left)
    middle = math.fsum(left) / n, math.fsum(right) / n
    return math.fsum((a - middle[0]) * (b - middle[1]) for a, b in zip(left, right, strict=True)) / (n - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """Over n questions: the chance that at least one of k samples is right (`any`), that all k are (`all`), their errors and intervals.

    Standard errors are over questions or clusters, None for one question. A sample is right if its score is 1.
    """

    k: int
    any: float
    any_se: float | None
    any_interval_95: tuple[float, float]
    all: float
    all_se: float | None
    all_interval_95: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """n questions with `n_samples` scores each (least, most); `interval` is that of the mean over questions.

    `question_variance` is the variance of the questions' true means, `sample_variance` that of the samples of one question, both None if
    no question has two samples; `question_share` in [0, 1] is the share of the mean's variance that comes from the questions. Half the
    width of the interval needs `questions_to_halve` more questions of as many samples (with `n_clusters`, in new clusters of the same
    sizes), or `samples_to_halve` more samples of each question, None if no number of samples suffices.
    """

    n_questions: int
    n_samples: tuple[int, int]
    interval: Interval
    passes: tuple[Passes, ...]
    question_variance: float | None
    sample_variance: float | None
    question_share: float | None
    questions_to_halve: int
    samples_to_halve: int | None
    n_clusters: int | None = None


def count_repeats(questions: Sequence[Sequence[float]], *, clusters: Sequence[Hashable] | None = None) -> Repeats:
    """Return the numbers of n questions with at least one score each. Each question counts once, however many samples it has.

    `clusters` names each question's cluster, for questions that are not independent.
    `pass@k` is the unbiased 1 - C(n - c, k) / C(n, k) and `pass^k` C(c, k) / C(n, k), for k up to the least number of samples. The split
    is that of a one-way analysis of variance, `question_variance` not below 0.
    """
    rows = [check_scores(row) for row in questions]
    if not rows:
        raise StatsError("no questions")
    means = [mean(row) for row in rows]
    least, most = min(map(len, rows)), max(map(len, rows))
    n = len(rows)
    spreads = [sd * sd for row in rows if (sd := sample_sd(row)) is not None]
    within = mean(spreads) if spreads else None
    samples = n / math.fsum(1 / len(row) for row in rows)
    interval = reported_interval(means, clusters=clusters)
    between = part = more = None
    spread = sample_sd(means)
    if within is not None and spread is not None:
        between = max(0.0, spread * spread - within / samples)
        # n times the variance of the mean, which questions of one cluster share and samples do not.
        whole = between + within / samples if not clusters else n * (interval.se or 0.0) ** 2
        of_questions = max(0.0, whole - within / samples)
        part = of_questions / whole if whole else None
        # Variance that the samples may add to that of the questions if a quarter of the whole is left.
        rest = whole / 4 - of_questions
        more = math.ceil(within / rest - samples - 1e-9) if rest > 0 and within else None
    return Repeats(
        n_questions=n,
        n_samples=(least, most),
        interval=interval,
        passes=tuple(_passes(rows, k, clusters) for k in range(1, least + 1)),
        question_variance=between,
        sample_variance=within,
        question_share=part,
        questions_to_halve=3 * n,
        samples_to_halve=more,
        n_clusters=len(set(clusters)) if clusters else None,
    )


def _passes(rows: Sequence[Sequence[float]], k: int, clusters: Sequence[Hashable] | None) -> Passes:
    counts = [(len(row), sum(score == 1 for score in row)) for row in rows]
    any_right = [pass_at_k(n, c, k) for n, c in counts]
    # All k are right if not one of k is wrong.
    all_right = [1 - pass_at_k(n, n - c, k) for n, c in counts]

    def spread(name: str, values: Sequence[float]) -> dict[str, Any]:
        interval, sd = reported_interval(values, clusters=clusters), sample_sd(values)
        error = interval.se if clusters else None if sd is None else sd / math.sqrt(len(values))
        return {name: mean(values), f"{name}_se": error, f"{name}_interval_95": (interval.low, interval.high)}

    return Passes(k=k, **spread("any", any_right), **spread("all", all_right))
