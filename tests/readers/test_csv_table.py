"""CSV files: the cells are those pandas reads, and whatever a file does, it does as a fault, or in words for who wrote it."""

import bz2
import gzip
import io
import lzma
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.types import Table
from evalsuite.readers import csv_table
from evalsuite.readers.csv_dialect import Dialect, detect_dialect
from evalsuite.readers.csv_table import read_csv_table, read_named_rows
from evalsuite.readers.limits import resolve_limits
from evalsuite.scorers.table_match import table_problems
from tests.conftest import corpus
from tests.properties import examples


def read(data: bytes | str, name: str = "r.csv", **limits: int) -> Table:
    """The table of a content."""
    raw = data if isinstance(data, bytes) else data.encode()
    return read_csv_table(io.BytesIO(raw), name=name, limits=resolve_limits(limits))


def fault(data: bytes | str, name: str = "r.csv", **limits: int) -> tuple[str, str]:
    """Code and detail of the fault a content raises."""
    with pytest.raises(FaultError) as caught:
        read(data, name, **limits)
    return caught.value.fault.code, caught.value.fault.detail


def cells(table: Table) -> list[list[str]]:
    """A table's columns as lists, an absent field as empty text, as pandas has it without typing."""
    return [["" if cell is None else cell for cell in column] for column in table.columns]


def as_pandas_reads(data: bytes) -> list[list[str]] | None:
    """The text columns pandas makes of the bytes, or None where it refuses them."""
    try:
        frame = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)
    except ValueError:
        return None
    return [frame.iloc[:, i].tolist() for i in range(frame.shape[1])]


@pytest.mark.parametrize(
    ("text", "header", "columns", "why"),
    [
        ("a,b\n1,x\n2,y\n", ("a", "b"), [["1", "2"], ["x", "y"]], "a plain table"),
        ("a,b\n1,x\n2,y", ("a", "b"), [["1", "2"], ["x", "y"]], "no newline at the end"),
        ("\ufeffa,b\r\n1,x\r\n", ("a", "b"), [["1"], ["x"]], "BOM and CRLF"),
        ('"a","b"\n"1,5","x ""y"""\n', ("a", "b"), [["1,5"], ['x "y"']], "quotes"),
        ('a,b\n"1\n2",x\n', ("a", "b"), [["1\n2"], ["x"]], "a newline inside quotes stays"),
        ("\n\na,b\n\n1,x\n\n\n2,y\n\n", ("a", "b"), [["1", "2"], ["x", "y"]], "blank lines are no rows"),
        ('a\n1\n""\n\n2\n', ("a",), [["1", "", "2"]], "an empty field in quotes is a row, a blank line is not"),
        ("a\n1\n  \n2\n", ("a",), [["1", "2"]], "a line of blanks is no row"),
        ('a\n"  "\n', ("a",), [["  "]], "but it is one in quotes"),
        ("a,b,c\n1\n1,2\n1,2,3\n", ("a", "b", "c"), [["1", "1", "1"], [None, "2", "2"], [None, None, "3"]], "short rows are filled"),
        ("a,b\n", ("a", "b"), [[], []], "a header alone"),
        ("id,id\n1,2\n", ("id", "id"), [["1"], ["2"]], "equal headers"),
        ("a\n NA \n007\n1e400\n", ("a",), [[" NA ", "007", "1e400"]], "cells stay text"),
    ],
)
def test_cells_are_the_text_that_stands_in_the_file(text: str, header: tuple[str, ...], columns: list[list[str]], why: str) -> None:
    """Header, columns and row count."""
    table = read(text)
    assert (table.header, [list(column) for column in table.columns]) == (header, columns), why
    assert (table.n_rows, table.types, table.ragged_line) == (len(columns[0]), None, None)


# Texts that begin with the letters of another format.
LIKE_FORMATS = (b"ORCHID", b"BZh91", b"PAR1", b"ARROW1", b"MALLARD DUCK")


