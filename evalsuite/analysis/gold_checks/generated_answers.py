"""Generated answers: gold as a submission, and right and wrong variants of it, as edits of a table, a text or a tree.

Wrong variants are what a careless query or a hedging model submits (including the smallest: the last digit, one more, one row short in a
sum, two labels exchanged); right variants are other forms that a check should accept as well as gold itself.
"""

import copy
import csv
import io
import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from decimal import ROUND_DOWN, Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from evalsuite.analysis.causes import hypothesis
from evalsuite.analysis.causes.error_injection import NOTHING
from evalsuite.analysis.causes.table_alignment import TablePair
from evalsuite.analysis.causes.table_repairs import pick, set_column
from evalsuite.analysis.causes.values import cell, decimals, is_null, number, plain, write_number
from evalsuite.analysis.explain.search_trees import GONE, put_value
from evalsuite.compare.numbers import Number
from evalsuite.compare.strict_columns import labels
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FaultError
from evalsuite.core.files import exists, is_file
from evalsuite.core.types import Answer, Check, Fault, Gold, GoldInstance, Table
from evalsuite.readers.csv_table import csv_rows
from evalsuite.readers.load_answer import read_gold_files
from evalsuite.readers.paths import resolve_in_side
from evalsuite.scorers import SCORERS
from evalsuite.trees.json_values import alternatives_of

OWN = "gold itself"
_SHORT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Edits of a table: rows of gold's by number in their new order, then cells by column and new row, then headers and columns.

    `columns` are gold's by number in their new order; one beyond the last is a column of row numbers. `quoted` writes each field of a CSV
    file in quotation marks with Windows line ends, and reads it again. `size` is the relative change of a number, None for other edits.
    """

    kind: str
    rows: Sequence[int] | None = None
    cells: Mapping[int, Mapping[int, Any]] = field(default_factory=dict)
    header: Sequence[str] | None = None
    columns: Sequence[int] | None = None
    quoted: bool = False
    size: float | None = None


@dataclass(frozen=True, slots=True)
class GeneratedAnswer:
    """One answer: its `kind`, whether it is still right, and the answer itself: a text, an `Edit` of a table, or a tree.

    `table` is the number of the edited table if a check reads several, or its name in a database; `size` as in `Edit`.
    """

    kind: str
    value: Any
    right: bool = False
    table: int | str = 0
    size: float | None = None


# A right answer of a kind.
right_answer = partial(GeneratedAnswer, right=True)


def apply_edit(table: Table, edit: Edit) -> Table:
    """Return the table after the edit."""
    if edit.rows is not None:
        table = pick(table, edit.rows)
    for k, cells in edit.cells.items():
        column = list(table.columns[k])
        for row, value in cells.items():
            column[row] = value
        table = set_column(table, k, column)
    if edit.header is not None:
        table = replace(table, header=tuple(edit.header))
    if edit.columns is not None:
        header, columns = [*table.header, "row_number"], [*table.columns, [str(row) for row in range(1, table.n_rows + 1)]]
        types = None if table.types is None else tuple(table.types[k] for k in edit.columns)
        table = replace(table, header=tuple(header[k] for k in edit.columns), columns=tuple(columns[k] for k in edit.columns), types=types)
    return _quote_cells(table) if edit.quoted else table


def _quote_cells(table: Table) -> Table:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(table.header)
    writer.writerows(["" if value is None else value for value in row] for row in zip(*table.columns, strict=True))
    text.seek(0)
    rows = [row for _, row in csv_rows(text, delimiter=",")]
    cells = [[None if value == "" else value for value in column] for column in zip(*rows[1:], strict=True)]
    return replace(table, header=tuple(rows[0]), columns=tuple(cells) or tuple([] for _ in rows[0]))


def scorer_form(answer: GeneratedAnswer, gold: Any) -> Any:
    """Return the answer in the scorer's form: `gold` is a table, a list of tables or a database of them, or unused."""
    if not isinstance(answer.value, Edit):
        return answer.value
    if isinstance(gold, Table):
        return apply_edit(gold, answer.value)
    if isinstance(gold, Mapping):
        table_name = str(answer.table).lower()
        return {name: apply_edit(table, answer.value) if name.lower() == table_name else table for name, table in gold.items()}
    return [apply_edit(table, answer.value) if i == answer.table else table for i, table in enumerate(gold)]


