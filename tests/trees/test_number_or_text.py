"""A leaf that may be a number or a text, as pydantic writes a Decimal: numbers are compared as numbers, however they are written."""

import math
from random import Random
from typing import Any

import pytest

from evalsuite import score
from evalsuite.trees import treeval_score

NUMBER = {"type": "number"}
EITHER = {"anyOf": [NUMBER, {"type": "string"}]}


def strict(prediction: Any, gold: Any, leaf: dict[str, Any]) -> float | None:
    """The strict score of one leaf."""
    schema = {"type": "object", "properties": {"price": leaf}}
    return score("tree_score", {"price": prediction}, gold={"price": gold}, schema=schema).strict


def matched(prediction: Any, gold: Any, leaf: dict[str, Any]) -> float | None:
    """The strict score of one leaf by `tree_match`."""
    schema = {"type": "object", "properties": {"price": leaf}}
    return score("tree_match", {"price": prediction}, gold={"price": gold}, schema=schema).strict


@pytest.mark.parametrize(
    ("prediction", "gold"), [(900, 500), (500, 500), (500.0, 500), ("12.5", 12.5), (12.5, "12.5"), (True, 1), (None, 5)]
)
def test_a_number_is_what_it_is_under_type_number(prediction: Any, gold: Any) -> None:
    """The same score whether the leaf may be a text or not."""
    assert strict(prediction, gold, EITHER) == (1.0 if prediction == gold and type(prediction) is not bool else 0.0)


def test_numbers_of_all_kinds_score_as_under_type_number() -> None:
    """300 drawn pairs of integers and floats, alone and in a list."""
    drawn = Random(4)
    numbers = [drawn.choice([drawn.randrange(50), float(drawn.randrange(50)), drawn.randrange(500) / 10]) for _ in range(600)]
    gold, answers = ([{"price": number} for number in numbers[at::2]] for at in (0, 1))
    schemas = [{"type": "object", "properties": {"price": leaf}} for leaf in (EITHER, NUMBER)]
    either, number = ([row.score for row in treeval_score(answers, gold, schema).rows] for schema in schemas)
    assert either == number
    assert {*either} == {0, 1}
    lists = [{"type": "array", "items": leaf} for leaf in (EITHER, NUMBER)]
    assert strict(numbers[:20], numbers[20:40], lists[0]) == strict(numbers[:20], numbers[20:40], lists[1])


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        ("900", "500", 0),
        ("500.00", "500", 1),
        ("5E+2", "500", 1),
        ("-5", "5", 0),
        ("0.1", "0.10", 1),
        ("9007199254740993", "9007199254740992", 0),
    ],
)
def test_texts_that_are_numbers_are_compared_as_numbers(prediction: str, gold: str, expected: int) -> None:
    """A Decimal is written as a text: 900 is not two thirds of 500. Alone, in a list and by both scorers."""
    assert strict(prediction, gold, EITHER) == expected
    assert strict([prediction, "a"], ["a", gold], {"type": "array", "items": EITHER}) == (1 + expected) / 2
    assert matched(prediction, gold, EITHER) == expected


def test_other_texts_keep_their_likeness() -> None:
    """Two texts of which one is no plain number are compared as texts: codes with leading zeros, groups of thousands, units."""
    for gold, prediction in [("abcd", "abce"), ("007", "07"), ("1,000", "1000"), ("500", "500 EUR"), ("12.5", "12.5.1")]:
        assert strict(prediction, gold, EITHER) == strict(prediction, gold, {"type": "string"}) > 0.5
        assert matched(prediction, gold, EITHER) == 0
    assert strict("900", "500", {"type": "string"}) == pytest.approx(2 / 3)


def test_metrics_of_texts_are_those_of_a_number_or_text() -> None:
    """`types_metrics` for string holds, unless the type has metrics of its own."""
    schema = {"type": "object", "properties": {"price": EITHER}}
    for types, expected in [({"string": "exact_match"}, 0), ({"string": "exact_match", "number or string": "levenshtein"}, 1)]:
        assert score("tree_score", {"price": "5.0"}, gold={"price": "5"}, schema=schema, types_metrics=types).strict == expected
    assert score("tree_score", {"price": "5.0"}, gold={"price": "5"}, schema={"price": "number or string"}).strict == 1


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        (500.0, 500, 1), (500, 500.0, 1), (900, 500, 0), ("500", 500, 1), (500, "500", 1), (500.5, "500.50", 1), ("500", "0500", 0),
        (True, 1, 0), (1, True, 0), ("a", "a", 1), ("a", 5, 0), (5, "a", 0), (None, 5, 0), ([5], 5, 0), ([5], "5", 0),
    ],
)  # fmt: skip
def test_tree_match_compares_numbers_by_value(prediction: Any, gold: Any, expected: int) -> None:
    """A gold number is compared as under type number, a gold text that is a number with numbers and texts of its value."""
    assert matched(prediction, gold, EITHER) == matched(prediction, gold, {"type": ["integer", "string", "null"]}) == expected
    if type(gold) in (int, float):
        assert matched(prediction, gold, NUMBER) == expected


@pytest.mark.parametrize(
    ("gold", "prediction", "margin"),
    [
        (1.5, 2, 0.5), (-1, 1, 2), (0.1, 0.6, 0.5), (2**60, 2**60 + 1, 1), (1, 1, 0.25), (1, "x", None),
        (math.nan, 1, None), (math.nan, 1.0, None), (1, math.nan, None), (1.0, math.nan, None),
    ],
)  # fmt: skip
def test_the_margin_of_a_number(gold: Any, prediction: Any, margin: float | None) -> None:
    """The largest distance as written, none where no tolerance helps: a text, or NaN on either side."""
    schema = {"type": "object", "properties": {"price": NUMBER, "n": NUMBER}}
    found = score("tree_match", {"price": prediction, "n": 1.25}, gold={"price": gold, "n": 1}, schema=schema)
    assert found.details["margin"] == margin
