"""The pages of comparisons and leaderboards in a real browser: hostile texts, links, screens of every width."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="Selenium is not installed (extra: test)")

from evalsuite.reports.comparison_documents import comparison_document
from evalsuite.reports.html import as_html
from evalsuite.reports.leaderboard_documents import leaderboard_document
from tests.browser.conftest import Browser
from tests.browser.test_html_report import CONTRAST, saved
from tests.reports import compared

PAGES: dict[str, Callable[[], str]] = {
    "comparison": lambda: as_html(comparison_document(compared.usual())),
    "comparison-of-trees": lambda: as_html(comparison_document(compared.trees())),
    "leaderboard": lambda: as_html(leaderboard_document(compared.ranked())),
}


@pytest.mark.parametrize(
    "build", [lambda: as_html(comparison_document(compared.hostile())), lambda: as_html(leaderboard_document(compared.hostile_board()))]
)
def test_hostile_names_and_reasons_execute_nothing(build: Callable[[], str], tmp_path: Path, browser: Browser) -> None:
    """Hostile texts are shown as they were written; nothing runs, is fetched, or breaks out of its cell."""
    browser.open(saved(tmp_path, "hostile.html", build()))
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.run("return document.querySelectorAll('script, img, iframe, object, form').length") == 0
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert "<script>alert(1)</script>" in browser.one("main").text
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.complaints() == []


def test_a_link_leads_to_an_instance(tmp_path: Path, browser: Browser) -> None:
    """The id of a lost instance is a link to its row, which the address then marks."""
    browser.open(saved(tmp_path, "comparison.html", PAGES["comparison"]()))
    browser.one("a[href='#b/q1']").click()
    assert browser.run("return document.querySelector('tr:target').textContent").count("because 0.5") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_it_fits_every_screen(name: str, scheme: str, tmp_path: Path, browser: Browser) -> None:
    """Nothing but a table's own frame scrolls sideways, wide or narrow, and text stands out from its ground in both schemes."""
    browser.colours(scheme)
    address = saved(tmp_path, f"{name}.html", PAGES[name]())
    for width in (1280, 400):
        browser.width(width)
        browser.open(address)
        browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert browser.run("return document.documentElement.scrollWidth") <= width
        ratio = browser.run(CONTRAST)
        assert ratio["lowest"] >= 4.5, ratio
        browser.keep(f"{name}-{width}-{scheme}")
