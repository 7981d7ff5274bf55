"""What a person types wrong, and what is said then: a message that names what was looked for, a hint that can be followed, exit code 2.

A row is (command line, words that must be said). Where the exit code is another one it stands behind `->`. `LONG` is a name that no file
system takes, `CAFE` one that is not UTF-8.
"""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.cli.gate import options_in
from evalsuite.cli.parser import options_of_call
from tests.cli.test_run import text_gold, text_submission, write_lines
from tests.terminal.pty_harness import EVALSUITE, piped

pytestmark = pytest.mark.usefixtures("shared_fork_server")

LONG, CAFE = "x" * 300, os.fsdecode(b"caf\xe9")
IDS = "known: geo_001, geo_002, hr_001"
ENDINGS = ".csv, .html, .json, .md, .parquet, .svg, .txt, .xml"

COMMANDS = """
rnu                                                     | no command 'rnu' | did you mean 'run'?
''                                                      | no command '' | known: init, what, example
--versoin                                               | No such option: --versoin | did you mean '--version'?
suite craete                                            | suite has no command 'craete' | did you mean 'create'?
runs remove                                             | runs has no command 'remove' | did you mean 'rm'?
schema infr                                             | schema has no command 'infr' | did you mean 'infer'?
gold lnt                                                | gold has no command 'lnt' | did you mean 'lint'?
connections tset                                        | connections has no command 'tset' | did you mean 'test'?
CAFE                                                    | no command 'caf\\udce9'
"""
OPTIONS = """
run sub --ruls strict                                   | No such option: --ruls | did you mean '--rules'?
run sub --goldd gold                                    | No such option: --goldd | did you mean '--gold'?
run sub --cache no                                      | No such option: --cache | did you mean '--no-cache' or '--gold-cache'?
run sub --dur 3                                         | No such option: --dur | did you mean '--durations'?
run sub --zzz                                           | No such option: --zzz | known: --result-dir, --gold
run sub extra                                           | unexpected extra argument | evalsuite run [OPTIONS] [submission]
run                                                     | no submission folder given | evalsuite run FOLDER --gold gold
run sub --result_dir sub                                | given twice
run --result_dir                                        | '--result_dir' requires an argument
run sub --rules strickt                                 | no rules 'strickt' | known: official, strict
run sub --jobs many                                     | --jobs cannot be 'many' | auto
run sub --jobs 0                                        | --jobs cannot be '0' | a number from 1 to 256, or auto
run sub --fail-under 70                                 | --fail-under must be between 0 and 1, found 70 | 0.8 means 80 %
run sub --fail-under nan                                | between 0 and 1
run sub --fail-under high                               | --fail-under | 'high' | 0-1: exit 1 if the score is lower
run sub --limit seconds                                 | --limit cannot be 'seconds' | NAME=VALUE
run sub --limit secnds=3                                | unknown limit 'secnds' | did you mean 'seconds'?
run sub --limit seconds=-1                              | limit 'seconds' must be a number above 0, found -1
run sub --isolation proces                              | --isolation cannot be 'proces' | known: process, none
run sub --executor spark                                | no executor 'spark' | known: local, dask
run sub --scheduler tcp://x:1                           | --scheduler is not used by --executor local | add --executor dask
run sub --executor dask --scheduler nonsense            | --scheduler cannot be 'nonsense' | such as tcp://10.0.0.5:8786
run sub --shard 9/3                                     | --shard cannot be '9/3' | --shard 2/8 is the second of eight parts
run sub --durations -1                                  | --durations | N: also show the N slowest instances
run sub --as-of yesterday                               | --as-of cannot be 'yesterday' | write a day as
run sub --layout snowy                                  | no layout 'snowy' | known: bird-ex, lite, original, snow, test-suite
run sub --layout lite                                   | not of the layout lite | leave --layout out
run sub --mode sql                                      | --mode sql is for the layouts lite and snow
run sub --reveal all                                    | --reveal cannot be 'all' | known: none, status, class, shape, cells
run sub --json --github                                 | --json and --github exclude each other
run sub --watch --resume one                            | --watch and --resume exclude each other
run sub --resume one --no-save                          | --resume and --no-save exclude each other
run sub --databases nowhere                             | --databases nowhere: no such folder
run sub --gold-cache bin.csv                            | --gold-cache bin.csv: not a folder
run foo://x                                             | foo://x: unknown kind of URL
compare one two --alpha 2                               | alpha must be between 0 and 1, found 2
agree one two --threshold nan                           | --threshold cannot be nan
agree one two --most -1                                 | --most cannot be -1
verify one --sample 0                                   | --sample must be at least 1, found 0
view --port 99999                                       | --port | PORT: the port to listen on
runs list --since yesterday                             | --since cannot be 'yesterday' | write a day as 2026-11-21
runs tag one --add ''                                   | a tag cannot be blank
leaderboard sub --by colour                             | --by cannot be 'colour' | known: scorer, group
gold lint gold --format xml                             | --format cannot be 'xml' | known: text, json, github
gold lint gold --ignore nope                            | --ignore cannot be 'nope' | known: unreadable-line
gold audit gold --fail-under 70                         | between 0 and 1
gold contamination gold                                 | no file to compare with | --against FILE
suite create x                                          | Missing option '--from' | a CSV, TSV, JSONL, JSON, Parquet or Excel file
check number_match --prediction 1 --gold 1 --prcision 2 | number_match has no option '--prcision' | did you mean '--precision'?
check number_match --prediction 1 --gold 1 --precision x | --precision of number_match must be integer, found 'x'
check string_match --prediction a --gold a --conj xor   | must be 'and' or 'or', found 'xor'
"""
IDS_AND_FILTERS = """
run sub --only nope                                     | no instance 'nope' in gold | IDS
run sub --only geo_01                                   | no instance 'geo_01' in gold | did you mean 'geo_001'?
run sub --only ,                                        | --only ',' names no instance
run sub --filter 'zzz*'                                 | no instance in gold fits 'zzz*' | IDS
run sub --filter ''                                     | no instance in gold fits '' | IDS
run sub --only geo_001 --filter 'hr*'                   | no instance of those asked for fits 'hr*' | known: geo_001
run sub --group nope                                    | no group 'nope' in this suite | known: places
run sub --group ''                                      | no group '' in this suite | known: places
run sub --only hr_001 --group places                    | is in the group 'places'
run sub --only CAFE                                     | no instance 'caf\\udce9' in gold
run sub --lf --gold other                               | no earlier run of other | run without --lf first
check nope --result_dir sub                             | no instance 'nope' in gold | IDS
explain nope --run one                                  | no instance 'nope' in gold | IDS
bundle nope --run one                                   | no instance 'nope' in gold | IDS
gold audit gold --only nope                             | no instance 'nope' in gold | IDS
gold errata gold --entry nope                           | no instance 'nope' in gold | IDS
runs list --suite 'zzz*'                                -> 0 | none of 2 runs in .evalsuite/runs fits --suite 'zzz*'
sql "select * from result"                              | Table with name result does not exist | results
sql "drop table results"                                | only one SELECT statement is answered | tables: runs, results, fields
sql "select 1" --runs nowhere                           -> 0 | note: no runs in nowhere
connections test nope                                   | no connection 'nope'
"""
SCORERS = """
scorers table                                           | unknown scorer 'table' | did you mean 'table_match'?
scorers TABLE_MATCH                                     | unknown scorer 'TABLE_MATCH' | did you mean 'table_match'?
scorers tabel_match                                     | unknown scorer 'tabel_match' | did you mean 'table_match'?
scorers judge                                           | unknown scorer 'judge' | did you mean 'llm_judge'?
scorers nope                                            | unknown scorer 'nope' | known: string_match, number_match, table_match
check geo_001                                           | unknown scorer 'geo_001' | for an instance add --result_dir FOLDER
check string_match --prediction a                       | no gold given | evalsuite check string_match --prediction TEXT --gold TEXT
check string_match --gold a                             | no prediction given
check string_match --prediction a --gold a --explain    | --explain needs a submission
check number_match --prediction 1 --gold 1 --precision 99999999999999 -> 0
suite create x --from questions.csv --scorer string     | unknown scorer 'string' | did you mean 'string_match'?
suite create x --from questions.csv --scorer table_match | table_match compares files, the cases of a suite are texts
"""
FOLDERS = """
run .                                                   | no results_metadata.jsonl in . | did you mean 'sub'
run nowhere                                             | nowhere: no such submission folder | contains results_metadata.jsonl
run gold                                                | no results_metadata.jsonl in gold | so it is gold
run other                                               | no results_metadata.jsonl in other | this one contains readme.txt
run bin.csv                                             | bin.csv: not a folder
run LONG                                                | cannot be read: File name too long
run sub --gold sub                                      | sub: no *_eval.jsonl file | so it is a submission
run gold --gold sub                                     | sub: no *_eval.jsonl file | so it is a submission
run sub --gold nowhere                                  | nowhere: no such gold folder | contains *_eval.jsonl, or name it with --gold
run sub --gold semi.csv                                 | semi.csv:1: not valid JSON | a file of questions and references becomes a suite
run sub --gold LONG                                     | cannot be read: File name too long
run sub --out gold                                      | gold is not empty and not a run folder
run sub --out bin.csv                                   | bin.csv is a file, not a folder
run sub --resume nowhere                                | nowhere is not a run folder
run sub --resume one                                    | one is a finished run
run sub --plugin nowhere.py                             | nowhere.py: no such plugin file
run sub --plugin semi.csv                               | semi.csv: not a Python file | ends in .py
run sub --plugin LONG.py                                | File name too long
validate gold                                           | no results_metadata.jsonl in gold | so it is gold
validate sub --gold other                               | other: no *_eval.jsonl file
check geo_001 --result_dir gold                         | no results_metadata.jsonl in gold | so it is gold
explain geo_001 --result_dir nowhere                    | nowhere: no such submission folder
explain geo_001 --run sub                               | sub is a submission, not a run | evalsuite run sub
report nowhere                                          | no finished run 'nowhere' | known:
report gold                                             | no finished run 'gold'
report one --runs nowhere                               -> 0
report nowhere --runs other                             | no finished run 'nowhere' | no runs in other
verify gold                                             | no finished run in gold
rescore one --submission nowhere                        | nowhere: no such submission folder
rescore one --gold sub                                  | sub: no *_eval.jsonl file | so it is a submission
merge one --out whole                                   | one is the run of no shard | run --shard i/n
merge other --out whole                                 | no finished run in other
compare one bin.csv --gold gold                         | bin.csv: not a folder | to run a file of answers against a suite
compare one                                             | a comparison needs two runs | evalsuite compare BASELINE CANDIDATE
compare one gold                                        | no results_metadata.jsonl in gold | so it is gold
compare one sub --gold sub                              | sub: no *_eval.jsonl file | so it is a submission
leaderboard nowhere                                     | nowhere: no such folder | name folders of submissions or of runs
leaderboard bin.csv                                     | bin.csv: not a folder
leaderboard gold                                        | gold: no submission and no finished run in it
leaderboard sub --gold sub                              | sub: no *_eval.jsonl file | so it is a submission
leaderboard sub empty                                   -> 1 | 1 could not be read (exit 1)
gold check sub                                          | sub: no *_eval.jsonl file | so it is a submission
gold lint nowhere                                       | nowhere: no such gold folder | give the folder that contains *_eval.jsonl
gold convert gold --out new                             | gold is in the original layout already
gold suspects one                                       | suspects needs runs of at least two independent submissions
gold contamination gold --against nowhere               | no such file: nowhere
connections list --gold bin.csv                         | no folder bin.csv
connections list --databases nowhere                    | --databases nowhere: no such folder
view nowhere                                            | nowhere: no such folder
view bin.csv                                            | bin.csv: not a folder
suite show nope                                         | no suite 'nope' | known: capitals
suite run nope --from answers.csv                       | no suite 'nope' | known: capitals
suite create '' --from questions.csv --scorer f1        | a suite needs a name
suite create capitals --from questions.csv --scorer f1  | there is a suite 'capitals' already
suite import gold                                       | gold: no suite in it
runs rm sub                                             | sub is a submission, not a run
runs show LONG                                          | File name too long
sql "select 1" --runs LONG                              | File name too long
"""
FILES = """
run sub -o x.xlsx                                       | no report format for 'x.xlsx' | ENDINGS
run sub -o x                                            | no report format for 'x' | ENDINGS
run sub -o x.HTML                                       | no report format for 'x.HTML' | ENDINGS
run sub -o bin.csv/x.html                               | cannot write bin.csv/x.html: Not a directory
run sub -o folder.html                                  | cannot write folder.html: Is a directory
run sub -o a.html -o ./a.html                           | --output names a.html twice
run sub -o LONG.html                                    | File name too long
compare one two -o x.xlsx                               | no report format for 'x.xlsx' | ENDINGS
leaderboard sub -o x.xlsx                               | no report format for 'x.xlsx' | ENDINGS
report one -o x.xlsx                                    | no report format for 'x.xlsx' | ENDINGS
bundle geo_002 --run one -o other                       | other is not an empty folder | name a new folder, or FILE.md
bundle geo_002 --run one -o bin.csv/x.md                | cannot write bin.csv/x.md: Not a directory
suite export capitals other                             | cannot write other: Is a directory
suite create x --from nowhere.csv --scorer f1           | nowhere.csv: cannot be read as CSV: no such file | a CSV file in UTF-8
suite create x --from other --scorer f1                 | cannot read 'other' | a CSV, TSV, JSONL, JSON, Parquet or Excel file
suite create x --from bin.csv --scorer f1               | bin.csv: cannot be read as CSV: not UTF-8
suite create x --from semi.csv --scorer f1              | the data has no input column 'input' | known: instance_id, label
suite create x --from bad.parquet --scorer f1           | not a readable Parquet file | a CSV, TSV, JSONL, JSON, Parquet or Excel file
suite create x --from questions.csv --scorer f1 --input-column q | no input column 'q' | known: input, reference_output
suite run capitals --from questions.csv                 | no candidate column 'candidate_output' | --candidate
suite run capitals again --from answers.csv --from answers.csv | one name 'again' for 2 runs
suite run capitals --from semi.csv --from bin.csv       | delimiter | not UTF-8 | 2 of 2 files could not be run (exit 2)
suite import bin.csv                                    | bin.csv: not a JSON file
agree one nowhere.csv                                   | nowhere.csv: cannot be read as CSV: no such file
agree one bin.csv                                       | bin.csv: cannot be read as CSV: not UTF-8
agree one semi.csv                                      | delimiter
agree one questions.csv                                 | no column 'instance_id' | needed: instance_id and label
leaderboard sub --metadata nowhere.csv                  | nowhere.csv: cannot be read as CSV: no such file
leaderboard sub --metadata semi.csv                     | delimiter
leaderboard sub --metadata questions.csv                | no column 'submission' | found: input, reference_output
schema infer nowhere.json                               | MISSING_FILE: nowhere.json
schema resolve questions.csv                            | BAD_JSON
schema check bin.csv --gold bin.csv                     | BAD_ENCODING
check table_match --prediction nowhere.csv --gold semi.csv | MISSING_FILE: nowhere.csv
check table_match --prediction other --gold semi.csv    | a folder is where a file is needed
check table_match --prediction semi.csv --gold questions.csv -> 0 | 'instance_id;label' is one column | delimiter
check llm_judge --prediction a --gold b --judge bin.csv | bin.csv: not readable as UTF-8 text
check number_match --prediction @nowhere --gold 1       | MISSING_FILE: nowhere
"""


