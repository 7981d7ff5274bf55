"""Each picture draws its numbers to scale and repeats them in words."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.reports.pictures import BIN_PLOT, FlipCounts, IntervalRow, draw_bars, draw_flips, draw_histogram, draw_intervals, numbers

SVG = "{http://www.w3.org/2000/svg}"


def percent(text: str) -> float:
    """The number before a percent sign."""
    assert text.endswith("%")
    return float(text[:-1])


def marks(svg: str, key: str) -> list[ElementTree.Element]:
    """The marks that bear a data attribute."""
    return [mark for mark in ElementTree.fromstring(svg).iter() if f"data-{key}" in mark.attrib]


def test_a_histogram_draws_its_counts() -> None:
    """Every bin is a bar whose height is its count over the largest, at its own place."""
    svg = draw_histogram([(0.0, 0.5, 3), (0.5, 1.0, 12)], title="Scores")
    assert numbers(svg) == [{"low": "0", "high": "0.5", "n": "3"}, {"low": "0.5", "high": "1", "n": "12"}]
    first, second = marks(svg, "n")
    assert float(second.get("height", "")) == pytest.approx(4 * float(first.get("height", "")))
    assert percent(second.get("x", "")) > percent(first.get("x", "")) + percent(first.get("width", ""))


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


def test_an_interval_stands_around_its_value() -> None:
    """The bar reaches from low to high, the dot stands at the value, and a bound beyond it is drawn from there."""
    svg = draw_intervals([IntervalRow("sales", 0.675, 0.52, 0.8, bound=0.7), IntervalRow("none", None)], title="Groups")
    (interval,), (dot,), (bound,) = marks(svg, "low"), marks(svg, "value"), marks(svg, "bound")
    assert (percent(interval.get("x", "")), percent(interval.get("width", ""))) == (pytest.approx(52), pytest.approx(28))
    assert percent(dot.get("cx", "")) == pytest.approx(67.5)
    assert (percent(bound.get("x", "")), percent(bound.get("width", ""))) == (pytest.approx(67.5), pytest.approx(2.5))
    assert {"low": "0.52", "high": "0.8"} in numbers(svg)
    assert "sales: 67.5 % [52.0, 80.0]; none: not known" in ElementTree.fromstring(svg).findtext(f"{SVG}desc", "")


def test_intervals_over_a_span_of_their_own() -> None:
    """Differences from -1 to 1 put 0 in the middle, where the mark stands."""
    svg = draw_intervals([IntervalRow("b - a", 0.0, -0.5, 0.5)], title="Difference", span=(-1.0, 1.0), mark=0.0)
    (dot,), (mark,) = marks(svg, "value"), marks(svg, "mark")
    assert percent(dot.get("cx", "")) == percent(mark.get("x1", "")) == 50


def test_bars_draw_each_measure() -> None:
    """A measure's bar is as long as its value, with one colour through all rows; none has no bar."""
    rows = [("name", {"precision": 0.25, "recall": 1.0, "F1": 0.4}), ("born", {"precision": None, "recall": 0.5, "F1": 0.0})]
    svg = draw_bars(rows, title="Fields")
    drawn = marks(svg, "value")
    assert [(m.get("data-label"), m.get("data-name"), percent(m.get("width", ""))) for m in drawn] == [
        ("name", "precision", 25), ("name", "recall", 100), ("name", "F1", 40), ("born", "recall", 50), ("born", "F1", 0),
    ]  # fmt: skip
    assert drawn[1].get("class") == drawn[3].get("class") != drawn[0].get("class")


def test_a_flip_matrix_holds_every_count() -> None:
    """Rows are the first verdict, columns the second; a fuller cell is drawn stronger."""
    svg = draw_flips(FlipCounts(both=21, first_only=6, second_only=0, neither=3), title="Flips", first="run A", second="run B")
    assert [(data["cell"], data["n"]) for data in numbers(svg)] == [("00", "21"), ("01", "6"), ("10", "0"), ("11", "3")]
    strength = [float(mark.get("opacity", "1")) for mark in marks(svg, "cell")]
    assert strength[0] > strength[1] > strength[3] > strength[2] > 0
    assert "of 30 instances 21 right by both, 6 by run A only, 0 by run B only, 3 by neither" in svg


@pytest.mark.parametrize("empty", [draw_histogram([], title="x"), draw_intervals([], title="x"), draw_bars([], title="x")])
def test_nothing_is_a_picture_too(empty: str) -> None:
    """No numbers give a picture that says so, not an error."""
    assert numbers(empty) == []
    assert ElementTree.fromstring(empty).findtext(f"{SVG}desc") == "nothing to show"


HOSTILE = ["<script>alert(1)</script>", '"><img onerror=x>', "\x1b[2J\u202e\ud800", "]]>&amp;", "x" * 10_000]


@pytest.mark.parametrize("text", HOSTILE)
def test_labels_are_text(text: str) -> None:
    """A hostile label makes no element, attribute or invisible character, and the picture stays well-formed."""
    for svg in (
        draw_intervals([IntervalRow(text, 0.5, words=text)], title=text),
        draw_bars([(text, {text: 0.5})], title=text),
        draw_flips(FlipCounts(both=1, first_only=0, second_only=0, neither=0), title=text, first=text, second=text),
        draw_histogram([(0, 1, 1)], title=text),
    ):
        tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
        assert tags <= {"svg", "title", "desc", "rect", "text", "line", "circle"}
        assert svg.isprintable()


def test_every_picture_is_named() -> None:
    """Assistive technology finds an image with a name and a description first in every picture."""
    for svg in (
        draw_histogram([(0, 1, 1)], title="Scores"),
        draw_intervals([IntervalRow("a", 1.0)], title="Scores"),
        draw_bars([("a", {"p": 1.0})], title="Scores"),
        draw_flips(FlipCounts(both=1, first_only=0, second_only=0, neither=0), title="Scores"),
    ):
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img"
        assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
        assert root.findtext(f"{SVG}title") == "Scores"
        assert len(root.findtext(f"{SVG}desc", "")) > 5
