"""Lint: faults of gold that are visible without a submission, and safe repairs of the spec as a diff.

Severities: an `error` prevents a check from scoring, or makes it score something unintended under every reading; a `warning` is probably
a mistake; a `note` is sound gold that the official rules misread, or that tests little. Notes never fail a gate.

This file lints gold files, the form of the spec and `gold.errata.yaml`; `lint_values` lints the values. A new finding is one function and
one row in a table. Repairs change only spec lines that hold one object each and that one of the known JSON styles reproduces exactly.
"""

import copy
import difflib
import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from unicodedata import normalize

from evalsuite.analysis.gold_checks import lint_values as values
from evalsuite.analysis.gold_checks.lint_values import (
    IGNORE_KEY,
    QUESTIONS,
    TABLE_FORMS,
    GoldTable,
    Kind,
    LintedGold,
    LintFinding,
    Severity,
    Spot,
    read_linted_gold,
    reader_fault,
)
from evalsuite.compare.messages import lines_below, other_delimiter, other_format
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import FAULTS, FaultError, GoldError, count_words, describe, did_you_mean, write_error
from evalsuite.core.files import is_dir, is_file, is_symlink
from evalsuite.core.types import Check, Problem
from evalsuite.gold.errata import ERRATA_FILE, read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.spec import GOLD_QUERY
from evalsuite.readers.csv_dialect import Dialect
from evalsuite.readers.csv_table import csv_rows
from evalsuite.readers.gold_files import SUITE_FILE, find_spec, is_bytecode
from evalsuite.readers.json_text import Obj
from evalsuite.readers.load_answer import read_gold_files
from evalsuite.readers.paths import READABLE_HINT, UNREADABLE, FromRoot, resolve_in_side
from evalsuite.runs.run_files import write_atomically
from evalsuite.sandbox.limits import check_limits
from evalsuite.scorers import SCORERS
from evalsuite.trees.comparators import UnknownNameError
from evalsuite.trees.gold_validation import gold_findings
from evalsuite.trees.json_schema import JsonRefError, SchemaError, infer_schema
from evalsuite.trees.json_values import TreeLimitError

_UNREAD = {"MISSING_FILE": "missing-file", "BAD_PATH": "bad-path", "BAD_ENCODING": "bad-encoding", "MISSING_TABLE": "missing-table"}
_UNREAD |= {"NOT_A_TABLE": "gold-view"}
_MOST_STRAY = 20


def find_unread_files(linted: LintedGold) -> Iterator[LintFinding]:
    """Gold files that the table reader cannot read, each under the code of its fault."""
    for spot, file, fault in linted.unread:
        hint = FAULTS[fault.code].hint
        if fault.code == "MISSING_FILE":
            folder = linted.folder / spot.instance.instance_id
            near = [place.name for place in folder.iterdir() if place.name.lower() == file.lower()] if is_dir(folder) else []
            belongs = f"gold files belong in <gold>/{spot.instance.instance_id}/"
            hint = f"there is {near[0]!r}: file names are case-sensitive" if near else belongs
            hint = READABLE_HINT if fault.detail == UNREADABLE else hint
        code = _UNREAD.get(fault.code, "unreadable-file")
        yield spot.finding(code, f"{file}: {fault.detail or FAULTS[fault.code].message}", hint=hint)


def find_repeated_files(spot: Spot) -> Iterator[LintFinding]:
    """A list of gold files that names one of them twice."""
    if spot.reads == "table" and len(set(map(str, spot.check.golds))) < len(spot.check.golds):
        yield spot.finding("repeated-file", "gold names a file twice among its alternatives", hint="remove one")


def find_stray_files(linted: LintedGold) -> Iterator[LintFinding]:
    """Folders that belong to no instance, and files that no check names."""
    used = _named_files(linted)
    # In the other layouts all instances share one folder of tables and one of queries.
    shared = {name.split("/")[0] for names in used.values() for name in names if isinstance(name, FromRoot)}
    shared |= {"sql"} if shared else set()
    # Gold that is a single file has no folders of instances.
    for folder in sorted(place for place in linted.folder.glob("*") if is_dir(place) and not place.name.startswith(".")):
        if folder.name in shared or is_bytecode(folder.name):
            continue
        if folder.name not in linted.raw:
            yield _finding_at(linted, "stray-folder", "", f"{folder.name}/ belongs to no instance", "remove it, or add the instance")
            continue
        if folder.name not in used:
            # A user-defined scorer may read any file.
            continue
        files = [place for place in sorted(folder.rglob("*")) if is_file(place) and not place.name.startswith(".")]
        strays = [place for place in files if place.relative_to(folder).as_posix() not in used[folder.name]]
        for place in strays[:_MOST_STRAY]:
            name = place.relative_to(linted.folder).as_posix()
            yield _finding_at(linted, "stray-file", folder.name, f"no check names {name}", "remove it, or name it in gold")


def _named_files(linted: LintedGold) -> dict[str, set[str]]:
    """Return the files that each instance's checks name; instances with a scorer that is not bundled are left out."""
    used: dict[str, set[str]] = {instance.instance_id: set() for instance in linted.instances}
    for spot in linted.spots():
        if spot.check.scorer not in SCORERS.bundled:
            used.pop(spot.instance.instance_id, None)
        query = [GOLD_QUERY] if spot.check.extra.get("temporal") is True else []
        for value in (*spot.check.parameters.values(), query):
            names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
            if spot.instance.instance_id in used:
                used[spot.instance.instance_id].update(name for name in names if isinstance(name, str))
    return used


