"""Plain text of one result, one score, and the help of a scorer, for `evalsuite check` and `evalsuite gold scorers`."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import FAULTS, describe
from evalsuite.core.import_ref import LazyModule, lazy_pattern
from evalsuite.core.registry import NO_DEFAULT, SHARE, Scorer, are_rows, readable
from evalsuite.core.scores import Rule, Score
from evalsuite.reports.document import (
    Case,
    Code,
    Column,
    Document,
    Form,
    Own,
    Section,
    Suite,
    Table,
    Words,
    and_more,
    cut_text,
    grade,
    percent,
)
from evalsuite.reports.pictures import share_bar
from evalsuite.stats.units import CONFUSION_ROW, COUNTS, FIELD_ROW, SHARES

if TYPE_CHECKING:
    from evalsuite.core.types import GoldInstance, Result, Submission

inspect, textwrap = LazyModule("inspect"), LazyModule("textwrap")

READS = {
    "text": ("a text", "answer"),
    "number": ("a text", "answer"),
    "table": ("a CSV file", "file"),
    "tables": ("several CSV files", "files"),
    "database": ("a DuckDB file", "file"),
    "tree": ("a JSON value", "answer or file"),
    "batch": ("the texts of all instances", "answer"),
    "query": ("a query of an SQLite database", "answer"),
}
WIDTH = 110
_RULE = lazy_pattern(r"\b(Official and strict|Official|Strict): ")
_ARGUMENT = lazy_pattern(r"(\w+): (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One key of gold's `parameters`; `default` is JSON text, empty for a required key."""

    name: str
    type: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """The help of a scorer. `rules` maps `official` and `strict` to their meaning; `example` is an entry of `evaluation`."""

    name: str
    summary: str
    reads: str
    answer_type: str
    says: str
    notes: str
    rules: dict[str, str]
    parameters: tuple[Parameter, ...]
    example: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the help as a JSON object."""
        texts = {key: getattr(self, key) for key in ("name", "summary", "reads", "answer_type", "says", "notes", "rules")}
        parameters = [
            {"name": p.name, "type": p.type, "needed": not p.default, "default": json.loads(p.default or "null"), "meaning": p.meaning}
            for p in self.parameters
        ]
        return {**texts, "parameters": parameters, "example": self.example}


def help_of(entry: Scorer) -> Help:
    """Parse the help of a scorer from its signature and docstring."""
    parts = _docstring_sections(inspect.getdoc(entry.function) or "")
    says, _, text = parts[""].partition("\n\n")
    notes, rules = _rule_meanings(" ".join(text.split()))
    reads, answer_type = READS[entry.marker.reads]
    return Help(
        name=entry.name,
        summary=entry.summary,
        reads=reads,
        answer_type=answer_type,
        says=" ".join(says.split()),
        notes=notes,
        rules=rules,
        parameters=tuple(_parameters(entry, _argument_meanings(parts.get("Args", "")))),
        example=json.loads(example[1]) if (example := re.search(r"`(\{.*\})`", parts.get("Example", ""), re.DOTALL)) else {},
    )


def scorer_help_text(about: Help, *, command: str = "") -> str:
    """Format the help of one scorer, `WIDTH` columns wide; `command` is the example as a command line."""
    lines = [f"{about.name}: {about.summary}", f"reads {about.reads} (answer type: {about.answer_type})"]
    # A plugin's summary is the first sentence of its docstring.
    says = "" if about.says.rstrip(".") == about.summary.rstrip(".") else about.says
    body = [*textwrap.wrap(says, WIDTH), *textwrap.wrap(about.notes, WIDTH)]
    lines += ["", *body] if body else []
    for rule, text in about.rules.items():
        lines += ["", *_indent_lines(f" {rule:<10}", text)]
    lines += ["", "parameters" if about.parameters else "no parameters"]
    width = max((len(parameter.name) for parameter in about.parameters), default=0) + 3
    for parameter in about.parameters:
        kind = f"{parameter.type}, {f'default {parameter.default}' if parameter.default else 'required'}"
        lines += _indent_lines(f" {parameter.name:<{width}}", kind)
        lines += _indent_lines(" " * (width + 1), parameter.meaning)
    if about.example:
        lines += ["", "example, an entry of gold's `evaluation`", f" {json.dumps(about.example)}"]
    if command:
        lines += ["", "example, at the command line", f" {command}"]
    return "\n".join(lines) + "\n"


def scorer_list_text(all_of_them: Iterable[Help]) -> str:
    """Format one line per scorer: name, answer type, summary."""
    rows = [("scorer", "reads", "answer type", "what is judged"), *((a.name, a.reads, a.answer_type, a.summary) for a in all_of_them)]
    sizes = [max(len(row[column]) for row in rows) for column in range(3)]
    return "".join(" " + "  ".join([*(cell.ljust(size) for cell, size in zip(row[:3], sizes, strict=True)), row[3]]) + "\n" for row in rows)


def _docstring_sections(text: str) -> dict[str, str]:
    """Split the docstring by heading (`Args`, `Example` ...); the text before the first heading has an empty name."""
    sections: dict[str, list[str]] = {"": []}
    heading = ""
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z]\w+:", line):
            heading = line[:-1]
            sections[heading] = []
        else:
            sections[heading].append(line)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


def _rule_meanings(text: str) -> tuple[str, dict[str, str]]:
    """Return (the text before the rules, the text of each rule)."""
    notes, *parts = _RULE.split(text)
    rules: dict[str, str] = {}
    for label, meaning in zip(parts[::2], parts[1::2], strict=True):
        names = ("official", "strict") if " and " in label else (label.lower(),)
        rules |= dict.fromkeys(names, meaning.strip())
    return notes.strip(), rules


def _argument_meanings(args: str) -> dict[str, str]:
    """Return the text of each argument; an indented line continues the one before."""
    meanings: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(args).splitlines():
        match = _ARGUMENT.match(line)
        if match:
            name = match[1]
            meanings[name] = match[2]
        elif name:
            meanings[name] += " " + line.strip()
    return meanings


def _parameters(entry: Scorer, meanings: dict[str, str]) -> Iterable[Parameter]:
    files = entry.marker.gold_files
    for name, parameter in entry.parameters.items():
        of_files = name == "gold" and files is not None
        kind = readable(files).replace("text", "file name") if of_files else readable(parameter.annotation)
        default = "" if parameter.default is NO_DEFAULT else json.dumps(parameter.default, default=str)
        yield Parameter(name=name, type=kind, default=default, meaning=meanings.get(name, ""))


def _indent_lines(label: str, text: str) -> list[str]:
    """Format a label and its text with a hanging indent."""
    return textwrap.wrap(text, WIDTH, initial_indent=label, subsequent_indent=" " * len(label)) if text else []


# Shown by their own tables or lines.
_SHOWN_APART = ("hint", "flip", "fault", "warnings", "reasons", "checks", "units")
LONGEST_VALUE = 400
# Titles of columns that have another name in files.
_TITLES = {"got": "submitted"}
TABLED = ("fields", "records", "confusions", "wrong", "rows", "tree")
N_FIELDS = 30
N_RECORDS = 10
LONGEST_CELL = 40
# The words of keys of `details` for people; any other key is shown with spaces, and `n_x` as `x`.
_DETAILS = {
    "n_found": "columns found",
    "n_needed": "columns needed",
    "pairs": "column pairs",
    "assignment": "column pairs",
    "n_gold_rows": "rows of gold",
    "n_differ": "wrong cells",
    "n_rows_disagree": "wrong rows",
    "first_row": "first at row",
    "predicted_column": "answer column",
    "predicted_columns": "answer columns",
    "predicted_cell": "answer cell",
    "n_numbers": "numbers in all",
    "n_other_candidates": "other numbers",
    "n_wrong": "wrong fields",
    "n_repaired": "repaired lines",
    "raw": "on its own scale",
    "per_type": "by type",
    "per_metric": "by metric",
    "micro_f1": "pooled F1",
    "macro_f1": "mean F1 of fields",
    "tp_node": "right nodes",
    "fn_node": "missing nodes",
    "tp_leaf": "paired leaves",
    "fn_leaf": "missing leaves",
    "fp_leaf": "extra leaves",
    "bp": "brevity penalty",
    "sys_len": "words",
    "ref_len": "reference words",
}
# Types of the fields of checks, records and differences.
_CHECK = {"scorer": str, "official": SHARE, "strict": SHARE, "reason": str}
_RECORD = {"record": object, **dict.fromkeys(SHARES, SHARE)}
_DIFFERENCE = {"record": object, "path": str, "status": str, "expected": object, "got": object}
Row = Mapping[str, Any]


def instance_text(result: "Result") -> str:
    """Return the text of `instance_document`."""
    from evalsuite.reports.terminal import as_text

    return as_text(instance_document(result))


def instance_document(
    result: "Result", *, instance: "GoldInstance | None" = None, submission: "Submission | None" = None, whole: Row | None = None
) -> Document:
    """Build a document of `label  value`, the verdicts first, and of the tables of a score by fields; `whole` is its JSON object."""
    rows = [*_result_pairs(result), *_detail_pairs(result.details)]
    if submission is not None and result.instance_id in submission.answers:
        answer = submission.answers[result.instance_id]
        rows += [("answer", f"{answer.answer_type}: {_cut_value(answer.value)}"), ("submitted", answer.where)]
    if instance is not None:
        rows += _gold_pairs(instance, result)
    return _document_of(result.instance_id, rows, result.score, result.details, whole or {})


def score_document(name: str, score: Score, *, rules: Rule = "official", warnings: Sequence[str] = ()) -> Document:
    """Build the same document of a score without an instance, the verdict under `rules` first."""
    rows = [("scorer", name), *_verdicts(score.official, score.strict, strict_first=rules == "strict")]
    if score.strict_reason and score.strict_reason != score.reason:
        rows += [("official why", score.reason), ("strict why", score.strict_reason)]
    else:
        rows.append(("why", score.reason))
    if score.flip:
        rows.append(("flip", score.flip))
    for fault in dict.fromkeys(fault for fault in (score.fault, score.strict_fault) if fault is not None):
        rows += [("fault", describe(fault)), ("hint", FAULTS[fault.code].hint)]
    rows += [("warning", warning) for warning in warnings]
    whole = score_object(name, score, rules=rules, warnings=warnings)
    return _document_of(name, [*rows, *_detail_pairs(score.details)], score.value(rules), score.details, whole)


def score_object(name: str, score: Score, *, rules: Rule, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Return a score as a JSON object.

    `score` is the value under `rules`, null if they cannot judge; `fault` is a code or null, `strict_fault` {code, detail} or null.
    """
    return {
        "scorer": name,
        "score": score.value(rules),
        "official": score.official,
        "strict": score.strict,
        "reason": score.reason,
        "strict_reason": score.strict_reason or score.reason,
        "flip": score.flip or None,
        "fault": score.fault.code if score.fault else None,
        "strict_fault": score.strict_fault.to_json() if score.strict_fault else None,
        "warnings": list(warnings),
        "details": dict(score.details),
    }


