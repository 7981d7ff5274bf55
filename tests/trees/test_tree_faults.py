"""Faults instead of silence: plugins that bring parts only, parts that raise, malformed gold, and reasons that speak of their own rule."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite import score
from evalsuite.core.errors import FaultError
from evalsuite.trees import evaluate, treeval_by_value
from evalsuite.trees.treeval_counts import MAX_CELLS
from tests.command_server import command_server

PLUGIN = """
from evalsuite.trees import ComparatorResult, register

def close(gold, extracted, params):
    if extracted == "raise":
        raise RuntimeError("no idea")
    return ComparatorResult(float(gold[0] == extracted[0]), "first_letter")

def shout(value, params):
    return str(value).upper()

def forgive(rows):
    return [row for row in rows if row.path != "note"]

register("first_letter", close)
register("shout", shout, kind="transform")
register("forgive", forgive, kind="post_process")
"""
LEAF = {"type": "string", "x-eval-compare": "first_letter", "x-eval-transform": ["shout"]}
SCHEMA = {"type": "object", "properties": {"a": LEAF, "note": {"type": "string"}}}
NOTE = {"type": "object", "properties": {"note": {"type": "string"}}}


def command(folder: Path, *words: str) -> tuple[int, str]:
    """(exit code, what was printed) of `evalsuite` in a folder."""
    done = command_server().run(words, cwd=folder, seconds=90)
    return done.returncode, done.stdout + done.stderr


def made(folder: Path, answer: str) -> None:
    """A gold folder, a submission and a plugin that brings no scorer."""
    (folder / "plug.py").write_text(PLUGIN)
    (folder / "gold" / "r1").mkdir(parents=True)
    (folder / "answers" / "r1").mkdir(parents=True)
    parameters = {"gold": {"a": "alpha", "note": "x"}, "schema": SCHEMA, "post_process": ["forgive"]}
    (folder / "gold" / "x_eval.jsonl").write_text(
        json.dumps({"instance_id": "r1", "evaluation": {"func": "tree_match", "parameters": parameters}})
    )
    (folder / "answers" / "results_metadata.jsonl").write_text(
        json.dumps({"instance_id": "r1", "answer_type": "file", "answer_or_path": "a.json"})
    )
    (folder / "answers" / "r1" / "a.json").write_text(json.dumps({"a": answer, "note": "y"}))


def result(folder: Path) -> Any:
    """The line of the one result."""
    (path,) = (folder / ".evalsuite" / "runs").glob("*/results.jsonl")
    return json.loads(path.read_text())


def test_a_plugin_with_parts_only_works_everywhere(tmp_path: Path) -> None:
    """run, check, schema check and gold lint take a file that only registers a comparator, a transform and a post-processor."""
    made(tmp_path, "Avocado")
    code, shown = command(tmp_path, "run", "answers", "--gold", "gold", "--plugin", "plug.py")
    assert (code, result(tmp_path)["strict"]) == (0, 1), shown
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "g.json").write_text(json.dumps({"a": "alpha", "note": "x"}))
    words = ("--prediction", "answers/r1/a.json", "--gold", "g.json", "--schema", "s.json", "--plugin", "plug.py", "--json")
    code, shown = command(tmp_path, "check", "tree_match", *words)
    assert (code, json.loads(shown)["details"]["n_records"]) == (0, 1), shown
    code, shown = command(tmp_path, "schema", "check", "s.json", "--gold", "g.json", "--plugin", "plug.py")
    assert code == 0, shown
    code, shown = command(tmp_path, "gold", "lint", "gold", "--plugin", "plug.py")
    assert "Unknown" not in shown
    assert code == 0, shown


def test_a_part_that_raises_is_no_0(tmp_path: Path) -> None:
    """A comparator that raises leaves the instance without a score, as the scorer's fault; --fail-on-unscorable exits 4."""
    made(tmp_path, "raise")
    text = (tmp_path / "plug.py").read_text().replace('== "raise"', '== "RAISE"')
    (tmp_path / "plug.py").write_text(text)
    code, shown = command(tmp_path, "run", "answers", "--gold", "gold", "--plugin", "plug.py", "--fail-on-unscorable")
    assert code == 4, shown
    assert (result(tmp_path)["status"], result(tmp_path)["score"]) == ("scorer_fault", None)


