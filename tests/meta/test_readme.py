"""What the README shows: the commands of its blocks (tests/terminal/test_commands.py runs them), and its Python, which runs here."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from evalsuite.reports.run_document import run_document
from evalsuite.reports.terminal import as_text
from tests.command_server import command_server
from tests.conftest import ROOT
from tests.docs.record_pictures import TERMINAL, words_of
from tests.processes import finished
from tests.reports.made import example_record

BLOCK = re.compile(r"^```(bash|sh|)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)
COPIED = ("evaluate.py", "evalsuite", "gold", "example_submission_folder", "docs")
# The set-up itself and the test line's own tools; running them here would run the tests inside a test.
SET_UP = re.compile(r"^(python3 -m venv|EVALSUITE_LIVE=|\.venv/bin/(pip|ruff|mypy|pytest)\b|pip |pytest\b|ruff |mypy\b|git )")


def blocks(kind: str = "bash") -> list[tuple[str, ...]]:
    """The lines of each block of that kind of README and docs, without the set-up parts; a block of two pages only once.

    A block of no kind (`""`) is a session, and its commands are the lines after `$ `.
    """
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in (text for own, text in BLOCK.findall(page.read_text(encoding="utf-8")) if own == kind):
            lines = []
            for line in block.splitlines():
                if not kind and not line.startswith("$ "):
                    continue
                parts = [part for part in line.removeprefix("$ ").split("#")[0].strip().split(" && ") if part and not SET_UP.match(part)]
                if parts:
                    lines.append(" && ".join(parts))
            if lines:
                found.append(tuple(lines))
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with `evalsuite` and `.venv/bin/python` on their usual places."""
    place = tmp_path_factory.mktemp("readme")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        elif source.exists():
            shutil.copy(source, place / name)
    tools = place / ".venv" / "bin"
    tools.mkdir(parents=True)
    for name, run in {"python": f'"{sys.executable}" "$@"', "evalsuite": f'"{command_server().script}" "$@"'}.items():
        (tools / name).write_text(f"#!/bin/sh\nexec {run}\n")
        (tools / name).chmod(0o755)
    return place


def test_readme_shows_commands() -> None:
    """The README's two set-up lines and at least four commands are found."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(r"<!-- (?:main|test) line -->\n```bash\n[^\n]*-m venv[^\n]*pip install[^\n]*\n```", text)) == 2
    assert sum(map(len, blocks())) >= 4


def test_readme_code_runs_and_prints_what_it_says(workplace: Path) -> None:
    """The README's Python runs from top to bottom, and each `print` prints its comment."""
    code = "".join(CODE.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    expected = PRINTED.findall(code)
    done = finished([sys.executable, "-c", code], cwd=workplace)
    assert (done.returncode, done.stdout.splitlines()) == (0, expected), done.stderr
    assert len(expected) == code.count("print(") >= 2


def test_the_picture_is_what_a_terminal_shows_now() -> None:
    """The README's picture has the lines of today's report of the example, except those about this machine and versions."""
    shown = as_text(run_document(example_record()), width=150).splitlines()
    pictured = words_of(TERMINAL.read_text(encoding="utf-8"))
    assert all(line.startswith("evalsuite") for line in (shown[0], pictured[0]))
    own = re.compile(r"signature|isolation|saved|goldreaches")
    expected = [words for line in shown[1:] if (words := "".join(line.split())) and not own.match(words)]
    found = [line for line in pictured[1:] if line and not own.match(line)]
    assert found == expected, "python -m tests.docs.record_pictures writes it again"
    assert len(found) > 30
