"""Every command as a person calls it: in terminals of 60 to 300 columns, without colour, in other encodings, read-only; as documented."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from evalsuite.cli.commands import COMMANDS as TABLE_OF_COMMANDS
from evalsuite.cli.commands import GROUPED
from evalsuite.cli.parser import load_command
from tests.command_server import command_server
from tests.conftest import copy_example
from tests.meta.test_readme import blocks, workplace
from tests.processes import LIMIT_SECONDS, finished
from tests.properties import is_full
from tests.terminal.commands import COMMANDS, FLIPPED, Command
from tests.terminal.pty_harness import C_LOCALE, Shown, piped, run

Way = Callable[[Sequence[object], Path], Shown]
__all__ = ["workplace"]

# How a command can be called; each is tried on some of them, and all on all under `-m slow`.
WAYS: dict[str, Way] = {
    "60 columns": lambda command, place: run(command, columns=60, cwd=place),
    "80 columns": lambda command, place: run(command, columns=80, cwd=place),
    "154 columns": lambda command, place: run(command, columns=154, cwd=place),
    "300 columns": lambda command, place: run(command, columns=300, cwd=place),
    "NO_COLOR": lambda command, place: run(command, columns=60, env={"NO_COLOR": "1"}, cwd=place),
    "ASCII terminal": lambda command, place: run(command, columns=60, env={"PYTHONIOENCODING": "ascii"}, cwd=place),
    "piped": lambda command, place: piped(command, cwd=place),
    "cp1252": lambda command, place: piped(command, env={"PYTHONIOENCODING": "cp1252"}, encoding="cp1252", cwd=place),
    "C locale": lambda command, place: piped(command, env=C_LOCALE, encoding="ascii", cwd=place),
    "no HOME": lambda command, place: run(command, env={"HOME": None, "XDG_CACHE_HOME": None}, cwd=place),
}
ENCODINGS = {"ASCII terminal": "ascii", "cp1252": "cp1252", "C locale": "ascii"}
COLUMNS = {"60 columns": 60, "80 columns": 80, "154 columns": 154, "300 columns": 300, "NO_COLOR": 60, "no HOME": 80}
COLOURLESS = ("NO_COLOR", "piped", "cp1252", "C locale")
# Interrupted, tested by themselves.
ENDED_BY_CTRL_C = {"view", "gold review"}


def is_in_the_line(command: Command, way: str) -> bool:
    """Whether the test line tries this: reports that are set at 60 columns, two main commands every way, all others in turn.

    The C locale, which needs an interpreter of its own, is for the two.
    """
    if command.set:
        return way == "60 columns" or command is SET
    turn = [name for name in WAYS if name != "C locale"][COMMANDS.index(command) % (len(WAYS) - 1)]
    return way == turn or (command is NOT_SET and "columns" not in way)


SET = next(command for command in COMMANDS if command.main and command.set and not command.writes)
NOT_SET = next(command for command in COMMANDS if command.main and not command.set)
CALLS = [
    pytest.param(
        *(command, way),
        marks=[] if is_in_the_line(command, way) else [pytest.mark.slow],
        id=f"{way}-{re.sub(r'[^a-z0-9_-]+', ' ', command.line)[:60].strip()}",
    )
    for way in WAYS
    for command in COMMANDS
    # In the C locale the line has no words but ASCII ones, and an id is a word.
    if way != "C locale" or FLIPPED not in command.line
]


@pytest.mark.parametrize(("command", "way"), CALLS)
def test_every_command_every_way(command: Command, way: str, made: Path, request: pytest.FixtureRequest) -> None:
    """Exit code and last line are what they are, names stand whole, a report is as wide as the terminal, and only colour can go."""
    shown = WAYS[way](command.words, request.getfixturevalue("place") if command.writes else made)
    assert shown.code == command.code, shown.screen + shown.errors
    # Continuation lines are indented.
    last = max((at for at, line in enumerate(shown.lines) if not line.startswith("   ")), default=0)
    assert " ".join(line.strip() for line in shown.lines[last:]).startswith(command.last)
    if (encoding := ENCODINGS.get(way)) is None:
        assert [name for name in command.whole if name not in shown.screen] == []
    else:
        shown.raw.encode(encoding)
    if command.set and way in COLUMNS:
        assert max(map(len, shown.lines)) <= COLUMNS[way]
    if way in COLOURLESS:
        assert not shown.coloured
    elif command.set:
        assert shown.coloured


# Calls command lines one after the other in a process, and prints a JSON list for each: exit code, stdout, stderr.
CALLS = """
import contextlib, io, json, sys
from evalsuite.cli import main
from evalsuite.runs import WORKER_MODULES
from evalsuite.sandbox.fork_server import fork_server_for, share
with fork_server_for(modules=WORKER_MODULES) as server, share(server):
    for words in json.loads(sys.argv[1]):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
            code = main(words)
        print(json.dumps([code, out.getvalue(), errors.getvalue()]))
