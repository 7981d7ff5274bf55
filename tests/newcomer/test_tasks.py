"""Twelve tasks from bare files, each in at most three commands; what a person wants to know stands in what is printed."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_run import lacks, said, write_lines
from tests.conftest import copy_example, copy_of
from tests.suites.test_foreign_logs import ABOUT, inspect_sample, lm_eval, promptfoo

pytestmark = pytest.mark.usefixtures("shared_fork_server", "place")

TABLE = "customer,total\nAbebe,120.5\nBruun,80.0\nCosta,61.25\n"
QA = (
    "question,reference,small,large\n"
    "Capital of France?,Paris,Paris,Lyon\nCapital of Italy?,Rome,Rome,Rome\nCapital of Norway?,Oslo,Oslo,Oslo\n"
)


def make_place(folder: Path) -> None:
    """A part of the example, right and wrong, a file of questions, tables right and wrong, and logs of other tools."""
    copy_example(folder, {"sales_001", "sales_004", "hr_001", "hr_004"})
    (folder / "example_submission_folder").rename(folder / "answers")
    for name in ("one", "two"):
        shutil.copytree(folder / "answers", folder / "subs" / name)
    lines = (folder / "answers/results_metadata.jsonl").read_text().splitlines()
    write_lines(folder / "subs/two/results_metadata.jsonl", *lines[:2])
    texts = {"tables": TABLE, "good": TABLE.replace("61.25", "0"), "bad": TABLE.replace("Costa", "Dahl")}
    for name, text in texts.items():
        write_lines(folder / name / "orders.csv", *text.splitlines())
    for name, text in (("qa.csv", QA), ("a.csv", TABLE), ("b.csv", TABLE.replace("80.0", "81.0"))):
        (folder / name).write_text(text)
    samples = [inspect_sample(at, output) for at, output in enumerate(("Paris", "Milan", "Oslo"))]
    (folder / "r.json").write_text(json.dumps(promptfoo()))
    (folder / "log.json").write_text(json.dumps({**ABOUT, "samples": samples}))
    write_lines(folder / "samples_geo.jsonl", *lm_eval())


place = copy_of(make_place)
CREATE = "suite create s --from qa.csv --scorer string_match --input-column question --reference-column reference"
# What is done -> the commands, and what the last one says.
TASKS = {
    "score a folder": (["run answers"], ["hr_004", "2/4 = 50.0 %", "next: evalsuite explain"]),
    "explain one": (["run answers --out mine --quiet", "explain sales_004 --run mine"], ["revenue"]),
    "two models from one file": (
        ["suite try qa.csv --input question --reference reference --candidate small --candidate large"],
        ["100.0 %", "66.7 %", "1.000", "Paris", "Lyon"],
    ),
    "compare two runs": (
        [CREATE, "suite run s --from qa.csv --candidate-column small --candidate-column large", "compare small large"],
        ["large against small: 1 instance lost"],
    ),
    "gold from tables": (["init --gold-from tables --to mine", "run submission_template --gold mine --no-save"], ["0/1 = 0.0 %"]),
    "a spec from examples": (
        ["init --gold-from tables --good good --bad bad --to mine"],
        ["orders: ignore_order false, condition_cols [0]"],
    ),
    "import a log of promptfoo": (["import r.json", "report large"], ["Capital of Italy?", "promptfoo"]),
    "import a log of inspect": (["import log.json", "report 'log (mock/model)'"], ["Capital of Italy?", "inspect"]),
    "import a log of lm-eval": (["import samples_geo.jsonl", "report geo-strict"], ["Capital of Italy?", "lm-eval"]),
    # It says where it is and how it ends, without being started here.
    "view": (["help view"], ["DIR"]),
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task(task: str) -> None:
    """At most three commands, and the last one says what a person wants to know."""
    commands, words = TASKS[task]
    assert len(commands) <= 3
    assert not lacks([said(line) for line in commands][-1], *words)


def test_gate_and_difference() -> None:
    """Exit 1 below the gate, and the last line says so; so does the difference of two files, without any folder."""
    assert "exit 1" in said("run answers --fail-under 0.9 --no-save", code=1).splitlines()[-1]
    assert not lacks(said("explain a.csv b.csv", code=1), "total", "Bruun")


def test_leaderboard() -> None:
    """Two submissions, ranked."""
    shown = said("leaderboard subs")
    assert shown.index("one") < shown.index("two")


def test_share_a_page() -> None:
    """One file that needs nothing else."""
    said("run answers --no-save -o share.html --quiet")
    page = Path("share.html").read_text()
    assert "Which department has the longest mean tenure?" in page
    assert "<script src" not in page
