"""DuckDB files: base tables as native values; nothing the file holds is run, and nothing beside it is seen."""

import errno
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial, wraps
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pytest

from evalsuite.compare.columns import memory_of, packed_of
from evalsuite.compare.packed_text import Block, OddError
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Fault, Table
from evalsuite.readers import duckdb_tables
from evalsuite.readers.duckdb_tables import _register_descriptor_files, duckdb_table_names, read_duckdb, read_trusted_duckdb
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import SharedFile, kept_from_duckdb
from tests.attacks.mutate import repair_checksums
from tests.duckdb_files import opened

T = "create table t as select * from (values (1, 'a', 10.5), (2, 'b', null)) x(id, name, v)"


def make(path: Path, *statements: str) -> Path:
    """A database file of some statements."""
    with opened(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def read(path: Path, *names: str, **limits: int) -> dict[str, Table | Fault]:
    """The named tables of a file handed in, all where none is named."""
    with path.open("rb") as handle:
        return read_duckdb(handle, names=names or None, limits=resolve_limits(limits))


def code(found: Table | Fault) -> str:
    """The code of a fault."""
    assert isinstance(found, Fault)
    return found.code


@pytest.mark.parametrize("name", [b"plain", b"not UTF-8 \xff", b"a\nb", b"g*[a-z]?{x}", "é😀".encode(), b"it's 50%20#"])
def test_gold_is_read_in_a_folder_of_any_name(tmp_path: Path, name: bytes) -> None:
    """Names that duckdb itself cannot open too."""
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    shutil.copy(make(tmp_path / "r.duckdb", T), folder)
    table = read_trusted_duckdb(folder / "r.duckdb", names=None, limits=resolve_limits({}))["t"]
    assert isinstance(table, Table)
    assert table.n_rows == 2


def test_what_stands_in_for_fsspec() -> None:
    """Where Python may switch to another thread the module is itself, also after a refusal, whose error is seen."""
    seen, before = list[object](), sys.gettrace()

    def look(frame: FrameType, *_: object) -> Any:
        frame.f_trace_opcodes = True
        seen.append(sys.modules.get("fsspec"))
        return look

    with duckdb.connect() as connection:
        sys.settrace(look)
        try:
            _register_descriptor_files(connection)
        finally:
            sys.settrace(before)
        assert "descriptor" in connection.list_filesystems()
    assert len(seen) > 10
    assert {id(module) for module in seen} == {id(sys.modules.get("fsspec"))}
    before = dict(sys.modules)

    def fail(_: object) -> None:
        raise ValueError("refused")

    connection: Any = SimpleNamespace(register_filesystem=fail)
    with pytest.raises(ValueError, match="refused"):
        _register_descriptor_files(connection)
    assert sys.modules == before


def test_names_columns_and_faults_of_tables(tmp_path: Path) -> None:
    """Names as they were asked for, a fault in a table's place; one column is text beyond Python's range; generated ones are refused."""
    path = make(
        tmp_path / "r.duckdb",
        T,
        "create view v as select * from read_csv('/etc/passwd')",
        "create schema s",
        "create table s.z(x int)",
        "create table É(x int)",
        "create table é(y int)",
    )
    found = read(path, "T", "V", "z", "nope", "É", "é")
    assert list(found) == ["T", "V", "z", "nope", "É", "é"]
    # Only letters of ASCII have a case: these are two tables to duckdb.
    two = {name: table for name, table in found.items() if isinstance(table, Table) and name != "T"}
    assert [table.header for table in two.values()] == [("x",), ("y",)]
    assert isinstance(found["T"], Table)
    assert found["V"] == Fault(code="NOT_A_TABLE", detail="'V' is a view; submit a table")
    assert found["z"] == Fault(code="MISSING_TABLE", detail="the database has no table 'z' in schema main")
    assert code(found["nope"]) == "MISSING_TABLE"
    values = ("'1 year 2 months -3 days'", "'-04:05:06.000007'", "'100000:00:01.5'", "'-13 months'", "'0 days'", "to_years(170000000)")
    known = [duckdb.sql(f"select interval {value}").fetchall()[0][0] for value in values[:-1]]
    rows = ", ".join(f"({at}, {value}::interval)" for at, value in enumerate(values))
    path = make(
        tmp_path / "c.duckdb", f"create table t as select * from (values {rows}, (6, null)) x(i, v)", "create table u as select 1 as a"
    )
    found = read(path)
    assert isinstance(found["t"], Table)
    assert found["t"].columns == (list(range(7)), [*known, "170000000 years", None])
    assert isinstance(found["u"], Table)
    path = make(
        tmp_path / "g.duckdb",
        "create table g(id int, name varchar generated always as (repeat('x', 20000000)))",
        "insert into g values (1)",
        "create table n(\"a generated always as b\" varchar default 'generated always as')",
    )
    found = read(path, "g", "n")
    assert found["g"] == Fault(code="NOT_A_TABLE", detail="'g' has generated columns; submit plain ones")
    assert isinstance(found["n"], Table)


# Expression -> its type and value.
CELLS: list[tuple[str, str, object]] = [
    ("170141183460469231731687303715884105727::hugeint", "HUGEINT", 170141183460469231731687303715884105727),
    ("340282366920938463463374607431768211455::uhugeint", "UHUGEINT", 340282366920938463463374607431768211455),
    ("1.10::decimal(10,2)", "DECIMAL(10,2)", Decimal("1.10")),
    ("0.1::float", "FLOAT", 0.10000000149011612),
    ("'2024-01-02'::date", "DATE", date(2024, 1, 2)),
    ("'2024-01-02 03:04:05'::timestamp", "TIMESTAMP", datetime(2024, 1, 2, 3, 4, 5)),
    ("'2024-01-01 05:00:00.5+05'::timestamptz", "TIMESTAMP WITH TIME ZONE", datetime(2024, 1, 1, 0, 0, 0, 500_000, UTC)),
    ("'infinity'::timestamptz", "TIMESTAMP WITH TIME ZONE", "infinity"),
    ("null::timestamptz", "TIMESTAMP WITH TIME ZONE", None),
    ("'2024-01-01 00:00:00.123456'::timestamp_ns", "TIMESTAMP_NS", datetime(2024, 1, 1, 0, 0, 0, 123_456)),
    ("'2024-01-01 00:00:00.123456789'::timestamp_ns", "TIMESTAMP_NS", "2024-01-01 00:00:00.123456789"),
    ("'12:30'::time", "TIME", time(12, 30)),
    ("'12:00:00+02'::timetz", "TIME WITH TIME ZONE", "12:00:00+02"),
    ("['2024-01-01 00:00:00+05'::timestamptz]", "TIMESTAMP WITH TIME ZONE[]", "['2023-12-31 19:00:00+00']"),
    ("interval '2 days'", "INTERVAL", timedelta(days=2)),
    ("to_days(2000000000)", "INTERVAL", "2000000000 days"),
    ("[to_days(2000000000), to_days(1)]", "INTERVAL[]", "[2000000000 days, 1 day]"),
    (f"'{'[' * 301}1{']' * 301}'::json::variant", "VARIANT", f"{'[' * 301}1{']' * 301}"),
    ("'[[1]]'::json::variant", "VARIANT", [[1]]),
    ("'a'::enum('a', 'b')", "ENUM('a', 'b')", "a"),
    ("[1, null]", "INTEGER[]", [1, None]),
    ("{'x': [1]}", "STRUCT(x INTEGER[])", {"x": [1]}),
    ("map{'k': 1}", "MAP(VARCHAR, INTEGER)", {"k": 1}),
    ("true", "BOOLEAN", True),
    ("'ab'::blob", "BLOB", b"ab"),
    ("'0044-03-15 (BC)'::date", "DATE", "0044-03-15 (BC)"),
    ("'infinity'::date", "DATE", "infinity"),
    ("'9999-12-31'::date", "DATE", date(9999, 12, 31)),
    ("'-infinity'::timestamp", "TIMESTAMP", "-infinity"),
    ("'infinity'::timestamp_s", "TIMESTAMP_S", "infinity"),
    ("'infinity'::timestamp_ns", "TIMESTAMP_NS", "infinity"),
    ("['infinity'::date, null, '9999-12-31']", "DATE[]", ["infinity", None, date(9999, 12, 31)]),
    ("[null, ['-infinity'::timestamp]]", "TIMESTAMP[][]", [None, ["-infinity"]]),
    ("['9999-12-31', 'infinity']::date[2]", "DATE[2]", (date(9999, 12, 31), "infinity")),
]


def test_each_type_is_read_as_a_value_that_loses_nothing(tmp_path: Path) -> None:
    """What Python cannot hold stays text; no time zone package is needed."""
    columns = ", ".join(f"{expression} as c{at}" for at, (expression, _, _) in enumerate(CELLS))
    table = read(make(tmp_path / "r.duckdb", f"create table t as select {columns}"), "t")["t"]
    assert isinstance(table, Table)
    assert table.types == tuple(type_ for _, type_, _ in CELLS)
    found = [next(iter(cells)) for cells in table.columns]
    assert [(type(cell), cell) for cell in found] == [(type(cell), cell) for _, _, cell in CELLS]


@pytest.mark.parametrize(
    ("statement", "limits", "word"),
    [
        ("create table t as select 1 id from range(3000000)", {"rows": 1_000_000}, "limit rows"),
        ("create table t as select 1 a, 2 b, 3 c", {"columns": 2}, "limit columns"),
        ("create table t as select 1 a, 2 b from range(10)", {"cells": 19}, "limit cells"),
        ("create table t as select repeat('x', 20000) as a from range(2000)", {"table_bytes": 1_000_000}, "limit table_bytes"),
    ],
)
def test_a_table_over_a_cap_is_a_fault_that_names_the_limit(tmp_path: Path, statement: str, limits: dict[str, int], word: str) -> None:
    """Sizes are looked at before the rows, bytes between chunks."""
    found = read(make(tmp_path / "r.duckdb", statement), "t", **limits)["t"]
    assert code(found) == "LIMIT"
    assert isinstance(found, Fault)
    assert word in found.detail


PLAIN = """
    select i::tinyint as a, i::ubigint as b, i / 3 as c, (i / 4)::float as d, (i / 8)::decimal(9, 3) as e, i % 2 = 0 as f, g,
    date '2024-02-28' + i::int as h, timestamp '1999-12-31 23:59:59.5' + interval (i) second as "i ""j" from range(9) r(i)
    join (values (0, ''), (1, null), (2, ' '), (3, 'é😀'), (4, 'null'), (5, 'a,b'), (6, '\n'), (7, ''), (8, 'x')) s(k, g)
    on k = i order by i
"""


@pytest.mark.parametrize("n_at_once", [1, 2, 4, 100])
def test_packed_text_has_the_values(n_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every plain type with NULL, empty text and rows that were deleted, however many rows are fetched at once."""
    path = make(
        tmp_path / "r.duckdb", f"create table t as {PLAIN}", "insert into t(g) values ('last')", "delete from t where a in (2, 3, 8)"
    )
    monkeypatch.setattr(duckdb_tables, "PACKED_ROWS", 1)
    monkeypatch.setattr(duckdb_tables, "_FEWEST_AT_ONCE", n_at_once)
    monkeypatch.setattr(duckdb_tables, "_CELLS_AT_ONCE", 9 * n_at_once)
    plain, packed = (read_duckdb(path, names=None, limits=resolve_limits(), as_it_comes=as_it_comes)["t"] for as_it_comes in (False, True))
    assert isinstance(plain, Table)
    assert isinstance(packed, Table)
    assert (packed_of(plain), packed_of(packed) is None) == (None, False)
    assert (packed.header, packed.types, packed.n_rows) == (plain.header, plain.types, plain.n_rows)
    assert [list(cells) for cells in packed.columns] == [list(cells) for cells in plain.columns]


@pytest.mark.parametrize(
    ("select", "size"),
    [
        ("select 1 as a, 'abc' as b, date '9999-12-31' as c from range(5)", 5 * (3 * 8 + 3)),
        ("select null::varchar as a, date '0001-01-01' as b, timestamp '9999-12-31 23:59:59.999999' as c from range(5)", 5 * 3 * 8),
        ("select 1 as a, null::date as b, timestamp '9999-12-31' as c from range(5)", 5 * 3 * 8),
        ("select date '10000-01-01' as a from range(5)", None),
        ("select date '2024-01-01' - case when range = 3 then 800000 else 0 end::int as a from range(5)", None),
        ("select timestamp 'infinity' as a from range(5)", None),
        ("select [1] as a from range(5)", None),
        ("select 1 as rowid from range(5)", None),
    ],
)
def test_how_large_a_packed_table_may_be(select: str, size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight bytes a cell and the characters of texts; what has cells beyond Python's range, or types that are not plain, is not packed."""
    path = make(tmp_path / "r.duckdb", f"create table t as {select}")
    for fewest, most, kind in ((5, size, True), (6, size, False), (5, (size or 1) - 1, None)):
        monkeypatch.setattr(duckdb_tables, "PACKED_ROWS", fewest)
        limits = resolve_limits({"table_bytes": most or 1 << 20})
        found = read_duckdb(path, names=None, limits=limits, as_it_comes=True)["t"]
        if kind is None and size:
            assert found == Fault(code="LIMIT", detail=f"'t' has more than {most} bytes (limit table_bytes)")
        elif kind is not None:
            assert isinstance(found, Table)
            assert (packed_of(found) is not None) is (kind and size is not None)


def test_gold_that_is_read_as_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small database of values without a log next to it; not one with a fault or with packed text."""
    assert duckdb_tables._SMALL_BYTES == 8 << 20
    path = make(tmp_path / "r.duckdb", T)
    tables = read_trusted_duckdb(path, names=None, limits=resolve_limits())
    size = path.stat().st_size + memory_of(tables["t"])
    for most, is_one in ((size + 1, True), (size, False)):
        monkeypatch.setattr(duckdb_tables, "_SMALL_BYTES", most)
        assert duckdb_tables.is_read_as_an_answer(path, tables) is is_one
    monkeypatch.undo()
    assert not duckdb_tables.is_read_as_an_answer(path, {**tables, "u": Fault(code="MISSING_TABLE")})
    monkeypatch.setattr(duckdb_tables, "PACKED_ROWS", 1)
    packed = read_trusted_duckdb(path, names=None, limits=resolve_limits(), as_it_comes=True)
    assert not duckdb_tables.is_read_as_an_answer(path, packed)
    (tmp_path / "r.duckdb.wal").touch()
    assert not duckdb_tables.is_read_as_an_answer(path, tables)


def test_a_file_that_is_no_database_never_reaches_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sqlite file duckdb would download a reader."""
    path = tmp_path / "r.duckdb"
    trusted = partial(read_trusted_duckdb, names=None, limits=resolve_limits())
    monkeypatch.setattr(duckdb_tables.duckdb, "connect", None)
    for content, detail in (
        (b"", "the file is empty"),
        (b"SQLite format 3\0" * 9, "the file is an SQLite database, not a DuckDB database"),
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            "the file is a pointer of Git LFS, not the file itself: `git lfs pull` fetches it",
        ),
        (b"12345678DUC", "the file is not a DuckDB database"),
    ):
        path.write_bytes(content)
        for names_of in (read, lambda path: duckdb_table_names(path, limits=resolve_limits()), trusted):
            with pytest.raises(FaultError) as caught:
                names_of(path)
            assert (caught.value.fault.code, caught.value.fault.detail) == ("BAD_DUCKDB", detail)


def test_a_damaged_file_is_a_fault_with_a_fixed_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """duckdb's own text carries paths: it is in the debug log only, but for the version of a file that another duckdb wrote."""
    caplog.set_level("DEBUG", "evalsuite.readers.duckdb_tables")
    good = make(tmp_path / "r.duckdb", T).read_bytes()
    flipped = bytearray(good)
    flipped[20_000] ^= 255
    newer = repair_checksums(good[:12] + (1234).to_bytes(8, "little") + good[20:])
    (tmp_path / "newer.duckdb").write_bytes(newer)
    with pytest.raises(FaultError, match=r"reads storage versions between 64 and \d+, this is 1234$"):
        read(tmp_path / "newer.duckdb")
    for content in (good[:5000], good[:-100_000], bytes(flipped)):
        (tmp_path / "bad.duckdb").write_bytes(content)
        caplog.clear()
        with pytest.raises(FaultError) as caught:
            read(tmp_path / "bad.duckdb")
        assert (caught.value.fault.code, caught.value.fault.detail) == ("BAD_DUCKDB", "")
        assert caplog.text.count("duckdb: ") == 1


@contextmanager
def descriptors_left(n: int) -> Iterator[None]:
    """No more than n further descriptors for this process."""
    resource = pytest.importorskip("resource")
    before, taken = resource.getrlimit(resource.RLIMIT_NOFILE), [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(int(entry.name) for entry in os.scandir("/dev/fd")) + 8, before[1]))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(taken[0]))
        for descriptor in taken[-n:]:
            os.close(descriptor)
        del taken[-n:]
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in taken:
            os.close(descriptor)


