"""`evalsuite schema`: infer, resolve, annotate and check schemas of tree scorers."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalsuite.cli.options import Group, Json, Plugins, load_plugins
from evalsuite.compare.characters import clean
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, UsageError

if TYPE_CHECKING:
    from evalsuite.trees.field_results import Notice


GoldFile = Annotated[Path, typer.Argument(metavar="GOLD", help="records: a .jsonl, or a .json with one record or a list")]
SchemaFile = Annotated[Path, typer.Argument(metavar="SCHEMA", help="a .json file with a JSON Schema")]


def schema_infer(
    gold: GoldFile,
    widen: Annotated[
        bool, typer.Option("--widen", help="infer from all values: integer with number is number, nulls, lists of types, enums")
    ] = False,
    id_field: Annotated[
        str | None, typer.Option("--id-field", "--id_field", help="the key that names a record; not part of the schema")
    ] = None,
) -> int:
    """Print the JSON Schema inferred from gold's records."""
    from evalsuite.trees.eval_schema import infer_schema

    with _naming(gold):
        found = infer_schema(_records_of_file(gold), widen=widen, notify=_notice_line)
    found.get("properties", {}).pop(id_field, None)
    return _print_schema(found)


def schema_resolve(schema: SchemaFile) -> int:
    """Print a schema with references resolved, allOf merged and unions converted to types."""
    from evalsuite.trees.eval_schema import resolve_schema_references

    with _naming(schema):
        found = resolve_schema_references(_schema(schema), notify=_notice_line)
    return _print_schema(found)


def schema_annotate(schema: SchemaFile) -> int:
    """Print a schema with the comparator of every leaf."""
    from evalsuite.trees.eval_schema import annotate_xeval

    with _naming(schema):
        found = annotate_xeval(_schema(schema))
    return _print_schema(found)


def schema_check(
    schema: SchemaFile,
    gold: Annotated[Path, typer.Option("--gold", help="the gold records")],
    id_field: Annotated[str | None, typer.Option("--id-field", "--id_field", help="the key that names a record")] = None,
    strict_types: Annotated[bool, typer.Option("--strict-types", help="each value must be of its declared type")] = False,
    allow_missing: Annotated[bool, typer.Option("--allow-missing", help="do not report fields that a record lacks")] = False,
    plugin: Plugins = None,
    json_: Json = False,
) -> int:
    """Print where gold's records and the schema disagree, with record and path; exit 1 if they do."""
    from evalsuite.trees.gold_findings import gold_findings

    load_plugins(plugin)
    plain, records = _schema(schema), _records_of_file(gold)
    with _naming(schema):
        found = gold_findings(records, plain, id_field, warn_missing=not allow_missing, strict_types=strict_types)
    if json_:
        print(json.dumps({"n_records": len(records), "findings": [finding._asdict() for finding in found]}, indent=2))
        return EXIT_GATE if found else EXIT_OK
    for finding in found:
        whose = "schema" if finding.record is None else f"record {finding.record}"
        print(clean(f"{whose}: {finding.path or '(root)'}: {finding.message}"))
    print(f"{len(records)} records, {len(found)} findings" + (" (exit 1)" if found else ": gold fits the schema"))
    return EXIT_GATE if found else EXIT_OK


def _records_of_file(path: Path) -> list[Any]:
    """Return the records of a file: a list, or a single one."""
    from evalsuite.readers.json_text import read_named_json

    found = read_named_json(path)
    return found if isinstance(found, list) else [found]


def _schema(path: Path) -> dict[str, Any]:
    from evalsuite.readers.json_text import read_named_json

    found = read_named_json(path)
    if not isinstance(found, dict):
        raise UsageError(f"{path}: a schema is a JSON object", hint="evalsuite schema infer GOLD makes one")
    return found


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn errors of a schema or its records into usage errors with the file's name."""
    from evalsuite.trees.eval_schema import JsonRefError, SchemaError
    from evalsuite.trees.json_values import TreeLimitError

    try:
        yield
    except JsonRefError as error:
        raise UsageError(f"{path}: {error}", hint="only references inside the file are followed: #/$defs/NAME") from None
    except UsageError:
        raise
    except (SchemaError, TreeLimitError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None


def _notice_line(notice: "Notice") -> None:
    print(clean(f"note: {notice.path or '(root)'}: {notice.message}"), file=sys.stderr)


def _print_schema(schema: dict[str, Any]) -> int:
    # ASCII only, so that names in a schema cannot control the terminal.
    print(json.dumps(schema, indent=2))
    return EXIT_OK


schema_commands = Group({"infer": schema_infer, "resolve": schema_resolve, "annotate": schema_annotate, "check": schema_check})
