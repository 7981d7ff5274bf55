"""A made gold and submission of any size, with files, and runs of it as processes of their own: what the tests of killed runs kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from evalsuite.sandbox.rpc_client import RpcClient
from evalsuite.scorers import SCORERS
from tests.conftest import ROOT
from tests.processes import started

N_INSTANCES = 60
_ROWS = 4000


def make(folder: Path, *, n: int = N_INSTANCES) -> tuple[Path, Path]:
    """(submission, gold) of n instances: tables right, wrong, broken and missing, two databases, and texts."""
    gold, submission = folder / "gold", folder / "submission"
    specs, answers = [], []
    for number in range(n):
        name, kind = f"made_{number:03}", "database" if number < 2 else ("text" if number % 10 == 9 else "table")
        for side in (gold, submission):
            (side / name).mkdir(parents=True)
        if kind == "text":
            specs.append((name, "string_match", {"gold": f"city {number}"}))
            answers.append((name, "answer", f"It is city {number if number % 20 == 9 else 'x'}"))
            continue
        scorer, file = ("duckdb_match", "answer.duckdb") if kind == "database" else ("table_match", "answer.csv")
        specs.append((name, scorer, {"gold": file}))
        if number % 12 == 7:
            continue
        answers.append((name, "file", file if number % 12 != 3 else "../elsewhere.csv"))
        for side in (gold, submission):
            _write_file(side / name / file, number, wrong=side is submission and number % 5 == 4)
        if number % 12 == 6:
            (submission / name / file).write_bytes(b"a,b\n1\n1,2,3\n")
    _write_lines(gold / "made_eval.jsonl", [_spec(*spec) for spec in specs])
    keys = ("instance_id", "answer_type", "answer_or_path")
    _write_lines(submission / "results_metadata.jsonl", [dict(zip(keys, answer, strict=True)) for answer in answers])
    return submission, gold


def write_sides(
    submission: Path, gold: Path, cases: Mapping[str, tuple[str, Mapping[str, Any], Any]], files: Mapping[str, str] | None = None
) -> tuple[Path, Path]:
    """(submission, gold): spec and metadata of (scorer, parameters, answer) by instance; a text, file, list or None; `files` of both."""
    for side in (submission, gold):
        side.mkdir(parents=True, exist_ok=True)
        for path, content in (files or {}).items():
            write_file(side / path, content)
    _write_lines(gold / "made_eval.jsonl", [_spec(name, scorer, dict(parameters)) for name, (scorer, parameters, _) in cases.items()])
    rows = []
    for name, (_, _, answer) in cases.items():
        if answer is None:
            continue
        kind = "files" if isinstance(answer, list) else "file" if isinstance(answer, Path) else "answer"
        rows.append({"instance_id": name, "answer_type": kind, "answer_or_path": str(answer) if kind == "file" else answer})
    _write_lines(submission / "results_metadata.jsonl", rows)
    return submission, gold


def write_file(path: Path, content: str) -> None:
    """A file, or the database that statements make; what UTF-8 has not goes by surrogates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".duckdb":
        path.write_bytes(content.encode(errors="surrogateescape"))
        return
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute(content)


class KilledClient(RpcClient):
    """A client whose worker is killed in the next of `phases`, in each that comes, or `again` and again in the first."""

    phases: ClassVar[list[str]] = []
    again: ClassVar[bool] = False

    def _meet(self, phase: str) -> None:
        if self.phases[:1] == [phase]:
            assert self._worker is not None
            os.kill(self._worker.pid, signal.SIGKILL)
            if not self.again:
                self.phases.pop(0)


def load_scorer(folder: Path, name: str, body: str, *, before: str = "") -> Path:
    """Write and load a plugin whose only scorer, of texts, has this body and these lines before it; its file."""
    plugin, lines = folder / f"{name}.py", body.splitlines()
    plugin.write_text(
        "from evalsuite.core.registry import scorer\nfrom evalsuite.core.types import Score\n"
        f'{before}\n\n\n@scorer(reads="text")\ndef {name}(prediction: str, *, gold: str) -> Score:\n    """Made for a test."""\n'
        + "".join(f"    {line.removeprefix('    ')}\n" for line in lines)
    )
    SCORERS.load_file(plugin)
    return plugin


def command(submission: Path, gold: Path, *arguments: object) -> list[str]:
    """The command line of a run without the cache, which would make a killed run's rest too easy."""
    fixed = ["-m", "evalsuite", "run", submission, "--gold", gold, "--no-cache", "--jobs", "2"]
    return [sys.executable, *map(str, (*fixed, *arguments))]


def start(words: Sequence[str], marker: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """A run that is going on; `marker` stands in the command line of each of its workers, and is where it keeps temporary files."""
    marker.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{marker}", "TMPDIR": str(marker)}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return started(words, cwd=marker, env=environment, **pipes)


def workers(marker: Path) -> list[int]:
    """The process ids of the living workers that were started with this marker."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(marker).encode() in line and b"evalsuite.sandbox.worker_main" in line:
            found.append(int(process.name))
    return found


def without_seconds(folder: Path) -> list[str]:
    """The lines of `results.jsonl`, what the clock wrote left out."""
    return [line.rpartition(', "seconds"')[0] for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def without_times(folder: Path) -> dict[str, Any]:
    """The `run.json` object but for times and what it says of having been resumed."""
    run: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    run.pop("seconds")
    # They hold the times too.
    run.pop("digests")
    run["receipt"].pop("resume", None)
    for gold in run.get("living_gold", {}).values():
        gold.pop("computed_at")
    return run


def _spec(name: str, scorer: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"instance_id": name, "evaluation": {"func": scorer, "parameters": parameters}}


def _write_file(path: Path, seed: int, *, wrong: bool) -> None:
    rows = ", ".join(map(str, _rows(20, seed, wrong=wrong)))
    statements = f"CREATE TABLE made (id INTEGER, name VARCHAR, value DOUBLE); INSERT INTO made VALUES {rows}"
    write_file(path, _table(seed, wrong=wrong) if path.suffix == ".csv" else statements)


def _rows(n: int, seed: int, *, wrong: bool) -> list[tuple[int, str, float]]:
    return [(row, f"name {row * seed % 97}", row * 0.25 + seed + (wrong and row == 7)) for row in range(n)]


# An answer that is right is gold's table.
@lru_cache(1)
def _table(seed: int, *, wrong: bool) -> str:
    return "id,name,value\n" + "".join(f"{a},{b},{c}\n" for a, b, c in _rows(_ROWS, seed, wrong=wrong))


def _write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
