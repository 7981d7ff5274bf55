"""Limits: one table, overrides in turn, nothing that cannot be meant."""

import pytest

from evalsuite.core.errors import UsageError
from evalsuite.readers.limits import DEFAULT_LIMITS, LIMITS, resolve_limits


def test_later_overrides_win_and_the_rest_keeps_its_default() -> None:
    """suite.yaml comes first, --limit after it."""
    limits = resolve_limits({"seconds": 20, "rows": 5}, {"rows": 7})
    assert (limits["seconds"], limits["rows"], limits["columns"]) == (20, 7, DEFAULT_LIMITS["columns"])


def test_every_limit_has_a_one_line_meaning() -> None:
    """Each name says what it counts, in one line."""
    assert all(meaning and "\n" not in meaning for _, meaning in LIMITS.values())


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    """A misspelt limit must not pass silently."""
    with pytest.raises(UsageError, match="unknown limit 'row'") as caught:
        resolve_limits({"row": 5})
    assert caught.value.hint == "did you mean 'rows'?"


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "5", None])
def test_a_value_that_is_no_positive_number_is_refused(value: object) -> None:
    """Zero would stop everything, text and true are no numbers."""
    with pytest.raises(UsageError, match="limit 'rows' must be a number above 0"):
        resolve_limits({"rows": value})  # type: ignore[dict-item]


def test_only_seconds_may_be_a_fraction() -> None:
    """Half a row means nothing; half a second does."""
    assert resolve_limits({"seconds": 0.5})["seconds"] == 0.5
    assert resolve_limits({"rows": 3.0})["rows"] == 3
    with pytest.raises(UsageError, match="limit 'rows' must be a whole number"):
        resolve_limits({"rows": 2.5})
