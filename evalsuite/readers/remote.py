"""A submission that lies behind a URL (`s3://`, `gs://`, `https://` ...): what it names is copied to a private folder and read there.

Only the grader's own arguments come here. What a submission says is never a URL: its paths are checked before one of them is asked for.
"""

import contextlib
import re
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from evalsuite.errors import MissingExtraError, SubmissionError
from evalsuite.readers.limits import Limits
from evalsuite.readers.submission import METADATA, read_metadata, submission_files

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_BLOCK = 1 << 20


def is_remote(place: str) -> bool:
    """Whether a text names a place by URL; a drive letter is no scheme."""
    return _URL.match(place) is not None


@contextlib.contextmanager
def copied(url: str, limits: Limits) -> Iterator[Path]:
    """A private local copy of the submission at a URL, gone after it: its metadata and the files its answers name, nothing else.

    Of a `file://` URL it is the folder itself.

    Credentials are those that fsspec finds for the scheme. A file that is absent there is absent in the copy, and one larger than
    `file_bytes` is cut just above, so that either is the fault it would be in a folder.

    Raises:
        MissingExtraError: fsspec, or what it needs for the scheme, is not installed.
        SubmissionError: there is no metadata file, or the place cannot be reached.
    """
    remote = _file_system(url)
    if type(remote[0]).__name__ == "LocalFileSystem":
        # Read where it lies: a copy would follow links that are refused there.
        yield Path(remote[1])
        return
    with tempfile.TemporaryDirectory(prefix="evalsuite-remote-") as scratch:
        folder = Path(scratch) / "submission"
        folder.mkdir()
        try:
            if not _copy(remote, METADATA, folder, int(limits["metadata_bytes"])):
                raise SubmissionError(f"{url}: no {METADATA} there", hint=f"name the folder that holds {METADATA}")
            for name in submission_files(read_metadata(folder, limits)):
                if name != METADATA:
                    _copy(remote, name, folder, int(limits["file_bytes"]))
        except (OSError, ValueError, EOFError) as error:
            raise SubmissionError(
                f"{url}: cannot be read ({type(error).__name__})", hint="are the address and your credentials right?"
            ) from None
        yield folder


def _file_system(url: str) -> tuple[Any, str]:
    """(the file system of a URL, the folder's path in it)."""
    try:
        url_to_fs = import_module("fsspec.core").url_to_fs
    except ImportError:
        raise MissingExtraError(f"{url} needs the package fsspec", extra="remote") from None
    scheme = url.partition("://")[0]
    try:
        system, path = url_to_fs(url)
    except ImportError as error:
        raise MissingExtraError(f"{scheme}:// needs one more package", other=str(error).lower()) from None
    except ValueError:
        raise SubmissionError(f"{url}: no such kind of place", hint="for example s3://bucket/folder or gs://bucket/folder") from None
    return system, path


def _copy(remote: tuple[Any, str], name: str, folder: Path, limit: int) -> bool:
    """Copy one file, at most a byte more than `limit`; False where it is absent there."""
    system, root = remote
    source = f"{root.rstrip('/')}/{name}"
    if not system.isfile(source):
        return False
    target = folder / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        writing = target.open("wb")
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        # An object store can hold both `a` and `a/b`, a folder cannot: the one that came second is absent.
        return False
    left = limit + 1
    with writing, system.open(source, "rb") as reading:
        while left > 0 and (block := reading.read(min(left, _BLOCK))):
            left -= writing.write(block)
    return True
