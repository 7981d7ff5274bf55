"""Cells of two columns under the strict rules: which can be paired at all, which remain, and how a reason names them."""

from collections.abc import Iterator
from itertools import permutations
from random import Random
from typing import Any

import pytest

from evalsuite.compare.columns import UnreadTable, memory_of, packed_of
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.packed_text import Block, OddError, pack_lists
from evalsuite.compare.strict_columns import can_pair, equal, show
from evalsuite.compare.strict_matching import unmatched_in_any_order
from evalsuite.compare.values import Cell, read_cell
from tests.compare.tables.test_table import text_table

POOLS = [
    "1 2 3 2.5 -1 0",
    "1.005 1.01 1.0 1 1.004 0.996",
    "0 1 2 3 4 5",
    "10.5 10.52 10.47 10.50 10.5 11",
    "a b 1 2 a b",
    "-5 5 -4.5 4.5 0 -5.4",
]
TERMS = [
    Tolerance(),
    *(Tolerance(abs=distance, own=True) for distance in (1.0, 0.004)),
    *(Tolerance(rel=rel, own=True) for rel in (0.1, 1.0)),
]


def drawn_sides(n: int) -> list[tuple[list[Cell], list[Cell], Tolerance]]:
    """Gold and predicted cells of small columns, of few different values near each other, and a tolerance."""
    drawn, sides = Random(11), []
    for _ in range(n):
        pool, size = drawn.sample(drawn.choice(POOLS).split(), drawn.randint(2, 4)), drawn.randint(1, 4)
        gold, predicted = ([read_cell(drawn.choice(pool)) for _ in range(size)] for _ in range(2))
        sides.append((gold, predicted, drawn.choice(TERMS)))
    return sides


def test_columns_that_can_be_paired() -> None:
    """All that some order of the cells makes equal; how many others are left to the search for rows is known."""
    n_paired, n_possible = 0, 0
    for gold, predicted, tolerance in drawn_sides(1500):
        is_paired = any(all(map(equal, gold, order, [tolerance] * len(gold))) for order in permutations(predicted))
        is_possible = can_pair(gold, predicted, tolerance)
        assert is_possible or not is_paired, (gold, predicted, tolerance)
        n_paired, n_possible = n_paired + is_paired, n_possible + is_possible
    assert (n_paired, n_possible) == (706, 718)
    # As floats they are farther apart than they are.
    assert can_pair([read_cell("302470000000000.00000000")], [read_cell("302469999999697.5300000000000")], Tolerance())


UNMATCHED: list[tuple[str, str, Tolerance, list[int], str, str]] = [
    ("1 2 3", "3 1 2", Tolerance(), [], "", ""), ("1 2 3", "1 2 4", Tolerance(), [2], "3", "4"),
    ("a 1 b", "b c 2", Tolerance(), [0, 1], "a", "c 2"),
    ("1 1 2", "1 2 2", Tolerance(), [1], "1", "2"), ("0 1", "1 2", Tolerance(abs=1.0, own=True), [], "", ""),
    ("0 1 a", "1 2 b", Tolerance(abs=1.0, own=True), [2], "a", "b"),
    ("0 0 2", "1 2 2", Tolerance(abs=1.0, own=True), [1], "0", "2"), ("a a b", "a b b", Tolerance(), [1], "a", "b"),
    ("b 5 a 6", "x a 7 5.0", Tolerance(), [0, 3], "b", "x 7"),
    ("1.005 1.004", "1.00 1.01", Tolerance(), [], "", ""), ("1 2 3 4", "2 3 4 5", Tolerance(abs=0.5, own=True), [0], "1", "5"),
    ("1 a 2 b", "c 3 d 4", Tolerance(), [0, 1, 2, 3], "1", "c 3 d 4"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "predicted", "tolerance", "rows", "first", "partners"), UNMATCHED)
def test_cells_that_remain(gold: str, predicted: str, tolerance: Tolerance, rows: list[int], first: str, partners: str) -> None:
    """The rows of gold without a partner in as large a pairing as possible, from the top, and the cells that are free for them."""
    found = unmatched_in_any_order(*(list(map(read_cell, side.split())) for side in (gold, predicted)), tolerance)
    expected = read_cell(first) if first else None
    assert (list(found.rows), found.first, list(found.partners)) == (rows, expected, list(map(read_cell, partners.split())))


@pytest.mark.parametrize(("most", "bound"), [(2, ""), (1, "at most ")])
def test_too_many_pairs_to_compare_are_a_bound(most: int, bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either limit, of numbers and of pairs, is reached only beyond it."""
    for limit in ("MOST_NUMBERS", "MOST_EDGES"):
        with monkeypatch.context() as patch:
            patch.setattr(f"evalsuite.compare.strict_matching.{limit}", most)
            assert unmatched_in_any_order([1, 2], [1, read_cell("2.2")], Tolerance(abs=0.5, own=True)).bound == bound


def cell(text: str) -> Cell:
    """A cell, with percent signs."""
    return read_cell(text, percentage=True)


SHOWN: list[tuple[Any, str]] = [
    (None, "null"), (5, "5"), (read_cell("1.50"), "1.50"), (cell("12.5%"), "12.5%"), (("text", "a'b"), "\"a'b\""),
    (("inf", float("inf")), "inf"),
    (read_cell("2024-01-02"), "2024-01-02 00:00:00"), (("instant", 10**27), f"{10**27} ns"), (("list", (1, ("text", "a"))), "[1, 'a']"),
    (("struct", (("k", 1), ("l", None))), "{k: 1, l: null}"), (("bytes", b"x"), "b'x'"), ((1 << 1000) - 1, "a huge integer"),
]  # fmt: skip


def test_cells_in_a_reason() -> None:
    """Each kind of cell, also inside another."""
    assert [show(each) for each, _ in SHOWN] == [text for _, text in SHOWN]


class Source:
    """A table that is read when it is asked for, in blocks or by the exact reader."""

    def __init__(self, cells: list[list[str]], *, is_odd: bool) -> None:
        self.cells, self.is_odd = cells, is_odd

    def blocks(self) -> Iterator[Block]:
        """The rows, if they are plain."""
        if self.is_odd:
            raise OddError
        return pack_lists(self.cells).blocks()

    def read_table(self) -> Any:
        """The table as lists."""
        return text_table(self.cells)


@pytest.mark.parametrize("is_odd", [False, True])
def test_a_table_that_is_not_read_yet(is_odd: bool) -> None:
    """As packed text where its file is plain, else as the exact reader has it; only lists take memory for each cell."""
    cells = [["1", "2", "3"], ["a", "b", "c"]]
    table = UnreadTable(header=("x", "y"), name="t.csv", source=Source(cells, is_odd=is_odd)).read()
    assert [list(column) for column in table.columns] == cells
    assert (packed_of(table) is None, memory_of(table)) == (is_odd, 6 * 64 if is_odd else 0)
    assert table.columns[1][2] == table.columns[1][-1] == "c"
    assert [list(column[::-1]) for column in table.columns] == [column[::-1] for column in cells]
