"""One file never stops a run: databases larger than the folder for temporary files, and a machine without such a folder."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite import evaluate
from evalsuite.readers import duckdb_tables
from tests.conftest import ROOT
from tests.processes import finished
from tests.runs.made import write_sides

MIB = 1 << 20
# A file system of 4 MiB for temporary files, in a mount namespace of its own.
SMALL = 'mount -t tmpfs -o size=4m none "$1" && shift && exec "$@"'


def databases(folder: Path, *, dense_mib: int) -> tuple[Path, Path]:
    """(submission, gold) of three equal databases: one plain, one with holes up to 8 MiB, one with so many MiB of other blocks."""
    good = folder / "good.duckdb"
    with duckdb.connect(str(good)) as connection:
        connection.execute("CREATE TABLE t AS SELECT i, i * 2 AS v FROM range(100) r(i)")
    gold, submission, names = folder / "gold", folder / "submission", ("plain", "sparse", "dense")
    for name in names:
        for side in (gold, submission):
            (side / name).mkdir(parents=True)
            shutil.copy(good, side / name / "a.duckdb")
    with (submission / "sparse" / "a.duckdb").open("ab") as file:
        file.truncate(8 * MIB)
    with (submission / "dense" / "a.duckdb").open("ab") as file:
        file.write(b"x" * (dense_mib * MIB))
    cases: dict[str, Any] = dict.fromkeys(names, ("duckdb_match", {"gold": "a.duckdb", "condition_tabs": ["t"]}, Path("a.duckdb")))
    return write_sides(submission, gold, cases | {"text": ("string_match", {"gold": "Oslo"}, "Oslo")})


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_a_database_larger_than_the_folder_for_temporary_files(isolation: str, tmp_path: Path) -> None:
    """Every one of them is right, and the folder is empty afterwards."""
    submission, gold = databases(tmp_path, dense_mib=6)
    place, out = tmp_path / "tmp", tmp_path / "out"
    place.mkdir()
    words = [sys.executable, "-m", "evalsuite", "run", str(submission), "--gold", str(gold), "--no-cache", "-q", "--isolation", isolation]
    small = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL, "sh", str(place)]
    if shutil.which("unshare") is None or finished([*small, "true"]).returncode != 0:
        small = []
    done = finished([*small, *words, "--out", str(out)], cwd=ROOT, env={"TMPDIR": str(place)})
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert {row["instance_id"]: row["score"] for row in rows} == {"plain": 1, "sparse": 1, "dense": 1, "text": 1}
    assert list(place.iterdir()) == []


def test_a_run_needs_no_folder_for_temporary_files(tmp_path: Path) -> None:
    """Where nothing can be written, databases are read all the same."""
    submission, gold = databases(tmp_path, dense_mib=1)
    words = [sys.executable, "-m", "evalsuite", "run", str(submission), "--gold", str(gold), "--no-save", "--no-cache"]
    done = finished(words, cwd=ROOT, env={"TMPDIR": str(tmp_path / "none")})
    assert done.returncode == 0
    assert "4 right" in done.stdout


@pytest.mark.usefixtures("shared_fork_server")
def test_the_command_opens_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own process hands the bytes on; only a worker, which runs already, opens them as a database."""
    submission, gold = databases(tmp_path, dense_mib=1)
    evaluate(submission, gold, save=False, cache=None, only=["text"])

    class Refusing:
        def __getattr__(self, name: str) -> None:
            raise AssertionError("a database was opened in the process of the command")

    monkeypatch.setattr(duckdb_tables, "duckdb", Refusing())
    assert evaluate(submission, gold, save=False, cache=None).summary.score == 1
    duckdb_tables._gold_connection.cache_clear()
    with pytest.raises(AssertionError, match="was opened"):
        duckdb_tables._gold_connection()
