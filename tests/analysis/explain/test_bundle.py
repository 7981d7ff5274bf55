"""A bundle is smaller than its case and keeps the verdict; `evalsuite explain GOLD PREDICTION` compares two bare files."""

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


def test_rows_keep_their_kind_of_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong cell does not become a missing row on the way: one row on each side, the wrong amount in it.

    `-o FOLDER` writes both sides and the Markdown; a folder with something in it is left alone.
    """
    submission, gold = made(tmp_path, one_cell, ignore_order=True)
    words = ["bundle", "table", "--result_dir", str(submission), "--gold", str(gold), "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert "500 to 1 rows" in capsys.readouterr().out
    assert main(["check", "case", "--result_dir", str(tmp_path / "out/submission"), "--gold_dir", str(tmp_path / "out/gold")]) == 0
    assert (tmp_path / "out" / "README.md").read_text().startswith("### `table`: table_match says wrong under both rules")
    assert main(words) == 2
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


def test_texts_shrink_to_what_decides(small: tuple[Path, Path], tmp_path: Path) -> None:
    """The excluded word and the accepted one stay, the wrong number, or the wrong leaf; gold loses what does not matter."""
    capital = bundle(small[1], small[0], "capital", isolation="none")
    assert verdict(capital)[:2] == ("wrong", "wrong")
    assert "Porto" in capital.answer
    assert len(capital.answer.split()) <= 2
    assert capital.parameters["exclude"] == ["Porto"]
    assert bundle(small[1], small[0], "total", isolation="none").answer == "47"
    whole = bundle(small[1], small[0], "tree", isolation="none")
    _, before, after = whole.sizes[0]
    assert after < before
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
    place = tmp_path / "empty"
    place.mkdir()
    line = f'evalsuite() {{ "{sys.executable}" -m evalsuite "$@"; }}\n{command[1]}\n'
    done = finished(["sh", "-c", line], cwd=place, check=True)
    assert "rows scrambled" in done.stdout


@pytest.mark.parametrize("answer", ["```\n# out\n<script>", "````\n```", "\x1b]0;x\x07", "a\nEND\nrm -rf x", "\u202edrow"])
def test_hostile_answers_stay_in_their_fence(answer: str) -> None:
    """No text closes its fence or its heredoc, and what a terminal would obey is never given to be pasted."""
    case = Bundle(
        instance_id="`x`\n# h",
        scorer="string_match",
        reads="text",
        parameters={"gold": "a"},
        tables=(),
        answer=answer,
        gold=None,
        schema=None,
        official="wrong",
        strict="wrong",
        flip="",
        reason=f"not in {answer}",
        strict_reason="",
        sizes=(("words", 3, 1),),
        n_calls=3,
        notes=(),
    )
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


HEADER = ("id", "region", "revenue")
ROWS = [(str(n), "WESN"[(n * 7) % 4 if n % 5 else 0], f"{n * n * 1.37 + 11.02:.2f}") for n in range(1, 61)]


def write_csv(path: Path, rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> Path:
    """A CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def explained(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    """(exit code, the object of --json) of a command."""
    code = main(["explain", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """What is right."""
    return write_csv(tmp_path / "gold.csv", ROWS)


def test_a_copy_in_another_order_is_equal(gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows and columns may stand in any order; no cause is named; with --ordered the order counts and is the cause."""
    turned = write_csv(tmp_path / "turned.csv", [row[::-1] for row in ROWS[::-1]], HEADER[::-1])
    code, found = explained(capsys, gold, turned)
    assert (code, found["equal"], found["causes"]) == (0, True, [])
    assert "duplicate" not in json.dumps(found)
    code, found = explained(capsys, gold, turned, "--ordered")
    assert (code, [cause["name"] for cause in found["causes"]]) == (1, ["wrong order"])


@pytest.mark.parametrize(("rows", "name", "standing", "words"), [
    ([(a, b, f"{float(c) * 1000:.0f}") for a, b, c in ROWS], "unit", "proved", ("1000", "revenue")),
    ([row for row in ROWS if row[1] != "W"], "missing rows", "fits", ("region", "'W'", "24")),
    ([*ROWS, *ROWS[3:10]], "rows duplicated", "proved", ("7 rows", "repeated")),
    ([*ROWS, *ROWS], "rows duplicated", "proved", ("60 rows", "repeated")),
    ([*ROWS, *((f"9{n}", "X", "1.5") for n in range(12))], "missing filter", "proved", ("region", "'X'", "12")),
    ([(a, b, c if a != "9" else "77.5") for a, b, c in ROWS], "", "", ()),
])  # fmt: skip
def test_the_cause_stands_in_one_line(
    gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: Any, name: str, standing: str, words: Sequence[str]
) -> None:
    """A cause says in one line what it is, with its column, value and number of rows; what has none has none."""
    code, found = explained(capsys, gold, write_csv(tmp_path / "answer.csv", rows), "--key", "id")
    assert (code, found["equal"]) == (1, False)
    assert [(cause["name"], cause["standing"], cause["proved"]) for cause in found["causes"]] == (
        [(name, standing, standing == "proved")] if name else []
    )
    for cause in found["causes"]:
        assert "\n" not in cause["text"]
        assert all(word in cause["text"] for word in words), cause["text"]


@pytest.mark.parametrize(("golds", "answers"), [
    (["1234", "2345", "3456"], ["1.234", "2.345", "3.456"]), (["1.234", "2.345", "3.456"], ["1,234", "2,345", "3,456"]),
    (["2024-02-01", "2024-03-04", "2024-05-06"], ["01/02/2024", "03/04/2024", "05/06/2024"]),
])  # fmt: skip
def test_a_reading_of_another_country_proves_nothing(
    golds: list[str], answers: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`1.234` for 1234 may be another unit or another way to write it; one column has no dates in both orders."""
    files = [
        write_csv(tmp_path / f"{name}.csv", list(zip("abc", cells, strict=True)), ("k", "v"))
        for name, cells in (("g", golds), ("p", answers))
    ]
    code, found = explained(capsys, *files)
    assert (code, found["causes"]) == (1, [])


def test_columns_are_counted_by_key(gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Per column: cells that differ, NULL on one side, the largest difference; rows that only one side has."""
    rows = [(a, b, "" if a == "3" else f"{float(c) + 2.5:.2f}" if a == "5" else c) for a, b, c in ROWS[1:]] + [("99", "E", "4.25")]
    code, found = explained(capsys, gold, write_csv(tmp_path / "a.csv", rows), "--key", "id")
    revenue = next(column for column in found["columns"] if column["gold"] == "revenue")
    assert code == 1
    assert found["rows"] == {"gold": 60, "prediction": 60, "equal": 57, "different": 2, "only_in_gold": 1, "only_in_prediction": 1}
    assert (revenue["n_compared"], revenue["n_different"], revenue["n_null_differences"]) == (59, 2, 1)
    assert revenue["max_difference"] == pytest.approx(2.5)


@pytest.mark.parametrize(("header", "changed", "by", "counts"), [
    (("id", "region", "revenue"), ("99", "A", "4.25"), ["id"], (59, 0, 1, 1)),
    (("id", "region", "revenue"), ("1", "A", "4.25"), ["id"], (59, 1, 0, 0)),
    (("x", "region", "revenue"), ("99", "Q", "4.25"), [], (59, 0, 1, 1)),
    (("x", "region", "revenue"), ("99", "Q", ROWS[0][2]), [], (59, 1, 0, 0)),
])  # fmt: skip
def test_rows_are_paired_as_people_expect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], header: Any, changed: Any, by: list[str], counts: tuple[int, ...]
) -> None:
    """By an id where there is one; without one, a row that shares no cell with another is on its side only."""
    gold, own = write_csv(tmp_path / "gold.csv", ROWS, header), write_csv(tmp_path / "own.csv", [changed, *ROWS[1:]], header)
    assert main(["explain", str(gold), str(own), "-o", str(tmp_path / "found.json")]) == 1
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    rows = found["rows"]
    assert found["paired_by"] == by
    assert (rows["equal"], rows["different"], rows["only_in_gold"], rows["only_in_prediction"]) == counts
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{rows['equal'] + rows['different']} in both, {rows['different']} of them with other values" in shown
    assert "compared with column" not in shown


def test_names_of_columns_count(gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another name and a column too many are told apart from cells that differ."""
    renamed = write_csv(tmp_path / "renamed.csv", [(*row, "x") for row in ROWS], ("id", "area", "revenue", "note"))
    code, found = explained(capsys, gold, renamed)
    assert (code, [cause["name"] for cause in found["causes"]]) == (1, ["columns renamed", "column too many"])
    assert (found["columns_only_in_gold"], found["columns_only_in_prediction"]) == (["region"], ["area", "note"])
    assert found["reason"] == "the cells agree, the column names differ"
    wider = write_csv(tmp_path / "wider.csv", [(*row, "x") for row in ROWS], ("id", "region", "revenue", "note"))
    assert explained(capsys, gold, wider)[1]["reason"] == "the cells of gold's columns agree, 1 further column"


def test_other_formats_are_read(gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parquet, JSON records and a table of a DuckDB file hold the same table as the CSV."""
    import duckdb

    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"CREATE TABLE sales AS FROM read_csv('{gold}'); CREATE TABLE other AS SELECT 1 AS n")
        connection.execute(f"COPY sales TO '{tmp_path / 'd.parquet'}' (FORMAT parquet); COPY sales TO '{tmp_path / 'd.json'}' (ARRAY true)")
    for name, more in (("d.parquet", ()), ("d.json", ()), ("d.duckdb", ("--table", "SALES"))):
        assert explained(capsys, gold, tmp_path / name, *more)[1]["equal"] is True, name
    assert explained(capsys, tmp_path / "d.parquet", tmp_path / "d.duckdb", "--table", "sales")[0] == 0
    code, found = explained(capsys, tmp_path / "d.parquet", tmp_path / "d.duckdb", "--table", "other")
    assert (code, found["columns_only_in_prediction"]) == (1, ["n"])
    assert explained(capsys, gold, tmp_path / "d.duckdb", "--table", "other")[1]["equal"] is False


@pytest.mark.parametrize(("gold", "own"), [
    ({"n": 1}, {"n": "1"}), ({"day": "2024-01-02"}, {"day": "2024-1-2"}),
    ({"tags": [{"a": 1}, {"a": 2}]}, {"tags": [{"a": 2}, {"a": 1}]}),
    ({"done": True}, {"done": "true"}), ({"note": None}, {}), ({"note": None}, {"note": ""}), ({"a": {"b": []}}, {"a": {}}),
])  # fmt: skip
def test_equal_is_said_of_equal_json_only(gold: Any, own: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a field's comparator accepts in another form is no equal record, and the report shows both forms."""
    for side, record in (("gold", gold), ("own", own)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "one.json").write_text(json.dumps({"id": "x", **record}))
        # A list of no flat records is compared place by place.
        (tmp_path / f"{side}.json").write_text(json.dumps({"order": {"total": 12.57 if side == "gold" else 1257, "lines": [1, 2]}}))
    code, found = explained(capsys, tmp_path / "gold.json", tmp_path / "own.json")
    assert (code, [cause["name"] for cause in found["causes"]]) == (1, ["times 100"])
    assert explained(capsys, tmp_path / "gold.json", tmp_path / "gold.json")[0] == 0
    assert main(["explain", str(tmp_path / "gold"), str(tmp_path / "own"), "-o", str(tmp_path / "found.json")]) == 1
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert (found["equal"], found["rows"]["equal"]) == (False, 0)
    assert found["difference"]["n_rows"] >= 1
    line = next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith(("   other form", "   mismatch", "   omission", "   key "))
    )
    values = line.partition(": gold ")[2].split(", answer ")
    assert len(values) < 2 or values[0] != values[1]
    assert explained(capsys, tmp_path / "gold", tmp_path / "gold")[0] == 0


def test_every_format_is_written(gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report stands in every format, with the verdict as its last line on the screen."""
    from evalsuite.reports import FORMATS

    answer = write_csv(tmp_path / "a.csv", [(a, b, f"{float(c) * 100:.0f}") for a, b, c in ROWS])
    outputs = [tmp_path / f"out{ending}" for ending in FORMATS]
    code = main(["explain", str(gold), str(answer), *(word for path in outputs for word in ("-o", str(path)))])
    shown = capsys.readouterr().out
    assert code == 1
    assert "proved      times 100" in shown
    assert shown.rstrip().endswith("different (exit 1)")
    assert all(path.stat().st_size > 50 for path in outputs)
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["equal"] is False


@pytest.mark.parametrize(("words", "said"), [
    (("gold.csv", "none.csv"), "no such file"), (("gold.csv", "a.docx"), "no file that can be compared"),
    (("gold.csv", "bad.csv"), "BAD_ENCODING"), (("gold.csv", "gold.csv", "--key", "idd"), "no column 'idd'"),
    (("gold.csv", "gold.csv", "--run", "last"), "no run and no folders"),
    (("gold.csv", "t.json"), "one file is a table"), (("gold.csv", "none.jsonl"), "none.jsonl: contains no row"),
    (("keyless.jsonl", "keyless.jsonl"), "keyless.jsonl: a table without a column"),
    (("sales_001", "--key", "id"), "are for two files"),
])  # fmt: skip
def test_bad_input_is_told(
    gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: Sequence[str], said: str
) -> None:
    """Every mistake has a message of its own and exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.csv").write_bytes(b"id\n\xff\xfe\x00\n")
    (tmp_path / "none.jsonl").touch()
    (tmp_path / "keyless.jsonl").write_text("{}\n", encoding="utf-8")
    (tmp_path / "t.json").write_text('{"a": {"b": 1}}', encoding="utf-8")
    assert main(["explain", *words]) == 2
    assert said in capsys.readouterr().err


def test_texts_that_read_as_numbers_are_in_quotes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In folders of JSON, "12.5" and "12.50" are two texts, 12.5 and 12.50 one number; quotes show which of them differ."""
    for side, record in (
        ("gold", '{"code": "12.5", "price": 12.5, "city": "Rome"}'),
        ("mine", '{"code": "12.50", "price": 12.50, "city": "Oslo"}'),
    ):
        (tmp_path / side).mkdir()
        (tmp_path / side / "one.json").write_text(record, encoding="utf-8")
    assert main(["explain", str(tmp_path / "gold"), str(tmp_path / "mine")]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["mismatch", "code:", "gold", '"12.5",', "answer", '"12.50"'] in lines
    assert ["mismatch", "city:", "gold", "Rome,", "answer", "Oslo"] in lines
    assert not any("price:" in line for line in lines)


def test_wide_tables_fit_a_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 30 differing columns the terminal shows 12 and how many more there are, a report all; above 100 columns the limit is named. No
    name of a column is longer than a line.
    """
    rows = [[str(row), *(str(row * at) for at in range(1, 31))] for row in range(1, 9)]
    header = ["id", *(f"c{at}" for at in range(1, 31))]
    gold = write_csv(tmp_path / "gold.csv", rows, header)
    other = write_csv(tmp_path / "other.csv", [[row[0], *(f"{cell}.5" for cell in row[1:])] for row in rows], header)
    report = tmp_path / "report.md"
    assert main(["explain", str(gold), str(other), "-o", str(report)]) == 1
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 40
    assert "... 18 more columns not shown: -o FILE.md lists all" in text
    assert report.read_text(encoding="utf-8").count("| `c30` | `c30` |") == 1
    wide = [str(at) for at in range(101)]
    gold, other = (write_csv(tmp_path / name, [wide, [*wide[:-1], last]], wide) for name, last in (("gold.csv", "1"), ("other.csv", "2")))
    assert main(["explain", str(gold), str(other)]) == 1
    assert capsys.readouterr().out.count("or 100 columns: not compared cell by cell") == 1
    long = write_csv(tmp_path / "long.csv", [["1", "3"]], ["x" * 100_000, "b"])
    write_csv(gold, [["1", "2"]], ["a", "b"])
    assert main(["explain", str(gold), str(long), "-o", str(report)]) == 1
    shown = capsys.readouterr().out
    assert "xxx…" in shown
    assert max(len(shown), len(report.read_text(encoding="utf-8"))) < 5_000
