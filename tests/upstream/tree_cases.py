"""Cases for both kinds of trees made from a seed: records of five domains and answers with every mistake, and values of any shape."""

import copy
import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.processes import finished

Obj = dict[str, Any]

# The fields of one record: a kind of value, a tuple of choices, a list with one kind, or an object.
DOMAINS: dict[str, Obj] = {
    "invoices": {
        "number": "code", "issued": "date", "currency": ("EUR", "USD", "GBP"), "total": "money", "is_paid": "bool",
        "seller": {"name": "name", "vat_id": "code", "address": {"street": "text", "city": "name"}},
        "lines": [{"article": "text", "quantity": "int", "price": "money", "unit": ("piece", "hour", "kg")}],
        "discounts": ["money"], "references": ["code"],
    },
    "receipts": {
        "shop": "name", "bought_at": "date", "items": [{"name": "text", "price": "money", "count": "int"}], "total": "money",
        "payment": {"method": ("cash", "card", "voucher"), "card_digits": "code", "amounts": ["money"]},
        "n_items": "int", "is_return": "bool", "coupons": ["word"], "tax_rates": ["int"],
    },
    "resumes": {
        "name": "name", "emails": ["word"], "years": "int", "level": ("junior", "senior", "lead", "none"),
        "positions": [{"title": "text", "employer": {"name": "name", "city": "name"}, "since": "int", "skills": ["word"]}],
        "education": [{"degree": "text", "year": "int", "grade": "money"}], "may_travel": "bool",
        "contact": {"phone": "code", "languages": ["name"], "address": {"city": "name", "codes": ["int"]}},
    },
    "papers": {
        "title": "text", "abstract": "long", "year": "int", "authors": [{"given": "name", "family": "name", "orcid": "code"}],
        "venue": {"name": "name", "type": ("journal", "conference"), "volumes": ["int"]}, "keywords": ["word"],
        "metrics": {"citations": "int", "score": "money"}, "is_open": "bool", "pages": ["int"],
    },
    "contents": {
        "title": "text", "n_pages": "int", "has_index": "bool", "pages": ["int"],
        "chapters": [{"number": "int", "title": "text", "page": "int", "sections": ["text"]}],
        "parts": [{"title": "text", "chapters": [{"title": "text", "page": "int"}]}],
        "front": {"preface": "int", "figures": ["text"], "kind": ("book", "thesis", "report")},
    },
}  # fmt: skip
TYPES = {"int": "integer", "money": "number", "bool": "boolean"}
TRANSFORMS = ["lowercase", "strip", "normalize_whitespace", "sort_tokens", "uppercase"]  # the last is none
TEXT = "alpha beta gamma delta epsilon paper steel copper glass report annual north south été Straße tool"
WORDS = TEXT.split()


def cases(domain: str, n: int, seed: int) -> Iterator[Obj]:
    """Yield n cases of a domain: a third for Treeval, the others for x-eval (evaluate, and gold that is checked and inferred from)."""
    for number in range(n):
        rng = random.Random(f"{seed}-{domain}-{number}")
        fields = _some_fields(DOMAINS[domain], rng)
        maker = _Maker(rng, rng.choice(("clean", "mild", "nulls", "lists", "types", "all")))
        gold = [maker.gold(fields) for _ in range(rng.choice((1, 1, 2, 3)))]
        found = [maker.answer(fields, record) for record in gold]
        case: Obj = {"id": f"{domain}-{number}", "domain": domain, "gold": gold, "extracted": found}
        if number % 2:
            yield {**case, "kind": "treeval", "schema": treeval_schema(fields), "types_metrics": _metrics(rng)}
        elif number % 10 == 8:
            options = rng.choice(({}, {"warn_missing": False}, {"strict_types": True}))
            yield {**case, "kind": "validate_gold", "gold": found, "schema": eval_schema(fields, rng), "options": options}
        elif number % 10 == 6:
            yield {**case, "kind": "infer_schema", "gold": found}
        else:
            yield {**case, "kind": "evaluate", "schema": eval_schema(fields, rng)}


