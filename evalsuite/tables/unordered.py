"""Two streamed tables whose rows may stand in any order.

First bags of hashes decide: of each column, and of whole rows (two sums of 64 bits each). Where only columns of numbers differ, rows are
joined on the other columns and the numbers compared beside each other. What that does not decide is left to the exact rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evalsuite.tables.blocks import Block, row_hashes, scattered
from evalsuite.tables.number_blocks import Numbers, is_surely_text, joined, may_be_whole, numbers_of, surely_strictly_equal
from evalsuite.tables.official_cells import ABS_TOL
from evalsuite.tables.packed import pack
from evalsuite.tables.pandas_typing import SHORTEST_OVERFLOW
from evalsuite.texts.numbers import Tolerance
from evalsuite.types import Table

if TYPE_CHECKING:
    import numpy as np

_HEAD_ROWS: Final = 64
Sums = tuple[int, int]


@dataclass(slots=True)
class Bags:
    """What the bags of one side are: a pair of sums for each column, one for whole rows, the number of rows, the longest cell.

    `text` are the columns (positions) that surely hold text, `kept` those that are surely not all integers, so that no other column
    can change what they are read as. `has_wide` says that a cell may be an integer beyond 64 bits, which makes what its column is read
    as depend on the order of its cells.
    """

    columns: dict[int, Sums]
    rows: Sums
    n_rows: int
    longest: int
    text: frozenset[int]
    kept: frozenset[int]
    has_wide: bool


@dataclass(slots=True)
class Bagged:
    """Gold's needed columns beside their predicted partners, as bags."""

    gold: Bags
    predicted: Bags
    chosen: list[int]
    partners: list[int]
    join: "Join | None" = None

    @property
    def unlike(self) -> list[tuple[int, int]]:
        """The pairs of columns whose bags differ."""
        return [(i, k) for i, k in zip(self.chosen, self.partners, strict=True) if self.gold.columns[i] != self.predicted.columns[k]]


@dataclass(slots=True)
class Join:
    """Rows joined on the columns that are alike: whether all numbers beside each other are surely equal under strict rules, whether
    some of them are farther apart than the official tolerance, and a
    pair whose gold column surely has no equal under the official ones."""

    agrees: bool
    is_far: bool
    refused: tuple[int, int] | None


def compare_bags(gold: Table, predicted: Table, chosen: Sequence[int]) -> Bagged | None:
    """The bags of both sides; None where there are too few columns. Raises `OddError`."""
    if len(predicted.header) < len(chosen):
        return None
    columns = list(chosen)
    partners = _by_name(gold, predicted, columns)
    mine, theirs = bags(gold, columns), bags(predicted, partners)
    found = Bagged(mine, theirs, columns, partners)
    if mine.n_rows != theirs.n_rows or not found.unlike:
        return found
    if len(found.unlike) == len(columns) or any(gold.header[i] != predicted.header[k] for i, k in found.unlike):
        every = bags(predicted, range(len(predicted.header)))
        better = _by_bags(mine, every, columns, partners)
        if better != partners:
            found = Bagged(mine, bags(predicted, better), columns, better)
    return found


def bags(table: Table, columns: Sequence[int]) -> Bags:
    """The bags of some columns and of the rows they make. Raises `OddError`."""
    import numpy as np

    chosen = list(columns)
    totals = np.zeros((2, len(chosen)), np.uint64)
    rows, n_rows, longest = [0, 0], 0, 0
    text, kept, has_wide = frozenset[int](), frozenset[int](), False
    for block in pack(table).blocks():
        if not n_rows:
            head = block.rows(0, _HEAD_ROWS)
            cells = [head.texts(column) for column in range(len(table.header))]
            text = frozenset(k for k, column in enumerate(cells) if any(map(is_surely_text, column)))
            kept = frozenset(k for k, column in enumerate(cells) if not all(map(may_be_whole, column)))
        n_rows += len(block)
        longest = max(longest, int(block.lengths.max(initial=0)))
        has_wide = has_wide or _has_wide(block, chosen)
        hashed = block.hashes(chosen)
        totals[0] += hashed.sum(axis=0, dtype=np.uint64)
        totals[1] += scattered(hashed).sum(axis=0, dtype=np.uint64)
        whole = row_hashes(hashed)
        rows[0] += int(whole.sum(dtype=np.uint64))
        rows[1] += int(scattered(whole).sum(dtype=np.uint64))
    sums = {column: (int(totals[0, index]), int(totals[1, index])) for index, column in enumerate(chosen)}
    return Bags(sums, (rows[0] % 2**64, rows[1] % 2**64), n_rows, longest, text, kept, has_wide)


def _has_wide(block: Block, columns: Sequence[int]) -> bool:
    """Whether a cell of these columns begins like a number and is as long as an integer beyond 64 bits."""
    import numpy as np

    starts = block.starts[:, columns][block.lengths[:, columns] >= SHORTEST_OVERFLOW]
    firsts = np.frombuffer(block.data, np.uint8)[starts]
    return bool(np.isin(firsts, np.frombuffer(b"+-0123456789 ", np.uint8)).any())


def _by_name(gold: Table, predicted: Table, chosen: Sequence[int]) -> list[int]:
    """For each needed column a predicted one of its own: of the same name, else in the same place, else the next that is free."""
    by_name: dict[str, list[int]] = {}
    for k, name in enumerate(predicted.header):
        by_name.setdefault(name, []).append(k)
    taken: dict[int, int] = {}
    for i in chosen:
        named = [k for k in by_name.get(gold.header[i], ()) if k not in taken]
        if named:
            taken[i if i in named else named[0]] = i
    for i in (i for i in chosen if i not in taken.values()):
        taken[i if i < len(predicted.header) and i not in taken else next(k for k in range(len(predicted.header)) if k not in taken)] = i
    partner = {i: k for k, i in taken.items()}
    return [partner[i] for i in chosen]


