"""Scores already known, by content: what is keyed on every byte that can move a verdict never has to be scored twice.

The key that a verdict is kept under is made of the digests that it comes with, those of the very bytes that were read: however its files
are exchanged meanwhile, a key never tells of others.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from evalsuite.core.disk_cache import DiskCache, code_stamp
from evalsuite.core.errors import FaultError
from evalsuite.core.status import kind_of
from evalsuite.core.types import Result, Task
from evalsuite.readers.gold_files import GoldFiles
from evalsuite.readers.paths import FromRoot, Inode, content_digest, inside, open_confined
from evalsuite.runs.run_files import result_of, whole_line
from evalsuite.scorers import SCORERS

# A text that is longer names no file of gold.
_LONGEST_NAME = 255
# Tasks that are looked up at once.
_AT_ONCE = 1000
# Of a SHA-256; what stands in the place of one is shorter.
_DIGITS: Final = 64
# Bytes of a key.
_KEY: Final = 32


class ScoreCache:
    """Results by key; written by `close`.

    `state_of` says what of a task's databases is part of its key: empty for one without any, None for one that is not to be remembered.
    """

    def __init__(
        self, folder: Path, *, base: str, gold: GoldFiles, gold_inodes: frozenset[Inode], state_of: Callable[[Task], str | None]
    ) -> None:
        self._memo = DiskCache(folder, stamp=code_stamp())
        self._base, self._gold, self._gold_inodes, self._state_of = base, gold, gold_inodes, state_of
        # What is being scored, and of what runs on databases their state when that began.
        self._open: dict[str, Task] = {}
        self._states: dict[str, str] = {}
        # What is new, and its keys one behind the other: of a hundred thousand texts it is 4 MiB, and thrice that as pairs.
        self._fresh, self._keys = list[Result](), bytearray()
        self._places: list[str] = []

    def known(self, tasks: Sequence[Task]) -> dict[str, Result]:
        """Results by instance id that need no scoring. What comes of the other tasks can be kept."""
        results = dict[str, Result]()
        for at in range(0, len(tasks), _AT_ONCE):
            states = [(task, state) for task in tasks[at : at + _AT_ONCE] if (state := self._state_of(task)) is not None]
            some = [task for task, _ in states]
            # A file is read for its digest only where that of another answer to its instance is known.
            places = self._memo.get_all("scored", [self._place(task) for task in some if _names_files(task)])
            keys = {
                task.instance.instance_id: key.hex()
                for task, state in states
                if not _names_files(task) or self._place(task) in places
                if (key := self._key(task, self._read(task), state)) is not None
            }
            found = self._memo.get_all("score", list(keys.values()))
            for task, state in states:
                name = task.instance.instance_id
                try:
                    results[name] = result_of(found[keys[name]], instance_id=name)
                except (KeyError, ValueError, TypeError):
                    self._open[name] = task
                    if state:
                        self._states[name] = state
        return results

    def keep(self, result: Result) -> None:
        """Remember a result that may be kept, under the digests of the very bytes that it is on."""
        kind = kind_of(result)
        task, state = self._open.pop(result.instance_id, None), self._states.get(result.instance_id, "")
        # A strict verdict that took too long may be there in time on another day.
        if task is None or not kind.may_be_kept or result.strict_fault:
            return
        # What a query is stopped for hangs on the machine too.
        if state and (kind.worth != "judged" or self._state_of(task) != state):
            return
        key = self._key(task, result.digests, state)
        with contextlib.suppress(OSError, ValueError):
            if key is not None and not self._gold.changed(_gold_files(task, self._gold)):
                self._fresh.append(result)
                self._keys += key
                if _names_files(task):
                    self._places.append(self._place(task))

    def _place(self, task: Task) -> str:
        """What stands for an instance under this base, whatever is answered."""
        return hashlib.sha256(f"{self._base} {task.rules} {task.instance.instance_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _read(self, task: Task) -> dict[str, str]:
        """The digest of each file of an answer, as far as they can be opened."""
        digests: dict[str, str] = {}
        with contextlib.suppress(FaultError, OSError):
            for path in _paths(task):
                most, name = task.limits["file_bytes"], inside(task.instance.instance_id, path)
                with open_confined(task.submission_folder, name, limit_bytes=most, gold_inodes=self._gold_inodes) as handle:
                    digests[path] = content_digest(handle).hexdigest()
        return digests

    def _key(self, task: Task, digests: Mapping[str, str], state: str) -> bytes | None:
        return task_key(task, self._base, self._gold, digests, state)

    def close(self) -> None:
        """Write what is new and let go of it and of the file."""
        self._open.clear()
        if self._fresh:
            # In the order in which they will lie there, nearly: three bytes tell most of a hundred thousand apart.
            order = sorted(range(len(self._fresh)), key=lambda at: int.from_bytes(self._keys[at * _KEY : at * _KEY + 3]))
            rows = ((self._keys[at * _KEY : (at + 1) * _KEY].hex(), whole_line(self._fresh[at])) for at in order)
            self._memo.put_all("score", rows)
            self._memo.put_all("scored", ((place, 1) for place in sorted(self._places)))
            self._fresh.clear()
            self._keys.clear()
        self._memo.close()


def task_key(task: Task, base: str, gold: GoldFiles, digests: Mapping[str, str], state: str) -> bytes | None:
    """A digest of all that can move this task's verdict: the base (versions, rules, limits), gold's entry and files, the answer's bytes,
    the state of the databases that it runs on.

    None for a task without an answer, one whose `digests` do not name the bytes of each of its files, or one judged by a plugin, whose
    code is not in the key.
    """
    if task.answer is None or task.answer.fault is not None or any(check.scorer not in SCORERS.bundled for check in task.instance.checks):
        return None
    # The order of a list and what stands there again are in the key already.
    paths = _paths(task)
    if any(len(digests.get(path, "")) != _DIGITS for path in paths):
        return None
    try:
        names = _gold_files(task, gold)
    except (OSError, ValueError):
        return None
    # A faulty check's place stands in its reason, so it is part of the key.
    checks = [[check.scorer, dict(check.parameters), check.where if check.problems else ""] for check in task.instance.checks]
    bytes_of = {"gold": {name: gold.digests[name] for name in names}, "answer": {path: digests[path] for path in paths}}
    described = [base, task.instance.instance_id, task.rules, checks, task.answer.answer_type, task.answer.value, bytes_of, state]
    text = json.dumps(described, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _names_files(task: Task) -> bool:
    return task.answer is not None and task.answer.answer_type != "answer"


def _paths(task: Task) -> list[str]:
    """The files that an answer names, each once."""
    if task.answer is None or not _names_files(task):
        return []
    value = task.answer.value
    return [value] if isinstance(value, str) else list(dict.fromkeys(value))


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