def _document_of(name: str, pairs: Sequence[tuple[str, str]], score: float | None, details: Row, whole: Row) -> Document:
    """Build a document of the pairs, in a text one a line, and of the tables of a score by fields."""
    width = max(len(label) for label, _ in pairs)
    lines = [f" {label:<{width}}  {text}" for label, text in pairs]

    def sections(form: Form) -> Iterator[Section]:
        yield Section(look="lines", lines=lines) if form == "text" else Section(pairs=[(label, Code(text)) for label, text in pairs])
        yield from tree_sections(details)

    case = Case(
        name=name,
        classname="check",
        kind="error" if score is None else "passed" if score == 1 else "failure",
        message=str(whole.get("reason", "")),
    )
    heading, suites = Code(name, 80), [Suite(name="check", cases=[case])]
    return Document(name=name, heading=heading, sections=sections, whole=whole, suites=lambda: suites)


def _verdicts(official: float | None, strict: float | None, *, strict_first: bool) -> Sequence[tuple[str, str]]:
    """Return both verdicts, the one that is the score first."""
    rows = [("official", grade(official)), ("strict", grade(strict))]
    return rows[::-1] if strict_first else rows


def _result_pairs(result: "Result") -> Iterator[tuple[str, str]]:
    yield "instance", result.instance_id
    yield "status", result.status + (f" ({result.fault})" if result.fault else "")
    strict_counts = result.score == result.strict and result.score != result.official
    yield from _verdicts(result.official, result.strict, strict_first=strict_counts)
    yield "scorer", result.scorer or "none"
    reasons = result.details.get("reasons") or {}
    if result.reason not in reasons.values():
        yield "why", result.reason
    yield from ((f"{rule} why", text) for rule, text in reasons.items())
    for label in ("flip", "fault", "hint"):
        if result.details.get(label) and result.details[label] != result.reason:
            yield label, str(result.details[label])
    for warning in result.details.get("warnings", ()):
        yield "warning", warning
    checks = result.details.get("checks")
    for check in checks if are_rows(checks, _CHECK) else ():
        verdicts = f"official {grade(check['official'])}, strict {grade(check['strict'])}"
        yield f"check {check['scorer']}", f"{verdicts}: {check['reason']}"
    yield "took", f"{result.seconds * 1000:.1f} ms"


