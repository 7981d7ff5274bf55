"""Columns of tables: one protocol, `Column`, with packed text as its large store and plain lists for small tables.

A column is a sequence of cells, of which each becomes a Python value when it is read: text in a table of a CSV file, the values that
duckdb's client returns in one of a database. Both rules ask the same object for its nulls, texts, numbers and hashes, and each of them is
computed at most once for a comparison, as long as there is space for it. Nothing outside `compare/` and the readers that build tables
knows how a column is stored; the size below which cells are compared one by one is in this file alone.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache, cached_property
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol, TypeVar, overload

from evalsuite.compare.number_columns import WHOLE, Numbers, fewest_decimals, in_order, join_blocks, numbers_of, plain_words, ranks_of
from evalsuite.compare.official_cells import NA_WORDS, raw_column
from evalsuite.compare.packed_text import (
    NULL,
    WORD,
    Block,
    Keys,
    OddError,
    Packed,
    equal_cells,
    pack_lists,
    packed_block,
    text_block,
)
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.import_ref import np
from evalsuite.core.scores import Table

Result = TypeVar("Result")

# From this many cells of one side on, packed text is worth the import of numpy.
PACKED_CELLS: Final = 2_000
HEAD_ROWS: Final = 16
# The columns of a comparison keep arrays of about this many bytes.
_MOST_BYTES: Final = 48 << 20
# The approximate size of a cell as a Python value.
_CELL_BYTES: Final = 64
_NULL_TEXT: Final = NULL.decode(errors="surrogateescape")
_LONGEST_NA: Final = max(map(len, NA_WORDS))
_NA_STARTS: Final = sorted({int.from_bytes(word.encode()[:WORD], "little") for word in NA_WORDS})
# The characters of integers, with the white space around them.
_INTEGER_CHARACTERS: Final = "0123456789+- \t\n\v\f\r"


class Arrays:
    """The arrays that are derived from the columns of one comparison; the least recently used are released above `_MOST_BYTES`."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._n_bytes = 0

    @cached_property
    def keys(self) -> Keys:
        """The keys of the hashes of this comparison."""
        return Keys()

    def __contains__(self, name: Hashable) -> bool:
        return name in self._kept

    def once(self, name: Hashable, compute: Callable[[], Result]) -> Result:
        """The result of a function, which is called again only if its arrays were released."""
        if name in self._kept:
            self._kept.move_to_end(name)
        else:
            self.put(name, compute())
        result: Result = self._kept[name][0]
        return result

    def put(self, name: Hashable, value: Any) -> None:
        """Keep arrays under a name."""
        size = _bytes_of(value)
        self.make_room(size)
        self._kept[name] = value, size
        self._n_bytes += size

    def make_room(self, n_bytes: int) -> None:
        """Release arrays until so many bytes more are no more than all may take."""
        while self._kept and self._n_bytes + n_bytes > _MOST_BYTES:
            self._n_bytes -= self._kept.popitem(last=False)[1][1]


def _bytes_of(value: Any) -> int:
    return sum(map(_bytes_of, value)) if isinstance(value, tuple) else getattr(value, "nbytes", 0)


class Summary(NamedTuple):
    """The content of a column: whether all cells are numbers or empty, whether all are integers, the number of empty cells, the first and
    the last number, the fewest decimals that a number shows.

    `are_plain` means that none is written like 007, which the strict rules take for text.
    """

    are_numbers: bool
    n_empty: int = 0
    low: float = 0.0
    high: float = 0.0
    is_whole: bool = False
    are_plain: bool = False
    decimals: int = 0

    @property
    def size(self) -> float:
        """The largest number without its sign, infinity for other cells."""
        return max(abs(self.low), abs(self.high)) if self.are_numbers else float("inf")


