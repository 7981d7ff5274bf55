"""Layouts of gold and submission folders are recognised, and read with the right files."""

import json
import re
from pathlib import Path

import pytest

from evalsuite.core.errors import GoldError, OutputError, SubmissionError, UsageError
from evalsuite.gold.layouts import LAYOUTS, convert, layout_of, read_gold, read_submission
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.submission_files import submission_files, submission_hash
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.gold.layouts import CITIES, gold_folder, submission_folder

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.mark.parametrize(("spec", "entry", "expected"), [
    ("spider2lite_eval.jsonl", {"condition_cols": []}, "lite"), ("spider2snow_eval.jsonl", {"ignore_order": True}, "snow"),
    ("my_eval.jsonl", {"condition_cols": []}, "lite"), ("my_eval.jsonl", {}, "lite"),
    ("spider2lite_eval.jsonl", {"evaluation": {"func": "string_match", "parameters": {"gold": "x"}}}, "original"),
])  # fmt: skip
def test_detection(tmp_path: Path, spec: str, entry: dict[str, object], expected: str) -> None:
    """The first entry tells Lite and Snow from the original, the name of the spec tells the two from each other."""
    (tmp_path / "exec_result").mkdir()
    (tmp_path / spec).write_text(json.dumps({"instance_id": "a", **entry}) + "\n")
    assert layout_of(tmp_path / spec) == expected
    assert read_gold(tmp_path).layout == expected


def test_unknown_layouts_are_refused(tmp_path: Path) -> None:
    """A layout that is not in the table is an error that names those that are."""
    gold = gold_folder(tmp_path / "gold", {"a": {}}, {"a.csv": CITIES})
    with pytest.raises(UsageError, match="no layout 'frost'") as told:
        read_gold(gold, layout="frost")
    assert all(name in told.value.hint for name in LAYOUTS)
    with pytest.raises(UsageError, match="--rules bird-ex is for pairs of queries"):
        read_gold(gold, layout="bird-ex")
    assert read_gold(gold, layout="snow").layout == "snow"
    with pytest.raises(GoldError, match=r"^gold/spider2lite_eval\.jsonl: "):
        read_gold(gold, {**DEFAULT_LIMITS, "metadata_bytes": 5})
    (tmp_path / "a_eval.jsonl").write_text('{"instance_id": "a", "evaluation": {"func": "string_match", "parameters": {"gold": "x"}}}\n')
    assert read_gold(tmp_path, layout="original").layout == "original"
    with pytest.raises(UsageError, match="is not of the layout lite: its entries have an 'evaluation'"):
        read_gold(tmp_path, layout="lite")


def test_an_entry_becomes_one_check(tmp_path: Path) -> None:
    """A `table_match` under the layout's reference; a slip in an entry of the original layout is told so, not taken for Lite."""
    folder = gold_folder(tmp_path / "gold", {"a": {"condition_cols": [1], "toks": "9"}}, {"a.csv": CITIES}, layout="snow")
    (instance,) = read_gold(folder).instances
    (check,) = instance.checks
    assert (check.scorer, check.parameters["reference"], check.parameters["condition_cols"]) == ("table_match", "snow", [1])
    assert dict(instance.extra) == {"toks": "9"}
    (tmp_path / "a_eval.jsonl").write_text('{"instance_id": "a", "evalution": {}}\n')
    with pytest.raises(GoldError, match="evaluation is missing"):
        read_gold(tmp_path)


def test_gold_without_a_table(tmp_path: Path) -> None:
    """A forgotten table is gold's fault; where a query makes it, a connection is what is missing."""
    folder = gold_folder(tmp_path / "gold", {"a": {}, "b": {"temporal": True}, "c": {}}, {})
    (folder / "sql").mkdir()
    (folder / "sql" / "c.sql").write_text("select 1")
    codes = [[problem.code for problem in instance.checks[0].problems] for instance in read_gold(folder).instances]
    assert codes == [["BAD_GOLD_FILE"], ["NEEDS_CONNECTION"], ["NEEDS_CONNECTION"]]


@pytest.mark.parametrize("layout", ["lite", "snow"])
def test_submissions_of_answer_files(tmp_path: Path, layout: str) -> None:
    """A folder of `<id>.csv` or `<id>.sql` gives one answer a file; other files are noted and hidden ones passed over."""
    tables = submission_folder(tmp_path / "tables", {"b.csv": "n\n1\n", "a.csv": "n\n1\n", "read.me": "", ".x.csv": "", ".csv": ""})
    found = read_submission(tables, layout=layout)
    assert [(a.instance_id, a.answer_type, a.value, a.where) for a in found.answers.values()] == [
        ("a", "file", "a.csv", "a.csv"),
        ("b", "file", "b.csv", "b.csv"),
    ]
    assert found.notes == ("read.me is not read: answers are <id>.csv",)
    known = read_submission(tables, layout=layout, ids={"a", "c"})
    assert ([*known.answers], known.n_unknown, known.unknown, known.n_objects) == (["a"], 1, (("b.csv", "b"),), 2)
    (tables / "more").write_text("")
    for most, notes in ((2, ()), (1, ("1 more files are not read",))):
        kept = read_submission(tables, {**DEFAULT_LIMITS, "notes": most}, layout=layout).notes
        assert kept == (*(f"{name} is not read: answers are <id>.csv" for name in ("more", "read.me")[:most]), *notes)
    queries = read_submission(submission_folder(tmp_path / "sql", {"a.sql": "select 1"}), layout=layout)
    assert [(a.answer_type, a.value) for a in queries.answers.values()] == [("sql", "a.sql")]


