"""The sound rules of field evaluation: each line of section 18 of the spec, and the quick start."""

from typing import Any

import pytest

from evalsuite.trees import (
    ComparatorResult,
    NullHandling,
    RunResult,
    SchemaError,
    SemanticBatchComparator,
    evaluate,
    reclassify_nulls,
    validate_gold,
)

TEXT = {"type": "string", "x-eval-compare": "exact"}
NUMBER = {"type": "number", "x-eval-compare": "numeric"}
SEMANTIC = {"type": "string", "x-eval-compare": "semantic"}
BEST_FIT = {"match_by": "hungarian"}


def an_object(**properties: Any) -> dict[str, Any]:
    """The schema of an object."""
    return {"type": "object", "properties": properties}


def a_list(items: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": items, **{f"x-eval-{key}": value for key, value in keys.items()}}


def rows(gold: Any, extracted: Any, schema: Any, **options: Any) -> list[tuple[str, str, str | None]]:
    """(path, status, reason) of one record's rows."""
    return [(r.path, r.status, r.reason) for r in one(gold, extracted, schema, **options).records[0].field_results]


def one(gold: Any, extracted: Any, schema: Any, **options: Any) -> RunResult:
    """The run of one record."""
    return evaluate([gold], [extracted], schema, **options)


def broken_judge(items: list[Any]) -> list[Any]:
    """A judge that cannot be reached."""
    raise ConnectionError("no route")


def test_judge_outage_is_no_score() -> None:
    """A record without a verdict has no P, R, F1 and enters no mean; coverage tells how much was decided."""
    judge = {"semantic": SemanticBatchComparator(broken_judge)}
    schema = an_object(a=SEMANTIC)
    result = evaluate([{"a": "x"}, {"a": "y"}], [{"a": "x"}, {"a": "z"}], schema, comparators=judge)
    assert [record.f1 for record in result.records] == [1.0, None]
    assert (result.mean_f1, result.coverage, result.undecided_records) == (1.0, 0.5, 1)
    result = one({"a": "x"}, {"a": "z"}, schema, comparators=judge)
    assert (result.mean_precision, result.mean_recall, result.mean_f1, result.coverage) == (None, None, None, 0.0)
    assert result.micro.f1 is None


def test_judge_outage_inside_best_fit() -> None:
    """A pair whose rows are all batch_error stays batch_error and never counts as a perfect fit."""
    schema = an_object(t=a_list(SEMANTIC, align=BEST_FIT))
    found = rows({"t": ["a", "b"]}, {"t": ["b", "x"]}, schema, comparators={"semantic": SemanticBatchComparator(broken_judge)})
    assert sorted((path, status) for path, status, _ in found) == [("t[0]", "batch_error"), ("t[1]", "match")]


def test_recursive_references_follow_the_data() -> None:
    """A tree of any depth is scored along the values; a reference that leads only to itself is an error."""
    node = {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    schema = {"$defs": {"Node": node}, "$ref": "#/$defs/Node"}
    gold = {"v": 1, "kids": [{"v": 2, "kids": [{"v": 3, "kids": []}]}]}
    extracted = {"v": 1, "kids": [{"v": 2, "kids": [{"v": 4, "kids": []}]}]}
    found = rows(gold, extracted, schema)
    assert [row[:2] for row in found if row[1] == "mismatch"] == [("kids[0].kids[0].v", "mismatch")]
    assert one(gold, gold, schema).mean_f1 == 1.0
    validate_gold([gold], schema)
    circle = {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, **an_object(x={"$ref": "#/$defs/A"})}
    with pytest.raises(SchemaError, match=r"x: recursive \$ref #/\$defs/A"):
        one({}, {}, circle)


def test_nulls_of_containers_are_judged_by_their_values() -> None:
    """A container of the wrong type stays a mismatch under reclassify_nulls, which upstream skips."""
    result = one({"o": {"v": 1}}, {"o": "x"}, an_object(o=an_object(v=NUMBER)), post_process=reclassify_nulls)
    assert result.mean_f1 == 0.0
    containers = an_object(o=an_object(v=NUMBER), t=a_list(NUMBER))
    for value in ({"o": "x", "t": "x"}, {"o": {}, "t": []}):
        found = one(value, value, containers, post_process=reclassify_nulls)
        assert [row.status for row in found.records[0].field_results] == ["match", "match"]
    handling = NullHandling(absent_values=[None, ""])
    found = one({"a": ""}, {"a": "x"}, an_object(a=TEXT), post_process=lambda r: reclassify_nulls(r, handling))
    assert found.total_hallucinations == 1


def test_a_comparator_of_anybodys() -> None:
    """A failure, and a score outside [0, 1], leaves the record undecided and says where; other records and fields count; skip counts."""

    def wild(gold: Any, extracted: Any, params: Any) -> ComparatorResult:
        if extracted == "boom":
            raise ZeroDivisionError("division by zero")
        return ComparatorResult(1.5 if extracted == "high" else 0.0, "wild", skip=extracted == "skip")

    schema = an_object(a={"type": "string", "x-eval-compare": "wild"}, b=TEXT)
    found = {e: rows({"a": "x"}, {"a": e}, schema, comparators={"wild": wild})[0][1:] for e in ("boom", "high", "skip")}
    line = wild.__code__.co_firstlineno + 2
    assert found["boom"] == ("error", f"comparator wild raised ZeroDivisionError at test_xeval_sound.py:{line}")
    assert found["high"] == ("error", "comparator wild gave 1.5, expected a number in [0, 1]")
    assert found["skip"] == ("skipped", None)
    [skipped, _] = one({"a": "x", "b": "y"}, {"a": "skip", "b": "y"}, schema, comparators={"wild": wild}).records[0].field_results
    assert (skipped.status, skipped.score) == ("skipped", 0)
    gold = [{"a": "x", "b": "y"}] * 2
    result = evaluate(gold, [{"a": "boom", "b": "y"}, {"a": "z", "b": "y"}], schema, comparators={"wild": wild})
    assert [record.f1 for record in result.records] == [None, 0.5]
    assert (result.mean_f1, result.undecided_records, result.coverage) == (0.5, 1, 0.75)
    assert [fault.code for fault in result.faults] == ["SCORER_ERROR"]
    # In a best fit too: the elements are then compared in order.
    lists = an_object(t=a_list(schema, align=BEST_FIT))
    result = one({"t": [gold[0], {"a": "x", "b": "z"}]}, {"t": [{"a": "skip", "b": "z"}, {"a": "boom", "b": "y"}]}, lists,
                 comparators={"wild": wild})  # fmt: skip
    [record] = result.records
    assert [(row.path, row.status) for row in record.field_results] == [
        ("t[0].a", "skipped"), ("t[0].b", "mismatch"), ("t[1].a", "error"), ("t[1].b", "mismatch"),
    ]  # fmt: skip
    assert (record.f1, {fault.detail for fault in result.faults}) == (None, {found["boom"][1]})


def test_a_transform_of_anybodys_that_fails_on_a_key() -> None:
    """Nobody knows which elements belong together: the record is undecided, by a key alone and where best fit would take its place."""

    def fail(value: Any, params: Any) -> Any:
        raise RuntimeError

    items = an_object(k={**TEXT, "x-eval-transform": ["own"]}, v=NUMBER)
    for align in ({"match_by": "key_field", "key": "k"}, {"match_by": "key_field", "key": "k", "fallback": "hungarian"}):
        schema = an_object(t=a_list({**items, "properties": items["properties"]}, align=align))
        result = one({"t": [{"k": "a", "v": 1}]}, {"t": [{"k": "b", "v": 1}]}, schema, transforms={"own": fail})
        assert (result.mean_f1, result.faults[0].detail.partition(" at ")[0]) == (None, "transform own raised RuntimeError")
