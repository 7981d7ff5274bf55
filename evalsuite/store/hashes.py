"""The hash of a submission folder: without reading a folder that nobody touched, and whether a run's verdicts are of the bytes it says."""

import contextlib
import hashlib
import json
import os
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalsuite.errors import FaultError
from evalsuite.memo import Memo
from evalsuite.readers.layouts import read_submission
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import Inode, inside
from evalsuite.readers.submission import submission_files, submission_hash
from evalsuite.types import Result, Task

# A file changed this shortly before it was read may change again without its times showing it: clocks of file systems are coarse.
_SETTLED_NS = 2_000_000_000


def known_hash(folder: Path, memo: Memo, *, limits: Limits, gold_inodes: frozenset[Inode], layout: str = "original") -> str:
    """The `submission_hash` of a folder, from the memo where no file of it changed since. Raises `SubmissionError`.

    A file is taken for unchanged when its size, mtime, ctime, inode, device and kind are, and those of no folder above it changed into
    a link. What that trusts: the kernel, which gives every write a new ctime that no user can set, and the clock, which must not be
    turned back to the nanosecond. A folder with a file younger than two seconds is not remembered at all.
    """
    if layout != "original":
        # Without metadata a new file is a new answer, and no stamp of known files would show it.
        return submission_hash(read_submission(folder, limits, layout=layout), gold_inodes)
    key = json.dumps([str(folder.resolve()), dict(sorted(limits.items()))])
    known = memo.get("submission", key)
    if known is not None and _stamp(folder, known["files"], gold_inodes)[0] == known["stamp"]:
        return str(known["hash"])
    submission = read_submission(folder, limits)
    files = submission_files(submission)
    before, newest = _stamp(folder, files, gold_inodes)
    found = submission_hash(submission, gold_inodes)
    if newest < time.time_ns() - _SETTLED_NS and before == _stamp(folder, files, gold_inodes)[0]:
        memo.put("submission", key, {"files": files, "stamp": before, "hash": found})
    return found


def unsure_of(tasks: Sequence[Task], results: Sequence[Result], contents: Mapping[str, str]) -> tuple[str, ...]:
    """The ids of the instances whose verdict is not known to be one on the bytes that `contents`, the `file_contents` of a run, tells of.

    A file was another one when it was read, or its worker was gone before it could say what it read. Where nothing was opened the verdict
    hangs on the metadata alone. Empty where `contents` is: then the run says no hash.
    """
    pairs = zip(tasks, results, strict=True) if contents else ()
    return tuple(result.instance_id for task, result in pairs if not _is_of(task, result, contents))


def _is_of(task: Task, result: Result, contents: Mapping[str, str]) -> bool:
    answer = task.answer
    if answer is None or answer.fault is not None or answer.answer_type == "answer":
        return True
    if not result.digests:
        return result.status not in ("timeout", "crashed")
    for path in [answer.value] if isinstance(answer.value, str) else answer.value:
        # A path that is refused as such is never opened.
        with contextlib.suppress(FaultError):
            if path in result.digests and result.digests[path] != contents.get(inside(answer.instance_id, path)):
                return False
    return True


def _stamp(folder: Path, files: Sequence[str], gold_inodes: frozenset[Inode]) -> tuple[str, int]:
    """(a digest of what the system says of the files, the newest of their times in nanoseconds); absent files count as such."""
    digest, newest, root = hashlib.sha256(), 0, os.fspath(folder)
    links = _links(root)
    for name in files:
        top, _, rest = name.partition("/")
        try:
            found = os.lstat(f"{root}/{name}")
            linked = top in links if "/" not in rest else _through_link(root, name)
        except (OSError, ValueError) as error:
            digest.update(type(error).__name__.encode())
            continue
        times, same = (found.st_mtime_ns, found.st_ctime_ns), (found.st_dev, found.st_ino)
        digest.update(repr((found.st_mode, found.st_size, *times, *same, same in gold_inodes, linked)).encode())
        newest = max(newest, *times)
    return digest.hexdigest(), newest


def _links(root: str) -> set[str]:
    """The names of the links in a folder, by one look at all of them: most answers lie one folder deep."""
    try:
        with os.scandir(root) as entries:
            return {entry.name for entry in entries if entry.is_symlink()}
    except OSError:
        return set()


def _through_link(root: str, name: str) -> bool:
    """Whether a folder between the root and the file is a link."""
    parts = name.split("/")[:-1]
    return any(stat.S_ISLNK(os.lstat("/".join([root, *parts[:n]])).st_mode) for n in range(1, len(parts) + 1))
