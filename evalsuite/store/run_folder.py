"""A run is a folder: `results.jsonl` grows while running and is rewritten in gold order, then `run.json` is written, both atomically."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from evalsuite.errors import OutputError
from evalsuite.types import Result

RESULTS, RUN = "results.jsonl", "run.json"
# Stands in the folder while a run is unfinished: what it was started on, so that --resume can tell.
STARTED = ".started.json"
SCHEMA_VERSION = 1
RESULT_KEYS = ("instance_id", "status", "score", "official", "strict", "scorer", "reason", "fault", "details", "seconds")


def result_line(result: Result) -> str:
    """One line of `results.jsonl`: the result as JSON in the documented order of keys; whole numbers are written as such."""
    row = {key: getattr(result, key) for key in RESULT_KEYS}
    for key in ("score", "official", "strict"):
        row[key] = _plain(row[key])
    row["seconds"] = round(result.seconds, 6)
    return json.dumps(row, ensure_ascii=False, separators=(", ", ": "), default=_json_safe).encode("utf-8", "backslashreplace").decode()


def read_results(path: Path) -> Iterator[Result]:
    """The results of a finished `results.jsonl`, in its order."""
    with path.open(encoding="utf-8") as lines:
        yield from map(_parse, lines)


def _parse(line: str | bytes) -> Result:
    return Result(**json.loads(line))


class RunFolder:
    """A run folder being written: a journal first, then the two final files.

    The journal is opened on the first result; every result is flushed as one line, so a killed run leaves whole lines
    and at most one half-written last one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._journal: BinaryIO | None = None

    def open(self, plan: Mapping[str, Any]) -> "RunFolder":
        """Make the folder and an empty journal; raises `OutputError` where that cannot be done."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for name in (RUN, RESULTS):
                (self.path / name).unlink(missing_ok=True)
            write_atomically(self.path / STARTED, json.dumps(plan) + "\n")
            self._journal = (self.path / RESULTS).open("wb", buffering=0)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        return self

    def reopen(self, plan: Mapping[str, Any]) -> tuple["RunFolder", dict[str, Result]]:
        """Go on with an interrupted run: the folder, and the results that its journal holds by instance id.

        A half-written last line is cut off with a note. Raises `OutputError` where the folder is no unfinished run of this plan.
        """
        started = self._started()
        for key, what in (
            ("signature", "gold, rules, limits or library versions"),
            ("submission", "the submission"),
            ("options", "options"),
        ):
            if started.get(key) != json.loads(json.dumps(plan[key])):
                raise OutputError(f"{self.path} was started with other {what}", hint="start a new run, or give the same arguments")
        path = self.path / RESULTS
        try:
            data = path.read_bytes() if path.exists() else b""
            whole = data[: data.rfind(b"\n") + 1]
            if whole != data:
                self.notes.append(f"{RESULTS}: a half-written last line was dropped")
            results = {result.instance_id: result for result in map(_parse, whole.splitlines())}
            self._journal = path.open("r+b" if path.exists() else "wb", buffering=0)
            self._journal.truncate(len(whole))
            self._journal.seek(len(whole))
        except (OSError, ValueError, TypeError) as error:
            raise OutputError(f"cannot go on with {path}", hint="its lines are not those of a run; start a new one") from error
        return self, results

    def _started(self) -> Mapping[str, Any]:
        try:
            started: Mapping[str, Any] = json.loads((self.path / STARTED).read_text(encoding="utf-8"))
        except FileNotFoundError:
            finished = (self.path / RUN).exists()
            message = f"{self.path} is a finished run" if finished else f"{self.path} is not a run folder"
            raise OutputError(message, hint="--resume takes the folder of a run that was interrupted") from None
        except (OSError, ValueError) as error:
            raise OutputError(f"cannot read {self.path / STARTED}") from error
        return started

    def append(self, result: Result) -> None:
        """Add one result to the journal."""
        assert self._journal is not None
        line = memoryview((result_line(result) + "\n").encode("utf-8", "backslashreplace"))
        try:
            while line:
                line = line[self._journal.write(line) :]
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def finish(self, results: Sequence[Result], run: Mapping[str, Any]) -> None:
        """Rewrite the results in the given (gold) order, then write `run.json`."""
        self.close()
        try:
            write_atomically(self.path / RESULTS, "".join(result_line(result) + "\n" for result in results))
            write_atomically(self.path / RUN, json.dumps(run, ensure_ascii=False, indent=2, default=_json_safe) + "\n")
            (self.path / STARTED).unlink(missing_ok=True)
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def close(self) -> None:
        """Close the journal; what was appended stays."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def claim(out: Path) -> Path:
    """The folder to write a run to: `out` itself. An earlier run folder there is replaced, any other non-empty folder refused."""
    if out.is_dir():
        held = {entry.name for entry in out.iterdir()}
        if held and not held & {RUN, RESULTS, STARTED}:
            raise OutputError(f"{out} is not empty and not a run folder", hint="name a new folder, or one that holds an earlier run")
    elif out.exists():
        raise OutputError(f"{out} is a file, not a folder", hint="--out names the run folder itself")
    return out


def new_folder(root: Path, label: str, *, now: datetime | None = None) -> Path:
    """A free folder name `<root>/<yyyymmdd-hhmmss>-<label>`; made at once, so that two runs never share one."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    slug = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in label).strip("-.")[:40] or "run"
    for attempt in range(1, 10_000):
        folder = root / (f"{stamp}-{slug}" if attempt == 1 else f"{stamp}-{slug}-{attempt}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise _cannot_write(folder, error) from error
        return folder
    raise OutputError(f"no free run folder name under {root}")


def write_atomically(path: Path, text: str) -> None:
    """Write beside and rename, so that a reader sees the old file or the whole new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> OutputError:
    why = error.strerror or type(error).__name__
    return OutputError(f"cannot write the run folder {path}: {why}", hint="name another with --out, or use --no-save")


def _plain(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value


def _json_safe(value: object) -> object:
    """What JSON cannot say, as text; sets and tuples come out as lists."""
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return str(value)
