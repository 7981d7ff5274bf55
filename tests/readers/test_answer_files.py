"""The files of an answer: a digest of what was read, whatever lies there before and after."""

import gzip
import hashlib
import io
import os
from pathlib import Path

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.readers import csv_table, paths
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_answer import read_answer
from evalsuite.readers.paths import UNKNOWN, AnswerFiles

LIMITS = resolve_limits()
A, B = b"n\n1\n2\n", b"n\n1\n3\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of instance q in a submission, with one file."""
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "r.csv").write_bytes(A)
    return tmp_path / "q"


def files(place: Path, **limits: float) -> AnswerFiles:
    return AnswerFiles(place.parent, "q", resolve_limits(limits))


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("how", ["renamed", "written"])
def test_the_digest_is_of_what_was_read(place: Path, how: str) -> None:
    """A file that is exchanged or rewritten after it was read, while it is still open, changes nothing."""
    opened = files(place)
    with opened.open("r.csv") as handle:
        first = handle.read()
        if how == "renamed":
            (place / "other").write_bytes(B)
            (place / "other").replace(place / "r.csv")
        else:
            (place / "r.csv").write_bytes(B)
    assert (first, opened.digests()) == (A, {"r.csv": sha(A)})


@pytest.mark.parametrize("piece", [1, 2, 3, len(A)])
def test_two_readings_that_differ_have_no_digest(place: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one form was read of is not what the other was: nobody can say what the verdict is about."""
    monkeypatch.setattr(paths, "PIECE", piece)
    opened = files(place)
    for data, digest in ((A, sha(A)), (A, sha(A)), (B, UNKNOWN), (A, UNKNOWN)):
        (place / "r.csv").write_bytes(data)
        with opened.open("r.csv") as handle:
            assert handle.read() == data
        assert opened.digests() == {"r.csv": digest}


@pytest.mark.parametrize("now", [A[:-1], A + b"4\n", b""])
def test_a_file_that_shrank_or_grew_has_no_digest(place: Path, now: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second reading ends elsewhere."""
    monkeypatch.setattr(paths, "PIECE", 3)
    opened = files(place)
    with opened.open("r.csv") as handle:
        handle.read()
    (place / "r.csv").write_bytes(now)
    with opened.open("r.csv") as handle:
        handle.read()
    assert opened.digests() == {"r.csv": UNKNOWN}


def test_what_nobody_needed_is_read_for_the_digest(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header, or a text that is too long, leaves the rest unread: the digest is of the whole file, of which the beginning was that."""
    monkeypatch.setattr(paths, "PIECE", 2)
    opened = files(place)
    with opened.open("r.csv") as handle:
        assert handle.read(1) == b"n"
    (place / "r.csv").write_bytes(B)
    assert opened.digests() == {"r.csv": sha(B)}
    opened = files(place, file_bytes=3)
    opened.open("r.csv", query=True).close()
    assert opened.digests() == {"r.csv": UNKNOWN}, "no more is read than any file may have"
    opened = files(place)
    with opened.open("r.csv") as handle:
        handle.read(1)
    (place / "r.csv").write_bytes(b"m" + B[1:])
    assert opened.digests() == {"r.csv": UNKNOWN}


def test_a_file_whose_rest_could_not_be_read_stays_unknown(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the disk can be read a moment later: what was read then need not be what was there before."""
    monkeypatch.setattr(paths, "PIECE", 2)
    opened = files(place)
    with opened.open("r.csv") as handle:
        handle.read(1)
    for name in ("_piece", "no part of the module"):
        with monkeypatch.context() as patch:
            patch.setattr(paths, name, lambda *_: os.fstat(-1), raising=False)
            assert opened.digests() == {"r.csv": UNKNOWN}


def test_a_file_can_be_read_again_from_any_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines, seeks and short readings give the file's bytes and its digest."""
    monkeypatch.setattr(paths, "PIECE", 4)
    opened, data = files(place), bytes(range(256)) * 3
    (place / "r.csv").write_bytes(data)
    with files(place).open("r.csv") as handle:
        handle.seek(5)
        assert handle.read(2) == data[5:7]
    with opened.open("r.csv") as handle:
        assert handle.read(10) == data[:10]
        handle.seek(3)
        assert handle.tell() == 3
        assert handle.readline() == data[3:11]
        assert handle.read() == data[11:]
        handle.seek(0)
        assert handle.read() == data
        handle.seek(5)
        handle.seek(2, os.SEEK_CUR)
        assert handle.read(1) == data[7:8]
        assert (handle.readable(), handle.seekable(), os.fstat(handle.fileno()).st_size) == (True, True, len(data))
        with pytest.raises(io.UnsupportedOperation, match="the end of a file"):
            handle.seek(0, os.SEEK_END)
    assert opened.digests() == {"r.csv": sha(data)}


def test_faults_stand_in_the_place_of_digests(place: Path) -> None:
    """What kept a file from being opened is what was seen of it; a query is no table, and opened as such it is a file like any other."""
    (place / "link.csv").symlink_to("r.csv")
    (place / "q.sql").write_bytes(b"SELECT 1")
    opened = files(place, file_bytes=len(A))
    (place / "big.csv").write_bytes(A + A)
    for path in ("gone.csv", "link.csv", "big.csv", "../q/r.csv", "q.sql", "Q.SQL"):
        with pytest.raises(FaultError):
            opened.open(path)
    assert opened.digests() == {"gone.csv": "MISSING_FILE", "link.csv": "BAD_PATH", "big.csv": "TOO_LARGE", "../q/r.csv": "BAD_PATH"}
    opened.open("q.sql", query=True).close()
    assert opened.digests()["q.sql"] == sha(b"SELECT 1"), "though nothing of it was read"
    opened = files(place, file_bytes=3)
    with opened.open("r.csv", query=True) as handle:
        assert handle.read() == A
    with pytest.raises(FaultError, match="6 bytes, the limit is 3"):
        opened.open("r.csv")
    assert opened.identify(["gone.csv"]) == {}


@pytest.mark.parametrize("form", ["table", "tables", "text", "tree"])
def test_every_form_is_digested(place: Path, form: str) -> None:
    """Compressed tables, texts and trees: the digest is that of the file as it lies there."""
    data = {"tree": b'{"a": 1}', "text": b"Paris"}.get(form, gzip.compress(A))
    name = "r.csv.gz" if form in ("table", "tables") else "r.txt"
    (place / name).write_bytes(data)
    opened = files(place)
    value = (name,) if form == "tables" else name
    read = read_answer(form, answer_type="file", value=value, files=opened, table_names=None, limits=LIMITS)
    assert opened.digests() == {name: sha(data)}
    if form in ("tree", "text"):
        assert read == {"tree": {"a": 1}, "text": "Paris"}[form]


def test_a_table_in_blocks_is_digested_as_its_blocks_are_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A big table is read as often as it is asked for: what nobody has read yet may change, what was read may not."""
    monkeypatch.setattr(paths, "PIECE", 1 << 16)
    monkeypatch.setattr(csv_table, "_CHUNK", 1 << 16)
    data = b"a,b\n" + b"1,2\n" * 100_000
    (place / "r.csv").write_bytes(data)
    for change in (False, True):
        opened = files(place)
        table = read_answer("table", answer_type="file", value="r.csv", files=opened, table_names=None, limits=LIMITS)
        if change:
            with (place / "r.csv").open("r+b") as handle:
                handle.seek(-4, os.SEEK_END)
                handle.write(b"7,7\n")
        n_rows = sum(len(block) for block in table.source.blocks())
        assert (n_rows, table.read().n_rows) == (100_000, 100_000)
        now = (place / "r.csv").read_bytes()
        assert opened.digests() == {"r.csv": sha(now)}
        with (place / "r.csv").open("r+b") as handle:
            handle.write(b"c")
        next(iter(table.source.blocks()))
        assert opened.digests() == {"r.csv": UNKNOWN}
        (place / "r.csv").write_bytes(data)


@pytest.mark.parametrize("most", [1, 3])
def test_a_disk_that_returns_less_than_was_asked_for(place: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked again until the piece is whole or the file ends."""
    read = os.read
    monkeypatch.setattr(paths, "PIECE", 4)
    monkeypatch.setattr(paths.os, "read", lambda descriptor, n: read(descriptor, min(n, most)))
    opened = files(place)
    with opened.open("r.csv") as handle:
        assert handle.read() == A
    assert opened.identify(["r.csv"]) == {"r.csv": (len(A), sha(A))}


def test_which_files_stay_open(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The most recently read ones: one that was closed is opened again, as whatever it is then."""
    monkeypatch.setattr(paths, "PIECE", 2)
    opened, names = files(place), [f"{i}.csv" for i in range(paths.MOST_OPEN + 2)]
    for name in names:
        (place / name).write_bytes(A)
        with opened.open(name) as handle:
            handle.read(3)
    for name in names:
        (place / "other").write_bytes(B)
        (place / "other").replace(place / name)
    (place / names[1]).unlink()
    with opened.open(names[2]) as second, opened.open(names[-1]) as last, opened.open(names[0]) as first:
        assert (second.read(), last.read(), first.read()) == (A, A, B)
    with pytest.raises(FaultError, match="the file is not there"):
        opened.open(names[1])
    found = opened.digests()
    assert [found[name] for name in (names[2], names[-1], names[0], names[1])] == [sha(A), sha(A), sha(B), UNKNOWN]
