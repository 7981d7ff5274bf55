"""What SECURITY.md promises of a sandboxed worker is refused in both roles, kernel calls by the filter alone; runs name the features."""

import json
import os
import re
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.worker_pool import set_up
from evalsuite.sandbox.linux_layers import can_enter_namespaces, can_filter, landlock_version
from evalsuite.sandbox.worker_sandbox import expected_features
from tests.cli.test_run import said, text_gold, text_submission
from tests.conftest import ROOT
from tests.processes import finished

pytestmark = pytest.mark.skipif(not can_filter(), reason="the calls of this machine are not known, or it is no Linux")
all_walls = pytest.mark.skipif(
    not (can_filter() and landlock_version() >= 6 and can_enter_namespaces()), reason="this machine gives workers not every wall"
)
ROLES = ("reader", "judge")
# What is tried -> expressions, each of which must fail. OTHER is the other side's file, RUN a file of the run's folder, COPY what another
# worker pair holds of its own; PARENT is the run.
PROBES = {
    "read the other side: gold, or the submission": ["open(OTHER).read()", "os.listdir(os.path.dirname(OTHER))"],
    "read another worker pair's private copy": ["open(COPY).read()", "os.listdir(os.path.dirname(COPY))"],
    "read the run folder or the home folder": ["open(RUN).read()", "os.listdir(os.path.expanduser('~'))"],
    "read the run's memory, variables or open files": [
        *("open(f'/proc/{PARENT}/mem').read()", "open(f'/proc/{PARENT}/environ').read()"),
        *("must(libc.process_vm_readv(PARENT, 0, 0, 0, 0, 0))", "must(libc.ptrace(16, PARENT, 0, 0))"),
        "must(libc.syscall(438, libc.syscall(434, PARENT, 0), 1, 0))",
    ],
    "write, make, link or remove a file": [
        *("open(OWN, 'a').write('x')", "open('/tmp/evalsuite-probe', 'w')", "os.mkdir('/tmp/evalsuite-probe')"),
        *("os.link(OWN, OWN + '2')", "os.symlink(OWN, OWN + '2')", "os.rename(OWN, OWN + '2')", "os.unlink(OWN)"),
        *("os.mkfifo(OWN + '3')", "os.truncate(OWN, 0)"),
    ],
    "chmod, chown, utime or setxattr": [
        f"os.{call}(FILE{rest})".replace("FILE", file)
        for file in ("OWN", "OTHER", "RUN")
        for call, rest in (("chmod", ", 0o777"), ("chown", ", 0, 0"), ("utime", ""), ("setxattr", ", 'user.a', b'1'"))
    ],
    "TCP and IPPROTO_MPTCP": ["socket.socket()", "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)", "socket.create_server(('', 0))"],
    "UDP": ["socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)"],
    "unix sockets, by path and abstract": [
        "socket.socket(socket.AF_UNIX).connect('/run/any')",
        "socket.socket(socket.AF_UNIX).connect('\\0any')",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '\\0any')",
    ],
    "raw, packet, netlink and vsock sockets": [
        *("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
        *("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", "socket.socket(40, socket.SOCK_STREAM)"),
    ],
    "see a network interface": [
        "[0][not [name for _, name in socket.if_nameindex() if name != 'lo']]",
        "[0][not [line for line in open('/proc/net/dev') if ':' in line and 'lo:' not in line]]",
    ],
    "prlimit and renice of the run": [
        *("resource.prlimit(PARENT, resource.RLIMIT_CPU, (1, 1))", "os.setpriority(os.PRIO_PROCESS, PARENT, 5)"),
        *("os.sched_setaffinity(PARENT, {0})", "must(libc.syscall(251, 1, PARENT, 0))"),
    ],
    "signals to the run": ["os.kill(PARENT, 0)", "os.killpg(PARENT, 0)", "must(libc.syscall(424, libc.syscall(434, PARENT, 0), 0, 0, 0))"],
    "300 forks": [
        "[os.fork() or os._exit(0) for _ in range(300)]",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "subprocess.run(['true'])",
    ],
    "a setsid child that outlives killpg": ["os.fork() or (os.setsid(), time.sleep(3), os._exit(0))", "os.setsid()", "os.setpgid(0, 0)"],
    "become another program": ["os.execv('/bin/true', ['true'])", "must(libc.memfd_create(b'x', 0))"],
    "raise its own limits or rights": [
        *("resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))", "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))"),
        *("os.setuid(0)", "os.setgroups([0])", "must(libc.unshare(0x10000000))", "must(libc.setns(3, 0))"),
        "must(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None))",
    ],
    "shared memory, message queues, io_uring, keys, bpf": [
        *("must(libc.shmget(1, 4096, 0o1600))", "must(libc.msgget(1, 0o1600))", "must(libc.syscall(425, 8, 0))"),
        *("must(libc.syscall(248, b'user', b'a', b'b', 1, -3))", "must(libc.syscall(321, 0, 0, 0))"),
    ],
    "32-bit calls": ["must(libc.syscall(0x40000000 | 41, 2, 1, 0))"],
    "more memory than it may have": ["bytearray(4 << 30)"],
    "more than 64 open files": ["[os.dup(0) for _ in range(65)]"],
}
INSIDE = """
import ctypes, json, os, resource, socket, subprocess, sys, time
from evalsuite.sandbox.linux_layers import die_with_parent, fork_worker, restrict_calls
from evalsuite.sandbox.worker_sandbox import enter_sandbox
child, _, apart = fork_worker(has_namespace=APART)
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
die_with_parent()
libc = ctypes.CDLL(None, use_errno=True)
def must(answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), 'refused')
told = json.loads(sys.argv[1])
OWN, OTHER, RUN, COPY, PARENT = told['places']
walls = ENTER
assert open(OWN).read() == 'own'
came = {}
for kind, acts in told['probes'].items():
    for act in acts:
        try:
            eval(act)
            came.setdefault(kind, []).append(act)
        except (OSError, MemoryError, ValueError, IndexError):
            came.setdefault(kind, [])
print(json.dumps([walls, came]))
"""
ALL_WALLS = "enter_sandbox(told['readable'], told['limits'], has_namespace=apart)"


