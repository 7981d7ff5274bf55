"""Tables made to be hard to match: each ends within the counted caps, with the same verdict every time, without deep recursion."""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from evalsuite.compare import row_multisets
from evalsuite.compare.bipartite_matching import bipartite_matching
from evalsuite.compare.row_multisets import CELL_CAP
from evalsuite.compare.strict_tables import judge_table
from evalsuite.compare.verdict import Strict
from evalsuite.core.types import Table

Columns = Sequence[Sequence[str]]


def table(columns: Columns, names: Sequence[str] = ()) -> Table:
    """A table as a reader hands it over."""
    return Table(
        header=tuple(names) or tuple(f"c{i}" for i in range(len(columns))),
        columns=tuple(map(list, columns)),
        n_rows=len(columns[0]),
    )


@contextmanager
def shallow(frames: int = 120) -> Iterator[None]:
    """Little room for recursion: a search that recurses once a column or row cannot end in here."""
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def judged(gold: Columns, predicted: Columns, *, ordered: bool = False, names: Sequence[str] = (), times: int = 1) -> Strict:
    """The strict verdict; given more than once it is the same each time."""
    with shallow():
        first, *others = (judge_table(table(predicted, names), table(gold), ignore_order=not ordered) for _ in range(times))
    assert others == [first] * (times - 1)
    assert first.value in (0, 1)
    assert first.value == 1 or first.reason
    return first


def mixed(columns: Columns, seed: int) -> list[list[str]]:
    """The same rows and columns, both moved about."""
    rng = random.Random(seed)
    rows = rng.sample(range(len(columns[0])), len(columns[0]))
    return rng.sample([[column[row] for row in rows] for column in columns], len(columns))


def scrambled(columns: Columns, seed: int) -> list[list[str]]:
    """Each column moved about by itself."""
    rng = random.Random(seed)
    return [rng.sample(list(column), len(column)) for column in columns]


