"""Submissions as archives: the same score as the folder's, and every hostile kind refused by a line of its own while the others go on."""

import gzip
import io
import json
import os
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import FaultError, OutputError
from evalsuite.readers.archives import ArchiveChecks, _pieces, stream_files, without_ending
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs import leaderboard_entries
from evalsuite.runs.leaderboard_entries import Unpacker, _write
from evalsuite.runs.run_options import RunOptions
from tests.cli.test_run import said, text_gold, text_submission

pytestmark = pytest.mark.usefixtures("shared_fork_server")

METADATA = "results_metadata.jsonl"
LINE = json.dumps({"instance_id": "a", "answer_type": "answer", "answer_or_path": "Paris"}) + "\n"
LIMITS = resolve_limits({"file_bytes": 1_000_000, "archive_bytes": 3_000_000, "archive_members": 1_000})


def zipped(path: Path, *files: tuple[str, bytes], how: Callable[[zipfile.ZipInfo], None] = lambda _: None) -> Path:
    """A zip of these files, names as they are."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            member = zipfile.ZipInfo(name)
            member.filename = name
            member.compress_type = zipfile.ZIP_DEFLATED
            how(member)
            archive.writestr(member, data)
    return path


def tarred(path: Path, *members: tuple[str, bytes, bytes, str]) -> Path:
    """A tar of (name, type, content, where a link leads)."""
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, kind, data, link in members:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(data), link
            archive.addfile(member, io.BytesIO(data))
    return path


def one_zip(name: str) -> Callable[[Path], Path]:
    """A zip with one file of that name beside the metadata."""
    return lambda folder: zipped(folder / "x.zip", (METADATA, LINE.encode()), (name, b"x"))


def one_tar(kind: bytes, link: str = "") -> Callable[[Path], Path]:
    """A tar with one member of that kind beside the metadata."""
    return lambda folder: tarred(folder / "x.tar", (METADATA, tarfile.REGTYPE, LINE.encode(), ""), ("a/r.csv", kind, b"", link))


def link(member: zipfile.ZipInfo) -> None:
    """Make a member of a zip a link."""
    member.external_attr = (stat.S_IFLNK | 0o777) << 16


def says(path: Path, said: bytes, *, file: int, list_: int) -> Path:
    """A zip that says this of its first member: at this byte of the file, and at this one of its list of files."""
    data = bytearray(path.read_bytes())
    for at in (file, data.index(b"PK\x01\x02") + list_):
        data[at : at + len(said)] = said
    path.write_bytes(data)
    return path


def locked(path: Path) -> Path:
    """A zip that says that its first member is encrypted."""
    return says(path, b"\x01", file=6, list_=8)


def placed(put: Callable[[Path], object]) -> Callable[[Path], Path]:
    """What is put in the place of an archive."""

    def made(folder: Path) -> Path:
        put(folder / "x.zip")
        return folder / "x.zip"

    return made


def _sparse(folder: Path) -> Path:
    """A tar whose member says it has 900,000 bytes, all of them holes."""
    member = tarfile.TarInfo("a/r.csv")
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[156:157] = tarfile.GNUTYPE_SPARSE
    block[483:495] = b"00003335640\0"
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    (folder / "x.tar").write_bytes(bytes(block) + bytes(1024))
    return folder / "x.tar"


def _cut(folder: Path) -> Path:
    path = tarred(folder / "x.tar.gz", ("a/r.csv", tarfile.REGTYPE, os.urandom(50_000), ""))
    path.write_bytes(path.read_bytes()[:20_000])
    return path


def _two_zips(folder: Path) -> Path:
    first, last = (zipped(folder / f"{n}.zip", (METADATA, LINE.encode()), ("a/r.csv", n.encode())) for n in "12")
    first.rename(folder / "x.zip").write_bytes((folder / "x.zip").read_bytes() + last.read_bytes())
    last.unlink()
    return folder / "x.zip"


def _changed_tar(change: Callable[[bytes], bytes], ending: str = ".tar") -> Callable[[Path], Path]:
    """A tar of two texts, a block for the head and one for the content of each, with its bytes changed."""

    def made(folder: Path) -> Path:
        path = tarred(folder / "x.tar", *((name, tarfile.REGTYPE, LINE.encode(), "") for name in (METADATA, "a/r.csv")))
        data, place = change(path.read_bytes()), folder / f"x{ending}"
        place.write_bytes(gzip.compress(data) if ending == ".tgz" else data)
        if ending != ".tar":
            path.unlink()
        return place

    return made


def _gzip_bomb(folder: Path) -> Path:
    member = tarfile.TarInfo("a/r.csv")
    member.size = 8 << 30
    with gzip.open(folder / "x.tgz", "wb") as file:
        file.write(member.tobuf())
        file.write(bytes(5 << 20))
    return folder / "x.tgz"


def _heads_without_end(folder: Path) -> Path:
    record = b"6 a=b\n"
    head = tarfile.TarInfo("p")
    head.type, head.size = tarfile.XHDTYPE, len(record)
    (folder / "x.tar").write_bytes((head.tobuf(tarfile.USTAR_FORMAT) + record.ljust(512, b"\0")) * 2_000)
    return folder / "x.tar"


HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "absolute name": (one_zip("/etc/cron.d/x"), "BAD_PATH: the path is not relative"),
    "way up": (one_zip("a/../../x"), "BAD_PATH: the path contains '..'"),
    "way up, tar": (lambda f: tarred(f / "x.tar", ("../x", tarfile.REGTYPE, b"x", "")), "BAD_PATH: the path contains '..'"),
    "drive": (one_zip("C:/x"), "BAD_PATH: the path names a drive"),
    "backslash": (one_zip("a\\..\\x"), "BAD_PATH: the path contains a backslash"),
    "NUL in a name": (one_zip("a/r.csv\0.png"), "BAD_PATH: the path contains a control character"),
    "terminal code in a name": (one_zip("a/\x1b[2J"), "BAD_PATH: the path contains a control character"),
    "long path": (one_zip("/".join(["x" * 100] * 12)), "BAD_PATH: the path is longer than 1024 bytes"),
    "deep path": (one_zip("/".join("x" * 60)), "BAD_PATH: a path of more than 32 folders"),
    "twice": (lambda f: zipped(f / "x.zip", ("a/r", b"1"), ("a/r", b"2")), "BAD_PATH: 'a/r' occurs twice"),
    "case of letters": (lambda f: zipped(f / "x.zip", ("a/R", b"1"), ("a/r", b"2")), "differs from 'a/R' only in case"),
    "case of folders": (lambda f: zipped(f / "x.zip", ("A/r", b"1"), ("a/q", b"2")), "'a' differs from 'A' only in case"),
    "composed letters": (lambda f: zipped(f / "x.zip", ("a/\u00e9", b"1"), ("a/e\u0301", b"2")), "only in case or Unicode form"),
    "file and folder": (lambda f: zipped(f / "x.zip", ("a/r", b"1"), ("a/r/s", b"2")), "'a/r' is a file and a folder"),
    "link, zip": (lambda f: zipped(f / "x.zip", ("a/r.csv", b"/etc/passwd"), how=link), "NOT_REGULAR_FILE: a link or device"),
    "link, tar": (one_tar(tarfile.SYMTYPE, "/etc/passwd"), "NOT_REGULAR_FILE: a link, device"),
    "hard link": (one_tar(tarfile.LNKTYPE, METADATA), "NOT_REGULAR_FILE: a link, device"),
    "device": (one_tar(tarfile.CHRTYPE), "NOT_REGULAR_FILE: a link, device"),
    "pipe": (one_tar(tarfile.FIFOTYPE), "NOT_REGULAR_FILE: a link, device"),
    "holes": (_sparse, "NOT_REGULAR_FILE: a link, device or file with holes"),
    "bomb": (
        lambda f: zipped(f / "x.zip", *((f"a/{n}", bytes(900_000)) for n in range(4))),
        "LIMIT: unpacked it contains more than 3000000 bytes (limit archive_bytes)",
    ),
    "gzip bomb": (_gzip_bomb, "TOO_LARGE: a/r.csv: 8589934592 bytes, the limit file_bytes is 1000000"),
    # A file of 900,000 bytes that says it has ten.
    "lies about its size": (
        lambda f: says(zipped(f / "x.zip", ("a/r.csv", bytes(900_000))), struct.pack("<I", 10), file=22, list_=24),
        "BAD_ARCHIVE",
    ),
    "many members": (lambda f: zipped(f / "x.zip", *((f"a/{n}", b"") for n in range(2_000))), "LIMIT: more than 1000 members"),
    "encrypted": (lambda f: locked(one_zip("a")(f)), "BAD_ARCHIVE: it is encrypted"),
    "cut off": (_cut, "BAD_ARCHIVE: it is damaged"),
    "cut off between members": (_changed_tar(lambda tar: tar[:1024]), "BAD_ARCHIVE: it is damaged"),
    "cut off in its closing zeros": (_changed_tar(lambda tar: tar[: 2048 + 100]), "BAD_ARCHIVE: it is damaged"),
    "cut off in a head": (_changed_tar(lambda tar: tar[:1300]), "BAD_ARCHIVE: it is damaged"),
    "damaged head": (_changed_tar(lambda tar: tar[:1030] + b"?" + tar[1031:]), "BAD_ARCHIVE: it is damaged"),
    "damaged head, packed": (_changed_tar(lambda tar: tar[:1030] + b"?" + tar[1031:], ".tgz"), "BAD_ARCHIVE: it is damaged"),
    "zeros for a head": (_changed_tar(lambda tar: tar[:1024] + bytes(512) + tar[1536:]), "BAD_ARCHIVE: there is data after its end"),
    "heads without end": (_heads_without_end, "BAD_ARCHIVE: it is damaged"),
    "two in one": (_changed_tar(lambda tar: tar + tar), "BAD_ARCHIVE: there is data after its end"),
    "two in one, zip": (_two_zips, "BAD_ARCHIVE: it begins with files that its list of files does not have"),
    "endless zeros": (_changed_tar(lambda tar: tar + bytes(4_000_000), ".tgz"), "LIMIT: unpacked it contains more than 3000000 bytes"),
    "no archive": (placed(lambda place: place.write_text("results, all right\n")), "BAD_ARCHIVE: it is damaged, or not an archive"),
    "empty tar": (lambda f: tarred(f / "x.tar"), "BAD_ARCHIVE: it is empty"),
    "a pipe of that name": (placed(os.mkfifo), "NOT_REGULAR_FILE"),
    "a link of that name": (placed(lambda place: place.symlink_to("/etc/passwd")), "BAD_PATH: the path goes through a link"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gold of two texts and an empty folder of submissions; commands run here."""
    monkeypatch.chdir(tmp_path)
    text_gold(tmp_path / "gold", a="Paris", b="Rome")
    (tmp_path / "subs").mkdir()
    return tmp_path


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_every_hostile_kind_is_refused_and_the_others_go_on(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each archive of the table stands on the board without a rank and with its own reason; the honest one is ranked; nothing is left."""
    text_submission(place / "subs" / "honest", a="Paris", b="Rome")
    for name, (make, _) in HOSTILE.items():
        (place / "made").mkdir()
        made = make(place / "made")
        made.rename(place / "subs" / f"{name}{made.name.removeprefix('x')}")
        (place / "made").rmdir()
    limits = [f"--limit={name}={LIMITS[name]}" for name in ("file_bytes", "archive_bytes", "archive_members")]
    for _ in range(2):
        assert main(["leaderboard", "subs", "--json", *limits]) == 1
        said = capsys.readouterr()
        rows = {row["name"]: row for row in json.loads(said.out)["rows"]}
        assert rows.pop("honest")["rank"] == 1
        assert set(rows) == set(HOSTILE)
        for name, (_, why) in HOSTILE.items():
            assert rows[name]["rank"] is None, name
            assert why in rows[name]["fault"], name
            assert rows[name]["fault"].startswith(name)
    assert not list((place / ".evalsuite" / "cache").glob("unpacked-*"))
    assert not list((place / ".evalsuite" / "cache").glob(".new-*"))


def test_an_archive_with_one_folder_too_many_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the archive and the folder in it, not the place where it was unpacked."""
    zipped(place / "subs" / "team.zip", (f"a/b/{METADATA}", LINE.encode()), ("a/b/b/r.csv", b"n\n1\n"))
    assert main(["run", "subs/team.zip", "--isolation", "none"]) == 2
    why = "error: no results_metadata.jsonl in subs/team.zip/a (MISSING_FILE)\n"
    assert capsys.readouterr().err == f"{why}hint: an archive has the files of a submission at its top, or in one folder\n"


@pytest.mark.parametrize(
    ("pack", "isolation"),
    [
        *((pack, "none") for pack in ("zip", "zip in a folder", "tar", "tar of .", "tar.gz", "TGZ", "mac")),
        ("zip", "process"),
        ("TGZ", "process"),
    ],
)
def test_an_archive_is_worth_what_its_folder_is(pack: str, isolation: str, place: Path) -> None:
    """Whatever it was packed with, at its top or in a folder of its own, named by itself or found in a folder; known the second time."""
    files = [(METADATA, LINE.encode()), ("a/note.txt", b""), ("b/r.csv", b"n\n1\n")]
    inner = [(f"team/{name}", data) for name, data in files]
    as_tar = [(name, tarfile.REGTYPE, data, "") for name, data in files]
    if pack in ("zip", "zip in a folder"):
        zipped(place / "subs" / "team.zip", *(files if pack == "zip" else inner))
    elif pack == "mac":
        zipped(place / "subs" / "team.zip", *inner, ("__MACOSX/team/._a", b"x"), ("team/.DS_Store", b"x"))
    elif pack == "tar of .":
        dotted = [(f"./{name}", kind, data, link) for name, kind, data, link in as_tar]
        tarred(place / "subs" / "team.tar", (".", tarfile.DIRTYPE, b"", ""), *dotted)
    else:
        ending = pack.lower()
        tarred(place / "subs" / f"team.{ending}", *as_tar).rename(place / "subs" / f"team.{pack}")
    ask = ["leaderboard", "--isolation", isolation, "--json"]
    board = json.loads(said(*ask, "subs"))
    assert [(row["name"], row["score"]) for row in board["rows"]] == [("team", 0.5)]
    assert json.loads(said(*ask, *map(str, (place / "subs").iterdir())))["n_reused"] == 1
    (archive,), (folder,) = (place / "subs").iterdir(), (place / ".evalsuite/runs").iterdir()
    assert json.loads((folder / "run.json").read_text())["submission"]["archive"] == str(Path("subs") / archive.name)
    assert f" · {archive.name} (1 submitted)" in said("report", folder.name)


def test_an_archive_exchanged_while_it_is_read_gives_nobody_elses_answers(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is unpacked lies under the digest of the very bytes that were unpacked, however the file changes between two looks at it."""
    honest = zipped(place / "honest.zip", (METADATA, b"honest"))
    mallory = zipped(place / "mallory.zip", (METADATA, b"honest"))
    copied = leaderboard_entries.unnamed_copy

    def exchanged(handle: io.BufferedReader, limit: int) -> object:
        mallory.write_bytes(zipped(place / "other.zip", (METADATA, b"mallory")).read_bytes())
        return copied(handle, limit)

    monkeypatch.setattr(leaderboard_entries, "unnamed_copy", exchanged)
    memo = DiskCache(place / "memo")
    unpacker = Unpacker(memo, LIMITS, "none")
    assert (unpacker.folder_of(mallory) / METADATA).read_bytes() == b"mallory"
    assert (unpacker.folder_of(honest) / METADATA).read_bytes() == b"honest"


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ([["../x", "eA=="]], "BAD_PATH"),
        ([["a", "eA=="], ["b", "eA=="], ["a", "eA=="]], "BAD_PATH"),
        ([["a", "no base64!"]], "WORKER_DIED"),
        ([["a", 5]], "WORKER_DIED"),
        ([["a", "eHh4" * 250_000]] * 2, "TOO_LARGE"),
        ([[f"f{n}", "eA=="] for n in range(1_001)], "LIMIT"),
    ],
)
def test_what_a_worker_says_is_not_believed(told: list[object], code: str, tmp_path: Path) -> None:
    """A worker that an archive took over cannot make the parent write elsewhere, twice, or without end."""
    with pytest.raises(FaultError) as caught:
        _write(tmp_path, told, LIMITS)
    assert caught.value.fault.code == code


@pytest.mark.parametrize(
    ("is_temporary", "way_out"), [(True, "set TMPDIR to a folder with room"), (False, "make room where `.evalsuite` lies")]
)
def test_no_room_for_an_archive(tmp_path: Path, is_temporary: bool, way_out: str) -> None:
    """The hint names the place where it would be unpacked: without a cache a temporary folder."""
    archive, blocked = zipped(tmp_path / "x.zip", (METADATA, LINE.encode())), tmp_path / "cache"
    blocked.write_text("")
    unpacker = Unpacker(DiskCache(blocked), LIMITS, "none", is_temporary=is_temporary)
    with closing(unpacker), pytest.raises(OutputError, match=r"x\.zip: no space left to unpack it") as error:
        unpacker.folder_of(archive)
    assert error.value.hint.startswith(way_out)


def test_what_other_code_unpacked_is_not_used(place: Path) -> None:
    """An archive may be read differently by another version: it is unpacked again."""
    zipped(place / "x.zip", (METADATA, LINE.encode()))
    for stamp, n in (("1", 1), ("1", 1), ("2", 2)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(leaderboard_entries, "code_stamp", lambda stamp=stamp: stamp)
            with leaderboard_entries.unpack(place / "x.zip", RunOptions(cache=place / "cache", isolation="none")) as folder:
                assert (folder / METADATA).read_text() == LINE
        assert len(list((place / "cache").glob("unpacked-*"))) == n


def test_other_archives_are_named(place: Path) -> None:
    """A form that is not read stands among the notes, whatever else is there."""
    text_submission(place / "subs" / "honest", a="Paris")
    (place / "subs" / "late.rar").write_bytes(b"Rar!")
    assert "late.rar left out: an archive is .zip, .tar, .tar.gz or .tgz" in said("leaderboard", "subs", "--isolation", "none")


def test_what_a_limit_still_allows() -> None:
    """Files and an archive of exactly so many bytes, so many members, 32 folders in each other; one more of any is a fault."""
    checks = ArchiveChecks(LIMITS)
    for name in "abc":
        checks.hold(999_999, name)
        checks.hold(1, name, so_far=999_999)
    for _ in range(1_000):
        checks.count()
    checks.folder("a/" * 31 + "b")
    checks.folder("t/u")
    checks.file("f/g")
    for same in ("t", "t/u", "f"):
        checks.folder(same)
    checks.file("t/u/v")
    refused: list[tuple[str, Callable[[], None]]] = [
        ("TOO_LARGE", lambda: checks.hold(1, "a", so_far=1_000_000)),
        ("LIMIT", lambda: checks.hold(1, "d")),
        ("LIMIT", checks.count),
        ("BAD_PATH", lambda: checks.folder("a/" * 32 + "b")),
        ("BAD_PATH", lambda: checks.folder("t/U")),
        ("BAD_PATH", lambda: checks.folder("T/w")),
        ("BAD_PATH", lambda: checks.file("t/U/w")),
        ("BAD_PATH", lambda: checks.file("t/u")),
        ("BAD_PATH", lambda: checks.folder("f/g")),
        ("BAD_PATH", lambda: checks.folder("f/g/h")),
    ]
    for code, more in refused:
        with pytest.raises(FaultError) as raised:
            more()
        assert raised.value.fault.code == code


@pytest.mark.slow
def test_a_hundred_thousand_members_cost_little(tmp_path: Path) -> None:
    """They are refused under the default limits, before a file is unpacked, in little memory."""
    path = zipped(tmp_path / "x.zip", *((str(n), b"") for n in range(100_000)))
    tracemalloc.start()
    with pytest.raises(FaultError, match="more than 50000 members"):
        list(stream_files(str(path), path.name, resolve_limits()))
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(("size", "pieces"), [(0, []), (1, []), (2, []), (3, ["YWJj"]), (4, ["YWJj"])])
def test_a_file_of_another_size_than_declared(size: int, pieces: list[str]) -> None:
    """No byte more than declared is passed on, and a file that ends early is damaged too."""
    passed_on, why = list[tuple[str, str]](), ""
    try:
        passed_on.extend(_pieces("x" * 81, io.BytesIO(b"abc"), size))
    except FaultError as error:
        why = error.fault.detail
    assert passed_on == [("x" * 81, piece) for piece in pieces]
    assert why == ("" if size == 3 else f"{'x' * 80!r} does not have its declared {size} bytes")


@pytest.mark.parametrize("kind", ["zip", "tar", "tgz"])
def test_limits_of_each_kind_of_archive(kind: str, tmp_path: Path) -> None:
    """Members, bytes of a file and bytes in all are counted in each; one more than there are is allowed."""
    names = ("a", "b")
    path = tmp_path / f"x.{kind}"
    if kind == "zip":
        zipped(path, *((name, b"xyz") for name in names))
    else:
        tarred(path, *((name, tarfile.REGTYPE, b"xyz", "") for name in names))
    for limits, why in (
        ({"archive_members": 2, "file_bytes": 20_000}, ""), ({"archive_members": 1}, "more than 1 members (limit archive_members)"),
        ({"file_bytes": 2}, "a: 3 bytes, the limit file_bytes is 2"),
        ({"archive_bytes": 5}, "unpacked it contains more than 5 bytes (limit archive_bytes)"),
    ):  # fmt: skip
        if why:
            with pytest.raises(FaultError) as refused:
                list(stream_files(str(path), path.name, resolve_limits(limits)))
            assert refused.value.fault.detail == why
        else:
            assert list(stream_files(str(path), path.name, resolve_limits(limits))) == [("a", "eHl6"), ("b", "eHl6")]


@pytest.mark.parametrize(("method", "why"), [
    (b"\x63", "its compression is not supported"), (b"\x0e", "it is damaged"), (b"\x5d", "it is damaged|its compression is not supported"),
])  # fmt: skip
def test_a_compression_that_nobody_knows(tmp_path: Path, method: bytes, why: str) -> None:
    """The archive is refused, not read as far as it can be; so are data that are no LZMA, and no Zstandard where Python reads that."""
    path = says(zipped(tmp_path / "x.zip", ("a", b"x" * 40)), method, file=8, list_=10)
    with pytest.raises(FaultError, match=why):
        list(stream_files(str(path), path.name, LIMITS))


def test_long_names_are_cut_in_reasons(tmp_path: Path) -> None:
    """At 80 characters, whatever is wrong with a member."""
    name = "x" * 100
    made = [
        (zipped(tmp_path / "1.zip", (name, b"x"), how=link), "a link or device: "),
        (locked(zipped(tmp_path / "2.zip", (name, b"x"))), "it is encrypted: "),
        (tarred(tmp_path / "3.tar", (name, tarfile.SYMTYPE, b"", "y")), "a link, device or file with holes: "),
        (zipped(tmp_path / "4.zip", (f"{name}//y", b"x")), "the path has an empty part or '.': "),
        (zipped(tmp_path / "5.zip", ("/".join("x" * 60), b"x")), "a path of more than 32 folders: "),
        (zipped(tmp_path / "6.zip", (f"{name}\\", b"x")), "the path contains a backslash; write '/': "),
        (zipped(tmp_path / "7.zip", (f"{name}/../", b"")), "the path contains '..': "),
        (tarred(tmp_path / "8.tar", (f"{name}/..", tarfile.DIRTYPE, b"", "")), "the path contains '..': "),
    ]
    for path, why in made:
        with pytest.raises(FaultError) as refused:
            list(stream_files(str(path), path.name, LIMITS))
        shown = ("/".join("x" * 60) if path.name == "5.zip" else name)[:80]
        assert refused.value.fault.detail == f"{why}{shown!r}"


@pytest.mark.parametrize(
    ("name", "is_left_out"),
    [
        ("__MACOSX/a", True),
        ("a/.DS_Store", True),
        ("Thumbs.db", True),
        ("a/._b", True),
        ("._a/b", False),
        ("a/__MACOSX", False),
        ("a", False),
    ],
)
def test_what_systems_add_is_no_file_of_an_archive(tmp_path: Path, name: str, is_left_out: bool) -> None:
    """Of a zip and of a tar; a folder with the mode that systems write is read past, and a file without a byte is one."""

    def mode(member: zipfile.ZipInfo) -> None:
        kind = stat.S_IFDIR | 0o755 if member.filename.endswith("/") else stat.S_IFREG | 0o644
        member.external_attr = kind << 16

    paths = [
        zipped(tmp_path / "x.zip", ("d/", b""), (name, b"x"), ("e", b""), how=mode),
        tarred(tmp_path / "x.tar", ("d", tarfile.DIRTYPE, b"", ""), (name, tarfile.REGTYPE, b"x", ""), ("e", tarfile.REGTYPE, b"", "")),
    ]
    for path in paths:
        found = list(stream_files(str(path), path.name, LIMITS))
        assert found == [*([] if is_left_out else [(name, "eA==")]), ("e", "")]


@pytest.mark.parametrize(("name", "bare"), [("a.tar.GZ", "a"), ("b.tgz", "b"), ("c.d.zip", "c.d"), (".zip", ".zip"), ("e.rar", "e.rar")])
def test_the_name_without_its_ending(name: str, bare: str) -> None:
    """The longest ending of an archive goes; what would be left without a name keeps it."""
    assert without_ending(name) == bare