def find_misplaced_files(linted: LintedGold) -> Iterator[LintFinding]:
    """Gold files at the top of the folder, where they are not read: a table that is one folder too high."""
    named_files = {str(name) for names in _named_files(linted).values() for name in names}
    for place in sorted(linted.folder.glob("*")):
        if is_file(place) and place.name in named_files and place not in (find_spec(linted.spec), linted.folder / SUITE_FILE):
            yield _finding_at(
                linted, "misplaced-file", "", f"{place.name} is next to the spec", "gold files belong in <gold>/<instance_id>/"
            )


def find_linked_files(linted: LintedGold) -> Iterator[LintFinding]:
    """Gold files that are links out of the folder: a copy of the folder loses them."""
    for place in sorted(linted.folder.rglob("*")):
        if is_symlink(place) and not place.resolve().is_relative_to(linted.folder.resolve()):
            owner = place.relative_to(linted.folder).parts[0]
            id_ = owner if owner in linted.raw else ""
            message = f"{place.relative_to(linted.folder).as_posix()} is a link out of the gold folder"
            yield _finding_at(linted, "linked-file", id_, message, "replace the link by the file")


def _finding_at(linted: LintedGold, code: str, id_: str, message: str, hint: str) -> LintFinding:
    where = f"{linted.name}:{linted.raw[id_][0]}" if id_ in linted.raw else f"{linted.name}:1"
    return LintFinding(code=code, where=where, instance_id=id_, message=message, hint=hint)


def find_odd_ids(linted: LintedGold) -> Iterator[LintFinding]:
    """Ids that cannot be folder names, and ids that differ only in case or Unicode form: one folder on many systems."""
    seen: dict[str, str] = {}
    for spot in linted.spots():
        id_ = spot.instance.instance_id
        if spot.index:
            continue
        try:
            resolve_in_side(id_, "x")
            reason = "it begins or ends with a space" if id_ != id_.strip() else ""
        except FaultError as error:
            reason = describe(error.fault)
        if reason:
            files = any(SCORERS.load(check.scorer).marker.reads in TABLE_FORMS for check in spot.instance.checks)
            message = f"the id {id_!r} cannot be a folder name: {reason}"
            yield spot.finding("bad-id", message, hint="letters, digits, _ and -", severity="error" if files else "warning")
        first = seen.setdefault(normalize("NFC", id_.casefold()), id_)
        if first != id_:
            message = f"the ids {first!r} and {id_!r} differ only in case or Unicode form"
            yield spot.finding("id-case", message, hint="on some systems they share one folder")


def find_odd_rows(table: GoldTable) -> Iterator[LintFinding]:
    """Lines that are longer or shorter than the header, and blank lines: the reader shifts or skips them."""
    if not table.is_csv:
        return
    below = lines_below(table.table)
    if other := other_format(table.table.header, below):
        yield table.finding("odd-format", other, hint="write the gold table as CSV")
    elif other := other_delimiter(table.table.header, Dialect.from_parameters(table.spot.check.parameters).delimiter, below):
        hint = 'write gold and answers with that delimiter, or set the parameter "delimiter" of the check'
        yield table.finding("odd-delimiter", other, hint=hint)
    if table.table.ragged_line is not None:
        n_read = count_words(len(table.table.header), "field")
        message = f"line {table.table.ragged_line} has more fields than the header, so only its last {n_read} can be read"
        yield table.finding("ragged-row", message, hint="quote fields that contain commas")
    short = next((at for at, cell in enumerate(table.table.columns[-1]) if cell is None), None)
    if short is not None:
        yield table.finding("short-row", f"row {short + 1} has fewer fields than the header", hint="write the empty fields")
    blank = _blank_line(table.place)
    if blank:
        yield table.finding("blank-line", f"line {blank} is blank and skipped", hint='write an empty cell in a table of one column as ""')


def _blank_line(place: Path) -> int:
    """Return the first blank line between the rows of a CSV file, else 0; blank lines inside quotes and at the end do not count."""
    try:
        text = place.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return 0
    if "\n\n" not in text.replace("\r\n", "\n").rstrip("\n"):
        return 0
    return next((line for line, row in csv_rows(io.StringIO(text.rstrip("\r\n"), newline="")) if not row), 0)


def find_equal_tables(table: GoldTable) -> Iterator[LintFinding]:
    """A table of at least four cells that is gold of two instances, or twice of one."""
    content = table.table
    if content.n_rows * len(content.columns) < 4:
        return
    digest = hashlib.sha256(repr((content.header, [list(column) for column in content.columns])).encode("utf-8", "backslashreplace"))
    place = (table.spot.instance.instance_id, f"{table.file} {table.part}".strip())
    id_, file = table.earlier.setdefault(digest.hexdigest(), place)
    if id_ != place[0]:
        yield table.finding("equal-golds", f"the same table is gold of {id_} ({file})", hint="is one of them an accidental copy?")
    elif file != place[1]:
        yield table.finding("equal-alternatives", f"the same table as {file}", hint="remove one")


