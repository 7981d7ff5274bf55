"""Lint of tree golds: records against their schema, and ids that join them."""

from collections.abc import Iterator
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.readers.answer_forms import read_gold_files
from evalsuite.trees.eval_schema import SchemaError
from evalsuite.trees.gold_validation import gold_findings
from evalsuite.trees.json_values import TreeLimitError
from evalsuite.trees.registries import UnknownNameError
from evalsuite.trees.resolve_compat import JsonRefError
from evalsuite.trust.lint.book import Book, Found, Kind, Spot
from evalsuite.types import Fault

_CODES = {"id": "tree-id", "unknown_field": "tree-field", "type": "tree-type", "container_type": "tree-type", "multi_type": "tree-type"}
_MOST = 10


def records(book: Book) -> Iterator[Found]:
    """What gold records and their schema do not agree on; an inferred schema agrees by itself."""
    for spot in book.spots():
        if spot.reads == "tree" and "gold" in spot.check.parameters:
            try:
                read = read_gold_files(
                    "tree", spot.check.parameters, folder=book.folder, instance_id=spot.instance.instance_id, limits=book.limits
                )
            except FaultError as error:
                cause = error.__cause__
                yield _unread(spot, cause.fault if isinstance(cause, FaultError) else error.fault)
                continue
            yield from _against_schema(spot, read["gold"], read.get("schema"))


def _unread(spot: Spot, fault: Fault) -> Found:
    missing = fault.code == "MISSING_FILE"
    name = next(
        (value for value in (spot.check.parameters.get("gold"), spot.check.parameters.get("schema")) if isinstance(value, str)), "gold"
    )
    message = f"{name}: {'the file is not there' if missing else fault.detail or fault.code}"
    return spot.found("missing-file" if missing else "tree-json", message, hint=f"gold files lie in <gold>/{spot.instance.instance_id}/")


def _against_schema(spot: Spot, gold: Any, schema: Any) -> Iterator[Found]:
    golds = gold if isinstance(gold, list) else [gold]
    id_field = spot.check.parameters.get("id_field")
    if not golds:
        yield spot.found("empty-gold", "gold has no record")
        return
    if spot.check.scorer != "tree_match" or (schema is None and id_field is None):
        return
    try:
        findings = gold_findings(golds, schema, id_field, warn_missing=False) if schema is not None else _ids(golds, id_field)
    except (SchemaError, JsonRefError, UnknownNameError, TreeLimitError) as error:
        yield spot.found("tree-schema", str(error), hint="`evalsuite schema check` says more")
        return
    for finding in findings[:_MOST]:
        yield spot.found(
            _CODES.get(finding.kind, "tree-field"), f"record {finding.record}: {finding.message}", hint="mend gold or the schema"
        )


def _ids(golds: list[Any], id_field: Any) -> list[Any]:
    """The findings on ids alone, against a schema that fits by construction."""
    from evalsuite.trees.schema_sources import infer_schema

    keyed = [record for record in golds if isinstance(record, dict)]
    found = gold_findings(golds, infer_schema(keyed or [{}], notify=lambda _: None), str(id_field), warn_missing=False)
    return [finding for finding in found if finding.kind == "id"]


PER_BOOK = {
    "tree-json": Kind("error", records, "a gold tree or schema is not valid JSON"),
    "tree-schema": Kind("error", records, "a schema that cannot be used"),
    "tree-field": Kind("error", records, "a field of gold that the schema does not know"),
    "tree-type": Kind("warning", records, "a value of gold that is not of the schema's type"),
    "tree-id": Kind("error", records, "a record without id, or an id that stands twice"),
}
