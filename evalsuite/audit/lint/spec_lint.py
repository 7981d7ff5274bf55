"""Lint of the spec's form: lines, keys, parameter names and types. Most of it is what the readers and the registry find."""

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Any

from evalsuite.audit.lint.book import Book, Found, Kind, Severity, Spot, readers_own
from evalsuite.errors import FaultError, did_you_mean
from evalsuite.readers.answer_forms import read_gold_files
from evalsuite.readers.gold_files import SUITE_FILE
from evalsuite.readers.json_text import Obj
from evalsuite.scorers import SCORERS
from evalsuite.trees.eval_schema import SchemaError
from evalsuite.trees.gold_findings import gold_findings
from evalsuite.trees.json_values import TreeLimitError
from evalsuite.trees.registries import UnknownNameError
from evalsuite.trees.resolve_compat import JsonRefError
from evalsuite.types import Problem

# What the readers' sentences are called here, the first that fits.
_CODES = (
    ("unknown-parameter", re.compile("unknown parameter")),
    ("ignored-parameter", re.compile("is ignored$")),
    ("parameter-type", re.compile("must be .+, found")),
    ("missing-parameter", re.compile("needs the parameter")),
    ("misplaced-key", re.compile("beside 'parameters' is not read")),
    ("empty-gold", re.compile("gold (is an empty list|names no file|holds an empty text)|names no table")),
    ("empty-exclude", re.compile("exclude holds an empty text")),
    ("exclude-text", re.compile("exclude is a text")),
    ("gold-not-number", re.compile("gold is not a finite number")),
    ("repeated-number", re.compile("names a number twice")),
    ("quoted-name", re.compile("needs quotes")),
    (
        "list-length",
        re.compile(r"condition_cols (holds|must be)|ignore_order holds|(condition_cols|ignore_orders) has \d+ entr"),
    ),
)


def find_broken_lines(book: Book) -> Iterator[Found]:
    """What could not be read at all."""
    yield from book.broken


def find_odd_layout(book: Book) -> Iterator[Found]:
    """How the spec is laid out, where that is not one object a line."""
    for line, text in book.notes:
        yield Found(code="odd-layout", where=f"{book.name}:{line}", instance_id="", message=text, hint="write one object a line")


def find_reader_problems(spot: Spot) -> Iterator[Found]:
    """The problems of a check that its readers found, each under its own code."""
    for problem in spot.check.problems:
        if problem.code == "NEEDS_CONNECTION" and spot.is_living:
            continue
        code = next((code for code, pattern in _CODES if pattern.search(problem.message)), "bad-parameter")
        severity: Severity = "error" if problem.blocks else "warning"
        yield spot.finding(code, problem.message, hint=problem.hint, severity=severity, change=_repair(code, problem, spot))


def _repair(code: str, problem: Problem, spot: Spot) -> Callable[[Obj], None] | None:
    """What mends a problem without a choice to make, None where somebody has to decide."""
    named = re.search(r"(?:parameter|key) '([^']+)'", problem.message)
    key = named[1] if named else ""
    known = list(SCORERS.load(spot.check.scorer).parameters)
    near = difflib.get_close_matches(key, known, n=1)
    if code == "unknown-parameter" and near and near[0] not in spot.check.parameters:
        return lambda evaluation: _rename(evaluation["parameters"], key, near[0])
    if code == "ignored-parameter":
        return lambda evaluation: evaluation["parameters"].pop(key, None)
    if code == "misplaced-key" and key in known and key not in spot.check.parameters:
        return lambda evaluation: evaluation.setdefault("parameters", {}).update({key: evaluation.pop(key)})
    if code == "exclude-text":
        return lambda evaluation: evaluation["parameters"].update(exclude=[evaluation["parameters"]["exclude"]])
    return None


def _rename(parameters: Obj, old: str, new: str) -> None:
    renamed = {(new if key == old else key): value for key, value in parameters.items()}
    parameters.clear()
    parameters.update(renamed)


def find_repeated_checks(spot: Spot) -> Iterator[Found]:
    """A check that stands twice in its instance."""
    before = spot.instance.checks[: spot.index]
    if any(other.scorer == spot.check.scorer and other.parameters == spot.check.parameters for other in before):
        yield spot.finding("repeated-check", f"the same {spot.check.scorer} check stands twice", hint="remove one")


