"""Field evaluation: the sound rules, what goes beyond the reference, rows, numbers, reasons, reports, and limits at their exact bounds."""

import copy
import dataclasses
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite import score
from evalsuite.core.errors import FaultError
from evalsuite.core.scores import BROKEN_RECORD
from evalsuite.scorers.tree_scorers import tree_match, tree_score
from evalsuite.trees import (
    ComparatorResult,
    FakeJudge,
    FieldResult,
    GoldValidationError,
    NullHandling,
    RunResult,
    SchemaError,
    SemanticBatchComparator,
    TreeLimitError,
    TreeLimits,
    chain,
    comparators,
    evaluate,
    evaluate_stream,
    infer_schema,
    reclassify_nulls,
    reset_type_defaults,
    resolve_schema_references,
    rows_of,
    set_type_default,
    treeval,
    treeval_score,
    validate_gold,
)
from evalsuite.trees.field_matching import UPSTREAM_MAX_PAIRS
from evalsuite.trees.field_results import FieldReport, PathTotals, Tally, Totals, field_details, field_reason, tally
from evalsuite.trees.json_schema import MAX_NODES, shorten, type_key
from evalsuite.trees.json_values import ABSENT, Margin, canonical, canonical_order, inspect, number_in_text
from evalsuite.trees.record_scoring import Lost, Scoring, in_step, read_broken
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


TABLE = Path(__file__).with_name("records.txt")


def rounded(value: float | None) -> float | None:
    """Six decimals."""
    return None if value is None else round(value, 6)


def said_of(case: Any, *, compat: bool) -> str:
    """Everything that is said of one run."""
    schema, gold, answer, options = json.loads(case)
    try:
        result = evaluate(gold, answer, schema, compat=compat, notify=lambda _: None, **options)
    except (GoldValidationError, KeyError, TypeError, ValueError) as error:
        return f"=> ! {type(error).__name__}: {error}"
    records = [
        [
            *(one.record_id, rounded(one.precision), rounded(one.recall), rounded(one.f1), one.reason),
            [[row.path, row.found_path, row.status, rounded(row.score), row.comparator, row.reason] for row in one.field_results],
        ]
        for one in result.records
    ]
    counts = [result.total_fields, result.total_omissions, result.total_hallucinations]
    averages = [getattr(each, key) for each in (result.micro, result.macro) for key in ("precision", "recall", "f1")]
    averages += [result.mean_precision, result.mean_recall, result.mean_f1]
    return "=> " + json.dumps([records, [*map(rounded, averages), *counts]])


