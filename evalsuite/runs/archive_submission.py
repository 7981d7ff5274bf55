"""Submissions as one archive: read in a worker, written here by name as a folder, once for the same bytes."""

import json
import os
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import FaultError, OutputError, SubmissionError, describe
from evalsuite.readers.archives import ArchiveChecks, stream_files
from evalsuite.readers.duckdb_connections import private_copy, unnamed_copy
from evalsuite.readers.paths import content_digest, metadata_like, open_confined
from evalsuite.runs import WORKER_MODULES
from evalsuite.sandbox.fork_server import ForkServer, forking
from evalsuite.sandbox.rpc_client import RpcClient
from evalsuite.sandbox.worker_sandbox import can_fork

_STREAM = "evalsuite.readers.archives:stream_files"
# Faults that another try may not have.
_PASSING = frozenset({"TIMEOUT", "WORKER_DIED", "MISSING_FILE"})


class Unpacker:
    """Unpack archives, each in its own worker. No worker starts if all archives are known."""

    def __init__(self, memo: DiskCache, limits: Mapping[str, int | float], isolation: str) -> None:
        self._memo, self._limits, self._isolation = memo, limits, isolation
        self._workers = ExitStack()
        self._fork_server: ForkServer | None = None

    def close(self) -> None:
        """End the worker and its fork server."""
        self._workers.close()

    def folder_of(self, archive: Path) -> Path:
        """Return the folder of an archive; if the archive contains a single folder, that folder.

        The path contains the digest of the archive's bytes, and the unpacked content is a copy of exactly those bytes.

        Raises:
            SubmissionError: The archive is refused, with the reason.
            OutputError: There is no space left.
        """
        try:
            with open_confined(archive.parent, archive.name, limit_bytes=self._limits["archive_bytes"]) as handle:
                if (known := self._known(content_digest(handle).hexdigest())) is not None:
                    return known
                with unnamed_copy(handle, int(self._limits["archive_bytes"])) as copy:
                    copy.seek(0)
                    digest = content_digest(copy).hexdigest()  # type: ignore[arg-type]
                    return self._known(digest) or self._unpacked(copy, archive, digest)
        except FaultError as error:
            raise SubmissionError(describe(error.fault)) from None

    def _known(self, digest: str) -> Path | None:
        if (folder := self._memo.files(_key(digest), _submission_in)) is not None:
            return folder
        if (fault := self._memo.get("archive", self._asked(digest))) is not None:
            raise SubmissionError(str(fault))
        return None

    def _asked(self, digest: str) -> str:
        return json.dumps([digest, *(self._limits[name] for name in ("archive_bytes", "archive_members", "file_bytes"))])

    def _unpacked(self, copy: IO[bytes], archive: Path, digest: str) -> Path:
        try:
            self._memo.put_files(_key(digest), lambda place: _write(place, self._told(copy, archive), self._limits))
        except FaultError as error:
            if error.fault.code not in _PASSING:
                self._memo.put("archive", self._asked(digest), describe(error.fault))
            raise
        if (folder := self._memo.files(_key(digest), _submission_in)) is None:
            raise OutputError(f"{archive}: no space left to unpack it", hint="make room where `.evalsuite` lies")
        return folder

    def _told(self, copy: IO[bytes], archive: Path) -> Iterable[Any]:
        copy.seek(0)
        if self._isolation == "none" or not can_fork():
            with private_copy(copy, int(self._limits["archive_bytes"])) as place:
                yield from stream_files(str(place), archive.name, self._limits)
            return
        self._fork_server = self._fork_server or self._workers.enter_context(forking(archive.parent, modules=WORKER_MODULES))
        n_bytes = os.fstat(copy.fileno()).st_size
        with RpcClient(readable=[], hostile=archive.parent, limits=self._limits, fork_server=self._fork_server) as calls:
            yield from calls.stream(_STREAM, "", archive.name, dict(self._limits), copy=copy, n_bytes=20 * n_bytes)


def _key(digest: str) -> str:
    return f"unpacked-{digest}"


def _submission_in(folder: Path) -> Path:
    """Return the folder with the answers: the only subfolder, or this folder itself. Raises OSError if there is none."""
    inner = list(folder.iterdir())
    alone = len(inner) == 1 and inner[0].is_dir() and not metadata_like(folder)
    return inner[0] if alone else folder


def _write(place: Path, told: Iterable[Any], limits: Mapping[str, int | float]) -> None:
    """Write the reported files of an archive below a folder. The worker is not trusted, since an archive may control it."""
    contents, now, written = ArchiveChecks(limits), "", 0
    with ExitStack() as opened:
        file: IO[bytes] | None = None
        for item in told:
            match item:
                case [str(name), str(text)] | (str(name), str(text)):
                    pass
                case _:
                    raise FaultError("WORKER_DIED", "the worker told no file")
            if name != now or file is None:
                contents.count()
                contents.file(name)
                opened.close()
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                file, now, written = opened.enter_context((place / name).open("xb")), name, 0
            try:
                piece = b64decode(text, validate=True)
            except Base64Error:
                raise FaultError("WORKER_DIED", "the worker told no file") from None
            contents.hold(len(piece), name, so_far=written)
            written += file.write(piece)
