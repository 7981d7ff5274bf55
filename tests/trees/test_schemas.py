"""Schemas: what is made of each is said exactly, and everything that scores trees takes one in the same forms, with equal results."""

import copy
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, make_dataclass
from datetime import time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NewType, NotRequired, TypedDict

import pytest

import evalsuite
from evalsuite import trees
from evalsuite.cli import main
from evalsuite.core.errors import FaultError, GoldError, UntrustedPluginError, UsageError
from evalsuite.core.plugin_calls import trusting_plugins
from evalsuite.gold.layouts import read_gold
from evalsuite.runs.plan import signature_of
from evalsuite.scorers import SCORERS
from evalsuite.trees import (
    SchemaError,
    annotate_xeval,
    evaluate,
    evaluate_stream,
    infer_schema,
    parse_eval_schema,
    reset_type_defaults,
    resolve_schema_references,
    set_type_default,
    treeval_schema_of,
    treeval_score,
    validate_gold,
)
from evalsuite.trees.gold_validation import gold_findings
from evalsuite.trees.json_schema import JsonRefError, as_json_schema, plain_schema
from tests.trees import invoice_models
from tests.trees.invoice_models import Invoice, InvoiceDict, InvoiceFields

TABLE = Path(__file__).with_name("schemas.txt")


def parse(schema: Any, **options: Any) -> None:
    """Read a schema into fields."""
    parse_eval_schema(schema, **options)