@pytest.mark.parametrize(
    ("data", "code", "detail"),
    [
        ("", "BAD_CSV", "the file is empty"),
        ("\n\n\n", "BAD_CSV", "the file is empty"),
        ("   \n\t\n", "BAD_CSV", "the file is empty"),
        ("\ufeff", "BAD_CSV", "the file is empty"),
        ("a,b,c\n1,2,3\n1,2,3,4\n", "BAD_CSV", "line 3 has 4 fields, the lines before it 3"),
        ('a,b\n1,2\n\n3,"4\n', "BAD_CSV", "a quote is never closed, in the row that begins on line 4"),
        ('a,"b\n1', "BAD_CSV", "a quote is never closed, in the row that begins on line 1"),
        (b"a\ncaf\xe9\n", "BAD_ENCODING", "the text is not UTF-8: line 2 contains the byte 0xE9"),
        (
            '[\n{"a": 1}\n{"a": 1, "b": 2}]\n',
            "BAD_CSV",
            "line 3 has 2 fields, the lines before it 1; the file begins like JSON, not like a CSV: '['",
        ),
        (
            "sep=;\na;b\n1,2;3\n4;5,6,7\n",
            "BAD_CSV",
            "line 3 has 2 fields, the lines before it 1; the file begins like Excel's `sep=` line, not like a CSV: 'sep=;'",
        ),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
            "BAD_CSV",
            "the file is a pointer of Git LFS, not the file itself: `git lfs pull` fetches it",
        ),
        (b"%PDF-1.7\n\xff", "BAD_ENCODING", "the file is PDF, not a CSV in UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "BAD_ENCODING", "the file is UTF-16, not a CSV in UTF-8"),
        (gzip.compress(b"a\n1\n", mtime=0), "BAD_ENCODING", "the file is packed by gzip, not a CSV in UTF-8"),
        (
            "- id: 1\n  name: a\n- id: 2\n  name: b, c\n",
            "BAD_CSV",
            "line 4 has 2 fields, the lines before it 1; the file begins like YAML, not like a CSV: '- id: 1'",
        ),
        *((text + b",\xe9\n1,2\n", "BAD_ENCODING", "the text is not UTF-8: line 1 contains the byte 0xE9") for text in LIKE_FORMATS),
        (bz2.compress(b"a\n"), "BAD_ENCODING", "the file is packed by bzip2, not a CSV in UTF-8"),
        (b"PAR1\x15\xff", "BAD_ENCODING", "the file is Parquet, not a CSV in UTF-8"),
        (b"\xff" * 8 + b"DUCK@\0", "BAD_ENCODING", "the file is a DuckDB database, not a CSV in UTF-8"),
    ],
)
def test_a_file_that_is_no_table_is_a_fault_with_its_line(data: bytes | str, code: str, detail: str) -> None:
    """The text is ours, the line is the file's."""
    assert fault(data) == (code, detail)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_the_name_says_how_a_file_is_compressed(ending: str, pack: Any) -> None:
    """As pandas takes it; what is inside is capped as it is unpacked."""
    packed = pack(b"a\n1\n")
    assert cells(read(packed, f"r.csv{ending}")) == [["1"]]
    assert cells(read(packed, f"R.CSV{ending.upper()}")) == [["1"]]
    assert fault(b"a\n1\n", f"r.csv{ending}") == ("BAD_CSV", "the compressed file cannot be unpacked")
    assert fault(packed[:-6], f"r.csv{ending}") == ("BAD_CSV", "the compressed file cannot be unpacked")
    bomb = pack(b"a\n" + b"1" * 100_000)
    assert read(bomb, f"r.csv{ending}", file_bytes=100_002).n_rows == 1
    assert fault(bomb, f"r.csv{ending}", file_bytes=100_001)[0] == "LIMIT"
    assert fault(bomb, f"r.csv{ending}", file_bytes=50_000) == ("LIMIT", "unpacked, the file has more than 50000 bytes (limit file_bytes)")


