"""`python -m tests.upstream check`: a clone's comparison functions beside our rules, and what a clone cannot do to whoever asks it."""

import json
import socket
from pathlib import Path

import pytest

from evalsuite.sandbox.program_sandbox import can_sandbox_programs
from tests.models import official_table, results_table
from tests.upstream.__main__ import main
from tests.upstream.references import PLACES

PLACE = "spider2-lite/evaluation_suite/evaluate.py"
# What the files of a clone do besides when they are imported: packages that are not here, a log, other streams.
AT_IMPORT = """
import sys
import cloud_of_nobody.client
from progress_of_nobody import bar
sys.stdout = open("log.txt", "w")
client = cloud_of_nobody.client.Client()
"""
FUNCTIONS = """
def compare_pandas_table(pred, gold, condition_cols=None, ignore_order=False):
    return _one(pred, gold, condition_cols, ignore_order, "lite")

def compare_multi_pandas_table(pred, multi_gold, multi_condition_cols=None, multi_ignore_order=False):
    return _several(pred, multi_gold, multi_condition_cols, multi_ignore_order, "lite")
"""
# How a clone may ask databases: closed after use, one while another is open, with something of its own left behind.
DATABASES = """
import duckdb

def read(file, *names, beside=""):
    con = duckdb.connect(database=file, read_only=True)
    assert con.execute("SHOW DATABASES").fetchall() == [(file.rsplit("/", 1)[1].split(".")[0],)]
    if beside:
        con.execute(f"ATTACH '{beside}' AS beside (READ_ONLY)")
    found = [con.execute(f"SELECT * FROM {name}").fetchdf() for name in names]
    con.close()
    return found

def duckdb_match(result, gold, condition_tabs=None, condition_cols=None, ignore_orders=None):
    con = duckdb.connect(gold, read_only=True)
    if condition_tabs:
        read(result)
    shown = con.execute("SHOW TABLES").fetchall()
    con.close()
    names = condition_tabs or [name for (name,) in shown]
    golds = read(gold, *names)
    try:
        answers = read(result, *names, beside=gold if condition_tabs else "")
    except duckdb.CatalogException:
        return 0
    orders = ignore_orders or [False] * len(names)
    columns = condition_cols or [[]] * len(names)
    return int(all(map(lambda a, g, c, o: score_tables(a, g, c, o, reference="dbt"), answers, golds, columns, orders)))
"""

pytestmark = pytest.mark.skipif(not can_sandbox_programs(), reason="a clone runs in the full sandbox, and this machine lacks a part of it")


def made_clone(folder: Path, old: str = "", new: str = "", *, more: str = "") -> Path:
    """A clone with the suite of Lite alone, whose functions are our model of it with one text replaced."""
    source = Path(results_table.__file__).read_text(encoding="utf-8")
    assert old in source
    file = folder / "made clone" / PLACE
    file.parent.mkdir(parents=True)
    file.write_text(AT_IMPORT + more + source.replace(old, new, 1) + FUNCTIONS, encoding="utf-8")
    return folder / "made clone"


def asked(clone: Path, capsys: pytest.CaptureFixture[str], *more: str, n: int = 3) -> tuple[int, str]:
    """(exit code, what is printed) of a check with few cases."""
    code = main(["check", "--against", str(clone), "--cases", str(n), *more])
    return code, capsys.readouterr().out


def test_a_clone_that_says_what_we_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No rule moved, exit 0; the references that the clone has not are named."""
    code, shown = asked(made_clone(tmp_path), capsys)
    assert code == 0, shown
    assert "not in this clone: original, snow, dbt" in shown
    assert shown.splitlines()[-1].startswith("done: none of ")


def test_a_rule_that_moved_is_listed_with_an_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A clone whose tolerance is wider: exit 1, the rule about tolerance moved with cases that differ, and the copy of gold did not."""
    clone = made_clone(tmp_path, "abs_tol=1e-2", "abs_tol=0.5")
    code, shown = asked(clone, capsys, "--json", n=6)
    found = {row["rule"]: row for row in json.loads(shown)["rules"]}
    moved = found["numbers within 0.01"]
    assert code == 1
    assert (moved["reference"], moved["function"], moved["n"]) == ("lite", "table_match", 6)
    assert moved["n_differ"] >= 1
    assert (moved["example"]["ours"], moved["example"]["theirs"]) == (0, 1)
    assert moved["example"]["gold"] != moved["example"]["answer"]
    assert found["a copy"]["n_differ"] == 0
    code, shown = asked(clone, capsys, n=6)
    assert code == 1
    assert "lite · table_match · numbers within 0.01" in shown
    assert shown.splitlines()[-1].endswith("(exit 1)")


@pytest.mark.slow
def test_a_rule_of_databases_that_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A clone with databases, whichever way it opens them, says what we say of each rule; one that never minds the order moved those."""
    source = Path(official_table.__file__).read_text(encoding="utf-8") + DATABASES
    moved = []
    for name, old, new in (("same", "", ""), ("other", "ignore_orders or [False]", "[True]")):
        file = tmp_path / name / PLACES["dbt"].file
        file.parent.mkdir(parents=True)
        file.write_text(source.replace(old, new), encoding="utf-8")
        rules = json.loads(asked(tmp_path / name, capsys, "--json", n=3)[1])["rules"]
        assert {row["n"] for row in rules} == {3}
        moved.append({row["rule"] for row in rules if row["function"] == "duckdb_match" and row["n_differ"]})
    assert moved == [set(), {"rows in another order", "columns sorted apart"}]


def test_a_clone_has_no_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A clone that reads a file of the user's, writes one, opens a connection or starts a program is refused each of it."""
    secret = tmp_path / "secret.txt"
    secret.write_text("key", encoding="utf-8")
    server = socket.create_server(("127.0.0.1", 0))
    tries = f"""
import os, socket, subprocess, pathlib
def tried(act):
    try:
        act()
    except Exception:
        return
    raise SystemExit("it could")
tried(lambda: pathlib.Path({str(secret)!r}).read_text())
tried(lambda: pathlib.Path({str(tmp_path / "made.txt")!r}).write_text("x"))
tried(lambda: socket.create_connection(("127.0.0.1", {server.getsockname()[1]})))
tried(lambda: subprocess.run(["true"], check=True))
"""
    with server:
        code, shown = asked(made_clone(tmp_path, more=tries), capsys, n=1)
    assert code == 0, shown
    assert not (tmp_path / "made.txt").exists()


def test_a_clone_that_dies_or_never_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Functions that hang are stopped at their seconds, a file that does not run says so: exit 1, and no rule is called unmoved."""
    for name, more, said in (
        ("hangs", "while True: pass\n", "took longer than 1 s"),
        ("fails", "1 / 0\n", "does not run: ZeroDivisionError"),
    ):
        code, shown = asked(made_clone(tmp_path / name, more=more), capsys, "--seconds", "1", n=1)
        assert code == 1
        assert said in " ".join(shown.split())
        assert "not all could be asked of lite" in shown


def test_what_is_no_clone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without any of the suites, and one that does not exist: exit 2 with the places that are sought."""
    for arguments in (["--against", str(tmp_path)], ["--against", str(tmp_path / "nowhere")]):
        assert main(["check", *arguments]) == 2
    assert PLACE in capsys.readouterr().err


def test_the_references_by_date(capsys: pytest.CaptureFixture[str]) -> None:
    """Each reference with its day, its commit and its file."""
    assert main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["original", "lite", "snow", "dbt"]
    assert found["dbt"]["commit"].startswith("e12c5f1e")
