"""What every picture is made of: SVG elements whose lengths are shares of the width, so that text keeps its size on any screen.

A picture names its colours by class (`style.css` gives light and dark ones) and carries the same as attributes for where no style sheet
is. The colours are Okabe and Ito's, which people with any colour vision tell apart; no picture says anything by colour alone. Every
mark bears the numbers it shows as data attributes.
"""

import html
from collections.abc import Iterable, Mapping

from evalsuite.reports.clean import clean

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


def escaped(text: object) -> str:
    """The text made printable, then safe in HTML and XML, attributes too."""
    return html.escape(clean(str(text)), quote=True)


def picture(marks: Iterable[str], *, height: float, title: str, description: str, kind: str) -> str:
    """An `<svg>` as wide as its place and `height` pixels high; `title` is its name and `description` its text for who cannot see it."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="picture {kind}" width="100%" height="{_n(height)}" font-size="13">'
    return f"{head}<title>{escaped(title)}</title><desc>{escaped(description)}</desc>{''.join(marks)}</svg>"


def inner(marks: Iterable[str], *, x: float, y: float, width: float, height: float) -> str:
    """A part of the picture with its own 0 to 100 % across; `x` and `width` in percent, `y` and `height` in pixels."""
    place = f'x="{_n(x)}%" y="{_n(y)}" width="{_n(width)}%" height="{_n(height)}"'
    return f'<svg {place} overflow="visible">{"".join(marks)}</svg>'


def box(x: float, y: float, width: float, height: float, *, colour: str, opacity: float = 1, tip: str = "", **numbers: object) -> str:
    """A bar from `x` % that is `width` % wide; `numbers` become data attributes and `tip` what a pointer shows."""
    place = f'x="{_n(x)}%" y="{_n(y)}" width="{_n(max(0.0, width))}%" height="{_n(height)}" rx="2"'
    see = f' opacity="{_n(opacity)}"' if opacity != 1 else ""
    return f'<rect {place} class="c-{colour}" fill="{COLOURS[colour]}"{see}{_data(numbers)}>{_tip(tip)}</rect>'


def dot(x: float, y: float, radius: float, *, colour: str, tip: str = "", **numbers: object) -> str:
    """A dot at `x` %, ringed in the colour of the page."""
    place = f'cx="{_n(x)}%" cy="{_n(y)}" r="{_n(radius)}"'
    return f'<circle {place} class="c-{colour} ring" fill="{COLOURS[colour]}"{_data(numbers)}>{_tip(tip)}</circle>'


def line(x1: float, y1: float, x2: float, y2: float, *, colour: str = "quiet", width: float = 1, dash: str = "", **numbers: object) -> str:
    """A line between two points, across in percent and down in pixels."""
    ends = f'x1="{_n(x1)}%" y1="{_n(y1)}" x2="{_n(x2)}%" y2="{_n(y2)}"'
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line {ends} class="s-{colour}" stroke="{COLOURS[colour]}" stroke-width="{_n(width)}"{dashes}{_data(numbers)}/>'


def text(x: float, y: float, words: object, *, anchor: str = "start", quiet: bool = False, size: float = 13, bold: bool = False) -> str:
    """Words at `x` %; cut to 60 characters, with the whole of them for the pointer."""
    whole = str(words)
    shown = whole if len(whole) <= LONGEST_LABEL else whole[: LONGEST_LABEL - 1] + "…"
    look = f'class="{"quiet" if quiet else "label"}" fill="currentColor" font-size="{_n(size)}"' + (' font-weight="600"' if bold else "")
    tip = _tip(whole) if shown != whole else ""
    return f'<text x="{_n(x)}%" y="{_n(y)}" text-anchor="{anchor}" {look}>{escaped(shown)}{tip}</text>'


def numbers(svg: str) -> list[dict[str, str]]:
    """The data attributes of each mark of a picture, in drawing order: the numbers it shows."""
    from xml.etree import ElementTree

    found = (
        {key.removeprefix("data-"): value for key, value in mark.attrib.items() if key.startswith("data-")}
        for mark in ElementTree.fromstring(svg).iter()
    )
    return [data for data in found if data]


def _data(values: Mapping[str, object]) -> str:
    return "".join(f' data-{key.replace("_", "-")}="{escaped(_n(v) if isinstance(v, float) else v)}"' for key, v in values.items())


def _tip(words: str) -> str:
    return f"<title>{escaped(words)}</title>" if words else ""


def _n(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
