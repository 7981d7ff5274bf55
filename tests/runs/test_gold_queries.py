"""Gold that a query gives: computed when the run starts, frozen into it, kept on request, and watched for drift."""

import hashlib
import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import UsageError
from evalsuite.runs.gold_queries import check_as_of, with_as_of
from tests.cli.test_run import as_json, said

pytestmark = pytest.mark.usefixtures("shared_fork_server")

CONNECTION = "shop: {engine: sqlite, database: shop.sqlite, prefix: q}\n"
SUM = "SELECT region, sum(amount) AS total FROM sales GROUP BY region"


class Place:
    """One instance with living gold, its database, and a submission that answers with a table."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.gold, self.submission = folder, folder / "gold", folder / "handed_in"
        for side in (self.gold, self.submission):
            (side / "q1").mkdir(parents=True)
        (folder / "databases").mkdir()
        self.sell(("north", 30, "2026-01-10"), ("north", 10, "2026-02-10"))
        self.spec({"func": "table_match", "parameters": {}, "temporal": True})
        (self.gold / "q1" / "gold.sql").write_text(SUM)
        (self.gold / "connections.yaml").write_text(CONNECTION)
        self.answer("region,total\nnorth,40\n")

    def sell(self, *rows: tuple[str, float, str]) -> None:
        """Add rows to the database."""
        with sqlite3.connect(self.folder / "databases" / "shop.sqlite") as made:
            made.execute("CREATE TABLE IF NOT EXISTS sales (region, amount, day)")
            made.executemany("INSERT INTO sales VALUES (?, ?, ?)", rows)

    def spec(self, *checks: dict[str, Any]) -> None:
        """Write the spec of the one instance."""
        (self.gold / "shop_eval.jsonl").write_text(json.dumps({"instance_id": "q1", "evaluation": list(checks)}) + "\n")

    def answer(self, text: str, answer_type: str = "file") -> None:
        """Write the submission."""
        (self.submission / "q1" / "r.csv").write_text(text)
        line = {"instance_id": "q1", "answer_type": answer_type, "answer_or_path": "r.csv" if answer_type == "file" else text}
        (self.submission / "results_metadata.jsonl").write_text(json.dumps(line) + "\n")

    def run(self, *options: str, code: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
        """(the one result, `run.json`) of a new run that ends with this exit code."""
        where = ["--gold", str(self.gold), "--databases", str(self.folder / "databases"), "--isolation", "none", "-q"]
        assert main(["run", str(self.submission), *where, *options]) == code
        folder = max((self.folder / ".evalsuite" / "runs").iterdir(), key=lambda run: (run / "run.json").stat().st_mtime_ns)
        row = json.loads((folder / "results.jsonl").read_text())
        return row, {**json.loads((folder / "run.json").read_text()), "place": folder}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The place, and the working folder."""
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


def test_kept_gold_is_taken_over_as_it_was(place: Place) -> None:
    """With --gold-cache the data may change: gold is what it was, and says when it was computed. A file that was touched is not taken."""
    kept = place.folder / "kept"
    _, first = place.run("--gold-cache", str(kept))
    place.sell(("north", 2, "2026-03-01"))
    row, second = place.run("--gold-cache", str(kept))
    assert row["score"] == 1
    assert second["living_gold"] == first["living_gold"]
    assert second["signature"] == first["signature"]
    (file,) = kept.glob("*.csv")
    file.write_text("region,total\nnorth,1\n")
    assert place.run("--gold-cache", str(kept))[1]["living_gold"]["q1"]["hash"] != first["living_gold"]["q1"]["hash"]


def test_a_known_result_is_gold_until_the_data_change(place: Place) -> None:
    """The same query on the same data is not run again; on data that changed it is, as with --no-cache. Of hidden gold only the hash is
    kept, in run.json.
    """
    _, first = place.run()
    (kept,) = (place.folder / ".evalsuite").rglob("gold-sql/*/result.csv")
    kept.write_text("region,total\nnorth,39\n")
    (entry,) = kept.parent.glob("*.json")
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"digest": hashlib.sha256(kept.read_bytes()).hexdigest()}))
    gold = [(row["score"], run["living_gold"]["q1"]["hash"]) for row, run in (place.run(), place.run("--no-cache"))]
    assert (gold[0][0], gold[1]) == (0, (1, first["living_gold"]["q1"]["hash"]))
    database = place.folder / "databases" / "shop.sqlite"
    before = database.stat()
    data = database.read_bytes()
    database.write_bytes(data.replace(b"north", b"south"))
    # Its size and times are as they were.
    os.utime(database, ns=(before.st_atime_ns, before.st_mtime_ns))
    place.answer("region,total\nsouth,40\n")
    assert place.run()[0]["score"] == 1
    shutil.rmtree(place.folder / ".evalsuite")
    (place.gold / "suite.yaml").write_text("hidden: true\n")
    row, run = place.run()
    assert (row["score"], bool(run["living_gold"]["q1"]["hash"]), (run["place"] / "gold").exists()) == (1, True, False)
    assert not list((place.folder / ".evalsuite").rglob("result.csv"))