def _detail_pairs(details: Row, rule: str = "") -> Iterator[tuple[str, str]]:
    omitted = {*_SHOWN_APART, *(TABLED if is_tree(details) else ())}
    for key, value in details.items():
        if key == "strict" and not rule and isinstance(value, dict):
            yield from _detail_pairs(value, "strict: ")
        elif key not in omitted and (key, value) != ("margin", None):
            yield rule + _detail_words(key), _cut_value(_detail_value(_joined_keys(value) if key == "per_type" else value))


def _detail_words(key: str) -> str:
    return _DETAILS.get(key) or key.removeprefix("n_").replace("_", " ").replace("f1", "F1")


def _joined_keys(value: object) -> object:
    """Return {"a": {"b": 1}} as {"a b": 1}; any other value as it is."""
    if not isinstance(value, dict) or not all(isinstance(part, dict) for part in value.values()):
        return value
    return {f"{key} {name}": part for key, parts in value.items() for name, part in parts.items()}


def _detail_value(value: object) -> object:
    """Return the words of a value; one that is nested deeper than pairs or a mapping stays as it is, to be shown as JSON."""
    plain = {None: "none", True: "yes", False: "no"}
    if isinstance(value, dict) and not any(isinstance(part, dict | list) for part in value.values()):
        return " · ".join(f"{_DETAILS.get(key, key)} {_detail_value(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list) and all(isinstance(part, list) and len(part) == 2 for part in value):
        return ", ".join(f"{gold} = {submitted}" for gold, submitted in value) or "none"
    if isinstance(value, list) and not any(isinstance(part, dict | list) for part in value):
        return ", ".join(str(_detail_value(part)) for part in value)
    return f"{value:.6g}" if isinstance(value, float) else plain[value] if value is None or isinstance(value, bool) else value


def _gold_pairs(instance: "GoldInstance", result: "Result") -> Iterator[tuple[str, str]]:
    yield "gold", instance.where
    for check in instance.checks:
        parameters = ", ".join(f"{key}={_cut_value(value)}" for key, value in check.parameters.items())
        yield "check", f"{check.scorer}({parameters})"
        # A gold query that ran did not lack its connection.
        for problem in (problem for problem in check.problems if problem.code != "NEEDS_CONNECTION" or result.status != "scored"):
            yield "problem", problem.message + (f" ({problem.hint})" if problem.hint else "")
    if instance.groups:
        yield "groups", ", ".join(instance.groups)
    for key, value in instance.extra.items():
        yield key, _cut_value(value)


def _cut_value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}... ({len(text)} characters)"


