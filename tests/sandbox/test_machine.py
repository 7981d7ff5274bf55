"""A machine that gives too little is said to, before anything is scored: it never makes a right answer wrong."""

import errno
import json
import os
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import EXIT_USAGE, UsageError
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers import gold_files, load_answer, paths
from evalsuite.readers.limits import DEFAULT_LIMITS, resolve_limits
from evalsuite.runs.plan import plan
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.runs.task_execution import score_task
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox import limits
from evalsuite.sandbox.limits import check_limits, jobs_that_fit
from tests.cli.test_run import said, text_gold, text_submission
from tests.conftest import ROOT, copy_of
from tests.processes import finished, room_for_files
from tests.runs.made import write_sides
from tests.terminal.pty_harness import need_ascii_checkout

MIB = 1 << 20
Verdicts = dict[str, tuple[float | None, float | None]]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits that only Linux keeps")

LIMITED = """
import resource, sys
for limit in sys.argv[1].split(","):
    name, most = limit.split("=")
    kind = getattr(resource, "RLIMIT_" + name)
    resource.setrlimit(kind, (int(most), resource.getrlimit(kind)[1]))
sys.argv[1:2] = []
from evalsuite.cli import main
sys.exit(main(sys.argv[1:]))
"""


def verdicts(run_folder: Path) -> Verdicts:
    """Both verdicts by id that a run saved."""
    journal = run_folder / "results.jsonl"
    rows = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    return {row["instance_id"]: (row["official"], row["strict"]) for row in rows}


def outcome(limit: str, example: tuple[Path, Path], out: Path, *more: str) -> tuple[int, str, Verdicts]:
    """(exit code, complaint, verdicts) of a run of the example under limits of the system."""
    words = ["run", example[0], "--gold", example[1], "--out", out, "--quiet", "--jobs", "2", *more]
    done = finished([sys.executable, "-c", LIMITED, limit, *words], cwd=out.parent)
    return done.returncode, done.stderr, verdicts(out)


@pytest.fixture(scope="module")
def alone(example: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    """The example's verdicts on a machine with room."""
    out = tmp_path_factory.mktemp("machine") / "run"
    run(*example, RunOptions(out=out))
    return verdicts(out)


@linux
@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (f"AS={200 * MIB}", "200 MiB of address space"),
        pytest.param(f"DATA={150 * MIB}", "150 MiB of data", marks=pytest.mark.slow),
        ("CPU=5", "5 s of CPU time: one answer may take 10"),
        pytest.param("NOFILE=60", "60 open files", marks=pytest.mark.slow),
        pytest.param("FSIZE=1000", "1000 bytes for a file", marks=pytest.mark.slow),
    ],
)
def test_too_little_is_said_and_nothing_is_written(limit: str, words: str, example: tuple[Path, Path], tmp_path: Path) -> None:
    """A run that the system gives less than its limits let an answer take ends with 2 before there is a folder of it."""
    code, complaint, scored = outcome(limit, example, tmp_path / "run")
    assert (code, scored) == (EXIT_USAGE, {})
    assert words in complaint
    assert "hint: raise it (ulimit" in complaint
    assert not (tmp_path / "run").exists()


STARTED = """
import os, resource, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGALRM})
os.umask(0o277 if os.geteuid() == 0 else 0o077)
for _ in range(30):
    os.set_inheritable(os.open("/dev/null", os.O_RDONLY), True)
for number in (0, 1, 2):
    os.close(number)
os.execve(sys.executable, [sys.executable, "-m", "evalsuite", *sys.argv[1:]], dict(os.environ) | ODD)
"""
ODD = [
    {
        "PYTHONOPTIMIZE": "2",
        "PYTHONWARNINGS": "error",
        "PYTHONINTMAXSTRDIGITS": "640",
        "PYTHONUTF8": "0",
        "LC_ALL": "C",
        "TZ": "Pacific/Apia",
    },
    {"PYTHONDEVMODE": "1", "PYTHONMALLOC": "debug", "MALLOC_PERTURB_": "165", "COLUMNS": "0", "TMPDIR": "relative", "HOME": ""},
]


