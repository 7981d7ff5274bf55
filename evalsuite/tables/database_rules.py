"""Whether a predicted database holds gold's tables, under the official rules."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from evalsuite.tables.digested import AnyTable
from evalsuite.tables.evidence import Comparisons
from evalsuite.tables.fetched import unsupported_type
from evalsuite.tables.official_cells import Reference
from evalsuite.tables.official_tables import all_of, match_pair
from evalsuite.tables.wording import count, shorten
from evalsuite.types import Fault, Score

# "Not ASCII" rather than a range of all planes, which takes `re` milliseconds to compile.
_PLAIN_NAME = re.compile(r"([A-Za-z_]|[^\0-\x7f])([A-Za-z0-9_$]|[^\0-\x7f])*")
_RESERVED_WORDS = """
    all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check collate collation
    column concurrently constraint create cross default deferrable desc describe distinct do else end except false fetch for foreign
    freeze from full glob group having ilike in initially inner intersect into is isnull join lambda lateral leading left like limit
    natural not notnull null offset on only or order outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify
    references returning right select semi show similar some summarize symmetric table tablesample then to trailing true union unique
    unpack unpivot using variadic verbose when where window with
"""
_RESERVED: Final = frozenset(_RESERVED_WORDS.split())


def match_database(
    prediction: Mapping[str, AnyTable | Fault],
    gold: Mapping[str, AnyTable | Fault],
    *,
    tables: Sequence[str] | None = None,
    needed: Sequence[Sequence[int]] | None = None,
    ignore_orders: Sequence[bool] | None = None,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """1 where each of gold's tables (`tables`, or all) matches the predicted table of that name without case, else 0.

    `needed` and `ignore_orders` go with the tables in their order; without them all columns count and rows keep their order.
    """
    names = list(gold) if tables is None else list(tables)
    problem = list_problem(len(names), needed, ignore_orders)
    if problem or not names:
        return _open(problem or "gold has no table to compare")
    predicted, expected = _by_name(prediction), _by_name(gold)
    scores = []
    for index, name in enumerate(names):
        columns, ignore_order = needed[index] if needed else (), bool(ignore_orders and ignore_orders[index])
        score = _match_one(
            name, predicted, expected, needed=columns, ignore_order=ignore_order, reference=reference, comparisons=comparisons
        )
        reason = f"table {shorten(name)}: {score.reason}"
        scores.append(replace(score, reason=reason, details={**score.details, "table": name}))
    return all_of(scores)


def list_problem(n_tables: int, needed: Sequence[Any] | None, ignore_orders: Sequence[Any] | None) -> str:
    """A sentence where a list of parameters does not have one entry a table, else ""."""
    for key, values in (("condition_cols", needed), ("ignore_orders", ignore_orders)):
        if values and len(values) != n_tables:
            return f"{key} has {count(len(values), 'entry').replace('entrys', 'entries')} for {count(n_tables, 'table')}"
    return ""


def needs_quotes(name: str) -> bool:
    """Whether `SELECT * FROM name`, which the reference writes without quotes, is a syntax error."""
    plain = _PLAIN_NAME.fullmatch(name) is not None and not any(character.isspace() for character in name)
    return not plain or name.lower() in _RESERVED


def _match_one(
    name: str,
    predicted: Mapping[str, AnyTable | Fault],
    expected: Mapping[str, AnyTable | Fault],
    *,
    needed: Sequence[int],
    ignore_order: bool,
    reference: Reference,
    comparisons: Comparisons | None,
) -> Score:
    gold = expected.get(name.lower())
    if gold is None:
        return _open(f"gold has no table {shorten(name)}")
    if needs_quotes(name):
        return _open("the name needs quotes, which the reference does not write")
    if not isinstance(gold, Fault) and (refused := unsupported_type(gold)):
        return _open(f"the reference cannot read a column of type {refused}")
    prediction = predicted.get(name.lower(), Fault(code="MISSING_TABLE"))
    if not isinstance(prediction, Fault) and (refused := unsupported_type(prediction)):
        return Score(official=0.0, reason=f"the reference cannot read a column of type {refused}")
    return match_pair(prediction, gold, needed=needed, ignore_order=ignore_order, reference=reference, comparisons=comparisons)


def _open(message: str) -> Score:
    """The score of a check that gold itself keeps from being judged."""
    return Score(official=None, reason=message, fault=Fault(code="BAD_SPEC", detail=message))


def _by_name(tables: Mapping[str, AnyTable | Fault]) -> dict[str, AnyTable | Fault]:
    return {name.lower(): table for name, table in tables.items()}
