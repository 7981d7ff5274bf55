"""Bipartite matching: of as many as possible, of a largest flow, and of the largest sum of weights that the caller gives.

`bipartite_matching` and the flows work on plain lists, `best_assignment` and the block functions on matrices of weights. Of assignments
with equal sums the lexicographically smallest is returned, whatever the solver found: an optimal assignment gives dual prices; an
assignment is optimal exactly when each of its pairs has reduced cost 0 and everything that it leaves out has price 0; its sum is below
the best by its reduced costs. With dummy rows or columns for what is left out, each row in turn takes the first column from which the
rest can still be matched within the tolerance of a tie, found by one search for cheapest alternating paths.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from evalsuite.core.import_ref import Floats, NDArray, np, optimize

if TYPE_CHECKING:
    Flags = NDArray[np.bool_]
    Columns = NDArray[np.intp]
    Assigned = tuple[Columns, Columns, Columns, Columns]


State = TypeVar("State")
EQUAL_SUMS = 1e-9
NOISE = 1e-13  # what rounding leaves of a reduced cost of 0
GUESS_FROM = 128  # rows and columns from which a guess and its proof, and a search for ties, take less than the solver and all rows
PART_CELLS = 1_000_000  # connected parts of sparse weights up to this size are assigned exactly
PROOF_PASSES = 24  # passes over a whole matrix that take about as long as the solver


def bipartite_matching(candidates: Sequence[Sequence[int]]) -> list[int | None]:
    """The right node of each left node, or None: a maximum matching over `candidates[left]`, tried in the given order.

    Kuhn's augmenting paths, without recursion. A left node whose first candidates are free gets the earliest of them.
    """
    owner: dict[int, int] = {}
    chosen: list[int | None] = [None] * len(candidates)
    dead: set[int] = set()
    for left in range(len(candidates)):
        _augment(left, candidates, owner, chosen, dead)
    return chosen


def _augment(root: int, candidates: Sequence[Sequence[int]], owner: dict[int, int], chosen: list[int | None], dead: set[int]) -> None:
    """Match `root` to a right node if an augmenting path exists. Nodes that a failed search reached are `dead`: they never lead to a path
    later.
    """
    came_from: dict[int, int] = {}
    queue = deque([root])
    while queue:
        left = queue.popleft()
        for right in candidates[left]:
            if right in came_from or right in dead:
                continue
            came_from[right] = left
            if right not in owner:
                _flip(right, root, came_from, owner, chosen)
                return
            queue.append(owner[right])
    dead.update(came_from)


def _flip(right: int, root: int, came_from: dict[int, int], owner: dict[int, int], chosen: list[int | None]) -> None:
    while True:
        left = came_from[right]
        previous = chosen[left]
        owner[right], chosen[left] = left, right
        if left == root or previous is None:
            return
        right = previous


def assignments(
    options: Sequence[Sequence[int]],
    start: State,
    split: Callable[[State, int, int], State | None],
    twin: Callable[[int], Hashable],
    n_right: int,
) -> Iterator[tuple[tuple[int, ...], State]]:
    """Every assignment of a right node of its own, from `options[left]`, to each left node, with the state it leads to; depth first.

    Left nodes with the fewest options come first. `split(state, left, right)` returns the state after one more pair, None to drop the
    choice. Of right nodes with the same `twin` only the first is tried in one place. Options that are equal modulo `n_right` are one node.
    """
    order = sorted(range(len(options)), key=lambda left: len(options[left]))

    def steps(chosen: tuple[int, ...], state: State) -> Iterator[tuple[tuple[int, ...], State]]:
        left, twin_names, used = order[len(chosen)], set[Hashable](), {right % n_right for right in chosen}
        for right in options[left]:
            if right % n_right not in used and (name := twin(right)) not in twin_names:
                twin_names.add(name)
                if (following := split(state, left, right)) is not None:
                    yield (*chosen, right), following

    levels = [steps((), start)]
    while levels:
        step = next(levels[-1], None)
        if step is None:
            levels.pop()
        elif len(step[0]) < len(order):
            levels.append(steps(*step))
        else:
            partner = dict(zip(order, step[0], strict=True))
            yield tuple(partner[left] for left in range(len(order))), step[1]


def saturating_flow(supply: Sequence[int], demand: Sequence[int], edges: Sequence[Sequence[int]], count: Callable[[int], None]) -> bool:
    """Whether all supply fits into the demand along `edges[left] -> right`; both totals are counts of equal rows.

    `count` is called with the number of edges that each search visited, and may raise.
    """
    return all(left_over == 0 for left_over in _flow(supply, list(demand), edges, count))


def largest_flow(supply: Sequence[int], demand: Sequence[int], edges: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """The supply and the demand that remain after a maximum flow; earlier left nodes are served first."""
    room = list(demand)
    return list(_flow(supply, room, edges, _ignore_count)), room


def _ignore_count(n: int) -> None:
    """Ignore the number of visited edges."""


def _flow(supply: Sequence[int], room: list[int], edges: Sequence[Sequence[int]], count: Callable[[int], None]) -> Iterator[int]:
    """Yield the remainder of each supply; `room` is used up. Each path is searched breadth first (Edmonds-Karp)."""
    flow: list[dict[int, int]] = [dict.fromkeys(row, 0) for row in edges]
    back: list[set[int]] = [set() for _ in room]
    left_over = list(supply)
    for source in range(len(supply)):
        while left_over[source] > 0 and _push(source, flow, back, left_over, room, count):
            pass
        yield left_over[source]


def _push(
    source: int, flow: list[dict[int, int]], back: list[set[int]], left_over: list[int], room: list[int], count: Callable[[int], None]
) -> int:
    right_from: dict[int, int] = {}
    left_from: dict[int, int] = {}
    queue = deque([source])
    seen = {source}
    while queue:
        left = queue.popleft()
        for right in flow[left]:
            if right in right_from:
                continue
            right_from[right] = left
            if room[right] > 0:
                return _move(source, right, flow, back, left_over, room, right_from, left_from)
            for other in back[right]:
                if other not in seen and flow[other][right] > 0:
                    seen.add(other)
                    left_from[other] = right
                    queue.append(other)
        count(len(flow[left]))
    return 0


def _move(
    source: int,
    sink: int,
    flow: list[dict[int, int]],
    back: list[set[int]],
    left_over: list[int],
    room: list[int],
    right_from: dict[int, int],
    left_from: dict[int, int],
) -> int:
    path: list[tuple[int, int, int | None]] = []
    right, amount = sink, min(left_over[source], room[sink])
    while True:
        left = right_from[right]
        undone = left_from.get(left) if left != source else None
        path.append((left, right, undone))
        if undone is None:
            break
        amount = min(amount, flow[left][undone])
        right = undone
    for left, to, undone in path:
        flow[left][to] += amount
        back[to].add(left)
        if undone is not None:
            flow[left][undone] -= amount
    left_over[source] -= amount
    room[sink] -= amount
    return amount


def _solve(matrix: "Floats") -> "tuple[Columns, Columns]":
    """Return (rows, columns) of an assignment with the largest sum: scipy's `linear_sum_assignment`."""
    rows, columns = optimize.linear_sum_assignment(matrix, maximize=True)
    return rows, columns


