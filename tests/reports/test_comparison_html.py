"""The page of a comparison: its content, its permissions, and the numbers of its pictures."""

import re

import pytest

from evalsuite.reports.comparison_documents import MOST_ROWS, comparison_document
from evalsuite.reports.html import as_html
from tests.cli.test_run import lacks
from tests.reports import compared
from tests.reports.test_html import Reader


@pytest.mark.parametrize("build", [compared.usual, compared.trees, compared.hostile])
def test_it_holds_no_script_and_may_fetch_nothing(build: "type[compared.Comparison]") -> None:
    """No script, no handler, no address outside; the policy forbids the rest."""
    page = Reader(as_html(comparison_document(build())))
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"script", "iframe", "object", "embed", "img", "form"})
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    assert not [attrs for _, attrs in page.elements if str(attrs.get("href", "#"))[0] not in "#d"]
    policy = next(str(attrs["content"]) for tag, attrs in page.elements if tag == "meta" and "http-equiv" in attrs)
    assert not lacks(policy, "default-src 'none'", "script-src 'none'")


def test_long_lists_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand lost instances stand in the page, the rest is counted."""
    assert MOST_ROWS == 1000
    monkeypatch.setattr("evalsuite.reports.comparison_documents.MOST_ROWS", 100)
    text = as_html(comparison_document(compared.large(107)))
    assert len(re.findall('<tr id="b/', text)) == 100
    assert "... 7 more" in text
