"""Both verdicts on two streamed tables, or None where only the exact rules can say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evalsuite.tables.flip_causes import cause_of_refusal, kind_of_form
from evalsuite.tables.official_cells import ABS_TOL
from evalsuite.tables.ordered import Compared, compare_in_order, first_rows, is_safe, ruled_out
from evalsuite.tables.packed import OddError, pack
from evalsuite.tables.pairs import Difference, Pair
from evalsuite.tables.reasons import nearest_column
from evalsuite.tables.strict_cells import equal, read_text, show
from evalsuite.tables.strict_columns import read_columns
from evalsuite.tables.unordered import Bagged, compare_bags, join_rows
from evalsuite.tables.wording import LONGEST_FLOAT, RANKED_CELLS, all_found, count, shorten, shown
from evalsuite.texts.numbers import Tolerance
from evalsuite.texts.verdict import Strict, TableCause
from evalsuite.types import Score, Table


def official_verdict(prediction: Table, gold: Table, chosen: Sequence[int], *, ignore_order: bool, empty_is_zero: bool) -> Score | None:
    """The official score, None where it is left open."""
    found = _known(prediction, gold, chosen, [Tolerance() for _ in chosen], ignore_order, any_tolerance=True)
    if isinstance(found, Bagged):
        return _official_bags(found, gold, prediction)
    return _official_in_order(found, gold, prediction, empty_is_zero) if found is not None else None


def strict_verdict(
    prediction: Table, gold: Table, chosen: Sequence[int], tolerances: Sequence[Tolerance], *, ignore_order: bool
) -> tuple[Strict, list[tuple[int, int]]] | None:
    """The strict verdict with the pairs of columns it rests on (positions), None where it is left open."""
    found = _known(prediction, gold, chosen, tolerances, ignore_order, any_tolerance=False)
    if found is None:
        return None
    if isinstance(found, Bagged):
        return _strict_bags(found)
    return _strict_in_order(found, gold, prediction)


def _known(
    prediction: Table,
    gold: Table,
    chosen: Sequence[int],
    tolerances: Sequence[Tolerance],
    ignore_order: bool,
    *,
    any_tolerance: bool,
) -> Compared | Bagged | None:
    """What a reading of both tables tells; kept with the prediction, so that both verdicts come from one."""
    kept = pack(prediction).compared
    name = pack(gold), tuple(chosen), ignore_order
    if name not in kept or not (any_tolerance or kept[name][0] == list(tolerances)):
        try:
            found: Compared | Bagged | None = None
            if len(set(chosen)) == len(chosen) and chosen:
                found = _read(prediction, gold, chosen, tolerances, ignore_order)
        except OddError:
            found = None
        kept[name] = (list(tolerances), found)
    known: Compared | Bagged | None = kept[name][1]
    return known


def _read(
    prediction: Table, gold: Table, chosen: Sequence[int], tolerances: Sequence[Tolerance], ignore_order: bool
) -> Compared | Bagged | None:
    if not ignore_order:
        return compare_in_order(gold, prediction, chosen, tolerances)
    found = compare_bags(gold, prediction, chosen)
    if found is not None and found.gold.n_rows == found.predicted.n_rows and found.unlike:
        found.join = join_rows(gold, prediction, found, tolerances)
    return found


def _row_count(n_gold: int, n_predicted: int) -> tuple[str, dict[str, Any]]:
    return f"{count(n_predicted, 'row')} handed in, gold has {n_gold}", {"n_rows": n_predicted, "n_gold_rows": n_gold}


def _official_in_order(found: Compared, gold: Table, prediction: Table, empty_is_zero: bool) -> Score | None:
    if found.n_gold != found.n_predicted:
        reason, details = _row_count(found.n_gold, found.n_predicted)
        return Score(official=0.0, reason=reason, details=details)
    if not found.pairs or not is_safe(found):
        return None
    if empty_is_zero and any(pair.written for pair in found.pairs):
        return None
    fits = [pair.official_fits for pair in found.pairs]
    if all(fits):
        return all_found(found.n_gold, [(pair.gold + 1, pair.predicted + 1) for pair in found.pairs])
    for pair, fit in zip(found.pairs, fits, strict=True):
        if fit is False and ruled_out(found, pair)[0]:
            return _official_refusal(pair, gold, prediction, found.n_gold, fits)
    return None


def _official_refusal(pair: Pair, gold: Table, prediction: Table, n_rows: int, fits: Sequence[bool | None]) -> Score:
    seen = pair.official or pair.written
    assert seen is not None
    reason = (
        f"gold column {pair.gold + 1} {shorten(gold.header[pair.gold])} has no equal: a near one is predicted column {pair.predicted + 1} "
        f"{shorten(prediction.header[pair.predicted])}, which differs at row {seen.row + 1}: {shown(seen.gold)} vs {shown(seen.predicted)}"
    )
    details = {
        "n_found": sum(map(bool, fits)),
        "n_needed": len(fits),
        "gold_column": pair.gold + 1,
        "n_rows": n_rows,
        "predicted_column": pair.predicted + 1,
        "first_row": seen.row + 1,
    }
    return Score(official=0.0, reason=reason, details=details)


def _strict_in_order(found: Compared, gold: Table, prediction: Table) -> tuple[Strict, list[tuple[int, int]]] | None:
    if found.n_gold != found.n_predicted:
        reason, details = _row_count(found.n_gold, found.n_predicted)
        return Strict(value=0.0, reason=reason, kind="row count", details=details), []
    if not found.pairs:
        return None
    refused = [pair for pair in found.pairs if pair.strict is not None]
    if not refused:
        return _strict_acceptance(found.n_gold, [(pair.gold, pair.predicted) for pair in found.pairs], _cause(found.pairs))
    if not all(ruled_out(found, pair)[1] for pair in refused):
        return None
    refusal = _strict_refusal(found, refused[0], gold, prediction)
    return (refusal, []) if refusal is not None else None


def _strict_acceptance(n_rows: int, pairs: list[tuple[int, int]], cause: TableCause) -> tuple[Strict, list[tuple[int, int]]]:
    details = {"n_found": len(pairs), "n_needed": len(pairs), "assignment": [[i + 1, k + 1] for i, k in pairs]}
    reason = f"{count(n_rows, 'row')} {'agrees' if n_rows == 1 else 'agree'} in {count(len(pairs), 'needed column')}"
    return Strict(value=1.0, reason=reason, cause=cause, details=details), pairs


def _cause(pairs: Sequence[Pair]) -> TableCause:
    """What the reference may have stumbled on: the first cells that are equal and not written alike."""
    for pair in pairs:
        if (seen := pair.written) is not None:
            cells = read_text(seen.gold), read_text(seen.predicted)
            return kind_of_form(*cells, (seen.gold, seen.predicted), ordered=True, own_tolerance=pair.tolerance.own)
    return "dtype of other columns"


def _strict_refusal(found: Compared, pair: Pair, gold_side: Table, predicted_side: Table) -> Strict | None:
    """The strict 0 of a column without its equal; what is wrong is told by the column it is nearest to, among as many rows as the
    exact rules look at. None where these rows do not show what is wrong with that one."""
    n = max(1, RANKED_CELLS // len(predicted_side.header))
    gold, predicted = first_rows(gold_side, n), first_rows(predicted_side, n)
    column = read_columns(gold, [pair.gold])[0]
    # Read by its own tolerance where the check sets one.
    column = replace(column, tolerance=pair.tolerance)
    nearest, _ = nearest_column(column, read_columns(predicted, range(len(predicted.header))), ordered=True)
    seen = pair.strict if nearest.position == pair.predicted else _first_unequal(gold, predicted, pair, nearest.position)
    if seen is None:
        return None
    expected, handed_in = read_text(seen.gold), read_text(seen.predicted)
    cells = f"{shorten(show(expected))} vs {shorten(show(handed_in))}"
    reason = (
        f"gold column {pair.gold + 1} {shorten(gold.header[pair.gold])} has no equal: a near one is predicted column "
        f"{nearest.position + 1} {shorten(nearest.name)}, which differs at row {seen.row + 1}: {cells}"
    )
    details = {
        "n_found": sum(other.strict is None for other in found.pairs),
        "n_needed": len(found.pairs),
        "gold_column": pair.gold + 1,
        "predicted_column": nearest.position + 1,
        "first_row": seen.row + 1,
        "gold_cell": show(expected),
        "predicted_cell": show(handed_in),
    }
    return Strict(value=0.0, reason=reason, kind=cause_of_refusal(expected, handed_in), details=details)


def _first_unequal(gold: Table, predicted: Table, pair: Pair, k: int) -> Difference | None:
    for row, (a, b) in enumerate(zip(gold.columns[pair.gold], predicted.columns[k], strict=False)):
        if not equal(read_text(a), read_text(b), pair.tolerance):
            return Difference(row, a, b)
    return None


def _official_bags(found: Bagged, gold: Table, prediction: Table) -> Score | None:
    if found.gold.n_rows != found.predicted.n_rows:
        reason, details = _row_count(found.gold.n_rows, found.predicted.n_rows)
        return Score(official=0.0, reason=reason, details=details)
    if max(found.gold.longest, found.predicted.longest) > LONGEST_FLOAT or found.gold.has_wide or found.predicted.has_wide:
        return None
    # Beside a column of text no column of numbers changes its kind; where all columns are in the game, both sides change alike.
    settled = (
        any(i in found.gold.text for i in found.chosen)
        or len(found.chosen) == len(gold.header) == len(prediction.header)
        or all(i in found.gold.kept for i in found.chosen)
    )
    if not found.unlike:
        pairs = [(i + 1, k + 1) for i, k in zip(found.chosen, found.partners, strict=True)]
        return all_found(found.gold.n_rows, pairs) if settled else None
    if found.join is None or found.join.refused is None:
        return None
    i, k = found.join.refused
    reason = (
        f"gold column {i + 1} {shorten(gold.header[i])} has no equal: a near one is predicted column {k + 1} "
        f"{shorten(prediction.header[k])}, whose numbers cannot be paired within {ABS_TOL:g}"
    )
    n_found = len(found.chosen) - len(found.unlike)
    details = {"n_found": n_found, "n_needed": len(found.chosen), "gold_column": i + 1, "n_rows": found.gold.n_rows}
    return Score(official=0.0, reason=reason, details={**details, "predicted_column": k + 1})


def _strict_bags(found: Bagged) -> tuple[Strict, list[tuple[int, int]]] | None:
    if found.gold.n_rows != found.predicted.n_rows:
        reason, details = _row_count(found.gold.n_rows, found.predicted.n_rows)
        return Strict(value=0.0, reason=reason, kind="row count", details=details), []
    pairs = list(zip(found.chosen, found.partners, strict=True))
    if not found.unlike:
        # The rows alike as bags: no tolerance is needed. Else only the exact rules can tell what a tolerance still pairs.
        return _strict_acceptance(found.gold.n_rows, pairs, "row pairing") if found.gold.rows == found.predicted.rows else None
    if found.join is None or not found.join.agrees:
        return None
    return _strict_acceptance(found.gold.n_rows, pairs, "own tolerance" if found.join.is_far else "row pairing")