def best_assignment(weights: "Sequence[Sequence[float]] | Floats", *, ties: Literal["first", "solver"] = "first") -> list[tuple[int, int]]:
    """Return the min(n, m) pairs (row, column), sorted, with the largest sum of weights; each row and each column is in one pair at most.

    Among assignments with sums that are equal within 1e-9 of the best, `first` gives the lexicographically smallest list of pairs;
    `solver` the one that scipy finds, a little faster. No row, or rows without columns, give [].

    Raises ValueError if a weight is not finite.
    """
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.size == 0:
        return []
    if not np.isfinite(matrix).all():
        raise ValueError("a weight is not a finite number")
    guess = _largest_first(matrix) if ties == "first" else None
    rows, columns = guess or _solve(matrix)
    if ties == "solver":
        return list(zip(rows.tolist(), columns.tolist(), strict=True))
    proved = _slack(matrix, rows, columns, PROOF_PASSES if guess else None)
    if proved is None:
        proved = _slack(matrix, *_solve(matrix))
        assert proved is not None
    slack, owned = proved
    owned = _first_matching(slack, owned)
    n_rows, n_columns = matrix.shape
    return [(row, column) for row, column in enumerate(owned[:n_rows].tolist()) if column < n_columns]


def best_sparse_assignment(edges: Sequence[Mapping[int, float]]) -> list[tuple[int, int]]:
    """Return pairs (left, right), sorted, with the largest sum of weights, of which `edges[left][right]` are given and above 0.

    Each connected part is assigned by itself: exactly up to 1,000,000 cells, else the largest weights first.
    """
    owner: dict[int, int] = {}
    parent = list(range(len(edges)))

    def root(left: int) -> int:
        while parent[left] != left:
            parent[left] = parent[parent[left]]
            left = parent[left]
        return left

    for left, row in enumerate(edges):
        for right in row:
            parent[root(left)] = root(owner.setdefault(right, left))
    parts: dict[int, list[int]] = {}
    for left, row in enumerate(edges):
        if row:
            parts.setdefault(root(left), []).append(left)
    return sorted(pair for part in parts.values() for pair in _assign_part(edges, part))