def find_equal_questions(linted: LintedGold) -> Iterator[LintFinding]:
    """Two instances with the same question."""
    seen: dict[str, str] = {}
    for spot in linted.spots():
        if spot.index:
            continue
        for key in QUESTIONS:
            text = spot.instance.extra.get(key)
            if isinstance(text, str) and text.strip():
                first = seen.setdefault(" ".join(text.casefold().split()), spot.instance.instance_id)
                if first != spot.instance.instance_id:
                    yield spot.finding("equal-questions", f"the same {key} as {first}", hint="is one of them an accidental copy?")


# Code of a reader's problem -> (severity, pattern of its message, summary); the first match counts, `bad-parameter` is any other.
_READER_CODES: Final[dict[str, tuple[Severity, str, str]]] = {
    "unknown-parameter": ("error", "unknown parameter", "the scorer has no such parameter: the reference fails on it"),
    "misplaced-key": ("warning", "next to 'parameters' is not read", "a key next to `parameters` that is ignored"),
    "ignored-parameter": ("warning", "is ignored$", "`pred` or `result` among the parameters: it is ignored"),
    "parameter-type": ("error", "must be .+, found", "a parameter of the wrong type"),
    "missing-parameter": ("error", "needs the parameter", "a required parameter is missing"),
    "bad-parameter": ("error", "(?!)", "a parameter that its scorer cannot use"),
    "list-length": (
        "error",
        r"condition_cols (has|contains|must be)|ignore_order has|(condition_cols|ignore_orders) has \d+ value",
        "a list of parameters does not have one entry for each gold table",
    ),
    "empty-gold": (
        "error",
        "gold (is an empty list|names no file|contains an empty text)|names no table",
        "gold is empty: everything or nothing matches it",
    ),
    "empty-exclude": ("error", "exclude contains an empty text", "an empty text is excluded: every answer contains it"),
    "exclude-text": ("warning", "exclude is a text", "`exclude` is a text, not a list: the reference excludes each of its letters"),
    "gold-not-number": ("error", "gold is not a finite number", "a gold of number_match is not a finite number"),
    "repeated-number": ("warning", "names a number twice", "gold names a number twice: one occurrence in the answer counts for both"),
    "quoted-name": ("error", "needs quotes", "a table's name needs quotes, which the reference does not write"),
}


def find_broken_lines(linted: LintedGold) -> Iterator[LintFinding]:
    """Lines that could not be read at all."""
    yield from linted.broken


def find_odd_layout(linted: LintedGold) -> Iterator[LintFinding]:
    """A spec that is not one object per line."""
    for line, text in linted.notes:
        yield LintFinding(code="odd-layout", where=f"{linted.name}:{line}", instance_id="", message=text, hint="write one object per line")


def find_reader_problems(spot: Spot) -> Iterator[LintFinding]:
    """The problems that the readers found in a check, each under its own code."""
    for problem in spot.check.problems:
        if problem.code == "NEEDS_CONNECTION" and spot.is_living:
            continue
        code = next((code for code, (_, pattern, _) in _READER_CODES.items() if re.search(pattern, problem.message)), "bad-parameter")
        severity: Severity = "error" if problem.blocks else "warning"
        finding = spot.finding(code, problem.message, hint=problem.hint, severity=severity, change=_repair(code, problem, spot))
        yield replace(finding, where=problem.where or finding.where)


def _repair(code: str, problem: Problem, spot: Spot) -> Callable[[Obj], None] | None:
    """Return the repair of a problem that has only one solution, else None."""
    parameter_name = re.search(r"(?:parameter|key) '([^']+)'", problem.message)
    key = parameter_name[1] if parameter_name else ""
    parameter_names = list(SCORERS.load(spot.check.scorer).parameters)
    near = difflib.get_close_matches(key, parameter_names, n=1)
    if code == "unknown-parameter" and near and near[0] not in spot.check.parameters:
        return lambda evaluation: evaluation.update(
            parameters={(near[0] if name == key else name): value for name, value in evaluation["parameters"].items()}
        )
    if code == "ignored-parameter":
        return lambda evaluation: evaluation["parameters"].pop(key, None)
    if code == "misplaced-key" and key in parameter_names and key not in spot.check.parameters:
        return lambda evaluation: evaluation.setdefault("parameters", {}).update({key: evaluation.pop(key)})
    if code == "exclude-text":
        return lambda evaluation: evaluation["parameters"].update(exclude=[evaluation["parameters"]["exclude"]])
    return None


def find_repeated_checks(spot: Spot) -> Iterator[LintFinding]:
    """A check that occurs twice in its instance."""
    before = spot.instance.checks[: spot.index]
    if any(other.scorer == spot.check.scorer and other.parameters == spot.check.parameters for other in before):
        yield spot.finding("repeated-check", f"the same {spot.check.scorer} check occurs twice", hint="remove one")


def find_odd_conj(spot: Spot) -> Iterator[LintFinding]:
    """`conj` with a single gold, and several golds without `conj`."""
    n, conj = len(spot.check.golds), spot.check.parameters.get("conj")
    if conj == "and" and n == 1:
        yield spot.finding("idle-conj", "conj joins several golds, but there is only one", hint="remove conj, or list every needed gold")
    if spot.check.scorer == "number_match" and n > 1 and conj is None:
        message = f"any of the {n} numbers is enough (the default of conj is 'or')"
        yield spot.finding("or-numbers", message, hint="write conj: 'and' if all are needed, 'or' if any is right")


