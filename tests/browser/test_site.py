"""The site of a board of 40 submissions in a real browser: links, movement, a phone, the dark, and no script from data."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="Selenium is not installed (extra: test)")

from evalsuite.cli import main
from tests.browser.conftest import Browser
from tests.browser.test_html_report import CONTRAST
from tests.cli.test_run import text_gold, text_submission
from tests.reports.site.conftest import DAY, EVIL

GOLD = {f"q{i}": f"city {i}" for i in range(10)}


def hand_in(folder: Path, right: int) -> None:
    """A submission that is right on the first instances and says markup elsewhere."""
    text_submission(folder, **{key: text if at < right else "<img src=x onerror=alert(3)>" for at, (key, text) in enumerate(GOLD.items())})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The site on its second day: 38 teams, one with a hostile name, and a newcomer; one climbed, one archive is refused."""
    place = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        text_gold(place / "gold", **GOLD)
        (place / "board.yaml").write_text(f"title: {json.dumps('Autumn ' + EVIL)}\ncloses: 2026-11-30\nreveal: status\n")
        for at in range(38):
            hand_in(place / "subs" / f"team {at:02}", at % 9)
        hand_in(place / "subs" / EVIL, 3)
        ask = ["leaderboard", "subs", "--isolation", "none", "--jobs", "1", "--site", "site", "-q"]
        patch.setenv("SOURCE_DATE_EPOCH", str(DAY["2026-11-21"]))
        assert main(ask) == 0
        hand_in(place / "subs" / "team 00", 10)
        hand_in(place / "subs" / "newcomer with a name that is rather long for a phone", 5)
        (place / "subs" / "bomb.zip").write_text("no zip")
        patch.setenv("SOURCE_DATE_EPOCH", str(DAY["2026-11-22"]))
        assert main([*ask, "--since", "2026-11-21"]) == 1
        yield place / "site"


def test_links_lead_from_page_to_page(site: Path, browser: Browser) -> None:
    """From the board to a submission and its receipt and back, to the archive and to the board of the day before."""
    browser.open((site / "index.html").as_uri())
    assert len(browser.all("tbody tr")) == 41
    assert len(browser.all("tbody a")) == 40
    assert {link.get_attribute("href").partition(":")[0] for link in browser.all("a")} == {"file"}
    browser.one("tbody a").click()
    assert "team 00" in browser.one("h1 + p").text
    assert browser.driver.current_url.startswith((site / "submissions").as_uri())
    browser.one(".places a[href$='.json']").click()
    receipt = json.loads(browser.one("pre").text)
    assert (receipt["submission"], receipt["score"], receipt["received"]) == ("team 00", 1.0, "2026-11-22T12:00:00Z")
    browser.driver.back()
    browser.one(".places a").click()
    browser.one(".places a[href='archive/index.html']").click()
    assert [link.text for link in browser.all("tbody a")] == ["2026-11-22", "2026-11-21"]
    browser.all("tbody a")[1].click()
    assert len(browser.all("tbody tr")) == 39
    assert browser.all("tbody a") == []
    assert browser.complaints() == []


def test_movement_is_seen(site: Path, browser: Browser) -> None:
    """The one that climbed, the newcomer, and one that was overtaken say so; the refused archive has no rank and its reason."""
    browser.open((site / "index.html").as_uri())
    assert "since 2026-11-21" in browser.one("thead").text
    rows = {row.find_element("css selector", "th").text: row.text for row in browser.all("tbody tr")}
    assert "▲ 34" in rows["team 00"]
    assert "new" in next(text for name, text in rows.items() if name.startswith("newcomer"))
    assert "▼ 1" in rows["team 08"]
    assert "BAD_ARCHIVE" in browser.one("main + footer").text


def test_nothing_of_a_submission_is_run(site: Path, browser: Browser) -> None:
    """Names, titles and answers with markup are texts, on the board and on the page of the one who has them; nothing is fetched."""
    pages = [site / "index.html", site / "archive" / "index.html", *sorted((site / "submissions").glob("script-*.html"))]
    assert len(pages) == 3
    for page in pages:
        browser.open(page.as_uri())
        browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert browser.run("return document.querySelectorAll('main img, iframe, object').length") == 0
        own = browser.run(
            "return [...document.querySelectorAll('script:not([type])')].filter((one) => one.textContent.includes('alert')).length"
        )
        assert own == 0
        assert EVIL in browser.one("body").text
        assert browser.run("return performance.getEntriesByType('resource').length") == 0
        assert browser.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone(scheme: str, site: Path, browser: Browser) -> None:
    """Nothing but a table's own frame scrolls sideways at any width, and text stands out in both schemes."""
    browser.colours(scheme)
    first = next((site / "submissions").glob("newcomer-*.html"))
    for page in (site / "index.html", site / "archive" / "index.html", site / "archive" / "2026-11-21.html", first):
        for width in (1280, 360):
            browser.width(width)
            browser.open(page.as_uri())
            assert browser.run("return document.documentElement.scrollWidth") <= width
            ratio = browser.run(CONTRAST)
            assert ratio["lowest"] >= 4.5, ratio
            browser.keep(f"site-{page.stem}-{width}-{scheme}")
