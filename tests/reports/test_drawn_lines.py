"""Pictures of characters show their numbers, without colour."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.reports.pictures import IntervalRow, interval_lines, share_bar


@given(st.floats(0, 1), st.integers(2, 40))
def test_a_bar_is_as_long_as_its_share(share: float, width: int) -> None:
    """Within half a character; full and empty only where the share is 1 and 0."""
    bar = share_bar(share, width)
    assert len(bar) == width
    assert ("░" not in bar, "█" not in bar) == (share == 1, share == 0)
    assert abs(bar.count("█") - share * width) <= (0.5 if 1 <= share * width <= width - 1 else 1)
    assert bar == "█" * bar.count("█") + "░" * bar.count("░")


def test_intervals_stand_on_one_scale_round_nothing() -> None:
    """Worse to the left of the bar, better to the right, nothing in its middle; a value without ends is a dot."""
    rows = [
        IntervalRow("worse", -0.6, -1.0, -0.2),
        IntervalRow("same", 0.0, -0.1, 0.1),
        IntervalRow("b" * 30, 0.5, 0.5, 1.0),
        IntervalRow("alone", None, None, None),
    ]
    worse, same, better, alone = interval_lines(rows, width=20)
    assert worse.split(None, 1)[1] == "├───●───┤ │"
    assert same[26:] == " " * 9 + "├●┤"
    assert better == "b" * 23 + "…" + "  " + " " * 10 + "│    ●────┤"
    assert alone.split() == ["alone", "│"]


@pytest.mark.parametrize("rows", [[], [IntervalRow("a", 0.0, None, None)], [IntervalRow("a", 0.0, 0.0, 0.0)]])
def test_what_has_no_length_is_not_drawn(rows: list[IntervalRow]) -> None:
    """No rows, no ends, and ends at nothing draw no line."""
    assert list(interval_lines(rows)) == []