def find_odd_groups(linted: LintedGold) -> Iterator[LintFinding]:
    """Group entries that gold lacks, and groups without instances."""
    where = f"{linted.spec.resolve().parent.name}/{SUITE_FILE}"
    used = {tag for instance in linted.instances for tag in linted.suite.groups_of(instance.instance_id)}
    for tag, ids in linted.suite.groups.items():
        for id_ in ids:
            if id_ not in linted.raw:
                near = did_you_mean(id_, linted.raw)
                hint = near if near.startswith("did") else ""
                message = f"group {tag!r} names {id_!r}, which gold lacks"
                yield LintFinding(code="unknown-group-id", where=where, instance_id="", message=message, hint=hint)
        if tag not in used:
            message = f"group {tag!r} contains no instance"
            yield LintFinding(code="empty-group", where=where, instance_id="", message=message, hint="check its prefix")


def find_lost_judges(linted: LintedGold) -> Iterator[LintFinding]:
    """Judged checks without a judge, or combined with a tree check, where they cannot run."""
    for spot in linted.spots():
        if spot.reads != "batch":
            continue
        if "judge" not in linted.suite.extra:
            hint = "add `judge: {base_url: ..., model: ..., key_env: ...}` to suite.yaml"
            yield spot.finding("no-judge", f"{spot.check.scorer} needs a judge, and suite.yaml configures none", hint=hint)
        if any(other.instance is spot.instance and other.reads == "tree" for other in linted.spots()):
            message = f"{spot.check.scorer} cannot be combined with a tree check in one instance"
            yield spot.finding("judge-beside-tree", message, hint="move each to its own instance")


def find_empty_spec(linted: LintedGold) -> Iterator[LintFinding]:
    """A spec without instances."""
    if not linted.instances and not linted.broken:
        yield LintFinding(code="no-instances", where=f"{linted.name}:1", instance_id="", message="the spec contains no instance")


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


def find_tree_faults(linted: LintedGold) -> Iterator[LintFinding]:
    """Conflicts between gold records and their schema; an inferred schema always fits."""
    for spot in linted.spots():
        if spot.reads == "tree" and "gold" in spot.check.parameters:
            try:
                where: dict[str, Any] = {"folder": linted.folder, "instance_id": spot.instance.instance_id}
                read = read_gold_files("tree", spot.check.parameters, limits=linted.limits, **where)
            except FaultError as error:
                names = (spot.check.parameters.get(key) for key in ("gold", "schema"))
                name = next((value for value in names if isinstance(value, str)), "gold")
                fault = reader_fault(error, linted.folder / spot.instance.instance_id / name)
                missing = fault.code == "MISSING_FILE"
                message = f"{name}: {'the file is not there' if missing else fault.detail or fault.code}"
                hint = f"gold files belong in <gold>/{spot.instance.instance_id}/"
                yield spot.finding("missing-file" if missing else "tree-json", message, hint=hint)
                continue
            yield from _against_schema(spot, read["gold"], read.get("schema"))


def _against_schema(spot: Spot, gold: Any, schema: Any) -> Iterator[LintFinding]:
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
        yield spot.finding("tree-schema", str(error), hint="`evalsuite gold schema check` shows details")
        return
    for finding in findings[:_MOST]:
        subject = f"schema at {finding.path or 'the root'}" if finding.record is None else f"record {finding.record}"
        yield spot.finding(_TREE_CODES.get(finding.kind, "tree-field"), f"{subject}: {finding.message}", hint="correct gold or the schema")


def _ids(golds: list[Any], id_field: Any) -> list[Any]:
    """Return the findings on ids alone, against a schema that fits by construction."""
    keyed = [record for record in golds if isinstance(record, dict)]
    findings = gold_findings(golds, infer_schema(keyed or [{}], notify=lambda _: None), str(id_field), warn_missing=False)
    return [finding for finding in findings if finding.kind == "id"]


# Parameters that accept more when they are larger, smaller, or true.
_LARGER: Final = frozenset({"rel_tol", "abs_tol", "tolerance", "threshold_distance"})
_SMALLER: Final = frozenset({"precision", "threshold", "min_score"})
_TRUE: Final = frozenset({"ignore_order", "ignore_case", "percentage", "repair", "partial"})
# Lists that accept more when they are shorter, or longer.
_FEWER: Final = frozenset({"condition_cols", "exclude", "order_by"})


