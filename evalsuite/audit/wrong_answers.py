"""Wrong answers made from gold: what a careless query or a model that hedges would hand in."""

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from evalsuite.audit.made_answers import Edit, Made, clear
from evalsuite.audit.small_changes import small_changes, small_leaves, small_numbers
from evalsuite.causes import law
from evalsuite.causes.plants import NOTHING
from evalsuite.causes.table_pairs import TablePair
from evalsuite.causes.value_pairs import decimals, is_null, number, plain, write_number

# Laws of wrong values that are planted in a whole column, with what each needs to be clearly wrong.
COLUMN_LAWS: Final = ("null and zero", "times 100", "sign", "off by one", "off by one day")
MOST_CELLS_PLANTED: Final = 200
MOST_CANDIDATES: Final = 20
_SHIFTS: Final = 5
# Fields of a tree that are each changed a little, or dropped.
MOST_FIELDS, MOST_DROPPED = 8, 4


def table_mutants(pair: TablePair, random_: random.Random) -> Iterator[Edit]:
    """Each wrong table that gold allows, but for scrambled rows: rows, cells, whole columns.

    Only needed columns are touched, for the others are not asked for, and none that another column could stand in for.
    """
    n = pair.gold.n_rows
    if n:
        gone = random_.randrange(n)
        yield Edit(kind="row dropped", rows=[row for row in range(n) if row != gone])
        yield Edit(kind="row doubled", rows=sorted([*range(n), random_.randrange(n)]))
    alone = _alone(pair)
    yield from _one_cell(pair, alone, random_)
    for name in COLUMN_LAWS:
        yield from _planted(pair, alone, name, random_)
    yield from small_changes(pair, alone, random_)
    if pair.ordered and n > 1 and len(set(_clear_rows(pair))) > 1 and _clear_rows(pair) != _clear_rows(pair)[::-1]:
        yield Edit(kind="wrong order", rows=list(range(n))[::-1])


def _needed(pair: TablePair) -> list[int]:
    width = len(pair.gold.columns)
    return [i for i in dict.fromkeys(pair.needed or range(width)) if 0 <= i < width]


def _native(pair: TablePair) -> bool:
    return pair.gold.types is not None


def _clear_rows(pair: TablePair) -> list[tuple[Any, ...]]:
    return list(zip(*_clear_columns(pair).values(), strict=True))


def _clear_columns(pair: TablePair) -> dict[int, list[Any]]:
    return {k: [clear(value, native=_native(pair)) for value in pair.gold.columns[k]] for k in _needed(pair)}


def _alone(pair: TablePair) -> list[int]:
    """The needed columns that no other column of gold equals: of twins one may be wrong, for the other is right."""
    native = _native(pair)
    seen = Counter(tuple(clear(value, native=native) for value in column) for column in pair.gold.columns)
    return [k for k, column in _clear_columns(pair).items() if seen[tuple(column)] == 1]


def scrambled(pair: TablePair, random_: random.Random) -> Edit | None:
    """One needed column turned by some rows against the others, where that makes other rows."""
    columns, n = _clear_columns(pair), pair.gold.n_rows
    if len(columns) < 2 or n < 2:
        return None
    right = Counter(zip(*columns.values(), strict=True))
    order = _alone(pair)
    random_.shuffle(order)
    for k in order:
        for shift in range(1, min(n, _SHIFTS + 1)):
            turned = columns[k][shift:] + columns[k][:shift]
            if Counter(zip(*({**columns, k: turned}).values(), strict=True)) != right:
                cells = pair.gold.columns[k]
                moved = {row: cells[(row + shift) % n] for row in range(n)}
                return Edit(kind="rows scrambled", cells={k: moved})
    return None


def _one_cell(pair: TablePair, alone: Sequence[int], random_: random.Random) -> Iterator[Edit]:
    """One cell with another value, and one emptied."""
    places = [(k, row) for k in alone for row in random_.sample(range(pair.gold.n_rows), min(3, pair.gold.n_rows))]
    random_.shuffle(places)
    changed = lost = False
    for k, row in places:
        value = pair.gold.columns[k][row]
        if is_null(value, native=_native(pair)):
            continue
        other = _another(value, native=_native(pair))
        if not changed and other is not NOTHING:
            changed = True
            yield Edit(kind="one cell", cells={k: {row: other}})
        if not lost:
            lost = True
            yield Edit(kind="value lost", cells={k: {row: None}})


def _another(value: Any, *, native: bool) -> Any:
    """A value that is clearly another one."""
    found = number(value, native=native)
    if found is not None:
        return write_number(found + 1 + abs(found).to_integral_value(), value)
    if isinstance(value, bool):
        return not value
    return f"{value} x" if isinstance(value, str) else NOTHING


def _planted(pair: TablePair, alone: Sequence[int], name: str, random_: random.Random) -> Iterator[Edit]:
    """A law's error in the cells of one needed column, the first of a random order in which it makes clearly other values."""
    columns, native = random_.sample(alone, len(alone)), _native(pair)
    plant = law(name).plant
    assert plant is not None
    for k in columns:
        cells: dict[int, Any] = {}
        for row, value in enumerate(pair.gold.columns[k]):
            wrong = plant(value, native)
            if wrong is not NOTHING and _apart(value, wrong, native=native):
                cells[row] = wrong
            if len(cells) == MOST_CELLS_PLANTED:
                break
        if cells:
            yield Edit(kind="NULL to 0" if name == "null and zero" else name, cells={k: cells})
            return


def _apart(value: Any, wrong: Any, *, native: bool) -> bool:
    """Whether two cells are clearly different; one more is nothing to a large number that is written with decimals."""
    before, after = (number(cell, native=native) for cell in (value, wrong))
    if before is not None and after is not None and (decimals(before) or isinstance(value, float)):
        return abs(after - before) > Decimal("0.001") * abs(before)
    return bool(clear(wrong, native=native) != clear(value, native=native))


