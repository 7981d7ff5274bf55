"""Read CSV files; no other module reads CSV. There are three modes.

- *exact*, `read_csv_table`: the cells that pandas.read_csv would return, because the reference reads answers and gold with it. A normal
  file goes through the csv module; what the two read differently (bytes after a closing quote, lone carriage returns, lines of blanks) is
  left to pandas itself, so its semantics apply there by construction.
- *packed*, `stream_csv_table`: the same cells as blocks of packed text, because Python values of a big file would not fit into memory;
  numpy finds the separators of a megabyte at once. Only plain files are read this way: as many fields in each row as in the header,
  quotes around whole fields and none inside, no blank lines, no NUL, no lone carriage return, UTF-8. Any other file is read in exact mode.
- *rows*, `csv_rows` and `read_named_rows`: every line as it is, blank ones too, with its number, because files that a person or this
  program wrote for a command are not tables of the reference, and a message about them names the line.
"""

import csv
import io
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from evalsuite.compare.columns import UnreadTable
from evalsuite.compare.messages import other_delimiter, other_form
from evalsuite.compare.packed_text import Block, OddError
from evalsuite.core.errors import FaultError, UsageError, count_words, reason_of
from evalsuite.core.import_ref import ImportRef, LazyModule, np
from evalsuite.core.scores import Table
from evalsuite.readers.csv_dialect import DEFAULT, Dialect, detect_dialect
from evalsuite.readers.file_signatures import LFS_POINTER, format_of, is_lfs_pointer
from evalsuite.readers.limits import BIG_BYTES, PACKED_BYTES, Limits
from evalsuite.readers.paths import refuse_endless

if TYPE_CHECKING:
    import lzma
    import zlib

else:
    lzma, zlib = LazyModule("lzma"), LazyModule("zlib")

_CHUNK = 1 << 20
_WIDE_CHUNK = 4 << 20
_MANY_COLUMNS = 100
_LONGEST_CELL = 131_072
_COMMA, _NEWLINE, _QUOTE, _RETURN = b',\n"\r'
_NOT_UNPACKED = "the compressed file cannot be unpacked"
_FIELD_SIZE_LOCK = threading.Lock()


class CsvBlocks:
    """The `UnreadSource` of a file that `opened` opens again for each reading; `read_table` reads a file that is not plain enough."""

    def __init__(self, opened: Callable[[], BinaryIO], *, limits: Limits, read_table: Callable[[], Table]) -> None:
        self._opened, self._limits = opened, limits
        self.read_table = read_table

    def header(self) -> tuple[str, ...]:
        """The names of the columns. Raises `OddError`."""
        with self._opened() as handle:
            first = next(_blocks_of_rows(handle), None)
        if first is None:
            raise OddError
        return tuple(first.text(0, column) for column in range(first.lengths.shape[1]))

    def blocks(self) -> Iterator[Block]:
        """The rows below the header, as `UnreadSource` defines it."""
        n_rows = 0
        with self._opened() as handle:
            for index, block in enumerate(_blocks_of_rows(handle)):
                n_rows += len(block)
                if n_rows > self._limits["rows"] or n_rows * block.lengths.shape[1] > self._limits["cells"]:
                    raise OddError
                yield block.rows(1, len(block)) if index == 0 else block


def _blocks_of_rows(handle: BinaryIO) -> Iterator[Block]:
    """All rows of a file, including the header."""
    rest, width, chunk = handle.read(3), None, _CHUNK
    rest = rest.removeprefix(b"\xef\xbb\xbf")
    while True:
        data = handle.read(chunk)
        is_last = not data
        data = rest + data
        if is_last:
            if not data:
                return
            if data.endswith(b"\r"):
                raise OddError
            data += b"" if data.endswith(b"\n") else b"\n"
        rows = _whole_rows(data, width)
        if rows is None:
            if is_last or len(data) > 64 * _CHUNK:
                raise OddError
            rest = data
            continue
        block, used = rows
        width = block.lengths.shape[1]
        chunk = _WIDE_CHUNK if width >= _MANY_COLUMNS else _CHUNK
        rest = data[used:]
        if is_last and rest:
            raise OddError
        yield block
        if is_last:
            return


