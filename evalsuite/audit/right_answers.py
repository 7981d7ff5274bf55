"""Right answers in another form: what a check should take as well as gold itself."""

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from evalsuite.audit.made_answers import Edit, Made
from evalsuite.causes.table_pairs import TablePair
from evalsuite.causes.value_pairs import decimals, number, plain, write_number

# Inside both rules' tolerance: strict accepts 1e-4 of a value, official 0.01.
RELATIVE: Final = Decimal("2e-5")
ABSOLUTE: Final = Decimal("0.004")
# The same for numbers in texts: strict 1e-6 of a value, official 0.0001.
TEXT_RELATIVE: Final = Decimal("4e-7")
TEXT_ABSOLUTE: Final = Decimal("0.00004")


def table_variants(pair: TablePair, random_: random.Random) -> Iterator[Edit]:
    """Each right table: rows and columns in another order where that is free, other headers, noise inside the tolerance, another form."""
    gold, width = pair.gold, len(pair.gold.columns)
    if not pair.ordered and gold.n_rows > 1:
        rows = list(range(gold.n_rows))
        random_.shuffle(rows)
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


def _ties(pair: TablePair) -> int | None:
    """The first of two rows that tie in the one column that gold is ranked by, where no other column orders those that tie."""
    if not pair.ordered or pair.gold.n_rows < 3:
        return None
    native = pair.gold.types is not None
    columns = [[number(value, native=native) for value in column] for column in pair.gold.columns]
    texts = [list(map(str, column)) for column in pair.gold.columns]
    ranked = [k for k, column in enumerate(columns) if None not in column and len(set(column)) > 1 and _is_sorted(column)]
    if len(ranked) != 1:
        return None
    keys = columns[ranked[0]]
    ties = [row for row in range(len(keys) - 1) if keys[row] == keys[row + 1]]
    for k, cells in enumerate(texts):
        steps = {cells[row] < cells[row + 1] for row in ties if cells[row] != cells[row + 1]}
        numeric: list[Any] = columns[k]
        if None not in numeric:
            steps = {numeric[row] < numeric[row + 1] for row in ties if numeric[row] != numeric[row + 1]}
        if k != ranked[0] and len(steps) == 1:
            return None
    return next((row for row in ties if any(cells[row] != cells[row + 1] for cells in texts)), None)


def _is_sorted(column: Sequence[Any]) -> bool:
    return list(column) in (sorted(column), sorted(column, reverse=True))


def _decimals(pair: TablePair) -> Iterator[tuple[int, int, Any, Decimal]]:
    """(column, row, value, number) of each cell that is written with decimals."""
    native = pair.gold.types is not None
    for k, column in enumerate(pair.gold.columns):
        for row, value in enumerate(column):
            found = number(value, native=native)
            if found is not None and decimals(found) > 0 and isinstance(value, str | float) and "e" not in str(value).lower():
                yield k, row, value, found


def text_variants(golds: Sequence[str], *, every: bool) -> Iterator[Made]:
    """Right texts: in a sentence, in another case, with spaces around."""
    own = " and ".join(golds) if every else golds[0]
    yield Made(kind="sentence around", right=True, value=f"The answer is {own}.")
    if own.upper() != own and own.upper().casefold() == own.casefold():
        yield Made(kind="another case", right=True, value=own.upper())
    yield Made(kind="spaces around", right=True, value=f"  {own} \n")


def number_variants(golds: Sequence[Decimal], *, every: bool) -> Iterator[Made]:
    """Right numbers: in a sentence, with separators between thousands, with a zero at the end, with noise inside the tolerance."""
    own = list(golds) if every else list(golds[:1])
    yield Made(kind="sentence around", right=True, value=f"The answer is {' and '.join(map(plain, own))}.")
    if any(abs(one) >= 1000 for one in own):
        yield Made(kind="thousands separators", right=True, value="; ".join(_grouped(one) for one in own))
    if all(decimals(one) for one in own):
        yield Made(kind="zeros at the end", right=True, value=" and ".join(f"{plain(one)}0" for one in own))
        noisy = [one + min(TEXT_ABSOLUTE, TEXT_RELATIVE * abs(one)) for one in own]
        yield Made(kind="jitter inside tolerance", right=True, value=" and ".join(map(plain, noisy)))


def _grouped(value: Decimal) -> str:
    whole, _, rest = plain(abs(value)).partition(".")
    return ("-" if value < 0 else "") + f"{int(whole):,}" + (f".{rest}" if rest else "")


def tree_variants(tree: Any) -> Iterator[Made]:
    """The same tree with its keys in another order."""
    turned = _turned(tree)
    if repr(turned) != repr(tree):
        yield Made(kind="keys reordered", right=True, value=turned)


def _turned(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _turned(tree[key]) for key in reversed(tree)}
    return [_turned(item) for item in tree] if isinstance(tree, list) else tree
