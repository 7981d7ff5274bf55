"""The viewer in a real browser: filter, order, open, compare, links, keyboard, no JavaScript, a run that moves, hostile submissions."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="Selenium is not installed (extra: test)")
pytest.importorskip("starlette", reason="the viewer's packages are not installed (extra: view)")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from evalsuite.reports.test_suite import TestSuite
from evalsuite.runs.history import find_runs
from evalsuite.runs.run_folder import RunFolder
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.browser.conftest import Browser
from tests.reports.suites import HOSTILE, check, write_suite
from tests.reports.viewer.served import ask, make_project, viewer

PATIENCE = 20


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two suites, three runs each."""
    return make_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def address(project: Path) -> Iterator[str]:
    """The viewer over it."""
    with viewer(project) as found:
        yield found


def page_of(address: str, suite: str) -> str:
    """The address of a suite's page."""
    (found,) = ask(address, f"/api/v1/test_suites?name={suite}").json["test_suites"]
    return f"{address}/suites/{found['id']}"


def run_page(address: str, suite: str, name: str) -> str:
    """The address of the page of the run whose name ends so."""
    id_ = page_of(address, suite).rpartition("/")[2]
    runs = ask(address, f"/api/v1/test_suites/{id_}/runs").json["test_runs"]
    return next(f"{address}/runs/{one['id']}" for one in runs if one["name"].endswith(name))


def first_column(browser: Browser) -> list[str]:
    """The heads of the rows of the page's list."""
    return [head.text.splitlines()[0] for head in browser.all(".sheet tbody th")]


def eventually(browser: Browser, what: Callable[[], bool]) -> None:
    """Wait until it is so."""
    WebDriverWait(browser.driver, PATIENCE).until(lambda _: what())


def follow(browser: Browser, act: Callable[[], object]) -> None:
    """Do something that opens another page, and wait until that one is there."""
    browser.run("window.before = true")
    act()
    eventually(browser, lambda: browser.run("return document.readyState === 'complete' && !window.before"))


def test_from_the_suites_to_an_instance(address: str, browser: Browser) -> None:
    """A person finds a suite by its name, opens a run, then a wrong instance, and sees where the tables differ."""
    browser.open(address)
    assert [link.text for link in browser.all(".suite-card h2")] != []
    browser.one("input[type=search]").send_keys("demo")
    follow(browser, lambda: browser.one("form.controls button").click())
    assert [link.text for link in browser.all(".suite-card h2")] == ["demo"]
    browser.keep("viewer-suites")
    follow(browser, lambda: browser.one(".suite-card h2 a").click())
    assert len(browser.all("svg.picture")) == 2
    browser.keep("viewer-suite")
    follow(browser, lambda: browser.driver.find_element("link text", "second").click())
    browser.keep("viewer-run")
    follow(browser, lambda: browser.driver.find_element("link text", "table_1").click())
    assert [cell.text for cell in browser.all(".difference .wrong")] == ["700", "705"]
    assert browser.complaints() == []
    browser.keep("viewer-instance")


def test_filter_and_sort_have_addresses(address: str, browser: Browser) -> None:
    """A choice acts at once and stands in the address, without the fields left empty; a head sorts, then turns round."""
    browser.open(run_page(address, "demo", "first"))
    assert first_column(browser) == ["text_1", "number_1", "table_1"]
    follow(browser, lambda: Select(browser.one("select[name=group]")).select_by_value("easy"))
    assert first_column(browser) == ["text_1", "number_1"]
    assert browser.driver.current_url.endswith("?group=easy#instances")
    follow(browser, lambda: browser.driver.find_element("link text", "Instance").click())
    assert first_column(browser) == ["number_1", "text_1"]
    follow(browser, lambda: browser.one("thead [aria-sort=ascending] a").click())
    assert first_column(browser) == ["text_1", "number_1"]
    assert "group=easy" in browser.driver.current_url
    browser.driver.back()
    eventually(browser, lambda: first_column(browser) == ["number_1", "text_1"])


def test_two_runs_are_compared(address: str, browser: Browser) -> None:
    """Compare is open for two to four runs; the page shows both outputs beside the reference, and only what differs when asked."""
    browser.open(page_of(address, "capitals"))
    button = browser.one(".choose button")
    boxes = browser.all("input[name=run_ids]")
    assert not button.is_enabled()
    boxes[0].click()
    assert not button.is_enabled()
    boxes[2].click()
    assert (button.is_enabled(), browser.one(".choose [role=status]").text) == (True, "2 chosen")
    follow(browser, button.click)
    assert "middling" in browser.one("h1").text
    assert len(browser.all("#side-by-side tbody tr")) == 4
    follow(browser, lambda: Select(browser.one("select[name=differing]")).select_by_value("yes"))
    rows = browser.all("#side-by-side tbody tr")
    assert [row.text.split("\n")[1] for row in rows] == ["Capital of Norway?", "Capital of Peru?"]
    assert all(said in rows[1].text for said in ("Lima", "✗", "✓"))
    assert [cell.text.split()[-1] for cell in browser.all("#side-by-side tbody tr:last-child td")] == ["Lima", "y", "Lima"]
    assert browser.complaints() == []
    browser.keep("viewer-compare")


