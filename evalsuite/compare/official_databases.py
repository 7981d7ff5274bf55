"""Whether a predicted database contains the tables of gold, under the official rules."""

from collections.abc import Mapping, Sequence

from evalsuite.compare.duckdb_fetchdf_compat import unreadable_column
from evalsuite.compare.messages import cannot_read, shorten
from evalsuite.compare.official_cells import Reference
from evalsuite.compare.official_tables import combine_scores, match_pair
from evalsuite.compare.table_diff import Comparisons
from evalsuite.compare.table_parameters import fold_name, list_problem, needs_quotes
from evalsuite.core.dataclasses import replace
from evalsuite.core.scores import Fault, Score, Table


def match_database(
    prediction: Mapping[str, Table | Fault],
    gold: Mapping[str, Table | Fault],
    *,
    tables: Sequence[str] | None = None,
    needed: Sequence[Sequence[int]] | None = None,
    ignore_orders: Sequence[bool] | None = None,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """1 if each of gold's tables (`tables`, or all) matches the predicted table of that name (case ignored), else 0.

    `needed` and `ignore_orders` are in the order of the tables; without them all columns count and rows keep their order.
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
    return combine_scores(scores)


def _match_one(
    name: str,
    predicted: Mapping[str, Table | Fault],
    expected: Mapping[str, Table | Fault],
    *,
    needed: Sequence[int],
    ignore_order: bool,
    reference: Reference,
    comparisons: Comparisons | None,
) -> Score:
    gold = expected.get(fold_name(name))
    if gold is None:
        return _open(f"gold has no table {shorten(name)}")
    if needs_quotes(name):
        return _open("the name needs quotes, which the reference does not write")
    if not isinstance(gold, Fault) and (refused := unreadable_column(gold)):
        return _open(cannot_read(refused))
    prediction = predicted.get(fold_name(name), Fault(code="MISSING_TABLE"))
    if not isinstance(prediction, Fault) and (refused := unreadable_column(prediction)):
        return Score(official=0.0, reason=cannot_read(refused))
    return match_pair(prediction, gold, needed=needed, ignore_order=ignore_order, reference=reference, comparisons=comparisons)


def _open(message: str) -> Score:
    """The score of a check that a gold fault prevents."""
    return Score(official=None, reason=message, fault=Fault(code="BAD_SPEC", detail=message))


def _by_name(tables: Mapping[str, Table | Fault]) -> dict[str, Table | Fault]:
    return {fold_name(name): table for name, table in tables.items()}
