"""The jail of programs from inside: what a program may do, what it may not, and that no trick passes a test that fails."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from evalsuite.metrics import get_metric
from evalsuite.registry import allowing_programs
from evalsuite.walls.jail import can_jail, run_program
from tests.conftest import ROOT
from tests.processes import finished

pytestmark = pytest.mark.skipif(not can_jail(), reason="this machine gives no jail: namespaces, Landlock or seccomp are missing")


def ended(program: str, test: str, *, seconds: float = 20.0) -> str:
    """How a program and its test end in the jail."""
    return run_program(program, test, timeout_seconds=seconds, memory_mib=512)


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
    "one module": ("import pickle\nclass A: pass", "import __main__\nassert isinstance(pickle.loads(pickle.dumps(A())), __main__.A)"),
    "a thread left behind": ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "assert True"),
}
# Each is answered with a test that nothing passes.
TRICKS = {
    "an early exit": "import os\nos._exit(0)",
    "a clean exit": "raise SystemExit(0)",
    "an exit at the end": "import atexit, os\natexit.register(os._exit, 0)",
    "noise in every descriptor": "import os\nfor i in range(20):\n    try: os.write(i, b'x' * 32)\n    except OSError: pass",
    "reading what comes": (
        "import os\nfor i in range(20):\n    try:\n        os.set_blocking(i, False)\n"
        "        got = os.read(i, 64)\n"
        "        for j in range(20):\n            try: os.write(j, got)\n"
        "            except OSError: pass\n    except OSError: pass\nos._exit(0)"
    ),
    "an open block": "if 0:",
    "an open line": "if 0:\\",
    "an open text": "x = '''",
    "its callers": (
        "import sys\nf = sys._getframe()\nwhile f:\n    for v in [*f.f_locals.values()]:\n"
        "        if isinstance(v, bytes): __import__('os').write(3, v)\n    f = f.f_back"
    ),
    "all objects": "import gc\nfor o in gc.get_objects():\n    if type(o) is list: o.append(None)",
    "all frames": "import sys\nfor f in sys._current_frames().values(): print(f.f_locals)",
    "a hook of its own": "import sys\nsys.addaudithook(lambda *a: None)",
    "no assertions": "import builtins\nbuiltins.AssertionError = type('A', (BaseException,), {})\nvars(builtins)['__debug__'] = False",
    "another exec": "import builtins\nbuiltins.exec = builtins.compile = lambda *a, **k: None",
    "another end for threads": "import sys, threading\nsys.unraisablehook = threading.excepthook = sys.excepthook = lambda *a: None",
    "an interruption": "import _thread\n_thread.interrupt_main()",
    "a signal": "import signal\nsignal.raise_signal(2)",
    "its own memory": "m = open('/proc/self/mem', 'rb')",
    "another program": "import os\nos.execv('/usr/bin/true', ['true'])",
    "closed descriptors": "import os\nos.closerange(0, 100)",
    "finalisers": (
        "import gc, os, sys\nclass A:\n    def __del__(self):\n        f = sys._getframe()\n        while f:\n"
        "            for v in [*f.f_locals.values()]:\n                if isinstance(v, bytes): os.write(3, v)\n            f = f.f_back\n"
        "gc.enable()\nfor i in range(20000):\n    a = A()\n    a.a = a"
    ),
    "a hook for what threads raise": "import sys\nsys.unraisablehook = lambda a: a.object.__self__.append(None)",
    "frames under a collection": (
        "import gc, sys\ndef look(*_):\n    f = sys._getframe()\n    while f:\n        s = f.f_locals.get('steps')\n"
        "        if s:\n            s.clear()\n            s.append(None)\n        f = f.f_back\n"
        "gc.callbacks.append(look)\ngc.set_threshold(1, 1, 1)\ngc.enable()"
    ),
    "what the collector keeps": (
        "import gc\ngc.unfreeze()\ngc.set_debug(gc.DEBUG_SAVEALL)\ngc.collect()\n[o.append(None) for o in gc.garbage if type(o) is list]"
    ),
    "functions behind its output": (
        "import sys\ng = sys.stdout.buffer.raw.write.__globals__\ng['_main'].__code__ = (lambda: None).__code__\ng['_take'] = bytes"
    ),
    "a trace of each line": (
        "import sys, threading\nt = lambda f, e, a: t\nthreading.settrace(t)\nsys.settrace(t)\n"
        "sys.setprofile(lambda f, *_: [v() for v in f.f_locals.values() if callable(v)])"
    ),
    "no built-in names": "(vars(__builtins__) if hasattr(__builtins__, '__dict__') else __builtins__).clear()",
    "an interruption of its own": "raise KeyboardInterrupt",
    "the end of its thread": "import _thread\n_thread.exit()",
    "an abort": "import os\nos.abort()",
    "a segmentation fault": "import faulthandler\nfaulthandler._sigsegv()",
    "a thread that floods": (
        "import os, _thread\ndef flood():\n    while True:\n        for i in range(3, 12):\n"
        "            try: os.write(i, b'!' * 33)\n            except OSError: pass\n_thread.start_new_thread(flood, ())"
    ),
    "an exit in the middle of the test": (
        "import os, sys, threading, time\nsys.setswitchinterval(1e-6)\n"
        "threading.Thread(target=lambda: (time.sleep(0.01), os._exit(0))).start()"
    ),
    "no depth": "import sys\nsys.setrecursionlimit(5)",
    "all memory": "x = [bytearray(1 << 20) for _ in range(10000)]",
    "frames of an error": (
        "try: 1 / 0\nexcept ZeroDivisionError as e:\n    f = e.__traceback__.tb_frame\n    while f:\n"
        "        [v.append(None) for v in [*f.f_locals.values(), *f.f_globals.values()] if type(v) is list]\n        f = f.f_back"
    ),
    "an importer": "import sys\nclass F:\n    def find_spec(self, *a): raise SystemExit\nsys.meta_path.insert(0, F())",
    "an alarm": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.001)",
    "other C functions": (
        "import collections, operator, os\noperator.call = lambda f: None\ncollections.deque = list\nos.write = lambda *a: 32"
    ),
    "another interpreter": "import _xxsubinterpreters as i\ni.run_string(i.create(), 'import os; os._exit(0)')",
    "an unpickled exit": "import pickle\npickle.loads(b'cos\\n_exit\\n(I0\\ntR.')",
    "another encoding": "# -*- coding: rot13 -*-\nk = 1",
    "an open bracket": "x = (",
    "an open function": "def f():",
    "an open escape": "x = 1\n\\",
    "a return": "return",
    "a NUL": "x = 1\0",
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


@pytest.mark.parametrize("name", TRICKS)
def test_no_trick_passes(name: str) -> None:
    """Whatever a program does, a test that fails is no pass."""
    assert ended(TRICKS[name], "assert False") != "passed"


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


def test_a_program_does_not_see_its_test() -> None:
    """What it is asked is in no variable that it can reach before the test runs."""
    program = "import sys\nshown = sys.stdout.buffer.raw.write.__globals__.get('_test')"
    assert ended(program, "assert shown is None") == "passed"


def test_nothing_outlives_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is killed at its limit is gone, with its threads; the folder for temporary files holds nothing new."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert ended("while True: pass", "", seconds=1.0) == "timeout"
    children = [place for place in Path("/proc").iterdir() if place.name.isdigit() and _parent(place) == os.getpid()]
    assert [place for place in children if b"_take" in _words(place)] == []
    assert list(tmp_path.iterdir()) == []


def test_all_programs_of_an_answer_share_its_seconds() -> None:
    """A list of programs that never end costs what one may take, not each of them."""
    metric = get_metric("pass_at_k", k=1, timeout_seconds=0.5)
    with allowing_programs(False, seconds=1.0):
        found = metric.detailed_evaluate(["while True: pass"] * 40, "assert True")
    assert (found.value, found.details["c"], found.details["n"]) == (0, 0, 40)


def _parent(place: Path) -> int:
    try:
        return int((place / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _words(place: Path) -> bytes:
    try:
        return (place / "cmdline").read_bytes()
    except OSError:
        return b""


def test_an_environment_below_the_folder_for_temporary_files(tmp_path: Path) -> None:
    """The folder that the jail mounts hides nothing of the interpreter, wherever the environment lies."""
    finished([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from evalsuite.walls.jail import can_jail; print(can_jail())"
    assert finished([tmp_path / "env" / "bin" / "python", "-c", code], check=True).stdout == "True\n"
