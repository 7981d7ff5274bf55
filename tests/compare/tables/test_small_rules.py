"""Which columns count, where the reference's loop over several golds ends, and small rules that hardly another test distinguishes."""

import itertools
import math
import random
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from evalsuite.compare.columns import from_message, to_message
from evalsuite.compare.dates import nanoseconds
from evalsuite.compare.duckdb_fetchdf_compat import Duration, _instant
from evalsuite.compare.numbers import exact_of
from evalsuite.compare.official_cells import NAN, Vector
from evalsuite.compare.strict_columns import key, read_native
from evalsuite.compare.values import text_cell
from evalsuite.core.types import Table
from evalsuite.scorers.duckdb_match import duckdb_match
from evalsuite.scorers.table_match import table_match
from tests.compare.tables.test_table import text_table

HUGE = "1" + "0" * 400
BEYOND_64_BITS = "9" * 23


@pytest.mark.parametrize(("golds", "official", "position", "reference"), [
    (["5", HUGE], 1, 1, "original"),
    ([HUGE, "5"], 0, 1, "original"),
    (["6", HUGE, "5"], 0, 2, "original"),
    (["6", "5", HUGE], 1, 2, "original"),
    (["6", HUGE], 0, 2, "original"),
    (["1" + "0" * 30, "5"], 1, 2, "original"),
    # A column before it has no match: only lite looks no further.
    (["6," + HUGE, "5"], 0, 1, "original"),
    (["6," + HUGE, "5"], 0, 1, "snow"),
    (["6," + HUGE, "5"], 1, 2, "lite"),
    (["6," + HUGE, "5"], 1, 2, "dbt"),
])  # fmt: skip
@pytest.mark.usefixtures("_any_size")
def test_an_integer_that_is_no_float_ends_the_references_loop(golds: list[str], official: int, position: int, reference: Any) -> None:
    """`float(10**400)` raises in the reference's comparison: no gold behind it is looked at; strict compares all."""
    tables = [text_table([[cell] for cell in row.split(",")], name=f"{at}.csv") for at, row in enumerate(golds)]
    found = table_match(text_table([["5"]]), gold=tables, reference=reference)
    assert found.official == official
    assert found.reason.startswith(f"gold {position} of {len(golds)} '{position - 1}.csv': ")
    assert found.strict == ("5" in golds)


@pytest.mark.parametrize(("answer", "gold", "flip"), [
    ("7", "007", "leading zeros"), ("07.0", "7", "leading zeros"), ("0", "0.001", "value taken for zero"), ("-0.004", "0.004", "sign"),
    ("10000000001", "10000000000", "large integers"), ("1000000001.0", "1000000000", "large integers"),
    ("999999999.5", "999999999", "tolerance by size"), ("10000000000.04", "10000000000.0", "tolerance by size"),
    ("1.005", "1", "tolerance by size"), ("a ", "a", "spaces"), ("$7", "7", "written form"),
])  # fmt: skip
def test_the_cause_of_a_flip(answer: str, gold: str, flip: str) -> None:
    """Why one rule accepts a cell and the other does not; without a tie nothing is said of ties."""
    score = table_match(text_table([[answer]]), gold=text_table([[gold]]))
    assert (score.official != score.strict, score.flip.partition(":")[0]) == (True, flip)


ORDER = {"ignore_order": True}
OWN = {"abs_tol": 1.0, **ORDER}
TIES = {"order_by": [0]}


