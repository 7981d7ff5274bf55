"""The folder in which every command has something to do, made once, and a copy of it for each test."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import made_once
from tests.terminal.commands import make_place


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder as it was made, one for all processes of a parallel test run."""
    return made_once(tmp_path_factory, "terminal", make_place)


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    shutil.copytree(made, tmp_path / "place")
    return tmp_path / "place"
