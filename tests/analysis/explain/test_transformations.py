"""Each error hypothesis undoes the errors that it injects, and fits no unrelated values."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from evalsuite.analysis.causes import ERROR_HYPOTHESES, OTHER_CAUSES, TABLE_CAUSES, general_sentence, hypothesis
from evalsuite.analysis.causes.error_hypotheses import time_zone
from evalsuite.analysis.causes.values import Pair
from evalsuite.compare.values import number_readings
from tests.analysis.explain.planted import plant_column

CELLS = ["12.5", "007", "Porto Santo", "Zürich", "2024-03-05", "2024-03-05 10:30:15", "true", "", "40", "-3.25", "Edo 1615\u20131868"]
PLANTED = [entry for entry in ERROR_HYPOTHESES if entry.inject is not None]


@pytest.mark.parametrize("entry", PLANTED, ids=lambda entry: entry.name)
def test_a_law_recognises_what_it_plants(entry: object) -> None:
    """Every cell that a law made wrong is one it undoes to a value of gold's."""
    from evalsuite.analysis.causes.error_hypotheses import ErrorHypothesis

    assert isinstance(entry, ErrorHypothesis)
    tried = 0
    for native, cells in ((False, CELLS), (True, [12, 12.5, "Porto", None, True])):
        for cell in cells:
            planted = plant_column(entry.name, [cell] * 3, native=native)
            if planted is None or planted[0] == cell or entry.name == "constant factor":
                continue
            fixed = entry.fix([Pair(cell, planted[0], native)])
            assert fixed is not None, (cell, planted[0])
            same = fixed.values[0] == cell or Decimal(str(fixed.values[0])) == Decimal(str(cell))
            assert same, (cell, planted[0], fixed.values[0])
            tried += 1
    assert tried or entry.name == "constant factor"


@pytest.mark.parametrize("entry", ERROR_HYPOTHESES, ids=lambda entry: entry.name)
def test_a_law_does_not_hold_for_anything(entry: object) -> None:
    """Values that have nothing to do with each other fit no law."""
    for gold, predicted in (("Porto", "Lyon"), ("12.5", "9131.77"), ("2024-03-05", "1999-11-23")):
        assert entry.fix([Pair(gold, predicted)]) is None  # type: ignore[attr-defined]


def test_digits_are_no_punctuation() -> None:
    """4.2 and 42 differ by more than a point, and a sign is no hyphen."""
    for name in ("punctuation", "spaces", "quotes"):
        assert hypothesis(name).fix([Pair("4.2", "42")]) is None
        assert hypothesis(name).fix([Pair("-5", "5")]) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("$1,234.50", "1234.50"), ("12 km", "12"), ("3,5", "3.5"), ("17 %", "0.17"), ("2.5k", "2500"), ("1 234", "1234"), ("-4 C", "-4")],
)
def test_numbers_in_text(text: str, value: str) -> None:
    """The usual decorations of a number are read."""
    assert Decimal(value) in [found for found, _ in number_readings(text)]


def test_one_factor_needs_three_values() -> None:
    """With one or two values some factor always fits."""
    pairs = [Pair(str(n), str(7 * n)) for n in (3, 11, 20)]
    assert hypothesis("constant factor").fix(pairs) is not None
    assert hypothesis("constant factor").fix(pairs[:2]) is None


def test_names_are_unique_and_explained() -> None:
    """Each cause has one name, and a sentence that is not the name."""
    names = [entry.name for entry in ERROR_HYPOTHESES] + [entry.name for entry in TABLE_CAUSES] + list(OTHER_CAUSES)
    assert len(names) == len(set(names))
    assert all(general_sentence(name) != name for name in names)


@pytest.mark.parametrize(
    ("winter", "summer", "says"),
    [
        (1, 2, "the times are 1 h late, in European summer time 2 h late, as in another time zone"),
        (-5, -4, "the times are 5 h early, in European summer time 4 h early, as in another time zone"),
        (2, 2, "the times are 2 h late, as in another time zone"),
        (1, 3, None),
        (2, 1, "the times are 2 h late, in European summer time 1 h late, as in another time zone"),
        (15, 15, None),
    ],
)
def test_a_time_zone_may_have_summer_time(winter: int, summer: int, says: str | None) -> None:
    """On either side, so an hour more or less in summer, and no other two shifts."""
    days = [(f"2024-{month:02d}-{day:02d}T06:00:00", summer if 4 <= month <= 10 else winter) for month in range(1, 13) for day in (5, 20)]
    pairs = [Pair(text, (datetime.fromisoformat(text) + timedelta(hours=hours)).isoformat()) for text, hours in days]
    found = time_zone(pairs)
    assert (found.says if found is not None else None) == says
