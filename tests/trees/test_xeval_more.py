"""What goes beyond the reference: alternatives, weights, thresholds, more comparators, plain schemas, averages, streams, limits."""

import dataclasses
from typing import Any

import pytest

from evalsuite.trees import (
    BatchItem,
    ComparatorResult,
    FakeJudge,
    FieldResult,
    SemanticBatchComparator,
    TreeLimitError,
    TreeLimits,
    evaluate,
    evaluate_stream,
    infer_schema,
    parse_eval_schema,
    register,
    reset_type_defaults,
    rows_of,
    set_type_default,
    unregister,
)
from evalsuite.trees.field_matching import how_aligned
from evalsuite.trees.field_results import FieldReport, Notice, field_details
from tests.trees.test_xeval_sound import BEST_FIT, NUMBER, SEMANTIC, TEXT, a_list, an_object, one, rows

ANY = "x-eval-any-of"


def always(gold: Any, extracted: Any, params: Any) -> ComparatorResult:
    """A comparator that takes everything."""
    return ComparatorResult(1.0, "always")


def never(gold: Any, extracted: Any, params: Any) -> ComparatorResult:
    """A comparator that takes nothing."""
    return ComparatorResult(0.0, "never")


def quiet(_: Notice) -> None:
    """Remarks do not matter here."""


def test_alternatives_at_any_level() -> None:
    """A leaf, an object, a list element and a whole record may have several accepted values; the best one counts."""
    schema = an_object(a=TEXT, o=an_object(x=NUMBER, y=NUMBER), t=a_list(TEXT, align=BEST_FIT))
    gold = {"a": {ANY: ["NYC", "New York"]}, "o": {ANY: [{"x": 1}, {"x": 1, "y": 2}]}, "t": [{ANY: ["u", "v"]}, "w"]}
    assert one(gold, {"a": "New York", "o": {"x": 1, "y": 2}, "t": ["w", "v"]}, schema).mean_f1 == 1.0
    assert one({ANY: [{"a": "x"}, {"a": "y"}]}, {"a": "y"}, schema).mean_f1 == 1.0
    assert [row[:2] for row in rows(gold, {}, schema)] == [
        ("a", "omission"),
        ("o.x", "omission"),
        ("t[0]", "omission"),
        ("t[1]", "omission"),
    ]
    assert one({ANY: [{"a": "x"}, {"a": "y"}]}, {"a": "z"}, schema).mean_f1 == 0.0


def test_alternatives_before_a_judge() -> None:
    """Alternatives are judged before the best is taken, once for all rates."""
    judge = FakeJudge({("big", "huge"): 1.0})
    schema, run = an_object(a=SEMANTIC, b=TEXT), {"comparators": {"semantic": SemanticBatchComparator(judge)}}
    assert one({"a": {ANY: ["small", "big"]}, "b": "x"}, {"a": "huge", "b": "y"}, schema, **run).mean_f1 == 0.5
    assert len(judge.calls) == 2


@pytest.mark.parametrize("weight", [1e-9, 1, 1e8])
def test_how_large_weights_are_does_not_matter(weight: float) -> None:
    """Elements in any order find their partners whatever all fields weigh, and a stranger finds none."""
    schema = an_object(t=a_list({**TEXT, "x-eval-weight": weight}, align=BEST_FIT))
    assert one({"t": ["a", "b", "c"]}, {"t": ["x", "b", "a"]}, schema).mean_f1 == pytest.approx(2 / 3)


def test_transforms_of_a_run() -> None:
    """A transform may be registered, or given to one run."""
    schema = an_object(a={**TEXT, "x-eval-transform": ["no_dots"]})
    no_dots = {"no_dots": lambda value, _: value.replace(".", "")}
    assert one({"a": "a.b"}, {"a": "ab"}, schema, transforms=no_dots).mean_f1 == 1.0
    register("no_dots", no_dots["no_dots"], kind="transform")
    try:
        assert one({"a": "a.b"}, {"a": "ab"}, schema).mean_f1 == 1.0
    finally:
        unregister("no_dots", kind="transform")


