"""One prediction or one instance at a time: `evalsuite check`, `explain`, and `gold scorers`, which says what a scorer takes."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.cli import main
from evalsuite.cli.parser import load_command
from evalsuite.cli.prediction import OWN_OPTIONS, join_words, parse_options, plain_call
from evalsuite.core.errors import UsageError
from evalsuite.runs.history import find_runs
from evalsuite.scorers import SCORERS
from tests.cli.test_run import as_json, called, lacks, said, write_answers, write_gold
from tests.conftest import copy_example, copy_of
from tests.meta.test_packages import HEAVY
from tests.processes import finished
from tests.properties import examples

pytestmark = pytest.mark.usefixtures("shared_fork_server")


Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run of the person who starts the tests is the last one."""
    monkeypatch.chdir(tmp_path)


def shown(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `evalsuite check` in this process."""
    code = main(["check", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def score(capsys: Capture, *arguments: object) -> dict[str, Any]:
    """The JSON object that `evalsuite check --json` prints."""
    code, out, err = shown(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """(prediction, gold): the same two rows in another order."""
    mine, gold = tmp_path / "mine.csv", tmp_path / "gold.csv"
    mine.write_text("city,n\nRome,2\nOslo,1\n")
    gold.write_text("city,n\nOslo,1\nRome,2\n")
    return mine, gold


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("number_match", ["--percentage"], {"percentage": True}),
        ("number_match", ["--no-percentage"], {"percentage": False}),
        ("number_match", ["--percentage", "false"], {"percentage": False}),
        ("number_match", ["--percentage=true", "--precision", "2"], {"percentage": True, "precision": 2}),
        ("number_match", ["--abs-tol", "1e-3", "--rel_tol", "1", "--precision", "-1"], {"abs_tol": 0.001, "rel_tol": 1, "precision": -1}),
        ("number_match", ["--gold", "17.5"], {"gold": 17.5}),
        ("number_match", ["--gold", '"17.5"'], {"gold": "17.5"}),
        ("number_match", ["--gold", "17", "--gold", "1,234"], {"gold": [17, "1,234"]}),
        ("string_match", ["--gold", "17.5"], {"gold": "17.5"}),
        ("string_match", ["--gold", '"quoted"'], {"gold": '"quoted"'}),
        ("string_match", ["--gold", '["a", "b"]'], {"gold": ["a", "b"]}),
        ("string_match", ["--exclude", "a"], {"exclude": ["a"]}),
        ("string_match", ["--exclude", "a", "--exclude", "null"], {"exclude": ["a", "null"]}),
        ("string_match", ["--exclude=--dashed", "--conj", "and"], {"exclude": ["--dashed"], "conj": "and"}),
        ("table_match", ["--ignore_order", "--condition-cols", "[0,1]"], {"ignore_order": True, "condition_cols": [0, 1]}),
        (
            "table_match",
            ["--ignore-order", "[true, false]", "--condition_cols", "2"],
            {"ignore_order": [True, False], "condition_cols": [2]},
        ),
        ("table_match", ["--condition-cols", "[0]", "--condition-cols", "[1, 2]"], {"condition_cols": [[0], [1, 2]]}),
        ("table_match", ["--condition-cols", "null", "--abs-tol", '{"n": 0.5}'], {"condition_cols": None, "abs_tol": {"n": 0.5}}),
        ("tables_match", ["--gold", "a.csv", "--ignore-orders", "true"], {"gold": ["a.csv"], "ignore_orders": [True]}),
        (
            "duckdb_match",
            ["--condition-tabs", "orders", "--condition-cols", "[[0]]"],
            {"condition_tabs": ["orders"], "condition_cols": [[0]]},
        ),
    ],
)
def test_options_are_read_by_the_signature(name: str, words: list[str], expected: dict[str, object]) -> None:
    """Flags, numbers, texts and lists become values of the parameter's own type, in both spellings."""
    found = parse_options(SCORERS.load(name), words)
    assert found == expected
    assert {key: type(value) for key, value in found.items()} == {key: type(value) for key, value in expected.items()}
    assert parse_options(SCORERS.load(name), join_words(SCORERS.load(name), found)) == found


@pytest.mark.parametrize(
    ("name", "words", "message", "hint"),
    [
        ("table_match", ["--ignor-order"], "table_match has no option '--ignor-order'", "did you mean '--ignore-order'?"),
        ("string_match", ["--zzz", "1"], "string_match has no option '--zzz'", "known: --gold, --conj, --exclude"),
        ("number_match", ["--no-precision"], "number_match has no option '--no-precision'", "did you mean '--precision'?"),
        ("number_match", ["--precision", "2.5"], "--precision of number_match must be integer from -308 to 308, found '2.5'", ""),
        ("number_match", ["--precision", "1", "--precision", "2"], "--precision is given 2 times", "takes one: integer"),
        ("number_match", ["--percentage", "maybe"], "--percentage of number_match must be true or false, found 'maybe'", ""),
        ("number_match", ["--abs-tol", "NaN"], "--abs-tol of number_match must be number of at least 0 or null, found 'NaN'", ""),
        ("string_match", ["--conj", "xor"], "--conj of string_match must be 'and' or 'or', found 'xor'", ""),
        ("string_match", ["--conj", "--exclude"], "--conj needs a value", ""),
        ("table_match", ["--condition-cols", "0,1"], "--condition-cols of table_match must be list of", "as JSON: '[0, 1]'"),
        ("number_match", ["--no-percentage=1"], "'--no-percentage' takes no value", "write --percentage 1"),
        ("string_match", ["stray"], "'stray' belongs to no option", ""),
        ("string_match", ["--gold", "[" * 100_000, "--conj", "["], "--conj of string_match must be", ""),
    ],
)
def test_bad_options_say_what_was_expected(name: str, words: list[str], message: str, hint: str) -> None:
    """An unknown option names the near one, a value of another type names the type, both as usage errors."""
    with pytest.raises(UsageError) as caught:
        parse_options(SCORERS.load(name), words)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


def test_one_prediction(capsys: Capture) -> None:
    """--json has both verdicts, a dash may begin a text, no escape sequence reaches the terminal, --fail-under follows the rules."""
    found = score(capsys, "string_match", "--prediction", "room 17", "--gold", "7", "--rules", "strict")
    assert (found["scorer"], found["official"], found["strict"], found["score"]) == ("string_match", 1, 0, 0)
    assert found["flip"].startswith("part of a word")
    assert score(capsys, "number_match", "--prediction", "-3.2", "--gold", "-3.2")["strict"] == 1
    _, out, _ = shown(capsys, "tree_match", "--prediction", json.dumps({"a": "\x1b[2J"}), "--gold", '{"a": "x"}')
    assert "\x1b" not in out
    assert "x1b[2J" in out
    flip = ["string_match", "--prediction", "room 17", "--gold", "7", "--fail-under", "1"]
    assert shown(capsys, *flip)[0] == 0
    code, out, _ = shown(capsys, *flip, "--rules", "strict")
    assert (code, out.splitlines()[-1]) == (1, "below the gate of 1 (exit 1)")


def test_files_of_a_prediction(capsys: Capture, tables: tuple[Path, Path], tmp_path: Path) -> None:
    """Tables come from paths, texts from @FILE; a file that is broken, absent or not UTF-8 is exit 2 with its fault and path."""
    mine, gold = tables
    assert score(capsys, "table_match", "--prediction", mine, "--gold", gold, "--ignore-order")["strict"] == 1
    assert score(capsys, "table_match", "--prediction", mine, "--gold", gold)["strict"] == 0
    both = ["--prediction", mine, "--prediction", gold, "--gold", gold, "--gold", gold]
    assert score(capsys, "tables_match", *both, "--ignore-orders", "[true,false]")["strict"] == 1
    assert score(capsys, "tables_match", *both)["strict"] == 0
    mine.write_bytes(b"\xff\xfe\x00")
    code, _, err = shown(capsys, "table_match", "--prediction", mine, "--gold", gold)
    assert (code, f"error: BAD_ENCODING: {mine}" in err) == (2, True)
    code, _, err = shown(capsys, "table_match", "--prediction", gold, "--gold", gold.parent / "nope.csv")
    assert (code, "nope.csv: the file is not there" in err) == (2, True)
    answer = tmp_path / "answer.txt"
    answer.write_text("It is Paris", encoding="utf-8")
    assert score(capsys, "string_match", "--prediction", f"@{answer}", "--gold", "Paris")["official"] == 1
    assert score(capsys, "string_match", "--prediction", "@@home", "--gold", "@home")["official"] == 1
    answer.write_bytes(b"\xff\xfe")
    code, _, err = shown(capsys, "string_match", "--prediction", f"@{answer}", "--gold", "Paris")
    assert (code, f"BAD_ENCODING: {answer}" in err) == (2, True)
    code, _, err = shown(capsys, "string_match", "--prediction", f"@{answer}x", "--gold", "Paris")
    assert (code, f"MISSING_FILE: {answer}x" in err) == (2, True)


place = copy_of(lambda folder: copy_example(folder, {"sales_001", "sales_004"}))


@pytest.mark.parametrize("words", ["sales_004 --explain", "number_match --prediction 17 --gold 17.5"])
def test_reports_of_one_instance_and_of_one_prediction(words: str, place: Path) -> None:
    """-o writes what is shown in every format; an id alone is one of the last run, which a note names; of an unknown name
    the nearest instance is proposed."""
    said("run example_submission_folder -q --isolation none")
    files = [f"c.{ending}" for ending in ("html", "md", "csv", "json", "xml", "svg", "parquet")]
    noted = called("check", *words.split(), *(f"--output={file}" for file in files), cwd=place).stderr
    assert noted.startswith("note: the last run, ") is words.startswith("sales_004")
    whole = as_json(f"check {words}")
    assert json.loads(Path("c.json").read_text()).keys() == whole.keys()
    assert all(whole["reason"].split()[0] in Path(file).read_text() for file in files[:5])
    assert all(Path(file).stat().st_size for file in files)
    errors = said("check sales_4", code=2)
    assert not lacks(errors, "'sales_4' is no scorer, and no instance of the last run", "check sales_004\n")
    assert "unknown scorer 'nope'" in said("check nope", code=2)


GOLD = [{"method": "sputtering", "temperature": 300, "lab_id": "A1"}, {"method": "evaporation", "temperature": 450, "lab_id": "B2"}]
EXTRACTED = [{"method": "sputtering", "temperature": 301, "lab_id": "A1"}, {"method": "evaporation", "temperature": 460, "lab_id": "B3"}]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The quick start of Struct Extract Eval as files; `*_ids` carry ids, the extracted ones in the other order."""
    tables: dict[str, list[Any]] = {
        "gold": GOLD,
        "extracted": EXTRACTED,
        "gold_ids": [{"id": n, **record} for n, record in enumerate(GOLD)],
        "extracted_ids": [{"id": n, **record} for n, record in enumerate(EXTRACTED)][::-1],
    }
    for name, records in tables.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return {name: str(tmp_path / f"{name}.jsonl") for name in tables} | {"schema": str(tmp_path / "s.json")}


def check(capsys: Capture, prediction: str, gold: str, *words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `evalsuite check tree_match`."""
    code = main(["check", "tree_match", "--prediction", prediction, "--gold", gold, *words])
    return code, *capsys.readouterr()


def test_the_quick_start(files: dict[str, str], capsys: Capture) -> None:
    """Schema inferred and annotated by commands, then P = R = F1 = 0.50 under both rules, the records 2/3 and 1/3."""
    Path(files["schema"]).write_text(said("schema infer", files["gold"]))
    Path(files["schema"]).write_text(said("schema annotate", files["schema"]))
    code, out, err = check(capsys, files["extracted"], files["gold"], "--schema", files["schema"], "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert (found["score"], found["official"], found["strict"]) == (0.5, 0.5, 0.5)
    details = found["details"]
    assert (details["precision"], details["recall"], details["f1"]) == (0.5, 0.5, 0.5)
    assert [row["f1"] for row in details["records"]] == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("prediction", "gold", "words", "message"),
    [
        ("nowhere.jsonl", "{}", [], "MISSING_FILE: nowhere.jsonl"),
        ("{", '{"a": 1}', [], "BAD_JSON"),
        ('{"a": 1}', "nowhere.json", [], "MISSING_FILE: nowhere.json"),
        ('{"a": 1}', '{"a": 1}', ["--schema", "nowhere.json"], "MISSING_FILE: nowhere.json"),
        ('{"a": 1}', '{"a": 1}', ["--schema", '{"type": 3}'], "BAD_SPEC"),
    ],
)
def test_faults_exit_2(prediction: str, gold: str, words: list[str], message: str, capsys: Capture) -> None:
    """What cannot be read is named, on one line."""
    code, out, err = check(capsys, prediction, gold, *words)
    assert (code, out) == (2, "")
    assert message in err.splitlines()[0]


@pytest.mark.parametrize("name", ["tree_match", "tree_score"])
def test_two_hundred_records_are_tables(name: str, tmp_path: Path) -> None:
    """Of 200 records the fields, the worst records and the differences of the first wrong one are shown, in lines that fit a screen."""
    gold = [{"id": f"r{n}", "a": n, "b": [{"c": "text " * 9, "d": n}] * 3} for n in range(200)]
    answers = [{**record, "a": -1} if n in (7, 150) else record for n, record in enumerate(gold)]
    for file, records in (("g.jsonl", gold), ("a.jsonl", answers)):
        (tmp_path / file).write_text("\n".join(map(json.dumps, records)))
    words = ["--prediction", str(tmp_path / "a.jsonl"), "--gold", str(tmp_path / "g.jsonl"), "--id-field", "id"]
    out = said("check", name, *words)
    assert max(map(len, out.splitlines())) < 200
    assert "fields, worst first" in out
    worst = out[out.index("records, worst first") :].splitlines()[2:4]
    assert ["7" in worst[0].split()[0], "150" in worst[1].split()[0]] == [True, True]
    assert "... 190 more records" in out
    difference = out.splitlines()[-1].split()
    assert difference == ["a", "mismatch", "7", "-1"]


WORDS = st.sampled_from(
    [
        *("--prediction", "--gold", "--rules", "--json", "--exclude", "--percentage", "--precision", "--no-percentage", "--prediction=x"),
        *("--gold=", "--rules=strict", "--json=1", "--precision=2", "--fail-under", "--layout", "--", "-", "-5", "-q", "--help"),
        *("strict", "official", "a b", "", "0.5", "--unknown", "--result_dir", "é"),
    ]
)


@examples(500)
@given(st.lists(WORDS, max_size=7))
def test_what_is_read_at_once_is_read_as_the_parser_does(words: list[str]) -> None:
    """Where `plain_call` answers, the parser gives the same values and leaves the same words to the scorer."""
    plain = plain_call(["string_match", *words])
    if plain is None:
        return
    command: Any = load_command("check")
    context = command.make_context("check", ["string_match", *words])
    given_, rest, as_json = plain
    read = context.params
    assert (read["name"], list(read["prediction"] or []), list(read["gold"] or [])) == (
        "string_match",
        given_["--prediction"],
        given_["--gold"],
    )
    assert read["rules"] == (given_["--rules"][-1] if given_["--rules"] else None)
    assert (list(context.args), read["json_"]) == (rest, as_json)
    assert not [name for name in ("result_dir", "gold_dir", "plugin", "judge", "fail_under", "explain") if read[name]]


def test_plain_calls() -> None:
    """Own options are the command's, a scorer without a reference needs no gold, and a string check loads nothing heavy."""
    spelled = {name.replace("_", "-") for option in load_command("check").params for name in option.opts if name.startswith("--")}
    assert set(OWN_OPTIONS) == spelled
    assert "category          hedging" in said("check hedging_language --prediction", "As an AI I cannot say")
    assert "no gold given" in said("check f1 --prediction a", code=2)
    code = (
        "import sys\nfrom evalsuite.cli import main\n"
        "assert main(['check', 'string_match', '--prediction', '-', '--gold', 'Paris', '--exclude', 'Rome', '--fail-under', '1']) == 0\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}))"
    )
    done = finished([sys.executable, "-c", code], text="It is Paris\n", check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", SCORERS.names())
def test_the_help_of_one(name: str) -> None:
    """Parameters and both rules are explained in lines of a screen; the last line gives the scorer the parameters of the entry above it."""
    out = said("scorers", name)
    body = out.split("\nexample, an entry")[0].splitlines()
    assert max(map(len, body)) <= 110
    for word in (*SCORERS.load(name).parameters, "official", "strict"):
        assert any(line.startswith(f" {word} ") for line in body), word
    *_, entry, _, _, line = said("scorers", name).splitlines()
    words = shlex.split(line)
    assert words[:3] == ["evalsuite", "check", name]
    rest = words[3:]
    while "--prediction" in rest:
        del rest[(at := rest.index("--prediction")) : at + 2]
    assert parse_options(SCORERS.load(name), rest) == json.loads(entry)["parameters"]


def test_the_list_of_scorers(tmp_path: Path) -> None:
    """The list and one scorer as data, an unknown name with the near one, and of a plugin no sentence twice and no empty example."""
    listed = as_json("scorers")
    assert [row["name"] for row in listed] == SCORERS.names()
    one = as_json("scorers number_match")
    parameters = {row["name"]: row for row in one["parameters"]}
    assert (parameters["gold"]["needed"], parameters["precision"]["default"], parameters["percentage"]["type"]) == (
        True,
        4,
        "true or false",
    )
    assert set(one["rules"]) == {"official", "strict"}
    assert said("scorers tabel_match", code=2) == (
        "error: unknown scorer 'tabel_match'\nhint: did you mean 'table_match'?\ntry: evalsuite scorers table_match\n"
    )
    marked = "from evalsuite import scorer\n\n@scorer(reads='text')\n"
    (tmp_path / "a.py").write_text(f'{marked}def loud(answer, *, gold: str):\n    """1 if it is loud."""\n    return 1\n')
    (tmp_path / "b.py").write_text(f"{marked}def plain(answer):\n    return 1\n")
    assert said("scorers", "loud", "--plugin", tmp_path / "a.py").splitlines() == [
        "loud: 1 if it is loud.",
        "reads a text (answer type: answer)",
        "",
        "parameters",
        " gold   text, required",
    ]
    assert said("scorers", "plain", "--plugin", tmp_path / "b.py").endswith("\n\nno parameters\n")


RUN = "run example_submission_folder --no-cache -q --only"
EXAMPLE = "--result_dir example_submission_folder --gold gold"
HIDDEN = "q1 --result_dir hidden/answers --gold hidden/gold"


@copy_of
def explained(folder: Path) -> None:
    """Two instances of the example, and a suite whose gold is hidden with a hostile answer that is 100 times gold."""
    copy_example(folder, {"sales_001", "sales_007"})
    for side, rows in (
        (folder / "hidden/gold", "region,share\nNorth\x1b[31m,0.1275\nSouth,0.4411\nEast,0.1926\nWest,0.2388\n"),
        (folder / "hidden/answers", "region,share\nNorth\x1b[31m,12.75\nSouth,44.11\nEast,19.26\nWest,23.88\n"),
    ):
        (side / "q1").mkdir(parents=True)
        (side / "q1" / "result.csv").write_text(rows)
    (folder / "hidden/gold/suite.yaml").write_text("hidden: true\n")
    write_gold(folder / "hidden/gold", q1={"func": "table_match", "parameters": {"gold": "result.csv"}})
    write_answers(folder / "hidden/answers", ("q1", "file", "result.csv"))


def test_the_last_run_is_the_default(explained: Path) -> None:
    """`explain`, `report`, `margins` and `bundle` take the newest run, named on stderr; its folder shows cause, rows and SQL."""
    commands = ("explain sales_007", "report", "margins", "bundle sales_007 -o case.md")
    note, other = "note        the saved run gives another reason: ", "note: the saved run gives another verdict: its answer or gold has "
    for words in commands:
        assert "no run is named, and there is none in .evalsuite/runs" in said(words, code=2)
    for only in ("sales_001", "sales_007"):
        said(f"{RUN} {only}")
    name = find_runs()[-1].name
    for words in commands:
        shown = called(*words.split(), cwd=Path())
        assert f"note: the last run, {name}\n" in shown.stderr, words
        Path("case.md").unlink(missing_ok=True)
        if not words.startswith("bundle"):
            assert said(f"{words} {name if ' ' not in words else f'--run {name}'}", code=shown.returncode) == shown.stdout, words
        assert not any(text in shown.stdout + shown.stderr for text in (note, other)), words
        if words == commands[0]:
            assert not lacks(shown.stdout, "proved      rows scrambled", "EXCEPT ALL")
    # From elsewhere the files are those of the run's history, and a note says so, even if a submission of that name is here.
    run_folder, elsewhere = find_runs()[-1].folder.resolve(), Path("elsewhere")
    (elsewhere / "example_submission_folder").mkdir(parents=True)
    for command in ("explain", "check", "bundle"):
        far = called(command, "sales_007", "--run", str(run_folder), cwd=elsewhere)
        assert f"note: the submission of {name} is read from {Path('example_submission_folder').resolve()}\n" in far.stderr
        assert (far.returncode, "sales_007" in far.stdout) == (0, True)
    # Under other rules a right answer has another reason.
    assert "why         8 rows match" in (right := said(f"explain sales_001 --rules strict --run {find_runs()[0].name}"))
    assert note not in right
    assert other not in called("check", "sales_007", cwd=Path()).stderr
    # An answer that changed since is explained as it is now, with a note; at a level that hides reasons without it.
    file = next(Path("example_submission_folder/sales_007").glob("*.csv"))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    assert note in said("explain sales_007")
    assert note not in said("explain sales_007 --reveal status")
    assert all(other in called(*words.split(), cwd=Path()).stderr for words in ("check sales_007", commands[-1]))
    assert other not in called("check", "sales_007", "--reveal", "status", cwd=Path()).stderr
    assert other not in called("check", "sales_007", "--gold", "gold", cwd=Path()).stderr


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("", "broken has no answer to this instance; `evalsuite validate` says what it contains"),
        ('{"instance_id": "q1", "answer_type": "file", "answer_or_path": "no.csv"}', "paths are relative to <submission>/<instance_id>/"),
    ],
)
def test_a_missing_answer_and_a_fault_have_a_way_out(explained: Path, line: str, hint: str) -> None:
    """Below the reason is what to do; not where the level hides the reason too."""
    Path("broken").mkdir()
    Path("broken/results_metadata.jsonl").write_text(line + "\n")
    Path("hidden/gold/suite.yaml").unlink()
    words = "explain q1 --result_dir broken --gold hidden/gold"
    assert f" hint        {hint}" in said(words).splitlines()
    assert "hint" not in said(f"{words} --reveal status")


