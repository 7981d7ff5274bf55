"""The maximum-sum assignment of rows to columns, with ties decided by a rule instead of by the solver's order.

How the lexicographically smallest optimum is found: an optimal assignment gives dual prices; an assignment is optimal exactly when each
of its pairs is tight (reduced cost 0) and everything it leaves out has price 0. With dummy rows or columns for what is left out, the
optimal assignments are the perfect matchings of one graph of tight pairs, and row after row takes the first column that still leaves a
perfect matching to the rest.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Columns = NDArray[np.intp]

EQUAL_SUMS = 1e-9


def best_assignment(weights: "Sequence[Sequence[float]] | Floats", *, ties: Literal["first", "solver"] = "first") -> list[tuple[int, int]]:
    """The min(n, m) pairs (row, column), sorted, whose weights have the largest sum; each row and each column stands in one pair at most.

    Among assignments whose sums are equal within 1e-9 of the best, `first` gives the lexicographically smallest list of pairs; `solver`
    whichever scipy finds, a little faster.

    Args:
        weights: n rows x m columns of finite numbers; no row, or rows without columns, give [].
        ties: which of several best assignments is meant.

    Raises:
        ValueError: a weight is not finite.
    """
    import numpy as np

    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.size == 0:
        return []
    if not np.isfinite(matrix).all():
        raise ValueError("a weight is not a finite number")
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(matrix, maximize=True)
    if ties == "solver":
        return list(zip(rows.tolist(), columns.tolist(), strict=True))
    slack, owned = _slack(matrix, rows, columns)
    tight = slack <= EQUAL_SUMS
    if int(tight.sum()) > len(slack):
        # Pairs that cost a little can add up to more than a tie.
        harmless = np.where(tight, slack, 0.0).max(axis=1).sum() <= EQUAL_SUMS
        owned = _first_matching(tight, owned) if harmless else _first_by_solving(matrix, tight)
    n_rows, n_columns = matrix.shape
    return [(row, column) for row, column in enumerate(owned[:n_rows].tolist()) if column < n_columns]


def _slack(matrix: "Floats", rows: "Columns", columns: "Columns") -> "tuple[Floats, Columns]":
    """(reduced costs >= 0, 0 on the assignment; the column of each row), both padded to a square by dummies that cost nothing."""
    import numpy as np

    n_rows, n_columns = matrix.shape
    if n_rows > n_columns:
        slack, owned = _slack(matrix.T, *_sorted_pairs(columns, rows))
        return slack.T, np.argsort(owned)
    loss = matrix[rows, columns][:, None] - matrix
    prices = _prices(loss, columns)
    free = np.setdiff1d(np.arange(n_columns), columns)
    real = loss + prices[columns][:, None] - prices[None, :]
    dummies = np.broadcast_to(-prices, (len(free), n_columns))
    return np.vstack([real, dummies]), np.concatenate([columns, free])


def _sorted_pairs(rows: "Columns", columns: "Columns") -> "tuple[Columns, Columns]":
    import numpy as np

    order = np.argsort(rows)
    return rows[order], columns[order]


def _prices(loss: "Floats", columns: "Columns") -> "Floats":
    """Dual prices <= 0 of the columns: shortest alternating paths, by Bellman and Ford, a whole matrix a step."""
    import numpy as np

    prices = np.zeros(loss.shape[1])
    noise = 1e-13 * max(1.0, float(np.abs(loss).max()))
    for _ in range(loss.shape[0] + 1):
        cheaper = np.minimum(prices, (loss + prices[columns][:, None]).min(axis=0))
        if float((prices - cheaper).max()) <= noise:
            break
        prices = cheaper
    return prices


def _first_matching(tight: "Flags", owned: "Columns") -> "Columns":
    """The lexicographically smallest perfect matching of a graph, from any perfect matching of it."""
    import numpy as np

    owned = owned.copy()
    owner = np.argsort(owned)
    for row in np.flatnonzero(tight.sum(axis=1) > 1).tolist():
        held = int(owned[row])
        wanted = np.flatnonzero(tight[row, :held])
        wanted = wanted[owner[wanted] > row]
        if not len(wanted):
            continue
        if tight[owner[wanted[0]], held]:
            path = [int(wanted[0])]
        else:
            path = _exchange(tight, owned, row, wanted)
        _shift(row, path, owned, owner)
    return owned


def _exchange(tight: "Flags", owned: "Columns", row: int, wanted: "Columns") -> list[int]:
    """Columns to hand on, the row's new one first: each one's owner takes the next, the last one's owner the column that `row` gives up.

    Empty where the row must keep its column. Rows before `row` are settled.
    """
    import numpy as np

    held = int(owned[row])
    following = np.full(len(tight), -1)
    unseen = np.ones(len(tight), dtype=bool)
    unseen[: row + 1] = False
    frontier = np.array([held])
    while len(frontier):
        reaching = np.flatnonzero(unseen)[tight[np.ix_(unseen, frontier)].any(axis=1)]
        if not len(reaching):
            break
        following[owned[reaching]] = frontier[tight[np.ix_(reaching, frontier)].argmax(axis=1)]
        unseen[reaching] = False
        frontier = owned[reaching]
    possible = wanted[following[wanted] >= 0]
    path: list[int] = []
    column = int(possible[0]) if len(possible) else held
    while column != held:
        path.append(column)
        column = int(following[column])
    return path


def _shift(row: int, path: list[int], owned: "Columns", owner: "Columns") -> None:
    """Hand the columns on, in place; an empty path changes nothing."""
    if path:
        takers, columns = [row, *owner[path].tolist()], [*path, int(owned[row])]
        owned[takers], owner[columns] = columns, takers


def _first_by_solving(matrix: "Floats", tight: "Flags") -> "Columns":
    """The same answer by solving the rest for each choice: slow, and only for weights that differ by less than a tie but not by 0."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    size = len(tight)
    square = np.zeros((size, size))
    square[: matrix.shape[0], : matrix.shape[1]] = matrix
    best = _best_sum(square)
    taken, columns = 0.0, np.arange(size)
    owned = []
    for row in range(size):
        for place, column in enumerate(columns):
            rest = np.delete(columns, place)
            total = taken + square[row, column] + (_best_sum(square[row + 1 :, rest]) if tight[row, column] else -np.inf)
            if total >= best - EQUAL_SUMS:
                owned.append(int(column))
                taken, columns = taken + square[row, column], rest
                break
        else:  # rounding kept every choice just below the best: take the solver's own
            _, chosen = linear_sum_assignment(square[row:, columns], maximize=True)
            return np.array(owned + columns[chosen].tolist())
    return np.array(owned)


def _best_sum(matrix: "Floats") -> float:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(matrix, maximize=True)
    return float(matrix[rows, columns].sum())
