"""What goes between processes: every cell, task and result comes back as it was, and bytes of another shape are refused."""

import socket
import struct
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.columns import packed_table
from evalsuite.compare.packed_text import frame_of
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.types import Fault, Result, Table
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.duckdb_tables import open_duckdb, read_duckdb
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.answer_workers import receive_table, send_blocks
from evalsuite.runs.plan import plan
from evalsuite.runs.run_files import result_of, whole_line
from evalsuite.sandbox.messages import DATA, ITEM, ClosedError, error_reply, item_of, pack_tasks, receive, reply, send, unpack_tasks
from evalsuite.sandbox.payloads import decode_payloads, encode_payloads
from tests.conftest import ROOT
from tests.properties import LETTERS, examples

plain = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.binary(), st.decimals(), st.dates(), st.datetimes(), st.times()),
    *(st.text(LETTERS), st.timedeltas(), st.uuids(), st.datetimes(timezones=st.just(ZoneInfo("UTC")))),
)
keys = st.one_of(st.integers(), st.text(LETTERS), st.dates(), st.decimals(allow_nan=False))
cells = st.recursive(plain, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)), max_leaves=6)


def same(a: Any, b: Any) -> bool:
    """Whether two cells are the same value of the same type, NaN included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return repr(a) == repr(b) or bool(a == b)


# Drawing nested cells is slow on a busy machine; the property itself takes microseconds.
@examples(100)
@given(st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=3))
def test_every_cell_comes_back(columns: list[list[Any]]) -> None:
    """A database table with any values reaches the judge unchanged, types and all."""
    header = tuple(f"c{at}" for at in range(len(columns)))
    table = Table(header=header, columns=tuple(columns), n_rows=2, types=tuple("ANY" for _ in columns), name="t")
    back = decode_payloads(encode_payloads({"database": {"t": table}}))["database"]["t"]
    assert (back.header, back.n_rows, back.types, back.name) == (table.header, 2, table.types, "t")
    assert all(same(list(a), list(b)) for a, b in zip(back.columns, columns, strict=True))


@pytest.mark.parametrize("value", ["\ud800 alone", "", 10**30, -1.5, None, True, {"a": [1, {"b": "\udfff"}]}], ids=repr)
def test_any_text_or_tree_comes_back(value: Any) -> None:
    """A text with a lone surrogate and a tree with numbers of any size pass as they are."""
    assert decode_payloads(encode_payloads({"tree": value})) == {"tree": value}


def packed(value: Any) -> bytes:
    """Msgpack of a plain value."""
    import msgspec

    return bytes(msgspec.msgpack.encode(value))


@pytest.mark.parametrize(
    "value",
    [
        *(5, ["table"], {"table": 7}, {"table": []}, {"table": ["table", ["a"], [[1], [2]], 1, None, None, ""]}),
        *({"table": ["table", ["a"], [[1, 2]], 1, None, None, ""]}, {"table": ["table", ["a"], [5], 1, None, None, ""]}),
        *({"table": ["table", ["a"], [["x"]], "many", None, None, ""]}, {"database": ["named", 5]}, {"text": ["fault"]}),
        {"text": ["pickle", "x"]},
    ],
    ids=str,
)
def test_another_shape_is_refused(value: Any) -> None:
    """What a reader sends is plain data of known shape; the judge takes nothing else."""
    with pytest.raises(ValueError):
        decode_payloads(packed(value))


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_harmless(data: bytes) -> None:
    """Bytes of a reader that was taken over end in a refusal, never in another error and never in more than plain forms."""
    try:
        forms = decode_payloads(data)
    except ValueError:
        return
    assert all(isinstance(name, str) for name in forms)


def test_frames() -> None:
    """Half a frame is no frame; an end between two frames is a plain end; the length that a worker claims is checked against the limit, and
    nothing is made room for; one that is larger than a socket's buffer arrives whole.
    """
    left, right = socket.socketpair()
    payload = bytes(range(256)) * 20_000
    with left, right:
        sender = Thread(target=send, args=(left, payload))
        sender.start()
        assert receive(right, most=len(payload)) == payload
        sender.join()
        left.sendall(struct.pack("<Q", 1 << 60))
        with pytest.raises(ValueError, match="longer than"):
            receive(right, most=1 << 20)
    left, right = socket.socketpair()
    with right:
        send(left, b"whole")
        left.sendall(struct.pack("<Q", 100) + b"half")
        left.close()
        assert receive(right, most=100) == b"whole"
        with pytest.raises(ClosedError):
            receive(right, most=100)
    left, right = socket.socketpair()
    with right:
        left.close()
        assert receive(right, most=100) is None


def test_replies_come_back() -> None:
    """Items come back as JSON or bytes; a fault or an error is raised with all its fields; other bytes are refused."""
    assert item_of(reply({"a": [1, "é\ud800", None]})) == (ITEM, {"a": [1, "é\ud800", None]})
    assert item_of(reply(b"\x00\xff")) == (DATA, b"\x00\xff")
    with pytest.raises(FaultError, match=r"^d$") as fault:
        item_of(error_reply(FaultError("LIMIT", "d", where="w", side="setup")))
    assert fault.value.fault == Fault(code="LIMIT", detail="d", where="w", side="setup")
    with pytest.raises(UsageError, match=r"^m$") as error:
        item_of(error_reply(UsageError("m", hint="h")))
    assert error.value.hint == "h"
    for data in (b"", b"?", b"i", b"f", b'f["NO_CODE", "", "", ""]', b"f[]", b"x{}", b"i\xff"):
        with pytest.raises(ValueError):
            item_of(data)


def test_packed_columns_cross_the_wire_and_other_shapes_do_not() -> None:
    """Columns of a database come back as they were, NULL and all; cells that are no values are texts; other frames are refused."""
    import numpy as np

    lengths = np.array([[1, 2], [2, 1], [1, 3]])
    frame = frame_of(b"1 \xc3\xa9 -3 \xff x abc ", lengths)
    table = packed_table(("a", "b"), "t", [frame], ("BIGINT", "VARCHAR"))
    back = decode_payloads(encode_payloads({"database": {"t": table}}))["database"]["t"]
    assert (back.types, back.n_rows, list(back.columns[1])) == (("BIGINT", "VARCHAR"), 3, ["é", None, "abc"])
    assert (list(back.columns[0]), back.columns[1][-1], back.columns[1][:2]) == (["1", "-3", "x"], "abc", ["é", None])
    wrong = [b"", frame[1:], frame[:20], frame[:-1], frame_of(b"1 2 ", lengths)]
    for frames, types in ([[one], table.types] for one in wrong):
        with pytest.raises(ValueError, match=r"packed block|malformed"):
            decode_payloads(packed({"table": ["packed", ["a", "b"], "t", frames, types]}))
    for types in (["BIGINT"], ["BIGINT", "VARCHAR[]"]):
        with pytest.raises(ValueError, match="other types"):
            decode_payloads(packed({"table": ["packed", ["a", "b"], "t", [frame], types]}))


def crossed(path: Path, *, most: int = 1 << 30, **limits: int) -> tuple[int, Any]:
    """(bytes of the announcement, the database as the judge gets it) of a DuckDB file that a reader opens."""
    payloads = {"database": open_duckdb(path, names=None, limits=resolve_limits(limits))}
    left, right = socket.socketpair()
    with left, right:
        sender = Thread(target=send_blocks, args=(payloads, left, most))
        data = encode_payloads(payloads)
        sender.start()
        found = decode_payloads(data, partial(receive_table, right, most=most))["database"]
        sender.join()
    return len(data), found


def test_a_big_table_of_a_database_crosses_block_by_block(tmp_path: Path) -> None:
    """It is announced only; cells and types come back as they were, and a table that is too long is a fault in its place."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE big AS SELECT i AS n, CASE WHEN i % 7 > 0 THEN 'n' || i END AS text FROM range(30_000) r(i)")
        connection.execute("CREATE TABLE small AS SELECT 1 AS n")
    exact = read_duckdb(path, names=None, limits=resolve_limits({}))
    n_bytes, found = crossed(path)
    assert n_bytes < 1_000
    for name, table in exact.items():
        assert isinstance(table, Table)
        assert (found[name].header, found[name].types, list(map(list, found[name].columns))) == (
            table.header,
            table.types,
            list(map(list, table.columns)),
        )
    _, found = crossed(path, most=100_000)
    assert (found["big"].code, found["small"].n_rows) == ("LIMIT", 1)


