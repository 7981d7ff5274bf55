"""A headless Chromium of the system's own package, and where its screenshots go."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = ("chromium", "chromium-browser", "google-chrome"), "chromedriver"
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1280,1000",
)


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave this folder out where `-m` does not name `extras`: its files import Selenium."""
    return None if "extras" in config.getoption("-m") else True


class Browser:
    """A Chromium window: the Selenium `driver`, and the few gestures that the tests share."""

    def __init__(self, driver: Any, screenshots: Path) -> None:
        self.driver = driver
        self.screenshots = screenshots

    def open(self, url: str) -> None:
        """Go to an address; a page with the same file and another fragment is loaded anew."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(url)

    def width(self, width: int, height: int = 1000) -> None:
        """Show pages as a screen of this many CSS pixels would."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def colours(self, scheme: str) -> None:
        """Prefer `light` or `dark` pages."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def scripts(self, on: bool) -> None:
        """Run the scripts of pages, or do as a browser without JavaScript does."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not on})

    def all(self, selector: str) -> list[Any]:
        """The elements that a CSS selector finds."""
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def one(self, selector: str) -> Any:
        """The first element that a CSS selector finds; fails where none has come after five seconds."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 5, 0.05).until(lambda driver: driver.find_element("css selector", selector))

    def run(self, script: str) -> Any:
        """What a script in the page returns."""
        return self.driver.execute_script(script)

    def complaints(self) -> list[str]:
        """What the console says since the page was opened: errors, and what the policy of the page refused."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def keep(self, name: str) -> Path:
        """Save a screenshot of the window."""
        path = self.screenshots / f"{name}.png"
        assert self.driver.save_screenshot(str(path))
        return path


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots are kept: EVALSUITE_SCREENSHOTS, or a temporary folder."""
    named = os.environ.get("EVALSUITE_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def chromium(screenshots: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One window for the whole session; skips where Chromium, its driver or Selenium is not installed."""
    binary = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    driver_path = shutil.which(DRIVER)
    if binary is None or driver_path is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not installed (extra: test)")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for word in (*QUIET, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(driver_path), options=options)
    try:
        yield Browser(driver, screenshots)
    finally:
        driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The window as a new one: 1280 pixels wide, light, with scripts."""
    chromium.scripts(True)
    chromium.colours("light")
    chromium.width(1280)
    return chromium
