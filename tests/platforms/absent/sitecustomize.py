"""Python loads this file before anything else: it takes away what another system does not have (`EVALSUITE_TEST_ABSENT`).

What the standard library and other packages decide by the system they decide before, so that only the package's own code is tried.
"""

import asyncio
import ctypes
import importlib
import importlib.abc
import importlib.machinery
import multiprocessing.pool
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import types
import urllib.request
from collections.abc import Sequence
from typing import Any

BEFORE = (asyncio, ctypes, multiprocessing.pool, subprocess, tempfile, urllib.request)
# These look at nothing but the system's name, when they are imported; most commands import none of them.
BY_NAME = {"duckdb", "pandas", "rich", "typer"}
FUNCTIONS = "fork forkpty killpg setsid getuid geteuid getpgid setpgid sched_getaffinity memfd_create pidfd_open pipe2 pread fchmod chown"
FLAGS = "O_NOFOLLOW O_NONBLOCK O_DIRECTORY O_CLOEXEC"
ABSENT: dict[str, dict[Any, str]] = {
    "win32": {
        os: f"{FUNCTIONS} {FLAGS} mkfifo nice getpriority setpriority statvfs sysconf",
        socket: "AF_UNIX send_fds recv_fds",
        signal: "SIGKILL SIGHUP SIGALRM SIGUSR1 setitimer pthread_sigmask pthread_kill sigwait",
        select: "poll epoll",
    },
    "darwin": {os: "sched_getaffinity sched_setaffinity pidfd_open pipe2 unshare setns memfd_create posix_fallocate", select: "epoll"},
    "fork": {os: "fork forkpty"},
    "AF_UNIX": {socket: "AF_UNIX"},
    "killpg": {os: "killpg"},
    "O_NOFOLLOW": {os: "O_NOFOLLOW"},
    # Linux, but a Python that was compiled on an old one, as uv and conda bring them.
    "memfd_create": {os: "memfd_create pidfd_open copy_file_range"},
    "fcntl": {signal: "SIGKILL SIGHUP"},
}
MODULES = {"win32": {"resource", "fcntl", "pwd", "grp", "termios", "pty", "tty"}, "fcntl": {"fcntl"}}


class Absent(importlib.abc.MetaPathFinder):
    """Finds no module of those names."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: object = None) -> None:
        if fullname in self.names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


class ByName(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules of `BY_NAME` under the true name of the system."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in BY_NAME or sys.platform == TRUE_NAME:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        played, sys.platform = sys.platform, TRUE_NAME
        try:
            return importlib.import_module(spec.name)
        finally:
            sys.platform = played

    def exec_module(self, module: types.ModuleType) -> None:
        """It is loaded."""


TRUE_NAME = sys.platform
kind = os.environ.get("EVALSUITE_TEST_ABSENT", "")
if kind in ("win32", "darwin"):
    sys.meta_path.insert(0, ByName())
    sys.platform = kind
for module, names in ABSENT.get(kind, {}).items():
    for name in filter(lambda name, module=module: hasattr(module, name), names.split()):
        delattr(module, name)
if kind == "win32":
    os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks = set(), set(), set()
    # From Python 3.12 on, `shutil.which` asks Windows, and `rmtree` opens folders otherwise than there.
    shutil._use_fd_functions = False
    shutil._rmtree_impl = getattr(shutil, "_rmtree_unsafe", None)
    shutil._winapi = types.SimpleNamespace(NeedCurrentDirectoryForExePath=lambda _: True)
for name in MODULES.get(kind, set()):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent(MODULES.get(kind, set())))
