"""Pictures and numbers: drawn to scale, repeated in words, and what is rounded never says more than the number."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.cli.showing import apply_gate
from evalsuite.reports.document import grade, p_value, points
from evalsuite.reports.document import percent as shown_percent
from evalsuite.reports.pictures import BIN_PLOT, IntervalRow, draw_bars, draw_histogram, draw_intervals, interval_lines, numbers, share_bar

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


def test_bars_and_intervals_are_to_scale() -> None:
    """A bar is as long as its value in its measure's colour; intervals stand on one scale, a value without ends is a dot."""
    rows = [("name", {"precision": 0.25, "recall": 1.0, "F1": 0.4}), ("born", {"precision": None, "recall": 0.5, "F1": 0.0})]
    svg = draw_bars(rows, title="Fields")
    drawn = marks(svg, "value")
    assert [(m.get("data-label"), m.get("data-name"), percent(m.get("width", ""))) for m in drawn] == [
        ("name", "precision", 25), ("name", "recall", 100), ("name", "F1", 40), ("born", "recall", 50), ("born", "F1", 0),
    ]  # fmt: skip
    assert drawn[1].get("class") == drawn[3].get("class") != drawn[0].get("class")
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


@pytest.mark.parametrize("empty", [draw_histogram([], title="x"), draw_intervals([], title="x"), draw_bars([], title="x")])
def test_nothing_is_a_picture_too(empty: str) -> None:
    """No numbers give a picture that says so, not an error."""
    assert numbers(empty) == []
    assert ElementTree.fromstring(empty).findtext(f"{SVG}desc") == "nothing to show"


# Shares next to 0, 1 and the borders of rounding, and any others.
shares = st.one_of(st.floats(0, 1), st.floats(-7, -1).map(lambda power: 10**power), st.floats(-7, -1).map(lambda power: 1 - 10**power))


@given(shares, shares)
def test_only_nothing_is_0_and_only_all_is_100(a: float, b: float) -> None:
    """Printed shares keep their order, so that an interval holds its mean; differences keep their sign."""
    for share in (a, b):
        assert float(shown_percent(share, "")) == pytest.approx(100 * share, abs=0.0500001)
        assert (shown_percent(share) == "100.0 %") == (share > 1 - 1e-9)
        assert (shown_percent(share) == "0.0 %") == (share < 1e-9)
        assert (grade(share) == "1") == (share > 1 - 1e-9)
    if a < b:
        assert float(shown_percent(a, "")) <= float(shown_percent(b, ""))
    if abs(a - b) > 1e-9:
        assert (float(points(a - b)) > 0, float(points(a - b)) < 0) == (a > b, a < b)


@pytest.mark.parametrize(
    ("score", "gate", "words"),
    [
        (0.7, 0.7, "x (gate 70.0 % met)"),
        (sum([0.7] * 3) / 3, 0.7, "x (gate 70.0 % met)"),
        (0.79996, 0.8, "x, below the gate of 80.0 % by 0.004 points (exit 1)"),
        (0.9999, 1.0, "x, below the gate of 100.0 % (exit 1)"),
        (0.0, 0.0001, "x, below the gate of 0.01 % (exit 1)"),
    ],
)
def test_a_gate_holds_at_its_border(score: float, gate: float, words: str) -> None:
    """The noise of a mean misses no gate, and no line says that 80.0 % is below 80.0 % without saying by how much."""
    assert apply_gate("x", score, gate) == (int("below" in words), words)


@pytest.mark.parametrize(
    ("p", "words"),
    [
        *((0.0496, "0.0496"), (0.0504, "0.0504"), (0.05, "0.050"), (0.25, "0.250"), (0.00005, "< 0.0001")),
        *((1.0, "1.000"), (0.0424, "0.042"), (0.00312, "0.0031"), (1e-9, "< 0.0001"), (None, "-")),
    ],
)
def test_a_p_value_stays_on_its_side_of_a_level(p: float | None, words: str) -> None:
    """A p-value that is not 0.05 does not read as 0.050; small ones get a fourth digit, very small ones a bound."""
    assert p_value(p) == words


@given(st.floats(0, 1), st.integers(2, 40))
def test_a_bar_is_as_long_as_its_share(share: float, width: int) -> None:
    """Within half a character; full and empty only where the share is 1 and 0."""
    bar = share_bar(share, width)
    assert len(bar) == width
    assert ("░" not in bar, "█" not in bar) == (share == 1, share == 0)
    assert abs(bar.count("█") - share * width) <= (0.5 if 1 <= share * width <= width - 1 else 1)
    assert bar == "█" * bar.count("█") + "░" * bar.count("░")


@pytest.mark.parametrize("rows", [[], [IntervalRow("a", 0.0, None, None)], [IntervalRow("a", 0.0, 0.0, 0.0)]])
def test_what_has_no_length_is_not_drawn(rows: list[IntervalRow]) -> None:
    """No rows, no ends, and ends at nothing draw no line."""
    assert list(interval_lines(rows)) == []
