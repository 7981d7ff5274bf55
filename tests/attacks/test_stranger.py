"""Showing a run executes no code of the folders that it names: every command of the table, in a stranger's folder, under an audit hook."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli.commands import COMMANDS
from tests.attacks import stranger
from tests.processes import finished

# What takes `--gold FOLDER` and executes its plugins only then.
NEED_GOLD = ("explain", "check", "bundle", "verify", "rescore", "drift")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stranger's folder; one for each process, as a command that executes its code writes into it."""
    folder = tmp_path_factory.mktemp("stranger") / "place"
    stranger.make_place(folder)
    return folder


def called(place: Path, scratch: Path, lines: Sequence[str] = (), **environment: str) -> list[dict[str, Any]]:
    """What the command lines did in a copy of the place, one object for each; those of all commands where none are given."""
    (scratch / "place").symlink_to(place)
    command = [sys.executable, stranger.__file__, scratch / "place", json.dumps([line.split() for line in lines])]
    return [json.loads(line) for line in finished(command, check=True, env={**os.environ, **environment}).stdout.splitlines()]


def test_no_command_executes_code_that_only_a_run_names(place: Path, tmp_path: Path) -> None:
    """No file of the stranger is compiled, executed, loaded or unpickled; what needs the plugin says which option executes it."""
    done = {" ".join(one["line"]): one for one in called(place, tmp_path)}
    assert {line: one["executed"] for line, one in done.items() if one["executed"]} == {}
    assert {line: one["said"] for line, one in done.items() if one["code"] not in (0, 1, 2, 4, 5)} == {}
    assert {one["line"][0] for one in done.values()} == set(COMMANDS)
    for name in NEED_GOLD:
        told = [one["said"] for one in done.values() if one["line"][0] == name and ("r1" in one["line"] or name == "drift")]
        assert told, name
        assert all("--gold theirs" in text for text in told), name
    assert "next: evalsuite explain q1 --run r1 --gold theirs" in done["report r1"]["said"]
    assert "wrote 3 samples" in done["export r1 written.json"]["said"]


def test_the_folder_that_the_user_names_is_executed(place: Path, tmp_path: Path) -> None:
    """With `--gold theirs` the same commands execute the plugin, and the hook sees it."""
    lines = [*(f"{name} q2 --run r1" for name in NEED_GOLD[:3]), *(f"{name} r1" for name in NEED_GOLD[3:]), "compare r1 sub"]
    for done in called(place, tmp_path, [f"{line} --gold theirs" for line in lines]):
        assert done["code"] == 0, done
        assert any(trace.startswith("exec ") and trace.endswith("plugin.py") for trace in done["executed"]), done


def test_completion_executes_nothing(place: Path, tmp_path: Path) -> None:
    """A TAB reads the ids out of the gold folder that lies there, and executes none of its code."""
    words = {"_EVALSUITE_COMPLETE": "complete_bash", "COMP_WORDS": "evalsuite explain --gold theirs q", "COMP_CWORD": "4"}
    [done] = called(place, tmp_path, ["explain"], **words)
    assert "q3" in done["said"]
    assert done["executed"] == []
