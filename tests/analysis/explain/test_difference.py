"""Differences as data pair the right columns and rows, count exactly, and their SQL shows the same rows."""

import json
from pathlib import Path
from random import Random

import pytest

from evalsuite.analysis.causes.table_alignment import TablePair
from evalsuite.analysis.explain.difference import difference, judge_difference, table_sql, text_difference
from evalsuite.compare.strict_columns import Terms
from evalsuite.core.types import Result, Table
from evalsuite.readers.csv_dialect import DEFAULT, Dialect
from evalsuite.reports.explain_documents import difference_lines
from evalsuite.scorers import SCORERS

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD = Table(header=("city", "n"), columns=(["Oslo", "Rome", "Kyiv", "Lima"], ["1", "2", "3", "4"]), n_rows=4)
WRONG = Table(header=("N", "town", "x"), columns=(["1", "9", "3", "7"], ["Oslo", "Rome", "Kyiv", "Quito"], ["a"] * 4), n_rows=4)


def result(**details: object) -> Result:
    """A wrong result with some details."""
    return Result(instance_id="q", status="scored", score=0, official=0, strict=0, scorer="s", reason="why", fault=None, details=details)


def test_a_table_beside_gold() -> None:
    """Columns are paired by what they hold, the wrong cell is marked, and the counts add up."""
    data = difference(SCORERS.load("table_match"), WRONG, {"gold": GOLD, "ignore_order": True}, rules="strict", result=result())
    assert [(c["gold"], c["predicted"], c["n_wrong"]) for c in data["columns"]] == [(1, 2, 1), (2, 1, 2)]
    assert data["unmatched_predicted"] == [{"predicted": 3, "predicted_header": "x"}]
    counts = data["counts"]
    assert counts["rows_equal"] + counts["rows_changed"] + counts["rows_missing"] == 4
    rome = next(row for row in data["rows"] if row["gold_row"] == 2)
    assert rome["cells"] == [{"gold": "Rome", "predicted": "Rome", "equal": True}, {"gold": "2", "predicted": "9", "equal": False}]
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize(
    ("gold", "answer", "wrong"),
    [
        (["1.50", "2.50", "x3"], ["1.5", "2.50", "x3"], {"official": 1, "strict": 0}),
        (["1.50", "2.50", "x3"], ["1.50", "2.50", "3"], {"official": 3, "strict": 1}),
        (["1.50", "2.50", "3"], ["1.5", "2.5", "3"], {"official": 0, "strict": 0}),
        (["1.5", "", "x3"], ["1.5", "NULL", "x3"], {"official": 0, "strict": 0}),
        (["1.5", "2", "x3"], ["1.5", "2", "4"], {"official": 3, "strict": 1}),
    ],
)
def test_a_column_of_texts_is_compared_as_it_is_written(gold: list[str], answer: list[str], wrong: dict[str, int]) -> None:
    """Official reads no number in a column with a text: the cells that its verdict refuses are shown as wrong."""
    sides = [Table(header=("a",), columns=(column,), n_rows=3) for column in (gold, answer)]
    for rules, n in wrong.items():
        data = difference(SCORERS.load("table_match"), sides[1], {"gold": sides[0]}, rules=rules, result=result())  # type: ignore[arg-type]
        assert data["counts"]["cells_wrong"] == n, rules


def test_one_is_no_plural() -> None:
    """A row, a cell, a call that is alone is named in the singular."""
    gold, wrong = (Table(header=("a", "b"), columns=(["x"], [cell]), n_rows=1) for cell in ("1", "2"))
    lines = [*difference_lines(difference(SCORERS.load("table_match"), wrong, {"gold": gold}, rules="strict", result=result()))]
    assert lines[1:4] == [
        " 1 row submitted, gold has 1; rows are compared in order",
        "   0 rows equal, 1 row changed, 0 rows missing, 0 rows extra, 1 cell wrong",
        "   gold column 2 'b' compared with column 2 'b': 1 cell differs",
    ]


def test_planted_cells_are_shown_with_their_row_in_any_order() -> None:
    """Single cells changed in shuffled tables: exactly these cells are wrong, each between gold's row and the row it was planted in."""
    drawn = Random(11)
    for _ in range(40):
        n = drawn.randrange(5, 60)
        columns = ([f"u{at}" for at in range(n)], [drawn.choice("abc") for _ in range(n)], [str(drawn.randrange(20)) for _ in range(n)])
        rows, moved = [list(row) for row in zip(*columns, strict=True)], drawn.sample(range(n), n)
        planted = {(row, drawn.randrange(3)) for row in drawn.sample(range(n), drawn.randrange(1, 4))}
        for row, at in planted:
            rows[row][at] = f"9999{row}"
        gold = Table(header=("unit", "kind", "n"), columns=columns, n_rows=n)
        answer = Table(header=gold.header, columns=tuple(map(list, zip(*(rows[row] for row in moved), strict=True))), n_rows=n)
        data = difference(SCORERS.load("table_match"), answer, {"gold": gold, "ignore_order": True}, rules="strict", result=result())
        wrong = {(row["gold_row"] - 1, at) for row in data["rows"] for at, cell in enumerate(row["cells"]) if not cell["equal"]}
        assert wrong == planted
        assert all(moved[row["predicted_row"] - 1] == row["gold_row"] - 1 for row in data["rows"])


