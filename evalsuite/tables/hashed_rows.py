"""The columns and rows of two packed tables as bags: what is written alike in whatever order has equal sums of hashes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from evalsuite.tables.blocks import row_hashes, scattered
from evalsuite.tables.number_blocks import in_parts
from evalsuite.tables.packed import Packed

if TYPE_CHECKING:
    import numpy as np

_AT_ONCE: Final = 65_536
_RANGE: Final = 1 << 64


class Held(dict[Any, Any]):
    """Arrays as long as a table, of one kind at a time: of a million rows each counts."""

    kind = ""

    def of(self, kind: str) -> "Held":
        """What is held of a kind; what was held of another is let go."""
        if kind != self.kind:
            self.clear()
            self.kind = kind
        return self


class HashedRows:
    """The hashes of gold (side 0) and of a predicted table (side 1), worked out as they are asked for."""

    def __init__(self, packed: Sequence[Packed], held: Held) -> None:
        self._packed, self._held = packed, held
        self._known: dict[Any, Any] = {}

    def rows(self, side: int, columns: Sequence[int]) -> "np.ndarray[Any, Any]":
        """A number for each row of some packed columns in this order: equal for equal texts, and hardly ever else. The last is held."""
        import numpy as np

        held, name = self._held.of("hashes"), tuple(columns)
        if side not in held or held[side][0] != name:
            held.pop(side, None)
            found, end = np.empty(self._packed[side].n_rows, np.uint64), 0
            sums, others = np.zeros(len(columns), np.uint64), np.zeros(len(columns), np.uint64)
            for block in self._packed[side].blocks():
                hashed = block.hashes(columns)
                sums += hashed.sum(axis=0, dtype=np.uint64)
                others += scattered(hashed).sum(axis=0, dtype=np.uint64)
                begin, end = end, end + len(block)
                found[begin:end] = row_hashes(hashed)
            self._known.update((("bag", side, column), (int(sums[at]), int(others[at]))) for at, column in enumerate(columns))
            held[side] = name, found
        known: np.ndarray[Any, Any] = held[side][1]
        return known

    def know_bags(self, side: int, columns: Sequence[int]) -> None:
        """Have the `bag` of several columns worked out in one reading."""
        if any(("bag", side, column) not in self._known for column in columns):
            self.rows(side, columns)

    def bag(self, side: int, column: int) -> tuple[int, int]:
        """Two sums, equal for packed columns that hold the same texts in whatever order."""
        if ("bag", side, column) not in self._known:
            self.rows(side, [column])
        found: tuple[int, int] = self._known["bag", side, column]
        return found

    def spare(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Any, Any]:
        """The gold and the predicted rows that are left when rows written alike in these columns are taken away from above."""
        import numpy as np

        if len(columns) == 1 and self.bag(0, columns[0]) == self.bag(1, partners[0]):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        name = ("spare", tuple(columns), tuple(partners))
        if name in self._known:
            known: tuple[Any, Any] = self._known[name]
            return known
        gold, predicted = self.rows(0, columns), self.rows(1, partners)
        bags = [_bag(side) for side in (gold, predicted)]
        nothing = np.empty(0, np.int64), np.empty(0, np.int64)
        # They are held by nobody but the function that orders them.
        self._held.clear()
        hashed = [gold, predicted]
        del gold, predicted
        self._known[name] = found = nothing if bags[0] == bags[1] else _spare_hashes(hashed)
        return found


def _bag(hashed: "np.ndarray[Any, Any]") -> tuple[int, int]:
    """Two sums, equal for the same hashes in whatever order."""
    import numpy as np

    sums = [(int(part.sum(dtype=np.uint64)), int(scattered(part).sum(dtype=np.uint64))) for (part,) in in_parts(hashed)]
    return sum(one for one, _ in sums) % _RANGE, sum(other for _, other in sums) % _RANGE


def _spare_hashes(sides: "list[np.ndarray[Any, Any]]") -> tuple[Any, Any]:
    """The rows of both sides that are left when equal hashes are paired; `sides` is emptied."""
    import numpy as np

    orders, ordered = [], []
    while sides:
        side = sides.pop(0)
        orders.append(np.argsort(side, kind="stable").astype(np.int32))
        ordered.append(side[orders[-1]])
    left = []
    for mine, theirs, order in ((ordered[0], ordered[1], orders[0]), (ordered[1], ordered[0], orders[1])):
        kept = []
        for start in range(0, len(mine), _AT_ONCE):
            part = mine[start : start + _AT_ONCE]
            # How many equal ones stand before a row on its own side, and how many there are on the other.
            before = np.arange(start, start + len(part)) - np.searchsorted(mine, part)
            there = np.searchsorted(theirs, part, "right") - np.searchsorted(theirs, part)
            kept.append(order[start : start + len(part)][before >= there])
        left.append(np.sort(np.concatenate(kept)))
    return left[0], left[1]
