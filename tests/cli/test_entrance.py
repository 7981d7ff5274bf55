"""The first minutes: `evalsuite THING ...` recognises what a person has; `--help`, completion, `doctor`, `init` and `example`."""

import csv
import json
import os
import re
import shlex
import shutil
import sqlite3
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.cli import main
from evalsuite.cli.commands import COMMANDS, GROUPS, OPTIONS, grouped_name, page, plain_name
from evalsuite.cli.options import Option, Spread
from evalsuite.cli.parser import SECTIONS, HelpCommand, build, for_typer, leaves, load_command
from evalsuite.core.errors import EXIT_OK, EXIT_USAGE
from evalsuite.gold.layouts import read_gold
from evalsuite.sandbox.linux_layers import can_filter, landlock_version
from evalsuite.sandbox.program_sandbox import can_sandbox_programs
from evalsuite.suites import recognition
from evalsuite.suites.recognition import recognise
from tests.cli.test_run import as_json, called, lacks, said, text_gold, text_submission, write_lines
from tests.command_server import command_server
from tests.conftest import ROOT, copy_of
from tests.processes import finished
from tests.properties import examples
from tests.terminal.pty_harness import EVALSUITE, run

pytestmark = pytest.mark.usefixtures("shared_fork_server")


QUERY = "SELECT name FROM city"


def _table(path: Path, header: list[str], *rows: list[object]) -> None:
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([header, *rows])


