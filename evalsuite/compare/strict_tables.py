"""The strict verdict on the tables of a check: needed columns, alternative golds, tolerances; and why the reference refuses."""

from collections.abc import Iterable, Sequence
from typing import Any

from evalsuite.compare.columns import with_columns
from evalsuite.compare.duckdb_fetchdf_compat import are_only_integers_null
from evalsuite.compare.flip_causes import Accepts, cause_of_acceptance
from evalsuite.compare.messages import ignored_columns, kitchen_sink, ragged_line, rows_match, shorten, table_count
from evalsuite.compare.official_cells import Reference
from evalsuite.compare.official_tables import match_table, nearest_of
from evalsuite.compare.strict_columns import PLAIN_TERMS, Matching, StrictColumn, Terms, key, labels, read_columns
from evalsuite.compare.strict_matching import cause_of_refusal, explain, match_columns, most_similar, unmatched_in_bags, unmatched_in_order
from evalsuite.compare.table_diff import Comparisons
from evalsuite.compare.table_parameters import is_bare
from evalsuite.compare.verdict import Strict, TableCause
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
        return Strict(value=1.0, reason=rows_match(gold.n_rows, len(expected)), details=details)
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
    return Strict(value=1.0, reason=rows_match(n_rows, len(chosen)), details=details)


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
    officials: Sequence[Score] = (),
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Strict:
    """The strict verdict against the first gold that matches, else against the nearest; without a match, an unreadable gold leaves the
    verdict open. Where the reference refuses each gold (`officials`), a strict 1 has the cause and the reason for the gold that it matches.
    """
    verdicts: list[Strict] = []
    official = nearest_of(officials) if officials else None
    for i, gold in enumerate(golds):
        if isinstance(gold, Fault):
            verdicts.append(Strict(value=None, reason=describe(gold), fault=gold))
            continue
        columns, order, by = columns_for(needed, i), order_for(ignore_order, i), columns_for(order_by, i)
        verdict = judge_table(prediction, gold, terms, needed=columns, ignore_order=order, order_by=by, comparisons=comparisons)
        if verdict.value == 1 and official is not None and official.official == 0:
            options: dict[str, Any] = {"needed": columns, "ignore_order": order, "order_by": by, "reference": reference}
            if official.details.get("reference_fails") and not is_bare(needed):
                verdict = replace(verdict, cause="cells the reference dies of")
            else:
                cause = _cause(prediction, gold, terms, verdict, **options, comparisons=comparisons)
                verdict = replace(verdict, cause=cause or "per-gold options", refusal=officials[i].reason)
        if official is not None and official.official == 1 and official.details.get("gold", 1) == i + 1:
            verdict = _with_accepted_column(verdict, prediction, gold, terms, official, ordered=not order, comparisons=comparisons)
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
    official: Score | None = None,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Strict:
    """The strict verdict on n tables, each against its own gold: 1 if all agree, else the first that fails, then the first that cannot
    be scored. Where `official` is 0, a strict 1 has its cause.
    """
    if len(predictions) != len(golds):
        return Strict(value=0.0, reason=table_count(len(predictions), len(golds)), kind="table count")
    verdicts = list[Strict]()
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
    reason = verdicts[0].reason if len(verdicts) == 1 else f"all {len(verdicts)} tables match"
    verdict = Strict(value=1.0, reason=reason, details=verdicts[0].details)
    if official is None or official.official != 0:
        return verdict
    at = next(i for i, name in enumerate(names) if official.details.get("table", name) in (name, i + 1))
    prediction, gold = predictions[at], golds[at]
    assert isinstance(prediction, Table)
    assert isinstance(gold, Table)
    options: dict[str, Any] = {"needed": columns_for(needed, at), "ignore_order": order_for(ignore_orders, at), "reference": reference}
    cause = _cause(prediction, gold, terms, verdicts[at], **options, comparisons=comparisons)
    # Of a database the reference reads no view, and not each type.
    return replace(verdict, cause="view" if official.fault else cause or "cells the reference dies of")


def _cause(
    prediction: Table,
    gold: Table,
    terms: Terms,
    verdict: Strict,
    *,
    needed: Sequence[int],
    ignore_order: bool,
    order_by: Sequence[int] = (),
    reference: Reference,
    comparisons: Comparisons | None,
) -> TableCause | None:
    """Why the reference refuses a table that strict accepts, under the options that strict reads; None if it accepts the table."""
    seen, chosen = comparisons or Comparisons(), chosen_columns(needed, len(gold.columns))
    official = match_table(prediction, gold, needed=chosen, ignore_order=ignore_order, reference=reference, comparisons=seen)
    if official.official == 1:
        return None
    if official.details.get("reference_fails"):
        is_null = "an empty cell" in official.reason and are_only_integers_null([gold, prediction])
        return "null in an integer column" if is_null else "cells the reference dies of"

    def accepts(answer: Table, expected: Table, sorts: bool) -> bool:
        return match_table(answer, expected, ignore_order=sorts, reference=reference).official == 1

    return prove_cause(
        prediction,
        gold,
        terms,
        verdict.details["assignment"],
        accepts,
        ignore_order=ignore_order,
        order_by=order_by,
        refused=official.details["gold_column"] - 1,
        comparisons=seen,
    )


def _with_accepted_column(
    verdict: Strict, prediction: Table, gold: Table, terms: Terms, official: Score, *, ordered: bool, comparisons: Comparisons | None
) -> Strict:
    """A strict refusal whose kind is of cells that the reference called equal, if the reason compares gold's column with another one."""
    at = verdict.details.get("gold_column")
    k = dict(official.details.get("pairs", ())).get(at)
    if at is None or k is None or "n_differ" not in verdict.details or k == verdict.details["predicted_column"]:
        return verdict
    evidence = (comparisons or Comparisons()).compare(gold, prediction)
    (column,), (other,) = read_columns(evidence.gold, [at - 1], terms), read_columns(evidence.predicted, [k - 1], terms)
    unmatched = (unmatched_in_order if ordered else unmatched_in_bags)(column, other, evidence)
    return replace(verdict, kind=cause_of_refusal(unmatched.first, most_similar(unmatched.first, unmatched.partners)))


def prove_cause(
    prediction: Table,
    gold: Table,
    terms: Terms,
    assignment: Sequence[Sequence[int]],
    accepts: Accepts,
    *,
    ignore_order: bool,
    order_by: Sequence[int] = (),
    refused: int | None = None,
    comparisons: Comparisons | None = None,
) -> TableCause:
    """`cause_of_acceptance` for the columns that strict pairs (from 1)."""
    evidence = (comparisons or Comparisons()).compare(gold, prediction)
    expected = read_columns(evidence.gold, [i - 1 for i, _ in assignment], terms)
    predicted = read_columns(evidence.predicted, [k - 1 for _, k in assignment], terms)
    pairs, ties = list(zip(expected, predicted, strict=True)), None if ignore_order else ties_of(gold, order_by)
    return cause_of_acceptance(pairs, evidence, accepts, ignore_order=ignore_order, ties=ties, refused=refused)


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