def rows() -> list[tuple[str, list[str], int]]:
    """(the command line, the words it must say, its exit code) of every row of the tables."""
    found = []
    for table in (COMMANDS, OPTIONS, IDS_AND_FILTERS, SCORERS, FOLDERS, FILES):
        for row in table.strip().splitlines():
            line, *words = (part.strip() for part in row.split(" | "))
            line, _, code = line.partition(" -> ")
            found.append((line.strip(), words, int(code or 2)))
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with gold, a submission, two runs, a suite, and files of every wrong kind."""
    folder = tmp_path_factory.mktemp("wrong guesses ü 日本")
    text_gold(folder / "gold", geo_001="Paris", geo_002="Rome", hr_001="Oslo")
    (folder / "gold" / "suite.yaml").write_text("groups: {places: {prefix: geo_}}\n")
    text_submission(folder / "sub", geo_001="It is Paris", geo_002="It is Bern", hr_001="Oslo")
    for name in ("empty", "folder.html", "other"):
        (folder / name).mkdir()
    (folder / "other" / "readme.txt").write_text("nothing to score here")
    (folder / "bin.csv").write_bytes(b"\xff\xfe\x00\n")
    (folder / "bad.parquet").write_bytes(b"PAR1 PAR1")
    (folder / "semi.csv").write_text("instance_id;label\ngeo_001;1\n")
    (folder / "questions.csv").write_text("input,reference_output\nCapital of France?,Paris\n")
    (folder / "answers.csv").write_text("candidate_output\nParis\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["run", "sub", "--isolation", "none", "-q"]) == 0
        assert main(["suite", "create", "capitals", "--from", "questions.csv", "--scorer", "f1"]) == 0
        assert main(["suite", "run", "capitals", "--from", "answers.csv"]) == 0
        for name in ("one", "two"):
            assert main(["run", "sub", "--isolation", "none", "-q", "--out", name]) == 0
    return folder


def words_of(line: str) -> list[str]:
    """The arguments of a row, with the names that cannot be written there."""
    return [word.replace("LONG", LONG).replace("CAFE", CAFE) for word in shlex.split(line)]


@pytest.mark.parametrize(("line", "words", "code"), rows(), ids=[line for line, _, _ in rows()])
def test_a_wrong_guess(
    place: Path, line: str, words: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The words are said, the exit code is that of the row, no run is saved under exit code 2, and the hint fits the command."""
    monkeypatch.chdir(place)
    before = sorted((place / ".evalsuite" / "runs").iterdir())
    found = main(words_of(line))
    said = capsys.readouterr()
    assert found == code, said
    assert "Traceback" not in said.err
    assert "internal error" not in said.err
    for word in words:
        wanted = {"IDS": IDS, "ENDINGS": ENDINGS}.get(word, word)
        assert wanted in said.out + said.err
    if code == 2:
        assert sorted((place / ".evalsuite" / "runs").iterdir()) == before
        assert re.match(r"error: [^A-Z\n]?\S|", said.err)
        assert said.err.startswith("error: ") or "failed: " in said.out
    for hint in re.findall("^hint: (.*)", said.err, re.MULTILINE):
        assert options_in(hint) <= {*options_of_call(words_of(line)), "--help", "--debug", "--version"}, hint


