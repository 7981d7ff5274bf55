"""Planted causes are named and no wrong one is proved, in tables and parts of records; differences as data count exactly."""

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evalsuite.analysis.causes.error_hypotheses import alphanumeric
from evalsuite.analysis.causes.table_alignment import TablePair
from evalsuite.analysis.causes.table_repairs import set_column
from evalsuite.analysis.explain import search_texts
from evalsuite.analysis.explain.difference import difference, judge_difference, table_sql, text_difference
from evalsuite.analysis.explain.instance_evidence import explain
from evalsuite.analysis.explain.search import Budget
from evalsuite.analysis.explain.search_trees import _short
from evalsuite.compare.strict_columns import Terms
from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Result, Rule, Table
from evalsuite.readers.csv_dialect import DEFAULT, Dialect
from evalsuite.reports.explain_documents import _evidence_facts, difference_lines
from evalsuite.scorers import SCORERS
from tests.analysis.explain.planted import ROW_CAUSES, corpus

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.mark.parametrize(("step", "least"), [(12, 0.95), pytest.param(1, 0.975, marks=pytest.mark.slow)])
def test_planted_causes_are_named(step: int, least: float) -> None:
    """At least 97.5 % of the planted errors are named right, and none is proved to be another; the test line looks at every twelfth one."""
    cases = [case for case in corpus()[::step] if case.is_refused()]
    said = [(case, case.explained()) for case in cases]
    wrong = [
        (case.name, case.rules, case.cause, found["cause"]) for case, found in said if found["proved"] and found["cause"] != case.cause
    ]
    right = sum(found["cause"] == case.cause for case, found in said)
    assert wrong == []
    assert len(cases) >= 600 // step
    assert right >= least * len(cases)


def test_the_corpus_has_every_cause() -> None:
    """No cause is counted that is never planted."""
    wanted = {*ROW_CAUSES, "times 100", "sign", "rounding", "unit", "off by one day", "time zone", "case", "spaces", "null and zero"}
    for case in corpus():
        if case.cause in wanted and case.is_refused():
            wanted.remove(case.cause)
    assert wanted == set()


def test_noise_is_not_proved() -> None:
    """Random values in the place of gold's are no cause."""
    random_ = random.Random(8)
    gold = Table(header=("name", "amount"), columns=([f"n{i}" for i in range(30)], [f"{i * 37.25:.2f}" for i in range(1, 31)]), n_rows=30)
    for n_wrong in (1, 3, 30):
        cells = list(gold.columns[1])
        for row in random_.sample(range(30), n_wrong):
            cells[row] = f"{random_.uniform(2000, 9000):.2f}"
        found = explain(SCORERS.load("table_match"), set_column(gold, 1, cells), {"gold": gold}, rules="official")
        assert found["proved"] is False
        assert found["causes"] == []


@pytest.mark.parametrize("rules", ["official", "strict"])
def test_a_text_among_numbers_hides_no_exchange(rules: Rule) -> None:
    """Official reads no number in a column with a text; that all other rows are gold's still tells that two columns are exchanged."""
    regions, amounts = (
        ["North", "South", "East", "West", "Alps", "Coast"],
        ["184200.5", "97310.25", "143875.0", "201944.75", "582.4", "33.9"],
    )
    gold = Table(header=("region", "amount"), columns=(regions, amounts), n_rows=6)
    wrong = replace(gold, columns=([*amounts[:2], *regions[2:]], [*regions[:2], *amounts[2:]]))
    found = explain(SCORERS.load("table_match"), wrong, {"gold": gold, "ignore_order": True}, rules=rules)
    assert (found["cause"], found["proved"]) == ("columns swapped", True)


def test_two_causes_are_both_named() -> None:
    """A column in another unit and one in another case are two causes of one answer."""
    gold = Table(header=("city", "revenue"), columns=(["Bergen", "Oslo", "Roma"], ["1200", "3400", "5600"]), n_rows=3)
    wrong = replace(gold, columns=(["BERGEN", "OSLO", "ROMA"], ["1.2", "3.4", "5.6"]))
    found = explain(SCORERS.load("table_match"), wrong, {"gold": gold}, rules="strict")
    assert [cause["name"] for cause in found["causes"]] == ["case", "unit"]
    assert "thousands" in found["causes"][1]["says"] or "1000" in found["causes"][1]["says"]


