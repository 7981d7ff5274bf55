"""Shrinking cases of tables: fewer accepted golds, then rows of both sides together, then columns.

A row of the answer goes with the gold row that it stands for, so that a wrong cell does not become a missing row on the way.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from evalsuite.causes.row_repairs import pick
from evalsuite.causes.table_alignment import Alignment
from evalsuite.causes.table_pairs import TablePair, table_pairs
from evalsuite.explain.shrink import Shrinker, smallest
from evalsuite.tables.condition_columns import is_bare
from evalsuite.types import Rule, Table

# Above this many rows scrambled ones are put right; above that many another reason will do, too.
FEW_ROWS, MANY_ROWS = 3, 20
SCRAMBLED: Final = "rows scrambled"
Key = tuple[str, Any]
# A gold column and the answer's column for it; None where one side has none.
Columns = tuple[int | None, int | None]
Keeps = Callable[["Case"], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """The tables of both sides by (side, place) and the check's parameters; `reads` is the scorer's form."""

    reads: str
    tables: Mapping[Key, Table]
    parameters: Mapping[str, Any]

    def form(self) -> Any:
        """The answer as the scorer takes it."""
        own = {key[1]: table for key, table in self.tables.items() if key[0] == "prediction"}
        return own if self.reads == "database" else list(own.values()) if self.reads == "tables" else own[0]

    def scored(self) -> dict[str, Any]:
        """The parameters as the scorer takes them, gold read."""
        own = {key[1]: table for key, table in self.tables.items() if key[0] == "gold"}
        single = self.reads == "table" and self.parameters["gold"] is None
        gold: Any = own if self.reads == "database" else own[0] if single else list(own.values())
        return {**self.parameters, "gold": gold}

    @property
    def n_rows(self) -> int:
        """The rows of the longest table."""
        return max((table.n_rows for table in self.tables.values()), default=0)

    @property
    def n_columns(self) -> int:
        """The columns of the widest table."""
        return max((len(table.columns) for table in self.tables.values()), default=0)

    def having(self, key: Key, table: Table) -> "Case":
        """The case with another table in one place."""
        return replace(self, tables={**self.tables, key: table})


def case_of(reads: str, form: Any, parameters: Mapping[str, Any]) -> Case | None:
    """The case of a check; None where a table of it could not be read."""
    gold = parameters["gold"]
    single = reads == "table" and isinstance(gold, Table)
    sides = {"prediction": form if reads != "table" else [form], "gold": [gold] if single else gold}
    tables: dict[Key, Table] = {}
    for side, found in sides.items():
        for place, table in found.items() if isinstance(found, Mapping) else enumerate(found):
            if not isinstance(table, Table):
                return None
            # A reader's remark on a line says nothing of the rows that stay.
            tables[side, place] = replace(table, ragged_line=None)
    return Case(reads, tables, {**parameters, "gold": None if single else "several"})


def shrink(case: Case, shrinker: Shrinker) -> Case:
    """The smallest case found that keeps the verdict."""

    def keeps(smaller: Case) -> bool:
        return shrinker.keeps(smaller.form(), smaller.scored())

    case = _one_gold(case, keeps)
    if shrinker.target.flip.startswith(SCRAMBLED) and case.n_rows > FEW_ROWS:
        case = _mended(case, keeps)
    case = _fewer_rows(case, keeps, shrinker)
    if case.n_rows > MANY_ROWS:
        shrinker.same_kind = False
        case = _fewer_rows(_mended(case, keeps), keeps, shrinker)
    case = _fewer_columns(case, keeps)
    return _fewer_rows(case, keeps, shrinker)


def _one_gold(case: Case, keeps: Keeps) -> Case:
    """The case with one of several accepted golds, if one suffices."""
    golds = [key for key in case.tables if key[0] == "gold"]
    if case.reads != "table" or len(golds) < 2:
        return case
    given = {name: case.parameters.get(name) for name in ("condition_cols", "ignore_order")}
    # A list with an entry a table, not one of column numbers.
    per_table = {
        name: value
        for name, value in given.items()
        if isinstance(value, list) and len(value) == len(golds) and not all(type(item) is int for item in value)
    }
    for key in golds:
        tables = {place: table for place, table in case.tables.items() if place[0] != "gold"} | {("gold", 0): case.tables[key]}
        own = {name: [value[key[1]]] for name, value in per_table.items()}
        smaller = replace(case, tables=tables, parameters={**case.parameters, **own})
        if keeps(smaller):
            return smaller
    return case


def _pairs(case: Case) -> Iterator[tuple[Key, Key, int, TablePair]]:
    """(the prediction's key, gold's key, the place among the golds, the pair) of each two tables that are held together."""
    keys = {id(table): key for key, table in case.tables.items()}
    rules: Rule = "strict"
    for i, pair in enumerate(table_pairs(case.form(), case.scored(), case.reads, rules)):
        yield keys[id(pair.prediction)], keys[id(pair.gold)], i, pair


def _fewer_rows(case: Case, keeps: Keeps, shrinker: Shrinker) -> Case:
    units = _rows_together(case)
    return _with_rows(case, smallest(units, lambda kept: keeps(_with_rows(case, kept)), spent=lambda: shrinker.spent))


def _rows_together(case: Case) -> list[list[tuple[Key, int]]]:
    """Each row of an answer with the gold rows that it stands for; the rows without such a partner by themselves."""
    partners: dict[tuple[Key, int], list[tuple[Key, int]]] = {}
    paired: set[tuple[Key, int]] = set()
    for own, gold, _, pair in _pairs(case):
        for g, p in _rows_of(pair):
            partners.setdefault((own, p), []).append((gold, g))
            paired.add((gold, g))
    units = []
    for key, table in case.tables.items():
        for row in range(table.n_rows):
            if key[0] == "prediction":
                units.append([(key, row), *partners.get((key, row), ())])
            elif (key, row) not in paired:
                units.append([(key, row)])
    # Neighbours of both sides are left out together.
    return sorted(units, key=lambda unit: unit[0][1])


def _rows_of(pair: TablePair) -> Sequence[tuple[int, int]]:
    found = pair.align("strict")
    if found is None or not found.pairs:
        return [(row, row) for row in range(min(pair.gold.n_rows, pair.prediction.n_rows))]
    return found.pairs


def _with_rows(case: Case, units: Sequence[Sequence[tuple[Key, int]]]) -> Case:
    rows: dict[Key, list[int]] = {key: [] for key in case.tables}
    for unit in units:
        for key, row in unit:
            rows[key].append(row)
    return replace(case, tables={key: pick(table, sorted(rows[key])) for key, table in case.tables.items()})


def _mended(case: Case, keeps: Keeps) -> Case:
    """The case with as many scrambled rows put right as keep the verdict: cells of a column change places, and none is added or lost.

    Rows in one long cycle (a column shifted by one) cannot be left out one by one; with all but two put right, the others can.
    """
    for own, _, _, pair in list(_pairs(case)):
        found = pair.align("strict")
        if found is None or not found.n_wrong:
            continue
        n_left = 2
        while n_left < len(found.pairs):
            mended = case.having(own, _put_right(found, len(found.pairs) - n_left))
            if keeps(mended):
                case = mended
                break
            n_left *= 2
    return case


def _put_right(alignment: Alignment, n: int) -> Table:
    """The prediction with its first n paired rows as in gold, by exchanging cells with rows further down."""
    table = alignment.prediction
    columns = list(table.columns)
    for j, k in enumerate(alignment.partners):
        if k is None:
            continue
        cells, gold = list(columns[k]), alignment.gold.columns[alignment.needed[j]]
        waiting: dict[Any, list[int]] = {}
        for _, p in reversed(alignment.pairs):
            waiting.setdefault(_hashable(cells[p]), []).append(p)
        done: set[int] = set()
        for g, p in alignment.pairs[:n]:
            done.add(p)
            if cells[p] == gold[g]:
                continue
            places = waiting.get(_hashable(gold[g]), [])
            while places and (places[-1] in done or cells[places[-1]] != gold[g]):
                places.pop()
            if places:
                other = places.pop()
                cells[p], cells[other] = cells[other], cells[p]
                waiting.setdefault(_hashable(cells[other]), []).append(other)
        columns[k] = cells
    return replace(table, columns=tuple(columns))


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | type(None)) else repr(value)


def _fewer_columns(case: Case, keeps: Keeps) -> Case:
    """The case without the columns that do not matter, pair of tables by pair; `condition_cols` counts those that are left."""
    given = case.parameters.get("condition_cols")
    flat = [given] if is_bare(given) else given or ()
    shared = bool(flat) and sum(key[0] == "gold" for key in case.tables) > 1 and all(isinstance(item, int) for item in flat)
    # Parameters may speak of gold columns in a way that cannot be counted anew.
    by_name = any(isinstance(case.parameters.get(name), Mapping) for name in ("abs_tol", "rel_tol"))
    for own, gold, i, pair in list(_pairs(case)):
        sides = case.tables[own], case.tables[gold]
        found = replace(pair, prediction=sides[0], gold=sides[1]).align("strict")
        fixed = shared or by_name or found is None
        partners = {} if found is None or fixed else {g: k for g, k in zip(found.needed, found.partners, strict=True) if k is not None}
        units: list[Columns] = [(g, partners.get(g)) for g in range(len(sides[1].columns))] if not fixed else []
        units += [(None, k) for k in range(len(sides[0].columns)) if k not in set(partners.values())]
        smaller = partial(_with_columns, case, (own, gold), i, fixed=fixed)

        def still(kept: Sequence[Columns], smaller: Callable[[Sequence[Columns]], Case | None] = smaller) -> bool:
            return (part := smaller(kept)) is not None and keeps(part)

        case = smaller(smallest(units, still)) or case
    return case


def _with_columns(case: Case, keys: tuple[Key, Key], i: int, kept: Sequence[Columns], *, fixed: bool) -> Case | None:
    """The case with some columns of two tables; None where no column, or none of those that count, would be left."""
    golds = sorted(g for g, _ in kept if g is not None)
    own = sorted(k for _, k in kept if k is not None)
    if not own or (not golds and not fixed):
        return None
    case = case.having(keys[0], _take_columns(case.tables[keys[0]], own))
    if fixed:
        return case
    n_before = len(case.tables[keys[1]].columns)
    spec = _counted_anew(case.parameters.get("condition_cols"), i, {g: at for at, g in enumerate(golds)}, n_before)
    if spec is None:
        return None
    parameters = case.parameters if spec == case.parameters.get("condition_cols") else {**case.parameters, "condition_cols": spec}
    return replace(case.having(keys[1], _take_columns(case.tables[keys[1]], golds)), parameters=parameters)


def _counted_anew(spec: Any, i: int, places: Mapping[int, int], n_before: int) -> Any:
    """`condition_cols` for the columns that are left; None where nothing of what counted is left."""
    if is_bare(spec):
        return places.get(spec % n_before)
    if not spec:
        return spec if spec is not None else []
    nested = any(isinstance(item, list | tuple) or item is None for item in spec)
    own = spec[i] if nested and i < len(spec) else spec if not nested else []
    if not own:
        return spec
    left = [places[at % n_before] for at in own if isinstance(at, int) and at % n_before in places]
    if not left:
        return None
    return [left if place == i else item for place, item in enumerate(spec)] if nested else left


def _take_columns(table: Table, columns: Sequence[int]) -> Table:
    types = None if table.types is None else tuple(table.types[k] for k in columns)
    return replace(table, header=tuple(table.header[k] for k in columns), columns=tuple(table.columns[k] for k in columns), types=types)
