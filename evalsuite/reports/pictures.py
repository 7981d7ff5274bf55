"""Draw the pictures of reports: inline SVG for HTML pages and the viewer, and bars of characters for terminals.

Lengths are shares of the width, so that text keeps its size on any screen. Colours are named by class (`style.css` has light and dark ones)
and repeated as attributes for pages without style sheet. They are the palette of Okabe and Ito, distinguishable with any colour vision; no
picture shows anything by colour alone. Every mark has its numbers as data attributes.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass
from evalsuite.reports.document import cut_text, interval_words, percent, rounded

if TYPE_CHECKING:
    from markupsafe import Markup

# Okabe & Ito 2008, "Color Universal Design".
COLOURS = {
    "one": "#0072b2",
    "two": "#d55e00",
    "three": "#009e73",
    "four": "#cc79a7",
    "soft": "#56b4e9",
    "quiet": "#8a8f98",
    "track": "#8a8f98",
}
LONGEST_LABEL = 60


def escape(text: object) -> str:
    """Make the text printable and escape it for HTML and XML, attributes too."""
    import html

    return html.escape(clean(str(text)), quote=True)


def picture(marks: Iterable[str], *, height: float, title: str, description: str, kind: str) -> "Markup":
    """Return an `<svg>` of full width and `height` pixels; `title` is its name and `description` its text for screen readers."""
    from markupsafe import Markup

    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="picture {kind}" width="100%" height="{_n(height)}" font-size="13">'
    return Markup(f"{head}<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(marks)}</svg>")


def join_parts(marks: Iterable[str], *, x: float, y: float, width: float, height: float) -> str:
    """Return a nested `<svg>` with its own 0 to 100 % across; `x` and `width` in percent, `y` and `height` in pixels."""
    place = f'x="{_n(x)}%" y="{_n(y)}" width="{_n(width)}%" height="{_n(height)}"'
    return f'<svg {place} overflow="visible">{"".join(marks)}</svg>'


def box(x: float, y: float, width: float, height: float, *, colour: str, opacity: float = 1, tip: str = "", **numbers: object) -> str:
    """Return a bar from `x` % of `width` %; `numbers` become data attributes, `tip` is the tooltip."""
    place = f'x="{_n(x)}%" y="{_n(y)}" width="{_n(max(0.0, width))}%" height="{_n(height)}" rx="2"'
    see = f' opacity="{_n(opacity)}"' if opacity != 1 else ""
    return f'<rect {place} class="c-{colour}" fill="{COLOURS[colour]}"{see}{_data(numbers)}>{_tip(tip)}</rect>'


def dot(x: float, y: float, radius: float, *, colour: str, tip: str = "", **numbers: object) -> str:
    """Return a dot at `x` %, with a ring in the colour of the page."""
    place = f'cx="{_n(x)}%" cy="{_n(y)}" r="{_n(radius)}"'
    return f'<circle {place} class="c-{colour} ring" fill="{COLOURS[colour]}"{_data(numbers)}>{_tip(tip)}</circle>'


def line(x1: float, y1: float, x2: float, y2: float, *, colour: str = "quiet", width: float = 1, dash: str = "", **numbers: object) -> str:
    """Return a line between two points, across in percent and down in pixels."""
    ends = f'x1="{_n(x1)}%" y1="{_n(y1)}" x2="{_n(x2)}%" y2="{_n(y2)}"'
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line {ends} class="s-{colour}" stroke="{COLOURS[colour]}" stroke-width="{_n(width)}"{dashes}{_data(numbers)}/>'


def text(x: float, y: float, words: object, *, anchor: str = "start", quiet: bool = False, size: float = 13, bold: bool = False) -> str:
    """Return words at `x` %, cut to 60 characters, with the whole text as the tooltip."""
    whole = str(words)
    label = cut_text(whole, LONGEST_LABEL)
    look = f'class="{"quiet" if quiet else "label"}" fill="currentColor" font-size="{_n(size)}"' + (' font-weight="600"' if bold else "")
    tip = _tip(whole) if label != whole else ""
    return f'<text x="{_n(x)}%" y="{_n(y)}" text-anchor="{anchor}" {look}>{escape(label)}{tip}</text>'


def numbers(svg: str) -> list[dict[str, str]]:
    """Return the data attributes of each mark of a picture, in drawing order."""
    from xml.etree import ElementTree

    figures = (
        {key.removeprefix("data-"): value for key, value in mark.attrib.items() if key.startswith("data-")}
        for mark in ElementTree.fromstring(svg).iter()
    )
    return [data for data in figures if data]


def _data(values: Mapping[str, object]) -> str:
    return "".join(f' data-{key.replace("_", "-")}="{escape(_n(v) if isinstance(v, float) else v)}"' for key, v in values.items())


def _tip(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def _n(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


INTERVAL_ROW, INTERVAL_LABEL = 44.0, 15.0


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One row: a value and its interval, None for no interval. `words` is the text at the right (default: the value).

    Values are shares, shown in percent, or with `is_raw` on a metric's own scale. `bound` is the value if every unjudged instance were
    right; the part up to it is drawn in a pale colour.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    words: str = ""
    bound: float | None = None
    is_raw: bool = False


def draw_intervals(
    rows: Sequence[IntervalRow], *, title: str, span: tuple[float, float] = (0.0, 1.0), mark: float | None = None, confidence: float = 0.95
) -> "Markup":
    """Return an SVG of n rows over `span`, with a dashed line at `mark`, for example at 0 for differences."""
    tip = f"{confidence * 100:g} % interval"
    marks = [part for number, row in enumerate(rows) for part in _interval_marks(row, number * INTERVAL_ROW, span, tip)]
    height = INTERVAL_ROW * len(rows)
    if mark is not None and rows:
        at = _position(mark, span)
        marks.append(join_parts([line(at, 0, at, height, dash="3 3", mark=mark)], x=1, y=0, width=98, height=height))
    alt = "; ".join(f"{row.label}: {_value_words(row)}{_ends_words(row)}" for row in rows)
    return picture(marks, height=height, title=title, description=alt or "nothing to show", kind="intervals")


def _interval_marks(row: IntervalRow, top: float, span: tuple[float, float], interval: str) -> list[str]:
    marks = [text(0, top + INTERVAL_LABEL, row.label), text(100, top + INTERVAL_LABEL, _value_words(row), anchor="end", bold=True)]
    bars = [box(0, 9, 100, 3, colour="track", opacity=0.22)]
    if row.value is not None and row.bound is not None and row.bound > row.value:
        left = _position(row.value, span)
        tip = f"up to {percent(row.bound)} if every unjudged instance were right"
        bars.append(box(left, 6, _position(row.bound, span) - left, 9, colour="two", opacity=0.45, tip=tip, bound=row.bound))
    if row.low is not None and row.high is not None:
        left, tip = _position(row.low, span), f"{interval}{_ends_words(row)}"
        bars.append(box(left, 7.5, _position(row.high, span) - left, 6, colour="soft", opacity=0.75, tip=tip, low=row.low, high=row.high))
    if row.value is not None:
        tip = f"{row.label}: {_value_words(row)}"
        bars.append(dot(_position(row.value, span), 10.5, 5.5, colour="one", tip=tip, label=row.label, value=row.value))
    return [*marks, join_parts(bars, x=1, y=top + INTERVAL_LABEL + 3, width=98, height=20)]


def _position(value: float, span: tuple[float, float]) -> float:
    low, high = span
    # A span of one value, as of means that are all 0, has no width.
    return 100 * min(1.0, max(0.0, (value - low) / ((high - low) or 1.0)))


def _value_words(row: IntervalRow) -> str:
    return row.words or ("not known" if row.value is None else f"{row.value:.4g}" if row.is_raw else percent(row.value))


def _ends_words(row: IntervalRow) -> str:
    if row.low is None or row.high is None:
        return ""
    return f" [{row.low:.4g}, {row.high:.4g}]" if row.is_raw else f" {interval_words((row.low, row.high))}"


BIN_PLOT, BIN_TOP = 120.0, 22.0


def draw_histogram(bins: Sequence[tuple[float, float, int]], *, title: str) -> "Markup":
    """Return an SVG of n bins (low, high, count), low to high; the height of a bar is its count over the largest."""
    if not bins:
        return picture([], height=0, title=title, description="nothing to show", kind="histogram")
    most = max(1, *(count for _, _, count in bins))
    first, last = bins[0][0], bins[-1][1]
    span, bars = last - first or 1.0, []
    for low, high, count in bins:
        left, width, tall = 100 * (low - first) / span, 100 * (high - low) / span, BIN_PLOT * count / most
        tip = f"{_edge(low)} to {_edge(high)}: {count}"
        bars.append(box(left + 0.4, BIN_PLOT - tall, width - 0.8, tall, colour="one", tip=tip, low=low, high=high, n=count))
        bars += [text(left + width / 2, BIN_PLOT - tall - 6, count, anchor="middle", size=12)] if count else []
    marks = [join_parts(bars, x=1, y=BIN_TOP, width=98, height=BIN_PLOT), line(0, BIN_TOP + BIN_PLOT, 100, BIN_TOP + BIN_PLOT)]
    for edge in dict.fromkeys((first, (first + last) / 2, last)):
        anchor = "start" if edge == first else "end" if edge == last else "middle"
        marks.append(text(1 + 98 * (edge - first) / span, BIN_TOP + BIN_PLOT + 18, _edge(edge), anchor=anchor, quiet=True, size=12))
    total = sum(count for _, _, count in bins)
    alt = "; ".join(f"{_edge(low)} to {_edge(high)}: {count}" for low, high, count in bins if count)
    return picture(marks, height=BIN_TOP + BIN_PLOT + 26, title=title, description=f"{total} scores. {alt}", kind="histogram")


def _edge(value: float) -> str:
    return f"{value:.3g}"


FLIP_CELL, FLIP_HEAD = 64.0, 26.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipCounts:
    """How often both are right, only the first, only the second, and neither; over n instances judged by both."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def n(self) -> int:
        """The number of instances in the matrix."""
        return self.both + self.first_only + self.second_only + self.neither


