"""A comparison and a leaderboard on terminals of any width, on a page and in files: every number whole, every hostile text plain."""

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from evalsuite.analysis.leaderboard import Comparison, compare
from evalsuite.core.dataclasses import replace
from evalsuite.reports import write
from evalsuite.reports.comparison_documents import MOST_ROWS, comparison_document
from evalsuite.reports.document import points
from evalsuite.reports.file_formats import MOST_BYTES, as_csv, as_json, as_junit, as_markdown
from evalsuite.reports.html import as_html
from evalsuite.reports.leaderboard_documents import leaderboard_document, ranking_picture
from evalsuite.reports.pictures import numbers as drawn
from evalsuite.reports.terminal import as_text
from evalsuite.runs.leaderboard_entries import Entry
from tests.analysis.leaderboard.made import result, side
from tests.cli.test_run import lacks
from tests.reports import compared
from tests.reports.test_html import Reader

pytestmark = pytest.mark.usefixtures("shared_fork_server")


LONG = "20261121-102205-a-submission-with-a-long-name"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 150])
def test_no_number_is_ever_cut(width: int) -> None:
    """On a narrow terminal rows become blocks of lines; every number and every instance stands whole, and the verdict is one line."""
    sides = [side("a", [1] * 20), side(LONG, [0] * 9 + [1] * 11), side("c", [1] * 20)]
    shown = as_text(comparison_document(compare(sides)), width=width)
    *lines, last = shown.splitlines()
    assert max(map(len, lines)) <= width
    assert last.startswith("done: ")
    for number in ("-45.0", "0.0078", "100.0 %", "55.0 %", "0 / 11 / 9"):
        assert number in shown
    assert set(re.findall(r"q\d+", shown)) >= {f"q{i}" for i in range(9)}


def test_a_brief_report_fits_a_screen_and_shows_answers() -> None:
    """Ten flips in 22 lines, lost ones first, totals and verdict last; answers that are texts stand below their flip."""
    right, wrong = [1.0] * 7 + [0.0] * 3, [0.0] * 7 + [1.0] * 3
    found = compare([side("a", right), side("b", wrong)])
    lines = as_text(comparison_document(found, brief=True), width=80).splitlines()
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 80
    assert " b against a: 7 instances lost, 3 instances won" in lines
    assert [line.split()[1:4] for line in lines if line.startswith(" q")] == [["1", "->", "0"]] * 7 + [["0", "->", "1"]] * 3
    assert [line.split()[:4] for line in lines if line.startswith(" b ")][-1] == ["b", "70.0", "%", "30.0"]
    assert lines[-1].startswith("done: ")
    for n_lost, n_won, shown in ((24, 19, 5), (24, 2, 8), (3, 30, 3), (4, 0, 4)):
        found = compare([side("a", [1.0] * n_lost + [0.0] * n_won), side("b", [0.0] * n_lost + [1.0] * n_won)])
        rows = [line.split()[1] for line in as_text(comparison_document(found, brief=True)).splitlines() if line.startswith(" q")]
        assert rows == ["1"] * shown + ["0"] * min(n_won, 10 - shown)
    found = compare([side("a", [1.0, 1.0]), side("b", [0.0, 0.0])])
    text, file = found.candidates[0].flips
    flips = (replace(text, answer_a="Paris", answer_b=""), replace(file, answer_a="", answer_b=""))
    shown = as_text(comparison_document(replace(found, candidates=(replace(found.candidates[0], flips=flips),)), brief=True))
    assert [line.strip() for line in shown.splitlines() if line.strip().startswith("a ") and "·" in line] == ["a Paris · b -"]
    for answers in (("The capital of Canada is Ottawa, in Ontario", "Toronto"), ("Toronto", "The capital of Canada is Ottawa, in Ontario")):
        flips = (replace(text, answer_a=answers[0], answer_b=answers[1]),)
        shown = as_text(comparison_document(replace(found, candidates=(replace(found.candidates[0], flips=flips),)), brief=True), width=64)
        assert f"   a {answers[0]} · b {answers[1]}\n" in shown


def test_seeds_and_hidden_paths() -> None:
    """Means draw nothing and say so, a drawn p its seed and number; a hidden suite's comparison names no place in gold."""
    exact = as_text(comparison_document(compare([side("a", [0, 1]), side("b", [1, 1])])))
    assert not lacks(exact, "exact McNemar", "12345, no random numbers used")
    graded = [i / 997 for i in range(150)]
    sides = [side("a", graded), side("b", [value * (1 + 0.9e-6 * i) for i, value in enumerate(graded)])]
    assert "12345, no random numbers used" in as_text(comparison_document(compare(sides)))
    assert "12345, 10000 resamples" in as_text(comparison_document(compare(sides, shift=True)))
    assert {field.path for field in compared.trees().candidates[0].fields} == {"year", "title"}
    hidden = compared.trees(hidden=True)
    assert "year" not in "".join(as_json(comparison_document(hidden)))
    assert [one.name for one in hidden.candidates[0].shift] == ["tree_match"]


@pytest.mark.parametrize(("value", "shown"), [(0.025, "+2.5"), (-0.125, "-12.5"), (0.0, "0.0"), (-1e-12, "0.0"), (None, "-")])
def test_points_carry_their_sign(value: float | None, shown: str) -> None:
    """A difference is shown in points; nothing is no minus zero."""
    assert points(value) == shown


