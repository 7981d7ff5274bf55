"""Anything that can serve as a schema -> the parsed tree: an eval schema, a plain JSON Schema or a Pydantic model."""

import copy
from typing import Any

from evalsuite.trees.annotate import annotate_xeval
from evalsuite.trees.limits import inspect
from evalsuite.trees.notices import Notice
from evalsuite.trees.registries import Registry
from evalsuite.trees.resolve import needs_resolving, resolve_schema_references
from evalsuite.trees.schema import SchemaNode, parse_eval_schema


def as_json_schema(schema: Any) -> Any:
    """The JSON Schema as plain data: that of a Pydantic model, or a copy of what was given."""
    describe = getattr(schema, "model_json_schema", None)
    return describe() if callable(describe) else copy.deepcopy(schema)


def prepare(schema: Any, *, compat: bool = False, registry: Registry | None = None) -> SchemaNode:
    """The parsed schema. Unless `compat`, references and unions are resolved and leaves get their type's comparator; input is not changed.

    Raises:
        SchemaError: the schema cannot be used.
    """
    if isinstance(schema, dict):
        inspect(schema, where="schema")
    found = as_json_schema(schema)
    if not compat and isinstance(found, dict):
        if needs_resolving(found):
            found = resolve_schema_references(found, notify=_quiet)
        annotate_xeval(found)
    return parse_eval_schema(found, compat=compat, registry=registry, notify=_quiet)


def _quiet(notice: Notice) -> None:
    """Remarks belong to the commands that show a schema, not to each scoring of it."""
