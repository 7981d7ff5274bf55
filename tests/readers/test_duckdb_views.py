"""Views over base tables of the file that was handed in: read as what they give, refused with the part that is not allowed."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite.cli import main
from evalsuite.core.types import Fault, Table
from evalsuite.readers import duckdb_tables
from evalsuite.readers.duckdb_tables import RefusedViewError, read_duckdb
from evalsuite.readers.limits import resolve_limits
from evalsuite.scorers import SCORERS
from tests.cli.test_run import check, write_answers, write_gold
from tests.duckdb_files import opened

BASE = "create table base as select i as id, 'name ' || i as name, i * 1.5 as v from range(4) r(i)"


def made(place: Path, *statements: str) -> Path:
    """A database of these statements."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with opened(place) as connection:
        for statement in (BASE, *statements):
            connection.execute(statement)
    return place


def read(place: Path, name: str = "mart", **limits: int) -> Table | Fault:
    """One table of a database that was handed in."""
    with place.open("rb") as handle:
        found: Any = read_duckdb(handle, names=[name], limits=resolve_limits(limits), stem=place.stem)[name]
    return found


@pytest.mark.parametrize(
    "views",
    [
        ["create view mart as select * from base"],
        ['create view mart as select id, upper(name) as name, v from "p"."main"."base" where v > 1 order by id desc limit 2'],
        [
            "create view one as select id, v from base",
            "create view mart(a, b) as with t as (select * from one) select t.id, sum(v) from t group by 1",
        ],
        ["create view mart as select b.id, case when b.v > 2 then 'big' else null end as k from base b join main.base c using (id)"],
        ["create view mart as select id, row_number() over (partition by v > 2 order by id) n, coalesce(nullif(id, 1), 9) z from base"],
        ["create view mart as select cast(id as text) || '%', date_trunc('month', date '2024-05-17') from base union all select 'x', null"],
        ["create view mart as select * from base where id in (select id from base where exists (select 1 from base)) and name like 'n%'"],
        ["create view mart as select * from (values (1, 'x')) t(a, b) cross join base"],
        ["create view \"Mart\" as select count(*) n, count(distinct v) filter (v > 1) k, string_agg(name, ',' order by id) s from base"],
        [
            "create view one as select * from base",
            "create view two as select a.id from one a join one b using (id)",
            "create view mart as select * from two, one",
        ],
        ["create view mart as with base as (select * from base) select id, v from base"],
        ["create view one as select base.id from base", "create view mart as select one.id from one"],
        ["create view mart as with x as (select * from base), base as (select 5 as id) select x.id, base.id as k from x, base"],
        ["create view mart as with base as (select 7 as id) select a.id as k, b.id from main.base a, p.main.base b"],
        ["create view mart as select * from p.base"],
        ["create view mart as select *, 'a\nb' as x from base"],
        [
            "create schema raw",
            "create table raw.base as select id + 7 as id from base",
            "create view raw.stg as select * from base",
            "create view raw.far as select * from main.base",
            "create view mart as select s.id, f.v from p.raw.stg s, raw.far f",
        ],
    ],
)
def test_a_view_is_what_it_gives(views: list[str], tmp_path: Path) -> None:
    """The columns and rows that duckdb itself gives, types too."""
    place = made(tmp_path / "p.duckdb", *views)
    with opened(place) as connection:
        expected = connection.execute("select * from mart")
        header, rows = tuple(str(column[0]) for column in expected.description), expected.fetchall()
        types = tuple(str(row[1]) for row in connection.execute("describe mart").fetchall())
    found = read(place)
    assert isinstance(found, Table), found
    assert (found.header, found.types, found.is_view) == (header, types, True)
    assert sorted(zip(*found.columns, strict=True), key=str) == sorted(rows, key=str)


