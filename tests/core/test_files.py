"""What is at a path is told alike by every Python: an error of the machine is no absence."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from evalsuite.core.files import exists, is_dir, is_file, is_symlink
from tests.conftest import ROOT

METHODS = (is_file, is_dir, exists, is_symlink)


@pytest.mark.parametrize(("name", "told"), [
    ("file", (True, False, True, False)), ("folder", (False, True, True, False)), ("nothing", (False,) * 4), ("file/below", (False,) * 4),
    ("to-file", (True, False, True, True)), ("to-folder", (False, True, True, True)), ("to-nothing", (False, False, False, True)),
    ("loop", (False, False, False, True)), ("loop/below", (False,) * 4), ("nul\x00", (False,) * 4), ("half\ud800", (False,) * 4),
])  # fmt: skip
def test_what_is_there(tmp_path: Path, name: str, told: tuple[bool, ...]) -> None:
    """A file, a folder, a link, none of them; what no file system can name is not there."""
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for link, target in (("to-file", "file"), ("to-folder", "folder"), ("to-nothing", "nothing"), ("loop", "loop")):
        (tmp_path / link).symlink_to(target)
    assert tuple(method(tmp_path / name) for method in METHODS) == told
    assert tuple(method(f"{tmp_path}/{name}") for method in METHODS) == told


@pytest.mark.parametrize("method", METHODS)
def test_an_error_of_the_machine_is_raised(method: Callable[[Path], bool], tmp_path: Path) -> None:
    """A name that is too long stands for a disk that fails and a folder that may not be entered."""
    with pytest.raises(OSError, match="File name too long"):
        method(tmp_path / ("x" * 300))


def test_nothing_else_asks() -> None:
    """From Python 3.14 on the methods of paths take every error for an absence; entries of folders and archives have their own."""
    asked = {method.__name__ for method in METHODS}
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in sorted((ROOT / "evalsuite").rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in asked and ast.unparse(node.value) not in ("entry", "member", "os.path")
    ]
    assert found == []
