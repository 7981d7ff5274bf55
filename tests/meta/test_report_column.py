"""A column of the run's report is a change of one table: added there, it appears in every format."""

import json
from pathlib import Path

import duckdb
import pytest

from evalsuite.reports import FORMATS, write
from evalsuite.reports import run_document as run_report
from evalsuite.reports.document import Column
from evalsuite.reports.file_formats import add_to_summary
from evalsuite.reports.record import Record
from evalsuite.reports.run_document import ReportRow, run_document
from tests.reports import made

HOSTILE = "<b>|`=1"


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    """A wrong answer and a right one, of which the table says one thing more."""
    column: Column[ReportRow] = Column(name="mood", value=lambda row: f"mood of {row.result.instance_id} {HOSTILE}")
    monkeypatch.setattr(run_report, "COLUMNS", (*run_report.COLUMNS, column))
    return made.record(made.result("a", 0.0, reason="no"), made.result("b"))


@pytest.mark.parametrize("ending", FORMATS)
def test_a_column_of_the_table_stands_in_every_format(record: Record, tmp_path: Path, ending: str) -> None:
    """Its title or its key, and its cell of a row that the format shows; as text, whatever is in it."""
    path = tmp_path / f"report{ending}"
    write(run_document(record), path)
    if ending == ".parquet":
        with duckdb.connect() as connection:
            rows = connection.execute("SELECT mood FROM read_parquet(?) ORDER BY instance_id", [str(path)]).fetchall()
        assert rows == [(f"mood of a {HOSTILE}",), (f"mood of b {HOSTILE}",)]
        return
    text = path.read_text(encoding="utf-8").replace("&#160;", " ").replace("\xa0", " ")
    assert "mood" in text.replace("mood of", "")
    assert "mood of a" in text
    if ending in (".html", ".xml"):
        assert "mood of a <b>" not in text
        assert "mood of a &lt;b&gt;" in text
    if ending == ".json":
        assert json.loads(text)["results"][1]["mood"] == f"mood of b {HOSTILE}"


def test_the_summary_of_a_github_job_has_it_too(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the Markdown report."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    assert add_to_summary(record)
    assert "mood of a" in (tmp_path / "summary").read_text(encoding="utf-8")
