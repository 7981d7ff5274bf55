"""Count the functions and files of evalsuite that one answer crosses in `evalsuite run`, over all processes, and count those processes.

A profile hook in each process records every function of the package that is called, but not while a module is imported; comprehensions do
not count. Workers may write no file, so a record is a slot of a file that the fork server maps before it forks.
`python -m tests.benchmarks.crossings LIST` prints the functions by file.
"""

import json
import mmap
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
_PACKAGE = f"{ROOT / 'evalsuite'}/"
_SLOTS, _SLOT_BYTES = 64, 1 << 17
ANSWERS = {
    "number": {"answer_or_path": "42.0", "answer_type": "answer"},
    "csv": {"answer_or_path": "answer.csv", "answer_type": "file"},
}
CHECKS = {
    "number": {"func": "number_match", "parameters": {"gold": 42}},
    "csv": {"func": "table_match", "parameters": {"gold": "answer.csv"}},
}
TABLE = "name,n\nada,1\nbob,2\ncy,3\n"


class _Record:
    """What this process has called. `number` is its slot: 0 for the first process, and one more for each fork or new interpreter."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with file.open("r+b") as handle:
            self._map = mmap.mmap(handle.fileno(), 0)
        self._start()
        os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        number = 0
        while number < _SLOTS and self._map[number * _SLOT_BYTES] != 0:
            number += 1
        self._at, self._end = number * _SLOT_BYTES, (number + 1) * _SLOT_BYTES
        self._seen: set[CodeType] = set()
        self._n_importing = 0
        self._write("process\n")

    def _write(self, line: str) -> None:
        data = line.encode()
        if self._at + len(data) < self._end:
            self._map[self._at : self._at + len(data)] = data
            self._at += len(data)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            self._n_importing = max(0, self._n_importing + (1 if event == "call" else -1 if event == "return" else 0))
        elif event == "call" and not self._n_importing and code not in self._seen:
            self._seen.add(code)
            if code.co_filename.startswith(_PACKAGE) and (code.co_name[0] != "<" or code.co_name == "<lambda>"):
                self._write(f"{code.co_filename.removeprefix(_PACKAGE)}:{code.co_qualname}:{code.co_firstlineno}\n")


def watch(file: str) -> None:
    """Record the calls of this process and of those that it forks."""
    record = _Record(Path(file))
    sys.setprofile(record)
    threading.setprofile(record)


def trace(file: str, arguments: list[str]) -> int:
    """Run a command line with every process watched, as the console script runs it."""
    watch(file)
    sys.argv[1:] = arguments
    from evalsuite.sandbox import fork_server

    hook = f"import sys; sys.path[:] = [{str(ROOT)!r}, *{{path!r}}]; from tests.benchmarks.crossings import watch; watch({file!r}); "
    fork_server._CODE = hook + fork_server._CODE
    from evalsuite.cli import main

    return main()


def made_folders(kind: str, folder: Path) -> tuple[Path, Path]:
    """Write one answer of a kind and its gold; return the folders of the submission and of gold."""
    (folder / "gold" / "a").mkdir(parents=True)
    (folder / "sub" / "a").mkdir(parents=True)
    spec = {"instance_id": "a", "evaluation": CHECKS[kind]}
    (folder / "gold" / "one_eval.jsonl").write_text(json.dumps(spec) + "\n")
    answer = {"instance_id": "a", **ANSWERS[kind]}
    (folder / "sub" / "results_metadata.jsonl").write_text(json.dumps(answer) + "\n")
    for side in ("gold", "sub"):
        (folder / side / "a" / "answer.csv").write_text(TABLE)
    return folder / "sub", folder / "gold"


def crossings(kind: str) -> list[list[str]]:
    """Return the functions that each process called, as `file:name:line`, in a run of one answer of this kind."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, file = Path(scratch), Path(scratch, "record")
        made_folders(kind, folder)
        file.write_bytes(bytes(_SLOTS * _SLOT_BYTES))
        code = f"from tests.benchmarks.crossings import trace; raise SystemExit(trace({str(file)!r}, ['run', 'sub', '--gold', 'gold']))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
        if done.returncode != 0 or "1/1" not in done.stdout:
            raise RuntimeError(done.stdout + done.stderr)
        data = file.read_bytes()
    slots = [data[at : at + _SLOT_BYTES].rstrip(b"\0").decode().splitlines() for at in range(0, len(data), _SLOT_BYTES)]
    return [lines[1:] for lines in slots if lines]


def run(_: Path, *, n: int = 1) -> dict[str, Any]:
    """Return per kind of answer the numbers of files, of functions, and of processes without the fork server; `n` is not used."""
    found = {}
    for kind in ANSWERS:
        processes = crossings(kind)
        functions = {function for process in processes for function in process}
        n_workers = sum(any("worker_main.py:main:" in function for function in process) for process in processes)
        files = {function.partition(":")[0] for function in functions}
        found[kind] = {"files": len(files), "functions": len(functions), "processes": 1 + n_workers}
    return found


if __name__ == "__main__":
    for kind in sys.argv[1:]:
        for number, process in enumerate(crossings(kind)):
            print(*(f"{kind} {number} {function}" for function in process), sep="\n")
    if not sys.argv[1:]:
        print(json.dumps(run(Path())))
