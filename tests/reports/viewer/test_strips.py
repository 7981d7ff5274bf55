"""The distribution of several runs as a picture: its bars are the counts, on one scale."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.reports.pictures import Strip, draw_strips, numbers
from evalsuite.reports.run_page import bars

HOSTILE = "<script>\x1b[2J\u202e\"'"


def test_nothing_and_hostile_labels_are_drawn() -> None:
    """No run, a run without cases, and a label that would be markup."""
    assert "nothing to show" in draw_strips([], title="t")
    assert numbers(draw_strips([Strip("empty", (), 0)], title="t")) == []
    svg = draw_strips([Strip(HOSTILE, ((HOSTILE, 1),), 1)], title=HOSTILE, ends=(HOSTILE, HOSTILE))
    assert not any(mark.tag.endswith("script") for mark in ElementTree.fromstring(svg).iter())
    assert not any(char in svg for char in "\x1b\u202e")


@given(st.lists(st.floats(-10, 200), max_size=50), st.integers(1, 30))
def test_every_value_stands_in_the_bar_that_holds_it(values: list[float], n_bins: int) -> None:
    """No value is lost, and the bars span all of [0, 1] and of what is there."""
    found = bars(values, n_bins)
    assert sum(bar["count"] for bar in found) == len(values)
    assert (found[0]["low"], found[-1]["high"]) == (min([0.0, *values]), pytest.approx(max([1.0, *values])))
