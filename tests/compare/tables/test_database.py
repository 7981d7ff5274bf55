"""Tables of databases under the official rules."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.duckdb_fetchdf_compat import column_of, database_columns
from evalsuite.compare.official_cells import NA, NAT, Items
from evalsuite.compare.official_databases import match_database
from evalsuite.compare.table_parameters import needs_quotes
from evalsuite.core.types import Fault, Table
from evalsuite.readers.duckdb_tables import read_trusted_duckdb
from evalsuite.readers.limits import resolve_limits
from evalsuite.scorers.duckdb_match import duckdb_match
from tests.duckdb_files import opened
from tests.models.official_table import score_tables
from tests.properties import examples

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # duckdb's own call of pandas

VALUES = {
    "TINYINT": ["1", "-3"],
    "INTEGER": ["1", "5"],
    "BIGINT": ["1", "9007199254740993"],
    "UBIGINT": ["18446744073709551615", "3"],
    "HUGEINT": ["170141183460469231731687303715884105727", "-3"],
    "FLOAT": ["1.1", "'nan'"],
    "DOUBLE": ["1.1", "1.105", "'nan'", "'inf'"],
    "DECIMAL(10,2)": ["1.10", "-12345.67"],
    "DECIMAL(38,10)": ["1.1234567891", "-1234567890123456789012345678.0123456789"],
    "BOOLEAN": ["true", "false"],
    "VARCHAR": ["'a'", "''", "'nan'", "'2020-01-01'"],
    "DATE": ["'2020-01-01'", "'1066-10-14'"],
    "TIMESTAMP": ["'2020-01-01 01:02:03.5'", "'2020-01-01'"],
    "TIMESTAMP_NS": ["'2020-01-01 01:02:03.123456'"],
    "TIMESTAMP WITH TIME ZONE": ["'2020-01-01 01:02:03'"],
    "TIME": ["'01:02:03'"],
    "INTERVAL": ["'1 day'", "'-1 hour'"],
    "UUID": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
    "BLOB": ["'ab'"],
    "ENUM('a','b')": ["'a'", "'b'"],
    "INTEGER[]": ["[1,2]", "[]", "[3]"],
    "VARCHAR[]": ["['a']", "['y','z']"],
    "STRUCT(a INTEGER)": ["{'a':1}"],
    "MAP(VARCHAR, INTEGER)": ["map {'a':1}"],
    "JSON": ["'{}'"],
}


def fetch(types: list[str], rows: list[list[str]]) -> tuple[Table, pd.DataFrame]:
    """A table as a reader hands it over, and as the reference fetches it."""
    with opened() as connection:
        connection.execute("CREATE TEMP TABLE t(" + ", ".join(f"c{i} {name}" for i, name in enumerate(types)) + ")")
        for row in rows:
            connection.execute(f"INSERT INTO t VALUES ({', '.join(row)})")
        described = connection.execute("DESCRIBE t").fetchall()
        casts = [f"{name}::VARCHAR" if "TIME ZONE" in kind else name for name, kind, *_ in described]
        native = connection.execute(f"SELECT {', '.join(casts)} FROM t").fetchall()
        frame = connection.execute("SELECT * FROM t").fetchdf()
    columns = tuple([row[i] for row in native] for i in range(len(types)))
    header, kinds = tuple(row[0] for row in described), tuple(row[1] for row in described)
    return Table(header=header, columns=columns, n_rows=len(rows), types=kinds, name="t"), frame


def spelled(value: Any) -> str:
    """A cell in one spelling for both sides: pandas' and numpy's own types as ours."""
    if value is pd.NA or value is NA:
        return "NA"
    if value is pd.NaT or value is NAT:
        return "NaT"
    if isinstance(value, np.ndarray | Items):
        return f"items {list(map(str, value))}"
    if isinstance(value, bytes | bytearray):
        return f"bytes {bytes(value)!r}"
    if isinstance(value, bool | int | float | None):
        return f"{type(value).__name__} {value!r}"
    return str(value)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Types and rows of one to three columns; one in four tables has columns of one type only."""
    pool = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    types = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
    n_rows = draw(st.integers(0, 3))
    cell = {name: st.sampled_from([*VALUES[name], "NULL"]) for name in set(types)}
    return types, [[draw(cell[name]) for name in types] for _ in range(n_rows)]


