"""Strict rules for tables: whether rows, as tuples, match when each needed gold column has its own predicted column, and if not, why.

Matching rows and columns at once under a tolerance is as hard as hypergraph isomorphism in general; every answer here is exact and
deterministic. Work is counted, never timed: at a limit the answer is `limit` and not a guess.

1. Columns of the same name or place are tried first: a correct answer needs one comparison of each column.
2. Ordered: a predicted column is a candidate for a needed gold column when every cell is equal; Kuhn matching of the columns.
3. Unordered: a candidate has the same multiset of keys. Numbers near each other share a key: chains of overlap between gold points and
   the intervals the predictions accept (`strict_columns`). The rest is `row_multisets`. If only some rows are tied, only they may
   change places.
4. If the table agrees only with columns whose labels contradict each other, it does not match.

A reason names the smallest fact that decides the verdict; unmatched cells are found row by row, or without order as the fewest gold cells
that have no partner. A cause of refusal says why the reference may accept; `flip_causes` says why it refuses what
strict accepts.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from evalsuite.compare.bipartite_matching import largest_flow
from evalsuite.compare.messages import (
    ROWS_UNPAIRED,
    Closeness,
    are_reasons_wanted,
    cell_of_row,
    cells_differ,
    closest,
    cut,
    labels_contradict,
    nearest_by_rank,
    no_match,
    one_for_two,
    row_count,
    rows_scrambled,
    too_few_columns,
    unlike_texts,
)
from evalsuite.compare.numbers import Number, Tolerance
from evalsuite.compare.row_multisets import (
    MOST_LEFT,
    CapReachedError,
    CodedColumns,
    last_rows,
    match_rows,
)
from evalsuite.compare.strict_columns import (
    Matching,
    Places,
    StrictColumn,
    equal,
    in_likely_order,
    in_readings,
    key,
    likely_columns,
    matched_as,
    place,
    places_of,
    show,
    verdict_of_candidates,
)
from evalsuite.compare.table_diff import Rows, TableDiff
from evalsuite.compare.values import Cell
from evalsuite.compare.verdict import Strict
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.import_ref import np
from evalsuite.core.scores import Fault

# Up to this many columns with the same first rows are compared before all others.
_TWINS_TRIED: Final = 8
# Up to this many rows are looked at to find one whose key the other side has too.
_ROWS_TRIED: Final = 5


def match_columns(
    gold: Sequence[StrictColumn],
    predicted: Sequence[StrictColumn],
    *,
    n_gold: int,
    n_predicted: int,
    ordered: bool,
    ties: Sequence[int] | None = None,
    evidence: TableDiff | None = None,
) -> Matching:
    """The strict verdict on needed gold columns against all predicted ones, of n_gold and n_predicted rows.

    If order counts, rows of the same number in `ties` (one for each row) may still change places.
    """
    if len(predicted) < len(gold) or n_gold != n_predicted:
        return Matching(verdict="shape")
    if n_gold == 0 or not gold:
        return matched_as(range(len(gold)))
    assert evidence is not None
    matching = _match(gold, predicted, ordered, ties, evidence)
    if not (matching.is_equal and contradicting_pairs(matching, gold, predicted)):
        return matching
    heeding = _match(gold, predicted, ordered, ties, evidence, heeds_labels=True)
    return heeding if heeding.verdict in ("equal", "limit") else replace(matching, verdict="labels")


def contradicting_pairs(matching: Matching, gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn]) -> list[tuple[int, int]]:
    """The pairs of a full assignment (indices) whose labels contradict each other."""
    return [(i, k) for i, k in enumerate(matching.assignment) if k is not None and gold[i].contradicts(predicted[k])]


def _match(
    gold: Sequence[StrictColumn],
    predicted: Sequence[StrictColumn],
    ordered: bool,
    ties: Sequence[int] | None,
    evidence: TableDiff,
    *,
    heeds_labels: bool = False,
) -> Matching:
    n_rows = evidence.n_rows
    if not ordered:
        return match_rows(gold, predicted, evidence, heeds_labels)
    matching = _match_in_order(gold, predicted, heeds_labels, evidence)
    if matching.is_equal or ties is None or len(set(ties)) == n_rows:
        return matching
    # The reason still compares row by row, because gold requires the order.
    bag_match = match_rows(gold, predicted, evidence, heeds_labels, ties)
    return replace(bag_match, moved=True) if bag_match.is_equal else matching


def _match_in_order(gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn], heeds_labels: bool, evidence: TableDiff) -> Matching:
    """Compare each column with its likely partner first; the others are compared only for a column whose partner is unequal."""
    guesses = likely_columns(gold, predicted)
    likely = zip(gold, [predicted[k] for k in guesses or ()], strict=False)
    # The unlike rows of all pairs that may be equal are computed at once.
    evidence.look((column.position, partner.position) for column, partner in likely if heads_fit(column, partner))
    twins, near = evidence.with_head(1, range(len(predicted))), FirstRows(predicted, evidence, heeds_labels)
    chosen: dict[int, int] = {}
    candidates: list[list[int]] = []
    for i, column in enumerate(gold):
        same_heads = twins.get(evidence.head(0, column.position), [])
        first = [guesses[i]] if guesses is not None else same_heads[:_TWINS_TRIED]
        free = (k for k in first if k not in chosen and near.may_be(column, k))
        partner = next((k for k in free if column_fits(column, predicted[k], evidence)), None)
        options = [partner] if partner is not None else _first_fitting(column, predicted, near.possible_columns(column), chosen, evidence)
        candidates.append(options)
        partner = next((k for k in options if k not in chosen), None)
        if partner is not None:
            chosen[partner] = i
    if all(candidates) and len(chosen) < len(gold):
        # The assignment is computed only if each column has a candidate.
        candidates = list(map(near.equal_columns, gold))
    if len(chosen) == len(gold):
        return matched_as([k for k, _ in sorted(chosen.items(), key=lambda pair: pair[1])])
    return verdict_of_candidates(candidates, "equal")


class FirstRows:
    """The predicted columns by their cell in one of the first rows, so that a gold column of a wide table is not compared with all of them.

    Columns that one cell cannot rule out are always among the results: those with percent signs, or with an integer too large for a float.
    """

    def __init__(self, predicted: Sequence[StrictColumn], evidence: TableDiff, heeds_labels: bool) -> None:
        self.predicted, self.evidence, self.heeds_labels = predicted, evidence, heeds_labels
        self._known: dict[Tolerance, Places] = {}

    @cached_property
    def row(self) -> int:
        """The row in which most predicted columns differ."""
        heads = [column.head for column in self.predicted]
        return max(range(len(heads[0])), key=lambda row: len({key(head[row]) for head in heads}))

    @cached_property
    def _columns(self) -> tuple[list[int], list[int], dict[Any, list[int]]]:
        """The columns that are always among the results, those with a number in the row, and the others by their cell."""
        always, numbers, others = list[int](), list[int](), dict[Any, list[int]]()
        for k, column in enumerate(self.predicted):
            cell = column.head[self.row]
            if column.has_percent or _is_beyond_floats(cell):
                always.append(k)
            elif place(cell) is not None:
                numbers.append(k)
            else:
                others.setdefault(cell, []).append(k)
        return always, numbers, others

    def may_be(self, gold: StrictColumn, k: int) -> bool:
        """Whether labels, if they count, allow that predicted column k is a gold column."""
        return not (self.heeds_labels and gold.contradicts(self.predicted[k]))

    def equal_columns(self, gold: StrictColumn) -> list[int]:
        """The predicted columns (index) that equal a gold column, likely ones first."""
        return [k for k in self.possible_columns(gold) if column_fits(gold, self.predicted[k], self.evidence)]

    def possible_columns(self, gold: StrictColumn) -> list[int]:
        """The predicted columns (index) that first rows, and labels if they count, do not rule out for a gold column; likely ones first."""
        cell = gold.head[self.row]
        always, numbers, others = self._columns
        near: Sequence[int] = range(len(self.predicted))
        if not gold.has_percent and not _is_beyond_floats(cell):
            near_rows = (
                [numbers[at] for at in self._places(gold.tolerance).find_near(cell)] if place(cell) is not None else others.get(cell, [])
            )
            near = [*always, *near_rows]
        fitting = (k for k in near if self.may_be(gold, k) and heads_fit(gold, self.predicted[k]))
        return in_likely_order(gold, self.predicted, fitting)

    def _places(self, tolerance: Tolerance) -> Places:
        if tolerance not in self._known:
            cells = [self.predicted[k].head[self.row] for k in self._columns[1]]
            self._known[tolerance] = Places.from_numbers(cells, tolerance)
        return self._known[tolerance]


def _is_beyond_floats(cell: Cell) -> bool:
    """Whether a cell is an integer too large for a float."""
    return isinstance(cell, int | Number) and place(cell) is None


def _first_fitting(
    gold: StrictColumn, predicted: Sequence[StrictColumn], near: Sequence[int], chosen: Mapping[int, int], evidence: TableDiff
) -> list[int]:
    """The fitting ones of some predicted columns up to the first that no other gold column has: one candidate is enough for now."""
    evidence.look([(gold.position, predicted[k].position) for k in near])
    options = []
    for k in near:
        if column_fits(gold, predicted[k], evidence):
            options.append(k)
            if k not in chosen:
                break
    return options


def heads_fit(gold: StrictColumn, predicted: StrictColumn) -> bool:
    """Whether the first rows of two columns allow that they are equal."""
    if gold.has_percent or predicted.has_percent:
        return True
    return all(x is y or equal(x, y, gold.tolerance) for x, y in zip(gold.head, predicted.head, strict=True))


def column_fits(gold: StrictColumn, predicted: StrictColumn, evidence: TableDiff) -> bool:
    """Whether a predicted column equals gold in every row. The first rows are compared first."""
    if gold.has_percent or predicted.has_percent:
        return any(column_fits(*pair, evidence) for pair in in_readings(gold, predicted))
    if not heads_fit(gold, predicted):
        return False
    return not any(map(len, unequal_rows(gold, predicted, evidence)))


def unequal_rows(gold: StrictColumn, predicted: StrictColumn, evidence: TableDiff) -> Iterator[Rows]:
    """The rows with unequal cells in row order, in parts."""
    i, k = gold.position, predicted.position
    unlike = evidence.unlike(i, k)
    coded = evidence.try_in_bulk(lambda bulk: CodedColumns([gold], [predicted], bulk)) if len(unlike) > MOST_UNLIKE else None
    if coded is not None:
        yield from (unlike[places] for places in coded.unequal_in_order(0, 0, unlike, unlike))
        return
    yield from ([row] for row, a, b in evidence.cells(i, k, unlike) if not equal(gold.read(a), predicted.read(b), gold.tolerance))


MOST_EDGES: Final = 100_000
# Up to so many different numbers are paired for a reason.
MOST_NUMBERS: Final = 500
# Up to this many differing cells are counted.
MOST_COUNTED: Final = 10_000
MOST_PARTNERS: Final = 500
# Above this many cells that are written differently, two columns are compared in bulk.
MOST_UNLIKE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """The rows (from 0) of the gold cells that differ, and the first of them. `partners` are the predicted cells compared with it: one when
    order counts, without order the remaining ones, in file order. `bound` ("more than " or "at most ") is set if the number of rows is not
    exact.
    """

    rows: Rows
    first: Cell
    partners: Sequence[Cell]
    bound: str = ""


def unmatched_in_order(gold: StrictColumn, predicted: StrictColumn, evidence: TableDiff) -> Unmatched:
    """The rows whose cells differ, up to a limit, of columns that are not equal."""
    parts, rows = unequal_rows(gold, predicted, evidence), list[int]()
    for part in parts:
        rows += map(int, part)
        if len(rows) > MOST_COUNTED:
            break
    is_more = len(rows) > MOST_COUNTED and any(map(len, parts))
    return Unmatched(
        rows=rows[:MOST_COUNTED] if is_more else rows,
        first=gold.cell(rows[0]),
        partners=[predicted.cell(rows[0])],
        bound="more than " if is_more else "",
    )


def unmatched_in_bags(gold: StrictColumn, predicted: StrictColumn, evidence: TableDiff) -> Unmatched:
    """`unmatched_in_any_order` of big unequal columns. Only loose groups, the first unmatched cell and some partners are read."""
    coded, near, bound = CodedColumns([gold], [predicted], evidence), list[Cell](), "at most "
    try:
        codes = coded.codes(0, 0)
        surplus = np.where(codes.is_loose, 0, codes.surplus())
        loose = tuple(coded.open_rows(*coded.pair(0, 0), codes))
        if max(map(len, loose)) <= MOST_LEFT:
            left = gold.cells_at(loose[0]), predicted.cells_at(loose[1])
            unmatched = unmatched_in_any_order(*left, gold.tolerance)
            bound, near, loose = unmatched.bound, list(unmatched.partners), (loose[0][unmatched.rows], loose[1][:0])
        else:
            spare = evidence.spare([gold.position], [predicted.position])
            loose = loose[0][np.isin(loose[0], spare[0])], loose[1][np.isin(loose[1], spare[1])]
        # The rows of loose codes have no surplus.
        rows = np.sort(np.concatenate([last_rows(codes.gold, surplus), loose[0]]))
        others = np.sort(np.concatenate([last_rows(codes.predicted, -surplus), loose[1]]))
    except CapReachedError:
        rows, others = evidence.spare([gold.position], [predicted.position])
    expected = gold.cell(rows[0])
    if len(others) > MOST_PARTNERS:
        others = coded.nearest(expected, others)
    return Unmatched(rows=rows, first=expected, partners=[*near, *predicted.cells_at(others)], bound=bound)


def unmatched_in_any_order(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> Unmatched:
    """The gold cells without a partner in a maximum pairing; cells with a plainly equal partner keep it."""
    spare, extra = _left_by_key(gold, predicted), _left_by_key(predicted, gold)
    predicted_counts = Counter(map(key, predicted))
    numbers = sorted((cell for cell in Counter(gold) if place(cell) is not None), key=lambda cell: predicted_counts[key(cell)] == 0)
    others = [cell for cell in Counter(predicted) if place(cell) is not None]
    bound = ""
    if any(place(cell) is not None for _, cell in spare):
        edges = _edges(numbers, others, tolerance)
        if edges is not None:
            supply, demand = Counter(gold), Counter(predicted)
            left, room = largest_flow([supply[c] for c in numbers], [demand[c] for c in others], edges)
            spare = [item for item in spare if place(item[1]) is None] + _last_positions(gold, dict(zip(numbers, left, strict=True)))
            extra = [item for item in extra if place(item[1]) is None] + _last_positions(predicted, dict(zip(others, room, strict=True)))
        else:
            bound = "at most "
    spare.sort(key=lambda item: item[0])
    extra.sort(key=lambda item: item[0])
    first = spare[0][1] if spare else None
    return Unmatched(rows=[row for row, _ in spare], first=first, partners=[cell for _, cell in extra], bound=bound)


def _left_by_key(cells: Sequence[Cell], others: Sequence[Cell]) -> list[tuple[int, Cell]]:
    """The (row, cell) that remain when cells with equal keys are paired off from the top."""
    spare = Counter(map(key, others))
    left = []
    for row, cell in enumerate(cells):
        name = key(cell)
        if spare[name] > 0:
            spare[name] -= 1
        else:
            left.append((row, cell))
    return left


def _edges(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> list[list[int]] | None:
    """For each gold number the predictions that equal it, plainly equal ones first; None if there are too many pairs to compare."""
    places = places_of(gold, predicted, tolerance)
    if places is None or len(gold) > MOST_NUMBERS or sum(map(places.n_near, gold)) > MOST_EDGES:
        return None
    keys = list(map(key, predicted))
    edges = []
    for cell in gold:
        pairs = [k for k in places.find_near(cell) if equal(cell, predicted[k], tolerance)]
        name = key(cell)
        edges.append([k for k in pairs if keys[k] == name] + [k for k in pairs if keys[k] != name])
    return edges


def _last_positions(cells: Sequence[Cell], counts: dict[Cell, int]) -> list[tuple[int, Cell]]:
    """The last `counts[cell]` positions of each cell."""
    n_left = {cell: n for cell, n in counts.items() if n}
    rows = []
    for row in range(len(cells) - 1, -1, -1):
        if n_left.get(cells[row], 0):
            n_left[cells[row]] -= 1
            rows.append((row, cells[row]))
    return rows


def cause_of_refusal(gold: Cell, predicted: Cell) -> str:
    """Why the reference may have called these cells equal."""
    if (gold is None) != (predicted is None):
        return "null against a value"
    a, b = place(gold), place(predicted)
    if a is not None and b is not None:
        if (a == 0) != (b == 0):
            return "value taken for zero"
        if a == -b:
            return "sign"
        return "large integers" if isinstance(gold, int) and abs(a) >= 1e9 else "tolerance by size"
    return "leading zeros" if _same_with_zeros(gold, predicted) else "typed by column"


def most_similar(gold: Cell, predicted: Sequence[Cell]) -> Cell:
    """The predicted cell most similar to gold: equal except for leading zeros, else the nearest number, else the first."""
    zeros = next((cell for cell in predicted if _same_with_zeros(gold, cell)), None)
    if zeros is not None:
        return zeros
    at = place(gold)
    numbers = [cell for cell in predicted if place(cell) is not None]
    if at is not None and numbers:
        return min(numbers, key=lambda cell: abs((place(cell) or 0.0) - at))
    return predicted[0] if predicted else None


def _same_with_zeros(gold: Cell, predicted: Cell) -> bool:
    """Whether one is text of digits that begins with zeros, and both are the same number."""
    texts = [
        cell[1] for cell in (gold, predicted) if isinstance(cell, tuple) and cell[0] == "text" and cell[1].lstrip("+-").startswith("0")
    ]
    if not texts:
        return False
    try:
        values = [float(cell[1]) if isinstance(cell, tuple) and cell[0] == "text" else place(cell) for cell in (gold, predicted)]
    except ValueError:
        return False
    return values[0] is not None and values[0] == values[1]


def explain(
    matching: Matching,
    gold: Sequence[StrictColumn],
    predicted: Sequence[StrictColumn],
    evidence: TableDiff | None,
    *,
    n_gold: int,
    n_predicted: int,
    ordered: bool,
) -> Strict:
    """The strict score 0 with its reason and the kind of fact that decides it."""
    if not are_reasons_wanted() and matching.verdict != "limit":
        return Strict(value=0.0, reason="", kind=matching.verdict)
    if matching.verdict == "shape":
        return _shape(gold, predicted, n_gold, n_predicted)
    if matching.verdict == "limit":
        reason = f"no matching column assignment among {matching.n_tried} tried"
        return Strict(value=0.0, reason=f"LIMIT: {reason}", kind="limit", fault=Fault(code="LIMIT", detail=reason))
    if matching.verdict == "labels":
        return _labels(matching, gold, predicted)
    assert evidence is not None
    if matching.verdict == "no column":
        return _no_column(matching, gold, predicted, ordered, evidence)
    if matching.verdict == "not injective":
        return _one_for_two(matching, gold, predicted)
    return _rows(matching, gold, predicted, n_gold, evidence)


def _shape(gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn], n_gold: int, n_predicted: int) -> Strict:
    if n_gold != n_predicted:
        return Strict(
            value=0.0, reason=row_count(n_predicted, n_gold), kind="row count", details={"n_rows": n_predicted, "n_gold_rows": n_gold}
        )
    kind = "one column for two" if n_gold else "header only"
    reason = too_few_columns(kind, len(gold), len(predicted))
    return Strict(value=0.0, reason=reason, kind=kind, details={"n_columns": len(predicted)})


def _labels(matching: Matching, gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn]) -> Strict:
    i, k = contradicting_pairs(matching, gold, predicted)[0]
    namesake = next(column for column in predicted if column.label == gold[i].label)
    reason = labels_contradict(_name_of(gold[i]), _name_of(predicted[k]), _name_of(namesake))
    details = {"gold_column": gold[i].position + 1, "predicted_column": predicted[k].position + 1}
    return Strict(value=0.0, reason=reason, kind="labels", details=details)


def _name_of(column: StrictColumn) -> tuple[int, str]:
    return column.position, column.name


def _no_column(
    matching: Matching, gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn], ordered: bool, evidence: TableDiff
) -> Strict:
    column = gold[next(i for i, options in enumerate(matching.candidates) if not options)]
    nearest, why = nearest_column(column, predicted, ordered, evidence)
    unmatched = (unmatched_in_order if ordered else unmatched_in_bags)(column, nearest, evidence)
    header = [partner.name for partner in predicted]
    details: dict[str, Any] = {
        "gold_column": column.position + 1,
        "predicted_column": nearest.position + 1,
        "n_differ": len(unmatched.rows),
    }
    row, expected = int(unmatched.rows[0]), unmatched.first
    predicted_cell = unmatched.partners[0] if ordered else most_similar(expected, unmatched.partners)
    by_key = None if ordered else _cell_by_key(matching, gold, predicted, (column, nearest), unmatched, evidence)
    if by_key is not None:
        row, expected, predicted_cell, first = by_key
    else:
        cells = " vs ".join(_unlike(expected, predicted_cell)) if ordered else f"{cut(show(expected))} has no partner"
        first = f"at row {row + 1}: {cells}"
    details |= {"first_row": row + 1, "gold_cell": cut(show(expected))}
    if ordered or by_key is not None:
        details["gold_cell"], details["predicted_cell"] = _unlike(expected, predicted_cell)
    if unmatched.bound:
        details[unmatched.bound.strip().replace(" ", "_")] = True
    differ = cells_differ(len(unmatched.rows), len(column.source), first, bound=unmatched.bound)
    reason = no_match(column.position, column.name, closest(header, nearest.position, differ, why=why))
    return Strict(value=0.0, reason=reason, kind=cause_of_refusal(expected, predicted_cell), details=details)


def _unlike(first: Cell, second: Cell) -> tuple[str, str]:
    return unlike_texts(show(first), show(second))


def _cell_by_key(
    matching: Matching,
    gold: Sequence[StrictColumn],
    predicted: Sequence[StrictColumn],
    pair: tuple[StrictColumn, StrictColumn],
    unmatched: Unmatched,
    evidence: TableDiff,
) -> tuple[int, Cell, Cell, str] | None:
    """(Row, gold's cell, the predicted cell of the row with the same key, the words for both) of an unmatched cell whose row has a key."""
    column, nearest = pair
    guesses = likely_columns(gold, predicted) or []
    partners = {gold[i].position: predicted[k].position for i, k in enumerate(guesses)}
    partners |= {gold[i].position: predicted[options[0]].position for i, options in enumerate(matching.candidates) if options}
    pairs = [(i, k) for i, k in partners.items() if i != column.position and k != nearest.position]
    for row in map(int, unmatched.rows[:_ROWS_TRIED]):
        if (partner := evidence.row_by_key(row, pairs)) is None:
            continue
        gold_cell, predicted_cell = column.cell(row), nearest.cell(partner.row)
        if not equal(gold_cell, predicted_cell, column.tolerance):
            return row, gold_cell, predicted_cell, cell_of_row(nearest.name, partner.cells, *_unlike(predicted_cell, gold_cell))
    return None


def nearest_column(
    gold: StrictColumn, predicted: Sequence[StrictColumn], ordered: bool, evidence: TableDiff
) -> tuple[StrictColumn, Closeness]:
    """The predicted column to compare gold's with in the reason, and why this one.

    See `nearest_by_rank`. Of many columns only the first rows are compared; without order these say little, so the name decides.
    """
    limit = evidence.n_sampled(len(predicted))
    all_rows = evidence.n_rows <= limit
    namesakes = [column for column in predicted if column.name.casefold() == gold.name.casefold()]
    if namesakes and not (ordered or all_rows):
        return min(namesakes, key=lambda column: abs(column.position - gold.position)), "name"
    cells = _first_cells(gold, limit)
    keys = Counter() if ordered else Counter(map(key, cells))
    ranks: dict[int, tuple[float, int]] = {}
    for column in predicted:
        others = _first_cells(column, limit)
        if ordered:
            n_differ = sum(not equal(a, b, gold.tolerance) for a, b in zip(cells, others, strict=True))
        else:
            n_differ = (keys - Counter(map(key, others))).total()
        ranks[column.position] = n_differ, abs(column.position - gold.position)
    nearest, why = nearest_by_rank(ranks, [column.position for column in namesakes], is_sample=not all_rows)
    return next(column for column in predicted if column.position == nearest), why


def _first_cells(column: StrictColumn, n: int) -> Sequence[Cell]:
    return column.head[:n] if n <= len(column.head) else column.cells[:n]


def _one_for_two(matching: Matching, gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn]) -> Strict:
    golds, offers = _too_few(matching)
    reason = one_for_two([_name_of(gold[i]) for i in golds], [_name_of(predicted[k]) for k in offers])
    details = {"gold_columns": [gold[i].position + 1 for i in golds], "predicted_columns": [predicted[k].position + 1 for k in offers]}
    return Strict(value=0.0, reason=reason, kind="one column for two", details=details)


