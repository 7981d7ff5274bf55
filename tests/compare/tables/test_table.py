"""Text tables under the official rules: cells as pandas types them, and the rules of each reference, against the plain models."""

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.duckdb_fetchdf_compat import database_columns
from evalsuite.compare.official_cells import NA, NAN, NAT, Items, Uncomparable, cells_equal, official_frame, typed_column
from evalsuite.compare.official_tables import match_golds, match_table, nearest_of
from evalsuite.core.types import Fault, Score, Table
from evalsuite.scorers.table_match import table_match
from tests.models.official_table import frame_of, lists_of, of_bare_number, score_tables
from tests.models.results_table import score
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
TYPED = [
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


def text_table(columns: list[list[str]], name: str = "") -> Table:
    """A table of texts, as a reader hands it over."""
    header = tuple(f"c{index}" for index in range(len(columns)))
    return Table(header=header, columns=tuple(columns), n_rows=len(columns[0]) if columns else 0, name=name)


def lists(table: Table, needed: list[int] | None = None) -> str:
    return repr([column.values for column in official_frame(table, needed)])


def test_column_kinds() -> None:
    """A column gets the kind and the values that pandas gives it."""
    for cells, kind, values, why in TYPED:
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


@pytest.mark.parametrize(("gold", "predicted", "is_equal"), [
    (LIST, 1, True), (1, LIST, True), (LIST, 2, False), (LIST, Items((1.0,)), True), (LIST, Items(("a",)), False), (PAIR, 1, None),
    (1, PAIR, None), (PAIR, PAIR, None), (Items((None,)), NAN, True), (NAN, Items((None,)), True), (Items((None,)), 1, False),
    (LIST, NAN, False), (Items(([1],)), 1, None), (Items(((1,),)), 1, None), (LIST, NA, None), (NA, LIST, None), (NA, NA, True),
    (NA, None, True), (NAT, NAN, True), (NA, 1, None), (1, NA, None), (NA, "a", None), (NA, {"a": 1}, False), ({"a": 1}, NA, False),
    (NA, ID, False), (ID, NA, False), (NA, b"a", False), (b"a", NA, False), (1, 1.0099, True), (1, 1.0101, False), (True, 1, True),
    ("a", "a", True), ("a", "b", False), ("1", 1, False), (NAN, 0, False), (10**400, 1, None), (1, 10**400, None), (10**400, "a", False),
])  # fmt: skip
def test_cells_as_the_reference_compares_them(gold: object, predicted: object, is_equal: bool | None) -> None:
    """Lists by their only item, empty cells with each other, numbers within a hundredth; None where the reference raises."""
    if is_equal is None:
        with pytest.raises(Uncomparable):
            cells_equal(gold, predicted)
    else:
        assert cells_equal(gold, predicted) is is_equal


MOMENT = datetime(2020, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(("type_", "cell", "nature", "value"), [
    ("INTEGER[]", (1, 2), "other", "[1 2]"), ("STRUCT(a INTEGER)", {"a": 1}, "other", "{'a': 1}"), ("BIGINT", 5, "number", "5"),
    ("DOUBLE", 1.5, "number", "1.5"), ("DECIMAL(9,2)", Decimal("-1.25"), "number", "-1.25"), ("DECIMAL(9,0)", Decimal(7), "number", "7.0"),
    ("BOOLEAN", True, "number", "True"), ("VARCHAR", "a", "text", "a"), ("DATE", date(2020, 1, 2), "moment", "2020-01-02 00:00:00"),
    ("TIMESTAMP", MOMENT, "moment", str(MOMENT)), ("INTERVAL", timedelta(1, 5), "moment", "1 day, 0:00:05"),
    ("TIMESTAMP WITH TIME ZONE", "2020-01-02 03:04:05+00:00", "moment", "2020-01-02 03:04:05+00:00"), ("BIT", "101", "other", "b'101'"),
    ("BLOB", b"a", "other", "b'a'"), ("VARCHAR", None, "moment", "None"), ("BIGINT", None, "number", "nan"),
    ("DOUBLE", None, "number", "nan"), ("BIT", b"1", "other", "b'1'"),
])  # fmt: skip
def test_columns_of_one_cell_of_a_database(type_: str, cell: object, nature: str, value: str) -> None:
    """Each type as the reference's frame has it."""
    table = Table(header=("a",), columns=([cell],), n_rows=1, types=(type_,))
    (column,) = database_columns(table, [0])
    assert (column.nature, str(column.values[0])) == (nature, value)


HUGE = "9" * 400
CASES: list[tuple[list[list[str]], list[list[str]], dict[str, Any], int, str]] = [
    ([["1", "2"]], [["1", "2"]], {}, 1, "the same column"),
    ([["x", "y"], ["1", "2"]], [["1", "2"]], {}, 1, "further columns do not count"),
    ([["1", "2"]], [["1", "2"], ["1", "2"]], {}, 1, "one column serves two gold columns"),
    ([["1", "2"]], [["1", "2"], ["3", "4"]], {"needed": [0]}, 1, "only needed columns count"),
    ([["3", "4"]], [["1", "2"], ["3", "4"]], {"needed": [-1]}, 1, "a negative position counts from the end"),
    ([["2", "1"]], [["1", "2"]], {}, 0, "rows keep their order"),
    ([["2", "1"]], [["1", "2"]], {"ignore_order": True}, 1, "unless order is ignored"),
    ([["a", "b"], ["2", "1"]], [["a", "b"], ["1", "2"]], {"ignore_order": True}, 1, "then columns are sorted apart"),
    ([["1", "2", "2"]], [["1", "2"]], {}, 0, "the number of rows counts"),
    ([["1.009"]], [["1"]], {}, 1, "numbers are equal within 0.01"),
    ([["1.011"]], [["1"]], {}, 0, "and not beyond"),
    ([["10000000001"]], [["10000000000"]], {}, 1, "or within a relative 1e-9"),
    ([["True"]], [["0.995"]], {}, 1, "a boolean is a number"),
    ([["7", "x"]], [["007", "x"]], {}, 0, "in a text column numbers are text"),
    ([["7"]], [["007"]], {}, 1, "in a numeric one they are not"),
    ([["NA"]], [["null"]], {}, 1, "empty equals empty"),
    ([["0"]], [[""]], {}, 0, "and nothing else"),
    ([["10.001", "10.5"]], [["9.999", "10.5"]], {"ignore_order": True}, 0, "numbers are sorted as text, which defeats the tolerance"),
    ([["1", "12"], ["x", "y"]], [["12", "1"], ["0.5", "0.5"]], {"needed": [0], "ignore_order": True}, 1, "integers beside text"),
    (
        *([["20", "21000000000000000"], ["0.5", "0.5"]], [["20", "21000000000000000"]]),
        *(
            {"ignore_order": True},
            0,
            "a float beside them makes floats of integers: 20 is before 21000000000000000, but 2.1e+16 before 20.0",
        ),
    ),
    ([["20", "2100000000000000"], ["0.5", "0.5"]], [["20", "2100000000000000"]], {"ignore_order": True}, 1, "but not shorter ones"),
    ([["20", "21000000000000000"], ["0.5", "0.5"]], [["20", "21000000000000000"]], {}, 1, "nor in row order"),
    ([[]], [[]], {}, 1, "no rows equal no rows"),
    ([[HUGE]], [[HUGE]], {}, 0, "an integer beyond all floats makes the reference fail"),
    ([[HUGE], ["1"]], [["1"]], {}, 0, "also where it only stands before the equal column"),
    ([["1"], [HUGE]], [["1"]], {}, 1, "but not behind it"),
]


def test_cases() -> None:
    """The score is the reference's, and a one-sentence reason says why."""
    for predicted, gold, options, expected, why in CASES:
        score = match_table(text_table(predicted), text_table(gold), **options)
        assert score.official == expected, why
        assert score_tables(frame_of(predicted), frame_of(gold), **options) == expected, "the model disagrees"
        assert score.reason
        assert not score.reason.endswith(".")


def test_any_of_several_golds() -> None:
    """Any gold may match; one that cannot be read leaves the verdict open only where none does."""
    right, wrong, lost = text_table([["1"]]), text_table([["2"]], name="b.csv"), Fault(code="BAD_GOLD_FILE", detail="b.csv")
    assert nearest_of(match_golds(right, [wrong, right], needed=[[], []], ignore_order=False)).official == 1
    assert nearest_of(match_golds(right, [lost, right], needed=[[], []], ignore_order=False)).official == 1
    assert nearest_of(match_golds(right, [wrong, wrong], needed=[[], []], ignore_order=False)).official == 0
    unjudged = nearest_of(match_golds(right, [wrong, lost], needed=[[], []], ignore_order=False))
    assert (unjudged.official, unjudged.fault) == (None, lost)


@st.composite
def pairs_of_tables(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    """A gold table, and a prediction made of its columns: shuffled, rewritten, perturbed or mixed with others."""
    n_rows = draw(st.integers(1, 5))
    few = st.lists(st.one_of(st.sampled_from(TRAPS), st.integers(0, 30).map(str), st.floats(-3, 30).map(repr)), min_size=1, max_size=4)
    gold = [[draw(st.sampled_from(words)) for _ in range(n_rows)] for words in (draw(few) for _ in range(draw(st.integers(1, 3))))]
    order = draw(st.permutations(range(n_rows))) if draw(st.booleans()) else range(n_rows)
    predicted = [[column[row] for row in order] for column in draw(st.permutations(gold))]
    for column in predicted:
        for row in range(n_rows):
            edit = draw(st.integers(0, 9))
            try:
                column[row] = str(float(column[row]) + 0.004) if edit == 0 else f"{column[row]}.0" if edit == 1 else column[row]
            except ValueError:
                column[row] = "x"
    if draw(st.booleans()):
        predicted.insert(0, [draw(st.sampled_from(TRAPS)) for _ in range(n_rows)])
    return predicted, gold


@examples(300)
@given(pairs_of_tables(), st.booleans(), st.booleans(), st.sampled_from(["original", "dbt"]))
def test_any_tables_score_as_the_model(
    tables: tuple[list[list[str]], list[list[str]]], ignore_order: bool, first_only: bool, reference: Any
) -> None:
    """The score of any two tables equals that of the plain model on pandas."""
    predicted, gold = tables
    needed = [0] if first_only else []
    score = match_table(text_table(predicted), text_table(gold), needed=needed, ignore_order=ignore_order, reference=reference)
    assert score.official == score_tables(frame_of(predicted), frame_of(gold), needed, ignore_order, reference=reference)


AB, CD = [["1", "2"], ["x", "y"]], [["3", "4"], ["u", "v"]]
# predicted, golds, condition_cols, ignore_order, is the gold file alone, score in lite, in snow, why
OF_REFERENCES: list[tuple[list[list[str]], list[list[list[str]]], Any, bool, bool, int, int, str]] = [
    ([["0", "2"]], [[["", "2"]]], [], False, True, 1, 1, "Q84: an empty gold cell is 0"),
    ([["", "2"]], [[["0", "2"]]], [], False, True, 1, 1, "Q84: on both sides"),
    ([["0.005", "2"]], [[["NA", "2"]]], [], False, True, 1, 1, "Q84: within the tolerance"),
    ([["False", "True"]], [[["", "True"]]], [], False, True, 1, 1, "Q84: and so is False"),
    ([["0", "b"]], [[["", "b"]]], [], False, True, 0, 0, "Q84: in a text column it is the number, not the text 0"),
    ([["b", ""]], [[["", "b"]]], [], True, True, 1, 1, "Q84: zeros of text columns are sorted too"),
    ([["0.0", "-1"]], [[["", "-1"]]], [], True, True, 1, 1, "Q84: as the text 0, before or behind as that falls"),
    (CD[1:], [AB, CD], [1], False, False, 1, 1, "Q85: a flat list holds for each of several golds"),
    (AB[:1], [AB], [0, 1], False, False, 0, 1, "Q85, Q86: one gold in a list takes the first entry alone, in lite 0 is all"),
    (AB[1:], [AB], [1, 0], False, False, 1, 1, "Q85: which another number is not"),
    (AB[:1], [AB], [0, 1], False, True, 0, 0, "a gold file without a letter takes the list"),
    (AB[:1], [AB], [[0]], False, False, 1, 1, "a list of lists is one list a gold"),
    (AB[:1], [AB], [[0]], False, True, 0, 0, "and cannot be used where the file has no letter"),
    (AB[:1], [AB, CD], [[0]], False, False, 1, 1, "Q87: too few lists do not matter where an earlier gold matches"),
    (CD[:1], [AB, CD], [[0]], False, False, 0, 0, "Q87: and are 0 where its turn comes"),
    (AB, [AB], None, False, True, 1, 0, "null is all in lite; snow dies of it"),
    (AB, [AB, CD], None, False, False, 1, 1, "but not among several golds"),
    (AB, [AB], [[]], False, False, 1, 1, "[[]] is all in a list"),
    (AB, [AB], [7], False, True, 0, 0, "a column that gold has not"),
    (AB[:1], [AB], 0, False, True, 0, 1, "a bare 0 is all in lite, the first column in snow"),
    (AB[1:], [AB], 1, False, True, 1, 1, "another bare number is that column"),
    (AB[1:], [AB], -1, False, True, 1, 1, "counted from the end too"),
    (AB, [AB], 0, False, False, 0, 0, "of a list both die"),
]


def judged(predicted: list[list[str]], golds: list[list[list[str]]], columns: Any, ignore_order: bool, alone: bool, layout: Any) -> Score:
    tables = [text_table(gold, name=f"{i}.csv") for i, gold in enumerate(golds)]
    gold = tables[0] if alone else tables
    return table_match(text_table(predicted), gold=gold, condition_cols=columns, ignore_order=ignore_order, reference=layout)


@pytest.mark.parametrize("case", OF_REFERENCES, ids=[case[-1] for case in OF_REFERENCES])
def test_cases_of_references(case: tuple[Any, ...]) -> None:
    """Each quirk has the reference's score in both layouts; where the reference dies the verdict is open, which stands for its 0."""
    *given_, lite, snow, why = case
    predicted, golds, columns, ignore_order, alone = given_
    for layout, expected in (("lite", lite), ("snow", snow)):
        assert (judged(predicted, golds, columns, ignore_order, alone, layout).official or 0) == expected, (layout, why)
        frames = [frame_of(gold) for gold in golds]
        modelled = score(frame_of(predicted), frames, columns, ignore_order, alone=alone, layout=layout)
        assert modelled == expected, f"the model disagrees in {layout}"


CELLS = st.sampled_from(["0", "0.0", "-0.0", "1", "2.004", "2", "", "NA", "nan", "x", "0x", "True", "False", "-1", " 0", "a"])
TABLES = st.integers(0, 3).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=3))
COLUMNS = st.one_of(
    st.none(),
    st.integers(-1, 2),
    st.lists(st.integers(-1, 2), max_size=3),
    st.lists(st.one_of(st.none(), st.lists(st.integers(0, 2), max_size=2)), max_size=3),
    st.lists(st.one_of(st.integers(0, 1), st.lists(st.integers(0, 1), max_size=1)), max_size=2),
)


# Cells whose characters can stand for a column.
LETTERS = st.integers(0, 3).flatmap(
    lambda n: st.lists(st.lists(st.sampled_from(["a", "b", "ab", "ba", "abc", "1", ""]), min_size=n, max_size=n), min_size=1, max_size=2)
)


@examples(300)
@given(
    predicted=TABLES, golds=st.lists(TABLES, min_size=1, max_size=3), columns=COLUMNS, ignore_order=st.booleans(), alone=st.booleans(),
    layout=st.sampled_from(["lite", "snow"]), copied=st.booleans(),
)  # fmt: skip
def test_the_model_agrees(
    predicted: list[list[str]], golds: list[list[list[str]]], columns: Any, ignore_order: bool, alone: bool, layout: str, copied: bool
) -> None:
    """On any tables and any shape of `condition_cols` the score is the plain model's, and nothing raises."""
    golds = golds[:1] if alone else golds
    predicted = [["0" if cell == "" else cell for cell in column] for column in golds[-1]] if copied else predicted
    found = judged(predicted, golds, columns, ignore_order, alone, layout)
    frames = [frame_of(gold) for gold in golds]
    assert (found.official or 0) == score(frame_of(predicted), frames, columns, ignore_order, alone=alone, layout=layout)


def test_the_original_reference_is_untouched() -> None:
    """Without `reference` an empty cell is no 0, and a list for the wrong number of golds leaves the verdict open."""
    assert table_match(text_table([["0"]]), gold=text_table([[""]])).official == 0
    assert table_match(text_table([["1"]]), gold=[text_table([["1"]])], condition_cols=[0]).official is None


@examples(300)
@given(
    predicted=LETTERS, gold=LETTERS, column=st.integers(-2, 2), ignore_order=st.booleans(), reference=st.sampled_from(["original", "dbt"])
)
def test_a_bare_number_under_the_original_is_the_models(
    predicted: list[list[str]], gold: list[list[str]], column: int, ignore_order: bool, reference: Any
) -> None:
    """The original compares the characters of each gold cell with a column, and dies of what is no text; dbt takes that for unequal."""
    found = table_match(text_table(predicted), gold=text_table(gold), condition_cols=column, ignore_order=ignore_order, reference=reference)
    assert (found.official or 0) == of_bare_number(frame_of(predicted), frame_of(gold), column, ignore_order)


def test_a_flat_list_for_several_golds_is_no_official_pass() -> None:
    """The original dies of it, unless an earlier gold matches; strict asks each gold for those columns. Lite and snow do as strict does."""
    golds = [text_table(columns, name=f"{i}.csv") for i, columns in enumerate((AB, CD))]
    for columns in ([1], [0, 1], [0, 1, 1]):
        score = table_match(text_table(CD), gold=golds, condition_cols=columns)
        assert (score.official, score.strict) == (None, 1), columns
        assert score.fault is not None
        assert score.fault.code == "BAD_SPEC"
        assert table_match(text_table(CD), gold=golds, condition_cols=columns, reference="snow").official == 1
    for answer, official in ((AB[:1], 1), (CD, None)):
        assert table_match(text_table(answer), gold=golds, condition_cols=[[0]]).official == official
