"""Text cells are typed as pandas types them."""

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.duckdb_fetchdf_compat import database_columns
from evalsuite.compare.official_cells import NA, NAN, NAT, Items, Uncomparable, cells_equal, official_frame, typed_column
from evalsuite.core.types import Table
from tests.models.official_table import frame_of, lists_of
from tests.properties import examples

TRAPS = [
    *["", "NA", "nan", "None", "NaN", "null", "-nan", "NAN", " NA", "<NA>"],
    *["1", "0", "-1", "007", " 5", "5 ", "\t7", "+3", "-0", "- 5", "+-5", "1_000", "١", "5\xa0", "\x1c5", "1 000", "1,000"],
    *["1.0", "2.5", "-.5", "5.", ".", "1e5", "1E-3", "1e", "1e 5", "1e400", "-1e400", "4.9e-324", "0.1", "12345678901234567.25"],
    *["inf", "-Infinity", "+INF", " inf", "True", "false", "TRUE", "tRue", " True", "abc", "-abc", "-1x", "é"],
    *["9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"],
    *["18446744073709551615", "18446744073709551616", "99999999999999999999", "-99999999999999999999", "99999999999999999999.5"],
    *["9" * 400, "5" * 4301],
]
CASES = [
    (["1", "2"], "int", [1, 2], "digits are integers"),
    (["-0"], "int", [0], "an integer has no negative zero"),
    (["1", ""], "float", [1.0, NAN], "an empty cell makes integers floats"),
    (["", ""], "float", [NAN, NAN], "nothing but empty cells is a float column"),
    (["1", "x", "NA"], "text", ["1", "x", NAN], "one text makes the column text"),
    (["True", "NA"], "object", [True, NAN], "booleans beside an empty cell stay booleans"),
    (["True", "1"], "text", ["True", "1"], "booleans and numbers do not mix"),
    (["1e400"], "float", [float("inf")], "beyond the largest float is infinite"),
    (["18446744073709551615"], "uint", [2**64 - 1], "unsigned integers go to 2^64 - 1"),
    (["18446744073709551616", "NA"], "object", [2**64, NAN], "beyond 64 bits Python integers"),
    (["18446744073709551615", "-1"], "raw", ["18446744073709551615", "-1"], "no 64-bit type holds both"),
    (["NA", "18446744073709551615"], "raw", ["NA", "18446744073709551615"], "the NA word is left as it stands"),
    (["99999999999999999999", "1.5"], "raw", ["99999999999999999999", "1.5"], "an overflow first bars floats"),
    (["1.5", "99999999999999999999"], "float", [1.5, 1e20], "a float first does not"),
    (["9223372036854775807"], "int", [2**63 - 1], "the largest of 64 bits"),
    (["-9223372036854775808"], "int", [-(2**63)], "the smallest of 64 bits"),
    (["9223372036854775808"], "uint", [2**63], "the first beyond them, of 19 characters"),
    (["-9223372036854775809"], "object", [-(2**63) - 1], "the first below them"),
    (["9223372036854775808", "0"], "uint", [2**63, 0], "zero among unsigned ones"),
    (["-9223372036854775809", "0"], "object", [-(2**63) - 1, 0], "zero among negative ones beyond 64 bits"),
    (["-1", "9223372036854775808"], "raw", ["-1", "9223372036854775808"], "an unsigned one among negative ones"),
    (["-1", "18446744073709551616"], "object", [-1, 2**64], "beyond all of 64 bits Python integers"),
    (["falsey"], "text", ["falsey"], "longer than a boolean"),
    (["FALSE", "true"], "bool", [False, True], "in any case"),
]


def text_table(columns: list[list[str]]) -> Table:
    return Table(
        header=tuple(f"c{index}" for index in range(len(columns))),
        columns=tuple(columns),
        n_rows=len(columns[0]) if columns else 0,
    )


def lists(table: Table, needed: list[int] | None = None) -> str:
    return repr([column.values for column in official_frame(table, needed)])


def test_column_kinds() -> None:
    """A column gets the kind and the values that pandas gives it."""
    for cells, kind, values, why in CASES:
        typed = typed_column(cells)
        assert (typed.kind, list(map(repr, typed.values))) == (kind, list(map(repr, values))), why
        assert list(map(repr, lists_of(frame_of([cells]))[0])) == list(map(repr, values)), "the model disagrees"


@st.composite
def columns_of_text(draw: st.DrawFn) -> list[list[str]]:
    """One to four columns of one to five cells, each from a few traps so that whole columns agree in kind."""
    n_rows = draw(st.integers(1, 5))
    word = st.one_of(st.sampled_from(TRAPS), st.integers(-(2**65), 2**65).map(str), st.floats().map(repr))
    some = st.lists(word, min_size=1, max_size=3)
    return [draw(st.lists(st.sampled_from(draw(some)), min_size=n_rows, max_size=n_rows)) for _ in range(draw(st.integers(1, 4)))]


