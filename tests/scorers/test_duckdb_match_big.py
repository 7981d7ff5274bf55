"""Big database tables, compared as packed text, get the very verdicts that their values get."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from evalsuite.compare.columns import packed_of
from evalsuite.core.types import Fault, Table
from evalsuite.readers import duckdb_tables
from evalsuite.readers.duckdb_tables import read_duckdb, read_trusted_duckdb
from evalsuite.readers.limits import resolve_limits
from evalsuite.scorers.duckdb_match import duckdb_match
from tests.duckdb_files import opened
from tests.properties import examples

LIMITS = resolve_limits()
CELLS: dict[str, list[Any]] = {
    "BIGINT": [0, 1, -1, 10, 100, 2**60 + 1, 10**16],
    "INTEGER": [0, 1, 10, 2],
    "UBIGINT": [0, 1, 2**64 - 1],
    "DOUBLE": [0.0, -0.0, 1.0, 1.005, -1.0, 10.0, 9.995, 1e-5, 1e16, math.nan, math.inf],
    "FLOAT": [0.0, -0.0, 1.5],
    "VARCHAR": ["", "a", "A", "nan", "0", "é" * 9],
    "BOOLEAN": [True, False],
    "DATE": ["2020-01-01", "1066-10-14", "infinity"],
    "TIMESTAMP": ["2020-01-01 00:00:00", "2020-01-01 00:00:00.5"],
    "DECIMAL(10,2)": ["1.10", "-12345.67"],
    "DECIMAL(18,3)": ["1.100", "1.105", "123456789012345.678"],
    "HUGEINT": [1, 2**100],
}


@pytest.fixture(autouse=True)
def _lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table counts as big."""
    monkeypatch.setattr(duckdb_tables, "PACKED_ROWS", 1)
    monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", 1)


def make(path: Path, types: list[str], rows: list[tuple[Any, ...]], *more: str) -> Path:
    """A database of one table t of columns c0, c1, ..."""
    path.unlink(missing_ok=True)
    with opened(path) as connection:
        connection.execute("CREATE TABLE t(" + ", ".join(f"c{i} {type_}" for i, type_ in enumerate(types)) + ")")
        if rows:
            one = f"({', '.join('?' * len(types))})"
            connection.execute(f"INSERT INTO t VALUES {', '.join([one] * len(rows))}", [cell for row in rows for cell in row])
        for statement in more:
            connection.execute(statement)
    return path


def read(answer: Path, **options: bool) -> Any:
    """An answer's tables; all open files share one connection, each folder has one of its own."""
    with answer.open("rb") as file:
        return read_duckdb(file, names=None, limits=LIMITS, **options)


def both_ways(answer: Path, gold: Path, **parameters: Any) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The score of packed tables, that of values, and whether all tables were packed."""
    exact = duckdb_match(read(answer), gold=read_trusted_duckdb(gold, names=None, limits=LIMITS), **parameters)
    submitted = read(answer, as_it_comes=True)
    expected = read_trusted_duckdb(gold, names=None, limits=LIMITS, as_it_comes=True)
    told = duckdb_match(submitted, gold=expected, **parameters)
    tables = [*submitted.values(), *expected.values()]
    return asdict(told), asdict(exact), all(isinstance(table, Table) and packed_of(table) is not None for table in tables)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]], list[str], list[tuple[Any, ...]]]:
    """Gold's types and rows, and an answer's: the same, shuffled, with a cell changed, or with other types."""
    types = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=3))
    row = st.tuples(*(st.sampled_from(CELLS[type_] + CELLS[type_] + [None]) for type_ in types))
    rows = draw(st.lists(row, min_size=1, max_size=4))
    other, how = list(rows), draw(st.sampled_from(["same", "shuffled", "changed", "typed", "fewer"]))
    if how in ("shuffled", "changed"):
        other = draw(st.permutations(rows))
    if how == "changed":
        other[0] = draw(row)
    typed = (
        [{"INTEGER": "BIGINT", "FLOAT": "DOUBLE", "DATE": "TIMESTAMP", "DECIMAL(18,3)": "DOUBLE"}.get(type_, type_) for type_ in types]
        if how == "typed"
        else types
    )
    return types, rows, typed, other[1:] if how == "fewer" else other


@examples(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases(), ignore_order=st.booleans(), data=st.data())
def test_packed_tables_get_the_verdicts_of_their_values(tmp_path: Path, case: Any, ignore_order: bool, data: st.DataObject) -> None:
    """Value, reason, details and flip of both rules, for whatever columns are needed."""
    types, rows, typed, other = case
    needed = data.draw(st.lists(st.integers(-1, len(types)), max_size=3))
    gold, answer = make(tmp_path / "gold.duckdb", types, rows), make(tmp_path / "answer.duckdb", typed, other)
    told, exact, _ = both_ways(answer, gold, condition_tabs=["t"], condition_cols=[needed], ignore_orders=[ignore_order])
    assert told == exact


PLAIN = (["BIGINT", "DOUBLE", "VARCHAR"], [(1, 0.5, "a"), (2, 1.5, "b"), (3, 2.5, "c")])


@pytest.mark.parametrize(("types", "cell", "packed"), [
    ("DOUBLE", math.nan, True), ("DOUBLE", math.inf, True), ("BIGINT", None, True), ("DATE", "infinity", False), ("HUGEINT", 1, False),
    ("VARCHAR[]", ["a"], False),
])  # fmt: skip
def test_odd_cells_are_compared_as_values(tmp_path: Path, types: str, cell: Any, packed: bool) -> None:
    """NULL, NaN and infinity have a text; dates beyond Python's range and types beyond the plain ones do not."""
    gold, answer = (make(tmp_path / name, [types], [(cell,), (cell,)]) for name in ("gold.duckdb", "answer.duckdb"))
    told, exact, is_packed_ = both_ways(answer, gold, condition_tabs=["t"])
    assert (told, is_packed_) == (exact, packed)


