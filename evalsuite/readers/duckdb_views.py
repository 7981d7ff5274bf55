"""Views of a database that was handed in, as one query over base tables of the same file: dbt's default is to make views.

A view's text is hostile, so duckdb's own parser takes it apart, and every part of it must be on a list: what selects, joins, groups and
orders, functions that make small values of small ones. Names are then written out in full, so that nothing but a base table of the file
can be meant, and each view that it reads stands in front of it under a name of ours. What is left over is refused with the part that is not
allowed: whatever reads a file, makes rows out of nothing, recurses, or calls what nobody knows.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from evalsuite.readers.json_text import shown

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST_VIEWS, _LONGEST_TEXT = 100, 100_000
_NAME: Final = r'(?:"(?:[^"]|"")*"|[^\W\d][\w$]*)'
_HEAD: Final = re.compile(
    rf"CREATE\s+VIEW\s+{_NAME}(?:\.{_NAME}){{0,2}}\s*(\(\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\))?\s*AS\s+(.*)", re.S | re.I
)
_NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE"})
_SOURCES: Final = frozenset({"BASE_TABLE", "JOIN", "SUBQUERY", "EMPTY", "EMPTY_FROM", "EXPRESSION_LIST"})
_PARTS: Final = frozenset({"ORDER_MODIFIER", "LIMIT_MODIFIER", "DISTINCT_MODIFIER", "ORDER_DEFAULT", "ASCENDING", "DESCENDING"})

# No `repeat`, `lpad`, `rpad`, `format` and their like: of a short value they make one of any length.
_WORDS: Final = """
+ - * / // % ** ^ || ~~ !~~ ~~* !~~* & | << >> ~ @ abs ceil ceiling floor round round_even trunc sign sqrt cbrt power pow exp ln log
log10 log2 mod divide multiply add subtract greatest least isnan isinf isfinite sin cos tan asin acos atan atan2 pi radians degrees
lower lcase upper ucase trim ltrim rtrim length len strlen char_length character_length substring substr left right replace concat
concat_ws split_part contains starts_with prefix ends_with suffix instr position strpos regexp_matches regexp_replace regexp_extract
regexp_full_match like_escape not_like_escape ilike_escape not_ilike_escape reverse md5 hash ascii chr nullif ifnull coalesce if
date_part datepart date_trunc datetrunc date_diff datediff datesub date_sub date_add year month day hour minute second quarter week
weekofyear isoyear yearweek dayofweek dayofmonth dayofyear isodow weekday dayname monthname last_day strftime strptime try_strptime
make_date make_timestamp epoch epoch_ms age date to_days to_weeks to_months to_years to_hours to_minutes to_seconds to_timestamp count
count_star count_if countif sum sum_no_overflow min max avg mean median mode stddev stddev_pop stddev_samp variance var_pop var_samp
first last any_value arg_min arg_max min_by max_by string_agg group_concat listagg array_agg list bool_and bool_or bit_and bit_or
bit_xor quantile quantile_cont quantile_disc percentile_cont percentile_disc approx_count_distinct corr covar_pop covar_samp product
row_number rank dense_rank rank_dense percent_rank cume_dist ntile lag lead first_value last_value nth_value list_value array_value
struct_pack row struct_extract array_extract list_extract list_contains
"""
_FUNCTIONS: Final = frozenset(_WORDS.split())
_KINDS: Final = (
    "COLUMN_REF CONSTANT FUNCTION CAST COMPARISON CONJUNCTION OPERATOR CASE WINDOW STAR SUBQUERY BETWEEN TYPE POSITIONAL_REFERENCE"
)
_CLASSES: Final = frozenset(_KINDS.split())

# (schema, name) of a table or view.
Place = tuple[str, str]


class RefusedViewError(Exception):
    """A view that is not read; the text says which part of it is not allowed, or names what it reads."""


def expanded_view(
    connection: "DuckDBPyConnection", database: str, name: str, *, tables: Mapping[Place, Place], catalogs: Collection[str]
) -> str:
    """A SELECT that gives what the view of that name in schema main (without case) gives, over base tables of `database` alone.

    `tables` are the base tables that may be read, as they are called, by their names without case. `catalogs` are the names, without case,
    that the file's own database has in texts of views: the stem of the file. Raises `RefusedViewError`.
    """
    rows = connection.execute(
        "SELECT schema_name, view_name, sql FROM system.main.duckdb_views() WHERE database_name = $1 AND NOT internal", [database]
    ).fetchall()
    # A macro of the file goes before a function of duckdb's of the same name.
    macros = connection.execute(
        "SELECT function_name FROM system.main.duckdb_functions() WHERE database_name = $1 AND NOT internal", [database]
    ).fetchall()
    views = {(str(schema).lower(), str(view).lower()): str(sql) for schema, view, sql in rows}
    book = _Book(connection, database, views, tables, catalogs, frozenset(str(macro).lower() for (macro,) in macros))
    last = book.add(("main", name.lower()))
    if not book.reads_table:
        raise RefusedViewError("reads no base table")
    return f"WITH {', '.join(book.texts)} SELECT * FROM {last}"


class _Book:
    """The views that one view reads, each expanded once, in an order in which each stands behind what it reads."""

    def __init__(
        self,
        connection: "DuckDBPyConnection",
        database: str,
        views: Mapping[Place, str],
        tables: Mapping[Place, Place],
        catalogs: Collection[str],
        macros: Collection[str],
    ) -> None:
        self._connection, self._database, self._views, self._tables, self._catalogs = connection, database, views, tables, catalogs
        self._macros = macros
        self._names: dict[Place, str] = {}
        # The views that are being expanded, the innermost one last.
        self._open: list[Place] = []
        self.texts: list[str] = []
        self.reads_table = False

    def add(self, name: Place) -> str:
        """Our name for a view, which is expanded by now."""
        if name in self._names:
            return self._names[name]
        if name in self._open or len(self._open) + len(self._names) >= _MOST_VIEWS:
            raise RefusedViewError("reads itself" if name in self._open else f"reads more than {_MOST_VIEWS} views")
        self._open.append(name)
        found = _HEAD.fullmatch(self._views[name].strip().rstrip(";"))
        if found is None or len(found[2]) > _LONGEST_TEXT:
            raise RefusedViewError("has a text that cannot be read")
        tree = self._parsed(found[2])
        self._check(tree["statements"], frozenset())
        text = self._connection.execute("SELECT system.main.json_deserialize_sql($1::JSON)", [json.dumps(tree)]).fetchone()
        own = self._names[name] = f'"view {len(self._names)}"'
        self._open.pop()
        self.texts.append(f"{own}{found[1] or ''} AS (\n{text[0] if text else ''}\n)")
        return own

    def _parsed(self, sql: str) -> dict[str, Any]:
        row = self._connection.execute("SELECT system.main.json_serialize_sql($1)", [sql]).fetchone()
        tree: dict[str, Any] = json.loads(row[0]) if row else {"error": True}
        if tree["error"] or len(tree["statements"]) != 1:
            raise RefusedViewError("is no plain SELECT")
        return tree

    def _check(self, part: Any, known: frozenset[str]) -> None:
        """Raise unless everything in a part of the tree is on a list; tables in it are written out in full. `known` are names in WITH."""
        if isinstance(part, list):
            for item in part:
                self._check(item, known)
            return
        if not isinstance(part, dict):
            return
        if isinstance(part.get("type"), str):
            for why in _refusals(part, self._macros):
                raise RefusedViewError(why)
            if part["type"] == "BASE_TABLE" and "class" not in part:
                self._resolve(part, known)
        if isinstance(part.get("cte_map"), dict):
            # A name in WITH is known behind its own text, not in it: `with base as (select * from base)` reads the table.
            for entry in part["cte_map"]["map"]:
                self._check(entry["value"], known)
                known |= {str(entry["key"]).lower()}
        for key, item in part.items():
            if key != "cte_map":
                self._check(item, known)

    def _resolve(self, part: dict[str, Any], known: frozenset[str]) -> None:
        """Give a table its full name, or that of a view which is expanded before."""
        catalog, schema, table = (str(part[key]).lower() for key in ("catalog_name", "schema_name", "table_name"))
        if not catalog and not schema and table in known:
            return
        # `p.t` may name a catalog in the place of a schema; a bare name is first looked for in the schema of the view that says it.
        schemas = [schema] if schema else [self._open[-1][0], "main"]
        if not catalog and schema in self._catalogs:
            schemas.append("main")
        own = not catalog or catalog in self._catalogs
        found = next((place for place in ((name, table) for name in schemas) if place in self._tables or place in self._views), None)
        if not own or found is None:
            raise RefusedViewError(f"reads {shown('.'.join(filter(None, (catalog, schema, table))))}, which is no table of the file")
        part["alias"] = part["alias"] or part["table_name"]
        if found in self._tables:
            self.reads_table = True
            path = [self._database, *self._tables[found]]
        else:
            path = ["", "", self.add(found).strip('"')]
        part["catalog_name"], part["schema_name"], part["table_name"] = path
        part["qualified_name"] = {"path": [name for name in path if name]}


def _refusals(part: Mapping[str, Any], macros: Collection[str]) -> Iterator[str]:
    """What is not allowed of one part of a tree."""
    type_, class_ = str(part["type"]), part.get("class")
    if part.get("sample") is not None or part.get("at_clause") is not None:
        yield "takes a sample or another time of a table"
    if class_ is not None:
        if class_ not in _CLASSES:
            yield f"holds {str(class_).lower().replace('_', ' ')}"
        if "function_name" in part:
            name, place = str(part["function_name"]), (str(part.get("catalog", "")), str(part.get("schema", "")))
            if name.lower() not in _FUNCTIONS or name.lower() in macros or any(word not in ("", "main", "system") for word in place):
                yield f"calls {_called(name)}"
    elif type_ == "RECURSIVE_CTE_NODE":
        yield "is recursive"
    elif type_ == "TABLE_FUNCTION":
        called = part.get("function")
        yield f"reads {_called(called.get('function_name')) if isinstance(called, dict) else 'a function'}()"
    elif type_ not in _NODES | _SOURCES | _PARTS:
        yield f"holds {type_.lower().replace('_', ' ')}"


def _called(name: object) -> str:
    """A function's name as it may stand in a reason: as it is where it is a plain word, else quoted and cut."""
    text = str(name)
    return text if re.fullmatch(r"\w{1,40}", text, re.ASCII) else shown(text)
