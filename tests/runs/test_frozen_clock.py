"""`--frozen-clock` by the command: one clock for gold and answers, in the signature, the key of every cache, drift and gold check."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from tests.cli.test_run import as_json, said
from tests.runs.made import write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")

DAY = "2024-02-29"
WORDS = ("answers", "--gold", "gold", "--isolation", "none")


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with pairs of queries of which the first asks the time, and answers that know the day."""
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as writer:
        writer.executescript("CREATE TABLE sale (day TEXT); INSERT INTO sale VALUES ('2024-02-28'), ('2023-02-28');")
    (tmp_path / "gold.sql").write_text("SELECT date('now', '-1 day')\tshop\nSELECT count(*) FROM sale\tshop\n")
    (tmp_path / "pred.json").write_text(json.dumps(["SELECT max(day) FROM sale", "SELECT 2"]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def living(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with gold that a query of DuckDB gives and a table handed in that is right on one day."""
    import duckdb

    with duckdb.connect(str(tmp_path / "shop.duckdb")) as writer:
        writer.execute("CREATE TABLE sale AS SELECT DATE '2024-02-28' AS day")
    gold, answers = tmp_path / "gold", tmp_path / "answers"
    (gold / "q1").mkdir(parents=True)
    (answers / "q1").mkdir(parents=True)
    (gold / "connections.yaml").write_text("shop: {engine: duckdb, database: ../shop.duckdb}\n")
    (gold / "q1" / "gold.sql").write_text("SELECT current_date - day AS days FROM sale\n")
    (answers / "q1" / "a.csv").write_text("days\n1\n")
    write_sides(answers, gold, {"q1": ("table_match", {"gold": "gold.sql", "connection": "shop"}, Path("a.csv"))})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_of(folder: str) -> dict[str, Any]:
    """The run.json of a run."""
    found: dict[str, Any] = json.loads((Path(folder) / "run.json").read_text())
    return found


def test_pairs_stand_on_one_clock(pairs: Path) -> None:
    """Right on the day, wrong on another; the day stands in the signature and the first line; a resumed run keeps to it."""
    words = ["run", "pred.json", "--gold", "gold.sql", "--databases", ".", "--rules", "bird-ex", "--isolation", "none"]
    scores = {}
    for day in (DAY, "2024-03-01"):
        assert f"clock at {day}" in said(*words, "--frozen-clock", day, "--out", day)
        assert f"|clock:{day}|" in run_of(day)["signature"]
        scores[day] = run_of(day)["summary"]["score"]
    assert scores == {DAY: 1, "2024-03-01": 0.5}
    assert main([*words[:4], *words[6:], "--frozen-clock", DAY, "--out", "part"]) == 4
    assert "started with other clock" in said(*words, "--resume", "part", "--frozen-clock", "2024-03-01", code=2)
    assert as_json("check", "0", "--result_dir", "pred.json", "--gold", "gold.sql", "--databases", ".", "--frozen-clock", DAY)["score"] == 1


def test_drift_names_the_clock(pairs: Path) -> None:
    """A run of one day scored again on its own day moves nothing; on another, what moved is the clock's."""
    words = ["run", "pred.json", "--gold", "gold.sql", "--databases", ".", "--rules", "bird-ex", "--isolation", "none", "-q"]
    assert main([*words, "--frozen-clock", DAY]) == 0
    again = ["drift", "--databases", ".", "--isolation", "none", "--fail-on-drift"]
    assert main(again) == 0
    (found,) = as_json(*again, "--frozen-clock", "2024-03-01T12:00:00Z", code=1)["runs"]
    assert found["components"] == [f"clock {DAY} -> 2024-03-01T12:00:00Z"]
    assert [moved["instance_id"] for moved in found["moved"]] == ["0"]
    shown = said("drift", "--isolation", "none", "--fail-on-drift", code=4)
    assert "0 of 2 verdicts moved, 2 unscored\n   2 of 2 verdicts cannot be scored here: NEEDS_CONNECTION" in shown
    assert "\n   unscored: 0, 1\n" in shown


@pytest.mark.parametrize(
    "clock", [DAY, "1709164800", *(pytest.param(one, marks=pytest.mark.slow) for one in (f"'{DAY}'", f"{DAY}T18:30:00Z"))]
)
def test_a_suite_has_its_own_clock(living: Path, clock: str) -> None:
    """`limits: {clock: DAY}` of suite.yaml holds for a run; --frozen-clock of a run and --limit of a board go before it."""
    (living / "gold" / "suite.yaml").write_text(f"limits: {{clock: {clock}}}\n")
    assert main(["run", *WORDS, "--out", "own", "-q"]) == 0
    assert (run_of("own")["summary"]["score"], f"|clock:{DAY}" in run_of("own")["signature"]) == (1, True)
    assert main(["run", *WORDS, "--out", "other", "-q", "--frozen-clock", "2024-03-01"]) == 0
    assert run_of("other")["summary"]["score"] == 0
    assert main(["leaderboard", *WORDS, "--limit", "clock=2024-03-02", "--runs", "board"]) == 0
    (scored,) = (json.loads(place.read_text()) for place in Path("board").glob("*/run.json"))
    assert "|clock:2024-03-02|" in scored["signature"]


def test_gold_check_hands_in_gold_queries(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pair's gold query is its own answer; without the databases it is not tried, and one that fails is refused."""
    words = ["gold", "check", "gold.sql", "--isolation", "none", "--no-save"]
    assert "gold scores 2/2 under official, 2/2 under strict" in said(*words, "--databases", ".")
    main(words)
    assert "not tried" in capsys.readouterr().out
    (pairs / "gold.sql").write_text("SELECT nothing FROM sale\tshop\nSELECT count(*) FROM sale\tshop\n")
    assert "gold scores 1/2" in said(*words, "--databases", ".", code=1)


def test_gold_check_says_which_gold_asks_the_time(pairs: Path, living: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a clock they are named, in text and in JSON; with one there is nothing to say, and no ceiling is kept for other days."""
    for gold, name in (("gold.sql", "0"), ("gold", "q1")):
        words = ["gold", "check", gold, "--databases", ".", "--isolation", "none"]
        assert f"from day to day; --frozen-clock DAY fixes the date\n   {name}\n" in said(*words)
        main([*words, "--json", "--no-save"])
        assert json.loads(capsys.readouterr().out)["by_the_day"] == [name]
        main([*words, "--frozen-clock", DAY])
        shown = capsys.readouterr().out
        assert "by the day" not in shown
        assert "not saved" in shown


@pytest.mark.parametrize(
    ("day", "words"),
    [
        *((day, ["drift"]) for day in ("yesterday", "2024-02-30", "29.02.2024", "1969-07-20", "2024-02-29T10:00:00.5", "")),
        *(("yesterday", words) for words in (["run", "pred.json", "--gold", "gold.sql"], ["gold", "check", "gold.sql"])),
    ],
)
def test_what_is_no_day_is_refused(pairs: Path, day: str, words: list[str]) -> None:
    """Exit 2 with what was said and how to write it."""
    assert f"a frozen clock cannot be {day!r}" in said(*words, "--frozen-clock", day, code=2)
