"""Linux isolation for processes that handle untrusted input: namespaces, Landlock and seccomp.

Namespaces: no network, no IPC shared with other processes. All file systems are read-only inside, and the process keeps no superuser right
except, if it had it, the right to read all files.

Landlock, through its three system calls: the process may read only the paths that it needs and those of the interpreter and libraries.

Seccomp, a filter written through ctypes: every system call that is not listed fails with EPERM. That covers new sockets of every kind, new
processes, changes of owner, mode, times and attributes, signals and limits of other processes, mounts, namespaces, tracing, keys and
io_uring. Listed calls read, compute, wait, and write to open descriptors; Landlock decides which files may be opened.

The numbers are the kernel's own and never change (`linux/sched.h`, `linux/mount.h`, `linux/capability.h`, `asm/unistd_64.h`,
`asm-generic/unistd.h`).
"""

import ctypes
import errno
import os
import signal
import socket
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

import evalsuite
from evalsuite.core.files import is_symlink

# The same numbers on every architecture since Linux 5.13.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_NO_NEW_PRIVS = 38
_RULE_PATH_BENEATH = 1
_READ_FILE, _READ_DIR, _EXECUTE = 1 << 2, 1 << 3, 1 << 0
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_OF_FILES = _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE
# ABI version -> every file-system right of that version; the worker gives up all but reading.
_ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NEWEST_RIGHTS = (1 << 16) - 1
# TCP bind and connect (version 4); abstract sockets and signals to processes outside (version 6).
_NET_RIGHTS, _SCOPES = 0b11, 0b11
_O_PATH = 0o10000000
PACKAGE = Path(evalsuite.__file__).resolve().parent
# No such path, or none for this user.
_NOTHING_TO_READ = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL)
# Paths that duckdb reads; without the first two it aborts.
SYSTEM = ("/proc/self", "/sys/fs/cgroup", "/dev/null", "/dev/urandom")


@cache
def libc() -> ctypes.CDLL:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


