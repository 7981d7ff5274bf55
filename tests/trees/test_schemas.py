"""What is made of a schema is said exactly: each form, reference, union, key and type, the comparators that are chosen, and each error."""

import json
from collections.abc import Callable, Sequence
from dataclasses import field, make_dataclass
from datetime import time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NewType, NotRequired, TypedDict

import pytest

from evalsuite import trees
from evalsuite.trees import (
    annotate_xeval,
    infer_schema,
    parse_eval_schema,
    reset_type_defaults,
    resolve_schema_references,
    set_type_default,
    treeval_schema_of,
    validate_gold,
)
from evalsuite.trees.gold_validation import gold_findings
from evalsuite.trees.json_schema import JsonRefError, SchemaError, as_json_schema, plain_schema

TABLE = Path(__file__).with_name("schemas.txt")


def check_gold(value: Any, **options: Any) -> None:
    """Check records against the schema before them."""
    validate_gold(value[1:], value[0], **options)


def find_in_gold(value: Any, **options: Any) -> Any:
    """The findings in records, with the schema before them."""
    return [list(finding) for finding in gold_findings(value[1:], value[0], **options)]


def parse(schema: Any, **options: Any) -> None:
    """Read a schema into fields."""
    parse_eval_schema(schema, **options)


# Section of the table -> the function, and whether it makes remarks.
READ: dict[str, tuple[Callable[..., Any], bool]] = {
    "parse": (parse, True),
    "parse compat": (partial(parse, compat=True), True),
    "resolve": (resolve_schema_references, True),
    "resolve compat": (partial(resolve_schema_references, compat=True), True),
    "annotate": (annotate_xeval, True),
    "annotate types": (partial(annotate_xeval, types=True), True),
    "annotate compat": (partial(annotate_xeval, compat=True), True),
    "infer": (infer_schema, True),
    "infer widen": (partial(infer_schema, widen=True), True),
    "treeval": (treeval_schema_of, False),
    "json schema": (as_json_schema, False),
    "validate": (check_gold, True),
    "validate strict": (partial(check_gold, id_field="id", warn_missing=False, strict_types=True), True),
    "findings": (partial(find_in_gold, warn_missing=True), False),
    "findings by id": (partial(find_in_gold, id_field="id", warn_missing=False, strict_types=True), False),
}


def cases(section: str) -> list[list[str]]:
    """The inputs of a section, each with its result and the remarks."""
    text = TABLE.read_text(encoding="utf-8").partition(f"\n[{section}]\n")[2].partition("\n\n[")[0]
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith(("=> ", "- ")):
            found[-1].append(line)
        else:
            found.append([line])
    return found


@pytest.mark.parametrize("section", READ)
def test_what_is_read(section: str) -> None:
    """The table's result or error, to the letter, and its remarks in order."""
    read, has_remarks = READ[section]
    for source, *expected in cases(section):
        said: list[str] = []

        def say(notice: Any, said: list[str] = said) -> None:
            said.append(f"- {notice.kind} {notice.path}: {notice.message}")

        try:
            found = "=> " + json.dumps(read(json.loads(source), **({"notify": say} if has_remarks else {})))
        except Exception as error:
            parts = (error.path, error.message) if isinstance(error, SchemaError) else (str(error),)
            found = f"=> ! {type(error).__name__}: {': '.join(filter(None, parts))}"
        assert [found, *(line for line in said if not line.startswith("- not_read"))] == expected, source
    assert len(cases(section)) > 0


def test_a_reference_without_a_target_has_its_path() -> None:
    """The keys that lead to it, as the reference gives them, and the place in the schema."""
    schema = {"properties": {"a": {"items": [{"$ref": "#/x"}]}}}
    with pytest.raises(JsonRefError) as raised:
        resolve_schema_references(schema, compat=True)
    assert (raised.value.pointer, raised.value.path) == ("#/x", ["properties", "a", "items", 0])
    with pytest.raises(JsonRefError) as raised:
        resolve_schema_references({"properties": {"a": {"items": {"$ref": "#/x"}}}})
    assert (raised.value.pointer, raised.value.path) == ("#/x", ["a[]"])


def test_a_dict_is_annotated_in_place() -> None:
    """With or without the reference's rules; any other form gives a new one."""
    for compat in (False, True):
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        assert annotate_xeval(schema, compat=compat) is schema
        assert schema["properties"]["a"]["x-eval-compare"] == "exact"  # type: ignore[index]
        text = json.dumps({"type": "object", "properties": {"a": {"type": "string"}}})
        assert annotate_xeval(text, compat=compat) == schema
    circle: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    circle["properties"]["again"] = circle
    assert annotate_xeval(circle, compat=True)["properties"]["a"]["x-eval-compare"] == "exact"


class Colour(Enum):
    """Listed values."""

    RED = "red"
    BLUE = 2


