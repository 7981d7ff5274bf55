"""A jail for programs: Python that somebody handed in, run to learn one thing, whether its test came to its end.

Round the program stand, all of them or there is no jail: namespaces of its own for users, processes, network, mounts and IPC; Landlock,
which leaves it the standard library to read and one empty folder in memory to write; a seccomp filter, under which it starts no process
and opens no socket; limits on memory, CPU time and file size; a new interpreter with no site packages, no environment, no descriptor but
two pipes. It is process 1 of its namespace: when it ends, the kernel kills whatever it left.

That the test came to its end is told by a random word. Program and test run in threads that have no Python frame beneath them, and the
word stands in no variable: it waits inside C iterators of the first thread, which run no Python between the test's last line and the
word's way out. What would show it from outside (`gc.get_objects`, `sys._current_frames`, ctypes, `/proc/self/mem`, audit hooks of its own)
is refused. An exit, by whatever way, says nothing.

Not promised: an answer whose objects equal everything (`__eq__` that is always true) passes a test that compares by `==`; and byte code
made by hand, which can corrupt the interpreter that it runs in (the walls round it stand).
"""

import contextlib
import ctypes
import os
import secrets
import select
import signal
import struct
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, Literal

from evalsuite.errors import OutputError
from evalsuite.walls.landlock import PACKAGE, around, landlock_version, restrict_files
from evalsuite.walls.namespaces import IPC, MOUNTS, NETWORK, PRIVATE, PROCESSES, USERS, die_with_parent, drop_capabilities
from evalsuite.walls.scratch import ScratchFolder
from evalsuite.walls.seccomp import can_filter, restrict_calls

Ended = Literal["passed", "failed", "timeout"]
WORD_BYTES: Final = 32
CHUNK: Final = 4096
READY: Final = b"!"
# How long the walls may take to build, on a machine with much else to do.
START_SECONDS: Final = 30.0
# Lengths of program and test, MiB, seconds.
_HEADER: Final = struct.Struct("=IIId")
_NO_SUID, _NO_DEVICES = 1 << 1, 1 << 2
_OWN_FOLDER: Final = "/tmp"
_OWN_FOLDER_MIB: Final = 16
# Interpreter flags: no environment, no user folder, no site packages.
_BARE: Final = ("-I", "-S", "-X", "utf8")


def run_program(program: str, test: str, *, timeout_seconds: float, memory_mib: int, jailed: bool = True) -> Ended:
    """`passed` where program and test ran to their end without an error, `timeout` where they were killed, else `failed`.

    The test sees the program's names as if it stood behind it in one file. `jailed` False runs it behind limits and an audit hook only,
    which a program walks through.
    """
    source, behind = program.encode("utf-8", "surrogatepass"), test.encode("utf-8", "surrogatepass")
    word = secrets.token_bytes(WORD_BYTES)
    message = _HEADER.pack(len(source), len(behind), memory_mib, timeout_seconds) + source + behind + word
    command = _jail_command(memory_mib, timeout_seconds) if jailed else [sys.executable, *_BARE, "-c", INSIDE]
    with contextlib.nullcontext(os.sep) if jailed else _own_folder() as folder:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env={}, start_new_session=True
        )
        try:
            return _told(process, message, word, timeout_seconds)
        finally:
            _end(process)


@cache
def can_jail() -> bool:
    """Whether this machine lets all walls of the jail be built; tried once, with an empty program."""
    if not (can_filter() and landlock_version()):
        return False
    try:
        return run_program("", "", timeout_seconds=20.0, memory_mib=512) == "passed"
    except OSError:
        # Inside other walls no process can be started.
        return False


def _jail_command(memory_mib: int, seconds: float) -> list[str]:
    # Only this package is put on the path; it is off it again before the program's interpreter starts.
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); from evalsuite.walls.jail import build; build({memory_mib}, {seconds})"
    )
    return [sys.executable, *_BARE, "-c", code]