def test_a_post_processor_that_fails_leaves_its_record_undecided() -> None:
    """What it raises, and what it gives in place of rows with scores, is named; another record counts."""

    def change(rows: Any) -> Any:
        [row] = rows
        if row.extracted_value == "raise":
            raise RuntimeError
        row.score = {"low": -0.5, "high": 1.5}.get(row.extracted_value, row.score)
        return ["x"] if row.extracted_value == "text" else rows

    for answer, detail in (
        ("raise", f"post_process raised RuntimeError at test_tree_faults.py:{change.__code__.co_firstlineno + 3}"),
        ("low", "post_process gave -0.5, expected a number in [0, 1]"), ("high", "post_process gave 1.5, expected a number in [0, 1]"),
        ("text", "post_process gave str, expected a FieldResult"),
    ):  # fmt: skip
        result = evaluate([{"note": "a"}] * 2, [{"note": answer}, {"note": "a"}], NOTE, post_process=change)
        assert [(record.f1, len(record.field_results)) for record in result.records] == [(None, 0), (1, 1)]
        assert [fault.detail for fault in result.faults] == [result.records[0].reason.removeprefix("SCORER_ERROR: ")] == [detail]
    with pytest.raises(TypeError, match="post_process must return the list of rows, got NoneType"):
        evaluate([{"note": "a"}], [{"note": "a"}], NOTE, post_process=lambda _: None)  # type: ignore[arg-type, return-value]


def test_malformed_gold_is_gold_s_fault() -> None:
    """Alternatives that are none, and a reference of another shape than the schema's, are named with their path: no answer is 0 for it."""
    for name, gold, more, path in (
        ("tree_match", {"t": [1, {"n": {"x-eval-any-of": ["x"], "other": 1}}]}, {}, "t[1].n: 'x-eval-any-of'"),
        ("tree_score", {"t": [{"n": [1]}]}, {"schema": {"t": [{"n": "integer"}]}}, "reference 0: t[0].n"),
    ):
        with pytest.raises(FaultError) as raised:
            score(name, {"t": [{"n": 1}]}, gold=gold, **more)
        assert raised.value.side == "gold"
        assert path in raised.value.fault.detail


def test_what_gold_alone_makes_too_large_is_gold_s_fault() -> None:
    """A schema, a value or a list of gold beyond a limit is 0 for no answer, and the official value stays; an answer beyond it is 0."""
    deep: Any = "x"
    for _ in range(60):
        deep = {"a": deep}
    items = {"type": "array", "x-eval-align": {"match_by": "hungarian"}, "items": {"type": "integer"}}
    lists, long_list, long_text = {"type": "object", "properties": {"a": items}}, {"a": list(range(7000))}, {"a": "x" * 1_000_001}
    for gold, schema in ((deep, None), (long_list, lists)):
        with pytest.raises(FaultError) as raised:
            score("tree_score", gold, gold=gold, schema=schema)
        assert (raised.value.side, raised.value.fault.code) == ("gold", "BAD_SPEC")
    for answer, gold, schema, expected in (
        (deep, deep, None, (None, None, "BAD_SPEC", "")),
        (long_list, long_list, lists, (1.0, None, "BAD_SPEC", "")),
        ({"a": "x"}, long_text, {"a": "string"}, (None, None, "BAD_SPEC", "")),
        (long_text, {"a": "x"}, {"a": "string"}, (0.0, 0.0, "LIMIT", "")),
        (long_list, {"a": list(range(3000))}, lists, (0.6, 0.0, "LIMIT", "sound rules")),
    ):
        found = score("tree_match", answer, gold=gold, schema=schema)
        assert found.strict_fault is not None
        assert (found.official, found.strict, found.strict_fault.code, found.flip) == expected


