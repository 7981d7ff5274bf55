"""Run folders: killed before any change, cut at any byte, on a full disk, wanted by two; always a whole run or one clear error."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import MissingExtraError, OutputError, UsageError
from evalsuite.runs import run_folder
from evalsuite.runs.history import submission_folder
from evalsuite.runs.rescoring import parse_shard
from evalsuite.runs.run_files import keep_out_of_git
from evalsuite.runs.run_folder import RunFolder, _parse_journal, claim, holds_run, is_held, new_folder, new_key, read_key, read_public_key
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.analysis.leaderboard import made
from tests.cli.test_run import called, text_gold, text_submission
from tests.command_server import command_server
from tests.conftest import ROOT
from tests.processes import finished, room_for_files, side_by_side
from tests.runs.made import without_seconds, without_times
from tests.runs.store.every_moment import HERE

pytestmark = pytest.mark.usefixtures("shared_fork_server")

# So many bytes of results a run expects of each answer.
LINE_BYTES, N_MANY = 1024, 60
PLAN = {"signature": "rules:official|gold:1", "submission": "1", "options": {"only": []}, "n_instances": 2}


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """(submission, gold, a finished run of them): three instances, one of them with text that is no ASCII. Tests change none of it."""
    tmp_path = tmp_path_factory.mktemp("toy")
    gold = text_gold(tmp_path / "gold", a="Paris", b="Zürich ✓", c="Oslo")
    submission = text_submission(tmp_path / "sub", a="It is Paris", b="Zürich ✓", c="Ωslo")
    whole = run(submission, gold, RunOptions(out=tmp_path / "whole", **HERE)).folder
    assert whole is not None
    return submission, gold, whole


def n_open() -> int:
    """How many descriptors this process has open."""
    return len(list(Path("/dev/fd").iterdir()))


def interrupted(toy: tuple[Path, Path, Path], folder: Path, journal: bytes) -> Path:
    """A folder as a killed run of the toy leaves it, with this journal."""
    submission, gold, _ = toy
    started: list[bytes] = []

    def look(done: int, total: int) -> None:
        started.append((folder / ".started.json").read_bytes())

    run(submission, gold, RunOptions(out=folder, **HERE), progress=look)
    (folder / "run.json").unlink()
    (folder / ".started.json").write_bytes(started[0])
    (folder / "results.jsonl").write_bytes(journal)
    return folder


@pytest.mark.parametrize("step", [197, pytest.param(3, marks=pytest.mark.slow)])
def test_killed_before_any_change(tmp_path: Path, step: int) -> None:
    """Killed before each change it makes to its folder, and killed again while going on, a run ends as if nothing had been."""
    done = finished([sys.executable, "-m", "tests.runs.store.every_moment", "kill", tmp_path, step], seconds=600, cwd=ROOT, check=True)
    moments = json.loads(done.stdout)
    assert {name: wrong for name, (_, wrong) in moments.items()} == {"new": [], "earlier": []}
    assert moments["earlier"][0] > moments["new"][0] >= 10


@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_the_power_fails_before_any_change(tmp_path: Path, step: int) -> None:
    """Whatever the disk loses, no half run is believed, a finished run and a site are whole, and what goes on ends as ever."""
    done = finished([sys.executable, "-m", "tests.runs.store.every_moment", "cut", tmp_path, step], seconds=900, cwd=ROOT, check=True)
    moments = json.loads(done.stdout.splitlines()[-1])
    assert {name: wrong for name, (_, wrong) in moments.items() if wrong} == {}
    assert all(n >= 5 for n, _ in moments.values())


def test_corrupt_line_is_an_error(toy: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """A whole line that no run wrote, or an id twice, is an error with file and line, and the journal stays as it was."""
    submission, gold, whole = toy
    a, b, c = (whole / "results.jsonl").read_bytes().splitlines(keepends=True)
    folder = interrupted(toy, tmp_path / "run", b"")
    for journal, message in (
        (a + b"{broken\n" + c, "results.jsonl:2: not a result line"),
        (a + b"\xff\xfe\n", "results.jsonl:2: not a result line"),
        (a + b'{"instance_id": "b"}\n', "results.jsonl:2: not a result line"),
        (a + b + a, "results.jsonl:3: 'a' is there twice"),
    ):
        (folder / "results.jsonl").write_bytes(journal)
        with pytest.raises(OutputError, match=message):
            run(submission, gold, RunOptions(resume=folder))
        assert (folder / "results.jsonl").read_bytes() == journal


def test_bits_that_a_disk_turns_make_no_other_verdict(tmp_path: Path) -> None:
    """Each line of a journal has a checksum; a journal of an older version has none, and is read as it is."""
    folder = RunFolder(tmp_path / "run").open({"signature": "s", "submission": "x", "options": {}})
    folder.append(made.result("é\ud800", 1.0, digests={"a.csv": "0" * 64}))
    folder.close()
    path = tmp_path / "run" / "results.jsonl"
    data = path.read_bytes()
    (result,) = _parse_journal(path, data).values()
    assert (result.official, result.digests) == (1.0, {"a.csv": "0" * 64})
    for at in re.finditer(rb"1|0(?=[0\"])", data):
        with pytest.raises(OutputError, match=r"results\.jsonl:1: not a result line"):
            _parse_journal(path, data[: at.start()] + b"3" + data[at.end() :])
    older = data[: data.index(b', "crc32"')].replace(b'"official": 1', b'"official": 0') + b"}\n"
    assert [result.official for result in _parse_journal(path, older).values()] == [0.0]


def test_what_cannot_be_resumed(toy: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """A finished run, a folder that is none and one that is not there are told apart, and --resume goes with no other target."""
    submission, gold, whole = toy
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    cases = [(whole, "is a finished run"), (gold, "is not a run folder"), (tmp_path / "nowhere", "is not a run folder")]
    for name, n_bytes in (("run.json", 9), ("results.jsonl", 0), ("results.jsonl", None)):
        copied = shutil.copytree(whole, tmp_path / f"{name} {n_bytes}")
        (copied / name).write_bytes((copied / name).read_bytes()[:n_bytes]) if n_bytes is not None else (copied / name).unlink()
        cases.append((copied, "is a damaged run"))
    for folder, message in cases:
        with pytest.raises(OutputError, match=message):
            run(submission, gold, RunOptions(resume=folder))
    assert {path.name: path.read_bytes() for path in whole.iterdir()} == before
    with pytest.raises(UsageError, match="--resume and --out exclude each other"):
        run(submission, gold, RunOptions(resume=whole, out=tmp_path / "x"))
    refused = called("run", submission, "--gold", gold, "--resume", whole, "--no-save")
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (2, "error: --resume and --no-save exclude each other")


def test_one_writer(tmp_path: Path) -> None:
    """A folder that is being written is refused to others, for resuming and for replacing, and is free again afterwards."""
    first = RunFolder(tmp_path / "run").open(PLAN)
    for attempt in (RunFolder(tmp_path / "run").open, RunFolder(tmp_path / "run").reopen):
        with pytest.raises(OutputError, match="is being written by another run"):
            attempt(PLAN)
    for _ in range(2):
        first.close()
    first.open(PLAN)
    assert is_held(tmp_path / "run")
    first.close()
    again, known = RunFolder(tmp_path / "run").reopen(PLAN)
    again.close()
    assert known == {}


@pytest.mark.parametrize("tail", [b"", b"{", b'{"instance_id": "half', b"\0" * 40])
@pytest.mark.parametrize("failed", [(), ("b",), ("a", "b", "c")])
def test_what_a_resumed_run_keeps(tmp_path: Path, tail: bytes, failed: tuple[str, ...]) -> None:
    """Whole lines of what was judged; others, a half line and the zeros of a power cut are gone from the journal, and it goes on there."""
    status: dict[str, Any] = {name: {"status": "unscored", "fault": "JUDGE_FAILED"} for name in failed}
    results = {name: made.result(name, None if name in failed else 1.0, **status.get(name, {})) for name in "abc"}
    first = RunFolder(tmp_path / "run").open(PLAN)
    for one in results.values():
        first.append(one)
    first.close()
    journal = tmp_path / "run" / "results.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + tail)
    for left in (".results.jsonl.7.part", "run.json"):
        (tmp_path / "run" / left).touch()
    assert (RunFolder(tmp_path / "run").n_saved(), RunFolder(tmp_path / "run").is_unfinished) == (3, True)
    again, kept = RunFolder(tmp_path / "run").reopen({**PLAN, "databases": {"new": "1"}})
    n = n_open()
    assert (is_held(tmp_path / "run"), n_open()) == (True, n), "to look takes no descriptor"
    assert json.loads((tmp_path / "run" / ".started.json").read_text()) == {**PLAN, "databases": {"new": "1"}}
    assert [*kept] == [name for name in results if name not in failed]
    assert all(kept[name] == results[name] for name in kept)
    assert again.notes == [*(["results.jsonl: a partial last line was removed"] if tail else []), f"resumed with {len(kept)} results"]
    assert journal.read_bytes() == b"".join(line for line in whole.splitlines(True) if b"unscored" not in line)
    again.append(made.result("d", 0.0))
    again.close()
    assert n_open() == n - 2, "the journal and the lock"
    # To look does not take the folder.
    assert [is_held(tmp_path / "run") for _ in range(2)] == [False, False]
    assert len(journal.read_bytes().splitlines()) == len(kept) + 1
    assert {path.name for path in journal.parent.iterdir()} == {".started.json", "results.jsonl"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, None),
        ({"signature": "rules:strict|gold:1"}, "rules"),
        ({"submission": "2"}, "submission"),
        ({"options": {"only": ["a"]}}, "--only"),
        ({"options": {"only": [], "rules": "strict", "limits": {}}}, None),
        ({"options": {"only": [], "group": "x"}}, "--group"),
        ({"options": {"only": [], "as_of": "2028-02-28"}}, None),
        ({"signature": "rules:official|gold:1|living:2", "options": {"only": [], "as_of": "2028-02-29"}}, "computed gold"),
        ({"databases": {"db": "1"}}, None),
        ({"databases": {"db": "2", "new": "1"}}, "database db"),
        ({"signature": "rules:strict|gold:2", "submission": "2"}, "rules and gold and submission"),
        # Another Python in its third part judges no text otherwise; what an older evalsuite did not record is not another version.
        *(({"versions": versions}, None) for versions in ({"python": "{}.{}.99".format(*sys.version_info)}, {})),
        ({"versions": {"python": "{}.{}.99".format(*sys.version_info), "regex": "0", "pyphen": "0"}}, "regex and pyphen"),
    ],
)
def test_a_run_is_resumed_with_what_it_was_started_with(tmp_path: Path, change: dict[str, Any], named: str | None) -> None:
    """Each thing that differs is named; rules and limits are in the signature, and a database that was not there is not another one."""
    # The versions of an earlier plan, and what else is other in the later one.
    earlier, change = (change, {}) if "versions" in change else ({"databases": {"db": "1"}} if "databases" in change else {}, change)
    RunFolder(tmp_path / "run").open({**PLAN, **earlier}).close()
    (tmp_path / "run" / "results.jsonl").write_bytes(b"")
    if named is None:
        RunFolder(tmp_path / "run").reopen({**PLAN, **change})[0].close()
        return
    with pytest.raises(OutputError, match=f"was started with other {named}$"):
        RunFolder(tmp_path / "run").reopen({**PLAN, **change})
    assert not is_held(tmp_path / "run")


def test_a_run_that_was_to_replace_another_begins_again(tmp_path: Path) -> None:
    """Killed while it removed the earlier run, it has no results; killed before its first file, it is an empty folder; both are held."""
    RunFolder(tmp_path / "run").open(PLAN).close()
    (tmp_path / "run" / ".started.json").write_text(json.dumps({**PLAN, "replaces": True}))
    (tmp_path / "run" / "results.jsonl").write_bytes(b"of the earlier run")
    (tmp_path / "empty").mkdir()
    for name in ("run", "empty"):
        folder, kept = RunFolder(tmp_path / name).reopen(PLAN)
        assert (kept, (tmp_path / name / "results.jsonl").read_bytes()) == ({}, b"")
        assert json.loads((tmp_path / name / ".started.json").read_text()) == PLAN
        folder.append(made.result("a", 1.0))
        folder.close()


def test_an_earlier_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run into the folder of another removes all that it wrote, half written files too; what is of none stays.

    While it does, the folder says so: killed there, it begins again.
    """
    folder = tmp_path / "run"
    said: list[Any] = []
    remove = shutil.rmtree
    monkeypatch.setattr(
        shutil, "rmtree", lambda *place, **how: [said.append((folder / ".started.json").read_text()), remove(*place, **how)]
    )
    earlier = ["run.json", "results.jsonl", "units.parquet", "judge_calls.jsonl", "judge_batches.json", "executed/x.csv", "gold/x.csv"]
    for name in (*earlier, ".run.json.1.part", ".results.jsonl.2.part", "notes.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("of the earlier run")
    opened = RunFolder(folder).open(PLAN)
    opened.close()
    assert [json.loads(text) for text in said] == [{**PLAN, "replaces": True}] * len(said) != []
    assert {path.name for path in folder.iterdir()} == {".started.json", "results.jsonl", "notes.txt"}
    assert (folder / "results.jsonl").read_bytes() == b""
    assert json.loads((folder / ".started.json").read_text()) == PLAN


def test_two_runs_at_once_never_share_a_folder(toy: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """Runs started together in one place make a folder each, and each is whole."""
    submission, gold, whole = toy
    place = tmp_path / "place"
    place.mkdir()
    runs = side_by_side([[command_server().script, "run", submission, "--gold", gold, "--no-cache", "--quiet"]] * 3, cwd=place)
    assert [done.returncode for done in runs] == [0] * 3
    folders = list((place / ".evalsuite" / "runs").iterdir())
    assert len(folders) == 3
    assert all(without_seconds(folder) == without_seconds(whole) for folder in folders)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ((), ""),
        (("run.json", "x"), ""),
        (("results.jsonl",), ""),
        ((".started.json",), ""),
        (("x",), "is not empty and not a run folder"),
        (("results_metadata.jsonl", "run.json"), "is a submission, not a run folder"),
        (None, "is a file, not a folder"),
    ],
)
def test_where_a_run_may_be_written(tmp_path: Path, files: tuple[str, ...] | None, why: str) -> None:
    """Into a folder that is not there, is empty, or has an earlier run; never over what somebody else put there."""
    out = tmp_path / "out"
    if files is None:
        out.touch()
    else:
        out.mkdir()
        for name in files:
            (out / name).touch()
    if why:
        with pytest.raises(OutputError) as refused:
            claim(out)
        assert refused.value.message == f"{out} {why}"
        hint = "name a new folder, or one with an earlier run"
        assert refused.value.hint == ("--out names the run folder itself" if files is None else hint)
    assert claim(tmp_path / "new") == tmp_path / "new"
    if not why:
        assert claim(out) == out


