"""Honest statements: made of each engine's own functions and forms, every one of them reads the made tables and nothing else.

`written` gives at least 3,000 different statements for an engine, each of which it runs; `called` calls every function of the engine's own
catalogue that reads no file and changes nothing, some with arguments that it does not take.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from tests.sql.honest import duckdb, postgres, sqlite
from tests.sql.honest.forms import SHAPES, Forms

SIZE = 3_200
FORMS = {"sqlite": sqlite.FORMS, "duckdb": duckdb.FORMS, "postgres": postgres.FORMS}


def tables(engine: str) -> list[str]:
    """The statements that make the tables the honest ones read."""
    date, moment, real = {
        "sqlite": ("TEXT", "TEXT", "REAL"),
        "duckdb": ("DATE", "TIMESTAMP", "DOUBLE"),
        "postgres": ("DATE", "TIMESTAMP", "DOUBLE PRECISION"),
    }[engine]
    note = {"sqlite": "TEXT", "duckdb": "JSON", "postgres": "JSONB"}[engine]
    rows = [
        (1, "north", "tea", 3, 4.5, "2024-01-05", "2024-01-05 08:30:00"),
        (2, "south", "tea", 1, 4.75, "2024-01-31", "2024-01-31 12:00:00"),
        (3, "north", "salt", 7, 1.25, "2024-02-29", "2024-02-29 23:59:59"),
        (4, "east", "salt", 2, 1.5, "2024-03-01", "2024-03-01 00:00:00"),
        (5, "south", "rice", 9, 2.0, "2023-12-31", "2023-12-31 18:15:30"),
        (6, "north", "rice", 4, 2.25, "2024-02-29", "2024-02-29 06:00:00"),
    ]
    people = [
        (1, "Ada", None, '{"age": 36, "tags": ["a", "b"], "home": {"city": "Rome"}}'),
        (2, "Bo", 1, '{"age": 41, "tags": [], "home": {"city": "Oslo"}}'),
        (3, "Zoë", 1, '{"age": null, "tags": ["c"], "home": {}}'),
        (4, "O''Hara", 2, None),
    ]
    rates = [("2024-01-01 00:00:00", "tea", 1.0), ("2024-02-01 00:00:00", "tea", 1.1), ("2024-01-15 00:00:00", "salt", 0.5)]
    made = [
        f"CREATE TABLE sale (id INTEGER PRIMARY KEY, region TEXT, product TEXT, qty INTEGER, price {real}, day {date}, moment {moment})",
        f"CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, boss INTEGER, note {note})",
        f"CREATE TABLE rate (since {moment}, thing TEXT, worth {real})",
        "CREATE VIEW cheap AS SELECT * FROM sale WHERE price < 3",
    ]
    for name, held in (("sale", rows), ("person", people), ("rate", rates)):
        for row in held:
            cells = ", ".join("NULL" if cell is None else str(cell) if isinstance(cell, int | float) else f"'{cell}'" for cell in row)
            made.append(f"INSERT INTO {name} VALUES ({cells})")
    return made + FORMS[engine].more_tables


@dataclass(frozen=True)
class Maker:
    """Fills forms with expressions of one engine, at random and the same each time."""

    forms: Forms
    draw: random.Random = field(default_factory=lambda: random.Random(33))

    def filled(self, form: str, depth: int = 0) -> str:
        """The form with an expression of its kind in each place such as `{n}`."""
        return re.sub(r"\{(n|i|i2|t|d|b|j|l|l0|sum|agg|win)\}", lambda found: self._expression(found[1], depth), form)

    def _expression(self, kind: str, depth: int) -> str:
        if kind in ("agg", "win"):
            choice = self.forms.aggregates if kind == "agg" else self.forms.windows
            return self.filled(self.draw.choice(choice), depth + 1)
        plain = self.forms.plain[kind]
        if depth < 2 and self.draw.random() < 0.5 and (nested := self.forms.nested.get(kind)):
            return self.filled(self.draw.choice(nested), depth + 1)
        return self.draw.choice(plain)

    def each_function(self) -> Iterator[str]:
        """Every scalar, aggregate, window and table function of the forms, in a few places of a statement."""
        for scalar in self.forms.scalars:
            yield self.filled(f"SELECT {scalar} AS x FROM sale")
            yield self.filled(f"SELECT id FROM sale WHERE ({scalar}) IS NOT NULL ORDER BY id")
            yield self.filled(f"WITH c AS (SELECT id, {scalar} AS x FROM sale) SELECT count(*) AS n, count(x) AS known FROM c")
        for aggregate in self.forms.aggregates:
            yield self.filled(f"SELECT {aggregate} AS x FROM sale")
            yield self.filled(f"SELECT region, {aggregate} AS x FROM sale GROUP BY region ORDER BY region")
            yield self.filled(f"SELECT region FROM sale GROUP BY region HAVING ({aggregate}) IS NOT NULL")
        for window in self.forms.windows:
            yield self.filled(f"SELECT id, {window} AS x FROM sale")
            yield self.filled(f"SELECT * FROM (SELECT id, {window} AS x FROM sale) AS w ORDER BY id LIMIT 3")
        for table in self.forms.tables:
            yield self.filled(f"SELECT * FROM {table}")
            yield self.filled(f"SELECT count(*) AS n FROM {table}")
            yield self.filled(f"WITH c AS (SELECT * FROM {table}) SELECT count(*) AS n FROM c")

    def shaped(self) -> Iterator[str]:
        """Endless statements of all shapes, some with comments, in brackets or ended by a semicolon."""
        dress = ("{}", "{}", "{};", "-- the answer\n{}", "/* a; b */ {}\n", "  {} -- done")
        for shape, coat in zip(cycle([*SHAPES, *self.forms.shapes]), cycle(dress)):
            yield coat.replace("{}", self.filled(shape))


def written(engine: str, size: int = SIZE) -> list[str]:
    """At least `size` different statements that the engine runs, each function of the forms in some of them."""
    maker = Maker(FORMS[engine])
    made = dict.fromkeys([*maker.each_function(), *maker.forms.fixed])
    for one in maker.shaped():
        made[one] = None
        if len(made) >= size:
            return list(made)
    raise AssertionError


def called(engine: str, connection: Any) -> list[str]:
    """A call of every function that the engine's catalogue has, but for those that read files or other places, or change something."""
    return {"sqlite": _called_sqlite, "duckdb": _called_duckdb, "postgres": _called_postgres}[engine](connection)


