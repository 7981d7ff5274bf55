"""A made answer: gold with something done to it, as an edit of a table, a text or a tree."""

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalsuite.causes.row_repairs import pick, with_column
from evalsuite.causes.value_pairs import cell
from evalsuite.readers.duckdb_tables import quoted_name
from evalsuite.texts.numbers import Number
from evalsuite.types import Answer, Table

OWN = "gold itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is done to a table: rows of gold's by number in their new order, then cells by column and new row, then headers and columns.

    `columns` are gold's by number in their new order; one beyond the last is a column of row numbers. `quoted` writes each field of a CSV
    file in quotation marks and ends its lines as Windows does.
    """

    kind: str
    rows: Sequence[int] | None = None
    cells: Mapping[int, Mapping[int, Any]] = field(default_factory=dict)
    header: Sequence[str] | None = None
    columns: Sequence[int] | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One answer: what was done (`kind`), whether it is still right, and the answer itself: a text, an `Edit` of a table, or a tree.

    `table` is the number of the table that is edited, where a check reads several, or its name in a database.
    """

    kind: str
    right: bool
    value: Any
    table: int | str = 0


def edited(table: Table, edit: Edit) -> Table:
    """The table after the edit."""
    if edit.rows is not None:
        table = pick(table, edit.rows)
    for k, cells in edit.cells.items():
        column = list(table.columns[k])
        for row, value in cells.items():
            column[row] = value
        table = with_column(table, k, column)
    if edit.header is not None:
        table = replace(table, header=tuple(edit.header))
    if edit.columns is not None:
        header, columns = [*table.header, "row_number"], [*table.columns, [str(row) for row in range(1, table.n_rows + 1)]]
        table = replace(table, header=tuple(header[k] for k in edit.columns), columns=tuple(columns[k] for k in edit.columns))
    return table


def clear(value: Any, *, native: bool) -> Any:
    """A hashable form of a cell that differs only for cells that no tolerance takes for one: decimals to three significant digits."""
    read = cell(value, native=native)
    if isinstance(read, Number | int) and not isinstance(read, bool):
        # The official tolerance is 0.01, so that smaller differences are no clear ones.
        if isinstance(read, int):
            return f"{float(read):.9g}"
        # The same for a whole number that is written with decimals, which has their tolerance.
        return f"{float(f'{read.value:.3g}'):.9g}" if abs(read.value) >= 1 else f"{float(f'{read.value:.1f}'):.9g}"
    return read if read.__hash__ is not None else repr(read)


class NotMadeError(Exception):
    """An answer that a file cannot hold, such as a number too large for its column."""


def write_text(made: Made, instance_id: str) -> Answer:
    """The answer that is a text."""
    return Answer(instance_id=instance_id, answer_type="answer", value=str(made.value))


def write_table(made: Made, table: Table, folder: Path, instance_id: str) -> Answer:
    """The answer that is one CSV file."""
    assert isinstance(made.value, Edit)
    _write_csv(edited(table, made.value), folder / instance_id / "answer.csv", quoted=made.value.quoted)
    return Answer(instance_id=instance_id, answer_type="file", value="answer.csv")


def write_tables(made: Made, tables: list[Table], folder: Path, instance_id: str) -> Answer:
    """The answer that is several CSV files, one of them edited."""
    assert isinstance(made.value, Edit)
    names = []
    for i, table in enumerate(tables):
        edit = made.value if i == made.table else Edit(kind=made.kind)
        names.append(f"answer_{i}.csv")
        _write_csv(edited(table, edit), folder / instance_id / names[-1], quoted=edit.quoted)
    return Answer(instance_id=instance_id, answer_type="files", value=tuple(names))


def write_tree(made: Made, folder: Path, instance_id: str) -> Answer:
    """The answer that is a JSON file, or JSON lines for a list of records."""
    name = "answer.jsonl" if isinstance(made.value, list) else "answer.json"
    place = _in_new_folder(folder / instance_id / name)
    records = made.value if isinstance(made.value, list) else [made.value]
    place.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return Answer(instance_id=instance_id, answer_type="file", value=name)


def write_database(made: Made, gold: Path, folder: Path, instance_id: str) -> Answer:
    """The answer that is a copy of a DuckDB file with one table edited. Raises `NotMadeError`."""
    import duckdb

    assert isinstance(made.value, Edit)
    place = _in_new_folder(folder / instance_id / "answer.duckdb")
    shutil.copyfile(gold, place)
    place.chmod(0o600)
    try:
        with duckdb.connect(str(place), config={"threads": 1}) as connection:
            _edit_in_sql(connection, str(made.table), made.value)
    except duckdb.Error as error:
        raise NotMadeError(str(error).partition("\n")[0]) from None
    return Answer(instance_id=instance_id, answer_type="file", value="answer.duckdb")


def _edit_in_sql(connection: Any, name: str, edit: Edit) -> None:
    """The edit of `made.edited` in SQL: gold's own types stay, which values from Python would not keep."""
    table = quoted_name(name)
    headers = [row[0] for row in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]
    columns = list(range(len(headers))) if edit.columns is None else [k for k in edit.columns if k < len(headers)]
    renamed = list(edit.header or headers)
    shown = ", ".join(f"{quoted_name(headers[k])} AS {quoted_name(renamed[k])}" for k in columns)
    n = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    rows = list(range(n)) if edit.rows is None else list(edit.rows)
    picked = [rows, list(range(len(rows)))]
    connection.execute(
        "CREATE TEMP TABLE picked AS SELECT unnest(?::BIGINT[]) AS evalsuite_from, unnest(?::BIGINT[]) AS evalsuite_to", picked
    )
    numbered = f"SELECT *, row_number() OVER () - 1 AS evalsuite_from FROM {table}"
    connection.execute(f"CREATE TEMP TABLE made AS SELECT * FROM ({numbered}) JOIN picked USING (evalsuite_from)")
    for k, cells in edit.cells.items():
        changes = "SELECT unnest(?::BIGINT[]) AS evalsuite_at, unnest(?) AS evalsuite_value"
        update = f"UPDATE made SET {quoted_name(headers[k])} = evalsuite_value FROM ({changes}) WHERE evalsuite_to = evalsuite_at"
        connection.execute(update, [list(cells), list(cells.values())])
    connection.execute(f"DROP TABLE {table} CASCADE")
    connection.execute(f"CREATE TABLE {table} AS SELECT {shown} FROM made ORDER BY evalsuite_to")
    for scratch in ("picked", "made"):
        connection.execute(f"DROP TABLE {scratch}")


def _write_csv(table: Table, place: Path, *, quoted: bool) -> None:
    with _in_new_folder(place).open("w", encoding="utf-8", newline="") as handle:
        style = {"quoting": csv.QUOTE_ALL, "lineterminator": "\r\n"} if quoted else {"lineterminator": "\n"}
        writer = csv.writer(handle, **style)
        writer.writerow(table.header)
        writer.writerows(["" if value is None else value for value in row] for row in zip(*table.columns, strict=True))


def _in_new_folder(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