@pytest.mark.parametrize(
    "words", ["explain Q", "explain Q --json", "check Q", "check Q --json", "check Q --explain", "check Q --explain --json"]
)
def test_hidden_gold_stays_hidden(explained: Path, words: str) -> None:
    """By default the cause alone is named, no cell and not the spec; a chosen level shows more, also as the one object of `--json`."""
    line = words.replace("Q", HIDDEN)
    shown = said(line)
    assert not [word for word in ("0.1275", "0.4411", "North", "share", "12.75", "table_match(") if word in shown]
    is_explained = words.startswith("explain") or "--explain" in words
    if "--json" in words:
        data = json.loads(shown)
        assert data.get("explanation", {}).get("cause") == ("times 100" if is_explained else None)
        assert data.get("reveal") == ("class" if is_explained else None)
        assert words.startswith("explain") or data["score"] == 0
    else:
        assert ("times 100" in shown) == is_explained
    revealed = said(f"{line} --reveal cells")
    assert ("0.1275" in revealed, "\x1b" in revealed) == (True, False)
    assert "hint:" in said(f"{line} --reveal everything", code=2)


@pytest.mark.parametrize("words", ["explain q1", f"explain nobody {EXAMPLE}", "check string_match --explain --prediction a --gold b"])
def test_mistakes(explained: Path, words: str) -> None:
    """No submission, nothing to explain, and an unknown id end with a hint and exit code 2."""
    assert "hint:" in said(words, code=2)