def test_modes(tmp_path: Path) -> None:
    """Where both kinds of file lie, the mode has to say which are meant; a folder without the asked kind holds no submission."""
    both = submission_folder(tmp_path / "both", {"a.csv": "n\n1\n", "b.sql": "select 1"})
    with pytest.raises(UsageError, match="both"):
        read_submission(both, layout="lite")
    assert list(read_submission(both, layout="lite", mode="sql").answers) == ["b"]
    assert list(read_submission(both, layout="lite", mode="exec_result").answers) == ["a"]
    one = submission_folder(tmp_path / "one", {"a.csv": ""})
    gold = submission_folder(tmp_path / "gold", {"spider2lite_eval.jsonl": ""})
    for folder, mode, hint in (
        (one, "sql", "it has .csv files: --mode exec_result"),
        (gold, None, f"{gold} contains *_eval.jsonl, so it is gold"),
    ):
        with pytest.raises(SubmissionError, match=r"no <id>\..* in it") as refused:
            read_submission(folder, layout="lite", mode=mode)
        assert refused.value.hint.startswith(hint)
    for mode, expected in ((None, "no <id>.csv and no <id>.sql in it"), ("exec_result", "no <id>.csv in it")):
        with pytest.raises(SubmissionError, match=f"none: {re.escape(expected)}"):
            read_submission(submission_folder(tmp_path / str(mode) / "none", {"read.me": ""}), layout="lite", mode=mode)
    with pytest.raises(SubmissionError, match="no such"):
        read_submission(tmp_path / "nowhere", layout="lite")
    with pytest.raises(UsageError, match="cannot be 'csv'"):
        read_submission(both, layout="lite", mode="csv")
    with pytest.raises(UsageError, match="for the layouts"):
        read_submission(both, mode="sql")


def test_metadata_is_read_where_no_answer_file_lies(tmp_path: Path) -> None:
    """Against gold of any layout; without metadata a database in a folder of the instance's name is an answer."""
    line = '{"instance_id": "a", "answer_type": "file", "answer_or_path": "r.csv"}\n'
    folder = submission_folder(tmp_path / "s", {"results_metadata.jsonl": line})
    assert read_submission(folder, layout="snow").answers["a"].value == "r.csv"
    (tmp_path / "q1").mkdir()
    (tmp_path / "q1" / "x.duckdb").touch()
    found = read_submission(tmp_path, ids={"q1"})
    assert [(one.instance_id, one.answer_type, one.value) for one in found.answers.values()] == [("q1", "file", "x.duckdb")]


def test_the_hash_covers_the_answer_files(tmp_path: Path) -> None:
    """What was handed in has one hash wherever it lies, and another one when a cell changes or a file is added."""
    a = submission_folder(tmp_path / "a", {"a.csv": "n\n1\n"})
    b = submission_folder(tmp_path / "b", {"a.csv": "n\n1\n"})
    first = submission_hash(read_submission(a, layout="lite"))
    assert submission_hash(read_submission(b, layout="lite")) == first
    assert "a.csv" in submission_files(read_submission(a, layout="lite"))
    (b / "b.csv").write_text("n\n1\n")
    assert submission_hash(read_submission(b, layout="lite")) != first
    (a / "a.csv").write_text("n\n2\n")
    assert submission_hash(read_submission(a, layout="lite")) != first


ENTRIES: dict[str, dict[str, object]] = {
    "null": {},
    "flat": {"condition_cols": [1]},
    "first": {"condition_cols": [0, 1]},
    "few": {"condition_cols": [[0]]},
    "lost": {"temporal": True},
}
TABLES = {"null.csv": "n\n1\n\n", "flat_a.csv": CITIES, "flat_b.csv": "a,b\nu,7\nv,8\n", "first_a.csv": CITIES}
TABLES |= {"null.csv": 'n,m\n1,a\n,b\n', "few_a.csv": CITIES, "few_b.csv": "a\n5\n"}  # fmt: skip
ANSWERS = {
    "null.csv": "n,m\n1,a\n0,b\n",
    "flat.csv": "x\n8\n7\n",
    "first.csv": "c\nRome\nOslo\n",
    "few.csv": "q\nOslo\nRome\n",
    "lost.csv": "a\n1\n",
}


