"""The pictures of the docs, all written by one command from the run of the example: `python -m tests.docs.record_pictures`.

`report.svg` is what a terminal shows, `page.png` the HTML report and `viewer.png` an instance in the viewer, both as Chromium paints them.
"""

import re
import shutil
import sys
import tempfile
from html import unescape
from pathlib import Path

from tests.browser.conftest import CHROMIUM, QUIET
from tests.conftest import ROOT
from tests.processes import finished
from tests.reports.viewer.served import ask, viewer

TERMINAL = ROOT / "docs/report.svg"
_SIZE = (1200, 860)
_TEXT = re.compile(r'<text [^>]*clip-path="url\(#evalsuite-line-(\d+)\)">(.*?)</text>', re.DOTALL)


def main() -> int:
    """Write every picture; 1 where there is no Chromium to paint the last two."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        for name in ("gold", "example_submission_folder"):
            shutil.copytree(ROOT / name, place / name)
        # A gold that was checked lets reports say how far it reaches; its own fault is why the check does not end with 0.
        finished([sys.executable, "-m", "evalsuite", "gold", "check", "gold"], cwd=place)
        command = [sys.executable, "-m", "evalsuite", "run", "example_submission_folder", "--gold", "gold", "--quiet"]
        finished([*command, "--no-save", "-o", TERMINAL, "-o", "report.html"], cwd=place, check=True)
        finished(command, cwd=place, check=True)
        if chromium is None:
            print("wrote docs/report.svg; no Chromium to paint the others")
            return 1
        _paint(chromium, (place / "report.html").as_uri(), ROOT / "docs/page.png")
        with viewer(place) as address:
            [suite] = ask(address, "/api/v1/test_suites").json["test_suites"]
            [run] = ask(address, f"/api/v1/test_suites/{suite['id']}/runs").json["test_runs"]
            _paint(chromium, f"{address}/runs/{run['id']}/instances/sales_004?status=wrong", ROOT / "docs/viewer.png")
    print("wrote docs/report.svg, docs/page.png, docs/viewer.png")
    return 0


def words_of(picture: str) -> list[str]:
    """The lines of a picture of a terminal, each without its spaces, of which a picture draws none."""
    lines: dict[int, str] = {}
    for number, text in _TEXT.findall(picture):
        lines[int(number)] = lines.get(int(number), "") + "".join(unescape(text).split())
    return [lines[number] for number in sorted(lines)]


def _paint(chromium: str, url: str, path: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        size = f"--window-size={_SIZE[0]},{_SIZE[1]}"
        finished([chromium, *QUIET, f"--user-data-dir={profile}", size, f"--screenshot={path}", url], cwd=Path(profile), check=True)


if __name__ == "__main__":
    raise SystemExit(main())
