"""Bootstrap intervals: of a mean, and of a corpus metric over its per-segment statistics. Every draw is seeded and vectorised."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from evalsuite.stats.intervals import Interval
from evalsuite.stats.samples import N_RESAMPLES, SEED, StatsError, checked, mean, share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


Method = Literal["percentile", "basic", "bca"]
CorpusScore = Callable[[Any], Any]
"""m rows of summed statistics (an array m x k) -> m scores."""
CELLS_AT_ONCE = 4_000_000


def draw_indices(n: int, n_resamples: int, seed: int) -> "Iterator[NDArray[np.int64]]":
    """`n_resamples` rows of n positions drawn with replacement, in blocks of about 32 MB.

    The stream is that of sacrebleu's `rng.choice(n, size=(n_resamples, n))`, whatever the size of a block.
    """
    import numpy as np

    if n_resamples < 1:
        raise StatsError(f"{n_resamples} resamples")
    rng = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // n)
    for start in range(0, n_resamples, block):
        yield rng.choice(n, size=(min(block, n_resamples - start), n), replace=True)


def resampled_means(scores: Sequence[float], *, n_resamples: int = N_RESAMPLES, seed: int = SEED) -> "Array":
    """The means of `n_resamples` samples of n scores drawn with replacement."""
    import numpy as np

    values = np.asarray(checked(scores))
    return np.concatenate([values[rows].mean(axis=1) for rows in draw_indices(len(values), n_resamples, seed)])


def resampled_totals(statistics: "ArrayLike", *, n_resamples: int = N_RESAMPLES, seed: int = SEED) -> "Array":
    """The column sums (n_resamples x k) of resampled segments, from n segments x k statistics. One product, no loop over resamples."""
    import numpy as np

    table = segment_table(statistics)
    n, totals = len(table), []
    for rows in draw_indices(n, n_resamples, seed):
        places = rows + n * np.arange(len(rows))[:, None]
        counts = np.bincount(places.ravel(), minlength=n * len(rows)).reshape(len(rows), n)
        totals.append(counts @ table)
    return np.concatenate(totals)


def segment_table(statistics: "ArrayLike") -> "Array":
    """The statistics as n x k floats; raises `StatsError` for none, and for rows of different lengths."""
    import numpy as np

    try:
        table = np.asarray(statistics, dtype=np.float64)
    except ValueError as error:
        raise StatsError("the segments do not all have the same number of statistics") from error
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not len(table):
        raise StatsError("no segments")
    return table


def bootstrap_interval(
    scores: Sequence[float],
    *,
    confidence: float = 0.95,
    method: Method = "bca",
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """The mean with its bootstrap interval; pass differences for a paired one.

    `se` is the bootstrap's own standard error in closed form, sqrt(sum of squared deviations) / n. Equal scores give an interval
    without width and a note.
    """
    import numpy as np

    values = checked(scores)
    n, centre = len(values), mean(values)
    table = np.asarray(values)
    drawn = resampled_means(values, n_resamples=n_resamples, seed=seed)
    without_one = (table.sum() - table) / (n - 1) if n > 1 else table
    low, high = _ends(drawn, centre, without_one, method, confidence)
    return Interval(
        estimate=centre,
        low=low,
        high=high,
        confidence=confidence,
        method=f"{method} bootstrap",
        n=n,
        se=math.sqrt(math.fsum((value - centre) ** 2 for value in values)) / n,
        seed=seed,
        n_resamples=n_resamples,
        note="all scores are equal: no resample differs" if min(values) == max(values) else "",
    )


def segment_bootstrap(
    statistics: "ArrayLike",
    score: CorpusScore,
    *,
    confidence: float = 0.95,
    method: Method = "percentile",
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """The interval of a corpus metric (BLEU, chrF, TER, micro F1): segments are resampled, the metric is made from their sums.

    `statistics` holds one row per segment, such as n-gram matches and lengths; `score` turns m rows of sums into m scores, so no text
    is scored again. See `rowwise` for a metric that takes one row. The estimate is the metric of all segments.
    """
    import numpy as np

    table = segment_table(statistics)
    total = table.sum(axis=0, keepdims=True)
    centre = float(np.asarray(score(total))[0])
    drawn = np.asarray(score(resampled_totals(table, n_resamples=n_resamples, seed=seed)), dtype=np.float64)
    without_one = np.asarray(score(total - table), dtype=np.float64) if method == "bca" and len(table) > 1 else drawn[:0]
    low, high = _ends(drawn, centre, without_one, method, confidence)
    return Interval(
        estimate=centre,
        low=low,
        high=high,
        confidence=confidence,
        method=f"segment {method} bootstrap",
        n=len(table),
        se=float(drawn.std()),
        seed=seed,
        n_resamples=n_resamples,
    )


def rowwise(score: Callable[["Array"], float]) -> CorpusScore:
    """A corpus score over m rows made from one that takes a single row of k sums."""

    def of_rows(rows: "Array") -> "Array":
        import numpy as np

        return np.asarray([score(row) for row in rows], dtype=np.float64)

    return of_rows


def _ends(drawn: "Array", centre: float, without_one: "Array", method: Method, confidence: float) -> tuple[float, float]:
    import numpy as np

    tail = (1 - share(confidence, "confidence")) / 2
    levels = (tail, 1 - tail) if method != "bca" else _bca_levels(drawn, centre, without_one, tail)
    low, high = (float(value) for value in np.quantile(drawn, levels))
    return (2 * centre - high, 2 * centre - low) if method == "basic" else (low, high)


def _bca_levels(drawn: "Array", centre: float, without_one: "Array", tail: float) -> tuple[float, float]:
    """Efron's corrected levels; a resample that ties with the estimate counts half below, ties judged to 1e-12."""
    import numpy as np
    from scipy.special import ndtr, ndtri

    rounded, middle = np.round(drawn, 12), round(centre, 12)
    below = ((rounded < middle).mean() + (rounded <= middle).mean()) / 2
    deviations = without_one.mean() - without_one if len(without_one) else without_one
    spread = float((deviations**2).sum())
    # Nothing to correct: no variation, or every resample lies on one side.
    if spread < 1e-24 or not 0 < below < 1:
        return tail, 1 - tail
    acceleration = float((deviations**3).sum()) / (6 * spread**1.5)
    bias = float(ndtri(below))
    shifted = [bias + float(ndtri(level)) for level in (tail, 1 - tail)]
    low, high = (float(ndtr(bias + z / (1 - acceleration * z))) for z in shifted)
    return low, high