def test_what_only_official_finds_too_large_keeps_its_strict_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of the wrong shape are compared one by one as the reference does; past the limit official is 0 with LIMIT."""
    monkeypatch.setattr(treeval_by_value, "CELLS_OF_A_CALL", MAX_CELLS // 3)
    found = score("tree_score", {"a": [["x"], ["y"]], "b": "x"}, gold={"a": ["x", "y"], "b": "x"}, schema={"a": ["string"], "b": "string"})
    assert (found.official, found.strict, found.strict_fault) == (0, 0.5, None)
    assert found.fault is not None
    assert (found.fault.code, "the wrong shape" in found.reason, found.flip) == ("LIMIT", True, "a limit under official rules")


def test_each_rule_gives_its_own_reason() -> None:
    """Official speaks of position and of the id that counts as invented, strict of what is wrong in the records."""
    gold = [{"id": 1, "a": "x"}, {"id": 2, "a": "y"}]
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    found = score("tree_match", gold[::-1], gold=gold, schema=schema, id_field="id")
    assert found.strict == 1
    assert "paired by position" in found.reason
    assert "counts as invented" in found.reason
    assert found.strict_reason == "all 2 fields right"


def test_a_record_that_is_missing_is_named() -> None:
    """The reason speaks of the record, not of all records; a single one needs no number."""
    gold = [{"id": at, "a": "x"} for at in range(3)]
    assert score("tree_match", gold[:2], gold=gold, id_field="id").strict_reason.startswith("record 2: gold's record was not submitted; ")
    assert score("tree_match", [], gold=gold[:1]).strict_reason.startswith("gold's record was not submitted")
    assert score("tree_match", gold, gold=gold[:2]).strict_reason.startswith("a submitted record is not in gold; ")


def test_a_shuffled_file_scores_the_same_under_both_scorers() -> None:
    """With `id_field` the order of records counts for nothing, and the id is no field."""
    gold = [{"id": f"r{n}", "n": n, "t": ["x", "y"]} for n in range(9)]
    for name, strict in (("tree_match", 1.0), ("tree_score", 1.0)):
        assert score(name, gold[::-1], gold=gold, id_field="id").strict == strict
        less = score(name, gold[:0:-1], gold=gold, id_field="id")
        more = score(name, [*gold[::-1], {"id": "new", "n": 1, "t": []}], gold=gold, id_field="id")
        assert 0 < less.strict < 1
        assert 0 < more.strict < 1
        fields = more.details["fields"]
        assert {"path", "matches", "mismatches", "omissions", "hallucinations"} <= fields[0].keys()


RECORDS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
DEEPER = "the answer has gold's fields one level deeper, below its key 'rows'"


@pytest.mark.parametrize(
    ("gold", "answer", "hint"),
    [
        *((gold, {"rows": RECORDS}, DEEPER) for gold in (RECORDS, RECORDS[0])),
        *((gold, {"rows": RECORDS[0], "n": 1}, DEEPER) for gold in (RECORDS, RECORDS[0])),
        *((RECORDS, {"rows": rows}, "") for rows in ([{"id": 1}], [], "id")),
        (
            RECORDS,
            {"id": [3, 4], "name": ["c", "d"]},
            "the answer is one object with all values of each field, gold one object for each record",
        ),
        *((RECORDS, other, "") for other in ({"id": [3], "name": ["c", "d"]}, {"id": 3, "name": "c"}, {"id": [3, 4]})),
        (RECORDS, {"cols": ["id", "name"], "x": [[1, "a"]]}, "the answer has the names of gold's fields as values, below its key 'cols'"),
        *((RECORDS, text, "the answer is a text that contains JSON") for text in (json.dumps(RECORDS), "{}")),
        *((RECORDS, text, "") for text in ("1", "[see below]", "[" * 100_000)),
    ],
)
def test_gold_in_another_container(gold: Any, answer: Any, hint: str) -> None:
    """The reasons of both scorers say where gold's fields are, and nothing of an answer that merely looks like it."""
    for scorer in ("tree_match", "tree_score"):
        found = score(scorer, answer if not isinstance(answer, str) else json.dumps(answer), gold=gold)
        assert (found.official, found.strict) == (0, 0)
        for reason in filter(None, (found.reason, found.strict_reason)):
            assert reason.endswith(f"; {hint}") if hint else "the answer" not in reason


def test_a_bug_is_not_golds_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ValueError of the comparison itself is passed on; only what a schema, metrics or records of gold cause is gold's fault."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("planted")

    with pytest.raises(FaultError, match="unknown metric"):
        score("tree_score", '{"a": 1}', gold={"a": 1}, types_metrics={"integer": "exactt"})
    monkeypatch.setattr("evalsuite.scorers.tree_scorers.treeval_score", fail)
    with pytest.raises(ValueError, match="planted"):
        score("tree_score", '{"a": 1}', gold={"a": 1})
