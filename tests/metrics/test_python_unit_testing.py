"""Programs against their tests: early exits fail, limits hold, walls refuse."""

from pathlib import Path

import pytest

from evalsuite.metrics import get_metric
from evalsuite.metrics.base import MetricError
from evalsuite.metrics.pass_at_k import pass_at_k
from evalsuite.metrics.python_process import run_program


def ended(program: str, *, seconds: float = 10.0) -> str:
    """How a program ends under a generous limit."""
    return run_program(program, timeout_seconds=seconds, memory_mib=256)


@pytest.mark.parametrize(
    "program",
    [
        "x = 1",
        "print('x' * 100_000); import os; os.write(1, b'noise'); os.write(2, b'noise')",
        "import asyncio, collections, dataclasses, json, re, unittest\nasyncio.run(asyncio.sleep(0))\ncollections.namedtuple('P', 'a b')",
        "open('own.txt', 'w').write('x')\nassert open('own.txt').read() == 'x'",
        "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()",
        "assert __name__ == '__main__' and 'é' == '\\u00e9'",
        "import os\nassert 'HOME' not in os.environ and 'PATH' not in os.environ",
        "input_was = __import__('sys').stdin.read()\nassert input_was == ''",
    ],
)
def test_what_a_program_may_do(program: str) -> None:
    """The standard library, output, threads and its own folder are there; environment and input are empty."""
    assert ended(program) == "passed"


@pytest.mark.parametrize(
    "program",
    [
        "raise ValueError",
        "return 1",
        "x = \0",
        "x = '\ud800'",
        "import sys\nsys.exit(0)",
        "raise SystemExit(0)",
        "import os\nos._exit(0)",
        "import os\nos.close(0)",
        "x = 'a' * 10**9",
        "def f(n): return f(n + 1)\nf(0)",
        "x = " + "-" * 100_000 + "1",
        "import numpy",
    ],
)
def test_what_fails(program: str) -> None:
    """Errors, early clean exits, too much memory and packages that are not there fail; none of them ends us."""
    assert ended(program) == "failed"


@pytest.mark.parametrize(
    "act",
    [
        "open('/etc/passwd')",
        "open('{folder}/gold.txt')",
        "open('{folder}/new.txt', 'w')",
        "__import__('os').remove('{folder}/gold.txt')",
        "__import__('os').rename('{folder}/gold.txt', 'mine')",
        "__import__('os').listdir('{folder}')",
        "__import__('os').symlink('{folder}/gold.txt', 'link')",
        "__import__('subprocess').run(['true'])",
        "__import__('os').fork()",
        "__import__('os').system('true')",
        "__import__('socket').create_connection(('127.0.0.1', 9))",
        "__import__('socket').getaddrinfo('localhost', 80)",
        "__import__('ctypes').CDLL(None)",
    ],
)
def test_walls(act: str, tmp_path: Path) -> None:
    """Files elsewhere, processes, sockets and ctypes are refused with a permission error, and nothing is changed."""
    (tmp_path / "gold.txt").write_text("secret", encoding="utf-8")
    program = f"try:\n    {act.format(folder=tmp_path)}\nexcept PermissionError:\n    pass\nelse:\n    raise SystemError"
    assert ended(program) == "passed"
    assert [path.name for path in tmp_path.iterdir()] == ["gold.txt"]


@pytest.mark.parametrize("program", ["while True: pass", "import time\ntime.sleep(60)", "import threading\nthreading.Event().wait()"])
def test_time_is_limited(program: str) -> None:
    """A program that does not end is killed."""
    assert ended(program, seconds=0.3) == "timeout"


def test_every_test_must_pass() -> None:
    """Several references are several tests; the first that fails is named."""
    metric = get_metric("python_unit_testing")
    program = "def add(a, b):\n    return a + b"
    assert metric(program, ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]) == 1
    found = metric.detailed_evaluate(program, ["assert add(1, 2) == 3", "assert add(1, 1) == 3"])
    assert (found.value, found.details) == (0, {"category": "fail", "ended": "failed", "test": 1})


@pytest.mark.parametrize(("n", "c", "k", "expected"), [(10, 6, 5, 1.0), (5, 1, 1, 0.2), (4, 2, 2, 5 / 6), (3, 0, 2, 0.0), (1, 1, 1, 1.0)])
def test_pass_at_k(n: int, c: int, k: int, expected: float) -> None:
    """The estimate is the share of draws of k that hold a passing program."""
    assert pass_at_k(n, c, k) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0), (0, 0, 1)])
def test_counts_nobody_can_mean(n: int, c: int, k: int) -> None:
    """More passes than programs, or more draws, are an error."""
    with pytest.raises(MetricError):
        pass_at_k(n, c, k)


def test_pass_at_k_runs_its_programs() -> None:
    """Of three programs two pass: a draw of one passes in two of three cases, a draw of two always."""
    programs = ["x = 1", "x = 2", {"answer": "x = 1 + 0"}]
    assert get_metric("pass_at_k", k=1)(programs, "assert x == 1") == pytest.approx(2 / 3)
    assert get_metric("pass_at_k", k=2)(programs, ["assert x == 1"]) == 1
