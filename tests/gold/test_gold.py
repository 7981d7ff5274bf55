"""An invalid gold folder ends the run with file and line, a fault of one check affects only that check; gold made from tables."""

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalsuite import scorers
from evalsuite.core.errors import GoldError, OutputError, UntrustedPluginError, UsageError
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.plugin_calls import trusting_plugins
from evalsuite.core.registry import scorer
from evalsuite.core.types import Score, Suite
from evalsuite.gold.connection_files import read_connections
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.gold.scaffold import NewGold, gold_tables, make_gold, read_questions
from evalsuite.gold.spec import EVALUATION_HINT, NOTHING, PAIRS_HINT, Exchange, check_ids, check_of, exchanges_of, with_further_scorers
from evalsuite.gold.suite_yaml import judge_line, judge_line_in, judge_section
from evalsuite.readers.gold_files import gold_hash
from evalsuite.readers.limits import DEFAULT_LIMITS


@scorer(reads="text")
def shout_match(prediction: str, *, gold: str, times: int = 1, loud: bool = False) -> Score:
    """1 where the prediction is the gold text, shouted."""
    return Score(official=float(prediction == gold.upper() * times and not loud))


@pytest.fixture(autouse=True)
def one_more_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """`shout_match` as a scorer of the table, so that these tests rest on no bundled one."""
    monkeypatch.setitem(scorers.BUNDLED, "shout_match", ImportRef(f"{__name__}:shout_match", "the answer is shouted"))


