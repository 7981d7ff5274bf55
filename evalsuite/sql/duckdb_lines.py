"""DuckDB writes the CSV text of a result itself: one text a row, as `csv_text.as_lines` of the row's neutral cells would give it.

Functions go by their full name, so that no macro of a database can stand in their place.
"""

import contextlib
import json
import re
import struct
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

from evalsuite.sql.arrow_stream import Batch, read_batches
from evalsuite.sql.cell_forms import INTEGERS
from evalsuite.sql.csv_text import as_lines, quoted_codes
from evalsuite.sql.session import Lines

_PART_BYTES = 4 << 20
_COMMA = ", ',', "
# The text that DuckDB itself has for them is that of their neutral cells, and never quoted.
_AS_IS = INTEGERS | {'"NULL"', "DATE", "UUID", "INTERVAL", "TIME WITH TIME ZONE", "TIMETZ", "BIT"}
# Of one with no digit before its point the text has none there either.
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_FLOATS = ("DOUBLE", "FLOAT")
_TEXTS = ("VARCHAR", "JSON")
_MOMENTS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_INSTANTS = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
# Bits of a row's mark: two for each column of moments (at midnight, at another time), and its sign where floats are to be written anew.
_MOST_MOMENTS, _ODD = 31, "-9223372036854775808"
_MOST_COLUMNS = 1000
_LONGEST_MOMENT, _LONGEST_TIME = len("2020-01-01 00:00:00.000000"), len("00:00:00.000000")


def line_query(sql: str, types: Sequence[str], expressions: Sequence[str]) -> str | None:
    """A SELECT of the line and the mark of each row of a statement, for `read_lines`; None where Python has to write the lines.

    `types` are those of its columns, `expressions` what is fetched of c0, c1, ... for neutral cells.
    """
    texts = [_text(f"c{index}", type_, expressions[index]) for index, type_ in enumerate(types)]
    moments = [(f"c{index}", type_) for index, type_ in enumerate(types) if type_ in _MOMENTS]
    if not types or len(types) > _MOST_COLUMNS or len(moments) > _MOST_MOMENTS or None in texts:
        return None
    cells = [_quoted(str(text)) if _may_need_quotes(type_) else str(text) for text, type_ in zip(texts, types, strict=True)]
    if len(cells) == 1:
        # A line of nothing would be no row.
        cells = [f"CASE WHEN system.main.length(system.main.concat({cells[0]})) = 0 THEN '\"\"' ELSE {cells[0]} END"]
    line = f"system.main.concat({_COMMA.join(cells)}, system.main.chr(10))"
    mark = " + ".join(
        f"{1 << 2 * place} * CASE WHEN {_is_plain(c, type_)} THEN {_hour(c)} ELSE 0 END" for place, (c, type_) in enumerate(moments)
    )
    floats = {index: f"c{index}" for index, type_ in enumerate(types) if type_ in _FLOATS}
    if floats:
        odd = " OR ".join(f"coalesce({_is_odd(c)}, false)" for c in floats.values())
        exact = ", ".join(_bits(floats[index]) if index in floats else str(text) for index, text in enumerate(texts))
        line = f"CASE WHEN {odd} THEN CAST(system.main.to_json([{exact}]) AS VARCHAR) ELSE {line} END"
        mark = f"CASE WHEN {odd} THEN {_ODD} ELSE 0 END + {mark or '0'}"
    names = ", ".join(f"c{index}" for index in range(len(types)))
    # A line of its own for the bracket: the statement may end in a comment.
    return f"SELECT {line}, CAST({mark or '0'} AS BIGINT) FROM (\n{sql}\n) AS answer({names})"


def read_lines(capsule: Any, types: Sequence[str]) -> Iterator[Lines]:
    """The lines of a `line_query`, some MiB at once, from its Arrow stream; `types` are those it was made for. Raises as `read_batches`."""
    moments = [index for index, type_ in enumerate(types) if type_ in _MOMENTS]
    floats = [index for index, type_ in enumerate(types) if type_ in _FLOATS]
    with contextlib.closing(read_batches(capsule)) as batches:
        for batch in batches:
            marks = set(batch.numbers) if moments or floats else set()
            text = _with_floats(batch, floats) if min(marks, default=0) < 0 else batch.text
            bits = reduce(or_, marks, 0)
            yield Lines(
                text=b"",
                n_rows=len(batch.numbers),
                at_midnight=frozenset(index for place, index in enumerate(moments) if bits >> 2 * place & 1),
                at_other_times=frozenset(index for place, index in enumerate(moments) if bits >> 2 * place & 2),
            )
            yield from (Lines(text=bytes(text[start : start + _PART_BYTES]), n_rows=0) for start in range(0, len(text), _PART_BYTES))