@cache
def landlock_version() -> int:
    """Return the kernel's Landlock ABI version, 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return max(0, _syscall(_CREATE_RULESET, None, 0, 1))
    except OSError:
        return 0


def restrict_files(
    readable: Iterable[str], *, listed: Iterable[str] = (), writable: Iterable[str] = (), system: Iterable[str] = SYSTEM
) -> bool:
    """Restrict this process and its children to these paths, without TCP. Return False if the kernel has no Landlock.

    Files below `readable` may be read, below `writable` also written; below `listed` only names are visible. `system` are system files that
    may be read in addition.
    """
    version = landlock_version()
    if not version:
        return False
    rights = _ALL_RIGHTS.get(version, _NEWEST_RIGHTS)
    words = [rights, *([_NET_RIGHTS] if version >= 4 else []), *([_SCOPES] if version >= 6 else [])]
    attributes = struct.pack(f"{len(words)}Q", *words)
    ruleset = _syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if "/proc/self" in system:
        # Stays open: a system short of memory forgets unused entries of /proc and makes others, which the rule does not allow.
        with suppress(OSError):
            os.open("/proc/self", _O_PATH | os.O_CLOEXEC)
    try:
        for path in [*readable, *system]:
            _allow(ruleset, path, _READ_FILE | _EXECUTE | _READ_DIR)
        for path in listed:
            _allow(ruleset, path, _READ_DIR)
        for path in writable:
            _allow(ruleset, path, rights)
        libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def parts_without(path: str, hidden: Iterable[str]) -> list[str]:
    """Return a resolved `path`, or if it contains a `hidden` path, the parts of it without hidden paths.

    Landlock rules only allow, for everything below a path. `hidden` are resolved paths. A path below a hidden one is kept, because it was
    named explicitly.
    """
    inside = [other for other in hidden if f"{other}/".startswith(f"{path.rstrip('/')}/")]
    if not inside:
        return [path]
    if path in inside:
        return []
    try:
        # A link would allow its target, wherever that is.
        children = [child.path for child in os.scandir(path) if not is_symlink(child)]
    except OSError as error:
        if error.errno in _NOTHING_TO_READ:
            return []
        raise
    return [part for child in sorted(children) for part in parts_without(child, inside)]


def library_paths() -> tuple[str, ...]:
    """Return the resolved paths that an interpreter needs to import its packages after entering the sandbox.

    The current folder and a source folder around this package can contain anything, including gold: only the package itself is listed.
    """
    return _library_paths(os.getcwd(), tuple(sys.path))  # noqa: PTH109 - no Path is needed


@cache
def _library_paths(folder: str, path: Sequence[str]) -> tuple[str, ...]:
    sources = PACKAGE.parent
    broad = {os.path.realpath(folder), *([] if sources.name in ("site-packages", "dist-packages") else [str(sources)])}
    imported = {os.path.realpath(entry) for entry in path if entry} - broad
    system = ("/usr", "/lib", "/lib64", "/etc/localtime", "/etc/ld.so.cache")
    interpreter_paths = map(os.path.realpath, (sys.prefix, sys.base_prefix, sys.exec_prefix, str(PACKAGE), *system))
    return tuple(sorted({*interpreter_paths, *imported}))


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _NOTHING_TO_READ:
            return
        # What this machine fails to open would look like an answer without permission.
        raise
    try:
        # The kernel refuses folder-only rights for a file.
        rights &= ~0 if stat.S_ISDIR(os.fstat(descriptor).st_mode) else _OF_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        _syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    call = libc().syscall
    call.restype = ctypes.c_long
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    answer = int(call(ctypes.c_long(number), *converted))
    if answer < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return answer


# name, its number on x86_64 and on aarch64 (`-`: it has none there).
_QUIET: Final = """
    read 0 63 · write 1 64 · readv 19 65 · writev 20 66 · pread64 17 67 · pwrite64 18 68 · preadv 295 69 · pwritev 296 70 · open 2 -
    openat 257 56 · close 3 57 · close_range 436 436 · stat 4 - · fstat 5 80 · lstat 6 - · newfstatat 262 79 · statx 332 291
    lseek 8 62 · mmap 9 222 · mprotect 10 226 · munmap 11 215 · mremap 25 216 · madvise 28 233 · brk 12 214 · msync 26 227
    mincore 27 232 · rt_sigaction 13 134 · rt_sigprocmask 14 135 · rt_sigreturn 15 139 · sigaltstack 131 132 · rt_sigtimedwait 128 137
    rt_sigpending 127 136 · rt_sigsuspend 130 133 · access 21 - · faccessat 269 48 · faccessat2 439 439 · pipe 22 - · pipe2 293 59
    select 23 - · pselect6 270 72 · poll 7 - · ppoll 271 73 · epoll_create 213 - · epoll_create1 291 20 · epoll_ctl 233 21
    epoll_wait 232 - · epoll_pwait 281 22 · eventfd 284 - · eventfd2 290 19 · timerfd_create 283 85 · timerfd_settime 286 86
    timerfd_gettime 287 87 · sched_yield 24 124 · sched_getaffinity 204 123 · sched_getparam 143 121 · sched_getscheduler 145 120
    sched_get_priority_max 146 125 · sched_get_priority_min 147 126 · dup 32 23 · dup2 33 - · dup3 292 24 · nanosleep 35 101
    clock_nanosleep 230 115 · clock_gettime 228 113 · clock_getres 229 114 · gettimeofday 96 169 · time 201 - · times 100 153
    getitimer 36 102 · setitimer 38 103 · alarm 37 - · pause 34 - · getpid 39 172 · getppid 110 173 · gettid 186 178 · getuid 102 174
    geteuid 107 175 · getgid 104 176 · getegid 108 177 · getgroups 115 158 · getresuid 118 148 · getresgid 120 150 · getpgrp 111 -
    getpgid 121 155 · getsid 124 156 · uname 63 160 · sysinfo 99 179 · getcwd 79 17 · chdir 80 49 · fchdir 81 50 · readlink 89 -
    readlinkat 267 78 · getdents 78 - · getdents64 217 61 · fcntl 72 25 · flock 73 32 · fsync 74 82 · fdatasync 75 83 · ftruncate 77 46
    statfs 137 43 · fstatfs 138 44 · getrusage 98 165 · getrlimit 97 163 · arch_prctl 158 - · set_tid_address 218 96
    set_robust_list 273 99 · get_robust_list 274 100 · futex 202 98 · futex_waitv 449 449 · membarrier 324 283 · rseq 334 293
    getrandom 318 278 · exit 60 93 · exit_group 231 94 · restart_syscall 219 128 · wait4 61 260 · waitid 247 95 · getcpu 309 168
    recvfrom 45 207 · recvmsg 47 212 · sendto 44 206 · sendmsg 46 211 · shutdown 48 210 · getsockopt 55 209 · setsockopt 54 208
    getsockname 51 204 · getpeername 52 205 · umask 95 166
"""
# In a program sandbox with its own folder: create and remove entries.
_OWN_FILES: Final = """
    mkdir 83 - · mkdirat 258 34 · rmdir 84 - · unlink 87 - · unlinkat 263 35 · rename 82 - · renameat 264 38 · renameat2 316 276
    truncate 76 45
