"""The HTML report in a real browser: filters, order, links, keyboard, no JavaScript, hostile answers, ten thousand instances."""

from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="Selenium is not installed (extra: test)")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from evalsuite.cli.showing import run_report
from evalsuite.reports.html import as_html
from tests.browser.conftest import Browser
from tests.reports import suites


def saved(folder: Path, name: str, text: str) -> str:
    """The address of a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report with an answer of every kind."""
    folder = tmp_path_factory.mktemp("every")
    return saved(folder, "report.html", as_html(run_report(suites.every_kind(folder))))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report of ten thousand instances."""
    return saved(tmp_path_factory.mktemp("many"), "report.html", as_html(run_report(suites.many(10_000))))


def ids(browser: Browser) -> list[str]:
    """The instances on the page, from top to bottom."""
    found: list[str] = browser.run("return [...document.querySelectorAll('#es-list > details')].map((row) => row.id)")
    return found


def choose(browser: Browser, name: str, value: str) -> None:
    """Pick an option as a person does."""
    Select(browser.one(f"select[name={name}]")).select_by_value(value)


def test_filters(every: str, browser: Browser) -> None:
    """Outcome, scorer, group and words narrow the list, alone and together; Clear brings all back."""
    browser.open(every)
    assert len(ids(browser)) == 9
    choose(browser, "kind", "wrong")
    assert sorted(ids(browser)) == ["number", "table", "text"]
    browser.one("input[name=text]").send_keys("GOLD TEXT")
    assert ids(browser) == ["text"]
    assert browser.one("#es-shown").text == "1 of 9 instances"
    browser.one("button[type=reset]").click()
    choose(browser, "kind", "flips")
    assert ids(browser) == ["sign"]
    choose(browser, "kind", "")
    choose(browser, "group", "tables")
    choose(browser, "scorer", "table_match")
    assert sorted(ids(browser)) == ["table", "table_right"]
    choose(browser, "scorer", "rouge")
    assert ids(browser) == []
    assert "No instance matches" in browser.one("#es-list").text
    assert browser.complaints() == []


def test_order(every: str, browser: Browser) -> None:
    """A head orders by its column, a second click turns it round, and the state is told to assistive technology."""
    browser.open(every)
    by_id = browser.one("[data-sort=id]")
    by_id.click()
    assert ids(browser) == sorted(ids(browser))
    assert by_id.get_attribute("aria-pressed") == "true"
    by_id.click()
    assert ids(browser) == sorted(ids(browser), reverse=True)
    browser.one("[data-sort=gold]").click()
    assert ids(browser) == ["table", "table_right", "number", "sign", "text", "text_right", "graded", "tree", "missing"]


def test_an_instance_opens_with_its_difference(every: str, browser: Browser) -> None:
    """A click opens the row; the tables stand side by side with the same rows next to each other."""
    browser.open(every)
    browser.one("#table summary").click()
    assert browser.one("#table .side").is_displayed()
    sides = browser.all("#table .side")
    assert len(sides) == 2
    assert sides[0].location["y"] == sides[1].location["y"]
    heights = [[row.rect["y"] for row in side.find_elements("css selector", "tr")] for side in sides]
    assert heights[0] == pytest.approx(heights[1], abs=1)
    browser.keep("report-table-light")


def test_a_link_leads_to_an_instance(many: str, browser: Browser) -> None:
    """An address with an id opens that instance on whatever page it is; one with filters restores them."""
    browser.open(many + "#case_09997")
    assert browser.one("#case_09997").get_attribute("open") is not None
    assert "reason number 9997" in browser.one("#case_09997 .body").text
    ActionChains(browser.driver).send_keys(Keys.TAB).perform()
    assert browser.run("return document.activeElement.closest('details').id") == "case_09997", "the keyboard goes on from there"
    browser.open(many + "#?kind=partial&text=99&sort=id&way=down")
    assert ids(browser)[0] == "case_09996"
    assert browser.one("select[name=kind]").get_attribute("value") == "partial"
    browser.one("input[name=text]").clear()
    browser.one("input[name=text]").send_keys("9961")
    assert "text=9961" in browser.run("return location.hash")
    assert ids(browser) == ["case_09961"]


def test_keyboard_alone(every: str, browser: Browser) -> None:
    """Tab reaches the search field, the heads and the rows in this order, and Enter opens a row."""
    browser.open(every)
    reached: list[str] = []
    for _ in range(18):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        reached.append(
            browser.run(
                "const a = document.activeElement; return a.name || a.dataset.sort || a.closest('details')?.id || a.className || a.type"
            )
        )
        if reached[-1] == "table":
            break
    # What has no name opens the two tables of fields.
    assert reached == [
        "skip",
        None,
        None,
        "text",
        "kind",
        "scorer",
        "group",
        "plain-button",
        "kind",
        "id",
        "scorer",
        "official",
        "strict",
        "gold",
        "table",
    ]
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    ActionChains(browser.driver).send_keys(Keys.ENTER).perform()
    assert "row" in browser.one("#table .difference").text


def test_without_javascript(every: str, browser: Browser) -> None:
    """The summary, the rows and their differences are there, and what needs scripts is not shown."""
    browser.scripts(False)
    browser.open(every)
    try:
        assert not browser.one("#es-controls").is_displayed()
        assert "worst first" in browser.one("#es-shown").text
        browser.one("#number summary").click()
        assert "360,000 times" in browser.one("#number .difference").text
    finally:
        browser.scripts(True)


def test_hostile_answers_execute_nothing(tmp_path: Path, browser: Browser) -> None:
    """Every hostile answer is opened, shown as it was written, and runs, fetches and hides nothing."""
    browser.open(saved(tmp_path, "hostile.html", as_html(run_report(suites.hostile(tmp_path)))))
    browser.run("document.querySelectorAll('#es-list > details').forEach((row) => { row.fill(); row.open = true; })")
    assert browser.run("return typeof window.pwned") == "undefined"
    assert browser.run("return document.querySelectorAll('#es-list :is(script, img, svg, style, iframe)').length") == 0
    assert "<script>window.pwned=1</script>" in browser.one("#r_00 .difference").text
    assert "{{ 7 * 7 }}" in browser.one("#r_06 .difference").text
    assert "x\\nPASS ctl" in browser.one("#r_12 .difference").text
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.complaints() == []
    browser.keep("report-hostile")


def test_ten_thousand_instances(many: str, browser: Browser) -> None:
    """One page of rows is in the document, the others come by turning pages, and a search finds any of them."""
    browser.open(many)
    assert len(ids(browser)) == 50
    assert browser.run("return document.querySelectorAll('*').length") < 3_000
    assert browser.one("#es-pages span").text == "Page 1 of 200"
    first = ids(browser)
    browser.one("#es-pages [data-page='1']").click()
    assert not set(first) & set(ids(browser))
    assert browser.one("#es-shown").text == "51 to 100 of 10000 instances"
    browser.one("input[name=text]").send_keys("case_07777")
    assert ids(browser) == ["case_07777"]
    assert browser.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_fits_every_screen(every: str, browser: Browser, width: int, scheme: str) -> None:
    """Nothing is wider than the screen, open rows included, and text stands out from its ground in both schemes (WCAG AA: 4.5)."""
    browser.colours(scheme)
    browser.width(width)
    browser.open(every)
    browser.keep(f"report-{width}-{scheme}")
    browser.run("document.querySelectorAll('#es-list > details').forEach((row) => { row.fill(); row.open = true; })")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    ratio = browser.run(CONTRAST)
    assert ratio["lowest"] >= 4.5, ratio
    browser.keep(f"report-{width}-{scheme}-open")


# The lowest contrast of any HTML text with the nearest opaque ground behind it.
CONTRAST = """
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
const ground = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const colour = parts(getComputedStyle(at).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
let lowest = 99, where = "";
for (const node of document.querySelectorAll("main *, footer *")) {
  const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
  if (!own || node.closest("svg, template, script, option") || node.classList.contains("unseen")) continue;
  const [a, b] = [light(parts(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < lowest) [lowest, where] = [ratio, node.className + ": " + node.textContent.slice(0, 40)];
}
return {lowest, where};
"""
