"""`evalsuite run` as a person uses it: real folders, real exit codes, exact messages."""

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from tests.command_server import command_server
from tests.conftest import ROOT
from tests.processes import finished

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


def text_gold(folder: Path, **answers: str) -> Path:
    """A gold folder of string_match instances."""
    rows = [{"instance_id": key, "evaluation": {"func": "string_match", "parameters": {"gold": text}}} for key, text in answers.items()]
    write_lines(folder / "toy_eval.jsonl", *rows)
    return folder


def text_submission(folder: Path, **answers: str) -> Path:
    """A submission folder of text answers."""
    rows = [{"instance_id": key, "answer_type": "answer", "answer_or_path": text} for key, text in answers.items()]
    write_lines(folder / "results_metadata.jsonl", *rows)
    return folder


@pytest.fixture
def toy(tmp_path: Path) -> tuple[Path, Path]:
    """(submission, gold): three instances, one right, one wrong, one not handed in."""
    gold = text_gold(tmp_path / "gold", a="Paris", b="Rome", c="Oslo")
    return text_submission(tmp_path / "sub", a="It is Paris", b="It is Bern"), gold


def test_example_is_scored() -> None:
    """The README's main command prints a row for each instance that is not right, counts the others, and ends with the block of numbers
    and a last line that agrees with exit code 0.
    """
    line = ["evaluate.py", "--result_dir", "example_submission_folder", "--gold_dir", "gold", "--no-save", "--no-cache"]
    done = finished([sys.executable, *line], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if re.match(r" [a-z]+_\d{3} ", line)]
    assert len(rows) == 19
    assert not lacks(done.stdout, "21 more, right under every rule that judged them", "reference ratio")
    assert done.stdout.strip().splitlines()[-1].startswith("done: ")


def test_results_have_the_documented_keys(toy: tuple[Path, Path], tmp_path: Path) -> None:
    """results.jsonl holds one object per gold instance in gold order with the documented order of keys."""
    out = tmp_path / "run"
    assert called("run", toy[0], "--gold", toy[1], "--out", out).returncode == 0
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert [row["instance_id"] for row in rows] == ["a", "b", "c"]
    expected = ["instance_id", "status", "score", "official", "strict", "scorer", "reason", "fault", "details", "seconds"]
    assert all(list(row) == expected for row in rows)
    assert (rows[2]["status"], rows[2]["fault"], rows[2]["score"]) == ("missing", "MISSING_INSTANCE", 0)
    run = json.loads((out / "run.json").read_text())
    assert {"schema_version", "signature", "options", "submission", "gold", "summary"} <= set(run)


def test_two_runs_are_equal_but_for_seconds(toy: tuple[Path, Path], tmp_path: Path) -> None:
    """Two runs on equal input write the same results.jsonl, seconds left out."""

    def rows(out: Path) -> list[str]:
        called("run", toy[0], "--gold", toy[1], "--out", out)
        return [line.rpartition('"seconds"')[0] for line in (out / "results.jsonl").read_text().splitlines()]

    first = rows(tmp_path / "one")
    assert first == rows(tmp_path / "two")
    assert len(first) == 3


def test_out_replaces_a_run_and_refuses_other_folders(toy: tuple[Path, Path], tmp_path: Path) -> None:
    """--out is the run folder itself: an earlier run is replaced, a folder with other things in it is refused and left alone."""
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


def test_quiet_prints_the_last_line_only(toy: tuple[Path, Path]) -> None:
    """--quiet prints one line, the same that ends the report."""
    assert quick("run", toy[0], "--gold", toy[1], "--no-save", "--quiet").stdout == "done: 33.3 % (no gate set)\n"


@pytest.mark.parametrize(("gate", "code", "line"), [("0.3", 0, "(gate 30.0 % met)"), ("0.34", 1, "below the gate of 34.0 % (exit 1)")])
def test_gate(toy: tuple[Path, Path], gate: str, code: int, line: str) -> None:
    """--fail-under decides between exit 0 and 1, and the last line says so."""
    done = quick("run", toy[0], "--gold", toy[1], "--no-save", "--quiet", "--fail-under", gate)
    assert (done.returncode, line in done.stdout) == (code, True)


