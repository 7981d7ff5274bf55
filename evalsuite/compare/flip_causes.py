"""Why strict accepts a table that the reference refuses.

A kind of writing is the cause if the reference still refuses the answer when everything else is written as in gold, or if it accepts only
with that kind repaired. What cannot be shown in this way is `no cause found`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from evalsuite.compare.bipartite_matching import bipartite_matching
from evalsuite.compare.messages import verdicts_only
from evalsuite.compare.numbers import Number, Tolerance
from evalsuite.compare.strict_columns import StrictColumn, equal, key
from evalsuite.compare.table_diff import TableDiff
from evalsuite.compare.values import Cell, Percent, is_written_form
from evalsuite.compare.verdict import TableCause
from evalsuite.core.dataclasses import replace
from evalsuite.core.scores import Table

# Up to so many cells of each side are read, so many rows are paired by a search, and so many cells are given to the reference again.
_MOST_READ, _MOST_PAIRED, _MOST_ASKED = 30_000, 500, 2_000_000

Pair = tuple[StrictColumn, StrictColumn]
Accepts = Callable[[Table, Table, bool], bool]
"""Whether the reference accepts a predicted table as a gold table; the last is whether rows may be in any order."""
Forms = Mapping[TableCause, Sequence[tuple[int, int, Any]]]
"""The cells that are written differently, by kind: the number of the pair of columns, gold's row, the submitted cell."""


def cause_of_acceptance(
    pairs: Sequence[Pair],
    evidence: TableDiff,
    accepts: Accepts,
    *,
    ignore_order: bool,
    ties: Sequence[int] | None,
    refused: int | None,
) -> TableCause:
    """The cause for columns that strict pairs; `refused` is the position of the gold column without a match for the reference, if known.

    The refused column comes first. If order counts, the reference judges each column of text alone: a kind for which the refused one has no
    match among all columns of the answer goes before those that are in the way of others.
    """
    answer, most = evidence.predicted, _MOST_READ // max(1, len(pairs))
    partners = _pair_rows(pairs, evidence, ties, ignore_order, most)
    if partners is None:
        return "no cause found"
    pairs = sorted(pairs, key=lambda pair: pair[0].position != refused)
    forms, is_complete = _forms(pairs, evidence, partners), len(partners) < most
    is_moved = any(row != other for row, other in partners.items())
    if len(forms) == 1 and is_complete and not (is_moved or ignore_order or answer.types):
        # Repaired in this kind the answer is gold, whose columns of text the reference finds whatever stands beside them.
        return next(iter(forms))
    gold, rest = _columns_of(evidence.gold, [column.position for column, _ in pairs]), _columns_of(answer, _others(answer, pairs))
    is_first_alone = refused is not None and len(pairs) > 1 and not (ignore_order or answer.types)
    golds = [_columns_of(gold, [0]), gold] if is_first_alone else [gold]
    if evidence.n_rows * (len(pairs) + len(answer.columns)) > _MOST_ASKED:
        return "no cause found"

    def is_accepted(kept: Forms, *, wanted: Table = gold, rest: Table | None = rest, sorts: bool = ignore_order) -> bool:
        return accepts(_beside(_with_forms(gold, kept, pairs, answer), rest), wanted, sorts)

    with verdicts_only():
        if is_moved and not ignore_order and not accepts(_moved(gold, partners), gold, False):
            return "tie order"
        cause = _proved(forms, is_accepted, golds, ignore_order=ignore_order, is_complete=is_complete)
        return _cause_of_row_order(cause, partners, pairs, evidence, accepts)


def _cause_of_row_order(
    cause: TableCause, partners: Mapping[int, int], pairs: Sequence[Pair], evidence: TableDiff, accepts: Accepts
) -> TableCause:
    """The cause, if none was found, for the same rows in another order.

    Which cell comes first can decide how the reference reads a column of a file.
    """
    if partners or cause != "no cause found" or evidence.predicted.types is not None:
        return cause
    gold = _columns_of(evidence.gold, [column.position for column, _ in pairs])
    answer = _columns_of(evidence.predicted, [other.position for _, other in pairs])
    return cause if accepts(answer, gold, True) else "typed by column"


