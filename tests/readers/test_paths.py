"""Paths a submission chose: only plain files inside the instance's own folder are opened; limits are one table of what can be meant."""

import errno
import io
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import FaultError, UsageError
from evalsuite.readers import paths
from evalsuite.readers.limits import DEFAULT_LIMITS, LIMITS, clock_of, clock_words, moved_limits, resolve_limits
from evalsuite.readers.paths import open_confined, open_trusted, relative_to_instance

needs_links = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no links and pipes on this system")


@pytest.fixture(params=["by descriptor", "by resolved path"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of opening: folder descriptors, and the plain check where the system has none."""
    if request.param == "by resolved path":
        monkeypatch.setattr(paths, "_BY_DESCRIPTOR", False)
    elif not paths._BY_DESCRIPTOR:
        pytest.skip("this system cannot open by folder descriptors")
    return str(request.param)


def fault(root: Path, path: str, limit: int = 100, gold: frozenset[tuple[int, int]] = frozenset()) -> tuple[str, str]:
    """Code and detail of the fault that opening raises."""
    with pytest.raises(FaultError) as caught:
        open_confined(root, path, limit_bytes=limit, gold_inodes=gold)
    return caught.value.fault.code, caught.value.fault.detail


@pytest.mark.parametrize(
    "path", ["r.csv", "sub/r.csv", "sub/.hidden", "käse 1.csv", "a..b.csv", "r~.csv", "./r.csv", "sub/././r.csv", "sub//.//r.csv"]
)
def test_a_plain_file_and_one_in_a_subfolder_are_opened(tmp_path: Path, way: str, path: str) -> None:
    """Subfolders of the instance's folder are allowed."""
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_bytes(b"abc")
    with open_confined(tmp_path, path, limit_bytes=3) as handle:
        assert handle.read() == b"abc"


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("", "the path is empty"),
        ("/etc/passwd", "the path is not relative"),
        ("~/r.csv", "the path is not relative"),
        ("~root/r.csv", "the path is not relative"),
        ("../r.csv", "the path contains '..'"),
        ("a/../r.csv", "the path contains '..'"),
        ("..", "the path contains '..'"),
        (".", "the path names a folder"),
        ("a/.", "the path names a folder"),
        ("./../r.csv", "the path contains '..'"),
        ("a//../r.csv", "the path contains '..'"),
        ("//etc/passwd", "the path is not relative"),
        ("a/", "the path names a folder"),
        ("r.csv\0.txt", "the path contains a control character"),
        ("r\nPASS.csv", "the path contains a control character"),
        ("r\x9b.csv", "the path contains a control character"),
        ("\ud800.csv", "the path contains a lone surrogate"),
        ("http://127.0.0.1:9/x.csv", "the path is a URL"),
        ("md:x", "the path names a drive or a URL scheme"),
        ("C:/r.csv", "the path names a drive or a URL scheme"),
        ("a\\r.csv", "the path contains a backslash; write '/'"),
        ("a/" * 512 + "b", "the path is longer than 1024 bytes"),
        ("x" * 256, "a part of the path is longer than 255 bytes"),
        ("é" * 128, "a part of the path is longer than 255 bytes"),
    ],
)
def test_a_path_that_could_leave_the_folder_is_refused_before_anything_is_opened(tmp_path: Path, path: str, detail: str) -> None:
    """The text of the path alone decides."""
    assert fault(tmp_path, path) == ("BAD_PATH", detail)
    for longest in ("a/" * 511 + "bc", "x" * 255):
        assert fault(tmp_path, longest)[0] == "MISSING_FILE"