def in_gold(check: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A check of records against the schema before them."""
    return lambda value, **more: check(value[1:], value[0], **options, **more)


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
    "validate": (in_gold(validate_gold), True),
    "validate strict": (in_gold(validate_gold, id_field="id", warn_missing=False, strict_types=True), True),
    "findings": (in_gold(gold_findings, warn_missing=True), False),
    "findings by id": (in_gold(gold_findings, id_field="id", warn_missing=False, strict_types=True), False),
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
    for items, compat, path in (([{"$ref": "#/x"}], True, ["properties", "a", "items", 0]), ({"$ref": "#/x"}, False, ["a[]"])):
        with pytest.raises(JsonRefError) as raised:
            resolve_schema_references({"properties": {"a": {"items": items}}}, compat=compat)
        assert (raised.value.pointer, raised.value.path) == ("#/x", path)


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


@pytest.mark.parametrize(("json_type", "entry", "message"), [
    ("", "exact", "json_type must be a non-empty string, got ''"), (5, "exact", "json_type must be a non-empty string, got 5"),
    ("string", "", "Config object name must not be empty"), ("string", 5, "Config object must be a string or object"),
    ("string", {}, "must have exactly one key, got 0"), ("string", {"a": {}, "b": {}}, "must have exactly one key, got 2"),
    ("string", {"": {}}, "name must be a non-empty string"), ("string", {5: {}}, "name must be a non-empty string"),
    ("string", {"a": 5}, "params for 'a' must be a dict, got int"),
])  # fmt: skip
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


LONG = "The goods were delivered to the warehouse in the harbour, on two pallets, and the driver had to wait for more than an hour there."
VAT, ECO = {"rate": 0.19, "name": "VAT"}, {"rate": 0.02, "name": "eco"}
pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD: dict[str, Any] = {
    "number": "R-2024-17",
    "issued": "2024-05-17",
    "paid_at": "2024-06-01T10:30:00Z",
    "kind": "invoice",
    "total": "1500.50",
    "weight": 12.25,
    "is_open": False,
    "remark": LONG,
    "lines": [
        {"sku": "A1", "quantity": 3, "unit": "piece", "price": "100.00", "taxes": [VAT, ECO]},
        {"sku": "B2", "quantity": 8, "unit": "hour", "price": 150.0625, "taxes": [{"rate": 0.07, "name": "VAT"}]},
    ],
}
# A right answer that writes every value in another form.
RIGHT: dict[str, Any] = {
    "number": "r-2024-17 ",
    "issued": "17 May 2024",
    "paid_at": "1 June 2024 10:30 UTC",
    "kind": "invoice",
    "total": 1500.5,
    "weight": 12.250000000001,
    "is_open": False,
    "remark": LONG.upper(),
    "lines": [
        {"sku": "b2", "quantity": 8, "unit": "hour", "price": "150.0625", "taxes": [{"rate": 0.07, "name": "vat"}]},
        {"sku": "A1", "quantity": 3, "unit": "piece", "price": 100, "taxes": [{"rate": 0.02, "name": "ECO"}, VAT]},
    ],
}
# One wrong value of each kind: its path in the answer, the value, and the schema path of the rows that are then wrong.
WRONG: dict[str, tuple[tuple[Any, ...], Any, set[str]]] = {
    "short text": (("number",), "R-2024-71", {"number"}),
    "date": (("issued",), "2024-05-18", {"issued"}),
    "ambiguous date": (("issued",), "5/7/2024", {"issued"}),
    "datetime": (("paid_at",), "2024-06-01T10:31:00Z", {"paid_at"}),
    "literal": (("kind",), "credit note", {"kind"}),
    "case of a literal": (("kind",), "Invoice", {"kind"}),
    "decimal": (("total",), "1500.51", {"total"}),
    "decimal as a number": (("total",), 1500.49, {"total"}),
    "float": (("weight",), 12.26, {"weight"}),
    "boolean": (("is_open",), True, {"is_open"}),
    "number for a boolean": (("is_open",), 0, {"is_open"}),
    "null": (("remark",), None, {"remark"}),
    "long text": (("remark",), LONG.replace("two", "three"), {"remark"}),
    "integer": (("lines", 0, "quantity"), 9, {"lines[].quantity"}),
    "enum": (("lines", 0, "unit"), "piece", {"lines[].unit"}),
    "nested decimal": (("lines", 1, "price"), "100.01", {"lines[].price"}),
    "nested float": (("lines", 0, "taxes", 0, "rate"), 0.08, {"lines[].taxes[].rate"}),
    "container": (("lines",), "none", {"lines"}),
}
FORMS: dict[str, Any] = {"pydantic": Invoice, "dataclass": InvoiceFields, "TypedDict": InvoiceDict}


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The right answer with another value at a path."""
    answer = copy.deepcopy(RIGHT)
    at: Any = answer
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return answer


ANSWERS = {"right": RIGHT, **{name: changed(path, value) for name, (path, value, _) in WRONG.items()}}
ANSWERS["line missing"] = {**RIGHT, "lines": RIGHT["lines"][:1]}
ANSWERS["line invented"] = {**RIGHT, "lines": [*RIGHT["lines"], {**RIGHT["lines"][0], "sku": "C3"}]}
ANSWERS["field missing"] = {key: value for key, value in RIGHT.items() if key != "total"}
ANSWERS["field invented"] = {**RIGHT, "discount": 1}


def all_forms(tmp_path: Path) -> dict[str, Any]:
    """The classes, and the annotated schema of one as a dict, a path and JSON text."""
    plain, path = annotate_xeval(Invoice), tmp_path / "schema.json"
    path.write_text(json.dumps(plain))
    return {**FORMS, "dict": plain, "path": path, "path as text": str(path), "JSON text": json.dumps(plain)}


ENTRANCES: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "tree_match": lambda schema, answer: evalsuite.score("tree_match", answer, gold=GOLD, schema=schema).strict,
    "evaluate": lambda schema, answer: evaluate([GOLD], [answer], schema).mean_f1,
    "evaluate_stream": lambda schema, answer: evaluate_stream([(GOLD, answer)], schema).mean_f1,
    "parse_eval_schema": lambda schema, answer: (parse_eval_schema(schema), evaluate([GOLD], [answer], annotate_xeval(schema)).mean_f1)[1],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_entrance_gives_the_same(tmp_path: Path, name: str) -> None:
    """Every form at every entrance gives one strict value; the wrong field alone is wrong; both kinds of trees agree over the forms."""
    forms = all_forms(tmp_path)
    if name not in ("right", "line missing"):  # two forms of any other answer, each form of some
        at, names = list(ANSWERS).index(name), list(forms)
        forms = {form: forms[form] for form in (names[at % len(names)], names[(at + 3) % len(names)])}
    # Every form at one entrance, and a class and a file at every one.
    pairs = [(entrance, form) for entrance in ENTRANCES for form in forms if entrance == "tree_match" or form in ("pydantic", "path")]
    found = {(entrance, form): ENTRANCES[entrance](forms[form], ANSWERS[name]) for entrance, form in pairs}
    assert len(set(found.values())) == 1, found
    wrong = {row.schema_path for row in evaluate([GOLD], [ANSWERS[name]], Invoice).records[0].field_results if row.score != 1}
    if name in WRONG:
        assert wrong == WRONG[name][2]
    assert (set(found.values()) == {1.0}) == (name == "right")
    likeness = {evalsuite.score("tree_score", ANSWERS[name], gold=GOLD, schema=schema).strict for schema in forms.values()}
    likeness |= {treeval_score([ANSWERS[name]], [GOLD], schema).score for schema in list(forms.values())[-1 if name in WRONG else 0 :]}
    assert len(likeness) == 1
    official = {evalsuite.score("tree_match", ANSWERS[name], gold=GOLD, schema=FORMS[form]).official for form in FORMS if form in forms}
    assert len(official) <= 1


def test_a_json_schema_keeps_its_comparators() -> None:
    """Without `x-eval-defaults` only formats and decimals are compared by value; with them another word in a long text is a small loss."""
    plain = Invoice.model_json_schema()
    rows = {row.schema_path: row.status for row in evaluate([GOLD], [RIGHT], plain).records[0].field_results}
    assert {path for path, status in rows.items() if status == "match"} == {"issued", "paid_at", "kind", "total", "is_open"}
    by_types = evaluate([GOLD], [RIGHT], {**plain, "x-eval-defaults": "types"})
    assert by_types.mean_f1 == 1
    [row] = [row for row in evaluate([GOLD], [ANSWERS["long text"]], Invoice).records[0].field_results if row.path == "remark"]
    assert (row.status, row.comparator) == ("mismatch", "text")
    assert 0.9 < row.score < 1
    assert {r.score for r in evaluate([GOLD], [ANSWERS["short text"]], Invoice).records[0].field_results if r.path == "number"} == {0.0}


def test_a_class_may_need_a_judge() -> None:
    """One of its fields is compared by meaning."""

    def fields(comparator: str) -> Any:
        return TypedDict("Fields", {"name": Annotated[str, {"x-eval-compare": comparator}]})

    needs = [
        SCORERS.load("tree_match").asks_judge({"gold": {}, "schema": schema}) for schema in (fields("semantic"), fields("exact"), None)
    ]
    assert needs == [True, False, False]


class OldModel:
    """Stands in for a model of Pydantic 1."""

    __fields__: Mapping[str, Any] = {}

    def schema(self) -> None:
        """What Pydantic 1 calls its JSON Schema."""


@pytest.mark.parametrize(
    ("schema", "kind"),
    [(3, "an object of type int"), ([], "an object of type list"), (OldModel, "the Pydantic v1 model OldModel"), (Path, "the class Path"),
     (InvoiceFields("", None, "invoice", None, 0.0, False, []), "an object of type InvoiceFields"), (object(), "an object of type object"),
     (invoice_models.Tax(rate=0.1, name="VAT"), "an object of type Tax")],
)  # fmt: skip
def test_other_kinds_are_refused_by_name(schema: Any, kind: str) -> None:
    """What is no schema is refused everywhere, in a message that names its kind."""
    for call in (
        lambda: evaluate([{}], [{}], schema), lambda: evaluate_stream([({}, {})], schema), lambda: parse_eval_schema(schema),
        lambda: annotate_xeval(schema), lambda: validate_gold([{}], schema), lambda: treeval_score([{}], [{}], schema),
        lambda: evalsuite.score("tree_match", {}, gold={}, schema=schema),
        lambda: evalsuite.score("tree_score", {}, gold={}, schema=schema),
    ):  # fmt: skip
        with pytest.raises((SchemaError, UsageError, ValueError), match=f"Eval schema must be an object: .*, not {kind}"):
            call()


def test_a_text_that_is_no_schema(tmp_path: Path) -> None:
    """A file that is not there, JSON with a fault, a class by name, and one with a field that no JSON can be are refused."""
    for text, message in (
        ("no.json", "MISSING_FILE"), ('{"a"', "not JSON"), ("python:models.py:Invoice", "imported only from a gold folder"),
    ):  # fmt: skip
        with pytest.raises(SchemaError, match=message):
            evaluate([{}], [{}], text)
    assert annotate_xeval(json.dumps(Invoice.model_json_schema()))["properties"]["issued"]["x-eval-compare"] == "date"
    for hint in (complex, "list[3]"):
        with pytest.raises(SchemaError, match=r"the class Odd cannot be described as JSON Schema: TypeError: .* has no JSON Schema"):
            parse_eval_schema(make_dataclass("Odd", [("a", hint)]))


def gold_folder(folder: Path, *, scorer: str = "tree_match", default: Any = None, schemas: Mapping[str, Any]) -> Path:
    """Gold of one instance for each schema, beside `models.py`."""
    folder.mkdir()
    code = Path(str(invoice_models.__file__)).read_text(encoding="utf-8")
    (folder / "models.py").write_text(f"{code}\nopen({str(folder.parent / 'EXECUTED')!r}, 'a').write('x')\n", encoding="utf-8")
    if default:
        (folder / "suite.yaml").write_text(f"defaults:\n  {scorer}: {{schema: {json.dumps(default)}}}\n", encoding="utf-8")
    lines = []
    for name, schema in schemas.items():
        parameters = {"gold": GOLD, **({} if default else {"schema": schema})}
        lines.append(json.dumps({"instance_id": name, "evaluation": {"func": scorer, "parameters": parameters}}) + "\n")
        (folder / name).mkdir()
        (folder / name / "schema.json").write_text(json.dumps(annotate_xeval(Invoice)), encoding="utf-8")
    (folder / "x_eval.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def submitted(folder: Path, answers: Mapping[str, Any]) -> Path:
    """A submission."""
    folder.mkdir()
    lines = [{"instance_id": name, "answer_type": "answer", "answer_or_path": json.dumps(value)} for name, value in answers.items()]
    (folder / "results_metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


IN_SUITE = {
    "pydantic": "python:models.py:Invoice",
    "dataclass": "python:models.py:InvoiceFields",
    "TypedDict": "python:models.py:InvoiceDict",
    "path": "schema.json",
}


@pytest.mark.parametrize("scorer", ["tree_match", "tree_score"])
def test_a_suite_takes_the_same(tmp_path: Path, scorer: str) -> None:
    """An instance's `schema` in each form, and the default of suite.yaml as class, file and object, give the values of the scorer."""
    plain = annotate_xeval(Invoice)
    forms = {**IN_SUITE, "dict": plain, "text": json.dumps(plain)}
    some = [ANSWERS[name] for name in ("right", "long text", "nested decimal", "line missing")]
    schemas = {f"{form}_{at}": value for form, value in forms.items() for at in range(len(some))}
    answers = dict(zip(schemas, some * len(forms), strict=True))
    expected = [evalsuite.score(scorer, answer, gold=GOLD, schema=Invoice).strict for answer in some]
    if scorer == "tree_match":
        assert expected == [evaluate([GOLD], [answer], Invoice).mean_f1 for answer in some]
    sub = submitted(tmp_path / "sub", answers)
    run = evalsuite.evaluate(sub, gold_folder(tmp_path / "gold", scorer=scorer, schemas=schemas), save=False, rules="strict", jobs=1)
    assert [result.strict for result in run.results] == expected * len(forms)
    one_form = dict(list(answers.items())[: len(some)])
    shutil.rmtree(sub)
    submitted(sub, one_form)
    # One default is read for both scorers.
    for at, form in enumerate([forms["pydantic"], forms["path"], plain] if scorer == "tree_match" else [plain]):
        gold = gold_folder(tmp_path / f"gold{at}", scorer=scorer, default=form, schemas=dict.fromkeys(one_form))
        run = evalsuite.evaluate(sub, gold, save=False, rules="strict", jobs=1)
        assert [result.strict for result in run.results] == expected


def test_a_class_of_a_suite_is_imported_only_where_the_user_named_the_folder(tmp_path: Path) -> None:
    """Reading gold alone imports nothing: it is refused, or to show it, the instance has a problem."""
    gold = gold_folder(tmp_path / "gold", schemas={"one": IN_SUITE["pydantic"]})
    with pytest.raises(UntrustedPluginError, match=r"brings a plugin, models\.py"):
        read_gold(gold)
    [shown] = read_gold(gold, plugins=False).instances
    assert [problem.message for problem in shown.checks[0].problems] == [
        "python:models.py:Invoice is a plugin of gold, which was not executed"
    ]
    assert not (tmp_path / "EXECUTED").exists()
    with trusting_plugins(gold):
        read = read_gold(gold)
    [known] = read.instances
    assert (tmp_path / "EXECUTED").exists()
    assert "|plugins:classes|" in signature_of(read, chosen=None, limits={}) + "|"
    assert known.checks[0].parameters["schema"]["x-eval-defaults"] == "types"
    shutil.rmtree(gold)
    gold = gold_folder(tmp_path / "other", schemas={"one": "python:models.py:Invoic"})
    with trusting_plugins(gold), pytest.raises(GoldError, match=r"x_eval\.jsonl:1: schema .* does not define 'Invoic'"):
        read_gold(gold)


def test_the_command_line_takes_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`check --schema` and `schema annotate` take a file and a class; annotating prints each choice and why."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(str(invoice_models.__file__), "models.py")
    Path("gold.json").write_text(json.dumps(GOLD))
    Path("answer.json").write_text(json.dumps(RIGHT))
    Path("plain.json").write_text(json.dumps(Invoice.model_json_schema()))
    printed = {}
    for schema in ("python:models.py:Invoice", "plain.json"):
        assert main(["schema", "annotate", schema]) == 0
        out, printed[schema] = capsys.readouterr()
        Path("annotated.json").write_text(out)
        for used in (schema, "annotated.json") if schema != "plain.json" else ("annotated.json",):
            assert main(["check", "tree_match", "--prediction", "answer.json", "--gold", "gold.json", "--schema", used, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["strict"] == 1
    assert printed["plain.json"] == printed["python:models.py:Invoice"]
    notes = printed["plain.json"].splitlines()
    assert 'note: lines[].taxes: x-eval-align {"match_by": "hungarian"}: a list of objects without a key' in notes
    assert 'note: issued: x-eval-compare "date": a text of the format date: any unambiguous form' in notes
    assert len(notes) == len(_leaves_and_lists(annotate_xeval(Invoice)))


def _leaves_and_lists(schema: Mapping[str, Any], path: str = "") -> list[str]:
    own = [path] if "x-eval-compare" in schema or "x-eval-align" in schema else []
    inner = [*schema.get("properties", {}).items(), *([("[]", schema["items"])] if "items" in schema else [])]
    return own + [each for name, sub in inner for each in _leaves_and_lists(sub, f"{path}.{name}")]


@pytest.mark.parametrize(("keys", "right", "wrong"), [
    ({"properties": {"b": {"properties": {"c": {"type": "integer"}}}}}, {"b": {"c": 1}}, {"b": {"c": 2}}),
    ({"items": {"properties": {"c": {"type": "integer"}}}}, [{"c": 1}], [{"c": 2}]),
    ({"enum": ["x", None]}, "x", None),
    ({"enum": ["x", "y", None]}, None, "y"),
    ({"enum": [1, 2]}, 1, 2),
    ({"const": "x"}, "x", "y"),
    ({"type": ["string", "null"]}, None, "y"),
    ({"allOf": [{"$ref": "#/$defs/day"}]}, {"at": "2024-05-17"}, {"at": "2024-05-18"}),
    ({"oneOf": [{"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/day"}, {"type": "null"}]}}, {"type": "null"}]},
     [{"at": "2024-05-17"}, None], [{"at": "2024-05-18"}, None]),
    ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], ["a", 2]),
])  # fmt: skip
def test_both_scorers_read_one_json_schema(keys: dict[str, Any], right: Any, wrong: Any) -> None:
    """A type that only the content names, null among listed values, references and unions at any depth: gold is right, others are wrong."""
    day = {"type": "object", "properties": {"at": {"type": "string", "format": "date"}}}
    schema = {"$defs": {"day": day}, "properties": {"a": keys, "n": {"type": "integer"}}}
    for scorer in ("tree_match", "tree_score"):
        first, other = (evalsuite.score(scorer, {"a": value, "n": 1}, gold={"a": right, "n": 1}, schema=schema) for value in (right, wrong))
        assert (first.strict, other.strict < 1) == (1, True)


