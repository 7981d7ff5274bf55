"""Search the causes of wrong tables: repairs of one table against one gold table, then of lists of tables and of databases."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, Final

from evalsuite.analysis.causes import ERROR_HYPOTHESES, TABLE_CAUSES, TableCause
from evalsuite.analysis.causes.error_hypotheses import ErrorHypothesis, Fixed
from evalsuite.analysis.causes.table_alignment import (
    TOO_LARGE,
    Alignment,
    TablePair,
    pair_by_rank,
    pair_in_any_order,
    pair_in_place,
    table_pairs,
)
from evalsuite.analysis.causes.table_repairs import MOST_CHANCE, Repaired, set_column
from evalsuite.analysis.causes.values import Pair, is_null
from evalsuite.analysis.explain.search import (
    FITS,
    PROVED,
    Cause,
    Judge,
    Passes,
    chance_of_columns,
    chance_of_copies,
    chance_of_headers,
    chance_of_rows,
    show,
)
from evalsuite.compare.messages import lines_below, other_format
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import count_words
from evalsuite.core.scores import Fault, Table

MOST_ALTERNATIVES: Final = 3
# These causes are directly visible and fit whatever gold contains.
_FACT: Final = "value lost"
# These are proved by what else the tables have in common: NULL has no digits that could differ.
_OF_NULL: Final = ("value lost", "null and zero", "null word", "default value")
MOST_SWAPPED: Final = 6
MOST_TRIED: Final = 100


def explain_table(judge: Judge, form: Table) -> list[Cause] | None:
    """Return the proved causes of a wrong table, against whichever accepted gold proves any; None if nothing is proved.

    A file in another format than CSV has no cause: what is read of it is not its table.
    """
    if form.types is None and other_format(form.header, lines_below(form)):
        return None

    def unlikeness(pair: TablePair) -> tuple[int, int]:
        shared = {header.casefold() for header in pair.gold.header} & {header.casefold() for header in pair.prediction.header}
        return -len(shared), abs(pair.gold.n_rows - pair.prediction.n_rows)

    for pair in sorted(table_pairs(form, judge.parameters, "table", judge.rules), key=unlikeness):
        repaired = search_pair(pair, judge, judge.passes)
        if repaired is not None:
            return repaired[0]
    return None


def explain_tables(judge: Judge, form: Sequence[Table | Fault]) -> list[Cause] | None:
    """Return the proved causes of several submitted tables: another order of them, or causes of each wrong one."""
    golds = list(judge.parameters["gold"])
    if len(form) != len(golds) or any(isinstance(table, Fault) for table in form):
        return None
    swapped = _try_other_order(judge, form, len(golds))
    if swapped is not None:
        return swapped
    pairs = dict(enumerate(table_pairs(form, judge.parameters, "tables", judge.rules)))
    judges = {i: _judge_of_table(judge, i, gold=[golds[i]]) for i in pairs}
    return _explain_each(judge, list(form), pairs, lambda i, table: judges[i].passes([table]))


def explain_database(judge: Judge, form: Mapping[str, Table | Fault]) -> list[Cause] | None:
    """Return the proved causes of the wrong tables of a database."""
    names = list(judge.parameters.get("condition_tabs") or judge.parameters["gold"])
    keys = {key.lower(): key for key in form}
    pairs = {keys[pair.name.lower()]: pair for pair in table_pairs(form, judge.parameters, "database", judge.rules)}
    if len(pairs) < len(names):
        return None
    judges = {keys[name.lower()]: _judge_of_table(judge, i, condition_tabs=[name]) for i, name in enumerate(names)}
    return _explain_each(judge, dict(form), pairs, lambda key, table: judges[key].passes({key: table}))


def _explain_each(judge: Judge, form: Any, pairs: Mapping[Any, TablePair], passes: Callable[[Any, Any], bool]) -> list[Cause] | None:
    """Return the causes of each wrong table of a form, if all of them together pass; `passes` judges the table of one key alone."""
    repaired, causes = copy(form), list[Cause]()
    for i, (key, pair) in enumerate(pairs.items()):
        if passes(key, form[key]):
            continue
        mended = search_pair(pair, judge, partial(passes, key))
        if mended is None:
            return None
        causes += [_place_in_table(cause, i, pair.name) for cause in mended[0]]
        repaired[key] = mended[1]
    return causes if causes and judge.passes(repaired) else None


def _judge_of_table(judge: Judge, i: int, **changed: Any) -> Judge:
    """Return the judge for the i-th table alone."""
    for key in ("condition_cols", "ignore_orders"):
        per_table = judge.parameters.get(key)
        if isinstance(per_table, list | tuple) and i < len(per_table):
            changed[key] = [per_table[i]]
    return judge.set_parameters(**changed)


def _place_in_table(cause: Cause, i: int, name: str) -> Cause:
    where = f"table {name!r}: {cause.where}" if cause.where else f"table {name!r}"
    return replace(cause, says=f"table {i + 1}: {cause.says}", where=where)


def _try_other_order(judge: Judge, form: Sequence[Any], n: int) -> list[Cause] | None:
    """Try the tables in another order in which each matches its own gold."""
    if not 2 <= n <= MOST_SWAPPED:
        return None
    order: list[int] = []
    for i in range(n):
        table_judge = _judge_of_table(judge, i, gold=[judge.parameters["gold"][i]])
        place = next((k for k in [i, *range(n)] if k not in order and table_judge.passes([form[k]])), None)
        if place is None:
            return None
        order.append(place)
    if order == list(range(n)) or not judge.passes([form[k] for k in order]):
        return None
    return [Cause("tables swapped", f"{sum(k != i for i, k in enumerate(order))} tables are in another position than in gold")]


def search_pair(pair: TablePair, judge: Judge, passes: Passes) -> tuple[list[Cause], Table] | None:
    """Return (the causes, the repaired table that passes), the cheapest and simplest first."""
    start = pair.align(judge.rules)
    if start is None:
        judge.budget.note(TOO_LARGE)
        return None
    even = pair.gold.n_rows == pair.prediction.n_rows
    order = ["file", "wrong order", "columns swapped", *(["values", "rows"] if even else ["rows", "values"]), "columns"]
    half_way: list[tuple[Cause, Table]] = []
    for phase in order:
        if phase == "values":
            mended = _values(start, passes)
            if mended is not None:
                return mended
            continue
        # A repair that has a cause of its own name is tried early, and not again in its phase.
        causes = [entry for entry in TABLE_CAUSES if entry.name == phase or (entry.phase == phase and entry.name not in order)]
        for repair in causes:
            for repaired in repair.repair(start):
                name, gold_in = repaired.name or repair.name, repaired.puts_gold_in
                chance, in_common = _chances(start, repaired, repair)
                cause = Cause(name, repaired.says, repaired.where, puts_gold_in=gold_in, chance=chance, in_common=in_common)
                if passes(repaired.table):
                    return [cause], repaired.table
                if len(half_way) < MOST_ALTERNATIVES:
                    half_way.append((cause, repaired.table))
        if judge.budget.is_spent:
            return None
    # First a repair of rows that is not enough, then one of values.
    for cause, table in half_way:
        aligned = replace(pair, prediction=table).align(judge.rules)
        mended = _values(aligned, passes) if aligned is not None else None
        if mended is not None:
            return [cause, *mended[0]], mended[1]
    return None


def _chances(a: Alignment, repaired: Repaired, cause: TableCause) -> tuple[float, float]:
    """Return how likely unrelated tables share as many cells or show the finding, whichever is likelier; and the other one of the two."""
    if cause.phase == "file":
        return min(repaired.chance, FITS), 1.0
    if cause.name == "wrong grouping level":
        # Its rows are none of gold's: only the numbers can prove it.
        return repaired.chance, 1.0
    if cause.name == "rows scrambled":
        shared = chance_of_columns(a)
    else:
        shared = chance_of_rows(pair_in_any_order(a) if cause.name == "wrong order" else a, of_list=True)
    finding = repaired.chance or (chance_of_copies(a) if cause.name == "rows duplicated" else 1.0)
    if cause.name == "missing column":
        shared *= chance_of_headers(a)
        # That a column is missing is visible.
        shared = min(FITS, shared) if shared <= MOST_CHANCE else shared
    # Extra rows by themselves are not a cause.
    shared = max(shared, PROVED) if cause.name == "extra rows" else shared
    return (shared, 1.0) if finding == 1.0 else (max(shared, finding), min(shared, finding))


def _values(a: Alignment, passes: Passes) -> tuple[list[Cause], Table] | None:
    """Find a hypothesis for each column with wrong cells, so that all of them together pass.

    First as the rows are paired, then by position, then sorted; each also with the cells that the tolerance hides, because the official
    rules sort them too.
    """
    if a.missing or a.extra:
        return None
    seen_exchanges = set[tuple[tuple[tuple[int, int], ...], ...]]()
    for view in [a] if a.ordered or a.keyed else [a, pair_in_place(a), pair_by_rank(a)]:
        for view_ in (view, replace(view, exact=True)) if a.rules == "official" else (view,):
            if view_.wrong in seen_exchanges:
                continue
            seen_exchanges.add(view_.wrong)
            mended = _values_in(view_, passes)
            if mended is not None:
                return mended
    return None


def _values_in(a: Alignment, passes: Passes) -> tuple[list[Cause], Table] | None:
    wrong = [j for j, rows in enumerate(a.wrong) if rows]
    fitting = {j: list(_find_fitting(a, j)) for j in wrong}
    if not wrong or not all(fitting.values()):
        return None
    for attempt in range(MOST_ALTERNATIVES):
        if attempt and all(attempt >= len(entries) for entries in fitting.values()):
            return None
        chosen = {j: fitting[j][min(attempt, len(fitting[j]) - 1)] for j in wrong}
        if not passes(_undo_columns(a, chosen)):
            continue
        # A column that the scorer accepts unchanged is not part of the cause.
        for j in wrong if len(wrong) > 1 else ():
            rest = {other: entries for other, entries in chosen.items() if other != j}
            if rest and passes(_undo_columns(a, rest)):
                chosen = rest
        return [_cause(a, j, hypothesis, fixed) for j, (hypothesis, fixed) in chosen.items()], _undo_columns(a, chosen)
    return None


def _undo_columns(a: Alignment, chosen: Mapping[int, tuple[ErrorHypothesis, Fixed]]) -> Table:
    """Return the prediction with a hypothesis undone in some columns."""
    table = a.prediction
    for j, (_, fixed) in chosen.items():
        k = a.partners[j]
        assert k is not None
        cells = list(table.columns[k])
        for (_, row), value in zip(a.wrong[j], fixed.values, strict=True):
            cells[row] = value
        table = set_column(table, k, cells, like=a.gold.types[a.needed[j]] if a.gold.types else "")
    return table


def _find_fitting(a: Alignment, j: int) -> Iterator[tuple[ErrorHypothesis, Fixed]]:
    pairs = a.values(j, a.wrong[j])
    # If it fails for the first hundred of thousands of pairs, it does not hold for all of them.
    some = pairs[:: len(pairs) // MOST_TRIED] if len(pairs) > 2 * MOST_TRIED else ()
    for hypothesis in ERROR_HYPOTHESES:
        if some and hypothesis.fix(some) is None:
            continue
        fixed = None if hypothesis.partial and not _some_are_right(a, j) else hypothesis.fix(pairs)
        if fixed is not None:
            yield hypothesis, fixed


def _some_are_right(a: Alignment, j: int) -> bool:
    """Whether a cell of the column is right that a hypothesis would have made wrong: neither NULL nor 0."""
    wrong = set(a.wrong[j])
    right = (a.values(j, [rows])[0] for rows in a.pairs if rows not in wrong)
    return any(pair.gold_number != 0 and not is_null(pair.gold, native=pair.native) for pair in right)


def _changed_cells(a: Alignment, j: int, hypothesis: ErrorHypothesis, fixed: Fixed) -> tuple[Sequence[tuple[int, int]], Fixed]:
    """Return the cells of a column that a hypothesis changed, and its finding on them: not only those that the scorer refuses.

    Under strict rules cells within the tolerance, or in a form that is read all the same, were changed too, if the hypothesis holds for
    them. Under official rules one text makes a column of text, of which cells that are written as gold's are refused too.
    """
    k, rows = a.partners[j], a.wrong[j]
    assert k is not None
    gold, predicted = a.gold.columns[a.needed[j]], a.prediction.columns[k]
    if a.rules == "strict" and hypothesis.name != _FACT:
        by_key = tuple((g, p) for g, p in a.pairs if a.columns.gold_keys[j][g] != a.columns.predicted_keys[k][p])
        written = tuple((g, p) for g, p in a.pairs if gold[g] != predicted[p] and not _is_one_number(Pair(gold[g], predicted[p], a.native)))
        for changed in (written, by_key):
            also = hypothesis.fix(a.values(j, changed)) if len(changed) > len(rows) else None
            if also is not None:
                return changed, also
    return tuple((g, p) for g, p in rows if gold[g] != predicted[p]) or rows, fixed


def _is_one_number(pair: Pair) -> bool:
    return pair.gold_number is not None and pair.gold_number == pair.predicted_number


def _cause(a: Alignment, j: int, hypothesis: ErrorHypothesis, fixed: Fixed) -> Cause:
    k = a.partners[j]
    assert k is not None
    rows, fixed = _changed_cells(a, j, hypothesis, fixed)
    first = a.values(j, rows[:1])[0]
    place = f"{len(rows)} of {count_words(a.gold.n_rows, 'cell')} of gold column {a.needed[j] + 1}"
    wrong = set(rows)
    scope = hypothesis.scope(a.values(j, [pair for pair in a.pairs if pair not in wrong])) if hypothesis.scope is not None else ""
    at = f"column {k + 1} {show(a.prediction.header[k])}, first at row {rows[0][1] + 1}"
    where = f"{at}: gold {show(first.gold)}, submitted {show(first.predicted)}"
    return Cause(
        hypothesis.name,
        f"{fixed.says or hypothesis.says}{' ' if scope else ''}{scope}, in {place}",
        f"{fixed.where}; {where}" if fixed.where else where,
        hypothesis=None if hypothesis.name == _FACT else hypothesis,
        pairs=a.values(j, a.wrong[j]),
        column=a.gold.columns[a.needed[j]],
        puts_gold_in=hypothesis.name == _FACT,
        chance=chance_of_rows(a) if hypothesis.name in _OF_NULL else 0.0,
        in_common=1.0 if hypothesis.name in _OF_NULL else chance_of_rows(a, without_key=True),
    )
