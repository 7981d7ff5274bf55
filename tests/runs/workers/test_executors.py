"""Executors: whatever scores the tasks, the results are the same; a lost dask worker costs nothing but time."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import EvalsuiteError, MissingExtraError, UsageError
from evalsuite.core.version import __version__
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.gold_files import gold_hash, gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.executors import Work, check_executor, open_executor
from evalsuite.runs.plan import plan
from evalsuite.runs.rescoring import Shard, merge
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.sandbox.limits import descendants
from tests.conftest import ROOT
from tests.processes import started
from tests.runs.made import load_scorer, make, without_seconds, write_sides

pytestmark = pytest.mark.usefixtures("quick_fork_servers")
N_TEXTS = 3000


def texts(folder: Path, n: int = N_TEXTS, *, func: str = "string_match", odd: str = "") -> tuple[Path, Path]:
    """(submission, gold) of n text answers, every third one wrong, the last one `odd` where that is given."""
    gold, submission = folder / "gold", folder / "submission"
    said = [f"city {at if at % 3 else 'x'}" for at in range(n)]
    said[-1] = odd or said[-1]
    return write_sides(submission, gold, {f"text_{at:05}": (func, {"gold": f"city {at}"}, text) for at, text in enumerate(said)})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A dask cluster of two worker processes; whatever a worker dies of, its task is not tried there again."""
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    import dask

    settings = {"distributed.scheduler.allowed-failures": 0}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made,
    ):
        yield made


def test_dask_gives_the_same_results(cluster: Any, tmp_path: Path) -> None:
    """Tables, databases, broken files and texts: dask writes the same `results.jsonl` as one local worker but for seconds."""
    submission, gold = make(tmp_path, n=24)
    run(submission, gold, RunOptions(jobs=1, out=tmp_path / "local"))
    run(submission, gold, RunOptions(executor="dask", scheduler=cluster.scheduler_address, out=tmp_path / "dask"))
    assert without_seconds(tmp_path / "dask") == without_seconds(tmp_path / "local")
    assert json.loads((tmp_path / "dask" / "run.json").read_text())["receipt"]["executor"] == "dask"


@pytest.mark.extras
@pytest.mark.parametrize("phase", ["before", "between", "sandboxed"])
def test_a_killed_dask_worker_loses_nothing(phase: str, tmp_path: Path) -> None:
    """A worker process is killed before the first results, when they are there, or the workers that it forked are: every instance is
    scored all the same, and once.
    """
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    submission, gold = texts(tmp_path) if phase != "sandboxed" else make(tmp_path, n=24)
    run(submission, gold, RunOptions(out=tmp_path / "whole"))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        dask_workers, killed, is_done = list(client.run(os.getpid).values()), list[int](), threading.Event()

        def kill(_done: int = 0, _total: int = 0) -> None:
            while not killed and not is_done.wait(0.002):
                victims = dask_workers
                if phase == "sandboxed":
                    victims = [pid for one in dask_workers for pid in descendants(one)[1:] if is_forked_worker(pid)]
                if phase == "before" and not any(client.processing().values()):
                    victims = []
                for victim in victims[:1] if phase != "sandboxed" else victims:
                    with suppress(ProcessLookupError):
                        os.kill(victim, signal.SIGKILL)
                        killed.append(victim)

        killer = threading.Thread(target=kill)
        if phase != "between":
            killer.start()
        try:
            options = RunOptions(executor="dask", scheduler=cluster.scheduler_address, out=tmp_path / "killed")
            run(submission, gold, options, progress=kill if phase == "between" else None)
        finally:
            is_done.set()
            if phase != "between":
                killer.join()
    assert killed
    assert without_seconds(tmp_path / "killed") == without_seconds(tmp_path / "whole")


def is_forked_worker(process: int) -> bool:
    """Whether a process is a worker that opens answers: the fork server and its parent only start it."""
    with suppress(OSError):
        return b"evalsuite.sandbox.worker_main" in Path(f"/proc/{process}/cmdline").read_bytes() and descendants(process) == [process]
    return False