def is_tree(details: Row) -> bool:
    """Return whether these are the well-formed details of a score by fields; a run may come from an untrusted source."""
    counts = details.get("n_fields"), details.get("n_records")
    if not all(type(count) is int for count in counts):
        return False
    parts: list[tuple[object, Row]] = [(details.get("fields"), FIELD_ROW), (details.get("confusions"), CONFUSION_ROW)]
    parts += [(details.get("records"), _RECORD)] if details["n_records"] > 1 else []
    parts += [(details.get("wrong") or details.get("rows") or [], _DIFFERENCE)] if details["n_records"] > N_RECORDS else []
    return all(are_rows(rows, kinds) for rows, kinds in parts)


def tree_sections(details: Row) -> Iterator[Section]:
    """Yield up to four tables of a score by fields; nothing if the details are of another kind."""
    if not is_tree(details):
        return
    fields, records, n_records = details["fields"], details.get("records") or [], int(details["n_records"])
    yield fields_section("fields, worst first", fields[:N_FIELDS], int(details["n_fields"]))
    if n_records > 1:
        worst = sorted(records, key=lambda row: 2.0 if row["f1"] is None else row["f1"])[:N_RECORDS]
        columns = [_cell_column("record", _cut_value_of("record"), role="name"), *_share_columns()]
        table = Table(columns=columns, rows=worst)
        yield Section(title="records, worst first", table=table, below=and_more(n_records - len(worst), "records"))
    if details["confusions"]:
        yield confusions_section(details["confusions"])
    # With few records the most common confusions show everything.
    wrong = (details.get("wrong") or details.get("rows") or []) if n_records > N_RECORDS else []
    first = [row for row in wrong if row["record"] == wrong[0]["record"]]
    if first:
        columns = [_cell_column("field", _path_of, role="name"), _cell_column("what", lambda row: str(row["status"]))]
        columns += [_cell_column(side, _cut_value_of(side), title=_TITLES.get(side, "")) for side in ("expected", "got")]
        table = Table(columns=columns, rows=first[:N_FIELDS])
        yield Section(title=f"record {_cut_value_of('record')(first[0])}", table=table, below=and_more(len(first) - N_FIELDS, "fields"))


