"""`evalsuite report`, every format at every level, and what the project offers other tools."""

import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest
import yaml

from evalsuite.cli import main
from evalsuite.core.status import LEVELS
from evalsuite.reports import BINARY, FORMATS
from tests.cli.test_run import evalsuite, text_gold, text_submission
from tests.conftest import ROOT, copy_example
from tests.reports.made import MARKS, hidden_suite

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of a suite whose gold is hidden, reported live in every format."""
    folder = tmp_path_factory.mktemp("secret")
    sub, gold = hidden_suite(folder)
    outputs = [f"--output={folder / 'live'}{ending}" for ending in FORMATS]
    assert main(["run", str(sub), "--gold", str(gold), "--out", str(folder / "run"), "--no-cache", "-q", *outputs]) == 0
    return folder


@pytest.fixture(scope="module")
def revealed(secret: Path) -> Path:
    """The folder with a report in every format at each level as well."""
    for level in LEVELS:
        outputs = [f"--output={secret / level}{ending}" for ending in FORMATS]
        assert main(["report", str(secret / "run"), *outputs, "--reveal", level]) == 0
    return secret


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
@pytest.mark.parametrize("level", LEVELS)
def test_gold_is_shown_at_cells_only(ending: str, level: str, revealed: Path) -> None:
    """Below `cells` no format holds a text or number of gold; at `cells` the data formats hold all that reasons quote."""
    found = marks_in(text_of(revealed / f"{level}{ending}"))
    if level != "cells":
        assert found == []
    elif ending == ".json":
        assert found == list(MARKS)
    else:
        assert found


@pytest.mark.parametrize("ending", FORMATS)
def test_hidden_gold_stays_hidden_unless_told_otherwise(ending: str, secret: Path) -> None:
    """A suite that says `hidden: true` is reported at level `class`, live and saved."""
    path = secret / f"default{ending}"
    assert main(["report", str(secret / "run"), "-o", str(path)]) == 0
    for report in (path, secret / f"live{ending}"):
        assert marks_in(text_of(report)) == []


@pytest.mark.parametrize("options", [[], ["--verbose"], ["--json"], ["--github"], ["-x", "--only=number"], ["--quiet"]])
def test_what_is_printed_hides_gold_too(options: list[str], secret: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal, --json, annotations and the first failure hold nothing of hidden gold; with --reveal cells they do."""
    command = ["run", str(secret / "sub"), "--gold", str(secret / "gold"), "--no-save", "--no-cache", *options]
    main(command)
    shown = capsys.readouterr()
    assert marks_in(shown.out + shown.err) == []
    main([*command, "--reveal", "cells"])
    assert bool(marks_in(capsys.readouterr().out)) == (options != ["--quiet"])


