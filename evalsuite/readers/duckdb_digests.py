"""Digests of a database table, worked out by duckdb itself: a million rows in a tenth of a second, and no row leaves it.

Only columns of plain types are digested, and functions go by their full name, so that nothing a file holds can stand in their place.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalsuite.readers.limits import Limits
from evalsuite.tables.digested import Digest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Below this, reading the rows costs less than it takes to notice.
DIGESTED_ROWS = 200_000
SALT_BITS = 62

_FLOATS = ("DOUBLE", "FLOAT")
_MOMENTS = {
    "DATE": "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    "TIMESTAMP": "BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'",
}
_PLAIN = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|DOUBLE|FLOAT|VARCHAR|BOOLEAN|DATE|TIMESTAMP|DECIMAL\(\d+,\d+\)")
_CELL_BYTES = 8


def can_be_digested(types: Sequence[str]) -> bool:
    """Whether every column has a type whose cells are equal exactly where their hashes are."""
    return bool(types) and all(_PLAIN.fullmatch(type_) for type_ in types)


def read_digest(connection: "DuckDBPyConnection", table: str, columns: Sequence[str], types: Sequence[str], salt: int) -> Digest | None:
    """The digest of a table, None for one without rows; names come quoted, and one thread with its rows in stored order is set."""
    # -0.0 has the hash of 0.0, but not its text, by which the reference sorts.
    signs = [f"system.main.signbit({column})" for column, type_ in zip(columns, types, strict=True) if type_ in _FLOATS]
    rows = (
        f"SELECT system.main.hash({', '.join([*columns, *signs])}) AS h, system.main.row_number() OVER () AS n, "
        f"CAST({salt} AS BIGINT) AS s FROM {table}"
    )
    row = connection.execute(
        "SELECT system.main.count(*), system.main.sum(system.main.hash(system.main.hash(h, n, s))), "
        f"system.main.sum(system.main.hash(system.main.hash(h, s))) FROM ({rows})"
    ).fetchone()
    return Digest(salt, *map(int, row)) if row is not None and row[0] else None


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
