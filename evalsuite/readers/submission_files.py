"""The files of a submission: their list, their hash, and a local copy of those behind a URL (`s3://`, `https://` ...).

The hash of an unchanged folder is known without reading it, and so is whether a run's verdicts are for the bytes it names. Only the
grader's own arguments can name a URL: a submission's text never is one, and its paths are checked before any is requested.

A folder of dbt projects as agents leave them contains `<instance>/<name>.duckdb` and no results_metadata.jsonl; the database is the answer.
"""

import contextlib
import hashlib
import json
import math
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.errors import NO_ROOM, FaultError, MissingExtraError, SubmissionError, machine_error
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.types import METADATA, METADATA_ARRAY, Answer, Fault, Result, Submission, Task
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import SPEC_PATTERN, Inode, content_digest, open_confined, resolve_in_side
from evalsuite.sandbox.temp_dirs import TempDir

if TYPE_CHECKING:
    from evalsuite.core.disk_cache import DiskCache

_ENDING = ".duckdb"
_SHOWN = 3


def read_projects(folder: Path, limits: Limits, ids: Collection[str] | None) -> Submission | None:
    """The submission in such a folder, of answers to other `ids` only their number; None if no readable subfolder contains a database.

    Several databases in one folder are ambiguous: that instance is a submission fault.
    """
    places = _names_in(folder)
    if any(fnmatch(name, SPEC_PATTERN) for name in places):
        # Gold contains databases too.
        return None
    answers: dict[str, Answer] = {}
    for place in places:
        if names := [name for name in _names_in(folder / place) if name.endswith(_ENDING)]:
            answers[place] = _answer(place, names)
    notes = (f"no {METADATA}: the database in an instance's folder is used as its answer",)
    submission = Submission.of_answers(folder, answers, ids, limits, notes=notes, metadata="")
    return submission if submission.answers else None


def _names_in(folder: Path) -> list[str]:
    """The visible names in a folder, sorted; empty if it is not a folder or cannot be read, because other code reports that better."""
    try:
        return sorted(item.name for item in folder.iterdir() if not item.name.startswith("."))
    except OSError:
        return []


def _answer(name: str, files: list[str]) -> Answer:
    where = f"{name}/{files[0]}"
    if len(files) == 1:
        return Answer(instance_id=name, answer_type="file", value=files[0], where=where)
    names = ", ".join(files[:_SHOWN]) + (", ..." if len(files) > _SHOWN else "")
    fault = Fault(code="BAD_METADATA", detail=f"{len(files)} databases ({names}) and no {METADATA} that names one", where=where)
    return Answer(instance_id=name, answer_type="file", value="", where=where, fault=fault)


# A file changed shortly before it was read may change again without new timestamps: file systems' clocks are coarse.
_SETTLED_NS = 2_000_000_000
_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+://")
_BLOCK = 1 << 20
# The length of a SHA-256; its replacements are shorter.
_DIGITS = 64


def submission_files(submission: Submission) -> list[str]:
    """The paths below the submission folder that its score depends on: the metadata file, then each file an answer names, in its order."""
    names = {submission.metadata or METADATA: None}
    for answer in submission.answers.values():
        for name in answer.paths if answer.fault is None else ():
            # A refused path is never opened: its text is part of the metadata file.
            with contextlib.suppress(FaultError):
                names[resolve_in_side(answer.instance_id, name)] = None
    return list(names)


def submission_hash(submission: Submission, gold_inodes: frozenset[Inode] = frozenset()) -> str:
    """32 hex digits over the submission: names and bytes of the metadata file and of each file that an answer names.

    Equal submissions give equal hashes wherever they are. A file that cannot be opened counts by its fault (absent, a link, a link to a
    file of `gold_inodes`, larger than any answer may be), so that correcting it changes the hash. Half a SHA-256, because a submitter may
    search for two submissions with one hash. `cached_hash` returns that of an unchanged folder without reading it.
    """
    return hash_of(file_contents(submission, gold_inodes))


def hash_of(contents: Mapping[str, str]) -> str:
    """The `submission_hash` for the result of `file_contents`."""
    digest = hashlib.sha256()
    for item in contents.items():
        digest.update(json.dumps(item).encode())
    return digest.hexdigest()[:32]


