"""The news of a board as RSS 2.0, an item a day."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from evalsuite.reports.clean import clean

MOST_ITEMS = 30


def feed_text(title: str, days: Sequence[Mapping[str, Any]], *, url: str) -> str:
    """The feed of the newest of these days (as the archive lists them, oldest first); without a `url` its links are relative."""
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    for name, text in (("title", title), ("link", f"{url}index.html"), ("description", f"{title}: who leads, who is new, who moved")):
        ElementTree.SubElement(channel, name).text = clean(text)
    for day in reversed(days[-MOST_ITEMS:]):
        item = ElementTree.SubElement(channel, "item")
        lines = [clean(str(line)) for line in day["news"]]
        ElementTree.SubElement(item, "title").text = f"{day['day']}: {lines[0] if lines else clean(title)}"
        ElementTree.SubElement(item, "link").text = f"{url}archive/{day['day']}.html"
        # A reader takes a description for HTML.
        ElementTree.SubElement(item, "description").text = " ".join(escape(line) for line in lines)
        ElementTree.SubElement(item, "guid", isPermaLink="false").text = clean(f"{title} {day['day']}")
        noon = datetime.strptime(f"{day['day']} 12", "%Y-%m-%d %H").replace(tzinfo=UTC)
        ElementTree.SubElement(item, "pubDate").text = format_datetime(noon)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'
