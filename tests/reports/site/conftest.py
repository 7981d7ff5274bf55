"""A host of a board: gold, submissions, and a build of the site on a day."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.cli.test_run import text_gold, text_submission

GOLD = {f"q{i}": f"secret city {i}" for i in range(8)}
EVIL = "<script>alert(1)<img src=x onerror=alert(2)>"
# Noon of a day, in seconds.
BUILD = ("leaderboard", "subs", "--isolation", "none", "--jobs", "1", "--site", "site")
DAY = {"2026-11-20": 1795176000, "2026-11-21": 1795262400, "2026-11-22": 1795348800}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gold of eight texts and three submissions, right on 6, 4 and 1 of them; commands run here."""
    monkeypatch.chdir(tmp_path)
    make_place(tmp_path)
    return tmp_path


def make_place(folder: Path) -> None:
    """The same in a folder, the working one."""
    text_gold(folder / "gold", **GOLD)
    for name, right in (("alice", 6), ("bob", 4), (EVIL, 1)):
        hand_in(name, right)


def hand_in(name: str, right: int) -> None:
    """A submission that is right on the first instances."""
    text_submission(Path("subs") / name, **{key: text if at < right else "my wrong answer" for at, (key, text) in enumerate(GOLD.items())})


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Builds the site on a day and gives what was printed, errors included."""

    def built(day: str, *more: object, code: int = 0) -> str:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(DAY[day]))
        found = main([*BUILD, *map(str, more)])
        said = capsys.readouterr()
        assert found == code, said
        return said.out + said.err

    return built
