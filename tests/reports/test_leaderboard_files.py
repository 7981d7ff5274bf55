"""A leaderboard in files: the schema of the JSON, a row a submission, faults as errors, hostile names as text."""

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import duckdb
import pytest

from evalsuite.reports import write
from evalsuite.reports.file_formats import MOST_BYTES, as_csv, as_junit, as_markdown
from evalsuite.reports.html import as_html
from evalsuite.reports.leaderboard_documents import leaderboard_document, ranking_picture
from evalsuite.reports.pictures import numbers as drawn
from evalsuite.runs.leaderboard_entries import Entry
from tests.reports import compared
from tests.reports.test_html import Reader

pytestmark = pytest.mark.usefixtures("shared_fork_server")

BROKEN = Entry(name="broken", scores=None, fault="MISSING_FILE: results_metadata.jsonl is not there")


def test_parquet_has_a_row_for_each_submission(tmp_path: Path) -> None:
    """The numbers are those of the CSV; parts, faults and metadata are maps, and what could not be read has its fault."""
    made = compared.ranked(BROKEN)
    write(leaderboard_document(made), tmp_path / "b.parquet")
    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(tmp_path / "b.parquet")])
        names = [column[0] for column in found.description or ()]
        assert names == [column.name for column in leaderboard_document(made).tables["parquet"].columns]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    assert [(row["submission"], row["rank"], row["score"]) for row in rows] == [("good", 1, 0.5), ("bad", 2, 0.0), ("broken", None, None)]
    assert (rows[0]["by"], rows[0]["faults"], rows[0]["metadata"]) == ({"even": 0.5}, {"gold_fault": 1}, {"model_name": "model of good"})
    assert (rows[0]["fault"], rows[2]["fault"]) == (None, BROKEN.fault)
    lines = list(csv.DictReader(io.StringIO("".join(as_csv(leaderboard_document(made))))))
    assert list(lines[0])[:3] == ["rank", "submission", "score_higher_is_better"]
    for row, line in zip(rows, lines, strict=True):
        for name in set(rows[0]) & set(line) - {"fault", "faults"}:
            assert line[name] == ("" if row[name] is None else str(row[name]))


def test_junit_makes_a_fault_an_error() -> None:
    """A case a submission; who was ranked passes, who could not be read is an error with the code of the fault."""
    root = ElementTree.fromstring(
        "".join(as_junit(leaderboard_document(compared.ranked(BROKEN, Entry(name="odd", scores=None, fault="gone")))))
    )
    found = {case.get("name"): [(child.tag, child.get("type"), child.get("message")) for child in case] for case in root.iter("testcase")}
    assert found == {"good": [], "bad": [], "broken": [("error", "MISSING_FILE", BROKEN.fault)], "odd": [("error", "UNREADABLE", "gone")]}
    assert (root.get("tests"), root.get("errors"), root.get("failures")) == ("4", "2", "0")


def test_the_page_shows_the_scores() -> None:
    """Heading, every row and the facts stand in it; the picture draws scores and limits; no script is in it or may run."""
    made = compared.ranked(BROKEN)
    page = Reader(as_html(leaderboard_document(made)))
    assert {"good", "broken", "40.0 %"} & set(page.texts) == {"good", "broken"}
    assert "script-src 'none'" in next(str(attrs["content"]) for tag, attrs in page.elements if "http-equiv" in attrs)
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "form"})
    marks = drawn(ranking_picture(made))
    assert [float(mark["value"]) for mark in marks if "value" in mark] == [0.5, 0.0]
    assert [float(mark["bound"]) for mark in marks if "bound" in mark] == [0.75]


def test_hostile_names_stay_text_everywhere() -> None:
    """No element, formula or mention of a name comes alive; the tables keep their columns."""
    made = compared.hostile_board()
    page = Reader(as_html(leaderboard_document(made)))
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "iframe"})
    assert {node.tag for node in ElementTree.fromstring("".join(as_junit(leaderboard_document(made)))).iter()} == {
        "testsuites", "testsuite", "properties", "property", "testcase", "error",
    }  # fmt: skip
    rows = list(csv.reader(io.StringIO("".join(as_csv(leaderboard_document(made))))))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not [row[1] for row in rows if re.match(r"\s*[=+@＝-]", row[1])]
    markdown = as_markdown(leaderboard_document(made))
    assert not re.findall(r"</?[a-z!][^>]*>", markdown)
    assert "@everyone" not in markdown
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in markdown.splitlines() if line.startswith("|")}) == 1


def test_a_long_board_stays_a_comment() -> None:
    """A thousand submissions keep below 60 kB, and how many are left out is said."""
    made = compared.ranked(*(Entry(name=f"{at} {'é' * 100}", scores=None, fault="") for at in range(1000)))
    text = as_markdown(leaderboard_document(made))
    assert len(text.encode()) <= MOST_BYTES
    shown = sum(line.startswith("|") for line in text.splitlines()) - 2
    assert f"... {1002 - shown} more" in text