@pytest.mark.parametrize("name", ["r.zip", "R.TAR", "r.Tar.gz", "r.csv.zst", "r.tgz"])
def test_archives_are_refused(name: str) -> None:
    """An archive holds names of its own."""
    assert fault(b"a\n1\n", name)[0] == "BAD_CSV"


@pytest.mark.parametrize(
    ("data", "limit", "most", "code"),
    [
        ("a\n1\n2\n3\n", "rows", 3, "LIMIT"),
        ("a,b,c\n1,2,3\n", "columns", 3, "LIMIT"),
        ("a,b,c\r1,2,3\r", "columns", 3, "LIMIT"),
        ("a,b\n1,2,3\n", "columns", 3, "LIMIT"),
        ("a,b\n1,2\n3,4\n", "cells", 4, "LIMIT"),
        ("a,b\n1,2,3\n", "cells", 2, "LIMIT"),
        ("a,b\r1,2\r3,4\r", "cells", 4, "LIMIT"),
        ("a\n" + "x" * 200_000 + "\n", "cell_bytes", 200_000, "LIMIT"),
        ("x" * 400 + "\n1\n", "cell_bytes", 100, "LIMIT"),
        ('"a,b,c",d\n1,2\n', "columns", 2, "LIMIT"),
        ("a\n" + "1" * 98, "file_bytes", 100, "TOO_LARGE"),
    ],
)
def test_each_cap_is_named_by_its_limit(data: str, limit: str, most: int, code: str) -> None:
    """On the short way and on pandas' way alike, and not before it is exceeded."""
    assert read(data, **{limit: most}).n_rows
    found, detail = fault(data, **{limit: most - 1})
    assert found == code
    assert f"limit {limit}" in detail


