"""The sound rules of field evaluation: section 18 of the spec, what goes beyond the reference, and what holds for any records."""

import copy
import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.scorers.tree_scorers import tree_match
from evalsuite.trees import (
    ComparatorResult,
    FakeJudge,
    FieldResult,
    NullHandling,
    RunResult,
    SchemaError,
    SemanticBatchComparator,
    TreeLimitError,
    TreeLimits,
    evaluate,
    infer_schema,
    reclassify_nulls,
    reset_type_defaults,
    rows_of,
    set_type_default,
    validate_gold,
)
from evalsuite.trees.field_results import FieldReport, field_details
from tests.properties import LETTERS, examples

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


def test_judge_outage_is_no_score() -> None:
    """A record without a verdict has no P, R, F1 and enters no mean, coverage tells how much was decided; nor is it a perfect fit."""

    def broken_judge(items: list[Any]) -> list[Any]:
        raise ConnectionError("no route")

    judge = {"semantic": SemanticBatchComparator(broken_judge)}
    schema = an_object(a=SEMANTIC)
    result = evaluate([{"a": "x"}, {"a": "y"}], [{"a": "x"}, {"a": "z"}], schema, comparators=judge)
    assert [record.f1 for record in result.records] == [1.0, None]
    assert (result.mean_f1, result.coverage, result.undecided_records) == (1.0, 0.5, 1)
    result = one({"a": "x"}, {"a": "z"}, schema, comparators=judge)
    assert (result.mean_precision, result.mean_recall, result.mean_f1, result.coverage) == (None, None, None, 0.0)
    assert result.micro.f1 is None
    found = rows({"t": ["a", "b"]}, {"t": ["b", "x"]}, an_object(t=a_list(SEMANTIC, align=BEST_FIT)), comparators=judge)
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
    assert found["boom"] == ("error", f"comparator wild raised ZeroDivisionError at test_xeval.py:{line}")
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


ANY = "x-eval-any-of"


def test_alternatives_before_a_judge() -> None:
    """Alternatives are judged before the best is taken, once for all rates."""
    judge = FakeJudge({("big", "huge"): 1.0})
    schema, run = an_object(a=SEMANTIC, b=TEXT), {"comparators": {"semantic": SemanticBatchComparator(judge)}}
    assert one({"a": {ANY: ["small", "big"]}, "b": "x"}, {"a": "huge", "b": "y"}, schema, **run).mean_f1 == 0.5
    assert len(judge.calls) == 2


def test_type_defaults() -> None:
    """The comparator of a type can be set for the process, and reset."""
    set_type_default("string", {"edit_distance": {}})
    try:
        assert one({"a": "abcd"}, {"a": "abcx"}, infer_schema([{"a": "abcd"}])).mean_f1 == 0.75
    finally:
        reset_type_defaults()
    assert one({"a": "abcd"}, {"a": "abcx"}, infer_schema([{"a": "abcd"}])).mean_f1 == 0.0


def test_rows_tell_where() -> None:
    """Each row has the path in gold, in the answer and the folded one; `replace`, `asdict` and `fields` of dataclasses take it."""
    schema = an_object(t=a_list(an_object(k=TEXT, v=NUMBER), align={"match_by": "key_field", "key": "k"}))
    gold = {"t": [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "c", "v": 3}]}
    result = one(gold, {"t": [{"k": "x", "v": 9}, {"k": "b", "v": 2}, {"k": "a", "v": 5}]}, schema)
    found = {row["path"]: (row["found_path"], row["schema_path"], row["status"]) for row in rows_of(result)}
    assert found["t[0].v"] == ("t[2].v", "t[].v", "mismatch")
    assert found["t[1].k"] == ("t[1].k", "t[].k", "match")
    assert found["t[2].v"] == (None, "t[].v", "omission")
    assert found["t[-1].v"] == ("t[0].v", "t[].v", "hallucination")
    score = result.per_schema_path["t[].v"]
    assert (score.precision, score.recall, score.matches, score.mismatches) == (1 / 3, 1 / 3, 1, 1)

    def forgive(rows: list[FieldResult]) -> list[FieldResult]:
        return [dataclasses.replace(row, status="match", score=1.0) if row.path == "b" else row for row in rows]

    result = one({"a": "x", "b": "y"}, {"a": "x", "b": "z"}, an_object(a=TEXT, b=TEXT), post_process=forgive)
    row = result.records[0].field_results[1]
    assert (result.mean_f1, dataclasses.asdict(row)["extracted_value"]) == (1, "z")
    assert [each.name for each in dataclasses.fields(row) if each.default is dataclasses.MISSING] == ["path", "score", "comparator"]


def test_limits() -> None:
    """Depth, text length, keys and the number of values are bounded; inner lists of 4 x 6 elements are within 24 cells."""
    deep: Any = "x"
    for _ in range(3000):
        deep = {"a": deep}
    for extracted in (deep, {"a": "x" * 1_000_001}, {str(n): 1 for n in range(100_001)}, {"a": [0] * 1_000_001}):
        with pytest.raises(TreeLimitError, match="record 0"):
            one({"a": "x"}, extracted, an_object(a=TEXT))
    schema = an_object(o=a_list(an_object(t=a_list(TEXT, align=BEST_FIT)), align=BEST_FIT))
    gold, found = {"o": [{"t": ["a", "b"]}, {"t": ["c", "d"]}]}, {"o": [{"t": ["a", "b", "x"]}, {"t": ["c", "d", "y"]}]}
    assert one(gold, found, schema, limits=TreeLimits(max_cells=24)).mean_f1 == pytest.approx(0.8)
    with pytest.raises(TreeLimitError, match=r"o\[\]\.t: 24 pairs of elements to align, the limit is 23"):
        one(gold, found, schema, limits=TreeLimits(max_cells=23))