@pytest.mark.parametrize("name", ["with spaces", "Übung Straße", "日本語", "a'b\"c", "-minus", "{braces} [x]", CAFE])
def test_names_that_need_care(
    place: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A submission, a gold folder, a run and a report of such a name are scored, written, shown and ranked like any other."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(place / "gold", tmp_path / "gold" / name)
    shutil.copytree(place / "sub", tmp_path / "subs" / name)
    how = ["--isolation", "none", "--gold", f"gold/{name}"]
    assert main(["run", f"subs/{name}", *how, "--out", f"runs/{name}", "-o", f"{name}.md", "-q"]) == 0
    assert capsys.readouterr().out == "done: 66.7 % (no gate set)\n"
    assert (tmp_path / f"{name}.md").exists()
    assert main(["report", f"runs/{name}"]) == 0
    assert main(["leaderboard", "subs", *how, "-q"]) == 0
    assert main(["validate", f"subs/{name}", "--gold", f"gold/{name}"]) == 0
    assert main(["compare", f"runs/{name}", f"subs/{name}", "-q", "--jobs", "1"]) == 0
    capsys.readouterr()
    assert main(["run", f"subs/{name} too", *how]) == 2
    error = capsys.readouterr().err.splitlines()[0]
    assert error.startswith("error: subs/")
    assert error.endswith("too: no such submission folder")


@pytest.mark.parametrize("line", ["run .", "run sub --filter 'zzz*'", "run sub --only nope", "scorers table", "run sub -o x.xlsx", "rnu"])
def test_the_same_as_a_process(place: Path, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A process says on stderr what the table holds, prints nothing, and ends with 2."""
    monkeypatch.chdir(place)
    main(words_of(line))
    shown = piped([*EVALSUITE, *words_of(line)], cwd=place)
    assert (shown.code, shown.raw, shown.errors) == (2, "", capsys.readouterr().err)


def test_gold_without_instances_is_nothing_to_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 5 stays for gold without an instance, and for a submission that hands in nothing."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "bare" / "toy_eval.jsonl")
    text_gold(tmp_path / "gold", a="x")
    text_submission(tmp_path / "sub", a="x")
    text_submission(tmp_path / "nothing")
    for arguments in (["sub", "--gold", "bare"], ["nothing"]):
        assert main(["run", *arguments, "--isolation", "none"]) == 5
        assert capsys.readouterr().out.splitlines()[-1].startswith("nothing to score")
