"""How CSV files are written: the one object through which the dialect of a check reaches the reader.

It is no part of `csv_table`, because a command that leaves reading to its workers imports this alone.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from evalsuite.core.dataclasses import dataclass, fields
from evalsuite.core.errors import FaultError


@dataclass(frozen=True, slots=True)
class Dialect:
    """Each field is a parameter of the checks of CSV files, for the answer and for gold.

    Attributes:
        delimiter: the character between two cells.
        encoding: Python's name of the encoding.
        decimal: the character before the decimals of a number.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> "Dialect":
        """The dialect of a check with these parameters."""
        return cls(**{field.name: parameters[field.name] for field in fields(cls) if isinstance(parameters.get(field.name), str)})

    def parameters(self) -> dict[str, str]:
        """The parameters of a check that differ from the default dialect."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name) != getattr(DEFAULT, field.name)
        }

    def problem(self) -> str:
        """Why no file can be written in this dialect, "" if one can."""
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            return f"delimiter {self.delimiter!r} is not one character between cells"
        if len(self.decimal) != 1 or self.decimal == self.delimiter or self.decimal.isalnum():
            return f"decimal {self.decimal!r} is not one character, or separates cells too"
        try:
            "".encode(self.encoding)
        except LookupError:
            return f"encoding {self.encoding!r} is unknown"
        return ""

    def rewritten(self, data: bytes) -> bytes:
        """The bytes of a file in the default dialect. Raises FaultError BAD_ENCODING, BAD_CSV; BAD_SPEC if it is no dialect."""
        if self == DEFAULT:
            return data
        if why := self.problem():
            # The person who wrote the check is at fault, not the answer.
            raise FaultError("BAD_SPEC", why, side="setup")
        try:
            text = data.decode(self.encoding).removeprefix("\ufeff")
        except UnicodeError:
            other = f"the text is not {self.encoding}, the encoding of the check" if self.encoding != DEFAULT.encoding else ""
            raise FaultError("BAD_ENCODING", other) from None
        import csv
        from io import StringIO

        written = StringIO()
        try:
            rows = csv.reader(StringIO(text, newline=""), delimiter=self.delimiter, strict=True)
            csv.writer(written, lineterminator="\n").writerows(map(self._cells, rows))
        except csv.Error:
            raise FaultError("BAD_CSV", "the rows cannot be separated") from None
        return written.getvalue().encode()

    def _cells(self, row: Iterable[str]) -> list[str]:
        if self.decimal == DEFAULT.decimal:
            return list(row)
        number = re.compile(rf"\s*[+-]?\d*{re.escape(self.decimal)}\d+([eE][+-]?\d+)?\s*", re.ASCII)
        return [cell.replace(self.decimal, DEFAULT.decimal) if number.fullmatch(cell) else cell for cell in row]


DEFAULT: Final = Dialect()


def detect_dialect(head: bytes, delimiters: str = ",;\t|") -> Dialect:
    """The dialect of a file by its first bytes: UTF-16 by its mark, the delimiter that makes the most columns of the first line."""
    import csv
    import io

    has_mark = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    encoding = "utf-16" if has_mark and any(map(str.isascii, head.decode("utf-16", "replace"))) else DEFAULT.encoding
    line = head.decode(encoding, "replace").lstrip("\ufeff").partition("\n")[0][:10_000]

    def n_columns(sign: str) -> int:
        # As a file: a lone CR outside quotes ends the line.
        return len(next(csv.reader(io.StringIO(line, newline=""), delimiter=sign), []))

    return Dialect(delimiter=max(delimiters, key=n_columns), encoding=encoding)
