"""A file that a person names is read by its ending, or by its first bytes where the name says nothing."""

import functools
import gzip
import json
import mimetypes
import re
import sqlite3
import sys
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import FaultError, MissingExtraError, UsageError
from evalsuite.core.types import Table
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_table import as_texts, ending_of, is_sqlite, load_table, read_workbook
from evalsuite.suites import stored_suites
from evalsuite.suites.recognition import look_inside
from evalsuite.suites.stored_suites import FileLimitError, read_columns
from tests.duckdb_files import opened

LIMITS = resolve_limits()
ROWS = [(1, "a"), (2, None)]


@pytest.mark.parametrize(
    ("name", "content", "ending"),
    [
        ("a.CSV", b"", ".csv"),
        ("a.csv.gz", b"", ".csv"),
        ("a.txt.gz", b"a,b\n1,2\n", ""),
        ("a.ndjson", b"", ".jsonl"),
        ("a.pq", b"", ".parquet"),
        ("a.tab", b"", ".tsv"),
        ("a.psv", b"", ".csv"),
        ("a.db", b"", ".db"),
        ("a.docx", b"a,b\n1,2\n", ""),
        ("a.csv.bak", b"a,b\n1,2\n", ".csv"),
        ("a", b"PAR1", ".parquet"),
        ("a.bin", b"SQLite format 3\0", ".sqlite"),
        ("a.dat", b"12345678DUCK", ".duckdb"),
        ("a.out", b"PK\x03\x04..xl/", ".xlsx"),
        ("a.out", b"PK\x03\x04..", ""),
        ("a.txt", b'\xef\xbb\xbf [{"a": 1}]', ".json"),
        ("a.txt", b'{"a": 1}\n\n{"a": 2} \n', ".jsonl"),
        ("a.txt", b'{"a": 1}\n', ".json"),
        ("a.txt", b'{"a":\n{"b": 1}}\n', ".json"),
        ("a.txt", b'{"a": 1}\n[2]\n', ".json"),
        ("a.txt", b"a;b\n1;2\n3", ".csv"),
        ("a.txt", b"a,b\n1,2,3\n4,5\n", ""),
        ("a.txt", b"a,b\n", ""),
        ("a.txt", b"a,b\n1,2\n", ".csv"),
        ("a.txt", b"one\ntwo\n", ""),
        ("a.txt", b"a,b\0\n1,2\n", ""),
        ("a.txt", b" \n", ""),
        ("a.txt", b"\n".join([b"a,b"] * 21 + [b"one", b"two"]), ".csv"),
        ("a.txt", b"\n".join([b"a,b"] * 19 + [b"one", b"two"]), ".csv"),
        ("a.txt", b"\n".join([b"a,b"] * 18 + [b"one", b"a,b"]), ""),
        ("a.out", b"PK\x03\x04".ljust(65_533, b".") + b"xl/", ".xlsx"),
        ("a.out", b"PK\x03\x04".ljust(65_534, b".") + b"xl/", ""),
    ],
)
def test_what_a_file_is(tmp_path: Path, name: str, content: bytes, ending: str) -> None:
    """Its name decides; a name that says nothing is looked into, twenty lines deep."""
    (tmp_path / name).write_bytes(content)
    assert ending_of(tmp_path / name) == ending


def made_files(folder: Path) -> dict[str, tuple[Path, tuple[str, ...] | None]]:
    """The same table in each format, with the types of its cells if they are native."""
    text = "n,t\n1,a\n2,\n"
    (folder / "a.csv").write_text(text)
    (folder / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "a.tsv").write_text("n\tt\n1\ta\n2\n")
    (folder / "a.json").write_text(json.dumps([{"n": n, "t": t} for n, t in ROWS]))
    with sqlite3.connect(folder / "a.sqlite") as lite:
        lite.execute('CREATE TABLE "odd ""name""" (n, t)')
        lite.executemany('INSERT INTO "odd ""name""" VALUES (?, ?)', ROWS)
    lite.close()
    with opened(folder / "a.duckdb") as duck:
        duck.execute("CREATE TABLE t (n INTEGER, t VARCHAR); INSERT INTO t VALUES (1, 'a'), (2, NULL)")
        duck.execute(f"COPY t TO '{folder / 'a.parquet'}' (FORMAT parquet)")
    types = ("INTEGER", "VARCHAR")
    return {path.suffix: (path, types if path.suffix in (".duckdb", ".parquet") else None) for path in sorted(folder.iterdir())}