@pytest.mark.parametrize(("ids", "cause"), [(["4711", "1283", "9075", "3364", "8122"], "missing filter"), (list("12389"), "")])
def test_a_missing_filter_names_column_and_value(ids: list[str], cause: str) -> None:
    """Extra rows that share a value say which condition was left out; with the ids 1 to 3 unrelated tables look the same too often."""
    gold = Table(header=("id",), columns=(ids[:3],), n_rows=3)
    wrong = Table(header=("id", "state"), columns=(ids, ["paid", "paid", "paid", "void", "void"]), n_rows=5)
    found = explain(SCORERS.load("table_match"), wrong, {"gold": gold, "ignore_order": True}, rules="official")
    assert found["cause"] == cause
    assert [one["where"] for one in found["causes"]] == ["'state' is 'void' in each of them and in no wanted row"][: len(cause)]


@pytest.mark.parametrize("rules", ["official", "strict"])
@pytest.mark.parametrize(("gold", "answer", "says"), [
    # Five of the days are read although they are written in the other form.
    (
        ["2021-01-31", "2021-02-28", "2021-03-17", "2021-04-20", "2021-05-25", "2021-06-07", "2021-08-02"],
        ["01/31/2021", "02/28/2021", "03/17/2021", "04/20/2021", "05/25/2021", "06/07/2021", "08/02/2021"],
        "as MM/DD/YYYY, in 7 of 7 cells",
    ),
    # One `yes` makes all of them texts.
    (["true", "false", "true", "true", "false"] * 4, ["true", "no", "yes", "true", "false"] * 4, "in other words, in 8 of 20 cells"),
])  # fmt: skip
def test_all_cells_in_another_form_count(gold: list[str], answer: list[str], says: str, rules: Rule) -> None:
    """A cause counts the cells that are written in the other form, and no others, whichever of them the rules refuse."""
    ids = [f"q{5171 * at}" for at in range(1, len(gold) + 1)]
    table = Table(header=("id", "value"), columns=(ids, gold), n_rows=len(gold))
    [found] = explain(SCORERS.load("table_match"), set_column(table, 1, answer), {"gold": table}, rules=rules)["causes"]
    first = next(at for at, value in enumerate(gold) if answer[at] != value)
    assert says in found["says"]
    assert f"first at row {first + 1}: gold '{gold[first]}', submitted '{answer[first]}'" in found["where"]


@pytest.mark.parametrize(("gold", "answer", "cause"), [
    ({"total": 1254.75, "name": "Ada"}, {"total": 125475.0, "name": "Ada"}, "times 100"),
    ({"total": 12.5, "name": "Ada"}, {"total": 12.5, "name": "ADA"}, "case"),
    ({"total": 12, "name": "Ada"}, {"total": "12", "name": "Ada"}, "stored as text"),
    ({"total": 12, "name": "Ada"}, {"name": "Ada"}, "field missing"),
    ({"total": 12, "name": "Ada"}, {"total": 12, "name": "Ada", "more": 1}, "field too many"),
])  # fmt: skip
def test_trees(gold: dict[str, object], answer: dict[str, object], cause: str) -> None:
    """Leaves that one law makes right, fields that are missing or too many."""
    schema = {"type": "object", "properties": {"total": {}, "name": {"type": "string"}, "more": {"type": "integer"}}}
    schema["properties"]["total"] = {"type": "number"}  # type: ignore[index]
    found = explain(SCORERS.load("tree_match"), answer, {"gold": gold, "schema": schema}, rules="strict")
    assert found["cause"] == cause
    # A field that is missing can only be put right with gold's value.
    assert found["proved"] is (cause != "field missing")


def test_files_are_looked_at_behind_the_same_walls() -> None:
    """In worker processes the evidence is the same as in this one, and an instance nobody handed in has a status and a reason."""
    from evalsuite.analysis.explain.instance_evidence import explain_results
    from tests.conftest import ROOT

    ids = ["sales_004", "sales_007", "ops_002", "ops_007", "sales_008", "ops_001"]
    sides = [
        dict(explain_results(ROOT / "gold", ROOT / "example_submission_folder", ids, isolation=isolation))
        for isolation in ("none", "process")
    ]
    assert sides[0] == sides[1]
    assert sorted(sides[1]) == sorted(ids)
    assert sides[1]["ops_007"] == {"rules": None, "status": "missing", "reason": "missing"}
    assert sides[1]["sales_007"]["explanation"]["cause"] == "rows scrambled"


