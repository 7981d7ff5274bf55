"""Read submissions in one file: the contents of a `.zip`, `.tar` or `.tar.gz`, file by file; an unsafe member refuses the whole archive."""

import gzip
import lzma
import stat
import sys
import tarfile
import unicodedata
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import IO, Final, Self

from evalsuite.core.errors import FaultError
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import split_path

# The longest first, because the matching ending is removed.
ENDINGS: Final = (".tar.gz", ".tgz", ".tar", ".zip")
# Common archive formats that are not supported.
OTHER_ENDINGS: Final = (".7z", ".bz2", ".gz", ".rar", ".tar.bz2", ".tar.xz", ".tar.zst", ".xz", ".zst")
_MOST_FOLDERS = 32
_PIECE = 1 << 20
# Files that operating systems add to folders.
_LITTER_FOLDER, _LITTER = "__MACOSX", (".DS_Store", "Thumbs.db", "desktop.ini")
# From Python 3.14 on `zipfile` and `tarfile` read Zstandard.
_ZSTD_ERROR = getattr(sys.modules.get("compression.zstd"), "ZstdError", zlib.error)
# What reading a damaged archive raises: RecursionError of heads that announce each other without end.
DAMAGE: Final[tuple[type[Exception], ...]] = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, _ZSTD_ERROR),
    *(EOFError, OSError, ValueError, LookupError, OverflowError, RecursionError),
)


def is_archive(name: str) -> bool:
    """Whether a file's name has the ending of a supported archive."""
    return name.casefold().endswith(ENDINGS)


def without_ending(name: str) -> str:
    """The name of an archive's content: `team-1` of `team-1.tar.gz`."""
    return next((name[: -len(ending)] for ending in ENDINGS if name.casefold().endswith(ending)), name) or name