def build(memory_mib: int, seconds: float) -> None:
    """Entry point of the jail's first process: build the walls round a child that becomes the program's interpreter, and wait for it."""
    die_with_parent()
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    _must(libc.unshare(USERS | PROCESSES | NETWORK | MOUNTS | IPC))
    for name, text in (("setgroups", "deny"), ("uid_map", f"65534 {uid} 1"), ("gid_map", f"65534 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - one line of the kernel's
            file.write(text)
    child = os.fork()
    if child == 0:
        try:
            _become_program(libc, memory_mib, seconds)
        finally:
            os._exit(1)
    os.close(0)
    os.close(1)
    os.waitpid(child, 0)
    os._exit(0)


def _become_program(libc: ctypes.CDLL, memory_mib: int, seconds: float) -> None:
    import resource

    die_with_parent()
    _must(libc.mount(b"none", b"/", None, PRIVATE, None))
    _must(libc.mount(b"none", _OWN_FOLDER.encode(), b"tmpfs", _NO_SUID | _NO_DEVICES, f"size={_OWN_FOLDER_MIB}m,nr_inodes=4096".encode()))
    os.chdir(_OWN_FOLDER)
    os.closerange(3, 1 << 16)
    if not restrict_files(
        _standard_library(), listed=[sysconfig.get_path("stdlib")], writable=[_OWN_FOLDER, "/dev/null"], system=["/dev/urandom"]
    ):
        os._exit(1)
    limits = {"AS": memory_mib << 20, "CPU": int(seconds) + 1, "FSIZE": 1 << 20, "CORE": 0, "NOFILE": 256}
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    # No rights of a superuser, not even inside.
    if not drop_capabilities(libc) or not restrict_calls(own_files=True, may_exec=True):
        os._exit(1)
    binary = str(Path(sys.executable).resolve())
    os.execve(binary, [binary, *_BARE, "-c", INSIDE], {})


def _standard_library() -> list[str]:
    """What a bare interpreter reads: its binary, its standard library without what was installed beside it, the system's libraries."""
    library, own = Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix).resolve() / "lib"
    installed = [folder / name for folder in (library, Path("/usr/lib/python3")) for name in ("site-packages", "dist-packages")]
    hidden = [str(path.resolve()) for path in installed]
    shared = [str(path) for path in own.glob("*.so*")]
    system = [path for path in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo") if Path(path).is_dir()]
    kept = [part for path in (str(library), *system) for part in around(path, hidden)]
    return [str(Path(sys.executable).resolve()), *shared, *kept, "/etc/localtime", "/etc/ld.so.cache"]


def _must(answer: int) -> None:
    if answer != 0:
        os._exit(1)


def _told(process: subprocess.Popen[bytes], message: bytes, word: bytes, timeout_seconds: float) -> Ended:
    """Send the message and read the answer; the program's seconds begin when its interpreter says that it is ready."""
    assert process.stdin is not None
    assert process.stdout is not None
    to, back = process.stdin.fileno(), process.stdout.fileno()
    os.set_blocking(to, False)
    left, heard = memoryview(message), b""
    deadline = time.monotonic() + START_SECONDS
    while (seconds := deadline - time.monotonic()) > 0:
        readable, writable, _ = select.select([back], [to] if left else [], [], seconds)
        if readable:
            piece = os.read(back, CHUNK)
            heard += piece
            if not piece or len(heard) > len(READY) + WORD_BYTES:
                return "failed"
            if heard == READY:
                deadline = time.monotonic() + timeout_seconds
            if heard == READY + word:
                return "passed"
        if writable:
            try:
                left = left[os.write(to, left) :]
            except BrokenPipeError:
                left = left[:0]
    return "timeout"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and whatever it started, and take it off the system's list."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()


@contextmanager
def _own_folder() -> Iterator[str]:
    """An empty folder that goes afterwards; behind walls that forbid writing, the file system's root."""
    try:
        folder = ScratchFolder()
    except OutputError:
        yield os.sep
        return
    with folder as path:
        yield str(path)


# What runs inside. It has the program, its test and the limits from standard input, and never a path or a word of the suite's.
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
_program, _test, _mib, _seconds = struct.unpack("=IIId", _take(20))
_program, _test = _take(_program), _take(_test)
_back = os.dup(1)
_null = os.open(os.devnull, os.O_RDWR)
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
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError):
            pass
def _build_wall():
    roots = tuple(os.path.realpath(p) + os.sep for p in {os.path.dirname(os.__file__), *sys.path} if p)
    own = os.path.realpath(os.getcwd())
    own = own + os.sep if own != os.sep else None
    refused = tuple(
        """socket.connect socket.bind socket.send socket.get subprocess. os.system os.exec os.fork os.posix_spawn os.spawn os.kill
        pty. ctypes. os.chmod os.chown os.link os.symlink os.truncate os.setxattr os.putenv os.utime shutil. ftplib. smtplib.
        urllib. http. sqlite3. winreg. os.startfile resource. gc.get_ sys._current_frames sys._current_exceptions sys.addaudithook
        cpython. mmap. syslog. signal.pthread_kill""".split()
    )
    unseen = ("_ctypes", "_testcapi", "_testinternalcapi", "_xxsubinterpreters", "_interpreters")
    changing = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.listdir", "os.scandir", "os.chdir")
    realpath, fspath, join = os.path.realpath, os.fspath, os.path.join
    def inside(path, roots):
        path = realpath(fspath(path))
        path = path.decode("utf-8", "replace") if isinstance(path, bytes) else path
        return any((path + os.sep).startswith(root) for root in roots)
    def wall(event, arguments):
        if event.startswith(refused) or (event == "import" and arguments[0] in unseen):
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
def _steps(_thread, partial, deque, weakref, space, codes):
    steps, watched = deque(), []
    for code in codes:
        # One C call runs the code: no Python frame lies beneath it. What it adds to is reached from nowhere, also not from the thread's
        # function, which `sys.unraisablehook` is handed; only an end without an error adds to it. The lock opens when the thread is gone,
        # whichever way it went.
        ended, gone, once = [], _thread.allocate_lock(), deque([code])
        gone.acquire()
        watched.append(weakref.ref(once, lambda _, opened=gone.release: opened()))
        steps += [
            partial(_thread.start_new_thread, deque, (map(ended.append, map(exec, once, [space.__dict__])), 0)),
            gone.acquire,
            ended.pop,
        ]
    # What a step holds goes when it is done, so that a thread's own things die with it.
    steps.append(None)
    return iter(steps.popleft, None), watched
def _main():
    global _program, _test
    import _thread, gc, types, weakref
    from collections import deque
    from functools import partial
    from itertools import chain
    from operator import call
    space = types.ModuleType("__main__")
    space.__builtins__ = __builtins__
    try:
        codes = [compile(text, "<program>", "exec", dont_inherit=True) for text in (_program, _test)]
    except BaseException:
        os._exit(1)
    del _program, _test
    # What sees or runs inside other threads; later Pythons have more of them.
    for name in ("_settraceallthreads", "_setprofileallthreads", "monitoring"):
        if hasattr(sys, name):
            delattr(sys, name)
    _limit()
    os.dup2(_null, 2)
    os.dup2(_null, 1)
    sys.modules["__main__"] = space
    write, leave = partial(os.write, _back), partial(os._exit, 0)
    parts = [*_steps(_thread, partial, deque, weakref, space, codes)]
    _build_wall()
    del codes
    gc.collect()
    gc.freeze()
    os.write(_back, b"!")
    try:
        # The word goes from pipe to pipe inside this one expression. Steps and word are in no variable of this frame, which a collection
        # of garbage in this thread could show.
        deque(map(call, chain(parts.pop(0), [partial(write, _take(32)), leave], parts.pop())), maxlen=0)
    finally:
        os._exit(1)
_main()
'''