def _assign_part(edges: Sequence[Mapping[int, float]], lefts: Sequence[int]) -> Iterator[tuple[int, int]]:
    if len(lefts) == 1:
        (left,) = lefts
        yield left, max(edges[left], key=lambda right: (edges[left][right], -right))
        return
    rights = sorted({right for left in lefts for right in edges[left]})
    if len(lefts) * len(rights) <= PART_CELLS:
        pairs = best_assignment([[edges[left].get(right, 0.0) for right in rights] for left in lefts])
        yield from ((lefts[a], rights[b]) for a, b in pairs if rights[b] in edges[lefts[a]])
        return
    free = set(lefts), set(rights)
    for _, row, other in sorted((-weight, left, right) for left in lefts for right, weight in edges[left].items()):
        if row in free[0] and other in free[1]:
            free[0].remove(row)
            free[1].remove(other)
            yield row, other


def _largest_first(matrix: "Floats") -> "tuple[Columns, Columns] | None":
    """Return (rows, columns) of an assignment that takes the largest weights first, then the best of the rest.

    Texts that are in both lists are paired at once this way. It is nearly always a best one, which its prices then prove. None if too
    few or too many weights are the largest for that to be likely, or the matrix is small.
    """
    n = min(matrix.shape)
    if n < GUESS_FROM:
        return None
    at_rows, at_columns = np.nonzero(matrix == matrix.max())
    if not n < 4 * len(at_rows) < 16 * n:
        return None
    pairs: dict[int, int] = {}
    used_columns: set[int] = set()
    for row, column in zip(at_rows.tolist(), at_columns.tolist(), strict=True):
        if row not in pairs and column not in used_columns:
            pairs[row] = column
            used_columns.add(column)
    left = [_free_positions(size, list(used)) for size, used in zip(matrix.shape, (pairs, used_columns), strict=True)]
    rest = _solve(matrix[np.ix_(*left)])
    rows, columns = np.array([*pairs, *left[0][rest[0]]], dtype=np.intp), np.array([*pairs.values(), *left[1][rest[1]]], dtype=np.intp)
    return _sorted_pairs(rows, columns)


def _free_positions(n: int, positions: "list[int] | Columns") -> "Columns":
    """Return the positions below n that are not taken."""
    free = np.ones(n, dtype=bool)
    free[positions] = False
    return np.flatnonzero(free)


