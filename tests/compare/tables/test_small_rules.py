"""Which columns count, and where the reference's loop over several golds ends."""

import pytest

from evalsuite.compare.official_tables import resolve
from evalsuite.scorers.duckdb_match import duckdb_match
from evalsuite.scorers.table_match import table_match
from tests.compare.tables.test_table import text_table

HUGE = "1" + "0" * 400


@pytest.mark.parametrize(
    ("needed", "n_columns", "columns"),
    [
        ([], 3, [0, 1, 2]),
        ([], 0, []),
        ([2, 0], 3, [2, 0]),
        ([-1], 3, [2]),
        ([-3, 1], 3, [0, 1]),
        ([-4], 3, "condition_cols names column -4, gold has 3 columns (the first is 0)"),
        ([3], 3, "condition_cols names column 3, gold has 3 columns (the first is 0)"),
        ([0, 1], 1, "condition_cols names column 1, gold has 1 column (the first is 0)"),
    ],
)
def test_columns_by_number(needed: list[int], n_columns: int, columns: list[int] | str) -> None:
    """As Python counts a list: from 0, from the end below 0, and an error beyond either end; no number is all columns."""
    if isinstance(columns, list):
        assert resolve(needed, n_columns) == columns
    else:
        with pytest.raises(IndexError) as error:
            resolve(needed, n_columns)
        assert str(error.value) == columns


@pytest.mark.parametrize(
    ("columns", "official"), [([[0]], 1), ([[1]], 0), ([[-1]], 0), ([[-2]], 1), ([[0, -2]], 1), ([[]], 0), ([[2]], None), ([[-3]], None)]
)
def test_columns_of_a_database(columns: list[list[int]], official: int | None) -> None:
    """The first of two columns is 0 or -2 and is right; beyond them there is none, which the reference cannot judge (a 0 there)."""
    gold, predicted = ({"t": text_table([["1", "2"], cells], name="t")} for cells in (["a", "b"], ["a", "c"]))
    found = duckdb_match(predicted, gold=gold, condition_tabs=["t"], condition_cols=columns, ignore_orders=[False])
    assert (found.official or 0) == (official or 0)
    if official == 1:
        assert found.strict == 1


@pytest.mark.parametrize(
    ("golds", "official", "position"),
    [
        (["5", HUGE], 1, 1),
        ([HUGE, "5"], 0, 1),
        (["6", HUGE, "5"], 0, 2),
        (["6", "5", HUGE], 1, 2),
        (["6", HUGE], 0, 2),
        (["1" + "0" * 30, "5"], 1, 2),
    ],
)
def test_an_integer_that_is_no_float_ends_the_references_loop(golds: list[str], official: int, position: int) -> None:
    """`float(10**400)` raises in the reference's comparison: no gold behind it is looked at; strict compares all."""
    tables = [text_table([[cell]], name=f"{at}.csv") for at, cell in enumerate(golds)]
    found = table_match(text_table([["5"]]), gold=tables)
    assert found.official == official
    assert found.reason.startswith(f"gold {position} of {len(golds)} '{position - 1}.csv': ")
    assert found.strict == ("5" in golds)
