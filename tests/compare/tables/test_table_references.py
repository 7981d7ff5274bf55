"""Tables under the official rules of Spider 2.0 Lite and Snow (Q84-87), against the plain model on pandas."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.types import Score
from evalsuite.scorers.table_match import table_match
from tests.compare.tables.test_table import text_table
from tests.models.official_table import frame_of, of_bare_number
from tests.models.results_table import score
from tests.properties import examples

AB, CD = [["1", "2"], ["x", "y"]], [["3", "4"], ["u", "v"]]
# predicted, golds, condition_cols, ignore_order, is the gold file alone, score in lite, in snow, why
CASES: list[tuple[list[list[str]], list[list[list[str]]], Any, bool, bool, int, int, str]] = [
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


@pytest.mark.parametrize("case", CASES, ids=[case[-1] for case in CASES])
def test_cases(case: tuple[Any, ...]) -> None:
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
    predicted: list[list[str]],
    golds: list[list[list[str]]],
    columns: Any,
    ignore_order: bool,
    alone: bool,
    layout: str,
    copied: bool,
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
    """The original dies of it, whatever was handed in; strict asks each gold for those columns. Lite and snow take it as strict does."""
    golds = [text_table(columns, name=f"{i}.csv") for i, columns in enumerate((AB, CD))]
    for columns in ([1], [0, 1], [0, 1, 1]):
        score = table_match(text_table(CD), gold=golds, condition_cols=columns)
        assert (score.official, score.strict) == (None, 1), columns
        assert score.fault is not None
        assert score.fault.code == "BAD_SPEC"
        assert table_match(text_table(CD), gold=golds, condition_cols=columns, reference="snow").official == 1


def test_an_earlier_gold_counts_before_the_one_the_original_dies_of() -> None:
    """One list for two golds: the first can match, and only where it does not is the verdict open."""
    golds = [text_table(columns, name=f"{i}.csv") for i, columns in enumerate((AB, CD))]
    assert table_match(text_table(AB[:1]), gold=golds, condition_cols=[[0]]).official == 1
    assert table_match(text_table(CD), gold=golds, condition_cols=[[0]]).official is None
