"""Align predicted columns and rows with gold columns and rows: the likeliest pairing, for explanations and side-by-side views.

A scorer only decides whether a pairing exists. Here one is chosen even if nothing agrees, so that the difference can be shown: first
columns by their headers and cells, then equal rows, then similar rows. Cells are ordered by a key that scaling, rounding, signs, case and
spaces do not change.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from evalsuite.analysis.causes.values import Pair, instants
from evalsuite.compare.bipartite_matching import best_assignment, best_sparse_assignment
from evalsuite.compare.official_cells import ABS_TOL, NA_WORDS, typed_column
from evalsuite.compare.strict_columns import PLAIN_TERMS, StrictColumn, Terms, equal, key, place, read_columns
from evalsuite.compare.strict_tables import columns_for, order_for
from evalsuite.compare.values import Cell, number_readings
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.scores import Fault, Rule, Table

LONGEST_NUMBER: Final = 40


def step(cell: Cell) -> tuple[int, float, str]:
    """Return a sort key of a cell that ignores unit, sign, rounding, case, spaces and the form of dates."""
    if isinstance(cell, tuple) and cell[0] == "text" and len(cell[1]) <= LONGEST_NUMBER:
        return _step_of_text(cell[1])
    at = place(cell)
    if at is not None:
        return 0, abs(at), ""
    if isinstance(cell, tuple) and cell[0] == "instant":
        return 1, float(cell[1]), ""
    return 2, 0.0, _fold_text(str(cell[1] if isinstance(cell, tuple) else cell))


@lru_cache(maxsize=1 << 14)
def _step_of_text(text: str) -> tuple[int, float, str]:
    if any(map(str.isdigit, text)):
        moment = next(instants(text), None)
        if moment is not None:
            return 1, float(moment[0]), ""
        number = next(number_readings(text), None)
        if number is not None:
            return 0, abs(float(number[0])), ""
    return 2, 0.0, _fold_text(text)


def _fold_text(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


MOST_CELLS: Final = 2_000_000
MOST_COLUMNS: Final = 100
MOST_PARTNERS: Final = 64
TOO_LARGE: Final = f"more than {MOST_CELLS:,} cells or {MOST_COLUMNS} columns: not compared cell by cell"
# More than any number of other shared cells weighs.
_KEY_WEIGHT: Final = 10_000.0


# (pairs of gold and predicted rows in gold's order, gold rows left, predicted rows left).
Matched = tuple[list[tuple[int, int]], list[int], list[int]]


def match(golds: Sequence[Any], predictions: Sequence[Any]) -> Matched:
    """Pair rows with equal keys, the n-th of several with the n-th."""
    waiting = defaultdict[Any, list[int]](list)
    for row in range(len(predictions) - 1, -1, -1):
        waiting[predictions[row]].append(row)
    pairs, unmatched = [], []
    for row, name in enumerate(golds):
        if places := waiting.get(name):
            pairs.append((row, places.pop()))
        else:
            unmatched.append(row)
    return pairs, unmatched, sorted(row for places in waiting.values() for row in places)


@dataclass(frozen=True)
class Alignment:
    """Gold and a prediction side by side. `partners` has the predicted column of each needed gold column, None if there is none.

    `pairs` are (gold row, predicted row) in gold order, `missing` the unpaired gold rows, `extra` the unpaired predicted ones; all from 0.
    With `exact`, cells that are written differently are different, whatever the tolerance; with `keyed`, rows were paired by their keys.
    """

    gold: Table
    prediction: Table
    rules: Rule
    ordered: bool
    needed: tuple[int, ...]
    partners: tuple[int | None, ...]
    pairs: tuple[tuple[int, int], ...]
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    columns: "_Cells"
    exact: bool = False
    keyed: bool = False

    @property
    def native(self) -> bool:
        """Whether types decide, as in a database."""
        return self.gold.types is not None

    @cached_property
    def wrong(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return for each needed column with a partner the row pairs whose cells differ."""

        def same(j: int, g: int, k: int, p: int) -> bool:
            return bool(self.gold.columns[self.needed[j]][g] == self.prediction.columns[k][p])

        return self._differing(same if self.exact else self.columns.are_equal)

    @cached_property
    def unrelated(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return the same for cells that have nothing in common: a number is one in a column of texts too, where official reads none."""
        return self.wrong if self.exact else self._differing(self.columns.have_equal_values)

    def _differing(self, same: Callable[[int, int, int, int], bool]) -> tuple[tuple[tuple[int, int], ...], ...]:
        return tuple(
            tuple((g, p) for g, p in self.pairs if not same(j, g, k, p)) if k is not None else () for j, k in enumerate(self.partners)
        )

    def values(self, j: int, rows: Sequence[tuple[int, int]]) -> list[Pair]:
        """Return the raw values of needed column `j` at some row pairs."""
        k = self.partners[j]
        assert k is not None
        gold, predicted = self.gold.columns[self.needed[j]], self.prediction.columns[k]
        return [Pair(gold[g], predicted[p], self.native) for g, p in rows]

    def gold_row(self, row: int) -> tuple[Any, ...]:
        """Return the keys of a gold row over the needed columns that have a partner."""
        return tuple(self.columns.gold_keys[j][row] for j, k in enumerate(self.partners) if k is not None)

    def predicted_row(self, row: int) -> tuple[Any, ...]:
        """Return the keys of a predicted row over the same columns."""
        return tuple(self.columns.predicted_keys[k][row] for k in self.partners if k is not None)

    def equal_rows(self) -> "Matched":
        """Return equal rows in any position as pairs, and the rows left."""
        golds, predictions = range(self.gold.n_rows), range(self.prediction.n_rows)
        return match(list(map(self.gold_row, golds)), list(map(self.predicted_row, predictions)))

    @property
    def n_wrong(self) -> int:
        """Return how many cells of paired rows differ."""
        return sum(map(len, self.wrong))


class _Cells:
    """Both sides' cells and their keys, read once."""

    def __init__(self, gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn], sides: tuple[Table, Table], rules: Rule) -> None:
        self.gold, self.predicted, self.rules = gold, predicted, rules
        self._raw = ([sides[0].columns[c.position] for c in gold], [sides[1].columns[c.position] for c in predicted])
        self.gold_keys = [self._keys(c.cells, raw) for c, raw in zip(gold, self._raw[0], strict=True)]
        self.predicted_keys = [self._keys(c.cells, raw) for c, raw in zip(predicted, self._raw[1], strict=True)]
        self._texts = [self._columns_of_text(side.types is None, raw) for side, raw in zip(sides, self._raw, strict=True)]
        self.gold_bags = [Counter(keys) for keys in self.gold_keys]
        self.predicted_bags = [Counter(keys) for keys in self.predicted_keys]

    def _keys(self, cells: Sequence[Cell], raw: Sequence[Any]) -> list[Any]:
        if self.rules == "strict":
            return [key(cell) for cell in cells]
        places = map(place, cells)
        # Text as it is; a cell without sort position and text is its own key.
        rest = (value if cell is not None and isinstance(value, str) else cell for cell, value in zip(cells, raw, strict=True))
        return [other if at is None else round(at, 2) + 0.0 for at, other in zip(places, rest, strict=True)]

    def _columns_of_text(self, is_csv: bool, columns: Sequence[Sequence[Any]]) -> frozenset[int]:
        """Return the columns in which the official rules read no cell as a number, because one of them is none."""
        if self.rules == "strict" or not is_csv:
            return frozenset()
        return frozenset(
            i for i, raw in enumerate(columns) if typed_column(["" if cell is None else str(cell) for cell in raw]).kind in ("text", "raw")
        )

    def _written(self, side: int, column: int, row: int) -> Any:
        """Return a cell as it is written, None if it is empty; a number of a column of numbers is no text."""
        value = self._raw[side][column][row]
        if value is None or value in NA_WORDS:
            return None
        return value if column in self._texts[side] else (value,)

    def are_equal(self, j: int, gold_row: int, k: int, predicted_row: int) -> bool:
        """Whether two cells are equal under the rules: official, in a column of texts as they are written, else each by itself."""
        if j in self._texts[0] or k in self._texts[1]:
            return bool(self._written(0, j, gold_row) == self._written(1, k, predicted_row))
        return self.have_equal_values(j, gold_row, k, predicted_row)

    def have_equal_values(self, j: int, gold_row: int, k: int, predicted_row: int) -> bool:
        """Whether two cells are equal under the rules, each by itself, whatever its column contains."""
        a, b = self.gold_keys[j][gold_row], self.predicted_keys[k][predicted_row]
        if a == b:
            return True
        gold, predicted = self.gold[j].cells[gold_row], self.predicted[k].cells[predicted_row]
        if self.rules == "strict":
            return equal(gold, predicted, self.gold[j].tolerance)
        x, y = place(gold), place(predicted)
        return x is not None and y is not None and math.isclose(x, y, abs_tol=ABS_TOL)


