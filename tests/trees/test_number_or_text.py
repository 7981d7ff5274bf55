"""A leaf that may be a number or a text, as pydantic writes a Decimal: numbers are compared as numbers, however they are written."""

from random import Random
from typing import Any

from evalsuite import score
from evalsuite.trees import treeval_score

NUMBER = {"type": "number"}
EITHER = {"anyOf": [NUMBER, {"type": "string"}]}


def strict(prediction: Any, gold: Any, leaf: dict[str, Any]) -> float | None:
    """The strict score of one leaf."""
    schema = {"type": "object", "properties": {"price": leaf}}
    return score("tree_score", {"price": prediction}, gold={"price": gold}, schema=schema).strict


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


def test_metrics_of_texts_are_those_of_a_number_or_text() -> None:
    """`types_metrics` for string holds, unless the type has metrics of its own."""
    schema = {"type": "object", "properties": {"price": EITHER}}
    for types, expected in [({"string": "exact_match"}, 0), ({"string": "exact_match", "number or string": "levenshtein"}, 1)]:
        assert score("tree_score", {"price": "5.0"}, gold={"price": "5"}, schema=schema, types_metrics=types).strict == expected
    assert score("tree_score", {"price": "5.0"}, gold={"price": "5"}, schema={"price": "number or string"}).strict == 1