@pytest.mark.parametrize(("gold", "answer", "options", "flip"), [
    ("a x", "a_ x", {}, "spaces"), ("5_ a", "_5 a", {}, "spaces"), ("true_ a", "true a", {}, "spaces"),
    ("true x", "TRUE x", {}, "true and false"), ("true_ a", "TRUE a", {}, "true and false"), ("1 1", "true 1", {}, "true and false"),
    ("0 0", "False 0", {}, "true and false"), ("none x", "NULL x", {}, "null words"), ("5 a", "5.0 a", {}, "typed by column"),
    ("5% 7%", "0.05 0.07", {"percentage": True}, "percent form"), ("0.05", "5%", {"percentage": True}, "percent form"),
    ("5", "7", {"abs_tol": 3}, "own tolerance"), ("100 a", "100.0 a", {"rel_tol": 0.01}, "typed by column"),
    ("100 a", "$100.5 a", {"rel_tol": 0.01}, "written form"), ("2020-01-01", "2020-01-01T00:00:00", {}, "same instant"),
    ("e\u0301", "\u00e9", {}, "spelling form"),
    # The first kind without which the reference accepts, not the first that is written differently.
    ("1 5", "1.0 $5", {}, "written form"), ("$5 1", "5 1.0", {}, "written form"), ("a 5", "a_ $5", {}, "spaces"),
    ("5 a", "$5 a_", {}, "written form"), ("1 5,x y", "1.0 $5,x y", ORDER, "written form"),
    ("1 5,5 y", "1.0 5,$5 y", ORDER, "written form"),
    # In order, the column that the reference refuses.
    ("none b,5 a", "none b,5.0 a", {}, "typed by column"), ("a b,5 x", "a b,$5 x", {}, "written form"),
    # In any order the rows are paired first.
    ("9.999 20.0", "10.0 20.0", ORDER, "row pairing"), ("5 7,1 2", "7 $5,2 1", ORDER, "written form"),
    ("5 7,1 2", "7 $5,2 1,x y", ORDER, "written form"), ("5 7,1 2", "x y,7 $5,2 1", ORDER, "written form"),
    # Tied rows may change places; what is not moved has another cause.
    ("1 1,b a", "1 1,a b", TIES, "tie order"), ("1 1,5 a", "1 1,a $5", TIES, "tie order"),
    ("1 1 2,5 a 7", "1 1 2,5 a $7", TIES, "written form"),
    ("1 1 2,5 5 7,a b c", "1.0 1 2,5 5 7,b a c", TIES, "tie order"),
    # The row of a tied answer is looked for in all columns.
    ("1 1 2,5 5_ x,a b c", "1 1 2,5_ $5 x,b a c", TIES, "tie order"),
    # With an integer that is no float the reference ends wherever it stands.
    (f"{HUGE} 2", f"{HUGE} 2", {}, "cells the reference dies of"), ("2 5", f"{HUGE} 2,2 $5", ORDER, "cells the reference dies of"),
    # A column that is not needed makes floats of the others, which are sorted as text.
    ("20000000000000000 21", "20000000000000000 21,0.5 1.5", ORDER, "dtype of other columns"),
    # The refused column is asked for first. In order another one may take its place.
    ("9.999 9.999 9.999,$10.00 9.999 9.999", "$10.00 9.999 10.0,9.999 9.999 10.0", {}, "typed by column"),
    ("NONE a,null a", "null a,NONE a_", {}, "spaces"),
    ("none b,5 a", "x y,none b,5.0 a", {}, "typed by column"), ("1 5,7 a", "1.0 $5,7.0 a", {}, "written form"),
    ("1 5,7 a,9 b", "1.0 5,$7 a,9.0 b", ORDER, "written form"), ("1 5,7 a,9 b", "x y,1.0 5,$7 a,9.0 b", ORDER, "written form"),
    # Rows of the same values are paired, from the top; the others within the tolerance, in place if that can be.
    ("2 1 9", "1.0 $9 $2", OWN, "written form"), ("5 5.0 7 a", "a $5 5.00 7", ORDER, "written form"),
    ("1 2", "1 0.5", OWN, "own tolerance"),
    ("2 1", "1.0 $2", OWN, "own tolerance"),
    ("1 5", "x y,1.5 5", {"abs_tol": {"c0": 1}, **ORDER}, "own tolerance"),
    # The reference accepts each kind alone: the first without which it accepts.
    ("99 9.996 10.001", "_99 10.00 10.0075", {"abs_tol": 0.5, **ORDER}, "typed by column"),
    # Whether the huge integer or the fraction comes first decides how the reference reads the column.
    (f"1 {BEYOND_64_BITS} 1.0", f"1 1.0 {BEYOND_64_BITS}", ORDER, "typed by column"),
    (f"1 1.0 {BEYOND_64_BITS}", f"1 {BEYOND_64_BITS} 1.0", ORDER, "typed by column"),
    (f"1 {BEYOND_64_BITS} 1.0 5", f"1 1.0 {BEYOND_64_BITS} $5", ORDER, "written form"),
])  # fmt: skip
def test_the_proved_cause_of_a_flip(gold: str, answer: str, options: dict[str, Any], flip: str) -> None:
    """Why strict accepts what the reference refuses, if several cells are written differently."""
    score = table_match(table_of(answer), gold=table_of(gold), **options)
    assert (score.official, score.strict, score.flip.partition(":")[0]) == (0, 1, flip)


def table_of(columns: str) -> Table:
    """A table of texts, from its columns; `_` is a space."""
    return text_table([[cell.replace("_", " ") for cell in column.split()] for column in columns.split(",")])


NOT_FOUND = "no cause found"


