"""Bipartite matching and maximum flow on plain lists."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence


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


def saturating_flow(supply: Sequence[int], demand: Sequence[int], edges: Sequence[Sequence[int]], count: Callable[[int], None]) -> bool:
    """Whether all supply fits into the demand along `edges[left] -> right`; both totals are counts of equal rows.

    `count` is called with the number of edges that each search visited, and may raise.
    """
    return all(left_over == 0 for left_over in _flow(supply, list(demand), edges, count))


def largest_flow(supply: Sequence[int], demand: Sequence[int], edges: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """The supply and the demand that remain after a maximum flow; earlier left nodes are served first."""
    room = list(demand)
    return list(_flow(supply, room, edges, _uncounted)), room


def _uncounted(n: int) -> None:
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
