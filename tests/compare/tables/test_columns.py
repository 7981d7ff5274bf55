"""Columns and rows: numbers as arrays, packed text, pairs of cells; rows in any order by hashes, codes and every pairing tried."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare import row_multisets, strict_matching
from evalsuite.compare.columns import UnreadTable, as_values, from_message, memory_of, packed_of, packed_table, to_message
from evalsuite.compare.number_columns import WHOLE, Numbers, join_blocks, numbers_of, surely_strictly_equal
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.official_tables import match_table
from evalsuite.compare.packed_text import NULL, Block, Keys, OddError, Packed, frame_of, is_same_run, pack_lists
from evalsuite.compare.result_sets import Row, equal_as_bags
from evalsuite.compare.row_multisets import CodedColumns
from evalsuite.compare.strict_columns import Terms, can_pair, equal, read_columns, show
from evalsuite.compare.strict_matching import unmatched_in_any_order
from evalsuite.compare.strict_tables import judge_table
from evalsuite.compare.table_diff import Comparisons, compare
from evalsuite.compare.table_hashes import spare_rows
from evalsuite.compare.values import Cell, read_cell
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Table
from tests.compare.tables.test_table import text_table
from tests.compare.test_scores import table as table_of
from tests.models import strict_table
from tests.properties import examples


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
    """In their order; one that is no number makes none of all; decimals are known where all are, and without them nothing is sure."""
    first, second = Numbers(np.array([1.5]), np.array([1], np.int8)), Numbers(np.array([2.0, 3.0]), None)
    for parts, digits in (((first, first), [1, 1]), ((second,), None), ((first, second), None), ((second, first), None)):
        n = sum(len(part.values) for part in parts)
        found = join_blocks(iter(parts), n)
        assert found is not None
        assert found.values.tolist() == [value for part in parts for value in part.values.tolist()]
        assert (None if found.digits is None else found.digits.tolist()) == digits
    assert join_blocks(iter([first, None]), 2) is None
    assert join_blocks(iter([]), 0) is None
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


N_ROWS = 7_000
RANGE = (1 << 64) - 1
# The multipliers of version 0.2.0, whose hash of a cell had no key.
STEP, TURN = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
PLAIN = bytes(range(0x21, 0x7F)).replace(b'"', b"").replace(b",", b"")


def table(rows: list[tuple[str, ...]]) -> Table:
    """A table of text."""
    return Table(header=("key", "label", "n"), columns=tuple(map(list, zip(*rows, strict=True))), n_rows=len(rows), name="t.csv")


def gold_rows() -> list[tuple[str, ...]]:
    """Rows of which each is written once."""
    return [(f"k{i:05d}", f"a label of {i:05d}", str(i % 97)) for i in range(N_ROWS)]


def verdicts(gold: list[tuple[str, ...]], predicted: list[tuple[str, ...]]) -> tuple[float | None, float | None]:
    """(official, strict) in any order of rows."""
    seen, tables = Comparisons(), (table(predicted), table(gold))
    official = match_table(*tables, ignore_order=True, comparisons=seen).official
    return official, judge_table(*tables, ignore_order=True, comparisons=seen).value


def colliding_cell(cell: str) -> str:
    """Another cell of 16 bytes with the hash that version 0.2.0 made of this one: its second word is solved for."""
    drawn = Random(33)
    first, second = (int.from_bytes(cell.encode()[at : at + 8], "little") for at in (0, 8))
    wanted = _mixed(len(cell) * TURN & RANGE, first) ^ second
    while True:
        word = bytes(drawn.choices(PLAIN, k=8))
        solved = (wanted ^ _mixed(len(cell) * TURN & RANGE, int.from_bytes(word, "little"))).to_bytes(8, "little")
        if all(byte in PLAIN for byte in solved):
            return (word + solved).decode()


def _mixed(state: int, word: int) -> int:
    state = (state ^ word) * STEP & RANGE
    return state ^ state >> 32


def test_a_cell_solved_for_the_hash_without_a_key_scores_0() -> None:
    """The attack on version 0.2.0: one cell of 21,000 is another text of the same hash, rows moved."""
    gold = gold_rows()
    gold[77] = ("k00077", "sixteen letters.", "77")
    predicted = [*gold[1000:], *gold[:1000]]
    at = predicted.index(gold[77])
    assert verdicts(gold, predicted) == (1, 1)
    predicted[at] = ("k00077", colliding_cell("sixteen letters."), "77")
    assert verdicts(gold, predicted) == (0, 0)


def test_rows_of_the_same_cells_elsewhere_have_other_hashes() -> None:
    """Cells exchanged within a row, within a column or in a square of rows: no hash of a row stays, whatever the keys are."""
    cells = [("a", "b"), ("b", "a"), ("a", "a"), ("b", "b"), ("", "ab"), ("ab", ""), ("a\0", "b"), ("a", "\0b")]
    block = next(pack_lists(list(map(list, zip(*cells, strict=True)))).blocks())
    for _ in range(2_000):
        keys = Keys()
        assert len(np.unique(keys.of_rows(block.hashes([0, 1], keys)))) == len(cells)


@pytest.mark.parametrize("broken", [Keys.of_rows, Block.hashes])
def test_a_hash_that_tells_nothing_changes_no_verdict(broken: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told by hashes is looked at: with a hash of 0 for everything right answers are right and wrong ones wrong."""
    gold = gold_rows()[:1_200]
    moved = gold[::-1]
    wrong = [*moved[:-1], ("k00000", "a label of 00000", "1")]
    square = [*moved[:-2], (moved[-2][0], moved[-1][1], moved[-2][2]), (moved[-1][0], moved[-2][1], moved[-1][2])]
    rounded = [(key, label, f"{n}.0") for key, label, n in moved]
    answers = (moved, wrong, square, rounded)
    found = [verdicts(gold, answer) for answer in answers]
    if broken is Keys.of_rows:
        monkeypatch.setattr(Keys, "of_rows", lambda _, hashed: np.zeros(len(hashed), np.uint64))
    else:
        monkeypatch.setattr(Block, "hashes", lambda block, columns, _: np.zeros((len(block), len(columns)), np.uint64))
    assert [verdicts(gold, answer) for answer in answers] == found
    assert found[:3] == [(1, 1), (0, 0), (1, 0)]