@linux
@pytest.mark.parametrize("more", [ODD[0], pytest.param(ODD[1], marks=pytest.mark.slow)], ids=["strict", "debug"])
def test_a_process_that_was_started_oddly(more: dict[str, str], alone: Verdicts, example: tuple[Path, Path], tmp_path: Path) -> None:
    """Ignored ends of children, blocked signals, no streams, open files of others and a switched-over Python move no verdict."""
    if more.get("LC_ALL") == "C":
        need_ascii_checkout()
    out = tmp_path / "run"
    words = ["run", example[0], "--gold", example[1], "--out", out, "--no-cache"]
    done = finished([sys.executable, "-c", STARTED.replace("ODD", repr(more)), *words], cwd=ROOT)
    assert (done.returncode, verdicts(out)) == (0, alone)


@linux
@pytest.mark.slow
@pytest.mark.parametrize("n_mib", [120, 200, 320, 400, 500, 700, 1000, 1500, 2000, 2047, 2048, 2100, 3000])
def test_no_room_moves_a_verdict(n_mib: int, alone: Verdicts, example: tuple[Path, Path], tmp_path: Path) -> None:
    """However much address space there is: a run ends with 2, or with the verdicts that it has everywhere."""
    plain = outcome(f"AS={n_mib * MIB}", example, tmp_path / "plain")
    lowered = outcome(f"AS={n_mib * MIB}", example, tmp_path / "lowered", "--limit", f"memory_mib={n_mib}")
    assert (plain[0] == EXIT_USAGE) == (n_mib < DEFAULT_LIMITS["memory_mib"])
    for code, complaint, scored in (plain, lowered):
        assert scored == ({} if code == EXIT_USAGE else alone), complaint


@linux
@pytest.mark.parametrize(("seed", "n"), [(1002, 1), *(pytest.param(1000 * part, 100, marks=pytest.mark.slow) for part in range(1, 6))])
def test_machines_that_lack_anything_move_no_verdict(seed: int, n: int, example: tuple[Path, Path], tmp_path: Path) -> None:
    """Whatever a machine lacks, a run ends as it does everywhere, with unscored answers, or with one error: no verdict differs."""
    words = [sys.executable, "-m", "tests.sandbox.limit_combinations", tmp_path, *example, seed, n]
    done = finished(words, cwd=ROOT, seconds=60 * n, check=True)
    machines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(machines) == n
    assert [machine for machine in machines if machine["moved"] or machine["code"] not in (0, 2, 4)] == []
    assert [machine for machine in machines if "--debug" in machine["complaint"]] == [], "each error names what is missing"


@linux
@pytest.mark.parametrize("isolation", ["process", "none"])
def test_a_machine_without_proc_is_refused(isolation: str, example: tuple[Path, Path], tmp_path: Path) -> None:
    """Without /proc no private copy of a database can be opened, which would be a 0 of the answer: one error, and nothing is scored."""
    mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if shutil.which("unshare") is None or finished([*mount, "true"]).returncode != 0:
        pytest.skip("this system lets no user mount a file system of his own (unshare)")
    words = ["run", example[0], "--gold", example[1], "--out", tmp_path / "run", "--isolation", isolation]
    done = finished([*mount, sys.executable, "-m", "evalsuite", *words], cwd=ROOT)
    assert (done.returncode, "/proc is not mounted" in done.stderr, (tmp_path / "run").exists()) == (2, True, False), done.stderr


def make_whole(folder: Path) -> None:
    """A working folder with what the commands below want."""
    text_gold(folder / "gold", b="Rome" * 150)
    for name, answer in (("sub", "Bern"), ("sub2", "Oslo")):
        text_submission(folder / name, b=answer)
    texts = {"q.csv": "input,reference_output\nCapital of France?,Paris\n", "tables/t.csv": "x,y\n1,2\n", "case.md": "old"}
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for name, out in (("sub", "one"), ("sub2", "two")):
        assert main(["run", name, "--isolation", "none", "-q", "--out", out]) == 0
    assert main(["suite", "create", "capitals", "--from", "q.csv", "--scorer", "f1"]) == 0


whole = copy_of(make_whole)


