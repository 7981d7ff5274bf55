"""Limits: one table, overrides in turn, nothing that cannot be meant."""

import pytest

from evalsuite.core.errors import UsageError
from evalsuite.readers.limits import DEFAULT_LIMITS, LIMITS, clock_of, clock_words, moved_limits, resolve_limits


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
    assert resolve_limits({"run_seconds": 1.5, "clock": 0}) == {**DEFAULT_LIMITS, "run_seconds": 1.5}
    assert repr(resolve_limits({"rows": 3.0})["rows"]) == "3"
    with pytest.raises(UsageError, match="limit 'rows' must be a whole number"):
        resolve_limits({"rows": 2.5})


def test_the_defaults_are_those_of_every_published_run() -> None:
    """A run's signature names only limits that differ from them: a default that moved would go unseen."""
    assert " ".join(f"{name}={value}" for name, value in DEFAULT_LIMITS.items()) == (
        "file_bytes=268435456 rows=5000000 columns=20000 cells=20000000 cell_bytes=16777216 table_bytes=268435456 json_depth=100 "
        "json_keys=100000 json_records=10000 answer_bytes=65536 files=1000 line_bytes=8388608 metadata_bytes=536870912 "
        "archive_bytes=1073741824 archive_members=50000 notes=100 seconds=10 run_seconds=604800 run_bytes=1099511627776 "
        "message_bytes=1073741824 result_bytes=17179869184 billed_bytes=10737418240 memory_mib=2048 clock=0"
    )
    assert moved_limits(resolve_limits({"rows": 7, "columns": 20_000})) == {"rows": 7}


@pytest.mark.parametrize(
    ("text", "seconds", "words"),
    [
        ("2026-05-31", 1780185600, "2026-05-31"),
        ("2026-05-31T18:30:00Z", 1780252200, "2026-05-31T18:30:00Z"),
        ("2026-05-31T00:00+02:00", 1780178400, "2026-05-30T22:00:00Z"),
        ("1970-01-01T00:00:01", 1, "1970-01-01T00:00:01Z"),
        ("1970-01-01", None, "a whole second after the first day of 1970"),
        ("2026-05-31T18:30:00.5", None, "a whole second after the first day of 1970"),
        ("31 May", None, "write a day as 2026-05-31, or a time as 2026-05-31T18:30:00Z"),
    ],
)
def test_a_frozen_clock(text: str, seconds: int | None, words: str) -> None:
    """A day or a time, in UTC unless it names its zone; only whole seconds after the first day."""
    if seconds is not None:
        assert (clock_of(text), clock_words(seconds)) == (seconds, words)
        assert resolve_limits({"clock": seconds})["clock"] == seconds
        return
    with pytest.raises(UsageError, match="a frozen clock cannot be") as refused:
        clock_of(text)
    assert refused.value.hint == words