def test_gate_of_the_suite(toy: tuple[Path, Path]) -> None:
    """fail_under in suite.yaml is the gate where the command line sets none; one of the command line counts, also a gate of 0."""
    (toy[1] / "suite.yaml").write_text("fail_under: 0.9\n")
    run = "run", toy[0], "--gold", toy[1], "--no-save", "--quiet"
    assert [quick(*run, *gate).returncode for gate in ([], ["--fail-under", "0"], ["--fail-under", "0.3"])] == [1, 0, 0]


def test_strict_gate_counts_warnings(toy: tuple[Path, Path]) -> None:
    """--strict makes a warning exit 1, here an id that gold does not have; a missing answer is neither a warning nor a fault."""
    assert quick("run", toy[0], "--gold", toy[1], "--no-save", "--strict", "--quiet").returncode == 0
    with (toy[0] / "results_metadata.jsonl").open("a") as lines:
        lines.write('{"instance_id": "zzz", "answer_type": "answer", "answer_or_path": "x"}\n')
    assert quick("run", toy[0], "--gold", toy[1], "--no-save").returncode == 0
    done = quick("run", toy[0], "--gold", toy[1], "--no-save", "--strict", "--quiet")
    assert (done.returncode, "1 warning" in done.stdout) == (1, True)


def test_nothing_handed_in(toy: tuple[Path, Path], tmp_path: Path) -> None:
    """An empty metadata file writes a run with every row missing and exits 5."""
    (toy[0] / "results_metadata.jsonl").write_text("")
    done = called("run", toy[0], "--gold", toy[1], "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 5
    rows = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["missing"] * 3


def test_selection(toy: tuple[Path, Path]) -> None:
    """--only, --filter and --group choose instances; an unknown id or group is an error with a hint."""

    def count(*arguments: str) -> int:
        done = quick("run", toy[0], "--gold", toy[1], "--json", "--no-save", *arguments)
        return int(json.loads(done.stdout)["summary"]["n_gold"])

    (toy[1] / "suite.yaml").write_text("groups:\n  capitals: [a, b]\n")
    assert (count("--only", "a,c"), count("--filter", "[ab]"), count("--group", "capitals")) == (2, 2, 2)
    unknown = quick("run", toy[0], "--gold", toy[1], "--only", "aa")
    assert (unknown.returncode, "error: no instance 'aa' in gold" in unknown.stderr) == (2, True)
    group = quick("run", toy[0], "--gold", toy[1], "--group", "capital")
    assert "hint: did you mean 'capitals'?" in group.stderr


def test_hostile_text_cannot_touch_the_terminal(tmp_path: Path) -> None:
    """Escape sequences, markup and line ends of an answer's metadata come out as visible escapes."""
    gold = text_gold(tmp_path / "gold", a="Paris")
    sub = tmp_path / "sub"
    write_lines(sub / "results_metadata.jsonl", {"instance_id": "a", "answer_type": "file", "answer_or_path": "\x1b[2J[red]x\n\u202e.csv"})
    shown = quick("run", sub, "--gold", gold, "--no-save").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_check_shows_one_instance(toy: tuple[Path, Path]) -> None:
    """`check ID` names the verdicts, the reason, the answer and gold's line; --json gives the line of results.jsonl."""
    shown = called("check", "a", "--result_dir", toy[0], "--gold_dir", toy[1]).stdout
    assert all(word in shown for word in ("official", "string_match", "toy_eval.jsonl:1", "It is Paris"))
    row = json.loads(called("check", "b", "--result_dir", toy[0], "--gold_dir", toy[1], "--json").stdout)
    assert (row["instance_id"], row["score"]) == ("b", 0)


def test_extra_gold_keys_are_shown_not_blamed(tmp_path: Path) -> None:
    """Further top-level keys of a gold entry are kept and shown by check, and are never a fault."""
    row = {"instance_id": "a", "instruction": "Capital of France?", "evaluation": {"func": "string_match", "parameters": {"gold": "Paris"}}}
    write_lines(tmp_path / "gold" / "toy_eval.jsonl", row)
    sub = text_submission(tmp_path / "sub", a="Paris")
    shown = called("check", "a", "--result_dir", sub, "--gold_dir", tmp_path / "gold").stdout
    assert "Capital of France?" in shown
    assert quick("run", sub, "--gold", tmp_path / "gold", "--no-save", "--strict", "--quiet").returncode == 0


def test_unknown_parameter_is_the_instances_gold_fault(tmp_path: Path) -> None:
    """A misspelled parameter makes official unjudgeable with a "did you mean"; the other instances score."""
    rows = [
        {"instance_id": "a", "evaluation": {"func": "string_match", "parameters": {"gold": "Paris", "exlude": ["x"]}}},
        {"instance_id": "b", "evaluation": {"func": "string_match", "parameters": {"gold": "Rome"}}},
    ]
    write_lines(tmp_path / "gold" / "toy_eval.jsonl", *rows)
    sub = text_submission(tmp_path / "sub", a="Paris", b="Rome")
    run = json.loads(quick("run", sub, "--gold", tmp_path / "gold", "--json", "--no-save").stdout)
    assert (run["summary"]["counts"]["gold_fault"], run["summary"]["counts"]["scored"]) == (1, 1)
    assert (run["summary"]["score_low"], run["summary"]["score_high"]) == (0.5, 1.0)
    assert any("did you mean 'exclude'?" in warning for warning in run["warnings"])


def test_module_and_shim_and_script_are_one(toy: tuple[Path, Path]) -> None:
    """`python -m evalsuite run`, `evaluate.py` and both spellings of options print the same."""
    unsaved = ("--no-save", "--no-cache")
    first = evalsuite("run", toy[0], "--gold", toy[1], *unsaved).stdout
    second = called("run", "--result-dir", toy[0], "--gold_dir", toy[1], *unsaved).stdout
    shim = [sys.executable, str(ROOT / "evaluate.py"), "--result_dir", str(toy[0]), "--gold-dir", str(toy[1]), *unsaved]
    assert first == second == finished(shim).stdout


@pytest.mark.parametrize("answer", ["1,50", "1,6"])
def test_files_in_another_dialect(tmp_path: Path, answer: str) -> None:
    """`delimiter`, `encoding` and `decimal` are parameters of table_match and tables_match, for gold and for the answer."""
    dialect = {"delimiter": ";", "encoding": "latin-1", "decimal": ","}
    checks = {"one": ("table_match", "g.csv", {}), "two": ("tables_match", ["g.csv", "g.csv"], {})}
    for id_, (scorer, gold, more) in checks.items():
        row = {"instance_id": id_, "evaluation": {"func": scorer, "parameters": {"gold": gold, **dialect, **more}}}
        (tmp_path / "gold" / id_).mkdir(parents=True)
        (tmp_path / "gold" / id_ / "g.csv").write_bytes("straße;wert\nKöln;1,5\nBonn;2\n".encode("latin-1"))
        (tmp_path / "sub" / id_).mkdir(parents=True)
        (tmp_path / "sub" / id_ / "a.csv").write_bytes(f"straße;wert\nKöln;{answer}\nBonn;2\n".encode("latin-1"))
        with (tmp_path / "gold" / "toy_eval.jsonl").open("a", encoding="utf-8") as handle:
            handle.write(json.dumps(row) + "\n")
    files = {"one": "a.csv", "two": ["a.csv", "a.csv"]}
    kinds = {"one": "file", "two": "files"}
    rows = [{"instance_id": id_, "answer_type": kinds[id_], "answer_or_path": file} for id_, file in files.items()]
    write_lines(tmp_path / "sub" / "results_metadata.jsonl", *rows)
    run = json.loads(called("run", tmp_path / "sub", "--gold", tmp_path / "gold", "--json", "--no-save").stdout)
    score = 1.0 if answer == "1,50" else 0.0
    assert (run["summary"]["official"], run["summary"]["strict"]) == (score, score)