class ArchiveChecks:
    """Checks on the members of an archive: allowed names, number of members, total size.

    The process that reads the archive and the process that writes its files each have their own instance: neither trusts the other.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._n, self._bytes = 0, 0

    def count(self) -> None:
        """Count one more member. Raises LIMIT."""
        self._n += 1
        if self._n > (most := int(self._limits["archive_members"])):
            raise FaultError("LIMIT", f"more than {most} members (limit archive_members)")

    def hold(self, size: int, name: str, *, so_far: int = 0) -> None:
        """Count more bytes of a file that had `so_far`. Raises TOO_LARGE for a file and LIMIT for the archive."""
        if so_far + size > self._limits["file_bytes"]:
            raise FaultError("TOO_LARGE", f"{name}: {so_far + size} bytes, the limit file_bytes is {int(self._limits['file_bytes'])}")
        self._bytes += size
        if self._bytes > (most := int(self._limits["archive_bytes"])):
            raise FaultError("LIMIT", f"unpacked it contains more than {most} bytes (limit archive_bytes)")

    def file(self, name: str) -> None:
        """Add a file of that name. Raises BAD_PATH if the name is not allowed, or used by another file or folder (case ignored)."""
        *folders, _ = self._parts(name)
        for folder in accumulate(folders, "{}/{}".format):
            self._folder(folder)
        if (other := self._files.get(key := _fold_name(name))) is not None:
            same = "occurs twice" if other == name else f"differs from {other!r} only in case or Unicode form"
            raise FaultError("BAD_PATH", f"{name!r} {same}")
        if key in self._folders:
            raise FaultError("BAD_PATH", f"{name!r} is a file and a folder")
        self._files[key] = name

    def folder(self, name: str) -> None:
        """Add a folder of that name. Raises BAD_PATH like `file`; a folder may occur twice."""
        for folder in accumulate(self._parts(name), "{}/{}".format):
            self._folder(folder)

    def _folder(self, name: str) -> None:
        key = _fold_name(name)
        if key in self._files:
            raise FaultError("BAD_PATH", f"{name!r} is a file and a folder")
        if (other := self._folders.setdefault(key, name)) != name:
            raise FaultError("BAD_PATH", f"{name!r} differs from {other!r} only in case or Unicode form")

    @staticmethod
    def _parts(name: str) -> list[str]:
        try:
            parts = split_path(name)
        except FaultError as error:
            raise FaultError("BAD_PATH", f"{error.fault.detail}: {name[:80]!r}") from None
        if "/".join(parts) != name:
            raise FaultError("BAD_PATH", f"the path has an empty part or '.': {name[:80]!r}")
        if len(parts) > _MOST_FOLDERS:
            raise FaultError("BAD_PATH", f"a path of more than {_MOST_FOLDERS} folders: {name[:80]!r}")
        return parts


def stream_files(place: str, name: str, limits: Mapping[str, int | float], *, private: Path | None = None) -> Iterator[tuple[str, str]]:
    """(path, piece in base64) of each file of the archive at `place` (or the `private` copy of it), the pieces of a file in order.

    The ending of `name` decides the format. Raises `FaultError`: BAD_PATH, NOT_REGULAR_FILE, TOO_LARGE, LIMIT, and BAD_ARCHIVE if it is
    damaged, encrypted or not an archive.
    """
    contents, kind = ArchiveChecks(limits), name.casefold()
    try:
        with (private or Path(place)).open("rb") as handle:
            if kind.endswith(".zip"):
                yield from _unpack_zip(handle, contents)
            elif kind.endswith(".tar"):
                yield from _unpack_tar(handle, contents)
            else:
                with gzip.GzipFile(fileobj=handle) as unpacked:
                    yield from _unpack_tar(unpacked, contents)
    except DAMAGE:
        raise FaultError("BAD_ARCHIVE", "it is damaged, or not an archive of the kind that its name shows") from None
    except (NotImplementedError, RuntimeError):
        raise FaultError("BAD_ARCHIVE", "its compression is not supported") from None


def _unpack_zip(handle: IO[bytes], contents: ArchiveChecks) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(handle) as archive:
        if not _begins_with_listed(handle, archive):
            raise FaultError("BAD_ARCHIVE", "it begins with files that its list of files does not have: two archives in one?")
        members = []
        # All members are checked before the first byte is unpacked.
        for member in archive.infolist():
            contents.count()
            # `filename` ends at the first NUL.
            name, kind = member.orig_filename, stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise FaultError("NOT_REGULAR_FILE", f"a link or device: {name[:80]!r}")
            if member.flag_bits & 0x1:
                raise FaultError("BAD_ARCHIVE", f"it is encrypted: {name[:80]!r}")
            if member.is_dir():
                contents.folder(name.rstrip("/"))
            elif not _is_litter(name):
                contents.file(name)
                contents.hold(member.file_size, name)
                members.append(member)
        for member in members:
            with archive.open(member) as unpacked:
                yield from _pieces(member.orig_filename, unpacked, member.file_size)


def _begins_with_listed(handle: IO[bytes], archive: zipfile.ZipFile) -> bool:
    """Whether the file at the very beginning, if there is one, is the first that the archive lists."""
    handle.seek(0)
    return handle.read(4) != b"PK\x03\x04" or min((member.header_offset for member in archive.infolist()), default=1) == 0


def _unpack_tar(handle: IO[bytes] | gzip.GzipFile, contents: ArchiveChecks) -> Iterator[tuple[str, str]]:
    is_empty = True
    with tarfile.open(fileobj=handle, mode="r|", tarinfo=_Member) as archive:
        for member in archive:
            is_empty = False
            contents.count()
            # Otherwise the members of an endless archive would all be kept.
            archive.members = []  # type: ignore[attr-defined]
            name = member.name.removeprefix("./")
            if member.isdir():
                if name not in ("", "."):
                    contents.folder(name)
            elif not member.isreg() or member.issparse():
                raise FaultError("NOT_REGULAR_FILE", f"a link, device or file with holes: {name[:80]!r}")
            elif not _is_litter(name):
                contents.file(name)
                contents.hold(member.size, name)
                unpacked = archive.extractfile(member)
                assert unpacked is not None, "it is a regular file"
                yield from _pieces(name, unpacked, member.size)
        while rest := archive.fileobj.read(tarfile.RECORDSIZE):
            contents.hold(len(rest), "what fills its end")
            if rest.strip(b"\0"):
                raise FaultError("BAD_ARCHIVE", "there is data after its end: it is damaged, or several archives in one file")
    if is_empty:
        raise FaultError("BAD_ARCHIVE", "it is empty")


class _Member(tarfile.TarInfo):
    """A member of a tar with a strict header: `tarfile` takes a damaged header, and a file cut off between two members, for the end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        """The next member; raises `ReadError` for everything except a header and the zeros that end an archive."""
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None


def _pieces(name: str, unpacked: IO[bytes], size: int) -> Iterator[tuple[str, str]]:
    """The bytes of a file; a file with more or fewer bytes than declared is damaged."""
    left = size
    while piece := unpacked.read(min(_PIECE, left + 1)):
        left -= len(piece)
        if left < 0:
            break
        yield name, b64encode(piece).decode()
    if left:
        raise FaultError("BAD_ARCHIVE", f"{name[:80]!r} does not have its declared {size} bytes")
    if not size:
        yield name, ""


def _is_litter(name: str) -> bool:
    first, last = name.partition("/")[0], name.rpartition("/")[2]
    return first == _LITTER_FOLDER or last in _LITTER or last.startswith("._")


def _fold_name(name: str) -> str:
    """The name as a file system that ignores case and Unicode composition compares it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
