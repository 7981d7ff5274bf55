"""Many small assignments at once: the blocks of one large matrix, each with the largest sum; and plain sums of blocks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Columns = NDArray[np.intp]
    Assigned = tuple[Columns, Columns, Columns, Columns]


BLOCK_CELLS = 2_000_000


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
