"""Why a table is not the gold table: the smallest fact that decides it; and why it is, where the reference says no."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from evalsuite.matching.clusters import pair_columns
from evalsuite.matching.table_strict import Column, Matching
from evalsuite.matching.values import Cell, Number, equal, key, show
from evalsuite.matching.verdict import Strict
from evalsuite.types import Fault, Table

RANKED_CELLS: Final = 200_000
MAX_SHOWN: Final = 40
OFFICIAL_TOLERANCE: Final = 0.01


def explain(
    matching: Matching, gold: Sequence[Column], predicted: Sequence[Column], *, n_gold: int, n_predicted: int, ordered: bool
) -> Strict:
    """The strict 0 with its reason and the kind of fact that decides it."""
    if matching.verdict == "shape":
        return _shape(gold, predicted, n_gold, n_predicted)
    if matching.verdict == "limit":
        reason = f"no agreeing column assignment among {matching.n_tried} tried"
        return Strict(value=0.0, reason=f"LIMIT: {reason}", kind="limit", fault=Fault(code="LIMIT", detail=reason))
    if matching.verdict == "no column":
        return _no_column(matching, gold, predicted, ordered)
    if matching.verdict == "not injective":
        return _one_for_two(matching, gold, predicted)
    return _rows(matching, gold, predicted, n_gold)


def _shape(gold: Sequence[Column], predicted: Sequence[Column], n_gold: int, n_predicted: int) -> Strict:
    if n_gold != n_predicted:
        reason = f"{_count(n_predicted, 'row')} handed in, gold has {n_gold}"
        return Strict(value=0.0, reason=reason, kind="row count", details={"n_rows": n_predicted, "n_gold_rows": n_gold})
    kind = "one column for two" if n_gold else "header only"
    reason = f"{kind}: gold needs {_count(len(gold), 'column')}, {len(predicted)} handed in"
    return Strict(value=0.0, reason=reason, kind=kind)


def _no_column(matching: Matching, gold: Sequence[Column], predicted: Sequence[Column], ordered: bool) -> Strict:
    i = next(i for i, found in enumerate(matching.candidates) if not found)
    column = gold[i]
    limit = max(1, RANKED_CELLS // max(1, len(predicted)))
    nearest = min(
        predicted,
        key=lambda p: (
            _n_unmatched(column, p, ordered, limit),
            p.name.casefold() != column.name.casefold(),
            abs(p.position - column.position),
        ),
    )
    pairs = _unmatched(column, nearest, ordered)
    start = f"gold column {column.position + 1} {_quoted(column.name)} has no equal: "
    details: dict[str, Any] = {"gold_column": column.position + 1, "predicted_column": nearest.position + 1, "n_differ": len(pairs)}
    if not pairs:
        reason = f"{start}nearest is predicted column {nearest.position + 1} {_quoted(nearest.name)}, no order of its cells agrees"
        return Strict(value=0.0, reason=reason, kind="tolerance by size", details=details)
    row, expected, found = pairs[0]
    details |= {"first_row": row + 1, "gold_cell": _cut(show(expected))}
    cells = f"{_cut(show(expected))} vs {_cut(show(found))}" if ordered else f"{_cut(show(expected))} has no partner"
    if ordered:
        details["predicted_cell"] = _cut(show(found))
    n_cells = _count(len(column.cells), "cell")
    word = "nearest is" if len(column.cells) <= limit else "a near one is"
    reason = (
        f"{start}{word} predicted column {nearest.position + 1} {_quoted(nearest.name)}, "
        f"{len(pairs)} of {n_cells} differ, first at row {row + 1}: {cells}"
    )
    return Strict(value=0.0, reason=reason, kind=_kind_of_difference(expected, found), details=details)


def _one_for_two(matching: Matching, gold: Sequence[Column], predicted: Sequence[Column]) -> Strict:
    left_out = matching.assignment.index(None)
    wanted = matching.candidates[left_out]
    rivals = [i for i, found in enumerate(matching.candidates) if set(found) & set(wanted)]
    names = " and ".join(f"{gold[i].position + 1} {_quoted(gold[i].name)}" for i in rivals[:3])
    offered = sorted({k for i in rivals for k in matching.candidates[i]})
    columns = ", ".join(f"{predicted[k].position + 1} {_quoted(predicted[k].name)}" for k in offered[:3])
    only = "the predicted column" if len(offered) == 1 else f"the {len(offered)} predicted columns"
    reason = f"one column for two: gold columns {names} find only {only} {columns}"
    details = {"gold_columns": [gold[i].position + 1 for i in rivals], "predicted_columns": [predicted[k].position + 1 for k in offered]}
    return Strict(value=0.0, reason=reason, kind="one column for two", details=details)


def _rows(matching: Matching, gold: Sequence[Column], predicted: Sequence[Column], n_rows: int) -> Strict:
    pairs = []
    for i, k in enumerate(matching.assignment):
        assert k is not None
        pair = pair_columns(gold[i].cells, predicted[k].cells, gold[i].tolerance)
        assert pair is not None
        pairs.append(pair)
    expected = list(zip(*(pair.gold_keys for pair in pairs), strict=True))
    left = Counter(expected) - Counter(zip(*(pair.predicted_keys for pair in pairs), strict=True))
    n_left = sum(left.values())
    details: dict[str, Any] = {"n_rows": n_rows, "n_rows_disagree": n_left}
    if not n_left:
        reason = "rows scrambled: each column agrees by itself, but no pairing of the rows keeps all of them within tolerance"
        return Strict(value=0.0, reason=reason, kind="rows scrambled", details=details)
    first = next(row for row, keys in enumerate(expected) if keys in left)
    row_cells = ", ".join(_cut(show(column.cells[first])) for column in gold[:4]) + (", ..." if len(gold) > 4 else "")
    details |= {"first_row": first + 1, "gold_row": [_cut(show(column.cells[first])) for column in gold]}
    reason = (
        f"rows scrambled: columns were sorted apart, {n_left} of {_count(n_rows, 'row')} do not agree, "
        f"first gold row {first + 1}: ({row_cells})"
    )
    return Strict(value=0.0, reason=reason, kind="rows scrambled", details=details)


def _n_unmatched(gold: Column, predicted: Column, ordered: bool, limit: int) -> int:
    return len(_unmatched(gold, predicted, ordered, limit=limit))


def _unmatched(gold: Column, predicted: Column, ordered: bool, *, limit: int | None = None) -> list[tuple[int, Cell, Cell]]:
    """(row from 0, gold cell, predicted cell) of the cells that differ; without order the gold cells that find no partner."""
    g, p, tolerance = gold.cells[:limit], predicted.cells[:limit], gold.tolerance
    if ordered:
        return [(row, a, b) for row, (a, b) in enumerate(zip(g, p, strict=True)) if a is not b and not equal(a, b, tolerance)]
    spare = Counter(key(cell) for cell in p)
    open_rows = []
    for row, cell in enumerate(g):
        if spare[key(cell)] > 0:
            spare[key(cell)] -= 1
        else:
            open_rows.append((row, cell))
    rest = [cell for cell in p if spare[key(cell)] > 0 and _use(spare, key(cell))]
    return _pair_the_rest(open_rows, rest, gold)


def _use(spare: Counter[Any], name: Any) -> bool:
    spare[name] -= 1
    return True


def _pair_the_rest(open_rows: Sequence[tuple[int, Cell]], rest: Sequence[Cell], gold: Column) -> list[tuple[int, Cell, Cell]]:
    """Numbers near each other are paired along the line; what stays open is unmatched."""
    line = sorted(((_place(cell), cell) for cell in rest if _place(cell) is not None), key=lambda item: item[0] or 0.0)
    numbers = sorted(((row, cell) for row, cell in open_rows if _place(cell) is not None), key=lambda item: _place(item[1]) or 0.0)
    unmatched = [(row, cell) for row, cell in open_rows if _place(cell) is None]
    at = 0
    for row, cell in numbers:
        place = _place(cell) or 0.0
        while at < len(line) and (line[at][0] or 0.0) < place and not equal(cell, line[at][1], gold.tolerance):
            at += 1
        if at < len(line) and equal(cell, line[at][1], gold.tolerance):
            at += 1
        else:
            unmatched.append((row, cell))
    other = line[0][1] if line else (rest[0] if rest else None)
    return sorted(((row, cell, other) for row, cell in unmatched), key=lambda item: item[0])


def _place(cell: Cell) -> float | None:
    if isinstance(cell, Number):
        return cell.value
    return float(cell) if isinstance(cell, int) and cell.bit_length() < 1000 else None


def _kind_of_difference(gold: Cell, predicted: Cell) -> str:
    """In a few words, why the reference may still have called these cells equal."""
    if (gold is None) != (predicted is None):
        return "null or zero"
    a, b = _place(gold), _place(predicted)
    if a is not None and b is not None:
        if (a == 0) != (b == 0):
            return "value taken for zero"
        if a == -b:
            return "sign"
        return "large integers" if isinstance(gold, int) and abs(a) >= 1e9 else "tolerance by size"
    return "typed by column"


def cause_of_acceptance(
    matching: Matching, gold: Sequence[Column], predicted: Sequence[Column], gold_table: Table, predicted_table: Table, *, ordered: bool
) -> str:
    """Why the reference may refuse what strict accepts, read off the first cells that are equal but not written alike."""
    for i, k in enumerate(matching.assignment):
        if k is None:
            continue
        written = _differently_written(gold_table, gold[i].position, predicted_table, predicted[k].position, ordered)
        if written:
            return _kind_of_form(*written, ordered=ordered)
    return "text sort" if not ordered else "dtype of other columns"


def _differently_written(gold: Table, i: int, predicted: Table, k: int, ordered: bool) -> tuple[Any, Any] | None:
    a, b = gold.columns[i], predicted.columns[k]
    if ordered:
        return next(((x, y) for x, y in zip(a, b, strict=True) if x != y and not (x is None and y == "")), None)
    only_gold, only_predicted = Counter(map(str, a)) - Counter(map(str, b)), Counter(map(str, b)) - Counter(map(str, a))
    return (min(only_gold), min(only_predicted)) if only_gold and only_predicted else None


def _kind_of_form(gold: Any, predicted: Any, *, ordered: bool) -> str:
    from evalsuite.matching.values import read_text

    a = read_text(gold) if isinstance(gold, str) else gold
    b = read_text(predicted) if isinstance(predicted, str) else predicted
    x, y = _place(a), _place(b)
    if x is not None and y is not None:
        if abs(x - y) > OFFICIAL_TOLERANCE:
            return "tolerance by size"
        return "typed by column" if ordered else "text sort"
    if a is None or b is None:
        return "null words"
    if isinstance(a, tuple) and a[0] == "instant":
        return "same instant"
    return "spaces or spelling form"


def _quoted(text: str) -> str:
    return repr(_cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