def test_equal_hashes_of_different_texts_are_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows with equal hashes are looked at: the same text confirms them, another one does not."""
    monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", 0)
    monkeypatch.setattr(Block, "hashes", lambda block, columns, _: np.zeros((len(block), len(columns)), np.uint64))
    for other, are_confirmed in (("a", True), ("b", False)):
        seen = Comparisons().compare(table([("a", "", "")]), table([(other, "", "")]))
        assert seen.hashes.are_confirmed([np.zeros(1, np.uint64)] * 2, [0], [0]) is are_confirmed
        coded, rows = CodedColumns(*(read_columns(side, [0]) for side in (seen.gold, seen.predicted)), seen), np.arange(1)
        assert [len(places) for places in coded.unequal_in_order(0, 0, rows, rows)] == [int(not are_confirmed)]


def test_work_is_counted_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind for itself; what a right answer needs of cells is free."""
    for method, limit in (("look", "CELL_CAP"), ("connect", "EDGE_CAP"), ("walk", "FLOW_CAP")):
        monkeypatch.setattr(row_multisets, limit, 5)
        work = row_multisets.Work(free=2)
        for n in (2, 3, *([2] if method == "look" else [])):
            getattr(work, method)(n)
        with pytest.raises(row_multisets.CapReachedError):
            getattr(work, method)(1)
    seen = Comparisons().compare(table(gold_rows()[:5]), table(gold_rows()[:5]))
    assert CodedColumns(*(read_columns(side, [0, 1]) for side in (seen.gold, seen.predicted)), seen).work.free == 12 * 5 * 2