@examples(80)
@given(tables())
def test_every_column_as_fetchdf_gives_it(made: tuple[list[str], list[list[str]]]) -> None:
    """Any table's columns come out as the lists of the fetched and transposed frame."""
    table, frame = fetch(*made)
    mine = [[spelled(cell) for cell in column.values] for column in database_columns(table)]
    assert mine == [[spelled(cell) for cell in column] for column in frame.transpose().values.tolist()]


TOGETHER = [("UBIGINT", "INTEGER"), ("UBIGINT", "UBIGINT"), ("INTEGER", "DOUBLE"), ("TIMESTAMP", "TIMESTAMP_NS"), ("BOOLEAN", "INTEGER")]


def test_a_column_of_each_type() -> None:
    """As `test_every_column_as_fetchdf_gives_it`, for each type alone."""
    for name, values in VALUES.items():
        for cells in ([values[0]], values, [*values, "NULL"], ["NULL"]):
            test_every_column_as_fetchdf_gives_it.hypothesis.inner_test(([name], [[cell] for cell in cells]))  # type: ignore[attr-defined]


@pytest.mark.parametrize("types", TOGETHER)
def test_columns_of_two_types(types: tuple[str, str]) -> None:
    """A column is typed by the other too; both ways to read it are the same."""
    for pair in (types, types[::-1]):
        table, frame = fetch([*pair], [[VALUES[name][0] for name in pair], [VALUES[name][-1] for name in pair]])
        expected = [[spelled(cell) for cell in column] for column in frame.transpose().values.tolist()]
        assert [[spelled(cell) for cell in column.values] for column in database_columns(table)] == expected
        if "TIMESTAMP" in types:
            continue  # `column_of` has no part in it
        alone = [column_of(table.columns[at], table, [0, 1], at) for at in (0, 1)]
        assert [[spelled(cell) for cell in column.values] for column in alone] == expected


@examples(60)
@given(tables(), st.data(), st.booleans(), st.sampled_from(["original", "dbt"]))
def test_any_tables_score_as_the_model(
    made: tuple[list[str], list[list[str]]], data: st.DataObject, ignore_order: bool, reference: Any
) -> None:
    """The score of a table against its own rows in another order, with another type or an edit, equals the model's."""
    types, rows = made
    other_types = [data.draw(st.sampled_from([name, name, "VARCHAR"])) if "(" not in name else name for name in types]
    other_rows = [list(row) for row in (data.draw(st.permutations(rows)) if data.draw(st.booleans()) else rows)]
    if rows and data.draw(st.booleans()):
        other_rows[0][0] = "NULL"
    gold, gold_frame = fetch(types, rows)
    predicted, frame = fetch(other_types, other_rows)
    score = match_database({"t": predicted}, {"t": gold}, ignore_orders=[ignore_order], reference=reference)
    assert score.official == score_tables(frame, gold_frame, (), ignore_order, reference=reference), score.reason


