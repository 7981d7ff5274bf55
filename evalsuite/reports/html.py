"""Any document as one HTML file: everything in it, nothing fetched, readable without JavaScript and by keyboard alone.

The templates, the style sheet and the script are those of the viewer too. What anybody else said is escaped by the templates, and the
policy of a page runs no script but its own.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite import __version__
from evalsuite.reports.clean import clean
from evalsuite.reports.document import Code, Document, Strong, Words, pieces, text_of

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment() -> "Environment":
    """The templates of reports and viewer. Every text that they show is made printable, then escaped; only `Markup` passes as it is."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(signed=lambda value: f"{value:+.6g}", words=_words)
    return made


def as_html(document: Document) -> str:
    """The document as a page with the style sheet, script and policy of one self-contained file.

    Where nothing in it needs a script it holds none, and its policy runs none.
    """
    script = asset("script.js") if document.has_script else ""
    values: Mapping[str, Any] = {
        "style": _safe(asset("style.css")),
        "script": _safe(script),
        "policy": policy(scripts=document.has_script),
        "sections": list(document.parts("html")),
        "version": __version__,
        "tab": text_of(document.heading or document.title),
    }
    return environment().get_template("document.html").render(values)


@cache
def asset(name: str) -> str:
    """The text of a file beside the templates: `style.css` or `script.js`."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def policy(*, scripts: bool = True) -> str:
    """The Content-Security-Policy of a self-contained page: its own style and script by hash, no network, no inline handlers."""
    script, style = _hash(asset("script.js")) if scripts else "'none'", _hash(asset("style.css"))
    return f"default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; form-action 'none'"


def json_block(value: object) -> "Markup":
    """JSON that can stand in a `<script>` block: no character in it ends the block or opens another."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return _safe(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _shown(value: Any) -> Any:
    return value if hasattr(value, "__html__") or not isinstance(value, str) else clean(value)


def _words(words: Words) -> "Markup":
    """The words as HTML, with no markup but ours."""
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


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
