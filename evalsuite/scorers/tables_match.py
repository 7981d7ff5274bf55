"""`tables_match`: several CSV tables, each against its own gold."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsuite.matching.database import list_problem
from evalsuite.matching.equality import Reference
from evalsuite.matching.strict_columns import Labels, Terms
from evalsuite.matching.table import match_table_list
from evalsuite.matching.table_judge import join_verdicts, judge_each
from evalsuite.matching.wording import with_delimiter
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
    abs_tol: float | dict[str, float] | None = None,
    rel_tol: float | dict[str, float] | None = None,
    percentage: bool = False,
    labels: Labels = "judge",
    reference: Reference = "original",
) -> Score:
    """1 where the i-th table of the answer matches the i-th gold table for all of them, else 0.

    Official and strict: each pair as in `table_match`, under the same rule.

    Args:
        prediction: the CSV files handed in, in gold's order.
        gold: the gold CSV files.
        condition_cols: for each gold the columns that count, from 0; [] means all.
        ignore_orders: for each gold whether rows may stand in any order.
        abs_tol: strict only, how far a number may be from gold, integers too: one value, or per gold column by header or position.
        rel_tol: strict only, the same as a share of gold.
        percentage: strict only, whether a cell like `12.5%` may be 0.125 or 12.5, one of them for a whole column.
        labels: strict only, `ignore` where columns may bear each other's headers.
        reference: official only, whose rules these are, as in `table_match`.

    Example:
        `{"func": "tables_match", "parameters": {"gold": ["a.csv", "b.csv"], "condition_cols": [[], [0]], "ignore_orders": [true, false]}}`
    """
    names = [item.name if isinstance(item, Table) else f"gold {i}" for i, item in enumerate(gold, start=1)]
    terms = Terms(abs_tol=abs_tol, rel_tol=rel_tol, percentage=percentage, heeds_labels=labels != "ignore")
    strict = judge_each(prediction, gold, terms, names=names, needed=condition_cols, ignore_orders=ignore_orders)
    message = list_problem(len(gold), condition_cols, ignore_orders) or ("" if gold else "gold names no file")
    if message:
        return join_verdicts(Score(official=None, reason=message, fault=Fault(code="BAD_SPEC", detail=message)), strict)
    needed = condition_cols or [[] for _ in gold]
    orders = ignore_orders or [False for _ in gold]
    official = match_table_list(prediction, gold, needed=needed, ignore_orders=orders, reference=reference)
    return with_delimiter(join_verdicts(official, strict), prediction)