@needs_links
def test_an_absolute_path_into_the_own_folder_is_taken_from_there_on(tmp_path: Path) -> None:
    """Whatever links lead to the folder; a path that leads elsewhere, even through `..`, stays as it is, and is refused on opening."""
    own = tmp_path / "sub" / "q1"
    own.mkdir(parents=True)
    (tmp_path / "sub" / "q2").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "sub")
    for way in (own, tmp_path / "linked" / "q1", f"{tmp_path}/sub/./q1", f"{tmp_path}//sub//q1/"):
        assert relative_to_instance(tmp_path / "sub", "q1", f"{way}/a/r.csv") == "a/r.csv"
        assert relative_to_instance(tmp_path / "linked", "q1", f"{way}/r.csv") == "r.csv"
    outside = [f"{tmp_path}/sub/q2/r.csv", f"{own}/../q1/r.csv", f"{own}", f"{own}/", f"/{own}/r.csv", "/etc/passwd", "/", "//", "/\0/x"]
    for path in [*outside, "r.csv", "", "q1/r.csv", "/" * 3000, "/x" * 600]:
        assert relative_to_instance(tmp_path / "sub", "q1", path) == path
    assert relative_to_instance(tmp_path / "sub", "q1", f"{own}//etc/passwd") == "etc/passwd", "inside, whatever it looks like"
    for id_ in ("", ".", "..", "q1/..", "absent", "\0"):
        assert relative_to_instance(tmp_path / "sub", id_, "/etc/passwd") == "/etc/passwd"
    rest = "/".join(["a" * 9] * 103)[: 1024 - len(f"{own}/")].rstrip("/").ljust(1024 - len(f"{own}/"), "b")
    assert relative_to_instance(tmp_path / "sub", "q1", f"{own}/{rest}") == rest
    assert relative_to_instance(tmp_path / "sub", "q1", f"{own}/{rest}b") == f"{own}/{rest}b", "longer than a path may be"
    assert relative_to_instance(Path("/"), tmp_path.parts[1], f"/{tmp_path.parts[1]}/r.csv") == "r.csv"
    (own / "in").symlink_to(own)
    assert relative_to_instance(tmp_path / "sub", "q1", f"{own}/in/r.csv") == "in/r.csv", "a link inside is for the walk to refuse"


@needs_links
def test_links_are_refused_wherever_they_stand_on_the_way(tmp_path: Path, way: str) -> None:
    """A linked file, a linked folder and a linked instance folder; the root itself is the user's and may be a link."""
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "g.csv").write_text("secret")
    (tmp_path / "sub" / "q1").mkdir(parents=True)
    (tmp_path / "sub" / "q1" / "r.csv").symlink_to(tmp_path / "gold" / "g.csv")
    (tmp_path / "sub" / "q1" / "d").symlink_to(tmp_path / "gold")
    (tmp_path / "sub" / "q2").symlink_to(tmp_path / "gold")
    (tmp_path / "linked").symlink_to(tmp_path / "gold")
    (tmp_path / "sub" / "q1" / "own.csv").write_text("own")
    (tmp_path / "sub" / "q1" / "link.csv").symlink_to("own.csv")
    for path in ("q1/r.csv", "q1/d/g.csv", "q2/g.csv", "q1/link.csv"):
        assert fault(tmp_path / "sub", path) == ("BAD_PATH", "the path goes through a link")
    with open_confined(tmp_path / "linked", "g.csv", limit_bytes=100) as handle:
        assert handle.read() == b"secret"
    if way == "by resolved path":
        # A way out that does not look like a link, as a mount point of Windows.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "is_symlink", lambda _: False)
            assert fault(tmp_path / "sub", "q1/d/g.csv") == ("BAD_PATH", "the path goes through a link")


@needs_links
def test_a_folder_that_becomes_a_link_after_the_look_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The open refuses the link itself, not only the look before it."""
    for folder in ("gold", "sub"):
        (tmp_path / folder / "q1").mkdir(parents=True)
        (tmp_path / folder / "q1" / "r.csv").write_text(folder)
    look = os.stat

    def look_and_exchange(path: str, **how: Any) -> os.stat_result:
        found = look(path, **how)
        (tmp_path / "sub" / "q1").rename(tmp_path / "sub" / "q2")
        (tmp_path / "sub" / "q1").symlink_to(tmp_path / "gold" / "q1")
        return found

    monkeypatch.setattr(paths.os, "stat", look_and_exchange)
    with pytest.raises(FaultError):
        open_confined(tmp_path / "sub", "q1/r.csv", limit_bytes=100)


@needs_links
def test_a_hard_link_to_a_gold_file_is_refused(tmp_path: Path, way: str) -> None:
    """No path betrays a hard link; the inode does."""
    gold = tmp_path / "g.csv"
    gold.write_text("secret")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "r.csv").hardlink_to(gold)
    found = gold.stat()
    inodes = frozenset({(found.st_dev, found.st_ino)})
    assert fault(tmp_path / "sub", "r.csv", gold=inodes) == ("BAD_PATH", "hard link to a gold file")


@needs_links
def test_folders_pipes_and_sockets_are_no_files(tmp_path: Path, way: str) -> None:
    """A pipe without a writer must not make the reader wait for ever."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        assert {fault(tmp_path, name)[0] for name in ("folder", "pipe", "s")} == {"NOT_REGULAR_FILE"}