@examples(250)
@given(columns_of_text(), st.data())
def test_every_column_as_pandas_types_it(columns: list[list[str]], data: st.DataObject) -> None:
    """Any columns, and any choice of them, come out as pandas' own lists, type by type."""
    needed = data.draw(st.lists(st.integers(0, len(columns) - 1), max_size=3))
    assert lists(text_table(columns), needed or None) == repr(lists_of(frame_of(columns), needed))


def test_floats_of_many_digits() -> None:
    """5,000 decimal texts of up to 25 digits and exponents of up to 330 become the floats pandas reads."""
    source = random.Random(7)
    texts = []
    for _ in range(5000):
        digits = "".join(source.choices("0123456789", k=source.randint(2, 25)))
        point = source.randint(1, len(digits))
        exponent = f"e{source.randint(-330, 330)}" if source.random() < 0.5 else ""
        texts.append(f"{digits[:point]}.{digits[point:]}{exponent}")
    assert list(map(repr, typed_column(texts).values)) == list(map(repr, lists_of(frame_of([texts]))[0]))


LIST, PAIR, ID = Items((1,)), Items((1, 2)), UUID(int=1)


@pytest.mark.parametrize(
    ("gold", "predicted", "is_equal"),
    [
        (LIST, 1, True), (1, LIST, True), (LIST, 2, False), (LIST, Items((1.0,)), True), (LIST, Items(("a",)), False), (PAIR, 1, None),
        (1, PAIR, None),
        (PAIR, PAIR, None), (Items((None,)), NAN, True), (NAN, Items((None,)), True), (Items((None,)), 1, False), (LIST, NAN, False),
        (Items(([1],)), 1, None),
        (Items(((1,),)), 1, None), (LIST, NA, None), (NA, LIST, None), (NA, NA, True), (NA, None, True), (NAT, NAN, True), (NA, 1, None),
        (1, NA, None), (NA, "a", None),
        (NA, {"a": 1}, False), ({"a": 1}, NA, False), (NA, ID, False), (ID, NA, False), (NA, b"a", False), (b"a", NA, False),
        (1, 1.0099, True), (1, 1.0101, False),
        (True, 1, True), ("a", "a", True), ("a", "b", False), ("1", 1, False), (NAN, 0, False), (10**400, 1, None), (1, 10**400, None),
        (10**400, "a", False),
    ],
)  # fmt: skip
def test_cells_as_the_reference_compares_them(gold: object, predicted: object, is_equal: bool | None) -> None:
    """Lists by their only item, empty cells with each other, numbers within a hundredth; None where the reference raises."""
    if is_equal is None:
        with pytest.raises(Uncomparable):
            cells_equal(gold, predicted)
    else:
        assert cells_equal(gold, predicted) is is_equal


MOMENT = datetime(2020, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("type_", "cell", "nature", "value"),
    [
        ("INTEGER[]", (1, 2), "other", "[1 2]"), ("STRUCT(a INTEGER)", {"a": 1}, "other", "{'a': 1}"), ("BIGINT", 5, "number", "5"),
        ("DOUBLE", 1.5, "number", "1.5"),
        ("DECIMAL(9,2)", Decimal("-1.25"), "number", "-1.25"), ("DECIMAL(9,0)", Decimal(7), "number", "7.0"),
        ("BOOLEAN", True, "number", "True"), ("VARCHAR", "a", "text", "a"),
        ("DATE", date(2020, 1, 2), "moment", "2020-01-02 00:00:00"),
        ("TIMESTAMP", MOMENT, "moment", str(MOMENT)), ("INTERVAL", timedelta(1, 5), "moment", "1 day, 0:00:05"),
        ("TIMESTAMP WITH TIME ZONE", "2020-01-02 03:04:05+00:00", "moment", "2020-01-02 03:04:05+00:00"),
        ("BIT", "101", "other", "b'101'"), ("BLOB", b"a", "other", "b'a'"),
        ("VARCHAR", None, "moment", "None"), ("BIGINT", None, "number", "nan"), ("DOUBLE", None, "number", "nan"),
        ("BIT", b"1", "other", "b'1'"),
    ],
)  # fmt: skip
def test_columns_of_one_cell_of_a_database(type_: str, cell: object, nature: str, value: str) -> None:
    """Each type as the reference's frame has it."""
    table = Table(header=("a",), columns=([cell],), n_rows=1, types=(type_,))
    (column,) = database_columns(table, [0])
    assert (column.nature, str(column.values[0])) == (nature, value)