"""
# Allowed for some arguments only.
_SOME: Final = """
    clone 56 220 · clone3 435 435 · ioctl 16 29 · prctl 157 167 · prlimit64 302 261 · socketpair 53 199 · tgkill 234 131
"""
_MACHINES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_NO_NEW_PRIVILEGES, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_CLONE_THREAD, _AF_UNIX = 0x00010000, 1
# Used when opening a file: terminal check, readable bytes, blocking mode, close-on-exec.
_IOCTLS: Final = (0x5401, 0x541B, 0x5421, 0x5450, 0x5451)
# Names of threads.
_PRCTLS: Final = (15, 16)
_NUMBER, _MACHINE = 0, 4
_PROT_EXEC, _MAP_ANONYMOUS = 4, 0x20


def can_filter() -> bool:
    """Return whether the system calls of this machine are known here. The kernel itself is tried when a filter is built."""
    return sys.platform.startswith("linux") and os.uname().machine in _MACHINES and struct.calcsize("P") == 8


def restrict_calls(*, own_files: bool = False, native: bool = True) -> bool:
    """Restrict this process and its children to the listed system calls, for good. Return False if the kernel or machine has no filter.

    With `own_files`, creating, renaming and removing files is allowed where Landlock allows it. Without `native`, only memory mapped from
    files is executable.
    """
    if not can_filter():
        return False
    # Signals to this process only. The filter compares the process id, which a child could not share, and no child can be created.
    own_signals = _call_rule(_numbers(_SOME)["tgkill"], [*_jump_if_equal(0, [os.getpid()]), _refuse()])
    code = b"".join([common_rules(own_files=own_files, native=native), *own_signals, _refuse()])
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return bool(libc().prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0) == 0)


@cache
def _numbers(table: str) -> dict[str, int]:
    at = _MACHINES[os.uname().machine][1]
    rows = (row.split() for line in table.strip().splitlines() for row in line.split("·"))
    return {name: int(numbers[at]) for name, *numbers in rows if numbers[at] != "-"}


@cache
def common_rules(*, own_files: bool = False, native: bool = True) -> bytes:
    """Return the part of the filter that is the same in all processes, in classic BPF, 8 bytes per instruction."""
    return b"".join(_common_rules(own_files=own_files, native=native))


def _common_rules(*, own_files: bool, native: bool) -> Iterator[bytes]:
    yield _instruction(_LOAD, _MACHINE)
    yield _instruction(_EQUAL, _MACHINES[os.uname().machine][0], yes=1)
    yield _instruction(_RETURN, _KILL)
    yield _instruction(_LOAD, _NUMBER)
    some = _numbers(_SOME)
    # glibc tries clone3 first and falls back to clone; a filter cannot see the arguments of clone3.
    yield from _call_rule(some["clone3"], [_instruction(_RETURN, _ERROR | _ENOSYS)])
    # Threads, but no processes.
    yield from _call_rule(some["clone"], [*_if_bits(0, _CLONE_THREAD), _refuse()])
    yield from _call_rule(some["ioctl"], [*_jump_if_equal(1, _IOCTLS), _refuse()])
    yield from _call_rule(some["prctl"], [*_jump_if_equal(0, _PRCTLS), _refuse()])
    yield from _call_rule(some["socketpair"], [*_jump_if_equal(0, [_AF_UNIX]), _refuse()])
    # Read its own limits, set none.
    asks = [*_unless_zero(0), *_unless_zero(2), _instruction(_RETURN, _ALLOW), _refuse()]
    yield from _call_rule(some["prlimit64"], asks)
    allowed = [*_numbers(_QUIET).values(), *(_numbers(_OWN_FILES).values() if own_files else ())]
    if not native:
        quiet = _numbers(_QUIET)
        # Executable memory must come from files, which are in read-only places, and keeps its protection.
        yield from _call_rule(quiet["mmap"], [*_unless_both(2, _PROT_EXEC, 3, _MAP_ANONYMOUS), _instruction(_RETURN, _ALLOW)])
        yield from _call_rule(quiet["mprotect"], [*_unless_bits(2, _PROT_EXEC), _instruction(_RETURN, _ALLOW)])
    for number in allowed:
        yield _instruction(_EQUAL, number, no=1)
        yield _instruction(_RETURN, _ALLOW)


def _instruction(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse() -> bytes:
    return _instruction(_RETURN, _ERROR | _EPERM)


def _call_rule(number: int, then: list[bytes]) -> Iterator[bytes]:
    """Yield the instructions for one call number; each path through `then` ends in a verdict."""
    yield _instruction(_EQUAL, number, no=len(then))
    yield from then


def _argument(at: int) -> int:
    """Return the offset of the low half of an argument (little-endian)."""
    return 16 + 8 * at


def _jump_if_equal(at: int, values: Iterable[int]) -> Iterator[bytes]:
    yield _instruction(_LOAD, _argument(at))
    for value in values:
        yield _instruction(_EQUAL, value, no=1)
        yield _instruction(_RETURN, _ALLOW)


def _if_bits(at: int, bits: int) -> Iterator[bytes]:
    yield _instruction(_LOAD, _argument(at))
    yield _instruction(_ANY_BIT, bits, no=1)
    yield _instruction(_RETURN, _ALLOW)


def _unless_zero(at: int) -> Iterator[bytes]:
    """Refuse if an argument is not 0 (both halves)."""
    for half in (0, 4):
        yield _instruction(_LOAD, _argument(at) + half)
        yield _instruction(_EQUAL, 0, yes=1)
        yield _refuse()


def _unless_bits(at: int, bits: int) -> Iterator[bytes]:
    """Refuse if an argument has any of these bits."""
    yield _instruction(_LOAD, _argument(at))
    yield _instruction(_ANY_BIT, bits, no=1)
    yield _refuse()


def _unless_both(at: int, bits: int, other: int, others: int) -> Iterator[bytes]:
    """Refuse if both arguments have any of their bits."""
    yield _instruction(_LOAD, _argument(at))
    yield _instruction(_ANY_BIT, bits, no=3)
    yield _instruction(_LOAD, _argument(other))
    yield _instruction(_ANY_BIT, others, no=1)
    yield _refuse()


MOUNTS, IPC, USERS, PROCESSES, NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
PRIVATE: Final = (1 << 18) | (1 << 14)
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
# The same number on every architecture since Linux 5.12; recursive; read-only and without set-uid.
_MOUNT_SETATTR, _HERE, _RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1 | 2
_CAPABILITIES_3: Final = 0x20080522
_FROM_OUTSIDE: Final = frozenset(
    signal.Signals[name] for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGXCPU") if hasattr(signal, name)
)
_READ_ALL, _SET_GROUPS, _SET_USERS = 1 << 2, 1 << 6, 1 << 7


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies (Linux), so that a killed run leaves no worker behind."""
    if sys.platform.startswith("linux"):
        libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def was_killed(status: int) -> bool:
    """Return whether this exit status means a kill from outside rather than by a limit of the run.

    Limits never send these signals: a worker that exceeds memory or file limits raises an error, and the parent enforces time.
    """
    return -status in _FROM_OUTSIDE


