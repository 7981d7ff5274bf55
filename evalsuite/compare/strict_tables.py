"""The strict verdict on the tables of a check: needed columns, alternative golds, tolerances; and its join with the official verdict."""

from collections.abc import Iterable, Sequence
from typing import Any

from evalsuite.compare.columns import with_columns
from evalsuite.compare.messages import ignored_columns, kitchen_sink, ragged_line, rows_match, shorten, table_count
from evalsuite.compare.strict_columns import PLAIN_TERMS, Matching, StrictColumn, Terms, key, labels, read_columns
from evalsuite.compare.strict_matching import cause_of_acceptance, explain, match_columns
from evalsuite.compare.table_diff import Comparisons
from evalsuite.compare.table_parameters import is_bare
from evalsuite.compare.verdict import Strict, join
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import describe
from evalsuite.core.scores import Fault, Score, Table


def judge_table(
    prediction: Table,
    gold: Table,
    terms: Terms = PLAIN_TERMS,
    *,
    needed: Sequence[int] = (),
    ignore_order: bool = False,
    order_by: Sequence[int] = (),
    comparisons: Comparisons | None = None,
) -> Strict:
    """The strict verdict on one table against one gold table; columns that gold does not have are left out with a warning.

    If order counts, rows that are equal in the gold columns `order_by` may still change places.
    """
    if (refused := _ragged_line_fault(prediction, gold)) is not None:
        return refused
    chosen = chosen_columns(needed, len(gold.columns))
    gold_labels, predicted_labels = labels_of(gold, prediction, terms)
    seen, are_as_long = comparisons or Comparisons(), gold.n_rows == prediction.n_rows
    same = seen.identical(gold, prediction, chosen) if are_as_long else None
    if same is not None and _labels_agree(gold_labels, predicted_labels, zip(chosen, same, strict=True)):
        return _kitchen_sink(gold, prediction, zip(chosen, same, strict=True)) or _agreement(gold, needed, gold.n_rows, chosen, same)
    evidence = seen.compare(gold, prediction) if are_as_long else None
    tables = (evidence.gold, evidence.predicted) if evidence is not None else (gold, prediction)
    expected = read_columns(tables[0], chosen, terms, labelled=gold_labels)
    predicted = read_columns(tables[1], range(len(prediction.columns)), terms, labelled=predicted_labels)
    ties = None if ignore_order else ties_of(gold, order_by)
    n_gold, n_predicted = gold.n_rows, prediction.n_rows
    matching = match_columns(
        expected, predicted, n_gold=n_gold, n_predicted=n_predicted, ordered=not ignore_order, ties=ties, evidence=evidence
    )
    details = _details(matching, expected, predicted, needed, gold)
    if ties is None and order_by and not ignore_order:
        details["warning"] = ignored_columns("order_by", order_by)
    if matching.is_equal:
        sink = _kitchen_sink(gold, prediction, zip(chosen, (k for k in matching.assignment if k is not None), strict=True))
        if sink is not None:
            return sink
        reason = rows_match(gold.n_rows, len(expected))
        assert evidence is not None
        cause = cause_of_acceptance(matching, expected, predicted, evidence, ordered=not ignore_order)
        return Strict(value=1.0, reason=reason, cause=cause, details=details)
    refusal = explain(matching, expected, predicted, evidence, n_gold=n_gold, n_predicted=n_predicted, ordered=not ignore_order)
    return replace(refusal, details={**details, **refusal.details})


def _labels_agree(gold: Sequence[str | None], predicted: Sequence[str | None], pairs: Iterable[tuple[int, int]]) -> bool:
    return all(None in (gold[i], predicted[k]) or gold[i] == predicted[k] for i, k in pairs)


