"""The two connections that read DuckDB files: one for gold, one for submissions. Neither can open the other's files."""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Final

from evalsuite.core.errors import FaultError
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import open_trusted
from evalsuite.sandbox.temp_dirs import TempDir, descriptor_path

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from fsspec import AbstractFileSystem


_MAGIC = b"DUCK"
_BLOCK: Final = 1 << 20
# After a file of more bytes the connection is closed: it would keep the memory that reading took.
_LONG: Final = 8 << 20
# Flags of `memfd_create`.
_CLOSE_ON_EXEC: Final = 1
_DESCRIPTORS: Final = "descriptor://"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "threads": "1",
}


def _debug(text: str, error: Exception) -> None:
    import logging

    logging.getLogger(__name__).debug(text, error)


@contextmanager
def attach_gold(path: Path, limits: Limits) -> "Iterator[DuckDBPyConnection]":
    """The trusted connection of this process with a gold database attached read-only as `gold`."""
    with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
        _check_magic(handle)
        with _faults():
            connection = _gold_connection()
            name = str(path)
            if not name.isprintable():
                # duckdb opens no path that is not UTF-8.
                name = f"{_DESCRIPTORS}{handle.fileno()}"
                if "descriptor" not in connection.list_filesystems():
                    connection.register_filesystem(_descriptor_files())
            quoted = name.replace("'", "''")
            connection.execute(f"ATTACH '{quoted}' AS gold (READ_ONLY, TYPE duckdb)")
            try:
                yield connection
            finally:
                connection.execute("DETACH gold")
                if path.stat().st_size > _LONG:
                    _gold_connection.cache_clear()
                    connection.close()


@cache
def _gold_connection() -> "DuckDBPyConnection":
    import duckdb

    connection = duckdb.connect(config=_CONFIG)
    for setting in ("TimeZone = 'UTC'", "enable_progress_bar = false"):
        connection.execute(f"SET {setting}")
    return connection


@contextmanager
def attach_answer(source: Path | BinaryIO, limits: Limits) -> "Iterator[DuckDBPyConnection]":
    """The locked connection with a private copy attached read-only as `answer`; errors of duckdb become faults with a fixed text."""
    if not isinstance(source, Path):
        _check_magic(source)
        with private_copy(source, int(limits["file_bytes"])) as copy, attach_answer(copy, limits) as connection:
            yield connection
        return
    with open_trusted(source, limit_bytes=limits["file_bytes"]) as handle:
        _check_magic(handle)
    with _faults(), _attach(source.absolute(), int(limits["memory_mib"])) as connection:
        yield connection


@contextmanager
def private_copy(source: BinaryIO | IO[bytes], limit_bytes: int) -> Iterator[Path]:
    """A path under which this process can open a copy of a file; the copy exists only inside the block. Raises LIMIT."""
    if os.name == "posix":
        with unnamed_copy(source, limit_bytes) as copy:
            yield descriptor_path(copy.fileno())
        return
    with TempDir() as folder:
        place = folder / "answer.duckdb"
        with place.open("wb") as target:
            _copy(source, target, limit_bytes)
        yield place


def unnamed_copy(source: BinaryIO | IO[bytes], limit_bytes: int) -> IO[bytes]:
    """A copy of a file that is reachable only through its descriptor: no other process can open it, no file is next to it, and nothing
    remains.

    Even a read-only open would replay a `.wal` next to the original. The copy is in memory if the system allows that: at most `file_bytes`
    for each answer that is being read, without the holes of a sparse file, and without disk space. Raises LIMIT.
    """
    try:
        copy = _memory_file()
        try:
            _copy(source, copy, limit_bytes)
        except BaseException:
            # Buffered bytes that were not written yet do not fit now either.
            with contextlib.suppress(OSError):
                copy.close()
            raise
    except OSError as error:
        _debug("copy: %r", error)
        # The answer is no larger than `file_bytes`, so it is this machine that has no space.
        raise FaultError("LIMIT", "this machine has no space for a copy of the database", side="setup") from None
    return copy


def _copy(source: BinaryIO | IO[bytes], target: IO[bytes], limit_bytes: int) -> None:
    source.seek(0)
    left = limit_bytes
    # Bounded even if the file grows while it is copied.
    while left > 0 and (block := source.read(min(left, _BLOCK))):
        left -= len(block)
        if block.count(0) == len(block):
            target.seek(len(block), os.SEEK_CUR)
        else:
            target.write(block)
    target.truncate(limit_bytes - left)