def test_missing_and_large_files(tmp_path: Path, way: str) -> None:
    """Nothing is there, or nothing can be below it. A sparse file of 50 GB costs nothing to make and must cost nothing to refuse."""
    (tmp_path / "r.csv").write_text("a")
    assert fault(tmp_path, "nope.csv") == ("MISSING_FILE", "")
    assert fault(tmp_path, "nope/r.csv") == ("MISSING_FILE", "")
    assert fault(tmp_path, "r.csv/x") == ("MISSING_FILE", "")
    with (tmp_path / "r.csv").open("wb") as handle:
        handle.truncate(50 << 30)
    assert fault(tmp_path, "r.csv", limit=1024) == ("TOO_LARGE", f"{50 << 30} bytes, the limit is 1024")


@needs_links
def test_a_trusted_file_may_be_a_link_but_not_a_folder(tmp_path: Path) -> None:
    """Gold is the grader's own; a pipe is not waited for."""
    (tmp_path / "g.csv").write_text("a")
    (tmp_path / "l.csv").symlink_to(tmp_path / "g.csv")
    with open_trusted(tmp_path / "l.csv", limit_bytes=10) as handle, open_confined(tmp_path, "g.csv", limit_bytes=10) as confined:
        assert handle.read() == b"a"
        assert not os.get_blocking(handle.fileno())
        assert not os.get_blocking(confined.fileno())
    os.mkfifo(tmp_path / "pipe")
    for place, kind in ((tmp_path, "a folder"), (tmp_path / "pipe", "a pipe, socket or device")):
        with pytest.raises(FaultError) as caught:
            open_trusted(place, limit_bytes=10)
        assert (caught.value.fault.code, caught.value.fault.detail) == ("NOT_REGULAR_FILE", f"{kind} is where a file is needed")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FaultError, match="the link leads to itself") as caught:
        open_trusted(tmp_path / "loop", limit_bytes=10)
    assert caught.value.fault.code == "MISSING_FILE"


@pytest.mark.parametrize(
    ("number", "code", "detail", "side"),
    [
        (errno.ELOOP, "BAD_PATH", "the path goes through a link", "submission"),
        (errno.ENAMETOOLONG, "BAD_PATH", "the path is too long", "submission"),
        (errno.ENXIO, "NOT_REGULAR_FILE", "", "submission"),
        (errno.EISDIR, "NOT_REGULAR_FILE", "", "submission"),
        (errno.EACCES, "MISSING_FILE", "the file may not be read", "submission"),
        (errno.ENOENT, "MISSING_FILE", "", "submission"),
        (errno.ENOTDIR, "MISSING_FILE", "", "submission"),
        (errno.EMFILE, "LIMIT", "this machine cannot open the file: Too many open files", "setup"),
        (errno.ENOTCONN, "LIMIT", "this machine cannot open the file: Transport endpoint is not connected", "setup"),
        (errno.ETXTBSY, "MISSING_FILE", "the file cannot be opened", "submission"),
    ],
)
def test_why_a_file_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str, detail: str, side: str
) -> None:
    """Each error of the system is a fault without its path; what only the machine lacks is not the submission's."""

    def fail(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number), str(tmp_path))

    monkeypatch.setattr(paths, "_walk", fail)
    with pytest.raises(FaultError) as refused:
        open_confined(tmp_path, "a/b.csv", limit_bytes=9)
    assert (refused.value.fault.code, refused.value.fault.detail, refused.value.side) == (code, detail, side)


