"""A leaf that may be a number or a text, as pydantic writes a Decimal: numbers are compared as numbers, however they are written."""

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


def test_metrics_of_texts_are_those_of_a_number_or_text() -> None:
    """`types_metrics` for string holds, unless the type has metrics of its own."""
    schema = {"type": "object", "properties": {"price": EITHER}}
    for types, expected in [({"string": "exact_match"}, 0), ({"string": "exact_match", "number or string": "levenshtein"}, 1)]:
        assert score("tree_score", {"price": "5.0"}, gold={"price": "5"}, schema=schema, types_metrics=types).strict == expected
    assert score("tree_score", {"price": "5.0"}, gold={"price": "5"}, schema={"price": "number or string"}).strict == 1
