"""First process of a program and its test: build the sandbox and split into the two sides of a channel.

The test's process is process 1 of a process namespace, the program's process 1 of one below it: when the test's process ends, the kernel
kills the program's. The program's process is forked before the test's process has read any input.
"""

import os
import socket
import struct
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from evalsuite.core.files import is_dir
from evalsuite.sandbox.linux_layers import (
    IPC,
    MOUNTS,
    NETWORK,
    PRIVATE,
    PROCESSES,
    USERS,
    die_with_parent,
    drop_capabilities,
    libc,
    parts_without,
    restrict_calls,
    restrict_files,
    was_killed,
)
from evalsuite.sandbox.program_channel import Channel
from evalsuite.sandbox.program_runner import clear_traces, prepare
from evalsuite.sandbox.program_test import run_test

# Lengths of program and test.
HEADER: Final = struct.Struct("=II")
READY: Final = b"!"
# Verdict and exit code if the system killed a process of the sandbox.
KILLED, EXIT_KILLED = b"killed", 77
# SIGKILL within this many seconds of the CPU limit counts as the CPU limit.
_CPU_MARGIN_SECONDS: Final = 0.5
_NO_SUID, _NO_DEVICES, _NO_PROGRAMS = 1 << 1, 1 << 2, 1 << 3
# Mount point of the folder that both sides can write: the first that hides no part of the interpreter.
_OWN_FOLDERS: Final = ("/tmp", "/var/tmp", "/mnt")
_OWN_FOLDER_MIB: Final = 16
# Extra memory of the test's process, which has the values of both sides.
_TEST_MIB: Final = 256


class Limits:
    """Limits of each of the two processes, and the folders of installed packages that both may read."""

    def __init__(self, memory_mib: int, seconds: float, installed: Sequence[str]) -> None:
        self.memory_mib, self.seconds, self.installed = memory_mib, seconds, list(installed)
        self.cpu_seconds = int(seconds) + 1

    def set(self, more_mib: int = 0) -> None:
        """Set the limits on this process; memory that its start used is added."""
        try:
            import resource
        except ImportError:
            return
        most = (self.memory_mib + more_mib << 20) + _address_space()
        for name, value in {"AS": most, "CPU": self.cpu_seconds, "FSIZE": 1 << 20, "CORE": 0, "NOFILE": 256, "NPROC": 256}.items():
            kind = getattr(resource, f"RLIMIT_{name}", None)
            if kind is None or (name in ("AS", "NPROC") and sys.platform == "darwin"):
                continue
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))


