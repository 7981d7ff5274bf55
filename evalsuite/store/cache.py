"""Scores already known, by content: what is keyed on every byte that can move a verdict never has to be scored twice.

One SQLite file, because many processes may read and write it at once and a run asks for hundreds of keys in one go.
"""

import contextlib
import hashlib
import json
import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.outcome import kind_of
from evalsuite.readers.paths import FromRoot, inside, open_confined, open_trusted
from evalsuite.scorers import SCORERS
from evalsuite.store.run_folder import result_line
from evalsuite.types import Result, Task

_BUSY_SECONDS = 30


class ScoreCache:
    """Results by key, in `<folder>/scores.sqlite`; opened on first use, closed by `close`.

    A cache that cannot be opened or written is left out silently: it saves time and nothing else.
    """

    def __init__(self, folder: Path, *, base: str, gold_inodes: frozenset[tuple[int, int]]) -> None:
        self._path = folder / "scores.sqlite"
        self._gold_inodes = gold_inodes
        self._base = f"{base}|{code_stamp()}"
        self._connection: sqlite3.Connection | None = None
        self._fresh: list[tuple[str, str]] = []

    def known(self, tasks: Sequence[Task]) -> tuple[dict[str, Result], dict[str, str]]:
        """(results by instance id that need no scoring, keys by instance id to keep the others under)."""
        keys: dict[str, str] = {}
        for task in tasks:
            key = task_key(task, self._base, self._gold_inodes)
            if key is not None:
                keys[task.instance.instance_id] = key
        found = self._rows(list(keys.values()))
        return {name: found[key] for name, key in keys.items() if key in found}, keys

    def keep(self, key: str | None, result: Result) -> None:
        """Remember a result; it is written when the cache is closed."""
        if key is not None and kind_of(result).may_be_kept:
            self._fresh.append((key, result_line(result)))

    def close(self) -> None:
        """Write what is new and let go of the file."""
        with contextlib.suppress(sqlite3.Error, OSError):
            if self._fresh:
                connection = self._open()
                with connection:
                    connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", self._fresh)
        self._fresh = []
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _rows(self, keys: Sequence[str]) -> dict[str, Result]:
        if not keys or not self._path.exists():
            return {}
        try:
            rows = self._open().execute(
                "SELECT key, line FROM scores WHERE key IN (SELECT value FROM json_each(?))", [json.dumps(list(keys))]
            )
            return {key: Result(**json.loads(line)) for key, line in rows}
        except (sqlite3.Error, OSError, ValueError, TypeError):
            return {}

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, line TEXT NOT NULL) WITHOUT ROWID")
        return self._connection


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


def code_stamp() -> str:
    """When this package's code last changed, so that a cache never outlives an edit or an update without a new version."""
    package = Path(__file__).resolve().parent.parent
    return str(max(path.stat().st_mtime_ns for path in package.rglob("*.py")))
