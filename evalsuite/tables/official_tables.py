"""Whether a predicted table holds the needed columns of a gold table, under the official rules.

Each needed gold column must equal some predicted column; headers, further columns and the association of cells to rows are not looked
at (Spider2 `eval_utils.compare_pandas_table`). The reference compares every pair of columns anew; here each column is typed and sorted
at most once, and columns whose text is equal are accepted as they stand.
"""

from collections.abc import Sequence
from typing import Any

from evalsuite.errors import describe
from evalsuite.tables.digested import AnyTable, agreed_rows, exact_table
from evalsuite.tables.evidence import Comparisons, Evidence, first_rows
from evalsuite.tables.fetched import database_columns
from evalsuite.tables.official_cells import RESULT_SUITES, Column, Reference, Uncomparable, columns_equal, differing_rows
from evalsuite.tables.official_packed import OfficialColumns, partners_of
from evalsuite.tables.packed import packed_of
from evalsuite.tables.pandas_typing import Typed, official_frame, raw_column, typed_column
from evalsuite.tables.wording import FEW_RANKED_CELLS, LONGEST_FLOAT, RANKED_CELLS, all_found, count, no_equal, shorten, shown
from evalsuite.types import Fault, Score, Table


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
    n_agreed = agreed_rows(prediction, gold, ignore_order=ignore_order)
    if n_agreed is not None:
        return all_found(n_agreed, [(i + 1, i + 1) for i in chosen])
    prediction, gold = exact_table(prediction), exact_table(gold)
    if prediction.n_rows != gold.n_rows:
        reason = f"{count(prediction.n_rows, 'row')} handed in, gold has {gold.n_rows}"
        return Score(official=0.0, reason=reason, details={"n_rows": prediction.n_rows, "n_gold_rows": gold.n_rows})
    evidence = (comparisons or Comparisons()).of(gold, prediction)
    is_safe = gold.types is None and _is_safe_text(prediction)
    same = evidence.identical(chosen) if is_safe else None
    if same is not None:
        return all_found(gold.n_rows, [(i + 1, k + 1) for i, k in zip(chosen, same, strict=True)])
    predicted = Side(evidence.predicted, range(len(prediction.columns)), ignore_order, reference)
    expected = Side(evidence.gold, chosen, ignore_order, reference)
    if is_safe and evidence.packed is not None and (found := _packed(expected, predicted, evidence)) is not None:
        return found
    try:
        return _compare(expected, predicted, evidence)
    except Uncomparable as error:
        return Score(official=0.0, reason=f"the reference fails on these columns: {error}", details={"reference_fails": True})


