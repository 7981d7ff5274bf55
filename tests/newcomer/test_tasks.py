"""Twelve tasks from bare files, each in at most three commands; what a person wants to know stands in what is printed."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.conftest import copy_example, copy_of
from tests.suites.test_foreign_logs import ABOUT, inspect_sample, lm_eval, promptfoo

pytestmark = pytest.mark.usefixtures("shared_fork_server", "place")

TABLE = "customer,total\nAbebe,120.5\nBruun,80.0\nCosta,61.25\n"
QA = (
    "question,reference,small,large\n"
    "Capital of France?,Paris,Paris,Lyon\nCapital of Italy?,Rome,Rome,Rome\nCapital of Norway?,Oslo,Oslo,Oslo\n"
)


def make_place(folder: Path) -> None:
    """A part of the example, right and wrong, and a file of questions in an otherwise empty working folder."""
    copy_example(folder, {"sales_001", "sales_004", "hr_001", "hr_004"})
    (folder / "example_submission_folder").rename(folder / "answers")
    (folder / "qa.csv").write_text(QA)


place = copy_of(make_place)


def said(capsys: pytest.CaptureFixture[str], *lines: str, codes: tuple[int, ...] = (0,)) -> str:
    """What the commands print, one after the other; at most three."""
    assert len(lines) <= 3
    shown = ""
    for line in lines:
        assert main(shlex.split(line)) in codes, line
        shown = capsys.readouterr().out
    return shown


def test_score_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """A row an instance, the score, and what comes next."""
    shown = said(capsys, "run answers")
    assert "hr_004" in shown
    assert "2/4 = 50.0 %" in shown
    assert "next: evalsuite explain" in shown


def test_explain_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Why an answer is wrong, by the name of its run."""
    assert "revenue" in said(capsys, "run answers --out mine --quiet", "explain sales_004 --run mine")


def test_two_models_from_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Both percentages, the p, and the answers to the question that was lost."""
    shown = said(capsys, "suite try qa.csv --input question --reference reference --candidate small --candidate large")
    for words in ("100.0 %", "66.7 %", "1.000", "Paris", "Lyon"):
        assert words in shown


def test_compare_two_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """A suite, two runs of it, and what differs."""
    create = "suite create s --from qa.csv --scorer string_match --input-column question --reference-column reference"
    run = "suite run s --from qa.csv --candidate-column small --candidate-column large"
    assert "large against small: 1 instance lost" in said(capsys, create, run, "compare small large")


def test_gate(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 below the gate, and the last line says so."""
    assert "exit 1" in said(capsys, "run answers --fail-under 0.9 --no-save", codes=(1,)).splitlines()[-1]


def test_leaderboard(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two submissions, ranked."""
    for name in ("one", "two"):
        shutil.copytree(place / "answers", place / "subs" / name)
    lines = (place / "answers/results_metadata.jsonl").read_text().splitlines(keepends=True)
    (place / "subs/two/results_metadata.jsonl").write_text("".join(lines[:2]))
    shown = said(capsys, "leaderboard subs")
    assert shown.index("one") < shown.index("two")


def test_gold_from_tables(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of CSV files is gold, and a submission is scored against it."""
    (place / "tables").mkdir()
    (place / "tables/orders.csv").write_text(TABLE)
    shown = said(capsys, "init --gold-from tables --to mine", "run submission_template --gold mine --no-save")
    assert "0/1 = 0.0 %" in shown


def test_a_spec_from_examples(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is to be accepted and refused chooses the parameters."""
    for folder, text in (("tables", TABLE), ("good", TABLE.replace("61.25", "0")), ("bad", TABLE.replace("Costa", "Dahl"))):
        (place / folder).mkdir()
        (place / folder / "orders.csv").write_text(text)
    shown = said(capsys, "init --gold-from tables --good good --bad bad --to mine")
    assert "orders: ignore_order false, condition_cols [0]" in shown


def test_difference_of_two_tables(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two files, no folder at all."""
    (place / "a.csv").write_text(TABLE)
    (place / "b.csv").write_text(TABLE.replace("80.0", "81.0"))
    shown = said(capsys, "explain a.csv b.csv", codes=(1,))
    assert "total" in shown
    assert "Bruun" in shown


@pytest.mark.parametrize("tool", ["promptfoo", "inspect", "lm-eval"])
def test_import_a_log(place: Path, capsys: pytest.CaptureFixture[str], tool: str) -> None:
    """Three questions of another tool, and a report of its run."""
    log = {**ABOUT, "samples": [inspect_sample(at, output) for at, output in enumerate(("Paris", "Milan", "Oslo"))]}
    files = {
        "promptfoo": ("r.json", json.dumps(promptfoo()), "large"),
        "inspect": ("log.json", json.dumps(log), "log (mock/model)"),
        "lm-eval": ("samples_geo.jsonl", "".join(json.dumps(row) + "\n" for row in lm_eval()), "geo-strict"),
    }
    name, text, run = files[tool]
    (place / name).write_text(text)
    shown = said(capsys, f"import {name}", f"report {shlex.quote(run)}")
    assert "Capital of Italy?" in shown
    assert tool in shown


def test_view(capsys: pytest.CaptureFixture[str]) -> None:
    """The viewer says where it is and how it ends, without being started here."""
    assert "DIR" in said(capsys, "help view")


def test_share_a_page(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file that needs nothing else."""
    said(capsys, "run answers --no-save -o share.html --quiet")
    page = (place / "share.html").read_text()
    assert "Which department has the longest mean tenure?" in page
    assert "<script src" not in page
