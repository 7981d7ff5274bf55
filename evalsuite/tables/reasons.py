"""Why a table is not the gold table: the smallest fact that decides it."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, Final

from evalsuite.tables.clusters import pair_columns
from evalsuite.tables.columns import Column, Matching
from evalsuite.tables.evidence import Evidence
from evalsuite.tables.flip_causes import cause_of_refusal, likest
from evalsuite.tables.outlines import Outline
from evalsuite.tables.remainders import cells_of
from evalsuite.tables.strict_cells import Cell, equal, show
from evalsuite.tables.strict_matching import crossed
from evalsuite.tables.unmatched import Unmatched, n_unmatched_by_key, unmatched_in_any_order, unmatched_in_bags, unmatched_in_order
from evalsuite.tables.wording import FEW_RANKED_CELLS, MAX_SHOWN, RANKED_CELLS, count, is_worded, no_equal, shorten
from evalsuite.texts.verdict import Strict
from evalsuite.types import Fault

MAX_COLUMNS: Final = 3


def explain(
    matching: Matching,
    gold: Sequence[Column],
    predicted: Sequence[Column],
    evidence: Evidence | None,
    *,
    n_gold: int,
    n_predicted: int,
    ordered: bool,
) -> Strict:
    """The strict 0 with its reason and the kind of fact that decides it."""
    if not is_worded() and matching.verdict != "limit":
        return Strict(value=0.0, reason="", kind=matching.verdict)
    if matching.verdict == "shape":
        return _shape(gold, predicted, n_gold, n_predicted)
    if matching.verdict == "limit":
        reason = f"no agreeing column assignment among {matching.n_tried} tried"
        return Strict(value=0.0, reason=f"LIMIT: {reason}", kind="limit", fault=Fault(code="LIMIT", detail=reason))
    if matching.verdict == "labels":
        return _labels(matching, gold, predicted)
    assert evidence is not None
    if matching.verdict == "no column":
        return _no_column(matching, gold, predicted, ordered, evidence)
    if matching.verdict == "not injective":
        return _one_for_two(matching, gold, predicted)
    return _rows(matching, gold, predicted, n_gold, evidence)


def _shape(gold: Sequence[Column], predicted: Sequence[Column], n_gold: int, n_predicted: int) -> Strict:
    if n_gold != n_predicted:
        reason = f"{count(n_predicted, 'row')} handed in, gold has {n_gold}"
        return Strict(value=0.0, reason=reason, kind="row count", details={"n_rows": n_predicted, "n_gold_rows": n_gold})
    kind = "one column for two" if n_gold else "header only"
    reason = f"{kind}: gold needs {count(len(gold), 'column')}, {len(predicted)} handed in"
    return Strict(value=0.0, reason=reason, kind=kind, details={"n_columns": len(predicted)})


def _labels(matching: Matching, gold: Sequence[Column], predicted: Sequence[Column]) -> Strict:
    i, k = crossed(matching, gold, predicted)[0]
    own = next(column for column in predicted if column.label == gold[i].label)
    reason = (
        f"labels: gold column {gold[i].position + 1} {shorten(gold[i].name)} agrees only with predicted column "
        f"{predicted[k].position + 1} {shorten(predicted[k].name)}, and predicted column {own.position + 1} {shorten(own.name)} is another"
    )
    details = {"gold_column": gold[i].position + 1, "predicted_column": predicted[k].position + 1}
    return Strict(value=0.0, reason=reason, kind="labels", details=details)


def _no_column(matching: Matching, gold: Sequence[Column], predicted: Sequence[Column], ordered: bool, evidence: Evidence) -> Strict:
    column = gold[next(i for i, found in enumerate(matching.candidates) if not found)]
    nearest, words = nearest_column(column, predicted, ordered, FEW_RANKED_CELLS if evidence.is_big else RANKED_CELLS)
    if ordered:
        unmatched = unmatched_in_order(column, nearest, evidence)
    elif evidence.packed is None:
        unmatched = unmatched_in_any_order(column.cells, nearest.cells, column.tolerance)
    else:
        unmatched = unmatched_in_bags(column, nearest, evidence)
    place = f"{words} predicted column {nearest.position + 1} {shorten(nearest.name)}"
    details: dict[str, Any] = {
        "gold_column": column.position + 1,
        "predicted_column": nearest.position + 1,
        "n_differ": len(unmatched.cells),
    }
    if not unmatched.cells:
        reason = no_equal(column.position, column.name, f"{place}, no order of its cells agrees")
        return Strict(value=0.0, reason=reason, kind="tolerance by size", details=details)
    (row, expected), found = unmatched.cells[0], _against(unmatched, ordered)
    details |= {"first_row": row + 1, "gold_cell": _cut(show(expected))}
    cells = f"{_cut(show(expected))} vs {_cut(show(found))}" if ordered else f"{_cut(show(expected))} has no partner"
    if ordered:
        details["predicted_cell"] = _cut(show(found))
    if unmatched.bound:
        details[unmatched.bound.strip().replace(" ", "_")] = True
    number = f"{unmatched.bound}{len(unmatched.cells)} of {count(len(column.cells), 'cell')} differ"
    reason = no_equal(column.position, column.name, f"{place}, {number}, first at row {row + 1}: {cells}")
    return Strict(value=0.0, reason=reason, kind=cause_of_refusal(expected, found), details=details)


def nearest_column(gold: Column, predicted: Sequence[Column], ordered: bool, n_ranked: int = RANKED_CELLS) -> tuple[Column, str]:
    """The predicted column to explain gold's by, and in words why this one.

    The column of the same name, unless another one differs in less than half as many cells; else the one that differs least. Of many
    columns only the first rows are compared; without order these say little, so that the name decides then.
    """
    limit = max(1, n_ranked // max(1, len(predicted)))
    all_rows = len(gold.cells) <= limit
    cells = gold.cells[:limit]

    def n_differ(column: Column) -> int:
        others = column.cells[:limit]
        if ordered:
            return sum(not equal(a, b, gold.tolerance) for a, b in zip(cells, others, strict=True))
        return n_unmatched_by_key(cells, others)

    ranks = [(n_differ(column), abs(column.position - gold.position), k) for k, column in enumerate(predicted)]
    named = [rank for rank in ranks if predicted[rank[2]].name.casefold() == gold.name.casefold()]
    best = min(ranks)
    if named and best != min(named) and (2 * best[0] >= min(named)[0] or not (ordered or all_rows)):
        return predicted[min(named)[2]], "the one of that name is"
    return predicted[best[2]], "nearest is" if all_rows else "a near one is"


def _against(unmatched: Unmatched, ordered: bool) -> Cell:
    return unmatched.partners[0] if ordered else likest(unmatched.cells[0][1], unmatched.partners)


def _one_for_two(matching: Matching, gold: Sequence[Column], predicted: Sequence[Column]) -> Strict:
    wanting, offered = _too_few(matching)
    names = _listed([f"{gold[i].position + 1} {shorten(gold[i].name)}" for i in wanting])
    columns = _listed([f"{predicted[k].position + 1} {shorten(predicted[k].name)}" for k in offered])
    reason = f"one column for two: gold columns {names} find only {count(len(offered), 'predicted column')}: {columns}"
    details = {"gold_columns": [gold[i].position + 1 for i in wanting], "predicted_columns": [predicted[k].position + 1 for k in offered]}
    return Strict(value=0.0, reason=reason, kind="one column for two", details=details)


def _too_few(matching: Matching) -> tuple[list[int], list[int]]:
    """Gold columns that have fewer predicted candidates in all than they are: what can be reached from one that was left out."""
    owner = {k: i for i, k in enumerate(matching.assignment) if k is not None}
    left_out = matching.assignment.index(None)
    wanting, offered = {left_out}, set[int]()
    queue = deque([left_out])
    while queue:
        for k in matching.candidates[queue.popleft()]:
            if k not in offered:
                offered.add(k)
                if owner[k] not in wanting:
                    wanting.add(owner[k])
                    queue.append(owner[k])
    return sorted(wanting), sorted(offered)


def _rows(matching: Matching, gold: Sequence[Column], predicted: Sequence[Column], n_rows: int, evidence: Evidence) -> Strict:
    partners = [predicted[k] for k in matching.assignment if k is not None]
    rows: tuple[Sequence[int], Sequence[int]] = (range(n_rows), range(n_rows))
    if evidence.packed is not None:
        rows = evidence.spare([column.position for column in gold], [column.position for column in partners])
    shown = [cells_of(evidence, 0, column, rows[0]) for column in gold]
    mine, theirs, complete = [], [], True
    for column, cells, partner in zip(gold, shown, partners, strict=True):
        outlines = Outline(cells), Outline(cells_of(evidence, 1, partner, rows[1]))
        pair = pair_columns(*outlines, column.tolerance)
        complete = complete and pair is not None and pair.complete
        mine.append(pair.gold_keys if pair is not None else outlines[0].keys)
        theirs.append(pair.predicted_keys if pair is not None else outlines[1].keys)
    expected = list(zip(*mine, strict=True))
    left = Counter(expected) - Counter(zip(*theirs, strict=True))
    n_left = sum(left.values())
    details: dict[str, Any] = {"n_rows": n_rows, "n_rows_disagree": n_left}
    if not n_left:
        reason = "rows scrambled: each column agrees by itself, but no pairing of the rows keeps all of them within tolerance"
        return Strict(value=0.0, reason=reason, kind="rows scrambled", details=details)
    at = next(at for at, keys in enumerate(expected) if keys in left)
    first = int(rows[0][at]) + 1
    row_cells = ", ".join(_cut(show(cells[at])) for cells in shown[:4]) + (", ..." if len(gold) > 4 else "")
    details |= {"first_row": first, "gold_row": [_cut(show(cells[at])) for cells in shown]}
    number = f"{'' if complete else 'at least '}{n_left} of {count(n_rows, 'row')}"
    reason = f"rows scrambled: columns were sorted apart, {number} do not agree, first gold row {first}: ({row_cells})"
    return Strict(value=0.0, reason=reason, kind="rows scrambled", details=details)


def _listed(names: Sequence[str]) -> str:
    """`a, b and c`, at most a few by name."""
    if len(names) > MAX_COLUMNS:
        return f"{', '.join(names[:MAX_COLUMNS])} and {len(names) - MAX_COLUMNS} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