def _too_few(matching: Matching) -> tuple[list[int], list[int]]:
    """Gold columns that share too few predicted candidates (Hall's condition): those reachable from one without a partner."""
    owner = {k: i for i, k in enumerate(matching.assignment) if k is not None}
    left_out = matching.assignment.index(None)
    golds, offers = {left_out}, set[int]()
    queue = deque([left_out])
    while queue:
        for k in matching.candidates[queue.popleft()]:
            if k not in offers:
                offers.add(k)
                if owner[k] not in golds:
                    golds.add(owner[k])
                    queue.append(owner[k])
    return sorted(golds), sorted(offers)


def _rows(matching: Matching, gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn], n_rows: int, evidence: TableDiff) -> Strict:
    partners = [predicted[k] for k in matching.assignment if k is not None]
    n_left, at, complete = _count_unmatched(gold, partners, evidence)
    details: dict[str, Any] = {"n_rows": n_rows, "n_rows_disagree": n_left}
    if not n_left:
        return Strict(value=0.0, reason=ROWS_UNPAIRED, kind="rows scrambled", details=details)
    cells = [column.cell(at) for column in gold]
    row_cells = ", ".join(cut(show(cell)) for cell in cells[:4]) + (", ..." if len(gold) > 4 else "")
    details |= {"first_row": at + 1, "gold_row": [cut(show(cell)) for cell in cells]}
    reason = rows_scrambled(n_rows, n_left, at + 1, row_cells, is_exact=complete)
    pairs = [(column.position, partner.position) for column, partner in zip(gold, partners, strict=True)]
    if (partner := evidence.row_by_key(at, pairs)) is not None:
        for gold_cell, column, other in zip(cells, gold, partners, strict=True):
            predicted_cell = other.cell(partner.row)
            if not equal(gold_cell, predicted_cell, column.tolerance):
                reason += f"; {cell_of_row(other.name, partner.cells, *_unlike(predicted_cell, gold_cell))}"
                break
    return Strict(value=0.0, reason=reason, kind="rows scrambled", details=details)


def _count_unmatched(gold: Sequence[StrictColumn], partners: Sequence[StrictColumn], evidence: TableDiff) -> tuple[int, int, bool]:
    """(How many gold rows have no partner, the first of them, whether that number is exact.)"""
    coded = CodedColumns(gold, partners, evidence)
    rows, is_loose = coded.rows(), np.zeros(evidence.n_rows, bool)
    # Rows that are written alike have a partner for certain.
    spare, others = coded.evidence.spare([column.position for column in gold], [column.position for column in partners])
    for at in range(len(gold)):
        codes = coded.codes(at, at)
        rows = rows.split(codes, even_if_unequal=True) or rows
        is_loose |= codes.is_loose[codes.gold]
        are_open = np.isin(rows.gold[spare], rows.predicted[others])
        if not are_open.any():
            break
    surplus = rows.surplus()
    return int(np.maximum(surplus, 0).sum()), int(spare[(surplus[rows.gold[spare]] > 0).argmax()]), not (are_open & is_loose[spare]).any()