def _whole_rows(data: bytes, width: int | None) -> tuple[Block, int] | None:
    """The complete rows at the beginning of `data` and how many bytes they take; None if no row is complete. Raises `OddError`."""
    quoted = b'"' in data
    if quoted and (rows := _all_quoted(data, width)) is not None:
        return rows
    if not quoted:
        data = data[: data.rfind(b"\n") + 1]
    if not data:
        return None
    ends, used = _separators(data, quoted)
    if not len(ends):
        return None
    data = data[:used]
    _check_bytes(data)
    shaped = _in_rows(data, ends, width)
    starts = _starts(shaped)
    lengths = shaped - starts
    if b"\r" in data:
        data, starts, lengths = _without_returns(data, starts, lengths)
    if quoted:
        data, starts, lengths = _without_quotes(data, starts, lengths)
    return _plain_block(data, starts, lengths), used


def _plain_block(data: bytes, starts: Any, lengths: Any) -> Block:
    if lengths.max() > _LONGEST_CELL:
        raise OddError
    # A line that may be blank, in a table of one column: pandas skips it unless it is quoted.
    if lengths.shape[1] == 1 and ((lengths == 0).any() or np.isin(np.frombuffer(data, np.uint8)[starts], [32, 9]).any()):
        raise OddError
    return Block(data, starts, lengths)


def _all_quoted(data: bytes, width: int | None) -> tuple[Block, int] | None:
    """Like `_whole_rows` for rows in which every field is quoted: then the quotes alone give the positions of the fields. None
    otherwise.
    """
    values = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(values == _QUOTE).astype(np.int32)
    opens, closes = quotes[0::2], quotes[1::2]
    if len(closes) and closes[-1] + 1 >= len(data):
        closes = closes[:-1]
    after, then = values[closes + 1], values[np.minimum(closes + 2, len(data) - 1)]
    is_end = (after == _NEWLINE) | ((after == _RETURN) & (then == _NEWLINE))
    lines = np.flatnonzero(is_end)
    if not len(lines) or quotes[0] != 0:
        return None
    n_cells, returns = int(lines[-1]) + 1, after[lines] == _RETURN
    opens, closes, is_end = opens[:n_cells], closes[:n_cells], is_end[:n_cells]
    has_returns = bool(returns[0])
    steps = 2 + (is_end & has_returns)
    used = int(closes[-1]) + int(steps[-1])
    width = width or int(lines[0]) + 1
    same_ends = bool((returns == has_returns).all()) and len(lines) * width == n_cells and bool(is_end[width - 1 :: width].all())
    if not same_ends or not ((after[:n_cells] == _COMMA) | is_end).all() or not (opens[1:] - closes[:-1] == steps[:-1]).all():
        return None
    data = data[:used]
    _check_bytes(data)
    if data.count(b"\r") != len(lines) * has_returns:
        return None
    shape = len(lines), width
    n_removed = 2 * np.arange(n_cells, dtype=np.int32).reshape(shape)
    if has_returns:
        n_removed += np.arange(len(lines), dtype=np.int32)[:, None]
    return _plain_block(data.translate(None, b'"\r'), opens.reshape(shape) - n_removed, (closes - opens - 1).reshape(shape)), used


def _separators(data: bytes, quoted: bool) -> tuple["np.ndarray[Any, Any]", int]:
    """The positions of the commas and line ends of complete rows, and the end of these rows."""
    values = np.frombuffer(data, np.uint8)
    is_end = values == _COMMA
    is_end |= values == _NEWLINE
    if quoted:
        # A position is inside quotes if the number of quotes so far is odd.
        is_end &= np.bitwise_xor.accumulate((values == _QUOTE).view(np.uint8)) == 0
    ends = np.flatnonzero(is_end).astype(np.int32)
    if quoted:
        lines = np.flatnonzero(values[ends] == _NEWLINE)
        ends = ends[: lines[-1] + 1] if len(lines) else ends[:0]
    return ends, int(ends[-1]) + 1 if len(ends) else 0


def _check_bytes(data: bytes) -> None:
    if b"\0" in data:
        raise OddError
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            raise OddError from None


def _in_rows(data: bytes, ends: "np.ndarray[Any, Any]", width: int | None) -> "np.ndarray[Any, Any]":
    """The ends of cells, row by row; every row must be as long as the header."""
    values = np.frombuffer(data, np.uint8)[ends] == _NEWLINE
    if width is None:
        width = int(np.argmax(values)) + 1
    n_rows, left = divmod(len(ends), width)
    if left or int(np.count_nonzero(values)) != n_rows or not values[width - 1 :: width].all():
        raise OddError
    return ends.reshape(n_rows, width)