def find_errata(linted: LintedGold) -> Iterator[LintFinding]:
    """Entries that are not applied, applied patches that widen their check, and unusable files."""
    if not is_file(linted.spec.parent / ERRATA_FILE) or linted.broken:
        return
    try:
        gold = read_gold(linted.folder)
        errata = read_errata(gold)
    except GoldError as error:
        where, _, message = error.message.partition(": ")
        yield LintFinding(code="bad-errata", where=where, instance_id="", message=message, hint=error.hint)
        return
    assert errata is not None, "the file is present"
    for entry in errata.entries:
        if entry.state != "applied":
            hint = "check gold again, then update or remove the entry"
            yield LintFinding(code=f"{entry.state}-erratum", where=entry.where, instance_id=entry.id, message=entry.words(), hint=hint)
    checks_of = {instance.instance_id: instance.checks for instance in gold.instances}
    for entry in errata.of_state("applied"):
        after = entry.instance.checks if entry.instance is not None else ()
        if len(after) == len(checks_of[entry.id]) == 1 and (ways := list(ways_wider(checks_of[entry.id][0], after[0]))):
            message = f"the patch accepts more than the check: {'; '.join(ways)}"
            hint = f"`evalsuite gold audit {linted.folder} --only {entry.id}` shows what it accepts"
            yield LintFinding(code="wide-erratum", where=entry.where, instance_id=entry.id, message=message, hint=hint)


def ways_wider(before: Check, after: Check) -> Iterator[str]:
    """Return the ways in which a check accepts more than the previous one, as far as its parameters show: `precision 4 -> -5`."""
    if before.scorer != after.scorer:
        return
    defaults = {name: parameter.default for name, parameter in SCORERS.load(before.scorer).parameters.items()}
    old, new = ({**defaults, **check.parameters} for check in (before, after))
    for name in sorted({**before.parameters, **after.parameters}):
        if old.get(name) != new.get(name) and _is_wider(name, old.get(name), new.get(name)):
            yield f"{name} {_show_parameter(old, name)} -> {_show_parameter(new, name)}"


def _is_wider(name: str, old: Any, new: Any) -> bool:
    if name == "gold":
        # All that was right stays right, and more is accepted.
        items = [value if isinstance(value, list) else [value] for value in (old, new)]
        return len(items[1]) > len(items[0]) and all(item in items[1] for item in items[0])
    if name in _TRUE:
        return any(_as_list(new)) and not all(_as_list(old))
    if name in _FEWER:
        n_old, n_new = len(_as_list(old)), len(_as_list(new))
        # An empty list of columns means all of them.
        return n_new < n_old if name != "condition_cols" else 0 < n_new < (n_old or math.inf)
    if name == "conj":
        return (old, new) == ("and", "or")
    numbers = [value for value in (old, new) if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == 2:
        return (name in _LARGER and numbers[1] > numbers[0]) or (name in _SMALLER and numbers[1] < numbers[0])
    return name in _LARGER and numbers == [new]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]


def _show_parameter(parameters: Mapping[str, Any], name: str) -> str:
    value = parameters.get(name)
    text = str(value)
    return "unset" if value is None or "empty" in text else text if len(text) <= 40 else f"{text[:39]}…"


def find_unknown_columns(linted: LintedGold) -> Iterator[LintFinding]:
    """Tolerances and orders of columns that no gold table of the check has."""
    unread = {(spot.instance.instance_id, spot.index) for spot, _, _ in linted.unread}
    for spot in linted.spots():
        key = spot.instance.instance_id, spot.index
        headers = linted.headers.get(key)
        if not headers or key in unread:
            continue
        known = {name for header in headers for name in (*header, *map(str, range(len(header))))}
        for parameter in ("abs_tol", "rel_tol"):
            by_column = spot.check.parameters.get(parameter)
            for name in sorted(set(by_column) - known) if isinstance(by_column, dict) else ():
                near = did_you_mean(name, list(dict.fromkeys(name for header in headers for name in header)))[:200]
                yield spot.finding("unknown-column", f"{parameter} names the column {name!r}, which gold does not have", hint=near)
        order = _as_list(spot.check.parameters.get("order_by"))
        for index in dict.fromkeys(at for each in order for at in _as_list(each) if isinstance(at, int)):
            if str(index) not in known and index >= 0:
                n = max(map(len, headers))
                yield spot.finding(
                    "unknown-column", f"order_by names column {index}, but the last one is {n - 1}", hint="columns count from 0"
                )