def test_totals_are_the_same_at_every_level(secret: Path) -> None:
    """What is hidden changes no total; at `none` no instance shows a verdict. Flips and fields are named by what gold holds."""
    reports = {}
    for level in LEVELS:
        path = secret / f"totals-{level}.json"
        assert main(["report", str(secret / "run"), "-o", str(path), "--reveal", level]) == 0
        reports[level] = json.loads(path.read_text(encoding="utf-8"))
    kept = [{**report["summary"], "flips": None, "by_field": None} for report in reports.values()]
    assert kept == [kept[0]] * len(LEVELS)
    judged = [row for row in reports["none"]["results"] if row["status"] == "scored"]
    assert judged
    assert {(row["score"], row["reason"], row["fault"]) for row in judged} == {(None, "", None)}
    assert [row["score"] for row in reports["status"]["results"]] == [row["score"] for row in reports["cells"]["results"]]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a small saved run and a report of each text format made live."""
    folder = tmp_path_factory.mktemp("reported")
    text_submission(folder / "sub", a="It is Paris", b="It is Bern")
    text_gold(folder / "gold", a="Paris", b="Rome", c="Oslo")
    outputs = [f"--output=live{ending}" for ending in FORMATS if ending not in BINARY]
    done = evalsuite("run", "sub", "--gold", "gold", "--out", "r1", "-q", *outputs, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def saved(reported: Path, tmp_path: Path) -> tuple[Path, Path]:
    """(working folder, run folder) of a copy of it."""
    shutil.copytree(reported, tmp_path, dirs_exist_ok=True)
    return tmp_path, tmp_path / "r1"


def test_a_report_later_is_the_report_of_the_run(saved: tuple[Path, Path]) -> None:
    """Every text format of the saved run is what the run itself wrote."""
    folder, run = saved
    outputs = [f"--output=later{ending}" for ending in FORMATS if ending not in BINARY]
    done = evalsuite("report", run.name, *outputs, cwd=folder)
    assert (done.returncode, done.stdout.count("wrote ")) == (0, len(outputs))
    for ending in FORMATS:
        if ending not in BINARY:
            live, later = (folder / f"{name}{ending}" for name in ("live", "later"))
            assert told(live) == told(later)


def told(report: Path) -> object:
    """What a report says: 1.0 and 1 are one number, and the digests that only the run folder holds are left out."""
    text = report.read_text(encoding="utf-8")
    if report.suffix == ".json":
        told = json.loads(text)
        told.pop("digests", None)
        return told
    return re.sub(r"\b([01])\.0\b", r"\1", text) if report.suffix == ".html" else text


def test_without_output_it_is_shown(saved: tuple[Path, Path]) -> None:
    """`report RUN` prints the terminal report, with the options of `run`."""
    folder, run = saved
    shown = evalsuite("report", run, "--failures", "--durations", "1", cwd=folder).stdout
    assert " slowest 1" in shown
    assert "1 more, right under every rule" in shown
    assert shown.splitlines()[-1] == "done: 33.3 % (no gate set)"
    detail = "gold from        file"
    assert [detail in evalsuite("report", run, *words, cwd=folder).stdout for words in ((), ("-v",))] == [False, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["r2"], "error: no finished run 'r2'"),
        (["r1", "-o", "x.docx"], "error: no report format for 'x.docx'"),
        (["r1", "--reveal", "cell"], "error: --reveal cannot be 'cell'"),
        (["r1", "-o", "x.csv", "-o", "./x.csv"], "error: --output names x.csv twice"),
        (["r1", "-o", "r1/run.json/y/x.csv"], "error: cannot write r1/run.json/y/x.csv: Not a directory"),
    ],
)
def test_what_cannot_be_meant(arguments: list[str], message: str, saved: tuple[Path, Path]) -> None:
    """A wrong run, format, level or path exits 2 with one clear line."""
    done = evalsuite("report", *arguments, cwd=saved[0])
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, message)


def test_the_page_about_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of docs/reports.md runs as it stands there, and the reports it names are there."""
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    commands = re.findall(r"^evalsuite (.+)$", page, re.MULTILINE)
    assert len(commands) == 10
    copy_example(tmp_path, {"sales_001", "sales_004", "hr_007", "ops_001", "geo_005", "fin_004"})
    monkeypatch.chdir(tmp_path)
    assert [main(command.split()) for command in commands] == [0] * 10
    assert {"report.html", "report.md", "results.csv", "results.json", "junit.xml", "results.parquet", "margins.html"} <= {
        p.name for p in tmp_path.iterdir()
    }
    assert {f"`{ending}`" for ending in FORMATS} <= set(re.findall(r"`\.\w+`", page))
    assert all(f"`{level}`" in page for level in LEVELS)


def test_the_hooks_are_commands() -> None:
    """Each hook for pre-commit names a command that exists and has help."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {hook["id"] for hook in hooks} == {"evalsuite-validate", "evalsuite-gold-check", "evalsuite-gold-lint"}
    for hook in hooks:
        program, *words = hook["entry"].split()
        assert (program, main([*words, "--help"])) == ("evalsuite", 0)
        assert not hook["pass_filenames"]
        # A commit that only deletes files has none that could fit.
        assert hook["always_run"]
        for kind in ("csv", "csv.gz", "duckdb", "sqlite", "json", "jsonl", "sql", "txt"):
            assert re.search(hook["files"], f"a/b.{kind}")
        assert re.search(hook["files"], "some/results_metadata.jsonl" if "validate" in hook["id"] else "gold/demo_eval.jsonl")