def test_a_batch_function() -> None:
    """A plain function becomes a batch comparator by its kind."""

    def all_or_nothing(items: list[BatchItem]) -> list[ComparatorResult]:
        score = float(all(item.gold_raw == item.extracted_raw for item in items))
        return [ComparatorResult(score, "together") for _ in items]

    register("together", all_or_nothing, kind="batch")
    try:
        field = {"type": "string", "x-eval-compare": "together"}
        assert one({"a": "1", "b": "2"}, {"a": "1", "b": "3"}, an_object(a=field, b=field)).mean_f1 == 0.0
    finally:
        unregister("together")


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


def test_micro_and_macro() -> None:
    """Micro pools the rows of all records, macro means over schema paths, mean_* over records."""
    schema = an_object(a=TEXT, t=a_list(TEXT))
    gold = [{"a": "x", "t": ["1", "2", "3"]}, {"a": "y"}]
    result = evaluate(gold, [{"a": "x", "t": ["1", "2", "3"]}, {"a": "z"}], schema)
    assert (result.mean_f1, result.micro.f1, result.macro.f1) == pytest.approx((0.5, 0.8, 0.75))


def test_stream_gives_the_same_numbers() -> None:
    """A stream of pairs gives the run's numbers and keeps no row."""
    schema = an_object(a=TEXT, t=a_list(TEXT, align=BEST_FIT))
    gold = [{"a": str(n), "t": ["u", "v"]} for n in range(20)]
    found = [{"a": str(n % 7), "t": ["v", "u", str(n)]} for n in range(20)]
    result, summary = evaluate(gold, found, schema), evaluate_stream(zip(gold, found, strict=True), schema)
    assert dict(vars(summary)) == {name: value for name, value in vars(result).items() if name not in ("records", "per_field")}


def test_limits() -> None:
    """Depth, text length, keys and the number of values are bounded; the error names the record."""
    schema = an_object(a=TEXT)
    deep: Any = "x"
    for _ in range(3000):
        deep = {"a": deep}
    for extracted in (deep, {"a": "x" * 1_000_001}, {str(n): 1 for n in range(100_001)}, {"a": [0] * 1_000_001}):
        with pytest.raises(TreeLimitError, match="record 0"):
            one({"a": "x"}, extracted, schema)


def test_alignment_in_order() -> None:
    """Lists are in order by default, with `match_by: null`, and with `ordered: true` next to a `match_by`."""
    for align in (None, {"match_by": None}, {"ordered": True, "match_by": "hungarian"}):
        schema = an_object(t={**a_list(TEXT), **({"x-eval-align": align} if align else {})})
        result = evaluate([{"t": ["a", "b"]}], [{"t": ["b", "a"]}], schema, notify=quiet)
        assert (result.mean_f1, result.total_fields) == (0, 2)
        lists = parse_eval_schema(schema, notify=quiet).by_key["t"]
        assert (how_aligned(lists), lists.ignores_order) == ("ordered", False)


def test_the_limit_of_lists_inside_elements_is_inclusive() -> None:
    """4 x 6 elements of inner lists are 24 cells: a limit of 24 allows them, one of 23 names the list."""
    schema = an_object(o=a_list(an_object(t=a_list(TEXT, align=BEST_FIT)), align=BEST_FIT))
    gold, found = {"o": [{"t": ["a", "b"]}, {"t": ["c", "d"]}]}, {"o": [{"t": ["a", "b", "x"]}, {"t": ["c", "d", "y"]}]}
    assert evaluate([gold], [found], schema, limits=TreeLimits(max_cells=24)).mean_f1 == pytest.approx(0.8)
    with pytest.raises(TreeLimitError, match=r"o\[\]\.t: 24 pairs of elements to align, the limit is 23"):
        evaluate([gold], [found], schema, limits=TreeLimits(max_cells=23))