CASES: list[tuple[str, list[str], str, list[str], int, str]] = [
    ("DATE", ["'2020-01-01'"], "TIMESTAMP", ["'2020-01-01'"], 1, "a date is its midnight"),
    ("DATE", ["'2020-01-01'"], "VARCHAR", ["'2020-01-01'"], 0, "but not its text"),
    ("BOOLEAN", ["true"], "INTEGER", ["1"], 1, "a boolean is an integer"),
    ("DECIMAL(5,1)", ["1.5"], "DOUBLE", ["1.5"], 1, "a decimal is a float"),
    ("ENUM('a','b')", ["'a'"], "VARCHAR", ["'a'"], 1, "an enum is its text"),
    ("INTEGER", ["1"], "VARCHAR", ["'1'"], 0, "a number is not its text"),
    ("VARCHAR", ["NULL", "'x'"], "VARCHAR", ["''", "'x'"], 0, "NULL is not the empty text"),
    ("INTEGER", ["1", "NULL"], "INTEGER", ["1", "NULL"], 1, "NULL equals NULL in its place"),
    ("INTEGER", ["NULL", "1"], "INTEGER", ["1", "NULL"], 0, "and makes the reference fail elsewhere"),
    ("INTEGER[]", ["[1, 2]"], "INTEGER[]", ["[1, 2]"], 0, "lists have no truth value"),
    ("INTEGER[]", ["[1]"], "INTEGER[]", ["[1]"], 1, "but for a list of one"),
    ("DATE[]", ["['2020-01-01']"], "TIMESTAMP[]", ["['2020-01-01']"], 1, "in which a date is its midnight too"),
    ("ENUM('a','b')[]", ["['b']"], "ENUM('a','b')[]", ["['b']"], 1, "and an enum equals itself"),
    ("ENUM('a','b')[]", ["['b']"], "VARCHAR[]", ["['b']"], 0, "but is no text"),
    ("ENUM('it''s','b')[]", ["['b']", "[NULL]", "NULL"], "INTEGER[]", ["[1]", "[-1]", "NULL"], 1, "but its place in the type"),
]


def test_types_decide() -> None:
    """Which types compare as equal, and what NULL does."""
    for type_a, cells_a, type_b, cells_b, expected, why in CASES:
        predicted, frame = fetch([type_a], [[cell] for cell in cells_a])
        gold, gold_frame = fetch([type_b], [[cell] for cell in cells_b])
        assert match_database({"T": predicted}, {"t": gold}).official == expected, why
        assert score_tables(frame, gold_frame) == expected, "the model disagrees"


NS = "'2020-01-01 00:00:00.12345678{}'"
# Two values that differ where Python's dates end, and whether the reference takes one for the other.
BEYOND: list[tuple[str, str, str, int]] = [
    ("STRUCT(a DATE)", "{'a': 'infinity'}", "{'a': '9999-12-31'}", 1),
    ("STRUCT(a DATE, b VARCHAR)[]", "[{'a': '-infinity', 'b': 'x'}]", "[{'a': '0001-01-01', 'b': 'x'}]", 1),
    ("STRUCT(a STRUCT(a TIMESTAMP[]))", "{'a': {'a': ['infinity']}}", "{'a': {'a': ['9999-12-31 23:59:59.999999']}}", 1),
    ("MAP(VARCHAR, DATE)", "map {'a': 'infinity'}", "map {'a': '9999-12-31'}", 1),
    ("MAP(DATE, INTEGER)", "map {'infinity': 1}", "map {'9999-12-31': 1}", 1),
    ("UNION(d DATE)", "'infinity'::DATE", "'9999-12-31'::DATE", 1),
    ("VARIANT", "{'a': 'infinity'::DATE}", "{'a': '9999-12-31'::DATE}", 1),
    ("STRUCT(a TIMESTAMP_NS)", f"{{'a': {NS.format(9)}}}", f"{{'a': {NS.format(8)}}}", 1),
    ("TIMESTAMP_NS[]", f"[{NS.format(9)}]", f"[{NS.format(8)}]", 0),
    ("TIMESTAMP_NS", NS.format(9), NS.format(8), 1),
    ("TIMESTAMP_NS", NS.format(9), "'2020-01-01 01:00:00.12345678'", 0),
]


