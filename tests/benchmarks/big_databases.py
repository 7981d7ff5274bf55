"""Big DuckDB tables, whole process with isolation on, in units of the CPU of a process that calls `fetchdf` on both once."""

from pathlib import Path
from typing import Any

from tests.benchmarks.big_tables import FETCH, frame, make_case, measured
from tests.benchmarks.wrong_tables import one_cell


def write(path: Path, table: Any) -> None:
    """A database of the one table t."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.from_df(table).create("t")


def run(scratch: Path, *, n: int = 3, rows: int = 1_000_000) -> dict[str, Any]:
    """Each case: ratio, seconds, peak and verdicts."""
    table = frame(rows)
    cases = {"ordered": (False, table), "any order": (True, table.sample(frac=1, random_state=3))}
    found = {}
    for name, (ignore_order, answer) in cases.items():
        parameters = {"condition_tabs": ["t"], "condition_cols": [[]], "ignore_orders": [ignore_order]}
        pair = make_case(scratch / name.replace(" ", "-"), "duckdb_match", ".duckdb", parameters)
        write(pair[0], table)
        write(pair[1], answer)
        found[name] = measured(pair[0].parents[2], FETCH, pair, n)
        for path in pair:
            path.unlink()
    return found | _one_cell(scratch / "one-cell", n)


def _one_cell(folder: Path, n: int) -> dict[str, Any]:
    """200,000 rows with one price changed near their end."""
    table = frame(200_000)
    pair = make_case(folder, "duckdb_match", ".duckdb", {"condition_tabs": ["t"], "condition_cols": [[]], "ignore_orders": [False]})
    write(pair[0], table)
    write(pair[1], one_cell(table))
    return {"200k, one cell": measured(folder, FETCH, pair, n)}
