"""What stands in a file, read plainly and apart from evalsuite: duckdb or the csv and json modules, nothing else.

`python -m tests.attacks.plain_reader FILE...` prints one JSON line a file: its columns as lists of texts (a tree as its JSON text), or
null where it cannot be read. It is a process of its own because a damaged database may kill it.
"""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any


def main(paths: list[str]) -> None:
    """Print the content of each file, flushed one by one."""
    for path in paths:
        print(json.dumps(content(Path(path))), flush=True)


def content(path: Path) -> Any:
    """The columns of a table, the tree of a JSON file, None where there is none."""
    try:
        if path.suffix == ".duckdb":
            return _database(path)
        text = path.read_bytes().decode("utf-8-sig")
        if path.suffix == ".json":
            return json.loads(text)
        return _columns([row for row in csv.reader(io.StringIO(text, newline="")) if row][1:])
    except (OSError, ValueError, csv.Error, RuntimeError):
        return None


def _database(path: Path) -> Any:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        try:
            return _columns(connection.execute('SELECT * FROM main."t"').fetchall())
        except duckdb.Error as error:
            raise ValueError("unreadable") from error


def _columns(rows: list[Any]) -> list[list[str | None]]:
    width = max(map(len, rows), default=0)
    return [[None if at >= len(row) or row[at] is None else str(row[at]) for row in rows] for at in range(width)]


if __name__ == "__main__":
    main(sys.argv[1:])
