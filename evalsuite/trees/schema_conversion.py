"""The two forms of a schema as each other: Treeval's types ({"total": "number", "tags": ["string"]}) and JSON Schema."""

from collections.abc import Mapping
from typing import Any

from evalsuite.trees.eval_schema import effective_type
from evalsuite.trees.resolve import needs_resolving, resolve_schema_references
from evalsuite.trees.schema_sources import as_json_schema
from evalsuite.trees.treeval_schema import CHOICE, is_array, is_choice, type_of

UNORDERED = {"match_by": "hungarian"}
_KEYWORDS = ("type", "anyOf", "oneOf", "allOf", "enum", "const")
_TYPES = ("string", "integer", "number", "boolean")


def is_json_schema(schema: Any) -> bool:
    """Whether this is a JSON Schema of an object (or a Pydantic model), and not a Treeval schema with a key called `type`."""
    if hasattr(schema, "model_json_schema"):
        return True
    if not isinstance(schema, Mapping):
        return False
    described = isinstance(schema.get("properties"), Mapping) and schema.get("type", "object") in ("object", ["object"], ["object", "null"])
    return described or isinstance(schema.get("$ref"), str) or "$schema" in schema


def is_treeval_schema(schema: Mapping[str, Any]) -> bool:
    """Whether every key names a type of its own, so that this can be no JSON Schema."""
    if not schema or is_json_schema(schema) or any(key in _KEYWORDS or key.startswith(("x-eval-", "$")) for key in schema):
        return False
    return all(isinstance(node, Mapping | list | tuple) or node in _TYPES for node in schema.values())


def treeval_schema_of(schema: Any, id_field: str | None = None) -> Any:
    """The Treeval schema of a JSON Schema or a Pydantic model, a Treeval schema as it is; `id_field` at the root left out.

    A list of values (`enum`) is a choice, several types are text, a list without items one of texts; an object without properties is text,
    as Treeval has no such leaf. Fields that are skipped (`x-eval-skip`) are left out.
    """
    if not is_json_schema(schema):
        return schema
    plain = as_json_schema(schema)
    if needs_resolving(plain):
        plain = resolve_schema_references(plain, notify=lambda _: None)
    found = _treeval_type(plain)
    if isinstance(found, dict):
        found.pop(id_field, None)
    return found


def _treeval_type(node: Mapping[str, Any]) -> Any:
    options = node.get("enum")
    if isinstance(options, list) and len(options) > 1 and not any(isinstance(option, dict | list) for option in options):
        return [str(option) for option in options if option is not None]
    kind = effective_type(node)[0]
    properties = node.get("properties")
    if kind == "object" and isinstance(properties, Mapping) and properties:
        return {
            name: _treeval_type(sub) for name, sub in properties.items() if isinstance(sub, Mapping) and sub.get("x-eval-skip") is not True
        }
    if kind == "array":
        items = node.get("items")
        found = _treeval_type(items) if isinstance(items, Mapping) else "string"
        return [CHOICE if is_choice(found) else found]
    return kind if kind in _TYPES else "string"


def json_schema_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a Treeval schema: lists in no order, a choice as an `enum`, a type of your own as text."""
    return {"type": "object", "properties": {name: _json_type(node) for name, node in schema.items()}}


def _json_type(node: Any) -> dict[str, Any]:
    if isinstance(node, Mapping):
        return json_schema_of(node)
    if is_array(node):
        return {"type": "array", "x-eval-align": dict(UNORDERED), "items": _json_type(node[0])}
    if is_choice(node):
        return {"type": "string", "enum": list(node)}
    name = type_of(node)
    return {"type": name if name in _TYPES else "string"}
