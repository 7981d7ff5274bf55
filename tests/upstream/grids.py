"""Small tables of random columns, each with one thing changed: the table, what became of it, and what is asked of both."""

import random
from collections.abc import Callable, Iterable
from typing import Any, Final

Grid = list[list[Any]]  # columns of cells: int, float, text, bool, or None for an empty one
Edited = tuple[Grid, Grid, dict[str, Any]]  # a table, what became of it, parameters
WORDS: Final = ("oak", "elm", "beech", "Rye", "fern moss", "lime", "tea", "N/A", "yes")


def random_column(rng: random.Random, n: int) -> list[Any]:
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: rng.randint(-20, 1200),
        lambda: round(rng.uniform(-50, 500), rng.choice((1, 2, 4))),
        lambda: rng.choice(WORDS) + rng.choice(("", "", f" {rng.randint(1, 9)}")),
        lambda: f"20{rng.randint(10, 25)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
    )
    make = rng.choice(kinds)
    return [make() for _ in range(n)]


def random_grid(rng: random.Random, kind: Callable[[], Any] | None = None) -> Grid:
    """One to four columns of one to six rows, one of them (at a random place) of cells that `kind` gives."""
    n = rng.randint(2, 6)
    grid = [random_column(rng, n) for _ in range(rng.randint(1, 4))]
    if kind is not None:
        grid[rng.randrange(len(grid))] = [kind() for _ in range(n)]
    return grid


def _with(grid: Grid, rng: random.Random, change: Callable[[Any], Any], of: tuple[type, ...]) -> Grid:
    """The grid with one or two cells of these types changed, where it has any."""
    places = [(i, k) for i, column in enumerate(grid) for k, cell in enumerate(column) if type(cell) in of]
    changed = [list(column) for column in grid]
    for i, k in rng.sample(places, min(len(places), rng.randint(1, 2))):
        changed[i][k] = change(changed[i][k])
    return changed


def _rows(grid: Grid, order: Iterable[int]) -> Grid:
    places = list(order)
    return [[column[k] for k in places] for column in grid]


def shuffled(rng: random.Random, items: Iterable[Any]) -> list[Any]:
    found = list(items)
    rng.shuffle(found)
    return found


def _near(rng: random.Random) -> Edited:
    grid = random_grid(rng, lambda: round(rng.uniform(-5, 90), 3))
    by = rng.choice((0.004, 0.009, 0.01, 0.0101, 0.011, 0.02, 0.3)) * rng.choice((1, -1))
    return grid, _with(grid, rng, lambda cell: cell + by, (int, float)), {}


def _large(rng: random.Random) -> Edited:
    grid = random_grid(rng, lambda: round(rng.uniform(1e8, 1e12), 1))
    by = rng.choice((4e-10, 9e-10, 1.1e-9, 3e-9, 1e-6))
    return grid, _with(grid, rng, lambda cell: cell * (1 + by), (float,)), {}


def _spelled(rng: random.Random) -> Edited:
    grid = random_grid(rng, lambda: rng.choice(WORDS))
    change = rng.choice((str.upper, str.title, lambda text: text + " ", lambda text: f" {text}", lambda text: text.replace("e", "é")))
    return grid, _with(grid, rng, change, (str,)), {}


def _empty(rng: random.Random) -> Edited:
    kind = rng.choice((lambda: rng.choice((None, 0, 1, 7)), lambda: rng.choice((None, 0.0, 2.5)), lambda: rng.choice((None, *WORDS[:2]))))
    grid = random_grid(rng, kind)
    return grid, _with(grid, rng, lambda _: rng.choice((None, 0, 1, "a")), (int, float, str, type(None))), {}


def _empty_beside_empty(rng: random.Random) -> Edited:
    grid = random_grid(rng, rng.choice((lambda: rng.choice((None, 3, 40)), lambda: rng.choice((None, True, False)))))
    return grid, grid, {"ignore_order": rng.random() < 0.3}


def _other_types(rng: random.Random) -> Edited:
    """A number as a text, a whole one as a float, true as 1."""
    grid = random_grid(
        rng, rng.choice((lambda: rng.randint(0, 9), lambda: rng.choice((True, False)), lambda: rng.choice((1, 2.5, "x", None))))
    )
    change = rng.choice((lambda cell: float(cell), lambda cell: f"{cell}x", lambda cell: int(cell), lambda cell: f"{cell}%"))
    i = rng.randrange(len(grid))
    answer = [list(column) for column in grid]
    answer[i] = [change(cell) if isinstance(cell, int | float) else cell for cell in answer[i]]
    return grid, answer, {"ignore_order": rng.random() < 0.3}


def _rows_moved(rng: random.Random) -> Edited:
    grid = random_grid(rng)
    return grid, _rows(grid, shuffled(rng, range(len(grid[0])))), {"ignore_order": rng.random() < 0.6}


def _columns_sorted_apart(rng: random.Random) -> Edited:
    grid = random_grid(rng)
    return grid, [shuffled(rng, column) for column in grid], {"ignore_order": rng.random() < 0.8}


def _sorted_as_text(rng: random.Random) -> Edited:
    grid = random_grid(rng, lambda: rng.choice((9, 10, 100, -1, 9.995, 10.005, None, 99.999)))
    answer = _with(grid, rng, lambda cell: cell + rng.choice((0.006, -0.006)), (int, float))
    return grid, _rows(answer, shuffled(rng, range(len(grid[0])))), {"ignore_order": True}


def _columns_moved(rng: random.Random) -> Edited:
    grid = random_grid(rng)
    return grid, shuffled(rng, [*grid, *(random_column(rng, len(grid[0])) for _ in range(rng.randint(0, 2)))]), {}


def _column_short(rng: random.Random) -> Edited:
    """A column of gold's is not there, and may be the twin of one that is."""
    grid = random_grid(rng)
    if rng.random() < 0.5:
        return [*grid, grid[0]], grid, {}
    return [*grid, random_column(rng, len(grid[0]))], grid, {}


def _rows_short(rng: random.Random) -> Edited:
    grid = random_grid(rng)
    rows = list(range(len(grid[0])))
    rows = rows[:-1] if rng.random() < 0.5 else [*rows, rng.choice(rows)]
    return grid, _rows(grid, rows), {"ignore_order": rng.random() < 0.5}


def _copied(rng: random.Random) -> Edited:
    grid = random_grid(rng)
    return grid, grid, {"ignore_order": rng.random() < 0.5}


# What may be changed in a table, whatever holds it.
EDITS: Final[dict[str, Callable[[random.Random], Edited]]] = {
    "a copy": _copied,
    "numbers within 0.01": _near,
    "large numbers": _large,
    "spelling of texts": _spelled,
    "empty cells": _empty,
    "empty beside empty": _empty_beside_empty,
    "types of cells": _other_types,
    "rows in another order": _rows_moved,
    "columns sorted apart": _columns_sorted_apart,
    "numbers sorted as texts": _sorted_as_text,
    "columns in another order": _columns_moved,
    "a column short": _column_short,
    "rows short or twice": _rows_short,
}
