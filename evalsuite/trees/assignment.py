"""The maximum-sum assignment of rows to columns, with ties decided by a rule instead of by the solver's order.

How the lexicographically smallest optimum is found: an optimal assignment gives dual prices; an assignment is optimal exactly when each
of its pairs has reduced cost 0 and everything it leaves out has price 0; its sum falls short of the best by its reduced costs. With
dummy rows or columns for what is left out, row after row takes the first column from which the rest can still be matched within what a
tie may cost, which one search for cheapest alternating paths tells."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Columns = NDArray[np.intp]
    Assigned = tuple[Columns, Columns, Columns, Columns]


EQUAL_SUMS = 1e-9
BLOCK_CELLS = 2_000_000
NOISE = 1e-13  # what rounding leaves of a reduced cost of 0


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
    if ties == "solver" or _is_far_best(matrix, rows, columns):
        return list(zip(rows.tolist(), columns.tolist(), strict=True))
    slack, owned = _slack(matrix, rows, columns)
    if int((slack <= EQUAL_SUMS).sum()) > len(slack):
        owned = _first_matching(slack, owned)
    n_rows, n_columns = matrix.shape
    return [(row, column) for row, column in enumerate(owned[:n_rows].tolist()) if column < n_columns]


def _is_far_best(matrix: "Floats", rows: "Columns", columns: "Columns") -> bool:
    """Whether every pair of as many rows as there are is its row's best by more than a tie, so that no other assignment comes near."""
    import numpy as np

    if len(rows) < len(matrix):
        return False
    apart = matrix[rows, columns][:, None] - matrix
    apart[rows, columns] = np.inf
    return bool(apart.min() > EQUAL_SUMS)


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
    noise = 1e-13 * max(1.0, float(loss.max()), -float(loss.min()))
    moved = np.arange(loss.shape[0])  # the rows whose own column has become cheaper: what the others offer is known already
    for _ in range(loss.shape[0] + 1):
        cheaper = np.minimum(prices, (loss[moved] + prices[columns[moved]][:, None]).min(axis=0))
        fallen = prices - cheaper > noise
        if not fallen.any():
            break
        prices, moved = np.where(fallen, cheaper, prices), np.flatnonzero(fallen[columns])
        if not len(moved):
            break
    return prices


def _first_matching(slack: "Floats", owned: "Columns") -> "Columns":
    """The lexicographically smallest perfect matching whose slack adds up to a tie at most, from one that has none."""
    import numpy as np

    columns_first = np.ascontiguousarray(slack.T)
    columns_first[columns_first < NOISE] = 0.0
    owned, budget = owned.copy(), EQUAL_SUMS
    owner = np.argsort(owned)
    for row in np.flatnonzero((slack <= EQUAL_SUMS).sum(axis=1) > 1).tolist():
        held = int(owned[row])
        wanted = np.flatnonzero(columns_first[:held, row] <= budget)
        wanted = wanted[owner[wanted] > row]
        if not len(wanted):
            continue
        first = int(wanted[0])
        if columns_first[first, row] == 0 and columns_first[held, owner[first]] == 0:
            path = [first]
        else:
            costs, following = _costs(columns_first, owned, row, budget)
            totals = columns_first[wanted, row] + costs[owner[wanted]]
            possible = np.flatnonzero(totals <= budget)
            if not len(possible):
                continue
            path, cost = _path(int(wanted[possible[0]]), following, held), float(totals[possible[0]])
            if cost > 0:
                budget -= cost
                _reprice(columns_first, costs, owner, held, cost)
        takers, columns = [row, *owner[path].tolist()], [*path, held]
        owned[takers], owner[columns] = columns, takers
    return owned


def _costs(columns_first: "Floats", owned: "Columns", row: int, budget: float) -> "tuple[Floats, Columns]":
    """What it costs each row after `row` to give up its column so that in the end the one held by `row` is used, up to `budget`.

    And for each column the one that its owner takes instead. Rows up to `row` are settled.
    """
    import numpy as np

    held = int(owned[row])
    costs, following = np.full(len(owned), np.inf), np.full(len(owned), -1)
    reached = np.full(len(owned), np.inf)
    reached[held] = 0.0
    frontier = np.array([held])
    while len(frontier):
        each = columns_first[frontier] + reached[frontier][:, None]
        best = each.min(axis=0)
        best[: row + 1] = np.inf
        better = np.flatnonzero((best < costs) & (best <= budget))
        if not len(better):
            break
        costs[better] = best[better]
        following[owned[better]] = frontier[each[:, better].argmin(axis=0)]
        frontier = owned[better]
        reached[frontier] = costs[better]
    return costs, following


def _path(column: int, following: "Columns", held: int) -> list[int]:
    """The columns that are handed on, from the row's new one to the last before the one it gives up."""
    path: list[int] = []
    while column != held:
        path.append(column)
        column = int(following[column])
    return path