def test_the_submission_of_a_run_is_no_folder_that_only_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative name is looked up above the run and where the command runs: a submission counts before any other folder."""
    here = tmp_path / "a" / "work"
    (here / "run").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    named = {"submission": {"folder": "sub"}}
    assert submission_folder(here / "run", named) == Path("sub")
    for place, submission in ((tmp_path / "a" / "sub", False), (here / "sub", True)):
        place.mkdir()
        if submission:
            (place / "results_metadata.jsonl").touch()
        assert submission_folder(here / "run", named) == place
    # Two submissions have the name: that of the folder of the history, else that of here, else the nearest one above the run.
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/results_metadata.jsonl").touch()
    (tmp_path / "a/sub/results_metadata.jsonl").touch()
    monkeypatch.chdir(tmp_path / "a")
    assert submission_folder(here / "run", named).resolve() == tmp_path / "a/sub"
    assert submission_folder(here / ".evalsuite/runs/run", named) == here / "sub"
    monkeypatch.chdir("/")
    assert submission_folder(here / "run", named) == here / "sub"


def test_what_is_a_finished_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with `run.json`, unless it is somebody's submission; a signature needs its library."""
    for names, is_run in (((), False), (("run.json",), True), (("run.json", "results_metadata.jsonl"), False), (("x",), False)):
        folder = tmp_path / "-".join(("f", *names))
        folder.mkdir()
        for name in names:
            (folder / name).touch()
        assert holds_run(folder) is is_run
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for use in (new_key, read_key, read_public_key):
        with pytest.raises(MissingExtraError, match="signatures need the package cryptography"):
            use(tmp_path / "key")
    assert not (tmp_path / "key").exists()


