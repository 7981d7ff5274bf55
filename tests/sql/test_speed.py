"""How fast a query is beside gold's: the ratio of CPU times, the numbers made of them, and what a run says of both."""

import json
import sqlite3
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.readers.limits import resolve_limits
from evalsuite.sql import query_pairs
from evalsuite.sql.query_pairs import EVALUATORS, time_ratio
from evalsuite.sql.session import QueryLimits

BIRD = EVALUATORS["bird-ex"]
FAST, SLOW = "SELECT max(n) FROM t", "SELECT max(a.n) FROM t a, t b"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An SQLite file with 250 numbers, below `dbs`."""
    file = tmp_path / "dbs" / "many numbers" / "many numbers.sqlite"
    file.parent.mkdir(parents=True)
    connection = sqlite3.connect(file)
    connection.execute("create table t (n integer)")
    connection.executemany("insert into t values (?)", [(n,) for n in range(250)])
    connection.commit()
    connection.close()
    return file


def test_a_ratio_says_who_is_faster(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold's time over the query's: far above 1 for a faster one, far below for a slower one, about 1 beside itself.

    A slow statement is measured by its first run.
    """
    limits = QueryLimits.from_names(resolve_limits())
    assert time_ratio(FAST, SLOW, str(place), BIRD, limits) > 5
    assert time_ratio(SLOW, FAST, str(place), BIRD, limits) < 0.2
    assert time_ratio(SLOW, SLOW, str(place), BIRD, limits) == pytest.approx(1, abs=0.3)
    monkeypatch.setattr(query_pairs, "_SLOW_NS", 0)
    assert time_ratio(FAST, SLOW, str(place), BIRD, limits) > 5


def test_a_run_times_right_answers(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --ves right answers alone have a ratio, groups have their numbers; without it none has, and nothing is said of times."""
    gold = tmp_path / "gold.sql"
    gold.write_text(f"{SLOW}\tmany numbers\n" * 3)
    (tmp_path / "dev.json").write_text(json.dumps([{"difficulty": name} for name in ("simple", "simple", "hard")]))
    handed_in = tmp_path / "pred.json"
    handed_in.write_text(json.dumps({"0": FAST, "1": "SELECT 1", "2": SLOW}))
    words = ["run", str(handed_in), "--gold", str(gold), "--databases", str(tmp_path / "dbs"), "--rules", "bird-ex", "--no-cache"]
    assert main([*words, "--ves", "--out", str(tmp_path / "timed")]) == 0
    shown = capsys.readouterr().out
    rows = [json.loads(line) for line in (tmp_path / "timed/results.jsonl").read_text().splitlines()]
    assert ["time_ratio" in row["details"] for row in rows] == [True, False, True]
    assert rows[0]["details"]["time_ratio"] > 5
    summary = json.loads((tmp_path / "timed/run.json").read_text())["summary"]
    assert summary["pairs"]["n_timed"] == 2
    assert summary["by_group"]["simple"]["pairs"]["r_ves"] == pytest.approx(100 * 1.25**0.5 / 2)
    assert "R-VES" in shown
    assert "soft F1      66.7    simple 50.0 · hard 100.0" in shown
    assert main([*words, "--out", str(tmp_path / "plain")]) == 0
    shown = capsys.readouterr().out
    assert "R-VES" not in shown
    assert "soft F1" in shown
    assert "time_ratio" not in (tmp_path / "plain/results.jsonl").read_text()
