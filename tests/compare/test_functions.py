"""What functions say of texts and results that were drawn, to the letter: moments, days, quantities, characters, results of queries."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evalsuite.compare.characters import clean, digits_only, is_joined, is_spaceless, is_visible, looks_like, spelled_out, visible
from evalsuite.compare.dates import date_readings, days_of, instant_of, moment_of
from evalsuite.compare.quantities import parse_quantity
from evalsuite.compare.result_sets import equal_as_bags, equal_as_sets, soft_f1
from tests.compare.texts.test_values import CORPUS


def read_quantity(value: Any, unit: str, locale: str, extra: dict[str, Any]) -> list[Any] | None:
    """Amount, dimension, unit and factor."""
    found = parse_quantity(value, unit=unit, locale=locale, extra=extra)
    return None if found is None else [str(found.amount), dict(found.dimension), found.unit, str(found.scale)]


def describe(text: str) -> list[Any]:
    """What the first character looks like and stands for, and what it is next to others."""
    first = text[0]
    shapes = [sorted(looks_like(first)), spelled_out(first), digits_only(f"5{text}6"), visible(text)]
    return [*shapes, is_joined(first, text[1:2]), is_spaceless(first), is_visible(first)]


def compare(gold: list[Any], predicted: list[Any]) -> list[Any]:
    """Under each evaluator of SQL."""
    sides = [list(map(tuple, side)) for side in (gold, predicted)]
    bags = [equal_as_bags(*sides, ordered=ordered) for ordered in (False, True)]
    return [equal_as_sets(*sides), *bags, round(soft_f1(*sides), 9)]


def text_of(value: Any) -> str | None:
    """None stays None."""
    return None if value is None else str(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "moment": lambda *arguments: text_of(moment_of(*arguments)),
    "days": lambda *arguments: (span := days_of(*arguments)) and list(map(str, span)),
    "readings": lambda text: list(map(list, date_readings(text))),
    "instant": instant_of,
    "quantity": read_quantity,
    "clean": clean,
    "shapes": describe,
    "rows": compare,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_recorded_results(name: str) -> None:
    """Of each row the same result."""
    rows = [row for row in map(json.loads, (CORPUS / "functions.jsonl").read_text(encoding="utf-8").splitlines()) if row[0] == name]
    assert rows
    assert [[*row[:2], FUNCTIONS[name](*row[1])] for row in rows] == rows