def find_odd_conj(spot: Spot) -> Iterator[Found]:
    """`conj` where there is only one gold to join, and several golds without a word on which of them are needed."""
    gold, given = spot.check.parameters.get("gold"), spot.check.parameters.get("conj")
    n = len(gold) if isinstance(gold, list) else 1
    if given == "and" and n == 1:
        yield spot.finding("idle-conj", "conj joins several golds, there is one", hint="remove conj, or list every gold that is needed")
    if spot.check.scorer == "number_match" and n > 1 and given is None:
        message = f"any of the {n} numbers is enough (conj is 'or' where nothing is said)"
        yield spot.finding("or-numbers", message, hint="write conj: 'and' where all are asked, 'or' where either is right")


def find_odd_groups(book: Book) -> Iterator[Found]:
    """Ids in a group that gold lacks, and groups that hold nobody."""
    where = f"{book.spec.resolve().parent.name}/{SUITE_FILE}"
    for tag, ids in book.suite.groups.items():
        for id_ in ids:
            if id_ not in book.raw:
                near = did_you_mean(id_, book.raw)
                hint = near if near.startswith("did") else ""
                message = f"group {tag!r} names {id_!r}, which gold lacks"
                yield Found(code="unknown-group-id", where=where, instance_id="", message=message, hint=hint)
        prefixes = book.suite.group_prefixes.get(tag, ())
        if not any(instance.instance_id in ids or instance.instance_id.startswith(prefixes) for instance in book.instances):
            message = f"group {tag!r} holds no instance"
            yield Found(code="empty-group", where=where, instance_id="", message=message, hint="look at its prefix")


def find_lost_judges(book: Book) -> Iterator[Found]:
    """Judged checks without a judge, and beside a tree check, where they cannot run."""
    for spot in book.spots():
        if spot.reads != "batch":
            continue
        if "judge" not in book.suite.extra:
            hint = "add `judge: {base_url: ..., model: ..., key_env: ...}` to suite.yaml"
            yield spot.finding("no-judge", f"{spot.check.scorer} needs a judge, and suite.yaml names none", hint=hint)
        if any(other.instance is spot.instance and other.reads == "tree" for other in book.spots()):
            message = f"{spot.check.scorer} cannot stand beside a tree check in one instance"
            yield spot.finding("judge-beside-tree", message, hint="give each an instance of its own")


def find_empty_spec(book: Book) -> Iterator[Found]:
    """A spec without instances."""
    if not book.instances and not book.broken:
        yield Found(code="no-instances", where=f"{book.name}:1", instance_id="", message="the spec holds no instance")


_TREE_CODES = {
    "id": "tree-id",
    "unknown_field": "tree-field",
    "type": "tree-type",
    "container_type": "tree-type",
    "multi_type": "tree-type",
    "unknown_key": "tree-key",
    "unknown_option": "tree-key",
    "refused": "tree-value",
}
_MOST = 10


def find_tree_faults(book: Book) -> Iterator[Found]:
    """What gold records and their schema do not agree on; an inferred schema agrees by itself."""
    for spot in book.spots():
        if spot.reads == "tree" and "gold" in spot.check.parameters:
            try:
                read = read_gold_files(
                    "tree", spot.check.parameters, folder=book.folder, instance_id=spot.instance.instance_id, limits=book.limits
                )
            except FaultError as error:
                fault = readers_own(error)
                missing = fault.code == "MISSING_FILE"
                given = (spot.check.parameters.get(key) for key in ("gold", "schema"))
                name = next((value for value in given if isinstance(value, str)), "gold")
                message = f"{name}: {'the file is not there' if missing else fault.detail or fault.code}"
                hint = f"gold files lie in <gold>/{spot.instance.instance_id}/"
                yield spot.finding("missing-file" if missing else "tree-json", message, hint=hint)
                continue
            yield from _against_schema(spot, read["gold"], read.get("schema"))


def _against_schema(spot: Spot, gold: Any, schema: Any) -> Iterator[Found]:
    golds = gold if isinstance(gold, list) else [gold]
    id_field = spot.check.parameters.get("id_field")
    if not golds:
        yield spot.finding("empty-gold", "gold has no record")
        return
    if spot.check.scorer != "tree_match" or (schema is None and id_field is None):
        return
    try:
        findings = gold_findings(golds, schema, id_field, warn_missing=False) if schema is not None else _ids(golds, id_field)
    except (SchemaError, JsonRefError, UnknownNameError, TreeLimitError) as error:
        yield spot.finding("tree-schema", str(error), hint="`evalsuite schema check` says more")
        return
    for finding in findings[:_MOST]:
        whose = f"schema at {finding.path or 'the root'}" if finding.record is None else f"record {finding.record}"
        yield spot.finding(_TREE_CODES.get(finding.kind, "tree-field"), f"{whose}: {finding.message}", hint="mend gold or the schema")