def test_missing_and_extra_rows() -> None:
    """Rows that only one side has are named as such."""
    short = Table(header=GOLD.header, columns=(["Oslo", "Rome", "Lima"], ["1", "2", "4"]), n_rows=3)
    data = difference(SCORERS.load("table_match"), short, {"gold": GOLD}, rules="official", result=result())
    assert [(row["status"], row["gold_row"]) for row in data["rows"]] == [("missing", 3)]
    data = difference(SCORERS.load("table_match"), GOLD, {"gold": short}, rules="official", result=result())
    assert [(row["status"], row["predicted_row"]) for row in data["rows"]] == [("extra", 3)]


def test_big_tables_are_cut_with_honest_counts() -> None:
    """At most N rows are shown, and how many are not stands beside them."""
    n = 1000
    gold = Table(header=("a",), columns=([str(i * 3) for i in range(n)],), n_rows=n)
    wrong = Table(header=("a",), columns=([str(i * 3 + 50_000) for i in range(n)],), n_rows=n)
    data = difference(SCORERS.load("table_match"), wrong, {"gold": gold}, rules="official", result=result(), most_rows=20)
    assert (len(data["rows"]), data["n_rows_shown"], data["n_rows_cut"]) == (20, 20, 980)
    huge = Table(header=("a", "b"), columns=(["1"] * 1_000_000,) * 2, n_rows=1_000_000)
    data = difference(SCORERS.load("table_match"), huge, {"gold": GOLD}, rules="official", result=result())
    assert data["counts"] is None
    assert data["note"] == "more than 2,000,000 cells or 100 columns: not compared cell by cell"


def test_numbers_texts_trees_and_judges() -> None:
    """Every other kind has its own data."""
    data = difference(SCORERS.load("number_match"), "about 12.75", {"gold": 12.5}, rules="official", result=result())
    assert (data["kind"], data["numbers"][0]["distance"], data["tolerance"]) == ("number", 0.25, 1e-4)
    data = difference(SCORERS.load("string_match"), "Pariss", {"gold": ["Paris", "Lyon"], "conj": "and"}, rules="official", result=result())
    assert [item["found"] for item in data["gold"]] == [True, False]
    assert "".join(s["predicted"] for s in data["segments"]) == "Pariss"
    assert "".join(s["gold"] for s in data["segments"]) == "Lyon"
    gold = {"a": [1, 2], "b": 1, "c[0]": {"d": 2}}
    data = difference(SCORERS.load("tree_match"), {"a": [1, 3], "c[0]": {}}, {"gold": gold}, rules="strict", result=result())
    rows = [(row["path"], row["status"]) for row in data["rows"]]
    assert rows == [("a[1]", "mismatch"), ("b", "omission"), ("['c[0]'].d", "omission")]
    assert judge_difference(result(judge={"reply": "no: too short"}))["judge"] == {"reply": "no: too short"}


def test_the_statement_runs_and_shows_the_differing_rows(tmp_path: Path) -> None:
    """DuckDB answers the printed SQL with exactly the rows that differ, for files and for databases."""
    import duckdb

    for side, table in (("gold", GOLD), ("it's", WRONG)):
        lines = [",".join(table.header), *(",".join(row) for row in zip(*table.columns, strict=True))]
        (tmp_path / f"{side}.csv").write_text("\n".join(lines) + "\n")
        with duckdb.connect(str(tmp_path / f"{side}.duckdb")) as connection:
            connection.execute('CREATE TABLE "my table" AS SELECT * FROM read_csv(?, header = true)', [str(tmp_path / f"{side}.csv")])
    pair = TablePair(WRONG, GOLD, (), False, "my table")
    sql = table_sql(pair, gold=tmp_path / "gold.csv", prediction=tmp_path / "it's.csv", rules="official")
    rows = duckdb.sql(sql).fetchall()
    assert rows == [
        ("only in gold", "Lima", 4.0),
        ("only in gold", "Rome", 2.0),
        ("only in prediction", "Quito", 7.0),
        ("only in prediction", "Rome", 9.0),
    ]
    typed = [Table(header=t.header, columns=t.columns, n_rows=4, types=("VARCHAR",) * len(t.header)) for t in (WRONG, GOLD)]
    sql = table_sql(
        TablePair(typed[0], typed[1], (), False, "my table"),
        gold=tmp_path / "gold.duckdb",
        prediction=tmp_path / "it's.duckdb",
        rules="official",
    )
    assert len(duckdb.connect().execute(sql).fetchall()) == 4


