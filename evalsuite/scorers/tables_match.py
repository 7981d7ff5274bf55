"""`tables_match`: several CSV tables, each against its own gold."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsuite.matching.database import list_problem
from evalsuite.matching.table import match_table_list
from evalsuite.registry import scorer
from evalsuite.scorers.table_match import OFFICIAL_ONLY
from evalsuite.types import Fault, Problem, Score, Table


def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """What keeps the parameters from being judged: no gold, or lists that do not have one entry a gold table."""
    gold = parameters.get("gold", ["?"])
    if not gold:
        yield Problem(code="BAD_SPEC", message="gold names no file", hint="name one gold table for each table of an answer")
        return
    message = list_problem(len(gold), parameters.get("condition_cols"), parameters.get("ignore_orders"))
    if message:
        yield Problem(code="BAD_SPEC", message=message, hint="one entry for each gold table", blocks=OFFICIAL_ONLY)


@scorer(reads="tables", validate=problems, gold_files=list[str])
def tables_match(
    prediction: Sequence[Table | Fault],
    *,
    gold: Sequence[Table | Fault],
    condition_cols: list[list[int]] | None = None,
    ignore_orders: list[bool] | None = None,
) -> Score:
    """1 where the i-th table of the answer matches the i-th gold table for all of them, in the sense of `table_match`; else 0.

    Example:
        `{"func": "tables_match", "parameters": {"gold": ["a.csv", "b.csv"], "condition_cols": [[], [0]], "ignore_orders": [true, false]}}`
    """
    message = list_problem(len(gold), condition_cols, ignore_orders) or ("" if gold else "gold names no file")
    if message:
        return Score(official=None, reason=message, fault=Fault(code="BAD_SPEC", detail=message))
    needed = condition_cols or [[] for _ in gold]
    return match_table_list(prediction, gold, needed=needed, ignore_orders=ignore_orders or [False for _ in gold])
