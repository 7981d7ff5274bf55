"""DuckDB files for tests, all written by one instance: to start one takes longer than all that a small file needs."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb


@cache
def _instance() -> duckdb.DuckDBPyConnection:
    """Without threads of its own, because tests fork."""
    return duckdb.connect(config={"threads": 1})


@contextmanager
def opened(place: Path | str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose database is this file, new or not, under the name that DuckDB gives it; without a file for temporary tables."""
    name = Path(place).name.partition(".")[0] if place else "memory"
    with _instance().cursor() as connection:
        if place:
            quoted = str(place).replace("'", "''")
            connection.execute(f"ATTACH '{quoted}' AS \"{name}\" (TYPE duckdb)")
        try:
            connection.execute(f'USE "{name}"')
            yield connection
        finally:
            if place:
                connection.execute(f'USE memory; DETACH "{name}"')
