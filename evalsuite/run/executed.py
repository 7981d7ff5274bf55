"""Tables that queries gave, as files: `<name>.csv` as pandas would write it, or the folder `<name>` of Parquet parts where it is big."""

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from evalsuite.types import Table

if TYPE_CHECKING:
    from evalsuite.sql.session import Executed

_LONGEST_NAME = 120
_CSV_BYTES = 64 << 20
_BLOCK_ROWS = 4096


def file_name(instance_id: str) -> str:
    """A file's name for an instance id, the id itself where it can be one; different for different ids."""
    safe = quote(instance_id, safe=" ,+=@()[]!")
    if len(safe) > _LONGEST_NAME or safe.startswith("."):
        return safe.strip(".")[:_LONGEST_NAME] + "-" + hashlib.sha256(instance_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return safe


def save(executed: "Executed", folder: Path, name: str, limits: Mapping[str, int | float]) -> Path:
    """Where the table was written: a CSV file of what is judged, or the folder of parts that it may already lie in."""
    parts = folder / name
    if (parts / "table.json").exists():
        return parts
    if executed.cost.bytes > min(_CSV_BYTES, limits["table_bytes"], limits["file_bytes"] // 4):
        from evalsuite.sql.spill import save_table

        save_table(executed.table, parts)
        return parts
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{name}.csv"
    with place.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        file.writelines(csv_lines(executed.table))
    return place


def csv_lines(table: Table) -> Iterator[str]:
    """The CSV text of a table, some thousand rows at once."""
    from evalsuite.sql.cell_forms import csv_form

    shown = csv_form(table)
    block = io.StringIO()
    writer = csv.writer(block, lineterminator="\n")
    writer.writerow(shown.header)
    for start in range(0, shown.n_rows, _BLOCK_ROWS):
        writer.writerows(zip(*(column[start : start + _BLOCK_ROWS] for column in shown.columns), strict=True))
        yield block.getvalue()
        block.seek(0)
        block.truncate()
    yield block.getvalue()
