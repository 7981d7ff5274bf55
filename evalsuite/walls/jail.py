"""A jail for programs: Python that somebody handed in, run to learn one thing, whether its test came to its end.

Round the program stand, all of them or there is no jail: namespaces of its own for users, processes, network, mounts and IPC; Landlock,
which leaves it the standard library to read and one empty folder in memory to write; a seccomp filter, under which it starts no process
and opens no socket; limits on memory, CPU time and file size; a new interpreter with no site packages, no environment, no descriptor but
two pipes. It is process 1 of its namespace: when it ends, the kernel kills whatever it left.

That the test came to its end is told by a random word, as `jailed_program` has it. An exit, by whatever way, says nothing.

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
from evalsuite.walls.jailed_program import INSIDE
from evalsuite.walls.landlock import PACKAGE, landlock_version, parts_without, restrict_files
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
# Where the program's own folder is mounted: the first that hides nothing of the interpreter.
_OWN_FOLDERS: Final = ("/tmp", "/var/tmp", "/mnt")
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
    # Looked up before a mount may hide the way there: an environment often lies below a folder for temporary files.
    binary, library = str(Path(sys.executable).resolve()), _standard_library()
    own = next(
        folder for folder in _OWN_FOLDERS if not any(Path(path).is_relative_to(folder) for path in library) and Path(folder).is_dir()
    )
    _must(libc.mount(b"none", b"/", None, PRIVATE, None))
    _must(libc.mount(b"none", own.encode(), b"tmpfs", _NO_SUID | _NO_DEVICES, f"size={_OWN_FOLDER_MIB}m,nr_inodes=4096".encode()))
    os.chdir(own)
    os.closerange(3, 1 << 16)
    if not restrict_files(library, listed=[sysconfig.get_path("stdlib")], writable=[own, "/dev/null"], system=["/dev/urandom"]):
        os._exit(1)
    limits = {"AS": memory_mib << 20, "CPU": int(seconds) + 1, "FSIZE": 1 << 20, "CORE": 0, "NOFILE": 256, "NPROC": 256}
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    # No rights of a superuser, not even inside.
    if not drop_capabilities(libc) or not restrict_calls(own_files=True, may_exec=True):
        os._exit(1)
    os.execve(binary, [binary, *_BARE, "-c", INSIDE], {})


def _standard_library() -> list[str]:
    """What a bare interpreter reads: its binary, its standard library without what was installed beside it, the system's libraries."""
    library, own = Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix).resolve() / "lib"
    installed = [folder / name for folder in (library, Path("/usr/lib/python3")) for name in ("site-packages", "dist-packages")]
    hidden = [str(path.resolve()) for path in installed]
    shared = [str(path) for path in own.glob("*.so*")]
    system = [path for path in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo") if Path(path).is_dir()]
    kept = [part for path in (str(library), *system) for part in parts_without(path, hidden)]
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