YORK = {"gold": ["Oslo"], "exclude": ["cat", "York"]}
EXCLUDED = "the answer contains 1 of the texts that exclude it: 'York'"
MACHINES = {"gold": ["Pitching Machine", "Batting Cage"], "conj": "and"}
NUMBERS = "the answer contains 20 numbers, and one of them alone is right: right alone: '31676'"


@pytest.mark.parametrize(("scorer", "answer", "parameters", "rules", "causes", "text"), [
    # All wrong numbers are undone together and what stands between them stays; what any number below 1 is rounded to is no cause.
    ("number_match", "11.32, 8.81", {"gold": ["11.31707", "8.81396"], "conj": "and"}, "official", ["rounding"], ""),
    ("number_match", "325300, 328200 and 318100.", {"gold": ["3253", "3282", "3181"], "conj": "and"}, "official", ["times 100"], ""),
    ("number_match", "14 334.62", {"gold": ["14334.62114"]}, "official", ["number in text", "rounding"], ""),
    ("number_match", "0", {"gold": ["0.301014"]}, "official", [], ""),
    ("number_match", "0.0944, 0.1003", {"gold": ["-0.0944", "-0.1003"], "conj": "and"}, "official", ["sign"], ""),
    ("number_match", "-1652.9%", {"gold": ["1652.9"]}, "official", ["number in text", "sign"], ""),
    ("number_match", "EUR 1.652.900", {"gold": ["16529"]}, "official", ["number in text", "times 100"], ""),
    ("number_match", "EUR 1,652,900", {"gold": ["16529"]}, "official", ["times 100"], ""),
    # Strict rules read spaces between thousands, official ones do not: only where it is refused is it a part of the cause.
    ("number_match", "1 652 900", {"gold": "16529"}, "official", ["number in text", "times 100"], "submitted '1 652 900'"),
    ("number_match", "1 652 900", {"gold": "16529"}, "strict", ["times 100"], ""),
    # More numbers than are tried are counted, and the break of a line is no part of the number at its end.
    ("number_match", "".join(f"{n * 7919}\n" for n in range(1, 21)), {"gold": "31676"}, "strict", ["extra text"], NUMBERS),
    # Official rules see no sign, so that no answer is right to a negative gold; the strict ones prove the cause, and both are named.
    ("number_match", "-351725", {"gold": -3517.25}, "official", ["times 100"], "official rules refuse gold itself"),
    # A part of another word excludes nothing under strict rules.
    ("string_match", "Oslo, York (concatenated)", YORK, "strict", ["excluded text"], EXCLUDED),
    # Hyphens and underscores for spaces are found wherever the phrase stands, and the comma behind it is none of it.
    ("string_match", "Sold: Pitching_Machine, Batting-Cage.", MACHINES, "official", ["spaces", "spaces"], ""),
])  # fmt: skip
def test_causes_of_texts_and_numbers(
    scorer: str, answer: str, parameters: dict[str, object], rules: Rule, causes: list[str], text: str
) -> None:
    """Each is named as often as it stands, and says what it counts."""
    found = explain(SCORERS.load(scorer), answer, parameters, rules=rules)
    assert sorted(cause["name"] for cause in found["causes"]) == causes
    assert text in json.dumps(found, ensure_ascii=False)
    assert found["rules"] == "strict" or (rules == "official" and "official rules refuse gold itself" not in found["notes"])