def from_inside(
    role: str, folder: Path, enter: str = ALL_WALLS, probes: Mapping[str, Sequence[str]] = PROBES
) -> tuple[list[str], dict[str, list[str]]]:
    """The walls that a worker of a role says it built, and for each kind of probe the acts that were not refused."""
    sides = {"reader": folder / "submission" / "q" / "f", "judge": folder / "gold" / "q" / "f"}
    run, copy = folder / "run" / "results.jsonl", os.memfd_create("copy")
    for place in (*sides.values(), run):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("own")
    limits = resolve_limits()
    setup = set_up(
        isolation="process", limits=limits, submission_folder=folder / "submission", gold_folder=folder / "gold", gold_inodes=frozenset()
    )
    other = next(str(place) for name, place in sides.items() if name != role)
    places = [str(sides[role]), other, str(run), f"/proc/{os.getpid()}/fd/{copy}", os.getpid()]
    told = {"places": places, "readable": setup.readable[role], "limits": dict(limits), "probes": probes}
    code = INSIDE.replace("ENTER", enter).replace("APART", str(enter == ALL_WALLS))
    done = finished([sys.executable, "-c", code, json.dumps(told)], cwd=ROOT, check=True)
    os.close(copy)
    assert all(place.read_text() == "own" and place.stat().st_nlink == 1 for place in (*sides.values(), run))
    walls, came = json.loads(done.stdout.splitlines()[-1])
    return walls, came


@all_walls
def test_everything_is_refused_in_both_roles(tmp_path: Path) -> None:
    """Each row of the table is refused to reader and judge, and they build the walls that are told in advance."""
    before = (resource.getrlimit(resource.RLIMIT_CPU), os.getpriority(os.PRIO_PROCESS, 0))
    found = {role: from_inside(role, tmp_path / role) for role in ROLES}
    print(f"\n| tried from inside | {' | '.join(ROLES)} |\n|---|{'---|' * len(ROLES)}")
    for kind in PROBES:
        print(f"| {kind} | {' | '.join('refused' if not found[role][1][kind] else 'DONE' for role in ROLES)} |")
    assert {role: {kind: acts for kind, acts in found[role][1].items() if acts} for role in ROLES} == {role: {} for role in ROLES}
    assert {tuple(walls) for walls, _ in found.values()} == {tuple(expected_features())}
    assert (resource.getrlimit(resource.RLIMIT_CPU), os.getpriority(os.PRIO_PROCESS, 0)) == before