def test_what_a_view_may_not_do(tmp_path: Path) -> None:
    """It reads no file, makes nothing out of nothing, calls nothing that nobody knows; the part that is not allowed is named."""
    refused = [
        ("select * from read_csv('{file}')", "reads read_csv()"),
        ("select * from '{file}'", "which is not a table of the file"),
        ("select * from base where id in (select id from read_csv('{file}'))", "reads read_csv()"),
        ("with base as (select * from read_text('{file}')) select * from base", "reads read_text()"),
        ("select base.* from base join '{file}' f on true", "which is not a table of the file"),
        ("select (select max(id) from '{file}') as m from base", "which is not a table of the file"),
        ("select * from query('select 1')", "reads query()"),
        ("select * from query_table('base')", "reads query_table()"),
        ("select * from duckdb_databases(), base", "reads duckdb_databases()"),
        ("select m(id) as x from base", "calls m"),
        ("select * from t() , base", "reads t()"),
        ("select repeat(name, 1000000000) as n from base", "calls repeat"),
        ("select lpad(name, 1000000000, 'x') as n from base", "calls lpad"),
        ("select current_setting('threads') as n from base", "calls current_setting"),
        ("with recursive r(i) as (select 1 union all select i + 1 from r) select i from r, base", "is recursive"),
        ("select * from generate_series(1, 100000000000) g(id), base", "reads generate_series()"),
        ("select unnest([1, 2]) as n from base", "calls unnest"),
        ("select 1 as one", "reads no base table"),
        ("select list_transform([id], lambda x: x + 1) as n from base", "calls list_transform"),
        ("select * from base using sample 1", "sample"),
        ("select * from information_schema.tables, base", "which is not a table of the file"),
        ("from (pivot base on id in (1, 2) using sum(v))", "holds pivot"),
        ("select random() as r from base", "calls random"),
        ("select upper(name) as n from base", "calls upper"),
        ('with "{file}" as (select * from "{file}") select f.* from base, "{file}" f', "which is not a table of the file"),
        ("select cast(name as integer) as n from base", "is a view that cannot be run; submit a table"),
    ]
    secret = tmp_path / "gold.csv"
    secret.write_text("id,name\n1,secret\n")
    macros = ("create macro m(x) as x + 1", "create macro t() as table select * from base", "create macro upper(x) as 'A'")
    views = (f"create view mart{at} as {view.format(file=secret)}" for at, (view, _) in enumerate(refused))
    place = made(tmp_path / "p.duckdb", *macros, *views)
    with place.open("rb") as handle:
        tables: Any = read_duckdb(handle, names=[f"mart{at}" for at in range(len(refused))], limits=resolve_limits(), stem=place.stem)
    for (view, part), found in zip(refused, tables.values(), strict=True):
        assert isinstance(found, Fault), view
        assert (found.code, part in found.detail, "secret" in found.detail) == ("NOT_A_TABLE", True, False), found