UNREADABLE: dict[str, tuple[Any, str]] = {
    "name": ({"type": "object", "properties": {"a": {"type": "strin"}}}, "a: unknown type 'strin' in the schema; did you mean 'string'"),
    "number": ({"type": "object", "properties": {"a": {"type": 5}}}, "a: unknown type 5"),
    "one of two": ({"type": "object", "properties": {"a": {"type": ["integer", "nul"]}}}, "did you mean 'null'"),
    "definition": (
        {"$defs": {"d": {"type": "Text"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/d"}}}, "a: unknown type 'Text'"
    ),
    "root": ({"type": "nonsense"}, "'nonsense'"),
    "reference": ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "cannot resolve $ref '#/$defs/none'"),
    "text": ('{"type": "object", "properties": {', "the schema, line 1: not valid JSON"),
}  # fmt: skip


@pytest.mark.parametrize("scorer", ["tree_match", "tree_score"])
def test_a_schema_that_cannot_be_read_is_a_fault_of_gold(tmp_path: Path, scorer: str) -> None:
    """Unknown types, references without a target and broken JSON are gold faults of both scorers, never a 0, and are named."""
    gold = gold_folder(tmp_path / "gold", scorer=scorer, schemas={name: schema for name, (schema, _) in UNREADABLE.items()})
    run = evalsuite.evaluate(submitted(tmp_path / "sub", dict.fromkeys(UNREADABLE, RIGHT)), gold, save=False)
    for result in run.results:
        assert (result.status, result.score) == ("gold_fault", None)
        assert UNREADABLE[result.instance_id][1] in result.reason


@pytest.mark.parametrize(("schema", "message"), [
    ({"properties": {"a": False}}, "a: false is no schema of a field: it allows no value"),
    ({"properties": {"a": {"items": False}}}, r"a\[\]: false is no schema of a field"),
    ({"properties": {"a": "string"}}, 'a: "string" is no schema of a field: write'),
    ({"a": "strng"}, "a: unknown type 'strng' in Treeval's types; did you mean 'string'"),
    ({"a": {"b": ["intger"]}}, r"a\.b\[\]: unknown type 'intger' in Treeval's types; did you mean 'integer'"),
    ({"a": "string", "b": True}, "b: unknown type True in Treeval's types"),
])  # fmt: skip
def test_a_field_that_cannot_be_read_is_named(schema: Any, message: str) -> None:
    """Nothing of a schema is dropped: what was written, its place and the closest type are said."""
    for call in (evaluate, lambda gold, found, schema: evalsuite.score("tree_match", found[0], gold=gold[0], schema=schema)):
        with pytest.raises((SchemaError, FaultError), match=message):
            call([{"a": "x", "b": 1}], [{"a": "x", "b": 1}], schema)
    if "Treeval" in message and "True" not in message:
        with pytest.raises(ValueError, match=r"no metric for the leaf a.* of type '.*': name one .*; did you mean '(string|integer)'"):
            treeval_score([{}], [{}], schema)


def test_what_treeval_has_no_leaf_for_is_named() -> None:
    """Recursive parts, mappings and unions with an object are refused by their path in gold; a list of records by its type."""
    for part, value in (
        ({"type": "array", "items": {"$ref": "#/$defs/node"}}, [{"kids": [{"kids": []}]}]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"x": 1}),
        ({"anyOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "string"}]}, {"x": 1}),
    ):
        node = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}
        schema = {"$defs": {"node": node}, "type": "object", "properties": {"a": part}}
        with pytest.raises(FaultError, match=r"a.* must be a plain value, found dict; name its parts in the schema"):
            evalsuite.score("tree_score", {"a": value}, gold={"a": value}, schema=schema)
        assert evalsuite.score("tree_match", {"a": value}, gold={"a": value}, schema=schema).strict == 1
    with pytest.raises(SchemaError, match="a record of Treeval is an object, this schema describes the type 'array'"):
        treeval_schema_of({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}})
