"""Every command the README shows runs on the project's own example."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.processes import finished

BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)
COPIED = ("evaluate.py", "evalsuite", "gold", "example_submission_folder", "docs")
# The set-up itself and the test line's own tools; running them here would run the tests inside a test.
SET_UP = re.compile(r"^(python3 -m venv|EVALSUITE_LIVE=|\.venv/bin/(pip|ruff|mypy|pytest)\b|pip |pytest\b|ruff |mypy\b|git )")


def blocks() -> list[tuple[str, ...]]:
    """The lines of each bash block of the README and the docs, without the set-up parts; what stands in two pages once."""
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            lines = []
            for line in block.splitlines():
                parts = [part for part in line.split("#")[0].strip().split(" && ") if part and not SET_UP.match(part)]
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
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, place / name)
    tools = place / ".venv" / "bin"
    tools.mkdir(parents=True)
    for name, run in {"python": f'"{sys.executable}" "$@"', "evalsuite": f'"{sys.executable}" -m evalsuite "$@"'}.items():
        (tools / name).write_text(f"#!/bin/sh\nexec {run}\n")
        (tools / name).chmod(0o755)
    return place


def test_readme_shows_commands() -> None:
    """The README's two set-up lines and at least four commands are found."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(r"<!-- (?:main|test) line -->\n```bash\n[^\n]*-m venv[^\n]*pip install[^\n]*\n```", text)) == 2
    assert sum(map(len, blocks())) >= 4


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block[0][:60])
def test_readme_commands_run(block: tuple[str, ...], workplace: Path) -> None:
    """The commands of a block end well one after the other (a gate that is not met is a scored run too) and print or write something."""
    path = f"{workplace / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command in block:
        done = finished(command, shell=True, cwd=workplace, env={**os.environ, "PATH": path})
        assert done.returncode in (0, 1), (command, done.stderr)
        assert done.stdout, command
        assert "error" not in done.stderr, (command, done.stderr)


def test_readme_code_runs_and_prints_what_it_says(workplace: Path) -> None:
    """The README's Python runs from top to bottom, and each `print` says what stands beside it."""
    code = "".join(CODE.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    expected = PRINTED.findall(code)
    done = finished([sys.executable, "-c", code], cwd=workplace)
    assert (done.returncode, done.stdout.splitlines()) == (0, expected), done.stderr
    assert len(expected) == code.count("print(") >= 3
