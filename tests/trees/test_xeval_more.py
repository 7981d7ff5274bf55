"""What goes beyond the reference: alternatives, weights, thresholds, more comparators, plain schemas, averages, streams, limits."""

import dataclasses
from typing import Any

import pytest

from evalsuite.trees import (
    BatchItem,
    ComparatorResult,
    CompoundComparator,
    FakeJudge,
    FieldResult,
    SchemaError,
    SemanticBatchComparator,
    TreeLimitError,
    evaluate,
    evaluate_stream,
    infer_schema,
    register,
    reset_type_defaults,
    resolve_schema_references,
    rows_of,
    set_type_default,
    unregister,
)
from evalsuite.trees.comparators import SHIPPED
from evalsuite.trees.field_results import Notice
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
    """Alternatives are judged before the best is taken."""
    judge = {"semantic": SemanticBatchComparator(FakeJudge({("big", "huge"): 1.0}))}
    assert one({"a": {ANY: ["small", "big"]}}, {"a": "huge"}, an_object(a=SEMANTIC), comparators=judge).mean_f1 == 1.0


def test_weight() -> None:
    """A field of weight 3 counts as three."""
    schema = an_object(a={**TEXT, "x-eval-weight": 3}, b=TEXT)
    assert one({"a": "x", "b": "y"}, {"a": "x", "b": "z"}, schema).mean_f1 == 0.75


def test_threshold() -> None:
    """A partial score at the threshold is a match, below it nothing."""
    field = {"type": "string", "x-eval-compare": "edit_distance", "x-eval-threshold": 0.75}
    assert one({"a": "abcd"}, {"a": "abcx"}, an_object(a=field)).mean_f1 == 1.0
    assert one({"a": "abcd"}, {"a": "abxx"}, an_object(a=field)).mean_f1 == 0.0


def test_required_optional_ignored() -> None:
    """A required field left out makes the record 0; an optional one may be left out; ignored keys are no inventions."""
    schema = {**an_object(a={**TEXT, "x-eval-required": True}, b={**TEXT, "x-eval-optional": True}, c=TEXT), "x-eval-ignore": ["note"]}
    gold = {"a": "1", "b": "2", "c": "3"}
    left_out = one(gold, {"b": "2", "c": "3"}, schema).records[0]
    assert (left_out.f1, left_out.reason) == (0.0, "required and missing: a")
    assert one(gold, {"a": "1", "c": "3", "note": "n"}, schema).mean_f1 == 1.0
    assert one(gold, {**gold, "b": "9"}, schema).mean_f1 == pytest.approx(2 / 3)
    assert one(gold, {**gold, "other": 1}, schema).mean_precision == 0.75


@pytest.mark.parametrize(
    ("name", "gold", "extracted", "params", "score"),
    [
        ("date", "2024-03-05", "Mar 5, 2024", {}, 1.0),
        ("date", "2024-03-05", "5/3/2024", {"formats": ["%d/%m/%Y"]}, 1.0),
        ("date", "2024-03-05", "2024-03-06", {"days": 1}, 1.0),
        ("date", "2024-03-05", "2024-03-06", {}, 0.0),
        ("date", "2024-03-05", 7, {}, 0.0),
        ("datetime", "2024-03-05T10:00:00Z", "2024-03-05T12:00:00+02:00", {}, 1.0),
        ("datetime", "2024-03-05T10:00:00", "2024-03-05T10:00:30", {"seconds": 10}, 0.0),
        ("quantity", "0.3 um", "300 nm", {}, 1.0),
        ("quantity", {"value": 300, "unit": "nm"}, "3e-7 m", {}, 1.0),
        ("quantity", "25 °C", "298.15 K", {}, 1.0),
        ("quantity", "1,000 g", "1 kg", {}, 1.0),
        ("quantity", 5, "5 mm", {"unit": "mm"}, 1.0),
        ("quantity", "5 mm", "5 mg", {}, 0.0),
        ("quantity", "10 nm", "10.4 nm", {"abs": 0.5}, 1.0),
        ("quantity", "2 furlong", "2 furlong", {}, 1.0),
        ("quantity", "2 furlong", "2 miles", {}, 0.0),
        ("quantity", "1 psi", "6894.757 Pa", {"units": {"psi": [6894.757, "Pa"]}}, 1.0),
        ("regex", "[A-Z]\\d+", "B12", {}, 1.0),
        ("regex", "x", "B12x", {"pattern": "b\\d+x", "ignore_case": True}, 1.0),
        ("regex", "[", "[", {}, 1.0),
        ("regex", "[", "]", {}, 0.0),
        ("regex", "(a+)+b", "a" * 5000, {}, 0.0),
        ("set", ["a", "b"], ["b", "a", "a"], {}, 1.0),
        ("set", "a, b", "b", {}, pytest.approx(2 / 3)),
        ("set", [1], [True], {}, 0.0),
        ("edit_distance", "abcd", "abcx", {}, 0.75),
        ("edit_distance", "abcd", None, {}, 0.0),
        ("token_f1", "the big cat", "The cat", {}, pytest.approx(0.8)),
        ("token_f1", None, None, {}, 1.0),
    ],
)
def test_more_comparators(name: str, gold: Any, extracted: Any, params: Any, score: float) -> None:
    """Dates, quantities, patterns, sets and partial credit, each with a value."""
    assert SHIPPED[name](gold, extracted, params).score == score