def _proved(forms: Forms, is_accepted: Callable[..., bool], golds: Sequence[Table], *, ignore_order: bool, is_complete: bool) -> TableCause:
    """The first kind for which the reference refuses when all others are repaired, else the first without which it accepts.

    `golds` are the tables for which it may refuse, in this order.
    """
    if not is_accepted({}):
        return "dtype of other columns" if is_accepted({}, rest=None) else "cells the reference dies of"
    for wanted, (kind, cells) in product(golds, forms.items()):
        if not is_accepted({kind: cells}, wanted=wanted):
            in_place = kind == "typed by column" and ignore_order and is_accepted({kind: cells}, rest=None, sorts=False)
            return "row pairing" if in_place else kind
    for kind in forms if is_complete else ():
        if is_accepted({other: cells for other, cells in forms.items() if other != kind}):
            return kind
    return "no cause found"


def _others(answer: Table, pairs: Sequence[Pair]) -> list[int]:
    """The columns of the answer that strict does not need."""
    needed = {other.position for _, other in pairs}
    return [k for k in range(len(answer.columns)) if k not in needed]


def _columns_of(table: Table, columns: Sequence[int]) -> Table:
    return Table(
        header=tuple(table.header[at] for at in columns),
        columns=tuple(list(table.columns[at]) for at in columns),
        n_rows=table.n_rows,
        types=None if table.types is None else tuple(table.types[at] for at in columns),
    )


def _beside(table: Table, rest: Table | None) -> Table:
    """Two tables as one."""
    if rest is None:
        return table
    types = None if table.types is None else (*table.types, *(rest.types or ()))
    return replace(table, header=(*table.header, *rest.header), columns=(*table.columns, *rest.columns), types=types)


def _with_forms(gold: Table, forms: Forms, pairs: Sequence[Pair], answer: Table) -> Table:
    """Gold's columns with some cells as they are submitted; in a database their column has the type that it has in the answer."""
    columns, types = list(map(list, gold.columns)), list(gold.types or ())
    for at, row, written in (form for cells in forms.values() for form in cells):
        columns[at][row] = written
        if answer.types is not None:
            types[at] = answer.types[pairs[at][1].position]
    return replace(gold, columns=tuple(columns), types=None if gold.types is None else tuple(types))


def _moved(gold: Table, partners: Mapping[int, int]) -> Table:
    """Gold's rows in the order of the answer."""
    columns = [list(column) for column in gold.columns]
    for column, written in zip(columns, gold.columns, strict=True):
        for row, other in partners.items():
            column[other] = written[row]
    return replace(gold, columns=tuple(columns))


def _pair_rows(
    pairs: Sequence[Pair], evidence: TableDiff, ties: Sequence[int] | None, ignore_order: bool, most: int
) -> Mapping[int, int] | None:
    """The predicted row of each gold row whose cells are written differently or are in another row; None if none was found.

    `most` rows or more are not all such rows. Rows that are written alike are paired first; if the others cannot be paired then, all are.
    """
    places = [(column.position, other.position) for column, other in pairs]
    in_place, everywhere, ranges = list(range(evidence.n_rows)), [0] * evidence.n_rows, (range(evidence.n_rows),) * 2
    if ignore_order:
        gold_rows, rows = (list(map(int, side)) for side in evidence.spare([i for i, _ in places], [k for _, k in places]))
        same_rows = [((rows[:most],) * 2, in_place)] if gold_rows == rows else []
        return _first_match(pairs, *same_rows, ((gold_rows, rows), everywhere), (ranges, everywhere))
    evidence.look(places)
    unlike = sorted({int(row) for place in places for row in evidence.unlike(*place)})
    if ties is None:
        return {row: row for row in unlike[:most]}
    return _first_match(pairs, ((unlike[:most],) * 2, in_place), ((unlike, unlike), ties), (ranges, ties))


def _first_match(pairs: Sequence[Pair], *ways: tuple[Sequence[Sequence[int]], Sequence[int]]) -> dict[int, int] | None:
    matches = (_match(pairs, rows, ties, has_keys=has_keys) for rows, ties in ways for has_keys in (True, False))
    return next((match for match in matches if match is not None), None)