def test_a_disk_that_fails_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first result the error names other places, later how to go on; the lock is free again, and what is there is counted."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("sync_folder", "write_atomically"):
        with monkeypatch.context() as patch:
            patch.setattr(run_folder, name, full)
            with pytest.raises(OutputError, match="No space left") as early:
                RunFolder(tmp_path / "run").open(PLAN)
        assert "--out" in early.value.hint
        assert not is_held(tmp_path / "run")
    folder = RunFolder(tmp_path / "run").open(PLAN)
    folder.append(made.result("a", 1.0))
    with monkeypatch.context() as patch:
        patch.setattr(run_folder.os, "fsync", full)
        patch.setattr(run_folder, "_SYNC_SECONDS", 0)
        with pytest.raises(OutputError, match="No space left") as late:
            folder.append(made.result("b", 1.0))
        patch.setattr(run_folder, "write_atomically", full)
        n = n_open()
        with pytest.raises(OutputError, match="No space left") as at_end:
            folder.finish([made.result("a", 1.0)], {})
        assert n_open() == n - 1, "the journal is closed before another file takes its name"
    for error in (late, at_end):
        assert error.value.hint == f"free some space and continue with --resume {tmp_path / 'run'}"
    assert (folder.n_saved(), RunFolder(tmp_path / "none").n_saved()) == (2, 0)
    folder.close()
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_atomically", full)
        with pytest.raises(OutputError, match="No space left"):
            RunFolder(tmp_path / "run").reopen(PLAN)
    assert not is_held(tmp_path / "run")
    for text in ("[]", "null"):
        (tmp_path / "run" / ".started.json").write_text(text)
        with pytest.raises(OutputError, match=r"cannot read .*\.started\.json"):
            RunFolder(tmp_path / "run").reopen(PLAN)