"""


@pytest.mark.parametrize("writes", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_read_only_folder(writes: bool, made: Path) -> None:
    """What only reads works as ever; what has to write is one error and a hint, exit 2, and the hint names only what the command has."""
    mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount += ['mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"', str(made)]
    if shutil.which("unshare") is None or finished([*mount, "true"]).returncode:
        pytest.skip("this system lets no user mount a folder read-only for himself (unshare)")
    commands = [command for command in COMMANDS if command.writes == writes]
    lines = json.dumps([shlex.split(command.line) for command in commands])
    # As long as each of them alone may take.
    shown = piped([*mount, sys.executable, "-c", CALLS, lines], cwd=made, timeout=LIMIT_SECONDS * len(commands)).raw.splitlines()
    for command, (code, _, errors) in zip(commands, map(json.loads, shown), strict=True):
        if not writes:
            assert code == command.code, (command, errors)
            continue
        error, hint = [line for line in errors.splitlines() if not line.startswith("note: ")]
        assert (code, error.startswith("error: "), "Read-only file system" in error) == (2, True, True), (command, errors)
        assert hint.startswith("hint: ")
        assert set(re.findall(r"--[a-z-]+", hint)) <= options_of(command), (command, hint)


def options_of(command: Command) -> set[str]:
    """The options that a command has."""
    first, second = [*command.words, ""][3:5]
    found = load_command(first)
    found = getattr(found, "commands", {}).get(second, found)
    return {name for option in found.params for name in option.opts}


def test_a_narrow_leaderboard_has_a_head(made: Path) -> None:
    """At 60 columns the head says `rank` and `submission` whole, and each submission stands behind its rank or below it."""
    board = next(command for command in COMMANDS if command.line.startswith("leaderboard") and command.main)
    lines = run(board.words, columns=60, cwd=made).lines
    assert lines[1].split() == ["rank", "submission"]
    assert {name for name in board.whole for line in lines if line.strip() == name or line.endswith(f")  {name}")} == set(board.whole)


def test_every_command_stands_in_the_table() -> None:
    """Each command and subcommand is called by a row of the table."""
    called = {" ".join(command.line.split()[:n]) for command in COMMANDS for n in (1, 2)}
    names = set()
    for name in TABLE_OF_COMMANDS:
        below = getattr(load_command(name), "commands", {})
        names |= {f"{name} {own}" for own in below} or {name}
    # A command in a group is the one of the same name outside it.
    assert names - called - set(GROUPED.values()) == ENDED_BY_CTRL_C


WIDTHS = (60, 80, 154, 300)
# In the test line each bash block at 60 columns; docs/reports.md has a test of its own (tests/cli/test_report.py), and what docs/audit.md
# shows takes a minute.
BLOCKS = [
    pytest.param(block, columns, marks=[] if columns == 60 and kind == "bash" else [pytest.mark.slow], id=f"{columns}-{block[0][:60]}")
    for columns in (*WIDTHS, None)
    for kind in ("bash", "sh", "")
    for block in blocks(kind)
]


@pytest.fixture(scope="module")
def project(workplace: Path) -> Path:
    """The copy of the project, with as much of the example as the commands name, and one instance of each of its groups."""
    named = re.findall(r"\b[a-z]+_\d{3}\b", str([block for kind in ("bash", "sh", "") for block in blocks(kind)]))
    for name in ("gold", "example_submission_folder"):
        shutil.rmtree(workplace / name)
    copy_example(workplace, {*named, "hr_007", "geo_005", "fin_004"})
    (workplace / "dbs").mkdir()
    return workplace


@pytest.mark.parametrize(("block", "columns"), BLOCKS)
def test_documented_commands_run(block: tuple[str, ...], columns: int | None, project: Path) -> None:
    """The commands of a block end well one after the other (a gate that is not met is a scored run too) and print or write something."""
    # In the test line `evalsuite` is the command server's: tests/meta/test_readme.py starts the real one.
    folders = [*([] if is_full() else [command_server().script.parent]), project / ".venv" / "bin"]
    env = {"PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]])}
    # A block begins without runs and suites of the blocks before it.
    shutil.rmtree(project / ".evalsuite", ignore_errors=True)
    for line in block:
        command = ["sh", "-c", line]
        shown = piped(command, env=env, cwd=project) if columns is None else run(command, columns=columns, env=env, cwd=project)
        assert shown.code in (0, 1), shown.screen + shown.errors
        assert shown.lines or " > " in line, line
        assert not re.search(r"^error:", f"{shown.screen}\n{shown.errors}", re.MULTILINE), shown.screen + shown.errors
