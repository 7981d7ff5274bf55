"""Every `next:` line is a whole command that runs as pasted in the folder where it was printed."""

import json
import os
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import EXIT_GATE, EXIT_OK
from tests.analysis.leaderboard.test_leaderboard import PLUGIN
from tests.cli.test_run import said, text_submission, write_lines
from tests.conftest import copy_example, copy_of
from tests.processes import finished
from tests.suites.test_foreign_logs import ABOUT, inspect_sample, lm_eval, promptfoo

pytestmark = pytest.mark.usefixtures("shared_fork_server", "place")

# As files and columns are called that nobody meant for a shell.
FILE, ONE, OTHER = "my données $(1) it's.csv", 'model "a" $x', "it's `b`; -v"
TRY = ["suite", "try", FILE, "--input", "question", "--candidate", ONE]


def make_things(folder: Path) -> None:
    """A file of questions with two columns of answers, tables to begin with, logs, and the example's folders."""
    head = f'question,reference,"{ONE.replace(chr(34), chr(34) * 2)}",{OTHER}\n'
    (folder / FILE).write_text(head + "Capital of France?,Paris,Paris,Lyon\nCapital of Italy?,Rome,Rome,Rome\n")
    (folder / "ta bles").mkdir()
    (folder / "ta bles/q 1.csv").write_text("a,b\n1,2\n")
    (folder / "r.json").write_text(json.dumps(promptfoo()))
    (folder / "my own.py").write_text(PLUGIN)
    write_lines(folder / "own/x_eval.jsonl", {"instance_id": "a", "evaluation": {"func": "marks", "parameters": {}}})
    text_submission(folder / "marked", a="one two")
    log = {**ABOUT, "samples": [inspect_sample(at, output) for at, output in enumerate(("Paris", "Milan", "Oslo"))]}
    (folder / "log of $HOME.json").write_text(json.dumps(log))
    (folder / "samples_geo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lm_eval()))
    copy_example(folder, {"sales_001", "sales_004"})
    (folder / "example_submission_folder").rename(folder / "my answers")


place = copy_of(make_things)


CREATE = ["suite", "create", "s", "--from", FILE, "--scorer", "string_match", "--input-column", "question"]
CREATE += ["--reference-column", "reference"]
BOTH = ["suite", "run", "s", "--from", FILE, "--candidate-column", ONE, "--candidate-column", OTHER]


OWN = [["run", "marked", "--gold", "own", "--plugin", "my own.py", "--out", "r"]]


@pytest.mark.parametrize(
    ("commands", "begins"),
    [
        ([["run", "my answers", "--only", "sales_001,sales_004"]], ["explain", "sales_004"]),
        ([["run", "my answers", "--only", "sales_001", "--out", "a run"]], ["report", "a run"]),
        ([["run", "my answers", "--only", "sales_004", "--reveal", "none"]], ["report"]),
        (OWN, ["explain", "a", "--run", "r", "--gold", "own", "--plugin"]),
        ([*OWN, ["report", "r"]], ["report", "r", "-o"]),
        ([["example", "it's play"]], ["run", "it's play/submission"]),
        ([["init", "--gold-from", "ta bles", "--to", "go ld"]], ["validate", "submission_template", "--gold", "go ld"]),
        ([TRY], [*TRY[:5], "--reference", "reference", *TRY[5:], "--keep"]),
        ([[*TRY, "--candidate", OTHER, "--scorer", "exact_match"]], [*TRY[:5], "--reference", "reference", *TRY[5:], "--candidate", OTHER]),
        ([[*TRY, "--candidate", OTHER, "--keep", "ü x"], [*TRY, "--candidate", OTHER, "--keep", "kept"]], ["report", f"kept/{ONE}"]),
        ([[*TRY, "--candidate", OTHER, "--keep", "kept"], [*TRY, "--keep", "it's"]], ["report"]),
        ([CREATE, BOTH], ["compare", ONE, OTHER]),
        ([CREATE, ["suite", "run", "s", "--from", FILE, "--candidate-column", ONE]], ["report", f"s/{Path(FILE).stem}"]),
        ([["import", "r.json"]], ["compare", "small", "large"]),
        ([["import", "r.json", "--scorer", "string_match", "--name", "one $1"]], ["runs", "agree", "one $1/small"]),
        ([["import", "log of $HOME.json"]], ["report", "geo/log of $HOME (mock/model)"]),
        ([["import", "samples_geo.jsonl"]], ["compare", "geo-strict", "geo-flexible"]),
    ],
    ids=lambda value: " ".join(value[-1])[:40] if isinstance(value[0], list) else None,
)
def test_what_comes_next_can_be_pasted(commands: list[list[str]], begins: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The last command's line, read by a shell, is a command that ends well; it names what was just made, whatever else there is."""
    for command in commands:
        out = said(*command)
    [line] = [line.strip().removeprefix("next: ") for line in out.splitlines() if line.strip().startswith("next: ")]
    words = pasted(line)
    assert words[: len(begins)] == begins
    # The template of `init` is not filled in yet.
    assert main(words) == (EXIT_GATE if words[0] == "validate" else EXIT_OK), capsys.readouterr().err


def pasted(line: str) -> list[str]:
    """What a shell makes of the line, which has to be a call of evalsuite, as the words behind that name."""
    done = finished(["bash", "-c", "evalsuite() { printf '%s\\0' \"$@\"; }\n" + line], seconds=20, env={**os.environ, "LC_ALL": "C"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\0")
    return done.stdout.removesuffix("\0").split("\0")