def balanced(n_columns: int, n_rows: int, seed: int) -> list[list[str]]:
    """Columns of as many zeros as ones."""
    return scrambled([["0", "1"] * (n_rows // 2)] * n_columns, seed)


def hadamard(order: int) -> list[list[str]]:
    """0/1 columns of which any two agree in exactly half of the rows, so that pairs of columns tell nothing apart."""
    signs = [[1]]
    while len(signs) < order:
        signs = [row + row for row in signs] + [row + [-x for x in row] for row in signs]
    return [[str((x + 1) // 2) for x in row] for row in signs[1:]]


def dense(n_columns: int, n_rows: int, seed: int, spread: float = 1.0) -> list[list[str]]:
    """Floats within `spread` of 1, all different."""
    rng = random.Random(seed)
    return [[f"{1 + rng.random() * spread:.15f}" for _ in range(n_rows)] for _ in range(n_columns)]


def chain(n_rows: int, shift: float = 0.0) -> list[str]:
    """Floats each within noise of the next one, far from the one after."""
    return [f"{1 + (i + shift) * 0.9e-9:.16f}" for i in range(n_rows)]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: (balanced(12, 64, 1), mixed(balanced(12, 64, 1), 2)), 1),
        (lambda: (balanced(12, 64, 1), balanced(14, 64, 3)), 0),
        (lambda: (hadamard(64)[:30], mixed(hadamard(64), 4)), 1),
        (lambda: ([*hadamard(32)[:12], ["0"] * 16 + ["1"] * 16], scrambled(hadamard(32), 5)), 0),
        (lambda: ([["1", "2"] * 50] * 60, [["1", "2"] * 50] * 120), 1),
        (lambda: ([["1", "2"] * 50] * 60, [["1", "2"] * 50] * 59), 0),
        (lambda: ([["1", "2"] * 50] * 60, [["1", "2"] * 50] * 59 + [["1", "1"] * 50]), 0),
        (lambda: ([chain(2000)], mixed([chain(2000)], 6)), 1),
        (lambda: ([chain(2000)], mixed([chain(2000, 0.5)], 7)), 1),
        (lambda: ([chain(2000)], mixed([chain(2000, 3.0)], 8)), 0),
        (lambda: ([chain(2000), chain(2000)], mixed([chain(2000), chain(2000, 0.5)], 9)), 1),
        (lambda: ([chain(800), chain(800)], [chain(800), chain(800)[3:] + chain(800)[:3]]), 0),
        (lambda: (dense(6, 2000, 10), mixed(dense(6, 2000, 10), 11)), 1),
        (lambda: (dense(6, 2000, 10), scrambled(dense(6, 2000, 10), 12)), 0),
        (lambda: (dense(6, 400, 13, 1e-8), mixed(dense(6, 400, 13, 1e-8), 14)), 1),
    ],
)
def test_hard_tables_are_decided(make: Callable[[], tuple[Columns, Columns]], expected: int) -> None:
    """Balanced bits, equal columns, chains of near-equal floats and dense floats get the right verdict, not a limit."""
    gold, predicted = make()
    verdict = judged(gold, predicted)
    assert verdict.value == expected
    assert verdict.fault is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: (near := [[f"{1 + (i + j) % 7 * 3e-10:.11f}" for j in range(30)] for i in range(40)], scrambled(near, 15)),
        lambda: (dense(6, 400, 16, 1e-8), scrambled(dense(6, 400, 16, 1e-8), 17)),
    ],
)
def test_what_cannot_be_decided_ends_at_a_counted_cap(make: Callable[[], tuple[Columns, Columns]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every column fits every other and no rows agree, the answer is a 0 with LIMIT after the same number of tries each time."""
    monkeypatch.setattr(row_multisets, "CELL_CAP", CELL_CAP // 1000)
    gold, predicted = make()
    verdict = judged(gold, predicted, times=2)
    assert verdict.value == 0
    assert verdict.fault is not None
    assert verdict.fault.code == "LIMIT"
    assert verdict.reason.startswith("LIMIT: no matching column assignment among ")


@pytest.mark.parametrize("ordered", [True, False])
def test_hundreds_of_columns_need_no_recursion(ordered: bool) -> None:
    """150 needed columns are found among 300, all renamed; one changed cell is found missing."""
    gold = dense(150, 6, 18)
    both = [*gold, *dense(150, 6, 19)]
    predicted = mixed(both, 20) if not ordered else random.Random(21).sample(both, 300)
    names = [f"x{i}" for i in range(300)]
    assert judged(gold, predicted, ordered=ordered, names=names).value == 1
    at = next(k for k, column in enumerate(predicted) if sorted(column) == sorted(gold[7]))
    predicted[at] = ["5.5", *predicted[at][1:]]
    verdict = judged(gold, predicted, ordered=ordered, names=names)
    assert verdict.value == 0
    assert verdict.details["gold_column"] == 8


def test_a_large_honest_table_is_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of more cells than the cap on steps, in another order and with rounded numbers, is accepted: its own size is free."""
    monkeypatch.setattr(row_multisets, "CELL_CAP", 1000)
    n_rows = 4000
    gold = [[f"{i / 7:.6f}" for i in range(n_rows)], *([str((i * k) % 11) for i in range(n_rows)] for k in range(2, 8))]
    rows = random.Random(22).sample(range(n_rows), n_rows)
    predicted = [[f"{float(gold[0][row]):.2f}" for row in rows], *([column[row] + ".0" for row in rows] for column in gold[1:])]
    assert judged(gold, predicted).value == 1
    assert judged(gold, predicted, names="gfedcba").value == 1


def test_long_chains_of_moves_need_no_recursion() -> None:
    """3,000 columns of which each may move one further are matched without recursion."""
    n = 3000
    with shallow():
        assert bipartite_matching([*([i, i + 1] for i in range(n)), [0]])[:2] == [1, 2]
