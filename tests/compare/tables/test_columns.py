"""Columns: numbers as arrays, packed text, and cells under the strict rules: which can be paired, which remain, how a reason names them."""

import math
from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random
from typing import Any

import numpy as np
import pytest

from evalsuite.compare.columns import UnreadTable, as_values, from_message, memory_of, packed_of, packed_table, to_message
from evalsuite.compare.number_columns import (
    WHOLE,
    Numbers,
    join_blocks,
    numbers_of,
    surely_strictly_equal,
)
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.packed_text import (
    NULL,
    Block,
    Keys,
    OddError,
    Packed,
    frame_of,
    is_same_run,
    pack_lists,
)
from evalsuite.compare.strict_columns import can_pair, equal, show
from evalsuite.compare.strict_matching import unmatched_in_any_order
from evalsuite.compare.values import Cell, read_cell
from tests.compare.tables.test_table import text_table


def column_of(cells: list[str], kind: str = "", at: int = 0) -> Numbers | None:
    """The numbers of a column, the first or the second of two."""
    columns = [cells] if not at else [["a long word before it"] * len(cells), cells]
    return numbers_of(next(iter(pack_lists(columns).blocks())), at, kind=kind)


NAN, LONG = math.nan, "0." + "1" * 30
COLUMNS = [
    ("1||2.50", "", "1.0 nan 2.5"), ("NA|1", "", "nan 1.0"), ("null|1|NaN|N/A", "", "nan 1.0 nan nan"), ("Apple|1", "", None),
    (" null|1", "", None), ("1|x", "", None), ("a", "", None), ("7.|1", "", "7.0 1.0"), ("+5|1", "", "5.0 1.0"), ("007|1", "", "7.0 1.0"),
    ("true|false", "", None), ("True|1", "", None), (LONG, "", repr(float(LONG))), (LONG + "1", "", None), ("1|1,5", "", None),
    ("1|2", "int", "1.0 2.0"), ("1.50", "decimal", "1.5"), ("1", "text", None), ("-0", "", "-0.0"), ("1|2", "bool", None),
    ("nan|1", "float", "nan 1.0"), ("inf|1", "float", "inf 1.0"), ("1|]", "", None), ("1|1]", "", None), ("|", "", "nan nan"),
    ("null|7.", "", "nan 7.0"), ("Z|1", "", None), ("|".join(map(str, range(16))) + "|word", "", None), ("1e400", "", "inf"),
]  # fmt: skip


def test_which_columns_are_numbers() -> None:
    """Numbers, empty cells and words for NULL; of a database the kinds of numbers alone."""
    found = [column_of(cells.split("|"), kind) for cells, kind, _ in COLUMNS]
    assert [numbers and " ".join(map(repr, numbers.values.tolist())) for numbers in found] == [values for _, _, values in COLUMNS]
    assert [numbers is not None and numbers.digits is None for numbers in found if numbers] == [
        any(mark in cells for mark in ("7.", "+5", "007", "inf", "1e400", "nan|")) for cells, _, values in COLUMNS if values
    ]


@pytest.mark.parametrize(("values", "digits", "is_exact"), [
    ([1.5, NAN], [1, 0], True), ([1.5], [0], False), ([1.5], None, False), ([1e15 - 1], [WHOLE], True), ([1e15], [WHOLE], False),
    ([-1e15], [WHOLE], False), ([99999999999.9999], [4], True), ([1e11], [4], False), ([1e13], [1], True), ([1e14], [1], False),
    ([1e14], [2], False), ([1.5, 2e15], [1, WHOLE], False), ([9e14], [WHOLE], True), ([0.5], [1], True),
])  # fmt: skip
def test_numbers_of_at_most_15_digits_are_exact(values: list[float], digits: list[int] | None, is_exact: bool) -> None:
    """Of all of a column, with the decimals that they show; an exponent does not say."""
    assert Numbers(np.array(values), None if digits is None else np.array(digits, np.int8)).are_exact is is_exact