@linux
@pytest.mark.usefixtures("shared_fork_server")
@pytest.mark.parametrize(
    ("line", "n_bytes", "named"),
    [
        ("runs keys new key", 0, "cannot write key: "),
        ("runs keys new key", 300, "cannot write key: "),
        ("runs tag one --add x", 0, "one/tags.json: "),
        ("suite create new --from q.csv --scorer f1", 0, ".evalsuite/suites/new/gold/suite_eval.jsonl: "),
        ("suite create new --from q.csv --scorer f1", 300, ".evalsuite/suites/new/suite.json: "),
        ("suite rename capitals cities", 0, ".evalsuite/suites/capitals/.suite.json.new: "),
        ("example play", 80, "cannot write play/gold: "),
        ("init --gold-from tables --out made", 30, "cannot write made: "),
        ("bundle b --run one -o case", 1024, "cannot write case: "),
        ("bundle b --run one -o case.md", 1024, "cannot write case.md: "),
    ],
)
def test_a_full_disk_is_named_and_nothing_half_stays(
    line: str, n_bytes: int, named: str, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that finds no room for a file names it, leaves what was there as it was, and works as soon as there is room."""

    def there() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in whole.rglob("*") if path.is_file() and "suites/new" not in str(path)}

    before = there()
    with room_for_files(n_bytes):
        assert main(line.split()) in (1, 2)
    assert f"error: {named}{os.strerror(errno.EFBIG)}" in capsys.readouterr().err
    assert there() == before
    assert main(line.split()) == 0


@pytest.mark.parametrize(
    "line",
    [
        *("gold check gold", "gold audit gold", "gold lint gold", "gold suspects one two", "runs verify one", "runs drift one --runs ."),
        *("leaderboard sub", "leaderboard one --receipts", "validate sub", "compare sub sub2", "explain b --run one", "check b --run one"),
    ],
)
def test_a_small_machine_is_never_the_fault_of_files(line: str, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command that reads files of gold or a submission says what the machine lacks; no gold or submission is called unreadable."""
    monkeypatch.setattr(limits, "_soft_limit", {"AS": 200 * MIB}.get)
    says = said(line, code=EXIT_USAGE)
    assert "error: this machine gives a process 200 MiB of address space" in says
    assert "hint: raise it (ulimit -v)" in says


@pytest.mark.usefixtures("shared_fork_server", "whole")
@pytest.mark.parametrize("line", ["gold check gold --no-save", "gold audit gold"])
def test_a_killed_worker_is_never_the_fault_of_gold(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system kills the workers that read gold, gold is neither without full marks nor refused by its own checks: exit code 2."""
    killed = {**dict.fromkeys(("score", "official", "strict")), "status": "unscored", "fault": "LIMIT", "reason": "LIMIT: killed"}
    results = Pool.results
    monkeypatch.setattr(Pool, "results", lambda self, tasks: (replace(result, **killed) for result in results(self, tasks)))
    assert said(line, code=EXIT_USAGE) == "error: b: killed\nhint: check gold again with more memory, or under less load\n"


def test_a_file_and_a_time_beyond_the_limits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the plan needs counts, and not only what its limits say. Under a limit of its own under which no library can be loaded every
    answer would be at fault.
    """
    with pytest.raises(UsageError, match="a worker takes 320 MiB"):
        check_limits(resolve_limits({"memory_mib": 200}))
    check_limits(resolve_limits({"memory_mib": 320}))
    said = {"FSIZE": 1_000_000, "CPU": 60, "STACK": 2 * MIB}
    monkeypatch.setattr(limits, "_soft_limit", said.get)
    check_limits(DEFAULT_LIMITS, seconds=60, n_bytes=1_000_000)
    with pytest.raises(UsageError, match="writes one of 1000001 bytes"):
        check_limits(DEFAULT_LIMITS, n_bytes=1_000_001)
    with pytest.raises(UsageError, match=r"one answer may take 60\.5 s"):
        check_limits(DEFAULT_LIMITS, seconds=60.5)
    said["STACK"] -= 1
    with pytest.raises(UsageError, match="gives a process 2047 KiB of stack: a deep answer takes up to 2048 KiB"):
        check_limits(DEFAULT_LIMITS)


@pytest.mark.parametrize(
    ("n_mib", "sizes", "jobs"),
    [
        (None, [10**9] * 8, 8),
        (8000, [1000] * 8, 8),
        (600, [1000] * 8, 4),
        (300, [1000] * 8, 1),
        (300, [], 1),
        (2000, [100 * MIB, 10 * MIB, *[1000] * 9], 5),
        (1500, [100 * MIB, 10 * MIB, *[1000] * 9], 1),
        (1400, [100 * MIB, 10 * MIB, *[1000] * 9], None),
        (200, [1000], None),
    ],
)
def test_as_many_side_by_side_as_there_is_room_for(
    n_mib: int | None, sizes: list[int], jobs: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest answers decide how many fit into what is left; where not even one does the run is refused. Each pair of workers takes
    descriptors of the process that runs them.
    """
    monkeypatch.setattr(limits, "memory_room", lambda: None)
    monkeypatch.setattr(limits, "_soft_limit", lambda name: 120 if name == "NOFILE" else None)
    assert jobs_that_fit(8, [1], DEFAULT_LIMITS)[0] == 4
    monkeypatch.setattr(limits, "_soft_limit", lambda _: None)
    monkeypatch.setattr(limits, "memory_room", lambda: None if n_mib is None else (n_mib * MIB, "/sys/fs/cgroup/memory.max"))
    if jobs is None:
        with pytest.raises(UsageError, match=f"{n_mib} MiB of memory left"):
            jobs_that_fit(8, sizes, DEFAULT_LIMITS)
        return
    fits, why = jobs_that_fit(8, sizes, DEFAULT_LIMITS)
    assert fits == jobs
    assert (why == "") == (jobs == 8)


def test_fewer_jobs_are_said(example: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is made slower says so, and its receipt has the number."""
    monkeypatch.setattr(limits, "memory_room", lambda: (400 * MIB, "/sys/fs/cgroup/memory/memory.limit_in_bytes"))
    said: list[str] = []
    done = run(*example, RunOptions(out=tmp_path / "run", jobs=8, tell=said.append))
    (line,) = said
    assert line.startswith("--jobs 2 instead of 8: 400 MiB of memory left")
    assert done.receipt["jobs"] == 2


@linux
def test_what_a_group_holds_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a limit that is left which the group has not used; what it can let go of counts as free."""
    for name, text in {"max": 1000 * MIB, "current": 600 * MIB, "stat": f"anon 1\ninactive_file {200 * MIB}\n"}.items():
        (tmp_path / f"memory.{name}").write_text(str(text))
    monkeypatch.setattr(limits, "memory_limit", lambda: (1000 * MIB, tmp_path / "memory.max"))
    room = limits.memory_room()
    assert room is not None
    assert room[0] <= 600 * MIB


def tables(folder: Path) -> tuple[Path, Path]:
    """(submission, gold) of one right table."""
    case = ("table_match", {"gold": "t.csv"}, Path("t.csv"))
    return write_sides(folder / "submission", folder / "gold", {"t": case}, {"t/t.csv": "id,v\n1,2\n"})


@pytest.mark.parametrize(
    ("number", "place"),
    [
        *((number, "_walk") for number in (errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM, errno.ENOSPC, errno.ESTALE)),
        *((number, "read_answer") for number in (errno.EIO, errno.ESTALE)),
    ],
)
def test_a_file_that_the_machine_cannot_open_or_read_is_unscored(
    number: int, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails, in the middle of a file too, or a table of open files that is full is no missing file."""

    def fail(root: object = None, *more: Any, plain: Any = paths._walk, **named: Any) -> int:
        if place == "_walk" and not (getattr(root, "name", "") == "submission" and more[0][-1] == "t.csv"):
            return int(plain(root, *more))
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(paths if place == "_walk" else load_answer, place, fail)
    submission, gold = tables(tmp_path)
    (task,) = plan(read_gold(gold), read_submission(submission), rules="official", limits=resolve_limits())
    result = score_task(task)
    assert (result.status, result.score, result.official, result.strict, result.fault) == ("unscored", None, None, None, "LIMIT")
    assert "this machine" in result.reason
    assert "--resume" in result.details["hint"]


@linux
def test_a_full_memory_is_not_the_answers_fault(tmp_path: Path) -> None:
    """A database for whose copy there is no room is unscored: its bytes are within what an answer may have."""
    import duckdb

    from evalsuite.core.errors import FaultError
    from evalsuite.readers.duckdb_tables import unnamed_copy

    place = tmp_path / "t.duckdb"
    duckdb.connect(str(place)).execute("CREATE TABLE t AS SELECT range a FROM range(100000)").close()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with place.open("rb") as source, pytest.raises(FaultError, match="this machine has no space") as raised:
            unnamed_copy(source, 1 << 30)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (raised.value.side, raised.value.fault.side) == ("setup", "setup")


def test_gold_that_the_machine_cannot_read_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that fails in gold costs no answer anything: the run ends with 2, names the file, and writes nothing."""
    submission, gold = tables(tmp_path)

    def fail(_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(gold_files, "content_digest", fail)
    assert main(["run", str(submission), "--gold", str(gold), "--out", str(tmp_path / "run")]) == EXIT_USAGE
    assert capsys.readouterr().err.startswith(f"error: {gold / 'made_eval.jsonl'} cannot be read: Input/output error\n")
    assert not (tmp_path / "run").exists()