# code -> (severity, function of a `LintedGold`, summary)
PER_GOLD = {
    "unreadable-line": Kind("error", find_broken_lines, "a line of the spec is not a JSON object"),
    "bad-entry": Kind("error", find_broken_lines, "an entry lacks its id, its evaluation or a scorer's name, or has one of the wrong type"),
    "unknown-scorer": Kind("error", find_broken_lines, "no scorer has this name"),
    "duplicate-id": Kind("error", find_broken_lines, "two entries have the same instance_id"),
    "bad-suite": Kind("error", find_broken_lines, "suite.yaml cannot be read"),
    "odd-layout": Kind("note", find_odd_layout, "the spec is not one object per line"),
    "unknown-group-id": Kind("warning", find_odd_groups, "a group of suite.yaml names an instance that gold lacks"),
    "empty-group": Kind("warning", find_odd_groups, "a group of suite.yaml contains no instance"),
    "no-judge": Kind("warning", find_lost_judges, "a judged check without a judge in suite.yaml"),
    "judge-beside-tree": Kind("error", find_lost_judges, "a judged check and a tree check in one instance"),
    "no-instances": Kind("error", find_empty_spec, "a spec without instances"),
    "bad-errata": Kind("error", find_errata, "gold.errata.yaml is invalid"),
    "wide-erratum": Kind("warning", find_errata, "a patch of gold.errata.yaml that accepts more than the check it corrects"),
    "stale-erratum": Kind("warning", find_errata, "an entry of gold.errata.yaml whose gold has changed since: not applied"),
    "expired-erratum": Kind("warning", find_errata, "an expired entry of gold.errata.yaml: not applied"),
    "bad-id": Kind("warning", find_odd_ids, "an instance_id that cannot be a folder name"),
    "id-case": Kind("warning", find_odd_ids, "two ids that differ only in case or Unicode form"),
    "stray-folder": Kind("warning", find_stray_files, "a folder that belongs to no instance"),
    "stray-file": Kind("warning", find_stray_files, "a file that no check names"),
    "misplaced-file": Kind("warning", find_misplaced_files, "a gold file is next to the spec, not in its instance's folder"),
    "linked-file": Kind("warning", find_linked_files, "a link out of the gold folder"),
    "equal-questions": Kind("warning", find_equal_questions, "two instances have the same question"),
    "tree-json": Kind("error", find_tree_faults, "a gold tree or schema is not valid JSON"),
    "tree-schema": Kind("error", find_tree_faults, "a schema that cannot be used"),
    "tree-field": Kind("error", find_tree_faults, "a field of gold that the schema lacks"),
    "tree-type": Kind("warning", find_tree_faults, "a value of gold that does not have the schema's type"),
    "tree-key": Kind("error", find_tree_faults, "a key or option of a schema that is ignored"),
    "tree-value": Kind("error", find_tree_faults, "a value of gold that is scored as wrong when it is submitted"),
    "tree-id": Kind("error", find_tree_faults, "a record without id, or an id that occurs twice"),
}
# ... of a `Spot`
PER_CHECK: dict[str, Kind] = {
    **{code: Kind(severity, find_reader_problems, summary) for code, (severity, _, summary) in _READER_CODES.items()},
    "repeated-check": Kind("warning", find_repeated_checks, "an instance has the same check twice"),
    "idle-conj": Kind("warning", find_odd_conj, "`conj: and` with a single gold"),
    "or-numbers": Kind("note", find_odd_conj, "several numbers without `conj`: any or all of them?"),
    "repeated-file": Kind("warning", find_repeated_files, "gold names a file twice among the alternatives"),
    "short-gold": Kind("note", values.find_short_golds, "a text gold of one or two characters occurs inside other words"),
    "number-as-text": Kind("note", values.find_short_golds, "a number is searched as text"),
    "gold-in-question": Kind("warning", values.find_golds_in_question, "the question contains the gold text: repeating it is enough"),
    "exclude-kills-gold": Kind("error", values.find_excluded_golds, "an excluded text occurs inside the gold itself: no answer can pass"),
    "exclude-kills-one": Kind("warning", values.find_excluded_golds, "an excluded text occurs inside one of several golds"),
    "padded-gold": Kind("warning", values.find_odd_spelling, "a text gold begins or ends with a space"),
    "odd-characters": Kind("warning", values.find_odd_spelling, "a text gold contains characters that are invisible or cannot be typed"),
    "long-gold": Kind("warning", values.find_odd_spelling, "a text gold so long that no answer contains it letter by letter"),
    "repeated-gold": Kind("warning", values.find_repeated_golds, "the same gold occurs twice in a list"),
    "gold-inside-gold": Kind("note", values.find_repeated_golds, "one gold text occurs inside another of the list"),
    "number-near-zero": Kind("warning", values.find_swallowed_numbers, "a number within the tolerance of 0: a 0 is accepted"),
    "golds-in-tolerance": Kind("warning", values.find_swallowed_numbers, "two golds within the tolerance of one another"),
    "coarse-precision": Kind("warning", values.find_swallowed_numbers, "a precision that accepts whole numbers near gold"),
    "negative-number": Kind("note", values.find_negative_numbers, "a negative number, whose sign the official rules ignore"),
    "percentage-missing": Kind(
        "warning", values.find_missing_percentage, "the question wants a percentage, and the check has no `percentage`"
    ),
    "percentage-zero": Kind("warning", values.find_odd_percentages, "`percentage` for a gold of 0"),
    "percentage-and": Kind("warning", values.find_odd_percentages, "`percentage` with `conj: and` needs both forms of each gold"),
    "percentage-large": Kind("warning", values.find_odd_percentages, "`percentage` for a gold over 100"),
    "flat-columns": Kind("note", values.find_flat_columns, "one list of columns for several gold tables"),
    "lists-without-tables": Kind(
        "warning", values.find_lists_without_tables, "lists by table without the `condition_tabs` that name the tables"
    ),
}
# ... of a `GoldTable`
PER_TABLE: dict[str, Kind] = {
    "odd-format": Kind("warning", find_odd_rows, "a table whose first line begins like JSON, Markdown or another format that is no CSV"),
    "odd-delimiter": Kind("warning", find_odd_rows, "a table of one column whose header contains another delimiter than the comma"),
    "ragged-row": Kind("error", find_odd_rows, "a row longer than the header: the columns shift"),
    "short-row": Kind("warning", find_odd_rows, "a row shorter than the header"),
    "blank-line": Kind("warning", find_odd_rows, "a blank line inside a table: it is skipped, although it may be a row"),
    "equal-golds": Kind("warning", find_equal_tables, "the same table is gold of two instances"),
    "equal-alternatives": Kind("warning", find_equal_tables, "two accepted tables are equal"),
    "column-out-of-range": Kind("error", values.find_columns_out_of_range, "a needed column that gold does not have: no answer can pass"),
    "negative-column": Kind("warning", values.find_columns_out_of_range, "a needed column counted from the end"),
    "repeated-column": Kind("warning", values.find_columns_out_of_range, "a needed column named twice"),
    "no-rows": Kind("warning", values.find_tiny_tables, "gold without rows: every empty table is right"),
    "one-row": Kind("note", values.find_tiny_tables, "gold of one row"),
    "one-cell": Kind("note", values.find_tiny_tables, "gold of one cell"),
    "equal-columns": Kind("note", values.find_equal_columns, "two needed columns contain the same cells"),
    "empty-column": Kind("warning", values.find_empty_columns, "a needed column without a value"),
    "repeated-header": Kind("warning", values.find_odd_headers, "two columns have the same name"),
    "index-column": Kind("warning", values.find_odd_headers, "a needed column that only counts the rows"),
    "repeated-rows": Kind("note", values.find_repeated_rows, "rows that occur in a table more than once"),
    "literal-null": Kind("warning", values.find_null_words, "a word such as NA or None in a text column: it is read as empty"),
    "padded-cells": Kind("warning", values.find_padded_cells, "text cells with surrounding spaces"),
    "mixed-column": Kind("warning", values.find_mixed_columns, "a number column that a few cells turn into text"),
    "formatted-numbers": Kind("warning", values.find_mixed_columns, "a column of formatted numbers, compared as text"),
    "leading-zeros": Kind("note", values.find_leading_zeros, "codes with leading zeros, which the official rules read as numbers"),
    "values-in-tolerance": Kind(
        "note", values.find_indistinct_numbers, "a column whose values are all within the official tolerance of one another"
    ),
    "value-near-zero": Kind("note", values.find_indistinct_numbers, "a value within the official tolerance of 0"),
    "large-integers": Kind("note", values.find_indistinct_numbers, "integers so large that the official rules treat neighbours as equal"),
    "overflow": Kind("warning", values.find_indistinct_numbers, "a number beyond the range of floats"),
    "date-format": Kind("warning", values.find_odd_dates, "dates that are not written YYYY-MM-DD"),
    "midnight-times": Kind("note", values.find_odd_dates, "days written with a time of 00:00"),
    "order-ties": Kind("warning", values.find_order_ties, "row order counts, and nothing breaks the ties in it"),
    "no-order": Kind("note", values.find_order_ties, "row order counts, and no column is sorted"),
    "typed-null": Kind("note", values.find_odd_types, "NULL in a column of integers or booleans, on which the official rules fail"),
    "nested-type": Kind("note", values.find_odd_types, "a list or struct column, which the official rules cannot compare"),
    "date-as-text": Kind("warning", values.find_odd_types, "dates stored as text in a database"),
    "quoted-name": Kind("error", values.find_quoted_names, "a table's name needs quotes, which the reference does not write"),
}
# ... of a `LintedGold` all of whose tables were read
AFTER_TABLES = {
    "unknown-column": Kind(
        "warning", find_unknown_columns, "a tolerance or an order of a column that gold does not have: it has no effect"
    ),
    "missing-file": Kind("error", find_unread_files, "a gold file is missing"),
    "bad-path": Kind("error", find_unread_files, "a gold file's path leaves the instance's folder"),
    "bad-encoding": Kind("error", find_unread_files, "a gold file is not UTF-8"),
    "unreadable-file": Kind("error", find_unread_files, "a gold file cannot be read as a table or database"),
    "missing-table": Kind("error", find_unread_files, "a gold database lacks a needed table"),
    "gold-view": Kind("error", find_unread_files, "a view where a gold table is needed"),
}