def _reprice(columns_first: "Floats", costs: "Floats", owner: "Columns", held: int, cost: float) -> None:
    """Move the prices, in place, so that the new matching has no slack and the others keep theirs relative to it."""
    import numpy as np

    by_row = np.minimum(costs, cost)
    by_column = by_row[owner]
    by_column[held] = 0.0
    columns_first += by_column[:, None] - by_row[None, :]
    columns_first[columns_first < NOISE] = 0.0


def block_assignments(gains: "Floats", rows: "Columns", columns: "Columns") -> "Iterator[Assigned]":
    """The assignment with the largest sum for each of a x b blocks of a matrix; it may leave rows and columns out.

    Gives, for all blocks of one shape at once: (which a, which b, the rows of each of these a, the column of each row of each block or -1).

    Args:
        gains: numbers of at least 0.
        rows: a + 1 bounds; block k holds the rows from bound k up to bound k + 1.
        columns: b + 1 bounds of columns.
    """
    import numpy as np

    heights, widths = np.diff(rows), np.diff(columns)
    for height in np.unique(heights[heights > 0]):
        for width in np.unique(widths[widths > 0]):
            left = np.flatnonzero(widths == width)
            aside = columns[left][:, None] + np.arange(width)
            at_once = max(1, BLOCK_CELLS // (len(left) * int(height * width)))
            everywhere = np.flatnonzero(heights == height)
            for start in range(0, len(everywhere), at_once):
                above = everywhere[start : start + at_once]
                down = rows[above][:, None] + np.arange(height)
                chosen = _assigned(gains[down[:, None, :, None], aside[None, :, None, :]])
                yield above, left, down, np.where(chosen < 0, -1, columns[left][None, :, None] + chosen)


def _assigned(blocks: "Floats") -> "Columns":
    """For blocks a x b x n x m the column of each row or -1, a x b x n: small ones by the sets of rows used, all blocks a step."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    n, m = blocks.shape[2:]
    chosen: Columns = np.full(blocks.shape[:3], -1, dtype=np.intp)
    if n > m:
        owners = _assigned(blocks.swapaxes(2, 3))
        taken = np.full((*blocks.shape[:2], n + 1), -1, dtype=np.intp)  # the row behind the last is that of columns without one
        np.put_along_axis(taken, owners, np.broadcast_to(np.arange(m), owners.shape), axis=2)
        return taken[:, :, :n]
    n_blocks = blocks.shape[0] * blocks.shape[1]
    steps = m * n << (n - 1)
    if n <= 8 and steps * (3e-6 + 4e-9 * n_blocks) < n_blocks * (1e-5 + 2e-9 * n * n * m):
        best, picked = np.zeros((1 << n, *blocks.shape[:2])), np.full((m, 1 << n, *blocks.shape[:2]), -1, dtype=np.int8)
        for column in range(m):
            for used in range((1 << n) - 1, 0, -1):
                for row in (row for row in range(n) if used >> row & 1):
                    sums = best[used ^ 1 << row] + blocks[:, :, row, column]
                    better = sums > best[used]
                    best[used][better], picked[column, used][better] = sums[better], row
        used_rows, (first, second) = np.full(blocks.shape[:2], (1 << n) - 1), np.ogrid[: blocks.shape[0], : blocks.shape[1]]
        for column in range(m - 1, -1, -1):
            owner = picked[column][used_rows, first, second]
            i, j = np.nonzero(owner >= 0)
            chosen[i, j, owner[i, j]] = column
            used_rows[i, j] ^= 1 << owner[i, j].astype(np.intp)
        return chosen
    # Where the best columns of all rows differ nothing has to be assigned.
    chosen = np.where(blocks.max(axis=3) > 0, blocks.argmax(axis=3), -1 - np.arange(n))
    ordered = np.sort(chosen, axis=2)
    for i, j in np.argwhere((ordered[:, :, 1:] == ordered[:, :, :-1]).any(axis=2)):
        chosen[i, j] = linear_sum_assignment(blocks[i, j], maximize=True)[1]
    return np.maximum(chosen, -1)


def best_sums(gains: "Floats", rows: "Columns", columns: "Columns") -> "Floats":
    """The largest sum of an assignment in each of a x b blocks of a matrix (see `block_assignments`)."""
    import numpy as np

    sums = np.zeros((len(rows) - 1, len(columns) - 1))
    for above, left, down, chosen in block_assignments(gains, rows, columns):
        sums[np.ix_(above, left)] = np.where(chosen < 0, 0.0, gains[down[:, None, :], chosen]).sum(axis=2)
    return sums


def block_sums(matrix: "Floats", rows: "Columns", columns: "Columns") -> "Floats":
    """The sums of a x b blocks of a matrix, whose bounds are given as in `best_sums`; 0 for an empty one."""
    import numpy as np

    sums = np.zeros((len(rows) - 1, len(columns) - 1))
    full = [np.flatnonzero(np.diff(bounds)) for bounds in (rows, columns)]
    if len(full[0]) and len(full[1]):
        by_row = np.add.reduceat(matrix, rows[full[0]], axis=0)
        sums[np.ix_(*full)] = np.add.reduceat(by_row, columns[full[1]], axis=1)
    return sums
