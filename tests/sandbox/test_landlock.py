"""The walls round a worker, tried from inside: what a process behind them can read and change, and that nothing outlives process 1."""

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import UsageError
from evalsuite.readers.gold_files import gold_links
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.runs.worker_pool import set_up
from evalsuite.sandbox.linux_layers import can_enter_namespaces, landlock_version, parts_without
from tests.benchmarks.crossings import made_folders
from tests.cli.test_run import text_gold, text_submission
from tests.conftest import ROOT
from tests.processes import finished, started
from tests.runs.made import write_file

landlock = pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
# Runs behind the walls of a reader; each line tries one thing and says what came of it.
TRIES = """
import json, os, sys
from evalsuite.sandbox.linux_layers import restrict_files
readable, tries = json.loads(sys.argv[1])
assert restrict_files(readable)
found = {}
def attempt(name, action):
    try:
        found[name] = repr(action())
    except OSError as error:
        found[name] = type(error).__name__
for name in tries:
    attempt(name, lambda: open(name, 'rb').read(5))
    attempt('list ' + name, lambda: sorted(os.listdir(name)))
print(json.dumps(found))
"""


def behind_walls(readable: list[str], tries: list[Path]) -> dict[str, Any]:
    """What a process that may read only below `readable` found when it tried to read some paths."""
    words = json.dumps([readable, [str(path) for path in tries]])
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}]\n{TRIES}"
    done = finished([sys.executable, "-c", code, words], check=True, cwd="/")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def readable_by(role: str, submission: Path, gold: Path) -> list[str]:
    """What a role of a run may read."""
    setup = set_up(isolation="process", limits=resolve_limits(), submission_folder=submission, gold_folder=gold, gold_inodes=frozenset())
    return list(setup.readable[role])


def two_sides(folder: Path, gold: str) -> tuple[Path, Path]:
    """(submission, gold) with one file each; gold lies at a path relative to the submission's parent."""
    submission = folder / "submission"
    write_file(submission / "q" / "f.csv", "mine!")
    write_file(folder / gold / "q" / "f.csv", "gold!")
    return submission, folder / gold


@landlock
@pytest.mark.parametrize("place", ["gold", "submission/gold", "submission/q/deep/gold"])
def test_a_reader_cannot_read_gold_wherever_it_lies(place: str, tmp_path: Path) -> None:
    """The kernel keeps gold from the reader, in a folder of the submission too, and lets it read the submission around it."""
    submission, gold = two_sides(tmp_path, place)
    files = [submission / "q/f.csv", gold / "q/f.csv", gold]
    found = behind_walls(readable_by("reader", submission, gold), files)
    assert found[str(files[0])] == "b'mine!'"
    assert found[str(files[1])] == "PermissionError"
    assert found[f"list {gold}"] == "PermissionError"


@landlock
def test_a_judge_reads_gold_behind_links_and_no_submission(tmp_path: Path) -> None:
    """Gold may be a folder of links: where they lead is open to the judge and closed to the reader; the submission is the reverse."""
    submission, gold = two_sides(tmp_path, "gold")
    elsewhere = tmp_path / "elsewhere"
    write_file(elsewhere / "f.csv", "link!")
    (gold / "linked").symlink_to(elsewhere)
    files = [gold / "q/f.csv", gold / "linked/f.csv", submission / "q/f.csv"]
    judge = behind_walls(readable_by("judge", submission, gold), files)
    assert [judge[str(file)] for file in files] == ["b'gold!'", "b'link!'", "PermissionError"]
    reader = behind_walls(readable_by("reader", submission, gold), files)
    assert [reader[str(file)] for file in files] == ["PermissionError", "PermissionError", "b'mine!'"]


@landlock
def test_sources_and_the_current_folder_open_only_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Gold beside the sources, as in a clone of this project, is not readable because the sources are on the import path."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", ["", str(ROOT), *sys.path])
    submission, _ = two_sides(tmp_path, "gold")
    spec = next((ROOT / "gold").glob("*_eval.jsonl"))
    found = behind_walls(
        readable_by("reader", submission, ROOT / "gold"), [spec, ROOT / "pyproject.toml", ROOT / "evalsuite/core/types.py"]
    )
    assert found[str(spec)] == found[str(ROOT / "pyproject.toml")] == "PermissionError"
    assert found[str(ROOT / "evalsuite/core/types.py")].startswith("b'")


def test_around_leaves_out_what_is_hidden(tmp_path: Path) -> None:
    """A folder without anything hidden stands for itself; one that holds it is taken apart, and links in it are never followed."""
    (tmp_path / "a/b/secret").mkdir(parents=True)
    (tmp_path / "a/b/open").mkdir()
    (tmp_path / "a/file").write_text("x")
    (tmp_path / "a/link").symlink_to("/")
    root = tmp_path.resolve()
    secret = str(root / "a/b/secret")
    assert parts_without(str(tmp_path / "a/b/open"), [secret]) == [str(root / "a/b/open")]
    assert parts_without(str(tmp_path), [secret]) == [str(root / "a/b/open"), str(root / "a/file")]
    assert parts_without(secret, [secret]) == []
    assert parts_without(f"{secret}/below", [secret]) == [f"{secret}/below"]
    assert parts_without(str(tmp_path), []) == [str(root)]


def test_where_links_of_gold_lead(tmp_path: Path) -> None:
    """Links to files and folders at any depth are followed once; a broken one leads nowhere."""
    gold, other = tmp_path / "gold", tmp_path / "other"
    (gold / "q").mkdir(parents=True)
    write_file(other / "f", "x")
    (gold / "q/f").symlink_to(other / "f")
    (gold / "q/broken").symlink_to(other / "nothing")
    (gold / "p").symlink_to(other)
    assert gold_links(gold) == [other.resolve(), (other / "f").resolve()]


def test_a_submission_in_the_gold_folder_is_refused(tmp_path: Path) -> None:
    """Its files would be gold's own files: nothing is scored, and the message says what to do."""
    gold = text_gold(tmp_path / "gold", a="x")
    with pytest.raises(UsageError, match="is in the gold folder"):
        run(text_submission(gold / "mine"), gold, RunOptions(save=False))


namespaces = pytest.mark.skipif(not can_enter_namespaces(), reason="this machine gives no namespaces")
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


@namespaces
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


@namespaces
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


@namespaces
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
