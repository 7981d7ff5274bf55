"""A comparison in files: the schema of the JSON, a row for each instance, JUnit, and Markdown that stays small and plain."""

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from evalsuite.analysis.leaderboard import Comparison, compare
from evalsuite.reports import write
from evalsuite.reports.comparison_documents import comparison_document
from evalsuite.reports.file_formats import MOST_BYTES, as_csv, as_json, as_junit, as_markdown
from tests.analysis.leaderboard.made import result, side
from tests.reports import compared

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def rows_of(made: Comparison, folder: Path) -> list[dict[str, object]]:
    """The rows of its Parquet file."""
    path = folder / "c.parquet"
    write(comparison_document(made), path)
    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_pairs_on_a_scale_of_their_own_are_measured(tmp_path: Path) -> None:
    """Beside scores: `measured` in Parquet and passed in JUnit; they are compared in the row of their scorer, and were called unjudged."""
    sides = [side(label, {"q": score, "raw": None, "none": None}) for label, score in (("a", 1.0), ("b", 0.0))]
    for at, one in enumerate(sides):
        one.results.update(raw=result("raw", None, status="scored", fault=None, scorer="perplexity", details={"raw": 5.0 + at}))  # type: ignore[attr-defined]
    found = compare(sides)
    assert {row["instance_id"]: row["outcome"] for row in rows_of(found, tmp_path)} == {"q": "lost", "raw": "measured", "none": "unjudged"}
    suite = ElementTree.fromstring("".join(as_junit(comparison_document(found)))).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")


def test_hostile_texts_survive_parquet(tmp_path: Path) -> None:
    """A lone surrogate and a NUL come out as their escapes, everything else as it was said."""
    rows = rows_of(compared.hostile(), tmp_path)
    assert [row["instance_id"] for row in rows] == [
        text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00") for text in compared.HOSTILE
    ]


def test_junit_fails_what_was_lost() -> None:
    """A suite a candidate; lost is failure, not judged is skipped, won and tied pass; the counts are those of the cases."""
    root = ElementTree.fromstring("".join(as_junit(comparison_document(compared.usual()))))
    first, second = root.findall("testsuite")
    outcomes = {case.get("name"): [child.tag for child in case] for case in first.iter("testcase")}
    assert outcomes == {"q0": ["failure"], "q1": ["failure"], "q2": [], "q3": [], "q4": [], "q5": ["skipped"]}
    assert (first.get("name"), first.get("tests"), first.get("failures"), first.get("skipped")) == ("b", "6", "2", "1")
    assert (second.get("name"), second.get("failures"), root.get("tests"), root.get("failures")) == ("c", "0", "12", "2")
    failure = first.find("testcase/failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("lost", "1 -> 0; a: because 1; now: because 0")
    assert root.get("time") is None


def test_hostile_texts_stay_attributes_and_cells() -> None:
    """XML stays well formed, CSV keeps its columns and quotes formulas."""
    root = ElementTree.fromstring("".join(as_junit(comparison_document(compared.hostile()))))
    assert {node.tag for node in root.iter()} == {"testsuites", "testsuite", "properties", "property", "testcase", "failure"}
    rows = list(csv.reader(io.StringIO("".join(as_csv(comparison_document(compared.hostile()))))))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not [text for row in rows for at, text in enumerate(row) if at in (0, 2) and re.match(r"\s*[=+@＝-]", text)]


def test_markdown_says_what_is_folded_and_stays_below_its_size() -> None:
    """Totals are open, lost, won and groups are folded with counted titles; hundreds of groups keep below 60 kB and are counted."""
    text = as_markdown(comparison_document(compared.usual()))
    assert re.findall(r"<summary>(.+)</summary>", text) == [
        "b against a: 2 instances lost", "b against a: 1 instance won", "b by group", "c by group",
    ]  # fmt: skip
    assert text.index("| b | 5 |") < text.index("<details>") < text.index("- seed ")
    big = as_markdown(comparison_document(compared.large(900)))
    assert len(big.encode()) <= MOST_BYTES + 500
    assert re.search(r"- \.\.\. \d+ more", big)


def test_markdown_of_hostile_texts_is_plain() -> None:
    """No element, link, mention or heading but those of the report; every row keeps its cells."""
    text = as_markdown(comparison_document(compared.hostile()))
    assert set(re.findall(r"</?[a-z!][^>]*>", text)) == {"<details>", "<summary>", "</summary>", "</details>"}
    assert Counter(re.findall("</?details>", text)) == {"<details>": text.count("</details>"), "</details>": text.count("</details>")}
    assert "@everyone" not in text
    assert "https://" not in text
    for table in [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table if line.startswith("|")}) == 1


def test_paths_of_hidden_gold_are_not_named() -> None:
    """Fields are places in gold: a hidden suite's comparison has none, and its shifts go by scorer."""
    assert {field.path for field in compared.trees().candidates[0].fields} == {"year", "title"}
    hidden = compared.trees(hidden=True)
    assert "year" not in "".join(as_json(comparison_document(hidden)))
    assert [one.name for one in hidden.candidates[0].shift] == ["tree_match"]
