"""A CSV file in blocks: the cells of the exact reader, or none at all."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.columns import UnreadTable, packed_of
from evalsuite.compare.packed_text import OddError
from evalsuite.core.errors import FaultError
from evalsuite.readers import csv_table
from evalsuite.readers import csv_table as csv_blocks
from evalsuite.readers.csv_table import CsvBlocks, open_csv_table, read_csv_table, stream_csv_table
from evalsuite.readers.limits import Limits, resolve_limits
from tests.properties import examples

LIMITS = resolve_limits()


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_blocks, "_CHUNK", 7)


def blocks_of(data: bytes, limits: Limits = LIMITS) -> CsvBlocks:
    return CsvBlocks(
        lambda: io.BytesIO(data), limits=limits, read_table=lambda: read_csv_table(io.BytesIO(data), name="t.csv", limits=limits)
    )


def cells_of(data: bytes) -> tuple[list[str], list[list[str]]] | None:
    """(header, columns) by blocks, None where the file is not plain enough."""
    source = blocks_of(data)
    try:
        header = list(source.header())
        columns: list[list[str]] = [[] for _ in header]
        for block in source.blocks():
            for k, column in enumerate(columns):
                column.extend(block.texts(k))
    except OddError:
        return None
    return header, columns


def exactly(data: bytes) -> tuple[list[str], list[list[str]]] | None:
    try:
        table = read_csv_table(io.BytesIO(data), name="t.csv", limits=LIMITS)
    except FaultError:
        return None
    return list(table.header), [["" if cell is None else cell for cell in column] for column in table.columns]


@examples(1000)
@given(st.text(alphabet='ab1,,"\r\n\n \té\0', max_size=40))
def test_any_text(text: str) -> None:
    """Whatever stands in a file, blocks hold what the exact reader reads, or the exact reader is asked."""
    found = cells_of(text.encode())
    assert found is None or found == exactly(text.encode())


@examples(1000)
@given(
    st.integers(2, 4).flatmap(
        lambda n: st.lists(st.lists(st.text("ab1, é\n", max_size=12), min_size=n, max_size=n), min_size=2, max_size=9)
    ),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_plain_files_come_in_blocks(rows: list[list[str]], quoting: int, end: str, bom: bool) -> None:
    """A file as writers write it is never odd."""
    text = io.StringIO()
    csv.writer(text, quoting=quoting, lineterminator=end).writerows(rows)  # type: ignore[arg-type]
    data = b"\xef\xbb\xbf" * bom + text.getvalue().encode()
    found = cells_of(data)
    assert found == (rows[0], [list(column) for column in zip(*rows[1:], strict=True)])
    assert found == exactly(data)


@pytest.mark.parametrize(
    "data",
    [
        *(b'a,b\n1,"x""y"\n', b"a,b\n1\n", b"a,b\n1,2,3\n", b"a,b\n\n1,2\n", b"a\n\n1\n", b"a,b\n1,\x00\n", b'"a","b"\n"1","\x00"\n'),
        *(b'"a","b"\n"1","2","3"\n', b'"a","b"\n"1"\n"2","3","4"\n'),
        *(b"a\n \n1\n", b"a\n\t\n1\n", b'a\n""\n1\n', b"", b"a,b\n1,2\r", b"a,b\n1,2\r\n3,4\r"),
        *(b"a,b\n1,\xff\n", b'"a","b"\n"1","\xff"\n', b"a,b\r1,2\r", b'a,b\n1,"x\n'),
    ],
)
def test_odd_files_are_left_to_the_exact_reader(data: bytes) -> None:
    """Quotes within fields, ragged rows, blank lines, NUL, other encodings, lone returns, open quotes."""
    assert cells_of(data) is None


@pytest.mark.parametrize("chunk", [7, 1 << 20])
@pytest.mark.parametrize("ends", [("\r\n", "\n", "\n"), ("\n", "\r\n", "\n"), ("\n", "\n", "\r\n")])
def test_line_ends_of_two_kinds(ends: tuple[str, ...], chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one block they are left to the exact reader, in several each has its own."""
    monkeypatch.setattr(csv_table, "_CHUNK", chunk)
    data = "".join(f'"{line}","b"{end}' for line, end in enumerate(ends)).encode()
    assert cells_of(data) in (None, exactly(data))


