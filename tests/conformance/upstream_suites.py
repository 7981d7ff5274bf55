"""The evaluators of Spider 2.0, out of a clone, run as they are: nothing but packages that no comparison needs is replaced."""

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.processes import finished, started

VARIABLE = "EVALSUITE_SPIDER2"
HEAD = "e12c5f1e6550a5df88995520c3bf00bbe7bad2d2"
# The original suite was taken out of the repository later.
COMMITS: Mapping[str, str] = {"original": "db1d8e1b4c054b8f36d72e118ec2ef62e2f2b9ac", "lite": HEAD, "snow": HEAD, "dbt": HEAD}
SUITES: Mapping[str, str] = {
    "original": "spider2/evaluation_suite",
    "lite": "spider2-lite/evaluation_suite",
    "snow": "spider2-snow/evaluation_suite",
    "dbt": "spider2-dbt/evaluation_suite",
}
# Clients of databases and a progress bar: nothing is asked of them here.
_STUBS = {
    "tqdm.py": "def tqdm(items=(), **_):\n    return items\n",
    "google/__init__.py": "",
    "google/cloud/__init__.py": "",
    "google/cloud/bigquery.py": "",
    "snowflake/__init__.py": "",
    "snowflake/connector.py": "class errors:\n    class ProgrammingError(Exception):\n        pass\n",
}


def extract(layout: str, folder: Path, *below: str) -> None:
    """Write the evaluator of a layout, and what else of its folder is named, into `folder`; what a partial clone lacks is left out.

    Skips the test where the variable names no clone that has them.
    """
    clone, commit = os.environ.get(VARIABLE), COMMITS[layout]
    if not clone:
        pytest.skip(f"{VARIABLE} names no clone of xlang-ai/Spider2: a checkout with its history, or a bare git directory")
    git = ["git", f"--git-dir={clone if not (Path(clone) / '.git').exists() else Path(clone) / '.git'}"]
    wanted = [f"{SUITES[layout]}/{name}" for name in ("evaluate.py", "eval_utils.py", "evaluate_utils.py", *below)]
    listed = _said([*git, "ls-tree", "-r", "-z", commit, "--", *wanted])
    rows = [row.partition(b"\t")[::2] for row in listed.split(b"\0") if row]
    if not rows:
        pytest.skip(f"{VARIABLE}={clone}: no git repository that has {SUITES[layout]} at {commit[:8]}")
    names = "".join(f"{head.split()[2].decode()}\n" for head, _ in rows).encode()
    found = _said([*git, "cat-file", "--batch"], names)
    for _, name in rows:
        head, _, found = found.partition(b"\n")
        if head.endswith(b"missing"):
            continue
        size = int(head.split()[2])
        place = folder / Path(os.fsdecode(name)).relative_to(SUITES[layout])
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(found[:size])
        found = found[size + 1 :]


def _said(command: list[str], told: bytes = b"") -> bytes:
    """What a command printed, byte by byte."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with started(command, text=False, **pipes) as process:
        said: tuple[bytes, bytes] = process.communicate(told)  # type: ignore[arg-type,assignment]
        return said[0]


def scores(layout: str, suite: Path, gold: Path, submission: Path, mode: str = "exec_result") -> dict[str, int]:
    """What the evaluator in the folder `suite` gives each instance; the original and dbt name only those that are right."""
    stubs = suite / "stubs"
    for name, text in _STUBS.items():
        (stubs / name).parent.mkdir(parents=True, exist_ok=True)
        (stubs / name).write_text(text)
    how = ["--mode", mode] if layout in {"lite", "snow"} else []
    command = [sys.executable, "evaluate.py", "--result_dir", submission, "--gold_dir", gold, *how]
    environment = {**os.environ, "PYTHONPATH": str(stubs), "PYTHONDONTWRITEBYTECODE": "1"}
    done = finished(command, cwd=suite, env=environment, seconds=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    lines = done.stdout.splitlines()
    if how:
        told: dict[str, int] = ast.literal_eval(next(line for line in lines if line.startswith("{'")))
        return told
    # Its last line holds the ratio and both counts.
    n_right = int(lines[-1].split()[1])
    return dict.fromkeys(lines[len(lines) - 1 - n_right : -1], 1)