def folder(tmp_path: Path, *entries: object, suite: str = "") -> Path:
    """A gold folder named `gold` with the entries, a text as it stands."""
    made = tmp_path / "gold"
    made.mkdir()
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    (made / "x_eval.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if suite:
        (made / "suite.yaml").write_text(suite, encoding="utf-8")
    return made


def ill(evaluation: object) -> dict[str, object]:
    """A line of a spec with this evaluation."""
    return {"instance_id": "q", "evaluation": evaluation}


def entry(id_: str, func: str = "shout_match", parameters: Any = None, **more: Any) -> dict[str, Any]:
    """One line of a spec."""
    return {"instance_id": id_, "evaluation": {"func": func, "parameters": parameters or {"gold": "a"}, **more}}


@pytest.mark.parametrize(
    "gold", ["1", "1.0", "-0.0", "1e22", str(2**64), str(10**30), "true", "null", '"\\ud83d"', '"ü\\u0007"', '["a", [1, {"b": 2}]]', "[]"]
)
def test_parameters_are_what_the_spec_says(tmp_path: Path, gold: str) -> None:
    """Each value comes back of its very kind, however the check holds it."""
    given = '{"gold": ' + gold + ', "unknown": ' + gold + "}"
    line = '{"instance_id": "q", "evaluation": {"func": "shout_match", "parameters": ' + given + "}}"
    (check,) = read_gold(folder(tmp_path, line)).instances[0].checks
    assert repr(check.parameters) == repr(json.loads(given))


def test_a_spec_laid_out_like_the_references_readme_is_read_with_notes(tmp_path: Path) -> None:
    """Pretty-printed, joined by commas, closed by an empty object."""
    text = ",\n".join(json.dumps(entry(id_), indent=4) for id_ in "ab") + ",\n{\n\n}"
    gold = read_gold(folder(tmp_path, text))
    assert [(instance.instance_id, instance.where) for instance in gold.instances] == [
        ("a", "gold/x_eval.jsonl:1"),
        ("b", "gold/x_eval.jsonl:10"),
    ]
    assert "gold/x_eval.jsonl:1: an object over several lines is read as one" in gold.notes


def test_a_key_beside_parameters_is_only_a_warning(tmp_path: Path) -> None:
    """One real spec has `exclude` there; the reference does not see it."""
    read = read_gold(folder(tmp_path, ill({"func": "shout_match", "parameters": {"gold": "a"}, "exclude": ["b"]})))
    (found,) = read.instances[0].checks[0].problems
    assert (found.message, found.hint) == ("key 'exclude' next to 'parameters' is not read", "move it into parameters if it is meant")
    assert found.blocks == frozenset()


@pytest.mark.parametrize(("line", "message", "hint"), [
    ('{"instance_id": "q", bad', "not valid JSON at column 22", ""),
    ("[1]", "not a JSON object", "one JSON object per line"),
    ('{"a": 1, "a": 2}', "the key 'a' is repeated", "keep each key once"),
    (entry("a"), "instance 'a' is repeated, first on line 1", "give each instance its own id"),
    (entry("q", "shout_mach"), "unknown scorer 'shout_mach'", "did you mean 'shout_match'?"),
    (entry("q", "table_mach"), "unknown scorer 'table_mach'", "did you mean 'table_match'?"),
    ({"instance": "q", "evaluation": {}}, "instance_id is missing", "found 'instance': write 'instance_id'"),
    ({"evaluation": {}}, "instance_id is missing", ""),
    ({"instance_id": 5, "evaluation": {}}, "instance_id must be a text that is not empty, found 5", ""),
    ({"instance_id": "q"}, "q: evaluation is missing", f"{EVALUATION_HINT}; {PAIRS_HINT}"),
    ({"instance_id": "q", "evalution": {}}, "q: evaluation is missing", "found 'evalution': write 'evaluation'"),
    (ill([]), "q: evaluation is empty", "give one {func, parameters} or a list of them"),
    (ill("shout_match"), "q: evaluation must be an object {func, parameters} or a list of them, found str", ""),
    (ill({"parameters": {}}), "q: func must be the name of a scorer, found None", "run `evalsuite gold scorers` for the names"),
    (ill({"func": "shout_match", "parameters": ["a"]}), "q: parameters must be an object, found list", ""),
])  # fmt: skip
def test_a_line_that_cannot_be_meant_ends_the_run_with_file_and_line(tmp_path: Path, line: object, message: str, hint: str) -> None:
    """The place is folder and file name, never a path of this machine."""
    with pytest.raises(GoldError) as caught:
        read_gold(folder(tmp_path, entry("a"), "", line))
    assert (caught.value.message, caught.value.hint) == (f"gold/x_eval.jsonl:3: {message}", hint)
    assert caught.value.exit_code == 2


def test_a_wrong_default_has_the_place_of_suite_yaml(tmp_path: Path) -> None:
    """Its own line there, unless the check gives the parameter itself: then it is the check's."""
    (tmp_path / "suite.yaml").write_text("defaults:\n  number_match:\n    precision: 2\n    abs_tol: -1\n")
    own = [{"gold": 1}, {"gold": 1, "abs_tol": -2}, {"gold": 1, "abs_tol": 0}]
    lines = [{"instance_id": f"q{i}", "evaluation": {"func": "number_match", "parameters": parameters}} for i, parameters in enumerate(own)]
    (tmp_path / "x_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    places = [[problem.where for problem in instance.checks[0].problems] for instance in read_gold(tmp_path).instances]
    assert places == [[f"{tmp_path.name}/suite.yaml:4"], [f"{tmp_path.name}/x_eval.jsonl:2"], []]


def test_values_that_json_cannot_keep(tmp_path: Path) -> None:
    """Defaults of YAML stay what they are, as a day, but keys are texts; what a line says wins; an id that gold lacks is told."""
    suite = "defaults:\n  shout_match: {times: 2026-01-02, loud: {1: [2.5, {3: x}]}}\n  number_match: {precision: .inf}\n"
    own = entry("x", parameters={"gold": "x", "times": 1})
    gold = read_gold(folder(tmp_path, entry("a"), entry("i", "number_match", {"gold": 1}), own, suite=suite))
    assert [dict(instance.checks[0].parameters) for instance in gold.instances] == [
        {"gold": "a", "times": date(2026, 1, 2), "loud": {"1": [2.5, {"3": "x"}]}},
        {"gold": 1, "precision": math.inf},
        {"gold": "x", "times": 1, "loud": {"1": [2.5, {"3": "x"}]}},
    ]
    check_ids(gold, ["a"])
    with pytest.raises(UsageError, match="no instance 'b' in gold") as told:
        check_ids(gold, ["a", "b"])
    assert told.value.hint == "known: a, i, x"


def test_a_class_as_schema_of_a_check(tmp_path: Path) -> None:
    """It is imported if the user named the folder; else it is refused, or its check has a problem."""
    check = {"func": "tree_match", "parameters": {"gold": {"n": 1}, "schema": "python:my.py:Row"}}
    made = folder(tmp_path, {"instance_id": "q", "evaluation": check})
    (made / "my.py").write_text("from dataclasses import dataclass\n@dataclass\nclass Row:\n    n: int\n")
    with pytest.raises(UntrustedPluginError):
        read_gold(made)
    (unexecuted,) = read_gold(made, plugins=False).instances[0].checks
    assert [problem.message for problem in unexecuted.problems] == ["python:my.py:Row is a plugin of gold, which was not executed"]
    assert unexecuted.parameters["schema"] == "python:my.py:Row"
    with trusting_plugins(made):
        (executed,) = read_gold(made).instances[0].checks
    assert (executed.parameters["schema"]["x-eval-class"], executed.problems) == ("my.py:Row", ())


def test_groups_come_by_name_and_by_prefix(tmp_path: Path) -> None:
    """In the order of suite.yaml, each tag once."""
    suite = "groups:\n  hr: {prefix: hr_, ids: [hr_1]}\n  hard: [hr_1, x]\n"
    gold = read_gold(folder(tmp_path, entry("hr_1"), entry("hr_2"), entry("x"), entry("y"), suite=suite))
    assert [instance.groups for instance in gold.instances] == [("hr", "hard"), ("hr",), ("hard",), ()]


def test_the_hash_depends_on_names_and_contents_and_on_nothing_else(tmp_path: Path) -> None:
    """Spec, suite.yaml and gold files count; hidden files, other files at the top and the place do not."""

    def made(name: str) -> Path:
        (tmp_path / name).mkdir()
        gold = folder(tmp_path / name, entry("a"))
        (gold / "a").mkdir()
        (gold / "a" / "r.csv").write_text("x\n1\n")
        return gold

    one, two = made("one"), made("two")
    before = gold_hash(one)
    assert before == gold_hash(two)
    assert len(before) == 12
    (two / "a" / ".DS_Store").write_text("x")
    (two / "README.md").write_text("x")
    assert gold_hash(two) == before
    (two / "a" / "r.csv").rename(two / "a" / "s.csv")
    renamed = gold_hash(two)
    (two / "a" / "s.csv").write_text("x\n2\n")
    changed = gold_hash(two)
    (two / "suite.yaml").write_text("name: x\n")
    assert len({before, renamed, changed, gold_hash(two)}) == 4


@pytest.mark.parametrize(("evaluation", "codes"), [
    ({"func": "number_match", "temporal": True}, ["NEEDS_CONNECTION"]),
    ({"func": "number_match", "parameters": {"gold": ["a.sql", "b.SQL"], "precision": 2}, "temporal": True}, ["NEEDS_CONNECTION"]),
    ({"func": "shout_match", "temporal": True}, ["NEEDS_CONNECTION"]),
    ({"func": "table_match", "temporal": True}, ["NEEDS_CONNECTION"]),
    ({"func": "table_match", "parameters": {"gold": "q.sql"}}, ["NEEDS_CONNECTION"]),
    ({"func": "number_match", "parameters": {"precision": "two"}, "temporal": True}, ["BAD_SPEC", "NEEDS_CONNECTION"]),
    ({"func": "number_match", "parameters": {"gold": "gold.sql"}}, ["BAD_SPEC"]),
    ({"func": "number_match", "parameters": {"gold": ["gold.sql", "5"]}, "temporal": True}, ["BAD_SPEC"]),
    ({"func": "duckdb_match", "temporal": True}, ["BAD_SPEC"]),
    ({"func": "shout_match", "parameters": {"gold": "gold.sql"}}, []),
    ({"func": "number_match", "parameters": {"gold": 5}, "temporal": True}, []),
])  # fmt: skip
def test_gold_that_is_a_query_has_to_be_run_first(tmp_path: Path, evaluation: dict[str, Any], codes: list[str]) -> None:
    """Until then nobody takes the name of the query for gold; its other parameters are checked as ever."""
    read = read_gold(folder(tmp_path, {"instance_id": "a", "evaluation": evaluation}))
    assert [problem.code for problem in read.instances[0].checks[0].problems] == codes


def test_tables_become_gold(tmp_path: Path) -> None:
    """Each table is an instance with its file, its question and its parameters; the template names a file for each."""
    tables = tmp_path / "tables"
    (tables / "more.csv").mkdir(parents=True)
    for name, text in (("sales of 2024.csv", "a\n1\n"), ("staff.CSV", "b\n2\n"), ("notes.txt", "x")):
        (tables / name).write_text(text)
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
    # No folder, no table, and two names that would be one instance.
    nothing = (tmp_path / "no", "no such folder"), (tables / "notes.txt", "not a folder"), (tables / "more.csv", "no CSV file")
    (tmp_path / "twice").mkdir()
    for name in ("sales_of 2024.csv", "sales of_2024.csv"):
        (tmp_path / "twice" / name).write_text("a\n")
    for folder, message in (*nothing, (tmp_path / "twice", "would both be the instance 'sales_of_2024'")):
        with pytest.raises(UsageError, match=message):
            gold_tables(folder)


@pytest.mark.parametrize(("text", "message"), [
    ("name,question\nstaff,who?\n", ":1: no column 'id'"), ("id,answer\nstaff,Ada\n", ":1: no column 'question'"),
    ("id,question\nstaff,who?\nstuff,what?\n", ":3: no gold file for the id 'stuff'"),
    ("id,question\nstaff,who?\nstaff,what?\n", ":3: the id 'staff' is repeated"),
])  # fmt: skip
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
    assert checks("string_match", "f1") == [*checks("string_match"), *checks("f1")]


def test_values_of_connections_that_are_no_text(tmp_path: Path) -> None:
    """A port stays a number; a variable is filled in."""
    (tmp_path / "suite.yaml").write_text("connections:\n  house: {engine: postgres, host: '${HOST}', port: 5433, user: u}\n")
    found = read_connections(tmp_path, working=tmp_path, environment={"HOST": "db"}).get("house")
    assert (found.options["host"], found.options["port"]) == ("db", 5433)


@pytest.mark.parametrize(("said", "file", "question"), [
    ({"question": "Capital of France?"}, {}, "Capital of France?"),
    ({"instruction": "Name it", "question": ""}, {}, "Name it"), ({}, {"question": "Which city?"}, "Which city?"),
    ({"input": "Capital?"}, {"question": "Which city?"}, "Capital?"),
    ({}, {}, ""),
])  # fmt: skip
def test_where_a_question_stands(tmp_path: Path, said: dict[str, str], file: dict[str, str], question: str) -> None:
    """In gold's own line, else in a file of questions; gold without any is for machines and shows nothing of itself."""
    checks = {"a": ("string_match", "Paris"), "b": ("table_match", "b.csv"), "c": ("string_match", ["Rome", "Roma"])}
    checks |= {"d": ("table_match", "d.csv"), "e": ("table_match", "e.csv"), "f": ("tree_score", "f.JSON"), "g": ("tree_score", {"n": 1})}
    for id_, (func, gold) in checks.items():
        line = {"instance_id": id_, **said, "evaluation": {"func": func, "parameters": {"gold": gold}}}
        with (tmp_path / "x_eval.jsonl").open("a") as spec:
            spec.write(json.dumps(line) + "\n")
    (tmp_path / "asked.jsonl").write_text(json.dumps({"instance_id": "a", **file}) + "\n")
    rows = [("a", "answer", "Lyon"), ("b", "file", "b.csv"), ("e", "answer", "7"), ("f", "answer", "{}")]
    (tmp_path / "results_metadata.jsonl").write_text(
        "".join(json.dumps(dict(zip(("instance_id", "answer_type", "answer_or_path"), row, strict=True))) + "\n" for row in rows)
    )
    gold = read_gold(tmp_path, questions=tmp_path / "asked.jsonl")
    found = exchanges_of(gold, read_submission(tmp_path, DEFAULT_LIMITS))
    assert found.texts_of("a") == (Exchange(question, "Paris", "Lyon") if question else NOTHING)
    assert found.texts_of("b") == NOTHING
    assert found.texts_of("c") == (Exchange(found.texts_of("c").question, "Rome | Roma", "") if said else NOTHING)
    assert found.texts_of("d") == NOTHING
    assert found.texts_of("e") == (Exchange(found.texts_of("c").question, "", "7") if said else NOTHING)
    assert found.texts_of("f") == (Exchange(found.texts_of("c").question, "", "{}") if said else NOTHING)
    assert found.texts_of("g") == (Exchange(found.texts_of("c").question, '{"n": 1}', "") if said else NOTHING)