def test_every_format_has_the_same_table(tmp_path: Path) -> None:
    """Native or as texts it is one table, a copy read in its place; no ending is none, and a Parquet file's name no pattern."""
    for ending, (path, types) in made_files(tmp_path).items():
        table = load_table(path, LIMITS)
        assert isinstance(table, Table), ending
        assert (table.types, table.n_rows, table.header) == (types, 2, ("n", "t"))
        assert [[cell or None for cell in column] for column in as_texts(table).columns] == [["1", "2"], ["a", None]], ending
        if types:
            assert list(table.columns[0]) == [1, 2]
        assert as_texts(table).types is None
    copy = tmp_path / "copy"
    (tmp_path / "a.sqlite").rename(copy)
    (tmp_path / "a.sqlite").write_bytes(b"")
    assert load_table(tmp_path / "a.sqlite", LIMITS, private=copy).n_rows == 2
    assert (is_sqlite(copy), is_sqlite(tmp_path / "a.csv")) == (True, False)
    (tmp_path / "a.csv").write_text("n;t\n1;a,b\n")
    assert load_table(tmp_path / "a.csv", LIMITS).header == ("n", "t")
    assert ending_of(tmp_path / "nothing") == ""
    folder = tmp_path / "year=2024"
    folder.mkdir()
    with opened(tmp_path / "d.duckdb") as duck:
        for name in ("a1", "a[1]", "a*"):
            duck.execute(f"COPY (SELECT '{name}' AS name) TO '{folder / name}.parquet' (FORMAT parquet)")
    for name in ("a1", "a[1]", "a*"):
        table = load_table(folder / f"{name}.parquet", LIMITS)
        assert (table.header, list(table.columns[0])) == (("name",), [name])
    path = folder / "a1.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_suites, "DEFAULT_LIMITS", resolve_limits({"table_bytes": 1}))
        with pytest.raises(FileLimitError, match=r"has more than 1 bytes \(limit table_bytes\)"):
            read_columns(path)
        patch.setattr(stored_suites, "DEFAULT_LIMITS", {**LIMITS, "cells": 0})
        with pytest.raises(FaultError, match="has more rows or cells") as refused:
            look_inside(str(path))
    assert refused.value.fault.code == "LIMIT"


@pytest.mark.parametrize("limits", [{"rows": 1}, {"cells": 3}])
@pytest.mark.parametrize("ending", [".tsv", ".sqlite", ".parquet", ".duckdb"])
def test_more_than_the_limits_allow(tmp_path: Path, ending: str, limits: dict[str, int]) -> None:
    """Two rows of two cells are a row or a cell too many, and just enough for limits of two and four."""
    path = made_files(tmp_path)[ending][0]
    with pytest.raises(FaultError) as refused:
        load_table(path, resolve_limits(limits))
    assert (refused.value.fault.code, refused.value.fault.where) == ("LIMIT", str(path))
    assert load_table(path, resolve_limits({"rows": 2, "cells": 4})).n_rows == 2


@pytest.mark.parametrize(
    ("value", "is_table"),
    [([{"a": 1}, {"b": None}], True), ([], False), ({"a": 1}, False), ([{"a": [1]}], False), ([{"a": {}}], False), ([1], False)],
)
def test_json_records(tmp_path: Path, value: Any, is_table: bool) -> None:
    """Flat records are a table with a column for each key, missing values empty; any other value stays itself."""
    (tmp_path / "a.json").write_text(json.dumps(value))
    found = load_table(tmp_path / "a.json", LIMITS)
    if is_table:
        assert (found.header, [list(column) for column in found.columns]) == (("a", "b"), [["1", None], [None, None]])
    else:
        assert found == value


def test_tables_of_a_database_by_name(tmp_path: Path) -> None:
    """Whatever its case; one table needs no name; what cannot be read is a fault of its kind."""
    with opened(tmp_path / "two.duckdb") as duck:
        duck.execute("CREATE TABLE Sales AS SELECT true AS done; CREATE TABLE other AS SELECT 2 AS n")
    table = load_table(tmp_path / "two.duckdb", LIMITS, table="SALES")
    assert [list(column) for column in as_texts(table).columns] == [["true"]]
    for name, why, hint in ((None, "contains 2 tables", "--table NAME: "), ("x", "has no table 'x'", "it contains ")):
        with pytest.raises(UsageError, match=why) as refused:
            load_table(tmp_path / "two.duckdb", LIMITS, table=name)
        assert refused.value.hint.startswith(hint)
        assert sorted(refused.value.hint.removeprefix(hint).casefold().split(", ")) == ["other", "sales"]
    with sqlite3.connect(tmp_path / "none.sqlite") as lite:
        lite.execute("CREATE TABLE sales (n INTEGER PRIMARY KEY AUTOINCREMENT)")
        lite.execute("DROP TABLE sales")
    lite.close()
    for name, why in ((None, "contains 0 tables"), ("x", "has no table 'x'")):
        with pytest.raises(UsageError, match=why) as refused:
            load_table(tmp_path / "none.sqlite", LIMITS, table=name)
        assert "none" in refused.value.hint
    with sqlite3.connect(tmp_path / "many.sqlite") as lite:
        for number in range(11):
            lite.execute(f"CREATE TABLE t{number} (n)")
    lite.close()
    for name in (None, "x"):
        with pytest.raises(UsageError) as refused:
            load_table(tmp_path / "many.sqlite", LIMITS, table=name)
        assert refused.value.hint.endswith(" t0, t1, t2, t3, t4, t5, t6, t7, t8, t9")
    for file, content, code in (
        ("bad.sqlite", b"SQLite format 3\0junk", "BAD_DUCKDB"),
        ("bad.parquet", b"junk", "WRONG_ANSWER_TYPE"),
        ("cut.parquet", b"PAR1junk", "BAD_DUCKDB"),
    ):
        (tmp_path / file).write_bytes(content)
        with pytest.raises(FaultError) as broken:
            load_table(tmp_path / file, LIMITS)
        assert (broken.value.fault.code, broken.value.fault.where) == (code, str(tmp_path / file))


