"""Texts with the gold that each may or may not be: strict accepts at most 1 % of the wrong ones and refuses at most 3 % of the right ones.

The corpus (tests/data/values) was written for this test, right and wrong texts for each gold; the labels are what a careful person says.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from evalsuite.compare.answer_rules import match_number_strictly, match_text_strictly
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.strict_columns import equal
from evalsuite.compare.values import Percent, find_numbers, read_cell
from tests.conftest import ROOT

CORPUS = ROOT / "tests" / "data" / "values"
FEWEST = {"numbers": 1_500, "cells": 200, "texts": 200}


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def _cells_equal(gold: str, text: str, **parameters: Any) -> bool:
    pair = [read_cell(gold, **parameters), read_cell(text, **parameters)]
    readings = [[getattr(cell, reading) if isinstance(cell, Percent) else cell for cell in pair] for reading in ("figure", "share")]
    return any(equal(g, p, Tolerance()) for g, p in readings)


def verdict(name: str, row: Mapping[str, Any]) -> int:
    """The strict verdict on a row of the corpus."""
    parameters = row.get("parameters", {})
    if name == "cells":
        return int(_cells_equal(row["gold"], row["text"], **parameters))
    match = match_number_strictly if name == "numbers" else match_text_strictly
    return int(match(row["text"], row["gold"], **parameters).value or 0)


@pytest.mark.parametrize("name", FEWEST)
def test_wrong_texts_are_refused_and_right_ones_accepted(name: str) -> None:
    """At most 1 % of the wrong and 3 % of the right."""
    rows = _rows(name)
    assert len(rows) >= FEWEST[name]
    assert len({row["style"] for row in rows}) >= 3
    wrong, right = ([row for row in rows if row["right"] == label] for label in (0, 1))
    accepted = [row for row in wrong if verdict(name, row)]
    refused = [row for row in right if not verdict(name, row)]
    assert len(accepted) <= 0.01 * len(wrong), accepted
    assert len(refused) <= 0.03 * len(right), refused


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("42 million", [42, 42_000_000]),
        ("42M", [42_000_000]),
        ("$42k", [42_000]),
        ("1,234", [1234]),
        ("1.234", [1.234]),
        ("1,234.5", [1234.5]),
        ("3/4", [0.75]),
    ],
)
def test_a_text_with_two_readings_has_two_candidates(text: str, candidates: list[float]) -> None:
    """A scale apart from its number may be a unit; a letter joined to it is part of it."""
    (value,) = find_numbers(text)
    assert [float(getattr(one, "exact", one)) for one in value.candidates] == candidates
    assert value.certain == (text not in ("42 million", "1,234", "1.234"))