def test_details_count_what_was_decided() -> None:
    """A type's mean is over fields on both sides; an undecided record is in no field of the units, and its F1 there is None."""

    def sometimes(gold: Any, extracted: Any, params: Any) -> ComparatorResult:
        if gold == "fail":
            raise RuntimeError
        return ComparatorResult(float(gold == extracted))

    schema = an_object(a={**TEXT, "x-eval-compare": "sometimes"}, n=NUMBER)
    gold, found = [{"a": "x", "n": 1}, {"a": "fail", "n": 1}, {"a": "y", "n": 2}], [{"a": "x"}, {"a": "fail", "n": 1}, {"a": "z", "n": 3}]
    result, report = evaluate(gold, found, schema, comparators={"sometimes": sometimes}), FieldReport(3)
    for record in result.records:
        report.add_record(record)
    details = field_details(result, report, [1.0, 1.0, 1.0])
    assert details["per_type"] == {"integer": 0.5, "string": 0.5}
    assert details["units"]["fields"] == {"a": [1, None, 0], "n": [0, None, 0]}
    assert details["units"]["scores"] == [pytest.approx(2 / 3), None, 0]
    assert (details["n_rows"], details["n_wrong"], len(details["wrong"])) == (6, 4, 4)


LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | st.sampled_from(["a", "b", "A b", ""])
ANYTHING = st.recursive(
    LEAVES | st.floats() | st.text(LETTERS, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd.") | st.text(LETTERS, max_size=2), inner, max_size=3),
    max_leaves=8,
)
ELEMENTS = st.dictionaries(st.sampled_from("xyz"), LEAVES | st.lists(LEAVES, max_size=2), max_size=3)
RECORDS = st.fixed_dictionaries(
    {}, optional={"a": LEAVES, "b": st.dictionaries(st.sampled_from("xy"), LEAVES, max_size=2), "t": st.lists(ELEMENTS, max_size=4)}
)


def schema_of(*records: Any, how: str | None = None) -> dict[str, Any]:
    """A schema inferred from records, its list `t` aligned as said."""
    schema = infer_schema(list(records), notify=lambda _: None)
    if how and "t" in schema.get("properties", {}):
        schema["properties"]["t"]["x-eval-align"] = {"match_by": how}
    return schema


@given(ANYTHING, ANYTHING)
@examples(200)
def test_any_json_has_a_bounded_score_and_a_reason(gold: Any, prediction: Any) -> None:
    """Whatever stands on either side, a score is in [0, 1] or None with a fault, and there is a reason."""
    score = tree_match(prediction, gold=[gold, gold], schema=schema_of(gold))
    for value in (score.official, score.strict):
        assert value is None or 0.0 <= value <= 1.0
    assert score.reason_for("strict")
    assert score.reason_for("official")


@given(st.lists(RECORDS, min_size=1, max_size=3), st.sampled_from([None, "hungarian"]))
@examples(80)
def test_an_exact_copy_is_right(gold: Any, how: str | None) -> None:
    """Gold against itself is 1.0, also for the scorer, which infers the schema from all values."""
    schema = infer_schema(gold, widen=True, notify=lambda _: None)
    if how and "items" in schema.get("properties", {}).get("t", {}):
        schema["properties"]["t"]["x-eval-align"] = {"match_by": how}
    assert evaluate(gold, copy.deepcopy(gold), schema).mean_f1 == 1.0
    assert tree_match(copy.deepcopy(gold), gold=gold).strict == 1.0


@given(RECORDS, RECORDS, LEAVES, st.sampled_from("abt"))
@examples(150)
def test_inventing_and_dropping_a_field(gold: Any, extracted: Any, value: Any, key: str) -> None:
    """One key more that gold lacks does not make an answer more precise, one key less does not find more of gold."""
    schema = schema_of(gold, extracted)
    fewer = {k: v for k, v in extracted.items() if k != key}
    plain, more, less = (evaluate([gold], [each], schema) for each in (extracted, {**extracted, "invented": value}, fewer))
    assert more.mean_precision <= plain.mean_precision
    assert less.mean_recall <= plain.mean_recall + 1e-12


@given(st.lists(st.tuples(RECORDS, RECORDS), min_size=1, max_size=4), st.randoms(use_true_random=False))
@examples(60)
def test_the_order_of_the_batch_does_not_matter(pairs: Any, random: Any) -> None:
    """Records in another order give the same numbers."""
    schema = schema_of(*(gold for gold, _ in pairs), how="hungarian")
    shuffled = list(pairs)
    random.shuffle(shuffled)
    found = [evaluate([g for g, _ in order], [e for _, e in order], schema) for order in (pairs, shuffled)]
    assert found[0].mean_f1 == found[1].mean_f1
    assert sorted(r.f1 or 0 for r in found[0].records) == sorted(r.f1 or 0 for r in found[1].records)