def begin(memory_mib: int, seconds: float, installed: Sequence[str], *, sandboxed: bool) -> NoReturn:
    """Entry point: run the program and the test from standard input, and write the verdict to standard output."""
    # Both sides need it, and one of them cannot read its files later.
    from msgspec import msgpack  # noqa: F401

    limits = Limits(memory_mib, seconds, installed)
    if not sandboxed:
        _divide(limits, None)
    die_with_parent()
    uid, gid = os.getuid(), os.getgid()
    _must(libc().unshare(USERS | PROCESSES | NETWORK | MOUNTS | IPC))
    for name, text in (("setgroups", "deny"), ("uid_map", f"65534 {uid} 1"), ("gid_map", f"65534 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - one line of the kernel's
            file.write(text)
    os._exit(EXIT_KILLED if _in_child(limits, lambda: _divide(limits, _Sandbox(limits))) else 0)


def _in_child(limits: Limits, run: Callable[[], Any]) -> bool:
    """Run a function in a child process and wait for it. Return whether the system killed it."""
    child = os.fork()
    if child == 0:
        try:
            die_with_parent()
            run()
        finally:
            os._exit(1)
    for descriptor in (0, 1):
        os.close(descriptor)
    os.closerange(3, 1 << 16)
    return _was_killed(child, limits)


def _was_killed(child: int, limits: Limits, *, by_code: bool = False) -> bool:
    """Wait for a child and return whether the system killed it, other than for its CPU time.

    With `by_code`, the child's exit code may say so too. Each side of a sandbox is process 1 of its namespace, so no signal from inside
    kills it.
    """
    _, status, used = os.wait4(child, 0)
    if os.WIFEXITED(status):
        return by_code and os.WEXITSTATUS(status) == EXIT_KILLED
    is_late = used.ru_utime + used.ru_stime > limits.cpu_seconds - _CPU_MARGIN_SECONDS
    return was_killed(-os.WTERMSIG(status)) and not is_late


class _Sandbox:
    """Sandbox of both sides: a no-exec folder in memory, and the rights that each side gives up."""

    def __init__(self, limits: Limits) -> None:
        self._library = [*_standard_library(), *limits.installed]
        self.own = next(
            folder
            for folder in _OWN_FOLDERS
            if not any(Path(path).is_relative_to(folder) for path in self._library) and is_dir(Path(folder))
        )
        _must(libc().mount(b"none", b"/", None, PRIVATE, None))
        flags, room = _NO_SUID | _NO_DEVICES | _NO_PROGRAMS, f"size={_OWN_FOLDER_MIB}m,nr_inodes=4096"
        _must(libc().mount(b"none", self.own.encode(), b"tmpfs", flags, room.encode()))
        os.chdir(self.own)

    def divide_processes(self) -> None:
        """Give the children of this process a process namespace."""
        _must(libc().unshare(PROCESSES))

    def enter(self) -> None:
        """Enter the sandbox, for good."""
        readable = restrict_files(
            self._library, listed=[sysconfig.get_path("stdlib")], writable=[self.own, "/dev/null"], system=["/dev/urandom"]
        )
        # No superuser rights, not even inside; no memory that is both writable and executable.
        if not (readable and drop_capabilities() and restrict_calls(own_files=True, native=False)):
            os._exit(1)


def _divide(limits: Limits, sandbox: _Sandbox | None) -> NoReturn:
    """Become the test's process, with the program's process below it."""
    read: Callable[[int], bytes]
    write: Callable[[Any], int]
    program = -1
    try:
        if hasattr(os, "fork"):
            test_end, program_end = socket.socketpair()
            program = _fork_program(limits, sandbox, program_end, test_end)
            read, write = test_end.recv, test_end.send
        else:
            read, write = _spawn_program(limits)
        _run_test_process(limits, sandbox, read, write, program)
    finally:
        os._exit(1)


def _fork_program(limits: Limits, sandbox: _Sandbox | None, program_end: socket.socket, test_end: socket.socket) -> int:
    """Fork the program's process, or the process that waits for it, and return its id."""
    if child := os.fork():
        program_end.close()
        return child
    try:
        die_with_parent()
        test_end.close()
        if sandbox is None:
            run_program_process(limits, None, program_end.recv, program_end.send)
        sandbox.divide_processes()
        if _in_child(limits, lambda: run_program_process(limits, sandbox, program_end.recv, program_end.send)):
            os._exit(EXIT_KILLED)
    finally:
        os._exit(1)


def _spawn_program(limits: Limits) -> tuple[Callable[[int], bytes], Callable[[Any], int]]:
    """Start the program's process on a system without fork. A timer ends both processes, since nothing else would."""
    import subprocess

    words = f"{limits.memory_mib}, {limits.seconds}, {limits.installed}"
    code = (
        f"import sys; sys.path[:0] = {sys.path}; from evalsuite.sandbox.program_start import Limits, run_program_process; import os; "
        f"to, back = os.dup(1), os.dup(0); "
        f"run_program_process(Limits({words}), None, lambda n: os.read(back, n), lambda data: os.write(to, data))"
    )
    program = subprocess.Popen([sys.executable, "-I", "-S", "-X", "utf8", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdin is not None
    assert program.stdout is not None

    def stop() -> None:
        program.kill()
        os._exit(1)

    clock = threading.Timer(limits.seconds, stop)
    clock.daemon = True
    clock.start()
    to, back = program.stdin.fileno(), program.stdout.fileno()
    return lambda size: os.read(back, size), lambda data: os.write(to, data)


def run_program_process(limits: Limits, sandbox: _Sandbox | None, read: Callable[[int], bytes], write: Callable[[Any], int]) -> NoReturn:
    """Become the program's process; the channel is its only way out."""
    try:
        _leave_standard_streams()
        channel = Channel(read, write, prepare())
        limits.set()
        _see_installed(limits)
        if sandbox is not None:
            sandbox.enter()
        clear_traces(sandboxed=sandbox is not None)
        channel.serve()
    finally:
        os._exit(1)


def _run_test_process(
    limits: Limits, sandbox: _Sandbox | None, read: Callable[[int], bytes], write: Callable[[Any], int], program: int
) -> NoReturn:
    source, verdict_end = os.dup(0), os.dup(1)
    _leave_standard_streams()
    prepare()
    limits.set(_TEST_MIB)
    _see_installed(limits)
    if sandbox is not None:
        sandbox.enter()
        read, write = (_watch_channel(use, program, limits, verdict_end) for use in (read, write))
    os.write(verdict_end, READY)
    sizes = HEADER.unpack(_take(source, HEADER.size))
    source_code, test = (_take(source, size).decode("utf-8", "surrogatepass") for size in sizes)
    run_test(read, write, lambda verdict: os.write(verdict_end, verdict[:4000] + b"\n"), source_code, test)
    os._exit(0)


def _watch_channel(use: Callable[[Any], Any], program: int, limits: Limits, verdict_end: int) -> Callable[[Any], Any]:
    """Wrap one direction of the channel: if it ends because the system killed the program's process, that is the verdict."""

    def end() -> None:
        with suppress(ChildProcessError):
            if _was_killed(program, limits, by_code=True):
                os.write(verdict_end, KILLED + b"\n")
                os._exit(0)

    def watch(what: Any) -> Any:
        try:
            done = use(what)
        except (BrokenPipeError, ConnectionResetError):
            end()
            raise
        if not done:
            end()
        return done

    return watch


def _leave_standard_streams() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)


def _see_installed(limits: Limits) -> None:
    base_paths = [path for path in sys.path if path.startswith(sys.base_prefix)]
    sys.path[:] = [*base_paths, *limits.installed]


def _take(source: int, size: int) -> bytes:
    got = b""
    while len(got) < size:
        piece = os.read(source, min(size - len(got), 1 << 16))
        if not piece:
            os._exit(1)
        got += piece
    return got


def _address_space() -> int:
    """Return the bytes that RLIMIT_AS counts for this process, 0 if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def _standard_library() -> list[str]:
    """Return the paths that a bare interpreter reads: its standard library without installed packages, and the system's libraries."""
    library, lib_folder = Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix).resolve() / "lib"
    installed = [folder / name for folder in (library, Path("/usr/lib/python3")) for name in ("site-packages", "dist-packages")]
    hidden = [str(path.resolve()) for path in installed]
    shared = [str(path) for path in lib_folder.glob("*.so*")]
    system = [path for path in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo") if is_dir(Path(path))]
    visible_parts = [part for path in (str(library), *system) for part in parts_without(os.path.realpath(path), hidden)]
    return [*shared, *visible_parts, "/etc/localtime", "/etc/ld.so.cache"]


def _must(answer: int) -> None:
    if answer != 0:
        os._exit(1)
