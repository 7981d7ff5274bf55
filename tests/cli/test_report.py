"""What a command leaves and proposes: reports in every format at every level, files that cannot be written, and `next:` lines."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from evalsuite import reports
from evalsuite.cli import main
from evalsuite.core.errors import EXIT_GATE, EXIT_OK
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.status import LEVELS
from evalsuite.reports import BINARY, FORMATS
from evalsuite.sandbox.fork_server import ForkServer, share
from tests.analysis.leaderboard.test_leaderboard import PLUGIN
from tests.cli.test_run import evalsuite, lacks, said, text_gold, text_submission, write_lines
from tests.conftest import ROOT, copy_example, copy_of
from tests.processes import finished
from tests.reports.suites import MARKS, hidden_suite
from tests.suites.test_foreign_logs import ABOUT, inspect_sample, lm_eval, promptfoo

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
    """Below `cells`, as by default where gold is hidden, no format holds a text or number of gold; at `cells` data formats do."""
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


@copy_of
def saved(folder: Path) -> None:
    """A small saved run and a report of each text format made live."""
    text_submission(folder / "sub", a="It is Paris", b="It is Bern")
    text_gold(folder / "gold", a="Paris", b="Rome", c="Oslo")
    said("run sub --gold gold --out r1 -q", *(f"--output=live{ending}" for ending in TEXTS))


def test_a_report_later_is_the_report_of_the_run(saved: Path) -> None:
    """Every text format of the saved run is what the run wrote; without -o it is the terminal's, with the options of `run`."""
    done = evalsuite("report", "r1", *(f"--output=later{ending}" for ending in TEXTS), cwd=saved)
    assert (done.returncode, done.stdout.count("wrote ")) == (0, len(TEXTS))
    for ending in TEXTS:
        assert told(saved / f"live{ending}") == told(saved / f"later{ending}")
    shown = said("report r1 --failures --durations 1")
    assert not lacks(shown, " slowest 1", "1 more, right under every rule")
    assert shown.splitlines()[-1] == "done: 33.3 % (no gate set)"
    assert ["gold from        file" in said(f"report r1{more}") for more in ("", " -v")] == [False, True]


def told(report: Path) -> object:
    """What a report says: 1.0 and 1 are one number, and the digests that only the run folder holds are left out."""
    text = report.read_text(encoding="utf-8")
    if report.suffix == ".json":
        told = json.loads(text)
        told.pop("digests", None)
        return told
    return re.sub(r"\b([01])\.0\b", r"\1", text) if report.suffix == ".html" else text


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


@copy_of
def place(folder: Path) -> None:
    """Gold of two texts, two submissions and a run of each."""
    text_gold(folder / "gold", a="Paris", b="Rome")
    for name in ("one", "two"):
        text_submission(folder / "subs" / name, a="Paris", b="Rome")
        assert main(["run", f"subs/{name}", "--isolation", "none", "-q", "--out", name]) == 0