def adopt_orphans() -> None:
    """Adopt orphaned descendants (Linux), so that this process can wait for all of them."""
    if sys.platform.startswith("linux"):
        libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@cache
def can_enter_namespaces() -> bool:
    """Return whether a process can enter its own namespaces here; tried once, in a child."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        child, _, is_apart = fork_worker(has_namespace=True)
    except OSError:
        # Inside another sandbox no process can be started.
        return False
    if child == 0:
        has_entered = False
        try:
            has_entered = is_apart and enter_namespaces()
        finally:
            os._exit(not has_entered)
    return os.waitpid(child, 0)[1] == 0


def enter_namespaces() -> bool:
    """Enter new network, IPC and mount namespaces in a child that `fork_worker` put into a user namespace; return whether that worked.

    The process stays the same user for files outside. A superuser's process keeps the right to read, because it may score files that other
    users submitted.
    """
    # A user has rights only in the namespace that the fork server made: with them a worker would read what the user may not.
    kept = _READ_ALL if os.geteuid() == 0 else 0
    if libc().unshare(NETWORK | IPC | MOUNTS) != 0:
        return False
    libc().mount(b"none", b"/", None, PRIVATE, None)
    attributes = struct.pack("4Q", _READ_ONLY, 0, 0, 0)
    libc().syscall(_MOUNT_SETATTR, _HERE, b"/", _RECURSIVE, attributes, len(attributes))
    drop_capabilities(kept=kept)
    # A change of credentials may clear the parent-death signal.
    die_with_parent()
    return True


def drop_capabilities(*, kept: int = 0) -> bool:
    """Drop all superuser rights in every namespace, except `kept`. Return whether that worked."""
    return bool(libc().capset(struct.pack("Ii", _CAPABILITIES_3, 0), struct.pack("6I", kept, kept, 0, 0, 0, 0)) == 0)


def enter_process_namespace() -> bool:
    """Continue as process 1 of a new process namespace; return whether that worked.

    The kernel kills everything in the namespace when that process ends. The calling process stays outside as the parent, waits, and ends
    with its child; killing either ends both. Call it from the only thread.
    """
    try:
        inside = fork_process_1()
    except OSError:
        return False
    if inside:
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.waitpid(inside, 0)
        os._exit(0)
    die_with_parent()
    return True


def fork_process_1() -> int:
    """Fork a child as process 1 of a new process namespace; return its id, 0 in the child. Raises OSError if the system refuses.

    Call it from the only thread: what C libraries registered to be called at forks is not called.
    """
    return _fork(USERS | PROCESSES)[0]


def fork_worker(*, has_namespace: bool) -> tuple[int, int, bool]:
    """Fork a child, with `has_namespace` in a user namespace of its own if possible.

    Returns its process id (0 in the child), its id in /proc, and whether it has the namespace. Raises OSError if no process can be started.
    """
    try:
        return _fork(USERS if has_namespace else 0)
    except PermissionError:
        # The system forbids to map its users.
        return _fork(0)


def outer_process_id() -> int:
    """Return this process's id as /proc was mounted with; a process namespace does not change it."""
    try:
        return int(Path("/proc/self").readlink().name)
    except (OSError, ValueError):
        return os.getpid()


