"""The kernel calls that a walled process may still make: a seccomp filter, written through ctypes.

Everything that is not listed fails with EPERM: new sockets of every kind, new processes, changes of owner, mode, times and attributes,
signals and limits of other processes, mounts, namespaces, tracing, keys, io_uring. What is listed reads, computes, waits, and writes to
descriptors that are open already; which files may be opened is Landlock's to say.

The numbers are the kernel's own (`asm/unistd_64.h`, `asm-generic/unistd.h`), which never change.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Final

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
# In a jail with a folder of its own: making and removing what lies in it.
_OWN_FILES: Final = """
    mkdir 83 - · mkdirat 258 34 · rmdir 84 - · unlink 87 - · unlinkat 263 35 · rename 82 - · renameat 264 38 · renameat2 316 276
    truncate 76 45
"""
# Allowed for some arguments only.
_SOME: Final = """
    clone 56 220 · clone3 435 435 · ioctl 16 29 · prctl 157 167 · prlimit64 302 261 · socketpair 53 199 · tgkill 234 131
"""
_MACHINES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_CLONE_THREAD, _AF_UNIX = 0x00010000, 1
# Whether a descriptor is a terminal, how much can be read, blocking and closing: what opening a file asks.
_IOCTLS: Final = (0x5401, 0x541B, 0x5421, 0x5450, 0x5451)
# Names of threads.
_PRCTLS: Final = (15, 16)
_NUMBER, _MACHINE = 0, 4
_PROT_EXEC, _MAP_ANONYMOUS = 4, 0x20


def can_filter() -> bool:
    """Whether this machine is one whose calls are known here; the kernel itself is asked when a filter is built."""
    return sys.platform.startswith("linux") and platform.machine() in _MACHINES and struct.calcsize("P") == 8


def restrict_calls(*, own_files: bool = False, native: bool = True) -> bool:
    """Allow this process and its children the listed calls and no other, for good. False where the kernel or machine has no filter.

    `own_files` allows to make, rename and remove files where Landlock lets it; without `native` no memory is executed but that of files.
    """
    if not can_filter():
        return False
    code = b"".join(_program(own_files=own_files, native=native))
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0) == 0)


def _numbers(table: str) -> dict[str, int]:
    at = _MACHINES[platform.machine()][1]
    rows = (row.split() for line in table.strip().splitlines() for row in line.split("·"))
    return {name: int(numbers[at]) for name, *numbers in rows if numbers[at] != "-"}


def _program(*, own_files: bool, native: bool) -> Iterator[bytes]:
    """The filter in classic BPF, 8 bytes an instruction."""
    yield _instruction(_LOAD, _MACHINE)
    yield _instruction(_EQUAL, _MACHINES[platform.machine()][0], yes=1)
    yield _instruction(_RETURN, _KILL)
    yield _instruction(_LOAD, _NUMBER)
    some = _numbers(_SOME)
    # glibc asks clone3 first, whose arguments no filter can see, and falls back to clone.
    yield from _when(some["clone3"], [_instruction(_RETURN, _ERROR | _ENOSYS)])
    # Threads, and no processes.
    yield from _when(some["clone"], [*_if_bits(0, _CLONE_THREAD), _refuse()])
    yield from _when(some["ioctl"], [*_if_one_of(1, _IOCTLS), _refuse()])
    yield from _when(some["prctl"], [*_if_one_of(0, _PRCTLS), _refuse()])
    yield from _when(some["socketpair"], [*_if_one_of(0, [_AF_UNIX]), _refuse()])
    # Signals to this process alone: it is told by number, so a child that could not be made anyway would have none.
    yield from _when(some["tgkill"], [*_if_one_of(0, [os.getpid()]), _refuse()])
    # Asking for its own limits, not setting any.
    asks = [*_unless_zero(0), *_unless_zero(2), _instruction(_RETURN, _ALLOW), _refuse()]
    yield from _when(some["prlimit64"], asks)
    allowed = [*_numbers(_QUIET).values(), *(_numbers(_OWN_FILES).values() if own_files else ())]
    if not native:
        quiet = _numbers(_QUIET)
        # Executable memory comes from files, which lie where nothing can be written, and stays as it was mapped.
        yield from _when(quiet["mmap"], [*_unless_both(2, _PROT_EXEC, 3, _MAP_ANONYMOUS), _instruction(_RETURN, _ALLOW)])
        yield from _when(quiet["mprotect"], [*_unless_bits(2, _PROT_EXEC), _instruction(_RETURN, _ALLOW)])
    for number in allowed:
        yield _instruction(_EQUAL, number, no=1)
        yield _instruction(_RETURN, _ALLOW)
    yield _refuse()


def _instruction(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse() -> bytes:
    return _instruction(_RETURN, _ERROR | _EPERM)


def _when(number: int, then: list[bytes]) -> Iterator[bytes]:
    """The instructions for one call; each of them ends in a verdict."""
    yield _instruction(_EQUAL, number, no=len(then))
    yield from then


def _argument(at: int) -> int:
    """Where the low half of an argument lies (little end first)."""
    return 16 + 8 * at


def _if_one_of(at: int, values: Iterable[int]) -> Iterator[bytes]:
    yield _instruction(_LOAD, _argument(at))
    for value in values:
        yield _instruction(_EQUAL, value, no=1)
        yield _instruction(_RETURN, _ALLOW)


def _if_bits(at: int, bits: int) -> Iterator[bytes]:
    yield _instruction(_LOAD, _argument(at))
    yield _instruction(_ANY_BIT, bits, no=1)
    yield _instruction(_RETURN, _ALLOW)


def _unless_zero(at: int) -> Iterator[bytes]:
    """Refuse where an argument is not 0, both halves."""
    for half in (0, 4):
        yield _instruction(_LOAD, _argument(at) + half)
        yield _instruction(_EQUAL, 0, yes=1)
        yield _refuse()


def _unless_bits(at: int, bits: int) -> Iterator[bytes]:
    """Refuse where an argument has any of these bits."""
    yield _instruction(_LOAD, _argument(at))
    yield _instruction(_ANY_BIT, bits, no=1)
    yield _refuse()


def _unless_both(at: int, bits: int, other: int, others: int) -> Iterator[bytes]:
    """Refuse where two arguments have bits of these."""
    yield _instruction(_LOAD, _argument(at))
    yield _instruction(_ANY_BIT, bits, no=3)
    yield _instruction(_LOAD, _argument(other))
    yield _instruction(_ANY_BIT, others, no=1)
    yield _refuse()
