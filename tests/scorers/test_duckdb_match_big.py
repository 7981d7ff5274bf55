"""Big database tables, told by their digests, get the very verdicts that their rows get."""

import math
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from evalsuite.compare.table_hashes import Digest, DigestedTable, bound, digested_tables, with_rows
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Fault, Table
from evalsuite.readers import duckdb_tables
from evalsuite.readers import duckdb_tables as duckdb_digests
from evalsuite.readers.duckdb_tables import read_duckdb, read_trusted_duckdb
from evalsuite.readers.limits import resolve_limits
from evalsuite.sandbox.payloads import decode_payloads, encode_payloads
from evalsuite.scorers.duckdb_match import duckdb_match
from tests.properties import examples

LIMITS = resolve_limits()
CELLS: dict[str, list[Any]] = {
    "BIGINT": [0, 1, -1, 10, 100, 2**60 + 1, 10**16],
    "INTEGER": [0, 1, 10, 2],
    "UBIGINT": [0, 1, 2**64 - 1],
    "DOUBLE": [0.0, -0.0, 1.0, -1.0, 1e16, math.nan, math.inf],
    "FLOAT": [0.0, -0.0, 1.5],
    "VARCHAR": ["", "a", "A", "nan", "0", "é" * 9],
    "BOOLEAN": [True, False],
    "DATE": ["2020-01-01", "1066-10-14", "infinity"],
    "TIMESTAMP": ["2020-01-01 00:00:00", "2020-01-01 00:00:00.5"],
    "DECIMAL(10,2)": ["1.10", "-12345.67"],
    "HUGEINT": [1, 2**100],
}


@pytest.fixture(autouse=True)
def _lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table counts as big."""
    monkeypatch.setattr(duckdb_digests, "DIGESTED_ROWS", 1)
    monkeypatch.setattr(duckdb_tables, "ARRAY_ROWS", 1)


def blamed(error: FaultError) -> Exception:
    """What gold is blamed with."""
    return error


def make(path: Path, types: list[str], rows: list[tuple[Any, ...]], *more: str) -> Path:
    """A database of one table t of columns c0, c1, ..."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t(" + ", ".join(f"c{i} {type_}" for i, type_ in enumerate(types)) + ")")
        if rows:
            connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(types))})", rows)
        for statement in more:
            connection.execute(statement)
    return path


def both_ways(answer: Path, gold: Path, **parameters: Any) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The score by digests, that by rows, and whether the rows stayed where they are; that by arrays is the one by rows."""
    exact = duckdb_match(
        read_duckdb(answer, names=None, limits=LIMITS), gold=read_trusted_duckdb(gold, names=None, limits=LIMITS), **parameters
    )
    read = read_duckdb(answer, names=None, limits=LIMITS, as_it_comes=True)
    expected = read_trusted_duckdb(gold, names=None, limits=LIMITS, blame=blamed)
    tables = digested_tables({"database": read})
    asked: list[int] = []
    told = duckdb_match(
        bound({"database": read}, lambda place: Asked(tables[place], place, asked))["database"], gold=expected, **parameters
    )
    arrays = duckdb_match(with_rows(read, map(str.lower, read)), gold=with_rows(expected, map(str.lower, expected)), **parameters)
    assert asdict(arrays) == asdict(exact)
    return asdict(told), asdict(exact), bool(tables) and not asked


class Asked:
    """A source that notes who is asked for its rows."""

    def __init__(self, table: DigestedTable, place: int, asked: list[int]) -> None:
        self._table, self._place, self._asked = table, place, asked

    def digest(self, salt: int) -> Digest | None:
        """As the table's own."""
        return self._table.digest(salt)

    def rows(self) -> Table | Fault:
        """As the table's own, noted."""
        self._asked.append(self._place)
        return self._table.rows()


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]], list[str], list[tuple[Any, ...]]]:
    """Gold's types and rows, and an answer's: the same, shuffled, with a cell changed, or with other types."""
    types = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=3))
    row = st.tuples(*(st.sampled_from(CELLS[type_] + CELLS[type_] + [None]) for type_ in types))
    rows = draw(st.lists(row, min_size=1, max_size=4))
    other, how = list(rows), draw(st.sampled_from(["same", "shuffled", "changed", "typed", "fewer"]))
    if how in ("shuffled", "changed"):
        other = draw(st.permutations(rows))
    if how == "changed":
        other[0] = draw(row)
    typed = [{"INTEGER": "BIGINT", "FLOAT": "DOUBLE"}.get(type_, type_) for type_ in types] if how == "typed" else types
    return types, rows, typed, other[1:] if how == "fewer" else other


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases(), ignore_order=st.booleans(), data=st.data())
def test_digests_say_what_the_rows_say(case: Any, ignore_order: bool, data: st.DataObject) -> None:
    """Value, reason, details and flip of both rules, for whatever columns are needed."""
    types, rows, typed, other = case
    needed = data.draw(st.lists(st.integers(-1, len(types)), max_size=3))
    with TemporaryDirectory() as folder:
        gold, answer = make(Path(folder) / "gold.duckdb", types, rows), make(Path(folder) / "answer.duckdb", typed, other)
        told, exact, _ = both_ways(answer, gold, condition_tabs=["t"], condition_cols=[needed], ignore_orders=[ignore_order])
    assert told == exact