def align(
    gold: Table,
    prediction: Table,
    *,
    needed: Sequence[int] = (),
    ordered: bool,
    rules: Rule,
    terms: Terms = PLAIN_TERMS,
    key_columns: Sequence[int] = (),
) -> Alignment | None:
    """Pair two tables. Returns None if they are too large to compare cell by cell (2,000,000 cells, 100 needed columns).

    Rows are paired by the gold columns `key_columns` if these exist and have partners, else by their cells.
    """
    chosen = [i for i in dict.fromkeys(needed or range(len(gold.columns))) if -len(gold.columns) <= i < len(gold.columns)]
    chosen = [i % len(gold.columns) for i in chosen] if gold.columns else []
    n_cells = gold.n_rows * len(chosen) + prediction.n_rows * len(prediction.columns)
    if n_cells > MOST_CELLS or len(chosen) > MOST_COLUMNS or len(prediction.columns) > 4 * MOST_COLUMNS:
        return None
    sides = gold, prediction
    cells = _Cells(read_columns(gold, chosen, terms), read_columns(prediction, range(len(prediction.columns))), sides, rules)
    partners, rows = _partners(cells), (tuple(range(gold.n_rows)), tuple(range(prediction.n_rows)))
    start = Alignment(gold, prediction, rules, ordered, tuple(chosen), partners, (), *rows, cells)
    return start if all(partner is None for partner in partners) else _pair_by_key(start, key_columns) or _pair_rows(start)


