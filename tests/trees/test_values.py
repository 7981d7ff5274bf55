"""Values that a person of the field would call equal, or not: a table of pairs for every shipped comparator, and what holds for all."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite.trees import evaluate
from evalsuite.trees.comparators import BUILTIN, SHIPPED

TABLE = Path(__file__).with_name("values.txt")
COMPARATORS = {**BUILTIN, **SHIPPED}


def value_of(text: str) -> Any:
    """JSON where the text is some, else the text; a bare number is one only where it is written as JSON writes it."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def pairs() -> list[Any]:
    """(comparator, options, gold, answer, equal) of every line."""
    found = []
    name, options = "", {}
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("[") and line.strip("[]").split(" ", 1)[0] in COMPARATORS and " == " not in line and " != " not in line:
            name, _, rest = line[1:-1].partition(" ")
            options = json.loads(rest or "{}")
        elif line and not line.startswith("#"):
            sign = " == " if " == " in line else " != "
            gold, answer = map(value_of, line.split(sign))
            found.append(pytest.param(name, options, gold, answer, sign == " == ", id=f"{number}: {name} {line}"))
    return found


@pytest.mark.parametrize(("name", "options", "gold", "answer", "equal"), pairs())
def test_a_pair_of_values(name: str, options: Any, gold: Any, answer: Any, equal: bool) -> None:
    """The verdict of the table, alone and in a list that is aligned by it."""
    assert (COMPARATORS[name](gold, answer, options).score == 1) is equal
    leaf = {"type": "string", "x-eval-compare": {name: options}}
    best = {"type": "array", "x-eval-align": {"match_by": "hungarian"}, "items": leaf}
    schema = {"type": "object", "properties": {"one": leaf, "many": best}}
    found = evaluate([{"one": gold, "many": [gold] * 3}], [{"one": answer, "many": [answer] * 3}], schema)
    assert (found.mean_f1 == 1) is equal


def test_there_are_three_hundred_pairs() -> None:
    """The table is as long as it says."""
    assert len(pairs()) >= 300


@pytest.mark.parametrize("name", sorted(COMPARATORS))
@pytest.mark.parametrize(
    "value", ["10 sccm", "5 wt%", "2 Å/s", "2024", "", "(", None, True, 0, -0.5, 10**400, [], [1, "a"], {}, {"a": None}]
)
def test_gold_accepts_itself(name: str, value: Any) -> None:
    """A value copied from gold is right under every comparator, behind a transform that cannot take it too."""
    options = {"values": ["other"]} if name == "oneof" else {}
    schema = {"type": "string", "x-eval-compare": {name: options}, "x-eval-transform": ["lowercase"]}
    assert evaluate([{"a": value}], [{"a": value}], {"type": "object", "properties": {"a": schema}}).mean_f1 == 1
