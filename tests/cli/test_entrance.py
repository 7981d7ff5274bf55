"""`evalsuite THING ...` recognises what a person has, prints the command for it and runs it; `what` only says it."""

import csv
import json
import re
import shlex
import shutil
import sqlite3
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.cli.commands import COMMANDS, grouped_name, plain_name
from evalsuite.cli.parser import SECTIONS, HelpCommand, leaves, load_command
from evalsuite.suites import recognition
from evalsuite.suites.recognition import recognise
from tests.cli.test_run import as_json, called, lacks, said, text_gold, text_submission, write_lines
from tests.conftest import copy_of

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


def make_things(folder: Path) -> None:
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


things = copy_of(make_things)


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
    """Files and folders alone and in pairs, in any order: their kind, and the commands with all options that they need.

    They are read here; the tests of commands that are run read them in workers.
    """
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


def test_further_options_go_to_the_command(things: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --json nothing but JSON is on stdout; named columns replace the guessed ones."""
    capsys.readouterr()
    assert main(["sub", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["summary"]["score"] == 0.5
    assert shown.err.startswith("$ evalsuite run sub --gold gold --json")
    assert (
        said("answers.csv --candidate claude").splitlines()[0]
        == "$ evalsuite suite try answers.csv --input question --reference answer --candidate claude"
    )


def test_what_is_not_clear_ends_with_commands(things: Path) -> None:
    """Exit 2, with the commands that would do it; a word that is no path is a mistyped command."""
    shutil.rmtree("gold")
    for words, why in {
        "one.csv": "evalsuite explain RIGHT.csv one.csv; or evalsuite suite try one.csv",
        "sub": "evalsuite run sub --gold GOLD; or evalsuite validate sub",
        "notes.md": "cannot tell what notes.md is",
        "sub nowhere": "no such file or folder: 'nowhere'",
        "rnu": "did you mean 'run'?",
    }.items():
        assert why in said(words, code=2)


def test_a_commands_name_goes_before_a_path(things: Path) -> None:
    """`gold` is the command, `./gold` the folder."""
    assert "Usage: evalsuite gold" in called("gold", cwd=Path()).stdout


def test_bytes_decide_where_names_do_not(things: Path) -> None:
    """An archive, a database and a log under other names, and files of another kind than their ending."""
    with tarfile.open("plain.bin", "w") as archive:
        archive.add("sub")
    with zipfile.ZipFile("run.eval", "w") as archive:
        archive.writestr("header.json", "{}")
    shutil.copy("one.sqlite", "data.bin")
    (things / "broken.json").write_text('{"a": ', encoding="utf-8")
    (things / "empty.jsonl").write_text("", encoding="utf-8")
    kinds = {"plain.bin": "archive", "run.eval": "log", "data.bin": "table", "broken.json": "unknown", "empty.jsonl": "unknown"}
    assert {name: as_json(f"what {name}")["kind"] for name in kinds} == kinds


def test_what_is_in_an_archive_decides(things: Path) -> None:
    """Records and gold in archives, one archive in another: unpacked; plugins of a gold that nobody named are not executed."""
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


def test_queries_that_cannot_run_are_counted_first(things: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line before a run of `.sql` answers: how many can run here, need an account, lack their database."""
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


def test_denominators_of_a_leaderboard(things: Path) -> None:
    """In a checkout: over all, over submitted, over what can be scored here; ids without gold are named once, equal warnings folded."""
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


def test_an_instance_of_an_archive(things: Path) -> None:
    """`check`, `explain`, `runs bundle` and `runs verify` take an archive for a submission, as `run` does."""
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


def test_a_board_says_what_is_probably_meant(things: Path) -> None:
    """A folder that contains the submission is named with it; a name stands once."""
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