class Column(Sequence[Any]):
    """A column of a table, read like a list.

    Attributes:
        kind: how the cells of a database are read; "" for text, "value" for values of which only the forms that Python writes are compared.
        place: the number of the column in its table, from 0.
    """

    kind: str
    place: int

    def __init__(self, arrays: Arrays, results: dict[Hashable, Any] | None = None) -> None:
        self.arrays = arrays
        self.results: dict[Hashable, Any] = {} if results is None else results
        # Distinguishes its arrays from those of other columns.
        self._name = object()

    @property
    def packed(self) -> Packed:
        """The packed text of its table."""
        raise NotImplementedError

    @property
    def type(self) -> str:
        """Its type in a database, "" for text."""
        return self.packed.types[self.place]

    def cells(self, rows: Iterable[int]) -> list[Any]:
        """The cells in some rows (ascending, from 0): texts, or the values of a database."""
        raise NotImplementedError

    def texts(self, rows: Any = None) -> list[str]:
        """A text of the cells in all rows, or in some (ascending, from 0), that is equal for cells that are written alike."""
        raise NotImplementedError

    def rows_of(self, cell: Any) -> list[int]:
        """The rows whose cells equal this one."""
        return [row for row, value in enumerate(self) if value == cell]

    @cached_property
    def head(self) -> list[Any]:
        """The cells in the first rows."""
        return list(self[:HEAD_ROWS])

    def once(self, name: Hashable, compute: Callable[[], Result]) -> Result:
        """The result of a function, which is called once for each name; for results that are no arrays."""
        if name not in self.results:
            self.results[name] = compute()
        result: Result = self.results[name]
        return result

    def array(self, name: Hashable, compute: Callable[[], Result]) -> Result:
        """`once` for arrays: computed again if they were released meanwhile."""
        return self.arrays.once((self._name, name), compute)

    def are_null(self, rows: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """Which cells in some rows (ascending, from 0) are NULL in a database, or words that pandas reads as empty in a text file."""
        parts = [np.empty(0, bool)]
        for block, part in self.packed.rows(rows):
            starts, lengths = block.starts[part, self.place], block.lengths[part, self.place]
            if self.kind:
                are_null = block.empty(self.place)[part]
            else:
                # Only short cells have to be read.
                are_null = (lengths <= _LONGEST_NA) & np.isin(block.words(starts, lengths), _NA_STARTS)
                short = np.flatnonzero(are_null)
                are_null[short] = [text in NA_WORDS for text in block.texts(self.place, part[short])]
            parts.append(are_null)
        return np.concatenate(parts)

    @property
    def has_null(self) -> bool:
        """Whether a cell of a database is NULL."""
        return self.place in self.packed.with_null

    def numbers(self) -> Numbers | None:
        """The cells as numbers, NaN if empty; None if a cell is something else, or not a plain double."""

        def parse() -> Numbers | None:
            parts = (numbers_of(block, self.place, kind=self.kind) for block in self.packed.blocks())
            numbers = join_blocks(parts, self.packed.n_rows)
            if numbers is None or not numbers.are_safe or np.isinf(numbers.values).any():
                return None
            if numbers.digits is not None and ((numbers.digits == WHOLE) | np.isnan(numbers.values)).all():
                # pandas reads them as integers, where -0 is 0, even if empty cells make them floats.
                np.add(numbers.values, 0.0, out=numbers.values)
            return numbers

        if not self.once("numeric", lambda: self.array("numbers", parse) is not None):
            return None
        return self.array("numbers", parse)

    def sorted_numbers(self) -> "np.ndarray[Any, Any] | None":
        """The numbers in ascending order, without empty cells; None if `numbers` is None."""
        numbers = self.numbers()
        return None if numbers is None else self.array("sorted", lambda: in_order(numbers.values.copy()))

    def ranks(self) -> "np.ndarray[Any, Any]":
        """The numbers at some ranks in ascending order, the first and the last among them; for a column of numbers."""

        def compute() -> "np.ndarray[Any, Any]":
            ordered = self.sorted_numbers()
            assert ordered is not None
            return ranks_of(ordered, len(self))

        return self.once("ranks", compute)

    @cached_property
    def summary(self) -> Summary:
        """What its numbers are."""
        numbers = self.numbers()
        if numbers is None:
            return Summary(False)
        n_empty = int(np.isnan(numbers.values).sum())
        is_whole = numbers.digits is not None and not n_empty and bool((numbers.digits == WHOLE).all())
        # Neither function counts NaN.
        ends = (np.fmin.reduce(numbers.values), np.fmax.reduce(numbers.values)) if n_empty < len(numbers.values) else (0.0, 0.0)
        return Summary(True, n_empty, float(ends[0]), float(ends[1]), is_whole, numbers.digits is not None, fewest_decimals(numbers))

    def hashes(self) -> "np.ndarray[Any, Any]":
        """A number for each cell: equal for equal texts, and almost never otherwise."""
        keys = self.arrays.keys
        if keys.are_numbers:
            return keys.of_texts(self.texts())
        return self.array("hashes", lambda: np.concatenate([block.hashes([self.place], keys)[:, 0] for block in self.packed.blocks()]))

    def plain_words(self) -> "np.ndarray[Any, Any]":
        """Which cells are `plain_words`; computed for all columns of the table at once."""
        words = self.arrays.once((self.packed, "plain"), lambda: np.concatenate(list(map(plain_words, self.packed.blocks()))))
        return words[:, self.place]

    def has_long_integer(self, n_characters: int) -> bool:
        """Whether a cell of text with so many characters, at least `WORD` * 2, begins like an integer."""
        in_integers = np.zeros(256, bool)
        in_integers[list(_INTEGER_CHARACTERS.encode())] = True
        for block in self.packed.blocks():
            starts = block.starts[:, self.place][block.lengths[:, self.place] >= n_characters]
            data = np.frombuffer(block.data, np.uint8)
            if in_integers[data[starts[:, None] + np.arange(2 * WORD)]].all(axis=1).any():
                return True
        return False

    def equals(self, other: "Column") -> bool:
        """Whether another column of the same table contains the same texts, row by row."""
        return all(bool(equal_cells(block, [self.place], block, [other.place]).all()) for block in self.packed.blocks())


def hash_columns(columns: Sequence[Column]) -> "Iterator[tuple[int, np.ndarray[Any, Any]]]":
    """(row, hashes of the cells of columns of one table from that row on), block by block. Those of smaller tables are kept."""
    packed, arrays, end = columns[0].packed, columns[0].arrays, 0
    if packed.n_rows * packed.width * WORD <= _MOST_BYTES // 4:
        new = [column for column in columns if (column._name, "hashes") not in arrays]
        hashed = [block.hashes([column.place for column in new], arrays.keys) for block in packed.blocks()] if new else []
        for column, part in zip(new, np.concatenate(hashed).T if hashed else (), strict=True):
            arrays.put((column._name, "hashes"), np.ascontiguousarray(part))
        yield 0, np.column_stack([column.hashes() for column in columns])
        return
    for block in packed.blocks():
        yield end, block.hashes([column.place for column in columns], arrays.keys)
        end += len(block)


class PackedColumn(Column):
    """A column of packed text; its `kind` is that of `Packed.kinds`."""

    def __init__(self, packed: Packed, place: int, arrays: Arrays) -> None:
        super().__init__(arrays)
        self._packed, self.place, self.kind = packed, place, packed.kinds[place]
        self._errors = "surrogateescape" if self.kind else "surrogatepass"

    @property
    def packed(self) -> Packed:
        """As in `Column`."""
        return self._packed

    def __len__(self) -> int:
        return self._packed.n_rows

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._read(block.texts(self.place, errors=self._errors)) for block in self.packed.blocks())

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            rows = np.arange(*at.indices(len(self)))
            return self.cells(rows) if at.step in (None, 1) else list(self)[at]
        return self.cells(np.array([range(len(self))[at]]))[0]

    def cells(self, rows: Any) -> list[Any]:
        """As in `Column`."""
        return self._read(self.texts(rows))

    def texts(self, rows: Any = None) -> list[str]:
        """As in `Column`."""
        parts = ((block, None) for block in self.packed.blocks()) if rows is None else self.packed.rows(rows)
        return [text for block, part in parts for text in block.texts(self.place, part, self._errors)]

    def _read(self, texts: list[str]) -> list[Any]:
        if not self.kind:
            return texts
        read = _READ[self.kind]
        try:
            return [None if text == _NULL_TEXT else read(text) for text in texts]
        except (ValueError, ArithmeticError):
            # Only a process that was taken over sends such cells; as texts they equal no value.
            return list(texts)

    def rows_of(self, cell: Any) -> list[int]:
        """As in `Column`."""
        if _AS_TEXT.get(self.kind) is not type(cell):
            return super().rows_of(cell)
        needle, rows, start = text_block([str(cell)]), list[int](), 0
        for block in self.packed.blocks():
            shape = len(block), 1
            part = replace(needle, starts=np.zeros(shape, int), lengths=np.full(shape, len(needle.data)))
            rows += (np.flatnonzero(equal_cells(block, [self.place], part, [0])) + start).tolist()
            start += len(block)
        return rows