def clear(value: Any, *, native: bool) -> Any:
    """Return a hashable form of a cell that differs only for cells outside any tolerance: decimals to three significant digits."""
    return _clear_text(value) if isinstance(value, str) and not native and len(value) <= _SHORT else _clear(value, native=native)


@lru_cache(maxsize=1 << 14)
def _clear_text(value: str) -> Any:
    return _clear(value, native=False)


def _clear(value: Any, *, native: bool) -> Any:
    read = cell(value, native=native)
    if isinstance(read, Number | int) and not isinstance(read, bool):
        # The official tolerance is 0.01, so smaller differences are not certain.
        if isinstance(read, int):
            return f"{float(read):.9g}"
        # The same for a whole number that is written with decimals, which has their tolerance.
        return f"{float(f'{read.value:.3g}'):.9g}" if abs(read.value) >= 1 else f"{float(f'{read.value:.1f}'):.9g}"
    return read if read.__hash__ is not None else repr(read)


# Scorers whose gold is a program's tests, not a program.
_TESTS = ("python_unit_testing", "pass_at_k")


class NoOwnAnswerError(Exception):
    """The gold of a check is not an answer; the text is the reason."""


def own_answers(gold: Gold, instance: GoldInstance, check: Check, folder: Path, limits: Mapping[str, int | float]) -> list[Answer]:
    """Yield one answer for each accepted alternative of a check, its files copied below `folder`.

    A missing file is left out of the copy: the answer then fails by itself, with its own fault. Raises `NoOwnAnswerError`.
    """
    reads = SCORERS.load(check.scorer).marker.reads
    accepted = check.parameters.get("gold")
    if reads == "batch":
        raise NoOwnAnswerError("needs a judge")
    if check.scorer in _TESTS:
        raise NoOwnAnswerError("gold is a test, not an answer")
    if accepted is None:
        raise NoOwnAnswerError("has no gold")
    if reads in ("text", "number", "query"):
        return [_answer(instance, "answer", text) for text in _texts(accepted, check.parameters.get("conj", "or"))]
    if reads == "tree":
        return [_tree(gold, instance, check, folder, limits)]
    names = check.gold_names
    for name in names:
        _copy(check.computed or gold.folder, instance.instance_id, name, folder)
    if reads == "tables":
        return [_answer(instance, "files", tuple(names))]
    return [_answer(instance, "file", name) for name in names]


def lost_files(gold: Gold, instance: GoldInstance, check: Check) -> list[str]:
    """Return the gold tables and databases that a check names and that are missing; none if its gold was computed."""
    if check.computed is not None or SCORERS.load(check.scorer).marker.reads not in ("table", "tables", "database"):
        return []
    lost = []
    for name in check.gold_names:
        with suppress(FaultError):
            if not is_file(gold.folder / resolve_in_side(instance.instance_id, name)):
                lost.append(name)
    return lost


def _answer(instance: GoldInstance, kind: str, value: str | tuple[str, ...]) -> Answer:
    return Answer(instance_id=instance.instance_id, answer_type=kind, value=value, where=instance.where)


def _texts(gold: Any, conj: Any) -> Iterator[str]:
    """Return each accepted text, or all of them in one if all are needed; numbers as a person writes them: 0.00001, not 1e-05."""
    golds = gold if isinstance(gold, list) else [gold]
    texts = [format(Decimal(repr(item)), "f") if isinstance(item, float) else str(item) for item in golds]
    if conj == "and":
        yield " and ".join(texts)
    else:
        yield from texts


