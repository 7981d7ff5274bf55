"""A comparison in files: the schema of the JSON, a row for each instance, JUnit, and Markdown that stays small and plain."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from jsonschema import Draft202012Validator

from evalsuite.analysis.leaderboard import Comparison, compare
from evalsuite.reports import write
from evalsuite.reports.comparison_documents import comparison_document, instance_table
from evalsuite.reports.file_formats import MOST_BYTES, as_csv, as_json, as_junit, as_markdown, schema
from tests.analysis.leaderboard.made import result, side
from tests.reports import compared

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.mark.parametrize("build", [compared.usual, compared.trees, compared.hostile, lambda: compared.usual(reveal="none")])
def test_the_json_keeps_to_its_schema(build: "type[Comparison]") -> None:
    """The schema is valid itself, holds for comparisons of every kind, and refuses what is unknown or out of range."""
    valid = Draft202012Validator(schema("comparison"))
    Draft202012Validator.check_schema(schema("comparison"))
    found = json.loads("".join(as_json(comparison_document(build()))))
    valid.validate(found)
    assert not valid.is_valid({**found, "surprise": 1})
    assert not valid.is_valid({**found, "alpha": 2})
    found["candidates"][0]["total"]["p"] = 1.5
    assert not valid.is_valid(found)


def rows_of(made: Comparison, folder: Path) -> list[dict[str, object]]:
    """The rows of its Parquet file."""
    path = folder / "c.parquet"
    write(comparison_document(made), path)
    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_parquet_has_a_row_for_each_instance_and_candidate(tmp_path: Path) -> None:
    """Six instances and two candidates are twelve rows, each with its outcome, both scores, both reasons and its groups."""
    rows = rows_of(compared.usual(), tmp_path)
    assert list(rows[0]) == [column.name for column in instance_table(compared.usual()).columns]
    assert [(row["candidate"], row["outcome"]) for row in rows] == [
        ("b", outcome) for outcome in ("lost", "lost", "won", "tied", "tied", "unjudged")
    ] + [("c", "tied")] * 6
    half = rows[1]
    assert (half["baseline_score"], half["score"], half["difference"]) == (1.0, 0.5, -0.5)
    assert (half["baseline_reason"], half["reason"], half["groups"]) == ("because 1", "because 0.5", ["early"])
    assert (rows[5]["score"], rows[5]["difference"]) == (None, None)


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


@pytest.mark.parametrize(("level", "scores", "reason"), [("none", set(), ""), ("status", {0, 0.5, 1}, ""), ("class", {0, 0.5, 1}, "wrong")])
def test_levels_cut_instances_not_totals(level: str, scores: set[float], reason: str) -> None:
    """Below `cells` reasons say a kind or nothing, at `none` no instance has a score; the totals are the same at every level."""
    whole, cut = compared.usual(), compared.usual(reveal=level)
    assert [one.total for one in cut.candidates] == [one.total for one in whole.candidates]
    instances = cut.candidates[0].instances
    assert {one.b for one in instances} - {None} == scores
    assert instances[0].reason_b == reason
    assert bool(cut.candidates[0].flips) == (level != "none")


def test_paths_of_hidden_gold_are_not_named() -> None:
    """Fields are places in gold: a hidden suite's comparison has none, and its shifts go by scorer."""
    assert {field.path for field in compared.trees().candidates[0].fields} == {"year", "title"}
    hidden = compared.trees(hidden=True)
    assert "year" not in "".join(as_json(comparison_document(hidden)))
    assert [one.name for one in hidden.candidates[0].shift] == ["tree_match"]
