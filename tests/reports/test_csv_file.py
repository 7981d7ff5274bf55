"""The CSV report as a spreadsheet and as Python read it."""

import csv
from io import StringIO

from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.reports.file_formats import as_csv, safe_cell
from evalsuite.reports.run_document import run_document
from tests.properties import LETTERS, examples
from tests.reports import made


def read(text: str) -> list[dict[str, str]]:
    """The rows of a CSV text."""
    return list(csv.DictReader(StringIO(text, newline="")))


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
