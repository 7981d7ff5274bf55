"""Every process that a test starts is started by `tests.processes`, which gives it a time limit and ends it."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT
from tests.processes import finished

STARTERS = {
    "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "os": {"fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp"},
    "pty": {"fork", "spawn"},
}
EXEMPT = {
    "tests/processes.py": "the one place",
    "tests/command_server.py": "commands are forked here, with a time limit, and killed with their group",
    "tests/mutation.py": "not part of the test line; its forks have a time limit, and are killed with their group",
    "tests/reports/site/test_site.py": "a fork that an alarm ends",
    "tests/runs/store/every_moment.py": "test_run_folder.py starts this program with a time limit; its children are in its process group",
}
# Only a text with one of these is worth parsing.
_NAMES = "|".join(STARTERS["os"] | STARTERS["pty"])
_MAY_START = re.compile(rf"subprocess|from (?:os|pty) import|(?:os|pty)\.(?:{_NAMES})|(?:seconds|timeout) ?= ?None")
# They measure with wait4 what a process took, and are no part of the test line.
BENCHMARKS = ROOT / "tests" / "benchmarks"


def test_no_process_without_a_time_limit() -> None:
    """No test starts a process by itself, and no time limit is taken away: `finished`, `started` and `side_by_side` have one."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if not path.is_relative_to(BENCHMARKS) and name not in EXEMPT:
            text = path.read_text(encoding="utf-8")
            found += [f"{name}:{line}" for line in (starts(ast.parse(text)) if _MAY_START.search(text) else ())]
    assert found == []


def starts(tree: ast.AST) -> Iterator[str]:
    """Where a module starts a process by itself, or without a time limit: `line: what`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            room, name = node.func.value.id, node.func.attr
            if name in STARTERS.get(room, ()):
                yield f"{node.lineno}: {room}.{name}"
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.lineno}: {one.name}" for one in node.names if one.name in STARTERS.get(node.module or "", ()))
        elif isinstance(node, ast.keyword) and node.arg in ("seconds", "timeout") and ast.unparse(node.value) == "None":
            yield f"{node.value.lineno}: {node.arg}=None"


def test_children_hear_what_the_caller_ignores(tmp_path: Path) -> None:
    """Under nohup and in the background the tests ignore SIGINT and SIGHUP as asked, and a process that they start can be interrupted."""
    (tmp_path / "test_child.py").write_text(
        "import signal, subprocess, sys\n"
        "from tests.conftest import children_hear_signals\n"
        "from tests.processes import started\n"
        "def test_child():\n"
        "    for stop in (signal.SIGINT, signal.SIGHUP):\n"
        "        code = 'import time; print(1, flush=True); time.sleep(60)'\n"
        "        with started([sys.executable, '-c', code], stdout=subprocess.PIPE) as child:\n"
        "            child.stdout.readline()\n"
        "            signal.raise_signal(stop)\n"
        "            child.send_signal(stop)\n"
        "            assert child.wait(20) == -stop\n"
    )
    line = f'trap "" INT HUP PIPE; exec "{sys.executable}" -m pytest -q -p no:cacheprovider -c /dev/null --rootdir . test_child.py'
    done = finished(["bash", "-c", line], cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stdout
