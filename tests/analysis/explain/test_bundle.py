"""A bundle is smaller than its case, keeps the verdict, and its commands run as pasted."""

import csv
import json
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.explain.smallest_case import Bundle, bundle, files_of, score_bundle, smallest, verdict, write
from evalsuite.cli import main
from evalsuite.core.errors import UsageError
from evalsuite.reports.explain_documents import bundle_document
from evalsuite.reports.file_formats import as_markdown
from tests.analysis.gold_checks.small import write_gold, write_submission
from tests.processes import finished, room_for_files
from tests.properties import examples, is_full

pytestmark = pytest.mark.usefixtures("shared_fork_server")

N_ROWS = 5000 if is_full() else 600


def rows_of(n: int) -> list[list[str]]:
    """n rows: an id, a name, an amount and a day."""
    chance = random.Random(3)
    return [[str(i), f"name {i % 97}", f"{chance.uniform(1, 9000):.2f}", f"2024-{1 + i % 12:02}-{1 + i % 28:02}"] for i in range(n)]


def text_of(rows: Sequence[Sequence[str]], header: Sequence[str] = ("id", "name", "amount", "day")) -> str:
    """The rows as CSV."""
    return "".join(",".join(row) + "\n" for row in [header, *rows])


def one_cell(rows: list[list[str]]) -> None:
    """One amount is wrong."""
    rows[377][2] = "77777"


def shifted(rows: list[list[str]]) -> None:
    """A column is shifted by one row against the others: one cycle of all rows."""
    amounts = [row[2] for row in rows]
    for row, amount in zip(rows, amounts[1:] + amounts[:1], strict=True):
        row[2] = amount


def shuffled_column(rows: list[list[str]]) -> None:
    """A column is shuffled against the others."""
    amounts = [row[2] for row in rows]
    random.Random(5).shuffle(amounts)
    for row, amount in zip(rows, amounts, strict=True):
        row[2] = amount


