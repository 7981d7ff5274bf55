"""The files of a submission: its hash follows its content, other names of its metadata are told, and a URL is copied by name."""

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.dataclasses import replace
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import EXIT_USAGE, MissingExtraError, OutputError, SubmissionError
from evalsuite.core.types import METADATA, Answer, Fault, GoldInstance, Result, Submission, Task
from evalsuite.gold.layouts import read_submission
from evalsuite.readers import submission as reading
from evalsuite.readers import submission_files
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.submission import read_metadata
from evalsuite.runs import plan
from evalsuite.runs import scoring as running
from evalsuite.runs.history_index import find_scored, key_of
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import InterruptedRun, Run, run
from evalsuite.runs.worker_pool import WorkerPair
from evalsuite.sandbox.fork_server import Worker
from tests.cli.test_run import check, write_answers, write_gold
from tests.properties import is_full

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A submission of one text and one file."""
    write_answers(tmp_path / "sub", ("t", "answer", "Paris"), ("f", "file", "r.csv"))
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
    return submission_files.cached_hash(
        folder, memo, limits=DEFAULT_LIMITS, gold_inodes=frozenset(), gold_hash="", read=lambda: read_metadata(folder)
    )


def plain(folder: Path) -> str:
    """The hash by reading everything."""
    return submission_files.submission_hash(read_submission(folder))


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
    assert submission_files.file_contents(read_submission(folder))["f/r.csv"] == (fault or hashlib.sha256(file.read_bytes()).hexdigest())


@pytest.mark.parametrize("linked", ["t", "t/a", "t/a/b"])
def test_a_link_at_any_depth_is_seen(folder: Path, linked: str) -> None:
    """The same file through a link, with its inode and times, has another stamp."""
    (folder / "t" / "a" / "b").mkdir(parents=True)
    (folder / "t" / "a" / "b" / "r.csv").write_text("n\n1\n")
    before, newest = submission_files._stamp_of_files(folder, ["t/a/b/r.csv"], frozenset())
    (folder / linked).rename(folder / "away")
    (folder / linked).symlink_to(folder / "away")
    after, same = submission_files._stamp_of_files(folder, ["t/a/b/r.csv"], frozenset())
    assert (before == after, newest == same) == (False, True)
    assert submission_files._stamp_of_files(folder, ["none/r.csv"], frozenset())[1] == 0


def test_what_the_files_of_a_submission_contain(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known is not read, and the metadata file has no limit. Its files have the status that they have."""
    read, meta, file = read_submission(folder), "results_metadata.jsonl", "f/r.csv"
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (meta, file)}
    assert submission_files.file_contents(read) == {meta: read.digest, file: digests[file]} == digests
    assert submission_files.file_contents(read, known={file: "7"}) == {**digests, file: "7"}
    assert submission_files.named_hash(read) == submission_files.hash_of({meta: digests[meta], file: ""})
    assert submission_files.named_hash(replace(read, digest=None, metadata="")) == submission_files.hash_of({meta: "", file: ""})
    unread = replace(read, digest=None, limit_bytes=3)
    assert submission_files.file_contents(unread) == {**digests, file: "TOO_LARGE"}
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
        assert submission_files.read_of(tasks, {**results, "f": result}) == known
    assert submission_files.read_of(tasks, {"none": whole}) == {}
    assert [submission_files.has_changed(read, {file: text}) for text in (digests[file], "7")] == [False, True]

    def fail(_: object) -> None:
        raise PermissionError

    before = submission_files._stamp_of_files(folder, ["f/r.csv"], frozenset())
    monkeypatch.setattr(submission_files.os, "scandir", fail)
    assert submission_files._stamp_of_files(folder, ["f/r.csv"], frozenset()) == before


