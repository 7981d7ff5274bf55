"""The page of a comparison: its content, its permissions, and the numbers of its pictures."""

import re

import pytest

from evalsuite.reports.comparison_documents import MOST_ROWS, comparison_document, differences_picture, flips_picture
from evalsuite.reports.html import as_html
from evalsuite.reports.pictures import numbers
from tests.cli.test_run import lacks
from tests.reports import compared
from tests.reports.test_html import Reader


def test_what_was_lost_and_won_stands_in_it_with_both_reasons() -> None:
    """Each flip is a row with an address of its own that its id links to."""
    page = Reader(as_html(comparison_document(compared.usual())))
    texts = " ".join(page.texts)
    for words in ("b against a: 2 instances lost", "because 0.5", "b by group", "2 candidates", "baseline a"):
        assert words in texts
    ids = {attrs.get("id") for tag, attrs in page.elements if tag == "tr"} - {None}
    links = {attrs["href"] for tag, attrs in page.elements if tag == "a" and str(attrs["href"]).startswith("#b/")}
    assert ids == {"b/q0", "b/q1", "b/q2"}
    assert links == {f"#{name}" for name in ids}


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


def test_the_pictures_show_the_numbers() -> None:
    """Marks carry the differences with their limits, and the four counts of who is right."""
    made = compared.usual()
    first = made.candidates[0]
    marks = numbers(differences_picture([first.total], made, title="x"))
    values = {name: float(mark[name]) for mark in marks for name in ("value", "low", "high", "mark") if name in mark}
    assert first.total.low is not None
    assert values["value"] == pytest.approx(-0.1)
    assert values["low"] == pytest.approx(first.total.low, abs=1e-6)
    assert values["mark"] == 0
    assert [int(mark["n"]) for mark in numbers(flips_picture(first, "a"))] == [1, 2, 1, 1] == list(first.right)


def test_long_lists_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand lost instances stand in the page, the rest is counted."""
    assert MOST_ROWS == 1000
    monkeypatch.setattr("evalsuite.reports.comparison_documents.MOST_ROWS", 100)
    text = as_html(comparison_document(compared.large(107)))
    assert len(re.findall('<tr id="b/', text)) == 100
    assert "... 7 more" in text
