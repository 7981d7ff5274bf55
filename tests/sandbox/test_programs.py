"""The jail of programs from inside, programs and tests in two processes, whole runs of them: no pass for a trick, nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalsuite.cli import main
from evalsuite.core.plugin_calls import allowing_programs
from evalsuite.sandbox import limits
from evalsuite.sandbox.limits import descendants
from evalsuite.sandbox.program_sandbox import can_sandbox_programs, run_program
from evalsuite.scorers.metrics import get_metric
from tests.conftest import ROOT
from tests.processes import finished, started
from tests.properties import is_full
from tests.runs.made import write_sides

pytestmark = pytest.mark.skipif(
    not can_sandbox_programs(), reason="this machine gives no jail: namespaces, Landlock or seccomp are missing"
)


def ended(program: str, test: str, *, seconds: float = 30.0) -> str:
    """How a program and its test end in the jail."""
    return run_program(program, test, timeout_seconds=seconds, memory_mib=512).outcome


PASSING = {
    "a function": ("def add(a, b):\n    return a + b", "assert add(1, 2) == 3"),
    "its own folder": ("open('own', 'w').write('x')", "assert open('own').read() == 'x'"),
    "threads at once": (
        "import threading\ndef together(n):\n    barrier, met = threading.Barrier(n), []\n"
        "    def meet():\n        barrier.wait()\n        met.append(bytearray(100_000))\n"
        "    threads = [threading.Thread(target=meet) for _ in range(n)]\n"
        "    [thread.start() for thread in threads]\n    [thread.join() for thread in threads]\n    return len(met)",
        "assert together(24) == 24",
    ),
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


@pytest.mark.parametrize("name", PASSING)
def test_an_honest_program_passes(name: str) -> None:
    """The standard library, threads and a folder of its own are there; program and test are one module."""
    assert ended(*PASSING[name]) == "passed"


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
    # Long enough to be killed on a busy machine.
    program = f"import time\ntime.sleep({20 if always else 1})\nx = 1"
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(run_program, program, "assert x == 1", timeout_seconds=60.0, memory_mib=512)
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


def test_all_programs_of_an_answer_share_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of programs that never end costs what one may take, not each of them. A busy machine may take any time to give it."""
    monkeypatch.setattr(limits, "WALL_TIMES", 10_000)
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


def corpus(name: str) -> dict[str, dict[str, str]]:
    """Of a file in `programs/`, of blocks that begin with `=== name`, with parts that begin with `--- part`: the parts by name, of each
    case by its name; `␀` stands for a NUL.
    """
    text = (Path(__file__).parent / "programs" / f"{name}.txt").read_text(encoding="utf-8").replace("␀", "\0")
    found: dict[str, dict[str, str]] = {}
    for block in text.split("\n=== ")[1:]:
        title, *sections = block.split("\n--- ")
        found[title] = {section.split("\n", 1)[0]: section.split("\n", 1)[1].rstrip("\n") for section in sections}
    return found


HONEST, HOSTILE, PARTED = corpus("honest"), corpus("hostile"), corpus("parted")


def some(names: Collection[str]) -> list[Any]:
    """All names, of which the test line takes every 25th."""
    chosen = sorted(names)[::25]
    return [pytest.param(name, marks=[] if name in chosen else [pytest.mark.slow]) for name in names]


@pytest.mark.parametrize("name", some(HONEST))
def test_an_honest_test_says_what_one_interpreter_says(name: str, tmp_path: Path) -> None:
    """The right program passes and the wrong one fails, as in one interpreter that runs program and test as one file."""
    case, words = HONEST[name], [sys.executable, "-I", "-c"]
    files = [case[side] + "\n" + case["test"] for side in ("right", "wrong")]
    alone = [finished([*words, file], cwd=tmp_path, stdin=subprocess.DEVNULL).returncode == 0 for file in files]
    assert alone == [True, False]
    assert [ended(case[side], case["test"]) for side in ("right", "wrong")] == ["passed", "failed"]


