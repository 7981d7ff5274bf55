"""Agreement of raters beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha, and confusion matrices."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import count_words
from evalsuite.stats.samples import StatsError

Level = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A coefficient in [-1, 1], None if agreement by chance is certain (`note` explains it), and the raw agreement of n items in [0, 1]."""

    method: str
    value: float | None
    observed: float
    n: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Number of items with `labels[i]` by rater a and `labels[j]` by rater b: `counts[i][j]`."""

    labels: tuple[Any, ...]
    counts: tuple[tuple[int, ...], ...]


def confusion(a: Sequence[Hashable], b: Sequence[Hashable], *, labels: Sequence[Hashable] | None = None) -> Confusion:
    """Return the confusion matrix of two raters over n items; `labels` sets the order (default: sorted). Raises for a label outside it."""
    if len(a) != len(b):
        raise StatsError(f"{count_words(len(a), 'label')} against {len(b)}")
    if not a:
        raise StatsError("no labels")
    seen = set(a) | set(b)
    try:
        order = tuple(labels) if labels is not None else tuple(sorted(seen))  # type: ignore[type-var]
    except TypeError:
        order = tuple(sorted(seen, key=repr))
    if unknown := seen - set(order):
        raise StatsError(f"labels that were not listed: {sorted(map(repr, unknown))}")
    pairs = Counter(zip(a, b, strict=True))
    return Confusion(labels=order, counts=tuple(tuple(pairs[x, y] for y in order) for x in order))


def cohen_kappa(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    *,
    weights: Literal["linear", "quadratic"] | None = None,
    labels: Sequence[Hashable] | None = None,
) -> Agreement:
    """Return Cohen's kappa of two raters. With `weights`, a disagreement costs its distance in the order of `labels`, or the square of it.

    Undefined if both raters use only one label, the same.
    """
    table = confusion(a, b, labels=labels)
    size, n = len(table.labels), len(a)
    rows = [sum(row) for row in table.counts]
    columns = [sum(column) for column in zip(*table.counts, strict=True)]

    def cost(i: int, j: int) -> float:
        distance = abs(i - j)
        return float(distance > 0) if weights is None else float(distance if weights == "linear" else distance**2)

    cells = [(i, j) for i in range(size) for j in range(size)]
    seen = sum(cost(i, j) * table.counts[i][j] for i, j in cells)
    expected = sum(cost(i, j) * rows[i] * columns[j] for i, j in cells) / n
    method = f"Cohen's kappa ({weights})" if weights else "Cohen's kappa"
    observed = sum(table.counts[i][i] for i in range(size)) / n
    if expected == 0:
        return Agreement(method=method, value=None, observed=observed, n=n, note="only one label is used: chance agrees fully")
    return Agreement(method=method, value=1 - seen / expected, observed=observed, n=n)


def fleiss_kappa(items: Sequence[Sequence[Hashable]]) -> Agreement:
    """Return Fleiss' kappa of several raters.

    Args:
        items: n items x r labels, r at least 2.

    Returns:
        The coefficient, at most 1, None if all labels are equal; `observed` is the mean share of agreeing pairs of raters.

    Raises:
        StatsError: No items, fewer than two raters, or rows of different lengths.
    """
    raters = len(items[0]) if items else 0
    if raters < 2 or any(len(row) != raters for row in items):
        raise StatsError("Fleiss' kappa needs the same number of at least two labels for each item", hint="use krippendorff_alpha for gaps")
    n = len(items)
    counts = [Counter(row) for row in items]
    observed = sum(c * (c - 1) for row in counts for c in row.values()) / (n * raters * (raters - 1))
    totals = sum(counts, Counter())
    chance = sum((count / (n * raters)) ** 2 for count in totals.values())
    if len(totals) == 1:
        return Agreement(method="Fleiss' kappa", value=None, observed=observed, n=n, note="only one label is used: chance agrees fully")
    return Agreement(method="Fleiss' kappa", value=(observed - chance) / (1 - chance), observed=observed, n=n)


def krippendorff_alpha(raters: Sequence[Sequence[Any]], *, level: Level = "nominal") -> Agreement:
    """Return Krippendorff's alpha: one row per rater, one column per item, None for a missing value.

    `level` is the measure of distance: equality, ranks, differences, or ratios. Items with fewer than two values do not count. `observed`
    is the fraction of equal pairs. Undefined if all values are equal or no item has two.

    Raises:
        StatsError: rows of different lengths, NaN, or a negative value at the level `ratio`.
    """
    units = _units(raters, level)
    method = f"Krippendorff's alpha ({level})"
    if not units:
        return Agreement(method=method, value=None, observed=0.0, n=0, note="no item has two values")
    totals = Counter(value for unit in units for value in unit)
    distance = _distance(level, totals)
    n_values = sum(totals.values())
    seen = equal = 0.0
    for unit in units:
        label_counts = Counter(unit)
        for x, count_x in label_counts.items():
            for y, count_y in label_counts.items():
                pairs = count_x * (count_y - (x == y)) / (len(unit) - 1)
                seen += pairs * distance(x, y)
                equal += pairs * (x == y)
    expected = sum(totals[x] * totals[y] * distance(x, y) for x in totals for y in totals) / (n_values - 1)
    observed = equal / n_values
    if expected == 0:
        return Agreement(method=method, value=None, observed=observed, n=len(units), note="all values are equal: chance agrees fully")
    return Agreement(method=method, value=1 - seen / expected, observed=observed, n=len(units))


def _units(raters: Sequence[Sequence[Any]], level: Level) -> list[list[Any]]:
    """Return the values of each item with at least two."""
    if len({len(row) for row in raters}) > 1:
        raise StatsError("the raters do not have the same number of items")
    values = [value for row in raters for value in row if value is not None]
    if any(value != value for value in values):
        raise StatsError("a value is NaN", hint="None stands for a missing value")
    if level == "ratio" and any(value < 0 for value in values):
        raise StatsError("ratios need values of at least 0", hint='level="interval" compares differences')
    units = [[value for value in column if value is not None] for column in zip(*raters, strict=True)]
    return [unit for unit in units if len(unit) > 1]


def _distance(level: Level, totals: Counter[Any]) -> Callable[[Any, Any], float]:
    if level == "nominal":
        return lambda x, y: float(x != y)
    if level == "interval":
        return lambda x, y: float((x - y) ** 2)
    if level == "ratio":
        return lambda x, y: float(((x - y) / (x + y)) ** 2) if x != y else 0.0
    # Ordinal: the number of values between two, each end counted half.
    ranks: dict[Any, float] = {}
    before = 0.0
    for value in sorted(totals):
        ranks[value] = before + totals[value] / 2
        before += totals[value]
    return lambda x, y: (ranks[x] - ranks[y]) ** 2
