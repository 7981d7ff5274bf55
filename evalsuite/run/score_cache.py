"""Scores already known, by content: what is keyed on every byte that can move a verdict never has to be scored twice.

A key is made before an answer is scored, and its file may be exchanged in between: a verdict is kept only where it says that it was made
of the very bytes that are in its key.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Final

from evalsuite.errors import FaultError
from evalsuite.memo import Memo, code_stamp
from evalsuite.outcome import kind_of
from evalsuite.readers.gold_files import GoldFiles
from evalsuite.readers.paths import FromRoot, Inode, content_digest, inside, open_confined
from evalsuite.scorers import SCORERS
from evalsuite.store.run_files import result_of, whole_line
from evalsuite.types import Result, Task

# A text that is longer names no file of gold.
_LONGEST_NAME = 255
# Tasks that are looked up at once.
_AT_ONCE = 1000
# Nearly every answer of very many is a text, of which no file is read.
_NONE: Final[dict[str, str]] = {}


class ScoreCache:
    """Results by key; written by `close`."""

    def __init__(self, folder: Path, *, base: str, gold: GoldFiles, gold_inodes: frozenset[Inode]) -> None:
        self._memo = Memo(folder, stamp=code_stamp())
        self._base, self._gold, self._gold_inodes = base, gold, gold_inodes
        self._fresh: list[tuple[bytes, Result]] = []

    def known(self, tasks: Sequence[Task]) -> tuple[dict[str, Result], dict[str, "Keyed"]]:
        """(results by instance id that need no scoring, keys by instance id to keep the others under)."""
        results, keys = dict[str, Result](), dict[str, Keyed]()
        for at in range(0, len(tasks), _AT_ONCE):
            asked = [(task.instance.instance_id, self._keyed(task)) for task in tasks[at : at + _AT_ONCE]]
            found = self._memo.get_all("score", [keyed.digest.hex() for _, keyed in asked if keyed is not None])
            for name, keyed in asked:
                if keyed is not None:
                    try:
                        results[name] = result_of(found[keyed.digest.hex()], instance_id=name)
                    except (KeyError, ValueError, TypeError):
                        keys[name] = keyed
        return results, keys

    def _keyed(self, task: Task) -> "Keyed | None":
        return task_key(task, self._base, self._gold, self._gold_inodes)

    def keep(self, keyed: "Keyed | None", result: Result) -> None:
        """Remember a result that may be kept and is one on the very bytes that are in its key."""
        if keyed is None or not kind_of(result).may_be_kept or result.digests != keyed.digests:
            return
        if not self._gold.changed(keyed.gold):
            self._fresh.append((keyed.digest, result))

    def close(self) -> None:
        """Write what is new and let go of it and of the file."""
        if self._fresh:
            # In the order in which they will lie there.
            self._fresh.sort(key=itemgetter(0))
            self._memo.put_all("score", ((digest.hex(), whole_line(result)) for digest, result in self._fresh))
            self._fresh.clear()
        self._memo.close()


@dataclass(frozen=True, slots=True)
class Keyed:
    """The digest that is a task's key, with what is in it: that of each file of the answer by path, and the names of the gold files."""

    digest: bytes
    digests: Mapping[str, str]
    gold: Sequence[str]


def task_key(task: Task, base: str, gold: GoldFiles, gold_inodes: frozenset[Inode]) -> Keyed | None:
    """A digest of all that can move this task's verdict: the base (versions, rules, limits), gold's entry and files, the answer's bytes.

    None for a task without an answer, one whose files cannot be opened, or one judged by a plugin, whose code is not in the key.
    """
    if task.answer is None or task.answer.fault is not None or any(check.scorer not in SCORERS.bundled for check in task.instance.checks):
        return None
    # A faulty check's place stands in its reason, so it is part of the key.
    checks = [[check.scorer, dict(check.parameters), check.where if check.problems else ""] for check in task.instance.checks]
    digests: dict[str, str] = {}
    try:
        names = _gold_files(task, gold)
        if task.answer.answer_type != "answer":
            value = task.answer.value
            # The order of a list and what stands there again are in the key already.
            for path in [value] if isinstance(value, str) else dict.fromkeys(value):
                most, name = task.limits["file_bytes"], inside(task.instance.instance_id, path)
                with open_confined(task.submission_folder, name, limit_bytes=most, gold_inodes=gold_inodes) as handle:
                    digests[path] = content_digest(handle).hexdigest()
    except (FaultError, OSError, ValueError):
        return None
    bytes_of = {"gold": {name: gold.digests[name] for name in names}, "answer": digests}
    described = [base, task.instance.instance_id, task.rules, checks, task.answer.answer_type, task.answer.value, bytes_of]
    text = json.dumps(described, sort_keys=True, default=str)
    return Keyed(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), digests or _NONE, names or ())


def _gold_files(task: Task, gold: GoldFiles) -> list[str]:
    """The files that the checks' parameters name, below the gold folder; texts that are no file names are left out.

    Raises ValueError for one that is there and was not looked at: what is in it nobody would notice.
    """
    names: dict[str, None] = {}
    for check in task.instance.checks:
        for value in check.parameters.values():
            for item in value if isinstance(value, list | tuple) else [value]:
                if isinstance(item, str) and 0 < len(item) < _LONGEST_NAME and "\0" not in item:
                    name = str(item) if isinstance(item, FromRoot) else f"{task.instance.instance_id}/{item}"
                    if name in gold.digests:
                        names[name] = None
                    elif (task.gold_folder / name).is_file():
                        raise ValueError(name)
    return list(names)