def asked(made: Sequence[Obj], clone: Path) -> Iterator[tuple[Obj, Obj]]:
    """Yield each case of a kind with what its reference says: `run_trees` in the interpreter `EVALSUITE_UPSTREAM_PYTHON`."""
    command = [os.environ.get("EVALSUITE_UPSTREAM_PYTHON", sys.executable), str(Path(__file__).with_name("run_trees.py"))]
    done = finished([*command, clone.resolve()], text="".join(json.dumps(case) + "\n" for case in made), seconds=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    return zip(made, map(json.loads, done.stdout.splitlines()), strict=True)


def _some_fields(fields: Obj, rng: random.Random) -> Obj:
    """The fields of one case: some are left out, nested ones too."""
    names = [name for name in fields if rng.random() < 0.7] or list(fields)[:2]
    return {name: _some_inside(fields[name], rng) for name in names}


def _some_inside(field: Any, rng: random.Random) -> Any:
    if isinstance(field, dict):
        return _some_fields(field, rng)
    # A list of objects in a list of objects makes the reference raise, so that most cases go without.
    if isinstance(field, list) and isinstance(field[0], dict):
        return [{name: inner for name, inner in _some_fields(field[0], rng).items() if not _has_objects(inner) or rng.random() < 0.3}
                or {"title": "text"}]  # fmt: skip
    return field


def _has_objects(field: Any) -> bool:
    return isinstance(field, list) and isinstance(field[0], dict)


def treeval_schema(field: Any) -> Any:
    """The fields as Treeval's types."""
    if isinstance(field, dict):
        return {name: treeval_schema(inner) for name, inner in field.items()}
    if isinstance(field, list):
        return [treeval_schema(field[0])]
    return list(field) if isinstance(field, tuple) else TYPES.get(field, "string")


def eval_schema(field: Any, rng: random.Random) -> Obj:
    """The fields as a JSON Schema in which every leaf names a comparator."""
    if isinstance(field, dict):
        return {"type": "object", "properties": {name: eval_schema(inner, rng) for name, inner in field.items()}}
    if isinstance(field, list):
        found: Obj = {"type": "array", "items": eval_schema(field[0], rng)}
        aligns: list[Obj] = [{"ordered": True}, {"match_by": "hungarian"}, {"match_by": "hungarian"}]
        if isinstance(field[0], dict):
            aligns.append({"match_by": "key_field", "key": next(iter(field[0]))})
        if rng.random() < 0.8:
            found["x-eval-align"] = rng.choice(aligns)
        return found
    name = "string" if isinstance(field, tuple) else TYPES.get(field, "string")
    leaf: Obj = {"type": name, "x-eval-compare": "exact"}
    if name in ("integer", "number"):
        tolerances: list[Obj] = [{"rel": 0.01}, {"abs": 1}]
        leaf["x-eval-compare"] = rng.choice(["exact", "numeric", "numeric", *({"numeric": {"tolerance": each}} for each in tolerances)])
    elif isinstance(field, tuple) and rng.random() < 0.3:
        leaf["x-eval-compare"] = {"oneof": {"values": list(field)}}
    elif name == "string" and rng.random() < 0.1:
        leaf["x-eval-skip"] = True
    elif rng.random() < 0.1:
        leaf["x-eval-transform"] = [rng.choice(TRANSFORMS if name == "string" else [{"round_digits": {"digits": 1}}])]
    if rng.random() < 0.1:
        leaf["type"] = [name, "null"]
    elif rng.random() < 0.1:
        leaf["type"] = [name, rng.choice(("boolean", "array", "integer" if name == "string" else "string"))]
    return leaf


def _metrics(rng: random.Random) -> Obj:
    texts = rng.choice((["levenshtein"], ["levenshtein"], ["exact_match", "levenshtein"], ["exact_match"]))
    return {"string": texts, **{name: ["exact_match"] for name in ("integer", "number", "boolean", "()")}}


class _Maker:
    """Records of gold, and answers that differ from them by the mistakes of a profile."""

    def __init__(self, rng: random.Random, profile: str) -> None:
        self.rng = rng
        rates: Mapping[str, Mapping[str, float]] = {
            "clean": {},
            "mild": {"change": 0.2, "drop": 0.03},
            "nulls": {"change": 0.1, "null": 0.15, "gold_null": 0.15, "drop": 0.1},
            "lists": {"change": 0.1, "shuffle": 0.8, "shorten": 0.4, "lengthen": 0.4, "empty": 0.05},
            "types": {"change": 0.1, "type": 0.15, "container": 0.02, "shuffle": 0.5},
            "all": {"change": 0.1, "null": 0.05, "gold_null": 0.05, "drop": 0.05, "unknown": 0.2, "shuffle": 0.5, "shorten": 0.2,
                    "lengthen": 0.2, "type": 0.05, "container": 0.01},
        }  # fmt: skip
        self.rates = rates[profile]

    def happens(self, what: str) -> bool:
        return self.rng.random() < self.rates.get(what, 0.0)

    def gold(self, field: Any, *, top: bool = True) -> Any:
        """A value of gold; null for some."""
        if not top and self.happens("gold_null"):
            return None
        if isinstance(field, dict):
            return {name: self.gold(inner, top=False) for name, inner in field.items()}
        if isinstance(field, list):
            return [self.item(field[0]) for _ in range(self.rng.choice((1, 2, 3, 4)))]
        return self.value(field)

    def item(self, field: Any) -> Any:
        return {name: self.gold(inner, top=False) for name, inner in field.items()} if isinstance(field, dict) else self.value(field)

    def value(self, field: Any) -> Any:
        """A plain value of a kind."""
        rng = self.rng
        if isinstance(field, tuple):
            return rng.choice(field)
        made = {
            "int": lambda: rng.choice((rng.randrange(10), rng.randrange(1900, 2100))),
            "money": lambda: rng.choice((round(rng.uniform(0, 500), 2), float(rng.randrange(20)))),
            "bool": lambda: rng.random() < 0.5,
            "date": lambda: f"20{rng.randrange(10, 30)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
            "code": lambda: f"{rng.choice('ABC')}-{rng.randrange(100)}",
            "word": lambda: rng.choice(WORDS),
            "name": lambda: rng.choice(WORDS).capitalize(),
            "text": lambda: " ".join(rng.choices(WORDS, k=rng.randrange(1, 4))),
            "long": lambda: " ".join(rng.choices(WORDS, k=30)),
        }
        return made[field]()

    def answer(self, field: Any, gold: Any) -> Any:
        """The answer for a value of gold."""
        if gold is None:
            return None if self.rng.random() < 0.6 else self.gold(field)
        if self.happens("null"):
            return None
        if self.happens("container"):
            return self.rng.choice(({"x": 1}, [1], "text", 3))
        if isinstance(field, dict):
            return self.object(field, gold)
        if isinstance(field, list):
            return self.list(field[0], gold)
        if self.happens("type"):
            return self.rng.choice((str(gold), 1, 0, 2.5, True, "other", gold == 1))
        return self.value(field) if self.happens("change") else self.near(gold)

    def near(self, gold: Any) -> Any:
        """The same value, seldom a little changed."""
        if isinstance(gold, float) and self.rng.random() < 0.1:
            return gold * (1 + self.rng.choice((1e-7, 1e-4, 0.009, 0.02)))
        if isinstance(gold, str) and self.happens("change"):
            return gold.upper()
        return copy.deepcopy(gold)

    def object(self, fields: Obj, gold: Obj) -> Obj:
        found = {name: self.answer(inner, gold[name]) for name, inner in fields.items() if not self.happens("drop")}
        if self.happens("unknown"):
            found["note"] = self.rng.choice((None, "x", {"a": 1, "b": [2]}, [1, 2]))
        return found

    def list(self, field: Any, gold: list[Any]) -> Any:
        if self.happens("empty"):
            return []
        found = [self.answer(field, item) for item in gold]
        if self.happens("shorten") and len(found) > 1:
            found.pop(self.rng.randrange(len(found)))
        if self.happens("lengthen"):
            found.insert(self.rng.randrange(len(found) + 1), self.item(field))
        if self.happens("shuffle"):
            self.rng.shuffle(found)
        return found


ODD: list[Any] = [
    None, True, False, 0, 1, 2.5, 1.0, "", "x", "1", "uv", [None], ["x"], [["x"]], [["x"], ["y"]], [1, "x"], [1], [[1]], [[]], [{}],
    [{"a": "x"}], ["u", {"a": 1}], {}, {"a": "x"}, {"a": [1]},
]  # fmt: skip
KEYS = ["a", "b", "é ü", "c.d", "name"]
COMPARES: list[Any] = [
    "exact", "numeric", {"numeric": {"tolerance": {"rel": 0.01}}}, {"numeric": {"tolerance": {"abs": 1, "rel": 0.1}}},
    {"numeric": {"rel": 0.1}},
    {"oneof": {"values": ["x", "y", 1, True, None]}}, {"oneof": {"values": []}},
]  # fmt: skip
OTHER_BRANCHES: list[Any] = [{"type": "null"}, {"type": "null", "title": "N"}, {"type": "number"}, {"type": None}, {"enum": [1]}, True]
PARTS: list[Any] = [{"title": "A"}, {"type": "string"}, {"properties": {"q": {"type": "string"}}}, {"x-eval-compare": "exact"}]


def odd_cases(n: int, seed: int) -> Iterator[Obj]:
    """Yield n cases of any shape: values of any kind at any place, half for Treeval; for x-eval schemas with references and unions too."""
    for number in range(n):
        rng = random.Random(f"{seed}-odd-{number}")
        odd, n_records = _Odd(rng), rng.choice((1, 1, 2, 3))
        case: Obj = {"id": f"odd-{number}", "domain": "odd"}
        if number % 2:
            fields = {key: odd.types(2) for key in rng.sample(KEYS, rng.choice((1, 1, 2)))}
            gold = [odd.value(fields) for _ in range(n_records)]
            yield {
                **case,
                "kind": "treeval",
                "gold": gold,
                "extracted": list(map(odd.answer, gold)),
                "schema": fields,
                "types_metrics": _metrics(rng),
            }
            continue
        schema = {"type": "object", "properties": {key: odd.node(2) for key in rng.sample(KEYS, rng.choice((1, 2)))}}
        gold = [odd.record(schema) for _ in range(n_records)]
        found = list(map(odd.answer, gold))
        kind = rng.choice(("evaluate", "evaluate", "validate_gold", "infer_schema", "resolve"))
        case |= {
            "kind": kind,
            "gold": gold if kind == "evaluate" else found,
            "extracted": found,
            "options": {"strict_types": rng.random() < 0.5},
        }
        yield {**case, "schema": odd.composed(schema) if kind == "resolve" else schema}


class _Odd:
    """Schemas, values that have their shape, and answers that do not."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nulls, self.rate = rng.choice((0, 0, 0.2)), rng.choice((0.05, 0.1, 0.3))

    def some(self, make: Callable[[], Any], most: int = 3) -> list[Any]:
        return [make() for _ in range(self.rng.randrange(1, most + 1))]

    def types(self, depth: int) -> Any:
        """Treeval's types."""
        rng, leaf = self.rng, self.rng.choice(("string", "string", "integer", "number", "boolean"))
        inner = {key: self.types(depth - 1) for key in rng.sample(KEYS, 2)} if depth else leaf
        return rng.choice((leaf, [leaf], inner, [inner], ["x", "y", "uv"]))

    def value(self, types: Any) -> Any:
        """A value of Treeval's types; those of an item are seldom null, because the reference raises for them."""
        rng = self.rng
        if isinstance(types, dict):
            return {key: None if rng.random() < self.nulls else self.value(inner) for key, inner in types.items()}
        if isinstance(types, list):
            return rng.choice(types) if len(types) > 1 else self.some(lambda: self.value(types[0]))
        some: Obj = {"string": ["x", "xy", "yx", "1", "é", ""], "integer": [0, 1, 7, 10**6], "boolean": [True, False],
                     "number": [0, 1, 2.5, 1.0, 10**6, 1000000.5]}  # fmt: skip
        return rng.choice(some[types])

    def answer(self, gold: Any) -> Any:
        """An answer with anything anywhere."""
        rng = self.rng
        if rng.random() < self.rate:
            return copy.deepcopy(rng.choice(ODD))
        if isinstance(gold, dict):
            found = {key: self.answer(value) for key, value in gold.items() if rng.random() > self.rate / 2}
            return {**found, "z": rng.choice(ODD)} if rng.random() < self.rate / 2 else found
        if isinstance(gold, list):
            found_items = [self.answer(item) for item in (*gold, *gold[: rng.random() < 0.15])]
            return rng.sample(found_items, len(found_items)) if rng.random() < 0.4 else found_items
        if rng.random() < 0.1 and isinstance(gold, int | float):
            return rng.choice((float(gold), gold * (1 + 1e-6), str(gold), int(gold)))
        return gold

    def node(self, depth: int) -> Obj:
        """An eval schema."""
        rng, kind = (
            self.rng,
            self.rng.choice(("string", "integer", "number", "boolean", "object", "array", "array") if depth else ("string", "number")),
        )
        found: Obj = {"type": kind}
        if kind == "object":
            found["properties"] = {key: self.node(depth - 1) for key in rng.sample(KEYS, rng.choice((1, 2)))}
        elif kind == "array":
            found["items"] = self.node(depth - 1)
            keyed = [{"match_by": "key_field", "key": "a"}] if found["items"]["type"] == "object" else []
            if rng.random() < 0.7:
                found["x-eval-align"] = rng.choice([{"ordered": True}, {"match_by": "hungarian"}, {"match_by": "hungarian"}, *keyed])
        else:
            found["x-eval-compare"] = rng.choice(COMPARES)
        if rng.random() < 0.1:
            found["x-eval-skip"] = rng.random() < 0.7
        if rng.random() < 0.15 and kind != "array":
            found["type"] = rng.choice(([kind, "null"], [kind, "array"], "string"))
        return found

    def record(self, schema: Obj) -> Any:
        """A value of an eval schema."""
        rng = self.rng
        if rng.random() < self.nulls:
            return None
        if "properties" in schema:
            return {key: self.record(inner) for key, inner in schema["properties"].items()}
        if "items" in schema:
            return self.some(lambda: self.record(schema["items"]))[rng.random() < 0.2 :]
        return rng.choice(["x", "X ", "uv w", "1", 0, 1, 2.5, 1.0, True, "é"])

    def composed(self, schema: Obj) -> Obj:
        """The schema with parts behind references, in unions and in allOf; sometimes all of it behind one."""
        definitions: Obj = {}
        whole = self.within(schema, definitions)
        if self.rng.random() < 0.3:
            definitions["Root"] = whole
            whole = {"$ref": "#/$defs/Root"}
        return {**whole, "$defs": definitions, **({"$id": "https://example.org/s"} if self.rng.random() < 0.1 else {})}

    def within(self, schema: Obj, definitions: Obj) -> Obj:
        rng, found = self.rng, dict(schema)
        if "properties" in schema:
            found["properties"] = {key: self.within(inner, definitions) for key, inner in schema["properties"].items()}
        if "items" in schema:
            found["items"] = self.within(schema["items"], definitions)
        how = rng.choice(("none", "none", "none", "reference", "union", "all", "pointer"))
        if how == "reference":
            name = f"T{len(definitions)}"
            definitions[name] = found
            return {"$ref": f"#/$defs/{name}", **({"x-eval-skip": True} if rng.random() < 0.2 else {})}
        if how == "union":
            return {rng.choice(("anyOf", "oneOf")): [found, rng.choice(OTHER_BRANCHES)], "title": "H"}
        return (
            {"allOf": [found, rng.choice(PARTS)]} if how == "all" else {"$ref": "#/$defs/T0"} if how == "pointer" and definitions else found
        )
