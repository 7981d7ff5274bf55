"""Packed text: what is packed comes back, equal texts are equal at every length, and nothing of another shape is read."""

from collections.abc import Sequence

import numpy as np
import pytest

from evalsuite.compare.columns import as_values, from_message, packed_of, packed_table, to_message
from evalsuite.compare.packed_text import (
    NULL,
    Keys,
    Packed,
    frame_of,
    is_same_run,
    pack_lists,
)
from tests.compare.tables.test_table import text_table


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


@pytest.mark.parametrize(
    ("frames", "width", "types", "message"),
    [
        ([GOOD], 2, None, ""), ([GOOD, GOOD], 2, ("VARCHAR", "VARCHAR"), ""), ([GOOD], 2, ("VARCHAR",), "other types"),
        ([GOOD], 2, ("VARCHAR", "BLOB"), "other types"), ([GOOD[:10]], 2, None, "not a packed block"),
        ([b"X" + GOOD[1:]], 2, None, "not a packed block"),
        ([b""], 2, None, "not a packed block"), ([GOOD], 3, None, "another shape"), ([GOOD], 1, None, "another shape"),
        ([GOOD[:19]], 2, None, "another shape"),
        ([GOOD[:17] + b"\2" + GOOD[18:]], 2, None, "another shape"), ([GOOD + b"x"], 2, None, "do not fit"),
        ([GOOD[:-1]], 2, None, "do not fit"),
        ([GOOD[:18] + b"\3" + GOOD[19:]], 2, None, "do not fit"), ([GOOD, GOOD[:-2]], 2, None, "do not fit"),
    ],
)  # fmt: skip
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
