"""The progress bar in a terminal, gone when a command ends; Ctrl-C typed there reaches all its processes: one line, exit 130."""

import re
import sys
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.cli.test_run import text_gold, text_submission, write_lines
from tests.conftest import ROOT, corpus
from tests.runs.made import write_sides
from tests.terminal.pty_harness import EVALSUITE, run

N = 4
SLOW = '''
import time
from evalsuite.core.registry import scorer
from evalsuite.core.types import Score

@scorer(reads="text")
def slow_match(prediction: str, *, gold: str) -> Score:
    """1 if the answer is the gold text, found out slowly."""
    time.sleep(0.4)
    return Score(official=1.0, strict=1.0, reason="it is")
'''


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Four answers to a scorer that takes 0.4 s for each."""
    names = [f"q{number}" for number in range(N)]
    rows = [{"instance_id": name, "evaluation": {"func": "slow_match", "parameters": {"gold": name}}} for name in names]
    write_lines(tmp_path / "gold" / "toy_eval.jsonl", *rows)
    text_submission(tmp_path / "sub", **{name: name for name in names})
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


@pytest.mark.parametrize(
    ("columns", "env", "coloured"),
    [(60, {}, True), (80, {"NO_COLOR": "1"}, False), (154, {"PYTHONIOENCODING": "ascii", "TERM": "dumb"}, False)],
)
def test_a_run_of_more_than_a_second(place: Path, columns: int, env: dict[str, str], coloured: bool) -> None:
    """The bar counts, draws its first speed without stumbling over the missing one, leaves nothing behind, and the verdict stands."""
    command = [*EVALSUITE, "run", "sub", "--gold", "gold", "--plugin", "slow.py", "--no-save", "--jobs", "1"]
    shown = run(command, columns=columns, env=env, cwd=place)
    assert (shown.code, shown.lines[-1]) == (0, "done: 100.0 % (no gate set)")
    if env.get("TERM") != "dumb":
        assert f"{N}/{N}" in shown.raw
        assert re.search(r"\d/s", shown.raw)
    assert "scoring" not in shown.screen
    assert shown.coloured is coloured
    assert max(map(len, shown.lines)) <= columns


def test_other_commands_that_take_longer(place: Path) -> None:
    """A leaderboard draws it too, over all submissions."""
    shown = run([*EVALSUITE, "leaderboard", "sub", "--gold", "gold", "--plugin", "slow.py", "--jobs", "1"], cwd=place)
    assert (shown.code, shown.lines[-1]) == (0, "done: 1 submission ranked (1 new, 0 reused)")
    assert "scoring" in shown.raw
    assert "scoring" not in shown.screen


@pytest.mark.slow
@pytest.mark.conformance
def test_the_recorded_suite(tmp_path: Path) -> None:
    """`python evaluate.py` on the recorded suite at 80 columns: the whole report, nothing left of a bar, exit 0."""
    folder = corpus("spider2")
    submission = min((folder / "submissions").glob("*/results_metadata.jsonl")).parent
    score = [sys.executable, ROOT / "evaluate.py", "--result_dir", submission, "--gold_dir", folder / "gold", "--no-cache", "--no-save"]
    shown = run(score, columns=80, cwd=tmp_path, timeout=600)
    assert shown.code == 0
    assert "scoring" not in shown.screen
    assert max(map(len, shown.lines[:-1])) <= 80
    assert re.fullmatch(r"done: \d+\.\d % \(no gate set\)", shown.lines[-1])


CTRL_C = b"\x03"


@pytest.mark.parametrize("keys", [pytest.param(CTRL_C, marks=pytest.mark.slow), CTRL_C * 3], ids=["once", "three times"])
def test_a_run_with_workers(tmp_path: Path, keys: bytes) -> None:
    """The workers hear Ctrl-C too, and no answer is blamed for it; the bar goes; with --resume the run goes on and ends as any other."""
    cases = {f"t{at}": ("slow_match", {"gold": ""}, Path("t.csv")) for at in range(6)}
    write_sides(tmp_path / "sub", tmp_path / "gold", cases, {f"{name}/t.csv": "a,b\n1,2\n" for name in cases})
    (tmp_path / "slow.py").write_text(SLOW.replace("text", "table").replace(": str,", ": object,"))
    score = [*EVALSUITE, "run", "sub", "--gold", "gold", "--no-cache", "--jobs", "1", "--plugin", "slow.py"]
    shown = run([*score, "--out", "here"], columns=60, cwd=tmp_path, typed=[("scoring", keys)])
    assert shown.code == 130
    said = "".join(shown.lines).removeprefix("^C")
    assert re.fullmatch(r"(\^C)*interrupted: [1-5] of 6 instances are saved in here; continue with --resume here", said), shown.screen
    # The cursor, hidden under the bar, is back.
    assert shown.raw.rindex("\x1b[?25h") > shown.raw.rindex("\x1b[?25l")
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
