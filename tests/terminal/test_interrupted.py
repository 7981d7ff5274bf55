"""Ctrl-C typed into the terminal, which reaches a command and all its processes at once: one line says what is saved, exit 130."""

import re
import sys
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.cli.test_run import text_gold, text_submission
from tests.runs.made import write_sides
from tests.terminal.pty_harness import EVALSUITE, run
from tests.terminal.test_progress import SLOW

CTRL_C = b"\x03"


@pytest.mark.parametrize("keys", [pytest.param(CTRL_C, marks=pytest.mark.slow), CTRL_C * 3], ids=["once", "three times"])
def test_a_run_with_workers(tmp_path: Path, keys: bytes) -> None:
    """The workers hear Ctrl-C too, and no answer is blamed for it; the run goes on with --resume and ends as any other."""
    write_sides(tmp_path / "sub", tmp_path / "gold", {f"t{at}": ("slow_match", {"gold": ""}, Path("t.csv")) for at in range(6)})
    for at in range(6):
        (tmp_path / f"sub/t{at}").mkdir()
        (tmp_path / f"sub/t{at}/t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "slow.py").write_text(SLOW.replace("text", "table").replace(": str,", ": object,"))
    score = [*EVALSUITE, "run", "sub", "--gold", "gold", "--no-cache", "--jobs", "1", "--plugin", "slow.py"]
    shown = run([*score, "--out", "here"], columns=60, cwd=tmp_path, typed=[("scoring", keys)])
    assert shown.code == 130
    said = "".join(shown.lines).removeprefix("^C")
    assert re.fullmatch(r"(\^C)*interrupted: [1-5] of 6 instances are saved in here; continue with --resume here", said), shown.screen
    assert b"WORKER_DIED" not in (tmp_path / "here" / "results.jsonl").read_bytes()
    resumed = run([*score, "--resume", "here"], cwd=tmp_path)
    assert (resumed.code, resumed.lines[-1]) == (0, "done: 100.0 % (no gate set)")


def test_ctrl_c_before_the_command_line_is_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An interruption while the program is still being imported ends in the same line and code."""

    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("evalsuite.cli.gate.run_command_line", interrupted)
    assert (main(["run", "sub"]), capsys.readouterr().err) == (130, "interrupted\n")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks in /proc for the moment from which a command hears signals")
@pytest.mark.parametrize(
    ("words", "seen", "code", "last"),
    [
        (["view", "."], "(Ctrl-C ends it)\r\n", 0, "viewer ended"),
        (["run", "sub", "--gold", "gold", "--watch"], "Ctrl-C stops\r\n", 130, "stopped watching; the last run ended with exit code 0"),
        (["check", "string_match", "--prediction", "-", "--gold", "x"], "", 130, "interrupted"),
        (["gold", "audit", "gold", "--seconds", "60"], "", 130, "interrupted"),
        (["leaderboard", "sub", "--gold", "gold"], "", 130, "interrupted"),
    ],
)
def test_what_is_ended_by_ctrl_c(tmp_path: Path, words: list[str], seen: str, code: int, last: str) -> None:
    """A command that goes on until it is stopped, and one that is stopped at once, end in one line without a trace of the program."""
    text_gold(tmp_path / "gold", a="Paris")
    text_submission(tmp_path / "sub", a="Paris")
    shown = run([*EVALSUITE, *words], cwd=tmp_path, typed=[(seen, CTRL_C)])
    assert shown.lines[-1].replace("^C", "") == last
    assert shown.code == code