def test_links_to_gold_and_an_untouched_folder(folder: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hard link to gold is another submission; an untouched folder is hashed without opening a file, in any process."""
    seen = (folder / "f" / "r.csv").stat()
    assert submission_files.submission_hash(read_submission(folder), frozenset({(seen.st_dev, seen.st_ino)})) != plain(folder)
    memo = DiskCache(folder.parent / "cache")
    before = known(folder, memo)
    memo.close()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(reading, "open_confined", refuse)
    assert known(folder, DiskCache(folder.parent / "cache")) == before


def run_while(folder: Path, then: Callable[[], object], *, after: Callable[[], object] = lambda: None, **options: Any) -> Run:
    """A run of the submission in which something happens before its files are read, or `after` they were."""
    gold = folder.parent / "gold"
    if not gold.exists():
        write_gold(gold, t=check("string_match", gold="Paris"), f=check("table_match", gold="g.csv"))
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
    found = submission_files.uncertain_instances([task], [result], {"a/r.csv": "1", "a/s.csv": "3"}, changed_gold=changed)
    assert found == (() if is_certain else ("a",))
    assert submission_files.uncertain_instances([task], [result], {}, changed_gold=changed) == ()


def whole(folder: Path) -> list[Submission]:
    """All that its metadata say."""
    return [read_metadata(folder)]


@pytest.fixture
def memory() -> Any:
    """An object store in memory, empty before and after."""
    fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def hand_in(memory: Any, *answers: tuple[str, str, Any], **files: bytes) -> None:
    """Put a submission into the bucket `memory://team`."""
    keys = ("instance_id", "answer_type", "answer_or_path")
    lines = "".join(json.dumps(dict(zip(keys, answer, strict=True))) + "\n" for answer in answers)
    memory.pipe("/team/results_metadata.jsonl", lines.encode())
    for name, data in files.items():
        memory.pipe(f"/{name}", data)


@pytest.mark.parametrize(
    ("place", "remote"),
    [("s3://b/x", True), ("gs://b", True), ("memory://a", True), ("folder", False), ("C://x", False), ("a/b://c", False), ("", False)],
)
def test_what_is_a_url(place: str, remote: bool) -> None:
    """A scheme of two letters or more and `://` make a URL."""
    assert submission_files.is_remote(place) == remote


def test_what_does_not_come_from_a_url(memory: Any) -> None:
    """Files are cut above their limit, one inside a file is absent; no metadata is said, an error's text is not: it may be secret."""
    hand_in(memory, ("a", "file", "x.csv"))
    memory.pipe("/team/a/x.csv", b"x" * 5000)
    with submission_files.local_copy("memory://team", {**DEFAULT_LIMITS, "file_bytes": 1000}, read=whole) as folder:
        assert (folder / "a" / "x.csv").stat().st_size == 1001
    hand_in(memory, ("a", "files", ["x", "x/y"]), ("b", "file", "z.csv"))
    for name in ("a/x", "a/x/y", "b/z.csv"):
        memory.store[f"/team/{name}"] = memory.store["/team/results_metadata.jsonl"]
    with submission_files.local_copy("memory://team", DEFAULT_LIMITS, read=whole) as folder:
        assert (folder / "b" / "z.csv").is_file()
    for url, said in (("memory://nobody", "no results_metadata.jsonl there"), ("nosuch://x", "unknown kind of URL")):
        with pytest.raises(SubmissionError, match=said), submission_files.local_copy(url, DEFAULT_LIMITS, read=whole):
            pass

    def fail(_: Path) -> list[Submission]:
        raise TimeoutError("secret")

    with pytest.raises(SubmissionError) as refused, submission_files.local_copy("memory://team", DEFAULT_LIMITS, read=fail):
        pass
    assert refused.value.message == "memory://team: cannot be read (TimeoutError)"


def test_a_link_in_a_file_url_is_not_followed(tmp_path: Path) -> None:
    """`file://` is read where it lies, where links are refused as always."""
    pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    with submission_files.local_copy(f"file://{tmp_path}", DEFAULT_LIMITS, read=whole) as folder:
        assert folder == tmp_path


def test_runs_of_a_url(memory: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], example: tuple[Path, Path]) -> None:
    """It gives the folder's own results under the URL's name, each sample with its file; it cannot be watched."""
    (tmp_path / "gold" / "a").mkdir(parents=True)
    (tmp_path / "gold" / "a" / "x.csv").write_text("v\n1\n")
    write_gold(tmp_path / "gold", a=check("table_match", gold="x.csv"))
    hand_in(memory, ("a", "file", "1.csv"), ("a", "file", "2.csv"))
    for name in ("1.csv", "2.csv"):
        memory.pipe(f"/team/a/{name}", b"v\n1\n")
    words = ["--gold", str(tmp_path / "gold"), "--samples", "2", "--no-cache", "--no-save", "--isolation", "none", "--quiet"]
    assert main(["run", "memory://team", *words]) == 0
    assert capsys.readouterr().out.startswith("done: 100.0 %, the mean of 2 samples")
    source, gold = example
    for path in source.rglob("*"):
        if path.is_file():
            memory.pipe(f"/team/{path.relative_to(source).as_posix()}", path.read_bytes())
    words = ["--gold", str(gold), "--no-cache", "--isolation", "none", "--quiet"]
    assert main(["run", str(source), *words, "--out", str(tmp_path / "folder")]) == 0
    assert main(["run", "memory://team", *words, "--out", str(tmp_path / "url")]) == 0
    folder, url = ((tmp_path / name / "results.jsonl").read_text().splitlines() for name in ("folder", "url"))
    assert [line.rpartition(', "seconds"')[0] for line in folder] == [line.rpartition(', "seconds"')[0] for line in url]
    assert json.loads((tmp_path / "url" / "run.json").read_text())["submission"]["folder"] == "memory://team"
    assert main(["run", "memory://team", *words, "--watch"]) == 2
    assert "--watch cannot watch a URL" in capsys.readouterr().err


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of all URLs, and that of one kind of them, each with what installs it."""

    def fail(_: str) -> None:
        raise ImportError("Install s3fs to access S3")

    for module, url, message in (
        (SimpleNamespace(url_to_fs=fail), "s3://b/x", "s3:// needs one more package"),
        (None, "s3://b/x", "s3://b/x needs the package fsspec"),
    ):
        monkeypatch.setitem(sys.modules, "fsspec.core", module)
        with pytest.raises(MissingExtraError) as refused, submission_files.local_copy(url, DEFAULT_LIMITS, read=whole):
            pass
        assert refused.value.message == message
        assert ("install s3fs" in refused.value.hint) is (module is not None)


@pytest.fixture
def answers(example: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of the example's answers, databases among them, beside its gold."""
    (tmp_path / "gold").symlink_to(example[1])
    return Path(shutil.copytree(example[0], tmp_path / "answers"))