COMMANDS = [
    ["run", "subs/one", "--isolation", "none"],
    ["leaderboard", "subs", "--isolation", "none"],
    ["compare", "one", "two"],
    ["report", "one"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("output", ["gold/toy_eval.jsonl/x.md", "taken.md", "/proc/nobody/x.md"])
def test_what_cannot_be_written_is_said_before(place: Path, capsys: pytest.CaptureFixture[str], command: list[str], output: str) -> None:
    """Exit code 2, nothing scored, no run saved, and not one of the other outputs written."""
    (place / "taken.md").mkdir()
    capsys.readouterr()
    assert main([*command, "-o", "good.md", "-o", output]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error: cannot write {output}: ")
    assert not (place / ".evalsuite" / "runs").exists()
    assert not (place / "good.md").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_what_fails_when_it_is_written(
    place: Path, capsys: pytest.CaptureFixture[str], command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1 and the name of the file; the score, the run and the other outputs stand, and the last line says the same."""
    capsys.readouterr()
    code = main([*command, "-o", "a.md", "-o", "a.md/b.html", "-o", "c.csv"])
    said = capsys.readouterr()
    assert code == 1
    assert "error: cannot write a.md/b.html: expected a folder, found a file" in said.err
    assert (place / "a.md").exists()
    assert (place / "c.csv").exists()
    if command[0] == "report":
        assert said.out == "wrote a.md\nwrote c.csv\n"
        return
    assert said.out.splitlines()[-1].startswith("done: ")
    assert said.out.splitlines()[-1].endswith(", 1 output could not be written (exit 1)")
    if command[0] == "run":
        assert "100.0 %" in said.out
        saved = next(line for line in said.out.splitlines() if line.startswith(" saved")).split()[1]
        assert main(["report", saved]) == 0


def _half(_record: object) -> Iterator[str]:
    """Half a report, on a disk that is then full."""
    yield "begun"
    raise OSError(28, "No space left on device")


def test_what_stands_where_an_output_fails(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong options make no folder; a joined run is kept, a gate speaks last, and a disk that fills up is exit code 1 too."""
    assert main(["run", "subs/one", "--executor", "spark"]) == 2
    assert main(["run", "subs/one", "--executor", "dask", "--scheduler", "nonsense"]) == 2
    assert not (place / ".evalsuite" / "runs").exists()
    for i in (1, 2):
        assert main(["run", "subs/one", "--isolation", "none", "-q", "--shard", f"{i}/2", "--out", f"part{i}"]) == 0
    assert said("merge part1 part2 --out whole -q -o a.md -o a.md/b.md", code=1).endswith(
        "done: 100.0 % from 2 shards, 1 output could not be written (exit 1)\n"
    )
    assert main(["report", "whole"]) == 0
    assert main(["merge", "part1", "part2", "--out", "other", "-o", "gold/toy_eval.jsonl/x.md"]) == 2
    assert not (place / "other").exists()
    text_submission(place / "half", a="Paris", b="Bern")
    command = ["run", "half", "--isolation", "none", "-q", "--fail-under", "0.9", "-o", "h.md", "-o", "h.md/b.md"]
    capsys.readouterr()
    assert main(command) == 1
    shown = capsys.readouterr()
    assert shown.out == "done: 50.0 %, below the gate of 90.0 % (exit 1)\n"
    assert "cannot write h.md/b.md" in shown.err
    monkeypatch.setitem(reports.FORMATS, ".md", ImportRef("tests.cli.test_report:_half"))
    capsys.readouterr()
    assert main(["run", "subs/one", "--isolation", "none", "-q", "-o", "a.md"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("error: cannot write a.md: No space left on device")
    assert shown.out.startswith("done: 100.0 %")


def test_outputs_are_tried_before(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the reference's files; a summary or one file of several that fails is exit 1; a place that can be written looks as before."""
    (place / "q.csv").write_text("input,reference_output\nCapital of France?,Paris\n")
    (place / "good.csv").write_text("candidate_output\nParis\n")
    (place / "bad.csv").write_text("answers|notes\nParis|x\n")
    assert main(["suite", "create", "s", "--from", "q.csv", "--scorer", "string_match"]) == 0
    capsys.readouterr()
    assert main(["suite", "run", "s", "--from", "bad.csv", "--from", "good.csv"]) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0].startswith("good: done: 100.0 %")
    assert shown.out.splitlines()[-1] == "1 of 2 files could not be run (exit 1)"
    assert not lacks(shown.err, "no candidate column 'candidate_output'", "name another with --candidate\n")
    assert main(["suite", "run", "s", "--from", "bad.csv", "--from", "bad.csv"]) == 2
    (place / "log.txt").mkdir()
    assert said("run subs/one --isolation none --reference-files", code=2).startswith("error: cannot write log.txt: expected a file")
    assert not (place / "subs" / "one-ids.csv").exists()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    assert main(["run", "subs/one", "--isolation", "none", "--github", "-q"]) == 1
    shown = capsys.readouterr()
    assert "done: 100.0 % (no gate set), 1 output could not be written (exit 1)" in shown.out
    assert "error: cannot write the summary of the job" in shown.err
    (place / "old.md").write_text("old")
    before = sorted(place.iterdir())
    for output in ("new.md", "new/folder/new.md", "old.md"):
        reports.check_output(Path(output))
    assert sorted(place.iterdir()) == before
    assert (place / "old.md").read_text() == "old"
    os.mkfifo(place / "pipe.md")
    reports.check_output(Path("pipe.md"))


# As files and columns are called that nobody meant for a shell.
FILE, ONE, OTHER = "my données $(1) it's.csv", 'model "a" $x', "it's `b`; -v"
TRY = ["suite", "try", FILE, "--input", "question", "--candidate", ONE]


@copy_of
def things(folder: Path) -> None:
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
def test_what_comes_next_can_be_pasted(
    things: Path, commands: list[list[str]], begins: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
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