def _partners(cells: _Cells) -> tuple[int | None, ...]:
    """Return for each gold column the likeliest predicted column, each used once."""
    likeness = [[_likeness(cells, j, k) for k in range(len(cells.predicted))] for j in range(len(cells.gold))]
    partners: list[int | None] = [None] * len(cells.gold)
    for j, k in best_assignment(likeness):
        partners[j] = k if likeness[j][k] > 0 else None
    return tuple(partners)


def _likeness(cells: _Cells, j: int, k: int) -> float:
    """Return the similarity of two columns: shared cells first, then the header, then the kind of their cells and the position."""
    gold, predicted = cells.gold[j], cells.predicted[k]
    n = max(len(gold.cells), len(predicted.cells), 1)
    a, b = cells.gold_bags[j], cells.predicted_bags[k]
    shared = sum(min(count, b[value]) for value, count in a.items() if value in b) / n
    same_name = gold.name.strip().casefold() == predicted.name.strip().casefold()
    kinds = _is_numeric(gold), _is_numeric(predicted)
    same_kind = 0.1 if kinds[0] == kinds[1] else 0.0
    placed = 0.05 / (1 + abs(gold.position - predicted.position))
    return 2 * shared + (1.0 if same_name else 0.0) + same_kind + placed


def _is_numeric(column: StrictColumn) -> bool:
    seen = [place(cell) is not None for cell in column.cells[:200] if cell is not None]
    return sum(seen) * 2 > len(seen)