def verdicts(folder: Path, out: Path) -> list[tuple[Any, ...]]:
    """What a run says of each instance, and its warnings' number."""
    assert main(["run", str(folder), "--gold", str(folder.parent / "gold"), "--out", str(out), "--no-cache", "-q"]) in (0, 1, 4)
    results = [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    return [(row["instance_id"], row["status"], row["score"], row["fault"]) for row in results]


def layouts(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The same objects as people write them into a `.json` file."""
    lines = [json.dumps(row) for row in rows]
    return {
        "array in one line": json.dumps(rows),
        "indented array": json.dumps(rows, indent=4),
        "a line each in brackets": "[\n" + ",\n".join(lines) + "\n]\n",
        "lines": "\n".join(lines) + "\n",
        "after a mark and blanks": "\ufeff \n\n " + json.dumps(rows),
    }


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_an_array_or_lines_in_json_are_the_same_submission(step: int, answers: Path, tmp_path: Path) -> None:
    """`results_metadata.json` in each layout (two in the test line) gives the verdicts of `.jsonl`, one note, and a run that verifies."""
    rows = [*map(json.loads, (answers / METADATA).read_text(encoding="utf-8").splitlines())][:: 1 if is_full() else 2]
    (answers / METADATA).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    wanted = verdicts(answers, tmp_path / "wanted")
    (answers / METADATA).unlink()
    for number, (name, text) in enumerate(list(layouts(rows).items())[::step]):
        (answers / "results_metadata.json").write_text(text, encoding="utf-8")
        out = tmp_path / f"run{number}"
        assert verdicts(answers, out) == wanted, name
        warnings = json.loads((out / "run.json").read_text(encoding="utf-8"))["warnings"]
        assert len([text for text in warnings if "is read as" in text]) == 1
        assert not [text for text in warnings if "array" in text or "several lines" in text]
        assert main(["verify", str(out), "--gold", str(answers.parent / "gold")]) == 0


def test_two_like_names_are_not_chosen_between(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where `.json` lies beside another one nobody can say which is meant; beside `.jsonl` none of them counts."""
    shutil.copy(answers / METADATA, answers / "results_metadata.json")
    shutil.copy(answers / METADATA, answers / "results_metadata.json.bak")
    assert main(["run", str(answers), "--gold", str(answers.parent / "gold"), "--no-save", "-q"]) == 0
    (answers / METADATA).unlink()
    assert main(["run", str(answers), "--gold", str(answers.parent / "gold"), "--no-save", "-q"]) == EXIT_USAGE
    assert f"found results_metadata.json, results_metadata.json.bak, expected {METADATA}" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"q1": "x", "q2": "y"}', '[["q1", "x"]]', '{"answers": [{"instance_id": "q1"}]}', '"text"'])
def test_json_without_answers_ends_the_run(answers: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is neither an array nor lines of answers is no submission of nothing."""
    (answers / METADATA).unlink()
    (answers / "results_metadata.json").write_text(text)
    assert main(["run", str(answers), "--gold", str(answers.parent / "gold"), "--no-save", "-q"]) == EXIT_USAGE
    assert "results_metadata.json: no object in it has an instance_id" in capsys.readouterr().err


def test_databases_are_a_submission_for_gold_of_databases_only(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without metadata the example's databases are not taken for its answers: its gold asks for more than databases."""
    (answers / METADATA).unlink()
    assert any(answers.glob("*/*.duckdb"))
    for isolation in ("process", "none"):
        line = ["run", str(answers), "--gold", str(answers.parent / "gold"), "--no-save", "-q", "--isolation", isolation]
        assert main(line) == EXIT_USAGE
        assert f"no {METADATA} in" in capsys.readouterr().err


def test_made_up_names_never_score_in_silence(answers: Path) -> None:
    """Ten names that begin alike: the right one and `.json` are read, each other one ends with exit 2."""
    draw, rows = random.Random(33), (answers / METADATA).read_text(encoding="utf-8")
    (answers / METADATA).unlink()
    for _ in range(10):
        ending = "".join(draw.choices([".json", ".jsonl", ".txt", "_v2", " copy", "s", "~", ".bak", "l"], k=draw.randint(0, 3)))
        place = answers / f"results_metadata{ending}"
        place.write_text(rows, encoding="utf-8")
        done = main(["validate", str(answers)])
        assert (done == EXIT_USAGE) == (ending not in (".json", ".jsonl")), ending
        place.unlink()