def text_mutants(golds: Sequence[str], *, every: bool, others: Sequence[str], random_: random.Random) -> Iterator[Made]:
    """Wrong texts: another instance's answer, gold negated, inside a word, among all candidates, or not whole where all is asked for."""
    own = " and ".join(golds) if every else golds[0]
    apart = [text for text in others if not any(_holds(text, gold) for gold in golds)]
    random_.shuffle(apart)
    if apart:
        yield Made(kind="another answer", right=False, value=apart[0])
        listed = [*apart[:MOST_CANDIDATES], *(golds if every else golds[:1])]
        random_.shuffle(listed)
        yield Made(kind="all candidates listed", right=False, value=", ".join(listed))
    yield Made(kind="negated text", right=False, value=f"not {own}")
    if all(gold[:1].isalnum() and gold[-1:].isalnum() for gold in golds):
        yield Made(kind="inside a word", right=False, value=" and ".join(f"x{gold}x" for gold in golds) if every else f"x{own}x")
    if every and len(set(golds)) > 1 and not _holds(" and ".join(golds[:-1]), golds[-1]):
        yield Made(kind="part missing", right=False, value=" and ".join(golds[:-1]))


def _holds(text: str, gold: str) -> bool:
    return gold.casefold() in text.casefold() or text.casefold() in gold.casefold()


def number_mutants(
    golds: Sequence[Decimal], *, every: bool, percentage: bool, others: Sequence[Decimal], random_: random.Random
) -> Iterator[Made]:
    """Wrong numbers: a law's error in every gold, another number, gold among many, or not all where all are asked for."""
    for name, change in _NUMBER_CHANGES.items():
        if percentage and name == "times 100":
            continue
        wrong = [change(gold) for gold in golds]
        if not any(_near(w, gold) for w in wrong for gold in golds):
            yield Made(kind=name, right=False, value=_written_out(wrong if every else wrong[:1]))
    yield from small_numbers(golds, every=every)
    apart = [other for other in others if not any(_near(other, gold) or _near(other, 100 * gold) for gold in golds)]
    random_.shuffle(apart)
    if apart:
        yield Made(kind="another answer", right=False, value=plain(apart[0]))
        listed = [*apart[:MOST_CANDIDATES], *(golds if every else golds[:1])]
        random_.shuffle(listed)
        yield Made(kind="all candidates listed", right=False, value=", ".join(map(plain, listed)))
    if every and len(golds) > 1 and not any(_near(golds[-1], gold) for gold in golds[:-1]):
        yield Made(kind="part missing", right=False, value=_written_out(golds[:-1]))


_NUMBER_CHANGES: Final[dict[str, Callable[[Decimal], Decimal]]] = {
    "times 100": lambda gold: gold * 100,
    "sign": lambda gold: -gold,
    "off by one": lambda gold: gold + 1,
    "another number": lambda gold: 2 * gold + 7,
}


def _near(a: Decimal, b: Decimal) -> bool:
    return abs(a - b) <= Decimal("0.001") * max(Decimal(1), abs(a), abs(b))


def _written_out(numbers: Sequence[Decimal]) -> str:
    return " and ".join(map(plain, numbers))


def tree_mutants(tree: Any, random_: random.Random) -> Iterator[Made]:
    """Wrong trees: one leaf changed, one lost, one number times 100, one element of a list handed in twice; each field changed a little.

    Fields that all records share have one leaf changed, for one may be looked at less closely than others.
    """
    leaves = [path for path, value in _leaves(tree) if value is not None]
    random_.shuffle(leaves)
    fields = {tuple(step for step in path if isinstance(step, str)): path for path in leaves}
    some = list(fields.values())[:MOST_FIELDS]
    for kind, path, value, size in small_leaves([(path, _value_at(tree, path)) for path in some], random_):
        yield Made(kind=kind, right=False, value=_with_value(tree, path, value), size=size)
    for path in leaves:
        other = _another(_value_at(tree, path), native=True)
        if other is not NOTHING:
            yield Made(kind="one leaf", right=False, value=_with_value(tree, path, other))
            break
    for path in [path for path in some if isinstance(_value_at(tree, path[:-1]), dict)][:MOST_DROPPED]:
        yield Made(kind="leaf dropped", right=False, value=_without(tree, path))
    big = next((p for p in leaves if _is_number(_value_at(tree, p)) and _value_at(tree, p)), None)
    if big is not None:
        yield Made(kind="times 100", right=False, value=_with_value(tree, big, _value_at(tree, big) * 100))
    lists = [path for path, value in _lists(tree) if value]
    if lists:
        path = random_.choice(lists)
        yield Made(kind="element doubled", right=False, value=_with_value(tree, path, [*_value_at(tree, path), _value_at(tree, path)[-1]]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


Path = tuple[Any, ...]


def _leaves(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list) else None
    if items is None:
        yield path, tree
        return
    for step, value in items:
        yield from _leaves(value, (*path, step))


def _lists(tree: Any, path: Path = ()) -> Iterator[tuple[Path, list[Any]]]:
    """Each list below a field; a list of records at the top is the file and no field."""
    if isinstance(tree, list) and any(isinstance(step, str) for step in path):
        yield path, tree
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list) else ()
    for step, value in items:
        yield from _lists(value, (*path, step))


def _value_at(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def _with_value(tree: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(tree)
    _value_at(changed, path[:-1])[path[-1]] = value
    return changed


def _without(tree: Any, path: Path) -> Any:
    changed = copy.deepcopy(tree)
    del _value_at(changed, path[:-1])[path[-1]]
    return changed
