"""An invalid gold folder ends the run with file and line; a fault of one check affects only that check."""

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalsuite import scorers
from evalsuite.core.errors import GoldError, UntrustedPluginError, UsageError
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.plugin_calls import trusting_plugins
from evalsuite.core.registry import scorer
from evalsuite.core.types import Problem, Score
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.spec import EVALUATION_HINT, PAIRS_HINT, check_ids
from evalsuite.readers.gold_files import gold_hash


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


def entry(id_: str, func: str = "shout_match", parameters: Any = None, **more: Any) -> dict[str, Any]:
    """One line of a spec."""
    return {"instance_id": id_, "evaluation": {"func": func, "parameters": parameters or {"gold": "a"}, **more}}


GOLDS = ["1", "1.0", "-0.0", "1e22", str(2**64), str(10**30), "true", "null", '"\\ud83d"', '"ü\\u0007"', '["a", [1, {"b": 2}]]', "[]"]


@pytest.mark.parametrize("gold", GOLDS)
def test_parameters_are_what_the_spec_says(tmp_path: Path, gold: str) -> None:
    """Each value comes back of its very kind, however the check holds it."""
    given = '{"gold": ' + gold + ', "unknown": ' + gold + "}"
    line = '{"instance_id": "q", "evaluation": {"func": "shout_match", "parameters": ' + given + "}}"
    (check,) = read_gold(folder(tmp_path, line)).instances[0].checks
    assert repr(check.parameters) == repr(json.loads(given))


def problems(tmp_path: Path, evaluation: dict[str, Any], suite: str = "") -> list[Problem]:
    """The problems of the one check of an evaluation."""
    gold = read_gold(folder(tmp_path, {"instance_id": "q", "evaluation": evaluation}, suite=suite))
    return list(gold.instances[0].checks[0].problems)


def test_a_spec_laid_out_like_the_references_readme_is_read_with_notes(tmp_path: Path) -> None:
    """Pretty-printed, joined by commas, closed by an empty object."""
    text = ",\n".join(json.dumps(entry(id_), indent=4) for id_ in "ab") + ",\n{\n\n}"
    gold = read_gold(folder(tmp_path, text))
    assert [(instance.instance_id, instance.where) for instance in gold.instances] == [
        ("a", "gold/x_eval.jsonl:1"),
        ("b", "gold/x_eval.jsonl:10"),
    ]
    assert "gold/x_eval.jsonl:1: an object over several lines is read as one" in gold.notes


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
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
        ({"instance_id": "q", "evaluation": []}, "q: evaluation is empty", "give one {func, parameters} or a list of them"),
        (
            {"instance_id": "q", "evaluation": "shout_match"},
            "q: evaluation must be an object {func, parameters} or a list of them, found str",
            "",
        ),
        (
            {"instance_id": "q", "evaluation": {"parameters": {}}},
            "q: func must be the name of a scorer, found None",
            "run `evalsuite gold scorers` for the names",
        ),
        (
            {"instance_id": "q", "evaluation": {"func": "shout_match", "parameters": ["a"]}},
            "q: parameters must be an object, found list",
            "",
        ),
    ],
)
def test_a_line_that_cannot_be_meant_ends_the_run_with_file_and_line(tmp_path: Path, line: object, message: str, hint: str) -> None:
    """The place is folder and file name, never a path of this machine."""
    with pytest.raises(GoldError) as caught:
        read_gold(folder(tmp_path, entry("a"), "", line))
    assert (caught.value.message, caught.value.hint) == (f"gold/x_eval.jsonl:3: {message}", hint)
    assert caught.value.exit_code == 2


def test_a_key_beside_parameters_is_only_a_warning(tmp_path: Path) -> None:
    """One real spec has `exclude` there; the reference does not see it."""
    (found,) = problems(tmp_path, {"func": "shout_match", "parameters": {"gold": "a"}, "exclude": ["b"]})
    assert (found.message, found.hint) == ("key 'exclude' next to 'parameters' is not read", "move it into parameters if it is meant")
    assert found.blocks == frozenset()


def test_a_wrong_default_has_the_place_of_suite_yaml(tmp_path: Path) -> None:
    """Its own line there, unless the check gives the parameter itself: then it is the check's."""
    (tmp_path / "suite.yaml").write_text("defaults:\n  number_match:\n    precision: 2\n    abs_tol: -1\n")
    own = [{"gold": 1}, {"gold": 1, "abs_tol": -2}, {"gold": 1, "abs_tol": 0}]
    lines = [{"instance_id": f"q{i}", "evaluation": {"func": "number_match", "parameters": parameters}} for i, parameters in enumerate(own)]
    (tmp_path / "x_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    places = [[problem.where for problem in instance.checks[0].problems] for instance in read_gold(tmp_path).instances]
    assert places == [[f"{tmp_path.name}/suite.yaml:4"], [f"{tmp_path.name}/x_eval.jsonl:2"], []]


def test_the_suites_defaults_stand_under_a_checks_own_parameters(tmp_path: Path) -> None:
    """What the line says wins."""
    suite = "defaults:\n  shout_match: {times: 3, loud: true}\n"
    gold = read_gold(folder(tmp_path, entry("a"), entry("b", parameters={"gold": "x", "times": 1}), suite=suite))
    assert [dict(instance.checks[0].parameters) for instance in gold.instances] == [
        {"gold": "a", "times": 3, "loud": True},
        {"gold": "x", "times": 1, "loud": True},
    ]


def test_values_that_json_cannot_keep(tmp_path: Path) -> None:
    """Those of YAML stay what they are, as a day, but keys are texts; an id that gold lacks is told with the nearest."""
    suite = "defaults:\n  shout_match: {times: 2026-01-02, loud: {1: [2.5, {3: x}]}}\n  number_match: {precision: .inf}\n"
    gold = read_gold(folder(tmp_path, entry("a"), entry("i", "number_match", {"gold": 1}), suite=suite))
    assert dict(gold.instances[0].checks[0].parameters) == {"gold": "a", "times": date(2026, 1, 2), "loud": {"1": [2.5, {"3": "x"}]}}
    assert dict(gold.instances[1].checks[0].parameters) == {"gold": 1, "precision": math.inf}
    check_ids(gold, ["a"])
    with pytest.raises(UsageError, match="no instance 'b' in gold") as told:
        check_ids(gold, ["a", "b"])
    assert told.value.hint == "known: a, i"


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


@pytest.mark.parametrize(
    ("evaluation", "codes"),
    [
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
    ],
)
def test_gold_that_is_a_query_has_to_be_run_first(tmp_path: Path, evaluation: dict[str, Any], codes: list[str]) -> None:
    """Until then nobody takes the name of the query for gold; its other parameters are checked as ever."""
    read = read_gold(folder(tmp_path, {"instance_id": "a", "evaluation": evaluation}))
    assert [problem.code for problem in read.instances[0].checks[0].problems] == codes
