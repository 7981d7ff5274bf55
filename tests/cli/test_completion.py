"""Completion as a shell asks for it: a real bash where there is one, and the questions that it asks of the command."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.test_run import text_gold, text_submission
from tests.command_server import command_server
from tests.conftest import ROOT
from tests.processes import finished


def completed(line: str, cwd: Path) -> list[str]:
    """What is offered for the last word of a line."""
    words = line.split(" ")
    asked = {"_EVALSUITE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    shown = command_server().run([], cwd=cwd, env={**os.environ, **asked})
    assert shown.stderr == ""
    return shown.stdout.split()


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with gold, a saved run, and a suite with a run that was given a name."""
    folder = tmp_path_factory.mktemp("completion")
    gold = text_gold(folder / "gold", a="Paris", b="Rome")
    submission = text_submission(folder / "answers", a="Paris")
    (folder / "qa.csv").write_text("input,reference\nq,Paris\n", encoding="utf-8")
    for words in (
        ["run", submission, "--gold", gold, "--quiet"],
        ["suite", "create", "capitals", "--from", "qa.csv", "--scorer", "exact_match", "--reference-column", "reference"],
        ["suite", "run", "capitals", "the-one", "--from", "qa.csv", "--candidate-column", "reference"],
    ):
        assert command_server().run(words, cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("evalsuite expl", "explain"),
        ("evalsuite run answers --rules ", "bird-ex official strict test-suite"),
        ("evalsuite scorers table", "table_match tables_match"),
        ("evalsuite suite show ", "capitals"),
        ("evalsuite suite run cap", "capitals"),
        ("evalsuite run answers --limit run_s", "run_seconds="),
        ("evalsuite run answers --only ", "a b"),
        ("evalsuite bundle ", "a b"),
        ("evalsuite report --reveal s", "shape status"),
        ("evalsuite suite create x --scorer exact", "exact_match"),
        ("evalsuite suite try qa.csv --candidate ", "input reference"),
        ("evalsuite suite run capitals --from qa.csv --candidate-column ref", "reference"),
        ("evalsuite compare --suite ", "capitals"),
        ("evalsuite compare the", "the-one"),
    ],
)
def test_values(line: str, offered: str, workplace: Path) -> None:
    """Choices, scorers, suites, limits and instances are completed."""
    assert completed(line, workplace) == offered.split()


def test_runs(workplace: Path) -> None:
    """Every command that takes a run completes the names of the saved ones, of their folders and those they were given."""
    runs = sorted(["the-one", *(folder.name for folder in (workplace / ".evalsuite/runs").iterdir())])
    assert len(runs) == 3
    for line in ("evalsuite report ", "evalsuite verify ", "evalsuite compare x ", "evalsuite explain a --run ", "evalsuite runs show "):
        assert completed(line, workplace) == runs, line


def test_nothing_to_offer(tmp_path: Path) -> None:
    """In a folder without gold and runs a key pressed offers nothing, and shows no error."""
    for line in ("evalsuite report ", "evalsuite run answers --only ", "evalsuite bundle "):
        assert completed(line, tmp_path) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_in_bash(workplace: Path) -> None:
    """What `--show-completion bash` prints makes a real bash complete."""
    command = tmp = workplace / "bin"
    command.mkdir(exist_ok=True)
    script = tmp / "evalsuite"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evalsuite "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT), "PATH": f"{tmp}{os.pathsep}{os.environ['PATH']}"}
    code = 'eval "$(evalsuite --show-completion bash)"; COMP_WORDS=(evalsuite scorers numb); COMP_CWORD=2; '
    code += '"$(complete -p evalsuite | sed "s/.*-F \\([^ ]*\\).*/\\1/")" evalsuite numb scorers; echo "${COMPREPLY[@]}"'
    shown = finished(["bash", "-c", code], cwd=workplace, env=environment)
    assert (shown.stdout.split(), shown.stderr) == (["number_match"], ""), shown