def _by_bags(gold: Bags, predicted: Bags, chosen: Sequence[int], partners: Sequence[int]) -> list[int]:
    """The partners, where bags that are alike come first."""
    alike: dict[Sums, list[int]] = {}
    for k, sums in predicted.columns.items():
        alike.setdefault(sums, []).append(k)
    found: dict[int, int] = {}
    for i, k in zip(chosen, partners, strict=True):
        same = alike.get(gold.columns[i], [])
        if same:
            found[i] = k if k in same else same[0]
            same.remove(found[i])
    free = [k for k in [*partners, *predicted.columns] if k not in found.values()]
    for i, k in zip(chosen, partners, strict=True):
        if i not in found:
            found[i] = k if k in free else free[0]
            free = [other for other in free if other != found[i]]
    return [found[i] for i in chosen]


def join_rows(gold: Table, predicted: Table, found: Bagged, tolerances: Sequence[Tolerance]) -> Join | None:
    """The numbers of the unlike columns beside each other, or None where the like columns do not pair the rows. Raises `OddError`."""
    import numpy as np

    unlike = found.unlike
    alike = [(i, k) for i, k in zip(found.chosen, found.partners, strict=True) if (i, k) not in unlike]
    if not alike or len(unlike) > len(alike) + 8:
        return None
    mine = _numbers(gold, [i for i, _ in alike], [i for i, _ in unlike], ())
    others = [k for k in range(len(predicted.header)) if k not in found.predicted.text]
    theirs = _numbers(predicted, [k for _, k in alike], [k for _, k in unlike], others)
    if mine is None or theirs is None:
        return None
    refused = next((pair for index, pair in enumerate(unlike) if _refused(index, pair[1], mine, theirs)), None)
    by_column = dict(zip(found.chosen, tolerances, strict=True))
    orders = [side.order() for side in (mine, theirs)]
    agrees = bool(np.array_equal(mine.keys[orders[0]], theirs.keys[orders[1]])) and all(
        bool(surely_strictly_equal(a.at(orders[0]), b.at(orders[1]), by_column[i]).all())
        for (i, _), a, b in zip(unlike, mine.numbers, theirs.numbers, strict=True)
    )
    is_far = any(
        bool((np.abs(a.values[orders[0]] - b.values[orders[1]]) > ABS_TOL).any()) for a, b in zip(mine.numbers, theirs.numbers, strict=True)
    )
    return Join(agrees, is_far, refused)


@dataclass(slots=True)
class _Side:
    """Of each row the key and the numbers; of each column of numbers the smallest and the largest, or None where it is none."""

    keys: "np.ndarray[Any, Any]"
    numbers: list[Numbers]
    reach: dict[int, tuple[float, float] | None]

    def order(self) -> "np.ndarray[Any, Any]":
        """The rows in order of their keys, and of the first numbers where keys are alike."""
        import numpy as np

        order = np.argsort(self.keys)
        ordered = self.keys[order]
        return np.lexsort((self.numbers[0].values, self.keys)) if (ordered[1:] == ordered[:-1]).any() else order


def _numbers(table: Table, keys: Sequence[int], columns: Sequence[int], others: Sequence[int]) -> _Side | None:
    import numpy as np

    hashes: list[Any] = []
    parts: list[list[Numbers]] = [[] for _ in columns]
    reach: dict[int, tuple[float, float] | None] = {k: (np.inf, -np.inf) for k in others if k not in columns}
    for block in pack(table).blocks():
        hashes.append(row_hashes(block.hashes(list(keys))))
        for held, column in zip(parts, columns, strict=True):
            numbers = numbers_of(block, column)
            if numbers is None or not numbers.are_safe or not np.isfinite(numbers.values).all():
                return None
            held.append(joined([numbers]))
        for column, span in reach.items():
            seen = numbers_of(block, column) if span is not None else None
            if span is not None:
                known = seen is not None and bool(np.isfinite(seen.values).all()) and len(seen.values) > 0
                reach[column] = (min(span[0], seen.values.min()), max(span[1], seen.values.max())) if seen is not None and known else None
    return _Side(np.concatenate(hashes), [joined(held) for held in parts], reach)


def _refused(index: int, partner: int, mine: _Side, theirs: _Side) -> bool:
    """Whether no predicted column can be equal to a gold column, in whatever order the reference sorts them.

    If numbers can be paired within the tolerance at all, then the i-th smallest with the i-th smallest.
    """
    import numpy as np

    a = np.sort(mine.numbers[index].values)
    for other, numbers in enumerate(theirs.numbers):
        b = np.sort(numbers.values) if other == index else None
        if b is None:
            b = numbers.values
            if not _apart(a[0], b.min()) and not _apart(a[-1], b.max()):
                return False
        elif not _apart(a, b).any():
            return False
    spans = [span for k, span in theirs.reach.items() if k != partner]
    return all(span is not None and bool(_apart(a[0], span[0]) or _apart(a[-1], span[1])) for span in spans)


def _apart(a: Any, b: Any) -> Any:
    """Whether numbers are farther from each other than the official tolerance, beyond all rounding."""
    import numpy as np

    return np.abs(a - b) > 1.001 * np.maximum(ABS_TOL, 1e-9 * np.maximum(np.abs(a), np.abs(b)))