def _unknown_ignored_codes(linted: LintedGold) -> Iterator[LintFinding]:
    """Ignored codes that do not exist."""
    for instance in linted.instances:
        codes = instance.extra.get(IGNORE_KEY, [])
        for code in codes if isinstance(codes, list) else [codes]:
            if code not in CODES:
                message, hint = f"{IGNORE_KEY} names {code!r}, which is not a finding code", did_you_mean(str(code), CODES)[:200]
                id_ = instance.instance_id
                yield LintFinding(code="unknown-ignore", where=instance.where, instance_id=id_, message=message, hint=hint)


_PER_GOLD: dict[str, Kind] = {
    **PER_GOLD,
    "unknown-ignore": Kind("warning", _unknown_ignored_codes, "`lint_ignore` names a code that does not exist"),
}
CODES: dict[str, Kind] = {**_PER_GOLD, **PER_CHECK, **AFTER_TABLES, **PER_TABLE}
# Besides errors: findings under which a rule can refuse gold's own answer.
REFUSING = frozenset(
    {"exclude-text", "flat-columns", "lists-without-tables", "negative-number", "nested-type", "percentage-and", "typed-null"}
)
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """The findings of a gold folder in the order of its lines; `ignored` are the suppressed ones."""

    gold: LintedGold
    findings: tuple[LintFinding, ...]
    ignored: tuple[LintFinding, ...] = ()

    @property
    def n_ignored(self) -> int:
        """The number of suppressed findings."""
        return len(self.ignored)

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        counts = {severity: self.count(severity) for severity in SEVERITIES}
        data = {"n_ignored": self.n_ignored, "findings": [finding.to_json() for finding in self.findings]}
        return {"n_instances": len(self.gold.instances), "counts": counts, **data}


