"""Modules that are imported on first use."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evalsuite.core.import_ref import ImportRef, LazyModule

met = threading.Event()


PACKAGE = {"whole/__init__.py": "", "whole/below/__init__.py": "from .part import *\nname = 'own'", "whole/below/part.py": "name = 'part'"}


@pytest.mark.parametrize(
    ("files", "value", "is_whole"),
    [
        ({}, "part", False),
        ({"whole/below/part.py": "from . import other\nname = other.name", "whole/below/other.py": "name = 'other'"}, "other", False),
        ({"whole/below/part.py": "from . import k", "whole/below/__init__.py": "k = 1\nfrom .part import *\nname = 'own'"}, "own", True),
        ({"whole/below/part.py": "title = 1"}, "own", True),
        ({"whole/below/part.py": None, "whole/below/__init__.py": "name = 'own'"}, "own", True),
        ({"whole/below/part.py": None, "whole/below/__init__.py": None}, None, False),
        ({"whole/below/part.py": None, "whole/below/__init__.py": None, "whole/__init__.py": None}, None, False),
    ],
)
def test_a_part_is_imported_without_its_package(
    files: dict[str, str | None], value: str | None, is_whole: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it has is taken from there; the package is imported where the part is missing, needs it or lacks the name."""
    write_package(tmp_path, files, monkeypatch)
    below = LazyModule("whole.below", "part")
    if value is None:
        with pytest.raises(ImportError, match="whole"):
            _ = below.name
    else:
        assert below.name == value
    assert ("whole.below" in sys.modules) is is_whole


def test_another_thread_gets_the_package_while_its_part_is_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It meets what stands for the package, and waits for the end of that import."""
    part = "import threading, time\nfrom tests.core import test_import_ref\ntest_import_ref.met.set()\ntime.sleep(0.05)\nname = 'part'"
    write_package(tmp_path, {"whole/below/part.py": part, "whole/below/__init__.py": "name = 'own'"}, monkeypatch)

    def other() -> str:
        met.wait(60)
        from whole.below import name  # type: ignore[import-not-found]

        return str(name)

    with ThreadPoolExecutor() as pool:
        theirs = pool.submit(other)
        assert LazyModule("whole.below", "part").name == "part"
        assert theirs.result(60) == "own"
    assert LazyModule("whole.below", "part").name == "own"


def write_package(folder: Path, changes: dict[str, str | None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Write `PACKAGE` with changed or absent files to a folder from which modules are imported."""
    for place, text in (PACKAGE | changes).items():
        if text is not None:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text)
    monkeypatch.syspath_prepend(folder)
    for name in ("whole", "whole.below", "whole.below.part", "whole.below.other"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)


def test_a_reference_is_its_target_and_summary() -> None:
    """Equal ones are one key of a table; a target without a colon is the module."""
    ref = ImportRef("colorsys:rgb_to_hls", "a colour")
    assert {ref: 1}[ImportRef("colorsys:rgb_to_hls", "a colour")] == 1
    assert ref not in (ImportRef("colorsys:rgb_to_hls"), ImportRef("colorsys", "a colour"), "colorsys:rgb_to_hls")
    assert repr(ref) == "ImportRef('colorsys:rgb_to_hls', 'a colour')"
    assert (ref.load(), ImportRef("colorsys").load()) == (sys.modules["colorsys"].rgb_to_hls, sys.modules["colorsys"])