def test_views_that_read_each_other_and_other_names(tmp_path: Path) -> None:
    """Nested views are parts of one query, a ring is refused; a catalog of another name is none of the file's; no second statement."""
    steps = [
        "create view v0 as select id from base",
        *(f"create view v{n + 1} as select a.id from v{n} a join v{n} b using (id)" for n in range(9)),
    ]
    steps += ["create view ring as select * from base", "create view mart as select * from v9 union all select id from ring"]
    found = read(made(tmp_path / "p.duckdb", *steps))
    assert isinstance(found, Table)
    assert found.n_rows == 8
    ring = read(made(tmp_path / "r.duckdb", *steps, "create or replace view ring as select id from mart"))
    assert isinstance(ring, Fault)
    assert ring.detail == "'mart' is a view that reads itself; submit a table"
    place = made(tmp_path / "a" / "p.duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"attach '{place}' as other")
        connection.execute("create view other.main.mart as select * from other.main.base")
        connection.execute(f"attach '{made(tmp_path / 'b' / 'gold.duckdb')}' as gold")
        connection.execute("create view other.main.stolen as select * from gold.main.base")
    assert isinstance(read(place), Table)
    dotted = made(tmp_path / "p.q.duckdb", 'create view mart as select * from "p"."main"."base"')
    assert isinstance(read(dotted), Table)
    stolen = read(place, "stolen")
    assert isinstance(stolen, Fault)
    assert "gold.main.base" in stolen.detail
    with duckdb.connect() as connection:
        book = duckdb_tables._ViewExpansion(connection, "memory", {}, {}, (), ())
        assert book._parse("SELECT 1")["error"] is False
        for text in ("CREATE TABLE x (a INTEGER)", "SELECT 1; SELECT 2", "SELECT"):
            with pytest.raises(RefusedViewError, match="is no plain SELECT"):
                book._parse(text)


@pytest.mark.parametrize(
    ("part", "whys"),
    [
        ({"type": "BASE_TABLE", "sample": None, "at_clause": None}, []),
        ({"type": "BASE_TABLE", "at_clause": {}}, ["takes a sample or another time of a table"]),
        ({"type": "LAMBDA_REF", "class": "LAMBDA_REF"}, ["holds lambda ref"]),
        ({"type": "FUNCTION", "class": "FUNCTION", "function_name": "UPPER", "catalog": "system", "schema": "main"}, []),
        ({"type": "FUNCTION", "class": "FUNCTION", "function_name": "UPPER", "catalog": "p"}, ["calls UPPER"]),
        ({"type": "FUNCTION", "class": "FUNCTION", "function_name": "UPPER", "schema": "p"}, ["calls UPPER"]),
        ({"type": "FUNCTION", "class": "FUNCTION", "function_name": "Ln"}, ["calls Ln"]),
        ({"type": "WINDOW_SUM", "class": "WINDOW", "function_name": "a b"}, ["calls 'a b'"]),
        ({"type": "TABLE_FUNCTION", "function": {"function_name": "x" * 41}}, [f"reads {'x' * 41!r}()"]),
        ({"type": "TABLE_FUNCTION"}, ["reads a function()"]),
        ({"type": "RECURSIVE_CTE_NODE"}, ["is recursive"]),
        ({"type": "LIMIT_PERCENT_MODIFIER"}, ["holds limit percent modifier"]),
        *(({"type": kind}, []) for kind in ("SELECT_NODE", "JOIN", "ORDER_MODIFIER")),
    ],
)
def test_what_is_refused_of_a_part(part: dict[str, Any], whys: list[str]) -> None:
    """Each kind of part that is not on a list, with its reason; a macro of the file is no function."""
    assert list(duckdb_tables._refusals(part, {"ln"})) == whys


@pytest.mark.parametrize("is_chain", [True, False])
def test_how_many_views_are_read(is_chain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reads the next one, or one reads all others; one more than allowed is refused."""
    monkeypatch.setattr(duckdb_tables, "_MOST_VIEWS", 5)
    names = [f"v{n}" for n in range(5)]
    steps = [f"create view {name} as select id from {names[at - 1] if is_chain and at else 'base'}" for at, name in enumerate(names)]
    for n, name in ((4, "four"), (5, "five")):
        sources = names[n - 1 : n] if is_chain else names[:n]
        steps.append(f"create view {name} as {' union all '.join(f'select id from {source}' for source in sources)}")
    place = made(tmp_path / "p.duckdb", *steps)
    assert isinstance(read(place, "four"), Table)
    refused = read(place, "five")
    assert isinstance(refused, Fault)
    assert "reads more than 5 views" in refused.detail


@pytest.mark.usefixtures("shared_fork_server")
def test_a_view_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strict reads it under any reference, the official rules under the dbt suite's; one that reads a file is the submission's fault."""
    monkeypatch.chdir(tmp_path)
    plain, file = "select * from base", "select * from read_csv('x.csv')"
    views = {"dbt": plain, "original": plain, "dbt file": file, "original file": file}
    checks = {}
    for name, view in views.items():
        made(tmp_path / "gold" / name / "g.duckdb", "create table mart as select * from base")
        made(tmp_path / "sub" / name / "p.duckdb")
        (tmp_path / "x.csv").write_text("id\n1\n")
        with opened(tmp_path / "sub" / name / "p.duckdb") as connection:
            connection.execute(f"create view mart as {view}")
        checks[name] = check("duckdb_match", gold="g.duckdb", condition_tabs=["mart"], reference=name.split()[0])
    write_gold(tmp_path / "gold", **checks)
    write_answers(tmp_path / "sub", *((name, "file", "p.duckdb") for name in views))
    assert main(["run", "sub", "--gold", "gold", "--out", "out", "-q", "--no-cache"]) == 0
    results = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert [(row["official"], row["strict"]) for row in results] == [(1, 1), (0, 1), (0, 0), (0, 0)]
    assert [(row["status"], row["fault"]) for row in results[2:]] == [("submission_fault", "NOT_A_TABLE")] * 2


def test_how_large_a_view_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rows, cells and columns as a table, and a text as long as the limit; one more of any is refused with its reason."""
    assert (duckdb_tables._MOST_VIEWS, duckdb_tables._LONGEST_TEXT) == (100, 100_000)
    views = (
        "create view many as select a.id, b.v from base a, base b",
        "create view wide as select *, id as a from base",
        "create view same as select id, id as ID from base",
    )
    place = made(tmp_path / "p.duckdb", *views)
    too_many = "'many' has more rows or cells than the limits rows and cells allow"
    too_wide = "'wide' is a view with too many columns; submit a table"
    for name, limits, detail in (
        ("many", {"rows": 16, "cells": 32}, ""), ("many", {"rows": 15}, too_many), ("many", {"cells": 31}, too_many),
        ("many", {"rows": 3}, "'many' is a view that reads 'base', which is not a table of the file; submit a table"),
        ("wide", {"columns": 4}, ""), ("wide", {"columns": 3}, too_wide), ("same", {}, ""),
    ):  # fmt: skip
        found = read(place, name, **limits)
        assert (found.detail if isinstance(found, Fault) else "") == detail, (name, limits)
    with opened(place) as connection:
        row = connection.execute("select sql from duckdb_views() where view_name = 'wide'").fetchone()
    assert row is not None
    text = row[0].strip().rstrip(";").partition(" AS ")[2]
    for most, detail in ((len(text), ""), (len(text) - 1, "'wide' is a view that has a text that cannot be parsed; submit a table")):
        monkeypatch.setattr(duckdb_tables, "_LONGEST_TEXT", most)
        found = read(place, "wide")
        assert (found.detail if isinstance(found, Fault) else "") == detail, text


@pytest.mark.parametrize(
    ("column", "reads_clock"),
    [
        ("current_date", True), ("Current_Timestamp", True), ("date_diff('day', d, current_date)", True), ("localtime", True),
        ("age(d)", True), ("age(d, date '2020-01-01')", False), ("base.d", False), ("current_user", False), ("'current_date'", False),
    ],
)  # fmt: skip
def test_a_view_that_reads_the_clock_is_marked(tmp_path: Path, column: str, reads_clock: bool) -> None:
    """Also where another view reads it; the reason says that its rows may change, and the details name it."""
    views = f"create view one as select id, {column} as c from base", "create view mart as select id from one"
    found = read(made(tmp_path / "p.duckdb", "alter table base add column d date default date '2024-01-01'", *views))
    assert isinstance(found, Table)
    assert found.reads_clock is reads_clock
    gold = {"mart": Table(header=("id",), columns=([0, 1, 2, 3],), n_rows=4, types=("BIGINT",))}
    score = SCORERS.load("duckdb_match").score({"mart": found}, gold=gold, reference="dbt")
    assert (score.official, score.strict, score.details.get("reads_clock")) == (1, 1, ["mart"] if reads_clock else None)
    assert ("'mart' is a view that may read the clock" in score.reason) is reads_clock