def lint(folder: Path, *, ignore: Iterable[str] = ()) -> Lint:
    """Check a gold folder without scoring anything.

    Args:
        folder: a gold folder or its spec file.
        ignore: codes to suppress everywhere; an instance's `lint_ignore` (a list of codes next to `evaluation`) suppresses them there.

    Raises:
        GoldError: there is no spec file that can be opened.
        MachineError: a file of gold might not fit into what the machine gives a process.
    """
    linted = read_linted_gold(folder)
    check_limits(linted.limits)

    def place(finding: LintFinding) -> tuple[str, int]:
        name, _, line = finding.where.rpartition(":")
        return (name, int(line)) if line.isdigit() else (finding.where, 0)

    findings = sorted(
        (finding if finding.severity else replace(finding, severity=CODES[finding.code].severity) for finding in _findings(linted)),
        key=place,
    )
    unwanted = set(ignore)
    quiet = dict[str, set[str]]()
    for instance in linted.instances:
        codes = instance.extra.get(IGNORE_KEY)
        quiet[instance.instance_id] = {code for code in (codes if isinstance(codes, list) else [codes]) if isinstance(code, str)}

    def is_quiet(finding: LintFinding) -> bool:
        return finding.code in unwanted or finding.code in quiet.get(finding.instance_id, ())

    visible = _join_findings(finding for finding in findings if not is_quiet(finding))
    return Lint(gold=linted, findings=tuple(visible), ignored=tuple(filter(is_quiet, findings)))


def _join_findings(findings: Iterable[LintFinding]) -> Iterator[LintFinding]:
    """Join findings of one code in one check and file: twenty empty columns are one finding."""
    groups: dict[tuple[str, ...], list[LintFinding]] = {}
    for at, finding in enumerate(findings):
        # Findings with repairs are not joined: each has its own repair.
        key = (finding.code, finding.where, finding.about, str(at) if finding.change is not None else "")
        groups.setdefault(key, []).append(finding)
    for first, *more in groups.values():
        yield replace(first, message=f"{first.message} (and {len(more)} more)") if more else first


def _findings(linted: LintedGold) -> Iterator[LintFinding]:
    """Yield every finding; an empty severity means the severity of its code."""
    for look in _functions(_PER_GOLD):
        yield from look(linted)
    for spot in linted.spots():
        for look in _functions(PER_CHECK):
            yield from look(spot)
    looks = _functions(PER_TABLE)
    for table in linted.tables():
        for look in looks:
            yield from look(table)
    for look in _functions(AFTER_TABLES):
        yield from look(linted)


def _functions(kinds: dict[str, Kind]) -> list[Callable[..., Iterator[LintFinding]]]:
    """Return each function of a table once, in table order: one function may find several codes."""
    return list(dict.fromkeys(kind.function for kind in kinds.values()))


_STYLES: tuple[Callable[[Obj], str], ...] = (
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: json.dumps(value, separators=(",", ":")),
    lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
)


def repair(lint: Lint) -> tuple[str, str, list[LintFinding]]:
    """Return (the spec as it is, the spec with every safe repair, the findings that the repairs fix)."""
    before = lint.gold.spec.read_bytes().decode("utf-8")
    lines = before.splitlines(keepends=True)
    mended: list[LintFinding] = []
    by_line: dict[int, list[LintFinding]] = {}
    for finding in lint.findings:
        if finding.change is not None:
            by_line.setdefault(int(finding.where.rpartition(":")[2]), []).append(finding)
    for line, fixable in by_line.items():
        text = lines[line - 1]
        body = text.strip().removeprefix("\ufeff")
        style = _style(body)
        if style is None:
            continue
        value = json.loads(body)
        changed = copy.deepcopy(value)
        for finding in fixable:
            assert finding.change is not None
            evaluation = changed["evaluation"]
            finding.change.apply(evaluation[finding.change.check] if isinstance(evaluation, list) else evaluation)
        if changed != value or json.dumps(changed) != json.dumps(value):
            lines[line - 1] = text.replace(body, style(changed))
            mended += fixable
    return before, "".join(lines), mended


def diff(lint: Lint) -> str:
    """Return the unified diff of the safe repairs, empty if there are none."""
    before, after, _ = repair(lint)
    name = lint.gold.spec.as_posix().lstrip("/")
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{name}", f"b/{name}", n=1)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def write(lint: Lint) -> int:
    """Apply the safe repairs to the spec and return how many findings they fix. Raises `OutputError`."""
    _, after, mended = repair(lint)
    try:
        if mended:
            write_atomically(lint.gold.spec, after)
    except OSError as error:
        raise write_error(lint.gold.spec, error) from error
    return len(mended)


def _style(body: str) -> Callable[[Obj], str] | None:
    """Return the JSON style that reproduces this line exactly. None if no known style does: a diff would then show more than the repair."""
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return next((style for style in _STYLES if style(value) == body), None)