FULL, SPARSE = (1, 0.5, "2.125", "2020-01-01", "2020-01-02", True, "a"), (2, 0.5, None, None, None, False, None)
REST = [pytest.param(row, needed, marks=pytest.mark.slow) for row, needed in ((FULL, [1, 2]), (SPARSE, []), (SPARSE, [0, 3]))]


@pytest.mark.parametrize(("row", "needed"), [(FULL, []), (SPARSE, [1, 2]), (FULL, [0, 3]), *REST])
def test_columns_in_any_order_are_not_read_as_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: tuple[Any, ...], needed: list[int]
) -> None:
    """One wrong number, and numbers a little off, among dates, decimals, booleans and NULL: no column is typed as Python values."""
    types = ["BIGINT", "DOUBLE", "DECIMAL(18,3)", "DATE", "TIMESTAMP", "BOOLEAN", "VARCHAR"]
    rows = [(3, 4.5, "7.125", "2021-01-01", "2021-01-02", True, "b"), row, (5, 8.5, "9.125", "2022-01-01", "2022-01-02", False, "c")]
    gold = make(tmp_path / "gold.duckdb", types, rows)
    for number, is_right in ((4.505, 1), (99.0, 0)):
        answer = make(tmp_path / "answer.duckdb", types, [*rows[1:], (3, number, *rows[0][2:])])
        told, exact, packed = both_ways(answer, gold, condition_cols=[needed], ignore_orders=[True])
        assert (told, packed, told["official"]) == (exact, True, is_right if needed != [0, 3] else 1)
        submitted = read(answer, as_it_comes=True)
        expected = read_trusted_duckdb(gold, names=None, limits=LIMITS, as_it_comes=True)
        with monkeypatch.context() as patch:
            patch.setattr("evalsuite.compare.official_tables.Side.column", None)
            score = duckdb_match(submitted, gold=expected, condition_cols=[needed], ignore_orders=[True])
        assert asdict(score) == told


def test_macros_of_a_file_do_not_stand_in_for_functions(tmp_path: Path) -> None:
    """A file that brings its own functions, or a column rowid, is read as it is."""
    types, rows = PLAIN
    macros = [f"CREATE MACRO {name} AS 1" for name in ("list(a)", "strlen(a)", "string_agg(a, b)", "max(a)", "concat(a, b)")]
    gold = make(tmp_path / "gold.duckdb", types, rows)
    answer = make(tmp_path / "answer.duckdb", types, [*rows[:2], (3, 2.5, "x")], *macros, "CREATE SCHEMA system")
    told, exact, packed = both_ways(answer, gold, condition_tabs=["t"])
    assert (told, packed, told["official"]) == (exact, True, 0)
    make(answer, types, rows, "ALTER TABLE t RENAME COLUMN c0 TO rowid")
    told, exact, packed = both_ways(answer, gold, condition_tabs=["t"])
    assert (told, packed, told["official"]) == (exact, False, 1)


def test_a_table_of_too_many_bytes_is_refused(tmp_path: Path) -> None:
    """It has the fault that values get."""
    types, rows = PLAIN
    gold = make(tmp_path / "gold.duckdb", types, rows)
    found = [
        read_trusted_duckdb(gold, names=None, limits=resolve_limits({"table_bytes": 60}), as_it_comes=packed)["t"]
        for packed in (False, True)
    ]
    assert isinstance(found[0], Fault)
    assert found[0] == found[1]