def test_records_of_every_kind() -> None:
    """The table: containers, nulls, keys, alternatives, transforms, required and unknown fields, ids; sound and as the reference."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for case, *expected in zip(*[iter(lines)] * 3, strict=True):
        assert [said_of(case, compat=compat) for compat in (False, True)] == expected, case


@pytest.mark.parametrize(("gold", "answer", "options", "expected"), [
    (None, None, {}, ("skipped", 0.0, "both absent")),
    (None, None, {"both_absent_skip": False}, ("match", 1.0, "both absent (counted as match)")),
    (None, "x", {}, ("hallucination", 0.0, "gold is absent")),
    ("x", None, {}, ("omission", 0.0, "extracted is absent")),
    ("x", "y", {}, ("mismatch", 0.25, "why")),
    ("", "x", {"absent_values": [None, "", 0]}, ("hallucination", 0.0, "gold is absent")),
    ("x", 0, {"absent_values": [None, "", 0]}, ("omission", 0.0, "extracted is absent")),
    (False, "x", {"absent_values": [0]}, ("mismatch", 0.25, "why")),
    (math.nan, "x", {"absent_values": [math.nan]}, ("hallucination", 0.0, "gold is absent")),
])  # fmt: skip
def test_nulls_that_count_as_absent(gold: Any, answer: Any, options: Any, expected: Any) -> None:
    """Of rows with both sides; those of one side and those without a verdict stay as they are."""
    rows = [
        FieldResult("a", 0.25, "own", gold, answer, status, "why", gold, answer) for status in ("mismatch", "omission", "error", "skipped")
    ]
    found = reclassify_nulls(rows, NullHandling(**options))
    assert found is rows
    assert [(row.status, row.score, row.reason) for row in found] == [expected, *((row.status, 0.25, "why") for row in rows[1:])]
    assert rows[1:] == [FieldResult("a", 0.25, "own", gold, answer, row.status, "why", gold, answer) for row in rows[1:]]
    both = chain([lambda rows: rows[1:], lambda rows: rows[:1]])(rows)
    assert both == rows[1:2]


def test_sums_of_rows_have_no_order() -> None:
    """Weights and partial scores add up without rounding; a path counts its rows by status, and a status that is none is an error."""
    statuses = ("match", "match", "mismatch", "omission", "hallucination", "hallucination", "skipped", "batch_error", "error")
    scores = (1.0, 0.75, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    rows = [
        FieldResult("a", each, "own", status=status, schema_path="a", weight=0.5) for status, each in zip(statuses, scores, strict=True)
    ]
    assert tally(rows) == Tally(1.0, 1.5, 0.5, 1.0)
    totals = Totals()
    assert totals.add(rows) == (0.4, 0.5, pytest.approx(4 / 9))
    assert totals.add(rows, failed=True) == (0, 0, 0)
    assert totals.add(rows, undecided=True) == totals.add(rows[7:8]) == (None, None, None)
    assert totals.add(rows[7:8], failed=True) == (0, 0, 0)
    assert Totals(compat=True).add(rows[7:8]) == (1, 1, 1)
    numbers = totals.numbers()
    counts = [numbers[f"total_{key}"] for key in ("records", "fields", "omissions", "hallucinations", "batch_errors")]
    assert counts == [5, 18, 3, 6, 5]
    assert (numbers["undecided_records"], numbers["coverage"], numbers["mean_precision"]) == (2, 18 / 26, pytest.approx(0.4 / 3))
    assert numbers["micro"].f1 == pytest.approx(4 / 9)
    path = totals.paths["a"]
    assert (path.weight, path.columns()) == (0.5, {"matches": 6, "mismatches": 3, "omissions": 3, "hallucinations": 6})
    assert path.share() == pytest.approx(2 * 6 / 27)
    assert PathTotals().tally() == Tally(0, 0, 0, 0)
    with pytest.raises(KeyError, match="odd"):
        totals.add([FieldResult("a", 1.0, "own", status="odd")])  # type: ignore[arg-type]


def test_a_stream_shows_each_record() -> None:
    """With its id, or its place; the numbers are those of the run."""
    gold, answer = [{"id": "p", "a": "x"}, {"id": "q", "a": "y"}], [{"id": "p", "a": "x"}, {"id": "q", "a": "z"}]
    for id_field, labels in (("id", ["p", "q"]), (None, [0, 1])):
        shown: list[Any] = []
        evaluate_stream(zip(gold, answer, strict=True), an_object(id=TEXT, a=TEXT), id_field, each=shown.append)
        assert [(one.record_id, one.f1 == 1) for one in shown] == [(labels[0], True), (labels[1], False)]


def test_reasons_of_runs() -> None:
    """Why a record failed, then the five worst fields, none of which is shown as right; a record of several is named by its id."""
    gold = {name: {"x": "a"} for name in "abcdefg"}
    answer = {name: {"x": "a" if name == "g" else "b"} for name in "abcdefg"}
    assert tree_match(answer, gold=gold).strict_reason == (
        "worst fields by F1: " + ", ".join(f"{name}.x 0.00" for name in "abcde")
    )  # fmt: skip
    assert tree_match("x", gold="y", schema={"type": "string"}).strict_reason == "worst fields by F1: (root) 0.00"
    many = [{"id": n, "a": "x"} for n in range(400)]
    assert tree_match([{"id": 0, "a": "y"}, *many[1:]], gold=many, id_field="id").strict_reason == "worst fields by F1: a 0.99"
    assert tree_match(gold, gold=gold).strict_reason == "all 7 fields right"
    required = {"type": "object", "properties": {"a": {**TEXT, "x-eval-required": True}, "b": {**TEXT, "x-eval-required": True}}}
    two = [{"id": "p", "a": "x", "b": "y"}, {"id": "q", "a": "x", "b": "y"}]
    for answers, start in (
        (two[:1], "record q: gold's record was not submitted; worst"),
        ([two[0], {"id": "q", "c": 1}], "record q: required and missing: a, b; "),
    ):
        assert tree_match(answers, gold=two, schema=required, id_field="id").strict_reason.startswith(start)
    result = evaluate([{"a": "x"}], [{"a": "y"}], an_object(a={**TEXT, "x-eval-compare": "own"}), comparators={"own": lambda *_: 2})
    assert field_reason(result) == "undecided: no verdict from the judge on any of 0 fields"


def test_what_treeval_says_in_one_sentence() -> None:
    """The factors of the score, how many leaves differ, and the first by its record and path."""
    schema = {"a": "string", "o": {"b c": "integer"}}
    gold = [{"a": "x", "o": {"b c": 1}}] * 2
    for answer, words in (
        (gold, "leaf metrics 1 x F1 of nodes 1 x F1 of non-null leaves 1; all 4 leaves agree"),
        (
            [gold[0], {"a": "y", "o": {"b c": 2}}],
            "leaf metrics 0.5 x F1 of nodes 1 x F1 of non-null leaves 1; 2 of 4 leaves differ, first at [1].a: mismatch",
        ),
        ([gold[0], 5], "leaf metrics 1 x F1 of nodes 0.6 x F1 of non-null leaves 0.8; 1 of 3 leaves differ, first at [1]: mismatch"),
        (
            [{"a": "x", "o": {"b c": 2}}, gold[1]],
            "leaf metrics 0.75 x F1 of nodes 1 x F1 of non-null leaves 1; 1 of 4 leaves differ, first at [0].o['b c']: mismatch",
        ),
    ):
        assert score("tree_score", answer, gold=gold, schema=schema).strict_reason == words
    assert score("tree_score", {"x y": 2}, gold={"x y": 1}, schema={"x y": "integer"}).strict_reason.endswith(
        "first at [0]['x y']: mismatch"
    )


@pytest.mark.parametrize(("pairs", "margin"), [
    ([(1, 1.5), (2, 2.25), (3, 3)], 0.5), ([], None), ([(0.1, 0.3)], 0.2), ([("a", "a")], None), ([("a", "b")], None), ([(1, 2),
    ("a", "b"), (3, 4)], None),
    ([(2**53 + 2, 2.0**53)], 2.0), ([(2.0**60, 2**60 + 1)], 23.0), ([(2**60 + 1, 2.0**60)], 23.0), ([(2**60, 2**60 + 3)], 3.0),
    ([(2**60 + 100, 2.0**60)], 100.0), ([(2.0**60, 2**60 + 100)], 100.0), ([(2**53 + 3, 2.0**53 + 2)], 1.0),
    ([(True, 1)], None), ([(1, math.inf)], None),
    ([(2**70 + 1, 0)], float(2**70 * (1 + 2**-52))), ([(0.30000000000000004, 0.3)], 5.551115123125783e-17),
    ([(2311, 58.3)], 2252.7), ([(58.3, 2311)], 2252.7),
])  # fmt: skip
def test_the_margin_that_numbers_need(pairs: Any, margin: float | None) -> None:
    """The largest distance, as written and as compared, whichever is larger; none where a text or no tolerance decides."""
    found = Margin()
    for gold, answer in pairs:
        found.add(gold, answer, is_right=gold == answer and type(gold) is type(answer))
    assert found.value == margin


@pytest.mark.parametrize(("value", "limits", "message"), [
    ([[1]], {"max_depth": 2}, ""), ([[[1]]], {"max_depth": 2}, "nested deeper than 2 levels"), ([[[]]], {"max_depth": 2}, ""),
    ([1, [2, 3]], {"max_nodes": 5}, ""), ([1, [2, 3]], {"max_nodes": 4}, "more than 4 values"), ({"a": "xyz"}, {"max_string": 3}, ""),
    ({"a": "xyzw"}, {"max_string": 3}, "a text of 4 characters, the limit is 3"), ({"a": 1, "b": [{}]}, {"max_keys": 2}, ""),
    ({"a": [{"b": 1, "c": 2, "d": 3}]}, {"max_keys": 2}, "an object of 3 keys, the limit is 2"),
])  # fmt: skip
def test_limits_of_values(value: Any, limits: Any, message: str) -> None:
    """Each is inclusive; what is above it is named with its place."""
    if message:
        with pytest.raises(TreeLimitError) as raised:
            inspect(value, TreeLimits(**limits), where="record 7")
        assert (str(raised.value.fault.detail), raised.value.path, raised.value.message) == (f"record 7: {message}", "record 7", message)
    else:
        assert inspect(value, TreeLimits(**limits)) is False
        assert inspect([value, {"x-eval-any-of": [1]}, {"b": 1}]) is True
    assert [*asdict(TreeLimits()).values()] == [10**7, 4 * 10**8, 250_000, 100, 10**6, 100_000, 10**6]
    assert (comparators.MAX_CELLS, comparators.PATTERN_SECONDS, treeval.MAX_CELLS, UPSTREAM_MAX_PAIRS) == (4 * 10**8, 1, 4 * 10**7, 2500)


def test_limits_of_alignments() -> None:
    """Pairs of elements, through a judge, and with alternatives: as many as the limit are aligned, one more is an error with both sizes."""
    best = a_list(an_object(a=TEXT, b={**TEXT, "x-eval-compare": "own"}), align={"match_by": "hungarian"})
    plain = a_list(TEXT, align={"match_by": "hungarian"})

    def own(items: list[Any]) -> list[Any]:
        return [1.0] * len(items)

    own.is_batch = True  # type: ignore[attr-defined]
    two, three = [{"a": "x"}] * 2, [{"a": "x"}] * 3
    either, run = [{"x-eval-any-of": ["a", "b"]}] * 2, {"comparators": {"own": own}}
    for schema, gold, answer, limits, message in (
        (plain, ["a"] * 2, ["a"] * 3, {"max_pairs": 5}, "t: 2 x 3 elements to align, the limit is 5 pairs"),
        (best, two, three, {"max_row_pairs": 5}, "t: 2 x 3 elements to align through a judge, the limit is 5 pairs"),
        (plain, either, ["a"] * 3, {"max_row_pairs": 5}, r"t\[\]: 2 x 3 elements with alternatives to align, the limit is 5 pairs"),
    ):
        [(name, most)] = limits.items()
        evaluate([{"t": gold}], [{"t": answer}], an_object(t=schema), limits=TreeLimits(**{name: most + 1}), **run)
        with pytest.raises(TreeLimitError, match=f"^{message}$"):
            evaluate([{"t": gold}], [{"t": answer}], an_object(t=schema), limits=TreeLimits(**limits), **run)
    both = an_object(t=plain, b={**TEXT, "x-eval-compare": "own"})
    assert evaluate([{"t": ["a"] * 2}], [{"t": ["a"] * 3}], both, limits=TreeLimits(max_row_pairs=5), **run).mean_f1 == 0.8
    objects, schema = [{"x": n, "y": n} for n in range(4)], {"a": [{"x": "integer", "y": "integer"}], "b": ["string"]}
    for field, items, n in (("a", objects, 32), ("b", ["a"] * 4, 16)):
        treeval_score([{field: items}], [{field: items}], {field: schema[field]}, max_cells=n)
        with pytest.raises(TreeLimitError, match=f"{field}: 4 x 4 items x {n // 16} leaves are more than the {n - 1} cells"):
            treeval_score([{field: items}], [{field: items}], {field: schema[field]}, max_cells=n - 1)
    single = [{"x": n} for n in range(4)]
    assert treeval_score([{"a": single}], [{"a": single}], {"a": [{"x": "integer"}]}, max_cells=16).score == 1


def test_texts_that_do_not_tell_orders_apart() -> None:
    """Two values share one if they differ only in the order of keys and of items; numbers, texts, NaN and null are told apart."""
    alike = [{"a": [1, {"b": 2}], "c": None}, {"c": None, "a": [{"b": 2}, 1]}]
    others = [1, 1.5, True, None, math.nan, "1", "nan", [1], [[1]], {"1": 1}, {}, [], {"a": math.nan}, {"a": None}]
    for more in ([], ["\ud800", 10**30]):
        texts = canonical([*alike, *others, *more])
        assert texts[0] == texts[1]
        assert len({*texts}) == len(others) + len(more) + 1
    assert (canonical_order([3, 1, 2, 1]), canonical_order([["é"], ["z"], ["a"]])) == ([1, 3, 2, 0], [2, 1, 0])
    deep: list[Any] = [1, 2]
    for _ in range(255):
        deep = [[each] for each in deep]
    assert len({*canonical([[[each]] for each in deep])}) == 2
    assert len({*canonical([[[[each]]] for each in deep])}) == 1
    assert [str(number_in_text(text)) for text in ("-1.50e+2", "0", "007", "1.", ".5", "+5", "1e5", "1e12345", 5)] == [
        "-150", "0", "None", "None", "None", "None", "1E+5", "None", "None",
    ]  # fmt: skip


BLANK, CUT = Lost(3, ""), Lost(5, "not JSON")


@pytest.mark.parametrize(("records", "n", "expected"), [
    ([1, BLANK, 2], 2, [1, 2]), ([1, BLANK, 2], 3, [1, BLANK, 2]), ([BLANK, 1, BLANK], 2, [1, BLANK]), ([1, CUT, CUT, 2], 3, [1, CUT, 2]),
    ([CUT, CUT], 1, [CUT]), ([1, CUT, CUT, 2], 4, [1, CUT, CUT, 2]), ([1, CUT, 2], 4, [1, CUT, CUT, 2]), ([CUT], 2, [CUT, CUT]),
    ([1, 2, CUT], 4, [1, 2, CUT, CUT]), ([1, 2], 3, [1, 2]), ([1, 2, 3], 2, [1, 2, 3]), ([CUT, 1, CUT], 2, [CUT, 1, CUT]),
    ([CUT, CUT, CUT], 1, [CUT]), ([CUT, CUT], 4, [CUT] * 4), ([CUT, CUT], 3, [CUT] * 3), ([BLANK, BLANK, 1], 1, [1]),
])  # fmt: skip
def test_records_keep_their_places(records: list[Any], n: int, expected: list[Any]) -> None:
    """Blank lines too many are none, of two broken neighbours too many one is, and a broken line too few counts twice."""
    assert in_step(records, n) == expected


def test_records_that_cannot_be_read() -> None:
    """Alone they are a fault, among others they are lost with their line and cause; with `repair` they are what they say."""

    def broken(**parts: Any) -> Any:
        return {BROKEN_RECORD: parts}

    repaired, lost = broken(repaired={"a": 1}, line=2), broken(line=7, cause="not JSON")
    assert read_broken(repaired, repair=True) == ({"a": 1}, 1)
    assert read_broken({"a": 1}, repair=True) == ({"a": 1}, 0)
    assert read_broken([1, repaired, lost, repaired, broken(cause="x")], repair=True) == (
        [1, {"a": 1}, Lost(7, "not JSON"), {"a": 1}, Lost(0, "x")],
        2,
    )
    assert read_broken([repaired, {**lost, "b": 1}], repair=False) == ([Lost(2, ""), {**lost, "b": 1}], 0)
    for value, repair in ((lost, True), (repaired, False)):
        with pytest.raises(FaultError) as raised:
            read_broken(value, repair=repair)
        assert (raised.value.fault.code, raised.value.fault.detail) == ("BAD_JSON", "not JSON" if value is lost else "")
    assert (BLANK.reason, CUT.reason) == ("line 3 is blank", "line 5: not JSON")
    for gold, rows in ((ABSENT, []), ({"a": "x"}, [("a", "omission", "x", None)])):
        for record in (CUT, BLANK):
            found = Scoring(an_object(a=TEXT)).record("r", gold, record, Totals())
            assert (found.record_id, found.precision, found.recall, found.f1, found.reason) == ("r", 0, 0, 0, record.reason)
            assert [(row.path, row.status, row.gold_value, row.extracted_value) for row in found.field_results] == rows


def test_every_part_of_a_report() -> None:
    """Two records under both scorers, number by number: by field, by record, by confusion, row by row."""
    schema = {"a": "string", "t": [{"n": "integer"}]}
    gold = [{"a": "abcd", "t": [{"n": 1}, {"n": 2}]}, {"a": None, "t": [{"n": 3}]}]
    answer = [{"a": "abcx", "t": [{"n": 1}, {"n": 5}]}, {"a": "new", "t": [], "u": 1}]
    third, part, lacks, new = 1 / 3, 0.5833333333333334, "omission", "hallucination"
    for scorer, expected in (
        (tree_score, {
            "counts": [7, 6, 1, 5, 0, 1], "n_leaves": 6, "n_records": 2, "n_fields": 3, "n_wrong": 5, "margin": None,
            "per_metric": {"exact_match": 0.5, "levenshtein": 0.75},
            "fields": [["u", 0, 1, 0, 0, 0, 0, 1], ["t[].n", 0.5, third, 0.4, 1, 1, 1, 0], ["a", 0.375, 0.75, 0.5, 0, 1, 0, 1]],
            "records": [[0, part, part, part], [1, 0, 0, 0]],
            "confusions": [["u", new, None, 1, 1], ["a", new, None, "new", 1], ["a", "mismatch", "abcd", "abcx", 1],
                           ["t[].n", lacks, 3, None, 1], ["t[].n", "mismatch", 2, 5, 1]],
            "rows": [[0, "a", "partial", "abcd", "abcx", 0.75, None, None, ""], [0, "t[1].n", "mismatch", 2, 5, 0, 1, 1, ""],
                     [1, "u", new, None, 1, None, None, None, "unknown key"], [1, "a", new, None, "new", 0, None, None, ""],
                     [1, "t[0].n", lacks, 3, None, 0, 0, None, "missing item"]],
            "units": [2, [part, 0], {"u": [None, 0], "a": [0.75, 0], "t[].n": [0.5, 0]}],
        }),
        (tree_match, {
            "precision": 1 / 6, "recall": 1 / 6, "f1": 1 / 6, "micro_f1": 0.20000000000000004, "macro_f1": 0.4 / 3,
            "coverage": 1, "margin": None, "tree": {"*": 0, "a": 0, "t[]": {"n": 0.4}}, "per_type": {"integer": 1, "null": 0, "string": 0},
            "counts": [1, 2, 2, 2], "n_records": 2, "n_rows": 7, "n_fields": 3, "n_wrong": 6,
            "fields": [["*", 0, 1, 0, 0, 0, 0, 1], ["a", 0, 0, 0, 0, 2, 0, 0], ["t[].n", 0.5, third, 0.4, 1, 0, 2, 1]],
            "records": [[0, third, third, third], [1, 0, 0, 0]],
            "confusions": [["a", "mismatch", "abcd", "abcx", 1], ["t[].n", lacks, 2, None, 1], ["t[].n", new, None, 5, 1],
                           ["a", "mismatch", None, "new", 1], ["t[].n", lacks, 3, None, 1], ["*", new, None, 1, 1]],
            "wrong": [[0, "a", "a", "a", "mismatch", 0, "exact", "abcd", "abcx", "mismatch"],
                      [0, "t[1].n", None, "t[].n", lacks, 0, "numeric", 2, None, None],
                      [0, "t[-1].n", "t[1].n", "t[].n", new, 0, "numeric", None, 5, None],
                      [1, "a", "a", "a", "mismatch", 0, "exact", None, "new", "mismatch"],
                      [1, "t[0].n", None, "t[].n", lacks, 0, "numeric", 3, None, None],
                      [1, "u", "*", "*", new, 0, "", None, 1, None]],
            "units": [2, [third, 0], {"a": [0, 0], "t[].n": [0.5, 0], "*": [None, 0]}],
        }),
    ):  # fmt: skip
        details = scorer(answer, gold=gold, schema=schema).details
        for key, value in expected.items():
            found = [[*row.values()] for row in details[key]] if isinstance(details[key], list) else details[key]
            assert ([*found.values()] if key in ("counts", "units") else found) == value, key


def test_means_by_branch() -> None:
    """A branch counts as one value next to the leaves of its parent, a list of objects too; without any value there is none."""
    schema: dict[str, Any] = {"a": "integer", "b": {"c": "integer", "d": {"e": "integer", "f": "integer"}}}
    schema |= {"l": [{"g": "integer", "h": "integer"}], "s": "string"}
    gold = {"a": 1, "b": {"c": 1, "d": {"e": 1, "f": 1}}, "l": [{"g": 1, "h": 1}], "s": "x"}
    answer = {"a": 0, "b": {"c": 1, "d": {"e": 0, "f": 1}}, "l": [{"g": 1, "h": 0}], "s": "x"}
    result = treeval_score([answer], [gold], schema, hierarchical=True)
    assert result.per_metric["exact_match"] == pytest.approx((0 + (1 + 0.5) / 2 + 0.5) / 3)
    assert result.per_metric["levenshtein"] == 1
    flat = treeval_score([answer], [gold], schema)
    assert flat.per_metric["exact_match"] == pytest.approx(3 / 6)
    assert flat.per_leaf_type["integer"] == {"exact_match": pytest.approx(3 / 6)}
    assert treeval_score([{"s": None}], [{"s": None}], {"s": "string"}).per_metric["levenshtein"] is None
    assert treeval_score([{}], [{"s": "x"}], {"s": "string"}, hierarchical=True).score == 0


def test_paths_of_messages() -> None:
    """A long path keeps its beginning and its end; keys that are no names are quoted; types have names of JSON and of Python."""
    assert (shorten("x" * 80), shorten("a" * 61 + "b" * 20)) == ("x" * 80, "a" * 60 + "..." + "b" * 15)
    names = [type_key(key) for key in ((), "choice", int, float, bool, str, "date", bytes)]
    assert names == ["()", "()", "integer", "number", "boolean", "string", "date", str(bytes)]
    assert MAX_NODES == 100_000
    flat = an_object(**{key: {"type": "string"} for key in "abcd"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.trees.json_schema.MAX_NODES", 5)
        assert resolve_schema_references(flat, notify=lambda _: None) == flat
        patch.setattr("evalsuite.trees.json_schema.MAX_NODES", 4)
        with pytest.raises(SchemaError, match=r"^d: the schema unfolds to more than 4 fields"):
            resolve_schema_references(flat, notify=lambda _: None)
