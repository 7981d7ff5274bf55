"""Options under their other names, and small ones that no other test gives: each changes what the command says."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.runs.worker_pool import Pool
from evalsuite.suites.stored_suites import load_suite
from tests.cli.test_run import text_gold, text_submission, write_lines
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")
RUN = ["--isolation", "none", "--quiet"]


def make_runs(folder: Path) -> None:
    """Gold elsewhere than by default, two submissions and a saved run of each."""
    text_gold(folder / "truth", a="Paris", b="Rome")
    for name, answer in (("one", "Rome"), ("two", "Oslo")):
        text_submission(folder / name, a="Paris", b=answer)
        assert main(["run", name, "--gold", "truth", "--out", f"runs/{name}", *RUN]) == 0


place = copy_of(make_runs)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code and all that a command prints."""
    capsys.readouterr()
    code = main(list(words))
    shown = capsys.readouterr()
    return code, shown.out + shown.err


@pytest.mark.parametrize(
    "words",
    [
        "validate one GOLD truth",
        "explain b --run runs/two GOLD truth",
        "compare one two GOLD truth --json --isolation none",
        "leaderboard one two GOLD truth --no-cache --json --isolation none --runs elsewhere",
        "connections list GOLD truth",
        "connections test GOLD truth",
    ],
)
def test_gold_by_the_references_name(words: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--gold-dir` is `--gold`: the same output; another folder says something else."""
    first, again, other = (
        said(capsys, *words.replace("GOLD", option).replace("truth", folder).split())
        for option, folder in (("--gold", "truth"), ("--gold-dir", "truth"), ("--gold-dir", "nowhere"))
    )
    if "--json" in words:
        # Each board saves its own runs.
        unsaved = re.compile(r'"run": "[^"]*"')
        first, again = ((code, unsaved.sub("", text)) for code, text in (first, again))
    assert again == first
    assert other != first
    assert "No such option" not in again[1]


def test_runs_of_the_references_command_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its options for threads, temporary files and messages are taken; `--exitfirst` is `-x`."""
    theirs = ["--max-workers", "1", "--temp-dir", "tmp", "--is-sql-debug"]
    code, shown = said(capsys, "run", "one", "--gold", "truth", "--no-save", "--isolation", "none", *theirs)
    assert (code, "100.0 %" in shown) == (0, True)
    assert not (place / "tmp").exists()
    stopped = [said(capsys, "run", "two", "--gold", "truth", "--no-save", "--isolation", "none", word) for word in ("-x", "--exitfirst")]
    assert stopped[0] == stopped[1]
    assert stopped[0][0] == 1


def test_a_board_without_names(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In either spelling; no name of a submission is in it."""
    words = ["leaderboard", "one", "two", "--gold", "truth", "--isolation", "none", "--json"]
    found = [said(capsys, *words, option)[1] for option in ("--anonymise", "--anonymize")]
    names = [[entry["name"] for entry in json.loads(text)["rows"]] for text in found]
    assert names[0] == names[1]
    assert not {"one", "two"} & {*names[0]}


def test_runs_are_listed_by_tag_model_and_day(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each option leaves out the others; a tag that was removed lists nothing."""
    (place / "q.csv").write_text("input,reference_output,candidate_output\nwhere?,here,here\n")
    assert main(["suite", "create", "s", "--from", "q.csv", "--scorer", "exact_match"]) == 0
    notes = ["--model-version", "v2", "--foundation-model", "base", "--prompt-template", "Say it", "--description", "by night"]
    for name, model, more in (("first", "model m", []), ("second", "another", notes)):
        assert main(["suite", "run", "s", name, "--from", "q.csv", "--model-name", model, *more]) == 0
        shown = said(capsys, "runs", "show", name)[1]
        assert [word in shown for word in notes[1::2]] == [name == "second"] * 4

    def listed(*options: str) -> list[str]:
        shown = said(capsys, "runs", "list", *options)[1]
        return [name for name in ("first", "second") if f"-{name}" in shown]

    assert main(["suite", "run", "s", "third", "--from", "q.csv", "--invalid-as", "one"]) == 2
    assert listed() == ["first", "second"]
    assert [listed("--model", "model*"), listed("--model", "other*")] == [["first"], []]
    for option, all_of_them, none in (
        ("--until", "2999-01-01", "2020-01-01"),
        ("--since", "2020-01-01", "2999-01-01"),
        ("--suite", "s*", "x*"),
    ):
        assert [listed(option, all_of_them), listed(option, none)] == [["first", "second"], []]
    assert main(["runs", "tag", "second", "--add", "best"]) == 0
    assert [listed("--tag", "best"), listed("--tag", "other")] == [["second"], []]
    assert main(["runs", "tag", "second", "--remove", "best"]) == 0
    assert listed("--tag", "best") == []


def test_a_suite_with_a_description_and_blank_cells(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Blank cells are refused unless they are said to be empty texts; the description is kept; a parameter of a try decides."""
    (place / "q.csv").write_text("input,reference_output,candidate\nwhere?,Here,here\nwhen?,,now\n")
    words = ["suite", "create", "s", "--from", "q.csv", "--scorer", "exact_match", "--description", "two questions"]
    assert said(capsys, *words)[0] == 2
    assert said(capsys, *words, "--allow-empty")[0] == 0
    suite = load_suite("s")
    assert (suite.description, len(suite.test_cases)) == ("two questions", 2)
    (place / "t.csv").write_text("input,reference,a,b\n" + "".join(f"q{i},Here{i},here{i},Here{i}\n" for i in range(6)))
    tried = ["suite", "try", "t.csv", "--candidate", "a", "--candidate", "b", "--scorer", "exact_match"]
    exact, loose = said(capsys, *tried)[1], said(capsys, *tried, "--parameter", "ignore_case=true")[1]
    assert ("0.0 %" in exact, "0.0 %" in loose.replace("100.0 %", "")) == (True, False)
    assert exact not in [said(capsys, *tried, *more)[1] for more in (("--alpha", "0.01"), ("--verbose", "-o", "tried.md"))]
    assert (place / "tried.md").exists()


def test_a_suite_with_unscored_answers(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`suite run` and `suite try` end with 4 without a verdict, and with 0 where that is allowed or it is on a scale of its own."""
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.can_sandbox_programs", lambda: False)
    (place / "q.csv").write_text("input,reference_output,candidate_output\nx?,assert x == 1,x = 1\n")
    assert main(["suite", "create", "s", "--from", "q.csv", "--scorer", "python_unit_testing"]) == 0
    codes = [main(["suite", "run", "s", f"run{len(more)}", "--from", "q.csv", *more]) for more in ([], ["--allow-unscored"])]
    assert codes == [4, 0]
    tried = ["suite", "try", "q.csv", "--reference", "reference_output", "--candidate", "candidate_output", "-q", "--scorer"]
    for more, code in ((["python_unit_testing"], 4), (["python_unit_testing", "--allow-unscored"], 0), (["readability"], 0)):
        assert main([*tried, *more]) == code, more


def make_scored(folder: Path) -> None:
    """A gold folder of numbers in two groups, two submissions and a run of each, two tables of the same rows, and a suite of texts."""
    spec = [(name, {"func": "number_match", "parameters": {"gold": value, "abs_tol": 1}}) for name, value in (("a", 5), ("b", 7))]
    write_lines(folder / "gold/x_eval.jsonl", *({"instance_id": name, "evaluation": how} for name, how in spec))
    (folder / "gold/suite.yaml").write_text("groups: {part_a: [a], part_b: [b]}\n")
    for name, answers in (("one", ("5", "8")), ("two", ("6", "9"))):
        text_submission(folder / name, **dict(zip("ab", answers, strict=True)))
        assert main(["run", name, "--gold", "gold", "--out", f"runs/{name}", *RUN]) == 0
    for name, text in (("here.csv", "n\n1\n2\n"), ("turned.csv", "n\n2\n1\n"), ("qa.csv", "input,turned,right,model\nx,y,A,A\ny,x,B,b\n")):
        (folder / name).write_text(text)
    assert main(["suite", "create", "s", "--from", "qa.csv", "--reference", "right", "--scorer", "exact_match"]) == 0


scored = copy_of(make_scored)


@pytest.mark.parametrize(
    ("words", "option", "without", "with_it"),
    [
        ("margins runs/one", "--rules strict", "rules official", "rules strict"),
        ("margins runs/one", "--reveal none", "closest to another verdict", ""),
        ("margins runs/one", "--json", "score against tolerance", '"steps"'),
        ("margins runs/one", "-o report.md", "", "report.md"),
        ("gold suspects runs/one runs/two --isolation none", "--rules strict", "1 of 2 instances", "0 of 2 instances"),
        ("gold suspects runs/one runs/two --isolation none", "--gold nowhere", "", "nowhere: no such gold folder"),
        ("verify runs/one --sample 1 --isolation none", "--seed 123456", "", "123456"),
        ("verify runs/one --isolation none", "--result-dir two", "one is as it was submitted", "two is not what was scored"),
        ("run one --gold gold --no-save --isolation none --no-cache", "--durations 1", "", "slowest 1"),
        ("gold lint gold", "--json", "", '"findings"'),
        ("gold audit gold --isolation none", "--most 1", "20 answers made", "4 answers made"),
        ("samples one two --gold gold --isolation none --json", "--rules strict", '"rules": "official"', '"rules": "strict"'),
        ("explain turned.csv here.csv", "--ordered", "", "order"),
        ("explain turned.csv here.csv", "-o report.md", "", "report.md"),
        ("run one --gold gold --no-save --isolation none --json", "--max-bytes-billed 77", "", '"billed_bytes": 77'),
        ("run two --gold gold --no-save --isolation none --no-cache", "--limit rows=77", "", "limits:"),
        ("run two --gold gold --no-save --isolation none --no-cache", "--reveal none", "closest is 9", ""),
        ("report runs/two", "--reveal none", "closest is 9", ""),
        ("explain b --run runs/two", "--rules strict", "under official rules", "under strict rules"),
        ("bundle a --run runs/two", "--rules lenient", "The smallest case", "no rules 'lenient'"),
        ("bundle a --run runs/two", "--isolation no", "The smallest case", "--isolation"),
        ("compare runs/one runs/two", "--rules strict", "rules official", "rules strict"),
        ("compare runs/one runs/two", "--cluster part_", "", "cluster"),
        ("leaderboard one two --gold gold --isolation none", "--by scorer", "", "number_match"),
        ("drift runs/one --isolation none", "--gold nowhere", "", "nowhere: no such gold folder"),
        ("connections list", "--databases nowhere", "", "nowhere: no such folder"),
        ("connections test", "--databases nowhere", "", "nowhere: no such folder"),
        ("suite run s --from qa.csv --candidate model", "again --input turned", "done: 50.0 %", "done: 0.0 %"),
        ("suite run s --from qa.csv --candidate model", "again --json", "next: ", '"n_judged"'),
        ("suite run s --from qa.csv --candidate model", "again --quiet -o report.md", "next: ", "report.md"),
        ("suite try qa.csv --candidate model --reference right", "--scorer exact_match", "by string_match", "by exact_match"),
    ],
)
def test_each_changes_what_is_said(
    words: str, option: str, without: str, with_it: str, scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A text that is said, or a file that is there, only without an option, and one only with it."""
    first, second = (said(capsys, *words.split(), *more)[1] + str(sorted(scored.iterdir())) for more in ([], option.split()))
    if without:
        assert (without in first, without in second) == (True, False), second
    if with_it:
        assert (with_it in first, with_it in second) == (False, True), second


@pytest.mark.parametrize(
    "words",
    [
        "gold check gold",
        "compare one two --no-cache",
        "leaderboard one two --no-cache",
        "samples one two --gold gold",
        "drift runs/one",
        "gold audit gold",
        "gold suspects runs/one runs/two",
        "rescore runs/one",
        "verify runs/one",
    ],
)
def test_jobs(words: str, scored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many pairs of workers are asked for, and none that is isolated."""
    asked: list[tuple[int, object]] = []
    made = Pool.__init__

    def spy(pool: Pool, *, jobs: int, **options: Any) -> None:
        asked.append((jobs, options["isolation"]))
        made(pool, jobs=jobs, **options)

    monkeypatch.setattr(Pool, "__init__", spy)
    for jobs in ("5", "6"):
        main([*words.split(), "--isolation", "none", "--jobs", jobs, *["--no-cache"] * words.startswith("rescore")])
    assert {*asked} == {(5, "none"), (6, "none")}


def test_databases(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Samples of queries and an audit of a pair run on the databases of the folder that is given, and on no others."""
    (scored / "dbs").mkdir()
    with sqlite3.connect("dbs/shop.sqlite") as connection:
        connection.executescript("create table sale (n integer); insert into sale values (1), (2);")
    connection.close()
    spec = {"func": "sql_match", "parameters": {"gold": "SELECT n FROM sale WHERE n > 1", "database": "shop"}}
    write_lines(scored / "gold/x_eval.jsonl", {"instance_id": "a", "evaluation": spec})
    for name in ("one", "two"):
        text_submission(scored / name, a="SELECT n FROM sale WHERE n > 1")
    for words in ("samples one two --gold gold", "gold audit gold"):
        without, with_it = (said(capsys, *words.split(), "--isolation", "none", *more) for more in ([], ["--databases", "dbs"]))
        assert without != with_it
        assert with_it[0] == 0
