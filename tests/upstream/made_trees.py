"""Made records for the references of trees: random schemas, gold, and answers in which a few values are changed, lost or invented."""

import copy
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final

WORDS: Final = ("oak", "elm tree", "Beech", "7 firs", "été", "a", "yew, old", "larch")
TREEVAL_TYPES: Final = ("string", "integer", "number", "boolean", "choice")
CHOICES: Final = ["low", "medium", "high"]
Json = dict[str, Any]


def treeval_cases(seed: int, n: int) -> Iterator[Json]:
    """`n` batches as `treeval` takes them: schema, predictions, references, and the metrics of each type."""
    rng = random.Random(f"{seed} treeval")
    for i in range(n):
        schema = {f"f{k}": _treeval_type(rng, 2) for k in range(rng.randint(1, 4))}
        references = [_treeval_value(rng, schema) for _ in range(rng.randint(1, 3))]
        texts = rng.choice((["exact_match", "levenshtein"], ["exact_match"], ["levenshtein"]))
        metrics = {"string": texts, **{kind: ["exact_match"] for kind in ("integer", "number", "boolean", "()")}}
        predictions = [_treeval_changed(rng, reference) for reference in references]
        yield {"id": f"treeval-{i}", "schema": schema, "references": references, "predictions": predictions, "types_metrics": metrics}


def _treeval_type(rng: random.Random, depth: int) -> Any:
    kind = rng.choice((*TREEVAL_TYPES, "list", "dict", "dicts") if depth else TREEVAL_TYPES)
    if kind == "choice":
        return list(CHOICES)
    if kind == "list":
        return [rng.choice(TREEVAL_TYPES[:4])]
    if kind in ("dict", "dicts"):
        inner = {f"g{k}": _treeval_type(rng, depth - 1) for k in range(rng.randint(1, 3))}
        return inner if kind == "dict" else [inner]
    return kind


def _treeval_value(rng: random.Random, node: Any) -> Any:
    """A value of a schema's node: every key is there, no list is empty, so that the reference has something to compare."""
    if isinstance(node, dict):
        return {key: _treeval_value(rng, inner) for key, inner in node.items()}
    if isinstance(node, list):
        return rng.choice(node) if len(node) > 1 else [_treeval_value(rng, node[0]) for _ in range(rng.randint(1, 3))]
    return _leaf(rng, node)


def _leaf(rng: random.Random, kind: str) -> Any:
    if kind == "string":
        return " ".join(rng.sample(WORDS, rng.randint(1, 2)))
    return {"integer": rng.randint(-5, 900), "number": round(rng.uniform(-9, 900), 3), "boolean": rng.random() < 0.5}[kind]


def _treeval_changed(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _treeval_changed(rng, inner) for key, inner in value.items() if rng.random() > 0.05}
        return {**kept, **({"zz": rng.choice(WORDS)} if rng.random() < 0.08 else {})}
    if isinstance(value, list):
        items = [_treeval_changed(rng, item) for item in value]
        rng.shuffle(items)
        return items if rng.random() > 0.2 else items[1:] or items
    if rng.random() < 0.06:
        return None
    return value if rng.random() > 0.25 else _other(rng, value)


def _other(rng: random.Random, value: Any) -> Any:
    """A value of the same type, near to it or not."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((1, -1, 10))
    if isinstance(value, float):
        return value * rng.choice((1 + 1e-6, 1 + 1e-4, 2, -1))
    return rng.choice((str.upper, lambda text: f"{text} ", lambda text: text[:-1] or "x", lambda _: rng.choice(WORDS)))(value)


COMPARES: Final[Mapping[str, list[Any]]] = {
    "string": ["exact", {"exact": {}}, {"oneof": {"values": [*WORDS[:4], 1]}}],
    "number": ["exact", {"numeric": {}}, {"numeric": {"tolerance": {"abs": 1}}}, {"numeric": {"tolerance": {"rel": 0.01}}}],
    "integer": ["exact", {"numeric": {}}, {"numeric": {"tolerance": {"abs": 2}}}],
    "boolean": ["exact"],
}
TRANSFORMS: Final = ["lowercase", "strip", "uppercase"]


def xeval_cases(seed: int, n: int) -> Iterator[Json]:
    """`n` runs as `evaluate` of Struct Extract Eval takes them: gold, extracted records, and an annotated schema."""
    rng = random.Random(f"{seed} xeval")
    for i in range(n):
        schema = {"type": "object", "properties": {f"f{k}": _xeval_node(rng, 2) for k in range(rng.randint(1, 4))}}
        gold = [_xeval_value(rng, schema) for _ in range(rng.randint(1, 3))]
        extracted = [_xeval_changed(rng, copy.deepcopy(record)) for record in gold]
        yield {"id": f"xeval-{i}", "kind": "evaluate", "input": {"gold": gold, "extracted": extracted, "schema": schema}}


def _xeval_node(rng: random.Random, depth: int) -> Json:
    kind = rng.choice((*COMPARES, *(("object", "array", "array") if depth else ())))
    if kind == "object":
        return {"type": "object", "properties": {f"g{k}": _xeval_node(rng, depth - 1) for k in range(rng.randint(1, 3))}}
    if kind == "array":
        align = {"x-eval-align": {"match_by": "hungarian"}} if rng.random() < 0.5 else {}
        return {"type": "array", "items": _xeval_node(rng, depth - 1), **align}
    more: Json = {"x-eval-transform": [rng.choice(TRANSFORMS)]} if kind == "string" and rng.random() < 0.3 else {}
    return {"type": kind, "x-eval-compare": copy.deepcopy(rng.choice(COMPARES[kind])), **more}


def _xeval_value(rng: random.Random, node: Json) -> Any:
    if node["type"] == "object":
        return {key: _xeval_value(rng, inner) for key, inner in node["properties"].items() if rng.random() > 0.1}
    if node["type"] == "array":
        return [_xeval_value(rng, node["items"]) for _ in range(rng.randint(0, 3))]
    return None if rng.random() < 0.05 else _leaf(rng, node["type"])


def _xeval_changed(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _xeval_changed(rng, inner) for key, inner in value.items() if rng.random() > 0.08}
    if isinstance(value, list):
        items = [_xeval_changed(rng, item) for item in value if rng.random() > 0.1]
        rng.shuffle(items)
        return items if rng.random() > 0.1 else None
    if value is None or rng.random() > 0.3:
        return value
    return rng.choice((None, str(value), _other(rng, value), _other(rng, value), _other(rng, value)))
