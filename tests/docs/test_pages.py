"""Every ```python block of a page under docs runs, in order, in one namespace a page; the asserts are the page's own."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsuite.scorers.judge import read_settings
from evalsuite.trees import comparators, reset_type_defaults
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("shared_fork_server")

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)
TREES = ("schema", "simple", "customise", "arrays", "semantic", "compound", "score", "choose")
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if BLOCK.search(path.read_text(encoding="utf-8")))


@pytest.fixture(autouse=True)
def _own_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """What a page registers, sets or writes is gone after it."""
    monkeypatch.setattr(comparators, "_registered", {kind: dict(names) for kind, names in comparators._registered.items()})
    monkeypatch.setattr(comparators, "_batch", set(comparators._batch))
    monkeypatch.chdir(tmp_path)
    yield
    reset_type_defaults()


def test_the_pages_of_trees_are_there() -> None:
    """Each page of the trees has blocks to run."""
    assert {f"docs/trees/{name}.md" for name in TREES} <= {path.relative_to(ROOT).as_posix() for path in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_page_runs(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks run, each `print` prints its comment, and a traceback names the page and its line."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__page__"}
    blocks = list(BLOCK.finditer(text))
    code = "".join(block[1] for block in blocks)
    if "example_submission_folder" in code:
        for name in ("gold", "example_submission_folder"):
            (tmp_path / name).symlink_to(ROOT / name)
    for block in blocks:
        above = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(above + block[1], str(page), "exec"), names)
    printed = PRINTED.findall(code)
    assert [line for line in capsys.readouterr().out.splitlines() if line in printed] == printed


def test_every_judge_in_yaml_can_be_read() -> None:
    """Each fenced `judge:` section of a page is one that a suite may have."""
    sections = [
        yaml.safe_load(block)["judge"]
        for page in (ROOT / "docs").rglob("*.md")
        for block in re.findall(r"^```yaml\n(judge:.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    ]
    assert sections
    for section in sections:
        assert read_settings(section).base_url
