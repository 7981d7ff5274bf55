"""The mode *streamed* of `csv_table`: a CSV file as blocks of packed text, the separators of a megabyte found at once by numpy.

Only plain files go this way: as many fields in each row as in the header, quotes around whole fields and none within, no blank lines, no
NUL, no lone carriage return, UTF-8. Of every other one the exact reader decides what it is.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from evalsuite.readers.limits import Limits
from evalsuite.tables.blocks import Block
from evalsuite.tables.packed import OddError
from evalsuite.types import Table

if TYPE_CHECKING:
    import numpy as np

_CHUNK = 1 << 20
_WIDE_CHUNK = 4 << 20
_MANY_COLUMNS = 100
_LONGEST_CELL = 131_072
_COMMA, _NEWLINE, _QUOTE, _RETURN = b',\n"\r'


class CsvBlocks:
    """The `Source` of a file that `opened` opens anew for each reading; `whole` reads what is not plain enough."""

    def __init__(self, opened: Callable[[], BinaryIO], *, limits: Limits, whole: Callable[[], Table]) -> None:
        self._opened, self._limits = opened, limits
        self.whole = whole

    def header(self) -> tuple[str, ...]:
        """The names of the columns. Raises `OddError`."""
        with self._opened() as handle:
            first = next(_blocks_of_rows(handle), None)
        if first is None:
            raise OddError
        return tuple(first.text(0, column) for column in range(first.lengths.shape[1]))

    def blocks(self) -> Iterator[Block]:
        """The rows below the header, as `Source` has it."""
        n_rows = 0
        with self._opened() as handle:
            for index, block in enumerate(_blocks_of_rows(handle)):
                n_rows += len(block)
                if n_rows > self._limits["rows"] or n_rows * block.lengths.shape[1] > self._limits["cells"]:
                    raise OddError
                yield block.rows(1, len(block)) if index == 0 else block


def _blocks_of_rows(handle: BinaryIO) -> Iterator[Block]:
    """All rows of a file, the header among them."""
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
        found = _whole_rows(data, width)
        if found is None:
            if is_last or len(data) > 64 * _CHUNK:
                raise OddError
            rest = data
            continue
        block, used = found
        width = block.lengths.shape[1]
        chunk = _WIDE_CHUNK if width >= _MANY_COLUMNS else _CHUNK
        rest = data[used:]
        if is_last and rest:
            raise OddError
        yield block
        if is_last:
            return


def _whole_rows(data: bytes, width: int | None) -> tuple[Block, int] | None:
    """The whole rows at the beginning of `data` and how many bytes they take; None where not one is complete. Raises `OddError`."""
    quoted = b'"' in data
    if quoted and (found := _all_quoted(data, width)) is not None:
        return found
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
    import numpy as np

    if lengths.max() > _LONGEST_CELL:
        raise OddError
    # A line that may be blank, in a table of one column: pandas skips it unless it is quoted.
    if lengths.shape[1] == 1 and ((lengths == 0).any() or np.isin(np.frombuffer(data, np.uint8)[starts], [32, 9]).any()):
        raise OddError
    return Block(data, starts, lengths)


def _all_quoted(data: bytes, width: int | None) -> tuple[Block, int] | None:
    """As `_block`, where every field stands in quotes: then the quotes alone say where the fields are. None where that is not so."""
    import numpy as np

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
    gone = 2 * np.arange(n_cells, dtype=np.int32).reshape(shape)
    if has_returns:
        gone += np.arange(len(lines), dtype=np.int32)[:, None]
    return _plain_block(data.translate(None, b'"\r'), opens.reshape(shape) - gone, (closes - opens - 1).reshape(shape)), used


def _separators(data: bytes, quoted: bool) -> tuple["np.ndarray[Any, Any]", int]:
    """The places of the commas and line ends of whole rows, and where these rows end."""
    import numpy as np

    values = np.frombuffer(data, np.uint8)
    found = values == _COMMA
    found |= values == _NEWLINE
    if quoted:
        # Within quotes where the number of quotes so far is odd.
        found &= np.bitwise_xor.accumulate((values == _QUOTE).view(np.uint8)) == 0
    ends = np.flatnonzero(found).astype(np.int32)
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
    import numpy as np

    values = np.frombuffer(data, np.uint8)[ends] == _NEWLINE
    if width is None:
        width = int(np.argmax(values)) + 1
    n_rows, left = divmod(len(ends), width)
    if left or int(np.count_nonzero(values)) != n_rows or not values[width - 1 :: width].all():
        raise OddError
    return ends.reshape(n_rows, width)


def _starts(ends: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    import numpy as np

    starts = np.empty_like(ends)
    flat = starts.ravel()
    flat[0] = 0
    np.add(ends.ravel()[:-1], 1, out=flat[1:])
    return starts


def _without_returns(data: bytes, starts: Any, lengths: Any) -> tuple[bytes, Any, Any]:
    """Line ends of two bytes become one; a carriage return anywhere else is odd."""
    import numpy as np

    last = starts[:, -1] + lengths[:, -1] - 1
    has = (np.frombuffer(data, np.uint8)[last] == _RETURN) & (lengths[:, -1] > 0)
    n_returns = data.count(b"\r")
    if int(has.sum()) != n_returns or n_returns != len(lengths):
        raise OddError
    lengths[:, -1] -= 1
    starts -= np.arange(len(starts), dtype=starts.dtype)[:, None]
    return data.translate(None, b"\r"), starts, lengths


def _without_quotes(data: bytes, starts: Any, lengths: Any) -> tuple[bytes, Any, Any]:
    """Quotes around a field go; any other quote is odd."""
    import numpy as np

    values = np.frombuffer(data, np.uint8)
    has = (values[starts] == _QUOTE) & (lengths > 1)
    closes = values[starts + lengths - 1] == _QUOTE
    if (has & ~closes).any() or 2 * int(has.sum()) != data.count(b'"'):
        raise OddError
    lengths = lengths - 2 * has.astype(lengths.dtype)
    before = np.cumsum(has.ravel(), dtype=starts.dtype).reshape(has.shape)
    # Each quoted field before this one took two bytes with it; what its own opening quote took, the step behind that quote gives back.
    return data.translate(None, b'"'), starts - 2 * (before - has), lengths
