"""Answers with the bytes of gold: a judge takes gold for them, and says what it says of an answer that was read."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.runs.made import write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")

BIG = "n,t\n" + "".join(f"{i},text {i}\n" for i in range(16_000))
VIEW = "CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT a FROM t"
# name -> scorer, further parameters, files: the same on both sides.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "small": ("table_match", {}, {"r.csv": "a,b\n1,x\n2,\n"}),
    "packed": ("table_match", {"ignore_order": True}, {"r.csv": BIG[:40_000]}),
    "big": ("table_match", {"condition_cols": [1]}, {"r.csv": BIG}),
    "odd": ("table_match", {}, {"r.csv": 'a,b\n1,"x"y\n'}),
    "ragged": ("table_match", {}, {"r.csv": "a,b\n1,2,3\n4,5,6\n"}),
    "broken": ("table_match", {}, {"r.csv": 'a,b\n1,"x\n'}),
    "empty": ("table_match", {}, {"r.csv": ""}),
    "plain text": ("table_match", {}, {"r.txt": "a\n1\n"}),
    "semicolons": ("table_match", {"delimiter": ";"}, {"r.csv": "a;b\n1;2\n"}),
    "latin": ("table_match", {}, {"r.csv": "a\n\udce9\n"}),
    "several": ("tables_match", {"condition_cols": [[], [0]]}, {"r.csv": "a\n1\n", "s.csv": "b,c\n2,3\n"}),
    "database": ("duckdb_match", {}, {"r.duckdb": "CREATE TABLE t AS SELECT range AS a, 'x' AS b FROM range(9)"}),
    "packed rows": ("duckdb_match", {}, {"r.duckdb": "CREATE TABLE t AS SELECT range AS a FROM range(5000)"}),
    "no name": ("table_match", {"gold": [1]}, {"r.csv": "a\n1\n"}),
    "no list": ("table_match", {"gold": 5}, {"r.csv": "a\n1\n"}),
    "warned": ("table_match", {"ignore_order": [True]}, {"r.csv": "a\n1\n"}),
    "view": ("duckdb_match", {"condition_tabs": ["v"], "reference": "dbt"}, {"r.duckdb": VIEW}),
}


def write(folder: Path, files: dict[str, str]) -> None:
    """Files of an instance; a database from the statements that make it."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        if name.endswith(".duckdb"):
            with duckdb.connect(str(folder / name)) as connection:
                connection.execute(content)
        else:
            (folder / name).write_bytes(content.encode(errors="surrogateescape"))


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """A submission that is a copy of gold, and its gold; one answer of each kind differs in a cell."""
    gold, submission = tmp_path / "gold", tmp_path / "submission"
    cases: dict[str, Any] = {}
    for name, (scorer, more, files) in CASES.items():
        write(gold / name, files)
        write(submission / name, {})
        for file in files:
            (submission / name / file).write_bytes((gold / name / file).read_bytes())
        value: Any = list(files) if scorer == "tables_match" else next(iter(files))
        cases[name] = (scorer, {"gold": value, **more}, value if isinstance(value, list) and len(value) > 1 else Path(next(iter(files))))
    for name, content in {"small": "a,b\n1,x\n3,\n", "big": BIG.replace("text 7\n", "text 8\n")}.items():
        write(gold / f"{name} differs", CASES[name][2])
        write(submission / f"{name} differs", {"r.csv": content})
        cases[f"{name} differs"] = ("table_match", {"gold": "r.csv"}, Path("r.csv"))
    return write_sides(submission, gold, cases)


def test_a_copy_of_gold_gets_the_same_result(sides: tuple[Path, Path]) -> None:
    """With workers gold is taken for an equal answer, without isolation each file is read: results are equal but for the seconds."""
    both = []
    for isolation in ("process", "none"):
        found = run(*sides, RunOptions(isolation=isolation, jobs=2, save=False)).results
        both.append({result.instance_id: replace(result, seconds=0) for result in found})
    assert both[0] == both[1]
    assert {name for name, result in both[0].items() if result.official == 1} >= {"small", "packed", "big", "several", "database"}
    assert {name for name, result in both[0].items() if result.official == 0} >= {"small differs", "big differs"}
