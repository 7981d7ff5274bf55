"""Scores already known, by content: what is keyed on every byte that can move a verdict never has to be scored twice."""

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.memo import Memo, code_stamp
from evalsuite.outcome import kind_of
from evalsuite.readers.paths import FromRoot, inside, open_confined, open_trusted
from evalsuite.scorers import SCORERS
from evalsuite.store.run_folder import result_line
from evalsuite.types import Result, Task


class ScoreCache:
    """Results by key; written by `close`."""

    def __init__(self, folder: Path, *, base: str, gold_inodes: frozenset[tuple[int, int]]) -> None:
        self._memo = Memo(folder, stamp=code_stamp())
        self._base, self._gold_inodes = base, gold_inodes

    def known(self, tasks: Sequence[Task]) -> tuple[dict[str, Result], dict[str, str]]:
        """(results by instance id that need no scoring, keys by instance id to keep the others under)."""
        keys: dict[str, str] = {}
        for task in tasks:
            key = task_key(task, self._base, self._gold_inodes)
            if key is not None:
                keys[task.instance.instance_id] = key
        found = self._memo.get_all("score", list(keys.values()))
        try:
            return {name: Result(**json.loads(found[key])) for name, key in keys.items() if key in found}, keys
        except (ValueError, TypeError):
            return {}, keys

    def keep(self, key: str | None, result: Result) -> None:
        """Remember a result that may be kept."""
        if key is not None and kind_of(result).may_be_kept:
            self._memo.put("score", key, result_line(result))

    def close(self) -> None:
        """Write what is new and let go of the file."""
        self._memo.close()


def task_key(task: Task, base: str, gold_inodes: frozenset[tuple[int, int]] = frozenset()) -> str | None:
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
    try:
        for name in _gold_files(task):
            with open_trusted(_gold_place(task, name), limit_bytes=math.inf) as handle:
                _add(digest, name, handle)
        if task.answer.answer_type != "answer":
            value = task.answer.value
            for path in [value] if isinstance(value, str) else value:
                most = task.limits["file_bytes"]
                with open_confined(
                    task.submission_folder, inside(task.instance.instance_id, path), limit_bytes=most, gold_inodes=gold_inodes
                ) as handle:
                    _add(digest, path, handle)
    except (FaultError, OSError, ValueError):
        return None
    return digest.hexdigest()


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


def _add(digest: "hashlib._Hash", name: str, handle: Any) -> None:
    digest.update(f"\0{name}\0".encode("utf-8", "surrogatepass"))
    inner = hashlib.file_digest(handle, "sha256")
    digest.update(inner.digest())