def test_workbooks(tmp_path: Path) -> None:
    """The first sheet: rows and columns without content are left out, dates are ISO texts; others are refused in words."""
    openpyxl = pytest.importorskip("openpyxl")

    def write(name: str, *rows: tuple[Any, ...]) -> Path:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.create_sheet("more").append(["x"])
        book.save(tmp_path / name)
        return tmp_path / name

    moments = (datetime(2024, 5, 1, 12), time(9, 30), None, 2.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(MissingExtraError, match="openpyxl is not installed"):
            read_workbook(tmp_path / "a.xlsx", LIMITS)
    path = write("a.xlsx", (), ("day", "at", None, 7), moments, (None, None, None, None), ("x", timedelta(1, 9000), "kept", True))
    # The system's table of MIME types may not be opened in a sandbox.
    mimetypes.knownfiles.append("/dev/null")
    header, rows = read_workbook(path, LIMITS)
    assert mimetypes.knownfiles == []
    assert (header, rows) == (["day", "at", "7"], [["2024-05-01T12:00:00", "09:30:00", 2.5], ["x", "26:30:00", True]])
    table = load_table(path, LIMITS)
    assert table.header == ("day", "at", "", "7")
    assert list(zip(*table.columns, strict=True)) == [("2024-05-01T12:00:00", "09:30:00", None, "2.5"), ("x", "26:30:00", "kept", "true")]
    assert date.fromisoformat(rows[0][0][:10]) == date(2024, 5, 1)
    (tmp_path / "bad.xlsx").write_bytes(b"PK\x03\x04")
    for file, why in ((tmp_path / "bad.xlsx", "not a readable Excel file"), (write("none.xlsx"), "its first sheet is empty")):
        with pytest.raises(UsageError, match=why):
            read_workbook(file, LIMITS)
    # Many programs write no size of the sheet, some that of one cell.
    for size in (b"", b'<dimension ref="A1"/>'):
        edit_archive(write("short.xlsx", ("a", "b"), (1,), (None, 2), (3, 4)), path, (rb"<dimension[^>]*>", size))
        assert read_workbook(path, LIMITS) == (["a", "b"], [[1, None], [None, 2], [3, 4]])
    for limits in ({"rows": 3}, {"cells": 7}, {"table_bytes": 2}):
        assert len(read_workbook(path, resolve_limits(limits))[1]) == 3
    for limits in ({"rows": 2}, {"cells": 6}, {"table_bytes": 1}, {"file_bytes": 2000}):
        with pytest.raises(FaultError, match=r"^has ") as refused:
            load_table(path, resolve_limits(limits))
        assert (refused.value.fault.code, refused.value.fault.where) == ("LIMIT", str(path))


def edit_archive(path: Path, edited: Path, *changes: tuple[bytes, bytes]) -> Path:
    """A copy of an Excel file with its parts changed."""
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(edited, "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, functools.reduce(lambda part, change: re.sub(*change, part), changes, archive.read(name)))
    return edited


STALE = (b' fullCalcOnLoad="1"', b"")


@pytest.mark.parametrize(
    ("cell", "changes", "value"),
    [
        ("=1/2", (), None),
        ("=1/2", (STALE,), None),
        ("=1/2", ((b"<v></v>|<v ?/>", b"<v>0</v>"),), None),
        ("=1/2", ((b"<v></v>|<v ?/>", b"<v>0</v>"), STALE), 0),
        ("=1/2", ((b"<v></v>|<v ?/>", b"<v>0.5</v>"),), 0.5),
        ('=""', ((b"><f>", b' t="str"><f>'),), ""),
        ("a_x000D_\nb", (), "a\r\nb"),
        ("_x000D_", (), "_x000D_"),
        (timedelta(minutes=-61.5), (), "-1:01:30"),
    ],
)
def test_cells_of_excel(cell: Any, changes: tuple[tuple[bytes, bytes], ...], value: Any, tmp_path: Path) -> None:
    """A formula has its saved value; where no program has computed it, the file is refused. The first visible sheet is read."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.sheet_state = "hidden"
    book.create_sheet("shown")
    for row in (("a", "b"), (1, cell)):
        book.worksheets[1].append(row)
    book.save(tmp_path / "written.xlsx")
    path = edit_archive(tmp_path / "written.xlsx", tmp_path / "a.xlsx", *changes)
    if value is None:
        with pytest.raises(UsageError, match="value of the formula in cell B2 is not saved"):
            load_table(path, LIMITS)
    else:
        assert read_workbook(path, LIMITS) == (["a", "b"], [[1, value or None if isinstance(value, str) else value]])
