"""Run untrusted Python in a fresh interpreter and learn one thing: whether it came to its end.

The walls: an interpreter without site packages, environment or user files (`-I -S`); its own process group, killed at the time limit;
limits on memory, CPU time, file size and core dumps; a network namespace of its own where the kernel allows; an audit hook that refuses
sockets, processes, ctypes, and files outside the standard library and its own empty folder. The end is told by a random word that the
runner gets only after the program's last line, so that `sys.exit(0)` and `os._exit(0)` fail.

Not promised, and so nothing runs unless it was permitted: the audit hook sees Python and not the system. `_posixsubprocess.fork_exec`
walks around it and does whatever the user can, and because program and tests share one interpreter, a program written against this
runner passes any test, by an `__eq__` that is always true or by answering for it.
"""

import os
import secrets
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal

from evalsuite.errors import FaultError
from evalsuite.registry import PROGRAMS_ALLOWED

if TYPE_CHECKING:
    from collections.abc import Iterator

Ended = Literal["passed", "failed", "timeout"]
WORD_BYTES: Final = 16
CHUNK: Final = 4096
_HEADER: Final = struct.Struct("=IId")


def run_program(program: str, *, timeout_seconds: float, memory_mib: int) -> Ended:
    """`passed` where the program ran to its end without an error, `timeout` where it was killed, else `failed`.

    Raises `FaultError` (NO_JAIL) outside `allowing_programs(True)`.
    """
    if not PROGRAMS_ALLOWED.get():
        raise FaultError("NO_JAIL")
    source = program.encode("utf-8", "surrogatepass")
    word = secrets.token_bytes(WORD_BYTES)
    message = _HEADER.pack(len(source), memory_mib, timeout_seconds) + source + word
    with _own_folder() as folder:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", INSIDE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={},
            start_new_session=True,
        )
        try:
            return _told(process, message, word, time.monotonic() + timeout_seconds)
        finally:
            _end(process)


def _told(process: subprocess.Popen[bytes], message: bytes, word: bytes, deadline: float) -> Ended:
    """Send the message and read the answer, both without waiting longer than the deadline."""
    assert process.stdin is not None
    assert process.stdout is not None
    to, back = process.stdin.fileno(), process.stdout.fileno()
    os.set_blocking(to, False)
    left, heard = memoryview(message), b""
    while (seconds := deadline - time.monotonic()) > 0:
        readable, writable, _ = select.select([back], [to] if left else [], [], seconds)
        if readable:
            piece = os.read(back, CHUNK)
            heard += piece
            if not piece or len(heard) > WORD_BYTES:
                return "failed"
            if heard == word:
                return "passed"
        if writable:
            try:
                left = left[os.write(to, left) :]
            except BrokenPipeError:
                left = left[:0]
    return "timeout"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and whatever it started, and take it off the system's list."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    process.wait()


@contextmanager
def _own_folder() -> "Iterator[str]":
    """An empty folder that goes afterwards; behind walls that forbid writing, the file system's root."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="evalsuite-", ignore_cleanup_errors=True)
    except OSError:
        yield os.sep
        return
    with folder as path:
        yield path


# What runs inside. It has the program's bytes and its limits from standard input, and never a path or a word of the suite's.
INSIDE: Final = r'''
import io, os, struct, sys
def _take(n):
    got = b""
    while len(got) < n:
        piece = os.read(0, min(n - len(got), 1 << 16))
        if not piece:
            os._exit(1)
        got += piece
    return got
_size, _mib, _seconds = struct.unpack("=IId", _take(16))
_source = _take(_size)
_back = os.dup(1)
try:
    _null = os.open(os.devnull, os.O_RDWR)
except OSError:
    _null = os.open(os.devnull, os.O_RDONLY)
os.dup2(_null, 1)
os.dup2(_null, 2)
class _Nowhere(io.RawIOBase):
    def writable(self):
        return True
    def write(self, data):
        return len(data)
sys.stdin = io.StringIO()
sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Nowhere()), encoding="utf-8", errors="replace")
sys.stderr = io.TextIOWrapper(io.BufferedWriter(_Nowhere()), encoding="utf-8", errors="replace")
def _limit():
    try:
        import resource
    except ImportError:
        return
    cpu = int(_seconds) + 1
    wanted = {"RLIMIT_AS": _mib << 20, "RLIMIT_CPU": cpu, "RLIMIT_FSIZE": 1 << 20, "RLIMIT_CORE": 0}
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None or (name == "RLIMIT_AS" and sys.platform == "darwin"):
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
def _leave_network():
    if sys.platform.startswith("linux"):
        import ctypes
        ctypes.CDLL(None).unshare(0x10000000 | 0x40000000)
def _build_wall():
    roots = tuple(os.path.realpath(p) + os.sep for p in {os.path.dirname(os.__file__), *sys.path} if p)
    own = os.path.realpath(os.getcwd())
    own = own + os.sep if own != os.sep else None
    refused = tuple(
        """socket.connect socket.bind socket.send socket.get subprocess. os.system os.exec os.fork os.posix_spawn os.spawn os.kill
        pty. ctypes. os.chmod os.chown os.link os.symlink os.truncate os.setxattr os.putenv os.utime shutil. ftplib. smtplib.
        urllib. http. sqlite3. winreg. os.startfile resource. gc.get_ sys._current_frames mmap. syslog. signal.pthread_kill""".split()
    )
    changing = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.listdir", "os.scandir", "os.chdir")
    realpath, fspath, join = os.path.realpath, os.fspath, os.path.join
    def inside(path, roots):
        path = realpath(fspath(path))
        path = path.decode("utf-8", "replace") if isinstance(path, bytes) else path
        return any((path + os.sep).startswith(root) for root in roots)
    def wall(event, arguments):
        if event.startswith(refused):
            raise PermissionError("not allowed here: " + event)
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int):
                return
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            if not (own and inside(path, (own,))) and (writes or not inside(path, roots)):
                raise PermissionError("not allowed here: open")
        elif event in changing:
            for path in arguments[:2]:
                if isinstance(path, (str, bytes, os.PathLike)) and not inside(path, (own,) if own else ()):
                    if not (event in ("os.listdir", "os.scandir") and inside(path, roots)):
                        raise PermissionError("not allowed here: " + event)
    sys.addaudithook(wall)
_leave_network()
_limit()
_build_wall()
try:
    exec(compile(_source, "<program>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
except BaseException:
    os._exit(1)
os.write(_back, _take(16))
os._exit(0)
'''