def rows_of(made: Comparison, folder: Path) -> list[dict[str, object]]:
    """The rows of its Parquet file."""
    path = folder / "c.parquet"
    write(comparison_document(made), path)
    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_hostile_texts_stay_texts_in_every_file(tmp_path: Path) -> None:
    """In Parquet, XML, CSV, Markdown and pages of comparisons and boards no element, formula, link or mention comes alive."""
    rows = rows_of(compared.hostile(), tmp_path)
    assert [row["instance_id"] for row in rows] == [
        text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00") for text in compared.HOSTILE
    ]
    root = ElementTree.fromstring("".join(as_junit(comparison_document(compared.hostile()))))
    assert {node.tag for node in root.iter()} == {"testsuites", "testsuite", "properties", "property", "testcase", "failure"}
    rows = list(csv.reader(io.StringIO("".join(as_csv(comparison_document(compared.hostile()))))))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not [text for row in rows for at, text in enumerate(row) if at in (0, 2) and re.match(r"\s*[=+@＝-]", text)]
    text = as_markdown(comparison_document(compared.hostile()))
    assert set(re.findall(r"</?[a-z!][^>]*>", text)) == {"<details>", "<summary>", "</summary>", "</details>"}
    assert Counter(re.findall("</?details>", text)) == {"<details>": text.count("</details>"), "</details>": text.count("</details>")}
    assert "@everyone" not in text
    assert "https://" not in text
    for table in [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table if line.startswith("|")}) == 1
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


def test_junit_fails_what_was_lost() -> None:
    """Lost is a failure, not judged is skipped, won and tied pass; of a board what could not be read is an error with its code."""
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
    root = ElementTree.fromstring(
        "".join(as_junit(leaderboard_document(compared.ranked(BROKEN, Entry(name="odd", scores=None, fault="gone")))))
    )
    found = {case.get("name"): [(child.tag, child.get("type"), child.get("message")) for child in case] for case in root.iter("testcase")}
    assert found == {"good": [], "bad": [], "broken": [("error", "MISSING_FILE", BROKEN.fault)], "odd": [("error", "UNREADABLE", "gone")]}
    assert (root.get("tests"), root.get("errors"), root.get("failures")) == ("4", "2", "0")


def test_markdown_says_what_is_folded_and_stays_below_its_size() -> None:
    """Groups and lists are folded with counted titles; hundreds of groups or a thousand submissions keep below 60 kB."""
    text = as_markdown(comparison_document(compared.usual()))
    assert re.findall(r"<summary>(.+)</summary>", text) == [
        "b against a: 2 instances lost", "b against a: 1 instance won", "b by group", "c by group",
    ]  # fmt: skip
    assert text.index("| b | 5 |") < text.index("<details>") < text.index("- seed ")
    big = as_markdown(comparison_document(compared.large(900)))
    assert len(big.encode()) <= MOST_BYTES + 500
    assert re.search(r"- \.\.\. \d+ more", big)
    made = compared.ranked(*(Entry(name=f"{at} {'é' * 100}", scores=None, fault="") for at in range(1000)))
    text = as_markdown(leaderboard_document(made))
    assert len(text.encode()) <= MOST_BYTES
    shown = sum(line.startswith("|") for line in text.splitlines()) - 2
    assert f"... {1002 - shown} more" in text


@pytest.mark.parametrize("build", [compared.usual, compared.trees, compared.hostile])
def test_it_holds_no_script_and_may_fetch_nothing(build: "type[compared.Comparison]") -> None:
    """No script, no handler, no address outside; the policy forbids the rest."""
    page = Reader(as_html(comparison_document(build())))
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"script", "iframe", "object", "embed", "img", "form"})
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    assert not [attrs for _, attrs in page.elements if str(attrs.get("href", "#"))[0] not in "#d"]
    policy = next(str(attrs["content"]) for tag, attrs in page.elements if tag == "meta" and "http-equiv" in attrs)
    assert not lacks(policy, "default-src 'none'", "script-src 'none'")


BROKEN = Entry(name="broken", scores=None, fault="MISSING_FILE: results_metadata.jsonl is not there")


def test_parquet_has_a_row_for_each(tmp_path: Path) -> None:
    """Of a board the numbers of the CSV, with parts, faults and metadata as maps; pairs on a scale of their own are measured."""
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
    sides = [side(label, {"q": score, "raw": None, "none": None}) for label, score in (("a", 1.0), ("b", 0.0))]
    for at, one in enumerate(sides):
        one.results.update(raw=result("raw", None, status="scored", fault=None, scorer="perplexity", details={"raw": 5.0 + at}))  # type: ignore[attr-defined]
    found = compare(sides)
    assert {row["instance_id"]: row["outcome"] for row in rows_of(found, tmp_path)} == {"q": "lost", "raw": "measured", "none": "unjudged"}
    suite = ElementTree.fromstring("".join(as_junit(comparison_document(found)))).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")


def test_pages_show_scores_and_cut_long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row, scores and limits of the picture, no script; a thousand lost instances stand there, the rest is counted."""
    made = compared.ranked(BROKEN)
    page = Reader(as_html(leaderboard_document(made)))
    assert {"good", "broken", "40.0 %"} & set(page.texts) == {"good", "broken"}
    assert "script-src 'none'" in next(str(attrs["content"]) for tag, attrs in page.elements if "http-equiv" in attrs)
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "form"})
    marks = drawn(ranking_picture(made))
    assert [float(mark["value"]) for mark in marks if "value" in mark] == [0.5, 0.0]
    assert [float(mark["bound"]) for mark in marks if "bound" in mark] == [0.75]
    assert MOST_ROWS == 1000
    monkeypatch.setattr("evalsuite.reports.comparison_documents.MOST_ROWS", 100)
    text = as_html(comparison_document(compared.large(107)))
    assert len(re.findall('<tr id="b/', text)) == 100
    assert "... 7 more" in text
