"""Big database tables of plain types: their digests, worked out by duckdb itself, and their columns as arrays.

A digest of a million rows takes a tenth of a second, and no row leaves duckdb. Functions go by their full name, so that nothing a file
holds can stand in their place.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalsuite.readers.limits import Limits
from evalsuite.tables.arrays import ArrayColumn, fits_calendar, text_block
from evalsuite.tables.digested import Digest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Below this, reading the rows costs less than it takes to notice.
DIGESTED_ROWS = 500_000
SALT_BITS = 62
# So many rows are looked at where digests agree.
_SAMPLED = 8
_LONGEST_SHOWN = 200
# A decimal of more digits takes more than 64 bits.
_MOST_DIGITS = 18

_FLOATS = ("DOUBLE", "FLOAT")
_MOMENTS = {
    "DATE": "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    "TIMESTAMP": "BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'",
}
_PLAIN = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|DOUBLE|FLOAT|VARCHAR|BOOLEAN|DATE|TIMESTAMP|DECIMAL\(\d+,\d+\)")
_CELL_BYTES = 8


def are_plain(types: Sequence[str]) -> bool:
    """Whether every column has a type whose cells are equal exactly where their hashes are."""
    return bool(types) and all(_PLAIN.fullmatch(type_) for type_ in types)


def read_digest(connection: "DuckDBPyConnection", table: str, columns: Sequence[str], types: Sequence[str], salt: int) -> Digest | None:
    """The digest of a table, None for one without rows; names come quoted, and one thread with its rows in stored order is set.

    A row is a sum of its cells times secret numbers made of the salt, which nobody knew who wrote a cell: duckdb's own hash of two columns
    can be turned back. Cells of up to 64 bits are told apart by duckdb's hash of one, all others by MD5 behind the salt.
    """
    rows = (
        f"SELECT {_row_number(columns, types, salt)} AS h, system.main.row_number() OVER () AS n, CAST({salt} AS BIGINT) AS s, "
        f"rowid AS place FROM {table}"
    )
    row = connection.execute(
        "SELECT system.main.count(*), system.main.sum(system.main.hash(system.main.hash(h, n, s))), "
        f"system.main.sum(system.main.hash(system.main.hash(h, s))), system.main.arg_min(place, h, {_SAMPLED}) FROM ({rows})"
    ).fetchone()
    if row is None or not row[0]:
        return None
    n_rows, ordered, bag, places = row
    return Digest(salt, int(n_rows), int(ordered), int(bag), _sample(connection, table, columns, places))


def _row_number(columns: Sequence[str], types: Sequence[str], salt: int) -> str:
    """A number of at most 127 bits for each row: equal for equal rows, for others only where the salt happens to make it so."""
    small = [(column, type_) for column, type_ in zip(columns, types, strict=True) if _is_small(type_)]
    texts = [f"CAST({column} AS VARCHAR)" for column, type_ in zip(columns, types, strict=True) if not _is_small(type_)]
    # -0.0 has the hash of 0.0, but not its text, by which the reference sorts.
    cells = [f"CASE WHEN {column} IS NOT NULL THEN system.main.hash({column}) END" for column, _ in small]
    cells += [f"CASE WHEN system.main.signbit({column}) THEN 1 ELSE 0 END" for column, type_ in small if type_ in _FLOATS]
    if texts:
        salted = _folded("||", [f"'{salt}:'", *texts])
        cells.append(f"system.main.hash(system.main.md5_number({salted}))")
        # Where each of them ends.
        cells += [f"system.main.length({text})" for text in texts[1:]]
    bits = SALT_BITS - len(cells).bit_length()
    factors = (int.from_bytes(hashlib.sha256(f"{salt}|{at}".encode()).digest()) % (1 << bits) | 1 for at in range(len(cells)))
    terms = [f'system.main."*"(CAST({cell} AS HUGEINT), CAST({factor} AS HUGEINT))' for cell, factor in zip(cells, factors, strict=True)]
    return _folded("+", terms)


def _folded(operator: str, terms: Sequence[str]) -> str:
    """The terms under an operator, in pairs of pairs: duckdb takes no expression that nests as deep as a table is wide."""
    while len(terms) > 1:
        pairs = [f'system.main."{operator}"({a}, {b})' for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + list(terms[len(pairs) * 2 :])
    return terms[0]


def _is_small(type_: str) -> bool:
    """Whether duckdb's hash of one cell can be turned back, so that different cells have different ones."""
    decimal = re.fullmatch(r"DECIMAL\((\d+),\d+\)", type_)
    return int(decimal[1]) <= _MOST_DIGITS if decimal is not None else type_ != "VARCHAR"


