"""Lint of the spec's form: lines, keys, parameter names and types. Most of it is what the readers and the registry find."""

import difflib
import re
from collections.abc import Callable, Iterator

from evalsuite.readers.json_text import Obj
from evalsuite.scorers import SCORERS
from evalsuite.trust.lint.book import Book, Found, Kind, Severity, Spot
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


def broken(book: Book) -> Iterator[Found]:
    """What could not be read at all."""
    yield from book.broken


def layout(book: Book) -> Iterator[Found]:
    """How the spec is laid out, where that is not one object a line."""
    for line, text in book.notes:
        yield Found(code="odd-layout", where=f"{book.name}:{line}", instance_id="", message=text, hint="write one object a line")


def problems(spot: Spot) -> Iterator[Found]:
    """The problems of a check that its readers found, each under its own code."""
    for problem in spot.check.problems:
        if problem.code == "NEEDS_CONNECTION" and spot.is_living:
            continue
        code = next((code for code, pattern in _CODES if pattern.search(problem.message)), "bad-parameter")
        severity: Severity = "error" if problem.blocks else "warning"
        yield spot.found(code, problem.message, hint=problem.hint, severity=severity, change=_repair(code, problem, spot))


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


def checks(spot: Spot) -> Iterator[Found]:
    """A check that stands twice in its instance."""
    before = spot.instance.checks[: spot.index]
    if any(other.scorer == spot.check.scorer and other.parameters == spot.check.parameters for other in before):
        yield spot.found("repeated-check", f"the same {spot.check.scorer} check stands twice", hint="remove one")


def conj(spot: Spot) -> Iterator[Found]:
    """`conj` where there is only one gold to join, and several golds without a word on which of them are needed."""
    gold, given = spot.check.parameters.get("gold"), spot.check.parameters.get("conj")
    n = len(gold) if isinstance(gold, list) else 1
    if given == "and" and n == 1:
        yield spot.found("idle-conj", "conj joins several golds, there is one", hint="remove conj, or list every gold that is needed")
    if spot.check.scorer == "number_match" and n > 1 and given is None:
        message = f"any of the {n} numbers is enough (conj is 'or' where nothing is said)"
        yield spot.found("or-numbers", message, hint="write conj: 'and' where all are asked, 'or' where either is right")


PER_BOOK = {
    "unreadable-line": Kind("error", broken, "a line of the spec is no JSON object"),
    "bad-entry": Kind("error", broken, "an entry lacks its id, its evaluation or a scorer's name, or has one of the wrong type"),
    "unknown-scorer": Kind("error", broken, "no scorer has this name"),
    "duplicate-id": Kind("error", broken, "two entries have the same instance_id"),
    "bad-suite": Kind("error", broken, "suite.yaml cannot be read"),
    "odd-layout": Kind("note", layout, "the spec is not one object a line"),
}
PER_CHECK = {
    "unknown-parameter": Kind("error", problems, "the scorer has no such parameter: the reference fails on it"),
    "misplaced-key": Kind("warning", problems, "a key beside `parameters` that nobody reads"),
    "ignored-parameter": Kind("warning", problems, "`pred` or `result` among the parameters: nobody reads it"),
    "parameter-type": Kind("error", problems, "a parameter of the wrong type"),
    "missing-parameter": Kind("error", problems, "a parameter that the scorer needs is missing"),
    "bad-parameter": Kind("error", problems, "a parameter that its scorer cannot use"),
    "list-length": Kind("error", problems, "a list of parameters does not have one entry for each gold table"),
    "empty-gold": Kind("error", problems, "gold is empty: everything or nothing matches it"),
    "empty-exclude": Kind("error", problems, "an empty text is excluded: every answer holds it"),
    "exclude-text": Kind("warning", problems, "`exclude` is a text and no list: the reference excludes each of its letters"),
    "gold-not-number": Kind("error", problems, "a gold of number_match is no finite number"),
    "repeated-number": Kind("warning", problems, "gold names a number twice: one in the answer is enough for both"),
    "quoted-name": Kind("error", problems, "a table's name needs quotes, which the reference does not write"),
    "repeated-check": Kind("warning", checks, "an instance has the same check twice"),
    "idle-conj": Kind("warning", conj, "`conj: and` with a single gold"),
    "or-numbers": Kind("note", conj, "several numbers, and nothing says whether any or all are needed"),
}
