"""A mistake is answered by the line that works, and `--fix` runs it."""

import shlex
import sys
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.cli.test_run import text_gold, text_submission
from tests.processes import finished

pytestmark = pytest.mark.usefixtures("shared_fork_server")

# What is typed -> the line that is proposed.
MISTAKES = {
    "rnu sub --gold gold": "run sub --gold gold",
    "score sub": "run sub",
    "ui": "view",
    "run sub --goldd gold -q": "run sub --gold gold -q",
    "run sub --ruls strict": "run sub --rules strict",
    "run sub --rules strikt": "run sub --rules strict",
    "run sub --only pariss": "run sub --only paris",
    "run sub --only rome,pariss": "run sub --only rome,paris",
    "run sub --limit secnds=3": "run sub --limit seconds=3",
    "run sub --isolation proces": "run sub --isolation process",
    "suite lst": "suite list",
    "gold chek gold": "gold check gold",
    "runs remove": "runs rm",
    "check strin_match --prediction a --gold a": "check string_match --prediction a --gold a",
    "check string_match --predicton a --gold a": "check string_match --prediction a --gold a",
    "scorers tabel_match": "scorers table_match",
    "explain paris --run missing-run --rule strict": "explain paris --run missing-run --rules strict",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide gold and a submission in the working folder."""
    monkeypatch.chdir(tmp_path)
    text_gold(tmp_path / "gold", paris="Paris", rome="Rome")
    text_submission(tmp_path / "sub", paris="Paris", rome="Oslo")
    return tmp_path


@pytest.mark.parametrize("typed", MISTAKES)
def test_the_line_that_works_is_proposed(here: Path, capsys: pytest.CaptureFixture[str], typed: str) -> None:
    """The wrong word is replaced where it stands; everything else of the line stays."""
    assert main(shlex.split(typed)) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"try: evalsuite {MISTAKES[typed]}"


@pytest.mark.parametrize("typed", ["run sub --only zzz", "run sub --jobs 0", "run", "compare sub", "run sub --gold nowhere"])
def test_what_has_no_one_cure_proposes_none(here: Path, capsys: pytest.CaptureFixture[str], typed: str) -> None:
    """Where several words could be meant, or a value has to be chosen, no line is made up."""
    assert main(shlex.split(typed)) == 2
    assert "try:" not in capsys.readouterr().err


def test_fix_runs_the_proposed_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--fix` stands anywhere; without a single proposal the error stays."""
    assert main(["--fix", "rnu", "sub", "--gold", "gold", "-q"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "done: 50.0 % (no gate set)\n"
    assert shown.err == "$ evalsuite run sub --gold gold -q\n"
    assert main(["run", "sub", "--only", "pariss", "--fix", "-q"]) == 0
    assert main(["run", "sub", "--only", "zzz", "--fix"]) == 2


def test_commands_begin_with_this_installation(here: Path) -> None:
    """Where PATH does not lead to it, the proposed line begins with its path and works when pasted."""
    done = finished([sys.executable, "-m", "evalsuite", "run", "sub", "--rules", "strikt", "-q"], env={"PATH": "/usr/bin:/bin"})
    line = done.stderr.splitlines()[-1].removeprefix("try: ")
    assert line.startswith("/")
    pasted = finished(line, shell=True, env={"PATH": "/usr/bin:/bin"})
    assert (pasted.returncode, pasted.stdout) == (0, "done: 50.0 % (no gate set)\n")