def _sample(connection: "DuckDBPyConnection", table: str, columns: Sequence[str], places: Sequence[int] | None) -> tuple[str, ...]:
    """How some rows are written, long cells cut, in their order."""
    if not places:
        return ()
    cells = ", ".join(f'system.main."left"(CAST({column} AS VARCHAR), {_LONGEST_SHOWN})' for column in columns)
    found = connection.execute(f"SELECT rowid, {cells} FROM {table} WHERE rowid IN ({', '.join(map(str, places))})").fetchall()
    texts = {place: repr(row) for place, *row in found}
    return tuple(texts[place] for place in places)


def is_plain(connection: "DuckDBPyConnection", table: str, columns: Sequence[str], types: Sequence[str], limits: Limits) -> bool:
    """Whether equal cells are all there is to it: no NULL, NaN, infinity or date Python cannot hold, and within the limit of bytes.

    Asked of gold alone, whose statistics can be trusted; what has the same digest holds the same cells.
    """
    checks = ["system.main.count(*)"]
    sizes = []
    for column, type_ in zip(columns, types, strict=True):
        checks.append(f"system.main.count({column})")
        if type_ in _FLOATS:
            checks[-1] = f"system.main.count(CASE WHEN system.main.isfinite({column}) THEN 1 END)"
        elif type_ in _MOMENTS:
            checks[-1] = f"system.main.count(CASE WHEN {column} {_MOMENTS[type_]} THEN 1 END)"
        elif type_ == "VARCHAR":
            sizes.append(f"system.main.sum(system.main.length({column}))")
    row = connection.execute(f"SELECT {', '.join(checks + sizes)} FROM {table}").fetchone()
    if row is None:
        return False
    counts, lengths = row[: len(checks)], row[len(checks) :]
    n_bytes = counts[0] * len(columns) * _CELL_BYTES + sum(length or 0 for length in lengths)
    return len(set(counts)) == 1 and n_bytes <= limits["table_bytes"]


def read_size(connection: "DuckDBPyConnection", table: str, columns: Sequence[str], types: Sequence[str]) -> int | None:
    """About how many bytes the cells take, None where a date or moment is none that Python can hold."""
    checks, sizes = ["system.main.count(*)"], []
    for column, type_ in zip(columns, types, strict=True):
        if type_ in _MOMENTS:
            checks.append(f"system.main.count(CASE WHEN {column} IS NULL OR {column} {_MOMENTS[type_]} THEN 1 END)")
        elif type_ == "VARCHAR":
            sizes.append(f"system.main.sum(system.main.length({column}))")
    row = connection.execute(f"SELECT {', '.join(checks + sizes)} FROM {table}").fetchone()
    if row is None or len(set(row[: len(checks)])) > 1:
        return None
    return int(row[0]) * len(columns) * _CELL_BYTES + sum(length or 0 for length in row[len(checks) :])


def read_array(connection: "DuckDBPyConnection", table: str, column: str, type_: str) -> ArrayColumn:
    """A column in stored order. Raises ValueError where a moment is none that Python can hold after all."""
    import numpy as np

    is_decimal = type_.startswith("DECIMAL")
    selected = f"CAST({column} AS VARCHAR)" if is_decimal else column
    (found,) = connection.execute(f"SELECT {selected} FROM {table}").fetchnumpy().values()
    empty = np.ma.getmaskarray(found) if isinstance(found, np.ma.MaskedArray) else None
    values = np.ma.getdata(found)
    if empty is not None and not empty.any():
        empty = None
    if is_decimal or type_ == "VARCHAR":
        texts = (
            values.tolist() if empty is None else ["" if gone else text for text, gone in zip(values.tolist(), empty.tolist(), strict=True)]
        )
        return ArrayColumn(kind="decimal" if is_decimal else "text", values=text_block(texts), empty=empty)
    if type_ in _MOMENTS:
        moments = values.astype("datetime64[us]").view(np.int64)
        if empty is not None:
            moments = np.where(empty, 0, moments)
        if not fits_calendar(moments):
            raise ValueError("a moment outside the calendar")
        return ArrayColumn(kind="date" if type_ == "DATE" else "moment", values=moments, empty=empty)
    return ArrayColumn(kind="number", values=values.astype(np.float64) if type_ == "FLOAT" else values, empty=empty)