def test_names_of_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id has a name of its own, never hidden or too long; what is wrong with a folder is said in words."""
    assert [paths.file_name(name) for name in ("q 1,+=@()[]!", "a/b", "ä")] == ["q 1,+=@()[]!", "a%2Fb", "%C3%A4"]
    odd = [".", "..", ".a", "a" * 300, "a" * 299 + "b", "ü" * 100]
    names = [paths.file_name(name) for name in odd]
    assert len({*names, *map(paths.file_name, ("a", "%"))}) == len(odd) + 2
    assert all(not name.startswith(".") and len(name) <= 133 for name in names)
    longest = "a" * 120
    assert (paths.file_name(longest), paths.file_name(longest + "a")[:-12]) == (longest, longest + "-")
    (tmp_path / "file").touch()
    assert [paths.why_no_folder(tmp_path / name, "gold folder") for name in ("", "none", "file")] == [
        "",
        "no such gold folder",
        "not a folder",
    ]

    def fail(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(paths.os, "scandir", fail)
    assert paths.why_no_folder(tmp_path, "gold folder") == "cannot be read: Permission denied"


def test_limits_in_turn_with_their_defaults() -> None:
    """Later ones win, each has a meaning, a misspelt one is refused, fractions are of seconds; a default that moved would go unseen."""
    limits = resolve_limits({"seconds": 20, "rows": 5}, {"rows": 7})
    assert (limits["seconds"], limits["rows"], limits["columns"]) == (20, 7, DEFAULT_LIMITS["columns"])
    assert all(meaning and "\n" not in meaning for _, meaning in LIMITS.values())
    with pytest.raises(UsageError, match="unknown limit 'row'") as caught:
        resolve_limits({"row": 5})
    assert caught.value.hint == "did you mean 'rows'?"
    assert resolve_limits({"seconds": 0.5})["seconds"] == 0.5
    assert resolve_limits({"run_seconds": 1.5, "clock": 0}) == {**DEFAULT_LIMITS, "run_seconds": 1.5}
    assert repr(resolve_limits({"rows": 3.0})["rows"]) == "3"
    with pytest.raises(UsageError, match="limit 'rows' must be a whole number"):
        resolve_limits({"rows": 2.5})
    assert " ".join(f"{name}={value}" for name, value in DEFAULT_LIMITS.items()) == (
        "file_bytes=268435456 rows=5000000 columns=20000 cells=20000000 cell_bytes=16777216 table_bytes=268435456 json_depth=100 "
        "json_keys=100000 json_records=10000 answer_bytes=65536 files=1000 line_bytes=8388608 metadata_bytes=536870912 "
        "archive_bytes=1073741824 archive_members=50000 notes=100 seconds=10 run_seconds=604800 run_bytes=1099511627776 "
        "message_bytes=1073741824 result_bytes=17179869184 billed_bytes=10737418240 memory_mib=2048 clock=0"
    )
    assert moved_limits(resolve_limits({"rows": 7, "columns": 20_000})) == {"rows": 7}


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "5", None])
def test_a_value_that_is_no_positive_number_is_refused(value: object) -> None:
    """Zero would stop everything, text and true are no numbers."""
    with pytest.raises(UsageError, match="limit 'rows' must be a number above 0"):
        resolve_limits({"rows": value})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("text", "seconds", "words"),
    [
        ("2026-05-31", 1780185600, "2026-05-31"),
        ("2026-05-31T18:30:00Z", 1780252200, "2026-05-31T18:30:00Z"),
        ("2026-05-31T00:00+02:00", 1780178400, "2026-05-30T22:00:00Z"),
        ("1970-01-01T00:00:01", 1, "1970-01-01T00:00:01Z"),
        ("1970-01-01", None, "a whole second after the first day of 1970"),
        ("2026-05-31T18:30:00.5", None, "a whole second after the first day of 1970"),
        ("31 May", None, "write a day as 2026-05-31, or a time as 2026-05-31T18:30:00Z"),
    ],
)
def test_a_frozen_clock(text: str, seconds: int | None, words: str) -> None:
    """A day or a time, in UTC unless it names its zone; only whole seconds after the first day."""
    if seconds is not None:
        assert (clock_of(text), clock_words(seconds)) == (seconds, words)
        assert resolve_limits({"clock": seconds})["clock"] == seconds
        return
    with pytest.raises(UsageError, match="a frozen clock cannot be") as refused:
        clock_of(text)
    assert refused.value.hint == words


def test_a_file_is_read_to_its_end_before_a_library_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails behind the first piece is the machine's fault, and named."""

    class Disk(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise OSError(errno.EIO, "input/output error")
            return super().read(size)

    monkeypatch.setattr(paths, "open_trusted", lambda *_, **__: Disk(bytes(2 * paths._PIECE)))
    with pytest.raises(OSError, match="input/output error"):
        paths.check_readable(Path("x"), limit_bytes=1)