def test_security_promises_exactly_these() -> None:
    """The table of SECURITY.md has a row for each kind that is tried, and no other."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = text.partition("| tried from inside |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert rows == list(PROBES)


@all_walls
def test_a_run_names_the_sandbox_features_of_security_md(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of SECURITY.md for Linux with every feature, and for none, are those of `receipt.isolation` and of the report."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promised = re.findall(r"`(process[+\w]+|none)`", text.partition("`receipt.isolation`")[2].partition("lists them")[0])
    assert len(promised) == 2
    monkeypatch.chdir(tmp_path)
    text_gold(Path("gold"), q="yes")
    text_submission(Path("sub"), q="yes")
    for isolation, words in zip(("process", "none"), promised, strict=True):
        assert re.search(
            rf"\n isolation +{re.escape(words)}[\n:]", said("run", "sub", "--gold", "gold", "--isolation", isolation, "--out", isolation)
        )
        assert json.loads(Path(isolation, "run.json").read_text(encoding="utf-8"))["receipt"]["isolation"] == words


def test_only_python_m_imports_files_of_the_folder(tmp_path: Path) -> None:
    """In a folder with a hostile `json.py`, `python -m evalsuite` executes it and the `evalsuite` command does not."""
    marker = tmp_path / "executed"
    (tmp_path / "json.py").write_text(f"open({str(marker)!r}, 'w').close()\n", encoding="utf-8")
    words = ["scorers"]
    command = finished([Path(sys.executable).with_name("evalsuite"), *words], cwd=tmp_path)
    assert (command.returncode, marker.exists()) == (0, False)
    finished([sys.executable, "-m", "evalsuite", *words], cwd=tmp_path)
    assert marker.exists()


def test_the_probes_can_succeed(tmp_path: Path) -> None:
    """Outside of walls most of them do: what is refused is refused by the walls."""
    harmless: dict[str, Any] = {
        "UDP": PROBES["UDP"][:1],
        "chmod": ["os.chmod(OWN, 0o600)"],
        "300 forks": ["[os.fork() or os._exit(0) for _ in range(3)]"],
        "signals": ["os.kill(PARENT, 0)"],
        "open": ["open(OTHER).read()", "open(COPY).read()"],
    }
    assert from_inside("reader", tmp_path, "[]", harmless)[1] == harmless


# What is refused by Landlock, namespaces or limits: reading files and naming them, and taking more than is given.
NO_CALLS = ("open(", "os.listdir", "os.mkdir", "os.symlink", "os.rename", "os.truncate", "[0][not", "bytearray", "[os.dup")


def test_the_filter_of_kernel_calls_alone(tmp_path: Path) -> None:
    """Sockets, processes, changes of files and whatever touches other processes are refused without any other wall."""
    probes = {kind: [act for act in acts if not act.startswith(NO_CALLS)] for kind, acts in PROBES.items()}
    assert sum(map(len, probes.values())) >= 50
    came = from_inside("reader", tmp_path, "restrict_calls()", probes)[1]
    assert {kind: acts for kind, acts in came.items() if acts} == {}


def test_what_a_reader_needs(tmp_path: Path) -> None:
    """Files, threads, waiting, and the libraries that read answers go through the filter."""
    threads = "(lambda t: (t.start(), t.join()))(__import__('threading').Thread(target=int))"
    acts = ["open(OWN).read()", threads, "socket.socketpair()", "resource.getrlimit(resource.RLIMIT_NOFILE)"]
    acts += ["__import__('select').select([], [], [], 0)", "__import__('pandas').DataFrame({'a': [1]}).sum()"]
    acts += ["__import__('duckdb').connect().execute('SELECT count(*) FROM range(100000)').fetchall()"]
    assert from_inside("reader", tmp_path, "restrict_calls()", {"needed": acts})[1] == {"needed": acts}


@pytest.mark.skipif(not landlock_version(), reason="needs Landlock")
def test_the_entry_of_proc_stays_open() -> None:
    """A system short of memory forgets unused entries of /proc, and the rule of a new one is missing: duckdb could open no database."""
    code = (
        "import os; from evalsuite.sandbox.linux_layers import restrict_files; restrict_files(['/usr'])\n"
        "print(f'/proc/{os.getpid()}' in [os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if n < '9' and "
        "os.path.lexists(f'/proc/self/fd/{n}')])"
    )
    assert finished([sys.executable, "-c", code], check=True, cwd=ROOT).stdout == "True\n"
