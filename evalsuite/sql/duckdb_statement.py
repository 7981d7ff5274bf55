"""Whether DuckDB's own parser takes a text for one statement that only selects."""

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from evalsuite.sql.session import NOT_SELECT, not_allowed
from evalsuite.sql.statement import DUCKDB, changes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# What a serialised statement may consist of; since 2.0 a WITH can hold an INSERT.
_NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})


def refuse_changes(connection: "DuckDBPyConnection", sql: str) -> None:
    """Raise SQL_NOT_ALLOWED unless the text is one SELECT that only selects, or what DuckDB reads as one: PIVOT, SUMMARIZE, SHOW."""
    import duckdb

    statements = connection.extract_statements(sql)
    if [one.type for one in statements] == [duckdb.StatementType.MULTI]:
        _refuse_all_but_pivot(connection, sql)
    elif [one.type for one in statements] == [duckdb.StatementType.SELECT]:
        _refuse_nodes(connection, sql)
    else:
        raise not_allowed(NOT_SELECT, f"this is {statements[0].type.name}" if len(statements) == 1 else f"{len(statements)} statements")


def _refuse_nodes(connection: "DuckDBPyConnection", sql: str) -> None:
    row = connection.execute("SELECT system.main.json_serialize_sql($1)", [sql]).fetchone()
    tree = json.loads(row[0]) if row else {"error": True}
    if tree["error"]:
        raise not_allowed(NOT_SELECT)
    refused = sorted(kind for kind in set(_node_kinds(tree)) if kind.endswith("_NODE") and kind not in _NODES)
    if refused:
        raise not_allowed(NOT_SELECT, ", ".join(kind.removesuffix("_NODE") for kind in refused))


def _refuse_all_but_pivot(connection: "DuckDBPyConnection", sql: str) -> None:
    """Raise unless the text is a SELECT with a PIVOT that takes its columns from the data.

    DuckDB makes two statements of it, which it cannot serialise. Nothing but a SELECT can stand in brackets, a change in its WITH has words
    of its own, and the file is open for reading only.
    """
    import duckdb

    if change := changes(sql, DUCKDB):
        raise not_allowed(NOT_SELECT, change)
    # A line of its own for the bracket: the statement may end in a comment.
    with contextlib.suppress(duckdb.ParserException):
        if [one.type for one in connection.extract_statements(f"FROM (\n{sql}\n)")] == [duckdb.StatementType.MULTI]:
            return
    raise not_allowed(NOT_SELECT, "this is MULTI")


def _node_kinds(tree: Any) -> Iterator[str]:
    """Every `type` of a serialised statement that names a node; walked without recursion."""
    todo = [tree]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if isinstance(item.get("type"), str):
                yield item["type"]
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
