"""Cells go into Parquet parts and come back as they were."""

import pickle
import tempfile
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsuite.errors import FaultError
from evalsuite.sql import spill
from evalsuite.sql.cell_forms import ANY, INSTANT
from evalsuite.sql.session import QueryLimits
from evalsuite.sql.spill import Collector, SpilledColumn, load_table, save_table
from evalsuite.types import Table

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "INTEGER": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "HUGEINT": st.integers(-(2**127), 2**127 - 1),
    "UBIGINT": st.integers(0, 2**64 - 1),
    "DOUBLE": st.floats(allow_nan=False),
    "DECIMAL(12,3)": st.decimals(-(10**8), 10**8, places=3),
    "DECIMAL": st.decimals(allow_nan=False),
    "VARCHAR": TEXT,
    "JSON": TEXT,
    "BLOB": st.binary(max_size=8),
    "DATE": st.dates(),
    "TIME": st.times(),
    "TIMESTAMP": st.datetimes(),
    INSTANT: st.datetimes(timezones=st.just(UTC)),
    "UUID": st.uuids(),
    ANY: TEXT | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary(max_size=4),
}


@settings(max_examples=12, deadline=None)
@pytest.mark.parametrize("type_", CELLS)
@given(data=st.data())
def test_cells_come_back(type_: str, data: st.DataObject) -> None:
    """Any column of any type, NULLs among it, is read back value by value and class by class."""
    column = data.draw(st.lists(st.none() | CELLS[type_], min_size=1, max_size=6))
    with tempfile.TemporaryDirectory() as folder:
        save_table(Table(header=("x",), columns=(column,), n_rows=len(column), types=(type_,)), Path(folder))
        table = load_table(Path(folder))
        back = list(table.columns[0])
    assert back == column
    assert [type(cell) for cell in back] == [type(cell) for cell in column]
    assert table.types == (type_,)


def test_values_that_parquet_has_no_form_for(tmp_path: Path) -> None:
    """A decimal that is no number and a day past the calendar stand as text in their part; the others keep their values."""
    columns = ([Decimal("NaN"), Decimal("1.50")], ["infinity", date(2024, 2, 29)], [float("inf"), float("nan")])
    save_table(Table(header=("a", "b", "c"), columns=columns, n_rows=2, types=("DECIMAL(10,2)", "DATE", "DOUBLE")), tmp_path)
    back = [list(column) for column in load_table(tmp_path).columns]
    assert str(back[0]) == str(columns[0])
    assert back[1] == columns[1]
    assert str(back[2]) == str(columns[2])


@given(
    cuts=st.lists(st.integers(0, 9), max_size=4), start=st.integers(-25, 25), stop=st.integers(-25, 25), step=st.sampled_from([1, 2, -1])
)
@settings(max_examples=15, deadline=None)
def test_a_spilled_column_is_a_sequence(cuts: list[int], start: int, stop: int, step: int) -> None:
    """Length, index, slice and iteration are those of the list it stands for, however it is cut into parts; and it pickles."""
    limits = QueryLimits(held_bytes=1)
    with tempfile.TemporaryDirectory() as folder:
        collector = Collector(("x",), ("BIGINT",), limits, Path(folder) / "parts")
        plain: list[int] = []
        for size in [3, *cuts]:
            rows = [(len(plain) + i,) for i in range(size)]
            collector.add(rows)
            plain += [row[0] for row in rows]
        column = pickle.loads(pickle.dumps(collector.table().columns[0]))
        assert isinstance(column, SpilledColumn)
        assert (len(column), list(column), column[start:stop:step]) == (len(plain), plain, plain[start:stop:step])
        assert [column[i] for i in range(-len(plain), len(plain))] == plain + plain
        with pytest.raises(IndexError):
            column[len(plain)]


def test_parts_stay_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the cap at most one part is in memory, however many rows come."""
    monkeypatch.setattr(spill, "PART_ROWS", 100)
    collector = Collector(("x",), ("BIGINT",), QueryLimits(held_bytes=1000), tmp_path)
    most = 0
    for start in range(0, 5000, 50):
        collector.add([(start + i,) for i in range(50)])
        most = max(most, len(collector._held[0]))
    assert most <= 150
    assert list(collector.table().columns[0]) == list(range(5000))
    assert collector.n_bytes == 8 * 5000


def test_without_a_folder_the_cap_is_a_limit() -> None:
    """Where nothing may be written, more than is held is a LIMIT that names its limit."""
    collector = Collector(("x",), ("VARCHAR",), QueryLimits(held_bytes=100), None)
    with pytest.raises(FaultError, match="limit table_bytes"):
        collector.add([("x" * 101,)])


def test_times_with_microseconds(tmp_path: Path) -> None:
    """The last microsecond of a day and of the calendar are kept."""
    cells = ([time(23, 59, 59, 999999)], [datetime(9999, 12, 31, 23, 59, 59, 999999)])
    save_table(Table(header=("a", "b"), columns=cells, n_rows=1, types=("TIME", "TIMESTAMP")), tmp_path)
    assert [list(column) for column in load_table(tmp_path).columns] == [list(column) for column in cells]
