"""The CSV report as a spreadsheet and as Python read it."""

import csv
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.reports.file_formats import as_csv, safe_cell
from evalsuite.reports.run_document import run_document
from tests.properties import LETTERS, examples
from tests.reports import made


def read(text: str) -> list[dict[str, str]]:
    """The rows of a CSV text."""
    return list(csv.DictReader(StringIO(text, newline="")))


@pytest.mark.usefixtures("shared_fork_server")
def test_a_line_an_instance_in_gold_order() -> None:
    """The rows hold the results as they are; what nobody judged is an empty cell."""
    record = made.example_record()
    rows = read("".join(as_csv(run_document(record))))
    assert [row["instance_id"] for row in rows] == [result.instance_id for result in record.results]
    assert [row["score"] for row in rows] == ["" if r.score is None else f"{r.score:g}" for r in record.results]
    assert {row["instance_id"]: row["groups"] for row in rows}["ops_001"] == "hard;databases;ops"
    assert {row["instance_id"]: row["fault"] for row in rows}["fin_004"] == "BAD_GOLD_FILE"


def test_hostile_texts_stay_cells() -> None:
    """Every row has its cells, every cell one line, and none begins as a formula."""
    text = "".join(as_csv(run_document(made.hostile())))
    assert text.count("\n") == 2 * len(made.HOSTILE) + 1
    rows = list(csv.reader(StringIO(text, newline="")))
    assert {len(row) for row in rows} == {14}
    assert [field for row in rows for field in row if field.lstrip()[:1] in tuple("=+-@＝")] == []
    assert sorted({char for char in text if not char.isprintable()} - {"\n"}) == []


@examples(100)
@example(" =1+1")
@example("  ＋1")
@example("＠x")
@given(st.text(LETTERS, max_size=30))
def test_no_text_becomes_a_formula(text: str) -> None:
    """Whatever the text, the cell is printable and its first character is harmless; a harmless printable text is left alone."""
    made_cell = safe_cell(text)
    assert made_cell.isprintable()
    assert made_cell.strip()[:1] not in tuple("=+-@＝＋－＠")
    if text.isascii() and text.isprintable() and text.lstrip()[:1] not in tuple("=+-@"):
        assert made_cell == text


def test_graded_scores_read_back_exactly() -> None:
    """A score that is no whole number reads back as the same float."""
    record = made.record(made.result("a", 1 / 3), made.result("b", 1.0))
    assert [float(row["score"]) for row in read("".join(as_csv(run_document(record))))] == [1 / 3, 1.0]
