"""PostgreSQL writes the CSV text of a result itself: one text a row, as `csv_text.as_lines` of the row's neutral cells would give it.

The server's own text of a cell is what psycopg reads, so only what Python would write in another way is changed.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from functools import reduce
from operator import or_
from typing import Any, Final

from evalsuite.sql.csv_text import as_lines, quoted_codes
from evalsuite.sql.session import Lines

_AS_IS: Final = {"int2", "int4", "int8", "oid", "numeric", "uuid", "interval", "timetz"}
_TEXTS: Final = {"text", "varchar", "bpchar", "name", "json", "jsonb"}
# From which size on the server writes a float with an exponent; below 1e-4 it does too.
_FLOATS: Final = {"float8": "1e15", "float4": "1e6"}
# What Python holds of them; anything else is read by it, and refused.
_DAYS: Final = {"date": date.fromisoformat, "timestamp": datetime.fromisoformat, "timestamptz": datetime.fromisoformat}
_LONGEST_MOMENT = len("2020-01-01 00:00:00.000000")
_MOST_MOMENTS, _MOST_COLUMNS = 31, 500
# concat() takes at most a hundred arguments.
_AT_ONCE = 40


def line_query(sql: str, types: Sequence[str]) -> str | None:
    """A SELECT of the line of each row of a statement, for `lines_of`; None where Python has to write the lines.

    `types` are PostgreSQL's names of its columns' types, empty for one that has none.
    """
    if not types or len(types) > _MOST_COLUMNS or types.count("timestamp") > _MOST_MOMENTS:
        return None
    cells = [_cell(f"c{index}", type_) for index, type_ in enumerate(types)]
    if None in cells:
        return None
    odd = " OR ".join(filter(None, (_oddity(f"c{index}", type_) for index, type_ in enumerate(types)))) or "false"
    moments = [f"c{index}" for index, type_ in enumerate(types) if type_ == "timestamp"]
    times = " + ".join(
        f"{1 << 2 * place}::int8 * CASE WHEN {c} IS NULL THEN 0 WHEN {c} = pg_catalog.date_trunc('day', {c}) THEN 1 ELSE 2 END"
        for place, c in enumerate(moments)
    )
    line = _joined([part for cell in cells for part in ("','", str(cell))][1:])
    if len(cells) == 1:
        line = f"CASE WHEN {line} = '' THEN '\"\"' ELSE {line} END"
    texts = ", ".join(f"CASE WHEN c{index} IS NOT NULL THEN pg_catalog.concat(c{index}) END" for index in range(len(types)))
    names = ", ".join(f"c{index}" for index in range(len(types)))
    # A line of its own for the bracket: the statement may end in a comment.
    return (
        f"SELECT CASE WHEN {odd} THEN '' ELSE {line} || pg_catalog.chr(10) END, {times or '0'}, "
        f"CASE WHEN {odd} THEN ARRAY[{texts}] END FROM (\n{sql}\n) AS answer({names})"
    )


def lines_of(chunks: Iterable[Sequence[tuple[str, int, list[str | None] | None]]], types: Sequence[str]) -> Iterator[Lines]:
    """The lines of the chunks of rows that a `line_query` gave. Raises ValueError for a day or moment that Python does not hold."""
    moments = [index for index, type_ in enumerate(types) if type_ == "timestamp"]
    for rows in chunks:
        lines, times, odd = zip(*rows, strict=True)
        if odd.count(None) < len(odd):
            lines = tuple(line if cells is None else _as_python_has_it(cells, types) for line, cells in zip(lines, odd, strict=True))
        bits = reduce(or_, set(times))
        yield Lines(
            text="".join(lines).encode("utf-8", "backslashreplace"),
            n_rows=len(lines),
            at_midnight=frozenset(index for place, index in enumerate(moments) if bits >> 2 * place & 1),
            at_other_times=frozenset(index for place, index in enumerate(moments) if bits >> 2 * place & 2),
        )


def _as_python_has_it(texts: Sequence[str | None], types: Sequence[str]) -> str:
    """The line of a row with a float that Python writes in another way, or a day that it may not hold."""
    cells: list[Any] = []
    for text, type_ in zip(texts, types, strict=True):
        if text is None:
            cells.append(None)
        elif type_ in _FLOATS:
            cells.append(float(text))
        elif type_ in _DAYS:
            cells.append(_DAYS[type_](text))
        elif type_ == "bool":
            cells.append(text == "t")
        else:
            cells.append(text.removeprefix("\\x") if type_ == "bytea" else text)
    return as_lines([cells]).decode()


def _cell(c: str, type_: str) -> str | None:
    """The text of a column's cells, in quotes where it needs them; None of a type that Python has to write."""
    if type_ in _AS_IS or type_ == "date":
        return c
    if type_ in _TEXTS:
        text = f"pg_catalog.concat({c})"
        needs = " OR ".join(f"pg_catalog.strpos({text}, pg_catalog.chr({code})) > 0" for code in quoted_codes())
        return f"CASE WHEN {needs} THEN '\"' || pg_catalog.replace({text}, '\"', '\"\"') || '\"' ELSE {text} END"
    if type_ in _FLOATS:
        names = "".join(
            f"WHEN {c} = '{own}' THEN '{python}' " for own, python in (("NaN", "nan"), ("Infinity", "inf"), ("-Infinity", "-inf"))
        )
        return f"CASE {names}WHEN {c} = pg_catalog.trunc({c}::float8) THEN pg_catalog.concat({c}, '.0') ELSE pg_catalog.concat({c}) END"
    if type_ == "bool":
        return f"CASE WHEN {c} THEN 'True' WHEN NOT {c} THEN 'False' END"
    if type_ == "bytea":
        return f"pg_catalog.encode({c}, 'hex')"
    if type_ == "timestamp":
        return _six_digits(f"pg_catalog.concat({c})")
    if type_ == "timestamptz":
        return f"CASE WHEN {c} IS NOT NULL THEN {_six_digits(f'pg_catalog.left(pg_catalog.concat({c}), -3)')} || '+00:00' END"
    return None


def _oddity(c: str, type_: str) -> str:
    """Whether Python has to look at a cell."""
    if type_ in _FLOATS:
        size = f"pg_catalog.abs({c})"
        plain = f"{c} IN (0, 'NaN', 'Infinity', '-Infinity') OR ({size} >= 1e-4 AND {size} < {_FLOATS[type_]})"
        return f"({c} IS NOT NULL AND NOT ({plain}))"
    if type_ in _DAYS:
        zone = "+00" if type_ == "timestamptz" else ""
        last = "9999-12-31" if type_ == "date" else f"9999-12-31 23:59:59.999999{zone}"
        return f"({c} IS NOT NULL AND NOT {c} BETWEEN {type_} '0001-01-01{' 00:00:00' + zone if zone else ''}' AND {type_} '{last}')"
    return ""


def _six_digits(text: str) -> str:
    """The text of a moment with all or none of the digits behind its seconds."""
    return f"CASE WHEN pg_catalog.strpos({text}, '.') > 0 THEN pg_catalog.rpad({text}, {_LONGEST_MOMENT}, '0') ELSE {text} END"


def _joined(parts: Sequence[str]) -> str:
    return " || ".join(f"pg_catalog.concat({', '.join(parts[start : start + _AT_ONCE])})" for start in range(0, len(parts), _AT_ONCE))
