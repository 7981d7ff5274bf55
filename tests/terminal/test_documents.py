"""Every command of README and docs, unchanged, on the project's own example."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.command_server import command_server
from tests.conftest import copy_example
from tests.meta.test_readme import blocks, workplace
from tests.properties import is_full
from tests.terminal.pty_harness import piped, run

__all__ = ["workplace"]

WIDTHS = (60, 80, 154, 300)
# In the test line each bash block at 60 columns; docs/reports.md has a test of its own (tests/cli/test_report.py), and what docs/audit.md
# shows takes a minute.
BLOCKS = [
    pytest.param(block, columns, marks=[] if columns == 60 and kind == "bash" else [pytest.mark.slow], id=f"{columns}-{block[0][:60]}")
    for columns in (*WIDTHS, None)
    for kind in ("bash", "sh", "")
    for block in blocks(kind)
]


@pytest.fixture(scope="module")
def place(workplace: Path) -> Path:
    """The copy of the project, with as much of the example as the commands name, and one instance of each of its groups."""
    named = re.findall(r"\b[a-z]+_\d{3}\b", str([block for kind in ("bash", "sh", "") for block in blocks(kind)]))
    for name in ("gold", "example_submission_folder"):
        shutil.rmtree(workplace / name)
    copy_example(workplace, {*named, "hr_007", "geo_005", "fin_004"})
    (workplace / "dbs").mkdir()
    return workplace


@pytest.mark.parametrize(("block", "columns"), BLOCKS)
def test_documented_commands_run(block: tuple[str, ...], columns: int | None, place: Path) -> None:
    """The commands of a block end well one after the other (a gate that is not met is a scored run too) and print or write something."""
    # In the test line `evalsuite` is the command server's: tests/meta/test_readme.py starts the real one.
    folders = [*([] if is_full() else [command_server().script.parent]), place / ".venv" / "bin"]
    env = {"PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]])}
    # A block begins without runs and suites of the blocks before it.
    shutil.rmtree(place / ".evalsuite", ignore_errors=True)
    for line in block:
        command = ["sh", "-c", line]
        shown = piped(command, env=env, cwd=place) if columns is None else run(command, columns=columns, env=env, cwd=place)
        assert shown.code in (0, 1), shown.screen + shown.errors
        assert shown.lines or " > " in line, line
        assert not re.search(r"^error:", f"{shown.screen}\n{shown.errors}", re.MULTILINE), shown.screen + shown.errors
