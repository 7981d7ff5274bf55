"""`evalsuite explain GOLD PREDICTION` compares two files and shows the differences and the cause in every format."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main

pytestmark = pytest.mark.usefixtures("shared_fork_server")

HEADER = ("id", "region", "revenue")
ROWS = [(str(n), "WESN"[(n * 7) % 4 if n % 5 else 0], f"{n * n * 1.37 + 11.02:.2f}") for n in range(1, 61)]


def write(path: Path, rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> Path:
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
    return write(tmp_path / "gold.csv", ROWS)


def test_a_copy_in_another_order_is_equal(gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows and columns may stand in any order; no cause is named; with --ordered the order counts and is the cause."""
    turned = write(tmp_path / "turned.csv", [row[::-1] for row in ROWS[::-1]], HEADER[::-1])
    code, found = explained(capsys, gold, turned)
    assert (code, found["equal"], found["causes"]) == (0, True, [])
    assert "duplicate" not in json.dumps(found)
    code, found = explained(capsys, gold, turned, "--ordered")
    assert (code, [cause["name"] for cause in found["causes"]]) == (1, ["wrong order"])


@pytest.mark.parametrize(
    ("rows", "name", "standing", "words"),
    [
        ([(a, b, f"{float(c) * 1000:.0f}") for a, b, c in ROWS], "unit", "proved", ("1000", "revenue")),
        ([row for row in ROWS if row[1] != "W"], "missing rows", "fits", ("region", "'W'", "24")),
        ([*ROWS, *ROWS[3:10]], "rows duplicated", "proved", ("7 rows", "repeated")),
        ([*ROWS, *ROWS], "rows duplicated", "proved", ("60 rows", "repeated")),
        ([*ROWS, *((f"9{n}", "X", "1.5") for n in range(12))], "missing filter", "proved", ("region", "'X'", "12")),
        ([(a, b, c if a != "9" else "77.5") for a, b, c in ROWS], "", "", ()),
    ],
)
def test_the_cause_stands_in_one_line(
    gold: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rows: list[tuple[str, ...]],
    name: str,
    standing: str,
    words: Sequence[str],
) -> None:
    """A cause says in one line what it is, with its column, value and number of rows; what has none has none."""
    code, found = explained(capsys, gold, write(tmp_path / "answer.csv", rows), "--key", "id")
    assert (code, found["equal"]) == (1, False)
    assert [(cause["name"], cause["standing"], cause["proved"]) for cause in found["causes"]] == (
        [(name, standing, standing == "proved")] if name else []
    )
    for cause in found["causes"]:
        assert "\n" not in cause["text"]
        assert all(word in cause["text"] for word in words), cause["text"]


@pytest.mark.parametrize(
    ("golds", "answers"),
    [
        (["1234", "2345", "3456"], ["1.234", "2.345", "3.456"]),
        (["1.234", "2.345", "3.456"], ["1,234", "2,345", "3,456"]),
        (["2024-02-01", "2024-03-04", "2024-05-06"], ["01/02/2024", "03/04/2024", "05/06/2024"]),
    ],
)
def test_a_reading_of_another_country_proves_nothing(
    golds: list[str], answers: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`1.234` for 1234 may be another unit or another way to write it; one column has no dates in both orders."""
    files = [
        write(tmp_path / f"{name}.csv", list(zip("abc", cells, strict=True)), ("k", "v")) for name, cells in (("g", golds), ("p", answers))
    ]
    code, found = explained(capsys, *files)
    assert (code, found["causes"]) == (1, [])


def test_columns_are_counted_by_key(gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Per column: cells that differ, NULL on one side, the largest difference; rows that only one side has."""
    rows = [(a, b, "" if a == "3" else f"{float(c) + 2.5:.2f}" if a == "5" else c) for a, b, c in ROWS[1:]] + [("99", "E", "4.25")]
    code, found = explained(capsys, gold, write(tmp_path / "a.csv", rows), "--key", "id")
    revenue = next(column for column in found["columns"] if column["gold"] == "revenue")
    assert code == 1
    assert found["rows"] == {"gold": 60, "prediction": 60, "equal": 57, "different": 2, "only_in_gold": 1, "only_in_prediction": 1}
    assert (revenue["n_compared"], revenue["n_different"], revenue["n_null_differences"]) == (59, 2, 1)
    assert revenue["max_difference"] == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("header", "changed", "by", "counts"),
    [
        (("id", "region", "revenue"), ("99", "A", "4.25"), ["id"], (59, 0, 1, 1)),
        (("id", "region", "revenue"), ("1", "A", "4.25"), ["id"], (59, 1, 0, 0)),
        (("x", "region", "revenue"), ("99", "Q", "4.25"), [], (59, 0, 1, 1)),
        (("x", "region", "revenue"), ("99", "Q", ROWS[0][2]), [], (59, 1, 0, 0)),
    ],
)
def test_rows_are_paired_as_people_expect(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    header: tuple[str, ...],
    changed: tuple[str, ...],
    by: list[str],
    counts: tuple[int, ...],
) -> None:
    """By an id where there is one; without one, a row that shares no cell with another is on its side only."""
    gold, own = write(tmp_path / "gold.csv", ROWS, header), write(tmp_path / "own.csv", [changed, *ROWS[1:]], header)
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
    renamed = write(tmp_path / "renamed.csv", [(*row, "x") for row in ROWS], ("id", "area", "revenue", "note"))
    code, found = explained(capsys, gold, renamed)
    assert (code, [cause["name"] for cause in found["causes"]]) == (1, ["columns renamed", "column too many"])
    assert (found["columns_only_in_gold"], found["columns_only_in_prediction"]) == (["region"], ["area", "note"])
    assert found["reason"] == "the cells agree, the column names differ"
    wider = write(tmp_path / "wider.csv", [(*row, "x") for row in ROWS], ("id", "region", "revenue", "note"))
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


