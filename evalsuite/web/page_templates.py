"""How a page becomes HTML: the reports' templates and style with the viewer's own beside them, and addresses with changed queries."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from evalsuite.outcome import KINDS, sign_of
from evalsuite.reports.html import asset, environment
from evalsuite.reports.words import percent

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
HERE = Path(__file__).parent
STATIC = {"style.css": "text/css", "viewer.css": "text/css", "viewer.js": "text/javascript"}


def page_response(template: str, request: "Request | None", status: int = 200, **values: Any) -> "Response":
    """The page of a template as a response; `here` makes its own address with some parameters changed."""
    from starlette.responses import HTMLResponse

    def here(**changes: Any) -> str:
        pairs = [] if request is None else request.query_params.multi_items()
        return _address(pairs, changes)

    text = templates().get_template(template).render(here=here, kept=kept_query(request), **values)
    # Surrogates cannot be sent; whatever they came from, they were made printable long before.
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status_code=status)


def kept_query(request: "Request | None") -> str:
    """The query of a request as the end of an address."""
    return "" if request is None or not request.url.query else "?" + request.url.query


def part_of_address(text: str) -> str:
    """The text as a part of an address; ids may hold slashes."""
    return quote(text, safe="/", errors="backslashreplace")


def static_file(request: "Request") -> "Response":
    """One of the few files that pages load. Raises a 404 for any other name."""
    from starlette.exceptions import HTTPException
    from starlette.responses import Response

    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    return Response(_static_text(name), media_type=STATIC[name])


@cache
def templates() -> "Environment":
    """The reports' environment (printable, then escaped) that also finds the viewer's own templates."""
    from jinja2 import FileSystemLoader

    from evalsuite.reports.html import TEMPLATES

    made = environment().overlay(loader=FileSystemLoader([HERE / "templates", TEMPLATES]))
    made.globals.update(kinds=KINDS, verdict=sign_of)
    made.filters.update(
        percent=lambda value: "–" if value is None else percent(value),
        number=lambda value: "–" if value is None else f"{value:.4g}",
        when=lambda time: time[:16].replace("T", " ") if time else "never",  # 2026-11-21 14:03
        cut=_cut_text,
        brief=lambda id_: id_[:8] + "…" if _UUID.fullmatch(id_) else _cut_text(id_, 60),
        part=part_of_address,
        pairs=_choice_pairs,
    )
    return made


@cache
def _static_text(name: str) -> str:
    return asset(name) if name == "style.css" else (HERE / "static" / name).read_text(encoding="utf-8")


def _address(pairs: list[tuple[str, str]], changes: dict[str, Any]) -> str:
    """A query with some keys set anew (None takes one away); any change but of the page goes back to the first one."""
    dropped = set(changes) | (set() if "page" in changes else {"page"})
    kept = [(key, value) for key, value in pairs if key not in dropped and value]
    kept += [(key, str(value)) for key, value in changes.items() if value is not None]
    return "?" + urlencode(kept, errors="backslashreplace")


def _cut_text(text: str | None, most: int = 160) -> str:
    return "" if text is None else text if len(text) <= most else text[: most - 1] + "…"


def _choice_pairs(items: Iterable[Any], *names: str) -> list[tuple[str, str]]:
    """(value, words) of choices: two attributes of each item, or the item itself twice."""
    return [(getattr(item, names[0]), getattr(item, names[1])) if names else (item, item) for item in items]