@pytest.mark.parametrize(("gold", "answer", "options", "limit", "causes"), [
    ("9.996 10.001", "10.00 10.0075", OWN, "_MOST_READ", {1: NOT_FOUND, 2: NOT_FOUND, 3: "typed by column"}),
    ("9.996 10.001,a b", "10.00 10.0075,a b", OWN, "_MOST_READ", {4: NOT_FOUND, 6: "typed by column"}),
    ("5 7", "$7 $5", ORDER, "_MOST_READ", {1: NOT_FOUND, 2: "written form"}),
    ("5 7,1 2", "$7 $5,2 1", ORDER, "_MOST_READ", {3: NOT_FOUND, 4: "written form"}),
    ("1 2", "1.4 2.4", OWN, "_MOST_PAIRED", {1: NOT_FOUND, 2: "own tolerance"}),
    ("5 7", "5 $7,x y", ORDER, "_MOST_ASKED", {5: NOT_FOUND, 6: "written form"}),
    ("1 5", "1.0 $5", {}, "_MOST_ASKED", {3: NOT_FOUND, 4: "written form"}),
    ("1 5,7 x", "7 x,1.0 $5", {}, "_MOST_ASKED", {7: NOT_FOUND, 8: "written form"}),
])  # fmt: skip
def test_more_than_is_looked_at_has_no_cause(
    gold: str, answer: str, options: dict[str, Any], limit: str, causes: dict[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to each limit the cause is found, beyond it nothing is guessed."""
    for most, cause in causes.items():
        monkeypatch.setattr(f"evalsuite.compare.flip_causes.{limit}", most)
        score = table_match(table_of(answer), gold=table_of(gold), **options)
        assert (score.official, score.strict, score.flip.partition(":")[0]) == (0, 1, cause)


@pytest.mark.parametrize("options", [{}, {"abs_tol": 0.5}])
def test_wide_tables_in_any_order(options: dict[str, Any]) -> None:
    """Columns and rows in another order are right, and with another value in one cell wrong."""
    drawn = random.Random(7)
    gold = [drawn.choices(["1.0", "1.5", "2", "a"], k=4) for _ in range(17)]
    rows = drawn.sample(range(4), 4)
    answer = [[column[row] for row in rows] for column in drawn.sample(gold, 17)]
    asked: dict[str, Any] = {"gold": text_table(gold), "labels": "ignore", **ORDER, **options}
    assert table_match(text_table(answer), **asked).strict == 1
    answer[drawn.randrange(17)][drawn.randrange(4)] = "7"
    assert table_match(text_table(answer), **asked).strict == 0


def test_the_kind_of_a_refusal_is_of_cells_that_the_reference_called_equal() -> None:
    """The column of gold's name is compared in the reason, but the reference took another one."""
    answer = Table(header=("n", "m"), columns=(["a"], ["1.008"]), n_rows=1)
    score = table_match(answer, gold=Table(header=("n",), columns=(["1.00"],), n_rows=1))
    assert (score.official, score.strict, score.flip.partition(":")[0]) == (1, 0, "tolerance by size")


def test_options_of_each_gold_cause_a_flip_only_if_they_differ_from_what_the_reference_reads() -> None:
    """It reads any list as `ignore_order`, and sorted as text 9.999 is not where 10.0 is."""
    answer, gold = text_table([["10.0", "20.0"]]), text_table([["9.999", "20.0"]])
    flips = [table_match(answer, gold=gold, ignore_order=[one]).flip.partition(":")[0] for one in (True, False)]
    assert flips == ["row pairing", "per-gold options"]


@pytest.fixture(params=[0, 1 << 60])
def _any_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are compared as big ones are, and as small ones."""
    monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", request.param)


@pytest.mark.usefixtures("_any_size")
@pytest.mark.parametrize(("names", "strict"), [("bac", 1), ("cab", 0), ("acb", 0)])
def test_tied_rows_change_places_with_each_other_only(names: str, strict: int) -> None:
    """Two rows of the same place in the order, and one of the next."""
    keys = {"a": "1", "b": "1", "c": "2"}
    gold, answer = (text_table([[keys[name] for name in rows], list(rows)]) for rows in ("abc", names))
    assert table_match(answer, gold=gold, order_by=[0]).strict == strict


@pytest.mark.usefixtures("_any_size")
@pytest.mark.parametrize(("large", "official"), [(10**16, 0), (10**15, 1), (10**15 - 1, 1), (-(10**16), 1)])
def test_integers_that_turn_into_floats_on_one_side(large: int, official: int) -> None:
    """Beside text they stay integers: `10000000000000000` is sorted before `12`, `1e+16` behind `12.0`."""

    def typed(types: list[str], *columns: list[object]) -> dict[str, Table]:
        header = tuple(f"c{at}" for at in range(len(types)))
        return {"t": Table(header=header, columns=columns, n_rows=2, types=tuple(types), name="t")}

    gold = typed(["BIGINT", "DOUBLE"], [large, 12], [1.5, 2.5])
    answer = typed(["BIGINT", "DOUBLE", "VARCHAR"], [12, large], [2.5, 1.5], ["a", "b"])
    score = duckdb_match(answer, gold=gold, ignore_orders=[True])
    assert (score.official, score.strict) == (official, 1)


@pytest.mark.parametrize("cells", [["nan", NAN, "o"], ["0", 0, "1"], ["1", 1, "nan", NAN, None]])
def test_cells_that_look_alike_are_sorted_by_what_they_are(cells: list[object]) -> None:
    """As the reference sorts: a text before the number or empty cell that is written like it, None last."""
    assert all(Vector(list(order), "text").sort().values == cells for order in itertools.permutations(cells))


@pytest.mark.parametrize("seconds", [0, 1, -1, 86_400, -86_400, 90_061.5, -90_061.25, 3_600, -3_599.999999])
def test_a_duration_is_written_as_pandas_writes_it(seconds: float) -> None:
    """Also below zero, where the hours get a sign."""
    span = timedelta(seconds=seconds)
    assert str(Duration(span.days, span.seconds, span.microseconds)) == str(pd.Timedelta(span))


NOON, UUID_ONE = datetime(2020, 1, 2, 12), uuid.UUID(int=1)
NATIVE: list[tuple[Any, Any]] = [
    (None, None), (float("nan"), None), (True, 1), (5, 5), (Decimal(5), 5), (Decimal("-Infinity"), ("inf", -math.inf)),
    (math.inf, ("inf", math.inf)), ("1", text_cell("1")), (NOON, ("instant", nanoseconds(NOON))),
    (NOON.date(), ("instant", nanoseconds(datetime(2020, 1, 2)))),
    ({"b": 1, "a": "x"}, ("struct", (("a", key(text_cell("x"))), ("b", key(1))))),
    ([1, None], ("list", (key(1), key(None)))), ((1, [2]), ("list", (key(1), key(("list", (key(2),)))))), (b"x", ("bytes", b"x")),
    (bytearray(b"x"), ("bytes", b"x")), (memoryview(b"x"), ("bytes", b"x")), (NOON.time(), ("time", NOON.time())),
    (timedelta(1), ("timedelta", timedelta(1))), (UUID_ONE, ("UUID", str(UUID_ONE))),
]  # fmt: skip


def test_values_of_a_database_are_read_by_their_type() -> None:
    """A number is no text, a list no struct; a decimal without decimals is an integer."""
    assert [read_native(value) for value, _ in NATIVE] == [cell for _, cell in NATIVE]
    assert [exact_of(read_native(value)) for value in (0.1, Decimal("5.0"))] == [Decimal("0.1"), Decimal("5.0")]


@pytest.mark.parametrize(("types", "is_view"), [(None, False), (("VARCHAR", "BLOB"), True)])
def test_a_table_comes_back_from_its_message(types: tuple[str, ...] | None, is_view: bool) -> None:
    """All of it; only cells of databases are converted."""
    table = Table(header=("a", "b"), columns=(["x", "y"], ["1", "2"]), n_rows=2, types=types, ragged_line=7, name="t", is_view=is_view)
    converted = table if types is None else replace(table, columns=(["y", "x"], ["2", "1"]))
    message = to_message(table, lambda column: column[::-1])
    assert from_message(message) == replace(converted, columns=tuple(map(list, converted.columns)))
    with pytest.raises(ValueError, match="differ in length"):
        from_message([*message[:3], 3, *message[4:]])


def test_a_timestamp_that_cannot_be_read_is_no_text() -> None:
    """One with a zone is a moment; what stays unread equals neither a moment nor the same text of a column of texts."""
    assert _instant("2020-01-02 12:00:00+00:00") == NOON.replace(tzinfo=UTC)
    assert _instant("5000-13-01 BC") == ("timestamptz", "5000-13-01 BC")
    assert _instant(NOON) is NOON


@pytest.mark.parametrize("ignore_order", [False, True])
def test_a_table_without_columns(ignore_order: bool) -> None:
    """Has none that could match."""
    score = table_match(Table(header=(), columns=(), n_rows=1), gold=text_table([["1"]]), ignore_order=ignore_order)
    assert (score.official, score.strict) == (0, 0)
    assert score.reason == "gold column 1 'c0' has no match; no column submitted"


def test_a_line_with_more_fields_than_the_header_is_named() -> None:
    """In the answer it is strictly wrong; in gold it leaves the verdict open."""
    whole = Table(header=("a",), columns=(["x"],), n_rows=1, name="t.csv")
    ragged = replace(whole, ragged_line=7)
    answered, expected = table_match(ragged, gold=whole), table_match(whole, gold=ragged)
    assert (answered.strict, answered.strict_reason) == (0.0, "ragged rows: line 7 has more fields than the header")
    assert (expected.strict, expected.strict_reason) == (None, "gold file t.csv: line 7 has more fields than the header")


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
