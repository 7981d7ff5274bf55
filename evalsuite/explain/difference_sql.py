"""A DuckDB statement that anyone can run to see the rows in which an answer and gold differ."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from evalsuite.causes.table_alignment import Alignment
from evalsuite.causes.table_pairs import TablePair
from evalsuite.readers.duckdb_tables import quoted_name
from evalsuite.tables.outlines import place
from evalsuite.types import Rule

_DECIMALS: Final[dict[Rule, int]] = {"official": 2, "strict": 6}


def table_sql(pair: TablePair, *, gold: Path, prediction: Path, rules: Rule) -> str:
    """One statement (after two ATTACH for databases) whose rows one side has alone, by `EXCEPT ALL`; empty where none fits.

    Columns are the needed ones that have a partner; numbers are rounded (to 2 decimals, 6 for strict rules) to show what matters:
    the scorer's own tolerance decides. Where only the order differs the rows are numbered.
    """
    a = pair.align(rules)
    if a is None or prediction.suffix in (".bz2", ".xz") or gold.suffix in (".bz2", ".xz"):
        return ""
    columns = [(j, k) for j, k in enumerate(a.partners) if k is not None][:50]
    if not columns:
        return ""
    numbered = a.ordered and _same_rows(a)
    names = ", ".join(f"c{n}" for n in range(1, len(columns) + 1))
    native = a.native
    sides = []
    for side, path, table, places in (
        ("gold", gold, pair.gold, [a.needed[j] for j, _ in columns]),
        ("prediction", prediction, pair.prediction, [k for _, k in columns]),
    ):
        source = _source(side, path, pair.name, len(table.columns), native=native)
        cells = ", ".join(
            f"{_compared_value(a, j, n, native)} AS c{i}" for i, ((j, _), n) in enumerate(zip(columns, places, strict=True), start=1)
        )
        number = "row_number() OVER () AS row, " if numbered else ""
        sides.append(f"{side} AS (SELECT {number}{cells} FROM {source})")
    shown = f"row, {names}" if numbered else names
    attach = (
        f"ATTACH {_sql_text(str(gold))} AS gold_file (READ_ONLY); ATTACH {_sql_text(str(prediction))} AS prediction_file (READ_ONLY);\n"
    )
    return (
        (attach if native else "")
        + f"WITH {sides[0]},\n     {sides[1]}\n"
        + f"SELECT 'only in gold' AS side, {shown} FROM (FROM gold EXCEPT ALL FROM prediction)\nUNION ALL\n"
        + f"SELECT 'only in prediction', {shown} FROM (FROM prediction EXCEPT ALL FROM gold)\nORDER BY ALL;"
    )


def _same_rows(a: Alignment) -> bool:
    """Whether both sides hold the same rows, so that only their order can differ."""
    if a.gold.n_rows != a.prediction.n_rows:
        return False
    return sorted(map(repr, map(a.gold_row, range(a.gold.n_rows)))) == sorted(map(repr, map(a.predicted_row, range(a.prediction.n_rows))))


def _source(side: str, path: Path, name: str, n_columns: int, *, native: bool) -> str:
    """A table as the statement names it, its columns x0, x1 ...: one of an attached database, or a CSV file."""
    columns = [f"x{i}" for i in range(n_columns)]
    if native:
        return f"{side}_file.main.{quoted_name(name)} AS t({', '.join(columns)})"
    return f"read_csv({_sql_text(str(path))}, header = true, all_varchar = true, names = [{', '.join(map(_sql_text, columns))}])"


def _compared_value(a: Alignment, j: int, column: int, native: bool) -> str:
    """One column as the statement compares it: numbers rounded, everything else as text."""
    if _numeric(a, j):
        return f"round(TRY_CAST(x{column} AS DOUBLE), {_DECIMALS[a.rules]})"
    return f"CAST(x{column} AS VARCHAR)" if native else f"nullif(x{column}, '')"


def _numeric(a: Alignment, j: int) -> bool:
    """Whether both sides hold numbers only: a text that a cast would turn into NULL must stay to be seen."""
    k = a.partners[j]
    cells: list[Sequence[Any]] = [a.columns.gold[j].cells, a.columns.predicted[k].cells if k is not None else ()]
    return all(cell is None or place(cell) is not None for side in cells for cell in side)


def _sql_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
