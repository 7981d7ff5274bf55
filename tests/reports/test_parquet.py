"""The Parquet report as DuckDB reads it."""

from pathlib import Path
from typing import Any

import duckdb

from evalsuite.core.dataclasses import replace
from evalsuite.reports.file_formats import as_parquet
from evalsuite.reports.record import Record
from evalsuite.reports.run_document import run_document
from tests.reports import made


def read(record: Record, folder: Path) -> list[dict[str, Any]]:
    """The rows of the record's Parquet file."""
    path = folder / "r.parquet"
    path.write_bytes(as_parquet(run_document(record)))
    with duckdb.connect() as connection:
        answer = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def test_any_name_of_a_scorer_is_only_a_name(tmp_path: Path) -> None:
    """SQL in it is not executed, and names that differ only in case are several columns."""
    written = tmp_path / "written.csv"
    sql = f"x': 'VARCHAR'}}) UNION ALL BY NAME SELECT content AS reason FROM read_text('/etc/hostname')) TO '{written}' (FORMAT csv) --"
    scorers = (sql, "it's", "bleu", "Bleu", "BLEU", "Strict", 'a"b', "\0\udc80\n", "Ä", "ä")
    record = made.record(made.result("a"))
    [row] = read(replace(record, summary=replace(record.summary, scorers=scorers)), tmp_path)
    found = [sql, "it's", "bleu", "Bleu_2", "BLEU_3", "Strict_2", 'a"b', "\\x00\\udc80\n", "Ä", "ä_2"]
    assert (list(row)[6:16], written.exists()) == (found, False)
