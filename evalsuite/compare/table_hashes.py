"""Hashes of the rows and columns of packed tables: equal texts have equal hashes, in any order.

A submission may be written to produce collisions, so equal hashes are trusted only within bounds that hold for any two texts: the keys
are secret and new for each comparison (`Keys`), all hashes of both sides are compared and not their sums, and some cells, which the keys
select, are compared directly. If one of those differs, the comparison stops using hashes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

from evalsuite.compare.string_columns import Keys, Packed, equal_cells, text_block

if TYPE_CHECKING:
    import numpy as np


_AT_ONCE: Final = 65_536
# At most this many hashes of single cells are in memory at a time.
_MOST_CELLS: Final = 4_000_000
# The hashes of all cells of tables with at most this many are cached, 8 bytes each.
_MOST_KEPT: Final = 2_500_000
# This many different rows are compared directly if the hashes are equal.
_SAMPLED: Final = 16
_LOWEST: Final = 512
# Up to this many rows, cells are compared without hashes.
_FEW: Final = 200
_LONG: Final = 300_000


class ArrayCache:
    """Arrays as long as a table, by kind. At a million rows only those of one kind are kept."""

    def __init__(self, n_rows: int) -> None:
        self._is_long, self._kinds = n_rows > _LONG, dict[str, dict[Any, Any]]()

    def arrays_of(self, kind: str) -> dict[Any, Any]:
        """The arrays of a kind; those of another kind are released if they are long."""
        if self._is_long and kind not in self._kinds:
            self._kinds.clear()
        return self._kinds.setdefault(kind, {})

    def clear(self) -> None:
        """Release long arrays."""
        if self._is_long:
            self._kinds.clear()


class HashedRows:
    """The hashes of gold (side 0) and of a predicted table (side 1), computed on demand."""

    def __init__(self, packed: Sequence[Packed], held: ArrayCache) -> None:
        self._packed, self._held, self._columns = packed, held, [side.columns() for side in packed]
        self._known: dict[Any, Any] = {}
        self._alike: dict[tuple[int, int], bool] = {}
        # A number for each column (side, column) that was found alike with another; columns with the same number are all alike.
        self._groups: dict[tuple[int, int], int] = {}
        self._keys: Keys | None = None
        # The numbers of texts, once they replace hashes.
        self._numbers: dict[str, int] | None = None

    def rows(self, side: int, columns: Sequence[int]) -> "np.ndarray[Any, Any]":
        """A number for each row of some packed columns in this order: equal for equal texts, and almost never otherwise. The last result
        is cached.
        """
        import numpy as np

        held, name = self._held.arrays_of("hashes"), tuple(columns)
        if side not in held or held[side][0] != name:
            held.pop(side, None)
            hashes = np.empty(self._packed[side].n_rows, np.uint64)
            sums = np.zeros(len(columns), np.uint64)
            for begin, hashed in self._cells(side, columns):
                sums += hashed.sum(axis=0, dtype=np.uint64)
                hashes[begin : begin + len(hashed)] = self._secret.of_rows(hashed)
            self._known.update((("bag", side, column), int(sums[at])) for at, column in enumerate(columns))
            held[side] = name, hashes
        row_hashes: np.ndarray[Any, Any] = held[side][1]
        return row_hashes

    @property
    def _secret(self) -> Keys:
        self._keys = self._keys or Keys()
        return self._keys

    def _cells(self, side: int, columns: Sequence[int]) -> "Iterator[tuple[int, np.ndarray[Any, Any]]]":
        """(row, hashes of the cells of some columns from that row on), block by block. Those of smaller tables are cached."""
        import numpy as np

        end, packed = 0, self._packed[side]
        for block in packed.blocks():
            begin, end = end, end + len(block)
            if packed.n_rows * packed.width > _MOST_KEPT:
                yield begin, block.hashes(columns, self._secret)
                continue
            names = [("cells", side, column, begin) for column in columns]
            new = [name for name in names if name not in self._known]
            hashed = block.hashes([column for _, _, column, _ in new], self._secret)
            self._known.update(zip(new, hashed.T, strict=True))
            yield begin, np.column_stack([self._known[name] for name in names])

    def cells(self, side: int, column: int) -> "np.ndarray[Any, Any]":
        """A number for each cell of a packed column: equal for equal texts, and almost never otherwise."""
        import numpy as np

        if self._numbers is not None:
            return self.of_texts(self._columns[side][column].texts())
        return np.concatenate([hashed[:, 0] for _, hashed in self._cells(side, [column])])

    def are_confirmed(self, hashed: "Sequence[np.ndarray[Any, Any]]", i: int, k: int) -> bool:
        """Whether cells of gold column i and predicted column k with equal hashes are written alike, tested on the lowest hashes."""
        return self._is_confirmed(hashed, [i], [k])

    @property
    def are_numbered(self) -> bool:
        """Whether numbers of texts have replaced hashes."""
        return self._numbers is not None

    def number_texts(self) -> None:
        """Give different texts different numbers from now on, because hashes of different texts were equal."""
        self._numbers = self._numbers or {}

    def of_texts(self, texts: Sequence[str]) -> "np.ndarray[Any, Any]":
        """The same number for each of some texts."""
        import numpy as np

        if (numbers := self._numbers) is not None:
            return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.uint64)
        return text_block(texts).hashes([0], self._secret)[:, 0]

    def compute_bags(self, side: int, columns: Sequence[int]) -> None:
        """Compute the `bag` of several columns in one pass."""
        if any(("bag", side, column) not in self._known for column in columns):
            self.rows(side, columns)

    def bag(self, side: int, column: int) -> int:
        """A sum that is equal for packed columns with the same texts in any order; `are_alike` then decides whether they really are."""
        if ("bag", side, column) not in self._known:
            self.rows(side, [column])
        total: int = self._known["bag", side, column]
        return total

    def has_same_texts(self, i: int, k: int) -> bool:
        """Whether gold column i and predicted column k contain the same texts, in any order."""
        pair = self.twin(0, i), self.twin(1, k)
        if pair not in self._alike:
            if not self.may_be_alike(*pair):
                return False
            self.compare([pair])
        return self._alike[pair]

    def compare(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Compute `has_same_texts` for several pairs at once: if rows are alike, their columns are."""
        twins = ((self.twin(0, i), self.twin(1, k)) for i, k in pairs)
        new = [pair for pair in dict.fromkeys(twins) if pair not in self._alike]
        self._alike.update((pair, self._are_grouped(*pair)) for pair in new)
        candidates = [pair for pair in new if not self._alike[pair] and self.may_be_alike(*pair)]
        if not candidates:
            return
        rows = self._spare([i for i, _ in candidates], [k for _, k in candidates])
        if len(rows[0]) <= _FEW:
            are_alike = [self._same_texts(pair, rows) for pair in candidates]
        else:
            step = max(1, _MOST_CELLS // self._packed[0].n_rows)
            parts = (candidates[start : start + step] for start in range(0, len(candidates), step))
            are_alike = [is_alike for part in parts for is_alike in self._same_columns(part)]
        self._alike.update(zip(candidates, are_alike, strict=True))
        for pair in compress(candidates, are_alike):
            self._group(*pair)

    def may_be_alike(self, i: int, k: int) -> bool:
        """Whether sums of hashes allow that a gold and a predicted column contain the same texts."""
        return self._same_kinds([i], [k]) and self.bag(0, i) == self.bag(1, k)

    def _are_grouped(self, i: int, k: int) -> bool:
        """Whether a gold and a predicted column are alike because others are."""
        return (0, i) in self._groups and self._groups[0, i] == self._groups.get((1, k))

    def _group(self, i: int, k: int) -> None:
        """Put a gold and a predicted column that are alike, and the columns that are alike with either, into one group."""
        groups = self._groups
        first, second = groups.setdefault((0, i), len(groups)), groups.setdefault((1, k), groups[0, i])
        if first != second:
            groups.update((column, first) for column, group in list(groups.items()) if group == second)

    def _same_texts(self, pair: tuple[int, int], rows: tuple[Any, Any]) -> bool:
        """Whether the cells of both columns in these rows are the same."""
        texts = [Counter(self._columns[side][pair[side]].texts(rows[side])) for side in (0, 1)]
        return texts[0] == texts[1]

    def _same_columns(self, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """For each pair whether both columns contain the same texts."""
        import numpy as np

        sides = []
        for side, columns in enumerate(zip(*pairs, strict=True)):
            hashes = np.empty((len(columns), self._packed[side].n_rows), np.uint64)
            for begin, hashed in self._cells(side, columns):
                hashes[:, begin : begin + len(hashed)] = hashed.T
            sides.append(hashes)
        cells = zip(pairs, *sides, strict=True)
        return [_same_bag(gold, predicted) and self._is_confirmed([gold, predicted], [i], [k]) for (i, k), gold, predicted in cells]

    def _is_confirmed(self, hashed: "Sequence[np.ndarray[Any, Any]]", columns: Sequence[int], partners: Sequence[int]) -> bool:
        """Whether rows with equal hashes are written alike, tested on the rows with the lowest hashes of either side."""
        import numpy as np

        lowest = []
        for side in hashed:
            last = np.partition(side, _LOWEST)[_LOWEST] if len(side) > _LOWEST else side.max(initial=0)
            rows = np.flatnonzero(side <= last)[: 4 * _LOWEST]
            values, at = np.unique(side[rows], return_index=True)
            lowest.append(dict(zip(values.tolist(), rows[at].tolist(), strict=True)))
        common = sorted(lowest[0].keys() & lowest[1].keys())[:_SAMPLED]
        samples = []
        for side_columns, places, chosen in zip(self._columns, lowest, (columns, partners), strict=True):
            row_numbers = np.array(sorted(places[value] for value in common), np.int64)
            texts = zip(*(side_columns[column].texts(row_numbers) for column in chosen), strict=True)
            texts_of = dict(zip(row_numbers.tolist(), texts, strict=True))
            samples.append([texts_of[places[value]] for value in common])
        return samples[0] == samples[1]

    def twin(self, side: int, column: int) -> int:
        """A column of the same table that contains the same texts, row by row: the first that was asked for, often the column itself."""
        name = ("twin", side, column)
        if name not in self._known:
            first = self._known.setdefault(("first", side, self._packed[side].kinds[column], self.bag(side, column)), column)
            self._known[name] = column if first == column else self._twin_by_order(side, first, column)
        twin: int = self._known[name]
        return twin

    def _twin_by_order(self, side: int, *columns: int) -> int:
        """`twin` of the last of some columns with equal bags."""
        from hashlib import blake2b

        first = 0
        for column in columns:
            digest = blake2b(self.cells(side, column).tobytes()).digest()
            first = self._known.setdefault(("order", side, digest), column)
        blocks = self._packed[side].blocks()
        return first if all(bool(equal_cells(block, [first], block, [columns[-1]]).all()) for block in blocks) else columns[-1]

    def spare(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Any, Any]:
        """The gold and the predicted rows that remain when rows that are written alike in these columns are paired off from the top."""
        import numpy as np

        if len(columns) == 1 and self.has_same_texts(columns[0], partners[0]):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return self._spare(columns, partners)

    def _same_kinds(self, columns: Sequence[int], partners: Sequence[int]) -> bool:
        """Whether equal texts of these columns are equal cells."""
        gold, predicted = (side.kinds for side in self._packed)
        return [gold[i] for i in columns] == [predicted[k] for k in partners]

    def _spare(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Any, Any]:
        import numpy as np

        if not self._same_kinds(columns, partners):
            return np.arange(self._packed[0].n_rows), np.arange(self._packed[1].n_rows)
        name = ("spare", tuple(columns), tuple(partners))
        if name in self._known:
            rows: tuple[Any, Any] = self._known[name]
            return rows
        hashed = [self.rows(0, columns), self.rows(1, partners)]
        if not self._is_confirmed(hashed, columns, partners):
            spare = self._spare_texts(columns, partners)
        elif _same_bag(*hashed):
            spare = np.empty(0, np.int64), np.empty(0, np.int64)
        else:
            # No other reference exists, so that the sorting function can free them.
            self._held.clear()
            spare = _spare_hashes(hashed)
        self._known[name] = spare
        return spare

    def _spare_texts(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Any, Any]:
        """`spare` without hashes."""
        import numpy as np

        gold, predicted = (
            list(zip(*(side[at].texts() for at in positions), strict=True))
            for side, positions in zip(self._columns, (columns, partners), strict=True)
        )
        gold_spare, predicted_spare = spare_rows(gold, Counter(predicted)), spare_rows(predicted, Counter(gold))
        return np.array(gold_spare, np.int64), np.array(predicted_spare, np.int64)


def spare_rows(rows: Sequence[Any], others: Counter[Any]) -> list[int]:
    """The rows that remain when each of the others is paired off with an equal one, from the top."""
    rows_left = []
    for at, row in enumerate(rows):
        if others[row] > 0:
            others[row] -= 1
        else:
            rows_left.append(at)
    return rows_left


def _same_bag(gold: "np.ndarray[Any, Any]", predicted: "np.ndarray[Any, Any]") -> bool:
    """Whether both sides contain the same hashes, in any order."""
    import numpy as np

    return np.array_equal(np.sort(gold), np.sort(predicted))


def stable_order(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """The rows of values in ascending order, those of equal values in row order: three times as fast as a stable sort."""
    import numpy as np

    order = np.argsort(values)
    ordered = values[order]
    order += np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])]) * len(values) if len(values) else 0
    order.sort()
    order %= max(1, len(values))
    return order


def _spare_hashes(sides: "list[np.ndarray[Any, Any]]") -> tuple[Any, Any]:
    """The rows of both sides that remain when equal hashes are paired off; `sides` is emptied."""
    import numpy as np

    orders, ordered = [], []
    while sides:
        side = sides.pop(0)
        orders.append(stable_order(side).astype(np.int32))
        ordered.append(side[orders[-1]])
    left = []
    for side_hashes, other_hashes, order in ((ordered[0], ordered[1], orders[0]), (ordered[1], ordered[0], orders[1])):
        parts = []
        for start in range(0, len(side_hashes), _AT_ONCE):
            part = side_hashes[start : start + _AT_ONCE]
            # How many equal hashes precede a row on its own side, and how many the other side has.
            before = np.arange(start, start + len(part)) - np.searchsorted(side_hashes, part)
            there = np.searchsorted(other_hashes, part, "right") - np.searchsorted(other_hashes, part)
            parts.append(order[start : start + len(part)][before >= there])
        left.append(np.sort(np.concatenate(parts)))
    return left[0], left[1]
