"""The Parquet report as DuckDB reads it."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

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


@pytest.mark.usefixtures("shared_fork_server")
def test_rows_hold_the_results(tmp_path: Path) -> None:
    """One row an instance in gold order with numbers as numbers, groups as a list and details as JSON; unknown is NULL."""
    record = made.example_record()
    rows = read(record, tmp_path)
    assert list(rows[0]) == [column.name for column in run_document(record).tables["parquet"].columns_of("parquet")]
    for row, result in zip(rows, record.results, strict=True):
        assert (row["instance_id"], row["status"], row["score"]) == (result.instance_id, result.status, result.score)
        assert (row["strict"], row["reason"], row["fault"]) == (result.strict, result.reason, result.fault)
        assert tuple(row["groups"]) == record.groups[result.instance_id]
        assert json.loads(row["details"]) == json.loads(json.dumps(dict(result.details), default=str))


def test_any_text_is_kept(tmp_path: Path) -> None:
    """Texts come back as they were, but for what UTF-8 cannot say."""
    record = made.hostile()
    rows = read(record, tmp_path)
    expected = [r.reason.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00") for r in record.results]
    assert [row["reason"] for row in rows] == expected


def test_any_name_of_a_scorer_is_only_a_name(tmp_path: Path) -> None:
    """SQL in it is not executed, and names that differ only in case are several columns."""
    written = tmp_path / "written.csv"
    sql = f"x': 'VARCHAR'}}) UNION ALL BY NAME SELECT content AS reason FROM read_text('/etc/hostname')) TO '{written}' (FORMAT csv) --"
    scorers = (sql, "it's", "bleu", "Bleu", "BLEU", "Strict", 'a"b', "\0\udc80\n", "Ä", "ä")
    record = made.record(made.result("a"))
    [row] = read(replace(record, summary=replace(record.summary, scorers=scorers)), tmp_path)
    found = [sql, "it's", "bleu", "Bleu_2", "BLEU_3", "Strict_2", 'a"b', "\\x00\\udc80\n", "Ä", "ä_2"]
    assert (list(row)[6:16], written.exists()) == (found, False)


def test_sizes(tmp_path: Path) -> None:
    """No result gives a table of no rows, many keep their order, and a very large detail is no obstacle."""
    for record in (made.record(), made.large(3000)):
        assert [row["instance_id"] for row in read(record, tmp_path)] == [result.instance_id for result in record.results]
    big = made.record(made.result("big", details={"text": "x" * (17 << 20)}))
    assert len(read(big, tmp_path)[0]["details"]) > 17 << 20