def _pair_rows(start: Alignment) -> Alignment:
    """Pair the rows: in place if the order counts and the row numbers agree, else equal rows, then similar ones."""
    n_gold, n_predicted = start.gold.n_rows, start.prediction.n_rows
    if start.ordered and n_gold == n_predicted:
        return replace(start, pairs=tuple((row, row) for row in range(n_gold)), missing=(), extra=())
    pairs, unmatched, spare = start.equal_rows()
    pairs += _pair_alike_rows(start, unmatched, spare)
    if len(unmatched) == len(spare):
        golds = sorted(unmatched, key=lambda row: _rank(start, row, gold=True))
        pairs += list(zip(golds, sorted(spare, key=lambda row: _rank(start, row, gold=False)), strict=True))
        unmatched, spare = [], []
    return replace(start, pairs=tuple(sorted(pairs)), missing=tuple(sorted(unmatched)), extra=tuple(sorted(spare)))


def pair_in_any_order(alignment: Alignment) -> Alignment:
    """Return the same pairing of columns with the rows paired by their cells, in any order."""
    bare = replace(alignment, ordered=False, pairs=(), missing=(), extra=())
    return _pair_rows(bare)


def _pair_by_key(alignment: Alignment, key_columns: Sequence[int]) -> Alignment | None:
    """Pair rows by key, the n-th of several with the n-th; None if no column of the key has a partner."""
    places = [(j, k) for j, k in enumerate(alignment.partners) if k is not None and alignment.needed[j] in key_columns]
    if not places:
        return None
    cells = alignment.columns
    golds = list(zip(*(cells.gold_keys[j] for j, _ in places), strict=True))
    pairs, missing, extra = match(golds, list(zip(*(cells.predicted_keys[k] for _, k in places), strict=True)))
    return replace(alignment, pairs=tuple(pairs), missing=tuple(missing), extra=tuple(extra), keyed=True)


def pair_by_rank(alignment: Alignment) -> Alignment:
    """Return the same pairing of columns with the rows of both sides sorted, which a shift or a factor does not disturb."""
    golds = sorted(range(alignment.gold.n_rows), key=lambda row: _rank(alignment, row, gold=True))
    predictions = sorted(range(alignment.prediction.n_rows), key=lambda row: _rank(alignment, row, gold=False))
    return replace(alignment, pairs=tuple(sorted(zip(golds, predictions, strict=True))), missing=(), extra=())


def pair_in_place(alignment: Alignment) -> Alignment:
    """Return the same pairing of columns with rows paired by position: a wrong query often keeps the order."""
    return replace(alignment, pairs=tuple((row, row) for row in range(alignment.gold.n_rows)), missing=(), extra=())


def _pair_alike_rows(start: Alignment, unmatched: list[int], spare: list[int]) -> list[tuple[int, int]]:
    """Pair rows that agree in half of the columns or more, or in a key, so that what they share is as rare as possible in total; remove
    them from the two lists.
    """
    partners, cells = [(j, k) for j, k in enumerate(start.partners) if k is not None], start.columns
    keys = {j for j, k in partners if _is_key(start, j, k, unmatched, spare)}
    golds = sorted(unmatched, key=lambda row: _rank(start, row, gold=True))
    others = sorted(spare, key=lambda row: _rank(start, row, gold=False))
    places: dict[tuple[int, Any], list[int]] = defaultdict(list)
    for place_, row in enumerate(others):
        for j, k in partners:
            places[j, cells.predicted_keys[k][row]].append(place_)

    def offers(row: int) -> dict[int, float]:
        n_shared, weights = Counter[int](), defaultdict[int, float](float)
        for j, _ in partners:
            name = cells.gold_keys[j][row]
            is_sure = j in keys and name is not None
            for place_ in places.get((j, name), ())[:MOST_PARTNERS]:
                n_shared[place_] += len(partners) if is_sure else 1
                weights[place_] += math.log2(1 + start.gold.n_rows / cells.gold_bags[j][name]) + is_sure * _KEY_WEIGHT
        return {place_: weights[place_] for place_, n in n_shared.items() if 2 * n >= len(partners)}

    pairs = [(golds[at], others[place_]) for at, place_ in best_sparse_assignment(list(map(offers, golds)))]
    gold_rows, predicted_rows = {row for row, _ in pairs}, {row for _, row in pairs}
    unmatched[:], spare[:] = [row for row in unmatched if row not in gold_rows], [row for row in spare if row not in predicted_rows]
    return pairs