def test_placeholders_are_told_from_casts() -> None:
    """`x::as_of` is a cast and `:as_offset` another name, braces stand in quotes or with spaces; without a day it is today."""
    assert with_as_of("SELECT x::as_of, :as_offset, :as_of", "2026-02-01") == ("SELECT x::as_of, :as_offset, '2026-02-01'", True)
    assert with_as_of("SELECT '{{as_of}}', '{{ as_of }}'", "2026-02-01") == ("SELECT '2026-02-01', '2026-02-01'", True)
    assert with_as_of("SELECT 1", "2026-02-01") == ("SELECT 1", False)
    assert len(check_as_of(None)) == len("2026-02-01")
    for wrong in ("yesterday", "2026-13-01", "2026-01-01'; DROP TABLE x"):
        with pytest.raises(UsageError):
            check_as_of(wrong)


def test_the_day_of_gold_stays_with_the_run(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that named no day is rescored and checked by the gold of its own day, on any later day."""
    (place.gold / "q1" / "gold.sql").write_text("SELECT 'north' AS region, 40 AS total WHERE :as_of = '2026-02-28'")
    monkeypatch.setattr("evalsuite.runs.gold_queries.check_as_of", lambda text, _=0: text or "2026-02-28")
    row, run = place.run()
    assert (row["score"], "as_of" in run["options"]) == (1, False)
    monkeypatch.setattr("evalsuite.runs.gold_queries.check_as_of", lambda text, _=0: text or "2026-02-29")
    databases = ["--databases", str(place.folder / "databases")]
    assert "0 of 1 verdicts changed" in said("rescore", run["place"].name, *databases)
    for words in (["check"], ["check", "--explain"], ["explain"]):
        told = as_json(*words, "q1", "--run", run["place"].name, *databases)
        assert (told.get("score", 1), told["status"], "gold has 0" in told["reason"]) == (1, "scored", False)


@pytest.mark.parametrize(
    ("scorer", "query", "reason"),
    [
        *(("table_match", "SELECT nothing FROM nowhere", "SQL_ERROR"), ("table_match", "DELETE FROM sales", "SQL_NOT_ALLOWED")),
        ("number_match", "SELECT NULL", "gold is not a finite number"),
        ("number_match", "SELECT 'many'", "gold is not a finite number"),
        ("number_match", "SELECT 9e999", "gold is not a finite number"),
        ("string_match", "SELECT NULL", "gold contains an empty text"),
        ("number_match", "SELECT 1, 2", "must give one cell"),
        ("number_match", "SELECT amount FROM sales", "must give one cell"),
        ("number_match", None, "gold.sql is missing"),
    ],
)
def test_a_query_that_gives_no_gold(scorer: str, query: str | None, reason: str, place: Place) -> None:
    """A query that fails or writes, or gives what a number or text check cannot take for gold, is gold's fault, told when it has been run;
    no answer becomes right or 0.
    """
    place.spec({"func": scorer, "parameters": {}, "temporal": True})
    (place.gold / "q1" / "gold.sql").unlink()
    if query is not None:
        (place.gold / "q1" / "gold.sql").write_text(query)
    if scorer != "table_match":
        place.answer("It is 40", "answer")
    row, run = place.run(code=2)
    assert (row["score"], row["status"], row["fault"]) == (None, "gold_fault", "BAD_GOLD_FILE")
    assert reason in row["reason"]
    assert ("living_gold" in run) == reason.startswith(("must give", "gold is not", "gold contains"))


@pytest.mark.parametrize("keeps_query", [True, False])
def test_temporal_without_gold_and_without_connection(keeps_query: bool, place: Place) -> None:
    """Neither gold nor a way to compute it: NEEDS_CONNECTION, and nobody can say what the answer is worth."""
    (place.gold / "connections.yaml").unlink()
    if not keeps_query:
        (place.gold / "q1" / "gold.sql").unlink()
        place.spec({"func": "table_match", "parameters": {"gold": "gold.csv"}, "temporal": True})
    row, _ = place.run(code=4)
    assert (row["score"], row["status"], row["fault"]) == (None, "unscored", "NEEDS_CONNECTION")


def test_a_gold_table_that_a_check_names_is_the_gold(place: Place) -> None:
    """Its query runs only under --live-gold, and is then the gold or nothing: without a connection the instance is unscored."""
    place.spec({"func": "table_match", "parameters": {"gold": "gold.csv"}, "temporal": True})
    (place.gold / "q1" / "gold.csv").write_text("region,total\nnorth,1\n")
    row, run = place.run()
    assert (row["score"], row["details"]["gold_from"], run["warnings"]) == (0, "file", [])
    assert "living_gold" not in run
    row, run = place.run("--live-gold")
    assert (row["score"], row["details"]["gold_from"], run["options"]["live_gold"]) == (1, "query", True)
    (place.gold / "connections.yaml").unlink()
    assert place.run()[0]["details"]["gold_from"] == "file"
    row, _ = place.run("--live-gold", code=4)
    assert (row["status"], row["fault"], row["details"].get("gold_from")) == ("unscored", "NEEDS_CONNECTION", None)


@pytest.mark.parametrize("answer", [None, "text"])
def test_nothing_is_computed_that_no_answer_needs(answer: str | None, place: Place) -> None:
    """Without an answer, or with one that no check can judge, no query is run, and a run has nothing to warn of."""
    (place.gold / "q1" / "gold.sql").write_text("SELECT nothing FROM nowhere")
    (place.submission / "results_metadata.jsonl").write_text("")
    if answer:
        place.answer(answer, "answer")
    row, run = place.run(code=0 if answer else 5)
    assert (row["status"], row["fault"]) == (("submission_fault", "WRONG_ANSWER_TYPE") if answer else ("missing", "MISSING_INSTANCE"))
    assert "living_gold" not in run
    assert run["warnings"] == [] or answer


def test_options_that_change_nothing_are_said(place: Place) -> None:
    """A day without a placeholder and live gold without a query are named among the warnings, and the gold table counts."""
    assert any("--as-of changes nothing" in warning for warning in place.run("--as-of", "2026-02-01")[1]["warnings"])
    place.spec({"func": "table_match", "parameters": {"gold": "gold.csv"}})
    (place.gold / "q1" / "gold.csv").write_text("region,total\nnorth,40\n")
    (place.gold / "q1" / "gold.sql").unlink()
    row, run = place.run("--live-gold")
    assert (row["score"], row["details"]["gold_from"]) == (1, "file")
    assert run["warnings"] == ["--live-gold changes nothing: no submitted instance has a gold query"]


def test_live_gold_stays_with_the_run(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """rescore, check --run and explain --run judge by the gold that the run was judged by."""
    place.spec({"func": "table_match", "parameters": {"gold": "gold.csv"}, "temporal": True})
    (place.gold / "q1" / "gold.csv").write_text("region,total\nnorth,41\n")
    place.answer("region,total\nnorth,41\n")
    _, run = place.run("--live-gold")
    name, databases = run["place"].name, ["--databases", str(place.folder / "databases")]
    capsys.readouterr()
    assert "0 of 1 verdicts changed" in said("rescore", name, *databases)
    checked = as_json("check", "q1", "--run", name, *databases)
    assert (checked["score"], checked["details"]["gold_from"]) == (0, "query")
    assert main(["bundle", "q1", "--run", name]) == 2
    shown = capsys.readouterr()
    assert (shown.out, "the result of a gold query" in shown.err) == ("", True), "the table beside it is not what was scored"
    main(["explain", "q1", "--run", name, *databases, "--json"])
    assert json.loads(capsys.readouterr().out)["status"] == "scored"
    assert as_json("check", "q1", "--result_dir", "handed_in", "--gold", "gold", *databases)["score"] == 1
    assert as_json("check", "q1", "--result_dir", "handed_in", "--gold", "gold", *databases, "--live-gold")["score"] == 0


def test_several_golds_and_single_cells(place: Place) -> None:
    """A list of queries gives a list of golds; one cell is the gold of a number or text check."""
    (place.gold / "q1" / "other.sql").write_text("SELECT 'north' AS region, 7 AS total")
    place.spec({"func": "table_match", "parameters": {"gold": ["gold.sql", "other.sql"]}, "temporal": True})
    place.answer("region,total\nnorth,7\n")
    row, run = place.run()
    assert row["strict"] == 1
    assert set(run["living_gold"]) == {"q1/gold", "q1/other"}
    (place.gold / "q1" / "gold.sql").write_text("SELECT sum(amount) FROM sales")
    place.spec({"func": "number_match", "parameters": {}, "temporal": True})
    place.answer("It is 40", "answer")
    assert place.run()[0]["score"] == 1
