"""`--databases` in a terminal, as a person types it: a relative path, from a folder beside the project."""

import sqlite3
from pathlib import Path

import duckdb
import pytest

from tests.cli.test_run import write_lines
from tests.conftest import ROOT
from tests.terminal.pty_harness import C_LOCALE, EVALSUITE, piped, run


@pytest.mark.parametrize(
    ("engine", "env"),
    [
        pytest.param("sqlite", {}, marks=pytest.mark.slow),
        pytest.param("duckdb", {}, marks=pytest.mark.slow),
        ("sqlite", C_LOCALE),
        ("duckdb", C_LOCALE),
    ],
)
def test_a_relative_folder_of_databases(engine: str, env: dict[str, str | None], tmp_path: Path) -> None:
    """`run ... --databases '../d b/ö'` finds the file for a gold query and for an SQL answer."""
    for folder in ("d b/ö", "here", "gold/q1", "gold/q2", "sub/q1", "sub/q2"):
        (tmp_path / folder).mkdir(parents=True)
    database = tmp_path / "d b" / "ö" / "shop"
    with sqlite3.connect(database) if engine == "sqlite" else duckdb.connect(str(database)) as made:
        made.execute("CREATE TABLE sales AS SELECT 40 AS amount")
    made.close()
    (tmp_path / "gold" / "q1" / "gold.sql").write_text("SELECT sum(amount) FROM sales")
    (tmp_path / "gold" / "q2" / "r.csv").write_text("total\n40\n")
    (tmp_path / "sub" / "q2" / "a.sql").write_text("SELECT amount AS total FROM sales")
    (tmp_path / "sub" / "q1" / "r.csv").write_text("total\n40\n")
    (tmp_path / "gold" / "connections.yaml").write_text(f"shop: {{engine: {engine}, database: shop, prefix: q}}\n")
    checks = {"q1": ({"parameters": {}, "temporal": True}, "r.csv"), "q2": ({"parameters": {"gold": "r.csv"}}, "a.sql")}
    gold = [{"instance_id": id_, "evaluation": {"func": "table_match", **how}} for id_, (how, _) in checks.items()]
    answers = [{"instance_id": id_, "answer_type": "file", "answer_or_path": name} for id_, (_, name) in checks.items()]
    write_lines(tmp_path / "gold" / "shop_eval.jsonl", *gold)
    write_lines(tmp_path / "sub" / "results_metadata.jsonl", *answers)
    shown = run([*EVALSUITE, "run", "../sub", "--gold", "../gold", "--databases", "../d b/ö", "--no-save"], cwd=tmp_path / "here", env=env)
    assert (shown.code, shown.lines[-1]) == (0, "done: 100.0 % (no gate set)")


def test_standing_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    """Relative paths lead nowhere there: one clear error, exit 2."""
    (tmp_path / "gone").mkdir()
    command = [*EVALSUITE, "run", ROOT / "example_submission_folder", "--gold", ROOT / "gold", "--no-save"]
    shown = piped(["sh", "-c", 'rmdir ../gone; exec "$@"', "sh", *command], cwd=tmp_path / "gone")
    assert (shown.code, shown.raw) == (2, "")
    assert "error: the current folder does not exist any more\nhint: " in shown.errors
