"""Every command in a folder that may not be written, or on files that may not be read: one clear error, a hint that can be followed.

Rights do not stop root, so root's commands run without root's capabilities; the user stays, and so do owners. All of them run in one
process, which is told what to lock before each.
"""

import json
import os
import re
import shutil
import stat
import sys
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.cli.cures import options_in
from evalsuite.cli.parser import options_of_call
from evalsuite.runs import WORKER_MODULES
from evalsuite.sandbox.fork_server import fork_server_for, share
from tests.cli.test_run import called, text_gold, text_submission
from tests.conftest import ROOT
from tests.processes import finished
from tests.runs.made import write_sides
from tests.terminal.pty_harness import Shown

# Nothing may be written anywhere, instead of one file or folder that may not be read.
EVERYTHING = "everything"
_WRITING = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
# Words that each refusal must have; a command that needs no file of its own works as ever.
REFUSED = [
    ("run sub", "cannot write the run folder .evalsuite/runs/", "--out", "--no-save"),
    ("run sub -x", "cannot write the run folder .evalsuite/runs/", "--out", "--no-save"),
    ("run sub --out here", "cannot write the run folder here: Permission denied", "--no-save"),
    ("run sub --no-save -o x.html", "cannot write x.html: Permission denied"),
    ("run sub --no-save --reference-files", "cannot write"),
    ("leaderboard sub", "cannot write the run folder .evalsuite/runs/", "--runs"),
    ("rescore one", "cannot write the run folder .evalsuite/runs/", "--runs"),
    ("merge part1 part2 --out whole", "cannot write the run folder whole: Permission denied", "--out"),
    ("gold check gold", "cannot write .evalsuite/gold", "--no-save"),
    ("suite create x --from q.csv --scorer f1", "Permission denied"),
    ("suite run capitals --from a.csv", "Permission denied"),
    ("suite rename capitals c", "Permission denied"),
    ("suite delete capitals", "Permission denied"),
    ("suite export capitals x.json", "cannot write x.json: Permission denied"),
    ("runs tag one --add x", "Permission denied"),
    ("runs rm one", "Permission denied"),
    ("report one -o x.html", "cannot write x.html: Permission denied"),
    ("compare one two -o x.html", "cannot write x.html: Permission denied"),
    ("bundle b --run one -o x.md", "cannot write x.md: Permission denied"),
    ("bundle b --run one -o new", "cannot write new/README.md: Permission denied"),
]
WORKS = [
    *("run sub --no-save -q", "check a --result_dir sub", "report one", "compare one two -q"),
    *("leaderboard one -q", "gold check gold --no-save", "suite", "runs"),
]


LOCKED = [
    ("sub", "run sub --no-save", "sub: cannot be read: Permission denied"),
    ("sub/results_metadata.jsonl", "run sub --no-save", "results_metadata.jsonl: MISSING_FILE: the file may not be read"),
    ("sub", "validate sub", "sub: cannot be read: Permission denied"),
    ("gold", "run sub --no-save", "gold: cannot be read: Permission denied"),
    ("gold/toy_eval.jsonl", "run sub --no-save", "toy_eval.jsonl"),
    ("gold", "gold check gold", "gold: cannot be read: Permission denied"),
    ("gold", "gold lint gold", "gold: cannot be read: Permission denied"),
    ("gold/suite.yaml", "run sub --no-save", "suite.yaml"),
    ("sub", "leaderboard sub", "sub: cannot be read: Permission denied"),
    ("one", "report one", "Permission denied"),
    ("one/results.jsonl", "report one", "results.jsonl: Permission denied"),
    ("one", "compare one two", "Permission denied"),
    ("one/results.jsonl", "leaderboard one", "none of 1 submission could be read: one: run.json or results.jsonl cannot be read"),
    ("q.csv", "suite create x --from q.csv --scorer f1", "q.csv"),
    ("q.csv", "agree one q.csv", "q.csv"),
    ("plugin.py", "run sub --no-save --plugin plugin.py", "plugin.py"),
    (".evalsuite/runs", "runs list", "Permission denied"),
    (".evalsuite/runs", "report x", "Permission denied"),
    ("subs/locked", "leaderboard subs", ""),
    ("subs/locked", "leaderboard subs/a subs/b subs/locked", ""),
    ("gold/tables", "run sub --no-save", "gold/tables cannot be read: Permission denied"),
    ("gold/tables", "runs verify one", "gold/tables cannot be read: Permission denied"),
]
# What is a finding of a check, with exit code 1.
MAY_NOT = "a.csv: the file may not be read (make it readable for this user)"
FOUND = [
    *(("filed/a/a.csv", "validate filed", 1, MAY_NOT), ("tabled/a/a.csv", "gold lint tabled", 1, MAY_NOT)),
    # Counts 0, because the modes of its files are the submission's.
    (
        *("filed/a/a.csv", "run filed --gold tabled --no-save", 0),
        "this user may not read files of a (MISSING_FILE): make them readable and score",
    ),
]


