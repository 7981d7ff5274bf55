"""The rows of a document as a Parquet file, for data frames and DuckDB."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalsuite.reports.document import Document

_SMALLEST_OBJECT = 1 << 24


def as_parquet(document: Document) -> bytes:
    """The bytes of a Parquet file of a document's rows; a column of the type `JSON` comes out as its text.

    DuckDB reads the rows from a file of lines and writes the other, so neither is ever held as Python objects.
    """
    import duckdb

    table = document.tables["parquet"]
    columns = table.of("parquet")
    with TemporaryDirectory(prefix="evalsuite-") as folder:
        lines, out = Path(folder) / "rows.jsonl", Path(folder) / "rows.parquet"
        longest = _SMALLEST_OBJECT
        with lines.open("w", encoding="ascii") as file:
            for values in table.values("parquet"):
                row = {column.name: _stored(value, column.type) for column, value in zip(columns, values, strict=True)}
                longest = max(longest, file.write(json.dumps(row) + "\n"))
        with duckdb.connect(config={"threads": "2"}) as connection:
            connection.execute("SET preserve_insertion_order = true")
            typed = ", ".join(f"'{column.name}': '{column.type.replace('JSON', 'VARCHAR')}'" for column in columns)
            source = f"read_json(?, format = 'newline_delimited', columns = {{{typed}}}, maximum_object_size = {longest})"
            connection.execute(f"COPY (SELECT * FROM {source}) TO '{_quoted(out)}' (FORMAT parquet, COMPRESSION zstd)", [str(lines)])
        return out.read_bytes()


def _stored(value: Any, type_: str) -> Any:
    """The value as JSON can say it; of a text, what UTF-8 cannot say (a lone surrogate) and a NUL come out as their escapes."""
    if type_ == "JSON":
        return json.dumps(dict(value), default=str)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    if isinstance(value, list | tuple):
        return [_stored(item, "") for item in value]
    if isinstance(value, dict):
        return {_stored(key, ""): _stored(item, "") for key, item in value.items()}
    return value


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