def test_what_is_kept_of_a_finished_run(tmp_path: Path) -> None:
    """Not what had no verdict, was stopped, or was read from files that changed meanwhile; the rest, with what the run was started on."""
    place = tmp_path / "run"
    rows = [
        made.result("right", 1.0),
        made.result("changed", 1.0),
        made.result("missing", 0.0, status="missing"),
        *(made.result(name, 0.0, status=name) for name in ("timeout", "crashed")),
        made.result("unscored", None, status="unscored", fault="NEEDS_EXTRA"),
    ]
    run_json = {"signature": PLAN["signature"], "submission": {"hash": "1", "unsure": ["changed"]}, "options": PLAN["options"]}
    folder = RunFolder(place).open(PLAN)
    folder.finish(rows, run_json)
    folder.close()
    assert not folder.is_unfinished
    folder, kept = RunFolder(place).reopen(PLAN, lambda _, whole: whole != "1")
    folder.close()
    assert (sorted(kept), folder.n_saved(), folder.is_unfinished, (place / "run.json").exists()) == (["missing", "right"], 2, True, False)


def test_when_files_are_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder that is made is named in one that is brought to the disk, after it the names of its own files; a journal after so many
    seconds, not with each result.
    """
    folders: list[Path] = []
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "sync_folder", folders.append)
        RunFolder(tmp_path / "a" / "b").open(PLAN).close()
    assert folders == [tmp_path / "a", tmp_path, tmp_path / "a" / "b"]
    synced, now = list[float](), [1000.0]
    monkeypatch.setattr(run_folder.time, "monotonic", lambda: now[0])
    folder = RunFolder(tmp_path / "run").open(PLAN)
    monkeypatch.setattr(run_folder.os, "fsync", lambda _: synced.append(now[0]))
    for name, seconds in enumerate((0, 0.5, 0.5, 0.1, 0.9, 1.0)):
        now[0] += seconds * run_folder._SYNC_SECONDS
        folder.append(made.result(str(name), 1.0))
    monkeypatch.undo()
    folder.close()
    assert [round((at - 1000) / run_folder._SYNC_SECONDS, 1) for at in synced] == [1.0, 2.0, 3.0]


def test_a_folder_is_named_by_its_second_and_label(tmp_path: Path) -> None:
    """Forty characters of the label that every file system takes, else `run`; a number if that name is taken."""
    now = datetime(2026, 1, 2, 3, 4, 5)
    labels = {"My run": "My-run", "-.x_1.y-.": "x_1.y", "ü?": "run", "": "run", "a" * 50: "a" * 40}
    assert [new_folder(tmp_path / str(at), label, now=now).name for at, label in enumerate(labels)] == [
        f"20260102-030405-{slug}" for slug in labels.values()
    ]
    assert [new_folder(tmp_path / "0", "My run", now=now).name[-9:] for _ in range(2)] == ["-My-run-2", "-My-run-3"]


def test_what_the_system_refuses_is_named(tmp_path: Path) -> None:
    """A name that is too long, a file in the place of a folder; a run of another submission is not continued."""
    (tmp_path / "file").touch()
    long, below = tmp_path / ("x" * 300), tmp_path / "file" / "x"
    for make in (lambda: claim(long), lambda: new_folder(below, "run")):
        with pytest.raises(OutputError, match="cannot write the run folder") as refused:
            make()
        assert refused.value.hint.startswith("name another with --out")
    folder = RunFolder(tmp_path / "run").open(PLAN)
    (tmp_path / "run" / ".started.json").unlink()
    folder.finish([made.result("a", 1.0)], {})
    assert (holds_run(tmp_path / "run"), folder.is_unfinished, folder.n_saved()) == (True, False, 1)
    folder.close()
    folder = RunFolder(tmp_path / "run").open(PLAN)
    folder.close()
    with pytest.raises(OutputError, match="was started with other submission"):
        RunFolder(tmp_path / "run").reopen(PLAN, lambda results, whole: (results, whole) == ({}, ""))
    assert RunFolder(tmp_path / "run").reopen(PLAN, lambda *_: False)[1] == {}
    pytest.importorskip("cryptography", reason="cryptography is not installed (pip install 'evalsuite[sign]')")
    new_key(tmp_path / "key")
    assert new_key(tmp_path / "of" / "ours" / "key") == tmp_path / "of" / "ours" / "key.pub"
    os.umask(mask := os.umask(0))
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("key", "key.pub")] == [0o600 & ~mask, 0o644 & ~mask]
    for use in (read_key, read_public_key):
        with pytest.raises(UsageError, match="no key can be read there"):
            use(tmp_path / "none")
    with pytest.raises(OutputError, match="cannot write") as refused:
        new_key(long)
    assert "exists already" not in refused.value.message
    (tmp_path / "half.pub").touch()
    # The second file would have a name of more than 255 characters.
    for half, why in ((tmp_path / "half", "half.pub exists already"), (tmp_path / ("k" * 252), "cannot write")):
        with pytest.raises(OutputError, match=why):
            new_key(half)
        assert not half.exists()


def test_no_room_is_one_error_and_can_be_resumed(tmp_path: Path) -> None:
    """Where the journal may not grow any more the run ends with one error; once there is room it goes on and is as it should be.

    The limit is the least that a run of so many answers does not refuse at its start.
    """
    # More than a small disk holds; their ids make each line of results longer than a run expects.
    texts = {f"many_{number:03}_{'x' * LINE_BYTES}": f"text {number}" for number in range(N_MANY)}
    submission, gold = text_submission(tmp_path / "sub", **texts), text_gold(tmp_path / "gold", **texts)
    out, least = tmp_path / "run", N_MANY * LINE_BYTES

    def limited(n_bytes: int) -> subprocess.CompletedProcess[str]:
        with room_for_files(n_bytes):
            return called("run", submission, "--gold", gold, "--no-cache", "--out", out)

    refused = limited(least - 1)
    assert (refused.returncode, refused.stdout, out.exists()) == (2, "", False)
    assert f"this run writes one of {least} bytes" in refused.stderr
    done = limited(least)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"error: cannot write the run folder {out}: File too large",
        f"hint: free some space and continue with --resume {out}",
    ]
    assert 0 < (out / "results.jsonl").read_bytes().count(b"\n") < N_MANY
    run(submission, gold, RunOptions(resume=out))
    run(submission, gold, RunOptions(out=tmp_path / "whole", shard=parse_shard("1/1"), **HERE))
    assert without_seconds(out) == without_seconds(tmp_path / "whole")
    # Other commands have no --resume: each run that they leave is named, with what finishes or deletes it.
    resumed, again, deleted = "`evalsuite run FOLDER --resume {}` finishes it", "the same command makes it again", "lists it for deletion"
    for words, finishes in (
        (["leaderboard", submission, "--gold", gold, "--runs", tmp_path / "runs"], resumed),
        (["runs", "merge", tmp_path / "whole", "--out", tmp_path / "runs" / "merged"], again),
    ):
        with room_for_files(least if finishes is resumed else 9_999):
            failed = called(*words)
        *_, left = (tmp_path / "runs").iterdir()
        assert failed.returncode == 2
        prune = f"`evalsuite runs prune --unfinished --runs {tmp_path / 'runs'}`"
        note = f"note: {left} is an unfinished run: {finishes.format(left)}, {prune} {deleted}"
        assert failed.stderr.splitlines()[-1] == note
        shutil.rmtree(left)
    assert "unfinished" not in called("runs", "merge", tmp_path / "no").stderr


@pytest.mark.parametrize("step", [97, pytest.param(5, marks=pytest.mark.slow)])
def test_cut_at_any_byte(toy: tuple[Path, Path, Path], tmp_path: Path, step: int) -> None:
    """Cut in the middle of a character, of a line or between two, a journal gives the same results; a half line is dropped with a note."""
    submission, gold, whole = toy
    data = (whole / "results.jsonl").read_bytes()
    folder = interrupted(toy, tmp_path / "run", data)
    state = {path.name: path.read_bytes() for path in folder.iterdir()}
    for cut in range(0, len(data) + 1, step):
        for name, content in {**state, "results.jsonl": data[:cut]}.items():
            (folder / name).write_bytes(content)
        resumed = run(submission, gold, RunOptions(resume=folder, **HERE))
        assert without_seconds(folder) == without_seconds(whole), cut
        assert without_times(folder) == without_times(whole), cut
        half = data[:cut] != b"" and not data[:cut].endswith(b"\n")
        assert any("partial last line" in note for note in resumed.receipt["resume"]) is half, cut
        assert resumed.warnings == ()


def test_runs_are_no_source_code(tmp_path: Path) -> None:
    """The folder `.evalsuite` around a run is kept out of git, no other one; a file that is there already stays."""
    keep_out_of_git(tmp_path / ".evalsuite" / "runs" / "a")
    assert not (tmp_path / ".evalsuite").exists()
    (tmp_path / ".evalsuite" / "runs").mkdir(parents=True)
    for _ in range(2):
        keep_out_of_git(tmp_path / ".evalsuite" / "runs")
    assert [(path, path.read_text()) for path in tmp_path.rglob(".gitignore")] == [(tmp_path / ".evalsuite" / ".gitignore", "*\n")]
    (tmp_path / ".evalsuite" / ".gitignore").write_text("runs\n")
    keep_out_of_git(tmp_path / ".evalsuite" / "runs")
    assert (tmp_path / ".evalsuite" / ".gitignore").read_text() == "runs\n"
