"""The filter of kernel calls from inside a process: one row a call that is refused, one a call that a reader needs."""

import json
import sys
from pathlib import Path

import pytest

from evalsuite.sandbox.linux_layers import can_filter
from tests.conftest import ROOT
from tests.processes import finished

pytestmark = pytest.mark.skipif(not can_filter(), reason="the calls of this machine are not known, or it is no Linux")
REFUSED = {
    "a TCP socket": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "a multipath TCP socket": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
    "a UDP socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "a unix socket": "socket.socket(socket.AF_UNIX)",
    "a raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "a fork": "os.fork()",
    "a process": "subprocess.run(['true'])",
    "a session of its own": "os.setsid()",
    "a mode": "os.chmod(FILE, 0o600)",
    "an owner": "os.chown(FILE, 0, 0)",
    "times": "os.utime(FILE)",
    "an attribute": "os.setxattr(FILE, 'user.a', b'1')",
    "a link": "os.link(FILE, FILE + '2')",
    "a removal": "os.unlink(FILE)",
    "a pipe in the file system": "os.mkfifo(FILE + '3')",
    "limits of the parent": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "limits of its own": "resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))",
    "priority of the parent": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 5)",
    "a signal to the parent": "os.kill(os.getppid(), 0)",
    "another program": "os.execv('/bin/true', ['true'])",
    "a namespace": "must(libc.unshare(0x10000000))",
    "tracing": "must(libc.ptrace(16, os.getppid(), 0, 0))",
    "memory of the parent": "must(libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0))",
    "a mount": "must(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None))",
    "io_uring": "must(libc.syscall(425, 8, 0))",
    "a file in memory": "must(libc.memfd_create(b'x', 0))",
    "32-bit calls": "must(libc.syscall(0x40000000 | 41, 2, 1, 0))",
}
ALLOWED = {
    "reading": "open(FILE).read() == 'x'",
    "threads": "(lambda t: (t.start(), t.join()))(threading.Thread(target=int))",
    "a pair of sockets": "socket.socketpair()",
    "its own limits": "resource.getrlimit(resource.RLIMIT_NOFILE)",
    "waiting": "select.select([], [], [], 0)",
    "duckdb": "__import__('duckdb').connect().execute('SELECT count(*) FROM range(100000)').fetchall()",
    "pandas": "__import__('pandas').DataFrame({'a': [1]}).sum()",
}
INSIDE = """
import ctypes, json, os, resource, select, socket, subprocess, sys, threading
from evalsuite.sandbox.linux_layers import restrict_calls
libc = ctypes.CDLL(None, use_errno=True)
def must(answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), 'refused')
FILE, acts = sys.argv[1], json.loads(sys.argv[2])
assert restrict_calls()
found = {}
for name, act in acts.items():
    try:
        eval(act)
        found[name] = 'done'
    except (OSError, ValueError) as error:
        found[name] = type(error).__name__
print(json.dumps(found))
"""


def results(acts: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """What each act came to inside one filtered process."""
    file = tmp_path / "file"
    file.write_text("x")
    done = finished([sys.executable, "-c", INSIDE, str(file), json.dumps(acts)], cwd=ROOT, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_what_is_refused(tmp_path: Path) -> None:
    """Sockets, processes, changes of files, and whatever touches other processes or the machine."""
    assert {name: came for name, came in results(REFUSED, tmp_path).items() if came == "done"} == {}


def test_what_a_reader_needs(tmp_path: Path) -> None:
    """Files, threads, waiting, and the libraries that read answers."""
    assert {name: came for name, came in results(ALLOWED, tmp_path).items() if came != "done"} == {}
