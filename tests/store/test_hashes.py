"""The hash of a submission: the same for the same content, another for another byte, and remembered only as long as nobody touched it."""

import os
import shutil
import time
from pathlib import Path

import pytest

from evalsuite.errors import SubmissionError
from evalsuite.memo import Memo
from evalsuite.readers import submission as reading
from evalsuite.readers.layouts import read_submission
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.submission import submission_hash
from evalsuite.store import hashes
from evalsuite.store.hashes import known_hash
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
    monkeypatch.setattr(hashes.time, "time_ns", lambda: now() + 10_000_000_000)


def known(folder: Path, memo: Memo) -> str:
    """The hash through the memo."""
    return known_hash(folder, memo, limits=DEFAULT_LIMITS, gold_inodes=frozenset())


def plain(folder: Path) -> str:
    """The hash by reading everything."""
    return submission_hash(read_submission(folder))


def test_equal_content_anywhere_is_equal(folder: Path) -> None:
    """A copy has the same hash, although its times and inodes are others; what no answer names does not count."""
    shutil.copytree(folder, folder.parent / "copy")
    (folder.parent / "copy" / "notes.txt").write_text("mine")
    assert plain(folder) == plain(folder.parent / "copy")
    assert len(plain(folder)) == 32


@pytest.mark.parametrize("what", ["byte", "byte and mtime", "gone", "link", "folder link", "metadata"])
def test_every_change_is_seen(folder: Path, what: str, settled: None) -> None:
    """A changed byte of the same length with its old mtime set again, a file gone, a link in its place: the memo does not answer."""
    memo = Memo(folder.parent / "cache")
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


def test_an_untouched_folder_is_not_read(folder: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time no file is opened, also by another process that shares the memo's file."""
    memo = Memo(folder.parent / "cache")
    before = known(folder, memo)
    memo.close()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(reading, "open_confined", refuse)
    assert known(folder, Memo(folder.parent / "cache")) == before


def test_a_file_just_written_is_not_trusted(folder: Path) -> None:
    """Its times may stay the same when it changes again, so nothing is remembered."""
    memo = Memo(None)
    known(folder, memo)
    assert memo._fresh == {}


def test_a_link_to_gold_changes_the_hash(folder: Path) -> None:
    """The same bytes as a hard link to a gold file are another submission: they will not be read."""
    seen = (folder / "f" / "r.csv").stat()
    assert submission_hash(read_submission(folder), frozenset({(seen.st_dev, seen.st_ino)})) != plain(folder)


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A folder without metadata has no hash."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(SubmissionError):
        known(tmp_path / "empty", Memo(None))