@pytest.mark.parametrize("few", [0, 200])
def test_hashes_tell_what_the_texts_tell(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small drawn tables: equal columns, twins, and the rows without a partner; equal texts of other types are other cells."""
    monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", 0)
    monkeypatch.setattr("evalsuite.compare.table_hashes._FEW", few)
    drawn = Random(5)
    for _ in range(40):
        n = drawn.randint(1, 4)
        types = [drawn.choices(("BIGINT", "VARCHAR"), (4, 1), k=5) for _ in range(2)]
        # No two choices of up to four of these digits have the same sum, as 1, 2, 3 and 2, 2, 2 have: sums of hashes may then be equal too.
        kinds = [[drawn.choice("126") for _ in range(n)] for _ in range(2)]
        gold, predicted = ([drawn.sample(drawn.choice(kinds), n) for _ in range(5)] for _ in range(2))
        rows = [";".join(",".join(row) for row in zip(*side, strict=True)) for side in (gold, predicted)]
        names = [",".join(f"c{at}:{type_}" for at, type_ in enumerate(side)) for side in types]
        found, pairs = compare(*map(table_of, map(";".join, zip(names, rows, strict=True)))).hashes, list(product(range(5), range(5)))
        for _ in range(drawn.randrange(4)):
            found.compare(drawn.sample(pairs, drawn.randint(1, 5)))
        alike = [types[0][i] == types[1][k] and sorted(gold[i]) == sorted(predicted[k]) for i, k in pairs]
        assert [found.has_same_texts(*pair) for pair in pairs] == [found.may_be_alike(*pair) for pair in pairs] == alike
        assert [gold[found.twin(0, i)] for i in range(5)] == gold
        assert [predicted[found.twin(1, k)] for k in range(5)] == predicted
        for chosen in ([0], [2], [0, 1], [2, 1, 0]):
            sides = [list(zip(*(side[at] for at in chosen), strict=True)) for side in (gold, predicted)]
            left = [spare_rows(side, Counter(other)) for side, other in zip(sides, sides[::-1], strict=True)]
            if any(types[0][at] != types[1][at] for at in chosen):
                left = [list(range(n))] * 2
            assert [part.tolist() for part in found.spare(chosen, chosen)] == left


NEAR = (0.001, 0.0049, 0.5, 1.005, 2.004, 2.005, 2.006, 10.01, 10.015, 12.345, 12.3449, 12.35, 99.995, 100.0)
STEPS = (0, 0, 0, 1e-10, 5e-9, 0.004, 0.005, 0.006, -0.005)
WORDS = (
    *("a", "b", "A", " a", "a ", "NULL", "", "nan", "true", "True", "false", "NA", "#NA", "\\N", "inf", "-inf", "é", "Ł5"),
    *("city 5", "x1234"),
)
DATES = ("2023-01-05", "2023-01-05 00:00:00", "2023-01-05T00:00:00Z", "2023-01-06", "2023-13-05", "Jan 5, 2023", "5 Jan 2023", "01/02/2024")
ODD = (
    *("1,234", "1234", "1234.0", "$5", "5", "5.0", "007", "7", "(5)", "-5", "1e3", "1000", "0.0", "-0", "0", "1e-400", "12%", "4120,33"),
    *("4120.33", "9007199254740993", "9007199254740992.0", "9007199254740992", "USD 5", "5 EUR", "(1,250)", "-1250", "1.234"),
)
OF_CHECKS = (Terms(), Terms(), Terms(), Terms(abs_tol=0.01), Terms(rel_tol=0.001), Terms(abs_tol=1.0), Terms(rel_tol=0.0))


def drawn_cell(drawn: Random) -> str:
    """A number near others, a word, a date, or a number in an odd form."""
    form = drawn.randrange(4)
    if form == 0:
        return f"{drawn.choice(NEAR) + drawn.choice(STEPS):.{drawn.choice((1, 2, 3, 4, 12))}f}"
    return drawn.choice((WORDS, DATES, ODD)[form - 1])


def written_again(text: str, drawn: Random) -> str:
    """The cell with spaces, or the number rounded or off by float noise."""
    try:
        value = float(text)
    except ValueError:
        return drawn.choice((text, text, text + " ", text.upper()))
    if not abs(value) < 1e15:
        return text
    return drawn.choice((text, repr(value * (1 + drawn.choice((0, 1e-10, -3e-10, 2e-9)))), f"{value:.2f}", f"{value:.3f}", f"{value:.1f}"))


def case(seed: int, most_rows: int = 14) -> tuple[Table, Table, Terms]:
    """(gold, answer, terms): few different cells, rows moved, numbers written again, some cells exchanged or replaced."""
    drawn = Random(seed)
    n, width = drawn.randint(1, most_rows), drawn.randint(1, 3)
    gold = [
        [drawn.choice(pool) for _ in range(n)] for pool in ([drawn_cell(drawn) for _ in range(drawn.randint(1, 8))] for _ in range(width))
    ]
    order, again = drawn.sample(range(n), n) if seed % 3 else range(n), drawn.random() < 0.7
    answer = [[written_again(column[row], drawn) if again else column[row] for row in order] for column in gold]
    if drawn.random() < 0.3:
        drawn.choice(answer)[drawn.randrange(n)] = drawn_cell(drawn)
    if drawn.random() < 0.2:
        column, (a, b) = drawn.choice(answer), (drawn.randrange(n), drawn.randrange(n))
        column[a], column[b] = column[b], column[a]
    if drawn.random() < 0.3:
        answer.append([drawn_cell(drawn) for _ in range(n)])
    places = drawn.sample(range(len(answer)), len(answer)) if drawn.random() < 0.3 else range(len(answer))
    names = [f"name {chr(97 + at)}" for at in range(len(answer))]
    tables = ((names[:width], gold), ([names[at] for at in places], [answer[at] for at in places]))
    a, b = (Table(header=tuple(header), columns=tuple(columns), n_rows=n, name="t.csv") for header, columns in tables)
    return a, b, drawn.choice(OF_CHECKS)


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 240))])
def test_codes_give_the_verdicts_of_every_pairing_tried(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 drawn tables a block, as lists and as packed text: the verdict of the plain model, and the same fact that decides it."""
    values = set()
    monkeypatch.setattr(strict_matching, "MOST_UNLIKE", 0)
    for seed in range(50 * block, 50 * (block + 1)):
        gold, answer, terms = case(seed, most_rows=5)
        found, ignore_order = [], seed % 3 > 0
        for most in (0, 1 << 60):
            monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", most)
            strict = judge_table(answer, gold, terms, ignore_order=ignore_order)
            found.append((strict.value, strict.reason.split()[0] if strict.value == 0 else ""))
        assert found[0] == found[1], (seed, gold.columns, answer.columns, terms)
        names = gold.header, answer.header
        model = strict_table.score_tables(gold.columns, answer.columns, not ignore_order, terms.abs_tol, terms.rel_tol, names=names)  # type: ignore[arg-type]
        assert found[0][0] == model, (seed, gold.columns, answer.columns, terms)
        values.add(found[1][0])
    assert values == {0.0, 1.0}


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 120))])
def test_packed_tables_get_the_official_counts_of_lists(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 drawn tables a block, both orders and all references: the same verdict, closest column and number of differing cells."""
    n_wrong = 0
    for seed in range(100 * block, 100 * (block + 1)):
        gold, answer, _ = case(seed)
        found, reference = [], ("original", "lite", "dbt")[seed % 7 % 3]
        for most in (0, 1 << 60):
            monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", most)
            score = match_table(answer, gold, ignore_order=seed % 2 > 0, reference=reference)  # type: ignore[arg-type]
            found.append((score.official, *(score.details.get(name) for name in ("gold_column", "predicted_column", "n_differ"))))
        assert found[0] == found[1], (seed, gold.columns, answer.columns, reference)
        n_wrong += found[0][0] == 0
    assert n_wrong > 15


CELLS = st.sampled_from([None, 0, 1, 2, 1.0, 2.5, "a", "A", "1", "", b"a"])


def by_every_permutation(gold: list[Row], predicted: list[Row], *, ordered: bool) -> bool:
    """Slow and obviously right: each order of columns in turn, after the evaluator's own look at rows with sorted cells."""
    if not gold and not predicted:
        return True
    if len(gold) != len(predicted) or len(gold[0]) != len(predicted[0]):
        return False
    own, others = ([sorted(row, key=lambda cell: str(cell) + str(type(cell))) for row in side] for side in (gold, predicted))
    if own != others if ordered else {tuple(row) for row in own} != {tuple(row) for row in others}:
        return False
    for order in permutations(range(len(gold[0]))):
        moved = [tuple(row[k] for k in order) for row in predicted]
        if gold == moved or (not ordered and Counter(gold) == Counter(moved)):
            return True
    return False


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Two results of up to 4 columns and 5 rows: the second is the first moved about, with a cell exchanged now and then."""
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(*[CELLS] * width), max_size=5))
    order, others = draw(st.permutations(range(width))), draw(st.permutations(rows))
    moved = [tuple(row[k] for k in order) for row in others]
    if moved and draw(st.booleans()):
        at, column = draw(st.integers(0, len(moved) - 1)), draw(st.integers(0, width - 1))
        moved[at] = (*moved[at][:column], draw(CELLS), *moved[at][column + 1 :])
    return rows, moved


@examples(300)
@given(pair=pairs(), ordered=st.booleans())
def test_bags_as_every_permutation_finds_them(pair: tuple[list[Row], list[Row]], ordered: bool) -> None:
    """The same verdict for small results of mixed cells, in order and in any order."""
    assert equal_as_bags(*pair, ordered=ordered) == by_every_permutation(*pair, ordered=ordered)


def test_a_search_without_end_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that no row tells apart, in two results that differ: the search stops, counted and not timed."""
    n = 14
    rows = [tuple(int(k in (i, (i + 1) % n)) for k in range(n)) for i in range(n)]
    # Two rings of seven in place of one of fourteen: each column and each row looks the same.
    half = n // 2
    rings = [tuple(int(k in (i, i - i % half + (i % half + 1) % half)) for k in range(n)) for i in range(n)]
    assert not equal_as_bags(rows, rings, ordered=False)
    monkeypatch.setattr("evalsuite.compare.result_sets._MOST_STEPS", 200)
    with pytest.raises(FaultError, match="no matching order of 14 columns was found within 200 steps"):
        equal_as_bags(rows, rings, ordered=False)