class ListColumn(list[Any], Column):
    """A column as a list of cells, which must not be changed; its `results` outlive a comparison."""

    def __init__(
        self, cells: Iterable[Any], kind: str, place: int, pack: Callable[[], Packed], arrays: Arrays, results: dict[Hashable, Any]
    ) -> None:
        super().__init__(cells)
        Column.__init__(self, arrays, results)
        self.kind, self.place, self._pack = kind, place, pack

    @property
    def packed(self) -> Packed:
        """As in `Column`."""
        return self._pack()

    def cells(self, rows: Iterable[int]) -> list[Any]:
        """As in `Column`."""
        return [self[row] for row in rows]

    def texts(self, rows: Any = None) -> list[str]:
        """As in `Column`."""
        cells = self if rows is None else self.cells(rows)
        return [f"{type(cell).__qualname__} {cell!r}" for cell in cells] if self.kind else list(cells)


# The kinds of columns whose cells are equal exactly when their texts are, with the type of the cells.
_AS_TEXT: Final[dict[str, type]] = {"": str, "text": str, "int": int}
# How the cells of a database are read from their texts, by kind; cells of one kind are the same exactly when their texts are.
_READ: Final[dict[str, Callable[[str], Any]]] = {
    "int": int,
    "bool": "true".__eq__,
    "float": float,
    "decimal": Decimal,
    "text": str,
    "date": date.fromisoformat,
    "moment": datetime.fromisoformat,
}