def _called_sqlite(connection: Any) -> list[str]:
    found = connection.execute("SELECT DISTINCT name, type, narg FROM pragma_function_list").fetchall()
    made = []
    for name, kind, n in found:
        if re.fullmatch(r"\W+|load_extension|fts3_tokenizer|sqlite_log|match", name):
            continue
        for count in [n] if n >= 0 else range(4):
            call = f"{name}({', '.join(islice(cycle(['price', 'qty', chr(39) + 'a' + chr(39)]), count))})"
            made += [f"SELECT {call} FROM sale"] if kind == "s" else [f"SELECT {call} OVER (ORDER BY id) FROM sale"]
    pragmas = [name for (name,) in connection.execute("SELECT name FROM pragma_pragma_list")]
    return made + [f"SELECT * FROM pragma_{name}" for name in pragmas if name in sqlite.PRAGMAS]


_DUCKDB_VALUES = {
    "VARCHAR": "'a'",
    "BLOB": "'a'::BLOB",
    "BOOLEAN": "true",
    "DATE": "DATE '2024-02-29'",
    "TIME": "TIME '10:00:00'",
    "INTERVAL": "INTERVAL 1 DAY",
    "JSON": "'{\"a\": [1, 2]}'::JSON",
    "LAMBDA": "lambda x: x",
    "BIT": "'101'::BIT",
    "UUID": "'00000000-0000-0000-0000-000000000001'::UUID",
    "MAP": "MAP {'a': 1}",
    "STRUCT": "{'a': 1}",
}
# What reads files, secrets or the network, waits, writes, or takes an address in memory.
_DUCKDB_NOT = re.compile(
    r"(?:read|parquet|parse_duckdb)_|glob$|.*_scan|arrow_scan|sniff_csv|duckdb_(?:secrets|extension)|which_secret|.*external_resource"
    r"|(?:next|set)val|(?:en|dis)able_|truncate_|.*checkpoint|sleep_ms|write_log|.*_grammar_extension$|python_|pg_sleep|sql_auto_complete|\W"
)