@pytest.mark.parametrize("name", some(HOSTILE))
def test_no_trick_passes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that try to pass a test which they fail: no pass, and no way out of the mean. A busy machine may take any time."""
    monkeypatch.setattr(limits, "WALL_TIMES", 10_000)
    assert ended(HOSTILE[name]["program"], HOSTILE[name]["test"], seconds=5.0 if is_full() else 1.0) in ("failed", "timeout")


@pytest.mark.parametrize("name", PARTED)
def test_what_cannot_be_run_apart_is_said(name: str) -> None:
    """A test whose objects cannot leave its process gives no verdict, whether the program is right or wrong, and says why."""
    case = PARTED[name]
    metric = get_metric("python_unit_testing", timeout_seconds=20)
    with allowing_programs(False):
        found = metric.detailed_evaluate(case["program"], case["test"])
    assert found.value is None
    assert found.fault is not None
    assert found.fault.code == "NO_JAIL"
    assert case["said"] in found.reason


def rows(tmp_path: Path, programs: list[str], *options: str) -> dict[str, dict[str, Any]]:
    """Result lines by id of a run over these programs, each asked whether x is 1."""
    check = {"gold": "assert x == 1", "timeout_seconds": 30}
    write_sides(tmp_path / "sub", tmp_path / "gold", {f"p{i}": ("python_unit_testing", check, text) for i, text in enumerate(programs)})
    place = tmp_path / "run"
    assert main(["run", str(tmp_path / "sub"), "--gold", str(tmp_path / "gold"), "-q", "--no-cache", "--out", str(place), *options]) == 0
    return {row["instance_id"]: row for row in map(json.loads, (place / "results.jsonl").read_text().splitlines())}


def test_programs_are_judged_in_a_jail_without_being_asked(tmp_path: Path) -> None:
    """A right program is 1, a wrong one 0, and the trick that passed any test before is 0."""
    found = rows(tmp_path, ["x = 1", "x = 2", "import os\nos.write(3, os.read(0, 16))\nos._exit(0)", "if 0:\\"])
    assert [row["score"] for row in found.values()] == [1, 0, 0, 0]
    assert {row["status"] for row in found.values()} == {"scored"}


def test_nothing_is_left_of_a_killed_run(tmp_path: Path) -> None:
    """Programs that never end, and what started them, are gone when the run is killed in their middle; no file of theirs is left."""
    begins = "import threading, time\nopen('mine', 'w').write('x')\n"
    program = f"{begins}threading.Thread(target=time.sleep, args=(99,)).start()\ntime.sleep(99)"
    check = {"gold": "assert True", "timeout_seconds": 60}
    write_sides(tmp_path / "sub", tmp_path / "gold", {f"p{i}": ("python_unit_testing", check, program) for i in range(4)})
    place = tmp_path / "tmp"
    place.mkdir()
    sides = [str(tmp_path / "sub"), "--gold", str(tmp_path / "gold")]
    words = [sys.executable, "-m", "evalsuite", "run", *sides, "--no-save", "--no-cache", "-q", "--jobs", "2", "--limit", "seconds=60"]
    with started(words, cwd=ROOT, env={**os.environ, "TMPDIR": str(place)}) as process:
        while process.poll() is None and len(below := descendants(process.pid)[1:]) < 4:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    while any(b"State:\tZ" not in status(pid) for pid in below):
        time.sleep(0.02)
    assert list(place.iterdir()) == []


def status(pid: int) -> bytes:
    """What the system says of a process; of one that is gone, that it is dead."""
    try:
        return Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return b"State:\tZ"


def test_endless_programs_cost_the_seconds_of_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--limit seconds` bounds all programs of an answer, however long a check would let each of them run."""
    monkeypatch.setattr(limits, "WALL_TIMES", 10_000)
    found = rows(tmp_path, ["while True: pass", "x = 1"], "--limit", "seconds=0.5", "--jobs", "1")
    assert [row["score"] for row in found.values()] == [0, 1]
    assert found["p0"]["details"]["ended"] == "timeout"
