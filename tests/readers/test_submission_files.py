"""The hash of a submission: the same for the same content, another for another byte, and remembered only as long as nobody touched it."""

import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import OutputError
from evalsuite.core.types import Answer, Fault, GoldInstance, Result, Submission, Task
from evalsuite.gold.layouts import read_submission
from evalsuite.readers import submission as reading
from evalsuite.readers import submission_files
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.submission import read_metadata
from evalsuite.readers.submission_files import (
    _stamp_of_files,
    cached_hash,
    file_contents,
    has_changed,
    hash_of,
    named_hash,
    read_of,
    submission_hash,
    uncertain_instances,
)
from evalsuite.runs import plan
from evalsuite.runs import scoring as running
from evalsuite.runs.history_index import find_scored, key_of
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import InterruptedRun, Run, run
from evalsuite.runs.worker_pool import WorkerPair
from evalsuite.sandbox.fork_server import Worker
from tests.cli.test_run import write_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A submission of one text and one file."""
    rows = [
        {"instance_id": "t", "answer_type": "answer", "answer_or_path": "Paris"},
        {"instance_id": "f", "answer_type": "file", "answer_or_path": "r.csv"},
    ]
    write_lines(tmp_path / "sub" / "results_metadata.jsonl", *rows)
    (tmp_path / "sub" / "f").mkdir()
    (tmp_path / "sub" / "f" / "r.csv").write_text("n\n1\n")
    return tmp_path / "sub"


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is ten seconds on, so that files just written count as settled."""
    now = time.time_ns
    monkeypatch.setattr(submission_files.time, "time_ns", lambda: now() + 10_000_000_000)


def known(folder: Path, memo: DiskCache) -> str:
    """The hash through the memo."""
    return cached_hash(folder, memo, limits=DEFAULT_LIMITS, gold_inodes=frozenset(), gold_hash="", read=lambda: read_metadata(folder))


def plain(folder: Path) -> str:
    """The hash by reading everything."""
    return submission_hash(read_submission(folder))


@pytest.mark.parametrize("what", ["byte", "byte and mtime", "gone", "link", "folder link", "metadata"])
def test_every_change_is_seen(folder: Path, what: str, settled: None) -> None:
    """A changed byte of the same length with its old mtime set again, a file gone, a link in its place: the memo does not answer."""
    memo = DiskCache(folder.parent / "cache")
    before = known(folder, memo)
    file, meta = folder / "f" / "r.csv", folder / "results_metadata.jsonl"
    seen = file.stat()
    if what.startswith("byte"):
        file.write_text("n\n2\n")
        if what != "byte":
            os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    elif what == "gone":
        file.unlink()
    elif what == "link":
        file.rename(folder / "away.csv")
        file.symlink_to("../away.csv")
    elif what == "folder link":
        (folder / "f").rename(folder / "g")
        (folder / "f").symlink_to("g")
    else:
        meta.write_text(meta.read_text().replace("Paris", "Parma"))
    after = known(folder, memo)
    assert after == plain(folder)
    assert after != before
    fault = {"gone": "MISSING_FILE", "link": "BAD_PATH", "folder link": "BAD_PATH"}.get(what)
    assert file_contents(read_submission(folder))["f/r.csv"] == (fault or hashlib.sha256(file.read_bytes()).hexdigest())


@pytest.mark.parametrize("linked", ["t", "t/a", "t/a/b"])
def test_a_link_at_any_depth_is_seen(folder: Path, linked: str) -> None:
    """The same file through a link, with its inode and times, has another stamp."""
    (folder / "t" / "a" / "b").mkdir(parents=True)
    (folder / "t" / "a" / "b" / "r.csv").write_text("n\n1\n")
    before, newest = _stamp_of_files(folder, ["t/a/b/r.csv"], frozenset())
    (folder / linked).rename(folder / "away")
    (folder / linked).symlink_to(folder / "away")
    after, same = _stamp_of_files(folder, ["t/a/b/r.csv"], frozenset())
    assert (before == after, newest == same) == (False, True)
    assert _stamp_of_files(folder, ["none/r.csv"], frozenset())[1] == 0