def test_an_answer_that_kills_every_worker_costs_itself(cluster: Any, tmp_path: Path) -> None:
    """The chunk of such an answer is halved until it is found; the others of the chunk are scored."""
    body = "if prediction == 'die': os._exit(1)\nreturn Score(official=prediction == gold, strict=prediction == gold)"
    load_scorer(tmp_path, "deadly", body, before="import os")
    submission, gold = texts(tmp_path, 12, func="deadly", odd="die")
    done = run(submission, gold, RunOptions(executor="dask", scheduler=cluster.scheduler_address, save=False))
    assert [(result.fault, result.score) for result in done.results[11:]] == [("SCORER_ERROR", None)]
    assert [result.score for result in done.results[:11]] == [float(at % 3 > 0) for at in range(11)]


def test_workers_that_do_not_see_the_folders_are_an_error(cluster: Any, tmp_path: Path) -> None:
    """Gold that is another one on the workers ends the run with a message, instead of a score of nothing."""
    submission, gold = make(tmp_path, n=4)
    read = read_gold(gold)
    assert gold_hash(gold) != "0" * 12
    work = Work(jobs=1, isolation="none", gold=read, gold_inodes=frozenset(), scheduler=cluster.scheduler_address)
    limits = {**read.suite.limits}
    tasks = plan(read, read_submission(submission), rules=None, limits=resolve_limits(limits))
    executor = open_executor("dask", work)
    with pytest.raises(EvalsuiteError, match="another gold"):
        list(executor.results(tasks))


def test_only_workers_made_for_the_run_believe_what_the_parent_saw(tmp_path: Path) -> None:
    """They get the inodes of gold's files from it, by which a link to gold is refused; others look for themselves, at the gold they see."""
    from evalsuite.runs.dask_pool import _make_shared, _prepare_worker

    submission, gold = make(tmp_path, n=8)
    read = replace(read_gold(gold), hash=gold_hash(gold))
    tasks = plan(read, read_submission(submission), rules=None, limits=resolve_limits())
    seen = gold_inodes(gold) | {(0, 0)}
    for scheduler, found in ((None, seen), ("tcp://10.0.0.5:8786", seen - {(0, 0)})):
        shared = _make_shared(tasks, Work(jobs=1, isolation="process", gold=read, gold_inodes=seen, scheduler=scheduler))
        assert _prepare_worker(shared)[0] == found


@pytest.mark.extras
def test_dask_still_knows_what_is_set_for_a_cluster_of_its_own() -> None:
    """A key that dask renames would be set for nobody."""
    dask = pytest.importorskip("dask", reason="the extra `dask` is not installed")
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    from evalsuite.runs.dask_pool import _UNWATCHED

    assert [key for key in _UNWATCHED if dask.config.get(key, None) is None] == []


def test_no_such_executor_and_no_such_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown names, addresses and a dask that is not installed are errors that say what to write, before a run folder is made."""
    from evalsuite.core.types import Gold, Suite

    gold = Gold(folder=Path("gold"), spec_file=Path("gold/x_eval.jsonl"), instances=(), suite=Suite(name="gold"))
    work = Work(jobs=1, isolation="none", gold=gold, gold_inodes=frozenset(), scheduler="tcp://127.0.0.1:9")
    with pytest.raises(UsageError, match="no executor 'spark'"):
        open_executor("spark", work)
    with pytest.raises(UsageError, match="not used by --executor local"):
        open_executor("local", work)
    monkeypatch.setattr("evalsuite.runs.executors.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="needs the package distributed"):
        check_executor("dask", None)


@pytest.mark.extras
def test_an_unreachable_scheduler_is_an_error(tmp_path: Path) -> None:
    """Nothing listens on the port: the run ends with a message and a hint, and can be resumed."""
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    submission, gold = texts(tmp_path, 3)
    with pytest.raises(EvalsuiteError, match="no dask workers at tcp"):
        run(submission, gold, RunOptions(executor="dask", scheduler="tcp://127.0.0.1:9", out=tmp_path / "run"))
    done = run(submission, gold, RunOptions(resume=tmp_path / "run"))
    assert done.summary.n_gold == 3


@contextmanager
def real_cluster(folder: Path, *, python_path: str = "") -> Iterator[tuple[str, Any]]:
    """The address of a dask scheduler with one worker, and the scheduler's process; the worker may import another evalsuite."""
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    quiet: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with started([*start, "--scheduler-file", file], **quiet) as scheduler:
        while not file.exists():
            assert scheduler.poll() is None
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
        with started(worker, env={**os.environ, "PYTHONPATH": python_path or str(ROOT)}, **quiet):
            yield address, scheduler


