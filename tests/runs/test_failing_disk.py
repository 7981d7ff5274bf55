"""A disk or a server that fails makes no answer wrong and no gold faulty: here files of /proc, which are regular and cannot be read."""

import os
import re
import sqlite3
import sys
from pathlib import Path

import duckdb
import pytest

from evalsuite.analysis.gold_checks.lint_values import reader_fault
from evalsuite.analysis.gold_checks.readiness import fault_and_note
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import FaultError, MachineError, machine_error
from evalsuite.core.types import Answer, Check, GoldInstance, Submission, Task
from evalsuite.readers.csv_dialect import Dialect
from evalsuite.readers.gold_files import read_predictions
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_answer import read_gold_files
from evalsuite.readers.load_table import load_table
from evalsuite.readers.paths import AnswerFiles, open_trusted, reopen
from evalsuite.readers.submission_files import file_contents
from evalsuite.runs.leaderboard_entries import Unpacker
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox.messages import error_reply, item_of
from evalsuite.sql.duckdb import _fault_of
from evalsuite.sql.execution import read_fingerprint
from evalsuite.sql.session import Connection, QueryLimits
from evalsuite.sql.sqlite import SqliteSession
from tests.processes import finished

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="such a file is one of /proc")
ID, LIMITS = str(os.getpid()), resolve_limits()
MEMORY = Path("/proc", ID, "mem")
SAID = "this machine cannot read the file: Input/output error"
ANSWER = Answer(instance_id=ID, answer_type="file", value="mem", where="results_metadata.jsonl:1")


def test_each_way_to_read_a_file() -> None:
    """However a file is read, the fault is the machine's."""
    with open_trusted(MEMORY, limit_bytes=9) as handle:
        for read in (handle.read, lambda: handle.read(1), lambda: reopen(handle).read(), handle.readline):
            with pytest.raises(FaultError, match=SAID) as failed:
                read()
            assert (failed.value.fault.code, failed.value.side) == ("LIMIT", "setup")
    with open_trusted(MEMORY, limit_bytes=9) as handle, pytest.raises(FaultError) as failed:
        handle.read()
    assert machine_error("", failed.value.fault).message == f"{MEMORY}: {SAID}"
    with pytest.raises(MachineError, match=f"^{MEMORY}: {SAID}"):
        item_of(error_reply(machine_error("", failed.value.fault)))
    with pytest.raises(FaultError, match=SAID) as failed:
        AnswerFiles(Path("/proc"), ID, LIMITS).open("mem")
    assert failed.value.side == "setup"


def test_a_database_that_cannot_be_copied_is_unscored(tmp_path: Path) -> None:
    """The pool copies a database for its reader; what it cannot read is no 0."""
    check = Check(scorer="duckdb_match", parameters={"gold": "g.duckdb", "condition_tabs": ["t"]})
    instance = GoldInstance(instance_id=ID, checks=(check,), where="x_eval.jsonl:1")
    task = Task(instance=instance, answer=ANSWER, gold_folder=tmp_path, submission_folder=Path("/proc"), limits=LIMITS)
    (result,) = Pool(jobs=1, isolation="process", gold_inodes=frozenset()).results([task])
    assert (result.status, result.score, result.official, result.strict) == ("unscored", None, None, None)
    assert result.reason == f"LIMIT: {SAID}"


def test_gold_is_not_at_fault(tmp_path: Path) -> None:
    """Gold that this machine does not read has the machine's fault, alone and among several; `gold lint` ends."""
    for gold in ("mem", ["mem", "other.csv"]):
        with pytest.raises(FaultError, match=f"gold file {ID}/mem: {SAID}") as failed:
            read_gold_files("table", {"gold": gold}, folder=Path("/proc"), instance_id=ID, limits=LIMITS)
        assert failed.value.side == "setup"
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "t.json").symlink_to(MEMORY)
    with pytest.raises(FaultError, match=SAID) as failed:
        read_gold_files("tree", {"gold": "t.json"}, folder=tmp_path, instance_id="a", limits=LIMITS)
    assert failed.value.side == "setup"
    with pytest.raises(MachineError, match=f"^here: {SAID}"):
        reader_fault(failed.value, Path("here"))


def test_no_command_takes_it_for_a_fault_of_the_submission(tmp_path: Path) -> None:
    """`validate` does not list it, a leaderboard does not refuse the archive for it, `verify` does not call the submission another one."""
    with pytest.raises(FaultError) as failed:
        fault_and_note(AnswerFiles(Path("/proc"), ID, LIMITS), "table", "file", "mem", None, LIMITS, Dialect(), False)
    assert failed.value.side == "setup"
    with pytest.raises(FaultError, match=SAID) as failed:
        load_table(MEMORY, LIMITS)
    assert failed.value.side == "setup"
    with pytest.raises(MachineError, match=f"^mem: {SAID}"):
        read_predictions(MEMORY, LIMITS, None)
    with pytest.raises(MachineError, match=f"{MEMORY}: {SAID}"):
        Unpacker(DiskCache(tmp_path), LIMITS, "none").folder_of(MEMORY)
    submission = Submission(folder=Path("/proc"), answers={ID: ANSWER})
    with pytest.raises(MachineError, match=f"{MEMORY}: {SAID}"):
        file_contents(submission)
    # A run has left the instance unscored.
    assert file_contents(submission, known={})[f"{ID}/mem"] == "LIMIT"


def test_a_database_on_a_failing_disk_makes_no_statement_wrong(tmp_path: Path) -> None:
    """An answer's query on such a database has no verdict: before it is opened, and what DuckDB and SQLite say while a statement runs."""
    (tmp_path / "d.duckdb").symlink_to(MEMORY)
    connection = Connection(name="lake", engine="duckdb", database=str(tmp_path / "d.duckdb"))
    with pytest.raises(FaultError, match="this machine cannot read the database: Input/output error") as failed:
        read_fingerprint(connection, QueryLimits())
    assert (failed.value.fault.code, failed.value.side) == ("NEEDS_CONNECTION", "setup")
    said = duckdb.IOException('IO Error: Could not read from file "/d.duckdb": Input/output error')
    lite = sqlite3.OperationalError("disk I/O error")
    lite.sqlite_errorname = "SQLITE_IOERR_READ"
    sqlite3.connect(tmp_path / "t.sqlite").execute("CREATE TABLE t (a)").connection.close()
    session = SqliteSession(tmp_path / "t.sqlite", QueryLimits())
    for fault in (_fault_of(said, "SELECT 1"), session._fault_of(lite)):
        assert (fault.fault.code, fault.side) == ("NEEDS_CONNECTION", "setup")
    session.close()


@pytest.mark.parametrize("call", ["restrict_files(['/usr'])", "parts_without('/usr', ['/usr/lib'])"])
def test_a_sandbox_that_cannot_be_built_lets_no_answer_be_missing(call: str) -> None:
    """Where a path of a sandbox cannot be opened for want of descriptors, the worker ends: behind it, each file would lack permission."""
    code = f"from evalsuite.sandbox.linux_layers import *; import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); {call}"
    assert re.search(r"OSError: .*Too many open files", finished([sys.executable, "-c", code]).stderr)