def _slack(matrix: "Floats", rows: "Columns", columns: "Columns", most_passes: int | None = None) -> "tuple[Floats, Columns] | None":
    """Return (reduced costs >= 0, 0 on the assignment; the column of each row), both padded to a square by dummies that cost nothing.

    None if the assignment is not shown to be best within that many passes over the whole matrix.
    """
    n_rows, n_columns = matrix.shape
    if n_rows > n_columns:
        turned = _slack(matrix.T, *_sorted_pairs(columns, rows), most_passes)
        return None if turned is None else (turned[0].T, np.argsort(turned[1]))
    owned, free = matrix[rows, columns], _free_positions(n_columns, columns)
    loss, start = owned[:, None] - matrix, np.zeros(n_columns)
    far_best = np.count_nonzero(loss <= EQUAL_SUMS) == n_rows  # every pair is its row's best by more than a tie: no other comes near
    if not (far_best or len(free)):  # then prices may start anywhere: half of what a pair is worth is nearer to where they end
        start[columns] = -owned / 2
        rest = np.flatnonzero(owned < owned.max())
        if most_passes and len(rest):  # what the largest leave is settled among itself first
            rest_prices = _prices(loss[np.ix_(rest, columns[rest])], np.arange(len(rest)), start[columns[rest]], most_passes)
            if rest_prices is None:
                return None
            start[columns[rest]] = rest_prices
    prices = start if far_best else _prices(loss, columns, start, most_passes)
    if prices is None or (most_passes and len(free) and prices[free].min() < 0):
        return None
    loss += prices[columns][:, None]
    loss -= prices[None, :]
    if not len(free):
        return loss, columns
    dummies = np.broadcast_to(-prices, (len(free), n_columns))
    return np.vstack([loss, dummies]), np.concatenate([columns, free])


def _sorted_pairs(rows: "Columns", columns: "Columns") -> "tuple[Columns, Columns]":
    order = np.argsort(rows)
    return rows[order], columns[order]


def _prices(loss: "Floats", columns: "Columns", prices: "Floats", most_passes: int | None) -> "Floats | None":
    """Return dual prices of the columns, at most `prices`: shortest alternating paths by Bellman and Ford, a whole matrix per step.

    None if `most_passes` passes over the matrix do not suffice.
    """
    n_rows = len(loss)
    noise = 1e-13 * max(1.0, float(loss.max()), -float(loss.min()))
    moved_rows, looks = np.arange(n_rows), 0  # rows with a cheaper own column; the offers of the others are known
    while looks <= (most_passes or n_rows + 1) * n_rows:
        looks += len(moved_rows)
        offers = loss if len(moved_rows) == n_rows else loss[moved_rows]
        cheaper = np.minimum(prices, (offers + prices[columns[moved_rows]][:, None]).min(axis=0))
        fallen = prices - cheaper > noise
        if not fallen.any():
            return prices
        prices, moved_rows = np.where(fallen, cheaper, prices), np.flatnonzero(fallen[columns])
        if not len(moved_rows):
            return prices
    return None if most_passes else prices


def _first_matching(slack: "Floats", owned: "Columns") -> "Columns":
    """Return the lexicographically smallest perfect matching with a total slack of at most a tie, from one without slack."""
    tight = slack <= EQUAL_SUMS
    first_tight = tight.argmax(axis=1)
    if (first_tight == owned).all():
        return owned
    owned = owned.copy()
    if len(owned) >= GUESS_FROM and len(movable := _on_cycles(tight, owned)) < len(owned):
        rest = np.sort(owned[movable])
        if len(rest):
            owned[movable] = rest[_first_matching(slack[np.ix_(movable, rest)], np.searchsorted(rest, owned[movable]))]
        return owned
    columns_first = np.ascontiguousarray(slack.T)
    columns_first[columns_first < NOISE] = 0.0
    budget = EQUAL_SUMS
    owner = np.argsort(owned)
    for row in range(len(owned)):
        if first_tight[row] >= (own_column := int(owned[row])):
            continue
        candidates = np.flatnonzero(columns_first[:own_column, row] <= budget)
        candidates = candidates[owner[candidates] > row]
        if not len(candidates):
            continue
        first = int(candidates[0])
        if columns_first[first, row] == 0 and columns_first[own_column, owner[first]] == 0:
            path = [first]
        else:
            costs, following = _costs(columns_first, owned, row, budget)
            totals = columns_first[candidates, row] + costs[owner[candidates]]
            possible = np.flatnonzero(totals <= budget)
            if not len(possible):
                continue
            path, cost = _path(int(candidates[possible[0]]), following, own_column), float(totals[possible[0]])
            if cost > 0:
                budget -= cost
                _reprice(columns_first, costs, owner, own_column, cost)
                first_tight = (columns_first <= EQUAL_SUMS).argmax(axis=0)
        takers, columns = [row, *owner[path].tolist()], [*path, own_column]
        owned[takers], owner[columns] = columns, takers
    return owned


