"""Render any document as one self-contained HTML file, readable without JavaScript and by keyboard alone.

The viewer uses the same templates, style sheet and script. Templates escape all text, and the page's policy only allows its own script.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.compare.characters import clean
from evalsuite.core.version import __version__
from evalsuite.reports.document import Code, Document, Section, Strong, Words, pieces, text_of

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


TEMPLATES = Path(__file__).parent / "templates"
# A template yields one piece per value.
_PIECES_AT_ONCE = 8


@cache
def environment() -> "Environment":
    """Return the templates of reports and viewer. They make every text printable, then escape it; only `Markup` passes unchanged."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if isinstance(value, str) and not hasattr(value, "__html__") else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters.update(signed=lambda value: f"{value:+.6g}", words=_words_html)
    return jinja


def as_html(document: Document) -> str:
    """Return the page of `html_pieces` as one text."""
    return "".join(html_pieces(document))


def html_pieces(document: Document) -> Iterator[str]:
    """Yield the document as a self-contained page with style sheet, script and Content-Security-Policy.

    A page that needs no script contains none, and its policy forbids all. All values are computed before this returns; the text of a large
    run's page (16 MB) is never in memory at once.
    """
    script = asset("script.js") if document.has_script else ""
    values: Mapping[str, Any] = {
        "style": _safe(asset("style.css")),
        "script": _safe(script),
        "policy": policy(scripts=document.has_script),
        "sections": list(document.parts("html")) or [Section()],
        "heading": document.heading or document.title,
        "version": __version__,
        "tab": text_of(document.heading or document.title),
        "links": document.links,
        "feed": document.feed,
    }
    stream = environment().get_template("document.html").stream(values)
    stream.enable_buffering(_PIECES_AT_ONCE)
    return stream


@cache
def asset(name: str) -> str:
    """Return the text of a file next to the templates: `style.css` or `script.js`."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def policy(*, scripts: bool = True) -> str:
    """Return the Content-Security-Policy of a self-contained page: own style and script by hash, no network, no inline handlers."""
    script, style = _policy_hash(asset("script.js")) if scripts else "'none'", _policy_hash(asset("style.css"))
    return f"default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; form-action 'none'"


def json_block(value: object) -> "Markup":
    """Return JSON for a `<script>` block: no character in it ends the block or opens another."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return _safe(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _words_html(words: Words) -> "Markup":
    """Render the words as HTML; markup in them is escaped."""
    from markupsafe import Markup, escape

    tags = {Code: "code", Strong: "strong"}
    parts = []
    for piece in pieces(words):
        text = escape(clean(text_of(piece)))
        tag = tags.get(type(piece))
        parts.append(Markup("<{0}>{1}</{0}>").format(_safe(tag), text) if tag else text)
    return Markup().join(parts)


def _safe(text: str) -> "Markup":
    from markupsafe import Markup

    return Markup(text)


def _policy_hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


_WORDS_AND_GAPS = re.compile(r"\w+|\s+|[^\w\s]")
KINDS = ("table", "tables", "number", "text", "tree", "judge", "none")


def difference_html(difference: Mapping[str, Any]) -> "Markup":
    """Render a difference as HTML; empty for an unknown kind, or if only the kind may be shown."""
    from markupsafe import Markup

    kind = difference.get("kind")
    if kind not in KINDS or len(difference) < 2:
        return Markup()
    values = {
        "d": difference,
        "cell": cell_text,
        "is_null": lambda value: value is None,
        "times": times_beyond,
        "counted": lambda n, noun: f"{n:,} {noun}{'' if n == 1 else 's'}",
        "by_word": word_differences,
    }
    return Markup(environment().get_template("difference.html").render(values))


def cell_text(value: object) -> str:
    """Format a cell value: NULL for none, quotes around empty texts and texts with spaces at their ends."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"'{value}'" if value != value.strip() or not value else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def times_beyond(number: Mapping[str, Any], tolerance: float) -> str:
    """Format how far a number is beyond the tolerance: `✓ within`, or `✗ 34 times` the tolerance."""
    if number["within"]:
        return "✓ within"
    distance = number["distance"]
    if not isinstance(distance, int | float) or not tolerance:
        return "✗ beyond"
    ratio = distance / tolerance
    return f"✗ {ratio:,.0f} times" if 10 <= ratio < 1e9 else f"✗ {ratio:.3g} times"


def word_differences(segments: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """Return the word differences of gold and the answer: ("equal" | "gold" | "answer", text) pairs in reading order.

    Empty if less than half of the shorter text is shared, because marks would then hide more than they show.
    """
    gold, answer = ("".join(segment[side] for segment in segments) for side in ("gold", "predicted"))
    a, b = _WORDS_AND_GAPS.findall(gold), _WORDS_AND_GAPS.findall(answer)
    pairs: list[tuple[str, str]] = []
    shared = 0
    for op, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if op == "equal":
            pairs.append(("equal", "".join(a[i:j])))
            shared += len(pairs[-1][1])
            continue
        pairs += [(side, "".join(part)) for side, part in (("gold", a[i:j]), ("answer", b[k:m])) if part]
    return pairs if 2 * shared >= min(len(gold), len(answer)) > 0 else []