def _match(pairs: Sequence[Pair], rows: Sequence[Sequence[int]], ties: Sequence[int], *, has_keys: bool) -> dict[int, int] | None:
    """The predicted row of each of some gold rows; only rows of the same number in `ties` can be paired. None if one has none.

    With `has_keys` rows of the same values are paired first.
    """
    if len(rows[0]) * len(pairs) > _MOST_READ:
        return None
    golds, others = (
        {int(row): cells for row, *cells in zip(rows[side], *(pair[side].cells_at(rows[side]) for pair in pairs), strict=True)}
        for side in (0, 1)
    )
    partners = _match_keys(golds, others, ties) if has_keys else {}
    taken = set(partners.values())
    left, free = [row for row in golds if row not in partners], [row for row in others if row not in taken]
    if len(left) > _MOST_PAIRED:
        return None

    def fits(row: int, other: int) -> bool:
        return ties[row] == ties[other] and all(map(_are_equal, pairs, golds[row], others[other]))

    found = bipartite_matching([[at for at, other in enumerate(free) if fits(row, other)] for row in left])
    partners |= {row: free[at] for row, at in zip(left, found, strict=True) if at is not None}
    return dict(sorted(partners.items())) if None not in found else None


def _match_keys(golds: Mapping[int, Sequence[Cell]], others: Mapping[int, Sequence[Cell]], ties: Sequence[int]) -> dict[int, int]:
    """The predicted rows of those gold rows that have the same values and the same number in `ties`, from the top."""
    spare: dict[Any, list[int]] = {}
    for row in sorted(others, reverse=True):
        spare.setdefault((ties[row], *map(key, others[row])), []).append(row)
    return {row: same.pop() for row, cells in golds.items() if (same := spare.get((ties[row], *map(key, cells))))}


def _are_equal(pair: Pair, gold: Cell, predicted: Cell) -> bool:
    """Whether strict accepts two cells, in some reading of their percent signs."""
    return any(equal(getattr(gold, way, gold), getattr(predicted, way, predicted), pair[0].tolerance) for way in ("figure", "share"))


def _forms(pairs: Sequence[Pair], evidence: TableDiff, partners: Mapping[int, int]) -> dict[TableCause, list[tuple[int, int, Any]]]:
    """The cells that are written differently, by kind in the order of columns and rows."""
    forms: dict[TableCause, list[tuple[int, int, Any]]] = {}
    for at, (column, other) in enumerate(pairs):
        types = [table.types and table.types[at.position] for table, at in ((evidence.gold, column), (evidence.predicted, other))]
        written = zip(
            partners, column.source.cells(list(partners)), (other.source.cells([row])[0] for row in partners.values()), strict=True
        )
        for row, a, b in written:
            if a is not b and not (types[0] == types[1] and type(a) is type(b) and str(a) == str(b)):
                forms.setdefault(kind_of_form(column.read(a), other.read(b), (a, b), column.tolerance), []).append((at, row, b))
        if types[0] != types[1]:
            # With any cell as submitted the whole column has the submitted type.
            forms.setdefault("native types", []).append((at, 0, column.source.cells([0])[0]))
    return forms


def kind_of_form(gold: Cell, predicted: Cell, written: tuple[Any, Any], tolerance: Tolerance) -> TableCause:
    """What distinguishes two cells that strict accepts as equal, given how they are written."""
    if gold is None or predicted is None:
        return "null words"
    texts = [text.strip() for text in written if isinstance(text, str)]
    if len(texts) == 2 and texts[0] == texts[1]:
        return "spaces"
    if any(text.lower() in ("true", "false") for text in texts):
        return "true and false"
    if isinstance(gold, Percent) or isinstance(predicted, Percent):
        return "percent form"
    if isinstance(gold, int | Number) and isinstance(predicted, int | Number):
        if any(is_written_form(text) for text in texts):
            return "written form"
        return "own tolerance" if tolerance.own and not equal(gold, predicted, Tolerance()) else "typed by column"
    if isinstance(gold, tuple) and gold[0] == "instant":
        return "same instant"
    return "spelling form" if len(texts) == 2 else "native types"