def test_an_answer_of_many_phrases_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The letters of its phrases are compared with those of every gold, and not read again for each one."""
    n_read = 0

    def count(text: str) -> str:
        nonlocal n_read
        n_read += 1
        return alphanumeric(text)

    monkeypatch.setattr(search_texts, "alphanumeric", count)
    golds = [f"Company {chr(65 + n)}{chr(70 + n)} Ltd" for n in range(20)]
    parameters = {"gold": golds, "conj": "and"}
    found = explain(SCORERS.load("string_match"), ", ".join(golds).replace(" Ltd", "_Ltd"), parameters, rules="strict")
    assert found["cause"] == "spaces"
    assert n_read <= 7 * 3 * len(golds)


def test_rows_are_paired_as_they_stand() -> None:
    """Where no cell is left as it was the rows of the files still stand side by side, or their numbers in order."""
    gold = Table(header=("n", "share"), columns=([str(n) for n in range(40)], [f"{(n * 7) % 40 / 9:.6f}" for n in range(40)]), n_rows=40)
    wrong = replace(gold, columns=tuple([f"${cell}" for cell in column] for column in gold.columns))
    turned = replace(wrong, columns=tuple(list(column)[::-1] for column in wrong.columns))
    for answer in (wrong, turned):
        found = explain(SCORERS.load("table_match"), answer, {"gold": gold, "ignore_order": True}, rules="official")
        assert found["cause"] == "number in text"


def test_the_budget_counts_cells() -> None:
    """Large tables end the search after a number of cells, or of tries, never after a time, so that load changes no answer."""
    gold = Table(header=("a",), columns=(["10", "20", "30"],), n_rows=3)
    wrong = Table(header=("a",), columns=(["31", "11", "29"],), n_rows=3)
    for budget, note in (
        (Budget(cells=0), "no cause found in 0 tries of 0 cells together"),
        (Budget(attempts=0), "no cause found in 0 tries"),
    ):
        found = explain(SCORERS.load("table_match"), wrong, {"gold": gold}, rules="official", budget=budget)
        assert (found["proved"], found["notes"]) == (False, [note])


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


@pytest.mark.parametrize(("gold", "answer", "wrong"), [
    (["1.50", "2.50", "x3"], ["1.5", "2.50", "x3"], {"official": 1, "strict": 0}),
    (["1.50", "2.50", "x3"], ["1.50", "2.50", "3"], {"official": 3, "strict": 1}),
    (["1.50", "2.50", "3"], ["1.5", "2.5", "3"], {"official": 0, "strict": 0}),
    (["1.5", "", "x3"], ["1.5", "NULL", "x3"], {"official": 0, "strict": 0}),
    (["1.5", "2", "x3"], ["1.5", "2", "4"], {"official": 3, "strict": 1}),
])  # fmt: skip
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
    """Rows that only one side has are named; at most N rows are shown, and how many are not stands beside them."""
    short = Table(header=GOLD.header, columns=(["Oslo", "Rome", "Lima"], ["1", "2", "4"]), n_rows=3)
    data = difference(SCORERS.load("table_match"), short, {"gold": GOLD}, rules="official", result=result())
    assert [(row["status"], row["gold_row"]) for row in data["rows"]] == [("missing", 3)]
    data = difference(SCORERS.load("table_match"), GOLD, {"gold": short}, rules="official", result=result())
    assert [(row["status"], row["predicted_row"]) for row in data["rows"]] == [("extra", 3)]
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
    sides = {"only in gold": [("Lima", 4.0), ("Rome", 2.0)], "only in prediction": [("Quito", 7.0), ("Rome", 9.0)]}
    assert rows == [(side, *row) for side, own in sides.items() for row in own]
    typed = [Table(header=t.header, columns=t.columns, n_rows=4, types=("VARCHAR",) * len(t.header)) for t in (WRONG, GOLD)]
    sql = table_sql(
        TablePair(typed[0], typed[1], (), False, "my table"),
        gold=tmp_path / "gold.duckdb",
        prediction=tmp_path / "it's.duckdb",
        rules="official",
    )
    assert len(duckdb.connect().execute(sql).fetchall()) == 4


@pytest.mark.parametrize(("golds", "answers", "n"), [
    (["$1,204.50", "$9.00"], ["$1,204.75", "$9.00"], 2), (["8,99", "1,5"], ["", "1,5"], 2), (["0.000000001", "2"], ["0.000000007", "2"], 2),
    (["1.50", "2"], ["1.5", "7"], 2),
])  # fmt: skip
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
    """In order, rows that changed places are among those that differ; where only names of columns differ there is no statement."""
    import duckdb

    gold, answer = (Table(header=("k", "v"), columns=tuple(cells), n_rows=3) for cells in ((["a", "b", "c"], list("123")), ("bac", "219")))
    for name, side in (("g.csv", gold), ("p.csv", answer)):
        (tmp_path / name).write_text("k,v\n" + "".join(f"{key},{cell}\n" for key, cell in zip(*side.columns, strict=True)))
    sql = table_sql(TablePair(answer, gold, (), True), gold=tmp_path / "g.csv", prediction=tmp_path / "p.csv", rules="strict")
    assert [row[:3] for row in duckdb.sql(sql).fetchall()] == [
        (f"only in {side}", row, key) for side, keys in (("gold", "abc"), ("prediction", "bac")) for row, key in enumerate(keys, start=1)
    ]
    labels = [Table(header=tuple(header), columns=(["Oslo"], ["9"], ["21"]), n_rows=1) for header in ("clu", "cul")]
    assert table_sql(TablePair(*labels, (), False), gold=Path("g.csv"), prediction=Path("p.csv"), rules="strict") == ""


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


Records = list[dict[str, Any]]


def records(n: int = 100, seed: int = 3) -> Records:
    """n made invoices with three lines each."""
    random_ = random.Random(seed)
    return [
        {
            "vendor": random_.choice(["Acme", "Globex", "Initech"]),
            "country": random_.choice(["USA", "Germany", "France"]),
            "date": f"20{random_.randint(10, 24)}-{random_.randint(1, 12):02}-{random_.randint(13, 28)}",
            "total": round(random_.uniform(10, 5000), 2),
            "net": round(random_.uniform(10, 5000), 2),
            "lines": [{"sku": f"s{random_.randint(1, 999)}", "qty": random_.randint(1, 90)} for _ in range(3)],
        }
        for _ in range(n)
    ]


def turned(found: Records) -> None:
    """The lines of each record in another order."""
    for record in found:
        record["lines"] = [*record["lines"][1:], record["lines"][0]]


def german(found: Records) -> None:
    """Ten dates as DD.MM.YYYY."""
    for record in found[:10]:
        record["date"] = ".".join(reversed(record["date"].split("-")))


def taxed(found: Records) -> None:
    """All totals times 1.1."""
    for record in found:
        record["total"] = round(record["total"] * 1.1, 2)


def exchanged(found: Records) -> None:
    """Total and net in each other's place in every third record."""
    for record in found[::3]:
        record["total"], record["net"] = record["net"], record["total"]


