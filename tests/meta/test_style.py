"""ruff and mypy, which run while the other tests do."""

import sys

import pytest

from tests.conftest import ROOT
from tests.processes import finished


@pytest.mark.parametrize("words", ["mypy", "ruff check .", "ruff format --check ."])
def test_checker_finds_nothing(words: str) -> None:
    """The linter, the formatter and the type checker accept the whole project."""
    done = finished([sys.executable, "-m", *words.split()], cwd=ROOT, seconds=600)
    assert done.returncode == 0, done.stdout + done.stderr