def test_what_the_machine_fails_at_is_no_fault_of_gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a descriptor for the log next to it, or after the file has disappeared, duckdb raises the error of a damaged file."""
    path, connection = make(tmp_path / "g.duckdb", T), duckdb_tables._gold_connection()
    with descriptors_left(2), pytest.raises(FaultError) as caught:
        read_trusted_duckdb(path, names=None, limits=resolve_limits())
    assert (caught.value.fault.code, caught.value.fault.side) == ("LIMIT", "setup")
    monkeypatch.setattr(duckdb_tables, "_gold_connection", lambda: [path.unlink(), connection][1])
    with pytest.raises(FaultError) as caught:
        read_trusted_duckdb(path, names=None, limits=resolve_limits())
    assert caught.value.fault.code == "MISSING_FILE"


@pytest.mark.parametrize("side", ["answer", "gold"])
@pytest.mark.parametrize("deed", ["short", errno.EIO, errno.EINVAL])
def test_a_disk_that_fails_once_is_no_fault_of_the_database(side: str, deed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are parts of what was asked for; a place that no file has is the file's."""
    path, calls, before = make(tmp_path / "r.duckdb", T), list[int](), os.pread

    def read_part(descriptor: int, size: int, at: int) -> bytes:
        calls.append(size)
        if deed != "short" and len(calls) == 2:
            raise OSError(deed, os.strerror(deed))
        return before(descriptor, max(1, size // 2), at)

    if side == "gold":
        said = f"IO Error: Could not read from file {path}: {'' if deed == 'short' else os.strerror(deed)}"
        monkeypatch.setattr(duckdb_tables, "_Catalog", lambda *_: (_ for _ in ()).throw(duckdb.IOException(said)))
    monkeypatch.setattr(os, "pread", read_part)
    duckdb_tables._locked_connection.cache_clear()
    code = "" if deed == "short" and side == "answer" else "BAD_DUCKDB" if deed == errno.EINVAL else "machine"
    with path.open("rb") as handle:
        try:
            read = (
                read_duckdb(handle, names=None, limits=resolve_limits())
                if side == "answer"
                else read_trusted_duckdb(path, names=None, limits=resolve_limits())
            )
            found = "" if isinstance(read["t"], Table) else "odd"
        except FaultError as error:
            found = "machine" if error.is_of_machine else error.fault.code
        except OSError:
            found = "machine"
    assert found == code


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (duckdb_tables._DescriptorFiles, "size"), (duckdb_tables._DescriptorFiles, "open"), (SharedFile, "seek"), (SharedFile, "read"),
        (duckdb_tables, "fold_name"), (duckdb_tables, "read_rows"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("error", [RuntimeError, TypeError])
def test_a_bug_of_ours_is_no_fault_of_the_database(
    owner: Any, name: str, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither around a call of duckdb nor in a function that duckdb calls, whose errors it hides."""

    def fail(*_: Any, **__: Any) -> Any:
        raise error("a bug")

    path, before = make(tmp_path / "r.duckdb", T), getattr(owner, name)
    fails = fail if owner is duckdb_tables else kept_from_duckdb(wraps(before)(fail))
    monkeypatch.setattr(owner, name, fails)
    duckdb_tables._locked_connection.cache_clear()
    with path.open("rb") as handle, pytest.raises(error, match="a bug"):
        duckdb_tables.read_duckdb(handle, names=None, limits=resolve_limits())


def test_a_connection_that_was_closed_is_not_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long file it is closed after each reading, of gold and of an answer; of a damaged one too."""
    path = make(tmp_path / "r.duckdb", T)
    (tmp_path / "bad.duckdb").write_bytes(path.read_bytes()[:-100_000])
    monkeypatch.setattr(duckdb_tables, "_LONG", 0)
    for _ in range(2):
        assert isinstance(read(path, "t")["t"], Table)
        assert isinstance(read_trusted_duckdb(path, names=None, limits=resolve_limits())["t"], Table)
        with pytest.raises(FaultError):
            read(tmp_path / "bad.duckdb")
    for attach in (duckdb_tables.attach_gold, duckdb_tables.attach_answer):
        with attach(path, resolve_limits()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(duckdb.ConnectionException, match="closed"):
            connection.execute("SELECT 1")
    monkeypatch.undo()
    for error in (None, duckdb.IOException):
        with suppress(FaultError), duckdb_tables.attach_answer(path, resolve_limits()) as connection:
            if error is not None:
                raise error
        with nullcontext() if error is None else pytest.raises(duckdb.ConnectionException, match="closed"):
            connection.execute("SELECT 1")


def test_a_wal_beside_the_file_is_never_seen_and_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the one file is copied, to one without a name."""
    (tmp_path / "made").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "scratch").mkdir()
    path = make(tmp_path / "made" / "r.duckdb", T)
    with duckdb.connect(str(path)) as connection:
        connection.execute("set wal_autocheckpoint = '1GB'")
        connection.execute("delete from t")
        for name in ("r.duckdb", "r.duckdb.wal"):
            shutil.copy(tmp_path / "made" / name, tmp_path / "sub" / name)
    with (tmp_path / "sub" / "r.duckdb").open("rb") as handle:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
        table = read_duckdb(handle, names=["t"], limits=resolve_limits())["t"]
    assert isinstance(table, Table)
    assert table.n_rows == 2
    assert list((tmp_path / "scratch").iterdir()) == []
    assert sorted(place.name for place in (tmp_path / "sub").iterdir()) == ["r.duckdb", "r.duckdb.wal"]


def test_files_by_their_descriptors(tmp_path: Path) -> None:
    """Positions are each thread's own; plain numbers exist, with the size of the open file."""
    place = tmp_path / "numbers"
    place.write_bytes(bytes(range(200)))
    with place.open("rb") as held, duckdb_tables._DescriptorFiles().open(f"descriptor://{held.fileno()}", "rb") as shared:
        shared.seek(100)
        with ThreadPoolExecutor(1) as others:
            assert others.submit(lambda: (shared.seek(7), shared.read(2))).result() == (7, b"\7\10")
        assert (shared.read(3), shared.tell()) == (b"def", 103)
        assert (shared.seek(-2, 2), shared.read()) == (198, b"\xc6\xc7")
    files = duckdb_tables._DescriptorFiles()
    (tmp_path / "x").write_bytes(b"abc")
    with (tmp_path / "x").open("rb") as handle:
        assert files.size(f"descriptor://{handle.fileno()}") == 3
        with files.open(f"descriptor://{handle.fileno()}", "rb") as shared:
            assert (shared.read(0), shared.read(2), shared.read(None), shared.read(-1), shared.tell()) == (b"", b"ab", b"c", b"", 3)
            assert (shared.seek(1), shared.seek(1, os.SEEK_CUR), shared.read()) == (1, 2, b"c")
    assert [files.exists(f"descriptor://{name}") for name in ("5", "5.wal", "")] == [True, False, False]
    assert files.isfile("descriptor://5")


@pytest.mark.parametrize(("memory_mib", "limit"), [(2048, "1.0 GiB"), (128, "64.0 MiB"), (100, "64.0 MiB"), (130, "65.0 MiB")])
def test_how_much_memory_duckdb_may_take(memory_mib: int, limit: str) -> None:
    """Half of a worker's, but never less than it needs to start."""
    with closing(duckdb_tables._locked_connection.__wrapped__("/nowhere/", memory_mib)) as connection:
        names = ("memory_limit", "enable_external_access", "lock_configuration", "TimeZone", "temp_directory")
        settings = ", ".join(f"current_setting('{name}')" for name in names)
        assert connection.execute(f"SELECT {settings}").fetchone() == (limit, False, True, "UTC", "")


@pytest.mark.parametrize(
    "content",
    [b"", b"abcdefghi", b"abcd" + bytes(8) + b"ef", bytes(9), b"ab" + bytes(10) + b"c" + bytes(5), b"abcdefgh" + bytes(4), b"\1" * 8],
)
@pytest.mark.parametrize("most", [1, 4, 9, 100])
def test_a_private_copy_has_the_bytes_of_the_file(content: bytes, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holes too, and no more than the limit; where there are no descriptors as files, it has a name in a folder of its own."""
    monkeypatch.setattr(duckdb_tables, "_BLOCK", 4)
    source = io.BytesIO(content)
    source.read()
    with duckdb_tables.private_copy(source, most) as place:
        assert place.read_bytes() == content[:most]
    monkeypatch.setattr(duckdb_tables, "os", SimpleNamespace(SEEK_CUR=os.SEEK_CUR))
    with duckdb_tables.private_copy(source, most) as place:
        assert place.read_bytes() == content[:most]
    assert not place.exists()


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no files in memory")
def test_a_file_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory by Python's call or by libc's, else on disk; no process that is started gets it."""

    class NoLibrary:
        """A libc without that call."""

        def __init__(self, _: None) -> None:
            pass

    class NoDescriptor(NoLibrary):
        """A libc that has no descriptor left."""

        memfd_create = staticmethod(lambda *_: -1)

    for step in ("python", "libc", "disk"):
        if step == "libc":
            monkeypatch.delattr(os, "memfd_create")
        elif step == "disk":
            monkeypatch.setattr(duckdb_tables.ctypes, "CDLL", NoDescriptor)
        with duckdb_tables._memory_file() as file:
            assert str(Path(f"/proc/self/fd/{file.fileno()}").readlink()).startswith("/memfd:evalsuite") is (step != "disk")
        if step == "disk":
            monkeypatch.setattr(duckdb_tables.ctypes, "CDLL", NoLibrary)
        with duckdb_tables._memory_file() as file:
            file.write(b"abc")
            file.seek(0)
            found = os.fstat(file.fileno())
            assert (file.read(), found.st_nlink, os.get_inheritable(file.fileno())) == (b"abc", 0, False)
            assert str(Path(f"/proc/self/fd/{file.fileno()}").readlink()).startswith("/memfd:evalsuite") is (step != "disk")


def test_a_copy_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """It is this machine that has no space, and memory that ends while a database is read is a limit."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = io.BytesIO()
    monkeypatch.setattr(duckdb_tables, "_memory_file", lambda: file)
    monkeypatch.setattr(duckdb_tables, "_copy", fail)
    caplog.set_level("DEBUG", "evalsuite.readers.duckdb_tables")
    with pytest.raises(FaultError) as refused:
        duckdb_tables.unnamed_copy(io.BytesIO(b"x"), 9)
    assert (refused.value.fault.code, refused.value.side, file.closed) == ("LIMIT", "setup", True)
    assert "copy: OSError(28, 'No space left on device')" in caplog.text
    for error in (MemoryError(), duckdb.OutOfMemoryException()):
        with pytest.raises(FaultError, match="the database does not fit into memory_mib"), duckdb_tables._faults(Path(), resolve_limits()):
            raise error


def test_rows_that_are_more_than_the_catalog_says() -> None:
    """Blocks up to the limits come, one row or cell more is left to the exact reader; a fault on the way too, and it is raised there."""
    block = Block(b"a,b,", np.array([[0, 2]]), np.array([[1, 1]]))

    def rows(whole: Any, attached: Any = nullcontext, **limits: int) -> Any:
        return duckdb_tables._Rows(attached, lambda _: iter([block, block]), lambda _: whole, resolve_limits(limits))

    table = Table(header=("a",), columns=([1],), n_rows=1)
    for limits, n in (({"rows": 2}, 2), ({"cells": 4}, 2), ({"rows": 1}, None), ({"cells": 3}, None)):
        if n is None:
            with pytest.raises(OddError):
                list(rows(table, **limits).blocks())
        else:
            assert len(list(rows(table, **limits).blocks())) == n
    assert rows(table).read_table() is table
    fault = Fault(code="LIMIT", detail="too much")
    with pytest.raises(FaultError, match="too much") as refused:
        rows(fault).read_table()
    assert refused.value.fault.code == "LIMIT"

    @contextmanager
    def failing() -> Iterator[None]:
        raise FaultError("BAD_DUCKDB")
        yield

    with pytest.raises(OddError):
        list(rows(table, failing).blocks())