def test_what_the_files_of_a_submission_contain(folder: Path) -> None:
    """What is known is not read, and the metadata file has no limit."""
    read, meta, file = read_submission(folder), "results_metadata.jsonl", "f/r.csv"
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (meta, file)}
    assert file_contents(read) == {meta: read.digest, file: digests[file]} == digests
    assert file_contents(read, known={file: "7"}) == {**digests, file: "7"}
    assert named_hash(read) == hash_of({meta: digests[meta], file: ""})
    assert named_hash(replace(read, digest=None, metadata="")) == hash_of({meta: "", file: ""})
    unread = replace(read, digest=None, limit_bytes=3)
    assert file_contents(unread) == {**digests, file: "TOO_LARGE"}
    tasks = [
        Task(instance=GoldInstance(instance_id=name, checks=()), answer=answer, gold_folder=Path(), submission_folder=folder)
        for name, answer in (("none", None), ("t", read.answers["t"]), ("f", read.answers["f"]))
    ]
    whole = Result(
        instance_id="f",
        status="scored",
        score=0,
        official=0,
        strict=0,
        scorer=None,
        reason="",
        fault=None,
        digests={"r.csv": digests[file]},
    )
    results = {"f": whole, "none": whole}
    for result, known in (
        (whole, {file: digests[file]}), (replace(whole, digests={}), {}), (replace(whole, digests={"r.csv": "BAD_PATH"}), {}),
        (replace(whole, digests={"s.csv": digests[file]}), {}),
    ):  # fmt: skip
        assert read_of(tasks, {**results, "f": result}) == known
    assert read_of(tasks, {"none": whole}) == {}
    assert [has_changed(read, {file: text}) for text in (digests[file], "7")] == [False, True]


def test_a_folder_that_cannot_be_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files have the status that they have."""

    def fail(_: object) -> None:
        raise PermissionError

    before = _stamp_of_files(folder, ["f/r.csv"], frozenset())
    monkeypatch.setattr(submission_files.os, "scandir", fail)
    assert _stamp_of_files(folder, ["f/r.csv"], frozenset()) == before


def test_an_untouched_folder_is_not_read(folder: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time no file is opened, also by another process that shares the memo's file."""
    memo = DiskCache(folder.parent / "cache")
    before = known(folder, memo)
    memo.close()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(reading, "open_confined", refuse)
    assert known(folder, DiskCache(folder.parent / "cache")) == before


def test_a_link_to_gold_changes_the_hash(folder: Path) -> None:
    """The same bytes as a hard link to a gold file are another submission: they will not be read."""
    seen = (folder / "f" / "r.csv").stat()
    assert submission_hash(read_submission(folder), frozenset({(seen.st_dev, seen.st_ino)})) != plain(folder)


def run_while(folder: Path, then: Callable[[], object], *, after: Callable[[], object] = lambda: None, **options: Any) -> Run:
    """A run of the submission in which something happens before its files are read, or `after` they were."""
    gold = folder.parent / "gold"
    if not gold.exists():
        checks = {
            "t": {"func": "string_match", "parameters": {"gold": "Paris"}},
            "f": {"func": "table_match", "parameters": {"gold": "g.csv"}},
        }
        write_lines(gold / "toy_eval.jsonl", *({"instance_id": name, "evaluation": check} for name, check in checks.items()))
        (gold / "f").mkdir()
        (gold / "f" / "g.csv").write_text("n\n1\n")

    own_reading, hashing = plan.read_submission_in_worker, running.file_contents

    def read(*arguments: Any, **said: Any) -> Submission:
        found = own_reading(*arguments, **said)
        then()
        return found

    def hashed(*arguments: Any, **said: Any) -> dict[str, str]:
        after()
        return hashing(*arguments, **said)

    progress = options.pop("progress", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "read_submission_in_worker", read)
        patch.setattr(running, "file_contents", hashed)
        return run(folder, gold, RunOptions(**{"runs_folder": folder.parent / "runs", "isolation": "none", **options}), progress=progress)


def said(finished: Run) -> dict[str, Any]:
    """What the saved run says of its submission."""
    assert finished.folder is not None
    found: dict[str, Any] = json.loads((finished.folder / "run.json").read_text())["submission"]
    return found


def found_again(finished: Run, folder: Path) -> bool:
    """Whether the saved run stands for the submission as it lies in the folder now."""
    assert finished.folder is not None
    key = key_of(finished.signature, "", plain(folder))
    return bool(find_scored(finished.folder.parent, {key}, DiskCache(None)))


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_a_run_stands_for_the_bytes_that_it_read(folder: Path, isolation: str) -> None:
    """Whatever lies there before and after: the run is found again by the bytes its verdicts are of, and by no others."""
    file = folder / "f" / "r.csv"
    honest = run_while(folder, lambda: None, isolation=isolation)
    assert said(honest)["hash"] == plain(folder)
    assert "unsure" not in said(honest)
    assert found_again(honest, folder)
    shutil.rmtree(folder.parent / "runs")
    raced = run_while(folder, lambda: file.write_text("n\n2\n"), after=lambda: file.write_text("n\n1\n"), isolation=isolation)
    assert [(result.instance_id, result.score) for result in raced.results] == [("t", 1), ("f", 0)]
    assert not found_again(raced, folder)
    file.write_text("n\n2\n")
    assert found_again(raced, folder)


