"""Tests of two submissions under a corpus metric, over per-segment statistics: no text is scored again."""

from typing import TYPE_CHECKING

from evalsuite.stats.bootstrap import CELLS_AT_ONCE, CorpusScore, resampled_totals, segment_table
from evalsuite.stats.intervals import Interval
from evalsuite.stats.paired import PairedTest
from evalsuite.stats.samples import N_RESAMPLES, SEED, StatsError, share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


def approximate_randomisation(
    a: "ArrayLike", b: "ArrayLike", score: CorpusScore, *, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> PairedTest:
    """The two-sided test that swaps segments between a and b at random, as sacrebleu's `--paired-ar` does.

    `a` and `b` hold n segments x k statistics, `score` turns m rows of sums into m scores. p = (c + 1) / (R + 1), c counting swaps that
    set the scores at least as far apart; a tie counts (sacrebleu leaves ties out), so that identical submissions have p = 1.
    """
    import numpy as np

    left, right = _segments(a, b)
    n, observed = len(left), _difference(left, right, score)
    rng, far, block = np.random.default_rng(seed), 0, max(1, CELLS_AT_ONCE // len(left))
    for start in range(0, n_resamples, block):
        # bool, as sacrebleu draws it: the stream differs by type.
        swap = rng.integers(2, size=(min(block, n_resamples - start), n), dtype=bool).astype(np.float64)
        first = swap @ left + (1 - swap) @ right
        second = (1 - swap) @ left + swap @ right
        apart = np.abs(np.asarray(score(first)) - np.asarray(score(second)))
        far += int((apart >= abs(observed) - 1e-9).sum())
    return PairedTest(
        method="approximate randomisation",
        p=(far + 1) / (n_resamples + 1),
        n=n,
        difference=observed,
        statistic=observed,
        seed=seed,
        n_resamples=n_resamples,
    )


def segment_bootstrap_test(
    a: "ArrayLike", b: "ArrayLike", score: CorpusScore, *, confidence: float = 0.95, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> PairedTest:
    """The paired bootstrap test of Moses and sacrebleu's `--paired-bs`, with the percentile interval of the difference.

    Both submissions are resampled with the same segments. p compares the absolute differences, less their mean, with the observed one:
    (c + 1) / (R + 1). It calls more than `approximate_randomisation` and stands here to repeat published numbers.
    """
    import numpy as np

    left, right = _segments(a, b)
    observed = _difference(left, right, score)
    scores_a = np.asarray(score(resampled_totals(left, n_resamples=n_resamples, seed=seed)))
    scores_b = np.asarray(score(resampled_totals(right, n_resamples=n_resamples, seed=seed)))
    apart = np.abs(scores_a - scores_b)
    far = int((apart - apart.mean() > abs(observed) - 1e-9).sum()) if observed else n_resamples
    tail = (1 - share(confidence, "confidence")) / 2
    low, high = (float(value) for value in np.quantile(scores_a - scores_b, (tail, 1 - tail)))
    n, error = len(left), float((scores_a - scores_b).std())
    interval = Interval(
        estimate=observed,
        low=low,
        high=high,
        confidence=confidence,
        method="paired segment bootstrap",
        n=n,
        se=error,
        seed=seed,
        n_resamples=n_resamples,
    )
    return PairedTest(
        method="paired segment bootstrap",
        p=(far + 1) / (n_resamples + 1),
        n=n,
        difference=observed,
        statistic=observed,
        interval=interval,
        seed=seed,
        n_resamples=n_resamples,
    )


def _segments(a: "ArrayLike", b: "ArrayLike") -> "tuple[Array, Array]":
    left, right = segment_table(a), segment_table(b)
    if left.shape != right.shape:
        raise StatsError(f"{left.shape[0]} segments x {left.shape[1]} statistics against {right.shape[0]} x {right.shape[1]}")
    return left, right


def _difference(left: "Array", right: "Array", score: CorpusScore) -> float:
    import numpy as np

    return float(np.asarray(score(left.sum(axis=0, keepdims=True)))[0] - np.asarray(score(right.sum(axis=0, keepdims=True)))[0])
