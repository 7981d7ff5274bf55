"""The walls around a worker process: resource limits, and Landlock where the kernel has it.

Called by the worker itself before it reads anything of a submission. Every wall only takes away; what a system lacks is left out and
named in the run's receipt.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable, Mapping
from functools import cache

# The same numbers on every architecture since Linux 5.13.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_NO_NEW_PRIVS = 38
_RULE_PATH_BENEATH = 1
_READ_FILE, _READ_DIR, _EXECUTE = 1 << 2, 1 << 3, 1 << 0
# ABI version -> every file-system right it knows, all of which the worker gives up but reading.
_ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NET_RIGHTS = 0b11
_O_PATH = 0o10000000
MAX_OPEN_FILES = 64


def limit_resources(limits: Mapping[str, int | float]) -> None:
    """Take from this process what a reader never needs: big memory, any written byte, many descriptors, core dumps.

    `memory_mib` bounds the address space. There is no CPU limit: it would count over the worker's life; the parent's clock kills.
    """
    if sys.platform == "win32":
        return
    import resource

    memory = int(limits["memory_mib"]) << 20
    wanted = {"RLIMIT_AS": memory, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": MAX_OPEN_FILES}
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None or (name == "RLIMIT_AS" and sys.platform == "darwin"):
            continue
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


@cache
def landlock_version() -> int:
    """The kernel's Landlock ABI version, 0 where it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return max(0, _syscall(_CREATE_RULESET, None, 0, 1))
    except OSError:
        return 0


def restrict_files(readable: Iterable[str]) -> bool:
    """Allow this process (and its children) to read below these paths and nothing else: no write, no TCP. False without Landlock."""
    version = landlock_version()
    if not version:
        return False
    rights = _ALL_RIGHTS.get(version, _ALL_RIGHTS[4])
    attributes = struct.pack("QQ", rights, _NET_RIGHTS) if version >= 4 else struct.pack("Q", rights)
    ruleset = _syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in readable:
            _allow_reading(ruleset, path)
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def library_paths() -> list[str]:
    """What an interpreter needs to read to import its packages late, and what duckdb asks of the system."""
    own = [path for path in {sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path} if path]
    return [
        *own,
        "/usr",
        "/lib",
        "/lib64",
        "/etc/localtime",
        "/etc/ld.so.cache",
        "/proc/self",
        "/sys/fs/cgroup",
        "/dev/null",
        "/dev/urandom",
    ]


def _allow_reading(ruleset: int, path: str) -> None:
    try:
        descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = _READ_FILE | _EXECUTE | (_READ_DIR if os.path.isdir(path) else 0)  # noqa: PTH112
        rule = struct.pack("=Qi", rights, descriptor)
        _syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    answer = int(call(ctypes.c_long(number), *converted))
    if answer < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return answer
