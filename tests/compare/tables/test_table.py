"""Tables from text files under the official rules."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.official_tables import match_golds, match_table, nearest_of
from evalsuite.core.types import Fault, Table
from tests.compare.tables.test_cells import TRAPS
from tests.models.official_table import frame_of, score_tables
from tests.properties import examples

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


def text_table(columns: list[list[str]], name: str = "") -> Table:
    return Table(header=tuple(f"c{index}" for index in range(len(columns))), columns=tuple(columns), n_rows=len(columns[0]), name=name)


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