@pytest.mark.extras
def test_a_scheduler_that_ends_is_an_error_and_the_run_goes_on_with_the_next(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is killed when the first results are there: one error without dask's own words, and `--resume` with another one adds the rest."""
    submission, gold = texts(tmp_path)
    run(submission, gold, RunOptions(out=tmp_path / "whole"))
    with real_cluster(tmp_path) as (address, scheduler):
        options = RunOptions(executor="dask", scheduler=address, out=tmp_path / "killed")
        with pytest.raises(EvalsuiteError, match="the dask scheduler is gone"):
            run(submission, gold, options, progress=lambda _done, _total: scheduler.kill())
    assert not (tmp_path / "killed/run.json").exists()
    assert "Traceback" not in capfd.readouterr().err
    with real_cluster(tmp_path) as (address, _):
        run(submission, gold, RunOptions(executor="dask", scheduler=address, resume=tmp_path / "killed"))
    assert without_seconds(tmp_path / "killed") == without_seconds(tmp_path / "whole")


@pytest.mark.extras
@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("core/version.py", __version__, "0.0.1", r"a dask worker has other packages installed: .*evalsuite:0\.0\.1"),
        ("runs/dask_pool.py", "def score_chunk", "def score_some", "a dask worker failed: "),
    ],
)
def test_a_worker_with_another_evalsuite_is_refused(file: str, old: str, new: str, words: str, tmp_path: Path) -> None:
    """Another version is named, and one that does not know what it is asked is an error, not a score."""
    submission, gold = texts(tmp_path, 9)
    other = tmp_path / "other/evalsuite"
    shutil.copytree(ROOT / "evalsuite", other, ignore=shutil.ignore_patterns("__pycache__"))
    text = (other / file).read_text(encoding="utf-8")
    assert old in text
    (other / file).write_text(text.replace(old, new), encoding="utf-8")
    with real_cluster(tmp_path, python_path=str(other.parent)) as (address, _), pytest.raises(EvalsuiteError, match=words):
        run(submission, gold, RunOptions(executor="dask", scheduler=address, out=tmp_path / "run"))
    assert not (tmp_path / "run/run.json").exists()


@pytest.mark.extras
def test_shards_scored_by_dask_merge_to_the_same_run(cluster: Any, tmp_path: Path) -> None:
    """Two parts, one scored by dask and one here, are byte by byte what one run writes, but for seconds."""
    submission, gold = make(tmp_path, n=24)
    run(submission, gold, RunOptions(jobs=1, out=tmp_path / "whole"))
    run(submission, gold, RunOptions(executor="dask", scheduler=cluster.scheduler_address, shard=Shard(1, 2), out=tmp_path / "one"))
    run(submission, gold, RunOptions(jobs=1, shard=Shard(2, 2), out=tmp_path / "two"))
    merge([tmp_path / "one", tmp_path / "two"], tmp_path / "merged")
    assert without_seconds(tmp_path / "merged") == without_seconds(tmp_path / "whole")