def _memory_file() -> IO[bytes]:
    """An empty file without a name, in memory if the system allows it.

    A Python compiled on an old system (as uv and conda ship it) lacks the call that libc has, and a sandboxed worker may not open a file on
    disk.
    """
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("evalsuite"), "w+b")
    descriptor = -1
    with contextlib.suppress(AttributeError, TypeError):
        descriptor = ctypes.CDLL(None).memfd_create(b"evalsuite", _CLOSE_ON_EXEC)
    if descriptor >= 0:
        return os.fdopen(descriptor, "w+b")
    import tempfile

    return tempfile.TemporaryFile()


@contextmanager
def _attach(path: Path, memory_mib: int) -> "Iterator[DuckDBPyConnection]":
    """The file, attached as `answer` to the one locked connection of this process for files of its folder, or for descriptors.

    Opening a connection takes ten milliseconds and its first query as many, attaching half a one. An error may leave the whole connection
    unusable, so it is closed after one, and the next file gets a new one.
    """
    is_descriptor = path == descriptor_path(int(path.name)) if path.name.isdecimal() else False
    connection = _locked_connection(_DESCRIPTORS if is_descriptor else f"{path.parent}/", memory_mib)
    quoted = f"{_DESCRIPTORS}{path.name}" if is_descriptor else str(path).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{quoted}' AS answer (READ_ONLY, TYPE duckdb)")
        yield connection
        connection.execute("DETACH answer")
        if path.stat().st_size > _LONG:
            _locked_connection.cache_clear()
            connection.close()
    except BaseException:
        _locked_connection.cache_clear()
        connection.close()
        raise


@lru_cache(maxsize=1)
def _locked_connection(root: str, memory_mib: int) -> "DuckDBPyConnection":
    """A connection that can open only files below `root`, and whose settings cannot be changed."""
    import duckdb

    connection = duckdb.connect(config={**_CONFIG, "memory_limit": f"{max(64, memory_mib // 2)}MiB"})
    if root == _DESCRIPTORS:
        connection.register_filesystem(_descriptor_files())
    folder = root.replace("'", "''")
    # The order matters: duckdb takes the folders and the temp_directory only before enable_external_access is off.
    for setting in (
        f"allowed_directories = ['{folder}']",
        "temp_directory = ''",
        "max_temp_directory_size = '0KB'",
        "enable_external_access = false",
        "TimeZone = 'UTC'",
        "enable_progress_bar = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


def _descriptor_files() -> "AbstractFileSystem":
    """A file system of duckdb in which `descriptor://5` is descriptor 5 of this process.

    From version 2.0.1 on, duckdb opens the file that `/proc/self/fd/5` points to, and a file without a name has no such path.
    """
    from fsspec import AbstractFileSystem

    class DescriptorFiles(AbstractFileSystem):  # type: ignore[misc]
        protocol = "descriptor"
        cachable = False

        def info(self, path: str, **_: object) -> dict[str, object]:
            number = path.removeprefix(_DESCRIPTORS)
            # Names that are no plain numbers, such as `5.wal`, do not exist there.
            if not number.isdecimal():
                raise FileNotFoundError(path)
            return {"name": path, "size": os.fstat(int(number)).st_size, "type": "file"}

        def _open(self, path: str, *_: object, **__: object) -> BinaryIO:
            return descriptor_path(int(path.removeprefix(_DESCRIPTORS))).open("rb", buffering=0)

    return DescriptorFiles()


def _check_magic(handle: BinaryIO) -> None:
    """Raise BAD_DUCKDB unless the bytes are DuckDB's: for any other file duckdb would look for an extension that reads it."""
    head = handle.read(12)
    handle.seek(0)
    if head[8:12] != _MAGIC:
        raise FaultError("BAD_DUCKDB", "the file is empty" if not head else "the file is not a DuckDB database")


@contextmanager
def _faults() -> Iterator[None]:
    """Turn exceptions of reading a database into faults; duckdb's own text goes to the debug log only."""
    import duckdb

    try:
        yield
    except (MemoryError, duckdb.OutOfMemoryException):
        raise FaultError("LIMIT", "the database does not fit into memory_mib") from None
    except (duckdb.Error, UnicodeDecodeError, RuntimeError, OverflowError, ValueError) as error:
        _debug("duckdb: %r", error)
        raise FaultError("BAD_DUCKDB") from None