def file_contents(
    submission: Submission, gold_inodes: frozenset[Inode] = frozenset(), *, known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """For each of `submission_files` the SHA-256 of its bytes, or the fault that prevents opening it.

    For the metadata file it is that of the bytes that were read as answers, whatever the file contains now; so it is for those in `known`,
    which `read_of` returns for a run's results. A run leaves unscored what this machine does not read; else that raises `MachineError`.
    """
    is_run = known is not None
    known = {**(known or {}), **({submission.metadata: submission.digest} if submission.digest is not None else {})}
    return {name: known.get(name) or _content(submission, name, gold_inodes, is_run) for name in submission_files(submission)}


def _content(submission: Submission, name: str, gold_inodes: frozenset[Inode] = frozenset(), is_run: bool = False) -> str:
    # The metadata file has a limit of its own, within which it was read.
    most = math.inf if name == submission.metadata else submission.limit_bytes
    try:
        with open_confined(submission.folder, name, limit_bytes=most, gold_inodes=gold_inodes) as handle:
            return content_digest(handle).hexdigest()
    except FaultError as error:
        if error.is_of_machine and not is_run:
            raise machine_error(submission.folder / name, error.fault) from None
        return error.fault.code


def named_hash(submission: Submission) -> str:
    """32 hex digits over a submission before a file is opened: its metadata, and the files its answers name."""
    return hash_of({**dict.fromkeys(submission_files(submission), ""), submission.metadata or METADATA: submission.digest or ""})


def read_of(tasks: Sequence[Task], results: Mapping[str, Result]) -> dict[str, str]:
    """The SHA-256 of each file of the submission that was read for these results (by instance id), by its path below the folder."""
    digests: dict[str, str] = {}
    for task in tasks:
        answer, result = task.answer, results.get(task.instance.instance_id)
        if answer is None or result is None or not result.digests:
            continue
        for path in answer.paths:
            if len(digest := result.digests.get(path, "")) == _DIGITS:
                digests.setdefault(resolve_in_side(answer.instance_id, path), digest)
    return digests


def has_changed(submission: Submission, read: Mapping[str, str]) -> bool:
    """Whether one of the files in `read` (from `read_of`) contains other bytes now."""
    return any(_content(submission, name) != digest for name, digest in read.items())


def cached_hash(
    folder: Path, memo: "DiskCache", *, limits: Limits, gold_inodes: frozenset[Inode], gold_hash: str, read: Callable[[], Submission]
) -> str:
    """The `submission_hash` of a folder with metadata, from the cache if no file of it changed. Raises what `read` raises.

    `read` reads the submission for the ids of the gold with this hash.

    A file counts as unchanged if its size, mtime, ctime, inode, device and kind are, and no folder above it became a link. This trusts the
    kernel, which gives every write a new ctime that no user can set, and the clock, which must not be turned back to the same nanosecond. A
    folder with a file younger than two seconds is not cached.
    """
    key = json.dumps([str(folder.resolve()), gold_hash, dict(sorted(limits.items()))])
    stored = memo.get("submission", key)
    if stored is not None and _stamp_of_files(folder, stored["files"], gold_inodes)[0] == stored["stamp"]:
        return str(stored["hash"])
    submission = read()
    files = submission_files(submission)
    before, newest = _stamp_of_files(folder, files, gold_inodes)
    digest = submission_hash(submission, gold_inodes)
    if newest < time.time_ns() - _SETTLED_NS and before == _stamp_of_files(folder, files, gold_inodes)[0]:
        memo.put("submission", key, {"files": files, "stamp": before, "hash": digest})
    return digest


def uncertain_instances(
    tasks: Sequence[Task], results: Sequence[Result], contents: Mapping[str, str], *, changed_gold: Sequence[str] = ()
) -> tuple[str, ...]:
    """The ids of the instances whose verdict may not be for the bytes in `contents`, the `file_contents` of a run.

    Two answers read different bytes of one file, its worker died before it could report what it read, or a file of gold changed meanwhile
    (`changed_gold`, by name below its folder). If nothing was opened the verdict depends on the metadata only. Empty if `contents` is: then
    the run reports no hash.
    """
    pairs = list(zip(tasks, results, strict=True)) if contents else []
    changed = {name.partition("/")[0] for name in changed_gold}
    if changed - {result.instance_id for _, result in pairs}:
        # A file that belongs to all instances.
        return tuple(result.instance_id for _, result in pairs)
    return tuple(result.instance_id for task, result in pairs if result.instance_id in changed or not _is_of(task, result, contents))


def _is_of(task: Task, result: Result, contents: Mapping[str, str]) -> bool:
    answer = task.answer
    if answer is None or answer.fault is not None or not answer.paths:
        return True
    if not result.digests:
        # LIMIT is unscored if the machine ended the worker.
        return result.status not in ("timeout", "crashed") and (result.status, result.fault) != ("unscored", "LIMIT")
    for path in answer.paths:
        # A path refused as such is never opened.
        with contextlib.suppress(FaultError):
            if path in result.digests and result.digests[path] != contents.get(resolve_in_side(answer.instance_id, path)):
                return False
    return True


def _stamp_of_files(folder: Path, files: Sequence[str], gold_inodes: frozenset[Inode]) -> tuple[str, int]:
    """(a digest of the file statuses, the newest of their times in nanoseconds); an absent file has a status of its own."""
    digest, newest, root = hashlib.sha256(), 0, os.fspath(folder)
    links = _links(root)
    for name in files:
        top, _, rest = name.partition("/")
        try:
            status = os.lstat(f"{root}/{name}")
            linked = top in links if "/" not in rest else _through_link(root, name)
        except (OSError, ValueError) as error:
            digest.update(type(error).__name__.encode())
            continue
        times, same = (status.st_mtime_ns, status.st_ctime_ns), (status.st_dev, status.st_ino)
        digest.update(repr((status.st_mode, status.st_size, *times, *same, same in gold_inodes, linked)).encode())
        newest = max(newest, *times)
    return digest.hexdigest(), newest


def _links(root: str) -> set[str]:
    """The names of the links in a folder, from one directory listing: most answers are one folder deep."""
    try:
        with os.scandir(root) as entries:
            return {entry.name for entry in entries if entry.is_symlink()}
    except OSError:
        return set()


def _through_link(root: str, name: str) -> bool:
    """Whether a folder between the root and the file is a link."""
    parts = name.split("/")[:-1]
    return any(stat.S_ISLNK(os.lstat(f"{root}/{place}").st_mode) for place in accumulate(parts, "{}/{}".format))


def is_remote(place: str) -> bool:
    """Whether a text is a URL; a drive letter is not a scheme."""
    return "://" in place and _URL.match(place) is not None


@contextlib.contextmanager
def local_copy(url: str, limits: Limits, *, read: Callable[[Path], Iterable[Submission]]) -> Iterator[Path]:
    """A private local copy of the submission at a URL, deleted afterwards: its metadata and the files its answers name, nothing else.

    `read` reads the copied metadata for the ids of the gold that it is copied for: a submission, or one per sample. For a `file://` URL it
    is the folder itself.

    Credentials are those that fsspec finds for the scheme. A file that is absent there is absent in the copy, and one larger than
    `file_bytes` is cut just above the limit, so that both cause the same fault as in a folder.

    Raises:
        MissingExtraError: fsspec, or what it needs for the scheme, is not installed.
        SubmissionError: There is no metadata file, or the URL cannot be reached.
    """
    remote = _file_system(url)
    if type(remote[0]).__name__ == "LocalFileSystem":
        # Read in place: a copy would follow links that are refused there.
        yield Path(remote[1])
        return
    with TempDir() as scratch:
        folder = scratch / "submission"
        try:
            if not any(_copy(remote, name, folder, int(limits["metadata_bytes"])) for name in (METADATA, METADATA_ARRAY)):
                raise SubmissionError(f"{url}: no {METADATA} there", hint=f"name the folder that contains {METADATA}")
            for name in dict.fromkeys(name for submission in read(folder) for name in submission_files(submission)):
                if name not in (METADATA, METADATA_ARRAY):
                    _copy(remote, name, folder, int(limits["file_bytes"]))
        except (OSError, ValueError, EOFError) as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            raise SubmissionError(
                f"{url}: cannot be read ({type(error).__name__})", hint="check the address and your credentials"
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
        raise SubmissionError(f"{url}: unknown kind of URL", hint="for example s3://bucket/folder or gs://bucket/folder") from None
    return system, path


def _copy(remote: tuple[Any, str], name: str, folder: Path, limit: int) -> bool:
    """Copy one file, at most one byte more than `limit`; False if it is absent there."""
    system, root = remote
    source = f"{root.rstrip('/')}/{name}"
    if not system.isfile(source):
        return False
    target = folder / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        writing = target.open("wb")
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        # An object store can contain both `a` and `a/b`, a folder cannot: the one that came second is absent.
        return False
    left = limit + 1
    with writing, system.open(source, "rb") as reading:
        while left > 0 and (block := reading.read(min(left, _BLOCK))):
            left -= writing.write(block)
    return True
