"""The CSV text of a result in pandas' format, written chunk by chunk in the process of the engine and stored in a file by the caller.

Gold of the same question is a CSV file, so the same reading rules must apply to both sides: NULL is an empty field, booleans are True and
False, and a column of timestamps that are all at midnight shows days.

The names of types are DuckDB's, for every engine: BOOLEAN, BIGINT, DOUBLE, DECIMAL(p,s), VARCHAR, BLOB, DATE, TIME, TIMESTAMP, TIMESTAMP
WITH TIME ZONE, UUID, JSON, and all others that DuckDB has.
"""

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import UUID

from evalsuite.sql.session import Lines, QueryLimits

# A column whose cells each have their own type, as in SQLite.
ANY = "ANY"
INSTANT = "TIMESTAMP WITH TIME ZONE"
INTEGERS = frozenset({f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")})
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


_MAKERS: dict[str, Callable[[str], Any]] = {
    "BOOLEAN": lambda text: {"true": True, "false": False}[text],
    "DOUBLE": float,
    "FLOAT": float,
    "BLOB": bytes.fromhex,
    "DATE": date.fromisoformat,
    "TIME": time.fromisoformat,
    "TIMESTAMP": datetime.fromisoformat,
    INSTANT: lambda text: datetime.fromisoformat(text).astimezone(UTC),
    "UUID": UUID,
    "DECIMAL": Decimal,
    **dict.fromkeys(INTEGERS, int),
}


def decode(texts: Iterable[str | None], type_: str) -> list[Any]:
    """The cells of text forms; a text that is not a value of the type is itself the cell (an infinite date, for example)."""
    maker = Decimal if _DECIMAL.fullmatch(type_) else _MAKERS.get(type_, str)

    def cell_of(text: str) -> Any:
        try:
            return maker(text)
        except (ValueError, ArithmeticError, KeyError):
            return text

    return [None if text is None else cell_of(text) for text in texts]


class ColumnKind:
    """The type of a column whose engine names none, from its cells."""

    _NAMES = (
        (frozenset({int}), "BIGINT"),
        (frozenset({int, float}), "DOUBLE"),
        (frozenset({str}), "VARCHAR"),
        (frozenset({bytes}), "BLOB"),
    )

    def __init__(self) -> None:
        self._seen: set[type] = set()

    def see(self, column: Sequence[Any]) -> None:
        """Add a chunk of cells."""
        self._seen.update(map(type, column))

    @property
    def name(self) -> str:
        """The type: NULL if there are no values, ANY for texts, numbers and bytes mixed."""
        kinds = frozenset(self._seen - {type(None)})
        if not kinds:
            return '"NULL"'
        return next((name for accepted_kinds, name in self._NAMES if kinds <= accepted_kinds), ANY)


_FIELD = re.compile(rb'("(?:[^"]|"")*"|[^,"\n]*)[,\n]')
_MIDNIGHT, _TIME_OF_MIDNIGHT = time(), b" 00:00:00"
_DAY_BYTES = len("2020-01-01")
# The csv module writes all other cells as pandas does, bytes as b'\x00'.
_CONVERTED: dict[type, Callable[[Any], str]] = {Decimal: lambda number: format(number, "f") if number.is_finite() else str(number)}


def as_lines(rows: Sequence[Sequence[Any]], *, in_hex: bool = False) -> bytes:
    """The CSV text of rows of neutral cells, timestamps in full; bytes as pandas writes them, or hexadecimal (`in_hex`)."""
    block = io.StringIO()
    converted = _CONVERTED | {bytes: bytes.hex} if in_hex else _CONVERTED
    if not converted.keys().isdisjoint(map(type, chain.from_iterable(rows))):
        rows = [[converted[type(cell)](cell) if type(cell) in converted else cell for cell in row] for row in rows]
    csv.writer(block, lineterminator="\n").writerows(rows)
    return block.getvalue().encode("utf-8", "backslashreplace")


@cache
def quoted_codes() -> list[int]:
    """The code points for which the csv module of this Python quotes a cell."""

    def line_with(character: str) -> str:
        block = io.StringIO()
        csv.writer(block, lineterminator="\n").writerow([character, ""])
        return block.getvalue()

    return [ord(character) for character in ',"\n\r' if line_with(character).startswith('"')]


class CsvText:
    """Convert a result's chunks to CSV text in order and pass it to `write`, with the number of its rows.

    `types` are the result's, None if each cell has its own. Timestamps are written in full: `days` are the columns of a whole result that
    should have shown days. Bytes are hexadecimal with `in_hex`, as engines write them that write text themselves.
    """

    def __init__(self, types: Sequence[str] | None, write: Callable[[bytes, int], None], *, in_hex: bool) -> None:
        self._write, self._in_hex = write, in_hex
        self._moments = [index for index, type_ in enumerate(types or ()) if type_ in ("TIMESTAMP", INSTANT)]
        self._at_midnight: set[int] = set()
        self._at_other_times: set[int] = set()

    def add(self, chunk: Sequence[Sequence[Any]] | Lines) -> None:
        """Add rows of neutral cells, or their text."""
        if isinstance(chunk, Lines):
            self._at_midnight |= chunk.at_midnight
            self._at_other_times |= chunk.at_other_times
            self._write(chunk.text, chunk.n_rows)
            return
        for index in self._moments:
            moments = [row[index] for row in chunk if isinstance(row[index], datetime)]
            if any(moment.time() != _MIDNIGHT for moment in moments):
                self._at_other_times.add(index)
            elif any(moment.tzinfo is None for moment in moments):
                self._at_midnight.add(index)
        self._write(as_lines(chunk, in_hex=self._in_hex), len(chunk))

    @property
    def days(self) -> list[int]:
        """The columns whose timestamps are all at midnight."""
        return sorted(self._at_midnight - self._at_other_times)


class CsvFile:
    """A result's CSV file while it is written: its header first, then the text of its rows. An unfinished file is deleted.

    Raises LIMIT as soon as a limit is exceeded; `result_bytes` counts bytes of text.
    """

    def __init__(self, place: Path, header: Sequence[str], limits: QueryLimits) -> None:
        limits.check(columns=len(header))
        self._place, self._limits, self.header = place, limits, tuple(header)
        self._head = as_lines([header])
        self.n_rows, self.n_bytes = 0, len(self._head)
        place.parent.mkdir(parents=True, exist_ok=True)
        self._file = place.open("wb")
        self._file.write(self._head)

    def __enter__(self) -> "CsvFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        if kind is not None:
            self._place.unlink(missing_ok=True)

    def add(self, text: bytes, n_rows: int) -> None:
        """Add the text of some rows, or a part of it."""
        self.n_rows += n_rows
        self.n_bytes += len(text)
        self._limits.check(rows=self.n_rows, result_bytes=self.n_bytes)
        self._file.write(text)

    def show_days(self, columns: Sequence[int]) -> None:
        """Remove the time of day from the timestamps of some columns, after all rows are written."""
        self._file.close()
        if not columns:
            return
        other = self._place.with_name(self._place.name + ".days")
        with self._place.open("rb") as written, other.open("wb") as shortened:
            shortened.write(written.read(len(self._head)))
            for record in _records(written):
                fields = _FIELD.findall(record)
                for index in columns:
                    if fields[index].endswith(_TIME_OF_MIDNIGHT) and len(fields[index]) == _DAY_BYTES + len(_TIME_OF_MIDNIGHT):
                        fields[index] = fields[index][:_DAY_BYTES]
                shortened.write(b",".join(fields) + b"\n")
        os.replace(other, self._place)  # noqa: PTH105


def _records(lines: "io.BufferedReader") -> Iterator[bytes]:
    """Whole rows of a CSV file: a line that ends inside quotes continues in the next."""
    parts: list[bytes] = []
    n_quotes = 0
    for line in lines:
        parts.append(line)
        n_quotes += line.count(b'"')
        if n_quotes % 2 == 0:
            yield b"".join(parts)
            parts.clear()