def _database(path: Path, *names: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE city (name TEXT)")
    connection.executemany("INSERT INTO city VALUES (?)", [(name,) for name in names])
    connection.commit()
    connection.close()


def _bird(folder: Path, gold_name: str, databases: str) -> None:
    _database(folder / databases / "geo" / "geo.sqlite", "Paris", "Lyon")
    (folder / gold_name).write_text(f"{QUERY}\tgeo\n{QUERY} WHERE name = 'Lyon'\tgeo\n", encoding="utf-8")


def _lite(folder: Path, *names: str) -> None:
    """Write a checkout's suite with one CSV of gold an id."""
    gold = folder / "evaluation_suite" / "gold"
    (gold / "exec_result").mkdir(parents=True)
    write_lines(gold / "spider2lite_eval.jsonl", *({"instance_id": name, "condition_cols": [], "ignore_order": True} for name in names))
    for name in names:
        _table(gold / "exec_result" / f"{name}.csv", ["a"], [1])


def _odd_forms(folder: Path) -> None:
    """Write the same things as other people have them: other endings, encodings and delimiters, packed, in folders of folders."""
    for name in ("one", "two"):
        text = (folder / f"{name}.csv").read_text(encoding="utf-8")
        (folder / f"{name}_semicolons.CSV").write_text(text.replace(",", ";"), encoding="utf-8")
        (folder / f"{name}_utf16.csv").write_text(text, encoding="utf-16")
        (folder / f"{name}_bare").write_text(text, encoding="utf-8")
        shutil.copy(folder / f"flat_{name}.jsonl", folder / f"flat_{name}.ndjson")
        shutil.copytree(folder / name, folder / f"deep_{name}" / "out" / "json")
        (folder / f"deep_{name}" / "README.md").write_text("# records", encoding="utf-8")
        (folder / f"alone_{name}").mkdir()
        shutil.copy(folder / f"{name}.csv", folder / f"alone_{name}" / "t.csv")
    shutil.copytree(folder / "sub", folder / "deep_sub" / "my answers" / "sub")
    shutil.copytree(folder / "sub", folder / "project" / "sub")
    shutil.copytree(folder / "gold", folder / "project" / "gold")
    for i in range(2):
        shutil.copytree(folder / "sub", folder / "teams" / f"team{i}")
    (folder / "latin.csv").write_text("question,answer,gpt\ncafé,1,1\n", encoding="latin-1")
    (folder / "lines.json").write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    (folder / "frage.csv").write_text("Frage,Lösung,Modell\nx,4,4\n", encoding="utf-8")
    shutil.make_archive(str(folder / "packed_xz"), "xztar", folder / "sub")
    (folder / "link").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")


@copy_of
def things(folder: Path) -> None:
    """Provide one thing of each kind in the working folder."""
    text_gold(folder / "gold", a="Paris", b="Rome")
    text_submission(folder / "sub", a="Paris", b="Oslo")
    text_submission(folder / "sub2", a="Paris", b="Rome")
    shutil.make_archive("packed", "zip", "sub")
    shutil.make_archive("packed", "gztar", "sub")
    for name, total in (("one", 5), ("two", 6)):
        (folder / name).mkdir()
        for i in range(3):
            record = {"vendor": f"v{i}", "lines": [{"sku": "x", "n": total if i == 1 else i}]}
            (folder / name / f"r{i}.json").write_text(json.dumps(record), encoding="utf-8")
        write_lines(folder / f"{name}.jsonl", *(json.loads(file.read_text()) for file in sorted((folder / name).iterdir())))
        write_lines(folder / f"flat_{name}.jsonl", {"a": 1, "b": total}, {"a": 2, "b": 3})
        (folder / f"flat_{name}.json").write_text(json.dumps([{"a": 1, "b": total}]), encoding="utf-8")
        _table(folder / f"{name}.csv", ["region", "revenue"], ["EMEA", total], ["APAC", 3])
        (folder / f"{name}.tsv").write_text(f"region\trevenue\nEMEA\t{total}\n", encoding="utf-8")
        _database(folder / f"{name}.sqlite", "Paris", str(total))
    _table(
        folder / "answers.csv", ["id", "question", "answer", "gpt", "claude"], [1, "2+2?", 4, 4, 5], [2, "capital", "Rome", "Oslo", "Rome"]
    )
    _table(folder / "one_model.csv", ["prompt", "ground_truth", "response"], ["2+2?", 4, 4], ["3+3?", 6, 7])
    sample = {"doc": {}, "target": "4", "arguments": [["2+2", {}]], "resps": [["4"]]}
    samples = [{**sample, "doc_id": i, "filtered_resps": [str(i)], "exact_match": i % 2} for i in range(4)]
    write_lines(folder / "sample_one.jsonl", *samples)
    row = {"provider": {"id": "p"}, "prompt": {"raw": "q", "label": "q"}, "testIdx": 0, "success": True, "score": 1, "vars": {}}
    write_lines(folder / "foo.json", {"results": {"results": [{**row, "response": {"output": "x"}}]}})
    _bird(folder / "bird", "dev_gold.sql", "dev_databases")
    _bird(folder / "spider", "dev_gold.sql", "database")
    (folder / "predicted.json").write_text(json.dumps({"0": f"{QUERY}\t----- bird -----\tgeo", "1": QUERY}), encoding="utf-8")
    (folder / "predicted.txt").write_text(f"{QUERY}\n{QUERY}\n", encoding="utf-8")
    _lite(folder / "checkout" / "spider2-lite", "local001", "bq001")
    _lite(folder / "checkout" / "spider2-snow", "sf001", "sf002")
    (folder / "snow_answers").mkdir()
    _table(folder / "snow_answers" / "sf001.csv", ["a"], [1])
    (folder / "notes.md").write_text("# notes\n", encoding="utf-8")
    _odd_forms(folder)
    said("run sub --out saved --quiet")
    shutil.copytree("saved", "saved2")


LITE_GOLD = "checkout/spider2-lite/evaluation_suite/gold"
SNOW_GOLD = "checkout/spider2-snow/evaluation_suite/gold"
# (things, kind, the commands that would be run, or that are proposed).
RECOGNISED = [
    ("sub", "submission", ["run sub --gold gold"]),
    ("sub/results_metadata.jsonl", "submission", ["run sub --gold gold"]),
    ("gold sub", "submission", ["run sub --gold gold"]),
    ("sub ./gold", "submission", ["run sub --gold ./gold"]),
    ("sub sub2 gold", "submission", ["compare sub sub2 --gold gold"]),
    ("sub sub2", "submission", ["compare sub sub2 --gold gold"]),
    ("./gold", "gold", ["gold check ./gold", "gold lint ./gold"]),
    ("packed.zip", "archive", ["run packed.zip --gold gold"]),
    ("packed.tar.gz gold", "archive", ["run packed.tar.gz --gold gold"]),
    ("one two", "records", ["explain one two"]),
    ("one.jsonl two.jsonl", "records", ["explain one.jsonl two.jsonl"]),
    ("one/r1.json two/r1.json", "records", ["explain one/r1.json two/r1.json"]),
    ("one", "records", ["explain RIGHT one"]),
    ("flat_one.jsonl flat_two.jsonl", "table", ["explain flat_one.jsonl flat_two.jsonl"]),
    ("flat_one.json flat_two.json", "table", ["explain flat_one.json flat_two.json"]),
    ("one.csv two.csv", "table", ["explain one.csv two.csv"]),
    ("one.csv two.tsv", "table", ["explain one.csv two.tsv"]),
    ("one.sqlite two.sqlite", "table", ["explain one.sqlite two.sqlite"]),
    ("one.csv", "table", ["explain RIGHT.csv one.csv", "suite try one.csv --input COLUMN --reference COLUMN --candidate COLUMN"]),
    ("answers.csv", "candidates", ["suite try answers.csv --input question --reference answer --candidate gpt --candidate claude"]),
    ("one_model.csv", "candidates", ["suite try one_model.csv --input prompt --reference ground_truth --candidate response"]),
    ("sample_one.jsonl", "log", ["runs import sample_one.jsonl --compare"]),
    ("foo.json", "log", ["runs import foo.json --compare"]),
    ("foo.json sample_one.jsonl", "log", ["runs import foo.json sample_one.jsonl --compare"]),
    ("saved", "run", ["report saved"]),
    ("saved/run.json", "run", ["report saved"]),
    ("saved saved2", "run", ["compare saved saved2"]),
    ("bird predicted.json", "checkout", ["run predicted.json --gold bird/dev_gold.sql --databases bird/dev_databases"]),
    ("predicted.txt spider", "checkout", ["run predicted.txt --gold spider/dev_gold.sql --rules test-suite --databases spider/database"]),
    ("predicted.json bird/dev_gold.sql", "sql_pairs", ["run predicted.json --gold bird/dev_gold.sql --databases bird/dev_databases"]),
    ("checkout", "checkout", [f"gold check {LITE_GOLD}", f"gold check {SNOW_GOLD}"]),
    ("checkout snow_answers", "checkout", [f"run snow_answers --gold {SNOW_GOLD}"]),
    ("checkout/spider2-lite/evaluation_suite", "checkout", [f"gold check {LITE_GOLD}"]),
    ("notes.md", "unknown", []),
    ("one_semicolons.CSV two_semicolons.CSV", "table", ["explain one_semicolons.CSV two_semicolons.CSV"]),
    ("one_utf16.csv two_bare", "table", ["explain one_utf16.csv two_bare"]),
    ("flat_one.ndjson flat_two.jsonl", "table", ["explain flat_one.ndjson flat_two.jsonl"]),
    ("deep_one deep_two", "records", ["explain deep_one/out/json deep_two/out/json"]),
    ("one deep_two", "records", ["explain one deep_two/out/json"]),
    ("one two.jsonl", "records", ["explain one two.jsonl"]),
    ("alone_one alone_two", "table", ["explain alone_one/t.csv alone_two/t.csv"]),
    ("two.csv right_one.csv", "table", ["explain right_one.csv two.csv"]),
    ("one.csv two.csv right_one.csv", "table", ["explain right_one.csv one.csv", "explain right_one.csv two.csv"]),
    ("deep_sub", "submission", ["run 'deep_sub/my answers/sub' --gold gold"]),
    ("project", "submission", ["run project/sub --gold project/gold"]),
    ("teams", "submission", ["leaderboard teams --gold gold"]),
    ("teams ./gold", "submission", ["leaderboard teams --gold ./gold"]),
    ("gold teams", "submission", ["leaderboard teams --gold gold"]),
    ("saved saved2/results.jsonl", "run", ["compare saved saved2"]),
    ("latin.csv", "unknown", ["!iconv -f LATIN1 -t UTF-8 latin.csv > latin.utf8.csv", "latin.utf8.csv"]),
    ("lines.json", "unknown", ["!cp lines.json lines.jsonl", "lines.jsonl"]),
    ("frage.csv", "table", ["suite try frage.csv --input Frage --reference Lösung --candidate Modell", "explain RIGHT.csv frage.csv"]),
    (
        "packed_xz.tar.xz gold",
        "archive",
        ["!mkdir packed_xz_unpacked && tar -xf packed_xz.tar.xz -C packed_xz_unpacked", "packed_xz_unpacked"],
    ),
    ("gold two.csv", "unknown", ["gold check gold", "explain RIGHT.csv two.csv"]),
    ("link", "unknown", []),
    ("loop", "unknown", []),
    ("notes.md one.csv", "unknown", ["what notes.md", "explain RIGHT.csv one.csv"]),
]


def test_each_kind_is_recognised(things: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and folders alone and in pairs, in any order: their kind, and the commands with all options; read here, not in workers."""
    monkeypatch.setattr(recognition, "_look_inside_in_worker", lambda path: recognition.look_inside(str(path.absolute())))
    shutil.copy("one.csv", "right_one.csv")
    for words, kind, commands in RECOGNISED:
        told = as_json("what", *words.split())
        assert told["kind"] == kind, words
        lines = [line.removeprefix("evalsuite ") if line.startswith("evalsuite ") else f"!{line}" for line in told["would_run"]]
        assert [shlex.join(shlex.split(line)) if line[0] != "!" else line for line in lines] == [
            shlex.join(shlex.split(line)) if line[0] != "!" else line for line in commands
        ], words


@pytest.mark.parametrize(
    ("words", "code", "command", "last"),
    [
        (["sub"], 0, "run sub --gold gold", "done: 50.0 % (no gate set)"),
        (["packed.zip"], 0, "run packed.zip --gold gold", "done: 50.0 % (no gate set)"),
        (["./gold"], 0, "gold check ./gold", None),
        (["one", "two"], 1, "explain one two", "different (exit 1)"),
        (["one.csv", "one.csv"], 0, "explain one.csv one.csv", "equal"),
        (["answers.csv"], 0, "suite try answers.csv --input question --reference answer --candidate gpt --candidate claude", None),
        (["saved", "saved2"], 0, "compare saved saved2", None),
        (["bird", "predicted.json"], 0, "run predicted.json --gold bird/dev_gold.sql --databases bird/dev_databases", None),
        (["checkout", "snow_answers"], 0, f"run snow_answers --gold {SNOW_GOLD}", "done: 50.0 % (no gate set)"),
        (["sample_one.jsonl"], 0, "runs import sample_one.jsonl --compare", None),
    ],
)
def test_the_command_is_printed_and_run(things: Path, words: list[str], code: int, command: str, last: str | None) -> None:
    """The full command comes first, then its own output and exit code; comparisons fit 25 lines, all else 40."""
    lines = said(*words, code=code).splitlines()
    assert len(lines) <= (25 if command.startswith(("suite try", "compare", "gold")) else 40)
    assert lines[0] == f"$ evalsuite {command}"
    assert last is None or lines[-1] == last


def test_what_is_not_clear_ends_with_commands(things: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON stays alone on stdout, a command's name goes before a path, archives are unpacked, no plugin is run unasked; else exit 2."""
    capsys.readouterr()
    assert main(["sub", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["summary"]["score"] == 0.5
    assert shown.err.startswith("$ evalsuite run sub --gold gold --json")
    assert (
        said("answers.csv --candidate claude").splitlines()[0]
        == "$ evalsuite suite try answers.csv --input question --reference answer --candidate claude"
    )
    assert "Usage: evalsuite gold" in called("gold", cwd=Path()).stdout
    for name in ("one", "two"):
        shutil.make_archive(f"records_{name}", "zip", name)
    with zipfile.ZipFile("outer.zip", "w") as archive:
        archive.write("packed.zip")
    shutil.make_archive("gold_packed", "zip", "gold")
    (things / "gold" / "scorers.py").write_text("raise SystemExit(9)\n", encoding="utf-8")
    shutil.make_archive("gold_with_code", "zip", "gold")
    (things / "gold" / "scorers.py").unlink()
    for words, code, why in (
        ("records_one.zip records_two.zip", 1, "different (exit 1)"),
        ("outer.zip gold", 0, "done: 50.0 % (no gate set)"),
        ("sub gold_packed.zip", 0, "done: 50.0 % (no gate set)"),
        ("sub gold_with_code.zip", 2, "has plugins, which are executed: name it if you trust it"),
        ("sub packed.zip", 0, "the same on every compared instance (no gate set)"),
    ):
        assert why in said(words, code=code)
    shutil.rmtree("gold")
    for words, why in {
        "one.csv": "evalsuite explain RIGHT.csv one.csv; or evalsuite suite try one.csv",
        "sub": "evalsuite run sub --gold GOLD; or evalsuite validate sub",
        "notes.md": "cannot tell what notes.md is",
        "sub nowhere": "no such file or folder: 'nowhere'",
        "rnu": "did you mean 'run'?",
    }.items():
        assert why in said(words, code=2)


def test_bytes_decide_and_what_a_checkout_lacks(things: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever their names, things are what their bytes say; of a checkout shares over all, what can be scored, and what cannot run."""
    with tarfile.open("plain.bin", "w") as archive:
        archive.add("sub")
    with zipfile.ZipFile("run.eval", "w") as archive:
        archive.writestr("header.json", "{}")
    shutil.copy("one.sqlite", "data.bin")
    (things / "broken.json").write_text('{"a": ', encoding="utf-8")
    (things / "empty.jsonl").write_text("", encoding="utf-8")
    kinds = {"plain.bin": "archive", "run.eval": "log", "data.bin": "table", "broken.json": "unknown", "empty.jsonl": "unknown"}
    assert {name: as_json(f"what {name}")["kind"] for name in kinds} == kinds
    gold = things / "checkout" / "spider2-lite" / "evaluation_suite" / "gold"
    absent = [f"bq1{i:02}" for i in range(12)]
    lines = (gold / "spider2lite_eval.jsonl").read_text(encoding="utf-8").splitlines()
    write_lines(
        gold / "spider2lite_eval.jsonl",
        *map(json.loads, lines),
        *({"instance_id": name, "condition_cols": [], "ignore_order": True} for name in absent),
    )
    (things / "tables").mkdir()
    _table(things / "tables" / "local001.csv", ["a"], [1])
    out = " ".join(said("checkout tables").split())
    n = len(lines)
    assert f"leaderboard 1/{n + 12} = {100 / (n + 12):.1f} % over all · 1/1 = 100.0 % over submitted · 1/{n} = " in out
    assert f"gold is absent {', '.join(absent[:8])} and 4 more" in out
    assert out.count("(put the accepted table") == 1
    assert "(and 11 more like it)" in out
    write_lines(
        things / "checkout" / "spider2-lite" / "spider2-lite.jsonl",
        *({"instance_id": name, "db": "geo", "question": "how many?"} for name in ("local001", "bq001")),
    )
    (things / "queries").mkdir()
    for name in ("local001", "bq001"):
        (things / "queries" / f"{name}.sql").write_text("SELECT 1", encoding="utf-8")
    capsys.readouterr()
    assert main(["checkout", "queries"]) == 4
    shown = capsys.readouterr()
    assert shown.out.startswith(f"$ evalsuite run queries --gold {LITE_GOLD}\n")
    assert "note: 0 of 2 queries can run here; 1 needs an account (bigquery), 1 lacks its database (geo): --databases DIR" in shown.err


EVERY_COMMAND = [leaf for name in COMMANDS for leaf in leaves(load_command(name), name)]


@pytest.mark.parametrize(("name", "command"), [pytest.param(*leaf, id=leaf[0]) for leaf in EVERY_COMMAND])
def test_help_of_every_command(name: str, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most twelve options in `--help`, in sections; `--help-all` lists all; two examples, which the parser accepts; no twins."""
    context = command.make_context(f"evalsuite {name}", [], resilient_parsing=True)
    short = command.get_help(context)
    monkeypatch.setattr(HelpCommand, "everything", True)
    whole = command.get_help(context)
    titles = re.findall(r"^(\w+):(?!.)", short, re.MULTILINE)
    assert set(titles) <= {"Examples", "Arguments", *SECTIONS, "Options"}
    shown = [line for line in short.splitlines() if re.match(r"  --?[a-z]", line) and "--help" not in line]
    assert len(shown) <= 12
    assert not re.search(r"--[a-z]+(_|-column|-dir, --)", "\n".join(line[:40] for line in shown))
    assert all(option.opts[0] in whole for option in command.params if option.opts[0].startswith("-") and not option.hidden)
    examples = [shlex.split(line.partition(" | ")[0]) for line in re.findall(r"^  evalsuite (.*)$", short, re.MULTILINE)]
    known = grouped_name(plain_name(name)).split()
    assert [words[: len(known)] for words in examples] == [known, known]
    for words in examples:
        command.make_context(name, words[len(known) :])


def test_archives_and_boards(things: Path) -> None:
    """Commands about an instance take an archive for a submission, as `run` does; a board names what is probably meant, each name once."""
    for command in ("check b", "explain b", "runs bundle b"):
        assert "Oslo" in said(f"{command} --result-dir packed.zip --gold gold"), command
    said("run sub --gold gold --out made -q")
    assert "made matches its claims: yes" in said("runs verify made --result-dir packed.tar.gz")
    assert "nowhere.zip: no such submission folder" in said("runs verify made --result-dir nowhere.zip", code=2)
    # A run of an archive names the archive, and what reads it again if its unpacked files are gone.
    said("run packed.zip --gold gold --out of_zip -q")
    assert " packed.zip is as it was submitted" in said("runs verify of_zip")
    for command in ("runs verify of_zip", "runs rescore of_zip", "explain b --run of_zip", "check b --run of_zip"):
        shutil.rmtree(".evalsuite/cache")
        assert not lacks(said(command, code=2), "the unpacked files of packed.zip are gone", "--result-dir packed.zip"), command
        said(f"{command} --result-dir packed.zip")
    shutil.copytree("sub", "teams/nested/answers")
    shutil.copytree("sub", "teams/text")
    Path("teams/text/results_metadata.jsonl").rename("teams/text/results_metadata.jsonl.txt")
    faults = {row["name"]: row["fault"] for row in as_json("leaderboard teams --gold gold --isolation none", code=1)["rows"]}
    assert faults["nested"].endswith("; did you mean 'nested/answers'?")
    assert faults["text"] == "found results_metadata.jsonl.txt, expected results_metadata.jsonl"
    said("leaderboard teams --gold gold --site board --isolation none", code=1)
    assert "did you mean 'board/submissions/team0-" in said("runs verify board/submissions/team0.json", code=2)


@pytest.mark.parametrize(
    ("names", "word", "kind", "why"),
    [
        (["RESULTS_METADATA.JSONL"], "RESULTS_METADATA.JSONL", "submission", ""),
        (["run.json", "RESULTS.JSONL"], "RESULTS.JSONL", "run", ""),
        (["A.JSON", "B.JSON"], "", "records", ""),
        (["LOG.JSONL", "OTHER.JSONL"], "", "log", ""),
        (["Q.CSV"], "Q.CSV", "table", ""),
        (["X_EVAL.JSONL", "y.bin"], "", "unknown", "it contains X_EVAL.JSONL; names of gold and of answers end in lower case"),
        (["a.SQL", "y.bin"], "", "unknown", "it contains a.SQL; names of gold and of answers end in lower case"),
        (["x.bin", "y.bin"], "", "unknown", ""),
    ],
)
def test_capitals_in_names(tmp_path: Path, names: list[str], word: str, kind: str, why: str) -> None:
    """Files in capitals are what they are in small letters, or it is said that only those will do."""
    row = {"doc_id": 1, "doc": {}, "target": "4", "arguments": [["2+2", {}]], "resps": [["4"]], "filtered_resps": ["4"], "exact_match": 1}
    texts = {"LOG.JSONL": json.dumps(row), "Q.CSV": "Select a,b\n1,2\n"}
    for name in names:
        (tmp_path / name).write_text(texts.get(name, '{"a": {"b": [1]}}\n'), encoding="utf-8")
    found = recognise(tmp_path / word)
    assert (found.kind, (found.facts or {}).get("why", "")) == (kind, why)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_page(width: int) -> None:
    """Every command, option and word of a summary stands there, in lines no wider than the terminal."""
    shown = page(width, everything=True)
    assert max(map(len, (shown + page(width)).splitlines())) <= width
    words = set(shown.split())
    assert all(set(f"{name} {line.summary}".split()) <= words for name, line in COMMANDS.items())


def test_the_page_is_the_parsers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its options are the parser's, one in no two groups; `--version` and `--help` load no parser, and end well without a reader."""
    command = build()
    context = command.make_context("evalsuite", [], resilient_parsing=True)
    named = {name for option in command.get_params(context) for name in option.opts}
    assert {name for names, _ in OPTIONS for name in names.split(", ")} == named
    assert command.get_help(context) == page().rstrip()
    code = (
        "import io, sys\nbefore = set(sys.modules)\nfrom evalsuite.cli import main\n"
        "assert main(['--version']) == 0 and main(['--help']) == 0\n"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('evalsuite')))"
    )
    shown = finished([sys.executable, "-c", code], check=True).stdout
    assert shown.splitlines()[-1] == "[]"
    done = finished(f'"{sys.executable}" -m evalsuite --help | head -0', shell=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert main(["--help"]) == 0

    def twice(one: Base, other: More) -> None: ...

    with pytest.raises(ValueError, match="loud"):
        for_typer(twice)


RUN: Any = load_command("run")


@dataclass(frozen=True, kw_only=True)
class Base:
    """A group."""

    loud: Annotated[bool, Option("--loud", "-l", help="shout")] = False


@dataclass(frozen=True, kw_only=True)
class More(Base):
    """A group that adds to another."""

    times: Annotated[int, Option(help="how often")] = 1


WORDS = (
    "answers gold --gold --gold=gold --only a,b --json --no-save --quiet -q -x -o page.html -oa.md --output=b.html --jobs 2 --limit "
    "seconds=3 --limit=memory_mib=9 --samples 1 3 --fail-under 0.5 --max_workers 300 --verbose -v -qv --durations 4 --durations=-1 -- - "
    "--only= --help --unknown --strict=1 --result_dir --watch --timeout 1e3 nan _1 --reveal é 0.001  ' '"
)


@examples(500)
@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=7))
def test_what_is_read_without_typer_is_read_as_typer_does(words: list[str]) -> None:
    """Where `quick_values` returns values of `run`, the parser gives the same ones."""
    values = Spread(COMMANDS["run"].load()).quick_values(words)
    if values is not None:
        context = RUN.make_context("run", list(words))
        assert not context.args
        assert {name: _comparable(context.params[name]) for name in values} == {name: _comparable(value) for name, value in values.items()}


def _comparable(value: Any) -> Any:
    """The parser's values are converted once more when the command is called: paths, and lists."""
    return str([*map(str, value)] or None) if isinstance(value, list | tuple) else str(value)


def completed(line: str, cwd: Path) -> list[str]:
    """What is offered for the last word of a line."""
    words = line.split(" ")
    asked = {"_EVALSUITE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    shown = command_server().run([], cwd=cwd, env={**os.environ, **asked})
    assert shown.stderr == ""
    return shown.stdout.split()


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with gold, a saved run, and a suite with a run that was given a name."""
    folder = tmp_path_factory.mktemp("completion")
    gold = text_gold(folder / "gold", a="Paris", b="Rome")
    submission = text_submission(folder / "answers", a="Paris")
    (folder / "qa.csv").write_text("input,reference\nq,Paris\n", encoding="utf-8")
    for words in (
        ["run", submission, "--gold", gold, "--quiet"],
        ["suite", "create", "capitals", "--from", "qa.csv", "--scorer", "exact_match", "--reference-column", "reference"],
        ["suite", "run", "capitals", "the-one", "--from", "qa.csv", "--candidate-column", "reference"],
    ):
        assert command_server().run(words, cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("evalsuite expl", "explain"),
        ("evalsuite run answers --rules ", "bird-ex official strict test-suite"),
        ("evalsuite scorers table", "table_match tables_match"),
        ("evalsuite suite show ", "capitals"),
        ("evalsuite suite run cap", "capitals"),
        ("evalsuite run answers --limit run_s", "run_seconds="),
        ("evalsuite run answers --only ", "a b"),
        ("evalsuite bundle ", "a b"),
        ("evalsuite report --reveal s", "shape status"),
        ("evalsuite suite create x --scorer exact", "exact_match"),
        ("evalsuite suite try qa.csv --candidate ", "input reference"),
        ("evalsuite suite run capitals --from qa.csv --candidate-column ref", "reference"),
        ("evalsuite compare --suite ", "capitals"),
        ("evalsuite compare the", "the-one"),
    ],
)
def test_values(line: str, offered: str, workplace: Path) -> None:
    """Choices, scorers, suites, limits and instances are completed."""
    assert completed(line, workplace) == offered.split()


def test_runs_are_completed(workplace: Path, tmp_path: Path) -> None:
    """By the names of runs, of their folders and those they were given; without gold and runs nothing is offered, nor an error."""
    runs = sorted(["the-one", *(folder.name for folder in (workplace / ".evalsuite/runs").iterdir())])
    assert len(runs) == 3
    for line in ("evalsuite report ", "evalsuite verify ", "evalsuite compare x ", "evalsuite explain a --run ", "evalsuite runs show "):
        assert completed(line, workplace) == runs, line
    for line in ("evalsuite report ", "evalsuite run answers --only ", "evalsuite bundle "):
        assert completed(line, tmp_path) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_in_bash(workplace: Path) -> None:
    """What `--show-completion bash` prints makes a real bash complete."""
    command = tmp = workplace / "bin"
    command.mkdir(exist_ok=True)
    script = tmp / "evalsuite"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evalsuite "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT), "PATH": f"{tmp}{os.pathsep}{os.environ['PATH']}"}
    code = 'eval "$(evalsuite --show-completion bash)"; COMP_WORDS=(evalsuite scorers numb); COMP_CWORD=2; '
    code += '"$(complete -p evalsuite | sed "s/.*-F \\([^ ]*\\).*/\\1/")" evalsuite numb scorers; echo "${COMPREPLY[@]}"'
    shown = finished(["bash", "-c", code], cwd=workplace, env=environment)
    assert (shown.stdout.split(), shown.stderr) == (["number_match"], ""), shown


def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 0; the table and the JSON agree with what each feature reports of itself, and the last line names what the machine lacks."""
    shown = said("doctor")
    found = as_json("doctor")
    stands = {name: row["stands"] for name, row in found.items()}
    assert (stands["landlock"], stands["seccomp"], stands["jail"]) == (landlock_version() > 0, can_filter(), can_sandbox_programs())
    for name, stood in stands.items():
        word = {"jail": "programs"}.get(name, name)
        assert any(line.split()[:2] == [word, "yes" if stood else "no"] for line in shown.splitlines())
    monkeypatch.setattr("evalsuite.sandbox.program_sandbox.can_sandbox_programs", lambda: False)
    shown = said("doctor").splitlines()
    assert any(line.split()[:2] == ["programs", "no"] for line in shown)
    assert re.fullmatch(r"done: not supported on this machine: (.+, )?programs; SECURITY\.md explains what that means", shown[-1])


@pytest.fixture
def two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two CSV files in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/q1.csv").write_text("a,b\n1,x\n2,y\n3,z\n")
    (tmp_path / "src/q2.csv").write_text("n\n7\n8\n")
    return tmp_path


def spec(folder: Path) -> list[dict[str, object]]:
    """The entries of the one spec below a folder."""
    (file,) = folder.glob("*_eval.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_tables_become_gold(two_files: Path) -> None:
    """One folder with a spec, each file in the folder of its instance; it scores its own gold 1, and a second call leaves it alone."""
    (two_files / "asked.csv").write_text("id;question\nq2;How many?\n")
    out = said("init --gold-from src --questions asked.csv")
    assert not lacks(out, "no question for q1", "decide: ignore_order")
    assert out.splitlines()[-1].startswith("done: ")
    assert [path.parent.name for path in two_files.rglob("*_eval.jsonl")] == ["gold"]
    assert (two_files / "gold/suite.yaml").read_text() == f'name: "{two_files.name}"\n'
    assert (two_files / "gold/q1/q1.csv").read_bytes() == (two_files / "src/q1.csv").read_bytes()
    assert [(entry["instance_id"], entry.get("question")) for entry in spec(two_files / "gold")] == [("q1", None), ("q2", "How many?")]
    for name in ("q1", "q2"):
        (two_files / f"submission_template/{name}/{name}.csv").write_bytes((two_files / f"gold/{name}/{name}.csv").read_bytes())
    assert "2/2 = 100.0 %" in said("run submission_template --gold gold")
    (two_files / "src/more").mkdir()
    (two_files / "src/notes.txt").write_text("none")
    filled = (two_files / "submission_template/q1/q1.csv").read_bytes()
    out = said("init --gold-from src")
    assert not lacks(out, "submission_template was there and stays as it is", "left out: more/, notes.txt")
    assert (two_files / "submission_template/q1/q1.csv").read_bytes() == filled
    assert (two_files / "src_gold/suite.yaml").read_text() == 'name: "src_gold"\n'


def test_gold_is_read_as_it_is_written(two_files: Path) -> None:
    """With semicolons or in UTF-16, and answers in the same way, also where examples choose the parameters; commas win over semicolons."""
    for name, data in (("q1", b"a;b\n1;x\n2;y\n"), ("q2", "a\tb\n1\tx\n".encode("utf-16")), ("q3", b"a;b;c,d\n1,2\n")):
        (two_files / f"src/{name}.csv").write_bytes(data)
    (two_files / "good").mkdir()
    (two_files / "good/q1.csv").write_bytes(b"b;a\ny;2\nx;1\n")
    out = said("init --gold-from src --good good")
    assert not lacks(
        out, "note: q1: gold has delimiter ';', so", "note: q2: gold has delimiter '\\t', encoding 'utf-16', so", "gets full marks"
    )
    assert "is one column" not in out
    first, second, third = (entry["evaluation"]["parameters"] for entry in spec(two_files / "gold"))  # type: ignore[index]
    assert (first["delimiter"], second["encoding"], third) == (";", "utf-16", {"gold": "q3.csv", "ignore_order": True})
    assert "condition_cols" not in first


@pytest.mark.parametrize(("answer", "name"), [(b"\n", None), (b"Sales: 2024\n", "Sales: 2024")])
def test_a_terminal_is_asked_for_folder_and_name(two_files: Path, answer: bytes, name: str | None) -> None:
    """Both questions are answered by a line; an empty one takes the default, and the name is the suite's."""
    shown = run(
        [*EVALSUITE, "init"], cwd=two_files, typed=[("right answers: ", b"src\n"), (f"name of the suite [{two_files.name}]: ", answer)]
    )
    assert shown.code == EXIT_OK, shown.raw
    assert read_gold(two_files / "gold").suite.name == (name or two_files.name)


def test_examples_choose_the_parameters(two_files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Order and columns by what is accepted and refused; what no example tells is said."""
    for name, text in (
        ("good/q1.csv", "a,b\n2,other\n1,other\n3,other\n"),
        ("bad/q1_1.csv", "a,b\n1,x\n2,y\n4,z\n"),
        ("good/q2.csv", "n\n7\n8\n"),
        ("bad/q2/one.csv", "n\n8\n7\n"),
    ):
        (two_files / name).parent.mkdir(exist_ok=True, parents=True)
        (two_files / name).write_text(text)
    assert main(["init", "--gold-from", "src", "--good", "good", "--bad", "bad"]) == EXIT_OK
    first, second = (entry["evaluation"]["parameters"] for entry in spec(two_files / "gold"))  # type: ignore[index]
    assert first == {"gold": "q1.csv", "ignore_order": True, "condition_cols": [0]}
    assert second == {"gold": "q2.csv", "ignore_order": False}
    assert "q1: ignore_order true, condition_cols [0] by 1 good and 1 bad example" in capsys.readouterr().out
    (two_files / "bad/q2/one.csv").unlink()
    assert main(["init", "--gold-from", "src", "--good", "good", "--bad", "bad", "--to", "other", "--name", "mine"]) == EXIT_OK
    assert (two_files / "other/suite.yaml").read_text() == 'name: "mine"\n'
    assert "q2: open: order: no example shows whether it counts" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no folder of gold given"),
        (["--gold-from", "none"], "none: no such folder"),
        (["--gold-from", "empty"], "no CSV file in it"),
        (["--gold-from", "src", "--to", "src/gold"], "src/gold would be inside src"),
        (["--gold-from", "src", "--questions", "bad.csv"], "bad.csv:2: no gold file for the id 'q9'"),
        (["--gold-from", "src", "--good", "empty"], "no example belongs to an instance"),
    ],
)
def test_what_cannot_be_meant_writes_nothing(two_files: Path, arguments: list[str], says: str) -> None:
    """Exit 2, what was expected, and nothing half written."""
    (two_files / "bad.csv").write_text("id,question\nq9,What?\n")
    (two_files / "empty").mkdir()
    before = sorted(two_files.rglob("*"))
    assert says in said("init", *arguments, code=EXIT_USAGE)
    assert sorted(two_files.rglob("*")) == before


def test_the_example_runs_and_says_what_is_next(two_files: Path) -> None:
    """`example` and each command that is named next run; `help` and `-V` say what the long forms say, every command in one group."""
    assert "next: evalsuite run play/submission --gold play/gold" in said("example play")
    out = said("run play/submission --gold play/gold")
    assert " · play (2 instances) · submission (2 submitted) · " in out
    (line,) = [line.strip() for line in out.splitlines() if "next: " in line]
    assert line.startswith("next: evalsuite explain stock --run 2")
    assert len(line) < 60
    assert main(line.removeprefix("next: evalsuite ").split()) in (0, 1)
    assert (two_files / ".evalsuite/.gitignore").read_text() == "*\n"
    name = line.split()[-1]
    assert "stock" in said("check stock --run", name)
    for one, other in (("help", "--help"), ("-V", "--version"), ("help run", "run --help")):
        assert said(one) == said(other)
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
