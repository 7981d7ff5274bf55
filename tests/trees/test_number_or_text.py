"""A leaf that may be a number or a text, as pydantic writes a Decimal: numbers are compared as numbers."""

from random import Random
from typing import Any

import pytest

from evalsuite import score

NUMBER = {"type": "number"}
EITHER = {"anyOf": [NUMBER, {"type": "string"}]}


def strict(prediction: Any, gold: Any, leaf: dict[str, Any]) -> float | None:
    """The strict score of one leaf."""
    schema = {"type": "object", "properties": {"price": leaf}}
    return score("tree_score", {"price": prediction}, gold={"price": gold}, schema=schema).strict


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
    for gold, prediction in zip(numbers[::2], numbers[1::2], strict=True):
        assert strict(prediction, gold, EITHER) == strict(prediction, gold, NUMBER)
    lists = [{"type": "array", "items": leaf} for leaf in (EITHER, NUMBER)]
    assert strict(numbers[:20], numbers[20:40], lists[0]) == strict(numbers[:20], numbers[20:40], lists[1])


def test_texts_keep_their_likeness() -> None:
    """Two texts are compared as texts."""
    assert strict("abcd", "abce", EITHER) == strict("abcd", "abce", {"type": "string"}) == 0.75
