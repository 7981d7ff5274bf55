"""Hints name only options of the called command and commands that exist."""

import ast
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsuite.cli.commands import COMMANDS
from evalsuite.cli.cures import filter_hint, options_in
from evalsuite.cli.parser import load_command, options_of_call
from evalsuite.core.errors import FAULTS
from evalsuite.runs.run_folder import cannot_write_run
from tests.meta import MODULES, nodes_of

# What holds the text of a hint, by the name it is given.
NAMES = re.compile(r"hint|ways?|way_out|without|look", re.IGNORECASE)
ANYWHERE = {"--debug", "--help", "--version"}
# `evalsuite gold errata GOLD --entry ID`: the words of the command, then what follows up to the end of the code.
CALL = re.compile(r"\bevalsuite ((?:[a-z]+ ?)+)([^`]*)")


def hints() -> Iterator[tuple[str, str]]:
    """(file:line, text) of every hint that the package can give; what is filled in when it runs stands as a word."""
    for path in MODULES:
        for node, _ in nodes_of(path):
            if (isinstance(node, ast.keyword) and node.arg == "hint") or (
                isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and NAMES.fullmatch(one.id) for one in node.targets)
            ):
                yield from texts(path.name, node.value)
            elif isinstance(node, ast.FunctionDef) and NAMES.fullmatch(node.name.strip("_")):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return) and inner.value is not None:
                        yield from texts(path.name, inner.value)


def texts(file: str, node: ast.expr) -> Iterator[tuple[str, str]]:
    """The texts an expression is made of, each with its place: both sides of a choice, an f-string as one text."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
        yield f"{file}:{node.lineno}", "".join(map(str, parts))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield f"{file}:{node.lineno}", node.value
    else:
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.expr):
                yield from texts(file, inner)


@pytest.fixture(scope="module")
def all_hints() -> list[tuple[str, str]]:
    """(place, text) of every hint in the package and in the table of faults."""
    return [*hints(), *((code, kind.hint) for code, kind in FAULTS.items())]


def test_hints_are_found(all_hints: list[tuple[str, str]]) -> None:
    """The search sees the hints of all rooms: it would be worth nothing if it saw none."""
    assert len(all_hints) > 300
    places = {place.partition(":")[0] for place, _ in all_hints}
    assert places >= {"spec.py", "run_folder.py", "errors.py", "run_command.py", "plan.py", "LIMIT"}


def test_each_way_out_is_one_of_a_command(all_hints: list[tuple[str, str]]) -> None:
    """The options that one way out names are all of some command: else no command can show it."""
    everyone = [{*options_of_call([name]), *ANYWHERE} for name in COMMANDS]
    with_options = [(place, text) for place, text in all_hints if "--" in text]
    assert len(with_options) > 90
    ways = [(place, way) for place, text in with_options for way in text.split(", or ")]
    assert [(place, way) for place, way in ways if not any(options_in(way) <= known for known in everyone)] == []


def test_a_command_in_a_hint_is_there_with_its_options(all_hints: list[tuple[str, str]]) -> None:
    """What a hint tells to type can be typed: the command, its own commands, and every option behind it."""
    calls = [(place, text, *call) for place, text in all_hints for call in CALL.findall(text)]
    assert len(calls) > 50
    for place, text, words, rest in calls:
        name, *more = words.split()
        if name not in COMMANDS:
            assert rest.startswith("[") or not more, f"{place}: no command {name!r}: {text}"
            continue
        command = load_command(name)
        inner = getattr(command, "commands", {})
        assert not inner or not more or more[0] in inner, f"{place}: {name} has no command {more[0]!r}: {text}"
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", f"{words} {rest}"))
        assert named <= {*options_of_call([name, *more[:1]]), *ANYWHERE}, f"{place}: {name} lacks one of {sorted(named)}: {text}"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["run", "sub"], "name another with --out, or use --no-save, or check that you may write there"),
        (["leaderboard", "subs"], "name another folder of runs with --runs, or check that you may write there"),
        (["rescore", "run"], "name another folder of runs with --runs, or check that you may write there"),
        (["merge", "a", "b"], "name another with --out, or check that you may write there"),
        (["suite", "run", "capitals"], "check that you may write there"),
    ],
)
def test_one_hint_for_many_commands(arguments: list[str], hint: str) -> None:
    """A run folder that cannot be written is said by the store, which does not know who asked: each command shows its own ways out."""
    error = cannot_write_run(Path("x"), PermissionError(13, "Permission denied"))
    assert filter_hint(error.hint, options_of_call(arguments)) == hint


@pytest.mark.parametrize(
    ("number", "begun", "cure"),
    [
        *((number, begun, "free some space") for number in (errno.ENOSPC, errno.EDQUOT) for begun in (True, False)),
        *((number, True, "check that you may write there") for number in (errno.EACCES, errno.EPERM)),
        *((number, True, "check the disk") for number in (errno.EIO, errno.EROFS)),
    ],
)
def test_the_hint_fits_the_reason_of_the_system(number: int, begun: bool, cure: str) -> None:
    """A full disk wants space and no permission, a failing one neither."""
    hint = cannot_write_run(Path("x"), OSError(number, os.strerror(number)), begun=begun).hint
    assert hint.endswith(f"or {cure}") if not begun else hint == f"{cure} and call the command again"


def test_reports_name_no_option_of_their_own() -> None:
    """The hint of a fault is shown by whatever command shows its instance, so it names whole commands only."""
    assert [code for code, kind in FAULTS.items() if options_in(kind.hint) - ANYWHERE] == []


def test_a_whole_command_is_not_cut() -> None:
    """A command in a hint names options of its own, whoever prints it; ways that name none stay."""
    assert filter_hint("`evalsuite run X --resume Y` goes on, or start anew, or --zzz", options_of_call(["leaderboard"])) == (
        "`evalsuite run X --resume Y` goes on, or start anew"
    )
    assert filter_hint("give --gold, or --debug", options_of_call(["report"])) == "--debug"


def test_the_options_of_a_scorer_are_those_of_check() -> None:
    """`check table_match` may be told of --condition-cols, `check number_match` not."""
    assert {"--condition-cols", "--prediction"} <= set(options_of_call(["check", "table_match"]))
    assert "--condition-cols" not in options_of_call(["check", "number_match"])
    assert options_of_call(["--debug", "nonsense"]) == []
