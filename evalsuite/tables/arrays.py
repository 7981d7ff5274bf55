"""Columns of database tables as arrays: a cell becomes a Python value when it is asked for, and two columns are compared all at once.

A cell is the very value that duckdb's client makes of it, so that a table of such columns is a table like any other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from evalsuite.tables.blocks import Block, equal_cells
from evalsuite.types import Table

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["number", "date", "moment", "text", "decimal"]
_AT_ONCE: Final = 4_096
_DTYPES: Final = {"number": "?bBhHiIlLqQd", "date": "lq", "moment": "lq", "text": "", "decimal": ""}
_ENDS: Final = (date.min, date.max)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ArrayColumn(Sequence[Any]):
    """One column: numbers, microseconds since 1970 (of a date, of a moment), or the text of each cell (a decimal as it is written).

    `empty` says which cells are NULL (None: none); they hold anything. Raises ValueError for what has another shape: it may come from a
    process that read hostile bytes.
    """

    kind: Kind
    values: "np.ndarray[Any, Any] | Block"
    empty: "np.ndarray[Any, Any] | None" = None

    def __post_init__(self) -> None:
        if isinstance(self.values, Block) != (self.kind in ("text", "decimal")) or self.kind not in _DTYPES:
            raise ValueError("a column of another kind")
        if not isinstance(self.values, Block) and self.values.dtype.char not in _DTYPES[self.kind]:
            raise ValueError("a column of other numbers")
        if self.empty is not None and len(self.empty) != len(self.values):
            raise ValueError("a column of another length")

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self.cells(slice(start, start + _AT_ONCE))

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return self.cells(at)
        return self.cells([range(len(self))[at]])[0]

    def cells(self, rows: Any) -> list[Any]:
        """The cells in some rows."""
        found: list[Any]
        if isinstance(self.values, Block):
            found = self.values.texts(0, rows)
            if self.kind == "decimal":
                found = [Decimal(text or "0") for text in found]
        else:
            part = self.values[rows]
            if self.kind == "number":
                found = part.tolist()
            else:
                found = part.astype("datetime64[us]").astype("datetime64[D]" if self.kind == "date" else "datetime64[us]").tolist()
        if self.empty is None:
            return found
        return [None if is_empty else cell for cell, is_empty in zip(found, self.empty[rows].tolist(), strict=True)]

    @property
    def n_bytes(self) -> int:
        """How much memory it takes."""
        values = self.values
        return len(values.data) + 8 * len(values) if isinstance(values, Block) else int(values.nbytes)


def fits_calendar(microseconds: "np.ndarray[Any, Any]") -> bool:
    """Whether Python has all these dates or moments."""
    first, last = (datetime(day.year, day.month, day.day) - datetime(1970, 1, 1) for day in _ENDS)
    day = 86_400_000_000
    return not len(microseconds) or bool(microseconds.min() >= first.days * day and microseconds.max() < (last.days + 1) * day)


def text_block(texts: Sequence[str]) -> Block:
    """The cells of a column of text."""
    import numpy as np

    joined = "".join(texts)
    sizes = map(len, texts) if joined.isascii() else (len(text.encode()) for text in texts)
    return block_of(joined.encode(), np.fromiter(sizes, np.int32, len(texts)))


def block_of(data: bytes, lengths: "np.ndarray[Any, Any]") -> Block:
    """A column of text of these cells one behind the other (lengths in bytes). Raises ValueError where they do not fit."""
    import numpy as np

    ends = np.cumsum(lengths, dtype=np.int64)
    if (int(ends[-1]) if len(ends) else 0) != len(data) or (lengths < 0).any():
        raise ValueError("the lengths of a column do not fit its text")
    return Block(data, (ends - lengths).reshape(-1, 1), lengths.astype(np.int64).reshape(-1, 1))


def array_columns(table: Table) -> "Sequence[ArrayColumn] | None":
    """The columns of a table that is held so, None for one that is held otherwise."""
    return table.columns if table.columns and all(isinstance(column, ArrayColumn) for column in table.columns) else None  # type: ignore[return-value]


def unlike_arrays(gold: Any, predicted: Any) -> "np.ndarray[Any, Any] | None":
    """The rows in which two columns of as many rows hold other values, or NaN; None where that is not to be seen by their arrays."""
    import numpy as np

    if not (isinstance(gold, ArrayColumn) and isinstance(predicted, ArrayColumn)) or gold.kind != predicted.kind:
        return None
    a, b = gold.values, predicted.values
    if isinstance(a, Block) and isinstance(b, Block):
        same_text = a.data == b.data and np.array_equal(a.lengths, b.lengths)
        unlike = np.zeros(len(a), bool) if same_text else ~equal_cells(a, [0], b, [0])[:, 0]
    elif isinstance(a, Block) or isinstance(b, Block) or a.dtype.kind != b.dtype.kind:
        return None
    else:
        unlike = a != b
    if gold.empty is not None or predicted.empty is not None:
        n = len(gold)
        x, y = (np.zeros(n, bool) if side.empty is None else side.empty for side in (gold, predicted))
        unlike = (unlike & ~(x & y)) | (x != y)
    found: np.ndarray[Any, Any] = np.flatnonzero(unlike)
    return found
