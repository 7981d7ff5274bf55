"""The jail of programs from inside: what a program may do and what it may not."""

import os
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from evalsuite.core.plugin_calls import allowing_programs
from evalsuite.sandbox.program_sandbox import can_sandbox_programs, run_program
from evalsuite.scorers.metrics import get_metric
from tests.conftest import ROOT
from tests.processes import finished

pytestmark = pytest.mark.skipif(
    not can_sandbox_programs(), reason="this machine gives no jail: namespaces, Landlock or seccomp are missing"
)


def ended(program: str, test: str, *, seconds: float = 20.0) -> str:
    """How a program and its test end in the jail."""
    return run_program(program, test, timeout_seconds=seconds, memory_mib=512).outcome


HONEST = {
    "a function": ("def add(a, b):\n    return a + b", "assert add(1, 2) == 3"),
    "its own folder": ("open('own', 'w').write('x')", "assert open('own').read() == 'x'"),
    "the standard library": (
        "import asyncio, csv, dataclasses, decimal, hashlib, json, logging, re, sqlite3, ssl, tempfile, zoneinfo\n"
        "asyncio.run(asyncio.sleep(0))\n@dataclasses.dataclass\nclass P:\n    a: int = 1",
        "assert P().a == 1 and hashlib.sha256(b'x').hexdigest().startswith('2d71')",
    ),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as e: r = list(e.map(abs, [-1, 2]))",
        "assert r == [1, 2]",
    ),
    "unittest": (
        "def add(a, b): return a + b",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(add(1, 2), 3)\n"
        "        with self.assertRaises(ZeroDivisionError): 1 / 0\n"
        "suite = unittest.defaultTestLoader.loadTestsFromTestCase(T)\nassert unittest.TextTestRunner().run(suite).wasSuccessful()",
    ),
    "a future of the test": ("def f(x): return x", "from __future__ import annotations\nassert f(1) == 1"),
    "one module": ("import pickle\nclass A: pass", "import __main__\nassert isinstance(pickle.loads(pickle.dumps(A())), __main__.A)"),
    "a thread left behind": ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "assert True"),
}
WALLS = {
    "reading a file": "open({file!r})",
    "reading through the root": "open('/proc/1/root' + {file!r})",
    "listing a folder": "__import__('os').listdir({folder!r})",
    "writing a file": "open({folder!r} + '/new', 'w')",
    "changing a mode": "__import__('os').chmod({file!r}, 0o777)",
    "changing times": "__import__('os').utime({file!r})",
    "a link": "__import__('os').symlink({file!r}, 'link')",
    "a process": "__import__('os').fork()",
    "a process, past the hook": (
        "import os, _posixsubprocess as p\nr, w = os.pipe()\nfds = [-1] * 6 + [r, w]\n"
        "p.fork_exec([b'true'], [b'/bin/true'], True, (w,), None, None, *fds, True, False, 0, None, None, None, -1, None, True)"
    ),
    "a socket": "__import__('_socket').socket(1, 1, 0)",
    "ctypes": "__import__('ctypes')",
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_passes(name: str) -> None:
    """The standard library, threads and a folder of its own are there; program and test are one module."""
    assert ended(*HONEST[name]) == "passed"


@pytest.mark.parametrize("name", WALLS)
def test_every_wall_refuses(name: str, tmp_path: Path) -> None:
    """Files, processes, sockets and ctypes are refused by the system or the hook, and nothing is changed."""
    file = tmp_path / "gold.txt"
    file.write_text("secret", encoding="utf-8")
    act = WALLS[name].format(file=str(file), folder=str(tmp_path))
    program = f"try:\n    exec({act!r})\nexcept (OSError, ImportError):\n    ok = True"
    assert ended(program, "assert ok") == "passed"
    assert [path.name for path in tmp_path.iterdir()] == ["gold.txt"]
    assert file.read_text(encoding="utf-8") == "secret"


NATIVE = """
import ctypes, glob, mmap, os, sysconfig
source = glob.glob(sysconfig.get_path("platstdlib") + "/lib-dynload/*.so")[0]
with open("own.so", "wb") as file:
    file.write(open(source, "rb").read())
own, page, libc = os.open("own.so", os.O_RDONLY), mmap.mmap(-1, 4096), ctypes.CDLL(None)
def refused(act):
    try:
        act()
    except OSError:
        return True
assert refused(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC))
assert refused(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC))
assert refused(lambda: mmap.mmap(own, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
assert libc.mprotect(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page))), 4096, 5) == -1
assert refused(lambda: ctypes.CDLL(os.path.abspath("own.so")))
assert refused(lambda: os.execv("/bin/true", ["true"]))
ctypes.CDLL(source)
"""


def test_no_native_code_but_what_is_installed() -> None:
    """The system itself, no hook, refuses code in memory and in the folder that can be written; the interpreter's own modules load."""
    assert ended("", NATIVE) == "passed"


@pytest.mark.parametrize(
    ("level", "always"),
    [(0, False), (1, True), (2, False), (3, True), *(pytest.param(n, n % 2 == 0, marks=pytest.mark.slow) for n in range(4))],
)
def test_a_jail_that_the_system_kills_is_no_verdict(level: int, always: bool) -> None:
    """Each of the four processes, from the outside to the program's: a right program passes when tried again, or has no verdict."""
    killed: list[int] = []
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(run_program, "import time\ntime.sleep(1)\nx = 1", "assert x == 1", timeout_seconds=60.0, memory_mib=512)
        while not done.done():
            below = [os.getpid()]
            while len(below) < 6 and (inside := _started(below[-1])):
                below.append(inside[0])
            if len(below) == 5 and below[1] not in killed and (always or not killed):
                with suppress(ProcessLookupError):
                    os.kill(below[1 + level], signal.SIGKILL)
                    killed.append(below[1])
            time.sleep(0.01)
    assert done.result().outcome == ("unrun" if always else "passed")
    assert len(killed) == 1 + always


@pytest.mark.parametrize(
    "program",
    [
        "x = [0] * 10**9",
        "import threading, hashlib\nb = b'x' * 10**7\ndef f():\n    while 1: hashlib.sha256(b)\n"
        "for _ in range(6): threading.Thread(target=f, daemon=True).start()\nf()",
        "def f(n): return f(n + 1)\nf(0)",
        "exec('(' * 90000)",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)",
        "import os\nos.kill(os.getpid(), 9)\nos._exit(77)",
        "import os\nos._exit(77)",
        "import os\nos.closerange(0, 99)",
    ],
)
def test_what_a_program_does_to_itself_is_its_failure(program: str) -> None:
    """Memory, CPU time, depth and every way to end itself: a verdict, so that no program leaves the mean by it."""
    assert ended(program, "assert True", seconds=0.3) in ("failed", "timeout")