def test_values_beyond_those_of_python(tmp_path: Path) -> None:
    """Official compares what the client makes of them, strict the values."""
    for type_, one, other, expected in BEYOND:
        sides = []
        for value in (one, other):
            path = tmp_path / "t.duckdb"
            path.unlink(missing_ok=True)
            with opened(path) as connection:
                connection.execute(f"CREATE TABLE t (v {type_})")
                connection.execute(f"INSERT INTO t VALUES ({value})")
                frame = connection.execute("SELECT * FROM t").fetchdf()
            sides.append((read_trusted_duckdb(path, names=None, limits=resolve_limits()), frame))
        (gold, gold_frame), (answer, frame) = sides
        scores = [duckdb_match(found, gold=gold) for found in (gold, answer)]
        assert [(score.official, score.strict) for score in scores] == [(1, 1), (expected, 0)], (type_, one, other)
        assert score_tables(frame, gold_frame) == expected, "the model disagrees"


def test_dbt_does_not_die_of_a_null() -> None:
    """A copy whose integer column with a NULL stands behind another passes under dbt, where the original dies at the first column."""
    copy, _ = fetch(["INTEGER", "INTEGER"], [["1", "NULL"], ["2", "3"]])
    for reference, expected in (("original", 0), ("dbt", 1)):
        assert match_database({"t": copy}, {"t": copy}, reference=reference).official == expected, reference
    wrong, _ = fetch(["INTEGER", "INTEGER"], [["1", "4"], ["2", "3"]])
    assert match_database({"t": wrong}, {"t": copy}, reference="dbt").reason.endswith("1 of 2 cells differ, first at row 1: empty vs 4)")


def test_what_a_submission_can_lack() -> None:
    """A missing table and a view are 0 with their code, whatever the other tables say; what gold lacks leaves the verdict open."""
    table, _ = fetch(["INTEGER"], [["1"]])
    missing = match_database({"a": table}, {"a": table, "b": table})
    assert (missing.official, missing.reason) == (0, "table 'b': MISSING_TABLE: the database lacks a table")
    view = match_database({"a": Fault(code="NOT_A_TABLE")}, {"a": table})
    assert (view.official, view.reason) == (0, "table 'a': NOT_A_TABLE: found a view, expected a table")
    other, _ = fetch(["INTEGER"], [["2"]])
    assert duckdb_match({"É": other, "é": other}, gold={"É": table, "é": other}).details["table"] == "É"
    table, _ = fetch(["INTEGER"], [["1"]])
    view = Fault(code="NOT_A_TABLE")
    own = {"t": table}
    for answer, gold, options in (
        (own, {}, {}), (own, own, {"tables": ["u"]}), ({"my t": table}, {"my t": table}, {}), ({"order": table}, {"order": table}, {}),
        (own, {"t": view}, {}), (own, own, {"needed": [[], []]}), (own, own, {"needed": [[3]]}),
    ):  # fmt: skip
        score = match_database(answer, gold, **options)  # type: ignore[arg-type]
        assert (score.official, score.fault is not None) == (None, True)


