"""Hashes of the rows and columns of packed tables: equal texts have equal hashes, in any order.

A submission may be written to produce collisions, so equal hashes are trusted only within bounds that hold for any two texts: the keys
are secret and new for each comparison (`Keys`), all hashes of both sides are compared and not their sums, and some cells, which the keys
select, are compared directly. If one of those differs, the comparison stops using hashes.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import compress
from typing import Any, Final

from evalsuite.compare.columns import Arrays, Column, hash_columns
from evalsuite.core.import_ref import np

_AT_ONCE: Final = 65_536
# At most this many hashes of single cells are in memory at a time.
_MOST_CELLS: Final = 4_000_000
# This many different rows are compared directly if the hashes are equal.
_SAMPLED: Final = 16
_LOWEST: Final = 512
# Up to this many rows, cells are compared without hashes.
_FEW: Final = 200
# About so many bytes for each row are needed to pair rows off.
_WORK_BYTES: Final = 48


class HashedRows:
    """The hashes of the columns of gold (side 0) and of a predicted table (side 1), computed on demand."""

    def __init__(self, columns: Sequence[Sequence[Column]], arrays: Arrays) -> None:
        self._columns, self._arrays = columns, arrays
        self._known: dict[Any, Any] = {}
        self._alike: dict[tuple[int, int], bool] = {}
        # A number for each column (side, column) that was found alike with another; columns with the same number are all alike.
        self._groups: dict[tuple[int, int], int] = {}

    @property
    def _n_rows(self) -> int:
        return len(self._columns[0][0])

    def rows(self, side: int, columns: Sequence[int]) -> "np.ndarray[Any, Any]":
        """A number for each row of some columns in this order: equal for equal texts, and almost never otherwise."""

        def compute() -> "np.ndarray[Any, Any]":
            chosen = [self._columns[side][column] for column in columns]
            hashes, sums = np.empty(len(chosen[0]), np.uint64), np.zeros(len(columns), np.uint64)
            for begin, hashed in hash_columns(chosen):
                sums += hashed.sum(axis=0, dtype=np.uint64)
                hashes[begin : begin + len(hashed)] = self._arrays.keys.of_rows(hashed)
            self._known.update((("bag", side, column), int(sums[at])) for at, column in enumerate(columns))
            return hashes

        return self._arrays.once(("rows", side, *columns), compute)

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
        if max(map(len, rows)) <= _FEW:
            are_alike = [self._same_texts(pair, rows) for pair in candidates]
        else:
            step = max(1, _MOST_CELLS // self._n_rows)
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
        sides = []
        for side, columns in enumerate(zip(*pairs, strict=True)):
            hashes = np.empty((len(columns), self._n_rows), np.uint64)
            for begin, hashed in hash_columns([self._columns[side][column] for column in columns]):
                hashes[:, begin : begin + len(hashed)] = hashed.T
            sides.append(hashes)
        cells = zip(pairs, *sides, strict=True)
        return [_same_bag(gold, predicted) and self.are_confirmed([gold, predicted], [i], [k]) for (i, k), gold, predicted in cells]

    def are_confirmed(self, hashed: "Sequence[np.ndarray[Any, Any]]", columns: Sequence[int], partners: Sequence[int]) -> bool:
        """Whether rows with equal hashes are written alike, tested on the rows with the lowest hashes of either side."""
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
            first = self._known.setdefault(("first", side, self._columns[side][column].kind, self.bag(side, column)), column)
            self._known[name] = column if first == column else self._twin_by_order(side, first, column)
        twin: int = self._known[name]
        return twin

    def _twin_by_order(self, side: int, first: int, column: int) -> int:
        """`twin` of a column whose bag is that of another one."""
        from hashlib import blake2b

        columns, twin = self._columns[side], first
        for number in (first, column):
            digest = blake2b(columns[number].hashes().tobytes()).digest()
            twin = self._known.setdefault(("order", side, columns[number].kind, digest), number)
        return twin if columns[twin].equals(columns[column]) else column

    def spare(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Any, Any]:
        """The gold and the predicted rows that remain when rows that are written alike in these columns are paired off from the top."""
        if len(columns) == 1 and self.has_same_texts(columns[0], partners[0]):
            nothing = np.empty(0, np.int64)
            return nothing, nothing
        return self._spare(columns, partners)

    def _same_kinds(self, columns: Sequence[int], partners: Sequence[int]) -> bool:
        """Whether equal texts of these columns are equal cells."""
        gold, predicted = self._columns
        return [gold[i].kind for i in columns] == [predicted[k].kind for k in partners]

    def _spare(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Any, Any]:
        if not self._same_kinds(columns, partners):
            everywhere = np.arange(self._n_rows)
            return everywhere, everywhere
        name = ("spare", tuple(columns), tuple(partners))
        if name in self._known:
            rows: tuple[Any, Any] = self._known[name]
            return rows
        hashed = [self.rows(0, columns), self.rows(1, partners)]
        if not self.are_confirmed(hashed, columns, partners):
            spare = self._spare_texts(columns, partners)
        elif _same_bag(*hashed):
            nothing = np.empty(0, np.int64)
            spare = nothing, nothing
        else:
            # In long tables no other reference exists then, so that the sorting function can free them.
            self._arrays.make_room(_WORK_BYTES * self._n_rows)
            spare = _spare_hashes(hashed)
        self._known[name] = spare
        return spare

    def _spare_texts(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Any, Any]:
        """`spare` without hashes."""
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
    return np.array_equal(np.sort(gold), np.sort(predicted))


def stable_order(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """The rows of values in ascending order, those of equal values in row order: three times as fast as a stable sort."""
    order = np.argsort(values)
    ordered = values[order]
    order += np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])]) * len(values)
    order.sort()
    order %= len(values)
    return order


def _spare_hashes(sides: "list[np.ndarray[Any, Any]]") -> tuple[Any, Any]:
    """The rows of both sides that remain when equal hashes are paired off; `sides` is emptied."""
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
