"""Words that must not appear in texts for people: help, README, docs, error messages, and the reports of the example run."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from evalsuite.cli.parser import build
from evalsuite.core.errors import FAULTS
from evalsuite.reports.file_formats import as_markdown
from evalsuite.reports.html import as_html
from evalsuite.reports.run_document import run_document
from evalsuite.reports.terminal import as_text
from tests.conftest import ROOT
from tests.reports.made import example_record

# The word that must not appear in any of them, and what to write instead.
WORDS = {
    "anew": "again",
    "thereof": "of it",
    "fork_server": "fork server",
    "walled": "sandboxed",
    "shelf": "cache",
    "were everything": "if every",
    "hears?": "receives",
    "doors?": "the package or function",
    "handed in": "submitted",
    "hands in": "submits",
    "walls": "sandbox",
    "nobody": "the passive",
    "somebody": "a user",
    "beside": "next to, or in addition to",
    "told": "reported, or returned",
    "tells?": "reports, or returns",
    "lane": "worker pair",
    "strangers?": "untrusted",
    "lies": "is",
    "jail": "program sandbox",
    "zygote": "fork server",
    "whoever": "anyone who",
    "stood": "was",
}
# Words that pages may have, but not help, messages and reports.
OWN_WORDS = {"whose": "a new sentence", "wherever": "if"}
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*.md")))]


def _help_pages(command: Any, words: str) -> Iterator[tuple[str, str]]:
    """(words, help) of a command, and of all that are listed below it."""
    context = command.context_class(command, info_name=words)
    yield words, command.get_help(context)
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _help_pages(command.get_command(context, name), f"{words} {name}")


@cache
def _texts() -> dict[str, dict[str, str]]:
    """Kind of text -> its texts by name."""
    document = run_document(example_record())
    return {
        "help": dict(_help_pages(build(), "evalsuite")),
        "messages": {code: f"{kind.message}; {kind.hint}" for code, kind in FAULTS.items()},
        "reports": {"text": as_text(document), "markdown": as_markdown(document), "html": as_html(document)},
        "pages": {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES},
    }


def _found(word: str, text: str) -> bool:
    # Ids such as `judge-beside-tree` are quoted as code.
    return re.search(rf"\b{word}\b", " ".join(re.sub(r"`[^`\n]+`", "", text).split()), re.IGNORECASE) is not None


def test_the_texts_are_read() -> None:
    """Every command, fault and form is looked at."""
    texts = _texts()
    assert len(texts["help"]) > 60
    assert len(texts["messages"]) == len(FAULTS)
    assert "sales_004" in texts["reports"]["text"]
    assert _found("walls?", "behind\nWalls")


@pytest.mark.parametrize("word", [*WORDS, *OWN_WORDS])
def test_no_text_has_the_word(word: str) -> None:
    """No help, message or report has the word, and no page where all pages are clean of it."""
    kinds = ("help", "messages", "reports", "pages") if word in WORDS else ("help", "messages", "reports")
    found = [f"{kind} {name}" for kind in kinds for name, text in _texts()[kind].items() if _found(word, text)]
    assert found == [], f"write {(WORDS | OWN_WORDS)[word]!r} instead"