def draw_flips(flips: FlipCounts, *, title: str, first: str = "official", second: str = "strict") -> "Markup":
    """Return an SVG of the matrix: rows are the first verdict, columns the second. Larger counts are darker; flips have an arrow."""
    cells = (
        (0, 0, flips.both, "both right", "one"),
        (0, 1, flips.first_only, "▼ lost", "two"),
        (1, 0, flips.second_only, "▲ gained", "three"),
        (1, 1, flips.neither, "neither right", "quiet"),
    )
    marks = [
        text(46, 16, f"{second} right", anchor="middle", quiet=True, size=12),
        text(82, 16, f"{second} not right", anchor="middle", quiet=True, size=12),
        *(text(0, FLIP_HEAD + FLIP_CELL / 2 + down, words, quiet=True, size=12) for down, words in ((-4, first), (12, "right"))),
        *(text(0, FLIP_HEAD + FLIP_CELL * 1.5 + 6 + down, words, quiet=True, size=12) for down, words in ((-4, first), (12, "not right"))),
    ]
    for row, column, count, words, colour in cells:
        x, y = 28 + 36 * column, FLIP_HEAD + (FLIP_CELL + 6) * row
        opacity = 0.12 + 0.5 * (count / flips.n if flips.n else 0)
        tip = f"{words.strip('▼▲ ')}: {count}"
        marks.append(box(x, y, 35, FLIP_CELL, colour=colour, opacity=opacity, tip=tip, cell=f"{row}{column}", n=count))
        marks.append(text(x + 17.5, y + 30, count, anchor="middle", size=20, bold=True))
        marks.append(text(x + 17.5, y + 49, words, anchor="middle", quiet=True, size=12))
    only = f"{flips.first_only} by {first} only, {flips.second_only} by {second} only"
    alt = f"of {flips.n} instances {flips.both} right by both, {only}, {flips.neither} by neither"
    return picture(marks, height=FLIP_HEAD + 2 * FLIP_CELL + 6, title=title, description=alt, kind="flips")


