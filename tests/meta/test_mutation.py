"""What `python -m tests.mutation` lists as changes that no test could notice are changes that it makes, in forks that leave nothing."""

import os
import sys
from pathlib import Path

from tests.mutation import EQUIVALENT, ROOT, changes, shape
from tests.processes import finished


def test_equivalent_changes_are_there() -> None:
    """An entry goes or is written again where its statement is; a rename of what it names is no reason."""
    names: dict[str, set[str]] = {}
    for function, _, _ in EQUIVALENT:
        module, name, *_ = function.split(".")
        names.setdefault(module, set()).add(name)
    files = [path for path in (ROOT / "evalsuite").rglob("*.py") if path.stem in names]
    made = {change.key for path in files for change in changes(str(path.relative_to(ROOT)), names[path.stem])}
    assert [key for key in EQUIVALENT if key not in made] == []
    assert shape('start = max(2, n.x) if "n" else None') == shape('begin = min(2, m.y) if "n" else None') != shape("start = max(3, n.x)")


def test_what_a_fork_started_ends_and_nothing_else(tmp_path: Path) -> None:
    """The server of commands that was started before the first fork serves the last one too."""
    code = """
import subprocess, sys
from pathlib import Path
from tests.mutation import _in_fork
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
before = subprocess.Popen(sleep)
def job():
    Path("pid").write_text(str(subprocess.Popen(sleep, start_new_session=True).pid))
    return 3
print(_in_fork(job, Path("log.txt")), before.poll(), Path("/proc", Path("pid").read_text()).exists())
before.kill()
"""
    done = finished([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    assert done.stdout.split() == ["3", "None", "False"]