def renamed(found: Records) -> None:
    """One country in other words."""
    for record in found:
        record["country"] = record["country"].replace("USA", "United States")


def explained(change: Callable[[Records], None], n: int = 100, scorer: str = "tree_match", **parameters: Any) -> dict[str, Any]:
    """The explanation of changed records."""
    gold = records(n)
    answer = copy.deepcopy(gold)
    change(answer)
    return explain(SCORERS.load(scorer), answer, {"gold": gold, **parameters}, rules="strict")


@pytest.mark.parametrize(("change", "name", "words", "patch"), [
    (turned, "list order", "matching 'lines' in order gives", {"lines": {"x-eval-align": {"match_by": "hungarian"}}}),
    (german, "date form", "as DD.MM.YYYY, in 10 of 100 values of 'date'", {"date": {"x-eval-compare": {"date": {"locale": "de"}}}}),
    (taxed, "constant factor", "in 100 of 100 values of 'total': gold's times 1.1", None),
    (exchanged, "fields exchanged", "'net' and 'total' are exchanged in 34 of 100 places", None),
    # Other words that always stand for the same text fit, as they are taken from gold.
    (renamed, "synonyms", "", {"country": {"x-eval-compare": {"oneof": {"groups": [["USA", "United States"]]}}}}),
])  # fmt: skip
def test_a_part_is_proved_by_its_score(change: Callable[[Records], None], name: str, words: str, patch: Any) -> None:
    """Each mistake is named with how often it stands, the score before and after, and the patch of the schema that takes it."""
    found = explained(change)
    (cause,) = found["causes"]
    is_proved = name != "synonyms"
    assert (cause["name"], cause["standing"], found["proved"]) == (name, "proved" if is_proved else "fits", is_proved)
    assert words in cause["text"]
    assert not is_proved or cause["scores"][0] < cause["scores"][1] == 1
    assert cause.get("patch") == patch
    if patch:
        gold, schema = records(), _with_patch(patch)
        answer = copy.deepcopy(gold)
        change(answer)
        assert SCORERS.load("tree_match").score(answer, gold=gold, schema=schema).strict == 1