BAR_HEAD, BAR_LINE, BAR_GAP = 20.0, 17.0, 12.0
_ORDER = ("one", "two", "three", "four")


def draw_bars(rows: Sequence[tuple[str, Mapping[str, float | None]]], *, title: str) -> "Markup":
    """Return an SVG of n rows (label, {measure: value in [0, 1] or None}); a measure has the same colour in every row."""
    names = list(dict.fromkeys(name for _, values in rows for name in values))
    marks, top = [], 0.0
    for label, values in rows:
        marks.append(text(0, top + 14, label, bold=True))
        for number, (name, value) in enumerate(values.items()):
            marks += _measure_bar(label, name, value, top + BAR_HEAD + BAR_LINE * number, _ORDER[names.index(name) % len(_ORDER)])
        top += BAR_HEAD + BAR_LINE * len(values) + BAR_GAP
    alt = "; ".join(f"{label}: " + ", ".join(f"{name} {_three_digits(value)}" for name, value in values.items()) for label, values in rows)
    return picture(marks, height=top, title=title, description=alt or "nothing to show", kind="bars")


def _measure_bar(label: str, name: str, value: float | None, top: float, colour: str) -> list[str]:
    marks = [text(0, top + 11, name, quiet=True, size=12), text(100, top + 11, _three_digits(value), anchor="end", size=12)]
    track = box(0, 2, 100, 9, colour="track", opacity=0.16)
    if value is None:
        return [*marks, join_parts([track], x=24, y=top, width=62, height=BAR_LINE)]
    share = 100 * min(1.0, max(0.0, value))
    bar = box(0, 2, share, 9, colour=colour, tip=f"{label}, {name}: {_three_digits(value)}", label=label, name=name, value=value)
    return [*marks, join_parts([track, bar], x=24, y=top, width=62, height=BAR_LINE)]


