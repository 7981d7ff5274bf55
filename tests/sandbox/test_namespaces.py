"""Namespaces from inside: who a process is there, what it can still read, and that nothing outlives process 1."""

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from evalsuite.sandbox.linux_layers import can_enter_namespaces
from tests.benchmarks.crossings import made_folders
from tests.conftest import ROOT
from tests.processes import finished, started

pytestmark = pytest.mark.skipif(not can_enter_namespaces(), reason="this machine gives no namespaces")
INSIDE = """
import json, os, sys
from evalsuite.sandbox.linux_layers import enter_namespaces, fork_worker, _capabilities
child, _, apart = fork_worker(has_namespace=True)
if child:
    os._exit(os.waitpid(child, 0)[1] != 0)
entered = apart and enter_namespaces()
names = ("user", "net", "ipc", "mnt")
found = {name: os.readlink(f"/proc/self/ns/{name}") for name in names}
def tried(act):
    try:
        return act()
    except OSError as error:
        return error.errno
came = [tried(lambda: open(sys.argv[1]).read()), tried(lambda: open(sys.argv[1], "w")), tried(lambda: os.chmod(sys.argv[1], 0o600))]
open("/dev/null", "w").write("x")
print(json.dumps([entered, found, os.getuid(), _capabilities(), *came]), flush=True)
os._exit(0)
"""
# A worker's child that leaves its group and session, and ignores whoever asks it to end.
LEAVES = """
import os, signal, sys, time
from evalsuite.sandbox.linux_layers import enter_process_namespace, outer_process_id
assert enter_process_namespace() and os.getpid() == 1
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        print(outer_process_id(), flush=True)
        time.sleep(60)
    os._exit(0)
time.sleep(60)
"""


def test_a_process_in_namespaces_reads_and_changes_nothing(tmp_path: Path) -> None:
    """It is the same user to files, in four other namespaces; no file is written or changed, and no right of a superuser is left."""
    file = tmp_path / "f"
    file.write_text("mine")
    if os.geteuid() == 0:
        # A superuser's run reads what other users handed in.
        os.chown(file, 4711, 4711)
        file.chmod(0o600)
    done = finished([sys.executable, "-c", INSIDE, file], cwd=ROOT, check=True)
    entered, found, uid, rights, read, written, mode = json.loads(done.stdout)
    assert (entered, uid, read) == (True, os.getuid(), "mine")
    assert all(found[name] != str(Path(f"/proc/self/ns/{name}").readlink()) for name in found)
    assert (written, mode) == (30, 30)
    assert rights in (0, 1 << 2)


def test_nothing_outlives_process_1() -> None:
    """A child in a session of its own, which `killpg` does not reach, dies with the namespace when who started it is killed."""
    with started([sys.executable, "-c", LEAVES], cwd=ROOT, stdout=-1) as process:
        assert process.stdout is not None
        left = Path("/proc") / process.stdout.readline().strip()
        assert left.name.isdecimal()
        assert left.is_dir()
        process.send_signal(signal.SIGKILL)
        process.wait()
        # Its status cannot be read any more once it is gone.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            while "State:\tZ" not in (left / "status").read_text():
                time.sleep(0.01)


@pytest.mark.parametrize("kind", ["number", "csv"])
def test_a_run_of_one_answer_takes_four_processes(kind: str, tmp_path: Path) -> None:
    """The command, its fork server, a reader and a judge; no process only maps users for others, or waits for process 1."""
    submission, gold = made_folders(kind, tmp_path)
    # `read` finds no end of the line in that file.
    count = '"$@"; read last < /proc/sys/kernel/ns_last_pid; echo $last'
    apart = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c", count, "sh"]
    if shutil.which("unshare") is None or finished([*apart, "true"]).stdout != "1\n":
        pytest.skip("this system gives no user namespaces of its own, or does not say its last process (unshare)")
    run = [sys.executable, "-m", "evalsuite", "run", submission, "--gold", gold, "--no-save", "--no-cache"]
    done = finished([*apart, *run], cwd=ROOT)
    # The first one is the shell.
    assert ("done: 100.0 %" in done.stdout, int(done.stdout.split()[-1])) == (True, 5)