def _packed_columns(packed: Packed, arrays: Arrays) -> tuple[PackedColumn, ...]:
    return tuple(PackedColumn(packed, place, arrays) for place in range(packed.width))


def with_columns(table: Table, arrays: Arrays | None = None, *, by_value: bool = False) -> Table:
    """The table with `Column`s that keep what is derived from them in `arrays`; in a table of text "" replaces a field that a short row
    lacks.

    `by_value` compares the cells as values even if they are packed.
    """
    arrays, packed = arrays or Arrays(), packed_of(table)
    if packed is not None and not by_value:
        return replace(table, columns=_packed_columns(packed, arrays))
    kind, columns = "value" if by_value or table.types is not None else "", list[ListColumn]()
    # The lists of a table are packed together when the first of them is needed as packed text.
    pack = cache(lambda: pack_lists([column.texts() for column in columns]))
    for place, written in enumerate(table.columns):
        cells = raw_column(table, place) if table.types is None else written
        results = written.results if isinstance(written, ListColumn) and written.kind == kind else {}
        columns.append(ListColumn(cells, kind, place, pack, arrays, results))
    return replace(table, columns=tuple(columns))


def packed_table(header: tuple[str, ...], name: str, frames: Iterable[bytes], types: Sequence[str] | None = None) -> Table:
    """The table of packed blocks. Raises ValueError, and what the iterator of frames raises."""
    packed, names = Packed(len(header), frames, types), None if types is None else tuple(types)
    return Table(header=header, columns=_packed_columns(packed, Arrays()), n_rows=packed.n_rows, types=names, name=name)


