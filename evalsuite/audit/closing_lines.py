"""The line of a spec that closes a hole: candidates for each kind of hole, of which only one that was tried and does close it is told."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evalsuite.types import Rule

Taken = Mapping[Rule, bool | None]
Score = Callable[[Any, Mapping[str, Any]], Taken]
STRICT: Final = "--rules strict"
NOISE: Final = "jitter inside tolerance"
MOST_ORDERS: Final = 12
_TOLERANCES: Final = {"rel_tol", "abs_tol", "precision"}
# The parameters that may close each kind of hole; kinds of numbers that are not here: the tolerances.
_OF_WRONG: Final = {
    "rows scrambled": ("order",), "wrong order": ("order",), "row dropped": ("columns",), "row doubled": ("columns",),
    "value lost": ("columns",), "labels exchanged": ("labels",), "NULL to 0": (), "times 100": ("percentage", "tolerance"),
    "all candidates listed": ("conj", "percentage"), "another answer": ("conj",), "part missing": ("conj",), "negated text": ("exclude",),
    "inside a word": (), "leaf dropped": ("schema",), "element doubled": ("schema",), "one leaf": ("schema",), "one letter": ("schema",),
    "inverted": ("schema",),
}  # fmt: skip
_OF_RIGHT: Final = {
    "rows reordered": ("order",), "ties the other way": ("ties", "order"), "headers renamed": ("labels",),
    NOISE: ("tolerance",),
}  # fmt: skip
# What makes a schema take more than gold's own value.
_LENIENT: Final = ("x-eval-threshold", "x-eval-skip", "x-eval-optional", "x-eval-transform", "x-eval-ignore")
_SLACK: Final = ("tolerance", "rel", "abs", "days", "seconds")
# What official rules do not read.
_STRICT_ONLY: Final = {"rel_tol", "abs_tol", "labels", "order_by"}


@dataclass(frozen=True, slots=True)
class Hole:
    """An answer, as a scorer reads it, about which a check is wrong: `right` is whether it should be taken, `taken` what the rules say."""

    kind: str
    made: Any
    right: bool
    taken: Taken


def closing_line(
    hole: Hole,
    rule: Rule,
    parameters: Mapping[str, Any],
    known: Mapping[str, Any],
    stay: Sequence[tuple[str, Any]],
    score: Callable[..., Taken],
) -> str:
    """The first line under which the answer is judged as it should be and those of `stay`, gold itself among them, are taken; "" for none.

    `stay` are (kind, form); noise inside the usual tolerance need not stay where the tolerance itself is what is mended.
    `parameters` are the check's with gold read, `known` the names that its scorer has, `score` says what a form gets under parameters.
    """
    names = _OF_RIGHT.get(hole.kind, ()) if hole.right else _OF_WRONG.get(hole.kind, ("tolerance", "schema"))
    for changed in (changed for name in names for changed in _CANDIDATES[name](parameters, hole)):
        if not all(name in known and not (rule == "official" and name in _STRICT_ONLY) for name in changed):
            continue
        if all(parameters.get(name) == value for name, value in changed.items()):
            continue
        patched = {**parameters, **changed}
        if score(hole.made, patched)[rule] is hole.right and all(
            score(form, patched)[rule] for kind, form in stay if not (kind == NOISE and changed.keys() & _TOLERANCES)
        ):
            return ", ".join(f"{name}: {json.dumps(value)}" for name, value in changed.items())
    return STRICT if rule == "official" and hole.taken["strict"] is hole.right else ""


Candidates = Iterator[dict[str, Any]]


def _order(parameters: Mapping[str, Any], hole: Hole) -> Candidates:
    gold = parameters.get("gold")
    yield {"ignore_order": hole.right}
    yield {"ignore_orders": [hole.right] * (len(gold) if isinstance(gold, list | tuple | dict) else 1)}


def _ties(_: Mapping[str, Any], hole: Hole) -> Candidates:
    yield from ({"order_by": [k]} for k in range(min(MOST_ORDERS, len(getattr(hole.made, "header", ())))))


def _tolerance(_: Mapping[str, Any], hole: Hole) -> Candidates:
    if not hole.right:
        yield {"rel_tol": None, "abs_tol": None}
    for tolerance in (1e-4, 1e-3) if hole.right else (1e-6, 0.0):
        yield {"rel_tol": tolerance, "abs_tol": 0.01 if hole.right else 0.0}
    for places in (3, 2) if hole.right else (4, 6, 8):
        yield {"precision": places}


def _exclude(parameters: Mapping[str, Any], _: Hole) -> Candidates:
    given = parameters.get("exclude") or ()
    yield {"exclude": [*([given] if isinstance(given, str) else given), "not"]}


def _schema(parameters: Mapping[str, Any], _: Hole) -> Candidates:
    """The schema without what makes it lenient; then each leaf as it is written too."""
    schema = parameters.get("schema")
    if isinstance(schema, dict):
        for exact in (False, True):
            yield {"schema": _severe(schema, exact=exact)}


def _severe(schema: Any, *, exact: bool) -> Any:
    if not isinstance(schema, dict):
        return [_severe(one, exact=exact) for one in schema] if isinstance(schema, list) else schema
    kept = {key: _severe(value, exact=exact) for key, value in schema.items() if key not in _LENIENT}
    compare = kept.get("x-eval-compare")
    if compare is not None and exact:
        kept["x-eval-compare"] = "exact"
    elif isinstance(compare, dict):
        kept["x-eval-compare"] = {name: _without_slack(options) for name, options in compare.items()}
    return kept


def _without_slack(options: Any) -> Any:
    return {key: value for key, value in options.items() if key not in _SLACK} if isinstance(options, dict) else options


_CANDIDATES: Final[dict[str, Callable[[Mapping[str, Any], Hole], Candidates]]] = {
    "order": _order,
    "ties": _ties,
    "tolerance": _tolerance,
    "exclude": _exclude,
    "columns": lambda *_: iter([{"condition_cols": []}]),
    "labels": lambda _, hole: iter([{"labels": "ignore" if hole.right else "judge"}]),
    "conj": lambda *_: iter([{"conj": "and"}]),
    "schema": _schema,
    "percentage": lambda *_: iter([{"percentage": False}]),
}
