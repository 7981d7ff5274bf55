"""What goes beyond the reference: alternatives, weights, thresholds, more comparators, plain schemas, averages, streams, limits."""

import dataclasses
from typing import Any

import pytest

from evalsuite.trees import (
    ComparatorResult,
    FakeJudge,
    FieldResult,
    SemanticBatchComparator,
    TreeLimitError,
    TreeLimits,
    evaluate,
    infer_schema,
    reset_type_defaults,
    rows_of,
    set_type_default,
)
from evalsuite.trees.field_results import FieldReport, field_details
from tests.trees.test_xeval_sound import BEST_FIT, NUMBER, SEMANTIC, TEXT, a_list, an_object, one

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
    """Each row has the path in gold, the path in the answer and the folded path."""
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


def test_a_row_is_copied_as_a_dataclass() -> None:
    """A post-processor may return other rows, made by `dataclasses.replace`; `asdict` and `fields` take a row too."""

    def forgive(rows: list[FieldResult]) -> list[FieldResult]:
        return [dataclasses.replace(row, status="match", score=1.0) if row.path == "b" else row for row in rows]

    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    result = evaluate([{"a": "x", "b": "y"}], [{"a": "x", "b": "z"}], schema, post_process=forgive)
    assert result.mean_f1 == 1
    row = result.records[0].field_results[1]
    assert dataclasses.asdict(row)["extracted_value"] == "z"
    assert [each.name for each in dataclasses.fields(row) if each.default is dataclasses.MISSING] == ["path", "score", "comparator"]


def test_limits() -> None:
    """Depth, text length, keys and the number of values are bounded; the error names the record."""
    schema = an_object(a=TEXT)
    deep: Any = "x"
    for _ in range(3000):
        deep = {"a": deep}
    for extracted in (deep, {"a": "x" * 1_000_001}, {str(n): 1 for n in range(100_001)}, {"a": [0] * 1_000_001}):
        with pytest.raises(TreeLimitError, match="record 0"):
            one({"a": "x"}, extracted, schema)


def test_the_limit_of_lists_inside_elements_is_inclusive() -> None:
    """4 x 6 elements of inner lists are 24 cells: a limit of 24 allows them, one of 23 names the list."""
    schema = an_object(o=a_list(an_object(t=a_list(TEXT, align=BEST_FIT)), align=BEST_FIT))
    gold, found = {"o": [{"t": ["a", "b"]}, {"t": ["c", "d"]}]}, {"o": [{"t": ["a", "b", "x"]}, {"t": ["c", "d", "y"]}]}
    assert evaluate([gold], [found], schema, limits=TreeLimits(max_cells=24)).mean_f1 == pytest.approx(0.8)
    with pytest.raises(TreeLimitError, match=r"o\[\]\.t: 24 pairs of elements to align, the limit is 23"):
        evaluate([gold], [found], schema, limits=TreeLimits(max_cells=23))


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