def _three_digits(value: float | None) -> str:
    return "none" if value is None else rounded(value, 3, 0, 1)


STRIP_ROW, STRIP_LABEL, STRIP_PLOT = 58.0, 14.0, 30.0


@dataclass(frozen=True, slots=True)
class Strip:
    """The bars of a run as (words, count); shares are over its `n` cases."""

    label: str
    bars: tuple[tuple[str, int], ...]
    n: int


def draw_strips(strips: Sequence[Strip], *, title: str, ends: tuple[str, str] = ("0", "1")) -> "Markup":
    """Return an SVG of n strips; the height of a bar is its share of the run's cases over the largest share of all."""
    most = max((count / strip.n for strip in strips for _, count in strip.bars if strip.n), default=0) or 1.0
    marks: list[str] = []
    for at, strip in enumerate(strips):
        marks += _strip_marks(strip, at * STRIP_ROW, most)
    bottom = STRIP_ROW * len(strips)
    if strips:
        marks += [text(0, bottom + 10, ends[0], quiet=True, size=12), text(100, bottom + 10, ends[1], anchor="end", quiet=True, size=12)]
    alt = "; ".join(f"{s.label}: " + ", ".join(f"{words}: {count}" for words, count in s.bars if count) for s in strips)
    return picture(marks, height=bottom + 20, title=title, description=alt or "nothing to show", kind="strips")


