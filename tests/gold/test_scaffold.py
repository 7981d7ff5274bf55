"""A gold folder made from tables, and what gold says of judges and of suites with several scorers."""

import json
from pathlib import Path

import pytest

from evalsuite.core.errors import GoldError, OutputError, UsageError
from evalsuite.core.types import Suite
from evalsuite.gold.connection_files import read_connections
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.scaffold import NewGold, gold_tables, make_gold, read_questions
from evalsuite.gold.spec import check_of, with_further_scorers
from evalsuite.gold.suite_yaml import judge_line, judge_line_in, judge_section


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A folder of two tables and a file that is none."""
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "sales of 2024.csv").write_text("a\n1\n")
    (folder / "staff.CSV").write_text("b\n2\n")
    (folder / "notes.txt").write_text("x")
    (folder / "more.csv").mkdir()
    return folder


def test_tables_become_gold(tables: Path, tmp_path: Path) -> None:
    """Each table is an instance with its file, its question and its parameters; the template names a file for each."""
    found = gold_tables(tables)
    assert list(found) == ["sales_of_2024", "staff"]
    target, template = tmp_path / "gold", tmp_path / "deep" / "template"
    parameters = {"staff": {"ignore_order": False, "condition_cols": [0]}}
    made = make_gold(found, target, template, questions={"staff": "who?"}, parameters=parameters, rules="strict")
    assert made == NewGold(folder=target, template=template, ids=("sales_of_2024", "staff"), unasked=("sales_of_2024",))
    entries = [json.loads(line) for line in (target / "gold_eval.jsonl").read_text().splitlines()]
    first = {"func": "table_match", "parameters": {"gold": "sales_of_2024.csv", "ignore_order": True}}
    second = {"func": "table_match", "parameters": {"gold": "staff.csv", "ignore_order": False, "condition_cols": [0]}}
    asked = {"instance_id": "staff", "question": "who?", "evaluation": second}
    assert entries == [{"instance_id": "sales_of_2024", "evaluation": first}, asked]
    assert (target / "suite.yaml").read_text() == 'name: "gold"\nrules: strict\n'
    assert (target / "staff" / "staff.csv").read_text() == "b\n2\n"
    rows = [json.loads(line) for line in (template / "results_metadata.jsonl").read_text().splitlines()]
    assert rows == [{"instance_id": id_, "answer_type": "file", "answer_or_path": f"{id_}.csv"} for id_ in found]
    assert sorted(path.name for path in template.iterdir()) == ["results_metadata.jsonl", "sales_of_2024", "staff"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "gold", "tables"]
    assert read_gold(target).suite.rules == "strict"
    with pytest.raises(UsageError, match="exists already"):
        make_gold(found, target, template, questions={}, parameters={})
    with pytest.raises(OutputError):
        make_gold(found, target / "suite.yaml" / "gold", template, questions={}, parameters={})
    make_gold(found, tmp_path / "named", template, questions={}, parameters={}, name='a "b": c')
    assert read_gold(tmp_path / "named").suite.name == 'a "b": c'
    again = make_gold(found, tmp_path / "other", template, questions={}, parameters={})
    assert again.unasked == tuple(found)
    assert (tmp_path / "other" / "suite.yaml").read_text() == 'name: "other"\n'


def test_what_is_no_folder_of_tables(tables: Path, tmp_path: Path) -> None:
    """No folder, no table, and two names that would be one instance."""
    for folder, message in (
        (tmp_path / "no", "no such folder"),
        (tables / "notes.txt", "not a folder"),
        (tables / "more.csv", "no CSV file"),
    ):
        with pytest.raises(UsageError, match=message):
            gold_tables(folder)
    (tables / "sales_of 2024.csv").write_text("a\n")
    with pytest.raises(UsageError, match="would both be the instance 'sales_of_2024'"):
        gold_tables(tables)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,question\nstaff,who?\n", ":1: no column 'id'"),
        ("id,answer\nstaff,Ada\n", ":1: no column 'question'"),
        ("id,question\nstaff,who?\nstuff,what?\n", ":3: no gold file for the id 'stuff'"),
        ("id,question\nstaff,who?\nstaff,what?\n", ":3: the id 'staff' is repeated"),
    ],
)
def test_questions_that_cannot_be_read(text: str, message: str, tmp_path: Path) -> None:
    """Each with its line."""
    (tmp_path / "q.csv").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_questions(tmp_path / "q.csv", ["staff"])


def test_the_judge_of_a_folder(tmp_path: Path) -> None:
    """The line of settings is that of the gold that was read; judge.yaml and a file by name override suite.yaml; none is an empty line."""
    gold = tmp_path / "gold"
    gold.mkdir()
    (gold / "x_eval.jsonl").write_text('{"instance_id": "a", "evaluation": {"func": "string_match", "parameters": {"gold": "b"}}}\n')
    assert judge_line(read_gold(gold)) == judge_line_in(gold) == judge_line_in(None) == ""
    (gold / "suite.yaml").write_text("judge: {base_url: http://localhost:1, model: one}\n")
    line = judge_line(read_gold(gold))
    assert "one" in line
    assert judge_line_in(gold) == line
    other = tmp_path / "other.yaml"
    other.write_text("model: two\n")
    assert "two" in judge_line_in(gold, other)
    assert judge_section(other) == {"model": "two"}
    with pytest.raises(UsageError, match=r"nowhere\.yaml: no such file"):
        judge_section(tmp_path / "nowhere.yaml")
    other.write_text("name: x\n")
    with pytest.raises((UsageError, GoldError)):
        judge_section(other)


def test_several_scorers_share_gold() -> None:
    """A scorer without a check of its own takes gold, question and context of one that is listed; only the first makes the score."""
    suite = Suite(name="s", extra={"scorers": ("f1", "bleu", "exact_match")})

    def checks(*names: str) -> list[tuple[str, object, bool]]:
        made = tuple(check_of({"func": name, "parameters": {"gold": f"of {name}"}}, "q", "x:1", suite) for name in names)
        return [(check.scorer, check.parameters["gold"], check.is_further) for check in with_further_scorers(made, "q", "x:1", suite)]

    assert checks("f1") == [("f1", "of f1", False), ("bleu", "of f1", True), ("exact_match", "of f1", True)]
    assert checks("bleu", "f1") == [("f1", "of f1", False), ("bleu", "of bleu", True), ("exact_match", "of bleu", True)]
    assert checks("string_match") == [("string_match", "of string_match", False)]
    mixed = checks("string_match", "f1")
    assert mixed == [
        ("string_match", "of string_match", False),
        ("f1", "of f1", False),
        ("bleu", "of f1", True),
        ("exact_match", "of f1", True),
    ]


def test_values_of_connections_that_are_no_text(tmp_path: Path) -> None:
    """A port stays a number; a variable is filled in."""
    (tmp_path / "suite.yaml").write_text("connections:\n  house: {engine: postgres, host: '${HOST}', port: 5433, user: u}\n")
    found = read_connections(tmp_path, working=tmp_path, environment={"HOST": "db"}).get("house")
    assert (found.options["host"], found.options["port"]) == ("db", 5433)
