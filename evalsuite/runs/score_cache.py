"""Score cache: verdicts keyed on every byte that can change them, so that nothing is scored twice.

The key uses the digests of the bytes that were actually read. If files change meanwhile, a key never refers to other bytes.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from evalsuite.core.disk_cache import DiskCache, code_stamp
from evalsuite.core.errors import FaultError
from evalsuite.core.files import is_file
from evalsuite.core.status import kind_of
from evalsuite.core.types import Check, Result, Task
from evalsuite.readers.gold_files import GoldFiles
from evalsuite.readers.paths import FromRoot, Inode, content_digest, open_confined, resolve_in_side
from evalsuite.runs.batch_scoring import is_batch
from evalsuite.runs.instance_checks import is_pair, skip_unscorable
from evalsuite.runs.run_files import result_of, whole_line
from evalsuite.scorers import SCORERS

# A longer text names no file of gold.
_LONGEST_NAME = 255
# Tasks per lookup.
_AT_ONCE = 1000
# Hex digits of a SHA-256; a placeholder is shorter.
_DIGITS: Final = 64
# Bytes of a key.
_KEY: Final = 32
# Metrics that may use a local model.
_WITH_MODEL: Final = ("bertscore", "hedging_language")


class ScoreCache:
    """Results by key, written by `close`.

    `state_of` returns the part of a task's key that covers its databases: empty without any, None for a task that must not be cached.
    """

    def __init__(
        self, folder: Path, *, base: str, gold: GoldFiles, gold_inodes: frozenset[Inode], state_of: Callable[[Task], str | None]
    ) -> None:
        self._memo = DiskCache(folder, stamp=code_stamp())
        self._base, self._gold, self._gold_inodes, self._state_of = base, gold, gold_inodes, state_of
        # Tasks being scored, and the state of their databases at the start.
        self._open: dict[str, Task] = {}
        self._states: dict[str, str] = {}
        # New keys and results, keys concatenated: 4 MiB for a hundred thousand texts, three times that as pairs.
        self._fresh, self._keys = list[Result](), bytearray()
        self._places: list[str] = []

    def results(self, tasks: Sequence[Task]) -> Iterator[Task | Result]:
        """Yield the cached result of each task, or the task; its result can then be stored."""
        for at in range(0, len(tasks), _AT_ONCE):
            some, states = list[Task](), list[tuple[Task, str]]()
            for task in tasks[at : at + _AT_ONCE]:
                may_be_cached = is_pair(task) or (skip_unscorable(task) is None and not is_batch(task))
                state = self._state_of(task) if may_be_cached else None
                if state is None:
                    yield task
                else:
                    some.append(task)
                    states.append((task, state))
            # A file is hashed only if another answer to its instance is cached.
            places = self._memo.get_all("scored", [self._place(task) for task in some if task.answer and task.answer.paths])
            keys = {
                task.instance.instance_id: key.hex()
                for task, state in states
                if not (task.answer and task.answer.paths) or self._place(task) in places
                if (key := task_key(task, self._base, self._gold, self._read(task), state)) is not None
            }
            stored = self._memo.get_all("score", list(keys.values()))
            for task, state in states:
                name = task.instance.instance_id
                try:
                    yield result_of(stored[keys[name]], instance_id=name)
                except (KeyError, ValueError, TypeError):
                    self._open[name] = task
                    if state:
                        self._states[name] = state
                    yield task

    def keep(self, result: Result) -> None:
        """Store a cacheable result under the digests of the bytes that it was computed on."""
        kind = kind_of(result)
        task, state = self._open.pop(result.instance_id, None), self._states.get(result.instance_id, "")
        # A strict verdict that took too long may be in time on another day, and a view that reads the clock may have other rows.
        if task is None or not kind.may_be_kept or result.strict_fault or "reads_clock" in result.details:
            return
        # Whether a query is stopped depends on the machine too.
        if state and (kind.worth != "judged" or self._state_of(task) != state):
            return
        key = task_key(task, self._base, self._gold, result.digests, state)
        with contextlib.suppress(OSError, ValueError):
            if key is not None and not self._gold.find_changed(_gold_files(task, self._gold)):
                self._fresh.append(result)
                self._keys += key
                if task.answer and task.answer.paths:
                    self._places.append(self._place(task))

    def _place(self, task: Task) -> str:
        """Return the cache location of an instance under this base, for any answer."""
        return hashlib.sha256(f"{self._base} {task.rules} {task.instance.instance_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _read(self, task: Task) -> dict[str, str]:
        """Return the digest of each file of an answer that can be opened."""
        digests: dict[str, str] = {}
        with contextlib.suppress(FaultError, OSError):
            for path in task.answer.paths if task.answer else ():
                most, name = task.limits["file_bytes"], resolve_in_side(task.instance.instance_id, path)
                with open_confined(task.submission_folder, name, limit_bytes=most, gold_inodes=self._gold_inodes) as handle:
                    digests[path] = content_digest(handle).hexdigest()
        return digests

    def close(self) -> None:
        """Write new entries and release memory and the file."""
        self._open.clear()
        if self._fresh:
            # Nearly in their order in the file: three bytes distinguish most of a hundred thousand.
            order = sorted(range(len(self._fresh)), key=lambda at: int.from_bytes(self._keys[at * _KEY : at * _KEY + 3]))
            rows = ((self._keys[at * _KEY : (at + 1) * _KEY].hex(), whole_line(self._fresh[at])) for at in order)
            self._memo.put_all("score", rows)
            self._memo.put_all("scored", ((place, 1) for place in sorted(self._places)))
            self._fresh.clear()
            self._keys.clear()
        self._memo.close()


def task_key(task: Task, base: str, gold: GoldFiles, digests: Mapping[str, str], state: str) -> bytes | None:
    """Return a digest of everything that can change this task's verdict.

    It covers the base (versions, rules, limits), gold's entry and files, the answer's bytes, and the state of the databases that it runs
    on. None for a task without an answer, one whose `digests` lack one of its files, or one scored by a plugin or by a metric that may
    use a local model: neither the plugin's code nor the model is in the key.
    """
    if task.answer is None or task.answer.fault is not None or not all(map(_is_keyed, task.instance.checks)):
        return None
    paths = dict.fromkeys(task.answer.paths)  # the key already covers the order of a list and repetitions
    if any(len(digests.get(path, "")) != _DIGITS for path in paths):
        return None
    try:
        names = _gold_files(task, gold)
    except (OSError, ValueError):
        return None
    # The reason of a faulty check contains its position, so the position is in the key.
    checks = [
        [check.scorer, dict(check.parameters), check.where if check.problems else "", check.is_further] for check in task.instance.checks
    ]
    bytes_of = {"gold": {name: gold.digests[name] for name in names}, "answer": {path: digests[path] for path in paths}}
    described = [base, task.instance.instance_id, task.rules, checks, task.answer.answer_type, task.answer.value, bytes_of, state]
    text = json.dumps(described, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _is_keyed(check: Check) -> bool:
    """Return whether a key covers all that a check depends on: neither the code of a plugin nor a local model."""
    own_metrics = str(check.parameters.get("metrics")) if check.scorer == "tree_score" else ""
    return check.scorer in SCORERS.bundled and not any(name == check.scorer or name in own_metrics for name in _WITH_MODEL)


def _gold_files(task: Task, gold: GoldFiles) -> list[str]:
    """Return the files that the checks' parameters name, below the gold folder; texts that are no file names are left out.

    Raises ValueError for an existing file without a digest, whose changes would go unnoticed.
    """
    names: dict[str, None] = {}
    for check in task.instance.checks:
        for value in check.parameters.values():
            for item in value if isinstance(value, list | tuple) else [value]:
                if isinstance(item, str) and 0 < len(item) < _LONGEST_NAME and "\0" not in item:
                    name = str(item) if isinstance(item, FromRoot) else f"{task.instance.instance_id}/{item}"
                    if name in gold.digests:
                        names[name] = None
                    elif is_file(task.gold_folder / name):
                        raise ValueError(name)
    return list(names)