@pytest.mark.parametrize(("limit", "most"), [("rows", 51), ("cells", 102)])
def test_limits_hold(limit: str, most: int) -> None:
    """Too many rows or cells, with the header, are no blocks; the exact reader names the limit."""
    data = b"a,b\n" + b"1,2\n" * 50
    assert sum(map(len, blocks_of(data, resolve_limits({limit: most})).blocks())) == 50
    source = blocks_of(data, resolve_limits({limit: most - 1}))
    with pytest.raises(OddError):
        list(source.blocks())
    with pytest.raises(FaultError):
        blocks_of(data, resolve_limits({limit: 40})).read_table()


@pytest.mark.parametrize("size", [131_072, 131_073])
def test_a_cell_beyond_the_longest_is_left_to_the_exact_reader(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 131,072 bytes it is read in blocks, with quotes and without."""
    monkeypatch.setattr(csv_table, "_CHUNK", 1 << 20)
    cell = "x" * size
    for text in (f"a,b\n{cell},1\n", f'"a","b"\n"{cell}","1"\n'):
        assert cells_of(text.encode()) == ((["a", "b"], [[cell], ["1"]]) if size == 131_072 else None)


def test_size_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty-four blocks are searched for the end of a row; small files are read at once, big ones packed, compressed ones never."""
    for chunk, most in ((3, 195), (7, 451)):
        monkeypatch.setattr(csv_table, "_CHUNK", chunk)
        for size in (most - 1, most):
            header = "x" * (size - 2) + ",b"
            assert cells_of(f"{header}\n1,2\n".encode()) == (([header[:-2], "b"], [["1"], ["2"]]) if size < most else None)
    data = b"a,b\n" + b"1,2\n" * 50
    assert not isinstance(open_csv_table(lambda: io.BytesIO(data), name="t.csv", limits=LIMITS), UnreadTable)
    assert isinstance(open_csv_table(lambda: io.BytesIO(data * 1500), name="t.csv", limits=LIMITS), UnreadTable)
    monkeypatch.setattr(csv_table, "PACKED_BYTES", 100)
    for name, why in (("t.zip", "archives are not read"), ("t.csv.GZ", "cannot be unpacked")):
        with pytest.raises(FaultError, match=why):
            open_csv_table(lambda: io.BytesIO(data), name=name, limits=LIMITS)
    table = stream_csv_table(lambda: io.BytesIO(data), name="t.csv", limits=LIMITS)
    assert packed_of(table) is not None
    assert (table.n_rows, table.header, list(table.columns[1])) == (50, ("a", "b"), ["2"] * 50)


@pytest.mark.parametrize(("n_columns", "then"), [(99, 1), (100, 4)])
def test_how_much_is_read_at_once(n_columns: int, then: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte, of a wide table four."""
    monkeypatch.undo()
    sizes = list[int | None]()

    class Counted(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            sizes.append(size)
            return super().read(size)

    rows = [["x"] * n_columns] * 2
    list(csv_table._blocks_of_rows(Counted("".join(",".join(row) + "\n" for row in rows).encode())))
    assert sizes == [3, 1 << 20, then << 20]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quotes_around_all_fields_are_all_that_is_looked_for(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other separator is searched for, whatever the fields contain, in the first block and in those behind it."""
    monkeypatch.setattr(csv_table, "_separators", None)
    rows = [["a", "b", "c"], ["1,\n", "é,", ""], ["", "2", "x" * 30], *[["3", "", "4"]] * 9]
    data = "".join(",".join(f'"{cell}"' for cell in row) + end for row in rows).encode()
    for size in (48, 1 << 20):
        monkeypatch.setattr(csv_table, "_CHUNK", size)
        expected = (rows[0], [list(column) for column in zip(*rows[1:], strict=True)])
        assert cells_of(data) == cells_of(data.removesuffix(end.encode())) == expected
