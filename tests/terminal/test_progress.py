"""The progress bar in a real terminal: drawn once a command takes longer than a second, and gone when it ends."""

import re
import sys
from pathlib import Path

import pytest

from tests.cli.test_run import text_submission, write_lines
from tests.conftest import ROOT, corpus
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
    assert shown.widest <= columns


def test_other_commands_that_take_longer(place: Path) -> None:
    """A leaderboard draws it too, over all submissions."""
    shown = run([*EVALSUITE, "leaderboard", "sub", "--gold", "gold", "--plugin", "slow.py", "--jobs", "1"], cwd=place)
    assert (shown.code, shown.lines[-1]) == (0, "done: 1 submission ranked (1 new, 0 reused)")
    assert "scoring" in shown.raw
    assert "scoring" not in shown.screen


def test_interrupted_while_the_bar_is_drawn(place: Path) -> None:
    """Ctrl-C takes the bar away, says in one line what is saved, and ends with 130."""
    command = [*EVALSUITE, "run", "sub", "--gold", "gold", "--plugin", "slow.py", "--jobs", "1", "--out", "here"]
    shown = run(command, cwd=place, typed=[("scoring", b"\x03")])
    assert shown.code == 130
    assert re.fullmatch(r"(\^C)?interrupted: \d of 4 instances are saved in here; continue with --resume here", shown.lines[-1])
    assert len(shown.lines) == 1
    # The cursor, hidden under the bar, is back.
    assert shown.raw.rindex("\x1b[?25h") > shown.raw.rindex("\x1b[?25l")


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