def test_nothing_outlives_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is killed at its limit is gone, with its threads; the folder for temporary files holds nothing new."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert ended("while True: pass", "", seconds=0.3) == "timeout"
    assert _started(os.getpid()) == []
    assert list(tmp_path.iterdir()) == []


def test_all_programs_of_an_answer_share_its_seconds() -> None:
    """A list of programs that never end costs what one may take, not each of them."""
    metric = get_metric("pass_at_k", k=1, timeout_seconds=0.2)
    with allowing_programs(False, seconds=0.4):
        found = metric.detailed_evaluate(["while True: pass"] * 40, "assert True")
    assert (found.value, found.details["c"], found.details["n"]) == (0, 0, 40)


def _started(process: int) -> list[int]:
    """The processes that a process of this test, or of a jail, started for programs."""
    found = []
    for thread in Path("/proc").glob(f"{process}/task/*"):
        with suppress(OSError):
            numbers = map(int, (thread / "children").read_text().split())
            found += [number for number in numbers if b"program_start" in Path(f"/proc/{number}/cmdline").read_bytes()]
    return found


def test_an_environment_below_the_folder_for_temporary_files(tmp_path: Path) -> None:
    """The folder that the jail mounts hides nothing of the interpreter, wherever the environment lies."""
    finished([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    needed = [str(ROOT), str(Path(msgspec.__file__).parent.parent)]
    code = f"import sys; sys.path[:0] = {needed}; from evalsuite.sandbox.program_sandbox import can_sandbox_programs as can; print(can())"
    assert finished([tmp_path / "env" / "bin" / "python", "-c", code], check=True).stdout == "True\n"