def test_a_deep_link_opens_in_another_window(address: str, browser: Browser) -> None:
    """The address of an instance in a filtered list is enough, and its neighbours are those of the list."""
    browser.open(run_page(address, "demo", "second") + "/instances/number_1?status=wrong&sort=name")
    assert browser.one("h1").text.endswith("number_1")
    assert (browser.all("a[rel=prev]"), browser.one("a[rel=next]").text) == ([], "table_1 →")
    follow(browser, lambda: ActionChains(browser.driver).send_keys(Keys.ARROW_RIGHT).perform())
    assert browser.one("h1").text.endswith("table_1")
    assert browser.driver.current_url.endswith("?status=wrong&sort=name")


def tab_to(browser: Browser, script: str) -> None:
    """Press Tab until the focused element is the one, and see that its focus shows."""
    for _ in range(60):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        if browser.run(f"const e = document.activeElement; return {script}"):
            assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"the keyboard does not reach {script}")


def press(browser: Browser, key: str) -> None:
    """Press one key."""
    ActionChains(browser.driver).send_keys(key).perform()


def test_keyboard_alone_is_enough(address: str, browser: Browser) -> None:
    """From the list of suites to a comparison, and to an instance, without a pointer."""
    browser.open(address)
    press(browser, Keys.TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    tab_to(browser, "e.textContent === 'capitals'")
    follow(browser, lambda: press(browser, Keys.ENTER))
    for name in ("middling", "poor"):
        tab_to(browser, f"e.getAttribute('aria-label') === 'Compare {name}'")
        press(browser, Keys.SPACE)
    tab_to(browser, "e.textContent === 'Compare'")
    follow(browser, lambda: press(browser, Keys.ENTER))
    assert "/compare?" in browser.driver.current_url
    tab_to(browser, "e.getAttribute('href')?.includes('/instances/')")
    follow(browser, lambda: press(browser, Keys.ENTER))
    assert "/instances/" in browser.driver.current_url
    browser.driver.back()
    eventually(browser, lambda: bool(browser.all("#side-by-side")))
    press(browser, "/")
    assert browser.run("return document.activeElement.name") == "q"


def test_one_key_gives_a_label(address: str, project: Path, browser: Browser) -> None:
    """0 labels the instance as wrong, with the note that stands there; the page says so again after a reload, and nothing is refused."""
    browser.open(f"{run_page(address, 'capitals', 'poor')}/instances/case_2?sort=-score")
    browser.one("#label [name=note]").send_keys("in “Italy”, yes")
    ActionChains(browser.driver).send_keys(Keys.TAB, Keys.TAB, "0").perform()
    eventually(browser, lambda: browser.driver.current_url.endswith("/instances/case_2?sort=-score#label"))
    browser.driver.refresh()
    assert Select(browser.one("#label select")).first_selected_option.text == "wrong"
    assert browser.one("#label [name=note]").get_attribute("value") == "in “Italy”, yes"
    assert browser.complaints() == []
    (file,) = (project / ".evalsuite/runs").glob("*.labels.csv")
    assert file.read_text().splitlines()[1] == 'case_2,0,"in “Italy”, yes"'


def test_without_javascript(address: str, browser: Browser) -> None:
    """Search, order, instances and comparison are plain links and forms."""
    browser.scripts(False)
    try:
        browser.open(page_of(address, "capitals"))
        for box in browser.all("input[name=run_ids]")[:2]:
            box.click()
        browser.one(".choose button").click()
        eventually(browser, lambda: "/compare?" in browser.driver.current_url)
        browser.open(run_page(address, "demo", "second") + "?status=wrong&q=table&sort=-score")
        assert first_column(browser) == ["table_1"]
    finally:
        browser.scripts(True)


def test_narrow_and_dark(address: str, browser: Browser) -> None:
    """On a telephone nothing but tables scrolls sideways; dark pages have light words on a dark ground."""
    runs = [run_page(address, "capitals", name).rpartition("/")[2] for name in ("good", "poor")]
    pages = [
        "/",
        f"/compare?run_ids={runs[0]}&run_ids={runs[1]}",
        *(page_of(address, "demo")[len(address) :] + t for t in ("", "/cases", "/leaderboard")),
    ]
    browser.colours("dark")
    for path in [*pages, run_page(address, "demo", "second")[len(address) :]]:
        browser.width(390)
        browser.open(address + path)
        assert browser.run("return document.documentElement.scrollWidth") <= 390, path
    # The last page is a run's: a long choice of a filter is cut, and its texts have the whole width, not what the other columns leave.
    browser.run("document.querySelector('.control option').textContent = 'long '.repeat(60)")
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    assert browser.run("return document.querySelector('.stacks .wide').offsetWidth") > 300
    browser.keep("viewer-narrow-dark")
    ground, words = (browser.run(f"return getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
    assert lightness(ground) < 60 < 180 < lightness(words)


def lightness(colour: str) -> float:
    """The mean of the three channels of `rgb(r, g, b)`, 0 to 255."""
    return sum(map(float, colour[colour.index("(") + 1 : -1].split(",")[:3])) / 3


def test_a_run_in_progress_moves(tmp_path: Path, browser: Browser) -> None:
    """Its page counts up by itself and becomes the run's own page when it ends."""
    project = make_project(tmp_path)
    entry = next(one for one in find_runs(project / ".evalsuite" / "runs") if one.suite == "demo")
    results = entry.results()
    folder = RunFolder(entry.folder.with_name("20301121-120000-moving")).open(
        {"signature": entry.run["signature"], "submission": "x", "options": {}}
    )
    try:
        with viewer(project) as address:
            browser.open(f"{address}/runs/{folder.path.name}")
            assert browser.one(".done").text == "0 of 3"
            folder.append(results[0])
            eventually(browser, lambda: browser.one(".done").text == "1 of 3")
            browser.keep("viewer-progress")
            folder.finish(results, dict(entry.run))
            eventually(browser, lambda: bool(browser.all("#instances")))
            browser.open("about:blank")
    finally:
        folder.close()


def test_hostile_texts_execute_nothing(tmp_path: Path, browser: Browser) -> None:
    """Hostile answers, cells, names and metadata on every page: shown as they were written, and nothing runs, loads or hides."""
    rows = [(f"r_{at:02}", check("string_match", gold=["canary"]), text, {}, {}) for at, text in enumerate(HOSTILE)]
    cells = [
        (f"t_{at:02}", check("table_match", gold="g.csv"), "a.csv", {"g.csv": "name,n\ncanary,1\n"}, {"a.csv": table(text)})
        for at, text in enumerate(HOSTILE)
    ]
    submission, gold = write_suite(tmp_path, [*rows, *cells])
    runs = tmp_path / ".evalsuite" / "runs"
    about = {"run_name": HOSTILE[0], "model_name": HOSTILE[1], "prompt_template": HOSTILE[2], "description": HOSTILE[8]}
    for label in ("one", "two"):
        run(submission, gold, RunOptions(runs_folder=runs, isolation="none", jobs=1, metadata=about, label=label))
    named = TestSuite(
        HOSTILE[0],
        "string_match",
        HOSTILE[3],
        input_text_list=list(HOSTILE[:9]),
        reference_output_list=list(HOSTILE[:9]),
        root=tmp_path / ".evalsuite",
    )
    named.run(HOSTILE[4], candidate_output_list=[*HOSTILE[9:], "x"], model_name=HOSTILE[5])
    with viewer(tmp_path) as address:
        suites = ask(address, "/api/v1/test_suites").json["test_suites"]
        found = [one["id"] for suite in suites for one in ask(address, f"/api/v1/test_suites/{suite['id']}/runs").json["test_runs"]]
        own = next(suite["id"] for suite in suites if suite["kind"] == "gold")
        ids = [one["id"] for one in ask(address, f"/api/v1/test_suites/{own}/runs").json["test_runs"]]
        pages = ["/", "/?q=%3Cscript%3Ewindow.pwned=1%3C/script%3E", f"/compare?run_ids={ids[0]}&run_ids={ids[1]}"]
        pages += [f"/suites/{suite['id']}{tail}" for suite in suites for tail in ("", "/cases", "/leaderboard")]
        pages += [f"/runs/{id_}" for id_ in found]
        pages += [f"/runs/{ids[0]}/instances/{kind}_{at:02}" for kind, n in (("r", len(HOSTILE)), ("t", 4)) for at in range(n)]
        for path in pages:
            harmless(browser, address + path)
        browser.open(f"{address}/runs/{ids[0]}/instances/r_00")
        assert "<script>window.pwned=1</script>" in browser.one("main").text
        browser.keep("viewer-hostile")
        browser.open("about:blank")


def harmless(browser: Browser, url: str) -> None:
    """Open a page and see that nothing of what it shows came to life."""
    browser.open(url)
    assert browser.run("return typeof window.pwned") == "undefined", url
    assert (
        browser.run("return document.querySelectorAll('main :is(script, img, style, iframe, object, a[href^=\"javascript:\"])').length")
        == 0
    ), url
    assert browser.one("h1").is_displayed(), url
    loaded = browser.run("return performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)")
    assert set(loaded) <= {"/static/style.css", "/static/viewer.css", "/static/viewer.js", "/events"}, url
    assert browser.complaints() == [], url


def table(text: str) -> str:
    """A CSV table with the text as a head and as a cell."""
    cell = '"' + text.replace('"', '""') + '"'
    return f"{cell},n\n{cell},1\n"
