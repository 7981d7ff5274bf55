"""Basic statistics: checked scores, pairs and differences, means over instances with bounds for unscored ones, ranks and histograms."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import EvalsuiteError, count_words
from evalsuite.core.import_ref import np, special
from evalsuite.core.status import is_ungraded
from evalsuite.core.types import Result

SEED = 12345
"""Default seed of all random draws; sacrebleu's default, so that its numbers can be reproduced."""
N_RESAMPLES = 10_000
MOST_RESAMPLES = 10_000_000

Alternative = Literal["two-sided", "greater", "less"]


class StatsError(EvalsuiteError, ValueError):
    """Numbers or options from which no statistic can be computed."""


def check_scores(scores: Sequence[float], *, at_least: int = 1) -> list[float]:
    """Return the n scores as floats. Raises `StatsError` for fewer than `at_least` (0 or 1), and for None, NaN, infinity or text."""
    typed: Sequence[object] = scores
    kinds = set(map(type, typed))
    if isinstance(typed, str | bytes) or any(issubclass(kind, str | bytes) for kind in kinds):
        raise StatsError("scores must be numbers, not text", hint="convert them first: float(text)")
    if len(scores) < at_least:
        raise StatsError("no scores")
    values = [math.nan if score is None else float(score) for score in scores] if type(None) in kinds else list(map(float, scores))
    if not all(map(math.isfinite, values)):
        at = next(i for i, value in enumerate(values) if not math.isfinite(value))
        raise StatsError(f"score {at} of {len(values)} is {scores[at]}", hint="leave unscored instances out, or count them as 0, first")
    return values