def fields_section(title: str, rows: Sequence[Row], n_fields: int, how: str = "") -> Section:
    """Build the table of fields with precision, recall, F1 and the counts of their values; `n_fields` counts those not shown too."""
    counts = zip(COUNTS, ("matches", "wrong", "missing", "extra"), strict=True)
    columns = [
        _cell_column("field", _path_of, role="name"),
        *_share_columns(),
        *(_cell_column(name, _cut_value_of(name), short=short, is_number=True) for name, short in counts),
    ]
    table = Table(columns=columns, rows=rows)
    return Section(title=title, kind="field", table=table, below=and_more(n_fields - len(rows), "fields", how), is_folded=True)


def confusions_section(rows: Sequence[Row]) -> Section:
    """Build the table of the values that were most often taken for others."""

    def value(side: str, nothing: str) -> Callable[[Row], Words]:
        def words(row: Row) -> Words:
            text = row[side] if isinstance(row[side], str) else json.dumps(row[side])
            return Own("(nothing)") if row["status"] == nothing else Code(text, 60)

        return words

    columns = [
        _cell_column("field", _path_of, role="name"),
        _cell_column("n", lambda row: Own(str(row["n"])), is_number=True),
        _cell_column("expected", value("expected", "hallucination"), wraps=True),
        _cell_column("got", value("got", "omission"), title=_TITLES["got"], wraps=True),
        _cell_column("what", lambda row: Own(row["status"])),
    ]
    return Section(title="most common confusions", kind="confusion", table=Table(columns=columns, rows=rows), is_folded=True)


def _cell_column(name: str, words: Callable[[Row], Words], **how: Any) -> Column[Row]:
    return Column(name=name, words=words, **how)


def _share_columns() -> list[Column[Row]]:
    def words(name: str) -> Callable[[Row], Words]:
        return lambda row: Own("-" if row[name] is None else percent(row[name], ""))

    columns = [_cell_column(name, words(name), title=title, is_number=True) for name, title in zip(SHARES, ("P", "R", "F1"), strict=True)]
    bar = _cell_column("bar", lambda row: Own(share_bar(row["f1"] or 0.0, 10)), title=" ", forms=frozenset({"text"}))
    return [*columns, bar]


def _path_of(row: Row) -> Words:
    return Code(row["path"] or "(root)", 60)


def _cut_value_of(name: str) -> Callable[[Row], str]:
    return lambda row: cut_text(clean(str(row[name])), LONGEST_CELL)
