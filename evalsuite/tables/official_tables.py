"""Whether a predicted table holds the needed columns of a gold table, under the official rules.

Each needed gold column must equal some predicted column; headers, further columns and the association of cells to rows are not looked
at (Spider2 `eval_utils.compare_pandas_table`). The reference compares every pair of columns anew; here each column is typed and sorted
at most once, and columns whose text is equal are accepted as they stand.
"""

from collections.abc import Sequence

from evalsuite.errors import describe
from evalsuite.tables.digested import AnyTable, agreed, exact_table
from evalsuite.tables.evidence import Comparisons
from evalsuite.tables.official_cells import Column, Reference, Uncomparable, columns_equal
from evalsuite.tables.official_sides import Side, compare_arrays, compare_packed, compare_sides, is_safe_text
from evalsuite.tables.wording import all_found, count, shorten
from evalsuite.types import Fault, Score


def match_table(
    prediction: AnyTable,
    gold: AnyTable,
    *,
    needed: Sequence[int] = (),
    ignore_order: bool = False,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """1 where every needed gold column (positions from 0, none = all) equals some predicted column, else 0.

    `ignore_order` sorts each column on its own before; `reference` says what an empty cell and two cells that cannot be compared are. None
    with a fault where `needed` names a column that gold has not.
    """
    try:
        chosen = resolve(needed, len(gold.header))
    except IndexError as error:
        return Score(official=None, reason=str(error), fault=Fault(code="BAD_SPEC", detail=str(error)))
    same_rows = agreed(prediction, gold, ignore_order=ignore_order)
    if same_rows is not None:
        return all_found(same_rows.n_rows, [(i + 1, i + 1) for i in chosen])
    prediction, gold = exact_table(prediction), exact_table(gold)
    if prediction.n_rows != gold.n_rows:
        reason = f"{count(prediction.n_rows, 'row')} handed in, gold has {gold.n_rows}"
        return Score(official=0.0, reason=reason, details={"n_rows": prediction.n_rows, "n_gold_rows": gold.n_rows})
    seen = comparisons or Comparisons()
    is_safe = gold.types is None and is_safe_text(prediction)
    same = seen.identical(gold, prediction, chosen) if is_safe else None
    if same is not None:
        return all_found(gold.n_rows, [(i + 1, k + 1) for i, k in zip(chosen, same, strict=True)])
    evidence = seen.of(gold, prediction)
    predicted = Side(evidence.predicted, range(len(prediction.columns)), ignore_order, reference)
    expected = Side(evidence.gold, chosen, ignore_order, reference)
    if is_safe and evidence.packed is not None and (found := compare_packed(expected, predicted, evidence)) is not None:
        return found
    if (found := compare_arrays(expected, predicted, evidence)) is not None:
        return found
    try:
        return compare_sides(expected, predicted, evidence)
    except Uncomparable as error:
        return Score(official=0.0, reason=f"the reference fails on these columns: {error}", details={"reference_fails": True})


def match_column_cells(prediction: AnyTable, gold: AnyTable, column: int, *, ignore_order: bool, reference: Reference) -> Score:
    """What the original and dbt say of a bare number for `condition_cols`: 1 where each gold cell of that column is a predicted column.

    `gold.iloc[:, 0]` is a column and no table, so each of its cells stands for a column: a text for one of its characters. Of any other
    cell the original dies, and dbt takes it for unequal: 0 for both.
    """
    try:
        (at,) = resolve([column], len(gold.header))
    except IndexError as error:
        return Score(official=None, reason=str(error), fault=Fault(code="BAD_SPEC", detail=str(error)))
    prediction, gold = exact_table(prediction), exact_table(gold)
    cells = Side(gold, [at], False, reference).column(0).values
    predicted = Side(prediction, range(len(prediction.columns)), ignore_order, reference)
    if all(isinstance(cell, str) and _is_some_column(cell, predicted) for cell in cells):
        return Score(official=1.0, reason=f"each cell of gold column {at + 1} is a predicted column, character by character")
    reason = f"the reference fails on a bare condition_cols: write [{column}]"
    return Score(official=0.0, reason=reason, details={"reference_fails": True})


def _is_some_column(cell: str, predicted: Side) -> bool:
    characters = Column(sorted(cell) if predicted.ignore_order else list(cell), "text")
    try:
        return any(columns_equal(characters, predicted.column(position)) for position in range(len(predicted)))
    except Uncomparable:
        return False


def match_any_table(
    prediction: AnyTable,
    golds: Sequence[AnyTable | Fault],
    *,
    needed: Sequence[Sequence[int] | int | Fault],
    ignore_order: bool = False,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """The score against the first gold that matches, else against the one it came nearest to.

    A gold that cannot be read or judged does not stop the others, but without a match it leaves the verdict open. A `Fault` in `needed`
    says why the reference dies at that gold, a number is one for `match_column_cells`.
    """
    scores: list[Score] = []
    for position, (gold, columns) in enumerate(zip(golds, needed, strict=True), start=1):
        if isinstance(gold, Fault):
            score = Score(official=None, reason=describe(gold), fault=gold)
        elif isinstance(columns, Fault):
            score = Score(official=None, reason=columns.detail, fault=columns)
        elif isinstance(columns, int):
            score = match_column_cells(prediction, gold, columns, ignore_order=ignore_order, reference=reference)
        else:
            score = match_table(prediction, gold, needed=columns, ignore_order=ignore_order, reference=reference, comparisons=comparisons)
        scores.append(_numbered(score, "gold", position, len(golds), "" if isinstance(gold, Fault) else gold.name))
        if score.official == 1.0:
            return scores[-1]
        if score.details.get("reference_fails") or (not isinstance(gold, Fault) and score.official is None):
            break  # the reference dies here, so a later gold cannot help
    if scores[-1].details.get("reference_fails"):
        return scores[-1]
    unjudged = next((score for score in scores if score.official is None), None)
    return unjudged or max(scores, key=lambda score: score.details.get("n_found", -1))


def match_table_list(
    predictions: Sequence[AnyTable | Fault],
    golds: Sequence[AnyTable | Fault],
    *,
    needed: Sequence[Sequence[int]],
    ignore_orders: Sequence[bool],
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """1 where the i-th prediction matches the i-th gold for all n golds, else 0 with the first that fails."""
    if len(predictions) != len(golds):
        return Score(official=0.0, reason=f"{count(len(predictions), 'table')} handed in, gold has {len(golds)}")
    scores = []
    for index, (prediction, gold) in enumerate(zip(predictions, golds, strict=True)):
        score = match_pair(
            prediction, gold, needed=needed[index], ignore_order=ignore_orders[index], reference=reference, comparisons=comparisons
        )
        name = "" if isinstance(gold, Fault) else gold.name
        scores.append(_numbered(score, "table", index + 1, len(golds), name))
        if score.official == 0:
            break
    return all_of(scores)


def match_pair(
    prediction: AnyTable | Fault,
    gold: AnyTable | Fault,
    *,
    needed: Sequence[int] = (),
    ignore_order: bool = False,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """`match_table`, where either side may be the fault that stands in its place."""
    if isinstance(prediction, Fault):
        return Score(official=0.0, reason=describe(prediction), fault=prediction)
    if isinstance(gold, Fault):
        return Score(official=None, reason=describe(gold), fault=gold)
    return match_table(prediction, gold, needed=needed, ignore_order=ignore_order, reference=reference, comparisons=comparisons)


def all_of(scores: Sequence[Score]) -> Score:
    """The score of a check that needs every part: the first 0, else the first that nobody can judge, else 1."""
    for value in (0.0, None):
        for score in scores:
            if score.official == value:
                return score
    reasons = f"all {len(scores)} tables match" if len(scores) > 1 else scores[0].reason
    return Score(official=1.0, reason=reasons)


def resolve(needed: Sequence[int], n_columns: int) -> list[int]:
    """The needed columns as positions from 0, all where none is named; a negative one counts from the end.

    Raises IndexError, with a sentence, for a column that is not there.
    """
    for index in needed:
        if not -n_columns <= index < n_columns:
            raise IndexError(f"condition_cols names column {index}, gold has {count(n_columns, 'column')} (the first is 0)")
    return [index % n_columns for index in needed] if needed else list(range(n_columns))


def _numbered(score: Score, word: str, position: int, n_all: int, name: str) -> Score:
    """The score with `table 2 of 3 'orders.csv': ` in front of its reason."""
    from dataclasses import replace

    if n_all == 1:
        return score
    title = f" {shorten(name)}" if name else ""
    details = {**score.details, word: position}
    return replace(score, reason=f"{word} {position} of {n_all}{title}: {score.reason}", details=details)