PLAIN = (["BIGINT", "DOUBLE", "VARCHAR"], [(1, 0.5, "a"), (2, 1.5, "b"), (3, 2.5, "c")])


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
@pytest.mark.parametrize("ignore_order", [False, True])
def test_rows_are_asked_for_only_where_digests_differ(tmp_path: Path, order: list[int], ignore_order: bool) -> None:
    """An equal table is accepted unseen; swapped rows are so where their order does not count."""
    types, rows = PLAIN
    gold, answer = make(tmp_path / "gold.duckdb", types, rows), make(tmp_path / "answer.duckdb", types, [rows[i] for i in order])
    told, exact, unseen = both_ways(answer, gold, condition_tabs=["T"], ignore_orders=[ignore_order])
    assert told == exact
    assert unseen == (ignore_order or order == [0, 1, 2]) == (told["official"] == told["strict"] == 1)


@pytest.mark.parametrize(
    ("types", "cell"),
    [("DOUBLE", math.nan), ("DOUBLE", math.inf), ("BIGINT", None), ("DATE", "infinity"), ("HUGEINT", 1), ("VARCHAR[]", ["a"])],
)
def test_what_equal_cells_do_not_settle_is_read(tmp_path: Path, types: str, cell: Any) -> None:
    """NULL, NaN, infinity and types beyond the plain ones."""
    gold, answer = (make(tmp_path / name, [types], [(cell,), (cell,)]) for name in ("gold.duckdb", "answer.duckdb"))
    told, exact, unseen = both_ways(answer, gold, condition_tabs=["t"])
    assert (told, unseen) == (exact, False)


def test_a_collation_makes_no_texts_equal(tmp_path: Path) -> None:
    """The catalog calls such a column VARCHAR."""
    gold, answer = (make(tmp_path / f"{text}.duckdb", ["VARCHAR COLLATE NOCASE"], [(text,)]) for text in ("a", "A"))
    told, exact, unseen = both_ways(answer, gold, condition_tabs=["t"])
    assert (told, unseen, told["official"]) == (exact, False, 0)


def test_a_small_table_that_fails_beside_a_big_one_keeps_its_flip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reasons are those of the exact rules for both tables."""
    monkeypatch.setattr(duckdb_digests, "DIGESTED_ROWS", 3)
    types, rows = PLAIN
    gold = make(tmp_path / "gold.duckdb", types, rows, "CREATE TABLE u AS SELECT 0.0 v")
    answer = make(tmp_path / "answer.duckdb", types, rows[::-1], "CREATE TABLE u AS SELECT 0.009 v")
    told, exact, _ = both_ways(answer, gold, condition_tabs=["t", "u"], ignore_orders=[True, True])
    assert told == exact
    assert told["strict"] == 0


def test_macros_of_a_file_do_not_stand_in_for_functions(tmp_path: Path) -> None:
    """A file that brings its own hash and sum is judged by its rows."""
    types, rows = PLAIN
    macros = ["CREATE MACRO hash(a) AS 1", "CREATE MACRO sum(a) AS 1", "CREATE MACRO row_number() AS 1", "CREATE SCHEMA system"]
    gold = make(tmp_path / "gold.duckdb", types, rows)
    answer = make(tmp_path / "answer.duckdb", types, [*rows[:2], (3, 2.5, "x")], *macros)
    told, exact, unseen = both_ways(answer, gold, condition_tabs=["t"])
    assert (told, unseen, told["official"]) == (exact, False, 0)


def test_digests_cross_the_wire_and_other_shapes_do_not() -> None:
    """Numbers of 128 bits come back; a table without digest is refused."""
    known = Digest(salt=5, n_rows=3, ordered=2**80, bag=2**70)
    table = DigestedTable(header=("a",), types=("BIGINT",), name="t", known=known)
    back = decode_payloads(encode_payloads({"database": {"t": table}}))["database"]["t"]
    assert (back.header, back.types, back.name, back.known) == (("a",), ("BIGINT",), "t", known)
    with pytest.raises(ValueError, match="nowhere"):
        back.rows()


def test_the_limit_of_bytes_holds_for_what_nobody_reads(tmp_path: Path) -> None:
    """A table that is too big to be read is refused with the same fault."""
    types, rows = PLAIN
    gold = make(tmp_path / "gold.duckdb", types, rows)
    limits = resolve_limits({"table_bytes": 60})
    found = read_trusted_duckdb(gold, names=None, limits=limits, blame=blamed)["t"]
    assert isinstance(found, DigestedTable)
    assert found.digest(1) is None
    rows = found.rows()
    assert isinstance(rows, Fault)
    assert rows.code == "LIMIT"