def test_register() -> None:
    """exact cannot be taken, date can; a run's own names come first and stay with the run."""
    schema = an_object(a={"type": "string", "x-eval-compare": "date"})
    with pytest.raises(ValueError, match="built in"):
        register("exact", always)
    register("date", always)
    try:
        assert one({"a": "x"}, {"a": "y"}, schema).mean_f1 == 1.0
        assert one({"a": "x"}, {"a": "y"}, schema, comparators={"date": never}).mean_f1 == 0.0
        with pytest.raises(ValueError, match="already registered"):
            register("date", always)
    finally:
        unregister("date")
    assert one({"a": "x"}, {"a": "y"}, schema).mean_f1 == 0.0
    with pytest.raises(SchemaError, match="did you mean 'numeric'"):
        one({}, {}, an_object(a={"type": "number", "x-eval-compare": "numerik"}))


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


def test_compound() -> None:
    """The primary carries the score; a part that both lack is left out, one that a side lacks is an omission and no score."""
    part = {"type": "string", "x-eval-compare": "name"}
    schema = an_object(first=part, last=part)
    run = {"comparators": {"name": CompoundComparator(["first", "last"], "last", "name", "casefold")}}
    full = {"first": "Ada", "last": "Lovelace"}
    assert [row[1] for row in rows(full, {"first": "ADA", "last": "lovelace"}, schema, **run)] == ["skipped", "match"]
    assert one({"last": "L"}, {"last": "L"}, schema, **run).mean_f1 == 1.0
    assert [row[1] for row in rows(full, {"last": "Lovelace"}, schema, **run)] == ["omission", "mismatch"]


def test_type_defaults() -> None:
    """The comparator of a type can be set for the process, and reset."""
    set_type_default("string", {"edit_distance": {}})
    try:
        assert one({"a": "abcd"}, {"a": "abcx"}, infer_schema([{"a": "abcd"}])).mean_f1 == 0.75
    finally:
        reset_type_defaults()
    assert one({"a": "abcd"}, {"a": "abcx"}, infer_schema([{"a": "abcd"}])).mean_f1 == 0.0


def test_widen() -> None:
    """All values decide: number over integer, nullable, several types, and the values of an enumeration."""
    values = [{"n": 1, "m": "x", "k": "a"}, {"n": 2.5, "m": None, "k": "b"}, {"n": 3, "m": "y", "k": "a"}] * 2 + [{"p": 1}, {"p": "x"}]
    found = infer_schema(values, widen=True, notify=quiet)["properties"]
    assert found["n"] == {"type": "number"}
    assert found["m"]["type"] == ["string", "null"]
    assert found["k"] == {"type": "string", "enum": ["a", "b"]}
    assert found["p"] == {"type": ["integer", "string"]}
    assert infer_schema(values, notify=quiet)["properties"]["n"] == {"type": "integer"}


class Model:
    """Stands in for a Pydantic model: a class that describes itself as JSON Schema."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """What Pydantic writes for an optional nested model, an enumeration and a union of models."""
        return {
            "$defs": {
                "Unit": {"enum": ["nm", "um"], "type": "string"},
                "Layer": {"type": "object", "properties": {"thick": {"type": "number"}, "unit": {"$ref": "#/$defs/Unit"}}},
                "Bulk": {"type": "object", "properties": {"mass": {"type": "number"}}},
            },
            "type": "object",
            "properties": {
                "layer": {"anyOf": [{"$ref": "#/$defs/Layer"}, {"type": "null"}], "default": None},
                "sample": {"oneOf": [{"$ref": "#/$defs/Layer"}, {"$ref": "#/$defs/Bulk"}]},
                "amount": {"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null", "title": "none"}]},
                "kind": {"const": "film"},
                "anyOf": {"type": "string"},
            },
        }


def test_a_model_or_a_plain_schema_is_a_schema() -> None:
    """References, optional parts and unions are resolved; leaves get their type's comparator."""
    gold = {"layer": {"thick": 1, "unit": "nm"}, "sample": {"mass": 2}, "amount": 1, "kind": "film", "anyOf": "x"}
    for schema in (Model, Model.model_json_schema()):
        assert one(gold, {**gold, "amount": 1.0}, schema).mean_f1 == 1.0
        assert [r[0] for r in rows(gold, gold, schema)] == ["layer.thick", "layer.unit", "sample.mass", "amount", "kind", "anyOf"]
    assert resolve_schema_references(Model.model_json_schema())["properties"]["amount"]["type"] == "number"


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


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"x-eval-compare": {"numeric": {"tolerance": 5}}}, "tolerance"),
        ({"x-eval-compare": {"oneof": {}}}, "values"),
        ({"x-eval-compare": {"regex": {"pattern": "["}}}, "pattern"),
        ({"x-eval-transform": [{"round_digits": {}}]}, "digits"),
        ({"x-eval-transform": [{"type_convert": {"to": "date"}}]}, "'to'"),
        ({"x-eval-weight": 0}, "weight"),
        ({"x-eval-threshold": 2}, "threshold"),
        ({"x-eval-required": True, "x-eval-optional": True}, "either"),
    ],
)
def test_parameters_are_checked_before_scoring(keys: dict[str, Any], message: str) -> None:
    """A wrong parameter is an error of the schema, named with its path, not of a row."""
    with pytest.raises(SchemaError, match=f"^a: .*{message}"):
        one({}, {}, an_object(a={**TEXT, **keys}))


def test_an_integer_is_a_number_among_several_types() -> None:
    """Gold of a field of several types may be an integer where a number is declared, as where a number alone is."""
    from evalsuite.trees import validate_gold

    kinds: list[str] = []
    schema = an_object(a={"type": ["number", "boolean"], "x-eval-compare": "exact"})
    for value in (1, 1.5, True, "text"):
        validate_gold([{"a": value}], schema, notify=lambda notice: kinds.append(notice.message))
    assert kinds == ["record 0: string is not among ['number', 'boolean']"]