@pytest.mark.parametrize("layout", ["lite", "snow"])
def test_converted_gold_gives_the_same_verdicts(tmp_path: Path, layout: str) -> None:
    """Nothing is lost on the way to the original layout: entries, keys, files, suite, and every verdict under both rules."""
    gold = gold_folder(tmp_path / "gold", ENTRIES, TABLES, layout=layout)
    (gold / "suite.yaml").write_text("name: mine\n")
    (gold / "sql").mkdir()
    (gold / "sql" / "lost.sql").write_text("select 1")
    (tmp_path / "converted").mkdir()
    done = convert(gold, tmp_path / "converted")
    assert (done.n_instances, done.n_files, done.notes) == (5, 7, ())
    assert (tmp_path / "converted" / "lost" / "gold.sql").read_text() == "select 1"
    converted = read_gold(tmp_path / "converted")
    assert (converted.layout, converted.suite.name) == ("original", "mine")
    assert [dict(i.extra) for i in converted.instances] == [dict(i.extra) for i in read_gold(gold).instances]
    flat = submission_folder(tmp_path / "s", ANSWERS)
    deep = tmp_path / "deep"
    lines = []
    for name, text in ANSWERS.items():
        id_ = name.removesuffix(".csv")
        submission_folder(deep / id_, {name: text})
        lines.append(json.dumps({"instance_id": id_, "answer_type": "file", "answer_or_path": name}))
    (deep / "results_metadata.jsonl").write_text("\n".join(lines))
    options = RunOptions(save=False, isolation="none")
    ours, theirs = run(flat, gold, options).results, run(deep, tmp_path / "converted", options).results
    assert [(r.instance_id, r.status, r.official, r.strict) for r in ours] == [
        (r.instance_id, r.status, r.official, r.strict) for r in theirs
    ]


def test_what_cannot_be_converted(tmp_path: Path) -> None:
    """Original gold needs no converting, nothing is written over, and files of no instance are told."""
    gold = gold_folder(tmp_path / "gold", {"a": {}}, {"a.csv": CITIES, "a_a.csv": CITIES, "stray.csv": CITIES})
    done = convert(gold, tmp_path / "out")
    assert done.notes == ("exec_result/: stray.csv of no instance, not copied",)
    for at in range(1, 6):
        (gold / "exec_result" / f"stray{at}.csv").touch()
        names = ", ".join(("stray.csv", *(f"stray{number}.csv" for number in range(1, at + 1)))[:5])
        more = " and 1 more" if at == 5 else ""
        assert convert(gold, tmp_path / f"out{at}").notes == (f"exec_result/: {names}{more} of no instance, not copied",)
    assert (tmp_path / "out" / "a" / "a_a.csv").is_file()
    with pytest.raises(UsageError, match="original layout already"):
        convert(tmp_path / "out", tmp_path / "again")
    with pytest.raises(UsageError, match="not an empty folder"):
        convert(gold, tmp_path / "out")
    (tmp_path / "gold.sql").write_text("SELECT 1\tshop\n")
    with pytest.raises(OutputError, match=r"gold\.sql/new"):
        convert(gold, tmp_path / "gold.sql" / "new")
    with pytest.raises(UsageError, match="contains pairs of queries"):
        convert(tmp_path / "gold.sql", tmp_path / "again")
    bad = gold_folder(tmp_path / "bad", {"a/b": {}}, {})
    with pytest.raises(GoldError, match="no folder name"):
        convert(bad, tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_bare_numbers_and_missing_keys(tmp_path: Path) -> None:
    """A bare number stays one, for each rule to read it; what a reference dies of blocks its official verdict alone."""
    entries = {"a": {"condition_cols": 0}, "b": {"condition_cols": 1}, "c": {"condition_cols": 1}}
    tables = {"a.csv": CITIES, "b.csv": CITIES, "c_a.csv": CITIES}
    lite = read_gold(gold_folder(tmp_path / "lite", entries, tables)).instances
    snow = read_gold(gold_folder(tmp_path / "snow", entries, tables, layout="snow")).instances
    assert [i.checks[0].parameters["condition_cols"] for i in (*lite, *snow)] == [0, 1, 1, 0, 1, 1]
    assert [[set(p.blocks) for p in i.checks[0].problems] for i in lite] == [[set()], [], [{"official"}]]
    assert [[set(p.blocks) for p in i.checks[0].problems] for i in snow] == [[], [], [{"official"}]]
    for layout, blocked in (("lite", []), ("snow", [{"official"}, {"official"}])):
        folder = tmp_path / f"bare-{layout}"
        (folder / "exec_result").mkdir(parents=True)
        (folder / "exec_result" / "a.csv").write_text(CITIES)
        (folder / f"spider2{layout}_eval.jsonl").write_text('{"instance_id": "a"}\n')
        assert [set(p.blocks) for p in read_gold(folder).instances[0].checks[0].problems] == blocked
