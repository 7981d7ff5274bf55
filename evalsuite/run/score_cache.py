"""Scores already known, by content: what is keyed on every byte that can move a verdict never has to be scored twice.

A key is made before an answer is scored, and its file may be exchanged in between: a verdict is kept only where it says that it was made
of the very bytes that are in its key.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from evalsuite.errors import FaultError
from evalsuite.memo import Memo, code_stamp
from evalsuite.outcome import kind_of
from evalsuite.readers.paths import FromRoot, content_digest, inside, open_confined, open_trusted
from evalsuite.scorers import SCORERS
from evalsuite.store.run_files import whole_line
from evalsuite.types import Result, Task


class ScoreCache:
    """Results by key; written by `close`."""

    def __init__(self, folder: Path, *, base: str, gold_inodes: frozenset[tuple[int, int]]) -> None:
        self._memo = Memo(folder, stamp=code_stamp())
        self._base, self._gold_inodes = base, gold_inodes
        self._keyed: dict[str, Keyed] = {}

    def known(self, tasks: Sequence[Task]) -> tuple[dict[str, Result], dict[str, str]]:
        """(results by instance id that need no scoring, keys by instance id to keep the others under)."""
        keys: dict[str, str] = {}
        for task in tasks:
            keyed = task_key(task, self._base, self._gold_inodes)
            if keyed is not None:
                keys[task.instance.instance_id] = keyed.key
                self._keyed[keyed.key] = keyed
        found = self._memo.get_all("score", list(self._keyed))
        try:
            return {name: Result(**json.loads(found[key])) for name, key in keys.items() if key in found}, keys
        except (ValueError, TypeError):
            return {}, keys

    def keep(self, key: str | None, result: Result) -> None:
        """Remember a result that may be kept and is one on the very bytes that are in its key."""
        keyed = self._keyed.pop(key, None) if key is not None else None
        if keyed is not None and kind_of(result).may_be_kept and result.digests == keyed.digests and not keyed.is_stale():
            self._memo.put("score", keyed.key, whole_line(result))

    def close(self) -> None:
        """Write what is new and let go of the file."""
        self._memo.close()


@dataclass(frozen=True, slots=True)
class Keyed:
    """A key with what is in it: the digest of each file of the answer by path, and what the system said of each gold file."""

    key: str
    digests: Mapping[str, str]
    gold: Mapping[Path, tuple[int, ...]]

    def is_stale(self) -> bool:
        """Whether a gold file has changed since. Gold is the grader's own: nobody hides there what the system says of it."""
        try:
            return any(_stamp(path.stat()) != stamp for path, stamp in self.gold.items())
        except OSError:
            return True


def task_key(task: Task, base: str, gold_inodes: frozenset[tuple[int, int]] = frozenset()) -> Keyed | None:
    """A digest of all that can move this task's verdict: the base (versions, rules, limits), gold's entry and files, the answer's bytes.

    None for a task without an answer, one whose files cannot be opened, or one judged by a plugin, whose code is not in the key.
    """
    if task.answer is None or task.answer.fault is not None or any(check.scorer not in SCORERS.bundled for check in task.instance.checks):
        return None
    digest = hashlib.sha256(base.encode())
    # A faulty check's place stands in its reason, so it is part of the key.
    checks = [[check.scorer, dict(check.parameters), check.where if check.problems else ""] for check in task.instance.checks]
    described = [task.instance.instance_id, task.rules, checks, task.answer.answer_type, task.answer.value]
    digest.update(json.dumps(described, sort_keys=True, default=str).encode("utf-8", "surrogatepass"))
    digests: dict[str, str] = {}
    gold: dict[Path, tuple[int, ...]] = {}
    try:
        for name in _gold_files(task):
            place = _gold_place(task, name)
            with open_trusted(place, limit_bytes=math.inf) as handle:
                gold[place] = _stamp(os.fstat(handle.fileno()))
                _add(digest, name, handle)
        if task.answer.answer_type != "answer":
            value = task.answer.value
            # The order of a list and what stands there again are in the key already.
            for path in [value] if isinstance(value, str) else dict.fromkeys(value):
                most = task.limits["file_bytes"]
                with open_confined(
                    task.submission_folder, inside(task.instance.instance_id, path), limit_bytes=most, gold_inodes=gold_inodes
                ) as handle:
                    digests[path] = _add(digest, path, handle)
    except (FaultError, OSError, ValueError):
        return None
    return Keyed(digest.hexdigest(), digests, gold)


def _gold_files(task: Task) -> list[str]:
    """The files that the checks' parameters name, as far as they are there; texts that are no file names are left out."""
    names: dict[str, None] = {}
    for check in task.instance.checks:
        for value in check.parameters.values():
            for item in value if isinstance(value, list | tuple) else [value]:
                if isinstance(item, str) and 0 < len(item) < 255 and "\0" not in item and _gold_place(task, item).is_file():
                    names[item] = None
    return list(names)


def _gold_place(task: Task, name: str) -> Path:
    return task.gold_folder / (name if isinstance(name, FromRoot) else f"{task.instance.instance_id}/{name}")


def _add(digest: "hashlib._Hash", name: str, handle: BinaryIO) -> str:
    """The SHA-256 of a file, taken into the digest with its name."""
    digest.update(f"\0{name}\0".encode("utf-8", "surrogatepass"))
    inner = content_digest(handle)
    digest.update(inner.digest())
    return inner.hexdigest()


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