def test_an_empty_object_expects_nothing() -> None:
    """Gold {} against a list or text is invented, not wrong: nothing could be recalled; gold [] or a filled object is a mismatch."""
    schema = an_object(o=an_object(x=TEXT), t=a_list(TEXT))
    for gold, found, status in (
        ({"o": {}}, {"o": [1]}, "hallucination"), ({"o": {}}, {"o": "a"}, "hallucination"),
        ({"o": {"x": "a"}}, {"o": "a"}, "mismatch"), ({"t": []}, {"t": "a"}, "mismatch"), ({"t": []}, {"t": {}}, "mismatch"),
        ({"t": {}}, {"t": "a"}, "mismatch"),
    ):  # fmt: skip
        assert [row[:2] for row in rows(gold, found, schema)] == [(next(iter(gold)), status)]
    [row] = evaluate([{"o": {}}], [{"o": [1]}], schema, compat=True).records[0].field_results
    assert row.status == "mismatch"


def test_both_sides_need_as_many_records() -> None:
    """Without ids another number of records is an error that names both; with ids it is not, except in compat mode."""
    schema, records = an_object(a=TEXT), [{"id": n, "a": "x"} for n in range(3)]
    for gold, found in ((records, records[:2]), (records[:2], records)):
        with pytest.raises(ValueError, match=f"same length, got {len(gold)} and {len(found)}"):
            evaluate(gold, found, schema)
        with pytest.raises(ValueError, match="same length"):
            evaluate(gold, found, schema, "id", compat=True)
        assert evaluate(gold, found, schema, "id").total_records == 3


def test_no_record_is_a_perfect_run() -> None:
    """Every mean of no record is 1, as in the reference, and none of a run without a decided record."""
    schema = an_object(a={**TEXT, "x-eval-compare": "broken"})
    nothing = evaluate([], [], schema, comparators={"broken": never})
    assert {nothing.mean_f1, *dataclasses.astuple(nothing.micro), *dataclasses.astuple(nothing.macro)} == {1.0}

    def broken(gold: Any, extracted: Any, params: Any) -> ComparatorResult:
        raise RuntimeError

    undecided = evaluate([{"a": "x"}], [{"a": "y"}], schema, comparators={"broken": broken})
    assert {undecided.mean_f1, *dataclasses.astuple(undecided.micro), *dataclasses.astuple(undecided.macro)} == {None}


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


def test_a_record_of_one_side_is_shown_on_its_side() -> None:
    """Gold without an answer and an answer without gold are each whole, with nothing on the other side."""
    result = evaluate([{"id": 1, "a": "x"}], [{"id": 2, "a": "y"}], an_object(a=TEXT), "id")
    assert [(one.gold, one.extracted) for one in result.records] == [({"id": 1, "a": "x"}, None), (None, {"id": 2, "a": "y"})]


@pytest.mark.parametrize(
    ("key", "is_key"), [(0, True), ("", True), (1.5, True), (True, False), (float("nan"), False), ([1], False), (None, False)]
)
def test_what_serves_as_a_key(key: Any, is_key: bool) -> None:
    """Texts and numbers pair elements, nothing else does."""
    items = an_object(k={"type": ["number", "string"], "x-eval-compare": "exact"}, v=NUMBER)
    gold = {"t": [{"k": key, "v": 1}]}
    assert one(gold, gold, an_object(t=a_list(items, align={"match_by": "key_field", "key": "k"}))).mean_f1 == float(is_key)


def test_a_list_in_the_place_of_an_element() -> None:
    """It is an invention among elements in any order, and takes no partner from the right one."""
    items = an_object(x=TEXT, tags=a_list(TEXT, align=BEST_FIT))
    found = rows({"t": [{"x": "a"}]}, {"t": [["b"], {"x": "a"}]}, an_object(t=a_list(items, align=BEST_FIT)))
    assert [row[:2] for row in found] == [("t[0].x", "match"), ("t[-1]", "hallucination")]
