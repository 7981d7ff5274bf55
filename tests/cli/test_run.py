"""`evalsuite run` as a person uses it: real folders, real exit codes, exact messages, and what was not scored in every number."""

import contextlib
import io
import itertools
import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.cli.run_command import snapshot
from tests.command_server import command_server
from tests.conftest import ROOT, copy_of
from tests.processes import finished, started
from tests.terminal.pty_harness import EVALSUITE, run

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def evalsuite(*arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, forked from one that has imported the package."""
    return command_server().run(arguments, cwd=cwd)


def called(*arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command in this process: for tests of what it prints, writes and ends with."""
    words, out, errors = [*map(str, arguments)], io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), errors.getvalue())


def quick(*arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """`called`, where what scores does so in this process too: for tests that are not about workers."""
    is_scoring = arguments[0] in ("run", "compare", "leaderboard", "rescore", "verify")
    return called(*arguments, *["--isolation", "none"] * is_scoring, cwd=cwd)


def said(line: str, *more: object, code: int = 0) -> str:
    """What a command prints on stdout, on stderr where it ends with 2; it ends with that code."""
    done = called(*shlex.split(line), *more, cwd=Path())
    assert done.returncode == code, (line, more, done.returncode, done.stdout, done.stderr)
    return done.stderr if code == 2 else done.stdout


def as_json(line: str, *more: object, code: int = 0) -> Any:
    """What it prints with `--json`."""
    return json.loads(said(line, *more, "--json", code=code))


def lacks(text: str, *words: str) -> list[str]:
    """The words that a text does not hold."""
    return [word for word in words if word not in text]


def write_lines(path: Path, *rows: object) -> Path:
    """A JSONL file of these rows; a text row is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8")
    return path


def check(func: str, **parameters: object) -> dict[str, object]:
    """One entry of gold's `evaluation`."""
    return {"func": func, "parameters": parameters}


def write_gold(folder: Path, **checks: object) -> Path:
    """A gold folder with an evaluation for each instance."""
    write_lines(folder / "toy_eval.jsonl", *({"instance_id": name, "evaluation": one} for name, one in checks.items()))
    return folder


def text_gold(folder: Path, **answers: str) -> Path:
    """A gold folder of string_match instances."""
    return write_gold(folder, **{name: check("string_match", gold=text) for name, text in answers.items()})


def text_submission(folder: Path, **answers: str) -> Path:
    """A submission folder of text answers."""
    return write_answers(folder, *((name, "answer", text) for name, text in answers.items()))


def write_answers(folder: Path, *answers: tuple[str, str, object]) -> Path:
    """A submission folder of answers: id, type, and text or path."""
    keys = ("instance_id", "answer_type", "answer_or_path")
    write_lines(folder / "results_metadata.jsonl", *(dict(zip(keys, answer, strict=True)) for answer in answers))
    return folder


@pytest.fixture
def toy(tmp_path: Path) -> tuple[Path, Path]:
    """(submission, gold): three instances, one right, one wrong, one not handed in."""
    gold = text_gold(tmp_path / "gold", a="Paris", b="Rome", c="Oslo")
    return text_submission(tmp_path / "sub", a="It is Paris", b="It is Bern"), gold


def test_example_is_scored() -> None:
    """The README's command: a row for each instance that is not right, the others counted, and a last line that agrees with exit code 0."""
    line = ["evaluate.py", "--result_dir", "example_submission_folder", "--gold_dir", "gold", "--no-save", "--no-cache"]
    done = finished([sys.executable, *line], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if re.match(r" [a-z]+_\d{3} ", line)]
    assert len(rows) == 19
    assert not lacks(done.stdout, "21 more, right under every rule that judged them", "reference ratio")
    assert done.stdout.strip().splitlines()[-1].startswith("done: ")


def test_results_have_the_documented_keys(toy: tuple[Path, Path], tmp_path: Path) -> None:
    """In gold order, the same twice but for seconds, exit 5 of nothing; --out replaces a run, and refuses any other folder."""
    out = tmp_path / "run"
    assert quick("run", toy[0], "--gold", toy[1], "--out", out).returncode == 0
    assert quick("run", toy[0], "--gold", toy[1], "--out", out).returncode == 0
    other = tmp_path / "precious"
    other.mkdir()
    (other / "thesis.txt").write_text("do not lose")
    refused = quick("run", toy[0], "--gold", toy[1], "--out", other)
    assert refused.returncode == 2
    assert f"error: {other} is not empty and not a run folder" in refused.stderr
    assert [entry.name for entry in other.iterdir()] == ["thesis.txt"]
    assert called("run", toy[0], "--gold", toy[1], "--out", out).returncode == 0
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert [row["instance_id"] for row in rows] == ["a", "b", "c"]
    expected = ["instance_id", "status", "score", "official", "strict", "scorer", "reason", "fault", "details", "seconds"]
    assert all(list(row) == expected for row in rows)
    assert (rows[2]["status"], rows[2]["fault"], rows[2]["score"]) == ("missing", "MISSING_INSTANCE", 0)
    run = json.loads((out / "run.json").read_text())
    assert {"schema_version", "signature", "options", "submission", "gold", "summary"} <= set(run)

    def lines_of(out: Path) -> list[str]:
        called("run", toy[0], "--gold", toy[1], "--out", out)
        return [line.rpartition('"seconds"')[0] for line in (out / "results.jsonl").read_text().splitlines()]

    first = lines_of(tmp_path / "one")
    assert first == lines_of(tmp_path / "two")
    assert len(first) == 3
    (toy[0] / "results_metadata.jsonl").write_text("")
    done = called("run", toy[0], "--gold", toy[1], "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 5
    rows = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["missing"] * 3


@pytest.mark.parametrize(("gate", "code", "line"), [("0.3", 0, "(gate 30.0 % met)"), ("0.34", 1, "below the gate of 34.0 % (exit 1)")])
def test_gate(toy: tuple[Path, Path], gate: str, code: int, line: str) -> None:
    """--fail-under decides between exit 0 and 1, and the last line says so."""
    done = quick("run", toy[0], "--gold", toy[1], "--no-save", "--quiet", "--fail-under", gate)
    assert (done.returncode, line in done.stdout) == (code, True)


def test_selection_and_check(toy: tuple[Path, Path]) -> None:
    """--only, --filter and --group choose, an unknown one is an error with a hint; `check ID` shows verdicts, answer and gold's line."""

    def count(*arguments: str) -> int:
        done = quick("run", toy[0], "--gold", toy[1], "--json", "--no-save", *arguments)
        return int(json.loads(done.stdout)["summary"]["n_gold"])

    (toy[1] / "suite.yaml").write_text("groups:\n  capitals: [a, b]\n")
    assert (count("--only", "a,c"), count("--filter", "[ab]"), count("--group", "capitals")) == (2, 2, 2)
    unknown = quick("run", toy[0], "--gold", toy[1], "--only", "aa")
    assert (unknown.returncode, "error: no instance 'aa' in gold" in unknown.stderr) == (2, True)
    group = quick("run", toy[0], "--gold", toy[1], "--group", "capital")
    assert "hint: did you mean 'capitals'?" in group.stderr
    shown = called("check", "a", "--result_dir", toy[0], "--gold_dir", toy[1]).stdout
    assert all(word in shown for word in ("official", "string_match", "toy_eval.jsonl:1", "It is Paris"))
    row = json.loads(called("check", "b", "--result_dir", toy[0], "--gold_dir", toy[1], "--json").stdout)
    assert (row["instance_id"], row["score"]) == ("b", 0)


def test_keys_and_parameters_that_nobody_reads(tmp_path: Path) -> None:
    """Further keys are shown, a misspelled parameter makes its instance unjudgeable; hostile text cannot touch the terminal."""
    row = {"instance_id": "a", "instruction": "Capital of France?", "evaluation": check("string_match", gold="Paris")}
    write_lines(tmp_path / "gold" / "toy_eval.jsonl", row)
    sub = text_submission(tmp_path / "sub", a="Paris")
    shown = called("check", "a", "--result_dir", sub, "--gold_dir", tmp_path / "gold").stdout
    assert "Capital of France?" in shown
    assert quick("run", sub, "--gold", tmp_path / "gold", "--no-save", "--strict", "--quiet").returncode == 0
    write_gold(tmp_path / "gold", a=check("string_match", gold="Paris", exlude=["x"]), b=check("string_match", gold="Rome"))
    sub = text_submission(tmp_path / "sub", a="Paris", b="Rome")
    run = json.loads(quick("run", sub, "--gold", tmp_path / "gold", "--json", "--no-save").stdout)
    assert (run["summary"]["counts"]["gold_fault"], run["summary"]["counts"]["scored"]) == (1, 1)
    assert (run["summary"]["score_low"], run["summary"]["score_high"]) == (0.5, 1.0)
    assert any("did you mean 'exclude'?" in warning for warning in run["warnings"])
    gold = text_gold(tmp_path / "gold", a="Paris")
    write_answers(sub, ("a", "file", "\x1b[2J[red]x\n\u202e.csv"))
    shown = quick("run", sub, "--gold", gold, "--no-save").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_what_decides_the_exit_code(toy: tuple[Path, Path]) -> None:
    """Every spelling prints the same; --quiet the last line only; --strict counts warnings; the command line's gate goes first."""
    unsaved = ("--no-save", "--no-cache")
    first = evalsuite("run", toy[0], "--gold", toy[1], *unsaved).stdout
    second = called("run", "--result-dir", toy[0], "--gold_dir", toy[1], *unsaved).stdout
    shim = [sys.executable, str(ROOT / "evaluate.py"), "--result_dir", str(toy[0]), "--gold-dir", str(toy[1]), *unsaved]
    assert first == second == finished(shim).stdout
    assert quick("run", toy[0], "--gold", toy[1], "--no-save", "--quiet").stdout == "done: 33.3 % (no gate set)\n"
    assert quick("run", toy[0], "--gold", toy[1], "--no-save", "--strict", "--quiet").returncode == 0
    with (toy[0] / "results_metadata.jsonl").open("a") as lines:
        lines.write('{"instance_id": "zzz", "answer_type": "answer", "answer_or_path": "x"}\n')
    assert quick("run", toy[0], "--gold", toy[1], "--no-save").returncode == 0
    done = quick("run", toy[0], "--gold", toy[1], "--no-save", "--strict", "--quiet")
    assert (done.returncode, "1 warning" in done.stdout) == (1, True)
    (toy[1] / "suite.yaml").write_text("fail_under: 0.9\n")
    run = "run", toy[0], "--gold", toy[1], "--no-save", "--quiet"
    assert [quick(*run, *gate).returncode for gate in ([], ["--fail-under", "0"], ["--fail-under", "0.3"])] == [1, 0, 0]


@pytest.mark.parametrize("answer", ["1,50", "1,6"])
def test_files_in_another_dialect(tmp_path: Path, answer: str) -> None:
    """`delimiter`, `encoding` and `decimal` are parameters of table_match and tables_match, for gold and for the answer."""
    dialect = {"delimiter": ";", "encoding": "latin-1", "decimal": ","}
    checks = {"one": check("table_match", gold="g.csv", **dialect), "two": check("tables_match", gold=["g.csv"] * 2, **dialect)}
    for id_ in checks:
        (tmp_path / "gold" / id_).mkdir(parents=True)
        (tmp_path / "gold" / id_ / "g.csv").write_bytes("straße;wert\nKöln;1,5\nBonn;2\n".encode("latin-1"))
        (tmp_path / "sub" / id_).mkdir(parents=True)
        (tmp_path / "sub" / id_ / "a.csv").write_bytes(f"straße;wert\nKöln;{answer}\nBonn;2\n".encode("latin-1"))
    write_gold(tmp_path / "gold", **checks)
    write_answers(tmp_path / "sub", ("one", "file", "a.csv"), ("two", "files", ["a.csv", "a.csv"]))
    run = json.loads(called("run", tmp_path / "sub", "--gold", tmp_path / "gold", "--json", "--no-save").stdout)
    score = 1.0 if answer == "1,50" else 0.0
    assert (run["summary"]["official"], run["summary"]["strict"]) == (score, score)


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """A working folder with gold of four instances and a submission: a and c right, b wrong, d not handed in."""
    text_gold(tmp_path / "gold", a="Paris", b="Rome", c="Oslo", d="Bern")
    text_submission(tmp_path / "sub", a="Paris", b="Turin", c="Oslo")
    return tmp_path


def run_folders(four: Path) -> list[Path]:
    """The saved run folders, oldest first."""
    return sorted((four / ".evalsuite" / "runs").glob("*"), key=lambda folder: (folder / "results.jsonl").stat().st_mtime_ns)


def score(four: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """`evalsuite run` there."""
    return quick("run", "sub", "--gold", "gold", *options, cwd=four)


def test_failures_and_a_stop_at_the_first(four: Path) -> None:
    """--failures and --verbose change no number; -x ends at the first wrong row with 1, and goes on by --resume if it was saved."""
    plain = score(four, "--no-save").stdout
    short = score(four, "--no-save", "--failures", "--verbose").stdout
    assert [line.split()[0] for line in short.splitlines()[3:6]] == ["b", "d", "..."]
    assert short.count("\n instance ") == 3
    assert " status    missing (MISSING_INSTANCE)" in short
    assert plain.splitlines()[-9:] == short.splitlines()[-9:]
    done = score(four, "-x", "--no-save")
    assert done.returncode == 1
    assert "--resume" not in done.stdout
    assert run_folders(four) == []
    done = score(four, "-x", "--jobs", "1")
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("done: stopped at b, which is not right, after ")
    folder = last.rpartition(" ")[2]
    assert not (four / folder / "run.json").exists()
    resumed = score(four, "--resume", folder, "--quiet")
    assert (resumed.returncode, resumed.stdout) == (0, "done: 50.0 % (no gate set)\n")
    assert "resumed" not in resumed.stdout


def test_last_failed(four: Path) -> None:
    """--lf scores what was not right when last scored, over runs of parts of gold too, and says so when nothing is left."""

    def ids() -> list[str]:
        return [json.loads(line)["instance_id"] for line in (run_folders(four)[-1] / "results.jsonl").read_text().splitlines()]

    first = score(four, "--lf")
    assert (first.returncode, first.stderr.splitlines()[0]) == (2, "error: no earlier run of gold in .evalsuite/runs")
    score(four, "--quiet")
    text_submission(four / "sub", a="Paris", b="Rome", c="Oslo")
    assert score(four, "--lf", "--quiet").returncode == 0
    assert ids() == ["b", "d"]
    score(four, "--lf", "--quiet")
    assert ids() == ["d"]
    # A run of another gold has no say.
    text_gold(four / "other", z="Kyiv")
    text_submission(four / "sub2", z="Lviv")
    quick("run", "sub2", "--gold", "other", "-q", cwd=four)
    text_submission(four / "sub", a="Paris", b="Rome", c="Oslo", d="Bern")
    score(four, "--lf", "--quiet")
    assert ids() == ["d"]
    done = score(four, "--lf")
    assert (done.returncode, done.stdout) == (0, "done: nothing failed in the last run of this gold\n")


def test_watch_scores_again_on_change(four: Path) -> None:
    """--watch scores, waits for a changed answer or gold file, survives a broken one, and ends by Ctrl-C with exit 130."""
    command = [sys.executable, "-m", "evalsuite", "run", "sub", "--gold", "gold", "--watch", "--quiet"]
    with started(command, cwd=four, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = iter(process.stdout)
        assert verdict(lines) == "done: 50.0 % (no gate set)"
        text_submission(four / "sub", a="Paris", b="Rome", c="Oslo")
        assert verdict(lines) == "done: 75.0 % (no gate set)"
        (four / "gold" / "toy_eval.jsonl").write_text("not json\n")
        assert verdict(lines).startswith("error: gold/toy_eval.jsonl:1")
        text_gold(four / "gold", a="Paris")
        assert verdict(lines) == "done: 100.0 % (no gate set)"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert (process.returncode, "stopped watching; the last run ended with exit code 0" in errors) == (130, True)
    assert run_folders(four) == []


def test_watch_says_what_moved_and_does_not_watch_itself(four: Path) -> None:
    """The rows that are now something else and both scores stand above the last line; what the run writes into the folder is no change."""
    options = ["--failures", "-o", "sub/report.md", "--out", "sub/kept", "--isolation", "none"]
    command = [sys.executable, "-m", "evalsuite", "run", "sub", "--gold", "gold", "--watch", *options]
    with started(command, cwd=four, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = iter(process.stdout)
        assert verdict(lines) == "done: 50.0 % (no gate set)"
        text_submission(four / "sub", a="Lyon", b="Rome", c="Oslo")
        shown = list(itertools.takewhile(lambda line: not line.startswith("watching"), lines))
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate()
    assert "changed: sub/results_metadata.jsonl\n" in shown
    assert shown[-3:] == ["moved: a right to wrong, b wrong to right\n", "score: 50.0 % to 50.0 %\n", "done: 50.0 % (no gate set)\n"]
    assert (process.returncode, rest) == (130, "")
    assert (four / "sub/report.md").exists()


def test_a_watched_place_may_be_a_file(tmp_path: Path) -> None:
    """Answers in one file (`pred.json`) are seen to change; hidden files and what is to be left out are not looked at."""
    (tmp_path / "pred.json").write_text("{}")
    for name in ("folder/a.csv", "folder/.hidden", "folder/out/b.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    seen = snapshot([tmp_path / "pred.json", tmp_path / "folder", tmp_path / "absent"], {str(tmp_path / "folder/out")})
    assert sorted(seen) == [str(tmp_path / name) for name in ("folder/a.csv", "pred.json")]
    (tmp_path / "pred.json").write_text('{"0": ""}')
    assert snapshot([tmp_path / "pred.json"]).items().isdisjoint(seen.items())


def verdict(lines: Iterator[str]) -> str:
    """The last line before the watch waits."""
    before = ""
    for line in lines:
        if line.startswith("watching for changes"):
            return before
        before = line.rstrip("\n")
    raise AssertionError("the watch ended")


@pytest.mark.parametrize(("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_is_obeyed(setting: dict[str, str], coloured: bool, four: Path) -> None:
    """On a terminal the verdicts are coloured, unless NO_COLOR or a dumb terminal says otherwise; the text is the same."""
    shown = run([*EVALSUITE, "run", "sub", "--gold", "gold", "--no-save"], columns=100, env=setting, cwd=four)
    assert shown.code == 0
    assert ("\x1b[31m" in shown.raw, shown.coloured) == (coloured, coloured)
    assert "✗" in shown.screen


PART = "2 of 5 instances"


@pytest.fixture
def five(tmp_path: Path) -> Path:
    """A working folder with gold of five instances, two of them in a group, and a submission that gets `a` and `b` right."""
    text_gold(tmp_path / "gold", a="Paris", b="Rome", c="Oslo", d="Bern", e="Wien")
    (tmp_path / "gold" / "suite.yaml").write_text("groups: {hard: [a, c]}\n", encoding="utf-8")
    text_submission(tmp_path / "sub", a="Paris", b="Rome", c="Turin", d="Turin", e="Turin")
    return tmp_path


@pytest.mark.parametrize(
    "words", ["--only a,c", "--shard 2/2", *(pytest.param(one, marks=pytest.mark.slow) for one in ("--filter [ac]", "--group hard"))]
)
def test_a_part_says_so_first_and_last(words: str, five: Path) -> None:
    """Whatever chose the part: the first and the last line name it, and so do the saved run's."""
    done = quick("run", "sub", "--gold", "gold", *words.split(), "--out", "part", cwd=five)
    first, *_, last = done.stdout.splitlines()
    assert f"gold ({PART}) · sub" in first
    assert last == f"done: 50.0 % on {PART} (no gate set)"
    again = quick("report", "part", cwd=five).stdout.splitlines()
    assert (again[0], again[-1]) == (first, last)
    assert quick("rescore", "part", "-q", cwd=five).stdout == f"done: 50.0 % on {PART}, 0 of 2 verdicts changed\n"
    assert f" on {PART}" in quick("runs", cwd=five).stdout
    assert f"are {PART} that gold needs" in quick("verify", "part", cwd=five).stdout


def test_shards_and_parts_in_every_format(five: Path) -> None:
    """--lf scores what was not right in any shard, merged they are whole; each format names a part, in green jobs as warnings."""
    for i in (1, 2):
        quick("run", "sub", "--gold", "gold", "--shard", f"{i}/2", cwd=five)
    assert quick("run", "sub", "--gold", "gold", "--lf", "-q", cwd=five).stdout == "done: 0.0 % on 3 of 5 instances (no gate set)\n"
    for i in (1, 2):
        quick("run", "sub", "--gold", "gold", "--shard", f"{i}/2", "--out", f"shard{i}", cwd=five)
    merged = quick("merge", "shard1", "shard2", "--out", "all", cwd=five).stdout.splitlines()
    assert "gold (5 instances) · " in merged[0]
    assert merged[-1] == "done: 40.0 % from 2 shards"
    files = [f"report{ending}" for ending in (".md", ".html", ".json", ".xml")]
    outputs = [word for file in files for word in ("-o", file)]
    done = quick("run", "sub", "--gold", "gold", "--only", "a,c", "--github", *outputs, cwd=five)
    assert f"::notice::{PART} scored" in done.stdout
    for file in ("report.md", "report.html", "report.xml"):
        assert PART in (five / file).read_text(encoding="utf-8"), file
    report = json.loads((five / "report.json").read_text(encoding="utf-8"))
    assert (report["summary"]["n_gold"], report["gold"]["n_instances"]) == (2, 5)
    assert (five / "report.md").read_text(encoding="utf-8").splitlines()[0].endswith(f" · {PART}")
    whole = quick("run", "sub", "--gold", "gold", "--github", *outputs, cwd=five).stdout
    assert "of 5 instances" not in whole
    assert whole.splitlines()[-2] == "done: 40.0 % (no gate set)"
    green = quick("run", "sub", "--gold", "gold", "--github", "--no-save", cwd=five)
    red = quick("run", "sub", "--gold", "gold", "--github", "--no-save", "--fail-under", "0.9", cwd=five)
    assert (green.returncode, green.stdout.count("::error "), green.stdout.count("::warning ")) == (0, 0, 3)
    assert (red.returncode, red.stdout.count("::error "), red.stdout.count("::warning ")) == (1, 3, 0)


def test_what_a_limit_of_the_run_cut_off_is_part_of_what_was_asked_for(five: Path) -> None:
    """It counts 0 by name, the coverage is that of what was asked for, and the run verifies as far as it goes."""
    write_gold(five / "gold", **dict.fromkeys("abcde", check("table_match", gold="t.csv")))
    write_answers(five / "sub", *((name, "file", "t.csv") for name in "abcde"))
    for side in ("gold", "sub"):
        for name in "abcde":
            (five / side / name).mkdir(exist_ok=True)
            (five / side / name / "t.csv").write_text("n\n1\n2\n")
    done = called("run", "sub", "--gold", "gold", "--only", "a,c", "--limit", "run_bytes=1", "--jobs", "1", "--out", "cut", cwd=five)
    first, *_, last = done.stdout.splitlines()
    assert f"gold ({PART}) · sub" in first
    summary = json.loads((five / "cut" / "run.json").read_text())["summary"]
    n = summary["over_budget"]["run_bytes"]
    assert n == summary["counts"]["timeout"] > 0
    assert last == f"done: {(2 - n) * 50:.1f} %, {n} instance{'s' * (n > 1)} out of the run's budget (run_bytes) on {PART} (no gate set)"
    verified = called("verify", "cut", "--jobs", "1", cwd=five)
    assert (verified.returncode, f"are {PART} that gold needs" in verified.stdout) == (4, True)


N_TEXTS, N_ASKED = 5, 4


@copy_of
def place(folder: Path) -> None:
    """Gold of five texts and four questions for a judge that nobody set up; `a` and `b` differ only in what no judge has seen."""
    texts = {f"s{i}": check("string_match", gold=["Paris"]) for i in range(N_TEXTS)}
    judged = {f"j{i}": check("llm_judge", gold="Paris") for i in range(N_ASKED)}
    write_gold(folder / "gold", **texts, **judged)
    write_gold(folder / "judge_only", **judged)
    for name, text in (("a", "Paris"), ("b", "Rome")):
        judged_answers = {f"j{i}": text for i in range(N_ASKED)}
        text_submission(folder / name, **{f"s{i}": "Paris" if i < 4 else "Rome" for i in range(N_TEXTS)}, **judged_answers)
        text_submission(folder / f"{name}_judge", **judged_answers)


def lines(words: str, code: int = 0) -> list[str]:
    """The lines that a command prints, which ends with this code."""
    done = quick(*shlex.split(words), cwd=Path())
    assert done.returncode == code, (words, done)
    return done.stdout.splitlines()


def test_the_headline_is_the_mean_of_what_was_judged(place: Path) -> None:
    """What nobody judged moves no number; it is exit 4 unless that is allowed, and a gate that is not met comes first."""
    for name in ("a", "b"):
        lines(f"run {name} --gold gold -q", 4)
    first, second = (json.loads((folder / "run.json").read_text())["summary"] for folder in sorted((place / ".evalsuite/runs").iterdir()))
    assert first == second
    assert (first["score"], first["official"], first["strict"], first["n_judged"]) == (0.8, 0.8, 0.8, 5)
    listed = lines("runs list")
    assert len({line.partition("  ")[2] for line in listed}) == 1
    assert "official 80.0 %  strict 80.0 %  judged 5/9" in listed[0]
    shown = lines("run a --gold gold", 4)
    assert shown[-1] == "done: judged 5/9: 80.0 % (44.4-88.9 % over all 9), 4 unscored (exit 4)"
    assert any("judged 5/9: 80.0 % (44.4-88.9 % over all 9: 4 unscored)" in line for line in shown)
    assert lines("run a --gold gold -q --allow-unscored") == ["done: judged 5/9: 80.0 % (44.4-88.9 % over all 9) (no gate set)"]
    assert lines("run a --gold gold -q --allow-unscored --fail-on-unscorable", 4)[-1].endswith("4 unscored (exit 4)")
    assert lines("run a --gold gold -q --fail-under 0.9", 1)[-1].endswith("below the gate of 90.0 % (exit 1)")
    assert lines("run a --gold gold -q --fail-under 0.8", 4)[-1].endswith("4 unscored (exit 4)")


def test_nothing_judged_passes_no_gate(place: Path) -> None:
    """No score, interval, rank or gate of what nobody judged or has no value; faulty gold alone is exit 2, --invalid-as null or zero."""
    shown = lines("run a_judge --gold judge_only", 4)
    assert shown[-1].startswith("done: nothing judged (0 of 4)")
    assert "0.0 % [" not in "\n".join(shown)
    (folder,) = (place / ".evalsuite/runs").iterdir()
    summary = json.loads((folder / "run.json").read_text())["summary"]
    assert [summary[key] for key in ("score", "official", "strict", "interval_95", "se", "reference_ratio")] == [None] * 6
    assert lines("run a_judge --gold judge_only -q --fail-under 0 --no-save", 1)[-1].startswith("done: nothing judged (0 of 4)")
    assert "undecided" in lines(f"compare '{folder}' '{folder}' --fail-on-regression -q", 1)[-1]
    shown = lines("compare a b --gold gold --alpha 0.2 --fail-on-regression -q", 4)
    assert shown == ["done: no regression shown at alpha 0.2, but the gate depends on answers without a score: a, b (exit 4)"]
    board = as_json("leaderboard a_judge b_judge --gold judge_only --isolation none", code=4)
    assert [(row["rank"], row["score"], row["n_judged"]) for row in board["rows"]] == [(None, None, 0)] * 2
    checks = {f"s{i}": check("string_match", gold=["Paris"]) for i in range(4)} | {"w": check("specificity")}
    write_gold(place / "words", **checks)
    text_submission(place / "empty", **dict.fromkeys(checks, "Paris") | {"w": "!!!"})
    assert lines("run empty --gold words -q")[-1] == "done: judged 4/5: 100.0 % (80.0-100.0 % over all 5) (no gate set)"
    for i in (1, 2):
        lines(f"run empty --gold words -q --shard {i}/2 --out half{i}")
    for command in ("run empty --gold words -q --out {}", "merge half1 half2 -q --out {}"):
        folder = command.partition(" ")[0]
        assert lines(f"{command.format(f'{folder}1')} --fail-under 0.9", 4)[-1].endswith(", 1 unscored (exit 4)")
        assert lines(f"{command.format(f'{folder}2')} --fail-under 0.8")[-1].endswith("(gate 80.0 % met)")
        assert lines(f"{command.format(f'{folder}3')} --fail-under 0.9 --allow-unscored")[-1].endswith("(gate 90.0 % met)")
    text_submission(place / "full", **dict.fromkeys(checks, "Paris") | {"w": "A dog ate 5 red apples in Paris."})
    compared = "compare full empty --gold words -q --fail-under 0.9"
    last = "done: empty: the same on every compared instance, empty 100.0 %"
    assert lines(compared, 4) == [f"{last}, but the gate depends on answers without a score: empty (exit 4)"]
    assert lines(f"{compared} --allow-unscored") == [f"{last} (gate 90.0 % met)"]
    write_answers(place / "twice", *((id_, "answer", "!!!" if id_ == "w" else "Paris") for id_ in [*checks] * 2))
    sampled = "run twice --gold words -q --samples 2 --no-save --fail-under"
    assert lines(f"{sampled} 0.9", 4)[-1].endswith(", the mean of 2 samples, 2 unscored (exit 4)")
    assert lines(f"{sampled} 0.8")[-1].endswith("(gate 80.0 % met)")
    faulty = check("string_match", gold="Paris", cnj="or")
    write_gold(place / "faulty", s0=faulty)
    for options in ("", " --allow-unscored"):
        assert lines(f"run a --gold faulty -q{options}", 2) == ["done: nothing judged (0 of 1): gold is faulty in every instance (exit 2)"]
    write_gold(place / "faulty", s0=faulty, s1=check("string_match", gold="Paris"))
    lines("run a --gold faulty -q")
    assert "hint: known: null, zero" in said("run a --gold gold --invalid-as one", code=2)


def test_rescore_merge_and_boards_of_what_was_not_judged(place: Path) -> None:
    """Both exit 4 unless that is allowed; a board has a mean and no rank then, allowed it ranks over what all were judged on."""
    lines("run a --gold gold -q", 4)
    (folder,) = (place / ".evalsuite/runs").iterdir()
    shown = lines(f"rescore {folder.name} -q", 4)
    assert shown[-1] == "done: judged 5/9: 80.0 % (44.4-88.9 % over all 9), 0 of 9 verdicts changed, 4 unscored (exit 4)"
    assert lines(f"rescore {folder.name} -q --allow-unscored")
    for i in (1, 2):
        lines(f"run a --gold gold -q --shard {i}/2 --out part{i} --allow-unscored")
    assert lines("merge part1 part2 --out whole -q", 4)[-1].endswith("from 2 shards, 4 unscored (exit 4)")
    assert lines("merge part1 part2 --out whole -q --fail-under 0.9", 1)[-1].endswith("below the gate of 90.0 % (exit 1)")
    assert lines("merge part1 part2 --out whole -q --fail-under 0.5 --allow-unscored")[-1].endswith("(gate 50.0 % met)")
    board = as_json("leaderboard a b --gold gold --isolation none", code=4)
    assert [(row["rank"], row["score"], row["score_low"], row["score_high"]) for row in board["rows"]] == [(None, 0.8, 4 / 9, 8 / 9)] * 2
    shown = lines("leaderboard a b --gold gold", 4)
    assert shown[-1] == "done: 0 submissions ranked (0 new, 2 reused), 2 not ranked: not all was judged (exit 4)"
    board = as_json("leaderboard a b --gold gold --allow-unscored --isolation none")
    assert [(row["rank"], row["score"]) for row in board["rows"]] == [(1, 0.8)] * 2
    assert board["notes"] == ["ranked over the 5 of 9 instances on which each of them was judged"]