def too_few(rows: list[list[str]]) -> None:
    """A tenth of the rows is missing."""
    del rows[200 : 200 + len(rows) // 10]


def doubled(rows: list[list[str]]) -> None:
    """Some rows stand twice."""
    rows.extend([list(row) for row in rows[100:140]])


def scaled(rows: list[list[str]]) -> None:
    """All amounts are a hundred times gold's."""
    for row in rows:
        row[2] = f"{float(row[2]) * 100:.2f}"


def other_order(rows: list[list[str]]) -> None:
    """The rows stand in another order."""
    random.Random(6).shuffle(rows)


def nothing(rows: list[list[str]]) -> None:
    """The answer is right."""


CASES = [
    pytest.param(one_cell, False, ("wrong", "wrong", ""), marks=pytest.mark.slow),
    (one_cell, True, ("wrong", "wrong", "")),
    pytest.param(shifted, True, ("right", "wrong", "rows scrambled"), marks=pytest.mark.slow),
    (shuffled_column, True, ("right", "wrong", "rows scrambled")),
    pytest.param(too_few, True, ("wrong", "wrong", ""), marks=pytest.mark.slow),
    (doubled, True, ("wrong", "wrong", "")),
    pytest.param(scaled, False, ("wrong", "wrong", ""), marks=pytest.mark.slow),
    (other_order, False, ("wrong", "wrong", "")),
    (nothing, True, ("right", "right", "")),
]


def made(folder: Path, change: Any, *, ignore_order: bool, n: int = 500) -> tuple[Path, Path]:
    """(submission, gold) of one table of n rows."""
    rows = rows_of(n)
    spec = {"table": {"func": "table_match", "parameters": {"gold": "table.csv", "condition_cols": [0, 2], "ignore_order": ignore_order}}}
    gold = write_gold(folder / "gold", spec, text_of(rows))
    (gold / "suite.yaml").unlink()
    change(rows)
    return write_submission(folder / "sub", {"table": text_of(rows)}), gold


@pytest.mark.parametrize(("change", "ignore_order", "expected"), CASES, ids=lambda value: getattr(value, "__name__", None))
def test_many_rows_shrink_below_20(tmp_path: Path, change: Any, ignore_order: bool, expected: tuple[str, str, str]) -> None:
    """Whatever is wrong with 600 rows (5,000 if slow), fewer than 20 show it with the same verdicts, also as files."""
    submission, gold = made(tmp_path, change, ignore_order=ignore_order, n=N_ROWS)
    found = bundle(gold, submission, "table", isolation="none")
    sizes = {what: (before, after) for what, before, after in found.sizes}
    assert sizes["rows"][0] >= N_ROWS
    assert sizes["rows"][1] < 20
    assert sizes["columns"][1] <= 2
    assert verdict(found) == expected
    write(found, tmp_path / "case")
    assert score_bundle(tmp_path / "case", rules=None) == expected


def test_rows_keep_their_kind_of_reason(tmp_path: Path) -> None:
    """A wrong cell does not become a missing row on the way: one row on each side, the wrong amount in it."""
    submission, gold = made(tmp_path, one_cell, ignore_order=True)
    tables = {side: table for side, _, table in bundle(gold, submission, "table", isolation="none").tables}
    assert tables["prediction"]["columns"][-1] == ["77777"]
    assert tables["gold"]["columns"][-1] == [rows_of(500)[377][2]]


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    """(submission, gold) with texts and numbers."""
    specs = {
        "capital": {"func": "string_match", "parameters": {"gold": ["Lisbon", "Lisboa"], "exclude": ["Porto", "Faro"]}},
        "total": {"func": "number_match", "parameters": {"gold": 48}},
        "tree": {"func": "tree_match", "parameters": {"gold": {"name": "x", "items": [{"n": 1, "k": "a"}, {"n": 2, "k": "b"}]}}},
    }
    answers = {
        "capital": "Some say Porto, others Lisbon, and I do not know which of them",
        "total": "After a long look at the books the total comes to 47 pieces in all",
        "tree": json.dumps({"name": "x", "items": [{"n": 1, "k": "a"}, {"n": 9, "k": "b"}]}),
    }
    gold = write_gold(tmp_path / "gold", specs)
    (gold / "suite.yaml").unlink()
    return write_submission(tmp_path / "sub", answers), gold


def test_texts_shrink_to_the_words_that_decide(small: tuple[Path, Path]) -> None:
    """The excluded word and the accepted one stay, or the wrong number; gold's lists lose what does not matter."""
    capital = bundle(small[1], small[0], "capital", isolation="none")
    assert verdict(capital)[:2] == ("wrong", "wrong")
    assert "Porto" in capital.answer
    assert len(capital.answer.split()) <= 2
    assert capital.parameters["exclude"] == ["Porto"]
    assert bundle(small[1], small[0], "total", isolation="none").answer == "47"


def test_trees_shrink_to_the_wrong_leaf(small: tuple[Path, Path], tmp_path: Path) -> None:
    """Fields and items that agree go, on both sides alike; the verdict, partly right, stays."""
    whole = bundle(small[1], small[0], "tree", isolation="none")
    sizes = {what: (before, after) for what, before, after in whole.sizes}
    assert next(iter(sizes.values()))[1] < next(iter(sizes.values()))[0]
    write(whole, tmp_path / "case")
    assert score_bundle(tmp_path / "case", rules=None) == verdict(whole)


def test_databases_shrink_and_come_back_with_their_types(tmp_path: Path) -> None:
    """A wrong value among 500 rows of a DuckDB table becomes one row, written as SQL with its types; a full disk is named as such."""
    import duckdb

    spec = {"table": {"func": "duckdb_match", "parameters": {"gold": "gold.duckdb"}}}
    gold, submission = write_gold(tmp_path / "gold", spec), tmp_path / "sub"
    (gold / "suite.yaml").unlink()
    (submission / "table").mkdir(parents=True)
    for file, amount in ((gold / "table" / "gold.duckdb", "1.25"), (submission / "table" / "answer.duckdb", "9.75")):
        with duckdb.connect(str(file)) as connection:
            connection.execute(
                "CREATE TABLE sold AS SELECT i::INTEGER AS id, DATE '2024-01-01' + i::INTEGER AS day, "
                f"CASE WHEN i = 321 THEN {amount} ELSE i / 4 END::DECIMAL(9,2) AS amount, 'it''s ' || i AS note FROM range(500) t(i)"
            )
    line = {"instance_id": "table", "answer_type": "file", "answer_or_path": "answer.duckdb"}
    (submission / "results_metadata.jsonl").write_text(json.dumps(line) + "\n")
    found = bundle(gold, submission, "table")
    assert {what: after for what, _, after in found.sizes} == {"rows": 1, "columns": 1}
    assert {table["types"][0] for _, _, table in found.tables} == {"DECIMAL(9,2)"}
    with room_for_files(4096), pytest.raises(OSError, match=r"File too large: .*gold\.duckdb"):
        write(found, tmp_path / "case")
    write(found, tmp_path / "case")
    assert score_bundle(tmp_path / "case", rules=None) == verdict(found) == ("wrong", "wrong", "")


def test_without_a_verdict_there_is_no_bundle(small: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing handed in, or a file that cannot be read, is an error that says why."""
    write_submission(small[0], {"total": "47"})
    with pytest.raises(UsageError, match="capital cannot be reduced to a smaller case: missing"):
        bundle(small[1], small[0], "capital", isolation="none")
    assert main(["bundle", "nobody", "--result_dir", str(small[0]), "--gold", str(small[1])]) == 2
    assert "no instance 'nobody' in gold" in capsys.readouterr().err


def test_hidden_gold_is_not_bundled(small: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Cells of a hidden gold are shown only to who asks for them by name."""
    (small[1] / "suite.yaml").write_text("hidden: true\n")
    words = ["bundle", "total", "--result_dir", str(small[0]), "--gold", str(small[1])]
    assert main(words) == 2
    assert "keeps hidden" in capsys.readouterr().err
    assert main([*words, "--reveal", "cells"]) == 0


def test_the_pasted_command_gives_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The one command of the Markdown, run by a shell in an empty folder, writes the files and scores them as the run did."""
    submission, gold = made(tmp_path, shifted, ignore_order=True)
    assert main(["bundle", "table", "--result_dir", str(submission), "--gold", str(gold)]) == 0
    text = capsys.readouterr().out
    command = re.search(r"```sh\n(.*?)\n```", text, re.DOTALL)
    assert command is not None
    place = tmp_path / "empty"
    place.mkdir()
    line = f'evalsuite() {{ "{sys.executable}" -m evalsuite "$@"; }}\n{command[1]}\n'
    done = finished(["sh", "-c", line], cwd=place, check=True)
    assert "rows scrambled" in done.stdout


def test_a_folder_holds_files_and_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-o FOLDER` writes both sides and the Markdown; a folder with something in it is left alone."""
    submission, gold = made(tmp_path, one_cell, ignore_order=True)
    words = ["bundle", "table", "--result_dir", str(submission), "--gold", str(gold), "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert "500 to 1 rows" in capsys.readouterr().out
    assert main(["check", "case", "--result_dir", str(tmp_path / "out/submission"), "--gold_dir", str(tmp_path / "out/gold")]) == 0
    assert (tmp_path / "out" / "README.md").read_text().startswith("### `table`: table_match says wrong under both rules")
    assert main(words) == 2


def a_bundle(answer: str) -> Bundle:
    """A bundle of a text."""
    return Bundle(
        instance_id="`x`\n# h", scorer="string_match", reads="text", parameters={"gold": "a"}, tables=(), answer=answer, gold=None,
        schema=None, official="wrong", strict="wrong", flip="", reason=f"not in {answer}", strict_reason="", sizes=(("words", 3, 1),),
        n_calls=3, notes=(),
    )  # fmt: skip


@pytest.mark.parametrize("answer", ["```\n# out\n<script>", "````\n```", "\x1b]0;x\x07", "a\nEND\nrm -rf x", "\u202edrow"])
def test_hostile_answers_stay_in_their_fence(answer: str) -> None:
    """No text closes its fence or its heredoc, and what a terminal would obey is never given to be pasted."""
    case = a_bundle(answer)
    text = as_markdown(bundle_document(case, files_of(case)))
    assert "\x1b" not in text
    assert "\u202e" not in text
    fence = ""
    outside = []
    for line in text.split("\n"):
        marks = re.match("`{3,}", line)
        if fence:
            fence = "" if line == fence else fence
        elif marks:
            fence = marks[0]
        else:
            outside.append(line)
    assert fence == ""
    assert not any(line.startswith(("# out", "<script>", "rm -rf")) for line in outside)
    # JSON escapes ESC; a character that turns a line around stays in it, so nothing is given to be pasted.
    assert ("cannot be pasted" in text) == ("\u202e" in answer)


@examples(100)
@given(st.lists(st.integers(0, 60), max_size=40), st.sets(st.integers(0, 60), max_size=5))
def test_the_smallest_part_cannot_be_cut(items: list[int], needed: set[int]) -> None:
    """For a property that holds wherever some items are present the part found has exactly those, and keeps the order."""
    needed &= set(items)
    found = smallest(items, lambda part: needed <= set(part))
    assert needed <= set(found)
    assert len(found) == (max(1, len(needed)) if items else 0)
    places = iter(items)
    assert all(any(item == place for place in places) for item in found)


def test_csv_files_are_written_as_they_were_read(tmp_path: Path) -> None:
    """Quotes, commas and line ends in cells survive."""
    header, row = ["a,b", 'c"d'], ['x"y,z', "two\nlines"]
    spec = {"table": {"func": "table_match", "parameters": {"gold": "table.csv"}}}
    gold = write_gold(tmp_path / "gold", spec)
    (gold / "suite.yaml").unlink()
    for file in (gold / "table" / "table.csv", tmp_path / "answer.csv"):
        with file.open("w", newline="") as handle:
            csv.writer(handle).writerows([header, row])
    submission = write_submission(tmp_path / "sub", {"table": (tmp_path / "answer.csv").read_text()})
    found = bundle(gold, submission, "table", isolation="none")
    write(found, tmp_path / "case")
    assert verdict(found) == score_bundle(tmp_path / "case", rules=None) == ("right", "right", "")