def _on_cycles(tight: "Flags", owned: "Columns") -> "Columns":
    """Return the rows that may change columns among themselves along tight cells: each can take a column of others, and they its own."""
    rows, columns = np.nonzero(tight)
    edges = np.array([rows, np.argsort(owned)[columns]])
    edges = edges[:, edges[0] != edges[1]]
    while True:
        ends = np.zeros((2, len(owned)), dtype=bool)
        ends[0, edges[0]] = ends[1, edges[1]] = True
        inside = ends[0] & ends[1]
        on_cycle = inside[edges].all(axis=0)
        if on_cycle.all():
            return np.flatnonzero(inside)
        edges = edges[:, on_cycle]


def _costs(columns_first: "Floats", owned: "Columns", row: int, budget: float) -> "tuple[Floats, Columns]":
    """Return the cost for each row after `row` to give up its column so that in the end the column of `row` is used, up to `budget`.

    And for each column the one that its owner takes instead. Rows up to `row` are settled.
    """
    own_column = int(owned[row])
    costs, following = np.full(len(owned), np.inf), np.full(len(owned), -1)
    reached = np.full(len(owned), np.inf)
    reached[own_column] = 0.0
    frontier = np.array([own_column])
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


def _path(column: int, following: "Columns", own_column: int) -> list[int]:
    """Return the columns that change their rows, from the new column of the first row to the last before the one that it gives up."""
    path: list[int] = []
    while column != own_column:
        path.append(column)
        column = int(following[column])
    return path


def _reprice(columns_first: "Floats", costs: "Floats", owner: "Columns", own_column: int, cost: float) -> None:
    """Change the prices, in place, so that the new matching has no slack and the others keep theirs relative to it."""
    by_row = np.minimum(costs, cost)
    by_column = by_row[owner]
    by_column[own_column] = 0.0
    columns_first += by_column[:, None] - by_row[None, :]
    columns_first[columns_first < NOISE] = 0.0


BLOCK_CELLS = 2_000_000


def block_assignments(gains: "Floats", rows: "Columns", columns: "Columns") -> "Iterator[Assigned]":
    """Yield the assignments with the largest sums for each of a x b blocks of a matrix; rows and columns may be left out.

    Yields, for all blocks of one shape at once: (which a, which b, the rows of each of these a, the column of each row of each block or
    -1). `gains` are at least 0; block k has the rows from bound k up to bound k + 1 of the a + 1 bounds `rows`; `columns` are b + 1 bounds.
    """
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
                chosen = _assign_blocks(gains[down[:, None, :, None], aside[None, :, None, :]])
                yield above, left, down, np.where(chosen < 0, -1, columns[left][None, :, None] + chosen)


def _assign_blocks(blocks: "Floats") -> "Columns":
    """Return for blocks a x b x n x m the column of each row or -1, a x b x n: small ones by the sets of rows used, all blocks per step."""
    n, m = blocks.shape[2:]
    chosen: Columns = np.full(blocks.shape[:3], -1, dtype=np.intp)
    if n > m:
        owners = _assign_blocks(blocks.swapaxes(2, 3))
        rows_of = np.full((*blocks.shape[:2], n + 1), -1, dtype=np.intp)  # the row behind the last is that of columns without one
        np.put_along_axis(rows_of, owners, np.broadcast_to(np.arange(m), owners.shape), axis=2)
        return rows_of[:, :, :n]
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
        chosen[i, j] = _solve(blocks[i, j])[1]
    return np.maximum(chosen, -1)


def block_sums(matrix: "Floats", rows: "Columns", columns: "Columns") -> "Floats":
    """Return the sums of a x b blocks of a matrix, with bounds as in `block_assignments`; 0 for an empty one."""
    sums = np.zeros((len(rows) - 1, len(columns) - 1))
    full = [np.flatnonzero(np.diff(bounds)) for bounds in (rows, columns)]
    if len(full[0]) and len(full[1]):
        by_row = np.add.reduceat(matrix, rows[full[0]], axis=0)
        sums[np.ix_(*full)] = np.add.reduceat(by_row, columns[full[1]], axis=1)
    return sums