@pytest.mark.parametrize(
    ("where", "data", "detail"),
    [
        ("evalsuite.readers.csv_table.csv.reader", "a\n1\n", "the table does not fit into memory_mib"),
        ("pandas.read_csv", "a\r1\r", "the table does not fit into memory_mib"),
        ("gzip.GzipFile.read", "a\n1\n", "the file does not fit into memory_mib"),
    ],
)
def test_a_table_that_does_not_fit_is_a_limit(where: str, data: str, detail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On each way, wherever memory ends."""

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    packed = gzip.compress(data.encode())
    monkeypatch.setattr(where, fail)
    assert (fault(packed, "r.csv.gz") if where.startswith("gzip") else fault(data)) == ("LIMIT", detail)


FIELDS = st.one_of(
    st.text(alphabet=" \t,\"'aé1.\n\r\0\u2028\ufeff", max_size=4), st.sampled_from(["", "NA", '"x"', '""', '"a,b"', '"', '"a"b', " ", "1"])
)
TEXTS = st.lists(st.lists(FIELDS, max_size=4).map(",".join), max_size=6).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda newline: newline.join(lines))
)


@examples(400)
@example("a,b\n1\n")
@example(" \na\n")
@example('""\n1\n')
@example("\ufeff\ufeffa\n1\n")
@example("a\r1\r")
@given(TEXTS)
def test_the_columns_are_those_of_pandas_whatever_the_text(text: str) -> None:
    """The short way through the csv module must not be told from pandas."""
    data = text.encode()
    expected = as_pandas_reads(data)
    try:
        table = read(data)
    except FaultError:
        assert expected is None
        return
    assert cells(table) == expected
    assert all(len(column) == table.n_rows for column in table.columns)


@pytest.mark.conformance
@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_every_recorded_csv_file_has_the_columns_pandas_reads(step: int) -> None:
    """All gold tables and the exact and mutated answers of one folder of the recorded submissions; in the test line every eighth."""
    folder = corpus("spider2")
    files = sorted([*(folder / "gold").rglob("*.csv"), *(folder / "submissions" / "mixed_1").rglob("*.csv")])
    for file in filter(lambda place: place.is_file(), files[::step]):
        data = file.read_bytes()
        expected = as_pandas_reads(data)
        try:
            table = read(data)
        except FaultError:
            assert expected is None, file.name
        else:
            assert cells(table) == expected, file.name
    assert files


def test_dialects_and_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Semicolons, Latin-1 and decimal commas give the default's cells; blank, short and full rows meet across blocks."""
    dialect = Dialect(delimiter=";", encoding="latin-1", decimal=",")
    raw = 'name;n;note\n"é; a";1,5;1,5 and more\n\n;-2,25e3;"x ""y"""\n'
    found = read_csv_table(io.BytesIO(raw.encode("latin-1")), name="t.csv", limits=resolve_limits(), dialect=dialect)
    assert found.header == ("name", "n", "note")
    assert [list(column) for column in found.columns] == [["é; a", ""], ["1.5", "-2.25e3"], ["1,5 and more", 'x "y"']]
    assert Dialect(delimiter=";").rewritten(b"a;b\n1,5;2.5\n") == b'a,b\n"1,5",2.5\n'
    with pytest.raises(FaultError) as refused:
        read_csv_table(io.BytesIO(b"a\n\xff\n"), name="t.csv", limits=resolve_limits(), dialect=Dialect(delimiter=";"))
    assert (refused.value.fault.code, refused.value.fault.detail) == ("BAD_ENCODING", "")
    for encoding in ("utf-16", "punycode"):
        with pytest.raises(FaultError) as refused:
            Dialect(encoding=encoding).rewritten(b"a,b\n1,23\n")
        why = f"the text is not {encoding}, the encoding of the check"
        assert (refused.value.fault.code, refused.value.fault.detail) == ("BAD_ENCODING", why)
    with pytest.raises(FaultError) as refused:
        Dialect(delimiter=";").rewritten(b'a;"b\n')
    assert (refused.value.fault.code, refused.value.fault.detail) == ("BAD_CSV", "the rows cannot be separated")
    monkeypatch.setattr(csv_table, "_BLOCK_ROWS", 2)
    assert cells(read("a,b\n\n\n1\n2\n3,x\n4,y\n\n5,z\n")) == [["1", "2", "3", "4", "5"], ["", "", "x", "y", "z"]]
    assert fault("\n\na,b\n\n1\n2\n3,x,y\n") == ("BAD_CSV", "line 7 has 3 fields, the lines before it 2")


@pytest.mark.parametrize(
    "wrong",
    [
        {"delimiter": ";;"},
        {"delimiter": ""},
        {"delimiter": "\n"},
        {"decimal": ".."},
        {"decimal": ","},
        {"decimal": "5"},
        {"encoding": "utf-9"},
    ],
)
def test_a_dialect_that_no_file_can_have_is_a_problem(wrong: dict[str, str]) -> None:
    """It is reported before the run, and it is not the fault of an answer."""
    with pytest.raises(FaultError) as fault:
        Dialect.from_parameters(wrong).rewritten(b"a\n1\n")
    assert fault.value.side == "setup"
    assert Dialect.from_parameters(wrong).problem()
    assert not Dialect.from_parameters({"gold": "t.csv", "delimiter": ";", "decimal": ","}).problem()
    assert [problem.code for problem in table_problems({"gold": "t.csv", **wrong})] == ["BAD_SPEC"]


@pytest.mark.parametrize(
    ("head", "delimiter", "encoding"),
    [
        (b"a,b;c;d", ";", "utf-8"), (b"a,b", ",", "utf-8"), (b"a\tb,c\n;;;;", ",", "utf-8"), (b"a|b", "|", "utf-8"), (b"", ",", "utf-8"),
        (b'"a;b;c",d', ",", "utf-8"), ("\ufeffa;b".encode(), ";", "utf-8"), ("a;b".encode("utf-16"), ";", "utf-16"),
        (b"\xfe\xff" + "a\tb".encode("utf-16-be"), "\t", "utf-16"), ("\u4e00".encode("utf-16"), ",", "utf-8"), (b"\xff\xfd", ",", "utf-8"),
        (b"x" * 9_999 + b";,", ";", "utf-8"), (b"x" * 10_000 + b";", ",", "utf-8"),
    ],
)  # fmt: skip
def test_the_dialect_that_a_file_begins_in(head: bytes, delimiter: str, encoding: str) -> None:
    """The delimiter that makes most columns of the first line's first 10,000 characters; UTF-16 by its mark, if some of it is ASCII."""
    assert detect_dialect(head) == Dialect(delimiter=delimiter, encoding=encoding)


@pytest.mark.parametrize(
    ("message", "ragged", "detail"),
    [
        ("Error tokenizing data. C error: Expected 2 fields in line 3, saw 4", None, "line 3 has 4 fields, the lines before it 2"),
        ("EOF inside string starting at row 1", 5, "a quote is never closed, in the row that begins on line 7"),
        ("anything", 5, "line 5 has more fields than the header"),
        ("anything", None, "the rows cannot be separated"),
    ],
)
def test_what_is_taken_of_an_error_of_pandas(message: str, ragged: int | None, detail: str) -> None:
    """Its numbers; the text is ours."""
    assert csv_table._parser_detail(message, ragged, 7) == detail


def test_rows_keep_their_lines(tmp_path: Path) -> None:
    """Blank lines are none, an empty quoted cell is a row, a BOM and CR are understood, a cell may be long; absent files are said."""
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeffa,b\n1,2\n\n"",\n"x\ny"\n'.encode())
    assert read_named_rows(path) == (["a", "b"], [(2, ["1", "2"]), (4, ["", ""]), (6, ["x\ny"])])
    path.write_bytes("a,b\n1,é\n".encode("utf-16"))
    assert read_named_rows(path) == (["a", "b"], [(2, ["1", "é"])])
    path.write_bytes(b"a,b\r1,2\r3,%b\r" % (b"x" * 200_000))
    assert read_named_rows(path) == (["a", "b"], [(2, ["1", "2"]), (3, ["3", "x" * 200_000])])
    for path, why in ((tmp_path / "b.csv", "no such file"), (tmp_path, "expected a file, found a folder")):
        with pytest.raises(UsageError, match=f"cannot be read as CSV: {why}"):
            read_named_rows(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"a;b\n1;2\n", "'a;b' is one column: is the delimiter a semicolon?"),
        (b"a\tb\n1\t2\n", "is the delimiter a tab?"),
        (b"a|b\n", "is the delimiter a bar?"),
        (b"\xff\xfea", "cannot be read as CSV: not UTF-8"),
        ("name,city\na,Wien\nb,Köln\n".encode("cp1252"), "cannot be read as CSV: not UTF-8, first in line 3"),
        (b"a,b\n1,2,3\n", "a.csv:2: 3 fields, the header has 2"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes, message: str) -> None:
    """One sentence with the file, and what a file has to look like."""
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_named_rows(path)
    assert str(path) in caught.value.message
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("packer", [gzip, bz2, lzma])
def test_a_damaged_archive(tmp_path: Path, packer: Any) -> None:
    """Cut, with other bytes in the middle, or no archive at all: the same sentence."""
    text = b"id,label\n" + b"x,1\n" * 3000
    whole = packer.compress(text)
    path = tmp_path / {gzip: "a.csv.gz", bz2: "a.csv.bz2", lzma: "a.csv.xz"}[packer]
    for content in (whole[: len(whole) // 2], whole[:20] + b"\xff" * 3 + whole[23:], text):
        path.write_bytes(content)
        with pytest.raises(UsageError, match="cannot be read as CSV: the compressed file cannot be unpacked"):
            read_named_rows(path)