def _strip_marks(strip: Strip, top: float, most: float) -> list[str]:
    width = 100 / max(1, len(strip.bars))
    bars = []
    for at, (words, count) in enumerate(strip.bars):
        tall = STRIP_PLOT * (count / strip.n) / most if strip.n else 0.0
        if count:
            tip = f"{strip.label}, {words}: {count} of {strip.n}"
            bars.append(box(at * width + 0.3, STRIP_PLOT - tall, width - 0.6, tall, colour="one", tip=tip, bar=words, n=count))
    place = join_parts([*bars, line(0, STRIP_PLOT, 100, STRIP_PLOT)], x=0, y=top + STRIP_LABEL + 5, width=100, height=STRIP_PLOT)
    return [text(0, top + STRIP_LABEL - 2, strip.label), place]


STEPS_PLOT = 160.0


def draw_steps(points: Sequence[tuple[float, float]], *, title: str) -> "Markup":
    """Return an SVG of a score in [0, 1] at n tolerances (tolerance, score), the first at 0, on a log scale."""
    positive = [tolerance for tolerance, _ in points if tolerance > 0]
    if not positive:
        return picture([], height=0, title=title, description="no verdict depends on a tolerance", kind="steps")
    low, high = math.log10(min(positive)) - 0.5, math.log10(max(positive)) + 0.5
    places = [2 + 96 * ((math.log10(tolerance) if tolerance > 0 else low) - low) / (high - low) for tolerance, _ in points]
    marks, bottom = [line(2, STEPS_PLOT + 10, 98, STEPS_PLOT + 10)], STEPS_PLOT + 10
    for at, (tolerance, score) in enumerate(points):
        end = places[at + 1] if at + 1 < len(points) else 98.0
        marks.append(line(places[at], bottom - STEPS_PLOT * score, end, bottom - STEPS_PLOT * score, colour="one", width=2, value=score))
        if at:
            before = bottom - STEPS_PLOT * points[at - 1][1]
            marks.append(line(places[at], before, places[at], bottom - STEPS_PLOT * score, colour="one", width=2, value=tolerance))
    for tolerance in (min(positive), max(positive)):
        x = 2 + 96 * (math.log10(tolerance) - low) / (high - low)
        marks.append(text(x, bottom + 18, _edge(tolerance), anchor="middle", quiet=True, size=12))
    marks += [text(2, bottom - STEPS_PLOT * score - 5, _three_digits(score), size=12) for _, score in points[:1]]
    marks.append(text(98, bottom - STEPS_PLOT * points[-1][1] - 5, _three_digits(points[-1][1]), anchor="end", size=12))
    alt = "; ".join(f"{_edge(tolerance)}: {_three_digits(score)}" for tolerance, score in points)
    return picture(marks, height=bottom + 26, title=title, description=alt, kind="steps")


def share_bar(share: float, width: int) -> str:
    """`███████░░░`: a share in [0, 1] as `width` characters; full only for 1, empty only for 0."""
    filled = round(width * share)
    filled = min(max(filled, int(share > 0)), width - int(share < 1))
    return "█" * filled + "░" * (width - filled)


def interval_lines(rows: Sequence[IntervalRow], *, width: int = 40) -> Iterator[str]:
    """Yield one line per row: `├──●──┤` on a common scale with `│` at 0 in the middle; nothing if no row has a width."""
    reach = max((abs(end) for row in rows for end in (row.value, row.low, row.high) if end is not None), default=0.0)
    longest = min(24, max((len(row.label) for row in rows), default=0))

    def cell(value: float) -> int:
        return round(width * (value + reach) / (2 * reach))

    for row in rows if reach else ():
        cells = [" "] * (width + 1)
        if row.low is not None and row.high is not None:
            low, high = cell(row.low), cell(row.high)
            cells[low : high + 1] = ["├", *"─" * max(0, high - low - 1), "┤"][: high - low + 1]
        cells[width // 2] = "│" if cells[width // 2] == " " else "┼"
        if row.value is not None:
            cells[cell(row.value)] = "●"
        yield f"{cut_text(row.label, longest):<{longest}}  {''.join(cells).rstrip()}"
