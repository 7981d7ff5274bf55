"""`evalsuite report`, every format at every level, and what the project offers other tools."""

import json
import re
from pathlib import Path

import duckdb
import pytest

from evalsuite.cli import main
from evalsuite.core.status import LEVELS
from evalsuite.reports import BINARY, FORMATS
from evalsuite.sandbox.fork_server import ForkServer, share
from tests.cli.test_run import evalsuite, lacks, said, text_gold, text_submission
from tests.conftest import ROOT, copy_example, copy_of
from tests.reports.suites import MARKS, hidden_suite

pytestmark = pytest.mark.usefixtures("shared_fork_server")
TEXTS = [ending for ending in FORMATS if ending not in BINARY]


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory, session_fork_server: ForkServer | None) -> Path:
    """A folder with a run of a suite whose gold is hidden, reported in every format live, by default and at each level."""
    folder = tmp_path_factory.mktemp("secret")
    sub, gold = hidden_suite(folder)
    outputs = {name: [f"--output={folder / name}{ending}" for ending in FORMATS] for name in ("live", "default", *LEVELS)}
    with share(session_fork_server):
        said("run", sub, "--gold", gold, "--out", folder / "run", "--no-cache", "-q", *outputs["live"])
        for name in ("default", *LEVELS):
            said("report", folder / "run", *outputs[name], *(() if name == "default" else ("--reveal", name)))
    return folder


def text_of(path: Path) -> str:
    """All that a report says, as text: a Parquet file as its rows, an SVG without its hard spaces."""
    if path.suffix in BINARY:
        with duckdb.connect() as connection:
            return repr(connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall())
    return path.read_text(encoding="utf-8").replace("&#160;", " ")


def marks_in(text: str) -> list[str]:
    """The marks of gold that a text holds."""
    return [mark for mark in MARKS if mark in text]


@pytest.mark.parametrize("ending", FORMATS)
def test_gold_is_shown_at_cells_only(ending: str, secret: Path) -> None:
    """Below `cells` no format holds a text or number of gold; at `cells` the data formats hold all that reasons quote.

    A suite that says `hidden: true` is reported at level `class`, live and saved.
    """
    found = {name: marks_in(text_of(secret / f"{name}{ending}")) for name in ("live", "default", *LEVELS)}
    at_cells = found.pop("cells")
    assert not any(found.values()), found
    assert at_cells == list(MARKS) if ending == ".json" else at_cells


@pytest.mark.parametrize("options", [[], ["--verbose"], ["--json"], ["--github"], ["-x", "--only=number"], ["--quiet"]])
def test_what_is_printed_hides_gold_too(options: list[str], secret: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal, --json, annotations and the first failure hold nothing of hidden gold; with --reveal cells they do."""
    command = ["run", str(secret / "submission"), "--gold", str(secret / "gold"), "--no-save", "--isolation", "none", *options]
    main(command)
    shown = capsys.readouterr()
    assert marks_in(shown.out + shown.err) == []
    main([*command, "--reveal", "cells"])
    assert bool(marks_in(capsys.readouterr().out)) == (options != ["--quiet"])


def test_totals_are_the_same_at_every_level(secret: Path) -> None:
    """What is hidden changes no total; at `none` no instance shows a verdict. Flips and fields are named by what gold holds."""
    reports = {level: json.loads((secret / f"{level}.json").read_text(encoding="utf-8")) for level in LEVELS}
    kept = [{**report["summary"], "flips": None, "by_field": None} for report in reports.values()]
    assert kept == [kept[0]] * len(LEVELS)
    judged = [row for row in reports["none"]["results"] if row["status"] == "scored"]
    assert judged
    assert {(row["score"], row["reason"], row["fault"]) for row in judged} == {(None, "", None)}
    assert [row["score"] for row in reports["status"]["results"]] == [row["score"] for row in reports["cells"]["results"]]


def make_reported(folder: Path) -> None:
    """A small saved run and a report of each text format made live."""
    text_submission(folder / "sub", a="It is Paris", b="It is Bern")
    text_gold(folder / "gold", a="Paris", b="Rome", c="Oslo")
    said("run sub --gold gold --out r1 -q", *(f"--output=live{ending}" for ending in TEXTS))


saved = copy_of(make_reported)


def test_a_report_later_is_the_report_of_the_run(saved: Path) -> None:
    """Every text format of the saved run is what the run itself wrote."""
    done = evalsuite("report", "r1", *(f"--output=later{ending}" for ending in TEXTS), cwd=saved)
    assert (done.returncode, done.stdout.count("wrote ")) == (0, len(TEXTS))
    for ending in TEXTS:
        assert told(saved / f"live{ending}") == told(saved / f"later{ending}")


def told(report: Path) -> object:
    """What a report says: 1.0 and 1 are one number, and the digests that only the run folder holds are left out."""
    text = report.read_text(encoding="utf-8")
    if report.suffix == ".json":
        told = json.loads(text)
        told.pop("digests", None)
        return told
    return re.sub(r"\b([01])\.0\b", r"\1", text) if report.suffix == ".html" else text


def test_without_output_it_is_shown(saved: Path) -> None:
    """`report RUN` prints the terminal report, with the options of `run`."""
    shown = said("report r1 --failures --durations 1")
    assert not lacks(shown, " slowest 1", "1 more, right under every rule")
    assert shown.splitlines()[-1] == "done: 33.3 % (no gate set)"
    assert ["gold from        file" in said(f"report r1{more}") for more in ("", " -v")] == [False, True]


def test_the_page_about_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of docs/reports.md runs as it stands there, and the reports it names are there."""
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    commands = re.findall(r"^evalsuite (.+)$", page, re.MULTILINE)
    assert len(commands) == 10
    copy_example(tmp_path, {"sales_001", "sales_004", "hr_007"})
    monkeypatch.chdir(tmp_path)
    assert [main(command.split()) for command in commands] == [0] * 10
    assert {"report.html", "report.md", "results.csv", "results.json", "junit.xml", "results.parquet", "margins.html"} <= {
        p.name for p in tmp_path.iterdir()
    }
    assert {f"`{ending}`" for ending in FORMATS} <= set(re.findall(r"`\.\w+`", page))
    assert all(f"`{level}`" in page for level in LEVELS)