def _ragged_line_fault(prediction: Table, gold: Table) -> Strict | None:
    """The fault of a CSV table in which a line has more fields than the header."""
    if gold.ragged_line is not None:
        detail = f"gold file {gold.name}: {ragged_line(gold.ragged_line)}"
        return Strict(value=None, reason=detail, fault=Fault(code="BAD_GOLD_FILE", detail=detail))
    if prediction.ragged_line is not None:
        detail = f"ragged rows: {ragged_line(prediction.ragged_line)}"
        return Strict(value=0.0, reason=detail, kind="ragged rows", fault=Fault(code="BAD_CSV", detail=detail))
    return None


def labels_of(gold: Table, prediction: Table, terms: Terms) -> tuple[list[str | None], list[str | None]]:
    """The labels of the columns of both sides."""
    if not terms.heeds_labels:
        return [None] * len(gold.header), [None] * len(prediction.header)
    return labels(gold.header, prediction.header), labels(prediction.header, gold.header)


def ties_of(gold: Table, order_by: Sequence[int]) -> list[int] | None:
    """A number for each row, equal for rows that are equal in these columns; None if gold lacks one of them, and then the full order
    counts.
    """
    if not order_by or not all(0 <= index < len(gold.columns) for index in order_by):
        return None
    columns = [column.cells for column in read_columns(with_columns(gold), order_by)]
    names: dict[Any, int] = {}
    return [names.setdefault(tuple(map(key, row)), len(names)) for row in zip(*columns, strict=True)]


def _agreement(gold: Table, needed: Sequence[int], n_rows: int, chosen: Sequence[int], partners: Sequence[int]) -> Strict:
    """The strict score 1 of columns with identical values."""
    pairs = [[i + 1, k + 1] for i, k in zip(chosen, partners, strict=True)]
    details = {"n_found": len(chosen), "n_needed": len(chosen), "assignment": pairs, **_warning(needed, gold)}
    return Strict(value=1.0, reason=rows_match(n_rows, len(chosen)), cause="dtype of other columns", details=details)


def _kitchen_sink(gold: Table, prediction: Table, pairs: Iterable[tuple[int, int]]) -> Strict | None:
    """The strict score 0 of a table with far more columns than gold, if a gold column is found only by its values.

    Among very many candidate columns one agrees by chance; a header or the place of the column shows that it was meant. None for a table of
    at most 2 x gold's columns + 10, and if every matched column has gold's header or its place.
    """
    n_gold, n_columns = len(gold.header), len(prediction.header)
    if n_columns <= 2 * n_gold + 10:
        return None
    for i, k in pairs:
        if k != i and prediction.header[k].casefold() != gold.header[i].casefold():
            reason = kitchen_sink(n_columns, n_gold, i)
            return Strict(value=0.0, reason=reason, kind="kitchen sink", details={"n_columns": n_columns, "gold_column": i + 1})
    return None


def judge_any(
    prediction: Table,
    golds: Sequence[Table | Fault],
    terms: Terms,
    *,
    needed: Any,
    ignore_order: bool | Sequence[bool],
    order_by: Any = (),
    comparisons: Comparisons | None = None,
) -> Strict:
    """The strict verdict against the first gold that matches, else against the nearest; without a match, an unreadable gold leaves the
    verdict open.
    """
    verdicts: list[Strict] = []
    for i, gold in enumerate(golds):
        if isinstance(gold, Fault):
            verdicts.append(Strict(value=None, reason=describe(gold), fault=gold))
            continue
        columns, order, by = columns_for(needed, i), order_for(ignore_order, i), columns_for(order_by, i)
        verdict = judge_table(prediction, gold, terms, needed=columns, ignore_order=order, order_by=by, comparisons=comparisons)
        if len(golds) > 1:
            reason = f"gold {i + 1} of {len(golds)} {shorten(gold.name)}: {verdict.reason}"
            verdict = replace(verdict, reason=reason, details={**verdict.details, "gold": i + 1})
        verdicts.append(verdict)
        if verdicts[-1].value == 1:
            return verdicts[-1]
    unjudged = next((verdict for verdict in verdicts if verdict.value is None), None)
    return unjudged or max(verdicts, key=lambda verdict: verdict.details.get("n_found", -1))