def test_blocks_are_joined() -> None:
    """In their order; one that is no number makes none of all, and decimals are known where all are."""
    first, second = Numbers(np.array([1.5]), np.array([1], np.int8)), Numbers(np.array([2.0, 3.0]), None)
    for parts, digits in (((first, first), [1, 1]), ((second,), None), ((first, second), None), ((second, first), None)):
        n = sum(len(part.values) for part in parts)
        found = join_blocks(iter(parts), n)
        assert found is not None
        assert found.values.tolist() == [value for part in parts for value in part.values.tolist()]
        assert (None if found.digits is None else found.digits.tolist()) == digits
    assert join_blocks(iter([first, None]), 2) is None
    assert join_blocks(iter([]), 0) is None


def test_numbers_without_known_decimals_are_never_sure() -> None:
    """On either side."""
    known, unknown = Numbers(np.array([1.5]), np.array([1], np.int8)), Numbers(np.array([1.5]), None)
    pairs = [(known, known), (known, unknown), (unknown, known), (unknown, unknown)]
    assert [surely_strictly_equal(*pair, Tolerance()).tolist() for pair in pairs] == [[True], [False], [False], [False]]


def texts_of(packed: Packed) -> list[list[str]]:
    """The columns again."""
    return [[text for block in packed.blocks() for text in block.texts(column)] for column in range(packed.width)]