# What a child says to its parent first: its id in /proc, and whether it waits for the map of its users.
_INTRODUCTION: Final = struct.Struct("<q?")
# The number of the system call.
_CLONE: Final = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "ppc64le": 120}


def _fork(kinds: int) -> tuple[int, int, bool]:
    """Fork a child in new namespaces of these kinds, as the same user. Only a process that stays outside may map more than one user."""
    maps = _user_maps(os.geteuid()) if kinds else {}
    here, there = socket.socketpair()
    with here, there:
        pid = _clone(kinds) if kinds & PROCESSES else os.fork()
        if pid == 0:
            here.close()
            return 0, 0, _introduce(there, kinds if maps else 0)
        there.close()
        try:
            outer, is_apart = _INTRODUCTION.unpack(here.recv(_INTRODUCTION.size))
            for name, text in maps.items() if is_apart else ():
                Path(f"/proc/{outer}/{name}").write_text(text)
            here.sendall(b"!")
        except (OSError, struct.error) as error:
            here.close()
            os.waitpid(pid, 0)
            raise error if isinstance(error, OSError) else ChildProcessError from error
    return pid, outer, is_apart


def _introduce(parent: socket.socket, kinds: int) -> bool:
    """Enter the namespaces in the child, and return whether that worked as soon as the parent has mapped its users."""
    may_run = b""
    try:
        is_apart = bool(kinds & PROCESSES or (kinds and libc().unshare(kinds) == 0))
        parent.sendall(_INTRODUCTION.pack(outer_process_id(), is_apart))
        may_run = parent.recv(1)
    finally:
        # The parent is gone, or could not map them: nothing may return into its code.
        if not may_run:
            os._exit(1)
    return is_apart


def _clone(kinds: int) -> int:
    """Do what `os.fork` does, with the child in new namespaces: process 1 of one cannot be a process that exists."""
    if not sys.platform.startswith("linux") or not _user_maps(os.geteuid()) or (number := _CLONE.get(os.uname().machine)) is None:
        raise PermissionError
    # Python's lock stays with this thread during the call.
    python = ctypes.PyDLL(None, use_errno=True)
    python.PyOS_BeforeFork()
    pid = python.syscall(*map(ctypes.c_long, (number, kinds | signal.SIGCHLD, 0, 0, 0, 0)))
    error = ctypes.get_errno()
    (python.PyOS_AfterFork_Parent if pid else python.PyOS_AfterFork_Child)()
    if pid < 0:
        raise OSError(error, os.strerror(error))
    return int(pid)


@cache
def _user_maps(user: int) -> dict[str, str]:
    """Return the files of /proc that map this user, or as a superuser all users of this namespace, to the same in a new one.

    Empty if this process may not write them. A process that maps one user may set no groups.
    """
    if not sys.platform.startswith("linux"):
        return {}
    if user != 0:
        return {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{os.getegid()} {os.getegid()} 1"}
    needed = _SET_USERS | _SET_GROUPS
    if _capabilities() & needed != needed:
        return {}
    maps = {name: Path(f"/proc/self/{name}").read_text().splitlines() for name in ("uid_map", "gid_map")}
    return {name: "".join("{0} {0} {2}\n".format(*line.split()) for line in lines) for name, lines in maps.items()}


def _capabilities() -> int:
    """Return the lower 32 effective capabilities of this process as bits."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff")), 0) & 0xFFFFFFFF