def match_any_table(
    prediction: AnyTable,
    golds: Sequence[AnyTable | Fault],
    *,
    needed: Sequence[Sequence[int] | Fault],
    ignore_order: bool = False,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """The score against the first gold that matches, else against the one it came nearest to.

    A gold that cannot be read or judged does not stop the others, but without a match it leaves the verdict open. A `Fault` in `needed`
    says why the reference dies at that gold.
    """
    scores: list[Score] = []
    for position, (gold, columns) in enumerate(zip(golds, needed, strict=True), start=1):
        if isinstance(gold, Fault):
            score = Score(official=None, reason=describe(gold), fault=gold)
        elif isinstance(columns, Fault):
            score = Score(official=None, reason=columns.detail, fault=columns)
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


class Side:
    """The chosen columns of one table as the reference compares them, each typed and sorted at most once."""

    def __init__(self, table: Table, chosen: Sequence[int], ignore_order: bool, reference: Reference) -> None:
        self.table = table
        self.chosen = chosen
        self.ignore_order = ignore_order
        self.reference = reference
        self._columns: dict[int, Column] = {}
        self._raw: dict[int, list[str]] = {}
        self._typed: list[Typed] | None = None
        self._native: list[Column] | None = None

    def __len__(self) -> int:
        return len(self.chosen)

    def first(self, n_rows: int) -> "Side":
        """The same of the first rows alone."""
        return Side(first_rows(self.table, n_rows), self.chosen, self.ignore_order, self.reference)

    def header(self, position: int) -> str:
        """The header of a chosen column without case."""
        return self.table.header[self.chosen[position]].casefold()

    def column(self, position: int) -> Column:
        """A chosen column, ready to be compared."""
        if position not in self._columns:
            column = self._unsorted(position)
            column = column.with_zeros() if self.reference in RESULT_SUITES else column
            self._columns[position] = column.ordered() if self.ignore_order else column
        return self._columns[position]

    def fingerprint(self, position: int) -> tuple[str, list[str]] | None:
        """What makes two columns of text files equal without a look at their values, or None for a database's column.

        In order it is the text itself; sorted apart it is the sorted text and the kind it is read as, which decides the order.
        """
        if self.table.types is not None:
            return None
        if position not in self._raw:
            raw = raw_column(self.table, self.chosen[position])
            self._raw[position] = sorted(raw) if self.ignore_order else raw
        kind = self._frame()[position].kind if self.ignore_order else ""
        return kind, self._raw[position]

    @property
    def safe(self) -> bool:
        """Whether no comparison with these columns can raise."""
        if self.table.types is not None:
            return all(self._unsorted(position).safe for position in range(len(self)))
        return _is_safe_text(self.table, self.chosen)

    def _unsorted(self, position: int) -> Column:
        if self.table.types is not None:
            if self._native is None:
                self._native = database_columns(self.table, self.chosen)
            return self._native[position]
        if self.ignore_order:
            return _as_column(self._frame()[position])
        # in order, a whole frame of numbers turned to floats compares as its columns do: one column is enough
        return _as_column(typed_column(raw_column(self.table, self.chosen[position])))

    def _frame(self) -> list[Typed]:
        if self._typed is None:
            self._typed = official_frame(self.table, self.chosen)
        return self._typed


def _as_column(typed: Typed) -> Column:
    if typed.overflows:
        return Column(typed.values, "other")
    return Column(typed.values, "text" if typed.kind in ("text", "raw") else "number")


def _compare(gold: Side, predicted: Side, evidence: Evidence) -> Score:
    shortcuts = gold.safe and predicted.safe
    pairs: list[tuple[int, int]] = []
    for position in range(len(gold)):
        partner = _twin(gold, position, predicted) if shortcuts else None
        if partner is None:
            partner = _first_equal(gold.column(position), predicted)
        if partner is None:
            return _explain(gold, predicted, evidence, len(pairs))
        pairs.append((gold.chosen[position] + 1, predicted.chosen[partner] + 1))
    return all_found(gold.table.n_rows, pairs)


def _is_safe_text(table: Table, chosen: Sequence[int] | None = None) -> bool:
    """Whether no cell of these text columns (None: all) is long enough to be an integer that no float can hold."""
    if (packed := packed_of(table)) is not None:
        return packed.longest <= LONGEST_FLOAT
    for index in range(len(table.columns)) if chosen is None else chosen:
        raw = raw_column(table, index)
        # Most columns are short as a whole: one join is cheaper than a look at each cell.
        if len("".join(raw)) > LONGEST_FLOAT and max(map(len, raw)) > LONGEST_FLOAT:
            return False
    return True


def _twin(gold: Side, position: int, predicted: Side) -> int | None:
    """The first predicted column that holds the same text, where both sides are text files."""
    print_of_gold = gold.fingerprint(position)
    if print_of_gold is None:
        return None
    return next((index for index in range(len(predicted)) if predicted.fingerprint(index) == print_of_gold), None)


def _first_equal(gold: Column, predicted: Side) -> int | None:
    """The first equal predicted column; the order is the reference's, for one that cannot be compared ends the search (not in dbt's)."""
    for index in range(len(predicted)):
        try:
            if columns_equal(gold, predicted.column(index)):
                return index
        except Uncomparable:
            if predicted.reference != "dbt":
                raise
    return None


def _packed(expected: "Side", predicted: "Side", evidence: Evidence) -> Score | None:
    """The score of packed tables, None where only their values can tell."""
    columns = OfficialColumns(evidence, ignore_order=expected.ignore_order, empty_is_zero=expected.reference in RESULT_SUITES)
    found = partners_of(columns, expected.chosen, len(predicted))
    if found is None:
        return None
    partners, is_all = found
    if is_all:
        return all_found(evidence.n_rows, [(i + 1, k + 1) for i, k in zip(expected.chosen, partners, strict=True)])
    return _explain(expected, predicted, evidence, len(partners), columns)


def _explain(expected: "Side", predicted: "Side", evidence: Evidence, n_found: int, packed: OfficialColumns | None = None) -> Score:
    """The 0 of the needed column `n_found`, which has no equal: names the predicted column with the fewest differing cells."""
    i, n_rows, n_predicted = expected.chosen[n_found], evidence.n_rows, len(predicted)
    gold, ignore_order = evidence.gold, expected.ignore_order
    details: dict[str, Any] = {"n_found": n_found, "n_needed": len(expected), "gold_column": i + 1, "n_rows": n_rows}
    if not n_predicted:
        return Score(official=0.0, reason=no_equal(i, gold.header[i], "no column handed in"), details=details)
    n_ranked = min(n_rows, max(1, (RANKED_CELLS if packed is None else FEW_RANKED_CELLS) // n_predicted))
    mine, theirs = expected, predicted
    if packed is not None:
        mine, theirs = expected.first(n_ranked), predicted.first(n_ranked)

    def distance(k: int) -> tuple[int, bool, int]:
        n_differ = len(differing_rows(mine.column(n_found), theirs.column(k), n_ranked))
        return n_differ, expected.header(n_found) != predicted.header(k), abs(i - k)

    k = min(range(n_predicted), key=distance)
    details["predicted_column"] = k + 1
    word = "nearest is" if n_ranked == n_rows else "a near one is"
    place = f"{word} predicted column {k + 1} {shorten(evidence.predicted.header[k])}"
    if packed is not None and packed.are_many:
        return Score(official=0.0, reason=no_equal(i, gold.header[i], f"{place}, whose cells cannot be paired"), details=details)
    rows = packed.differing(i, k) if packed is not None and not ignore_order else None
    if rows is not None and packed is not None:
        _, a, b = next(evidence.cells(i, k, rows[:1]))
        cells = f"{shown(packed.value(0, i, a))} vs {shown(packed.value(1, k, b))}"
    else:
        if packed is not None:
            # One column of packed text is typed as it is in its frame, but for how integers are held.
            mine, theirs = (Side(side.table, [at], ignore_order, side.reference) for side, at in ((expected, i), (predicted, k)))
        column, other = (mine.column(0), theirs.column(0)) if packed is not None else (mine.column(n_found), theirs.column(k))
        rows = differing_rows(column, other, n_rows)
        cells = f"{shown(column.values[rows[0]])} vs {shown(other.values[rows[0]])}"
    details["n_differ"] = len(rows)
    where = "first when sorted"
    if not ignore_order:
        where, details["first_row"] = f"first at row {int(rows[0]) + 1}", int(rows[0]) + 1
    reason = no_equal(i, gold.header[i], f"{place}, {len(rows)} of {n_rows} cells differ, {where}: {cells}")
    return Score(official=0.0, reason=reason, details=details)


def _numbered(score: Score, word: str, position: int, n_all: int, name: str) -> Score:
    """The score with `table 2 of 3 'orders.csv': ` in front of its reason."""
    from dataclasses import replace

    if n_all == 1:
        return score
    title = f" {shorten(name)}" if name else ""
    details = {**score.details, word: position}
    return replace(score, reason=f"{word} {position} of {n_all}{title}: {score.reason}", details=details)