def _with_floats(batch: Batch, floats: Sequence[int]) -> bytes:
    """The text of a batch, in which rows of floats that DuckDB and Python may write in two ways stand as Python has them."""
    parts, done, first = list[bytes](), 0, batch.ends[0]
    for row, mark in enumerate(batch.numbers):
        if mark < 0:
            begin, end = batch.ends[row] - first, batch.ends[row + 1] - first
            cells = json.loads(bytes(batch.text[begin:end]))
            for index in floats:
                cells[index] = None if cells[index] is None else struct.unpack(">d", int(cells[index], 2).to_bytes(8))[0]
            parts += [bytes(batch.text[done:begin]), as_lines([cells])]
            done = end
    return b"".join([*parts, batch.text[done:]])


def _bits(c: str) -> str:
    """A float as the text of its 64 bits, which loses nothing."""
    return f"CAST(CAST(CAST({c} AS DOUBLE) AS BIT) AS VARCHAR)"


def _text(c: str, type_: str, expression: str) -> str | None:
    """The text of a column's cells before any quotes, None of a type that Python has to write."""
    if type_ in _AS_IS or ((size := _DECIMAL.fullmatch(type_)) and size[1] != size[2]):
        return f"CAST({c} AS VARCHAR)"
    if type_ in _FLOATS:
        return f"CAST(CAST({c} AS DOUBLE) AS VARCHAR)"
    if type_ == "BOOLEAN":
        return f"CASE WHEN {c} THEN 'True' WHEN NOT {c} THEN 'False' END"
    if type_ == "BLOB":
        return f"system.main.lower(system.main.hex({c}))"
    if type_ in _MOMENTS:
        text = f"CAST({c} AS VARCHAR)"
        return f"CASE WHEN {_is_plain(c, type_)} THEN {_six_digits(text)} ELSE {text} END"
    if type_ == "TIME":
        return _six_digits(f"CAST({c} AS VARCHAR)", _LONGEST_TIME)
    if type_ in _INSTANTS:
        text = f"CAST({c} AS VARCHAR)"
        bare = f"system.main.left({text}, -3)"
        inside = f"{c} BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"
        return f"CASE WHEN {inside} THEN system.main.concat({_six_digits(bare)}, '+00:00') ELSE {text} END"
    if type_ in _TEXTS or type_.startswith("ENUM("):
        return f"CAST({c} AS VARCHAR)"
    return expression if _may_need_quotes(type_) else None


def _may_need_quotes(type_: str) -> bool:
    return type_ in _TEXTS or type_.startswith(("ENUM(", "STRUCT(", "MAP(", "UNION(")) or type_.endswith("]")


def _is_plain(c: str, type_: str) -> str:
    """Whether a moment is one that Python holds."""
    if type_ == "TIMESTAMP_NS":
        return f"(system.main.isfinite({c}) AND system.main.length(CAST({c} AS VARCHAR)) <= {_LONGEST_MOMENT})"
    return f"({c} BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999')"


def _hour(c: str) -> str:
    return f"CASE WHEN CAST({c} AS TIME) = TIME '00:00:00' THEN 1 ELSE 2 END"


def _six_digits(text: str, longest: int = _LONGEST_MOMENT) -> str:
    """The text of a moment with all or none of the digits behind its seconds."""
    return f"CASE WHEN system.main.contains({text}, '.') THEN system.main.rpad({text}, {longest}, '0') ELSE {text} END"


def _is_odd(c: str) -> str:
    """Whether DuckDB and Python may write a float in two ways: beyond these bounds it rounds some to another last digit."""
    return f"({c} <> 0 AND system.main.isfinite({c}) AND NOT system.main.abs({c}) BETWEEN 1e-4 AND 1e15)"


def _quoted(text: str) -> str:
    needs = " OR ".join(f"system.main.contains({text}, system.main.chr({code}))" for code in quoted_codes())
    quoted = f"system.main.concat('\"', system.main.replace({text}, '\"', '\"\"'), '\"')"
    return f"CASE WHEN {needs} THEN {quoted} ELSE {text} END"