def _ids(golds: list[Any], id_field: Any) -> list[Any]:
    """The findings on ids alone, against a schema that fits by construction."""
    from evalsuite.trees.schema_sources import infer_schema

    keyed = [record for record in golds if isinstance(record, dict)]
    found = gold_findings(golds, infer_schema(keyed or [{}], notify=lambda _: None), str(id_field), warn_missing=False)
    return [finding for finding in found if finding.kind == "id"]


PER_BOOK = {
    "unreadable-line": Kind("error", find_broken_lines, "a line of the spec is no JSON object"),
    "bad-entry": Kind("error", find_broken_lines, "an entry lacks its id, its evaluation or a scorer's name, or has one of the wrong type"),
    "unknown-scorer": Kind("error", find_broken_lines, "no scorer has this name"),
    "duplicate-id": Kind("error", find_broken_lines, "two entries have the same instance_id"),
    "bad-suite": Kind("error", find_broken_lines, "suite.yaml cannot be read"),
    "odd-layout": Kind("note", find_odd_layout, "the spec is not one object a line"),
    "unknown-group-id": Kind("warning", find_odd_groups, "a group of suite.yaml names an instance that gold lacks"),
    "empty-group": Kind("warning", find_odd_groups, "a group of suite.yaml holds no instance"),
    "no-judge": Kind("warning", find_lost_judges, "a judged check, and no judge in suite.yaml"),
    "judge-beside-tree": Kind("error", find_lost_judges, "a judged check beside a tree check in one instance"),
    "no-instances": Kind("error", find_empty_spec, "a spec without instances"),
}
PER_TREE = {
    "tree-json": Kind("error", find_tree_faults, "a gold tree or schema is not valid JSON"),
    "tree-schema": Kind("error", find_tree_faults, "a schema that cannot be used"),
    "tree-field": Kind("error", find_tree_faults, "a field of gold that the schema does not know"),
    "tree-type": Kind("warning", find_tree_faults, "a value of gold that is not of the schema's type"),
    "tree-key": Kind("error", find_tree_faults, "a key or an option of a schema that nobody reads"),
    "tree-value": Kind("error", find_tree_faults, "a value of gold that is not right when it is handed in"),
    "tree-id": Kind("error", find_tree_faults, "a record without id, or an id that stands twice"),
}


PER_CHECK = {
    "unknown-parameter": Kind("error", find_reader_problems, "the scorer has no such parameter: the reference fails on it"),
    "misplaced-key": Kind("warning", find_reader_problems, "a key beside `parameters` that nobody reads"),
    "ignored-parameter": Kind("warning", find_reader_problems, "`pred` or `result` among the parameters: nobody reads it"),
    "parameter-type": Kind("error", find_reader_problems, "a parameter of the wrong type"),
    "missing-parameter": Kind("error", find_reader_problems, "a parameter that the scorer needs is missing"),
    "bad-parameter": Kind("error", find_reader_problems, "a parameter that its scorer cannot use"),
    "list-length": Kind("error", find_reader_problems, "a list of parameters does not have one entry for each gold table"),
    "empty-gold": Kind("error", find_reader_problems, "gold is empty: everything or nothing matches it"),
    "empty-exclude": Kind("error", find_reader_problems, "an empty text is excluded: every answer holds it"),
    "exclude-text": Kind("warning", find_reader_problems, "`exclude` is a text and no list: the reference excludes each of its letters"),
    "gold-not-number": Kind("error", find_reader_problems, "a gold of number_match is no finite number"),
    "repeated-number": Kind("warning", find_reader_problems, "gold names a number twice: one in the answer is enough for both"),
    "quoted-name": Kind("error", find_reader_problems, "a table's name needs quotes, which the reference does not write"),
    "repeated-check": Kind("warning", find_repeated_checks, "an instance has the same check twice"),
    "idle-conj": Kind("warning", find_odd_conj, "`conj: and` with a single gold"),
    "or-numbers": Kind("note", find_odd_conj, "several numbers, and nothing says whether any or all are needed"),
}