def prepared(folder: Path) -> Path:
    """A working folder with everything that a command may want."""
    text_gold(folder / "gold", a="Paris", b="Rome")
    (folder / "gold" / "suite.yaml").write_text("name: toy\n")
    for name in ("sub", "subs/a", "subs/b", "subs/locked"):
        text_submission(folder / name, a="Paris", b="Bern")
    (folder / "gold" / "tables").mkdir()
    (folder / "q.csv").write_text("input,reference_output\nCapital of France?,Paris\n")
    (folder / "a.csv").write_text("candidate_output\nParis\n")
    (folder / "plugin.py").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for more in (["--out", "one"], ["--out", "two"], *(["--shard", f"{i}/2", "--out", f"part{i}"] for i in (1, 2))):
            assert main(["run", "sub", "--isolation", "none", "-q", *more]) == 0
        assert main(["suite", "create", "capitals", "--from", "q.csv", "--scorer", "f1"]) == 0
    (folder / ".evalsuite" / "runs").mkdir()
    case = ("table_match", {"gold": "a.csv"}, Path("a.csv"))
    write_sides(folder / "filed", folder / "tabled", {"a": case}, {"a/a.csv": "x\n1\n"})
    return folder


def answer() -> None:
    """The child's part: [(what to lock, command line)] on stdin -> [(exit code, stdout, stderr)] on stdout."""
    with fork_server_for(modules=WORKER_MODULES) as server, share(server):
        print(json.dumps([tried(*task) for task in json.loads(sys.stdin.read())]))


def tried(locked: str, line: str) -> tuple[int, str, str]:
    """What a command line ends with and prints while something is locked."""
    modes = {path: path.stat().st_mode for path in ((Path(), *Path().rglob("*")) if locked == EVERYTHING else (Path(locked),))}
    for path, mode in modes.items():
        path.chmod(mode & ~_WRITING if locked == EVERYTHING else 0)
    done = called(*line.split(), cwd=Path())
    for path, mode in modes.items():
        path.chmod(mode)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Shown]:
    """What each command shows to somebody who cannot pass over rights; skips where root cannot give that up."""
    plain = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root passes over all rights, and there is no setpriv to give that up")
        plain = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
    tasks = [
        *((EVERYTHING, line) for line in (*(row[0] for row in REFUSED), *WORKS)),
        *((row[0], row[1]) for row in (*LOCKED, *FOUND)),
    ]
    command = [*plain, sys.executable, "-c", "from tests.terminal.test_read_only import answer; answer()"]
    folder = prepared(tmp_path_factory.mktemp("read only"))
    done = finished(command, cwd=folder, text=json.dumps(tasks), env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return {task: Shown(*said) for task, said in zip(tasks, json.loads(done.stdout), strict=True)}


def hint_of(shown: Shown, line: str) -> str:
    """The one hint of a refusal, whose options the command has; the error stands alone before it."""
    error, *hints = shown.errors.splitlines()
    assert error.startswith("error: "), shown.errors
    assert len(hints) <= 1, shown.errors
    hint = hints[0].removeprefix("hint: ") if hints else ""
    assert options_in(hint) <= set(options_of_call(line.split())), hint
    return hint


@pytest.mark.parametrize("row", REFUSED, ids=[row[0] for row in REFUSED])
def test_a_folder_that_cannot_be_written(shown: dict[tuple[str, str], Shown], row: tuple[str, ...]) -> None:
    """One error with exit code 2, before anything is scored; the hint names the ways out that the command has."""
    line, message, *ways = row
    said = shown[EVERYTHING, line]
    assert (said.code, said.raw) == (2, ""), said
    hint = hint_of(said, line)
    assert message in said.errors
    assert all(way in hint for way in ways), hint


@pytest.mark.parametrize("line", WORKS)
def test_what_needs_no_folder_works(shown: dict[tuple[str, str], Shown], line: str) -> None:
    """Whatever only reads and prints does so there too, without a word on stderr."""
    said = shown[EVERYTHING, line]
    assert (said.code in (0, 1), said.errors, bool(said.raw)) == (True, "", True)


@pytest.mark.parametrize(("place", "line", "message"), [row for row in LOCKED if row[2]])
def test_what_cannot_be_read(shown: dict[tuple[str, str], Shown], place: str, line: str, message: str) -> None:
    """One error with the path and what the system says of it, exit code 2."""
    said = shown[place, line]
    assert (said.code, said.raw) == (2, ""), said
    hint_of(said, line)
    assert message in said.errors


@pytest.mark.parametrize(("place", "line", "code", "words"), FOUND)
def test_a_locked_file_is_found(shown: dict[tuple[str, str], Shown], place: str, line: str, code: int, words: str) -> None:
    """A check names it among its findings, with a hint that helps: its name and place are right; a run warns of it."""
    assert (shown[place, line].code, words in shown[place, line].raw) == (code, True), shown[place, line]


@pytest.mark.parametrize(("place", "line"), [row[:2] for row in LOCKED if not row[2]])
def test_one_locked_folder_among_many(shown: dict[tuple[str, str], Shown], place: str, line: str) -> None:
    """A submission that may not be read is a row of a leaderboard, with the others ranked: exit code 1."""
    said = shown[place, line]
    assert said.code == 1, said
    assert re.search(r"unreadable +locked: cannot be read: Permission denied", said.raw)
    assert re.search(r"\ndone: 2 submissions ranked.*, 1 could not be read \(exit 1\)\n$", said.raw)