def _tree(gold: Gold, instance: GoldInstance, check: Check, folder: Path, limits: Mapping[str, int | float]) -> Answer:
    """Return the gold records as a JSON file, with the first of several alternatives everywhere."""
    try:
        read = read_gold_files("tree", check.parameters, folder=gold.folder, instance_id=instance.instance_id, limits=limits)["gold"]
    except FaultError as error:
        fault = Fault(code=error.fault.code, detail=error.fault.detail, where=instance.where)
        return Answer(instance_id=instance.instance_id, answer_type="file", value="gold.json", where=instance.where, fault=fault)
    value = first_choice(read)
    name = "gold.jsonl" if isinstance(value, list) else "gold.json"
    target = folder / resolve_in_side(instance.instance_id, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    records = value if isinstance(value, list) else [value]
    target.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return _answer(instance, "file", name)


def first_choice(value: Any) -> Any:
    """Return the tree with the first of several accepted values everywhere."""
    while (choices := alternatives_of(value)) is not None:
        value = choices[0]
    if isinstance(value, dict):
        return {key: first_choice(item) for key, item in value.items()}
    return [first_choice(item) for item in value] if isinstance(value, list) else value


def _copy(gold_folder: Path, instance_id: str, name: str, folder: Path) -> None:
    """Copy a gold file to the same path below `folder`; an impossible file name is left to the check itself."""
    try:
        place = resolve_in_side(instance_id, name)
    except FaultError:
        return
    source, target = gold_folder / place, folder / place
    if is_file(source) and not exists(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


# Within both rules' tolerance: strict accepts 1e-4 of a value, official 0.01.
RELATIVE: Final = Decimal("2e-5")
ABSOLUTE: Final = Decimal("0.004")
# The same for numbers in texts: strict 1e-6 of a value, official 0.0001.
TEXT_RELATIVE: Final = Decimal("4e-7")
TEXT_ABSOLUTE: Final = Decimal("0.00004")


def table_variants(pair: TablePair, random_: random.Random) -> Iterator[Edit]:
    """Yield each right table: rows and columns in another order where allowed, other headers, noise inside the tolerance, another form."""
    gold, width = pair.gold, len(pair.gold.columns)
    if not pair.ordered and (rows := _another_order(pair, random_)):
        yield Edit(kind="rows reordered", rows=rows)
    if (tied := _ties(pair)) is not None:
        rows = list(range(gold.n_rows))
        rows[tied], rows[tied + 1] = rows[tied + 1], rows[tied]
        yield Edit(kind="ties the other way", rows=rows)
    yield Edit(kind="headers renamed", header=[f"c{k + 1}" for k in range(width)])
    if width > 1:
        yield Edit(kind="columns reordered", columns=list(range(width))[::-1])
    if gold.types is None:
        yield Edit(kind="column added", columns=list(range(width + 1)))
        yield Edit(kind="fields quoted", quoted=True)
    noise, zeros = dict[int, dict[int, Any]](), dict[int, dict[int, Any]]()
    for k, row, value, decimal in _decimals(pair):
        step = min(ABSOLUTE, RELATIVE * abs(decimal)) * (1 if row % 2 else -1)
        if step:
            noise.setdefault(k, {})[row] = write_number(decimal + step, value)
        if gold.types is None:
            zeros.setdefault(k, {})[row] = f"{str(value).strip()}0"
    if noise:
        yield Edit(kind="jitter inside tolerance", cells=noise)
    if zeros:
        yield Edit(kind="zeros at the end", cells=zeros)


def _another_order(pair: TablePair, random_: random.Random) -> list[int]:
    """Return rows in a random order that differs from gold's in a needed cell; empty if there is none."""
    places, cells = list(range(pair.gold.n_rows)), list(_clear_columns(pair).values())
    shuffled = places.copy()
    random_.shuffle(shuffled)
    # Of few rows a random order is often gold's own.
    orders = (shuffled, places[::-1], places[1:] + places[:1])
    return next((rows for rows in orders if any([column[row] for row in rows] != column for column in cells)), [])


def _ties(pair: TablePair) -> int | None:
    """Return the first of two rows that tie in the only column by which gold is ranked, if no other column breaks the tie."""
    if not pair.ordered or pair.gold.n_rows < 3:
        return None
    native = pair.native
    columns = [[number(value, native=native) for value in column] for column in pair.gold.columns]
    texts = [list(map(str, column)) for column in pair.gold.columns]
    ranked = [k for k, column in enumerate(columns) if _is_ranking(column)]
    if len(ranked) != 1:
        return None
    keys = columns[ranked[0]]
    ties = [row for row in range(len(keys) - 1) if keys[row] == keys[row + 1]]
    others = (texts[k] if None in column else column for k, column in enumerate(columns) if k != ranked[0])
    if any(_breaks(values, ties) for values in others):
        return None
    return next((row for row in ties if any(cells[row] != cells[row + 1] for cells in texts)), None)


def _is_ranking(column: list[Any]) -> bool:
    """Whether a column is sorted by different numbers."""
    return None not in column and len(set(column)) > 1 and column in (sorted(column), sorted(column, reverse=True))


def _breaks(values: Sequence[Any], ties: Sequence[int]) -> bool:
    """Whether a column may break the ties: it changes in one direction within them."""
    return len({values[row] < values[row + 1] for row in ties if values[row] != values[row + 1]}) == 1


def _decimals(pair: TablePair) -> Iterator[tuple[int, int, Any, Decimal]]:
    """Yield (column, row, value, number) of each cell that is written with decimals."""
    native = pair.native
    for k, column in enumerate(pair.gold.columns):
        for row, value in enumerate(column):
            decimal = number(value, native=native)
            if decimal is not None and decimals(decimal) > 0 and isinstance(value, str | float) and "e" not in str(value).lower():
                yield k, row, value, decimal


def text_variants(golds: Sequence[str], *, every: bool) -> Iterator[GeneratedAnswer]:
    """Yield right texts: in a sentence, in another case, with spaces around."""
    gold_text = " and ".join(golds) if every else golds[0]
    yield right_answer("sentence around", f"The answer is {gold_text}.")
    if gold_text.upper() != gold_text and gold_text.upper().casefold() == gold_text.casefold():
        yield right_answer("another case", gold_text.upper())
    yield right_answer("spaces around", f"  {gold_text} \n")


def number_variants(golds: Sequence[Decimal], *, every: bool) -> Iterator[GeneratedAnswer]:
    """Yield right numbers: in a sentence, with thousands separators, with a trailing zero, with noise inside the tolerance."""
    required = list(golds) if every else list(golds[:1])
    yield right_answer("sentence around", f"The answer is {_list_numbers(required)}.")
    if any(abs(number) >= 1000 for number in required):
        yield right_answer("thousands separators", "; ".join(f"{Decimal(plain(number)):,}" for number in required))
    if all(map(decimals, required)):
        yield right_answer("zeros at the end", " and ".join(f"{plain(number)}0" for number in required))
        yield right_answer("jitter inside tolerance", _list_numbers([n + min(TEXT_ABSOLUTE, TEXT_RELATIVE * abs(n)) for n in required]))


def tree_variants(tree: Any) -> Iterator[GeneratedAnswer]:
    """Yield the same tree with its keys in another order."""
    turned = _reverse_lists(tree)
    if repr(turned) != repr(tree):
        yield right_answer("keys reordered", turned)


def _reverse_lists(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _reverse_lists(tree[key]) for key in reversed(tree)}
    return [_reverse_lists(item) for item in tree] if isinstance(tree, list) else tree


# More decimals are float noise, not digits that were meant to be shown.
MOST_PLACES: Final = 6
# One of a thousand rows is missing from a sum.
SHORT: Final = Decimal("0.999")
_LOOKED_AT: Final = 50
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


def small_changes(pair: TablePair, columns: Sequence[int], random_: random.Random) -> Iterator[Edit]:
    """Yield each small change of one cell in the columns that allow it, and two labels of number columns exchanged."""
    native, n = pair.native, pair.gold.n_rows
    rows = random_.sample(range(n), min(n, _LOOKED_AT))
    shuffled = random_.sample(list(columns), len(columns))
    cells = [(k, row, value) for k in shuffled for row in rows if (value := number(pair.gold.columns[k][row], native=native)) is not None]
    # For a more lenient column (by a share or by a distance), the cell with the smallest such change shows the leniency.
    lenient = {k: pair.terms.tolerance(pair.gold, k) for k in shuffled}

    def leniency(cell: tuple[int, int, Decimal]) -> tuple[bool, Decimal | int]:
        tolerance, value = lenient[cell[0]], cell[2]
        return not (tolerance.rel or tolerance.abs), -abs(value) if tolerance.rel > 0 else -decimals(value)

    cells.sort(key=leniency)
    for kind in ("last digit", "plus one", "plus one on x.0", "one row short in a sum"):
        changed = next(((k, row, value, new) for k, row, value in cells if (new := _change_number(kind, value)) is not None), None)
        if changed is not None:
            k, row, value, new = changed
            written = _write_number(new, pair.gold.columns[k][row])
            yield Edit(kind=kind, cells={k: {row: written}}, size=size_of(value, new))
    header = list(pair.gold.header)
    # A generated name, or one that occurs twice, has no meaning.
    meanings = labels(header, header)
    numeric = [k for k in dict.fromkeys(k for k, _, _ in cells) if meanings[k] is not None]
    if len(numeric) > 1:
        a, b = numeric[:2]
        header[a], header[b] = header[b], header[a]
        yield Edit(kind="labels exchanged", header=header)


def small_numbers(golds: Sequence[Decimal], *, every: bool) -> Iterator[GeneratedAnswer]:
    """Yield the same for numbers in a text, if each of them allows it; and whole golds inside a longer number, as `-10,000` for 10."""
    for kind in ("last digit", "plus one"):
        pairs = [
            (gold, new) for gold in golds[: None if every else 1] if (new := _change_number(kind, gold)) is not None and new not in golds
        ]
        if pairs and len(pairs) == (len(golds) if every else 1):
            size = max(size_of(*pair) or 0.0 for pair in pairs)
            yield GeneratedAnswer(kind, " and ".join(_write_number(new, str(old)) for old, new in pairs), size=size)
    required = golds if every else golds[:1]
    if all(gold == gold.to_integral_value() and 1 <= gold < 1000 for gold in required) and not any(
        -1000 * gold in golds for gold in required
    ):
        yield GeneratedAnswer("inside a longer number", " and ".join(f"-{int(gold)},000" for gold in required))


def small_leaves(places: Sequence[tuple[Any, Any]], random_: random.Random) -> Iterator[tuple[str, Any, Any, float | None]]:
    """Yield (kind, place, new value, size) of the smallest change of some leaves: a digit, one more, a letter, the other boolean."""
    for place, value in random_.sample(list(places), len(places)):
        if isinstance(value, bool):
            yield "inverted", place, not value, None
        elif (decimal := number(value, native=True)) is not None:
            for kind in ("last digit", "plus one", "plus one on x.0"):
                if (new := _change_number(kind, decimal)) is not None:
                    yield kind, place, _write_number(new, value), size_of(decimal, new)
                    break
        elif isinstance(value, str) and (later := _next_day(value)):
            yield "off by one day", place, later, None
        elif isinstance(value, str) and value[-1:].isalnum():
            sign = next(sign for sign in ("12" if value[-1].isdigit() else "ab") if sign != value[-1].lower())
            yield "one letter", place, value[:-1] + sign, None


def _next_day(text: str) -> str:
    """Return the day after one that is written as 2024-05-31, empty for every other text."""
    try:
        return (date.fromisoformat(text) + timedelta(days=1)).isoformat() if _DAY.fullmatch(text) else ""
    except (ValueError, OverflowError):
        return ""


def _change_number(kind: str, value: Decimal) -> Decimal | None:
    """Return the number after the change; None if it does not allow it."""
    places, whole = decimals(value), value == value.to_integral_value()
    if kind == "last digit":
        return value + Decimal(1).scaleb(-places) if 1 <= places <= MOST_PLACES and not whole else None
    if kind == "plus one":
        return value + 1 if whole and not places else None
    if kind == "plus one on x.0":
        return value + 1 if whole and places else None
    if abs(value) < 100 or places > MOST_PLACES:
        return None
    short = (value * SHORT).quantize(Decimal(1).scaleb(-places), ROUND_DOWN)
    return short if short != value else None


def size_of(value: Decimal, new: Decimal) -> float | None:
    """Return the relative change of a number; None for one that was 0."""
    return float(abs(new - value) / abs(value)) if value else None


def _write_number(new: Decimal, like: Any) -> Any:
    """Write the number in the form of `like`, with as many decimals if that is a text."""
    if not isinstance(like, str):
        return write_number(new, like)
    places = len(like.strip().partition(".")[2])
    return f"{new:.{places}f}" if places and like.strip().replace(".", "").lstrip("-+").isdigit() else plain(new)


# Error hypotheses that are injected into a whole column, with the condition under which the result is certainly wrong.
COLUMN_ERRORS: Final = ("null and zero", "times 100", "sign", "off by one", "off by one day")
MOST_CELLS_PLANTED: Final = 200
MOST_CANDIDATES: Final = 20
_SHIFTS: Final = 5
# Fields of a tree that are each changed a little, or dropped.
MOST_FIELDS, MOST_DROPPED = 8, 4


def table_mutants(pair: TablePair, random_: random.Random) -> Iterator[Edit]:
    """Yield each wrong table that gold allows, except scrambled rows: rows, cells, whole columns.

    Only needed columns are edited, because the others are not compared, and none that another column could replace.
    """
    n = pair.gold.n_rows
    if n:
        dropped = random_.randrange(n)
        yield Edit(kind="row dropped", rows=[row for row in range(n) if row != dropped])
        yield Edit(kind="row doubled", rows=sorted([*range(n), random_.randrange(n)]))
    alone = _columns_without_twin(pair)
    yield from _change_one_cell(pair, alone, random_)
    for name in COLUMN_ERRORS:
        yield from _plant_errors(pair, alone, name, random_)
    yield from small_changes(pair, alone, random_)
    if pair.ordered and n > 1 and len(set(_clear_rows(pair))) > 1 and _clear_rows(pair) != _clear_rows(pair)[::-1]:
        yield Edit(kind="wrong order", rows=list(range(n))[::-1])


def _clear_rows(pair: TablePair) -> list[tuple[Any, ...]]:
    return list(zip(*_clear_columns(pair).values(), strict=True))


def _clear_columns(pair: TablePair) -> dict[int, list[Any]]:
    """Return the clear cells of each needed column."""
    width = len(pair.gold.columns)
    needed = [i for i in dict.fromkeys(pair.needed or range(width)) if 0 <= i < width]
    return {k: [clear(value, native=pair.native) for value in pair.gold.columns[k]] for k in needed}


def _columns_without_twin(pair: TablePair) -> list[int]:
    """Return the needed columns that no other column of gold equals: of two equal ones one may be wrong, because the other is right."""
    native = pair.native
    seen = Counter(tuple(clear(value, native=native) for value in column) for column in pair.gold.columns)
    return [k for k, column in _clear_columns(pair).items() if seen[tuple(column)] == 1]


def scramble(pair: TablePair, random_: random.Random) -> Edit | None:
    """Yield one needed column rotated against the others, if that makes other rows."""
    columns, n = _clear_columns(pair), pair.gold.n_rows
    if len(columns) < 2 or n < 2:
        return None
    right = Counter(zip(*columns.values(), strict=True))
    order = _columns_without_twin(pair)
    random_.shuffle(order)
    for k in order:
        for shift in range(1, min(n, _SHIFTS + 1)):
            turned = columns[k][shift:] + columns[k][:shift]
            if Counter(zip(*({**columns, k: turned}).values(), strict=True)) != right:
                cells = pair.gold.columns[k]
                new_cells = {row: cells[(row + shift) % n] for row in range(n)}
                return Edit(kind="rows scrambled", cells={k: new_cells})
    return None


def _change_one_cell(pair: TablePair, alone: Sequence[int], random_: random.Random) -> Iterator[Edit]:
    """Yield one cell with another value, and one emptied."""
    places = [(k, row) for k in alone for row in random_.sample(range(pair.gold.n_rows), min(3, pair.gold.n_rows))]
    random_.shuffle(places)
    changed = lost = False
    for k, row in places:
        value = pair.gold.columns[k][row]
        if is_null(value, native=pair.native):
            continue
        other = _change_value(value, native=pair.native)
        if not changed and other is not NOTHING:
            changed = True
            yield Edit(kind="one cell", cells={k: {row: other}})
        if not lost:
            lost = True
            yield Edit(kind="value lost", cells={k: {row: None}})


def _change_value(value: Any, *, native: bool) -> Any:
    """Return a value that is certainly different."""
    decimal = number(value, native=native)
    if decimal is not None:
        return write_number(decimal + 1 + abs(decimal).to_integral_value(), value)
    if isinstance(value, bool):
        return not value
    return f"{value} x" if isinstance(value, str) else NOTHING


def _plant_errors(pair: TablePair, alone: Sequence[int], name: str, random_: random.Random) -> Iterator[Edit]:
    """Yield the errors of hypotheses in the cells of one needed column, the first in random order in which they are certainly wrong."""
    columns, native = random_.sample(alone, len(alone)), pair.native
    inject = hypothesis(name).inject
    assert inject is not None
    for k in columns:
        cells: dict[int, Any] = {}
        for row, value in enumerate(pair.gold.columns[k]):
            wrong = inject(value, native)
            if wrong is not NOTHING and _differs(value, wrong, native=native):
                cells[row] = wrong
            if len(cells) == MOST_CELLS_PLANTED:
                break
        if cells:
            yield Edit(kind="NULL to 0" if name == "null and zero" else name, cells={k: cells})
            return


def _differs(value: Any, wrong: Any, *, native: bool) -> bool:
    """Whether two cells are certainly different; one more is within the tolerance of a large number that is written with decimals."""
    before, after = (number(cell, native=native) for cell in (value, wrong))
    if before is not None and after is not None and (decimals(before) or isinstance(value, float)):
        return abs(after - before) > Decimal("0.001") * abs(before)
    return bool(clear(wrong, native=native) != clear(value, native=native))


def text_mutants(golds: Sequence[str], *, every: bool, others: Sequence[str], random_: random.Random) -> Iterator[GeneratedAnswer]:
    """Yield wrong texts: another instance's answer, gold negated, inside a word, among all candidates, or incomplete if all parts are
    needed.
    """
    required = golds if every else golds[:1]
    yield from _candidates([text for text in others if not any(_contains(text, gold) for gold in golds)], required, random_)
    yield GeneratedAnswer("negated text", f"not {' and '.join(required)}")
    if all(gold[:1].isalnum() and gold[-1:].isalnum() for gold in golds):
        yield GeneratedAnswer("inside a word", " and ".join(f"x{gold}x" for gold in required))
    if every and len(set(golds)) > 1 and not _contains(" and ".join(golds[:-1]), golds[-1]):
        yield GeneratedAnswer("part missing", " and ".join(golds[:-1]))


def _candidates(others: list[str], golds: Sequence[str], random_: random.Random) -> Iterator[GeneratedAnswer]:
    """Yield the answer of another instance, and gold's own among many others."""
    random_.shuffle(others)
    if others:
        yield GeneratedAnswer("another answer", others[0])
        candidates = [*others[:MOST_CANDIDATES], *golds]
        random_.shuffle(candidates)
        yield GeneratedAnswer("all candidates listed", ", ".join(candidates))


def _contains(text: str, gold: str) -> bool:
    return gold.casefold() in text.casefold() or text.casefold() in gold.casefold()


def number_mutants(
    golds: Sequence[Decimal], *, every: bool, percentage: bool, others: Sequence[Decimal], random_: random.Random
) -> Iterator[GeneratedAnswer]:
    """Yield wrong numbers: a hypothesis's error in every gold, another number, gold among many, or not all if all are needed."""
    for name, change in _NUMBER_CHANGES.items():
        if percentage and name == "times 100":
            continue
        wrong = [change(gold) for gold in golds]
        if not any(_is_near(w, gold) for w in wrong for gold in golds):
            yield GeneratedAnswer(name, _list_numbers(wrong if every else wrong[:1]))
    yield from small_numbers(golds, every=every)
    distant = [plain(other) for other in others if not any(_is_near(other, gold) or _is_near(other, 100 * gold) for gold in golds)]
    yield from _candidates(distant, list(map(plain, golds if every else golds[:1])), random_)
    if every and len(golds) > 1 and not any(_is_near(golds[-1], gold) for gold in golds[:-1]):
        yield GeneratedAnswer("part missing", _list_numbers(golds[:-1]))


_NUMBER_CHANGES: Final[dict[str, Callable[[Decimal], Decimal]]] = {
    "times 100": lambda gold: gold * 100,
    "sign": lambda gold: -gold,
    "off by one": lambda gold: gold + 1,
    "another number": lambda gold: 2 * gold + 7,
}


def _is_near(a: Decimal, b: Decimal) -> bool:
    return abs(a - b) <= Decimal("0.001") * max(Decimal(1), abs(a), abs(b))


def _list_numbers(numbers: Sequence[Decimal]) -> str:
    return " and ".join(map(plain, numbers))


def tree_mutants(tree: Any, random_: random.Random) -> Iterator[GeneratedAnswer]:
    """Yield wrong trees: one leaf changed, one lost, one number times 100, one list element doubled; each field changed a little.

    Of a field that all records share, one leaf is changed, because one field may be compared more leniently than others.
    """
    leaves = [path for path, value in _leaves(tree) if value is not None]
    random_.shuffle(leaves)
    fields = {tuple(step for step in path if isinstance(step, str)): path for path in leaves}
    some = list(fields.values())[:MOST_FIELDS]

    def change(path: TreePath, value: Any) -> Any:
        return put_value(copy.deepcopy(tree), path, value)

    for kind, path, value, size in small_leaves([(path, _value_at(tree, path)) for path in some], random_):
        yield GeneratedAnswer(kind, change(path, value), size=size)
    for path in leaves:
        other = _change_value(_value_at(tree, path), native=True)
        if other is not NOTHING:
            yield GeneratedAnswer("one leaf", change(path, other))
            break
    for path in [path for path in some if isinstance(_value_at(tree, path[:-1]), dict)][:MOST_DROPPED]:
        yield GeneratedAnswer("leaf dropped", change(path, GONE))
    if (big := next((path for path in leaves if number(_value_at(tree, path), native=True)), None)) is not None:
        yield GeneratedAnswer("times 100", change(big, _value_at(tree, big) * 100))
    if lists := [path for path, value in _lists(tree) if value]:
        path = random_.choice(lists)
        yield GeneratedAnswer("element doubled", change(path, [*_value_at(tree, path), _value_at(tree, path)[-1]]))


TreePath = tuple[Any, ...]


def _leaves(tree: Any, path: TreePath = ()) -> Iterator[tuple[TreePath, Any]]:
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list) else None
    if items is None:
        yield path, tree
        return
    for step, value in items:
        yield from _leaves(value, (*path, step))


def _lists(tree: Any, path: TreePath = ()) -> Iterator[tuple[TreePath, list[Any]]]:
    """Return each list below a field; a list of records at the top is the file, not a field."""
    if isinstance(tree, list) and any(isinstance(step, str) for step in path):
        yield path, tree
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list) else ()
    for step, value in items:
        yield from _lists(value, (*path, step))


def _value_at(tree: Any, path: TreePath) -> Any:
    for step in path:
        tree = tree[step]
    return tree