def _is_key(start: Alignment, j: int, k: int, unmatched: Sequence[int], spare: Sequence[int]) -> bool:
    """Whether no value of a column occurs twice on either side, and most unmatched rows of gold share it with an unmatched row."""
    if any(n > 1 for bag in (start.columns.gold_bags[j], start.columns.predicted_bags[k]) for n in bag.values()):
        return False
    spare_keys = {start.columns.predicted_keys[k][row] for row in spare} - {None}
    return 2 * sum(start.columns.gold_keys[j][row] in spare_keys for row in unmatched) > len(unmatched)


def _rank(start: Alignment, row: int, *, gold: bool) -> tuple[Any, ...]:
    """Return a sort key that scaling, rounding, signs, case and spaces do not change."""
    pairs = [(j, k) for j, k in enumerate(start.partners) if k is not None]
    return tuple(step((start.columns.gold[j] if gold else start.columns.predicted[k]).cells[row]) for j, k in pairs)


@dataclass(frozen=True, slots=True)
class TablePair:
    """A predicted table and its gold table, with gold's parameters for columns and order.

    `terms` are the tolerances of cells; rows are paired by the gold columns `key`, if there are any.
    """

    prediction: Table
    gold: Table
    needed: tuple[int, ...]
    ordered: bool
    name: str = ""
    terms: Terms = PLAIN_TERMS
    key: tuple[int, ...] = ()
    _aligned: dict[Rule, Alignment | None] = field(init=False, default_factory=dict, repr=False, compare=False)

    @property
    def native(self) -> bool:
        """Whether types decide, as in a database."""
        return self.gold.types is not None

    def align(self, rules: Rule) -> Alignment | None:
        """The two tables aligned, computed once; None if they are too large."""
        if rules not in self._aligned:
            self._aligned[rules] = align(
                self.gold, self.prediction, needed=self.needed, ordered=self.ordered, rules=rules, terms=self.terms, key_columns=self.key
            )
        return self._aligned[rules]


def drop_strange_pairs(alignment: Alignment) -> Alignment:
    """Return the alignment with each pair of rows that agree in no column as a missing and an extra row; in order it stays as it is."""
    partners = [j for j, k in enumerate(alignment.partners) if k is not None]
    wrong = Counter(rows for j in partners for rows in alignment.wrong[j])
    strangers = {rows for rows, n in wrong.items() if n == len(partners)}
    return replace(
        alignment,
        pairs=tuple(rows for rows in alignment.pairs if rows not in strangers),
        missing=(*alignment.missing, *(gold for gold, _ in sorted(strangers))),
        extra=(*alignment.extra, *(predicted_row for _, predicted_row in sorted(strangers))),
    )


def table_pairs(form: Any, parameters: Mapping[str, Any], reads: str, rules: Rule) -> list[TablePair]:
    """Return the pairs of tables that a check compares; each of several accepted golds is one. Faults are left out."""
    gold = parameters["gold"]
    terms = Terms(
        abs_tol=parameters.get("abs_tol"), rel_tol=parameters.get("rel_tol"), percentage=bool(parameters.get("percentage", False))
    )
    if reads == "table":
        golds = [gold] if isinstance(gold, Table | Fault) else list(gold)
        order = parameters.get("ignore_order", False)
        pairs = [(form, item, i, "") for i, item in enumerate(golds)]
    elif reads == "tables":
        golds, order = list(gold), parameters.get("ignore_orders")
        pairs = [(p, g, i, getattr(g, "name", "")) for i, (p, g) in enumerate(zip(form, golds, strict=False))]
    else:
        names = list(parameters.get("condition_tabs") or gold)
        submitted, expected = ({name.lower(): table for name, table in side.items()} for side in (form, gold))
        golds, order = names, parameters.get("ignore_orders")
        pairs = [(submitted.get(name.lower()), expected.get(name.lower()), i, name) for i, name in enumerate(names)]
    tables = []
    for p, g, i, name in pairs:
        if isinstance(p, Table) and isinstance(g, Table):
            free = bool(order) if rules == "official" and reads == "table" else order_for(order, i)
            needed = tuple(columns_for(parameters.get("condition_cols"), i))
            tables.append(TablePair(p, g, needed, not free, name, terms))
    return tables