def judge_each(
    predictions: Sequence[Table | Fault],
    golds: Sequence[Table | Fault],
    terms: Terms,
    *,
    names: Sequence[str],
    needed: Any,
    ignore_orders: Any,
    comparisons: Comparisons | None = None,
) -> Strict:
    """The strict verdict on n tables, each against its own gold: 1 if all agree, else the first that fails, then the first that cannot
    be scored.
    """
    if len(predictions) != len(golds):
        return Strict(value=0.0, reason=table_count(len(predictions), len(golds)), kind="table count")
    verdicts = []
    for i, (prediction, gold) in enumerate(zip(predictions, golds, strict=True)):
        if isinstance(gold, Fault):
            verdict = Strict(value=None, reason=describe(gold), fault=gold)
        elif isinstance(prediction, Fault):
            verdict = Strict(value=0.0, reason=describe(prediction), kind="missing table", fault=prediction)
        else:
            columns, order = columns_for(needed, i), order_for(ignore_orders, i)
            verdict = judge_table(prediction, gold, terms, needed=columns, ignore_order=order, comparisons=comparisons)
        prefix = f"table {names[i]!r}: " if len(golds) > 1 or isinstance(prediction, Fault) else ""
        verdicts.append(replace(verdict, reason=prefix + verdict.reason, details={**verdict.details, "table": names[i]}))
        if verdict.value == 0:
            return verdicts[-1]
    unjudged = next((verdict for verdict in verdicts if verdict.value is None), None)
    if unjudged is not None:
        return unjudged
    cause = next((verdict.cause for verdict in verdicts if verdict.cause != "dtype of other columns"), verdicts[0].cause)
    reason = verdicts[0].reason if len(verdicts) == 1 else f"all {len(verdicts)} tables match"
    return Strict(value=1.0, reason=reason, cause=cause, details=verdicts[0].details)


def join_verdicts(official: Score, strict: Strict, *, own_options: bool = False) -> Score:
    """Both verdicts on tables as one score; `own_options` means that strict read the check's options for each gold separately."""
    if official.details.get("reference_fails"):
        is_null = "an empty cell" in official.reason
        return join(official, strict, up="null in an integer column" if is_null else "cells the reference dies of")
    return join(official, strict, up="per-gold options" if own_options else None)


def columns_for(needed: Any, index: int) -> list[int]:
    """The needed columns of gold `index`: a number or flat list applies to each gold, null and [] mean all, a missing list means all."""
    if is_bare(needed):
        return [needed]
    if not needed:
        return []
    if all(isinstance(item, int) and not isinstance(item, bool) for item in needed):
        return list(needed)
    lists = [item for item in needed if item is None or isinstance(item, list | tuple)]
    return [item for item in (lists[index] if index < len(lists) else None) or () if isinstance(item, int)]


def order_for(ignore_order: Any, index: int) -> bool:
    """Whether gold `index` ignores the order of rows: a list has one entry per gold, and for golds beyond its end the order counts."""
    if isinstance(ignore_order, list | tuple):
        return bool(ignore_order[index]) if index < len(ignore_order) else False
    return bool(ignore_order)


def chosen_columns(needed: Sequence[int], n_columns: int) -> list[int]:
    """Positions from 0 without those that gold does not have; all if none is left."""
    indexes = list(dict.fromkeys(index % n_columns for index in needed if -n_columns <= index < n_columns)) if n_columns else []
    return indexes or list(range(n_columns))


def _details(
    matching: Matching, gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn], needed: Sequence[int], table: Table
) -> dict[str, Any]:
    pairs = [[gold[i].position + 1, predicted[k].position + 1] for i, k in enumerate(matching.assignment) if k is not None]
    details: dict[str, Any] = {"n_found": sum(bool(c) for c in matching.candidates), "n_needed": len(gold), "assignment": pairs}
    return details | _warning(needed, table)


def _warning(needed: Sequence[int], gold: Table) -> dict[str, str]:
    outside = [index for index in needed if not -len(gold.header) <= index < len(gold.header)]
    return {"warning": ignored_columns("condition_cols", outside)} if outside else {}