@pytest.mark.parametrize(
    ("golds", "answers", "n"),
    [
        (["$1,204.50", "$9.00"], ["$1,204.75", "$9.00"], 2),
        (["8,99", "1,5"], ["", "1,5"], 2),
        (["0.000000001", "2"], ["0.000000007", "2"], 2),
        (["1.50", "2"], ["1.5", "7"], 2),
    ],
)
def test_the_statement_hides_no_number(golds: list[str], answers: list[str], n: int, tmp_path: Path) -> None:
    """Money, a decimal comma and numbers below the rounding are among the rows that differ; other zeros are not."""
    import duckdb

    sides = [Table(header=("k", "v"), columns=(["a", "b"], cells), n_rows=2) for cells in (golds, answers)]
    for side, name in zip(sides, ("g.csv", "p.csv"), strict=True):
        lines = ["k,v", *(f'{key},"{cell}"' for key, cell in zip(*side.columns, strict=True))]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    pair = TablePair(sides[1], sides[0], (), False, terms=Terms(abs_tol=0.0, rel_tol=1e-9))
    sql = table_sql(pair, gold=tmp_path / "g.csv", prediction=tmp_path / "p.csv", rules="strict")
    assert len(duckdb.sql(sql).fetchall()) == n


@pytest.mark.parametrize(("delimiter", "decimal", "encoding"), [(";", ",", "latin-1"), ("\t", ".", "utf-8"), (",", ".", "utf-16")])
def test_the_statement_reads_the_dialect(delimiter: str, decimal: str, encoding: str, tmp_path: Path) -> None:
    """The files are read as the check reads them; for an encoding that DuckDB may lack there is no statement."""
    import duckdb

    dialect = Dialect(delimiter, encoding, decimal)
    sides = [Table(header=("k", "v"), columns=(["é", "b"], cells), n_rows=2) for cells in (["700.10", "2.0"], ["700.50", "2"])]
    for side, name in zip(sides, ("g.csv", "p.csv"), strict=True):
        rows = [["k", "v"], *([key, cell.replace(".", decimal)] for key, cell in zip(*side.columns, strict=True))]
        (tmp_path / name).write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding=encoding)
    pair, files = TablePair(sides[1], sides[0], (), False), {"gold": tmp_path / "g.csv", "prediction": tmp_path / "p.csv"}
    rows = duckdb.sql(table_sql(pair, **files, rules="strict", dialects=(dialect, dialect))).fetchall()
    assert rows == [("only in gold", "é", 700.1), ("only in prediction", "é", 700.5)]
    assert table_sql(pair, **files, rules="strict", dialects=(DEFAULT, Dialect(encoding="cp1252"))) == ""


def test_the_statement_numbers_rows_that_others_hide(tmp_path: Path) -> None:
    """In order, rows that changed places are among those that differ, next to a cell that differs."""
    import duckdb

    gold, answer = (Table(header=("k", "v"), columns=tuple(cells), n_rows=3) for cells in ((["a", "b", "c"], list("123")), ("bac", "219")))
    for name, side in (("g.csv", gold), ("p.csv", answer)):
        (tmp_path / name).write_text("k,v\n" + "".join(f"{key},{cell}\n" for key, cell in zip(*side.columns, strict=True)))
    sql = table_sql(TablePair(answer, gold, (), True), gold=tmp_path / "g.csv", prediction=tmp_path / "p.csv", rules="strict")
    assert [row[:3] for row in duckdb.sql(sql).fetchall()] == [
        (f"only in {side}", row, key) for side, keys in (("gold", "abc"), ("prediction", "bac")) for row, key in enumerate(keys, start=1)
    ]


def test_exchanged_labels_have_no_statement() -> None:
    """Where only the names of columns differ no row does, and there is no statement without a row."""
    gold, answer = (
        Table(header=header, columns=(["Oslo"], ["9"], ["21"]), n_rows=1) for header in (("c", "low", "up"), ("c", "up", "low"))
    )
    pair = TablePair(answer, gold, (), False)
    assert table_sql(pair, gold=Path("g.csv"), prediction=Path("p.csv"), rules="strict") == ""


def test_texts_are_compared_word_by_word() -> None:
    """A word that is another one is replaced as a whole, a number with its separators too, and what is too much is inserted."""
    found = text_difference("The total is 1,250.75 in Oslo, not more", {"gold": "The total is 1,204.75 in Oslo"})
    segments = found["segments"]
    assert (found["missing"], found["extra"]) == (["1,204.75"], ["1,250.75", ", not more"])
    assert found["nearest"][0]["phrase"] == "The total is 1,250.75 in Oslo,"
    assert 0.8 < found["nearest"][0]["similarity"] < 1
    assert text_difference("Oslo", {"gold": ["Oslo"]})["nearest"] == []
    assert [(one["op"], one["gold"], one["predicted"]) for one in segments if one["op"] != "equal"] == [
        ("replace", "1,204.75", "1,250.75"),
        ("insert", "", ", not more"),
    ]
