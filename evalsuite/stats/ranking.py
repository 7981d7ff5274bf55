"""Uncertainty of a ranking: rank intervals, the chance of being first, and shared ranks."""

from collections.abc import Hashable, Sequence

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.import_ref import Floats, NDArray, np, special
from evalsuite.stats.intervals import cluster_totals, draw_counts
from evalsuite.stats.samples import N_RESAMPLES, SEED, StatsError, check_scores, competition_ranks, decimals, is_binary, mean, share
from evalsuite.stats.significance import Correction, adjust, clustered_p, mcnemar_counts

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The place of one submission, in input order. Ranks count from 1 and equal means share the smaller one.

    `shared_from..shared_to` are the places that the tests leave open: 1 + the number significantly better, and the number not
    significantly worse; "1-8" for a first place shared by eight. `low_rank..high_rank` are the same for this submission alone, tested
    against each of the m - 1 others: its true rank is in this range with the confidence of the board, whereas all shared places hold
    jointly.
    """

    mean: float
    rank: int
    low_rank: int
    high_rank: int
    p_first: float
    shared_from: int
    shared_to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """m submissions over n instances. `p_beats[i][j]` is the share of resamples in which i is above j; `p_values[i][j]` is adjusted.

    `tau` is the mean Kendall tau-b between resampled and published order, None if all means are equal.
    """

    submissions: tuple[Ranked, ...]
    p_beats: tuple[tuple[float, ...], ...]
    p_values: tuple[tuple[float, ...], ...]
    tau: float | None
    n: int
    confidence: float
    correction: Correction
    family: int
    test: str
    seed: int
    n_resamples: int


def rank_submissions(
    scores: Sequence[Sequence[float]],
    *,
    higher_is_better: bool = True,
    confidence: float = 0.95,
    correction: Correction = "holm",
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
    clusters: Sequence[Hashable] | None = None,
    means: Sequence[float] | None = None,
) -> Ranking:
    """Return the ranking of m submissions with n scores each, on the same instances in the same order.

    Ranks are resampled over instances, all submissions with the same ones, or over whole `clusters` (one name per score). Pairs are
    tested by exact McNemar if all scores are 0 or 1, by paired t otherwise (fast enough for 4,950 pairs, and never more certain than sign
    flips could be), with clusters by `clustered_p`, and adjusted over all m (m - 1) / 2 pairs; a shared place needs an adjusted p above 1 -
    confidence. `means` rank them if the published number is not the mean of the scores.
    """
    rows = [check_scores(row) for row in scores]
    if not rows or len({len(row) for row in rows}) > 1:
        raise StatsError("the submissions do not have the same number of scores" if rows else "no submissions")
    share(confidence, "confidence")
    table = np.asarray(rows) if higher_is_better else -np.asarray(rows)
    means = [mean(row) for row in rows] if means is None else list(means)
    ranks, beats, tau = _resample(table, clusters, n_resamples, seed)
    raw, test = _raw_p(rows, clusters)
    p_values = _as_matrix(adjust(raw, correction), len(rows))
    open_places = shared_ranks(means, p_values, alpha=1 - confidence, higher_is_better=higher_is_better)
    # Each submission's m - 1 tests against the others, adjusted as one family.
    others = [[p for j, p in enumerate(row) if j != i] for i, row in enumerate(_as_matrix(raw, len(rows)))]
    own_tests = [[*adjusted[:i], 1.0, *adjusted[i:]] for i, adjusted in enumerate(adjust(row, correction) for row in others)]
    own_places = shared_ranks(means, own_tests, alpha=1 - confidence, higher_is_better=higher_is_better)
    published = competition_ranks(means, higher_is_better=higher_is_better)
    return Ranking(
        submissions=tuple(
            Ranked(
                mean=means[i],
                rank=int(published[i]),
                low_rank=own_places[i][0],
                high_rank=own_places[i][1],
                p_first=float((ranks[:, i] == 1).mean()),
                shared_from=open_places[i][0],
                shared_to=open_places[i][1],
            )
            for i in range(len(rows))
        ),
        p_beats=tuple(tuple(map(float, row)) for row in beats),
        p_values=p_values,
        tau=tau,
        n=len(rows[0]),
        confidence=confidence,
        correction=correction,
        family=len(raw),
        test=test,
        seed=seed,
        n_resamples=n_resamples,
    )


def shared_ranks(
    means: Sequence[float], p_values: Sequence[Sequence[float]], *, alpha: float = 0.05, higher_is_better: bool = True
) -> list[tuple[int, int]]:
    """Return the first and last possible place of each of m submissions if pairs with an adjusted p above `alpha` count as equal."""
    m, sign = len(means), 1 if higher_is_better else -1
    places = []
    for i in range(m):
        distinguished = [j for j in range(m) if j != i and p_values[i][j] <= alpha]
        better = sum(sign * (means[j] - means[i]) > 0 for j in distinguished)
        worse = sum(sign * (means[j] - means[i]) < 0 for j in distinguished)
        places.append((1 + better, m - worse))
    return places


def _as_matrix(values: Sequence[float], m: int) -> Matrix:
    """The p-values of all pairs (i, j < i) as a matrix."""
    full, (i, j) = np.ones((m, m)), np.tril_indices(m, -1)
    full[i, j] = full[j, i] = values
    return tuple(map(tuple, full.tolist()))


def _raw_p(scores: Sequence[Sequence[float]], clusters: Sequence[Hashable] | None) -> tuple[list[float], str]:
    """The p-value of each pair (i, j < i), not adjusted, and the name of the test."""
    m = len(scores)
    pairs = [(i, j) for i in range(m) for j in range(i)]
    if clusters is not None:
        totals = [cluster_totals(row, clusters) for row in scores]
        sizes, digits = [size for _, size in totals[0]], decimals([abs(value) for row in scores for value in row])
        raw = [clustered_p([a - b for (a, _), (b, _) in zip(totals[i], totals[j], strict=True)], sizes, digits) for i, j in pairs]
        test = "sign flips of whole clusters"
    elif all(map(is_binary, scores)):
        raw, test = _mcnemar_of_all(scores), "exact McNemar"
    else:
        raw, test = _paired_t_of_all(scores), "paired t"
    return raw, test


def _mcnemar_of_all(scores: Sequence[Sequence[float]]) -> list[float]:
    """The p of `mcnemar` for each pair (i, j < i), which hangs on two counts alone: 44,850 pairs of 600 instances in half a second."""
    table = np.asarray(scores, dtype=np.float64)
    only: list[list[int]] = np.rint(table @ (1 - table).T).astype(int).tolist()
    counts = [(min(only[i][j], only[j][i]), max(only[i][j], only[j][i])) for i in range(len(only)) for j in range(i)]
    p_of_counts = {pair: mcnemar_counts(*pair)["exact_p"] for pair in set(counts)}
    return [p_of_counts[pair] for pair in counts]


def _paired_t_of_all(scores: Sequence[Sequence[float]]) -> list[float]:
    """The p of `paired_t` for each pair (i, j < i), a row of pairs at a time: 4,950 pairs in a tenth of a second.

    Never below what flipping the signs of the differences that are not 0 could reach: of two instances that differ alike t would be sure.
    """
    table = np.asarray(scores, dtype=np.float64)
    n, p_values = table.shape[1], []
    digits = decimals([float(np.abs(table).max())])
    for i in range(1, len(table)):
        deltas = np.round(table[i] - table[:i], digits)
        centre = deltas.mean(axis=1)
        varies = np.ptp(deltas, axis=1) > 0
        error = np.where(varies, deltas.std(axis=1, ddof=min(1, n - 1)) / np.sqrt(n), 1.0)
        least = np.minimum(1.0, 2.0 ** (1 - np.count_nonzero(deltas, axis=1)))
        p_values += np.maximum(least, np.where(varies, 2 * special.stdtr(max(1, n - 1), -np.abs(centre) / error), 0.0)).tolist()
    return p_values


def _resample(
    table: "Floats", clusters: Sequence[Hashable] | None, n_resamples: int, seed: int
) -> "tuple[NDArray[np.int64], Floats, float | None]":
    """Return ranks (R x m), the share of resamples in which i beats j (m x m), and the mean tau-b with the published order."""
    m = len(table)
    means = table.mean(axis=1)
    best_first = np.argsort(-means, kind="stable")
    published = np.sign(np.round(means[best_first, None] - means[None, best_first], 12))
    # What is drawn: instances, or clusters with the sums of their scores.
    names = {name: at for at, name in enumerate(dict.fromkeys(clusters or range(table.shape[1])))}
    n, at = len(names), [names[name] for name in clusters or range(table.shape[1])]
    sums, sizes = np.zeros((n, m)), np.bincount(at, minlength=n)
    np.add.at(sums, at, table.T)
    wins, ranks, taus = np.zeros((m, m)), [], []
    for counts in draw_counts(n, n_resamples, seed):
        # Rounded, so that equal submissions stay equal however the sums were formed.
        means = counts @ sums / (counts @ sizes)[:, None]
        drawn = np.round(means, 12).astype(np.float64, copy=False)
        for part in np.array_split(_ranks_in_rows(drawn), max(1, drawn.size // 500_000)):
            ranks.append(part)
            agree, n_apart = _count_pairs(part[:, best_first], published, wins)
            comparable = n_apart * np.abs(published).sum()
            taus.append(np.where(comparable > 0, agree / np.sqrt(np.maximum(comparable, 1)), np.nan))
    tau = np.concatenate(taus)
    defined = tau[~np.isnan(tau)]
    at_home = np.argsort(best_first)
    return np.concatenate(ranks), wins[np.ix_(at_home, at_home)] / n_resamples, float(defined.mean()) if len(defined) else None


def _ranks_in_rows(values: "Floats") -> "NDArray[np.int64]":
    """The place of each value in its row (R x m), from 1 for the largest; equal values share the smaller place."""
    order = np.argsort(-values, axis=1, kind="stable")
    falling = np.take_along_axis(values, order, axis=1)
    begins = np.zeros(values.shape, dtype=np.int64)
    begins[:, 1:] = np.where(falling[:, 1:] != falling[:, :-1], np.arange(1, values.shape[1]), 0)
    ranks = np.empty_like(begins)
    np.put_along_axis(ranks, order, 1 + np.maximum.accumulate(begins, axis=1), axis=1)
    return ranks


def _count_pairs(ranks: "NDArray[np.int64]", published: "Floats", wins: "Floats") -> "tuple[Floats, Floats]":
    """Return for R rows of m ranks: pairs ordered as `published` less those in reverse order, and pairs with different ranks, each both
    ways round.

    Adds to `wins` (m x m) the number of rows in which i is above j. `published` has the best first, so that submissions with an equal
    place are adjacent. One submission at a time against all after it: no array is R x m x m, and all sums are over bytes of 0 and 1.
    """
    columns = np.ascontiguousarray(ranks.T.astype(np.uint16))
    m, n_rows = columns.shape
    agree, disagree = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    for i in range(m - 1):
        tied = int(np.count_nonzero(published[i, i + 1 :] == 0))
        for sign, is_apart in ((1, columns[i] < columns[i + 1 :]), (-1, columns[i] > columns[i + 1 :])):
            as_bytes = is_apart.view(np.uint8)
            in_rows = np.add.reduce(as_bytes, axis=1, dtype=np.uint32)
            wins[(i, slice(i + 1, None)) if sign == 1 else (slice(i + 1, None), i)] += in_rows
            below = np.add.reduce(as_bytes[tied:], axis=0, dtype=np.uint16)
            agree += sign * below.astype(np.int64)
            disagree += below
            if tied:
                disagree += np.add.reduce(as_bytes[:tied], axis=0, dtype=np.uint16)
    return (2 * agree).astype(np.float64), (2 * disagree).astype(np.float64)