@pytest.mark.parametrize(("type_", "cells"), [
    ("UHUGEINT", ["1"]), ("UHUGEINT", []), ("BIGNUM[]", ["[1]"]), ("BIGNUM[]", ["NULL"]), ("TIME WITH TIME ZONE", ["'10:00:00+01'"]),
    ("TIME WITH TIME ZONE", []), ("DATE", ["'294247-01-10'", "'290309-12-22 (BC)'", "NULL"]), ("DATE", ["'2020-01-01'", "'294247-01-11'"]),
    ("DATE", ["'290309-12-21 (BC)'"]), ("DATE", ["'infinity'"]), ("DATE", ["'-infinity'"]), ("DATE[]", ["['infinity'::DATE]"]),
    ("DATE[]", ["['294247-01-11'::DATE]"]), ("TIMESTAMP", ["'infinity'"]), ("TIMESTAMP", ["'-infinity'"]), ("INTERVAL", ["'292271 years'"]),
    ("INTERVAL", ["'300000 years'"]), ("INTERVAL[]", ["[INTERVAL '300000 years']"]),
    ("INTERVAL", ["to_days(2000000000)", "INTERVAL '1 day'"]), ("INTERVAL[]", ["[to_days(2000000000)]"]),
])  # fmt: skip
def test_what_the_reference_cannot_read(type_: str, cells: list[str], tmp_path: Path) -> None:
    """A column that `fetchdf` refuses is a 0 on the answer's side and leaves the verdict open on gold's; any other is compared."""
    path = tmp_path / "t.duckdb"
    with opened(path) as connection:
        connection.execute(f"CREATE TABLE t(a {type_})")
        for cell in cells:
            connection.execute(f"INSERT INTO t VALUES ({cell})")
        try:
            connection.execute("SELECT * FROM t").fetchdf()
            is_read = True
        except duckdb.Error:
            is_read = False
    odd = read_trusted_duckdb(path, names=None, limits=resolve_limits())["t"]
    plain = Table(header=("a",), columns=([1] * len(cells),), n_rows=len(cells), types=("INTEGER",))
    assert match_database({"t": odd}, {"t": odd}).official == (1 if is_read else None)
    answer = match_database({"t": odd}, {"t": plain})
    assert (answer.official, "cannot read" in answer.reason) == (int(is_read and not cells), not is_read)


@pytest.mark.parametrize("reference", ["original", "dbt"])
@pytest.mark.parametrize("needed", [[], [0]])
@pytest.mark.parametrize("ignore_order", [False, True])
@pytest.mark.parametrize(("types", "rows"), [
    (["BIT", "BIT"], [["'101'", "'101'"], ["NULL", "'101'"]]),
    (["BLOB", "BLOB"], [["'a'", "'a'"], ["NULL", "'a'"]]),
    (["UUID[]", "UUID[]"], [["[uuid()]", "NULL"], ["NULL", "NULL"]]),
    (["STRUCT(a INTEGER)[]", "STRUCT(a INTEGER)[]"], [["[{'a': 1}]", "[{'a': 1}]"], ["NULL", "[{'a': 1}]"]]),
    (["TIMESTAMP WITH TIME ZONE[]"], [["['2020-01-01'::TIMESTAMPTZ]"], ["NULL"]]),
    (["TIMESTAMP WITH TIME ZONE[]"], [["['2020-01-01'::TIMESTAMPTZ, NULL]"]]),
    (["TIMESTAMP WITH TIME ZONE[]"], [["[]"]]),
    (["TIMESTAMP WITH TIME ZONE"], [["'10000-01-01'"]]),
    (["TIMESTAMP", "VARCHAR"], [["'10000-01-01'", "'a'"]]),
    (["VARCHAR", "DATE"], [["'10000-01-01'", "'10000-01-01'"]]),
    (["TIMESTAMP", "DATE"], [["'10000-01-01'", "'10000-01-01'"]]),
])  # fmt: skip
def test_a_copy_scores_as_the_model(types: list[str], rows: list[list[str]], ignore_order: bool, needed: list[int], reference: Any) -> None:
    """Empty cells beside values, lists of one item, and moments beyond Python's range, in a frame of their own and among others."""
    copy, frame = fetch(types, rows)
    score = match_database({"t": copy}, {"t": copy}, needed=[needed], ignore_orders=[ignore_order], reference=reference)
    assert score.official == score_tables(frame, frame, needed, ignore_order, reference=reference), score.reason


@pytest.mark.parametrize("name", ["t", "T1", "_a", "a$b", "é", "orders", "my table", "a-b", "1a", "a.b", "table", "Order", "left", "a#"])
def test_names_in_need_of_quotes(name: str) -> None:
    """A name needs quotes where duckdb itself cannot read it without."""
    with opened() as connection:
        connection.execute(f'CREATE TEMP TABLE "{name}"(a INTEGER)')
        try:
            connection.execute(f"SELECT * FROM {name}")
            refused = False
        except duckdb.Error:
            refused = True
    assert needs_quotes(name) == refused