def _starts(ends: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    starts = np.empty_like(ends)
    flat = starts.ravel()
    flat[0] = 0
    np.add(ends.ravel()[:-1], 1, out=flat[1:])
    return starts


def _without_returns(data: bytes, starts: Any, lengths: Any) -> tuple[bytes, Any, Any]:
    """Line ends of two bytes become one byte; a carriage return anywhere else is odd."""
    last = starts[:, -1] + lengths[:, -1] - 1
    # Before an empty cell is a separator.
    has = np.frombuffer(data, np.uint8)[last] == _RETURN
    n_returns = data.count(b"\r")
    if int(has.sum()) != n_returns or n_returns != len(lengths):
        raise OddError
    lengths[:, -1] -= 1
    starts -= np.arange(len(starts), dtype=starts.dtype)[:, None]
    return data.translate(None, b"\r"), starts, lengths


def _without_quotes(data: bytes, starts: Any, lengths: Any) -> tuple[bytes, Any, Any]:
    """Remove quotes around fields; any other quote is odd."""
    values = np.frombuffer(data, np.uint8)
    has = (values[starts] == _QUOTE) & (lengths > 1)
    closes = values[starts + lengths - 1] == _QUOTE
    if (has & ~closes).any() or 2 * int(has.sum()) != data.count(b'"'):
        raise OddError
    lengths = lengths - 2 * has.astype(lengths.dtype)
    before = np.cumsum(has.ravel(), dtype=starts.dtype).reshape(has.shape)
    # Each quoted field before this one shrank by two bytes; the shift for its own opening quote is undone by the step after that quote.
    return data.translate(None, b'"'), starts - 2 * (before - has), lengths


_UNPACK = {".gz": ImportRef("gzip:open"), ".bz2": ImportRef("bz2:open"), ".xz": ImportRef("lzma:open")}
_ARCHIVES = (".zip", ".tar", ".zst", ".7z", ".rar", ".tgz")
_BLOCK_ROWS = 4096
_LINES_SHOWN = 20
_LONG_CELL = "a cell is longer than {} characters (limit cell_bytes)"
_NAMED_HINT = "a CSV file in UTF-8, its first line the names of the columns, the delimiter a comma"
_OPEN_QUOTE = "a quote is never closed, in the row that begins on line {}"


class _OddFileError(Exception):
    """The csv module and pandas would read this file differently."""


def read_csv_table(handle: BinaryIO, *, name: str, limits: Limits, dialect: Dialect = DEFAULT) -> Table:
    """The table of an open CSV file: header and text columns (None if a short row has no field), without blank lines.

    The first line with a field is the header. The ending of `name` (.gz, .bz2, .xz) decides whether the bytes are compressed; archives are
    refused. When every row is one field too long the first field is an index and left out, as in pandas, and `ragged_line` names the first
    such line.

    Raises:
        FaultError: BAD_CSV (with a line if one is known), BAD_ENCODING, LIMIT or TOO_LARGE.
    """
    data = dialect.rewritten(_content(handle, name, limits))
    try:
        try:
            return _read_with_csv(data, name, limits)
        except _OddFileError:
            return _read_with_pandas(data, name, limits)
    except FaultError as error:
        raise _says_form(error, data) from None
    except UnicodeDecodeError:
        if not (why := _other_format(data)):
            raise
        raise FaultError("BAD_ENCODING", why) from None
    except MemoryError:
        raise FaultError("LIMIT", "the table does not fit into memory_mib") from None


def open_csv_table(opened: Callable[[], BinaryIO], *, name: str, limits: Limits, dialect: Dialect = DEFAULT) -> Table | UnreadTable:
    """The table of a CSV file: unread if the file is big and begins plainly, packed if it is smaller and plain, else as `read_csv_table`
    reads it.

    `opened` returns a fresh handle. Raises `FaultError`.
    """

    def read_whole() -> Table:
        with opened() as handle:
            return read_csv_table(handle, name=name, limits=limits, dialect=dialect)

    if dialect != DEFAULT:
        return read_whole()
    with opened() as handle:
        first = handle.read(BIG_BYTES)
    if len(first) < BIG_BYTES:
        opened = partial(io.BytesIO, first)
    if len(first) >= PACKED_BYTES and not _is_archive(name) and not name.lower().endswith(tuple(_UNPACK)):
        blocks = CsvBlocks(opened, limits=limits, read_table=read_whole)
        with suppress(OddError):
            table = UnreadTable(header=blocks.header(), name=name, source=blocks)
            return table if len(first) == BIG_BYTES else table.read()
    return read_whole()


def stream_csv_table(opened: Callable[[], BinaryIO], *, name: str, limits: Limits, dialect: Dialect = DEFAULT) -> Table:
    """The table of a CSV file, as packed text if it is big and plain. Raises `FaultError`."""
    table = open_csv_table(opened, name=name, limits=limits, dialect=dialect)
    return table.read() if isinstance(table, UnreadTable) else table


def csv_rows(lines: Iterable[str], *, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """(its last line, its cells) of each row; a blank line is a row without cells. Raises `csv.Error`."""
    reader = csv.reader(lines, delimiter=delimiter)
    return ((reader.line_num, row) for row in reader)


def read_named_rows(path: Path, *, delimiters: str = ",") -> tuple[list[str], list[tuple[int, list[str]]]]:
    """(column names, the rows as (line, cells)) of a file that a person wrote for a command; blank lines are left out.

    Of several `delimiters` the one that splits the first line into most columns is used.

    Raises:
        UsageError: The file is absent, a pipe, not readable as CSV, empty, has another delimiter, or a row longer than the header.
    """
    refuse_endless(path)
    unpack = _UNPACK.get(path.suffix.lower())
    try:
        opened: Callable[..., Any] = unpack.load() if unpack is not None else open
        with opened(path, "rb") as handle:
            dialect = detect_dialect(handle.readline(_CHUNK), delimiters)
        encoding = "utf-8-sig" if dialect.encoding == DEFAULT.encoding else dialect.encoding
        with opened(path, "rt", encoding=encoding, newline="") as lines, _any_field_size():
            lines_and_cells = csv_rows(lines, delimiter=dialect.delimiter)
            header = next((row for _, row in lines_and_cells), [])
            rows = [(line, row) for line, row in lines_and_cells if row]
    except UnicodeError:
        why = f"not UTF-8, first in line {_first_undecodable(path)}"
        raise UsageError(f"{path}: cannot be read as CSV: {why}", hint=f"spreadsheets call it CSV UTF-8: {_NAMED_HINT}") from None
    except OSError as error:
        packed = unpack is not None and error.errno is None
        why = "no such file" if isinstance(error, FileNotFoundError) else _NOT_UNPACKED if packed else reason_of(error)
        raise UsageError(f"{path}: cannot be read as CSV: {why}", hint=_NAMED_HINT) from None
    except (EOFError, zlib.error, lzma.LZMAError):
        raise UsageError(f"{path}: cannot be read as CSV: {_NOT_UNPACKED}", hint=_NAMED_HINT) from None
    if not header:
        raise UsageError(f"{path}: empty, with no column at all", hint=_NAMED_HINT)
    if other := other_delimiter(header):
        raise UsageError(f"{path}: {other}", hint=_NAMED_HINT)
    for line, row in rows:
        if len(row) > len(header):
            raise UsageError(
                f"{path}:{line}: {count_words(len(row), 'field')}, the header has {len(header)}",
                hint="quote fields that contain the delimiter",
            )
    return header, rows


@contextmanager
def _any_field_size() -> Iterator[None]:
    """Read cells of any length: a context or a log in a cell is longer than the csv module's 131,072 characters."""
    with _FIELD_SIZE_LOCK:
        before = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _first_undecodable(path: Path) -> int:
    """The line with the first bytes that are not UTF-8; 1 if the file has become valid UTF-8 meanwhile."""
    data = path.read_bytes()
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    return 1


def _other_format(data: bytes) -> str:
    """Say which known format begins like this data, which is not UTF-8, or where its text ends; empty for data that is UTF-8."""
    format_ = format_of(data)
    if format_:
        return f"the file is {format_}, not a CSV in UTF-8"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"the text is not UTF-8: line {line} contains the byte 0x{data[error.start]:02X}"
    return ""


def _says_form(error: FaultError, data: bytes) -> FaultError:
    """The fault BAD_CSV of some data, which also says what its first lines look like."""
    lines = [line.decode("utf-8-sig", "replace") for line in islice(filter(bytes.strip, data[:_CHUNK].splitlines()), _LINES_SHOWN)]
    with suppress(csv.Error, StopIteration):
        if error.fault.code == "BAD_CSV" and (form := other_form(next(csv.reader(lines[:1])), below=lines[1:])):
            return FaultError("BAD_CSV", f"{error.fault.detail}; {form}")
    return error


def _is_archive(name: str) -> bool:
    return name.lower().endswith(_ARCHIVES) or ".tar." in name.lower()


def _content(handle: BinaryIO, name: str, limits: Limits) -> bytes:
    """The bytes of the file, decompressed if its name requires it, within `file_bytes` and `rows` lines."""
    cap, lower = int(limits["file_bytes"]), name.lower()
    if _is_archive(name):
        raise FaultError("BAD_CSV", "archives are not read; submit the CSV file itself, or gzip it")
    unpack = next((opener.load() for ending, opener in _UNPACK.items() if lower.endswith(ending)), None)
    try:
        data: bytes = (unpack(handle) if unpack else handle).read(cap + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        raise FaultError("BAD_CSV", _NOT_UNPACKED) from None
    except MemoryError:
        raise FaultError("LIMIT", "the file does not fit into memory_mib") from None
    if len(data) > cap:
        code, what = ("LIMIT", "unpacked, the file has") if unpack else ("TOO_LARGE", "the file has")
        raise FaultError(code, f"{what} more than {cap} bytes (limit file_bytes)")
    if is_lfs_pointer(data):
        raise FaultError("BAD_CSV", f"the file is {LFS_POINTER}")
    if data.count(b"\n") > limits["rows"] + 1:
        raise FaultError("LIMIT", f"the file has more than {int(limits['rows'])} lines (limit rows)")
    return data


def _read_with_csv(data: bytes, name: str, limits: Limits) -> Table:
    """The table read by the csv module; raises _OddFileError if pandas has to read the file."""
    text = data.decode("utf-8-sig")
    if data.count(b"\r") != data.count(b"\r\n"):
        raise _OddFileError
    _check_first_line(data, limits)
    reader, n_read = csv.reader(io.StringIO(text, newline=""), strict=True), 0
    try:
        header = None
        for header in reader:
            n_read += 1
            if header:
                break
        if not header:
            raise FaultError("BAD_CSV", "the file is empty")
        if _is_blank(header):
            raise _OddFileError
        block = list(islice(reader, _BLOCK_ROWS))
        # As in pandas, extra fields of the first row compared with the header are an index at its beginning and not columns.
        n_index = max(0, len(next(filter(None, block), ())) - len(header))
        width = n_index + len(header)
        _check_columns(width, limits)
        columns: list[list[str | None]] = [[] for _ in range(width)]
        while block:
            n_before = n_read
            # Raise BAD_CSV for a row longer than `width`, as pandas does; lines are counted like in pandas, one for each row or blank line
            if max(map(len, block)) > width and not any(map(_is_blank, block)):
                at, row = next((at, row) for at, row in enumerate(block) if len(row) > width)
                raise FaultError("BAD_CSV", f"line {n_before + at + 1} has {len(row)} fields, the lines before it {width}")
            n_read += len(block)
            for column, cells in zip(columns, _block_columns(block, width), strict=True):
                column.extend(cells)
            _check_cells(len(header) * len(columns[0]), limits)
            block = list(islice(reader, _BLOCK_ROWS))
    except csv.Error as error:
        raise _unreadable(data, str(error)) from None
    ragged = _odd_lines(data)[0] if n_index else None
    return Table(header=tuple(header), columns=tuple(columns[n_index:]), n_rows=len(columns[0]), ragged_line=ragged, name=name)


def _unreadable(data: bytes, message: str) -> Exception:
    """The exception for an error of the csv module: a quote that is never closed is an error in pandas too, for anything else pandas
    decides.
    """
    ragged, last = _odd_lines(data)
    if message == "unexpected end of data" and ragged is None:
        return FaultError("BAD_CSV", _OPEN_QUOTE.format(last))
    return _OddFileError()


def _block_columns(rows: list[list[str]], width: int) -> Iterable[Sequence[str | None]]:
    """`width` columns of some rows: blank lines left out, short rows filled with None; raises _OddFileError for any other row."""
    lengths = set(map(len, rows))
    if lengths == {width} and width > 1:
        return zip(*rows, strict=True)
    if max(lengths) > width or (1 in lengths and any(map(_is_blank, rows))):
        raise _OddFileError
    # The last row of None fixes the width; its cell is removed from each column again.
    return (cells[:-1] for cells in zip_longest(*filter(None, rows), [None] * width))


def _is_blank(row: list[str]) -> bool:
    """Whether a row is one field of blanks: pandas skips such a line unless it is quoted, which the csv module does not report."""
    return len(row) == 1 and row[0] != "" and not row[0].strip(" \t")


def _check_cells(n_cells: int, limits: Limits) -> None:
    if n_cells > limits["cells"]:
        raise FaultError("LIMIT", f"the table has more than {int(limits['cells'])} cells (limit cells)")


def _check_columns(n_columns: int, limits: Limits) -> None:
    if n_columns > limits["columns"]:
        raise FaultError("LIMIT", f"the table has {n_columns} columns (limit columns: {int(limits['columns'])})")


def _check_first_line(data: bytes, limits: Limits) -> None:
    """Refuse a first line with too many or too long names before a parser needs several times its memory."""
    end = data.find(b"\n") if b"\n" in data else len(data)
    if data.find(b'"', 0, end) < 0:  # else commas may be part of a name
        _check_columns(data.count(b",", 0, end) + 1, limits)
        # At most 4 bytes are one character.
        if max(map(len, data[:end].split(b","))) > 4 * limits["cell_bytes"]:
            raise FaultError("LIMIT", _LONG_CELL.format(int(limits["cell_bytes"])))


def _read_with_pandas(data: bytes, name: str, limits: Limits) -> Table:
    """The table as pandas reads the bytes; every column stays text, because the comparison does the typing."""
    # The most fields that any line could have: a bound that needs no parser.
    _check_columns(max(line.count(b",") for line in data.splitlines()) + 1, limits)
    import pandas as pd

    ragged, last = _odd_lines(data)
    try:
        frame = pd.read_csv(io.BytesIO(data), dtype=str, na_filter=False, compression=None, low_memory=False)
    except pd.errors.EmptyDataError:
        raise FaultError("BAD_CSV", "the file is empty") from None
    except MemoryError:
        raise FaultError("LIMIT", "the table does not fit into memory_mib") from None
    except (ValueError, OverflowError) as error:
        raise FaultError("BAD_CSV", _parser_detail(str(error), ragged, last)) from None
    _check_cells(frame.size, limits)
    columns = tuple(_text_cells(frame.iloc[:, i].tolist(), limits) for i in range(frame.shape[1]))
    header = tuple(str(label) for label in frame.columns)
    return Table(header=header, columns=columns, n_rows=len(frame), ragged_line=ragged, name=name)


def _text_cells(values: list[Any], limits: Limits) -> Sequence[str | None]:
    """The cells of one column; a value that is not text was missing."""
    cells = [value if isinstance(value, str) else None for value in values]
    if any(cell is not None and len(cell) > limits["cell_bytes"] for cell in cells):
        raise FaultError("LIMIT", _LONG_CELL.format(int(limits["cell_bytes"])))
    return cells


def _odd_lines(data: bytes) -> tuple[int | None, int]:
    """The first line (1-based) of the first row longer than the header, or None; and the first line of the last row."""
    width, begins, last, ragged = 0, 1, 1, None
    text = io.TextIOWrapper(io.BytesIO(data.replace(b"\0", b"")), encoding="utf-8-sig", newline="")
    try:
        for line, row in csv_rows(text):
            if row and not width and (len(row) > 1 or row[0].strip(" \t")):
                width = len(row)
            elif width and ragged is None and len(row) > width:
                ragged = begins
            begins, last = line + 1, begins
    except (csv.Error, UnicodeDecodeError):
        pass
    return ragged, last


def _parser_detail(message: str, ragged: int | None, last: int) -> str:
    """A fixed text for pandas' parser error; only numbers are taken from it."""
    if match := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message):
        expected, line, n_fields = match.groups()
        return f"line {line} has {n_fields} fields, the lines before it {expected}"
    if "EOF inside string" in message:
        return _OPEN_QUOTE.format(last)
    return f"line {ragged} has more fields than the header" if ragged else "the rows cannot be separated"