def _called_duckdb(connection: Any) -> list[str]:
    rows = connection.execute(
        "SELECT DISTINCT function_name, function_type, parameter_types, len(parameters) FROM duckdb_functions() "
        "WHERE internal AND function_type NOT LIKE 'pragma%' ORDER BY ALL"
    ).fetchall()
    made = []
    for name, kind, types, n in rows:
        if _DUCKDB_NOT.match(name):
            continue
        given = ", ".join(_duckdb_value(type_ or "") for type_ in (types or [""] * n))
        form = {"table": "SELECT * FROM {}", "table_macro": "SELECT * FROM {}", "window": "SELECT {} OVER (ORDER BY id) FROM sale"}.get(
            kind, "SELECT {} FROM sale"
        )
        made.append(form.format(f'"{name}"({given})'))
    return list(dict.fromkeys(made))


def _duckdb_value(type_: str) -> str:
    if type_.endswith("]"):
        return f"[{_duckdb_value(type_[: type_.rindex('[')])}]"
    word = type_.split("(")[0].split()[0] if type_ else ""
    if word.startswith("TIMESTAMP"):
        return f"'2024-02-29 10:00:00'::{type_}"
    return _DUCKDB_VALUES.get(word, "2")


_POSTGRES_VALUES = {
    "text": "'a'",
    "name": "'a'",
    "json": "'{\"a\": [1, 2]}'",
    "jsonb": "'{\"a\": [1, 2]}'",
    "date": "'2024-02-29'",
    "timestamp without time zone": "'2024-02-29 10:00'",
    "timestamp with time zone": "'2024-02-29 10:00+00'",
    "interval": "'1 day'",
    "boolean": "'true'",
    "regclass": "'sale'",
    **dict.fromkeys(("integer", "bigint", "smallint", "numeric", "double precision", "real"), "'2'"),
    **dict.fromkeys(("integer[]", "numeric[]"), "'{1,2}'"),
    **dict.fromkeys(("tsquery", "tsvector"), "'a'"),
}
_POSTGRES = """SELECT DISTINCT p.oid, proname, prokind, proretset, ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) AS t)
FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = pronamespace
WHERE nspname = 'pg_catalog' AND (provolatile <> 'v' OR proname = ANY(%s)) AND provariadic = 0
AND proname NOT IN ('pg_config', 'pg_replication_origin_oid') -- the role's rights
AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype) AND prorettype::regtype::text NOT LIKE '%%handler'
ORDER BY p.oid"""


def _called_postgres(connection: Any, also: Sequence[str] = postgres.VOLATILE) -> list[str]:
    made = []
    for _, name, kind, is_set, types in connection.execute(_POSTGRES, (list(also),)).fetchall():
        if any(type_ in ("internal", "cstring") for type_ in types):
            continue
        given = [f"{_POSTGRES_VALUES.get(type_, 'NULL')}::{'integer' if type_.startswith('any') else type_}" for type_ in types]
        call = f'pg_catalog."{name}"({", ".join(given)})'
        form = {"a": "SELECT {} FROM sale", "w": "SELECT {} OVER (ORDER BY id) FROM sale"}.get(
            kind, "SELECT * FROM {} AS x" if is_set else "SELECT {} AS x"
        )
        made.append(form.format(call))
    return made