def test_texts_that_are_numbered() -> None:
    """Once hashes are no longer trusted each different text has a number of its own, and keeps it."""
    keys = Keys()
    assert not keys.are_numbers
    for _ in range(2):
        keys.number_texts()
        assert keys.are_numbers
        assert keys.of_texts(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
    assert keys.of_texts(["c", "d"]).tolist() == [2, 3]


def test_blocks_with_the_same_bytes() -> None:
    """Equal cells at equal places; the same bytes cut elsewhere are other cells."""
    cells = [["ab", "c"], ["a", "bc"], ["ab", "d"], ["ab"], ["ab", "c", "e"]]
    blocks = [next(pack_lists([column]).blocks()) for column in cells]
    assert [is_same_run(blocks[0], block) for block in (*blocks, next(pack_lists([cells[0]]).blocks()))] == [True, *[False] * 4, True]
    assert is_same_run(blocks[0].rows(0, 0), blocks[1].rows(0, 0))


def frame(cells: Sequence[Sequence[str]]) -> bytes:
    """One packed block of rows."""
    text = b"".join(cell.encode() + b"\n" for row in cells for cell in row)
    return frame_of(text, np.array([[len(cell.encode()) for cell in row] for row in cells], np.uint32))


GOOD = frame([["ab", "c"], ["d", ""]])


@pytest.mark.parametrize(("frames", "width", "types", "message"), [
    ([GOOD], 2, None, ""), ([GOOD, GOOD], 2, ("VARCHAR", "VARCHAR"), ""), ([GOOD], 2, ("VARCHAR",), "other types"),
    ([GOOD], 2, ("VARCHAR", "BLOB"), "other types"), ([GOOD[:10]], 2, None, "not a packed block"),
    ([b"X" + GOOD[1:]], 2, None, "not a packed block"), ([b""], 2, None, "not a packed block"), ([GOOD], 3, None, "another shape"),
    ([GOOD], 1, None, "another shape"), ([GOOD[:19]], 2, None, "another shape"),
    ([GOOD[:17] + b"\2" + GOOD[18:]], 2, None, "another shape"), ([GOOD + b"x"], 2, None, "do not fit"),
    ([GOOD[:-1]], 2, None, "do not fit"), ([GOOD[:18] + b"\3" + GOOD[19:]], 2, None, "do not fit"),
    ([GOOD, GOOD[:-2]], 2, None, "do not fit"),
])  # fmt: skip
def test_blocks_of_another_shape_are_refused(frames: list[bytes], width: int, types: tuple[str, ...] | None, message: str) -> None:
    """They may come from a process that reads what others wrote."""
    if message:
        with pytest.raises(ValueError, match=message):
            Packed(width, frames, types)
    else:
        assert texts_of(Packed(width, frames, types)) == [["ab", "d"] * len(frames), ["c", ""] * len(frames)]


@pytest.mark.parametrize(("kept", "n_unpacked"), [(6, 3), (5, 1)])
def test_few_blocks_stay_unpacked(kept: int, n_unpacked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a table up to a number of cells, else one."""
    monkeypatch.setattr("evalsuite.compare.packed_text._CELLS_KEPT", kept)
    monkeypatch.setattr("evalsuite.compare.packed_text._ROWS_AT_ONCE", 1)
    packed = pack_lists([["a", "b", "c"], ["d", "e", "f"]])
    assert texts_of(packed) == [["a", "b", "c"], ["d", "e", "f"]]
    assert len(packed._unpacked) == n_unpacked


def test_columns_with_null() -> None:
    """Of a database; a text that begins like the mark is none."""
    mark = NULL.decode(errors="surrogateescape")
    cells = [[b"a", NULL], [NULL + b"b", b"c"]]
    text = b"".join(cell + b"\n" for row in cells for cell in row)
    packed = Packed(2, [frame_of(text, np.array([[len(cell) for cell in row] for row in cells], np.uint32))], ("VARCHAR", "VARCHAR"))
    assert packed.with_null == {1}
    assert packed_of(packed_table(("x", "y"), "t", packed.frames, packed.types)) is not None
    assert Packed(1, [frame([["a"]])], ("VARCHAR",)).with_null == Packed(1, [frame([["a"]])]).with_null == frozenset()
    assert mark not in texts_of(Packed(1, [frame([["a"]])]))[0]


def test_tables_as_values() -> None:
    """Packed columns become lists, in a list or a mapping of tables; anything else stays."""
    table = packed_table(("x", "y"), "t", [GOOD], None)
    expected = (["ab", "d"], ["c", ""])
    assert as_values(table).columns == as_values([table])[0].columns == as_values({"t": table})["t"].columns == expected
    plain = text_table([["1"]])
    assert as_values(plain) is plain
    assert as_values("x") == "x"


@pytest.mark.parametrize("types", [None, ("VARCHAR", "VARCHAR")])
def test_a_packed_table_comes_back_from_its_message(types: tuple[str, ...] | None) -> None:
    """As packed text, with its types."""
    table = packed_table(("x", "y"), "t.csv", [GOOD], types)
    found = from_message(to_message(table, list))
    assert packed_of(found) is not None
    assert (found.header, found.name, found.types, found.n_rows) == (table.header, "t.csv", types, 2)
    assert list(map(list, found.columns)) == [["ab", "d"], ["c", ""]]


POOLS = [
    "1 2 3 2.5 -1 0", "1.005 1.01 1.0 1 1.004 0.996", "0 1 2 3 4 5", "10.5 10.52 10.47 10.50 10.5 11", "a b 1 2 a b",
    "-5 5 -4.5 4.5 0 -5.4",
]  # fmt: skip
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
    ("a 1 b", "b c 2", Tolerance(), [0, 1], "a", "c 2"), ("1 1 2", "1 2 2", Tolerance(), [1], "1", "2"),
    ("0 1", "1 2", Tolerance(abs=1.0, own=True), [], "", ""), ("0 1 a", "1 2 b", Tolerance(abs=1.0, own=True), [2], "a", "b"),
    ("0 0 2", "1 2 2", Tolerance(abs=1.0, own=True), [1], "0", "2"), ("a a b", "a b b", Tolerance(), [1], "a", "b"),
    ("b 5 a 6", "x a 7 5.0", Tolerance(), [0, 3], "b", "x 7"), ("1.005 1.004", "1.00 1.01", Tolerance(), [], "", ""),
    ("1 2 3 4", "2 3 4 5", Tolerance(abs=0.5, own=True), [0], "1", "5"), ("1 a 2 b", "c 3 d 4", Tolerance(), [0, 1, 2, 3], "1", "c 3 d 4"),
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