def test_trees_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON that is no list of flat records is compared place by place."""
    (tmp_path / "a.json").write_text('{"order": {"total": 12.57, "lines": [1, 2]}}', encoding="utf-8")
    (tmp_path / "b.json").write_text('{"order": {"total": 1257, "lines": [1, 2]}}', encoding="utf-8")
    code, found = explained(capsys, tmp_path / "a.json", tmp_path / "b.json")
    assert (code, [cause["name"] for cause in found["causes"]]) == (1, ["times 100"])
    assert explained(capsys, tmp_path / "a.json", tmp_path / "a.json")[0] == 0


@pytest.mark.parametrize(
    ("gold", "own"),
    [
        ({"n": 1}, {"n": "1"}),
        ({"day": "2024-01-02"}, {"day": "2024-1-2"}),
        ({"tags": [{"a": 1}, {"a": 2}]}, {"tags": [{"a": 2}, {"a": 1}]}),
        ({"done": True}, {"done": "true"}),
        ({"note": None}, {}),
        ({"note": None}, {"note": ""}),
        ({"a": {"b": []}}, {"a": {}}),
    ],
)
def test_equal_is_said_of_equal_json_only(gold: Any, own: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a field's comparator accepts in another form is no equal record, and the report shows both forms."""
    for side, record in (("gold", gold), ("own", own)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "one.json").write_text(json.dumps({"id": "x", **record}))
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

    answer = write(tmp_path / "a.csv", [(a, b, f"{float(c) * 100:.0f}") for a, b, c in ROWS])
    outputs = [tmp_path / f"out{ending}" for ending in FORMATS]
    code = main(["explain", str(gold), str(answer), *(word for path in outputs for word in ("-o", str(path)))])
    shown = capsys.readouterr().out
    assert code == 1
    assert "proved      times 100" in shown
    assert shown.rstrip().endswith("different (exit 1)")
    assert all(path.stat().st_size > 50 for path in outputs)
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["equal"] is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gold.csv", "none.csv"), "no such file"),
        (("gold.csv", "a.docx"), "no file that can be compared"),
        (("gold.csv", "bad.csv"), "BAD_ENCODING"),
        (("gold.csv", "gold.csv", "--key", "idd"), "no column 'idd'"),
        (("gold.csv", "gold.csv", "--run", "last"), "no run and no folders"),
        (("gold.csv", "t.json"), "one file is a table"),
        (("gold.csv", "none.jsonl"), "none.jsonl: contains no row"),
        (("keyless.jsonl", "keyless.jsonl"), "keyless.jsonl: a table without a column"),
        (("sales_001", "--key", "id"), "are for two files"),
    ],
)
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
    gold = write(tmp_path / "gold.csv", rows, header)
    other = write(tmp_path / "other.csv", [[row[0], *(f"{cell}.5" for cell in row[1:])] for row in rows], header)
    report = tmp_path / "report.md"
    assert main(["explain", str(gold), str(other), "-o", str(report)]) == 1
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 40
    assert "... 18 more columns not shown: -o FILE.md lists all" in text
    assert report.read_text(encoding="utf-8").count("| `c30` | `c30` |") == 1
    wide = [str(at) for at in range(101)]
    gold, other = (write(tmp_path / name, [wide, [*wide[:-1], last]], wide) for name, last in (("gold.csv", "1"), ("other.csv", "2")))
    assert main(["explain", str(gold), str(other)]) == 1
    assert capsys.readouterr().out.count("or 100 columns: not compared cell by cell") == 1
    long = write(tmp_path / "long.csv", [["1", "3"]], ["x" * 100_000, "b"])
    write(gold, [["1", "2"]], ["a", "b"])
    assert main(["explain", str(gold), str(long), "-o", str(report)]) == 1
    shown = capsys.readouterr().out
    assert "xxx…" in shown
    assert max(len(shown), len(report.read_text(encoding="utf-8"))) < 5_000