def _with_patch(patch: dict[str, Any]) -> dict[str, Any]:
    from evalsuite.trees import infer_schema

    schema = infer_schema(records(), widen=True, notify=lambda _: None)
    for path, keys in patch.items():
        schema["properties"][path].update(keys)
    return schema


@pytest.mark.parametrize("scorer", ["tree_match", "tree_score"])
def test_parts_are_told_where_the_rest_is_not(scorer: str) -> None:
    """Beside values that nothing explains the parts stand all the same; then the whole is not proved."""

    def change(found: Records) -> None:
        for make in (turned, german, taxed):
            make(found)
        for i, record in enumerate(found):
            record["vendor"] = f"{i}?"

    found = explained(change, n=24, scorer=scorer)
    names = [cause["name"] for cause in found["causes"]]
    assert names == [*(["list order"] if scorer == "tree_match" else []), "date form", "constant factor"]
    assert all(cause["proved"] for cause in found["causes"])
    facts = dict(_evidence_facts({"explanation": found}))
    assert "without this error the score only rises to 0." in facts["fits"]
    assert found["proved"] is False
    values = [score for cause in found["causes"] for score in cause["scores"]]
    assert values == sorted(values)


def test_unrelated_values_have_no_part() -> None:
    """Texts and numbers that have nothing to do with gold's are no cause."""

    def change(found: Records) -> None:
        for other, record in zip(records(seed=9), found, strict=False):
            record |= {"vendor": other["vendor"] + "x" * len(record["vendor"]), "total": other["total"]}

    found = explained(change, n=24)
    assert [cause for cause in found["causes"] if cause["proved"]] == []


def test_a_part_that_another_part_makes_needless_is_left_out() -> None:
    """Reversed lines: pairing the orders by best fit raises the score too, but the pairing of the lines alone makes every record right."""

    def record(i: int, step: int) -> dict[str, Any]:
        skus = [["p", "q"], ["q", "p"], ["r", "s"]]
        return {"id": f"r{i}", "orders": [{"lines": [{"sku": f"{sku}{i}"} for sku in of[::step]]} for of in skus]}

    found = explain(
        SCORERS.load("tree_match"), [record(i, -1) for i in range(20)], {"gold": [record(i, 1) for i in range(20)]}, rules="strict"
    )
    (cause,) = found["causes"]
    assert cause["name"] == "list order"
    assert list(cause["patch"]) == ["orders[].lines"]
    assert cause["text"].startswith("matching 'orders[].lines' in order gives .14, by Hungarian 1: .14 as it is, 1 ")
    assert cause["scores"][0] < cause["scores"][1] == 1


def test_a_part_that_is_not_named_is_in_no_score_and_no_proof() -> None:
    """Years in the place of dates fit anything: what is said of the numbers is of the answer with its dates as they are."""

    def change(found: Records) -> None:
        for record in found:
            record |= {"date": record["date"][:4], "total": -record["total"], "vendor": record["vendor"].upper()}

    gold = records(8)
    answer = copy.deepcopy(gold)
    change(answer)
    found = explained(change, n=8)
    first, second = found["causes"]
    assert (first["name"], second["name"], found["proved"]) == ("sign", "case", False)
    assert any(note.startswith("time cut off fits") for note in found["notes"])
    scorer = SCORERS.load("tree_match")
    mended = copy.deepcopy(answer)
    scores = [scorer.score(mended, gold=gold).strict]
    for field in ("total", "vendor"):
        for record, right in zip(mended, gold, strict=True):
            record[field] = right[field]
        scores.append(scorer.score(mended, gold=gold).strict)
    assert [*first["scores"], *second["scores"]] == [scores[0], scores[1], scores[1], scores[2]]
    assert "as it is, " in first["text"]
    assert "with those before it undone, " in second["text"]


@pytest.mark.parametrize(("scores", "texts"), [
    ((0.5, 1), [".50", "1"]), ((0.963, 0.9964), [".963", ".996"]), ((0.0004, 0.25), [".0004", ".2500"]), ((0, 0.5), [".00", ".50"]),
])  # fmt: skip
def test_a_score_below_1_is_not_shown_as_1(scores: tuple[float, float], texts: list[str]) -> None:
    """Two scores have as many decimals as tell them from each other, from 0 and from 1."""
    assert _short(*scores) == texts