HINTS: list[tuple[Any, Any]] = [
    (NewType("Name", str), {"type": "string"}), (list[int], {"type": "array", "items": {"type": "integer"}}), (list, {"type": "array"}),
    (set[str], {"type": "array", "uniqueItems": True, "items": {"type": "string"}}), (frozenset, {"type": "array", "uniqueItems": True}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}), (tuple[int, str], {"type": "array"}),
    (tuple[int], {"type": "array"}),
    (Sequence[float], {"type": "array", "items": {"type": "number"}}), (dict[str, int], {"type": "object"}), (dict, {"type": "object"}),
    (Literal["x", 1], {"enum": ["x", 1], "type": ["string", "integer"]}), (Literal["x"], {"enum": ["x"], "type": "string"}),
    (Colour, {"enum": ["red", 2], "type": ["string", "integer"]}), (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (Annotated[str, {"x-eval-compare": "exact"}, 5], {"type": "string", "x-eval-compare": "exact"}), (Any, {}),
    (bytes, {"type": "string", "format": "binary"}),
    (Decimal, {"anyOf": [{"type": "number"}, {"type": "string"}]}), (time, {"type": "string", "format": "time"}), (None, {"type": "null"}),
    (timedelta, {"type": "string", "format": "duration"}), (Final[int], {"type": "integer"}), (bool, {"type": "boolean"}), (object, {}),
]  # fmt: skip


def test_types_of_fields() -> None:
    """Each as JSON Schema; a field with a default, of either kind, is not required; a class is described once."""
    names = [f"f{at}" for at in range(len(HINTS))]
    made = make_dataclass("Made", [(name, hint) for name, (hint, _) in zip(names, HINTS, strict=True)])
    plain = plain_schema(made)
    assert dict(zip(names, (expected for _, expected in HINTS), strict=True)) == plain["properties"]
    inner = make_dataclass("Inner", [("a", int), ("b", int, field(default=1)), ("c", list, field(default_factory=list))])
    other = make_dataclass("Inner", [("z", int)])
    outer = plain_schema(make_dataclass("Outer", [("one", inner), ("two", list[inner]), ("three", other)]))  # type: ignore[valid-type]
    one, other_one = {"$ref": "#/$defs/Inner"}, {"$ref": "#/$defs/Inner_2"}
    assert outer["properties"] == {"one": one, "two": {"type": "array", "items": one}, "three": other_one}
    assert (outer["$defs"]["Inner"]["required"], outer["$defs"]["Inner_2"]["required"]) == (["a"], ["z"])
    assert (sorted(outer["$defs"]), outer["x-eval-defaults"]) == (["Inner", "Inner_2"], "types")
    typed = TypedDict("Typed", {"a": int, "b": NotRequired[str]})  # noqa: UP013 (local names cannot be looked up)
    assert plain_schema(typed) == {
        "x-eval-defaults": "types", "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("json_type", "entry", "message"),
    [
        ("", "exact", "json_type must be a non-empty string, got ''"), (5, "exact", "json_type must be a non-empty string, got 5"),
        ("string", "", "Config object name must not be empty"), ("string", 5, "Config object must be a string or object"),
        ("string", {}, "must have exactly one key, got 0"), ("string", {"a": {}, "b": {}}, "must have exactly one key, got 2"),
        ("string", {"": {}}, "name must be a non-empty string"), ("string", {5: {}}, "name must be a non-empty string"),
        ("string", {"a": 5}, "params for 'a' must be a dict, got int"),
    ],
)  # fmt: skip
def test_defaults_of_types_that_are_refused(json_type: Any, entry: Any, message: str) -> None:
    """The type must be a text, the entry a name, alone or with its parameters; nothing changes."""
    with pytest.raises((TypeError, ValueError), match=message):
        set_type_default(json_type, entry)
    assert annotate_xeval({"type": "string"}) == {"type": "string", "x-eval-compare": "exact"}


def test_defaults_of_types() -> None:
    """One that was set goes before formats and types, for several types too, and makes a type of its own known; each leaf has a copy."""
    entry = {"edit_distance": {}}
    try:
        set_type_default("string", entry)
        set_type_default("multi", "text")
        set_type_default("money", "numeric")
        entry["edit_distance"]["late"] = 1  # type: ignore[index]
        for types in (False, True):
            fields = {"a": {"type": "string", "format": "date"}, "b": {"type": ["string", "integer"]}, "c": {"type": "money"}}
            fields["d"] = {"type": "string"}
            said: list[str] = []
            schema = annotate_xeval({"properties": fields}, types=types, notify=lambda notice, said=said: said.append(notice.message))
            found = {name: each["x-eval-compare"] for name, each in schema["properties"].items()}
            assert found == {"a": {"edit_distance": {}}, "b": "text", "c": "numeric", "d": {"edit_distance": {}}}
            assert found["a"] is not found["d"]
            assert said[0] == 'x-eval-compare {"edit_distance": {}}: the default of the type string'
    finally:
        reset_type_defaults()
    with pytest.raises(ValueError, match="unknown type 'money'"):
        annotate_xeval({"type": "money"})
    assert annotate_xeval({"type": ["string", "integer"]})["x-eval-compare"] == "number_or_text"


def test_the_public_names_are_found_on_first_use() -> None:
    """Each of them, in the list of names too; another one is none."""
    assert {*trees.__all__} <= {*dir(trees)}
    assert {name for name in trees.__all__ if getattr(trees, name, None) is None} == set()
    assert {*trees.NAMES} == {*trees.__all__}
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = trees.nope