def checked_pairs(a: Sequence[float], b: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return both sides as n floats, in the same order of instances. Raises `StatsError` if the lengths differ."""
    if len(a) != len(b):
        raise StatsError(f"{count_words(len(a), 'score')} against {len(b)}", hint="a paired statistic needs both scores of every instance")
    return check_scores(a), check_scores(b)


def differences(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Return the n differences a - b, rounded to a billionth of the largest score.

    Without rounding, 0.3 - 0.1 and 0.4 - 0.2 would be two values, and ties and zeros would be missed.
    """
    left, right = checked_pairs(a, b)
    digits = decimals(left + right)
    return [round(x - y, digits) + 0.0 for x, y in zip(left, right, strict=True)]


def decimals(values: Sequence[float]) -> int:
    """Return the number of significant decimals of these values: nine for values up to 1, fewer for larger ones."""
    largest = max(map(abs, values), default=0.0)
    return 9 - math.ceil(math.log10(largest)) if largest > 0 else 9


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean of at least one value, summed without rounding error."""
    return math.fsum(values) / len(values)


def sample_sd(values: Sequence[float]) -> float | None:
    """Return the standard deviation with n - 1 in the denominator, None for one value."""
    if len(values) < 2:
        return None
    if min(values) == max(values):
        return 0.0
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def is_binary(values: Sequence[float]) -> bool:
    """Return whether all values are 0 or 1."""
    return all(value in (0, 1) for value in values)


def share(value: Any, name: str) -> float:
    """Return the value. Raises `StatsError` unless it is strictly between 0 and 1, and half of the rest to 1 is a float as well."""
    typed: object = value
    if not isinstance(typed, Real) or not 0 < value < 1 or 0.5 + value / 2 == 1:
        raise StatsError(f"{name} must be between 0 and 1, not {value}")
    return float(value)


def generator(n_resamples: int, seed: int) -> "np.random.Generator":
    """Return the generator of a test that draws. Raises `StatsError` for no number of draws, or no seed that repeats them."""
    if not isinstance(n_resamples, int | np.integer) or not 1 <= n_resamples <= MOST_RESAMPLES:
        raise StatsError(f"n_resamples must be an integer from 1 to {MOST_RESAMPLES}, not {n_resamples!r:.40}")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise StatsError(f"seed must be an integer of at least 0, not {seed!r:.40}")
    made: np.random.Generator = np.random.default_rng(seed)
    return made


def z_value(confidence: float) -> float:
    """Return the two-sided quantile of the normal distribution: 1.96 for a confidence of 0.95."""
    if confidence == 0.95:
        # Every run reports it; importing the module would take a hundredth of the time of a small one.
        return 1.9599639845400536
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + share(confidence, "confidence") / 2)


def t_value(confidence: float, df: float) -> float:
    """Return the two-sided quantile of Student's t with `df` degrees of freedom: 2.26 for 0.95 and 9."""
    return float(special.stdtrit(df, 0.5 + share(confidence, "confidence") / 2))


def normal_tail(z: float) -> float:
    """Return the probability that a standard normal is above z, exact far out in the tail."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def p_of(less: float, greater: float, alternative: Alternative) -> float:
    """Return the p-value from both one-sided ones; two-sided is twice the smaller, at most 1."""
    return min(1.0, {"two-sided": 2 * min(less, greater), "less": less, "greater": greater}[alternative])


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """Summary of n scores. `sd` has n - 1 in the denominator and `se` is sd / sqrt(n), both None for one score; missing ones are only
    counted.
    """

    n: int
    n_missing: int
    mean: float
    median: float
    sd: float | None
    sd_population: float
    se: float | None
    min: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One bar: the number of scores with low <= score < high (the last bar includes `high`)."""

    count: int
    low: float
    high: float


def aggregate(scores: Sequence[float | None]) -> Aggregate:
    """Return the summary of the scores that are not None. Raises `StatsError` if there are none."""
    from statistics import median

    numbers = check_scores([score for score in scores if score is not None])
    n, sd = len(numbers), sample_sd(numbers)
    return Aggregate(
        n=n,
        n_missing=len(scores) - n,
        mean=mean(numbers),
        median=median(numbers),
        sd=sd,
        sd_population=0.0 if sd is None else sd * ((n - 1) / n) ** 0.5,
        se=None if sd is None else sd / n**0.5,
        min=min(numbers),
        max=max(numbers),
    )


def histogram(scores: Sequence[float], *, n_bins: int = 20) -> list[Bin]:
    """Return `n_bins` equal bars from 0 to the largest score, at least to 1; scores below 0 are in none, as in Arthur Bench."""
    values = check_scores(scores, at_least=0)
    if n_bins < 1:
        raise StatsError(f"{n_bins} bins")
    top = max([1.0, *values])
    counts, edges = np.histogram(values, bins=n_bins, range=(0.0, top))
    return [Bin(count=int(c), low=float(a), high=float(b)) for c, a, b in zip(counts, edges[:-1], edges[1:], strict=True)]


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate 1 - C(n - c, k) / C(n, k) in [0, 1], from n samples of which c are right.

    Source: Chen et al. (2021), arXiv 2107.03374. 1 if fewer than k samples are wrong. Raises `StatsError` unless 1 <= k <= n and 0 <= c
    <= n, because no estimate is unbiased for k above n.
    """
    if not 1 <= k <= n or not 0 <= c <= n:
        raise StatsError(f"pass@{k} from {c} right of {n} samples", hint="k may not exceed the number of samples")
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def competition_ranks(
    scores: Sequence[float], *, higher_is_better: bool = True, method: Literal["min", "dense", "average"] = "min"
) -> list[float]:
    """The rank of each score, 1 for the best. Equal scores share one: 9 8 8 7 ranks 1 2 2 4 ("min"), 1 2 2 3 ("dense"), 1 2.5 2.5 4."""
    values = [-value if higher_is_better else value for value in check_scores(scores, at_least=0)]
    ordered = sorted(set(values)) if method == "dense" else sorted(values)
    first = {value: bisect_left(ordered, value) + 1 for value in set(values)}
    if method != "average":
        return [first[value] for value in values]
    count = dict.fromkeys(first, 0)
    for value in values:
        count[value] += 1
    return [first[value] + (count[value] - 1) / 2 for value in values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean over n instances with its bounds: `low` counts the unscored as 0, `high` as 1.

    Instances that gold prevented from being scored count as in `low`; the `n_ungraded` unscored because of the grader's side are in no
    mean.
    """

    n: int
    low: float
    high: float
    n_unjudged: int
    n_ungraded: int = 0

    @property
    def n_judged(self) -> int:
        """The number of scored instances."""
        return self.n - self.n_ungraded

    @property
    def points(self) -> float:
        """The sum of the scores: the numerator of `low`."""
        return self.low * self.n

    @property
    def value(self) -> float | None:
        """The score, None if no instance was scored."""
        if self.n_unjudged == self.n:
            return None
        return self.points / self.n_judged if self.n_ungraded else self.low


def mean_under(results: Sequence[Result], which: Literal["score", "official", "strict"]) -> Mean:
    """Return the mean of the results' scores, under the rules of the run or under one of both."""
    n = len(results)
    values = [getattr(result, which) for result in results]
    unjudged = sum(value is None for value in values)
    low = math.fsum(value for value in values if value is not None) / n if n else 0.0
    ungraded = sum(value is None and is_ungraded(result) for value, result in zip(values, results, strict=True))
    return Mean(n=n, low=low, high=low + (unjudged / n if n else 0.0), n_unjudged=unjudged, n_ungraded=ungraded)