@pytest.mark.parametrize(("n_broken", "code"), [(1, None), (2, "SCORER_ERROR")])
def test_a_bug_while_a_table_is_sent(n_broken: int, code: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact reader takes over where sending blocks fails; if that fails too it is the tool's fault, and the other tables arrive."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE big AS SELECT i AS n FROM range(3_000) r(i)")
        connection.execute("CREATE TABLE small AS SELECT 1 AS n")

    def fail(*_: object) -> None:
        raise KeyError("planted")

    for place in ("compare.columns.packed_block", "readers.duckdb_tables._Rows.read_table")[:n_broken]:
        monkeypatch.setattr(f"evalsuite.{place}", fail)
    _, found = crossed(path)
    assert (getattr(found["big"], "code", None), found["small"].n_rows) == (code, 1)


def test_tasks_and_results_come_back(tmp_path: Path) -> None:
    """Every field of the example's tasks, faulty answers and absent ones among them, and of a result with odd details."""
    gold, submission = read_gold(ROOT / "gold"), read_submission(ROOT / "example_submission_folder")
    tasks = plan(gold, submission, rules=None, limits=resolve_limits(gold.suite.limits))
    assert {task.answer is None for task in tasks} == {True, False}
    assert unpack_tasks(pack_tasks(tasks)) == tasks
    result = Result(
        instance_id="a", status="scored", score=0.5, official=None, strict=1.0, scorer=None, reason="é\ud800", fault=None,
        details={"x": [1, {"y": 2}]}, seconds=0.25, digests={"t.csv": "0" * 64}, strict_fault=Fault(code="TIMEOUT", detail="late"),
    )  # fmt: skip
    assert result_of(whole_line(result).encode()) == result
