"""Each picture draws its numbers to scale and repeats them in words."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.reports.pictures import BIN_PLOT, draw_bars, draw_histogram, draw_intervals, numbers

SVG = "{http://www.w3.org/2000/svg}"


def percent(text: str) -> float:
    """The number before a percent sign."""
    assert text.endswith("%")
    return float(text[:-1])


def marks(svg: str, key: str) -> list[ElementTree.Element]:
    """The marks that bear a data attribute."""
    return [mark for mark in ElementTree.fromstring(svg).iter() if f"data-{key}" in mark.attrib]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_bars_of_a_histogram_keep_the_order_of_counts(counts: list[int]) -> None:
    """More in a bin is never drawn lower, no bar leaves the picture, and the description names the total."""
    svg = draw_histogram([(at / len(counts), (at + 1) / len(counts), n) for at, n in enumerate(counts)], title="x")
    heights = [float(mark.get("height", "")) for mark in marks(svg, "n")]
    assert all(
        (a <= b) == (x <= y) or abs(x - y) < 1e-3
        for a, x in zip(counts, heights, strict=True)
        for b, y in zip(counts, heights, strict=True)
    )
    assert all(0 <= height <= BIN_PLOT for height in heights)
    assert ElementTree.fromstring(svg).findtext(f"{SVG}desc", "").startswith(f"{sum(counts)} scores")


def test_bars_draw_each_measure() -> None:
    """A measure's bar is as long as its value, with one colour through all rows; none has no bar."""
    rows = [("name", {"precision": 0.25, "recall": 1.0, "F1": 0.4}), ("born", {"precision": None, "recall": 0.5, "F1": 0.0})]
    svg = draw_bars(rows, title="Fields")
    drawn = marks(svg, "value")
    assert [(m.get("data-label"), m.get("data-name"), percent(m.get("width", ""))) for m in drawn] == [
        ("name", "precision", 25), ("name", "recall", 100), ("name", "F1", 40), ("born", "recall", 50), ("born", "F1", 0),
    ]  # fmt: skip
    assert drawn[1].get("class") == drawn[3].get("class") != drawn[0].get("class")


@pytest.mark.parametrize("empty", [draw_histogram([], title="x"), draw_intervals([], title="x"), draw_bars([], title="x")])
def test_nothing_is_a_picture_too(empty: str) -> None:
    """No numbers give a picture that says so, not an error."""
    assert numbers(empty) == []
    assert ElementTree.fromstring(empty).findtext(f"{SVG}desc") == "nothing to show"