@pytest.mark.parametrize(("ended_by", "status"), [(signal.SIGSEGV, "crashed"), (signal.SIGKILL, "unscored")])
def test_what_a_dead_worker_read_is_unknown(ended_by: signal.Signals, status: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have been a file that is gone: the run is not taken for one of the submission, whether the worker crashed or was killed."""
    original = WorkerPair.order

    def order(self: WorkerPair, worker: Worker, message: bytes) -> None:
        # Stopped, so that the reader has its order before it dies: an order that cannot be sent is not the task's fault.
        if is_reader := worker is self.workers["reader"]:
            os.kill(worker.pid, signal.SIGSTOP)
        original(self, worker, message)
        if is_reader:
            os.kill(worker.pid, ended_by)
            os.kill(worker.pid, signal.SIGCONT)

    monkeypatch.setattr(WorkerPair, "order", order)
    died = run_while(folder, lambda: None, isolation="process")
    assert {result.instance_id: result.status for result in died.results} == {"t": "scored", "f": status}
    assert said(died)["unsure"] == ["f"]
    assert not found_again(died, folder)


def test_what_was_read_outlives_an_interruption(folder: Path) -> None:
    """The journal of an unfinished run says what each verdict is of: it goes on with those bytes alone; the finished results are silent."""
    file = folder / "f" / "r.csv"

    def stop(done: int, total: int) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRun):
        run_while(folder, lambda: file.write_text("n\n2\n"), progress=stop)
    file.write_text("n\n1\n")
    (place,) = (folder.parent / "runs").iterdir()
    with pytest.raises(OutputError, match=r"other submission$"):
        run_while(folder, lambda: None, resume=place)
    file.write_text("n\n2\n")
    resumed = run_while(folder, lambda: None, resume=place)
    assert said(resumed)["hash"] == plain(folder)
    assert found_again(resumed, folder)
    assert "digests" not in (place / "results.jsonl").read_text()


@pytest.mark.parametrize(
    ("kind", "status", "code", "digests", "changed", "is_certain"),
    [
        ("answer", "crashed", None, {}, [], True),
        ("file", "scored", None, {}, [], True),
        ("file", "timeout", None, {}, [], False),
        ("file", "crashed", None, {}, [], False),
        ("file", "unscored", "LIMIT", {}, [], False),
        ("file", "unscored", "NEEDS_EXTRA", {}, [], True),
        ("file", "submission_fault", "LIMIT", {}, [], True),
        ("file", "crashed", None, {"r.csv": "1"}, [], True),
        ("file", "scored", None, {"r.csv": "2"}, [], False),
        ("file", "scored", None, {"s.csv": "2", "../r.csv": "2"}, [], False),
        ("file", "scored", None, {"other": "2"}, [], True),
        ("answer", "scored", None, {}, ["a/g.csv"], False),
        ("answer", "scored", None, {}, ["b/g.csv"], False),
        ("files", "scored", None, {"r.csv": "1", "s.csv": "3"}, [], True),
        ("files", "scored", None, {"r.csv": "1", "s.csv": "2"}, [], False),
        ("fault", "crashed", None, {}, [], True),
        ("none", "crashed", None, {}, [], True),
    ],
)
def test_of_which_answers_nobody_knows_what_was_read(
    kind: str, status: Any, code: str | None, digests: dict[str, str], changed: list[str], is_certain: bool
) -> None:
    """Other bytes than the run names, a worker that died, or gold that changed: of that instance, or for all."""
    value = ("r.csv", "s.csv") if kind == "files" else "s.csv" if "s.csv" in digests else "r.csv"
    fault = Fault(code="BAD_METADATA") if kind == "fault" else None
    answer = None if kind == "none" else Answer(instance_id="a", answer_type="file" if kind == "fault" else kind, value=value, fault=fault)
    task = Task(instance=GoldInstance(instance_id="a", checks=()), answer=answer, gold_folder=Path(), submission_folder=Path())
    result = Result(instance_id="a", status=status, score=0, official=0, strict=0, scorer=None, reason="", fault=code, digests=digests)
    found = uncertain_instances([task], [result], {"a/r.csv": "1", "a/s.csv": "3"}, changed_gold=changed)
    assert found == (() if is_certain else ("a",))
    assert uncertain_instances([task], [result], {}, changed_gold=changed) == ()