class UnreadSource(Protocol):
    """The source of an unread table."""

    def blocks(self) -> Iterator[Block]:
        """The rows in file order, each call from the beginning. Raises `OddError` if they are not plain."""
        ...

    def read_table(self) -> Table:
        """The table as the exact reader returns it. Raises `FaultError`."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class UnreadTable:
    """A big CSV file, or a big table of a database, of which only the header has been read. Call `read()` before comparing."""

    header: tuple[str, ...]
    name: str
    source: UnreadSource
    types: tuple[str, ...] | None = None

    def frames(self) -> Iterator[bytes]:
        """The rows as packed blocks, in the form in which other processes receive them. Raises `OddError`."""
        return map(packed_block, self.source.blocks())

    def read(self) -> Table:
        """The table. Raises `FaultError`."""
        try:
            return packed_table(self.header, self.name, self.frames(), self.types)
        except OddError:
            return self.source.read_table()


def are_worth_arrays(gold: Table, predicted: Table) -> bool:
    """Whether two tables are compared as packed text: both have columns, of plain types, and one has many cells."""
    is_small = gold.n_rows * max(len(gold.columns), len(predicted.columns)) < PACKED_CELLS
    are_packed = packed_of(gold) is not None and packed_of(predicted) is not None
    return not is_small and bool(gold.columns and predicted.columns) and (are_packed or gold.types is predicted.types is None)


def packed_of(table: Table) -> Packed | None:
    """The packed text behind a table's columns, None for a table in another form."""
    first = table.columns[0] if table.columns else None
    return first.packed if isinstance(first, PackedColumn) else None


def memory_of(table: Table) -> int:
    """The approximate bytes that the cells take in addition to the bytes of their file."""
    return 0 if packed_of(table) is not None else table.n_rows * len(table.columns) * _CELL_BYTES


def to_message(table: Table, convert: Callable[[Sequence[Any]], Sequence[Any]]) -> list[Any]:
    """The table as plain values for another process: its packed blocks, or its cells, with those of databases converted."""
    types = None if table.types is None else list(table.types)
    if (packed := packed_of(table)) is not None:
        return ["packed", list(table.header), table.name, packed.frames, types]
    columns = table.columns if types is None else map(convert, table.columns)
    return [
        "table",
        list(table.header),
        list(columns),
        table.n_rows,
        types,
        table.ragged_line,
        table.name,
        table.is_view,
        table.reads_clock,
    ]


def from_message(message: Any) -> Table:
    """The table of `to_message`. Raises ValueError, TypeError or IndexError for any other message."""
    if message[0] == "packed":
        _, header, name, frames, types = message
        return packed_table(tuple(map(str, header)), str(name), frames, None if types is None else tuple(map(str, types)))
    _, header, columns, n_rows, types, ragged, name, is_view, reads_clock = message
    if any(len(column) != n_rows for column in columns) or len(columns) != len(header):
        raise ValueError("a table whose columns differ in length")
    return Table(
        header=tuple(map(str, header)),
        columns=tuple(columns),
        n_rows=int(n_rows),
        types=None if types is None else tuple(map(str, types)),
        ragged_line=None if ragged is None else int(ragged),
        name=str(name),
        is_view=bool(is_view),
        reads_clock=bool(reads_clock),
    )


def as_values(form: Any) -> Any:
    """A payload with the cells of its tables as Python values. Raises `FaultError` for a table that has not been read."""
    if isinstance(form, list):
        return [as_values(table) for table in form]
    if isinstance(form, Table):
        return form if packed_of(form) is None else replace(form, columns=tuple(map(list, form.columns)))
    return {name: as_values(table) for name, table in form.items()} if isinstance(form, Mapping) else form


def has_long_integer(column: Sequence[str | None], n_characters: int) -> bool:
    """Whether a cell of a column of text with so many characters, at least `WORD` * 2, begins like an integer."""
    if isinstance(column, PackedColumn):
        return column.has_long_integer(n_characters)
    long = [cell for cell in filter(None, column) if len(cell) >= n_characters]
    return any(not cell[: 2 * WORD].strip(_INTEGER_CHARACTERS) for cell in long)
